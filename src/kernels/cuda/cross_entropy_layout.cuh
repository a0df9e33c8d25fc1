/*
 * The definitions that a source of cross-entropy kernels makes before it includes cross_entropy.cuh, and the sizes derived from
 * them.  Included by cross_entropy_shared.cuh, cross_entropy_options.cuh and cross_entropy_part.cuh.
 *
 *   QUERN_LOGITS        the type of a logit, a struct of dtype.cuh
 *   QUERN_FULL          1 for kernels with all options, 0 for kernels without
 *   QUERN_THREADS       the threads of a block
 *   QUERN_ASYNC_COPY    1 if copies from global to shared memory need no registers, else 0
 */
#ifndef QUERN_DEVICE_CROSS_ENTROPY_LAYOUT_CUH
#define QUERN_DEVICE_CROSS_ENTROPY_LAYOUT_CUH

#include "kernels/cuda/dtype.cuh"
#include "kernels/cuda/vector.cuh"
#include "kernels/problem.h"

#if !defined QUERN_LOGITS || !defined QUERN_FULL || !defined QUERN_THREADS || !defined QUERN_ASYNC_COPY
#error QUERN_LOGITS, QUERN_FULL, QUERN_THREADS and QUERN_ASYNC_COPY must be defined
#endif

typedef QUERN_LOGITS element;

enum {
    THREADS = QUERN_THREADS,
    WARPS = THREADS / 32,
    VECTOR = VECTOR_BYTES / element::bytes,     /* elements */
    VECTOR_WORDS = VECTOR_BYTES / 4,
    PART_COLUMNS = QUERN_GPU_PART_BYTES / element::bytes,
    PART_VECTORS = QUERN_GPU_PART_BYTES / VECTOR_BYTES / THREADS,   /* per thread */
    BATCH = (QUERN_FULL ? 32 : 64) / VECTOR_BYTES,  /* vectors that a thread loads to registers before it uses the first */
    /* Vectors are taken in pieces of so many elements, which bounds the registers that the options cost. */
    LARGEST_PIECE = QUERN_FULL ? 4 : 8,
    PIECE = VECTOR < LARGEST_PIECE ? VECTOR : LARGEST_PIECE,
    BLOCKS = 2,  /* per multiprocessor */
};

/* Whether exponentials are computed directly from stored logits: 16-bit ones, in kernels without a softcap. */
constexpr bool DIRECT = element::bytes < 4 && !QUERN_FULL;

#endif
