/*
 * How the living ranks of several hosts agree who of them goes on.  That the ranks of a host agree is proved by shrink.pml.
 *
 *   src/ranks/group/shrink.c    find_speaker speak await_decision join_hosts take_round_of_hosts
 *   src/ranks/hosts/quorum.c    quern_is_quorum decide tell_followers is_better
 *
 * The ranks of each host wait until the lowest of them, which speaks for the host, has a decision.  The speaker of the lowest host
 * that can be reached gathers: when all living ranks that it can reach wait, or a limit has ended, it draws a number for a set of
 * ranks, and tells the hosts one after the other.  A set is a quorum if it has more than half of all ranks, or half of them with
 * rank 0.
 *
 * The ranks of the set meet twice under the number.  A rank that finds, in the first meeting, that another has left comes again.
 * In the last meeting it does not: others may have completed it, so it ends with an error.  Who completes it has the group.
 *
 * DEATHS ranks die at any moment, speakers and gatherers too; with CUT, host 0 loses its cable; EXPIRIES limits end early.  At most
 * one group is completed; no rank waits for ever; and without CUT and EXPIRIES a group is completed, unless a rank dies in the last
 * meeting.
 */
#include "common.pml"

#define RANKS    (HOSTS * PER)
#define NUMBERS  (2 * (DEATHS + EXPIRIES) + 8)
#define ALL      ((1 << RANKS) - 1)
#define HOST(r)  ((r) / PER)
#define BIT(r)   (1 << (r))
#define OF(h)    (((1 << PER) - 1) << ((h) * PER))

byte dead, waiting, ended;         /* bit masks of ranks */
byte killed;
bool cut;
byte expiries = EXPIRIES;
byte numbers;                      /* drawn so far */
byte told[HOSTS];                  /* the last number that each host has heard */
byte set[NUMBERS], first[NUMBERS], last[NUMBERS], left[NUMBERS];  /* of each number: who is of it, has met, has left without it */
byte group;                        /* the number of which a rank has completed the last meeting; 0: none */

/* Whom a host reaches. */
#define REACHED(h)  (cut -> ((h) == 0 -> OF(0) : ALL & ~OF(0)) : ALL)
#define IS_CUT(n)   (cut && (set[n] & OF(0)) != 0 && (set[n] & ~OF(0)) != 0)
#define IS_OVER(n)  ((left[n] | (dead & set[n])) != 0 || IS_CUT(n))

/* Rank `me` speaks for its host, and that is the lowest that waits, of those that can be reached. */
#define GATHERS  ((waiting & REACHED(HOST(me)) & (BIT(me) - 1)) == 0)
#define ALL_HERE ((REACHED(HOST(me)) & ~(dead | ended | waiting)) == 0)

#define IS_QUORUM(m) PICK(NO_QUORUM, true, PICK(HALF_WITHOUT_RANK_0, (2 * COUNT(m) >= RANKS), PICK(MAJORITY_OF_THOSE_THAT_LIVE, \
    (2 * COUNT(m) > COUNT(REACHED(HOST(me)) & ~dead)), (2 * COUNT(m) > RANKS || (2 * COUNT(m) == RANKS && HAS(m, 0))))))

/* The number of a set that is no quorum is told, too: its ranks get an error. */
inline gather() {
    PICK(STALE_NUMBER, number = 1, numbers++; number = numbers);
    assert(number < NUMBERS);
    set[number] = waiting & REACHED(HOST(me))
}

/* This host last: its other ranks go on when all hosts know. */
inline tell() {
    host = HOSTS;
    do
    :: host == 0 -> break
    :: host > 0 ->
        host--;
        WHEN((set[number] & OF(host)) != 0 && (REACHED(HOST(me)) & OF(host)) != 0, told[host] = number)
    od
}

proctype rank(byte me) {
    byte number, heard, host;
    bool has_ended;
    {
        do
        :: true ->
            waiting = waiting | BIT(me);
await:
            skip;
            if
            :: atomic { told[HOST(me)] > heard -> heard = told[HOST(me)]; number = heard }
            :: atomic { told[HOST(me)] == heard && GATHERS && ALL_HERE -> gather() }; tell(); heard = number
            :: atomic { told[HOST(me)] == heard && GATHERS && !ALL_HERE && expiries > 0 -> expiries--; gather() };
                tell(); heard = number
            UNLESS(NO_LIMIT, :: timeout -> number = 0; break)
            fi;
            WHEN((set[number] & BIT(me)) == 0, goto await);  /* of a round before this rank's */
            WHEN(!IS_QUORUM(set[number]), break);
            d_step { waiting = waiting & ~BIT(me); first[number] = first[number] | BIT(me) };
            if
            :: first[number] == set[number]
            :: IS_OVER(number) -> goto again
            UNLESS(NO_LIMIT, :: timeout -> break)
            fi;
            last[number] = last[number] | BIT(me);
            if
            :: last[number] == set[number] ->
                atomic { assert(group == 0 || group == number); group = number };
                assert((left[number] & ~last[number]) == 0);
                number = 0;
                break
            :: IS_OVER(number) -> PICK(AGAIN_AFTER_THE_LAST, goto again, break)
            UNLESS(NO_LIMIT, :: timeout -> break)
            fi;
again:
            left[number] = left[number] | BIT(me)
        od;
        skip;
        d_step { waiting = waiting & ~BIT(me); left[number] = left[number] | BIT(me); ended = ended | BIT(me); has_ended = true }
    } unless {
        atomic { (killed & BIT(me)) != 0 && !has_ended -> dead = dead | BIT(me); waiting = waiting & ~BIT(me) }
    }
}

proctype killer() {
    byte victim;
    atomic { select (victim : 0 .. RANKS - 1); killed = killed | BIT(victim) }
}

proctype cutter() { cut = true }

init {
    byte who;
    atomic {
        LOOP(who, RANKS, run rank(who));
        LOOP(who, DEATHS, run killer());
        ONLY(CUT, run cutter())
    };
#if !defined(CUT) && EXPIRIES == 0 && 2 * DEATHS < HOSTS * PER
    _nr_pr == 1;
    who = 1;
    do
    :: who <= numbers && last[who] == 0 -> who++
    :: else -> break
    od;
    assert(group != 0 || who <= numbers)
#endif
}
