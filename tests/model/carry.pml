/*
 * Transfers between hosts by messages of a carrier: READY, the message or NONE (src/ranks/transfer/carrier_path.c), and the words START, DONE
 * and END around them (progress.c).
 *
 * A sender and a receiver have TRANSFERS transfers of PIECES messages, one after the other.  Either may cancel each at any time, also
 * before its start, and then goes on to the next one.  The carrier has SLOTS messages under way, and TAGS tags.  A message without a
 * receive is lost for later ones, so there is none; a receive whose message never comes is cancelled, and in the end nothing is left
 * in the carrier.  A transfer that the receiver completes has all its pieces, and nothing is written into one that is over.
 */
mtype = { START, READY, NONE, DONE, END };

chan to_sender = [10] of { mtype, byte, byte };    /* a word; its transfer; its number */
chan to_receiver = [10] of { mtype, byte, byte };

byte posted[TAGS];                                 /* 1 + the number of the receive of a tag; 0: there is none */
byte come[TAGS];                                   /* 1 + the piece that has come for it; 0: none */
bool cancelled[TRANSFERS + 2];

/* The transfer is over at this end, which says so; the other end has said that it is over. */
inline end_sending() {
    over = true;
    order[0] = 0;
    order[1] = 0;
    to_receiver!END, current, 0
}

inline end_receiving() {
    over = true;
#ifndef BYTES_OF_WHAT_IS_OVER
    slot[0] = 0;
    slot[1] = 0;
#endif
#ifdef CANCELLED_WITHOUT_NONE
    do
    :: oldest != next && !come[oldest % TAGS] -> posted[oldest % TAGS] = 0; oldest++
    :: else -> break
    od;
#endif
    to_sender!END, current, 0
}

inline hear_end() {
    ended[transfer] = true;
    is_news = transfer == current && started && !over
}

active proctype sender() {
    byte current = 1, transfer, number, next, ordered, piece;
    byte order[SLOTS];                             /* the transfer of a READY; 0: it is over */
    bool ended[TRANSFERS + 2], over, started, done, is_news;
    mtype word;

    do
    :: atomic { nempty(to_sender) ->
        to_sender?word, transfer, number;
        if
        :: word == READY ->
            assert(number == ordered && ordered - next < SLOTS);
            if
            :: transfer == current && started && !over && !done -> order[ordered % SLOTS] = transfer
            :: else -> order[ordered % SLOTS] = 0
            fi;
            ordered++
        :: word == DONE -> done = done || (transfer == current && started && !over)
        :: word == END -> hear_end();
            if
            :: is_news && !done -> assert(cancelled[current]); end_sending()
            :: else
            fi
        fi }
    :: atomic { next != ordered ->
        if
        :: order[next % SLOTS] ->
            assert(posted[next % TAGS] == next + 1 && !come[next % TAGS]);
            piece++;
            come[next % TAGS] = piece
        :: else ->
#ifdef NONE_NOT_SAID
            skip
#else
            to_receiver!NONE, 0, next
#endif
        fi;
#ifdef NONE_WITHOUT_A_NUMBER
        if
        :: order[next % SLOTS] -> next++
        :: else -> ordered--
        fi }
#else
        next++ }
#endif
    :: atomic { current <= TRANSFERS && !started && !over ->
        piece = 0;
        if
        :: ended[current] -> end_sending()
        :: !ended[current] -> started = true; to_receiver!START, current, 0
        :: !ended[current] -> cancelled[current] = true; end_sending()
        fi }
    :: atomic { current <= TRANSFERS && started && !over && !done ->
        cancelled[current] = true; end_sending() }
    :: atomic { current <= TRANSFERS && (over || done) ->
        current++; over = false; started = false; done = false }
    :: current > TRANSFERS && empty(to_sender) && next == ordered ->
end_served:
        nempty(to_sender)
    od
}

active proctype receiver() {
    byte current = 1, transfer, number, next, oldest, asked, pieces;
    byte slot[SLOTS];                              /* the transfer of a receive; 0: nobody's any more */
    bool ended[TRANSFERS + 2], other_started[TRANSFERS + 2], none[SLOTS], over, started, is_news;
    mtype word;
    do
    :: atomic { nempty(to_receiver) ->
        to_receiver?word, transfer, number;
        if
        :: word == START -> other_started[transfer] = true
        :: word == NONE -> none[number % SLOTS] = true; slot[number % SLOTS] = 0
        :: word == END -> hear_end();
            if
            :: is_news -> assert(cancelled[current]); end_receiving()
            :: else
            fi
        fi }
    :: atomic { started && !over && other_started[current] && asked < PIECES && next - oldest < SLOTS ->
#ifndef READY_BEFORE_THE_RECEIVE
        assert(!posted[next % TAGS]);
        posted[next % TAGS] = next + 1;
#endif
        slot[next % SLOTS] = current;
        none[next % SLOTS] = false;
        to_sender!READY, current, next;
        next++;
        asked++ }
#ifdef READY_BEFORE_THE_RECEIVE
    :: atomic { next != oldest && !posted[(next - 1) % TAGS] -> posted[(next - 1) % TAGS] = next }
#endif
    :: atomic { oldest != next && come[oldest % TAGS] ->
        assert(!none[oldest % SLOTS]);
        if
        :: slot[oldest % SLOTS] ->
            assert(slot[oldest % SLOTS] == current && !over);
            pieces++;
            assert(come[oldest % TAGS] == pieces)
        :: else
        fi;
        posted[oldest % TAGS] = 0;
        come[oldest % TAGS] = 0;
        oldest++ }
    :: atomic { oldest != next && none[oldest % SLOTS] ->
        posted[oldest % TAGS] = 0;
        oldest++ }
    :: atomic { current <= TRANSFERS && !started && !over ->
        asked = 0;
        pieces = 0;
        if
        :: ended[current] -> end_receiving()
        :: !ended[current] -> started = true
        :: !ended[current] -> cancelled[current] = true; end_receiving()
        fi }
    :: atomic { current <= TRANSFERS && started && !over && pieces < PIECES ->
        cancelled[current] = true; end_receiving() }
    :: atomic { current <= TRANSFERS && started && !over && pieces == PIECES ->
        to_sender!DONE, current, 0;
        current++; started = false }
    :: atomic { current <= TRANSFERS && over -> current++; over = false; started = false }
    :: current > TRANSFERS && oldest == next -> break
    od;
    for (number : 0 .. TAGS - 1) { assert(!posted[number]) }
}
