/* A checked call of quern_quantize_chunks, and the functions by which a transport runs it.  For all of src/ranks/chunks. */
#ifndef QUERN_CHUNKS_CALL_H
#define QUERN_CHUNKS_CALL_H

#include "ranks/membership.h"
#include "ranks/symmetric/symmetric_lookup.h"

/* One rank's call, checked, with defaults filled in. */
struct quern_chunks_call {
    struct quern_membership *member;
    quern_quantize_chunks_args args;     /* as an older header may have given them: what it does not have is 0 */
    int places;                          /* the number of members */
    int place;                           /* this rank's */
    int64_t chunks;
    int64_t elements;                    /* rows * columns */
    int64_t chunk_elements;              /* of each chunk but the last */
    int64_t output_bytes, ready_bytes;   /* of all places; 0: the call has no such memory, and its place is zeros */
    int multiprocessors;                 /* as in the arguments: 0 is the default */
    double timeout;

    void *workspace;
    size_t workspace_bytes;              /* as many as the transport wants */

    const struct quern_ready_kernel *amax, *cast;  /* that the transport has chosen in its check, as the next ones */
    const struct quern_ready_kernel *move;         /* CPU */
    const struct quern_ready_kernel *meeting;      /* GPU: of the entry and the exit */

    /*
     * Not QUERN_OK: this rank refuses its own arguments, and its detail is set.  The transport still meets the other members, so
     * that they get an error at once instead of a timeout.  Then only member, timeout, set, places, rank_at and place are valid.
     */
    quern_status refused;

    struct quern_symmetric_location output_place, ready_place;
    struct quern_rank_set set;           /* the members */
    uint16_t rank_at[QUERN_GROUP_LIMIT]; /* place -> rank, ascending */
    uint16_t order[QUERN_MOST_CHUNKS];   /* [chunks] */
};

/* Elements [first, end) of the tensor are a chunk. */
struct quern_chunk {
    int64_t first, end;
};

static inline struct quern_chunk quern_chunk_at(const struct quern_chunks_call *call, int64_t chunk) {
    const int64_t first = chunk * call->chunk_elements, rest = call->elements - first;
    return (struct quern_chunk){first, first + (call->chunk_elements < rest ? call->chunk_elements : rest)};
}

struct quern_chunks_transport {
    /* The bytes of workspace: of the call its members, numbers and dtypes are valid. */
    size_t (*workspace_bytes)(const struct quern_chunks_call *call);

    /* What the transport wants beyond the checks that all share, and its kernels: the last of a rank's own checks. */
    quern_status (*check)(struct quern_chunks_call *call);

    quern_status (*run)(struct quern_chunks_call *call, void *stream);

    /* quern_chunk_wait, of words in this rank's symmetric memory.  For any thread, also while the rank is in a call. */
    quern_status (*wait)(struct quern_membership *member, const uint32_t *ready, int64_t count, uint32_t value, double timeout,
                         void *stream);

    /* quern_symmetric_view.  NULL: the device has no kernels. */
    quern_status (*view)(struct quern_membership *member, const void *pointer, quern_device_view *view);
};

#endif
