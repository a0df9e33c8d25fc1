/* The common part of the models of calls by any ranks of a group: a schedule of sets of ranks that all ranks go through. */
#include "common.pml"

#define EVERYONE ((1 << RANKS) - 1)

/* The members of each round: any set of two or more, or all if LEAST is EVERYONE.  A rank goes through the rounds that it is in. */
#ifndef LEAST
#define LEAST 3
#endif
byte members[ROUNDS];

/* A single rank waits for no other: if one is drawn, all take part. */
inline draw_schedule() {
    for (round : 0 .. ROUNDS - 1) {
        select (drawn : LEAST .. EVERYONE);
        members[round] = ((drawn & (drawn - 1)) -> drawn : EVERYONE)
    }
}

#ifndef SET
#define SET members[round]
#endif

/* Moves `peer` on to the next other rank of SET; RANKS when there is none. */
inline next_peer() {
    do
    :: PICK(NON_MEMBERS_AWAITED, peer == me, peer < RANKS && (peer == me || !HAS(SET, peer))) -> peer++
    :: else -> break
    od
}

/* Moves `round` on to the next one that this rank is in; ROUNDS when there is none. */
inline next_round() {
    do
    :: round < ROUNDS && !HAS(members[round], me) -> round++
    :: else -> break
    od
}

/* For every other rank of SET: all of them as one step, each as a step, or each as several. */
#define FOR_PEERS(...) \
    peer = 0; next_peer(); do :: peer < RANKS -> __VA_ARGS__; peer++; next_peer() :: else -> break od; peer = 0
#define FOR_EACH_PEER(...) \
    atomic { peer = 0; next_peer() }; \
    do :: peer < RANKS -> atomic { __VA_ARGS__; peer++; next_peer() } :: else -> break od; peer = 0
#define VISIT_PEERS(...) \
    atomic { peer = 0; next_peer() }; \
    do :: peer < RANKS -> __VA_ARGS__; atomic { peer++; next_peer() } :: else -> break od; peer = 0

/* All ranks go through a schedule, after what is drawn or set for it. */
#define START(prepare) \
    init { byte round, drawn; atomic { draw_schedule(); prepare; for (drawn : 0 .. RANKS - 1) { run rank(drawn) } } }
