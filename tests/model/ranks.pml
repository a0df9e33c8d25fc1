/* The common part of all models: sets of ranks as bit masks, and a schedule of sets that all ranks go through. */

#define HAS(members, rank) ((members) >> (rank) & 1)
#define EVERYONE           ((1 << RANKS) - 1)

/* The members of each round.  Any set of two or more ranks may be drawn; a rank goes through the rounds of which it is a member. */
byte members[ROUNDS];

/* A single rank waits for no other: if one is drawn, all take part. */
inline draw_schedule() {
    for (round : 0 .. ROUNDS - 1) {
        select (drawn : 3 .. EVERYONE);
        members[round] = ((drawn & (drawn - 1)) -> drawn : EVERYONE)
    }
}

/* Moves `peer` on to the next other member of the round; RANKS when there is none. */
inline next_peer() {
    do
#ifdef NON_MEMBERS_AWAITED
    :: peer == me -> peer++
#else
    :: peer < RANKS && (peer == me || !HAS(members[round], peer)) -> peer++
#endif
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

/* For every other member of the round: all of them as one step, each as a step, or each as several. */
#define FOR_PEERS(statement) \
    peer = 0; next_peer(); do :: peer < RANKS -> statement; peer++; next_peer() :: else -> break od; peer = 0
#define FOR_EACH_PEER(statement) \
    atomic { peer = 0; next_peer() }; do :: peer < RANKS -> atomic { statement; peer++; next_peer() } :: else -> break od; peer = 0
#define VISIT_PEERS(steps) \
    atomic { peer = 0; next_peer() }; do :: peer < RANKS -> steps; atomic { peer++; next_peer() } :: else -> break od; peer = 0

/* All ranks go through a schedule, after what is drawn or set for it. */
#define START(prepare) \
    init { byte round, drawn; atomic { draw_schedule(); prepare; for (drawn : 0 .. RANKS - 1) { run rank(drawn) } } }
