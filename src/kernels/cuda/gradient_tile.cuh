/*
 * The tiles of a list of gradients, from the launch's parameters or from a plan.  Included by gradient_norm.cuh and
 * gradient_accumulate.cuh.
 */
#ifndef QUERN_DEVICE_GRADIENT_TILE_CUH
#define QUERN_DEVICE_GRADIENT_TILE_CUH

#include "kernels/cuda/share.cuh"
#include "kernels/cuda/tiles.cuh"

static __device__ __forceinline__ quern_adam_tile gradient_tile_at(const quern_gradient_batch &batch, int64_t number) {
    return batch.tiles ? batch.tiles[number] : find_tile(batch.first_tile, batch.tensor_count, (uint32_t)number);
}

/* The part of a gradient: the pointer is to its first element. */
template <class Grad> struct gradient_tile {
    char *grad;
    uint32_t count; /* elements that exist */

    __device__ __forceinline__ gradient_tile(void *array, int64_t elements, uint32_t number) {
        grad = tile_begin(array, number, Grad::bytes);
        count = tile_elements(elements, number);
    }
};

#endif
