/*
 * A step of Adam, all fp32, as a plain loop.  predict.py compiles it once for Advanced SIMD and once for SVE, to compare the two; it
 * does not run.
 */
#include <math.h>
#include <stdint.h>

void adam(float *restrict param, const float *restrict grad, float *restrict m, float *restrict v, int64_t count,
          const float *restrict c) {
    const float beta1 = c[0], beta2 = c[1], one_beta1 = c[2], one_beta2 = c[3], keep = c[4], rate = c[5], root = c[6], eps = c[7];
    for (int64_t i = 0; i < count; i++) {
        const float new_m = fmaf(beta1, m[i], one_beta1 * grad[i]), new_v = fmaf(beta2, v[i], one_beta2 * grad[i] * grad[i]);
        param[i] = fmaf(param[i], keep, -rate * new_m / fmaf(sqrtf(new_v), root, eps));
        m[i] = new_m;
        v[i] = new_v;
    }
}
