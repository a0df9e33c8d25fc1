/*
 * A part of a row and its columns, divided among the threads of a block: full vectors first, then the rest, one column per thread.
 * Included by cross_entropy_sums.cuh.  The map counts columns from the row's beginning, not from an address, so that the bits of
 * the sums do not depend on the row's address.  An unaligned row is assembled in registers, by loads that stay inside it.
 */
#ifndef QUERN_DEVICE_CROSS_ENTROPY_PART_CUH
#define QUERN_DEVICE_CROSS_ENTROPY_PART_CUH

#include "kernels/cuda/cross_entropy_layout.cuh"
#include "kernels/cuda/unaligned.cuh"

/*
 * Columns [first(), first() + columns) of a row, by their index in the row.  An unsigned index suffices: 2^32 parts exceed any
 * memory.
 */
struct row_part {
    unsigned index;
    int columns;
    int label;  /* its column, relative to first(); -1: not here */

    __device__ __forceinline__ row_part(const quern_cross_entropy_problem &problem, unsigned part, int64_t label_column) {
        index = part;
        columns = problem.vocab - first() < PART_COLUMNS ? (int)(problem.vocab - first()) : PART_COLUMNS;
        label = (uint64_t)(label_column - first()) < (uint64_t)columns ? (int)(label_column - first()) : -1;
    }
    __device__ __forceinline__ int64_t first() const { return (int64_t)index * PART_COLUMNS; }
    __device__ __forceinline__ bool has_label() const { return label >= 0; }
    /* The number of full vectors; the columns after them are the rest. */
    __device__ __forceinline__ int groups() const { return columns / VECTOR; }
    __device__ __forceinline__ int rest_column() const { return columns / VECTOR * VECTOR + threadIdx.x; }
};

static __device__ __forceinline__ void clear_vector(uint32_t *word) {
#pragma unroll
    for (int i = 0; i < VECTOR_WORDS; i++) {
        word[i] = element::minus_infinity * in_all_places<element>;
    }
}

/* Sets the label's logit to -infinity, whose exponential adds nothing, if it is one of COUNT from a column on. */
template <int COUNT> static __device__ __forceinline__ void leave_out_label(float *x, int label, int column) {
    const unsigned own = (unsigned)(label - column);
    if (own < COUNT) {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            x[i] = i == (int)own ? -INFINITY_F32 : x[i];
        }
    }
}

static __device__ __forceinline__ void load_unaligned(const char *vector, uint32_t shift, uint32_t (&word)[VECTOR_WORDS]) {
    uint32_t piece[VECTOR_WORDS + 1];
    load_parts<element, from_global>(vector, shift, piece);
    join_parts<element>(piece, shift, word);
}

/* Loads the thread's vectors from global memory; logits is the beginning of the part. */
template <bool ALIGNED>
static __device__ __forceinline__ void load_vectors(const char *logits, const row_part &part,
                                                    uint32_t (&word)[PART_VECTORS][VECTOR_WORDS]) {
    const uint32_t shift = parts_shift<element>(logits);
#pragma unroll
    for (int i = 0; i < PART_VECTORS; i++) {
        const int group = threadIdx.x + i * THREADS;
        if (group >= part.groups()) {
            clear_vector(word[i]);
        } else if (ALIGNED) {
            load_vector<VECTOR_BYTES>(logits + group * VECTOR_BYTES, word[i]);
        } else {
            load_unaligned(logits + group * VECTOR_BYTES, shift, word[i]);
        }
    }
}

/* The columns of one thread.  Missing columns are -infinity, and so is the label's if it is in the rest. */
struct part_in_registers {
    static constexpr int unrolled = PART_VECTORS; /* unrolled, because registers cannot be indexed */
    const row_part &part;
    float rest;
    uint32_t word[PART_VECTORS][VECTOR_WORDS];

    __device__ __forceinline__ void vector(int i, uint32_t (&out)[VECTOR_WORDS]) const {
#pragma unroll
        for (int j = 0; j < VECTOR_WORDS; j++) {
            out[j] = word[i][j];
        }
    }
    /* Prevents the compiler from keeping results of the first reading in registers. */
    __device__ __forceinline__ void read_again() {
#pragma unroll
        for (int i = 0; i < PART_VECTORS; i++) {
#pragma unroll
            for (int j = 0; j < VECTOR_WORDS; j++) {
                asm volatile("" : "+r"(word[i][j]));
            }
        }
    }
};

/* The thread's column of the rest, or -infinity. */
static __device__ __forceinline__ float load_rest(const void *logits, const row_part &part) {
    const int column = part.rest_column();
    return column < part.columns && column != part.label ? element::widen(load_element<element>(logits, column)) : -INFINITY_F32;
}

static __device__ __forceinline__ part_in_registers load_part(const char *logits, const row_part &part) {
    part_in_registers mine = {part, load_rest(logits, part)};
    if ((uintptr_t)logits % VECTOR_BYTES) {
        load_vectors<false>(logits, part, mine.word);
    } else {
        load_vectors<true>(logits, part, mine.word);
    }
    return mine;
}

#endif
