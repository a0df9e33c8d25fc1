/*
 * The ragged all-to-all between CPU ranks, next to copies of the same bytes by the same ranks: from the same inputs into the same
 * outputs.  The buffers come from the system and exceed the caches together.  gpu_exchange.c measures it on a GPU.  Called by
 * main.c.
 */
#define _DEFAULT_SOURCE
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "harness/bench.h"
#include "harness/stream.h"
#include "ranks/gpu.h"
#include "ranks/ranks.h"
#include "ranks/team.h"
#include "ranks/turns.h"

/* The data that the ranks share. */
struct job {
    const struct rank_options *options;
    struct turns *turns;
    struct gate *gate;
    char *group_name;
    int sets;
};

/* The exchange in a number of updates, for one rank. */
struct variant {
    struct slices slices;
    struct slice_metadata metadata;
    quern_ragged_plan *plans[MAX_SETS];
};

struct rank {
    const struct job *job;
    int rank;
    struct library_rank *member;
    size_t set_bytes;
    char *input, *output, *private_output;  /* [sets, set_bytes] each */
    void *workspace;                        /* of the calls, for any arguments */
    size_t workspace_bytes;
    struct variant whole, split;
    quern_transfer *transfers[MAX_SETS];    /* the same slices, into private outputs */
};

/* ---- the library's call ---- */

static quern_ragged_all_to_all_args arguments(const struct rank *rank, const struct variant *variant, char *outputs, int set) {
    size_t at = (size_t)set * rank->set_bytes;
    return slices_arguments(&variant->slices, &variant->metadata, rank->input + at, outputs + at);
}

static void exchange(const struct rank *rank, const struct variant *variant, char *outputs, int set) {
    quern_ragged_all_to_all_args args = arguments(rank, variant, outputs, set);
    if (quern_ragged_all_to_all(rank->member->group, &args, rank->workspace, rank->workspace_bytes, NULL) != QUERN_OK)
        library_fail("quern_ragged_all_to_all");
}

static void run_plan(const struct variant *variant, int set) {
    if (quern_ragged_plan_run(variant->plans[set], NULL) != QUERN_OK) library_fail("quern_ragged_plan_run");
}

/* ---- the activities that take turns ---- */

static void call(void *context, int set) {
    const struct rank *rank = context;
    exchange(rank, &rank->whole, rank->output, set);
}

static void call_planned(void *context, int set) {
    run_plan(&((struct rank *)context)->whole, set);
}

static void call_into_private_memory(void *context, int set) {
    const struct rank *rank = context;
    exchange(rank, &rank->whole, rank->private_output, set);
}

static void call_in_pieces(void *context, int set) {
    const struct rank *rank = context;
    exchange(rank, &rank->split, rank->output, set);
}

static void call_planned_in_pieces(void *context, int set) {
    run_plan(&((struct rank *)context)->split, set);
}

static void transfer(void *context, int set) {
    quern_transfer *one = ((struct rank *)context)->transfers[set];
    if (quern_transfer_start(one, NULL) != QUERN_OK) library_fail("quern_transfer_start");
    if (quern_transfer_wait(one, 0) != QUERN_OK) library_fail("quern_transfer_wait");
}

static void copy_past_caches(void *context, int set) {
    const struct rank *rank = context;
    size_t at = (size_t)set * rank->set_bytes;
    stream_past_caches(rank->output + at, rank->input + at, rank->set_bytes);
}

static void copy_plainly(void *context, int set) {
    const struct rank *rank = context;
    size_t at = (size_t)set * rank->set_bytes;
    memcpy(rank->output + at, rank->input + at, rank->set_bytes);
}

enum result { OUTPUT, PRIVATE_OUTPUT, NO_EXCHANGE };

/* The last two only if an exchange in several updates was requested. */
static const struct form {
    struct turn turn;
    enum result result;
    bool in_pieces;
} forms[] = {
    {{"streaming copy", copy_past_caches}, NO_EXCHANGE, false},
    {{"quern", call}, OUTPUT, false},
    {{"quern plan", call_planned}, OUTPUT, false},
    {{"memcpy", copy_plainly}, NO_EXCHANGE, false},
    {{"quern private output", call_into_private_memory}, PRIVATE_OUTPUT, false},
    {{"quern transfer", transfer}, PRIVATE_OUTPUT, false},
    {{"quern", call_in_pieces}, OUTPUT, true},
    {{"quern plan", call_planned_in_pieces}, OUTPUT, true},
};

enum { FORMS = sizeof forms / sizeof *forms, WHOLE_FORMS = FORMS - 2 };

static int form_count(const struct rank_options *options) {
    return options->slices.updates > 1 ? FORMS : WHOLE_FORMS;
}

/* ---- a rank's buffers ---- */

static void *symmetric(const struct rank *rank, size_t bytes) {
    void *memory = NULL;
    if (quern_symmetric_alloc(&rank->member->group, 1, &bytes, &memory) != QUERN_OK) library_fail("quern_symmetric_alloc");
    return memory;
}

static void *private(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) team_fail("not enough memory");
    return memory;
}

static size_t needed_workspace(const struct rank *rank, const struct variant *variant, char *outputs) {
    quern_ragged_all_to_all_args args = arguments(rank, variant, outputs, 0);
    size_t bytes = 0;
    if (quern_ragged_all_to_all_workspace(rank->member->group, &args, &bytes) != QUERN_OK)
        library_fail("quern_ragged_all_to_all_workspace");
    return bytes;
}

/* First touched by their owner. */
static void allocate(struct rank *rank) {
    size_t bytes = (size_t)rank->job->sets * rank->set_bytes;
    rank->input = private(bytes);
    rank->private_output = private(bytes);
    rank->output = symmetric(rank, bytes);
    memset(rank->output, 0, bytes);
    memset(rank->private_output, 0, bytes);
    for (int set = 0; set < rank->job->sets; set++)
        slices_fill(&rank->whole.slices, rank->rank, set, (uint64_t *)(rank->input + (size_t)set * rank->set_bytes));
    size_t needs[] = {needed_workspace(rank, &rank->whole, rank->output), needed_workspace(rank, &rank->split, rank->output),
                      needed_workspace(rank, &rank->whole, rank->private_output)};
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (needs[i] > rank->workspace_bytes) rank->workspace_bytes = needs[i];
    rank->workspace = symmetric(rank, rank->workspace_bytes);
}

static void make_plans(struct rank *rank, struct variant *variant) {
    size_t bytes = needed_workspace(rank, variant, rank->output);
    for (int set = 0; set < rank->job->sets; set++) {
        quern_ragged_all_to_all_args args = arguments(rank, variant, rank->output, set);
        void *workspace = symmetric(rank, bytes);
        if (quern_ragged_plan_create(&rank->member->group, 1, &args, &workspace, &bytes, &variant->plans[set]) != QUERN_OK)
            library_fail("quern_ragged_plan_create");
    }
}

static void destroy_plans(struct rank *rank, struct variant *variant) {
    for (int set = 0; set < rank->job->sets; set++)
        if (quern_ragged_plan_destroy(variant->plans[set]) != QUERN_OK) library_fail("quern_ragged_plan_destroy");
}

/* A send to and a receive from each rank, this one included. */
static void prepare_transfers(struct rank *rank) {
    const struct slices *slices = &rank->whole.slices;
    const struct slice_metadata *mine = &rank->whole.metadata;
    quern_transfer_item items[2 * MAX_TURN_RANKS];
    quern_transfer_args args = QUERN_TRANSFER_ARGS_INIT;
    for (int set = 0; set < rank->job->sets; set++) {
        const size_t at = (size_t)set * rank->set_bytes;
        for (int peer = 0; peer < slices->ranks; peer++) {
            struct slice_metadata theirs = slices_metadata(slices, peer);
            items[2 * peer] = (quern_transfer_item){.receive = 0, .peer = peer, .bytes = mine->send_sizes[peer] * slices->row_bytes,
                                                    .memory = rank->input + at + mine->input_offsets[peer] * slices->row_bytes};
            items[2 * peer + 1] = (quern_transfer_item){.receive = 1, .peer = peer, .bytes = mine->recv_sizes[peer] * slices->row_bytes,
                                                        .memory = rank->private_output + at +
                                                                  theirs.output_offsets[rank->rank] * slices->row_bytes};
            slices_free(&theirs);
        }
        args.items = items, args.item_count = 2 * slices->ranks, args.key = (uint64_t)set;
        if (quern_transfer_prepare(rank->member->group, &args, &rank->transfers[set]) != QUERN_OK)
            library_fail("quern_transfer_prepare");
    }
}

static void destroy_transfers(struct rank *rank) {
    gate_pass(rank->job->gate, rank->job->options->team.ranks);  /* no rank needs this one's any more */
    for (int set = 0; set < rank->job->sets; set++)
        if (quern_transfer_destroy(rank->transfers[set]) != QUERN_OK) library_fail("quern_transfer_destroy");
}

static void prepare_variant(struct variant *variant, int rank, const struct slices *slices, int updates) {
    variant->slices = *slices;
    variant->slices.updates = updates;
    variant->metadata = slices_metadata(&variant->slices, rank);
    if (!variant->metadata.input_offsets) team_fail("out of memory");
}

/* ---- a rank ---- */

/* An exchange that delivers wrong bytes is not timed. */
static void check_output(struct rank *rank, const struct form *form) {
    char *output = form->result == OUTPUT ? rank->output : rank->private_output;
    int ranks = rank->job->options->team.ranks;
    memset(output, 0, rank->set_bytes);
    gate_pass(rank->job->gate, ranks);
    form->turn.run(rank, 0);
    const struct variant *variant = form->in_pieces ? &rank->split : &rank->whole;
    int64_t wrong = slices_wrong(&variant->slices, rank->rank, 0, (const uint64_t *)output);
    if (wrong) team_fail("%s, rank %d: %lld words of the output are wrong", form->turn.name, rank->rank, (long long)wrong);
    gate_pass(rank->job->gate, ranks);
}

static void measure(struct rank *rank) {
    const struct rank_options *options = rank->job->options;
    struct turn turns[FORMS];
    int count = form_count(options);
    for (int i = 0; i < count; i++) {
        turns[i] = forms[i].turn;
        if (forms[i].result != NO_EXCHANGE) check_output(rank, &forms[i]);
    }
    turns_run(rank->job->turns, rank->rank, options->team.ranks,
              &(struct turn_list){turns, count, rank->job->sets, options->all->seconds * count, rank});
}

static void run_rank(void *context, int index) {
    const struct job *job = context;
    const struct rank_options *options = job->options;
    int ranks = options->team.ranks, threads = library_threads(ranks, options->team.cores);
    struct rank rank = {.job = job, .rank = index, .set_bytes = slices_bytes(&options->slices)};
    rank.member = library_join(job->group_name, index, ranks, threads, QUERN_BARRIER | QUERN_RAGGED_ALL_TO_ALL);
    prepare_variant(&rank.whole, index, &options->slices, 1);
    prepare_variant(&rank.split, index, &options->slices, options->slices.updates);
    allocate(&rank);
    make_plans(&rank, &rank.whole);
    if (options->slices.updates > 1) make_plans(&rank, &rank.split);
    prepare_transfers(&rank);
    measure(&rank);
    destroy_transfers(&rank);
    destroy_plans(&rank, &rank.split);
    destroy_plans(&rank, &rank.whole);
    slices_free(&rank.split.metadata);
    slices_free(&rank.whole.metadata);
    library_leave(rank.member);
}

/* ---- all ranks ---- */

static const char *run_job(struct job *job) {
    const struct rank_options *options = job->options;
    if (!job->turns || !job->gate || !job->group_name) return "not enough memory";
    library_name(job->group_name);
    const char *problem = team_run(&options->team, run_rank, job);
    for (int i = 0; i < form_count(options) && !problem; i++) {
        struct slices slices = options->slices;
        if (!forms[i].in_pieces) slices.updates = 1;
        struct times times = turns_times(job->turns, options->team.ranks, i);
        slices_write(forms[i].turn.name, team_kind_names[options->team.kind], &slices, &times);
    }
    return problem;
}

static void measure_on_cpu(const struct rank_options *options) {
    const struct team *team = &options->team;
    struct job job = {
        .options = options,
        .turns = team_memory(turns_bytes()),
        .gate = team_memory(sizeof(struct gate)),
        .group_name = team_memory(LIBRARY_NAME_BYTES),
        .sets = slices_sets(&options->slices, (size_t)options->all->cache_bytes),
    };
    const char *problem = run_job(&job);
    if (problem) ranks_skip("ragged_all_to_all", "quern", team_kind_names[team->kind], team->ranks, problem);
    team_release(job.group_name, LIBRARY_NAME_BYTES);
    team_release(job.gate, sizeof *job.gate);
    team_release(job.turns, turns_bytes());
}

static void run(const struct options *options) {
    const struct rank_options asked = rank_options_of(options);
    if (asked.team.ranks > MAX_TURN_RANKS) refuse("--ranks is %d: an all-to-all has at most %d", asked.team.ranks, MAX_TURN_RANKS);
    if (options->row_bytes % 8) refuse("--row-bytes is %lld: expected a multiple of 8", (long long)options->row_bytes);
    if (options->rows % options->updates) refuse("--updates is %lld: expected a divisor of --rows", (long long)options->updates);
    (asked.gpu ? measure_exchange_on_gpu : measure_on_cpu)(&asked);
}

/* ---- self-test ---- */

/* Carries out the metadata by definition, and checks the outputs. */
static void test_exchange(int ranks, int updates) {
    struct slices slices = {ranks, updates, 6 * updates, 24};
    size_t words = slices_bytes(&slices) / 8;
    uint64_t *input = calloc((size_t)ranks * words, 8), *output = calloc((size_t)ranks * words, 8);
    double moved = 0;
    int64_t disagreeing = 0, wrong = 0;
    if (!input || !output) exit(EXIT_FAILURE);
    for (int rank = 0; rank < ranks; rank++) slices_fill(&slices, rank, 0, input + (size_t)rank * words);
    for (int rank = 0; rank < ranks; rank++) {
        struct slice_metadata metadata = slices_metadata(&slices, rank);
        for (int i = 0; i < ranks * updates; i++) {
            const char *source = (char *)(input + (size_t)rank * words) + metadata.input_offsets[i] * slices.row_bytes;
            char *target = (char *)(output + (size_t)(i / updates) * words) + metadata.output_offsets[i] * slices.row_bytes;
            memcpy(target, source, (size_t)(metadata.send_sizes[i] * slices.row_bytes));
            moved += (double)(2 * metadata.send_sizes[i] * slices.row_bytes);
            disagreeing += metadata.send_sizes[i] != metadata.recv_sizes[i];
        }
        slices_free(&metadata);
    }
    for (int rank = 0; rank < ranks; rank++) wrong += slices_wrong(&slices, rank, 0, output + (size_t)rank * words);
    check("bytes of an all-to-all", moved, (double)slices_traffic(&slices));
    check("sizes on which two ranks disagree", (double)disagreeing, 0);
    check("words of an all-to-all that are wrong", (double)wrong, 0);
    output[words - 1] ^= 1;
    check("a wrong word", (double)slices_wrong(&slices, 0, 0, output), 1);
    free(input);
    free(output);
}

static void test(void) {
    for (int ranks = 1; ranks <= 4; ranks++)
        for (int updates = 1; updates <= 5; updates++) test_exchange(ranks, updates);
    struct slices megabyte = {4, 1, 1024, 1024};
    state_bytes("all-to-all", (double)slices_traffic(&megabyte));
}

const struct subject ragged_all_to_all_subject = {"ragged_all_to_all", "exchanges between ranks beside copies of the same bytes",
                                                  run, test};
