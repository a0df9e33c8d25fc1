/*
 * The second pass: computes each logit's gradient from the row's sums.  Included by cross_entropy_row.cuh and
 * cross_entropy_copied.cuh.  It reads a logit once more from global memory, and writes its gradient once, rounded once.  Columns
 * are independent here, so they are grouped by the vectors that are aligned in the logits.
 */
#ifndef QUERN_DEVICE_CROSS_ENTROPY_GRADIENT_CUH
#define QUERN_DEVICE_CROSS_ENTROPY_GRADIENT_CUH

#include "kernels/cuda/cross_entropy_sums.cuh"

/* How the columns of a row or part are divided among the threads when they are independent: by aligned vectors. */
struct row_layout {
    int head;           /* columns before the first aligned vector */
    int edge;           /* columns outside the vectors; fewer than there are threads */
    int64_t vectors;

    __device__ __forceinline__ row_layout(const void *row, int64_t columns) {
        const int misaligned = (VECTOR_BYTES - (int)((uintptr_t)row % VECTOR_BYTES)) % VECTOR_BYTES / element::bytes;
        head = misaligned < columns ? misaligned : (int)columns;
        vectors = (columns - head) / VECTOR;
        edge = (int)(columns - vectors * VECTOR);
    }

    __device__ __forceinline__ int64_t column(int64_t vector) const { return head + vector * VECTOR; }
    __device__ __forceinline__ int64_t edge_column(int i) const { return i < head ? i : i + vectors * VECTOR; }
};

/* The square root of exp(y - origin): by direct_exponentials for unscaled 16-bit logits. */
struct direct_roots {
    direct_exponentials exponential;

    __device__ __forceinline__ direct_roots(float origin, const row_options &options) : exponential(origin, options) {}
    __device__ __forceinline__ float operator()(float y) const { return exponential.root(y); }
};

struct shifted_roots {
    float origin;

    __device__ __forceinline__ shifted_roots(float origin, const row_options &) : origin(origin) {}
    __device__ __forceinline__ float operator()(float y) const { return of_distance(y - origin); }
    static __device__ __forceinline__ float of_distance(float distance) { return exp2_flushed(distance * (0.5f * LOG2_E)); }
};

/*
 * Computes gradients from logits: (coefficient + tilt * (y - origin)) * exp(y - origin).  The exponential is the square of a root,
 * which is never so small that it is flushed to 0.  Columns count from the first one of the row or part.  POLICY: the row has a
 * temperature or a tilt.
 */
template <bool POLICY> struct row_gradient {
    row_factors factors;
    int64_t label;
    either<DIRECT, direct_roots, shifted_roots>::type root_of;
#if QUERN_FULL
    const quern_cross_entropy_problem &problem;
    const row_options &options;
    shifted_exponentials near_origin;
    int64_t first;

    __device__ __forceinline__ row_gradient(const quern_cross_entropy_problem &p, const row_options &o, const row_factors &f,
                                            int64_t label_column, int64_t first_column)
        : factors(f), label(label_column - first_column), root_of(f.origin, o), problem(p), options(o), near_origin(f.origin, o),
          first(first_column) {}
#else

    __device__ __forceinline__ row_gradient(const quern_cross_entropy_problem &, const row_options &o, const row_factors &f,
                                            int64_t label_column, int64_t first_column)
        : factors(f), label(label_column - first_column), root_of(f.origin, o) {
        if constexpr (DIRECT) {
            factors.coefficient *= exp2_flushed((float)log2_to_origin(f.origin, f.origin));
        }
    }
#endif

    /* Replaces COUNT logits, from a column on, by their gradients. */
    template <int COUNT> __device__ __forceinline__ void apply(float *x, int64_t column) const {
#if QUERN_FULL
        float slope[COUNT], smoothed[COUNT];
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            slope[i] = 1.0f;
            smoothed[i] = 0.0f;
        }
        if (options.cap.cap != 0) {
#pragma unroll
            for (int i = 0; i < COUNT; i++) {
                x[i] = options.cap(x[i], &slope[i]);
            }
        }
        if (factors.smoothing != 0) {
            load_weights<COUNT>(problem.class_weights, first + column, smoothed);
#pragma unroll
            for (int i = 0; i < COUNT; i++) {
                smoothed[i] *= -factors.smoothing * slope[i];
            }
        }
#endif
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
#if QUERN_FULL
            const float distance = POLICY ? near_origin.distance(x[i], factors.origin) : x[i] - factors.origin;
            const float root = shifted_roots::of_distance(distance), other = root * slope[i];
            const float raised = __fmaf_rn(factors.tilt, fmaxf(distance, LEAST_DISTANCE), factors.coefficient);
            const float factor = POLICY ? raised : factors.coefficient;
#else
            const float root = root_of(x[i]), other = root, factor = factors.coefficient;
#endif
            const float half = root * factor;
            /* Adds the rounding errors of half and of the coefficient, so that an fp32 product is rounded once. */
            const float rest = __fmaf_rn(root, factor, -half) + root * factors.coefficient_rest;
#if QUERN_FULL
            x[i] = __fmaf_rn(half, other, element::bytes < 4 ? smoothed[i] : __fmaf_rn(rest, other, smoothed[i]));
#else
            x[i] = element::bytes < 4 ? half * other : __fmaf_rn(half, other, rest * other);
#endif
        }
        const uint64_t own = (uint64_t)(label - column);
        if (own < COUNT) {
#pragma unroll
            for (int i = 0; i < COUNT; i++) {
#if QUERN_FULL
                float own_slope = slope[i];
                asm("" : "+f"(own_slope)); /* otherwise it may become slope[own], and registers cannot be indexed */
                x[i] = i == (int)own ? __fmaf_rn(factors.label, own_slope, factors.label_rest * own_slope) : x[i];
#else
                x[i] = i == (int)own ? factors.label : x[i];
#endif
            }
        }
    }
};

template <bool POLICY>
static __device__ __forceinline__ void store_gradient(const row_gradient<POLICY> &gradient, const uint32_t *word, char *grad,
                                                      int64_t column, bool aligned) {
    uint32_t rounded[VECTOR_WORDS];
#pragma unroll
    for (int j = 0; j < VECTOR; j += PIECE) {
        float x[PIECE];
        packing<element, PIECE>::widen(word + j * element::bytes / 4, x);
        gradient.template apply<PIECE>(x, column + j);
        packing<element, PIECE>::nearest(x, rounded + j * element::bytes / 4);
    }
    if (aligned) {
        store_vector_once<VECTOR_BYTES>(grad + column * element::bytes, rounded);
        return;
    }
#pragma unroll
    for (int i = 0; i < VECTOR; i++) {
        const int byte = i * element::bytes;
        store_element<element>(grad, column + i, (element::bits)(rounded[byte / 4] >> byte % 4 * 8));
    }
}

template <bool POLICY>
static __device__ __forceinline__ void store_edge(const row_gradient<POLICY> &gradient, const row_layout &layout,
                                                  const void *logits, char *grad) {
    if ((int)threadIdx.x < layout.edge) {
        const int64_t column = layout.edge_column(threadIdx.x);
        float x = element::widen(load_element<element>(logits, column));
        gradient.template apply<1>(&x, column);
        store_element<element>(grad, column, element::nearest(x));
    }
}

/* From logits in global memory, backwards.  A thread reads only the columns that it writes, so grad may alias the logits. */
template <bool POLICY>
static __device__ __forceinline__ void store_streamed_columns(const row_gradient<POLICY> &gradient, const char *logits, char *grad,
                                                              int64_t columns) {
    constexpr int batch = POLICY ? 1 : BATCH; /* little code: images have a size, too */
    const row_layout layout(logits, columns);
    store_edge(gradient, layout, logits, grad);
    const bool aligned = ((uintptr_t)grad - (uintptr_t)logits) % VECTOR_BYTES == 0;
    const int64_t last = layout.vectors - 1 - threadIdx.x;
    for (int64_t i = last < 0 ? -1 : last / THREADS * THREADS + threadIdx.x; i >= 0; i -= batch * THREADS) {
        uint32_t word[batch][VECTOR_WORDS];
#pragma unroll
        for (int j = 0; j < batch; j++) {
            if (i - j * THREADS >= 0) {
                load_vector_once<VECTOR_BYTES>(logits + layout.column(i - j * THREADS) * element::bytes, word[j]);
            }
        }
#pragma unroll
        for (int j = 0; j < batch; j++) {
            if (i - j * THREADS >= 0) {
                store_gradient(gradient, word[j], grad, layout.column(i - j * THREADS), aligned);
            }
        }
    }
}

/* Of columns from a first one on: of a row or a part.  The loop for a policy is another one. */
static __device__ __forceinline__ void store_streamed_gradient(const quern_cross_entropy_problem &problem,
                                                               const row_options &options, const row_factors &factors,
                                                               int64_t label_column, int64_t first, const char *logits, char *grad,
                                                               int64_t columns) {
    if (QUERN_FULL && (factors.tilt != 0.0f || options.has_temperature())) {
        store_streamed_columns(row_gradient<QUERN_FULL>(problem, options, factors, label_column, first), logits, grad, columns);
    } else {
        store_streamed_columns(row_gradient<false>(problem, options, factors, label_column, first), logits, grad, columns);
    }
}

static __device__ __forceinline__ void store_zeros(char *grad, int64_t columns) {
    const row_layout layout(grad, columns);
    const uint32_t zeros[VECTOR_WORDS] = {};
    if ((int)threadIdx.x < layout.edge) {
        store_element<element>(grad, layout.edge_column(threadIdx.x), 0);
    }
#pragma unroll 4
    for (int64_t i = threadIdx.x; i < layout.vectors; i += THREADS) {
        store_vector_once<VECTOR_BYTES>(grad + layout.column(i) * element::bytes, zeros);
    }
}

static __device__ __forceinline__ const char *row_of(const quern_cross_entropy_problem &problem, int64_t row) {
    return (const char *)problem.logits + row * problem.logits_stride * element::bytes;
}

/* Outside [0, vocab) if it is in another shard. */
static __device__ __forceinline__ int64_t label_column(const quern_cross_entropy_problem &problem, int64_t row) {
    return label_of(problem, row) - problem.first_column;
}

static __device__ __forceinline__ char *gradient_row_of(const quern_cross_entropy_problem &problem, int64_t row) {
    return (char *)problem.grad + row * problem.grad_stride * element::bytes;
}

#endif
