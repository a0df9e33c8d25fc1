/*
 * Missing ranks, and the one reason for which a group fails.
 *
 *   src/ranks/poison.c             quern_check_poison quern_poison poison.written poison.swapped poison.set
 *   src/ranks/meeting.c            expire meet.expiring meet.expired
 *   src/kernels/cuda/barrier.cuh   poison has_ended
 *
 * A wait that expires poisons the group: it writes its reason, in a place of its own, and then puts status and place into the word
 * `poison`, by one compare-and-swap from 0.  So the poison is unique, its text is complete once it is visible, and a rank may die
 * or stop at any step in between.  A kernel cannot swap words of the host's memory: it leaves an error record and raises `alarm`,
 * to which every writer writes 1; a host call that sees it turns the error record into the poison, unless the group is poisoned
 * already.
 *
 * Ranks go through ROUNDS meetings of all.  A wait may expire at any time, so a rank may be late by any amount.  One rank may be
 * killed at any step (with KILL), one may be aborted by another thread (with ABORT), and a GPU may give up (with KERNEL).  In the
 * end every call has returned, and all failed calls have returned the same.
 *
 * With ONE_LIMIT only one wait is short: another may expire only when the rank whose wait has expired is dead.  Then the poison
 * must end all others; spin reports any rank that it does not end as a deadlock.
 */
#include "common.pml"

#define PARTLY  1              /* of a text; 0: there is none */
#define WHOLE   2

#define TIMEOUT(rank)  (1 + (rank))
#define KERNEL_ERROR   (1 + RANKS)
#define ABORTED        (2 + RANKS)

byte signals[RANKS * RANKS];  /* [pad of RANKS + from] */
byte poison;                  /* 0: none */
bool alarm;
byte text[RANKS];
ONLY(KERNEL, bool error;)
ONLY(CLAIM_TAKEN_OVER, bool claimed;)

byte killed = NOBODY;
byte expired = NOBODY;        /* the rank whose wait expired last */
byte returned;                /* what failed calls have returned; 0: none yet */

#define MAY_EXPIRE PICK(ONE_LIMIT, (expired == NOBODY || expired == killed), true)

/* ---- the poison ---- */

inline swap_in(value) {
    d_step { WHEN(poison == 0, poison = value) };
    alarm = true
}

inline write_text(rank) {
    text[rank] = PARTLY;
    text[rank] = WHOLE
}

/*
 * Sets status to the group's poison.  CLAIM_TAKEN_OVER: a single place for the text, and a claim to it that expires, since its
 * holder may be dead.
 */
inline set_poison() {
#ifdef CLAIM_TAKEN_OVER
    d_step { status = claimed; claimed = true };
    if
    :: status && alarm
    :: true -> write_text(0); poison = TIMEOUT(0); alarm = true
    fi;
    status = poison
#else
    UNLESS(POISON_BEFORE_TEXT, write_text(me);)
    ONLY(POISON_OVERWRITTEN, d_step { poison = TIMEOUT(me); alarm = true };)
    UNLESS(POISON_OVERWRITTEN, UNLESS(EXPIRY_WITHOUT_POISON, swap_in(TIMEOUT(me));))
    ONLY(POISON_BEFORE_TEXT, write_text(me);)
    status = PICK(EXPIRY_WITHOUT_POISON, TIMEOUT(me), poison)
#endif
}

/* Sets status to the group's poison. */
inline check_poison() {
    status = 0;
    if
    :: !alarm
    :: alarm ->
        ONLY(KERNEL, WHEN(poison == 0, assert(error); swap_in(KERNEL_ERROR));)
        status = poison
    fi
}

/* A call has failed: with the one poison, whose text is complete. */
inline return_failure() {
    d_step {
        assert(status != 0);
        assert(returned == 0 || returned == status);
        returned = status;
        WHEN(status <= RANKS, assert(text[status - 1] == WHOLE));
        failed = true
    }
}

/* ---- a rank ---- */

inline announce() {
    do
    :: peer < RANKS -> atomic { signals[peer * RANKS + me] = round; peer++ }
    :: else -> break
    od;
    peer = 0
}

#define HAS_COME(rank) (signals[me * RANKS + rank] >= round)

inline await() {
    do
    :: atomic { peer < RANKS && HAS_COME(peer) -> peer++ }
    :: atomic { peer < RANKS && !HAS_COME(peer) && MAY_EXPIRE -> expired = me; peer = 0 }; set_poison(); break
    UNLESS(POISON_CHECKED_ONLY_AT_BEGIN, :: peer < RANKS && alarm -> peer = 0; check_poison(); break)
    :: peer == RANKS -> peer = 0; break
    od
}

proctype rank(byte me) {
    byte round = 1, peer, status;
    bool failed;
    {
        do
        :: round <= ROUNDS ->
            check_poison();
            if
            :: status != 0 -> return_failure()
            :: else ->
                assert(!failed);  /* after one failure every call fails */
                announce();
                await();
                WHEN(status != 0, return_failure())
            fi;
            atomic { status = 0; round++ }
        :: else -> break
        od
    } unless { killed == me }
}

ONLY(ABORT, active proctype another_thread() { swap_in(ABORTED) })

#ifdef KERNEL
/* The wait of rank 0's GPU: it expires, or the kernel sees the alarm. */
active proctype kernel() {
    if
    :: true ->
        error = true;
        ONLY(KERNEL_STORES_POISON, WHEN(poison == 0, poison = KERNEL_ERROR);)
        alarm = true
    :: alarm
    fi
}
#endif

ONLY(KILL, KILLER)
RUN_RANKS
