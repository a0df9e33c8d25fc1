/*
 * Transfers of GPU memory through the sender's window: LISTENING, WINDOW, STAGED and TAKEN (src/ranks/transfer/bounce_path.c), and the words
 * START, DONE and END around them (progress.c).
 *
 * A sender and a receiver have TRANSFERS transfers of PIECES pieces, one after the other.  Each may be cancelled by either of them at
 * any time, also before its start, and then they go on to the next one; CANCELS are cancelled at most.  The receiver asks for the
 * window and listens; the sender puts the window's descriptor into its socket and says so.  FAILURES times one of them fails in that,
 * which ends the transfer; the next one tries again.  The window has two halves.  A copy takes two steps, and the other rank may do
 * anything between them.  A transfer that the receiver completes has all its pieces; no copy reads the memory of a send that is over,
 * or a window that is not open; every other transfer is complete; and in the end both halves are free.
 */
mtype = { START, LISTENING, WINDOW, STAGED, TAKEN, DONE, END };
mtype = { FREE, FILLING, FULL };

chan to_sender = [10] of { mtype, byte, byte, byte };    /* a word; its transfer; its half; its piece */
chan to_receiver = [10] of { mtype, byte, byte, byte };

byte window[2];                                    /* what is in a half: 8 * transfer + piece; 0: rubbish */
bool cancelled[TRANSFERS + 2];
byte cancels = CANCELS, failures = FAILURES;       /* that are left */
bool listening;                                    /* the receiver has a socket ... */
byte asked_for, in_socket;                         /* ... for the descriptor of this number; what is in it; 0: nothing */

/* The transfer is over at this end, which says so; the other end has said that it is over. */
inline end_half(half) {
    if
    :: owner[half] == current && state[half] == FILLING ->
#ifdef COPY_OUTLIVES_ITS_TRANSFER
        skip
#else
        window[half] = 8 * current + piece_in[half]; state[half] = FREE; owner[half] = 0
#endif
    :: owner[half] == current && state[half] == FULL ->
#ifdef FREE_BEFORE_TAKEN
        state[half] = FREE;
#endif
        owner[half] = 0
    :: else
    fi
}

inline end_sending() {
    end_half(0);
    end_half(1);
    end_unsent()
}

/* Of a transfer that has not started, and so has no half. */
inline end_unsent() {
    over = true;
    to_receiver!END, current, 0, 0
}

inline end_receiving() {
    over = true;
#ifndef KEPT_BY_WHAT_IS_OVER
    do
    :: count -> count--; to_sender!TAKEN, 0, half_of[count], 0
    :: else -> break
    od;
#endif
    to_sender!END, current, 0, 0
}

inline hear_end() {
    ended[transfer] = true;
    is_news = transfer == current && started && !over
}

/* The caller then ends the transfer. */
inline fail() {
    failures--;
    cancelled[current] = true
}

/* The sender's answer to LISTENING. */
inline show_window() {
    assert(listening);
#ifdef WINDOW_BEFORE_THE_DESCRIPTOR
    owed = asked;
#else
    in_socket = asked;
#endif
    shown = true;
    asked = 0;
    to_receiver!WINDOW, 0, 0, 0
}

/* The receiver has a socket before it says so. */
inline ask_for_window() {
    asked_for++;
#ifndef LISTENING_BEFORE_THE_SOCKET
    listening = true;
#endif
    to_sender!LISTENING, 0, asked_for, 0
}

/* Whatever becomes of it, the socket is closed. */
inline take_from_socket() {
    assert(in_socket == asked_for);
    in_socket = 0;
    listening = false;
#ifndef WINDOW_COMES_FOR_EVER
    has_come = false
#endif
}

/* A copy into a half: begun, and ended. */
inline fill(half) {
    state[half] = FILLING; owner[half] = current;
    piece++;
    piece_in[half] = piece;
    window[half] = 0
#ifdef STAGED_BEFORE_THE_END
    ; to_receiver!STAGED, current, half, piece
#endif
}

inline have_filled(half) {
    assert(owner[half] == current && !over);
    window[half] = 8 * current + piece_in[half];
    state[half] = FULL
#ifndef STAGED_BEFORE_THE_END
    ; to_receiver!STAGED, current, half, piece_in[half]
#endif
}

/* Also if both halves are full: else none would become free. */
#ifdef SHOWN_WITH_A_FREE_HALF
#define MAY_SHOW (asked && piece < PIECES && (state[0] == FREE || state[1] == FREE))
#elif defined(SHOWN_ONCE)
#define MAY_SHOW (asked && !shown && (piece < PIECES || owner[0] == current || owner[1] == current))
#else
#define MAY_SHOW (asked && (piece < PIECES || owner[0] == current || owner[1] == current))
#endif
#ifdef SHOWN_ONCE
#define HAS_SHOWN shown
#else
#define HAS_SHOWN (shown && !asked)
#endif
#define MOVES (started && !over && !done && other_started[current])

#ifdef SAID_OUT_OF_ORDER
#define MAY_SAY(half) (state[half] == FILLING)
#else
#define MAY_SAY(half) (state[half] == FILLING && (state[1 - half] != FILLING || piece_in[half] < piece_in[1 - half]))
#endif

active proctype sender() {
    byte current = 1, transfer, half, number, piece;
    byte owner[2], piece_in[2];                    /* owner: the transfer of a half; 0: it is over */
    byte asked;                                    /* LISTENING that is not answered; 0: none */
    bool shown;
#ifdef WINDOW_BEFORE_THE_DESCRIPTOR
    byte owed;
#endif
    mtype state[2];
    bool ended[TRANSFERS + 2], other_started[TRANSFERS + 2], over, started, done, is_news;
    mtype word;
    state[0] = FREE;
    state[1] = FREE;

    do
    :: atomic { nempty(to_sender) ->
        to_sender?word, transfer, half, number;
        if
        :: word == START -> other_started[transfer] = true
        :: word == LISTENING -> assert(!asked); asked = half
        :: word == TAKEN -> assert(state[half] == FULL); state[half] = FREE; owner[half] = 0
        :: word == DONE ->
            if
            :: transfer == current && started && !over ->
                assert(piece == PIECES && owner[0] != current && owner[1] != current);
                done = true
            :: else
            fi
        :: word == END -> hear_end();
            if
            :: is_news && !done -> assert(cancelled[current]); end_sending()
            :: else
            fi
        fi }
    :: atomic { MOVES && MAY_SHOW -> show_window() }
    :: atomic { MOVES && MAY_SHOW && failures ->
#ifdef FORGOTTEN_BY_A_FAILURE
        asked = 0;
#endif
        fail(); end_sending() }
#ifdef WINDOW_BEFORE_THE_DESCRIPTOR
    :: atomic { owed -> in_socket = owed; owed = 0 }
#endif
    :: atomic { MOVES && HAS_SHOWN && piece < PIECES && state[0] == FREE -> fill(0) }
    :: atomic { MOVES && HAS_SHOWN && piece < PIECES && state[1] == FREE -> fill(1) }
    :: atomic { MAY_SAY(0) -> have_filled(0) }
    :: atomic { MAY_SAY(1) -> have_filled(1) }
    :: atomic { current <= TRANSFERS && !started && !over ->
        piece = 0;
        if
        :: ended[current] -> end_unsent()
        :: !ended[current] -> started = true
        :: !ended[current] && cancels -> cancels--; cancelled[current] = true; end_unsent()
        fi }
    :: atomic { current <= TRANSFERS && started && !over && !done && cancels ->
        cancels--; cancelled[current] = true; end_sending() }
    :: atomic { current <= TRANSFERS && (over || done) ->
        current++; over = false; started = false; done = false }
    :: current > TRANSFERS && state[0] == FREE && state[1] == FREE && empty(to_sender) -> break
    od
}

#define NEEDS_WINDOW (started && !over && !copying && !opened && pieces < PIECES)
#ifdef ASKED_AGAIN
#define MAY_ASK (asked_for < 2)
#elif defined(LISTENING_BEFORE_THE_SOCKET)
#define MAY_ASK (!asked_for)
#else
#define MAY_ASK (!listening)
#endif
#ifdef COPIED_BEFORE_IT_IS_OPEN
#define MAY_COPY true
#else
#define MAY_COPY opened
#endif

active proctype receiver() {
    byte current = 1, transfer, half, number, count, pieces;
    byte half_of[2], piece_of[2];                  /* [count]: what has arrived for the current transfer, the oldest first */
    bool ended[TRANSFERS + 2], over, started, copying, is_news;
    bool has_come, opened;                         /* WINDOW was heard, and it is not open; it is open */
    mtype word;

    do
    :: atomic { !copying && nempty(to_receiver) ->
        to_receiver?word, transfer, half, number;
        if
        :: word == WINDOW -> assert(listening && !has_come); has_come = true
        :: word == STAGED && transfer == current && started && !over ->
            half_of[count] = half;
            piece_of[count] = number;
            count++
        :: word == STAGED && !(transfer == current && started && !over) ->
#ifdef NOT_TAKEN_WHEN_OVER
            skip
#else
            to_sender!TAKEN, 0, half, 0
#endif
        :: word == END -> hear_end();
            if
            :: is_news -> assert(cancelled[current]); end_receiving()
            :: else
            fi
        fi }
    :: atomic { NEEDS_WINDOW && !has_come && MAY_ASK -> ask_for_window() }
    :: atomic { NEEDS_WINDOW && !has_come && MAY_ASK && failures -> fail(); end_receiving() }
#ifdef LISTENING_BEFORE_THE_SOCKET
    :: atomic { asked_for && !listening && !opened -> listening = true }
#endif
    :: atomic { NEEDS_WINDOW && has_come -> take_from_socket(); opened = true }
    :: atomic { NEEDS_WINDOW && has_come && failures -> take_from_socket(); fail(); end_receiving() }
    :: atomic { started && !over && !copying && count && MAY_COPY ->
        assert(opened);
        assert(piece_of[0] == pieces + 1);
        assert(window[half_of[0]] == 8 * current + piece_of[0]);
#ifdef TAKEN_BEFORE_THE_COPY
        to_sender!TAKEN, 0, half_of[0], 0;
#endif
        copying = true }
    :: atomic { copying ->
        assert(window[half_of[0]] == 8 * current + piece_of[0]);
        copying = false;
        pieces++;
#ifndef TAKEN_BEFORE_THE_COPY
        to_sender!TAKEN, 0, half_of[0], 0;
#endif
        half_of[0] = half_of[1];
        piece_of[0] = piece_of[1];
        count-- }
    :: atomic { current <= TRANSFERS && !started && !over ->
        pieces = 0;
        if
        :: ended[current] -> end_receiving()
        :: !ended[current] -> started = true; to_sender!START, current, 0, 0
        :: !ended[current] && cancels -> cancels--; cancelled[current] = true; end_receiving()
        fi }
    :: atomic { current <= TRANSFERS && started && !over && !copying && pieces < PIECES && cancels ->
        cancels--; cancelled[current] = true; end_receiving() }
    :: atomic { current <= TRANSFERS && started && !over && pieces == PIECES ->
        to_sender!DONE, current, 0, 0;
        current++; started = false }
    :: atomic { current <= TRANSFERS && over -> current++; over = false; started = false; count = 0 }
    :: current > TRANSFERS && empty(to_receiver) && !count ->
end_served:
        nempty(to_receiver)
    od
}
