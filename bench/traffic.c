#include "traffic.h"

/* An exponential counts as ten operations, a square root and a division as one each. */
enum { EXPONENTIAL = 10 };

int cross_entropy_bytes(quern_dtype logits, bool gradient) {
    return (int)quern_dtype_bytes(logits) * (gradient ? 2 : 1);
}

int cross_entropy_flops(bool gradient) {
    int forward = 1 /* maximum */ + 1 /* minus it */ + EXPONENTIAL + 1 /* sum */;
    return forward + (gradient ? 1 /* times scale / sum */ : 0);
}

bool is_scaled(quern_dtype dtype) {
    return dtype == QUERN_F16 || dtype == QUERN_E4M3 || dtype == QUERN_E5M2;
}

int moment_unit_bytes(quern_dtype dtype) {
    return QUERN_SCALE_BLOCK * (int)quern_dtype_bytes(dtype) + is_scaled(dtype);
}

double adam_bytes(const quern_adam_args *args) {
    size_t read = quern_dtype_bytes(args->grad_dtype), param = quern_dtype_bytes(args->param_dtype);
    size_t updated = quern_dtype_bytes(args->master_dtype), written = quern_dtype_bytes(args->copy_dtype);
    int moments = moment_unit_bytes(args->m_dtype) + (args->amsgrad ? 2 : 1) * moment_unit_bytes(args->v_dtype);
    if (args->master_dtype == QUERN_F32)
        written += param;
    else
        updated += param;
    if (args->zero_grads) written += read;
    return (double)(read + 2 * updated + written) + 2.0 * moments / QUERN_SCALE_BLOCK;
}

int adam_flops(void) {
    int m = 3, v = 4, decay = 2;
    int denominator = 3;  /* times the bias correction, root, plus eps */
    int update = 3;       /* times the step size, divided, subtracted */
    return m + v + denominator + update + decay;
}
