/* Transfers of two GPU ranks over NCCL.  Called by talk.c, and by transfers.c at their end. */
#define _POSIX_C_SOURCE 200809L
#include "ranks/transfer/link.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "os/clock.h"
#include "ranks/describe.h"
#include "ranks/poison.h"
#include "ranks/transfer/gpu.h"
#include "runtime/status.h"

static const int64_t LINGER = 100000000;  /* nanoseconds for a flight whose transfer has failed, which most often completes */

quern_status quern_open_link(struct quern_wire *wire) {
    wire->link = calloc(1, sizeof *wire->link);
    if (!wire->link) return quern_fail(wire->member->device, QUERN_OUT_OF_MEMORY, "no memory for transfers");
    return quern_nccl_open_pair(wire->member, wire->peer, &wire->link->nccl);
}

static void drop_order(struct quern_link *link) {
    struct quern_link_order *order = link->waiting;
    link->waiting = order->next;
    free(order->list);
    free(order);
}

void quern_free_link(struct quern_link *link) {
    if (!link) return;
    while (link->waiting) drop_order(link);
    free(link->items);
    free(link);
}

static bool is_lower(const struct quern_wire *wire) { return wire->member->rank < wire->peer; }

static bool is_complete(const struct quern_transfer_pair *pair) { return pair->in.is_complete && pair->out.is_complete; }

static bool is_started(const struct quern_transfer_pair *pair) { return pair->transfer->state == QUERN_TRANSFER_STARTED; }

static struct quern_transfer_pair *pair_of(struct quern_transfer_data *transfer, const struct quern_wire *wire) {
    for (int i = 0; i < transfer->pair_count; i++)
        if (transfer->pairs[i].wire == wire) return &transfer->pairs[i];
    return NULL;
}

static void say(struct quern_wire *wire, enum quern_word word, const void *payload, size_t bytes) {
    quern_wire_say(wire, (struct quern_transfer_frame){.word = word, .number = wire->link->generation}, payload, bytes);
}

/* ---- the end of a communicator ---- */

/* Those that need it: what flies here or at the other rank, and without a communicator that was ready all that wait for one. */
static int list_victims(struct quern_transfers *all, struct quern_wire *wire, struct quern_transfer_data **victims, int most) {
    const bool was_ready = wire->link->is_said && wire->link->is_heard;
    int count = 0;
    for (struct quern_transfer_data *transfer = all->first; transfer && count < most; transfer = transfer->next) {
        struct quern_transfer_pair *pair = pair_of(transfer, wire);
        if (!pair || !is_started(pair) || is_complete(pair) || !pair->is_agreed) continue;
        if (pair->flies || pair->is_over || !was_ready) victims[count++] = transfer;
    }
    return count;
}

/* Aborts it and lets the transfers that need it fail.  The other rank is told of these first, and then of the abort. */
static void break_link(struct quern_transfers *all, struct quern_wire *wire, bool is_news, quern_status status,
                       const char *reason) {
    enum { MOST = 64 };  /* at a time: those that are left still need it */
    struct quern_link *link = wire->link;
    struct quern_transfer_data *victims[MOST];
    char text[QUERN_TRANSFER_REASON] = "";
    quern_copy_text(text, reason, sizeof text);
    quern_nccl_reset_pair(link->nccl);
    while (link->waiting) drop_order(link);
    for (int count; (count = list_victims(all, wire, victims, MOST)) > 0;)
        for (int i = 0; i < count; i++) {
            struct quern_transfer_pair *pair = pair_of(victims[i], wire);
            pair->flies = false;
            if (pair->is_over) quern_transfer_fail(victims[i], pair->status, "%s", pair->reason);
            else quern_transfer_fail(victims[i], status, "%s", text);
        }
    for (int i = 0; i < link->flying; i++) link->flight[i]->flies = false;
    link->flying = 0;
    link->is_said = link->is_heard = false;
    if (is_news)
        quern_wire_say(wire, (struct quern_transfer_frame){.word = QUERN_WORD_BREAK,
                                                           .number = (uint64_t)status << 32 | link->generation}, text, sizeof text);
}

/* With what the thread's last call has failed. */
static void break_by_detail(struct quern_transfers *all, struct quern_wire *wire, quern_status status) {
    char reason[QUERN_TRANSFER_REASON];
    quern_error_detail(reason, sizeof reason);
    break_link(all, wire, true, status, reason);
}

/* ---- flights ---- */

static void land(struct quern_link *link) {
    for (int i = 0; i < link->flying; i++) {
        struct quern_transfer_pair *pair = link->flight[i];
        pair->flies = false;
        pair->in.is_complete = pair->out.is_complete = true;
    }
    link->flying = 0;
}

/* The messages of the flight, in the order of both lists.  Items without bytes are none. */
static bool list_items(struct quern_link *link, int64_t *count) {
    int64_t all = 0;
    for (int i = 0; i < link->flying; i++) all += link->flight[i]->count;
    if (all > link->room) {
        free(link->items);
        link->items = malloc((size_t)all * sizeof *link->items);
        link->room = link->items ? all : 0;
    }
    *count = 0;
    if (!link->items) return false;
    for (int i = 0; i < link->flying; i++)
        for (int64_t item = 0; item < link->flight[i]->count; item++) {
            const struct quern_transfer_part *part = &link->flight[i]->parts[item];
            if (part->bytes)
                link->items[(*count)++] = (struct quern_nccl_item){part->memory, (size_t)part->bytes, !part->receive};
        }
    return true;
}

/* What the engine's streams had at the starts comes first, outside of NCCL's group. */
static quern_status wait_for_engine(const struct quern_link *link) {
    quern_status status = QUERN_OK;
    for (int i = 0; i < link->flying && status == QUERN_OK; i++)
        status = quern_nccl_let_pair_wait(link->nccl, link->flight[i]->transfer->gpu->ready);
    return status;
}

static void take_off(struct quern_transfers *all, struct quern_wire *wire) {
    struct quern_link *link = wire->link;
    int64_t count;
    for (int i = 0; i < link->flying; i++) link->flight[i]->flies = true;
    if (!list_items(link, &count)) {
        break_link(all, wire, true, QUERN_OUT_OF_MEMORY, "no memory for the messages of a transfer");
        return;
    }
    const quern_status status = count ? wait_for_engine(link) : QUERN_OK;
    if (status != QUERN_OK) break_by_detail(all, wire, status);
    else if (count) quern_nccl_send_pair(link->nccl, link->items, count);
    else land(link);
}

/* ---- the lower rank decides ---- */

static bool is_clear(const struct quern_transfer_pair *pair) {
    return is_started(pair) && pair->is_agreed && !pair->flies && !pair->is_over && !is_complete(pair) &&
           pair->other_round == pair->transfer->round;
}

/* The one with the lowest key, and with it those that both ranks have started in the same batches. */
static void choose_flight(const struct quern_transfers *all, struct quern_wire *wire) {
    struct quern_link *link = wire->link;
    struct quern_transfer_pair *first = NULL;
    for (struct quern_transfer_data *transfer = all->first; transfer; transfer = transfer->next) {
        struct quern_transfer_pair *pair = pair_of(transfer, wire);
        if (pair && is_clear(pair) && (!first || transfer->key < first->transfer->key)) first = pair;
    }
    link->flying = 0;
    if (first) link->flight[link->flying++] = first;
    if (!first || !first->transfer->batch || !first->other_batch) return;
    for (struct quern_transfer_data *transfer = all->first; transfer; transfer = transfer->next) {
        struct quern_transfer_pair *pair = transfer->batch == first->transfer->batch ? pair_of(transfer, wire) : NULL;
        if (!pair || pair == first || !is_clear(pair) || pair->other_batch != first->other_batch) continue;
        if (link->flying < QUERN_TRANSFER_MOST_GO) link->flight[link->flying++] = pair;
    }
}

static bool say_go(struct quern_wire *wire) {
    const struct quern_link *link = wire->link;
    const size_t bytes = (size_t)link->flying * sizeof(struct quern_transfer_go);
    struct quern_transfer_go *list = malloc(bytes);
    if (!list) return false;
    for (int i = 0; i < link->flying; i++) {
        const struct quern_transfer_pair *pair = link->flight[i];
        const struct quern_transfer_data *transfer = pair->transfer;
        list[i] = (struct quern_transfer_go){transfer->key, transfer->round, transfer->instance, pair->other};
    }
    say(wire, QUERN_WORD_GO, list, bytes);
    free(list);
    return true;
}

static bool begin_flight(struct quern_transfers *all, struct quern_wire *wire) {
    struct quern_link *link = wire->link;
    if (link->is_batching) return false;
    choose_flight(all, wire);
    if (!link->flying) return false;
    if (!say_go(wire)) {
        link->flying = 0;
        return false;  /* the next look tries again */
    }
    take_off(all, wire);
    return true;
}

/* ---- the upper rank obeys ---- */

static struct quern_transfer_pair *named_pair(const struct quern_transfers *all, const struct quern_wire *wire,
                                              const struct quern_transfer_go *go) {
    struct quern_transfer_data *transfer = all->first;
    while (transfer && transfer->key != go->key) transfer = transfer->next;
    struct quern_transfer_pair *pair = transfer && transfer->instance == go->other ? pair_of(transfer, wire) : NULL;
    const bool is_meant = pair && pair->other == go->instance && transfer->round == go->round && pair->is_agreed &&
                          is_started(pair) && !pair->flies;
    return is_meant ? pair : NULL;
}

static void obey(struct quern_transfers *all, struct quern_wire *wire) {
    struct quern_link *link = wire->link;
    const struct quern_link_order *order = link->waiting;
    bool is_whole = true;
    link->flying = 0;
    for (int i = 0; i < order->count; i++) {
        struct quern_transfer_pair *pair = named_pair(all, wire, &order->list[i]);
        if (pair) link->flight[link->flying++] = pair;
        else is_whole = false;
    }
    drop_order(link);
    if (is_whole) {
        take_off(all, wire);
        return;
    }
    for (int i = 0; i < link->flying; i++) link->flight[i]->flies = true;
    char reason[100];
    struct quern_text text = quern_text_begin(reason, sizeof reason);
    quern_text_add(&text, "rank %d has ended a transfer that was to begin together with this one", wire->member->rank);
    break_link(all, wire, true, QUERN_GROUP_ABORTED, reason);
}

/* ---- the communicator ---- */

/* Once in advance, then only for what was started. */
static bool needs_connection(const struct quern_transfers *all, struct quern_wire *wire) {
    for (struct quern_transfer_data *transfer = all->first; transfer; transfer = transfer->next) {
        struct quern_transfer_pair *pair = pair_of(transfer, wire);
        if (pair && pair->is_agreed && !pair->is_over && transfer->state != QUERN_TRANSFER_OVER &&
            (!wire->link->generation || wire->link->is_forgotten || is_clear(pair)))
            return true;
    }
    return false;
}

static void say_connect(struct quern_wire *wire, bool is_kept, const ncclUniqueId *id) {
    const uint64_t number = (uint64_t)is_kept << 32 | wire->link->generation;
    quern_wire_say(wire, (struct quern_transfer_frame){.word = QUERN_WORD_CONNECT, .number = number}, id, sizeof *id);
}

/* An earlier group has left one here, and perhaps at the other rank.  Else it is a new one. */
static bool connect_pair(struct quern_transfers *all, struct quern_wire *wire) {
    struct quern_link *link = wire->link;
    ncclUniqueId id;
    if (!needs_connection(all, wire)) return false;
    link->generation++;
    link->is_said = link->is_heard = link->is_forgotten = false;
    const bool is_kept = quern_nccl_recall_pair(link->nccl, NULL);
    const ncclResult_t result = is_kept ? ncclSuccess : link->nccl->rank->nccl->unique_id(&id);
    if (result != ncclSuccess) {
        break_by_detail(all, wire, quern_nccl_fail(wire->member->device, result, "ncclGetUniqueId", NULL));
        return true;
    }
    say_connect(wire, is_kept, is_kept ? &link->nccl->comm.id : &id);
    if (!is_kept) quern_nccl_make_pair(link->nccl, &id);
    return true;
}

bool quern_advance_link(struct quern_transfers *all, struct quern_wire *wire) {
    struct quern_link *link = wire->link;
    if (wire->status != QUERN_OK && !link->flying) return false;
    const enum quern_nccl_phase phase = quern_nccl_ask_pair(link->nccl);
    if (phase == QUERN_NCCL_BROKEN) {
        const quern_status status = link->nccl->status;
        char reason[QUERN_TRANSFER_REASON];
        quern_copy_text(reason, link->nccl->reason, sizeof reason);
        break_link(all, wire, true, status, reason);
        return true;
    }
    if (phase == QUERN_NCCL_NONE) return is_lower(wire) && wire->status == QUERN_OK && connect_pair(all, wire);
    if (phase != QUERN_NCCL_READY) return false;
    bool moved = link->flying > 0 || !link->is_said;
    land(link);
    if (!link->is_said) say(wire, QUERN_WORD_CONNECTED, NULL, 0);
    link->is_said = true;
    if (!link->is_heard || wire->status != QUERN_OK) return moved;
    if (is_lower(wire)) return begin_flight(all, wire) || moved;
    if (!link->waiting) return moved;
    obey(all, wire);
    return true;
}

bool quern_link_is_busy(const struct quern_link *link) {
    return link->flying || (link->nccl->phase != QUERN_NCCL_NONE && !link->is_said);
}

/* ---- words ---- */

static void hear_connect(struct quern_transfers *all, struct quern_wire *wire, const struct quern_transfer_frame *head) {
    struct quern_link *link = wire->link;
    ncclUniqueId id;
    if (is_lower(wire) || head->bytes != sizeof id) {
        quern_wire_damaged(wire);
        return;
    }
    memcpy(&id, wire->payload, sizeof id);
    if (link->nccl->phase != QUERN_NCCL_NONE)
        break_link(all, wire, false, QUERN_PEER_LOST, "the other rank has begun a new communicator");
    link->generation = (uint32_t)head->number;
    link->is_said = link->is_heard = false;
    if (!(head->number >> 32)) quern_nccl_make_pair(link->nccl, &id);
    else if (!quern_nccl_recall_pair(link->nccl, &id)) say(wire, QUERN_WORD_FORGOTTEN, NULL, 0);
}

/* Nothing has begun in it, so no transfer fails: the next one is older, or new. */
static void hear_forgotten(struct quern_wire *wire, const struct quern_transfer_frame *head) {
    struct quern_link *link = wire->link;
    if (!is_lower(wire)) quern_wire_damaged(wire);
    if (!is_lower(wire) || (uint32_t)head->number != link->generation || link->nccl->phase == QUERN_NCCL_NONE) return;
    quern_nccl_reset_pair(link->nccl);
    link->is_said = link->is_heard = false;
    link->is_forgotten = true;
}

static void hear_go(struct quern_wire *wire, const struct quern_transfer_frame *head) {
    struct quern_link *link = wire->link;
    struct quern_link_order **end = &link->waiting, *order;
    const uint64_t count = head->bytes / sizeof *order->list;
    if ((uint32_t)head->number != link->generation || !link->is_said) return;  /* it is broken, and that is said */
    if (is_lower(wire) || !count || head->bytes % sizeof *order->list) {
        quern_wire_damaged(wire);
        return;
    }
    order = malloc(sizeof *order);
    if (!order) {
        wire->status = QUERN_OUT_OF_MEMORY;
        return;
    }
    *order = (struct quern_link_order){NULL, (int)count, (void *)wire->payload};
    while (*end) end = &(*end)->next;
    *end = order;
    wire->payload = NULL;
}

static void hear_break(struct quern_transfers *all, struct quern_wire *wire, const struct quern_transfer_frame *head) {
    char reason[QUERN_TRANSFER_REASON];
    if (head->bytes != sizeof reason) {
        quern_wire_damaged(wire);
        return;
    }
    if ((uint32_t)head->number != wire->link->generation || wire->link->nccl->phase == QUERN_NCCL_NONE) return;
    quern_copy_text(reason, (const char *)wire->payload, sizeof reason);
    break_link(all, wire, false, quern_told_status((uint32_t)(head->number >> 32)), reason);
}

void quern_link_hears(struct quern_transfers *all, struct quern_wire *wire, const struct quern_transfer_frame *head) {
    struct quern_link *link = wire->link;
    if (!link) {
        quern_wire_damaged(wire);
        return;
    }
    switch (head->word) {
    case QUERN_WORD_BATCH: link->is_batching = head->number == 1; break;
    case QUERN_WORD_CONNECT: hear_connect(all, wire, head); break;
    case QUERN_WORD_FORGOTTEN: hear_forgotten(wire, head); break;
    case QUERN_WORD_CONNECTED: link->is_heard |= (uint32_t)head->number == link->generation; break;
    case QUERN_WORD_GO: hear_go(wire, head); break;
    case QUERN_WORD_BREAK: hear_break(all, wire, head); break;
    default: break;
    }
}

/* ---- the end of a transfer ---- */

static void remove_from_flight(struct quern_link *link, const struct quern_transfer_pair *pair) {
    int kept = 0;
    for (int i = 0; i < link->flying; i++)
        if (link->flight[i] != pair) link->flight[kept++] = link->flight[i];
    link->flying = kept;
}

/* Both ends have what flies, so it completes in a moment unless a rank hangs. */
static bool has_landed(struct quern_link *link) {
    const int64_t until = quern_now() + LINGER;
    enum quern_nccl_phase phase = quern_nccl_ask_pair(link->nccl);
    for (; phase == QUERN_NCCL_ENQUEUING || phase == QUERN_NCCL_RUNNING; phase = quern_nccl_ask_pair(link->nccl)) {
        if (quern_now() >= until) return false;
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
    return phase == QUERN_NCCL_READY;
}

void quern_take_from_link(struct quern_transfer_pair *pair, quern_status status, const char *reason) {
    struct quern_transfers *all = pair->transfer->member->transfers;
    struct quern_wire *wire = pair->wire;
    struct quern_link *link = wire->link;
    const bool is_unmade = link->nccl->phase == QUERN_NCCL_MAKING && status == QUERN_PEER_TIMEOUT;
    const bool is_alone = pair->is_over && !pair->other_flew;
    const bool hangs = pair->flies && (is_alone || !has_landed(link));
    remove_from_flight(link, pair);
    pair->flies = false;
    if (hangs || is_unmade) break_link(all, wire, true, status, reason);
}
