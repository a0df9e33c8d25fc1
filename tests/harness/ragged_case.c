/* Makes random ragged all-to-alls, their memory and the expected results.  ragged_case.h documents the functions. */
#include "harness/ragged_case.h"

#include "harness/random.h"
#include "oracle/ragged_all_to_all.h"

/* ---- making a case ---- */

static void choose_members(struct ragged_case *c, struct dice *dice, struct ragged_choice choice) {
    const bool everyone = choice.everyone || chance(dice, 2);
    for (int rank = 0; rank < choice.ranks; rank++)
        if (everyone || !chance(dice, 3)) c->members[c->count++].rank = rank;
    if (!c->count) c->members[c->count++].rank = 0;
}

static void choose_shape(struct ragged_case *c, struct dice *dice, struct ragged_choice choice) {
    static const int64_t row_bytes[] = {0, 1, 2, 3, 4, 7, 8, 12, 16, 31, 64, 100, 4096};
    c->row_bytes = choice.row_bytes ? choice.row_bytes : row_bytes[below(dice, COUNT(row_bytes))];
    c->updates = choice.updates < 0 ? 0 : choice.updates ? choice.updates : below(dice, 6);
    c->is_int64 = chance(dice, 2);
    c->check_overlap = chance(dice, 2);
    for (int i = 0; i < c->count; i++) {
        struct ragged_case_member *member = &c->members[i];
        int64_t **arrays[] = {&member->input_offsets, &member->send_sizes, &member->output_offsets, &member->recv_sizes};
        for (size_t array = 0; array < COUNT(arrays); array++)
            *arrays[array] = zeroed((size_t)(c->count * c->updates) * sizeof(int64_t));
    }
}

/* Sizes, and inputs from which a row may be sent several times. */
static void choose_sends(struct ragged_case *c, struct dice *dice, struct ragged_choice choice) {
    const int64_t largest = choice.largest ? choice.largest : c->row_bytes < 32 ? 40 : c->row_bytes < 1000 ? 12 : 3;
    const bool sparse = chance(dice, 4), in_order = chance(dice, 2);
    for (int sender = 0; sender < c->count; sender++) {
        struct ragged_case_member *member = &c->members[sender];
        int64_t needed = 0;
        for (int64_t entry = 0; entry < c->count * c->updates; entry++) {
            int64_t size = chance(dice, sparse ? 2 : 8) ? 0 : below(dice, largest + 1);
            member->send_sizes[entry] = size;
            member->input_offsets[entry] = needed;
            needed += in_order ? size : 0;
            if (!in_order && size > needed) needed = size;
        }
        member->input.rows = needed + below(dice, 3);
        for (int64_t entry = 0; entry < c->count * c->updates && !in_order; entry++)
            member->input_offsets[entry] = below(dice, member->input.rows - member->send_sizes[entry] + 1);
    }
}

/* Puts the rows of a receiver into its output in a random order, with gaps here and there. */
static void choose_receives(struct ragged_case *c, struct dice *dice, int receiver) {
    struct ragged_case_member *member = &c->members[receiver];
    const int64_t entries = c->count * c->updates;
    int64_t *order = zeroed((size_t)entries * sizeof *order), row = 0;
    for (int64_t i = 0; i < entries; i++) {
        int64_t j = below(dice, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (int64_t i = 0; i < entries; i++) {
        struct ragged_case_member *sender = &c->members[order[i] / c->updates];
        const int64_t entry = receiver * c->updates + order[i] % c->updates;
        row += chance(dice, 3) ? below(dice, 4) : 0;
        sender->output_offsets[entry] = row;
        member->recv_sizes[order[i]] = sender->send_sizes[entry];
        row += sender->send_sizes[entry];
    }
    member->output.rows = row + below(dice, 3);
    free(order);
}

static enum rank_pool choose_pool(struct dice *dice, struct ragged_choice choice) {
    if (choice.is_private) return POOL_PRIVATE;
    return choice.is_symmetric ? POOL_SYMMETRIC : (enum rank_pool)below(dice, POOLS);
}

/* The input first; the output behind it, or over it: at the same address, or starting some bytes before its end. */
static void place_behind(struct ragged_case *c, struct dice *dice, struct ragged_choice choice, int place) {
    struct ragged_buffer *input = &c->members[place].input, *output = &c->members[place].output;
    const int64_t input_bytes = input->rows * c->row_bytes;
    const bool in_place = choice.in_place || (!choice.not_in_place && chance(dice, 4));
    const bool aligned = chance(dice, 2);
    input->pool = choose_pool(dice, choice);
    input->offset = POOL_GAP + (aligned ? 0 : below(dice, 64));
    output->pool = in_place ? input->pool : choose_pool(dice, choice);
    output->offset = input->offset + input_bytes + POOL_GAP + (aligned ? -(input->offset + input_bytes) & 63 : below(dice, 64));
    if (in_place) output->offset = input->offset + (chance(dice, 2) ? 0 : below(dice, input_bytes + 1));
}

/* The input elsewhere or over the output. */
static void place_alike(struct ragged_case *c, struct dice *dice, bool in_place, int64_t at, int place) {
    struct ragged_buffer *input = &c->members[place].input, *output = &c->members[place].output;
    output->pool = POOL_SYMMETRIC, output->offset = at;
    input->pool = in_place ? POOL_SYMMETRIC : POOL_PRIVATE;
    input->offset = POOL_GAP + below(dice, 64);
    if (in_place) input->offset = at + (chance(dice, 2) ? 0 : below(dice, output->rows * c->row_bytes + 1));
}

static void choose_buffers(struct ragged_case *c, struct dice *dice, struct ragged_choice choice) {
    const int64_t at = POOL_GAP + below(dice, 64);
    const bool in_place = choice.in_place || (!choice.not_in_place && chance(dice, 4));
    for (int i = 0; i < c->count; i++) {
        const struct ragged_buffer *input = &c->members[i].input, *output = &c->members[i].output;
        if (choice.shares_thread) place_alike(c, dice, in_place, at, i);
        else place_behind(c, dice, choice, i);
        const int64_t output_end = output->rows * c->row_bytes + output->offset;
        const int64_t input_end = input->rows * c->row_bytes + input->offset;
        const int64_t end = (output_end > input_end ? output_end : input_end) + POOL_GAP;
        if (end > c->pool_bytes) c->pool_bytes = end;
    }
}

void ragged_case_open(struct ragged_case *c, uint64_t seed, struct ragged_choice choice) {
    struct dice dice = {.seed = seed};
    *c = (struct ragged_case){.seed = seed};
    choose_members(c, &dice, choice);
    choose_shape(c, &dice, choice);
    choose_sends(c, &dice, choice);
    for (int receiver = 0; receiver < c->count; receiver++) choose_receives(c, &dice, receiver);
    choose_buffers(c, &dice, choice);
    c->multiprocessors = choice.shares_thread ? (int)below(&dice, 4) : 0;
}

void ragged_case_arrange(struct ragged_case *c, struct ragged_choice choice) {
    struct dice dice = {.seed = c->seed};
    c->pool_bytes = 0;
    choose_buffers(c, &dice, choice);
}

void ragged_case_close(struct ragged_case *c) {
    for (int i = 0; i < c->count; i++) {
        free(c->members[i].input_offsets);
        free(c->members[i].send_sizes);
        free(c->members[i].output_offsets);
        free(c->members[i].recv_sizes);
    }
}

/* A rank's position among the members; -1: not a member. */
static int place_of(const struct ragged_case *c, int rank) {
    for (int place = 0; place < c->count; place++)
        if (c->members[place].rank == rank) return place;
    return -1;
}

/* ---- memory ---- */

static void fill_pool(const struct ragged_case *c, int rank, int pool, uint64_t call, int64_t offset, unsigned char *to,
                      int64_t bytes) {
    rank_bench_fill(random_bits(c->seed * 64 + call, (uint64_t)(rank * POOLS + pool)), offset, to, bytes);
}

void ragged_case_fill(const struct ragged_case *c, struct rank_bench *bench, uint64_t call) {
    for EACH_BENCH(one, bench) {
        if (place_of(c, one->rank->rank) < 0) continue;
        rank_check(one->rank, c->pool_bytes <= one->pool_bytes, "a case of %lld bytes", (long long)c->pool_bytes);
        for (int pool = 0; pool < POOLS; pool++) {
            fill_pool(c, one->rank->rank, pool, call, 0, one->image[pool], c->pool_bytes);
            memcpy(one->expected[pool], one->image[pool], (size_t)c->pool_bytes);
        }
        rank_bench_show(one, c->pool_bytes);
    }
}

/* What a member gives: as the seed has it, or, of ranks of one thread, what calls before have left there. */
static unsigned char *input_of(const struct ragged_case *c, const struct rank_bench *bench, int place, uint64_t call) {
    const struct ragged_case_member *member = &c->members[place];
    const struct ragged_buffer *from = &member->input;
    const int64_t bytes = from->rows * c->row_bytes;
    unsigned char *input = zeroed((size_t)bytes);
    if (bench->count > 1) memcpy(input, bench[member->rank].expected[from->pool] + from->offset, (size_t)bytes);
    else fill_pool(c, member->rank, from->pool, call, from->offset, input, bytes);
    return input;
}

void ragged_case_expect(const struct ragged_case *c, struct rank_bench *bench, uint64_t call) {
    struct ragged_member members[RAGGED_MAX_MEMBERS] = {{.input = NULL}};
    for (int i = 0; i < c->count; i++) {
        const struct ragged_case_member *member = &c->members[i];
        members[i] = (struct ragged_member){input_of(c, bench, i, call), NULL, member->input_offsets, member->send_sizes,
                                            member->output_offsets};
    }
    for EACH_BENCH(one, bench) {
        const int place = place_of(c, one->rank->rank);
        const struct ragged_buffer *output = &c->members[place < 0 ? 0 : place].output;
        if (place >= 0) members[place].output = one->expected[output->pool] + output->offset;
    }
    ragged_all_to_all(members, c->count, c->updates, c->row_bytes);
    for (int i = 0; i < c->count; i++) free((void *)members[i].input);
}

static void describe(const struct ragged_case *c, char *text, size_t bytes) {
    snprintf(text, bytes, "case %llu: %d members, %lld updates, rows of %lld bytes", (unsigned long long)c->seed, c->count,
             (long long)c->updates, (long long)c->row_bytes);
}

void ragged_case_compare(const struct ragged_case *c, struct rank_bench *bench, const char *when) {
    char wrong[80], text[128];
    for EACH_BENCH(one, bench) {
        const int place = place_of(c, one->rank->rank);
        if (place < 0 || rank_bench_is_right(one, c->pool_bytes, wrong)) continue;
        const struct ragged_buffer *output = &c->members[place].output;
        describe(c, text, sizeof text);
        rank_fail(one->rank, "%s, %s: %s of place %d (output at %lld of the %s pool, %lld rows)", text, when, wrong, place,
                  (long long)output->offset, rank_pool_names[output->pool], (long long)output->rows);
    }
}

/* ---- calls ---- */

static const void *narrow_to(const struct ragged_case *c, int32_t *to, const int64_t *from) {
    for (int64_t i = 0; i < c->count * c->updates; i++) to[i] = (int32_t)from[i];
    return to;
}

static void *at(const struct ragged_case *c, const struct rank_bench *bench, const struct ragged_buffer *buffer) {
    const bool is_needed = rank_reaches(bench->rank) || (buffer->rows && c->row_bytes);  /* GPUs compare places also of nothing */
    return is_needed ? bench->pool[buffer->pool] + buffer->offset : NULL;
}

void ragged_arguments_open(struct ragged_arguments *arguments, const struct ragged_case *c, const struct rank_bench *bench,
                           int place) {
    const struct ragged_case_member *mine = &c->members[place];
    const int64_t entries = c->count * c->updates;
    const int64_t *wide[] = {mine->input_offsets, mine->send_sizes, mine->output_offsets, mine->recv_sizes};
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    const void **metadata[] = {&args.input_offsets, &args.send_sizes, &args.output_offsets, &args.recv_sizes};
    arguments->narrow = zeroed(4 * (size_t)entries * sizeof(int32_t));
    for (int i = 0; i < 4 && entries; i++)
        *metadata[i] = c->is_int64 ? wide[i] : narrow_to(c, arguments->narrow + i * entries, wide[i]);
    for (int i = 0; i < c->count; i++) arguments->members[i] = c->members[i].rank;
    args.metadata_dtype = c->is_int64 ? QUERN_INT64 : QUERN_INT32;
    args.input = at(c, bench, &mine->input);
    args.input_rows = mine->input.rows;
    args.output = at(c, bench, &mine->output);
    args.output_rows = mine->output.rows;
    args.row_bytes = c->row_bytes;
    args.updates = c->updates;
    args.check_overlap = c->check_overlap;
    args.multiprocessors = c->multiprocessors;
    args.members = c->count == bench->rank->ranks ? NULL : arguments->members;
    args.member_count = c->count;
    args.metadata_on_device = c->metadata_on_device;
    for (int i = 0; i < 4 && entries && c->metadata_on_device; i++) {
        const int64_t bytes = entries * (c->is_int64 ? 8 : 4);
        rank_bench_write(bench, bench->metadata + i * bytes, *metadata[i], bytes);
        *metadata[i] = bench->metadata + i * bytes;
    }
    arguments->args = args;
}

void ragged_arguments_close(struct ragged_arguments *arguments) { free(arguments->narrow); }

/* The workspace for these arguments, with a guard behind it.  NCCL has none. */
static size_t workspace_for(const struct rank_bench *bench, const quern_ragged_all_to_all_args *args) {
    size_t bytes = 1;
    rank_ok(bench->rank, quern_ragged_all_to_all_workspace(bench->group, args, &bytes));
    rank_check(bench->rank, !rank_is_over_nccl(bench->rank) || !bytes, "%zu bytes of workspace", bytes);
    rank_bench_guard(bench, bytes);
    return bytes;
}

quern_status ragged_call(const struct rank_bench *bench, const quern_ragged_all_to_all_args *args, size_t workspace_bytes) {
    return quern_ragged_all_to_all(bench->group, args, bench->workspace, workspace_bytes, bench->stream);
}

void ragged_case_call(const struct ragged_case *c, struct rank_bench *bench, size_t *bytes) {
    for EACH_BENCH(one, bench) {
        struct ragged_arguments arguments;
        const int place = place_of(c, one->rank->rank);
        if (place < 0) continue;
        ragged_arguments_open(&arguments, c, one, place);
        *bytes = workspace_for(one, &arguments.args);
        rank_ok(one->rank, ragged_call(one, &arguments.args, *bytes));
        ragged_arguments_close(&arguments);  /* read before the call returned */
    }
}

static void finish(const struct ragged_case *c, struct rank_bench *bench, size_t bytes, const char *when) {
    for EACH_BENCH(one, bench) rank_ok(one->rank, rank_bench_status(one, QUERN_OK));
    ragged_case_compare(c, bench, when);
    rank_bench_check(bench, bytes);
}

void ragged_case_run(const struct ragged_case *c, struct rank_bench *bench) {
    size_t bytes;
    if (bench->count == 1 && place_of(c, bench->rank->rank) < 0) return;
    for (uint64_t call = 0; call < (bench->rank->shares_thread ? 2 : 1); call++) {
        ragged_case_fill(c, bench, call);
        ragged_case_expect(c, bench, call);
        ragged_case_call(c, bench, &bytes);
        finish(c, bench, bytes, "called");
    }
}

void ragged_case_make_plans(const struct ragged_case *c, struct rank_bench *bench, quern_ragged_plan **plans, size_t *bytes) {
    SCOPED struct ragged_arguments *arguments = zeroed((size_t)bench->count * sizeof *arguments);
    SCOPED quern_ragged_all_to_all_args *args = zeroed((size_t)bench->count * sizeof *args);
    quern_group *groups[RAGGED_MAX_MEMBERS];
    void *workspaces[RAGGED_MAX_MEMBERS];
    size_t sizes[RAGGED_MAX_MEMBERS];
    for (int i = 0; i < bench->count; i++) {
        const int place = place_of(c, bench[i].rank->rank);
        rank_check(bench->rank, place >= 0, "a plan is for everyone here");
        ragged_arguments_open(&arguments[i], c, &bench[i], place);
        args[i] = arguments[i].args, groups[i] = bench[i].group, workspaces[i] = bench[i].workspace;
        sizes[i] = *bytes = workspace_for(&bench[i], &args[i]);
    }
    rank_ok(bench->rank, quern_ragged_plan_create(groups, bench->count, args, workspaces, sizes, plans));
    for (int i = 0; i < bench->count; i++) ragged_arguments_close(&arguments[i]);  /* the detail is known by now */
}

void ragged_case_run_plans(struct rank_bench *bench, quern_ragged_plan *const *plans) {
    for EACH_BENCH(one, bench) {
        rank_bench_begin_graph(one);
        rank_ok(one->rank, quern_ragged_plan_run(*plans++, one->stream));
        rank_bench_run_graph(one);
    }
}

void ragged_case_plan(const struct ragged_case *c, struct rank_bench *bench, int runs) {
    quern_ragged_plan *plans[RAGGED_MAX_MEMBERS];
    size_t bytes;
    ragged_case_make_plans(c, bench, plans, &bytes);
    for (int run = 0; run < runs; run++) {
        char when[32];
        snprintf(when, sizeof when, "run %d of a plan", run);
        ragged_case_fill(c, bench, (uint64_t)run);
        ragged_case_expect(c, bench, (uint64_t)run);
        ragged_case_run_plans(bench, plans);
        finish(c, bench, bytes, when);
    }
    for (int i = 0; i < bench->count; i++) rank_ok(bench->rank, quern_ragged_plan_destroy(plans[i]));
}

void ragged_run_cases(struct rank_bench *bench, const struct ragged_batch *batch) {
    for (int i = 0; i < batch->cases; i++) {
        struct ragged_case c;
        struct ragged_choice choice = batch->choice;
        choice.ranks = bench->rank->ranks;
        choice.shares_thread = rank_reaches(bench->rank);
        ragged_case_open(&c, batch->first + (uint64_t)i, choice);
        c.metadata_on_device = batch->metadata_on_device;
        if (batch->is_plan) ragged_case_plan(&c, bench, 3);
        else ragged_case_run(&c, bench);
        ragged_case_close(&c);
    }
}

quern_status ragged_run_batch(struct rank *rank) {
    const struct ragged_batch *batch = rank->user;
    struct rank_bench bench;
    if (batch->threads) rank_ok(rank, quern_set_threads(rank->device, batch->threads, NULL, NULL));
    rank_bench_open(&bench, rank, RANK_LIMIT, batch->pool_bytes ? batch->pool_bytes : 5 << 19);
    bench.captures = batch->captures;
    ragged_run_cases(&bench, batch);
    rank_bench_close(&bench);
    return QUERN_OK;
}
