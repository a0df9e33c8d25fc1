/* Computes the scalars of a step from the arguments.  Called by adam.c. */
#include "adam/adam.h"

#include "kernels/adam_scalars.h"

static bool stochastic(quern_rounding rounding, bool by_default) {
    return rounding == QUERN_ROUND_DEFAULT ? by_default : rounding == QUERN_ROUND_STOCHASTIC;
}

static struct quern_adam_rates rates_of(const quern_adam_args *args) {
    struct quern_adam_rates rates = {
        .lr = args->lr,
        .beta1 = args->beta1,
        .beta2 = args->beta2,
        .decoupled_decay = args->mode == QUERN_ADAMW ? args->weight_decay : 0,
        .grad_scale = args->grad_scale != 0 ? args->grad_scale : 1,
        .clip = 1,
        .step = args->steps ? 1 : (uint64_t)args->step,
        .maximize = args->maximize,
    };
    if (args->bias1 == 0 && args->bias2 == 0) return rates;
    /* Kernels know the rates only for the bias corrections, 1 - beta^step: step 1 and these betas give the numbers. */
    rates.beta1 = 1 - (args->bias1 != 0 ? args->bias1 : quern_adam_bias(args->beta1, rates.step));
    rates.beta2 = 1 - (args->bias2 != 0 ? args->bias2 : quern_adam_bias(args->beta2, rates.step));
    rates.step = 1;
    return rates;
}

void quern_adam_fill_step(struct quern_adam_call *call) {
    const quern_adam_args *args = &call->args;
    const quern_adam_control *control = &args->control;
    call->control = (struct quern_adam_pointers){
        .lr = control->lr,
        .step = control->step,
        .grad_scale = control->grad_scale,
        .clip = control->clip,
        .found_inf = control->found_inf,
    };
    call->rates = rates_of(args);
    call->step = (struct quern_adam_step){
        .one_minus_beta1 = (float)(1 - args->beta1),
        .one_minus_beta2 = (float)(1 - args->beta2),
        .eps = (float)args->eps,
        .l2_decay = args->mode == QUERN_ADAM_L2 ? (float)args->weight_decay : 0,
        .stochastic_param = stochastic(args->param_rounding, !args->master_dtype),
        .stochastic_m = stochastic(args->m_rounding, quern_dtype_bytes(args->m_dtype) == 1),
        .stochastic_v = stochastic(args->v_rounding, true),
        .seed = {(uint32_t)args->seed, (uint32_t)(args->seed >> 32)},
        .eps_inside = args->eps_mode == QUERN_EPS_INSIDE,
        .amsgrad = args->amsgrad,
        .zero_grads = args->zero_grads,
        .copy_dtype = (int32_t)args->copy_dtype,
    };
    quern_adam_set_scalars(&call->rates, &call->step);
}
