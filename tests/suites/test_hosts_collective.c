/*
 * Collectives of CPU ranks of several hosts: random cases against the oracle for all shapes, the same bits as on one host, what
 * is refused, how many bytes go between hosts, and ranks that end.
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
    const size_t guard = guarded ? GUARD / 2 : 0;
    for (size_t i = 0; i < b->output_bytes + 2 * guard; i++) {
        const unsigned char has = b->output[i - guard], expected = b->expected[i - guard];
        rank_check(rank, has == expected, "seed %llu: %s of %d members, dtype %d, %lld elements, combination %d%s: byte %lld of place %d "
                   "is %02x, expected %02x", (unsigned long long)c->seed, c->form->name, c->count, (int)c->dtype,
                   (long long)c->elements, (int)c->combination, c->in_place ? ", in place" : "", (long long)i - (long long)guard, place,
                   has, expected);
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
    const int place = place_of(c, bench->rank->rank);
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

static quern_status run_batch(struct rank *rank) {
    const uint64_t first = *(const uint64_t *)rank->user;
    struct bench bench;
    struct collective_case c;
    open_bench(&bench, rank, RANK_LIMIT);
    for (int64_t i = 0; i < test_size(60, 20); i++) {
        draw_case(&c, first + (uint64_t)i, rank->ranks);
        run_case(&bench, &c);
    }
    return quern_group_destroy(bench.group);
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
