/*
 * MLPs split over ranks, as Megatron with sequence parallelism does: a rank has its sequences, and of each MLP some rows of `up`
 * and the same columns of `down`.  The rows of all ranks come to each in 8 bits, and reduce-scatters add up the parts of the
 * results, of some rows each.
 */
#ifndef TENSOR_PARALLEL_H
#define TENSOR_PARALLEL_H

#include "chunks.h"
#include "collectives.h"

struct block;
struct model;

struct tensor_parallel {
    struct rank *rank;              /* NULL: each MLP is whole */
    int64_t hidden;                 /* of the hidden values of an MLP, this rank's */
    struct caller *caller;          /* of all that goes beside products: one call at a time */
    struct chunks *in;              /* [layers]: the inputs of the MLPs in E4M3, kept for the backward pass */
    struct chunks out_grad;         /* the gradient of an output in E5M2 */
    float *wide;                    /* [rows of all ranks, width] in fp32 */
    struct mirrored parts, sum;     /* of the results: this rank's part for the rows of all ranks, and the sum for its own rows */
    struct collective scatter;
    struct row_range scattered;     /* of each rank's rows, those that are being added up; none: no call is under way */
    bool added_up;                  /* all calls so far have succeeded */
};

/* Collective, as all functions below; on failure false, after a message on stderr. */
bool tensor_parallel_open(struct tensor_parallel *parallel, struct model *model);
void tensor_parallel_close(struct tensor_parallel *parallel, int layers);

/* Adds the MLP of the block's middle_norm to out. */
bool tensor_parallel_forward(struct model *model, struct block *block, float *out);

/* From out_grad to in_grad and the gradients of this rank's parts of `up` and `down`; all are overwritten. */
bool tensor_parallel_backward(struct model *model, struct block *block, const float *out_grad, float *in_grad);

#endif
