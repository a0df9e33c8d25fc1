/* Stores of a collective's results to the memory of all members.  Included by collective_combine.cuh and collective_move.cuh. */
#ifndef QUERN_DEVICE_COLLECTIVE_STORE_CUH
#define QUERN_DEVICE_COLLECTIVE_STORE_CUH

#include "kernels/collective_problem.h"
#include "kernels/cuda/narrow.cuh"
#include "kernels/cuda/system_memory.cuh"

struct collective_store {
    const quern_collective_problem &problem;

    __device__ __forceinline__ explicit collective_store(const quern_collective_problem &problem) : problem(problem) {}

    /* Bytes `at` behind the beginning of every destination. */
    template <int BYTES> __device__ __forceinline__ void store(uint64_t at, const uint32_t *word) const {
#if QUERN_MULTIMEM
        if (BYTES == 16 && problem.multicast) {
            multicast_vector(problem.multicast + at, word);
            return;
        }
#endif
#pragma unroll 1
        for (uint32_t i = 0; i < problem.destinations; i++) {
            if constexpr (BYTES < 8) {
                store_narrow<BYTES>(problem.destination[i] + at, *word);
            } else {
                store_vector<BYTES>(problem.destination[i] + at, word);
            }
        }
    }
};

#endif
