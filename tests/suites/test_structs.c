/*
 * The structs that begin with their size: the initialiser functions and macros give the same bytes, a default that is overwritten
 * with 0 is 0.  tests/fields/ has the sizes that each call takes.
 *
 * Runs on: one cpu.
 */

#include "../../generated/structs.h"
#include "harness/check.h"

/* ---- the structs ---- */

#define STRUCT(type, initialiser) \
    static const type macro_##type = initialiser; \
    static void init_##type(void *target) { type##_init(target); }
QUERN_FOR_EACH_STRUCT(STRUCT)

static const struct kind {
    const char *name;
    size_t bytes;
    const void *macro;
    void (*init)(void *target);
} kinds[] = {
#define KIND(type, initialiser) {#type, sizeof(type), &macro_##type, init_##type},
    QUERN_FOR_EACH_STRUCT(KIND)
};

union any {
#define MEMBER(type, initialiser) type of_##type;
    QUERN_FOR_EACH_STRUCT(MEMBER)
};

enum { ROOM = sizeof(union any) + 64, MARK = 0x51550000 };

Test(structs, functions_give_the_bytes_of_the_macros) {
    for (size_t i = 0; i < COUNT(kinds); i++) {
        _Alignas(16) unsigned char target[ROOM], untouched[ROOM];
        memset(target, 0xFF, sizeof target);
        memset(untouched, 0xFF, sizeof untouched);
        kinds[i].init(NULL);
        kinds[i].init(target);
        check(!memcmp(target, kinds[i].macro, kinds[i].bytes), "%s_init differs from the macro", kinds[i].name);
        check(!memcmp(target + kinds[i].bytes, untouched, ROOM - kinds[i].bytes), "%s_init wrote beyond it", kinds[i].name);
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
    static const unsigned char zeros[ROOM];
    check(!memcmp(rest, zeros, bytes), "%s has a default that the header does not state", name);
}

static void take_loss_defaults(quern_cross_entropy_args *loss) {
    TAKE(*loss, ignore_index, -100);
    TAKE(*loss, grad_loss_stride, 1);
    TAKE(*loss, grad_log_prob_stride, 1);
    TAKE(*loss, grad_entropy_stride, 1);
    TAKE(*loss, grad_divergence_stride, 1);
    TAKE(*loss, grad_scale, 1.0f);
}

/* All but the size and those that are taken is 0. */
#define DEFAULTS(type, ...) do { \
        type given; \
        type##_init(&given); \
        TAKE(given, size, MARK + sizeof given); \
        __VA_ARGS__; \
        check_rest(#type, &given, sizeof given); \
    } while (0)

Test(structs, defaults_are_those_of_the_header) {
    DEFAULTS(quern_device_info, (void)0);
    DEFAULTS(quern_dump_args, (void)0);
    DEFAULTS(quern_cross_entropy_args, take_loss_defaults(&given));
    DEFAULTS(quern_gemm_args, (void)0);
    DEFAULTS(quern_linear_cross_entropy_args, TAKE(given.loss, size, MARK + sizeof given.loss); take_loss_defaults(&given.loss));
    DEFAULTS(quern_adam_args, TAKE(given, tensor_size, sizeof(quern_adam_tensor)); TAKE(given, beta1, 0.9);
             TAKE(given, beta2, 0.999); TAKE(given, eps, 1e-8));
    DEFAULTS(quern_gradient_norm_args, TAKE(given, gradient_size, sizeof(quern_gradient)));
    DEFAULTS(quern_accumulate_args, TAKE(given, gradient_size, sizeof(quern_gradient)); TAKE(given, scale, 1.0);
             TAKE(given, main_dtype, QUERN_F32));
    DEFAULTS(quern_quantize_args, TAKE(given, tensor_size, sizeof(quern_quantize_tensor)));
    DEFAULTS(quern_carrier, (void)0);
    DEFAULTS(quern_hosts_args, (void)0);
    DEFAULTS(quern_group_args, TAKE(given, progress_core, -1));
    DEFAULTS(quern_barrier_args, (void)0);
    DEFAULTS(quern_collective_args, TAKE(given, combination, QUERN_COMBINE_SUM));
    DEFAULTS(quern_ragged_all_to_all_args, TAKE(given, metadata_dtype, QUERN_INT32); TAKE(given, updates, 1));
    DEFAULTS(quern_ragged_sizes_args, TAKE(given, metadata_dtype, QUERN_INT32); TAKE(given, updates, 1));
    DEFAULTS(quern_quantize_chunks_args, TAKE(given, chunk_rows, 1));
    DEFAULTS(quern_device_view, (void)0);
    DEFAULTS(quern_transfer_args, TAKE(given, item_size, sizeof(quern_transfer_item)));
}

/* ---- structs that no table of fields has: what a call fills in, and arrays ---- */

static quern_device *device;
static void *workspace;
static size_t workspace_bytes = 1 << 16;

static void open_all(void) {
    check_ok(quern_device_open(QUERN_CPU, 0, &device));
    check_ok(quern_prepare(device, QUERN_CROSS_ENTROPY | QUERN_ADAM | QUERN_RAGGED_ALL_TO_ALL));
    workspace = aligned_alloc(64, workspace_bytes);
    check(workspace, "no memory");
}

static void close_all(void) {
    free(workspace);
    quern_device_close(device);
}

#define TEST_OPEN(suite, name) TEST_BETWEEN(open_all(), close_all(), suite, name)

TEST_OPEN(structs, sizes_of_what_a_call_fills_in) {
    quern_device_info info, before;
    char expected[64];
    for (uint32_t size = 0; size <= MARK + sizeof info + 16; size = size == sizeof info + 16 ? MARK : size + 1) {
        memset(&info, 0xFF, sizeof info);
        info.size = size, before = info;
        const quern_status status = quern_device_get_info(device, &info);
        if (size == MARK + sizeof info) check_ok(status);
        if (size == MARK + sizeof info) continue;
        const bool is_marked = size >= MARK, is_told = is_marked || size > sizeof info;
        snprintf(expected, sizeof expected, is_told ? "quern_device_info.size is that of %u bytes: expected "
                                                    : "quern_device_info.size is %u", is_marked ? size - MARK : size);
        check_refused(status, QUERN_INVALID_STRUCT_SIZE, expected);
        check(!memcmp(&before, &info, sizeof info), "the size %#x: a refused struct was written", size);
    }
}

/* Every rank's struct of an array is looked at. */
TEST_OPEN(structs, arrays_of_arguments) {
    quern_group_args args[2] = {QUERN_GROUP_ARGS_INIT, {.size = sizeof(quern_group_args)}};
    quern_group *groups[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) args[i].rank = i, args[i].ranks = 2, args[i].device = device, args[i].name = "structs";
    check_status(quern_group_create(args, 2, groups), QUERN_INVALID_STRUCT_SIZE);
    check(!groups[0] && !groups[1], "handles of a refused group");
}

/* The array of an older program is read by its own size, and no further: what lies behind is rubbish. */
static void create_older(uint32_t size, uint32_t other, int rank, int ranks, quern_status expected, const char *detail) {
    _Alignas(16) unsigned char older[3 * sizeof(quern_group_args)];
    quern_group *groups[2] = {NULL, NULL};
    memset(older, 0xa7, sizeof older);
    quern_group_args args = GROUP_ARGS(.device = device, .name = "structs", .ranks = 2);
    args.size = size;
    memcpy(older, &args, size & 0xFFFF);
    args.rank = rank, args.ranks = ranks, args.size = other;
    memcpy(older + (size & 0xFFFF), &args, other & 0xFFFF);
    check_refused(quern_group_create((const void *)older, 2, groups), expected, detail);
}

TEST_OPEN(structs, arrays_of_older_arguments) {
    for (uint32_t size = offsetof(quern_group_args, first_timeout); size < sizeof(quern_group_args); size += 8) {
        create_older(MARK + size, MARK + size, 1, 2, QUERN_INVALID_ARGUMENT, "count is 2: a thread is one CPU rank");
        create_older(MARK + size, MARK + size, 7, 8, QUERN_INVALID_ARGUMENT, "count is 2: a thread is one CPU rank");
        create_older(MARK + size, MARK + size, 9, 8, QUERN_INVALID_ARGUMENT, "rank is 9: expected 0 to 7");
        create_older(MARK + size, MARK + size + 8, 1, 2, QUERN_INVALID_STRUCT_SIZE, "args[1].size is that of ");
    }
}

/* ---- calls ---- */

enum { ROWS = 2, VOCAB = 4, ELEMENTS = 5 };

static const float logits[ROWS * VOCAB] = {1, 2, 3, 4, 4, 2, 1, 0};
static float grad[ELEMENTS] = {1, -2, 3, -4, 0.5f};
static const int32_t labels[ROWS] = {0, 2}, sent[2] = {41, 42}, zero, two = 2;

static struct outputs {
    float loss[ROWS], grad[ROWS * VOCAB];
    quern_cross_entropy_report report;
    float param[ELEMENTS], m[ELEMENTS], v[ELEMENTS], main_grad[ELEMENTS];
    int32_t received[2];
} out;

static const quern_adam_tensor tensor = {.param = out.param, .grad = grad, .m = out.m, .v = out.v, .count = ELEMENTS};
static const quern_gradient gradient = {.grad = grad, .main_grad = out.main_grad, .count = ELEMENTS};

static void fill_loss(quern_cross_entropy_args *a) {
    a->logits_dtype = QUERN_F32, a->labels_dtype = QUERN_INT32, a->rows = ROWS, a->vocab = VOCAB;
    a->logits = logits, a->labels = labels, a->loss = out.loss, a->grad = out.grad, a->report = &out.report;
}

static void fill_adam(quern_adam_args *a) {
    a->param_dtype = a->grad_dtype = a->m_dtype = a->v_dtype = QUERN_F32, a->tensors = &tensor, a->tensor_count = 1;
    a->lr = 1, a->step = 1;
}

static quern_status loss(const quern_cross_entropy_args *args) {
    return quern_cross_entropy(device, args, workspace, workspace_bytes, NULL);
}

static quern_status adam(const quern_adam_args *args) { return quern_adam(device, args, NULL, 0, NULL); }

/* ---- a default that is overwritten with 0 ---- */

TEST_OPEN(structs, zero_in_cross_entropy_is_zero) {
    quern_cross_entropy_args args;
    const float factors[ROWS] = {2, 3};
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
}

/* With beta 0 the moments are the gradient and its square, and with eps 0 too a step is lr in the direction of the gradient. */
TEST_OPEN(structs, zero_in_adam_is_zero) {
    quern_adam_args args;
    quern_adam_args_init(&args);
    fill_adam(&args);
    args.beta1 = args.beta2 = args.eps = 0;
    check_ok(adam(&args));
    for (int i = 0; i < ELEMENTS; i++) {
        check(out.m[i] == grad[i] && out.v[i] == grad[i] * grad[i], "moments %g and %g", (double)out.m[i], (double)out.v[i]);
        check(out.param[i] == (grad[i] > 0 ? -1 : 1), "param is %g", (double)out.param[i]);
    }
}

TEST_OPEN(structs, zero_in_accumulate_and_ragged_is_zero) {
    quern_accumulate_args sum;
    quern_ragged_all_to_all_args exchange;
    quern_group *group;
    void *symmetric;
    quern_accumulate_args_init(&sum);
    sum.grad_dtype = QUERN_F32, sum.gradients = &gradient, sum.gradient_count = 1;
    check_ok(quern_accumulate(device, &sum, NULL));
    sum.scale = 0;
    check_ok(quern_accumulate(device, &sum, NULL));
    for (int i = 0; i < ELEMENTS; i++) check(out.main_grad[i] == grad[i], "the sum is %g", (double)out.main_grad[i]);

    quern_ragged_all_to_all_args_init(&exchange);
    exchange.input = sent, exchange.output = out.received, exchange.input_rows = exchange.output_rows = 2;
    exchange.row_bytes = sizeof(int32_t), exchange.input_offsets = exchange.output_offsets = &zero;
    exchange.send_sizes = exchange.recv_sizes = &two;
    quern_group_args membership = GROUP_ARGS(.ranks = 1, .device = device);
    check_ok(quern_group_create(&membership, 1, &group));
    check_ok(quern_symmetric_alloc(&group, 1, &workspace_bytes, &symmetric));
    exchange.updates = 0;
    check_ok(quern_ragged_all_to_all(group, &exchange, symmetric, workspace_bytes, NULL));
    check(out.received[0] == 0 && out.received[1] == 0, "no update sent a row");
    exchange.updates = 1;
    check_ok(quern_ragged_all_to_all(group, &exchange, symmetric, workspace_bytes, NULL));
    check(out.received[0] == sent[0] && out.received[1] == sent[1], "an update sent nothing");
    check_ok(quern_group_destroy(group));
}
