/* Reductions by their definitions, in double.  collective.h documents the function. */
#include "oracle/collective.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "oracle/dtype.h"

/* A double holds the sum of two fp32 values with so many bits that rounding it to fp32 is rounding the sum itself. */
static double add(double a, double b) { return dtype_round(QUERN_F32, a + b); }

static bool is_larger(double a, double b) { return a > b || (a == b && !signbit(a) && signbit(b)); }

static double larger(double a, double b) {
    if (isnan(a) || isnan(b)) return (double)NAN;
    return is_larger(b, a) ? b : a;
}

static void store_nan(quern_dtype dtype, void *output, int64_t at) {
    const uint32_t wide = 0x7FC00000;
    const uint32_t infinity = dtype_encode(dtype, (double)INFINITY);
    const uint16_t narrow = (uint16_t)(infinity | (0x8000 - infinity) / 2);  /* the upper bit of the fraction */
    if (dtype == QUERN_F32) memcpy((char *)output + at * 4, &wide, sizeof wide);
    else memcpy((char *)output + at * 2, &narrow, sizeof narrow);
}

void collective_combine(quern_dtype dtype, quern_combination combination, const void *const *inputs, int count, int64_t i,
                        void *output, int64_t at) {
    double result = dtype_load(dtype, inputs[0], i);
    for (int q = 1; q < count; q++) {
        const double value = dtype_load(dtype, inputs[q], i);
        result = combination == QUERN_COMBINE_SUM ? add(result, value) : larger(result, value);
    }
    if (isnan(result)) store_nan(dtype, output, at);
    else dtype_store(dtype, output, at, result);
}

bool collective_is_any_sum(quern_dtype dtype, const void *const *inputs, int count, int64_t i, const void *output, int64_t at) {
    const double has = dtype_load(dtype, output, at);
    double finite = 0, infinite = 0, magnitude = 0;
    uint32_t nan = 0, bits = 0;
    for (int q = 0; q < count; q++) {
        const double value = dtype_load(dtype, inputs[q], i);
        if (!isfinite(value)) infinite += value;
        else finite += value, magnitude += fabs(value);
    }
    if (isnan(infinite)) {
        store_nan(dtype, &nan, 0);
        memcpy(&bits, (const char *)output + at * (int64_t)quern_dtype_bytes(dtype), quern_dtype_bytes(dtype));
        return bits == nan;
    }
    if (magnitude > dtype_largest(QUERN_F32)) return true;
    if (infinite != 0) return has == infinite;
    const double bound = (count - 1) * 0x1.001p-24 * magnitude + count * 0x1p-126;
    return has >= dtype_round(dtype, finite - bound) && has <= dtype_round(dtype, finite + bound);
}

bool collective_reduces(enum collective_operation operation) {
    return operation == COLLECTIVE_REDUCE_SCATTER || operation == COLLECTIVE_ALL_REDUCE;
}

void collective_deliver(const struct collective_form *form, int place, const void *const *inputs, unsigned char *output) {
    const size_t piece = (size_t)form->count * quern_dtype_bytes(form->dtype);
    const int64_t first = form->operation == COLLECTIVE_REDUCE_SCATTER ? place * form->count : 0;
    if (form->operation == COLLECTIVE_BROADCAST) memcpy(output, inputs[form->root], piece);
    for (int from = 0; form->operation == COLLECTIVE_ALL_GATHER && from < form->places; from++)
        memcpy(output + (size_t)from * piece, inputs[from], piece);
    for (int64_t i = 0; collective_reduces(form->operation) && i < form->count; i++)
        collective_combine(form->dtype, form->combination, inputs, form->places, first + i, output, i);
}
