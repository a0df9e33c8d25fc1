/* Lists of tensors, and buffers of random values.  Called by cross_entropy.c and adam.c. */
#include "operations/data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- lists of tensors ---- */

enum { VOCAB = 50257, POSITIONS = 1024 };

static struct tensor_list empty_list(int64_t room) {
    struct tensor_list list = {.counts = malloc((size_t)room * sizeof *list.counts)};
    if (!list.counts) machine_fail("out of memory");
    return list;
}

static void add(struct tensor_list *list, int64_t rows, int64_t columns) {
    list->counts[list->tensors++] = rows * columns;
    list->elements += rows * columns;
}

/* A weight matrix and its bias. */
static void add_linear(struct tensor_list *list, int64_t inputs, int64_t outputs) {
    add(list, inputs, outputs);
    add(list, 1, outputs);
}

static void add_layer_norm(struct tensor_list *list, int64_t width) {
    add(list, 1, width);
    add(list, 1, width);
}

struct tensor_list gpt2_tensors(int64_t width, int64_t layers) {
    struct tensor_list list = empty_list(2 + 12 * layers + 2);
    add(&list, VOCAB, width);
    add(&list, POSITIONS, width);
    for (int64_t layer = 0; layer < layers; layer++) {
        add_layer_norm(&list, width);
        add_linear(&list, width, 3 * width);
        add_linear(&list, width, width);
        add_layer_norm(&list, width);
        add_linear(&list, width, 4 * width);
        add_linear(&list, 4 * width, width);
    }
    add_layer_norm(&list, width);
    return list;
}

struct tensor_list equal_tensors(int64_t tensors, int64_t count) {
    struct tensor_list list = empty_list(tensors);
    for (int64_t i = 0; i < tensors; i++) add(&list, 1, count);
    return list;
}

void tensor_list_free(struct tensor_list *list) {
    free(list->counts);
    *list = (struct tensor_list){0};
}

/* ---- values ---- */

enum { BLOCK_BYTES = 16 << 20 };

/* splitmix64 (Steele, Lea and Flood 2014). */
static uint64_t random_bits(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* The position of exponent and sign in a dtype's bits. */
struct layout {
    quern_dtype dtype;
    int mantissa_bits, bias, bytes;
};

static const struct layout *layout_of(quern_dtype dtype) {
    static const struct layout layouts[] = {{QUERN_F32, 23, 127, 4}, {QUERN_F16, 10, 15, 2}, {QUERN_BF16, 7, 127, 2},
                                            {QUERN_E4M3, 3, 7, 1}, {QUERN_E5M2, 2, 15, 1},
                                            {QUERN_REMAINDER, 7, 127, 2} /* any bits */};
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].dtype == dtype) return &layouts[i];
    fprintf(stderr, "no benchmark has values of %s\n", quern_dtype_name(dtype));
    exit(1);
}

static void fill(void *data, quern_dtype dtype, size_t count, struct value_range range) {
    const struct layout *layout = layout_of(dtype);
    uint64_t state = 1;
    int mantissa_bits = layout->mantissa_bits, bits = 8 * layout->bytes;
    for (size_t i = 0; i < count; i++) {
        uint64_t random = random_bits(&state);
        uint32_t mantissa = (uint32_t)random & ((1u << mantissa_bits) - 1);
        int power = range.low + (int)((random >> 32) % (uint64_t)(range.high - range.low));
        uint32_t exponent = (uint32_t)(layout->bias + power);
        uint32_t sign = range.both_signs ? (uint32_t)(random >> 63) : 0;
        uint32_t value = sign << (bits - 1) | exponent << mantissa_bits | mantissa;
        if (bits == 8)
            ((uint8_t *)data)[i] = (uint8_t)value;
        else if (bits == 16)
            ((uint16_t *)data)[i] = (uint16_t)value;
        else
            ((uint32_t *)data)[i] = value;
    }
}

size_t buffer_bytes(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* One block is generated and then copied on the machine, which is much faster than generating all of it. */
static void repeat_block(const struct machine *machine, char *memory, size_t total, const void *host, size_t block) {
    machine_upload(machine, memory, host, block);
    for (size_t done = block; done < total; done += block)
        machine_copy(machine, memory + done, memory, smaller(block, total - done));
}

void *values_create(const struct machine *machine, quern_dtype dtype, int64_t count, struct value_range range) {
    size_t total = buffer_bytes((size_t)count * quern_dtype_bytes(dtype)), block = smaller(total, BLOCK_BYTES);
    char *memory = machine_allocate(machine, total), *host = memory ? malloc(block) : NULL;
    if (!host) {
        machine_release(machine, memory);
        return NULL;
    }
    fill(host, dtype, block / quern_dtype_bytes(dtype), range);
    repeat_block(machine, memory, total, host, block);
    free(host);
    return memory;
}

void *bytes_create(const struct machine *machine, int64_t count, int value) {
    static unsigned char host[1 << 16];
    size_t total = buffer_bytes((size_t)count);
    char *memory = machine_allocate(machine, total);
    memset(host, value, sizeof host);
    if (memory) repeat_block(machine, memory, total, host, smaller(total, sizeof host));
    return memory;
}

void *labels_create(const struct machine *machine, int64_t rows, int64_t vocab) {
    size_t bytes = (size_t)rows * sizeof(int64_t);
    int64_t *host = malloc(bytes);
    void *memory = host ? machine_allocate(machine, bytes) : NULL;
    uint64_t state = 2;
    if (memory) {
        for (int64_t row = 0; row < rows; row++) host[row] = (int64_t)(random_bits(&state) % (uint64_t)vocab);
        machine_upload(machine, memory, host, bytes);
    }
    free(host);
    return memory;
}
