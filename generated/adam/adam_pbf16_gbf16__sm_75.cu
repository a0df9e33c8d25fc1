/*
 * Adam, one step over a list of tensors: bf16 parameters, bf16 gradients, every type of state.
 *
 * One pass fuses the gradient's scaling, the moments, the bias correction, the weight decay, the parameter and the rounding of
 * all that is stored.  Each array is read once and written once.
 *
 * That is 14 bytes per element where everything is bf16, 18 with a remainder, 20 with an fp32 master, 28 where everything is fp32.
 * This traffic is the whole cost, so the layout serves it: a lane takes 8 consecutive elements, of which a 16-bit array holds
 * 16 bytes, one access, and issues the loads before the arithmetic that waits for them.
 *
 * The unit of work is a tile of 2,048 elements of one tensor, for one warp.  As many blocks are launched as the GPU holds, and
 * their warps take tile after tile; each finds its tensor in a plan's table or, by the tile's number, in the kernel's parameters.
 *
 * Rendered by gen/ from templates/adam/adam.cu.j2; do not edit.
 */
#define QUERN_BF16_CONVERT 0
#define QUERN_VECTOR_BYTES 16

#include "kernels/cuda/adam_control.cuh"
#include "kernels/cuda/adam_shares.cuh"

enum {
    THREADS = 256,
    GROUPS = 1,            /* groups of 8 elements, one call of the random generator, that a lane has at once */
    LANE_ELEMENTS = 8 * GROUPS,
    WARP_ELEMENTS = 32 * LANE_ELEMENTS
};

/* By all lanes of the warp, which have no more use for the tile before. */
template <class Shares>
static __device__ __forceinline__ void open_tile(adam_tile &tile, const quern_adam_batch &batch, const quern_adam_step &step,
                                                 int64_t number) {
    const quern_adam_launch &launch = batch.launch;
    const quern_adam_tile at =
        launch.tiles ? launch.tiles[number] : find_tile(batch.first_tile, launch.tensor_count, (uint32_t)number);
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
        tile.number = number;
        open_tile<Shares>(tile, launch.tiles ? launch.slices[at.tensor] : batch.slices[at.tensor], step, at.number,
                          launch.tiles ? at.tensor : launch.first_place + at.tensor);
    }
    __syncwarp();
}

/* Where in a tile this lane begins. */
static __device__ __forceinline__ uint32_t lane_first() { return threadIdx.x % 32 * LANE_ELEMENTS; }

/* One step through the tile; `step` has what step control does not change, the tile has the rest. */
template <class Shares>
static __device__ __forceinline__ void step_tile(const adam_tile &tile, const quern_adam_step &step) {
#pragma unroll 1
    for (uint32_t element = lane_first(); element < tile.count; element += WARP_ELEMENTS - LANE_ELEMENTS) {
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
            asm("" : "+r"(element)); /* in one register: the compiler would keep its value before, too */
        } while (element % LANE_ELEMENTS != 0);
        shares.template store_soon<true>(tile, element - LANE_ELEMENTS);
    }
}

template <class Shares> static __device__ __forceinline__ void adam(const quern_adam_batch &batch) {
    __shared__ adam_block block;
    __shared__ adam_tile tiles[THREADS / 32];
    adam_tile &tile = tiles[threadIdx.x / 32];
    open_step(batch.launch, block);
    if (block.skipped) {
        return;
    }
#pragma unroll 1
    for (int64_t number = first_tile_of_warp(); number < batch.launch.tile_count; number = tile.number + warps_of_grid()) {
        open_tile<Shares>(tile, batch, block.step, number);
        step_tile<Shares>(tile, batch.launch.step);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 4)
adam_pbf16_gbf16_mf32_vf32(const __grid_constant__ quern_adam_batch batch) {
    adam<adam_shares<bf16, bf16, f32, f32, nothing, false, GROUPS>>(batch);
}
extern "C" __global__ void __launch_bounds__(THREADS, 4)
adam_pbf16_gbf16_mf32_vf32_master32(const __grid_constant__ quern_adam_batch batch) {
    adam<adam_shares<bf16, bf16, f32, f32, f32, false, GROUPS>>(batch);
}
extern "C" __global__ void __launch_bounds__(THREADS, 4)
adam_pbf16_gbf16_mf32_vf32_remainder(const __grid_constant__ quern_adam_batch batch) {
    adam<adam_shares<bf16, bf16, f32, f32, remainder16, false, GROUPS>>(batch);
}
extern "C" __global__ void __launch_bounds__(THREADS, 4)
adam_pbf16_gbf16_mf32_vbf16(const __grid_constant__ quern_adam_batch batch) {
    adam<adam_shares<bf16, bf16, f32, bf16, nothing, false, GROUPS>>(batch);
}
extern "C" __global__ void __launch_bounds__(THREADS, 4)
adam_pbf16_gbf16_mf32_vbf16_master32(const __grid_constant__ quern_adam_batch batch) {
    adam<adam_shares<bf16, bf16, f32, bf16, f32, false, GROUPS>>(batch);
}
extern "C" __global__ void __launch_bounds__(THREADS, 4)
adam_pbf16_gbf16_mf32_vbf16_remainder(const __grid_constant__ quern_adam_batch batch) {
    adam<adam_shares<bf16, bf16, f32, bf16, remainder16, false, GROUPS>>(batch);
}
extern "C" __global__ void __launch_bounds__(THREADS, 4)
adam_pbf16_gbf16_mbf16_vf32(const __grid_constant__ quern_adam_batch batch) {
    adam<adam_shares<bf16, bf16, bf16, f32, nothing, false, GROUPS>>(batch);
}
extern "C" __global__ void __launch_bounds__(THREADS, 4)
adam_pbf16_gbf16_mbf16_vf32_master32(const __grid_constant__ quern_adam_batch batch) {
    adam<adam_shares<bf16, bf16, bf16, f32, f32, false, GROUPS>>(batch);
}
extern "C" __global__ void __launch_bounds__(THREADS, 4)
adam_pbf16_gbf16_mbf16_vf32_remainder(const __grid_constant__ quern_adam_batch batch) {
    adam<adam_shares<bf16, bf16, bf16, f32, remainder16, false, GROUPS>>(batch);
}
extern "C" __global__ void __launch_bounds__(THREADS, 4)
adam_pbf16_gbf16_mbf16_vbf16(const __grid_constant__ quern_adam_batch batch) {
    adam<adam_shares<bf16, bf16, bf16, bf16, nothing, false, GROUPS>>(batch);
}
extern "C" __global__ void __launch_bounds__(THREADS, 4)
adam_pbf16_gbf16_mbf16_vbf16_master32(const __grid_constant__ quern_adam_batch batch) {
    adam<adam_shares<bf16, bf16, bf16, bf16, f32, false, GROUPS>>(batch);
}
extern "C" __global__ void __launch_bounds__(THREADS, 4)
adam_pbf16_gbf16_mbf16_vbf16_remainder(const __grid_constant__ quern_adam_batch batch) {
    adam<adam_shares<bf16, bf16, bf16, bf16, remainder16, false, GROUPS>>(batch);
}
