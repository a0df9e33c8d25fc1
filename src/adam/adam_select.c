/* Chooses a kernel of Adam.  Called by quern_adam, its explanation and the functions on gradients. */
#include "adam/adam.h"

#include <string.h>

#include "runtime/dtype.h"
#include "runtime/explain.h"
#include "runtime/operation.h"
#include "runtime/pack_format.h"

static bool dtype_refused(const char *name, quern_dtype has, quern_dtype wanted, struct quern_text *why) {
    if (has == wanted) return false;
    if (why)
        quern_text_add(why, "%s is %s, the request has %s", name, has ? quern_dtype_name(has) : "none",
                       wanted ? quern_dtype_name(wanted) : "none");
    return true;
}

static int refused(const struct quern_kernel *kernel, int cluster, const void *context, struct quern_text *why) {
    const struct quern_adam_request *request = context;
    (void)cluster;  /* these kernels have none */
    if (kernel->key.adam.task != request->task) {
        if (why) quern_text_add(why, "computes something else");
        return QUERN_ANOTHER_TASK;
    }
    if (request->full && !kernel->key.adam.full) {
        if (why) quern_text_add(why, "knows no AMSGrad, copies, zero_grads or scales, of which the request has some");
        return QUERN_ANOTHER_TASK + 1;
    }
    const bool differs = dtype_refused("param", kernel->key.adam.param, request->param, why) ||
                         dtype_refused("grad", kernel->key.adam.grad, request->grad, why) ||
                         dtype_refused("m", kernel->key.adam.m, request->m, why) ||
                         dtype_refused("v", kernel->key.adam.v, request->v, why) ||
                         dtype_refused("master", kernel->key.adam.master, request->master, why);
    return differs ? QUERN_ANOTHER_TASK + 2 : 0;
}

/* Names the kernel that the generator can add.  The whole library has all tasks on gradients. */
static bool advise(const void *context, struct quern_text *text) {
    const struct quern_adam_request *request = context;
    if (request->task != QUERN_ADAM_STEP) return false;
    quern_text_add(text, "; `./quern gen add adam_p%s_g%s_m%s_v%s%s%s` (or python3 -m gen add ...) and a build add one",
                   quern_dtype_name(request->param), quern_dtype_name(request->grad), quern_dtype_name(request->m),
                   quern_dtype_name(request->v),
                   request->master == QUERN_F32 ? "_master32" : request->master == QUERN_REMAINDER ? "_remainder" : "",
                   request->full ? "_full" : "");
    return true;
}

/* The other tasks have a kernel for all types. */
static bool touches_gradients(enum quern_adam_task task) {
    return task != QUERN_GRADIENT_NORM_COMBINE && task != QUERN_ADAM_TENSOR_STEPS;
}

static enum quern_row_role role(const struct quern_kernel *kernel) {
    const enum quern_adam_task task = kernel->key.adam.task;
    return task == QUERN_ADAM_STEP   ? QUERN_ROW_SELECTED_BY_NAME
           : touches_gradients(task) ? QUERN_ROW_FOLLOWS_TARGET
                                     : QUERN_ROW_INDISPENSABLE;
}

/* Steps and accumulations use exactly rounded operations only.  Norms of other targets add in another order. */
static const char *bits(const struct quern_kernel *kernel) {
    const enum quern_adam_task task = kernel->key.adam.task;
    return task == QUERN_GRADIENT_NORM || task == QUERN_GRADIENT_NORM_COMBINE ? NULL : QUERN_EXACT_BITS;
}

/* A full kernel serves every request that a plain one serves. */
static bool covers(const struct quern_kernel *kernel, const struct quern_kernel *other) {
    return kernel->key.adam.task == other->key.adam.task && kernel->key.adam.full >= other->key.adam.full &&
           memcmp(kernel->key.any.dtypes, other->key.any.dtypes, sizeof other->key.any.dtypes) == 0;
}

static bool is_step(const quern_dtype *dtypes) {
    return quern_adam_can_be(QUERN_ADAM_PARAM, dtypes[QUERN_ADAM_PARAM]) && quern_adam_can_be(QUERN_ADAM_M, dtypes[QUERN_ADAM_M]) &&
           quern_adam_can_be(QUERN_ADAM_V, dtypes[QUERN_ADAM_V]) &&
           quern_adam_completes(dtypes[QUERN_ADAM_MASTER], dtypes[QUERN_ADAM_PARAM]);
}

/* An accumulation has its sum in the place of a step's parameter. */
static bool is_sum(quern_dtype dtype) { return dtype == QUERN_F32 || dtype == QUERN_BF16; }

static const char *pack_fault(const struct quern_pack_row *row) {
    quern_dtype dtypes[QUERN_KEY_DTYPES];
    for (int i = 0; i < QUERN_KEY_DTYPES; i++) dtypes[i] = (quern_dtype)row->dtypes[i];
    if (row->stage < QUERN_ADAM_STEP || row->stage > QUERN_ADAM_TENSOR_STEPS) return "an unknown task";
    if (row->full != 0 && row->full != 1) return "an unknown set of options";
    const bool touches = touches_gradients((enum quern_adam_task)row->stage);
    if (touches != quern_adam_can_be(QUERN_ADAM_GRAD, dtypes[QUERN_ADAM_GRAD])) return "an unknown dtype";
    if (row->stage == QUERN_ADAM_STEP && !is_step(dtypes)) return "an unknown dtype";
    if (row->stage == QUERN_GRADIENT_ACCUMULATE && !is_sum(dtypes[QUERN_ADAM_PARAM])) return "an unknown dtype";
    return row->elements == (touches ? QUERN_LIST_TILE : 0) ? NULL : "a wrong number of elements in a tile";
}

const struct quern_operation quern_adam_operation = {
    .table = quern_adam_kernels, .counts_resident = true, .role = role, .covers = covers, .bits = bits, .pack_fault = pack_fault,
    .refused = refused, .advise = advise, .answers = &quern_adam_answers};

struct quern_adam_request quern_adam_request_of(const quern_adam_args *args) {
    return (struct quern_adam_request){
        .task = QUERN_ADAM_STEP,
        .param = args->param_dtype,
        .grad = args->grad_dtype,
        .m = args->m_dtype,
        .v = args->v_dtype,
        .master = args->master_dtype,
        .full = args->amsgrad || args->zero_grads || args->copy_dtype || quern_is_scaled(args->m_dtype) ||
                quern_is_scaled(args->v_dtype),
    };
}

quern_status quern_adam_select(quern_device *device, const struct quern_adam_request *request,
                               const struct quern_ready_kernel **chosen) {
    return quern_select(device, QUERN_ADAM, request, chosen);
}

size_t quern_adam_explain_request(const quern_device *device, const struct quern_adam_request *request, char *buffer,
                                  size_t bytes) {
    return quern_explain(device, QUERN_ADAM, request, buffer, bytes);
}
