/* Checks of the arguments without the tensors.  Called by quern_adam, by plans and by saved states. */
#include "adam/adam.h"


#include <float.h>
#include <string.h>

#include "runtime/arguments.h"
#include "runtime/status.h"

/* The first header's structs: arguments that ended before eps_mode, tensors that ended with count. */
enum {
    OLDEST_FIELDS = offsetof(quern_adam_args, eps_mode),
    OLDEST_ARGS = offsetof(quern_adam_args, amsgrad),
    OLDEST_TENSOR = offsetof(quern_adam_tensor, m_scale)
};

/* The oldest struct has padding in the place of eps_mode, with any content. */
quern_status quern_adam_take(const quern_device *device, const quern_adam_args *given, quern_adam_args *args) {
    quern_status status = quern_check_grown_struct(device, "args", given, OLDEST_ARGS, sizeof *args);
    if (status != QUERN_OK) return status;
    *args = (quern_adam_args){0};
    const size_t bytes = quern_struct_bytes(given->size);
    memcpy(args, given, bytes == OLDEST_ARGS ? OLDEST_FIELDS : bytes);
    return QUERN_OK;
}

/* ---- choices and options ---- */

struct choice {
    const char *name;
    int value, last;
};

static quern_status check_choices(const quern_device *device, const struct choice *choices, size_t count) {
    quern_status status = QUERN_OK;
    for (size_t i = 0; i < count && status == QUERN_OK; i++)
        status = quern_check_choice(device, choices[i].name, choices[i].value, choices[i].last);
    return status;
}

static quern_status check_options(const quern_device *device, const quern_adam_args *args) {
    const struct choice options[] = {{"args.amsgrad", args->amsgrad, 1}, {"args.zero_grads", args->zero_grads, 1},
                                     {"args.use_multipliers", args->use_multipliers, 1}};
    return check_choices(device, options, sizeof options / sizeof *options);
}

static quern_status check_modes(const quern_device *device, const quern_adam_args *args) {
    const struct choice modes[] = {{"args.mode", (int)args->mode, QUERN_ADAM_L2},
                                   {"args.param_rounding", (int)args->param_rounding, QUERN_ROUND_STOCHASTIC},
                                   {"args.m_rounding", (int)args->m_rounding, QUERN_ROUND_STOCHASTIC},
                                   {"args.v_rounding", (int)args->v_rounding, QUERN_ROUND_STOCHASTIC},
                                   {"args.eps_mode", (int)args->eps_mode, QUERN_EPS_INSIDE},
                                   {"args.maximize", args->maximize, 1}};
    quern_status status = check_choices(device, modes, sizeof modes / sizeof *modes);
    if (status == QUERN_OK && args->master_dtype == QUERN_REMAINDER && args->param_rounding == QUERN_ROUND_STOCHASTIC)
        status = quern_fail(device, QUERN_INVALID_ARGUMENT, "args.param_rounding is stochastic with a remainder: expected default "
                            "or nearest, since the parameter is the upper half of the master and cannot be rounded another way");
    return status;
}

/* ---- the list ---- */

static quern_status check_list(const quern_device *device, const quern_adam_args *args) {
    const size_t known = sizeof(quern_adam_tensor);
    if (args->tensor_size < OLDEST_TENSOR || args->tensor_size > known || args->tensor_size % sizeof(void *))
        return quern_fail(device, QUERN_INVALID_STRUCT_SIZE,
                          "args.tensor_size is %u: expected %zu (as QUERN_ADAM_ARGS_INIT sets)%s",
                          args->tensor_size, known,
                          args->tensor_size > known ? " (was the program compiled against a newer quern.h?)" : "");
    if (args->use_multipliers && args->tensor_size < known)
        return quern_fail(device, QUERN_INVALID_STRUCT_SIZE, "args.tensor_size is %u with use_multipliers: expected %zu, since a "
                          "shorter tensor has no multipliers", args->tensor_size, known);
    quern_status status = quern_check_count(device, "args.tensor_count", args->tensor_count, QUERN_MOST_ITEMS);
    if (status != QUERN_OK) return status;
    return args->tensor_count ? quern_check_pointer(device, "args.tensors", args->tensors, sizeof(void *)) : QUERN_OK;
}

quern_status quern_adam_check_form(const quern_device *device, const quern_adam_args *args) {
    quern_status status = quern_adam_check_dtypes(device, args);
    if (status == QUERN_OK) status = check_options(device, args);
    if (status == QUERN_OK && !args->plan) status = check_list(device, args);
    return status;
}

/* ---- a plan ---- */

static quern_status plan_differs(const quern_device *device, const char *name, const char *has, const char *wanted) {
    return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.%s is %s, and args.plan was made with %s", name, wanted, has);
}

static const char *name_of(quern_dtype dtype) {
    return dtype ? quern_dtype_name(dtype) : "none";
}

quern_status quern_adam_check_plan(const quern_device *device, const quern_adam_args *args) {
    const quern_adam_args *made = &args->plan->args;
    const struct {
        const char *name;
        quern_dtype made, given;
    } dtypes[] = {{"param_dtype", made->param_dtype, args->param_dtype}, {"grad_dtype", made->grad_dtype, args->grad_dtype},
                  {"m_dtype", made->m_dtype, args->m_dtype}, {"v_dtype", made->v_dtype, args->v_dtype},
                  {"master_dtype", made->master_dtype, args->master_dtype}, {"copy_dtype", made->copy_dtype, args->copy_dtype}};
    const struct {
        const char *name;
        int32_t made, given;
    } options[] = {{"amsgrad", made->amsgrad, args->amsgrad}, {"zero_grads", made->zero_grads, args->zero_grads},
                   {"use_multipliers", made->use_multipliers, args->use_multipliers}};
    if (args->plan->device != device)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.plan was made for another device");
    if (args->tensors)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.tensors is not NULL with a plan, which has its own list");
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (dtypes[i].made != dtypes[i].given)
            return plan_differs(device, dtypes[i].name, name_of(dtypes[i].made), name_of(dtypes[i].given));
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].made != options[i].given)
            return plan_differs(device, options[i].name, options[i].made ? "1" : "0", options[i].given ? "1" : "0");
    return QUERN_OK;
}

/* ---- scalars and control ---- */

/* The ranges of numbers.  Each number is converted to fp32, where an infinity would turn parameters into NaN. */
enum range { BETA, SIZE, SCALE, BIAS };

static quern_status check_scalar(const quern_device *device, const char *name, double value, enum range range) {
    static const struct {
        double least, most;
        const char *text;
    } ranges[] = {[BETA] = {0, 1 - DBL_EPSILON / 2, "0 <= beta < 1"},
                  [SIZE] = {0, FLT_MAX, "0 to 3.4e38, the largest fp32"},
                  [SCALE] = {1 / (double)FLT_MAX, FLT_MAX, "0, which means 1, or 3e-39 to 3.4e38"},
                  [BIAS] = {1e-15, 1, "0, which means from step, or 1e-15 to 1"}};
    if ((value >= ranges[range].least && value <= ranges[range].most) || value == 0) return QUERN_OK;
    return quern_fail(device, QUERN_INVALID_ARGUMENT, "%s is %g: expected %s", name, value, ranges[range].text);
}

static quern_status check_bias(const quern_device *device, const quern_adam_args *args, const char *name, double bias) {
    if (bias == 0 || (!args->control.step && !args->steps)) return check_scalar(device, name, bias, BIAS);
    return quern_fail(device, QUERN_INVALID_ARGUMENT, "%s is not 0 with args.%s, from which the bias corrections follow: "
                      "expected 0", name, args->steps ? "steps" : "control.step");
}

static quern_status check_scalars(const quern_device *device, const quern_adam_args *args) {
    quern_status status = args->control.lr ? QUERN_OK : check_scalar(device, "args.lr", args->lr, SIZE);
    if (status == QUERN_OK) status = check_scalar(device, "args.beta1", args->beta1, BETA);
    if (status == QUERN_OK) status = check_scalar(device, "args.beta2", args->beta2, BETA);
    if (status == QUERN_OK) status = check_scalar(device, "args.eps", args->eps, SIZE);
    if (status == QUERN_OK) status = check_scalar(device, "args.weight_decay", args->weight_decay, SIZE);
    if (status == QUERN_OK && !args->control.grad_scale)
        status = check_scalar(device, "args.grad_scale", args->grad_scale, SCALE);
    if (status == QUERN_OK) status = check_bias(device, args, "args.bias1", args->bias1);
    if (status == QUERN_OK) status = check_bias(device, args, "args.bias2", args->bias2);
    if (status == QUERN_OK && args->step < 1 && !args->control.step && !args->steps && (args->bias1 == 0 || args->bias2 == 0))
        status = quern_fail(device, QUERN_INVALID_ARGUMENT, "args.step is %lld: expected 1 or more (steps count from 1)",
                            (long long)args->step);
    return status;
}

static quern_status check_steps(const quern_device *device, const quern_adam_args *args) {
    if (args->steps && args->control.step)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.steps is not NULL with args.control.step: expected one of the two");
    return quern_check_optional(device, "args.steps", args->steps, sizeof *args->steps);
}

static quern_status check_control(const quern_device *device, const quern_adam_control *control) {
    quern_status status = quern_check_optional(device, "args.control.lr", control->lr, sizeof(float));
    if (status == QUERN_OK) status = quern_check_optional(device, "args.control.step", control->step, sizeof(int64_t));
    if (status == QUERN_OK) status = quern_check_optional(device, "args.control.grad_scale", control->grad_scale, sizeof(float));
    if (status == QUERN_OK) status = quern_check_optional(device, "args.control.clip", control->clip, sizeof(float));
    if (status == QUERN_OK) status = quern_check_optional(device, "args.control.found_inf", control->found_inf, sizeof(float));
    return status;
}

quern_status quern_adam_check_step(const quern_device *device, const quern_adam_args *args) {
    quern_status status = check_modes(device, args);
    if (status == QUERN_OK) status = check_scalars(device, args);
    if (status == QUERN_OK) status = check_control(device, &args->control);
    if (status == QUERN_OK) status = check_steps(device, args);
    if (status == QUERN_OK && args->plan) status = quern_adam_check_plan(device, args);
    return status == QUERN_OK ? quern_adam_check_grads(device, args->grads, args->plan) : status;
}
