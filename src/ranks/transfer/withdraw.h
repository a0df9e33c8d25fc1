/*
 * How a sender takes its memory back from a receiver that copies from it: after a cancel, a failure or a destroy.  For bytes.c,
 * transfers.c and progress.c.
 *
 *   sender:    ends += 1;  fence;  if it is a thread that copies (copying is odd): wait until copying changes
 *   receiver:  copying += 1 (odd);  fence;  if ends is what it has heard of: copy a piece;  copying += 1;
 *              after the last piece, before it says that it is done: fence;  is ends still that?
 *
 * Between processes the sender does not wait: the system copies, so memory that is gone is no fault, and what was copied after the
 * withdrawal is found to be so.  Checked by tests/model/transfer.pml.
 */
#ifndef QUERN_WITHDRAW_H
#define QUERN_WITHDRAW_H

#include <sched.h>

#include "os/futex.h"
#include "ranks/transfer/connection.h"

/* The sender says the word END. */
static inline void quern_withdraw(struct quern_conn *conn) {
    struct quern_ring *ring = conn->out.ring;
    if (!ring) return;
    __atomic_add_fetch(&ring->ends, 1, __ATOMIC_RELAXED);
    quern_fence();
    const uint32_t copying = __atomic_load_n(&ring->copying, __ATOMIC_ACQUIRE);
    if (conn->out.is_mapped || copying % 2 == 0) return;
    while (__atomic_load_n(&ring->copying, __ATOMIC_ACQUIRE) == copying) sched_yield();
}

/* The receiver, around a piece.  False: there is an END that it has not heard. */
static inline bool quern_begin_copy(struct quern_conn *conn) {
    struct quern_ring *ring = conn->in.ring;
    __atomic_add_fetch(&ring->copying, 1, __ATOMIC_RELAXED);
    quern_fence();
    if (__atomic_load_n(&ring->ends, __ATOMIC_RELAXED) == conn->ends) return true;
    __atomic_add_fetch(&ring->copying, 1, __ATOMIC_RELAXED);
    return false;
}

static inline bool quern_end_copy(struct quern_conn *conn) {
    struct quern_ring *ring = conn->in.ring;
    __atomic_add_fetch(&ring->copying, 1, __ATOMIC_RELEASE);
    quern_fence();
    return __atomic_load_n(&ring->ends, __ATOMIC_RELAXED) == conn->ends;
}

#endif
