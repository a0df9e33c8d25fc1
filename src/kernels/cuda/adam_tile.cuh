/*
 * A tile of Adam: its description, and one step through it.  Included by adam_shares.cuh.
 *
 * The description is in shared memory, and each member is read where it is used.  This leaves the registers to the elements.
 */
#ifndef QUERN_DEVICE_ADAM_TILE_CUH
#define QUERN_DEVICE_ADAM_TILE_CUH

#include "kernels/cuda/adam_step.cuh"
#include "kernels/cuda/philox.cuh"
#include "kernels/cuda/tiles.cuh"
#include "kernels/public.h"

/* Arrays whose address is not a multiple of a vector, one bit each. */
enum {
    UNALIGNED_PARAM = 1,
    UNALIGNED_GRAD = 2,
    UNALIGNED_M = 4,
    UNALIGNED_V = 8,
    UNALIGNED_MASTER = 16,
    UNALIGNED_V_TO = 32,
    UNALIGNED_COPY = 64
};

/* Pointers are to the tile's first element. */
struct adam_tile {
    char *param, *grad, *m, *v, *master;
    adam_scalars scalars;
    uint32_t count;               /* elements that exist, ... */
    uint32_t whole_count;         /* ... and those that fill whole lanes */
    uint32_t unaligned;
    uint32_t begin, end;          /* of the elements that this warp takes */
    philox_tile random;

    /* Members for full kernels only. */
    char *v_max, *copy;
    uint8_t *m_scale, *v_scale, *v_max_scale;
    char *v_to;                   /* v or, with AMSGrad, v_max: what is divided by and stored last */
    uint8_t *v_scale_to;
    float copy_scale;
    float *copy_max;
    float largest_copy;           /* so far */
};

/* The step's scalars with the tensor's multipliers; own: those of them that the tensor may have for itself. */
static __device__ __forceinline__ adam_scalars scalars_of(const quern_adam_step &step, const quern_adam_tensor_step &own,
                                                          const quern_adam_slice &slice) {
    const float lr = slice.lr_multiplier, weight_decay = slice.weight_decay_multiplier;
    adam_scalars scalars;
    scalars.grad_factor = step.grad_factor;
    scalars.one_minus_beta1 = step.one_minus_beta1;
    scalars.one_minus_beta2 = step.one_minus_beta2;
    scalars.inner_factor = step.eps_inside ? own.inverse_bias2 : 1.0f;
    scalars.inner_addend = step.eps_inside ? step.eps : 0.0f;
    scalars.outer_factor = step.eps_inside ? 1.0f : own.inverse_sqrt_bias2;
    scalars.outer_addend = step.eps_inside ? 0.0f : step.eps;
    scalars.step_size = __fmul_rn(own.step_size, lr);
    scalars.decoupled_decay = __fmul_rn(__fmul_rn(step.decoupled_decay, lr), weight_decay);
    scalars.l2_decay = __fmul_rn(step.l2_decay, weight_decay);
    scalars.eps = step.eps;
    const bool are_ordinary = scalars.inner_factor < 0x1p20f & scalars.outer_factor < 0x1p10f & step.eps < 0x1p10f;
    scalars.ordinary_total = are_ordinary ? 0x1p60f : 0.0f;
    return scalars;
}

/* The bit for the array of this share: set if its address is not a multiple of a vector. */
template <class Share> static __device__ __forceinline__ uint32_t unaligned(const void *array, uint32_t bit) {
    return (uintptr_t)array % Share::vector_bytes ? bit : 0;
}

template <class Shares>
static __device__ __forceinline__ void open_tile(adam_tile &tile, const quern_adam_slice &slice, const quern_adam_step &step,
                                                 const quern_adam_tensor_step &own, uint32_t number, uint32_t place) {
    tile.param = tile_begin(slice.param, number, Shares::param_share::element_bytes);
    tile.grad = tile_begin(slice.grad, number, Shares::grad_share::element_bytes);
    tile.m = tile_begin(slice.m, number, Shares::m_share::element_bytes);
    tile.v = tile_begin(slice.v, number, Shares::v_share::element_bytes);
    tile.master = tile_begin(slice.master, number, Shares::master_share::element_bytes);
    tile.scalars = scalars_of(step, own, slice);
    tile.count = tile_elements(slice.count, number);
    tile.whole_count = tile.count / Shares::lane_elements * Shares::lane_elements;
    tile.unaligned = unaligned<typename Shares::param_share>(slice.param, UNALIGNED_PARAM) |
                     unaligned<typename Shares::grad_share>(slice.grad, UNALIGNED_GRAD) |
                     unaligned<typename Shares::m_share>(slice.m, UNALIGNED_M) |
                     unaligned<typename Shares::v_share>(slice.v, UNALIGNED_V) |
                     unaligned<typename Shares::master_share>(slice.master, UNALIGNED_MASTER);
    const uint64_t group = (uint64_t)number * (QUERN_LIST_TILE / 8);
    tile.random = open_philox({{(uint32_t)group, (uint32_t)(group >> 32), own.step, place}}, step.seed);
}

template <class Shares>
static __device__ __forceinline__ void open_extras(adam_tile &tile, const quern_adam_extras &extras, const quern_adam_step &step,
                                                   uint32_t number) {
    const uint32_t copy_bytes = step.copy_dtype == QUERN_E4M3 || step.copy_dtype == QUERN_E5M2 ? 1 : 2;
    tile.v_max = tile_begin(extras.v_max, number, Shares::v_share::element_bytes);
    tile.copy = tile_begin(extras.copy, number, copy_bytes);
    tile.m_scale = extras.m_scale + (uint64_t)number * (QUERN_LIST_TILE / 32);
    tile.v_scale = extras.v_scale + (uint64_t)number * (QUERN_LIST_TILE / 32);
    tile.v_max_scale = extras.v_max_scale + (uint64_t)number * (QUERN_LIST_TILE / 32);
    tile.v_to = step.amsgrad ? tile.v_max : tile.v;
    tile.v_scale_to = step.amsgrad ? tile.v_max_scale : tile.v_scale;
    tile.copy_scale = extras.copy_scale ? *extras.copy_scale : 1.0f;
    tile.copy_max = extras.copy_max;
    tile.largest_copy = 0.0f;
    tile.unaligned |= unaligned<typename Shares::v_share>(tile.v_to, UNALIGNED_V_TO) |
                      ((uintptr_t)extras.copy % (8 * copy_bytes) ? UNALIGNED_COPY : 0);
}

#endif
