/* A wait for ranks that somebody looks at: see runtime/look.h.  For every place where a rank waits for others. */
#ifndef QUERN_SEEN_WAIT_H
#define QUERN_SEEN_WAIT_H

#include "os/clock.h"
#include "ranks/membership.h"
#include "runtime/look.h"

/* Only `on` is set unless somebody looks. */
struct quern_seen_wait {
    bool on, waits;
    int64_t began;
    uint32_t awaited[QUERN_GROUP_WORDS];
};

static inline bool quern_begin_wait(struct quern_seen_wait *seen) {
    seen->on = quern_is_looked_at();
    if (!seen->on) return false;
    *seen = (struct quern_seen_wait){.on = true, .began = quern_now()};
    return true;
}

static inline void quern_await_rank(struct quern_seen_wait *seen, int rank) {
    seen->awaited[rank / 32] |= 1u << rank % 32;
    seen->waits = true;
}

/* Skips a wait that had no missing rank. */
static inline quern_status quern_end_wait(const struct quern_seen_wait *seen, const struct quern_membership *member,
                                          quern_status status) {
    if (seen->on && seen->waits)
        quern_look_waited(&(struct quern_wait_seen){.device = member->device, .began = seen->began, .rank = member->rank,
                                                    .ranks = member->ranks, .awaited = seen->awaited, .status = status});
    return status;
}

/* A call of a rank. */
static inline void quern_look_at_member(struct quern_look *look, const struct quern_membership *member) {
    if (look->on) look->device = member->device, look->rank = member->rank, look->ranks = member->ranks;
}

/* A call of several ranks belongs to none of them. */
static inline void quern_look_at_members(struct quern_look *look, struct quern_membership *const *members, int count) {
    if (count == 1) quern_look_at_member(look, members[0]);
    else if (look->on) look->device = members[0]->device;
}

#endif
