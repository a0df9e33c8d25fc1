/*
 * Calls of CPU ranks whose data goes in pieces, while others work on what has come.
 *
 *   src/ranks/chunks/chunks.h                     quern_chunks_send quern_chunks_wait
 *   src/ranks/chunks/chunks_host.c                chunks.recorded chunks.reached chunks.complete chunks.failing fail_words
 *   src/ranks/chunks/chunks_work.c                chunks.casting chunks.sent chunks.signalled signal_chunk
 *   src/ranks/chunks/chunks_wait.c                are_ready find_failed
 *   src/ranks/collective/collective_steps.c       run_step begin_messages move_messages collective.staged collective.window
 *   src/ranks/collective/collective_schedules.c   direct_parts stage_shares work_directly
 *
 * Without a switch it is quantised chunks.  After the entry a rank copies pieces of its chunks into the outputs of all ranks.
 * Whoever completes the last piece of a chunk writes its word in the memory of each rank.  With HELPERS a second thread of each
 * rank takes pieces, too.  A thread of rank 0 looks at the words of its rank and at nothing else: one with the value of the call
 * says that the chunk is there, one that says that the call has failed ends the reader.  The words of a call are those of the next
 * one.
 *
 * With HOSTS it is the steps of an all-reduce, in its direct schedule, of two hosts of two ranks: 0 and 1, 2 and 3.  In step t a
 * rank begins its messages, works on what was there at the meeting of step t - 1, shows its host the piece of step t, ends its
 * messages and meets the other rank of its host.  A message has a piece of the input, and the result of the piece before the last,
 * which it reads from a window when it leaves: at any time between its begin and its end.  The windows are used in turns.  A call
 * follows the one before without entry and exit, which these windows do not need; the records and a gather do.
 *
 * A call fails when the group is poisoned: with KILL one rank may end at any moment, and whoever misses it then poisons the group.
 */
#include "common.pml"

#ifdef HOSTS
#define RANKS    4
#define PEERS    1                 /* in a meeting */
#define PEER     MATE
#define MATE     (me ^ 1)
#define IS_LOST  ended             /* by a rank that ends nothing is awaited any more */
#define KILL_ONE ended = true
#else
#define PEERS    RANKS
#define PEER     peer
#define IS_LOST  (dead[peer] && meetings[peer] < meetings[me])
#define KILL_ONE if :: dead[0] = true :: dead[RANKS - 1] = true :: true fi
#endif
#define CALL     (round + 1)

byte meetings[RANKS];              /* so far */
bool dead[RANKS], ended, poison;

/* Waits for one after the other; ends by the poison, which whoever waits sets when one that has not come has ended. */
#define AWAIT_EACH(count, condition, ...) \
    do \
    :: atomic { peer < (count) && (condition) -> __VA_ARGS__; peer++ } \
    :: atomic { peer == (count) -> peer = 0; break } \
    :: atomic { poison || (peer < (count) && IS_LOST) -> poison = true; peer = 0; goto failing } \
    od

inline meet() {
    meetings[me]++;
    AWAIT_EACH(PEERS, meetings[PEER] >= meetings[me], skip)
}

#ifdef HOSTS

/* ---- steps ---- */

#define STEPS     (PIECES + 2)
#define ID(piece) (round * PIECES + (piece) + 1)
#define TURN(t)   PICK(ONE_WINDOW, 0, ((t) & 1))
#define SENT_AFTER PICK(RESULTS_A_STEP_EARLY, 1, 2)
#define IS_STEP(t, lag) ((t) >= (lag) && (t) < PIECES + (lag))

#define AT(rank, t) [(rank) * 2 + TURN(t)]
#define CAME(rank, index, t) came[((rank) * 2 + (index)) * 2 + TURN(t)]
#define OTHER     (2 * (1 - me / 2) + peer)

byte staged[8];                    /* what the other rank of the host combines */
byte came[16];                     /* likewise of the two ranks of the other host */
byte result[8];                    /* of a rank's share: read by its host, and sent */
byte arrived[8];                   /* a result of the other host: read by both ranks of this one */
chan link[16] = [3] of { byte, byte };
#define LINK(from, to) link[(from) * 4 + (to)]

inline leave() {
    atomic {
        LOOP(peer, 2, LINK(me, OTHER) ! (IS_STEP(t, 0) -> ID(t) : 0),
             (peer == me % 2 && IS_STEP(t, SENT_AFTER) -> result AT(me, t - SENT_AFTER) : 0));
        sent = true
    }
}

inline take() {
    AWAIT_EACH(2, nempty(LINK(OTHER, me)),
        LINK(OTHER, me) ? piece, value;
        assert(piece == (IS_STEP(t, 0) -> ID(t) : 0));
        CAME(me, peer, t) = piece;
        WHEN(peer == me % 2 && IS_STEP(t, SENT_AFTER), arrived AT(me, t) = value);
        piece = 0; value = 0)
}

/* Combines the piece of a step, and reads the results of the steps before. */
inline combine(s) {
    atomic {
        WHEN(IS_STEP(s, 0),
            assert(staged AT(MATE, s) == ID(s));
            assert(CAME(me, 0, s) == ID(s));
            assert(CAME(me, 1, s) == ID(s));
            result AT(me, s) = ID(s))
    }
}

inline read_results(s) {
    atomic {
        WHEN(IS_STEP(s, 1), assert(result AT(MATE, s - 1) == ID(s - 1)));
        WHEN(IS_STEP(s, SENT_AFTER),
            assert(arrived AT(me, s) == ID(s - SENT_AFTER));
            assert(arrived AT(MATE, s) == ID(s - SENT_AFTER)))
    }
}

proctype rank(byte me) {
    byte round, t, peer, piece, value;
    bool sent;
    do
    :: round < ROUNDS ->
        LOOP(t, STEPS,
            sent = false;
            if
            :: leave()
            :: skip
            fi;
            WHEN(t > 0, combine(t - 1); read_results(t - 1));
            WHEN(IS_STEP(t, 0), staged AT(me, t) = ID(t));
            WHEN(!sent, leave());
            take();
            UNLESS(NO_MEETING, meet();)
            skip);
        read_results(STEPS - 1);
        round++
    :: else -> break
    od;
failing:
    skip
}

#else

/* ---- chunks ---- */

#ifndef CHUNKS
#define CHUNKS 2
#endif
#define PIECES     PICK(HELPERS, 2, 1)      /* of a chunk */
#define READER     0
#define FAILED     (CALL + 100)
#define VALUE      PICK(VALUE_USED_AGAIN, 1, CALL)

#define WORD(of, place, chunk)          word[((of) * RANKS + (place)) * CHUNKS + (chunk)]
#define OUTPUT(of, place, chunk, piece) output[(((of) * RANKS + (place)) * CHUNKS + (chunk)) * PIECES + (piece)]
#define LEFT(chunk)                     pending[me * CHUNKS + (chunk)]

byte word[RANKS * RANKS * CHUNKS];
byte output[RANKS * RANKS * CHUNKS * PIECES];
byte pending[RANKS * CHUNKS];
byte inside[RANKS];                /* the call that the rank is in: until it returns, others may write its output */
byte next[RANKS], busy[RANKS], read;
bool returned[RANKS];

/* The index of a piece that nobody has taken. */
#define CHUNK_OF(piece) ((piece) / PIECES)
#define HAS_PIECE       (next[me] < CHUNKS * PIECES)
inline take_piece() { mine = next[me]; next[me]++ }

#define SEND_WORDS EACH(peer, RANKS, WORD(peer, me, CHUNK_OF(mine)) = VALUE)

inline send_piece() {
    ONLY(WORD_BEFORE_DATA, SEND_WORDS;)
    EACH(peer, RANKS, assert(inside[peer] == CALL || poison || dead[peer]); OUTPUT(peer, me, CHUNK_OF(mine), mine % PIECES) = CALL);
    if
    :: atomic { PICK(WORD_BY_EACH_PIECE, true, LEFT(CHUNK_OF(mine)) == 1) -> LEFT(CHUNK_OF(mine))-- }; SEND_WORDS
    UNLESS(WORD_BY_EACH_PIECE, :: atomic { LEFT(CHUNK_OF(mine)) > 1 -> LEFT(CHUNK_OF(mine))-- })
    fi
}

#ifdef HELPERS
proctype helper(byte me) {
    byte peer, mine, round;
    {
        do
        :: atomic { busy[me] == 1 && HAS_PIECE -> take_piece(); busy[me] = 2; round = inside[me] - 1 };
            send_piece();
            atomic { busy[me] = 1; mine = 0 }
        :: returned[me] -> break
        od
    } unless { dead[me] }
}
#endif

inline send() {
    atomic {
        LOOP(chunk, CHUNKS, LEFT(chunk) = PIECES);
        next[me] = 0;
        busy[me] = 1
    }
    do
    :: atomic { HAS_PIECE -> take_piece() };
        if
        :: poison -> failed = true
        :: else -> send_piece()
        fi
    :: atomic { !HAS_PIECE && busy[me] == 1 -> busy[me] = 0; mine = 0; break }
    od
}

/* When a call returns, its output and its words are complete. */
inline check_output() {
    atomic {
        LOOP(peer, RANKS,
            LOOP(chunk, CHUNKS,
                LOOP(part, PIECES, assert(OUTPUT(me, peer, chunk, part) == CALL));
                assert(WORD(me, peer, chunk) == VALUE)))
    }
}

/* The engine's threads are done with the output. */
inline end_call() { atomic { read == CALL || me != READER -> round++; inside[me] = 0 } }

proctype rank(byte me) {
    byte round, peer, chunk, part, mine;
    bool failed;
    {
        do
        :: round < ROUNDS && !poison ->
            inside[me] = CALL;
            UNLESS(NO_ENTRY, meet();)
            send();
            WHEN(failed, goto failing);
            UNLESS(NO_EXIT, meet();)
            check_output();
            end_call()
        :: else -> goto done
        od;
failing:
        UNLESS(WORDS_STAY, EACH(peer, RANKS * CHUNKS, WHEN(WORD(me, 0, peer) != VALUE, WORD(me, 0, peer) = FAILED));)
        end_call();
done:
        returned[me] = true
    } unless { dead[me] }
}

/* ---- a thread that reads ---- */

inline read_chunk() {
    if
    :: atomic { WORD(READER, peer, chunk) == VALUE -> LOOP(part, PIECES, assert(OUTPUT(READER, peer, chunk, part) == CALL)) }
    :: atomic { WORD(READER, peer, chunk) == FAILED -> assert(poison) }  /* the poison says why */
    fi
}

active proctype reader() {
    byte round, peer, chunk, part, count;
    {
        do
        :: atomic { inside[READER] == CALL && read < CALL -> select (peer : 0 .. RANKS - 1); select (chunk : 0 .. CHUNKS - 1) };
            do
            :: count < RANKS * CHUNKS ->
                read_chunk();
                atomic { count++; chunk = (chunk + 1) % CHUNKS; peer = (count % CHUNKS == 0 -> (peer + 1) % RANKS : peer) }
            :: else -> break
            od;
            atomic { read = CALL; round++; count = 0; peer = 0; chunk = 0 }
        :: returned[READER] && inside[READER] == 0 -> break
        od
    } unless { dead[READER] }
}

#endif

#ifdef KILL
active proctype killer() { KILL_ONE }
#endif

init {
    byte i;
    atomic { LOOP(i, RANKS, run rank(i) ONLY(HELPERS, ; run helper(i))) }
}
