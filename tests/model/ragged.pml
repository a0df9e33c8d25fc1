/*
 * The ragged all-to-all: entry, checks, verdict, copy, exit (src/ragged_host.c; on GPUs the kernel of
 * templates/ragged_all_to_all.cu.j2).
 *
 *   entry     Everyone's notices are there, and its output may be overwritten.
 *   verdict   Everyone has checked what it receives, and said whether it is good.
 *   exit      All copies have been made, and all verdicts read: inputs, outputs, notices and verdicts may change.
 *
 * The exit is met after a bad verdict too, or a rank that has read it might make its next call, with others, and say of that what
 * a slower one then takes for the verdict on this.
 *
 * Every rank goes through the rounds that it is in: each is a call, on the same workspace, input and output.  In one of them one
 * rank may find a bad slice.  Notices, verdicts, inputs and outputs are the number of the call that they belong to.
 *
 * Copies are made by the sender, or with FETCH by the receiver.  Notices lie with the sender, or with PUSH in the receiver's inbox,
 * where the sender has put them.  With DISSENT (GPUs) the verdict comes with the signal of its meeting, and a bad one is the end of
 * the group.  A meeting is one step to announce oneself and one to see that all have come, as barrier.pml allows.
 */
#include "ranks.pml"

#define CALL (round + 1)

byte inside[RANKS];           /* the call that each rank is in; 0: none */
byte input[RANKS];
byte output[RANKS * RANKS];   /* [of RANKS + from] */
#ifdef PUSH
byte inbox[RANKS * RANKS];    /* [of RANKS + from] */
#else
byte outbox[RANKS];
#endif
#ifndef DISSENT
byte verdict[RANKS];          /* the call */
bool bad[RANKS];
#endif

byte arrivals[RANKS * RANKS]; /* [at RANKS + from]: meetings */
#ifdef DISSENT
bool dissent[RANKS * RANKS];  /* with the last arrival */
bool poison;
#endif

#define NOBODY RANKS
byte bad_rank = NOBODY, bad_round;
#define IS_BAD_CALL (bad_rank != NOBODY && round == bad_round && HAS(members[round], bad_rank))
byte judgement[ROUNDS];       /* what the first rank took for the verdict of each call: 0: none yet, 1: good, 2: bad */

inline draw_bad_slice() {
    if
    :: true
    :: true -> select (bad_rank : 0 .. RANKS - 1); select (bad_round : 0 .. ROUNDS - 1)
    fi
}

/* For every other member, as one step. */
#define FOR_PEERS(statement) \
    peer = 0; next_peer(); do :: peer < RANKS -> statement; peer++; next_peer() :: else -> break od; peer = 0
/* For every other member, a step each. */
#define FOR_EACH_PEER(statement) \
    atomic { peer = 0; next_peer() }; do :: peer < RANKS -> atomic { statement; peer++; next_peer() } :: else -> break od; peer = 0

/* ---- meetings ---- */

#ifdef DISSENT
inline announce(dissents) {
    atomic { FOR_PEERS(count[peer]++; arrivals[peer * RANKS + me] = count[peer]; dissent[peer * RANKS + me] = dissents) }
}
inline await() {
    FOR_EACH_PEER(arrivals[me * RANKS + peer] >= count[peer] || poison);
    if
    :: poison -> goto ended
    :: else
    fi
}
#else
inline announce(dissents) { atomic { FOR_PEERS(count[peer]++; arrivals[peer * RANKS + me] = count[peer]) } }
inline await()            { FOR_EACH_PEER(arrivals[me * RANKS + peer] >= count[peer]) }
#endif

inline meet() { announce(false); await() }

#ifdef NO_ENTRY
inline meet_for_entry() { skip }
#else
inline meet_for_entry() { meet() }
#endif

inline meet_for_exit() {
#if defined(NO_EXIT)
    skip
#elif defined(NO_EXIT_AFTER_BAD_VERDICT) || defined(GROUP_GOES_ON_AFTER_DISSENT)
    if
    :: is_bad
    :: else -> meet()
    fi
#elif defined(DISSENT)
    if
    :: is_bad -> poison = true; return_from_call(); goto ended
    :: else -> meet()
    fi
#else
    meet()
#endif
}

/* ---- the parts of a call ---- */

#ifdef INBOX_BY_PLACE
/* The lowest member has the first place, and so on: with other members it is another rank's. */
inline find_place(rank) {
    place = 0;
    for (counted : 0 .. rank) { place = place + (counted < rank && HAS(members[round], counted)) }
    counted = 0
}
#else
inline find_place(rank) { place = rank }
#endif

inline write_notices(call) {
#ifdef PUSH
    find_place(me);
    FOR_EACH_PEER(inbox[peer * RANKS + place] = call);
#else
    outbox[me] = call
#endif
}

inline check_notices() {
#ifdef PUSH
    FOR_EACH_PEER(find_place(peer); assert(inbox[me * RANKS + place] == CALL))
#else
    FOR_EACH_PEER(assert(outbox[peer] == CALL))
#endif
}

#define FINDS_BAD_SLICE (me == bad_rank && round == bad_round)

#ifdef DISSENT
inline meet_for_verdict() {
    announce(FINDS_BAD_SLICE);
    await();
    is_bad = FINDS_BAD_SLICE;
    /* What a rank has said that is further by now is not to be had. */
    FOR_EACH_PEER(is_bad = is_bad || (arrivals[me * RANKS + peer] == count[peer] && dissent[me * RANKS + peer]))
}
#else
inline give_verdict() { atomic { verdict[me] = CALL; bad[me] = FINDS_BAD_SLICE } }
inline read_verdicts() {
    is_bad = FINDS_BAD_SLICE;
    FOR_EACH_PEER(assert(verdict[peer] == CALL); is_bad = is_bad || bad[peer])
}
inline meet_for_verdict() {
    give_verdict();
#if defined(NO_VERDICT_MEETING)
    is_bad = FINDS_BAD_SLICE
#elif defined(VERDICT_READ_BEFORE_MEETING)
    read_verdicts();
    meet()
#else
    meet();
    read_verdicts()
#endif
}
#endif

inline agree() {
    atomic {
        assert(judgement[round] == 0 || judgement[round] == 1 + is_bad);
        judgement[round] = 1 + is_bad
    }
}

inline copy() {
#ifdef FETCH
    FOR_EACH_PEER(assert(inside[peer] == CALL); assert(outbox[peer] == CALL); output[me * RANKS + peer] = input[peer])
#else
    FOR_EACH_PEER(assert(inside[peer] == CALL); output[peer * RANKS + me] = input[me])
#endif
}

/* ---- a rank ---- */

/* The engine's: a new input, and an output that holds nothing of before. */
inline enter_call() {
    atomic {
        input[me] = CALL;
        FOR_PEERS(output[me * RANKS + peer] = 0);
        inside[me] = CALL
    }
}

inline return_from_call() {
    atomic {
        inside[me] = 0;
        input[me] = 0;
        FOR_PEERS(assert(output[me * RANKS + peer] == (is_bad -> 0 : CALL)))
    }
}

proctype rank(byte me) {
    byte round, peer, place, counted, count[RANKS];
    bool is_bad;
    atomic { next_round() };
    do
    :: round < ROUNDS ->
        enter_call();
#ifdef NOTICES_BEFORE_EXIT
        if
        :: outbox[me] == CALL
        :: else -> write_notices(CALL)
        fi;
#else
        write_notices(CALL);
#endif
        meet_for_entry();
        check_notices();
        meet_for_verdict();
        agree();
        if
        :: is_bad
        :: else -> assert(!IS_BAD_CALL); copy()
        fi;
#ifdef NOTICES_BEFORE_EXIT
        write_notices(CALL + 1);
#endif
        meet_for_exit();
        return_from_call();
        atomic { is_bad = false; round++; next_round() }
    :: else -> break
    od;
#ifdef DISSENT
ended:
    skip
#endif
}

init {
    byte round, drawn;
    atomic {
        draw_schedule();
        draw_bad_slice();
        for (drawn : 0 .. RANKS - 1) { run rank(drawn) }
    }
}
