/* The random ragged all-to-alls of harness/ragged_case.h, on GPU ranks that one thread drives. */
#ifndef HARNESS_GPU_RAGGED_H
#define HARNESS_GPU_RAGGED_H

#include "harness/gpu_bench.h"
#include "harness/ragged_case.h"

/* The location of the metadata. */
enum gpu_metadata { METADATA_ON_HOST, METADATA_ON_DEVICE, METADATA_IN_PLAN };

/* A group, and a bench with a MiB for each pool and workspace; OPEN_BENCH declares both. */
void gpu_ragged_open(struct gpu_bench *bench, struct gpu_group *group, struct gpu_group_options options);
#define OPEN_BENCH(...) \
    struct gpu_group group; \
    struct gpu_bench bench CLOSED_BY(gpu_bench_close_all); \
    gpu_ragged_open(&bench, &group, __VA_ARGS__)

/*
 * Places the outputs of a case at the same offset of the symmetric pools, as GPUs require, and the inputs elsewhere or over them.
 */
void gpu_ragged_place(struct ragged_case *c, bool in_place);

/* Fills the pools of all members; the expected contents are the same. */
void gpu_ragged_fill(struct gpu_bench *bench, const struct ragged_case *c, uint64_t call);

/* Applies the exchange to the expected contents. */
void gpu_ragged_expect(struct gpu_bench *bench, const struct ragged_case *c);

/* The arguments of a member.  `storage`, of 4 * members * updates numbers, holds the host arrays that they refer to. */
quern_ragged_all_to_all_args gpu_ragged_arguments(struct gpu_bench *bench, const struct ragged_case *c, int place,
                                                  enum gpu_metadata where, int64_t *storage);

/* Calls the exchange on every member's stream. */
void gpu_ragged_enqueue(struct gpu_bench *bench, const struct ragged_case *c, enum gpu_metadata where);

/* Creates a plan for every rank: all of them are members. */
void gpu_ragged_plan(struct gpu_bench *bench, const struct ragged_case *c, quern_ragged_plan **plans);
void gpu_ragged_run_plan(struct gpu_bench *bench, quern_ragged_plan *const *plans);

/* Waits, and compares all pools of all members, byte for byte. */
void gpu_ragged_compare(struct gpu_bench *bench, const struct ragged_case *c, const char *when);

/* All steps, twice. */
void gpu_ragged_run(struct gpu_bench *bench, const struct ragged_case *c, enum gpu_metadata where);

#endif
