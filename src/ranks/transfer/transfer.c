/* The public functions on transfers: preparing, starting and ending them.  wait.c has the waits. */
#include "ranks/transfer/transfer.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "os/clock.h"
#include "os/unload.h"
#include "ranks/describe.h"
#include "ranks/handles.h"
#include "ranks/hosts/hosts.h"
#include "ranks/nccl/nccl.h"
#include "ranks/points.h"
#include "ranks/poison.h"
#include "ranks/seen_wait.h"
#include "runtime/arguments.h"
#include "runtime/status.h"

/* ---- handles ---- */

/* A handle is never freed, so that a use after destroy is an error and not a crash. */
static struct {
    pthread_mutex_t lock;
    struct quern_transfer *first;
} handles = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void free_transfer(struct quern_transfer_data *transfer) {
    quern_free_gpu(transfer);
    for (int i = 0; i < transfer->pair_count; i++) {
        free(transfer->pairs[i].addresses);
        free(transfer->pairs[i].landing);
    }
    free(transfer->pairs);
    free(transfer->parts);
    free(transfer);
}

/* Takes a transfer out of its handle's list, and frees it. */
static void end_transfer(struct quern_transfer_data *transfer) {
    struct quern_transfer_data **link = &transfer->member->transfers->first;
    while (*link != transfer) link = &(*link)->next;
    *link = transfer->next;
    for (int i = 0; i < transfer->pair_count; i++) quern_keep_turn(transfer->member->transfers, &transfer->pairs[i]);
    free_transfer(transfer);
}

/* Only at dlclose: without the lock. */
static void free_forgotten(void) {
    while (handles.first) {
        struct quern_transfer *handle = handles.first;
        struct quern_membership *member;
        handles.first = handle->next;
        const bool is_of_cpus = handle->data && !handle->data->gpu;  /* a GPU's work cannot be ended here */
        if (is_of_cpus && quern_member_of(handle->group, &member) == QUERN_OK && quern_is_own_roster(member->roster)) {
            quern_release_pairs(handle->data, QUERN_PEER_LOST, "a rank has unloaded the library");
            end_transfer(handle->data);
        }
        free(handle);
    }
}

static void publish(struct quern_transfer *handle, struct quern_transfer_data *data, quern_group *group) {
    *handle = (struct quern_transfer){.data = data, .group = group};
    pthread_mutex_lock(&handles.lock);
    handle->next = handles.first;
    handles.first = handle;
    pthread_mutex_unlock(&handles.lock);
    quern_on_unload(QUERN_UNLOAD_TRANSFERS, free_forgotten);
}

/* ---- the group's handle ---- */

quern_status quern_make_transfers(struct quern_membership *member) {
    if (member->transfers) return QUERN_OK;
    member->transfers = calloc(1, sizeof *member->transfers);
    if (!member->transfers) return quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for transfers");
    member->transfers->member = member;
    member->transfers->yields = 64;
    return QUERN_OK;
}

quern_status quern_check_no_transfers(const struct quern_membership *member) {
    int count = 0;
    if (!member->transfers) return QUERN_OK;
    for (const struct quern_transfer_data *transfer = member->transfers->first; transfer; transfer = transfer->next) count++;
    if (!count) return QUERN_OK;
    return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "%s has %d transfers: expected that they are destroyed before the "
                      "group",
                      member->label, count);
}

/* The other ranks have a moment to say what they still send, and to receive it. */
quern_status quern_settle_transfers(struct quern_membership *member) {
    static const int64_t MOMENT = 100000000;  /* nanoseconds */
    struct quern_transfers *all = member->transfers;
    const int64_t until = quern_now() + MOMENT;
    quern_stop_progress(member);
    if (!all || !member->net || !member->net->messages) return QUERN_OK;
    bool is_poisoned;
    while (!(is_poisoned = quern_check_poison(member) != QUERN_OK)) {
        const bool moved = quern_pass_transfers(all);
        if ((!moved && !quern_transfers_are_busy(all)) || quern_now() > until) break;
        if (!moved) sched_yield();
    }
    return quern_settle_carrier_path(all, is_poisoned);
}

void quern_forget_transfers(struct quern_membership *member) {
    struct quern_transfers *all = member->transfers;
    if (!all) return;
    quern_stop_progress(member);
    while (all->first) end_transfer(all->first);
    for (int i = 0; i < all->conns; i++) {
        quern_conn_flush(all->open[i]);
        quern_close_conn(all->open[i]);
    }
    quern_free_gpu_streams(all);
    quern_free_stream_waits(all);
    quern_free_early(all);
    free(all);
    member->transfers = NULL;
}

void quern_report_transfers(struct quern_text *text, const struct quern_membership *member) {
    const int hosts = member->net && member->net->messages ? member->roster->hosts : 0;
    const bool is_of_gpus = member->device->kind == QUERN_CUDA && !quern_nccl_rank_of(member);
    if (is_of_gpus && member->control)
        quern_text_add(text, "transfers between hosts: through %d MiB of %s\n", QUERN_BOUNCE_BUFFER_BYTES >> 20,
                       member->transport->name);
    if (is_of_gpus && !member->one_process)
        quern_text_add(text, "transfers between processes: straight from symmetric memory, other memory through %d MiB of %s\n",
                       QUERN_BOUNCE_BUFFER_BYTES >> 20, member->transport->name);
    for (int one = 0; one < hosts; one++)
        for (int other = one + 1; other < hosts; other++)
            quern_text_add(text, "transfers of hosts %d and %d: %s, and sockets for up to %d bytes from one rank to another, which "
                           "travel with the words\n", one, other, member->net->transport, QUERN_TRANSFER_SMALL);
}

/* ---- preparing ---- */

/* The items of a direction, and their bytes. */
static void count_cursor(struct quern_transfer_pair *pair) {
    for (int64_t i = 0; i < pair->count; i++) {
        struct quern_cursor *cursor = pair->parts[i].receive ? &pair->in : &pair->out;
        cursor->items++;
        cursor->all += pair->parts[i].bytes;
    }
}

static int count_peers(const struct quern_transfer_data *transfer) {
    int peers = 0;
    for (int64_t i = 0; i < transfer->count; i++) peers += !i || transfer->parts[i].peer != transfer->parts[i - 1].peer;
    return peers;
}

/* Divides the sorted parts by their peers, and opens the connection. */
static quern_status make_pairs(struct quern_transfer_data *transfer) {
    const struct quern_membership *member = transfer->member;
    const quern_device *device = member->device;
    quern_status status = QUERN_OK;
    transfer->pairs = calloc((size_t)count_peers(transfer) + 1, sizeof *transfer->pairs);
    if (!transfer->pairs) return quern_fail(device, QUERN_OUT_OF_MEMORY, "no memory for a transfer");
    for (int64_t i = 0; i < transfer->count && status == QUERN_OK;) {
        struct quern_transfer_pair *pair = &transfer->pairs[transfer->pair_count++];
        const int peer = transfer->parts[i].peer;
        *pair = (struct quern_transfer_pair){.transfer = transfer, .parts = &transfer->parts[i]};
        while (i < transfer->count && transfer->parts[i].peer == peer) i++, pair->count++;
        count_cursor(pair);
        if (peer == member->rank && transfer->gpu) pair->release = quern_await_own_copies;
        if (peer == member->rank) continue;
        pair->addresses = malloc((size_t)pair->count * sizeof *pair->addresses);
        if (!pair->addresses) return quern_fail(device, QUERN_OUT_OF_MEMORY, "no memory for a transfer");
        pair->conn = quern_conn_to(member->transfers, peer, &status);
        if (pair->conn) pair->release = pair->conn->path->release;
        if (pair->conn && !quern_conn_reserve(pair->conn, 4 * (sizeof(struct quern_transfer_frame) + QUERN_TRANSFER_REASON)))
            return quern_fail(device, QUERN_OUT_OF_MEMORY, "no memory for a transfer");
    }
    return status;
}

static quern_status fill_transfer(struct quern_transfer_data *transfer, const quern_transfer_args *args) {
    const struct quern_membership *member = transfer->member;
    transfer->count = args->item_count;
    transfer->parts = malloc(((size_t)args->item_count + 1) * sizeof *transfer->parts);
    if (!transfer->parts) return quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for a transfer");
    quern_status status = quern_read_transfer_list(member, args, transfer->parts);
    if (status == QUERN_OK) status = quern_check_reach(transfer);
    if (status == QUERN_OK) status = quern_make_gpu(transfer);
    return status == QUERN_OK ? make_pairs(transfer) : status;
}

/* From here on the other ranks know of it. */
static void announce(struct quern_transfer_data *transfer) {
    struct quern_transfers *all = transfer->member->transfers;
    transfer->instance = ++all->instances;
    transfer->next = all->first;
    all->first = transfer;
    for (int i = 0; i < transfer->pair_count; i++) {
        struct quern_transfer_pair *pair = &transfer->pairs[i];
        if (!pair->conn) continue;
        if (!quern_say_eager(pair)) quern_transfer_fail(transfer, QUERN_OUT_OF_MEMORY, "no memory to tell rank %d",
                                                        pair->conn->peer);
        quern_hear_early(all, pair);
    }
    QUERN_POINT(TRANSFER_PREPARED);
    quern_find_speakers(all);
    quern_pass_transfers(all);
}

static quern_status check_prepare(struct quern_membership *member, const quern_transfer_args *args, quern_transfer **out,
                                  double *timeout) {
    quern_status status = quern_check_struct(member->device, "quern_transfer_args", args, sizeof *args);
    if (status == QUERN_OK && !out) status = quern_fail(member->device, QUERN_NULL_POINTER, "transfer is NULL");
    if (status == QUERN_OK) status = quern_check_timeout(member, args->timeout, timeout);
    if (status == QUERN_OK) status = quern_check_transfer_list(member, args);
    if (status == QUERN_OK) status = quern_make_transfers(member);
    if (status != QUERN_OK) return status;
    for (const struct quern_transfer_data *other = member->transfers->first; other; other = other->next)
        if (other->key == args->key)
            return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "args.key is %llu: a transfer of this handle has it; "
                              "expected "
                              "another one, or that it is destroyed before", (unsigned long long)args->key);
    return QUERN_OK;
}

quern_status quern_transfer_prepare(quern_group *group, const quern_transfer_args *args, quern_transfer **out) {
    struct quern_membership *member;
    double timeout;
    quern_status status = quern_member_of(group, &member);
    if (status == QUERN_OK) status = quern_check_poison(member);
    if (status == QUERN_OK) status = check_prepare(member, args, out, &timeout);
    if (status != QUERN_OK) return status;
    struct quern_transfer_data *transfer = calloc(1, sizeof *transfer);
    struct quern_transfer *handle = malloc(sizeof *handle);
    if (!transfer || !handle) {
        free(transfer);
        free(handle);
        return quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for a transfer");
    }
    *transfer = (struct quern_transfer_data){.member = member, .key = args->key, .timeout = args->timeout};
    quern_begin_transfer_call(member->transfers);
    status = fill_transfer(transfer, args);
    if (status == QUERN_OK) announce(transfer);
    quern_end_transfer_call(member->transfers, true);
    if (status != QUERN_OK) {
        free_transfer(transfer);
        free(handle);
        return status;
    }
    publish(handle, transfer, group);
    *out = handle;
    return QUERN_OK;
}

/* ---- starting ---- */

/* Copies within the rank: each send is before its receive. */
static void copy_own(struct quern_transfer_pair *pair) {
    if (pair->transfer->gpu) {
        quern_copy_own_on_gpu(pair);
        return;
    }
    for (int64_t i = 0; i + 1 < pair->count; i += 2)
        if (pair->parts[i].bytes) memcpy(pair->parts[i + 1].memory, pair->parts[i].memory, (size_t)pair->parts[i].bytes);
    pair->in.is_complete = pair->out.is_complete = true;
}

/*
 * Over NCCL the start is said before the engine's stream has come to it, unless streams may wait for transfers: then that stream
 * may wait for one which NCCL would put behind this one.
 */
static void begin_pair(struct quern_transfer_pair *pair) {
    struct quern_transfer_data *transfer = pair->transfer;
    const struct quern_stream_waits *waits = transfer->member->transfers->waits;
    quern_begin_cursors(pair);
    pair->is_said = false;
    if (!pair->conn) copy_own(pair);
    else if (pair->is_over) quern_transfer_fail(transfer, pair->status, "%s", pair->reason);
    else if (!transfer->gpu || (pair->conn->nccl && (!waits || transfer->is_captured))) quern_say_start(pair);
}

/* Without sending: the caller sends for all that begin together. */
static void begin(struct quern_transfer_data *transfer) {
    transfer->state = QUERN_TRANSFER_STARTED;
    transfer->round++;
    for (int i = 0; i < transfer->pair_count && transfer->state == QUERN_TRANSFER_STARTED; i++) begin_pair(&transfer->pairs[i]);
    QUERN_POINT(TRANSFER_STARTED);
}

static quern_status check_start(struct quern_transfer_data *transfer) {
    const quern_device *device = transfer->member->device;
    const unsigned long long key = transfer->key;
    if (transfer->state == QUERN_TRANSFER_DEFERRED)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "transfer %llu was started since quern_transfer_begin", key);
    if (transfer->state == QUERN_TRANSFER_STARTED)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "transfer %llu is under way: expected quern_transfer_wait before", key);
    return quern_transfer_status(transfer);
}

/* The graph has the transfer when the other ranks capture it, too. */
static quern_status await_capture(struct quern_transfer_data *transfer) {
    double limit;
    quern_status status = quern_check_timeout(transfer->member, transfer->timeout, &limit);
    return status == QUERN_OK ? quern_wait_for_transfer(transfer, limit) : status;
}

static quern_status start_transfer(struct quern_transfer_data *transfer, void *stream, struct quern_look *look) {
    quern_status status = quern_transfer_poisoned(transfer);
    if (status == QUERN_OK) status = check_start(transfer);
    if (status == QUERN_OK) status = quern_mark_start(transfer, stream);
    if (status != QUERN_OK) return status;
    quern_show_call(look, NULL, transfer);
    transfer->batch = 0;
    if (transfer->member->transfers->is_batch) {
        transfer->state = QUERN_TRANSFER_DEFERRED;
        return QUERN_OK;
    }
    quern_pass_transfers(transfer->member->transfers);  /* what has come before the start */
    status = quern_transfer_status(transfer);
    if (status != QUERN_OK) return status;
    begin(transfer);
    if (transfer->is_captured) return await_capture(transfer);
    quern_pass_transfers(transfer->member->transfers);
    return quern_transfer_status(transfer);
}

static quern_status start(quern_transfer *handle, void *stream, struct quern_look *look) {
    struct quern_transfer_data *transfer;
    quern_status status = quern_transfer_of(handle, &transfer);
    if (status == QUERN_OK) quern_look_at_member(look, transfer->member);
    if (status == QUERN_OK) status = quern_check_stream(transfer->member->device, stream);
    if (status != QUERN_OK) return status;
    quern_begin_transfer_call(transfer->member->transfers);
    status = start_transfer(transfer, stream, look);
    quern_end_transfer_call(transfer->member->transfers, true);
    return status;
}

static void show(const void *transfer, struct quern_tensor_taker *taker) { quern_show_transfer(transfer, 0, taker); }

static const struct quern_view view = {.name = "transfer_start", .tensors = show};

quern_status quern_transfer_start(quern_transfer *handle, void *stream) {
    struct quern_look look;
    quern_begin_look(&look, &view, NULL, stream);
    return quern_end_look(&look, start(handle, stream, &look));
}

quern_status quern_transfer_begin(quern_group *group) {
    struct quern_membership *member;
    quern_status status = quern_member_of(group, &member);
    if (status == QUERN_OK) status = quern_check_poison(member);
    if (status == QUERN_OK) status = quern_make_transfers(member);
    if (status == QUERN_OK && member->transfers->is_batch)
        status = quern_fail(member->device, QUERN_INVALID_ARGUMENT, "quern_transfer_begin was called before: expected "
                            "quern_transfer_end");
    if (status == QUERN_OK) member->transfers->is_batch = true;
    return status;
}

/* The one with the lowest key that has not begun. */
static struct quern_transfer_data *next_deferred(const struct quern_transfers *all) {
    struct quern_transfer_data *next = NULL;
    for (struct quern_transfer_data *transfer = all->first; transfer; transfer = transfer->next)
        if (transfer->state == QUERN_TRANSFER_DEFERRED && (!next || transfer->key < next->key)) next = transfer;
    return next;
}

static void end_batch(struct quern_transfers *all) {
    all->is_batch = false;
    quern_pass_transfers(all);
    if (!++all->batches) all->batches = 1;  /* 0: none */
    for (struct quern_transfer_data *transfer = all->first; transfer; transfer = transfer->next)
        if (transfer->state == QUERN_TRANSFER_DEFERRED) transfer->batch = all->batches;
    quern_say_batch(all, all->batches, true);
    for (struct quern_transfer_data *transfer; (transfer = next_deferred(all));) begin(transfer);
    quern_say_batch(all, all->batches, false);
    quern_pass_transfers(all);
}

quern_status quern_transfer_end(quern_group *group) {
    struct quern_membership *member;
    quern_status status = quern_member_of(group, &member);
    if (status != QUERN_OK) return status;
    struct quern_transfers *all = member->transfers;
    if (!all || !all->is_batch)
        return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "quern_transfer_end without quern_transfer_begin");
    quern_begin_transfer_call(all);
    end_batch(all);
    quern_end_transfer_call(all, true);
    return quern_check_poison(member);
}

/* ---- ending ---- */

static quern_status cancel(struct quern_transfer_data *transfer, const char *reason) {
    const quern_device *device = transfer->member->device;
    const unsigned long long key = transfer->key;
    if (transfer->state == QUERN_TRANSFER_OVER)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "transfer %llu %s: %s", key,
                          transfer->is_cancelled ? "was cancelled before" : "has failed before", transfer->reason);
    char text[161];
    quern_copy_text(text, reason ? reason : "", sizeof text);
    transfer->is_cancelled = true;
    quern_transfer_fail(transfer, QUERN_GROUP_ABORTED, "rank %d has cancelled the transfer%s%s", transfer->member->rank,
                        *text ? ": " : "", text);
    return QUERN_OK;
}

quern_status quern_transfer_cancel(quern_transfer *handle, const char *reason) {
    struct quern_transfer_data *transfer;
    quern_status status = quern_transfer_of(handle, &transfer);
    if (status != QUERN_OK) return status;
    quern_begin_transfer_call(transfer->member->transfers);
    status = cancel(transfer, reason);
    quern_end_transfer_call(transfer->member->transfers, true);
    return status;
}

quern_status quern_transfer_destroy(quern_transfer *handle) {
    if (!handle) return QUERN_OK;
    struct quern_transfer_data *transfer;
    quern_status status = quern_check_creator(handle->group);
    if (status == QUERN_OK) status = quern_transfer_of(handle, &transfer);
    if (status != QUERN_OK) return status;
    struct quern_transfers *all = transfer->member->transfers;
    __atomic_store_n(&handle->data, NULL, __ATOMIC_RELEASE);
    quern_begin_transfer_call(all);
    if (transfer->state != QUERN_TRANSFER_OVER)
        quern_transfer_fail(transfer, QUERN_PEER_LOST, "rank %d has destroyed its transfer", transfer->member->rank);
    end_transfer(transfer);
    quern_end_transfer_call(all, true);
    return QUERN_OK;
}
