/* Lists of gradients, for quern_gradient_norm and quern_accumulate. */
#ifndef QUERN_GRADIENTS_H
#define QUERN_GRADIENTS_H

#include "adam/adam_apart.h"
#include "adam/adam_list.h"
#include "runtime/device.h"
#include "runtime/list_visit.h"
#include "runtime/look.h"

/* The caller's gradients, or those of a plan. */
struct quern_gradient_list {
    const quern_gradient *gradients;
    const quern_adam_plan *plan;       /* NULL: gradients */
    const int32_t *token_places;       /* as in quern.h; NULL: gradient i has group i */
    int64_t count;
    void *const *grads;                /* [count]: replaces those of a plan; NULL: not given */
};

/* The tables of an accumulation's plan in the memory of a GPU. */
struct quern_gradient_tables {
    const struct quern_adam_tile *tiles;         /* [tile_count] */
    const struct quern_gradient_slice *slices;
    int64_t tile_count;
};

struct quern_accumulate_plan {
    quern_device *device;
    quern_accumulate_args args;        /* its types, zero_grads and group_count */
    struct quern_gradient_list list;   /* the plan's own copy */
    struct quern_plan_memory memory;
    struct quern_gradient_tables tables;
    struct quern_pieces pieces;
    quern_gradient gradients[];        /* [list.count]; then the list's token_places, if it has them */
};

struct quern_gradient_slice quern_gradient_at(const struct quern_gradient_list *list, int64_t place);

/* The number of pieces of `elements` elements into which the tensors are cut. */
int64_t quern_gradient_pieces(const struct quern_gradient_list *list, int64_t elements);

/* Checks the arguments that both functions take. */
quern_status quern_gradient_check_list(const quern_device *device, uint32_t gradient_size, quern_dtype grad_dtype,
                                       const struct quern_gradient_list *list);

/* The arrays that a call reads and writes. */
struct quern_gradient_access {
    quern_dtype grad_dtype, main_dtype;  /* QUERN_NO_DTYPE: no sums */
    bool zero_grads;
};

/* Checks each gradient and its sum. */
quern_status quern_gradient_check_each(const quern_device *device, const struct quern_gradient_list *list,
                                       const struct quern_gradient_access *access);

/* Lists the arrays of all gradients that have elements: of each gradient at most two. */
int64_t quern_gradient_ranges(const struct quern_gradient_list *list, const struct quern_gradient_access *access,
                              struct quern_range *to);

/* Shows the gradients and their sums to those who look. */
void quern_gradient_show(const struct quern_gradient_list *list, const struct quern_gradient_access *access,
                         struct quern_tensor_taker *taker);

/* Checks that nothing that the call writes overlaps another buffer: of a plan, or of a list that is short, as in adam_apart.h. */
quern_status quern_gradient_check_apart(const quern_device *device, const struct quern_gradient_list *list,
                                        const struct quern_gradient_access *access, const struct quern_range *others,
                                        int other_count);

/* A kernel for gradients and sums of these types.  The combining task has neither. */
quern_status quern_gradient_select(quern_device *device, enum quern_adam_task task, quern_dtype grad_dtype, quern_dtype main_dtype,
                                   const struct quern_ready_kernel **chosen);

/* On a CPU: visits every piece of up to QUERN_GRADIENT_CHUNK elements on the device's threads. */
void quern_gradient_visit_all(const quern_device *device, const struct quern_gradient_list *list, quern_piece_visit *visit,
                              void *context);

/*
 * Launches a kernel for all tensors of a list, once for each batch that its parameters hold.  batch has the arguments that all
 * launches share.  The device's context is current.
 */
CUresult quern_gradient_launch(const struct quern_cuda *cuda, const struct quern_ready_kernel *ready,
                               const struct quern_gradient_list *list, struct quern_gradient_batch *batch, CUstream stream);

/* One launch for the tiles of a batch: those of a plan, for instance. */
CUresult quern_gradient_launch_tiles(const struct quern_cuda *cuda, const struct quern_ready_kernel *ready,
                                     struct quern_gradient_batch *batch, CUstream stream);

#endif
