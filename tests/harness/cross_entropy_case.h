/*
 * One call of quern_cross_entropy, described by a few numbers: its inputs are made from them, it is run on the device under
 * test with guarded buffers, and everything it wrote is compared with the oracle.
 */
#ifndef HARNESS_CROSS_ENTROPY_CASE_H
#define HARNESS_CROSS_ENTROPY_CASE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/device.h"
#include "quern.h"

enum placement { OUT_OF_PLACE, IN_PLACE, NO_GRAD };

struct cross_entropy_case {
    quern_dtype logits_dtype;
    quern_dtype labels_dtype;      /* 0: int64 */
    quern_reduction reduction;
    int64_t rows, vocab;
    int64_t padding;               /* logits_stride - vocab */
    int64_t grad_padding;          /* grad_stride - vocab, when out of place */
    enum placement placement;
    int64_t ignore_index;
    int64_t ignored_every;         /* every n-th row is ignored; 0: none on purpose */
    bool has_upstream;             /* grad_loss is given, ... */
    int64_t upstream_stride;       /* ... with this stride */
    float grad_scale;
    int64_t offset;                /* elements by which every array misses a 256-byte boundary */
    bool no_loss, no_report;
    double center, spread, peak;   /* logits: center + spread * normal, and peak more in the label's column */
    uint64_t seed;
};

/* The defaults are there to be overridden. */
#pragma GCC diagnostic ignored "-Woverride-init"
#define CROSS_ENTROPY_CASE(...) \
    ((struct cross_entropy_case){.labels_dtype = QUERN_INT64, .ignore_index = -100, .grad_scale = 1, .spread = 2, \
                                 .upstream_stride = 1, .seed = 1, __VA_ARGS__})

struct cross_entropy_inputs {
    void *logits;       /* [rows, vocab + padding]; the padding holds NaN */
    void *labels;       /* [rows] */
    float *upstream;    /* all values that grad_loss and its stride span; those between are NaN */
    int64_t upstream_count;
    int64_t upstream_first;  /* where row 0's value is */
};

struct cross_entropy_outputs {
    void *grad;         /* [rows, vocab + padding] or NULL */
    float *loss;        /* [rows] or [1], or NULL */
    quern_cross_entropy_report report;
};

int64_t cross_entropy_logits_stride(const struct cross_entropy_case *c);
int64_t cross_entropy_grad_stride(const struct cross_entropy_case *c);

void cross_entropy_make_inputs(const struct cross_entropy_case *c, struct cross_entropy_inputs *inputs);
void cross_entropy_free_inputs(struct cross_entropy_inputs *inputs);
void cross_entropy_set_logit(const struct cross_entropy_case *c, struct cross_entropy_inputs *inputs, int64_t row,
                             int64_t column, double value);
void cross_entropy_set_label(const struct cross_entropy_case *c, struct cross_entropy_inputs *inputs, int64_t row,
                             int64_t label);
int64_t cross_entropy_get_label(const struct cross_entropy_case *c, const struct cross_entropy_inputs *inputs, int64_t row);

/* The arguments of the case, without its pointers. */
quern_cross_entropy_args cross_entropy_args_of(const struct cross_entropy_case *c);

/* Runs the call and checks that inputs, padding and guards are untouched. */
void cross_entropy_run(const struct test_device *device, const struct cross_entropy_case *c,
                       const struct cross_entropy_inputs *inputs, struct cross_entropy_outputs *outputs);
void cross_entropy_free_outputs(struct cross_entropy_outputs *outputs);

/* Compares everything with the oracle. */
void cross_entropy_compare(const struct cross_entropy_case *c, const struct cross_entropy_inputs *inputs,
                           const struct cross_entropy_outputs *outputs);

/* All of the above for inputs as they are made. */
void cross_entropy_check_case(const struct test_device *device, const struct cross_entropy_case *c);

/* Fails unless two runs gave the same bits. */
void cross_entropy_check_same(const struct cross_entropy_case *c, const struct cross_entropy_outputs *a,
                              const struct cross_entropy_outputs *b, const char *what);

#endif
