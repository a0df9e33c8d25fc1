/*
 * The collectives: one or two launches on each GPU.  Included by the kernels' sources in generated/collective/.
 *
 *   one shot   one block: sends its input into the slots of all members, meets them (entry), and makes its result of its own slots
 *   entry      one block: sends only the terms of the call, and meets the members
 *   pass       any number of blocks, which begin when the entry has ended, and end at once if it has failed.  Each rank makes its
 *              part of the result of all inputs, and writes it to all outputs.  The last block to finish meets the members again
 *              (exit)
 *
 * So one block of a rank waits for other ranks at any time, and the rest of the GPU is free for other work.
 *
 * Results go out by multicast stores, which change no bits.  The switch adds only where the caller leaves the order open
 * (collective_switch.cuh): its order and roundings are not those that the header promises otherwise.
 */
#ifndef QUERN_DEVICE_COLLECTIVE_CUH
#define QUERN_DEVICE_COLLECTIVE_CUH

#ifndef QUERN_THREADS
#error QUERN_THREADS must be the number of threads of a block
#endif

#include "kernels/cuda/collective_slots.cuh"
#include "kernels/cuda/dependent_launch.cuh"
#include "kernels/cuda/grid_gate.cuh"

static_assert(sizeof(quern_collective_problem) <= 4096, "the parameters of a kernel have 4 KiB");

/* The entry of both algorithms, up to the check. */
static __device__ __forceinline__ bool enter(const quern_collective_problem &problem, collective_slots &slots) {
    slots.begin(problem.links, problem.terms);
    if (problem.stage == QUERN_COLLECTIVE_ONE_SHOT) {
        slots.send(problem);
    }
    meeting entry(problem.links, QUERN_PHASE_ENTRY, false);
    entry.put();
    const meeting_result result = entry.await();
    let_next_launch_start();  /* not before: its blocks would take the place of other work while this one waits */
    return nobody_refused(problem.links, QUERN_PHASE_ENTRY, result) && slots.agree(problem);
}

static __device__ __forceinline__ void leave(const quern_links &links) {
    if (!is_last_to_finish(links)) {
        return;
    }
    meeting exit(links, QUERN_PHASE_EXIT, false);
    exit.put();
    exit.await();
#if QUERN_MULTIMEM
    fence_aliases();  /* the kernels behind this one read what multicast has stored */
#endif
}

/* WORK::run(problem, slots) makes a rank's part of the result: a grid of the members' memory, one block of its slots. */
template <class WORK> static __device__ __forceinline__ void run_collective(const quern_collective_problem &problem) {
    __shared__ collective_slots slots;
    wait_for_launch_before();
    if (has_ended(problem.links)) {
        return;
    }
    if (problem.stage != QUERN_COLLECTIVE_PASS && (!enter(problem, slots) || problem.stage == QUERN_COLLECTIVE_ENTRY)) {
        return;
    }
    WORK::run(problem, slots);
    if (problem.stage == QUERN_COLLECTIVE_PASS) {
        leave(problem.links);
    }
}

#endif
