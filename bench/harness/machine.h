/*
 * The machine under measurement, a CPU or a GPU: its memory, its clock, and plain loops over its memory.
 *
 * The loops are the baseline of a kernel: they move bytes in the same pattern and compute almost nothing.  A GPU's are in
 * stream.cu, a CPU's in stream.c.  They leave the data unchanged (they combine it with a mask that is zero, which the compiler
 * cannot know), so that a loop and a kernel can take turns on the same buffer.
 */
#ifndef MACHINE_H
#define MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/stream.h"
#include "harness/times.h"
#include "quern.h"

enum { MAX_MARKS = 16 };

struct machine {
    quern_device *quern;
    quern_device_info info;
    int threads;          /* of the CPU's loops; set together with those of the device */
    size_t cache_bytes;   /* of the largest cache */
    size_t memory_bytes;  /* free at the start */
    bool has_loops;       /* false: only machine_copy (a GPU whose loops were not built) */
    const struct machine_functions *functions;
};

/* The functions that each kind of machine implements; the functions below call them. */
struct machine_functions {
    bool (*open)(struct machine *machine, int ordinal, const char *loops);
    void *(*allocate)(size_t bytes);
    void (*release)(void *memory);
    void (*upload)(void *to, const void *from, size_t bytes);
    void (*copy)(const struct machine *machine, void *to, const void *from, size_t bytes);
    void (*update)(const struct machine *machine, void *data, size_t bytes);
    void (*read)(const struct machine *machine, const void *data, size_t bytes);
    void (*optimize)(const struct machine *machine, const struct optimizer_arrays *arrays);
    void (*mark)(int index);
    double (*seconds)(int from, int to);
};

extern const struct machine_functions cpu_machine, cuda_machine;

/*
 * Opens "cpu", "cuda" or "cuda:N" and the library's device on it, prepared for the operations; `loops` is the PTX file of a GPU's
 * loops, or NULL.  On failure false, after a message on stderr.
 */
bool machine_open(struct machine *machine, const char *device, const char *loops, unsigned operations);
void machine_close(struct machine *machine);

/* Writes a line with the machine's name, cores and caches. */
void machine_record(const struct machine *machine);

/* The threads of the library's CPU kernels and of the loops; no effect on a GPU. */
bool machine_set_threads(struct machine *machine, int threads);

/* NULL when there is not enough memory. */
void *machine_allocate(const struct machine *machine, size_t bytes);
void machine_release(const struct machine *machine, void *memory);
void machine_upload(const struct machine *machine, void *to, const void *from, size_t bytes);

/* The loops.  On a GPU they are only enqueued. */
void machine_copy(const struct machine *machine, void *to, const void *from, size_t bytes);  /* reads and writes */
void machine_update(const struct machine *machine, void *data, size_t bytes);                /* reads and writes in place */
void machine_read(const struct machine *machine, const void *data, size_t bytes);            /* only reads */
void machine_optimize(const struct machine *machine, const struct optimizer_arrays *arrays); /* as they say */

/* Marks a point in the stream of work, 0 <= index < MAX_MARKS, and gives the time between two marks once both have passed. */
void machine_mark(const struct machine *machine, int index);
double machine_seconds(const struct machine *machine, int from, int to);

/*
 * Times activities that take turns: each runs once in every round, so that a kernel and the loops it is compared with run under
 * the same conditions, even if other programs start and end.
 */
struct activity {
    void (*run)(void *context);
    void *context;
    bool repeatable;     /* may run several times in a row: short activities do, to exceed the clock's error */
    struct times times;  /* result */
};

struct patience {
    double seconds;   /* duration of the rounds, per activity on average */
    int least_rounds;
};

/* Runs one extra round first, which is not counted. */
void machine_measure(const struct machine *machine, struct activity *activities, int count, const struct patience *patience);

/* Ends the program with a message, for errors that do not occur on a working machine. */
_Noreturn void machine_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same with the library's reason, for the call that failed. */
_Noreturn void machine_fail_call(const char *call);

#endif
