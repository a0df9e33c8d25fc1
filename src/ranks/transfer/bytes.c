/*
 * Moves the bytes of a pair.  If the receiver can read the sender's memory it copies, else they travel in messages of
 * data, of a carrier, or through a bounce buffer of GPU memory.  What comes before the start lands in memory of the transfer.
 * Called by progress.c and transfer.c.
 */
#define _GNU_SOURCE
#include "ranks/transfer/transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

#include "ranks/points.h"

enum {
    COPY_PIECE = 256 << 10, COPIES = 16,  /* bytes between two looks at the sender; such pieces in one call */
    GPU_PIECE = 64 << 20,                 /* by a GPU, in a third of a millisecond over NVLink and three over PCIe */
    LEAST_PIECE = 4 << 10                 /* of data, unless less is left */
};

/* ---- a round ---- */

static void restart(struct quern_cursor *cursor) {
    cursor->done = cursor->asked = cursor->part = cursor->within = 0;
    cursor->is_complete = !cursor->items;
}

void quern_begin_cursors(struct quern_transfer_pair *pair) {
    restart(&pair->in);
    restart(&pair->out);
    quern_put_bytes(pair, pair->landing, (size_t)pair->landed);
    pair->landed = 0;
}

/* ---- messages of data ---- */

static bool is_started(const struct quern_transfer_pair *pair) { return pair->transfer->state == QUERN_TRANSFER_STARTED; }

/* Else what comes is of the next round. */
static bool takes_now(const struct quern_transfer_pair *pair) { return is_started(pair) && !pair->in.is_complete; }

static bool has_landing(struct quern_transfer_pair *pair) {
    const size_t bytes = pair->in.all < QUERN_TRANSFER_EAGER ? (size_t)pair->in.all : QUERN_TRANSFER_EAGER;
    if (!pair->landing) pair->landing = malloc(bytes);
    if (!pair->landing) quern_transfer_fail(pair->transfer, QUERN_OUT_OF_MEMORY, "no memory for data that comes before the start");
    return pair->landing != NULL;
}

void quern_begin_data(struct quern_conn *conn, struct quern_transfer_pair *pair, const struct quern_transfer_frame *head) {
    const bool now = takes_now(pair);
    const uint64_t round = pair->transfer->round + !now;
    const int64_t done = now ? pair->in.done : pair->landed;
    const int64_t most = now || pair->in.all < QUERN_TRANSFER_EAGER ? pair->in.all : QUERN_TRANSFER_EAGER;
    if (pair->transfer->state == QUERN_TRANSFER_OVER) return;
    if (head->round != round || head->number != (uint64_t)done || head->bytes > (uint64_t)(most - done)) {
        quern_conn_damaged(conn);
        return;
    }
    if (now || has_landing(pair)) conn->sink = pair;
}

void quern_take_data(struct quern_conn *conn, bool *moved) {
    struct quern_transfer_pair *pair = conn->sink;
    while (conn->left && (pair = conn->sink)) {
        struct iovec pieces[QUERN_CONN_PARTS];
        const bool now = takes_now(pair);
        pieces[0] = (struct iovec){now ? NULL : pair->landing + pair->landed, (size_t)conn->left};
        const int count = now ? quern_list_pieces(pair, &pair->in, true, (size_t)conn->left, pieces, NULL, QUERN_CONN_PARTS) : 1;
        const ssize_t came = quern_conn_take(conn, pieces, count);
        if (came <= 0) return;
        *moved = true;
        if (now) quern_move_on(pair, &pair->in, true, came);
        else pair->landed += came;
    }
    if (conn->left) quern_conn_drop(conn, moved);
}

static struct quern_transfer_frame frame_of(const struct quern_transfer_pair *pair, enum quern_word word) {
    const struct quern_transfer_data *transfer = pair->transfer;
    return (struct quern_transfer_frame){.word = word, .key = transfer->key, .instance = transfer->instance, .other = pair->other,
                                         .round = transfer->round};
}

/* One message more, if the connection has nothing else to do. */
bool quern_send_data(struct quern_transfer_pair *pair) {
    struct quern_cursor *cursor = &pair->out;
    struct quern_conn *conn = pair->conn;
    const bool waits = pair->other_round < pair->transfer->round;
    const int64_t limit = waits && cursor->all > QUERN_TRANSFER_EAGER ? QUERN_TRANSFER_EAGER : cursor->all;
    if (!is_started(pair) || pair->transfer->gpu || cursor->done >= limit) return false;
    if (cursor->all > QUERN_TRANSFER_SMALL && conn->is_read != QUERN_ACCESS_NO) return false;
    if (!quern_conn_is_idle(conn)) return false;
    const size_t left = (size_t)(limit - cursor->done), room = quern_conn_data_room(conn);
    if (room < left && room < LEAST_PIECE) return false;
    size_t most = left < room ? left : room;
    if (most > QUERN_CONN_PIECE) most = QUERN_CONN_PIECE;
    const int count = quern_list_pieces(pair, cursor, false, most, conn->parts + 1, NULL, QUERN_CONN_PARTS);
    struct quern_transfer_frame frame = frame_of(pair, QUERN_WORD_DATA);
    frame.number = (uint64_t)cursor->done;
    frame.bytes = quern_bytes_in(conn->parts + 1, count);
    quern_move_on(pair, cursor, false, (int64_t)frame.bytes);
    quern_conn_send_data(conn, frame, 1 + count, pair);
    QUERN_POINT(TRANSFER_SENDING);
    return quern_conn_flush(conn);
}

/* ---- copies from the sender's memory ---- */

static ssize_t copy_pieces(const struct quern_conn *conn, const struct iovec *ours, const struct iovec *theirs, int count) {
    if (!conn->member->roster->peer[conn->peer].is_here)
        return process_vm_readv(conn->pid, ours, (unsigned long)count, theirs, (unsigned long)count, 0);
    for (int i = 0; i < count; i++) memcpy(ours[i].iov_base, theirs[i].iov_base, ours[i].iov_len);
    return (ssize_t)quern_bytes_in(ours, count);
}

/* A process that ends loses its memory a moment before its locks. */
static bool is_ending(const struct quern_conn *conn) {
    for (int i = 0; i < 200; i++) {
        if (quern_rank_has_gone(conn->member->roster, conn->peer)) return true;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return false;
}

static void place_in_buffer(CUdeviceptr buffer, struct iovec *theirs, int count) {
    for (int i = 0; i < count; i++) {
        theirs[i].iov_base = (void *)(uintptr_t)buffer;
        buffer += theirs[i].iov_len;
    }
}

static void move_on(struct quern_transfer_pair *pair, ssize_t copied, CUdeviceptr buffer) {
    quern_move_on(pair, &pair->in, true, copied);
    if (buffer) pair->conn->path->have_taken(pair, (size_t)copied);
}

static bool copy_piece(struct quern_transfer_pair *pair) {
    struct iovec ours[QUERN_CONN_PARTS], theirs[QUERN_CONN_PARTS];
    struct quern_conn *conn = pair->conn;
    const bool by_gpu = pair->transfer->gpu;
    size_t most = by_gpu ? GPU_PIECE : COPY_PIECE;
    CUdeviceptr buffer = 0;
    if (conn->path->find && !conn->path->find(pair, &most, &buffer)) return false;
    const int count = quern_list_pieces(pair, &pair->in, true, most, ours, theirs, QUERN_CONN_PARTS);
    if (buffer) place_in_buffer(buffer, theirs, count);
    CUresult error = CUDA_SUCCESS;
    QUERN_POINT(TRANSFER_COPYING);
    if (!quern_begin_copy(conn)) return false;
    if (by_gpu) error = quern_copy_by_gpu(pair->transfer, ours, theirs, count);
    const ssize_t copied = by_gpu ? (ssize_t)quern_bytes_in(ours, count) : copy_pieces(conn, ours, theirs, count);
    const int reason = errno;
    const bool stands = quern_end_copy(conn);
    if (!stands) return false;  /* the message that says why is on its way */
    if (error != CUDA_SUCCESS) quern_fail_on_gpu(pair->transfer, error, "copying from the memory of another rank");
    else if (copied > 0) move_on(pair, copied, buffer);
    else if (quern_rank_has_gone(conn->member->roster, conn->peer) || (reason == ESRCH && is_ending(conn))) return false;
    else quern_transfer_fail(pair->transfer, QUERN_SYSTEM_ERROR, "copying from the memory of rank %d: %s", conn->peer,
                             strerror(reason));
    return copied > 0 && is_started(pair);
}

bool quern_copy_some(struct quern_transfer_pair *pair) {
    const bool is_small = pair->in.all <= QUERN_TRANSFER_SMALL && !pair->transfer->gpu;
    bool moved = false;
    if (is_small || pair->conn->reads != QUERN_ACCESS_YES) return false;
    for (int i = 0; i < COPIES && is_started(pair) && pair->in.done < pair->in.all; i++) {
        if (!copy_piece(pair)) return moved;
        moved = true;
    }
    return moved;
}

/* ---- a pair ---- */

static void finish_receiving(struct quern_transfer_pair *pair) {
    pair->in.is_complete = true;
    QUERN_POINT(TRANSFER_RECEIVED);
    quern_conn_say(pair->conn, frame_of(pair, QUERN_WORD_DONE), NULL, 0);
}

bool quern_receive(struct quern_transfer_pair *pair, bool (*take)(struct quern_transfer_pair *pair)) {
    if (pair->in.is_complete || pair->other_round < pair->transfer->round) return false;
    const bool moved = take(pair);
    if (!is_started(pair) || pair->in.done < pair->in.all) return moved;
    finish_receiving(pair);
    return true;
}

bool quern_advance_pair(struct quern_transfer_pair *pair) {
    if (!pair->is_agreed || !pair->is_said || pair->conn->status != QUERN_OK || !pair->conn->path->advance_pair) return false;
    return pair->conn->path->advance_pair(pair);
}

/* ---- the path without anything of its own: data in messages, or copied by the receiver ---- */

static bool serves_all(const struct quern_conn *conn) {
    (void)conn;
    return true;
}

static quern_status open_direct(struct quern_conn *conn) {
    if (conn->member->device->kind == QUERN_CUDA) conn->reads = conn->is_read = QUERN_ACCESS_YES;
    return QUERN_OK;
}

static bool advance_directly(struct quern_transfer_pair *pair) {
    bool moved = quern_receive(pair, quern_copy_some);
    while (quern_send_data(pair)) moved = true;
    return moved;
}

static bool has_sent(struct quern_transfer_pair *pair) {
    return pair->out.done == pair->out.all || pair->conn->is_read == QUERN_ACCESS_YES;
}

const struct quern_path quern_direct_path = {
    .serves = serves_all, .open = open_direct, .advance_pair = advance_directly, .has_sent = has_sent};
