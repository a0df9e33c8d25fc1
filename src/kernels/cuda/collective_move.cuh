/*
 * The collectives that move bytes: all-gather and broadcast.  Included by the source in generated/collective/.
 *
 * A rank reads each byte once and writes it to all outputs.  In a broadcast each rank but the root takes its share of the root's
 * output, so that the links of all ranks are in use, not only the root's.
 */
#ifndef QUERN_DEVICE_COLLECTIVE_MOVE_CUH
#define QUERN_DEVICE_COLLECTIVE_MOVE_CUH

#include "kernels/cuda/collective.cuh"
#include "kernels/cuda/collective_store.cuh"

struct moving {
    enum { DEPTH = BYTES_UNDER_WAY / 16, STRIDE = WARP * 16, PIECE = DEPTH * STRIDE };

    /* Up to a piece of vectors, by one warp. */
    static __device__ __forceinline__ void move_vectors(const char *from, const collective_store &to, uint64_t at, uint32_t bytes) {
        uint32_t word[DEPTH][4];
        const uint32_t lane = threadIdx.x % WARP * 16;
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            if (lane + k * STRIDE < bytes) {
                load_vector_once<16>(from + at + lane + k * STRIDE, word[k]);
            }
        }
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            if (lane + k * STRIDE < bytes) {
                to.store<16>(at + lane + k * STRIDE, word[k]);
            }
        }
    }

    /* Fewer bytes than a vector, by one warp. */
    static __device__ __forceinline__ void move_edge(const char *from, const collective_store &to, uint64_t at, uint32_t bytes) {
        const uint32_t lane = threadIdx.x % WARP;
        if (lane < bytes) {
            const uint32_t byte = load_narrow<1>(from + at + lane);
            to.store<1>(at + lane, &byte);
        }
    }

    /* Up to a piece, by one warp, to addresses of any alignment. */
    static __device__ __forceinline__ void move_unaligned(const quern_collective_problem &problem, uint64_t at, uint64_t bytes) {
        const char *from = problem.source[0] + at;
        for (uint32_t i = 0; i < problem.destinations; i++) {
            warp_copy(problem.destination[i] + at, from, bytes);
            if (problem.relays && i == 0) {
                __syncwarp();
                from = problem.destination[0] + at;
            }
        }
    }

    static __device__ __forceinline__ void pass(const quern_collective_problem &problem) {
        const collective_store to(problem);
        const char *from = problem.source[0];
        const uint64_t bytes = problem.bytes, head = problem.is_congruent ? min(-(uint64_t)from % 16, bytes) : 0;
        const uint64_t tail = problem.is_congruent ? head + (bytes - head) / 16 * 16 : bytes;
        const uint64_t step = (uint64_t)gridDim.x * WARPS * PIECE;
        for (uint64_t at = head + (blockIdx.x * WARPS + threadIdx.x / WARP) * PIECE; at < tail; at += step) {
            const uint64_t piece = min((uint64_t)PIECE, tail - at);
            if (problem.is_congruent) {
                move_vectors(from, to, at, (uint32_t)piece);
            } else {
                move_unaligned(problem, at, piece);
            }
        }
        if (blockIdx.x == 0 && threadIdx.x < WARP) {
            move_edge(from, to, 0, (uint32_t)head);
            move_edge(from, to, tail, (uint32_t)(bytes - tail));
        }
    }

    /* Each warp copies pieces of the slots. */
    static __device__ __forceinline__ void finish(const quern_collective_problem &problem, const collective_slots &slots) {
        const uint64_t pieces = (problem.bytes + PIECE - 1) / PIECE;
        for (uint64_t piece = threadIdx.x / WARP; piece < pieces * problem.sources; piece += WARPS) {
            const uint32_t i = (uint32_t)(piece / pieces);
            const uint64_t at = piece % pieces * PIECE;
            warp_copy(problem.destination[0] + i * problem.bytes + at, slots.data(problem, problem.first + i) + at,
                      min((uint64_t)PIECE, problem.bytes - at));
        }
    }

    static __device__ __forceinline__ void run(const quern_collective_problem &problem, const collective_slots &slots) {
        if (problem.stage == QUERN_COLLECTIVE_PASS) {
            pass(problem);
        } else {
            finish(problem, slots);
        }
    }
};

#endif
