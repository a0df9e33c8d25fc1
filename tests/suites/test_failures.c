/*
 * Calls that fail: for each operation the k-th allocation, or the k-th call of the CUDA driver or cuBLAS, that it makes fails, for
 * k = 1, 2, ... until it makes fewer calls.  The operation returns the status of that failure with a detail, keeps nothing, and
 * succeeds the next time.  If ranks of two threads call an operation and it fails on one, both get the status.
 *
 * Runs on: one cpu, one emulated.
 */
#include "harness/buffer.h"
#include "harness/failing.h"

/* ---- operations ---- */

/* A function whose failure an operation survives. */
struct exception {
    const char *function;
    const char *operation;        /* only in this one; NULL: in each */
    const char *reason;
    bool at_end;                  /* only if it is the last call, or the operation visits the driver several times */
    int leaves;                   /* of ALIVE_...: what is one more afterwards; -1: nothing */
    bool sometimes;               /* other calls of the function are needed: then the operation fails */
};

struct operation {
    const char *name;
    void (*begin)(void);          /* before a call that can fail; NULL: nothing to do */
    quern_status (*run)(void);
    void (*end)(void);            /* after a call that succeeded: gives back what it made */
    void (*finish)(void);         /* gives back what begin made */
    void **handle;                /* what the call makes; untouched by a call that fails; NULL: nothing */
    bool spoils;                  /* a failed call poisons the group: the next one needs another */
    bool visits_often;            /* the driver, so that the end of a visit is not the last call */
    bool keeps_some;              /* a call may leave to the device or group what goes with it: modules, tables, registrations */
    int allocations, gpu_allocations, driver_calls;  /* the least that a call makes; 0: it makes none */
};
#define MAKES(on_a_cpu, on_a_gpu, calls) .allocations = on_a_cpu, .gpu_allocations = on_a_gpu, .driver_calls = calls

static struct test_device device;
static struct buffer arena;
static char *first, *expected;    /* what the arena holds before an operation, and after it */
static char *saved;               /* a state of Adam */

/* A handle that no call returns. */
#define UNTOUCHED ((void *)16)

#define MULTICAST "the memory has no multicast address", false, -1, true
static const struct exception survived[] = {
    {"cuCtxPopCurrent_v2", NULL, "the work is done, and nothing else restores the context", false, ALIVE_PUSHED_CONTEXTS, false},
    {"cuThreadExchangeStreamCaptureMode", NULL, "likewise the thread's mode", true, ALIVE_CAPTURE_MODE, false},
    {"cuThreadExchangeStreamCaptureMode", NULL, "the mode is needed during a capture only", false, -1, false},
    {"cuStreamDestroy_v2", NULL, "the copy has been made", false, ALIVE_STREAMS, false},
    {"cuMemFree_v2", "quern_prepare", "the answers have been read", false, ALIVE_DEVICE_ALLOCATIONS, false},
    {"cuCtxPushCurrent_v2", "quern_prepare", "likewise", false, ALIVE_DEVICE_ALLOCATIONS, true},
    {"cuDevicePrimaryCtxRelease_v2", "quern_prepare", "likewise", false, ALIVE_CONTEXT_REFERENCES, false},
    {"cuMemRetainAllocationHandle", "quern_symmetric_register", "memory of cuMemAlloc has no handle", false, -1, false},
    {"cuCtxPushCurrent_v2", "quern_symmetric_register", "a range of unknown generation is registered anew", false, -1, true},
    {"cuPointerGetAttribute", "quern_symmetric_register", "likewise", false, -1, true},
    {"cuMulticastGetGranularity", NULL, MULTICAST}, {"cuMulticastCreate", NULL, MULTICAST},
    {"cuMulticastAddDevice", NULL, MULTICAST}, {"cuMulticastBindMem", NULL, MULTICAST},
    {"cuMemAddressReserve", NULL, MULTICAST}, {"cuMemMap", NULL, MULTICAST}, {"cuMemSetAccess", NULL, MULTICAST},
    {"cuMemRelease", NULL, "nothing else gives the handle back", false, ALIVE_HANDLES, true},
    {"realloc", "quern_adam_plan_create", "makes a block smaller: the whole one serves as well", false, -1, false},
    {"realloc", "quern_quantize_plan_create", "makes a block smaller: the whole one serves as well", false, -1, false},
    {"realloc", "quern_accumulate_plan_create", "makes a block smaller: the whole one serves as well", false, -1, false},
};

static const struct {
    enum failing_calls calls;
    int error;
    quern_status status;
    const char *text;             /* part of the detail */
} causes[] = {
    {FAILING_MEMORY, 0, QUERN_OUT_OF_MEMORY, "memory"},
    {FAILING_DRIVER, 2, QUERN_OUT_OF_MEMORY, ""},
    {FAILING_DRIVER, 719, QUERN_CUDA_ERROR, ""},
};

static void check_alive(const struct operation *o, long number, const char *failed, const struct alive *before, bool keeps_some,
                        int leaves) {
    const struct alive now = failing_count_again(before);
    for (int i = 0; i < ALIVE_COUNT; i++) {
        const bool may_grow = i == leaves || (leaves == ALIVE_HANDLES && i == ALIVE_DESCRIPTORS) ||
                              (keeps_some && now.count[i] >= before->count[i]);
        check(now.count[i] == before->count[i] || may_grow, "%s, call %ld (%s): %ld %s, "
              "expected %ld", o->name, number, failed ? failed : "none failed", now.count[i], alive_names[i], before->count[i]);
    }
}

static void check_detail_of(const struct operation *o, long number, const char *failed, const char *text) {
    const size_t length = quern_error_detail(NULL, 0);
    check(length > 0 && length <= 255 && !strchr(error_detail(), '\n') && strstr(error_detail(), text),
          "%s, call %ld (%s): the detail is \"%s\"", o->name, number, failed, error_detail());
}

static void write_arena(void) { buffer_write(&arena, first); }

static void check_arena(const struct operation *o, long number, const char *failed) {
    const char *now = buffer_read(&arena);
    for (size_t i = 0; i < arena.bytes; i++)
        check(now[i] == expected[i], "%s, after call %ld (%s) failed: byte %zu of the arena is %d, expected %d", o->name, number,
              failed, i, now[i], expected[i]);
}

static const struct exception *find_exception(const struct operation *o, const char *failed, bool at_end) {
    for (size_t i = 0; i < COUNT(survived) && failed; i++) {
        const struct exception *e = &survived[i];
        const bool applies = !e->operation || !strcmp(e->operation, o->name);
        if (applies && !strcmp(e->function, failed) && (at_end || o->visits_often || !e->at_end)) return e;
    }
    return NULL;
}

static quern_status run_failing(const struct operation *o, enum failing_calls calls, long number, int error, long *made,
                                const char **failed) {
    if (o->handle) *o->handle = UNTOUCHED;
    failing_begin(calls, number, error);
    const quern_status status = o->run();
    *made = failing_end(failed);
    return status;
}

/* Once more without a failure, with the right result. */
static void check_success(const struct operation *o, long number, const char *failed) {
    long made;
    const char *none;
    write_arena();
    const quern_status status = run_failing(o, FAILING_MEMORY, 0, 0, &made, &none);
    check(status == QUERN_OK, "%s, after call %ld (%s) failed: %s: %s", o->name, number, failed, quern_status_string(status),
          error_detail());
    check_arena(o, number, failed);
    if (o->end) o->end();
}

/* Lets one call fail.  Returns whether there was such a call; otherwise *number becomes the number of calls. */
static bool try_call(const struct operation *o, size_t cause, long *number) {
    const char *failed;
    long made;
    const struct alive outside = failing_count();
    if (o->begin) o->begin();
    write_arena();
    device_synchronize(&device);
    const struct alive inside = failing_count();
    const quern_status status = run_failing(o, causes[cause].calls, *number, causes[cause].error, &made, &failed);
    const struct exception *exception = find_exception(o, failed, *number == made);
    const int leaves = exception ? exception->leaves : -1;
    const bool survives = !failed || (exception && (!exception->sometimes || status == QUERN_OK));
    const quern_status wanted = survives ? QUERN_OK : causes[cause].status;
    check(status == wanted, "%s, call %ld of %ld (%s): %s: %s, expected %s", o->name, *number, made,
          failed ? failed : "none failed", quern_status_string(status), status ? error_detail() : "", quern_status_string(wanted));
    if (status == QUERN_OK) {
        if (o->end) o->end();
    } else {
        check_detail_of(o, *number, failed, causes[cause].text);
        check(!o->handle || *o->handle == UNTOUCHED, "%s, call %ld (%s): the handle was written", o->name, *number, failed);
    }
    device_synchronize(&device);
    check_alive(o, *number, failed, &inside, o->keeps_some, leaves);
    failing_restore(leaves);
    if (failed && o->spoils) {
        o->finish();
        o->begin();
    }
    if (failed) check_success(o, *number, failed);
    if (o->finish) o->finish();
    device_synchronize(&device);
    const bool stays = leaves == ALIVE_STREAMS || leaves == ALIVE_HANDLES || leaves == ALIVE_DEVICE_ALLOCATIONS ||
                       leaves == ALIVE_CONTEXT_REFERENCES;
    check_alive(o, *number, failed, &outside, false, stays ? leaves : -1);
    if (!failed) *number = made;
    return failed != NULL;
}

static void sweep(const struct operation *o, size_t cause, int least) {
    long number = 1;
    while (try_call(o, cause, &number)) number++;
    check(least ? number >= least : !number, "%s makes %ld calls that can fail: expected %d%s", o->name, number, least,
          least ? " or more" : "");
}

/* The result without a failure; the arena afterwards is what later calls have to give. */
static void run_once(const struct operation *o) {
    long made;
    const char *failed;
    if (o->begin) o->begin();
    write_arena();
    const quern_status status = run_failing(o, FAILING_MEMORY, 0, 0, &made, &failed);
    check(status == QUERN_OK, "%s: %s: %s", o->name, quern_status_string(status), error_detail());
    memcpy(expected, buffer_read(&arena), arena.bytes);
    if (o->end) o->end();
    if (o->finish) o->finish();
    device_synchronize(&device);
}

static void sweep_all(const struct operation *o) {
    run_once(o);
    quiet_begin();
    if (device.kind == QUERN_CPU) {
        sweep(o, 0, o->allocations);
    } else {
        sweep(o, 0, o->gpu_allocations);
        for (size_t cause = 1; cause < COUNT(causes); cause++) sweep(o, cause, o->driver_calls);
    }
    check(quiet_end() == 0, "%s: something was printed", o->name);
}

/* ---- the device and its arena ---- */

enum { ROOM = 1 << 12, ROOMS = 64 };

static void *home(int place) { return (char *)arena.data + place * ROOM; }

static void fill_floats(int place) {
    float *values = (float *)(void *)(first + place * ROOM);
    for (int i = 0; i < ROOM / 4; i++) values[i] = (float)(i * 7 % 31 + 1) / 16;
}

static void ignore_line(void *user, quern_log_level level, const char *line) { (void)user, (void)level, (void)line; }

/* What fails is logged, perhaps while the library holds a lock. */
static void open_all(unsigned operations) {
    quern_set_log(ignore_line, NULL, QUERN_LOG_INFO);
    setenv("QUERN_KNOWN_ANSWERS", "1", 1);
    device_open(&device, 0, NULL);
    if (operations) check_ok(quern_prepare(device.quern, operations));
    buffer_open(&arena, &device, ROOM * ROOMS, 0, NULL);
    first = zeroed(arena.bytes), expected = zeroed(arena.bytes);
    for (int place = 0; place < ROOMS; place++) fill_floats(place);
}

static void close_all(void) {
    free(first);
    free(expected);
    free(saved);
    buffer_close(&arena);
    device_close(&device);
}

/* A test that opens and sweeps the operations of a table. */
#define TEST_SWEEP(suite, name, open, ...) \
    Test(suite, name) { \
        static const struct operation operations[] = {__VA_ARGS__}; \
        open; \
        for (size_t i = 0; i < COUNT(operations); i++) sweep_all(&operations[i]); \
        close_all(); \
    }

/* ---- devices ---- */

static quern_device *opened;

static quern_status open_device(void) { return quern_device_open(device.kind, 0, &opened); }
static void close_device(void) { quern_device_close(opened); }
static void make_device(void) { check_ok(open_device()); }
static void make_prepared(void) {
    make_device();
    check_ok(quern_prepare(opened, QUERN_CROSS_ENTROPY | QUERN_ADAM));
}
static quern_status count_devices(void) {
    int count;
    return quern_device_count(device.kind, &count);
}
static quern_status prepare_device(void) { return quern_prepare(opened, QUERN_CROSS_ENTROPY | QUERN_ADAM); }
static quern_status set_threads(void) {
    const quern_status status = quern_set_threads(opened, 3, NULL, NULL);
    return device.kind == QUERN_CUDA && status == QUERN_NOT_SUPPORTED ? QUERN_OK : status;
}
static quern_status report_device(void) {
    char report[4000];
    return quern_device_report(opened, report, sizeof report) ? QUERN_OK : QUERN_NO_KERNEL;
}

/*
 * To prepare a GPU's kernels takes some hundred calls of the driver, each of which fails in turn, and the kernels of all dtypes and
 * kinds are loaded in one loop: where all is small, the full ones of fp16 are prepared, six of two operations.
 */
static void choose_kernels(void) {
    if (test_kind() == QUERN_CUDA && test_is_small()) setenv("QUERN_KERNEL", "*[_p]f16*_full*", 1);
}

TEST_SWEEP(failures, devices, (open_all(0), choose_kernels()),
    {.name = "quern_device_open", .run = open_device, .end = close_device, .handle = (void **)&opened, MAKES(1, 1, 8)},
    {.name = "quern_device_count", .run = count_devices, .driver_calls = 1},
    {.name = "quern_prepare", .begin = make_device, .run = prepare_device, .finish = close_device, .keeps_some = true,
     MAKES(2, 4, 20)},
    {.name = "quern_prepare again", .begin = make_prepared, .run = prepare_device, .finish = close_device, .keeps_some = true,
     MAKES(2, 2, 20)},
    {.name = "quern_set_threads", .begin = make_device, .run = set_threads, .finish = close_device},
    {.name = "quern_device_report", .begin = make_device, .run = report_device, .finish = close_device})

/* ---- cross-entropy ---- */

/* Rooms of the arena; those of tensors come after them. */
enum {
    LOGITS, LABELS, GRAD, LOSS, STATS, SHARDS, REPORT, NUMBERS, HIDDEN, WEIGHT, D_HIDDEN, D_WEIGHT, BIAS, D_BIAS, WORKSPACE,
    TENSORS = WORKSPACE + 16
};
enum { ROWS = 3, VOCAB = 10, WIDTH = 4, WORKSPACE_BYTES = 16 * ROOM };

static quern_cross_entropy_args loss;
static quern_linear_cross_entropy_args linear;
static quern_blas *blas;

static void fill_loss(void) {
    int32_t *labels = (int32_t *)(void *)(first + LABELS * ROOM);
    for (int row = 0; row < ROWS; row++) labels[row] = row;
    loss = (quern_cross_entropy_args)CROSS_ENTROPY_ARGS(.logits_dtype = QUERN_F32, .labels_dtype = QUERN_INT32,
                                                        .reduction = QUERN_REDUCTION_MEAN, .rows = ROWS, .vocab = VOCAB);
    linear = (quern_linear_cross_entropy_args)QUERN_LINEAR_CROSS_ENTROPY_ARGS_INIT;
    linear.loss = loss;
    loss.logits = home(LOGITS), loss.labels = home(LABELS), loss.grad = home(GRAD), loss.loss = home(LOSS);
    loss.stats = home(STATS), loss.report = home(REPORT);
    linear.loss.labels = loss.labels, linear.loss.loss = loss.loss, linear.loss.report = loss.report;
    linear.width = WIDTH, linear.chunk_rows = 2, linear.gemm = quern_blas_gemm;
    linear.hidden_dtype = linear.weight_dtype = QUERN_F32;
    linear.hidden = home(HIDDEN), linear.weight = home(WEIGHT), linear.d_hidden = home(D_HIDDEN), linear.d_weight = home(D_WEIGHT);
    linear.bias_dtype = QUERN_F32, linear.bias = home(BIAS), linear.d_bias = home(D_BIAS);
}

/* An operation of the device in the workspace. */
#define RUN(name, function, ...) \
    static quern_status name(void) { \
        return function(device.quern, __VA_ARGS__, home(WORKSPACE), WORKSPACE_BYTES, device.stream); \
    }
RUN(run_loss, quern_cross_entropy, &loss)
RUN(run_stats, quern_cross_entropy_stats, &loss)
/* The shard's stats are made before, without a failure. */
RUN(run_combine, quern_cross_entropy_combine, &loss, loss.stats, 1)
RUN(run_gradient, quern_cross_entropy_gradient, &loss)
static quern_status run_upstream(void) {
    quern_cross_entropy_args late = loss;
    late.grad_loss = home(LOSS);
    return quern_cross_entropy_upstream(device.quern, &late, device.stream);
}
static void keep_stats(void) {
    write_arena();
    check_ok(run_stats());
    memcpy(first, buffer_read(&arena), arena.bytes);
}
static void make_blas(void) {
    check_ok(quern_blas_open(device.quern, NULL, &blas));
    linear.gemm_user = blas;
}
static quern_status open_blas(void) { return quern_blas_open(device.quern, NULL, &blas); }
static void close_blas(void) { quern_blas_close(blas); }
static quern_status multiply(void) {
    quern_gemm_args product = GEMM_ARGS(.m = ROWS, .n = WIDTH, .k = VOCAB, .a = home(LOGITS), .b = home(WEIGHT),
                                        .c = home(D_HIDDEN), .a_dtype = QUERN_BF16, .b_dtype = QUERN_BF16, .c_dtype = QUERN_BF16,
                                        .a_stride = VOCAB, .b_stride = WIDTH, .c_stride = WIDTH);
    return quern_blas_gemm(blas, &product, device.stream);
}
RUN(run_linear, quern_linear_cross_entropy, &linear)

static void open_products(void) {
    open_all(QUERN_CROSS_ENTROPY);
    if (open_blas() != QUERN_OK) cr_skip_test("no BLAS");
    close_blas();
    fill_loss();
}

TEST_SWEEP(failures, cross_entropy, (open_all(QUERN_CROSS_ENTROPY), fill_loss()),
    {.name = "quern_cross_entropy", .run = run_loss, .driver_calls = 3},
    {.name = "quern_cross_entropy_stats", .run = run_stats, .driver_calls = 3},
    {.name = "quern_cross_entropy_combine", .begin = keep_stats, .run = run_combine, .driver_calls = 3},
    {.name = "quern_cross_entropy_gradient", .begin = keep_stats, .run = run_gradient, .driver_calls = 3},
    {.name = "quern_cross_entropy_upstream", .run = run_upstream, .driver_calls = 3})

TEST_SWEEP(failures, blas, open_products(),
    {.name = "quern_blas_open", .run = open_blas, .end = close_blas, .handle = (void **)&blas, MAKES(3, 2, 3)},
    {.name = "quern_blas_gemm", .begin = make_blas, .run = multiply, .finish = close_blas, .driver_calls = 4},
    {.name = "quern_linear_cross_entropy", .begin = make_blas, .run = run_linear, .finish = close_blas, .driver_calls = 20})

/* The detail lists every library that was tried, and the loader's reason against the last one. */
Test(failures, no_library_has_a_blas) {
    const char *failed, *names[] = {"libopenblas.so.0, libblis.so.4, libmkl_rt.so.2, libcblas.so.3: ",
                                    "libcublas.so.13, libcublas.so.12: "};
    open_all(0);
    blas = UNTOUCHED;
    failing_begin(FAILING_LIBRARIES, 0, 0);
    const quern_status status = open_blas();
    const long opened_libraries = failing_end(&failed);
    check(status == QUERN_NOT_SUPPORTED && blas == UNTOUCHED, "%s", quern_status_string(status));
    check(opened_libraries == (device.kind == QUERN_CPU ? 4 : 2), "%ld libraries", opened_libraries);
    check(strstr(error_detail(), names[device.kind != QUERN_CPU]) && strstr(error_detail(), "a library that does not exist: "),
          "%s", error_detail());
    close_all();
}

/* ---- Adam ---- */

enum { TENSOR_COUNT = 600, PARTS = 5, TENSOR_BYTES = 4 };

/* A plan, and its row: it is made and destroyed. */
#define PLAN(kind, args, plan) \
    static quern_status create_##plan(void) { return kind##_create(device.quern, &args, &plan); } \
    static void destroy_##plan(void) { kind##_destroy(plan); }
#define PLAN_ROW(kind, plan) {.name = #kind "_create", .run = create_##plan, .end = destroy_##plan, .handle = (void **)&plan, \
                              MAKES(4, 5, 8)}

static quern_adam_args adam, planned;
static quern_adam_plan *plan;
static quern_adam_tensor tensors[TENSOR_COUNT];
static quern_gradient gradients[TENSOR_COUNT];
static quern_gradient_norm_args norm, norm_planned;
static quern_accumulate_args sum, summed;
static quern_accumulate_plan *sums;
static size_t saved_bytes;

/* More tensors than a launch takes and than are checked without an allocation, of one element each. */
static void fill_tensors(void) {
    for (int i = 0; i < TENSOR_COUNT; i++) {
        char *at = (char *)home(TENSORS) + i * PARTS * TENSOR_BYTES;
        tensors[i] = (quern_adam_tensor){.param = at, .grad = at + 4, .m = at + 8, .v = at + 12, .master = at + 16, .count = 1};
        gradients[i] = (quern_gradient){.grad = at + 4, .main_grad = (float *)(void *)(at + 16), .count = 1};
    }
    check((size_t)(TENSOR_COUNT * PARTS * TENSOR_BYTES) <= (size_t)(ROOMS - TENSORS) * ROOM, "the arena is too small");
}

static void fill_adam(void) {
    fill_tensors();
    memset(first + NUMBERS * ROOM, 0, ROOM);
    adam = (quern_adam_args)ADAM_ARGS(ADAM_DTYPES(QUERN_BF16), .master_dtype = QUERN_F32, .tensors = tensors,
                                      .tensor_count = TENSOR_COUNT, .lr = 0.01, .control.step = home(NUMBERS));
    planned = adam, planned.tensors = NULL, planned.tensor_count = 0;
    norm = (quern_gradient_norm_args)GRADIENT_NORM_ARGS(.grad_dtype = QUERN_BF16, .gradients = gradients,
                                                        .gradient_count = TENSOR_COUNT, .norm = home(LOSS));
    norm_planned = norm, norm_planned.gradients = NULL, norm_planned.gradient_count = 0;
    sum = (quern_accumulate_args)ACCUMULATE_ARGS(.grad_dtype = QUERN_BF16, .gradients = gradients, .gradient_count = TENSOR_COUNT);
    summed = sum, summed.gradients = NULL;
}

RUN(run_adam, quern_adam, &adam)
PLAN(quern_adam_plan, adam, plan)
static void make_plan(void) {
    check_ok(create_plan());
    planned.plan = plan, norm_planned.plan = plan;
}
RUN(run_plan, quern_adam, &planned)
RUN(run_norm, quern_gradient_norm, &norm)
RUN(run_norm_of_plan, quern_gradient_norm, &norm_planned)
static quern_status accumulate(void) { return quern_accumulate(device.quern, &sum, device.stream); }
PLAN(quern_accumulate_plan, sum, sums)
static void make_sums(void) {
    check_ok(create_sums());
    summed.plan = sums;
}
static quern_status run_sums(void) { return quern_accumulate(device.quern, &summed, device.stream); }

/* A plan's arguments need no control, and a saved state's neither. */
static quern_status save_adam(void) { return quern_adam_save(device.quern, &adam, saved, saved_bytes); }
static void save_first(void) {
    write_arena();
    check_ok(save_adam());
}
static quern_status load_adam(void) { return quern_adam_load(device.quern, &adam, saved, saved_bytes, NULL, NULL); }

/* Into other types, so that values are converted. */
static quern_status load_converted(void) {
    quern_adam_args other = adam;
    other.m_dtype = QUERN_F32, other.v_dtype = QUERN_F32;
    return quern_adam_load(device.quern, &other, saved, saved_bytes, NULL, NULL);
}

static void use_few_tensors(void) {
    adam.tensor_count = 2;
    adam.step = 1;
    check_ok(quern_adam_saved_bytes(device.quern, &adam, &saved_bytes));
    saved = malloc(saved_bytes);
}

TEST_SWEEP(failures, adam, (open_all(QUERN_ADAM), fill_adam()),
    {.name = "quern_adam", .run = run_adam, .driver_calls = 5},
    PLAN_ROW(quern_adam_plan, plan),
    {.name = "quern_adam with a plan", .begin = make_plan, .run = run_plan, .finish = destroy_plan, .driver_calls = 3},
    {.name = "quern_gradient_norm", .run = run_norm, .driver_calls = 4},
    {.name = "quern_gradient_norm of a plan", .begin = make_plan, .run = run_norm_of_plan, .finish = destroy_plan,
     .driver_calls = 4},
    {.name = "quern_accumulate", .run = accumulate, .driver_calls = 3},
    PLAN_ROW(quern_accumulate_plan, sums),
    {.name = "quern_accumulate with a plan", .begin = make_sums, .run = run_sums, .finish = destroy_sums, .driver_calls = 3})

/* ---- quantisation ---- */

static quern_quantize_args quantize, quantize_planned;
static quern_quantize_plan *casts;
static quern_quantize_tensor quantized[TENSOR_COUNT];

static void fill_quantize(void) {
    for (int i = 0; i < TENSOR_COUNT; i++) {
        char *at = (char *)home(TENSORS) + i * PARTS * TENSOR_BYTES;
        quantized[i] = (quern_quantize_tensor){.input = at, .output = at + 4, .count = 1};
    }
    quantize = (quern_quantize_args)QUANTIZE_ARGS(.input_dtype = QUERN_BF16, .output_dtype = QUERN_E5M2, .tensors = quantized,
                                                  .tensor_count = TENSOR_COUNT, .amax = home(LOSS));
    quantize_planned = quantize, quantize_planned.tensors = NULL;
}

RUN(run_quantize, quern_quantize, &quantize)
PLAN(quern_quantize_plan, quantize, casts)
static void make_casts(void) {
    check_ok(create_casts());
    quantize_planned.plan = casts;
}
static quern_status run_casts(void) { return quern_quantize(device.quern, &quantize_planned, NULL, 0, device.stream); }

TEST_SWEEP(failures, quantize, (open_all(QUERN_QUANTIZE), fill_quantize()),
    {.name = "quern_quantize", .run = run_quantize, .driver_calls = 5},
    PLAN_ROW(quern_quantize_plan, casts),
    {.name = "quern_quantize with a plan", .begin = make_casts, .run = run_casts, .finish = destroy_casts, .driver_calls = 4})

/* With fewer threads a call is slower, but gives the same.  The workers that have started stay. */
Test(failures, threads) {
    static const struct operation o = {.name = "quern_gradient_norm with threads", .run = run_norm};
    if (test_kind() != QUERN_CPU) cr_skip_test("a GPU has no workers");
    open_all(QUERN_ADAM);
    fill_adam();
    check_ok(quern_set_threads(device.quern, 1, NULL, NULL));
    run_once(&o);
    check_ok(quern_set_threads(device.quern, 4, NULL, NULL));
    for (long number = 1; number <= 3; number++) {
        const char *failed;
        long made;
        write_arena();
        const quern_status status = run_failing(&o, FAILING_THREADS, number < 3 ? number : 0, 0, &made, &failed);
        check(status == QUERN_OK, "thread %ld: %s", number, error_detail());
        check(made == (number < 3 ? number : 2) && !failed == (number == 3), "%ld threads were started", made);
        check_arena(&o, number, "pthread_create");
    }
    close_all();
}

TEST_SWEEP(failures, saved_states, (open_all(QUERN_ADAM), fill_adam(), use_few_tensors()),
    {.name = "quern_adam_save", .run = save_adam, MAKES(1, 1, 10)},
    {.name = "quern_adam_load", .begin = save_first, .run = load_adam, MAKES(1, 1, 10)},
    {.name = "quern_adam_load, converted", .begin = save_first, .run = load_converted, MAKES(1, 1, 10)})

/* ---- ranks that one thread drives ---- */

enum { TEAM = 2, MOST_RANKS = 3, PART = 1 << 16, SENT_ROWS = 4, ROW_BYTES = 8 };

struct team {
    char name[64];
    int first, count, all;      /* its ranks are first, first + 1, ...; of so many */
    quern_device *devices[TEAM];
    bool share_gpu;
    quern_group *groups[TEAM], *halves[TEAM];
    void *parts[TEAM], *own_parts[TEAM], *workspaces[TEAM];
    quern_ragged_plan *plans[TEAM];
    quern_ragged_all_to_all_args exchanges[TEAM];
};

static const size_t part_bytes[TEAM] = {PART, PART};
static int32_t input_offsets[MOST_RANKS], sizes[MOST_RANKS], output_offsets[MOST_RANKS][MOST_RANKS];

static struct team make_team(const char *kind, int number, int first, int count, int all) {
    struct team team = {.first = first, .count = count, .all = all, .devices = {device.quern, device.quern},
                        .share_gpu = device.kind == QUERN_CUDA && all > 1};
    snprintf(team.name, sizeof team.name, "%s.%d.%d", kind, (int)getpid(), number);
    for (int to = 0; to < all; to++) {
        sizes[to] = SENT_ROWS / all, input_offsets[to] = to * sizes[to];
        for (int from = 0; from < all; from++) output_offsets[from][to] = from * sizes[to];
    }
    return team;
}

static quern_status team_create(struct team *team) {
    quern_group_args args[TEAM];
    for (int i = 0; i < team->count; i++) {
        args[i] = (quern_group_args)GROUP_ARGS(.rank = team->first + i, .ranks = team->all, .name = team->name, .timeout = 20,
                                               .device = team->devices[i], .share_gpu = team->share_gpu);
    }
    return quern_group_create(args, team->count, team->groups);
}

/* The library keeps all handles of groups and plans ever made: src/ranks/handles.c. */
static void destroy_all(const struct team *team, quern_group **groups) {
    for (int i = 0; i < team->count; i++) check_ok(quern_group_destroy(groups[i]));
    for (int i = 0; i < team->count; i++) {
        failing_forget(groups[i]);
        groups[i] = UNTOUCHED;
    }
}

static void team_destroy(struct team *team) { destroy_all(team, team->groups); }

/* By these colours: into one group for each rank, or into one of all. */
static quern_status split_by(struct team *team, const int *colours) {
    static const int keys[TEAM];
    return quern_group_split(team->groups, team->count, colours, keys, team->halves);
}
static quern_status team_split(struct team *team) { return split_by(team, (const int[TEAM]){0, 1}); }
static quern_status team_split_together(struct team *team) { return split_by(team, (const int[TEAM]){0, 0}); }
static void team_leave_split(struct team *team) { destroy_all(team, team->halves); }

static quern_status team_allocate(struct team *team) {
    return quern_symmetric_alloc(team->groups, team->count, part_bytes, team->parts);
}
static void team_free(struct team *team) {
    for (int i = 0; i < team->count; i++) check_ok(quern_symmetric_free(team->groups[i], team->parts[i], device.stream));
    team->parts[0] = UNTOUCHED;
}

/* Homes of the arena, unless the team has memory of its own. */
static quern_status team_register(struct team *team) {
    static const size_t room[TEAM] = {ROOM, ROOM};
    const bool is_own = team->own_parts[0];
    for (int i = 0; i < team->count; i++) team->parts[i] = is_own ? team->own_parts[i] : home(team->first + i);
    return quern_symmetric_register(team->groups, team->count, team->parts, is_own ? part_bytes : room);
}
static void team_unregister(struct team *team) {
    for (int i = 0; i < team->count; i++) check_ok(quern_symmetric_unregister(team->groups[i], team->parts[i], device.stream));
}

/* What an exchange needs beside a group. */
static quern_status team_prepare(struct team *team) {
    const quern_status status = team_allocate(team);
    for (int i = 0; i < team->count; i++) {
        quern_ragged_all_to_all_args *args = &team->exchanges[i];
        *args = (quern_ragged_all_to_all_args)QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
        args->input = home(LOGITS), args->input_rows = args->output_rows = SENT_ROWS, args->row_bytes = ROW_BYTES;
        args->output = team->parts[i], args->input_offsets = input_offsets, args->send_sizes = args->recv_sizes = sizes;
        args->output_offsets = output_offsets[team->first + i];
        args->check_overlap = device.kind == QUERN_CPU;  /* the short way of CPU ranks, which does not look, needs no memory */
    }
    return status == QUERN_OK ? quern_symmetric_alloc(team->groups, team->count, part_bytes, team->workspaces) : status;
}
static quern_status team_plan(struct team *team) {
    return quern_ragged_plan_create(team->groups, team->count, team->exchanges, team->workspaces, part_bytes, team->plans);
}
static void team_unplan(struct team *team) {
    for (int i = 0; i < team->count; i++) {
        check_ok(quern_ragged_plan_destroy(team->plans[i]));
        failing_forget(team->plans[i]);
    }
    team->plans[0] = UNTOUCHED;
}

/* ---- all ranks of a group are driven by this thread, so a CPU's group has one ---- */

static struct team all;

#define OF_ALL(name, call) static quern_status name(void) { return call(&all); }
#define END_OF_ALL(name, call) static void name(void) { call(&all); }
OF_ALL(create_groups, team_create)
OF_ALL(split_groups, team_split)
OF_ALL(allocate_parts, team_allocate)
OF_ALL(register_parts, team_register)
OF_ALL(create_plans, team_plan)
END_OF_ALL(destroy_groups, team_destroy)
END_OF_ALL(destroy_halves, team_leave_split)
END_OF_ALL(free_parts, team_free)
END_OF_ALL(unregister_parts, team_unregister)
END_OF_ALL(destroy_plans, team_unplan)

static void make_groups(void) { check_ok(create_groups()); }
static void make_exchange(void) {
    make_groups();
    check_ok(team_prepare(&all));
}
static void make_plans(void) {
    make_exchange();
    check_ok(create_plans());
}
static void finish_plans(void) {
    device_synchronize(&device);
    destroy_plans();
    destroy_groups();
}
static quern_status run_barrier(void) { return quern_barrier(all.groups[0], NULL, device.stream); }
static quern_status run_plans(void) { return quern_ragged_plan_run(all.plans[0], device.stream); }
static quern_status exchange(void) {
    return quern_ragged_all_to_all(all.groups[0], &all.exchanges[0], all.workspaces[0], PART, device.stream);
}

static void open_ranks(int ranks) {
    open_all(QUERN_BARRIER | QUERN_RAGGED_ALL_TO_ALL);
    if (device.kind == QUERN_CPU) ranks = 1;
    all = make_team("failures", 0, 0, ranks, ranks);
}

TEST_SWEEP(failures, ranks, open_ranks(TEAM),
    {.name = "quern_group_create", .run = create_groups, .end = destroy_groups, .handle = (void **)&all.groups[0],
     .visits_often = true, MAKES(3, 6, 20)},
    {.name = "quern_group_split", .begin = make_groups, .run = split_groups, .end = destroy_halves, .finish = destroy_groups,
     .handle = (void **)&all.halves[0], .spoils = true, .visits_often = true, MAKES(3, 6, 20)},
    {.name = "quern_symmetric_alloc", .begin = make_groups, .run = allocate_parts, .end = free_parts, .finish = destroy_groups,
     .handle = &all.parts[0], .keeps_some = true, .visits_often = true, MAKES(5, 8, 10)})

/* GPUs that do not reach each other: the first way between the ranks fails, and the second one takes pinned memory of the host. */
Test(failures, ranks_without_peers) {
    static const struct operation creation = {.name = "quern_group_create", .run = create_groups, .end = destroy_groups,
                                              .handle = (void **)&all.groups[0], .visits_often = true, MAKES(0, 6, 30)};
    struct test_device other;
    setenv("QUERN_EMULATOR_PEERS", "none", 1);
    open_ranks(TEAM);
    if (device.kind == QUERN_CPU) return close_all();
    device_open(&other, 1, NULL);
    check_ok(quern_prepare(other.quern, QUERN_BARRIER | QUERN_RAGGED_ALL_TO_ALL));
    all.devices[1] = other.quern, all.share_gpu = false;
    sweep_all(&creation);
    device_close(&other);
    close_all();
}

Test(failures, registered_memory) {
    static const struct operation registration = {
        .name = "quern_symmetric_register", .begin = make_groups, .run = register_parts, .end = unregister_parts,
        .finish = destroy_groups, .keeps_some = true, .visits_often = true, MAKES(4, 8, 10)};
    open_ranks(TEAM);
    struct buffer own[TEAM];
    for (int i = 0; i < all.count; i++) {
        buffer_open(&own[i], &device, PART, 0, NULL);
        all.own_parts[i] = own[i].data;
    }
    sweep_all(&registration);
    for (int i = 0; i < all.count; i++) buffer_close(&own[i]);
    close_all();
}

TEST_SWEEP(failures, exchanges, open_ranks(TEAM),
    {.name = "quern_ragged_plan_create", .begin = make_exchange, .run = create_plans, .end = destroy_plans,
     .finish = destroy_groups, .handle = (void **)&all.plans[0], .spoils = true, .visits_often = true, MAKES(2, 4, 4)})

/* A single rank, whose barrier and exchange wait for no other. */
TEST_SWEEP(failures, single_ranks, open_ranks(1),
    {.name = "quern_barrier", .begin = make_groups, .run = run_barrier, .finish = destroy_groups, .spoils = true,
     .driver_calls = 4},
    {.name = "quern_ragged_all_to_all", .begin = make_exchange, .run = exchange, .finish = destroy_groups, .spoils = true,
     .keeps_some = true, .allocations = 1, .driver_calls = 4},
    {.name = "quern_ragged_plan_run", .begin = make_plans, .run = run_plans, .finish = finish_plans, .spoils = true,
     .driver_calls = 4})

/* ---- ranks of two threads: what fails on one, the other is told at once, and does not wait for its limit ---- */

/* A thread's team, and what became of its call. */
struct side {
    const struct collective *collective;
    struct team team;
    long number, made;
    const char *failed;
    quern_status before, status;  /* of the calls before, and of the one that may fail */
    char detail[256];
};

struct collective {
    const char *name;
    quern_status (*run)(struct team *team);
    void (*end)(struct team *team);       /* gives back what a call made */
    bool needs_memory;                    /* parts and workspaces */
    quern_status told;                    /* what a CPU rank gets if the call fails on the other; 0: the same */
    int allocations, gpu_allocations;     /* the least that a thread makes: either may make those for the process */
};

static void *live(void *user) {
    struct side *s = user;
    s->before = team_create(&s->team);
    if (s->before == QUERN_OK && s->collective->needs_memory) s->before = team_prepare(&s->team);
    if (s->before == QUERN_OK) {
        failing_begin(FAILING_MEMORY, s->number, 0);
        s->status = s->collective->run(&s->team);
        s->made = failing_end(&s->failed);
        quern_error_detail(s->detail, sizeof s->detail);
        if (s->status == QUERN_OK) s->collective->end(&s->team);
    }
    for (int i = 0; i < s->team.count; i++) quern_group_destroy(s->team.groups[i]);
    return NULL;
}

/* Lets one allocation of the first thread fail.  Returns whether there was one. */
static bool fail_one_side(const struct collective *collective, long number, int least) {
    static int groups_so_far;
    const int of_first = device.kind == QUERN_CPU ? 1 : TEAM, number_of_group = groups_so_far++;
    pthread_t threads[2];
    struct side sides[2] = {{collective, make_team("sides", number_of_group, 0, of_first, of_first + 1), .number = number},
                            {collective, make_team("sides", number_of_group, of_first, 1, of_first + 1), .number = 0}};
    for (int i = 0; i < 2; i++) check(pthread_create(&threads[i], NULL, live, &sides[i]) == 0, "no thread");
    for (int i = 0; i < 2; i++) check(pthread_join(threads[i], NULL) == 0, "the thread is gone");
    for (int i = 0; i < 2; i++) {
        const bool is_told = i == 1 && collective->told && device.kind == QUERN_CPU;
        const quern_status wanted = !sides[0].failed ? QUERN_OK : is_told ? collective->told : QUERN_OUT_OF_MEMORY;
        check(sides[i].before == QUERN_OK, "%s: %s", collective->name, quern_status_string(sides[i].before));
        check(sides[i].status == wanted && (wanted == QUERN_OK || strstr(sides[i].detail, "memory")),
              "%s, allocation %ld (%s), thread %d: %s: %s", collective->name, number, sides[0].failed ? sides[0].failed : "none",
              i, quern_status_string(sides[i].status), sides[i].detail);
    }
    check(sides[0].failed || sides[0].made >= least, "%s makes %ld allocations: expected %d", collective->name, sides[0].made,
          least);
    return sides[0].failed != NULL;
}

Test(failures, ranks_of_two_threads) {
    static const struct collective collectives[] = {
        {.name = "quern_symmetric_alloc", .run = team_allocate, .end = team_free, .allocations = 3, .gpu_allocations = 3},
        {.name = "quern_symmetric_register", .run = team_register, .end = team_unregister, .allocations = 3, .gpu_allocations = 3},
        {.name = "quern_ragged_plan_create", .run = team_plan, .end = team_unplan, .needs_memory = true,
         .told = QUERN_PEER_MISMATCH, .allocations = 2, .gpu_allocations = 8},
        {.name = "quern_group_split", .run = team_split_together, .end = team_leave_split, .allocations = 2, .gpu_allocations = 4},
    };
    open_all(QUERN_BARRIER | QUERN_RAGGED_ALL_TO_ALL);
    for (size_t i = 0; i < COUNT(collectives); i++) {
        const struct collective *collective = &collectives[i];
        const int least = device.kind == QUERN_CPU ? collective->allocations : collective->gpu_allocations;
        for (long number = 1; fail_one_side(collective, number, least); number++) continue;
    }
    close_all();
}
