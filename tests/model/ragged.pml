/*
 * The ragged all-to-all of CPU ranks: src/ranks/ragged/ragged_host.c.
 *
 *   entry     All notices have arrived, and all outputs may be overwritten.
 *   vote      All ranks have checked their slices and voted.
 *   exit      All copies have been made and all votes read: inputs, outputs, notices and votes may change.
 *
 * Notices and votes are in the memory of the rank that writes them.  The exit is met after a bad vote too: otherwise a rank that
 * has read the vote might make its next call, with others, and a slower one would take the vote on that call for one on this.
 *
 * In one call one rank may find a bad slice.  Copies are made by the sender, or with FETCH by the receiver.
 */
#include "calls.pml"

byte notices[RANKS];
#ifdef INBOX_BY_PLACE
byte inbox[RANKS * RANKS];
#endif
byte vote[RANKS];           /* on which call, ... */
bool is_bad[RANKS];            /* ... and what it says */

byte bad_rank = NOBODY, bad_round;
#define FINDS_BAD_SLICE (me == bad_rank && round == bad_round)
#define IS_BAD_CALL     (bad_rank != NOBODY && round == bad_round && HAS(members[round], bad_rank))

inline draw_bad_slice() {
    if
    :: true
    :: true -> select (bad_rank : 0 .. RANKS - 1); select (bad_round : 0 .. ROUNDS - 1)
    fi
}

/* ---- meetings ---- */

inline meet() {
    atomic { FOR_PEERS(count[peer]++; ARRIVALS(peer, me) = count[peer]) };
    FOR_EACH_PEER(ARRIVALS(me, peer) >= count[peer])
}

inline meet_for_entry() {
#ifndef NO_ENTRY
    meet()
#else
    skip
#endif
}

inline meet_for_exit() {
#if defined(NO_EXIT)
    skip
#elif defined(NO_EXIT_AFTER_BAD_VOTE)
    if
    :: what == BAD
    :: else -> meet()
    fi
#else
    meet()
#endif
}

/* ---- notices ---- */

#ifdef INBOX_BY_PLACE

/* In the receiver's workspace, at the sender's position among the members; in the next call another rank may have it. */
inline find_place(rank) {
    place = 0;
    for (counted : 0 .. rank) { place = place + (counted < rank && HAS(members[round], counted)) }
    counted = 0
}
inline write_notices(call) { find_place(me); FOR_EACH_PEER(inbox[peer * RANKS + place] = call) }
inline check_notices()     { FOR_EACH_PEER(find_place(peer); assert(inbox[me * RANKS + place] == CALL)) }

#else

inline write_notices(call) { notices[me] = call }
inline check_notices()     { FOR_EACH_PEER(assert(notices[peer] == CALL)) }

#endif

/* ---- the vote ---- */

inline give_vote() { atomic { vote[me] = CALL; is_bad[me] = FINDS_BAD_SLICE } }

inline read_votes() {
    what = (FINDS_BAD_SLICE -> BAD : GOOD);
    FOR_EACH_PEER(assert(vote[peer] == CALL); what = (is_bad[peer] -> BAD : what))
}

inline meet_for_vote() {
    give_vote();
#if defined(NO_VOTE_MEETING)
    what = (FINDS_BAD_SLICE -> BAD : GOOD)
#elif defined(VOTE_READ_BEFORE_MEETING)
    read_votes();
    meet()
#else
    meet();
    read_votes()
#endif
}

/* ---- a rank ---- */

inline copy() {
    assert(!IS_BAD_CALL);
#ifdef FETCH
    FOR_EACH_PEER(assert(inside[peer] == CALL); assert(notices[peer] == CALL); OUTPUT(me, peer) = input[peer])
#else
    FOR_EACH_PEER(assert(inside[peer] == CALL); OUTPUT(peer, me) = input[me])
#endif
}

proctype rank(byte me) {
    byte round, peer, what, place, counted, count[RANKS];
    atomic { next_round() };
    do
    :: round < ROUNDS ->
        enter_call();
#ifdef NOTICES_BEFORE_EXIT
        if
        :: notices[me] == CALL
        :: else -> write_notices(CALL)
        fi;
#else
        write_notices(CALL);
#endif
        meet_for_entry();
        check_notices();
        meet_for_vote();
        agree(what);
        if
        :: what == BAD
        :: else -> copy()
        fi;
#ifdef NOTICES_BEFORE_EXIT
        write_notices(CALL + 1);
#endif
        meet_for_exit();
        return_from_call((what == BAD -> 0 : CALL));
        atomic { what = 0; round++; next_round() }
    :: else -> break
    od
}

START(draw_bad_slice())
