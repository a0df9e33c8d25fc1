/*
 * Groups of GPU ranks of several hosts one after the other, and at once: the next one goes on with the communicator that two ranks
 * have from the last one.  Whatever either end has kept, both go on with the same one or make another, no transfer fails, and no
 * more are made than that takes.  The stand-in of tests/nccl ends the program if two ends are not of one communicator.
 *
 * Runs on: one emulated.
 */
#include <dlfcn.h>

#include "harness/check.h"
#include "harness/nccl_side.h"
#include "harness/transfer_pair.h"
#include "ranks/nccl/nccl.h"
#include "runtime/device.h"

enum { BYTES = 5000, ROUNDS = 3 };

/* Of the pair's first communicator, behind that of the group, while nothing is under way. */
static const char FAILURE[] = "idle:fail=6!2";

/* What happens to a rank's end between two groups. */
enum event { NOTHING, FORGET, FAIL, FAIL_BEFORE_THE_END, REOPEN, ABORT };

struct scene {
    const char *name;
    enum event event[2];   /* of the two ranks */
    bool swaps;            /* the ranks have other numbers in each second group */
    int made;              /* communicators of the pair, in three groups */
};

/* Both directions, so that each rank is the sender and the receiver. */
static void exchange(struct nccl_side *side, quern_group *group, int round) {
    const struct transfer_place place = {side, side->stream, nccl_allocate, nccl_release, nccl_put, nccl_get, NULL};
    struct rank as_here = *side->rank;
    struct transfer_pair pair;
    as_here.rank = quern_group_rank(group);
    transfer_pair_open(&pair, &as_here, group, &place, !as_here.rank, BYTES);
    transfer_pair_exchange(&pair, 7, round);
    transfer_pair_close(&pair);
}

static quern_group *make_group(struct nccl_side *side, int job, bool is_swapped) {
    quern_group_args args = nccl_args(side, RANK_LIMIT);
    args.job = (uint64_t)job + 1;
    if (is_swapped) args.rank = 1 - args.rank;
    return rank_create(side->rank, &args);
}

static void set_standin(const char *settings) {
    void (*set)(const char *);
    *(void **)&set = dlsym(dlopen("libnccl.so.2", RTLD_NOW | RTLD_NOLOAD), "quern_standin_set");
    set(settings);
}

/* ---- one after the other ---- */

static const struct scene scenes[] = {
    {"a hit and a hit", {NOTHING, NOTHING}, false, 1},
    {"the ranks have other numbers", {NOTHING, NOTHING}, true, 1},
    {"a miss and a hit", {FORGET, NOTHING}, false, 3},
    {"a hit and a miss", {NOTHING, FORGET}, false, 3},
    {"a miss and a hit of other numbers", {FORGET, NOTHING}, true, 3},
    {"a miss and a miss", {FORGET, FORGET}, false, 3},
    {"the lower one has failed in between", {FAIL, NOTHING}, false, 2},
    {"the upper one has failed in between", {NOTHING, FAIL}, false, 2},
    {"the lower one has failed before the end", {FAIL_BEFORE_THE_END, NOTHING}, false, 2},
    {"the upper one has failed before the end", {NOTHING, FAIL_BEFORE_THE_END}, false, 2},
    {"the lower rank's device was closed", {REOPEN, NOTHING}, false, 3},
    {"the upper rank's device was closed", {NOTHING, REOPEN}, false, 3},
    {"an aborted group keeps nothing", {ABORT, NOTHING}, false, 3},
};

TEST_RANKS(nccl_again, one_group_after_the_other, .kind = RANK_PROCESSES, .count = 2, .hosts = 2, RANKS_EACH(scenes), .nccl = "") {
    const struct scene *scene = rank->user;
    const enum event event = scene->event[rank->rank];
    struct nccl_side side;
    nccl_open_gpu(&side, rank, rank->rank);
    for (int round = 0; round < ROUNDS; round++) {
        quern_group *group = make_group(&side, round, scene->swaps && round % 2);
        for (int i = 0; i < 2; i++) exchange(&side, group, round * 16 + i * 4);
        rank_line_up(rank);
        if (event == ABORT) rank_ok(rank, quern_group_abort(group, "the test's reason"));
        rank_line_up(rank);
        if (event == FAIL_BEFORE_THE_END) set_standin(FAILURE);
        if (event == FORGET) quern_nccl_most_kept = 0;
        if (scene->event[0] == ABORT) while (quern_group_status(group) == QUERN_OK) rank_sleep(1e-3);
        rank_ok(rank, quern_group_destroy(group));
        quern_nccl_most_kept = QUERN_NCCL_KEPT;
        if (event == FAIL) set_standin(FAILURE);
        if (event == REOPEN) {
            rank_ok(rank, nccl_close(&side));
            rank_check(rank, nccl_ask("quern_standin_communicators") == 0, "a closed device has a communicator");
            nccl_open_gpu(&side, rank, rank->rank);
        }
        rank_line_up(rank);
    }
    const long made = nccl_ask("quern_standin_made") - ROUNDS;
    rank_check(rank, made == scene->made, "%s: %ld communicators of the pair: expected %d", scene->name, made, scene->made);
    return nccl_close(&side);
}

/* ---- at once ---- */

static const int most_kept[] = {QUERN_NCCL_KEPT, 1};

/* Two groups have one each.  They are left in other orders on the two ranks, and the next two groups find each its like. */
TEST_RANKS(nccl_again, two_groups_at_once, .kind = RANK_PROCESSES, .count = 2, .hosts = 2, RANKS_EACH(most_kept), .nccl = "") {
    const int most = *(const int *)rank->user, made = most < 2 ? 3 : 2;
    struct nccl_side side;
    nccl_open_gpu(&side, rank, rank->rank);
    quern_nccl_most_kept = most;
    for (int round = 0; round < 2; round++) {
        quern_group *groups[2] = {make_group(&side, 2 * round, false), make_group(&side, 2 * round + 1, false)};
        for (int i = 0; i < 4; i++) exchange(&side, groups[i % 2], round * 16 + i * 2);
        rank_line_up(rank);
        for (int i = 0; i < 2; i++) rank_ok(rank, quern_group_destroy(groups[i ^ (round + rank->rank) % 2]));
        rank_line_up(rank);
        rank_check(rank, nccl_ask("quern_standin_communicators") == (most < 2 ? most : 2), "%ld are kept",
                   nccl_ask("quern_standin_communicators"));
    }
    rank_check(rank, nccl_ask("quern_standin_made") - 4 <= made + (most < 2), "%ld communicators of the pair: expected %d",
               nccl_ask("quern_standin_made") - 4, made);
    return nccl_close(&side);
}
