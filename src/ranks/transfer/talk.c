/*
 * The words of transfers.  A rank tells each rank of its list what the list has for it (brief) when it is prepared, and each start
 * and end.  Words for a transfer that is not prepared here yet are kept.  Called by transfer.c.
 */
#define _GNU_SOURCE
#include "ranks/transfer/talk.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "os/clock.h"
#include "ranks/describe.h"
#include "ranks/hosts/connections.h"
#include "ranks/points.h"
#include "ranks/transfer/agree.h"
#include "ranks/transfer/bytes.h"
#include "ranks/transfer/carry.h"
#include "ranks/transfer/gpu.h"
#include "ranks/transfer/link.h"
#include "ranks/transfer/stage.h"
#include "ranks/transfer/withdraw.h"
#include "runtime/status.h"

enum { MOST_EARLY = 4096 };  /* transfers that have not met their like */
static const int64_t GRACE = 60000000;  /* nanoseconds for the reason of an end, which comes by another connection */

/* ---- wires ---- */

static bool is_of_gpus(const struct quern_wire *wire) { return wire->member->device->kind == QUERN_CUDA; }

static void say_hello(struct quern_wire *wire) {
    const struct quern_roster *roster = wire->member->roster;
    const struct quern_transfer_hello hello = {.address = (uintptr_t)roster->self.id, .pid = (int32_t)getpid()};
    if (wire->is_elsewhere || is_of_gpus(wire) || roster->peer[wire->peer].is_here) return;
    quern_wire_say(wire, (struct quern_transfer_frame){.word = QUERN_WORD_HELLO}, &hello, sizeof hello);
}

struct quern_wire *quern_wire_to(struct quern_transfers *all, int peer, quern_status *status) {
    *status = QUERN_OK;
    if (all->wire[peer]) return all->wire[peer];
    struct quern_wire *wire = quern_open_wire(all->member, peer, status);
    if (!wire) return NULL;
    const bool is_linked = is_of_gpus(wire) && quern_nccl_rank_of(all->member);
    if (is_of_gpus(wire)) wire->reads = wire->is_read = is_linked ? QUERN_ACCESS_NO : QUERN_ACCESS_YES;
    const bool is_carried = wire->is_elsewhere && all->member->span->messages;
    const bool is_staging = is_of_gpus(wire) && !is_linked && !all->member->roster->peer[peer].is_here;
    *status = is_linked    ? quern_open_link(wire)
              : is_carried ? quern_open_carry(wire)
              : is_staging ? quern_open_stage(wire)
                           : QUERN_OK;
    if (*status != QUERN_OK) {
        quern_close_wire(wire);
        return NULL;
    }
    all->wire[peer] = all->open[all->wires++] = wire;
    say_hello(wire);
    return wire;
}

void quern_find_speakers(struct quern_transfers *all) {
    const struct quern_membership *member = all->member;
    for (int peer = 0; peer < member->ranks; peer++) {
        quern_status status;
        if (peer == member->rank || all->wire[peer]) continue;
        if (member->roster->peer[peer].is_elsewhere || quern_lane_speaks(member, peer)) quern_wire_to(all, peer, &status);
    }
}

/* The other process can be read if its random number can. */
static void hear_hello(struct quern_wire *wire, const struct quern_transfer_hello *hello) {
    const struct quern_peer *peer = &wire->member->roster->peer[wire->peer];
    unsigned char id[sizeof peer->process.id];
    struct iovec here = {id, sizeof id}, there = {(void *)(uintptr_t)hello->address, sizeof id};
    const bool reads = !peer->is_here && process_vm_readv(hello->pid, &here, 1, &there, 1, 0) == sizeof id &&
                       memcmp(id, peer->process.id, sizeof id) == 0;
    wire->pid = hello->pid;
    if (wire->reads == QUERN_ACCESS_UNKNOWN) wire->reads = reads ? QUERN_ACCESS_YES : QUERN_ACCESS_NO;
    quern_wire_say(wire, (struct quern_transfer_frame){.word = QUERN_WORD_REACH, .number = wire->reads == QUERN_ACCESS_YES}, NULL,
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
        if (transfer->pairs[i].wire && transfer->pairs[i].wire->peer == peer) return &transfer->pairs[i];
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

/* Behind all others.  Without room for it, the wire ends, since nothing would meet its like any more. */
static bool add_early(struct quern_transfers *all, struct quern_wire *wire, const struct quern_early *given) {
    struct quern_early **link = &all->early, *early = all->earlies < MOST_EARLY ? malloc(sizeof *early) : NULL;
    if (!early) {
        wire->status = QUERN_OUT_OF_MEMORY;
        return false;
    }
    while (*link) link = &(*link)->next;
    *early = *given;
    *link = early;
    all->earlies++;
    return true;
}

void quern_keep_turn(struct quern_transfers *all, struct quern_transfer_pair *pair) {
    if (!pair->wire || pair->other || pair->wire->status != QUERN_OK) return;
    add_early(all, pair->wire, &(struct quern_early){.peer = pair->wire->peer, .key = pair->transfer->key, .is_own = true});
}

static void keep_brief(struct quern_transfers *all, struct quern_wire *wire, const struct quern_transfer_frame *head) {
    const struct quern_early early = {.peer = wire->peer, .key = head->key, .instance = head->instance,
                                      .count = (int64_t)(head->bytes / sizeof *early.entries), .entries = (void *)wire->payload};
    if (add_early(all, wire, &early)) wire->payload = NULL;
}

/* ---- briefs ---- */

bool quern_say_brief(struct quern_transfer_pair *pair) {
    const struct quern_transfer_data *transfer = pair->transfer;
    const size_t bytes = (size_t)pair->count * sizeof(struct quern_transfer_entry);
    struct quern_transfer_entry *entries = malloc(bytes);
    if (!entries) return false;
    for (int64_t i = 0; i < pair->count; i++)
        entries[i] = (struct quern_transfer_entry){.tag = pair->parts[i].tag, .address = (uintptr_t)pair->parts[i].memory,
                                                   .bytes = pair->parts[i].bytes, .receive = pair->parts[i].receive};
    if (is_of_gpus(pair->wire)) quern_name_memory(pair, entries);
    quern_wire_say(pair->wire, (struct quern_transfer_frame){.word = QUERN_WORD_BRIEF, .key = transfer->key,
                                                             .instance = transfer->instance}, entries, bytes);
    free(entries);
    return pair->wire->status != QUERN_OUT_OF_MEMORY;
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
    struct quern_early **link = find_early(all, pair->wire->peer, pair->transfer->key), *early = *link;
    if (!early || early->is_own) return;
    pair->other = early->instance;
    pair->other_round = early->round;
    pair->other_batch = early->batch;
    if (!early->is_over) pair->is_agreed = quern_agree_on_lists(pair, early->entries, early->count);
    else end_pair(pair, early->status, early->reason, false);
    drop_early(all, link);
}

static void refuse(struct quern_wire *wire, struct quern_transfer_data *transfer, const struct quern_transfer_frame *head) {
    const struct quern_transfer_frame end = {.word = QUERN_WORD_END, .key = head->key, .instance = transfer->instance,
                                             .other = head->instance, .number = (uint64_t)transfer->status};
    quern_wire_say(wire, end, transfer->reason, sizeof transfer->reason);
    quern_withdraw(wire);
}

static void hear_brief(struct quern_transfers *all, struct quern_wire *wire, const struct quern_transfer_frame *head) {
    struct quern_transfer_data *transfer = find_transfer(all, head->key);
    struct quern_transfer_pair *pair = pair_with(transfer, wire->peer);
    const int64_t count = (int64_t)(head->bytes / sizeof(struct quern_transfer_entry));
    const struct quern_transfer_entry *entries = (const void *)wire->payload;
    struct quern_early **own = find_early(all, wire->peer, head->key);
    if (!head->instance || !count || head->bytes % sizeof *entries) {
        quern_wire_damaged(wire);
    } else if (*own && (*own)->is_own) {
        drop_early(all, own);
    } else if (pair && !pair->other) {
        pair->other = head->instance;
        if (transfer->state != QUERN_TRANSFER_OVER) pair->is_agreed = quern_agree_on_lists(pair, entries, count);
    } else if (transfer && !pair) {
        quern_refuse_list(transfer, wire->peer, entries, count);
        refuse(wire, transfer, head);
    } else {
        keep_brief(all, wire, head);
    }
}

/* ---- the other words ---- */

static void hear_start(struct quern_transfers *all, struct quern_wire *wire, const struct quern_transfer_frame *head) {
    struct quern_transfer_pair *pair = meant_pair(all, wire->peer, head);
    struct quern_early *early = find_instance(all, wire->peer, head);
    if (pair) {
        pair->other_round = head->round;
        pair->other_batch = (uint32_t)head->number;
    } else if (early) {
        early->round = head->round;
        early->batch = (uint32_t)head->number;
    }
}

static void hear_done(struct quern_transfers *all, struct quern_wire *wire, const struct quern_transfer_frame *head) {
    struct quern_transfer_pair *pair = meant_pair(all, wire->peer, head);
    if (!pair || wire->link || pair->transfer->state != QUERN_TRANSFER_STARTED || head->round != pair->transfer->round) return;
    const bool has_all = wire->stage ? quern_is_all_taken(pair)
                                     : pair->out.done == pair->out.all || pair->wire->is_read == QUERN_ACCESS_YES;
    if (has_all) pair->out.is_complete = true;
    else quern_wire_damaged(wire);
}

static void hear_end(struct quern_transfers *all, struct quern_wire *wire, const struct quern_transfer_frame *head) {
    struct quern_transfer_pair *pair = meant_pair(all, wire->peer, head);
    struct quern_early *early = find_instance(all, wire->peer, head);
    char reason[QUERN_TRANSFER_REASON];
    const quern_status status = quern_told_status((uint32_t)head->number);
    if (head->bytes != sizeof reason) {
        quern_wire_damaged(wire);
        return;
    }
    wire->ends++;
    quern_copy_text(reason, (const char *)wire->payload, sizeof reason);
    if (pair && !pair->is_over) {
        pair->other = head->instance;
        end_pair(pair, status, reason, head->number >> 32 && head->round == pair->transfer->round);
    } else if (early) {
        early->is_over = true;
        early->status = status;
        memcpy(early->reason, reason, sizeof early->reason);
    }
}

static void hear_data(struct quern_transfers *all, struct quern_wire *wire, const struct quern_transfer_frame *head, bool *moved) {
    struct quern_transfer_pair *pair = meant_pair(all, wire->peer, head);
    if (is_of_gpus(wire)) quern_wire_damaged(wire);
    else if (pair && pair->is_agreed) quern_begin_data(wire, pair, head);
    quern_take_data(wire, moved);
}

static void hear(struct quern_transfers *all, struct quern_wire *wire, const struct quern_transfer_frame *head, bool *moved) {
    switch ((enum quern_word)head->word) {
    case QUERN_WORD_HELLO:
        if (head->bytes == sizeof(struct quern_transfer_hello)) hear_hello(wire, (const void *)wire->payload);
        else quern_wire_damaged(wire);
        break;
    case QUERN_WORD_REACH: wire->is_read = head->number == 1 ? QUERN_ACCESS_YES : QUERN_ACCESS_NO; break;
    case QUERN_WORD_BRIEF: hear_brief(all, wire, head); break;
    case QUERN_WORD_START: hear_start(all, wire, head); break;
    case QUERN_WORD_DATA: hear_data(all, wire, head, moved); break;
    case QUERN_WORD_DONE: hear_done(all, wire, head); break;
    case QUERN_WORD_END: hear_end(all, wire, head); break;
    case QUERN_WORD_BATCH:
    case QUERN_WORD_CONNECT:
    case QUERN_WORD_CONNECTED:
    case QUERN_WORD_GO:
    case QUERN_WORD_BREAK:
    case QUERN_WORD_FORGOTTEN: quern_link_hears(all, wire, head); break;
    case QUERN_WORD_READY:
    case QUERN_WORD_NONE: quern_carry_hears(wire, meant_pair(all, wire->peer, head), head); break;
    case QUERN_WORD_LISTENING:
    case QUERN_WORD_WINDOW:
    case QUERN_WORD_STAGED:
    case QUERN_WORD_TAKEN: quern_stage_hears(wire, meant_pair(all, wire->peer, head), head); break;
    case QUERN_WORDS: break;
    }
}

/* A limit, so that a rank that says ever more does not hold up the others. */
static bool hear_all(struct quern_transfers *all, struct quern_wire *wire) {
    enum { MOST = 64 };
    bool moved = false;
    if (wire->left && wire->head.word == QUERN_WORD_DATA && !wire->headed) quern_take_data(wire, &moved);
    for (int heard = 0; heard < MOST && wire->status == QUERN_OK; heard++) {
        if (wire->left && !wire->headed) return moved;
        const struct quern_transfer_frame *head = quern_wire_hear(wire, &moved);
        if (!head) return moved;
        QUERN_POINT(TRANSFER_HEARD);
        hear(all, wire, head, &moved);
    }
    return moved;
}

/* ---- starting ---- */

void quern_say_start(struct quern_transfer_pair *pair) {
    const struct quern_transfer_data *transfer = pair->transfer;
    pair->is_said = true;
    quern_wire_say(pair->wire, (struct quern_transfer_frame){.word = QUERN_WORD_START, .key = transfer->key,
                                                             .instance = transfer->instance, .other = pair->other,
                                                             .round = transfer->round, .number = transfer->batch}, NULL, 0);
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
    return quern_rank_has_gone(pair->transfer->member->roster, pair->wire->peer) || now - pair->gone_since > GRACE;
}

static void check_wire(struct quern_transfer_pair *pair) {
    const quern_status status = pair->wire ? pair->wire->status : QUERN_OK;
    if (status == QUERN_OK || (pair->in.is_complete && pair->out.is_complete)) return;
    if (status == QUERN_PEER_LOST && !is_end_known(pair)) return;
    if (status == QUERN_PEER_LOST) quern_lose_rank(pair);
    else if (status == QUERN_OUT_OF_MEMORY)
        quern_transfer_fail(pair->transfer, status, "rank %d has no memory for what it says to rank %d",
                            pair->transfer->member->rank, pair->wire->peer);
    else
        quern_transfer_fail(pair->transfer, status, "what rank %d has heard of rank %d is damaged: a process that is no rank "
                            "writes into "
                            "the group's shared memory", pair->transfer->member->rank, pair->wire->peer);
}

/* Within a host the memory is the transfer's when the engine's stream has come to the start. */
static bool say_when_ready(struct quern_transfer_pair *pair) {
    if (pair->is_said || !quern_gpu_is_ready(pair->transfer)) return false;
    quern_say_start(pair);
    return true;
}

static bool advance_pair(struct quern_transfer_pair *pair) {
    if (!pair->wire) return quern_have_copied_own(pair);
    const bool has_said = say_when_ready(pair);
    return quern_advance_pair(pair) || has_said;
}

static bool advance(struct quern_transfer_data *transfer) {
    bool moved = false;
    for (int i = 0; i < transfer->pair_count && transfer->state == QUERN_TRANSFER_STARTED; i++) {
        moved |= advance_pair(&transfer->pairs[i]);
        if (transfer->state != QUERN_TRANSFER_STARTED) break;
        check_wire(&transfer->pairs[i]);
        quern_check_carry(&transfer->pairs[i]);
    }
    if (transfer->state != QUERN_TRANSFER_STARTED || !is_complete(transfer)) return moved;
    transfer->state = QUERN_TRANSFER_IDLE;
    return true;
}

bool quern_pass_transfers(struct quern_transfers *all) {
    bool moved = false;
    for (int i = 0; i < all->wires; i++) {
        moved |= quern_wire_flush(all->open[i]);
        moved |= hear_all(all, all->open[i]);
    }
    for (int i = 0; i < all->wires; i++)
        if (all->open[i]->link) moved |= quern_advance_link(all, all->open[i]);
        else if (all->open[i]->carry) moved |= quern_advance_carry(all->open[i]);
        else if (all->open[i]->stage) moved |= quern_advance_stage(all->open[i]);
    for (struct quern_transfer_data *transfer = all->first; transfer; transfer = transfer->next) moved |= advance(transfer);
    for (int i = 0; i < all->wires; i++) moved |= quern_wire_flush(all->open[i]);
    return moved;
}

bool quern_transfers_are_busy(const struct quern_transfers *all) {
    for (int i = 0; i < all->wires; i++)
        if ((all->open[i]->link && quern_link_is_busy(all->open[i]->link)) ||
            (all->open[i]->carry && quern_carry_is_busy(all->open[i]->carry)) ||
            (all->open[i]->stage && quern_stage_is_busy(all->open[i]->stage)))
            return true;
    for (const struct quern_transfer_data *transfer = all->first; transfer; transfer = transfer->next)
        if (quern_gpu_is_busy(transfer)) return true;
    return false;
}
