/*
 * Silence between hosts.  Both ends of a connection say that they are there, a beat, at least six times in the silence of their
 * group (quern_group_args.silence).  The network may be down for so long.  Who has said nothing for a sixth more, or for a second
 * more but at most twice as long, is lost: the last beat before an outage may be a sixth old, and the system takes up to a second
 * to use a link that is back.  For the monitors of groups and the roll call of a shrink.
 */
#ifndef QUERN_SILENCE_H
#define QUERN_SILENCE_H

#include <stdbool.h>
#include <stdint.h>

/* Seconds. */
#define QUERN_USUAL_SILENCE 10.0
#define QUERN_LEAST_SILENCE 0.2
#define QUERN_MOST_SILENCE 3600.0

/* How one who listens counts silence.  All times are nanoseconds of quern_now. */
struct quern_silence {
    int64_t limit, beat;
    int64_t ask;      /* between two datagrams to one who is not heard */
    int64_t looked;   /* at those who speak, the last time */
    int64_t woke;     /* when this process itself had been stopped for a while; 0: never */
};

/* That of a group has microseconds.  What a report says of other hosts is as old as their last beat, so that is never rare. */
static inline struct quern_silence quern_begin_silence(uint32_t microseconds, int64_t now) {
    const int64_t RAREST = 250000000, SECOND = 1000000000, silence = (int64_t)microseconds * 1000, sixth = silence / 6;
    const int64_t beat = sixth < RAREST ? sixth : RAREST, ask = silence / 64 < beat ? silence / 64 : beat;
    const int64_t more = sixth > SECOND ? sixth : silence < SECOND ? silence : SECOND;
    return (struct quern_silence){.limit = silence + more, .beat = beat, .ask = ask, .looked = now};
}

/* Before each look.  Others get time to be heard, before they are called silent, if this process itself was stopped for a while. */
static inline void quern_count_silence(struct quern_silence *silence, int64_t now) {
    if (now - silence->looked > silence->limit / 2) silence->woke = now;
    silence->looked = now;
}

/* Whether one who was last heard at this time was silent for too long when the look began. */
static inline bool quern_is_silent(const struct quern_silence *silence, int64_t heard) {
    const int64_t since = heard > silence->woke ? heard : silence->woke;
    return silence->looked - since > silence->limit;
}

/* Whether one who was last heard at this time has missed a beat, so that it is to be asked. */
static inline bool quern_is_doubtful(const struct quern_silence *silence, int64_t heard) {
    return silence->looked - heard > 2 * silence->beat;
}

/* How long a host awaits the poisons of the others: a part of the silence, but a group that has failed is not held up for long. */
static inline int64_t quern_poison_patience(uint32_t microseconds) {
    const int64_t LEAST = 200000000, MOST = 10000000000, part = (int64_t)microseconds * 1000 / 15 * 2;
    return part < LEAST ? LEAST : part > MOST ? MOST : part;
}

#endif
