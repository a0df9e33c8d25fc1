/* What the suites of traces and dumps look at: a step of Adam that can be repeated.  With a temporary folder. */
#ifndef HARNESS_LOOK_BENCH_H
#define HARNESS_LOOK_BENCH_H

#include "harness/adam_case.h"

/* The elements of the two tensors: bf16 parameters, gradients and moments, and fp32 masters. */
enum { LOOK_COUNT = 700, LOOK_LAST = 33 };

struct bench {
    struct test_device device;  /* ready for Adam and cross-entropy */
    struct adam_problem problem;
    struct adam_session adam;
    const char *folder;
    char path[512];             /* in the folder */
};

void bench_open(struct bench *bench, const char *path);
void bench_close(struct bench *bench);
quern_status bench_step(struct bench *bench);

#endif
