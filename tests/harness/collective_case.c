/* Makes random collectives, their memory and the expected results.  collective_case.h documents the functions. */
#include "harness/collective_case.h"

#include "harness/random.h"
#include "oracle/dtype.h"

collective_function *const collective_functions[] = {quern_all_gather, quern_reduce_scatter, quern_all_reduce, quern_broadcast};
const char *const collective_names[] = {"all-gather", "reduce-scatter", "all-reduce", "broadcast"};

/* ---- making a case ---- */

static int64_t element_bytes(const struct collective_case *c) { return (int64_t)quern_dtype_bytes(c->dtype); }

static void choose_members(struct collective_case *c, struct dice *dice, struct collective_choice choice) {
    const bool everyone = choice.everyone || chance(dice, 2);
    for (int rank = 0; rank < choice.ranks; rank++)
        if (everyone || !chance(dice, 3)) c->members[c->count++].rank = rank;
    if (!c->count) c->members[c->count++].rank = 0;
}

/* Counts around vectors, lines, records and windows. */
static int64_t choose_elements(const struct collective_case *c, struct dice *dice, struct collective_choice choice) {
    static const int64_t few[] = {0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 129, 255, 257};
    const int64_t largest = choice.largest ? choice.largest : 3000;
    if (choice.elements) return choice.elements < 0 ? 0 : choice.elements;
    if (choice.most) return (choice.least + below(dice, choice.most - choice.least + 1)) / element_bytes(c);
    if (chance(dice, 2)) return few[below(dice, COUNT(few))];
    return below(dice, chance(dice, 2) ? 1100 : largest + 1);
}

static void choose_shape(struct collective_case *c, struct dice *dice, struct collective_choice choice) {
    static const quern_dtype floats[] = {QUERN_F32, QUERN_F16, QUERN_BF16};
    static const quern_dtype any[] = {QUERN_F32,  QUERN_F16,       QUERN_BF16,  QUERN_E4M3,
                                      QUERN_E5M2, QUERN_REMAINDER, QUERN_INT32, QUERN_INT64};
    c->operation = (enum collective_operation)(choice.operation ? choice.operation - 1 : below(dice, COLLECTIVE_OPERATIONS));
    c->dtype = choice.dtype                        ? choice.dtype
               : collective_reduces(c->operation) ? floats[below(dice, COUNT(floats))]
                                                  : any[below(dice, COUNT(any))];
    c->combination = chance(dice, 3) ? QUERN_COMBINE_MAX : QUERN_COMBINE_SUM;
    if (choice.combination) c->combination = choice.combination;
    c->root = c->members[below(dice, c->count)].rank;
    c->elements = choose_elements(c, dice, choice);
    if (c->operation == COLLECTIVE_REDUCE_SCATTER && chance(dice, 3))
        c->stride = c->elements + (choice.is_aligned ? 64 : below(dice, 40));
    if (c->operation == COLLECTIVE_REDUCE_SCATTER && chance(dice, 3)) c->parts = 2 + (int)below(dice, 2);
}

/* Where the input of a reduce-scatter has what it gives to a place. */
static int64_t part_of(const struct collective_case *c, int place) {
    return place * (c->stride ? c->stride : c->elements) * element_bytes(c);
}

static enum rank_pool choose_pool(struct dice *dice, struct collective_choice choice) {
    if (choice.is_private) return POOL_PRIVATE;
    return choice.is_symmetric ? POOL_SYMMETRIC : (enum rank_pool)below(dice, POOLS);
}

/* Bytes between a line and a buffer, so that it is aligned as its elements only; drawn alike by all where it must be the same. */
static int64_t choose_skew(const struct collective_case *c, struct dice *dice, struct collective_choice choice,
                           enum rank_pool pool) {
    struct dice same = {.seed = c->seed + 1};
    if (choice.shares_thread && pool == POOL_SYMMETRIC) dice = &same;
    return choice.is_aligned || chance(dice, 2) ? 0 : below(dice, 64 / element_bytes(c)) * element_bytes(c);
}

/* Large calls of GPUs of one host reach what is reduced, and what all get, in symmetric memory. */
static void choose_pools(struct collective_case *c, struct dice *dice, struct collective_choice choice, int place, bool in_place) {
    struct collective_buffer *input = &c->members[place].input, *output = &c->members[place].output;
    const bool scatters = c->operation == COLLECTIVE_REDUCE_SCATTER, reaches = choice.shares_thread && !choice.is_private;
    input->pool = reaches && collective_reduces(c->operation) ? POOL_SYMMETRIC
                  : choice.shares_thread                      ? POOL_PRIVATE
                                                              : choose_pool(dice, choice);
    if (reaches) output->pool = scatters ? POOL_PRIVATE : POOL_SYMMETRIC;
    else output->pool = in_place || choice.shares_thread ? input->pool : choose_pool(dice, choice);
    if (in_place && reaches && scatters) output->pool = input->pool;
    else if (in_place) input->pool = output->pool;
}

/* The input first, and the output behind it; in place one is part of the other. */
static void choose_buffers(struct collective_case *c, struct dice *dice, struct collective_choice choice, int place) {
    struct collective_buffer *input = &c->members[place].input, *output = &c->members[place].output;
    const int64_t piece = c->elements * element_bytes(c);
    const bool in_place = choice.in_place || (!choice.not_in_place && chance(dice, 4));
    const bool scatters = c->operation == COLLECTIVE_REDUCE_SCATTER, gathers = c->operation == COLLECTIVE_ALL_GATHER;
    input->bytes = piece + (scatters && piece ? part_of(c, c->count - 1) : 0);
    output->bytes = piece * (gathers ? c->count : 1);
    choose_pools(c, dice, choice, place, in_place);
    input->offset = 256 + choose_skew(c, dice, choice, input->pool);
    const int64_t behind = input->pool == output->pool ? input->offset + input->bytes + POOL_GAP : 256;
    output->offset = (behind + 63) / 64 * 64 + choose_skew(c, dice, choice, output->pool);
    if (in_place) {
        output->offset = input->offset + (scatters ? part_of(c, place) : 0);
        input->offset += gathers ? place * piece : 0;
    }
    const int64_t end = output->offset + output->bytes, input_end = input->offset + input->bytes;
    const int64_t needed = (end > input_end ? end : input_end) + POOL_GAP;
    if (needed > c->pool_bytes) c->pool_bytes = needed;
}

void collective_case_open(struct collective_case *c, uint64_t seed, struct collective_choice choice) {
    struct dice dice = {.seed = seed};
    *c = (struct collective_case){.seed = seed};
    choose_members(c, &dice, choice);
    choose_shape(c, &dice, choice);
    if (choice.shares_thread && !choice.in_place) choice.in_place = !choice.not_in_place && chance(&dice, 2);
    choice.not_in_place |= choice.shares_thread && !choice.in_place;
    c->multiprocessors = choice.shares_thread ? (int)below(&dice, 4) : 0;
    for (int place = 0; place < c->count; place++) choose_buffers(c, &dice, choice, place);
    if (choice.order) c->order = (quern_order)(choice.order - 1);
    else if (collective_reduces(c->operation)) c->order = chance(&dice, 2) ? QUERN_ORDER_ANY : QUERN_ORDER_RANKS;
}

/* A rank's position among the members; -1: not a member. */
static int place_of(const struct collective_case *c, int rank) {
    for (int place = 0; place < c->count; place++)
        if (c->members[place].rank == rank) return place;
    return -1;
}

/* ---- values ---- */

/* The bits of a float type: of its sign, and of the exponent of 1. */
static uint64_t special_bits(quern_dtype dtype, uint64_t bits) {
    static const uint32_t f32[] = {0x7FC00001, 0xFFC00000, 0x7F800001, 0x7F800000, 0xFF800000, 0, 0x80000000, 1,
                                   0x807FFFFF, 0x7F7FFFFF, 0xFF7FFFFF, 0x00800000, 0x33800000};
    static const uint32_t f16[] = {0x7E01, 0xFE00, 0x7C01, 0x7C00, 0xFC00, 0, 0x8000, 1, 0x83FF, 0x7BFF, 0xFBFF, 0x0400, 0x1000};
    static const uint32_t bf16[] = {0x7FC1, 0xFFC0, 0x7F81, 0x7F80, 0xFF80, 0, 0x8000, 1, 0x807F, 0x7F7F, 0xFF7F, 0x0080, 0x3380};
    const uint32_t *table = dtype == QUERN_F32 ? f32 : dtype == QUERN_F16 ? f16 : bf16;
    return table[bits % (uint64_t)COUNT(f32)];
}

/* Near 1, so that sums lose bits. */
static uint64_t usual_bits(quern_dtype dtype, uint64_t bits) {
    const uint64_t exponent = bits >> 40 & 7, sign = bits >> 50 & 1;
    if (dtype == QUERN_F32) return sign << 31 | (124 + exponent) << 23 | (bits & 0x7FFFFF);
    if (dtype == QUERN_F16) return sign << 15 | (12 + exponent) << 10 | (bits & 0x3FF);
    return sign << 15 | (124 + exponent) << 7 | (bits & 0x7F);
}

/* Few are special in a case, so that not every sum is NaN; in one case of four none is. */
uint64_t collective_case_bits(const struct collective_case *c, int rank, int64_t i) {
    const uint64_t bits = random_bits(c->seed * 128 + (uint64_t)rank, (uint64_t)i);
    if (!collective_reduces(c->operation)) return bits;
    const uint64_t kind = bits >> 56;
    if (c->seed % 4 && kind < 8) return special_bits(c->dtype, bits >> 20);
    return c->seed % 4 && kind < 24 ? bits : usual_bits(c->dtype, bits);
}

static void fill_input(const struct collective_case *c, int rank, unsigned char *to, int64_t bytes) {
    const int64_t size = element_bytes(c);
    for (int64_t i = 0; i < bytes / size; i++) {
        const uint64_t value = collective_case_bits(c, rank, i);
        memcpy(to + i * size, &value, (size_t)size);
    }
}

static bool has_input(const struct collective_case *c, int place) {
    return c->operation != COLLECTIVE_BROADCAST || c->members[place].rank == c->root;
}

void collective_case_fill(const struct collective_case *c, struct rank_bench *bench) {
    for EACH_BENCH(one, bench) {
        const int rank = one->rank->rank, place = place_of(c, rank);
        const struct collective_case_member *mine = &c->members[place < 0 ? 0 : place];
        rank_check(one->rank, c->pool_bytes <= one->pool_bytes, "a case of %lld bytes", (long long)c->pool_bytes);
        for (int pool = 0; pool < POOLS; pool++)
            rank_bench_fill(random_bits(c->seed * 64, (uint64_t)(rank * POOLS + pool)), 0, one->image[pool], c->pool_bytes);
        if (place >= 0 && has_input(c, place))
            fill_input(c, rank, one->image[mine->input.pool] + mine->input.offset, mine->input.bytes);
        for (int pool = 0; pool < POOLS; pool++) memcpy(one->expected[pool], one->image[pool], (size_t)c->pool_bytes);
        rank_bench_show(one, c->pool_bytes);
    }
}

/* What a member gives to each place, without what lies between. */
static void close_gaps(const struct collective_case *c, unsigned char *input) {
    const int64_t piece = c->elements * element_bytes(c);
    for (int to = 1; c->stride && piece && to < c->count; to++) memmove(input + to * piece, input + part_of(c, to), (size_t)piece);
}

/* What a member gives: as the seed has it, or, of ranks of one thread, what calls have left there. */
static unsigned char *input_of(const struct collective_case *c, const struct rank_bench *bench, int place) {
    const struct collective_case_member *member = &c->members[place];
    unsigned char *input = zeroed((size_t)member->input.bytes);
    if (bench->count > 1)
        memcpy(input, bench[member->rank].expected[member->input.pool] + member->input.offset, (size_t)member->input.bytes);
    else if (has_input(c, place))
        fill_input(c, member->rank, input, member->input.bytes);
    close_gaps(c, input);
    return input;
}

void collective_case_expect(const struct collective_case *c, struct rank_bench *bench) {
    const struct collective_form form = {c->operation, c->dtype, c->combination, c->count, place_of(c, c->root),
                                         c->elements};
    const void *inputs[COLLECTIVE_MAX_MEMBERS];
    for (int i = 0; i < c->count; i++) inputs[i] = input_of(c, bench, i);
    for EACH_BENCH(one, bench) {
        const int place = place_of(c, one->rank->rank);
        const struct collective_buffer *output = &c->members[place < 0 ? 0 : place].output;
        if (place >= 0) collective_deliver(&form, place, inputs, one->expected[output->pool] + output->offset);
    }
    for (int i = 0; i < c->count; i++) free((void *)inputs[i]);
}

static void describe(const struct collective_case *c, char *text, size_t bytes) {
    snprintf(text, bytes, "case %llu: %s of %lld %s by %d members, combination %d, root %d, stride %lld, parts %d, order %d",
             (unsigned long long)c->seed, collective_names[c->operation], (long long)c->elements, quern_dtype_name(c->dtype),
             c->count, (int)c->combination, c->root, (long long)c->stride, c->parts, (int)c->order);
}

void collective_case_compare(const struct collective_case *c, struct rank_bench *bench) {
    char wrong[80], text[160];
    for EACH_BENCH(one, bench) {
        const int place = place_of(c, one->rank->rank);
        const struct collective_case_member *mine = &c->members[place < 0 ? 0 : place];
        if (rank_bench_is_right(one, c->pool_bytes, wrong)) continue;
        describe(c, text, sizeof text);
        rank_fail(one->rank, "%s: %s (place %d, input at %lld of the %s pool, output at %lld of the %s pool, %lld bytes)", text,
                  wrong, place, (long long)mine->input.offset, rank_pool_names[mine->input.pool], (long long)mine->output.offset,
                  rank_pool_names[mine->output.pool], (long long)mine->output.bytes);
    }
}

/* ---- sums of a switch ---- */

static unsigned char *output_of(const struct collective_case *c, unsigned char *const pools[POOLS], int place) {
    return pools[c->members[place].output.pool] + c->members[place].output.offset;
}

static void check_sums(const struct collective_case *c, const struct rank_bench *one, int place, const void *const *inputs) {
    const unsigned char *has = output_of(c, one->image, place);
    const int64_t first = c->operation == COLLECTIVE_REDUCE_SCATTER ? place * c->elements : 0;
    char text[160];
    for (int64_t i = 0; i < c->elements; i++) {
        if (collective_is_any_sum(c->dtype, inputs, c->count, first + i, has, i)) continue;
        describe(c, text, sizeof text);
        rank_fail(one->rank, "%s: element %lld of place %d is no sum: %g", text, (long long)i, place, dtype_load(c->dtype, has, i));
    }
}

/*
 * What a switch has added is within the bound of any order, and the same on all ranks of an all-reduce.  It takes the place of what
 * was expected.
 */
static void accept_sums(const struct collective_case *c, struct rank_bench *bench) {
    void *inputs[COLLECTIVE_MAX_MEMBERS];
    const struct rank_bench *first = &bench[c->members[0].rank];
    for (int i = 0; i < c->count; i++) {
        inputs[i] = zeroed((size_t)c->members[i].input.bytes);
        fill_input(c, c->members[i].rank, inputs[i], c->members[i].input.bytes);
        close_gaps(c, inputs[i]);
    }
    for (int place = 0; place < c->count; place++) {
        struct rank_bench *one = &bench[c->members[place].rank];
        const bool is_shared = c->operation == COLLECTIVE_ALL_REDUCE;
        rank_bench_look(one, c->pool_bytes);
        check_sums(c, one, place, (const void *const *)inputs);
        memcpy(output_of(c, one->expected, place), output_of(c, is_shared ? first->image : one->image, is_shared ? 0 : place),
               (size_t)c->members[place].output.bytes);
    }
    for (int i = 0; i < c->count; i++) free(inputs[i]);
}

/* How often the switch of GPUs of one host has added so far; -1: nothing counts. */
static long long switch_sums(const struct rank_bench *bench) { return bench->reductions ? bench->reductions() : 0; }

static bool switch_may_have_added(const struct collective_case *c, const struct rank_bench *bench, long long before) {
    if (before >= 0) return switch_sums(bench) != before;
    return c->order == QUERN_ORDER_ANY && c->combination == QUERN_COMBINE_SUM;
}

/* ---- calls ---- */

static void *at(const struct rank_bench *bench, const struct collective_buffer *buffer) {
    return buffer->bytes ? bench->pool[buffer->pool] + buffer->offset : NULL;
}

quern_collective_args collective_case_args(const struct collective_case *c, const struct rank_bench *bench, int place,
                                           int members[COLLECTIVE_MAX_MEMBERS]) {
    for (int i = 0; i < c->count; i++) members[i] = c->members[i].rank;
    quern_collective_args args = COLLECTIVE_ARGS(.dtype = c->dtype,
                                                 .input = has_input(c, place) ? at(bench, &c->members[place].input) : NULL,
                                                 .output = at(bench, &c->members[place].output), .count = c->elements);
    args.combination = c->combination;
    args.root = c->root;
    args.members = c->count == bench->rank->ranks ? NULL : members;
    args.member_count = c->count;
    args.multiprocessors = c->multiprocessors;
    args.input_stride = c->stride;
    args.order = c->order;
    return args;
}

quern_status collective_call(const struct rank_bench *bench, enum collective_operation operation,
                             const quern_collective_args *args, size_t workspace_bytes) {
    rank_bench_begin_graph(bench);
    const quern_status status = collective_functions[operation](bench->group, args, bench->workspace, workspace_bytes,
                                                                bench->stream);
    rank_bench_run_graph(bench);
    return status;
}

/* Some of the columns of each place, as a caller adds up rows while others are computed. */
static void take_part(const struct collective_case *c, int number, quern_collective_args *args) {
    const int64_t first = c->elements * number / c->parts, end = c->elements * (number + 1) / c->parts;
    args->input = (const char *)args->input + first * element_bytes(c);
    args->output = (char *)args->output + first * element_bytes(c);
    args->count = end - first;
    args->input_stride = c->stride ? c->stride : c->elements;
}

static void call_part(const struct collective_case *c, const struct rank_bench *bench, int place, int number, size_t *bytes) {
    int members[COLLECTIVE_MAX_MEMBERS];
    quern_collective_args args = collective_case_args(c, bench, place, members);
    if (!number) {
        rank_ok(bench->rank, quern_collective_workspace(bench->group, &args, bytes));
        rank_bench_guard(bench, *bytes);
        rank_bench_line_up(bench);
    }
    if (c->parts && c->elements) take_part(c, number, &args);
    rank_ok(bench->rank, collective_call(bench, c->operation, &args, *bytes));
}

void collective_case_call(const struct collective_case *c, struct rank_bench *bench, size_t *bytes) {
    for (int number = 0; !number || number < c->parts; number++)
        for EACH_BENCH(one, bench) {
            const int place = place_of(c, one->rank->rank);
            if (place >= 0) call_part(c, one, place, number, bytes);
        }
}

void collective_case_run(const struct collective_case *c, struct rank_bench *bench) {
    size_t bytes = 1;
    if (bench->count == 1 && place_of(c, bench->rank->rank) < 0) {
        rank_bench_line_up(bench);
        rank_bench_line_up(bench);
        return;
    }
    collective_case_fill(c, bench);
    collective_case_expect(c, bench);
    const long long before = switch_sums(bench);
    collective_case_call(c, bench, &bytes);
    for EACH_BENCH(one, bench) rank_ok(one->rank, rank_bench_status(one, QUERN_OK));
    rank_bench_wait_for_all(bench);
    if (switch_may_have_added(c, bench, before)) accept_sums(c, bench);
    collective_case_compare(c, bench);
    rank_bench_check(bench, bytes);
}

void collective_run_cases(struct rank_bench *bench, const struct collective_batch *batch) {
    struct collective_choice choice = batch->choice;
    choice.ranks = bench->rank->ranks;
    choice.shares_thread = rank_reaches(bench->rank);
    for (int i = 0; i < batch->cases; i++) {
        struct collective_case c;
        collective_case_open(&c, batch->first + (uint64_t)i, choice);
        collective_case_run(&c, bench);
    }
}

quern_status collective_run_batch(struct rank *rank) {
    const struct collective_batch *batch = rank->user;
    struct rank_bench bench;
    if (batch->threads) rank_ok(rank, quern_set_threads(rank->device, batch->threads, NULL, NULL));
    rank_bench_open(&bench, rank, RANK_LIMIT, batch->pool_bytes ? batch->pool_bytes : 5 << 19);
    bench.captures = batch->captures;
    collective_run_cases(&bench, batch);
    rank_bench_close(&bench);
    return QUERN_OK;
}
