/*
 * Softmax cross-entropy of whole rows that stay in shared memory between the passes, without the options that cost time per
 * column (sm_90 and later).  Included by the sources in generated/cross_entropy/, whose kernels call run_rows.
 *
 * The blocks of the grid, or its clusters, take the rows in turns.  The first warp of a block leads:
 *
 *   1. The leader copies the block's columns to shared memory: most by one bulk copy, up to 7 at either end one by one.  It takes
 *      the label's logit out, so that no loop looks for it, and chooses the origin of the exponentials from a sample.
 *   2. All threads sum the exponentials, with no maximum.  A sum that is out of range is computed again, relative to an origin of
 *      its own: 32 columns of a thread, or the whole row.  Both depend on the row alone, so its bits are fixed.
 *   3. All threads write the gradient.
 *   4. The leader starts the copy of the next row, and computes the loss while it is under way.
 */
#ifndef QUERN_DEVICE_CROSS_ENTROPY_ROWS_CUH
#define QUERN_DEVICE_CROSS_ENTROPY_ROWS_CUH

#include "kernels/cuda/row_gradient.cuh"
#include "kernels/cuda/row_team.cuh"

/* The share of a row that this block keeps, with its place in shared memory. */
struct row_share {
    const char *logits;
    row_columns columns;
    uint32_t image;
    int head, tail; /* columns that no bulk copy can move, at either end */

    __device__ __forceinline__ row_share(const quern_cross_entropy_problem &problem, const row_columns &columns, int64_t row)
        : columns(columns) {
        logits = (const char *)problem.logits + (row * problem.logits_stride + columns.first) * element::bytes;
        image = shared_address(block_memory) + (uint32_t)sizeof(team_memory) + (uint32_t)((uintptr_t)logits % 16);
        const int before = (16 - (int)((uintptr_t)logits % 16)) % 16 / element::bytes;
        head = before < columns.count ? before : columns.count;
        tail = (columns.count - head) % VECTOR;
    }

    /* By one thread. */
    __device__ __forceinline__ void start_copy(bool skipped) const {
        const uint32_t bytes = skipped ? 0 : (uint32_t)(columns.count - head - tail) * element::bytes;
        bulk_copy_to(image + head * element::bytes, logits + head * element::bytes, bytes, &team().copied);
    }

    /* By one warp. */
    __device__ __forceinline__ void copy_ends() const {
        const int i = threadIdx.x % 32;
        if (i < head + tail) {
            const int column = i < head ? i : columns.count - tail + (i - head);
            store_shared_element(image + column * element::bytes, load_element<element>(logits, column));
        }
    }

    /* The largest of up to 32 vectors from all over the share; by one warp. */
    __device__ __forceinline__ float sample() const {
        const int lane = threadIdx.x % 32, vectors = columns.count / VECTOR;
        if (vectors == 0) {
            const float x = lane < columns.count ? element::widen(load_shared_element(image + lane * element::bytes)) : -INFINITY_F32;
            return largest_of_warp(x);
        }
        const uint32_t base = image & ~15u, at = base + (uint32_t)((int64_t)lane * vectors / 32) * 16;
        return largest_of_warp(largest_of_vectors(any_reader{image - base}, at, at + 1));
    }
};

/* The leader's part before the sums.  label: the row's column in the share; elsewhere it may be any other number. */
static __device__ __forceinline__ void prepare_row(const quern_cross_entropy_problem &problem, const row_share &share, int64_t row,
                                                   int64_t label, bool skipped, uint32_t parity) {
    const bool leads = threadIdx.x == 0;
    const float scale = problem.grad && !skipped ? gradient_scale(problem, row) : 0.0f;
    float own = -INFINITY_F32, origin = 0.0f;
    if (!skipped) {
        share.copy_ends();
        wait_mbarrier(&team().copied, parity);
        __syncwarp();
        if (leads && (uint64_t)label < (uint64_t)share.columns.count) {
            const uint32_t place = share.image + (uint32_t)label * element::bytes;
            own = element::widen(load_shared_element(place));
            own = own == INFINITY_F32 ? __uint_as_float(0x7fffffffu) : own; /* makes the row NaN */
            store_shared_element(place, (element::bits)element::minus_infinity);
        }
        __syncwarp();
        const float largest = share.sample();
        origin = row_scale::of_largest(fminf(fmaxf(largest, -65536.0f), 65536.0f)).origin;
        origin = largest == -INFINITY_F32 ? 0.0f : origin;
    }
    if (leads) {
        team().origin = origin;
        team().grad_scale = scale;
        team().label = own;
        team().label_column = skipped ? LABEL_SKIPPED : (uint64_t)label < (uint64_t)share.columns.count ? (int)label : -1;
    }
    __syncwarp();
    if (leads) {
        arrive(&team().ready);
    }
}

static __device__ __forceinline__ void store_row_padding(const quern_cross_entropy_problem &problem, const row_columns &columns,
                                                         char *grad) {
    if (columns.is_last && problem.padded_vocab > problem.vocab) {
        store_zero_columns(grad + problem.vocab * element::bytes, problem.padded_vocab - problem.vocab);
    }
}

/* What all threads do with a row. */
static __device__ __forceinline__ row_total take_row(const quern_cross_entropy_problem &problem, const row_share &share, int64_t row,
                                                     uint32_t parity, exchanges &made) {
    wait_mbarrier(&team().ready, parity);
    wait_mbarrier(&team().copied, parity); /* for what the copy wrote; done long ago */
    char *grad = (char *)problem.grad + row * problem.grad_stride * element::bytes;
    char *own_grad = grad + share.columns.first * element::bytes;
    row_total total = {{LOG2_E, 0.0f}, 0.0f, 0.0f};
    const int label = team().label_column;
    if (label == LABEL_SKIPPED) {
        if (problem.grad && !(kept_of_skipped_row(problem, row) & QUERN_KEPT_GRAD)) {
            store_row_padding(problem, share.columns, grad);
            store_zero_columns(own_grad, share.columns.count);
        }
        return total;
    }
    const float grad_scale = team().grad_scale;
    total = sum_row(share.image, share.columns.count, made);
    if (problem.grad) {
        store_row_padding(problem, share.columns, grad);
        store_row_gradient(gradient_factors(total, grad_scale, problem.z_loss), share.image, own_grad, share.columns.count, label);
    }
    return total;
}

static __device__ __forceinline__ void run_rows(const quern_cross_entropy_problem &problem) {
    const int64_t blocks = blocks_of_cluster(), step = gridDim.x / blocks;
    const row_columns columns(problem);
    const bool leads = threadIdx.x < 32;
    int64_t row = blockIdx.x / blocks;
    if (threadIdx.x == 0) {
        make_mbarrier(&team().copied);
        make_mbarrier(&team().ready);
        make_mbarrier(&team().merged[0]);
        make_mbarrier(&team().merged[1]);
        made_mbarriers();
        if (row < problem.rows) {
            row_share(problem, columns, row).start_copy(is_skipped(problem, label_of(problem, row)));
        }
    }
    if (blocks > 1) {
        cluster_arrive();
        cluster_wait(); /* the others' mbarriers exist */
    } else {
        __syncthreads();
    }
    exchanges made;
    for (uint32_t parity = 0; row < problem.rows; row += step, parity ^= 1) {
        const row_share share(problem, columns, row);
        const int64_t next = row + step;
        bool skipped = false, next_skipped = true;
        if (leads) {
            const int64_t label = label_of(problem, row);
            skipped = is_skipped(problem, label);
            next_skipped = next >= problem.rows || is_skipped(problem, label_of(problem, next));
            prepare_row(problem, share, row, label - columns.first, skipped, parity);
        }
        const row_total total = take_row(problem, share, row, parity, made);
        __syncthreads(); /* all have read the image */
        if (threadIdx.x == 0) {
            if (next < problem.rows) {
                proxy_fence();
                row_share(problem, columns, next).start_copy(next_skipped);
            }
            if (columns.is_first) {
                if (skipped) {
                    write_skipped_row(problem, row, true);
                } else {
                    write_results(problem, row, total);
                }
            }
        }
    }
}

#endif
