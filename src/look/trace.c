/* quern_trace_begin and quern_trace_end, and what the trace notes of each call. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "look/look.h"
#include "os/clock.h"
#include "os/unload.h"
#include "os/whole_file.h"
#include "runtime/status.h"

static struct {
    pthread_mutex_t lock;   /* of begin and end */
    uint64_t number;        /* of the last trace */
    bool has_begun;
    char *path;
} trace = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- calls ---- */

static void begin(struct quern_look *look) {
    look->trace.number = quern_events_enter(0);
    if (!look->trace.number) return;
    quern_events_leave();
    look->trace.is_range = quern_nvtx_push(look->view->name);
    look->trace.began = quern_now();
}

/* Adds up the bytes of tensors, once for each direction. */
struct adder {
    struct quern_tensor_taker taker;
    int64_t bytes;
};

static void add_bytes(struct quern_tensor_taker *taker, const struct quern_tensor *tensor) {
    struct adder *adder = (struct adder *)taker;
    const int64_t rows = tensor->rows == QUERN_NO_ROWS ? 1 : tensor->rows;
    const int directions = !!(tensor->access & QUERN_TENSOR_IN) + !!(tensor->access & QUERN_TENSOR_OUT);
    if (tensor->data) adder->bytes += directions * rows * tensor->columns * (int64_t)tensor->element.bytes;
}

static void show(struct quern_look *look) {
    struct adder adder = {.taker = {add_bytes}};
    if (!look->trace.number || !look->view->tensors) return;
    look->view->tensors(look->call, &adder.taker);
    look->trace.bytes = adder.bytes;
}

static void fill(struct quern_event *event, const struct quern_look *look, quern_status status) {
    event->name = look->view->name;
    event->began = look->trace.began;
    event->ended = quern_now();
    event->rank = look->rank, event->ranks = look->ranks;
    event->number = look->trace.bytes;
    event->stream = look->stream;
    event->status = (int32_t)status;
    event->kernel_count = (uint8_t)look->kernel_count;
    for (int i = 0; i < look->kernel_count; i++) event->kernels[i] = look->kernels[i]->kernel->name;
}

static void end(struct quern_look *look, quern_status status) {
    if (!look->trace.number) return;
    if (look->trace.is_range) quern_nvtx_pop();
    if (!quern_events_enter(look->trace.number)) return;
    struct quern_event *event = quern_take_event(QUERN_EVENT_CALL, look->device);
    if (event) {
        fill(event, look, status);
        quern_event_done(event);
    }
    quern_events_leave();
}

/* ---- waits and steps ---- */

static void fill_wait(struct quern_event *event, const struct quern_wait_seen *wait) {
    const struct quern_look *look = quern_current_look();
    event->name = look ? look->view->name : NULL;
    event->began = wait->began;
    event->ended = quern_now();
    event->rank = wait->rank, event->ranks = wait->ranks;
    event->status = (int32_t)wait->status;
    for (int rank = 0; rank < wait->ranks; rank++) {
        if (!(wait->awaited[rank / 32] >> rank % 32 & 1)) continue;
        if (event->missing++ < QUERN_EVENT_RANKS) event->awaited[event->awaited_count++] = (uint16_t)rank;
    }
}

static void waited(const struct quern_wait_seen *wait) {
    if (!quern_events_enter(0)) return;
    struct quern_event *event = quern_take_event(QUERN_EVENT_WAIT, wait->device);
    if (event) {
        fill_wait(event, wait);
        quern_event_done(event);
    }
    quern_events_leave();
}

static quern_status step(quern_device *device, int64_t number) {
    if (!quern_events_enter(0)) return QUERN_OK;
    struct quern_event *event = quern_take_event(QUERN_EVENT_STEP, device);
    if (event) {
        event->began = event->ended = quern_now();
        event->number = number;
        quern_event_done(event);
    }
    quern_events_leave();
    return QUERN_OK;
}

static void close_device(quern_device *device) {
    if (device->kind == QUERN_CUDA) quern_read_kernel_times(device);
}

static const struct quern_looker tracer = {
    .begin = begin, .show = show, .end = end, .waited = waited, .step = step, .close = close_device, .cuda = quern_timed_cuda};

/* ---- the trace ---- */

/* What a trace leaves in memory. */
static void forget(void) {
    quern_events_free();
    free(trace.path);
    trace.path = NULL, trace.has_begun = false;
    __atomic_sub_fetch(&quern_lookers_now, 1, __ATOMIC_RELAXED);
}

static void hold(void) {
    pthread_mutex_lock(&trace.lock);
    quern_hold_kernel_times();
}

static void release(void) {
    quern_release_kernel_times();
    pthread_mutex_unlock(&trace.lock);
}

/* A child of fork has no trace: the parent's goes on there. */
static void disown(void) {
    quern_events_forget();
    quern_forget_kernel_times();
    if (trace.has_begun) forget();
    pthread_mutex_unlock(&trace.lock);
}

static void watch_forks(void) { pthread_atfork(hold, release, disown); }

static void forget_at_unload(void) {
    if (!trace.has_begun) return;
    quern_events_end();
    forget();
}

static quern_status fail_to_write(int error, const char *path) {
    if (error == ENOMEM) return quern_fail(NULL, QUERN_OUT_OF_MEMORY, "no memory to write the trace %s", path);
    return quern_fail(NULL, QUERN_SYSTEM_ERROR, "the trace %s cannot be written: %s", path, strerror(error));
}

/* Finds out now whether the file can be created. */
static quern_status try_file(const char *path) {
    struct quern_whole_file *file;
    const int error = quern_begin_file(path, &file);
    if (error) return fail_to_write(error, path);
    quern_drop_file(file);
    return QUERN_OK;
}

static quern_status start(const char *path) {
    quern_status status = try_file(path);
    if (status != QUERN_OK) return status;
    trace.path = quern_absolute_path(path);
    if (!trace.path) return fail_to_write(errno, path);
    if (!quern_events_begin(trace.number + 1)) {
        free(trace.path);
        trace.path = NULL;
        return quern_fail(NULL, QUERN_OUT_OF_MEMORY, "no memory for the %lld events of a trace",
                          (long long)quern_trace_most_events);
    }
    trace.number++, trace.has_begun = true;
    quern_nvtx_open();
    quern_on_unload(QUERN_UNLOAD_TRACE, forget_at_unload);
    quern_enter_looker(QUERN_TRACER, &tracer);
    __atomic_add_fetch(&quern_lookers_now, 1, __ATOMIC_RELAXED);
    return QUERN_OK;
}

quern_status quern_trace_begin(const char *path) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!path) return quern_fail(NULL, QUERN_NULL_POINTER, "path is NULL");
    if (!*path) return quern_fail(NULL, QUERN_INVALID_ARGUMENT, "path is empty: expected the name of a file");
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&trace.lock);
    quern_status status = trace.has_begun ? quern_fail(NULL, QUERN_INVALID_ARGUMENT, "a trace has begun, of %s: expected "
                                                       "quern_trace_end before", trace.path)
                                          : start(path);
    pthread_mutex_unlock(&trace.lock);
    return status;
}

static quern_status stop(void) {
    quern_events_end();
    quern_read_kernel_times(NULL);
    const int error = quern_write_trace(trace.path);
    quern_status status = error ? fail_to_write(error, trace.path) : QUERN_OK;
    forget();
    return status;
}

quern_status quern_trace_end(void) {
    pthread_mutex_lock(&trace.lock);
    quern_status status = trace.has_begun ? stop()
                                          : quern_fail(NULL, QUERN_INVALID_ARGUMENT, "no trace has begun in this process: "
                                                       "expected quern_trace_begin before");
    pthread_mutex_unlock(&trace.lock);
    return status;
}
