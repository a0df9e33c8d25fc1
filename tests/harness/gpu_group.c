/* Creates groups of GPU ranks that one thread drives.  gpu_group.h documents the functions. */
#include "harness/gpu_group.h"

#include "harness/cuda.h"

/* The environment configures the emulator; a real driver reads only the number of its queues. */
static void choose_machine(struct gpu_machine machine, int ranks) {
    const char *given = getenv("QUERN_EMULATOR");
    char capability[16], list[MOST_GPU_RANKS * 8] = "", number[16];
    int devices = machine.devices ? machine.devices : ranks < 8 ? ranks : 8;
    snprintf(capability, sizeof capability, "%.*s", (int)strcspn(given ? given : "9.0", ","), given ? given : "9.0");
    for (int i = 0; i < devices; i++) {
        if (i) strcat(list, ",");
        strcat(list, capability);
    }
    snprintf(number, sizeof number, "%d", machine.multiprocessors ? machine.multiprocessors : 2);
    setenv("QUERN_EMULATOR", list, 1);
    setenv("QUERN_EMULATOR_SMS", number, 1);
    setenv("QUERN_EMULATOR_MULTICAST", machine.multicast ? "1" : "0", 1);
    snprintf(number, sizeof number, "%d", machine.connections ? machine.connections : 32);
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", number, 1);
    setenv("QUERN_EMULATOR_CLOCK", machine.virtual_clock ? "virtual" : "real", 1);
}

void gpu_group_create(struct gpu_group *group, double timeout, uint32_t first_epoch) {
    static int groups;
    quern_group_args args[MOST_GPU_RANKS];
    char name[64];
    snprintf(name, sizeof name, "test.%d.%d", (int)getpid(), groups++);
    for (int rank = 0; rank < group->ranks; rank++) {
        args[rank] = (quern_group_args)GROUP_ARGS(.rank = rank, .ranks = group->ranks, .name = name,
                                                  .device = group->device[rank].quern, .timeout = timeout ? timeout : 20,
                                                  .share_gpu = group->devices < group->ranks, .first_epoch = first_epoch,
                                                  .multicast = group->multicast);
    }
    check_ok(quern_group_create(args, group->ranks, group->group));
}

void gpu_group_destroy(struct gpu_group *group) {
    for (int rank = 0; rank < group->ranks; rank++) check_ok(quern_group_destroy(group->group[rank]));
}

void gpu_group_open_with(struct gpu_group *group, struct gpu_group_options options) {
    choose_machine(options.machine, options.ranks);
    *group = (struct gpu_group){.ranks = options.ranks, .multicast = options.multicast};
    check_ok(quern_device_count(QUERN_CUDA, &group->devices));
    for (int rank = 0; rank < group->ranks; rank++) {
        device_open(&group->device[rank], rank % group->devices, NULL);
        check_ok(quern_prepare(group->device[rank].quern, options.prepared ? options.prepared
                                                                           : QUERN_BARRIER | QUERN_RAGGED_ALL_TO_ALL));
        if (options.second) CUDA(cuStreamCreate(&group->second[rank], 1));
    }
    gpu_group_create(group, options.timeout, options.first_epoch);
}

void gpu_group_close(struct gpu_group *group) {
    gpu_group_synchronize(group);
    gpu_group_destroy(group);
    check(cuda_bindings() <= 0, "%ld bindings to multicast objects are left", cuda_bindings());
    for (int rank = 0; rank < group->ranks; rank++) {
        device_use(&group->device[rank]);
        if (group->second[rank]) CUDA(cuStreamDestroy_v2(group->second[rank]));
        device_close(&group->device[rank]);
    }
}

void gpu_group_synchronize(const struct gpu_group *group) {
    for (int rank = 0; rank < group->ranks; rank++) {
        device_use(&group->device[rank]);
        device_synchronize(&group->device[rank]);
        if (group->second[rank]) CUDA(cuStreamSynchronize(group->second[rank]));
    }
}

void gpu_group_leave(struct gpu_group *group, int rank) {
    check_ok(quern_group_destroy(group->group[rank]));
    group->group[rank] = NULL;
}

void gpu_group_expect(const struct gpu_group *group, quern_status status, const char *text) {
    gpu_group_synchronize(group);
    for (int rank = 0; rank < group->ranks; rank++) {
        if (group->group[rank]) check_status(quern_group_status(group->group[rank]), status);
        if (group->group[rank] && status != QUERN_OK) check_detail(text);
    }
}

void gpu_group_barrier(const struct gpu_group *group, uint64_t members) {
    int list[64];
    quern_barrier_args args = QUERN_BARRIER_ARGS_INIT;
    for (int rank = 0; rank < group->ranks && rank < 64; rank++)
        if (members >> rank & 1) list[args.member_count++] = rank;
    if (~members) args.members = list;
    for (int rank = 0; rank < group->ranks; rank++)
        if (rank >= 64 || members >> rank & 1) check_ok(quern_barrier(group->group[rank], &args, group->device[rank].stream));
}

void gpu_group_begin_capture(const struct gpu_group *group) {
    enum { RELAXED = 2 };
    for (int rank = 0; rank < group->ranks; rank++) CUDA(cuStreamBeginCapture_v2(group->device[rank].stream, RELAXED));
}

void gpu_group_end_capture(const struct gpu_group *group, struct gpu_replay *replay) {
    for (int rank = 0; rank < group->ranks; rank++) {
        void *graph;
        CUDA(cuStreamEndCapture(group->device[rank].stream, &graph));
        CUDA(cuGraphInstantiateWithFlags(&replay->executable[rank], graph, 0));
        CUDA(cuGraphDestroy(graph));
    }
}

void gpu_group_replay(const struct gpu_group *group, const struct gpu_replay *replay, int times) {
    for (int turn = 0; turn < times; turn++)
        for (int rank = 0; rank < group->ranks; rank++) CUDA(cuGraphLaunch(replay->executable[rank], group->device[rank].stream));
    gpu_group_synchronize(group);
}

void gpu_group_close_replay(const struct gpu_group *group, const struct gpu_replay *replay) {
    for (int rank = 0; rank < group->ranks; rank++) CUDA(cuGraphExecDestroy(replay->executable[rank]));
}
