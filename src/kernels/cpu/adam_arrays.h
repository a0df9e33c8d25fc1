/*
 * The list of a tensor's arrays, and the loop over a tensor in whole groups of elements.  The remainder at the end is processed in
 * a padded copy, so that the kernels' loops handle whole groups only.  Included by adam.h and adam_usual.h.
 */
#ifndef QUERN_CPU_ADAM_ARRAYS_H
#define QUERN_CPU_ADAM_ARRAYS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/cpu/random.h"
#include "kernels/kernel.h"

enum array { PARAM, GRAD, M, V, MASTER, PLAIN_ARRAYS, V_MAX = PLAIN_ARRAYS, COPY, M_SCALE, V_SCALE, V_MAX_SCALE, ARRAYS };

enum { GROUP = QUERN_RANDOM_GROUP, BLOCK = QUERN_RANDOM_BLOCK };

/* The addresses of a tensor's arrays from some element on; NULL: the tensor has no such array. */
struct arrays {
    char *at[ARRAYS];
};

/* The bytes of an element of each array.  A scale array has one element for each QUERN_SCALE_BLOCK elements. */
struct sizes {
    int count;  /* of the arrays that a kernel uses */
    int of[ARRAYS];
};

static inline int64_t bytes_of(const struct sizes *sizes, enum array array, int64_t elements) {
    if (array >= M_SCALE)
        return (elements + QUERN_SCALE_BLOCK - 1) / QUERN_SCALE_BLOCK * sizes->of[array];
    return elements * sizes->of[array];
}

/* `first` is the first element of a block of scales. */
static inline struct arrays from_element(const struct arrays *arrays, const struct sizes *sizes, int64_t first) {
    struct arrays from = {{NULL}};
    for (int i = 0; i < sizes->count; i++)
        if (arrays->at[i])
            from.at[i] = arrays->at[i] + bytes_of(sizes, i, first);
    return from;
}

static inline struct arrays arrays_of(const struct quern_adam_slice *tensor, const struct quern_adam_extras *extras) {
    struct arrays arrays = {{tensor->param, tensor->grad, tensor->m, tensor->v, tensor->master}};
    if (extras) {
        arrays.at[V_MAX] = extras->v_max;
        arrays.at[COPY] = extras->copy;
        arrays.at[M_SCALE] = (char *)extras->m_scale;
        arrays.at[V_SCALE] = (char *)extras->v_scale;
        arrays.at[V_MAX_SCALE] = (char *)extras->v_max_scale;
    }
    return arrays;
}

/* One tensor's step. */
struct work {
    const struct quern_adam_step *step;
    const struct quern_adam_slice *tensor;
    const struct quern_adam_extras *extras;
    uint32_t place;
};

/*
 * Processes `count` elements, a multiple of a group.  The arrays point to their first element, which is element `first` of the
 * tensor.
 */
typedef void groups_function(const struct work *work, const struct arrays *arrays, int64_t first, int64_t count);

/*
 * For less than a group: copies `arrays`, pads them with zeros, takes the step and copies them back.  This includes the gradient,
 * which the step may have zeroed.
 */
static void run_rest(const struct work *work, const struct arrays *arrays, const struct sizes *sizes, int64_t first,
                     int64_t count, groups_function *groups) {
    _Alignas(64) char room[ARRAYS][GROUP * sizeof(float)];
    struct arrays copies = {{NULL}};
    for (int i = 0; i < sizes->count; i++) {
        if (!arrays->at[i]) continue;
        const size_t bytes = (size_t)bytes_of(sizes, i, count);
        copies.at[i] = room[i];
        memcpy(room[i], arrays->at[i], bytes);
        memset(room[i] + bytes, 0, sizeof room[i] - bytes);
    }
    groups(work, &copies, first, GROUP);
    for (int i = 0; i < sizes->count; i++)
        if (arrays->at[i] && (i != GRAD || work->step->zero_grads))
            memcpy(arrays->at[i], room[i], (size_t)bytes_of(sizes, i, count));
}

/* Processes whole groups in place and the remainder in a copy; `first` is the first element of a block. */
static inline void run(const struct work *work, const struct sizes *sizes, int64_t first, int64_t end, groups_function *groups) {
    const struct arrays tensor = arrays_of(work->tensor, work->extras);
    const int64_t rest = (end - first) % GROUP, whole = end - first - rest;
    if (whole > 0) {
        const struct arrays arrays = from_element(&tensor, sizes, first);
        groups(work, &arrays, first, whole);
    }
    if (rest > 0) {
        const struct arrays arrays = from_element(&tensor, sizes, first + whole);
        run_rest(work, &arrays, sizes, first + whole, rest, groups);
    }
}

#endif
