/* Runs collectives on GPU ranks and compares their memory.  gpu_collective.h documents the functions. */
#include "harness/gpu_collective.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/check.h"
#include "harness/random.h"

static bool is_member(const struct gpu_collective_case *c, int rank) { return !c->members || c->members >> rank & 1; }

static int place_of(const struct gpu_collective_case *c, int rank) {
    int place = 0;
    for (int lower = 0; lower < rank; lower++) place += is_member(c, lower);
    return place;
}

static int places_of(const struct gpu_bench *bench, const struct gpu_collective_case *c) {
    return place_of(c, bench->group->ranks);
}

static int64_t element_bytes(quern_dtype dtype) { return (int64_t)quern_dtype_bytes(dtype); }

/* ---- values ---- */

/* Of a type that is only moved, of any bits. */
static void make_values(unsigned char *to, int64_t bytes, const struct collective_case *values) {
    const int64_t each = element_bytes(values->dtype);
    for (int64_t i = 0; i < bytes / each; i++) {
        const uint64_t bits = collective_case_bits(values, 0, i);
        memcpy(to + i * each, &bits, (size_t)each);
    }
}

void gpu_collective_fill(struct gpu_bench *bench, const struct gpu_collective_case *c, uint64_t call) {
    for (int rank = 0; rank < bench->group->ranks; rank++)
        for (int pool = 0; pool < POOLS; pool++) {
            const struct collective_case values = {.operation = c->operation, .dtype = c->dtype,
                                                   .seed = (c->seed * 64 + call) * 2048 + (uint64_t)(rank * POOLS + pool)};
            make_values(bench->expected[rank][pool], (int64_t)bench->pool_bytes, &values);
            gpu_bench_write(bench, rank, pool, bench->pool_bytes);
        }
    gpu_group_synchronize(bench->group);
}

/* ---- places ---- */

/* At any element, the same for all members in symmetric memory. */
static int64_t offset_of(const struct gpu_collective_case *c, int pool, int rank, uint64_t which) {
    const uint64_t of = pool == POOL_SYMMETRIC ? 500 : (uint64_t)rank;
    return POOL_GAP + random_below(c->seed, 1000 + 2 * of + which, 24) * element_bytes(c->dtype);
}

struct gpu_collective_buffers gpu_collective_place(const struct gpu_bench *bench, const struct gpu_collective_case *c,
                                                   int rank) {
    const int64_t piece = c->count * element_bytes(c->dtype), all = piece * places_of(bench, c);
    struct gpu_collective_buffers b = {
        .input_pool = !c->is_private && collective_reduces(c->operation) ? POOL_SYMMETRIC : POOL_PRIVATE,
        .output_pool = !c->is_private && c->operation != COLLECTIVE_REDUCE_SCATTER ? POOL_SYMMETRIC : POOL_PRIVATE,
        .input_bytes = c->operation == COLLECTIVE_REDUCE_SCATTER ? all : piece,
        .output_bytes = c->operation == COLLECTIVE_ALL_GATHER ? all : piece,
    };
    if (c->in_place && c->operation == COLLECTIVE_REDUCE_SCATTER) b.output_pool = b.input_pool;
    else if (c->in_place) b.input_pool = b.output_pool;
    b.input = offset_of(c, b.input_pool, rank, 0);
    b.output = offset_of(c, b.output_pool, rank, 1) + (b.input_pool == b.output_pool ? b.input + b.input_bytes : 0);
    const int64_t own = place_of(c, rank) * piece;
    if (c->in_place) b.output = b.input + (c->operation == COLLECTIVE_REDUCE_SCATTER ? own : 0);
    if (c->in_place && c->operation == COLLECTIVE_ALL_GATHER) b.input += own;
    check(b.output + b.output_bytes + POOL_GAP <= (int64_t)bench->pool_bytes, "a case of %lld bytes", (long long)b.output_bytes);
    return b;
}

/* ---- the oracle ---- */

/* Copies of the inputs of all members, since outputs may be in their place. */
static void copy_inputs(const struct gpu_bench *bench, const struct gpu_collective_case *c, unsigned char **input) {
    for (int rank = 0; rank < bench->group->ranks; rank++) {
        if (!is_member(c, rank)) continue;
        const struct gpu_collective_buffers b = gpu_collective_place(bench, c, rank);
        unsigned char *copy = malloc((size_t)b.input_bytes + 1);
        check(copy, "no memory");
        memcpy(copy, bench->expected[rank][b.input_pool] + b.input, (size_t)b.input_bytes);
        input[place_of(c, rank)] = copy;
    }
}

void gpu_collective_expect(struct gpu_bench *bench, const struct gpu_collective_case *c) {
    unsigned char *input[MOST_GPU_RANKS];
    const int places = places_of(bench, c);
    const struct collective_form form = {c->operation, c->dtype, c->combination, places, place_of(c, c->root), c->count};
    copy_inputs(bench, c, input);
    for (int rank = 0; rank < bench->group->ranks; rank++) {
        if (!is_member(c, rank)) continue;
        const struct gpu_collective_buffers b = gpu_collective_place(bench, c, rank);
        collective_deliver(&form, place_of(c, rank), (const void *const *)input, bench->expected[rank][b.output_pool] + b.output);
    }
    for (int place = 0; place < places; place++) free(input[place]);
}

/* ---- calls ---- */

quern_collective_args gpu_collective_arguments(const struct gpu_bench *bench, const struct gpu_collective_case *c, int rank,
                                               int *members) {
    const struct gpu_collective_buffers b = gpu_collective_place(bench, c, rank);
    quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
    args.dtype = c->dtype;
    args.input = bench->pool[rank][b.input_pool] + b.input;
    args.output = bench->pool[rank][b.output_pool] + b.output;
    args.count = c->count;
    if (c->combination) args.combination = c->combination;
    args.root = c->root;
    args.multiprocessors = c->multiprocessors;
    for (int member = 0; c->members && member < bench->group->ranks; member++)
        if (is_member(c, member)) members[args.member_count++] = member;
    if (c->members) args.members = members;
    if (c->operation == COLLECTIVE_BROADCAST && rank != c->root) args.input = NULL;
    return args;
}

quern_status gpu_collective_call(const struct gpu_bench *bench, enum collective_operation operation, int rank,
                                 const quern_collective_args *args) {
    return collective_functions[operation](bench->group->group[rank], args, NULL, 0, bench->group->device[rank].stream);
}

void gpu_collective_enqueue(const struct gpu_bench *bench, const struct gpu_collective_case *c) {
    int members[MOST_GPU_RANKS];
    for (int rank = 0; rank < bench->group->ranks; rank++) {
        size_t bytes = 7;
        if (!is_member(c, rank)) continue;
        const quern_collective_args args = gpu_collective_arguments(bench, c, rank, members);
        check_ok(quern_collective_workspace(bench->group->group[rank], &args, &bytes));
        check(bytes == 0, "a workspace of %zu bytes", bytes);
        check_ok(gpu_collective_call(bench, c->operation, rank, &args));
    }
}

/* ---- the results ---- */

void gpu_collective_compare(const struct gpu_bench *bench, const struct gpu_collective_case *c, const char *when) {
    gpu_group_synchronize(bench->group);
    for (int rank = 0; rank < bench->group->ranks; rank++) {
        const struct gpu_collective_buffers b = gpu_collective_place(bench, c, rank);
        char text[256];
        snprintf(text, sizeof text, "%s, case %llu, dtype %d, combination %d, %lld elements, members %llx%s (input at %lld, output "
                 "at %lld), %s", collective_names[c->operation], (unsigned long long)c->seed, (int)c->dtype, (int)c->combination,
                 (long long)c->count, (unsigned long long)c->members, c->in_place ? ", in place" : "", (long long)b.input,
                 (long long)b.output, when);
        gpu_bench_compare(bench, rank, bench->pool_bytes, text);
    }
}

void gpu_collective_run(struct gpu_bench *bench, const struct gpu_collective_case *c) {
    gpu_collective_fill(bench, c, 0);
    gpu_collective_expect(bench, c);
    gpu_collective_enqueue(bench, c);
    gpu_group_synchronize(bench->group);
    for (int rank = 0; rank < bench->group->ranks; rank++) check_ok(quern_group_status(bench->group->group[rank]));
    gpu_collective_compare(bench, c, "one call");
}
