/*
 * Monitors.  Each says to the others, at each heartbeat and when something has changed, what its ranks are doing; a poison at
 * once; and goodbye before it ends.  A host that is silent for too long (src/ranks/heartbeat.h) is lost with all its ranks: its
 * process is stopped, its cable is pulled, or it has crashed.  So it is if its connection ends without goodbye: mostly its
 * process has ended.
 *
 * Called while groups are created and destroyed.
 */
#define _GNU_SOURCE
#include "ranks/hosts/hosts.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "os/clock.h"
#include "os/thread.h"
#include "ranks/poison.h"
#include "ranks/heartbeat.h"

enum { TICK = 5 };  /* milliseconds between two looks at the segment */

/* ---- what monitors say ---- */

enum word { BEATS = 1, POISONED, GOODBYE, PLACE /* for datagrams */ };

struct head {
    uint32_t word;   /* enum word */
    uint32_t count;  /* BEATS: of states; PLACE: the port */
};

struct state {
    int32_t rank;
    uint32_t state, tag, meetings, asleep;
};

struct poison {
    uint32_t word;
    struct quern_poison_reason reason;
};

union body {
    struct state states[QUERN_RANK_LIMIT];
    struct poison poison;
    struct quern_datagram_place place;
};

/* A connection to the monitor of another host. */
struct line {
    int socket, host;
    bool is_open, left, poisoned;                      /* poisoned: it has said with what */
    int64_t heard;                                     /* 0: not yet, since the other host is still connecting with others */
    struct quern_datagram_peer peer;
    size_t in, out;                                    /* bytes in the buffers */
    unsigned char received[sizeof(struct head) + sizeof(union body)];
    unsigned char to_send[4 * (sizeof(struct head) + sizeof(union body))];
};

struct quern_monitor {
    struct quern_roster *roster;
    struct quern_membership *member;                   /* a copy of the leader's, for poison: it may leave before its process */
    pthread_t thread;
    uint32_t ends;                                     /* atomic: to end */
    struct quern_heartbeat heartbeat;                      /* of the others */
    struct quern_datagrams datagrams;
    int64_t poison_timeout, beaten;                   /* nanoseconds */
    int64_t told;                                      /* when the poison was told; 0: it was not */
    uint32_t states[QUERN_RANK_LIMIT];                 /* by slot: as last told */
    struct pollfd *polls;                              /* [lines] */
    int lines;
    struct line line[];
};

/* ---- what is heard ---- */

static struct quern_segment_rank *place_of(const struct quern_monitor *monitor, int rank) {
    return &monitor->roster->segment->rank[rank];
}

static void lose(struct quern_monitor *monitor, struct line *line, enum quern_loss loss) {
    for (int rank = 0; rank < monitor->roster->ranks; rank++) {
        struct quern_segment_rank *place = place_of(monitor, rank);
        uint32_t state = QUERN_RANK_ELSEWHERE;
        if (monitor->roster->peer[rank].host != line->host) continue;
        if (__atomic_load_n(&place->state, __ATOMIC_ACQUIRE) == state) __atomic_store_n(&place->loss, loss, __ATOMIC_RELAXED);
        __atomic_compare_exchange_n(&place->state, &state, QUERN_RANK_ENDED, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    }
    quern_socket_close(&line->socket);
    line->is_open = false;
}

/* In the line's own ranks only, and only states that a rank of another host can have. */
static bool hear_states(const struct quern_monitor *monitor, const struct line *line, const struct state *states, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const struct state *state = &states[i];
        if (state->rank < 0 || state->rank >= monitor->roster->ranks || monitor->roster->peer[state->rank].host != line->host)
            return false;
        if (state->state < QUERN_RANK_LEFT || state->state > QUERN_RANK_ENDED) return false;
        struct quern_segment_rank *place = place_of(monitor, state->rank);
        __atomic_store_n(&place->tag, state->tag, __ATOMIC_RELAXED);
        __atomic_store_n(&place->meetings, state->meetings, __ATOMIC_RELAXED);
        if (state->asleep && !__atomic_load_n(&place->asleep_in_meeting, __ATOMIC_RELAXED))
            __atomic_store_n(&place->since, quern_now(), __ATOMIC_RELAXED);
        __atomic_store_n(&place->asleep_in_meeting, state->asleep != 0, __ATOMIC_RELAXED);
        __atomic_store_n(&place->state, state->state, __ATOMIC_RELEASE);
    }
    return true;
}

/* The bytes of the message that begins the buffer, with its head; 0: there is no such message. */
static size_t bytes_of(const struct head *head) {
    if (head->word == BEATS && head->count <= QUERN_RANK_LIMIT) return sizeof *head + head->count * sizeof(struct state);
    if (head->word == POISONED && head->count == 0) return sizeof *head + sizeof(struct poison);
    if (head->word == PLACE && head->count <= UINT16_MAX) return sizeof *head + sizeof(struct quern_datagram_place);
    return head->word == GOODBYE && head->count == 0 ? sizeof *head : 0;
}

/* Obeys one message.  False: it is none that a monitor sends. */
static bool obey(struct quern_monitor *monitor, struct line *line, const struct head *head, const union body *body) {
    if (head->word == BEATS) return hear_states(monitor, line, body->states, head->count);
    if (head->word == PLACE)
        quern_place_peer(&monitor->datagrams, &line->peer, line->socket, (uint16_t)head->count, &body->place);
    line->poisoned |= head->word == POISONED;
    if (head->word == POISONED)
        return quern_poison_by_host(monitor->roster, body->poison.word, &body->poison.reason);
    line->left |= head->word == GOODBYE;
    return true;
}

/* Takes whole messages out of the buffer.  False: there is something else. */
static bool take_messages(struct quern_monitor *monitor, struct line *line) {
    struct head head;
    union body body;
    while (line->in >= sizeof head) {
        memcpy(&head, line->received, sizeof head);
        const size_t bytes = bytes_of(&head);
        if (!bytes) return false;
        if (line->in < bytes) return true;
        memcpy(&body, line->received + sizeof head, bytes - sizeof head);
        line->in -= bytes;
        memmove(line->received, line->received + bytes, line->in);
        if (!obey(monitor, line, &head, &body)) return false;
    }
    return true;
}

static void hear(struct quern_monitor *monitor, struct line *line) {
    while (line->is_open) {
        const ssize_t read = recv(line->socket, line->received + line->in, sizeof line->received - line->in, MSG_DONTWAIT);
        if (read < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (read > 0) {
            line->heard = quern_now();
            line->in += (size_t)read;
        }
        if (read > 0 && take_messages(monitor, line)) continue;
        if (line->left) line->is_open = false;  /* its ranks have said how they are, and it keeps watch no more */
        else lose(monitor, line, QUERN_LOSS_CONNECTION);
    }
}

/* Those that come again are none: a heartbeat is news. */
static void hear_datagrams(struct quern_monitor *monitor) {
    struct quern_datagram datagram;
    for (int look = 0; look <= monitor->lines && quern_take_datagram(&monitor->datagrams, &datagram); look++)
        for (int i = 0; i < monitor->lines; i++) {
            struct line *line = &monitor->line[i];
            if (line->host != datagram.host || datagram.number <= line->peer.heard) continue;
            line->peer.heard = datagram.number;
            line->heard = quern_now();
            if (datagram.asks) line->peer.asked = line->heard;
        }
}

/* ---- what is said ---- */

static void flush(struct quern_monitor *monitor, struct line *line) {
    while (line->is_open && line->out) {
        const ssize_t sent = send(line->socket, line->to_send, line->out, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (sent < 0) {
            hear(monitor, line);  /* what came before the end */
            if (line->is_open) lose(monitor, line, QUERN_LOSS_CONNECTION);
            return;
        }
        line->out -= (size_t)sent;
        memmove(line->to_send, line->to_send + sent, line->out);
    }
}

/* Beats to a host that does not read are dropped; it will be found silent. */
static void say(struct quern_monitor *monitor, const struct head *head, const void *body, size_t bytes) {
    for (int i = 0; i < monitor->lines; i++) {
        struct line *line = &monitor->line[i];
        const bool is_last = head->word != BEATS,
                   fits = line->out + sizeof *head + bytes <= sizeof line->to_send / (is_last ? 1 : 2);
        if (!line->is_open || !fits) continue;
        memcpy(line->to_send + line->out, head, sizeof *head);
        if (bytes) memcpy(line->to_send + line->out + sizeof *head, body, bytes);
        line->out += sizeof *head + bytes;
        flush(monitor, line);
    }
}

/* How a rank of this host is, for the others. */
static uint32_t state_of(const struct quern_monitor *monitor, int rank) {
    if (!quern_rank_lives(monitor->roster, rank)) return QUERN_RANK_ENDED;
    return __atomic_load_n(&place_of(monitor, rank)->state, __ATOMIC_ACQUIRE) == QUERN_RANK_LEFT ? QUERN_RANK_LEFT
                                                                                                : QUERN_RANK_ELSEWHERE;
}

static void say_states(struct quern_monitor *monitor) {
    struct state states[QUERN_RANK_LIMIT];
    struct head head = {.word = BEATS};
    bool changed = false;
    for (int slot = 0; slot < monitor->roster->here; slot++) {
        const int rank = monitor->roster->rank_at[slot];
        const struct quern_segment_rank *place = place_of(monitor, rank);
        /* A rank that leaves says so before its lock goes: it has ended only if it has not left. */
        uint32_t state = state_of(monitor, rank);
        if (state == QUERN_RANK_ENDED && __atomic_load_n(&place->state, __ATOMIC_ACQUIRE) == QUERN_RANK_LEFT)
            state = QUERN_RANK_LEFT;
        changed |= state != monitor->states[slot];
        monitor->states[slot] = state;
        states[head.count++] = (struct state){rank, state, __atomic_load_n(&place->tag, __ATOMIC_RELAXED),
                                              __atomic_load_n(&place->meetings, __ATOMIC_RELAXED),
                                              __atomic_load_n(&place->asleep_in_meeting, __ATOMIC_RELAXED)};
    }
    const int64_t now = quern_now();
    if (!changed && now - monitor->beaten < monitor->heartbeat.interval) return;
    monitor->beaten = now;
    say(monitor, &head, states, head.count * sizeof *states);
}

/* To those that are not heard, and to those that do not hear. */
static void say_datagrams(struct quern_monitor *monitor) {
    const struct quern_heartbeat *heartbeat = &monitor->heartbeat;
    for (int i = 0; i < monitor->lines; i++) {
        struct line *line = &monitor->line[i];
        const bool asks = line->heard && quern_is_doubtful(heartbeat, line->heard),
                   answers = line->peer.asked && !quern_is_doubtful(heartbeat, line->peer.asked);
        if (line->is_open && (asks || answers) && heartbeat->looked - line->peer.said >= heartbeat->ask)
            quern_send_datagram(&monitor->datagrams, &line->peer, asks, heartbeat->looked);
    }
}

static void say_poison(struct quern_monitor *monitor) {
    struct poison poison = {.word = 0};
    if (!monitor->told) quern_adopt_kernel_error(monitor->member);
    if (monitor->told || !quern_read_poison(monitor->roster, &poison.word, &poison.reason)) return;
    say(monitor, &(struct head){.word = POISONED}, &poison, sizeof poison);
    monitor->told = quern_now();
    __atomic_store_n(&monitor->roster->segment->told, 1, __ATOMIC_RELEASE);
}

void quern_tell_failure(const struct quern_membership *member, const int *control) {
    struct {
        struct head head;
        struct poison poison;
    } message = {.head = {.word = POISONED}};
    struct poison *poison = &message.poison;
    _Static_assert(sizeof message == sizeof(struct head) + sizeof(struct poison), "a message has no gap");
    if (!quern_read_poison(member->roster, &poison->word, &poison->reason)) return;
    for (int rank = 0; rank < member->ranks; rank++)
        if (control[rank] >= 0) send(control[rank], &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/*
 * Each host tells its poison once, its own or the first that it has heard, and takes the one that precedes the others among all
 * that are told.  When it has heard those of all hosts, all of them have the same.
 */
static void look_for_agreement(struct quern_monitor *monitor) {
    uint32_t *agreement = &monitor->roster->segment->agreement;
    bool agreed = monitor->told != 0;
    if (!agreed || __atomic_load_n(agreement, __ATOMIC_RELAXED) == QUERN_AGREED) return;
    for (int i = 0; i < monitor->lines; i++) agreed &= !monitor->line[i].is_open || monitor->line[i].poisoned;
    if (agreed || quern_now() - monitor->told > monitor->poison_timeout)
        __atomic_store_n(agreement, QUERN_AGREED, __ATOMIC_RELEASE);
}

/* ---- the thread ---- */

static void find_silent(struct quern_monitor *monitor) {
    for (int i = 0; i < monitor->lines; i++) {
        struct line *line = &monitor->line[i];
        const bool speaks = line->is_open && !line->left && line->heard;
        if (speaks && quern_is_silent(&monitor->heartbeat, line->heard)) lose(monitor, line, QUERN_LOSS_TIMEOUT);
    }
}

static void await(const struct quern_monitor *monitor) {
    struct pollfd *polls = monitor->polls;
    int count = 0;
    for (int i = 0; i < monitor->lines; i++) {
        const struct line *line = &monitor->line[i];
        if (line->is_open)
            polls[count++] = (struct pollfd){.fd = line->socket, .events = (short)(POLLIN | (line->out ? POLLOUT : 0))};
    }
    polls[count++] = (struct pollfd){.fd = monitor->datagrams.socket, .events = POLLIN};
    poll(polls, (nfds_t)count, TICK);
}

static void *keep(void *argument) {
    struct quern_monitor *monitor = argument;
    for (bool ends = false; !ends;) {
        ends = __atomic_load_n(&monitor->ends, __ATOMIC_ACQUIRE);
        quern_begin_check(&monitor->heartbeat, quern_now());
        say_poison(monitor);
        say_states(monitor);
        for (int i = 0; i < monitor->lines; i++) {
            flush(monitor, &monitor->line[i]);
            hear(monitor, &monitor->line[i]);
        }
        hear_datagrams(monitor);
        say_datagrams(monitor);
        find_silent(monitor);
        look_for_agreement(monitor);
        if (!ends) await(monitor);
    }
    say(monitor, &(struct head){.word = GOODBYE}, NULL, 0);
    __atomic_store_n(&monitor->roster->segment->agreement, QUERN_AGREED, __ATOMIC_RELEASE);
    return NULL;
}

/* ---- starting and ending ---- */

static void free_monitor(struct quern_monitor *monitor) {
    if (!monitor) return;
    quern_close_datagrams(&monitor->datagrams);
    free(monitor->polls);
    free(monitor->member);
    free(monitor);
}

static struct quern_monitor *make_monitor(const struct quern_membership *member, const int *control) {
    int lines = 0;
    for (int rank = 0; rank < member->ranks; rank++) lines += control[rank] >= 0;
    struct quern_monitor *monitor = calloc(1, sizeof *monitor + (size_t)lines * sizeof *monitor->line);
    errno = ENOMEM;
    if (!monitor) return NULL;
    if (!quern_open_datagrams(&monitor->datagrams, control, member->ranks, member->roster->peer[member->roster->rank_at[0]].host) ||
        !(monitor->polls = calloc((size_t)lines + 1, sizeof *monitor->polls)) ||
        !(monitor->member = malloc(sizeof *monitor->member))) {
        free_monitor(monitor);
        return NULL;
    }
    monitor->roster = member->roster;
    *monitor->member = *member;
    monitor->member->device = NULL;  /* of a log's lines: it may be closed */
    monitor->member->numbers = NULL;
    monitor->heartbeat = quern_begin_heartbeat(member->failure_timeout, quern_now());
    monitor->poison_timeout = quern_poison_timeout(member->failure_timeout);
    for (int rank = 0; rank < member->ranks; rank++)
        if (control[rank] >= 0)
            monitor->line[monitor->lines++] = (struct line){.socket = control[rank], .host = member->roster->peer[rank].host,
                                                          .is_open = true};
    return monitor;
}

/*
 * The first heartbeat is sent here: whoever meets this host later can hear it, so that a host that is lost at once is silent.  The
 * thread may get no core for a while.
 */
bool quern_start_monitor(const struct quern_membership *member, const int *control) {
    struct quern_monitor *monitor = make_monitor(member, control);
    if (monitor) say_states(monitor);
    if (monitor && monitor->datagrams.socket >= 0)
        say(monitor, &(struct head){PLACE, monitor->datagrams.port}, &monitor->datagrams.place, sizeof monitor->datagrams.place);
    __atomic_store_n(&member->segment->agreement, QUERN_AGREES, __ATOMIC_RELEASE);
    const int error = monitor ? quern_start_thread(&monitor->thread, keep, monitor) : errno;
    errno = error;
    if (error) free_monitor(monitor);
    else __atomic_store_n(&member->roster->monitor, monitor, __ATOMIC_RELEASE);
    return !error;
}

static bool is_last(const struct quern_membership *member) {
    for (int rank = 0; rank < member->ranks; rank++)
        if (member->roster->peer[rank].is_here &&
            __atomic_load_n(&member->segment->rank[rank].state, __ATOMIC_ACQUIRE) != QUERN_RANK_LEFT)
            return false;
    return true;
}

static void end_monitor(struct quern_monitor *monitor) {
    __atomic_store_n(&monitor->ends, 1, __ATOMIC_RELEASE);
    pthread_join(monitor->thread, NULL);
    for (int i = 0; i < monitor->lines; i++) quern_socket_close(&monitor->line[i].socket);
    free_monitor(monitor);
}

/* The monitor may have ended with its process, so this does not wait long. */
void quern_await_telling(const struct quern_membership *member) {
    enum { MOST = 100 };  /* milliseconds */
    if (member->roster->hosts < 2) return;
    for (int waited = 0; waited < MOST && __atomic_load_n(&member->segment->poison, __ATOMIC_ACQUIRE) &&
                         !__atomic_load_n(&member->segment->told, __ATOMIC_ACQUIRE); waited++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

void quern_leave_monitor(const struct quern_membership *member) {
    if (!is_last(member)) return;
    struct quern_monitor *monitor = __atomic_exchange_n(&member->roster->monitor, NULL, __ATOMIC_ACQ_REL);
    if (monitor) end_monitor(monitor);
}
