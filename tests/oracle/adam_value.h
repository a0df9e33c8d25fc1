/* The values that Adam stores: their rounding, random bits and scales, by the definitions in quern.h, one value at a time. */
#ifndef ORACLE_ADAM_VALUE_H
#define ORACLE_ADAM_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "quern.h"

/* The values that a step rounds, in this order; only those that have an array. */
enum adam_value { ADAM_V = 0, ADAM_M = 1, ADAM_PARAM = 2 };

/* Whether a value is rounded stochastically, with QUERN_ROUND_DEFAULT resolved; never for fp32. */
bool adam_is_stochastic(const quern_adam_args *args, enum adam_value value);

/* The 16 random bits of element i of a tensor, given the tensor's position in the list and args.step. */
uint32_t adam_random_bits(const quern_adam_args *args, int64_t place, int64_t i, enum adam_value value);

/* The bits of an fp32 value rounded to a type of 16 or 8 bits; random is used when stochastic. */
uint16_t adam_round_nearest(quern_dtype dtype, float value);
uint16_t adam_round_stochastic(quern_dtype dtype, float value, uint32_t random);

/* ---- moments with a scale for each QUERN_SCALE_BLOCK elements ---- */

bool adam_is_scaled(quern_dtype dtype);

/* 2^(scale - 127); infinity for 255, which is never written. */
float adam_scale_factor(uint8_t scale);

/* The scale for a block of values. */
uint8_t adam_choose_scale(quern_dtype dtype, const float *values, int64_t count);

/* Element i of a moment; scales is not read if the type has none. */
float adam_load_moment(quern_dtype dtype, const void *array, const uint8_t *scales, int64_t i);

/*
 * Stores the values of one block, starting at element `first`, a multiple of QUERN_SCALE_BLOCK if the type is scaled.  is_square:
 * v or v_max, which must not become zero.  random: of each element; NULL: to nearest.
 */
void adam_store_moment(quern_dtype dtype, void *array, uint8_t *scales, int64_t first, int64_t count, const float *values,
                       bool is_square, const uint32_t *random);

/* ---- a master in two halves ---- */

/* Joins a bf16 parameter and its remainder to a master, and splits a master into the two. */
float adam_join_master(uint16_t param, uint16_t remainder);
void adam_split_master(float master, uint16_t *param, uint16_t *remainder);

#endif
