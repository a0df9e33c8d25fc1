/* Ragged all-to-all: the call, its terms, plans, and its protocols on CPUs, between hosts, on GPUs and over NCCL. */
#ifndef QUERN_RANKS_RAGGED_H
#define QUERN_RANKS_RAGGED_H

#include <sys/uio.h>

#include "kernels/collective_problem.h"
#include "ranks/cuda_launch.h"
#include "ranks/hosts/hosts.h"
#include "ranks/meeting.h"
#include "ranks/membership.h"
#include "ranks/symmetric/symmetric.h"
#include "ranks/terms.h"
#include "runtime/cuda_driver.h"
#include "runtime/device.h"
#include "runtime/look.h"

/* ---- A checked call of the ragged all-to-all, and the functions by which a transport runs it ---- */

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

/* ---- ragged_check.c: checks of the metadata of a ragged all-to-all on the host: for CPU ranks, and for plans of GPU ranks ---- */

/*
 * Checks a rank's own metadata, in host memory: signs, and ranges of the input.  False: *report has the first fault.
 * quern_ragged_check_receives checks the rest, for which it needs the metadata of the peers.
 */
bool quern_ragged_check_sends(const struct quern_ragged_call *call, struct quern_slice_report *report);

/* A sender's message to a receiver about one slice; in the receiver's inbox at [sender's place * updates + update]. */
struct quern_ragged_notice {
    int64_t output_offset;  /* rows */
    int64_t size;           /* rows */
    int64_t source;         /* CPU: the offset in bytes at which the receiver fetches the slice, if it does */
};

/*
 * Checks the notices in the inbox against the metadata of this rank.  False: *report has the first fault.  order is scratch for
 * quern_ragged_entries(call) numbers if overlaps are checked; else it may be NULL.
 */
bool quern_ragged_check_receives(const struct quern_ragged_call *call, const struct quern_ragged_notice *inbox, int64_t *order,
                                 struct quern_slice_report *report);

/* The buffer of a plan that was freed since the plan was made: "workspace", "input" or "output"; NULL: none. */
const char *quern_ragged_find_freed(const struct quern_ragged_call *call);

/* ---- ragged_copies.c: the copies of a rank in a ragged all-to-all on CPUs, divided among its threads by bytes ---- */

struct quern_copy {
    char *to;
    const char *from;
    int64_t bytes;
    int64_t begin;  /* its offset when all copies are laid end to end */
};

struct quern_copy_list {
    struct quern_copy *copies;
    int64_t count;
    int64_t bytes;
};

static inline void quern_copies_add(struct quern_copy_list *list, char *to, const char *from, int64_t bytes) {
    list->copies[list->count++] = (struct quern_copy){to, from, bytes, list->bytes};
    list->bytes += bytes;
}

/* The index of the last copy that begins at or before a place, in a list sorted by `begin`; 0 if no copy does. */
int64_t quern_copies_find(const struct quern_copy *copies, int64_t count, int64_t place);

/* Whether copies of so many bytes by each rank should go past the caches. */
bool quern_copies_are_large(const quern_device *device, int ranks, int64_t bytes);

/* Runs the copies, on the calling thread if they are small.  No copy is empty. */
void quern_copies_run(const quern_device *device, quern_ragged_all_to_all_cpu_kernel *kernel, const struct quern_copy_list *list,
                      bool streaming);

/* ---- ragged_cuda.c: the ragged all-to-all of GPU ranks, for cuda_transport.c ---- */

extern const struct quern_ragged_transport quern_cuda_ragged;

/* ---- ragged_eager.c ---- */

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
quern_status quern_ragged_read_eager(const struct quern_ragged_call *call, struct quern_ragged_eager eager[QUERN_EAGER_ENTRIES],
                                     enum quern_ragged_protocol *protocol);

/* The small protocol: copies the slices out of the eager messages. */
void quern_ragged_receive(const struct quern_ragged_call *call, const struct quern_ragged_eager *eager);

/* The direct protocol: copies into the outputs of all members.  An output that is out of reach poisons the group. */
quern_status quern_ragged_deliver(const struct quern_ragged_call *call, const struct quern_ragged_eager *eager);

/* ---- ragged_exchange.c ---- */

/*
 * One rank's part in a ragged all-to-all on CPUs: which rank copies which slice, and how.
 *
 *   deliver   The sender copies into the receiver's output: it is symmetric, or both ranks are of one process.
 *   fetch     Else the receiver copies from the sender's input, if that is symmetric.
 *   pipe      Else the sender lays its slices end to end and passes them through a ring of two buffers in its workspace: while the
 *             receivers fetch one, it fills the other.
 *
 * A sender whose output overlaps its input first copies all slices that it sends into its workspace, and sends from there.
 *
 * A rank writes notices of its slices into its own workspace, where the receivers read them.  So no rank writes into memory whose
 * size only another rank knows.  What another process has written is copied once, and the copy is checked: a sender writes within
 * the part of the receiver that it has mapped, and a receiver within its own output.
 */

/* Memory of a rank as other ranks find it: by pointer in its own process, by (id, offset) in others if it is symmetric. */
struct quern_ragged_location {
    uint64_t id;
    int64_t offset;
    const void *pointer;
    int32_t state;  /* enum quern_symmetric_state */
    int32_t unused;
};

enum { QUERN_RAGGED_READY = 1 };

/* The terms of a rank before the entry. */
struct quern_ragged_terms {
    struct quern_record record;           /* flags QUERN_RAGGED_READY, or there is only an outcome */
    int64_t updates, row_bytes;
    struct quern_ragged_location output;
    struct quern_ragged_location outbox;  /* its notices: [places, updates] */
    struct quern_ragged_location source;  /* its input, its staging or its ring */
    int64_t source_bytes;
    int64_t buffer;                       /* of the pipe, in bytes: the source is a ring of two; 0: no pipe */
};

/* Its words before the vote. */
struct quern_ragged_outcome {
    uint64_t digest;
    int64_t rounds;                       /* the number of buffers of its pipe */
    struct quern_slice_report report;
};

/* A rank's record of its call, in its mailbox. */
struct quern_ragged_record {
    struct quern_ragged_terms terms;
    _Alignas(64) struct quern_ragged_outcome outcome;  /* a line of its own: all that a plan's run writes */
    char reason[QUERN_REASON_BYTES];      /* for QUERN_SLICE_ARGUMENTS */
};

_Static_assert(sizeof(struct quern_ragged_record) <= QUERN_MAILBOX_BYTES, "a record must fit a mailbox");

extern const struct quern_terms quern_ragged_terms;

/* A record without a pipe, a report or terms. */
void quern_ragged_clear_record(struct quern_ragged_record *record);

/* Slices that pass through a ring; `begin` is their offset in the pipe.  The pointer on the ring's side is NULL. */
struct quern_ragged_pipe {
    struct quern_copy *slices;
    int64_t count;
    char *ring;
    int64_t buffer, rounds;
};

struct quern_ragged_exchange {
    struct quern_ragged_call *call;
    quern_ragged_all_to_all_cpu_kernel *kernel;
    struct quern_ragged_terms *terms;                            /* [places]: of every member, read once */
    int astray;                                                  /* a member whose output is out of reach; -1: none */
    char *staging;                                               /* this rank's */
    struct quern_ragged_notice *outbox, *inbox;                  /* [places, updates] */
    struct quern_copy_list direct;                               /* deliveries and fetches */
    struct quern_ragged_pipe outgoing, incoming[QUERN_RANK_LIMIT];  /* incoming: by the slot of the sender */
    struct quern_copy *incoming_slices;                          /* [places, updates] */
    int64_t piped_in;                                            /* bytes in all the incoming pipes */
    struct iovec *shipped_out, *shipped_in;                      /* [places, updates + 1]: what goes to other hosts and comes */
    bool is_streaming;                                           /* copies go past the caches */
    struct quern_copy_list pieces;                               /* scratch: the pieces of pipes that are in a buffer */
};

/* The bytes of workspace for a call. */
size_t quern_ragged_exchange_workspace(const struct quern_ragged_call *call);

/* The bytes of storage for lists.  It is not in the workspace, which other processes can write. */
size_t quern_ragged_exchange_storage(const struct quern_ragged_call *call);

/* Begins an exchange: for a call that is not refused. */
void quern_ragged_exchange_open(struct quern_ragged_exchange *exchange, struct quern_ragged_call *call, void *storage);

/*
 * Writes the record as far as the entry needs it, and the notices.  A fault of the metadata goes into its report.  Not QUERN_OK:
 * the arguments are refused, and the detail is set.
 */
quern_status quern_ragged_exchange_announce(struct quern_ragged_exchange *exchange, struct quern_ragged_record *record);

/* After the entry, if all terms are there and agree: lists the copies.  Returns as above. */
quern_status quern_ragged_exchange_prepare(struct quern_ragged_exchange *exchange, struct quern_ragged_record *record);

/* Copies buffer `round` of the outgoing pipe into the workspace.  In place there is one buffer with all slices. */
void quern_ragged_exchange_stage(struct quern_ragged_exchange *exchange, int64_t round);

/* Makes the direct copies. */
void quern_ragged_exchange_copy(const struct quern_ragged_exchange *exchange);

/* Copies buffer `round` of all incoming pipes. */
void quern_ragged_exchange_fetch(struct quern_ragged_exchange *exchange, int64_t round);

/* ---- ragged_gather.c: the metadata of all ranks of a group, gathered and checked on the host ---- */

/* The first message of a rank about its call. */
struct quern_ragged_outline {
    struct quern_record record;
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
    struct quern_ragged_outline outlines[QUERN_GROUP_LIMIT];  /* of every rank */
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

/* ---- ragged_host.c: the ragged all-to-all of CPU ranks, for host_transport.c ---- */

extern const struct quern_ragged_transport quern_host_ragged;

/* ---- ragged_hosts.c ---- */

/*
 * The part of a ragged all-to-all between ranks of several hosts: over their connections.  For ragged_host.c.
 *
 * Entry and vote are exchanges: what a rank says to all goes with its message to each.  After the vote the slices follow, straight
 * from the sender's input, or its staging if it works in place, into the receiver's output.  Without ranks of other hosts these
 * functions are the meetings in the host's memory alone.
 */

/*
 * The entry: the record's terms and, if it is ready, the notices for each receiver; before them the eager message, if there is
 * one (NULL: none).  An eager message that does not offer the long protocol goes without terms.
 */
quern_status quern_ragged_enter(struct quern_ragged_call *call, const struct quern_ragged_exchange *exchange,
                                const struct quern_meeting *meeting, const struct quern_ragged_eager *eager);

/* The vote: the outcome and the reason in it. */
quern_status quern_ragged_vote(const struct quern_ragged_call *call, const struct quern_meeting *meeting);

/* The meetings of a host's members while they copy, and when they have. */
quern_status quern_ragged_meet_here(const struct quern_ragged_call *call, struct quern_meeting meeting, enum quern_phase phase);

/* The slices: begun before those of this host are copied, and ended after it. */
struct quern_ragged_shipment {
    struct quern_sendrecv sendrecv;
    const struct quern_ragged_exchange *exchange;
    bool is_needed;
};
quern_status quern_ragged_ship(struct quern_ragged_shipment *shipment, const struct quern_ragged_exchange *exchange,
                               const struct quern_meeting *meeting);
quern_status quern_ragged_ship_rest(struct quern_ragged_shipment *shipment);
void quern_ragged_abandon(struct quern_ragged_shipment *shipment);  /* the call fails between the two */

/* ---- ragged_launch_cuda.c: the launch of the ragged all-to-all of GPU ranks ---- */

/* The offsets in a workspace.  The header, which peers read, comes first: its place must not differ between ranks. */
struct quern_ragged_layout {
    size_t header;     /* struct quern_ragged_header */
    size_t work;       /* struct quern_ragged_work */
    size_t metadata;   /* four arrays, if they come from host memory */
    size_t receipts;   /* struct quern_ragged_receipt, to find overlaps */
    size_t staging;    /* a copy of the input, if the output overlaps it */
    size_t bytes;
};

/* Has room for all ranks of the group, not only the members.  False: it would be larger than any memory. */
bool quern_ragged_lay_out(const struct quern_ragged_call *call, struct quern_ragged_layout *layout);

/* Checks for GPUs only; fails with call->refused if the call is refused already. */
quern_status quern_ragged_check_cuda(struct quern_ragged_call *call);

/* QUERN_NOT_SUPPORTED if the device has no room any more for the blocks of all ranks. */
quern_status quern_ragged_check_room(const struct quern_ragged_call *call);

/* Fills in all but the metadata and `planned`. */
void quern_ragged_describe(const struct quern_ragged_call *call, const struct quern_ragged_layout *layout,
                           enum quern_collective collective, struct quern_ragged_problem *problem);

struct quern_ragged_launch {
    struct quern_membership *member;
    const struct quern_ready_kernel *ready;
    struct quern_ragged_problem problem;
    unsigned blocks;
    CUdeviceptr staged;      /* the input, copied to the staging before each launch, ... */
    size_t staged_bytes;     /* ... if this is not 0 */
};

/* Between quern_cuda_enter and _leave: launches the entry and the copy. */
quern_status quern_ragged_launch(struct quern_ragged_launch *launch, struct quern_cuda_entry *entry, CUstream stream);

/* ---- ragged_nccl.c: the ragged all-to-all of GPU ranks of several hosts: see ragged_nccl.c ---- */

extern const struct quern_ragged_transport quern_nccl_ragged;

/* ---- ragged_plan_cuda.c ---- */

/* Plans of the ragged all-to-all of GPU ranks: three functions of the transport's row, which is in ragged_cuda.c. */

quern_status quern_cuda_plan_create(struct quern_ragged_call *calls, int count, void **states);
quern_status quern_cuda_plan_run(void *state, void *stream);
quern_status quern_cuda_plan_destroy(void *state);

/* ---- ragged_show.c: shows the memory of a ragged all-to-all to observers: see runtime/look.h ---- */

/* The rows that a plan moves. */
struct quern_ragged_rows {
    const char *input, *output;
    int64_t input_rows, output_rows, row_bytes;
};

struct quern_ragged_rows quern_ragged_rows_of(const struct quern_ragged_call *call);

/* The same without symmetric memory that was freed since, which the run refuses. */
struct quern_ragged_rows quern_ragged_rows_left(const struct quern_membership *member, const struct quern_ragged_rows *rows);

extern const struct quern_view quern_ragged_view;       /* of a struct quern_ragged_call */
extern const struct quern_view quern_ragged_plan_view;  /* of a struct quern_ragged_rows */

#endif
