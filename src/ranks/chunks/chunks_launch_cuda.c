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
        .eps = call->in_blocks ? 0 : (float)args->eps + 0,  /* -0 is 0 */
        .power_of_two = call->in_blocks ? 0 : args->power_of_two,
        .rounding = args->rounding == QUERN_ROUND_STOCHASTIC ? QUERN_ROUND_STOCHASTIC : QUERN_ROUND_NEAREST,
        .scaling = call->in_blocks ? QUERN_SCALING_MX : QUERN_SCALING_TENSOR,
    };
    for (int word = 0; word < QUERN_RANK_WORDS; word++) terms.members[word] = call->set.words[word];
    if (call->output_bytes) terms.output_id = call->output_place.id, terms.output_offset = call->output_place.offset;
    if (call->ready_bytes) terms.ready_id = call->ready_place.id, terms.ready_offset = call->ready_place.offset;
    if (call->scales_bytes) terms.scales_id = call->scales_place.id, terms.scales_offset = call->scales_place.offset;
    return terms;
}

void quern_chunks_fill_results(const struct quern_chunks_call *call, struct quern_chunks_problem *problem) {
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
        .rank = call->member->rank,
    };
}

void quern_chunks_fill_meeting(const struct quern_chunks_call *call, struct quern_chunks_problem *problem) {
    quern_chunks_fill_results(call, problem);
    for (int place = 0; place < call->places; place++) problem->rank_at[place] = (unsigned char)call->rank_at[place];
    quern_cuda_link(call->member, &call->set, QUERN_IN_QUANTIZE_CHUNKS, call->timeout, &problem->links);
}

/* ---- the cast ---- */

/* In another rank's part of the memory; nobody goes there unless all have agreed that it is theirs. */
static char *at_peer(const struct quern_symmetric_location *place, int rank, int64_t begin) {
    return (char *)((uintptr_t)place->peer[rank] + (uintptr_t)(place->offset + begin));
}

/* A place of the destinations: this rank's own memory first, then that of the next places, so ranks begin with different ones. */
static int rank_at_turn(const struct quern_chunks_call *call, int turn) {
    return call->rank_at[(call->place + turn) % call->places];
}

static uint32_t alignment_of(uintptr_t all) { return all % 16 == 0 ? 16 : all % 4 == 0 ? 4 : 1; }

/*
 * Of memory with so many bytes for each place; 0: there is none.  A cast's vectors begin at multiples of 16 bytes from the begin of
 * the place on, or of each row of `row_bytes`.
 */
static void fill_target(const struct quern_chunks_call *call, const struct quern_symmetric_location *place, int64_t bytes,
                        int64_t row_bytes, struct quern_chunks_target *target) {
    const int64_t begin = call->place * bytes;
    uintptr_t all = (uintptr_t)row_bytes;
    if (!bytes) return;
    for (int turn = 0; turn < call->places; turn++) {
        target->destination[turn] = at_peer(place, rank_at_turn(call, turn), begin);
        all |= (uintptr_t)target->destination[turn];
    }
    if (place->multicast && call->places == call->member->ranks)
        target->multicast = (char *)place->multicast + place->offset + begin;
    all |= (uintptr_t)target->multicast;
    target->alignment = alignment_of(all);
}

/* Of this rank's memory alone. */
static void fill_own_target(const struct quern_chunks_call *call, void *memory, int64_t bytes, int64_t row_bytes,
                            struct quern_chunks_target *target) {
    if (!bytes) return;
    target->destination[0] = (char *)memory + call->place * bytes;
    target->alignment = alignment_of((uintptr_t)row_bytes | (uintptr_t)target->destination[0]);
}

/* The bytes between two vectors of codes that may begin anywhere: rows in blocks. */
static int64_t row_bytes_of(const struct quern_chunks_call *call) { return call->in_blocks ? call->args.columns : 0; }

static void fill_units(const struct quern_chunks_call *call, struct quern_chunks_cast_problem *problem) {
    const int64_t chunk_rows = quern_smaller(call->args.chunk_rows, call->args.rows);
    problem->units = call->in_blocks ? call->blocks : call->elements;
    problem->chunk_units = call->in_blocks ? chunk_rows * call->across : call->chunk_elements;
    problem->columns = call->args.columns;
    problem->across = call->across;
}

static void fill_input(const struct quern_chunks_call *call, struct quern_chunks_cast_problem *problem) {
    const quern_quantize_chunks_args *args = &call->args;
    struct quern_chunks_state *state = state_of(call);
    *problem = (struct quern_chunks_cast_problem){
        .state = state,
        .finished = state->finished,
        .input = args->input,
        .offset_pointer = args->offset_pointer,
        .seed = {(uint32_t)args->seed, (uint32_t)(args->seed >> 32)},
        .offset = (uint32_t)args->offset,
        .stochastic = args->rounding == QUERN_ROUND_STOCHASTIC,
        .ready_value = args->ready_value,
    };
    fill_units(call, problem);
}

void quern_chunks_fill_cast(const struct quern_chunks_call *call, struct quern_chunks_cast_problem *problem) {
    const int64_t ready = call->place * call->chunks * (int64_t)sizeof(uint32_t);
    fill_input(call, problem);
    problem->chunks = (uint32_t)call->chunks;
    problem->places = (uint32_t)call->places;
    fill_target(call, &call->output_place, call->elements, row_bytes_of(call), &problem->output);
    fill_target(call, &call->scales_place, call->blocks, 0, &problem->scales);
    for (int turn = 0; turn < call->places; turn++)
        problem->ready[turn] = (uint32_t *)(void *)at_peer(&call->ready_place, rank_at_turn(call, turn), ready);
    for (int64_t i = 0; i < call->chunks; i++) problem->order[i] = call->order[i];
}

void quern_chunks_fill_own_cast(const struct quern_chunks_call *call, int64_t chunk, struct quern_chunks_cast_problem *problem) {
    fill_input(call, problem);
    problem->chunks = problem->places = 1;
    problem->order[0] = (uint16_t)chunk;
    fill_own_target(call, call->args.output, call->elements, row_bytes_of(call), &problem->output);
    fill_own_target(call, call->args.block_scales, call->blocks, 0, &problem->scales);
    problem->ready[0] = call->args.ready + call->place * call->chunks;
}

int64_t quern_chunks_parts_of(const struct quern_chunks_call *call, int64_t chunk) {
    const int64_t tile = call->in_blocks ? QUERN_CHUNK_TILE_BLOCKS : QUERN_CHUNK_TILE;
    struct quern_chunks_cast_problem problem;
    fill_units(call, &problem);
    return quern_chunk_tiles_at(problem.units, problem.chunk_units, tile, chunk).count;
}

int64_t quern_chunks_parts(const struct quern_chunks_call *call) {
    int64_t parts = 0;
    for (int64_t chunk = 0; chunk < call->chunks; chunk++) parts += quern_chunks_parts_of(call, chunk);
    return parts;
}
