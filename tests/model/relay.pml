/*
 * Messages of ranks over the relays of two hosts: put, get, take_frames and give_credit (src/ranks/hosts/relayed.c), gather, deliver
 * and hand_over (src/ranks/hosts/relay.c).
 *
 * On host 0 rank A sends UNITS frames to rank B of host 1, and receives nothing.  Rank C sends to rank D, which takes nothing: C stops
 * at the window.  A frame of credit goes back from B to A.  Rings have room for ROOM frames, the connection for one.  Sleeps are left
 * out: a rank that cannot go on waits for a change.  In the end B has all units in their order, whatever becomes of C and D, and no
 * more waits in the relay of host 1 than the windows allow.
 */
#define A 0
#define C 1

chan out[2] = [ROOM] of { byte };    /* from A and from C to their relay: the number of the unit */
chan wire = [1] of { byte, byte };   /* who has sent; the number */
chan in[2] = [ROOM] of { byte };     /* from the relay of host 1 to B and to D */
chan back = [1] of { byte };         /* credit from B to A, over both relays */
byte waiting[2], first[2];           /* frames in the relay for B and D: their number, and that of the first */
byte on_way[2];                      /* of A's and C's frames: not taken, as far as the sender knows */
byte got;                            /* by B */

/* A looks for credit when its window is used up, although it awaits no message. */
#ifdef CREDIT_NOT_READ
#define LOOK_FOR_CREDIT false
#else
#define LOOK_FOR_CREDIT nempty(back)
#endif

#ifdef NO_WINDOW
#define MAY_SEND(who) (true)
#else
#define MAY_SEND(who) (on_way[who] < WINDOW)
#endif

proctype sender_a() {
    byte next, credit;
    do
    :: next < UNITS && MAY_SEND(A) -> out[A]!next; on_way[A]++; next++
    :: next < UNITS && !MAY_SEND(A) && LOOK_FOR_CREDIT ->
        back?credit;
        assert(credit <= on_way[A]);
        on_way[A] = on_way[A] - credit
    :: next == UNITS -> break
    od
}

/* It goes on as far as its window lets it. */
proctype sender_c() {
    byte next;
    do
    :: next < UNITS && MAY_SEND(C) ->
        if
        :: out[C]!next; on_way[C]++; next++
        fi
    :: next == UNITS || !MAY_SEND(C) -> break
    od
}

active proctype relay_of_senders() {
    byte unit;
end:
    do
    :: out[A]?unit -> wire!A, unit
    :: out[C]?unit -> wire!C, unit
    od
}

/* What waits is handed over first, in its order. */
#ifdef OVERTAKES
#define FITS(who) (nfull(in[who]))
#else
#define FITS(who) (!waiting[who] && nfull(in[who]))
#endif

inline deliver(who, unit) {
#ifdef NO_WAITING
    in[who]!unit
#else
    if
    :: FITS(who) -> in[who]!unit
    :: else ->
        if
        :: !waiting[who] -> first[who] = unit
        :: else
        fi;
        waiting[who]++;
        assert(waiting[who] <= WINDOW)
    fi
#endif
}

active proctype relay_of_receivers() {
    byte who, unit;
end:
    do
    :: atomic { wire?who, unit -> deliver(who, unit) }
    :: atomic { waiting[A] && nfull(in[A]) -> in[A]!first[A]; first[A]++; waiting[A]-- }
    od
}

/* Credit for half of a window.  If there is no room for it now, it is given later. */
proctype receiver_b() {
    byte unit, taken;
    do
    :: got < UNITS && nempty(in[A]) ->
        in[A]?unit;
        assert(unit == got);
        got++;
        taken++
    :: taken >= WINDOW / 2 && nfull(back) -> back!taken; taken = 0
#ifdef CREDIT_LOST
    :: taken >= WINDOW / 2 -> taken = 0
#endif
    :: got == UNITS -> break
    od
}

init {
    atomic {
        run sender_a();
        run sender_c();
        run receiver_b()
    }
    (_nr_pr == 3);  /* the relays */
    assert(got == UNITS)
}
