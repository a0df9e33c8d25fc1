/* Checks the arguments of an accumulation that a plan depends on.  Called by gradient_accumulate.c and accumulate_plan.c. */
#include "adam/adam.h"

#include <string.h>

#include "runtime/arguments.h"
#include "runtime/dtype.h"
#include "runtime/status.h"

/* The first header's struct ended before main_dtype. */
enum { OLDEST_ARGS = offsetof(quern_accumulate_args, main_dtype) };

quern_status quern_accumulate_take(const quern_device *device, const quern_accumulate_args *given, quern_accumulate_args *args) {
    quern_status status = quern_check_grown_struct(device, "args", given, OLDEST_ARGS, sizeof *args);
    if (status != QUERN_OK) return status;
    *args = (quern_accumulate_args){0};
    memcpy(args, given, quern_struct_bytes(given->size));
    if (args->main_dtype == QUERN_NO_DTYPE) args->main_dtype = QUERN_F32;
    return QUERN_OK;
}

struct quern_gradient_access quern_accumulate_access(const quern_accumulate_args *args) {
    return (struct quern_gradient_access){args->grad_dtype, args->main_dtype, args->zero_grads};
}

static quern_status check_form(const quern_device *device, const quern_accumulate_args *args) {
    static const quern_dtype mains[] = {QUERN_F32, QUERN_BF16, QUERN_NO_DTYPE};
    quern_status status = quern_check_dtype(device, "args.grad_dtype", args->grad_dtype, quern_floats, false);
    if (status == QUERN_OK) status = quern_check_dtype(device, "args.main_dtype", args->main_dtype, mains, true);
    return status == QUERN_OK ? quern_check_choice(device, "args.zero_grads", args->zero_grads, 1) : status;
}

/* ---- a list ---- */

static quern_status check_places(const quern_device *device, const quern_accumulate_args *args) {
    quern_status status = quern_check_pointer(device, "args.token_places", args->token_places, sizeof *args->token_places);
    if (status != QUERN_OK) return status;
    for (int64_t i = 0; i < args->gradient_count; i++)
        if (args->token_places[i] < -1 || args->token_places[i] >= args->group_count)
            return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.token_places[%lld] is %d: expected -1, or 0 to below "
                              "args.group_count, which is %lld", (long long)i, args->token_places[i],
                              (long long)args->group_count);
    return QUERN_OK;
}

static quern_status check_groups(const quern_device *device, const quern_accumulate_args *args) {
    quern_status status = quern_check_count(device, "args.group_count", args->group_count, INT32_MAX);
    if (status != QUERN_OK) return status;
    if (args->token_places) return check_places(device, args);
    if (args->group_count >= args->gradient_count) return QUERN_OK;
    return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.group_count is %lld: expected at least args.gradient_count, which is "
                      "%lld, since args.token_places is NULL", (long long)args->group_count, (long long)args->gradient_count);
}

quern_status quern_accumulate_check_list(const quern_device *device, const quern_accumulate_args *args, bool is_grouped,
                                         struct quern_gradient_list *list) {
    const struct quern_gradient_access access = quern_accumulate_access(args);
    *list = (struct quern_gradient_list){
        .gradients = args->gradients,
        .token_places = is_grouped ? args->token_places : NULL,
        .count = args->gradient_count,
    };
    quern_status status = check_form(device, args);
    if (status == QUERN_OK) status = quern_gradient_check_list(device, args->gradient_size, args->grad_dtype, list);
    if (status == QUERN_OK && is_grouped) status = check_groups(device, args);
    return status == QUERN_OK ? quern_gradient_check_each(device, list, &access) : status;
}

/* ---- a plan ---- */

static quern_status plan_differs(const quern_device *device, const char *name, const char *has, const char *wanted) {
    return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.%s is %s, and args.plan was made with %s", name, wanted, has);
}

static quern_status check_lists_of_plan(const quern_device *device, const quern_accumulate_args *args) {
    if (args->plan->device != device)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.plan was made for another device");
    if (args->gradients)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.gradients is not NULL with a plan, which has its own list");
    if (args->token_places)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.token_places is not NULL with a plan, which has its own");
    if (args->token_counts && !args->plan->args.group_count)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.token_counts is not NULL, and args.plan was made with group_count "
                          "0: expected NULL");
    return QUERN_OK;
}

quern_status quern_accumulate_check_plan(const quern_device *device, const quern_accumulate_args *args) {
    const quern_accumulate_args *made = &args->plan->args;
    quern_status status = check_form(device, args);
    if (status == QUERN_OK) status = check_lists_of_plan(device, args);
    if (status != QUERN_OK) return status;
    if (args->grad_dtype != made->grad_dtype)
        return plan_differs(device, "grad_dtype", quern_dtype_name(made->grad_dtype), quern_dtype_name(args->grad_dtype));
    if (args->main_dtype != made->main_dtype)
        return plan_differs(device, "main_dtype", quern_dtype_name(made->main_dtype), quern_dtype_name(args->main_dtype));
    if (args->zero_grads != made->zero_grads)
        return plan_differs(device, "zero_grads", made->zero_grads ? "1" : "0", args->zero_grads ? "1" : "0");
    return QUERN_OK;
}
