/* Collectives: the call, its terms and schedules, on CPUs, between hosts, on GPUs and over NCCL. */
#ifndef QUERN_RANKS_COLLECTIVE_H
#define QUERN_RANKS_COLLECTIVE_H

#include "kernels/collective_pieces.h"
#include "kernels/collective_problem.h"
#include "os/text.h"
#include "ranks/cuda_launch.h"
#include "ranks/hosts/hosts.h"
#include "ranks/symmetric/symmetric.h"
#include "ranks/terms.h"
#include "runtime/look.h"

/* ---- A checked call of a collective, and the functions by which a transport runs it ---- */

struct quern_view;

/* The differences between the four operations. */
struct quern_collective_form {
    enum quern_collective operation;     /* by which meetings and reports know the call */
    bool reduces;                        /* combines the inputs; else moves bytes */
    bool scatters;                       /* the input has [members, count] elements */
    bool gathers;                        /* the output has */
    bool has_root;                       /* only the root has an input */
    const struct quern_view *view;
};

/* The terms that a rank sends to the others on CPUs: see collective_record.c. */
struct quern_collective_head {
    struct quern_record record;           /* flags: enum quern_collective_trait */
    int64_t count;
    uint64_t live;                        /* quern_symmetric_live: ranks with the same can reach the same memory */
    int64_t input_stride;                 /* as given */
    int32_t root;
    uint8_t dtype, combination, order;
    uint8_t is_captured;                  /* over NCCL: the call goes into a graph */
};

/* One rank's call, checked, with defaults filled in. */
struct quern_collective_call {
    struct quern_membership *member;
    int threads;                        /* of its device when the call began, on which its workspace depends */
    const struct quern_collective_form *form;
    const struct quern_ready_kernel *combine, *move;  /* the kernels; combine is NULL unless the call reduces */
    int places;                          /* the number of members */
    int place;                           /* this rank's */
    int root_place;                      /* of the root, if there is one */

    const char *input;                   /* NULL: this rank has none */
    char *output;
    int64_t count;
    int64_t element_bytes, piece_bytes;  /* of an element; of `count` of them */
    int64_t input_stride;                /* of a reduce-scatter: elements from one place of its input to the next */
    int64_t input_bytes, output_bytes;   /* from the first byte to the last */
    quern_dtype dtype;
    quern_combination combination;       /* 0 unless the call reduces */
    quern_order order;                   /* of a sum */
    int root;                            /* a rank; 0 without one */
    int multiprocessors;                 /* as in the arguments: 0 is the default */
    double timeout;
    bool is_captured;                    /* over NCCL: the stream is being captured */
    struct quern_collective_head head;   /* of CPU ranks; digest 0: it is not made yet */

    void *workspace;
    size_t workspace_bytes;              /* as many as the transport wants */

    enum quern_symmetric_state input_state, output_state, workspace_state;
    bool in_place;                       /* input and output share memory, as the header allows it */

    /*
     * Not QUERN_OK: this rank refuses its own arguments, and its detail is set.  The transport still meets the other members, so
     * that they get that error at once instead of a timeout.  Then only member, form, timeout, set, places, rank_at and place are
     * valid.
     */
    quern_status refused;

    struct quern_symmetric_location input_place, output_place, workspace_place;  /* of the buffers that are symmetric */
    struct quern_rank_set set;           /* the members */
    uint16_t rank_at[QUERN_GROUP_LIMIT]; /* place -> rank, ascending; behind the places nothing */
};

/* Where the part of the input for a place begins: of a reduce-scatter each place has its own. */
static inline int64_t quern_collective_part(const struct quern_collective_call *call, int place) {
    return call->form->scatters ? place * call->input_stride * call->element_bytes : 0;
}

struct quern_collective_transport {
    /*
     * The bytes of workspace with these members, dtype and count: of the call no more is valid but the form.  That is NULL where
     * the engine asks for a workspace that suffices for each operation.
     */
    size_t (*workspace_bytes)(const struct quern_collective_call *call);

    bool any_workspace;                  /* it may be any memory of the device; else symmetric memory of the group */

    /* Before a call is checked: fetches what it will probably write.  NULL: nothing. */
    void (*expect)(const struct quern_membership *member);

    /* What the transport wants beyond the checks that all share: the last of a rank's own checks.  NULL: nothing. */
    quern_status (*check)(const struct quern_collective_call *call);

    /* The call is in member->again. */
    quern_status (*run)(struct quern_collective_call *call, void *stream);
    bool repeats;                        /* a call that is checked can run again */
};

/* ---- collective_record.c ---- */

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
 *   outcome   at the end: written before a vote
 *
 * In a call of all ranks on one host a rank also tells the digest of its head beside its signal, on the same line, and there a tiny
 * input.  If all digests are the same, so are all heads, and nobody reads them: a tiny call moves one line from each rank.
 */

enum quern_collective_trait {
    QUERN_COLLECTIVE_STAGES = 1,          /* others find the input in the workspace, since they cannot reach it itself */
    QUERN_COLLECTIVE_STAGED_AHEAD = 2,    /* the first part of it is there */
    QUERN_COLLECTIVE_OUTPUT_REACHED = 4,  /* others can write the output */
    QUERN_COLLECTIVE_IN_PLACE = 8,
    QUERN_COLLECTIVE_READS = 16           /* this rank can read the memory of all members */
};

/* How a rank sees another one: see collective_read.c. */
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
struct quern_collective_outcome {
    uint64_t digest;
    int32_t buffer, rank;
};

enum {
    QUERN_COLLECTIVE_PAYLOAD =
        QUERN_EAGER_BYTES - sizeof(struct quern_collective_head) - sizeof(struct quern_collective_outcome)
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

/* What this rank says of its call, without a digest; and what of it is the same on all members. */
void quern_collective_fill_head(const struct quern_collective_call *call, uint32_t traits, struct quern_collective_head *head);
extern const struct quern_terms quern_collective_terms;

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

void quern_collective_write_outcome(const struct quern_collective_call *call, uint32_t half, int buffer, int rank);

/* After a vote: *result as above; the buffer of the first outcome that has one, the same on all members. */
quern_status quern_collective_read_outcomes(const struct quern_collective_call *call, uint32_t half, quern_status *result);

/* ---- collective_again.c ---- */

/*
 * What a rank keeps from one collective to the next: the last one, checked, since the next one is mostly the same and is not
 * checked again; and which other processes it can read.
 */

struct quern_collective_again {
    struct quern_collective_call call;
    const struct quern_collective_form *form;    /* NULL: nothing is remembered */
    quern_collective_args args;
    const void *workspace;
    size_t workspace_bytes;
    const struct quern_ready_kernel *kernels;    /* of the device: the first; another one after a further quern_prepare */
    uint64_t live, frees;                        /* quern_symmetric_live and _frees: the same memory is symmetric */
    struct quern_sight sight[QUERN_RANK_LIMIT];  /* of each rank of a group of one host */
    bool all_read;                               /* the members of the last call could read each other */
};

/* Whether a call without a stream is the last one again, so that its checks would end as they did; sets its limit. */
bool quern_collective_is_again(struct quern_membership *member, const struct quern_collective_form *form,
                               const quern_collective_args *args, const void *workspace, size_t workspace_bytes);

/* The call in member->again has these arguments and is correct. */
void quern_collective_remember(struct quern_membership *member, const struct quern_collective_form *form,
                               const quern_collective_args *args, const void *workspace, size_t workspace_bytes);

static inline void quern_collective_forget(struct quern_membership *member) { member->again->form = NULL; }

/* ---- collective_cuda.c: the collectives of GPU ranks of one host, for cuda_transport.c ---- */

extern const struct quern_collective_transport quern_cuda_collective;

/* ---- collective_host.c: the collectives of CPU ranks of one host, for host_transport.c ---- */

extern const struct quern_collective_transport quern_host_collective;

/* ---- collective_hosts.c: the collectives of CPU ranks of several hosts: a row of the transport of several hosts ---- */

extern const struct quern_collective_transport quern_hosts_collective;

/* ---- collective_launch_cuda.c: the arguments of the collective kernels of GPU ranks ---- */

/* Whether what a rank sends to one member fits its slot: the call is one launch, and others do not reach its memory. */
bool quern_collective_fits_slots(const struct quern_collective_call *call);

/* Fills in all but `stage`. */
void quern_collective_fill_problem(const struct quern_collective_call *call, struct quern_collective_problem *problem);

/* Appends whether the switch adds sums whose order may be any, and if not why; for any thread. */
void quern_report_sums(struct quern_text *text, const struct quern_membership *member);

/* ---- collective_nccl.c: the collectives of GPU ranks of several hosts: a row of the transport over NCCL ---- */

extern const struct quern_collective_transport quern_nccl_collective;

/* ---- collective_nccl_agree.c ---- */

/* Before a collective of GPU ranks of several hosts: whether its members have made the same call. */

/*
 * Collective over the members, on the host.  A member that refuses its arguments (call->refused, and its thread's detail) gets its
 * own error, and the others get the status of the lowest such member, with the detail "rank 2: REASON".  If arguments differ, all
 * get QUERN_PEER_MISMATCH.  In both cases the group stays usable.  Other errors poison it.
 */
quern_status quern_nccl_agree_on_call(struct quern_collective_call *call);

/* Of any operation: where a rank's notice of this call is on this host, and the exchange of those of so many bytes. */
void *quern_nccl_notice_at(const struct quern_membership *member, int rank);
quern_status quern_nccl_bring_notices(struct quern_membership *member, const struct quern_meeting *meeting, size_t bytes);

/* ---- collective_nccl_chain.c ---- */

/*
 * Whether the members of a reduction lie so on their hosts, and it is so large, that it pays to go from host to host: the same on
 * all of them.  most: bytes of a slot.  group_bytes: as many bytes take as long as one more group and kernel.
 */
bool quern_nccl_is_chained(const struct quern_collective_call *call, int64_t most, int64_t group_bytes);

/* Of a call that is chained.  slots: as many as it has members, of `most` bytes each. */
quern_status quern_nccl_enqueue_chain(const struct quern_collective_call *call, char *slots, int64_t most,
                                      struct quern_cuda_entry *entry, CUstream stream);

/* ---- collective_nccl_reduce.c ---- */

/* The reductions of GPU ranks of several hosts: what they enqueue, and the workspace that they need. */

/* Enough for both, of the call's places, dtype and count; 0 if they cannot reduce this dtype. */
size_t quern_nccl_reduction_workspace(const struct quern_collective_call *call);

/* All ranks have agreed on the call, and it is not empty.  The context is current.  The caller poisons the group if it fails. */
quern_status quern_nccl_enqueue_reduction(const struct quern_collective_call *call, struct quern_cuda_entry *entry,
                                          CUstream stream);

/* ---- collective_nccl_sum.c ---- */

enum {
    QUERN_NCCL_VECTOR = 16,              /* bytes that the kernel loads at once where all addresses are alike in these bits */
    QUERN_NCCL_LINE = 128                /* bytes, in whole numbers of which slots and shares are cut */
};

/* The first byte of one of several shares of a piece; the first share is the largest. */
int64_t quern_nccl_cut(const struct quern_collective_call *call, int index, int shares);

/* What kernels combine, in this order.  That of the place `own` is a slot for the rank's own input, or NULL. */
struct quern_nccl_sum {
    int64_t bytes;                       /* 0: no kernel */
    int sources, own;
    const char *source[QUERN_GROUP_LIMIT];
    const char *own_input;
    char *to;
};
quern_status quern_nccl_combine(const struct quern_collective_call *call, struct quern_nccl_sum *sum,
                                struct quern_cuda_entry *entry, CUstream stream);

/* ---- collective_read.c ---- */

/*
 * Reads the private memory of other processes' ranks, which copies once.  For collective_host.c and collective_rounds.c.
 *
 * A rank finds out whether it can read another one in the first call that needs it, and says so in the traits of later ones: all
 * members read only if all can.  A process is known by its random number, which is read together with the data: a process that was
 * replaced by another program, or whose number another one has got, has not the same there.
 */

enum { QUERN_LEAST_READ = 4096 };        /* bytes: of less a system call takes longer than two copies */

enum quern_sight_state { QUERN_NOT_SEEN, QUERN_SEEN, QUERN_UNSEEN };

/*
 * Notes which thread of a member is in this call, since the first thread of its process may have ended; and tries once whether it
 * can be read, as it tells.
 */
void quern_collective_look_at(const struct quern_collective_call *call, int place, const struct quern_sight *told, bool tries);

/* Whether this rank can read the members of other processes, as far as it knows. */
bool quern_collective_sees(const struct quern_collective_call *call);

/* Whether the system lets other processes read the ends of this memory. */
bool quern_collective_is_readable(const void *memory, int64_t bytes);

struct quern_read {
    int rank;
    char *to;
    uintptr_t from;                      /* in the process of the rank */
    int64_t bytes;
};

/*
 * Reads on the threads of the device.  Fails, which poisons the group, if a process ends, is replaced or refuses, or if not all of
 * the memory is there.
 */
quern_status quern_collective_read(const struct quern_collective_call *call, const struct quern_read *reads, int count);

/* Appends which ranks of other processes are read, and why the others are not; for any thread. */
void quern_report_sight(struct quern_text *text, const struct quern_membership *member);

/* ---- collective_rounds.c ---- */

/*
 * The large way of a collective on CPUs: which elements a rank combines or copies in each round, from where and to where.  For
 * collective_host.c.
 *
 * What is private memory of another process is read there (collective_read.c) if all members can read each other and pieces are not
 * small.  Then no memory is passed through the workspaces; inputs are combined from there, as much as stays near the core.  Of an
 * all-reduce whose outputs cannot be reached each rank makes its share, and then collects the others' shares from their outputs.
 *
 * Without buffers there is one round: each rank reads the inputs of all and, if they can be reached, writes the outputs of all.  Of
 * an all-reduce each rank combines its share of the elements.
 *
 * Windows pass what cannot be reached through the workspaces, a chunk of elements in each round.  Each kind has two, used in turns:
 *
 *   staged     In the round before, a rank copies its chunk of the input there.
 *   returned   In its round, a rank of an all-reduce leaves its share of the chunk's result there; in the next all fetch it.
 *
 * Rounds are divided by meetings.  So a buffer is written again when all have read it: round r + 1 is staged in round r, in which
 * round r is combined and the results of round r - 1 are fetched.
 *
 * An all-reduce of few elements has no shares: every rank combines all of them, which saves a meeting.  A rank that works in place
 * would overwrite what others still read, unless they read a buffer.
 */

struct quern_collective_rounds {
    const struct quern_collective_call *call;
    /* By place; NULL: not needed. */
    const char *input[QUERN_RANK_LIMIT];
    char *output[QUERN_RANK_LIMIT], *buffer[QUERN_RANK_LIMIT];
    bool stages[QUERN_RANK_LIMIT];       /* its input is read from its buffer */
    bool is_read[QUERN_RANK_LIMIT];      /* its input is read in its process: input is an address there */
    int reads;                           /* how many are */
    bool has_buffers;
    bool pushes;                         /* each rank writes its input into all outputs, of an all-gather */
    bool spreads;                        /* each rank writes its share of the result into all outputs */
    bool returns;                        /* each rank leaves its share of the result in its buffer */
    bool collects;                       /* each rank leaves its share of the result in its output, where the others read it */
    bool is_streaming;                   /* writes outputs past the caches */
    bool has_late;                       /* a rank stages, but not ahead */
    int64_t chunk, rounds;               /* elements of a round (of each piece), and the number of rounds */
};

/* The bytes of workspace of a call. */
size_t quern_collective_workspace_bytes(const struct quern_collective_call *call);

/* Before the entry: this rank's traits.  If it stages, it stages the first chunk at once, unless it will probably not be needed. */
uint32_t quern_collective_begin(const struct quern_collective_call *call);

/* After the entry: chooses the way that all ranks go. */
void quern_collective_choose(struct quern_collective_rounds *rounds, const struct quern_collective_call *call,
                             const struct quern_collective_summary *summary);

/* Finds the buffers of a member.  Returns which of them cannot be reached (struct quern_collective_outcome); -1: none. */
int quern_collective_reach(struct quern_collective_rounds *rounds, int place, const struct quern_collective_places *places);

/* Stages a chunk, if this rank stages and there is such a round. */
void quern_collective_stage(const struct quern_collective_rounds *rounds, int64_t round);

/* The work of a round, for any number: combines or copies, and fetches what the round before has left.  Fails if a read does. */
quern_status quern_collective_work(const struct quern_collective_rounds *rounds, int64_t round);

/* How many rounds there are, with the one that only fetches. */
static inline int64_t quern_collective_all_rounds(const struct quern_collective_rounds *rounds) {
    return rounds->rounds + (rounds->returns || rounds->collects);
}

/* ---- collective_steps.c ---- */

/*
 * Collectives of CPU ranks of several hosts whose data goes in pieces: the steps that all members make together.  For
 * collective_hosts.c and collective_schedules.c.
 *
 * A step has one message each way between the pairs of ranks that have something for each other, then a meeting of the members of
 * each host.  While the messages of a step are under way, a rank works on what the step before has brought.  What the ranks of a
 * host read of each other passes through two buffers in each workspace, which the steps use in turns:
 *
 *   begin(t)    the messages of step t leave, from buffers that were complete at the meeting of step t - 1 or before
 *   work(t-1)   reads what came before meeting t - 1, and writes results and outputs
 *   stage(t)    writes what others of this host read in work(t)
 *   end(t), meeting t
 *
 * A buffer that was staged or received in step t is read in work(t) at the latest and sent with message t + 1 at the latest.  It is
 * written again behind meeting t + 1, to which every reader comes after that.
 */

struct quern_host_exchange;

/* How the data of a call goes.  All functions are the same on all members but for the rank's own memory. */
struct quern_collective_schedule {
    const char *name;
    int64_t (*slots)(const struct quern_host_exchange *x);    /* of a buffer */
    int64_t (*steps)(const struct quern_host_exchange *x);

    /*
     * The parts of the message of a step from one place to another, one of which is this rank's: where they lie here.  Returns
     * their number, at most QUERN_STEP_PARTS; 0: there is no message.
     */
    int (*parts)(const struct quern_host_exchange *x, int64_t step, int from, int to, struct iovec *parts);

    quern_status (*stage)(struct quern_host_exchange *x, int64_t step);
    quern_status (*work)(struct quern_host_exchange *x, int64_t step);
};

enum { QUERN_STEP_PARTS = 2 };

/* A rank's part in such a call.  Hosts are numbered in the order of their first members. */
struct quern_host_exchange {
    const struct quern_collective_call *call;
    const struct quern_collective_schedule *schedule;
    struct quern_meeting meeting;
    struct quern_sendrecv sendrecv;          /* of the present step */
    int hosts, host, index;                  /* this rank's host, and its index among the members there */
    int here, fewest;                        /* members of this host; of the host with the fewest */
    int64_t piece, pieces;                   /* elements of a slot; pieces of a share, or of all */
    int64_t share;                           /* elements of a share of an all-reduce */
    int64_t unit, slot_count;                /* bytes of a slot; slots of a buffer */
    uint16_t *host_of, *index_of;            /* [places] */
    uint16_t *member_at;                     /* [places]: the places by host, ascending */
    uint16_t *first_of, *column_of;          /* [hosts + 1]: where a host begins there; its first column among what comes here */
    uint16_t *number_of;                     /* [hosts of the group]: its number among those with members, and 1; 0: it has none */
    char **buffer;                           /* [here]: the workspaces of this host's members, at the addresses of this process */
    const char **inputs;                     /* [places]: scratch */
};

static inline int quern_host_members(const struct quern_host_exchange *x, int host) {
    return x->first_of[host + 1] - x->first_of[host];
}
static inline int quern_member_at(const struct quern_host_exchange *x, int host, int index) {
    return x->member_at[x->first_of[host] + index];
}

/* A slot of a workspace in a step. */
static inline char *quern_slot(const struct quern_host_exchange *x, int index, int64_t step, int64_t slot) {
    return x->buffer[index] + ((step & 1) * x->slot_count + slot) * x->unit;
}
static inline char *quern_own_slot(const struct quern_host_exchange *x, int64_t step, int64_t slot) {
    return quern_slot(x, x->index, step, slot);
}

/* The bytes of both buffers, unless many members need more.  Tests lower the number. */
extern int64_t quern_most_workspace;

/* No schedule has more slots for so many members. */
static inline int64_t quern_most_slots(int places) { return 2 * places + 1; }

/* The bytes of storage for the lists, and of workspace for a call with any operation. */
size_t quern_host_exchange_storage(const struct quern_collective_call *call);
size_t quern_host_exchange_workspace(const struct quern_collective_call *call);

/* Divides the members among hosts, of a call that is not refused; then divides the buffers, which are the caller's. */
void quern_open_host_exchange(struct quern_host_exchange *x, const struct quern_collective_call *call, void *storage);
void quern_take_schedule(struct quern_host_exchange *x, const struct quern_collective_schedule *schedule);

/* All steps of an exchange whose buffers are there.  Errors poison the group. */
quern_status quern_run_steps(struct quern_host_exchange *x);

/* The meeting of the members of this host, if there are several. */
quern_status quern_meet_members_here(struct quern_membership *member, struct quern_meeting meeting, enum quern_phase phase);

/* Combines the first `count` of x->inputs; copies bytes.  On the threads of the device; then moves the messages of the step. */
quern_status quern_combine_inputs(struct quern_host_exchange *x, int count, char *to, int64_t elements);
quern_status quern_copy_piece(struct quern_host_exchange *x, char *to, const char *from, int64_t bytes);

/* ---- collective_schedules.c: the schedules of collectives over several hosts: which piece goes where in which step ---- */

/*
 * The schedule with which the busiest host sends the fewest bytes, the same on all members.  The members are divided among hosts
 * already.
 */
const struct quern_collective_schedule *quern_choose_schedule(const struct quern_host_exchange *x);

/* ---- collective_select.c: the kernels of the collectives ---- */

/* Fills in the kernels of a call, whose form and dtype are known. */
quern_status quern_collective_select(struct quern_collective_call *call);

/* The kernel that moves bytes, for whoever sends something to all members itself. */
quern_status quern_collective_select_move(quern_device *device, const struct quern_ready_kernel **chosen);

/* The kernel of a task; a dtype that the task does not have is QUERN_NO_DTYPE. */
quern_status quern_collective_select_task(quern_device *device, enum quern_collective_task task, quern_dtype dtype,
                                          quern_dtype output, const struct quern_ready_kernel **chosen);

/* ---- collective_show.c: shows collectives to the trace and the dump ---- */

extern const struct quern_view quern_all_gather_view, quern_reduce_scatter_view, quern_all_reduce_view, quern_broadcast_view;

/* ---- collective_work.c: the combinations of a rank in a collective on CPUs, divided among its threads ---- */

/*
 * Combines `count` elements of all inputs into all outputs, of which each begins at the first of them.  The call reduces.  Runs on
 * the calling thread if there is little to do.
 */
void quern_collective_combine(const struct quern_collective_call *call, const struct quern_collective_combination *pieces,
                              int64_t count);

#endif
