/*
 * A group of GPU ranks that one thread drives, with a stream for each.
 *
 * On the emulator a test chooses its machine before the driver is opened: any number of GPUs of the generation under test.  On a
 * real machine the ranks share the available GPUs.
 */
#ifndef HARNESS_GPU_GROUP_H
#define HARNESS_GPU_GROUP_H

#include "harness/device.h"

enum { MOST_GPU_RANKS = QUERN_MAX_RANKS };

struct gpu_machine {
    int devices;            /* emulated ones; 0: a GPU for each rank, up to 8 */
    int multiprocessors;    /* of each; 0: 2 */
    int connections;        /* hardware queues of each; 0: 32 */
    bool multicast;         /* NVSwitch, if the generation knows what to do with it */
    bool virtual_clock;     /* waits that expire take no time; no other thread or process may be awaited */
};

struct gpu_group {
    int ranks, devices;
    bool multicast;
    struct test_device device[MOST_GPU_RANKS];
    quern_group *group[MOST_GPU_RANKS];
    void *second[MOST_GPU_RANKS];  /* streams; NULL: none */
};

struct gpu_group_options {
    int ranks;
    struct gpu_machine machine;
    double timeout;         /* seconds; 0: 20 */
    uint32_t first_epoch;
    unsigned prepared;      /* operations; 0: barrier and all-to-all */
    bool multicast;         /* asks for it, also for memory */
    bool second;            /* a second stream for each rank */
    size_t pool, workspace; /* bytes of a bench (gpu_bench.h); 0: 1 MiB */
};

/* Called once per test: opens the devices and creates the group. */
void gpu_group_open_with(struct gpu_group *group, struct gpu_group_options options);
#define gpu_group_open(group, ...) gpu_group_open_with(group, (struct gpu_group_options){__VA_ARGS__})
void gpu_group_close(struct gpu_group *group);
#define OPEN_GROUP(group, ...) struct gpu_group group CLOSED_BY(gpu_group_close); gpu_group_open(&group, __VA_ARGS__)

/* Another group of the same ranks, devices and streams. */
void gpu_group_create(struct gpu_group *group, double timeout, uint32_t first_epoch);
void gpu_group_destroy(struct gpu_group *group);

/* One rank leaves. */
void gpu_group_leave(struct gpu_group *group, int rank);

/* Waits for all streams, the second ones too. */
void gpu_group_synchronize(const struct gpu_group *group);

/* The same; then each rank that has not left has this status, with such a detail if it is an error. */
void gpu_group_expect(const struct gpu_group *group, quern_status status, const char *text);

/* Enqueues a barrier on every member's stream; members is a bit mask of up to 64 ranks: all = ~0. */
void gpu_group_barrier(const struct gpu_group *group, uint64_t members);

/* The calls enqueued between the first two functions can be replayed on every rank's stream. */
struct gpu_replay {
    void *executable[MOST_GPU_RANKS];
};

void gpu_group_begin_capture(const struct gpu_group *group);
void gpu_group_end_capture(const struct gpu_group *group, struct gpu_replay *replay);
void gpu_group_replay(const struct gpu_group *group, const struct gpu_replay *replay, int times);  /* and waits */
void gpu_group_close_replay(const struct gpu_group *group, const struct gpu_replay *replay);

#endif
