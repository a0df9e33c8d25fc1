/*
 * A ring: a stream of bytes from one rank to another one of the same host, in memory that both see.  Between threads of a process
 * it is the process's own memory; else it lies behind the segment in the segment's file, where it takes space only once it is used.
 * There any process of the user can write: what is read is checked.
 */
#ifndef QUERN_RING_H
#define QUERN_RING_H

#include <sys/uio.h>

#include "ranks/membership.h"

struct quern_ring {
    _Alignas(128) uint64_t written;  /* atomic; by the sender: bytes so far */
    uint32_t ends;                   /* atomic; by the sender: how often it has withdrawn memory: see withdraw.h */
    _Alignas(128) uint64_t read;     /* atomic; by the receiver */
    uint32_t copying;                /* atomic; by the receiver: odd while it copies from the sender's memory */
    _Alignas(128) unsigned char ring[];
};

enum { QUERN_RING_BYTES = 80 << 10 };  /* in the segment's file; holds a message of 64 KiB */

/* One rank's end of a ring.  Its own count of bytes is in its own memory. */
struct quern_ring_end {
    struct quern_ring *ring;
    uint64_t moved;
    size_t room;                     /* bytes of the ring */
    bool is_mapped;
};

/* Opens an end, and makes the ring if need be.  False: no memory, or no space in /dev/shm; errno says which. */
bool quern_open_ring(struct quern_ring_end *end, const struct quern_membership *member, int from, int to);
void quern_close_ring(struct quern_ring_end *end);

/* Whether a ring that this rank has not opened has bytes from another rank for it. */
bool quern_ring_speaks(const struct quern_membership *member, int from);

/* Bytes that the sender can put at once. */
size_t quern_ring_room(const struct quern_ring_end *end);

/* Move what fits at once.  -1: the ring is damaged. */
ssize_t quern_ring_put(struct quern_ring_end *end, const struct iovec *parts, int count);
ssize_t quern_ring_get(struct quern_ring_end *end, const struct iovec *parts, int count);

#endif
