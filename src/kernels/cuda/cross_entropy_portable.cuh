/*
 * Softmax cross-entropy with portable bits, as docs/numerics.md defines them: one block for each row.  Included by the sources in
 * generated/cross_entropy/, whose kernels call run_portable.
 *
 *   1. The largest y of all columns but the label's gives the power of two that the exponentials are relative to.
 *   2. Each thread sums a unit of 32 columns, a warp the units of its threads, and so on: each sum is that of two neighbours, so a
 *      block finds a node of the row's tree at a time.  For the entropy a few threads share each unit, and hold its exponentials
 *      until the sum is known that its moment is relative to.
 *   3. One thread derives the results of the row by the functions of the CPU kernels.
 *   4. The gradient of each column is its exponential, computed again, times a factor.
 *
 * Of a shard, steps 1 and 2 find its nodes, which another kernel joins with those of the other shards, and 3 and 4 follow.
 *
 * The row is read three times, each time but the first one mostly from the caches.
 */
#ifndef QUERN_DEVICE_CROSS_ENTROPY_PORTABLE_CUH
#define QUERN_DEVICE_CROSS_ENTROPY_PORTABLE_CUH

#include "kernels/cross_entropy_nodes.h"
#include "kernels/cuda/dependent_launch.cuh"
#include "kernels/cuda/dtype.cuh"
#include "kernels/cuda/row_stats.cuh"
#include "kernels/cuda/unaligned.cuh"
#include "kernels/cuda/vector.cuh"

enum {
    PORTABLE_THREADS = 256,
    PORTABLE_WARPS = PORTABLE_THREADS / 32,
    PORTABLE_BLOCKS = 4,            /* of a multiprocessor; for more ptxas would spill registers */
    UNIT = QUERN_UNIT_COLUMNS,
    LEVELS_OF_BLOCK = 8,            /* of the node that a block sums at a time */
    NODES = 56,                     /* of a range that have no sister yet: at most two for each level */
};

/* ---- exponentials ---- */

/* 1.5 * 2^23: a sum with it is rounded to an integer. */
#define ROUND_TO_INTEGER 0x1.8p23f
/* Of a moment, from the exponent of its sum as exponent_bits has it, relative to the power of the exponentials. */
#define REFERENCE_OF_BITS (QUERN_MOMENT_RISE - 127.0f - QUERN_EXPONENTIAL_BIAS - 0x1p23f)
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

/* What few rows need is called: its code is long, and is there once. */
static __device__ __noinline__ float exponential_of_any(float y, double power) {
    if (y == -INFINITY_F32) {
        return 0.0f;
    }
    const double k = quern_row_power(y);
    const float r = fabsf(y) > QUERN_FAR_Y ? 0.0f : (float)(y - k * QUERN_LN_2_FLOAT);
    return (float)quern_times_power(polynomial_of(r, 1.0f), k - power + QUERN_EXPONENTIAL_BIAS);
}

/* exp(y) times 2^(QUERN_EXPONENTIAL_BIAS - power). */
struct portable_exponential {
    const double &power;            /* in shared memory */
    bool is_near;                   /* all y but those that are too low have powers that fp32 instructions find */
    float round, lowest;

    __device__ __forceinline__ explicit portable_exponential(const double &of_origin) : power(of_origin) {
        int near = fabs(power * QUERN_LN_2_FLOAT) <= QUERN_POWERS_REACH - 200;
        asm("" : "+r"(near)); /* otherwise the double is kept, for which there are no registers */
        is_near = near;
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
    __device__ __forceinline__ float any(float y) const { return exponential_of_any(y, power); }
};

/* ---- a row ---- */

template <class T> struct portable_row {
    const char *logits;
    int64_t columns;
    int64_t label;                  /* its column here; another number if the label is in another shard */
    float inverse_temperature;

    static constexpr int vector = VECTOR_BYTES / T::bytes, words = VECTOR_BYTES / 4;

    __device__ __forceinline__ portable_row(const quern_cross_entropy_problem &problem, int64_t row, int64_t of_label) {
        logits = (const char *)problem.logits + row * problem.logits_stride * T::bytes;
        columns = problem.vocab;
        label = of_label - problem.first_column;
        inverse_temperature = inverse_temperature_of(problem, row);
    }
    __device__ __forceinline__ float y(int64_t column) const {
        return T::widen(load_element<T>(logits, column)) * inverse_temperature;
    }
    /* The y of the columns that are summed: -infinity for the label's and behind the last one. */
    __device__ __forceinline__ float other(int64_t column) const {
        return (uint64_t)column < (uint64_t)columns && column != label ? y(column) : -INFINITY_F32;
    }
    __device__ __forceinline__ bool has_label() const { return (uint64_t)label < (uint64_t)columns; }
    /* Those of a vector that may lie outside in part. */
    __device__ __forceinline__ void few_others(int64_t column, float (&y)[vector]) const {
#pragma unroll 1
        for (int i = 0; i < vector; i++) {
            const float next = other(column + i);
#pragma unroll
            for (int j = 0; j < vector; j++) {
                y[j] = i == j ? next : y[j];
            }
        }
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

/* A sum of exponentials, and its moment times MOMENT_SCALE, which cannot overflow. */
struct portable_sum {
    float e, moment;
};

#define MOMENT_SCALE 0x1p-8f

/* The exponent as the bits have it. */
static __device__ __forceinline__ float exponent_bits(float e) { return __uint_as_float(0x4B000000u | __float_as_uint(e) >> 23); }

/* The moment relative to the exponent of a parent. */
static __device__ __forceinline__ float moment_at(const portable_sum &sum, float parent) {
    return sum.moment + sum.e * ((exponent_bits(sum.e) - exponent_bits(parent)) * ((float)QUERN_LN_2_FLOAT * MOMENT_SCALE));
}

/* By one thread. */
static __device__ __noinline__ portable_sum join_sums(portable_sum a, portable_sum b, bool has_moments) {
    const float e = a.e + b.e;
    return {e, has_moments ? moment_at(a, e) + moment_at(b, e) : 0.0f};
}

/* The nodes of a range of units: those of whole rows become one, those of a shard are kept. */
struct portable_range {
    quern_row_nodes *nodes;         /* NULL: of a whole row.  Those of the moments are behind it */
    int64_t first_column;
    struct quern_row_span span;
    bool has_moments;

    __device__ __forceinline__ void set(const quern_cross_entropy_problem &problem, int64_t row) {
        nodes = problem.nodes ? problem.nodes + row * quern_row_nodes_of_row(&problem) : NULL;
        has_moments = problem.wants_moment;
        first_column = problem.first_column;
        span = quern_row_span_of(first_column, problem.vocab, problem.global_vocab);
    }
    __device__ __forceinline__ bool has(int64_t unit, int level) const {
        const int64_t first = unit >> level << level;
        return first >= span.first_unit && first + (INT64_C(1) << level) <= span.end_unit;
    }
    __device__ __forceinline__ void store(int64_t unit, int level, const portable_sum &sum) const {
        *quern_row_slot(nodes, unit, level) = sum.e * QUERN_NODE_OF_KEPT;
        if (has_moments) {
            *quern_row_slot(nodes + 1, unit, level) = sum.moment * (QUERN_NODE_OF_KEPT / MOMENT_SCALE);
        }
    }
    /* The node of this level that has the unit, unless it is part of another node or reaches beyond the range. */
    __device__ __forceinline__ void keep(int64_t unit, int level, const portable_sum &sum) const {
        if (has(unit, level) && !has(unit, level + 1)) {
            store(unit, level, sum);
        }
    }
};

/* What the threads of a block share. */
struct portable_block {
    portable_sum of_warp[2][PORTABLE_WARPS];
    portable_sum nodes[NODES];
    place_of_largest places[PORTABLE_WARPS];
    int levels[NODES];              /* of the nodes */
    portable_range range;           /* here it takes no registers */
    float largest;                  /* of all y but the label's; here it takes no register, too */
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
        block.of_warp[0][threadIdx.x / 32].e = largest;
    }
    __syncthreads();
    for (int i = 0; i < PORTABLE_WARPS; i++) {
        largest = fmaxf(largest, block.of_warp[0][i].e);
    }
    __syncthreads(); /* all have read the maxima */
    return largest;
}

/* Sets the first column with the largest logit; -1 if all are -infinity.  By all threads, and what counts is in the first one. */
template <class T>
static __device__ __forceinline__ void find_argmax(const portable_row<T> &row, portable_block &block, int64_t first_column,
                                                   quern_row_stats &stats) {
    place_of_largest place = {-INFINITY_F32, -1};
#pragma unroll 2
    for (int64_t column = threadIdx.x; column < row.columns; column += PORTABLE_THREADS) {
        const float x = T::widen(load_element<T>(row.logits, column));
        if (x > place.value) {
            place = {x, column};
        }
    }
#pragma unroll 1
    for (int distance = 16; distance > 0; distance /= 2) {
        place.take(__shfl_xor_sync(0xffffffffu, place.value, distance), __shfl_xor_sync(0xffffffffu, place.column, distance));
    }
    if (threadIdx.x % 32 == 0) {
        block.places[threadIdx.x / 32] = place;
    }
    __syncthreads();
#pragma unroll 1
    for (int i = 1; i < PORTABLE_WARPS; i++) {
        place.take(block.places[i].value, block.places[i].column);
    }
    if (place.column >= 0) {
        stats.maximum = place.value, stats.argmax = first_column + place.column;
    }
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

/* The unit of the thread, of near y.  It has all columns. */
template <class T>
static __device__ __forceinline__ float sum_near_unit(const portable_row<T> &row, const portable_exponential &exponential,
                                                      int64_t first) {
    constexpr int vector = portable_row<T>::vector;
    float e[UNIT];
#pragma unroll
    for (int i = 0; i < UNIT; i += vector) {
        float y[vector];
        row.others(first + i, y);
#pragma unroll
        for (int j = 0; j < vector; j++) {
            e[i + j] = exponential.near(y[j]);
        }
    }
    return sum_of_unit<T>(e);
}

/* The tree of a unit over the threads of a warp, which have a column each. */
template <class T> static __device__ __forceinline__ float sum_of_lanes(float x) {
    constexpr bool neighbours = T::bytes == 2;
    if (neighbours) {
        x += __shfl_xor_sync(0xffffffffu, x, 1);
    }
#pragma unroll
    for (int distance = 16; distance > neighbours; distance /= 2) {
        x += __shfl_xor_sync(0xffffffffu, x, distance);
    }
    return x;
}

/* The units of a warp's threads, of any y: a column for each thread, and little code. */
template <class T>
static __device__ __forceinline__ portable_sum sum_any_units(const portable_row<T> &row, const portable_exponential &exponential,
                                                             int64_t first, bool has_moments) {
    const int lane = threadIdx.x % 32;
    portable_sum mine = {0.0f, 0.0f};
#pragma unroll 1
    for (int i = 0; i < 32; i++) {
        const float y = row.other(first + (i - lane) * UNIT + lane), e = exponential.any(y);
        portable_sum sum = {sum_of_lanes<T>(e), 0.0f};
        if (has_moments) {
            const double reference = exponent_bits(sum.e) + REFERENCE_OF_BITS;
            sum.moment = sum_of_lanes<T>(e * quern_row_distance(y, exponential.power + reference)) * MOMENT_SCALE;
        }
        mine = lane == i ? sum : mine;
    }
    return mine;
}

/*
 * The tree of a unit over some threads, which have a vector each.  At each level threads give half of their numbers and take the
 * other half of their partner's: so a level within a vector becomes one between the same partners, behind all of the others.
 */
template <class T> static __device__ __forceinline__ float sum_of_vectors(const float (&x)[portable_row<T>::vector]) {
    constexpr int vector = portable_row<T>::vector, apart = T::bytes == 2 ? 2 : 1, numbers = vector / apart, lanes = UNIT / vector;
    constexpr int levels = T::bytes == 2 ? 4 : 5, of_lanes = lanes == 8 ? 3 : lanes / 2;
    static_assert(numbers * lanes == 1 << levels && lanes >= 2 && lanes <= 8, "a level for each halving");
    float sum[numbers];
#pragma unroll
    for (int i = 0; i < numbers; i++) {
        sum[i] = apart == 2 ? x[apart * i] + x[apart * i + apart - 1] : x[i];
    }
#pragma unroll
    for (int level = 0; level < levels; level++) {
        const int distance = lanes >> (level % of_lanes + 1), half = numbers >> (level + 1);
        const bool is_upper = threadIdx.x & distance;
        sum[0] = half ? sum[0] : sum[0] + __shfl_xor_sync(0xffffffffu, sum[0], distance);
#pragma unroll
        for (int i = 0; i < half; i++) {
            const float given = is_upper ? sum[i] : sum[i + half];
            sum[i] = (is_upper ? sum[i + half] : sum[i]) + __shfl_xor_sync(0xffffffffu, given, distance);
        }
    }
    return sum[0];
}

/* The units of a warp's threads, of near y, and their moments: a vector for each thread at a time. */
template <class T>
static __device__ __forceinline__ portable_sum sum_near_moments(const portable_row<T> &row, const portable_exponential &exponential,
                                                                int64_t first) {
    constexpr int vector = portable_row<T>::vector, lanes = UNIT / vector, units = 32 / lanes;
    const int lane = threadIdx.x % 32;
    const float rise = REFERENCE_OF_BITS + (ROUND_TO_INTEGER - exponential.round);
    portable_sum mine = {0.0f, 0.0f};
#pragma unroll 1
    for (int i = 0; i < lanes; i++) {
        const int64_t column = first + (i * units + lane / lanes - lane) * UNIT + lane % lanes * vector;
        float y[vector], e[vector];
        if (column >= 0 && column + vector <= row.columns) {
            row.others(column, y);
        } else {
            row.few_others(column, y);
        }
#pragma unroll
        for (int j = 0; j < vector; j++) {
            e[j] = exponential.near(y[j]);
        }
        const float sum = sum_of_vectors<T>(e), reference = exponent_bits(sum) + rise;
#pragma unroll
        for (int j = 0; j < vector; j++) {
            e[j] *= __fmaf_rn(reference, -(float)QUERN_LN_2_FLOAT, fmaxf(y[j], exponential.lowest));
        }
        const float moment = sum_of_vectors<T>(e) * MOMENT_SCALE;
        const int from = lane % units * lanes;
        const portable_sum given = {__shfl_sync(0xffffffffu, sum, from), __shfl_sync(0xffffffffu, moment, from)};
        mine = lane / units == i ? given : mine;
    }
    return mine;
}

/* By one thread: adds the next node of the level of a block, which begins with the unit. */
static __device__ __forceinline__ int grow_tree(portable_block &block, int count, int64_t unit, portable_sum node) {
    int level = LEVELS_OF_BLOCK;
#pragma unroll 1
    for (; unit >> level & 1 && count > 0 && block.levels[count - 1] == level; level++) {
        node = join_sums(block.nodes[--count], node, block.range.has_moments);
    }
    block.levels[count] = level;
    block.nodes[count] = node;
    return count + 1;
}

static __device__ __forceinline__ portable_sum root_of_tree(const portable_block &block, int count) {
    portable_sum root = {0.0f, 0.0f};
#pragma unroll 1
    while (count > 0) {
        root = join_sums(block.nodes[--count], root, block.range.has_moments);
    }
    return root;
}

/* The nodes of whole blocks.  Their sum is not asked for. */
static __device__ __forceinline__ portable_sum keep_tree(const portable_range &range, const portable_block &block, int count) {
    const int64_t of_block = INT64_C(1) << LEVELS_OF_BLOCK;
    int64_t unit = (range.span.first_unit + of_block - 1) / of_block * of_block;
#pragma unroll 1
    for (int i = 0; i < count; i++) {
        range.store(unit, block.levels[i], block.nodes[i]);
        unit += INT64_C(1) << block.levels[i];
    }
    return {0.0f, 0.0f};
}

/* The sum of a warp's units, of which its threads have one each. */
static __device__ __forceinline__ portable_sum sum_of_warp(portable_sum sum, const portable_range &range, int64_t unit) {
    if (range.nodes || range.has_moments) {
#pragma unroll 1
        for (int level = 0; level < 5; level++) {
            if (range.nodes && threadIdx.x % (1 << level) == 0) {
                range.keep(unit, level, sum);
            }
            const float e = sum.e + __shfl_xor_sync(0xffffffffu, sum.e, 1 << level), moment = moment_at(sum, e);
            sum = {e, moment + __shfl_xor_sync(0xffffffffu, moment, 1 << level)};
        }
        return sum;
    }
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
        sum.e += __shfl_xor_sync(0xffffffffu, sum.e, distance);
    }
    return sum;
}

/* By one thread: of the warps' nodes, which are overwritten. */
static __device__ __forceinline__ portable_sum sum_of_warps(portable_sum *of_warp, const portable_range &range, int64_t first) {
#pragma unroll 1
    for (int level = 5, count = PORTABLE_WARPS; count > 1; level++, count /= 2) {
#pragma unroll 1
        for (int i = 0; range.nodes && i < count; i++) {
            range.keep(first + ((int64_t)i << level), level, of_warp[i]);
        }
#pragma unroll 1
        for (int i = 0; i < count / 2; i++) {
            of_warp[i] = join_sums(of_warp[2 * i], of_warp[2 * i + 1], range.has_moments);
        }
    }
    return of_warp[0];
}

/* The root of the row's tree, times the scale of the exponentials; in the first thread.  By all threads. */
template <class T>
static __device__ __forceinline__ portable_sum sum_of_row(const portable_row<T> &row, const portable_exponential &exponential,
                                                          portable_block &block) {
    const portable_range &range = block.range;
    const int64_t begin = range.span.first_unit >> LEVELS_OF_BLOCK << LEVELS_OF_BLOCK;
    int count = 0;
    for (int64_t first = begin; first < range.span.end_unit; first += PORTABLE_THREADS) {
        portable_sum *const of_warp = block.of_warp[first >> LEVELS_OF_BLOCK & 1]; /* the other is read until the next barrier */
        const int64_t unit = first + threadIdx.x, column = unit * UNIT - range.first_column;
        const bool is_here = unit >= range.span.first_unit && unit < range.span.end_unit;
        portable_sum sum = {0.0f, 0.0f};
        if (!exponential.is_near) {
            sum = sum_any_units(row, exponential, column, range.has_moments);
        } else if (range.has_moments || __any_sync(0xffffffffu, is_here && column + UNIT > row.columns)) {
            sum = sum_near_moments(row, exponential, column);
        } else if (is_here) {
            sum.e = sum_near_unit(row, exponential, column);
        }
        sum.e = is_here ? sum.e : 0.0f;
        sum.moment = is_here ? sum.moment : 0.0f;
        sum = sum_of_warp(sum, range, unit);
        if (threadIdx.x % 32 == 0) {
            of_warp[threadIdx.x / 32] = sum;
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            const portable_sum node = sum_of_warps(of_warp, range, first);
            if (!range.nodes || range.has(first, LEVELS_OF_BLOCK)) {
                count = grow_tree(block, count, first, node);
            }
        }
    }
    return range.nodes ? keep_tree(range, block, count) : root_of_tree(block, count);
}

/* ---- results ---- */

template <class T>
static __device__ __forceinline__ void add_label(const quern_cross_entropy_problem &problem, const portable_row<T> &row,
                                                 quern_row_stats &stats) {
    if (row.has_label()) {
        stats.label_value = row.y(row.label);
        stats.label_weight = problem.class_weights ? problem.class_weights[row.label] : 1.0f;
        stats.has_label = 1;
    }
}

/* The sum of a row, or for a shard, whose sums are nodes, their origin; by one thread. */
static __device__ __forceinline__ void add_sums(const portable_range &range, float largest, const portable_sum &sum, double power,
                                                quern_row_stats &stats) {
    if (largest == INFINITY_F32) {
        stats.origin = range.nodes ? stats.origin : 0, stats.others = (double)NAN;
    } else if (!range.nodes) {
        quern_row_set_others(&stats, quern_row_node_of(sum.e, power - QUERN_EXPONENTIAL_BIAS, sum.moment / (double)MOMENT_SCALE));
    } else if (largest > -INFINITY_F32) {
        stats.origin = quern_row_value_at(&power);
    }
    if (!range.nodes) {
        quern_row_settle(&stats);
    }
}

/* What the gradient needs of them; by one thread.  The exponentials get the origin of the sums, or that of given stats. */
template <class T>
static __device__ __forceinline__ void prepare_gradient(const quern_cross_entropy_problem &problem, int64_t number,
                                                        const portable_row<T> &row, const quern_row_stats &stats,
                                                        const struct quern_row_values &values, bool has_stats,
                                                        portable_block &block) {
    const int64_t label = row.label + problem.first_column;
    const struct quern_row_gradient gradient = quern_row_gradient(&problem, number, label, &stats, &values);
    const bool has_origin = gradient.origin > -INFINITY_F64;
    const double of_row = has_origin ? quern_row_power(gradient.origin) : 0.0;
    if (has_stats) { /* else other threads may still read it */
        block.power = of_row;
    }
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
    if (threadIdx.x == 0 && row.has_label()) {
        store_element<T>(grad, row.label, T::nearest(block.label));
    }
}

/* The same value in each of these columns. */
template <class T> static __device__ __forceinline__ void fill_columns(char *grad, int64_t first, int64_t end, float x) {
#pragma unroll 1
    for (int64_t column = first + threadIdx.x; column < end; column += PORTABLE_THREADS) {
        store_element<T>(grad, column, T::nearest(x));
    }
}

/* ---- the nodes of a shard ---- */

/* Columns of units that other shards have a part of, each alone. */
template <class T>
static __device__ __forceinline__ void keep_shared_columns(const portable_row<T> &row, const portable_exponential &exponential,
                                                           const portable_range &range) {
    const int64_t place = threadIdx.x, of_tail = place - range.span.head, columns = row.columns - range.span.tail;
    if (of_tail < range.span.tail) {
        float *const kept = of_tail < 0 ? range.nodes->first_unit + (range.first_column + place) % UNIT
                                        : range.nodes->last_unit + of_tail;
        const float y = row.other(of_tail < 0 ? place : columns + of_tail);
        *kept = exponential.any(y) * QUERN_NODE_OF_KEPT;
        if (range.has_moments) {
            kept[sizeof(quern_row_nodes) / sizeof *kept] = y;
        }
    }
}

static __device__ __forceinline__ void clear_nodes(const quern_cross_entropy_problem &problem, quern_row_nodes *nodes) {
    constexpr int numbers = sizeof *nodes / sizeof(float);
    static_assert(2 * numbers <= PORTABLE_THREADS, "one for each thread");
    if (threadIdx.x < numbers * quern_row_nodes_of_row(&problem)) {
        nodes->first_unit[threadIdx.x] = QUERN_NO_NODE;
    }
    __syncthreads();
}

/* ---- rows ---- */

template <class T>
static __device__ __forceinline__ char *portable_grad_of(const quern_cross_entropy_problem &problem, int64_t row) {
    return (char *)problem.grad + row * problem.grad_stride * T::bytes;
}

template <class T>
static __device__ __forceinline__ void skip_portable_row(const quern_cross_entropy_problem &problem, int64_t number) {
    const int32_t kept = kept_of_skipped_row(problem, number);
    if (threadIdx.x == 0 && problem.portable_bits != QUERN_PORTABLE_GRADIENT) {
        write_skipped_row(problem, number, problem.is_final);
    }
    if (problem.nodes && !(kept & QUERN_KEPT_OUTPUTS)) {
        clear_nodes(problem, problem.nodes + number * quern_row_nodes_of_row(&problem));
    }
    if (problem.grad && !(kept & QUERN_KEPT_GRAD)) {
        fill_columns<T>(portable_grad_of<T>(problem, number), 0, problem.padded_vocab, 0.0f);
    }
}

/* The stats of a row or a shard's part of it, in the first thread.  By all threads. */
template <class T>
static __device__ __forceinline__ quern_row_stats sum_portable_row(const quern_cross_entropy_problem &problem, int64_t number,
                                                                   const portable_row<T> &row, portable_block &block) {
    const portable_range &range = block.range;
    if (threadIdx.x == 0) {
        block.range.set(problem, number);
    }
    const float largest = largest_other(row, block); /* all threads have met there */
    portable_sum sum = {0.0f, 0.0f};
    if (threadIdx.x == 0) {
        block.largest = largest;
        block.power = fabsf(largest) < INFINITY_F32 ? quern_row_power(largest) : 0.0;
    }
    __syncthreads();
    if (range.nodes) {
        clear_nodes(problem, range.nodes);
    }
    if (largest < INFINITY_F32) {
        const portable_exponential exponential(block.power);
        sum = sum_of_row(row, exponential, block);
        if (range.nodes) {
            keep_shared_columns(row, exponential, range);
        }
    }
    quern_row_stats stats = quern_row_nothing();
    if (problem.argmax) {
        find_argmax(row, block, problem.first_column, stats);
    }
    if (threadIdx.x == 0) {
        add_label(problem, row, stats);
        add_sums(range, block.largest, sum, block.power, stats);
    }
    return stats;
}

/*
 * Whether a row's sums neither read nor write what other launches of the call do.  Then the block waits for the launch before it,
 * which counts the labels, behind them.
 */
static __device__ __forceinline__ bool sums_alone(const quern_cross_entropy_problem &problem) {
    return problem.portable_bits != QUERN_PORTABLE_GRADIENT && !problem.nodes;
}

/* The row's stats or results, or none if its stats are given; sets what the gradient needs.  By all threads. */
template <class T>
static __device__ __forceinline__ void take_portable_row(const quern_cross_entropy_problem &problem, int64_t number,
                                                         const portable_row<T> &row, portable_block &block) {
    const bool has_stats = problem.portable_bits == QUERN_PORTABLE_GRADIENT;
    const quern_row_stats stats = has_stats ? problem.stats[number] : sum_portable_row(problem, number, row, block);
    if (sums_alone(problem)) {
        join_launches();
    }
    if (threadIdx.x != 0) {
        return;
    }
    if (!has_stats && problem.stats) {
        problem.stats[number] = stats;
    }
    if (!problem.is_final) {
        return;
    }
    const struct quern_row_values values = quern_row_values(&problem, &stats);
    if (!has_stats) {
        quern_row_finish(&problem, number, row.label + problem.first_column, &stats, &values);
    }
    prepare_gradient(problem, number, row, stats, values, has_stats, block);
}

template <class T> static __device__ __forceinline__ void run_portable(const quern_cross_entropy_problem &problem) {
    __shared__ portable_block block;
    const int64_t number = blockIdx.x + blockIdx.y * (int64_t)gridDim.x;
    const int64_t label = number < problem.rows ? label_of(problem, number) : problem.ignore_index;
    const bool skipped = is_skipped(problem, label);
    if (skipped || !sums_alone(problem)) {
        join_launches();
    }
    if (number >= problem.rows) {
        return;
    }
    if (skipped) {
        skip_portable_row<T>(problem, number);
        return;
    }
    const portable_row<T> row(problem, number, label);
    take_portable_row(problem, number, row, block);
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
