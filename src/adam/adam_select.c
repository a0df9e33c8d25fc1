/* Choosing a kernel of Adam. */
#include "adam/adam_select.h"

#include <string.h>

static bool dtype_refused(const char *name, quern_dtype has, quern_dtype wanted, struct quern_text *why) {
    if (has == wanted) return false;
    if (why)
        quern_text_add(why, "%s is %s, the request has %s", name, has ? quern_dtype_name(has) : "none",
                       wanted ? quern_dtype_name(wanted) : "none");
    return true;
}

static bool refused(const struct quern_kernel *kernel, const void *context, struct quern_text *why) {
    const struct quern_adam_request *request = context;
    if (kernel->key.adam.task != request->task) {
        if (why) quern_text_add(why, "computes something else");
        return true;
    }
    if (request->full && !kernel->key.adam.full) {
        if (why) quern_text_add(why, "knows no AMSGrad, copies, zero_grads or scales, of which the request has some");
        return true;
    }
    return dtype_refused("param", kernel->key.adam.param, request->param, why) ||
           dtype_refused("grad", kernel->key.adam.grad, request->grad, why) ||
           dtype_refused("m", kernel->key.adam.m, request->m, why) ||
           dtype_refused("v", kernel->key.adam.v, request->v, why) ||
           dtype_refused("master", kernel->key.adam.master, request->master, why);
}

/* The library has every task on gradients, but not every type of step: the name that the generator would give it. */
static void advise(const void *context, struct quern_text *text) {
    const struct quern_adam_request *request = context;
    if (request->task != QUERN_ADAM_STEP) return;
    quern_text_add(text, "; `./quern gen add adam_p%s_g%s_m%s_v%s%s%s` (or python3 -m gen add ...) and a build add one",
                   quern_dtype_name(request->param), quern_dtype_name(request->grad), quern_dtype_name(request->m),
                   quern_dtype_name(request->v),
                   request->master == QUERN_F32 ? "_master32" : request->master == QUERN_REMAINDER ? "_remainder" : "",
                   request->full ? "_full" : "");
}

static const struct quern_operation operation = {"adam", QUERN_ADAM, quern_adam_kernels, refused, advise};

bool quern_adam_is_scaled(quern_dtype dtype) {
    return dtype == QUERN_F16 || dtype == QUERN_E4M3 || dtype == QUERN_E5M2;
}

struct quern_adam_request quern_adam_request_of(const quern_adam_args *args) {
    return (struct quern_adam_request){
        .task = QUERN_ADAM_STEP,
        .param = args->param_dtype,
        .grad = args->grad_dtype,
        .m = args->m_dtype,
        .v = args->v_dtype,
        .master = args->master_dtype,
        .full = args->amsgrad || args->zero_grads || args->copy_dtype || quern_adam_is_scaled(args->m_dtype) ||
                quern_adam_is_scaled(args->v_dtype),
    };
}

quern_status quern_adam_select(quern_device *device, const struct quern_adam_request *request,
                               const struct quern_ready_kernel **chosen) {
    return quern_select(device, &operation, request, chosen);
}

size_t quern_adam_explain_request(const quern_device *device, const struct quern_adam_request *request, char *buffer,
                                  size_t bytes) {
    return quern_explain(device, &operation, request, buffer, bytes);
}
