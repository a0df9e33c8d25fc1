/*
 * Arrays of lists and plans that share memory: those that plans join, and those of lists that are too long to compare every array.
 * tests/fields/ has every pair of buffers of each call.
 *
 * Runs on: cpu, one emulated, gpu.
 */
#include "harness/buffer.h"

enum { ARENA = 1 << 20, ROOM = 1 << 12 };

static struct test_device device;
static struct buffer arena;
static char *memory;

static char *home(size_t part) { return memory + (2 * part + 1) * ROOM; }

static void open_arena(void) {
    device_open(&device, 0, NULL);
    check_ok(quern_prepare(device.quern, QUERN_ADAM));
    buffer_open(&arena, &device, ARENA, 0, NULL);
    memory = arena.data;
}

static void close_arena(void) {
    buffer_close(&arena);
    device_close(&device);
}

/* ---- plans ---- */

static quern_adam_args adam;
static quern_adam_plan *plan;
static quern_gradient_norm_args norm;
static void *workspace;
static size_t workspace_bytes;

static quern_status call_adam(void) { return quern_adam(device.quern, &adam, NULL, 0, device.stream); }

static quern_status call_norm(void) {
    return quern_gradient_norm(device.quern, &norm, workspace, workspace_bytes, device.stream);
}

#define TEST_ARENA(suite, name) TEST_BETWEEN(open_arena(), close_arena(), suite, name)

/*
 * A plan joins arrays that touch or share memory.  Here gradients lie inside and behind one another, and moments follow them
 * without a gap.  A number of a norm at each place around them is compared with the arrays themselves.
 */
TEST_ARENA(overlaps, joined_arrays_of_a_plan) {
    enum { TENSORS = 3, BEFORE = 16, END = 800, ROOM_OF_EACH = 512 };
    static const int64_t counts[TENSORS] = {100, 10, 100};
    static const struct { int begin, end; bool written; } arrays[] = {
        {0, 200, false}, {20, 40, false}, {150, 350, false}, {350, 550, true}, {550, 750, true}};
    static quern_adam_tensor list[TENSORS];
    char *const base = home(0), *const apart = home(10);
    for (int i = 0; i < TENSORS; i++) {
        char *const others = apart + i * 3 * ROOM_OF_EACH;
        list[i] = (quern_adam_tensor){.param = others, .grad = base + arrays[i].begin, .m = others + ROOM_OF_EACH,
                                      .v = others + 2 * ROOM_OF_EACH, .count = counts[i]};
    }
    list[0].m = base + arrays[3].begin, list[0].v = base + arrays[4].begin;
    adam = (quern_adam_args)ADAM_ARGS(ADAM_DTYPES(QUERN_BF16), .lr = 1, .step = 1, .tensors = list, .tensor_count = TENSORS);
    check_ok(quern_adam_plan_create(device.quern, &adam, &plan));
    norm = (quern_gradient_norm_args)GRADIENT_NORM_ARGS(.grad_dtype = QUERN_BF16, .plan = plan);
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
}

/* The arrays of a plan that a norm does not read are kept, too. */
TEST_ARENA(overlaps, a_norm_over_the_arrays_of_a_plan) {
    enum { ELEMENTS = 40, LAST = 10 };
    quern_adam_tensor tensor = {.param = NULL, .count = ELEMENTS};
    void **const arrays[LAST] = {&tensor.param, &tensor.grad, &tensor.m, &tensor.v, &tensor.master, (void **)&tensor.m_scale,
                                 (void **)&tensor.v_scale, &tensor.v_max, (void **)&tensor.v_max_scale, &tensor.copy};
    for (size_t i = 0; i < LAST; i++) *arrays[i] = home(i);
    adam = (quern_adam_args)QUERN_ADAM_ARGS_INIT;
    adam.param_dtype = adam.grad_dtype = QUERN_BF16, adam.m_dtype = adam.v_dtype = QUERN_E4M3, adam.master_dtype = QUERN_REMAINDER;
    adam.amsgrad = 1, adam.copy_dtype = QUERN_E4M3, adam.lr = 1, adam.step = 1, adam.tensors = &tensor, adam.tensor_count = 1;
    check_ok(quern_adam_plan_create(device.quern, &adam, &plan));
    norm = (quern_gradient_norm_args)GRADIENT_NORM_ARGS(.grad_dtype = QUERN_BF16, .plan = plan);
    check_ok(quern_gradient_norm_workspace(device.quern, &norm, &workspace_bytes));
    for (size_t i = 0; i <= LAST; i++) {
        norm.found_inf = (float *)home(i), workspace = home(LAST + 1);
        check_status(call_norm(), i < LAST ? QUERN_INVALID_ARGUMENT : QUERN_OK);
        norm.found_inf = (float *)home(LAST), workspace = home(i == LAST ? LAST + 1 : i);
        check_status(call_norm(), i < LAST ? QUERN_INVALID_ARGUMENT : QUERN_OK);
    }
    quern_adam_plan_destroy(plan);
}

/* ---- long lists ---- */

enum { LONG = 200, SHORT = 128 };  /* of four arrays each: the header says 512 arrays */

TEST_ARENA(overlaps, long_lists) {
    static quern_adam_tensor list[LONG];
    adam = (quern_adam_args)ADAM_ARGS(ADAM_DTYPES(QUERN_F32), .lr = 1, .step = 1, .tensors = list);
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
}

/* ---- sums ---- */

static quern_accumulate_args sum;

static quern_status call_sum(void) { return quern_accumulate(device.quern, &sum, device.stream); }

static quern_status make_sums(void) {
    quern_accumulate_plan *sums = NULL;
    quern_status status = quern_accumulate_plan_create(device.quern, &sum, &sums);
    quern_accumulate_plan_destroy(sums);
    return status;
}

/* On a CPU a sum could overwrite them in the midst of the call: another group would be read, at any address. */
TEST_ARENA(overlaps, places_of_tokens) {
    static int64_t counts[2] = {1, 1};
    static quern_gradient list[2];
    if (device.kind != QUERN_CPU) cr_skip_test("host memory is apart from that of a GPU");
    sum = (quern_accumulate_args)ACCUMULATE_ARGS(.grad_dtype = QUERN_BF16, .gradients = list, .gradient_count = 2);
    for (int i = 0; i < 2; i++) list[i] = (quern_gradient){memory + i * 256, memory + i * 256 + 128, 16};
    int32_t *places = (int32_t *)(void *)(memory + 1024);
    memset(memory, 0, 2048);
    sum.token_counts = counts, sum.group_count = 2, sum.token_places = places;
    check_ok(call_sum());
    list[1].main_grad = places + 1;
    check_refused(call_sum(), QUERN_INVALID_ARGUMENT, "args.token_places");
}

/* A plan compares all arrays, however many. */
TEST_ARENA(overlaps, long_plans_of_sums) {
    enum { ITEMS = 300, ITEM = 256, COUNT_OF_EACH = 16 };
    static quern_gradient list[ITEMS];
    sum = (quern_accumulate_args)ACCUMULATE_ARGS(.grad_dtype = QUERN_BF16, .gradients = list, .gradient_count = ITEMS);
    for (int i = 0; i < ITEMS; i++) list[i] = (quern_gradient){memory + i * ITEM, memory + i * ITEM + ITEM / 2, COUNT_OF_EACH};
    check_ok(make_sums());
    list[7].main_grad = (char *)list[250].main_grad + COUNT_OF_EACH * 4 - 4;
    check_ok(call_sum());  /* not compared without a plan */
    check_refused(make_sums(), QUERN_INVALID_ARGUMENT, "args.gradients[7].main_grad");
    check_detail("args.gradients[250].main_grad");
}

/* Of a list of more than 512 arrays only those of each item are compared, either of them first in memory. */
TEST_ARENA(overlaps, long_lists_of_gradients) {
    enum { ITEMS = 300, ITEM = 256, COUNT_OF_EACH = 16, GRAD_BYTES = COUNT_OF_EACH * 2, SUM_BYTES = COUNT_OF_EACH * 4 };
    static quern_gradient list[ITEMS];
    sum = (quern_accumulate_args)ACCUMULATE_ARGS(.grad_dtype = QUERN_BF16, .gradients = list, .gradient_count = ITEMS);
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
}
