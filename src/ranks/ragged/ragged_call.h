/* A checked call of the ragged all-to-all, and the functions by which a transport runs it.  For all of src/ranks/ragged. */
#ifndef QUERN_RAGGED_CALL_H
#define QUERN_RAGGED_CALL_H

#include "ranks/membership.h"
#include "ranks/symmetric/symmetric_lookup.h"

/* One rank's call, checked, with defaults filled in. */
struct quern_ragged_call {
    struct quern_membership *member;
    int threads;                        /* of its device when the call began, on which its workspace depends */
    const struct quern_ready_kernel *ready;  /* the kernel */
    struct quern_rank_set set;          /* the members */
    int places;                         /* the number of members: "peers" in the metadata */
    int place;                          /* this rank's */

    const char *input;
    char *output;
    int64_t input_rows, output_rows, row_bytes, updates;
    const void *input_offsets, *send_sizes, *output_offsets, *recv_sizes;  /* [places, updates] */
    bool metadata_is_int64, metadata_on_device, check_overlap;
    int multiprocessors;
    double timeout;

    void *workspace;
    size_t workspace_bytes;

    /* The places of the buffers, filled in if they are symmetric. */
    enum quern_symmetric_state input_state, output_state, workspace_state;
    struct quern_symmetric_location input_place, output_place, workspace_place;
    bool in_place;                      /* input and output share memory: sends must be read before anything is written */

    /*
     * Not QUERN_OK: this rank refuses its own arguments, and its detail is set.  The transport still meets the other members, so
     * that they get an error (QUERN_SLICE_ARGUMENTS) at once instead of a timeout.  Then only member, timeout and, outside of
     * plans, set, places, rank_at and place are valid.
     */
    quern_status refused;

    uint16_t rank_at[QUERN_GROUP_LIMIT];  /* place -> rank, ascending; behind the places nothing */
};

/* Entry i of a metadata array in host memory. */
static inline int64_t quern_ragged_metadata(const struct quern_ragged_call *call, const void *array, int64_t i) {
    return call->metadata_is_int64 ? ((const int64_t *)array)[i] : ((const int32_t *)array)[i];
}

/* The number of entries of each metadata array; at most INT32_MAX. */
static inline int64_t quern_ragged_entries(const struct quern_ragged_call *call) { return call->places * call->updates; }

struct quern_ragged_transport {
    /* The bytes of workspace of a call.  Its pointers may be NULL. */
    size_t (*workspace_bytes)(const struct quern_ragged_call *call);

    /* Before a call is checked: fetches what it will probably write.  NULL: nothing. */
    void (*expect)(const struct quern_membership *member);

    quern_status (*run)(struct quern_ragged_call *call, void *stream);

    /* Collective over the group, for all ranks of the thread.  states[i] is the transport's data of calls[i]. */
    quern_status (*plan_create)(struct quern_ragged_call *calls, int count, void **states);

    /* The group exists and is not poisoned. */
    quern_status (*plan_run)(void *state, void *stream);

    /* The group may have been destroyed. */
    quern_status (*plan_destroy)(void *state);
};

#endif
