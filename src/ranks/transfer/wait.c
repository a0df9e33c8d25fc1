/*
 * The waits for transfers.  A rank looks again for a while before it sleeps.  Once in a while it looks at the poison, at the limit,
 * whether the ranks for which it waits live, and whether a rank has spoken of which it has not heard before.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sched.h>
#include <time.h>

#include "os/clock.h"
#include "ranks/cuda_launch.h"
#include "ranks/eventcount.h"
#include "ranks/handles.h"
#include "ranks/points.h"
#include "ranks/seen_wait.h"
#include "ranks/transfer/transfer.h"
#include "runtime/status.h"

enum {
    LOOKS = 2000,  /* passes in vain before it yields its core */
    TICK = 5       /* milliseconds of sleep between two looks at connections */
};

/* ---- looking around ---- */

static void look_around(struct quern_transfer_data *transfer, int64_t now) {
    quern_find_speakers(transfer->member->transfers);
    quern_watch_stream_waits(transfer->member->transfers->waits);
    quern_look_after(transfer, now);
}

/* ---- testing and waiting ---- */

static quern_status check_started(struct quern_transfer_data *transfer) {
    const quern_device *device = transfer->member->device;
    if (transfer->state == QUERN_TRANSFER_DEFERRED)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "transfer %llu is part of an open batch: call quern_transfer_end first",
                          (unsigned long long)transfer->key);
    if (transfer->state == QUERN_TRANSFER_IDLE && !transfer->round)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "transfer %llu was not started", (unsigned long long)transfer->key);
    return quern_transfer_status(transfer);
}

static quern_status test(struct quern_transfer_data *transfer, int32_t *done, bool *moved) {
    quern_status status = check_started(transfer);
    if (status != QUERN_OK) return status;
    const int64_t now = quern_now();
    *moved = quern_pass_transfers(transfer->member->transfers);
    if (transfer->state == QUERN_TRANSFER_STARTED && now - transfer->looked > QUERN_TRANSFER_SLICE) look_around(transfer, now);
    status = quern_transfer_status(transfer);
    if (status == QUERN_OK) *done = transfer->state == QUERN_TRANSFER_IDLE;
    return status;
}

quern_status quern_transfer_test(quern_transfer *handle, int32_t *done) {
    struct quern_transfer_data *transfer;
    bool moved = false;
    quern_status status = quern_transfer_of(handle, &transfer);
    if (status == QUERN_OK && !done) status = quern_fail(transfer->member->device, QUERN_NULL_POINTER, "done is NULL");
    if (status != QUERN_OK) return status;
    quern_begin_transfer_call(transfer->member->transfers);
    status = test(transfer, done, &moved);
    quern_end_transfer_call(transfer->member->transfers, moved);
    return status;
}

static bool has_rings(const struct quern_transfers *all) {
    for (int i = 0; i < all->conns; i++)
        if (all->open[i]->status == QUERN_OK && all->open[i]->socket < 0) return true;
    return false;
}

/* Sleeps until a rank of this host rings, or a connection has something. */
static void sleep_a_while(const struct quern_transfer_data *transfer) {
    struct quern_transfers *all = transfer->member->transfers;
    struct quern_eventcount *eventcount = &quern_place(transfer->member->roster, transfer->member->rank)->eventcount;
    const uint32_t seen = quern_prepare_wait(eventcount);
    if (quern_pass_transfers(all)) return;
    if (quern_transfers_are_busy(all)) {
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
        return;
    }
    const int sockets = quern_list_sockets(all, all->polls);
    QUERN_POINT(TRANSFER_SLEEPING);
    if (sockets) poll(all->polls, (nfds_t)sockets, has_rings(all) ? 1 : TICK);
    else quern_futex_wait(&eventcount->count, seen, QUERN_TRANSFER_SLICE);
}

/* True: it has slept. */
static bool rest(const struct quern_transfer_data *transfer, int looks) {
    const int most = transfer->member->roster->is_crowded ? 0 : LOOKS, all = most + transfer->member->transfers->yields;
    if (looks < most) quern_pause();
    else if (looks < all) sched_yield();
    else sleep_a_while(transfer);
    return looks >= all;
}

static void wait_until_complete(struct quern_transfer_data *transfer, double timeout) {
    const int64_t began = quern_now(), limit = timeout < 9e9 ? (int64_t)(timeout * 1e9) : INT64_MAX / 2;
    for (int looks = 0; transfer->state == QUERN_TRANSFER_STARTED;) {
        looks = quern_pass_transfers(transfer->member->transfers) ? 0 : looks + 1;
        if (transfer->state != QUERN_TRANSFER_STARTED) return;
        const bool slept = looks && rest(transfer, looks);
        if (!slept && looks % 64) continue;
        const int64_t now = quern_now();
        if (now - transfer->looked > QUERN_TRANSFER_SLICE) look_around(transfer, now);
        if (now - began >= limit && transfer->state == QUERN_TRANSFER_STARTED)
            quern_expire_transfer(transfer, quern_seconds(now - began));
    }
}

quern_status quern_wait_for_transfer(struct quern_transfer_data *transfer, double limit) {
    struct quern_seen_wait seen;
    if (quern_begin_wait(&seen) && transfer->state == QUERN_TRANSFER_STARTED)
        for (int i = 0; i < transfer->pair_count; i++)
            if (quern_is_awaited(&transfer->pairs[i])) quern_await_rank(&seen, transfer->pairs[i].conn->peer);
    wait_until_complete(transfer, limit);
    return quern_end_wait(&seen, transfer->member, quern_transfer_status(transfer));
}

static quern_status wait_for(quern_transfer *handle, double timeout, struct quern_look *look) {
    struct quern_transfer_data *transfer;
    quern_status status = quern_transfer_of(handle, &transfer);
    double limit = 0;
    if (status == QUERN_OK) quern_look_at_member(look, transfer->member);
    if (status == QUERN_OK) status = quern_check_timeout(transfer->member, timeout, &limit);
    if (status == QUERN_OK && !(timeout > 0)) status = quern_check_timeout(transfer->member, transfer->timeout, &limit);
    if (status != QUERN_OK) return status;
    quern_begin_transfer_call(transfer->member->transfers);
    status = check_started(transfer);
    if (status == QUERN_OK) quern_show_call(look, NULL, transfer);
    if (status == QUERN_OK) status = quern_wait_for_transfer(transfer, limit);
    quern_end_transfer_call(transfer->member->transfers, true);
    return status;
}

static void show(const void *transfer, struct quern_tensor_taker *taker) { quern_show_transfer(transfer, 1, taker); }

static const struct quern_view view = {.name = "transfer_wait", .tensors = show, .is_awaited = true};

quern_status quern_transfer_wait(quern_transfer *handle, double timeout) {
    struct quern_look look;
    quern_begin_look(&look, &view, NULL, NULL);
    return quern_end_look(&look, wait_for(handle, timeout, &look));
}

/* ---- on a stream ---- */

static quern_status check_status(const struct quern_membership *member, const uint32_t *status) {
    struct quern_cuda_visit visit;
    unsigned type;
    if (!status) return QUERN_OK;
    if ((uintptr_t)status % sizeof *status)
        return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "status is not at a multiple of %zu bytes", sizeof *status);
    CUresult error = quern_cuda_begin_visit(&visit, member->device->context);
    if (error == CUDA_SUCCESS)
        error = visit.cuda->pointer_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)status);
    quern_cuda_end_visit(&visit);
    if (error == CUDA_SUCCESS) return QUERN_OK;
    return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "status is no memory that CUDA knows: expected memory of %s, or NULL",
                      member->device->label);
}

static quern_status check_stream_wait(struct quern_transfer_data *transfer, CUstream stream, const uint32_t *status) {
    const struct quern_membership *member = transfer->member;
    if (!transfer->gpu)
        return quern_fail(member->device, QUERN_NOT_SUPPORTED, "%s is of CPUs, which have no streams: expected quern_transfer_wait",
                          member->label);
    if (!member->transfers->waits)
        return quern_fail(member->device, QUERN_NOT_SUPPORTED, "%s has no threads that move a transfer while a stream waits: "
                          "expected progress = 1 in quern_group_args", member->label);
    bool is_captured = false;
    quern_status result = check_started(transfer);
    if (result == QUERN_OK) result = quern_cuda_check_default(member, stream);
    if (result == QUERN_OK) result = quern_check_transfer_stream(member, stream, &is_captured);
    if (result == QUERN_OK && is_captured)
        result = quern_fail(member->device, QUERN_NOT_SUPPORTED, "%s: the stream is being captured: a wait is for one start of a "
                            "transfer, which a replay cannot say", member->label);
    return result == QUERN_OK ? check_status(member, status) : result;
}

static quern_status wait_on(struct quern_transfer_data *transfer, CUstream stream, uint32_t *status) {
    const struct quern_membership *member = transfer->member;
    double limit;
    quern_pass_transfers(member->transfers);
    quern_status result = check_stream_wait(transfer, stream, status);
    if (result == QUERN_OK) result = quern_check_timeout(member, transfer->timeout, &limit);
    return result == QUERN_OK ? quern_begin_stream_wait(transfer, limit, stream, status) : result;
}

quern_status quern_transfer_wait_on(quern_transfer *handle, void *stream, uint32_t *status) {
    struct quern_transfer_data *transfer;
    quern_status result = quern_transfer_of(handle, &transfer);
    if (result != QUERN_OK) return result;
    quern_begin_transfer_call(transfer->member->transfers);
    result = wait_on(transfer, stream, status);
    quern_end_transfer_call(transfer->member->transfers, true);
    return result;
}
