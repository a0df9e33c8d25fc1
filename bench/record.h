/* One measurement, written as a line of JSON: what run.py reads. */
#ifndef RECORD_H
#define RECORD_H

#include "machine.h"
#include "timing.h"

struct record {
    const char *operation;  /* "cross_entropy", "adam" */
    const char *pass;       /* what of it: "forward", "forward + gradient", "step" */
    const char *dtypes;     /* "bf16", "bf16, fp32 master" */
    char shape[80];         /* "4096 x 32768", "GPT-2 124M, 148 tensors" */
    char peer[80];          /* the same shape for a peer's program: "4096 32768", "gpt2 768 12" */
    char kernel[120];
    int64_t elements;
    double bytes_per_element;
    int flops_per_element;
    int rounds;
    const struct activity *kernel_time;
    const char *stream;     /* the loop with the same pattern: "read", "in place", "same mix" */
    double plain_seconds;   /* of the same without options; 0: this is the same */
    double copy_bytes_per_second, stream_bytes_per_second;  /* 0: not measured */
};

/* The machine, as the first line. */
void record_machine(const struct machine *machine);

void record_write(const struct machine *machine, const struct record *record);

/* A case that did not run, with the reason. */
void record_skipped(const char *operation, const char *shape, const char *why);

/* The chosen kernel's name out of the text of a quern_…_explain function. */
void record_kernel(struct record *record, const char *explanation);

#endif
