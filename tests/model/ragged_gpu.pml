/*
 * The ragged all-to-all of GPU ranks: src/kernels/cuda/ragged_all_to_all.cuh, with the failed outcomes of
 * src/kernels/cuda/barrier.cuh and the end of a launch in src/kernels/cuda/slice_error.cuh.
 *
 *   entry     All headers have arrived, and all outputs may be overwritten; or a rank reports that it has refused its arguments.
 *   vote      All ranks have checked their slices; a rank that has found an error reports it, and its header has the details.
 *   exit      All copies have been made: inputs, outputs and headers may change.
 *
 * The entry and the vote are one launch, the copy and the exit the next one of the stream: a rank's steps have the same order.
 *
 * A failed outcome comes with the signal of the meeting and is visible only until the next one.  But a rank that reads it ends: it
 * poisons the group and signals no more, so that slower ranks still find the outcome.  If all ranks have refused, all of them
 * know it and continue.  Then a rank may be further when a slower one reads; the slower one has refused too, so it knows that all
 * have refused.
 *
 * In one call some ranks may refuse, or one may find a fault.
 */
#include "calls.pml"

byte header[RANKS];
byte report[RANKS];
bool dissent[RANKS * RANKS];   /* with the last arrival */
#define DISSENT(at, from) dissent[(at) * RANKS + (from)]
bool poison;

byte odd_round = ROUNDS, refusers, faulty = NOBODY;
#define REFUSES     (round == odd_round && HAS(refusers, me))
#define FINDS_FAULT (round == odd_round && me == faulty)

inline draw_odd_round() {
    if
    :: true
    :: true ->
        select (odd_round : 0 .. ROUNDS - 1);
        if
        :: true -> select (drawn : 1 .. EVERYONE); refusers = members[odd_round] & drawn
        :: true -> select (drawn : 0 .. RANKS - 1); faulty = (HAS(members[odd_round], drawn) -> drawn : NOBODY)
        fi;
        odd_round = (refusers || faulty != NOBODY -> odd_round : ROUNDS)
    fi
}

/* ---- meetings ---- */

inline announce(dissents) {
    atomic { FOR_PEERS(count[peer]++; ARRIVALS(peer, me) = count[peer]; DISSENT(peer, me) = dissents) }
}

inline end() { poison = true; goto ended }

/* A rank that has arrived is not checked for poison. */
inline await() {
    FOR_EACH_PEER(
        if
        :: ARRIVALS(me, peer) >= count[peer]
        :: poison -> goto ended
        fi)
}

/* The ranks that report an error, as a set. */
inline listen(dissents) {
    dissenting = (dissents -> 1 << me : 0);
    FOR_EACH_PEER(
        if
        :: ARRIVALS(me, peer) == count[peer] -> dissenting = dissenting | DISSENT(me, peer) << peer
#ifdef DISSENT_LOST_WHEN_AHEAD
        :: else
#else
        :: else -> dissenting = dissenting | dissents << peer
#endif
        fi)
}

/* ---- the parts of a call ---- */

inline pass_entry() {
    announce(REFUSES);
    await();
    listen(REFUSES);
    if
    :: dissenting == 0
    :: dissenting == members[round] -> agree(REFUSED)
    :: else -> agree(BAD); end()
    fi
}

inline check_offers() { FOR_EACH_PEER(assert(header[peer] == CALL)) }

inline pass_vote() {
    if
    :: FINDS_FAULT -> report[me] = CALL
    :: else
    fi;
    announce(FINDS_FAULT);
    await();
    listen(FINDS_FAULT);
    agree((dissenting -> BAD : GOOD));
    if
    :: dissenting ->
        assert(report[faulty] == CALL);
        return_from_call(0);
#ifdef GROUP_GOES_ON
        goto next
#else
        end()
#endif
    :: else
    fi
}

inline copy() {
    assert(round != odd_round);
    FOR_EACH_PEER(assert(inside[peer] == CALL); OUTPUT(peer, me) = input[me])
}

/* ---- a rank ---- */

proctype rank(byte me) {
    byte round, peer, dissenting, count[RANKS];
    atomic { next_round() };
    do
    :: round < ROUNDS ->
        enter_call();
        if
        :: REFUSES
        :: else -> report[me] = 0; header[me] = CALL
        fi;
        pass_entry();
        if
        :: dissenting -> return_from_call(0)
        :: else ->
            check_offers();
            pass_vote();
            copy();
            announce(false);
#ifndef EXIT_NOT_AWAITED
            await();
#endif
            return_from_call(CALL)
        fi;
next:
        atomic { dissenting = 0; round++; next_round() }
    :: else -> break
    od;
ended:
    skip
}

START(draw_odd_round())
