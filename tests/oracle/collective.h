/* Reductions over ranks, element by element, and the one NaN that they give. */
#ifndef ORACLE_COLLECTIVE_H
#define ORACLE_COLLECTIVE_H

#include <stdint.h>

#include "quern.h"

/*
 * Stores to output[at] the combination of inputs[q][i] over q in [0, count): a sum of fp32 values, each addition rounded to fp32
 * and the result rounded once to dtype; or the maximum, NaN if one of them is, +0 above -0.
 */
void collective_combine(quern_dtype dtype, quern_combination combination, const void *const *inputs, int count, int64_t i,
                        void *output, int64_t at);

#endif
