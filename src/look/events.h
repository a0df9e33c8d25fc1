/*
 * The events of a trace, in one array that is reserved when the trace begins.  For the trace.
 *
 * A thread that notes an event enters, takes a place with one atomic addition, fills it in, and leaves.  A trace that ends waits
 * until nobody is inside, so nothing is written into an array that is freed.
 */
#ifndef QUERN_EVENTS_H
#define QUERN_EVENTS_H

#include "runtime/look.h"

enum quern_event_kind { QUERN_EVENT_CALL, QUERN_EVENT_KERNEL, QUERN_EVENT_WAIT, QUERN_EVENT_STEP };

enum { QUERN_EVENT_RANKS = 12 };  /* of a wait, that are named */

struct quern_event {
    uint8_t kind;                     /* enum quern_event_kind */
    bool is_complete;                 /* atomic: all fields are written */
    bool has_times;                   /* of a kernel: its times on the stream are known */
    bool is_captured;
    uint8_t kernel_count;
    uint8_t awaited_count;            /* ranks in `awaited`, of `missing` */
    int16_t ordinal;                  /* of the device; -1: a CPU; -2: none */
    int32_t thread, rank, ranks, status, missing;
    uint16_t awaited[QUERN_EVENT_RANKS];
    const char *name;                 /* of a wait: the call that waits; NULL: none that is noted */
    const char *kernels[QUERN_LOOKED_KERNELS];
    int64_t began, ended;             /* nanoseconds of quern_now */
    int64_t number;                   /* bytes of a call; of a step, which one */
    void *stream;
    struct quern_event *next;         /* of a kernel without times so far */
    CUevent start, stop;
};

/* The most events of a trace.  Tests lower it. */
extern int64_t quern_trace_most_events;

/* Reserves the array, under the number of the trace, which is not 0.  False: no memory. */
bool quern_events_begin(uint64_t number);

/* Ends the noting, and waits for those who are inside.  Then the events can be read, and freed. */
void quern_events_end(void);
void quern_events_free(void);

/* In a child of fork, whose only thread is in no event: ends its copy of a trace, and waits for nobody. */
void quern_events_forget(void);

/* Enters the trace of this number, or (0) any.  Returns the number of the trace, 0: there is none, and no leaving. */
uint64_t quern_events_enter(uint64_t number);
void quern_events_leave(void);

/* Inside: a zeroed place for an event of this thread, which quern_event_done completes.  NULL: the array is full. */
struct quern_event *quern_take_event(enum quern_event_kind kind, const quern_device *device);
void quern_event_done(struct quern_event *event);

/* After the end: the events in the order in which their places were taken, and how many found none. */
const struct quern_event *quern_events(int64_t *count, int64_t *left_out);

#endif
