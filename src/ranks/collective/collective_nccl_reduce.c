/*
 * The reductions of GPU ranks of several hosts: NCCL moves the inputs, and a kernel of this library combines them in the order of
 * the places.  NCCL itself would add in an order of its own.
 *
 * Each rank owns a part of the result: of a reduce-scatter its output, of an all-reduce its share.  It receives the others' inputs
 * of that part into slots of its workspace, one for each place, and the kernel combines the slots and the rank's own input.  The
 * slots hold a piece of the part, so that is done piece by piece:
 *
 *   group of NCCL   the inputs of piece k to their owners; of an all-reduce also the results of piece k - 1 to all
 *   kernel          piece k
 *
 * Of a small all-reduce each rank owns all of the result: then the results go nowhere, and one group and one kernel are all.
 * Large reductions of hosts with several GPUs each go from host to host: collective_nccl_chain.c.
 *
 * The stream orders all this, so a slot is read before it is received again.  In place, an input is sent before the result of its
 * piece replaces it.
 */
#include "ranks/collective/collective.h"

#include "os/integers.h"
#include "ranks/nccl/nccl.h"
#include "ranks/points.h"
#include "runtime/dtype.h"

enum {
    /*
     * Of all slots together: what a rank receives for one launch of each kind, whatever the number of ranks.  At 50 GB/s that takes
     * 0.7 ms, against which the launches and the way between hosts, some 30 us, are small.
     */
    WORKSPACE = 32 << 20,

    /*
     * An all-reduce of n ranks and B bytes by one group brings a rank (n - 1) B bytes, by two 2 (n - 1) / n B, so up to (n - 2) B
     * more. So many take about as long as the second group costs.
     */
    MORE_BYTES = 512 << 10
};

_Static_assert(4 * (QUERN_GROUP_LIMIT - 1) <= QUERN_NCCL_GROUP_OPERATIONS, "inputs and results of all ranks are one group");
_Static_assert(WORKSPACE / QUERN_GROUP_LIMIT >= QUERN_NCCL_LINE + QUERN_NCCL_VECTOR, "every place has a slot");

struct reduction {
    const struct quern_collective_call *call;
    bool is_spread;                      /* the result of each owner goes to all */
    int64_t slot_bytes;
    char *slots;                         /* of the places, one behind the other */
    int64_t pieces;                      /* of the largest part */
};

/* Bytes of a rank's whole input or, in an all-reduce, also of the output. */
struct part {
    int64_t begin, bytes;
};

/* ---- the parts ---- */

static int64_t slot_bytes_of(const struct quern_collective_call *call) {
    const int64_t most = (WORKSPACE - QUERN_NCCL_VECTOR) / call->places / QUERN_NCCL_LINE * QUERN_NCCL_LINE;
    return quern_smaller((int64_t)quern_round_up((size_t)call->piece_bytes, QUERN_NCCL_LINE), most);
}

size_t quern_nccl_reduction_workspace(const struct quern_collective_call *call) {
    if (!quern_is_float(call->dtype) || !call->piece_bytes) return 0;
    return (size_t)(call->places * slot_bytes_of(call) + QUERN_NCCL_VECTOR);
}

static struct part part_of(const struct reduction *r, int owner) {
    const struct quern_collective_call *call = r->call;
    if (call->form->scatters) return (struct part){quern_collective_part(call, owner), call->piece_bytes};
    if (!r->is_spread) return (struct part){0, call->piece_bytes};
    const int64_t begin = quern_nccl_cut(call, owner, call->places);
    return (struct part){begin, quern_nccl_cut(call, owner + 1, call->places) - begin};
}

static struct part piece_of(const struct reduction *r, int owner, int64_t number) {
    const struct part part = part_of(r, owner);
    const int64_t at = quern_smaller(number * r->slot_bytes, part.bytes);
    return (struct part){part.begin + at, quern_smaller(r->slot_bytes, part.bytes - at)};
}

static char *slot_of(const struct reduction *r, int place) { return r->slots + place * r->slot_bytes; }

/* Where the owner of a piece has its result; of a spread one all others too. */
static char *result_at(const struct reduction *r, const struct part *piece) {
    const struct quern_collective_call *call = r->call;
    return call->output + piece->begin - quern_collective_part(call, call->place);
}

static bool is_spread(const struct quern_collective_call *call) {
    return !call->form->scatters && (call->places - 2) * call->piece_bytes > MORE_BYTES;
}

/* The first share of an all-reduce is the largest.  The slots lie as the output does towards a vector. */
static struct reduction describe(const struct quern_collective_call *call) {
    struct reduction r = {.call = call, .is_spread = is_spread(call), .slot_bytes = slot_bytes_of(call)};
    r.slots = (char *)call->workspace + (uintptr_t)call->output % QUERN_NCCL_VECTOR;
    r.pieces = quern_divide_up(part_of(&r, 0).bytes, r.slot_bytes);
    return r;
}

/* ---- the messages ---- */

/* A group of NCCL. */
struct messages {
    const struct reduction *reduction;
    int64_t number;                      /* of the piece whose inputs go, and one more than of that whose results do */
};

static ncclResult_t add_results(const struct quern_nccl_rank *rank, const struct reduction *r, int64_t number, int place,
                                CUstream stream) {
    const struct part own = piece_of(r, r->call->place, number), theirs = piece_of(r, place, number);
    return quern_nccl_exchange(rank, r->call->rank_at[place], result_at(r, &own), own.bytes, result_at(r, &theirs), theirs.bytes,
                               stream);
}

static ncclResult_t add_inputs(const struct quern_nccl_rank *rank, const struct reduction *r, int64_t number, int place,
                               CUstream stream) {
    const struct part own = piece_of(r, r->call->place, number), theirs = piece_of(r, place, number);
    return quern_nccl_exchange(rank, r->call->rank_at[place], r->call->input + theirs.begin, theirs.bytes, slot_of(r, place),
                               own.bytes, stream);
}

static ncclResult_t add_messages(const struct quern_nccl_rank *rank, const struct quern_nccl_call *enqueued) {
    const struct messages *messages = enqueued->user;
    const struct reduction *r = messages->reduction;
    ncclResult_t result = ncclSuccess;
    for (int place = 0; place < r->call->places && result == ncclSuccess; place++) {
        if (place == r->call->place) continue;
        if (r->is_spread && messages->number > 0)
            result = add_results(rank, r, messages->number - 1, place, enqueued->stream);
        if (messages->number < r->pieces && result == ncclSuccess)
            result = add_inputs(rank, r, messages->number, place, enqueued->stream);
    }
    return result;
}

static quern_status enqueue_messages(const struct reduction *r, int64_t number, CUstream stream) {
    const struct quern_collective_call *call = r->call;
    const struct messages messages = {r, number};
    const struct quern_nccl_call group = {call->form->operation, &call->set, call->timeout, stream, add_messages, &messages,
                                          number > 0};
    return quern_nccl_enqueue(call->member, &group);
}

/* ---- the kernel ---- */

static quern_status combine(const struct reduction *r, int64_t number, struct quern_cuda_entry *entry, CUstream stream) {
    const struct quern_collective_call *call = r->call;
    const struct part piece = piece_of(r, call->place, number);
    struct quern_nccl_sum sum = {.bytes = piece.bytes, .sources = call->places, .own = call->place, .to = result_at(r, &piece),
                                 .own_input = call->input + piece.begin};
    for (int place = 0; place < call->places; place++) sum.source[place] = slot_of(r, place);
    return quern_nccl_combine(call, &sum, entry, stream);
}

quern_status quern_nccl_enqueue_reduction(const struct quern_collective_call *call, struct quern_cuda_entry *entry,
                                          CUstream stream) {
    const struct reduction r = describe(call);
    quern_status status = QUERN_OK;
    if (quern_nccl_is_chained(call, r.slot_bytes, MORE_BYTES))
        return quern_nccl_enqueue_chain(call, r.slots, r.slot_bytes, entry, stream);
    for (int64_t number = 0; number < r.pieces + r.is_spread && status == QUERN_OK; number++) {
        status = enqueue_messages(&r, number, stream);
        QUERN_POINT(NCCL_MOVED);
        if (status == QUERN_OK && number < r.pieces) status = combine(&r, number, entry, stream);
        QUERN_POINT(NCCL_COMBINED);
    }
    return status;
}
