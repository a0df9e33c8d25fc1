/* Runs ranks in each way between them.  ways.h documents the function. */
#include "harness/ways.h"

#include "harness/device.h"

/* Those in which each rank has a thread or a process of its own. */
static const struct way {
    quern_device_kind device;
    enum rank_kind kind;
    int hosts;                   /* 0: one */
    const char *nccl, *fabric;   /* as ranks have them */
} ways[] = {
    {QUERN_CPU, RANK_BOTH, 0, NULL, NULL},
    {QUERN_CPU, RANK_BOTH, 2, NULL, NULL},
    {QUERN_CUDA, RANK_PROCESSES, 2, "", NULL},
    {QUERN_CUDA, RANK_PROCESSES, 2, "", "one"},
};

/* GPUs with a fabric have what those of one host have. */
static bool is_asked(const struct way *way, const struct ranks *ranks) {
    const bool is_within = !way->hosts || way->fabric, goes_over_nccl = way->nccl && !way->fabric;
    if (way->device != test_kind() || (way->nccl && !test_is_once()) || (way->fabric && !ranks->operations)) return false;
    return is_within || !ranks->within_host || (goes_over_nccl && ranks->over_nccl);
}

static void run(const struct way *way, struct ranks ranks) {
    ranks.kind = way->kind, ranks.hosts = way->hosts, ranks.nccl = way->nccl, ranks.fabric = way->fabric;
    const char *wrong = ranks_run(&ranks);
    check(!wrong, "%d hosts%s: %s", way->hosts ? way->hosts : 1, way->fabric ? " with a fabric" : "", wrong);
}

/* A group for all users, of which each may leave another one. */
static void run_on_gpus(const struct ranks *ranks, way_function *function) {
    const unsigned with_workspaces = QUERN_RAGGED_ALL_TO_ALL | QUERN_QUANTIZE;
    OPEN_BENCH((struct gpu_group_options){.ranks = ranks->count, .prepared = ranks->operations, .pool = BENCH_POOL,
                                          .workspace = ranks->operations & with_workspaces ? BENCH_POOL : 0});
    for (size_t user = 0; !user || user < ranks->users; user++) {
        for (int rank = 0; rank < ranks->count; rank++)
            bench.rank[rank].user = ranks->user ? (const char *)ranks->user + user * ranks->user_bytes : NULL;
        function(&bench.rank[0], bench.of);
    }
}

void check_each_way_of(struct ranks ranks, way_function *function) {
    for (size_t i = 0; i < COUNT(ways); i++)
        if (is_asked(&ways[i], &ranks)) run(&ways[i], ranks);
    /* At last, since a child of fork cannot use the driver. */
    if (test_kind() == QUERN_CUDA && ranks.operations) run_on_gpus(&ranks, function);
}
