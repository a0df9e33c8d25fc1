/*
 * Transfers of two GPU ranks over NCCL: the words of their connection, and the communicator that both make, use and abort.
 *
 *   src/ranks/transfer/nccl_path.c   say_connect say_go begin_flight break_link hear_connect hear_forgotten hear_go hear_break
 *   src/ranks/transfer/progress.c    hear_end end_pair
 *
 * Each of the two has ROUNDS transfers, one after the other, and may cancel each at any time; then it makes no further call for it.
 * NCCL at its worst: an operation ends when both have enqueued it, and hangs for ever if the other one has aborted.  In the end
 * every transfer has completed or failed at each rank, no rank waits for ever though there is no limit, a transfer fails only if
 * one of the two has cancelled it, and NCCL never matches two transfers.
 *
 * Each rank may have kept a communicator of an earlier group, or not.
 */
#include "common.pml"

#define LOWER 0
#define UPPER 1
#define GENERATIONS (3 * ROUNDS + 3)
mtype = { START, END, CONNECT, CONNECTED, GO, BREAK, FORGOTTEN };
mtype = { NONE, MAKING, READY };

chan conn[2] = [24] of { mtype, byte, byte };  /* [to]: a word; its transfer or generation; has flown, the transfer, or is kept */

typedef Side {
    bool made, ready, aborted;
    byte count;
    byte list[ROUNDS];
}
typedef Comm { Side side[2] }
Comm comm[GENERATIONS];
bool cancelled[ROUNDS + 1];

#define SAY(word, number, other) conn[1 - me]!word(number, other)
#define OWN  comm[generation].side[me]
#define THEIRS comm[generation].side[1 - me]

inline make() {
    phase = MAKING; said = false; heard = false; OWN.made = true
}

inline recall() {
    kept = false; phase = READY; OWN.made = true; OWN.ready = true; heard = false; said = true;
    SAY(CONNECTED, generation, 0)
}

inline enqueue() {
    assert(THEIRS.ready);
    OWN.list[OWN.count] = current; OWN.count++; flying = true
}

inline fail() { assert(cancelled[current]); over = true }

inline abort_link() {
    WHEN(phase != NONE, OWN.aborted = true);
    phase = NONE; waiting = 0; said = false; heard = false
}

/* The transfer of the flight of either rank fails, and without a communicator that was ready also one that waits for it. */
inline lose_link() {
    if
    :: !over && started && (flying || PICK(ONLY_OWN_FLIGHT_FAILS, false, ended == current) || !(said && heard)) ->
        flying = false; fail(); SAY(END, current, 0)
    :: else -> flying = false
    fi;
    abort_link()
}

inline say_break()  { PICK(BREAK_NOT_SAID, skip, SAY(BREAK, generation, 0)) }

/* Both give up a communicator in which this rank has an operation. */
inline leave_nccl() { WHEN(flying, flying = false; abort_link(); say_break()) }

inline hear_end() {
    if
    :: number > current -> ended = number
    :: number == current && started && !over ->
        ended = number;
        ONLY(FLOWN_FAILS, fail(); SAY(END, current, 0);)
        if
        :: other && !over -> skip             /* in NCCL at both: it completes, or a BREAK follows */
        :: other == 0 && !over ->
            PICK(LEFT_ALONE_IN_NCCL, WHEN(!flying, fail(); SAY(END, current, 0)), fail(); SAY(END, current, flying); leave_nccl())
        :: over
        fi
    :: else
    fi
}

inline hear() {
    conn[me]?word, number, other;
    if
    :: word == START -> other_started = number
    :: word == END -> hear_end()
    :: word == CONNECT ->
        WHEN(phase != NONE, lose_link());
        generation = number; said = false; heard = false;
        if
        :: other && kept -> recall()
        :: other && !kept -> PICK(FORGOTTEN_NOT_SAID, skip, SAY(FORGOTTEN, generation, 0))
        :: !other -> make()
        fi
    :: word == FORGOTTEN ->
        WHEN(number == generation && phase != NONE,
            PICK(FORGOTTEN_FAILS, lose_link(), PICK(FORGOTTEN_NOT_OBEYED, skip, abort_link())))
    :: word == CONNECTED -> WHEN(number == generation, heard = true)
    :: word == GO -> WHEN(number == generation && said, waiting = other)
    :: word == BREAK ->
        WHEN(PICK(OLD_BREAK_OBEYED, true, number == generation && PICK(BREAK_HEARD_TWICE, true, phase != NONE)), lose_link())
    fi
}

#define CLEAR (started && !over && other_started == current && ended < current)

proctype Rank(bit me) {
    byte current, generation, other_started, ended, waiting, number, other;
    mtype word, phase = NONE;
    bool said, heard, flying, over, started, may_cancel, kept;
    if :: kept = true :: kept = false fi;
    current = 1;
    do
    :: current > ROUNDS -> break
    :: current <= ROUNDS ->
        over = false;
        if :: may_cancel = true :: may_cancel = false fi;
        if
        :: atomic { ended >= current -> fail() }
        :: else -> atomic { started = true; SAY(START, current, 0) }
        fi;
        do
        :: over -> break
        :: atomic { nempty(conn[me]) && !over -> hear() }
        :: atomic { phase == MAKING && THEIRS.made && !THEIRS.aborted && !over ->
            phase = READY; OWN.ready = true; said = true; SAY(CONNECTED, generation, 0) }
        :: atomic { me == LOWER && phase == NONE && CLEAR ->
            generation++;
            SAY(CONNECT, generation, kept);
            if
            :: kept -> recall()
            :: else -> make()
            fi }
        :: atomic { me == LOWER && phase == READY && said && PICK(GO_BEFORE_CONNECTED, true, heard) && !flying && CLEAR ->
            SAY(GO, generation, current); enqueue() }
        :: atomic { me == UPPER && phase == READY && waiting && !flying && !over ->
            if
            :: waiting == current && started -> waiting = 0; enqueue()
            :: else -> lose_link(); say_break()
            fi }
        :: atomic { flying && THEIRS.count >= OWN.count && !THEIRS.aborted ->
            assert(THEIRS.list[OWN.count - 1] == current);
            flying = false; over = true; SAY(END, current, 1) }
        :: atomic { may_cancel && !over ->
            cancelled[current] = true; over = true; SAY(END, current, flying); leave_nccl() }
        od;
        started = false;
        current++
    od
}

init { atomic { run Rank(LOWER); run Rank(UPPER) } }
