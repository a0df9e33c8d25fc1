/*
 * Two steps of two ranks, each a thread, with a trace of both and a dump of the second step of rank 0: loss and gradient, the mean of
 * the gradients over the ranks, Adam.  After `./trace trace.json dump` ui.perfetto.dev opens the trace, and `quern_dump show dump`
 * prints the dump.
 *
 *   cc trace.c $(pkg-config --cflags --libs quern) -o trace
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <quern.h>

enum { RANKS = 2, ROWS = 64, VOCAB = 512, COUNT = ROWS * VOCAB, STEPS = 2 };

static const char *folder;
static float last_loss[RANKS];

static void check(quern_status status) {
    char detail[256];
    if (status == QUERN_OK) return;
    quern_error_detail(detail, sizeof detail);
    fprintf(stderr, "%s: %s\n", quern_status_string(status), detail);
    exit(EXIT_FAILURE);
}

static void *run_rank(void *argument) {
    int rank = *(int *)argument;
    quern_device *device;
    check(quern_device_open(QUERN_CPU, 0, &device));
    check(quern_prepare(device, QUERN_CROSS_ENTROPY | QUERN_COLLECTIVE | QUERN_ADAM));
    quern_group_args join = QUERN_GROUP_ARGS_INIT;
    quern_group *group;
    join.rank = rank, join.ranks = RANKS, join.name = "quern_trace", join.device = device, join.timeout = 10;
    check(quern_group_create(&join, 1, &group));

    float *logits = calloc(5 * COUNT, sizeof *logits), *grad = logits + COUNT, *m = grad + COUNT, *v = m + COUNT, *sum = v + COUNT;
    int32_t labels[ROWS];                                /* the logits themselves are the parameters */
    for (int row = 0; row < ROWS; row++) labels[row] = rank;
    quern_cross_entropy_args loss = QUERN_CROSS_ENTROPY_ARGS_INIT;
    loss.logits_dtype = QUERN_F32, loss.labels_dtype = QUERN_INT32, loss.reduction = QUERN_REDUCTION_MEAN;
    loss.rows = ROWS, loss.vocab = VOCAB, loss.logits = logits, loss.labels = labels;
    loss.loss = &last_loss[rank], loss.grad = grad, loss.grad_scale = 1.0f / RANKS;
    quern_collective_args mean = QUERN_COLLECTIVE_ARGS_INIT;
    mean.dtype = QUERN_F32, mean.input = grad, mean.output = sum, mean.count = COUNT;
    quern_adam_tensor tensor = {.param = logits, .grad = sum, .m = m, .v = v, .count = COUNT};
    quern_adam_args adam = QUERN_ADAM_ARGS_INIT;
    adam.param_dtype = adam.grad_dtype = adam.m_dtype = adam.v_dtype = QUERN_F32;
    adam.tensors = &tensor, adam.tensor_count = 1, adam.lr = 0.1, adam.step = 1;
    size_t needed[2], bytes;
    check(quern_cross_entropy_workspace(device, &loss, &needed[0]));
    check(quern_adam_workspace(device, &adam, &needed[1]));
    check(quern_collective_workspace(group, &mean, &bytes));
    size_t most = needed[0] > needed[1] ? needed[0] : needed[1];
    void *workspace = aligned_alloc(64, most / 64 * 64 + 64), *common = NULL;
    if (bytes) check(quern_symmetric_alloc(&group, 1, &bytes, &common));

    quern_dump_args dump = QUERN_DUMP_ARGS_INIT;
    dump.folder = folder, dump.step = STEPS;
    if (rank == 0) check(quern_dump_at(device, &dump));
    for (; adam.step <= STEPS; adam.step++) {
        check(quern_step(device, adam.step));
        check(quern_cross_entropy(device, &loss, workspace, most, NULL));
        check(quern_all_reduce(group, &mean, common, bytes, NULL));
        check(quern_adam(device, &adam, workspace, most, NULL));
    }
    check(quern_step(device, adam.step));                /* the files of the last step are complete */
    check(quern_group_destroy(group));
    quern_device_close(device);
    free(logits), free(workspace);
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 3) return fprintf(stderr, "usage: trace FILE.json FOLDER\n"), 2;
    folder = arguments[2];
    check(quern_trace_begin(arguments[1]));
    int ranks[RANKS] = {0, 1};
    pthread_t threads[RANKS];
    for (int i = 0; i < RANKS; i++) pthread_create(&threads[i], NULL, run_rank, &ranks[i]);
    for (int i = 0; i < RANKS; i++) pthread_join(threads[i], NULL);
    check(quern_trace_end());
    printf("loss %.4f and %.4f; wrote %s and %s\n", last_loss[0], last_loss[1], arguments[1], folder);
}
