/*
 * The ranks of a group meet in a file of POSIX shared memory, under a name that the engine chose.
 *
 * The first rank makes the file, each rank claims its place in it, and the last one removes the name and marks the segment ready.
 * A rank that gives up marks it refused.  The first mark stands, so that either all ranks have the group or none.
 * Every joining process holds a shared lock on the file, which the system releases when the process ends.  An unlocked file is a
 * remnant of a run that died.  It is replaced.  The roster keeps the file open, and so the locks by which ranks are known to live.
 *
 * Called when a group is created or split.  Checked by tests/model/rendezvous.pml.
 */
#define _GNU_SOURCE
#include "ranks/rendezvous.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../generated/layout.h"
#include "os/clock.h"
#include "os/descriptor.h"
#include "os/file_size.h"
#include "os/futex.h"
#include "ranks/points.h"
#include "ranks/poison.h"
#include "runtime/status.h"

static const uint64_t MAGIC = 0x70756f7267726e71;  /* "qnrgroup" in memory; written after everything else */
static const char FOLDER[] = "/dev/shm";
static const int64_t SLICE = 50000000;             /* nanoseconds between two checks of the other ranks */

/* ---- making or finding the file ---- */

struct joining {
    struct quern_veto veto;
    struct quern_membership *const *members;
    int count;
    const char *called;  /* the group, by the engine */
    uint64_t job;
    char name[256];      /* of the file; begins with a slash */
    int descriptor;      /* of the file, locked; -1: none yet */
    struct quern_roster *roster;  /* NULL: none yet */
    struct quern_segment *segment;  /* the roster's */
    int64_t began, limit;
    bool again;          /* the file that was found is about to be removed: begin again */
    int32_t taker;       /* the process that has this rank's place, which may be ending; 0: none */
};

static bool is_in_time(const struct joining *joining) { return quern_now() - joining->began < joining->limit; }

static const struct quern_device *device_of(const struct joining *joining) { return joining->members[0]->device; }

static quern_status fail_system(const struct joining *joining, const char *what) {
    return quern_fail(device_of(joining), errno == ENOMEM ? QUERN_OUT_OF_MEMORY : QUERN_SYSTEM_ERROR, "%s of /dev/shm%s: %s", what,
                      joining->name, strerror(errno));
}

/* The roster may have the descriptor. */
static void close_descriptor(struct joining *joining) {
    const bool is_roster = joining->roster && joining->roster->descriptor == joining->descriptor;
    if (joining->descriptor >= 0 && !is_roster) close(joining->descriptor);
    joining->descriptor = -1;
}

static void let_go(struct joining *joining) {
    close_descriptor(joining);
    if (joining->roster) quern_release_roster(joining->roster);
    joining->roster = NULL;
    joining->segment = NULL;
}

static bool map_file(struct joining *joining, const struct stat *file) {
    joining->roster = quern_open_roster(joining->descriptor, file);
    joining->segment = joining->roster ? joining->roster->segment : NULL;
    return joining->roster;
}

/* Opens nothing: the name is removed, too, where no descriptor is left. */
static bool name_is_ours(const struct joining *joining) {
    struct stat named, held;
    char path[sizeof joining->name + sizeof FOLDER];
    struct quern_text text = quern_text_begin(path, sizeof path);
    quern_text_add(&text, "%s%s", FOLDER, joining->name);
    const bool same = lstat(path, &named) == 0 && fstat(joining->descriptor, &held) == 0 && named.st_dev == held.st_dev &&
                      named.st_ino == held.st_ino;
    QUERN_POINT(FORM_NAME_COMPARED);
    return same;
}

/*
 * Removes the name if it still belongs to this file.  A lock lets one rank at a time do so: between the check of one rank and its
 * removal, another could remove the name and a new group could take it.  The system releases this lock, too, when the process ends.
 * No rank waits for a stopped holder; the name is then left to the creator of the next group.
 */
static void remove_name(const struct joining *joining) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = QUERN_NAME_BYTE, .l_len = 1};
    for (int attempt = 0; fcntl(joining->descriptor, F_OFD_SETLK, &lock) != 0; attempt++) {
        if (attempt == 100) return;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    if (name_is_ours(joining)) shm_unlink(joining->name);
    lock.l_type = F_UNLCK;
    fcntl(joining->descriptor, F_OFD_SETLK, &lock);
}

static void fill_segment(struct quern_segment *segment, const struct joining *joining, const unsigned char id[16]) {
    const struct quern_membership *member = joining->members[0];
    const struct quern_segment_view view = {segment, (uint32_t)member->ranks, (uint32_t)member->here};
    segment->layout = QUERN_SEGMENT_LAYOUT;
    segment->ranks = view.ranks;
    segment->first_epoch = member->first_epoch;
    segment->here = view.here;
    segment->hosts = 1;
    segment->state = QUERN_SEGMENT_FORMING;
    memcpy(segment->id, id, sizeof segment->id);
    for (uint32_t to = 0; to < view.here; to++)
        for (uint32_t from = 0; from < view.here; from++)
            quern_segment_pad(&view, to)[from] = quern_make_signal(member->first_epoch, 0);
    for (uint32_t slot = 0; slot < view.here; slot++)
        for (int half = 0; half < 2; half++)
            quern_segment_line(&view, slot)->half[half].signal = quern_make_signal(member->first_epoch, 0);
    __atomic_store_n(&segment->magic, MAGIC, __ATOMIC_RELEASE);
}

/* Whether a file is so new that its maker may not have locked it yet. */
static bool is_being_made(const struct stat *file) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return file->st_size == 0 && now.tv_sec - file->st_ctim.tv_sec <= 1 && now.tv_sec >= file->st_ctim.tv_sec;
}

/*
 * Whether a file of this name is of another attempt, quern.USER.JOB.NAME with another number of a job, or of a group that was made
 * of another one, whose name has a random number.
 */
static bool is_for_once(const struct joining *joining, const char *file) {
    char prefix[32];
    struct quern_text text = quern_text_begin(prefix, sizeof prefix);
    quern_text_add(&text, "quern.%u.", (unsigned)geteuid());
    if (strncmp(file, prefix, text.length) != 0 || strcmp(file, joining->name + 1) == 0) return false;
    const char *job = file + text.length, *name = job + strspn(job, "0123456789");
    if (name == job || *name++ != '.') return false;
    return (joining->job && strcmp(name, joining->called) == 0) || strncmp(name, QUERN_SPLIT, sizeof QUERN_SPLIT - 1) == 0 ||
           strncmp(name, QUERN_SHRINK, sizeof QUERN_SHRINK - 1) == 0;
}

/* Removes what groups have left whose processes have died.  No later group has their names. */
static void remove_remnants(const struct joining *joining) {
    DIR *directory = quern_open_directory(FOLDER);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        struct joining other = {0};
        struct stat file;
        if (!is_for_once(joining, entry->d_name)) continue;
        struct quern_text text = quern_text_begin(other.name, sizeof other.name);
        quern_text_add(&text, "/%s", entry->d_name);
        other.descriptor = quern_above_two(shm_open(other.name, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0));
        if (other.descriptor < 0) continue;
        if (fstat(other.descriptor, &file) == 0 && file.st_uid == geteuid() && !is_being_made(&file) &&
            flock(other.descriptor, LOCK_EX | LOCK_NB) == 0)
            remove_name(&other);
        close(other.descriptor);
    }
    if (directory) closedir(directory);
}

/* Reserves the memory now: a full /dev/shm would otherwise be a signal at the first write, not a status. */
static quern_status make_file(struct joining *joining) {
    struct stat file;
    unsigned char id[16];
    QUERN_POINT(FORM_MADE);
    fchmod(joining->descriptor, 0600);
    joining->again = flock(joining->descriptor, LOCK_SH | LOCK_NB) != 0;  /* another rank takes it for a remnant and removes it */
    if (joining->again) return QUERN_OK;
    const struct quern_membership *member = joining->members[0];
    const uint64_t bytes = quern_segment_bytes((uint32_t)member->ranks, (uint32_t)member->here);
    if (quern_reserve_file_size(joining->descriptor, (int64_t)bytes) &&
        fstat(joining->descriptor, &file) == 0 && getrandom(id, sizeof id, 0) == sizeof id)
        map_file(joining, &file);
    if (!joining->segment) {
        quern_status status = fail_system(joining, "making the file");
        remove_name(joining);
        return status;
    }
    joining->again = file.st_nlink == 0;  /* another rank took it for a remnant and has removed it */
    if (!joining->again) fill_segment(joining->segment, joining, id);
    if (!joining->again) remove_remnants(joining);
    QUERN_POINT(FORM_FILLED);
    return QUERN_OK;
}

/* Whether the file belongs to this user, and no other user may open it. */
static quern_status check_owner(const struct joining *joining, const struct stat *file) {
    if (file->st_uid != geteuid())
        return quern_fail(device_of(joining), QUERN_SYSTEM_ERROR, "/dev/shm%s belongs to user %u: expected %u, this process's",
                          joining->name, (unsigned)file->st_uid, (unsigned)geteuid());
    if (file->st_mode & 077)
        return quern_fail(device_of(joining), QUERN_SYSTEM_ERROR,
                          "/dev/shm%s may be used by others than its owner: expected permissions 0600", joining->name);
    return QUERN_OK;
}

static uint32_t state_of(const struct quern_segment *segment) { return __atomic_load_n(&segment->state, __ATOMIC_ACQUIRE); }

/* Whether all ranks have joined.  A rank that ends after that is not missing. */
static bool is_ready(const struct quern_segment *segment) { return state_of(segment) == QUERN_SEGMENT_READY; }

/* Decides once for all ranks whether the group is ready or refused.  Returns the decision, which another rank may have made. */
static uint32_t decide(struct quern_segment *segment, enum quern_segment_state decision) {
    uint32_t state = QUERN_SEGMENT_FORMING;
    bool first = __atomic_compare_exchange_n(&segment->state, &state, decision, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    return first ? decision : state;
}

/* Joins a file that was found, waits for it to be usable, or removes it if its makers have died. */
static quern_status join_file(struct joining *joining) {
    struct stat file;
    QUERN_POINT(FORM_OPENED);
    if (fstat(joining->descriptor, &file) != 0) return fail_system(joining, "looking at the file");
    quern_status status = check_owner(joining, &file);
    if (status != QUERN_OK) return status;
    joining->again = true;
    if (is_being_made(&file)) return QUERN_OK;
    if (flock(joining->descriptor, LOCK_EX | LOCK_NB) == 0) {
        remove_name(joining);
        return QUERN_OK;
    }
    if (flock(joining->descriptor, LOCK_SH | LOCK_NB) != 0 || fstat(joining->descriptor, &file) != 0 || file.st_nlink == 0 ||
        file.st_size < (off_t)sizeof(struct quern_segment))
        return QUERN_OK;
    if (!map_file(joining, &file)) return fail_system(joining, "mapping the file");
    joining->again = __atomic_load_n(&joining->segment->magic, __ATOMIC_ACQUIRE) != MAGIC ||
                     __atomic_load_n(&joining->segment->poison, __ATOMIC_ACQUIRE) ||
                     state_of(joining->segment) != QUERN_SEGMENT_FORMING;
    QUERN_POINT(FORM_LOOKED);
    return QUERN_OK;
}

static quern_status open_file(struct joining *joining) {
    joining->again = false;
    joining->taker = 0;
    joining->descriptor = quern_above_two(shm_open(joining->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (joining->descriptor >= 0) return make_file(joining);
    if (errno != EEXIST) return fail_system(joining, "making the file");
    QUERN_POINT(FORM_FOUND);
    joining->descriptor = quern_above_two(shm_open(joining->name, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0));
    if (joining->descriptor >= 0) return join_file(joining);
    joining->again = errno == ENOENT;
    return joining->again ? QUERN_OK : fail_system(joining, "opening the file");
}

/* ---- claiming the places ---- */

/* Refuses a group that will never be complete.  False: it has just become complete. */
static bool refuse(const struct joining *joining) {
    QUERN_POINT(FORM_REFUSING);
    bool refused = decide(joining->segment, QUERN_SEGMENT_REFUSED) != QUERN_SEGMENT_READY;
    QUERN_POINT(FORM_REFUSED);
    return refused;
}

/* A rank that has its place ends the group for all ranks.  QUERN_OK: it has just become complete. */
static quern_status refuse_with(const struct joining *joining, quern_status status, const char *reason) {
    if (!refuse(joining)) return QUERN_OK;
    status = quern_poison(joining->members[0], status, "%s", reason);
    remove_name(joining);
    return status;
}

/* A rank has ended, says one that may have no place yet.  False: the group has just become complete. */
static bool refuse_lost(const struct joining *joining, int rank) {
    if (!refuse(joining)) return false;
    quern_poison_by_end(joining->segment, rank);
    remove_name(joining);
    return true;
}

/* Whether the segment is for the group that this rank wants.  If not, only its head is written, which may be all of it. */
static quern_status check_header(struct joining *joining) {
    const struct quern_membership *member = joining->members[0];
    const uint32_t layout = __atomic_load_n(&joining->segment->layout, __ATOMIC_RELAXED);
    const uint32_t ranks = __atomic_load_n(&joining->segment->ranks, __ATOMIC_RELAXED);
    const uint32_t first_epoch = __atomic_load_n(&joining->segment->first_epoch, __ATOMIC_RELAXED);
    const uint32_t here = __atomic_load_n(&joining->segment->here, __ATOMIC_RELAXED);
    const bool same_ranks = ranks == (uint32_t)member->ranks, same_epoch = first_epoch == member->first_epoch;
    const bool same_here = here == (uint32_t)member->here;
    if (layout != QUERN_SEGMENT_LAYOUT)
        return quern_fail(member->device, QUERN_PEER_MISMATCH, "group %s is being formed by another version of Quern",
                          joining->called);
    const uint64_t bytes = quern_segment_bytes((uint32_t)member->ranks, (uint32_t)member->here);
    if (same_ranks && same_here && joining->roster->bytes < bytes)
        return quern_fail(member->device, QUERN_PEER_MISMATCH, "/dev/shm%s has %zu bytes: expected at least %llu for %u ranks",
                          joining->name, joining->roster->bytes, (unsigned long long)bytes, ranks);
    if (same_ranks && same_epoch && same_here) return QUERN_OK;
    joining->again = !refuse(joining);  /* the group has just become complete, so the name is free */
    if (joining->again) return QUERN_OK;
    if (!same_ranks)
        quern_poison_by_ranks(joining->segment, member->rank, member->ranks);
    else if (!same_epoch)
        quern_poison_by_epoch(joining->segment, member->rank);
    else
        quern_poison_by_host_ranks(joining->segment, member->rank, member->here);
    remove_name(joining);
    if (same_ranks && same_epoch)
        return quern_fail(member->device, QUERN_PEER_MISMATCH,
                          "%s: the group is being formed with %u ranks of this host, and rank %d "
                          "expects %d",
                          member->label, here, member->rank, member->here);
    if (same_ranks)
        return quern_fail(member->device, QUERN_PEER_MISMATCH, "%s: the group's first_epoch is %u, and that of rank %d is %u",
                          member->label, first_epoch, member->rank, member->first_epoch);
    return quern_fail(member->device, QUERN_PEER_MISMATCH, "%s: the group is being formed with %u ranks, and rank %d expects %d",
                      member->label, ranks, member->rank, member->ranks);
}

static void describe_device(struct quern_segment_rank *place, const struct quern_membership *member) {
    const quern_device *device = member->device;
    place->device_kind = (int32_t)device->kind;
    place->device_ordinal = device->ordinal;
    place->share_gpu = member->share_gpu;
    place->has_fabric = device->has_fabric;
    place->transports = member->transports;
    place->failure_timeout = member->failure_timeout;
    memcpy(place->device_uuid, device->uuid.bytes, sizeof device->uuid.bytes);
}

/* Tries to claim a place.  Returns its former state; ABSENT: it belongs to this rank now. */
static uint32_t claim(struct quern_segment_rank *place) {
    uint32_t state = QUERN_RANK_ABSENT;
    __atomic_compare_exchange_n(&place->state, &state, QUERN_RANK_CLAIMED, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    return state;
}

static quern_status fail_taken(const struct joining *joining, const struct quern_membership *member, int32_t taker) {
    return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "rank %d of group %s has been taken by process %d", member->rank,
                      joining->called, taker);
}

/* Another process has the place, or had it and has died.  It may be about to end, unless it is this one. */
static quern_status give_way(struct joining *joining, const struct quern_membership *member, uint32_t state) {
    if (state == QUERN_RANK_CLAIMED)
        return quern_fail(member->device, QUERN_PEER_TIMEOUT,
                          "rank %d of group %s is being claimed by a process that makes no progress",
                          member->rank, joining->called);
    const int32_t taker = joining->segment->rank[member->rank].process.pid;
    joining->again = state == QUERN_RANK_JOINED &&
                     (!quern_rank_lives(joining->roster, member->rank) || is_ready(joining->segment));
    if (joining->again) {
        refuse_lost(joining, member->rank);
        return QUERN_OK;
    }
    const bool may_wait = state == QUERN_RANK_JOINED && joining->roster->ranks == 0 && member == joining->members[0];
    if (!may_wait) return fail_taken(joining, member, taker);
    joining->again = true;
    joining->taker = taker;
    return QUERN_OK;
}

/* In a group of one host the slot is the rank.  Else ranks come in any order, and only their number is known. */
static quern_status take_slot(const struct joining *joining, const struct quern_membership *member,
                              struct quern_segment_rank *place, uint32_t *slot) {
    uint32_t seat = __atomic_load_n(&place->seat, __ATOMIC_ACQUIRE);
    if (member->here == member->ranks) seat = (uint32_t)member->rank + 1;
    else if (!seat) seat = __atomic_add_fetch(&joining->segment->seated, 1, __ATOMIC_ACQ_REL);
    *slot = seat - 1;
    if (*slot < (uint32_t)member->here) {
        __atomic_store_n(&place->seat, seat, __ATOMIC_RELEASE);
        return QUERN_OK;
    }
    return quern_fail(member->device, QUERN_PEER_MISMATCH, "%s: host_ranks is %d, and so many other ranks of this host have come",
                      member->label, member->here);
}

/* The place is this rank's: fills it in. */
static quern_status fill_place(struct joining *joining, struct quern_membership *member, struct quern_segment_rank *place) {
    struct quern_entering entering = {.name = joining->name, .rank = member->rank, .ranks = member->ranks, .here = member->here,
                                      .device = member->device, .share_gpu = member->share_gpu, .transports = member->transports};
    quern_status status = take_slot(joining, member, place, &entering.slot);
    if (status == QUERN_OK) status = quern_enter_roster(joining->roster, &entering, &joining->again);
    if (status == QUERN_OK && joining->again) {  /* whoever has refused the group has said why, before the name was removed */
        member->roster = joining->roster;
        member->segment = joining->segment;
        status = quern_check_poison(member);
    }
    if (status != QUERN_OK || joining->again) {
        __atomic_store_n(&place->state, QUERN_RANK_ABSENT, __ATOMIC_RELEASE);
        return status;
    }
    place->process = joining->roster->self;
    describe_device(place, member);
    quern_place(joining->roster, member->rank)->mark = joining->roster->own_mark;
    quern_write_cores(quern_place(joining->roster, member->rank));
    __atomic_store_n(&place->tag, (uint32_t)QUERN_IN_CREATE << 24, __ATOMIC_RELAXED);
    member->roster = joining->roster;
    member->segment = joining->segment;
    __atomic_store_n(&place->state, QUERN_RANK_JOINED, __ATOMIC_RELEASE);
    QUERN_POINT(FORM_SEATED);
    return QUERN_OK;
}

static void declare_ready(const struct joining *joining) {
    QUERN_POINT(FORM_COMPLETE);
    remove_name(joining);  /* before any rank returns, so that the name is free for the next group */
    QUERN_POINT(FORM_NAME_REMOVED);
    decide(joining->segment, QUERN_SEGMENT_READY);
    QUERN_POINT(FORM_READY);
    quern_futex_wake(&joining->segment->state);
}

static quern_status take_place(struct joining *joining, struct quern_membership *member) {
    struct quern_segment_rank *place = &joining->segment->rank[member->rank];
    uint32_t state = claim(place);
    while (state == QUERN_RANK_CLAIMED && is_in_time(joining)) {  /* its owner is about to write its process, or died before that */
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        state = claim(place);
    }
    if (state != QUERN_RANK_ABSENT) return give_way(joining, member, state);
    QUERN_POINT(FORM_CLAIMED);
    quern_status status = fill_place(joining, member, place);
    if (status != QUERN_OK || joining->again) return status;
    if (__atomic_add_fetch(&joining->segment->joined, 1, __ATOMIC_ACQ_REL) == (uint32_t)member->here) declare_ready(joining);
    return QUERN_OK;
}

/* ---- waiting for the other ranks ---- */

/* The next rank in cyclic order that has joined from another process; this rank itself if no other has. */
static int find_next_joined(const struct quern_membership *member) {
    int next = member->rank;
    do next = (next + 1) % member->ranks;
    while (next != member->rank &&
           (__atomic_load_n(&member->segment->rank[next].state, __ATOMIC_ACQUIRE) != QUERN_RANK_JOINED ||
            member->roster->peer[next].is_here));
    return next;
}

/* Each rank checks only its successor, so that every rank is checked once.  Checking all would take all the time of 128 ranks. */
static quern_status check_joined(struct joining *joining) {
    for (int i = 0; i < joining->count; i++) {
        const struct quern_membership *member = joining->members[i];
        const int next = find_next_joined(member);
        const bool gone = next != member->rank && !quern_rank_lives(joining->roster, next);
        if (gone && refuse_lost(joining, next)) return quern_check_poison(member);
    }
    return QUERN_OK;
}

static uint32_t joining_joined(const struct joining *joining) {
    return __atomic_load_n(&joining->segment->joined, __ATOMIC_ACQUIRE);
}

static quern_status expire(struct joining *joining) {
    char reason[400];
    QUERN_POINT(FORM_EXPIRING);
    struct quern_text text = quern_text_begin(reason, sizeof reason);
    quern_text_add(&text, "quern_group_create waited %g s for", quern_seconds(quern_now() - joining->began));
    const struct quern_membership *member = joining->members[0];
    const int missing = member->here - (int)joining_joined(joining);  /* of this host */
    int listed = 0, more = 0;
    for (int rank = 0; rank < member->ranks && missing; rank++) {
        if (__atomic_load_n(&joining->segment->rank[rank].state, __ATOMIC_ACQUIRE) == QUERN_RANK_JOINED) continue;
        if (listed < 16) quern_text_add(&text, "%s rank %d", listed++ ? "," : "", quern_told_rank(member, rank));
        else more++;
    }
    if (more) quern_text_add(&text, " and %d more", more);
    if (missing && member->here < member->ranks)  /* which of them are of this host is not known */
        quern_text_add(&text, ", of which %d are of this host", missing);
    if (!listed) quern_text_add(&text, " the last rank to say that all have joined");
    return refuse_with(joining, QUERN_PEER_TIMEOUT, reason);
}

static quern_status ask_veto(const struct joining *joining) {
    return joining->veto.ask ? joining->veto.ask(joining->veto.user) : QUERN_OK;
}

static quern_status check_veto(struct joining *joining) {
    char reason[QUERN_POISON_TEXT_BYTES];
    quern_status status = ask_veto(joining);
    if (status == QUERN_OK) return QUERN_OK;
    quern_error_detail(reason, sizeof reason);
    return refuse_with(joining, status, reason);
}

static quern_status await_others(struct joining *joining) {
    struct quern_segment *segment = joining->segment;
    quern_status status = QUERN_OK;
    for (;;) {
        uint32_t state = state_of(segment);
        if (state == QUERN_SEGMENT_READY) return QUERN_OK;
        status = quern_check_poison(joining->members[0]);
        if (status == QUERN_OK) status = check_veto(joining);
        if (status == QUERN_OK) status = check_joined(joining);
        int64_t left = joining->limit - (quern_now() - joining->began);
        if (status == QUERN_OK && left <= 0) status = expire(joining);
        if (status != QUERN_OK) break;
        QUERN_POINT(FORM_AWAITING);
        quern_futex_wait(&segment->state, state, left < SLICE ? left : SLICE);
    }
    remove_name(joining);
    return status;
}

/* ---- the rendezvous ---- */

/* Some ranks of this thread have their places and another failed: no other rank must wait for this thread. */
static quern_status give_up_places(struct joining *joining, quern_status status) {
    char reason[QUERN_POISON_TEXT_BYTES];
    quern_error_detail(reason, sizeof reason);
    decide(joining->segment, QUERN_SEGMENT_REFUSED);
    status = quern_poison(joining->members[0], status, "%s", reason);
    remove_name(joining);
    return status;
}

/* Opens the file and claims the places.  Sets `again` if the file is about to be removed. */
static quern_status enter(struct joining *joining) {
    int taken = 0;
    quern_status status = open_file(joining);
    if (status == QUERN_OK && !joining->again) status = check_header(joining);
    while (status == QUERN_OK && !joining->again && taken < joining->count) {
        status = take_place(joining, joining->members[taken]);
        taken += status == QUERN_OK && !joining->again;
    }
    return status == QUERN_OK || taken == 0 ? status : give_up_places(joining, status);
}

/* Whether the ranks of each host are of one process, or each of a process of its own: the same on all ranks. */
static bool has_eager(const struct quern_roster *roster) {
    uint16_t ranks[QUERN_GROUP_LIMIT] = {0}, processes[QUERN_GROUP_LIMIT] = {0};
    bool has = true;
    for (int rank = 0; rank < roster->ranks; rank++) {
        ranks[roster->peer[rank].host]++;
        processes[roster->peer[rank].host] += roster->peer[rank].leader == rank;
    }
    for (int host = 0; host < roster->hosts; host++) has &= processes[host] == 1 || processes[host] == ranks[host];
    return has;
}

static void seat_member(struct quern_membership *member) {
    const struct quern_roster *roster = member->roster;
    member->one_process = true;
    member->has_eager = has_eager(roster);
    for (int peer = 0; peer < member->ranks; peer++) {
        const bool here = roster->peer[peer].is_here;
        const uint32_t slot = roster->peer[peer].slot;
        if (roster->peer[peer].is_elsewhere) continue;
        member->one_process &= here;
        member->from[slot] = quern_signal_between(roster, peer, member->rank);
        member->to[slot] = quern_signal_between(roster, member->rank, peer);
        member->line_of[slot] = (here ? quern_own_line : quern_shared_line)(roster, peer);
        if (peer != member->rank) member->own_line[!here] = (here ? quern_own_line : quern_shared_line)(roster, member->rank);
    }
}

quern_status quern_seat_members(struct quern_membership *const *members, int count) {
    quern_status status = quern_complete_roster(members[0]->device, members[0]->roster, members[0]->first_epoch);
    for (int i = 0; i < count && status == QUERN_OK; i++) seat_member(members[i]);
    return status;
}

/* The others have the group, or are about to have it: they learn why this thread has not. */
static quern_status give_up_seats(const struct joining *joining, quern_status status) {
    char reason[QUERN_POISON_TEXT_BYTES];
    quern_error_detail(reason, sizeof reason);
    return quern_poison(joining->members[0], status, "%s", reason);
}

/* Every rank of the thread has the roster, which it releases by itself. */
static quern_status hand_out(const struct joining *joining) {
    quern_status status = joining->members[0]->control ? QUERN_OK : quern_seat_members(joining->members, joining->count);
    if (status != QUERN_OK) return give_up_seats(joining, status);
    quern_keep_roster(joining->roster, joining->count - 1);
    return QUERN_OK;
}

static quern_status give_up_entering(const struct joining *joining) {
    const struct quern_membership *member = joining->members[0];
    if (joining->taker) return fail_taken(joining, member, joining->taker);
    return quern_fail(member->device, QUERN_PEER_TIMEOUT, "%s: /dev/shm%s is being made by a process that makes no progress",
                      member->label, joining->name);
}

quern_status quern_rendezvous(const char *name, uint64_t job, struct quern_veto veto,
                              struct quern_membership *const *members, int count) {
    double seconds = members[0]->timeout;
    struct joining joining = {.called = name, .job = job, .veto = veto, .members = members, .count = count, .descriptor = -1,
                              .began = quern_now(), .limit = seconds < 9e9 ? (int64_t)(seconds * 1e9) : INT64_MAX / 2};
    struct quern_text text = quern_text_begin(joining.name, sizeof joining.name);
    quern_text_add(&text, "/quern.%u.%llu.%s", (unsigned)geteuid(), (unsigned long long)job, name);
    quern_status status = enter(&joining);
    while (status == QUERN_OK && joining.again && is_in_time(&joining)) {
        let_go(&joining);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        status = ask_veto(&joining);
        if (status == QUERN_OK) status = enter(&joining);
    }
    if (status == QUERN_OK && joining.again) status = give_up_entering(&joining);
    if (status == QUERN_OK) status = await_others(&joining);
    if (status == QUERN_OK) {
        QUERN_POINT(FORM_JOINED);
        status = hand_out(&joining);
    }
    if (status == QUERN_OK) {
        close_descriptor(&joining);
        return QUERN_OK;
    }
    /* Others that have come may still form the group.  If there are none, nobody needs the name. */
    if (joining.roster && flock(joining.descriptor, LOCK_EX | LOCK_NB) == 0) remove_name(&joining);
    let_go(&joining);
    for (int i = 0; i < count; i++) members[i]->roster = NULL;
    return status;
}
