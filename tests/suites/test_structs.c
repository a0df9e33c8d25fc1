/*
 * The structs that begin with their size: the initialiser functions and macros give the same bytes, every other size is refused by
 * every function that takes the struct, and a default that is overwritten with 0 is 0.
 *
 * Runs on: one cpu.
 */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/check.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- the structs ---- */

#define STRUCT(type, initialiser) \
    static const type macro_##type = initialiser; \
    static void init_##type(void *target) { type##_init(target); }
STRUCT(quern_device_info, QUERN_DEVICE_INFO_INIT)
STRUCT(quern_cross_entropy_args, QUERN_CROSS_ENTROPY_ARGS_INIT)
STRUCT(quern_gemm_args, QUERN_GEMM_ARGS_INIT)
STRUCT(quern_linear_cross_entropy_args, QUERN_LINEAR_CROSS_ENTROPY_ARGS_INIT)
STRUCT(quern_adam_args, QUERN_ADAM_ARGS_INIT)
STRUCT(quern_gradient_norm_args, QUERN_GRADIENT_NORM_ARGS_INIT)
STRUCT(quern_accumulate_args, QUERN_ACCUMULATE_ARGS_INIT)
STRUCT(quern_quantize_args, QUERN_QUANTIZE_ARGS_INIT)
STRUCT(quern_carrier, QUERN_CARRIER_INIT)
STRUCT(quern_group_args, QUERN_GROUP_ARGS_INIT)
STRUCT(quern_barrier_args, QUERN_BARRIER_ARGS_INIT)
STRUCT(quern_collective_args, QUERN_COLLECTIVE_ARGS_INIT)
STRUCT(quern_ragged_all_to_all_args, QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT)
STRUCT(quern_transfer_args, QUERN_TRANSFER_ARGS_INIT)

static const struct kind {
    const char *name;
    size_t bytes;
    const void *macro;
    void (*init)(void *target);
} kinds[] = {
#define KIND(type) {#type, sizeof(type), &macro_##type, init_##type}
    KIND(quern_device_info), KIND(quern_cross_entropy_args), KIND(quern_gemm_args), KIND(quern_linear_cross_entropy_args),
    KIND(quern_adam_args), KIND(quern_gradient_norm_args), KIND(quern_accumulate_args), KIND(quern_quantize_args),
    KIND(quern_carrier), KIND(quern_group_args), KIND(quern_barrier_args), KIND(quern_ragged_all_to_all_args), KIND(quern_transfer_args),
    KIND(quern_collective_args)
};

enum { LARGEST = 1024, MARK = 0x51550000 };

Test(structs, functions_give_the_bytes_of_the_macros) {
    for (size_t i = 0; i < COUNT(kinds); i++) {
        _Alignas(16) unsigned char target[LARGEST], untouched[LARGEST];
        memset(target, 0xFF, sizeof target);
        memset(untouched, 0xFF, sizeof untouched);
        kinds[i].init(NULL);
        kinds[i].init(target);
        check(!memcmp(target, kinds[i].macro, kinds[i].bytes), "%s_init differs from the macro", kinds[i].name);
        check(!memcmp(target + kinds[i].bytes, untouched, LARGEST - kinds[i].bytes), "%s_init wrote beyond it", kinds[i].name);
        uint32_t size;
        memcpy(&size, target, sizeof size);
        check(size == MARK + kinds[i].bytes, "%s.size is %#x", kinds[i].name, size);
    }
}

/* ---- the defaults ---- */

/* Checks a default and clears it. */
#define TAKE(from, field, value) do { \
        check((from).field == (value), #from "." #field " is another value"); \
        memset(&(from).field, 0, sizeof (from).field); \
    } while (0)

static void check_rest(const char *name, const void *rest, size_t bytes) {
    static const unsigned char zeros[LARGEST];
    check(!memcmp(rest, zeros, bytes), "%s has a default that the header does not state", name);
}

static void take_loss_defaults(quern_cross_entropy_args *loss) {
    TAKE(*loss, size, MARK + sizeof *loss);
    TAKE(*loss, ignore_index, -100);
    TAKE(*loss, grad_loss_stride, 1);
    TAKE(*loss, grad_scale, 1.0f);
}

Test(structs, defaults_are_those_of_the_header) {
    quern_cross_entropy_args loss;
    quern_cross_entropy_args_init(&loss);
    take_loss_defaults(&loss);
    check_rest("cross_entropy_args", &loss, sizeof loss);

    quern_linear_cross_entropy_args linear;
    quern_linear_cross_entropy_args_init(&linear);
    take_loss_defaults(&linear.loss);
    TAKE(linear, size, MARK + sizeof linear);
    check_rest("linear_cross_entropy_args", &linear, sizeof linear);

    quern_adam_args adam;
    quern_adam_args_init(&adam);
    TAKE(adam, size, MARK + sizeof adam);
    TAKE(adam, tensor_size, sizeof(quern_adam_tensor));
    TAKE(adam, beta1, 0.9);
    TAKE(adam, beta2, 0.999);
    TAKE(adam, eps, 1e-8);
    check_rest("adam_args", &adam, sizeof adam);

    quern_gradient_norm_args norm;
    quern_gradient_norm_args_init(&norm);
    TAKE(norm, size, MARK + sizeof norm);
    TAKE(norm, gradient_size, sizeof(quern_gradient));
    check_rest("gradient_norm_args", &norm, sizeof norm);

    quern_accumulate_args sum;
    quern_accumulate_args_init(&sum);
    TAKE(sum, size, MARK + sizeof sum);
    TAKE(sum, gradient_size, sizeof(quern_gradient));
    TAKE(sum, scale, 1.0);
    TAKE(sum, main_dtype, QUERN_F32);
    check_rest("accumulate_args", &sum, sizeof sum);

    quern_quantize_args quantize;
    quern_quantize_args_init(&quantize);
    TAKE(quantize, size, MARK + sizeof quantize);
    TAKE(quantize, tensor_size, sizeof(quern_quantize_tensor));
    check_rest("quantize_args", &quantize, sizeof quantize);

    quern_ragged_all_to_all_args ragged;
    quern_ragged_all_to_all_args_init(&ragged);
    TAKE(ragged, size, MARK + sizeof ragged);
    TAKE(ragged, metadata_dtype, QUERN_INT32);
    TAKE(ragged, updates, 1);
    check_rest("ragged_all_to_all_args", &ragged, sizeof ragged);

    quern_transfer_args transfers;
    quern_transfer_args_init(&transfers);
    TAKE(transfers, size, MARK + sizeof transfers);
    TAKE(transfers, item_size, sizeof(quern_transfer_item));
    check_rest("transfer_args", &transfers, sizeof transfers);
}

Test(structs, others_are_zero_but_for_the_size) {
    static const char *const without[] = {"quern_device_info", "quern_gemm_args", "quern_carrier", "quern_group_args", "quern_barrier_args"};
    for (size_t i = 0; i < COUNT(kinds); i++)
        for (size_t k = 0; k < COUNT(without); k++)
            if (!strcmp(kinds[i].name, without[k]))
                check_rest(kinds[i].name, (const char *)kinds[i].macro + sizeof(uint32_t), kinds[i].bytes - sizeof(uint32_t));
}

/* ---- one valid call of every function ---- */

enum { ROWS = 2, VOCAB = 4, WIDTH = 3, ELEMENTS = 5 };

/* Everything that a call may write. */
static struct outputs {
    float loss[ROWS], grad[ROWS * VOCAB], lse[ROWS];
    quern_row_stats stats[ROWS];
    quern_cross_entropy_report report;
    float d_hidden[ROWS * WIDTH], d_weight[VOCAB * WIDTH];
    float param[ELEMENTS], m[ELEMENTS], v[ELEMENTS], main_grad[ELEMENTS];
    float norm, clip, found_inf;
    int32_t received[2];
    float product[ROWS * ROWS];
    size_t bytes;
    int64_t step;
    uint64_t seed;
    void *handle;
    unsigned char saved[1024];
} out;

static const float logits[ROWS * VOCAB] = {1, 2, 3, 4, 4, 2, 1, 0}, hidden[ROWS * WIDTH] = {1, 0, 2, 1, 1, 1};
static const float weight[VOCAB * WIDTH] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 1, 1};
static float grad[ELEMENTS] = {1, -2, 3, -4, 0.5f};
static const int32_t labels[ROWS] = {0, 2}, sent[2] = {41, 42}, zero, two = 2;
static quern_adam_tensor tensor = {.param = out.param, .grad = grad, .m = out.m, .v = out.v, .count = ELEMENTS};
static const quern_gradient gradient = {.grad = grad, .main_grad = out.main_grad, .count = ELEMENTS};

static quern_device *device;
static quern_group *group;
static void *workspace, *symmetric;
static size_t workspace_bytes = 1 << 16, saved_bytes;

static quern_status multiply(void *user, const quern_gemm_args *args, void *stream) {
    (void)user, (void)args, (void)stream;
    check(args->size == MARK + sizeof *args, "the callback's size is %#x", args->size);
    return QUERN_OK;
}

static void fill_info(void *args) { (void)args; }

static void fill_loss(void *args) {
    quern_cross_entropy_args *a = args;
    a->logits_dtype = QUERN_F32, a->labels_dtype = QUERN_INT32, a->rows = ROWS, a->vocab = VOCAB;
    a->logits = logits, a->labels = labels, a->loss = out.loss, a->grad = out.grad, a->lse = out.lse, a->stats = out.stats;
    a->report = &out.report;
}

static void fill_linear(void *args) {
    quern_linear_cross_entropy_args *a = args;
    fill_loss(&a->loss);
    a->loss.logits = NULL, a->loss.grad = NULL, a->loss.stats = NULL;
    a->hidden_dtype = a->weight_dtype = QUERN_F32, a->width = WIDTH, a->hidden = hidden, a->weight = weight;
    a->d_hidden = out.d_hidden, a->d_weight = out.d_weight, a->gemm = multiply;
}

static void fill_adam(void *args) {
    quern_adam_args *a = args;
    a->param_dtype = a->grad_dtype = a->m_dtype = a->v_dtype = QUERN_F32, a->tensors = &tensor, a->tensor_count = 1;
    a->lr = 1, a->step = 1;
}

static void fill_norm(void *args) {
    quern_gradient_norm_args *a = args;
    a->grad_dtype = QUERN_F32, a->gradients = &gradient, a->gradient_count = 1;
    a->norm = &out.norm, a->clip = &out.clip, a->found_inf = &out.found_inf;
}

static void fill_sum(void *args) {
    quern_accumulate_args *a = args;
    a->grad_dtype = QUERN_F32, a->gradients = &gradient, a->gradient_count = 1;
}

static void fill_quantize(void *args) {
    static const quern_quantize_tensor tensor = {0};
    quern_quantize_args *a = args;
    a->input_dtype = QUERN_F32, a->output_dtype = QUERN_E5M2, a->tensors = &tensor, a->tensor_count = 1, a->amax = &out.norm;
}

static void fill_group(void *args) { ((quern_group_args *)args)->ranks = 1, ((quern_group_args *)args)->device = device; }

static void fill_ragged(void *args) {
    quern_ragged_all_to_all_args *a = args;
    a->input = sent, a->output = out.received, a->input_rows = a->output_rows = 2, a->row_bytes = sizeof(int32_t);
    a->input_offsets = a->output_offsets = &zero, a->send_sizes = a->recv_sizes = &two;
}

#define CALL(name, expression) static quern_status name(const void *args) { return expression; }
CALL(info, quern_device_get_info(device, (void *)args))
CALL(loss_bytes, quern_cross_entropy_workspace(device, args, &out.bytes))
CALL(loss, quern_cross_entropy(device, args, workspace, workspace_bytes, NULL))
CALL(stats, quern_cross_entropy_stats(device, args, workspace, workspace_bytes, NULL))
CALL(combine, quern_cross_entropy_combine(device, args, out.stats, 1, workspace, workspace_bytes, NULL))
CALL(gradient_of, quern_cross_entropy_gradient(device, args, workspace, workspace_bytes, NULL))
CALL(linear_bytes, quern_linear_cross_entropy_workspace(device, args, &out.bytes))
CALL(linear, quern_linear_cross_entropy(device, args, workspace, workspace_bytes, NULL))
CALL(adam_bytes, quern_adam_workspace(device, args, &out.bytes))
CALL(adam, quern_adam(device, args, NULL, 0, NULL))
CALL(saved_size, quern_adam_saved_bytes(device, args, &out.bytes))
CALL(save, quern_adam_save(device, args, out.saved, saved_bytes))
CALL(load, quern_adam_load(device, args, out.saved, saved_bytes, &out.step, &out.seed))
CALL(norm_bytes, quern_gradient_norm_workspace(device, args, &out.bytes))
CALL(norm, quern_gradient_norm(device, args, workspace, workspace_bytes, NULL))
CALL(accumulate, quern_accumulate(device, args, NULL))
CALL(quantize_bytes, quern_quantize_workspace(device, args, &out.bytes))
CALL(quantize, quern_quantize(device, args, NULL, 0, NULL))
CALL(amax, quern_quantize_amax(device, args, NULL, 0, NULL))
CALL(cast, quern_quantize_cast(device, args, NULL))
CALL(barrier, quern_barrier(group, args, NULL))
CALL(ragged_bytes, quern_ragged_all_to_all_workspace(group, args, &out.bytes))
CALL(ragged, quern_ragged_all_to_all(group, args, symmetric, workspace_bytes, NULL))

/* The six that make a handle give it back at once. */
static quern_status quantize_plan(const void *args) {
    quern_status status = quern_quantize_plan_create(device, args, (quern_quantize_plan **)&out.handle);
    if (status == QUERN_OK) quern_quantize_plan_destroy(out.handle);
    return status;
}

static quern_status sum_plan(const void *args) {
    quern_status status = quern_accumulate_plan_create(device, args, (quern_accumulate_plan **)&out.handle);
    if (status == QUERN_OK) quern_accumulate_plan_destroy(out.handle);
    return status;
}

static quern_status plan(const void *args) {
    quern_status status = quern_adam_plan_create(device, args, (quern_adam_plan **)&out.handle);
    if (status == QUERN_OK) quern_adam_plan_destroy(out.handle);
    return status;
}

static quern_status ragged_plan(const void *args) {
    quern_status status = quern_ragged_plan_create(&group, 1, args, &symmetric, &workspace_bytes,
                                                   (quern_ragged_plan **)&out.handle);
    return status == QUERN_OK ? quern_ragged_plan_destroy(out.handle) : status;
}

static quern_status transfer(const void *args) {
    quern_status status = quern_transfer_prepare(group, args, (quern_transfer **)&out.handle);
    return status == QUERN_OK ? quern_transfer_destroy(out.handle) : status;
}

static quern_status new_group(const void *args) {
    quern_status status = quern_group_create(args, 1, (quern_group **)&out.handle);
    return status == QUERN_OK ? quern_group_destroy(out.handle) : status;
}

/* The sizes of Adam's arguments before the mark: multiples of 8 from the first header on. */
enum { OLDEST_ADAM = offsetof(quern_adam_args, amsgrad), OLDEST_LOSS = offsetof(quern_cross_entropy_args, strict_labels),
       OLDEST_SUM = offsetof(quern_accumulate_args, main_dtype), OLDEST_QUANTIZE = offsetof(quern_quantize_args, scaling),
       OLDEST_GROUP = offsetof(quern_group_args, first_timeout) };

static const struct call {
    const char *name;
    quern_status (*run)(const void *args);
    void (*init)(void *target);
    void (*fill)(void *args);
    const char *field;     /* as the detail names it */
    size_t bytes, offset;  /* of the struct that has the size, and where it lies in the argument */
    size_t oldest;         /* accepted without a mark from here; 0: never */
} calls[] = {
#define OF(type) #type ".size", sizeof(type), 0, 0
#define ARGS(type) "args.size", sizeof(type), 0, 0
#define NESTED "args.loss.size", sizeof(quern_cross_entropy_args), offsetof(quern_linear_cross_entropy_args, loss), 0
#define LOSS "args.size", sizeof(quern_cross_entropy_args), 0, OLDEST_LOSS
#define GROUP "quern_group_args.size", sizeof(quern_group_args), 0, OLDEST_GROUP
#define ADAM "args.size", sizeof(quern_adam_args), 0, OLDEST_ADAM
#define QUANTIZE "args.size", sizeof(quern_quantize_args), 0, OLDEST_QUANTIZE
#define SUM "args.size", sizeof(quern_accumulate_args), 0, OLDEST_SUM
    {"device_get_info", info, init_quern_device_info, fill_info, OF(quern_device_info)},
    {"cross_entropy_workspace", loss_bytes, init_quern_cross_entropy_args, fill_loss, LOSS},
    {"cross_entropy", loss, init_quern_cross_entropy_args, fill_loss, LOSS},
    {"cross_entropy_stats", stats, init_quern_cross_entropy_args, fill_loss, LOSS},
    {"cross_entropy_combine", combine, init_quern_cross_entropy_args, fill_loss, LOSS},
    {"cross_entropy_gradient", gradient_of, init_quern_cross_entropy_args, fill_loss, LOSS},
    {"linear_cross_entropy_workspace", linear_bytes, init_quern_linear_cross_entropy_args, fill_linear,
     ARGS(quern_linear_cross_entropy_args)},
    {"linear_cross_entropy", linear, init_quern_linear_cross_entropy_args, fill_linear, ARGS(quern_linear_cross_entropy_args)},
    {"linear_cross_entropy_workspace", linear_bytes, init_quern_linear_cross_entropy_args, fill_linear, NESTED},
    {"linear_cross_entropy", linear, init_quern_linear_cross_entropy_args, fill_linear, NESTED},
    {"adam_workspace", adam_bytes, init_quern_adam_args, fill_adam, ADAM},
    {"adam", adam, init_quern_adam_args, fill_adam, ADAM},
    {"adam_plan_create", plan, init_quern_adam_args, fill_adam, ADAM},
    {"adam_saved_bytes", saved_size, init_quern_adam_args, fill_adam, ADAM},
    {"adam_save", save, init_quern_adam_args, fill_adam, ADAM},
    {"adam_load", load, init_quern_adam_args, fill_adam, ADAM},
    {"gradient_norm_workspace", norm_bytes, init_quern_gradient_norm_args, fill_norm, ARGS(quern_gradient_norm_args)},
    {"gradient_norm", norm, init_quern_gradient_norm_args, fill_norm, ARGS(quern_gradient_norm_args)},
    {"accumulate", accumulate, init_quern_accumulate_args, fill_sum, SUM},
    {"accumulate_plan_create", sum_plan, init_quern_accumulate_args, fill_sum, SUM},
    {"quantize_workspace", quantize_bytes, init_quern_quantize_args, fill_quantize, QUANTIZE},
    {"quantize", quantize, init_quern_quantize_args, fill_quantize, QUANTIZE},
    {"quantize_amax", amax, init_quern_quantize_args, fill_quantize, QUANTIZE},
    {"quantize_cast", cast, init_quern_quantize_args, fill_quantize, QUANTIZE},
    {"quantize_plan_create", quantize_plan, init_quern_quantize_args, fill_quantize, QUANTIZE},
    {"group_create", new_group, init_quern_group_args, fill_group, GROUP},
    {"barrier", barrier, init_quern_barrier_args, fill_info, OF(quern_barrier_args)},
    {"ragged_all_to_all_workspace", ragged_bytes, init_quern_ragged_all_to_all_args, fill_ragged,
     OF(quern_ragged_all_to_all_args)},
    {"ragged_all_to_all", ragged, init_quern_ragged_all_to_all_args, fill_ragged, OF(quern_ragged_all_to_all_args)},
    {"ragged_plan_create", ragged_plan, init_quern_ragged_all_to_all_args, fill_ragged, OF(quern_ragged_all_to_all_args)},
    {"transfer_prepare", transfer, init_quern_transfer_args, fill_info, OF(quern_transfer_args)},
};

static void open_all(void) {
    quern_group_args membership = QUERN_GROUP_ARGS_INIT;
    quern_adam_args args = QUERN_ADAM_ARGS_INIT;
    check_ok(quern_device_open(QUERN_CPU, 0, &device));
    check_ok(quern_prepare(device, QUERN_CROSS_ENTROPY | QUERN_ADAM | QUERN_BARRIER | QUERN_RAGGED_ALL_TO_ALL | QUERN_QUANTIZE));
    fill_group(&membership);
    check_ok(quern_group_create(&membership, 1, &group));
    check_ok(quern_symmetric_alloc(&group, 1, &workspace_bytes, &symmetric));
    workspace = aligned_alloc(64, workspace_bytes);
    fill_adam(&args);
    check_ok(quern_adam_saved_bytes(device, &args, &saved_bytes));
    check(workspace && saved_bytes <= sizeof out.saved, "too little memory");
    memset(&out, 0, sizeof out);
    check_ok(quern_adam_save(device, &args, out.saved, saved_bytes));
}

static void close_all(void) {
    free(workspace);
    check_ok(quern_group_destroy(group));
    quern_device_close(device);
}

/* ---- sizes ---- */

static bool is_accepted(const struct call *call, uint32_t size) {
    const uint32_t bytes = size >> 16 == MARK >> 16 ? size & 0xFFFF : size;
    if (bytes % sizeof(void *)) return false;
    if (call->oldest) return bytes >= call->oldest && (bytes < call->bytes || (bytes == call->bytes && size != bytes));
    return size == MARK + call->bytes;
}

static void try_size(const struct call *call, uint32_t size) {
    _Alignas(16) unsigned char args[LARGEST], before[LARGEST];
    static struct outputs as_it_was;
    char value[32];
    call->init(args);
    call->fill(args);
    memcpy(args + call->offset, &size, sizeof size);
    memcpy(before, args, sizeof before);
    as_it_was = out;
    const quern_status status = call->run(args);
    if (is_accepted(call, size)) {
        check(status == QUERN_OK, "%s refuses the size %#x: %s", call->name, size, error_detail());
        out = as_it_was;
        return;
    }
    check(status == QUERN_INVALID_STRUCT_SIZE, "%s takes the size %#x: status %d", call->name, size, (int)status);
    const bool marked = size >> 16 == MARK >> 16;
    snprintf(value, sizeof value, marked || size > call->bytes ? "that of %u bytes" : "is %u", marked ? size & 0xFFFF : size);
    check(!strncmp(error_detail(), call->field, strlen(call->field)) && strstr(error_detail(), value) &&
          strstr(error_detail(), ": expected "), "%s, size %#x: the detail is \"%s\"", call->name, size, error_detail());
    check(!memcmp(before, args, sizeof before), "%s wrote to a struct that it refused", call->name);
    check(!memcmp(&as_it_was, &out, sizeof out), "%s wrote an output with the size %#x", call->name, size);
}

/* The argument structs are read to the end of their own bytes only, so the test's stays as long as the largest. */
Test(structs, only_sizes_of_initialisers_are_accepted) {
    open_all();
    for (size_t i = 0; i < COUNT(calls); i++) {
        const uint32_t bytes = (uint32_t)calls[i].bytes;
        for (uint32_t size = 0; size <= bytes + 16; size++) try_size(&calls[i], size), try_size(&calls[i], MARK + size);
        const uint32_t strange[] = {MARK - 0x10000 + bytes, MARK + 0x10000 + bytes, 0x80000000 + bytes, UINT32_MAX, MARK + 0xFFFF,
                                    bytes << 16, MARK >> 16};
        for (size_t k = 0; k < COUNT(strange); k++) try_size(&calls[i], strange[k]);
    }
    close_all();
}

static void check_detail(const char *call, const char *expected) {
    check(strstr(error_detail(), expected), "%s: \"%s\" has no \"%s\"", call, error_detail(), expected);
}

/* Programs in other languages set a zeroed struct's size by hand: the detail says how to initialise it. */
Test(structs, a_plain_sizeof_is_told_what_is_missing) {
    quern_adam_args args = {.size = 0};
    open_all();
    check_status(quern_adam(device, &args, NULL, 0, NULL), QUERN_INVALID_STRUCT_SIZE);
    check_detail("size 0", "args.size is 0: expected the size with the mark and the defaults, as the struct's _INIT macro and "
                 "_init function set them");
    args.size = sizeof args;
    check_status(quern_adam(device, &args, NULL, 0, NULL), QUERN_INVALID_STRUCT_SIZE);
    check_detail("sizeof", ", a plain sizeof: expected the size with the mark");
    args.size = QUERN_STRUCT_SIZE(args) + 8;
    check_status(quern_adam(device, &args, NULL, 0, NULL), QUERN_INVALID_STRUCT_SIZE);
    check_detail("larger", "newer quern.h");
    close_all();
}

Test(structs, explanations_name_the_size) {
    char text[512];
    quern_adam_args adam_args = {.size = sizeof adam_args};
    quern_cross_entropy_args loss_args = {.size = sizeof loss_args};
    open_all();
    quern_adam_explain(device, &adam_args, text, sizeof text);
    check(strstr(text, "args.size is "), "\"%s\"", text);
    quern_cross_entropy_explain(device, &loss_args, text, sizeof text);
    check(strstr(text, "args.size is "), "\"%s\"", text);
    close_all();
}

/* Every rank's struct of an array is looked at. */
Test(structs, arrays_of_arguments) {
    quern_group_args args[2] = {QUERN_GROUP_ARGS_INIT, {.size = sizeof(quern_group_args)}};
    quern_group *groups[2] = {NULL, NULL};
    open_all();
    for (int i = 0; i < 2; i++) args[i].rank = i, args[i].ranks = 2, args[i].device = device, args[i].name = "structs";
    check_status(quern_group_create(args, 2, groups), QUERN_INVALID_STRUCT_SIZE);
    check(!groups[0] && !groups[1], "handles of a refused group");
    close_all();
}

/* The array of an older program is read by its own size, and no further: what lies behind is rubbish. */
static void create_older(uint32_t size, uint32_t other, int rank, int ranks, quern_status expected, const char *detail) {
    _Alignas(16) unsigned char older[3 * sizeof(quern_group_args)];
    quern_group *groups[2] = {NULL, NULL};
    quern_group_args args = QUERN_GROUP_ARGS_INIT;
    memset(older, 0xa7, sizeof older);
    args.device = device, args.name = "structs", args.ranks = 2, args.size = size;
    memcpy(older, &args, size & 0xFFFF);
    args.rank = rank, args.ranks = ranks, args.size = other;
    memcpy(older + (size & 0xFFFF), &args, other & 0xFFFF);
    check_status(quern_group_create((const void *)older, 2, groups), expected);
    check_detail("an older array", detail);
}

Test(structs, arrays_of_older_arguments) {
    open_all();
    for (uint32_t size = OLDEST_GROUP; size < sizeof(quern_group_args); size += 8) {
        create_older(MARK + size, MARK + size, 1, 2, QUERN_INVALID_ARGUMENT, "count is 2: a thread is one CPU rank");
        create_older(MARK + size, MARK + size, 7, 8, QUERN_INVALID_ARGUMENT, "count is 2: a thread is one CPU rank");
        create_older(MARK + size, MARK + size, 9, 8, QUERN_INVALID_ARGUMENT, "rank is 9: expected 0 to 7");
        create_older(MARK + size, MARK + size + 8, 1, 2, QUERN_INVALID_STRUCT_SIZE, "args[1].size is that of ");
    }
    close_all();
}

Test(structs, a_product_of_its_own_size) {
    quern_gemm_args args = QUERN_GEMM_ARGS_INIT;
    quern_blas *blas;
    open_all();
    if (quern_blas_open(device, NULL, &blas) != QUERN_OK) cr_skip_test("no BLAS");
    args.m = args.n = ROWS, args.k = WIDTH, args.a = args.b = hidden, args.c = out.product, args.b_transposed = 1;
    args.a_dtype = args.b_dtype = args.c_dtype = QUERN_F32, args.a_stride = args.b_stride = WIDTH, args.c_stride = ROWS;
    const uint32_t sizes[] = {0, sizeof args, QUERN_STRUCT_SIZE(args) - 8, QUERN_STRUCT_SIZE(args) + 8};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        args.size = sizes[i];
        check_status(quern_blas_gemm(blas, &args, NULL), QUERN_INVALID_STRUCT_SIZE);
        check_detail("gemm", "quern_gemm_args.size is ");
        check(out.product[0] == 0, "a refused product was computed");
    }
    quern_gemm_args_init(&args);
    args.m = args.n = ROWS, args.k = WIDTH, args.a = args.b = hidden, args.c = out.product, args.b_transposed = 1;
    args.a_dtype = args.b_dtype = args.c_dtype = QUERN_F32, args.a_stride = args.b_stride = WIDTH, args.c_stride = ROWS;
    check_ok(quern_blas_gemm(blas, &args, NULL));
    check(out.product[0] == 5 && out.product[1] == 3 && out.product[3] == 3, "hidden * hidden^T is wrong");
    quern_blas_close(blas);
    close_all();
}

/* The structs of lists carry plain sizes, and 0 is refused. */
Test(structs, sizes_of_list_elements) {
    open_all();
    quern_adam_args adam_args = QUERN_ADAM_ARGS_INIT;
    quern_gradient_norm_args norm_args = QUERN_GRADIENT_NORM_ARGS_INIT;
    quern_accumulate_args sum = QUERN_ACCUMULATE_ARGS_INIT;
    quern_quantize_args cast_args = QUERN_QUANTIZE_ARGS_INIT;
    fill_adam(&adam_args), fill_norm(&norm_args), fill_sum(&sum), fill_quantize(&cast_args);
    const uint32_t wrong[] = {0, 1, sizeof(quern_adam_tensor) + 8, QUERN_STRUCT_SIZE(quern_adam_tensor),
                              QUERN_STRUCT_SIZE(quern_gradient)};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        adam_args.tensor_size = norm_args.gradient_size = sum.gradient_size = cast_args.tensor_size = wrong[i];
        for (int empty = 0; empty < 2; empty++) {
            adam_args.tensor_count = norm_args.gradient_count = sum.gradient_count = cast_args.tensor_count = !empty;
            check_status(quern_adam(device, &adam_args, NULL, 0, NULL), QUERN_INVALID_STRUCT_SIZE);
            check_detail("quern_adam", "args.tensor_size is ");
            check_status(quern_gradient_norm(device, &norm_args, workspace, workspace_bytes, NULL), QUERN_INVALID_STRUCT_SIZE);
            check_detail("quern_gradient_norm", "args.gradient_size is ");
            check_status(quern_accumulate(device, &sum, NULL), QUERN_INVALID_STRUCT_SIZE);
            check_detail("quern_accumulate", "args.gradient_size is ");
            check_status(quern_quantize(device, &cast_args, NULL, 0, NULL), QUERN_INVALID_STRUCT_SIZE);
            check_detail("quern_quantize", "args.tensor_size is ");
        }
    }
    close_all();
}

/* ---- a default that is overwritten with 0 ---- */

Test(structs, zero_in_cross_entropy_is_zero) {
    quern_cross_entropy_args args;
    const float factors[ROWS] = {2, 3};
    open_all();
    quern_cross_entropy_args_init(&args);
    fill_loss(&args);
    args.grad_loss = factors;
    check_ok(loss(&args));
    check(out.report.ignored_rows == 0 && out.loss[0] > 0, "a row was ignored");
    const struct outputs all = out;

    args.ignore_index = 0;
    check_ok(loss(&args));
    check(out.report.ignored_rows == 1 && out.loss[0] == 0 && out.loss[1] == all.loss[1], "label 0 was not ignored");

    args.ignore_index = -100, args.grad_loss_stride = 0;
    check_ok(loss(&args));
    for (int i = 0; i < VOCAB; i++) {
        check(out.grad[i] == all.grad[i], "row 0 has another factor");
        check(fabsf(out.grad[VOCAB + i] * 3 - all.grad[VOCAB + i] * 2) < 1e-6f, "row 1 does not have row 0's factor");
    }

    args.grad_scale = 0;
    check_ok(loss(&args));
    for (int i = 0; i < ROWS * VOCAB; i++) check(out.grad[i] == 0, "a gradient scaled by 0 is %g", (double)out.grad[i]);
    close_all();
}

/* With beta 0 the moments are the gradient and its square, and with eps 0 too a step is lr in the direction of the gradient. */
Test(structs, zero_in_adam_is_zero) {
    quern_adam_args args;
    open_all();
    quern_adam_args_init(&args);
    fill_adam(&args);
    args.beta1 = args.beta2 = args.eps = 0;
    check_ok(adam(&args));
    for (int i = 0; i < ELEMENTS; i++) {
        check(out.m[i] == grad[i] && out.v[i] == grad[i] * grad[i], "moments %g and %g", (double)out.m[i], (double)out.v[i]);
        check(out.param[i] == (grad[i] > 0 ? -1 : 1), "param is %g", (double)out.param[i]);
    }
    memset(&out, 0, sizeof out);
    quern_adam_args_init(&args);
    fill_adam(&args);
    check_ok(adam(&args));
    for (int i = 0; i < ELEMENTS; i++) {
        check(fabsf(out.m[i] - 0.1f * grad[i]) <= 1e-6f, "m is %g", (double)out.m[i]);
        check(fabsf(out.v[i] - 0.001f * grad[i] * grad[i]) <= 1e-7f, "v is %g", (double)out.v[i]);
    }
    close_all();
}

Test(structs, zero_in_accumulate_and_ragged_is_zero) {
    quern_accumulate_args sum;
    quern_ragged_all_to_all_args exchange;
    open_all();
    quern_accumulate_args_init(&sum);
    fill_sum(&sum);
    check_ok(accumulate(&sum));
    sum.scale = 0;
    check_ok(accumulate(&sum));
    for (int i = 0; i < ELEMENTS; i++) check(out.main_grad[i] == grad[i], "the sum is %g", (double)out.main_grad[i]);

    quern_ragged_all_to_all_args_init(&exchange);
    fill_ragged(&exchange);
    exchange.updates = 0;
    check_ok(ragged(&exchange));
    check(out.received[0] == 0 && out.received[1] == 0, "no update sent a row");
    exchange.updates = 1;
    check_ok(ragged(&exchange));
    check(out.received[0] == sent[0] && out.received[1] == sent[1], "an update sent nothing");
    exchange.metadata_dtype = QUERN_NO_DTYPE;
    check_status(ragged(&exchange), QUERN_INVALID_DTYPE);
    close_all();
}
