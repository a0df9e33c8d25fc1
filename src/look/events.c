/* The array of a trace's events.  Called by the trace for each event. */
#include "look/look.h"

#include <sched.h>
#include <stdlib.h>

#include "os/thread_id.h"

int64_t quern_trace_most_events = 1000000;

static struct {
    uint64_t number;          /* atomic: of the trace; 0: none */
    uint32_t inside;          /* atomic: threads that may write */
    int64_t most;
    int64_t taken;            /* atomic: places asked for, also in vain */
    struct quern_event *list;
} events;

static _Thread_local int32_t thread;   /* of the caller; 0: not asked for so far */

bool quern_events_begin(uint64_t number) {
    events.most = quern_trace_most_events;
    events.list = calloc((size_t)events.most, sizeof *events.list);  /* pages that stay empty cost nothing */
    if (!events.list) return false;
    __atomic_store_n(&events.taken, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&events.number, number, __ATOMIC_RELEASE);
    return true;
}

void quern_events_end(void) {
    __atomic_store_n(&events.number, 0, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&events.inside, __ATOMIC_SEQ_CST)) sched_yield();
}

void quern_events_free(void) {
    free(events.list);
    events.list = NULL;
}

void quern_events_forget(void) {
    __atomic_store_n(&events.number, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&events.inside, 0, __ATOMIC_RELAXED);
    thread = 0;
    quern_events_free();
}

/* Looks first, so that calls which go on do not keep the end waiting. */
uint64_t quern_events_enter(uint64_t number) {
    if (!__atomic_load_n(&events.number, __ATOMIC_RELAXED)) return 0;
    __atomic_add_fetch(&events.inside, 1, __ATOMIC_SEQ_CST);
    const uint64_t current = __atomic_load_n(&events.number, __ATOMIC_SEQ_CST);
    if (current && (!number || number == current)) return current;
    quern_events_leave();
    return 0;
}

void quern_events_leave(void) { __atomic_sub_fetch(&events.inside, 1, __ATOMIC_RELEASE); }

static int32_t thread_of_caller(void) {
    if (!thread) thread = quern_thread_id();
    return thread;
}

struct quern_event *quern_take_event(enum quern_event_kind kind, const quern_device *device) {
    const int64_t place = __atomic_fetch_add(&events.taken, 1, __ATOMIC_RELAXED);
    if (place >= events.most) return NULL;
    struct quern_event *event = &events.list[place];
    event->kind = (uint8_t)kind;
    event->thread = thread_of_caller();
    event->ordinal = (int16_t)(!device ? -2 : device->kind == QUERN_CPU ? -1 : device->ordinal);
    return event;
}

void quern_event_done(struct quern_event *event) { __atomic_store_n(&event->is_complete, true, __ATOMIC_RELEASE); }

const struct quern_event *quern_events(int64_t *count, int64_t *left_out) {
    const int64_t taken = __atomic_load_n(&events.taken, __ATOMIC_RELAXED);
    *count = taken < events.most ? taken : events.most;
    *left_out = taken - *count;
    return events.list;
}
