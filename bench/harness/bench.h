/* The subjects of the benchmarks, their options, and their self-test. */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stdint.h>

/* The command line, as main.c lists it. */
struct options {
    const char *device;      /* "cpu", "cuda:N" */
    const char *loops;       /* the PTX of stream.cu, for a GPU; NULL: none */
    double seconds;          /* how long to time one activity */
    bool quick;              /* small shapes and few rounds: shows that everything works, measures little */

    /* kernels */
    const char *threads;     /* "1,2,4"; NULL: one, and all */
    double gigabytes;        /* the most memory that one case takes, where it can be chosen; 0: the default */
    const char *list;        /* steps of Adam over this list of tensors, one for each line of standard input; else NULL */
    const char *dtypes;      /* ... in these types */

    /* ranks */
    const char *kind;        /* "threads", "processes" */
    const char *only;        /* the one barrier to measure; NULL: all */
    int64_t ranks, cores;    /* the ranks share so many cores */
    double limit;            /* seconds, after which a case is given up */
    int64_t turns;           /* of each barrier */
    int64_t rows, row_bytes; /* of the slice that a rank sends to another */
    int64_t updates;         /* also in so many updates */
    int64_t cache_bytes;     /* the buffers of an all-to-all exceed these */
};

struct subject {
    const char *name;
    const char *measures;                          /* for --help */
    void (*run)(const struct options *options);    /* writes a line for each measurement (record.h) */
    void (*self_test)(void);                       /* calls check and state_bytes */
};

extern const struct subject cross_entropy_subject, few_rows_subject, lists_subject, adam_subject, quantize_subject, barrier_subject,
    ragged_all_to_all_subject;

/* Ends the program with status 2 and a message about its command line. */
_Noreturn void refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- self-test ---- */

/* Counts a check, and prints it if it failed.  The numbers are whole or exact fractions. */
void check(const char *what, double found, double expected);

/* Prints a count of bytes, which run.py compares with what the documentation states. */
void state_bytes(const char *name, double bytes);

/* Checks the harness and every subject; prints "N passed, N failed" and returns 0 if all passed. */
int self_test(const struct subject *const *subjects, int count);

#endif
