/*
 * Collectives of CPU ranks of several hosts: random cases against the oracle for all shapes, the same bits as on one host, what
 * is refused, how many bytes go between hosts, and ranks that end.  Hosts are addresses of this machine, and network namespaces.
 *
 * Runs on: ranks.
 */
#define _GNU_SOURCE
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/check.h"
#include "harness/device.h"
#include "harness/hosts_case.h"
#include "harness/network.h"
#include "harness/random.h"
#include "harness/ranks.h"
#include "harness/ways.h"
#include "oracle/dtype.h"
#include "ranks/collective/collective_steps.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { MOST_MEMBERS = 16, GUARD = 64, MOST = 100000 };

typedef quern_status collective(quern_group *group, const quern_collective_args *args, void *workspace, size_t bytes, void *stream);

static const struct form {
    const char *name;
    collective *call;
    bool reduces, scatters, gathers, has_root;
} forms[] = {
    {"all-gather", quern_all_gather, false, false, true, false},
    {"reduce-scatter", quern_reduce_scatter, true, true, false, false},
    {"all-reduce", quern_all_reduce, true, false, false, false},
    {"broadcast", quern_broadcast, false, false, false, true},
};

/* ---- a case ---- */

struct collective_case {
    uint64_t seed;
    const struct form *form;
    quern_dtype dtype;
    quern_combination combination;
    int members[MOST_MEMBERS], count, root;
    int64_t elements, skipped;      /* skipped: elements before the buffers */
    bool in_place;
};

static const int64_t sizes[] = {0, 1, 3, 64, 127, 128, 500, 511, 512, 513, 1000, 2048, 4099, 20001, 60000};

static void draw_case(struct collective_case *c, uint64_t seed, int ranks) {
    static const quern_dtype dtypes[] = {QUERN_F32, QUERN_F16, QUERN_BF16};
    uint64_t draw = 0;
    memset(c, 0, sizeof *c);
    c->seed = seed;
    c->form = &forms[random_below(seed, draw++, COUNT(forms))];
    c->dtype = dtypes[random_below(seed, draw++, COUNT(dtypes))];
    if (!c->form->reduces && !random_below(seed, draw++, 4)) c->dtype = QUERN_INT64;
    c->combination = random_below(seed, draw++, 3) ? QUERN_COMBINE_SUM : QUERN_COMBINE_MAX;
    c->elements = sizes[random_below(seed, draw++, COUNT(sizes))];
    c->skipped = random_below(seed, draw++, 3);
    c->in_place = random_below(seed, draw++, 3) == 0;
    const bool all = random_below(seed, draw++, 2);
    for (int rank = 0; rank < ranks; rank++)
        if (all || random_below(seed, draw++, 3)) c->members[c->count++] = rank;
    if (!c->count) c->members[c->count++] = (int)random_below(seed, draw++, ranks);
    c->root = c->members[random_below(seed, draw++, c->count)];
}

static int place_of(const struct collective_case *c, int rank) {
    for (int place = 0; place < c->count; place++)
        if (c->members[place] == rank) return place;
    return -1;
}

static size_t width(const struct collective_case *c) {
    return c->dtype == QUERN_F32 ? 4 : c->dtype == QUERN_INT64 ? 8 : 2;
}

/* Element i of the input of a place: of all magnitudes, with zeros, infinities, subnormals and NaNs among them. */
static void write_element(const struct collective_case *c, int place, int64_t i, void *array, int64_t at) {
    const uint64_t draw = random_bits(c->seed + 1000003 * (uint64_t)place, (uint64_t)i);
    static const double specials[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e-42, -3e-44, 1e-7, 65504, -65000, 3.3e38};
    if (c->dtype == QUERN_INT64) {
        memcpy((char *)array + at * 8, &draw, 8);
        return;
    }
    double value = ldexp((double)(draw >> 40) / (1 << 23) - 1, (int)(draw & 15) - 8);
    if ((draw >> 4 & 63) == 0) value = specials[(draw >> 10) % COUNT(specials)];
    if ((draw >> 16 & 7) == 0) value = place % 2 ? -0.0 : 0.0;
    dtype_store(c->dtype, array, at, dtype_round(c->dtype, value));
    if (isnan(value) && c->dtype == QUERN_F32) memcpy((char *)array + at * 4, &(uint32_t){0xff812345}, 4);
}

/* The combination of element i of all inputs, by the header: fp32 values in the order of the places, rounded once. */
static void write_combination(const struct collective_case *c, int64_t i, void *array, int64_t at) {
    const bool is_max = c->combination == QUERN_COMBINE_MAX;
    float value = 0;
    for (int place = 0; place < c->count; place++) {
        double one[1];
        write_element(c, place, i, one, 0);
        const float x = (float)dtype_load(c->dtype, one, 0);
        if (place == 0) value = x;
        else if (!is_max) value = value + x;
        else if (isnan(x) || isnan(value)) value = NAN;
        else if (x > value || (x == value && signbit(value))) value = x;
    }
    dtype_store(c->dtype, array, at, value);
    if (!isnan(value)) return;
    if (c->dtype == QUERN_F32) memcpy((char *)array + at * 4, &(uint32_t){0x7fc00000}, 4);
    else memcpy((char *)array + at * 2, &(uint16_t){c->dtype == QUERN_F16 ? 0x7e00 : 0x7fc0}, 2);
}

struct buffers {
    unsigned char *input, *output, *expected;   /* expected: of the whole output with its guards */
    size_t input_bytes, output_bytes;           /* without guards */
    unsigned char *memory[3];
};

static unsigned char *fill(size_t bytes) {
    unsigned char *memory = malloc(bytes + 2 * GUARD + 64);
    if (memory) memset(memory, 0xa5, bytes + 2 * GUARD + 64);
    return memory;
}

static void open_buffers(struct buffers *b, const struct collective_case *c, int place) {
    const size_t one = width(c), piece = (size_t)c->elements * one, skipped = GUARD + (size_t)c->skipped * one;
    const bool has_input = !c->form->has_root || c->members[place] == c->root;
    b->input_bytes = has_input ? piece * (c->form->scatters ? (size_t)c->count : 1) : 0;
    b->output_bytes = piece * (c->form->gathers ? (size_t)c->count : 1);
    b->memory[0] = fill(b->input_bytes), b->memory[1] = fill(b->output_bytes), b->memory[2] = fill(b->output_bytes);
    b->input = b->memory[0] + skipped, b->output = b->memory[1] + skipped, b->expected = b->memory[2] + skipped;
    if (c->in_place && c->form->gathers) b->input = b->output + (size_t)place * piece;
    else if (c->in_place && c->form->scatters) b->output = b->input + (size_t)place * piece;
    else if (c->in_place && has_input) b->input = b->output;
    for (int64_t i = 0; i < (int64_t)(b->input_bytes / one); i++) write_element(c, place, i, b->input, i);
}

static void compute_expected(const struct collective_case *c, struct buffers *b, int place) {
    for (int64_t i = 0; i < c->elements; i++) {
        if (c->form->gathers)
            for (int from = 0; from < c->count; from++) write_element(c, from, i, b->expected, from * c->elements + i);
        else if (c->form->has_root) write_element(c, place_of(c, c->root), i, b->expected, i);
        else write_combination(c, (c->form->scatters ? place * c->elements : 0) + i, b->expected, i);
    }
}

static void check_buffers(struct rank *rank, const struct collective_case *c, const struct buffers *b, int place) {
    const bool guarded = !(c->in_place && c->form->scatters);
    const int64_t guard = guarded ? GUARD / 2 : 0;
    for (int64_t i = -guard; i < (int64_t)b->output_bytes + guard; i++) {
        const unsigned char has = b->output[i], expected = b->expected[i];
        rank_check(rank, has == expected, "seed %llu: %s of %d members, dtype %d, %lld elements, combination %d%s: byte %lld of place %d "
                   "is %02x, expected %02x", (unsigned long long)c->seed, c->form->name, c->count, (int)c->dtype,
                   (long long)c->elements, (int)c->combination, c->in_place ? ", in place" : "", (long long)i, place, has,
                   expected);
    }
    for (int64_t i = 0; !c->in_place && i < (int64_t)(b->input_bytes / width(c)); i++) {
        double one[1];
        write_element(c, place, i, one, 0);
        rank_check(rank, memcmp(b->input + (size_t)i * width(c), one, width(c)) == 0, "seed %llu: the input has changed",
                   (unsigned long long)c->seed);
    }
}

static void close_buffers(const struct buffers *b) {
    for (size_t i = 0; i < COUNT(b->memory); i++) free(b->memory[i]);
}

static quern_collective_args arguments_of(const struct collective_case *c, const struct buffers *b, int ranks) {
    quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
    args.dtype = c->dtype, args.count = c->elements, args.input = b->input, args.output = b->output;
    args.root = c->root, args.combination = c->combination;
    if (c->count < ranks) args.members = c->members, args.member_count = c->count;
    return args;
}

/* ---- the group of a rank with a workspace ---- */

struct bench {
    struct rank *rank;
    quern_group *group;
    void *workspace;
    size_t bytes;
};

static void take_group(struct bench *bench, struct rank *rank, quern_group *group) {
    quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
    args.dtype = QUERN_INT64, args.count = MOST;
    *bench = (struct bench){.rank = rank, .group = group};
    rank_ok(rank, quern_prepare(rank->device, QUERN_COLLECTIVE));
    rank_ok(rank, quern_collective_workspace(bench->group, &args, &bench->bytes));
    rank_ok(rank, quern_symmetric_alloc(&bench->group, 1, &bench->bytes, &bench->workspace));
}

static void open_bench(struct bench *bench, struct rank *rank, double timeout) { take_group(bench, rank, rank_group(rank, timeout)); }

static void run_case(struct bench *bench, const struct collective_case *c) {
    struct buffers b;
    size_t needed = 0;
    const int place = place_of(c, quern_group_rank(bench->group));
    if (place < 0) return;
    open_buffers(&b, c, place);
    compute_expected(c, &b, place);
    const quern_collective_args args = arguments_of(c, &b, bench->rank->ranks);
    rank_ok(bench->rank, quern_collective_workspace(bench->group, &args, &needed));
    rank_check(bench->rank, needed <= bench->bytes, "%zu bytes of workspace, %zu for the largest call", needed, bench->bytes);
    rank_ok(bench->rank, c->form->call(bench->group, &args, bench->workspace, needed, NULL));
    check_buffers(bench->rank, c, &b, place);
    close_buffers(&b);
}

/* ---- random cases ---- */

static void run_cases(struct bench *bench, uint64_t first) {
    struct collective_case c;
    for (int64_t i = 0; i < test_size(60, 20); i++) {
        draw_case(&c, first + (uint64_t)i, bench->rank->ranks);
        run_case(bench, &c);
    }
}

static quern_status run_batch(struct rank *rank) {
    struct bench bench;
    open_bench(&bench, rank, RANK_LIMIT);
    run_cases(&bench, *(const uint64_t *)rank->user);
    return quern_group_destroy(bench.group);
}

/* Neighbours are of different hosts. */
static quern_status run_interleaved(struct rank *rank) {
    struct bench bench;
    quern_group *group = rank_group(rank, RANK_LIMIT), *part;
    int index = 0;
    for (int other = 0; other < rank->rank; other++) index += rank_host(rank, other) == rank_host(rank, rank->rank);
    rank_ok(rank, quern_group_split(&group, 1, &(int){0}, &index, &part));
    take_group(&bench, rank, part);
    run_cases(&bench, *(const uint64_t *)rank->user);
    rank_ok(rank, quern_group_destroy(part));
    return quern_group_destroy(group);
}

static const struct hosts_shape shapes[] = {{2, 2}, {2, 3}, {2, 4}, {3, 3}, {3, 7}, {4, 4}, {2, 8}};

TEST_BOTH_WAYS(hosts_collective, random_cases, .timeout = 600) {
    check_shapes(shapes, COUNT(shapes), run_batch, &(uint64_t){71000});
}

/* With windows of few pieces each call has many steps. */
TEST_BOTH_WAYS(hosts_collective, random_cases_of_many_steps, .timeout = 600) {
    quern_most_workspace = 16 << 10;
    check_shapes(shapes, COUNT(shapes), run_batch, &(uint64_t){72000});
}

TEST_BOTH_WAYS(hosts_collective, random_cases_of_interleaved_ranks, .timeout = 600) {
    check_shapes(shapes, COUNT(shapes), run_interleaved, &(uint64_t){73000});
}

/* ---- disagreement: all members get one error, nothing is written, and the group stays usable ---- */

struct dissent {
    const char *detail, *own;       /* of all; of the rank that refuses its arguments, if that has another one */
    quern_status status, own_status;
    size_t field, bytes;            /* which rank 1 sets to the value */
    int64_t value;
    int form, culprit;
};

static quern_status dissent(struct rank *rank) {
    const struct dissent *dissent = rank->user;
    const bool own = dissent->own && rank->rank == dissent->culprit;
    enum { ELEMENTS = 8192 };
    float *input = malloc(sizeof *input * ELEMENTS), *output = malloc(sizeof *output * ELEMENTS);
    struct bench bench;
    struct collective_case c;
    quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
    rank_check(rank, input && output, "no memory");
    open_bench(&bench, rank, RANK_LIMIT);
    for (int round = 0; round < 3; round++) {
        args.dtype = QUERN_F32, args.count = 4, args.input = input, args.output = output;
        for (int i = 0; i < ELEMENTS; i++) input[i] = 1, output[i] = -1;
        if (rank->rank == dissent->culprit) memcpy((char *)&args + dissent->field, &dissent->value, dissent->bytes);
        rank_status(rank, forms[dissent->form].call(bench.group, &args, bench.workspace, bench.bytes, NULL),
                    own ? dissent->own_status : dissent->status);
        rank_check_detail(rank, own ? dissent->own : dissent->detail);
        for (int i = 0; i < ELEMENTS; i++) rank_check(rank, output[i] == -1 && input[i] == 1, "element %d was written", i);
        draw_case(&c, (uint64_t)round, rank->ranks);
        run_case(&bench, &c);
    }
    free(input);
    free(output);
    return quern_group_destroy(bench.group);
}

TEST_BOTH_WAYS(hosts_collective, dissent_is_an_error_of_all_members, .timeout = 600) {
#define SET(field, value) offsetof(quern_collective_args, field), sizeof((quern_collective_args *)NULL)->field, (int64_t)(value)
    static const struct dissent dissents[] = {
        {"args.count is 4 on rank 0 and 5 on rank 3: expected the same on all members", NULL, QUERN_PEER_MISMATCH, 0, SET(count, 5), 2, 3},
        {"args.count is 4 on rank 0 and 4096 on rank 2", NULL, QUERN_PEER_MISMATCH, 0, SET(count, 4096), 2, 2},
        {"args.count is 4096 on rank 0 and 4 on rank 1", NULL, QUERN_PEER_MISMATCH, 0, SET(count, 4096), 3, 0},
        {"args.dtype is f32 on rank 0 and bf16 on rank 1", NULL, QUERN_PEER_MISMATCH, 0, SET(dtype, QUERN_BF16), 0, 1},
        {"args.combination is QUERN_COMBINE_SUM on rank 0 and QUERN_COMBINE_MAX on rank 3", NULL, QUERN_PEER_MISMATCH, 0, SET(combination, QUERN_COMBINE_MAX), 1, 3},
        {"args.root is 0 on rank 0 and 2 on rank 1", NULL, QUERN_PEER_MISMATCH, 0, SET(root, 2), 3, 1},
        {"rank 3 refused its own arguments: args.count is -1", "args.count is -1", QUERN_PEER_MISMATCH, QUERN_INVALID_SHAPE,
         SET(count, -1), 2, 3},
        {"rank 0 refused its own arguments: args.output is NULL", "args.output is NULL", QUERN_PEER_MISMATCH, QUERN_NULL_POINTER,
         SET(output, 0), 0, 0},
        {"rank 2 refused its own arguments: args.root is 4", "args.root is 4", QUERN_PEER_MISMATCH, QUERN_INVALID_ARGUMENT,
         SET(root, 4), 3, 2},
    };
    for (size_t i = 0; i < COUNT(dissents); i++)
        check_ranks(.kind = rank_kinds[i % 2], .count = 4, .hosts = 2, .function = dissent, .user = &dissents[i]);
}

/* Ranks in other calls, or with other members, end the group, as they do on one host. */
struct other_call {
    int form, members[2];            /* of rank 3; members: {0, 0}: all */
    const char *detail;
};

static quern_status make_other_call(struct rank *rank) {
    const struct other_call *other = rank->user;
    const bool differs = rank->rank == 3;
    float input[64] = {0}, output[64];
    struct bench bench;
    quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
    open_bench(&bench, rank, RANK_LIMIT);
    args.dtype = QUERN_F32, args.count = 4, args.input = input, args.output = output;
    rank_line_up(rank);  /* the poison may overtake the last meeting of the allocation */
    if (differs && other->members[1]) args.members = other->members, args.member_count = 2;
    rank_status(rank, forms[differs ? other->form : 2].call(bench.group, &args, bench.workspace, bench.bytes, NULL), QUERN_PEER_MISMATCH);
    rank_check_detail(rank, other->detail);
    rank_status(rank, quern_barrier(bench.group, NULL, NULL), QUERN_PEER_MISMATCH);
    return quern_group_destroy(bench.group);
}

TEST_BOTH_WAYS(hosts_collective, other_calls_end_the_group, .timeout = 300) {
    static const struct other_call others[] = {{0, {0, 0}, "quern_all_gather (entry)"}, {3, {0, 0}, "quern_broadcast (entry)"}, {2, {0, 3}, "of other members"}};
    for (size_t i = 0; i < COUNT(others); i++)
        check_ranks(.kind = rank_kinds[i % 2], .count = 4, .hosts = 2, .function = make_other_call, .user = &others[i]);
}

/* ---- a carrier that counts and that ends its rank ---- */

struct counter {
    const quern_carrier *carrier;
    uint64_t bytes;                  /* that this rank has sent */
    unsigned messages, dies_at;      /* which this rank has begun; 0: it lives */
};

static void count_message(struct counter *counter, size_t bytes) {
    counter->bytes += bytes;
    if (++counter->messages == counter->dies_at) raise(SIGKILL);
}

static int send_counted(void *user, int rank, const void *data, size_t bytes, uint64_t tag, uint64_t *request) {
    struct counter *counter = user;
    count_message(counter, bytes);
    return counter->carrier->send(counter->carrier->user, rank, data, bytes, tag, request);
}

static int receive_counted(void *user, int rank, void *data, size_t bytes, uint64_t tag, uint64_t *request) {
    struct counter *counter = user;
    count_message(counter, 0);
    return counter->carrier->receive(counter->carrier->user, rank, data, bytes, tag, request);
}

static int test_counted(void *user, uint64_t request, size_t *bytes) {
    struct counter *counter = user;
    return counter->carrier->test(counter->carrier->user, request, bytes);
}

static void cancel_counted(void *user, uint64_t request) {
    struct counter *counter = user;
    counter->carrier->cancel(counter->carrier->user, request);
}

static void open_counted(struct bench *bench, struct rank *rank, struct counter *counter) {
    quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    quern_carrier carrier = *args.carrier;
    quern_group *group;
    counter->carrier = args.carrier;
    carrier.user = counter, carrier.send = send_counted, carrier.receive = receive_counted;
    carrier.test = test_counted, carrier.cancel = cancel_counted;
    args.carrier = &carrier;
    rank_ok(rank, quern_group_create(&args, 1, &group));
    take_group(bench, rank, group);
}

/* ---- the bytes between hosts ---- */

struct traffic {
    int form;
    quern_dtype dtype;
    quern_combination combination;
    int hosts, ranks, root;
    double sent[4];                  /* by the members of each host, in pieces of `count` elements */
};

static quern_status count_bytes(struct rank *rank) {
    enum { ELEMENTS = 64 << 10 };
    const struct traffic *traffic = rank->user;
    const int64_t width = traffic->dtype == QUERN_F32 ? 4 : 2, piece = ELEMENTS * width;
    uint64_t *sent = rank->shared;   /* [hosts] */
    struct counter counter = {.carrier = NULL};
    struct bench bench;
    quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
    char *input = calloc((size_t)rank->ranks, (size_t)piece), *output = malloc((size_t)rank->ranks * (size_t)piece);
    rank_check(rank, input && output, "no memory");
    open_counted(&bench, rank, &counter);
    args.dtype = traffic->dtype, args.count = ELEMENTS, args.input = input, args.output = output;
    args.combination = traffic->combination, args.root = traffic->root;
    counter.bytes = 0;
    rank_ok(rank, forms[traffic->form].call(bench.group, &args, bench.workspace, bench.bytes, NULL));
    __atomic_add_fetch(&sent[rank_host(rank, rank->rank)], counter.bytes, __ATOMIC_ACQ_REL);
    rank_line_up(rank);
    for (int host = 0; host < traffic->hosts; host++) {
        const double pieces = (double)sent[host] / (double)piece, expected = traffic->sent[host];
        rank_check(rank, pieces >= expected && pieces < expected * 1.02 + 0.03, "host %d has sent %g pieces instead of %g", host, pieces,
                   expected);
    }
    free(input);
    free(output);
    return quern_group_destroy(bench.group);
}

Test(hosts_collective, bytes_between_hosts, .timeout = 300) {
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
        check_ranks(.kind = RANK_PROCESSES, .count = traffics[i].ranks, .hosts = traffics[i].hosts, .function = count_bytes,
                    .user = &traffics[i], .carrier = &borrows, .shared_bytes = 4 * sizeof(uint64_t));
}

/* ---- ranks that end ---- */

/* Calls of all operations, small and large, until one fails, as it must. */
static quern_status run_until(struct bench *bench, int most) {
    enum { LARGE = 40000, SMALL = 20 };
    struct rank *rank = bench->rank;
    float *input = calloc((size_t)rank->ranks, sizeof *input * LARGE), *output = calloc((size_t)rank->ranks, sizeof *output * LARGE);
    quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
    quern_status status = QUERN_OK;
    rank_check(rank, input && output, "no memory");
    args.dtype = QUERN_F32, args.input = input, args.output = output;
    for (int round = 0; round < most && status == QUERN_OK; round++) {
        args.count = round / 4 % 2 ? SMALL : LARGE;
        status = forms[round % 4].call(bench->group, &args, bench->workspace, bench->bytes, NULL);
    }
    rank_check(rank, status != QUERN_OK, "no call has failed");
    rank_status(rank, quern_barrier(bench->group, NULL, NULL), status);
    const double ended = rank_now();
    rank_ok(rank, quern_group_destroy(bench->group));
    rank_check(rank, rank_now() - ended < RANK_SOON, "destroying took %g s", rank_now() - ended);
    free(input);
    free(output);
    return status;
}

struct death {
    unsigned at;
    int by;
    const char *detail;
};

static quern_status die_at(struct rank *rank) {
    const struct death *death = rank->user;
    struct counter counter = {.carrier = NULL};
    struct bench bench;
    open_counted(&bench, rank, &counter);
    rank_line_up(rank);
    counter.messages = 0;
    if (rank->rank == death->by) counter.dies_at = death->at;
    rank_status(rank, run_until(&bench, 1000), QUERN_PEER_LOST);
    rank_check_detail(rank, death->detail);
    return QUERN_OK;
}

/* At messages of the first calls: in the entry, in each step, in small calls.  Without rank 2 its host has no leader. */
Test(hosts_collective, a_rank_dies_at_any_message, .timeout = 600) {
    static const struct carrier_choice borrows = {.borrows = true}, copies = {.longest = 9000};
    for (unsigned at = 1; at < (unsigned)test_size(60, 30); at += 1 + at / 6) {
        const struct death death = {at, at % 2 ? 3 : 2, at % 2 ? "rank 3 (process " : " has ended"};
        struct rank_run *run = ranks_start(&(struct ranks){.kind = RANK_PROCESSES, .count = 4, .hosts = 2, .function = die_at,
                                                           .user = &death, .carrier = at % 3 ? &borrows : &copies});
        bool may_die[4] = {false};
        may_die[death.by] = true;
        const char *wrong = ranks_wait(run, may_die);
        check(!wrong, "at message %u: %s", at, wrong);
        ranks_close(run);
    }
}

static quern_status run_until_the_last_ends(struct rank *rank) {
    struct bench bench;
    char lost[40];
    open_bench(&bench, rank, RANK_LIMIT);
    __atomic_add_fetch((unsigned *)rank->shared, 1, __ATOMIC_ACQ_REL);
    rank_status(rank, run_until(&bench, INT32_MAX), QUERN_PEER_LOST);
    snprintf(lost, sizeof lost, "rank %d (process ", rank->ranks - 1);
    rank_check_detail(rank, lost);
    rank_check_detail(rank, rank->user);
    return QUERN_OK;
}

TEST_BOTH_WAYS(hosts_collective, a_process_that_is_killed, .timeout = 300) {
    for (int ranks = 2; ranks < 5; ranks++) end_the_last(ranks, run_until_the_last_ends, NULL, SIGKILL);
}

TEST_BOTH_WAYS(hosts_collective, a_host_that_is_stopped, .timeout = 300) {
    for (int ranks = 2; ranks < 4; ranks++) end_the_last(ranks, run_until_the_last_ends, NULL, SIGSTOP);
}

/* ---- leaving, aborting, staying away ---- */

enum { LEAVES, ABORTS, STAYS_AWAY };
struct parting {
    int how, by;
    quern_status status;
    const char *detail;
};

static quern_status part(struct rank *rank) {
    const struct parting *parting = rank->user;
    float input[4] = {0}, output[4];
    quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
    struct bench bench;
    args.dtype = QUERN_F32, args.count = 4, args.input = input, args.output = output;
    open_bench(&bench, rank, RANK_LIMIT);
    rank_ok(rank, quern_all_reduce(bench.group, &args, bench.workspace, bench.bytes, NULL));
    rank_line_up(rank);
    if (rank->rank == parting->by) {
        if (parting->how == ABORTS) rank_ok(rank, quern_group_abort(bench.group, "it is Friday"));
        if (parting->how == STAYS_AWAY) rank_line_up(rank);
        return quern_group_destroy(bench.group);
    }
    args.timeout = parting->how == STAYS_AWAY && rank->rank == parting->by - 1 ? 0.3 : RANK_LIMIT;
    rank_status(rank, quern_all_reduce(bench.group, &args, bench.workspace, bench.bytes, NULL), parting->status);
    rank_check_detail(rank, parting->detail);
    if (parting->how == STAYS_AWAY) rank_line_up(rank);
    return quern_group_destroy(bench.group);
}

TEST_BOTH_WAYS(hosts_collective, ranks_that_part, .timeout = 300) {
    static const struct parting partings[] = {
        {LEAVES, 3, QUERN_PEER_LOST, "rank 3 (process"},   {LEAVES, 0, QUERN_PEER_LOST, "rank 0 (process"},
        {ABORTS, 1, QUERN_GROUP_ABORTED, "it is Friday"},  {STAYS_AWAY, 3, QUERN_PEER_TIMEOUT, "rank 3 (process"},
        {STAYS_AWAY, 2, QUERN_PEER_TIMEOUT, "rank 2 (process"},
    };
    for (size_t i = 0; i < COUNT(partings); i++)
        for (size_t kind = 0; kind < COUNT(rank_kinds); kind++)
            check_ranks(.kind = rank_kinds[kind], .count = 4, .hosts = 2, .function = part, .user = &partings[i]);
}

/* ---- hosts that are network namespaces ---- */

struct far {
    struct network network;
    uint64_t first;
};

static struct far put_up_network(uint64_t first) {
    struct far far = {.first = first};
    if (!network_put_up(&far.network)) cr_skip_test("no network namespaces here: they need root and the ip command");
    return far;
}

static void run_far(const struct far *far, struct hosts_shape shape, rank_function *function, bool watches_silence) {
    const char *wrong = ranks_run(&(struct ranks){.kind = RANK_PROCESSES, .count = shape.ranks, .hosts = shape.hosts, .user = far,
                                                  .function = function, .watches_silence = watches_silence});
    if (wrong) network_take_down(&far->network);
    check(!wrong, "%d ranks of %d hosts: %s", shape.ranks, shape.hosts, wrong);
}

static quern_status run_batch_far(struct rank *rank) {
    const struct far *far = rank->user;
    struct bench bench;
    char report[4096];
    network_move_in(rank, &far->network);
    open_bench(&bench, rank, RANK_LIMIT);
    run_cases(&bench, far->first);
    quern_group_report(bench.group, report, sizeof report);
    rank_check(rank, strstr(report, "host 1 at 10.79.0.2: ranks"), "%s", report);
    rank_ok(rank, quern_barrier(bench.group, NULL, NULL));
    return quern_group_destroy(bench.group);
}

TEST_BOTH_WAYS(hosts_collective, random_cases_over_a_network, .timeout = 600) {
    static const struct hosts_shape far_shapes[] = {{2, 2}, {2, 5}, {3, 6}};
    const struct far far = put_up_network(74000);
    for (size_t i = 0; i < COUNT(far_shapes); i++) run_far(&far, far_shapes[i], run_batch_far, false);
    network_take_down(&far.network);
}

/* The last host loses its cable between two calls, or in one: nothing arrives any more, and no connection says so. */
static quern_status run_until_the_cable_is_pulled(struct rank *rank) {
    const struct far *far = rank->user;
    struct bench bench;
    network_move_in(rank, &far->network);
    open_bench(&bench, rank, RANK_LIMIT);
    run_cases(&bench, far->first);
    rank_line_up(rank);
    if (rank->rank == 0) rank_check(rank, network_set_cable(&far->network, rank->hosts - 1, false), "the cable cannot be pulled");
    const double began = rank_now();
    rank_status(rank, run_until(&bench, INT32_MAX), QUERN_PEER_LOST);
    rank_check(rank, rank_now() - began < RANK_SOON, "noticed after %g s", rank_now() - began);
    rank_check_detail(rank, "its host is silent");
    return QUERN_OK;
}

TEST_BOTH_WAYS(hosts_collective, a_pulled_cable, .timeout = 300) {
    static const struct hosts_shape far_shapes[] = {{2, 2}, {3, 5}};
    const struct far far = put_up_network(75000);
    for (size_t i = 0; i < COUNT(far_shapes); i++) {
        run_far(&far, far_shapes[i], run_until_the_cable_is_pulled, true);
        check(network_set_cable(&far.network, far_shapes[i].hosts - 1, true), "the cable cannot be put in");
    }
    network_take_down(&far.network);
}

/* ---- what works within a host only ---- */

static quern_status ask_for_chunks(struct rank *rank) {
    quern_quantize_chunks_args args = QUERN_QUANTIZE_CHUNKS_ARGS_INIT;
    quern_device_view view = QUERN_DEVICE_VIEW_INIT;
    const uint32_t word = 1;
    size_t bytes;
    quern_group *group = rank_group(rank, RANK_LIMIT);
    rank_status(rank, quern_quantize_chunks_workspace(group, &args, &bytes), QUERN_NOT_SUPPORTED);
    rank_status(rank, quern_quantize_chunks(group, &args, NULL, 0, NULL), QUERN_NOT_SUPPORTED);
    rank_check_detail(rank, "a group over sockets has no quantised chunks");
    rank_status(rank, quern_chunk_wait(group, &word, 1, 1, 0, NULL), QUERN_NOT_SUPPORTED);
    rank_check_detail(rank, "a group over sockets has no quantised chunks");
    rank_status(rank, quern_symmetric_view(group, &word, &view), QUERN_NOT_SUPPORTED);
    rank_check_detail(rank, "a group over sockets has no view for kernels");
    return quern_group_destroy(group);
}

Test(hosts_collective, quantised_chunks_are_not_supported) {
    check_ranks(.kind = RANK_PROCESSES, .count = 2, .hosts = 2, .function = ask_for_chunks);
}
