/*
 * Transfers of GPU memory that the receiver does not reach, through the bounce buffer of the sender.  Called by progress.c and
 * bytes.c.
 */
#define _GNU_SOURCE
#include "ranks/transfer/transfer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "ranks/descriptors.h"
#include "ranks/points.h"
#include "runtime/cuda_visit.h"
#include "runtime/status.h"

/* ---- opening ---- */

static bool serves(const struct quern_conn *conn) {
    return conn->member->device->kind == QUERN_CUDA && !conn->member->roster->peer[conn->peer].is_here;
}

static quern_status open_path(struct quern_conn *conn) {
    conn->reads = conn->is_read = QUERN_ACCESS_YES;
    conn->bounce = calloc(1, sizeof *conn->bounce);
    if (!conn->bounce) return quern_fail(conn->member->device, QUERN_OUT_OF_MEMORY, "no memory for transfers");
    conn->bounce->listener = -1;
    return QUERN_OK;
}

static CUresult make_events(struct quern_bounce_path *path, const struct quern_membership *member) {
    struct quern_cuda_visit visit;
    CUresult error = quern_cuda_begin_visit(&visit, member->device->context);
    for (int i = 0; i < QUERN_BOUNCE_HALVES && error == CUDA_SUCCESS; i++)
        if (!path->half[i].filled) error = visit.cuda->event_create(&path->half[i].filled, CU_EVENT_DISABLE_TIMING);
    quern_cuda_end_visit(&visit);
    return error;
}

static void close_path(struct quern_conn *conn) {
    struct quern_bounce_path *path = conn->bounce;
    struct quern_cuda_visit visit;
    if (!path) return;
    if (quern_cuda_begin_visit(&visit, conn->member->device->context) == CUDA_SUCCESS)
        for (int i = 0; i < QUERN_BOUNCE_HALVES; i++)
            if (path->half[i].filled) visit.cuda->event_destroy(path->half[i].filled);
    quern_cuda_end_visit(&visit);
    quern_close_descriptor(&path->listener);
    quern_close_bounce_buffer(path->out);
    quern_close_bounce_buffer(path->in);
    free(path);
}

/* ---- showing the buffer ---- */

/* The name of the socket: other numbers than those of symmetric memory. */
static uint64_t call_of(int sender) { return (uint64_t)1 << 63 | (uint64_t)sender; }

static void fail(struct quern_transfer_pair *pair, quern_status status, int sender, int receiver) {
    char reason[QUERN_TRANSFER_REASON];
    quern_error_detail(reason, sizeof reason);
    quern_transfer_fail(pair->transfer, status, "rank %d cannot send rank %d what is not in symmetric memory: %s", sender, receiver,
                        reason);
}

/* Whether buffers pass as fabric handles. */
static bool has_fabric(const struct quern_conn *conn) { return conn->member->control != NULL; }

/* A descriptor is sent at once; a fabric handle is for the word that follows. */
static quern_status show_buffer(struct quern_conn *conn, CUmemFabricHandle *fabric) {
    const struct quern_membership *member = conn->member;
    struct quern_bounce_path *path = conn->bounce;
    struct quern_bounce_ticket ticket = {.descriptor = -1};
    quern_status status = path->out ? QUERN_OK : quern_make_bounce_buffer(member, &path->out);
    const CUresult error = status == QUERN_OK ? make_events(path, member) : CUDA_SUCCESS;
    if (error != CUDA_SUCCESS) status = quern_cuda_fail(member->device, error, "cuEventCreate");
    if (status == QUERN_OK) status = quern_export_bounce_buffer(member, path->out, &ticket);
    if (status == QUERN_OK && !has_fabric(conn))
        status = quern_descriptors_send_to(member, conn->peer, call_of(member->rank), path->asked,
                                           &(struct quern_descriptor){0, ticket.descriptor}, 1);
    quern_close_descriptor(&ticket.descriptor);
    *fabric = ticket.fabric;
    return status;
}

static void hear_listening(struct quern_conn *conn, uint64_t number) {
    if (number) conn->bounce->asked = number;
    else quern_conn_damaged(conn);
}

/* Whether the other rank has the buffer.  Without it the transfer fails, and the next one tries again. */
static bool has_shown(struct quern_transfer_pair *pair) {
    struct quern_conn *conn = pair->conn;
    struct quern_bounce_path *path = conn->bounce;
    CUmemFabricHandle fabric;
    if (!path->asked) return path->is_shown;
    const quern_status status = show_buffer(conn, &fabric);
    if (status == QUERN_OK) {
        path->asked = 0;
        path->is_shown = true;
        quern_conn_say(conn, (struct quern_transfer_frame){.word = QUERN_WORD_BUFFER}, &fabric,
                       has_fabric(conn) ? sizeof fabric : 0);
        QUERN_POINT(STAGE_SHOWN);
        return true;
    }
    if (status == QUERN_PEER_LOST) path->asked = 0;  /* how it has ended is found by those that wait */
    else fail(pair, status, conn->member->rank, conn->peer);
    return false;
}

/* ---- opening the other rank's ---- */

static void ask_for_buffer(struct quern_transfer_pair *pair) {
    struct quern_conn *conn = pair->conn;
    struct quern_bounce_path *path = conn->bounce;
    quern_status status = QUERN_OK;
    if (path->number) return;
    if (!has_fabric(conn)) status = quern_descriptors_listen(conn->member, call_of(conn->peer), &path->listener);
    if (status == QUERN_OK && getrandom(&path->number, sizeof path->number, 0) != sizeof path->number)
        status = quern_fail(conn->member->device, QUERN_SYSTEM_ERROR, "getrandom failed");
    if (status != QUERN_OK) {
        quern_close_descriptor(&path->listener);
        path->number = 0;
        fail(pair, status, conn->peer, conn->member->rank);
        return;
    }
    path->number |= 1;  /* 0: none */
    quern_conn_say(conn, (struct quern_transfer_frame){.word = QUERN_WORD_LISTENING, .number = path->number}, NULL, 0);
    QUERN_POINT(STAGE_LISTENING);
}

static quern_status open_from_fabric(struct quern_conn *conn) {
    return quern_open_bounce_buffer(conn->member, &(struct quern_bounce_ticket){-1, conn->bounce->fabric}, &conn->bounce->in);
}

static quern_status open_buffer(struct quern_conn *conn) {
    const struct quern_membership *member = conn->member;
    struct quern_bounce_path *path = conn->bounce;
    int received[QUERN_DESCRIPTOR_TAGS];
    for (int tag = 0; tag < QUERN_DESCRIPTOR_TAGS; tag++) received[tag] = -1;
    quern_status status = quern_descriptors_receive(member, call_of(conn->peer), path->number, path->listener, received);
    if (status == QUERN_OK && received[0] < 0)
        status = quern_fail(member->device, QUERN_PEER_MISMATCH, "the descriptor of the bounce buffer of transfers did not arrive");
    if (status == QUERN_OK)
        status = quern_open_bounce_buffer(member, &(struct quern_bounce_ticket){.descriptor = received[0]}, &path->in);
    for (int tag = 0; tag < QUERN_DESCRIPTOR_TAGS; tag++) quern_close_descriptor(&received[tag]);
    return status;
}

/* Whether this rank has the buffer.  Without it the transfer fails, and the next one asks again. */
static bool has_opened(struct quern_transfer_pair *pair) {
    struct quern_conn *conn = pair->conn;
    struct quern_bounce_path *path = conn->bounce;
    if (path->in) return true;
    if (!path->has_come) {
        ask_for_buffer(pair);
        return false;
    }
    const quern_status status = (has_fabric(conn) ? open_from_fabric : open_buffer)(conn);
    quern_close_descriptor(&path->listener);
    path->number = 0;
    path->has_come = false;
    if (status != QUERN_OK) fail(pair, status, conn->peer, conn->member->rank);
    else QUERN_POINT(STAGE_OPENED);
    return status == QUERN_OK;
}

static void hear_buffer(struct quern_conn *conn, uint64_t bytes) {
    struct quern_bounce_path *path = conn->bounce;
    const size_t expected = has_fabric(conn) ? sizeof path->fabric : 0;
    if (!path->number || path->has_come || bytes != expected) {
        quern_conn_damaged(conn);
        return;
    }
    if (expected) memcpy(&path->fabric, conn->payload, expected);
    path->has_come = true;
}

/* ---- the sender ---- */

static struct quern_bounce_half *free_half(struct quern_bounce_path *path) {
    for (int i = 0; i < QUERN_BOUNCE_HALVES; i++)
        if (path->half[i].state == QUERN_HALF_FREE) return &path->half[i];
    return NULL;
}

static CUdeviceptr address_of(const struct quern_bounce_buffer *buffer, uint64_t half) {
    return quern_bounce_buffer_address(buffer) + half * QUERN_BOUNCE_BYTES;
}

/* Skips memory that the receiver reaches by itself.  Returns the bytes of the next piece; 0: there are no more. */
static size_t find_piece(struct quern_transfer_pair *pair) {
    struct quern_cursor *cursor = &pair->out;
    bool is_staged = false;
    size_t bytes = 0;
    while (cursor->done < cursor->all && (bytes = quern_run_of(pair, cursor, false, QUERN_BOUNCE_BYTES, &is_staged)) && !is_staged)
        quern_move_on(pair, cursor, false, (int64_t)bytes);
    return cursor->done < cursor->all ? bytes : 0;
}

/* Begins the copies of a piece. */
static CUresult fill_half(struct quern_transfer_pair *pair, struct quern_bounce_half *half, CUdeviceptr to) {
    const struct quern_membership *member = pair->transfer->member;
    const CUstream stream = member->transfers->streams->copies;
    struct quern_cuda_visit visit;
    size_t left = half->piece.bytes;
    CUresult error = quern_cuda_begin_visit(&visit, member->device->context);
    while (left && error == CUDA_SUCCESS) {
        struct iovec from;
        quern_list_pieces(pair, &pair->out, false, left, &from, NULL, 1);
        error = visit.cuda->copy_on_device_async(to, (uintptr_t)from.iov_base, from.iov_len, stream);
        quern_move_on(pair, &pair->out, false, (int64_t)from.iov_len);
        to += from.iov_len, left -= from.iov_len;
    }
    if (error == CUDA_SUCCESS) error = visit.cuda->event_record(half->filled, stream);
    if (error != CUDA_SUCCESS && visit.pushed) visit.cuda->stream_synchronize(stream);  /* no event tells of what has begun */
    quern_cuda_end_visit(&visit);
    return error;
}

/* Whether the receiver has taken all of a round. */
static bool is_all_taken(struct quern_transfer_pair *pair) {
    if (find_piece(pair)) return false;
    for (int i = 0; i < QUERN_BOUNCE_HALVES; i++)
        if (pair->conn->bounce->half[i].pair == pair) return false;
    return true;
}

/* A bounce buffer that is asked for again is shown also if both halves are full: else none would become free. */
static bool bounce_piece(struct quern_transfer_pair *pair) {
    struct quern_bounce_path *path = pair->conn->bounce;
    if (pair->other_round < pair->transfer->round || is_all_taken(pair) || !has_shown(pair)) return false;
    struct quern_bounce_half *half = free_half(path);
    const size_t bytes = find_piece(pair);
    if (!half || !bytes) return false;
    const uint64_t number = (uint64_t)(half - path->half);
    half->piece = (struct quern_transfer_staged){.half = number, .offset = (uint64_t)pair->out.done, .bytes = bytes};
    half->state = QUERN_HALF_FILLING;
    half->pair = pair;
    const CUresult error = fill_half(pair, half, address_of(path->out, number));
    QUERN_POINT(STAGE_FILLING);
    if (error != CUDA_SUCCESS) quern_fail_on_gpu(pair->transfer, error, "copying what another rank receives");
    return error == CUDA_SUCCESS;
}

static void say_staged(struct quern_conn *conn, struct quern_bounce_half *half) {
    const struct quern_transfer_pair *pair = half->pair;
    const struct quern_transfer_data *transfer = pair->transfer;
    half->state = QUERN_HALF_STAGED;
    quern_conn_say(conn, (struct quern_transfer_frame){.word = QUERN_WORD_STAGED, .key = transfer->key,
                                                       .instance = transfer->instance, .other = pair->other,
                                                       .round = transfer->round}, &half->piece, sizeof half->piece);
    QUERN_POINT(STAGE_SAID);
}

static CUresult ask_event(const struct quern_conn *conn, CUevent event, bool waits) {
    struct quern_cuda_visit visit;
    CUresult error = quern_cuda_begin_visit(&visit, conn->member->device->context);
    if (error == CUDA_SUCCESS) error = waits ? visit.cuda->event_synchronize(event) : visit.cuda->event_query(event);
    quern_cuda_end_visit(&visit);
    return error;
}

/* The half that has been filling for longest; NULL: none is. */
static struct quern_bounce_half *oldest_filling(struct quern_bounce_path *path) {
    struct quern_bounce_half *oldest = NULL;
    for (int i = 0; i < QUERN_BOUNCE_HALVES; i++) {
        struct quern_bounce_half *half = &path->half[i];
        if (half->state != QUERN_HALF_FILLING) continue;
        if (!oldest || (half->pair == oldest->pair && half->piece.offset < oldest->piece.offset)) oldest = half;
    }
    return oldest;
}

/* The pieces of a transfer are said in the order of its bytes. */
static bool advance(struct quern_conn *conn) {
    bool moved = false;
    for (struct quern_bounce_half *half; (half = oldest_filling(conn->bounce)); moved = true) {
        const CUresult error = ask_event(conn, half->filled, false);
        if (error == CUDA_ERROR_NOT_READY) return moved;
        if (error == CUDA_SUCCESS) say_staged(conn, half);
        else quern_fail_on_gpu(half->pair->transfer, error, "copying what another rank receives");
    }
    return moved;
}

static bool advance_pair(struct quern_transfer_pair *pair) {
    const bool received = quern_receive(pair, quern_copy_some);
    return (pair->transfer->state == QUERN_TRANSFER_STARTED && bounce_piece(pair)) || received;
}

static bool is_busy(const struct quern_conn *conn) {
    for (int i = 0; i < QUERN_BOUNCE_HALVES; i++)
        if (conn->bounce->half[i].state == QUERN_HALF_FILLING) return true;
    return false;
}

static void hear_taken(struct quern_conn *conn, uint64_t number) {
    struct quern_bounce_half *half = number < QUERN_BOUNCE_HALVES ? &conn->bounce->half[number] : NULL;
    if (!half || half->state != QUERN_HALF_STAGED) {
        quern_conn_damaged(conn);
        return;
    }
    half->state = QUERN_HALF_FREE;
    half->pair = NULL;
}

/* ---- the receiver ---- */

static void say_taken(struct quern_conn *conn, uint64_t half) {
    quern_conn_say(conn, (struct quern_transfer_frame){.word = QUERN_WORD_TAKEN, .number = half}, NULL, 0);
}

static bool has_arrived(const struct quern_bounce_path *path, uint64_t half) {
    for (int i = 0; i < path->arrivals; i++)
        if (path->arrival[i].piece.half == half) return true;
    return false;
}

/* A copy is checked, since any process may write into a ring.  Where the piece belongs is checked when it is its turn. */
static void hear_staged(struct quern_conn *conn, struct quern_transfer_pair *pair, const struct quern_transfer_frame *head) {
    struct quern_bounce_path *path = conn->bounce;
    struct quern_transfer_staged piece;
    const struct quern_transfer_data *transfer = pair ? pair->transfer : NULL;
    if (head->bytes != sizeof piece) {
        quern_conn_damaged(conn);
        return;
    }
    memcpy(&piece, conn->payload, sizeof piece);
    if (piece.half >= QUERN_BOUNCE_HALVES || has_arrived(path, piece.half) || !piece.bytes || piece.bytes > QUERN_BOUNCE_BYTES)
        quern_conn_damaged(conn);
    else if (transfer && transfer->state == QUERN_TRANSFER_STARTED && head->round == transfer->round && pair->is_agreed &&
             !pair->in.is_complete)
        path->arrival[path->arrivals++] = (struct quern_bounce_arrival){.pair = pair, .piece = piece};
    else
        say_taken(conn, piece.half);
}

static struct quern_bounce_arrival *find_arrival(struct quern_bounce_path *path, const struct quern_transfer_pair *pair) {
    for (int i = 0; i < path->arrivals; i++)
        if (path->arrival[i].pair == pair) return &path->arrival[i];
    return NULL;
}

static void end_arrival(struct quern_conn *conn, struct quern_bounce_arrival *arrival) {
    struct quern_bounce_path *path = conn->bounce;
    const uint64_t half = arrival->piece.half;
    for (; arrival + 1 < path->arrival + path->arrivals; arrival++) arrival[0] = arrival[1];
    path->arrivals--;
    say_taken(conn, half);
    QUERN_POINT(STAGE_TAKEN);
}

static bool find(struct quern_transfer_pair *pair, size_t *most, CUdeviceptr *buffer) {
    struct quern_bounce_path *path = pair->conn->bounce;
    bool is_staged;
    const size_t run = quern_run_of(pair, &pair->in, true, *most, &is_staged);
    const struct quern_bounce_arrival *arrival = find_arrival(path, pair);
    *buffer = 0;
    *most = run;
    if (!is_staged) return true;
    if (!has_opened(pair) || !arrival) return false;
    const uint64_t left = arrival->piece.bytes - arrival->done;
    if (arrival->piece.offset + arrival->done != (uint64_t)pair->in.done || left > run) {
        quern_conn_damaged(pair->conn);
        return false;
    }
    *most = left;
    *buffer = address_of(path->in, arrival->piece.half) + arrival->done;
    return true;
}

static void have_taken(struct quern_transfer_pair *pair, size_t bytes) {
    struct quern_bounce_arrival *arrival = find_arrival(pair->conn->bounce, pair);
    arrival->done += bytes;
    if (arrival->done == arrival->piece.bytes) end_arrival(pair->conn, arrival);
}

/* ---- both ---- */

static void hears(struct quern_conn *conn, struct quern_transfer_pair *pair, const struct quern_transfer_frame *head) {
    switch (head->word) {
    case QUERN_WORD_LISTENING: hear_listening(conn, head->number); break;
    case QUERN_WORD_BUFFER: hear_buffer(conn, head->bytes); break;
    case QUERN_WORD_STAGED: hear_staged(conn, pair, head); break;
    case QUERN_WORD_TAKEN: hear_taken(conn, head->number); break;
    default: break;
    }
}

/* On return no copy reads the memory of the pair's sends any more, and the other rank gets its halves back. */
static void release(struct quern_transfer_pair *pair, quern_status status, const char *reason) {
    struct quern_bounce_path *path = pair->conn->bounce;
    (void)status, (void)reason;
    for (int i = 0; i < QUERN_BOUNCE_HALVES; i++) {
        struct quern_bounce_half *half = &path->half[i];
        if (half->pair != pair) continue;
        half->pair = NULL;
        if (half->state != QUERN_HALF_FILLING) continue;
        ask_event(pair->conn, half->filled, true);
        half->state = QUERN_HALF_FREE;
    }
    for (struct quern_bounce_arrival *arrival; (arrival = find_arrival(path, pair));) end_arrival(pair->conn, arrival);
}

const struct quern_path quern_bounce_path = {
    .serves = serves, .open = open_path, .close = close_path, .hears = hears, .advance = advance, .advance_pair = advance_pair,
    .find = find, .have_taken = have_taken, .is_busy = is_busy, .has_sent = is_all_taken, .release = release};
