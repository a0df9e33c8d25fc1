/*
 * A lane's registers of a tensor's arrays, and one step of Adam on them.  Included by adam.cuh.
 *
 * FULL allows AMSGrad, a copy and moments of scaled types.  A lane then holds one group of eight elements at a time, because there
 * are too few registers for more.  A block of a scaled type is spread over four lanes.  They compute its scale together from the
 * new moments, before the first element is rounded.
 */
#ifndef QUERN_DEVICE_ADAM_SHARES_CUH
#define QUERN_DEVICE_ADAM_SHARES_CUH

#include "kernels/cuda/adam_copy.cuh"
#include "kernels/cuda/adam_tile.cuh"
#include "kernels/cuda/random_words.cuh"
#include "kernels/cuda/remainder.cuh"
#include "kernels/cuda/share.cuh"

/* A group's new moments, in fp32. */
struct adam_values {
    float m[8], v[8]; /* v may be AMSGrad's v_max */
};

/* A block's scale in each array that may have a scaled type. */
struct block_scales {
    uint32_t m, v;
};

template <class Param, class Grad, class M, class V, class Master, bool FULL, int GROUPS> struct adam_shares {
    typedef share<Grad, GROUPS> grad_share;
    typedef share<M, GROUPS> m_share;
    typedef share<V, GROUPS> v_share;
    /* A master copy and its parameters are accessed half a vector at a time: there are too few registers for both groups. */
    typedef share<Param, is_same<Master, nothing> ? GROUPS : 1> param_share;
    typedef share<Master, is_same<Master, remainder16> ? 1 : GROUPS> master_share;
    typedef random_words<GROUPS == 1> random_of_group;
    static constexpr bool reads_param = !is_same<Master, f32>;
    typedef typename either<FULL, quern_adam_full_batch, quern_adam_batch>::type batch;
    static constexpr bool full = FULL;
    typedef M m_type;
    typedef V v_type;
    static_assert(GROUPS == 1 || !FULL, "registers are too few");
    enum { lane_elements = 8 * GROUPS, warp_elements = 32 * lane_elements, block_lanes = 4 };

    grad_share grad;
    m_share m;
    v_share v;
    param_share param;
    master_share master;

    /* ---- to and from memory ---- */

    /*
     * The lane's arrays that cannot be accessed by vectors at element `first` of the tile, as a bit mask; all of them at the end of
     * the tensor.  Recomputed at each use, to save a register.
     */
    static __device__ __forceinline__ uint32_t barred_at(const adam_tile &tile, uint32_t first) {
        return first < tile.whole_count ? tile.unaligned : ~0u;
    }

    /* The arrays that span the groups, or those that do not; `barred` is the result of barred_at(). */
    template <bool SPANNING>
    __device__ __forceinline__ void load(const adam_tile &tile, uint32_t first, uint32_t barred) {
        if (grad_share::spans == SPANNING) grad.load(tile.grad, first, tile.count, !(barred & UNALIGNED_GRAD));
        if (m_share::spans == SPANNING) m.load(tile.m, first, tile.count, !(barred & UNALIGNED_M));
        if (v_share::spans == SPANNING) v.load(tile.v, first, tile.count, !(barred & UNALIGNED_V));
        if (master_share::spans == SPANNING) master.load(tile.master, first, tile.count, !(barred & UNALIGNED_MASTER));
        if (param_share::spans == SPANNING && reads_param) {
            param.load(tile.param, first, tile.count, !(barred & UNALIGNED_PARAM));
        }
    }

    template <bool SPANNING> __device__ __forceinline__ void store(const adam_tile &tile, uint32_t first, uint32_t barred) const {
        if (m_share::spans == SPANNING) m.store(tile.m, first, tile.count, !(barred & UNALIGNED_M));
        if (v_share::spans == SPANNING) {
            v.store(FULL ? tile.v_to : tile.v, first, tile.count, !(barred & (FULL ? UNALIGNED_V_TO : UNALIGNED_V)));
        }
        if (param_share::spans == SPANNING) param.store(tile.param, first, tile.count, !(barred & UNALIGNED_PARAM));
        if (master_share::spans == SPANNING) master.store(tile.master, first, tile.count, !(barred & UNALIGNED_MASTER));
    }

    /* Almost always no array is barred: then all loads are issued without a branch between them. */
    template <bool SPANNING>
    __device__ __forceinline__ void load_soon(const adam_tile &tile, uint32_t first) {
        const uint32_t barred = barred_at(tile, first);
        if (barred == 0) {
            load<SPANNING>(tile, first, 0);
        } else {
            load<SPANNING>(tile, first, barred);
        }
    }

    template <bool SPANNING>
    __device__ __forceinline__ void store_soon(const adam_tile &tile, uint32_t first) const {
        const uint32_t barred = barred_at(tile, first);
        if (barred == 0) {
            store<SPANNING>(tile, first, 0);
        } else {
            store<SPANNING>(tile, first, barred);
        }
    }

    __device__ __forceinline__ void next_group() {
        grad.next_group(true);
        m.next_group();
        v.next_group();
        param.next_group();
        master.next_group();
    }

    /* Sets the lane's gradients to zero. */
    static __device__ __forceinline__ void zero_grads(const adam_tile &tile, uint32_t first) {
        const grad_share zeros = {};
        zeros.store(tile.grad, first, tile.count, !(barred_at(tile, first) & UNALIGNED_GRAD));
    }

    /* ---- the scales ---- */

    /* The factor of the block that contains the elements from `first` on. */
    template <class T>
    static __device__ __forceinline__ float load_factor(const adam_tile &tile, const uint8_t *scale, uint32_t first) {
        return scale_factor(is_scaled<T> && first < tile.count ? scale[first / 32] : 0);
    }

    /* Called by all lanes.  One lane per block stores, after all lanes have read the old scales. */
    static __device__ __forceinline__ void store_scales(const adam_tile &tile, uint32_t first, const block_scales &scale) {
        if (is_scaled<M> || is_scaled<V>) __syncwarp();
        if (first % 32 == 0 && first < tile.count) {
            if (is_scaled<M>) tile.m_scale[first / 32] = (uint8_t)scale.m;
            if (is_scaled<V>) tile.v_scale_to[first / 32] = (uint8_t)scale.v;
        }
    }

    /* Called by all lanes of the warp: the scale for a block of new moments. */
    template <class T> static __device__ __forceinline__ uint32_t find_scale(const float *x) {
        return is_scaled<T> ? scale_of<T>(largest_of_lanes<block_lanes>(largest_finite(x, 0.0f))) : 0;
    }

    /* ---- the present group ---- */

    __device__ __forceinline__ void widen_master(float *p) const {
        if constexpr (is_same<Master, remainder16>) {
            join_remainder(param.word, master.word, p);
        } else if constexpr (is_same<Master, f32>) {
            packing<f32, 8>::widen(master.word, p);
        } else {
            packing<Param, 8>::widen(param.word, p);
        }
    }

    /* The new moments. */
    __device__ __forceinline__ adam_values take(const adam_tile &tile, uint32_t first) const {
        const adam_scalars &scalars = tile.scalars;
        adam_values values;
        float g[8];
        packing<Grad, 8>::widen(grad.word, g);
#pragma unroll
        for (int i = 0; i < 8; i += 2) {
            set_pair(g, i, multiply(pair_of(g, i), twice(scalars.grad_factor)));
        }
        if (scalars.l2_decay != 0.0f) {
            float p[8];
            widen_master(p);
            add_l2_decay(scalars, p, g);
        }
        widen_scaled<M>(m.word, load_factor<M>(tile, tile.m_scale, first), values.m);
        widen_scaled<V>(v.word, load_factor<V>(tile, tile.v_scale, first), values.v);
        adam_moments(scalars, g, values.m, values.v);
        return values;
    }

    /* One step from the results of take().  To save registers, the parameters are widened late and rounded first. */
    __device__ __forceinline__ void update(const adam_tile &tile, uint32_t first, const quern_adam_step &step, adam_values &values,
                                           const block_scales &scale, bool amsgrad = false) {
        const bool ordinary = are_ordinary(tile.scalars, values.m, values.v);
        float update[8], p[8];
        adam_update(tile.scalars, values.m, values.v, update, ordinary);
        widen_master(p);
        adam_parameters(tile.scalars, update, p);
        random_of_group random(tile.random, first / 8, step.seed);
        random.draw_for_all((V::bytes < 4 && step.stochastic_v) || (M::bytes < 4 && step.stochastic_m) ||
                            (Param::bytes < 4 && step.stochastic_param));
        round_parameters(step, p, random);
        round_moment<M, QUERN_RANDOM_TURN_M, false>(values.m, scale.m, m.word, step.stochastic_m, ordinary, random);
        round_v(values.v, scale.v, v.word, step.stochastic_v && !amsgrad, ordinary, random);
    }

    /*
     * AMSGrad, called by all lanes: v is stored, and v_max, which is never rounded stochastically, takes its place.  It is loaded
     * only here, because no registers for it are free while the other arrays are loaded.
     */
    __device__ __forceinline__ void replace_v_by_v_max(const adam_tile &tile, uint32_t first, const quern_adam_step &step,
                                                       adam_values &values, block_scales &scale) {
        const random_words<false> random(tile.random, first / 8, step.seed);
        v_share v_max;
        float largest[8];
        v_max.load(tile.v_max, first, tile.count, !(barred_at(tile, first) & UNALIGNED_V_TO));
        widen_scaled<V>(v_max.word, load_factor<V>(tile, tile.v_max_scale, first), largest);
        raise_v_max(values.v, largest);
        round_v(values.v, scale.v, v.word, step.stochastic_v, false, random);
        v.store(tile.v, first, tile.count, !(barred_at(tile, first) & UNALIGNED_V));
        if (is_scaled<V>) __syncwarp(); /* all lanes have read the old scale */
        if (is_scaled<V> && first % 32 == 0 && first < tile.count) {
            tile.v_scale[first / 32] = (uint8_t)scale.v;
        }
        scale.v = find_scale<V>(largest);
#pragma unroll
        for (int i = 0; i < 8; i++) {
            values.v[i] = largest[i];
        }
    }

    template <class Random>
    static __device__ __forceinline__ void round_v(const float *x, uint32_t scale, uint32_t *word, bool is_stochastic, bool finite,
                                                   const Random &random) {
        round_moment<V, QUERN_RANDOM_TURN_V, true>(x, scale, word, is_stochastic, finite, random);
    }

    __device__ __forceinline__ void round_parameters(const quern_adam_step &step, const float *p, const random_of_group &random) {
        if constexpr (is_same<Master, remainder16>) {
            split_remainder(p, param.word, master.word);
            return;
        }
        round_group<Param, QUERN_RANDOM_TURN_PARAM>(p, param.word, step.stochastic_param, false, random);
        if constexpr (is_same<Master, f32>) {
            packing<f32, 8>::nearest(p, master.word);
        }
    }

    /* ---- the copy ---- */

    /* Called by all lanes: copies the master or, without one, the parameters as stored. */
    __device__ __forceinline__ void copy(adam_tile &tile, uint32_t first, int32_t dtype) const {
        float p[8];
        widen_master(p);
        if (tile.copy_max) {
            const float largest = largest_of_lanes<32>(largest_finite(p, 0.0f));
            if (threadIdx.x % 32 == 0) {
                tile.largest_copy = fmaxf(tile.largest_copy, largest);
            }
        }
        copy_group(p, dtype, tile.copy_scale, tile.copy, first, tile.count, !(barred_at(tile, first) & UNALIGNED_COPY));
    }
};

#endif
