/*
 * Two ranks, each a thread, send each other rows by ragged all-to-all: the example of XLA's documentation.
 *
 *   cc ragged_all_to_all.c $(pkg-config --cflags --libs quern) -o ragged_all_to_all
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <quern.h>

static void check(quern_status status) {
    char detail[256];
    if (status == QUERN_OK) return;
    quern_error_detail(detail, sizeof detail);
    fprintf(stderr, "%s: %s\n", quern_status_string(status), detail);
    exit(EXIT_FAILURE);
}

/* For ranks 0 and 1: the first row to send of the rank's input, the number of rows, and the first row of the receiver's output. */
static const int32_t INPUT[2][3] = {{1, 2, 2}, {3, 4, 0}};
static const int32_t INPUT_OFFSETS[2][2] = {{0, 1}, {0, 1}}, SEND_SIZES[2][2] = {{1, 2}, {1, 1}};
static const int32_t OUTPUT_OFFSETS[2][2] = {{0, 0}, {1, 2}}, RECV_SIZES[2][2] = {{1, 1}, {2, 1}};

static int32_t output[2][4];

static void *run_rank(void *argument) {
    int rank = *(int *)argument;
    quern_device *device;
    check(quern_device_open(QUERN_CPU, 0, &device));
    check(quern_prepare(device, QUERN_BARRIER | QUERN_RAGGED_ALL_TO_ALL));

    quern_group_args membership = QUERN_GROUP_ARGS_INIT;
    quern_group *group;
    membership.rank = rank;
    membership.ranks = 2;
    membership.name = "quern_example";
    membership.device = device;
    membership.timeout = 10;                             /* no rank waits longer for the other */
    check(quern_group_create(&membership, 1, &group));

    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    args.input = INPUT[rank];
    args.input_rows = 3;
    args.output = output[rank];
    args.output_rows = 4;
    args.row_bytes = sizeof(int32_t);
    args.input_offsets = INPUT_OFFSETS[rank];
    args.send_sizes = SEND_SIZES[rank];
    args.output_offsets = OUTPUT_OFFSETS[rank];
    args.recv_sizes = RECV_SIZES[rank];

    size_t bytes;
    void *workspace;
    check(quern_ragged_all_to_all_workspace(group, &args, &bytes));
    check(quern_symmetric_alloc(&group, 1, &bytes, &workspace));
    check(quern_ragged_all_to_all(group, &args, workspace, bytes, NULL));
    check(quern_barrier(group, NULL, NULL));             /* both outputs are complete */

    if (rank == 0)
        for (int r = 0; r < 2; r++)
            printf("rank %d got %d %d %d %d\n", r, output[r][0], output[r][1], output[r][2], output[r][3]);
    check(quern_group_destroy(group));
    quern_device_close(device);
    return NULL;
}

int main(void) {
    int ranks[2] = {0, 1};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, run_rank, &ranks[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}
