/*
 * The known answers of the quantisation's kernels: the amax of 64 values, their cast, and that of the transposed matrix of 8 x 8.
 * Called by quern_prepare through the operation's row.
 *
 * The largest value is that of the 8-bit type divided by 2^8, so that the scale is 2^8; the others are powers of two.  Every type
 * represents all of them and their products.
 */
#include "quantize/quantize.h"

#include <stddef.h>

#include "kernels/quantize_problem.h"
#include "kernels/quantize_scale.h"
#include "runtime/storage.h"

enum { SIDE = 8, COUNT = SIDE * SIDE };

#define SCALE 0x1p8

struct memory {
    char input[4 * COUNT], output[COUNT], transposed[COUNT];
    float amax, scale, scale_inv;
    struct quern_quantize_state state;
};

/* A kernel of amaxes has no 8-bit type: either will do. */
static quern_dtype output_of(const struct quern_kernel *kernel) {
    return kernel->key.any.task == QUERN_QUANTIZE_AMAX ? QUERN_E4M3 : kernel->key.any.dtypes[1];
}

static double largest_of(const struct quern_kernel *kernel) { return (double)quern_quantize_largest(output_of(kernel)); }

static double input_of(const struct quern_kernel *kernel, int i) {
    const double power = (double)(1 << i % 8) / 256;
    return i == 13 ? -largest_of(kernel) / SCALE : i % 3 ? power : -power;
}

/* A member of the memory, as a pointer on the device. */
#define ON_DEVICE(trial, member) ((void *)(uintptr_t)((trial)->address + offsetof(struct memory, member)))

static void ask(const struct quern_kernel *kernel, struct quern_trial *trial) {
    struct memory *memory = (struct memory *)(void *)trial->memory;
    struct quern_quantize_batch *batch = trial->parameters;
    float values[COUNT];
    for (int i = 0; i < COUNT; i++) values[i] = (float)input_of(kernel, i);
    quern_storage_narrow(kernel->key.any.dtypes[0], values, COUNT, false, memory->input, NULL);
    memory->amax = (float)(largest_of(kernel) / SCALE);
    memory->state = (struct quern_quantize_state){0};
    batch->states = ON_DEVICE(trial, state);
    batch->amax = ON_DEVICE(trial, amax);
    batch->scale = ON_DEVICE(trial, scale);
    batch->scale_inv = ON_DEVICE(trial, scale_inv);
    batch->list_count = batch->tensor_count = 1;
    batch->tile_count = 1;
    batch->tensors[0] = (struct quern_quantize_slice){ON_DEVICE(trial, input), ON_DEVICE(trial, output), COUNT};
    if (kernel->key.any.task == QUERN_QUANTIZE_MATRIX)
        batch->matrices[0] = (struct quern_quantize_matrix){.input = ON_DEVICE(trial, input), .output = ON_DEVICE(trial, output),
                                                            .transposed = ON_DEVICE(trial, transposed), .rows = SIDE,
                                                            .columns = SIDE};
    if (kernel->key.any.task == QUERN_QUANTIZE_AMAX) memory->amax = -1;
    trial->arguments[0] = batch;
}

static bool numbers_are_wrong(const char *name, const float *value, double expected, struct quern_text *why) {
    const struct quern_answer answer = {name, QUERN_F32, value, NULL, 1, 0};
    return quern_answer_is_wrong(&answer, &expected, why);
}

static bool codes_are_wrong(const struct quern_kernel *kernel, const char *name, const char *codes, const double *expected,
                            struct quern_text *why) {
    const struct quern_answer answer = {name, output_of(kernel), codes, NULL, COUNT, 0};
    return quern_answer_is_wrong(&answer, expected, why);
}

static bool is_wrong(const struct quern_kernel *kernel, const char *bytes, struct quern_text *why) {
    const struct memory *memory = (const struct memory *)(const void *)bytes;
    double expected[COUNT], exchanged[COUNT];
    if (numbers_are_wrong("amax", &memory->amax, largest_of(kernel) / SCALE, why)) return true;
    if (kernel->key.any.task == QUERN_QUANTIZE_AMAX) return false;
    for (int i = 0; i < COUNT; i++) exchanged[i % SIDE * SIDE + i / SIDE] = expected[i] = input_of(kernel, i) * SCALE;
    return numbers_are_wrong("scale", &memory->scale, SCALE, why) ||
           numbers_are_wrong("scale_inv", &memory->scale_inv, 1 / SCALE, why) ||
           codes_are_wrong(kernel, "output", memory->output, expected, why) ||
           (kernel->key.any.task == QUERN_QUANTIZE_MATRIX &&
            codes_are_wrong(kernel, "transposed", memory->transposed, exchanged, why));
}

const struct quern_known_answers quern_quantize_answers = {.memory_bytes = sizeof(struct memory),
                                                           .parameter_bytes = sizeof(struct quern_quantize_batch),
                                                           .ask = ask, .is_wrong = is_wrong};
