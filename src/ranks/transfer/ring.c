/* The rings between ranks of a host, and the places of the rings in the segment's file.  Called by connection.c. */
#define _GNU_SOURCE
#include "ranks/transfer/transfer.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/file_size.h"
#include "ranks/roster.h"

enum {
    OWN_RING_BYTES = 16 << 10,  /* between threads, which read each other's memory */
    PAGE = 4096
};

static int64_t offset_of(const struct quern_membership *member, int from, int to) {
    const struct quern_roster *roster = member->roster;
    const int64_t segment = (int64_t)quern_segment_bytes(roster->view.ranks, roster->view.here);
    const int64_t ring = (int64_t)roster->peer[from].slot * roster->here + roster->peer[to].slot;
    return (segment + PAGE - 1) / PAGE * PAGE + ring * QUERN_RING_BYTES;
}

static bool are_threads(const struct quern_membership *member, int from, int to) {
    return member->roster->peer[from].is_here && member->roster->peer[to].is_here;
}

static void *map_ring(const struct quern_membership *member, int from, int to) {
    const int64_t offset = offset_of(member, from, to);
    if (!quern_reserve_file_part(member->roster->descriptor, offset, QUERN_RING_BYTES)) return NULL;
    void *ring = mmap(NULL, QUERN_RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, member->roster->descriptor, (off_t)offset);
    if (ring == MAP_FAILED) return NULL;
    madvise(ring, QUERN_RING_BYTES, MADV_DONTFORK);  /* a child is no rank */
    return ring;
}

bool quern_open_ring(struct quern_ring_end *end, const struct quern_membership *member, int from, int to) {
    const bool threads = are_threads(member, from, to);
    const size_t bytes = threads ? OWN_RING_BYTES : QUERN_RING_BYTES;
    struct quern_ring *ring = threads ? quern_own_ring(member->roster, from, to, bytes, true) : map_ring(member, from, to);
    if (!ring) return false;
    *end = (struct quern_ring_end){.ring = ring, .room = bytes - sizeof *ring, .is_mapped = !threads};
    return true;
}

void quern_close_ring(struct quern_ring_end *end) {
    if (end->ring && end->is_mapped) munmap(end->ring, QUERN_RING_BYTES);
    end->ring = NULL;
}

bool quern_ring_speaks(const struct quern_membership *member, int from) {
    uint64_t written = 0;
    if (are_threads(member, from, member->rank)) {
        struct quern_ring *ring = quern_own_ring(member->roster, from, member->rank, OWN_RING_BYTES, false);
        return ring && __atomic_load_n(&ring->written, __ATOMIC_ACQUIRE);
    }
    return pread(member->roster->descriptor, &written, sizeof written, (off_t)offset_of(member, from, member->rank)) ==
               sizeof written && written;
}

/* Copies between the ring and a list of parts: at most so many bytes. */
static size_t move(const struct quern_ring_end *end, const struct iovec *parts, int count, size_t most, bool in) {
    size_t moved = 0;
    for (int i = 0; i < count && moved < most; i++)
        for (size_t done = 0; done < parts[i].iov_len && moved < most;) {
            const size_t at = (end->moved + moved) % end->room, left = parts[i].iov_len - done;
            size_t piece = end->room - at < left ? end->room - at : left;
            if (piece > most - moved) piece = most - moved;
            char *memory = (char *)parts[i].iov_base + done;
            if (in) memcpy(memory, end->ring->ring + at, piece);
            else memcpy(end->ring->ring + at, memory, piece);
            done += piece, moved += piece;
        }
    return moved;
}

/* quern_ring_put looks again. */
size_t quern_ring_room(const struct quern_ring_end *end) {
    const uint64_t full = end->moved - __atomic_load_n(&end->ring->read, __ATOMIC_RELAXED);
    return full > end->room ? 0 : end->room - (size_t)full;
}

ssize_t quern_ring_put(struct quern_ring_end *end, const struct iovec *parts, int count) {
    const uint64_t full = end->moved - __atomic_load_n(&end->ring->read, __ATOMIC_ACQUIRE);
    if (full > end->room) return -1;
    const size_t moved = move(end, parts, count, end->room - (size_t)full, false);
    end->moved += moved;
    if (moved) __atomic_store_n(&end->ring->written, end->moved, __ATOMIC_RELEASE);
    return (ssize_t)moved;
}

ssize_t quern_ring_get(struct quern_ring_end *end, const struct iovec *parts, int count) {
    const uint64_t full = __atomic_load_n(&end->ring->written, __ATOMIC_ACQUIRE) - end->moved;
    if (full > end->room) return -1;
    if (!full) return 0;
    const size_t moved = move(end, parts, count, (size_t)full, true);
    end->moved += moved;
    __atomic_store_n(&end->ring->read, end->moved, __ATOMIC_RELEASE);
    return (ssize_t)moved;
}
