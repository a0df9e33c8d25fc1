/*
 * Buffers that share memory: for each operation every pair of its buffers overlaps at either end, by as little as their alignment
 * allows, and is refused if the call writes one of them.  Neighbours that only touch are not.
 *
 * Runs on: cpu, one emulated, gpu.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/buffer.h"
#include "harness/check.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- pairs ---- */

enum use { UNUSED, READ, WRITTEN };

struct part {
    const char *name;         /* in the detail */
    void **slot;              /* where the call finds the pointer */
    size_t bytes, alignment;
    enum use use;
    bool has_unknown_end;     /* the call uses `bytes` bytes or fewer: a workspace */
    const char *may_overlap;  /* the other part of a pair that is allowed */
};

struct operation {
    const char *name;
    struct part *parts;
    size_t count;
    quern_status (*run)(void);
};

/* Each part has a home in the arena, with room for another part on both sides. */
enum { ARENA = 1 << 20, ROOM = 1 << 12 };

static struct test_device device;
static struct buffer arena;
static char *memory;

static char *home(size_t part) { return memory + (2 * part + 1) * ROOM; }

static void send_home(const struct operation *operation) {
    check((2 * operation->count + 2) * ROOM <= ARENA, "%s: the arena is too small", operation->name);
    for (size_t i = 0; i < operation->count; i++) *operation->parts[i].slot = home(i);
}

static bool is_refused(const struct part *one, const struct part *other) {
    if (one->may_overlap && !strcmp(one->may_overlap, other->name)) return false;
    if (other->may_overlap && !strcmp(other->may_overlap, one->name)) return false;
    return one->use && other->use && (one->use == WRITTEN || other->use == WRITTEN);
}

static char *align_down(const struct part *part, char *address) { return address - (uintptr_t)address % part->alignment; }

/* The places at which `moved` overlaps the first and the last bytes of a part that is at home. */
static char *over_front(const struct part *moved, char *at) {
    return align_down(moved, at - moved->bytes + moved->alignment);
}
static char *over_back(const struct part *moved, const struct part *part, char *at) {
    return align_down(moved, at + part->bytes - 1);
}
static char *before(const struct part *moved, char *at) { return align_down(moved, at - moved->bytes); }
static char *behind(const struct part *moved, const struct part *part, char *at) {
    return align_down(moved, at + part->bytes + moved->alignment - 1);
}

static void check_refusal(const struct operation *operation, const struct part *one, const struct part *other, const char *where) {
    quern_status status = operation->run();
    check(status == QUERN_INVALID_ARGUMENT && strstr(error_detail(), "overlaps") && strstr(error_detail(), one->name) &&
          strstr(error_detail(), other->name), "%s: %s over the %s of %s: %s: %s", operation->name, one->name, where, other->name,
          quern_status_string(status), status ? error_detail() : "");
}

static void walk_refusals(const struct operation *operation) {
    for (size_t i = 0; i < operation->count; i++)
        for (size_t j = 0; j < operation->count; j++) {
            struct part *moved = &operation->parts[i], *part = &operation->parts[j];
            if (i == j || !is_refused(moved, part)) continue;
            send_home(operation);
            if (!moved->has_unknown_end) {
                *moved->slot = over_front(moved, home(j));
                check_refusal(operation, moved, part, "front");
            }
            if (!part->has_unknown_end) {
                *moved->slot = over_back(moved, part, home(j));
                check_refusal(operation, moved, part, "back");
            }
        }
    send_home(operation);
}

/* The call may fail for another reason: read-only parts that overlap hold bytes that were not meant for them. */
static void check_accepted(const struct operation *operation, const struct part *one, const struct part *other) {
    quern_status status = operation->run();
    check(status == QUERN_OK || !strstr(error_detail(), "overlaps"), "%s: %s beside %s: %s: %s", operation->name, one->name,
          other->name, quern_status_string(status), error_detail());
}

static void walk_neighbours(const struct operation *operation) {
    for (size_t i = 0; i < operation->count; i++)
        for (size_t j = 0; j < operation->count; j++) {
            struct part *moved = &operation->parts[i], *part = &operation->parts[j];
            if (i == j) continue;
            send_home(operation);
            *moved->slot = before(moved, home(j));
            check_accepted(operation, moved, part);
            *moved->slot = behind(moved, part, home(j));
            check_accepted(operation, moved, part);
            if (is_refused(moved, part) || moved->may_overlap || part->may_overlap) continue;
            *moved->slot = over_back(moved, part, home(j));  /* both are read only, or one is not used */
            check_accepted(operation, moved, part);
        }
    send_home(operation);
}

static void open_arena(void) {
    device_open(&device, 0, NULL);
    check_ok(quern_prepare(device.quern, QUERN_CROSS_ENTROPY | QUERN_ADAM));
    buffer_open(&arena, &device, ARENA, 0, NULL);
    memory = arena.data;
}

static void close_arena(void) {
    buffer_close(&arena);
    device_close(&device);
}

static void walk(const struct operation *operation) {
    walk_refusals(operation);
    check(holds_pattern(buffer_read(&arena), ARENA), "%s: a refused call wrote", operation->name);
    check_ok(operation->run());
    walk_neighbours(operation);
}

/* ---- cross-entropy ---- */

enum { ROWS = 3, VOCAB = 10, LOGITS_STRIDE = 12, PADDED = 13, GRAD_STRIDE = 14, LOSS_STRIDE = 2, SHARDS = 2 };

static quern_cross_entropy_args loss;
static quern_row_stats *shards;
static void *workspace;
static size_t workspace_bytes;

#define SLOT(pointer) ((void **)&(pointer))

static void fill_loss(void) {
    loss = (quern_cross_entropy_args)QUERN_CROSS_ENTROPY_ARGS_INIT;
    loss.logits_dtype = QUERN_F32, loss.labels_dtype = QUERN_INT32, loss.reduction = QUERN_REDUCTION_MEAN;
    loss.rows = ROWS, loss.vocab = VOCAB, loss.logits_stride = LOGITS_STRIDE, loss.padded_vocab = PADDED;
    loss.grad_stride = GRAD_STRIDE, loss.grad_loss_stride = LOSS_STRIDE;
    loss.label_smoothing = 0.1f;
    check_ok(quern_cross_entropy_workspace(device.quern, &loss, &workspace_bytes));
}

static quern_status call_loss(void) {
    return quern_cross_entropy(device.quern, &loss, workspace, workspace_bytes, device.stream);
}
static quern_status call_stats(void) {
    return quern_cross_entropy_stats(device.quern, &loss, workspace, workspace_bytes, device.stream);
}
static quern_status call_combine(void) {
    return quern_cross_entropy_combine(device.quern, &loss, shards, SHARDS, workspace, workspace_bytes, device.stream);
}
static quern_status call_gradient(void) {
    return quern_cross_entropy_gradient(device.quern, &loss, workspace, workspace_bytes, device.stream);
}

/* The uses by each step. */
struct uses {
    enum use logits, labels, grad, stats, shards, outputs, grad_loss, weights;
};

enum { LOSS_PARTS = 14 };

static void list_loss(struct part parts[LOSS_PARTS], const struct uses *u) {
    const struct part all[LOSS_PARTS] = {
        {"args.logits", SLOT(loss.logits), ((ROWS - 1) * LOGITS_STRIDE + VOCAB) * 4, 4, u->logits, false, NULL},
        {"args.labels", SLOT(loss.labels), ROWS * 4, 4, u->labels, false, NULL},
        {"args.grad", SLOT(loss.grad), ((ROWS - 1) * GRAD_STRIDE + PADDED) * 4, 4, u->grad, false, NULL},
        {"args.stats", SLOT(loss.stats), ROWS * sizeof(quern_row_stats), 8, u->stats, false, NULL},
        {"shards", SLOT(shards), SHARDS * ROWS * sizeof(quern_row_stats), 8, u->shards, false, NULL},
        {"args.loss", SLOT(loss.loss), 4, 4, u->outputs, false, NULL},
        {"args.grad_loss", SLOT(loss.grad_loss), ((ROWS - 1) * LOSS_STRIDE + 1) * 4, 4, u->grad_loss, false, NULL},
        {"args.class_weights", SLOT(loss.class_weights), VOCAB * 4, 4, u->weights, false, NULL},
        {"args.lse", SLOT(loss.lse), ROWS * 4, 4, u->outputs, false, NULL},
        {"args.log_prob", SLOT(loss.log_prob), ROWS * 4, 4, u->outputs, false, NULL},
        {"args.entropy", SLOT(loss.entropy), ROWS * 4, 4, u->outputs, false, NULL},
        {"args.argmax", SLOT(loss.argmax), ROWS * 8, 8, u->outputs, false, NULL},
        {"args.report", SLOT(loss.report), sizeof *loss.report, 8, u->outputs, false, NULL},
        {"workspace", &workspace, workspace_bytes, 16, WRITTEN, true, NULL},
    };
    memcpy(parts, all, sizeof all);
}

Test(overlaps, cross_entropy) {
    static const struct {
        const char *name;
        quern_status (*run)(void);
        struct uses uses;
    } steps[] = {
        {"quern_cross_entropy", call_loss, {READ, READ, WRITTEN, WRITTEN, UNUSED, WRITTEN, READ, READ}},
        {"quern_cross_entropy_stats", call_stats, {READ, READ, UNUSED, WRITTEN, UNUSED, UNUSED, UNUSED, READ}},
        {"quern_cross_entropy_combine", call_combine, {UNUSED, READ, UNUSED, WRITTEN, READ, WRITTEN, UNUSED, UNUSED}},
        {"quern_cross_entropy_gradient", call_gradient, {READ, READ, WRITTEN, READ, UNUSED, UNUSED, READ, READ}}};
    for (size_t i = 0; i < COUNT(steps); i++) {
        struct part parts[LOSS_PARTS];
        open_arena();
        fill_loss();
        list_loss(parts, &steps[i].uses);
        walk(&(struct operation){steps[i].name, parts, LOSS_PARTS, steps[i].run});
        close_arena();
    }
}

/* A workspace has an end too: the loss of the whole call overlaps its last bytes. */
Test(overlaps, end_of_a_workspace) {
    struct part parts[LOSS_PARTS];
    open_arena();
    fill_loss();
    list_loss(parts, &(struct uses){READ, READ, WRITTEN, WRITTEN, UNUSED, WRITTEN, READ, READ});
    const struct operation operation = {"quern_cross_entropy", parts, LOSS_PARTS, call_loss};
    send_home(&operation);
    loss.loss = (float *)((char *)workspace + workspace_bytes - sizeof(float));
    check_refusal(&operation, &parts[5], &parts[13], "end");
    loss.loss++;
    check_ok(call_loss());
    close_arena();
}

/* Pairs that the header allows to be equal, and the buffers that then still must not overlap them. */
Test(overlaps, cross_entropy_in_place) {
    struct part parts[LOSS_PARTS];
    open_arena();
    fill_loss();
    list_loss(parts, &(struct uses){0});
    const struct operation operation = {"in place", parts, LOSS_PARTS, call_loss};
    send_home(&operation);
    loss.logits_stride = GRAD_STRIDE;
    loss.grad = (void *)loss.logits;
    check_ok(call_loss());
    loss.lse = (float *)loss.grad + (ROWS - 1) * GRAD_STRIDE + PADDED - 1;  /* in the padding */
    check_status(call_loss(), QUERN_INVALID_ARGUMENT);
    check(strstr(error_detail(), "args.grad") && strstr(error_detail(), "args.lse"), "%s", error_detail());
    check_status(call_gradient(), QUERN_OK);
    loss.lse = NULL, loss.labels = loss.logits;
    check_status(call_gradient(), QUERN_INVALID_ARGUMENT);
    loss.labels = (void *)home(1), loss.stats = shards;
    check_ok(call_combine());
    loss.loss = (float *)(shards + ROWS);  /* of the second shard */
    check_status(call_combine(), QUERN_INVALID_ARGUMENT);
    check(strstr(error_detail(), "args.loss") && strstr(error_detail(), "shards"), "%s", error_detail());
    close_arena();
}

/* Without rows a call reads class weights and writes sums and the report: everything else has no bytes, wherever it is. */
Test(overlaps, no_rows) {
    static quern_status (*const calls[])(void) = {call_loss, call_stats, call_combine, call_gradient};
    struct part parts[LOSS_PARTS];
    open_arena();
    fill_loss();
    list_loss(parts, &(struct uses){0});
    for (int i = 0; i < 8; i++) {
        for (int part = 0; part < LOSS_PARTS; part++) *parts[part].slot = home(0);
        loss.rows = 0, loss.grad = home(0) + 64, loss.grad_loss_stride = i / 4 ? -LOSS_STRIDE : LOSS_STRIDE;
        loss.report = (void *)home(1), loss.class_weights = (void *)home(2), workspace = home(3);
        check_ok(calls[i % 4]());
    }
    close_arena();
}

/* Upstream gradients that are read backwards, and one value for all rows. */
Test(overlaps, strides_of_upstream_gradients) {
    struct part parts[LOSS_PARTS];
    open_arena();
    fill_loss();
    list_loss(parts, &(struct uses){0});
    send_home(&(struct operation){"upstream", parts, LOSS_PARTS, call_loss});
    float *const lowest = (float *)home(6);
    loss.grad_loss = lowest + (ROWS - 1) * LOSS_STRIDE, loss.grad_loss_stride = -LOSS_STRIDE;
    loss.loss = lowest;
    check_status(call_loss(), QUERN_INVALID_ARGUMENT);
    loss.loss = lowest + (ROWS - 1) * LOSS_STRIDE;
    check_status(call_loss(), QUERN_INVALID_ARGUMENT);
    loss.loss = lowest + (ROWS - 1) * LOSS_STRIDE + 1;
    check_ok(call_loss());
    loss.loss = lowest - 1;
    check_ok(call_loss());
    loss.grad_loss_stride = 0;
    loss.loss = lowest + (ROWS - 1) * LOSS_STRIDE - 1;
    check_ok(call_loss());
    close_arena();
}

/* ---- linear cross-entropy and products ---- */

enum { WIDTH = 5, WIDE = 6 };

static quern_linear_cross_entropy_args layer;

static quern_status no_product(void *user, const quern_gemm_args *args, void *stream) {
    (void)user, (void)args, (void)stream;
    return QUERN_OK;
}

static quern_status call_layer(void) {
    return quern_linear_cross_entropy(device.quern, &layer, workspace, workspace_bytes, device.stream);
}

static void fill_layer(void) {
    layer = (quern_linear_cross_entropy_args)QUERN_LINEAR_CROSS_ENTROPY_ARGS_INIT;
    layer.hidden_dtype = QUERN_F32, layer.weight_dtype = QUERN_BF16;
    layer.loss.logits_dtype = QUERN_BF16, layer.loss.labels_dtype = QUERN_INT64;
    layer.loss.rows = ROWS, layer.loss.vocab = VOCAB, layer.width = WIDTH;
    layer.hidden_stride = layer.weight_stride = layer.d_hidden_stride = layer.d_weight_stride = WIDE;
    layer.gemm = no_product;
    check_ok(quern_linear_cross_entropy_workspace(device.quern, &layer, &workspace_bytes));
}

#define MATRIX(rows) (((rows) - 1) * WIDE + WIDTH)

Test(overlaps, linear_cross_entropy) {
    open_arena();
    fill_layer();
    struct part parts[] = {
        {"args.hidden", SLOT(layer.hidden), MATRIX(ROWS) * 4, 4, READ, false, NULL},
        {"args.weight", SLOT(layer.weight), MATRIX(VOCAB) * 2, 2, READ, false, NULL},
        {"args.d_hidden", SLOT(layer.d_hidden), MATRIX(ROWS) * 4, 4, WRITTEN, false, NULL},
        {"args.d_weight", SLOT(layer.d_weight), MATRIX(VOCAB) * 4, 4, WRITTEN, false, NULL},
        {"args.labels", SLOT(layer.loss.labels), ROWS * 8, 8, READ, false, NULL},
        {"args.loss", SLOT(layer.loss.loss), ROWS * 4, 4, WRITTEN, false, NULL},
        {"args.report", SLOT(layer.loss.report), sizeof *layer.loss.report, 8, WRITTEN, false, NULL},
        {"workspace", &workspace, workspace_bytes, 16, WRITTEN, false, NULL},
    };
    const struct operation operation = {"linear", parts, COUNT(parts), call_layer};
    walk(&operation);
    layer.d_hidden = (void *)layer.hidden;
    check_ok(call_layer());
    layer.loss.loss = layer.d_hidden;
    check_status(call_layer(), QUERN_INVALID_ARGUMENT);
    layer.loss.loss = (float *)home(5), layer.d_hidden_stride = WIDTH;
    check_status(call_layer(), QUERN_INVALID_SHAPE);
    check(strstr(error_detail(), "args.d_hidden_stride is 5 in place of hidden with stride 6"), "%s", error_detail());
    /* Without rows weight is not read, and d_weight is still written. */
    layer.d_hidden_stride = WIDE, layer.loss.rows = 0, layer.weight = layer.d_weight + VOCAB;
    check_status(call_layer(), QUERN_INVALID_ARGUMENT);
    check(strstr(error_detail(), "args.d_weight overlaps args.weight"), "%s", error_detail());
    layer.weight = NULL;
    check_ok(call_layer());
    close_arena();
}

static quern_gemm_args product;
static quern_blas *blas;

static quern_status call_product(void) { return quern_blas_gemm(blas, &product, device.stream); }

Test(overlaps, products) {
    open_arena();
    const quern_status opened = quern_blas_open(device.quern, NULL, &blas);
    if (opened == QUERN_OK) {
        product = (quern_gemm_args){.size = QUERN_STRUCT_SIZE(quern_gemm_args), .m = 2, .n = 3, .k = 4,
                                    .a_dtype = QUERN_F32, .b_dtype = QUERN_F32, .c_dtype = QUERN_F32,
                                    .a_stride = 5, .b_stride = 4, .b_transposed = 1, .c_stride = 3};
        struct part parts[] = {{"args.a", SLOT(product.a), (5 + 4) * 4, 4, READ, false, NULL},
                               {"args.b", SLOT(product.b), (2 * 4 + 4) * 4, 4, READ, false, NULL},
                               {"args.c", SLOT(product.c), 6 * 4, 4, WRITTEN, false, NULL}};
        walk(&(struct operation){"product", parts, COUNT(parts), call_product});
        quern_blas_close(blas);
    }
    close_arena();
    if (opened != QUERN_OK) cr_skip_test("there is no BLAS: %s", error_detail());
}

/* ---- Adam ---- */

enum { ELEMENTS = 40 };

static quern_adam_args adam;
static quern_adam_tensor tensors[2];
static quern_adam_plan *plan;

static quern_status call_adam(void) {
    return quern_adam(device.quern, &adam, workspace, workspace_bytes, device.stream);
}

static quern_status make_plan(void) {
    quern_adam_args args = adam;
    args.tensors = tensors;
    plan = NULL;
    quern_status status = quern_adam_plan_create(device.quern, &args, &plan);
    quern_adam_plan_destroy(plan);
    return status;
}

/* With all arrays that a tensor can have, except the scales of v_max. */
static void fill_adam(void) {
    adam = (quern_adam_args)QUERN_ADAM_ARGS_INIT;
    adam.param_dtype = adam.grad_dtype = QUERN_BF16, adam.m_dtype = adam.v_dtype = QUERN_E4M3, adam.master_dtype = QUERN_REMAINDER;
    adam.amsgrad = adam.zero_grads = 1, adam.copy_dtype = QUERN_E4M3;
    adam.lr = 1, adam.step = 1, adam.tensors = tensors, adam.tensor_count = 2;
    memset(tensors, 0, sizeof tensors);
    tensors[0].count = tensors[1].count = ELEMENTS;
    static int64_t counter;
    adam.control.step = &counter;
    check_ok(quern_adam_workspace(device.quern, &adam, &workspace_bytes));
}

enum { TENSOR_PARTS = 12, CONTROL_PARTS = 5 };

static void list_tensor(struct part *parts, int place) {
    static char names[2][TENSOR_PARTS][40];
    quern_adam_tensor *t = &tensors[place];
    const size_t scale = (ELEMENTS + 31) / 32;
    const struct part all[TENSOR_PARTS] = {
        {"param", &t->param, ELEMENTS * 2, 2, WRITTEN, false, NULL},
        {"grad", &t->grad, ELEMENTS * 2, 2, adam.zero_grads ? WRITTEN : READ, false, NULL},
        {"m", &t->m, ELEMENTS, 1, WRITTEN, false, NULL},
        {"v", &t->v, ELEMENTS, 1, WRITTEN, false, NULL},
        {"master", &t->master, ELEMENTS * 2, 2, WRITTEN, false, NULL},
        {"m_scale", SLOT(t->m_scale), scale, 1, WRITTEN, false, NULL},
        {"v_scale", SLOT(t->v_scale), scale, 1, WRITTEN, false, NULL},
        {"v_max", &t->v_max, ELEMENTS, 1, WRITTEN, false, NULL},
        {"v_max_scale", SLOT(t->v_max_scale), scale, 1, WRITTEN, false, NULL},
        {"copy", &t->copy, ELEMENTS, 1, WRITTEN, false, NULL},
        {"copy_scale", SLOT(t->copy_scale), 4, 4, READ, false, NULL},
        {"copy_max", SLOT(t->copy_max), 4, 4, WRITTEN, false, place ? names[0][11] : names[1][11]},
    };
    memcpy(parts, all, sizeof all);
    for (int i = 0; i < TENSOR_PARTS; i++) {
        snprintf(names[place][i], sizeof names[place][i], "args.tensors[%d].%s", place, all[i].name);
        parts[i].name = names[place][i];
    }
}

static void list_control(struct part *parts) {
    const struct part all[CONTROL_PARTS] = {
        {"args.control.lr", SLOT(adam.control.lr), 4, 4, READ, false, NULL},
        {"args.control.step", SLOT(adam.control.step), 8, 8, WRITTEN, false, NULL},
        {"args.control.grad_scale", SLOT(adam.control.grad_scale), 4, 4, READ, false, NULL},
        {"args.control.clip", SLOT(adam.control.clip), 4, 4, READ, false, NULL},
        {"args.control.found_inf", SLOT(adam.control.found_inf), 4, 4, READ, false, NULL}};
    memcpy(parts, all, sizeof all);
}

static size_t list_adam(struct part *parts) {
    list_tensor(parts, 0);
    list_tensor(parts + TENSOR_PARTS, 1);
    list_control(parts + 2 * TENSOR_PARTS);
    size_t count = 2 * TENSOR_PARTS + CONTROL_PARTS;
    if (workspace_bytes) parts[count++] = (struct part){"workspace", &workspace, workspace_bytes, 16, WRITTEN, false, NULL};
    return count;
}

Test(overlaps, adam) {
    for (int zero_grads = 0; zero_grads < 2; zero_grads++) {
        struct part parts[2 * TENSOR_PARTS + CONTROL_PARTS + 1];
        open_arena();
        fill_adam();
        adam.zero_grads = zero_grads;
        const size_t count = list_adam(parts);
        walk(&(struct operation){"quern_adam", parts, count, call_adam});
        walk_refusals(&(struct operation){"quern_adam_plan_create", parts, 2 * TENSOR_PARTS, make_plan});
        tensors[1].copy_max = tensors[0].copy_max;
        check_ok(call_adam());
        check_ok(make_plan());
        close_arena();
    }
}

/* The control of each step is compared with the plan's tensors. */
static quern_status step_plan(void) {
    quern_adam_args args = adam;
    args.tensors = NULL, args.plan = plan;
    return quern_adam(device.quern, &args, NULL, 0, device.stream);
}

Test(overlaps, adam_with_a_plan) {
    struct part parts[2 * TENSOR_PARTS + CONTROL_PARTS + 1];
    open_arena();
    fill_adam();
    list_adam(parts);
    const struct operation tensors_only = {"plan", parts, 2 * TENSOR_PARTS, NULL};
    struct operation control = {"quern_adam with a plan", parts, 2 * TENSOR_PARTS + CONTROL_PARTS, step_plan};
    send_home(&control);
    check_ok(quern_adam_plan_create(device.quern, &adam, &plan));
    for (size_t i = tensors_only.count; i < control.count; i++)
        for (size_t j = 0; j < control.count; j++) {
            const struct part *moved = &parts[i], *part = &parts[j];
            if (i == j) continue;
            send_home(&control);
            char *const overlapping[] = {over_front(moved, home(j)), over_back(moved, part, home(j))};
            char *const apart[] = {before(moved, home(j)), behind(moved, part, home(j))};
            for (int side = 0; side < 2; side++) {
                *moved->slot = overlapping[side];
                quern_status status = is_refused(moved, part) ? step_plan() : QUERN_INVALID_ARGUMENT;
                check(status == QUERN_INVALID_ARGUMENT, "%s over %s: %s", moved->name, part->name, quern_status_string(status));
                if (is_refused(moved, part))
                    check(strstr(error_detail(), moved->name) && strstr(error_detail(), "overlaps"), "%s", error_detail());
                *moved->slot = apart[side];
                check_ok(step_plan());
            }
        }
    quern_adam_plan_destroy(plan);
    close_arena();
}

static quern_gradient_norm_args norm;

static quern_status call_norm(void) {
    return quern_gradient_norm(device.quern, &norm, workspace, workspace_bytes, device.stream);
}

/*
 * A plan joins arrays that touch or share memory.  Here gradients lie inside and behind one another, and moments follow them without
 * a gap.  A number of a norm at each place around them is compared with the arrays themselves.
 */
Test(overlaps, joined_arrays_of_a_plan) {
    enum { TENSORS = 3, BEFORE = 16, END = 800, ROOM_OF_EACH = 512 };
    static const int64_t counts[TENSORS] = {100, 10, 100};
    static const struct { int begin, end; bool written; } arrays[] = {
        {0, 200, false}, {20, 40, false}, {150, 350, false}, {350, 550, true}, {550, 750, true}};
    static quern_adam_tensor list[TENSORS];
    open_arena();
    char *const base = home(0), *const apart = home(10);
    for (int i = 0; i < TENSORS; i++) {
        char *const others = apart + i * 3 * ROOM_OF_EACH;
        list[i] = (quern_adam_tensor){.param = others, .grad = base + arrays[i].begin, .m = others + ROOM_OF_EACH,
                                      .v = others + 2 * ROOM_OF_EACH, .count = counts[i]};
    }
    list[0].m = base + arrays[3].begin, list[0].v = base + arrays[4].begin;
    adam = (quern_adam_args)QUERN_ADAM_ARGS_INIT;
    adam.param_dtype = adam.grad_dtype = adam.m_dtype = adam.v_dtype = QUERN_BF16, adam.lr = 1, adam.step = 1;
    adam.tensors = list, adam.tensor_count = TENSORS;
    check_ok(quern_adam_plan_create(device.quern, &adam, &plan));
    norm = (quern_gradient_norm_args)QUERN_GRADIENT_NORM_ARGS_INIT;
    norm.grad_dtype = QUERN_BF16, norm.plan = plan;
    check_ok(quern_gradient_norm_workspace(device.quern, &norm, &workspace_bytes));
    workspace = home(20);
    for (int at = -BEFORE; at < END; at += 4) {
        bool meets = false, meets_written = false;
        for (size_t i = 0; i < COUNT(arrays); i++) {
            const bool met = at < arrays[i].end && at + 4 > arrays[i].begin;
            meets |= met, meets_written |= met && arrays[i].written;
        }
        norm.grad_scale_pointer = NULL, norm.norm = (float *)(base + at);
        check(meets == (call_norm() == QUERN_INVALID_ARGUMENT), "args.norm at %d: %s", at, error_detail());
        norm.grad_scale_pointer = (float *)(base + at), norm.norm = (float *)home(30);
        check(meets_written == (call_norm() == QUERN_INVALID_ARGUMENT), "args.grad_scale_pointer at %d: %s", at, error_detail());
    }
    quern_adam_plan_destroy(plan);
    close_arena();
}

/* ---- long lists ---- */

enum { LONG = 200, SHORT = 128 };  /* of four arrays each: the header says 512 arrays */

Test(overlaps, long_lists) {
    static quern_adam_tensor list[LONG];
    open_arena();
    adam = (quern_adam_args)QUERN_ADAM_ARGS_INIT;
    adam.param_dtype = adam.grad_dtype = adam.m_dtype = adam.v_dtype = QUERN_F32, adam.lr = 1, adam.step = 1;
    adam.tensors = list;
    for (int i = 0; i < LONG; i++) {
        char *at = memory + (LONG - 1 - i) * 4 * 64;  /* descending, interleaved */
        list[i] = (quern_adam_tensor){.param = at, .grad = at + 64, .m = at + 128, .v = at + 192, .count = 16};
    }
    adam.tensor_count = LONG;
    check_ok(quern_adam_plan_create(device.quern, &adam, &plan));
    quern_adam_plan_destroy(plan);
    check_ok(call_adam());
    void *const own = list[9].grad;
    for (int i = 0; i < LONG; i++) list[i].grad = own;  /* only read: equal addresses among those that are sorted */
    check_ok(quern_adam_plan_create(device.quern, &adam, &plan));
    quern_adam_plan_destroy(plan);
    list[3].v = (char *)list[70].m + 60;
    adam.tensor_count = SHORT;
    check_status(call_adam(), QUERN_INVALID_ARGUMENT);
    check(strstr(error_detail(), "args.tensors[3].v") && strstr(error_detail(), "args.tensors[70]"), "%s", error_detail());
    adam.tensor_count = LONG;
    check_ok(call_adam());  /* not checked without a plan */
    check_status(quern_adam_plan_create(device.quern, &adam, &plan), QUERN_INVALID_ARGUMENT);
    check(strstr(error_detail(), "args.tensors[3].v") && strstr(error_detail(), "args.tensors[70]"), "%s", error_detail());
    close_arena();
}

/* ---- gradients ---- */

static quern_gradient gradients[2];
static quern_accumulate_args sum;

static quern_status call_sum(void) { return quern_accumulate(device.quern, &sum, device.stream); }

Test(overlaps, gradient_norm) {
    open_arena();
    norm = (quern_gradient_norm_args)QUERN_GRADIENT_NORM_ARGS_INIT;
    norm.grad_dtype = QUERN_BF16, norm.gradients = gradients, norm.gradient_count = 2;
    struct part parts[] = {
        {"args.gradients[0].grad", &gradients[0].grad, ELEMENTS * 2, 2, READ, false, NULL},
        {"args.gradients[1].grad", &gradients[1].grad, ELEMENTS * 2, 2, READ, false, NULL},
        {"args.grad_scale_pointer", SLOT(norm.grad_scale_pointer), 4, 4, READ, false, NULL},
        {"args.norm", SLOT(norm.norm), 4, 4, WRITTEN, false, NULL},
        {"args.clip", SLOT(norm.clip), 4, 4, WRITTEN, false, NULL},
        {"args.found_inf", SLOT(norm.found_inf), 4, 4, WRITTEN, false, NULL},
        {"workspace", &workspace, 0, 16, WRITTEN, false, NULL},
    };
    const struct operation operation = {"norm", parts, COUNT(parts), call_norm};
    send_home(&operation);
    for (int i = 0; i < 2; i++) gradients[i].count = ELEMENTS;
    check_ok(quern_gradient_norm_workspace(device.quern, &norm, &workspace_bytes));
    parts[6].bytes = workspace_bytes;
    walk(&operation);

    fill_adam();  /* the same with the gradients of a plan */
    struct part arrays[2 * TENSOR_PARTS + CONTROL_PARTS + 1];
    list_adam(arrays);
    send_home(&(struct operation){"plan", arrays, 2 * TENSOR_PARTS + CONTROL_PARTS, NULL});
    check_ok(quern_adam_plan_create(device.quern, &adam, &plan));
    norm.gradients = NULL, norm.gradient_count = 0, norm.plan = plan;
    check_ok(quern_gradient_norm_workspace(device.quern, &norm, &workspace_bytes));
    char *const apart = home(50);
    workspace = apart, norm.grad_scale_pointer = NULL, norm.norm = norm.clip = NULL;
    norm.found_inf = (float *)(apart + ROOM);
    check_ok(call_norm());
    norm.found_inf = (float *)((char *)tensors[1].grad + ELEMENTS * 2 - 4);
    check_status(call_norm(), QUERN_INVALID_ARGUMENT);
    check(strstr(error_detail(), "args.found_inf overlaps an array of args.plan"), "%s", error_detail());
    for (size_t i = 0; i < 2 * TENSOR_PARTS; i++) {  /* the other arrays of the plan, which a norm does not read, are kept too */
        norm.found_inf = (float *)home(i), workspace = apart;
        check_status(call_norm(), QUERN_INVALID_ARGUMENT);
        check(strstr(error_detail(), "args.found_inf overlaps an array of args.plan"), "%s: %s", arrays[i].name, error_detail());
        norm.found_inf = (float *)(apart + ROOM), workspace = home(i);
        check_status(call_norm(), QUERN_INVALID_ARGUMENT);
        check(strstr(error_detail(), "workspace overlaps an array of args.plan"), "%s: %s", arrays[i].name, error_detail());
    }
    quern_adam_plan_destroy(plan);
    close_arena();
}

static quern_accumulate_plan *sums;

/* The plan reads the list only, so the other parts stay at home. */
static quern_status make_sums(void) {
    quern_status status = quern_accumulate_plan_create(device.quern, &sum, &sums);
    quern_accumulate_plan_destroy(sums);
    sums = NULL;
    return status;
}

Test(overlaps, accumulate) {
    for (int i = 0; i < 4; i++) {
        const bool zero_grads = i & 1, is_bf16 = i & 2;
        const enum use grad = zero_grads ? WRITTEN : READ;
        const size_t main = is_bf16 ? 2 : 4;
        struct part parts[] = {
            {"args.gradients[0].grad", &gradients[0].grad, ELEMENTS * 2, 2, grad, false, NULL},
            {"args.gradients[1].grad", &gradients[1].grad, ELEMENTS * 2, 2, grad, false, NULL},
            {"args.gradients[0].main_grad", &gradients[0].main_grad, ELEMENTS * main, main, WRITTEN, false, NULL},
            {"args.gradients[1].main_grad", &gradients[1].main_grad, ELEMENTS * main, main, WRITTEN, false, NULL},
            {"args.overwrite_flags", SLOT(sum.overwrite_flags), 8, 4, READ, false, NULL},
            {"args.token_counts", SLOT(sum.token_counts), 16, 8, READ, false, NULL},
        };
        sum = (quern_accumulate_args)QUERN_ACCUMULATE_ARGS_INIT;
        sum.grad_dtype = QUERN_BF16, sum.main_dtype = is_bf16 ? QUERN_BF16 : QUERN_F32;
        sum.gradients = gradients, sum.gradient_count = sum.group_count = 2, sum.zero_grads = zero_grads;
        gradients[0].count = gradients[1].count = ELEMENTS;
        open_arena();
        walk(&(struct operation){"accumulate", parts, COUNT(parts), call_sum});
        walk_refusals(&(struct operation){"plan of sums", parts, 4, make_sums});
        close_arena();
    }
}

/* A plan compares all arrays, however many. */
Test(overlaps, long_plans_of_sums) {
    enum { ITEMS = 300, ITEM = 256, COUNT_OF_EACH = 16 };
    static quern_gradient list[ITEMS];
    open_arena();
    sum = (quern_accumulate_args)QUERN_ACCUMULATE_ARGS_INIT;
    sum.grad_dtype = QUERN_BF16, sum.gradients = list, sum.gradient_count = ITEMS;
    for (int i = 0; i < ITEMS; i++) list[i] = (quern_gradient){memory + i * ITEM, memory + i * ITEM + ITEM / 2, COUNT_OF_EACH};
    check_ok(make_sums());
    list[7].main_grad = (char *)list[250].main_grad + COUNT_OF_EACH * 4 - 4;
    check_ok(call_sum());  /* not compared without a plan */
    check_status(make_sums(), QUERN_INVALID_ARGUMENT);
    check(strstr(error_detail(), "args.gradients[7].main_grad") && strstr(error_detail(), "args.gradients[250].main_grad"), "%s",
          error_detail());
    close_arena();
}

/* Of a list of more than 512 arrays only those of each item are compared, either of them first in memory. */
Test(overlaps, long_lists_of_gradients) {
    enum { ITEMS = 300, ITEM = 256, COUNT_OF_EACH = 16, GRAD_BYTES = COUNT_OF_EACH * 2, SUM_BYTES = COUNT_OF_EACH * 4 };
    static quern_gradient list[ITEMS];
    open_arena();
    sum = (quern_accumulate_args)QUERN_ACCUMULATE_ARGS_INIT;
    sum.grad_dtype = QUERN_BF16, sum.gradients = list, sum.gradient_count = ITEMS;
    for (int i = 0; i < ITEMS; i++)
        list[i] = (quern_gradient){memory + i * ITEM, (float *)(memory + i * ITEM + ITEM / 2), COUNT_OF_EACH};
    char *const last = memory + (ITEMS - 1) * ITEM;
    for (int distance = 4; distance <= SUM_BYTES; distance += 4) {
        list[ITEMS - 1].main_grad = (float *)last, list[ITEMS - 1].grad = last + distance;
        check(call_sum() == (distance < SUM_BYTES ? QUERN_INVALID_ARGUMENT : QUERN_OK), "grad %d bytes behind main_grad", distance);
        list[ITEMS - 1].grad = last, list[ITEMS - 1].main_grad = (float *)(last + distance);
        check(call_sum() == (distance < GRAD_BYTES ? QUERN_INVALID_ARGUMENT : QUERN_OK), "main_grad %d bytes behind grad",
              distance);
    }
    close_arena();
}

/* ---- saved states: the saved bytes are in host memory ---- */

static void *saved;
static size_t saved_bytes;

static quern_status call_save(void) { return quern_adam_save(device.quern, &adam, saved, saved_bytes); }

static quern_status call_load(void) {
    int64_t step;
    uint64_t seed;
    return quern_adam_load(device.quern, &adam, saved, saved_bytes, &step, &seed);
}

Test(overlaps, saved_states) {
    open_arena();
    if (device.kind == QUERN_CPU) {
        struct part parts[2 * TENSOR_PARTS + CONTROL_PARTS + 1];
        fill_adam();
        adam.control.step = NULL;
        list_adam(parts);
        const struct operation operation = {"saved state", parts, 2 * TENSOR_PARTS, NULL};
        send_home(&operation);
        check_ok(quern_adam_saved_bytes(device.quern, &adam, &saved_bytes));
        saved = home(60);
        check_ok(call_save());
        check_ok(call_load());
        static const int kept[] = {2, 3, 4, 5, 6, 7, 8};  /* the arrays of a state */
        for (size_t i = 0; i < COUNT(kept); i++) {
            const struct part *part = &parts[TENSOR_PARTS + kept[i]];
            char *const good = *part->slot;
            *part->slot = (char *)home(60) + saved_bytes - part->alignment;
            check_status(call_save(), QUERN_INVALID_ARGUMENT);
            check(strstr(error_detail(), "saved") && strstr(error_detail(), part->name), "%s: %s", part->name, error_detail());
            check_status(call_load(), QUERN_INVALID_ARGUMENT);
            *part->slot = (char *)home(60) + saved_bytes + (part->alignment - saved_bytes % part->alignment) % part->alignment;
            check_ok(call_load());
            *part->slot = good;
        }
    }
    close_arena();
}

/* ---- ranks: one, whose memory is all symmetric ---- */

static quern_group *group;
static quern_ragged_all_to_all_args ragged;

static quern_status call_ragged(void) { return quern_ragged_all_to_all(group, &ragged, workspace, workspace_bytes, NULL); }

Test(overlaps, ragged_all_to_all) {
    quern_group_args args = QUERN_GROUP_ARGS_INIT;
    const size_t bytes = ARENA;
    void *symmetric;
    open_arena();
    if (device.kind == QUERN_CPU) {
        check_ok(quern_prepare(device.quern, QUERN_RAGGED_ALL_TO_ALL));
        args.ranks = 1, args.device = device.quern;
        check_ok(quern_group_create(&args, 1, &group));
        check_ok(quern_symmetric_alloc(&group, 1, &bytes, &symmetric));
        memory = symmetric;
        ragged = (quern_ragged_all_to_all_args)QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
        ragged.input_rows = ragged.output_rows = 10, ragged.row_bytes = 3, ragged.updates = 2;
        struct part parts[] = {
            {"args.input", SLOT(ragged.input), 30, 1, READ, false, "args.output"},
            {"args.output", &ragged.output, 30, 1, WRITTEN, false, NULL},
            {"args.input_offsets", SLOT(ragged.input_offsets), 8, 4, READ, false, NULL},
            {"args.send_sizes", SLOT(ragged.send_sizes), 8, 4, READ, false, NULL},
            {"args.output_offsets", SLOT(ragged.output_offsets), 8, 4, READ, false, NULL},
            {"args.recv_sizes", SLOT(ragged.recv_sizes), 8, 4, READ, false, NULL},
            {"workspace", &workspace, 0, 16, WRITTEN, false, NULL},
        };
        const struct operation operation = {"ragged", parts, COUNT(parts), call_ragged};
        check_ok(quern_ragged_all_to_all_workspace(group, &ragged, &workspace_bytes));
        parts[6].bytes = workspace_bytes;
        walk_refusals(&operation);
        for (size_t i = 0; i < ARENA; i++) check(!memory[i], "a refused call wrote byte %zu", i);
        check_ok(call_ragged());
        walk_neighbours(&operation);
        check_ok(quern_group_destroy(group));
    }
    close_arena();
}
