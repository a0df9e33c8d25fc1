/*
 * Frames between ranks of two hosts, and the rings in which they lie in a host's segment.  For relayed.c and relay.c.
 *
 * A frame has up to QUERN_FRAME_BYTES of one stream from a rank to another one, and credit for the stream in the other direction:
 * so many bytes the sender of this frame has taken.  Who has written a ring may be no rank, and who sends from another host no
 * relay: everything is checked where it is read.
 */
#ifndef QUERN_FRAMES_H
#define QUERN_FRAMES_H

#include "ranks/roster.h"

enum { QUERN_FRAME_BYTES = 16 << 10 };

struct quern_relay_frame {
    uint32_t seal;
    uint16_t from, to;           /* ranks */
    uint16_t stream, bytes;      /* enum quern_stream; of what follows */
    uint32_t credit;
};

/* A ring as one side sees it, which trusts its own count only. */
struct quern_ring_end {
    struct quern_relay_ring *ring;
    uint64_t moved;
};

enum quern_ring_state { QUERN_RING_EMPTY, QUERN_RING_FRAME, QUERN_RING_DAMAGED };

/* The most bytes of a stream that have left the sender and that the receiver has not taken: the same on all ranks of a group. */
static inline uint32_t quern_stream_window(int ranks) {
    enum { ALL = 16 << 20, LEAST = 4 << 10, MOST = 64 << 10 };
    const uint32_t window = ALL / (uint32_t)ranks;
    return window < LEAST ? LEAST : window > MOST ? MOST : window;
}

void quern_seal_frame(struct quern_relay_frame *frame);

/* Whether it is a frame from this rank (-1: any of that host) to that one (-1: any of that host). */
struct quern_frame_ends {
    int from, from_host, to, to_host;
};
bool quern_is_frame(const struct quern_relay_frame *frame, const struct quern_roster *roster, const struct quern_frame_ends *ends);

/* Bytes that a frame can have with its head, at once; 0 also if the ring is damaged. */
size_t quern_ring_room(const struct quern_ring_end *end);

/* Writes a frame, for which there is room. */
struct iovec;
void quern_ring_write(struct quern_ring_end *end, const struct quern_relay_frame *frame, const struct iovec *parts);

/* Looks at the next frame; takes its bytes, which may be NULL, and its place. */
enum quern_ring_state quern_ring_look(const struct quern_ring_end *end, struct quern_relay_frame *frame);
void quern_ring_take(struct quern_ring_end *end, const struct quern_relay_frame *frame, void *bytes);

#endif
