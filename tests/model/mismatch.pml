/*
 * How ranks detect that one of them makes a different call: compare_tags on the host (src/ranks/meeting.c), judge and
 * came_elsewhere on GPUs (src/kernels/cuda/barrier.cuh).
 *
 * A signal is an epoch and the tag of the call, in one word.  A rank at the epoch of this meeting must be in the same call.  The
 * tag of a rank that is further is meaningless here; but that rank went through this meeting and has compared our tag.
 *
 * With MULTICAST, meetings of all ranks have their own signals and count, since one store reaches all pads at once, or on the host
 * all ranks read one line (find_other_call).  A rank that is further in the other kind of meetings than this one, and has still not reached this one, has made a different call.
 *
 * Every rank goes through the rounds of which it is a member and meets the members in each.  One rank may make a different call
 * in one of them, with some of the members or all.  No rank may leave that meeting before the group is poisoned; and no group may
 * be poisoned in which all ranks made the same calls.  The counts are those of barrier.pml.
 */
#include "ranks.pml"

typedef Signal { byte epoch, tag };

Signal pair[RANKS * RANKS];
#ifdef MULTICAST
Signal everyone[RANKS * RANKS];
#endif
#define SLOT(pad, from) [(pad) * RANKS + (from)]

bool poison;

#define NOBODY   RANKS
#define ODD_CALL 128     /* in the tag, which is the set of members otherwise */
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
        if
        :: HAS(members[odd_round], odd_rank) && odd_members != 1 << odd_rank
        :: else -> odd_rank = NOBODY
        fi
    fi
}

inline next_member() {
    do
    :: peer < RANKS && (peer == me || !HAS(set, peer)) -> peer++
    :: else -> break
    od
}

#define VISIT_MEMBERS(steps) \
    atomic { peer = 0; next_member() }; do :: peer < RANKS -> steps; atomic { peer++; next_member() } :: else -> break od; peer = 0

/* One store; with TAG_AFTER_EPOCH two. */
inline store(slot, its_epoch) {
#ifdef TAG_AFTER_EPOCH
    slot.epoch = its_epoch;
    slot.tag = tag
#else
    d_step { slot.epoch = its_epoch; slot.tag = tag }
#endif
}

inline put_pair() { VISIT_MEMBERS(count[peer]++; store(pair SLOT(peer, me), count[peer])) }

inline fail() {
    assert(odd_rank != NOBODY);  /* no false alarm */
    poison = true
}

inline judge(slot, expected) {
    atomic {
        if
#if defined(TAG_NOT_COMPARED)
        :: false
#elif defined(TAG_COMPARED_WHEN_AHEAD)
        :: slot.tag != tag -> fail()
#else
        :: slot.epoch == expected && slot.tag != tag -> fail()
#endif
        :: else
        fi
    }
}

#ifdef MULTICAST

/* The store comes to the pads one after the other. */
inline put_everyone() {
    everyone_count++;
    VISIT_MEMBERS(store(everyone SLOT(peer, me), everyone_count))
}

/* Reads the slot that the peer must write, and at times the other one. */
inline watch(slot, expected, other, next) {
    do
    :: slot.epoch >= expected -> judge(slot, expected); break
    :: poison -> break
#if defined(OTHER_NOT_READ)
#elif defined(SLOT_READ_BEFORE_OTHER)
    :: slot.epoch < expected ->
        if
        :: other.epoch >= next -> fail()
        :: else
        fi
#else
    :: other.epoch >= next ->
        if
        :: slot.epoch < expected -> fail()
        :: else
        fi
#endif
    od
}

inline put() {
    if
    :: set == EVERYONE -> put_everyone()
    :: else -> put_pair()
    fi
}

inline wait_for(peer) {
    if
    :: set == EVERYONE -> watch(everyone SLOT(me, peer), everyone_count, pair SLOT(me, peer), count[peer] + 1)
    :: else -> watch(pair SLOT(me, peer), count[peer], everyone SLOT(me, peer), everyone_count + 1)
    fi
}

#else

inline put() { put_pair() }

inline wait_for(peer) {
    if
    :: pair[me * RANKS + peer].epoch >= count[peer] -> judge(pair SLOT(me, peer), count[peer])
    :: poison
    fi
}

#endif

inline await() { VISIT_MEMBERS(wait_for(peer)) }

proctype rank(byte me) {
    byte round, peer, set, tag, count[RANKS];
#ifdef MULTICAST
    byte everyone_count;
#endif
    atomic { next_round() };
    do
    :: round < ROUNDS ->
        atomic {
            set = (MAKES_ODD_CALL -> odd_members : members[round]);
            tag = set | (MAKES_ODD_CALL -> ODD_CALL : 0)
        };
        put();
        await();
        assert(!MEETS_ODD_RANK || poison);
        if
        :: poison -> break
        :: else
        fi;
        atomic { round++; next_round() }
    :: else -> break
    od
}

START(draw_odd_call())
