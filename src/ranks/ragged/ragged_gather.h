/* The metadata of all ranks of a group, gathered and checked on the host.  For the calls of GPU ranks that do so. */
#ifndef QUERN_RAGGED_GATHER_H
#define QUERN_RAGGED_GATHER_H

#include "ranks/ragged/ragged_check.h"

/* The first message of a rank about its call. */
struct quern_ragged_outline {
    uint32_t members[QUERN_RANK_WORDS];
    int64_t entries, updates, row_bytes;
    uint64_t output_id;
    int64_t output_offset;
};

/* By all ranks of one thread.  Zeroed before it begins. */
struct quern_ragged_gathering {
    struct quern_ragged_call *calls;
    int count;
    struct quern_membership *members[QUERN_RANK_LIMIT];
    enum quern_collective operation;
    bool in_place_of_peers;                             /* a sender finds a receiver's output at the place of its own */
    struct quern_ragged_outline outlines[QUERN_RANK_LIMIT];  /* of every rank */
    int64_t entries;                                    /* the most that any rank has */
    struct quern_ragged_notice *mine;                   /* of the ranks of this thread: [count, entries] */
    struct quern_ragged_notice *offers;                 /* of every rank: [ranks, entries]; the sources are rows */
};

void quern_ragged_begin_gathering(struct quern_ragged_gathering *gathering, struct quern_ragged_call *calls, int count,
                                  enum quern_collective operation, bool in_place_of_peers);
void quern_ragged_end_gathering(struct quern_ragged_gathering *gathering);

/* One step of all ranks of the thread.  Then all ranks of the group agree whether it has succeeded. */
typedef quern_status quern_ragged_step_of_rank(struct quern_ragged_gathering *gathering, int i);
quern_status quern_ragged_step(struct quern_ragged_gathering *gathering, quern_ragged_step_of_rank *of_rank);

/* Collective over the group: every rank gets the metadata of all. */
quern_status quern_ragged_gather(struct quern_ragged_gathering *gathering);

/* Checks a call of this thread against what was gathered.  Not QUERN_OK: the detail has the first fault. */
quern_status quern_ragged_check_gathered(const struct quern_ragged_gathering *gathering, const struct quern_ragged_call *call);

/* The slices from a member to this rank: [updates]. */
const struct quern_ragged_notice *quern_ragged_offers_of(const struct quern_ragged_gathering *gathering,
                                                         const struct quern_ragged_call *call, int place);

#endif
