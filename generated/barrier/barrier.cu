/*
 * The barrier of a group of GPUs, as a step of a stream: one block, a thread for each rank that a group may have.  It also counts,
 * for the host, the steps of a graph that go over NCCL.
 *
 * It is compiled for each target with QUERN_MULTIMEM.
 * Rendered by gen/ from templates/barrier/barrier.cu.j2; do not edit.
 */
#include "kernels/cuda/slice_error.cuh"

extern "C" __global__ void __launch_bounds__(128)
barrier(const __grid_constant__ quern_barrier_problem problem) {
    const quern_phase phase = (quern_phase)problem.phase;
    if (problem.count) {
        if (threadIdx.x == 0) {
            add_acquire_release_system(problem.count, 1);
        }
        return;
    }
    if (has_ended(problem.links)) {
        return;
    }
    meeting all(problem.links, phase, problem.dissents != 0);
    all.put();
    nobody_refused(problem.links, phase, all.await());
}
