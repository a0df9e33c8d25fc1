/*
 * The short way of a ragged all-to-all of CPU ranks: src/ranks/ragged/ragged_eager.c and run_eager (src/ranks/ragged/ragged_host.c).
 *
 * A rank writes its eager before the entry, into the half of the meeting's parity.  After the entry each rank reads all eagers.  If
 * all offer the small way, it copies out of them, and the call ends without another meeting: an eager message may still be read when its
 * rank writes the next one, but not the one after it.  Else all go the direct way, into each other's outputs, and meet for the exit.
 *
 * Each rank offers either way in each call.  The two other ways begin as these do, and go on as ragged.pml has it.
 */
#include "calls.pml"

#define SMALL  1
#define DIRECT 2

#ifdef ONE_HALF
#define HALF 0
#else
#define HALF (count & 1)
#endif

byte eager[RANKS * 2];      /* [of a rank, half]: the call */
byte offer[RANKS * 2];
byte way[ROUNDS];           /* that the first rank found; 0: none yet */
#define AT(rank) [(rank) * 2 + HALF]

inline meet() {
    FOR_EACH_PEER(ARRIVALS(peer, me) = count);
    FOR_EACH_PEER(ARRIVALS(me, peer) >= count)
}

inline write_eager() {
    count++;
    if
    :: mine = SMALL
    :: mine = DIRECT
    fi;
    offer AT(me) = mine;
    eager AT(me) = CALL
}

inline read_eagers() {
    what = mine;
    FOR_EACH_PEER(assert(eager AT(peer) == CALL); what = (offer AT(peer) > what -> offer AT(peer) : what));
#ifdef OWN_OFFER_DECIDES
    what = mine;
#endif
    atomic {
        assert(way[round] == 0 || way[round] == what);
        way[round] = what
    }
}

inline receive() { FOR_EACH_PEER(assert(eager AT(peer) == CALL); OUTPUT(me, peer) = eager AT(peer)) }

inline deliver() {
    FOR_EACH_PEER(assert(inside[peer] == CALL); OUTPUT(peer, me) = input[me]);
    count++;
#ifndef NO_EXIT
    meet()
#endif
}

proctype rank(byte me) {
    byte round, peer, what, mine, count;
    atomic { next_round() };
    do
    :: round < ROUNDS ->
        enter_call();
        write_eager();
#ifndef NO_ENTRY
        meet();
#endif
        read_eagers();
        if
        :: what == SMALL -> receive()
        :: else -> deliver()
        fi;
        return_from_call(CALL);
        atomic { what = 0; mine = 0; round++; next_round() }
    :: else -> break
    od
}

init {
    byte round, drawn;
    atomic {
        for (round : 0 .. ROUNDS - 1) { members[round] = EVERYONE }
        for (drawn : 0 .. RANKS - 1) { run rank(drawn) }
    }
}
