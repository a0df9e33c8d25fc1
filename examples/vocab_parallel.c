/*
 * Two ranks, each a thread, share a vocab: each has the logits of its own columns, and gets the loss of the whole rows and the
 * gradient of its columns.  Between the steps every rank sends every other one 64 bytes per row.
 *
 *   cc vocab_parallel.c $(pkg-config --cflags --libs quern) -o vocab_parallel
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <quern.h>

enum { RANKS = 2, ROWS = 3, VOCAB = 8 };

/* Rank 0 has columns 0 to 4, rank 1 has columns 5 to 7: shards may differ in size. */
static const int FIRST[RANKS + 1] = {0, 5, VOCAB};
static const float LOGITS[ROWS][VOCAB] = {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 1, 1, 1, 1, 1, 1, 1}, {9, 0, 0, 0, 0, 0, 0, 0}};
static const int32_t LABELS[ROWS] = {6, 2, -100};              /* the last row is ignored */

static float loss[RANKS], grad[RANKS][ROWS][VOCAB];

static void check(quern_status status) {
    char detail[256];
    if (status == QUERN_OK) return;
    quern_error_detail(detail, sizeof detail);
    fprintf(stderr, "%s: %s\n", quern_status_string(status), detail);
    exit(EXIT_FAILURE);
}

static quern_group *join(quern_device *device, int rank) {
    quern_group_args membership = QUERN_GROUP_ARGS_INIT;
    quern_group *group;
    membership.rank = rank;
    membership.ranks = RANKS;
    membership.name = "quern_vocab_parallel";
    membership.device = device;
    check(quern_group_create(&membership, 1, &group));
    return group;
}

/* An all-gather, as a ragged all-to-all in which each rank sends the same rows to everyone; any collective will do. */
static void gather(quern_group *group, int rank, const quern_row_stats *mine, quern_row_stats all[RANKS][ROWS]) {
    int32_t from[RANKS] = {0}, sizes[RANKS], to[RANKS];
    for (int peer = 0; peer < RANKS; peer++) sizes[peer] = ROWS, to[peer] = rank * ROWS;
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    args.input = mine;
    args.input_rows = ROWS;
    args.output = all;
    args.output_rows = RANKS * ROWS;
    args.row_bytes = sizeof *mine;
    args.input_offsets = from;
    args.send_sizes = args.recv_sizes = sizes;
    args.output_offsets = to;
    size_t bytes;
    void *workspace;
    check(quern_ragged_all_to_all_workspace(group, &args, &bytes));
    check(quern_symmetric_alloc(&group, 1, &bytes, &workspace));
    check(quern_ragged_all_to_all(group, &args, workspace, bytes, NULL));
}

static void *run_rank(void *argument) {
    const int rank = *(int *)argument;
    quern_device *device;
    check(quern_device_open(QUERN_CPU, 0, &device));
    check(quern_prepare(device, QUERN_CROSS_ENTROPY | QUERN_BARRIER | QUERN_RAGGED_ALL_TO_ALL));
    quern_group *group = join(device, rank);

    quern_row_stats mine[ROWS], all[RANKS][ROWS];
    quern_cross_entropy_args args = QUERN_CROSS_ENTROPY_ARGS_INIT;
    args.logits_dtype = QUERN_F32;
    args.labels_dtype = QUERN_INT32;
    args.reduction = QUERN_REDUCTION_MEAN;
    args.rows = ROWS;
    args.vocab = FIRST[rank + 1] - FIRST[rank];
    args.first_column = FIRST[rank];
    args.global_vocab = VOCAB;
    args.logits = &LOGITS[0][FIRST[rank]];
    args.logits_stride = VOCAB;
    args.labels = LABELS;
    args.stats = mine;
    args.loss = &loss[rank];
    args.grad = grad[rank];
    args.grad_stride = VOCAB;

    size_t bytes;
    check(quern_cross_entropy_workspace(device, &args, &bytes));
    void *workspace = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
    check(quern_cross_entropy_stats(device, &args, workspace, bytes, NULL));                      /* of this rank's columns */
    gather(group, rank, mine, all);
    check(quern_cross_entropy_combine(device, &args, all[0], RANKS, workspace, bytes, NULL));     /* of all columns */
    check(quern_cross_entropy_gradient(device, &args, workspace, bytes, NULL));                   /* of this rank's columns */

    check(quern_barrier(group, NULL, NULL));
    free(workspace);
    check(quern_group_destroy(group));
    quern_device_close(device);
    return NULL;
}

int main(void) {
    int ranks[RANKS];
    pthread_t threads[RANKS];
    for (int i = 0; i < RANKS; i++) pthread_create(&threads[i], NULL, run_rank, (ranks[i] = i, &ranks[i]));
    for (int i = 0; i < RANKS; i++) pthread_join(threads[i], NULL);
    printf("loss %.6f on rank 0, %.6f on rank 1\n", (double)loss[0], (double)loss[1]);
    for (int row = 0; row < ROWS; row++) {
        for (int rank = 0; rank < RANKS; rank++)
            for (int column = 0; column < FIRST[rank + 1] - FIRST[rank]; column++) printf("%9.6f", (double)grad[rank][row][column]);
        printf("\n");
    }
}
