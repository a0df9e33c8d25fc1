/*
 * Wakes a rank that sleeps until something of a transfer comes.  For transfer.c and wire.c.
 *
 *   ringer:   the change, release;  fence;  if listens: clear it, bell += 1, wake
 *   sleeper:  seen = bell;  listens = 1;  fence;  look for changes;  sleep while bell == seen
 *
 * Checked by tests/model/transfer.pml.
 */
#ifndef QUERN_BELL_H
#define QUERN_BELL_H

#include "os/futex.h"
#include "ranks/segment.h"

/* After a change in memory that the rank looks at. */
static inline void quern_ring(struct quern_segment_place *rank) {
    quern_fence();
    if (!__atomic_load_n(&rank->listens, __ATOMIC_SEQ_CST)) return;
    __atomic_store_n(&rank->listens, 0, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&rank->bell, 1, __ATOMIC_SEQ_CST);
    quern_futex_wake(&rank->bell);
}

/* Before the last look.  Returns the value for quern_futex_wait. */
static inline uint32_t quern_listen(struct quern_segment_place *rank) {
    const uint32_t seen = __atomic_load_n(&rank->bell, __ATOMIC_SEQ_CST);
    __atomic_store_n(&rank->listens, 1, __ATOMIC_SEQ_CST);
    quern_fence();
    return seen;
}

#endif
