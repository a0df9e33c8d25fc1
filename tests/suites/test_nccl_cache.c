/*
 * The communicators that a process keeps between two groups: which one is handed out, which one is ended, and what a child of fork
 * has of them.  NCCL is a function that counts.  test_nccl_again.c has the groups.
 *
 * Runs on: ranks.
 */
#include "harness/check.h"
#include "harness/ranks.h"
#include "ranks/nccl/nccl.h"

static int aborted[64], aborts;

static ncclResult_t note_abort(ncclComm_t comm) {
    aborted[aborts++] = (int)(intptr_t)comm;
    return ncclSuccess;
}

static const struct quern_nccl nccl = {.abort = note_abort};
static const CUcontext here = (CUcontext)8, there = (CUcontext)16;

/* The number is the handle and the id; with the same peer they are of the same two ends. */
static struct quern_nccl_comm comm_of(int number, int peer) {
    struct quern_nccl_comm comm = {.handle = (ncclComm_t)(intptr_t)number, .rank = number & 1};
    memcpy(comm.id.internal + sizeof comm.id.internal - sizeof number, &number, sizeof number);  /* they differ at their end */
    comm.own.process[15] = 1, comm.other.process[15] = 2, comm.other.gpu[15] = (unsigned char)peer;
    return comm;
}

static void keep(int number, int peer, CUcontext context) {
    const struct quern_nccl_comm comm = comm_of(number, peer);
    quern_nccl_keep(&nccl, context, &comm);
}

/* The number of the one that is taken, by the id of a number unless it is 0; 0: none. */
static int take(int peer, CUcontext context, int id) {
    const struct quern_nccl_comm named = comm_of(id, peer);
    struct quern_nccl_comm comm = comm_of(0, peer);
    if (!quern_nccl_take(&comm, context, id ? &named.id : NULL)) return 0;
    check(comm.rank == ((int)(intptr_t)comm.handle & 1), "the place in it is lost");
    return (int)(intptr_t)comm.handle;
}

static void expect(int taken, int expected) { check(taken == expected, "%d is taken: expected %d", taken, expected); }

Test(nccl_cache, the_newest_of_the_same_ends) {
    keep(1, 7, here), keep(2, 8, here), keep(3, 7, here), keep(4, 7, there);
    expect(take(9, here, 0), 0);
    expect(take(7, here, 0), 3);
    expect(take(7, here, 0), 1);
    expect(take(7, here, 0), 0);
    expect(take(8, there, 0), 0);
    expect(take(7, there, 0), 4);
    expect(take(8, here, 0), 2);
    check(aborts == 0, "%d were aborted", aborts);
}

Test(nccl_cache, by_its_id) {
    for (int number = 1; number <= 4; number++) keep(number, 7, here);
    expect(take(8, here, 2), 0);
    expect(take(7, here, 2), 2);
    expect(take(7, here, 2), 0);
    expect(take(7, here, 0), 4);
    expect(take(7, here, 1), 1);
    expect(take(7, here, 0), 3);
}

Test(nccl_cache, the_oldest_makes_room) {
    for (int number = 1; number <= QUERN_NCCL_KEPT + 2; number++) keep(number, 7, here);
    check(aborts == 2 && aborted[0] == 1 && aborted[1] == 2, "%d were aborted, the first of them %d", aborts, aborted[0]);
    for (int number = QUERN_NCCL_KEPT + 2; number > 2; number--) expect(take(7, here, 0), number);
    expect(take(7, here, 0), 0);
    quern_nccl_most_kept = 1;
    keep(30, 7, here), keep(31, 7, here);
    check(aborts == 3 && aborted[2] == 30, "%d were aborted, the last of them %d", aborts, aborted[aborts - 1]);
    quern_nccl_most_kept = 0;
    keep(32, 7, here);
    check(aborts == 5 && aborted[3] == 31 && aborted[4] == 32, "%d were aborted", aborts);
    expect(take(7, here, 0), 0);
}

/* They are its parent's, and NCCL has no threads there. */
Test(nccl_cache, a_child_has_none) {
    int status = 0;
    keep(1, 7, here), keep(2, 7, here);
    const pid_t child = fork();
    check(child >= 0, "no process");
    if (child == 0) {
        const int found = take(7, here, 0) + take(7, here, 1);
        for (int number = 1; number <= QUERN_NCCL_KEPT; number++) keep(number, 8, here);
        rank_end_process(found ? 10 : aborts ? 11 : 12);
    }
    check(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 12,
          "the child has found (10) or aborted (11) one: %d", WEXITSTATUS(status));
    expect(take(7, here, 0), 2);
}
