/* What the functions on lists of gradients share: quern_gradient_norm and quern_accumulate. */
#ifndef QUERN_GRADIENTS_H
#define QUERN_GRADIENTS_H

#include "adam/adam_list.h"
#include "runtime/device.h"

/* Gradients as a caller has them, or those of a plan. */
struct quern_gradient_list {
    const quern_gradient *gradients;
    const quern_adam_plan *plan;       /* NULL: gradients */
    int64_t count;
};

struct quern_gradient_slice quern_gradient_at(const struct quern_gradient_list *list, int64_t place);

/* How many pieces of so many elements each its tensors are cut into; -1: more than 2^63. */
int64_t quern_gradient_pieces(const struct quern_gradient_list *list, int64_t elements);

/* What both calls' arguments must be. */
quern_status quern_gradient_check_list(const quern_device *device, uint32_t gradient_size, quern_dtype grad_dtype,
                                       const struct quern_gradient_list *list);

/* Each gradient, and where wanted what it is added to. */
quern_status quern_gradient_check_each(const quern_device *device, quern_dtype grad_dtype, const struct quern_gradient_list *list,
                                       bool with_main_grads);

/* A kernel for gradients of a type; for the combining task the type is NO_DTYPE. */
quern_status quern_gradient_select(quern_device *device, enum quern_adam_task task, quern_dtype grad_dtype,
                                   const struct quern_ready_kernel **chosen);

/*
 * On a CPU: visits every piece of QUERN_GRADIENT_CHUNK elements, or what is left of a tensor, on the device's threads; `piece`
 * counts them through the list.
 */
typedef void quern_gradient_visit(void *context, const struct quern_gradient_slice *slice, int64_t piece, int64_t first,
                                  int64_t count);
void quern_gradient_visit_all(const quern_device *device, const struct quern_gradient_list *list, quern_gradient_visit *visit,
                              void *context);

/*
 * Launches a kernel for all tensors of a list, so many in each launch as its parameters hold; with a plan in one.  batch brings
 * what the launches have in common.  In the device's context.
 */
CUresult quern_gradient_launch(const struct quern_cuda *cuda, const struct quern_ready_kernel *ready,
                               const struct quern_gradient_list *list, struct quern_gradient_batch *batch, CUstream stream);

#endif
