/* Writes, reads and checks frames in rings.  Called by relayed.c on the side of ranks and by relay.c on that of the relay. */
#include "ranks/hosts/frames.h"

#include <string.h>
#include <sys/uio.h>

#include "ranks/hosts/way.h"

static uint32_t seal_of(const struct quern_relay_frame *frame) {
    uint64_t seal = ((uint64_t)frame->from << 48 | (uint64_t)frame->to << 32 | (uint32_t)frame->stream << 16 | frame->bytes) + 0x9e3779b9;
    seal = (seal ^ seal >> 30) * 0xbf58476d1ce4e5b9u + frame->credit;
    seal = (seal ^ seal >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)(seal >> 32);
}

void quern_seal_frame(struct quern_relay_frame *frame) { frame->seal = seal_of(frame); }

static bool is_end(const struct quern_roster *roster, int rank, int expected, int host) {
    return rank < roster->ranks && (expected < 0 || rank == expected) && roster->peer[rank].host == host;
}

bool quern_is_frame(const struct quern_relay_frame *frame, const struct quern_roster *roster, const struct quern_frame_ends *ends) {
    return frame->seal == seal_of(frame) && frame->stream < QUERN_STREAMS && frame->bytes <= QUERN_FRAME_BYTES &&
           is_end(roster, frame->from, ends->from, ends->from_host) &&
           (ends->to_host >= 0 ? is_end(roster, frame->to, ends->to, ends->to_host)
                               : frame->to < roster->ranks && roster->peer[frame->to].is_elsewhere);
}

size_t quern_ring_room(const struct quern_ring_end *end) {
    const uint64_t full = end->moved - __atomic_load_n(&end->ring->read, __ATOMIC_ACQUIRE);
    return full > QUERN_RING_BYTES ? 0 : QUERN_RING_BYTES - (size_t)full;
}

static void copy(struct quern_relay_ring *ring, uint64_t at, void *memory, size_t bytes, bool in) {
    const size_t place = at % QUERN_RING_BYTES, first = bytes < QUERN_RING_BYTES - place ? bytes : QUERN_RING_BYTES - place;
    if (in) {
        memcpy(ring->bytes + place, memory, first);
        memcpy(ring->bytes, (char *)memory + first, bytes - first);
    } else {
        memcpy(memory, ring->bytes + place, first);
        memcpy((char *)memory + first, ring->bytes, bytes - first);
    }
}

void quern_ring_write(struct quern_ring_end *end, const struct quern_relay_frame *frame, const struct iovec *parts) {
    copy(end->ring, end->moved, (void *)frame, sizeof *frame, true);
    end->moved += sizeof *frame;
    for (size_t left = frame->bytes; left; parts++) {
        const size_t piece = parts->iov_len < left ? parts->iov_len : left;
        if (piece) copy(end->ring, end->moved, parts->iov_base, piece, true);
        end->moved += piece;
        left -= piece;
    }
    __atomic_store_n(&end->ring->written, end->moved, __ATOMIC_RELEASE);
}

enum quern_ring_state quern_ring_look(const struct quern_ring_end *end, struct quern_relay_frame *frame) {
    const uint64_t full = __atomic_load_n(&end->ring->written, __ATOMIC_ACQUIRE) - end->moved;
    if (!full) return QUERN_RING_EMPTY;
    if (full > QUERN_RING_BYTES || full < sizeof *frame) return QUERN_RING_DAMAGED;
    copy(end->ring, end->moved, frame, sizeof *frame, false);
    return full < sizeof *frame + frame->bytes ? QUERN_RING_DAMAGED : QUERN_RING_FRAME;
}

void quern_ring_take(struct quern_ring_end *end, const struct quern_relay_frame *frame, void *bytes) {
    if (bytes) copy(end->ring, end->moved + sizeof *frame, bytes, frame->bytes, false);
    end->moved += sizeof *frame + frame->bytes;
    __atomic_store_n(&end->ring->read, end->moved, __ATOMIC_RELEASE);
}
