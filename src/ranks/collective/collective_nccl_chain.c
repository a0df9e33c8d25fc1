/*
 * Large reductions of GPU ranks of several hosts, from host to host: a host then sends each element at most twice, however many
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
 * Of a reduce-scatter the part of each place is such a vector, one after the other, and its result goes from the last host to its
 * owner.
 *
 * A sum between hosts has the dtype of the inputs, so this is for sums of fp32 and for maxima.
 */
#include "ranks/collective/collective.h"

#include "os/integers.h"
#include "ranks/nccl/nccl.h"
#include "ranks/points.h"

enum { PIECE = 1 << 20 /* bytes: twice what a group and a kernel cost in time */ };

/* Slots: the inputs of this host's members, the sum that comes, and the one that goes. */
struct chain {
    const struct quern_collective_call *call;
    int hosts, host;                     /* with members; this rank's among them */
    int here, index;                     /* members of each host; this rank's among them */
    int64_t slot_bytes, pieces;          /* of the first slice, which is the largest; of a reduce-scatter for all places */
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

/* The first byte of a slice of a vector. */
static int64_t cut(const struct chain *c, int index) { return quern_nccl_cut(c->call, index, c->here); }

static int64_t vectors_of(const struct chain *c) { return c->call->form->scatters ? c->call->places : 1; }

static void cut_pieces(struct chain *c, int64_t most) {
    c->slot_bytes = quern_smaller(quern_smaller(most, PIECE), (int64_t)quern_round_up((size_t)cut(c, 1), QUERN_NCCL_LINE));
    c->pieces = vectors_of(c) * quern_divide_up(cut(c, 1), c->slot_bytes);
}

/* Bytes that the busiest host sends to others, directly and from host to host. */
static int64_t sent_directly(const struct chain *c) {
    const int64_t bytes = c->call->piece_bytes, others = c->call->places - c->here;
    return c->call->form->scatters ? c->here * others * bytes : 2 * c->here * bytes / c->call->places * others;
}

static int64_t sent_in_chain(const struct chain *c) {
    return c->call->piece_bytes * (c->call->form->scatters ? c->call->places : c->hosts > 2 ? 2 : 1);
}

bool quern_nccl_is_chained(const struct quern_collective_call *call, int64_t most, int64_t group_bytes) {
    struct chain c;
    const bool keeps_bits = call->dtype == QUERN_F32 || call->combination == QUERN_COMBINE_MAX;
    if (!keeps_bits || !divide(&c, call)) return false;
    cut_pieces(&c, most);
    const int64_t more_groups = call->form->scatters ? c.pieces + c.hosts - 1 : 2 * c.hosts - 2;
    return sent_directly(&c) - sent_in_chain(&c) > more_groups * group_bytes;
}

/* A piece of a slice: its first byte in the vector, and the place that gets the result, if not all do.  No bytes: there is none. */
struct part {
    int64_t begin, bytes;
    int owner;
};

static struct part piece_of(const struct chain *c, int index, int64_t number) {
    const int64_t of_vector = c->pieces / vectors_of(c), begin = cut(c, index) + number % of_vector * c->slot_bytes;
    const int64_t end = quern_smaller(begin + c->slot_bytes, cut(c, index + 1));
    if (number < 0 || number >= c->pieces) return (struct part){0, 0, 0};
    return (struct part){begin, quern_larger(end - begin, 0), (int)(number / of_vector)};
}

static const char *input_at(const struct chain *c, struct part piece) {
    return c->call->input + quern_collective_part(c->call, piece.owner) + piece.begin;
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

/* A message to a rank and one from it. */
static ncclResult_t exchange(const struct messages *m, int peer, const char *from, int64_t out, char *to, int64_t in) {
    return quern_nccl_exchange(m->rank, peer, from, out, to, in, m->stream);
}

/* Inputs between this rank and another one of this host. */
static ncclResult_t add_inputs(const struct messages *m, int index) {
    const struct chain *c = m->chain;
    const int64_t number = combined_at(c, m->step);
    const struct part theirs = piece_of(c, index, number), own = piece_of(c, c->index, number);
    return exchange(m, rank_of(c, c->host, index), input_at(c, theirs), theirs.bytes, slot_of(c, index), own.bytes);
}

/* Results between this rank and another one of this host. */
static ncclResult_t add_spread(const struct messages *m, int index) {
    const struct chain *c = m->chain;
    const int64_t number = spread_at(c, m->step);
    const struct part own = piece_of(c, c->index, number), theirs = piece_of(c, index, number);
    return exchange(m, rank_of(c, c->host, index), c->call->output + own.begin, own.bytes, c->call->output + theirs.begin,
                    theirs.bytes);
}

/* Sums from the host before and to the next one. */
static ncclResult_t add_sums(const struct messages *m) {
    const struct chain *c = m->chain;
    const int64_t comes = piece_of(c, c->index, combined_at(c, m->step)).bytes;
    const int64_t goes = piece_of(c, c->index, combined_at(c, m->step - 1)).bytes;
    ncclResult_t error = ncclSuccess;
    if (c->host > 0) error = exchange(m, rank_of(c, c->host - 1, c->index), NULL, 0, arriving(c), comes);
    if (!is_last(c) && error == ncclSuccess) error = exchange(m, rank_of(c, c->host + 1, c->index), leaving(c), goes, NULL, 0);
    return error;
}

/* Results in the ring, which ends at the last host but one. */
static ncclResult_t add_results(const struct messages *m) {
    const struct chain *c = m->chain;
    const int before = (c->host + c->hosts - 1) % c->hosts, next = (c->host + 1) % c->hosts;
    const struct part comes = piece_of(c, c->index, arriving_at(c, m->step)), goes = piece_of(c, c->index, spread_at(c, m->step));
    ncclResult_t error = ncclSuccess;
    if (!is_last(c)) error = exchange(m, rank_of(c, before, c->index), NULL, 0, c->call->output + comes.begin, comes.bytes);
    if (next != c->hosts - 1 && error == ncclSuccess)
        error = exchange(m, rank_of(c, next, c->index), c->call->output + goes.begin, goes.bytes, NULL, 0);
    return error;
}

/* Of a reduce-scatter: what the last host has added up goes to its owner, unless that is the rank which has it in its output. */
static ncclResult_t add_scattered(const struct messages *m) {
    const struct chain *c = m->chain;
    const int64_t number = m->step - c->hosts;
    const struct part own = piece_of(c, c->index, number);
    ncclResult_t error = ncclSuccess;
    if (is_last(c) && own.owner != c->call->place) error = exchange(m, c->call->rank_at[own.owner], leaving(c), own.bytes, NULL, 0);
    for (int index = 0; index < c->here && own.owner == c->call->place && error == ncclSuccess; index++) {
        const int from = rank_of(c, c->hosts - 1, index);
        const struct part piece = piece_of(c, index, number);
        if (from != c->call->member->rank) error = exchange(m, from, NULL, 0, c->call->output + piece.begin, piece.bytes);
    }
    return error;
}

static ncclResult_t add_messages(const struct quern_nccl_rank *rank, const struct quern_nccl_call *enqueued) {
    struct messages m = *(const struct messages *)enqueued->user;
    const struct chain *c = m.chain;
    const bool scatters = c->call->form->scatters;
    ncclResult_t error = ncclSuccess;
    m.rank = rank, m.stream = enqueued->stream;
    for (int index = 0; index < c->here && error == ncclSuccess; index++) {
        if (index != c->index) error = add_inputs(&m, index);
        if (index != c->index && !scatters && error == ncclSuccess) error = add_spread(&m, index);
    }
    if (error == ncclSuccess) error = add_sums(&m);
    if (error != ncclSuccess) return error;
    return scatters ? add_scattered(&m) : add_results(&m);
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
    const bool is_own = is_last(c) && (!c->call->form->scatters || piece.owner == c->call->place);
    struct quern_nccl_sum sum = {.bytes = piece.bytes, .to = is_own ? c->call->output + piece.begin : leaving(c),
                                 .own_input = input_at(c, piece)};
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
    cut_pieces(&c, most);
    c.slots = slots;
    const int64_t steps = c.pieces + (call->form->scatters ? c.hosts : 2 * c.hosts - 1);
    for (int64_t step = 0; step < steps && status == QUERN_OK; step++) {
        status = enqueue_messages(&c, step, stream);
        QUERN_POINT(NCCL_MOVED);
        if (status == QUERN_OK) status = combine(&c, step, entry, stream);
        QUERN_POINT(NCCL_COMBINED);
    }
    return status;
}
