/*
 * How ranks sleep in a meeting of all ranks on the host: announce_to_all and ask_all (src/ranks/meeting.c), wake_all
 * (src/ranks/poison.c).
 *
 * Each rank has one signal, which all read.  Sleepers sleep on one word, `wakes`.  Before a rank sleeps it writes the meeting's epoch
 * into `sleeps_in`, by the parity of the epoch.  A rank that finds its own epoch there after its signal, and all signals of this
 * meeting, wakes everybody.  Nobody clears `sleeps_in`.
 *
 * Sleeps are cut into slices in the code.  Here they are not, so that spin reports every lost wake-up as a deadlock.  A rank may poll
 * in one wait and sleep in the next.  With POISON, a rank may poison the group in place of any of its meetings.
 */
#define EPOCH (round + 1)

byte signals[RANKS];         /* the epoch that each rank has announced */
byte wakes;
byte sleeps_in[2];
bool sleeps[RANKS];          /* in the kernel */
#ifdef POISON
bool poison;
#else
#define poison false
#endif

#ifdef ONE_WORD
#define SLEEPS_IN sleeps_in[0]
#else
#define SLEEPS_IN sleeps_in[EPOCH % 2]
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
    :: peer < RANKS -> atomic { complete = complete && (peer == me || signals[peer] >= EPOCH); peer++ }
    :: else -> break
    od;
    peer = 0
}

inline announce() {
#ifdef ASKED_BEFORE_SIGNAL
    target = SLEEPS_IN;
    signals[me] = EPOCH;
#else
    signals[me] = EPOCH;
    target = SLEEPS_IN;
#endif
    if
    :: target == EPOCH ->
        look();
        if
        :: complete ->
            wake_everybody()
        :: else
        fi
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
        SLEEPS_IN = EPOCH;
#else
        SLEEPS_IN = EPOCH;
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
    :: peer < RANKS -> atomic { peer == me || signals[peer] >= EPOCH || poison; peer++ }
    :: else -> break
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
        announce();
        if
        :: sleep_until_all_have_come()
        :: poll_until_all_have_come()
        fi;
        atomic { complete = false; round++ }
    :: else -> break
    od
}

init {
    byte drawn;
    atomic { for (drawn : 0 .. RANKS - 1) { run rank(drawn) } }
}
