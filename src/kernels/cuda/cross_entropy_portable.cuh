/*
 * Softmax cross-entropy with portable bits, as docs/numerics.md defines them: one block for each row.  Included by the sources in
 * generated/cross_entropy/, whose kernels call run_portable.
 *
 *   1. The largest y of all columns but the label's gives the power of two that the exponentials are relative to.
 *   2. Each thread sums a unit of 32 columns, a warp the units of its threads, and so on: each sum is that of two neighbours, so a
 *      block finds a node of the row's tree at a time.
 *   3. One thread derives the results of the row by the functions of the CPU kernels.
 *   4. The gradient of each column is its exponential, computed again, times a factor.
 *
 * The row is read three times, each time but the first one mostly from the caches.
 */
#ifndef QUERN_DEVICE_CROSS_ENTROPY_PORTABLE_CUH
#define QUERN_DEVICE_CROSS_ENTROPY_PORTABLE_CUH

#include "kernels/cross_entropy_tree.h"
#include "kernels/cuda/dependent_launch.cuh"
#include "kernels/cuda/dtype.cuh"
#include "kernels/cuda/row_stats.cuh"
#include "kernels/cuda/unaligned.cuh"
#include "kernels/cuda/vector.cuh"

enum {
    PORTABLE_THREADS = 256,
    PORTABLE_WARPS = PORTABLE_THREADS / 32,
    UNIT = QUERN_UNIT_COLUMNS,
    NODES = 56,                     /* of a tree's right edge: a row has fewer than 2^56 units */
};

/* ---- exponentials ---- */

/* 1.5 * 2^23: a sum with it is rounded to an integer. */
#define ROUND_TO_INTEGER 0x1.8p23f
/* Exponentials below that of this distance from the origin are 0. */
#define LOWEST_DISTANCE -153.0f

/* Times a power of two, which changes no bit but the exponent's. */
static __device__ __forceinline__ float polynomial_of(float r, float scale) {
    constexpr float terms[] = QUERN_PORTABLE_TERMS;
    float p = terms[QUERN_PORTABLE_DEGREE] * scale;
#pragma unroll
    for (int i = QUERN_PORTABLE_DEGREE - 1; i >= 0; i--) {
        p = __fmaf_rn(r, p, terms[i] * scale);
    }
    return p;
}

/* exp(y) times 2^(QUERN_EXPONENTIAL_BIAS - power). */
struct portable_exponential {
    double power;
    bool is_near;                   /* all y but those that are too low have powers that fp32 instructions find */
    float round, lowest;

    __device__ __forceinline__ explicit portable_exponential(double of_origin) {
        power = of_origin;
        is_near = fabs(power * QUERN_LN_2_FLOAT) <= QUERN_POWERS_REACH - 200;
        const float near_power = is_near ? (float)power : 0.0f;
        round = ROUND_TO_INTEGER - near_power;
        lowest = LOWEST_DISTANCE + near_power * (float)QUERN_LN_2_FLOAT;
    }
    /* The sum ends with the power's bits, which are added to the exponent. */
    __device__ __forceinline__ float near(float y) const {
        const float sum = __fmaf_rn(y, (float)QUERN_LOG2_E_FLOAT, round);
        const float r = __fmaf_rn(sum - round, -(float)QUERN_LN_2_FLOAT, y);
        const float p = polynomial_of(r, (float)(1 / QUERN_EXPONENTIAL_UNBIAS));
        const float e = __uint_as_float(__float_as_uint(p) + (__float_as_uint(sum) << 23));
        return y < lowest ? 0.0f : e;
    }
    __device__ __forceinline__ float any(float y) const {
        if (y == -INFINITY_F32) {
            return 0.0f;
        }
        const double k = quern_row_power(y);
        const float r = fabsf(y) > QUERN_FAR_Y ? 0.0f : (float)(y - k * QUERN_LN_2_FLOAT);
        return (float)quern_times_power(polynomial_of(r, 1.0f), k - power + QUERN_EXPONENTIAL_BIAS);
    }
};

/* ---- a row ---- */

template <class T> struct portable_row {
    const char *logits;
    int64_t columns, label;
    float inverse_temperature;

    static constexpr int vector = VECTOR_BYTES / T::bytes, words = VECTOR_BYTES / 4;

    __device__ __forceinline__ portable_row(const quern_cross_entropy_problem &problem, int64_t row) {
        logits = (const char *)problem.logits + row * problem.logits_stride * T::bytes;
        columns = problem.vocab;
        label = label_of(problem, row);
        inverse_temperature = inverse_temperature_of(problem, row);
    }
    __device__ __forceinline__ float y(int64_t column) const {
        return T::widen(load_element<T>(logits, column)) * inverse_temperature;
    }
    /* The y of the columns that are summed: -infinity for the label's and behind the last one. */
    __device__ __forceinline__ float other(int64_t column) const {
        return column < columns && column != label ? y(column) : -INFINITY_F32;
    }
    /* Those of a vector, from a column on; reads no byte outside. */
    __device__ __forceinline__ void others(int64_t column, float (&y)[vector]) const {
        uint32_t word[words];
        const char *const from = logits + column * T::bytes;
        if ((uintptr_t)from % VECTOR_BYTES == 0) {
            load_vector<VECTOR_BYTES>(from, word);
        } else {
            uint32_t part[words + 1];
            const uint32_t shift = parts_shift<T>(from);
            load_parts<T, from_global>(from, shift, part);
            join_parts<T>(part, shift, word);
        }
        packing<T, vector>::widen(word, y);
        const uint64_t own = (uint64_t)(label - column);
        if (own < vector) {
#pragma unroll
            for (int i = 0; i < vector; i++) {
                y[i] = (int)own == i ? -INFINITY_F32 : y[i];
            }
        }
#pragma unroll
        for (int i = 0; i < vector; i++) {
            y[i] *= inverse_temperature;
        }
    }
};

/* What the threads of a block share. */
struct portable_block {
    float of_warp[2][PORTABLE_WARPS];
    float nodes[NODES];
    double power;                   /* of the origin of the exponentials */
    enum quern_gradient_kind kind;
    struct quern_factor factor;
    float label;                    /* the gradient of the label's column */
};

/* ---- the origin ---- */

/* The largest y but the label's; infinity if one of them is NaN.  By all threads. */
template <class T> static __device__ __forceinline__ float largest_other(const portable_row<T> &row, portable_block &block) {
    constexpr int vector = portable_row<T>::vector;
    float largest = -INFINITY_F32;
    const int64_t whole = row.columns / vector * vector;
    for (int64_t column = (int64_t)threadIdx.x * vector; column < whole; column += PORTABLE_THREADS * vector) {
        float y[vector];
        row.others(column, y);
#pragma unroll
        for (int i = 0; i < vector; i++) {
            largest = y[i] == y[i] ? fmaxf(largest, y[i]) : INFINITY_F32;
        }
    }
    if (whole + threadIdx.x < row.columns) {
        const float y = row.other(whole + threadIdx.x);
        largest = y == y ? fmaxf(largest, y) : INFINITY_F32;
    }
    largest = largest_of_warp(largest);
    if (threadIdx.x % 32 == 0) {
        block.of_warp[0][threadIdx.x / 32] = largest;
    }
    __syncthreads();
    for (int i = 0; i < PORTABLE_WARPS; i++) {
        largest = fmaxf(largest, block.of_warp[0][i]);
    }
    __syncthreads(); /* all have read the maxima */
    return largest;
}

/* ---- the sum ---- */

/* Of 16-bit logits neighbours are added first; then the lower half and the upper one, down to one number. */
template <class T> static __device__ __forceinline__ float sum_of_unit(const float (&e)[UNIT]) {
    constexpr int numbers = T::bytes == 2 ? UNIT / 2 : UNIT;
    float sum[numbers];
#pragma unroll
    for (int i = 0; i < numbers; i++) {
        sum[i] = T::bytes == 2 ? e[UNIT / numbers * i] + e[UNIT / numbers * i + UNIT / numbers - 1] : e[i];
    }
#pragma unroll
    for (int half = numbers / 2; half > 0; half /= 2) {
#pragma unroll
        for (int i = 0; i < numbers / 2; i++) {
            sum[i] += i < half ? sum[i + half] : 0.0f;
        }
    }
    return sum[0];
}

/* The unit of the thread, of near y. */
template <class T>
static __device__ __forceinline__ float sum_near_unit(const portable_row<T> &row, const portable_exponential &exponential,
                                                      int64_t unit) {
    constexpr int vector = portable_row<T>::vector;
    const int64_t first = unit * UNIT;
    float e[UNIT];
    if (first >= row.columns) {
        return 0.0f;
    }
#pragma unroll
    for (int i = 0; i < UNIT; i += vector) {
        float y[vector];
        if (first + UNIT <= row.columns) {
            row.others(first + i, y);
        } else {
#pragma unroll
            for (int j = 0; j < vector; j++) {
                y[j] = row.other(first + i + j);
            }
        }
#pragma unroll
        for (int j = 0; j < vector; j++) {
            e[i + j] = exponential.near(y[j]);
        }
    }
    return sum_of_unit<T>(e);
}

/*
 * The units of a warp's threads, of any y: a column for each thread, and little code.  16-bit logits are added in the order of fp32
 * ones: those that are so large are so far apart that only equal exponentials are added, which is exact.
 */
template <class T>
static __device__ __forceinline__ float sum_any_units(const portable_row<T> &row, const portable_exponential &exponential,
                                                      int64_t unit) {
    const int lane = threadIdx.x % 32;
    float mine = 0.0f;
#pragma unroll 1
    for (int i = 0; i < 32; i++) {
        float e = exponential.any(row.other((unit - lane + i) * UNIT + lane));
#pragma unroll
        for (int distance = 16; distance > 0; distance /= 2) {
            e += __shfl_xor_sync(0xffffffffu, e, distance);
        }
        mine = lane == i ? e : mine;
    }
    return mine;
}

/* By one thread: adds the next node of the level of a block. */
static __device__ __forceinline__ int grow_tree(float *nodes, int count, int64_t place, float node) {
    for (; place & 1; place >>= 1) {
        node = nodes[--count] + node;
    }
    nodes[count] = node;
    return count + 1;
}

/* The root of the row's tree, times the scale of the exponentials; in the first thread.  By all threads. */
template <class T>
static __device__ __forceinline__ float sum_of_row(const portable_row<T> &row, const portable_exponential &exponential,
                                                   portable_block &block) {
    int count = 0;
    int64_t place = 0;
    for (int64_t unit = threadIdx.x; (unit - threadIdx.x) * UNIT < row.columns; unit += PORTABLE_THREADS, place++) {
        float *const of_warp = block.of_warp[place & 1]; /* the other one is read until the next barrier */
        float sum = exponential.is_near ? sum_near_unit(row, exponential, unit) : sum_any_units(row, exponential, unit);
#pragma unroll
        for (int distance = 1; distance < 32; distance *= 2) {
            sum += __shfl_xor_sync(0xffffffffu, sum, distance);
        }
        if (threadIdx.x % 32 == 0) {
            of_warp[threadIdx.x / 32] = sum;
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            static_assert(PORTABLE_WARPS == 8, "three levels");
            const float first = (of_warp[0] + of_warp[1]) + (of_warp[2] + of_warp[3]);
            const float second = (of_warp[4] + of_warp[5]) + (of_warp[6] + of_warp[7]);
            count = grow_tree(block.nodes, count, place, first + second);
        }
    }
    float root = 0.0f;
    while (count > 0) {
        root = block.nodes[--count] + root;
    }
    return root;
}

/* ---- results ---- */

/* The stats of a row from its sum; by one thread. */
template <class T>
static __device__ __forceinline__ quern_row_stats stats_of_sum(const quern_cross_entropy_problem &problem,
                                                               const portable_row<T> &row, float largest, float sum,
                                                               double power) {
    quern_row_stats stats = quern_row_nothing();
    if (largest == INFINITY_F32) {
        stats.origin = 0, stats.others = (double)NAN;
    } else {
        quern_row_set_others(&stats, quern_row_node_of(sum, power - QUERN_EXPONENTIAL_BIAS));
    }
    stats.label_value = row.y(row.label);
    stats.label_weight = problem.class_weights ? problem.class_weights[row.label] : 1.0f;
    stats.has_label = 1;
    quern_row_settle(&stats);
    return stats;
}

/* What the gradient needs of them; by one thread.  The exponentials get the origin of the sums, or that of given stats. */
template <class T>
static __device__ __forceinline__ void prepare_gradient(const quern_cross_entropy_problem &problem, int64_t number,
                                                        const portable_row<T> &row, const quern_row_stats &stats,
                                                        const struct quern_row_values &values, double of_sums, bool has_stats,
                                                        portable_block &block) {
    const struct quern_row_gradient gradient = quern_row_gradient(&problem, number, row.label, &stats, &values);
    const bool has_origin = gradient.origin > -INFINITY_F64;
    const double of_row = has_origin ? quern_row_power(gradient.origin) : 0.0;
    block.power = has_stats ? of_row : of_sums;
    const double factor = has_origin ? quern_times_power(gradient.factor, block.power - of_row) : 0.0;
    block.kind = gradient.kind;
    block.factor = quern_factor_of(factor, fabs(factor), T::bytes == 4);
    block.label = (float)gradient.label;
}

/* ---- the gradient ---- */

/* From the exponential of its y. */
template <class T> static __device__ __forceinline__ float gradient_of(const struct quern_factor &factor, float e) {
    e *= factor.power;
    return T::bytes == 4 ? __fmaf_rn(e, factor.high, e * factor.low) : e * factor.high;
}

/* The columns before the vectors and behind them, one for each thread; all of them if y are far. */
template <class T>
static __device__ __forceinline__ void store_edge_columns(const portable_row<T> &row, const portable_exponential &exponential,
                                                          const struct quern_factor &factor, char *grad, int64_t head,
                                                          int64_t between) {
#pragma unroll 1
    for (int64_t i = threadIdx.x; i < row.columns - between; i += PORTABLE_THREADS) {
        const int64_t column = i < head ? i : i + between;
        const float y = row.other(column), e = exponential.is_near ? exponential.near(y) : exponential.any(y);
        store_element<T>(grad, column, T::nearest(gradient_of<T>(factor, e)));
    }
}

/* By vectors that are aligned in the gradient, each by the thread that has read its logits: the gradient may replace them. */
template <class T>
static __device__ __forceinline__ void store_portable_gradient(const portable_row<T> &row, const portable_exponential &exponential,
                                                               const portable_block &block, char *grad) {
    const struct quern_factor factor = block.factor;
    constexpr int vector = portable_row<T>::vector;
    const int64_t misaligned = (VECTOR_BYTES - (int)((uintptr_t)grad % VECTOR_BYTES)) % VECTOR_BYTES / T::bytes;
    const int64_t head = misaligned < row.columns && exponential.is_near ? misaligned : row.columns;
    const int64_t vectors = (row.columns - head) / vector;
    for (int64_t i = threadIdx.x; i < vectors; i += PORTABLE_THREADS) {
        float y[vector];
        uint32_t word[VECTOR_BYTES / 4];
        row.others(head + i * vector, y);
#pragma unroll
        for (int j = 0; j < vector; j++) {
            y[j] = gradient_of<T>(factor, exponential.near(y[j]));
        }
        packing<T, vector>::nearest(y, word);
        store_vector_once<VECTOR_BYTES>(grad + (head + i * vector) * T::bytes, word);
    }
    store_edge_columns(row, exponential, factor, grad, head, vectors * vector);
    __syncthreads(); /* the label's column has been written */
    if (threadIdx.x == 0) {
        store_element<T>(grad, row.label, T::nearest(block.label));
    }
}

/* The same value in each of these columns. */
template <class T> static __device__ __forceinline__ void fill_columns(char *grad, int64_t first, int64_t end, float x) {
    for (int64_t column = first + threadIdx.x; column < end; column += PORTABLE_THREADS) {
        store_element<T>(grad, column, T::nearest(x));
    }
}

/* ---- rows ---- */

template <class T>
static __device__ __forceinline__ char *portable_grad_of(const quern_cross_entropy_problem &problem, int64_t row) {
    return (char *)problem.grad + row * problem.grad_stride * T::bytes;
}

template <class T>
static __device__ __forceinline__ void skip_portable_row(const quern_cross_entropy_problem &problem, int64_t number,
                                                         bool has_stats) {
    if (threadIdx.x == 0 && !has_stats) {
        write_skipped_row(problem, number, true);
    }
    if (problem.grad && !(kept_of_skipped_row(problem, number) & QUERN_KEPT_GRAD)) {
        fill_columns<T>(portable_grad_of<T>(problem, number), 0, problem.padded_vocab, 0.0f);
    }
}

/* The row's results, unless its stats are given; sets what the gradient needs.  By all threads. */
template <class T>
static __device__ __forceinline__ void take_portable_row(const quern_cross_entropy_problem &problem, int64_t number,
                                                         const portable_row<T> &row, portable_block &block, bool has_stats) {
    float largest = 0.0f, sum = 0.0f;
    double power = 0.0;
    if (!has_stats) {
        largest = largest_other(row, block);
        power = fabsf(largest) < INFINITY_F32 ? quern_row_power(largest) : 0.0;
        sum = largest < INFINITY_F32 ? sum_of_row(row, portable_exponential(power), block) : 0.0f;
    }
    if (threadIdx.x == 0) {
        const quern_row_stats stats = has_stats ? problem.stats[number] : stats_of_sum(problem, row, largest, sum, power);
        const struct quern_row_values values = quern_row_values(&problem, &stats);
        if (!has_stats) {
            if (problem.stats) {
                problem.stats[number] = stats;
            }
            quern_row_finish(&problem, number, row.label, &stats, &values);
        }
        prepare_gradient(problem, number, row, stats, values, power, has_stats, block);
    }
}

template <class T> static __device__ __forceinline__ void run_portable(const quern_cross_entropy_problem &problem) {
    __shared__ portable_block block;
    const int64_t number = blockIdx.x + blockIdx.y * (int64_t)gridDim.x;
    const bool has_stats = problem.portable_bits == QUERN_PORTABLE_GRADIENT;
    join_launches();
    if (number >= problem.rows) {
        return;
    }
    if (is_skipped(problem, label_of(problem, number))) {
        skip_portable_row<T>(problem, number, has_stats);
        return;
    }
    const portable_row<T> row(problem, number);
    take_portable_row(problem, number, row, block, has_stats);
    if (!problem.grad) {
        return;
    }
    __syncthreads(); /* the first thread has prepared the gradient */
    char *const grad = portable_grad_of<T>(problem, number);
    fill_columns<T>(grad, problem.vocab, problem.padded_vocab, 0.0f);
    if (block.kind == QUERN_GRADIENT_NUMBERS) {
        store_portable_gradient(row, portable_exponential(block.power), block, grad);
    } else {
        fill_columns<T>(grad, 0, problem.vocab, block.kind == QUERN_GRADIENT_NAN ? __uint_as_float(0x7fc00000u) : 0.0f);
    }
}

#endif
