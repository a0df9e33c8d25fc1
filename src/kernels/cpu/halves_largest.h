/*
 * The largest magnitude of 16-bit values by their bits, which have the order of the values.  Included by the amax kernels' source
 * in generated/quantize/.  Four vectors hide the latency of the comparisons.
 */
#ifndef QUERN_CPU_HALVES_LARGEST_H
#define QUERN_CPU_HALVES_LARGEST_H

#include <stdint.h>
#include <string.h>

#include "kernels/cpu/adam_vectors.h"

#if QUERN_SIMD512

enum { HALVES = 32 };
static inline halves halves_magnitude(halves x) { return _mm512_and_si512(x, _mm512_set1_epi16(0x7FFF)); }
static inline halves halves_max(halves a, halves b) { return _mm512_max_epu16(a, b); }

#elif QUERN_SIMD256

enum { HALVES = 16 };
static inline halves halves_magnitude(halves x) { return _mm256_and_si256(x, _mm256_set1_epi16(0x7FFF)); }
static inline halves halves_max(halves a, halves b) { return _mm256_max_epu16(a, b); }

#elif QUERN_NEON

typedef uint16x8_t halves;
enum { HALVES = 8 };
static inline halves halves_load(const uint16_t *from) { return vld1q_u16(from); }
static inline halves halves_magnitude(halves x) { return vbicq_u16(x, vdupq_n_u16(0x8000)); }
static inline halves halves_max(halves a, halves b) { return vmaxq_u16(a, b); }

#endif

#if QUERN_SIMD512 || QUERN_SIMD256 || QUERN_NEON

static inline uint16_t halves_reduce(halves x) {
    uint16_t lane[HALVES], largest = 0;
    memcpy(lane, &x, sizeof lane);
    for (int i = 0; i < HALVES; i++)
        largest = lane[i] > largest ? lane[i] : largest;
    return largest;
}

/*
 * Writes the largest magnitude to *largest and returns how many elements were looked at, from the first on.  0 if one of them is
 * NaN, which is rare: the values are then compared as numbers.
 */
static inline int64_t halves_largest(const uint16_t *from, int64_t count, uint16_t infinity, uint16_t *largest) {
    const int64_t whole = count / (4 * HALVES) * (4 * HALVES);
    halves sofar[4] = {{0}};
    *largest = 0;
    if (!whole) return 0;
    for (int64_t i = 0; i < whole; i += 4 * HALVES)
        for (int k = 0; k < 4; k++)
            sofar[k] = halves_max(sofar[k], halves_magnitude(halves_load(from + i + k * HALVES)));
    const uint16_t found = halves_reduce(halves_max(halves_max(sofar[0], sofar[1]), halves_max(sofar[2], sofar[3])));
    *largest = found <= infinity ? found : 0;
    return found <= infinity ? whole : 0;
}

#else

static inline int64_t halves_largest(const uint16_t *from, int64_t count, uint16_t infinity, uint16_t *largest) {
    (void)from, (void)count, (void)infinity;
    *largest = 0;
    return 0;
}

#endif

#endif
