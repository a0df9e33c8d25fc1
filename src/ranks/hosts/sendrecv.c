/*
 * Moves messages between a rank and those of other hosts.  Called by net.c, and by the ragged all-to-all for its slices.
 *
 * Each pass lets the row of the group move a piece of every channel in each direction, so that neither end waits with a full buffer
 * for the other.  A rank looks again for a while before it rests, since the other host answers within some ten microseconds.  Once
 * in a while it looks at the poison, at the limit, and whether those it waits for live.
 */
#define _GNU_SOURCE
#include <string.h>
#include <time.h>

#include "os/clock.h"
#include "os/futex.h"
#include "ranks/describe.h"
#include "ranks/hosts/hosts.h"
#include "ranks/poison.h"
#include "ranks/seen_wait.h"

enum {
    LOOKS = 400,       /* passes in vain before it sleeps */
    TICK = 5,          /* milliseconds between two looks around */
    GRACE = 60,        /* milliseconds for the reason of an end to come */
    LEAVING = 5000     /* for the word of a rank that has left */
};

/* ---- opening ---- */

static uint32_t tag_of(const struct quern_membership *member, const struct quern_meeting *meeting) {
    const bool all = meeting->set->count == member->ranks;
    return quern_make_tag(meeting->operation, meeting->phase,
                          all ? member->everyones_digest : quern_set_digest(meeting->set, member->ranks));
}

void quern_sendrecv_open(struct quern_sendrecv *sendrecv, struct quern_membership *member, const struct quern_meeting *meeting,
                      const struct quern_rank_set *set, struct quern_channel *channels, uint16_t *order) {
    *sendrecv = (struct quern_sendrecv){
        .member = member, .row = member->net->row, .tag = tag_of(member, meeting), .timeout = meeting->timeout,
        .began = quern_now(), .channel = channels, .order = order};
    for (int step = 1; step < member->ranks; step++) {  /* each begins with its successor */
        const int rank = (member->rank + step) % member->ranks;
        if (!quern_set_has(set, rank) || quern_set_has(&member->net->here, rank)) continue;
        order[sendrecv->count] = (uint16_t)sendrecv->count;
        struct quern_channel *channel = &channels[sendrecv->count++];
        *channel = (struct quern_channel){.rank = rank, .in_head = {0}};
        channel->out_head = (struct quern_frame){.tag = sendrecv->tag, .number = member->net->sent[rank]++};
        channel->out = channel->few_out;
        channel->few_out[channel->outs++] = (struct iovec){&channel->out_head, sizeof channel->out_head};
    }
    sendrecv->open = sendrecv->count;
}

void quern_channel_add(struct quern_channel *channel, const void *data, size_t bytes) {
    if (bytes) channel->few_out[channel->outs++] = (struct iovec){(void *)data, bytes};
}

void quern_channel_only_receives(struct quern_sendrecv *sendrecv, struct quern_channel *channel) {
    channel->outs = 0;
    sendrecv->member->net->sent[channel->rank]--;
}

void quern_channel_only_sends(struct quern_channel *channel) { channel->in_heading = sizeof channel->in_head; }

/* ---- errors ---- */

static void describe_peer(struct quern_text *text, const struct quern_membership *member, int rank) {
    quern_text_add(text, "rank %d (", quern_told_rank(member, rank));
    quern_describe_place(text, member->roster, rank);
    quern_text_add(text, ")");
}

static void describe_call(char *buffer, size_t bytes, uint32_t tag) {
    struct quern_text text = quern_text_begin(buffer, bytes);
    quern_describe_tag(&text, tag);
}

static bool has_sent(const struct quern_channel *channel) { return !channel->outs && !channel->sending; }

static bool has_received(const struct quern_channel *channel) {
    return !channel->ins && !channel->skipped && !channel->receiving && channel->in_heading == sizeof channel->in_head;
}

static bool is_done(const struct quern_channel *channel) { return has_sent(channel) && has_received(channel); }

static quern_status report_other_call(const struct quern_sendrecv *sendrecv, const struct quern_channel *channel) {
    char here[64], there[64], peer[120];
    struct quern_text text = quern_text_begin(peer, sizeof peer);
    describe_call(here, sizeof here, sendrecv->tag);
    describe_call(there, sizeof there, channel->in_head.tag);
    describe_peer(&text, sendrecv->member, channel->rank);
    return quern_poison(sendrecv->member, QUERN_PEER_MISMATCH, "rank %d is in %s while %s is in %s%s: the ranks must make the same "
                        "calls in the same order, with the same members", sendrecv->member->rank, here, peer, there,
                        strcmp(here, there) == 0 ? " of other members" : "");
}

static quern_status report_damage(const struct quern_sendrecv *sendrecv, const struct quern_channel *channel) {
    return quern_poison(sendrecv->member, QUERN_PEER_MISMATCH,
                        "rank %d got a message of rank %d that is none of this call: its parts "
                        "have %u, %u and %llu bytes", sendrecv->member->rank, channel->rank, (unsigned)channel->in_head.first,
                        (unsigned)channel->in_head.second, (unsigned long long)channel->in_head.last);
}

static bool has_left(const struct quern_membership *member, int rank) {
    return __atomic_load_n(&member->segment->rank[rank].state, __ATOMIC_ACQUIRE) == QUERN_RANK_LEFT;
}

/* The connection to a rank has ended, or its host is lost.  If that has a reason that is on its way, the reason is better. */
static quern_status report_lost(const struct quern_sendrecv *sendrecv, int rank, bool left) {
    struct quern_membership *member = sendrecv->member;
    for (int waited = 0; waited < GRACE; waited++) {
        quern_status status = quern_check_poison(member);
        if (status != QUERN_OK) return status;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    char where[64], peer[120], why[80];
    const int leader = member->roster->host_leader;
    if (quern_rank_has_ended(member->roster, leader)) rank = leader, left = false;  /* others have heard of it, and end */
    else if (!left) rank = quern_lost_rank(member->roster, rank);
    struct quern_text text = quern_text_begin(peer, sizeof peer);
    describe_call(where, sizeof where, sendrecv->tag);
    describe_peer(&text, member, rank);
    text = quern_text_begin(why, sizeof why);
    quern_describe_end(&text, member, rank, left);
    member->missing[rank / 32] |= 1u << rank % 32;
    return quern_poison(member, QUERN_PEER_LOST, "%s: %s %s; rank %d waited for it", where, peer, why,
                        quern_told_rank(member, member->rank));
}

static quern_status expire(const struct quern_sendrecv *sendrecv, int64_t now) {
    struct quern_membership *member = sendrecv->member;
    char where[64], missing[160];
    struct quern_text text = quern_text_begin(missing, sizeof missing);
    int listed = 0, more = 0;
    describe_call(where, sizeof where, sendrecv->tag);
    for (int i = 0; i < sendrecv->count; i++) {
        const int rank = sendrecv->channel[i].rank;
        if (is_done(&sendrecv->channel[i])) continue;
        member->missing[rank / 32] |= 1u << rank % 32;
        if (listed == 2 && ++more) continue;
        quern_text_add(&text, "%s", listed++ ? ", " : "");
        describe_peer(&text, member, rank);
    }
    if (more) quern_text_add(&text, " and %d more", more);
    return quern_poison(member, QUERN_PEER_TIMEOUT, "%s: rank %d waited %g s for %s", where, quern_told_rank(member, member->rank),
                        quern_seconds(now - sendrecv->began), missing);
}

/* ---- moving ---- */

/* The head is whole: is it the one of this meeting? */
static quern_status take_head(const struct quern_sendrecv *sendrecv, struct quern_channel *channel) {
    struct quern_net *net = sendrecv->member->net;
    if (channel->in_head.tag == QUERN_GOODBYE_TAG) return report_lost(sendrecv, channel->rank, true);
    if (channel->in_head.tag != sendrecv->tag) return report_other_call(sendrecv, channel);
    if (channel->in_head.number != net->received[channel->rank]++ || !sendrecv->place(sendrecv->user, channel))
        return report_damage(sendrecv, channel);
    return QUERN_OK;
}

static quern_status receive(struct quern_sendrecv *sendrecv, struct quern_channel *channel, enum quern_outcome *outcome) {
    *outcome = QUERN_STUCK;
    if (channel->in_heading < sizeof channel->in_head) {
        *outcome = sendrecv->row->receive_head(sendrecv, channel);
        if (channel->in_heading < sizeof channel->in_head) return QUERN_OK;
        quern_status status = take_head(sendrecv, channel);
        if (status != QUERN_OK) return status;
    }
    if (!has_received(channel)) *outcome = sendrecv->row->receive(sendrecv, channel);
    if (*outcome == QUERN_STUCK && has_received(channel)) *outcome = QUERN_MOVED;
    return QUERN_OK;
}

/* How a way fails may be how the end of a rank looks, of which the word comes in a moment. */
static quern_status report_failure(const struct quern_sendrecv *sendrecv, int rank) {
    struct quern_membership *member = sendrecv->member;
    for (int waited = 0; sendrecv->row->look && waited < GRACE; waited++) {
        struct quern_frame last = {.tag = 0};
        quern_status status = quern_check_poison(member);
        if (status != QUERN_OK) return status;
        if (sendrecv->row->look(sendrecv, rank, &last) == QUERN_ENDED || !quern_rank_lives(member->roster, rank))
            return report_lost(sendrecv, rank, last.tag == QUERN_GOODBYE_TAG);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return quern_poison(member, QUERN_SYSTEM_ERROR, "rank %d exchanges messages with rank %d: %s", member->rank, rank,
                        sendrecv->why);
}

static quern_status judge(const struct quern_sendrecv *sendrecv, const struct quern_channel *channel, enum quern_outcome sent,
                          enum quern_outcome received) {
    if (sent == QUERN_FAILED || received == QUERN_FAILED) return report_failure(sendrecv, channel->rank);
    if (received == QUERN_DAMAGED) return report_damage(sendrecv, channel);
    if (received == QUERN_ENDED || (sent == QUERN_ENDED && received == QUERN_STUCK))
        return report_lost(sendrecv, channel->rank, false);
    return QUERN_OK;
}

/* One pass over all channels that are not done. */
static quern_status pass(struct quern_sendrecv *sendrecv, bool *moved) {
    *moved = false;
    for (int i = 0; i < sendrecv->open;) {
        struct quern_channel *channel = &sendrecv->channel[sendrecv->order[i]];
        enum quern_outcome sent = QUERN_STUCK, received = QUERN_STUCK;
        quern_status status = QUERN_OK;
        if (!has_sent(channel)) sent = sendrecv->row->send(sendrecv, channel);
        if (!has_received(channel)) status = receive(sendrecv, channel, &received);
        if (status == QUERN_OK) status = judge(sendrecv, channel, sent, received);
        if (status != QUERN_OK) return status;
        *moved |= sent == QUERN_MOVED || received == QUERN_MOVED;
        if (is_done(channel)) sendrecv->order[i] = sendrecv->order[--sendrecv->open];
        else i++;
    }
    return QUERN_OK;
}

/* ---- waiting ---- */

/*
 * The news of a rank's end comes over another connection than its last message, which therefore gets a moment more.  A rank that
 * leaves says so behind its last message, and that word comes for certain.
 */
static bool is_lost(struct quern_sendrecv *sendrecv, int rank, bool gone, int64_t now) {
    const struct quern_segment_rank *place = &sendrecv->member->segment->rank[rank];
    if (!gone && quern_rank_lives(sendrecv->member->roster, rank)) return false;
    if (__atomic_load_n(&place->loss, __ATOMIC_RELAXED) == QUERN_LOSS_TIMEOUT) return true;
    if (!sendrecv->ended) sendrecv->ended = now;
    const bool says_it = !gone && __atomic_load_n(&place->state, __ATOMIC_ACQUIRE) == QUERN_RANK_LEFT;
    return now - sendrecv->ended > (says_it ? LEAVING : GRACE) * (int64_t)1000000;
}

/* It has left behind the message of this call, which a carrier may bring later than the word of that. */
static bool has_left_behind_it(const struct quern_sendrecv *sendrecv, const struct quern_channel *channel,
                               const struct quern_frame *last) {
    const uint32_t next = sendrecv->member->net->received[channel->rank];
    const uint32_t awaited = channel->in_heading == sizeof channel->in_head ? next - 1 : next;
    return last->tag == QUERN_GOODBYE_TAG && (int32_t)(last->number - awaited) > 0;
}

/* Without it nothing is heard of other hosts.  A rank says that it leaves, then lets its lock go. */
static bool has_no_leader(const struct quern_membership *member) {
    const int leader = member->roster->host_leader;
    return !quern_rank_lives(member->roster, leader) && !has_left(member, leader);
}

/*
 * A rank in a barrier says nothing by the transport.  If the head of its barrier has the number that is expected here, it has not
 * sent what this call waits for.
 */
static quern_status look_at(struct quern_sendrecv *sendrecv, struct quern_channel *channel, int64_t now) {
    struct quern_frame last = {.tag = 0};
    const enum quern_outcome seen = sendrecv->row->look ? sendrecv->row->look(sendrecv, channel->rank, &last) : QUERN_STUCK;
    if (seen == QUERN_MOVED && !channel->in_heading && last.number == sendrecv->member->net->received[channel->rank]) {
        channel->in_head = last;
        return report_other_call(sendrecv, channel);
    }
    if (has_left_behind_it(sendrecv, channel, &last) || !is_lost(sendrecv, channel->rank, seen == QUERN_ENDED, now))
        return QUERN_OK;
    return report_lost(sendrecv, channel->rank, last.tag == QUERN_GOODBYE_TAG);
}

static quern_status look_around(struct quern_sendrecv *sendrecv, int64_t now) {
    struct quern_membership *member = sendrecv->member;
    const int64_t limit = sendrecv->timeout < 9e9 ? (int64_t)(sendrecv->timeout * 1e9) : INT64_MAX / 2;
    quern_status status = quern_check_poison(member);
    for (int i = 0; i < sendrecv->count && status == QUERN_OK; i++)
        if (!is_done(&sendrecv->channel[i])) status = look_at(sendrecv, &sendrecv->channel[i], now);
    if (status == QUERN_OK && has_no_leader(member))
        status = report_lost(sendrecv, member->roster->host_leader, false);
    return status == QUERN_OK && now - sendrecv->began >= limit ? expire(sendrecv, now) : status;
}

quern_status quern_sendrecv_begin(struct quern_sendrecv *sendrecv) {
    bool moved;
    quern_status status = pass(sendrecv, &moved);
    if (status != QUERN_OK) quern_sendrecv_abandon(sendrecv);
    return status;
}

void quern_sendrecv_abandon(struct quern_sendrecv *sendrecv) {
    if (sendrecv->row->abandon) sendrecv->row->abandon(sendrecv);
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

/* A host that is lost may live and be reached over this connection, but hears no poison, and nothing is heard of it. */
static quern_status check_hosts(const struct quern_sendrecv *sendrecv) {
    for (int i = 0; i < sendrecv->open; i++) {
        const int rank = sendrecv->channel[sendrecv->order[i]].rank;
        if (quern_host_is_lost(sendrecv->member->roster, rank)) return report_lost(sendrecv, rank, false);
    }
    return QUERN_OK;
}

static quern_status move_all(struct quern_sendrecv *sendrecv) {
    const int most = sendrecv->member->roster->is_crowded ? 0 : LOOKS;
    int64_t looked = quern_now();
    quern_status status = check_hosts(sendrecv);
    bool moved = true, slept = false;
    for (int looks = 0; sendrecv->open && status == QUERN_OK;) {
        status = pass(sendrecv, &moved);
        if (status != QUERN_OK || !sendrecv->open) break;
        looks = moved ? 0 : looks + 1;
        if (looks > most) {
            if (!slept) note_sleep(sendrecv->member, looked);
            slept = true;
            sendrecv->row->rest(sendrecv);
        } else if (!moved) {
            quern_pause();
        }
        const int64_t now = looks > most || looks % 64 == 63 ? quern_now() : looked;
        if (now - looked < TICK * 1000000) continue;
        looked = now;
        status = look_around(sendrecv, now);
    }
    if (slept) note_end_of_sleep(sendrecv->member);
    if (status != QUERN_OK) quern_sendrecv_abandon(sendrecv);
    return status;
}

quern_status quern_sendrecv_end(struct quern_sendrecv *sendrecv) {
    struct quern_seen_wait seen;
    if (quern_begin_wait(&seen))
        for (int i = 0; i < sendrecv->count; i++)
            if (!is_done(&sendrecv->channel[i])) quern_await_rank(&seen, sendrecv->channel[i].rank);
    return quern_end_wait(&seen, sendrecv->member, move_all(sendrecv));
}
