#define _POSIX_C_SOURCE 200809L
#include "library.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "team.h"

void library_name(char name[LIBRARY_NAME_BYTES]) {
    static int names;
    snprintf(name, LIBRARY_NAME_BYTES, "bench.%ld.%d", (long)getpid(), names++);
}

void library_fail(const char *call) {
    char detail[800];
    quern_error_detail(detail, sizeof detail);
    team_fail("%s: %s", call, detail);
}

struct library_rank *library_join(const char *name, int rank, int ranks, int threads, unsigned operations) {
    struct library_rank *member = calloc(1, sizeof *member);
    if (!member) team_fail("out of memory");
    if (quern_device_open(QUERN_CPU, 0, &member->device) != QUERN_OK) library_fail("quern_device_open");
    if (quern_set_threads(member->device, threads, NULL, NULL) != QUERN_OK) library_fail("quern_set_threads");
    if (quern_prepare(member->device, operations) != QUERN_OK) library_fail("quern_prepare");
    quern_group_args args = QUERN_GROUP_ARGS_INIT;
    args.rank = rank;
    args.ranks = ranks;
    args.name = name;
    args.device = member->device;
    args.timeout = LIBRARY_SECONDS;
    if (quern_group_create(&args, 1, &member->group) != QUERN_OK) library_fail("quern_group_create");
    return member;
}

void library_leave(struct library_rank *member) {
    if (quern_group_destroy(member->group) != QUERN_OK) library_fail("quern_group_destroy");
    quern_device_close(member->device);
    free(member);
}

int library_threads(int ranks, int cores) {
    return cores > ranks ? cores / ranks : 1;
}

quern_ragged_all_to_all_args library_exchange(const struct slices *slices, const struct slice_metadata *metadata, const void *input,
                                              void *output) {
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    args.input = input;
    args.output = output;
    args.input_rows = args.output_rows = slices->ranks * slices->rows;
    args.row_bytes = slices->row_bytes;
    args.updates = slices->updates;
    args.input_offsets = metadata->input_offsets;
    args.send_sizes = metadata->send_sizes;
    args.output_offsets = metadata->output_offsets;
    args.recv_sizes = metadata->recv_sizes;
    return args;
}
