/*
 * The scratch of a kernel for one part of a row on a CPU.  Included by cross_entropy.h and by the host code
 * (src/cross_entropy/cross_entropy_cpu.c).
 */
#ifndef QUERN_CPU_CROSS_ENTROPY_KEPT_H
#define QUERN_CPU_CROSS_ENTROPY_KEPT_H

#include <stdbool.h>

#include "kernels/cross_entropy_scratch.h"

struct quern_kept_values {
    void *values;    /* a row's scratch, or one worker's; NULL: a stats kernel keeps nothing */
    bool of_row;     /* the values of all parts, each at its place, shared by the row's workers: a stats kernel keeps them and a
                        gradient kernel finds them.  Else a gradient kernel computes those of its part again */
    float *maxima;   /* [QUERN_CPU_PART_PIECES]: a stats kernel stores the largest logit of each piece of the part; NULL: none */
};

#endif
