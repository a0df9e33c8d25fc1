/*
 * The scalars of the step for a block: the launch's own or, with step control, those that each block computes from the control in
 * device memory, with the same source as the host.  Included by adam.cuh.
 */
#ifndef QUERN_DEVICE_ADAM_CONTROL_CUH
#define QUERN_DEVICE_ADAM_CONTROL_CUH

#include "kernels/adam_scalars.h"
#include "kernels/problem.h"

/* In shared memory. */
struct adam_block {
    quern_adam_step step;
    bool skipped; /* found_inf is set */
};

/*
 * The last block that reads the control advances it and resets the ticket to 0.  No earlier block may do so: another block could
 * then read the next step.
 */
static __device__ __forceinline__ void advance(const quern_adam_launch &launch, uint64_t step, bool skipped) {
    __threadfence();
    if (atomicAdd(launch.ticket, 1) == gridDim.x - 1) {
        __threadfence();
        atomicExch(launch.ticket, 0);
        if (!skipped) {
            *launch.control.step = (int64_t)step;
        }
    }
}

/* By all threads of the block. */
static __device__ __forceinline__ void open_step(const quern_adam_launch &launch, adam_block &block) {
    if (threadIdx.x == 0) {
        block.step = launch.step;
        block.skipped = false;
        if (launch.has_control) {
            quern_adam_rates rates = launch.rates;
            quern_adam_read_control(&launch.control, &rates);
            quern_adam_set_scalars(&rates, &block.step);
            block.skipped = launch.control.found_inf && *launch.control.found_inf != 0.0f;
            if (launch.ticket) {
                advance(launch, rates.step, block.skipped);
            }
        }
    }
    __syncthreads();
}

#endif
