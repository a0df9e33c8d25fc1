/* The bounds of waits in NCCL.  Called by the thread that enqueues and by the watcher, with the lock of the rank. */
#define _GNU_SOURCE
#include "ranks/nccl/nccl.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "os/clock.h"
#include "os/thread.h"
#include "ranks/describe.h"
#include "ranks/poison.h"
#include "runtime/status.h"

int64_t quern_nccl_limit(double seconds) { return seconds < 9e9 ? (int64_t)(seconds * 1e9) : INT64_MAX / 2; }

quern_status quern_nccl_check_gone(const struct quern_membership *member, const struct quern_nccl_wait *wait) {
    for (int rank = 0; rank < member->ranks; rank++) {
        char place[200];
        struct quern_text text = quern_text_begin(place, sizeof place);
        uint32_t missing[QUERN_GROUP_WORDS] = {0};
        if (rank == member->rank || !quern_set_has(wait->set, rank) || !quern_rank_has_gone(member->roster, rank)) continue;
        quern_describe_place(&text, member->roster, rank);
        quern_text_add(&text, ") ");
        quern_describe_end(&text, member, rank, false);
        missing[rank / 32] = 1u << rank % 32;
        return quern_poison_missing(member, QUERN_PEER_LOST, missing, "%s: rank %d (%s", wait->what, rank, place);
    }
    return QUERN_OK;
}

/* ---- the limit ---- */

/*
 * A rank tells its last call, how many calls of all ranks it has made, and whether it waits in one: the monitors bring it from host
 * to host.  Calls of some ranks are not counted, so there only another call says that a rank is not in this one.  Nor are launches
 * of graphs: there a rank is in the call while it waits.
 */
static bool is_behind(const struct quern_membership *member, const struct quern_nccl_wait *wait, int rank, bool *in_other_call) {
    const struct quern_segment_rank *place = &member->segment->rank[rank];
    const int32_t ahead = (int32_t)(__atomic_load_n(&place->meetings, __ATOMIC_RELAXED) - wait->number);
    const bool differs = __atomic_load_n(&place->tag, __ATOMIC_RELAXED) != wait->tag;
    *in_other_call = differs && !wait->is_replay && __atomic_load_n(&place->asleep_in_meeting, __ATOMIC_RELAXED);
    if (wait->is_replay) return differs || !__atomic_load_n(&place->asleep_in_meeting, __ATOMIC_RELAXED);
    return wait->set->count == member->ranks ? ahead < 0 || (ahead == 0 && differs) : differs;
}

static void list_behind(struct quern_text *text, const struct quern_membership *member, const struct quern_nccl_wait *wait,
                        uint32_t missing[QUERN_GROUP_WORDS], bool *in_other_call) {
    int count = 0;
    for (int rank = 0; rank < member->ranks; rank++) {
        bool other;
        if (rank == member->rank || !quern_set_has(wait->set, rank) || !is_behind(member, wait, rank, &other)) continue;
        *in_other_call |= other;
        missing[rank / 32] |= 1u << rank % 32;
        if (count++) continue;
        quern_text_add(text, "rank %d (", rank);
        quern_describe_place(text, member->roster, rank);
        quern_text_add(text, ", last in ");
        quern_describe_tag(text, __atomic_load_n(&member->segment->rank[rank].tag, __ATOMIC_RELAXED));
        quern_text_add(text, ")");
    }
    if (count > 1) quern_text_add(text, " and %d more", count - 1);
    if (!count) quern_text_add(text, "no rank is known to be behind");
}

quern_status quern_nccl_check_limit(const struct quern_membership *member, const struct quern_nccl_wait *wait, int64_t now) {
    char behind[240];
    struct quern_text text = quern_text_begin(behind, sizeof behind);
    uint32_t missing[QUERN_GROUP_WORDS] = {0};
    bool in_other_call = false;
    if (now - wait->began < wait->limit) return QUERN_OK;
    list_behind(&text, member, wait, missing, &in_other_call);
    return quern_poison_missing(member, in_other_call ? QUERN_PEER_MISMATCH : QUERN_PEER_TIMEOUT, missing,
                                "rank %d waited %g s in %s: %s", member->rank, quern_seconds(now - wait->began), wait->what,
                                behind);
}

quern_status quern_nccl_check_running(const struct quern_membership *member, const struct quern_nccl_wait *wait, int64_t now) {
    quern_status status = QUERN_OK;
    if (now - wait->began > QUERN_NCCL_GRACE) status = quern_nccl_check_gone(member, wait);
    return status == QUERN_OK ? quern_nccl_check_limit(member, wait, now) : status;
}

/* ---- NCCL ---- */

quern_status quern_nccl_poison(const struct quern_nccl_rank *rank, ncclResult_t result, const char *what) {
    const char *text = rank->nccl->error_string(result), *last = rank->nccl->last_error(rank->comm);
    const uint32_t none[QUERN_GROUP_WORDS] = {0};
    return quern_poison_missing(rank->member, quern_nccl_status(result), none, "rank %d: %s: %s%s%s", rank->member->rank, what,
                                text ? text : "unknown error", last && *last ? ": " : "", last ? last : "");
}

quern_status quern_nccl_fail_inside(const struct quern_membership *member, quern_status status) {
    char detail[256];
    if (__atomic_load_n(&member->segment->poison, __ATOMIC_ACQUIRE)) return status;
    quern_error_detail(detail, sizeof detail);
    quern_poison(member, QUERN_PEER_LOST, "rank %d has entered a call over NCCL and cannot go on: %s", member->rank, detail);
    return quern_fail(member->device, status, "%s", detail);
}

quern_status quern_nccl_ask(const struct quern_nccl_rank *rank, const char *what, bool *is_ready) {
    ncclResult_t state = ncclSuccess;
    const ncclResult_t result = rank->nccl->async_error(rank->comm, &state);
    *is_ready = result == ncclSuccess && state == ncclSuccess;
    if (*is_ready || (result == ncclSuccess && state == ncclInProgress)) return QUERN_OK;
    return quern_nccl_poison(rank, result == ncclSuccess ? state : result, what);
}

/* ---- the abort ---- */

struct abortion {
    const struct quern_nccl *nccl;
    ncclComm_t comm;
};

static void *run_abort(void *user) {
    struct abortion abortion = *(struct abortion *)user;
    free(user);
    abortion.nccl->abort(abortion.comm);
    return NULL;
}

/* A thread that may still be in NCCL at dlclose returns here. */
static void stay_loaded(void) {
    Dl_info info;
    if (dladdr((void *)&quern_nccl_open, &info)) dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/* False: there is no thread. */
static bool abort_beside(const struct quern_nccl *nccl, ncclComm_t comm) {
    struct abortion *abortion = malloc(sizeof *abortion);
    pthread_t thread;
    if (!abortion) return false;
    *abortion = (struct abortion){nccl, comm};
    stay_loaded();
    if (quern_start_thread(&thread, run_abort, abortion)) {
        free(abortion);
        return false;
    }
    pthread_detach(thread);
    return true;
}

void quern_nccl_abort_comm(const struct quern_nccl_rank *rank, ncclComm_t comm) {
    if (!quern_nccl_count_captured(rank) || !abort_beside(rank->nccl, comm)) rank->nccl->abort(comm);
}

void quern_nccl_abort(struct quern_nccl_rank *rank) {
    const ncclComm_t comm = rank->comm;
    rank->comm = NULL;
    if (comm) quern_nccl_abort_comm(rank, comm);
}
