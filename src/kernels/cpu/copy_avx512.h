/*
 * Copies of cache lines with AVX-512, for the copies between ranks.  Included by ragged_copy.h.  copy_avx512.h and copy_avx2.h
 * define the same names:
 *
 *   line_load, line_store    at any address
 *   line_stream              at a multiple of LINE, bypassing the caches: it must be fenced before another rank is notified
 *   part_copy                fewer bytes than a line
 */
#ifndef QUERN_CPU_COPY_AVX512_H
#define QUERN_CPU_COPY_AVX512_H

#include <immintrin.h>
#include <stdint.h>

enum { LINE = 64 };

typedef __m512i line;

static inline line line_load(const char *from) { return _mm512_loadu_si512(from); }

static inline void line_store(char *to, line x) { _mm512_storeu_si512(to, x); }

static inline void line_stream(char *to, line x) { _mm512_stream_si512((void *)to, x); }

static inline void part_copy(char *to, const char *from, int64_t bytes) {
    const __mmask64 mask = ((__mmask64)1 << bytes) - 1;
    _mm512_mask_storeu_epi8(to, mask, _mm512_maskz_loadu_epi8(mask, from));
}

#endif
