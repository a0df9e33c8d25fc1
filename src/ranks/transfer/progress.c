/*
 * The words of transfers.  A rank tells each rank of its list what the list has for it (eager message) when it is prepared, and
 * each start and end.  Words for a transfer that is not prepared here yet are kept.  Called by transfer.c.
 */
#define _GNU_SOURCE
#include "ranks/transfer/transfer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "os/clock.h"
#include "ranks/describe.h"
#include "ranks/hosts/hosts.h"
#include "ranks/points.h"
#include "runtime/status.h"

enum { MOST_EARLY = 4096 };  /* transfers that have not met their like */
static const int64_t GRACE = 60000000;  /* nanoseconds for the reason of an end, which comes by another connection */

/* ---- conns ---- */

static bool is_of_gpus(const struct quern_conn *conn) { return conn->member->device->kind == QUERN_CUDA; }

/* The last one serves all. */
static const struct quern_path *const paths[] = {&quern_nccl_path, &quern_carrier_path, &quern_bounce_path, &quern_direct_path};

static void say_hello(struct quern_conn *conn) {
    const struct quern_roster *roster = conn->member->roster;
    const struct quern_transfer_hello hello = {.address = (uintptr_t)roster->self.id, .pid = (int32_t)getpid()};
    if (conn->is_elsewhere || is_of_gpus(conn) || roster->peer[conn->peer].is_here) return;
    quern_conn_say(conn, (struct quern_transfer_frame){.word = QUERN_WORD_HELLO}, &hello, sizeof hello);
}

struct quern_conn *quern_conn_to(struct quern_transfers *all, int peer, quern_status *status) {
    *status = QUERN_OK;
    if (all->conn[peer]) return all->conn[peer];
    struct quern_conn *conn = quern_open_conn(all->member, peer, status);
    if (!conn) return NULL;
    for (int i = 0; !conn->path; i++)
        if (paths[i]->serves(conn)) conn->path = paths[i];
    if (conn->path->open) *status = conn->path->open(conn);
    if (*status != QUERN_OK) {
        quern_close_conn(conn);
        return NULL;
    }
    all->conn[peer] = all->open[all->conns++] = conn;
    say_hello(conn);
    return conn;
}

void quern_find_speakers(struct quern_transfers *all) {
    const struct quern_membership *member = all->member;
    for (int peer = 0; peer < member->ranks; peer++) {
        quern_status status;
        if (peer == member->rank || all->conn[peer]) continue;
        if (member->roster->peer[peer].is_elsewhere || quern_ring_speaks(member, peer)) quern_conn_to(all, peer, &status);
    }
}

/* The other process can be read if its random number can. */
static void hear_hello(struct quern_conn *conn, const struct quern_transfer_hello *hello) {
    const struct quern_peer *peer = &conn->member->roster->peer[conn->peer];
    unsigned char id[sizeof peer->process.id];
    struct iovec here = {id, sizeof id}, there = {(void *)(uintptr_t)hello->address, sizeof id};
    const bool reads = !peer->is_here && process_vm_readv(hello->pid, &here, 1, &there, 1, 0) == sizeof id &&
                       memcmp(id, peer->process.id, sizeof id) == 0;
    conn->pid = hello->pid;
    if (conn->reads == QUERN_ACCESS_UNKNOWN) conn->reads = reads ? QUERN_ACCESS_YES : QUERN_ACCESS_NO;
    quern_conn_say(conn, (struct quern_transfer_frame){.word = QUERN_WORD_REACH, .number = conn->reads == QUERN_ACCESS_YES}, NULL,
                   0);
}

/* ---- finding what a word is about ---- */

static struct quern_transfer_data *find_transfer(const struct quern_transfers *all, uint64_t key) {
    struct quern_transfer_data *transfer = all->first;
    while (transfer && transfer->key != key) transfer = transfer->next;
    return transfer;
}

static struct quern_transfer_pair *pair_with(struct quern_transfer_data *transfer, int peer) {
    for (int i = 0; transfer && i < transfer->pair_count; i++)
        if (transfer->pairs[i].conn && transfer->pairs[i].conn->peer == peer) return &transfer->pairs[i];
    return NULL;
}

/* The pair that the sender of a word means; NULL: it is not prepared here, or was destroyed. */
static struct quern_transfer_pair *meant_pair(const struct quern_transfers *all, int peer,
                                              const struct quern_transfer_frame *head) {
    struct quern_transfer_pair *pair = pair_with(find_transfer(all, head->key), peer);
    const bool is_known = pair && pair->other && pair->other == head->instance;
    return pair && (is_known || head->other == pair->transfer->instance) ? pair : NULL;
}

/* ---- those that have not met ---- */

static struct quern_early **find_early(struct quern_transfers *all, int peer, uint64_t key) {
    struct quern_early **link = &all->early;
    while (*link && ((*link)->peer != peer || (*link)->key != key)) link = &(*link)->next;
    return link;
}

static struct quern_early *find_instance(struct quern_transfers *all, int peer, const struct quern_transfer_frame *head) {
    struct quern_early *early = all->early;
    while (early && (early->is_own || early->peer != peer || early->key != head->key || early->instance != head->instance))
        early = early->next;
    return early;
}

static void drop_early(struct quern_transfers *all, struct quern_early **link) {
    struct quern_early *early = *link;
    *link = early->next;
    all->earlies--;
    free(early->entries);
    free(early);
}

void quern_free_early(struct quern_transfers *all) {
    while (all->early) drop_early(all, &all->early);
}

/* Behind all others.  Without room for it, the connection ends, since nothing would meet its like any more. */
static bool add_early(struct quern_transfers *all, struct quern_conn *conn, const struct quern_early *given) {
    struct quern_early **link = &all->early, *early = all->earlies < MOST_EARLY ? malloc(sizeof *early) : NULL;
    if (!early) {
        conn->status = QUERN_OUT_OF_MEMORY;
        return false;
    }
    while (*link) link = &(*link)->next;
    *early = *given;
    *link = early;
    all->earlies++;
    return true;
}

void quern_keep_turn(struct quern_transfers *all, struct quern_transfer_pair *pair) {
    if (!pair->conn || pair->other || pair->conn->status != QUERN_OK) return;
    add_early(all, pair->conn, &(struct quern_early){.peer = pair->conn->peer, .key = pair->transfer->key, .is_own = true});
}

static void keep_eager(struct quern_transfers *all, struct quern_conn *conn, const struct quern_transfer_frame *head) {
    const struct quern_early early = {.peer = conn->peer, .key = head->key, .instance = head->instance,
                                      .count = (int64_t)(head->bytes / sizeof *early.entries), .entries = (void *)conn->payload};
    if (add_early(all, conn, &early)) conn->payload = NULL;
}

/* ---- eager messages ---- */

bool quern_say_eager(struct quern_transfer_pair *pair) {
    const struct quern_transfer_data *transfer = pair->transfer;
    const size_t bytes = (size_t)pair->count * sizeof(struct quern_transfer_entry);
    struct quern_transfer_entry *entries = malloc(bytes);
    if (!entries) return false;
    for (int64_t i = 0; i < pair->count; i++)
        entries[i] = (struct quern_transfer_entry){.tag = pair->parts[i].tag, .address = (uintptr_t)pair->parts[i].memory,
                                                   .bytes = pair->parts[i].bytes, .receive = pair->parts[i].receive};
    if (is_of_gpus(pair->conn)) quern_name_memory(pair, entries);
    quern_conn_say(pair->conn, (struct quern_transfer_frame){.word = QUERN_WORD_EAGER, .key = transfer->key,
                                                             .instance = transfer->instance}, entries, bytes);
    free(entries);
    return pair->conn->status != QUERN_OUT_OF_MEMORY;
}

/* `flew`: the other rank has handed this round to NCCL, where it completes, or is broken in the next words. */
static void end_pair(struct quern_transfer_pair *pair, quern_status status, const char *reason, bool flew) {
    struct quern_transfer_data *transfer = pair->transfer;
    const bool is_needed = transfer->state == QUERN_TRANSFER_STARTED && !(pair->in.is_complete && pair->out.is_complete);
    pair->is_over = true;
    pair->other_flew = flew;
    pair->status = status;
    quern_copy_text(pair->reason, reason, sizeof pair->reason);
    if (is_needed && !flew) quern_transfer_fail(transfer, status, "%s", pair->reason);
}

void quern_hear_early(struct quern_transfers *all, struct quern_transfer_pair *pair) {
    struct quern_early **link = find_early(all, pair->conn->peer, pair->transfer->key), *early = *link;
    if (!early || early->is_own) return;
    pair->other = early->instance;
    pair->other_round = early->round;
    pair->other_batch = early->batch;
    pair->other_captures = early->captures;
    if (!early->is_over) pair->is_agreed = quern_agree_on_lists(pair, early->entries, early->count);
    else end_pair(pair, early->status, early->reason, false);
    drop_early(all, link);
}

static void refuse(struct quern_conn *conn, struct quern_transfer_data *transfer, const struct quern_transfer_frame *head) {
    const struct quern_transfer_frame end = {.word = QUERN_WORD_END, .key = head->key, .instance = transfer->instance,
                                             .other = head->instance, .number = (uint64_t)transfer->status};
    quern_conn_say(conn, end, transfer->reason, sizeof transfer->reason);
    quern_withdraw(conn);
}

static void hear_eager(struct quern_transfers *all, struct quern_conn *conn, const struct quern_transfer_frame *head) {
    struct quern_transfer_data *transfer = find_transfer(all, head->key);
    struct quern_transfer_pair *pair = pair_with(transfer, conn->peer);
    const int64_t count = (int64_t)(head->bytes / sizeof(struct quern_transfer_entry));
    const struct quern_transfer_entry *entries = (const void *)conn->payload;
    struct quern_early **own = find_early(all, conn->peer, head->key);
    if (!head->instance || !count || head->bytes % sizeof *entries) {
        quern_conn_damaged(conn);
    } else if (*own && (*own)->is_own) {
        drop_early(all, own);
    } else if (pair && !pair->other) {
        pair->other = head->instance;
        if (transfer->state != QUERN_TRANSFER_OVER) pair->is_agreed = quern_agree_on_lists(pair, entries, count);
    } else if (transfer && !pair) {
        quern_refuse_list(transfer, conn->peer, entries, count);
        refuse(conn, transfer, head);
    } else {
        keep_eager(all, conn, head);
    }
}

/* ---- the other words ---- */

static void hear_start(struct quern_transfers *all, struct quern_conn *conn, const struct quern_transfer_frame *head) {
    struct quern_transfer_pair *pair = meant_pair(all, conn->peer, head);
    struct quern_early *early = find_instance(all, conn->peer, head);
    if (pair) {
        pair->other_round = head->round;
        pair->other_batch = (uint32_t)head->number;
        pair->other_captures = head->number >> 32;
    } else if (early) {
        early->round = head->round;
        early->batch = (uint32_t)head->number;
        early->captures = head->number >> 32;
    }
}

static void hear_done(struct quern_transfers *all, struct quern_conn *conn, const struct quern_transfer_frame *head) {
    struct quern_transfer_pair *pair = meant_pair(all, conn->peer, head);
    if (!pair || pair->transfer->state != QUERN_TRANSFER_STARTED || head->round != pair->transfer->round) return;
    if (!conn->path->has_sent) return;
    if (conn->path->has_sent(pair)) pair->out.is_complete = true;
    else quern_conn_damaged(conn);
}

static void hear_end(struct quern_transfers *all, struct quern_conn *conn, const struct quern_transfer_frame *head) {
    struct quern_transfer_pair *pair = meant_pair(all, conn->peer, head);
    struct quern_early *early = find_instance(all, conn->peer, head);
    char reason[QUERN_TRANSFER_REASON];
    const quern_status status = quern_told_status((uint32_t)head->number);
    if (head->bytes != sizeof reason) {
        quern_conn_damaged(conn);
        return;
    }
    conn->ends++;
    quern_copy_text(reason, (const char *)conn->payload, sizeof reason);
    if (pair && !pair->is_over) {
        pair->other = head->instance;
        end_pair(pair, status, reason, head->number >> 32 && head->round == pair->transfer->round);
    } else if (early) {
        early->is_over = true;
        early->status = status;
        memcpy(early->reason, reason, sizeof early->reason);
    }
}

static void hear_data(struct quern_transfers *all, struct quern_conn *conn, const struct quern_transfer_frame *head, bool *moved) {
    struct quern_transfer_pair *pair = meant_pair(all, conn->peer, head);
    if (is_of_gpus(conn)) quern_conn_damaged(conn);
    else if (pair && pair->is_agreed) quern_begin_data(conn, pair, head);
    quern_take_data(conn, moved);
}

/* Words of a path. */
static const struct quern_path *const path_of[QUERN_WORDS] = {
    [QUERN_WORD_BATCH] = &quern_nccl_path,       [QUERN_WORD_CONNECT] = &quern_nccl_path,
    [QUERN_WORD_CONNECTED] = &quern_nccl_path,   [QUERN_WORD_GO] = &quern_nccl_path,
    [QUERN_WORD_BREAK] = &quern_nccl_path,       [QUERN_WORD_FORGOTTEN] = &quern_nccl_path,
    [QUERN_WORD_READY] = &quern_carrier_path,    [QUERN_WORD_NONE] = &quern_carrier_path,
    [QUERN_WORD_LISTENING] = &quern_bounce_path, [QUERN_WORD_BUFFER] = &quern_bounce_path,
    [QUERN_WORD_STAGED] = &quern_bounce_path,    [QUERN_WORD_TAKEN] = &quern_bounce_path,
};

static void hear_of_path(struct quern_transfers *all, struct quern_conn *conn, const struct quern_transfer_frame *head) {
    if (conn->path == path_of[head->word]) conn->path->hears(conn, meant_pair(all, conn->peer, head), head);
    else quern_conn_damaged(conn);
}

static void hear(struct quern_transfers *all, struct quern_conn *conn, const struct quern_transfer_frame *head, bool *moved) {
    switch (head->word) {
    case QUERN_WORD_HELLO:
        if (head->bytes == sizeof(struct quern_transfer_hello)) hear_hello(conn, (const void *)conn->payload);
        else quern_conn_damaged(conn);
        break;
    case QUERN_WORD_REACH: conn->is_read = head->number == 1 ? QUERN_ACCESS_YES : QUERN_ACCESS_NO; break;
    case QUERN_WORD_EAGER: hear_eager(all, conn, head); break;
    case QUERN_WORD_START: hear_start(all, conn, head); break;
    case QUERN_WORD_DATA: hear_data(all, conn, head, moved); break;
    case QUERN_WORD_DONE: hear_done(all, conn, head); break;
    case QUERN_WORD_END: hear_end(all, conn, head); break;
    default: hear_of_path(all, conn, head); break;
    }
}

/* A limit, so that a rank that says ever more does not hold up the others. */
static bool hear_all(struct quern_transfers *all, struct quern_conn *conn) {
    enum { MOST = 64 };
    bool moved = false;
    if (conn->left && conn->head.word == QUERN_WORD_DATA && !conn->headed) quern_take_data(conn, &moved);
    for (int heard = 0; heard < MOST && conn->status == QUERN_OK; heard++) {
        if (conn->left && !conn->headed) return moved;
        const struct quern_transfer_frame *head = quern_conn_hear(conn, &moved);
        if (!head) return moved;
        QUERN_POINT(TRANSFER_HEARD);
        hear(all, conn, head, &moved);
    }
    return moved;
}

/* ---- starting ---- */

void quern_say_start(struct quern_transfer_pair *pair) {
    const struct quern_transfer_data *transfer = pair->transfer;
    pair->is_said = true;
    quern_conn_say(pair->conn, (struct quern_transfer_frame){.word = QUERN_WORD_START, .key = transfer->key,
                                                             .instance = transfer->instance, .other = pair->other,
                                                             .round = transfer->round,
                                                             .number = (uint64_t)transfer->is_captured << 32 | transfer->batch},
                   NULL, 0);
}

void quern_say_batch(struct quern_transfers *all, uint32_t batch, bool begins) {
    for (struct quern_transfer_data *transfer = all->first; transfer; transfer = transfer->next)
        for (int i = 0; i < transfer->pair_count && transfer->batch == batch; i++) {
            struct quern_conn *conn = transfer->pairs[i].conn;
            if (!conn || !conn->nccl || conn->nccl->says_batch == begins) continue;
            conn->nccl->says_batch = begins;
            quern_conn_say(conn, (struct quern_transfer_frame){.word = QUERN_WORD_BATCH, .number = begins}, NULL, 0);
        }
}

/* ---- passes ---- */

static bool is_complete(const struct quern_transfer_data *transfer) {
    for (int i = 0; i < transfer->pair_count; i++)
        if (!transfer->pairs[i].in.is_complete || !transfer->pairs[i].out.is_complete) return false;
    return true;
}

/* How a rank of another host has ended is said by its monitor, in a moment. */
static bool is_end_known(struct quern_transfer_pair *pair) {
    const int64_t now = quern_now();
    if (!pair->gone_since) pair->gone_since = now;
    return quern_rank_has_gone(pair->transfer->member->roster, pair->conn->peer) || now - pair->gone_since > GRACE;
}

static void check_conn(struct quern_transfer_pair *pair) {
    const quern_status status = pair->conn ? pair->conn->status : QUERN_OK;
    if (status == QUERN_OK || (pair->in.is_complete && pair->out.is_complete)) return;
    if (status == QUERN_PEER_LOST && !is_end_known(pair)) return;
    if (status == QUERN_PEER_LOST) quern_lose_rank(pair);
    else if (status == QUERN_OUT_OF_MEMORY)
        quern_transfer_fail(pair->transfer, status, "rank %d has no memory for what it says to rank %d",
                            pair->transfer->member->rank, pair->conn->peer);
    else
        quern_transfer_fail(pair->transfer, status, "what rank %d has heard of rank %d is damaged: a process that is no rank "
                            "writes into "
                            "the group's shared memory", pair->transfer->member->rank, pair->conn->peer);
}

static void check_path(struct quern_transfer_pair *pair) {
    if (pair->conn && pair->conn->path->check) pair->conn->path->check(pair);
}

static void say_starts(struct quern_transfer_data *transfer) {
    for (int i = 0; i < transfer->pair_count; i++)
        if (transfer->pairs[i].conn && !transfer->pairs[i].is_said) quern_say_start(&transfer->pairs[i]);
}

/* What goes over NCCL as one is said as one, when the engine's streams have come to all starts. */
static bool say_batch_when_ready(struct quern_transfers *all, uint32_t batch) {
    for (struct quern_transfer_data *each = all->first; each; each = each->next)
        if (each->batch == batch && each->state == QUERN_TRANSFER_STARTED && !quern_gpu_is_ready(each)) return false;
    quern_say_batch(all, batch, true);
    for (struct quern_transfer_data *each = all->first; each; each = each->next)
        if (each->batch == batch && each->state == QUERN_TRANSFER_STARTED) say_starts(each);
    quern_say_batch(all, batch, false);
    return true;
}

/* Unless it was said at once, the memory is the transfer's when the engine's stream has come to the start. */
static bool say_when_ready(struct quern_transfer_pair *pair) {
    if (pair->is_said) return false;
    const struct quern_transfer_data *transfer = pair->transfer;
    if (pair->conn->nccl && transfer->batch) return say_batch_when_ready(transfer->member->transfers, transfer->batch);
    if (!quern_gpu_is_ready(pair->transfer)) return false;
    quern_say_start(pair);
    return true;
}

static bool advance_pair(struct quern_transfer_pair *pair) {
    if (!pair->conn) return quern_have_copied_own(pair);
    const bool has_said = say_when_ready(pair);
    return quern_advance_pair(pair) || has_said;
}

static bool advance(struct quern_transfer_data *transfer) {
    bool moved = false;
    for (int i = 0; i < transfer->pair_count && transfer->state == QUERN_TRANSFER_STARTED; i++) {
        moved |= advance_pair(&transfer->pairs[i]);
        if (transfer->state != QUERN_TRANSFER_STARTED) break;
        check_conn(&transfer->pairs[i]);
        check_path(&transfer->pairs[i]);
    }
    if (transfer->state != QUERN_TRANSFER_STARTED || !is_complete(transfer)) return moved;
    transfer->state = QUERN_TRANSFER_IDLE;
    quern_end_stream_waits(transfer, QUERN_OK);
    return true;
}

bool quern_pass_transfers(struct quern_transfers *all) {
    bool moved = false;
    for (int i = 0; i < all->conns; i++) {
        moved |= quern_conn_flush(all->open[i]);
        moved |= hear_all(all, all->open[i]);
    }
    for (int i = 0; i < all->conns; i++)
        if (all->open[i]->path->advance) moved |= all->open[i]->path->advance(all->open[i]);
    for (struct quern_transfer_data *transfer = all->first; transfer; transfer = transfer->next) moved |= advance(transfer);
    for (int i = 0; i < all->conns; i++) moved |= quern_conn_flush(all->open[i]);
    return moved;
}

bool quern_transfers_are_busy(const struct quern_transfers *all) {
    for (int i = 0; i < all->conns; i++)
        if (all->open[i]->path->is_busy && all->open[i]->path->is_busy(all->open[i])) return true;
    for (const struct quern_transfer_data *transfer = all->first; transfer; transfer = transfer->next)
        if (quern_gpu_is_busy(transfer)) return true;
    return false;
}

int quern_list_sockets(const struct quern_transfers *all, struct pollfd *polls) {
    int count = 0;
    for (int i = 0; i < all->conns; i++) {
        const struct quern_conn *conn = all->open[i];
        const bool writes = conn->count || conn->begin < conn->end;
        if (conn->status == QUERN_OK && conn->socket >= 0)
            polls[count++] = (struct pollfd){.fd = conn->socket, .events = (short)(POLLIN | (writes ? POLLOUT : 0))};
    }
    return count;
}
