/*
 * An eventcount: wakes a thread that sleeps until a word of shared memory changes.  For src/ranks.
 *
 *   notifier: the change, release;  fence;  if has_waiter: clear it, count += 1, wake
 *   waiter:   seen = count;  has_waiter = 1;  fence;  check for changes;  sleep while count == seen
 *
 * The fences order all that, and the count what is cleared before it: a waiter that has seen it sets has_waiter after that.
 * Several threads of a rank may wait.  Checked by tests/model/transfer.pml.
 */
#ifndef QUERN_EVENTCOUNT_H
#define QUERN_EVENTCOUNT_H

#include "os/futex.h"
#include "ranks/segment.h"

/* After a change in memory that the waiter checks. */
static inline void quern_notify(struct quern_eventcount *eventcount) {
    quern_fence();
    if (!__atomic_load_n(&eventcount->has_waiter, __ATOMIC_RELAXED)) return;
    __atomic_store_n(&eventcount->has_waiter, 0, __ATOMIC_RELAXED);
    __atomic_add_fetch(&eventcount->count, 1, __ATOMIC_RELEASE);
    quern_futex_wake(&eventcount->count);
}

/* Before the last check.  Returns the value for quern_futex_wait. */
static inline uint32_t quern_prepare_wait(struct quern_eventcount *eventcount) {
    const uint32_t seen = __atomic_load_n(&eventcount->count, __ATOMIC_ACQUIRE);
    __atomic_store_n(&eventcount->has_waiter, 1, __ATOMIC_RELAXED);
    quern_fence();
    return seen;
}

#endif
