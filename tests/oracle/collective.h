/* Collectives, and reductions over ranks, element by element, with the one NaN that they give. */
#ifndef ORACLE_COLLECTIVE_H
#define ORACLE_COLLECTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "quern.h"

/*
 * Stores to output[at] the combination of inputs[q][i] over q in [0, count): a sum of fp32 values, each addition rounded to fp32
 * and the result rounded once to dtype; or the maximum, NaN if one of them is, +0 above -0.
 */
void collective_combine(quern_dtype dtype, quern_combination combination, const void *const *inputs, int count, int64_t i,
                        void *output, int64_t at);

/*
 * Whether output[at] is a sum of the same values in any order: each partial sum rounded to fp32 and the last one to dtype,
 * subnormal values and partial sums kept or taken for 0, with the same NaN.  A sum that may overflow on its way is anything.
 */
bool collective_is_any_sum(quern_dtype dtype, const void *const *inputs, int count, int64_t i, const void *output, int64_t at);

enum collective_operation { COLLECTIVE_ALL_GATHER, COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_ALL_REDUCE, COLLECTIVE_BROADCAST,
                            COLLECTIVE_OPERATIONS };

/* A call of `places` members: count and root are those of its arguments, root as a place. */
struct collective_form {
    enum collective_operation operation;
    quern_dtype dtype;
    quern_combination combination;
    int places, root;
    int64_t count;
};

/* Whether it combines. */
bool collective_reduces(enum collective_operation operation);

/* Stores to output what a place gets, from the inputs of all. */
void collective_deliver(const struct collective_form *form, int place, const void *const *inputs, unsigned char *output);

#endif
