/*
 * Moves messages over the connections of a rank.  Called by span.c, and by the ragged all-to-all for its slices.
 *
 * Each pass gives every connection a piece in each direction, so that neither end waits with a full buffer for the other.  A rank
 * looks again for a while before it sleeps in poll, since the other host answers within some ten microseconds.  Once in a while it
 * looks at the poison, at the limit, and whether those it waits for live.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "os/clock.h"
#include "os/futex.h"
#include "ranks/describe.h"
#include "ranks/hosts/trade.h"
#include "ranks/poison.h"

enum {
    PIECE = 64 << 10,  /* bytes that one call of the system moves at most */
    PIECES = 16,       /* parts of such a piece */
    LOOKS = 400,       /* passes in vain before it sleeps */
    TICK = 5,          /* milliseconds of sleep between two looks around */
    GRACE = 60         /* milliseconds for the reason of an end to come */
};

/* ---- opening ---- */

static uint32_t tag_of(const struct quern_membership *member, const struct quern_meeting *meeting) {
    const bool all = meeting->set->count == member->ranks;
    return quern_make_tag(meeting->operation, meeting->phase,
                          all ? member->everyones_digest : quern_members_digest(meeting->set->words));
}

void quern_trade_open(struct quern_trade *trade, struct quern_membership *member, const struct quern_meeting *meeting,
                      const struct quern_rank_set *set, struct quern_lane *lanes) {
    *trade = (struct quern_trade){
        .member = member, .tag = tag_of(member, meeting), .timeout = meeting->timeout, .began = quern_now(), .lane = lanes};
    for (int step = 1; step < member->ranks; step++) {  /* each begins with its successor */
        const int rank = (member->rank + step) % member->ranks;
        if (!quern_set_has(set, rank) || quern_set_has(&member->span->here, rank)) continue;
        struct quern_lane *lane = &lanes[trade->count++];
        *lane = (struct quern_lane){.rank = rank, .in_head = {0}};
        lane->out_head = (struct quern_frame){.tag = trade->tag, .number = member->span->sent[rank]++};
        lane->out = lane->few_out;
        lane->few_out[lane->outs++] = (struct iovec){&lane->out_head, sizeof lane->out_head};
    }
    trade->open = trade->count;
}

void quern_lane_add(struct quern_lane *lane, const void *data, size_t bytes) {
    if (bytes) lane->few_out[lane->outs++] = (struct iovec){(void *)data, bytes};
}

/* ---- errors ---- */

static void describe_peer(struct quern_text *text, const struct quern_membership *member, int rank) {
    quern_text_add(text, "rank %d (", rank);
    quern_describe_place(text, member->roster, rank);
    quern_text_add(text, ")");
}

static void describe_call(char *buffer, size_t bytes, uint32_t tag) {
    struct quern_text text = quern_text_begin(buffer, bytes);
    quern_describe_tag(&text, tag);
}

static bool is_done(const struct quern_lane *lane) {
    return !lane->outs && !lane->ins && !lane->skipped && lane->in_heading == sizeof lane->in_head;
}

static quern_status report_other_call(const struct quern_trade *trade, const struct quern_lane *lane) {
    char here[64], there[64], peer[120];
    struct quern_text text = quern_text_begin(peer, sizeof peer);
    describe_call(here, sizeof here, trade->tag);
    describe_call(there, sizeof there, lane->in_head.tag);
    describe_peer(&text, trade->member, lane->rank);
    return quern_poison(trade->member, QUERN_PEER_MISMATCH, "rank %d is in %s while %s is in %s%s: the ranks must make the same "
                        "calls in the same order, with the same members", trade->member->rank, here, peer, there,
                        strcmp(here, there) == 0 ? " of other members" : "");
}

static quern_status report_damage(const struct quern_trade *trade, const struct quern_lane *lane) {
    return quern_poison(trade->member, QUERN_PEER_MISMATCH, "rank %d got a message of rank %d that is none of this call: its parts "
                        "have %u, %u and %llu bytes", trade->member->rank, lane->rank, (unsigned)lane->in_head.first,
                        (unsigned)lane->in_head.second, (unsigned long long)lane->in_head.last);
}

/* The connection to a rank has ended, or its host is lost.  If that has a reason that is on its way, the reason is better. */
static quern_status report_lost(const struct quern_trade *trade, int rank, bool left) {
    struct quern_membership *member = trade->member;
    const uint32_t *silent = &member->segment->rank[rank].silent;
    for (int waited = 0; waited < GRACE; waited++) {
        quern_status status = quern_check_poison(member);
        if (status != QUERN_OK) return status;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    char where[64], peer[120];
    struct quern_text text = quern_text_begin(peer, sizeof peer);
    describe_call(where, sizeof where, trade->tag);
    describe_peer(&text, member, rank);
    left |= __atomic_load_n(&member->segment->rank[rank].state, __ATOMIC_ACQUIRE) == QUERN_RANK_LEFT;
    member->missing[rank / 32] |= 1u << rank % 32;
    return quern_poison(member, QUERN_PEER_LOST, "%s: %s %s; rank %d waited for it", where, peer,
                        left                                          ? "has destroyed its group"
                        : __atomic_load_n(silent, __ATOMIC_RELAXED) ? "is lost: its host is silent"
                                                                      : "has ended",
                        member->rank);
}

static quern_status expire(const struct quern_trade *trade, int64_t now) {
    struct quern_membership *member = trade->member;
    char where[64], missing[160];
    struct quern_text text = quern_text_begin(missing, sizeof missing);
    int listed = 0, more = 0;
    describe_call(where, sizeof where, trade->tag);
    for (int i = 0; i < trade->count; i++) {
        const int rank = trade->lane[i].rank;
        if (is_done(&trade->lane[i])) continue;
        member->missing[rank / 32] |= 1u << rank % 32;
        if (listed == 2 && ++more) continue;
        quern_text_add(&text, "%s", listed++ ? ", " : "");
        describe_peer(&text, member, rank);
    }
    if (more) quern_text_add(&text, " and %d more", more);
    return quern_poison(member, QUERN_PEER_TIMEOUT, "%s: rank %d waited %g s for %s", where, member->rank,
                        (double)(now - trade->began) * 1e-9, missing);
}

/* ---- moving ---- */

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

enum outcome { STUCK, MOVED, ENDED, FAILED };

static enum outcome outcome_of(ssize_t moved) {
    if (moved > 0) return MOVED;
    if (moved < 0 && (errno == EAGAIN || errno == EINTR)) return STUCK;
    return moved == 0 || errno == ECONNRESET || errno == EPIPE || errno == ETIMEDOUT ? ENDED : FAILED;
}

static enum outcome send_piece(const struct quern_trade *trade, struct quern_lane *lane) {
    struct iovec piece[PIECES];
    struct msghdr message = {.msg_iov = piece, .msg_iovlen = (size_t)cut_piece(lane->out, lane->outs, piece)};
    const ssize_t moved = sendmsg(trade->member->span->socket[lane->rank], &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (moved > 0) use_up(&lane->out, &lane->outs, (size_t)moved);
    return outcome_of(moved);
}

static ssize_t receive_dropped(int socket, struct quern_lane *lane) {
    char dropped[4096];
    const ssize_t moved = recv(socket, dropped, lane->skipped < sizeof dropped ? lane->skipped : sizeof dropped, MSG_DONTWAIT);
    if (moved > 0) lane->skipped -= (uint64_t)moved;
    return moved;
}

static enum outcome receive_piece(const struct quern_trade *trade, struct quern_lane *lane) {
    const int socket = trade->member->span->socket[lane->rank];
    struct iovec piece[PIECES];
    if (!lane->ins && lane->skipped) return outcome_of(receive_dropped(socket, lane));
    struct msghdr message = {.msg_iov = piece, .msg_iovlen = (size_t)cut_piece(lane->in, lane->ins, piece)};
    const ssize_t moved = recvmsg(socket, &message, MSG_DONTWAIT);
    if (moved > 0) use_up(&lane->in, &lane->ins, (size_t)moved);
    return outcome_of(moved);
}

static enum outcome receive_head(const struct quern_trade *trade, struct quern_lane *lane) {
    const ssize_t moved = recv(trade->member->span->socket[lane->rank], (char *)&lane->in_head + lane->in_heading,
                               sizeof lane->in_head - lane->in_heading, MSG_DONTWAIT);
    if (moved > 0) lane->in_heading += (size_t)moved;
    return outcome_of(moved);
}

/* The head is whole: is it the one of this meeting? */
static quern_status take_head(const struct quern_trade *trade, struct quern_lane *lane) {
    struct quern_span *span = trade->member->span;
    if (lane->in_head.tag == QUERN_GOODBYE_TAG) return report_lost(trade, lane->rank, true);
    if (lane->in_head.tag != trade->tag) return report_other_call(trade, lane);
    if (lane->in_head.number != span->received[lane->rank]++ || !trade->place(trade->user, lane)) return report_damage(trade, lane);
    return QUERN_OK;
}

static quern_status receive(const struct quern_trade *trade, struct quern_lane *lane, enum outcome *outcome) {
    *outcome = STUCK;
    if (lane->in_heading < sizeof lane->in_head) {
        *outcome = receive_head(trade, lane);
        if (lane->in_heading < sizeof lane->in_head) return QUERN_OK;
        quern_status status = take_head(trade, lane);
        if (status != QUERN_OK) return status;
    }
    if (lane->ins || lane->skipped) *outcome = receive_piece(trade, lane);
    if (*outcome == STUCK && !lane->ins && !lane->skipped) *outcome = MOVED;
    return QUERN_OK;
}

static quern_status report_failure(const struct quern_trade *trade, int rank) {
    return quern_poison(trade->member, QUERN_SYSTEM_ERROR, "rank %d exchanges messages with rank %d: %s", trade->member->rank, rank,
                        strerror(errno));
}

/* One pass over all lanes. */
static quern_status pass(struct quern_trade *trade, bool *moved) {
    *moved = false;
    for (int i = 0; i < trade->count; i++) {
        struct quern_lane *lane = &trade->lane[i];
        enum outcome sent = STUCK, received = STUCK;
        if (is_done(lane)) continue;
        if (lane->outs) sent = send_piece(trade, lane);
        if (!(lane->in_heading == sizeof lane->in_head && !lane->ins && !lane->skipped)) {
            quern_status status = receive(trade, lane, &received);
            if (status != QUERN_OK) return status;
        }
        if (sent == FAILED || received == FAILED) return report_failure(trade, lane->rank);
        if (received == ENDED || (sent == ENDED && received == STUCK)) return report_lost(trade, lane->rank, false);
        *moved |= sent == MOVED || received == MOVED;
        trade->open -= is_done(lane);
    }
    return QUERN_OK;
}

/* ---- waiting ---- */

/*
 * The news of a rank's end comes over another connection than its last message, which therefore gets a moment more.  A rank that
 * leaves says so behind its last message.
 */
static bool is_lost(struct quern_trade *trade, int rank, int64_t now) {
    const struct quern_segment_rank *place = &trade->member->segment->rank[rank];
    if (quern_rank_lives(trade->member->roster, rank)) return false;
    if (__atomic_load_n(&place->silent, __ATOMIC_RELAXED)) return true;
    if (!trade->ended) trade->ended = now;
    return now - trade->ended > GRACE * (int64_t)1000000;
}

/* Without it nothing is heard of other hosts.  A rank says that it leaves, then lets its lock go. */
static bool has_no_speaker(const struct quern_membership *member) {
    const int speaker = member->roster->speaker;
    return !quern_rank_lives(member->roster, speaker) &&
           __atomic_load_n(&member->segment->rank[speaker].state, __ATOMIC_ACQUIRE) != QUERN_RANK_LEFT;
}

static quern_status look_around(struct quern_trade *trade, int64_t now) {
    struct quern_membership *member = trade->member;
    const int64_t limit = trade->timeout < 9e9 ? (int64_t)(trade->timeout * 1e9) : INT64_MAX / 2;
    quern_status status = quern_check_poison(member);
    for (int i = 0; i < trade->count && status == QUERN_OK; i++)
        if (!is_done(&trade->lane[i]) && is_lost(trade, trade->lane[i].rank, now))
            status = report_lost(trade, trade->lane[i].rank, false);
    if (status == QUERN_OK && has_no_speaker(member))
        status = report_lost(trade, member->roster->speaker, false);
    return status == QUERN_OK && now - trade->began >= limit ? expire(trade, now) : status;
}

static void sleep_a_tick(const struct quern_trade *trade) {
    struct pollfd polls[QUERN_RANK_LIMIT];
    int count = 0;
    for (int i = 0; i < trade->count; i++) {
        const struct quern_lane *lane = &trade->lane[i];
        if (is_done(lane)) continue;
        const bool reads = lane->in_heading < sizeof lane->in_head || lane->ins || lane->skipped;
        polls[count++] = (struct pollfd){.fd = trade->member->span->socket[lane->rank],
                                         .events = (short)((reads ? POLLIN : 0) | (lane->outs ? POLLOUT : 0))};
    }
    poll(polls, (nfds_t)count, TICK);
}

quern_status quern_trade_begin(struct quern_trade *trade) {
    bool moved;
    return pass(trade, &moved);
}

/* For the report. */
static void note_sleep(const struct quern_membership *member, int64_t since) {
    struct quern_segment_rank *mine = &member->segment->rank[member->rank];
    __atomic_store_n(&mine->since, since, __ATOMIC_RELAXED);
    __atomic_store_n(&mine->asleep_in_meeting, 1, __ATOMIC_RELAXED);
}

static void note_end_of_sleep(const struct quern_membership *member) {
    __atomic_store_n(&member->segment->rank[member->rank].asleep_in_meeting, 0, __ATOMIC_RELAXED);
}

quern_status quern_trade_end(struct quern_trade *trade) {
    const int most = trade->member->roster->is_crowded ? 0 : LOOKS;
    int64_t looked = quern_now();
    quern_status status = QUERN_OK;
    bool moved = true, slept = false;
    for (int looks = 0; trade->open && status == QUERN_OK;) {
        status = pass(trade, &moved);
        if (status != QUERN_OK || !trade->open) break;
        looks = moved ? 0 : looks + 1;
        if (looks > most) {
            if (!slept) note_sleep(trade->member, looked);
            slept = true;
            sleep_a_tick(trade);
        } else if (!moved) {
            quern_pause();
        }
        const int64_t now = looks > most || looks % 64 == 63 ? quern_now() : looked;
        if (now - looked < TICK * 1000000) continue;
        looked = now;
        status = look_around(trade, now);
    }
    if (slept) note_end_of_sleep(trade->member);
    return status;
}
