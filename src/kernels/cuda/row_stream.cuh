/*
 * A row that is too long for the chip: its block keeps the first columns in shared memory, and reads the others from global memory
 * in each pass, the second time backwards, to begin with those that are still in the L2 cache.  Included by
 * cross_entropy_streamed_rows.cuh.
 *
 * A vector that is not aligned is read as two that are.  The first streamed column has others of the row before it, and the last
 * columns are read one by one: no byte outside the row is read.
 */
#ifndef QUERN_DEVICE_ROW_STREAM_CUH
#define QUERN_DEVICE_ROW_STREAM_CUH

#include "kernels/cuda/row_gradient.cuh"
#include "kernels/cuda/row_share.cuh"

/* Reads vectors, with -infinity in the label's place.  It has no padding, which calls would pass on without a value. */
template <class READER, class ADDRESS> struct reader_without_label {
    ADDRESS vector;  /* of the label */
    uint32_t place;  /* of the label there */
    READER read;

    __device__ __forceinline__ void operator()(ADDRESS at, uint32_t (&word)[4]) const {
        read(at, word);
        if (__builtin_expect(at == vector, 0)) {
            constexpr uint32_t infinities = (uint32_t)(element::bits)element::minus_infinity * in_all_places<element>;
            const uint32_t in_word = element::bytes == 4 ? ~0u : 0xffffu << place % 2 * 16;
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const uint32_t mask = place * element::bytes / 4 == i ? in_word : 0;
                word[i] = (word[i] & ~mask) | (infinities & mask);
            }
        }
    }
};

/* Vectors from an address on, and the label's column among theirs. */
template <class ADDRESS> struct row_vectors {
    ADDRESS first;
    int64_t count, label;

    /* Calls WORK with a reader without the label, a thread's first vector and the end. */
    template <class READER, class WORK>
    __device__ __forceinline__ float walk(READER read, ADDRESS base, WORK work) const {
        const bool has_label = (uint64_t)label < (uint64_t)(count * VECTOR);
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
    __device__ __forceinline__ const char *stream() const { return logits + kept * element::bytes; }
    __device__ __forceinline__ row_vectors<uint32_t> kept_vectors(int64_t label) const {
        return {kept_share().image(), kept / VECTOR, label};
    }
    __device__ __forceinline__ row_vectors<const char *> streamed_vectors(int64_t label) const {
        return {stream(), vectors_before_end(columns - kept), label - kept};
    }

    /* The columns after the vectors, at most 15, one for each of the first threads. */
    __device__ __forceinline__ float rest(int64_t label) const {
        const int64_t column = kept + vectors_before_end(columns - kept) * VECTOR + threadIdx.x;
        return column < columns && column != label ? element::widen(load_element<element>(logits, column)) : -INFINITY_F32;
    }

    /* The largest logit but the label's of 32 vectors from all over the row; by one warp. */
    __device__ __forceinline__ float sample(int64_t label) const {
        const int64_t lane = threadIdx.x % 32, first = columns > VECTOR ? lane * (columns - VECTOR) / 31 : lane;
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
static __device__ __noinline__ row_total sum_long_row_carefully(const char *logits, int64_t columns, int64_t keeps, int64_t label_column,
                                                                float label) {
    const long_row row = {logits, columns, keeps};
    const row_vectors<uint32_t> kept = row.kept_vectors(label_column);
    const row_vectors<const char *> streamed = row.streamed_vectors(label_column);
    const float rest = row.rest(label_column);
    const float largest = fmaxf(fmaxf(kept.largest(), streamed.largest()), rest);
    __syncthreads(); /* all have read the first sums */
    row_total total = {scale_of_row(reduce_block<true>(largest_of_warp(largest)), label), 0.0f, label};
    const float sum = kept.sum_slowly(total.scale) + streamed.sum_slowly(total.scale) + exponential(rest, total.scale);
    __syncthreads(); /* all have read the largest */
    total.others = reduce_block<false>(sum_of_warp(sum));
    return total;
}

/* The sums of the row, the same in all threads.  The kept columns may still be on their way. */
static __device__ __forceinline__ row_total sum_long_row(const long_row &row, int64_t label_column) {
    row_total total = {{LOG2_E, team().origin}, 0.0f, team().label};
    float sum = row.streamed_vectors(label_column).sum(total.scale);
    sum += exponential_raised(row.rest(label_column), total.scale);
    wait_copied(0);
    sum += row.kept_vectors(label_column).sum(total.scale);
    total.others = reduce_block<false>(sum_of_warp(sum));
    if (__builtin_expect(!(total.others > 0x1p-12f && total.others < 1e30f), 0)) {
        total = sum_long_row_carefully(row.logits, row.columns, row.kept, label_column, total.label);
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

static __device__ __forceinline__ void store_stream_gradient(const gradient_factors &factors, const long_row &row, char *grad) {
    char *const to = grad + row.kept * element::bytes;
    if (factors.needs_roots()) {
        store_stream(by_roots(factors), row.stream(), to, row.columns - row.kept);
    } else {
        store_stream(by_exponentials(factors), row.stream(), to, row.columns - row.kept);
    }
}

#endif
