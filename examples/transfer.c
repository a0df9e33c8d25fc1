/*
 * A pipeline of two stages, each a process.  The first one computes a microbatch while the one before it goes to the second, which
 * sends back what it made of it: two buffers for each direction, and a prepared transfer for each buffer.
 *
 *   cc transfer.c $(pkg-config --cflags --libs quern) -o transfer
 */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <quern.h>

enum { MICROBATCHES = 8, BUFFERS = 2, VALUES = 50000 };

static void check(quern_status status) {
    char detail[256];
    if (status == QUERN_OK) return;
    quern_error_detail(detail, sizeof detail);
    fprintf(stderr, "%s: %s\n", quern_status_string(status), detail);
    exit(EXIT_FAILURE);
}

/* One microbatch on its way: to the second stage, or back. */
struct lane {
    float *values;
    quern_transfer *transfer;
};

static struct lane open_lane(quern_group *group, int receive, unsigned key) {
    struct lane lane = {.values = malloc(VALUES * sizeof(float))};
    if (!lane.values) exit(EXIT_FAILURE);
    quern_transfer_item item = {.receive = receive, .peer = !quern_group_rank(group), .memory = lane.values,
                                .bytes = VALUES * sizeof(float)};
    quern_transfer_args list = QUERN_TRANSFER_ARGS_INIT;
    list.items = &item, list.item_count = 1, list.key = key;  /* the same on both ends */
    check(quern_transfer_prepare(group, &list, &lane.transfer));
    return lane;
}

static void close_lane(struct lane *lane) {
    check(quern_transfer_destroy(lane->transfer));
    free(lane->values);
}

/* The first stage: counts up.  A buffer is free again when its answer has come. */
static double run_first(struct lane *to, struct lane *back) {
    double sum = 0;
    for (int batch = 0; batch < MICROBATCHES + BUFFERS; batch++) {
        struct lane *out = &to[batch % BUFFERS], *in = &back[batch % BUFFERS];
        if (batch >= BUFFERS) {
            check(quern_transfer_wait(out->transfer, 0));
            check(quern_transfer_wait(in->transfer, 0));
            for (int i = 0; i < VALUES; i++) sum += in->values[i];
        }
        if (batch >= MICROBATCHES) continue;
        for (int i = 0; i < VALUES; i++) out->values[i] = (float)(batch + 1);
        check(quern_transfer_start(in->transfer, NULL));
        check(quern_transfer_start(out->transfer, NULL));
    }
    return sum / VALUES;
}

/* The second stage: doubles. */
static void run_second(struct lane *from, struct lane *back) {
    for (int batch = 0; batch < BUFFERS; batch++) check(quern_transfer_start(from[batch].transfer, NULL));
    for (int batch = 0; batch < MICROBATCHES; batch++) {
        struct lane *in = &from[batch % BUFFERS], *out = &back[batch % BUFFERS];
        if (batch >= BUFFERS) check(quern_transfer_wait(out->transfer, 0));
        check(quern_transfer_wait(in->transfer, 0));
        for (int i = 0; i < VALUES; i++) out->values[i] = 2 * in->values[i];
        check(quern_transfer_start(out->transfer, NULL));
        if (batch + BUFFERS < MICROBATCHES) check(quern_transfer_start(in->transfer, NULL));
    }
    for (int batch = 0; batch < BUFFERS; batch++) check(quern_transfer_wait(back[batch].transfer, 0));
}

static int run_rank(const char *name, int rank) {
    struct lane to[BUFFERS], back[BUFFERS];
    quern_device *device;
    quern_group *group;
    double sum = 0;
    check(quern_device_open(QUERN_CPU, 0, &device));

    quern_group_args membership = QUERN_GROUP_ARGS_INIT;
    membership.rank = rank, membership.ranks = 2, membership.name = name, membership.device = device;
    membership.timeout = 10;  /* no stage waits longer for the other; then the detail names it */
    check(quern_group_create(&membership, 1, &group));
    for (unsigned i = 0; i < BUFFERS; i++) to[i] = open_lane(group, rank == 1, i), back[i] = open_lane(group, rank == 0, BUFFERS + i);
    if (rank == 0) sum = run_first(to, back);
    else run_second(to, back);
    for (int i = 0; i < BUFFERS; i++) close_lane(&to[i]), close_lane(&back[i]);
    check(quern_group_destroy(group));
    quern_device_close(device);
    if (rank == 0) printf("%d microbatches went through two stages: the sum is %g\n", MICROBATCHES, sum);
    return rank == 0 && sum != 2.0 * MICROBATCHES * (MICROBATCHES + 1) / 2;
}

int main(void) {
    char name[64];
    int status;
    snprintf(name, sizeof name, "example.%d", (int)getpid());
    const pid_t second = fork();
    if (second == 0) return run_rank(name, 1);
    const int wrong = run_rank(name, 0);
    if (waitpid(second, &status, 0) != second || status) return EXIT_FAILURE;
    return wrong;
}
