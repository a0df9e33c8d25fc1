/*
 * Two independent oracles of one Adam step:
 *
 *   adam_model_step    the documented fp32 arithmetic, operation by operation: what every kernel must give, bit for bit
 *   adam_exact         the textbook formula in double, from which the model and the kernels may be only a few roundings away
 */
#ifndef ORACLE_ADAM_H
#define ORACLE_ADAM_H

#include <stdbool.h>
#include <stdint.h>

#include "oracle/adam_value.h"
#include "quern.h"

/* Takes the step in place, including all its options; every pointer of the argument struct points to host memory. */
void adam_model_step(const quern_adam_args *args);

/*
 * The arithmetic alone for elements [first, end) of the tensor at one place, as if found_inf were 0: no gradient is set to zero and
 * no step counted.  first is a multiple of QUERN_SCALE_BLOCK where a moment is scaled.
 */
void adam_model_range(const quern_adam_args *args, int64_t place, int64_t first, int64_t end);

/* One element before the step; v_max is not read without amsgrad. */
struct adam_element {
    double param, grad, m, v, v_max;
};

/* Its exact new values, and the possible error of fp32 arithmetic for each. */
struct adam_exact {
    double param, m, v, v_max;
    double param_tolerance, m_tolerance, v_tolerance;
};

/* tensor: for the multipliers. */
struct adam_exact adam_exact_element(const quern_adam_args *args, const quern_adam_tensor *tensor, struct adam_element element);

#endif
