/* The data for the kernels: lists of tensors like those of models, and random values, because zeros can be faster. */
#ifndef DATA_H
#define DATA_H

#include "harness/machine.h"

/* The parameters of GPT-2 (Radford et al. 2019), tensor by tensor, as an engine hands them to an optimizer. */
struct tensor_list {
    int64_t *counts;   /* elements of each tensor */
    int64_t tensors;
    int64_t elements;  /* of all */
};

/* width 768 with 12 layers is the model with 124 million parameters, 1600 with 48 the one with 1.56 billion. */
struct tensor_list gpt2_tensors(int64_t width, int64_t layers);

struct tensor_list equal_tensors(int64_t tensors, int64_t count);

void tensor_list_free(struct tensor_list *list);

/* Magnitudes from 2^low to 2^high, evenly over the exponents, of both signs or positive. */
struct value_range {
    int low, high;
    bool both_signs;
};

/* A buffer of `count` values, a multiple of 64 bytes long; NULL when there is not enough memory. */
void *values_create(const struct machine *machine, quern_dtype dtype, int64_t count, struct value_range range);

/* A buffer of so many bytes of one value. */
void *bytes_create(const struct machine *machine, int64_t count, int value);

/* int64 labels in [0, vocab). */
void *labels_create(const struct machine *machine, int64_t rows, int64_t vocab);

/* The size to which a buffer of this many bytes is rounded up. */
size_t buffer_bytes(size_t bytes);

#endif
