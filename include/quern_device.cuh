/*
 * Device functions for kernels of the engine that work with symmetric memory: peers' addresses, signals, and waits with a limit.
 * For nvcc and CUDA C++ from compute capability 7.5 on; it needs quern.h alone, and no library when linking.
 *
 * The host fills a quern_device_view by quern_symmetric_view, for one place in symmetric memory, and passes it to the kernel by
 * value.  One thread signals or waits.  The others of its block see what it has seen, or are seen, by __syncthreads between.
 */
#ifndef QUERN_DEVICE_CUH
#define QUERN_DEVICE_CUH

#include "quern.h"

/* The address `offset` bytes behind the view's place, in the part of a rank; NULL if the part is shorter than the place. */
static __device__ __forceinline__ void *quern_peer(const quern_device_view &view, int rank, uint64_t offset) {
    return view.peer[rank] ? (char *)view.peer[rank] + offset : (char *)0;
}

/* The same in the parts of all ranks at once, for multimem instructions; NULL: there is no multicast. */
static __device__ __forceinline__ void *quern_multicast(const quern_device_view &view, uint64_t offset) {
    return view.multicast ? (char *)view.multicast + offset : (char *)0;
}

/*
 * Stores a word in the memory of any rank, so that a thread that waits for it sees all that this thread has written or seen before.
 * A block that has written together meets in __syncthreads first.
 */
static __device__ __forceinline__ void quern_signal(uint32_t *word, uint32_t value) {
    asm volatile("st.release.sys.global.u32 [%0], %1;" :: "l"(word), "r"(value) : "memory");
}

/*
 * Waits until a word of this rank's symmetric memory is `value`, and returns QUERN_OK: what was stored before can be read, by
 * multicast too.  QUERN_PEER_MISMATCH: the word is ~value, since its call has failed.  QUERN_PEER_TIMEOUT: the view's limit has
 * passed; this poisons nothing.  Else the status that has poisoned the group.  After an error the data may not be read.
 */
static __device__ __forceinline__ quern_status quern_wait(const quern_device_view &view, const uint32_t *word, uint32_t value) {
    enum { POLLS = 32, PAUSE = 100 /* nanoseconds */ };
    uint64_t began = 0;
    uint32_t seen;
    for (uint32_t polls = 1;; polls++) {
        asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(word) : "memory");
        if (seen == value || seen == ~value) {
            break;
        }
        if (polls % POLLS == 0) {
            uint32_t poison;
            uint64_t now;
            asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(poison) : "l"(view.poison) : "memory");
            asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now) :: "memory");
            began = began ? began : now;
            if (poison) {
                return (quern_status)poison;
            }
            if (now - began >= view.timeout) {
                return QUERN_PEER_TIMEOUT;
            }
        }
        if (began) {
            asm volatile("nanosleep.u32 %0;" :: "r"((uint32_t)PAUSE) : "memory");
        }
    }
    uint32_t acquired;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(acquired) : "l"(word) : "memory"); /* once: it empties the cache */
    asm volatile("fence.proxy.alias;" ::: "memory"); /* the data may have come by multicast, even if the words have none */
    return seen == value ? QUERN_OK : QUERN_PEER_MISMATCH;
}

/*
 * The same for chunk `chunk` of place `place` of quern_quantize_chunks, which has `chunks` chunks.  The view is of args.ready.
 */
static __device__ __forceinline__ quern_status quern_wait_for_chunk(const quern_device_view &ready, int64_t chunks, int64_t place,
                                                                    int64_t chunk, uint32_t value) {
    return quern_wait(ready, (const uint32_t *)ready.peer[ready.rank] + place * chunks + chunk, value);
}

#endif
