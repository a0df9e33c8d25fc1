/*
 * The largest magnitude of 16-bit values by their bits, which have the order of the values.  Included by the amax kernels' source
 * in generated/quantize/.  Four vectors hide the latency of the comparisons.
 */
#ifndef QUERN_CPU_HALVES_LARGEST_H
#define QUERN_CPU_HALVES_LARGEST_H

#include <stdint.h>

#include "kernels/cpu/adam_vectors.h"

#if QUERN_SIMD512 || QUERN_SIMD256 || QUERN_NEON

enum { HALVES = 2 * VECTOR_LANES };

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
    const halves most = halves_max(halves_max(sofar[0], sofar[1]), halves_max(sofar[2], sofar[3]));
    const uint16_t found = (uint16_t)~halves_reduce_min(~most);
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
