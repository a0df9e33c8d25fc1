/*
 * quern_ragged_sizes: the metadata of an exchange from the sizes that each rank sends.  It is compared with sums over the sizes of
 * all ranks, which every rank can compute, and then used in an exchange.
 *
 * Runs on: ranks.
 */
#include "harness/check.h"
#include "harness/random.h"
#include "harness/ranks.h"
#include "ranks/handles.h"

enum { MOST_RANKS = 9, MOST_UPDATES = 150, ENTRIES = MOST_RANKS * MOST_UPDATES, MOST_ROWS = 4096, LARGE = 6 /* a case */ };

/* What `sender` sends to `receiver` in an update of a case. */
static int64_t size_of(int trial, int sender, int receiver, int64_t update) {
    const uint64_t at = (uint64_t)(((trial * 64 + sender) * 64 + receiver) * 1000 + update);
    const int64_t size = random_below(71, at, 2) ? random_below(72, at, 3) : 0;
    return trial == LARGE ? size * (((int64_t)1 << 32) + 1) : size;
}

/* All metadata of a rank, as INT32 or INT64. */
struct metadata {
    _Alignas(8) char sent[8 * ENTRIES], from[8 * ENTRIES], to[8 * ENTRIES], received[8 * ENTRIES];
    int64_t input_rows, output_rows;
};

/* Not on the stacks of threads, which are small. */
static struct metadata metadata_of[MOST_RANKS];
static int64_t inputs_of[MOST_RANKS][MOST_ROWS], outputs_of[MOST_RANKS][MOST_ROWS];

static int64_t entry(const quern_ragged_sizes_args *args, const void *array, int64_t i) {
    return args->metadata_dtype == QUERN_INT64 ? ((const int64_t *)array)[i] : ((const int32_t *)array)[i];
}

static void set_entry(const quern_ragged_sizes_args *args, void *array, int64_t i, int64_t value) {
    if (args->metadata_dtype == QUERN_INT64) ((int64_t *)array)[i] = value;
    else ((int32_t *)array)[i] = (int32_t)value;
}

static quern_ragged_sizes_args sizes_args(struct metadata *data, quern_dtype dtype, int64_t updates) {
    quern_ragged_sizes_args args = QUERN_RAGGED_SIZES_ARGS_INIT;
    memset(data, 0x5a, sizeof *data);
    memset(data->sent, 0, sizeof data->sent);
    args.metadata_dtype = dtype, args.updates = updates;
    args.send_sizes = data->sent, args.input_offsets = data->from, args.output_offsets = data->to, args.recv_sizes = data->received;
    args.input_rows = &data->input_rows, args.output_rows = &data->output_rows;
    return args;
}

static void check_entry(struct rank *rank, const quern_ragged_sizes_args *args, const char *name, const void *array, int64_t i,
                        int64_t expected) {
    rank_check(rank, entry(args, array, i) == expected, "%s[%lld] is %lld: expected %lld", name, (long long)i,
               (long long)entry(args, array, i), (long long)expected);
}

/* Sums in the order of the header, one entry at a time. */
static void check_metadata(struct rank *rank, const quern_ragged_sizes_args *args, int trial) {
    const struct metadata *data = args->send_sizes;  /* its first member */
    int64_t input = 0, output = 0;
    for (int peer = 0; peer < rank->ranks; peer++) {
        int64_t before = 0;
        for (int sender = 0; sender < rank->rank; sender++)
            for (int64_t update = 0; update < args->updates; update++) before += size_of(trial, sender, peer, update);
        for (int64_t update = 0; update < args->updates; update++) {
            const int64_t i = peer * args->updates + update;
            check_entry(rank, args, "input_offsets", data->from, i, input);
            check_entry(rank, args, "output_offsets", data->to, i, before);
            check_entry(rank, args, "recv_sizes", data->received, i, size_of(trial, peer, rank->rank, update));
            input += size_of(trial, rank->rank, peer, update);
            before += size_of(trial, rank->rank, peer, update);
            output += size_of(trial, peer, rank->rank, update);
        }
    }
    rank_check(rank, data->input_rows == input && data->output_rows == output, "%lld rows go out and %lld come in",
               (long long)data->input_rows, (long long)data->output_rows);
}

/* Every row names its sender and its place there. */
static void check_exchange(struct rank *rank, quern_group *group, const quern_ragged_sizes_args *sizes, int trial) {
    int64_t *input = inputs_of[rank->rank], *output = outputs_of[rank->rank];
    const struct metadata *data = sizes->send_sizes;
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    int64_t at = 0;
    for (int64_t i = 0; i < data->input_rows; i++) input[i] = rank->rank * 100000 + i;
    args.metadata_dtype = sizes->metadata_dtype, args.updates = sizes->updates, args.row_bytes = sizeof *input;
    args.input = input, args.input_rows = data->input_rows, args.output = output, args.output_rows = data->output_rows;
    args.input_offsets = data->from, args.send_sizes = data->sent, args.output_offsets = data->to, args.recv_sizes = data->received;
    args.check_overlap = 1;
    rank_exchange_once(rank, group, &args);
    for (int sender = 0; sender < rank->ranks; sender++) {
        int64_t row = 0;
        for (int peer = 0; peer < rank->rank; peer++)
            for (int64_t update = 0; update < sizes->updates; update++) row += size_of(trial, sender, peer, update);
        for (int64_t update = 0; update < sizes->updates; update++)
            for (int64_t i = 0; i < size_of(trial, sender, rank->rank, update); i++, row++, at++)
                rank_check(rank, output[at] == sender * 100000 + row, "row %lld is %lld", (long long)at, (long long)output[at]);
    }
}

static const struct {
    quern_dtype dtype;
    int64_t updates;
} shapes[] = {{QUERN_INT32, 1}, {QUERN_INT64, 1}, {QUERN_INT32, 3}, {QUERN_INT64, 20}, {QUERN_INT32, 0}, {QUERN_INT64, 150},
            {QUERN_INT64, 7}};

static void count_rows(struct rank *rank, quern_group *group) {
    struct metadata *data = &metadata_of[rank->rank];
    rank_ok(rank, quern_prepare(rank->device, QUERN_RAGGED_ALL_TO_ALL));
    for (int trial = 0; trial < (int)COUNT(shapes); trial++) {
        quern_ragged_sizes_args args = sizes_args(data, shapes[trial].dtype, shapes[trial].updates);
        for (int64_t i = 0; i < rank->ranks * args.updates; i++)
            set_entry(&args, data->sent, i, size_of(trial, rank->rank, (int)(i / args.updates), i % args.updates));
        rank_ok(rank, quern_ragged_sizes(&group, 1, &args));
        check_metadata(rank, &args, trial);
        if (trial != LARGE) check_exchange(rank, group, &args, trial);
    }
}

Test(ragged_sizes, offsets_and_sizes_are_sums_over_the_sizes_of_all) {
    for (int ranks = 1; ranks <= MOST_RANKS; ranks += 1 + ranks / 3)
        check_ranks(.kind = RANK_BOTH, .count = ranks, .in_group = count_rows);
    check_ranks(.kind = RANK_PROCESSES, .count = 5, .hosts = 2, .in_group = count_rows);
}

/* ---- mistakes: all ranks hear of them, nothing is written, and the group stays usable ---- */

static quern_group *open_group(struct rank *rank) {
    quern_group *group = rank_group(rank, RANK_LIMIT);
    rank_ok(rank, quern_prepare(rank->device, QUERN_RAGGED_ALL_TO_ALL));
    return group;
}

/* The call fails so on every rank.  A right one then succeeds. */
static void check_failure(struct rank *rank, quern_group *group, const quern_ragged_sizes_args *args, struct metadata *data,
                          quern_status status, const char *detail) {
    struct metadata before = *data;
    rank_refused(rank, quern_ragged_sizes(&group, 1, args), status, detail);
    rank_check(rank, !memcmp(&before, data, sizeof before), "metadata was written");
    quern_ragged_sizes_args right = sizes_args(data, QUERN_INT32, 1);
    rank_ok(rank, quern_ragged_sizes(&group, 1, &right));
    rank_check(rank, data->output_rows == 0 && data->input_rows == 0, "%lld rows", (long long)data->output_rows);
}

static quern_status make_mistakes(struct rank *rank) {
    struct metadata *data = &metadata_of[rank->rank];
    quern_group *group = open_group(rank);
    const bool errs = rank->rank == 1;
    quern_ragged_sizes_args args = sizes_args(data, QUERN_INT32, 2);
    if (errs) set_entry(&args, data->sent, 5, -1);
    check_failure(rank, group, &args, data, QUERN_INVALID_SHAPE,
                  "rank 1: sender 1, receiver 2, update 1: args.send_sizes is -1: expected 0 to 2^47");

    args = sizes_args(data, QUERN_INT64, 1);
    if (errs) set_entry(&args, data->sent, 2, ((int64_t)1 << 47) + 1);
    check_failure(rank, group, &args, data, QUERN_INVALID_SHAPE,
                  "rank 1: sender 1, receiver 2, update 0: args.send_sizes is 140737488355329: expected 0 to 2^47");

    args = sizes_args(data, errs ? QUERN_INT32 : QUERN_INT64, 1);
    if (errs) set_entry(&args, data->sent, 0, INT32_MAX), set_entry(&args, data->sent, 2, 1);
    check_failure(rank, group, &args, data, QUERN_INVALID_SHAPE,
                  "rank 1: the sum of args.send_sizes is 2147483648: expected at most 2147483647 rows with int32 metadata");

    args = sizes_args(data, rank->rank == 2 ? QUERN_INT32 : QUERN_INT64, 1);
    set_entry(&args, data->sent, 2, rank->rank == 0 ? INT32_MAX : rank->rank == 1);
    check_failure(rank, group, &args, data, QUERN_INVALID_SHAPE,
                  "rank 2: rank 2 receives 2147483648 rows or more: expected at most 2147483647 with int32 metadata");

    args = sizes_args(data, QUERN_INT32, errs ? 2 : 1);
    check_failure(rank, group, &args, data, QUERN_PEER_MISMATCH, "args.updates is 1 on rank 0 and 2 on rank 1: expected the same");

    args = sizes_args(data, QUERN_INT32, 1);
    if (errs) args.recv_sizes = data->sent;
    check_failure(rank, group, &args, data, QUERN_INVALID_ARGUMENT, "rank 1: args.recv_sizes overlaps args.send_sizes");
    return quern_group_destroy(group);
}

Test(ragged_sizes, a_mistake_of_one_rank_reaches_all) {
    check_ranks(.kind = RANK_BOTH, .count = 3, .function = make_mistakes);
    check_ranks(.kind = RANK_PROCESSES, .count = 3, .hosts = 2, .function = make_mistakes);
}

TEST_RANKS(ragged_sizes, results_may_be_omitted_and_arguments_may_not, .kind = RANK_THREADS, .count = 2) {
    struct metadata *data = &metadata_of[rank->rank];
    quern_group *group = open_group(rank);
    quern_ragged_sizes_args args = sizes_args(data, QUERN_INT32, 1);
    for (int i = 0; i < rank->ranks; i++) set_entry(&args, data->sent, i, 1);
    args.input_offsets = args.output_offsets = args.recv_sizes = NULL;
    args.input_rows = NULL;
    rank_ok(rank, quern_ragged_sizes(&group, 1, &args));
    rank_check(rank, data->output_rows == rank->ranks, "%lld rows", (long long)data->output_rows);
    rank_refused(rank, quern_ragged_sizes(&group, 1, NULL), QUERN_NULL_POINTER, "rank 0: args is NULL");
    return quern_group_destroy(group);
}

/* The metadata comes before the first exchange, for which other ranks may still load kernels. */
TEST_RANKS(ragged_sizes, the_first_limit_holds_until_the_first_exchange, .kind = RANK_THREADS, .count = 2) {
    struct metadata *data = &metadata_of[rank->rank];
    quern_group_args join = rank_group_args(rank, RANK_LIMIT);
    join.first_timeout = 2 * RANK_LIMIT;
    quern_group *group = rank_create(rank, &join);
    quern_ragged_sizes_args args = sizes_args(data, QUERN_INT32, 1);
    rank_ok(rank, quern_ragged_sizes(&group, 1, &args));
    struct quern_membership *member = rank_member_of(rank, group);
    rank_check(rank, member->timeout == join.first_timeout, "the limit is %g s", member->timeout);
    return quern_group_destroy(group);
}

TEST_RANKS(ragged_sizes, a_rank_that_has_left_is_named, .kind = RANK_PROCESSES, .count = 3) {
    struct metadata *data = &metadata_of[rank->rank];
    quern_group *group = open_group(rank);
    quern_ragged_sizes_args args = sizes_args(data, QUERN_INT32, 1);
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    if (rank->rank == 0) return quern_group_destroy(group);
    rank_refused(rank, quern_ragged_sizes(&group, 1, &args), QUERN_PEER_LOST, "rank 0");
    return quern_group_destroy(group);
}
