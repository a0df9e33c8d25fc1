/*
 * Quantised chunks of CPU ranks: src/ranks/chunks/chunks_host.c, chunks_work.c and chunks_wait.c.
 *
 * After the entry a rank copies pieces of its chunks into the outputs of all ranks.  Whoever completes the last piece of a chunk
 * writes its word in the memory of each rank.  With HELPERS a second thread of each rank takes pieces, too.  A thread of rank 0
 * looks at the words of its rank and at nothing else: one with the value of the call says that the chunk is there, one that says
 * that the call has failed ends the reader.  The words of a call are those of the next one.
 *
 * A call fails when the group is poisoned: with KILL one rank may end at any moment, with its helper and its reader, and whoever
 * misses it then poisons the group.  The rank that fails says so in its own words that have not come.
 *
 *   inside[rank]   the call that the rank is in: from then on, until it returns, others may write its output
 */
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef CHUNKS
#define CHUNKS 2
#endif
#define READER 0
#define CALL   (round + 1)
#define FAILED (CALL + 100)

#ifdef VALUE_USED_AGAIN
#define VALUE 1
#else
#define VALUE CALL
#endif

#ifdef HELPERS
#define PIECES 2
#else
#define PIECES 1
#endif

#define WORD(of, place, chunk)          word[((of) * RANKS + (place)) * CHUNKS + (chunk)]
#define OUTPUT(of, place, chunk, piece) output[(((of) * RANKS + (place)) * CHUNKS + (chunk)) * PIECES + (piece)]
#define LEFT(chunk)                     pending[me * CHUNKS + (chunk)]

byte word[RANKS * RANKS * CHUNKS];
byte output[RANKS * RANKS * CHUNKS * PIECES];
byte pending[RANKS * CHUNKS];
byte meetings[RANKS];          /* so far */
byte inside[RANKS], next[RANKS], busy[RANKS], read;
bool dead[RANKS], returned[RANKS], poison;

/* A member that has ended and has not come poisons the group. */
#define IS_MISSING(peer, meeting) (dead[peer] && meetings[peer] < meeting)

/* Each turn is a step. */
#define EACH(index, count, ...) \
    do :: atomic { index < (count) -> __VA_ARGS__; index++ } :: atomic { index == (count) -> index = 0; break } od

/* ---- pieces, which the threads of a rank take ---- */

#define CHUNK_OF(piece) ((piece) / PIECES)
#define SEND_WORDS EACH(peer, RANKS, WORD(peer, me, CHUNK_OF(mine)) = VALUE)

inline send_piece() {
#ifdef WORD_BEFORE_DATA
    SEND_WORDS;
#endif
    EACH(peer, RANKS, assert(inside[peer] == CALL || poison || dead[peer]); OUTPUT(peer, me, CHUNK_OF(mine), mine % PIECES) = CALL);
    if
#ifdef WORD_BY_EACH_PIECE
    :: atomic { true -> LEFT(CHUNK_OF(mine))-- }; SEND_WORDS
#else
    :: atomic { LEFT(CHUNK_OF(mine)) == 1 -> LEFT(CHUNK_OF(mine)) = 0 }; SEND_WORDS
    :: atomic { LEFT(CHUNK_OF(mine)) > 1 -> LEFT(CHUNK_OF(mine))-- }
#endif
    fi
}

/* The index of a piece that nobody has taken. */
#define HAS_PIECE(me) (next[me] < CHUNKS * PIECES)
inline take_piece() { mine = next[me]; next[me]++ }

#ifdef HELPERS
proctype helper(byte me) {
    byte peer, mine, round;
    {
        do
        :: atomic { busy[me] == 1 && HAS_PIECE(me) -> take_piece(); busy[me] = 2; round = inside[me] - 1 };
            send_piece();
            atomic { busy[me] = 1; mine = 0 }
        :: returned[me] -> break
        od
    } unless { dead[me] }
}
#endif

/* ---- a rank ---- */

inline meet() {
    meetings[me]++;
    do
    :: atomic { peer < RANKS && meetings[peer] >= meetings[me] -> peer++ }
    :: atomic { peer == RANKS -> peer = 0; break }
    :: atomic { poison -> failed = true; peer = 0; break }
    :: atomic { peer < RANKS && IS_MISSING(peer, meetings[me]) -> poison = true; failed = true; peer = 0; break }
    od
}

inline send() {
    atomic {
        for (chunk : 0 .. CHUNKS - 1) { LEFT(chunk) = PIECES }
        chunk = 0;
        next[me] = 0;
        busy[me] = 1
    }
    do
    :: atomic { HAS_PIECE(me) -> take_piece() };
        if
        :: poison -> failed = true
        :: else -> send_piece()
        fi
    :: atomic { !HAS_PIECE(me) && busy[me] == 1 -> busy[me] = 0; mine = 0; break }
    od
}

inline fail_words() {
#ifdef WORDS_STAY
    skip
#else
    EACH(peer, RANKS * CHUNKS,
         if
         :: WORD(me, 0, peer) != VALUE -> WORD(me, 0, peer) = FAILED
         :: else
         fi);
#endif
}

/* When a call returns, its output and its words are complete. */
inline check_output() {
    atomic {
    for (peer : 0 .. RANKS - 1) {
        for (chunk : 0 .. CHUNKS - 1) {
            for (part : 0 .. PIECES - 1) { assert(OUTPUT(me, peer, chunk, part) == CALL) }
            assert(WORD(me, peer, chunk) == VALUE)
        }
    }
    peer = 0; chunk = 0; part = 0
    }
}

proctype rank(byte me) {
    byte round, peer, chunk, part, mine;
    bool failed;
    {
        do
        :: round < ROUNDS && !failed && !poison ->
            inside[me] = CALL;
#ifndef NO_ENTRY
            meet();
#endif
            if
            :: failed
            :: else -> send()
            fi;
#ifndef NO_EXIT
            if
            :: failed
            :: else -> meet()
            fi;
#endif
            if
            :: failed -> fail_words()
            :: else -> check_output()
            fi;
            atomic { read == CALL || me != READER -> round++; inside[me] = 0 }  /* the engine's threads are done with the output */
        :: else -> break
        od;
        returned[me] = true
    } unless { dead[me] }
}

/* ---- a thread that reads ---- */

inline read_chunk() {
    if
    :: atomic { WORD(READER, peer, chunk) == VALUE ->
           for (part : 0 .. PIECES - 1) { assert(OUTPUT(READER, peer, chunk, part) == CALL) }
           part = 0 }
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

#ifdef KILL
/* Or none. */
active proctype killer() {
    if
    :: dead[0] = true
    :: dead[RANKS - 1] = true
    :: true
    fi
}
#endif

init {
    byte i;
    atomic {
        for (i : 0 .. RANKS - 1) {
            run rank(i);
#ifdef HELPERS
            run helper(i);
#endif
        }
    }
}
