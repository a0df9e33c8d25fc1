/*
 * The parameters of the combining kernels on CPUs: a piece of the work of one rank.  For src/ranks/collective/ and for the kernels
 * in generated/collective/.
 */
#ifndef QUERN_COLLECTIVE_PIECES_H
#define QUERN_COLLECTIVE_PIECES_H

#include <stdint.h>

/*
 * output[o][i] = combination over all inputs of input[q][i], in ascending order of q, for every o.  An output may be one of the
 * inputs.  The kernel takes elements [first, end).
 */
struct quern_collective_combination {
    const char *const *inputs;
    char *const *outputs;
    int32_t input_count, output_count;
    int32_t is_max;          /* 0: the sum */
    int32_t streaming;       /* with stores that bypass the caches; the caller fences */
};

#endif
