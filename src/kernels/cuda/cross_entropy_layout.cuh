/*
 * What a source of cross-entropy kernels says before it includes them, and the sizes that follow from it:
 *
 *   QUERN_LOGITS        the type of a logit, a struct of dtype.cuh
 *   QUERN_FULL          1 for kernels with all options, 0 for kernels without
 *   QUERN_THREADS       the threads of a block
 *   QUERN_ASYNC_COPY    1 where copies from global to shared memory need no registers, else 0
 *   QUERN_CLUSTERS      1 where blocks reach the shared memory of one another, else 0
 */
#ifndef QUERN_DEVICE_CROSS_ENTROPY_LAYOUT_CUH
#define QUERN_DEVICE_CROSS_ENTROPY_LAYOUT_CUH

#include "kernels/cuda/dtype.cuh"
#include "kernels/cuda/vector.cuh"
#include "kernels/problem.h"

#if !defined QUERN_LOGITS || !defined QUERN_FULL || !defined QUERN_THREADS || !defined QUERN_ASYNC_COPY || !defined QUERN_CLUSTERS
#error QUERN_LOGITS, QUERN_FULL, QUERN_THREADS, QUERN_ASYNC_COPY and QUERN_CLUSTERS must be defined
#endif

typedef QUERN_LOGITS element;

enum {
    THREADS = QUERN_THREADS,
    WARPS = THREADS / 32,
    VECTOR = VECTOR_BYTES / element::bytes,     /* elements */
    VECTOR_WORDS = VECTOR_BYTES / 4,
    PART_COLUMNS = QUERN_GPU_PART_BYTES / element::bytes,
    PART_VECTORS = QUERN_GPU_PART_BYTES / VECTOR_BYTES / THREADS,   /* of a thread */
    BATCH = (QUERN_FULL ? 32 : 64) / VECTOR_BYTES,  /* vectors that a thread loads to registers before it uses the first */
    /* Vectors are taken in pieces of so many elements, which bounds the registers that the options cost. */
    LARGEST_PIECE = QUERN_FULL ? 4 : 8,
    PIECE = VECTOR < LARGEST_PIECE ? VECTOR : LARGEST_PIECE,
    /* Of a multiprocessor.  Three of a plain resident kernel hide each other's waits where there is room for their threads. */
    BLOCKS = 2,
    RESIDENT_BLOCKS = QUERN_ASYNC_COPY && !QUERN_FULL ? 3 : BLOCKS,
};

/* Whether the exponentials are those of logits as they lie in memory: of 16 bits, without a softcap. */
constexpr bool DIRECT = element::bytes < 4 && !QUERN_FULL;

#endif
