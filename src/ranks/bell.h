/*
 * Wakes a thread that sleeps until a transfer goes on.  For src/ranks.
 *
 *   ringer:   the change, release;  fence;  if listens: clear it, rings += 1, wake
 *   sleeper:  seen = rings;  listens = 1;  fence;  look for changes;  sleep while rings == seen
 *
 * The fences order all that.  Checked by tests/model/transfer.pml.
 */
#ifndef QUERN_BELL_H
#define QUERN_BELL_H

#include "os/futex.h"
#include "ranks/segment.h"

/* After a change in memory that the rank looks at. */
static inline void quern_ring(struct quern_bell *bell) {
    quern_fence();
    if (!__atomic_load_n(&bell->listens, __ATOMIC_RELAXED)) return;
    __atomic_store_n(&bell->listens, 0, __ATOMIC_RELAXED);
    __atomic_add_fetch(&bell->rings, 1, __ATOMIC_RELAXED);
    quern_futex_wake(&bell->rings);
}

/* Before the last look.  Returns the value for quern_futex_wait. */
static inline uint32_t quern_listen(struct quern_bell *bell) {
    const uint32_t seen = __atomic_load_n(&bell->rings, __ATOMIC_RELAXED);
    __atomic_store_n(&bell->listens, 1, __ATOMIC_RELAXED);
    quern_fence();
    return seen;
}

#endif
