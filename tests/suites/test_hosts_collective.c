/*
 * Collectives of CPU ranks of several hosts: random cases against the oracle for all shapes, how many bytes go between hosts, and
 * what is within a host only.  Hosts are addresses of this machine, and network namespaces.  test_hosts_collective_ends.c has what
 * is refused, and ranks that end.
 *
 * Runs on: ranks.
 */
#include "harness/collective_case.h"
#include "harness/counted_carrier.h"
#include "harness/device.h"
#include "harness/hosts_case.h"
#include "harness/network.h"
#include "ranks/collective/collective.h"

enum { POOL = 5 << 20 };

/* ---- random cases ---- */

static const struct hosts_shape shapes[] = {{2, 2}, {2, 3}, {2, 4}, {3, 3}, {3, 7}, {4, 4}, {2, 8}};

static struct collective_batch batch_from(uint64_t first) {
    return (struct collective_batch){.first = first, .cases = (int)test_size(40, 8), .choice.largest = 40000, .pool_bytes = POOL};
}

Test(hosts_collective, random_cases) {
    const struct collective_batch batch = batch_from(71000);
    check_shapes(shapes, COUNT(shapes), collective_run_batch, &batch);
}

/* With windows of few pieces each call has many steps. */
Test(hosts_collective, random_cases_of_many_steps) {
    const struct collective_batch batch = batch_from(72000);
    quern_most_workspace = 16 << 10;
    check_shapes(shapes, COUNT(shapes), collective_run_batch, &batch);
}

/* Neighbours are of different hosts. */
static quern_status run_interleaved(struct rank *rank) {
    struct rank_bench bench;
    struct rank as_new = *rank;
    quern_group *group = rank_group(rank, RANK_LIMIT), *part;
    int index = 0;
    for (int other = 0; other < rank->rank; other++) index += rank_host(rank, other) == rank_host(rank, rank->rank);
    rank_ok(rank, quern_group_split(&group, 1, &(int){0}, &index, &part));
    as_new.rank = quern_group_rank(part);
    rank_bench_take(&bench, &as_new, part, POOL);
    collective_run_cases(&bench, rank->user);
    rank_bench_close(&bench);
    return quern_group_destroy(group);
}

Test(hosts_collective, random_cases_of_interleaved_ranks) {
    const struct collective_batch batch = batch_from(73000);
    check_shapes(shapes, COUNT(shapes), run_interleaved, &batch);
}

/* ---- hosts that are network namespaces ---- */

struct far {
    struct network network;
    struct collective_batch batch;
};

static void run_far(struct rank *rank) {
    const struct far *far = rank->user;
    struct rank_bench bench CLOSED_BY(rank_bench_close);
    network_move_in(rank, &far->network);
    rank_bench_open(&bench, rank, RANK_LIMIT, POOL);
    collective_run_cases(&bench, &far->batch);
    rank_check_report(rank, bench.group, "host 1 at 10.79.0.2: ranks");
    rank_ok(rank, quern_barrier(bench.group, NULL, NULL));
}

Test(hosts_collective, random_cases_over_a_network) {
    static const struct hosts_shape far_shapes[] = {{2, 2}, {2, 5}, {3, 6}};
    struct far far = {.batch = batch_from(74000)};
    const char *wrong = NULL;
    if (!network_put_up(&far.network)) cr_skip_test("no network namespaces here: they need root and the ip command");
    for (size_t i = 0; i < COUNT(far_shapes) && !wrong; i++)
        wrong = ranks_run(&(struct ranks){.kind = RANK_PROCESSES, .count = far_shapes[i].ranks, .hosts = far_shapes[i].hosts,
                                          .user = &far, .body = run_far});
    network_take_down(&far.network);
    check(!wrong, "%s", wrong);
}

/* ---- the bytes between hosts ---- */

struct traffic {
    int form;
    quern_dtype dtype;
    quern_combination combination;
    int hosts, ranks, root;
    double sent[4];                  /* by the members of each host, in pieces of `count` elements */
};

static void count_bytes(struct rank *rank) {
    enum { ELEMENTS = 64 << 10 };
    const struct traffic *traffic = rank->user;
    const int64_t width = traffic->dtype == QUERN_F32 ? 4 : 2, piece = ELEMENTS * width;
    uint64_t *sent = rank->shared;   /* [hosts] */
    struct counted_carrier counter = {.carrier = NULL};
    struct rank_bench bench CLOSED_BY(rank_bench_close);
    SCOPED char *input = zeroed((size_t)rank->ranks * (size_t)piece), *output = zeroed((size_t)rank->ranks * (size_t)piece);
    rank_bench_take(&bench, rank, counted_carrier_group(&counter, rank, RANK_LIMIT), POOL);
    quern_collective_args args = COLLECTIVE_ARGS(.dtype = traffic->dtype, .count = ELEMENTS, .input = input, .output = output);
    args.combination = traffic->combination, args.root = traffic->root;
    counter.bytes = 0;
    rank_ok(rank, collective_functions[traffic->form](bench.group, &args, bench.workspace, POOL, NULL));
    __atomic_add_fetch(&sent[rank_host(rank, rank->rank)], counter.bytes, __ATOMIC_ACQ_REL);
    rank_line_up(rank);
    for (int host = 0; host < traffic->hosts; host++) {
        const double pieces = (double)sent[host] / (double)piece, expected = traffic->sent[host];
        rank_check(rank, pieces >= expected && pieces < expected * 1.02 + 0.03, "host %d has sent %g pieces instead of %g", host,
                   pieces, expected);
    }
}

Test(hosts_collective, bytes_between_hosts) {
    static const struct carrier_choice borrows = {.borrows = true};
    enum { GATHER, SCATTER, REDUCE, CAST };
    static const quern_combination SUM = QUERN_COMBINE_SUM, MAX = QUERN_COMBINE_MAX;
    static const struct traffic traffics[] = {
        {GATHER, QUERN_F32, 0, 2, 4, 0, {2, 2}},          {GATHER, QUERN_BF16, 0, 3, 3, 0, {2, 2, 2}},
        {GATHER, QUERN_F32, 0, 2, 3, 0, {2, 1}},          {CAST, QUERN_F32, 0, 2, 4, 1, {1, 0}},
        {CAST, QUERN_F32, 0, 3, 6, 5, {1, 0, 1}},         {REDUCE, QUERN_F32, SUM, 2, 2, 0, {1, 1}},
        {REDUCE, QUERN_F32, SUM, 2, 4, 0, {1, 1}},        {REDUCE, QUERN_BF16, SUM, 2, 4, 0, {1.5, 1.5}},
        {REDUCE, QUERN_BF16, MAX, 2, 4, 0, {1, 1}},       {REDUCE, QUERN_F32, SUM, 3, 12, 0, {2, 1, 1}},
        {REDUCE, QUERN_F32, SUM, 4, 4, 0, {1.5, 1.5, 1.5, 1.5}}, {SCATTER, QUERN_F32, SUM, 2, 2, 0, {1, 1}},
        {SCATTER, QUERN_F32, SUM, 2, 8, 0, {8, 4}},       {SCATTER, QUERN_F16, SUM, 2, 8, 0, {16, 16}},
        {SCATTER, QUERN_F32, SUM, 3, 12, 0, {16, 12, 8}},
    };
    for (size_t i = 0; i < COUNT(traffics); i++)
        check_ranks(.kind = RANK_PROCESSES, .count = traffics[i].ranks, .hosts = traffics[i].hosts, .body = count_bytes,
                    .user = &traffics[i], .carrier = &borrows, .shared_bytes = 4 * sizeof(uint64_t));
}

/* ---- what works within a host only ---- */

TEST_GROUP(hosts_collective, quantised_chunks_are_not_supported, .kind = RANK_PROCESSES, .count = 2, .hosts = 2) {
    quern_quantize_chunks_args args = QUERN_QUANTIZE_CHUNKS_ARGS_INIT;
    quern_device_view view = QUERN_DEVICE_VIEW_INIT;
    const uint32_t word = 1;
    size_t bytes;
    rank_status(rank, quern_quantize_chunks_workspace(group, &args, &bytes), QUERN_NOT_SUPPORTED);
    rank_status(rank, quern_quantize_chunks(group, &args, NULL, 0, NULL), QUERN_NOT_SUPPORTED);
    rank_check_detail(rank, "a group over sockets has no quantised chunks");
    rank_status(rank, quern_chunk_wait(group, &word, 1, 1, 0, NULL), QUERN_NOT_SUPPORTED);
    rank_check_detail(rank, "a group over sockets has no quantised chunks");
    rank_status(rank, quern_symmetric_view(group, &word, &view), QUERN_NOT_SUPPORTED);
    rank_check_detail(rank, "a group over sockets has no view for kernels");
}
