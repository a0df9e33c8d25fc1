/* Rosters: makes and completes them, and asks whether ranks live.  Called by the rendezvous and by all waits. */
#define _GNU_SOURCE
#include "ranks/roster.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/control_group.h"
#include "os/descriptor.h"
#include "os/integers.h"
#include "runtime/status.h"

/* ---- one roster per process and group, so that all threads use the same addresses ---- */

static struct {
    pthread_mutex_t lock;
    struct quern_roster *first;
    struct quern_process own;  /* this process; pid 0: its number is not drawn yet */
    struct quern_process_mark own_mark;
} rosters = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void lock_rosters(void) { pthread_mutex_lock(&rosters.lock); }
static void unlock_rosters(void) { pthread_mutex_unlock(&rosters.lock); }

/*
 * A forked child has copies of the descriptors and mappings.  Memory of its own takes the place of the segment.  Where its parent
 * has the mappings of locks, it may have other memory.
 */
static void disown_rosters(void) {
    for (struct quern_roster *roster = rosters.first; roster; roster = roster->next) {
        if (roster->is_inherited) continue;
        mmap(roster->segment, roster->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        close(roster->descriptor);
        for (int rank = 0; rank < roster->ranks; rank++) roster->peer[rank].lock = NULL;
        roster->is_inherited = true;
    }
    rosters.own.pid = 0;
    unlock_rosters();
}

static void watch_forks(void) { pthread_atfork(lock_rosters, unlock_rosters, disown_rosters); }

static bool is_file_of(const struct quern_roster *roster, const struct stat *file) {
    return roster->device == file->st_dev && roster->inode == file->st_ino;
}

static struct quern_roster *find_roster(const struct stat *file) {
    for (struct quern_roster *roster = rosters.first; roster; roster = roster->next)
        if (!roster->is_inherited && is_file_of(roster, file)) return roster;
    return NULL;
}

enum { LOCK_BYTES = 4096 };

static void unlock_rank(struct quern_peer *peer) {
    if (peer->lock) munmap(peer->lock, LOCK_BYTES);
    peer->lock = NULL;
}

static void free_roster(struct quern_roster *roster) {
    for (int rank = 0; rank < roster->ranks; rank++) unlock_rank(&roster->peer[rank]);
    if (!roster->is_inherited && roster->descriptor >= 0) close(roster->descriptor);
    if (roster->segment != MAP_FAILED) munmap(roster->segment, roster->bytes);
    free(roster->pads);
    free(roster->lines);
    free(roster->mailboxes);
    free(roster->eager_buffers);
    for (int ring = 0; roster->rings && ring < roster->here * roster->here; ring++) free(roster->rings[ring]);
    free(roster->rings);
    free(roster);
}

/* One number for all groups, so that ranks of two groups are known to be of one process. */
static bool know_self(struct quern_roster *roster) {
    const int32_t pid = (int32_t)getpid();
    if (rosters.own.pid != pid) {
        if (getrandom(rosters.own.id, sizeof rosters.own.id, 0) != sizeof rosters.own.id) return false;
        rosters.own_mark = quern_own_process_mark();
    }
    rosters.own.pid = pid;
    roster->self = rosters.own;
    roster->own_mark = rosters.own_mark;
    return true;
}

static struct quern_roster *make_roster(int descriptor, const struct stat *file) {
    struct quern_roster *roster = calloc(1, sizeof *roster);
    if (!roster) return NULL;
    roster->device = file->st_dev;
    roster->inode = file->st_ino;
    roster->bytes = (size_t)file->st_size;
    roster->segment = mmap(NULL, roster->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (roster->segment == MAP_FAILED || !know_self(roster)) {
        int reason = errno;
        roster->descriptor = -1;
        free_roster(roster);
        errno = reason;
        return NULL;
    }
    roster->descriptor = descriptor;
    roster->next = rosters.first;
    return rosters.first = roster;
}

struct quern_roster *quern_open_roster(int descriptor, const struct stat *file) {
    static pthread_once_t watching = PTHREAD_ONCE_INIT;
    pthread_once(&watching, watch_forks);
    lock_rosters();
    struct quern_roster *roster = find_roster(file);
    if (!roster) roster = make_roster(descriptor, file);
    if (roster) roster->users++;
    unlock_rosters();
    return roster;
}

void quern_keep_roster(struct quern_roster *roster, int users) {
    lock_rosters();
    roster->users += users;
    unlock_rosters();
}

void quern_release_roster(struct quern_roster *roster) {
    lock_rosters();
    if (--roster->users == 0) {
        struct quern_roster **link = &rosters.first;
        while (*link != roster) link = &(*link)->next;
        *link = roster->next;
        free_roster(roster);
    }
    unlock_rosters();
}

bool quern_is_own_roster(const struct quern_roster *roster) {
    return !roster->is_inherited && roster->self.pid == (int32_t)getpid();
}

/* ---- locks ---- */

static struct flock lock_of(int rank, short type) {
    return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = rank, .l_len = 1};
}

/* Opens the file once more, by its name: /proc may not be there.  A file that has got the name since is another one. */
static int open_again(const struct quern_roster *roster, const char *name) {
    struct stat file;
    const int descriptor = quern_above_two(shm_open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0));
    if (descriptor < 0 || (fstat(descriptor, &file) == 0 && is_file_of(roster, &file))) return descriptor;
    close(descriptor);
    errno = ENOENT;
    return -1;
}

/* Under the lock, so that no child is forked while there is a descriptor. */
static bool lock_rank(struct quern_roster *roster, const char *name, int rank) {
    struct flock lock = lock_of(rank, F_WRLCK);
    const int descriptor = open_again(roster, name);
    if (descriptor < 0) return false;
    void *held = MAP_FAILED;
    if (fcntl(descriptor, F_OFD_SETLK, &lock) == 0) held = mmap(NULL, LOCK_BYTES, PROT_NONE, MAP_SHARED, descriptor, 0);
    const int reason = errno;
    close(descriptor);
    errno = reason;
    if (held == MAP_FAILED) return false;
    roster->peer[rank].lock = held;
    return madvise(held, LOCK_BYTES, MADV_DONTFORK) == 0;
}

void quern_leave_roster(struct quern_roster *roster, int rank) {
    lock_rosters();
    unlock_rank(&roster->peer[rank]);
    unlock_rosters();
}

/* A rank of another host lives as long as that host's leader says so. */
static bool lives_elsewhere(const struct quern_roster *roster, int rank) {
    return __atomic_load_n(&roster->segment->rank[rank].state, __ATOMIC_ACQUIRE) != QUERN_RANK_ENDED;
}

/* A look at /proc takes some microseconds, and monitors and watchers ask of all ranks of the host every 5 ms. */
static bool is_ending(const struct quern_roster *roster, int rank) {
    static const int64_t APART = 40000000;  /* nanoseconds */
    int64_t *looked = (int64_t *)&roster->peer[rank].looked;
    const int64_t now = quern_now(), last = __atomic_load_n(looked, __ATOMIC_RELAXED);
    if (last == INT64_MAX || now - last < APART || !roster->view.segment) return last == INT64_MAX;
    const struct quern_process_mark mark = roster->is_complete ? roster->peer[rank].mark : quern_place(roster, rank)->mark;
    const bool ending = quern_process_is_ending(&roster->own_mark, &mark);
    __atomic_store_n(looked, ending ? INT64_MAX : now, __ATOMIC_RELAXED);
    return ending;
}

bool quern_rank_lives(const struct quern_roster *roster, int rank) {
    if (roster->peer[rank].is_elsewhere) return lives_elsewhere(roster, rank);
    if (roster->peer[rank].is_here) return true;
    struct flock lock = lock_of(rank, F_WRLCK);
    const bool is_held = fcntl(roster->descriptor, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
    return is_held && !is_ending(roster, rank);
}

static uint32_t loss_of(const struct quern_roster *roster, int rank) {
    return __atomic_load_n(&roster->segment->rank[rank].loss, __ATOMIC_RELAXED);
}

static bool has_left(const struct quern_roster *roster, int rank) {
    return __atomic_load_n(&roster->segment->rank[rank].state, __ATOMIC_ACQUIRE) == QUERN_RANK_LEFT;
}

/* In this order: a rank says that it leaves, then lets its lock go. */
bool quern_rank_has_ended(const struct quern_roster *roster, int rank) {
    return !quern_rank_lives(roster, rank) && !has_left(roster, rank);
}

bool quern_host_is_lost(const struct quern_roster *roster, int rank) {
    const uint32_t loss = loss_of(roster, rank);
    return loss == QUERN_LOSS_TIMEOUT || loss == QUERN_LOSS_CONNECTION;
}

int quern_lost_rank(const struct quern_roster *roster, int rank) {
    return quern_host_is_lost(roster, rank) ? roster->leader_of[roster->peer[rank].host] : rank;
}

bool quern_rank_has_gone(const struct quern_roster *roster, int rank) {
    return !quern_rank_lives(roster, rank) || has_left(roster, rank);
}

/* ---- entering ---- */

quern_status quern_fail_damaged(const quern_device *device, const char *what, int rank) {
    return quern_fail(device, QUERN_PEER_MISMATCH, "%s of rank %d is damaged: " QUERN_BY_FOREIGN_PROCESS, what, rank);
}

/* Memory for the number of ranks, which the first of this process's ranks brings along. */
static bool make_room(struct quern_roster *roster, int ranks, int here) {
    enum { LINE = sizeof(struct quern_signal_line) };
    const size_t pads = (size_t)here * quern_pad_stride((uint32_t)here) * sizeof *roster->pads;
    const size_t mailboxes = (size_t)here * 2 * QUERN_MAILBOX_BYTES;
    if (roster->ranks) return true;
    roster->pads = aligned_alloc(LINE, quern_round_up(pads, LINE));
    roster->lines = aligned_alloc(LINE, (size_t)here * LINE);
    roster->mailboxes = aligned_alloc(LINE, mailboxes);
    roster->eager_buffers = aligned_alloc(LINE, (size_t)here * 2 * QUERN_EAGER_BYTES);
    if (!roster->pads || !roster->lines || !roster->mailboxes || !roster->eager_buffers) {
        free(roster->pads);
        free(roster->lines);
        free(roster->mailboxes);
        free(roster->eager_buffers);
        roster->pads = NULL, roster->lines = NULL, roster->mailboxes = NULL, roster->eager_buffers = NULL;
        return false;
    }
    memset(roster->mailboxes, 0, mailboxes);
    roster->ranks = ranks;
    roster->here = here;
    roster->view = (struct quern_segment_view){roster->segment, (uint32_t)ranks, (uint32_t)here};
    return true;
}

static void set_up_peer(struct quern_roster *roster, const struct quern_entering *entering) {
    struct quern_peer *peer = &roster->peer[entering->rank];
    const quern_device *device = entering->device;
    peer->is_here = true;
    peer->slot = entering->slot;
    peer->process = roster->self;
    peer->device_kind = (int32_t)device->kind;
    peer->device_ordinal = device->ordinal;
    peer->share_gpu = entering->share_gpu;
    peer->has_fabric = device->has_fabric;
    peer->transports = entering->transports;
    memcpy(peer->device_uuid, device->uuid.bytes, sizeof peer->device_uuid);
}

/* Under the lock. */
static quern_status enter(struct quern_roster *roster, const struct quern_entering *entering, bool *again) {
    const int rank = entering->rank;
    const quern_device *device = entering->device;
    const bool differs = roster->ranks && (roster->ranks != entering->ranks || roster->here != entering->here);
    if (roster->is_complete || differs || roster->peer[rank].is_here || entering->slot >= (uint32_t)entering->here ||
        roster->bytes < quern_segment_bytes((uint32_t)entering->ranks, (uint32_t)entering->here))
        return quern_fail_damaged(device, "the place", rank);
    if (!make_room(roster, entering->ranks, entering->here))
        return quern_fail(device, QUERN_OUT_OF_MEMORY, "no memory for a group");
    if (!lock_rank(roster, entering->name, rank)) {
        *again = errno == ENOENT;
        if (*again) return QUERN_OK;
        if (errno == EAGAIN || errno == EACCES) return quern_fail_damaged(device, "the place", rank);  /* it belongs to a process */
        return quern_fail(device, QUERN_SYSTEM_ERROR, "locking the place of rank %d in /dev/shm%s: %s", rank, entering->name,
                          strerror(errno));
    }
    set_up_peer(roster, entering);
    return QUERN_OK;
}

quern_status quern_enter_roster(struct quern_roster *roster, const struct quern_entering *entering, bool *again) {
    lock_rosters();
    quern_status status = enter(roster, entering, again);
    unlock_rosters();
    return status;
}

/* The number of a slot, written by another process.  An invalid one gives the first slot, until the roster is complete. */
static uint32_t slot_of(const struct quern_roster *roster, int rank) {
    const uint32_t seat = __atomic_load_n(&roster->segment->rank[rank].seat, __ATOMIC_ACQUIRE);
    return seat - 1 < (uint32_t)roster->here ? seat - 1 : 0;
}

struct quern_segment_place *quern_place(const struct quern_roster *roster, int rank) {
    const bool known = roster->is_complete || roster->peer[rank].is_here;
    return quern_segment_place(&roster->view, known ? roster->peer[rank].slot : slot_of(roster, rank));
}

/* ---- completing ---- */

static void read_peer(struct quern_roster *roster, int rank) {
    struct quern_peer *peer = &roster->peer[rank];
    const struct quern_segment_rank *place = &roster->segment->rank[rank];
    peer->process = place->process;
    peer->device_kind = place->device_kind;
    peer->device_ordinal = place->device_ordinal;
    peer->share_gpu = place->share_gpu;
    peer->has_fabric = place->has_fabric;
    peer->transports = place->transports;
    memcpy(peer->device_uuid, place->device_uuid, sizeof peer->device_uuid);
    const uint32_t seat = __atomic_load_n(&place->seat, __ATOMIC_ACQUIRE);  /* only ranks of this host have taken one */
    peer->is_elsewhere = !seat;
    peer->slot = seat ? seat - 1 : 0;
    if (seat) peer->mark = quern_place(roster, rank)->mark;
}

/* Each slot of this host has one rank, unless what other processes' ranks say of theirs is damaged. */
static void fill_slots(struct quern_roster *roster) {
    bool is_taken[QUERN_RANK_LIMIT] = {false};
    int left = roster->here;
    roster->misplaced = -1;
    for (int pass = 0; pass < 2; pass++)  /* this process knows the slots of its own ranks */
        for (int rank = 0; rank < roster->ranks; rank++) {
            struct quern_peer *peer = &roster->peer[rank];
            if (peer->is_elsewhere || peer->is_here != (pass == 0)) continue;
            const bool fits = peer->slot < (uint32_t)roster->here && !is_taken[peer->slot];
            if (!fits) {
                roster->misplaced = rank;
                peer->slot = 0;
                continue;
            }
            is_taken[peer->slot] = true;
            roster->rank_at[peer->slot] = (uint16_t)rank;
            left--;
        }
    if (left && roster->misplaced < 0) roster->misplaced = roster->ranks;
}

/* Where the ranks are.  The leader of this host is its lowest rank. */
static void read_host(struct quern_roster *roster, int rank) {
    const struct quern_segment_rank *place = &roster->segment->rank[rank];
    const int32_t host = place->host;
    roster->peer[rank].host = host < 0 || host >= roster->ranks ? 0 : host;
    roster->peer[rank].address = place->address;
    if (!roster->peer[rank].is_elsewhere && (roster->host_leader < 0 || rank < roster->host_leader)) roster->host_leader = rank;
}

static bool same_process(const struct quern_peer *a, const struct quern_peer *b) {
    return a->is_here == b->is_here && a->host == b->host && memcmp(a->process.id, b->process.id, sizeof a->process.id) == 0;
}

static int find_leader(const struct quern_roster *roster, int rank) {
    int leader = 0;
    while (!same_process(&roster->peer[leader], &roster->peer[rank])) leader++;
    return leader;
}

void quern_write_cores(struct quern_segment_place *place) {
    const struct quern_cpu_quota quota = quern_cpu_quota_of(QUERN_OWN_CONTROL_GROUPS);
    quern_read_cores(&place->cores);
    place->quota = quota.thousandths;
    place->quota_group = quota.number;
}

static int count_cores(const struct quern_roster *roster) {
    struct quern_cores any = {{0}};
    for (int slot = 0; slot < roster->here; slot++)
        for (int word = 0; word < QUERN_CORE_LIMIT / 64; word++)
            any.word[word] |= quern_segment_place(&roster->view, (uint32_t)slot)->cores.word[word];
    return quern_count_cores(&any);
}

/* Whether the quota of the control group of a slot's rank is less than a core for each rank there. */
static bool is_short_of_time(const struct quern_roster *roster, int of) {
    const struct quern_segment_place *place = quern_segment_place(&roster->view, (uint32_t)of);
    int64_t ranks = 0;
    for (int slot = 0; slot < roster->here; slot++)
        ranks += quern_segment_place(&roster->view, (uint32_t)slot)->quota_group == place->quota_group;
    return place->quota < 1000 * ranks;
}

static bool is_crowded(const struct quern_roster *roster) {
    bool crowded = count_cores(roster) < roster->here;
    for (int slot = 0; slot < roster->here; slot++) crowded |= is_short_of_time(roster, slot);
    return crowded;
}

static void clear_pads(struct quern_roster *roster, uint32_t first_epoch) {
    const size_t signals = (size_t)roster->here * quern_pad_stride((uint32_t)roster->here);
    for (size_t i = 0; i < signals; i++) roster->pads[i] = quern_make_signal(first_epoch, 0);
    for (int slot = 0; slot < roster->here; slot++)
        for (int half = 0; half < 2; half++) roster->lines[slot].half[half].signal = quern_make_signal(first_epoch, 0);
}

static void complete(struct quern_roster *roster, uint32_t first_epoch) {
    memcpy(roster->id, roster->segment->id, sizeof roster->id);
    for (int rank = 0; rank < roster->ranks; rank++)
        if (!roster->peer[rank].is_here) read_peer(roster, rank);
    fill_slots(roster);
    const int32_t hosts = roster->segment->hosts;
    roster->hosts = hosts < 1 || hosts > roster->ranks ? 1 : hosts;
    roster->host_leader = -1;
    for (int rank = 0; rank < roster->ranks; rank++) read_host(roster, rank);
    for (int rank = roster->ranks - 1; rank >= 0; rank--) roster->leader_of[roster->peer[rank].host] = (uint16_t)rank;
    for (int rank = 0; rank < roster->ranks; rank++) roster->peer[rank].leader = find_leader(roster, rank);
    clear_pads(roster, first_epoch);
    roster->is_crowded = is_crowded(roster);
    roster->is_complete = true;
}

quern_status quern_complete_roster(const quern_device *device, struct quern_roster *roster, uint32_t first_epoch) {
    lock_rosters();
    if (!roster->is_complete) complete(roster, first_epoch);
    unlock_rosters();
    if (roster->misplaced < 0) return QUERN_OK;
    if (roster->misplaced < roster->ranks) return quern_fail_damaged(device, "the place", roster->misplaced);
    return quern_fail(device, QUERN_PEER_MISMATCH, "a slot of this host has no rank: " QUERN_BY_FOREIGN_PROCESS);
}

/* ---- signals and mailboxes ---- */

static size_t slot_at(const struct quern_roster *roster, int rank) { return roster->peer[rank].slot; }

quern_signal *quern_signal_between(const struct quern_roster *roster, int from, int to) {
    const bool here = roster->peer[from].is_here && roster->peer[to].is_here;
    quern_signal *pad = here ? roster->pads + slot_at(roster, to) * quern_pad_stride(roster->view.here)
                             : quern_segment_pad(&roster->view, roster->peer[to].slot);
    return pad + slot_at(roster, from);
}

struct quern_signal_line *quern_own_line(const struct quern_roster *roster, int rank) {
    return &roster->lines[slot_at(roster, rank)];
}

struct quern_signal_line *quern_shared_line(const struct quern_roster *roster, int rank) {
    return quern_segment_line(&roster->view, roster->peer[rank].slot);
}

unsigned char *quern_own_mailbox(const struct quern_roster *roster, int rank, uint32_t half) {
    return roster->mailboxes + (slot_at(roster, rank) * 2 + half % 2) * QUERN_MAILBOX_BYTES;
}

unsigned char *quern_shared_mailbox(const struct quern_roster *roster, int rank, uint32_t half) {
    return quern_segment_place(&roster->view, roster->peer[rank].slot)->mailbox[half % 2];
}

unsigned char *quern_own_eager(const struct quern_roster *roster, int rank, uint32_t half) {
    return roster->eager_buffers + (slot_at(roster, rank) * 2 + half % 2) * QUERN_EAGER_BYTES;
}

unsigned char *quern_shared_eager(const struct quern_roster *roster, int rank, uint32_t half) {
    return quern_segment_eager(&roster->view, roster->peer[rank].slot, half);
}

static void *find_ring(struct quern_roster *roster, int from, int to, size_t bytes, bool make) {
    if (!roster->rings && make) roster->rings = calloc((size_t)roster->here * (size_t)roster->here, sizeof *roster->rings);
    if (!roster->rings) return NULL;
    void **ring = &roster->rings[slot_at(roster, from) * (size_t)roster->here + slot_at(roster, to)];
    if (!*ring && make && (*ring = aligned_alloc(sizeof(struct quern_signal_line), bytes))) memset(*ring, 0, bytes);
    return *ring;
}

void *quern_own_ring(struct quern_roster *roster, int from, int to, size_t bytes, bool make) {
    lock_rosters();
    void *ring = find_ring(roster, from, to, bytes, make);
    unlock_rosters();
    return ring;
}
