/* Rounds and scales Adam's values one at a time.  adam_value.h documents the functions. */
#include "oracle/adam_value.h"

#include <math.h>
#include <string.h>

#include "oracle/dtype.h"
#include "oracle/philox.h"

/* ---- rounding ---- */

bool adam_is_stochastic(const quern_adam_args *args, enum adam_value value) {
    quern_dtype dtype[] = {[ADAM_V] = args->v_dtype, [ADAM_M] = args->m_dtype, [ADAM_PARAM] = args->param_dtype};
    quern_rounding rounding[] = {
        [ADAM_V] = args->v_rounding, [ADAM_M] = args->m_rounding, [ADAM_PARAM] = args->param_rounding};
    quern_rounding by_default[] = {
        [ADAM_V] = QUERN_ROUND_STOCHASTIC,
        [ADAM_M] = quern_dtype_bytes(args->m_dtype) == 1 ? QUERN_ROUND_STOCHASTIC : QUERN_ROUND_NEAREST,
        [ADAM_PARAM] = args->master_dtype ? QUERN_ROUND_NEAREST : QUERN_ROUND_STOCHASTIC,
    };
    if (dtype[value] == QUERN_F32) return false;
    quern_rounding chosen = rounding[value] == QUERN_ROUND_DEFAULT ? by_default[value] : rounding[value];
    return chosen == QUERN_ROUND_STOCHASTIC;
}

uint32_t adam_random_bits(const quern_adam_args *args, int64_t place, int64_t i, enum adam_value value) {
    uint64_t block = (uint64_t)i / 8;
    uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)args->step, (uint32_t)place};
    uint32_t key[2] = {(uint32_t)args->seed, (uint32_t)(args->seed >> 32)};
    uint32_t words[4];
    philox4x32(7, counter, key, words);
    int64_t turn[] = {[ADAM_V] = 0, [ADAM_M] = 2, [ADAM_PARAM] = 4}, half = (i + turn[value]) % 8;
    return half % 2 ? words[half / 2] >> 16 : words[half / 2] & 0xFFFF;
}

uint16_t adam_round_nearest(quern_dtype dtype, float value) { return (uint16_t)dtype_encode(dtype, (double)value); }

/*
 * Adds random bits below the last place and truncates: as many as fp32 has more in its fraction, at most 16.  In the lowest binades
 * the sum is an fp32 sum, so it may be rounded itself.
 */
uint16_t adam_round_stochastic(quern_dtype dtype, float value, uint32_t random) {
    if (!isfinite(value)) return adam_round_nearest(dtype, value);
    const int cut = 23 + ilogb(dtype_ulp(dtype, 1)), bits = cut < 16 ? cut : 16;
    const double ulp = dtype_ulp(dtype, (double)value), part = ldexp(random >> (16 - bits), -bits) * ulp;
    double sum = fabs((double)value) + part;
    if (ulp == dtype_ulp(dtype, 0)) sum = (double)(fabsf(value) + (float)part);
    return (uint16_t)dtype_encode(dtype, copysign(dtype_truncate(dtype, sum), (double)value));
}

/* ---- scaled moments ---- */

bool adam_is_scaled(quern_dtype dtype) { return dtype == QUERN_F16 || dtype == QUERN_E4M3 || dtype == QUERN_E5M2; }

float adam_scale_factor(uint8_t scale) { return scale == 255 ? INFINITY : ldexpf(1, scale - 127); }

/* The exponent of a normal fp32 value; for zero and subnormals the exponent field. */
static int exponent_of(float value) { return value < 0x1p-126f ? -127 : ilogbf(value); }

uint8_t adam_choose_scale(quern_dtype dtype, const float *values, int64_t count) {
    float largest = 0;
    for (int64_t i = 0; i < count; i++)
        if (isfinite(values[i])) largest = fmaxf(largest, fabsf(values[i]));
    const int top = dtype == QUERN_E4M3 ? 7 : 14, exponent = exponent_of(largest) - top;
    return (uint8_t)((exponent < -127 ? -127 : exponent > 127 ? 127 : exponent) + 127);
}

float adam_load_moment(quern_dtype dtype, const void *array, const uint8_t *scales, int64_t i) {
    float value = (float)dtype_load(dtype, array, i);
    return adam_is_scaled(dtype) ? value * adam_scale_factor(scales[i / QUERN_SCALE_BLOCK]) : value;
}

static void store_bits(quern_dtype dtype, void *array, int64_t i, uint16_t bits) {
    if (quern_dtype_bytes(dtype) == 1) ((uint8_t *)array)[i] = (uint8_t)bits;
    else ((uint16_t *)array)[i] = bits;
}

void adam_store_moment(quern_dtype dtype, void *array, uint8_t *scales, int64_t first, int64_t count, const float *values,
                       bool is_square, const uint32_t *random) {
    if (dtype == QUERN_F32) {
        memcpy((float *)array + first, values, (size_t)count * sizeof *values);
        return;
    }
    const bool is_scaled = adam_is_scaled(dtype);
    const uint8_t scale = is_scaled ? adam_choose_scale(dtype, values, count) : 0;
    if (is_scaled) scales[first / QUERN_SCALE_BLOCK] = scale;
    for (int64_t i = 0; i < count; i++) {
        float value = is_scaled ? values[i] * ldexpf(1, 127 - scale) : values[i];
        uint16_t bits = random ? adam_round_stochastic(dtype, value, random[i]) : adam_round_nearest(dtype, value);
        store_bits(dtype, array, first + i, is_scaled && is_square && values[i] > 0 && bits == 0 ? 1 : bits);
    }
}

/* ---- a master in two halves ---- */

float adam_join_master(uint16_t param, uint16_t remainder) {
    uint32_t bits = ((uint32_t)param - (remainder > 0x8000)) << 16 | remainder;
    float master;
    memcpy(&master, &bits, sizeof master);
    return master;
}

void adam_split_master(float master, uint16_t *param, uint16_t *remainder) {
    uint32_t bits;
    memcpy(&bits, &master, sizeof bits);
    *remainder = isnan(master) ? 0 : (uint16_t)bits;
    *param = isnan(master) ? 0x7FFF : (uint16_t)((bits >> 16) + (*remainder > 0x8000));
}
