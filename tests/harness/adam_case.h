/*
 * One step of Adam over a list of tensors that all live in five arenas, one per value, with gaps between the tensors.  The
 * model takes the step in a copy of the arenas; afterwards the arenas must be equal, gaps included, so that a single
 * comparison shows wrong values as well as writes out of bounds.
 */
#ifndef HARNESS_ADAM_CASE_H
#define HARNESS_ADAM_CASE_H

#include <stddef.h>
#include <stdint.h>

#include "harness/device.h"
#include "quern.h"

enum adam_arena { ARENA_PARAM, ARENA_GRAD, ARENA_M, ARENA_V, ARENA_MASTER, ARENAS };

struct adam_problem {
    quern_adam_args args;             /* its tensors point into the arenas below */
    quern_adam_tensor *tensors;
    unsigned char *arena[ARENAS];     /* NULL: no master */
    size_t bytes[ARENAS];
};

/* The dtypes of a table row in a struct of arguments with a learning rate, weight decay, seed and step 3. */
quern_adam_args adam_args_of(const struct quern_kernel *row);

/*
 * Lays out tensors of the given sizes and fills them with random values.  Every array of every tensor misses a 64-byte
 * boundary by another number of elements.  With a master, params hold the gaps' pattern: they must not be read.
 */
void adam_make(struct adam_problem *problem, const quern_adam_args *args, const int64_t *counts, int64_t tensor_count);
void adam_copy(struct adam_problem *copy, const struct adam_problem *problem);
void adam_free(struct adam_problem *problem);

/* Takes the step on the device, in guarded buffers, and brings the arenas back. */
void adam_run(const struct test_device *device, struct adam_problem *problem);

/* Fails unless the arenas are equal: bit for bit, but for the payload of an fp32 NaN. */
void adam_check_same(const struct adam_problem *got, const struct adam_problem *expected, const char *what);

/* Fails unless one step from `before` led to `after` within rounding of the exact formula. */
void adam_check_exact(const struct adam_problem *before, const struct adam_problem *after, const char *what);

/* Runs the step on the device and in the model, compares, and leaves the state after the step in problem. */
void adam_check_step(const struct test_device *device, struct adam_problem *problem, const char *what);

#endif
