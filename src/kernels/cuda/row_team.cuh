/*
 * The blocks that share a row: the shared memory of each, and how their threads come to the sums of the row.  Included by
 * cross_entropy_rows.cuh.  One block has the whole row, or the blocks of a cluster have equal shares of it, the last a smaller one.
 */
#ifndef QUERN_DEVICE_ROW_TEAM_CUH
#define QUERN_DEVICE_ROW_TEAM_CUH

#include "kernels/cuda/bulk_copy.cuh"
#include "kernels/cuda/cluster.cuh"
#include "kernels/cuda/row_progress.cuh"
#include "kernels/cuda/row_results.cuh"

enum { MOST_BLOCKS = 8, LABEL_SKIPPED = -2 };

/* What a block tells the others of its cluster. */
struct alignas(16) share_sums {
    float sum, origin, label, has_label;
};

/* In shared memory. */
struct team_memory {
    uint64_t copied, ready, merged[2]; /* mbarriers */
    float origin, grad_scale, label;   /* of the row: written by the leader before tell_ready() */
    int skips_next;                    /* the next row is skipped, or there is none */
    int64_t label_column;              /* in the share; -1: elsewhere, LABEL_SKIPPED: the row is skipped */
    mean_divisor divisor;              /* of the leader; registers are short */
    alignas(16) float of_warp[WARPS];
    share_sums of_block[2][MOST_BLOCKS];
};

/* Before the image; kernels with all options have more there. */
#ifndef QUERN_TEAM_BYTES
#define QUERN_TEAM_BYTES sizeof(team_memory)
#endif

static __device__ __forceinline__ team_memory &team() { return *(team_memory *)block_memory; }

/* Before the first row, by all threads. */
static __device__ __forceinline__ void expect_divisor(const quern_cross_entropy_problem &problem) {
    if (computed_anew(threadIdx.x) < 32) { /* lest the comparison take a register for all rows */
        team().divisor = mean_divisor(problem);
    }
}

/* Behind the sums of a row that has a gradient, by all threads.  They see the row's scale behind the next barrier. */
template <int COUNT> static __device__ __forceinline__ void learn_divisor(const quern_cross_entropy_problem &problem) {
    const uint32_t thread = computed_anew(threadIdx.x);
    if (thread < 32) {
        mean_divisor divisor = team().divisor;
        float scale = team().grad_scale;
        divisor.learn<COUNT>(problem, scale);
        team().divisor = divisor;
        if (thread == 0) {
            team().grad_scale = scale;
        }
    }
}

/* The columns of a block. */
struct row_columns {
    int64_t first;
    int count;
    bool is_first, is_last;

    __device__ __forceinline__ explicit row_columns(const quern_cross_entropy_problem &problem) {
        const int64_t blocks = blocks_of_cluster(), rank = rank_in_cluster();
        const int64_t each = ((problem.vocab + VECTOR - 1) / VECTOR + blocks - 1) / blocks * VECTOR;
        first = rank * each;
        count = (int)(problem.vocab - first < each ? problem.vocab - first : each);
        is_first = rank == 0;
        is_last = rank == blocks - 1;
    }
};

/* How often the two places of a cluster's sums have been used; the same in all threads. */
struct exchanges {
    uint32_t count = 0;

    __device__ __forceinline__ uint32_t place() const { return count & 1; }
    __device__ __forceinline__ uint32_t parity() const { return count >> 1 & 1; }
};

/* One value of each block to all blocks, by the first warp; then all threads can read them. */
static __device__ __forceinline__ const share_sums *exchange(const share_sums &mine, exchanges &made) {
    const uint32_t place = made.place(), parity = made.parity(), blocks = blocks_of_cluster();
    made.count++;
    if (threadIdx.x < 32) {
        if (threadIdx.x == 0) {
            expect_bytes(&team().merged[place], (uint32_t)sizeof(share_sums) * blocks);
        }
        __syncwarp();
        if (threadIdx.x < blocks) {
            store_async(&team().of_block[place][rank_in_cluster()], mine, &team().merged[place], threadIdx.x);
        }
    }
    wait_for_blocks(&team().merged[place], parity);
    return team().of_block[place];
}

/* COUNT values, DISTANCE apart, reduced as a tree. */
template <bool LARGEST, int COUNT, int DISTANCE> static __device__ __forceinline__ float reduce_values(const float *value) {
    if constexpr (COUNT == 1) {
        return value[0];
    } else {
        const float even = reduce_values<LARGEST, COUNT / 2, 2 * DISTANCE>(value);
        const float odd = reduce_values<LARGEST, COUNT / 2, 2 * DISTANCE>(value + DISTANCE);
        return LARGEST ? fmaxf(even, odd) : even + odd;
    }
}

/* A value of each warp, reduced in the same order by every thread. */
template <bool LARGEST> static __device__ __forceinline__ float reduce_block(float of_warp, uint32_t thread = threadIdx.x) {
    if (thread % 32 == 0) {
        team().of_warp[thread / 32] = of_warp;
    }
    __syncthreads();
    float value[WARPS];
#pragma unroll
    for (int i = 0; i < WARPS; i += 4) {
        const float4 four = *(const float4 *)&team().of_warp[i];
        value[i] = four.x, value[i + 1] = four.y, value[i + 2] = four.z, value[i + 3] = four.w;
    }
    return reduce_values<LARGEST, WARPS, 1>(value);
}

/*
 * The sums once more, relative to the largest logit of the row: for rows with NaN or infinity, without any logit near the sample's,
 * or with too large ones.
 */
static __device__ __noinline__ row_total sum_carefully(uint32_t image, int columns, float label, exchanges made) {
    const float rest = rest_of(image, columns);
    const uint32_t base = image & ~15u, at = base + threadIdx.x * 16, end = base + columns / VECTOR * 16;
    const any_reader read = {image - base};
    float largest = largest_of_vectors(read, at, end);
    __syncthreads(); /* all have read the first sums */
    largest = reduce_block<true>(largest_of_warp(fmaxf(largest, rest)));
    if (blocks_of_cluster() > 1) {
        const share_sums *shares = exchange({largest, 0.0f, 0.0f, 0.0f}, made);
        for (uint32_t i = 0; i < blocks_of_cluster(); i++) {
            largest = fmaxf(largest, shares[i].sum);
        }
    }
    row_total total = {scale_of_row(largest, label), 0.0f, label};
    const float sum = sum_plainly(read, at, end, total.scale);
    __syncthreads(); /* all have read the largest */
    total.others = reduce_block<false>(sum_of_warp(sum + exponential(rest, total.scale)));
    if (blocks_of_cluster() > 1) {
        const share_sums *shares = exchange({total.others, 0.0f, 0.0f, 0.0f}, made);
        total.others = 0.0f;
        for (uint32_t i = 0; i < blocks_of_cluster(); i++) {
            total.others += shares[i].sum;
        }
    }
    return total;
}

/*
 * The sums of all blocks, rescaled to the largest of their origins.  Each lane of a warp looks at one block; all get the same bits.
 */
static __device__ __forceinline__ row_total merge_shares(const share_sums *shares) {
    const uint32_t lane = threadIdx.x % 32, block = lane % MOST_BLOCKS;
    const share_sums mine = block < blocks_of_cluster() ? shares[block] : share_sums{0.0f, -INFINITY_F32, 0.0f, 0.0f};
    float largest = mine.origin;
#pragma unroll
    for (int distance = 1; distance < MOST_BLOCKS; distance *= 2) {
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, distance));
    }
    float sum = mine.sum * power_of_two(mine.origin - largest);
#pragma unroll
    for (int distance = 1; distance < MOST_BLOCKS; distance *= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    }
    const uint32_t having = __ballot_sync(0xffffffffu, mine.has_label != 0.0f);
    const float label = __shfl_sync(0xffffffffu, mine.label, having ? __ffs((int)having) - 1 : 0);
    return {{LOG2_E, largest}, sum, having ? label : -INFINITY_F32};
}

/*
 * The sums of the row, the same in all threads of all its blocks.  learn: what the leader has to do before the gradient and late;
 * all threads see what it has stored.
 */
template <class LEARN>
static __device__ __forceinline__ row_total sum_row(uint32_t image, int columns, exchanges &made, LEARN learn) {
    row_total total = {{LOG2_E, team().origin}, 0.0f, team().label};
    float sum = sum_columns(image, columns, total.scale);
    if (columns % VECTOR != 0) {
        sum += exponential_raised(rest_of(image, columns), total.scale);
    }
    learn();
    total.others = reduce_block<false>(sum_of_warp(sum));
    if (blocks_of_cluster() > 1) {
        total = merge_shares(exchange({total.others, total.scale.origin, total.label, team().label_column >= 0 ? 1.0f : 0.0f},
                                      made));
    }
    if (__builtin_expect(!(total.others > 0x1p-12f && total.others < 1e30f), 0)) {
        total = sum_carefully(image, columns, total.label, made);
        made.count += blocks_of_cluster() > 1 ? 2 : 0;
    }
    return total;
}

#endif
