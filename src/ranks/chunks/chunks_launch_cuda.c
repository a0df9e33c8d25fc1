/* The arguments of the kernels of quantised chunks: what each rank reads and where it writes.  Called by chunks_cuda.c. */
#include "ranks/chunks/chunks.h"

#include "os/integers.h"
#include "ranks/barrier_cuda.h"

size_t quern_chunks_state_bytes(const struct quern_chunks_call *call) {
    return sizeof(struct quern_chunks_state) + (size_t)call->chunks * sizeof(uint32_t);
}

static struct quern_chunks_state *state_of(const struct quern_chunks_call *call) { return call->workspace; }

void quern_chunks_fill_amax(const struct quern_chunks_call *call, struct quern_quantize_batch *batch) {
    struct quern_chunks_state *state = state_of(call);
    *batch = (struct quern_quantize_batch){
        .states = &state->largest,
        .amax = &state->amax,
        .list_count = 1,
        .tensor_count = 1,
        .tile_count = quern_larger(quern_divide_up(call->elements, QUERN_LIST_TILE), 1),
        .tensors = {{.input = call->args.input, .count = call->elements}},
    };
}

static struct quern_chunks_terms terms_of(const struct quern_chunks_call *call) {
    const quern_quantize_chunks_args *args = &call->args;
    struct quern_chunks_terms terms = {
        .rows = args->rows,
        .columns = args->columns,
        .chunk_rows = args->chunk_rows,
        .input_dtype = (int32_t)args->input_dtype,
        .output_dtype = (int32_t)args->output_dtype,
        .ready_value = args->ready_value,
        .eps = (float)args->eps + 0,  /* -0 is 0 */
        .power_of_two = args->power_of_two,
        .rounding = args->rounding == QUERN_ROUND_STOCHASTIC ? QUERN_ROUND_STOCHASTIC : QUERN_ROUND_NEAREST,
    };
    for (int word = 0; word < QUERN_RANK_WORDS; word++) terms.members[word] = call->set.words[word];
    if (call->output_bytes) terms.output_id = call->output_place.id, terms.output_offset = call->output_place.offset;
    if (call->ready_bytes) terms.ready_id = call->ready_place.id, terms.ready_offset = call->ready_place.offset;
    return terms;
}

void quern_chunks_fill_meeting(const struct quern_chunks_call *call, struct quern_chunks_problem *problem) {
    *problem = (struct quern_chunks_problem){
        .terms = terms_of(call),
        .places = (uint32_t)call->places,
        .state = state_of(call),
        .ready = call->args.ready,
        .words = (uint32_t)(call->chunks * call->places),
        .chunks = (uint32_t)call->chunks,
        .ready_value = call->args.ready_value,
        .amax = call->args.amax,
        .scale = call->args.scale,
        .scale_inv = call->args.scale_inv,
    };
    for (int place = 0; place < call->places; place++) problem->rank_at[place] = (unsigned char)call->rank_at[place];
    quern_cuda_link(call->member, &call->set, QUERN_IN_QUANTIZE_CHUNKS, call->timeout, &problem->links);
}

/* ---- the cast ---- */

/* In another rank's part of the memory; nobody goes there unless all have agreed that it is theirs. */
static char *at_peer(const struct quern_symmetric_location *place, int rank, int64_t begin) {
    return (char *)((uintptr_t)place->peer[rank] + (uintptr_t)(place->offset + begin));
}

/* This rank's own memory first, then that of the other places, from the next one on: so the ranks begin with different ones. */
static void list_destinations(const struct quern_chunks_call *call, struct quern_chunks_cast_problem *problem) {
    const int64_t output = call->place * call->elements, ready = call->place * call->chunks * (int64_t)sizeof(uint32_t);
    for (int turn = 0; turn < call->places; turn++) {
        const int rank = call->rank_at[(call->place + turn) % call->places];
        if (call->output_bytes) problem->destination[turn] = at_peer(&call->output_place, rank, output);
        if (call->ready_bytes) problem->ready[turn] = (uint32_t *)(void *)at_peer(&call->ready_place, rank, ready);
    }
    if (call->output_bytes && call->output_place.multicast && call->places == call->member->ranks)
        problem->multicast = (char *)call->output_place.multicast + call->output_place.offset + output;
}

static uint32_t alignment_of(const struct quern_chunks_call *call, const struct quern_chunks_cast_problem *problem) {
    uintptr_t all = (uintptr_t)problem->multicast;
    for (int place = 0; place < call->places; place++) all |= (uintptr_t)problem->destination[place];
    return all % 16 == 0 ? 16 : all % 4 == 0 ? 4 : 1;
}

void quern_chunks_fill_cast(const struct quern_chunks_call *call, struct quern_chunks_cast_problem *problem) {
    const quern_quantize_chunks_args *args = &call->args;
    struct quern_chunks_state *state = state_of(call);
    *problem = (struct quern_chunks_cast_problem){
        .state = state,
        .finished = state->finished,
        .input = args->input,
        .elements = call->elements,
        .chunk_elements = call->chunk_elements,
        .offset_pointer = args->offset_pointer,
        .seed = {(uint32_t)args->seed, (uint32_t)(args->seed >> 32)},
        .offset = (uint32_t)args->offset,
        .stochastic = args->rounding == QUERN_ROUND_STOCHASTIC,
        .chunks = (uint32_t)call->chunks,
        .places = (uint32_t)call->places,
        .ready_value = args->ready_value,
    };
    for (int64_t i = 0; i < call->chunks; i++) problem->order[i] = call->order[i];
    list_destinations(call, problem);
    problem->alignment = alignment_of(call, problem);
}

int64_t quern_chunks_parts(const struct quern_chunks_call *call) {
    int64_t parts = 0;
    for (int64_t chunk = 0; chunk < call->chunks; chunk++)
        parts += quern_chunk_tiles_at(call->elements, call->chunk_elements, chunk).count;
    return parts;
}
