/*
 * The short protocol of a ragged all-to-all on CPUs, for few slices and meetings of the whole group.  For ragged_host.c.
 *
 * Before the entry each rank writes an eager message: all its metadata and, if they are small, the slices themselves.  After the
 * entry every rank reads all eager messages and checks the metadata of all ranks, so all come to the same result, and no vote is
 * needed:
 *
 *   small    All slices are in the eager messages, and each rank copies its own from there.  The entry is the only meeting: a rank
 *            writes its next message in the meeting after the next, which all enter after they have read this one.
 *   direct   All outputs can be reached: each rank copies into them, and the exit ends the call.
 *   long     Every rank said so: the entry was the entry of the long protocol.
 *   mixed    Some said so, or there is a fault: all go the long protocol from its beginning, which reports the fault.
 */
#ifndef QUERN_RAGGED_EAGER_H
#define QUERN_RAGGED_EAGER_H

#include "ranks/ragged/ragged_call.h"

enum { QUERN_EAGER_ENTRIES = 16, QUERN_EAGER_PAYLOAD = 1024 };

/* The bits that a rank offers, if it does not go the long protocol; and the way that all go. */
enum quern_ragged_protocol { QUERN_RAGGED_LONG = 0, QUERN_RAGGED_SMALL = 1, QUERN_RAGGED_DIRECT = 2, QUERN_RAGGED_MIXED = 4 };

struct quern_ragged_eager {
    uint64_t digest;      /* of all that follows but the slices: ranks act on it, so it must be what the rank has written */
    int32_t offer;        /* bits of enum quern_ragged_protocol */
    int32_t updates;
    int64_t row_bytes, output_rows;
    uint64_t live;        /* quern_symmetric_live: ranks with the same can reach the same memory */
    struct quern_ragged_eager_entry {
        int32_t output_offset, size;  /* rows: of the slice that it sends */
        int32_t expected;             /* rows: that it receives */
    } entry[QUERN_EAGER_ENTRIES];     /* [places, updates]: with two ranks it ends with the first line */
};

/*
 * In the shared memory: right behind the entries of a rank that offers only the direct protocol; else at the end, behind its
 * slices.
 */
struct quern_ragged_eager_output {
    uint64_t digest;      /* likewise */
    uint64_t id;          /* by pointer in its own process, in others by (id, offset) */
    int64_t offset;
    char *pointer;
};

/* Whether the members can go the short protocol: the same on all of them. */
bool quern_ragged_is_eager(const struct quern_ragged_call *call);

/* Fetches the lines that the next eager message will occupy if it is as long as the last one: the other ranks have read them. */
void quern_ragged_expect_eager(const struct quern_membership *member);

/* Writes this rank's eager message for the next meeting, also to *eager message, and returns what it offers. */
int32_t quern_ragged_write_eager(const struct quern_ragged_call *call, struct quern_ragged_eager *eager);

/* This rank's eager message of the meeting that has begun, with its slices. */
const void *quern_ragged_own_eager(const struct quern_ragged_call *call);

/*
 * After the entry: copies the eager messages of the others and finds the way that all ranks go.  Its own is there: others can
 * write where it was read from.  Fails if one is damaged, which poisons the group.
 */
quern_status quern_ragged_read_eagers(const struct quern_ragged_call *call, struct quern_ragged_eager eagers[QUERN_EAGER_ENTRIES],
                                      enum quern_ragged_protocol *protocol);

/* The small protocol: copies the slices out of the eager messages. */
void quern_ragged_receive(const struct quern_ragged_call *call, const struct quern_ragged_eager *eagers);

/* The direct protocol: copies into the outputs of all members.  An output that is out of reach poisons the group. */
quern_status quern_ragged_deliver(const struct quern_ragged_call *call, const struct quern_ragged_eager *eagers);

#endif
