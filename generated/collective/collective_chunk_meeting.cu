/*
 * The entry and the exit of quantised chunks, and the wait for chunks: one block.
 *
 * It is compiled for each target with QUERN_MULTIMEM and QUERN_WIDE_VECTOR.
 * Rendered by gen/ from templates/collective/collective_chunk_meeting.cu.j2; do not edit.
 */
#define QUERN_THREADS 128

#include "kernels/cuda/chunks_meeting.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
collective_chunk_meeting(const __grid_constant__ quern_chunks_problem problem) {
    run_meeting(problem);
}
