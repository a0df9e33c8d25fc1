/* Runs ranks in each way between them.  ways.h documents the function. */
#include "harness/ways.h"

#include "harness/device.h"

static void run(struct ranks ranks) {
    const char *wrong = ranks_run(&ranks);
    check(!wrong, "%d hosts: %s", ranks.hosts ? ranks.hosts : 1, wrong);
}

void check_each_way_of(struct ranks ranks) {
    const bool on_gpu = test_kind() == QUERN_CUDA;
    ranks.kind = on_gpu ? RANK_PROCESSES : RANK_BOTH;
    ranks.nccl = on_gpu ? "" : NULL;
    if (!on_gpu) run(ranks);
    ranks.hosts = 2;
    run(ranks);
}
