/*
 * Four ranks, each a process, meet at a barrier, then split into two groups of two.  After the barrier every rank sees what the
 * others wrote before it.
 *
 *   cc barrier.c $(pkg-config --cflags --libs quern) -o barrier
 */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <quern.h>

enum { RANKS = 4 };

/* Shared by all processes. */
static struct shared {
    int written[RANKS], sum[RANKS], half_rank[RANKS];
} *shared;

static void check(quern_status status) {
    char detail[256];
    if (status == QUERN_OK) return;
    quern_error_detail(detail, sizeof detail);
    fprintf(stderr, "%s: %s\n", quern_status_string(status), detail);
    exit(EXIT_FAILURE);
}

static void run_rank(const char *name, int rank) {
    quern_device *device;
    check(quern_device_open(QUERN_CPU, 0, &device));
    check(quern_prepare(device, QUERN_BARRIER));

    quern_group_args membership = QUERN_GROUP_ARGS_INIT;
    quern_group *group, *half;
    membership.rank = rank;
    membership.ranks = RANKS;
    membership.name = name;
    membership.device = device;
    membership.timeout = 10;                             /* no rank waits longer for another; then the detail names it */
    check(quern_group_create(&membership, 1, &group));

    shared->written[rank] = rank + 1;
    check(quern_barrier(group, NULL, NULL));
    for (int peer = 0; peer < RANKS; peer++) shared->sum[rank] += shared->written[peer];

    int colour = rank / 2, key = rank;
    check(quern_group_split(&group, 1, &colour, &key, &half));
    check(quern_barrier(half, NULL, NULL));
    shared->half_rank[rank] = quern_group_rank(half);

    check(quern_group_destroy(half));
    check(quern_group_destroy(group));
    quern_device_close(device);
}

int main(void) {
    char name[64];
    int failed = 0, status;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return EXIT_FAILURE;
    snprintf(name, sizeof name, "quern_barrier.%ld", (long)getpid());
    for (int rank = 0; rank < RANKS; rank++) {
        pid_t child = fork();
        if (child < 0) return EXIT_FAILURE;
        if (child > 0) continue;
        run_rank(name, rank);
        _exit(EXIT_SUCCESS);
    }
    while (wait(&status) > 0) failed += status != 0;
    if (failed) return EXIT_FAILURE;
    for (int rank = 0; rank < RANKS; rank++)
        printf("rank %d saw the sum %d and is rank %d of its half\n", rank, shared->sum[rank], shared->half_rank[rank]);
}
