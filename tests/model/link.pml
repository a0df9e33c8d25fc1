/*
 * Transfers of two GPU ranks over NCCL: the words of their connection (src/ranks/transfer/nccl_path.c; hear_end and end_pair of progress.c), and
 * the communicator that both make, use and abort.
 *
 * Each of the two has ROUNDS transfers, one after the other, and may cancel each at any time; then it makes no further call for it.
 * NCCL at its worst: an operation ends when both have enqueued it, and hangs for ever if the other one has aborted.  In the end
 * every transfer has completed or failed at each rank, no rank waits for ever though there is no limit, a transfer fails only if one
 * of the two has cancelled it, and NCCL never matches two transfers.
 *
 * Each rank may have kept a communicator of an earlier group, or not.
 */
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

#define OWN  comm[generation].side[me]
#define THEIRS comm[generation].side[1 - me]

inline make() {
    phase = MAKING;
    said = false;
    heard = false;
    OWN.made = true
}

inline recall() {
    kept = false;
    phase = READY;
    OWN.made = true;
    OWN.ready = true;
    heard = false;
    said = true;
    conn[1 - me]!CONNECTED, generation, 0
}

inline enqueue() {
    assert(THEIRS.ready);
    OWN.list[OWN.count] = current;
    OWN.count++;
    flying = true
}

inline fail() {
    assert(cancelled[current]);
    over = true
}

inline abort_link() {
    if
    :: phase != NONE -> OWN.aborted = true
    :: else
    fi;
    phase = NONE; waiting = 0; said = false; heard = false
}

/* The transfer of the flight of either rank fails, and without a communicator that was ready also one that waits for it. */
inline lose_link() {
    if
#ifdef ONLY_OWN_FLIGHT_FAILS
    :: !over && started && (flying || !(said && heard)) ->
#else
    :: !over && started && (flying || ended == current || !(said && heard)) ->
#endif
        flying = false; fail(); conn[1 - me]!END, current, 0
    :: else -> flying = false
    fi;
    abort_link()
}

inline say_break() {
#ifdef BREAK_NOT_SAID
    skip
#else
    conn[1 - me]!BREAK, generation, 0
#endif
}

inline hear_end() {
    if
    :: number > current -> ended = number
    :: number == current && started && !over ->
        ended = number;
#ifdef FLOWN_FAILS
        if
        :: true -> fail(); conn[1 - me]!END, current, 0
        fi;
#endif
        if
        :: other && !over -> skip             /* in NCCL at both: it completes, or a BREAK follows */
        :: other == 0 && !over ->
#ifdef LEFT_ALONE_IN_NCCL
            if
            :: flying -> skip
            :: else -> fail(); conn[1 - me]!END, current, 0
            fi
#else
            fail();
            conn[1 - me]!END, current, flying;
            if
            :: flying -> flying = false; abort_link(); say_break()
            :: else
            fi
#endif
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
        if
        :: phase != NONE -> lose_link()
        :: else
        fi;
        generation = number;
        said = false;
        heard = false;
        if
        :: other && kept -> recall()
        :: other && !kept ->
#ifdef FORGOTTEN_NOT_SAID
            skip
#else
            conn[1 - me]!FORGOTTEN, generation, 0
#endif
        :: !other -> make()
        fi
    :: word == FORGOTTEN ->
        if
        :: number == generation && phase != NONE ->
#ifdef FORGOTTEN_FAILS
            lose_link()
#elif defined(FORGOTTEN_NOT_OBEYED)
            skip
#else
            abort_link()
#endif
        :: else
        fi
    :: word == CONNECTED ->
        if
        :: number == generation -> heard = true
        :: else
        fi
    :: word == GO ->
        if
        :: number == generation && said -> waiting = other
        :: else
        fi
    :: word == BREAK ->
        if
#ifdef OLD_BREAK_OBEYED
        :: true -> lose_link()
#elif defined(BREAK_HEARD_TWICE)
        :: number == generation -> lose_link()
#else
        :: number == generation && phase != NONE -> lose_link()
#endif
        :: else
        fi
    fi
}

#define CLEAR (started && !over && other_started == current && ended < current)

proctype Rank(bit me) {
    byte current, generation, other_started, ended, waiting, number, other;
    mtype word, phase = NONE;
    bool said, heard, flying, over, started, may_cancel, kept;
    if
    :: kept = true
    :: kept = false
    fi;
    current = 1;
    do
    :: current > ROUNDS -> break
    :: current <= ROUNDS ->
        over = false;
        if
        :: may_cancel = true
        :: may_cancel = false
        fi;
        if
        :: atomic { ended >= current -> fail() }
        :: else -> atomic { started = true; conn[1 - me]!START, current, 0 }
        fi;
        do
        :: over -> break
        :: atomic { nempty(conn[me]) && !over -> hear() }
        :: atomic { phase == MAKING && THEIRS.made && !THEIRS.aborted && !over ->
            phase = READY; OWN.ready = true; said = true; conn[1 - me]!CONNECTED, generation, 0 }
        :: atomic { me == LOWER && phase == NONE && CLEAR ->
            generation++;
            conn[UPPER]!CONNECT, generation, kept;
            if
            :: kept -> recall()
            :: else -> make()
            fi }
#ifdef GO_BEFORE_CONNECTED
        :: atomic { me == LOWER && phase == READY && said && !flying && CLEAR ->
#else
        :: atomic { me == LOWER && phase == READY && said && heard && !flying && CLEAR ->
#endif
            conn[UPPER]!GO, generation, current; enqueue() }
        :: atomic { me == UPPER && phase == READY && waiting && !flying && !over ->
            if
            :: waiting == current && started -> waiting = 0; enqueue()
            :: else -> lose_link(); say_break()
            fi }
        :: atomic { flying && THEIRS.count >= OWN.count && !THEIRS.aborted ->
            assert(THEIRS.list[OWN.count - 1] == current);
            flying = false; over = true; conn[1 - me]!END, current, 1 }
        :: atomic { may_cancel && !over ->
            cancelled[current] = true;
            over = true;
            conn[1 - me]!END, current, flying;
            if
            :: flying -> flying = false; abort_link(); say_break()
            :: else
            fi }
        od;
        started = false;
        current++
    od
}

init {
    atomic {
        run Rank(LOWER);
        run Rank(UPPER)
    }
}
