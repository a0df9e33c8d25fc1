/* Runs random ragged all-to-alls on GPU ranks and compares their memory.  gpu_ragged.h documents the functions. */
#include "harness/gpu_ragged.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/check.h"
#include "harness/random.h"
#include "oracle/ragged_all_to_all.h"

static const char *const names[] = {[METADATA_ON_HOST] = "metadata on the host", [METADATA_ON_DEVICE] = "metadata on the device",
                                    [METADATA_IN_PLAN] = "a plan"};

void gpu_ragged_open(struct gpu_bench *bench, struct gpu_group *group, struct gpu_group_options options) {
    gpu_group_open_with(group, options);
    gpu_bench_open(bench, group, 1 << 20, 1 << 20);
}

/* ---- cases ---- */

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

void gpu_ragged_place(struct ragged_case *c, bool in_place) {
    const int64_t place = POOL_GAP + random_below(c->seed, 1000, 64);
    c->pool_bytes = 0;
    for (int i = 0; i < c->count; i++) {
        struct ragged_buffer *input = &c->members[i].input, *output = &c->members[i].output;
        const int64_t input_bytes = input->rows * c->row_bytes, output_bytes = output->rows * c->row_bytes;
        *output = (struct ragged_buffer){POOL_SYMMETRIC, place, output->rows};
        *input = (struct ragged_buffer){POOL_PRIVATE, POOL_GAP + random_below(c->seed, 1001 + (uint64_t)i, 64), input->rows};
        if (in_place) {
            input->pool = POOL_SYMMETRIC;
            input->offset = place + (random_bits(c->seed, 2000) % 2 ? 0
                                     : random_below(c->seed, 2001 + (uint64_t)i, output_bytes + 1));
        }
        c->pool_bytes = larger(c->pool_bytes, larger(input->offset + input_bytes, output->offset + output_bytes) + POOL_GAP);
    }
}

void gpu_ragged_expect(struct gpu_bench *bench, const struct ragged_case *c) {
    struct ragged_member members[RAGGED_MAX_MEMBERS];
    for (int i = 0; i < c->count; i++) {
        const struct ragged_case_member *member = &c->members[i];
        const size_t bytes = (size_t)(member->input.rows * c->row_bytes);
        unsigned char *input = rank_bench_clear((int64_t)bytes);
        memcpy(input, bench->expected[member->rank][member->input.pool] + member->input.offset, bytes);
        members[i] = (struct ragged_member){input, bench->expected[member->rank][member->output.pool] + member->output.offset,
                                            member->input_offsets, member->send_sizes, member->output_offsets};
    }
    ragged_all_to_all(members, c->count, c->updates, c->row_bytes);
    for (int i = 0; i < c->count; i++) free((void *)members[i].input);
}

void gpu_ragged_fill(struct gpu_bench *bench, const struct ragged_case *c, uint64_t call) {
    check(c->pool_bytes <= (int64_t)bench->pool_bytes, "a case of %lld bytes", (long long)c->pool_bytes);
    for (int i = 0; i < c->count; i++) {
        const int rank = c->members[i].rank;
        for (int pool = 0; pool < POOLS; pool++) {
            rank_bench_fill(random_bits((c->seed * 64 + call) * 512 + (uint64_t)(rank * POOLS + pool), 0), 0,
                            bench->expected[rank][pool], c->pool_bytes);
            gpu_bench_write(bench, rank, pool, (size_t)c->pool_bytes);
        }
    }
    gpu_group_synchronize(bench->group);
}

/* ---- calls ---- */

static void *at(const struct gpu_bench *bench, int rank, const struct ragged_buffer *buffer) {
    return bench->pool[rank][buffer->pool] + buffer->offset;
}

/* The four arrays consecutively, as numbers of the case's type. */
static const void *gather_metadata(const struct ragged_case *c, const struct ragged_case_member *member, int64_t *storage) {
    const int64_t *arrays[] = {member->input_offsets, member->send_sizes, member->output_offsets, member->recv_sizes};
    const int64_t entries = c->count * c->updates;
    for (int64_t i = 0; i < 4 * entries; i++) {
        const int64_t number = arrays[i / entries][i % entries];
        if (c->is_int64) storage[i] = number;
        else ((int32_t *)storage)[i] = (int32_t)number;
    }
    return storage;
}

quern_ragged_all_to_all_args gpu_ragged_arguments(struct gpu_bench *bench, const struct ragged_case *c, int place,
                                                  enum gpu_metadata where, int64_t *storage) {
    static int members[RAGGED_MAX_MEMBERS];
    const struct ragged_case_member *mine = &c->members[place];
    const struct test_device *device = &bench->group->device[mine->rank];
    const size_t bytes = (size_t)(c->count * c->updates) * (c->is_int64 ? 8 : 4);
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    const char *metadata = gather_metadata(c, mine, storage);
    device_use(device);
    if (where == METADATA_ON_DEVICE) {
        CUDA(cuMemcpyHtoDAsync_v2(bench->metadata[mine->rank], metadata, 4 * bytes, device->stream));
        metadata = (const char *)(uintptr_t)bench->metadata[mine->rank];
    }
    for (int i = 0; i < c->count; i++) members[i] = c->members[i].rank;
    args.metadata_dtype = c->is_int64 ? QUERN_INT64 : QUERN_INT32;
    args.metadata_on_device = where == METADATA_ON_DEVICE;
    args.input_offsets = metadata, args.send_sizes = metadata + bytes;
    args.output_offsets = metadata + 2 * bytes, args.recv_sizes = metadata + 3 * bytes;
    args.input = at(bench, mine->rank, &mine->input), args.input_rows = mine->input.rows;
    args.output = at(bench, mine->rank, &mine->output), args.output_rows = mine->output.rows;
    args.row_bytes = c->row_bytes, args.updates = c->updates;
    args.check_overlap = c->check_overlap;
    args.members = c->count == bench->group->ranks ? NULL : members;
    args.member_count = c->count;
    args.multiprocessors = bench->multiprocessors;
    return args;
}

static int64_t *make_storage(const struct ragged_case *c) {
    return rank_bench_clear(4 * c->count * c->updates * (int64_t)sizeof(int64_t));
}

void gpu_ragged_enqueue(struct gpu_bench *bench, const struct ragged_case *c, enum gpu_metadata where) {
    int64_t *storage = make_storage(c);
    for (int place = 0; place < c->count; place++) {
        const int rank = c->members[place].rank;
        size_t needed;
        const quern_ragged_all_to_all_args args = gpu_ragged_arguments(bench, c, place, where, storage);
        check_ok(quern_ragged_all_to_all_workspace(bench->group->group[rank], &args, &needed));
        check(needed <= bench->workspace_bytes, "a workspace of %zu bytes", needed);
        check_ok(quern_ragged_all_to_all(bench->group->group[rank], &args, bench->workspace[rank], needed,
                                         bench->group->device[rank].stream));
    }
    free(storage);  /* read before the call returned */
}

void gpu_ragged_plan(struct gpu_bench *bench, const struct ragged_case *c, quern_ragged_plan **plans) {
    quern_ragged_all_to_all_args args[RAGGED_MAX_MEMBERS];
    size_t bytes[RAGGED_MAX_MEMBERS];
    int64_t *storage[RAGGED_MAX_MEMBERS];
    check(c->count == bench->group->ranks, "a plan is for everyone here");
    for (int place = 0; place < c->count; place++) {
        storage[place] = make_storage(c);
        args[place] = gpu_ragged_arguments(bench, c, place, METADATA_IN_PLAN, storage[place]);
        bytes[place] = bench->workspace_bytes;
    }
    check_ok(quern_ragged_plan_create(bench->group->group, c->count, args, bench->workspace, bytes, plans));
    for (int place = 0; place < c->count; place++) free(storage[place]);
}

void gpu_ragged_run_plan(struct gpu_bench *bench, quern_ragged_plan *const *plans) {
    for (int rank = 0; rank < bench->group->ranks; rank++)
        check_ok(quern_ragged_plan_run(plans[rank], bench->group->device[rank].stream));
}

/* ---- the results ---- */

void gpu_ragged_compare(struct gpu_bench *bench, const struct ragged_case *c, const char *when) {
    gpu_group_synchronize(bench->group);
    for (int place = 0; place < c->count; place++) {
        const struct ragged_case_member *mine = &c->members[place];
        char text[256];
        snprintf(text, sizeof text, "case %llu, %d members, %lld updates, rows of %lld bytes (output at %lld, %lld rows), %s",
                 (unsigned long long)c->seed, c->count, (long long)c->updates, (long long)c->row_bytes,
                 (long long)mine->output.offset, (long long)mine->output.rows, when);
        gpu_bench_compare(bench, mine->rank, (size_t)c->pool_bytes, text);
    }
}

void gpu_ragged_run(struct gpu_bench *bench, const struct ragged_case *c, enum gpu_metadata where) {
    quern_ragged_plan *plans[MOST_GPU_RANKS];
    if (where == METADATA_IN_PLAN) gpu_ragged_plan(bench, c, plans);
    for (uint64_t call = 0; call < 2; call++) {
        gpu_ragged_fill(bench, c, call);
        gpu_ragged_expect(bench, c);
        if (where == METADATA_IN_PLAN) gpu_ragged_run_plan(bench, plans);
        else gpu_ragged_enqueue(bench, c, where);
        gpu_group_synchronize(bench->group);
        for (int place = 0; place < c->count; place++) check_ok(quern_group_status(bench->group->group[c->members[place].rank]));
        gpu_ragged_compare(bench, c, names[where]);
    }
    for (int rank = 0; where == METADATA_IN_PLAN && rank < bench->group->ranks; rank++)
        check_ok(quern_ragged_plan_destroy(plans[rank]));
}
