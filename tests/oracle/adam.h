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

#include "quern.h"

/* The values that take part in a step, in this order wherever there is an array of them. */
enum adam_value { ADAM_V = 0, ADAM_M = 1, ADAM_PARAM = 2 };

/* Whether a value is rounded stochastically: what QUERN_ROUND_DEFAULT stands for, and never for fp32. */
bool adam_is_stochastic(const quern_adam_args *args, enum adam_value value);

/* The 16 random bits of element i of the tensor at a place in the list. */
uint32_t adam_random_bits(const quern_adam_args *args, int64_t place, int64_t i, enum adam_value value);

/* Rounding of an fp32 value to F16 or BF16; random is used when stochastic. */
uint16_t adam_round_nearest(quern_dtype dtype, float value);
uint16_t adam_round_stochastic(quern_dtype dtype, float value, uint32_t random);

/* Takes the step in place; every pointer of the argument struct points to host memory. */
void adam_model_step(const quern_adam_args *args);

/* The same for elements [first, end) of the tensor at one place. */
void adam_model_range(const quern_adam_args *args, int64_t place, int64_t first, int64_t end);

/* The exact new values of one element, and how far fp32 arithmetic may be from each. */
struct adam_exact {
    double param, m, v;
    double param_tolerance, m_tolerance, v_tolerance;
};

struct adam_exact adam_exact_element(const quern_adam_args *args, double param, double grad, double m, double v);

#endif
