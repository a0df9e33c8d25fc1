#include "models.h"

#include <stdlib.h>

#include "machine.h"

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
