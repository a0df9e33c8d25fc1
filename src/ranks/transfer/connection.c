/*
 * Frames over rings and connections.  A frame that is damaged, out of order or of another size than it may have ends the
 * connection: what follows it cannot be understood.  Called by progress.c and bytes.c.
 */
#define _GNU_SOURCE
#include "ranks/transfer/transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/eventcount.h"
#include "ranks/hosts/hosts.h"
#include "ranks/nccl/nccl.h"
#include "runtime/status.h"

enum { SPARE = 4 << 10 };  /* of a ring, that data leaves for other messages, so that an error gets through */

/* ---- opening ---- */

static quern_status open_rings(struct quern_conn *conn) {
    struct quern_membership *member = conn->member;
    const struct quern_peer *peer = &member->roster->peer[conn->peer];
    conn->reads = conn->is_read = peer->is_here ? QUERN_ACCESS_YES : QUERN_ACCESS_UNKNOWN;
    if (quern_open_ring(&conn->in, member, conn->peer, member->rank) &&
        quern_open_ring(&conn->out, member, member->rank, conn->peer))
        return QUERN_OK;
    return quern_fail(member->device, errno == ENOMEM ? QUERN_OUT_OF_MEMORY : QUERN_SYSTEM_ERROR,
                      "%s: making room in /dev/shm for transfers with rank %d: %s", member->label, conn->peer, strerror(errno));
}

struct quern_conn *quern_open_conn(struct quern_membership *member, int peer, quern_status *status) {
    struct quern_conn *conn = calloc(1, sizeof *conn);
    if (!conn) {
        *status = quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for transfers");
        return NULL;
    }
    conn->member = member;
    conn->peer = peer;
    conn->is_elsewhere = member->roster->peer[peer].is_elsewhere;
    conn->socket = conn->is_elsewhere ? member->net->transfers[peer] : -1;
    conn->reads = conn->is_read = QUERN_ACCESS_NO;
    *status = conn->is_elsewhere ? QUERN_OK : open_rings(conn);
    if (*status == QUERN_OK) return conn;
    quern_close_conn(conn);
    return NULL;
}

void quern_close_conn(struct quern_conn *conn) {
    if (conn->path && conn->path->close) conn->path->close(conn);
    quern_close_ring(&conn->in);
    quern_close_ring(&conn->out);
    free(conn->queue);
    free(conn->payload);
    free(conn);
}

/* ---- the end of a connection ---- */

static void mute(struct quern_conn *conn) {
    conn->is_mute = true;
    conn->begin = conn->end = 0;
    conn->first = conn->count = 0;
    conn->sending = NULL;
}

static void end_conn(struct quern_conn *conn, quern_status status) {
    if (conn->status == QUERN_OK) conn->status = status;
    conn->sink = NULL;
    mute(conn);
}

/* The other rank can still be told. */
void quern_conn_damaged(struct quern_conn *conn) {
    if (conn->status == QUERN_OK) conn->status = QUERN_PEER_MISMATCH;
    conn->sink = NULL;
}

/* ---- sending ---- */

bool quern_conn_reserve(struct quern_conn *conn, size_t bytes) {
    const size_t used = conn->end - conn->begin;
    if (conn->room - conn->end >= bytes) return true;
    if (conn->room - used >= bytes) {
        memmove(conn->queue, conn->queue + conn->begin, used);
    } else {
        const size_t room = used + bytes > 2 * conn->room ? used + bytes : 2 * conn->room;
        unsigned char *queue = malloc(room);
        if (!queue) return false;
        if (used) memcpy(queue, conn->queue + conn->begin, used);
        free(conn->queue);
        conn->queue = queue;
        conn->room = room;
    }
    conn->begin = 0;
    conn->end = used;
    return true;
}

static void number(struct quern_conn *conn, struct quern_transfer_frame *frame) {
    frame->order = conn->sent++;
    quern_write_digest(frame, sizeof *frame);
}

static void append(struct quern_conn *conn, const void *bytes, size_t count) {
    if (count) memcpy(conn->queue + conn->end, bytes, count);
    conn->end += count;
}

void quern_conn_say(struct quern_conn *conn, struct quern_transfer_frame frame, const void *payload, size_t bytes) {
    if (conn->is_mute) return;
    if (!quern_conn_reserve(conn, sizeof frame + bytes)) {
        end_conn(conn, QUERN_OUT_OF_MEMORY);
        return;
    }
    frame.bytes = bytes;
    frame.payload_digest = quern_digest(payload, bytes);
    number(conn, &frame);
    append(conn, &frame, sizeof frame);
    append(conn, payload, bytes);
}

/* A message in a ring is never half sent, so that an end finds room behind it at once. */
size_t quern_conn_data_room(const struct quern_conn *conn) {
    if (conn->is_elsewhere) return QUERN_CONN_PIECE;
    const size_t room = quern_ring_room(&conn->out), needed = SPARE + sizeof(struct quern_transfer_frame);
    return room > needed ? room - needed : 0;
}

void quern_conn_send_data(struct quern_conn *conn, struct quern_transfer_frame frame, int count, void *sending) {
    conn->data = frame;
    number(conn, &conn->data);
    conn->parts[0] = (struct iovec){&conn->data, sizeof conn->data};
    conn->first = 0;
    conn->count = count;
    conn->sending = sending;
}

static size_t bytes_of_parts(const struct quern_conn *conn) {
    size_t bytes = 0;
    for (int i = conn->first; i < conn->count; i++) bytes += conn->parts[i].iov_len;
    return bytes;
}

void quern_conn_detach_data(struct quern_conn *conn) {
    const size_t rest = bytes_of_parts(conn), used = conn->end - conn->begin;
    conn->sending = NULL;
    if (!rest) return;
    if (!quern_conn_reserve(conn, rest)) {
        end_conn(conn, QUERN_OUT_OF_MEMORY);
        return;
    }
    unsigned char *to = conn->queue + conn->begin;
    memmove(to + rest, to, used);
    for (int i = conn->first; i < conn->count; i++) {
        memcpy(to, conn->parts[i].iov_base, conn->parts[i].iov_len);
        to += conn->parts[i].iov_len;
    }
    conn->end += rest;
    conn->first = conn->count = 0;
}

static ssize_t put(struct quern_conn *conn, struct iovec *parts, int count) {
    if (!conn->is_elsewhere) {
        const ssize_t moved = quern_ring_put(&conn->out, parts, count);
        if (moved < 0) end_conn(conn, QUERN_PEER_MISMATCH);
        return moved;
    }
    const ssize_t moved = quern_socket_put(conn->socket, parts, count);
    if (moved < 0 && errno != EAGAIN && errno != EINTR) mute(conn);
    return moved;
}

static bool flush_data(struct quern_conn *conn) {
    ssize_t moved = put(conn, conn->parts + conn->first, conn->count - conn->first);
    if (moved <= 0) return false;
    while (conn->first < conn->count && (size_t)moved >= conn->parts[conn->first].iov_len)
        moved -= (ssize_t)conn->parts[conn->first++].iov_len;
    if (conn->first < conn->count) {
        struct iovec *part = &conn->parts[conn->first];
        *part = (struct iovec){(char *)part->iov_base + moved, part->iov_len - (size_t)moved};
    } else {
        conn->first = conn->count = 0;
        conn->sending = NULL;
    }
    return true;
}

static bool flush_queue(struct quern_conn *conn) {
    const ssize_t moved = put(conn, &(struct iovec){conn->queue + conn->begin, conn->end - conn->begin}, 1);
    if (moved <= 0) return false;
    conn->begin += (size_t)moved;
    if (conn->begin == conn->end) conn->begin = conn->end = 0;
    return true;
}

bool quern_conn_flush(struct quern_conn *conn) {
    bool moved = false;
    while (conn->count && flush_data(conn)) moved = true;
    while (!conn->count && conn->begin < conn->end && flush_queue(conn)) moved = true;
    if (moved && !conn->is_elsewhere) quern_notify(&quern_place(conn->member->roster, conn->peer)->eventcount);
    return moved;
}

/* ---- hearing ---- */

static ssize_t get(struct quern_conn *conn, struct iovec *parts, int count) {
    if (conn->status != QUERN_OK) return -1;
    if (conn->is_elsewhere) {
        const ssize_t moved = quern_socket_get(conn->socket, parts, count);
        if (moved == 0 || (moved < 0 && errno != EAGAIN && errno != EINTR)) end_conn(conn, QUERN_PEER_LOST);
        return moved;
    }
    const ssize_t moved = quern_ring_get(&conn->in, parts, count);
    if (moved < 0) quern_conn_damaged(conn);
    if (moved > 0) quern_notify(&quern_place(conn->member->roster, conn->peer)->eventcount);
    return moved;
}

/* The most bytes of payload that a word has. */
static uint64_t most_of(uint32_t word) {
    static const uint64_t most[QUERN_WORDS] = {
        [QUERN_WORD_HELLO] = sizeof(struct quern_transfer_hello),
        [QUERN_WORD_EAGER] = QUERN_TRANSFER_MOST_ITEMS * sizeof(struct quern_transfer_entry),
        [QUERN_WORD_DATA] = QUERN_CONN_PIECE,
        [QUERN_WORD_END] = QUERN_TRANSFER_REASON,
        [QUERN_WORD_CONNECT] = sizeof(ncclUniqueId),
        [QUERN_WORD_GO] = QUERN_TRANSFER_MOST_GO * sizeof(struct quern_transfer_go),
        [QUERN_WORD_BREAK] = QUERN_TRANSFER_REASON,
        [QUERN_WORD_READY] = sizeof(struct quern_transfer_piece),
        [QUERN_WORD_STAGED] = sizeof(struct quern_transfer_staged),
        [QUERN_WORD_BUFFER] = sizeof(CUmemFabricHandle),
    };
    return most[word];
}

static bool is_head(struct quern_conn *conn) {
    const struct quern_transfer_frame *head = &conn->head;
    return quern_has_digest(head, sizeof *head) && head->word && head->word < QUERN_WORDS && head->order == conn->heard++ &&
           head->bytes <= most_of(head->word);
}

/* The head is whole.  False: it is none, or there is no memory for its payload. */
static bool begin_payload(struct quern_conn *conn) {
    conn->left = 0;
    conn->sink = NULL;
    if (!is_head(conn)) {
        quern_conn_damaged(conn);
        return false;
    }
    conn->left = conn->head.bytes;
    if (conn->head.word == QUERN_WORD_DATA || !conn->left) return true;
    free(conn->payload);
    conn->payload = malloc((size_t)conn->left);
    if (!conn->payload) end_conn(conn, QUERN_OUT_OF_MEMORY);
    return conn->payload != NULL;
}

static bool hear_head(struct quern_conn *conn, bool *moved) {
    while (conn->headed < sizeof conn->head) {
        const ssize_t came = get(conn, &(struct iovec){(char *)&conn->head + conn->headed, sizeof conn->head - conn->headed}, 1);
        if (came <= 0) return false;
        *moved = true;
        conn->headed += (size_t)came;
        if (conn->headed == sizeof conn->head) return begin_payload(conn);
    }
    return true;
}

static bool hear_payload(struct quern_conn *conn, bool *moved) {
    while (conn->left) {
        unsigned char *to = conn->payload + (conn->head.bytes - conn->left);
        const ssize_t came = get(conn, &(struct iovec){to, (size_t)conn->left}, 1);
        if (came <= 0) return false;
        *moved = true;
        conn->left -= (uint64_t)came;
    }
    if (quern_digest(conn->payload, (size_t)conn->head.bytes) == conn->head.payload_digest) return true;
    quern_conn_damaged(conn);
    return false;
}

const struct quern_transfer_frame *quern_conn_hear(struct quern_conn *conn, bool *moved) {
    if (conn->status != QUERN_OK || !hear_head(conn, moved)) return NULL;
    if (conn->head.word != QUERN_WORD_DATA && !hear_payload(conn, moved)) return NULL;
    conn->headed = 0;
    return &conn->head;
}

ssize_t quern_conn_take(struct quern_conn *conn, const struct iovec *parts, int count) {
    struct iovec some[QUERN_CONN_PARTS];
    uint64_t left = conn->left;
    int used = 0;
    for (; used < count && used < QUERN_CONN_PARTS && left; used++) {
        some[used] = parts[used];
        if (some[used].iov_len > left) some[used].iov_len = (size_t)left;
        left -= some[used].iov_len;
    }
    const ssize_t came = get(conn, some, used);
    if (came > 0) conn->left -= (uint64_t)came;
    return came;
}

void quern_conn_drop(struct quern_conn *conn, bool *moved) {
    char dropped[4096];
    while (conn->left && quern_conn_take(conn, &(struct iovec){dropped, sizeof dropped}, 1) > 0) *moved = true;
}
