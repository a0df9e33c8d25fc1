/*
 * Relays.  One thread sends: it gathers the frames of all ranks for a host and hands them over with few calls.  The other one
 * hears.  What has no room in the ring of a rank waits here, so that it holds up nobody else.  That is bounded: a sender stops at
 * the window of its stream, and who does not is no rank.
 *
 * Called while groups are created and destroyed.
 */
#define _GNU_SOURCE
#include "ranks/hosts/relay.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#include "os/clock.h"
#include "ranks/bell.h"
#include "ranks/hosts/frames.h"
#include "ranks/hosts/sockets.h"
#include "ranks/hosts/streams.h"
#include "ranks/poison.h"

enum {
    HEAD = sizeof(struct quern_relay_frame), FRAME = HEAD + QUERN_FRAME_BYTES,
    BUFFER = 16 * FRAME,
    TICK = 50,                   /* milliseconds of sleep at most */
    RETRY = 1                    /* milliseconds until it looks again at what is full */
};
static const int64_t LINGER = 1000000000;  /* nanoseconds: for the other ranks of the host, and for what is to go out */

/* The connection to the relay of another host.  Each thread has its own half. */
struct link {
    int socket, host;
    uint32_t is_open;            /* atomic */
    size_t begin, end;           /* of `out`: what is to be sent */
    size_t in;                   /* bytes of `received` */
    unsigned char *out, *received;  /* [BUFFER] */
};

/* What waits for room in the ring of a rank: whole frames. */
struct waiting {
    struct quern_ring_end ring;
    unsigned char *bytes;
    size_t begin, end, room;
};

struct quern_relay {
    struct quern_roster *roster;
    pthread_t sender, hearer;
    uint32_t ends, is_done;      /* atomic: to end, when all has gone out; that both threads shall end */
    struct quern_ring_end from[QUERN_RANK_LIMIT];  /* by slot */
    struct waiting to[QUERN_RANK_LIMIT];
    size_t most_waiting;         /* bytes that can wait for one rank */
    uint16_t *link_of;           /* [hosts] */
    struct pollfd *polls[2];     /* [links]: of each thread */
    int links;
    struct link link[];
};

static bool is_open(const struct link *link) { return __atomic_load_n(&link->is_open, __ATOMIC_ACQUIRE); }
static void close_link(struct link *link) { __atomic_store_n(&link->is_open, 0, __ATOMIC_RELEASE); }
static bool is_poisoned(const struct quern_relay *relay) {
    return __atomic_load_n(&relay->roster->segment->poison, __ATOMIC_ACQUIRE) != 0;
}

static void ring_rank(const struct quern_relay *relay, int slot) {
    quern_ring(&quern_segment_place(&relay->roster->view, (uint32_t)slot)->bell);
}

/* ---- the sender ---- */

/* Takes the frames of a rank as far as there is room for them.  A host that has gone takes no more: its frames are dropped. */
static bool gather(struct quern_relay *relay, int slot) {
    const struct quern_roster *roster = relay->roster;
    struct quern_ring_end *ring = &relay->from[slot];
    const int rank = roster->rank_at[slot];
    const struct quern_frame_ends ends = {rank, roster->peer[rank].host, -1, -1};
    struct quern_relay_frame frame;
    enum quern_ring_state state;
    bool moved = false;
    while ((state = quern_ring_look(ring, &frame)) == QUERN_RING_FRAME && quern_is_frame(&frame, roster, &ends)) {
        struct link *link = &relay->link[relay->link_of[roster->peer[frame.to].host]];
        const bool goes = is_open(link);
        if (goes && BUFFER - link->end < HEAD + (size_t)frame.bytes) break;
        unsigned char *to = link->out + link->end;
        if (goes) memcpy(to, &frame, HEAD);
        quern_ring_take(ring, &frame, goes ? to + HEAD : NULL);
        link->end += goes ? HEAD + (size_t)frame.bytes : 0;
        moved = true;
    }
    const bool damaged = state == QUERN_RING_DAMAGED || (state == QUERN_RING_FRAME && !quern_is_frame(&frame, roster, &ends));
    if (damaged && !is_poisoned(relay)) quern_poison_by_frame(roster, rank);
    if (moved) ring_rank(relay, slot);
    return moved;
}

static bool send_out(struct link *link) {
    bool moved = false;
    while (is_open(link) && link->begin < link->end) {
        const ssize_t sent = send(link->socket, link->out + link->begin, link->end - link->begin, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR)) break;
        if (sent < 0) close_link(link);
        else link->begin += (size_t)sent;
        moved = true;
    }
    if (!is_open(link)) link->begin = link->end = 0;
    if (link->begin == link->end) link->begin = link->end = 0;
    else if (BUFFER - link->end < FRAME) {
        memmove(link->out, link->out + link->begin, link->end - link->begin);
        link->end -= link->begin;
        link->begin = 0;
    }
    return moved;
}

static bool move_out(struct quern_relay *relay) {
    bool moved = false;
    for (int slot = 0; slot < relay->roster->here; slot++) moved |= gather(relay, slot);
    for (int i = 0; i < relay->links; i++) moved |= send_out(&relay->link[i]);
    return moved;
}

static int list_full(struct quern_relay *relay) {
    int count = 0;
    for (int i = 0; i < relay->links; i++)
        if (is_open(&relay->link[i]) && relay->link[i].begin < relay->link[i].end)
            relay->polls[0][count++] = (struct pollfd){.fd = relay->link[i].socket, .events = POLLOUT};
    return count;
}

static void *send_frames(void *argument) {
    struct quern_relay *relay = argument;
    struct quern_bell *bell = &relay->roster->segment->relay;
    int64_t until = 0;
    for (;;) {
        if (move_out(relay)) continue;
        const bool ends = __atomic_load_n(&relay->ends, __ATOMIC_ACQUIRE);
        if (ends && !until) until = quern_now() + LINGER;
        const uint32_t seen = quern_listen(bell);
        if (move_out(relay)) continue;
        const int full = list_full(relay);
        if (ends && (!full || is_poisoned(relay) || quern_now() > until)) return NULL;
        if (full) poll(relay->polls[0], (nfds_t)full, RETRY);
        else quern_futex_wait(&bell->rings, seen, TICK * (int64_t)1000000);
    }
}

/* ---- the hearer ---- */

static bool keep(struct waiting *waiting, const struct quern_relay_frame *frame, const unsigned char *bytes) {
    const size_t needed = HEAD + (size_t)frame->bytes, used = waiting->end - waiting->begin;
    if (waiting->room - waiting->end < needed) {
        const size_t room = used + needed > waiting->room / 2 ? 2 * (used + needed) : waiting->room;
        unsigned char *fresh = malloc(room);
        if (!fresh) return false;
        if (used) memcpy(fresh, waiting->bytes + waiting->begin, used);
        free(waiting->bytes);
        *waiting = (struct waiting){waiting->ring, fresh, 0, used, room};
    }
    memcpy(waiting->bytes + waiting->end, frame, HEAD);
    memcpy(waiting->bytes + waiting->end + HEAD, bytes, frame->bytes);
    waiting->end += needed;
    return true;
}

/* Moves what waits into the ring as far as there is room. */
static void hand_over(struct waiting *waiting) {
    struct quern_relay_frame frame;
    while (waiting->begin < waiting->end) {
        memcpy(&frame, waiting->bytes + waiting->begin, HEAD);
        if (quern_ring_room(&waiting->ring) < HEAD + (size_t)frame.bytes) return;
        quern_ring_write(&waiting->ring, &frame, &(struct iovec){waiting->bytes + waiting->begin + HEAD, frame.bytes});
        waiting->begin += HEAD + (size_t)frame.bytes;
    }
    free(waiting->bytes);
    *waiting = (struct waiting){.ring = waiting->ring};
}

/* False: more than the senders' windows allow, or no memory. */
static bool deliver(struct quern_relay *relay, const struct quern_relay_frame *frame, const unsigned char *bytes) {
    const uint32_t slot = relay->roster->peer[frame->to].slot;
    struct waiting *waiting = &relay->to[slot];
    const bool fits = waiting->begin == waiting->end && quern_ring_room(&waiting->ring) >= HEAD + (size_t)frame->bytes;
    if (fits) quern_ring_write(&waiting->ring, frame, &(struct iovec){(void *)bytes, frame->bytes});
    else if (waiting->end - waiting->begin > relay->most_waiting || !keep(waiting, frame, bytes)) return false;
    ring_rank(relay, (int)slot);
    return true;
}

/* Delivers the whole frames.  False: there is something else. */
static bool take_frames(struct quern_relay *relay, struct link *link) {
    const struct quern_roster *roster = relay->roster;
    const int here = roster->peer[roster->host_leader].host;
    const struct quern_frame_ends ends = {-1, link->host, -1, here};
    size_t at = 0;
    bool sound = true;
    while (sound && link->in - at >= HEAD) {
        struct quern_relay_frame frame;
        memcpy(&frame, link->received + at, HEAD);
        sound = quern_is_frame(&frame, roster, &ends);
        if (sound && link->in - at < HEAD + (size_t)frame.bytes) break;
        if (sound) sound = deliver(relay, &frame, link->received + at + HEAD);
        at += HEAD + (size_t)frame.bytes;
    }
    if (!sound) return false;
    link->in -= at;
    memmove(link->received, link->received + at, link->in);
    return true;
}

/* The monitors tell what has become of a host whose connection has ended. */
static void hear(struct quern_relay *relay, struct link *link) {
    while (is_open(link)) {
        const ssize_t read = recv(link->socket, link->received + link->in, BUFFER - link->in, MSG_DONTWAIT);
        if (read < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (read <= 0) {
            close_link(link);
            return;
        }
        link->in += (size_t)read;
        if (take_frames(relay, link)) continue;
        close_link(link);
        shutdown(link->socket, SHUT_RDWR);  /* the other side shall not wait for room */
        if (!is_poisoned(relay)) quern_poison_by_link(relay->roster, link->host);
    }
}

/* True: something still waits. */
static bool hand_over_all(struct quern_relay *relay) {
    bool waits = false;
    for (int slot = 0; slot < relay->roster->here; slot++) {
        struct waiting *waiting = &relay->to[slot];
        const size_t before = waiting->end - waiting->begin;
        if (!before) continue;
        hand_over(waiting);
        if (waiting->end - waiting->begin < before) ring_rank(relay, slot);
        waits |= waiting->begin < waiting->end;
    }
    return waits;
}

static void *hear_frames(void *argument) {
    struct quern_relay *relay = argument;
    while (!__atomic_load_n(&relay->is_done, __ATOMIC_ACQUIRE)) {
        int count = 0;
        for (int i = 0; i < relay->links; i++)
            if (is_open(&relay->link[i])) relay->polls[1][count++] = (struct pollfd){.fd = relay->link[i].socket, .events = POLLIN};
        poll(relay->polls[1], (nfds_t)count, hand_over_all(relay) ? RETRY : TICK);
        for (int i = 0; i < relay->links; i++) hear(relay, &relay->link[i]);
    }
    return NULL;
}

/* ---- starting ---- */

static void free_relay(struct quern_relay *relay) {
    for (int i = 0; i < relay->links; i++) {
        free(relay->link[i].out);
        free(relay->link[i].received);
    }
    for (int slot = 0; slot < relay->roster->here; slot++) free(relay->to[slot].bytes);
    free(relay->polls[0]);
    free(relay->polls[1]);
    free(relay->link_of);
    free(relay);
}

static bool make_link(struct quern_relay *relay, int host, int socket) {
    struct link *link = &relay->link[relay->links];
    *link = (struct link){.socket = socket, .host = host, .is_open = 1, .out = malloc(BUFFER), .received = malloc(BUFFER)};
    relay->link_of[host] = (uint16_t)relay->links++;
    return link->out && link->received;
}

static struct quern_relay *make_relay(struct quern_roster *roster, const int *sockets) {
    const size_t hosts = (size_t)roster->hosts;
    struct quern_relay *relay = calloc(1, sizeof *relay + hosts * sizeof *relay->link);
    if (!relay) return NULL;
    relay->roster = roster;
    relay->link_of = calloc(hosts, sizeof *relay->link_of);
    bool has_memory = relay->link_of != NULL;
    for (int i = 0; i < 2; i++) has_memory &= (relay->polls[i] = calloc(hosts, sizeof **relay->polls)) != NULL;
    for (int rank = 0; rank < roster->ranks && has_memory; rank++)
        if (sockets[rank] >= 0) has_memory = make_link(relay, roster->peer[rank].host, sockets[rank]);
    for (int slot = 0; slot < roster->here; slot++) {
        relay->from[slot].ring = quern_segment_ring(&roster->view, (uint32_t)slot, QUERN_RING_OUT);
        relay->to[slot].ring.ring = quern_segment_ring(&roster->view, (uint32_t)slot, QUERN_RING_IN);
    }
    /* A frame has at least a byte, or is the credit for half of a window. */
    relay->most_waiting = (size_t)(roster->ranks - roster->here) * QUERN_STREAMS * quern_stream_window(roster->ranks) * (1 + HEAD);
    if (has_memory) return relay;
    free_relay(relay);
    return NULL;
}

/* No signal of the engine's is handled on these threads. */
static int start_threads(struct quern_relay *relay) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&relay->hearer, NULL, hear_frames, relay);
    if (!error && (error = pthread_create(&relay->sender, NULL, send_frames, relay))) {
        __atomic_store_n(&relay->is_done, 1, __ATOMIC_RELEASE);
        pthread_join(relay->hearer, NULL);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

bool quern_start_relay(struct quern_roster *roster, const int *sockets) {
    struct quern_relay *relay = make_relay(roster, sockets);
    const int error = relay ? start_threads(relay) : ENOMEM;
    if (error && relay) free_relay(relay);
    if (!error) __atomic_store_n(&roster->relay, relay, __ATOMIC_RELEASE);
    errno = error;
    return !error;
}

/* ---- ending ---- */

static void nap(void) { nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); }

/* Whether all ranks of the host have left or ended: those of this process alone, or all. */
static bool have_left(const struct quern_roster *roster, bool all) {
    for (int slot = 0; slot < roster->here; slot++) {
        const int rank = roster->rank_at[slot];
        const bool left = __atomic_load_n(&roster->segment->rank[rank].state, __ATOMIC_ACQUIRE) == QUERN_RANK_LEFT;
        if (roster->peer[rank].is_here ? !left : all && !left && quern_rank_lives(roster, rank)) return false;
    }
    return true;
}

/* Whether the other host's system has all that was sent: closing before would throw it away. */
static bool has_arrived(const struct link *link) {
    int bytes = 0;
    return !is_open(link) || ioctl(link->socket, TIOCOUTQ, &bytes) != 0 || bytes == 0;
}

static void await_arrival(const struct quern_relay *relay) {
    for (const int64_t until = quern_now() + LINGER; quern_now() < until && !is_poisoned(relay); nap()) {
        bool all = true;
        for (int i = 0; i < relay->links; i++) all &= has_arrived(&relay->link[i]);
        if (all) return;
    }
}

static void end_relay(struct quern_relay *relay) {
    const struct quern_roster *roster = relay->roster;
    for (const int64_t until = quern_now() + LINGER; quern_now() < until && !is_poisoned(relay) && !have_left(roster, true);) nap();
    __atomic_store_n(&relay->ends, 1, __ATOMIC_RELEASE);
    quern_ring(&relay->roster->segment->relay);
    pthread_join(relay->sender, NULL);
    await_arrival(relay);
    __atomic_store_n(&relay->is_done, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < relay->links; i++) shutdown(relay->link[i].socket, SHUT_RDWR);  /* wakes the hearer */
    pthread_join(relay->hearer, NULL);
    for (int i = 0; i < relay->links; i++) quern_socket_close(&relay->link[i].socket);
    free_relay(relay);
}

void quern_leave_relay(const struct quern_membership *member) {
    struct quern_roster *roster = member->roster;
    if (!have_left(roster, false)) return;
    struct quern_relay *relay = __atomic_exchange_n(&roster->relay, NULL, __ATOMIC_ACQ_REL);
    if (relay) end_relay(relay);
}
