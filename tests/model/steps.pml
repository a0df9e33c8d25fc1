/*
 * The steps of an all-reduce of CPU ranks of several hosts: src/ranks/collective/collective_steps.c with the direct schedule of
 * collective_schedules.c.  Two hosts of two ranks: 0 and 1, 2 and 3.
 *
 * In step t a rank begins its messages, works on what was there at the meeting of step t - 1, shows its host the piece of step t, ends
 * its messages and meets the other rank of its host.  A message has a piece of the input, and the result of the piece before the last,
 * which it reads from a window when it leaves: at any time between its begin and its end.  The windows are used in turns.
 *
 *   staged    what the other rank of the host combines
 *   came      likewise of the two ranks of the other host
 *   result    of a rank's share: read by its host, and sent
 *   arrived   a result of the other host: read by both ranks of this one
 *
 * A call follows the one before without entry and exit, which these windows do not need; the records and a gather do.
 *
 * With KILL one rank may end at any time.  Whoever waits then stops, and so do all others, by the poison.
 */
#ifndef CALLS
#define CALLS 2
#endif
#ifndef PIECES
#define PIECES 3
#endif
#define STEPS (PIECES + 2)
#define ID(piece) (call * PIECES + (piece) + 1)

#ifdef ONE_WINDOW
#define TURN(t) 0
#else
#define TURN(t) ((t) & 1)
#endif

#ifdef RESULTS_A_STEP_EARLY
#define SENT_AFTER 1
#else
#define SENT_AFTER 2
#endif

#define AT(rank, t) [(rank) * 2 + TURN(t)]
#define CAME(rank, index, t) came[((rank) * 2 + (index)) * 2 + TURN(t)]
#define HAS(t, lag) ((t) >= (lag) && (t) < PIECES + (lag))
#define MATE (me ^ 1)
#define OTHER(index) (2 * (1 - me / 2) + (index))

byte staged[8], came[16], result[8], arrived[8];
byte meetings[4];
bool ended, poison;
chan link[16] = [3] of { byte, byte };
#define LINK(from, to) link[(from) * 4 + (to)]

/* A wait ends by its condition, or by the poison, which whoever waits sets when a rank has ended. */
#define WAIT(condition) if :: condition :: atomic { poison || ended -> poison = true; goto stop } fi

inline leave() {
    atomic {
    index = 0;
    do
    :: index < 2 ->
        LINK(me, OTHER(index)) ! (HAS(t, 0) -> ID(t) : 0), (index == me % 2 && HAS(t, SENT_AFTER) -> result AT(me, t - SENT_AFTER) : 0);
        index++
    :: else -> break
    od;
    sent = true
    }
}

inline take() {
    index = 0;
    do
    :: index < 2 ->
        WAIT(nempty(LINK(OTHER(index), me)));
        atomic {
        LINK(OTHER(index), me) ? piece, value;
        assert(piece == (HAS(t, 0) -> ID(t) : 0));
        CAME(me, index, t) = piece;
        if
        :: index == me % 2 && HAS(t, SENT_AFTER) -> arrived AT(me, t) = value
        :: else
        fi;
        index++; piece = 0; value = 0
        }
    :: else -> break
    od
}

inline meet() {
    meetings[me]++;
    WAIT(meetings[MATE] >= meetings[me])
}

/* Combines the piece of a step. */
inline combine(s) {
    atomic {
    if
    :: HAS(s, 0) ->
        assert(staged AT(MATE, s) == ID(s));
        assert(CAME(me, 0, s) == ID(s));
        assert(CAME(me, 1, s) == ID(s));
        result AT(me, s) = ID(s)
    :: else
    fi
    }
}

/* Reads the results of the steps before. */
inline read_results(s) {
    atomic {
    if
    :: HAS(s, 1) -> assert(result AT(MATE, s - 1) == ID(s - 1))
    :: else
    fi;
    if
    :: HAS(s, SENT_AFTER) ->
        assert(arrived AT(me, s) == ID(s - SENT_AFTER));
        assert(arrived AT(MATE, s) == ID(s - SENT_AFTER))
    :: else
    fi
    }
}

proctype rank(byte me) {
    byte call, t, index, piece, value;
    bool sent;
    do
    :: call < CALLS ->
        t = 0;
        do
        :: t < STEPS ->
            sent = false;
            if
            :: leave()
            :: skip
            fi;
            if
            :: t > 0 -> combine(t - 1); read_results(t - 1)
            :: else
            fi;
            if
            :: HAS(t, 0) -> staged AT(me, t) = ID(t)
            :: else
            fi;
            if
            :: !sent -> leave()
            :: else
            fi;
            take();
#ifndef NO_MEETING
            meet();
#endif
            t++
        :: else -> break
        od;
        read_results(STEPS - 1);
        call++
    :: else -> break
    od;
stop:
    skip
}

#ifdef KILL
/* A rank that ends is one of which nothing is awaited any more: the others stop when they wait. */
active proctype killer() { ended = true }
#endif

init { atomic { run rank(0); run rank(1); run rank(2); run rank(3) } }
