/*
 * How the living ranks of a failed group agree on who they are, and form a new group.
 *
 *   src/ranks/group/shrink.c    come await_words exclude_own is_of is_decided check_round find_living join_living take_rounds
 *
 * Each rank has a word: the last round to which it has come, and the round in which it was excluded, if any.  A rank comes to a
 * round by compare-and-swap on its own word.  Whoever waits for it excludes it by compare-and-swap if it is dead, or if the limit
 * has ended.  So each word decides once for all ranks whether its rank is of a round: it has come to it, and was not excluded
 * before or in it.  When every word has decided, the ranks of the round meet in a file, under a name with the number of the round.
 *
 * A rank of the round may die before it has joined the file, or fail and exclude itself from the next round.  Then the round is
 * over: who sees that refuses the file and comes to the next round.  A file becomes ready or is refused, whichever mark is first.
 * A rank that comes to a refused file makes another one.  It finds that the round is over when a rank of it has come to the next.
 *
 * Ranks die at any moment, DEATHS in all.  EXPIRIES limits end before a rank has come.  FAILURES ranks fail to join, for want of
 * memory.  In the end all ranks that have a group have it of the same round with the same ranks, and no rank waits for ever.
 */
#include "common.pml"

#define ROUNDS  (RANKS + EXPIRIES + FAILURES + 1)
#define FILES   (RANKS + 1)        /* of one round */

#define FORMING 0
#define READY   1
#define REFUSED 2

byte came[RANKS], out[RANKS];      /* one word; out: 0: not excluded */
bool killed[RANKS], dead[RANKS];
byte expiries = EXPIRIES, failures = FAILURES;

typedef Round { byte file; byte state[FILES]; byte joined[FILES]; byte ranks[FILES] };
Round round_of[ROUNDS];

byte met_round, met_ranks;         /* of those who have a group; ranks: a bit mask */

/* Whether the word of a rank has decided, and how. */
#define is_of(r, k)       (came[r] >= (k) && (out[r] == 0 || out[r] > (k)))
#define is_decided(r, k)  (came[r] >= (k) || out[r] != 0)

inline come() {
    PICK(COME_WITHOUT_COMPARING, WHEN(out[me] != 0, goto excluded); atomic { came[me] = k; out[me] = 0 },
         atomic { WHEN(out[me] != 0, goto excluded); came[me] = k })
}

inline exclude(r) { PICK(EXCLUDE_WITHOUT_COMPARING, out[r] = k, atomic { WHEN(!is_decided(r, k), out[r] = k) }) }

inline await_words() {
    LOOP(other, RANKS,
        if
        :: is_decided(other, k)
        :: !is_decided(other, k) && dead[other] -> exclude(other)
        :: atomic { !is_decided(other, k) && expiries > 0 -> expiries-- }; exclude(other)
        fi)
}

/* Each word has decided, so that the order of these steps does not matter. */
inline read_words() {
    d_step {
        mine = 0;
        count = 0;
        LOOP(other, RANKS, WHEN(is_of(other, k), mine = mine | (1 << other); count++))
    }
}

#define has_gone(r)  (HAS(mine, r) && (r) != me && (dead[r] || came[r] > k || out[r] > k))
#define IS_OVER      (has_gone(0) || has_gone(1) || has_gone(RANKS - 1))

inline mark(what) { atomic { WHEN(round_of[k].state[file] == FORMING, round_of[k].state[file] = what) } }

inline join() {
    atomic {
        WHEN(round_of[k].state[round_of[k].file] == REFUSED, round_of[k].file++);
        file = round_of[k].file;
        assert(round_of[k].joined[file] == 0 || round_of[k].ranks[file] == mine);
        round_of[k].ranks[file] = mine;
        round_of[k].joined[file]++;
        is_last = (round_of[k].joined[file] == count)
    };
    WHEN(is_last, mark(READY));
    is_last = false
}

inline await_file() {
    do
    :: round_of[k].state[file] == READY -> break
    :: round_of[k].state[file] == REFUSED -> goto next
    UNLESS(ROUND_NEVER_OVER,
        :: round_of[k].state[file] == FORMING && IS_OVER -> PICK(LEFT_WITHOUT_REFUSING, goto next, mark(REFUSED)))
    od
}

proctype rank(byte me) {
    byte k = 1, other, mine, count, file;
    bool is_last, has_ended;
    {
        do
        :: true ->
            come();
            await_words();
            read_words();
            WHEN(!HAS(mine, me), goto excluded);
            if
            :: atomic { failures > 0 -> failures-- };
                UNLESS(FAILED_WITHOUT_EXCLUSION, out[me] = PICK(EXCLUDED_FROM_ITS_ROUND, k, k + 1);)
                goto excluded
            :: true
            fi;
            join();
            await_file();
            atomic { assert(met_round == 0 || (met_round == k && met_ranks == mine)); met_round = k; met_ranks = mine };
            goto excluded;
next:
            k++;
            assert(k < ROUNDS)
        od;
excluded:
        has_ended = true
    } unless {
        atomic { killed[me] && !has_ended -> dead[me] = true }
    }
}

/* A rank that has ended already does not notice. */
proctype killer() {
    byte victim;
    atomic { select (victim : 0 .. RANKS - 1); killed[victim] = true }
}

init {
    byte first;
    atomic {
        LOOP(first, RANKS, run rank(first));
        LOOP(first, DEATHS, run killer())
    }
}
