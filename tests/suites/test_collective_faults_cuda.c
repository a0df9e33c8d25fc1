/*
 * Collectives of GPU ranks of which one leaves, cannot launch all of a call, or is not prepared: every rank gets the error, nothing
 * is written, and nothing hangs.  test_collective_mistakes.c has the rest.
 *
 * Runs on: every emulated, gpu; kernels of barrier, collective.
 */
#include "harness/collective_case.h"
#include "harness/gpu_bench.h"
#include "kernels/collective_problem.h"

enum { RANKS = 3, POOL = 1 << 19, PREPARED = QUERN_BARRIER | QUERN_COLLECTIVE };

struct scene {
    struct gpu_group group;
    struct gpu_bench bench;
    struct collective_case c;
    quern_collective_args args[RANKS];
    int members[RANKS][COLLECTIVE_MAX_MEMBERS];
};

static void open_scene(struct scene *s) {
    gpu_bench_begin(&s->bench, &s->group, (struct gpu_group_options){.ranks = RANKS, .prepared = PREPARED, .pool = POOL});
}

static void close_scene(struct scene *s) { gpu_bench_close_all(&s->bench); }

static int64_t count_of(bool is_large) { return is_large ? (int64_t)quern_slot_bytes(RANKS) / 4 + 100 : 100; }

static void open_case(struct collective_case *c, int ranks, enum collective_operation operation, int64_t elements) {
    collective_case_open(c, 1, (struct collective_choice){.ranks = ranks, .everyone = true, .operation = 1 + (int)operation,
                                                          .dtype = QUERN_F32, .elements = elements, .not_in_place = true,
                                                          .shares_thread = true});
}

/* The calls, and what the memory holds without them. */
static void prepare(struct scene *s, enum collective_operation operation, bool is_large) {
    open_case(&s->c, RANKS, operation, count_of(is_large));
    collective_case_fill(&s->c, s->bench.of);
    for (int rank = 0; rank < RANKS; rank++)
        s->args[rank] = collective_case_args(&s->c, &s->bench.of[rank], rank, s->members[rank]);
}

static quern_status call(struct scene *s, int rank) {
    return collective_call(&s->bench.of[rank], s->c.operation, &s->args[rank], 0);
}

/* ---- ranks that do not come ---- */

/* A rank that leaves is missed at the next entry. */
Test(collective_faults_cuda, a_rank_that_has_left_is_missed) {
    for (int is_large = 0; is_large < 2; is_large++) {
        struct scene s CLOSED_BY(close_scene);
        open_scene(&s);
        prepare(&s, COLLECTIVE_ALL_GATHER, is_large);
        gpu_group_leave(&s.group, 1);
        const double began = rank_now();
        check_ok(call(&s, 0));
        check_ok(call(&s, 2));
        gpu_group_synchronize(&s.group);
        check(rank_now() - began < RANK_SOON, "the kernels ended after %g s", rank_now() - began);
        gpu_group_expect(&s.group, QUERN_PEER_LOST, "waited on its GPU for rank 1 (process ");
        collective_case_compare(&s.c, s.bench.of);
    }
}

/* After the entry, a failed launch of the pass leaves the others waiting at the exit. */
Test(collective_faults_cuda, a_call_that_lacks_its_pass_poisons_the_group) {
    enum { LAUNCH_OF_THE_PASS = 4, OUT_OF_MEMORY = 2 };
    struct scene s CLOSED_BY(close_scene);
    if (!cuda_is_emulated()) cr_skip_test("needs a driver that fails on demand");
    open_scene(&s);
    for (int again = 0; again < 2; again++) {  /* the first call makes further calls of the driver */
        prepare(&s, COLLECTIVE_ALL_REDUCE, true);
        check_ok(call(&s, 1));
        check_ok(call(&s, 2));
        device_use(&s.group.device[0]);
        if (again) cuda_fail_call(LAUNCH_OF_THE_PASS, OUT_OF_MEMORY);
        check_status(call(&s, 0), again ? QUERN_OUT_OF_MEMORY : QUERN_OK);
        cuda_fail_call(0, 0);
    }
    gpu_group_expect(&s.group, QUERN_PEER_LOST, "rank 0 has entered a collective and could not launch its pass: collective_f32__");
    for (int rank = 0; rank < RANKS; rank++) check_status(call(&s, rank), QUERN_PEER_LOST);
}

/* ---- preparation ---- */

/* Every rank is refused by itself, and the group stays usable. */
static void refuse_all(struct gpu_bench *bench, quern_status status, const char *text, const char *more) {
    struct collective_case c;
    int members[COLLECTIVE_MAX_MEMBERS];
    open_case(&c, bench->group->ranks, COLLECTIVE_ALL_REDUCE, 10);
    for EACH_BENCH(one, bench->of) {
        const quern_collective_args args = collective_case_args(&c, one, one->rank->rank, members);
        check_refused(collective_call(one, c.operation, &args, 0), status, text);
        check_detail(more);
    }
    for EACH_BENCH(one, bench->of) check_ok(rank_bench_status(one, QUERN_OK));
}

Test(collective_faults_cuda, not_prepared) {
    struct collective_case c;
    OPEN_BENCH((struct gpu_group_options){.ranks = 2, .prepared = QUERN_BARRIER, .pool = POOL});
    refuse_all(&bench, QUERN_NOT_PREPARED, "collective is not prepared", "");
    for (int rank = 0; rank < 2; rank++) check_ok(quern_prepare(group.device[rank].quern, QUERN_COLLECTIVE));
    open_case(&c, 2, COLLECTIVE_ALL_REDUCE, 10);
    collective_case_run(&c, bench.of);
}

/* The room of a group that was created before collectives were prepared. */
Test(collective_faults_cuda, more_ranks_than_a_gpu_can_run_at_once) {
    enum { CROWD = 5 };
    OPEN_BENCH((struct gpu_group_options){.ranks = CROWD, .machine = {.devices = 1, .multiprocessors = 1},
                                          .prepared = QUERN_BARRIER, .pool = POOL});
    for (int rank = 0; rank < CROWD; rank++) check_ok(quern_prepare(group.device[rank].quern, QUERN_COLLECTIVE));
    if (test_is_small())  /* a real GPU has more multiprocessors */
        refuse_all(&bench, QUERN_NOT_SUPPORTED, "cuda:0 has room for ",
                   "and the ranks of this process's groups need 5: expected one for each rank");
}
