/*
 * Sizes beyond memory and beyond a GPU that follow from several fields: totals of lists, needs of workspaces, tiles.  tests/fields/
 * has the limits of each field.  The addresses are never read.
 *
 * Runs on: cpu, one emulated, gpu.
 */
#include "harness/buffer.h"

static struct test_device device;

static void open_device(void) {
    device_open(&device, 0, NULL);
    check_ok(quern_prepare(device.quern, QUERN_CROSS_ENTROPY | QUERN_ADAM | QUERN_QUANTIZE));
}

static void refuse(quern_status status, quern_status expected, const char *detail) {
    check(status == expected && !strcmp(error_detail(), detail), "%s: \"%s\" instead of %s: \"%s\"", quern_status_string(status),
          error_detail(), quern_status_string(expected), detail);
}

#define TEST_DEVICE(suite, name) TEST_BETWEEN(open_device(), device_close(&device), suite, name)

TEST_DEVICE(sizes, the_need_of_a_workspace) {
    quern_cross_entropy_args args = QUERN_CROSS_ENTROPY_ARGS_INIT;
    size_t bytes;
    args.logits_dtype = QUERN_F32, args.labels_dtype = QUERN_INT32, args.rows = (int64_t)1 << 41, args.vocab = 1;
    check_refused(quern_cross_entropy_workspace(device.quern, &args, &bytes), QUERN_INVALID_SHAPE,
                  "these sizes need a workspace of ");
    check_detail(" bytes: expected a need of at most 2^47");
    args.rows = (int64_t)1 << 39;
    check_ok(quern_cross_entropy_workspace(device.quern, &args, &bytes));
}

/* ---- the workspace that suffices on a CPU ---- */

static void set_option(quern_cross_entropy_args *args, int option) {
    static const float weights[1];
    static int64_t argmax[1];
    static float entropy[1];
    args->label_smoothing = option & 1 ? 0.1f : 0, args->softcap = option & 2 ? 30 : 0;
    args->class_weights = option & 4 ? weights : NULL, args->entropy = option & 8 ? entropy : NULL;
    args->argmax = option & 16 ? argmax : NULL;
}

/* Fails if the macro promises less than a call needs. */
static void check_promise(const struct test_device *device, const quern_cross_entropy_args *args, int threads) {
    const bool is_soft = args->soft_targets_dtype;
    const int64_t of_given = args->given_count || is_soft ? 4 * args->rows * (args->given_count + 2) + 128 : 0;
    const int64_t of_soft = is_soft ? args->rows * (32 + args->vocab / 1024) + threads * (5 * args->vocab + 132096) + 128 : 0;
    const bool has_moments = args->bits == QUERN_BITS_PORTABLE && args->entropy;
    const int64_t of_moments = has_moments ? (int64_t)sizeof(quern_row_nodes) * args->rows * (args->vocab / 32768 + 1) : 0;
    const int64_t enough = QUERN_CPU_WORKSPACE(args->rows, args->vocab, threads) + of_given + of_soft + of_moments;
    size_t bytes;
    if (quern_cross_entropy_workspace(device->quern, args, &bytes) != QUERN_OK) return;
    check((int64_t)bytes <= enough, "%lld rows of %lld, %d threads: %zu bytes, and not %lld suffice", (long long)args->rows,
          (long long)args->vocab, threads, bytes, (long long)enough);
}

TEST_DEVICE(sizes, a_workspace_for_every_call_on_a_cpu) {
    static const int64_t rows[] = {0, 1, 2, 7, 64, 1023, 1 << 20, (int64_t)1 << 30};
    static const int64_t vocabs[] = {1, 63, 64, 65, 4096, 32767, 32768, 32769, 50257, 65536, 262144, 1 << 24, (int64_t)1 << 30};
    static const int threads[] = {1, 2, 64, 1024};
    static const quern_dtype dtypes[] = {QUERN_F32, QUERN_F16, QUERN_BF16};
    if (test_kind() != QUERN_CPU) cr_skip_test("a GPU has other workspaces");
    for (size_t i = 0; i < COUNT(rows) * COUNT(vocabs) * COUNT(threads) * COUNT(dtypes) * 3; i++) {
        const int threads_now = threads[i / 3 % COUNT(threads)];
        quern_cross_entropy_args args = CROSS_ENTROPY_ARGS(.reduction = (quern_reduction)(i % 3), .labels_dtype = QUERN_INT32,
                                                           .logits_dtype = dtypes[i / 3 / COUNT(threads) % COUNT(dtypes)],
                                                           .vocab = vocabs[i / 3 / COUNT(threads) / COUNT(dtypes) % COUNT(vocabs)],
                                                           .rows = rows[i / 3 / COUNT(threads) / COUNT(dtypes) / COUNT(vocabs)]);
        check_ok(quern_set_threads(device.quern, threads_now, NULL, NULL));
        args.top_k = (int64_t)(i % 2) * 32, args.given_count = (int64_t)(i % 3) * 5;
        quern_cross_entropy_args shard = args;
        shard.bits = QUERN_BITS_PORTABLE, shard.global_vocab = args.vocab + 1;
        args.soft_targets_dtype = i % 5 < 3 ? dtypes[i % 5] : QUERN_NO_DTYPE;
        set_option(&args, (int)(i * 7 % 32));
        check_promise(&device, &args, threads_now);
        check_promise(&device, &shard, threads_now);
        shard.entropy = (float *)(uintptr_t)4096;
        check_promise(&device, &shard, threads_now);
    }
}

/* ---- lists ---- */

enum { TENSORS = 3 };

static quern_adam_args adam;
static quern_adam_tensor list[TENSORS];
static quern_gradient gradients[TENSORS];
static quern_gradient_norm_args norm;

/* Tensors of 2^50 bytes each, with arrays of at most 2^47. */
static void fill_lists(int count, int64_t elements) {
    const uintptr_t step = (uintptr_t)1 << 47;
    adam = (quern_adam_args)ADAM_ARGS(ADAM_DTYPES(QUERN_BF16), .tensors = list, .tensor_count = count, .lr = 1, .step = 1);
    norm = (quern_gradient_norm_args)GRADIENT_NORM_ARGS(.grad_dtype = QUERN_BF16, .gradients = gradients, .gradient_count = count);
    for (int i = 0; i < count; i++) {
        char *at = (char *)((uintptr_t)(6 * i + 1) << 50);
        list[i] = (quern_adam_tensor){.param = at, .grad = at + step, .m = at + 2 * step, .v = at + 3 * step, .count = elements};
        gradients[i] = (quern_gradient){.grad = at, .main_grad = at + step, .count = elements};
    }
}

static quern_status make_plan(void) {
    quern_adam_plan *plan = NULL;
    quern_status status = quern_adam_plan_create(device.quern, &adam, &plan);
    quern_adam_plan_destroy(plan);
    return status;
}

/* Each tensor could be held, but all together could not. */
TEST_DEVICE(sizes, many_large_tensors) {
    static const char tensors[] = "the count of args.tensors is more than 35184372088832 together";
    const int64_t most = (int64_t)1 << 45;
    size_t bytes;
    fill_lists(TENSORS, most / 4);
    check_status(quern_adam_saved_bytes(device.quern, &adam, &bytes), QUERN_OK);
    check(bytes > (size_t)(3 * most) && bytes < (size_t)(3 * most) + 1000, "a state of %zu bytes", bytes);
    for (int i = 1; i < TENSORS; i++) list[i].count = most / 2;
    list[0].count = 1;
    refuse(quern_adam_saved_bytes(device.quern, &adam, &bytes), QUERN_INVALID_SHAPE,
           "the state of args.tensors is larger than 2^47 bytes: expected less");
    if (device.kind == QUERN_CPU) {
        refuse(make_plan(), QUERN_INVALID_SHAPE, tensors);
        list[0].count = 0;
        check_ok(make_plan());
        check_ok(quern_gradient_norm_workspace(device.quern, &norm, &bytes));
        for (int i = 1; i < TENSORS; i++) gradients[i].count = most / 2;
        refuse(quern_gradient_norm_workspace(device.quern, &norm, &bytes), QUERN_INVALID_SHAPE,
               "the count of args.gradients is more than 35184372088832 together");
    }
}

/* More tiles than a GPU numbers in one tensor: the second one has an element too many. */
TEST_DEVICE(sizes, tensors_beyond_a_gpu) {
    static const char tensors[] = "args.tensors[1].count is 2199023255553: a GPU takes up to 2199023255552";
    static const char slices[] = "args.gradients[1].count is 2199023255553: a GPU takes up to 2199023255552";
    static _Alignas(16) char workspace[1 << 12];
    size_t bytes;
    if (test_kind() != QUERN_CUDA) cr_skip_test("there is no GPU");
    fill_lists(2, (int64_t)1 << 41);
    check_ok(quern_gradient_norm_workspace(device.quern, &norm, &bytes));
    list[1].count++, gradients[1].count++;
    quern_accumulate_args sum = ACCUMULATE_ARGS(.grad_dtype = QUERN_BF16, .gradients = gradients, .gradient_count = 2);
    refuse(quern_adam(device.quern, &adam, NULL, 0, device.stream), QUERN_NOT_SUPPORTED, tensors);
    refuse(make_plan(), QUERN_NOT_SUPPORTED, tensors);
    refuse(quern_gradient_norm_workspace(device.quern, &norm, &bytes), QUERN_NOT_SUPPORTED, slices);
    refuse(quern_gradient_norm(device.quern, &norm, workspace, sizeof workspace, device.stream), QUERN_NOT_SUPPORTED, slices);
    refuse(quern_accumulate(device.quern, &sum, device.stream), QUERN_NOT_SUPPORTED, slices);
}

/* A GPU's tiles are numbered with 30 bits in each tensor. */
TEST_DEVICE(sizes, the_longest_tensor_that_a_gpu_casts) {
    static _Alignas(16) char workspace[1 << 12];
    static float amax[1];
    quern_quantize_tensor tensor = {.input = (void *)64, .output = (void *)((uintptr_t)1 << 46), .count = ((int64_t)1 << 41) + 1};
    quern_quantize_args args = QUERN_QUANTIZE_ARGS_INIT;
    if (test_kind() != QUERN_CUDA) cr_skip_test("a CPU has no tiles");
    args.input_dtype = QUERN_BF16, args.output_dtype = QUERN_E4M3, args.tensors = &tensor, args.tensor_count = 1, args.amax = amax;
    refuse(quern_quantize(device.quern, &args, workspace, sizeof workspace, device.stream), QUERN_NOT_SUPPORTED,
           "args.tensors[0].count is 2199023255553: a GPU takes up to 2199023255552");
    tensor.count = (int64_t)1 << 36, tensor.columns = 1, tensor.transposed = (void *)((uintptr_t)1 << 45);
    refuse(quern_quantize(device.quern, &args, workspace, sizeof workspace, device.stream), QUERN_NOT_SUPPORTED,
           "args.tensors[0] has 2147483648 tiles of 32 x 64 elements: a GPU takes up to 1073741824");
}
