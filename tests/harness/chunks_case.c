/* Calls of quern_quantize_chunks that follow from a seed.  chunks_case.h documents the functions. */
#include "harness/chunks_case.h"

#include "harness/args.h"
#include "harness/random.h"
#include "harness/standard.h"
#include "oracle/dtype.h"
#include "oracle/quantize.h"

/* ---- choices ---- */

static void choose_members(struct chunks_case *c, struct dice *dice, struct chunks_choice choice) {
    const int least = choice.ranks > 1 && !choice.everyone && chance(dice, 3) ? 1 : choice.ranks;
    c->ranks = choice.ranks;
    for (int rank = 0; rank < choice.ranks; rank++) {
        const int left = choice.ranks - rank;
        if (c->count + left <= least || !chance(dice, 3)) c->members[c->count++] = rank;
    }
    if (!c->count) c->members[c->count++] = (int)below(dice, choice.ranks);
    c->everyone = c->count == choice.ranks && !chance(dice, 4);
}

/* Chunks that begin anywhere in the groups of random numbers, and some that are multiples of them. */
static void choose_shape(struct chunks_case *c, struct dice *dice, struct chunks_choice choice) {
    static const int64_t widths[] = {1, 2, 3, 8, 31, 64, 100, 128, 255, 256, 257, 512, 1000, 1024};
    const int64_t largest = choice.largest ? choice.largest : 6000;
    c->columns = choice.columns ? choice.columns : chance(dice, 40) ? -1 : widths[below(dice, COUNT(widths))];
    if (c->columns < 0) c->columns = 0;
    c->rows = choice.rows ? choice.rows : chance(dice, 40) ? -1 : 1 + below(dice, largest / (c->columns ? c->columns : 1) + 1);
    if (c->rows < 0) c->rows = 0;
    c->chunk_rows = choice.chunk_rows ? choice.chunk_rows : 1 + below(dice, chance(dice, 2) ? 2 * c->rows + 1 : c->rows / 5 + 1);
    if ((c->rows + c->chunk_rows - 1) / c->chunk_rows > 1024) c->chunk_rows = (c->rows + 1023) / 1024;
    c->chunks = (c->rows + c->chunk_rows - 1) / c->chunk_rows;
    c->elements = c->rows * c->columns;
}

static void choose_options(struct chunks_case *c, struct dice *dice, struct chunks_choice choice) {
    static const quern_dtype inputs[] = {QUERN_F32, QUERN_F16, QUERN_BF16}, outputs[] = {QUERN_E4M3, QUERN_E5M2};
    static const double epsilons[] = {0, 0, 1e-12, 0.5, 3, 1e30};
    c->input = choice.input ? choice.input : inputs[below(dice, COUNT(inputs))];
    c->output = choice.output ? choice.output : outputs[below(dice, COUNT(outputs))];
    c->rounding = (quern_rounding)below(dice, QUERN_ROUND_STOCHASTIC + 1);
    c->power_of_two = (int32_t)below(dice, 2);
    c->eps = epsilons[below(dice, COUNT(epsilons))];
    c->skew = chance(dice, 2) ? 0 : below(dice, 64);
    c->input_skew = chance(dice, 2) ? 0 : below(dice, 16);
    c->is_in_order = chance(dice, 3);
    c->has_pointer = chance(dice, 3);
    c->has_scales = !chance(dice, 4);
}

/* ---- values ---- */

/* Of each member another magnitude; special values in some cases, and nothing but zeros in few. */
static double value_of(const struct chunks_case *c, int place, int64_t i) {
    static const double special[] = {NAN, INFINITY, -INFINITY, 0, -0.0, 1e-40, -65504};
    const uint64_t seed = c->seed * 64 + (uint64_t)place, mood = random_bits(c->seed, 1000) % 8;
    const uint64_t bits = random_bits(seed, (uint64_t)i);
    if (mood == 0) return 0;
    if (mood == 1 && bits % 50 == 0) return special[bits / 50 % COUNT(special)];
    if (mood == 2 && bits % 50 == 0) return special[bits / 50 % 2 * 3];  /* no infinity */
    return ldexp(random_normal(seed, (uint64_t)i), (int)(random_bits(seed, 77) % 9) - 5);
}

static bool fill_input(struct chunks_case *c, int place) {
    c->inputs[place] = malloc((size_t)c->elements * quern_dtype_bytes(c->input) + 1);
    if (!c->inputs[place]) return false;
    for (int64_t i = 0; i < c->elements; i++) dtype_store(c->input, c->inputs[place], i, value_of(c, place, i));
    return true;
}

/* The public functions of a tensor, one member after the other, with the largest of all amaxes. */
/* Of stochastic rounding: in both halves. */
static uint64_t seed_of(const struct chunks_case *c) { return random_bits(c->seed, 4500); }

static void find_expected(struct chunks_case *c) {
    quern_quantize_tensor tensor = {.count = c->elements};
    quern_quantize_args args = QUANTIZE_ARGS(.input_dtype = c->input, .output_dtype = c->output, .tensors = &tensor,
                                             .tensor_count = 1, .rounding = c->rounding, .power_of_two = c->power_of_two,
                                             .eps = c->eps, .seed = seed_of(c), .scale = &c->scale, .scale_inv = &c->scale_inv);
    for (int place = 0; place < c->count; place++) {
        float amax;
        args.amax = &amax, tensor.input = c->inputs[place];
        quantize_model_amax(&args);
        if (!place || amax > c->amax) c->amax = amax;
    }
    args.amax = &c->amax;
    for (int place = 0; place < c->count; place++) {
        tensor.input = c->inputs[place], tensor.output = c->expected + place * c->elements;
        args.offset = chunks_case_offset(c, place);
        quantize_model_cast(&args);
    }
}

bool chunks_case_open(struct chunks_case *c, uint64_t seed, struct chunks_choice choice) {
    struct dice dice = {.seed = seed};
    *c = (struct chunks_case){.seed = seed};
    choose_members(c, &dice, choice);
    choose_shape(c, &dice, choice);
    choose_options(c, &dice, choice);
    c->expected = malloc((size_t)(c->count * c->elements) + 1);
    bool has_memory = c->expected;
    for (int place = 0; has_memory && place < c->count; place++) has_memory = fill_input(c, place);
    if (has_memory) find_expected(c);
    else chunks_case_close(c);
    return has_memory;
}

void chunks_case_close(struct chunks_case *c) {
    for (int place = 0; place < c->count; place++) free(c->inputs[place]);
    free(c->expected);
}

/* ---- a member ---- */

int chunks_case_place(const struct chunks_case *c, int rank) {
    for (int place = 0; place < c->count; place++)
        if (c->members[place] == rank) return place;
    return -1;
}

/* More than 32 bits, of which the upper ones do not count. */
uint64_t chunks_case_offset(const struct chunks_case *c, int place) { return random_bits(c->seed, 2000 + (uint64_t)place); }

void chunks_case_order(const struct chunks_case *c, int place, int *order) {
    for (int64_t i = 0; i < c->chunks; i++) {
        const int64_t at = c->is_in_order ? i : random_below(c->seed + (uint64_t)place, 3000 + (uint64_t)i, i + 1);
        if (at != i) order[i] = order[at];
        order[at] = (int)i;
    }
}

struct chunks_layout chunks_case_layout(const struct chunks_case *c) {
    struct chunks_layout layout = {.output = CHUNKS_GUARD + c->skew, .output_bytes = c->count * c->elements,
                                   .ready_bytes = c->count * c->chunks * 4};
    layout.ready = (layout.output + layout.output_bytes + CHUNKS_GUARD) / 64 * 64 + 4 * (c->skew % 16);
    layout.bytes = layout.ready + layout.ready_bytes + CHUNKS_GUARD;
    return layout;
}

quern_quantize_chunks_args chunks_case_args(const struct chunks_case *c, int place) {
    quern_quantize_chunks_args args = QUANTIZE_CHUNKS_ARGS(.input_dtype = c->input, .output_dtype = c->output);
    args.rows = c->rows, args.columns = c->columns, args.chunk_rows = c->chunk_rows;
    args.eps = c->eps, args.power_of_two = c->power_of_two, args.rounding = c->rounding, args.seed = seed_of(c);
    args.offset = c->has_pointer ? 0 : chunks_case_offset(c, place);
    if (!c->everyone) args.members = c->members, args.member_count = c->count;
    return args;
}
