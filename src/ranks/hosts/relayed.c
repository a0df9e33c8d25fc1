/*
 * A rank's end of its streams over the relay of its host.  It writes frames into one ring and takes them out of another.  When it
 * looks for bytes of one pair, it takes all frames and keeps the bytes of the others: no pair waits for another.  What it keeps of
 * a stream is at most its window, since the sender stops there until it has credit.
 *
 * Called by reach.c.
 */
#define _GNU_SOURCE
#include "ranks/hosts/relayed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/bell.h"
#include "ranks/hosts/connections.h"
#include "ranks/hosts/frames.h"
#include "ranks/poison.h"

/* A stream to and from one rank. */
struct pair {
    uint32_t on_way;             /* bytes that the other rank has not taken */
    uint32_t taken;              /* bytes that this one has, and has not said */
    uint32_t begin, end, room;   /* what is kept of those that have come */
    unsigned char *kept;
};

struct quern_relay_end {
    struct quern_ring_end out, in;
    uint32_t window;
    bool is_starved;             /* the last frame had no room in the ring */
    bool has_news;               /* frames of other pairs were taken than the one that was asked for */
    bool owes;                   /* credit had no room in the ring: the sender may wait for it, and send nothing before */
    struct pair *pair[QUERN_STREAMS];  /* [ranks] */
    uint32_t owed[QUERN_STREAMS][QUERN_GROUP_WORDS];   /* a bit for each pair of which that is so */
    uint32_t heard[QUERN_STREAMS][QUERN_GROUP_WORDS];  /* a bit for each pair of which something is kept */
};

static bool serves(const struct quern_roster *roster, struct quern_text *why) {
    (void)roster, (void)why;
    return true;
}

static void close_end(const struct quern_membership *member) {
    struct quern_relay_end *end = member->span->relay;
    for (int stream = 0; end && stream < QUERN_STREAMS; stream++) {
        for (int rank = 0; end->pair[stream] && rank < member->ranks; rank++) free(end->pair[stream][rank].kept);
        free(end->pair[stream]);
    }
    free(end);
    member->span->relay = NULL;
}

static bool open_end(const struct quern_membership *member) {
    const struct quern_roster *roster = member->roster;
    const uint32_t slot = roster->peer[member->rank].slot;
    struct quern_relay_end *end = calloc(1, sizeof *end);
    if (!end) return false;
    member->span->relay = end;
    end->out.ring = quern_segment_ring(&roster->view, slot, QUERN_RING_OUT);
    end->in.ring = quern_segment_ring(&roster->view, slot, QUERN_RING_IN);
    end->window = quern_stream_window(member->ranks);
    bool has_memory = true;
    for (int stream = 0; stream < QUERN_STREAMS; stream++)
        has_memory &= (end->pair[stream] = calloc((size_t)member->ranks, sizeof **end->pair)) != NULL;
    if (!has_memory) close_end(member);
    return has_memory;
}

/* ---- frames out ---- */

/* A frame with bytes or credit, if there is room. */
static bool send_frame(const struct quern_membership *member, enum quern_stream stream, int peer, const struct iovec *parts,
                       size_t bytes) {
    struct quern_relay_end *end = member->span->relay;
    struct pair *pair = &end->pair[stream][peer];
    struct quern_relay_frame frame = {.from = (uint16_t)member->rank, .to = (uint16_t)peer, .stream = (uint16_t)stream,
                                      .bytes = (uint16_t)bytes, .credit = pair->taken};
    end->is_starved = quern_ring_room(&end->out) < sizeof frame + bytes;
    if (end->is_starved) return false;
    quern_seal_frame(&frame);
    quern_ring_write(&end->out, &frame, parts);
    pair->taken = 0;
    pair->on_way += (uint32_t)bytes;
    return true;
}

static void give_credit(const struct quern_membership *member, enum quern_stream stream, int peer) {
    struct quern_relay_end *end = member->span->relay;
    if (end->pair[stream][peer].taken < end->window / 2) return;
    if (send_frame(member, stream, peer, NULL, 0)) {
        quern_ring(&member->segment->relay);
    } else {
        end->owed[stream][peer / 32] |= 1u << peer % 32;
        end->owes = true;
    }
}

static void give_owed_credit(const struct quern_membership *member) {
    struct quern_relay_end *end = member->span->relay;
    end->owes = false;
    for (int stream = 0; stream < QUERN_STREAMS; stream++)
        for (int word = 0; word < quern_set_words(member->ranks); word++) {
            uint32_t peers = end->owed[stream][word];
            end->owed[stream][word] = 0;
            for (; peers; peers &= peers - 1) give_credit(member, (enum quern_stream)stream, 32 * word + __builtin_ctz(peers));
        }
}

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* The parts from a byte on: at most `most` of them.  Returns their number. */
static int cut(const struct iovec *parts, int count, size_t from, struct iovec *rest, int most) {
    int used = 0;
    for (int i = 0; i < count && used < most; i++) {
        const size_t skipped = smaller(from, parts[i].iov_len);
        from -= skipped;
        if (parts[i].iov_len > skipped)
            rest[used++] = (struct iovec){(char *)parts[i].iov_base + skipped, parts[i].iov_len - skipped};
    }
    return used;
}

static size_t bytes_of(const struct iovec *parts, int count) {
    size_t bytes = 0;
    for (int i = 0; i < count; i++) bytes += parts[i].iov_len;
    return bytes;
}

/* ---- frames in ---- */

static bool reserve(struct pair *pair, uint32_t bytes) {
    const uint32_t used = pair->end - pair->begin;
    if (pair->room - pair->end >= bytes) return true;
    if (pair->room < used + bytes) {
        const uint32_t room = used + bytes > 2 * pair->room ? used + bytes : 2 * pair->room;
        unsigned char *kept = malloc(room);
        if (!kept) return false;
        if (used) memcpy(kept, pair->kept + pair->begin, used);
        free(pair->kept);
        pair->kept = kept;
        pair->room = room;
    } else {
        memmove(pair->kept, pair->kept + pair->begin, used);
    }
    pair->begin = 0;
    pair->end = used;
    return true;
}

static ssize_t fail(const struct quern_membership *member, quern_status status, const char *what) {
    quern_poison(member, status, "rank %d: %s", member->rank, what);
    errno = ECONNRESET;
    return -1;
}

/* A rank that has just looked at that pair, and is about to sleep, must look again. */
static void note_news(const struct quern_membership *member) {
    member->span->relay->has_news = true;
    __atomic_add_fetch(&quern_place(member->roster, member->rank)->bell.rings, 1, __ATOMIC_SEQ_CST);
}

/*
 * Takes all frames out of the ring, after what was owed for earlier ones.  The caller looks at the pairs from `asked` on.  False:
 * the group is poisoned.
 */
static bool take_frames(const struct quern_membership *member, const struct pair *asked, int pairs) {
    struct quern_relay_end *end = member->span->relay;
    const struct quern_roster *roster = member->roster;
    struct quern_relay_frame frame;
    if (end->owes) give_owed_credit(member);
    for (enum quern_ring_state state; (state = quern_ring_look(&end->in, &frame)) != QUERN_RING_EMPTY;) {
        const bool sound = state == QUERN_RING_FRAME && frame.from < roster->ranks && roster->peer[frame.from].is_elsewhere;
        const struct quern_frame_ends ends = {frame.from, sound ? roster->peer[frame.from].host : 0, member->rank,
                                              roster->peer[member->rank].host};
        struct pair *pair = sound && quern_is_frame(&frame, roster, &ends) ? &end->pair[frame.stream][frame.from] : NULL;
        if (!pair || pair->end - pair->begin + frame.bytes > end->window || frame.credit > pair->on_way) {
            fail(member, QUERN_PEER_MISMATCH, "what the relay of its host has written for it is damaged");
            return false;
        }
        if (frame.bytes && !reserve(pair, frame.bytes)) {
            fail(member, QUERN_OUT_OF_MEMORY, "no memory for what ranks of other hosts have sent");
            return false;
        }
        quern_ring_take(&end->in, &frame, frame.bytes ? pair->kept + pair->end : NULL);
        pair->end += frame.bytes;
        pair->on_way -= frame.credit;
        if (frame.bytes) end->heard[frame.stream][frame.from / 32] |= 1u << frame.from % 32;
        if (!asked || pair < asked || pair >= asked + pairs) note_news(member);
    }
    return true;
}

/* ---- the streams ---- */

static ssize_t put(const struct quern_membership *member, enum quern_stream stream, int peer, const struct iovec *parts,
                   int count) {
    enum { PARTS = 16 };
    struct quern_relay_end *end = member->span->relay;
    const struct pair *pair = &end->pair[stream][peer];
    size_t moved = 0;
    for (;;) {
        struct iovec rest[PARTS];
        const size_t left = bytes_of(rest, cut(parts, count, moved, rest, PARTS));
        const size_t wanted = smaller(left, QUERN_FRAME_BYTES);
        if (wanted > end->window - pair->on_way && !take_frames(member, NULL, 0)) return -1;  /* credit may have come */
        const size_t bytes = smaller(wanted, end->window - pair->on_way);
        if (!bytes || !send_frame(member, stream, peer, rest, bytes)) break;
        moved += bytes;
    }
    if (moved) quern_ring(&member->segment->relay);
    errno = EAGAIN;
    return moved ? (ssize_t)moved : -1;
}

static ssize_t get(const struct quern_membership *member, enum quern_stream stream, int peer, const struct iovec *parts,
                   int count) {
    struct quern_relay_end *end = member->span->relay;
    struct pair *pair = &end->pair[stream][peer];
    size_t moved = 0;
    if (pair->begin == pair->end && !take_frames(member, pair, 1)) return -1;
    for (int i = 0; i < count && pair->begin < pair->end; i++) {
        const size_t piece = smaller(parts[i].iov_len, pair->end - pair->begin);
        memcpy(parts[i].iov_base, pair->kept + pair->begin, piece);
        pair->begin += (uint32_t)piece;
        moved += piece;
    }
    if (pair->begin == pair->end) end->heard[stream][peer / 32] &= ~(1u << peer % 32);
    pair->taken += (uint32_t)moved;
    give_credit(member, stream, peer);
    errno = EAGAIN;
    return moved ? (ssize_t)moved : -1;
}

static ssize_t peek(const struct quern_membership *member, enum quern_stream stream, int peer, void *bytes, size_t count) {
    const struct pair *pair = &member->span->relay->pair[stream][peer];
    if (!take_frames(member, pair, 1)) return -1;
    const size_t there = smaller(count, pair->end - pair->begin);
    if (there) memcpy(bytes, pair->kept + pair->begin, there);
    errno = EAGAIN;
    return there ? (ssize_t)there : -1;
}

static const uint32_t *heard(const struct quern_membership *member, enum quern_stream stream) {
    struct quern_relay_end *end = member->span->relay;
    return take_frames(member, end->pair[stream], member->ranks) ? end->heard[stream] : NULL;
}

static bool speaks(const struct quern_membership *member, enum quern_stream stream, int peer) {
    const struct pair *pair = &member->span->relay->pair[stream][peer];
    return take_frames(member, NULL, 0) && pair->begin < pair->end;
}

/* ---- sleeping ---- */

static void sleep_at_bell(const struct quern_membership *member, struct pollfd *polls, int count, int milliseconds) {
    struct quern_relay_end *end = member->span->relay;
    struct quern_bell *bell = &quern_place(member->roster, member->rank)->bell;
    struct quern_relay_frame frame;
    (void)polls, (void)count;
    const uint32_t seen = quern_listen(bell);
    const bool has_room = end->is_starved && quern_ring_room(&end->out) >= sizeof frame + QUERN_FRAME_BYTES;
    const bool poisoned = __atomic_load_n(&member->segment->poison, __ATOMIC_SEQ_CST) != 0, has_news = end->has_news;
    end->has_news = end->is_starved = false;
    if (has_room || poisoned || has_news || quern_ring_look(&end->in, &frame) != QUERN_RING_EMPTY) return;
    quern_futex_wait(&bell->rings, seen, milliseconds * (int64_t)1000000);
}

const struct quern_stream_row quern_relayed_streams = {
    .name = "one connection for each pair of hosts",
    .serves = serves,
    .open = open_end,
    .close = close_end,
    .put = put,
    .get = get,
    .peek = peek,
    .heard = heard,
    .speaks = speaks,
    .sleep = sleep_at_bell,
};
