/* A checked call of quern_quantize_chunks, and the functions by which a transport runs it.  For all of src/ranks/chunks. */
#ifndef QUERN_CHUNKS_CALL_H
#define QUERN_CHUNKS_CALL_H

#include "ranks/membership.h"
#include "ranks/symmetric/symmetric_lookup.h"

enum { QUERN_MOST_CHUNKS = 1024 };

/* One rank's call, checked, with defaults filled in. */
struct quern_chunks_call {
    struct quern_membership *member;
    quern_quantize_chunks_args args;     /* as an older header may have given them: what it does not have is 0 */
    int places;                          /* the number of members */
    int place;                           /* this rank's */
    int64_t chunks;
    int64_t elements;                    /* rows * columns */
    int64_t output_bytes, ready_bytes;   /* of all places */
    int multiprocessors;
    double timeout;

    void *workspace;
    size_t workspace_bytes;

    /*
     * Not QUERN_OK: this rank refuses its own arguments, and its detail is set.  The transport still meets the other members, so
     * that they get an error at once instead of a timeout.  Then only member, timeout, set, places, rank_at and place are valid.
     */
    quern_status refused;

    struct quern_symmetric_place output_place, ready_place;
    struct quern_rank_set set;           /* the members */
    uint16_t rank_at[QUERN_GROUP_LIMIT]; /* place -> rank, ascending */
    uint16_t order[QUERN_MOST_CHUNKS];   /* [chunks] */
};

struct quern_chunks_transport {
    /* The bytes of workspace: of the call its members, numbers and dtypes are valid. */
    size_t (*workspace_bytes)(const struct quern_chunks_call *call);

    /* What the transport wants beyond the checks that all share: the last of a rank's own checks.  NULL: nothing. */
    quern_status (*check)(const struct quern_chunks_call *call);

    quern_status (*run)(struct quern_chunks_call *call, void *stream);

    /* quern_chunk_wait, of words in this rank's symmetric memory. */
    quern_status (*wait)(struct quern_membership *member, const uint32_t *ready, int64_t count, uint32_t value, double timeout,
                         void *stream);

    /* quern_symmetric_view.  NULL: the device has no kernels. */
    quern_status (*view)(struct quern_membership *member, const void *pointer, quern_device_view *view);
};

#endif
