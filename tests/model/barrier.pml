/*
 * The barrier: quern_announce and quern_await on the host (src/ranks/meeting.c), put and await on GPUs
 * (src/kernels/cuda/barrier.cuh).
 *
 * Each rank has a pad with one signal for each other rank, which only that rank writes.  Each pair of ranks counts the meetings
 * both took part in.  A rank puts its count into its peers' pads, then waits until theirs have reached at least the same count.
 * The counts begin at FIRST and wrap around, here after EPOCHS, in the code after 2^32; pads begin at FIRST too, and are never
 * reset.
 *
 * With LINES a meeting of all ranks has its own count, and one signal of each rank, which all others read: on the host.
 *
 * Every rank goes through the rounds of which it is a member: it writes its data, meets the members (entry), reads their data,
 * which must be those of this round, and meets them again (exit) before any rank writes again.
 */
#include "ranks.pml"

#define EPOCHS       8
#define NEXT(epoch)  (((epoch) + 1) % EPOCHS)

#if defined(COMPARE_EQUAL)
#define REACHED(seen, expected) ((seen) == (expected))
#elif defined(COMPARE_UNSIGNED)
#define REACHED(seen, expected) ((seen) >= (expected))
#else
#define REACHED(seen, expected) ((((seen) - (expected)) & (EPOCHS - 1)) < EPOCHS / 2)
#endif

byte signals[RANKS * RANKS];
#define SIGNAL(pad, from) signals[(pad) * RANKS + (from)]
#ifdef SLOT_SWAPPED
#define PUT_SIGNAL(pad, from) SIGNAL(from, pad)
#else
#define PUT_SIGNAL(pad, from) SIGNAL(pad, from)
#endif

byte data[RANKS];            /* the last round that each rank has written, from 1 */

/* The contents of a pad before the first meeting. */
#if defined(PAD_OF_ZEROS)
#define PAD_BEGINS 0
#elif defined(COUNT_RESTARTED)
#define PAD_BEGINS ((FIRST + 2) % EPOCHS)  /* two meetings of an earlier group */
#else
#define PAD_BEGINS FIRST
#endif

/* ---- broken kinds of barriers, which must fail ---- */

#if defined(SELF_CLEARING_FLAGS)

inline put(peer)      { PUT_SIGNAL(peer, me) = 1 }
inline wait_for(peer) { SIGNAL(me, peer) == 1; SIGNAL(me, peer) = 0 }
inline begin_meeting() { skip }

#elif defined(CENTRAL_COUNTER)

byte central, awaited[RANKS];
inline begin_meeting() {
    atomic {
        central++;
        for (peer : 0 .. RANKS - 1) { awaited[me] = awaited[me] + HAS(members[round], peer) }
    }
}
inline put(peer)      { skip }
inline wait_for(peer) { central >= awaited[me] }

#elif defined(ONE_COUNT_FOR_ALL_PEERS)

inline begin_meeting() { count[me] = NEXT(count[me]) }
inline put(peer)      { PUT_SIGNAL(peer, me) = count[me] }
inline wait_for(peer) { REACHED(SIGNAL(me, peer), count[me]) }

#else

/* ---- the barrier ---- */

#ifdef LINES

/* As on the host: a meeting of all ranks has a signal of its own for each rank, which all others read, and a count of its own. */
byte line[RANKS];
#define OF_ALL (members[round] == EVERYONE)
inline begin_meeting() {
    if
    :: OF_ALL -> d_step { all_count = NEXT(all_count); line[me] = all_count }
    :: else
    fi
}
inline put(peer) {
    if
    :: OF_ALL
    :: else -> d_step { count[peer] = NEXT(count[peer]); PUT_SIGNAL(peer, me) = count[peer] }
    fi
}
inline wait_for(peer) {
    if
    :: OF_ALL -> REACHED(line[peer], all_count)
    :: else -> REACHED(SIGNAL(me, peer), count[peer])
    fi
}

#else

inline begin_meeting() { skip }
inline put(peer)      { d_step { count[peer] = NEXT(count[peer]); PUT_SIGNAL(peer, me) = count[peer] } }
inline wait_for(peer) { REACHED(SIGNAL(me, peer), count[peer]) }

#endif

#endif

inline announce() {
    begin_meeting();
    VISIT_PEERS(put(peer))
}

inline await() { VISIT_PEERS(wait_for(peer)) }

/* ---- a rank ---- */

inline write_data() { data[me] = round + 1 }

inline read_data() { FOR_EACH_PEER(assert(data[peer] == round + 1)) }

proctype rank(byte me) {
    byte round, peer, count[RANKS];
#ifdef LINES
    byte all_count = FIRST;
#endif
    atomic {
        for (peer : 0 .. RANKS - 1) { count[peer] = FIRST }
        peer = 0;
        next_round()
    }
    do
    :: round < ROUNDS ->
#ifdef SIGNAL_BEFORE_DATA
        announce();
        write_data();
#else
        write_data();
        announce();
#endif
        await();
        read_data();
#ifndef NO_EXIT
        announce();
        await();
#endif
        atomic { round++; next_round() }
    :: else -> break
    od
}

init {
    byte round, drawn;
    atomic {
        draw_schedule();
        for (drawn : 0 .. RANKS * RANKS - 1) { signals[drawn] = PAD_BEGINS }
#ifdef LINES
        for (drawn : 0 .. RANKS - 1) { line[drawn] = FIRST }
#endif
        for (drawn : 0 .. RANKS - 1) { run rank(drawn) }
    }
}
