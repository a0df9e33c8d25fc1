/* The code that the measurements of kernels share: sizes, counted bytes, and the output line. */
#ifndef OPERATION_H
#define OPERATION_H

#include <stdbool.h>

#include "harness/bench.h"
#include "harness/machine.h"

/* ---- sizes ---- */

enum { MAX_THREAD_COUNTS = 8 };

struct plan {
    bool quick;
    struct patience patience;
    size_t case_bytes;                  /* approximate memory of one case, where it can be chosen */
    int threads[MAX_THREAD_COUNTS];     /* of a CPU */
    int thread_counts;                  /* 1 on a GPU */
};

/* Opens the machine for an operation of the library; ends the program if that fails. */
struct plan operation_open(struct machine *machine, const struct options *options, unsigned operation);

/* ---- the counted bytes: those that must move, each input read once and each output written once ---- */

/* Per logit. */
int cross_entropy_bytes(quern_dtype logits, bool gradient);
int cross_entropy_flops(bool gradient);

/* Per parameter; depends only on the dtypes and options of args. */
double adam_bytes(const quern_adam_args *args);
int adam_flops(void);

/* Whether moments of a dtype have a scale for every 32 elements. */
bool is_scaled(quern_dtype dtype);

/* ---- the output ---- */

struct measurement {
    const char *operation;  /* "cross_entropy", "adam" */
    const char *pass;       /* what of it: "forward", "forward + gradient", "step" */
    const char *dtypes;     /* "bf16", "bf16, fp32 master" */
    char shape[80];         /* "4096 x 32768", "GPT-2 124M, 148 tensors" */
    char peer[80];          /* the same shape for a peer's program: "4096 32768", "gpt2 768 12" */
    const char *explanation;  /* what a quern_..._explain function wrote */
    int64_t elements;
    double bytes_per_element;
    int flops_per_element;
    struct times times;
    const char *stream;     /* the loop with the same pattern: "read", "in place", "same mix" */
    double plain_seconds;   /* of the same without options; 0: this is the same */
    double copy_bytes_per_second, stream_bytes_per_second;  /* 0: not measured */
};

void measurement_write(const struct machine *machine, const struct measurement *measurement);

/* A case that did not run, with the reason. */
void measurement_skip(const char *operation, const char *shape, const char *why);

#endif
