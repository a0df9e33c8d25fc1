/* Transfers of two GPU ranks over NCCL.  Called by progress.c, and by transfers.c at their end. */
#define _POSIX_C_SOURCE 200809L
#include "ranks/transfer/transfer.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "os/clock.h"
#include "ranks/describe.h"
#include "ranks/handles.h"
#include "ranks/poison.h"
#include "runtime/status.h"

static const int64_t LINGER = 100000000;  /* nanoseconds for a flight whose transfer has failed, which most often completes */

static bool serves(const struct quern_conn *conn) {
    return conn->member->device->kind == QUERN_CUDA && quern_nccl_rank_of(conn->member);
}

static quern_status open_path(struct quern_conn *conn) {
    conn->reads = conn->is_read = QUERN_ACCESS_NO;
    conn->nccl = calloc(1, sizeof *conn->nccl);
    if (!conn->nccl) return quern_fail(conn->member->device, QUERN_OUT_OF_MEMORY, "no memory for transfers");
    return quern_nccl_open_pair(conn->member, conn->peer, &conn->nccl->nccl);
}

static void drop_order(struct quern_nccl_path *path) {
    struct quern_nccl_order *order = path->waiting;
    path->waiting = order->next;
    free(order->list);
    free(order);
}

static void close_path(struct quern_conn *conn) {
    struct quern_nccl_path *path = conn->nccl;
    if (!path) return;
    while (path->waiting) drop_order(path);
    free(path->items);
    free(path);
}

static bool is_lower(const struct quern_conn *conn) { return conn->member->rank < conn->peer; }

static bool is_complete(const struct quern_transfer_pair *pair) { return pair->in.is_complete && pair->out.is_complete; }

static bool is_started(const struct quern_transfer_pair *pair) { return pair->transfer->state == QUERN_TRANSFER_STARTED; }

static struct quern_transfer_pair *pair_of(struct quern_transfer_data *transfer, const struct quern_conn *conn) {
    for (int i = 0; i < transfer->pair_count; i++)
        if (transfer->pairs[i].conn == conn) return &transfer->pairs[i];
    return NULL;
}

static void say(struct quern_conn *conn, enum quern_word word, const void *payload, size_t bytes) {
    quern_conn_say(conn, (struct quern_transfer_frame){.word = word, .number = conn->nccl->generation}, payload, bytes);
}

/* ---- the end of a communicator ---- */

/* Those that need it: what flies here or at the other rank, and without a communicator that was ready all that wait for one. */
static int list_victims(struct quern_transfers *all, struct quern_conn *conn, struct quern_transfer_data **victims, int most) {
    const bool was_ready = conn->nccl->is_said && conn->nccl->is_heard;
    int count = 0;
    for (struct quern_transfer_data *transfer = all->first; transfer && count < most; transfer = transfer->next) {
        struct quern_transfer_pair *pair = pair_of(transfer, conn);
        if (!pair || !is_started(pair) || is_complete(pair) || !pair->is_agreed) continue;
        if (pair->flies || pair->is_over || !was_ready) victims[count++] = transfer;
    }
    return count;
}

static void forget_flight(struct quern_nccl_path *path) {
    for (int i = 0; i < path->flying; i++) path->flight[i]->flies = false;
    path->flying = 0;
}

/* Aborts it and lets the transfers that need it fail.  The other rank is told of these first, and then of the abort. */
static void break_link(struct quern_transfers *all, struct quern_conn *conn, bool is_news, quern_status status,
                       const char *reason) {
    enum { MOST = 64 };  /* at a time: those that are left still need it */
    struct quern_nccl_path *path = conn->nccl;
    struct quern_transfer_data *victims[MOST];
    char text[QUERN_TRANSFER_REASON] = "";
    quern_copy_text(text, reason, sizeof text);
    quern_nccl_reset_pair(path->nccl, status, text);
    while (path->waiting) drop_order(path);
    for (int count; (count = list_victims(all, conn, victims, MOST)) > 0;)
        for (int i = 0; i < count; i++) {
            struct quern_transfer_pair *pair = pair_of(victims[i], conn);
            pair->flies = false;
            if (pair->is_over) quern_transfer_fail(victims[i], pair->status, "%s", pair->reason);
            else quern_transfer_fail(victims[i], status, "%s", text);
        }
    forget_flight(path);
    path->is_said = path->is_heard = false;
    if (is_news)
        quern_conn_say(conn, (struct quern_transfer_frame){.word = QUERN_WORD_BREAK,
                                                           .number = (uint64_t)status << 32 | path->generation}, text, sizeof text);
}

/* With what the thread's last call has failed. */
static void break_by_detail(struct quern_transfers *all, struct quern_conn *conn, quern_status status) {
    char reason[QUERN_TRANSFER_REASON];
    quern_error_detail(reason, sizeof reason);
    break_link(all, conn, true, status, reason);
}

/* ---- flights ---- */

static void land(struct quern_nccl_path *path) {
    for (int i = 0; i < path->flying; i++) {
        struct quern_transfer_pair *pair = path->flight[i];
        pair->flies = false;
        pair->in.is_complete = pair->out.is_complete = true;
    }
    path->flying = 0;
}

/* The messages of the flight, in the order of both lists.  Items without bytes are none. */
static bool list_items(struct quern_nccl_path *path, int64_t *count) {
    int64_t all = 0;
    for (int i = 0; i < path->flying; i++) all += path->flight[i]->count;
    if (all > path->room) {
        free(path->items);
        path->items = malloc((size_t)all * sizeof *path->items);
        path->room = path->items ? all : 0;
    }
    *count = 0;
    if (!path->items) return false;
    for (int i = 0; i < path->flying; i++)
        for (int64_t item = 0; item < path->flight[i]->count; item++) {
            const struct quern_transfer_part *part = &path->flight[i]->parts[item];
            if (part->bytes)
                path->items[(*count)++] = (struct quern_nccl_item){part->memory, (size_t)part->bytes, !part->receive};
        }
    return true;
}

/* The work of the engine's streams at the starts goes first, outside of NCCL's group. */
static quern_status wait_for_engine(const struct quern_nccl_path *path) {
    quern_status status = QUERN_OK;
    for (int i = 0; i < path->flying && status == QUERN_OK; i++)
        if (!path->flight[i]->transfer->is_captured)
            status = quern_nccl_let_pair_wait(path->nccl, path->flight[i]->transfer->gpu->ready);
    return status;
}

/* A flight into a graph is one transfer. */
static void send_flight(struct quern_nccl_path *path, int64_t count) {
    const struct quern_transfer_data *transfer = path->flight[0]->transfer;
    struct quern_nccl_place place = {transfer->gpu->captured, transfer->gpu->ready, 0};
    quern_check_timeout(transfer->member, transfer->timeout, &place.timeout);
    if (transfer->is_captured) quern_nccl_capture_pair(path->nccl, path->items, count, &place);
    else quern_nccl_send_pair(path->nccl, path->items, count);
}

static void take_off(struct quern_transfers *all, struct quern_conn *conn) {
    struct quern_nccl_path *path = conn->nccl;
    int64_t count;
    for (int i = 0; i < path->flying; i++) path->flight[i]->flies = true;
    if (!list_items(path, &count)) {
        break_link(all, conn, true, QUERN_OUT_OF_MEMORY, "no memory for the messages of a transfer");
        return;
    }
    const quern_status status = count ? wait_for_engine(path) : QUERN_OK;
    if (status != QUERN_OK) break_by_detail(all, conn, status);
    else if (count) send_flight(path, count);
    else land(path);
}

/* ---- the lower rank decides ---- */

static bool is_clear(const struct quern_transfer_pair *pair) {
    return is_started(pair) && pair->is_said && pair->is_agreed && !pair->flies && !pair->is_over && !is_complete(pair) &&
           pair->other_round == pair->transfer->round && pair->other_captures == pair->transfer->is_captured;
}

/* Both ranks capture a transfer, or none. */
static void check(struct quern_transfer_pair *pair) {
    struct quern_transfer_data *transfer = pair->transfer;
    const int rank = transfer->member->rank, peer = pair->conn->peer;
    if (!is_started(pair) || pair->other_round != transfer->round || pair->other_captures == transfer->is_captured) return;
    quern_transfer_fail(transfer, QUERN_PEER_MISMATCH, "rank %d starts the transfer on a stream that is being captured, and rank "
                        "%d on one that is not", transfer->is_captured ? rank : peer, transfer->is_captured ? peer : rank);
}

/* The one with the lowest key, and with it those that both ranks have started in the same batches. */
static void choose_flight(const struct quern_transfers *all, struct quern_conn *conn) {
    struct quern_nccl_path *path = conn->nccl;
    struct quern_transfer_pair *first = NULL;
    for (struct quern_transfer_data *transfer = all->first; transfer; transfer = transfer->next) {
        struct quern_transfer_pair *pair = pair_of(transfer, conn);
        if (pair && is_clear(pair) && (!first || transfer->key < first->transfer->key)) first = pair;
    }
    path->flying = 0;
    if (first) path->flight[path->flying++] = first;
    if (!first || !first->transfer->batch || !first->other_batch) return;
    for (struct quern_transfer_data *transfer = all->first; transfer; transfer = transfer->next) {
        struct quern_transfer_pair *pair = transfer->batch == first->transfer->batch ? pair_of(transfer, conn) : NULL;
        if (!pair || pair == first || !is_clear(pair) || pair->other_batch != first->other_batch) continue;
        if (path->flying < QUERN_TRANSFER_MOST_GO) path->flight[path->flying++] = pair;
    }
}

static bool say_go(struct quern_conn *conn) {
    const struct quern_nccl_path *path = conn->nccl;
    const size_t bytes = (size_t)path->flying * sizeof(struct quern_transfer_go);
    struct quern_transfer_go *list = malloc(bytes);
    if (!list) return false;
    for (int i = 0; i < path->flying; i++) {
        const struct quern_transfer_pair *pair = path->flight[i];
        const struct quern_transfer_data *transfer = pair->transfer;
        list[i] = (struct quern_transfer_go){transfer->key, transfer->round, transfer->instance, pair->other};
    }
    say(conn, QUERN_WORD_GO, list, bytes);
    free(list);
    return true;
}

static bool begin_flight(struct quern_transfers *all, struct quern_conn *conn) {
    struct quern_nccl_path *path = conn->nccl;
    if (path->is_batching) return false;
    choose_flight(all, conn);
    if (!path->flying) return false;
    if (!say_go(conn)) {
        path->flying = 0;
        return false;  /* the next look tries again */
    }
    take_off(all, conn);
    return true;
}

/* ---- the upper rank obeys ---- */

static struct quern_transfer_pair *named_pair(const struct quern_transfers *all, const struct quern_conn *conn,
                                              const struct quern_transfer_go *go) {
    struct quern_transfer_data *transfer = all->first;
    while (transfer && transfer->key != go->key) transfer = transfer->next;
    struct quern_transfer_pair *pair = transfer && transfer->instance == go->other ? pair_of(transfer, conn) : NULL;
    const bool is_meant = pair && pair->other == go->instance && transfer->round == go->round && pair->is_agreed &&
                          is_started(pair);
    return is_meant ? pair : NULL;
}

static void obey(struct quern_transfers *all, struct quern_conn *conn) {
    struct quern_nccl_path *path = conn->nccl;
    const struct quern_nccl_order *order = path->waiting;
    bool is_whole = true;
    path->flying = 0;
    for (int i = 0; i < order->count; i++) {
        struct quern_transfer_pair *pair = named_pair(all, conn, &order->list[i]);
        if (!pair) is_whole = false;
        else if (pair->flies) quern_conn_damaged(conn);  /* named twice: nothing flies yet */
        else path->flight[path->flying++] = pair;
        if (pair) pair->flies = true;
    }
    drop_order(path);
    if (conn->status != QUERN_OK) {
        forget_flight(path);
        return;
    }
    if (is_whole) {
        take_off(all, conn);
        return;
    }
    char reason[100];
    struct quern_text text = quern_text_begin(reason, sizeof reason);
    quern_text_add(&text, "rank %d has ended a transfer that was to begin together with this one", conn->member->rank);
    break_link(all, conn, true, QUERN_GROUP_ABORTED, reason);
}

/* ---- the communicator ---- */

/* Once in advance, then only for what was started. */
static bool needs_connection(const struct quern_transfers *all, struct quern_conn *conn) {
    for (struct quern_transfer_data *transfer = all->first; transfer; transfer = transfer->next) {
        struct quern_transfer_pair *pair = pair_of(transfer, conn);
        if (pair && pair->is_agreed && !pair->is_over && transfer->state != QUERN_TRANSFER_OVER &&
            (!conn->nccl->generation || conn->nccl->is_forgotten || is_clear(pair)))
            return true;
    }
    return false;
}

static void say_connect(struct quern_conn *conn, bool is_kept, const ncclUniqueId *id) {
    const uint64_t number = (uint64_t)is_kept << 32 | conn->nccl->generation;
    quern_conn_say(conn, (struct quern_transfer_frame){.word = QUERN_WORD_CONNECT, .number = number}, id, sizeof *id);
}

/* An earlier group has left one here, and perhaps at the other rank.  Else it is a new one. */
static bool connect_pair(struct quern_transfers *all, struct quern_conn *conn) {
    struct quern_nccl_path *path = conn->nccl;
    ncclUniqueId id;
    if (!needs_connection(all, conn)) return false;
    path->generation++;
    path->is_said = path->is_heard = path->is_forgotten = false;
    const bool is_kept = quern_nccl_recall_pair(path->nccl, NULL);
    const ncclResult_t result = is_kept ? ncclSuccess : path->nccl->rank->nccl->unique_id(&id);
    if (result != ncclSuccess) {
        break_by_detail(all, conn, quern_nccl_fail(conn->member->device, result, "ncclGetUniqueId", NULL));
        return true;
    }
    say_connect(conn, is_kept, is_kept ? &path->nccl->comm.id : &id);
    if (!is_kept) quern_nccl_make_pair(path->nccl, &id);
    return true;
}

static bool advance(struct quern_conn *conn) {
    struct quern_transfers *all = conn->member->transfers;
    struct quern_nccl_path *path = conn->nccl;
    if (conn->status != QUERN_OK && !path->flying) return false;
    const enum quern_nccl_phase phase = quern_nccl_ask_pair(path->nccl);
    if (phase == QUERN_NCCL_BROKEN) {
        const quern_status status = path->nccl->status;
        char reason[QUERN_TRANSFER_REASON];
        quern_copy_text(reason, path->nccl->reason, sizeof reason);
        break_link(all, conn, true, status, reason);
        return true;
    }
    if (phase == QUERN_NCCL_NONE) return is_lower(conn) && conn->status == QUERN_OK && connect_pair(all, conn);
    if (phase != QUERN_NCCL_READY) return false;
    bool moved = path->flying > 0 || !path->is_said;
    land(path);
    if (!path->is_said) say(conn, QUERN_WORD_CONNECTED, NULL, 0);
    path->is_said = true;
    if (!path->is_heard || conn->status != QUERN_OK) return moved;
    if (is_lower(conn)) return begin_flight(all, conn) || moved;
    if (!path->waiting) return moved;
    obey(all, conn);
    return true;
}

static bool is_busy(const struct quern_conn *conn) {
    const struct quern_nccl_path *path = conn->nccl;
    return path->flying || (path->nccl->phase != QUERN_NCCL_NONE && !path->is_said);
}

/* ---- words ---- */

static void hear_connect(struct quern_transfers *all, struct quern_conn *conn, const struct quern_transfer_frame *head) {
    struct quern_nccl_path *path = conn->nccl;
    ncclUniqueId id;
    if (is_lower(conn) || head->bytes != sizeof id) {
        quern_conn_damaged(conn);
        return;
    }
    memcpy(&id, conn->payload, sizeof id);
    if (path->nccl->phase != QUERN_NCCL_NONE)
        break_link(all, conn, false, QUERN_PEER_LOST, "the other rank has begun a new communicator");
    path->generation = (uint32_t)head->number;
    path->is_said = path->is_heard = false;
    if (!(head->number >> 32)) quern_nccl_make_pair(path->nccl, &id);
    else if (!quern_nccl_recall_pair(path->nccl, &id)) say(conn, QUERN_WORD_FORGOTTEN, NULL, 0);
}

/* Nothing has begun in it, so no transfer fails: the next one is older, or new. */
static void hear_forgotten(struct quern_conn *conn, const struct quern_transfer_frame *head) {
    struct quern_nccl_path *path = conn->nccl;
    if (!is_lower(conn)) quern_conn_damaged(conn);
    if (!is_lower(conn) || (uint32_t)head->number != path->generation || path->nccl->phase == QUERN_NCCL_NONE) return;
    quern_nccl_reset_pair(path->nccl, QUERN_PEER_LOST, "the other rank has not kept the communicator");
    path->is_said = path->is_heard = false;
    path->is_forgotten = true;
}

static void hear_go(struct quern_conn *conn, const struct quern_transfer_frame *head) {
    struct quern_nccl_path *path = conn->nccl;
    struct quern_nccl_order **end = &path->waiting, *order;
    const uint64_t count = head->bytes / sizeof *order->list;
    if ((uint32_t)head->number != path->generation || !path->is_said) return;  /* it is broken, and that is said */
    if (is_lower(conn) || !count || head->bytes % sizeof *order->list) {
        quern_conn_damaged(conn);
        return;
    }
    order = malloc(sizeof *order);
    if (!order) {
        conn->status = QUERN_OUT_OF_MEMORY;
        return;
    }
    *order = (struct quern_nccl_order){NULL, (int)count, (void *)conn->payload};
    while (*end) end = &(*end)->next;
    *end = order;
    conn->payload = NULL;
}

static void hear_break(struct quern_transfers *all, struct quern_conn *conn, const struct quern_transfer_frame *head) {
    char reason[QUERN_TRANSFER_REASON];
    if (head->bytes != sizeof reason) {
        quern_conn_damaged(conn);
        return;
    }
    if ((uint32_t)head->number != conn->nccl->generation || conn->nccl->nccl->phase == QUERN_NCCL_NONE) return;
    quern_copy_text(reason, (const char *)conn->payload, sizeof reason);
    break_link(all, conn, false, quern_told_status((uint32_t)(head->number >> 32)), reason);
}

static void hears(struct quern_conn *conn, struct quern_transfer_pair *pair, const struct quern_transfer_frame *head) {
    struct quern_transfers *all = conn->member->transfers;
    struct quern_nccl_path *path = conn->nccl;
    (void)pair;
    switch (head->word) {
    case QUERN_WORD_BATCH: path->is_batching = head->number == 1; break;
    case QUERN_WORD_CONNECT: hear_connect(all, conn, head); break;
    case QUERN_WORD_FORGOTTEN: hear_forgotten(conn, head); break;
    case QUERN_WORD_CONNECTED: path->is_heard |= (uint32_t)head->number == path->generation; break;
    case QUERN_WORD_GO: hear_go(conn, head); break;
    case QUERN_WORD_BREAK: hear_break(all, conn, head); break;
    default: break;
    }
}

/* ---- the end of a transfer ---- */

static void remove_from_flight(struct quern_nccl_path *path, const struct quern_transfer_pair *pair) {
    int kept = 0;
    for (int i = 0; i < path->flying; i++)
        if (path->flight[i] != pair) path->flight[kept++] = path->flight[i];
    path->flying = kept;
}

/* Both ends have what flies, so it completes in a moment unless a rank hangs. */
static bool has_landed(struct quern_nccl_path *path) {
    const int64_t until = quern_now() + LINGER;
    enum quern_nccl_phase phase = quern_nccl_ask_pair(path->nccl);
    for (; phase == QUERN_NCCL_ENQUEUING || phase == QUERN_NCCL_RUNNING; phase = quern_nccl_ask_pair(path->nccl)) {
        if (quern_now() >= until) return false;
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
    return phase == QUERN_NCCL_READY;
}

static void release(struct quern_transfer_pair *pair, quern_status status, const char *reason) {
    struct quern_transfers *all = pair->transfer->member->transfers;
    struct quern_conn *conn = pair->conn;
    struct quern_nccl_path *path = conn->nccl;
    const bool is_unmade = path->nccl->phase == QUERN_NCCL_MAKING && status == QUERN_PEER_TIMEOUT;
    const bool is_alone = pair->is_over && !pair->other_flew;
    const bool hangs = pair->flies && (is_alone || !has_landed(path));
    remove_from_flight(path, pair);
    pair->flies = false;
    if (hangs || is_unmade) break_link(all, conn, true, status, reason);
}

const struct quern_path quern_nccl_path = {
    .serves = serves, .open = open_path, .close = close_path, .hears = hears, .advance = advance, .is_busy = is_busy,
    .check = check, .release = release};
