#define _POSIX_C_SOURCE 200809L
#include "barriers.h"

#include <pthread.h>
#include <stdint.h>

#include "library.h"
#include "spin.h"

enum { LINE = 128 };  /* bytes: two cache lines, since a CPU may fetch them in pairs */

/* ---- ping-pong ---- */

static size_t player_bytes(int ranks) {
    (void)ranks;
    return sizeof(struct ball);
}

static void take_side(struct barrier_seat *seat) {
    seat->player = (struct player){.ball = seat->shared, .side = seat->rank};
}

static void play(void *seat) {
    ping_pong(&((struct barrier_seat *)seat)->player);
}

/* ---- a counter and a sense that all spin on, without sleep ---- */

struct central {
    _Alignas(LINE) int arrived;
    _Alignas(LINE) unsigned sense;
};

static size_t central_bytes(int ranks) {
    (void)ranks;
    return sizeof(struct central);
}

static void meet_at_counter(void *context) {
    struct barrier_seat *seat = context;
    struct central *central = seat->shared;
    unsigned sense = ++seat->epoch;
    if (__atomic_add_fetch(&central->arrived, 1, __ATOMIC_ACQ_REL) == seat->ranks) {
        __atomic_store_n(&central->arrived, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&central->sense, sense, __ATOMIC_RELEASE);
    } else {
        while (__atomic_load_n(&central->sense, __ATOMIC_ACQUIRE) != sense) spin_pause();
    }
}

/* ---- the library's protocol, put-to-all and wait-for-all, without sleep and without anything else that a library needs ---- */

static size_t pad_stride(int ranks) {
    return ((size_t)ranks * sizeof(uint32_t) + LINE - 1) / LINE * LINE;
}

static size_t pads_bytes(int ranks) {
    return (size_t)ranks * pad_stride(ranks);
}

static uint32_t *pad_of(const struct barrier_seat *seat, int rank) {
    return (uint32_t *)((char *)seat->shared + (size_t)rank * pad_stride(seat->ranks));
}

static void put_to_all(void *context) {
    struct barrier_seat *seat = context;
    uint32_t epoch = ++seat->epoch, *mine = pad_of(seat, seat->rank);
    for (int peer = 0; peer < seat->ranks; peer++)
        if (peer != seat->rank) __atomic_store_n(pad_of(seat, peer) + seat->rank, epoch, __ATOMIC_RELEASE);
    for (int peer = 0; peer < seat->ranks; peer++)
        while (peer != seat->rank && (int32_t)(__atomic_load_n(mine + peer, __ATOMIC_ACQUIRE) - epoch) < 0) spin_pause();
}

/* ---- pthread_barrier ---- */

static size_t pthread_bytes(int ranks) {
    (void)ranks;
    return sizeof(pthread_barrier_t);
}

static void prepare_pthread(void *shared, const struct team *team) {
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, team->kind == TEAM_THREADS ? PTHREAD_PROCESS_PRIVATE : PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(shared, &attributes, (unsigned)team->ranks);
    pthread_barrierattr_destroy(&attributes);
}

static void meet_at_pthread(void *context) {
    pthread_barrier_wait(((struct barrier_seat *)context)->shared);
}

/* ---- the library's ---- */

static size_t name_bytes(int ranks) {
    (void)ranks;
    return LIBRARY_NAME_BYTES;
}

static void name_group(void *shared, const struct team *team) {
    (void)team;
    library_name(shared);
}

static void join_group(struct barrier_seat *seat) {
    seat->more = library_join(seat->shared, seat->rank, seat->ranks, 1, QUERN_BARRIER);
}

static void meet_in_group(void *context) {
    const struct library_rank *member = ((struct barrier_seat *)context)->more;
    if (quern_barrier(member->group, NULL, NULL) != QUERN_OK) library_fail("quern_barrier");
}

static void leave_group(struct barrier_seat *seat) {
    library_leave(seat->more);
}

const struct barrier barriers[BARRIERS] = {
    {.name = PING_PONG, .most_ranks = 2, .bytes = player_bytes, .join = take_side, .meet = play},
    {.name = "quern", .most_ranks = QUERN_MAX_RANKS, .bytes = name_bytes, .prepare = name_group, .join = join_group,
     .meet = meet_in_group, .leave = leave_group},
    {.name = "counter, no sleep", .most_ranks = QUERN_MAX_RANKS, .bytes = central_bytes, .meet = meet_at_counter},
    {.name = "put-to-all, no sleep", .most_ranks = QUERN_MAX_RANKS, .bytes = pads_bytes, .meet = put_to_all},
    {.name = "pthread_barrier", .most_ranks = QUERN_MAX_RANKS, .bytes = pthread_bytes, .prepare = prepare_pthread,
     .meet = meet_at_pthread},
};
