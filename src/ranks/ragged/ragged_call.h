/* A call of the ragged all-to-all, checked, and what a transport must offer to run it. */
#ifndef QUERN_RAGGED_CALL_H
#define QUERN_RAGGED_CALL_H

#include "ranks/membership.h"
#include "ranks/symmetric/symmetric_lookup.h"

/* One rank's call, checked, with defaults filled in. */
struct quern_ragged_call {
    struct quern_membership *member;
    const struct quern_ready_kernel *ready;  /* what serves it */
    struct quern_rank_set set;          /* who takes part */
    int places;                         /* their number: "peers" of the metadata */
    int rank_at[QUERN_RANK_LIMIT];      /* place -> rank, ascending */
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

    /* Where the buffers lie; SYMMETRIC places are filled in. */
    enum quern_symmetric_state input_state, output_state, workspace_state;
    struct quern_symmetric_place input_place, output_place, workspace_place;
    bool in_place;                      /* input and output share memory: sends must be read before anything is written */

    /*
     * Not QUERN_OK: this rank's own arguments are refused, and its detail is set.  The transport still meets the others, so that
     * every member gets an error (QUERN_SLICE_ARGUMENTS) at once instead of waiting for this one.  Of the fields above, only member
     * and, outside of plans, those from set to place can be relied on then; timeout is a limit in any case.
     */
    quern_status refused;
};

/* Entry i of a metadata array in host memory. */
static inline int64_t quern_ragged_metadata(const struct quern_ragged_call *call, const void *array, int64_t i) {
    return call->metadata_is_int64 ? ((const int64_t *)array)[i] : ((const int32_t *)array)[i];
}

/* How many entries each of these arrays has; at most INT32_MAX. */
static inline int64_t quern_ragged_entries(const struct quern_ragged_call *call) { return call->places * call->updates; }

struct quern_ragged_transport {
    /* The bytes of workspace for a call whose metadata, input, output and workspace pointers may be missing. */
    size_t (*workspace_bytes)(const struct quern_ragged_call *call);

    quern_status (*run)(struct quern_ragged_call *call, void *stream);

    /* Collective over the group, for all ranks of the thread.  states[i] is what the transport keeps for calls[i]. */
    quern_status (*plan_create)(struct quern_ragged_call *calls, int count, void **states);

    /* The group is there, and not poisoned. */
    quern_status (*plan_run)(void *state, void *stream);

    /* The group may be gone. */
    quern_status (*plan_destroy)(void *state);
};

#endif
