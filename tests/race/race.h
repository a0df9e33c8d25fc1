/*
 * Programs under ThreadSanitizer, which reports a missing order even when the result happens to be right.  They are plain programs,
 * since it does not work under Criterion; a process with a race ends with its status.
 */
#ifndef RACE_RACE_H
#define RACE_RACE_H

#include <stdio.h>
#include <stdlib.h>

#include "harness/args.h"
#include "quern.h"

/* Ends the program unless the condition holds, or the call succeeds. */
#define CHECK(condition) do { if (!(condition)) fail(__FILE__, __LINE__, #condition); } while (0)
#define OK(call) CHECK((call) == QUERN_OK)

static inline void fail(const char *file, int line, const char *what) {
    char detail[1024];
    quern_error_detail(detail, sizeof detail);
    printf("race: %s, line %d: %s: %s\n", file, line, what, detail);
    exit(EXIT_FAILURE);
}

/* What threads.c runs, until a name is NULL. */
struct scene {
    const char *name;
    void (*run)(void);
};

extern const struct scene idle_scenes[], look_scenes[];

/* What kernels.c runs, and its memory of device 0, whose context is current: with these contents, or zeros (NULL). */
void run_cross_entropy(void), run_adam(void), run_gpu_ranks(void);

extern const struct quern_cuda *driver;
void *device_memory(size_t bytes, const void *contents);
void free_device_memory(const void *memory);

#endif
