/* The way of sockets: the streams of pairs of ranks.  Called by sendrecv.c. */
#define _GNU_SOURCE
#include "ranks/hosts/socket_row.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "os/text.h"
#include "ranks/hosts/sendrecv.h"

enum {
    PIECE = 64 << 10,  /* bytes that one call of the system moves at most */
    PIECES = 16,       /* parts of such a piece */
    TICK = 5           /* milliseconds of sleep */
};

/* A piece of a list of parts: at most so many parts and bytes. */
static int cut_piece(const struct iovec *parts, int count, struct iovec piece[PIECES]) {
    size_t left = PIECE;
    int cut = 0;
    for (; cut < count && cut < PIECES && left; cut++) {
        piece[cut] = parts[cut];
        if (piece[cut].iov_len > left) piece[cut].iov_len = left;
        left -= piece[cut].iov_len;
    }
    return cut;
}

static void use_up(struct iovec **parts, int *count, size_t moved) {
    while (*count && moved >= (*parts)->iov_len) {
        moved -= (*parts)->iov_len;
        ++*parts, --*count;
    }
    if (*count) *(*parts) = (struct iovec){(char *)(*parts)->iov_base + moved, (*parts)->iov_len - moved};
}

static enum quern_outcome outcome_of(struct quern_sendrecv *sendrecv, ssize_t moved) {
    if (moved > 0) return QUERN_MOVED;
    if (moved < 0 && (errno == EAGAIN || errno == EINTR)) return QUERN_STUCK;
    if (moved == 0 || errno == ECONNRESET || errno == EPIPE || errno == ETIMEDOUT) return QUERN_ENDED;
    struct quern_text why = quern_text_begin(sendrecv->why, sizeof sendrecv->why);
    quern_text_add(&why, "%s", strerror(errno));
    return QUERN_FAILED;
}

static enum quern_outcome send_piece(struct quern_sendrecv *sendrecv, struct quern_channel *channel) {
    struct iovec piece[PIECES];
    const int parts = cut_piece(channel->out, channel->outs, piece);
    const ssize_t moved = quern_stream_put(sendrecv->member, QUERN_STREAM_CALLS, channel->rank, piece, parts);
    if (moved > 0) use_up(&channel->out, &channel->outs, (size_t)moved);
    return outcome_of(sendrecv, moved);
}

static ssize_t get(const struct quern_sendrecv *sendrecv, const struct quern_channel *channel, const struct iovec *parts,
                   int count) {
    return quern_stream_get(sendrecv->member, QUERN_STREAM_CALLS, channel->rank, parts, count);
}

static ssize_t receive_dropped(const struct quern_sendrecv *sendrecv, struct quern_channel *channel) {
    char dropped[4096];
    const size_t bytes = channel->skipped < sizeof dropped ? channel->skipped : sizeof dropped;
    const ssize_t moved = get(sendrecv, channel, &(struct iovec){dropped, bytes}, 1);
    if (moved > 0) channel->skipped -= (uint64_t)moved;
    return moved;
}

static enum quern_outcome receive_piece(struct quern_sendrecv *sendrecv, struct quern_channel *channel) {
    struct iovec piece[PIECES];
    if (!channel->ins && channel->skipped) return outcome_of(sendrecv, receive_dropped(sendrecv, channel));
    const ssize_t moved = get(sendrecv, channel, piece, cut_piece(channel->in, channel->ins, piece));
    if (moved > 0) use_up(&channel->in, &channel->ins, (size_t)moved);
    return outcome_of(sendrecv, moved);
}

static enum quern_outcome receive_head(struct quern_sendrecv *sendrecv, struct quern_channel *channel) {
    const struct iovec left = {(char *)&channel->in_head + channel->in_heading, sizeof channel->in_head - channel->in_heading};
    const ssize_t moved = get(sendrecv, channel, &left, 1);
    if (moved > 0) channel->in_heading += (size_t)moved;
    return outcome_of(sendrecv, moved);
}

static const uint32_t *heard(const struct quern_sendrecv *sendrecv) {
    const struct quern_stream_row *streams = sendrecv->member->span->streams;
    return streams->heard ? streams->heard(sendrecv->member, QUERN_STREAM_CALLS) : NULL;
}

/* Sleeps until something that is waited for has come, or can go. */
static void rest(struct quern_sendrecv *sendrecv) {
    const struct quern_span *span = sendrecv->member->span;
    int count = 0;
    for (int i = 0; i < sendrecv->open; i++) {
        const struct quern_channel *channel = &sendrecv->channel[sendrecv->order[i]];
        const bool reads = channel->in_heading < sizeof channel->in_head || channel->ins || channel->skipped;
        span->polls[count++] = (struct pollfd){.fd = span->socket[channel->rank],
                                               .events = (short)((reads ? POLLIN : 0) | (channel->outs ? POLLOUT : 0))};
    }
    span->streams->sleep(sendrecv->member, span->polls, count, TICK);
}

const struct quern_data_row quern_socket_row = {
    .name = "sockets", .merges = true, .send = send_piece, .receive_head = receive_head, .receive = receive_piece,
    .heard = heard, .rest = rest};
