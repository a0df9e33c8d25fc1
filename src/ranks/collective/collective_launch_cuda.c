/*
 * The arguments of the collective kernels of GPU ranks: which memory each rank reads and writes.  Called by collective_cuda.c.
 *
 * In a large call each rank makes a part of the result: of an all-reduce its share of the elements, of a broadcast too, but for
 * the root, of a reduce-scatter its own output, of an all-gather its own place in all outputs.
 */
#include "ranks/collective/collective.h"

#include "os/integers.h"
#include "ranks/barrier_cuda.h"

bool quern_collective_fits_slots(const struct quern_collective_call *call) {
    return (uint64_t)call->piece_bytes <= quern_slot_bytes((uint32_t)call->member->ranks);
}

/* ---- a small call ---- */

static void describe_one_shot(const struct quern_collective_call *call, struct quern_collective_problem *problem) {
    const bool sends = !call->form->has_root || call->place == call->root_place;
    problem->sent = call->input;
    problem->sent_bytes = sends ? (uint64_t)call->piece_bytes : 0;
    problem->sent_step = (uint64_t)quern_collective_part(call, 1);
    problem->bytes = (uint64_t)call->piece_bytes;
    problem->first = call->form->has_root ? (uint32_t)call->root_place : 0;
    problem->sources = call->form->has_root ? 1 : (uint32_t)call->places;
    problem->destinations = 1;
    problem->destination[0] = call->output;
    problem->is_congruent = (uintptr_t)call->output % 16 == 0;  /* slots are aligned */
}

/* ---- a large call ---- */

/* Bytes [begin, begin + bytes) of each input or output. */
struct part {
    int64_t begin, bytes;
};

enum { LINE = 128 };

/* The first byte of a share. */
static int64_t cut(const struct quern_collective_call *call, int index, int shares) {
    const int64_t even = quern_round_up(call->piece_bytes * index / shares, LINE);
    return even < call->piece_bytes ? even : call->piece_bytes;
}

static struct part share_of(const struct quern_collective_call *call, int index, int shares) {
    const int64_t begin = cut(call, index, shares);
    return (struct part){begin, cut(call, index + 1, shares) - begin};
}

/* In another rank's part of the memory; nobody goes there unless all have agreed that it is theirs. */
static char *at_peer(const struct quern_symmetric_location *place, int rank, int64_t begin) {
    return (char *)((uintptr_t)place->peer[rank] + (uintptr_t)(place->offset + begin));
}

/* This rank's own output first, unless it is `left_out`; then those of the other places, from the next one on. */
static void list_outputs(const struct quern_collective_call *call, struct quern_collective_problem *problem, int64_t begin,
                         int left_out) {
    for (int turn = 0; turn < call->places; turn++) {
        const int place = (call->place + turn) % call->places;
        if (place == left_out) continue;
        problem->destination[problem->destinations++] = at_peer(&call->output_place, call->rank_at[place], begin);
    }
    if (call->output_place.multicast && call->places == call->member->ranks)
        problem->multicast = (char *)call->output_place.multicast + call->output_place.offset + begin;
}

enum { LEAST_OF_SWITCH = 3 };  /* ranks.  With two the links would carry no less: docs/collectives.md. */

/* It reaches all ranks at once. */
static bool lets_switch_add(const struct quern_collective_call *call, const struct quern_collective_problem *problem) {
    return call->order == QUERN_ORDER_ANY && call->combination == QUERN_COMBINE_SUM && call->places >= LEAST_OF_SWITCH &&
           call->places == call->member->ranks && call->input_place.multicast && (call->form->scatters || problem->multicast);
}

static void describe_combination(const struct quern_collective_call *call, struct quern_collective_problem *problem) {
    const struct part part = call->form->scatters ? (struct part){quern_collective_part(call, call->place), call->piece_bytes}
                                                  : share_of(call, call->place, call->places);
    problem->bytes = (uint64_t)part.bytes;
    problem->sources = (uint32_t)call->places;
    for (int place = 0; place < call->places; place++)
        problem->source[place] = at_peer(&call->input_place, call->rank_at[place], part.begin);
    if (call->form->scatters) problem->destination[problem->destinations++] = call->output;
    else list_outputs(call, problem, part.begin, -1);
    if (lets_switch_add(call, problem))
        problem->multicast_source = (const char *)call->input_place.multicast + call->input_place.offset + part.begin;
}

static void describe_gather(const struct quern_collective_call *call, struct quern_collective_problem *problem) {
    problem->bytes = (uint64_t)call->piece_bytes;
    problem->sources = 1;
    problem->source[0] = call->input;
    list_outputs(call, problem, call->place * call->piece_bytes, call->in_place ? call->place : -1);
}

/* The root's output has its input already.  The others read it once in all, so that the root's links carry no more. */
static void describe_broadcast(const struct quern_collective_call *call, struct quern_collective_problem *problem) {
    const int index = call->place - (call->place > call->root_place);
    const bool is_root = call->place == call->root_place;
    const struct part part = is_root ? (struct part){0, 0} : share_of(call, index, call->places - 1);
    problem->bytes = (uint64_t)part.bytes;
    problem->sources = 1;
    problem->source[0] = at_peer(&call->output_place, call->root, part.begin);
    list_outputs(call, problem, part.begin, call->root_place);
    problem->relays = !is_root;
}

static bool is_congruent(const struct quern_collective_problem *problem) {
    const uintptr_t first = (uintptr_t)problem->source[0];
    uintptr_t differences = problem->multicast ? (uintptr_t)problem->multicast - first : 0;
    for (uint32_t i = 1; i < problem->sources; i++) differences |= (uintptr_t)problem->source[i] - first;
    for (uint32_t i = 0; i < problem->destinations; i++) differences |= (uintptr_t)problem->destination[i] - first;
    return differences % 16 == 0;
}

static void describe_pass(const struct quern_collective_call *call, struct quern_collective_problem *problem) {
    if (call->form->reduces) describe_combination(call, problem);
    else if (call->form->has_root) describe_broadcast(call, problem);
    else describe_gather(call, problem);
    problem->is_congruent = is_congruent(problem);
    if (!problem->is_congruent) problem->multicast_source = NULL;
}

/* ---- both ---- */

static struct quern_collective_terms terms_of(const struct quern_collective_call *call) {
    struct quern_collective_terms terms = {
        .count = call->count,
        .dtype = (int32_t)call->dtype,
        .combination = call->form->reduces ? (int32_t)call->combination : 0,
        .order = (int32_t)call->order,
        .root = call->form->has_root ? call->root : -1,
        .input_stride = call->form->scatters ? call->input_stride : 0,
    };
    for (int word = 0; word < QUERN_RANK_WORDS; word++) terms.members[word] = call->set.words[word];
    if (quern_collective_fits_slots(call)) return terms;
    if (call->form->reduces) terms.input_id = call->input_place.id, terms.input_offset = call->input_place.offset;
    if (!call->form->scatters) terms.output_id = call->output_place.id, terms.output_offset = call->output_place.offset;
    return terms;
}

void quern_collective_fill_problem(const struct quern_collective_call *call, struct quern_collective_problem *problem) {
    *problem = (struct quern_collective_problem){
        .terms = terms_of(call),
        .is_max = call->combination == QUERN_COMBINE_MAX,
        .place = (uint32_t)call->place,
        .places = (uint32_t)call->places,
    };
    for (int place = 0; place < call->places; place++) problem->rank_at[place] = (unsigned char)call->rank_at[place];
    quern_cuda_link(call->member, &call->set, call->form->operation, call->timeout, &problem->links);
    if (quern_collective_fits_slots(call)) describe_one_shot(call, problem);
    else describe_pass(call, problem);
}

/* ---- the report ---- */

void quern_report_sums(struct quern_text *text, const struct quern_membership *member) {
    const struct quern_cuda_rank *rank = quern_cuda_rank_of(member);
    if (member->device->kind != QUERN_CUDA || !rank) return;
    const char *why = rank->nccl                         ? "the group goes over NCCL"
                      : member->ranks < LEAST_OF_SWITCH  ? "the switch adds for more than two"
                      : !rank->multicast_pad             ? rank->no_multicast
                      : !member->multicast               ? "this rank has not asked for multicast"
                                                         : NULL;
    quern_text_add(text, "sums of QUERN_ORDER_ANY: ");
    if (why) quern_text_add(text, "in the order of the ranks, since %s\n", why);
    else quern_text_add(text, "by the switch, in memory with a multicast address\n");
}
