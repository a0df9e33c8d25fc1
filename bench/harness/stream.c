/* Loops over a CPU's memory, divided among threads.  Called by machine_cpu.c, and by the all-to-all and its peers. */
#include "harness/stream.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined __x86_64__
#include <immintrin.h>
#endif

/* Each loop is compiled for several instruction sets and the best is chosen at run time: a baseline must not be slow itself. */
#if defined __x86_64__ && defined __gnu_linux__
#define FOR_ALL_CPUS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_ALL_CPUS
#endif

enum { MAX_THREADS = 1024, WORDS_OF_A_LINE = 8, PIECE = 256 };

/* ---- the loops ---- */

FOR_ALL_CPUS static void update(uint64_t *restrict data, size_t words, uint64_t mask) {
    for (size_t i = 0; i < words; i++) data[i] ^= mask;
}

FOR_ALL_CPUS static uint64_t sum(const uint64_t *restrict data, size_t words) {
    uint64_t total = 0;
    for (size_t i = 0; i < words; i++) total += data[i];
    return total;
}

FOR_ALL_CPUS static void fill(uint64_t *restrict data, size_t words, uint64_t value) {
    for (size_t i = 0; i < words; i++) data[i] = value;
}

/* ---- dividing a loop among threads ---- */

/* One thread's part, in words of 8 bytes or in elements. */
struct share {
    void (*loop)(const struct share *share);
    size_t first, count;
    void *data;
    const void *from;
    const struct optimizer_arrays *arrays;
    uint64_t mask;
    uint64_t total;
};

static void *run_share(void *share) {
    ((struct share *)share)->loop(share);
    return NULL;
}

static void start(pthread_t *handle, struct share *share) {
    if (pthread_create(handle, NULL, run_share, share) == 0) return;
    fprintf(stderr, "cannot start a thread\n");
    exit(EXIT_FAILURE);
}

/*
 * Runs a loop over `count` words or elements on threads, in parts that are multiples of a step; returns the sum of the parts'
 * totals.
 */
static uint64_t run(int threads, size_t count, size_t step, struct share pattern) {
    static struct share shares[MAX_THREADS];
    static pthread_t handles[MAX_THREADS];
    if (threads > MAX_THREADS) threads = MAX_THREADS;
    size_t steps = (count + step - 1) / step;
    for (int i = 0; i < threads; i++) {
        size_t first = steps * (size_t)i / (size_t)threads * step, end = steps * (size_t)(i + 1) / (size_t)threads * step;
        shares[i] = pattern;
        shares[i].first = first;
        shares[i].count = (end < count ? end : count) - first;
        if (i) start(&handles[i], &shares[i]);
    }
    run_share(&shares[0]);
    uint64_t total = shares[0].total;
    for (int i = 1; i < threads; i++) {
        pthread_join(handles[i], NULL);
        total += shares[i].total;
    }
    return total;
}

static void copy_share(const struct share *share) {
    memcpy((uint64_t *)share->data + share->first, (const uint64_t *)share->from + share->first, 8 * share->count);
}

static void update_share(const struct share *share) {
    update((uint64_t *)share->data + share->first, share->count, share->mask);
}

static void read_share(const struct share *share) {
    ((struct share *)share)->total = sum((const uint64_t *)share->from + share->first, share->count);
}

/* One array's part of a piece; a remainder of less than a word at the very end is left out. */
static uint64_t access_array(const struct optimizer_array *array, size_t first, size_t elements, uint64_t mask) {
    uint64_t *data = (uint64_t *)array->data + first / UNIT_ELEMENTS * (size_t)array->unit_bytes / 8;
    size_t words = elements * (size_t)array->unit_bytes / UNIT_ELEMENTS / 8;
    switch (array->access) {
    case ACCESS_READ: return sum(data, words);
    case ACCESS_UPDATE: update(data, words, mask); break;
    case ACCESS_WRITE: fill(data, words, mask); break;
    }
    return 0;
}

static void optimize_share(const struct share *share) {
    const struct optimizer_arrays *arrays = share->arrays;
    size_t end = share->first + share->count;
    uint64_t total = 0;
    for (size_t piece = share->first; piece < end; piece += PIECE) {
        size_t elements = end - piece < PIECE ? end - piece : PIECE;
        for (int i = 0; i < arrays->arrays; i++) total += access_array(&arrays->array[i], piece, elements, share->mask);
    }
    ((struct share *)share)->total = total;
}

/* ---- the loops on all threads ---- */

void stream_copy(int threads, void *to, const void *from, size_t bytes) {
    run(threads, bytes / 8, WORDS_OF_A_LINE, (struct share){.loop = copy_share, .data = to, .from = from});
}

void stream_update(int threads, void *data, size_t bytes, uint64_t mask) {
    run(threads, bytes / 8, WORDS_OF_A_LINE, (struct share){.loop = update_share, .data = data, .mask = mask});
}

uint64_t stream_read(int threads, const void *data, size_t bytes) {
    return run(threads, bytes / 8, WORDS_OF_A_LINE, (struct share){.loop = read_share, .from = data});
}

uint64_t stream_optimize(int threads, const struct optimizer_arrays *arrays, uint64_t mask) {
    return run(threads, (size_t)arrays->count, PIECE, (struct share){.loop = optimize_share, .arrays = arrays, .mask = mask});
}

/* ---- past the caches ---- */

#if defined __x86_64__
enum { LINE = 64, STEP = 4 * LINE };

/* Whole steps, to a multiple of a line. */
__attribute__((target("avx512f"))) static void past_avx512(char *to, const char *from, size_t bytes) {
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

__attribute__((target("avx2"))) static void past_avx2(char *to, const char *from, size_t bytes) {
    for (size_t at = 0; at < bytes; at += LINE) {
        __m256i a = _mm256_loadu_si256((const void *)(from + at)), b = _mm256_loadu_si256((const void *)(from + at + 32));
        _mm256_stream_si256((void *)(to + at), a);
        _mm256_stream_si256((void *)(to + at + 32), b);
    }
    _mm_sfence();
}

static void past_sse2(char *to, const char *from, size_t bytes) {
    for (size_t at = 0; at < bytes; at += 16) _mm_stream_si128((void *)(to + at), _mm_loadu_si128((const void *)(from + at)));
    _mm_sfence();
}

static int has_avx512(void) { return __builtin_cpu_supports("avx512f"); }
static int has_avx2(void) { return __builtin_cpu_supports("avx2"); }
static int has_sse2(void) { return 1; }

/* Best first. */
static const struct stream {
    int (*usable)(void);
    void (*copy)(char *to, const char *from, size_t bytes);
} streams[] = {{has_avx512, past_avx512}, {has_avx2, past_avx2}, {has_sse2, past_sse2}};

static const struct stream *best_stream(void) {
    const struct stream *stream = streams;
    while (!stream->usable()) stream++;
    return stream;
}

void stream_past_caches(void *to, const void *from, size_t bytes) {
    size_t head = -(uintptr_t)to % LINE;
    if (head > bytes) head = bytes;
    size_t body = (bytes - head) / STEP * STEP, done = head + body;
    memcpy(to, from, head);
    best_stream()->copy((char *)to + head, (const char *)from + head, body);
    memcpy((char *)to + done, (const char *)from + done, bytes - done);
}

#else

void stream_past_caches(void *to, const void *from, size_t bytes) {
    memcpy(to, from, bytes);
}

#endif
