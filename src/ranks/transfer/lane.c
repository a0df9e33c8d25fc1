/* The streams between ranks of a host, and the places of the lanes in the segment's file.  Called by wire.c. */
#define _GNU_SOURCE
#include "ranks/transfer/lane.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/file_size.h"
#include "ranks/roster.h"

enum {
    OWN_LANE_BYTES = 16 << 10,  /* between threads, which read each other's memory */
    PAGE = 4096
};

static int64_t offset_of(const struct quern_membership *member, int from, int to) {
    const struct quern_roster *roster = member->roster;
    const int64_t segment = (int64_t)quern_segment_bytes(roster->view.ranks, roster->view.here);
    const int64_t lane = (int64_t)roster->peer[from].slot * roster->here + roster->peer[to].slot;
    return (segment + PAGE - 1) / PAGE * PAGE + lane * QUERN_LANE_BYTES;
}

static bool are_threads(const struct quern_membership *member, int from, int to) {
    return member->roster->peer[from].is_here && member->roster->peer[to].is_here;
}

static void *map_lane(const struct quern_membership *member, int from, int to) {
    const int64_t offset = offset_of(member, from, to);
    if (!quern_reserve_file_part(member->roster->descriptor, offset, QUERN_LANE_BYTES)) return NULL;
    void *lane = mmap(NULL, QUERN_LANE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, member->roster->descriptor, (off_t)offset);
    if (lane == MAP_FAILED) return NULL;
    madvise(lane, QUERN_LANE_BYTES, MADV_DONTFORK);  /* a child is no rank */
    return lane;
}

bool quern_open_lane(struct quern_lane_end *end, const struct quern_membership *member, int from, int to) {
    const bool threads = are_threads(member, from, to);
    const size_t bytes = threads ? OWN_LANE_BYTES : QUERN_LANE_BYTES;
    struct quern_lane *lane = threads ? quern_own_lane(member->roster, from, to, bytes, true) : map_lane(member, from, to);
    if (!lane) return false;
    *end = (struct quern_lane_end){.lane = lane, .room = bytes - sizeof *lane, .is_mapped = !threads};
    return true;
}

void quern_close_lane(struct quern_lane_end *end) {
    if (end->lane && end->is_mapped) munmap(end->lane, QUERN_LANE_BYTES);
    end->lane = NULL;
}

bool quern_lane_speaks(const struct quern_membership *member, int from) {
    uint64_t written = 0;
    if (are_threads(member, from, member->rank)) {
        struct quern_lane *lane = quern_own_lane(member->roster, from, member->rank, OWN_LANE_BYTES, false);
        return lane && __atomic_load_n(&lane->written, __ATOMIC_ACQUIRE);
    }
    return pread(member->roster->descriptor, &written, sizeof written, (off_t)offset_of(member, from, member->rank)) ==
               sizeof written && written;
}

/* Copies between the ring and a list of parts: at most so many bytes. */
static size_t move(const struct quern_lane_end *end, const struct iovec *parts, int count, size_t most, bool in) {
    size_t moved = 0;
    for (int i = 0; i < count && moved < most; i++)
        for (size_t done = 0; done < parts[i].iov_len && moved < most;) {
            const size_t at = (end->moved + moved) % end->room, left = parts[i].iov_len - done;
            size_t piece = end->room - at < left ? end->room - at : left;
            if (piece > most - moved) piece = most - moved;
            char *memory = (char *)parts[i].iov_base + done;
            if (in) memcpy(memory, end->lane->ring + at, piece);
            else memcpy(end->lane->ring + at, memory, piece);
            done += piece, moved += piece;
        }
    return moved;
}

size_t quern_lane_room(const struct quern_lane_end *end) {
    const uint64_t full = end->moved - __atomic_load_n(&end->lane->read, __ATOMIC_ACQUIRE);
    return full > end->room ? 0 : end->room - (size_t)full;
}

ssize_t quern_lane_put(struct quern_lane_end *end, const struct iovec *parts, int count) {
    const uint64_t full = end->moved - __atomic_load_n(&end->lane->read, __ATOMIC_ACQUIRE);
    if (full > end->room) return -1;
    const size_t moved = move(end, parts, count, end->room - (size_t)full, false);
    end->moved += moved;
    if (moved) __atomic_store_n(&end->lane->written, end->moved, __ATOMIC_RELEASE);
    return (ssize_t)moved;
}

ssize_t quern_lane_get(struct quern_lane_end *end, const struct iovec *parts, int count) {
    const uint64_t full = __atomic_load_n(&end->lane->written, __ATOMIC_ACQUIRE) - end->moved;
    if (full > end->room) return -1;
    if (!full) return 0;
    const size_t moved = move(end, parts, count, (size_t)full, true);
    end->moved += moved;
    __atomic_store_n(&end->lane->read, end->moved, __ATOMIC_RELEASE);
    return (ssize_t)moved;
}
