/*
 * How a rank sleeps in a meeting of some ranks on the host: wake_if_complete and ask_some (src/ranks/meeting.c), wake_all
 * (src/ranks/poison.c).  sleep_all.pml has the meetings of all ranks.
 *
 * `arrivals` counts the signals put into a rank's pad, and is the futex the rank sleeps on.  Before it sleeps it stores the count
 * at which it must be woken: the count it has seen plus the signals it still misses.  The putter whose signal brings the count to
 * exactly that value wakes it, so only one of many peers pays for a wake-up.  A rank that is a phase ahead makes the count come
 * too early, never too late.  Poison counts as an arrival, and wakes at any count.
 *
 * Sleeps are cut into slices in the code.  Here they are not, so that spin reports every lost wake-up as a deadlock.  Only the
 * first SLEEPERS ranks sleep; the others poll.  With POISON, a rank may poison the group in place of any of its meetings.
 *
 * No flag `asleep` is used that the putter clears: between its read of the flag and its clearing it, the sleeper may have left
 * this meeting and set the flag for the next one.  See PUTTER_CLEARS_FLAG.
 */
#include "ranks.pml"

byte signals[RANKS * RANKS];  /* [pad of RANKS + from]: the epoch */
byte arrivals[RANKS];
byte wake_at[RANKS];
bool sleeps[RANKS];          /* in the kernel */
#ifdef POISON
bool poison;
#else
#define poison false
#endif
#ifdef PUTTER_CLEARS_FLAG
bool asleep[RANKS];
#endif

/* The kernel compares and goes to sleep as one step, and a wake-up is one step. */
inline futex_wait(word, value, rank) {
#ifdef COMPARE_AND_SLEEP_IN_TWO_STEPS
    if
    :: word == value -> sleeps[rank] = true
    :: else
    fi;
#else
    atomic {
        if
        :: word == value -> sleeps[rank] = true
        :: else
        fi
    }
#endif
    !sleeps[rank]
}

inline futex_wake(rank) { sleeps[rank] = false }

inline count_arrival_and_wake(peer) {
#ifdef WAKE_AT_READ_BEFORE_ARRIVAL
    target = wake_at[peer];
    d_step { arrivals[peer]++; reached = arrivals[peer] };
#else
    d_step { arrivals[peer]++; reached = arrivals[peer] };
#ifndef PUTTER_CLEARS_FLAG
    target = wake_at[peer];
#endif
#endif
#ifdef PUTTER_CLEARS_FLAG
    if
    :: asleep[peer] ->
        if
        :: reached >= wake_at[peer] -> asleep[peer] = false; futex_wake(peer)
        :: else
        fi
    :: else
    fi;
#else
    if
    :: reached == target -> futex_wake(peer)
    :: else
    fi;
#endif
    reached = 0;
    target = 0
}

/* A rank that polls needs no wake-up. */
inline count_arrival(peer) {
    if
    :: peer < SLEEPERS -> count_arrival_and_wake(peer)
    :: else
    fi
}

inline announce() {
    atomic { peer = 0; next_peer() };
    do
    :: peer < RANKS ->
#ifdef ARRIVAL_BEFORE_SIGNAL
        count_arrival(peer);
        atomic { count[peer]++; signals[peer * RANKS + me] = count[peer]; peer++; next_peer() }
#else
        d_step { count[peer]++; signals[peer * RANKS + me] = count[peer] };
        count_arrival(peer);
        atomic { peer++; next_peer() }
#endif
    :: else -> break
    od;
    peer = 0
}

inline count_missing() {
    missing = 0;
    FOR_EACH_PEER(missing = missing + (signals[me * RANKS + peer] < count[peer]))
}

inline sleep_until_all_have_come() {
    do
    :: true ->
#ifdef MISSING_COUNTED_BEFORE_ARRIVALS
        count_missing();
        seen = arrivals[me];
#else
        seen = arrivals[me];
        count_missing();
#endif
        if
        :: missing == 0 || poison -> break
        :: else
        fi;
        wake_at[me] = seen + missing;
#ifdef PUTTER_CLEARS_FLAG
        asleep[me] = true;
#endif
        futex_wait(arrivals[me], seen, me);
#ifdef PUTTER_CLEARS_FLAG
        asleep[me] = false
#endif
    od;
    seen = 0;
    missing = 0
}

/* The wait of a rank that polls. */
inline look_until_all_have_come() { FOR_EACH_PEER(signals[me * RANKS + peer] >= count[peer] || poison) }

#ifdef POISON
inline wake_all() {
    for (peer : 0 .. RANKS - 1) {
#ifndef WAKE_WITHOUT_ARRIVAL
        arrivals[peer]++;
#endif
#ifndef ARRIVAL_WITHOUT_WAKE
        futex_wake(peer)
#endif
    }
    peer = 0
}
#endif

proctype rank(byte me) {
    byte round, peer, seen, missing, reached, target, count[RANKS];
    atomic { next_round() };
    do
    :: round < ROUNDS ->
#ifdef POISON
        if
        :: true
        :: !poison -> poison = true; wake_all(); break
        :: poison -> break
        fi;
#endif
        announce();
        if
        :: me < SLEEPERS -> sleep_until_all_have_come()
        :: else -> look_until_all_have_come()
        fi;
        atomic { round++; next_round() }
    :: else -> break
    od
}

START(skip)
