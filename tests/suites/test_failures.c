/*
 * Calls that fail: for each operation the k-th allocation, or the k-th call of the CUDA driver or cuBLAS, that it makes fails, for
 * k = 1, 2, ... until it makes fewer calls.  The operation returns the status of that failure with a detail, keeps nothing, and
 * succeeds the next time.
 *
 * Runs on: one cpu, one emulated.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/buffer.h"
#include "harness/check.h"
#include "harness/failing.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

TestSuite(failures, .timeout = 60);

/* ---- operations ---- */

/* What an operation returns if this function fails in it. */
struct exception {
    const char *function;
    quern_status status;
    const char *reason;
};

struct operation {
    const char *name;
    void (*begin)(void);          /* before a call that can fail; NULL: nothing to do */
    quern_status (*run)(void);
    void (*end)(void);            /* after a call that succeeded: gives back what it made */
    void (*finish)(void);         /* gives back what begin made */
    void **handle;                /* what the call makes; untouched by a call that fails; NULL: nothing */
    bool keeps_images;            /* a failed call may leave modules that are loaded to their device */
    int allocations, gpu_allocations, driver_calls;  /* the least that a call makes; 0: it makes none */
    const struct exception *exceptions;              /* ends with a NULL; NULL: none */
};

static struct test_device device;
static struct buffer arena;
static char *first, *expected;    /* what the arena holds before an operation, and after it */

/* A handle that no call returns. */
#define UNTOUCHED ((void *)16)

static const struct {
    enum failing_calls calls;
    int error;
    quern_status status;
    const char *text;             /* part of the detail */
} causes[] = {
    {FAILING_MEMORY, 0, QUERN_OUT_OF_MEMORY, "no memory"},
    {FAILING_DRIVER, 2, QUERN_OUT_OF_MEMORY, ""},
    {FAILING_DRIVER, 719, QUERN_CUDA_ERROR, ""},
};

static void check_alive(const struct operation *o, long number, const char *failed, const struct alive *before, bool keeps_images) {
    const struct alive now = failing_count();
    for (int i = 0; i < ALIVE_COUNT; i++) {
        const bool may_grow = keeps_images && (i == ALIVE_ALLOCATIONS || i == ALIVE_LIBRARIES);
        check(now.count[i] == before->count[i] || (may_grow && now.count[i] > before->count[i]), "%s, call %ld (%s): %ld %s, "
              "expected %ld", o->name, number, failed ? failed : "none failed", now.count[i], alive_names[i], before->count[i]);
    }
}

static void check_detail(const struct operation *o, long number, const char *failed, const char *text) {
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

static quern_status expected_status(const struct operation *o, const char *failed, quern_status otherwise) {
    for (const struct exception *e = o->exceptions; e && e->function; e++)
        if (!strcmp(e->function, failed)) return e->status;
    return otherwise;
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
    const quern_status wanted = failed ? expected_status(o, failed, causes[cause].status) : QUERN_OK;
    check(status == wanted, "%s, call %ld of %ld (%s): %s: %s, expected %s", o->name, *number, made, failed ? failed : "none failed",
          quern_status_string(status), status ? error_detail() : "", quern_status_string(wanted));
    if (status == QUERN_OK) {
        if (o->end) o->end();
    } else {
        check_detail(o, *number, failed, causes[cause].text);
        check(!o->handle || *o->handle == UNTOUCHED, "%s, call %ld (%s): the handle was written", o->name, *number, failed);
    }
    device_synchronize(&device);
    check_alive(o, *number, failed, &inside, o->keeps_images);
    if (failed) check_success(o, *number, failed);
    if (o->finish) o->finish();
    device_synchronize(&device);
    check_alive(o, *number, failed, &outside, false);
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

__attribute__((unused)) static void *home(int place) { return (char *)arena.data + place * ROOM; }

static void fill_floats(int place) {
    float *values = (float *)(void *)(first + place * ROOM);
    for (int i = 0; i < ROOM / 4; i++) values[i] = (float)(i * 7 % 31 + 1) / 16;
}

static void open_all(unsigned operations) {
    device_open(&device, 0, NULL);
    if (operations) check_ok(quern_prepare(device.quern, operations));
    buffer_open(&arena, &device, ROOM * ROOMS, 0, NULL);
    first = malloc(arena.bytes), expected = malloc(arena.bytes);
    check(first && expected, "no memory");
    for (int place = 0; place < ROOMS; place++) fill_floats(place);
}

static void close_all(void) {
    free(first);
    free(expected);
    buffer_close(&arena);
    device_close(&device);
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

/* Nothing that the library could undo: the context stays current on the thread. */
static const struct exception in_visits[] = {
    {"cuCtxPopCurrent_v2", QUERN_OK, "the work is done; a context that cannot be popped belongs to a driver that has ended"},
    {"cuThreadExchangeStreamCaptureMode", QUERN_OK, "only needed during a capture, when the calls of the driver fail without it"},
    {NULL, QUERN_OK, NULL},
};

Test(failures, devices) {
    static const struct operation operations[] = {
        {.name = "quern_device_open", .run = open_device, .end = close_device, .handle = (void **)&opened, .allocations = 1,
         .gpu_allocations = 1, .driver_calls = 8},
        {.name = "quern_device_count", .run = count_devices, .driver_calls = 1},
        {.name = "quern_prepare", .begin = make_device, .run = prepare_device, .finish = close_device, .keeps_images = true,
         .allocations = 2, .gpu_allocations = 4, .driver_calls = 20, .exceptions = in_visits},
        {.name = "quern_prepare again", .begin = make_prepared, .run = prepare_device, .finish = close_device,
         .keeps_images = true, .allocations = 2, .gpu_allocations = 2, .driver_calls = 20, .exceptions = in_visits},
        {.name = "quern_set_threads", .begin = make_device, .run = set_threads, .finish = close_device},
        {.name = "quern_device_report", .begin = make_device, .run = report_device, .finish = close_device},
    };
    open_all(0);
    for (size_t i = 0; i < COUNT(operations); i++) sweep_all(&operations[i]);
    close_all();
}
