/*
 * Waits on the host until chunks are ready.  Those who write the words ring no eventcount, since a chunk takes longer than a
 * short sleep: the wait looks for a while, yields its core for a while, and then sleeps between two looks.  Called by chunks.c,
 * by any thread.
 */
#define _GNU_SOURCE
#include "ranks/chunks/chunks.h"

#include <sched.h>
#include <time.h>

#include "os/clock.h"
#include "os/futex.h"
#include "ranks/poison.h"
#include "runtime/status.h"

enum { LOOKS = 200, YIELDS = 64, SLEEP = 50000 /* nanoseconds */ };

struct wait {
    const struct quern_membership *member;
    const uint32_t *ready;
    int64_t count, next;  /* words; all before the next one were `value` */
    uint32_t value;
    int64_t began, limit; /* nanoseconds */
};

static bool are_ready(struct wait *wait) {
    while (wait->next < wait->count && __atomic_load_n(&wait->ready[wait->next], __ATOMIC_ACQUIRE) == wait->value) wait->next++;
    return wait->next == wait->count;
}

/* The first word that says that its call has failed; -1: none. */
static int64_t find_failed(const struct wait *wait) {
    for (int64_t i = wait->next; i < wait->count; i++)
        if (__atomic_load_n(&wait->ready[i], __ATOMIC_ACQUIRE) == ~wait->value) return i;
    return -1;
}

/* The words before the poison: a call that fails writes them when the group is poisoned, and the poison says why. */
static quern_status look_around(struct wait *wait) {
    const struct quern_membership *member = wait->member;
    const int64_t failed = find_failed(wait), waited = quern_now() - wait->began;
    quern_status status = quern_check_poison(member);
    if (status != QUERN_OK) return status;
    if (failed >= 0)
        return quern_fail(member->device, QUERN_PEER_MISMATCH, "%s: ready[%lld] is ~%u: the call that sends this chunk has failed",
                          member->label, (long long)failed, wait->value);
    if (waited < wait->limit || are_ready(wait)) return QUERN_OK;
    return quern_fail(member->device, QUERN_PEER_TIMEOUT, "%s: waited %g s for ready[%lld], which is %u: expected %u",
                      member->label, quern_seconds(waited), (long long)wait->next,
                      __atomic_load_n(&wait->ready[wait->next], __ATOMIC_RELAXED), wait->value);
}

static void rest(int looks) {
    if (looks < LOOKS) quern_pause();
    else if (looks < LOOKS + YIELDS) sched_yield();
    else nanosleep(&(struct timespec){.tv_nsec = SLEEP}, NULL);
}

quern_status quern_chunks_wait(struct quern_membership *member, const uint32_t *ready, int64_t count, uint32_t value,
                               double timeout, void *stream) {
    (void)stream;
    struct wait wait = {.member = member, .ready = ready, .count = count, .value = value};
    if (are_ready(&wait)) return QUERN_OK;
    wait.began = quern_now();
    wait.limit = timeout < 9e9 ? (int64_t)(timeout * 1e9) : INT64_MAX / 2;
    for (int looks = member->roster->is_crowded ? LOOKS : 0; !are_ready(&wait);) {
        const quern_status status = looks < LOOKS ? QUERN_OK : look_around(&wait);
        if (status != QUERN_OK) return status;
        rest(looks);
        if (looks < LOOKS + YIELDS) looks++;
    }
    return QUERN_OK;
}
