/* The parameter lists of GPT-2 (Radford et al. 2019), tensor by tensor, as an engine hands them to an optimizer. */
#ifndef MODELS_H
#define MODELS_H

#include <stdint.h>

struct tensor_list {
    int64_t *counts;   /* elements of each tensor */
    int64_t tensors;
    int64_t elements;  /* of all */
};

/* width 768 with 12 layers is the model with 124 million parameters, 1600 with 48 the one with 1.56 billion. */
struct tensor_list gpt2_tensors(int64_t width, int64_t layers);

struct tensor_list equal_tensors(int64_t tensors, int64_t count);

void tensor_list_free(struct tensor_list *list);

#endif
