/*
 * Softmax cross-entropy of bf16 logits: loss and gradient of a row in one kernel, one block per row.
 *
 * Two passes over the row: the first finds the sum of the exponentials of all columns but the label's, the second turns each
 * logit into its gradient.  What is fused away is everything between them, so that DRAM sees each logit read once and each
 * gradient written once (4 bytes per logit, 2 without the gradient):
 *
 *   resident   keeps the row in shared memory between the passes;
 *   streamed   takes rows that do not fit there and reads them twice, the second time backwards, so that it begins with what
 *              the L2 cache saw last.
 *
 * The bits of the sum, and with them the loss and the gradient, depend on the row alone and not on where it lies: the first
 * pass deals out the columns by their index, in groups of 16 bytes; those that fill no group go one
 * each to the first threads.  Where the row is aligned, a group is one vector; elsewhere it is loaded 4 bytes at a time and
 * put together in registers.
 *
 * The second pass treats each column for itself, so it goes by the vectors that are aligned in memory: those of the gradient
 * where the row lies in shared memory, else those of the logits.  The columns before the first of them and after the last
 * are the edge, again one column for each of the first threads.
 *
 * The label's column is kept out of the sum, and its gradient comes from that sum: -(sum of the others) / (sum of all) keeps
 * its precision where probability - 1 would cancel.
 *
 * Rendered by gen/ from templates/cross_entropy.cu.j2; do not edit.
 */
#define QUERN_BF16_CONVERT 1

#include "device/async_copy.cuh"
#include "device/dtype.cuh"
#include "device/softmax.cuh"
#include "device/unaligned.cuh"
#include "device/vector.cuh"
#include "problem.h"
#include "quern.h"

enum {
    VECTOR_BYTES = 16,
    VECTOR = VECTOR_BYTES / bf16::bytes,     /* elements */
    VECTOR_WORDS = VECTOR_BYTES / 4,
    BATCH = 64 / VECTOR_BYTES,              /* vectors that a thread loads to registers before it uses the first */
    COPIES = 128 / VECTOR_BYTES,            /* vectors that a thread has on their way to shared memory */
};

/* The row between the passes of a resident kernel; the first column lies at its beginning. */
extern __shared__ uint4 row_cache[];

/* How the columns of one row are dealt out to the threads where each is treated for itself: by aligned vectors. */
struct row_layout {
    int head;           /* columns before the first aligned vector */
    int edge;           /* columns outside the vectors; fewer than there are threads */
    int64_t vectors;

    __device__ __forceinline__ row_layout(const void *row, int64_t vocab) {
        const int misaligned = (VECTOR_BYTES - (int)((uintptr_t)row % VECTOR_BYTES)) % VECTOR_BYTES / bf16::bytes;
        head = misaligned < vocab ? misaligned : (int)vocab;
        vectors = (vocab - head) / VECTOR;
        edge = (int)(vocab - vectors * VECTOR);
    }

    __device__ __forceinline__ int64_t column(int64_t vector) const { return head + vector * VECTOR; }
    __device__ __forceinline__ int64_t edge_column(int i) const { return i < head ? i : i + vectors * VECTOR; }
};

/*
 * What turns a logit into its gradient: coefficient * exp(x - largest), as the square of a root, which is never so small
 * that it would be flushed to 0.  The root has two factors, exp((x - offset) / 2) and part = exp((offset - largest) / 2),
 * because x - largest would be rounded too much where the label's logit is far above the rest.
 */
struct row_gradient {
    float offset, part, coefficient;

    __device__ __forceinline__ float operator()(float x) const {
        const float root = exp2_flushed((x - offset) * (0.5f * LOG2_E)) * part;
        return root * coefficient * root;
    }
};

static __device__ __forceinline__ void add_vector(softmax_normalizer &others, const uint32_t *word, int64_t column,
                                                  int64_t label) {
    float x[VECTOR];
    packing<bf16, VECTOR>::widen(word, x);
    const uint64_t in_vector = (uint64_t)(label - column);
    if (in_vector < VECTOR) {
#pragma unroll
        for (int i = 0; i < VECTOR; i++) {
            x[i] = i == (int)in_vector ? -INFINITY_F32 : x[i]; /* exp(-infinity) adds nothing */
        }
    }
    others.add<VECTOR>(x);
}

/* The full groups, by way of registers. */
template <int THREADS, bool RESIDENT, bool ALIGNED>
static __device__ __forceinline__ void add_groups(softmax_normalizer &others, const char *logits, int64_t groups,
                                                  int64_t label) {
    constexpr int batch = ALIGNED ? BATCH : 1; /* one that is not aligned is many loads already */
    const uint32_t shift = parts_shift<bf16>(logits);
    for (int64_t i = threadIdx.x; i < groups; i += batch * THREADS) {
        uint32_t part[batch][VECTOR_WORDS + 1];
#pragma unroll
        for (int j = 0; j < batch; j++) {
            const char *group = logits + (i + j * THREADS) * VECTOR_BYTES;
            if (i + j * THREADS < groups) {
                if (ALIGNED) {
                    load_vector<VECTOR_BYTES>(group, part[j] + 1);
                } else {
                    load_parts<bf16, from_global>(group, shift, part[j]);
                }
            }
        }
#pragma unroll
        for (int j = 0; j < batch; j++) {
            if (i + j * THREADS < groups) {
                uint32_t joined[VECTOR_WORDS];
                if (!ALIGNED) {
                    join_parts<bf16>(part[j], shift, joined);
                }
                const uint32_t *word = ALIGNED ? part[j] + 1 : joined;
                if (RESIDENT) {
                    store_shared<VECTOR_WORDS>(row_cache, i + j * THREADS, word);
                }
                add_vector(others, word, (i + j * THREADS) * VECTOR, label);
            }
        }
    }
}

/*
 * The full groups of an aligned row, by way of shared memory.  A thread reads there only what it copied itself, so it need
 * not wait for the others.
 */
template <int THREADS>
static __device__ __forceinline__ void copy_and_add_groups(softmax_normalizer &others, const char *logits, int64_t groups,
                                                           int64_t label) {
    auto copy = [&](int64_t i) {
        if (i < groups) {
#pragma unroll
            for (int byte = 0; byte < VECTOR_BYTES; byte += 16) {
                async_copy16((char *)row_cache + i * VECTOR_BYTES + byte, logits + i * VECTOR_BYTES + byte);
            }
        }
        async_commit();
    };
#pragma unroll
    for (int i = 0; i < COPIES; i++) {
        copy(threadIdx.x + i * THREADS);
    }
    for (int64_t i = threadIdx.x; i < groups; i += THREADS) {
        copy(i + COPIES * THREADS);
        async_wait<COPIES>();
        uint32_t word[VECTOR_WORDS];
        load_shared(row_cache, i, word);
        add_vector(others, word, i * VECTOR, label);
    }
}

/* The columns after the last full group. */
template <bool RESIDENT>
static __device__ __forceinline__ void add_rest(softmax_normalizer &others, const char *logits, int64_t groups,
                                                int64_t vocab, int64_t label) {
    const int64_t column = groups * VECTOR + threadIdx.x;
    if (column < vocab) {
        const bf16::bits logit = load_element<bf16>(logits, column);
        if (RESIDENT) {
            store_element<bf16>(row_cache, column, logit);
        }
        if (column != label) {
            const float x = bf16::widen(logit);
            others.add<1>(&x);
        }
    }
}

/* The first pass: this thread's part of the sum over all columns but the label's. */
template <int THREADS, bool RESIDENT>
static __device__ __forceinline__ softmax_normalizer sum_others(const char *logits, int64_t vocab, int64_t label) {
    const int64_t groups = vocab / VECTOR;
    softmax_normalizer others;
    others.clear();
    add_rest<RESIDENT>(others, logits, groups, vocab, label);
    if ((uintptr_t)logits % VECTOR_BYTES) {
        add_groups<THREADS, RESIDENT, false>(others, logits, groups, label);
    } else {
        if (RESIDENT) {
            copy_and_add_groups<THREADS>(others, logits, groups, label);
        } else
        add_groups<THREADS, RESIDENT, true>(others, logits, groups, label);
    }
    return others;
}

static __device__ __forceinline__ void store_gradient(const row_gradient &gradient, const uint32_t *word, void *grad,
                                                      int64_t column, bool aligned) {
    float x[VECTOR];
    uint32_t rounded[VECTOR_WORDS];
    packing<bf16, VECTOR>::widen(word, x);
#pragma unroll
    for (int i = 0; i < VECTOR; i++) {
        x[i] = gradient(x[i]);
    }
    packing<bf16, VECTOR>::nearest(x, rounded);
    if (aligned) {
        store_vector_once<VECTOR_BYTES>((char *)grad + column * bf16::bytes, rounded);
        return;
    }
#pragma unroll
    for (int i = 0; i < VECTOR; i++) {
        const int byte = i * bf16::bytes;
        store_element<bf16>(grad, column + i, (bf16::bits)(rounded[byte / 4] >> byte % 4 * 8));
    }
}

static __device__ __forceinline__ void store_edge(const row_gradient &gradient, const row_layout &layout,
                                                  const void *logits, void *grad) {
    if ((int)threadIdx.x < layout.edge) {
        const int64_t column = layout.edge_column(threadIdx.x);
        const float x = bf16::widen(load_element<bf16>(logits, column));
        store_element<bf16>(grad, column, bf16::nearest(gradient(x)));
    }
}

/* The second pass where the row is in shared memory. */
template <int THREADS>
static __device__ __forceinline__ void store_resident_gradient(const row_gradient &gradient, void *grad, int64_t vocab) {
    const row_layout layout(grad, vocab);
    store_edge(gradient, layout, row_cache, grad);
    const char *first = (const char *)row_cache + layout.column(0) * bf16::bytes;
    const uint32_t shift = parts_shift<bf16>(first);
    for (int64_t i = threadIdx.x; i < layout.vectors; i += THREADS) {
        uint32_t word[VECTOR_WORDS];
        if (layout.head == 0) {
            load_shared(row_cache, i, word);
        } else {
            uint32_t part[VECTOR_WORDS + 1];
            load_parts<bf16, from_shared>(first + i * VECTOR_BYTES, shift, part);
            join_parts<bf16>(part, shift, word);
        }
        store_gradient(gradient, word, grad, layout.column(i), true);
    }
}

/* The second pass where it is not.  A thread reads the columns that it writes, so grad may be the logits. */
template <int THREADS>
static __device__ __forceinline__ void store_streamed_gradient(const row_gradient &gradient, const char *logits, void *grad,
                                                               int64_t vocab) {
    const row_layout layout(logits, vocab);
    store_edge(gradient, layout, logits, grad);
    const bool aligned = ((uintptr_t)grad - (uintptr_t)logits) % VECTOR_BYTES == 0;
    const int64_t last = layout.vectors - 1 - threadIdx.x;
    for (int64_t i = last < 0 ? -1 : last / THREADS * THREADS + threadIdx.x; i >= 0; i -= BATCH * THREADS) {
        uint32_t word[BATCH][VECTOR_WORDS];
#pragma unroll
        for (int j = 0; j < BATCH; j++) {
            if (i - j * THREADS >= 0) {
                load_vector_once<VECTOR_BYTES>(logits + layout.column(i - j * THREADS) * bf16::bytes, word[j]);
            }
        }
#pragma unroll
        for (int j = 0; j < BATCH; j++) {
            if (i - j * THREADS >= 0) {
                store_gradient(gradient, word[j], grad, layout.column(i - j * THREADS), aligned);
            }
        }
    }
}

static __device__ __forceinline__ void store_zeros(void *grad, int64_t vocab, int threads) {
    const row_layout layout(grad, vocab);
    const uint32_t zeros[VECTOR_WORDS] = {};
    if ((int)threadIdx.x < layout.edge) {
        store_element<bf16>(grad, layout.edge_column(threadIdx.x), 0);
    }
#pragma unroll 4
    for (int64_t i = threadIdx.x; i < layout.vectors; i += threads) {
        store_vector_once<VECTOR_BYTES>((char *)grad + layout.column(i) * bf16::bytes, zeros);
    }
}

/* What the row's sums say; the same in every thread. */
struct row_result {
    bool all_infinite; /* every logit is -infinity */
    float loss, label_gradient;
    row_gradient gradient;
};

/* From the sum over the other columns and the label's logit. */
static __device__ __forceinline__ row_result finish_row(const softmax_normalizer &others, float label_logit, float scale) {
    const float largest = fmaxf(others.offset, label_logit);
    const float above = label_logit - largest;         /* NaN where the label's logit is NaN or +infinity */
    const float below = others.offset - largest;
    const float part = expf(0.5f * below);
    const float lost = below > -1000.0f ? difference_error(others.offset, largest, below) : 0.0f; /* by rounding */
    const double rescaled = others.sum * part * part * (1.0 + lost);
    const float sum_others = (float)rescaled;
    const float sum = (float)(rescaled + expf(above));
    const bool all_infinite = others.sum == 0 && label_logit == -INFINITY_F32;
    return {
        all_infinite,
        all_infinite ? INFINITY_F32 : label_logit >= others.offset ? log1pf(sum_others + above) : logf(sum) - above,
        -__fdiv_rn(sum_others, sum) * scale,
        {others.offset, part, __fdiv_rn(scale, sum) * (1.0f + lost)},
    };
}

template <int THREADS, bool RESIDENT>
static __device__ __forceinline__ void cross_entropy_row(const quern_cross_entropy_problem &problem, int64_t row) {
    const int64_t label = problem.labels_are_int64 ? ((const int64_t *)problem.labels)[row]
                                                   : ((const int32_t *)problem.labels)[row];
    const char *logits = (const char *)problem.logits + row * problem.logits_stride * bf16::bytes;
    char *grad = problem.grad ? (char *)problem.grad + row * problem.grad_stride * bf16::bytes : nullptr;

    if (label == problem.ignore_index || (uint64_t)label >= (uint64_t)problem.vocab) {
        if (grad) {
            store_zeros(grad, problem.vocab, THREADS);
        }
        if (problem.row_loss && threadIdx.x == 0) {
            problem.row_loss[row] = 0.0f;
        }
        return;
    }

    const float label_logit = bf16::widen(load_element<bf16>(logits, label));
    const softmax_normalizer others =
        softmax_combine_block<THREADS>(sum_others<THREADS, RESIDENT>(logits, problem.vocab, label));

    float scale = problem.grad_scale * (problem.grad_loss ? problem.grad_loss[row * problem.grad_loss_stride] : 1.0f);
    if (problem.reduction == QUERN_REDUCTION_MEAN) {
        scale = __fdiv_rn(scale, (float)problem.divisor[0]);
    }
    const row_result result = finish_row(others, label_logit, scale);
    const row_gradient &gradient = result.gradient;
    if (threadIdx.x == 0) {
        if (problem.row_loss) {
            problem.row_loss[row] = result.loss;
        }
        if (result.all_infinite && problem.report) {
            atomicAdd((unsigned long long *)&problem.report->infinite_rows, 1ull);
        }
    }
    if (!grad) {
        return;
    }
    if (result.all_infinite) {
        store_zeros(grad, problem.vocab, THREADS);
        return;
    }

    if (RESIDENT) {
        store_resident_gradient<THREADS>(gradient, grad, problem.vocab);
    } else {
        store_streamed_gradient<THREADS>(gradient, logits, grad, problem.vocab);
    }
    __syncthreads(); /* what the label's column holds by now is overwritten */
    if (threadIdx.x == 0) {
        store_element<bf16>(grad, label, bf16::nearest(result.label_gradient));
    }
}


extern "C" __global__ void __launch_bounds__(512, 3)
cross_entropy_bf16_resident(const __grid_constant__ quern_cross_entropy_problem problem) {
    for (int64_t row = blockIdx.x; row < problem.rows; row += gridDim.x) {
        cross_entropy_row<512, true>(problem, row);
        __syncthreads(); /* the next row uses the same shared memory */
    }
}

extern "C" __global__ void __launch_bounds__(1024, 1)
cross_entropy_bf16_streamed(const __grid_constant__ quern_cross_entropy_problem problem) {
    for (int64_t row = blockIdx.x; row < problem.rows; row += gridDim.x) {
        cross_entropy_row<1024, false>(problem, row);
        __syncthreads(); /* the next row uses the same shared memory */
    }
}
