/* Notes launches and reads their times.  Called for each launch of a call that is traced, and at the end of the trace. */
#include "look/look.h"

#include <stdlib.h>

#include "os/clock.h"
#include "runtime/cuda_visit.h"

/*
 * The times of a device are a chain: each is known from the one before, by a difference that a float of milliseconds still has to
 * a few nanoseconds.  The clock of the host is compared at the end.
 */
struct chain {
    struct chain *next;
    const quern_device *device;
    CUevent anchor;                    /* NULL: none so far */
    int64_t anchor_at;                 /* nanoseconds since the first anchor */
    int64_t earliest;                  /* of the first anchor on quern_now: no kernel begins before its launch */
    struct quern_event *first, *last;  /* kernels whose times are not read */
    struct quern_event *read;          /* those whose times are, since the first anchor */
    CUevent *spare;                    /* events of the driver that nothing uses */
    size_t spares, capacity;
};

static struct {
    pthread_mutex_t lock;
    struct chain *first;
    const struct quern_cuda *driver;   /* atomic: `timed` is filled in */
    struct quern_cuda timed;
} times = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const float LONGEST_LINK = 100;   /* milliseconds between an anchor and what is measured from it */

static int64_t nanoseconds(float milliseconds) { return (int64_t)((double)milliseconds * 1e6); }

/* ---- events of the driver ---- */

static struct chain *chain_of(const quern_device *device) {
    struct chain *chain = times.first;
    while (chain && chain->device != device) chain = chain->next;
    if (chain || !(chain = calloc(1, sizeof *chain))) return chain;
    *chain = (struct chain){.next = times.first, .device = device, .earliest = INT64_MIN};
    return times.first = chain;
}

/* Without room the event is destroyed. */
static void give_back(struct chain *chain, CUevent event) {
    if (!event) return;
    if (chain->spares == chain->capacity) {
        const size_t capacity = chain->capacity ? 2 * chain->capacity : 64;
        CUevent *spare = realloc(chain->spare, capacity * sizeof *spare);
        if (!spare) {
            times.driver->event_destroy(event);
            return;
        }
        chain->spare = spare, chain->capacity = capacity;
    }
    chain->spare[chain->spares++] = event;
}

static void take_anchor(struct chain *chain, struct quern_event *event) {
    give_back(chain, chain->anchor);
    chain->anchor = event->start, chain->anchor_at = event->began;
    event->start = NULL;
}

/* Reads the times of the first kernel, which has ended. */
static void read_first(struct chain *chain) {
    struct quern_event *event = chain->first;
    const int64_t launched = event->began;
    float before = 0, lasted = 0;
    chain->first = event->next;
    event->has_times = times.driver->event_elapsed(&lasted, event->start, event->stop) == CUDA_SUCCESS &&
                       (!chain->anchor || times.driver->event_elapsed(&before, chain->anchor, event->start) == CUDA_SUCCESS);
    if (event->has_times) {
        event->began = chain->anchor_at + nanoseconds(before);
        event->ended = event->began + nanoseconds(lasted);
        event->next = chain->read, chain->read = event;
        if (launched - event->began > chain->earliest) chain->earliest = launched - event->began;
        if (!chain->anchor || before > LONGEST_LINK || before < -LONGEST_LINK) take_anchor(chain, event);
    }
    give_back(chain, event->start);
    give_back(chain, event->stop);
    event->start = event->stop = NULL;
}

/* Two events: spare ones, or those of kernels that have ended, or new ones. */
static bool take_pair(struct chain *chain, CUevent pair[2]) {
    while (chain->spares < 2 && chain->first && times.driver->event_query(chain->first->stop) == CUDA_SUCCESS) read_first(chain);
    for (int i = 0; i < 2; i++) {
        pair[i] = chain->spares ? chain->spare[--chain->spares] : NULL;
        if (pair[i] || times.driver->event_create(&pair[i], 0) == CUDA_SUCCESS) continue;
        if (i) give_back(chain, pair[0]);
        return false;
    }
    return true;
}

/* ---- launches ---- */

/* A launch that is noted. */
struct launch {
    const struct quern_look *look;     /* NULL: it is not */
    CUstream stream;
    bool is_captured, has_events;
    CUevent pair[2];
    int64_t began;
};

static bool is_captured(CUstream stream, bool *known) {
    int capturing = 0;
    *known = times.driver->stream_is_capturing(stream, &capturing) == CUDA_SUCCESS;
    return *known && capturing;
}

static void begin(struct launch *launch, CUstream stream) {
    *launch = (struct launch){.look = quern_current_look(), .stream = stream, .began = quern_now()};
    if (launch->look && (!launch->look->trace.number || !launch->look->device || !quern_events_enter(launch->look->trace.number)))
        launch->look = NULL;
    bool known = false;
    if (launch->look) launch->is_captured = is_captured(stream, &known);
    if (!known || launch->is_captured) return;
    int mode = CU_STREAM_CAPTURE_MODE_RELAXED;  /* events may be created and asked while another thread captures */
    const bool is_relaxed = times.driver->capture_mode(&mode) == CUDA_SUCCESS;
    pthread_mutex_lock(&times.lock);
    struct chain *chain = chain_of(launch->look->device);
    launch->has_events = chain && take_pair(chain, launch->pair);
    pthread_mutex_unlock(&times.lock);
    if (is_relaxed) times.driver->capture_mode(&mode);
    if (launch->has_events && times.driver->event_record(launch->pair[0], stream) != CUDA_SUCCESS) {
        for (int i = 0; i < 2; i++) times.driver->event_destroy(launch->pair[i]);
        launch->has_events = false;
    }
}

static const char *name_of(const struct quern_look *look, CUfunction function) {
    for (int i = 0; i < look->kernel_count; i++)
        if (look->kernels[i]->function == function) return look->kernels[i]->kernel->name;
    return "kernel";
}

static void keep(struct launch *launch, struct quern_event *event) {
    pthread_mutex_lock(&times.lock);
    struct chain *chain = chain_of(launch->look->device);
    event->start = launch->pair[0], event->stop = launch->pair[1];
    if (chain->first) chain->last->next = event;
    else chain->first = event;
    chain->last = event;
    pthread_mutex_unlock(&times.lock);
}

/* A launch that has failed is none.  A place is taken last, so that the array of events tells only of launches. */
static CUresult end(struct launch *launch, CUfunction function, CUresult error) {
    if (!launch->look) return error;
    const bool is_marked = launch->has_events && times.driver->event_record(launch->pair[1], launch->stream) == CUDA_SUCCESS;
    struct quern_event *event = error == CUDA_SUCCESS ? quern_take_event(QUERN_EVENT_KERNEL, launch->look->device) : NULL;
    if (event) {
        event->name = name_of(launch->look, function);
        event->rank = launch->look->rank, event->ranks = launch->look->ranks;
        event->began = event->ended = launch->began;
        event->is_captured = launch->is_captured;
        event->stream = launch->stream;
        if (is_marked) keep(launch, event);
        quern_event_done(event);
    }
    if (launch->has_events && !(event && is_marked))
        for (int i = 0; i < 2; i++) times.driver->event_destroy(launch->pair[i]);
    quern_events_leave();
    return error;
}

static CUresult launch_plain(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                             unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void **parameters,
                             void **extra) {
    struct launch launch;
    begin(&launch, stream);
    return end(&launch, function, times.driver->launch(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
                                                       stream, parameters, extra));
}

static CUresult launch_extended(const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra) {
    struct launch launch;
    begin(&launch, config->stream);
    return end(&launch, function, times.driver->launch_extended(config, function, parameters, extra));
}

/* Without the lock if it can: the end of a trace keeps it while it waits for kernels, which may wait for this launch. */
const struct quern_cuda *quern_timed_cuda(const struct quern_cuda *cuda) {
    const struct quern_look *look = quern_current_look();
    if (!look || !look->trace.number) return cuda;
    if (__atomic_load_n(&times.driver, __ATOMIC_ACQUIRE)) return &times.timed;
    pthread_mutex_lock(&times.lock);
    if (!times.driver) {
        times.timed = *cuda;
        times.timed.launch = launch_plain, times.timed.launch_extended = launch_extended;
        __atomic_store_n(&times.driver, cuda, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&times.lock);
    return &times.timed;
}

/* ---- the end ---- */

/* When an event of a stream of the library's own was recorded, on both clocks.  Returns when the first anchor was, on quern_now. */
static int64_t compare_clocks(struct chain *chain, const struct quern_cuda *cuda) {
    CUstream stream;
    CUevent now;
    float after = 0;
    int64_t origin = chain->earliest;
    if (!chain->anchor || cuda->stream_create(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS) return origin;
    if (cuda->event_create(&now, 0) == CUDA_SUCCESS) {
        if (cuda->event_record(now, stream) == CUDA_SUCCESS && cuda->event_synchronize(now) == CUDA_SUCCESS) {
            const int64_t host = quern_now();
            if (cuda->event_elapsed(&after, chain->anchor, now) == CUDA_SUCCESS)
                origin = host - chain->anchor_at - nanoseconds(after);
        }
        cuda->event_destroy(now);
    }
    cuda->stream_destroy(stream);
    return origin > chain->earliest ? origin : chain->earliest;
}

static void end_chain(struct chain *chain) {
    struct quern_cuda_visit visit;
    if (quern_cuda_begin_visit(&visit, chain->device->context) == CUDA_SUCCESS) {
        while (chain->first) {
            visit.cuda->event_synchronize(chain->first->stop);
            read_first(chain);
        }
        const int64_t origin = compare_clocks(chain, visit.cuda);
        for (struct quern_event *event = chain->read; event; event = event->next) event->began += origin, event->ended += origin;
        give_back(chain, chain->anchor);
        while (chain->spares) visit.cuda->event_destroy(chain->spare[--chain->spares]);
    }
    quern_cuda_end_visit(&visit);
    free(chain->spare);
    free(chain);
}

void quern_read_kernel_times(const quern_device *device) {
    pthread_mutex_lock(&times.lock);
    for (struct chain **link = &times.first; *link;) {
        struct chain *chain = *link;
        if (device && device != chain->device) {
            link = &chain->next;
            continue;
        }
        *link = chain->next;
        end_chain(chain);
    }
    pthread_mutex_unlock(&times.lock);
}

/* ---- fork ---- */

void quern_hold_kernel_times(void) { pthread_mutex_lock(&times.lock); }
void quern_release_kernel_times(void) { pthread_mutex_unlock(&times.lock); }

/* The events of the driver belong to the parent's contexts. */
void quern_forget_kernel_times(void) {
    while (times.first) {
        struct chain *chain = times.first;
        times.first = chain->next;
        free(chain->spare);
        free(chain);
    }
    quern_release_kernel_times();
}
