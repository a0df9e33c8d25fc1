/*
 * Vectors that begin at any element.  Included by cross_entropy_part.cuh.  They are read 4 bytes at a time, without reading a byte
 * outside them: that byte may belong to another row, or another thread may be writing it.
 *
 * A vector of 16-bit elements that begins between two words is a half, words, and a half.  One that begins at a word uses the same
 * loads, its last word as two halves, so that there is no branch and the loads of several vectors can overlap.  The loads return
 * one word more than the vector has, until join_parts shifts it into place.
 */
#ifndef QUERN_DEVICE_UNALIGNED_CUH
#define QUERN_DEVICE_UNALIGNED_CUH

#include <stdint.h>

/* Volatile, so that loads keep their order, as in vector.cuh. */
struct from_global {
    static __device__ __forceinline__ uint32_t word(const char *address) {
        uint32_t x;
        asm volatile("ld.global.b32 %0, [%1];" : "=r"(x) : "l"(address) : "memory");
        return x;
    }
    static __device__ __forceinline__ uint32_t half(const char *address) {
        uint32_t x;
        asm volatile("ld.global.u16 %0, [%1];" : "=r"(x) : "l"(address) : "memory");
        return x;
    }
};

struct from_shared {
    static __device__ __forceinline__ uint32_t word(const char *address) { return *(const uint32_t *)address; }
    static __device__ __forceinline__ uint32_t half(const char *address) { return *(const uint16_t *)address; }
};

/* The shift in bits for the parts of a vector that begins here, or any number of words from here. */
template <class T> __device__ __forceinline__ uint32_t parts_shift(const void *address) {
    return T::bytes == 2 && (uintptr_t)address % 4 ? 16 : 32;
}

template <class T, class FROM, int PARTS>
__device__ __forceinline__ void load_parts(const char *address, uint32_t shift, uint32_t (&part)[PARTS]) {
    constexpr int words = PARTS - 1;
    const char *first_word = address + (32 - shift) / 8;
    if (T::bytes == 2) {
        part[0] = FROM::half(shift == 32 ? address + 4 * words - 2 : address);
    }
#pragma unroll
    for (int i = 0; i < words; i++) {
        const bool whole = T::bytes == 4 || i + 1 < words;
        part[i + 1] = whole ? FROM::word(first_word + 4 * i) : FROM::half(first_word + 4 * i);
    }
}

template <class T, int PARTS, int WORDS>
__device__ __forceinline__ void join_parts(const uint32_t (&part)[PARTS], uint32_t shift, uint32_t (&word)[WORDS]) {
    static_assert(PARTS == WORDS + 1, "one more than the vector has words");
    const uint32_t spare = T::bytes == 2 ? part[0] << 16 : 0; /* the first half, or the last */
    uint32_t low = spare;
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
        const uint32_t high = i + 1 < WORDS ? part[i + 1] : part[i + 1] | spare;
        word[i] = T::bytes == 2 ? __funnelshift_rc(low, high, shift) : part[i + 1];
        low = high;
    }
}

#endif
