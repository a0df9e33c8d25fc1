/*
 * The barrier of a group of GPUs, as a step of a stream: one block, a thread for each rank that a group may have.
 *
 * Rendered by gen/ from templates/barrier.cu.j2; do not edit.
 */
#define QUERN_MULTIMEM 1

#include "device/barrier.cuh"

extern "C" __global__ void __launch_bounds__(128)
barrier(const __grid_constant__ quern_barrier_problem problem) {
    if (has_ended(problem.links)) {
        return;
    }
    meeting all(problem.links, QUERN_PHASE_MEETING, false);
    all.put();
    all.await();
}
