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

#include "os/control_group.h"
#include "os/integers.h"
#include "runtime/status.h"

/* ---- one roster per process and group, so that all threads use the same addresses ---- */

static struct {
    pthread_mutex_t lock;
    struct quern_roster *first;
    struct quern_process own;  /* this process; pid 0: its number is not drawn yet */
} rosters = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void lock_rosters(void) { pthread_mutex_lock(&rosters.lock); }
static void unlock_rosters(void) { pthread_mutex_unlock(&rosters.lock); }

/*
 * A forked child has copies of the descriptors and mappings, with which it would keep the locks of ranks that are its parent.
 * Memory of its own takes the place of the mapping.
 */
static void disown_rosters(void) {
    for (struct quern_roster *roster = rosters.first; roster; roster = roster->next) {
        if (roster->is_inherited) continue;
        mmap(roster->segment, roster->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        close(roster->descriptor);
        roster->is_inherited = true;
    }
    rosters.own.pid = 0;
    unlock_rosters();
}

static void watch_forks(void) { pthread_atfork(lock_rosters, unlock_rosters, disown_rosters); }

static struct quern_roster *find_roster(const struct stat *file) {
    for (struct quern_roster *roster = rosters.first; roster; roster = roster->next)
        if (!roster->is_inherited && roster->device == file->st_dev && roster->inode == file->st_ino) return roster;
    return NULL;
}

static void free_roster(struct quern_roster *roster) {
    if (!roster->is_inherited && roster->descriptor >= 0) close(roster->descriptor);
    if (roster->segment != MAP_FAILED) munmap(roster->segment, roster->bytes);
    free(roster->pads);
    free(roster->lines);
    free(roster->mailboxes);
    free(roster->briefs);
    for (int lane = 0; roster->lanes && lane < roster->here * roster->here; lane++) free(roster->lanes[lane]);
    free(roster->lanes);
    free(roster);
}

/* One number for all groups, so that ranks of two groups are known to be of one process. */
static bool know_self(struct quern_process *self) {
    const int32_t pid = (int32_t)getpid();
    if (rosters.own.pid != pid && getrandom(rosters.own.id, sizeof rosters.own.id, 0) != sizeof rosters.own.id) return false;
    rosters.own.pid = pid;
    *self = rosters.own;
    return true;
}

static struct quern_roster *make_roster(int descriptor, const struct stat *file) {
    struct quern_roster *roster = calloc(1, sizeof *roster);
    if (!roster) return NULL;
    roster->device = file->st_dev;
    roster->inode = file->st_ino;
    roster->bytes = (size_t)file->st_size;
    roster->segment = mmap(NULL, roster->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (roster->segment == MAP_FAILED || !know_self(&roster->self)) {
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

static bool lock_rank(const struct quern_roster *roster, int rank) {
    struct flock lock = lock_of(rank, F_WRLCK);
    return fcntl(roster->descriptor, F_OFD_SETLK, &lock) == 0;
}

void quern_leave_roster(const struct quern_roster *roster, int rank) {
    struct flock lock = lock_of(rank, F_UNLCK);
    fcntl(roster->descriptor, F_OFD_SETLK, &lock);
}

/* A rank of another host lives as long as that host's leader says so. */
static bool lives_elsewhere(const struct quern_roster *roster, int rank) {
    return __atomic_load_n(&roster->segment->rank[rank].state, __ATOMIC_ACQUIRE) != QUERN_RANK_ENDED;
}

bool quern_rank_lives(const struct quern_roster *roster, int rank) {
    if (roster->peer[rank].is_elsewhere) return lives_elsewhere(roster, rank);
    struct flock lock = lock_of(rank, F_WRLCK);
    return roster->peer[rank].is_here || fcntl(roster->descriptor, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

bool quern_rank_has_gone(const struct quern_roster *roster, int rank) {
    return !quern_rank_lives(roster, rank) ||
           __atomic_load_n(&roster->segment->rank[rank].state, __ATOMIC_ACQUIRE) == QUERN_RANK_LEFT;
}

/* ---- entering ---- */

quern_status quern_fail_damaged(const quern_device *device, const char *what, int rank) {
    return quern_fail(device, QUERN_PEER_MISMATCH, "%s of rank %d is damaged: " QUERN_BY_STRANGER, what, rank);
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
    roster->briefs = aligned_alloc(LINE, (size_t)here * 2 * QUERN_BRIEF_BYTES);
    if (!roster->pads || !roster->lines || !roster->mailboxes || !roster->briefs) {
        free(roster->pads);
        free(roster->lines);
        free(roster->mailboxes);
        free(roster->briefs);
        roster->pads = NULL, roster->lines = NULL, roster->mailboxes = NULL, roster->briefs = NULL;
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
    peer->ways = entering->ways;
    memcpy(peer->device_uuid, device->uuid.bytes, sizeof peer->device_uuid);
}

/* Under the lock. */
static quern_status enter(struct quern_roster *roster, const struct quern_entering *entering) {
    const int rank = entering->rank;
    const quern_device *device = entering->device;
    const bool differs = roster->ranks && (roster->ranks != entering->ranks || roster->here != entering->here);
    if (roster->is_complete || differs || roster->peer[rank].is_here || entering->slot >= (uint32_t)entering->here ||
        roster->bytes < quern_segment_bytes((uint32_t)entering->ranks, (uint32_t)entering->here))
        return quern_fail_damaged(device, "the place", rank);
    if (!make_room(roster, entering->ranks, entering->here))
        return quern_fail(device, QUERN_OUT_OF_MEMORY, "no memory for a group");
    if (!lock_rank(roster, rank)) {
        if (errno == EAGAIN || errno == EACCES) return quern_fail_damaged(device, "the place", rank);  /* it belongs to a process */
        return quern_fail(device, QUERN_SYSTEM_ERROR, "locking the place of rank %d: %s", rank, strerror(errno));
    }
    set_up_peer(roster, entering);
    return QUERN_OK;
}

quern_status quern_enter_roster(struct quern_roster *roster, const struct quern_entering *entering) {
    lock_rosters();
    quern_status status = enter(roster, entering);
    unlock_rosters();
    return status;
}

/* A number of a slot that another process has written.  What is none leads to the first place, until the roster is complete. */
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
    peer->ways = place->ways;
    memcpy(peer->device_uuid, place->device_uuid, sizeof peer->device_uuid);
    const uint32_t seat = __atomic_load_n(&place->seat, __ATOMIC_ACQUIRE);  /* only ranks of this host have taken one */
    peer->is_elsewhere = !seat;
    peer->slot = seat ? seat - 1 : 0;
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
    return quern_fail(device, QUERN_PEER_MISMATCH, "a slot of this host has no rank: " QUERN_BY_STRANGER);
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

unsigned char *quern_own_brief(const struct quern_roster *roster, int rank, uint32_t half) {
    return roster->briefs + (slot_at(roster, rank) * 2 + half % 2) * QUERN_BRIEF_BYTES;
}

unsigned char *quern_shared_brief(const struct quern_roster *roster, int rank, uint32_t half) {
    return quern_segment_brief(&roster->view, roster->peer[rank].slot, half);
}

static void *find_lane(struct quern_roster *roster, int from, int to, size_t bytes, bool make) {
    if (!roster->lanes && make) roster->lanes = calloc((size_t)roster->here * (size_t)roster->here, sizeof *roster->lanes);
    if (!roster->lanes) return NULL;
    void **lane = &roster->lanes[slot_at(roster, from) * (size_t)roster->here + slot_at(roster, to)];
    if (!*lane && make && (*lane = aligned_alloc(sizeof(struct quern_signal_line), bytes))) memset(*lane, 0, bytes);
    return *lane;
}

void *quern_own_lane(struct quern_roster *roster, int from, int to, size_t bytes, bool make) {
    lock_rosters();
    void *lane = find_lane(roster, from, to, bytes, make);
    unlock_rosters();
    return lane;
}
