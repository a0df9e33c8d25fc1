/* Shares, messages and the kernel of reductions over NCCL.  Called by collective_nccl_reduce.c and collective_nccl_chain.c. */
#include "ranks/collective/collective.h"

#include "os/integers.h"
#include "ranks/nccl/nccl.h"

int64_t quern_nccl_cut(const struct quern_collective_call *call, int index, int shares) {
    const int64_t even = quern_divide_up(call->piece_bytes * index, shares * (int64_t)QUERN_NCCL_LINE) * QUERN_NCCL_LINE;
    return quern_smaller(even, call->piece_bytes);
}

/*
 * The sources from `first` on, of which a launch has up to QUERN_RANK_LIMIT, and before them the result of the launch before.  It
 * is told that it is alone in a group: it reads and writes memory of this rank only, and waits for nobody.  Returns the next one.
 */
static int describe_launch(const struct quern_collective_call *call, const struct quern_nccl_sum *sum, int first,
                           struct quern_collective_problem *problem) {
    const struct quern_nccl_rank *rank = quern_nccl_rank_of(call->member);
    *problem = (struct quern_collective_problem){
        .links = {.pad = {(char *)(uintptr_t)rank->pad}, .members = {1}, .ranks = 1},
        .stage = QUERN_COLLECTIVE_PASS,
        .is_max = call->combination == QUERN_COMBINE_MAX,
        .bytes = (uint64_t)sum->bytes,
        .source = {sum->to},
        .sources = first > 0,
        .destinations = 1,
        .is_congruent = 1,
        .destination = {sum->to},
    };
    while (first < sum->sources && problem->sources < QUERN_RANK_LIMIT) problem->source[problem->sources++] = sum->source[first++];
    return first;
}

/*
 * This rank's own input is read where it is, unless it lies otherwise towards a vector than the output, or the result of a first
 * launch may take its place.
 */
static CUresult find_own_source(const struct quern_collective_call *call, struct quern_nccl_sum *sum, CUstream stream) {
    const CUdeviceptr slot = (uintptr_t)sum->source[sum->own];
    if (sum->own >= QUERN_RANK_LIMIT || ((uintptr_t)sum->own_input - slot) % QUERN_NCCL_VECTOR)
        return quern_cuda_rank_of(call->member)->cuda->copy_on_device_async(slot, (uintptr_t)sum->own_input, (size_t)sum->bytes,
                                                                            stream);
    sum->source[sum->own] = sum->own_input;
    return CUDA_SUCCESS;
}

quern_status quern_nccl_combine(const struct quern_collective_call *call, struct quern_nccl_sum *sum,
                                struct quern_cuda_entry *entry, CUstream stream) {
    const unsigned blocks = quern_cuda_blocks(call->multiprocessors, sum->bytes * sum->sources);
    struct quern_collective_problem problem;
    if (!sum->bytes) return QUERN_OK;
    CUresult error = find_own_source(call, sum, stream);
    if (error != CUDA_SUCCESS) return quern_cuda_rank_fail(call->member, error, "cuMemcpyDtoDAsync");
    for (int next = 0; next < sum->sources && error == CUDA_SUCCESS;) {
        next = describe_launch(call, sum, next, &problem);
        error = quern_cuda_launch(call->member, entry, call->combine, blocks, stream, &problem);
    }
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_rank_fail(call->member, error, call->combine->kernel->name);
}
