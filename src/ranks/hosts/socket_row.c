/* The way of sockets: a stream for each pair of ranks.  Called by sendrecv.c. */
#define _GNU_SOURCE
#include "ranks/hosts/socket_row.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "os/text.h"
#include "ranks/hosts/sendrecv.h"

enum {
    PIECE = 64 << 10,  /* bytes that one call of the system moves at most */
    PIECES = 16,       /* parts of such a piece */
    TICK = 5           /* milliseconds of sleep */
};

static int socket_of(const struct quern_sendrecv *sendrecv, const struct quern_channel *channel) {
    return sendrecv->member->span->socket[channel->rank];
}

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
    struct msghdr message = {.msg_iov = piece, .msg_iovlen = (size_t)cut_piece(channel->out, channel->outs, piece)};
    const ssize_t moved = sendmsg(socket_of(sendrecv, channel), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (moved > 0) use_up(&channel->out, &channel->outs, (size_t)moved);
    return outcome_of(sendrecv, moved);
}

static ssize_t receive_dropped(int socket, struct quern_channel *channel) {
    char dropped[4096];
    const size_t bytes = channel->skipped < sizeof dropped ? channel->skipped : sizeof dropped;
    const ssize_t moved = recv(socket, dropped, bytes, MSG_DONTWAIT);
    if (moved > 0) channel->skipped -= (uint64_t)moved;
    return moved;
}

static enum quern_outcome receive_piece(struct quern_sendrecv *sendrecv, struct quern_channel *channel) {
    const int socket = socket_of(sendrecv, channel);
    struct iovec piece[PIECES];
    if (!channel->ins && channel->skipped) return outcome_of(sendrecv, receive_dropped(socket, channel));
    struct msghdr message = {.msg_iov = piece, .msg_iovlen = (size_t)cut_piece(channel->in, channel->ins, piece)};
    const ssize_t moved = recvmsg(socket, &message, MSG_DONTWAIT);
    if (moved > 0) use_up(&channel->in, &channel->ins, (size_t)moved);
    return outcome_of(sendrecv, moved);
}

static enum quern_outcome receive_head(struct quern_sendrecv *sendrecv, struct quern_channel *channel) {
    const ssize_t moved = recv(socket_of(sendrecv, channel), (char *)&channel->in_head + channel->in_heading,
                               sizeof channel->in_head - channel->in_heading, MSG_DONTWAIT);
    if (moved > 0) channel->in_heading += (size_t)moved;
    return outcome_of(sendrecv, moved);
}

/* Sleeps until a connection that is waited for has something. */
static void rest(struct quern_sendrecv *sendrecv) {
    struct pollfd polls[QUERN_RANK_LIMIT];
    int count = 0;
    for (int i = 0; i < sendrecv->count; i++) {
        const struct quern_channel *channel = &sendrecv->channel[i];
        const bool reads = channel->in_heading < sizeof channel->in_head || channel->ins || channel->skipped;
        if (!reads && !channel->outs) continue;
        polls[count++] = (struct pollfd){.fd = socket_of(sendrecv, channel),
                                         .events = (short)((reads ? POLLIN : 0) | (channel->outs ? POLLOUT : 0))};
    }
    poll(polls, (nfds_t)count, TICK);
}

const struct quern_data_row quern_socket_row = {
    .name = "sockets", .merges = true, .send = send_piece, .receive_head = receive_head, .receive = receive_piece, .rest = rest};
