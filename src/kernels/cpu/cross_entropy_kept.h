/*
 * The scratch of a kernel for one part of a row on a CPU, and the soft targets of a part.  Included by cross_entropy.h and by the
 * host code (src/cross_entropy/cross_entropy_cpu.c).
 */
#ifndef QUERN_CPU_CROSS_ENTROPY_KEPT_H
#define QUERN_CPU_CROSS_ENTROPY_KEPT_H

#include <stdbool.h>

#include "kernels/cross_entropy_scratch.h"

/* What the divergence of a part's columns, all but the label's, needs and gives. */
struct quern_soft_part {
    const void *targets;     /* of the part's columns */
    bool are_f32;            /* else they have the type of the logits */
    bool of_targets, of_model;
    double lse;              /* of the row */
    float upstream;          /* of the divergence, with respect to y: multiplies the addends */
    double value, slope;     /* results: sums over struct quern_divergence_term */
};

struct quern_kept_values {
    void *values;    /* a row's scratch, or one worker's; NULL: a stats kernel keeps nothing */
    bool of_row;     /* the values of all parts, each at its place, shared by the row's workers: a stats kernel keeps them and a
                        gradient kernel finds them.  Else a gradient kernel computes those of its part again */
    float *maxima;   /* [QUERN_CPU_PART_PIECES]: a stats kernel stores the largest logit of each piece of the part; NULL: none */
    float *addends;  /* beside the values, at the same places: a kernel of soft targets stores what the gradient kernel adds to the
                        gradient with respect to y; NULL: none */
    float *wide;     /* the fp32 gradient of the row, of 16-bit logits; NULL: the gradient has the type of the logits */
    struct quern_soft_part *soft;  /* for a kernel of soft targets only */
};

#endif
