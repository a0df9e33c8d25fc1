/*
 * How ranks sleep in a meeting on the host.
 *
 *   src/ranks/meeting.c    wake_if_complete ask_some wake_sleepers ask_all sleep_until_all_have_come meet.sleeping
 *   src/ranks/poison.c     wake_all poison.set
 *
 * Without a switch it is a meeting of some ranks.  `arrivals` counts the signals put into a rank's pad, and is the futex the rank
 * sleeps on.  Before it sleeps it stores the count at which it must be woken: the count it has seen plus the signals it still
 * misses.  The putter whose signal brings the count to exactly that value wakes it, so only one of many peers pays for a wake-up.
 * A rank that is a phase ahead makes the count come too early, never too late.  Poison counts as an arrival, and wakes at any
 * count.  Only the first SLEEPERS ranks sleep; the others poll.  No flag `asleep` is used that the putter clears: between its read
 * of the flag and its clearing it, the sleeper may have left this meeting and set the flag for the next one.  See
 * PUTTER_CLEARS_FLAG.
 *
 * With ALL it is a meeting of all ranks.  Each rank has one signal, which all read.  Sleepers sleep on one word, `wakes`.  Before a
 * rank sleeps it writes the meeting's epoch into `sleeps_in`.  A rank that has seen all signals of a meeting, and finds its epoch
 * there, clears it and wakes everybody: also those who sleep in the next meeting already, whose epoch it may have overwritten.  A
 * signal is stored without a fence: others see it at any time until the rank's own fence, which is behind its last look.  A rank
 * may poll in one wait and sleep in the next.
 *
 * Sleeps are cut into slices in the code.  Here they are not, so that spin reports every lost wake-up as a deadlock.  With POISON,
 * a rank may poison the group in place of any of its meetings.
 */
#ifdef ALL
#define LEAST EVERYONE
#endif
#include "ranks.pml"

#define EPOCH (round + 1)

bool sleeps[RANKS];            /* in the kernel */
#ifdef POISON
bool poison;
#else
#define poison false
#endif

/* The kernel compares and goes to sleep as one step, and a wake-up is one step. */
inline compare_and_sleep(word) { WHEN(word == seen, sleeps[me] = true) }
inline futex_wait(word) {
    PICK(COMPARE_AND_SLEEP_IN_TWO_STEPS, compare_and_sleep(word), atomic { compare_and_sleep(word) });
    !sleeps[me]
}
inline futex_wake(rank) { sleeps[rank] = false }

#ifdef ALL

byte visible[RANKS];           /* the epoch that the others see each rank announce */
byte wakes, sleeps_in;
#define WORD    wakes
#define SLEEPS  true
#define POLLS   true

inline wake_all() {
    UNLESS(WAKE_WITHOUT_COUNT, wakes++;)
    PICK(COUNT_WITHOUT_WAKE, skip, d_step { LOOP(peer, RANKS, futex_wake(peer)) })
}

/* The rank's signal leaves its buffer: at the latest here, or while it polls. */
inline fence() { visible[me] = EPOCH }

/* Nothing keeps the signal in its buffer. */
inline announce() {
    if
    :: fence()
    :: true
    fi
}

inline say_and_fence() { sleeps_in = EPOCH; fence() }
inline count_missing() { missing = 0; FOR_EACH_PEER(missing = missing || visible[peer] < EPOCH) }

/* Before the last look: says that it is about to sleep, and in which meeting. */
inline ask() {
    UNLESS(COUNT_READ_LAST, seen = wakes;)
    PICK(SAID_AFTER_LOOK, count_missing(); say_and_fence(), say_and_fence(); count_missing())
}
inline set_alarm() { PICK(COUNT_READ_LAST, seen = wakes, skip) }

inline poll_until_all_have_come() {
    do
    :: visible[me] < EPOCH -> fence()
    :: atomic { peer < RANKS && (peer == me || visible[peer] >= EPOCH || poison) -> peer++ }
    :: peer == RANKS -> break
    od;
    peer = 0
}

inline wake_sleepers() {
    ONLY(ASKED_BEFORE_FENCE, target = sleeps_in;)
    fence();
    UNLESS(ASKED_BEFORE_FENCE, target = sleeps_in;)
    WHEN(target == EPOCH,
        ONLY(CLEARED_AFTER_WAKING, wake_all();)
        sleeps_in = EPOCH - 1;
        UNLESS(CLEARED_AFTER_WAKING, wake_all()));
    target = 0
}

#else

byte signals[RANKS * RANKS];   /* [pad of RANKS + from]: the epoch */
byte arrivals[RANKS], wake_at[RANKS];
bool asleep[RANKS];
#define WORD    arrivals[me]
#define SLEEPS  me < SLEEPERS
#define POLLS   me >= SLEEPERS

inline wake_all() {
    LOOP(peer, RANKS, UNLESS(WAKE_WITHOUT_ARRIVAL, arrivals[peer]++;) UNLESS(ARRIVAL_WITHOUT_WAKE, futex_wake(peer);) skip)
}

/* A rank that polls needs no wake-up. */
inline count_arrival(peer) {
    WHEN(peer < SLEEPERS,
        ONLY(WAKE_AT_READ_BEFORE_ARRIVAL, target = wake_at[peer];)
        d_step { arrivals[peer]++; reached = arrivals[peer] };
        UNLESS(WAKE_AT_READ_BEFORE_ARRIVAL, target = wake_at[peer];)
        PICK(PUTTER_CLEARS_FLAG, WHEN(asleep[peer], WHEN(reached >= target, asleep[peer] = false; futex_wake(peer))),
             WHEN(reached == target, futex_wake(peer)));
        reached = 0;
        target = 0)
}

inline announce() {
    VISIT_PEERS(
        ONLY(ARRIVAL_BEFORE_SIGNAL, count_arrival(peer);)
        d_step { count[peer]++; signals[peer * RANKS + me] = count[peer] };
        PICK(ARRIVAL_BEFORE_SIGNAL, skip, count_arrival(peer)))
}

inline count_missing() {
    missing = 0;
    FOR_EACH_PEER(missing = missing + (signals[me * RANKS + peer] < count[peer]))
}

inline ask() { PICK(MISSING_COUNTED_BEFORE_ARRIVALS, count_missing(); seen = arrivals[me], seen = arrivals[me]; count_missing()) }
inline set_alarm() {
    wake_at[me] = seen + missing;
    ONLY(PUTTER_CLEARS_FLAG, asleep[me] = true)
}

inline poll_until_all_have_come() { FOR_EACH_PEER(signals[me * RANKS + peer] >= count[peer] || poison) }

#endif

inline sleep_until_all_have_come() {
    do
    :: true ->
        ask();
        if
        :: missing == 0 || poison -> break
        :: else
        fi;
        set_alarm();
        futex_wait(WORD);
        ONLY(PUTTER_CLEARS_FLAG, asleep[me] = false)
    od;
    seen = 0;
    missing = 0
}

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
        :: SLEEPS -> sleep_until_all_have_come()
        :: POLLS -> poll_until_all_have_come()
        fi;
        ONLY(ALL, WHEN(!poison, wake_sleepers());)
        atomic { round++; next_round() }
    :: else -> break
    od
}

START(skip)
