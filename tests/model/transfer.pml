/*
 * A transfer that starts, moves and is cancelled or destroyed: quern_withdraw, quern_begin_copy and quern_end_copy
 * (src/ranks/transfer/transfer.h), hear_end and end_pair (src/ranks/transfer/progress.c), and the sleep of a rank (quern_notify and
 * quern_prepare_wait, src/ranks/eventcount.h).
 *
 * The sender and the receiver run ROUNDS rounds of one transfer.  Either may cancel at any time, also before its start, and then needs
 * its memory: the sender's is gone at once.  The receiver copies it in two pieces.  With THREADS a copy of memory that is gone is
 * a fault; else it gives rubbish.  In the end each has completed all rounds or knows that the transfer is over; a receiver that
 * completes has no rubbish; and nobody reads what is gone.  Sleeps have no limit here, so a lost wake-up is a deadlock.
 */
#define SENDER   0
#define RECEIVER 1
mtype = { START, DONE, END };

chan ring[2] = [4] of { mtype };  /* [to] */
bool has_waiter[2];
byte eventcount[2];
byte ends;                        /* by the sender: withdrawals */
byte copying;                     /* by the receiver: odd while it copies */
bool gone;

inline notify(rank) {
    if
    :: has_waiter[rank] -> has_waiter[rank] = false; eventcount[rank]++
    :: else
    fi
}

inline say(to, word) {
#ifdef NOTIFY_BEFORE_THE_WORD
    notify(to);
    ring[to]!word
#else
    ring[to]!word;
    notify(to)
#endif
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
#ifdef LISTEN_AFTER_THE_LOOK
    if
    :: empty(ring[me]) -> seen = eventcount[me]; has_waiter[me] = true; eventcount[me] != seen
    :: nempty(ring[me])
    fi;
#else
    seen = eventcount[me];
    has_waiter[me] = true;
    if
    :: empty(ring[me]) -> eventcount[me] != seen
    :: nempty(ring[me])
    fi;
#endif
    has_waiter[me] = false
}

/* The sender takes its memory back. */
inline withdraw() {
#ifdef END_IS_NOT_SAID
    skip;
#else
    say(RECEIVER, END);
#endif
#ifdef WITHDRAWN_AFTER_THE_LOOK
    before = copying;
#endif
#ifndef NOT_WITHDRAWN
    ends++;
#endif
#ifdef THREADS
#ifndef WITHDRAWN_AFTER_THE_LOOK
    before = copying;
#endif
#ifndef COPY_NOT_AWAITED
    if
    :: before % 2 -> copying != before
    :: before % 2 == 0
    fi;
#endif
#endif
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
    if
    :: over -> gone = true  /* the other end has failed, and copies no more */
    :: else
    fi;
end:
    assert(over || done == ROUNDS)
}

/* True pieces are those of memory that is not gone. */
inline copy_piece() {
    copying++;
#ifndef NOT_LOOKED_BEFORE_THE_COPY
    stands = ends == heard_ends;
#else
    stands = true;
#endif
    if
    :: stands ->
        rubbish = rubbish || gone;
#ifdef THREADS
        assert(!gone);
#endif
        pieces++
    :: !stands
    fi;
    copying++;
#ifndef NOT_LOOKED_AFTER_THE_COPY
    if
    :: ends != heard_ends -> stands = false
    :: else
    fi
#endif
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
                if
                :: !stands && pieces > 0 -> pieces = 0  /* void; the word that says why is on its way */
                :: else
                fi
            :: !over -> over = true; say(SENDER, END)
            fi
        od;
        if
        :: !over -> assert(!rubbish); say(SENDER, DONE)
        :: else
        fi
    od
}
