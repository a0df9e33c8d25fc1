/*
 * What a rank tells the other members of a collective on CPUs: its record, written before the entry and read after it.  For
 * collective_host.c, and for collective_hosts.c, where it goes to ranks of other hosts with a message.
 *
 * A record lies in the rank's eager message (src/ranks/segment.h), in the half of the next meeting of all ranks.  All ranks have
 * read what was there before they entered the last one.  The entry of a call of all ranks is such a meeting, so the half is
 * written again for the meeting after the next, which all enter when they have read it.  A call of some ranks has no such
 * meeting: it ends with an exit, after which nobody reads its records any more.
 *
 *   head      the arguments that all members must share
 *   payload   the input, if it is small; or the reason why the rank refuses its arguments
 *   places    else, in place of the payload: where the other members find its buffers
 *   verdict   at the end: written before a vote
 *
 * In a call of all ranks on one host a rank also tells the digest of its head beside its signal, on the same line, and there a tiny
 * input.  If all digests are the same, so are all heads, and nobody reads them: a tiny call moves one line from each rank.
 */
#ifndef QUERN_COLLECTIVE_RECORD_H
#define QUERN_COLLECTIVE_RECORD_H

#include "ranks/collective/collective_call.h"

enum quern_collective_trait {
    QUERN_COLLECTIVE_STAGES = 1,          /* others find the input in the workspace, since they cannot reach it itself */
    QUERN_COLLECTIVE_STAGED_AHEAD = 2,    /* the first part of it is there */
    QUERN_COLLECTIVE_OUTPUT_REACHED = 4,  /* others can write the output */
    QUERN_COLLECTIVE_IN_PLACE = 8,
    QUERN_COLLECTIVE_READS = 16           /* this rank can read the memory of all members */
};

/* How a rank sees another one: see collective_read.h. */
struct quern_sight {
    uint32_t state;                       /* atomic, since reports read it: written once, after the rest */
    int32_t pid;
    uint64_t id;                          /* the address of its random number */
    int32_t reason;                       /* errno: why it cannot be read */
    int32_t unused;
};

/* The bytes beside a signal. */
struct quern_collective_told {
    char input[(QUERN_TOLD_WORDS - 1) * sizeof(uint64_t)];
    uint64_t digest;
};

union quern_collective_telling {
    struct quern_collective_told told;
    uint64_t words[QUERN_TOLD_WORDS];
};

/* By pointer in its own process, in others by (id, offset) if it is symmetric. */
struct quern_collective_location {
    uint64_t id;
    int64_t offset;
    const char *pointer;
};

struct quern_collective_places {
    uint64_t digest;                      /* likewise */
    struct quern_collective_location input, output, workspace;
    struct quern_sight sight;             /* how its process can be read */
};

/* Which buffer of which rank is out of reach, of the places above; -1: all are within reach. */
struct quern_collective_verdict {
    uint64_t digest;
    int32_t buffer, rank;
};

enum {
    QUERN_COLLECTIVE_PAYLOAD =
        QUERN_EAGER_BYTES - sizeof(struct quern_collective_head) - sizeof(struct quern_collective_verdict)
};

_Static_assert(sizeof(union quern_collective_telling) == sizeof(uint64_t) * QUERN_TOLD_WORDS, "what is told must fill its place");
_Static_assert(sizeof(struct quern_collective_head) == 64, "a payload must begin with a line");
_Static_assert(sizeof(struct quern_collective_places) <= QUERN_COLLECTIVE_PAYLOAD, "places must fit an eager message");

/* The inputs of all ranks together are in the records: the same on all members with the same arguments. */
bool quern_collective_is_small(const struct quern_collective_call *call);

/* The half of the records of the next meeting. */
static inline uint32_t quern_collective_half(const struct quern_membership *member) { return member->all_count + 1; }

/* The call has its records on this host and all ranks, so that they tell their digests. */
bool quern_collective_is_told(const struct quern_collective_call *call);

/* Fetches the lines that the next record will occupy if it is as long as the last one. */
void quern_collective_expect_record(const struct quern_membership *member);

/* What this rank says of its call, without a digest; and whether another member says the same as the lowest one. */
void quern_collective_fill_head(const struct quern_collective_call *call, uint32_t traits, struct quern_collective_head *head);
quern_status quern_collective_compare_heads(const struct quern_collective_call *call, const struct quern_collective_head *first,
                                            const struct quern_collective_head *other, int place);

/* Writes this rank's record, and what it tells beside its signal. */
void quern_collective_write_record(struct quern_collective_call *call, uint32_t half, uint32_t traits,
                                   struct quern_collective_told *told);

/* After the entry: whether all members have told the digest of this rank's call, which is correct.  Then no head is read. */
bool quern_collective_is_agreed(const struct quern_collective_call *call, uint32_t half);

/* The members' traits: what all have, what any has, and those of each place. */
struct quern_collective_summary {
    uint32_t all, any;
    uint8_t traits[QUERN_RANK_LIMIT];     /* of the first places: a host has no more */
    bool same_live;                       /* all ranks can reach the same memory */
};

/*
 * After the entry: copies the heads of all members and compares them.  *result is the error of the call, the same on all members
 * but one that refuses its own arguments.  Fails if a head is damaged, which poisons the group.
 */
quern_status quern_collective_read_heads(const struct quern_collective_call *call, uint32_t half,
                                         struct quern_collective_summary *summary, quern_status *result);

/* This rank's record: head and payload have member->brief_bytes. */
const char *quern_collective_own_record(const struct quern_membership *member, uint32_t half);

/* The small way, after the entry: combines or copies the inputs out of the records.  inputs is scratch: [places]. */
void quern_collective_receive(const struct quern_collective_call *call, uint32_t half, const char **inputs);

/* The payload of a member: not copied. */
const char *quern_collective_payload(const struct quern_collective_call *call, uint32_t half, int place);

/* Copies the places of a member.  False: they are damaged. */
bool quern_collective_read_places(const struct quern_collective_call *call, uint32_t half, int place,
                                  struct quern_collective_places *places);

void quern_collective_write_verdict(const struct quern_collective_call *call, uint32_t half, int buffer, int rank);

/* After a vote: *result as above; the buffer of the first verdict that has one, the same on all members. */
quern_status quern_collective_read_verdicts(const struct quern_collective_call *call, uint32_t half, quern_status *result);

#endif
