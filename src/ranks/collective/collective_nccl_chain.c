/*
 * Large all-reduces of GPU ranks of several hosts, from host to host: a host then sends each element at most twice, however many
 * GPUs it has, and the order of the places is kept.  Called by collective_nccl_reduce.c.
 *
 * The ranks of equal index on each host have a slice of the elements, which goes piece by piece.  In step t, which is a group of
 * NCCL and then a kernel, host h of n
 *
 *   inputs     brings the inputs of piece t - h to the rank of the slice, from the others of this host;
 *   partial    receives the sum of that piece over the hosts before, and sends the one that it has made in the step before;
 *   kernel     adds its inputs to that sum in the order of the places: on the last host that is the result;
 *   result     passes on in a ring, from the last host to the first: there it is one step later, and so on;
 *   spread     and in the step after that goes to the others of the host.
 *
 * A sum between hosts has the dtype of the inputs, so this is for sums of fp32 and for maxima.
 */
#include "ranks/collective/collective.h"

#include "os/integers.h"
#include "ranks/nccl/nccl.h"
#include "ranks/points.h"

enum { LINE = 128, PIECE = 1 << 20 /* bytes: twice what a group and a kernel cost in time */ };

/* Slots: the inputs of this host's members, the sum that comes, and the one that goes. */
struct chain {
    const struct quern_collective_call *call;
    int hosts, host;                     /* with members; this rank's among them */
    int here, index;                     /* members of each host; this rank's among them */
    int64_t slot_bytes, pieces;          /* of the first slice, which is the largest */
    char *slots;
};

/* ---- the shape ---- */

static int host_at(const struct quern_collective_call *call, int place) {
    return call->member->roster->peer[call->rank_at[place]].host;
}

/* Fails if the hosts do not have equally many members, which follow each other. */
static bool divide(struct chain *c, const struct quern_collective_call *call) {
    *c = (struct chain){.call = call};
    while (c->here < call->places && host_at(call, c->here) == host_at(call, 0)) c->here++;
    c->hosts = call->places / c->here;
    if (call->places % c->here) return false;
    for (int place = 1; place < call->places; place++) {
        const bool is_same = host_at(call, place) == host_at(call, place - 1);
        if (is_same != (place % c->here != 0) || host_at(call, place) < host_at(call, place - 1)) return false;
    }
    c->host = call->place / c->here;
    c->index = call->place % c->here;
    return true;
}

bool quern_nccl_is_chained(const struct quern_collective_call *call, int64_t group_bytes) {
    struct chain c;
    const bool keeps_bits = call->dtype == QUERN_F32 || call->combination == QUERN_COMBINE_MAX;
    if (call->form->scatters || !keeps_bits || !divide(&c, call)) return false;
    const int64_t others = call->places - c.here, direct = 2 * c.here * call->piece_bytes / call->places * others;
    const int64_t chained = (c.hosts > 2 ? 2 : 1) * call->piece_bytes, more_groups = 2 * c.hosts - 2;
    return direct - chained > more_groups * group_bytes;
}

/* The first byte of a slice. */
static int64_t cut(const struct chain *c, int index) {
    const int64_t even = quern_divide_up(c->call->piece_bytes * index, c->here * (int64_t)LINE) * LINE;
    return quern_smaller(even, c->call->piece_bytes);
}

/* Bytes of the vector; none of a piece that there is not. */
struct part {
    int64_t begin, bytes;
};

static struct part piece_of(const struct chain *c, int index, int64_t piece) {
    const int64_t begin = cut(c, index) + piece * c->slot_bytes, end = quern_smaller(begin + c->slot_bytes, cut(c, index + 1));
    if (piece < 0 || piece >= c->pieces) return (struct part){0, 0};
    return (struct part){begin, quern_larger(end - begin, 0)};
}

static char *slot_of(const struct chain *c, int number) { return c->slots + number * c->slot_bytes; }
static char *arriving(const struct chain *c) { return slot_of(c, c->here); }
static char *leaving(const struct chain *c) { return slot_of(c, c->here + 1); }

static bool is_last(const struct chain *c) { return c->host == c->hosts - 1; }

/* The pieces of a step, on this host: whose inputs come, and whose result is sent on, comes, and goes to its other members. */
static int64_t combined_at(const struct chain *c, int64_t step) { return step - c->host; }
static int64_t arriving_at(const struct chain *c, int64_t step) { return step - c->hosts - c->host; }
static int64_t spread_at(const struct chain *c, int64_t step) { return is_last(c) ? step - c->hosts : arriving_at(c, step - 1); }

/* ---- the messages ---- */

struct messages {
    const struct chain *chain;
    int64_t step;
    const struct quern_nccl_rank *rank;
    CUstream stream;
};

static int rank_of(const struct chain *c, int host, int index) { return c->call->rank_at[host * c->here + index]; }

static ncclResult_t send_to(const struct messages *m, int to, const char *from, int64_t bytes) {
    return bytes ? m->rank->nccl->send(from, (size_t)bytes, ncclUint8, to, m->rank->comm, m->stream) : ncclSuccess;
}

static ncclResult_t receive_from(const struct messages *m, int from, char *to, int64_t bytes) {
    return bytes ? m->rank->nccl->receive(to, (size_t)bytes, ncclUint8, from, m->rank->comm, m->stream) : ncclSuccess;
}

/* Inputs and results between this rank and another one of this host. */
static ncclResult_t add_member(const struct messages *m, int index) {
    const struct chain *c = m->chain;
    const int rank = rank_of(c, c->host, index);
    const int64_t combined = combined_at(c, m->step), spread = spread_at(c, m->step);
    const struct part theirs = piece_of(c, index, combined), own = piece_of(c, c->index, combined);
    const struct part result = piece_of(c, c->index, spread), their_result = piece_of(c, index, spread);
    ncclResult_t error = send_to(m, rank, c->call->input + theirs.begin, theirs.bytes);
    if (error == ncclSuccess) error = receive_from(m, rank, slot_of(c, index), own.bytes);
    if (error == ncclSuccess) error = send_to(m, rank, c->call->output + result.begin, result.bytes);
    if (error == ncclSuccess) error = receive_from(m, rank, c->call->output + their_result.begin, their_result.bytes);
    return error;
}

/* Sums from the host before and to the next one. */
static ncclResult_t add_sums(const struct messages *m) {
    const struct chain *c = m->chain;
    const int64_t comes = piece_of(c, c->index, combined_at(c, m->step)).bytes;
    const int64_t goes = piece_of(c, c->index, combined_at(c, m->step - 1)).bytes;
    ncclResult_t error = ncclSuccess;
    if (c->host > 0) error = receive_from(m, rank_of(c, c->host - 1, c->index), arriving(c), comes);
    if (!is_last(c) && error == ncclSuccess) error = send_to(m, rank_of(c, c->host + 1, c->index), leaving(c), goes);
    return error;
}

/* Results in the ring, which ends at the last host but one. */
static ncclResult_t add_results(const struct messages *m) {
    const struct chain *c = m->chain;
    const int before = (c->host + c->hosts - 1) % c->hosts, next = (c->host + 1) % c->hosts;
    const struct part comes = piece_of(c, c->index, arriving_at(c, m->step)), goes = piece_of(c, c->index, spread_at(c, m->step));
    ncclResult_t error = ncclSuccess;
    if (!is_last(c)) error = receive_from(m, rank_of(c, before, c->index), c->call->output + comes.begin, comes.bytes);
    if (next != c->hosts - 1 && error == ncclSuccess)
        error = send_to(m, rank_of(c, next, c->index), c->call->output + goes.begin, goes.bytes);
    return error;
}

static ncclResult_t add_messages(const struct quern_nccl_rank *rank, const struct quern_nccl_call *enqueued) {
    struct messages m = *(const struct messages *)enqueued->user;
    m.rank = rank, m.stream = enqueued->stream;
    ncclResult_t error = ncclSuccess;
    for (int index = 0; index < m.chain->here && error == ncclSuccess; index++)
        if (index != m.chain->index) error = add_member(&m, index);
    if (error == ncclSuccess) error = add_sums(&m);
    return error == ncclSuccess ? add_results(&m) : error;
}

static quern_status enqueue_messages(const struct chain *c, int64_t step, CUstream stream) {
    const struct quern_collective_call *call = c->call;
    const struct messages messages = {.chain = c, .step = step};
    const struct quern_nccl_call group = {call->form->operation, &call->set, call->timeout, stream, add_messages, &messages,
                                          step > 0};
    return quern_nccl_enqueue(call->member, &group);
}

/* ---- the kernel ---- */

static quern_status combine(const struct chain *c, int64_t step, struct quern_cuda_entry *entry, CUstream stream) {
    const struct part piece = piece_of(c, c->index, combined_at(c, step));
    struct quern_nccl_sum sum = {.bytes = piece.bytes, .to = is_last(c) ? c->call->output + piece.begin : leaving(c),
                                 .own_input = c->call->input + piece.begin};
    if (c->host > 0) sum.source[sum.sources++] = arriving(c);
    sum.own = sum.sources + c->index;
    for (int index = 0; index < c->here; index++) sum.source[sum.sources++] = slot_of(c, index);
    return quern_nccl_combine(c->call, &sum, entry, stream);
}

quern_status quern_nccl_enqueue_chain(const struct quern_collective_call *call, char *slots, int64_t most,
                                      struct quern_cuda_entry *entry, CUstream stream) {
    struct chain c;
    quern_status status = QUERN_OK;
    divide(&c, call);
    c.slots = slots;
    c.slot_bytes = quern_smaller(quern_smaller(most, PIECE), (int64_t)quern_round_up((size_t)cut(&c, 1), LINE));
    c.pieces = quern_divide_up(cut(&c, 1), c.slot_bytes);
    for (int64_t step = 0; step < c.pieces + 2 * c.hosts - 1 && status == QUERN_OK; step++) {
        status = enqueue_messages(&c, step, stream);
        QUERN_POINT(NCCL_MOVED);
        if (status == QUERN_OK) status = combine(&c, step, entry, stream);
        QUERN_POINT(NCCL_COMBINED);
    }
    return status;
}
