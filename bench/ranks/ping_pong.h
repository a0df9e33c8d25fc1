/* A cache line that goes from one rank to another and back: what every barrier of two ranks is measured by. */
#ifndef PING_PONG_H
#define PING_PONG_H

#include <stdint.h>

#include "spin.h"

#define PING_PONG "ping-pong"

struct ball {
    _Alignas(128) uint32_t throws;  /* atomic */
};

/* One of the two ranks. */
struct player {
    struct ball *ball;
    int side;         /* 0 throws first, 1 throws back */
    uint32_t trips;   /* so far, there and back */
};

static inline void await_throw(const struct ball *ball, uint32_t throws) {
    while (__atomic_load_n(&ball->throws, __ATOMIC_ACQUIRE) != throws) spin_pause();
}

/* One round trip; the context is a player. */
static inline void ping_pong(void *context) {
    struct player *player = context;
    uint32_t there = 2 * player->trips++ + 1, back = there + 1;
    if (player->side == 0) {
        __atomic_store_n(&player->ball->throws, there, __ATOMIC_RELEASE);
        await_throw(player->ball, back);
    } else {
        await_throw(player->ball, there);
        __atomic_store_n(&player->ball->throws, back, __ATOMIC_RELEASE);
    }
}

#endif
