/*
 * One step of Adam over a list of tensors: each warp of the grid processes one tile after another.  Included by the step kernels'
 * sources in generated/adam/.
 *
 * One pass fuses the gradient's scaling, the moments, the bias correction, the weight decay, the parameter update and the rounding
 * of all stored values.  Full kernels add, if requested, AMSGrad, a copy of the parameters, zeroed gradients and new scales for
 * moments of scaled types.  Each array is read once and written once.
 *
 * This is 14 bytes per element if everything is bf16, 18 with a remainder, 20 with an fp32 master, 28 if everything is fp32.  This
 * traffic is the whole cost, so the layout is made for it: a lane takes 8 or 16 consecutive elements, which are one access to a
 * 16-bit array, and issues the loads before the arithmetic that waits for them.
 *
 * The work item of a warp is a tile of 2,048 elements of one tensor.  The launch has as many blocks as fit on the GPU.  A warp
 * finds the tensor of a tile in a plan's table or, by the tile's number, in the kernel's parameters.
 */
#ifndef QUERN_DEVICE_ADAM_CUH
#define QUERN_DEVICE_ADAM_CUH

#include "kernels/cuda/adam_control.cuh"
#include "kernels/cuda/adam_shares.cuh"

/* Called by all lanes of the warp when they no longer need the previous tile. */
template <class Shares>
static __device__ __forceinline__ void open_tile(adam_tile &tile, const typename Shares::batch &batch, const quern_adam_step &step,
                                                 int64_t number) {
    const quern_adam_launch &launch = batch.launch;
    const quern_adam_tile at =
        launch.tiles ? launch.tiles[number] : find_tile(batch.first_tile, launch.tensor_count, (uint32_t)number);
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
        tile.number = number;
        open_tile<Shares>(tile, launch.tiles ? launch.slices[at.tensor] : batch.slices[at.tensor], step, at.number,
                          launch.tiles ? at.tensor : launch.first_place + at.tensor);
        if constexpr (Shares::full) {
            open_extras<Shares>(tile, launch.tiles ? launch.extras[at.tensor] : batch.extras[at.tensor], step, at.number);
        }
    }
    __syncwarp();
}

/* The lane's first element in a tile. */
template <class Shares> static __device__ __forceinline__ uint32_t lane_first() { return threadIdx.x % 32 * Shares::lane_elements; }

/* The remaining work if found_inf skips the step. */
template <class Shares> static __device__ __forceinline__ void skip_tile(const adam_tile &tile, const quern_adam_step &step) {
    if (step.zero_grads) {
#pragma unroll 1
        for (uint32_t first = lane_first<Shares>(); first < tile.count; first += Shares::warp_elements) {
            Shares::zero_grads(tile, first);
        }
    }
}

/* One step through the tile without options.  `step` has the scalars that step control does not change; the tile has the rest. */
template <class Shares> static __device__ __forceinline__ void step_plain_tile(const adam_tile &tile, const quern_adam_step &step) {
    constexpr uint32_t lane_elements = Shares::lane_elements;
#pragma unroll 1
    for (uint32_t element = lane_first<Shares>(); element < tile.count; element += Shares::warp_elements - lane_elements) {
        Shares shares;
        shares.template load_soon<true>(tile, element);
#pragma unroll 1
        do {
            shares.template load_soon<false>(tile, element);
            adam_values values = shares.take(tile, element, {});
            shares.update(tile, element, step, values, {});
            shares.template store_soon<false>(tile, element);
            shares.next_group();
            element += 8;
            asm("" : "+r"(element)); /* in one register: the compiler would also keep the previous value */
        } while (element % lane_elements != 0);
        shares.template store_soon<true>(tile, element - lane_elements);
    }
}

/* The same with all options. */
template <class Shares> static __device__ __forceinline__ void step_full_tile(adam_tile &tile, const quern_adam_step &step) {
    const bool amsgrad = step.amsgrad;
#pragma unroll 1
    for (uint32_t first = lane_first<Shares>(); first - lane_first<Shares>() < tile.count;
         first += Shares::warp_elements) { /* by all lanes */
        Shares shares;
        shares.template load_soon<false>(tile, first);
        const block_scales old_scales = shares.load_scales(tile, first, amsgrad);
        adam_values values = shares.take(tile, first, old_scales, amsgrad);
        const block_scales scales = shares.find_scales(values, amsgrad);
        if (amsgrad) {
            shares.replace_v_by_v_max(tile, first, step, values, scales);
        }
        shares.update(tile, first, step, values, scales, amsgrad);
        shares.store_scales(tile, first, scales, amsgrad); /* before the moments, to free the scales' registers */
        shares.template store_soon<false>(tile, first, amsgrad);
        if (step.copy_dtype) {
            shares.copy(tile, first, step.copy_dtype);
        }
        if (step.zero_grads) {
            Shares::zero_grads(tile, first);
        }
    }
    if (tile.copy_max && threadIdx.x % 32 == 0) {
        raise(tile.copy_max, tile.largest_copy);
    }
}

/* THREADS is the size of a block. */
template <class Shares, int THREADS> static __device__ __forceinline__ void adam(const typename Shares::batch &batch) {
    __shared__ adam_block block;
    __shared__ adam_tile tiles[THREADS / 32];
    adam_tile &tile = tiles[threadIdx.x / 32];
    open_step(batch.launch, block);
    if (!Shares::full && block.skipped) {
        return;
    }
#pragma unroll 1
    for (int64_t number = first_tile_of_warp(); number < batch.launch.tile_count; number = tile.number + warps_of_grid()) {
        open_tile<Shares>(tile, batch, block.step, number);
        if constexpr (!Shares::full) {
            step_plain_tile<Shares>(tile, batch.launch.step);
        } else if (block.skipped) {
            skip_tile<Shares>(tile, batch.launch.step);
        } else {
            step_full_tile<Shares>(tile, batch.launch.step);
        }
    }
}

#endif
