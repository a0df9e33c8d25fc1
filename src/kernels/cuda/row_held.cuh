/*
 * The columns of a long row that the threads of its block hold in registers between the passes, after those in shared memory.
 * Included by row_stream.cuh.
 *
 * Registers have no index, so they are a stack of groups: a push or a pop moves all but one, with two groups half an instruction
 * for a 16-bit logit.  More groups would be less code and more moves, two for each logit with five.  A row that has less than a
 * group of columns beyond those in shared memory holds none: half of the L2 cache has most of them.
 *
 * The first pass pushes the vectors as they lie in memory, aligned; the gradient's vectors in place lie so, too.  The sums are
 * those of vectors that begin at multiples of VECTOR in the row, like all others, so that a row has the same bits at any alignment.
 */
#ifndef QUERN_DEVICE_ROW_HELD_CUH
#define QUERN_DEVICE_ROW_HELD_CUH

#include "kernels/cuda/row_gradient.cuh"

enum {
    /* The batches of a group move together, 16 registers each.  The loops over held columns take the others, of 255. */
    HELD_GROUPS = QUERN_PAIRED_F32 ? 4 : 2,
    GROUP_BATCHES = QUERN_PAIRED_F32 ? 2 : 5, /* pairs in aligned registers take more of the others, the more batches a loop has */
    GROUP_VECTORS = GROUP_BATCHES * BATCH, /* of a thread */
    GROUP_BYTES = GROUP_VECTORS * STEP,
    GROUP_COLUMNS = GROUP_VECTORS * THREADS * VECTOR,
};

static __device__ __forceinline__ void copy_words(const uint32_t *from, uint32_t (&word)[4]) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
        word[i] = from[i];
    }
}

struct held_vectors {
    uint32_t word[HELD_GROUPS][GROUP_VECTORS][4];

    __device__ __forceinline__ uint32_t (&top())[GROUP_VECTORS][4] { return word[0]; }
    /* The new top has no values yet. */
    __device__ __forceinline__ void push() {
#pragma unroll
        for (int i = (HELD_GROUPS - 1) * GROUP_VECTORS * 4 - 1; i >= 0; i--) {
            at(i + GROUP_VECTORS * 4) = at(i);
        }
    }
    __device__ __forceinline__ void pop() {
#pragma unroll
        for (int i = 0; i < (HELD_GROUPS - 1) * GROUP_VECTORS * 4; i++) {
            at(i) = at(i + GROUP_VECTORS * 4);
        }
    }
    /* So that a call before it need not save them. */
    __device__ __forceinline__ void forget() {
#pragma unroll
        for (int i = 0; i < HELD_GROUPS * GROUP_VECTORS * 4; i++) {
            at(i) = 0;
        }
    }

private:
    __device__ __forceinline__ uint32_t &at(int i) { return word[i / (GROUP_VECTORS * 4)][i / 4 % GROUP_VECTORS][i % 4]; }
};

/* Load aligned vectors, and turn them to those that begin at multiples of VECTOR in the row. */

struct whole_vectors {
    enum { LOADED = 4 }; /* words */

    __device__ __forceinline__ void load(const char *at, uint32_t (&loaded)[LOADED]) const { load_vector_once<16>(at, loaded); }
    __device__ __forceinline__ void turn(uint32_t (&)[LOADED]) const {}
};

struct parted_vectors {
    enum { LOADED = 8 };
    bool by_one, by_two;
    uint32_t bits;

    __device__ __forceinline__ explicit parted_vectors(uint32_t offset)
        : by_one(offset & 4), by_two(offset & 8), bits(offset % 4 * 8) {}
    __device__ __forceinline__ void load(const char *at, uint32_t (&loaded)[LOADED]) const {
        load_vector_once<16>(at, loaded);
        load_vector<16>(at + 16, loaded + 4); /* the next thread's */
    }
    __device__ __forceinline__ void turn(uint32_t (&loaded)[LOADED]) const {
#pragma unroll
        for (int i = 0; i < 7; i++) {
            loaded[i] = by_one ? loaded[i + 1] : loaded[i];
        }
#pragma unroll
        for (int i = 0; i < 5; i++) {
            loaded[i] = by_two ? loaded[i + 2] : loaded[i];
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            loaded[i] = element::bytes == 4 ? loaded[i] : __funnelshift_r(loaded[i], loaded[i + 1], bits);
        }
    }
};

/*
 * Adds a thread's batches from `at` on to a sum, and pushes their vectors.  left_out: a bit for each batch that is not in the sum;
 * the caller sets those of the label, to which those with too large logits are added.
 */
template <class VECTORS>
static __device__ __forceinline__ float sum_and_hold(VECTORS vectors, const char *at, int groups, row_scale scale,
                                                     held_vectors &held, uint32_t &left_out, float sum) {
    uint32_t bit = 1;
#pragma unroll 1
    for (; groups > 0; groups--) {
        held.push();
#pragma unroll
        for (int first = 0; first < GROUP_VECTORS; first += BATCH) {
            uint32_t loaded[BATCH][VECTORS::LOADED], word[BATCH][4];
#pragma unroll
            for (int i = 0; i < BATCH; i++) {
                vectors.load(at + i * STEP, loaded[i]);
            }
#pragma unroll
            for (int i = 0; i < BATCH; i++) {
                copy_words(loaded[i], held.top()[first + i]);
                vectors.turn(loaded[i]);
                copy_words(loaded[i], word[i]);
            }
            const float of_batch = sum_vectors(word, scale);
            left_out |= of_batch > LARGEST_BATCH ? bit : 0;
            sum += left_out & bit ? 0.0f : of_batch;
            bit <<= 1;
            at += BATCH * STEP;
        }
    }
    return sum;
}

struct top_reader {
    const uint32_t (&top)[GROUP_VECTORS][4];

    __device__ __forceinline__ void operator()(int at, uint32_t (&word)[4]) const {
        copy_words(top[at / STEP], word);
    }
};

/* The gradient of the held vectors, the last ones first.  grad: of the first of them all. */
template <class GRADIENT>
static __device__ __forceinline__ void store_held(GRADIENT gradient, held_vectors &held, int groups, char *grad) {
    char *to = grad + (groups - 1) * GROUP_BYTES + threadIdx.x * 16;
#pragma unroll 1
    for (; groups > 0; groups--, to -= GROUP_BYTES) {
#pragma unroll
        for (int first = 0; first < GROUP_VECTORS; first += BATCH) {
            store_vectors<BATCH>(gradient, top_reader{held.top()}, first * STEP, to + first * STEP);
        }
        held.pop();
    }
}

#endif
