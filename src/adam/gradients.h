/* Lists of gradients, for quern_gradient_norm and quern_accumulate. */
#ifndef QUERN_GRADIENTS_H
#define QUERN_GRADIENTS_H

#include "adam/adam_apart.h"
#include "adam/adam_list.h"
#include "runtime/device.h"

/* The caller's gradients, or those of a plan. */
struct quern_gradient_list {
    const quern_gradient *gradients;
    const quern_adam_plan *plan;       /* NULL: gradients */
    int64_t count;
};

struct quern_gradient_slice quern_gradient_at(const struct quern_gradient_list *list, int64_t place);

/* The number of pieces of `elements` elements into which the tensors are cut. */
int64_t quern_gradient_pieces(const struct quern_gradient_list *list, int64_t elements);

/* Checks the arguments that both functions take. */
quern_status quern_gradient_check_list(const quern_device *device, uint32_t gradient_size, quern_dtype grad_dtype,
                                       const struct quern_gradient_list *list);

/* Checks each gradient and, if with_main_grads, its sum. */
quern_status quern_gradient_check_each(const quern_device *device, quern_dtype grad_dtype, const struct quern_gradient_list *list,
                                       bool with_main_grads);

/* The arrays that a call reads and writes. */
struct quern_gradient_access {
    quern_dtype grad_dtype;
    bool main_grads, zero_grads;
};

/* Checks that nothing that the call writes overlaps another buffer: of a plan, or of a list that is as short as adam_apart.h says. */
quern_status quern_gradient_check_apart(const quern_device *device, const struct quern_gradient_list *list,
                                        const struct quern_gradient_access *access, const struct quern_range *others,
                                        int other_count);

/* A kernel for gradients of a type.  The combining task has QUERN_NO_DTYPE. */
quern_status quern_gradient_select(quern_device *device, enum quern_adam_task task, quern_dtype grad_dtype,
                                   const struct quern_ready_kernel **chosen);

/*
 * On a CPU: visits every piece of up to QUERN_GRADIENT_CHUNK elements on the device's threads.  `piece` counts the pieces of the
 * whole list.
 */
typedef void quern_gradient_visit(void *context, const struct quern_gradient_slice *slice, int64_t piece, int64_t first,
                                  int64_t count);
void quern_gradient_visit_all(const quern_device *device, const struct quern_gradient_list *list, quern_gradient_visit *visit,
                              void *context);

/*
 * Launches a kernel for all tensors of a list: with a plan once, else once for each batch that its parameters hold.  batch has the
 * arguments that all launches share.  The device's context is current.
 */
CUresult quern_gradient_launch(const struct quern_cuda *cuda, const struct quern_ready_kernel *ready,
                               const struct quern_gradient_list *list, struct quern_gradient_batch *batch, CUstream stream);

#endif
