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

/* A warp's tile, and what it takes next. */
template <class Shares> struct adam_work {
    typedef tile_turns<QUERN_LIST_TILE / Shares::warp_elements> turns_of_warp;
    adam_tile tile;
    turns_of_warp turns;
    int64_t next; /* position */
};

/* Called by all lanes of the warp when they no longer need the previous tile. */
template <class Shares>
static __device__ __forceinline__ void open_tile(adam_work<Shares> &work, const typename Shares::batch &batch,
                                                 const quern_adam_step &step, int64_t position) {
    constexpr uint32_t pieces = QUERN_LIST_TILE / Shares::warp_elements;
    const quern_adam_launch &launch = batch.launch;
    const int64_t number = position / pieces;
    const quern_adam_tile at =
        launch.tiles ? launch.tiles[number] : find_tile(batch.first_tile, launch.tensor_count, (uint32_t)number);
    adam_tile &tile = work.tile;
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
        const uint32_t place = launch.tiles ? at.tensor : launch.first_place + at.tensor;
        const quern_adam_tensor_step own =
            launch.tensor_steps ? launch.tensor_steps[place]
                                : quern_adam_tensor_step{step.step_size, step.inverse_sqrt_bias2, step.inverse_bias2, step.step};
        open_tile<Shares>(tile, launch.tiles ? launch.slices[at.tensor] : batch.slices[at.tensor], step, own, at.number, place);
        if constexpr (Shares::full) {
            open_extras<Shares>(tile, launch.tiles ? launch.extras[at.tensor] : batch.extras[at.tensor], step, at.number);
        }
        tile.begin = (uint32_t)(position % pieces) * Shares::warp_elements;
        tile.end = min(tile.count, (uint32_t)(work.turns.stop(position) - number * pieces) * Shares::warp_elements);
        work.next = work.turns.next(position);
    }
    __syncwarp();
}

/* The lane's first element in its part of a tile. */
template <class Shares> static __device__ __forceinline__ uint32_t lane_first(const adam_tile &tile) {
    return tile.begin + threadIdx.x % 32 * Shares::lane_elements;
}

/* The remaining work if found_inf skips the step. */
template <class Shares> static __device__ __forceinline__ void skip_tile(const adam_tile &tile, const quern_adam_step &step) {
    if (step.zero_grads) {
#pragma unroll 1
        for (uint32_t first = lane_first<Shares>(tile); first < tile.end; first += Shares::warp_elements) {
            Shares::zero_grads(tile, first);
        }
    }
}

/* One step through the tile without options.  `step` has the scalars that step control does not change; the tile has the rest. */
template <class Shares> static __device__ __forceinline__ void step_plain_tile(const adam_tile &tile, const quern_adam_step &step) {
    constexpr uint32_t lane_elements = Shares::lane_elements;
#pragma unroll 1
    for (uint32_t element = lane_first<Shares>(tile); element < tile.end; element += Shares::warp_elements - lane_elements) {
        Shares shares;
        shares.template load_soon<true>(tile, element);
#pragma unroll 1
        do {
            shares.template load_soon<false>(tile, element);
            adam_values values = shares.take(tile, element);
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
#pragma unroll 1
    for (uint32_t part = tile.begin; part < tile.end; part += Shares::warp_elements) {
        const uint32_t first = part + threadIdx.x % 32 * Shares::lane_elements;
        Shares shares;
        shares.template load_soon<false>(tile, first);
        adam_values values = shares.take(tile, first);
        block_scales scales = {Shares::template find_scale<typename Shares::m_type>(values.m),
                               Shares::template find_scale<typename Shares::v_type>(values.v)};
        if (step.amsgrad) {
            shares.replace_v_by_v_max(tile, first, step, values, scales);
        }
        shares.update(tile, first, step, values, scales, step.amsgrad);
        Shares::store_scales(tile, first, scales); /* before the moments, to free the scales' registers */
        shares.template store_soon<false>(tile, first);
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

/* The same address in shared memory, which the compiler keeps in a register instead of computing it at each use. */
template <class T> static __device__ __forceinline__ T *settled(T *shared) {
    uint32_t address = shared_address(shared);
    asm volatile("" : "+r"(address));
    return (T *)__cvta_shared_to_generic(address);
}

/* THREADS is the size of a block. */
template <class Shares, int THREADS> static __device__ __forceinline__ void adam(const typename Shares::batch &batch) {
    __shared__ adam_block block;
    __shared__ adam_work<Shares> works[THREADS / 32];
    adam_work<Shares> &work = *settled(&works[threadIdx.x / 32]);
    adam_tile &tile = work.tile;
    open_step(batch.launch, block);
    if (!Shares::full && block.skipped) {
        return;
    }
    if (threadIdx.x % 32 == 0) {
        work.turns = adam_work<Shares>::turns_of_warp::of(batch.launch.tile_count);
        work.next = work.turns.first();
    }
    __syncwarp();
#pragma unroll 1
    for (int64_t position = work.next; position < work.turns.end; position = work.next) {
        open_tile<Shares>(work, batch, block.step, position);
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
