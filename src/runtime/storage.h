/*
 * Conversions between stored values and fp32 on the host, to nearest, element by element.  Kernels have their own.  These are for
 * adam_load.c, since the types of a saved state may change, and for known answers.  Arrays of codes may begin at any address.
 * A type must be one whose elements have a value: not the integers, nor the remainder.
 */
#ifndef QUERN_STORAGE_H
#define QUERN_STORAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "quern.h"

/* scales: one byte for each QUERN_SCALE_BLOCK of the elements, or NULL if there are no scales. */
void quern_storage_widen(quern_dtype dtype, const void *codes, const uint8_t *scales, int64_t count, float *values);

/* To nearest, ties to even.  keep_positive: with scales, a positive value is never stored as zero. */
void quern_storage_narrow(quern_dtype dtype, const float *values, int64_t count, bool keep_positive, void *codes, uint8_t *scales);

/* An fp32 master from a bf16 parameter and its remainder, and the reverse.  The remainder of a NaN is 0. */
void quern_storage_join(const void *param, const void *remainder, int64_t count, float *values);
void quern_storage_split(const float *values, int64_t count, void *param, void *remainder);

#endif
