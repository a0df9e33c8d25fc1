/*
 * Meetings: how ranks wait for each other, and how they detect that one of them makes a different call.
 *
 *   src/ranks/meeting.c            quern_announce announce_to_some announce_to_all has_come compare_tags find_other_call
 *   src/ranks/meeting.c            meet.announcing meet.signalled meet.announced meet.complete
 *   src/kernels/cuda/barrier.cuh   put await judge came_elsewhere
 *
 * Each rank has a pad with one signal for each other rank, which only that rank writes.  Each pair of ranks counts the meetings
 * both took part in.  A rank puts its count into its peers' pads, then waits until theirs have reached at least the same count. The
 * counts begin at FIRST and wrap around, here after EPOCHS, in the code after 2^32; pads begin at FIRST too, and are never reset.
 * Every rank goes through the rounds of which it is a member.
 *
 * Meetings of all ranks have a count and signals of their own: with LINES one of each rank, which all others read, on the host;
 * with MULTICAST one store that comes to the pads one after the other, on GPUs.
 *
 * Without TAGS a rank writes its data, meets the members (entry), reads their data, which must be those of this round, and meets
 * them again (exit) before any rank writes again.
 *
 * With TAGS a signal is an epoch and the tag of the call, in one word.  A rank at the epoch of this meeting must be in the same
 * call. The tag of a rank that is further is meaningless here; but that rank went through this meeting and has compared our tag.  A
 * rank that is further in the other kind of meetings, and has still not reached this one, has made a different call.  One rank may
 * make a different call in one round, with some of the members or all.  No rank may leave that meeting before the group is
 * poisoned; and no group may be poisoned in which all ranks made the same calls.
 */
#ifdef TAGS
#define SET set
#endif
#include "ranks.pml"

#define EPOCHS       8
#define NEXT(epoch)  (((epoch) + 1) % EPOCHS)
#define REACHED(seen, expected) PICK(COMPARE_EQUAL, ((seen) == (expected)), PICK(COMPARE_UNSIGNED, ((seen) >= (expected)), \
                                     ((((seen) - (expected)) & (EPOCHS - 1)) < EPOCHS / 2)))

/* What is in a pad before the first meeting: with COUNT_RESTARTED after two of an earlier group. */
#define PAD_BEGINS   PICK(PAD_OF_ZEROS, 0, PICK(COUNT_RESTARTED, ((FIRST + 2) % EPOCHS), FIRST))

typedef Signal { byte epoch, tag };
Signal pair[RANKS * RANKS], all[RANKS * RANKS];
#define AT(pad, from)     [(pad) * RANKS + (from)]
#define PUT_AT(pad, from) PICK(SLOT_SWAPPED, AT(from, pad), AT(pad, from))
#define ALL_AT(pad, from) PICK(LINES, [from], AT(pad, from))

#if defined(LINES) || defined(MULTICAST)
#define BY_KIND(of_all, of_some) if :: SET == EVERYONE -> of_all :: else -> of_some fi
#else
#define BY_KIND(of_all, of_some) of_some
#endif

byte data[RANKS];            /* the last round that each rank has written, from 1 */
byte central, awaited[RANKS];
bool poison;

/* ---- a call that one rank makes instead of another ---- */

#define ODD_CALL 128         /* in the tag, which is the set of members otherwise */
byte odd_rank = NOBODY, odd_round, odd_members;

#define MAKES_ODD_CALL (me == odd_rank && round == odd_round)
#define MEETS_ODD_RANK (odd_rank != NOBODY && round == odd_round)

inline draw_odd_call() {
    if
    :: true
    :: true ->
        select (odd_rank : 0 .. RANKS - 1);
        select (odd_round : 0 .. ROUNDS - 1);
        select (drawn : 0 .. EVERYONE);
        odd_members = members[odd_round] & (drawn | 1 << odd_rank);
        odd_rank = (HAS(members[odd_round], odd_rank) && odd_members != 1 << odd_rank -> odd_rank : NOBODY)
    fi
}

inline fail() {
    assert(odd_rank != NOBODY);  /* no false alarm */
    poison = true
}

#define CONCERNS(slot, expected) PICK(TAG_NOT_COMPARED, false, PICK(TAG_COMPARED_WHEN_AHEAD, true, slot.epoch == expected))
inline judge(slot, expected) { atomic { WHEN(CONCERNS(slot, expected) && slot.tag != tag, fail()) } }

/* ---- signals ---- */

/* One store; with TAG_AFTER_EPOCH two. */
inline store(slot, its_epoch) {
    PICK(TAGS, PICK(TAG_AFTER_EPOCH, slot.epoch = its_epoch; slot.tag = tag, d_step { slot.epoch = its_epoch; slot.tag = tag }),
         slot.epoch = its_epoch)
}

inline begin_meeting() {
    ONLY(CENTRAL_COUNTER, atomic { central++; awaited[me] = awaited[me] + COUNT(members[round]) };)
    ONLY(ONE_COUNT_FOR_ALL_PEERS, count[me] = NEXT(count[me]);)
    skip
}

inline put_to_all() {
    d_step { all_count = NEXT(all_count); ONLY(LINES, all[me].epoch = all_count) };
    ONLY(MULTICAST, VISIT_PEERS(store(all AT(peer, me), all_count)))
}

#define OWN_COUNT PICK(ONE_COUNT_FOR_ALL_PEERS, count[me], PICK(SELF_CLEARING_FLAGS, 1, count[peer]))
inline put(peer) {
    UNLESS(ONE_COUNT_FOR_ALL_PEERS, count[peer] = NEXT(count[peer]);)
    PICK(CENTRAL_COUNTER, skip, store(pair PUT_AT(peer, me), OWN_COUNT))
}

inline announce() {
    begin_meeting();
    BY_KIND(put_to_all(), VISIT_PEERS(put(peer)))
}

/* Reads the slot that the peer must write, and at times the one of the other kind of meetings. */
inline watch(slot, expected, other, next) {
#ifdef TAGS
    do
    :: REACHED(slot.epoch, expected) -> judge(slot, expected); break
    :: poison -> break
#if defined(MULTICAST) && !defined(OTHER_NOT_READ)
    :: PICK(SLOT_READ_BEFORE_OTHER, !REACHED(slot.epoch, expected), REACHED(other.epoch, next)) ->
        WHEN(PICK(SLOT_READ_BEFORE_OTHER, REACHED(other.epoch, next), !REACHED(slot.epoch, expected)), fail())
#endif
    od
#else
    PICK(CENTRAL_COUNTER, central >= awaited[me], PICK(SELF_CLEARING_FLAGS, slot.epoch == 1, REACHED(slot.epoch, expected)));
    ONLY(SELF_CLEARING_FLAGS, slot.epoch = 0)
#endif
}

inline await() {
    VISIT_PEERS(BY_KIND(watch(all ALL_AT(me, peer), all_count, pair AT(me, peer), NEXT(count[peer])),
                        watch(pair AT(me, peer), OWN_COUNT, all ALL_AT(me, peer), NEXT(all_count))))
}

/* ---- a rank ---- */

proctype rank(byte me) {
    byte round, peer, set, tag, count[RANKS], all_count = FIRST;
    atomic { LOOP(peer, RANKS, count[peer] = FIRST); next_round() };
    do
    :: round < ROUNDS ->
#ifdef TAGS
        atomic {
            set = (MAKES_ODD_CALL -> odd_members : members[round]);
            tag = set | (MAKES_ODD_CALL -> ODD_CALL : 0)
        };
        announce();
        await();
        assert(!MEETS_ODD_RANK || poison);
        if
        :: poison -> break
        :: else
        fi;
#else
        ONLY(SIGNAL_BEFORE_DATA, announce();)
        data[me] = round + 1;
        UNLESS(SIGNAL_BEFORE_DATA, announce();)
        await();
        FOR_EACH_PEER(assert(data[peer] == round + 1));
        UNLESS(NO_EXIT, announce(); await();)
#endif
        atomic { round++; next_round() }
    :: else -> break
    od
}

inline begin() {
    ONLY(TAGS, draw_odd_call();)
    for (round : 0 .. RANKS * RANKS - 1) { pair[round].epoch = PAD_BEGINS; all[round].epoch = FIRST }
}

START(begin())
