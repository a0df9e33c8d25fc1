/*
 * Copies of cache lines with AVX2, for the copies between ranks.  Included by ragged_copy.h.  copy_avx512.h describes each
 * function; the names are the same.
 */
#ifndef QUERN_CPU_COPY_AVX2_H
#define QUERN_CPU_COPY_AVX2_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

enum { LINE = 64 };

typedef struct {
    __m256i low, high;
} line;

static inline line line_load(const char *from) {
    return (line){_mm256_loadu_si256((const __m256i *)from), _mm256_loadu_si256((const __m256i *)(from + 32))};
}

static inline void line_store(char *to, line x) {
    _mm256_storeu_si256((__m256i *)to, x.low);
    _mm256_storeu_si256((__m256i *)(to + 32), x.high);
}

static inline void line_stream(char *to, line x) {
    _mm256_stream_si256((__m256i *)to, x.low);
    _mm256_stream_si256((__m256i *)(to + 32), x.high);
}

/* One fixed-size copy for each bit of the count, which is one load and one store. */
static inline void part_copy(char *to, const char *from, int64_t bytes) {
    int64_t done = 0;
#pragma GCC unroll 6
    for (int64_t size = LINE / 2; size; size /= 2) {
        if (!(bytes & size)) continue;
        memcpy(to + done, from + done, (size_t)size);
        done += size;
    }
}

#endif
