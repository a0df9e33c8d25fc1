/*
 * One cross-entropy, described by a few numbers: its inputs are made from them (cross_entropy_case.c), it runs on the device
 * under test with guarded buffers, in one call or in several (cross_entropy_call.c), and all outputs are compared with the oracle
 * or with another run (cross_entropy_compare.c).
 */
#ifndef HARNESS_CROSS_ENTROPY_CASE_H
#define HARNESS_CROSS_ENTROPY_CASE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/device.h"
#include "oracle/cross_entropy.h"
#include "quern.h"

enum placement { OUT_OF_PLACE, IN_PLACE, NO_GRAD };

/* The optional outputs that a case requests. */
enum {
    WANT_LSE = 1, WANT_LOG_PROB = 2, WANT_ENTROPY = 4, WANT_ARGMAX = 8, WANT_STATS = 16,
    WANT_EVERYTHING = 31,
    WANT_WHAT_IS_FREE = WANT_LSE | WANT_LOG_PROB | WANT_STATS  /* of a plain kernel */
};

enum { MOST_SHARDS = 16 };

struct cross_entropy_case {
    quern_dtype logits_dtype;
    quern_dtype labels_dtype;      /* 0: int64 */
    quern_reduction reduction;
    int64_t rows, vocab;
    int64_t filled;                /* padded_vocab - vocab */
    int64_t padding;               /* logits_stride - padded_vocab */
    int64_t grad_padding;          /* grad_stride - padded_vocab, when out of place */
    enum placement placement;
    bool wide_grad;                /* fp32 for any logits; out of place */
    int64_t ignore_index;
    int64_t ignored_every;         /* every n-th row is ignored; 0: none on purpose */
    bool has_upstream;             /* grad_loss is given, ... */
    int64_t upstream_stride;       /* ... with this stride */
    bool has_log_prob_grad, has_entropy_grad;  /* likewise grad_log_prob and grad_entropy, with the same stride */
    float grad_scale;
    float label_smoothing, z_loss, softcap, inverse_temperature;
    bool has_temperatures;         /* a further one for each row */
    bool has_weights;              /* of the classes: random, some of them 0 */
    unsigned outputs;              /* WANT_... */
    int shards;                    /* 0: one call; else stats, combine and gradient over so many shards, ... */
    uint64_t split;                /* ... of random sizes that come of this seed; an odd one makes the first a single column */
    int64_t columns_before;        /* shards: columns of the whole vocab before those of the case, of which nothing is known */
    bool later;                    /* one call without the gradient, and another for it, from the stats of the first */
    int64_t offset;                /* elements by which every array misses a 256-byte boundary */
    bool no_loss, no_report;
    bool strict;                   /* labels */
    bool portable;                 /* bits */
    const char *refused;           /* every call returns QUERN_INVALID_ARGUMENT with this detail; NULL: every call succeeds */
    double center, spread, peak;   /* logits: center + spread * normal, and peak more in the label's column */
    uint64_t seed;
};

/* Later initialisers override the defaults. */
#pragma GCC diagnostic ignored "-Woverride-init"
#define CROSS_ENTROPY_CASE(...) \
    ((struct cross_entropy_case){.labels_dtype = QUERN_INT64, .ignore_index = -100, .grad_scale = 1, .spread = 2, \
                                 .upstream_stride = 1, .seed = 1, __VA_ARGS__})

struct cross_entropy_inputs {
    void *logits;       /* [rows, vocab + filled + padding]; beyond vocab there is NaN */
    void *labels;       /* [rows] */
    float *weights;     /* [vocab] */
    float *upstream;    /* all values that grad_loss and its stride span; those between are NaN */
    float *log_prob_upstream, *entropy_upstream;  /* the same of grad_log_prob and grad_entropy */
    int64_t upstream_count;
    int64_t upstream_first;  /* where row 0's value is */
    float *temperatures;     /* [rows], inverse */
};

/* Outputs that are not requested are NULL. */
struct cross_entropy_outputs {
    void *grad;         /* [rows, vocab + filled + padding] */
    float *loss;        /* [rows] or [1] */
    float *lse, *log_prob, *entropy;  /* [rows] */
    int64_t *argmax;
    quern_row_stats *stats;           /* of the whole rows */
    quern_cross_entropy_report report;
};

/* Runs a test body for every row of the target, on a device that is restricted to this row. */
typedef void cross_entropy_row_test(const struct test_device *device, const struct quern_kernel *row);
void for_each_cross_entropy_row(cross_entropy_row_test *body);
#define TEST_CROSS_ENTROPY_ROWS(suite, name) \
    TEST_EACH(for_each_cross_entropy_row, suite, name, const struct test_device *device, const struct quern_kernel *row)

/* ---- the case and its inputs ---- */

int64_t cross_entropy_logits_stride(const struct cross_entropy_case *c);
int64_t cross_entropy_grad_stride(const struct cross_entropy_case *c);
quern_dtype cross_entropy_grad_dtype(const struct cross_entropy_case *c);
int64_t cross_entropy_loss_count(const struct cross_entropy_case *c);
int64_t cross_entropy_grad_bytes(const struct cross_entropy_case *c);

/* The case in words; valid until the next call. */
const char *cross_entropy_describe(const struct cross_entropy_case *c);

void cross_entropy_make_inputs(const struct cross_entropy_case *c, struct cross_entropy_inputs *inputs);
void cross_entropy_free_inputs(struct cross_entropy_inputs *inputs);
#define OPEN_INPUTS(inputs, c) \
    struct cross_entropy_inputs inputs CLOSED_BY(cross_entropy_free_inputs); cross_entropy_make_inputs(c, &inputs)
void cross_entropy_set_logit(const struct cross_entropy_case *c, struct cross_entropy_inputs *inputs, int64_t row,
                             int64_t column, double value);
double cross_entropy_get_logit(const struct cross_entropy_case *c, const struct cross_entropy_inputs *inputs, int64_t row,
                               int64_t column);
void cross_entropy_set_label(const struct cross_entropy_case *c, struct cross_entropy_inputs *inputs, int64_t row,
                             int64_t label);
int64_t cross_entropy_get_label(const struct cross_entropy_case *c, const struct cross_entropy_inputs *inputs, int64_t row);

/* Whether the row must not be written: its label is bad and labels are strict, or all calls are refused. */
bool cross_entropy_is_kept(const struct cross_entropy_case *c, const struct cross_entropy_inputs *inputs, int64_t row);

/* The first column of each shard, and at [shards] the end of the last one; never more shards than columns. */
int cross_entropy_split(const struct cross_entropy_case *c, int64_t first[MOST_SHARDS + 1]);

/*
 * Turns on the options that the kernel of a row supports: for a plain kernel those that cost it nothing, for a full one all; the
 * softcap only on request, since it makes infinities finite.
 */
void cross_entropy_add_options(struct cross_entropy_case *c, const struct quern_kernel *row, bool softcap);
/* Wants portable bits, without what has none on the device. */
void cross_entropy_make_portable(struct cross_entropy_case *c);

/* Kernels that divide rows by parts take so many columns at a time. */
int64_t cross_entropy_part_columns(quern_dtype logits);

/* The arguments of the case, without its pointers. */
quern_cross_entropy_args cross_entropy_args_of(const struct cross_entropy_case *c);

/* ---- running it ---- */

/* Runs the call or the steps and checks that inputs, padding and guards are untouched. */
void cross_entropy_run(const struct test_device *device, const struct cross_entropy_case *c,
                       const struct cross_entropy_inputs *inputs, struct cross_entropy_outputs *outputs);
void cross_entropy_free_outputs(struct cross_entropy_outputs *outputs);
#define OPEN_OUTPUTS(outputs, ...) \
    struct cross_entropy_outputs outputs CLOSED_BY(cross_entropy_free_outputs); cross_entropy_run(__VA_ARGS__, &outputs)

/* ---- comparisons ---- */

/* Compares all outputs with the oracle. */
void cross_entropy_compare(const struct cross_entropy_case *c, const struct cross_entropy_inputs *inputs,
                           const struct cross_entropy_outputs *outputs);

/* Runs the case and compares it with the oracle: with these inputs, with its own, or with its own after a change. */
typedef void cross_entropy_edit(const struct cross_entropy_case *c, struct cross_entropy_inputs *inputs);
void cross_entropy_check_inputs(const struct test_device *device, const struct cross_entropy_case *c,
                                const struct cross_entropy_inputs *inputs);
void cross_entropy_check_case(const struct test_device *device, const struct cross_entropy_case *c);
void cross_entropy_check_edited(const struct test_device *device, const struct cross_entropy_case *c, cross_entropy_edit *edit);

/* Fails unless the outputs that both runs have are equal bit for bit. */
void cross_entropy_check_same(const struct cross_entropy_case *c, const struct cross_entropy_outputs *a,
                              const struct cross_entropy_outputs *b, const char *what);

/*
 * A row of a batch with these outputs, run alone and `offset` elements beyond a 256-byte boundary, has the same bits.  The batch
 * has no upstream gradients, and the same stride for any placement.
 */
void cross_entropy_check_row_alone(const struct test_device *device, const struct cross_entropy_case *c,
                                   const struct cross_entropy_inputs *inputs, const struct cross_entropy_outputs *all, int64_t row,
                                   int64_t offset, enum placement placement);

/* Fails unless the values of two runs are neighbours or within the tolerance of cross_entropy_compare.c; stats are not compared. */
void cross_entropy_check_near(const struct cross_entropy_case *c, const struct cross_entropy_inputs *inputs,
                              const struct cross_entropy_outputs *a, const struct cross_entropy_outputs *b, const char *what);

#endif
