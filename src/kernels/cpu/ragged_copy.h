/*
 * The copy of one slice of a ragged all-to-all between ranks on CPUs.  Included by the kernel's source in
 * generated/ragged_all_to_all/.
 *
 * With SIMD the copy stores whole lines of the destination, several at a time, and uses ordinary stores for the bytes before and
 * after them.  A streaming copy bypasses the caches: a line that is written whole is not read first, so that a byte costs two bytes
 * of traffic instead of three, and the contents of the caches stay.  The copy prefetches its source a page ahead, where the
 * hardware does not; beyond the end this usually reaches the next slice.  It does not wait for its stores, which would double the
 * cost of a slice of 4 KiB: the caller fences once for many slices.
 *
 * Other copies fetch the lines of the destination ahead, since they are in the cache of the receiver's core.  Lines beyond the end
 * are left there: another rank may be writing them.
 *
 * The portable target uses libc's memcpy, which knows the processor.  So does NEON: cores of Arm stop reading lines that are
 * written whole by themselves.
 */
#ifndef QUERN_CPU_RAGGED_COPY_H
#define QUERN_CPU_RAGGED_COPY_H

#include <stdint.h>
#include <string.h>

#include "kernels/cpu/target.h"

#if QUERN_SIMD512
#include "kernels/cpu/copy_avx512.h"
#elif QUERN_SIMD256
#include "kernels/cpu/copy_avx2.h"
#endif

#if QUERN_SIMD512 || QUERN_SIMD256

enum { LINES = 4, AHEAD = 4096, OWNED_AHEAD = 2048 };

/* Fetches lines that will be written, from a core that has read them.  Older processors do nothing. */
static inline void own_lines(const char *to) {
    for (int i = 0; i < LINES; i++) __asm__ volatile("prefetchw %0" : : "m"(to[i * LINE]));
}

static inline void copy_lines(char *to, const char *from) {
    line lines[LINES];
    for (int i = 0; i < LINES; i++) lines[i] = line_load(from + i * LINE);
    for (int i = 0; i < LINES; i++) line_store(to + i * LINE, lines[i]);
}

static inline void stream_lines(char *to, const char *from) {
    line lines[LINES];
    for (int i = 0; i < LINES; i++) __builtin_prefetch((const void *)((uintptr_t)from + AHEAD + (uintptr_t)(i * LINE)));
    for (int i = 0; i < LINES; i++) lines[i] = line_load(from + i * LINE);
    for (int i = 0; i < LINES; i++) line_stream(to + i * LINE, lines[i]);
}

/* Copies whole lines; the destination is at a multiple of LINE. */
static inline void copy_aligned(char *to, const char *from, int64_t bytes, int streaming) {
    int64_t done = 0;
    if (streaming) {
        for (; done + LINES * LINE <= bytes; done += LINES * LINE) stream_lines(to + done, from + done);
        for (; done < bytes; done += LINE) line_stream(to + done, line_load(from + done));
    } else {
        for (; done + LINES * LINE + OWNED_AHEAD <= bytes; done += LINES * LINE) {
            own_lines(to + done + OWNED_AHEAD);
            copy_lines(to + done, from + done);
        }
        for (; done + LINES * LINE <= bytes; done += LINES * LINE) copy_lines(to + done, from + done);
        for (; done < bytes; done += LINE) line_store(to + done, line_load(from + done));
    }
}

static inline void copy_slice(char *to, const char *from, int64_t bytes, int streaming) {
    int64_t head = -(int64_t)(uintptr_t)to & (LINE - 1);
    if (head > bytes) head = bytes;
    const int64_t body = (bytes - head) & -LINE, tail = bytes - head - body;
    part_copy(to, from, head);
    copy_aligned(to + head, from + head, body, streaming);
    part_copy(to + head + body, from + head + body, tail);
}

#else

static inline void copy_slice(char *to, const char *from, int64_t bytes, int streaming) {
    (void)streaming;
    memcpy(to, from, (size_t)bytes);
}

#endif

#endif
