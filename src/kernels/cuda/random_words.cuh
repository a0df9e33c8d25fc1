/*
 * Random words for the roundings of one group of eight elements, and the rounding of stored values with or without them.  Included
 * by adam_shares.cuh.
 */
#ifndef QUERN_DEVICE_RANDOM_WORDS_CUH
#define QUERN_DEVICE_RANDOM_WORDS_CUH

#include "kernels/cuda/philox.cuh"
#include "kernels/cuda/scale.cuh"
#include "kernels/cuda/stochastic.cuh"

/*
 * The random words of a group.  They are drawn once and kept for all its roundings, or drawn again for each rounding if registers
 * are too few to keep them.  The tile's part of them is in shared memory.
 */
template <bool KEPT> struct random_words {
    const philox_tile &tile;
    uint32_t group;
    const uint32_t *seed;
    philox_words kept;

    __device__ __forceinline__ random_words(const philox_tile &tile, uint32_t group, const uint32_t *seed)
        : tile(tile), group(group), seed(seed), kept{} {}

    __device__ __forceinline__ philox_words draw() const {
        asm volatile("" ::: "memory"); /* keeps the compiler from reusing results of earlier draws, which would take registers */
        return philox4x32(tile, group, seed);
    }

    __device__ __forceinline__ void draw_for_all(bool wanted) {
        if (KEPT && wanted) {
            kept = draw();
        }
    }

    __device__ __forceinline__ philox_words get() const { return KEPT ? kept : draw(); }
};

/* Rounds the eight values of a group into the stored words; `finite` promises that none is huge, infinite or NaN. */
template <class T, int TURN, bool KEPT>
static __device__ __forceinline__ void round_group(const float *x, uint32_t *word, bool is_stochastic, bool finite,
                                                   const random_words<KEPT> &random) {
    if constexpr (T::bytes == 2) {
        if (is_stochastic) {
            philox_words turned = random.get().template turned<TURN>();
            stochastic<T>::template round<8>(x, turned.word, word, finite);
            return;
        }
    }
    packing<T, 8>::nearest(x, word);
}

/* The same for a moment, which may have a scaled type.  If it is POSITIVE, it does not become zero there. */
template <class T, int TURN, bool POSITIVE, bool KEPT>
static __device__ __forceinline__ void round_moment(const float *x, uint32_t scale, uint32_t *word, bool is_stochastic, bool finite,
                                                    const random_words<KEPT> &random) {
    if constexpr (!is_scaled<T>) {
        round_group<T, TURN>(x, word, is_stochastic, finite, random);
    } else if (is_stochastic) {
        const philox_words turned = random.get().template turned<TURN>();
        narrow_scaled<T, true, POSITIVE>(x, scale, turned.word, word, finite);
    } else {
        narrow_scaled<T, false, POSITIVE>(x, scale, nullptr, word, finite);
    }
}

#endif
