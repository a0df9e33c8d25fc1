/*
 * The types that a step of Adam can have, by the generator's own table.  Called for the arguments of a call, the rows of a kernel
 * pack and saved states.
 */
#include "adam/adam.h"

#include "runtime/arguments.h"
#include "runtime/status.h"

struct role {
    const char *argument;
    bool optional;
    quern_dtype dtypes[8];
};

struct master {
    quern_dtype dtype, params[8];
    const char *expected;
};

#include "../generated/adam/legality.h"

static bool is_listed(const quern_dtype *list, quern_dtype dtype) {
    while (*list && *list != dtype) list++;
    return *list != QUERN_NO_DTYPE;
}

bool quern_adam_can_be(enum quern_adam_role role, quern_dtype dtype) {
    return dtype == QUERN_NO_DTYPE ? roles[role].optional : is_listed(roles[role].dtypes, dtype);
}

/* The row of the master copy if parameters of this type cannot have it; else NULL. */
static const struct master *misfit(quern_dtype master, quern_dtype param) {
    for (size_t i = 0; i < sizeof masters / sizeof *masters; i++)
        if (masters[i].dtype == master && !is_listed(masters[i].params, param)) return &masters[i];
    return NULL;
}

bool quern_adam_completes(quern_dtype master, quern_dtype param) {
    return quern_adam_can_be(QUERN_ADAM_MASTER, master) && !misfit(master, param);
}

quern_status quern_adam_check_dtypes(const quern_device *device, const quern_adam_args *args) {
    const quern_dtype given[] = {[QUERN_ADAM_PARAM] = args->param_dtype, [QUERN_ADAM_GRAD] = args->grad_dtype,
                                 [QUERN_ADAM_M] = args->m_dtype,         [QUERN_ADAM_V] = args->v_dtype,
                                 [QUERN_ADAM_MASTER] = args->master_dtype, [QUERN_ADAM_COPY] = args->copy_dtype};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        quern_status status = quern_check_dtype(device, roles[i].argument, given[i], roles[i].dtypes, roles[i].optional);
        if (status != QUERN_OK) return status;
        const struct master *wrong = i == QUERN_ADAM_MASTER ? misfit(args->master_dtype, args->param_dtype) : NULL;
        if (wrong)
            return quern_fail(device, QUERN_INVALID_DTYPE, "args.master_dtype is %s with %s parameters: expected %s",
                              quern_dtype_name(wrong->dtype), quern_dtype_name(args->param_dtype), wrong->expected);
    }
    return QUERN_OK;
}
