/*
 * How ranks sleep in a meeting of all ranks on the host: announce_to_all, wake_sleepers and ask_all (src/ranks/meeting.c), wake_all
 * (src/ranks/poison.c).
 *
 * Each rank has one signal, which all read.  Sleepers sleep on one word, `wakes`.  Before a rank sleeps it writes the meeting's epoch
 * into `sleeps_in`.  A rank that has seen all signals of a meeting, and finds its epoch there, clears it and wakes everybody: also
 * those who sleep in the next meeting already, whose epoch it may have overwritten.
 *
 * A signal is stored without a fence: others see it at any time until the rank's own fence, which is behind its last look.
 *
 * Sleeps are cut into slices in the code.  Here they are not, so that spin reports every lost wake-up as a deadlock.  A rank may poll
 * in one wait and sleep in the next.  With POISON, a rank may poison the group in place of any of its meetings.
 */
#define EPOCH (round + 1)

byte visible[RANKS];         /* the epoch that the others see each rank announce */
byte wakes;
byte sleeps_in;
bool sleeps[RANKS];          /* in the kernel */
#ifdef POISON
bool poison;
#else
#define poison false
#endif

inline wake_everybody() {
#ifndef WAKE_WITHOUT_COUNT
    wakes++;
#endif
#ifndef COUNT_WITHOUT_WAKE
    d_step { for (peer : 0 .. RANKS - 1) { sleeps[peer] = false }; peer = 0 }
#endif
}

/* Looks at one rank after the other; `complete` tells whether all have come. */
inline look() {
    complete = true;
    do
    :: peer < RANKS -> atomic { complete = complete && (peer == me || visible[peer] >= EPOCH); peer++ }
    :: else -> break
    od;
    peer = 0
}

/* The rank's signal leaves its buffer: at the latest here, or while it polls. */
inline fence() { visible[me] = EPOCH }

inline wake_sleepers() {
#ifdef ASKED_BEFORE_FENCE
    target = sleeps_in;
    fence();
#else
    fence();
    target = sleeps_in;
#endif
    if
    :: target == EPOCH ->
#ifdef CLEARED_AFTER_WAKING
        wake_everybody();
        sleeps_in = EPOCH - 1
#else
        sleeps_in = EPOCH - 1;
        wake_everybody()
#endif
    :: else
    fi;
    target = 0
}

/* The kernel compares and goes to sleep as one step. */
inline sleep_while(value) {
    atomic {
        if
        :: wakes == value -> sleeps[me] = true
        :: else
        fi
    }
    !sleeps[me]
}

inline sleep_until_all_have_come() {
    do
    :: true ->
#ifndef COUNT_READ_LAST
        seen = wakes;
#endif
#ifdef SAID_AFTER_LOOK
        look();
        sleeps_in = EPOCH;
        fence();
#else
        sleeps_in = EPOCH;
        fence();
        look();
#endif
        if
        :: complete || poison -> break
        :: else
        fi;
#ifdef COUNT_READ_LAST
        seen = wakes;
#endif
        sleep_while(seen)
    od;
    seen = 0
}

inline poll_until_all_have_come() {
    do
    :: visible[me] < EPOCH -> fence()
    :: atomic { peer < RANKS && (peer == me || visible[peer] >= EPOCH || poison) -> peer++ }
    :: peer == RANKS -> break
    od;
    peer = 0
}

proctype rank(byte me) {
    byte round, peer, seen, target;
    bool complete;
    do
    :: round < ROUNDS ->
#ifdef POISON
        if
        :: true
        :: !poison -> poison = true; wake_everybody(); break
        :: poison -> break
        fi;
#endif
        if
        :: fence()  /* nothing keeps the signal in its buffer */
        :: true
        fi;
        if
        :: sleep_until_all_have_come()
        :: poll_until_all_have_come()
        fi;
        if
        :: !poison -> wake_sleepers()
        :: else
        fi;
        atomic { complete = false; round++ }
    :: else -> break
    od
}

init {
    byte drawn;
    atomic { for (drawn : 0 .. RANKS - 1) { run rank(drawn) } }
}
