/*
 * Images that do not work on a GPU: quern_prepare asks a kernel of each image for a known answer.  An image that computes rubbish,
 * or that the driver refuses, is left to the next row that can serve, and the reason is kept.
 *
 * Runs on: every emulated, gpu.
 */
#include "harness/buffer.h"
#include "harness/cross_entropy_case.h"
#include "harness/cuda.h"
#include "runtime/answers.h"
#include "runtime/cuda_visit.h"
#include "runtime/image.h"

enum { SHORT = 33, BEYOND_SHORT = 3073 };  /* columns */
enum { ASKED = QUERN_CROSS_ENTROPY | QUERN_ADAM | QUERN_QUANTIZE, ALL = ASKED | QUERN_BARRIER | QUERN_RAGGED_ALL_TO_ALL };

/* A program has the kernels of the operations that it calls. */
static void (*volatile const called[])(void) = {(void (*)(void))quern_cross_entropy, (void (*)(void))quern_adam,
                                                (void (*)(void))quern_barrier, (void (*)(void))quern_ragged_all_to_all,
                                                (void (*)(void))quern_quantize};

static void open_device(struct test_device *device, int ordinal) {
    for (size_t i = 0; i < sizeof called / sizeof *called; i++) check(called[i], "operation %zu is not linked", i);
    setenv("QUERN_KNOWN_ANSWERS", "1", 0);
    device_open(device, ordinal, NULL);
}

/* The kernels that store rubbish, or whose calls fail: QUERN_EMULATOR_FAIL. */
static void inject(const char *format, const char *name) {
    char value[256];
    snprintf(value, sizeof value, format, name);
    setenv("QUERN_EMULATOR_FAIL", value, 1);
}

static void need_emulator(void) { if (!getenv("QUERN_EMULATOR")) cr_skip_test("a GPU computes right"); }

static const struct quern_ready_list *list_of(const struct test_device *device, unsigned operation) {
    return device->quern->ready[quern_operation_index(operation)];
}

static const struct quern_loaded_image *image_of(const struct test_device *device, const struct quern_kernel *kernel) {
    const struct quern_loaded_image *image = device->quern->images;
    while (image && image->image != kernel->cuda.image) image = image->next;
    check(image, "the image of %s is not loaded", kernel->name);
    return image;
}

static const char *reason_of(const struct quern_refused_image *refused) { return refused ? refused->reason : "no refusal"; }

static int images_of(const struct test_device *device) {
    int count = 0;
    for (const struct quern_loaded_image *image = device->quern->images; image; image = image->next) count++;
    return count;
}

/* ---- kernels that work ---- */

/* One launch for each image, at the first preparation only. */
Test(answers, each_image_is_asked_once) {
    struct test_device device CLOSED_BY(device_close);
    open_device(&device, 0);
    const long long before = cuda_launches();
    check_ok(quern_prepare(device.quern, ASKED));
    const int images = images_of(&device);
    check(before < 0 || cuda_launches() == before + images, "%lld launches for %d images", cuda_launches() - before, images);
    for (unsigned operation = QUERN_CROSS_ENTROPY; operation <= QUERN_ADAM; operation *= 2)
        for (size_t i = 0; i < list_of(&device, operation)->count; i++) {
            const struct quern_kernel *kernel = list_of(&device, operation)->kernels[i].kernel;
            check(image_of(&device, kernel)->is_checked, "%s is not asked", kernel->name);
        }
    check(!device.quern->refused, "%s", reason_of(device.quern->refused));
    check(!device.quern->unpacked.bytes, "unpacked images are kept");
    const long long first = cuda_launches();
    check_ok(quern_prepare(device.quern, ALL));
    check(cuda_launches() == first, "%lld launches at the second preparation", cuda_launches() - first);
    check(images_of(&device) > images, "barriers and all-to-alls have no images");
}

/* Asks one kernel, though its image has been asked.  Returns the refusal. */
static const struct quern_refused_image *ask_alone(struct test_device *device, const struct quern_ready_kernel *ready) {
    static char room[sizeof(struct quern_ready_list) + sizeof *ready];
    struct quern_ready_list *list = (struct quern_ready_list *)(void *)room;
    struct quern_cuda_visit visit;
    list->count = 1;
    list->kernels[0] = *ready;
    for (struct quern_loaded_image *image = device->quern->images; image; image = image->next) image->is_checked = false;
    check_ok(quern_cuda_begin_launch(&visit, device->quern));
    check_ok(quern_check_answers(device->quern, visit.cuda, ready->kernel->operation, list));
    quern_cuda_end_visit(&visit);
    return quern_image_refusal(device->quern, ready->kernel);
}

static void forget_refusals(struct test_device *device) {
    struct quern_refused_image *refused;
    while ((refused = device->quern->refused)) {
        device->quern->refused = refused->next;
        free(refused);
    }
}

/* Every kernel knows its answer, and none gives it by chance: rubbish is found. */
static void ask_each(unsigned operation) {
    struct test_device device CLOSED_BY(device_close);
    open_device(&device, 0);
    check_ok(quern_prepare(device.quern, operation));
    const struct quern_ready_list *list = list_of(&device, operation);
    for (size_t i = 0; i < list->count; i++) {
        const char *name = list->kernels[i].kernel->name;
        const struct quern_refused_image *refused = ask_alone(&device, &list->kernels[i]);
        check(!refused, "%s", reason_of(refused));
        if (!getenv("QUERN_EMULATOR")) continue;
        inject("stores@*/%s:1", list->kernels[i].kernel->cuda.entry);
        refused = ask_alone(&device, &list->kernels[i]);
        unsetenv("QUERN_EMULATOR_FAIL");
        check(refused && strstr(refused->reason, name) && strstr(refused->reason, " gives a wrong answer: "), "rubbish of %s: %s",
              name, reason_of(refused));
        check(refused->status == QUERN_NO_KERNEL && strlen(refused->reason) < 200, "%s", refused->reason);
        forget_refusals(&device);
    }
}

Test(answers, of_each_kernel_of_cross_entropy) { ask_each(QUERN_CROSS_ENTROPY); }
Test(answers, of_each_kernel_of_adam) { ask_each(QUERN_ADAM); }

/* ---- the switch ---- */

Test(answers, can_be_switched_off) {
    struct test_device device CLOSED_BY(device_close);
    setenv("QUERN_KNOWN_ANSWERS", "0", 1);
    if (getenv("QUERN_EMULATOR")) inject("stores@*%s:1", "");
    open_device(&device, 0);
    const long long before = cuda_launches();
    check_ok(quern_prepare(device.quern, ALL));
    check(cuda_launches() == before && !device.quern->refused, "%lld launches", cuda_launches() - before);
}

/* test_log_and_status.c has the values that are none. */
Test(answers, are_asked_unless_the_switch_is_off) {
    static const char *const values[] = {"1", ""};
    for (size_t i = 0; i < COUNT(values); i++) {
        setenv("QUERN_KNOWN_ANSWERS", values[i], 1);
        OPEN_ON(device, QUERN_CUDA, 0);
        check(device->checks_answers, "not checked with \"%s\"", values[i]);
    }
}

/* ---- images that do not work ---- */

/* Other targets, which would serve instead, do not load. */
static void inject_for_all(const char *fault) {
    char value[512];
    int length = snprintf(value, sizeof value, "%s", fault);
    const char *last = "";
    for (const struct quern_kernel *row = quern_cross_entropy_kernels; *row->name; row++) {
        if (strcmp(row->target.name, last) && strcmp(row->target.name, test_target()) && row->target.kind == QUERN_CUDA)
            length += snprintf(value + length, sizeof value - (size_t)length, ",load@%s/*:209", row->target.name);
        last = row->target.name;
    }
    setenv("QUERN_EMULATOR_FAIL", value, 1);
}

static char walk[1 << 14];

/* The kernel that serves rows of bf16, "" for none; the walk past the others is kept. */
static const char *chosen_for(const struct test_device *device, int64_t vocab) {
    static char name[128];
    const struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = QUERN_BF16, .rows = 4, .vocab = vocab);
    const quern_cross_entropy_args args = cross_entropy_args_of(&c);
    quern_cross_entropy_explain(device->quern, &args, walk, sizeof walk);
    const char *end = strstr(walk, ": chosen"), *start = end ? end : walk;
    while (start > walk && start[-1] != '\n') start--;
    snprintf(name, sizeof name, "%.*s", (int)(end ? end - start : 0), start);
    return name;
}

static const char *chosen(const struct test_device *device) { return chosen_for(device, BEYOND_SHORT); }

static char logged[1 << 12];

static void keep_line(UNUSED void *user, quern_log_level level, const char *line) {
    if (level == QUERN_LOG_ERROR) snprintf(logged + strlen(logged), sizeof logged - strlen(logged), "%s\n", line);
}

/* The rows whose blocks take turns do not work.  Another kernel of the target serves, and right; the reason is told everywhere. */
static void check_next_row_serves(const char *fault, const char *reason, bool computes) {
    struct test_device device CLOSED_BY(device_close);
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = QUERN_BF16, .rows = 4, .vocab = BEYOND_SHORT);
    char best[128];
    need_emulator();
    open_device(&device, 0);
    snprintf(best, sizeof best, "%s", chosen(&device));
    check(strstr(best, "resident"), "%s is the best kernel", best);
    quern_set_log(keep_line, NULL, QUERN_LOG_ERROR);
    inject(fault, "cross_entropy_bf16_resident");
    check_ok(quern_prepare(device.quern, QUERN_CROSS_ENTROPY));
    unsetenv("QUERN_EMULATOR_FAIL");
    check(strstr(chosen(&device), "cross_entropy_bf16_streamed__") && strstr(walk, reason), "\"%s\" in\n%s", reason, walk);
    check(strstr(logged, " is not used: ") && strstr(logged, reason) && strstr(logged, best), "the log has %s", logged);
    if (computes) cross_entropy_check_case(&device, &c);
    check_ok(quern_prepare(device.quern, QUERN_CROSS_ENTROPY));
    check(strstr(chosen(&device), "streamed"), "%s serves after another preparation", chosen(&device));
    quern_set_log(NULL, NULL, 0);
}

/* Without their own kernel short rows have that of longer ones. */
Test(answers, short_rows_go_to_the_kernel_of_longer_ones) {
    struct test_device device CLOSED_BY(device_close);
    const struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = QUERN_BF16, .rows = 40, .vocab = SHORT);
    need_emulator();
    open_device(&device, 0);
    check(strstr(chosen_for(&device, SHORT), "cross_entropy_bf16_short__"), "%s", walk);
    inject("stores@*/%s:1", "cross_entropy_bf16_short");
    check_ok(quern_prepare(device.quern, QUERN_CROSS_ENTROPY));
    unsetenv("QUERN_EMULATOR_FAIL");
    check(strstr(chosen_for(&device, SHORT), "cross_entropy_bf16_resident__"), "%s", walk);
    cross_entropy_check_case(&device, &c);
}

Test(answers, rubbish_goes_to_the_next_row) { check_next_row_serves("stores@*/%s:1", " gives a wrong answer: ", true); }

Test(answers, a_refused_launch_goes_to_the_next_row) {
    check_next_row_serves("launch@*/%s:701", "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", true);
}

Test(answers, a_refused_image_goes_to_the_next_row) {
    check_next_row_serves("load@*/%s:209", "CUDA_ERROR_NO_BINARY_FOR_GPU", true);
}

/* With lazy loading the driver finds out late. */
Test(answers, a_refused_function_goes_to_the_next_row) {
    check_next_row_serves("cuFuncLoad@*/%s:209", "CUDA_ERROR_NO_BINARY_FOR_GPU", true);
}

/* A request that only the image could serve: the call's detail has the reason. */
Test(answers, no_row_is_left_for_a_type) {
    struct test_device device CLOSED_BY(device_close);
    need_emulator();
    open_device(&device, 0);
    inject_for_all("stores@*bf16*:1");
    check_ok(quern_prepare(device.quern, QUERN_CROSS_ENTROPY));
    check(!*chosen(&device) && strstr(walk, "gives a wrong answer"), "%s", walk);
    quern_cross_entropy_args args = QUERN_CROSS_ENTROPY_ARGS_INIT;
    OPEN_BUFFER(memory, &device, 1024, 0, NULL);
    char *room = memory.data;
    args.logits_dtype = QUERN_BF16, args.labels_dtype = QUERN_INT32, args.rows = 1, args.vocab = 33;
    args.logits = room, args.labels = room + 128, args.loss = (float *)(void *)(room + 256);
    check_status(quern_cross_entropy(device.quern, &args, room + 512, 512, device.stream), QUERN_NO_KERNEL);
    check(strstr(error_detail(), "no cross_entropy kernel serves") && strstr(error_detail(), "gives a wrong answer"), "%s",
          error_detail());
}

/* All images are bad: quern_prepare says which and why, and nothing is prepared. */
Test(answers, no_image_works) {
    static const struct {
        const char *fault;
        quern_status status;
        const char *reason;
    } faults[] = {
        {"stores@*:1", QUERN_NO_KERNEL, "gives a wrong answer"},
        {"launch@*:912", QUERN_CUDA_ERROR, "CUDA_ERROR_INVALID_CLUSTER_SIZE"},
        {"load@*:209", QUERN_CUDA_ERROR, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
        {"load@*:218", QUERN_CUDA_ERROR, "CUDA_ERROR_INVALID_PTX"},
    };
    need_emulator();
    for (size_t i = 0; i < 2 * sizeof faults / sizeof *faults; i++) {
        const unsigned operation = i % 2 ? QUERN_ADAM : QUERN_CROSS_ENTROPY;
        struct test_device device CLOSED_BY(device_close);
        open_device(&device, 0);
        inject_for_all(faults[i / 2].fault);
        check_status(quern_prepare(device.quern, operation), faults[i / 2].status);
        check(strstr(error_detail(), faults[i / 2].reason) && strstr(error_detail(), test_target()), "%s", error_detail());
        check(!list_of(&device, operation), "a list is published");
        unsetenv("QUERN_EMULATOR_FAIL");
    }
}

/* After these errors nothing else would work: no memory, or a context that a kernel has broken. */
Test(answers, other_errors_fail) {
    static const struct {
        const char *fault;
        quern_status status;
    } faults[] = {{"launch@*/%s:2", QUERN_OUT_OF_MEMORY}, {"launch@*/%s:719", QUERN_CUDA_ERROR},
                  {"load@*/%s:2", QUERN_OUT_OF_MEMORY}, {"load@*/%s:999", QUERN_CUDA_ERROR}};
    need_emulator();
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct test_device device CLOSED_BY(device_close);
        open_device(&device, 0);
        inject(faults[i].fault, "cross_entropy_bf16_resident");
        check_refused(quern_prepare(device.quern, QUERN_CROSS_ENTROPY), faults[i].status, "cross_entropy_bf16_resident__");
        unsetenv("QUERN_EMULATOR_FAIL");
        check_ok(quern_prepare(device.quern, QUERN_CROSS_ENTROPY));
        check(strstr(chosen(&device), "resident"), "%s serves", chosen(&device));
    }
}

/* ---- captures and threads ---- */

/* All kernels have been asked, so another preparation makes no call that would break a capture. */
Test(answers, a_capture_is_left_alone) {
    struct test_device device CLOSED_BY(device_close);
    void *graph;
    open_device(&device, 0);
    check_ok(quern_prepare(device.quern, ASKED));
    CUDA(cuStreamBeginCapture_v2(device.stream, 0));
    check_ok(quern_prepare(device.quern, ASKED));
    CUDA(cuStreamEndCapture(device.stream, &graph));
    CUDA(cuGraphDestroy(graph));
}

static void *prepare_in_thread(void *user) {
    struct test_device *device = user;
    check_ok(quern_prepare(device->quern, ASKED));
    return NULL;
}

/* Threads prepare two handles of devices at once.  One image is refused once on each. */
Test(answers, threads_prepare_at_once) {
    enum { DEVICES = 2, THREADS = 6 };
    struct test_device devices[DEVICES];
    pthread_t threads[THREADS];
    need_emulator();
    for (int i = 0; i < DEVICES; i++) open_device(&devices[i], i);
    inject("stores@*/%s:1", "cross_entropy_bf16_resident");
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, prepare_in_thread, &devices[i % DEVICES]);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < DEVICES; i++) {
        const struct quern_refused_image *refused = devices[i].quern->refused;
        check(refused && !refused->next, "%s", reason_of(refused));
        check(strstr(chosen(&devices[i]), "streamed"), "%s serves", chosen(&devices[i]));
        device_close(&devices[i]);
    }
}

/* ---- the way back to another target ---- */

/* Hopper's machine code does not work, in one way or another: PTX serves. */
static void check_ptx_serves(const char *fault) {
    struct test_device device = {.kind = QUERN_CUDA};
    quern_device_info info = QUERN_DEVICE_INFO_INIT;
    need_emulator();
    static const char *const kernels[] = {"build/emulator/sm_90a.so", "build/emulator/compute_90.so"};
    if (getenv("QUERN_EMULATOR_KERNELS") || access(kernels[0], R_OK) || access(kernels[1], R_OK))
        cr_skip_test("the kernels of sm_90a and compute_90 are not built");
    setenv("QUERN_EMULATOR", "9.0", 1);
    unsetenv("QUERN_EMULATOR_SHARED_KB");
    unsetenv("QUERN_KERNEL");
    inject(fault, "sm_90a");
    check_ok(quern_device_open(QUERN_CUDA, 0, &device.quern));
    check_ok(quern_prepare(device.quern, ALL));
    check(strstr(chosen(&device), "cross_entropy_bf16_resident__compute_90"), "%s", walk);
    check_ok(quern_device_get_info(device.quern, &info));
    check(!strcmp(info.target, "compute_90"), "%s serves", info.target);
    unsetenv("QUERN_EMULATOR_FAIL");
    quern_device_close(device.quern);
}

Test(answers, rubbish_of_a_target_goes_to_ptx) { check_ptx_serves("stores@%s/*:1"); }
Test(answers, a_target_without_launches_goes_to_ptx) { check_ptx_serves("launch@%s/*:701"); }
Test(answers, a_target_without_binaries_goes_to_ptx) { check_ptx_serves("load@%s/*:209"); }
