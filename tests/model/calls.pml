/*
 * The common part of the models of the ragged all-to-all: calls, their data, and meetings.
 *
 * Each round is a call, on the same workspace, input and output.  All data is the number of the call that it belongs to.
 */
#include "ranks.pml"

#define NOBODY RANKS
#define CALL   (round + 1)

byte inside[RANKS];            /* the call that each rank is in; 0: none */
byte input[RANKS];
byte output[RANKS * RANKS];    /* [of RANKS + from] */
#define OUTPUT(of, from) output[(of) * RANKS + (from)]

/* The vote of each call, as seen by the first rank to know it; 0: none yet. */
byte judgement[ROUNDS];
#define GOOD    1
#define BAD     2
#define REFUSED 3

inline agree(what) {
    atomic {
        assert(judgement[round] == 0 || judgement[round] == what);
        judgement[round] = what
    }
}

/* The engine's part: a new input, and a cleared output. */
inline enter_call() {
    atomic {
        input[me] = CALL;
        FOR_PEERS(OUTPUT(me, peer) = 0);
        inside[me] = CALL
    }
}

/* The engine owns its memory again; the output is as expected, or unwritten. */
inline return_from_call(expected) {
    atomic {
        inside[me] = 0;
        input[me] = 0;
        FOR_PEERS(assert(OUTPUT(me, peer) == expected))
    }
}

/* A meeting is one step to announce oneself and one for each peer to see that it has come, as barrier.pml allows. */
byte arrivals[RANKS * RANKS];  /* [at RANKS + from]: meetings */
#define ARRIVALS(at, from) arrivals[(at) * RANKS + (from)]
