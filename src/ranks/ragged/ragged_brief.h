/*
 * The short way of a ragged all-to-all on CPUs, for few slices and meetings of the whole group.  For ragged_host.c.
 *
 * Before the entry each rank writes a brief: all its metadata and, if they are small, the slices themselves.  After the entry every
 * rank reads all briefs and checks the metadata of all ranks, so all come to the same result, and no vote is needed:
 *
 *   small    All slices are in the briefs, and each rank copies its own from there.  The entry is the only meeting: a brief is
 *            written again in the meeting after the next, which all ranks enter after they have read this one.
 *   direct   All outputs can be reached: each rank copies into them, and the exit ends the call.
 *   long     Every rank said so: the entry was the entry of the long way.
 *   mixed    Some said so, or there is a fault: all go the long way from its beginning, which reports the fault.
 */
#ifndef QUERN_RAGGED_BRIEF_H
#define QUERN_RAGGED_BRIEF_H

#include "ranks/ragged/ragged_call.h"

enum { QUERN_BRIEF_ENTRIES = 16, QUERN_BRIEF_PAYLOAD = 1024 };

/* The bits that a rank offers, if it does not go the long way; and the way that all go. */
enum quern_ragged_way { QUERN_RAGGED_LONG = 0, QUERN_RAGGED_SMALL = 1, QUERN_RAGGED_DIRECT = 2, QUERN_RAGGED_MIXED = 4 };

struct quern_ragged_brief {
    uint64_t digest;      /* of all that follows but the slices: ranks act on it, so it must be what the rank has written */
    int32_t offer;        /* bits of enum quern_ragged_way */
    int32_t updates;
    int64_t row_bytes, output_rows;
    uint64_t live;        /* quern_symmetric_live: ranks with the same can reach the same memory */
    struct quern_ragged_brief_entry {
        int32_t output_offset, size;  /* rows: of the slice that it sends */
        int32_t expected;             /* rows: that it receives */
    } entry[QUERN_BRIEF_ENTRIES];     /* [places, updates]: with two ranks it ends with the first line */
};

/* In the shared memory: right behind the entries of a rank that offers only the direct way; else at the end, behind its slices. */
struct quern_ragged_brief_output {
    uint64_t digest;      /* likewise */
    uint64_t id;          /* by pointer in its own process, in others by (id, offset) */
    int64_t offset;
    char *pointer;
};

/* Whether the members can go the short way: the same on all of them. */
bool quern_ragged_is_brief(const struct quern_ragged_call *call);

/* Fetches the lines that the next brief will occupy if it is as long as the last one: the other ranks have read them. */
void quern_ragged_expect_brief(const struct quern_membership *member);

/* Writes this rank's brief for the next meeting, also to *brief, and returns what it offers. */
int32_t quern_ragged_write_brief(const struct quern_ragged_call *call, struct quern_ragged_brief *brief);

/* This rank's brief of the meeting that has begun, with its slices. */
const void *quern_ragged_own_brief(const struct quern_ragged_call *call);

/*
 * After the entry: copies the briefs of the others and finds the way that all ranks go.  Its own is there: others can write where
 * it was read from.  Fails if one is damaged, which poisons the group.
 */
quern_status quern_ragged_read_briefs(const struct quern_ragged_call *call, struct quern_ragged_brief briefs[QUERN_BRIEF_ENTRIES],
                                      enum quern_ragged_way *way);

/* The small way: copies the slices out of the briefs. */
void quern_ragged_receive(const struct quern_ragged_call *call, const struct quern_ragged_brief *briefs);

/* The direct way: copies into the outputs of all members.  An output that is out of reach poisons the group. */
quern_status quern_ragged_deliver(const struct quern_ragged_call *call, const struct quern_ragged_brief *briefs);

#endif
