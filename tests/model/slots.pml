/*
 * The slots of collectives of GPU ranks (src/kernels/cuda/collective_slots.cuh, src/kernels/collective_problem.h).
 *
 * Each rank has two slots at each other rank.  Each pair counts the collectives in which both took part, and the parity of the
 * count selects the slot.  A rank writes its data into the slots of a call's members, meets the members once, and reads what they
 * have written into its own: it must be the data of this call.  There is no second meeting, so the others may be in their next
 * calls.
 *
 * A round is a collective of any members, or only a barrier of them, which counts as a meeting and not as a collective.  With
 * MULTICAST the meetings of all ranks have signals and a count of their own.
 */
#include "ranks.pml"

byte signals[RANKS * RANKS];
#define SIGNAL(pad, from) signals[(pad) * RANKS + (from)]
byte line[RANKS];            /* with MULTICAST: of the meetings of all ranks */
byte slots[RANKS * RANKS * 2];
#define SLOT(owner, from, half) slots[((owner) * RANKS + (from)) * 2 + (half)]
bool has_data[ROUNDS];

#ifdef MULTICAST
#define BY_LINE (members[round] == EVERYONE)
#else
#define BY_LINE false
#endif

#if defined(ONE_SLOT)
#define HALF(peer) 0
#elif defined(HALF_OF_THE_MEETING)
#define HALF(peer) ((BY_LINE -> all_count : count[peer]) % 2)
#elif defined(HALF_OF_ALL_CALLS)
#define HALF(peer) (calls % 2)
#else
#define HALF(peer) (sent[peer] % 2)
#endif

inline write_slots() {
    FOR_EACH_PEER(d_step { half[peer] = HALF(peer); sent[peer] = (sent[peer] + 1) % 2; SLOT(peer, me, half[peer]) = round + 1 });
    calls = (calls + 1) % 2
}

inline announce() {
    if
    :: BY_LINE -> d_step { all_count++; line[me] = all_count }
    :: else -> FOR_EACH_PEER(d_step { count[peer]++; SIGNAL(peer, me) = count[peer] })
    fi
}

inline wait_for(peer) {
    if
    :: BY_LINE -> line[peer] >= all_count
    :: else -> SIGNAL(me, peer) >= count[peer]
    fi
}

inline await() { VISIT_PEERS(wait_for(peer)) }

inline read_slots() { FOR_EACH_PEER(d_step { assert(SLOT(me, peer, half[peer]) == round + 1); half[peer] = 0 }) }

proctype rank(byte me) {
    byte round, peer, count[RANKS], sent[RANKS], half[RANKS], all_count, calls;
    atomic { next_round() }
    do
    :: round < ROUNDS ->
#ifdef SIGNAL_BEFORE_DATA
        announce();
#endif
        if
        :: has_data[round] -> write_slots()
        :: else
        fi;
#ifndef SIGNAL_BEFORE_DATA
        announce();
#endif
        await();
        if
        :: has_data[round] -> read_slots()
        :: else
        fi;
        atomic { round++; next_round() }
    :: else -> break
    od
}

START(for (round : 0 .. ROUNDS - 1) { select (drawn : 0 .. 1); has_data[round] = drawn })
