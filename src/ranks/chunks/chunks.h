/* Quantised chunks: the call that the files share, and the functions of each file. */
#ifndef QUERN_RANKS_CHUNKS_H
#define QUERN_RANKS_CHUNKS_H

#include "kernels/chunks_problem.h"
#include "ranks/cuda_launch.h"
#include "ranks/membership.h"
#include "ranks/symmetric/symmetric.h"
#include "ranks/terms.h"
#include "runtime/look.h"

/* ---- A checked call of quern_quantize_chunks, and the functions by which a transport runs it ---- */

/* One rank's call, checked, with defaults filled in. */
struct quern_chunks_call {
    struct quern_membership *member;
    quern_quantize_chunks_args args;     /* as an older header may have given them: what it does not have is 0 */
    int places;                          /* the number of members */
    int place;                           /* this rank's */
    int64_t chunks;
    int64_t elements;                    /* rows * columns */
    int64_t chunk_elements;              /* of each chunk but the last */
    bool in_blocks;                      /* QUERN_SCALING_MX */
    int64_t across, blocks;              /* in blocks: those of a row, and all of the tensor */
    int64_t output_bytes, ready_bytes, scales_bytes;  /* of all places; 0: the call has no such memory, and its place is zeros */
    int multiprocessors;                 /* as in the arguments: 0 is the default */
    double timeout;
    bool is_captured;                    /* over NCCL: the stream is being captured */

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

    struct quern_symmetric_location output_place, ready_place, scales_place;
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
    /* Nobody else reaches output, words and scales: any memory of the device will do. */
    bool any_memory;

    /* The bytes of workspace: of the call its members, numbers and dtypes are valid. */
    size_t (*workspace_bytes)(const struct quern_chunks_call *call);

    /* What the transport wants beyond the checks that all share, and its kernels: the last of a rank's own checks. */
    quern_status (*check)(struct quern_chunks_call *call);

    quern_status (*run)(struct quern_chunks_call *call, void *stream);

    /* quern_chunk_wait, of words in this rank's symmetric memory, or any.  For any thread, also while the rank is in a call. */
    quern_status (*wait)(struct quern_membership *member, const uint32_t *ready, int64_t count, uint32_t value, double timeout,
                         void *stream);

    /* quern_symmetric_view.  NULL: the device has no kernels. */
    quern_status (*view)(struct quern_membership *member, const void *pointer, quern_device_view *view);
};

/* ---- chunks_check.c: the checks of a call of quantised chunks that a rank can make alone ---- */

/* The members: first, since a rank reports faulty arguments to the other members.  *call is cleared but for its arrays. */
quern_status quern_chunks_fill_members(struct quern_chunks_call *call, struct quern_membership *member,
                                       const quern_quantize_chunks_args *args);

/* Dtypes and numbers. */
quern_status quern_chunks_fill_shape(struct quern_chunks_call *call);

/* All of the rest, the transport's own checks as the last. */
quern_status quern_chunks_fill_rest(struct quern_chunks_call *call, void *workspace, size_t workspace_bytes, void *stream);

/* ready_value, or the value of a wait: a word is 0 before the first call, and ~value says that a call has failed. */
quern_status quern_chunks_check_value(const quern_device *device, const char *name, uint32_t value);

/* ---- chunks_copy.c ---- */

struct quern_chunks_work;

/*
 * `all` are the parts of all places, and `own` has what belongs into their bytes [first, end).  Copies it to all of them, but to
 * where it is.
 */
void quern_chunks_copy(const struct quern_chunks_work *work, char *const *all, const char *own, int64_t first, int64_t end);

/* ---- chunks_cuda.c: the quantised chunks of GPU ranks of one host, for cuda_transport.c ---- */

extern const struct quern_chunks_transport quern_cuda_chunks;

/* Whether the kernels take so large a tensor, and the kernels.  A transport's check begins with it. */
quern_status quern_chunks_check_on_gpu(struct quern_chunks_call *call);

/* Launches the kernel that finds the amax of this rank's input; nothing in blocks. */
CUresult quern_chunks_launch_amax(const struct quern_chunks_call *call, struct quern_cuda_entry *entry, CUstream stream);

/* Launches the cast with so many parts at most. */
CUresult quern_chunks_launch_cast(const struct quern_chunks_call *call, struct quern_cuda_entry *entry, CUstream stream,
                                  const struct quern_chunks_cast_problem *problem, int64_t parts);

/* Launches one block of a stage.  The rest of the problem is filled in. */
CUresult quern_chunks_launch_meeting(const struct quern_chunks_call *call, struct quern_cuda_entry *entry, CUstream stream,
                                     struct quern_chunks_problem *problem, enum quern_chunks_stage stage);

/* Launches a wait for words whose links are filled in. */
quern_status quern_chunks_launch_wait(struct quern_membership *member, struct quern_chunks_problem *problem, const uint32_t *ready,
                                      int64_t count, uint32_t value, void *stream);

/* ---- chunks_host.c: quantised chunks of CPU ranks of one host: a row of the host transport ---- */

extern const struct quern_chunks_transport quern_host_chunks;

/* ---- chunks_launch_cuda.c: the arguments of the kernels of quantised chunks ---- */

/* The workspace of a call. */
size_t quern_chunks_state_bytes(const struct quern_chunks_call *call);

/* The largest magnitude of this rank's input; of its tiles there is at least one.  Not in blocks. */
void quern_chunks_fill_amax(const struct quern_chunks_call *call, struct quern_quantize_batch *batch);

/* What all stages of a call have, without the stage, ranks and links. */
void quern_chunks_fill_results(const struct quern_chunks_call *call, struct quern_chunks_problem *problem);

/* Entry and exit, without the stage. */
void quern_chunks_fill_meeting(const struct quern_chunks_call *call, struct quern_chunks_problem *problem);

void quern_chunks_fill_cast(const struct quern_chunks_call *call, struct quern_chunks_cast_problem *problem);

/* The cast of one chunk into this rank's own memory alone, with its word. */
void quern_chunks_fill_own_cast(const struct quern_chunks_call *call, int64_t chunk, struct quern_chunks_cast_problem *problem);

/* How many tiles and parts of tiles the cast has, of all chunks and of one. */
int64_t quern_chunks_parts(const struct quern_chunks_call *call);
int64_t quern_chunks_parts_of(const struct quern_chunks_call *call, int64_t chunk);

/* ---- chunks_nccl.c: quantised chunks of GPU ranks of several hosts: a row of the transport over NCCL ---- */

extern const struct quern_chunks_transport quern_nccl_chunks;

/* ---- chunks_nccl_agree.c ---- */

/*
 * Whether the members of a call over NCCL have made the same one, as quern_nccl_agree_on_call; then orders[place * chunks + i] is
 * the chunk that the member at a place sends as its i-th.  Of a call that is refused there are no orders.
 */
quern_status quern_nccl_agree_on_chunks(struct quern_chunks_call *call, uint16_t *orders);

/* ---- chunks_record.c ---- */

/*
 * What a rank tells the other members of a call of quantised chunks on CPUs: its record, written before the entry and read after.
 * For chunks_host.c.
 *
 * A record lies in the rank's eager message, in the half of the next meeting of all ranks, as that of a collective does: see
 * src/ranks/collective/collective.h.  Each call ends with an exit, after which nobody reads its records.
 */

/* The record of a rank, also over NCCL, where no memory of others is reached and no amax is told. */
extern const struct quern_terms quern_chunks_terms;
void quern_chunks_write_record_at(const struct quern_chunks_call *call, float amax, void *there);

/* Writes this rank's record; amax is that of its input.  Returns the half, by which the records are read after the entry. */
uint32_t quern_chunks_write_record(const struct quern_chunks_call *call, float amax);

/*
 * After the entry: copies the records of all members and compares them.  *result is the error of the call, the same on all members
 * but one that refuses its own arguments; *amax is the largest of all inputs.  Fails if a record is damaged, which poisons the
 * group.
 */
quern_status quern_chunks_read_records(const struct quern_chunks_call *call, uint32_t half, float *amax, quern_status *result);

/* ---- chunks_show.c: shows quantised chunks to the trace and the dump ---- */

extern const struct quern_view quern_quantize_chunks_view, quern_chunk_wait_view;

/* ---- chunks_wait.c: the wait for chunks on the host ---- */

/* A function of struct quern_chunks_transport. */
quern_status quern_chunks_wait(struct quern_membership *member, const uint32_t *ready, int64_t count, uint32_t value,
                               double timeout, void *stream);

/* ---- chunks_work.c ---- */

/*
 * The work of a rank on the threads of a CPU: the amax of its input, and the cast that sends chunk after chunk to all members.  For
 * chunks_host.c.
 *
 * A thread casts a piece in steps into this rank's output, and copies each from there to the outputs of the other members while it
 * is in the cache.  In blocks a step is some rows or a part of one, and its scales go the same way (chunks_work_blocks.c).  The
 * pieces of all chunks are one list in the order of the chunks, so no thread waits for another one.  The one that completes the
 * last piece of a chunk writes the ready words:
 *
 *   thread    copies of a piece;  fence, if they stream;  left[chunk] -= 1, acquire and release
 *             if left[chunk] is 0: ready[place][chunk] of each member = ready_value, release
 *
 * So whoever reads a word with acquire order sees what all threads have written of the chunk.  Checked by tests/model/pieces.pml.
 */

struct quern_chunks_work {
    const struct quern_chunks_call *call;
    char *output[QUERN_RANK_LIMIT];       /* [places]: this rank's part of the output of each member */
    char *scales[QUERN_RANK_LIMIT];       /* [places]: of the scales of blocks; NULL: there are none */
    uint32_t *ready[QUERN_RANK_LIMIT];    /* [places]: its words of each member */
    float scale;                          /* not of blocks */
    uint32_t offset;                      /* of the random numbers */
    int64_t pieces;                       /* of each chunk; the last chunk may have empty ones */
    bool is_streaming;                    /* copies past the caches */
    bool is_stopped;                      /* atomic: a thread has seen that the group is poisoned */
    uint32_t left[QUERN_MOST_CHUNKS];     /* atomic; [chunks]: pieces that are not complete */
};

/* The largest magnitude of this rank's input; 0 in blocks, which do not need it. */
float quern_chunks_find_amax(const struct quern_chunks_call *call);

/* Casts and sends all chunks.  The rows of outputs and words are filled in.  False: the group has been poisoned meanwhile. */
bool quern_chunks_send(struct quern_chunks_work *work);

/* ---- chunks_work_blocks.c: the same for blocks with scales of their own ---- */

/* How many pieces a chunk has; at least one. */
int64_t quern_chunks_pieces_of_blocks(const struct quern_chunks_call *call);

/* Casts and sends a piece of a chunk, possibly an empty one. */
void quern_chunks_cast_blocks(const struct quern_chunks_work *work, int chunk, int64_t piece);

#endif
