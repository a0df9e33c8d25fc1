/*
 * The paths of transfers whose ends take turns, and the words START, DONE and END around them.
 *
 *   src/ranks/transfer/progress.c       hear_end end_pair
 *   src/ranks/transfer/transfer.h       quern_settle_carrier_path quern_export_bounce_buffer
 *   src/ranks/transfer/carrier_path.c   message.posting message.posted message.over
 *   src/ranks/transfer/bounce_path.c    stage.listening stage.shown stage.opened stage.filling stage.said stage.taken
 *
 * A sender and a receiver have TRANSFERS transfers of PIECES pieces, one after the other.  Each may be cancelled by either of them
 * at any time, also before its start, and then they go on to the next one.  A transfer that the receiver completes has all its
 * pieces; every other transfer is cancelled; nothing is written into one that is over, or read from it; and in the end nothing is
 * left.
 *
 * Without a switch the pieces are messages of a carrier between hosts: READY, the message or NONE.  The carrier has SLOTS messages
 * under way, and TAGS tags.  A message without a receive is lost for later ones, so there is none; a receive whose message never
 * comes is cancelled.
 *
 * With STAGE they go through the sender's window of GPU memory: LISTENING, WINDOW, STAGED and TAKEN.  CANCELS transfers are
 * cancelled at most.  The receiver asks for the window and listens; the sender puts the window's descriptor into its socket and
 * says so. FAILURES times one of them fails in that, which ends the transfer; the next one tries again.  The window has two halves.
 * A copy takes two steps, and the other rank may do anything between them.  No copy reads a window that is not open.
 */
#include "common.pml"

mtype = { START, READY, NONE, LISTENING, WINDOW, STAGED, TAKEN, DONE, END };
mtype = { FREE, FILLING, FULL };

chan to_sender = [10] of { mtype, byte, byte, byte };    /* a word; its transfer; its number or half; its piece */
chan to_receiver = [10] of { mtype, byte, byte, byte };
bool cancelled[TRANSFERS + 2];

#define IS_CURRENT (transfer == current && started && !over)
inline hear_end() { ended[transfer] = true; is_news = IS_CURRENT }

ONLY(STAGE, byte cancels = CANCELS; byte failures = FAILURES;)  /* that are left */
#define MAY_CANCEL PICK(STAGE, cancels, true)
inline cancel() { ONLY(STAGE, cancels--;) cancelled[current] = true }

#define IS_IDLE   (current <= TRANSFERS && !started && !over)
#define IS_MOVING (current <= TRANSFERS && started && !over)
#define START_OR_END(say, end) \
    if \
    :: ended[current] -> end \
    :: !ended[current] -> started = true; say \
    :: !ended[current] && MAY_CANCEL -> cancel(); end \
    fi

#ifdef STAGE

/* ---- a window: what its halves hold ---- */

byte window[2];                                    /* what is in a half: 8 * transfer + piece; 0: rubbish */
bool listening;                                    /* the receiver has a socket ... */
byte asked_for, in_socket;                         /* ... for the descriptor of this number; what is in it; 0: nothing */

inline end_half(half) {
    if
    :: owner[half] == current && state[half] == FILLING ->
        PICK(COPY_OUTLIVES_ITS_TRANSFER, skip, window[half] = 8 * current + piece_in[half]; state[half] = FREE; owner[half] = 0)
    :: owner[half] == current && state[half] == FULL -> ONLY(FREE_BEFORE_TAKEN, state[half] = FREE;) owner[half] = 0
    :: else
    fi
}

/* The transfer is over at this end, which says so; the other end has said that it is over.  One that never started has no half. */
inline end_unsent()  { over = true; to_receiver!END(current, 0, 0) }
inline end_sending() { end_half(0); end_half(1); end_unsent() }
inline end_receiving() {
    over = true;
    UNLESS(KEPT_BY_WHAT_IS_OVER, do :: count -> count--; to_sender!TAKEN(0, half_of[count], 0) :: else -> break od;)
    to_sender!END(current, 0, 0)
}

/* The caller then ends the transfer. */
inline fail() { failures--; cancelled[current] = true }

/* The sender's answer to LISTENING. */
inline show_window() {
    assert(listening);
    PICK(WINDOW_BEFORE_THE_DESCRIPTOR, owed = asked, in_socket = asked);
    shown = true;
    asked = 0;
    to_receiver!WINDOW(0, 0, 0)
}

/* The receiver has a socket before it says so. */
inline ask_for_window() {
    asked_for++;
    UNLESS(LISTENING_BEFORE_THE_SOCKET, listening = true;)
    to_sender!LISTENING(0, asked_for, 0)
}

/* Whatever becomes of it, the socket is closed. */
inline take_from_socket() {
    assert(in_socket == asked_for);
    in_socket = 0;
    listening = false;
    UNLESS(WINDOW_COMES_FOR_EVER, has_come = false)
}

/* A copy into a half: begun, and ended. */
inline fill(half) {
    state[half] = FILLING; owner[half] = current;
    piece++;
    piece_in[half] = piece;
    window[half] = 0;
    ONLY(STAGED_BEFORE_THE_END, to_receiver!STAGED(current, half, piece))
}
inline have_filled(half) {
    assert(owner[half] == current && !over);
    window[half] = 8 * current + piece_in[half];
    state[half] = FULL;
    UNLESS(STAGED_BEFORE_THE_END, to_receiver!STAGED(current, half, piece_in[half]))
}

/* Also if both halves are full: else none would become free. */
#define MAY_SHOW      (asked && PICK(SHOWN_ONCE, !shown, true) && PICK(SHOWN_WITH_A_FREE_HALF, \
    (piece < PIECES && (state[0] == FREE || state[1] == FREE)), (piece < PIECES || owner[0] == current || owner[1] == current)))
#define HAS_SHOWN     (shown && PICK(SHOWN_ONCE, true, !asked))
#define MOVES         (started && !over && !done && other_started[current])
#define MAY_FILL(half) (MOVES && HAS_SHOWN && piece < PIECES && state[half] == FREE)
#define MAY_SAY(half) (state[half] == FILLING && PICK(SAID_OUT_OF_ORDER, true, \
                       (state[1 - half] != FILLING || piece_in[half] < piece_in[1 - half])))
#define NEEDS_WINDOW  (started && !over && !copying && !opened && pieces < PIECES)
#define MAY_ASK       PICK(ASKED_AGAIN, asked_for < 2, PICK(LISTENING_BEFORE_THE_SOCKET, !asked_for, !listening))

#else

/* ---- a carrier: what it has ---- */

byte posted[TAGS];                                 /* 1 + the number of the receive of a tag; 0: there is none */
byte come[TAGS];                                   /* 1 + the piece that has come for it; 0: none */
#define ORDER order[next % SLOTS]
#define SLOT(number) slot[(number) % SLOTS]

inline end_sending() {
    over = true;
    order[0] = 0; order[1] = 0;
    to_receiver!END(current, 0, 0)
}
inline end_unsent() { end_sending() }
inline end_receiving() {
    over = true;
    UNLESS(BYTES_OF_WHAT_IS_OVER, slot[0] = 0; slot[1] = 0;)
    ONLY(CANCELLED_WITHOUT_NONE,
        do :: oldest != next && !come[oldest % TAGS] -> posted[oldest % TAGS] = 0; oldest++ :: else -> break od;)
    to_sender!END(current, 0, 0)
}

/* A receive has its message. */
inline take_message() {
    assert(!none[oldest % SLOTS]);
    WHEN(SLOT(oldest),
        assert(SLOT(oldest) == current && !over);
        pieces++;
        assert(come[oldest % TAGS] == pieces));
    posted[oldest % TAGS] = 0;
    come[oldest % TAGS] = 0;
    oldest++
}

#endif

active proctype sender() {
    byte current = 1, transfer, number, come_piece, piece;
    bool ended[TRANSFERS + 2], over, started, done, is_news;
    mtype word;
#ifdef STAGE
    byte owner[2], piece_in[2];                    /* owner: the transfer of a half; 0: it is over */
    byte asked, owed;                              /* LISTENING that is not answered; 0: none; whose descriptor is to come */
    bool shown, other_started[TRANSFERS + 2];
    mtype state[2];
    state[0] = FREE;
    state[1] = FREE;
#else
    byte next, ordered, order[SLOTS];              /* the transfer of a READY; 0: it is over */
#endif
    do
    :: atomic { nempty(to_sender) ->
        to_sender?word, transfer, number, come_piece;
        if
#ifdef STAGE
        :: word == START -> other_started[transfer] = true
        :: word == LISTENING -> assert(!asked); asked = number
        :: word == TAKEN -> assert(state[number] == FULL); state[number] = FREE; owner[number] = 0
        :: word == DONE ->
            WHEN(IS_CURRENT, assert(piece == PIECES && owner[0] != current && owner[1] != current); done = true)
#else
        :: word == READY ->
            assert(number == ordered && ordered - next < SLOTS);
            order[ordered % SLOTS] = (IS_CURRENT && !done -> transfer : 0);
            ordered++
        :: word == DONE -> done = done || IS_CURRENT
#endif
        :: word == END -> hear_end(); WHEN(is_news && !done, assert(cancelled[current]); end_sending())
        fi }
#ifdef STAGE
    :: atomic { MOVES && MAY_SHOW -> show_window() }
    :: atomic { MOVES && MAY_SHOW && failures -> ONLY(FORGOTTEN_BY_A_FAILURE, asked = 0;) fail(); end_sending() }
    ONLY(WINDOW_BEFORE_THE_DESCRIPTOR, :: atomic { owed -> in_socket = owed; owed = 0 })
    :: atomic { MAY_FILL(0) -> fill(0) }
    :: atomic { MAY_FILL(1) -> fill(1) }
    :: atomic { MAY_SAY(0) -> have_filled(0) }
    :: atomic { MAY_SAY(1) -> have_filled(1) }
    :: current > TRANSFERS && state[0] == FREE && state[1] == FREE && empty(to_sender) -> break
#else
    :: atomic { next != ordered && ORDER ->
        assert(posted[next % TAGS] == next + 1 && !come[next % TAGS]);
        piece++;
        come[next % TAGS] = piece;
        next++ }
    :: atomic { next != ordered && !ORDER ->
        PICK(NONE_NOT_SAID, skip, to_receiver!NONE(0, next, 0));
        PICK(NONE_WITHOUT_A_NUMBER, ordered--, next++) }
    :: current > TRANSFERS && empty(to_sender) && next == ordered ->
end_served:
        nempty(to_sender)
#endif
    :: atomic { IS_IDLE -> piece = 0; START_OR_END(PICK(STAGE, skip, to_receiver!START(current, 0, 0)), end_unsent()) }
    :: atomic { IS_MOVING && !done && MAY_CANCEL -> cancel(); end_sending() }
    :: atomic { current <= TRANSFERS && (over || done) -> current++; over = false; started = false; done = false }
    od
}

active proctype receiver() {
    byte current = 1, transfer, number, come_piece, pieces;
    bool ended[TRANSFERS + 2], over, started, copying, is_news;
    mtype word;
#ifdef STAGE
    byte count, half_of[2], piece_of[2];           /* [count]: what has arrived for the current transfer, the oldest first */
    bool has_come, opened;                         /* WINDOW was heard, and it is not open; it is open */
#else
    byte next, oldest, asked, slot[SLOTS];         /* the transfer of a receive; 0: nobody's any more */
    bool none[SLOTS], other_started[TRANSFERS + 2];
#endif
    do
    :: atomic { !copying && nempty(to_receiver) ->
        to_receiver?word, transfer, number, come_piece;
        if
#ifdef STAGE
        :: word == WINDOW -> assert(listening && !has_come); has_come = true
        :: word == STAGED && IS_CURRENT -> half_of[count] = number; piece_of[count] = come_piece; count++
        :: word == STAGED && !IS_CURRENT -> PICK(NOT_TAKEN_WHEN_OVER, skip, to_sender!TAKEN(0, number, 0))
#else
        :: word == START -> other_started[transfer] = true
        :: word == NONE -> none[number % SLOTS] = true; SLOT(number) = 0
#endif
        :: word == END -> hear_end(); WHEN(is_news, assert(cancelled[current]); end_receiving())
        fi }
#ifdef STAGE
    :: atomic { NEEDS_WINDOW && !has_come && MAY_ASK -> ask_for_window() }
    :: atomic { NEEDS_WINDOW && !has_come && MAY_ASK && failures -> fail(); end_receiving() }
    ONLY(LISTENING_BEFORE_THE_SOCKET, :: atomic { asked_for && !listening && !opened -> listening = true })
    :: atomic { NEEDS_WINDOW && has_come -> take_from_socket(); opened = true }
    :: atomic { NEEDS_WINDOW && has_come && failures -> take_from_socket(); fail(); end_receiving() }
    :: atomic { started && !over && !copying && count && PICK(COPIED_BEFORE_IT_IS_OPEN, true, opened) ->
        assert(opened);
        assert(piece_of[0] == pieces + 1);
        assert(window[half_of[0]] == 8 * current + piece_of[0]);
        ONLY(TAKEN_BEFORE_THE_COPY, to_sender!TAKEN(0, half_of[0], 0);)
        copying = true }
    :: atomic { copying ->
        assert(window[half_of[0]] == 8 * current + piece_of[0]);
        copying = false;
        pieces++;
        UNLESS(TAKEN_BEFORE_THE_COPY, to_sender!TAKEN(0, half_of[0], 0);)
        half_of[0] = half_of[1];
        piece_of[0] = piece_of[1];
        count-- }
    :: current > TRANSFERS && empty(to_receiver) && !count ->
end_served:
        nempty(to_receiver)
#else
    :: atomic { started && !over && other_started[current] && asked < PIECES && next - oldest < SLOTS ->
        UNLESS(READY_BEFORE_THE_RECEIVE, assert(!posted[next % TAGS]); posted[next % TAGS] = next + 1;)
        SLOT(next) = current;
        none[next % SLOTS] = false;
        to_sender!READY(current, next, 0);
        next++;
        asked++ }
    ONLY(READY_BEFORE_THE_RECEIVE, :: atomic { next != oldest && !posted[(next - 1) % TAGS] -> posted[(next - 1) % TAGS] = next })
    :: atomic { oldest != next && come[oldest % TAGS] -> take_message() }
    :: atomic { oldest != next && none[oldest % SLOTS] -> posted[oldest % TAGS] = 0; oldest++ }
    :: current > TRANSFERS && oldest == next -> break
#endif
    :: atomic { IS_IDLE -> pieces = 0; UNLESS(STAGE, asked = 0;)
        START_OR_END(PICK(STAGE, to_sender!START(current, 0, 0), skip), end_receiving()) }
    :: atomic { IS_MOVING && !copying && pieces < PIECES && MAY_CANCEL -> cancel(); end_receiving() }
    :: atomic { IS_MOVING && pieces == PIECES -> to_sender!DONE(current, 0, 0); current++; started = false }
    :: atomic { current <= TRANSFERS && over -> current++; over = false; started = false; ONLY(STAGE, count = 0) }
    od;
    UNLESS(STAGE, LOOP(pieces, TAGS, assert(!posted[pieces])))
}
