

/*
 * Softmax cross-entropy of f16 logits.
 *
 * A row is read twice: the first pass finds the sums of its columns, the second turns each logit into its gradient.
 *
 *   resident   one block per row; keeps the row in shared memory between the passes, so that DRAM sees each logit read once and
 *              each gradient written once (4 bytes per logit, 2 without the gradient);
 *   streamed   one block per row; takes rows that do not fit there and reads them twice, the second time backwards, so that it
 *              begins with what the L2 cache saw last;
 *   cluster    the blocks of a cluster for each row, of which each keeps some parts: as resident, for rows far longer;
 *   stats      the first pass for one part of a row;
 *   gradient   the second pass for one part of a row.
 *
 * The bits of a row's sums depend on the row alone, not on where it lies or on which kernel sums it: a part of QUERN_GPU_PART_BYTES
 * is summed by the THREADS threads of a block, the columns dealt out to them by their index in groups of 16 bytes; those
 * that fill no group go one each to the first threads.  Where the row is aligned, a group is one vector; elsewhere it is loaded
 * 4 bytes at a time and put together in registers.  A warp finds the largest of its columns of a part first and then the sum of the
 * exponentials relative to it; the sums of the warps, and those of the parts, are brought to one origin (device/row_stats.cuh).
 *
 * The second pass treats each column for itself, so it goes by the vectors that are aligned in memory: those of the gradient
 * where the row lies in shared memory, else those of the logits.  The columns before the first of them and after the last
 * are the edge, again one column for each of the first threads.
 *
 * The label's column is kept out of the sums, and its gradient comes from that of the others: -(sum of the others) / (sum of all)
 * keeps its precision where probability - 1 would cancel.
 *
 * Rendered by gen/ from templates/cross_entropy/cross_entropy.cu.j2; do not edit.
 */
#define QUERN_BF16_CONVERT 1

#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/bulk_copy.cuh"
#include "kernels/cuda/cluster.cuh"
#include "kernels/cuda/dtype.cuh"
#include "kernels/cuda/exponential.cuh"
#include "kernels/cuda/row_stats.cuh"
#include "kernels/cuda/unaligned.cuh"
#include "kernels/cuda/vector.cuh"
#include "kernels/problem.h"
#include "quern.h"

enum {
    THREADS = 512,
    WARPS = THREADS / 32,
    VECTOR_BYTES = 16,
    VECTOR = VECTOR_BYTES / f16::bytes,     /* elements */
    VECTOR_WORDS = VECTOR_BYTES / 4,
    PART_COLUMNS = QUERN_GPU_PART_BYTES / f16::bytes,
    PART_VECTORS = QUERN_GPU_PART_BYTES / VECTOR_BYTES / THREADS,   /* of a thread */
    BATCH = 64 / VECTOR_BYTES,              /* vectors that a thread loads to registers before it uses the first */
};

/* Vectors are taken in pieces of so many elements, which bounds the registers. */
enum { PIECE = VECTOR < 8 ? VECTOR : 8 };

/* ---- shared memory ---- */

/* What a warp knows of its columns of one part, the label's left out; the sums' origin is the largest, or near it. */
struct warp_sums {
    float largest;  /* -infinity: all are, or it has none */
    double sum;     /* of the exponentials near the largest */
};

/* What a block knows of a part until it is merged with others. */
struct alignas(16) part_sums {
    warp_sums of_warp[WARPS];
    quern_row_stats stats;
    uint64_t arrived;  /* an mbarrier, where bulk copies bring the part */
};

/* The stats of the parts that have been merged, the sums of some parts, and what of the row is kept between the passes. */
extern __shared__ uint4 shared_memory[];

static __device__ __forceinline__ quern_row_stats &merged_stats() { return *(quern_row_stats *)shared_memory; }

static __device__ __forceinline__ part_sums &sums_of(int place) {
    static_assert(sizeof(quern_row_stats) == 64, "gen/spec.py says how much is set aside, ...");
    static_assert(sizeof(part_sums) == 336, "... for each part too");
    return ((part_sums *)(&merged_stats() + 1))[place];
}

/* Where the row begins, after the sums of so many parts. */
static __device__ __forceinline__ uint4 *after_sums(int parts) { return (uint4 *)&sums_of(parts); }

/* ---- options ---- */
struct row_options {
    __device__ __forceinline__ explicit row_options(const quern_cross_entropy_problem &) {}
    __device__ __forceinline__ float capped(float x) const { return x; }
};
/* ---- the first pass: the sums of a part ---- */

/* Columns [first(), first() + columns) of a row, by their index in the row; a row of 2^32 parts would fill all memory there is. */
struct row_part {
    unsigned index;
    int columns;
    int label;  /* its column, counted from the first; -1: not here */

    __device__ __forceinline__ row_part(const quern_cross_entropy_problem &problem, unsigned part, int64_t label_column) {
        index = part;
        columns = problem.vocab - first() < PART_COLUMNS ? (int)(problem.vocab - first()) : PART_COLUMNS;
        label = (uint64_t)(label_column - first()) < (uint64_t)columns ? (int)(label_column - first()) : -1;
    }
    __device__ __forceinline__ int64_t first() const { return (int64_t)index * PART_COLUMNS; }
    __device__ __forceinline__ bool has_label() const { return label >= 0; }
    /* Full vectors; what is left is the rest. */
    __device__ __forceinline__ int groups() const { return columns / VECTOR; }
    __device__ __forceinline__ int rest_column() const { return columns / VECTOR * VECTOR + threadIdx.x; }
};

static __device__ __forceinline__ void clear_vector(uint32_t *word) {
#pragma unroll
    for (int i = 0; i < VECTOR_WORDS; i++) {
        word[i] = f16::minus_infinity * 0x10001u;
    }
}

/* Makes the label's logit -infinity, whose exponential adds nothing, if it is one of COUNT from a column on. */
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
    load_parts<f16, from_global>(vector, shift, piece);
    join_parts<f16>(piece, shift, word);
}

/* The thread's vectors from global memory; logits is where the part begins. */
template <bool ALIGNED>
static __device__ __forceinline__ void load_vectors(const char *logits, const row_part &part,
                                                    uint32_t (&word)[PART_VECTORS][VECTOR_WORDS]) {
    const uint32_t shift = parts_shift<f16>(logits);
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

/* The columns of one thread; those that do not exist are -infinity, and the label's in the rest is too. */
struct part_in_registers {
    static constexpr int unrolled = PART_VECTORS; /* registers have no index */
    const row_part &part;
    float rest;
    uint32_t word[PART_VECTORS][VECTOR_WORDS];

    __device__ __forceinline__ void vector(int i, uint32_t (&out)[VECTOR_WORDS]) const {
#pragma unroll
        for (int j = 0; j < VECTOR_WORDS; j++) {
            out[j] = word[i][j];
        }
    }
    /* What was made of the vectors is not kept in registers beside them. */
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
    return column < part.columns && column != part.label ? f16::widen(load_element<f16>(logits, column)) : -INFINITY_F32;
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

/*
 * The exponentials near a value, the largest of a warp: they are divided by a power of two, and whichever that is, their bits are the
 * same but for the exponent.  So the sum of a row does not depend on how its columns are spread over warps, parts and shards, other
 * than by what sums lose, and these lose less than an fp32 value can show.  Where y * log2(e) would be too large for that, y is taken
 * relative to the largest.
 */
static __device__ __forceinline__ float shift_of(float largest) {
    return fabsf(largest) > 65536 ? fmaxf(largest, -FLT_MAX) : 0.0f; /* not -infinity, which less itself is NaN */
}

static __device__ __forceinline__ float scale_of(float largest) {
    return rintf((fmaxf(largest, -FLT_MAX) - shift_of(largest)) * LOG2_E);
}

struct exponentials_near {
    float slope, bias; /* 1 and a shift, or LOG2_E and a scale: one operation; beyond 2^16 no two logits are less than 256 apart */

    __device__ __forceinline__ explicit exponentials_near(float largest) {
        slope = shift_of(largest) != 0 ? 1.0f : LOG2_E;
        bias = shift_of(largest) + scale_of(largest);
    }
    /* exp((y - shift) * c) * 2^-scale, where exp(c) is 2^LOG2_E instead of e: of no account once the origin is taken off likewise. */
    __device__ __forceinline__ float operator()(float y) const { return exp2_flushed(__fmaf_rn(y, slope, -bias)); }
    __device__ __forceinline__ float root(float y) const { return exp2_flushed(__fmaf_rn(y, 0.5f * slope, -0.5f * bias)); }
};

/* log2 of what a sum of exponentials near the largest is multiplied with to be that of exponentials relative to an origin. */
static __device__ __forceinline__ double log2_to_origin(float largest, float origin) {
    return scale_of(largest) + ((double)shift_of(largest) - origin) * (double)LOG2_E;
}

/* What one thread knows of its columns of a part. */
struct lane_sums {
    static constexpr float beginning = 4; /* of the sum: no addend is larger, so that what a rounding cuts off is known exactly */
    exponentials_near exponential;
    float sum, lost; /* lost: what the roundings of the sum have cut off */
    __device__ __forceinline__ explicit lane_sums(float largest) : exponential(largest) {
        sum = beginning;
        lost = 0.0f;
    }

    __device__ __forceinline__ void add(float e) {
        const float before = sum;
        sum += e;
        lost += e - (sum - before);
    }

    /* COUNT columns from one on, a power of two. */
    template <int COUNT>
    __device__ __forceinline__ void add(const quern_cross_entropy_problem &problem, const row_options &options,
                                        const row_part &part, float *x, int column) {
        float e[COUNT];
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            e[i] = exponential(x[i]);
        }
        constexpr int addends = COUNT > 1 ? COUNT / 2 : 1; /* each is rounded once */
#pragma unroll
        for (int i = addends; i < COUNT; i++) {
            e[i - addends] += e[i];
        }
#pragma unroll
        for (int i = 0; i < addends; i++) {
            add(e[i]);
        }
    }

    __device__ __forceinline__ warp_sums of_warp(const quern_cross_entropy_problem &problem, float largest) const {
        warp_sums all;
        all.largest = largest;
        all.sum = sum_of_warp((double)(sum - beginning) + lost);
        return all;
    }
};

/* The sums of a warp over its columns of a part; PART gives a thread its vectors, and its column of the rest. */
template <class PART>
static __device__ __forceinline__ warp_sums sum_warp(const quern_cross_entropy_problem &problem, const row_options &options,
                                                     const row_part &part, PART mine) {
    float largest = mine.rest;
#pragma unroll PART::unrolled
    for (int i = 0; i < PART_VECTORS; i++) {
        uint32_t word[VECTOR_WORDS];
        float x[VECTOR];
        mine.vector(i, word);
        packing<f16, VECTOR>::widen(word, x);
        leave_out_label<VECTOR>(x, part.label, (threadIdx.x + i * THREADS) * VECTOR);
#pragma unroll
        for (int j = 0; j < VECTOR; j++) {
            largest = fmaxf(largest, x[j]);
        }
    }
    largest = options.capped(largest_of_warp(largest));
    lane_sums sums(largest);
    mine.read_again();
#pragma unroll PART::unrolled
    for (int i = 0; i < PART_VECTORS; i++) {
        const int group = threadIdx.x + i * THREADS;
        if (group < part.groups()) {
            uint32_t word[VECTOR_WORDS];
            mine.vector(i, word);
#pragma unroll
            for (int j = 0; j < VECTOR; j += PIECE) {
                float x[PIECE];
                packing<f16, PIECE>::widen(word + j * f16::bytes / 4, x);
                leave_out_label<PIECE>(x, part.label, group * VECTOR + j);
                sums.add<PIECE>(problem, options, part, x, group * VECTOR + j);
            }
        }
    }
    if (part.rest_column() < part.columns) {
        float x = mine.rest;
        sums.add<1>(problem, options, part, &x, part.rest_column());
    }
    return sums.of_warp(problem, largest);
}

/*
 * The stats of a part from the sums of its warps, which one warp brings to one origin: the largest y, be it the label's.  logits is
 * where the row begins.
 */
static __device__ __forceinline__ quern_row_stats part_stats(const quern_cross_entropy_problem &problem, const row_options &options,
                                                             const row_part &part, const warp_sums *of_warp, const char *logits) {
    const int lane = threadIdx.x % 32;
    warp_sums mine = {};
    mine.largest = -INFINITY_F32;
    if (lane < WARPS) {
        mine = of_warp[lane];
    }
    quern_row_stats stats = empty_stats();
    stats.argmax = 0; /* not asked for */
    float label_logit = -INFINITY_F32;
    if (part.has_label()) {
        label_logit = f16::widen(load_element<f16>(logits, part.first() + part.label));
        stats.has_label = 1;
        stats.label_value = options.capped(label_logit);
        stats.label_weight = 1.0f;
    }
    const float origin = fmaxf(largest_of_warp(mine.largest), stats.label_value);
    const double factor = mine.sum != 0 ? exp2(log2_to_origin(mine.largest, origin)) : 0.0;
    stats.origin = origin;
    stats.others = sum_of_warp(mine.sum * factor);
    return stats;
}

/* ---- the second pass: the gradient ---- */

/* How the columns of a row or part are dealt out to the threads where each is treated for itself: by aligned vectors. */
struct row_layout {
    int head;           /* columns before the first aligned vector */
    int edge;           /* columns outside the vectors; fewer than there are threads */
    int64_t vectors;

    __device__ __forceinline__ row_layout(const void *row, int64_t columns) {
        const int misaligned = (VECTOR_BYTES - (int)((uintptr_t)row % VECTOR_BYTES)) % VECTOR_BYTES / f16::bytes;
        head = misaligned < columns ? misaligned : (int)columns;
        vectors = (columns - head) / VECTOR;
        edge = (int)(columns - vectors * VECTOR);
    }

    __device__ __forceinline__ int64_t column(int64_t vector) const { return head + vector * VECTOR; }
    __device__ __forceinline__ int64_t edge_column(int i) const { return i < head ? i : i + vectors * VECTOR; }
};

/*
 * What turns logits into their gradients: coefficient * exp(y - origin), as the square of a root, which is never so small that it
 * would be flushed to 0.  Columns count from the first of the row or part that it is for.
 */
struct row_gradient {
    row_factors factors;
    int64_t label;
    exponentials_near exponential;
    __device__ __forceinline__ row_gradient(const quern_cross_entropy_problem &, const row_options &, const row_factors &f,
                                            int64_t label_column, int64_t first_column)
        : factors(f), label(label_column - first_column), exponential(f.origin) {
        factors.coefficient *= exp2_flushed((float)log2_to_origin(f.origin, f.origin));
    }
    /* COUNT logits from a column on become their gradients. */
    template <int COUNT> __device__ __forceinline__ void apply(float *x, int64_t column) const {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const float root = exponential.root(x[i]);
            const float half = root * factors.coefficient;
            const float other = root;
            x[i] = half * other;
        }
        const uint64_t own = (uint64_t)(label - column);
        if (own < COUNT) {
#pragma unroll
            for (int i = 0; i < COUNT; i++) {
                x[i] = i == (int)own ? factors.label : x[i];
            }
        }
    }
};

static __device__ __forceinline__ void store_gradient(const row_gradient &gradient, const uint32_t *word, char *grad,
                                                      int64_t column, bool aligned) {
    uint32_t rounded[VECTOR_WORDS];
#pragma unroll
    for (int j = 0; j < VECTOR; j += PIECE) {
        float x[PIECE];
        packing<f16, PIECE>::widen(word + j * f16::bytes / 4, x);
        gradient.apply<PIECE>(x, column + j);
        packing<f16, PIECE>::nearest(x, rounded + j * f16::bytes / 4);
    }
    if (aligned) {
        store_vector_once<VECTOR_BYTES>(grad + column * f16::bytes, rounded);
        return;
    }
#pragma unroll
    for (int i = 0; i < VECTOR; i++) {
        const int byte = i * f16::bytes;
        store_element<f16>(grad, column + i, (f16::bits)(rounded[byte / 4] >> byte % 4 * 8));
    }
}

static __device__ __forceinline__ void store_edge(const row_gradient &gradient, const row_layout &layout,
                                                  const void *logits, char *grad) {
    if ((int)threadIdx.x < layout.edge) {
        const int64_t column = layout.edge_column(threadIdx.x);
        float x = f16::widen(load_element<f16>(logits, column));
        gradient.apply<1>(&x, column);
        store_element<f16>(grad, column, f16::nearest(x));
    }
}

/* From logits in global memory, backwards.  A thread reads the columns that it writes, so grad may be the logits. */
static __device__ __forceinline__ void store_streamed_gradient(const row_gradient &gradient, const char *logits, char *grad,
                                                               int64_t columns) {
    const row_layout layout(logits, columns);
    store_edge(gradient, layout, logits, grad);
    const bool aligned = ((uintptr_t)grad - (uintptr_t)logits) % VECTOR_BYTES == 0;
    const int64_t last = layout.vectors - 1 - threadIdx.x;
    for (int64_t i = last < 0 ? -1 : last / THREADS * THREADS + threadIdx.x; i >= 0; i -= BATCH * THREADS) {
        uint32_t word[BATCH][VECTOR_WORDS];
#pragma unroll
        for (int j = 0; j < BATCH; j++) {
            if (i - j * THREADS >= 0) {
                load_vector_once<VECTOR_BYTES>(logits + layout.column(i - j * THREADS) * f16::bytes, word[j]);
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

static __device__ __forceinline__ void store_zeros(char *grad, int64_t columns) {
    const row_layout layout(grad, columns);
    const uint32_t zeros[VECTOR_WORDS] = {};
    if ((int)threadIdx.x < layout.edge) {
        store_element<f16>(grad, layout.edge_column(threadIdx.x), 0);
    }
#pragma unroll 4
    for (int64_t i = threadIdx.x; i < layout.vectors; i += THREADS) {
        store_vector_once<VECTOR_BYTES>(grad + layout.column(i) * f16::bytes, zeros);
    }
}

static __device__ __forceinline__ const char *row_of(const quern_cross_entropy_problem &problem, int64_t row) {
    return (const char *)problem.logits + row * problem.logits_stride * f16::bytes;
}

/* Outside [0, vocab): in another shard. */
static __device__ __forceinline__ int64_t label_column(const quern_cross_entropy_problem &problem, int64_t row) {
    return label_of(problem, row) - problem.first_column;
}

static __device__ __forceinline__ char *gradient_row_of(const quern_cross_entropy_problem &problem, int64_t row) {
    return (char *)problem.grad + row * problem.grad_stride * f16::bytes;
}

/* ---- a row in shared memory ---- */

/* The columns of one thread, in shared memory.  A thread reads there only what it stored or copied itself. */
struct part_in_shared {
    static constexpr int unrolled = 1; /* which costs the fewest registers */
    const uint4 *first; /* of the part */
    const row_part &part;
    float rest;

    __device__ __forceinline__ void vector(int i, uint32_t (&out)[VECTOR_WORDS]) const {
        if ((int)threadIdx.x + i * THREADS >= part.groups()) {
            clear_vector(out);
        } else {
            load_shared(first, threadIdx.x + i * THREADS, out);
        }
    }
    __device__ __forceinline__ void read_again() {}
};

/* Where a part lies that is the index-th of those that are kept. */
static __device__ __forceinline__ uint4 *part_place(uint4 *kept, unsigned index) {
    return kept + index * (QUERN_GPU_PART_BYTES / sizeof(uint4));
}

/* Whether copies can take a part to shared memory; else its vectors are put together in registers. */
static __device__ __forceinline__ bool can_be_copied(const char *logits) { return (uintptr_t)logits % 16 == 0; }

/* Sets a part's vectors on their way to shared memory. */
static __device__ __forceinline__ void copy_part(uint4 *place, const char *logits, const row_part &part) {
    char *to = (char *)place;
#pragma unroll
    for (int i = 0; i < PART_VECTORS; i++) {
        const int group = threadIdx.x + i * THREADS;
        if (group < part.groups()) {
#pragma unroll
            for (int byte = 0; byte < VECTOR_BYTES; byte += 16) {
                async_copy16(to + group * VECTOR_BYTES + byte, logits + group * VECTOR_BYTES + byte);
            }
        }
    }
}

/* Takes the thread's columns of a part to shared memory, but for vectors that have been copied there. */
template <bool RESIDENT>
static __device__ __forceinline__ part_in_shared keep_part(uint4 *to, const char *logits, const row_part &part) {
    if ((uintptr_t)logits % 16) {
#pragma unroll 1 /* a vector is many loads already */
        for (int group = threadIdx.x; group < part.groups(); group += THREADS) {
            uint32_t word[VECTOR_WORDS];
            load_unaligned(logits + group * VECTOR_BYTES, parts_shift<f16>(logits), word);
            store_shared<VECTOR_WORDS>(to, group, word);
        }
    }
    const int column = part.rest_column();
    if (RESIDENT && column < part.columns) { /* where the part before lay, another thread may still be reading */
        store_element<f16>(to, column, load_element<f16>(logits, column));
    }
    return {to, part, load_rest(logits, part)};
}

/* The gradient from a row in shared memory. */
static __device__ __forceinline__ void store_resident_gradient(const row_gradient &gradient, const uint4 *kept, char *grad,
                                                               int64_t columns) {
    const row_layout layout(grad, columns);
    store_edge(gradient, layout, kept, grad);
    const char *first = (const char *)kept + layout.column(0) * f16::bytes;
    const uint32_t shift = parts_shift<f16>(first);
    for (int64_t i = threadIdx.x; i < layout.vectors; i += THREADS) {
        uint32_t word[VECTOR_WORDS];
        if (layout.head == 0) {
            load_shared(kept, i, word);
        } else {
            uint32_t piece[VECTOR_WORDS + 1];
            load_parts<f16, from_shared>(first + i * VECTOR_BYTES, shift, piece);
            join_parts<f16>(piece, shift, word);
        }
        store_gradient(gradient, word, grad, layout.column(i), true);
    }
}

/* ---- a row by one block ---- */

static __device__ __forceinline__ void store_warp_sums(int place, const warp_sums &sums) {
    if (threadIdx.x % 32 == 0) {
        sums_of(place).of_warp[threadIdx.x / 32] = sums;
    }
}

/* The stats of parts [first, first + count), whose sums are at places from 0 on, by one warp for each part; a barrier before. */
static __device__ __forceinline__ void sum_warps(const quern_cross_entropy_problem &problem, const row_options &options,
                                                 const char *logits, unsigned first, int count, int64_t label) {
    const int place = threadIdx.x / 32;
    __syncthreads();
    if (place < count) {
        const row_part part(problem, first + place, label);
        const quern_row_stats stats = part_stats(problem, options, part, sums_of(place).of_warp, logits);
        if (threadIdx.x % 32 == 0) {
            sums_of(place).stats = stats;
        }
    }
}

/* Merges the stats of those parts, of which the first is a multiple of MERGED_AT_ONCE, with the parts before; a barrier before. */
static __device__ __forceinline__ void merge_parts(const quern_cross_entropy_problem &problem, unsigned first, int count) {
    const int lane = threadIdx.x;
    __syncthreads();
    if (lane < 32) {
        quern_row_stats mine = empty_stats();
        if (lane < count) {
            mine = sums_of(lane).stats;
        } else if (lane == MERGED_AT_ONCE && first > 0) {
            mine = merged_stats();
        }
        mine = merge_in_warp<false>(problem, mine);
        __syncwarp();
        if (lane == 0) {
            merged_stats() = mine;
        }
    }
}

/* The stats of a row, the same in all threads.  kept is where its parts go; those of a streamed row one after the other. */
template <bool RESIDENT>
static __device__ __forceinline__ quern_row_stats sum_row(const quern_cross_entropy_problem &problem, const row_options &options,
                                                          int64_t row, uint4 *kept) {
    const char *logits = row_of(problem, row);
    const int64_t label = label_column(problem, row);
    auto copy = [&](unsigned index) {
        if (can_be_copied(logits) && index < problem.part_count) {
            const row_part part(problem, index, -1);
            copy_part(part_place(kept, RESIDENT ? index : 0), logits + part.first() * f16::bytes, part);
        }
        async_commit();
    };
    copy(0);
    if (RESIDENT) {
        copy(1);
    }
#pragma unroll 1
    for (unsigned index = 0; index < problem.part_count; index++) {
        const row_part part(problem, index, label);
        const char *place = logits + part.first() * f16::bytes;
        const int slot = index % MERGED_AT_ONCE;
        if (RESIDENT) {
            copy(index + 2);
        }
        async_wait<RESIDENT ? 2 : 0>();
        uint4 *to = part_place(kept, RESIDENT ? index : 0);
        store_warp_sums(slot, sum_warp(problem, options, part, keep_part<RESIDENT>(to, place, part)));
        if (!RESIDENT) {
            copy(index + 1); /* to where the thread itself has read this part */
        }
        if (slot == MERGED_AT_ONCE - 1 || index + 1 == problem.part_count) {
            sum_warps(problem, options, logits, index - slot, slot + 1, label);
            if (problem.part_count > 1) {
                merge_parts(problem, index - slot, slot + 1);
            }
        }
    }
    __syncthreads();
    return problem.part_count > 1 ? merged_stats() : sums_of(0).stats;
}

/* ---- the end of a row ---- */

/* The columns of a row that a block writes; the first of a row's shares writes its outputs, the last the padding of its gradient. */
struct row_share {
    int64_t first, columns;
    bool is_first, is_last;
};

static __device__ __forceinline__ void store_padding(const quern_cross_entropy_problem &problem, char *grad) {
    if (problem.padded_vocab > problem.vocab) {
        store_zeros(grad + problem.vocab * f16::bytes, problem.padded_vocab - problem.vocab);
    }
}

static __device__ __forceinline__ void skip_row(const quern_cross_entropy_problem &problem, int64_t row, const row_share &share) {
    if (problem.grad) {
        char *grad = gradient_row_of(problem, row);
        store_zeros(grad + share.first * f16::bytes, (share.is_last ? problem.padded_vocab - share.first : share.columns));
    }
    if (share.is_first && threadIdx.x == 0) {
        write_skipped_outputs(problem, row);
        if (problem.stats) {
            problem.stats[row] = empty_stats();
        }
    }
}

/* STORE writes the gradient of the share's columns, which begin where it is told. */
template <class STORE>
static __device__ __forceinline__ void finish_row(const quern_cross_entropy_problem &problem, const row_options &options, int64_t row,
                                                  const quern_row_stats &stats, const row_share &share, STORE store) {
    if (share.is_first && threadIdx.x == 0) {
        if (problem.stats) {
            problem.stats[row] = stats;
        }
        write_row_outputs<false>(problem, row, stats);
    }
    if (!problem.grad) {
        return;
    }
    char *grad = gradient_row_of(problem, row);
    if (share.is_last) {
        store_padding(problem, grad);
    }
    grad += share.first * f16::bytes;
    if (is_all_infinite(stats)) {
        store_zeros(grad, share.columns);
        return;
    }
    const row_factors factors(problem, stats, gradient_scale(problem, row), false);
    store(row_gradient(problem, options, factors, label_column(problem, row), share.first), grad);
}

template <bool RESIDENT>
static __device__ __forceinline__ void cross_entropy_row(const quern_cross_entropy_problem &problem, const row_options &options,
                                                         int64_t row) {
    const row_share share = {0, problem.vocab, true, true};
    if (is_skipped(problem, label_of(problem, row))) {
        skip_row(problem, row, share);
        return;
    }
    uint4 *kept = after_sums(RESIDENT ? (int)problem.part_count : MERGED_AT_ONCE);
    const quern_row_stats stats = sum_row<RESIDENT>(problem, options, row, kept);
    finish_row(problem, options, row, stats, share, [&](const row_gradient &gradient, char *grad) {
        if (RESIDENT) {
            store_resident_gradient(gradient, kept, grad, problem.vocab);
        } else {
            store_streamed_gradient(gradient, row_of(problem, row), grad, problem.vocab);
        }
    });
}

/* ---- a row by the blocks of a cluster ---- */

/* The parts of a row that a block of a cluster keeps: each block but the last ones has as many. */
struct cluster_share {
    unsigned each, first;
    int count; /* 0: the row has fewer parts than that */

    __device__ __forceinline__ explicit cluster_share(const quern_cross_entropy_problem &problem) {
        const unsigned parts = (unsigned)problem.part_count, blocks = blocks_of_cluster();
        each = (parts + blocks - 1) / blocks;
        first = rank_in_cluster() * each < parts ? rank_in_cluster() * each : parts;
        count = (int)(parts - first < each ? parts - first : each);
    }
    __device__ __forceinline__ row_share columns(const quern_cross_entropy_problem &problem) const {
        const int64_t begin = (int64_t)first * PART_COLUMNS, end = begin + (int64_t)count * PART_COLUMNS;
        const bool is_last = count > 0 && first + count == (unsigned)problem.part_count;
        return {begin, count == 0 ? 0 : (is_last ? problem.vocab : end) - begin, first == 0, is_last};
    }
};

/* Sets the parts of this block on their way to shared memory, if they are aligned. */
static __device__ __forceinline__ void copy_share(const quern_cross_entropy_problem &problem, const cluster_share &share,
                                                  const char *logits, uint4 *kept) {
    if (threadIdx.x == 0 && can_be_copied(logits)) {
        for (int i = 0; i < share.count; i++) {
            make_mbarrier(&sums_of(i).arrived);
        }
        made_mbarriers();
        for (int i = 0; i < share.count; i++) {
            const row_part part(problem, share.first + i, -1);
            bulk_copy(part_place(kept, i), logits + part.first() * f16::bytes, part.columns * f16::bytes / 16 * 16,
                      &sums_of(i).arrived);
        }
    }
    __syncthreads(); /* the mbarriers can be waited for */
}

/* The row's stats from those of all parts, wherever they are, in the same order as a single block merges them. */
static __device__ __forceinline__ void merge_cluster(const quern_cross_entropy_problem &problem, const cluster_share &share) {
    const unsigned lane = threadIdx.x, parts = (unsigned)problem.part_count;
    if (lane < 32) {
        quern_row_stats merged = empty_stats();
        for (unsigned first = 0; first < parts; first += MERGED_AT_ONCE) {
            quern_row_stats mine = empty_stats();
            if (lane < MERGED_AT_ONCE && first + lane < parts) {
                const unsigned owner = (first + lane) / share.each;
                mine = *in_block(&sums_of(first + lane - owner * share.each).stats, owner);
            } else if (lane == MERGED_AT_ONCE) {
                mine = merged;
            }
            merged = merge_in_warp<false>(problem, mine);
        }
        if (lane == 0) {
            merged_stats() = merged;
        }
    }
}

/* The stats of a row, the same in all threads of all blocks.  A cluster_wait must follow: the others read this block's stats. */
static __device__ __forceinline__ quern_row_stats sum_row_in_cluster(const quern_cross_entropy_problem &problem,
                                                                     const row_options &options, const cluster_share &share,
                                                                     int64_t row, uint4 *kept) {
    const char *logits = row_of(problem, row);
    const int64_t label = label_column(problem, row);
    copy_share(problem, share, logits, kept);
#pragma unroll 1
    for (int i = 0; i < share.count; i++) {
        const row_part part(problem, share.first + i, label);
        if (can_be_copied(logits)) {
            wait_mbarrier(&sums_of(i).arrived);
        }
        const char *place = logits + part.first() * f16::bytes;
        store_warp_sums(i, sum_warp(problem, options, part, keep_part<true>(part_place(kept, i), place, part)));
    }
    sum_warps(problem, options, logits, share.first, share.count, label);
    cluster_arrive();
    cluster_wait(); /* for the stats of all parts */
    merge_cluster(problem, share);
    cluster_arrive(); /* this block has read the others' */
    __syncthreads();
    return merged_stats();
}

static __device__ __forceinline__ void cross_entropy_row_in_cluster(const quern_cross_entropy_problem &problem,
                                                                    const row_options &options, int64_t row) {
    const cluster_share share(problem);
    const row_share columns = share.columns(problem);
    if (is_skipped(problem, label_of(problem, row))) {
        skip_row(problem, row, columns);
        return;
    }
    uint4 *kept = after_sums((int)share.each);
    const quern_row_stats stats = sum_row_in_cluster(problem, options, share, row, kept);
    finish_row(problem, options, row, stats, columns, [&](const row_gradient &gradient, char *grad) {
        store_resident_gradient(gradient, kept, grad, columns.columns);
    });
    cluster_wait(); /* until all have read this block's stats */
}

/* ---- a part of a row by one block ---- */

static __device__ __forceinline__ void sum_part(const quern_cross_entropy_problem &problem, const row_options &options, int64_t row,
                                                unsigned part) {
    if (is_skipped(problem, label_of(problem, row))) {
        return; /* whoever combines the parts knows it too */
    }
    const char *logits = row_of(problem, row);
    const int64_t label = label_column(problem, row);
    const row_part place(problem, part, label);
    store_warp_sums(0, sum_warp(problem, options, place, load_part(logits + place.first() * f16::bytes, place)));
    sum_warps(problem, options, logits, part, 1, label);
    if (threadIdx.x == 0) {
        problem.parts[part * problem.rows + row] = sums_of(0).stats;
    }
}

static __device__ __forceinline__ void store_part_gradient(const quern_cross_entropy_problem &problem, const row_options &options,
                                                           int64_t row, unsigned part) {
    const int64_t label = label_column(problem, row);
    const row_part place(problem, part, label);
    char *row_grad = gradient_row_of(problem, row);
    char *grad = row_grad + place.first() * f16::bytes;
    const quern_row_stats stats = problem.stats[row];
    if (part == problem.part_count - 1) {
        store_padding(problem, row_grad);
    }
    if (is_skipped(problem, label_of(problem, row)) || is_all_infinite(stats)) {
        store_zeros(grad, place.columns);
        return;
    }
    const row_factors factors(problem, stats, gradient_scale(problem, row), false);
    const row_gradient gradient(problem, options, factors, label, place.first());
    store_streamed_gradient(gradient, row_of(problem, row) + place.first() * f16::bytes, grad, place.columns);
}

/* ---- the kernels ---- */

extern "C" __global__ void __launch_bounds__(THREADS, 3)
cross_entropy_f16_resident(const __grid_constant__ quern_cross_entropy_problem problem) {
    const row_options options(problem);
    const int64_t block = blockIdx.x + blockIdx.y * (int64_t)gridDim.x;
    if (block < problem.rows) {
        cross_entropy_row<true>(problem, options, block);
    }
}
extern "C" __global__ void __launch_bounds__(THREADS, 2)
cross_entropy_f16_cluster(const __grid_constant__ quern_cross_entropy_problem problem) {
    const row_options options(problem);
    const int64_t block = blockIdx.x + blockIdx.y * (int64_t)gridDim.x;
    const int64_t row = block / blocks_of_cluster();
    if (row < problem.rows) {
        cross_entropy_row_in_cluster(problem, options, row);
    }
}
extern "C" __global__ void __launch_bounds__(THREADS, 2)
cross_entropy_f16_streamed(const __grid_constant__ quern_cross_entropy_problem problem) {
    const row_options options(problem);
    const int64_t block = blockIdx.x + blockIdx.y * (int64_t)gridDim.x;
    if (block < problem.rows) {
        cross_entropy_row<false>(problem, options, block);
    }
}
extern "C" __global__ void __launch_bounds__(THREADS, 2)
cross_entropy_f16_stats(const __grid_constant__ quern_cross_entropy_problem problem) {
    const row_options options(problem);
    const int64_t block = blockIdx.x + blockIdx.y * (int64_t)gridDim.x;
    const int64_t parts = problem.rows * problem.part_count;
    if (block < parts) {
        sum_part(problem, options, block / problem.part_count, (unsigned)(block % problem.part_count));
    }
}
extern "C" __global__ void __launch_bounds__(THREADS, 2)
cross_entropy_f16_gradient(const __grid_constant__ quern_cross_entropy_problem problem) {
    const row_options options(problem);
    const int64_t block = blockIdx.x + blockIdx.y * (int64_t)gridDim.x;
    const int64_t parts = problem.rows * problem.part_count;
    if (block < parts) {
        const int64_t part = parts - 1 - block; /* backwards: the L2 cache saw the last parts last */
        store_part_gradient(problem, options, part / problem.part_count, (unsigned)(part % problem.part_count));
    }
}
