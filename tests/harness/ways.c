/* Runs ranks in each way between them.  ways.h documents the function. */
#include "harness/ways.h"

#include "harness/device.h"

static void run(struct ranks ranks) {
    const char *wrong = ranks_run(&ranks);
    check(!wrong, "%d hosts: %s", ranks.hosts ? ranks.hosts : 1, wrong);
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
    const bool on_gpu = test_kind() == QUERN_CUDA;
    ranks.kind = on_gpu ? RANK_PROCESSES : RANK_BOTH;
    ranks.nccl = on_gpu ? "" : NULL;
    if (!on_gpu) run(ranks);
    ranks.hosts = 2;
    if (on_gpu ? (!ranks.within_host || ranks.over_nccl) && test_is_once() : !ranks.within_host) run(ranks);
    if (on_gpu && ranks.operations) run_on_gpus(&ranks, function);  /* at last: a child of fork cannot use the driver */
}
