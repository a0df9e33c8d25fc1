/* The list of tensors of a call of Adam: the caller's, or that of a plan.  For all of src/adam that visits tensors. */
#ifndef QUERN_ADAM_LIST_H
#define QUERN_ADAM_LIST_H

#include "kernels/problem.h"
#include "os/sizes.h"
#include "quern.h"
#include "runtime/list_marks.h"
#include "runtime/pieces.h"
#include "runtime/plan_memory.h"

/* Elements of one tensor: no type has more than 4 bytes.  The list has no more together. */
#define QUERN_ADAM_MAX_COUNT (QUERN_MOST_BYTES / 4)

/* A plan: a list that has been checked, divided and, on a GPU, written to device memory. */
struct quern_adam_plan {
    quern_device *device;
    quern_adam_args args;              /* its dtypes and options */
    struct quern_list_marks marks;
    int64_t tile_count;

    /* CUDA: one piece of device memory, and the tables in it. */
    struct quern_plan_memory memory;
    uint32_t *ticket;
    struct quern_adam_slice *slices;   /* [tensors] */
    struct quern_adam_extras *extras;  /* [tensors] */
    struct quern_adam_tile *tiles;     /* [tile_count] */
    struct quern_adam_tensor_step *tensor_steps;  /* [tensors]: of one call at a time */

    struct quern_pieces pieces;
    bool has_told;                     /* atomic access: how m is rounded has been logged */

    quern_adam_tensor tensors[];       /* of this library's header */
};

/* The caller's tensors, `stride` bytes apart.  The structs of an older header are shorter. */
struct quern_adam_list {
    const char *tensors;
    size_t stride;
    int64_t count;
    void *const *grads;                /* [count]: replaces those of the tensors; NULL: not given */
};

/* Without args.grads, which only a step reads. */
struct quern_adam_list quern_adam_list_of(const quern_adam_args *args);

/*
 * The tensor at a place of the list: the caller's struct, or, if the caller's header is older or its gradient is replaced, a copy
 * in *room.  Lists may be very long, so no tensor is copied without need.
 */
const quern_adam_tensor *quern_adam_tensor_at(const struct quern_adam_list *list, int64_t place, quern_adam_tensor *room);

/* Checks the list of a call that replaces the gradients of its plan, and an address in it. */
quern_status quern_adam_check_grads(const quern_device *device, void *const *grads, const void *plan);
quern_status quern_adam_check_grad(const quern_device *device, const void *grad, int64_t place, quern_dtype dtype);

/* Its number of elements. */
int64_t quern_adam_count_at(const struct quern_adam_list *list, int64_t place);

/* A tensor as kernels take it: pointers that the arguments do not use are NULL. */
struct quern_adam_slice quern_adam_slice_of(const quern_adam_args *args, const quern_adam_tensor *tensor);
struct quern_adam_extras quern_adam_extras_of(const quern_adam_args *args, const quern_adam_tensor *tensor);

/* Marks the list by its elements. */
quern_status quern_adam_mark(const quern_device *device, const struct quern_adam_list *list, struct quern_list_marks *marks);

/* The number of tiles of a tensor. */
int64_t quern_adam_tiles(int64_t count);

/* Tiles of one tensor on a GPU: a number within a tensor has 32 bits. */
enum { QUERN_ADAM_MAX_TILES = 1 << 30 };

/* Whether a GPU can take all tensors. */
quern_status quern_adam_check_tiles(const quern_device *device, const struct quern_adam_list *list);

#endif
