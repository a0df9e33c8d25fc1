/*
 * One step of Adam over a list of tensors that are stored in arenas, one per value, with gaps between the tensors.  The model
 * takes the step in a copy of the arenas; afterwards the arenas must be equal, including the gaps, so one comparison shows both
 * wrong values and writes out of bounds.
 *
 * The model is the same on every target, so if the suites pass, all targets give the same bits.
 */
#ifndef HARNESS_ADAM_CASE_H
#define HARNESS_ADAM_CASE_H

#include "harness/buffer.h"

enum adam_arena {
    ARENA_PARAM, ARENA_GRAD, ARENA_M, ARENA_V, ARENA_MASTER, ARENA_M_SCALE, ARENA_V_SCALE, ARENA_V_MAX, ARENA_V_MAX_SCALE,
    ARENA_COPY, ARENA_COPY_SCALE, ARENA_COPY_MAX, ARENA_CONTROL, ARENA_STEPS, ARENAS
};

/* The last arena is args.steps.  The layout of the control arena: the values that args.control points to. */
struct adam_numbers {
    int64_t step;
    float lr, grad_scale, clip, found_inf;
};

struct adam_problem {
    quern_adam_args args;             /* its tensors and control point into the arenas below */
    quern_adam_tensor *tensors;
    unsigned char *arena[ARENAS];     /* NULL: not used */
    size_t bytes[ARENAS];
    bool with_plan;                   /* how the case is run; false after adam_make */
    bool with_grads;                  /* with a plan that was made with other gradients, which are gone */
};

/* Runs a test body for every row of the target, on a device that is restricted to this row; returns how many there were. */
typedef void adam_row_test(const struct test_device *device, const struct quern_kernel *row);
int for_each_adam_row(adam_row_test *body);
#define TEST_ADAM_ROWS(suite, name) \
    TEST_EACH(for_each_adam_row, suite, name, const struct test_device *device, const struct quern_kernel *row)

/* Rows that stand for all in a case that does not depend on the types, on an emulated GPU: bf16 everywhere, plain and full. */
bool adam_is_typical(const struct quern_kernel *row);

/* The row of the target with these types, a full one or a plain one; the test fails without it. */
const struct quern_kernel *find_adam_row(quern_dtype param, quern_dtype grad, quern_dtype m, quern_dtype v, quern_dtype master,
                                         bool full);

/*
 * The dtypes of a row, in arguments with a learning rate, weight decay, seed and step 3, and all options if the row is a full
 * one.
 */
quern_adam_args adam_args_of(const struct quern_kernel *row);

/* The same rounding for all values; a parameter with a remainder has only one. */
void adam_set_rounding(quern_adam_args *args, quern_rounding param, quern_rounding m, quern_rounding v);

/*
 * Lays out tensors of the given sizes and fills them with random values; args.control points to the requested numbers in the
 * memory of the device.  Every array of every tensor misses a 64-byte boundary by a different number of elements.  With an F32
 * master, params hold the gaps' pattern: they must not be read.  Some tensors have no copy_scale or copy_max.
 */
void adam_make(struct adam_problem *problem, const quern_adam_args *args, const int64_t *counts, int64_t tensor_count);
void adam_copy(struct adam_problem *copy, const struct adam_problem *problem);
void adam_free(struct adam_problem *problem);
#define OPEN_ADAM(problem, ...) struct adam_problem problem CLOSED_BY(adam_free); adam_make(&problem, __VA_ARGS__)
/* The same of tensors with these numbers of elements. */
#define OPEN_TENSORS(problem, args, ...) \
    OPEN_ADAM(problem, args, (const int64_t[]){__VA_ARGS__}, COUNT(((const int64_t[]){__VA_ARGS__})))

struct adam_numbers *adam_numbers(const struct adam_problem *problem);

/* Sets the values of elements [first, first + count) of m, v or v_max, whole blocks of a scaled type. */
void adam_set_moment(struct adam_problem *problem, int64_t place, int arena, int64_t first, int64_t count, const float *values);

/* Stores a value without rescaling its block: for a moment the code, for a remainder master both halves. */
void adam_set_value(struct adam_problem *problem, int64_t place, int arena, int64_t i, double value);

/* Sets a whole array of the first tensor, moments with their scales. */
void adam_set_all(struct adam_problem *problem, int arena, double value);

/* The value of an element of an arena; m, v and v_max with their scale. */
double adam_value_at(const struct adam_problem *problem, int64_t place, int arena, int64_t i);

/* ---- on the device ---- */

/* The arenas in guarded buffers of the device, for any number of steps. */
struct adam_session {
    const struct test_device *device;
    struct buffer buffers[ARENAS], workspace;
    quern_adam_tensor *tensors;
    quern_adam_args args;             /* may change between steps, except the fields that the workspace and the plan depend on */
    quern_adam_plan *plan;
    void **grads;                     /* [grad_count]: of a plan with other gradients */
    int64_t grad_count;
    size_t workspace_bytes;
};

void adam_session_open(struct adam_session *session, const struct test_device *device, const struct adam_problem *problem);
quern_status adam_session_step(struct adam_session *session);
void adam_session_write(struct adam_session *session, const struct adam_problem *problem, int arena);
void adam_session_read(struct adam_session *session, struct adam_problem *problem);
void adam_session_close(struct adam_session *session);
#define OPEN_ADAM_SESSION(session, ...) \
    struct adam_session session CLOSED_BY(adam_session_close); adam_session_open(&session, __VA_ARGS__)

/* Takes the step on the device and brings the arenas back. */
void adam_run(const struct test_device *device, struct adam_problem *problem);

/* ---- comparisons ---- */

/* Fails unless the arenas are equal: bit for bit, except the payload of an fp32 NaN. */
void adam_check_same(const struct adam_problem *got, const struct adam_problem *expected, const char *what);

/* Fails unless one step from `before` led to `after` within rounding of the exact formula. */
void adam_check_exact(const struct adam_problem *before, const struct adam_problem *after, const char *what);

/* Runs the step on the device and in the model, compares, and leaves the state after the step in problem. */
void adam_check_step(const struct test_device *device, struct adam_problem *problem, const char *what);

/* The same, compared with the exact formula too; the problem stays as it is. */
void adam_check_only_step(const struct test_device *device, const struct adam_problem *before, const char *what);

/* The same for steps from 1 on with other learning rates; without a step in the arguments, all calls are equal. */
void adam_check_steps(const struct test_device *device, struct adam_problem *problem, int64_t steps, const char *what);

#endif
