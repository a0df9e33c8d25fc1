/*
 * Plans of GPU ranks that are refused, or whose memory or group is gone: nothing is written, and the group stays usable.
 * test_ragged_mistakes.c has mistakes in calls and ranks that do not come.
 *
 * Runs on: every emulated, gpu; kernels of barrier, ragged_all_to_all.
 */
#include "harness/one_exchange.h"
#include "kernels/collective_problem.h"

enum { RANKS = MEMBERS, POOL = 1 << 16, WORKSPACE = 1 << 16 };

/* ---- one group, and a call of all ranks ---- */

struct scene {
    struct gpu_group group;
    struct gpu_bench bench;
    struct one_exchange one[RANKS];        /* without a mistake */
    void *workspace[RANKS];
    size_t bytes[RANKS];
    quern_ragged_all_to_all_args args[RANKS];
};

static void open_scene(struct scene *s) {
    gpu_bench_begin(&s->bench, &s->group, (struct gpu_group_options){.ranks = RANKS, .pool = POOL, .workspace = WORKSPACE});
}

static void close_scene(struct scene *s) { gpu_bench_close_all(&s->bench); }
#define TEST_SCENE(suite, name) TEST_IN(struct scene, s, open_scene, close_scene, suite, name)

static void prepare(struct scene *s) {
    for (int rank = 0; rank < RANKS; rank++) {
        exchange_make(&s->one[rank], &s->bench.of[rank]);
        s->args[rank] = s->one[rank].args, s->workspace[rank] = s->one[rank].workspace, s->bytes[rank] = WORKSPACE / 2;
    }
}

static quern_status call(struct scene *s, int rank) {
    return quern_ragged_all_to_all(s->group.group[rank], &s->args[rank], s->workspace[rank], s->bytes[rank],
                                   s->group.device[rank].stream);
}

static void expect_unwritten(struct scene *s, const char *when) {
    gpu_group_synchronize(&s->group);
    for (int rank = 0; rank < RANKS; rank++) exchange_check_unwritten(&s->one[rank], when);
}

/* Plans of all ranks, which the caller destroys. */
static quern_status create_plans(struct scene *s, quern_ragged_plan *plans[RANKS]) {
    return quern_ragged_plan_create(s->group.group, RANKS, s->args, s->workspace, s->bytes, plans);
}

static void destroy_plans(quern_ragged_plan *plans[RANKS]) {
    for (int rank = 0; rank < RANKS; rank++) check_ok(quern_ragged_plan_destroy(plans[rank]));
}

static void plan_rightly(struct scene *s) {
    quern_ragged_plan *plans[RANKS];
    prepare(s);
    check_ok(create_plans(s, plans));
    for (int rank = 0; rank < RANKS; rank++) check_ok(quern_ragged_plan_run(plans[rank], s->group.device[rank].stream));
    for (int rank = 0; rank < RANKS; rank++) {
        check_ok(rank_bench_status(&s->bench.of[rank], QUERN_OK));
        exchange_check(&s->one[rank]);
    }
    destroy_plans(plans);
}

/* ---- plans that are refused ---- */

static int entry(int peer, int update) { return peer * UPDATES + update; }

static quern_status make_plan(struct scene *s) {
    quern_ragged_plan *plans[RANKS] = {NULL};
    const quern_status status = create_plans(s, plans);
    for (int rank = 0; rank < RANKS; rank++) {
        check(!plans[rank] == (status != QUERN_OK), "rank %d: a plan of a call that gave %s", rank, quern_status_string(status));
        check_ok(quern_ragged_plan_destroy(plans[rank]));
    }
    return status;
}

/* The refusal leaves the group usable. */
static void refuse_plan(struct scene *s, quern_status status, const char *text) {
    check_refused(make_plan(s), status, text);
    plan_rightly(s);
    prepare(s);
}

TEST_SCENE(ragged_faults_cuda, a_plan_takes_metadata_of_the_host) {
    for (int rank = 0; rank < RANKS; rank++) {
        char text[100];
        prepare(s);
        s->args[rank].metadata_on_device = 1;
        snprintf(text, sizeof text, "rank %d: args.metadata_on_device is set: a plan takes metadata in host memory", rank);
        refuse_plan(s, QUERN_INVALID_ARGUMENT, text);
    }
}

/* Each pair of ranks alone: the third has a plan of its own, and one of the pair does not know of the other. */
TEST_SCENE(ragged_faults_cuda, the_members_of_a_plan_agree_in_each_pair) {
    static const int single[RANKS] = {0, 1, 2}, pairs[][2] = {{0, 1}, {0, 2}, {1, 2}};
    for (size_t i = 0; i < COUNT(pairs); i++)
        for (int knows = 0; knows < 2; knows++) {
            char text[100];
            prepare(s);
            for (int rank = 0; rank < RANKS; rank++) {
                const bool is_pair = rank == pairs[i][knows];
                s->args[rank].members = is_pair ? pairs[i] : &single[rank];
                s->args[rank].member_count = is_pair ? 2 : 1;
                s->args[rank].updates = 0;
            }
            snprintf(text, sizeof text, "rank %d: args.members differ on ranks %d and %d: expected the same on all members",
                     pairs[i][knows], pairs[i][0], pairs[i][1]);
            refuse_plan(s, QUERN_PEER_MISMATCH, text);
        }
}

/* Rank 1 has its output elsewhere: only ranks that send rows to it, or get rows from it, have to find it. */
TEST_SCENE(ragged_faults_cuda, outputs_elsewhere_in_a_plan) {
    void *others[RANKS];
    check_ok(quern_symmetric_alloc(s->group.group, RANKS, (size_t[]){POOL, POOL, POOL}, others));
    prepare(s);
    const ptrdiff_t offset = (unsigned char *)s->args[1].output - s->bench.of[1].pool[POOL_SYMMETRIC];
    s->args[1].output = (char *)others[1] + offset;
    refuse_plan(s, QUERN_PEER_MISMATCH, "args.output of ranks 0 and 1 is not at the same place");
    s->args[1].output = (char *)s->args[1].output + 8;
    refuse_plan(s, QUERN_PEER_MISMATCH, "args.output of ranks 0 and 1 is not at the same place");
    prepare(s);
    for (int rank = 0; rank < RANKS; rank++)
        for (int update = 0; update < UPDATES; update++) {
            s->one[1].send_sizes[entry(rank, update)] = s->one[rank].recv_sizes[entry(1, update)] = 0;
            s->one[rank].send_sizes[entry(1, update)] = s->one[1].recv_sizes[entry(rank, update)] = 0;
            s->one[rank].output_offsets[entry(1, update)] = 0;
        }
    s->args[1].output = others[1];
    check_ok(make_plan(s));
    s->args[1].output = NULL, s->args[1].output_rows = 0;
    check_ok(make_plan(s));
}

/* Rows pass from one rank to one other, and one rank has its output elsewhere: that matters if it is one of the two. */
TEST_SCENE(ragged_faults_cuda, outputs_elsewhere_of_each_pair_in_a_plan) {
    void *others[RANKS];
    check_ok(quern_symmetric_alloc(s->group.group, RANKS, (size_t[]){POOL, POOL, POOL}, others));
    for (int i = 0; i < RANKS * RANKS * RANKS; i++) {
        const int sender = i % RANKS, receiver = i / RANKS % RANKS, odd = i / RANKS / RANKS;
        char text[100];
        prepare(s);
        for (int rank = 0; rank < RANKS; rank++)
            for (int peer = 0; peer < RANKS; peer++)
                for (int update = 0; update < UPDATES; update++) {
                    const bool passes = update == i % UPDATES;
                    s->one[rank].send_sizes[entry(peer, update)] = passes && rank == sender && peer == receiver;
                    s->one[rank].output_offsets[entry(peer, update)] = 0;
                    s->one[rank].recv_sizes[entry(peer, update)] = passes && rank == receiver && peer == sender;
                }
        s->args[odd].output = others[odd];
        snprintf(text, sizeof text, "args.output of ranks %d and %d is not at the same place", receiver, sender);
        const bool matters = (odd == sender) != (odd == receiver);
        check_status(make_plan(s), matters ? QUERN_PEER_MISMATCH : QUERN_OK);
        if (matters) check_detail(text);
    }
}

static size_t part(size_t bytes) { return (bytes + 255) / 256 * 256; }

/*
 * For all ranks of the group: a header with offers, the work, four arrays of 8 bytes, receipts for a sort, and a copy of the input.
 */
static size_t expected_workspace(size_t entries, size_t staged) {
    size_t sorted = 1;
    while (sorted < entries) sorted *= 2;
    return part(sizeof(struct quern_ragged_header) + entries * sizeof(struct quern_ragged_offer)) +
           part(sizeof(struct quern_ragged_work) + entries * sizeof(struct quern_ragged_slice)) +
           part(4 * entries * sizeof(int64_t)) + part(sorted * sizeof(struct quern_ragged_receipt)) + part(staged);
}

static void size_workspaces(quern_group *group, int ranks) {
    static char memory[16];
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    args.input = memory, args.row_bytes = 8, args.output_rows = 1, args.member_count = 1;
    for (args.updates = 0; args.updates < 200; args.updates++)
        for (int in_place = 0; in_place < 2; in_place++) {
            size_t bytes = 7;
            args.input_rows = in_place ? 1 + args.updates * 5 : 1;
            args.members = args.updates % 2 ? (const int[]){ranks - 1} : NULL;
            args.output = memory + (in_place ? 0 : 8);
            check_ok(quern_ragged_all_to_all_workspace(group, &args, &bytes));
            const size_t staged = in_place ? (size_t)(args.input_rows * args.row_bytes) : 0;
            const size_t expected = expected_workspace((size_t)(ranks * args.updates), staged);
            check(bytes == expected, "%d ranks, %d updates%s: %zu bytes instead of %zu", ranks, (int)args.updates,
                  in_place ? " in place" : "", bytes, expected);
        }
}

Test(ragged_faults_cuda, workspaces_have_room_for_all_ranks) {
    for (int ranks = 1; ranks <= RANKS; ranks++) {
        OPEN_GROUP(group, .ranks = ranks, .machine.devices = RANKS);
        size_workspaces(group.group[ranks - 1], ranks);
    }
}

static void refuse_size(struct scene *s, const char *text) {
    size_t bytes = 7;
    check_refused(quern_ragged_all_to_all_workspace(s->group.group[1], &s->args[1], &bytes), QUERN_INVALID_SHAPE, text);
    check(bytes == 7, "a refused call wrote the size %zu", bytes);
}

/* Numbers of updates whose workspace no memory holds. */
TEST_SCENE(ragged_faults_cuda, more_updates_than_memory_holds) {
    static const int64_t many[] = {INT32_MAX / RANKS + 1ll, (int64_t)1 << 31, (int64_t)1 << 40, INT64_MAX};
    prepare(s);
    for (size_t i = 0; i < COUNT(many); i++) {
        s->args[1].updates = many[i];
        refuse_size(s, "args.updates");
        check_refused(make_plan(s), QUERN_INVALID_SHAPE, "args.updates");
    }
    /* Two members may have more updates than all ranks, whose number the workspace of each depends on. */
    s->args[1].members = (const int[]){0, 1}, s->args[1].member_count = 2;
    s->args[1].updates = many[0];
    refuse_size(s, "these sizes need a workspace of ");
    /* A part of the workspace that a buffer may have, but not with the rest: input that must be staged. */
    prepare(s);
    s->args[1].input = s->args[1].output, s->args[1].row_bytes = 1;
    s->args[1].input_rows = (int64_t)1 << 47;
    s->args[1].output_rows = 1;
    refuse_size(s, "these sizes need a workspace of ");
    plan_rightly(s);
}

/* Ranks 0 and 2 have their workspaces OFFSET bytes into memory of which rank 1 has this much. */
enum { OFFSET = 256 };

static void move_workspaces(struct scene *s, size_t bytes_of_rank_1) {
    void *parts[RANKS];
    check_ok(quern_symmetric_alloc(s->group.group, RANKS, (size_t[]){WORKSPACE, bytes_of_rank_1, WORKSPACE}, parts));
    prepare(s);
    for (int rank = 0; rank < RANKS; rank += 2) s->workspace[rank] = (char *)parts[rank] + OFFSET;
}

TEST_SCENE(ragged_faults_cuda, the_workspace_of_a_rank_is_at_its_peers_too) {
    move_workspaces(s, 8);
    check_status(make_plan(s), QUERN_INVALID_ARGUMENT);
    check_detail("rank 0: workspace begins 256 bytes into an allocation of which rank 1 has 8: expected ");
    const size_t needed = (size_t)strtoll(strstr(error_detail(), "expected ") + strlen("expected "), NULL, 10);
    check(needed > RANKS * UPDATES && needed < WORKSPACE / 2, "%zu bytes are expected", needed);
    move_workspaces(s, OFFSET + needed - 1);
    check_status(make_plan(s), QUERN_INVALID_ARGUMENT);
    move_workspaces(s, OFFSET + needed);
    check_ok(make_plan(s));
    move_workspaces(s, OFFSET + needed - 1);
    for (int rank = 0; rank < RANKS; rank++) check_status(call(s, rank), rank == 1 ? QUERN_OK : QUERN_INVALID_ARGUMENT);
    expect_unwritten(s, "a workspace that a peer does not have");
    gpu_group_expect(&s->group, QUERN_PEER_MISMATCH, "");
}

/* ---- valid calls ---- */

TEST_SCENE(ragged_faults_cuda, overlaps_are_looked_for_on_request_only) {
    prepare(s);
    for (int rank = 0; rank < RANKS; rank++) s->args[rank].check_overlap = 0;
    s->one[1].output_offsets[entry(0, 1)] -= 1;
    for (int rank = 0; rank < RANKS; rank++) check_ok(call(s, rank));
    gpu_group_expect(&s->group, QUERN_OK, NULL);
}

/* If all ranks make the same mistake, each detects it, and the group stays usable. */
TEST_SCENE(ragged_faults_cuda, a_mistake_of_all_ranks_poisons_nothing) {
    prepare(s);
    for (int rank = 0; rank < RANKS; rank++) {
        s->args[rank].output = s->bench.of[rank].pool[POOL_PRIVATE];
        check_status(call(s, rank), QUERN_INVALID_ARGUMENT);
    }
    one_calls_run(&exchange_kind, s->bench.of, &exchange_usual);
    gpu_group_barrier(&s->group, ~0ull);
    gpu_group_synchronize(&s->group);
}

TEST_SCENE(ragged_faults_cuda, a_plan_is_not_the_call_without_one) {
    quern_ragged_plan *plans[RANKS];
    prepare(s);
    check_ok(create_plans(s, plans));
    s->args[0].timeout = 5;
    check_ok(quern_ragged_plan_run(plans[1], s->group.device[1].stream));
    check_ok(quern_ragged_plan_run(plans[2], s->group.device[2].stream));
    check_ok(call(s, 0));
    gpu_group_expect(&s->group, QUERN_PEER_MISMATCH, "another call");
}

/* ---- plans whose memory or group is gone ---- */

TEST_SCENE(ragged_faults_cuda, a_plan_notices_that_its_memory_was_freed) {
    quern_ragged_plan *plans[RANKS];
    prepare(s);
    check_ok(create_plans(s, plans));
    check_ok(quern_symmetric_free(s->group.group[1], s->bench.of[1].pool[POOL_SYMMETRIC], s->group.device[1].stream));
    check_ok(quern_ragged_plan_run(plans[0], s->group.device[0].stream));
    check_status(quern_ragged_plan_run(plans[1], s->group.device[1].stream), QUERN_INVALID_ARGUMENT);
    check_detail("the plan's output is in symmetric memory that was freed");
    check_ok(quern_ragged_plan_run(plans[2], s->group.device[2].stream));
    gpu_group_expect(&s->group, QUERN_PEER_MISMATCH, "rank 1 refused its own arguments");
    destroy_plans(plans);
}

Test(ragged_faults_cuda, a_plan_may_outlive_its_group) {
    struct scene s;
    quern_ragged_plan *plans[RANKS];
    open_scene(&s);
    prepare(&s);
    check_ok(create_plans(&s, plans));
    gpu_bench_close(&s.bench);
    gpu_group_destroy(&s.group);
    check_status(quern_ragged_plan_run(plans[0], s.group.device[0].stream), QUERN_INVALID_ARGUMENT);
    destroy_plans(plans);
    check_status(quern_ragged_plan_destroy(plans[0]), QUERN_INVALID_ARGUMENT);
}

/* ---- too few multiprocessors ---- */

/* The room of a group that was created before the exchange was prepared. */
Test(ragged_faults_cuda, more_ranks_than_a_gpu_can_run_at_once) {
    enum { CROWD = 5 };  /* a multiprocessor has room for at most four blocks of the exchange and for more of the barrier */
    struct ragged_case c CLOSED_BY(ragged_case_close);
    OPEN_BENCH((struct gpu_group_options){.ranks = CROWD, .machine = {.devices = 1, .multiprocessors = 1}, .pool = POOL,
                                          .prepared = QUERN_BARRIER, .workspace = WORKSPACE});
    for (int rank = 0; rank < CROWD; rank++) check_ok(quern_prepare(group.device[rank].quern, QUERN_RAGGED_ALL_TO_ALL));
    ragged_case_open(&c, 1, (struct ragged_choice){.ranks = CROWD, .everyone = true, .updates = 1, .shares_thread = true});
    for EACH_BENCH(one, bench.of) {
        struct ragged_arguments arguments CLOSED_BY(ragged_arguments_close);
        ragged_arguments_open(&arguments, &c, one, one->rank->rank);
        if (!test_is_small()) break;  /* a real GPU has more multiprocessors */
        check_refused(ragged_call(one, &arguments.args, WORKSPACE), QUERN_NOT_SUPPORTED, "cuda:0 has room for ");
        check_detail("and the ranks of this process's groups need 5: expected one for each rank");
    }
    gpu_group_barrier(&group, ~0ull);
    for EACH_BENCH(one, bench.of) check_ok(rank_bench_status(one, QUERN_OK));
}
