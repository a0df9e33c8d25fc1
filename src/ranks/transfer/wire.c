/*
 * Frames over lanes and connections.  A frame that is damaged, out of order or of another size than it may have ends the wire: what
 * follows it cannot be understood.  Called by talk.c and bytes.c.
 */
#define _GNU_SOURCE
#include "ranks/transfer/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/bell.h"
#include "ranks/hosts/connections.h"
#include "ranks/hosts/sockets.h"
#include "ranks/nccl/nccl_types.h"
#include "ranks/transfer/transfer_list.h"
#include "runtime/status.h"

enum { SPARE = 4 << 10 };  /* of a lane, that data leaves for other messages, so that an error gets through */

/* ---- opening ---- */

static quern_status open_lanes(struct quern_wire *wire) {
    struct quern_membership *member = wire->member;
    const struct quern_peer *peer = &member->roster->peer[wire->peer];
    wire->reads = wire->is_read = peer->is_here ? QUERN_ACCESS_YES : QUERN_ACCESS_UNKNOWN;
    if (quern_open_lane(&wire->in, member, wire->peer, member->rank) &&
        quern_open_lane(&wire->out, member, member->rank, wire->peer))
        return QUERN_OK;
    return quern_fail(member->device, errno == ENOMEM ? QUERN_OUT_OF_MEMORY : QUERN_SYSTEM_ERROR,
                      "%s: making room in /dev/shm for transfers with rank %d: %s", member->label, wire->peer, strerror(errno));
}

struct quern_wire *quern_open_wire(struct quern_membership *member, int peer, quern_status *status) {
    struct quern_wire *wire = calloc(1, sizeof *wire);
    if (!wire) {
        *status = quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for transfers");
        return NULL;
    }
    wire->member = member;
    wire->peer = peer;
    wire->is_elsewhere = member->roster->peer[peer].is_elsewhere;
    wire->socket = wire->is_elsewhere ? member->span->transfers[peer] : -1;
    wire->reads = wire->is_read = QUERN_ACCESS_NO;
    *status = wire->is_elsewhere ? QUERN_OK : open_lanes(wire);
    if (*status == QUERN_OK) return wire;
    quern_close_wire(wire);
    return NULL;
}

void quern_close_wire(struct quern_wire *wire) {
    quern_close_lane(&wire->in);
    quern_close_lane(&wire->out);
    free(wire->queue);
    free(wire->payload);
    free(wire);
}

/* ---- the end of a wire ---- */

static void mute(struct quern_wire *wire) {
    wire->is_mute = true;
    wire->begin = wire->end = 0;
    wire->first = wire->count = 0;
    wire->sending = NULL;
}

static void end_wire(struct quern_wire *wire, quern_status status) {
    if (wire->status == QUERN_OK) wire->status = status;
    wire->sink = NULL;
    mute(wire);
}

/* The other rank can still be told. */
void quern_wire_damaged(struct quern_wire *wire) {
    if (wire->status == QUERN_OK) wire->status = QUERN_PEER_MISMATCH;
    wire->sink = NULL;
}

/* ---- sending ---- */

bool quern_wire_reserve(struct quern_wire *wire, size_t bytes) {
    const size_t used = wire->end - wire->begin;
    if (wire->room - wire->end >= bytes) return true;
    if (wire->room - used >= bytes) {
        memmove(wire->queue, wire->queue + wire->begin, used);
    } else {
        const size_t room = used + bytes > 2 * wire->room ? used + bytes : 2 * wire->room;
        unsigned char *queue = malloc(room);
        if (!queue) return false;
        if (used) memcpy(queue, wire->queue + wire->begin, used);
        free(wire->queue);
        wire->queue = queue;
        wire->room = room;
    }
    wire->begin = 0;
    wire->end = used;
    return true;
}

static void number(struct quern_wire *wire, struct quern_transfer_frame *frame) {
    frame->order = wire->sent++;
    quern_write_digest(frame, sizeof *frame);
}

static void append(struct quern_wire *wire, const void *bytes, size_t count) {
    if (count) memcpy(wire->queue + wire->end, bytes, count);
    wire->end += count;
}

void quern_wire_say(struct quern_wire *wire, struct quern_transfer_frame frame, const void *payload, size_t bytes) {
    if (wire->is_mute) return;
    if (!quern_wire_reserve(wire, sizeof frame + bytes)) {
        end_wire(wire, QUERN_OUT_OF_MEMORY);
        return;
    }
    frame.bytes = bytes;
    frame.payload_digest = quern_digest(payload, bytes);
    number(wire, &frame);
    append(wire, &frame, sizeof frame);
    append(wire, payload, bytes);
}

/* A message in a lane is never half sent, so that an end finds room behind it at once. */
size_t quern_wire_data_room(const struct quern_wire *wire) {
    if (wire->is_elsewhere) return QUERN_WIRE_PIECE;
    const size_t room = quern_lane_room(&wire->out), needed = SPARE + sizeof(struct quern_transfer_frame);
    return room > needed ? room - needed : 0;
}

void quern_wire_send_data(struct quern_wire *wire, struct quern_transfer_frame frame, int count, void *sending) {
    wire->data = frame;
    number(wire, &wire->data);
    wire->parts[0] = (struct iovec){&wire->data, sizeof wire->data};
    wire->first = 0;
    wire->count = count;
    wire->sending = sending;
}

static size_t bytes_of_parts(const struct quern_wire *wire) {
    size_t bytes = 0;
    for (int i = wire->first; i < wire->count; i++) bytes += wire->parts[i].iov_len;
    return bytes;
}

void quern_wire_detach_data(struct quern_wire *wire) {
    const size_t rest = bytes_of_parts(wire), used = wire->end - wire->begin;
    wire->sending = NULL;
    if (!rest) return;
    if (!quern_wire_reserve(wire, rest)) {
        end_wire(wire, QUERN_OUT_OF_MEMORY);
        return;
    }
    unsigned char *to = wire->queue + wire->begin;
    memmove(to + rest, to, used);
    for (int i = wire->first; i < wire->count; i++) {
        memcpy(to, wire->parts[i].iov_base, wire->parts[i].iov_len);
        to += wire->parts[i].iov_len;
    }
    wire->end += rest;
    wire->first = wire->count = 0;
}

static ssize_t put(struct quern_wire *wire, struct iovec *parts, int count) {
    if (!wire->is_elsewhere) {
        const ssize_t moved = quern_lane_put(&wire->out, parts, count);
        if (moved < 0) end_wire(wire, QUERN_PEER_MISMATCH);
        return moved;
    }
    const ssize_t moved = quern_socket_put(wire->socket, parts, count);
    if (moved < 0 && errno != EAGAIN && errno != EINTR) mute(wire);
    return moved;
}

static bool flush_data(struct quern_wire *wire) {
    ssize_t moved = put(wire, wire->parts + wire->first, wire->count - wire->first);
    if (moved <= 0) return false;
    while (wire->first < wire->count && (size_t)moved >= wire->parts[wire->first].iov_len)
        moved -= (ssize_t)wire->parts[wire->first++].iov_len;
    if (wire->first < wire->count) {
        struct iovec *part = &wire->parts[wire->first];
        *part = (struct iovec){(char *)part->iov_base + moved, part->iov_len - (size_t)moved};
    } else {
        wire->first = wire->count = 0;
        wire->sending = NULL;
    }
    return true;
}

static bool flush_queue(struct quern_wire *wire) {
    const ssize_t moved = put(wire, &(struct iovec){wire->queue + wire->begin, wire->end - wire->begin}, 1);
    if (moved <= 0) return false;
    wire->begin += (size_t)moved;
    if (wire->begin == wire->end) wire->begin = wire->end = 0;
    return true;
}

bool quern_wire_flush(struct quern_wire *wire) {
    bool moved = false;
    while (wire->count && flush_data(wire)) moved = true;
    while (!wire->count && wire->begin < wire->end && flush_queue(wire)) moved = true;
    if (moved && !wire->is_elsewhere) quern_ring(&quern_place(wire->member->roster, wire->peer)->bell);
    return moved;
}

/* ---- hearing ---- */

static ssize_t get(struct quern_wire *wire, struct iovec *parts, int count) {
    if (wire->status != QUERN_OK) return -1;
    if (wire->is_elsewhere) {
        const ssize_t moved = quern_socket_get(wire->socket, parts, count);
        if (moved == 0 || (moved < 0 && errno != EAGAIN && errno != EINTR)) end_wire(wire, QUERN_PEER_LOST);
        return moved;
    }
    const ssize_t moved = quern_lane_get(&wire->in, parts, count);
    if (moved < 0) quern_wire_damaged(wire);
    if (moved > 0) quern_ring(&quern_place(wire->member->roster, wire->peer)->bell);
    return moved;
}

/* The most bytes of payload that a word has. */
static uint64_t most_of(uint32_t word) {
    static const uint64_t most[QUERN_WORDS] = {
        [QUERN_WORD_HELLO] = sizeof(struct quern_transfer_hello),
        [QUERN_WORD_BRIEF] = QUERN_TRANSFER_MOST_ITEMS * sizeof(struct quern_transfer_entry),
        [QUERN_WORD_DATA] = QUERN_WIRE_PIECE,
        [QUERN_WORD_END] = QUERN_TRANSFER_REASON,
        [QUERN_WORD_CONNECT] = sizeof(ncclUniqueId),
        [QUERN_WORD_GO] = QUERN_TRANSFER_MOST_GO * sizeof(struct quern_transfer_go),
        [QUERN_WORD_BREAK] = QUERN_TRANSFER_REASON,
        [QUERN_WORD_READY] = sizeof(struct quern_transfer_piece),
        [QUERN_WORD_STAGED] = sizeof(struct quern_transfer_staged),
    };
    return most[word];
}

static bool is_head(struct quern_wire *wire) {
    const struct quern_transfer_frame *head = &wire->head;
    return quern_has_digest(head, sizeof *head) && head->word && head->word < QUERN_WORDS && head->order == wire->heard++ &&
           head->bytes <= most_of(head->word);
}

/* The head is whole.  False: it is none, or there is no memory for its payload. */
static bool begin_payload(struct quern_wire *wire) {
    wire->left = 0;
    wire->sink = NULL;
    if (!is_head(wire)) {
        quern_wire_damaged(wire);
        return false;
    }
    wire->left = wire->head.bytes;
    if (wire->head.word == QUERN_WORD_DATA || !wire->left) return true;
    free(wire->payload);
    wire->payload = malloc((size_t)wire->left);
    if (!wire->payload) end_wire(wire, QUERN_OUT_OF_MEMORY);
    return wire->payload != NULL;
}

static bool hear_head(struct quern_wire *wire, bool *moved) {
    while (wire->headed < sizeof wire->head) {
        const ssize_t came = get(wire, &(struct iovec){(char *)&wire->head + wire->headed, sizeof wire->head - wire->headed}, 1);
        if (came <= 0) return false;
        *moved = true;
        wire->headed += (size_t)came;
        if (wire->headed == sizeof wire->head) return begin_payload(wire);
    }
    return true;
}

static bool hear_payload(struct quern_wire *wire, bool *moved) {
    while (wire->left) {
        unsigned char *to = wire->payload + (wire->head.bytes - wire->left);
        const ssize_t came = get(wire, &(struct iovec){to, (size_t)wire->left}, 1);
        if (came <= 0) return false;
        *moved = true;
        wire->left -= (uint64_t)came;
    }
    if (quern_digest(wire->payload, (size_t)wire->head.bytes) == wire->head.payload_digest) return true;
    quern_wire_damaged(wire);
    return false;
}

const struct quern_transfer_frame *quern_wire_hear(struct quern_wire *wire, bool *moved) {
    if (wire->status != QUERN_OK || !hear_head(wire, moved)) return NULL;
    if (wire->head.word != QUERN_WORD_DATA && !hear_payload(wire, moved)) return NULL;
    wire->headed = 0;
    return &wire->head;
}

ssize_t quern_wire_take(struct quern_wire *wire, const struct iovec *parts, int count) {
    struct iovec some[QUERN_WIRE_PARTS];
    uint64_t left = wire->left;
    int used = 0;
    for (; used < count && used < QUERN_WIRE_PARTS && left; used++) {
        some[used] = parts[used];
        if (some[used].iov_len > left) some[used].iov_len = (size_t)left;
        left -= some[used].iov_len;
    }
    const ssize_t came = get(wire, some, used);
    if (came > 0) wire->left -= (uint64_t)came;
    return came;
}

void quern_wire_drop(struct quern_wire *wire, bool *moved) {
    char dropped[4096];
    while (wire->left && quern_wire_take(wire, &(struct iovec){dropped, sizeof dropped}, 1) > 0) *moved = true;
}
