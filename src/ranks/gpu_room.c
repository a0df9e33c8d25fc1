/* Counts the blocks that may wait for other ranks on each GPU of this process.  Called by cuda_rank.c and at launches. */
#include "ranks/gpu_room.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/dispatch.h"
#include "runtime/status.h"

bool quern_cuda_same_gpu(const struct quern_roster *roster, int a, int b) {
    const struct quern_peer *one = &roster->peer[a], *other = &roster->peer[b];
    return one->host == other->host && memcmp(one->device_uuid, other->device_uuid, sizeof one->device_uuid) == 0;
}

struct quern_gpu_room {
    struct quern_gpu_room *next;
    CUdevice device;
    int taken;    /* atomic */
};

static struct {
    pthread_mutex_t lock;
    struct quern_gpu_room *first;
} rooms = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Under the lock.  NULL: no memory. */
static struct quern_gpu_room *find_room(CUdevice device) {
    struct quern_gpu_room *room = rooms.first;
    while (room && room->device != device) room = room->next;
    if (room) return room;
    room = calloc(1, sizeof *room);
    if (!room) return NULL;
    room->device = device;
    room->next = rooms.first;
    return rooms.first = room;
}

/* Under the lock. */
static void drop_if_empty(struct quern_gpu_room *room) {
    struct quern_gpu_room **link = &rooms.first;
    if (room->taken) return;
    while (*link != room) link = &(*link)->next;
    *link = room->next;
    free(room);
}

/* The prepared kernel of which the fewest blocks run at once. */
static const struct quern_ready_kernel *largest_kernel(const quern_device *device) {
    static const quern_operations others[] = {QUERN_RAGGED_ALL_TO_ALL, QUERN_COLLECTIVE};
    const struct quern_ready_kernel *largest = quern_first_ready(device, QUERN_BARRIER);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const struct quern_ready_kernel *other = quern_first_ready(device, others[i]);
        if (other && other->resident < largest->resident) largest = other;
    }
    return largest;
}

static int count_on_gpu(const struct quern_membership *member, bool here) {
    int count = 0;
    for (int rank = 0; rank < member->ranks; rank++)
        count += member->roster->peer[rank].is_here == here && quern_cuda_same_gpu(member->roster, rank, member->rank);
    return count;
}

static bool is_first_here(const struct quern_membership *member) {
    for (int rank = 0; rank < member->rank; rank++)
        if (member->roster->peer[rank].is_here && quern_cuda_same_gpu(member->roster, rank, member->rank)) return false;
    return true;
}

static quern_status fail_full(const struct quern_membership *member, const struct quern_ready_kernel *ready, int taken) {
    return quern_fail(member->device, QUERN_NOT_SUPPORTED,
                      "%s: %s has room for %u blocks of %s at once, and the ranks of this process's groups need %d: expected one "
                      "for each rank, since they wait for each other", member->label, member->device->label, ready->resident,
                      ready->kernel->name, taken);
}

quern_status quern_gpu_room_take(const struct quern_membership *member, struct quern_gpu_room **room, int *taken) {
    const struct quern_ready_kernel *largest = largest_kernel(member->device);
    const int needed = 1 + (is_first_here(member) ? count_on_gpu(member, false) : 0);
    pthread_mutex_lock(&rooms.lock);
    struct quern_gpu_room *found = find_room(member->device->cuda_device);
    const int all = found ? found->taken + needed : 0;
    const bool fits = found && all <= (int)largest->resident;
    if (fits) __atomic_store_n(&found->taken, all, __ATOMIC_RELAXED);
    else if (found) drop_if_empty(found);
    pthread_mutex_unlock(&rooms.lock);
    *room = found;
    *taken = needed;
    if (!found) return quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for a rank");
    return fits ? QUERN_OK : fail_full(member, largest, all);
}

void quern_gpu_room_give_back(struct quern_gpu_room *room, int taken) {
    pthread_mutex_lock(&rooms.lock);
    __atomic_store_n(&room->taken, room->taken - taken, __ATOMIC_RELAXED);
    drop_if_empty(room);
    pthread_mutex_unlock(&rooms.lock);
}

quern_status quern_gpu_room_check(const struct quern_membership *member, const struct quern_gpu_room *room,
                                  const struct quern_ready_kernel *ready) {
    const int taken = __atomic_load_n(&room->taken, __ATOMIC_RELAXED);
    return taken <= (int)ready->resident ? QUERN_OK : fail_full(member, ready, taken);
}
