/*
 * Mistakes in ragged all-to-alls of GPU ranks: every rank gets the same error, nothing is written, and nothing hangs.  A call
 * that a kernel has to refuse poisons its group; an invalid plan is refused at creation and leaves the group usable.
 *
 * Runs on: every emulated, gpu; kernels of barrier, ragged_all_to_all.
 */
#include "harness/check.h"
#include "harness/gpu_ragged.h"
#include "kernels/collective_problem.h"

enum { RANKS = 3, UPDATES = 2, SIZE = 3, POOL = 1 << 16, WORKSPACE = 1 << 16 };

/* ---- a case without a mistake: every slice has SIZE rows ---- */

static void open_case(struct ragged_case *c, uint64_t seed) {
    ragged_case_open(c, seed, (struct ragged_choice){.ranks = RANKS, .everyone = true, .updates = UPDATES, .row_bytes = 24,
        .largest = 1});
    for (int i = 0; i < RANKS; i++) {
        struct ragged_case_member *member = &c->members[i];
        for (int entry = 0; entry < RANKS * UPDATES; entry++) {
            member->send_sizes[entry] = member->recv_sizes[entry] = SIZE;
            member->input_offsets[entry] = entry * SIZE;
            member->output_offsets[entry] = (i * UPDATES + entry % UPDATES) * SIZE;
        }
        member->input.rows = member->output.rows = RANKS * UPDATES * SIZE;
    }
    c->is_int64 = true;
    c->check_overlap = true;
    gpu_ragged_place(c, seed % 2);
}

/* ---- mistakes, all made by rank 1 ---- */

struct call {
    struct ragged_case *c;
    quern_ragged_all_to_all_args *args;  /* of rank 1 */
    char **workspace;                    /* likewise */
    unsigned char *private_memory;
};

static int entry(int peer, int update) { return peer * UPDATES + update; }
static struct ragged_case_member *rank_1(struct call *call) { return &call->c->members[1]; }

static void negative_input_offset(struct call *call) { rank_1(call)->input_offsets[entry(0, 1)] = -3; }
static void negative_send_size(struct call *call) { rank_1(call)->send_sizes[entry(2, 0)] = -2; }
static void negative_output_offset(struct call *call) { rank_1(call)->output_offsets[entry(1, 1)] = -1; }
static void negative_recv_size(struct call *call) { rank_1(call)->recv_sizes[entry(0, 1)] = -7; }
static void negative_size_to_0(struct call *call) { rank_1(call)->send_sizes[entry(0, 1)] = -2; }
static void negative_offset_to_0(struct call *call) { rank_1(call)->output_offsets[entry(0, 0)] = -1; }
static void negative_offset_of_nothing(struct call *call) {
    rank_1(call)->send_sizes[entry(0, 1)] = call->c->members[0].recv_sizes[entry(1, 1)] = 0;
    rank_1(call)->output_offsets[entry(0, 1)] = -4;
}
static void beyond_input(struct call *call) { rank_1(call)->input_offsets[entry(2, 1)] = 16; }
static void far_beyond_input(struct call *call) { rank_1(call)->input_offsets[entry(2, 1)] = INT64_MAX; }
static void beyond_output(struct call *call) { rank_1(call)->output_offsets[entry(2, 0)] = 16; }
static void far_beyond_output(struct call *call) { rank_1(call)->output_offsets[entry(2, 0)] = INT64_MAX - 1; }
static void sends_less(struct call *call) { rank_1(call)->send_sizes[entry(0, 0)] = 2; }
static void expects_more(struct call *call) { rank_1(call)->recv_sizes[entry(2, 1)] = 4; }
static void overlap(struct call *call) { rank_1(call)->output_offsets[entry(0, 1)] -= 1; }
static void other_updates(struct call *call) { call->args->updates = 1; }
static void other_row_bytes(struct call *call) { call->args->row_bytes = 8; }
static void other_output(struct call *call) { call->args->output = (char *)call->args->output + 24; }
static void other_workspace(struct call *call) { *call->workspace += 4096; }
static void private_output(struct call *call) { call->args->output = call->private_memory; }
static void no_dtype(struct call *call) { call->args->metadata_dtype = QUERN_F32; }

struct mistake {
    void (*make)(struct call *call);
    quern_status status;         /* the status of all ranks, ... */
    const char *text;
    quern_status own;            /* ... except rank 1, if it detects the mistake by itself */
};

static const struct mistake in_metadata[] = {
    {negative_input_offset, QUERN_INVALID_SHAPE,
     "sender 1, receiver 0, update 1: input_offsets is -3, expected 0 or more", QUERN_OK},
    {negative_send_size, QUERN_INVALID_SHAPE, "sender 1, receiver 2, update 0: send_sizes is -2", QUERN_OK},
    {negative_output_offset, QUERN_INVALID_SHAPE, "sender 1, receiver 1, update 1: output_offsets is -1", QUERN_OK},
    {negative_recv_size, QUERN_INVALID_SHAPE, "sender 0, receiver 1, update 1: recv_sizes is -7", QUERN_OK},
    {negative_size_to_0, QUERN_INVALID_SHAPE, "sender 1, receiver 0, update 1: send_sizes is -2", QUERN_OK},
    {negative_offset_of_nothing, QUERN_INVALID_SHAPE, "sender 1, receiver 0, update 1: output_offsets is -4", QUERN_OK},
    {beyond_input, QUERN_INVALID_SHAPE,
     "sender 1, receiver 2, update 1: the slice ends at input row 19, expected at most input_rows, 18", QUERN_OK},
    {far_beyond_input, QUERN_INVALID_SHAPE,
     "sender 1, receiver 2, update 1: the slice ends at input row 9223372036854775807", QUERN_OK},
    {beyond_output, QUERN_INVALID_SHAPE,
     "sender 1, receiver 2, update 0: the slice ends at output row 19, expected at most the receiver's output_rows, 18", QUERN_OK},
    {far_beyond_output, QUERN_INVALID_SHAPE, "sender 1, receiver 2, update 0: the slice ends at output row 9223372036854775807",
        QUERN_OK},
    {sends_less, QUERN_PEER_MISMATCH,
     "sender 1, receiver 0, update 0: the sender's send_sizes is 2, the receiver's recv_sizes is 3", QUERN_OK},
    {expects_more, QUERN_PEER_MISMATCH,
     "sender 2, receiver 1, update 1: the sender's send_sizes is 3, the receiver's recv_sizes is 4", QUERN_OK},
    {overlap, QUERN_INVALID_SHAPE, "sender 1, receiver 0, update 1: output row 8 is also written by sender 1, update 0", QUERN_OK},
};

/* Without a plan the receiver may be the first to notice, since these rows overlap others. */
static const struct mistake in_plans[] = {
    {negative_offset_to_0, QUERN_INVALID_SHAPE, "sender 1, receiver 0, update 0: output_offsets is -1", QUERN_OK},
};

static const struct mistake in_arguments[] = {
    {other_updates, QUERN_PEER_MISMATCH, "rank 0 has 2 updates and rank 1 has 1", QUERN_OK},
    {other_row_bytes, QUERN_PEER_MISMATCH, "rank 0 has rows of 24 bytes and rank 1 of 8", QUERN_OK},
    {other_output, QUERN_PEER_MISMATCH, "the outputs of ranks 0 and 1 are not at the same place", QUERN_OK},
    {other_workspace, QUERN_PEER_MISMATCH, "the workspaces of ranks 0 and 1 are not at the same place", QUERN_OK},
    {private_output, QUERN_PEER_MISMATCH, "rank 1 refused its own arguments", QUERN_INVALID_ARGUMENT},
    {no_dtype, QUERN_PEER_MISMATCH, "rank 1 refused its own arguments", QUERN_INVALID_DTYPE},
};

/* ---- making the mistakes ---- */

/* The arguments of all ranks, including the mistake. */
struct arguments {
    quern_ragged_all_to_all_args args[RANKS];
    int64_t storage[RANKS][4 * RANKS * UPDATES];
    void *workspace[RANKS];
    size_t bytes[RANKS];
};

static void gather(struct arguments *all, struct gpu_ragged *bench, struct ragged_case *c, enum gpu_metadata where,
                   const struct mistake *mistake) {
    struct call call = {c, &all->args[1], (char **)&all->workspace[1], bench->pool[1][POOL_PRIVATE]};
    for (size_t i = 0; i < COUNT(in_metadata); i++)
        if (mistake == &in_metadata[i]) mistake->make(&call);
    for (size_t i = 0; i < COUNT(in_plans); i++)
        if (mistake == &in_plans[i]) mistake->make(&call);
    for (int rank = 0; rank < RANKS; rank++) {
        all->args[rank] = gpu_ragged_arguments(bench, c, rank, where, all->storage[rank]);
        all->workspace[rank] = bench->workspace[rank];
        all->bytes[rank] = WORKSPACE / 2;
    }
    for (size_t i = 0; i < COUNT(in_arguments); i++)
        if (mistake == &in_arguments[i]) mistake->make(&call);
}

static void renew(struct gpu_ragged *bench, struct gpu_group *group) {
    gpu_ragged_close(bench);
    gpu_group_destroy(group);
    gpu_group_create(group, 0, 0);
    gpu_ragged_open(bench, group, POOL, WORKSPACE);
}

static void call_with(struct gpu_ragged *bench, enum gpu_metadata where, const struct mistake *mistake, uint64_t seed) {
    struct gpu_group *group = bench->group;
    struct ragged_case c;
    struct arguments all;
    open_case(&c, seed);
    gpu_ragged_fill(bench, &c, 0);
    gather(&all, bench, &c, where, mistake);
    for (int rank = 0; rank < RANKS; rank++)
        check_status(quern_ragged_all_to_all(group->group[rank], &all.args[rank], all.workspace[rank], all.bytes[rank],
                                             group->device[rank].stream), rank == 1 ? mistake->own : QUERN_OK);
    gpu_ragged_compare(bench, &c, mistake->text);
    for (int rank = 0; rank < RANKS; rank++) {
        check_refused(quern_group_status(group->group[rank]), mistake->status, mistake->text);
        check_status(quern_barrier(group->group[rank], NULL, group->device[rank].stream), mistake->status);
    }
    ragged_case_close(&c);
    renew(bench, group);
}

static void plan_with(struct gpu_ragged *bench, const struct mistake *mistake, uint64_t seed) {
    struct ragged_case c;
    struct arguments all;
    quern_ragged_plan *plans[RANKS];
    if (mistake->make == other_workspace) return;  /* the others never read it */
    open_case(&c, seed);
    gpu_ragged_fill(bench, &c, 0);
    gather(&all, bench, &c, METADATA_IN_PLAN, mistake);
    check_refused(quern_ragged_plan_create(bench->group->group, RANKS, all.args, all.workspace, all.bytes, plans),
                  mistake->own ? mistake->own : mistake->status, mistake->own ? "rank 1: " : mistake->text);
    gpu_ragged_compare(bench, &c, mistake->text);
    ragged_case_close(&c);
    open_case(&c, seed);
    gpu_ragged_run(bench, &c, METADATA_IN_PLAN);  /* the group is still usable */
    ragged_case_close(&c);
}

static void open_bench(struct gpu_ragged *bench, struct gpu_group *group) {
    gpu_group_open(group, .ranks = RANKS);
    gpu_ragged_open(bench, group, POOL, WORKSPACE);
}

static void make_all(const struct mistake *mistakes, size_t count) {
    struct gpu_group group;
    struct gpu_ragged bench CLOSED_BY(gpu_ragged_close_all);
    open_bench(&bench, &group);
    for (size_t i = 0; i < count; i++) {
        call_with(&bench, METADATA_ON_HOST, &mistakes[i], i);
        call_with(&bench, METADATA_ON_DEVICE, &mistakes[i], i + 1);
        plan_with(&bench, &mistakes[i], i);
    }
}

Test(ragged_faults_cuda, mistakes_in_the_metadata) { make_all(in_metadata, COUNT(in_metadata)); }

Test(ragged_faults_cuda, mistakes_in_the_arguments) { make_all(in_arguments, COUNT(in_arguments)); }

Test(ragged_faults_cuda, mistakes_in_plans) {
    struct gpu_group group;
    struct gpu_ragged bench CLOSED_BY(gpu_ragged_close_all);
    open_bench(&bench, &group);
    for (size_t i = 0; i < COUNT(in_plans); i++) plan_with(&bench, &in_plans[i], i);
}

/* ---- one group and one case, ready for calls ---- */

struct scene {
    struct gpu_group group;
    struct gpu_ragged bench;
    struct ragged_case c;
    struct arguments all;
};

static void open_scene(struct scene *s) {
    open_bench(&s->bench, &s->group);
    open_case(&s->c, 0);
}

static void close_scene(struct scene *s) {
    ragged_case_close(&s->c);
    gpu_ragged_close_all(&s->bench);
}
#define TEST_SCENE(suite, name) TEST_IN(struct scene, s, open_scene, close_scene, suite, name)

static void call_on(struct scene *s, int rank) {
    check_ok(quern_ragged_all_to_all(s->group.group[rank], &s->all.args[rank], s->all.workspace[rank], s->all.bytes[rank],
                                     s->group.device[rank].stream));
}

/* ---- plans that are refused ---- */

static quern_status make_plan(struct scene *s) {
    quern_ragged_plan *plans[RANKS] = {NULL};
    quern_status status = quern_ragged_plan_create(s->group.group, RANKS, s->all.args, s->all.workspace, s->all.bytes, plans);
    for (int rank = 0; rank < RANKS; rank++) {
        check(!plans[rank] == (status != QUERN_OK), "rank %d: a plan of a call that gave %s", rank, quern_status_string(status));
        check_ok(quern_ragged_plan_destroy(plans[rank]));
    }
    return status;
}

/* The refusal leaves the group usable. */
static void refuse_plan(struct scene *s, quern_status status, const char *text) {
    check_refused(make_plan(s), status, text);
    gpu_ragged_run(&s->bench, &s->c, METADATA_IN_PLAN);
    gather(&s->all, &s->bench, &s->c, METADATA_IN_PLAN, NULL);
}

TEST_SCENE(ragged_faults_cuda, a_plan_takes_metadata_of_the_host) {
    for (int rank = 0; rank < RANKS; rank++) {
        char text[100];
        gather(&s->all, &s->bench, &s->c, METADATA_IN_PLAN, NULL);
        s->all.args[rank].metadata_on_device = 1;
        snprintf(text, sizeof text, "rank %d: args.metadata_on_device is set: a plan takes metadata in host memory", rank);
        refuse_plan(s, QUERN_INVALID_ARGUMENT, text);
    }
}

TEST_SCENE(ragged_faults_cuda, the_members_of_a_plan_agree) {
    static const int part[] = {1, 2};
    gather(&s->all, &s->bench, &s->c, METADATA_IN_PLAN, NULL);
    s->all.args[1].members = part, s->all.args[1].member_count = 2;
    refuse_plan(s, QUERN_PEER_MISMATCH, "rank 0: args.members differ from those of rank 1: expected the same");
    s->all.args[1].members = s->all.args[2].members = part, s->all.args[1].member_count = s->all.args[2].member_count = 2;
    refuse_plan(s, QUERN_PEER_MISMATCH, "rank 0: args.members differ from those of rank 1: expected the same");
}

/* Each pair of ranks alone: the third has a plan of its own, and one of the pair does not know of the other. */
TEST_SCENE(ragged_faults_cuda, the_members_of_a_plan_agree_in_each_pair) {
    static const int single[RANKS] = {0, 1, 2}, pairs[][2] = {{0, 1}, {0, 2}, {1, 2}};
    for (size_t i = 0; i < COUNT(pairs); i++)
        for (int knows = 0; knows < 2; knows++) {
            char text[100];
            gather(&s->all, &s->bench, &s->c, METADATA_IN_PLAN, NULL);
            for (int rank = 0; rank < RANKS; rank++) {
                const bool is_pair = rank == pairs[i][knows];
                s->all.args[rank].members = is_pair ? pairs[i] : &single[rank];
                s->all.args[rank].member_count = is_pair ? 2 : 1;
                s->all.args[rank].updates = 0;
            }
            snprintf(text, sizeof text, "rank %d: args.members differ from those of rank %d: expected the same", pairs[i][knows],
                     pairs[i][!knows]);
            refuse_plan(s, QUERN_PEER_MISMATCH, text);
        }
}

/* Rank 1 has its output elsewhere: only ranks that send rows to it, or get rows from it, have to find it. */
TEST_SCENE(ragged_faults_cuda, outputs_elsewhere_in_a_plan) {
    void *others[RANKS];
    check_ok(quern_symmetric_alloc(s->group.group, RANKS, (size_t[]){POOL, POOL, POOL}, others));
    gather(&s->all, &s->bench, &s->c, METADATA_IN_PLAN, NULL);
    const ptrdiff_t offset = (unsigned char *)s->all.args[1].output - s->bench.pool[1][POOL_SYMMETRIC];
    s->all.args[1].output = (char *)others[1] + offset;
    refuse_plan(s, QUERN_PEER_MISMATCH, "the outputs of ranks 0 and 1 are not at the same place");
    s->all.args[1].output = (char *)s->all.args[1].output + 8;
    refuse_plan(s, QUERN_PEER_MISMATCH, "the outputs of ranks 0 and 1 are not at the same place");
    for (int rank = 0; rank < RANKS; rank++)
        for (int update = 0; update < UPDATES; update++) {
            s->c.members[1].send_sizes[entry(rank, update)] = s->c.members[rank].recv_sizes[entry(1, update)] = 0;
            s->c.members[rank].send_sizes[entry(1, update)] = s->c.members[1].recv_sizes[entry(rank, update)] = 0;
            s->c.members[rank].output_offsets[entry(1, update)] = 0;
        }
    gather(&s->all, &s->bench, &s->c, METADATA_IN_PLAN, NULL);
    s->all.args[1].output = others[1];
    check_ok(make_plan(s));
    s->all.args[1].output = NULL, s->all.args[1].output_rows = 0;
    check_ok(make_plan(s));
}

/* Rows pass from one rank to one other, and one rank has its output elsewhere: that matters if it is one of the two. */
TEST_SCENE(ragged_faults_cuda, outputs_elsewhere_of_each_pair_in_a_plan) {
    void *others[RANKS];
    check_ok(quern_symmetric_alloc(s->group.group, RANKS, (size_t[]){POOL, POOL, POOL}, others));
    for (int i = 0; i < RANKS * RANKS * RANKS; i++) {
        const int sender = i % RANKS, receiver = i / RANKS % RANKS, odd = i / RANKS / RANKS;
        char text[100];
        gather(&s->all, &s->bench, &s->c, METADATA_IN_PLAN, NULL);
        for (int rank = 0; rank < RANKS; rank++)
            for (int peer = 0; peer < RANKS; peer++)
                for (int update = 0; update < UPDATES; update++) {
                    const bool passes = update == i % UPDATES;
                    int64_t *sizes = &s->all.storage[rank][entry(peer, update)];
                    sizes[RANKS * UPDATES] = passes && rank == sender && peer == receiver;
                    sizes[2 * RANKS * UPDATES] = 0;
                    sizes[3 * RANKS * UPDATES] = passes && rank == receiver && peer == sender;
                }
        s->all.args[odd].output = others[odd];
        snprintf(text, sizeof text, "the outputs of ranks %d and %d are not at the same place", receiver, sender);
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
           part(sizeof(struct quern_ragged_work)
                + entries * sizeof(struct quern_ragged_slice)) + part(4 * entries * sizeof(int64_t)) +
           part(sorted * sizeof(struct quern_ragged_receipt)) + part(staged);
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

/* Numbers of updates whose workspace no memory holds. */
TEST_SCENE(ragged_faults_cuda, more_updates_than_memory_holds) {
    static const int64_t many[] = {INT32_MAX / RANKS + 1ll, (int64_t)1 << 31, (int64_t)1 << 40, INT64_MAX};
    size_t bytes = 7;
    gather(&s->all, &s->bench, &s->c, METADATA_IN_PLAN, NULL);
    for (size_t i = 0; i < COUNT(many); i++) {
        s->all.args[1].updates = many[i];
        check_status(quern_ragged_all_to_all_workspace(s->group.group[1], &s->all.args[1], &bytes), QUERN_INVALID_SHAPE);
        check_detail("args.updates");
        check_refused(make_plan(s), QUERN_INVALID_SHAPE, "args.updates");
    }
    /* Two members may have more updates than all ranks, whose number the workspace of each depends on. */
    s->all.args[1].members = (const int[]){0, 1}, s->all.args[1].member_count = 2;
    s->all.args[1].updates = many[0];
    check_status(quern_ragged_all_to_all_workspace(s->group.group[1], &s->all.args[1], &bytes), QUERN_INVALID_SHAPE);
    check_detail("these sizes need a workspace of ");
    /* A part of the workspace that a buffer may have, but not with the rest: input that must be staged. */
    gather(&s->all, &s->bench, &s->c, METADATA_IN_PLAN, NULL);
    s->all.args[1].input = s->all.args[1].output, s->all.args[1].row_bytes = 1;
    s->all.args[1].input_rows = (int64_t)1 << 47;
    s->all.args[1].output_rows = 1;
    check_status(quern_ragged_all_to_all_workspace(s->group.group[1], &s->all.args[1], &bytes), QUERN_INVALID_SHAPE);
    check_detail("these sizes need a workspace of ");
    check(bytes == 7, "a refused call wrote the size %zu", bytes);
    gpu_ragged_run(&s->bench, &s->c, METADATA_IN_PLAN);
}

/* Ranks 0 and 2 have their workspaces OFFSET bytes into memory of which rank 1 has this much. */
enum { OFFSET = 256 };

static void move_workspaces(struct scene *s, size_t bytes_of_rank_1) {
    void *parts[RANKS];
    check_ok(quern_symmetric_alloc(s->group.group, RANKS, (size_t[]){WORKSPACE, bytes_of_rank_1, WORKSPACE}, parts));
    gather(&s->all, &s->bench, &s->c, METADATA_IN_PLAN, NULL);
    for (int rank = 0; rank < RANKS; rank += 2) s->all.workspace[rank] = (char *)parts[rank] + OFFSET;
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
    gpu_ragged_fill(&s->bench, &s->c, 0);
    for (int rank = 0; rank < RANKS; rank++)
        check_status(quern_ragged_all_to_all(s->group.group[rank], &s->all.args[rank], s->all.workspace[rank], s->all.bytes[rank],
                                             s->group.device[rank].stream), rank == 1 ? QUERN_OK : QUERN_INVALID_ARGUMENT);
    gpu_ragged_compare(&s->bench, &s->c, "a workspace that a peer does not have");
    for (int rank = 0; rank < RANKS; rank++)
        check_status(quern_group_status(s->group.group[rank]), QUERN_PEER_MISMATCH);
}

/* ---- valid calls ---- */

TEST_SCENE(ragged_faults_cuda, overlaps_are_looked_for_on_request_only) {
    s->c.check_overlap = false;
    s->c.members[1].output_offsets[entry(0, 1)] -= 1;
    gpu_ragged_fill(&s->bench, &s->c, 0);
    gather(&s->all, &s->bench, &s->c, METADATA_ON_HOST, NULL);
    for (int rank = 0; rank < RANKS; rank++) call_on(s, rank);
    gpu_group_synchronize(&s->group);
    for (int rank = 0; rank < RANKS; rank++) check_ok(quern_group_status(s->group.group[rank]));
}

/* If all ranks make the same mistake, each detects it, and the group stays usable. */
TEST_SCENE(ragged_faults_cuda, a_mistake_of_all_ranks_poisons_nothing) {
    gather(&s->all, &s->bench, &s->c, METADATA_ON_HOST, NULL);
    for (int rank = 0; rank < RANKS; rank++) {
        s->all.args[rank].output = s->bench.pool[rank][POOL_PRIVATE];
        check_status(quern_ragged_all_to_all(s->group.group[rank], &s->all.args[rank], s->all.workspace[rank], s->all.bytes[rank],
                                             s->group.device[rank].stream), QUERN_INVALID_ARGUMENT);
    }
    gpu_ragged_run(&s->bench, &s->c, METADATA_ON_HOST);
    gpu_group_barrier(&s->group, ~0ull);
    gpu_group_synchronize(&s->group);
}

/* ---- missing ranks, and ranks that make another call ---- */

static void expect_poison(const struct gpu_ragged *bench, quern_status status, const char *text) {
    gpu_group_synchronize(bench->group);
    for (int rank = 0; rank < RANKS; rank++) {
        check_refused(quern_group_status(bench->group->group[rank]), status, text);
    }
}

TEST_SCENE(ragged_faults_cuda, a_missing_rank_is_named) {
    gpu_ragged_fill(&s->bench, &s->c, 0);
    gather(&s->all, &s->bench, &s->c, METADATA_ON_HOST, NULL);
    for (int rank = 0; rank < RANKS; rank++) s->all.args[rank].timeout = 0.2;
    call_on(s, 0);
    call_on(s, 2);
    expect_poison(&s->bench, QUERN_PEER_TIMEOUT, "rank 1 (");
    check_detail("quern_ragged_all_to_all (entry)");
    gpu_ragged_compare(&s->bench, &s->c, "a rank is missing");
}

TEST_SCENE(ragged_faults_cuda, a_barrier_is_another_call) {
    gpu_ragged_fill(&s->bench, &s->c, 0);
    gather(&s->all, &s->bench, &s->c, METADATA_ON_HOST, NULL);
    call_on(s, 0);
    check_ok(quern_barrier(s->group.group[1], NULL, s->group.device[1].stream));
    call_on(s, 2);
    expect_poison(&s->bench, QUERN_PEER_MISMATCH, "another call");
    gpu_ragged_compare(&s->bench, &s->c, "a rank is elsewhere");
}

TEST_SCENE(ragged_faults_cuda, a_plan_is_not_the_call_without_one) {
    quern_ragged_plan *plans[MOST_GPU_RANKS];
    gpu_ragged_plan(&s->bench, &s->c, plans);
    gather(&s->all, &s->bench, &s->c, METADATA_ON_HOST, NULL);
    s->all.args[0].timeout = 5;
    check_ok(quern_ragged_plan_run(plans[1], s->group.device[1].stream));
    check_ok(quern_ragged_plan_run(plans[2], s->group.device[2].stream));
    call_on(s, 0);
    expect_poison(&s->bench, QUERN_PEER_MISMATCH, "another call");
}

/* ---- plans whose memory or group is gone ---- */

TEST_SCENE(ragged_faults_cuda, a_plan_notices_that_its_memory_was_freed) {
    quern_ragged_plan *plans[MOST_GPU_RANKS];
    gpu_ragged_plan(&s->bench, &s->c, plans);
    check_ok(quern_symmetric_free(s->group.group[1], s->bench.pool[1][POOL_SYMMETRIC], s->group.device[1].stream));
    check_ok(quern_ragged_plan_run(plans[0], s->group.device[0].stream));
    check_status(quern_ragged_plan_run(plans[1], s->group.device[1].stream), QUERN_INVALID_ARGUMENT);
    check_detail("the plan's output is in symmetric memory that was freed");
    check_ok(quern_ragged_plan_run(plans[2], s->group.device[2].stream));
    expect_poison(&s->bench, QUERN_PEER_MISMATCH, "rank 1 refused its own arguments");
    for (int rank = 0; rank < RANKS; rank++) check_ok(quern_ragged_plan_destroy(plans[rank]));
}

Test(ragged_faults_cuda, a_plan_may_outlive_its_group) {
    struct scene s;
    quern_ragged_plan *plans[MOST_GPU_RANKS];
    open_scene(&s);
    gpu_ragged_plan(&s.bench, &s.c, plans);
    gpu_ragged_close(&s.bench);
    gpu_group_destroy(&s.group);
    check_status(quern_ragged_plan_run(plans[0], s.group.device[0].stream), QUERN_INVALID_ARGUMENT);
    for (int rank = 0; rank < RANKS; rank++) check_ok(quern_ragged_plan_destroy(plans[rank]));
    check_status(quern_ragged_plan_destroy(plans[0]), QUERN_INVALID_ARGUMENT);
    ragged_case_close(&s.c);
}

/* ---- too few multiprocessors ---- */

/* The room of a group that was created before the exchange was prepared. */
Test(ragged_faults_cuda, more_ranks_than_a_gpu_can_run_at_once) {
    enum { CROWD = 5 };  /* a multiprocessor has room for at most four blocks of the exchange and for more of the barrier */
    struct gpu_group group;
    struct gpu_ragged bench CLOSED_BY(gpu_ragged_close_all);
    struct ragged_case c;
    int64_t storage[4 * CROWD];
    gpu_group_open(&group, .ranks = CROWD, .machine = {.devices = 1, .multiprocessors = 1}, .prepared = QUERN_BARRIER);
    for (int rank = 0; rank < CROWD; rank++) check_ok(quern_prepare(group.device[rank].quern, QUERN_RAGGED_ALL_TO_ALL));
    gpu_ragged_open(&bench, &group, POOL, WORKSPACE);
    ragged_case_open(&c, 1, (struct ragged_choice){.ranks = CROWD, .everyone = true, .updates = 1});
    gpu_ragged_place(&c, false);
    for (int rank = 0; rank < CROWD && test_is_small(); rank++) {  /* a real GPU has more multiprocessors */
        const quern_ragged_all_to_all_args args = gpu_ragged_arguments(&bench, &c, rank, METADATA_ON_HOST, storage);
        check_status(quern_ragged_all_to_all(group.group[rank], &args, bench.workspace[rank], WORKSPACE, group.device[rank].stream),
                     QUERN_NOT_SUPPORTED);
        check_detail("cuda:0 has room for ");
        check_detail("and the ranks of this process's groups need 5: expected one for each rank");
    }
    gpu_group_barrier(&group, ~0ull);
    gpu_group_synchronize(&group);
    for (int rank = 0; rank < CROWD; rank++) check_ok(quern_group_status(group.group[rank]));
    ragged_case_close(&c);
}
