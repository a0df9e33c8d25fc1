/*
 * The large way of a collective on CPUs: which elements a rank combines or copies in each round, from where and to where.  For
 * collective_host.c.
 *
 * What is private memory of another process is read there (collective_read.h) if all members can read each other and pieces are not
 * small.  Then no memory is passed through the workspaces; inputs are combined from there, as much as stays near the core.  Of an
 * all-reduce whose outputs cannot be reached each rank makes its share, and then collects the others' shares from their outputs.
 *
 * Without windows there is one round: each rank reads the inputs of all and, if they can be reached, writes the outputs of all.  Of
 * an all-reduce each rank combines its share of the elements.
 *
 * Windows pass what cannot be reached through the workspaces, a chunk of elements in each round.  Each kind has two, used in turns:
 *
 *   staged     In the round before, a rank copies its chunk of the input there.
 *   returned   In its round, a rank of an all-reduce leaves its share of the chunk's result there; in the next all fetch it.
 *
 * Rounds are divided by meetings.  So a window is written again when all have read it: round r + 1 is staged in round r, in which
 * round r is combined and the results of round r - 1 are fetched.
 *
 * An all-reduce of few elements has no shares: every rank combines all of them, which saves a meeting.  A rank that works in place
 * would overwrite what others still read, unless they read a window.
 */
#ifndef QUERN_COLLECTIVE_ROUNDS_H
#define QUERN_COLLECTIVE_ROUNDS_H

#include "ranks/collective/collective_record.h"

struct quern_collective_rounds {
    const struct quern_collective_call *call;
    /* By place; NULL: not needed. */
    const char *input[QUERN_RANK_LIMIT];
    char *output[QUERN_RANK_LIMIT], *window[QUERN_RANK_LIMIT];
    bool stages[QUERN_RANK_LIMIT];       /* its input is read from its window */
    bool is_read[QUERN_RANK_LIMIT];      /* its input is read in its process: input is an address there */
    int reads;                           /* how many are */
    bool has_windows;
    bool pushes;                         /* each rank writes its input into all outputs, of an all-gather */
    bool spreads;                        /* each rank writes its share of the result into all outputs */
    bool returns;                        /* each rank leaves its share of the result in its window */
    bool collects;                       /* each rank leaves its share of the result in its output, where the others read it */
    bool is_streaming;                   /* writes outputs past the caches */
    bool has_late;                       /* a rank stages, but not ahead */
    int64_t chunk, rounds;               /* elements of a round (of each piece), and the number of rounds */
};

/* The bytes of workspace of a call. */
size_t quern_collective_windows(const struct quern_collective_call *call);

/* Before the entry: this rank's traits.  If it stages, it stages the first chunk at once, unless it will probably not be needed. */
uint32_t quern_collective_begin(const struct quern_collective_call *call);

/* After the entry: chooses the way that all ranks go. */
void quern_collective_choose(struct quern_collective_rounds *rounds, const struct quern_collective_call *call,
                             const struct quern_collective_summary *summary);

/* Finds the buffers of a member.  Returns which of them cannot be reached (struct quern_collective_verdict); -1: none. */
int quern_collective_reach(struct quern_collective_rounds *rounds, int place, const struct quern_collective_places *places);

/* Stages a chunk, if this rank stages and there is such a round. */
void quern_collective_stage(const struct quern_collective_rounds *rounds, int64_t round);

/* The work of a round, for any number: combines or copies, and fetches what the round before has left.  Fails if a read does. */
quern_status quern_collective_work(const struct quern_collective_rounds *rounds, int64_t round);

/* How many rounds there are, with the one that only fetches. */
static inline int64_t quern_collective_all_rounds(const struct quern_collective_rounds *rounds) {
    return rounds->rounds + (rounds->returns || rounds->collects);
}

#endif
