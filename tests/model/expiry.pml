/*
 * Missing ranks: quern_check_poison and quern_poison (src/ranks/poison.c), the end of quern_await (src/ranks/meeting.c), poison
 * and has_ended in kernels (src/kernels/cuda/barrier.cuh).
 *
 * A wait that expires poisons the group: it writes its reason, in a place of its own, and then puts status and place into the
 * word `poison`, by one compare-and-swap from 0.  So the poison is unique, its text is complete once it is visible, and a rank
 * may die or stop at any step in between.  A kernel cannot swap words of the host's memory: it leaves an error record and raises
 * `alarm`, to which every writer writes 1; a host call that sees it turns the error record into the poison, unless the group is
 * poisoned already.
 *
 * Ranks go through ROUNDS meetings of all.  A wait may expire at any time, so a rank may be late by any amount.  One rank may be
 * killed at any step (with KILL), one may be aborted by another thread (with ABORT), and a GPU may give up (with KERNEL).  In the
 * end every call has returned, and all failed calls have returned the same.
 *
 * With ONE_LIMIT only one wait is short: another may expire only when the rank whose wait has expired is dead.  Then the poison
 * must end all others; spin reports any rank that it does not end as a deadlock.
 */
#define NOBODY  RANKS
#define NO_TEXT 0
#define PARTLY  1
#define WHOLE   2

#define TIMEOUT(rank)  (1 + (rank))
#define KERNEL_ERROR(rank) (1 + RANKS + (rank))
#define ABORTED        (1 + 2 * RANKS)

byte signals[RANKS * RANKS];  /* [pad of RANKS + from] */
byte poison;                  /* 0: none */
bool alarm;
byte text[RANKS];
#ifdef KERNEL
bool error[RANKS];
#endif
#ifdef CLAIM_TAKEN_OVER
bool claimed;
#endif

byte killed = NOBODY;
byte expired = NOBODY;        /* the rank whose wait expired last */
byte returned;                /* what failed calls have returned; 0: none yet */

#ifdef ONE_LIMIT
#define MAY_EXPIRE (expired == NOBODY || expired == killed)
#else
#define MAY_EXPIRE true
#endif

/* ---- the poison ---- */

inline swap_in(value) {
    d_step {
        if
        :: poison == 0 -> poison = value
        :: else
        fi
    };
    alarm = true
}

inline write_text(rank) {
    text[rank] = PARTLY;
    text[rank] = WHOLE
}

/* Sets status to the group's poison. */
inline set_poison() {
#if defined(EXPIRY_WITHOUT_POISON)
    write_text(me);
    status = TIMEOUT(me)
#elif defined(POISON_BEFORE_TEXT)
    swap_in(TIMEOUT(me));
    write_text(me);
    status = poison
#elif defined(POISON_OVERWRITTEN)
    write_text(me);
    d_step { poison = TIMEOUT(me); alarm = true };
    status = poison
#elif defined(CLAIM_TAKEN_OVER)
    /* A single place for the text, and a claim to it that expires, since its holder may be dead. */
    d_step { status = claimed; claimed = true };
    if
    :: status && alarm
    :: true -> write_text(0); poison = TIMEOUT(0); alarm = true
    fi;
    status = poison
#else
    write_text(me);
    swap_in(TIMEOUT(me));
    status = poison
#endif
}

/* Sets status to the group's poison. */
inline check_poison() {
    status = 0;
    if
    :: !alarm
    :: alarm ->
#ifdef KERNEL
        if
        :: poison == 0 ->
            peer = 0;
            do
            :: peer < RANKS && !error[peer] -> peer++
            :: else -> break
            od;
            assert(peer < RANKS);
            swap_in(KERNEL_ERROR(peer));
            peer = 0
        :: else
        fi;
#endif
        status = poison
    fi
}

/* A call has failed: with the one poison, whose text is complete. */
inline return_failure() {
    d_step {
        assert(status != 0);
        assert(returned == 0 || returned == status);
        returned = status;
        if
        :: status <= RANKS -> assert(text[status - 1] == WHOLE)
        :: else
        fi;
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
#ifndef POISON_CHECKED_ONLY_AT_BEGIN
    :: peer < RANKS && alarm -> peer = 0; check_poison(); break
#endif
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
                if
                :: status != 0 -> return_failure()
                :: else
                fi
            fi;
            atomic { status = 0; round++ }
        :: else -> break
        od
    } unless { killed == me }
}

#ifdef ABORT
active proctype another_thread() { swap_in(ABORTED) }
#endif

#ifdef KERNEL
/* The wait of rank 0's GPU: it expires, or the kernel sees the alarm. */
active proctype kernel() {
    if
    :: true ->
        error[0] = true;
#ifdef KERNEL_STORES_POISON
        if
        :: poison == 0 -> poison = KERNEL_ERROR(0)
        :: else
        fi;
#endif
        alarm = true
    :: alarm
    fi
}
#endif

#ifdef KILL
active proctype killer() {
    byte victim;
    atomic { select (victim : 0 .. RANKS - 1); killed = victim }
}
#endif

init {
    byte first;
    atomic { for (first : 0 .. RANKS - 1) { run rank(first) } }
}
