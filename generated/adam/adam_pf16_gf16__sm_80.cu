/*
 * Adam, one step over a list of tensors: f16 parameters, f16 gradients, every type of state.
 *
 * One pass fuses the moments, the bias correction, the weight decay, the parameter and the rounding of all that is
 * stored: each array is read once and written once, which is 14 bytes per element where everything is bf16, 20 with an
 * fp32 master, 28 where everything is fp32.  That traffic is the whole cost, so the layout serves it: a thread takes
 * 8 consecutive elements, of which a 16-bit array holds 16 bytes, one access, and issues the loads before the
 * arithmetic that waits for them.
 *
 * The table of tensors travels in the kernel's parameters.  A warp finds its tensor by the number of its tile; all elements
 * of a tile belong to that one tensor.
 *
 * Rendered by gen/ from templates/adam.cu.j2; do not edit.
 */
#define QUERN_BF16_CONVERT 1

#include "device/adam_step.cuh"
#include "device/vector.cuh"
#include "problem.h"

enum {
    THREADS = 256,
    GROUPS = 1,            /* groups of 8 elements, one call of the random generator, that a thread has at once */
    VECTOR_BYTES = 16 * GROUPS,
};

/*
 * A thread's registers of one array.  An array of 16-bit elements spans the groups: all of them come and go with one vector.
 * An array of 32-bit elements comes and goes group by group.
 */
template <class T> struct share {
    static constexpr bool spans = T::bytes == 2 || GROUPS == 1;
    enum { elements = spans ? 8 * GROUPS : 8, words = elements * T::bytes / 4, group_words = 8 * T::bytes / 4 };
    uint32_t word[words]; /* the present group's come first */

    /* `first` is the present group's first element. */
    template <bool ALIGNED> __device__ __forceinline__ void load(const void *base, int64_t first, int64_t count) {
        if (ALIGNED) {
#pragma unroll
            for (int i = 0; i < words; i += VECTOR_BYTES / 4) {
                load_vector_once<VECTOR_BYTES>((const char *)base + first * T::bytes + 4 * i, word + i);
            }
        } else {
#pragma unroll
            for (int i = 0; i < elements; i++) {
                const uint32_t x = first + i < count ? load_element<T>(base, first + i) : 0;
                word[i * T::bytes / 4] = T::bytes == 2 && i % 2 ? word[i / 2] | x << 16 : x;
            }
        }
    }

    template <bool ALIGNED> __device__ __forceinline__ void store(void *base, int64_t first, int64_t count) const {
        if (ALIGNED) {
#pragma unroll
            for (int i = 0; i < words; i += VECTOR_BYTES / 4) {
                store_vector_once<VECTOR_BYTES>((char *)base + first * T::bytes + 4 * i, word + i);
            }
        } else {
#pragma unroll
            for (int i = 0; i < elements; i++) {
                if (first + i < count) {
                    const uint32_t x = word[i * T::bytes / 4];
                    store_element<T>(base, first + i, (typename T::bits)(T::bytes == 2 && i % 2 ? x >> 16 : x));
                }
            }
        }
    }

    /* The next group comes to the front; after the last one the first is there again, unless they are only passing by. */
    __device__ __forceinline__ void next_group(bool passing = false) {
        if (GROUPS == 2 && spans) {
#pragma unroll
            for (int i = 0; i < group_words; i++) {
                const uint32_t front = word[i];
                word[i] = word[group_words + i];
                word[group_words + i] = passing ? 0 : front;
            }
        }
    }
};

template <class Param, class Grad, class M, class V, bool HAS_MASTER> struct shares {
    share<Grad> grad;
    share<M> m;
    share<V> v;
    share<Param> param;
    share<f32> master;

    /* The arrays that span the groups, or those that do not. */
    template <bool SPANNING, bool ALIGNED>
    __device__ __forceinline__ void load(const quern_adam_slice &tensor, int64_t first) {
        if constexpr (share<Grad>::spans == SPANNING) grad.template load<ALIGNED>(tensor.grad, first, tensor.count);
        if constexpr (share<M>::spans == SPANNING) m.template load<ALIGNED>(tensor.m, first, tensor.count);
        if constexpr (share<V>::spans == SPANNING) v.template load<ALIGNED>(tensor.v, first, tensor.count);
        if constexpr (HAS_MASTER) {
            if constexpr (share<f32>::spans == SPANNING) {
                master.template load<ALIGNED>(tensor.master, first, tensor.count);
            }
        } else {
            if constexpr (share<Param>::spans == SPANNING) {
                param.template load<ALIGNED>(tensor.param, first, tensor.count);
            }
        }
    }

    template <bool SPANNING, bool ALIGNED>
    __device__ __forceinline__ void store(const quern_adam_slice &tensor, int64_t first) {
        if constexpr (share<M>::spans == SPANNING) m.template store<ALIGNED>(tensor.m, first, tensor.count);
        if constexpr (share<V>::spans == SPANNING) v.template store<ALIGNED>(tensor.v, first, tensor.count);
        if constexpr (share<Param>::spans == SPANNING) param.template store<ALIGNED>(tensor.param, first, tensor.count);
        if constexpr (HAS_MASTER && share<f32>::spans == SPANNING) {
            master.template store<ALIGNED>(tensor.master, first, tensor.count);
        }
    }

    template <bool SPANNING>
    __device__ __forceinline__ void load(const quern_adam_slice &tensor, int64_t first, bool aligned) {
        if (aligned) {
            load<SPANNING, true>(tensor, first);
        } else {
            load<SPANNING, false>(tensor, first);
        }
    }

    template <bool SPANNING>
    __device__ __forceinline__ void store(const quern_adam_slice &tensor, int64_t first, bool aligned) {
        if (aligned) {
            store<SPANNING, true>(tensor, first);
        } else {
            store<SPANNING, false>(tensor, first);
        }
    }

    /* One step of the present group; `counter` is that of its random numbers. */
    __device__ __forceinline__ void update(const quern_adam_step &step, philox_words counter) {
        float g[8], m_value[8], v_value[8], p[8];
        packing<Grad, 8>::widen(grad.word, g);
        packing<M, 8>::widen(m.word, m_value);
        packing<V, 8>::widen(v.word, v_value);
        if constexpr (HAS_MASTER) {
            packing<f32, 8>::widen(master.word, p);
        } else {
            packing<Param, 8>::widen(param.word, p);
        }
        const bool ordinary = adam_group(step, g, m_value, v_value, p);
        random_words<true> random(counter, step);
        random.draw_for_all((V::bytes == 2 && step.stochastic_v) || (M::bytes == 2 && step.stochastic_m) ||
                            (Param::bytes == 2 && step.stochastic_param));
        round_group<V, QUERN_RANDOM_TURN_V>(v_value, v.word, step.stochastic_v, ordinary, random);
        round_group<M, QUERN_RANDOM_TURN_M>(m_value, m.word, step.stochastic_m, ordinary, random);
        round_group<Param, QUERN_RANDOM_TURN_PARAM>(p, param.word, step.stochastic_param, false, random);
        if constexpr (HAS_MASTER) {
            packing<f32, 8>::nearest(p, master.word);
        }
    }

    __device__ __forceinline__ void next_group() {
        grad.next_group(true);
        m.next_group();
        v.next_group();
        param.next_group();
    }
};

/* The tensor that a tile of the batch belongs to: the last one that begins at or before it. */
static __device__ __forceinline__ uint32_t find_tensor(const quern_adam_batch &batch, uint32_t tile) {
    uint32_t low = 0, high = batch.launch.tensor_count;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (batch.first_tile[middle] <= tile) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

template <class Param, class Grad, class M, class V, bool HAS_MASTER>
static __device__ __forceinline__ void adam_tile(const quern_adam_step &step, const quern_adam_slice &tensor, uint32_t place,
                                                 int64_t tile_first) {
    const uintptr_t addresses = (uintptr_t)tensor.param | (uintptr_t)tensor.grad | (uintptr_t)tensor.m |
                                (uintptr_t)tensor.v | (HAS_MASTER ? (uintptr_t)tensor.master : 0);
    const bool aligned_tensor = addresses % VECTOR_BYTES == 0;

#pragma unroll 1
    for (int offset = threadIdx.x % 32 * 8 * GROUPS; offset < QUERN_ADAM_TILE; offset += 32 * 8 * GROUPS) {
        const int64_t first = tile_first + offset;
        if (first >= tensor.count) {
            return;
        }
        const bool aligned = aligned_tensor && first + 8 * GROUPS <= tensor.count;
        shares<Param, Grad, M, V, HAS_MASTER> share;
        share.template load<true>(tensor, first, aligned);
#pragma unroll 1
        for (int group = 0; group < GROUPS; group++) {
            const int64_t element = first + 8 * group;
            const uint64_t call = (uint64_t)element / 8;
            share.template load<false>(tensor, element, aligned);
            share.update(step, {{(uint32_t)call, (uint32_t)(call >> 32), step.step, place}});
            share.template store<false>(tensor, element, aligned);
            share.next_group();
        }
        share.template store<true>(tensor, first, aligned);
    }
}

template <class Param, class Grad, class M, class V, bool HAS_MASTER>
static __device__ __forceinline__ void adam(const quern_adam_batch &batch) {
    const uint32_t warps = gridDim.x * (THREADS / 32);
#pragma unroll 1
    for (int64_t tile = blockIdx.x * (THREADS / 32) + threadIdx.x / 32; tile < batch.launch.tile_count; tile += warps) {
        const uint32_t index = find_tensor(batch, (uint32_t)tile);
        adam_tile<Param, Grad, M, V, HAS_MASTER>(batch.launch.step, batch.slices[index], batch.launch.first_place + index,
                                                 (tile - batch.first_tile[index]) * QUERN_ADAM_TILE);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 4)
adam_pf16_gf16_mf32_vf32(const __grid_constant__ quern_adam_batch batch) {
    adam<f16, f16, f32, f32, false>(batch);
}
extern "C" __global__ void __launch_bounds__(THREADS, 4)
adam_pf16_gf16_mf32_vf32_master32(const __grid_constant__ quern_adam_batch batch) {
    adam<f16, f16, f32, f32, true>(batch);
}
extern "C" __global__ void __launch_bounds__(THREADS, 4)
adam_pf16_gf16_mbf16_vbf16(const __grid_constant__ quern_adam_batch batch) {
    adam<f16, f16, bf16, bf16, false>(batch);
}
extern "C" __global__ void __launch_bounds__(THREADS, 4)
adam_pf16_gf16_mbf16_vbf16_master32(const __grid_constant__ quern_adam_batch batch) {
    adam<f16, f16, bf16, bf16, true>(batch);
}
