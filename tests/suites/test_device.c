/*
 * Counts, opens and describes devices; several at once; two devices that give the same bits.
 *
 * Runs on: every cpu, every emulated, gpu.
 */
#include <time.h>

#include "harness/adam_case.h"
#include "harness/cross_entropy_case.h"
#include "harness/cuda.h"
#include "harness/ranks.h"
#include "runtime/device.h"
#include "runtime/threads.h"

static int device_count(void) {
    int count = -1;
    check_ok(quern_device_count(test_kind(), &count));
    return count;
}

Test(device, there_are_as_many_as_expected) {
    const char *expected = getenv("QUERN_TEST_DEVICES");
    check(device_count() > 0, "no device to test");
    check(!expected || device_count() == atoi(expected), "%d devices instead of %s", device_count(), expected);
    int count = 0;
    check_ok(quern_device_count(QUERN_CPU, &count));
    check(count == 1, "there is one CPU device, not %d", count);
}

/* A CPU target that is not the machine's best is forced by QUERN_KERNEL=*__target in the runner's environment. */
Test(device, the_expected_target_serves) {
    for (int i = 0; i < device_count(); i++) {
        OPEN_ON(device, test_kind(), i);
        const quern_device_info info = info_of(device);
        check(!strcmp(info.target, test_target()), "device %d is served by %s instead of %s", i, info.target, test_target());
    }
}

Test(device, describes_itself) {
    OPEN_ON(device, test_kind(), 0);
    const quern_device_info info = info_of(device);
    check(info.size == QUERN_STRUCT_SIZE(info) && info.kind == test_kind() && info.ordinal == 0, "other facts");
    check(strlen(info.name) > 2 && strlen(info.target) > 2, "name \"%s\", target \"%s\"", info.name, info.target);
    check(info.multiprocessors > 0, "%d multiprocessors", info.multiprocessors);
    if (info.kind == QUERN_CUDA)
        check(info.compute_capability >= 70 && info.shared_bytes >= 48 * 1024, "capability %d, %lld bytes of shared memory",
              info.compute_capability, (long long)info.shared_bytes);
    else
        check(info.compute_capability == 0 && info.shared_bytes == 0, "a CPU with compute capability");
}

/* test_dispatch.c has its lines. */
Test(device, reports_are_copied_like_snprintf) {
    char report[4096], part[10], target[64];
    OPEN_ON(device, test_kind(), 0);
    size_t length = quern_device_report(device, report, sizeof report);
    check(length == strlen(report), "%zu is not the report's length %zu", length, strlen(report));
    snprintf(target, sizeof target, "%s: usable", test_target());
    check(strstr(report, target), "%s is not usable:\n%s", test_target(), report);
    check(quern_device_report(device, NULL, 0) == length, "another length without a buffer");
    memset(part, 'x', sizeof part);
    check(quern_device_report(device, part, sizeof part - 1) == length && strlen(part) == sizeof part - 2, "truncation");
    check(part[sizeof part - 1] == 'x', "a byte beyond the buffer was written");
}

/* test_details.c has the other mistakes. */
Test(device, refuses_what_is_not_there) {
    quern_device *device = (quern_device *)&device;
    check_status(quern_device_open(test_kind(), device_count(), &device), QUERN_NO_DEVICE);
    check(device == (quern_device *)&device, "a failed call wrote");
    quern_device_close(NULL);
}

Test(device, opens_and_closes_again_and_again) {
    for (int i = 0; i < 20; i++) {
        OPEN_ROW(device, next_adam_row(NULL));
        check_ok(quern_prepare(device.quern, QUERN_ADAM));  /* a second time does no harm */
    }
}

/* Two handles of one device are independent. */
Test(device, may_be_opened_twice) {
    struct test_device a, b CLOSED_BY(device_close);
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = QUERN_F32, .rows = 3, .vocab = 70);
    device_open(&a, 0, NULL);
    device_open(&b, 0, NULL);
    check_ok(quern_prepare(a.quern, QUERN_CROSS_ENTROPY));
    check_ok(quern_prepare(b.quern, QUERN_CROSS_ENTROPY));
    cross_entropy_check_case(&a, &c);
    device_close(&a);
    device_use(&b);
    cross_entropy_check_case(&b, &c);
}

/* Every device of the machine computes the same bits, also while another one is current. */
Test(device, all_devices_agree) {
    if (device_count() < 2) cr_skip_test("there is only one device");
    struct test_device devices[2];
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = QUERN_BF16, .rows = 9, .vocab = 1000,
                                                     .reduction = QUERN_REDUCTION_MEAN);
    struct cross_entropy_outputs outputs[2];
    struct adam_problem after[2];
    const int64_t counts[] = {1000, 3};
    quern_adam_args args = adam_args_of(next_adam_row(NULL));
    OPEN_INPUTS(inputs, &c);
    OPEN_ADAM(problem, &args, counts, 2);
    for (int i = 0; i < 2; i++) device_open(&devices[i], i, NULL);
    for (int i = 0; i < 2; i++) {
        device_use(&devices[i]);
        check_ok(quern_prepare(devices[!i].quern, QUERN_CROSS_ENTROPY | QUERN_ADAM));
    }
    for (int i = 0; i < 2; i++) {
        device_use(&devices[i]);
        cross_entropy_run(&devices[i], &c, &inputs, &outputs[i]);
        cross_entropy_compare(&c, &inputs, &outputs[i]);
        adam_copy(&after[i], &problem);
        adam_run(&devices[i], &after[i]);
    }
    cross_entropy_check_same(&c, &outputs[1], &outputs[0], "the other device");
    adam_check_same(&after[1], &after[0], "the other device");
    for (int i = 0; i < 2; i++) {
        device_use(&devices[i]);
        device_close(&devices[i]);
    }
}

/* ---- threads of the CPU ---- */

static void expect_threads(const quern_device *device, int expected) {
    const quern_device_info info = info_of(device);
    check(info.multiprocessors == expected, "%d threads instead of %d", info.multiprocessors, expected);
}

static void open_with(const char *variable, quern_device **device, int expected) {
    if (variable) setenv("QUERN_THREADS", variable, 1);
    check_ok(quern_device_open(QUERN_CPU, 0, device));
    if (expected) expect_threads(*device, expected);
}

/* 0 is the default; a refused number changes nothing. */
Test(device, threads_of_a_cpu) {
    static const struct {
        const char *variable;
        int set, expected;
    } cases[] = {{NULL, 3, 3}, {NULL, -1, 3}, {NULL, 1025, 3}, {NULL, 1024, 1024}, {"5", 3, 3}, {NULL, 0, 5}, {"1024", 0, 1024}};
    quern_device *device;
    open_with(NULL, &device, 0);
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (cases[i].variable) setenv("QUERN_THREADS", cases[i].variable, 1);
        const bool is_legal = cases[i].set >= 0 && cases[i].set <= 1024;
        check_status(quern_set_threads(device, cases[i].set, NULL, NULL), is_legal ? QUERN_OK : QUERN_INVALID_ARGUMENT);
        expect_threads(device, cases[i].expected);
    }
    quern_device_close(device);
}

static void run_tasks(void *user, int64_t tasks, void (*task)(void *context, int64_t index), void *context) {
    ++*(int *)user;
    for (int64_t i = 0; i < tasks; i++) task(context, i);
}

/* The threads and the hook of devices that open later; those that are open keep their own. */
Test(device, threads_of_new_cpus) {
    static const int64_t count = 1;
    quern_device *open, *hooked, *usual;
    float param = 1, grad = 1, m = 0, v = 0;
    int calls = 0;
    open_with("5", &open, 5);
    check_status(quern_set_threads(NULL, 1025, NULL, NULL), QUERN_INVALID_ARGUMENT);
    check_ok(quern_set_threads(NULL, 3, run_tasks, &calls));
    open_with(NULL, &hooked, 3);
    const quern_adam_tensor tensor = {.param = &param, .grad = &grad, .m = &m, .v = &v, .count = count};
    quern_adam_args args = ADAM_ARGS(ADAM_DTYPES(QUERN_F32), .tensors = &tensor, .tensor_count = 1, .step = 1);
    check_ok(quern_prepare(open, QUERN_ADAM));
    check_ok(quern_prepare(hooked, QUERN_ADAM));
    check_ok(quern_adam(open, &args, NULL, 0, NULL));
    check(calls == 0, "the hook of new devices runs the work of an old one");
    check_ok(quern_adam(hooked, &args, NULL, 0, NULL));
    check(calls == 1, "the hook was called %d times", calls);
    check_ok(quern_set_threads(NULL, 0, NULL, NULL));
    open_with(NULL, &usual, 5);
    quern_device_close(open);
    quern_device_close(hooked);
    quern_device_close(usual);
}

/* ---- forks: the child gets a whole list of devices ---- */

static struct {
    bool opens;
    quern_device *device;
    int wanted, done, done_meanwhile;  /* atomic */
} other;

static void rest(long milliseconds) { nanosleep(&(struct timespec){0, milliseconds * 1000000}, NULL); }

static void *open_or_close(void *user) {
    while (!__atomic_load_n(&other.wanted, __ATOMIC_SEQ_CST)) rest(1);
    if (other.opens) check_ok(quern_device_open(QUERN_CPU, 0, &other.device));
    else quern_device_close(other.device);
    __atomic_store_n(&other.done, 1, __ATOMIC_SEQ_CST);
    return user;
}

/* Handlers run in the reverse order of their registration: this one when the library's has prepared the fork. */
static void let_the_other_go(void) {
    __atomic_store_n(&other.wanted, 1, __ATOMIC_SEQ_CST);
    rest(100);
    other.done_meanwhile = __atomic_load_n(&other.done, __ATOMIC_SEQ_CST);
}

static void fork_while_the_other(bool opens) {
    pthread_t thread;
    other.opens = opens;
    check(pthread_atfork(let_the_other_go, NULL, NULL) == 0, "no handler");
    OPEN_CPU(device);
    if (!opens) check_ok(quern_device_open(QUERN_CPU, 0, &other.device));
    check(pthread_create(&thread, NULL, open_or_close, NULL) == 0, "no thread");
    const pid_t child = fork();
    if (!child) _exit(0);
    check(child > 0 && waitpid(child, NULL, 0) == child, "no child");
    pthread_join(thread, NULL);
    check(!other.done_meanwhile, "a device is %s while the process forks", opens ? "opened" : "closed");
    if (opens) quern_device_close(other.device);
}

Test(device, none_is_opened_during_a_fork) { fork_while_the_other(true); }
Test(device, none_is_closed_during_a_fork) { fork_while_the_other(false); }

/* ---- the threads of CPU devices ---- */

static int count_threads(void) { return count_entries("/proc/self/task"); }

/* The system may list a thread that has been joined for a moment. */
static bool threads_become(int expected) { return count_settled("/proc/self/task", expected) == expected; }

static void count_task(void *context, UNUSED int64_t index) { __atomic_add_fetch((int *)context, 1, __ATOMIC_RELAXED); }

Test(device, workers_end_with_the_last_cpu_device) {
    const int before = count_threads();
    for (int round = 0; round < 20; round++) {
        quern_device *device[2];
        int tasks = 0;
        for (int i = 0; i < 2; i++) {
            check_ok(quern_device_open(QUERN_CPU, 0, &device[i]));
            check_ok(quern_set_threads(device[i], 3 + i, NULL, NULL));
            quern_run_tasks(device[i], 100, count_task, &tasks);
            check(count_threads() == before + 2 + i, "%d threads instead of %d more than %d", count_threads(), 2 + i, before);
        }
        check(tasks == 200, "%d tasks instead of 200", tasks);
        quern_device_close(device[round % 2]);
        check(count_threads() == before + 3, "workers ended with the first device");
        quern_device_close(device[1 - round % 2]);
        check(threads_become(before), "%d threads instead of %d", count_threads(), before);
    }
}

static void *open_and_close(void *unused) {
    for (int round = 0; round < 200; round++) {
        quern_device *device;
        int tasks = 0;
        if (quern_device_open(QUERN_CPU, 0, &device) != QUERN_OK) return "a device could not be opened";
        quern_set_threads(device, 3, NULL, NULL);
        quern_run_tasks(device, 10, count_task, &tasks);
        quern_device_close(device);
        if (tasks != 10) return "a task was lost";
    }
    return unused;
}

/* One thread dismisses the workers while another starts new ones. */
Test(device, threads_open_and_close_at_the_same_time) {
    enum { THREADS = 4 };
    const int before = count_threads();
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++) check(!pthread_create(&thread[i], NULL, open_and_close, NULL), "no thread %d", i);
    for (int i = 0; i < THREADS; i++) {
        void *fault;
        pthread_join(thread[i], &fault);
        check(!fault, "%s", (const char *)fault);
    }
    check(threads_become(before), "%d threads instead of %d", count_threads(), before);
}

/* The threads that have run a task. */
struct crowd {
    pthread_mutex_t lock;
    pthread_t thread[16];
    int count;
};

/* Sleeps, so that other threads run tasks too. */
static void join_crowd(void *context, UNUSED int64_t index) {
    struct crowd *crowd = context;
    int place = 0;
    pthread_mutex_lock(&crowd->lock);
    while (place < crowd->count && !pthread_equal(crowd->thread[place], pthread_self())) place++;
    if (place == crowd->count && place < 16) crowd->thread[crowd->count++] = pthread_self();
    pthread_mutex_unlock(&crowd->lock);
    nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

/* The pool has as many workers as the largest device needs; a smaller one uses no more than it was given. */
Test(device, each_uses_its_own_number_of_threads) {
    static const int threads[] = {8, 2, 3, 1};
    quern_device *device[COUNT(threads)];
    for (size_t i = 0; i < COUNT(threads); i++) {
        check_ok(quern_device_open(QUERN_CPU, 0, &device[i]));
        check_ok(quern_set_threads(device[i], threads[i], NULL, NULL));
    }
    for (size_t i = 0; i < COUNT(threads); i++) {
        struct crowd crowd = {.lock = PTHREAD_MUTEX_INITIALIZER};
        for (int round = 0; round < 100 && (!round || crowd.count < threads[i]); round++)
            quern_run_tasks(device[i], 100, join_crowd, &crowd);
        check(crowd.count == threads[i], "%d threads ran the tasks of a device of %d", crowd.count, threads[i]);
    }
    for (size_t i = 0; i < COUNT(threads); i++) quern_device_close(device[i]);
}

/* Waits until another thread runs a task too, or for ten seconds; then the count shows that none came. */
static void await_another(void *context, UNUSED int64_t index) {
    int *begun = context;
    __atomic_add_fetch(begun, 1, __ATOMIC_RELAXED);
    for (int look = 0; look < 10000 && __atomic_load_n(begun, __ATOMIC_RELAXED) < 2; look++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (__atomic_load_n(begun, __ATOMIC_RELAXED) < 2) __atomic_store_n(begun, -2, __ATOMIC_RELAXED);
}

/* Two tasks at once, from the first job of a process and of a crew on. */
Test(device, workers_take_part_in_their_first_job) {
    for (int crew = 0; crew < 3; crew++) {
        OPEN_CPU(device);
        check_ok(quern_set_threads(device, 2, NULL, NULL));
        for (int job = 0; job < 2; job++) {
            int begun = 0;
            quern_run_tasks(device, 2, await_another, &begun);
            check(begun == 2, "job %d of crew %d: no worker came", job, crew);
        }
    }
}

/* The kernels that keep rows in shared memory ask for all of it; the others leave the choice to the driver. */
Test(device, kernels_that_keep_rows_prefer_shared_memory) {
    if (test_kind() != QUERN_CUDA) cr_skip_test("a CPU has no shared memory");
    const struct quern_cuda *cuda;
    int asking = 0;
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    check_ok(quern_cuda_open(&cuda));
    const struct quern_ready_list *list = device.quern->ready[0];
    for (size_t i = 0; i < list->count; i++) {
        const struct quern_kernel *kernel = list->kernels[i].kernel;
        const bool keeps = kernel->cuda.shared_per_column || kernel->cuda.cluster;
        int carveout = 0;
        check(!cuda->function_attribute(&carveout, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, list->kernels[i].function),
              "%s has no carve-out", kernel->name);
        check(carveout == (keeps ? 100 : -1), "%s prefers %d", kernel->name, carveout);
        asking += keeps;
    }
    check(asking > 0 && (size_t)asking < list->count, "%d of %zu kernels keep rows", asking, list->count);
}

/* ---- old drivers ---- */

/* What the build says of the images that serve the device. */
static struct quern_images images_of_target(void) {
    const struct quern_kernel *row = quern_adam_kernels;
    while (*row->name && strcmp(row->target.name, test_target())) row++;
    check(*row->name, "no row of %s", test_target());
    return *row->target.images;
}

static void set_driver(int version) {
    char value[80];
    snprintf(value, sizeof value, "driver_version:%d", version);
    setenv("QUERN_EMULATOR_FAIL", value, 1);
}

/* The oldest driver that the build names for its images loads them all: the emulator refuses those of a newer ABI or PTX. */
Test(device, the_oldest_driver_of_its_images_serves) {
    if (test_kind() != QUERN_CUDA || !getenv("QUERN_EMULATOR")) cr_skip_test("no driver whose version could be set");
    set_driver(images_of_target().driver);
    OPEN_ON(device, QUERN_CUDA, 0);
    check_ok(quern_prepare(device, QUERN_CROSS_ENTROPY | QUERN_ADAM | QUERN_BARRIER | QUERN_RAGGED_ALL_TO_ALL | QUERN_QUANTIZE));
}

/* The driver before it has all functions.  The device does not open, since nothing could be loaded there. */
Test(device, a_driver_too_old_for_its_images) {
    if (test_kind() != QUERN_CUDA || !getenv("QUERN_EMULATOR")) cr_skip_test("no driver whose version could be set");
    const struct quern_images images = images_of_target();
    const int before = images.driver - 1;
    char expected[256];
    quern_device *device = NULL;
    int count = 0;
    if (before < QUERN_CUDA_DRIVER_MIN) cr_skip_test("the images load on every driver of the library");
    set_driver(before);
    check_ok(quern_device_count(QUERN_CUDA, &count));
    check(count > 0, "%d devices", count);
    check_status(quern_device_open(QUERN_CUDA, 0, &device), QUERN_DRIVER_TOO_OLD);
    snprintf(expected, sizeof expected,
             "the CUDA driver supports CUDA %d.%d: the kernels for %s, made with CUDA %d.%d, need a driver for CUDA %d.%d",
             before / 1000, before % 1000 / 10, test_target(), images.toolkit / 1000, images.toolkit % 1000 / 10,
             images.driver / 1000, images.driver % 1000 / 10);
    check(!device && !strcmp(error_detail(), expected), "\"%s\", expected \"%s\"", error_detail(), expected);
}

/* ---- every compute capability ---- */

/* The next line `| 8.7 | sm_86 | reason |` of a document. */
static bool next_capability(FILE *document, char capability[8], char target[32]) {
    char line[256], reason[200];
    while (fgets(line, sizeof line, document))
        if (sscanf(line, "| %7[0-9.] | %31[a-z0-9_] | %199[^|]|", capability, target, reason) == 3) return true;
    return false;
}

/* Whether the library was built with a target: quern_build_info names it in a line with all. */
static bool library_has(const char *target) {
    char word[40];
    snprintf(word, sizeof word, " %.31s", target);
    for (const char *at = quern_build_info(); (at = strstr(at, word)); at++)
        if (strchr(" \n", at[strlen(word)])) return true;
    return false;
}

/* The table of the document, opened as one machine with a GPU of each capability. */
Test(device, every_capability_is_served_as_documented) {
    if (!getenv("QUERN_EMULATOR")) cr_skip_test("the GPUs are as they are");
    enum { MOST = 40 };
    char capabilities[MOST][8], targets[MOST][32], machine[8 * MOST] = "";
    int count = 0;
    FILE *document = fopen("docs/kernels_and_packs.md", "r");
    check(document, "docs/kernels_and_packs.md cannot be opened");
    while (count < MOST && next_capability(document, capabilities[count], targets[count])) count++;
    fclose(document);
    check(count >= 12 && !strcmp(capabilities[0], "7.5") && !strcmp(capabilities[count - 1], "12.1"), "%d capabilities", count);
    for (int i = 0; i < count; i++) {
        if (!library_has(targets[i])) cr_skip_test("this library lacks %s", targets[i]);
        snprintf(machine + strlen(machine), 9, "%s%.7s", i ? "," : "", capabilities[i]);
    }
    setenv("QUERN_EMULATOR", machine, 1);
    unsetenv("QUERN_EMULATOR_SHARED_KB");
    for (int i = 0; i < count; i++) {
        OPEN_ON(device, QUERN_CUDA, i);
        const quern_device_info info = info_of(device);
        check(!strcmp(info.target, targets[i]), "%s is served by %s, documented is %s", capabilities[i], info.target, targets[i]);
    }
}
