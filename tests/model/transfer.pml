/*
 * A transfer that starts, moves and is cancelled or destroyed, and the sleep of a rank.
 *
 *   src/ranks/transfer/transfer.h    quern_withdraw quern_begin_copy quern_end_copy
 *   src/ranks/transfer/progress.c    hear_end end_pair transfer.heard
 *   src/ranks/transfer/bytes.c       transfer.copying transfer.received
 *   src/ranks/transfer/transfers.c   transfer.ending
 *   src/ranks/eventcount.h           quern_notify quern_prepare_wait
 *
 * The sender and the receiver run ROUNDS rounds of one transfer.  Either may cancel at any time, also before its start, and then
 * needs its memory: the sender's is gone at once.  The receiver copies it in two pieces.  With THREADS a copy of memory that is
 * gone is a fault; else it gives rubbish.  In the end each has completed all rounds or knows that the transfer is over; a receiver
 * that completes has no rubbish; and nobody reads what is gone.  Sleeps have no limit here, so a lost wake-up is a deadlock.
 */
#include "common.pml"

#define SENDER   0
#define RECEIVER 1
mtype = { START, DONE, END };

chan ring[2] = [4] of { mtype };  /* [to] */
bool has_waiter[2];
byte eventcount[2];
byte ends;                        /* by the sender: withdrawals */
byte copying;                     /* by the receiver: odd while it copies */
bool gone;

inline notify(rank) { WHEN(has_waiter[rank], has_waiter[rank] = false; eventcount[rank]++) }

inline say(to, word) {
    ONLY(NOTIFY_BEFORE_THE_WORD, notify(to);)
    ring[to]!word;
    UNLESS(NOTIFY_BEFORE_THE_WORD, notify(to))
}

/* One look at the ring, which may be in vain. */
inline hear(me) {
    if
    :: ring[me]?word ->
        if
        :: word == START -> started++
        :: word == DONE -> done++
        :: word == END -> over = true; heard_ends++
        fi
    :: empty(ring[me])
    fi
}

/* Sleeps unless there is something to hear. */
inline rest(me) {
    UNLESS(LISTEN_AFTER_THE_LOOK, seen = eventcount[me]; has_waiter[me] = true;)
    if
    :: empty(ring[me]) -> ONLY(LISTEN_AFTER_THE_LOOK, seen = eventcount[me]; has_waiter[me] = true;) eventcount[me] != seen
    :: nempty(ring[me])
    fi;
    has_waiter[me] = false
}

/* The sender takes its memory back. */
inline withdraw() {
    PICK(END_IS_NOT_SAID, skip, say(RECEIVER, END));
    ONLY(WITHDRAWN_AFTER_THE_LOOK, before = copying;)
    UNLESS(NOT_WITHDRAWN, ends++;)
    ONLY(THREADS,
        UNLESS(WITHDRAWN_AFTER_THE_LOOK, before = copying;) UNLESS(COPY_NOT_AWAITED, WHEN(before % 2, copying != before);))
    gone = true
}

active proctype sender() {
    mtype word;
    byte round, started, done, heard_ends, seen, before;
    bool over;
    do
    :: round == ROUNDS || over -> break
    :: round < ROUNDS && !over -> over = true; withdraw(); goto end  /* cancelled before the start */
    :: round < ROUNDS && !over ->
        round++;
        say(RECEIVER, START);
        do
        :: done < round && !over -> hear(SENDER);
            if
            :: done < round && !over -> rest(SENDER)
            :: done < round && !over -> over = true; withdraw(); goto end  /* while it waits */
            :: else
            fi
        :: done == round || over -> break
        od
    od;
    WHEN(over, gone = true);  /* the other end has failed, and copies no more */
end:
    assert(over || done == ROUNDS)
}

/* True pieces are those of memory that is not gone. */
inline copy_piece() {
    copying++;
    PICK(NOT_LOOKED_BEFORE_THE_COPY, stands = true, stands = ends == heard_ends);
    WHEN(stands, rubbish = rubbish || gone; ONLY(THREADS, assert(!gone);) pieces++);
    copying++;
    UNLESS(NOT_LOOKED_AFTER_THE_COPY, WHEN(ends != heard_ends, stands = false))
}

active proctype receiver() {
    mtype word;
    byte round, started, done, heard_ends, seen, pieces;
    bool over, stands, rubbish;
    do
    :: round == ROUNDS || over -> break
    :: round < ROUNDS && !over -> over = true; say(SENDER, END)
    :: round < ROUNDS && !over ->
        round++;
        pieces = 0;
        do
        :: over -> break
        :: !over && pieces == 2 -> break
        :: !over && pieces < 2 ->
            hear(RECEIVER);
            if
            :: over
            :: !over && started < round -> rest(RECEIVER)
            :: !over && started >= round -> copy_piece();
                WHEN(!stands && pieces > 0, pieces = 0)  /* void; the word that says why is on its way */
            :: !over -> over = true; say(SENDER, END)
            fi
        od;
        WHEN(!over, assert(!rubbish); say(SENDER, DONE))
    od
}
