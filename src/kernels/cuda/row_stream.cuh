/*
 * A row that is too long for the chip: its block keeps the first columns in shared memory and holds the next ones in registers.  It
 * reads the others, the streamed columns, from global memory in each pass, the second time backwards, to begin with those that are
 * still in the L2 cache.  Included by cross_entropy_streamed_rows.cuh.
 *
 * A vector that is not aligned is read as two that are.  The first column after the kept ones has others of the row before it, and
 * the last columns are read one by one: no byte outside the row is read.
 */
#ifndef QUERN_DEVICE_ROW_STREAM_CUH
#define QUERN_DEVICE_ROW_STREAM_CUH

#include "kernels/cuda/row_held.cuh"
#include "kernels/cuda/row_share.cuh"

/* Reads vectors, with -infinity in the label's place.  It has no padding, which calls would pass on without a value. */
template <class READER, class ADDRESS> struct reader_without_label {
    ADDRESS vector;  /* of the label, for its thread */
    uint32_t place;  /* of the label there */
    READER read;

    __device__ __forceinline__ void hide_label(uint32_t (&word)[4]) const {
        constexpr uint32_t infinities = (uint32_t)(element::bits)element::minus_infinity * in_all_places<element>;
        const uint32_t here = computed_anew(place), in_word = element::bytes == 4 ? ~0u : 0xffffu << here % 2 * 16;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const uint32_t mask = here * element::bytes / 4 == i ? in_word : 0;
            word[i] = (word[i] & ~mask) | (infinities & mask);
        }
    }
    __device__ __forceinline__ void operator()(ADDRESS at, uint32_t (&word)[4]) const {
        read(at, word);
        if (at == vector) {
            hide_label(word);
        }
    }
};

static __device__ __forceinline__ uint32_t distance(uint32_t from, uint32_t to) { return to - from; }
static __device__ __forceinline__ uint64_t distance(const char *from, const char *to) { return (uint64_t)(to - from); }

/* One comparison for a batch, and one for each of its vectors only near the label. */
template <int COUNT, class READER, class ADDRESS>
static __device__ __forceinline__ void read_batch(const reader_without_label<READER, ADDRESS> &reader, ADDRESS at,
                                                  uint32_t (&word)[COUNT][4]) {
    read_batch(reader.read, at, word);
    if (__builtin_expect(distance(at, reader.vector) < COUNT * STEP, 0)) {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            if (at + i * STEP == reader.vector) {
                reader.hide_label(word[i]);
            }
        }
    }
}

/* Vectors from an address on, and the label's column among theirs. */
template <class ADDRESS> struct row_vectors {
    ADDRESS first;
    int64_t count, label;

    /* Calls WORK with a reader without the label, a thread's first vector and the end. */
    template <class READER, class WORK>
    __device__ __forceinline__ float walk(READER read, ADDRESS base, WORK work) const {
        const bool has_label = (uint64_t)label < (uint64_t)(count * VECTOR) && (uint32_t)label / VECTOR % THREADS == threadIdx.x;
        const reader_without_label<READER, ADDRESS> reader = {has_label ? (ADDRESS)(base + label / VECTOR * 16) : ADDRESS(),
                                                              (uint32_t)label % VECTOR, read};
        return work(reader, (ADDRESS)(base + threadIdx.x * 16), (ADDRESS)(base + count * 16));
    }

    template <class WORK> __device__ __forceinline__ float walk_slowly(WORK work) const {
        const uint32_t offset = (uint32_t)(uintptr_t)first & 15;
        return walk(any_reader{offset}, first - offset, work);
    }

    __device__ __forceinline__ float sum(row_scale scale) const {
        return read_from(first, [&](ADDRESS base, auto read) {
            return walk(read, base, [&](auto reader, ADDRESS at, ADDRESS end) {
                const reader_without_label<any_reader, ADDRESS> again = {reader.vector, reader.place, {(uint32_t)(first - base)}};
                return sum_batches(reader, again, at, end, scale);
            });
        });
    }

    __device__ __forceinline__ float sum_slowly(row_scale scale) const {
        return walk_slowly([&](auto reader, ADDRESS at, ADDRESS end) { return sum_plainly(reader, at, end, scale); });
    }

    __device__ __forceinline__ float largest() const {
        return walk_slowly([&](auto reader, ADDRESS at, ADDRESS end) { return largest_of_vectors(reader, at, end); });
    }
};

/* The vectors that can be read from a column on, each with the 16 bytes after it. */
static __device__ __forceinline__ int64_t vectors_before_end(int64_t columns) {
    return columns < 2 * VECTOR ? 0 : columns / VECTOR - 1;
}

struct long_row {
    const char *logits;
    int64_t columns, kept; /* kept: a multiple of VECTOR */

    __device__ __forceinline__ row_share kept_share() const { return {logits, (int)kept}; }
    __device__ __forceinline__ const char *place(int64_t column) const { return logits + column * element::bytes; }
    __device__ __forceinline__ row_vectors<uint32_t> kept_vectors(int64_t label) const {
        return {kept_share().image(), kept / VECTOR, label};
    }
    /* From a column on, kept or a later one. */
    __device__ __forceinline__ row_vectors<const char *> vectors_from(int64_t column, int64_t label) const {
        return {place(column), vectors_before_end(columns - column), label - column};
    }
    __device__ __forceinline__ int held_groups() const {
        const int64_t groups = vectors_before_end(columns - kept) / (GROUP_VECTORS * THREADS);
        return groups < HELD_GROUPS ? (int)groups : HELD_GROUPS;
    }

    /* The columns after the vectors, at most 15, one for each of the first threads. */
    __device__ __forceinline__ float rest(int64_t label) const {
        const int64_t column = kept + vectors_before_end(columns - kept) * VECTOR + threadIdx.x;
        return column < columns && column != label ? element::widen(load_element<element>(logits, column)) : -INFINITY_F32;
    }

    /* The largest logit but the label's of 32 vectors from all over the row; by one warp. */
    __device__ __forceinline__ float sample(int64_t label) const {
        const int64_t lane = computed_anew(threadIdx.x % 32), first = columns > VECTOR ? lane * (columns - VECTOR) / 31 : lane;
        const int count = columns > VECTOR ? VECTOR : 1;
        float largest = -INFINITY_F32;
#pragma unroll
        for (int i = 0; i < VECTOR; i++) {
            if (i < count && first + i < columns && first + i != label) {
                largest = fmaxf(largest, element::widen(load_element<element>(logits, first + i)));
            }
        }
        return largest_of_warp(largest);
    }
};

/* The sums relative to the largest logit, as sum_carefully of row_team.cuh. */
static __device__ __noinline__ row_total sum_long_row_carefully(const char *logits, int64_t columns, int64_t keeps,
                                                                int64_t label_column, float label) {
    const long_row row = {logits, columns, keeps};
    const row_vectors<uint32_t> kept = row.kept_vectors(label_column);
    const row_vectors<const char *> others = row.vectors_from(keeps, label_column);
    const float rest = row.rest(label_column);
    const float largest = fmaxf(fmaxf(kept.largest(), others.largest()), rest);
    __syncthreads(); /* all have read the first sums */
    row_total total = {scale_of_row(reduce_block<true>(largest_of_warp(largest)), label), 0.0f, label};
    const float sum = kept.sum_slowly(total.scale) + others.sum_slowly(total.scale) + exponential(rest, total.scale);
    __syncthreads(); /* all have read the largest */
    total.others = reduce_block<false>(sum_of_warp(sum));
    return total;
}

/* The sum of the batches that were left out.  What it needs is computed anew, lest it take registers from the held columns. */
static __device__ __forceinline__ float sum_left_out(const long_row &row, uint32_t left_out, row_scale scale) {
    const int64_t kept = computed_anew(row.kept), label_column = team().label_column;
    const char *const first = row.place(kept);
    const uint32_t offset = (uint32_t)(uintptr_t)first & 15;
    const int64_t vector = label_column / VECTOR - kept / VECTOR;
    const reader_without_label<any_reader, const char *> read = {first - offset + vector * 16, (uint32_t)label_column % VECTOR,
                                                                 {offset}};
    const char *const at = first - offset + threadIdx.x * 16;
    float sum = 0.0f;
#pragma unroll 1
    for (; left_out; left_out &= left_out - 1) {
        sum += sum_batch<BATCH>(read, read, at + (__ffs((int)left_out) - 1) * BATCH * STEP, scale);
    }
    return sum;
}

/* Adds a thread's part of the held columns to its sum. */
static __device__ __forceinline__ float sum_held(const long_row &row, int groups, int64_t label_column, row_scale scale,
                                                 held_vectors &held, float sum) {
    const char *const first = row.place(row.kept);
    const uint32_t offset = (uint32_t)(uintptr_t)first & 15;
    const uint64_t vector = (uint64_t)(label_column / VECTOR - row.kept / VECTOR);
    const bool has_label = vector < (uint32_t)groups * GROUP_VECTORS * THREADS && vector % THREADS == threadIdx.x;
    uint32_t left_out = has_label ? 1u << (uint32_t)vector / (BATCH * THREADS) : 0;
    const char *const at = first - offset + threadIdx.x * 16;
    sum = offset ? sum_and_hold(parted_vectors(offset), at, groups, scale, held, left_out, sum)
                 : sum_and_hold(whole_vectors(), at, groups, scale, held, left_out, sum);
    return left_out ? sum + sum_left_out(row, left_out, scale) : sum;
}

/*
 * The sums of the row, the same in all threads.  The kept columns may still be on their way.  The held columns are the last, so
 * that the other loops have their registers.  groups: of the held columns; 0 if they are not held in the end.  pause: what the
 * leader has to do before the gradient and late; not at the end, where held columns have the registers.  It gives the row anew,
 * lest what is computed from it take registers meanwhile.
 */
template <class PAUSE>
static __device__ __forceinline__ row_total sum_long_row(const long_row &before, held_vectors &held, int &groups, PAUSE pause) {
    row_total total = {{LOG2_E, team().origin}, 0.0f, 0.0f};
    const int64_t kept = before.kept + before.held_groups() * GROUP_COLUMNS;
    float sum = before.vectors_from(kept, team().label_column).sum(total.scale);
    sum += exponential_raised(before.rest(team().label_column), total.scale);
    wait_copied(0);
    sum += before.kept_vectors(team().label_column).sum(total.scale);
    const long_row row = pause();
    const int64_t label_column = team().label_column;
    groups = row.held_groups();
    sum = sum_held(row, groups, label_column, total.scale, held, sum);
    total.others = reduce_block<false>(sum_of_warp(sum), computed_anew(threadIdx.x));
    total.label = team().label; /* now that the held columns need no more registers */
    if (__builtin_expect(!(total.others > 0x1p-12f && total.others < 1e30f), 0)) {
        total = sum_long_row_carefully(row.logits, row.columns, row.kept, label_column, total.label);
        held.forget();
        groups = 0;
    }
    return total;
}

/* The gradient of the streamed columns, whose first is grad's; the label's column has none yet. */
template <class GRADIENT>
static __device__ __forceinline__ void store_stream(GRADIENT gradient, const char *logits, char *grad, int64_t columns) {
    const int misaligned = (16 - (int)((uintptr_t)grad % 16)) % 16 / element::bytes;
    const int64_t head = misaligned < columns ? misaligned : columns, vectors = vectors_before_end(columns - head);
    const int64_t edge = columns - vectors * VECTOR; /* at most 22 */
    if ((int64_t)threadIdx.x < edge) {
        const int64_t column = threadIdx.x < head ? threadIdx.x : threadIdx.x + vectors * VECTOR;
        const float x = element::widen(load_element<element>(logits, column));
        store_element<element>(grad, column, element::nearest(gradient(twice(x)).low));
    }
    read_from(logits + head * element::bytes, [&](const char *base, auto read) {
        const int64_t own = (vectors - threadIdx.x + THREADS - 1) / THREADS, after = own / BATCH * BATCH;
        const char *const at = base + threadIdx.x * 16;
        char *const to = grad + head * element::bytes + threadIdx.x * 16;
#pragma unroll 1
        for (int64_t i = after; i < own; i++) {
            store_vectors<1>(gradient, read, at + i * STEP, to + i * STEP);
        }
#pragma unroll 1
        for (int64_t i = after - BATCH; i >= 0; i -= BATCH) {
            store_vectors<BATCH>(gradient, read, at + i * STEP, to + i * STEP);
        }
    });
}

/* From a column on. */
static __device__ __forceinline__ void store_stream_gradient(const gradient_factors &factors, const long_row &row, int64_t column,
                                                             char *grad) {
    char *const to = grad + column * element::bytes;
    if (factors.needs_roots()) {
        store_stream(by_roots(factors), row.place(column), to, row.columns - column);
    } else {
        store_stream(by_exponentials(factors), row.place(column), to, row.columns - column);
    }
}

/* The columns that the held vectors have as they lie in memory.  None, if the gradient's vectors lie in another way. */
struct held_columns {
    int groups, first;

    __device__ __forceinline__ held_columns(const long_row &row, int held, const char *grad) {
        groups = ((uintptr_t)grad ^ (uintptr_t)row.logits) % 16 == 0 ? held : 0;
        first = (int)row.kept - (groups ? (int)((uintptr_t)row.place(row.kept) % 16) / element::bytes : 0);
    }
    __device__ __forceinline__ int end() const { return first + groups * GROUP_COLUMNS; }
};

static __device__ __forceinline__ void store_held_gradient(const gradient_factors &factors, held_vectors &held,
                                                           const held_columns &columns, char *grad) {
    char *const to = grad + columns.first * element::bytes;
    if (factors.needs_roots()) {
        store_held(by_roots(factors), held, columns.groups, to);
    } else {
        store_held(by_exponentials(factors), held, columns.groups, to);
    }
}

#endif
