/*
 * Sums that the switch makes of the memory of all ranks (multimem.ld_reduce).  Included by collective_combine.cuh.
 *
 * It adds in fp32, in an order of its own, and rounds the sum to the type.  PTX states neither the bits of a NaN nor what becomes
 * of subnormal values.
 */
#ifndef QUERN_DEVICE_COLLECTIVE_SWITCH_CUH
#define QUERN_DEVICE_COLLECTIVE_SWITCH_CUH

#include "kernels/cuda/dtype.cuh"
#include "kernels/cuda/system_memory.cuh"

#if QUERN_MULTIMEM
/* 16 bytes. */
template <class T> __device__ __forceinline__ void load_sum(const char *multicast, uint32_t *word);

#define QUERN_DEFINE_LOAD_SUM(name, type) \
    template <> __device__ __forceinline__ void load_sum<name>(const char *multicast, uint32_t *word) { \
        asm volatile("multimem.ld_reduce.relaxed.sys.global.add" type " {%0, %1, %2, %3}, [%4];" \
                     : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3]) \
                     : "l"(multicast) : "memory"); \
    }
QUERN_DEFINE_LOAD_SUM(f32, ".v4.f32")
QUERN_DEFINE_LOAD_SUM(f16, ".acc::f32.v4.f16x2")
QUERN_DEFINE_LOAD_SUM(bf16, ".acc::f32.v4.bf16x2")
#endif

#endif
