/*
 * The cast of elements of a tensor to 8 bits, on a CPU: x * scale in fp32, rounded once to nearest or stochastically.  3 or 5 bytes
 * are moved for each element.  A rest that does not fill a group is cast in a padded copy.
 *
 * Rendered by gen/ from templates/quantize/quantize_cast.c.j2; do not edit.
 */
#include "kernels/cpu/quantize_vectors.h"
#include "kernels/cpu/random.h"
#include "kernels/kernel.h"
#include "kernels/quantize_problem.h"
#include "kernels/quantize_scale.h"

#include <string.h>

enum { GROUP = QUERN_RANDOM_GROUP, BLOCK = QUERN_RANDOM_BLOCK };

static inline struct quern_philox philox_of(const struct quern_quantize_piece *piece) {
    struct quern_philox philox;
    quern_philox_open(&philox, piece->seed, piece->offset, piece->place);
    return philox;
}
/* `count` is a number of whole groups. */
static void nearest_f32_to_e4m3(uint8_t *to, const float *from, int64_t count, vector scale) {
    for (int64_t i = 0; i < count; i += PAIR)
        ordered_cast_e4m3(to + i, pair_multiply(ordered_load_f32(from + i), scale));
}

/* The same; `first` is the tensor's element with which `from` begins. */
static void stochastic_f32_to_e4m3(uint8_t *to, const float *from, int64_t count, vector scale, int64_t first,
                                 const struct quern_quantize_piece *piece) {
    const vector largest = vector_broadcast(quern_quantize_largest(QUERN_E4M3));
    struct quern_philox philox = philox_of(piece);
    struct quern_random random;
    for (int64_t block = 0; block < count; block += BLOCK) {
        const int elements = (int)(count - block < BLOCK ? count - block : BLOCK);
        quern_philox_draw(&philox, (uint64_t)(first + block) / 8, elements, &random);
        for (int i = 0; i < elements; i += PAIR) {
            const struct vector_pair x = pair_multiply(ordered_load_f32(from + block + i), scale);
            ordered_scale_e4m3(to + block + i, pair_hold(x, largest), ONE, random.bits + i, 0);
        }
    }
}

static void cast_f32_to_e4m3(uint8_t *to, const float *from, int64_t count, int64_t first,
                           const struct quern_quantize_piece *piece) {
    const vector scale = vector_broadcast(piece->scale);
    if (piece->stochastic)
        stochastic_f32_to_e4m3(to, from, count, scale, first, piece);
    else
        nearest_f32_to_e4m3(to, from, count, scale);
}

quern_any_cpu_kernel QUERN_KERNEL_NAME(quantize_f32_e4m3);

void QUERN_KERNEL_NAME(quantize_f32_e4m3)(const void *problem, int64_t first, int64_t end) {
    const struct quern_quantize_piece *piece = problem;
    const float *from = (const float *)piece->input + first;
    uint8_t *to = (uint8_t *)piece->output + first, narrow[GROUP];
    const int64_t count = end - first, whole = count / GROUP * GROUP;
    float wide[GROUP] = {0};
    cast_f32_to_e4m3(to, from, whole, first, piece);
    if (count == whole) return;
    memcpy(wide, from + whole, (size_t)(count - whole) * sizeof *from);
    cast_f32_to_e4m3(narrow, wide, GROUP, first + whole, piece);
    memcpy(to + whole, narrow, (size_t)(count - whole));
}
/* `count` is a number of whole groups. */
static void nearest_f32_to_e5m2(uint8_t *to, const float *from, int64_t count, vector scale) {
    for (int64_t i = 0; i < count; i += PAIR)
        ordered_cast_e5m2(to + i, pair_multiply(ordered_load_f32(from + i), scale));
}

/* The same; `first` is the tensor's element with which `from` begins. */
static void stochastic_f32_to_e5m2(uint8_t *to, const float *from, int64_t count, vector scale, int64_t first,
                                 const struct quern_quantize_piece *piece) {
    const vector largest = vector_broadcast(quern_quantize_largest(QUERN_E5M2));
    struct quern_philox philox = philox_of(piece);
    struct quern_random random;
    for (int64_t block = 0; block < count; block += BLOCK) {
        const int elements = (int)(count - block < BLOCK ? count - block : BLOCK);
        quern_philox_draw(&philox, (uint64_t)(first + block) / 8, elements, &random);
        for (int i = 0; i < elements; i += PAIR) {
            const struct vector_pair x = pair_multiply(ordered_load_f32(from + block + i), scale);
            ordered_scale_e5m2(to + block + i, pair_hold(x, largest), ONE, random.bits + i, 0);
        }
    }
}

static void cast_f32_to_e5m2(uint8_t *to, const float *from, int64_t count, int64_t first,
                           const struct quern_quantize_piece *piece) {
    const vector scale = vector_broadcast(piece->scale);
    if (piece->stochastic)
        stochastic_f32_to_e5m2(to, from, count, scale, first, piece);
    else
        nearest_f32_to_e5m2(to, from, count, scale);
}

quern_any_cpu_kernel QUERN_KERNEL_NAME(quantize_f32_e5m2);

void QUERN_KERNEL_NAME(quantize_f32_e5m2)(const void *problem, int64_t first, int64_t end) {
    const struct quern_quantize_piece *piece = problem;
    const float *from = (const float *)piece->input + first;
    uint8_t *to = (uint8_t *)piece->output + first, narrow[GROUP];
    const int64_t count = end - first, whole = count / GROUP * GROUP;
    float wide[GROUP] = {0};
    cast_f32_to_e5m2(to, from, whole, first, piece);
    if (count == whole) return;
    memcpy(wide, from + whole, (size_t)(count - whole) * sizeof *from);
    cast_f32_to_e5m2(narrow, wide, GROUP, first + whole, piece);
    memcpy(to + whole, narrow, (size_t)(count - whole));
}
/* `count` is a number of whole groups. */
static void nearest_f16_to_e4m3(uint8_t *to, const uint16_t *from, int64_t count, vector scale) {
    for (int64_t i = 0; i < count; i += PAIR)
        ordered_cast_e4m3(to + i, pair_multiply(ordered_load_f16(from + i), scale));
}

/* The same; `first` is the tensor's element with which `from` begins. */
static void stochastic_f16_to_e4m3(uint8_t *to, const uint16_t *from, int64_t count, vector scale, int64_t first,
                                 const struct quern_quantize_piece *piece) {
    const vector largest = vector_broadcast(quern_quantize_largest(QUERN_E4M3));
    struct quern_philox philox = philox_of(piece);
    struct quern_random random;
    for (int64_t block = 0; block < count; block += BLOCK) {
        const int elements = (int)(count - block < BLOCK ? count - block : BLOCK);
        quern_philox_draw(&philox, (uint64_t)(first + block) / 8, elements, &random);
        for (int i = 0; i < elements; i += PAIR) {
            const struct vector_pair x = pair_multiply(ordered_load_f16(from + block + i), scale);
            ordered_scale_e4m3(to + block + i, pair_hold(x, largest), ONE, random.bits + i, 0);
        }
    }
}

static void cast_f16_to_e4m3(uint8_t *to, const uint16_t *from, int64_t count, int64_t first,
                           const struct quern_quantize_piece *piece) {
    const vector scale = vector_broadcast(piece->scale);
    if (piece->stochastic)
        stochastic_f16_to_e4m3(to, from, count, scale, first, piece);
    else
        nearest_f16_to_e4m3(to, from, count, scale);
}

quern_any_cpu_kernel QUERN_KERNEL_NAME(quantize_f16_e4m3);

void QUERN_KERNEL_NAME(quantize_f16_e4m3)(const void *problem, int64_t first, int64_t end) {
    const struct quern_quantize_piece *piece = problem;
    const uint16_t *from = (const uint16_t *)piece->input + first;
    uint8_t *to = (uint8_t *)piece->output + first, narrow[GROUP];
    const int64_t count = end - first, whole = count / GROUP * GROUP;
    uint16_t wide[GROUP] = {0};
    cast_f16_to_e4m3(to, from, whole, first, piece);
    if (count == whole) return;
    memcpy(wide, from + whole, (size_t)(count - whole) * sizeof *from);
    cast_f16_to_e4m3(narrow, wide, GROUP, first + whole, piece);
    memcpy(to + whole, narrow, (size_t)(count - whole));
}
/* `count` is a number of whole groups. */
static void nearest_f16_to_e5m2(uint8_t *to, const uint16_t *from, int64_t count, vector scale) {
    for (int64_t i = 0; i < count; i += PAIR)
        ordered_cast_e5m2(to + i, pair_multiply(ordered_load_f16(from + i), scale));
}

/* The same; `first` is the tensor's element with which `from` begins. */
static void stochastic_f16_to_e5m2(uint8_t *to, const uint16_t *from, int64_t count, vector scale, int64_t first,
                                 const struct quern_quantize_piece *piece) {
    const vector largest = vector_broadcast(quern_quantize_largest(QUERN_E5M2));
    struct quern_philox philox = philox_of(piece);
    struct quern_random random;
    for (int64_t block = 0; block < count; block += BLOCK) {
        const int elements = (int)(count - block < BLOCK ? count - block : BLOCK);
        quern_philox_draw(&philox, (uint64_t)(first + block) / 8, elements, &random);
        for (int i = 0; i < elements; i += PAIR) {
            const struct vector_pair x = pair_multiply(ordered_load_f16(from + block + i), scale);
            ordered_scale_e5m2(to + block + i, pair_hold(x, largest), ONE, random.bits + i, 0);
        }
    }
}

static void cast_f16_to_e5m2(uint8_t *to, const uint16_t *from, int64_t count, int64_t first,
                           const struct quern_quantize_piece *piece) {
    const vector scale = vector_broadcast(piece->scale);
    if (piece->stochastic)
        stochastic_f16_to_e5m2(to, from, count, scale, first, piece);
    else
        nearest_f16_to_e5m2(to, from, count, scale);
}

quern_any_cpu_kernel QUERN_KERNEL_NAME(quantize_f16_e5m2);

void QUERN_KERNEL_NAME(quantize_f16_e5m2)(const void *problem, int64_t first, int64_t end) {
    const struct quern_quantize_piece *piece = problem;
    const uint16_t *from = (const uint16_t *)piece->input + first;
    uint8_t *to = (uint8_t *)piece->output + first, narrow[GROUP];
    const int64_t count = end - first, whole = count / GROUP * GROUP;
    uint16_t wide[GROUP] = {0};
    cast_f16_to_e5m2(to, from, whole, first, piece);
    if (count == whole) return;
    memcpy(wide, from + whole, (size_t)(count - whole) * sizeof *from);
    cast_f16_to_e5m2(narrow, wide, GROUP, first + whole, piece);
    memcpy(to + whole, narrow, (size_t)(count - whole));
}
/* `count` is a number of whole groups. */
static void nearest_bf16_to_e4m3(uint8_t *to, const uint16_t *from, int64_t count, vector scale) {
    for (int64_t i = 0; i < count; i += PAIR)
        ordered_cast_e4m3(to + i, pair_multiply(ordered_load_bf16(from + i), scale));
}

/* The same; `first` is the tensor's element with which `from` begins. */
static void stochastic_bf16_to_e4m3(uint8_t *to, const uint16_t *from, int64_t count, vector scale, int64_t first,
                                 const struct quern_quantize_piece *piece) {
    const vector largest = vector_broadcast(quern_quantize_largest(QUERN_E4M3));
    struct quern_philox philox = philox_of(piece);
    struct quern_random random;
    for (int64_t block = 0; block < count; block += BLOCK) {
        const int elements = (int)(count - block < BLOCK ? count - block : BLOCK);
        quern_philox_draw(&philox, (uint64_t)(first + block) / 8, elements, &random);
        for (int i = 0; i < elements; i += PAIR) {
            const struct vector_pair x = pair_multiply(ordered_load_bf16(from + block + i), scale);
            ordered_scale_e4m3(to + block + i, pair_hold(x, largest), ONE, random.bits + i, 0);
        }
    }
}

static void cast_bf16_to_e4m3(uint8_t *to, const uint16_t *from, int64_t count, int64_t first,
                           const struct quern_quantize_piece *piece) {
    const vector scale = vector_broadcast(piece->scale);
    if (piece->stochastic)
        stochastic_bf16_to_e4m3(to, from, count, scale, first, piece);
    else
        nearest_bf16_to_e4m3(to, from, count, scale);
}

quern_any_cpu_kernel QUERN_KERNEL_NAME(quantize_bf16_e4m3);

void QUERN_KERNEL_NAME(quantize_bf16_e4m3)(const void *problem, int64_t first, int64_t end) {
    const struct quern_quantize_piece *piece = problem;
    const uint16_t *from = (const uint16_t *)piece->input + first;
    uint8_t *to = (uint8_t *)piece->output + first, narrow[GROUP];
    const int64_t count = end - first, whole = count / GROUP * GROUP;
    uint16_t wide[GROUP] = {0};
    cast_bf16_to_e4m3(to, from, whole, first, piece);
    if (count == whole) return;
    memcpy(wide, from + whole, (size_t)(count - whole) * sizeof *from);
    cast_bf16_to_e4m3(narrow, wide, GROUP, first + whole, piece);
    memcpy(to + whole, narrow, (size_t)(count - whole));
}
/* `count` is a number of whole groups. */
static void nearest_bf16_to_e5m2(uint8_t *to, const uint16_t *from, int64_t count, vector scale) {
    for (int64_t i = 0; i < count; i += PAIR)
        ordered_cast_e5m2(to + i, pair_multiply(ordered_load_bf16(from + i), scale));
}

/* The same; `first` is the tensor's element with which `from` begins. */
static void stochastic_bf16_to_e5m2(uint8_t *to, const uint16_t *from, int64_t count, vector scale, int64_t first,
                                 const struct quern_quantize_piece *piece) {
    const vector largest = vector_broadcast(quern_quantize_largest(QUERN_E5M2));
    struct quern_philox philox = philox_of(piece);
    struct quern_random random;
    for (int64_t block = 0; block < count; block += BLOCK) {
        const int elements = (int)(count - block < BLOCK ? count - block : BLOCK);
        quern_philox_draw(&philox, (uint64_t)(first + block) / 8, elements, &random);
        for (int i = 0; i < elements; i += PAIR) {
            const struct vector_pair x = pair_multiply(ordered_load_bf16(from + block + i), scale);
            ordered_scale_e5m2(to + block + i, pair_hold(x, largest), ONE, random.bits + i, 0);
        }
    }
}

static void cast_bf16_to_e5m2(uint8_t *to, const uint16_t *from, int64_t count, int64_t first,
                           const struct quern_quantize_piece *piece) {
    const vector scale = vector_broadcast(piece->scale);
    if (piece->stochastic)
        stochastic_bf16_to_e5m2(to, from, count, scale, first, piece);
    else
        nearest_bf16_to_e5m2(to, from, count, scale);
}

quern_any_cpu_kernel QUERN_KERNEL_NAME(quantize_bf16_e5m2);

void QUERN_KERNEL_NAME(quantize_bf16_e5m2)(const void *problem, int64_t first, int64_t end) {
    const struct quern_quantize_piece *piece = problem;
    const uint16_t *from = (const uint16_t *)piece->input + first;
    uint8_t *to = (uint8_t *)piece->output + first, narrow[GROUP];
    const int64_t count = end - first, whole = count / GROUP * GROUP;
    uint16_t wide[GROUP] = {0};
    cast_bf16_to_e5m2(to, from, whole, first, piece);
    if (count == whole) return;
    memcpy(wide, from + whole, (size_t)(count - whole) * sizeof *from);
    cast_bf16_to_e5m2(narrow, wide, GROUP, first + whole, piece);
    memcpy(to + whole, narrow, (size_t)(count - whole));
}
