/*
 * Heartbeats between hosts.  Both ends of a connection send one at least six times in the failure timeout of their group
 * (quern_hosts_args.failure_timeout).  The network may be down for so long.  A host that is silent for a sixth more, or for a
 * second more but at most twice as long, is lost: the last heartbeat before an outage may be a sixth old, and the system takes up
 * to a second to use a link that is back.  For the monitors of groups and for a shrink.
 */
#ifndef QUERN_HEARTBEAT_H
#define QUERN_HEARTBEAT_H

#include <stdbool.h>
#include <stdint.h>

/* Seconds. */
#define QUERN_USUAL_FAILURE_TIMEOUT 10.0
#define QUERN_LEAST_FAILURE_TIMEOUT 0.2
#define QUERN_MOST_FAILURE_TIMEOUT 3600.0

/* The receiver's clock.  All times are nanoseconds of quern_now. */
struct quern_heartbeat {
    int64_t limit, interval;
    int64_t ask;      /* between two datagrams to a host that is not heard */
    int64_t looked;   /* the last check */
    int64_t woke;     /* when this process itself had been stopped for a while; 0: never */
};

/* The group's timeout is in microseconds.  A heartbeat is sent at least every 250 ms, since a report is as old as the last one. */
static inline struct quern_heartbeat quern_begin_heartbeat(uint32_t microseconds, int64_t now) {
    const int64_t RAREST = 250000000, SECOND = 1000000000, timeout = (int64_t)microseconds * 1000, sixth = timeout / 6;
    const int64_t interval = sixth < RAREST ? sixth : RAREST, ask = timeout / 64 < interval ? timeout / 64 : interval;
    const int64_t more = sixth > SECOND ? sixth : timeout < SECOND ? timeout : SECOND;
    return (struct quern_heartbeat){.limit = timeout + more, .interval = interval, .ask = ask, .looked = now};
}

/* Begins a check.  If this process itself was stopped for a while, the others get time to be heard. */
static inline void quern_begin_check(struct quern_heartbeat *heartbeat, int64_t now) {
    if (now - heartbeat->looked > heartbeat->limit / 2) heartbeat->woke = now;
    heartbeat->looked = now;
}

/* Whether a host that was last heard at this time was silent for too long when the check began. */
static inline bool quern_is_silent(const struct quern_heartbeat *heartbeat, int64_t heard) {
    const int64_t since = heard > heartbeat->woke ? heard : heartbeat->woke;
    return heartbeat->looked - since > heartbeat->limit;
}

/* Whether a host that was last heard at this time has missed a heartbeat, so that it is asked by datagrams. */
static inline bool quern_is_doubtful(const struct quern_heartbeat *heartbeat, int64_t heard) {
    return heartbeat->looked - heard > 2 * heartbeat->interval;
}

/*
 * How long a host awaits the poisons of the others: a part of the failure timeout, but a group that has failed is not held up for
 * long.
 */
static inline int64_t quern_poison_timeout(uint32_t microseconds) {
    const int64_t LEAST = 200000000, MOST = 10000000000, part = (int64_t)microseconds * 1000 / 15 * 2;
    return part < LEAST ? LEAST : part > MOST ? MOST : part;
}

#endif
