/*
 * A list of gradients and their sums, on the host for the oracle and on the device under test.  The arrays miss the boundaries of
 * vectors by different numbers of elements, and a guard pattern of NaN lies between them.
 */
#ifndef HARNESS_GRADIENT_CASE_H
#define HARNESS_GRADIENT_CASE_H

#include "harness/buffer.h"

struct gradients {
    const struct test_device *device;
    quern_dtype dtype, main_dtype;
    int64_t tensors;
    quern_gradient *host, *on_device;
    unsigned char *grads, *main_grads;       /* all arrays on the host, with gaps */
    struct buffer grad_buffer, main_buffer;
    size_t grad_bytes, main_bytes;
};

/* Random values on the host. */
void gradients_open(struct gradients *g, const struct test_device *device, quern_dtype dtype, quern_dtype main_dtype,
                    const int64_t *counts, int64_t tensors);

/* Makes buffers on the device with the arrays of the host. */
void gradients_upload(struct gradients *g);

/* Compares all bytes of the device with those of the host; two NaN are equal. */
void gradients_check(struct gradients *g, const char *what);

void gradients_close(struct gradients *g);
#define OPEN_GRADIENTS(g, ...) struct gradients g CLOSED_BY(gradients_close); gradients_open(&g, __VA_ARGS__)

#endif
