/*
 * A ZeRO step on two ranks, each a thread: reduce-scatter of the gradients, Adam on the rank's shard, all-gather of the parameters.
 * Rank r minimises (p - 2 - 2r)^2 / 2, so both together go to p = 3.  A rank has the states of half of the parameters.
 *
 *   cc zero.c $(pkg-config --cflags --libs quern) -o zero
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quern.h>

enum { RANKS = 2, COUNT = 1024, SHARD = COUNT / RANKS, STEPS = 500 };
static uint16_t param[RANKS][COUNT];                     /* bf16, all 0, a whole copy of each rank */
static float grad[RANKS][COUNT];

static void check(quern_status status) {
    char detail[256];
    if (status == QUERN_OK) return;
    quern_error_detail(detail, sizeof detail);
    fprintf(stderr, "%s: %s\n", quern_status_string(status), detail);
    exit(EXIT_FAILURE);
}

static float widen(uint16_t bf16) {
    uint32_t bits = (uint32_t)bf16 << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void *run_rank(void *argument) {
    int rank = *(int *)argument;
    quern_device *device;
    check(quern_device_open(QUERN_CPU, 0, &device));
    check(quern_prepare(device, QUERN_ADAM | QUERN_COLLECTIVE));
    quern_group_args join = QUERN_GROUP_ARGS_INIT;
    quern_group *group;
    join.rank = rank, join.ranks = RANKS, join.name = "quern_zero", join.device = device, join.timeout = 10;
    check(quern_group_create(&join, 1, &group));

    float sum[SHARD], *master = calloc(SHARD, sizeof *master);
    uint16_t *m = calloc(SHARD, sizeof *m), *v = calloc(SHARD, sizeof *v), *mine = param[rank] + rank * SHARD;
    quern_collective_args scatter = QUERN_COLLECTIVE_ARGS_INIT, gather = QUERN_COLLECTIVE_ARGS_INIT;
    scatter.dtype = QUERN_F32, scatter.count = SHARD, scatter.input = grad[rank], scatter.output = sum;
    gather.dtype = QUERN_BF16, gather.count = SHARD, gather.input = mine, gather.output = param[rank];   /* in place */

    quern_adam_tensor tensor = {.param = mine, .grad = sum, .m = m, .v = v, .master = master, .count = SHARD};
    quern_adam_args adam = QUERN_ADAM_ARGS_INIT;
    adam.param_dtype = adam.m_dtype = adam.v_dtype = QUERN_BF16;
    adam.grad_dtype = adam.master_dtype = QUERN_F32;
    adam.tensors = &tensor, adam.tensor_count = 1, adam.lr = 0.02, adam.step = 1;

    size_t bytes, needed;
    check(quern_collective_workspace(group, &scatter, &bytes));
    check(quern_adam_workspace(device, &adam, &needed));
    void *common = NULL, *workspace = aligned_alloc(16, needed / 16 * 16 + 16);
    if (bytes) check(quern_symmetric_alloc(&group, 1, &bytes, &common));

    for (; adam.step <= STEPS; adam.step++) {
        for (int i = 0; i < COUNT; i++) grad[rank][i] = (widen(param[rank][i]) - 2 - 2 * rank) / RANKS;
        check(quern_reduce_scatter(group, &scatter, common, bytes, NULL));
        check(quern_adam(device, &adam, workspace, needed, NULL));
        check(quern_all_gather(group, &gather, common, bytes, NULL));
    }
    check(quern_barrier(group, NULL, NULL));
    if (rank == 0)
        printf("p = %.1f after %d steps, %s on both ranks\n", widen(param[0][COUNT - 1]), STEPS,
               memcmp(param[0], param[1], sizeof *param) ? "other bits" : "the same bits");
    check(quern_group_destroy(group));
    quern_device_close(device);
    free(master), free(m), free(v), free(workspace);
    return NULL;
}

int main(void) {
    int ranks[RANKS] = {0, 1};
    pthread_t threads[RANKS];
    for (int i = 0; i < RANKS; i++) pthread_create(&threads[i], NULL, run_rank, &ranks[i]);
    for (int i = 0; i < RANKS; i++) pthread_join(threads[i], NULL);
}
