#include "copies.h"

#include <stdint.h>
#include <string.h>

enum { LINE = 64, STEP = 4 * LINE };

#if defined __x86_64__
#include <immintrin.h>

/* Whole steps, to a multiple of a line. */
__attribute__((target("avx512f"))) static void stream_avx512(char *to, const char *from, size_t bytes) {
    for (size_t at = 0; at < bytes; at += STEP) {
        __m512i a = _mm512_loadu_si512(from + at), b = _mm512_loadu_si512(from + at + 64);
        __m512i c = _mm512_loadu_si512(from + at + 128), d = _mm512_loadu_si512(from + at + 192);
        _mm512_stream_si512((void *)(to + at), a);
        _mm512_stream_si512((void *)(to + at + 64), b);
        _mm512_stream_si512((void *)(to + at + 128), c);
        _mm512_stream_si512((void *)(to + at + 192), d);
    }
    _mm_sfence();
}

__attribute__((target("avx2"))) static void stream_avx2(char *to, const char *from, size_t bytes) {
    for (size_t at = 0; at < bytes; at += LINE) {
        __m256i a = _mm256_loadu_si256((const void *)(from + at)), b = _mm256_loadu_si256((const void *)(from + at + 32));
        _mm256_stream_si256((void *)(to + at), a);
        _mm256_stream_si256((void *)(to + at + 32), b);
    }
    _mm_sfence();
}

static void stream_sse2(char *to, const char *from, size_t bytes) {
    for (size_t at = 0; at < bytes; at += 16) _mm_stream_si128((void *)(to + at), _mm_loadu_si128((const void *)(from + at)));
    _mm_sfence();
}

static int has_avx512(void) { return __builtin_cpu_supports("avx512f"); }
static int has_avx2(void) { return __builtin_cpu_supports("avx2"); }
static int has_sse2(void) { return 1; }

/* Best first. */
static const struct stream {
    const char *name;
    int (*usable)(void);
    void (*copy)(char *to, const char *from, size_t bytes);
} streams[] = {{"avx512", has_avx512, stream_avx512}, {"avx2", has_avx2, stream_avx2}, {"sse2", has_sse2, stream_sse2}};

static const struct stream *best_stream(void) {
    const struct stream *stream = streams;
    while (!stream->usable()) stream++;
    return stream;
}

const char *copy_streaming_with(void) {
    return best_stream()->name;
}

void copy_streaming(void *to, const void *from, size_t bytes) {
    size_t head = -(uintptr_t)to % LINE;
    if (head > bytes) head = bytes;
    size_t body = (bytes - head) / STEP * STEP, done = head + body;
    memcpy(to, from, head);
    best_stream()->copy((char *)to + head, (const char *)from + head, body);
    memcpy((char *)to + done, (const char *)from + done, bytes - done);
}

#else

const char *copy_streaming_with(void) {
    return "memcpy";
}

void copy_streaming(void *to, const void *from, size_t bytes) {
    memcpy(to, from, bytes);
}

#endif
