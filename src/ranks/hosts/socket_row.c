/* The way of sockets: the connections of pairs of ranks.  Called by sendrecv.c. */
#define _GNU_SOURCE
#include "ranks/hosts/hosts.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "os/text.h"

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

static int socket_of(const struct quern_sendrecv *sendrecv, const struct quern_channel *channel) {
    return sendrecv->member->net->socket[channel->rank];
}

static enum quern_outcome send_piece(struct quern_sendrecv *sendrecv, struct quern_channel *channel) {
    struct iovec piece[PIECES];
    const int parts = cut_piece(channel->out, channel->outs, piece);
    const ssize_t moved = quern_socket_put(socket_of(sendrecv, channel), piece, parts);
    if (moved > 0) use_up(&channel->out, &channel->outs, (size_t)moved);
    return outcome_of(sendrecv, moved);
}

static ssize_t receive_dropped(const struct quern_sendrecv *sendrecv, struct quern_channel *channel) {
    char dropped[4096];
    const size_t bytes = channel->skipped < sizeof dropped ? channel->skipped : sizeof dropped;
    const ssize_t moved = quern_socket_get(socket_of(sendrecv, channel), &(struct iovec){dropped, bytes}, 1);
    if (moved > 0) channel->skipped -= (uint64_t)moved;
    return moved;
}

static enum quern_outcome receive_piece(struct quern_sendrecv *sendrecv, struct quern_channel *channel) {
    struct iovec piece[PIECES];
    if (!channel->ins && channel->skipped) return outcome_of(sendrecv, receive_dropped(sendrecv, channel));
    const int parts = cut_piece(channel->in, channel->ins, piece);
    const ssize_t moved = quern_socket_get(socket_of(sendrecv, channel), piece, parts);
    if (moved > 0) use_up(&channel->in, &channel->ins, (size_t)moved);
    return outcome_of(sendrecv, moved);
}

static enum quern_outcome receive_head(struct quern_sendrecv *sendrecv, struct quern_channel *channel) {
    const struct iovec left = {(char *)&channel->in_head + channel->in_heading, sizeof channel->in_head - channel->in_heading};
    const ssize_t moved = quern_socket_get(socket_of(sendrecv, channel), &left, 1);
    if (moved > 0) channel->in_heading += (size_t)moved;
    return outcome_of(sendrecv, moved);
}

/* Sleeps until something that is waited for has come, or can go. */
static void rest(struct quern_sendrecv *sendrecv) {
    const struct quern_net *net = sendrecv->member->net;
    int count = 0;
    for (int i = 0; i < sendrecv->open; i++) {
        const struct quern_channel *channel = &sendrecv->channel[sendrecv->order[i]];
        const bool reads = channel->in_heading < sizeof channel->in_head || channel->ins || channel->skipped;
        net->polls[count++] = (struct pollfd){.fd = socket_of(sendrecv, channel),
                                               .events = (short)((reads ? POLLIN : 0) | (channel->outs ? POLLOUT : 0))};
    }
    poll(net->polls, (nfds_t)count, TICK);
}

const struct quern_data_row quern_socket_row = {
    .name = "sockets", .merges = true, .send = send_piece, .receive_head = receive_head, .receive = receive_piece, .rest = rest};
