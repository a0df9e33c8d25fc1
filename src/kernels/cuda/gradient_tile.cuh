/*
 * The tiles of a list of gradients, from the launch's parameters or from a plan.  Included by gradient_norm.cuh and
 * gradient_accumulate.cuh.
 */
#ifndef QUERN_DEVICE_GRADIENT_TILE_CUH
#define QUERN_DEVICE_GRADIENT_TILE_CUH

#include "kernels/cuda/share.cuh"
#include "kernels/cuda/tiles.cuh"

/* Pointers are to the tile's first element. */
template <class Grad> struct gradient_tile {
    char *grad, *main_grad;
    uint32_t count; /* elements that exist */

    __device__ __forceinline__ gradient_tile(const quern_gradient_batch &batch, int64_t number) {
        quern_adam_tile at;
        quern_gradient_slice slice;
        if (batch.tiles) {
            at = batch.tiles[number];
            slice = {batch.slices[at.tensor].grad, nullptr, batch.slices[at.tensor].count};
        } else {
            at = find_tile(batch.first_tile, batch.tensor_count, (uint32_t)number);
            slice = batch.gradients[at.tensor];
        }
        grad = tile_begin(slice.grad, at.number, Grad::bytes);
        main_grad = tile_begin(slice.main_grad, at.number, sizeof(float));
        count = tile_elements(slice.count, at.number);
    }
};

#endif
