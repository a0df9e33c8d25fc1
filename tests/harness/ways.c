/* Runs ranks in each way between them.  ways.h documents the function. */
#include "harness/ways.h"

#include "harness/device.h"

static void run(struct ranks ranks) {
    const char *wrong = ranks_run(&ranks);
    check(!wrong, "%d hosts%s: %s", ranks.hosts ? ranks.hosts : 1, quern_most_direct ? "" : ", relayed", wrong);
}

void check_each_way_of(struct ranks ranks) {
    const __typeof__(quern_most_direct) most_direct = quern_most_direct;
    const bool on_gpu = test_kind() == QUERN_CUDA;
    ranks.kind = on_gpu ? RANK_PROCESSES : RANK_BOTH;
    ranks.nccl = on_gpu ? "" : NULL;
    if (!on_gpu) run(ranks);
    ranks.hosts = 2;
    run(ranks);
    quern_most_direct = 0;
    if (!on_gpu) run(ranks);
    quern_most_direct = most_direct;
}
