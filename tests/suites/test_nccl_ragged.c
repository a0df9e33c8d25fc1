/*
 * Ragged all-to-alls of GPU ranks of several hosts, over the stand-in for NCCL: random cases against the oracle, how many messages
 * go, and plans of some ranks.  test_ragged_mistakes.c has what is refused, test_nccl_failures.c what fails.
 *
 * Runs on: one emulated.
 */
#include "harness/device.h"
#include "harness/ragged_case.h"

/* ---- random cases ---- */

static void check_batch(struct ragged_batch batch) {
    static const int shapes[][2] = {{2, 2}, {2, 3}, {3, 3}, {2, 4}, {4, 4}, {2, 8}};
    batch.choice = (struct ragged_choice){.everyone = true, .not_in_place = true};
    for (size_t i = 0; i < COUNT(shapes); i++)
        check_ranks(.kind = RANK_PROCESSES, .hosts = shapes[i][0], .count = shapes[i][1], .function = ragged_run_batch,
                    .user = &batch, .nccl = "");
}

#define TEST_RANDOM(suite, name, cases_, ...) \
    Test(suite, name) { check_batch((struct ragged_batch){.cases = (int)(cases_), __VA_ARGS__}); }
TEST_RANDOM(nccl_ragged, random_calls, test_size(8, 4), .first = 61000)
TEST_RANDOM(nccl_ragged, random_calls_with_metadata_on_the_device, test_size(6, 3), .first = 62000, .metadata_on_device = true)
TEST_RANDOM(nccl_ragged, random_plans, test_size(6, 3), .first = 63000, .is_plan = true)

Test(nccl_ragged, delays_of_nccl_change_nothing) {
    const struct ragged_batch batch = {.first = 64000, .cases = 2, .is_plan = true,
                                       .choice = {.everyone = true, .not_in_place = true}};
    check_ranks(.kind = RANK_PROCESSES, .hosts = 2, .count = 4, .function = ragged_run_batch, .user = &batch,
                .nccl = "group:delay=3,run:delay=5@1,linger=50");
}

/* ---- the number of messages ---- */

/* Each rank sends `updates` rows to each; they lie `stride` rows apart in the output. */
struct stripes {
    int ranks, updates, stride;
    long messages;           /* to and from each other rank */
};

static const struct stripes all_stripes[] = {{3, 32, 1, 1}, {3, 32, 2, 32}, {2, 3000, 2, 3000}};

/*
 * Updates that follow each other are one message.  The last are more than one group of NCCL holds: both ends divide them alike, or
 * the stand-in ends the program.
 */
TEST_BENCH_FOR(nccl_ragged, messages, for (size_t i = 0; i < COUNT(all_stripes); i++), .kind = RANK_PROCESSES,
              .count = all_stripes[i].ranks, .hosts = 2, .user = &all_stripes[i], .nccl = "") {
    const struct stripes *stripes = rank->user;
    const int entries = rank->ranks * stripes->updates;
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    quern_ragged_plan *plan;
    size_t none = 0;
    uint32_t *input = (uint32_t *)(void *)bench->pool[0], *output = (uint32_t *)(void *)bench->pool[1];
    int32_t *from = calloc(3 * (size_t)entries, sizeof *from), *ones = from + entries, *to = ones + entries;
    for (int entry = 0; entry < entries; entry++) {
        from[entry] = entry, ones[entry] = 1;
        to[entry] = (rank->rank * stripes->updates + entry % stripes->updates) * stripes->stride;
        input[entry] = (uint32_t)(rank->rank << 24 | entry);
    }
    args.input = input, args.output = output, args.row_bytes = sizeof *input, args.updates = stripes->updates;
    args.input_rows = entries, args.output_rows = entries * stripes->stride;
    args.input_offsets = from, args.output_offsets = to, args.send_sizes = args.recv_sizes = ones;
    rank_ok(rank, quern_ragged_plan_create(&bench->group, 1, &args, &bench->workspace, &none, &plan));
    const long before = nccl_ask("quern_standin_operations");
    rank_ok(rank, quern_ragged_plan_run(plan, bench->stream));
    rank_bench_wait(bench);
    const long operations = nccl_ask("quern_standin_operations") - before;
    rank_check(rank, operations == 2 * stripes->messages * (rank->ranks - 1), "%ld operations", operations);
    for (int entry = 0; entry < entries; entry++) {
        const int sender = entry / stripes->updates, update = entry % stripes->updates;
        const uint32_t expected = (uint32_t)(sender << 24 | (rank->rank * stripes->updates + update));
        rank_check(rank, output[entry * stripes->stride] == expected, "update %d of rank %d is %x instead of %x", update, sender,
                   output[entry * stripes->stride], expected);
    }
    rank_ok(rank, quern_ragged_plan_destroy(plan));
    free(from);
}

/* ---- some ranks in a plan, which all create ---- */

TEST_BENCH(nccl_ragged, some_ranks_in_a_plan, .kind = RANK_PROCESSES, .count = 3, .hosts = 2, .nccl = "") {
    static const int members[] = {0, 2};
    enum { ROW = 8 };
    const bool is_member = rank->rank != 1;
    struct rank_exchange exchange;
    quern_ragged_plan *plan;
    size_t none = 0;
    memset(bench->pool[0], rank->rank + 1, ROW * NCCL_GPUS);
    rank_exchange_args(rank, &exchange, bench->pool[0], bench->pool[1], 1, ROW);
    exchange.args.members = is_member ? members : &rank->rank;
    exchange.args.member_count = is_member ? 2 : 1;
    for (int place = 0; place < 2; place++) exchange.to[place] = rank->rank / 2;
    rank_refused(rank, ragged_call(bench, &exchange.args, 0), QUERN_NOT_SUPPORTED, "takes some of its ranks in a plan only");
    rank_ok(rank, quern_ragged_plan_create(&bench->group, 1, &exchange.args, &bench->workspace, &none, &plan));
    rank_ok(rank, quern_ragged_plan_run(plan, bench->stream));
    rank_bench_wait(bench);
    for (int i = 0; i < (is_member ? 2 * ROW : ROW); i++) {
        const int expected = is_member ? i / ROW * 2 + 1 : 2;
        rank_check(rank, bench->pool[1][i] == expected, "byte %d is %d instead of %d", i, bench->pool[1][i], expected);
    }
    rank_ok(rank, quern_ragged_plan_destroy(plan));
    rank_ok(rank, quern_barrier(bench->group, NULL, bench->stream));
}
