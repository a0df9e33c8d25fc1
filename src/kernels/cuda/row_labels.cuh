/*
 * Counts the rows of a call by their labels: those that count, those that are ignored, and the bad ones.  Included by
 * row_chunks.cuh and row_progress.cuh.
 *
 * The warps of a grid of rows share the labels in slices.  What a slice has is one word, which says itself that it is there.  Who
 * needs all of them and finds that one is not there yet counts it, too, and gets the same word.  So no block ever waits for another
 * one, however few of them the device holds at once (MIG, MPS, other kernels), and no order between them is needed.
 */
#ifndef QUERN_DEVICE_ROW_LABELS_CUH
#define QUERN_DEVICE_ROW_LABELS_CUH

#include "kernels/cuda/device_memory.cuh"
#include "kernels/cuda/row_stats.cuh"

/* ---- labels of some rows, by a warp ---- */

/* The same in all lanes.  first_bad: counted from the first row on; INT32_MAX: none. */
struct label_tally {
    int counted, ignored, first_bad;
};

template <class T> static __device__ __forceinline__ T smallest_of_warp(T mine) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        mine = min(mine, __shfl_xor_sync(0xffffffffu, mine, distance));
    }
    return mine;
}

/* A lane's next labels, 32 rows apart.  The conversion is behind the last load, lest each load be awaited. */
template <int COUNT, class LABEL>
static __device__ __forceinline__ void load_labels(const LABEL *labels, int place, int rows, int64_t (&label)[COUNT]) {
    LABEL loaded[COUNT];
#pragma unroll
    for (int j = 0; j < COUNT; j++) {
        loaded[j] = place + j * 32 < rows ? labels[place + j * 32] : 0;
    }
#pragma unroll
    for (int j = 0; j < COUNT; j++) {
        label[j] = loaded[j];
    }
}

/* Of the rows from `first` on, COUNT at once for a lane.  look: gets what it has loaded, and the place of the first of them. */
template <int COUNT, class LOOK>
static __device__ __forceinline__ label_tally tally_labels(const quern_cross_entropy_problem &problem, int64_t first, int rows,
                                                           LOOK look) {
    const int64_t ignore_index = problem.ignore_index, vocab = problem.global_vocab; /* once: a call reads them from memory */
    label_tally mine = {0, 0, INT32_MAX};
#pragma unroll 1
    for (int place = threadIdx.x % 32; place < rows; place += COUNT * 32) {
        int64_t label[COUNT];
        if (problem.labels_are_int64) {
            load_labels((const int64_t *)problem.labels + first, place, rows, label);
        } else {
            load_labels((const int32_t *)problem.labels + first, place, rows, label);
        }
#pragma unroll
        for (int j = 0; j < COUNT; j++) {
            const bool is_row = place + j * 32 < rows, ignored = label[j] == ignore_index;
            const bool is_good = (uint64_t)label[j] < (uint64_t)vocab;
            mine.counted += is_row && !ignored && is_good;
            mine.ignored += is_row && ignored;
            mine.first_bad = is_row && !ignored && !is_good ? min(mine.first_bad, place + j * 32) : mine.first_bad;
        }
        look(place, label);
    }
    return {sum_of_warp(mine.counted), sum_of_warp(mine.ignored), smallest_of_warp(mine.first_bad)};
}

/* ---- slices, by a warp ---- */

static_assert(QUERN_ROWS_OF_SLICE < 1 << 10, "each number of a word has 10 bits");

/* The word of a slice.  first_bad: QUERN_ROWS_OF_SLICE if there is none. */
static __device__ __forceinline__ uint32_t word_of(uint32_t counted, uint32_t ignored, uint32_t first_bad) {
    return 1u << 31 | first_bad << 20 | ignored << 10 | counted;
}

static __device__ __forceinline__ int64_t slices_of(const quern_cross_entropy_problem &problem) {
    return (problem.rows + QUERN_ROWS_OF_SLICE - 1) / QUERN_ROWS_OF_SLICE;
}

static __device__ __forceinline__ uint32_t *slice_words(const quern_cross_entropy_problem &problem) {
    return (uint32_t *)(problem.progress + 1);
}

template <int COUNT> static __device__ __forceinline__ void count_slice(const quern_cross_entropy_problem &problem, int64_t slice) {
    const int64_t first = slice * QUERN_ROWS_OF_SLICE, rest = problem.rows - first;
    const int rows = rest < QUERN_ROWS_OF_SLICE ? (int)rest : QUERN_ROWS_OF_SLICE;
    const label_tally tally = tally_labels<COUNT>(problem, first, rows, [](int, const int64_t (&)[COUNT]) {});
    if (threadIdx.x % 32 == 0) {
        const int first_bad = min(tally.first_bad, (int)QUERN_ROWS_OF_SLICE);
        store_relaxed_device(slice_words(problem) + slice, word_of(tally.counted, tally.ignored, first_bad));
    }
}

/*
 * By all warps of a grid, before their first rows, so that nobody finds words missing later.  The last warp of a block is the
 * first to get a slice: the first one leads the block.
 */
template <int BLOCK> static __device__ __forceinline__ void count_own_slices(const quern_cross_entropy_problem &problem) {
    const uint32_t number = (BLOCK - 1 - threadIdx.x) / 32 * gridDim.x + blockIdx.x;
    for (int64_t slice = number; slice < slices_of(problem); slice += (int64_t)gridDim.x * (BLOCK / 32)) {
        count_slice<QUERN_LABELS_AT_ONCE>(problem, slice);
    }
}

/* The slices that a lane looks at together, 32 apart. */
enum { WORDS_AT_ONCE = 8 };

/* Returns a slice whose word is missing; -1: none is.  A slice that does not exist has no rows. */
static __device__ __forceinline__ int64_t load_words(const quern_cross_entropy_problem &problem, int64_t slice,
                                                     uint32_t (&word)[WORDS_AT_ONCE]) {
    int64_t missing = -1;
#pragma unroll
    for (int j = 0; j < WORDS_AT_ONCE; j++) {
        const bool exists = slice + j * 32 < slices_of(problem);
        word[j] = exists ? load_relaxed_device(slice_words(problem) + slice + j * 32) : word_of(0, 0, QUERN_ROWS_OF_SLICE);
    }
#pragma unroll
    for (int j = 0; j < WORDS_AT_ONCE; j++) {
        missing = word[j] ? missing : slice + j * 32;
    }
    return missing;
}

/*
 * The words from a lane's slice on.  While some are missing the warp counts one of them and looks again.  Blocks begin at different
 * places.  COUNT: the labels that a lane loads at once; that it counts is rare, and few registers may be free for them.
 */
template <int COUNT>
static __device__ __forceinline__ void get_words(const quern_cross_entropy_problem &problem, int64_t slice,
                                                 uint32_t (&word)[WORDS_AT_ONCE]) {
    const uint32_t shift = blockIdx.x % 32;
    for (;;) {
        const int64_t missing = load_words(problem, slice, word);
        const uint32_t lanes = __ballot_sync(0xffffffffu, missing >= 0);
        if (!lanes) {
            return;
        }
        const int lane = (__ffs((int)__funnelshift_r(lanes, lanes, shift)) - 1 + (int)shift) % 32;
        count_slice<COUNT>(problem, __shfl_sync(0xffffffffu, missing, lane));
        __syncwarp(); /* the lanes see the word */
    }
}

/* The words of all slices.  take: gets a word and the number of its slice. */
template <int COUNT, class TAKE>
static __device__ __forceinline__ void visit_words(const quern_cross_entropy_problem &problem, TAKE take) {
#pragma unroll 1
    for (int64_t first = 0; first < slices_of(problem); first += WORDS_AT_ONCE * 32) {
        const int64_t slice = first + threadIdx.x % 32;
        uint32_t word[WORDS_AT_ONCE];
        get_words<COUNT>(problem, slice, word);
#pragma unroll
        for (int j = 0; j < WORDS_AT_ONCE; j++) {
            take(word[j], slice + j * 32);
        }
    }
}

static __device__ __forceinline__ int counted_of(uint32_t word) { return word & 1023; }
static __device__ __forceinline__ int ignored_of(uint32_t word) { return word >> 10 & 1023; }
static __device__ __forceinline__ int first_bad_of(uint32_t word) { return word >> 20 & 1023; }

/* Of all rows; the same in all lanes. */
template <int COUNT> static __device__ __forceinline__ int64_t gather_counted(const quern_cross_entropy_problem &problem) {
    int64_t counted = 0;
    visit_words<COUNT>(problem, [&](uint32_t word, int64_t) { counted += counted_of(word); });
    return sum_of_warp(counted);
}

/* The other numbers as well.  The weight of each row is 1. */
static __device__ __forceinline__ quern_label_counts gather_counts(const quern_cross_entropy_problem &problem) {
    int64_t counted = 0, ignored = 0, first_bad = INT64_MAX;
    visit_words<QUERN_LABELS_AT_ONCE>(problem, [&](uint32_t word, int64_t slice) {
        const int bad = first_bad_of(word);
        counted += counted_of(word);
        ignored += ignored_of(word);
        first_bad = bad < QUERN_ROWS_OF_SLICE ? min(first_bad, slice * QUERN_ROWS_OF_SLICE + bad) : first_bad;
    });
    quern_label_counts all;
    all.counted = sum_of_warp(counted);
    all.ignored = sum_of_warp(ignored);
    all.weights = (double)all.counted;
    all.bad = problem.rows - all.counted - all.ignored;
    all.first_bad = smallest_of_warp(first_bad);
    return all;
}

/* By one thread.  Infinite rows are counted when the rows are finished. */
static __device__ __forceinline__ void store_label_counts(const quern_cross_entropy_problem &problem,
                                                          const quern_label_counts &all) {
    if (problem.divisor) {
        problem.divisor[0] = all.weights;
    }
    if (problem.report) {
        problem.report->counted_rows = all.counted;
        problem.report->ignored_rows = all.ignored;
        problem.report->bad_labels = all.bad;
        problem.report->first_bad_row = all.bad ? all.first_bad : -1;
    }
}

#endif
