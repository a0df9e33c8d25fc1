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

int adam_bytes(const quern_adam_args *args) {
    size_t read = quern_dtype_bytes(args->grad_dtype), param = quern_dtype_bytes(args->param_dtype);
    size_t updated = quern_dtype_bytes(args->m_dtype) + quern_dtype_bytes(args->v_dtype);
    size_t written = 0;
    if (args->master_dtype) {
        updated += quern_dtype_bytes(args->master_dtype);
        written = param;
    } else {
        updated += param;
    }
    return (int)(read + 2 * updated + written);
}

int adam_flops(void) {
    int m = 3, v = 4, decay = 2;
    int denominator = 3;  /* times the bias correction, root, plus eps */
    int update = 3;       /* times the step size, divided, subtracted */
    return m + v + denominator + update + decay;
}
