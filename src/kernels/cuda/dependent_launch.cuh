/*
 * Kernels of one call that overlap (programmatic dependent launch, from sm_90 on).  Included by the headers of cross-entropy.  Only
 * kernels with all options, and the stages without logits, are compiled with QUERN_EARLY_START; the table's column `waits` says so.
 *
 * The host launches each kernel of a call but the first so that it may start before the one before it has ended.  So a kernel
 *
 *   waits, in each of its threads, before it reads what another launch writes and before it writes to global memory.  Before that
 *   it may read what the caller has given: the first kernel of a call starts when that is complete.  A block that skips its row
 *   waits, too: the end of a grid says that all grids before it have ended;
 *   lets the next one start only after its own wait.  So no more than two overlap.
 */
#ifndef QUERN_DEVICE_DEPENDENT_LAUNCH_CUH
#define QUERN_DEVICE_DEPENDENT_LAUNCH_CUH

/* All that the kernels before this one in the call have written can be read. */
static __device__ __forceinline__ void wait_for_launch_before() {
#if QUERN_EARLY_START
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

static __device__ __forceinline__ void let_next_launch_start() {
#if QUERN_EARLY_START
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

static __device__ __forceinline__ void join_launches() {
    wait_for_launch_before();
    let_next_launch_start();
}

#endif
