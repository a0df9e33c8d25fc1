/*
 * The second pass: the gradient of each logit, from the row's image to global memory.  Included by cross_entropy_rows.cuh.  It is
 * written in vectors that are aligned in the gradient; the columns before the first and after the last are its edge.
 */
#ifndef QUERN_DEVICE_ROW_GRADIENT_CUH
#define QUERN_DEVICE_ROW_GRADIENT_CUH

#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/row_results.cuh"
#include "kernels/cuda/vector.cuh"

/*
 * A coefficient whose product with 2^-126 is half of the smallest number of the type, 2^(-bias - fraction): 2^-25 for f16, 2^-134
 * for bf16.
 */
constexpr uint32_t VISIBLE = (253u - element::bias - element::fraction) << 23;

/* The factors of a row's gradient: coefficient * exponential, and the label's. */
struct gradient_factors {
    row_scale scale;
    float coefficient, label;

    __device__ __forceinline__ gradient_factors(const row_total &total, float grad_scale, float z_loss) {
        const row_whole whole(total);
        float of_lse = 0.0f;
        if (z_loss != 0.0f) {
            const float sum = whole.others + whole.own;
            of_lse = 2.0f * z_loss * (float)(whole.origin * total.unit() + log_of_sum(sum));
        }
        scale = {total.scale.slope, whole.origin};
        coefficient = (1.0f + of_lse) * grad_scale * whole.inverse * (whole.label_alone ? 0.0f : 1.0f);
        label = (of_lse * whole.own - whole.others) * grad_scale * whole.inverse;
    }

    /*
     * Whether a gradient can be seen whose exponential is flushed to 0, below 2^-126.  fp32 gradients are
     * promised relative to the largest one.
     */
    __device__ __forceinline__ bool needs_roots() const {
        return element::bytes == 2 && !(fabsf(coefficient) < __uint_as_float(VISIBLE));
    }
};

struct by_exponentials {
    /* No gradient is NaN: the coefficient is finite, which that of a row with NaN or +infinity is not. */
    enum { HAS_NAN = element::bytes == 4 };
    row_scale scale;
    float coefficient;

    __device__ __forceinline__ explicit by_exponentials(const gradient_factors &factors)
        : scale(factors.scale), coefficient(factors.coefficient) {}
    __device__ __forceinline__ pair operator()(pair x) const {
        return multiply(exponentials(x, scale.slope, scale.origin), twice(coefficient));
    }
};

/* Square roots of exponentials are not flushed. */
struct by_roots {
    enum { HAS_NAN = true };
    row_scale half;
    float coefficient;

    __device__ __forceinline__ explicit by_roots(const gradient_factors &factors)
        : half{0.5f * factors.scale.slope, 0.5f * factors.scale.origin}, coefficient(factors.coefficient) {}
    __device__ __forceinline__ pair operator()(pair x) const {
        const pair root = exponentials(x, half.slope, half.origin);
        return multiply(multiply(root, twice(coefficient)), root);
    }
};

/* COUNT vectors from `at` on to global memory; the distance of two is STEP. */
template <int COUNT, class GRADIENT, class READER, class ADDRESS>
static __device__ __forceinline__ void store_vectors(GRADIENT gradient, READER read, ADDRESS at, char *to) {
    uint32_t word[COUNT][4];
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        read(at + i * STEP, word[i]);
    }
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        float x[VECTOR];
#pragma unroll
        for (int j = 0; j < VECTOR / 2; j++) {
            const pair both = gradient(widen_pair(word[i], j));
            x[2 * j] = both.low, x[2 * j + 1] = both.high;
        }
        if constexpr (GRADIENT::HAS_NAN) {
            packing<element, VECTOR>::nearest(x, word[i]);
        } else {
            round_numbers(x, word[i]);
        }
        store_vector_once<16>(to + i * STEP, word[i]);
    }
}

/* The edge of a gradient has up to 14 columns: so many for a thread. */
enum { EDGE_TURNS = (14 + THREADS - 1) / THREADS };

/* How the columns of a share are divided among the threads: vectors that are aligned in the gradient, and an edge. */
struct gradient_layout {
    int head, vectors, edge;

    __device__ __forceinline__ gradient_layout(const char *grad, int columns) {
        const int misaligned = (16 - (int)((uintptr_t)grad % 16)) % 16 / element::bytes;
        head = misaligned < columns ? misaligned : columns;
        vectors = (columns - head) / VECTOR;
        edge = columns - vectors * VECTOR;
    }
    __device__ __forceinline__ int edge_column(int i) const { return i < head ? i : i + vectors * VECTOR; }
};

template <class GRADIENT>
static __device__ __forceinline__ void store_share(GRADIENT gradient, uint32_t image, const gradient_layout &layout, char *grad) {
#pragma unroll
    for (int turn = 0; turn < EDGE_TURNS; turn++) {
        const int i = own_number() + turn * THREADS;
        if (i < layout.edge) {
            const int column = layout.edge_column(i);
            const float x = element::widen(load_shared_element(image + column * element::bytes));
            store_element<element>(grad, column, element::nearest(gradient(twice(x)).low));
        }
    }
    read_from(image + layout.head * element::bytes, [&](uint32_t base, auto read) {
        uint32_t at = base + own_number() * 16;
        const uint32_t end = base + layout.vectors * 16;
        char *to = grad + layout.head * element::bytes + own_number() * 16;
#pragma unroll 1
        for (; at + batch_reach() < end; at += BATCH * STEP, to += BATCH * STEP) {
            store_vectors<BATCH>(gradient, read, at, to);
        }
#pragma unroll 1
        for (; at < end; at += STEP, to += STEP) {
            store_vectors<1>(gradient, read, at, to);
        }
    });
}

/* All columns; that of the label has no gradient yet. */
static __device__ __forceinline__ void store_row_gradient(const gradient_factors &factors, uint32_t image, char *grad,
                                                          int columns) {
    const gradient_layout layout(grad, columns);
    if (factors.needs_roots()) {
        store_share(by_roots(factors), image, layout, grad);
    } else {
        store_share(by_exponentials(factors), image, layout, grad);
    }
}

static __device__ __forceinline__ void store_zero_columns(char *grad, int64_t columns) {
    const uint32_t zeros[4] = {};
    const int misaligned = (16 - (int)((uintptr_t)grad % 16)) % 16 / element::bytes;
    const int64_t head = misaligned < columns ? misaligned : columns, vectors = (columns - head) / VECTOR;
    const int64_t edge = columns - vectors * VECTOR;
#pragma unroll
    for (int turn = 0; turn < EDGE_TURNS; turn++) {
        const uint32_t i = own_number() + turn * THREADS;
        if (i < edge) {
            store_element<element>(grad, i < head ? i : i + vectors * VECTOR, 0);
        }
    }
#pragma unroll 4
    for (int64_t i = computed_anew(own_number()); i < vectors; i += THREADS) {
        store_vector_once<16>(grad + head * element::bytes + i * 16, zeros);
    }
}

#endif
