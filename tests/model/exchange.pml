/*
 * Calls in which ranks exchange data.  Each round is a call of any ranks, on the same memory; all data is the number of its call.
 *
 *   src/ranks/ragged/ragged_host.c            ragged.recorded ragged.entered ragged.examined ragged.voted ragged.copied
 *   src/ranks/ragged/ragged_host.c            ragged.leaving run_eager ragged.briefed ragged.received vote
 *   src/ranks/ragged/ragged_eager.c           quern_ragged_read_eager quern_ragged_receive quern_ragged_deliver
 *   src/kernels/cuda/ragged_all_to_all.cuh    enter pass_vote copy
 *   src/kernels/cuda/slice_error.cuh          nobody_refused end_with
 *   src/kernels/cuda/collective_slots.cuh     begin send agree
 *   src/kernels/collective_problem.h          quern_slot_offset
 *
 * Without a switch it is the ragged all-to-all of CPU ranks:
 *
 *   entry     All records have arrived, and all outputs may be overwritten.
 *   vote      All ranks have checked their slices and voted.  In one call one rank may find a bad one.
 *   exit      All copies have been made and all votes read: inputs, outputs, records and votes may change.
 *
 * Records and votes are in the memory of the rank that writes them.  The exit is met after a bad vote too: otherwise a rank that
 * has read the vote might make its next call, with others, and a slower one would take the vote on that call for one on this.
 * Copies are made by the sender, or with FETCH by the receiver.
 *
 * With EAGER a rank writes its eager message before the entry, into the half of the meeting's parity, and offers either way.  If
 * all offer the small way, each copies out of the messages, and the call ends without another meeting: a message may still be read
 * when its rank writes the next one, but not the one after it.  Else all go on as without a switch, but for the vote.
 *
 * With GPU the entry and the vote are one launch, the copy and the exit the next one of the stream.  A rank may refuse its
 * arguments, or find a bad slice.  It says so with the signal of the meeting; that is visible only until the next one.  But a rank
 * that reads it ends: it poisons the group and signals no more, so that slower ranks still find it.  If all ranks have refused, all
 * of them know it and continue.  Then a rank may be further when a slower one reads; the slower one has refused too, so it knows
 * that all have.
 *
 * With SLOTS it is a small collective of GPU ranks, or only a barrier.  Each pair counts the collectives in which both took part,
 * and the parity of the count selects one of two slots at the receiver.  There is no exit, so the others may be in their next
 * calls.  With MULTICAST the meetings of all ranks have signals and a count of their own.
 */
#ifdef EAGER
#define LEAST EVERYONE
#endif
#include "ranks.pml"

#define CALL   (round + 1)

byte inside[RANKS];             /* the call that each rank is in; 0: none */
byte input[RANKS], output[RANKS * RANKS], inbox[RANKS * RANKS];
byte record[RANKS * 2];         /* [of RANKS + half]: the call that it is of; only EAGER has halves */
#define AT(of, from) [(of) * RANKS + (from)]

/* The end of each call, as seen by the first rank to know it; 0: none yet. */
byte judgement[ROUNDS];
#define GOOD    1               /* all copy, into each other's outputs */
#define SMALL   2               /* each copies out of what has come to it */
#define BAD     3
#define REFUSED 4

inline agree() { atomic { assert(judgement[round] == 0 || judgement[round] == what); judgement[round] = what } }

/* The call in which some ranks refuse, or one finds a fault. */
byte odd_round = ROUNDS, refusers, faulty = NOBODY;
#define REFUSES     (round == odd_round && HAS(refusers, me))
#define FINDS_FAULT (round == odd_round && me == faulty)

inline draw_odd_round() {
    if
    :: true
    :: true ->
        select (odd_round : 0 .. ROUNDS - 1);
        if
        ONLY(GPU, :: true -> select (drawn : 1 .. EVERYONE); refusers = members[odd_round] & drawn)
        :: true -> select (drawn : 0 .. RANKS - 1); faulty = (HAS(members[odd_round], drawn) -> drawn : NOBODY)
        fi;
        odd_round = (refusers || faulty != NOBODY -> odd_round : ROUNDS)
    fi
}

/* ---- meetings: one step for each peer to see that it has come, as meeting.pml allows ---- */

byte arrivals[RANKS * RANKS];   /* [at RANKS + from]: meetings */
bool dissent[RANKS * RANKS];    /* with the last arrival */
byte line[RANKS];               /* with MULTICAST: of the meetings of all ranks */
bool poison;
#define BY_LINE PICK(MULTICAST, (members[round] == EVERYONE), false)

#if defined(SLOTS) || defined(EAGER)
#define TELL_PEERS(...) FOR_EACH_PEER(d_step { __VA_ARGS__ })
#else
#define TELL_PEERS(...) atomic { FOR_PEERS(__VA_ARGS__) }
#endif

inline announce(dissents) {
    ONLY(MULTICAST, if :: BY_LINE -> d_step { all_count++; line[me] = all_count } :: else ->)
    TELL_PEERS(count[peer]++; arrivals AT(peer, me) = count[peer]; dissent AT(peer, me) = dissents)
    ONLY(MULTICAST, fi)
}

#define HAS_COME(peer) PICK(MULTICAST, (BY_LINE -> line[peer] >= all_count : arrivals AT(me, peer) >= count[peer]), \
                            arrivals AT(me, peer) >= count[peer])

/* A rank that has arrived is not checked for poison. */
inline await() { FOR_EACH_PEER(PICK(GPU, if :: HAS_COME(peer) :: poison -> goto ended fi, HAS_COME(peer))) }

inline meet() { announce(false); await() }

/* ---- the engine's part ---- */

/* A new input, and a cleared output. */
inline enter_call() {
    atomic {
        input[me] = CALL;
        FOR_PEERS(output AT(me, peer) = 0);
        inside[me] = CALL
    }
}

/* The engine owns its memory again; the output is as expected, or unwritten. */
inline return_from_call(expected) {
    atomic {
        inside[me] = 0;
        input[me] = 0;
        FOR_PEERS(assert(output AT(me, peer) == expected))
    }
}

/* ---- what a call writes before the entry, and how its ranks decide ---- */

#if defined(SLOTS)

byte slots[RANKS * RANKS * 2];
bool has_data[ROUNDS];
#define PREPARE for (round : 0 .. ROUNDS - 1) { select (drawn : 0 .. 1); has_data[round] = drawn }
#define SLOT(owner, from, half) slots[((owner) * RANKS + (from)) * 2 + (half)]
#define HALF(peer) PICK(ONE_SLOT, 0, \
    PICK(HALF_OF_THE_MEETING, ((BY_LINE -> all_count : count[peer]) % 2), PICK(HALF_OF_ALL_CALLS, (calls % 2), (sent[peer] % 2))))

inline write_record() {
    WHEN(has_data[round],
        FOR_EACH_PEER(d_step { half[peer] = HALF(peer); sent[peer] = (sent[peer] + 1) % 2; SLOT(peer, me, half[peer]) = CALL });
        calls = (calls + 1) % 2)
}
inline decide()  { UNLESS(SIGNAL_BEFORE_DATA, announce(false);) await(); what = (has_data[round] -> SMALL : 0) }
inline receive() { FOR_EACH_PEER(d_step { assert(SLOT(me, peer, half[peer]) == CALL); half[peer] = 0 }) }

#elif defined(EAGER)

byte offer[RANKS * 2];
#define PREPARE   skip
#define PLACE(of) [(of) * 2 + PICK(ONE_HALF, 0, parity)]

inline write_record() {
    parity = 1 - parity;
    if
    :: mine = SMALL
    :: mine = GOOD
    fi;
    offer PLACE(me) = mine;
    record PLACE(me) = CALL
}
inline decide() {
    UNLESS(NO_ENTRY, meet();)
    what = mine;
    FOR_EACH_PEER(assert(record PLACE(peer) == CALL); what = (offer PLACE(peer) < what -> offer PLACE(peer) : what));
    ONLY(OWN_OFFER_DECIDES, what = mine;)
    agree()
}
inline receive() { FOR_EACH_PEER(assert(record PLACE(peer) == CALL); output AT(me, peer) = record PLACE(peer)) }

#else

byte report[RANKS], vote[RANKS];   /* on which call, ... */
bool is_bad[RANKS];                /* ... and what the vote says */
#define PREPARE draw_odd_round()

/* INBOX_BY_PLACE: at the receiver, at the sender's position among the members; in the next call another rank may have it. */
#define PLACE(rank) COUNT(members[round] & ((1 << (rank)) - 1))
inline check_records() {
    FOR_EACH_PEER(assert(PICK(INBOX_BY_PLACE, inbox AT(me, PLACE(peer)), record[peer]) == CALL))
}

#ifdef GPU

inline write_record() { WHEN(!REFUSES, report[me] = 0; record[me] = CALL) }

/* The ranks that report an error, as a set. */
inline exchange_dissents(dissents) {
    announce(dissents);
    await();
    dissenting = (dissents -> 1 << me : 0);
    FOR_EACH_PEER(
        if
        :: arrivals AT(me, peer) == count[peer] -> dissenting = dissenting | dissent AT(me, peer) << peer
        :: else -> PICK(DISSENT_LOST_WHEN_AHEAD, skip, dissenting = dissenting | dissents << peer)
        fi)
}
inline end() { poison = true; goto ended }

inline decide() {
    exchange_dissents(REFUSES);
    if
    :: dissenting == 0 ->
        check_records();
        WHEN(FINDS_FAULT, report[me] = CALL);
        exchange_dissents(FINDS_FAULT);
        what = (dissenting -> BAD : GOOD);
        agree();
        WHEN(dissenting, assert(report[faulty] == CALL); UNLESS(GROUP_GOES_ON, return_from_call(0); end()))
    :: dissenting == members[round] -> what = REFUSED; agree()
    :: else -> what = BAD; agree(); end()
    fi;
    dissenting = 0
}

#else

inline write(call)    { PICK(INBOX_BY_PLACE, FOR_EACH_PEER(inbox AT(peer, PLACE(me)) = call), record[me] = call) }
inline write_record() { PICK(NOTICES_BEFORE_EXIT, WHEN(record[me] != CALL, write(CALL)), write(CALL)) }

inline give_vote()    { atomic { vote[me] = CALL; is_bad[me] = FINDS_FAULT } }
inline read_votes()   { FOR_EACH_PEER(assert(vote[peer] == CALL); what = (is_bad[peer] -> BAD : what)) }

inline decide() {
    UNLESS(NO_ENTRY, meet();)
    check_records();
    give_vote();
    what = (FINDS_FAULT -> BAD : GOOD);
    ONLY(VOTE_READ_BEFORE_MEETING, read_votes();)
    UNLESS(NO_VOTE_MEETING, meet(); UNLESS(VOTE_READ_BEFORE_MEETING, read_votes();))
    agree()
}

#endif

inline receive() { skip }

#endif

/* ---- a rank ---- */

inline copy() {
    assert(round != odd_round);
    FOR_EACH_PEER(
        assert(inside[peer] == CALL);
        PICK(FETCH, assert(record[peer] == CALL); output AT(me, peer) = input[peer], output AT(peer, me) = input[me]))
}

inline leave() {
    ONLY(EAGER, parity = 1 - parity;)
    ONLY(NOTICES_BEFORE_EXIT, write(CALL + 1);)
    PICK(NO_EXIT, skip, announce(false); PICK(EXIT_NOT_AWAITED, skip, await()))
}

proctype rank(byte me) {
    byte round, peer, what, mine, count[RANKS];
    ONLY(GPU, byte dissenting;)
    ONLY(EAGER, byte parity;)
    ONLY(SLOTS, byte sent[RANKS]; byte half[RANKS]; byte all_count; byte calls;)
    atomic { next_round() };
    do
    :: round < ROUNDS ->
        UNLESS(SLOTS, enter_call();)
        ONLY(SIGNAL_BEFORE_DATA, announce(false);)
        write_record();
        decide();
        if
        :: what == GOOD -> copy()
        :: what == SMALL -> receive()
        :: else
        fi;
        WHEN(what == GOOD || (what == BAD && PICK(NO_EXIT_AFTER_BAD_VOTE, false, PICK(GPU, false, true))), leave());
        UNLESS(SLOTS, return_from_call((what == BAD || what == REFUSED -> 0 : CALL));)
        atomic { what = 0; mine = 0; round++; next_round() }
    :: else -> break
    od;
ended:
    skip
}

START(PREPARE)
