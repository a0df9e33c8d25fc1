/*
 * A list of tensors that are quantised, on the host for the oracle and on the device under test.  The arrays miss the boundaries of
 * vectors by different numbers of elements, with guards between them.
 */
#ifndef HARNESS_QUANTIZE_CASE_H
#define HARNESS_QUANTIZE_CASE_H

#include "harness/buffer.h"

/* The arrays of a call that have a value for each tensor, and those of its control. */
enum quantize_array { QUANTIZE_AMAX, QUANTIZE_SCALE_ARRAY, QUANTIZE_INVERSE, QUANTIZE_HISTORY, QUANTIZE_ARRAYS };

struct quantize_case {
    const struct test_device *device;
    quern_quantize_args args, on_device;    /* with pointers to the host, and to the device */
    quern_quantize_tensor *tensors, *device_tensors;
    unsigned char *inputs, *outputs;        /* all arrays on the host, with gaps */
    size_t input_bytes, output_bytes, bytes_of[QUANTIZE_ARRAYS];
    float *numbers[QUANTIZE_ARRAYS];
    struct buffer input, output, of[QUANTIZE_ARRAYS], workspace;
    quern_quantize_plan *plan;
};

/* A tensor as a matrix, and what is wanted of it. */
struct quantize_shape {
    int64_t rows, columns;
    bool no_output, transposed;
};

/* Normal values of different magnitudes on the host; `history`: rows of a history of zeros, 0: none. */
void quantize_open(struct quantize_case *q, const struct test_device *device, quern_dtype input, quern_dtype output,
                   const int64_t *counts, int64_t tensors, int64_t history);

/* The same of matrices, with the scales of their blocks. */
void quantize_open_matrices(struct quantize_case *q, const struct test_device *device, quern_dtype input, quern_dtype output,
                            quern_scaling scaling, const struct quantize_shape *shapes, int64_t tensors, int64_t history);

/* Makes buffers on the device with the arrays of the host, and a plan if wanted.  The numbers of args are those of the call. */
void quantize_upload(struct quantize_case *q, bool with_plan);

/* Writes the inputs, amax and history of the host again. */
void quantize_update(struct quantize_case *q);

/* Calls on the device: both steps at once, or one of them. */
void quantize_run(struct quantize_case *q);
void quantize_run_amax(struct quantize_case *q);
void quantize_run_cast(struct quantize_case *q);

/* Compares all bytes of the device with those of the host; the other two call and model first. */
void quantize_check(struct quantize_case *q, const char *what);
void quantize_check_run(struct quantize_case *q, const char *what);
void quantize_check_cast(struct quantize_case *q, const char *what);

void quantize_close(struct quantize_case *q);
#define OPEN_QUANTIZE(q, ...) struct quantize_case q CLOSED_BY(quantize_close); quantize_open(&q, __VA_ARGS__)
#define OPEN_MATRICES(q, ...) struct quantize_case q CLOSED_BY(quantize_close); quantize_open_matrices(&q, __VA_ARGS__)

/* ---- targets and ways ---- */

/* Opens the device under test with all kernels of quantisation; they have passed their known answers. */
void quantize_device_open(struct test_device *device);

/* Calls `body` with every type of inputs and outputs, on that device. */
void quantize_each_types(void (*body)(const struct test_device *device, quern_dtype input, quern_dtype output));
#define TEST_QUANTIZE_TYPES(suite, name) \
    TEST_EACH(quantize_each_types, suite, name, const struct test_device *device, quern_dtype input, quern_dtype output)

/*
 * Uploads, calls in one of the ways and compares: with a plan, in two steps where there are steps, stochastic, powers of two; eps
 * changes with them.  Each suite counts its ways up by an odd number, so that all occur.
 */
enum { QUANTIZE_WAYS = 16 };
void quantize_check_way(struct quantize_case *q, unsigned way, const char *what);

#endif
