/* Reads other processes' memory by process_vm_readv.  Called by collective_host.c and collective_rounds.c. */
#define _GNU_SOURCE
#include "ranks/collective/collective.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

#include "os/integers.h"
#include "os/thread_id.h"
#include "ranks/points.h"
#include "ranks/poison.h"
#include "runtime/threads.h"

enum { PIECE = 1 << 18, ID_BYTES = sizeof(((struct quern_process *)0)->id) };

/* ---- who can be read ---- */

/*
 * Returns 0, or why not: an error of the system, EIO if a part of the memory is missing, ESRCH if it is another process's.  The
 * system takes both from one process.
 */
static int read_from(const struct quern_roster *roster, int rank, const struct quern_sight *sight, void *to, uintptr_t from,
                     size_t bytes) {
    unsigned char id[ID_BYTES];
    const struct iovec here[] = {{to, bytes}, {id, sizeof id}};
    const struct iovec there[] = {{(void *)from, bytes}, {(void *)(uintptr_t)sight->id, sizeof id}};
    const ssize_t got = process_vm_readv(sight->pid, here, 2, there, 2, 0);
    if (got < 0) return errno;
    if ((size_t)got != bytes + sizeof id) return EIO;
    return memcmp(id, roster->peer[rank].process.id, sizeof id) == 0 ? 0 : ESRCH;
}

void quern_collective_look_at(const struct quern_collective_call *call, int place, const struct quern_sight *told, bool tries) {
    const struct quern_roster *roster = call->member->roster;
    const int rank = call->rank_at[place];
    struct quern_sight *sight = &call->member->again->sight[rank];
    unsigned char byte;
    if (roster->peer[rank].is_here) return;
    sight->pid = told->pid;
    if (!tries || sight->state != QUERN_NOT_SEEN) return;
    sight->id = told->id;
    sight->reason = read_from(roster, rank, told, &byte, (uintptr_t)told->id, sizeof byte);
    __atomic_store_n(&sight->state, sight->reason ? QUERN_UNSEEN : QUERN_SEEN, __ATOMIC_RELEASE);
}

bool quern_collective_sees(const struct quern_collective_call *call) {
    for (int place = 0; place < call->places; place++) {
        const int rank = call->rank_at[place];
        if (!call->member->roster->peer[rank].is_here && call->member->again->sight[rank].state != QUERN_SEEN) return false;
    }
    return true;
}

/* The system refuses memory of devices and of memfd_secret to this way of reading, also within a process. */
bool quern_collective_is_readable(const void *memory, int64_t bytes) {
    char ends[2], *first = (char *)(uintptr_t)memory;
    if (!bytes) return true;
    const struct iovec here = {ends, sizeof ends}, there[] = {{first, 1}, {first + bytes - 1, 1}};
    return process_vm_readv(quern_thread_id(), &here, 1, there, 2, 0) == sizeof ends;
}

/* ---- reading ---- */

struct work {
    const struct quern_collective_call *call;
    const struct quern_read *reads;
    int count;
    uint64_t failure;        /* atomic: 0: none; else 1, the rank and the reason of the first */
};

static void read_piece(struct work *work, const struct quern_read *read, int64_t first) {
    const struct quern_membership *member = work->call->member;
    const size_t bytes = (size_t)quern_smaller(PIECE, read->bytes - first);
    if (__atomic_load_n(&work->failure, __ATOMIC_RELAXED)) return;
    const int reason = read_from(member->roster, read->rank, &member->again->sight[read->rank], read->to + first,
                                 read->from + (uintptr_t)first, bytes);
    const uint64_t failure = (uint64_t)1 << 63 | (uint64_t)read->rank << 32 | (uint32_t)reason;
    uint64_t none = 0;
    if (reason) __atomic_compare_exchange_n(&work->failure, &none, failure, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* A task is a piece of a read. */
static void run_piece(void *context, int64_t task) {
    struct work *work = context;
    for (const struct quern_read *read = work->reads; read < work->reads + work->count; read++) {
        const int64_t pieces = quern_divide_up(read->bytes, PIECE);
        if (task < pieces) {
            read_piece(work, read, task * PIECE);
            return;
        }
        task -= pieces;
    }
}

/* A process that ends loses its memory a moment before its locks. */
static bool has_ended(const struct quern_membership *member, int rank) {
    for (int i = 0; i < 200; i++) {
        if (quern_rank_has_gone(member->roster, rank)) return true;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return false;
}

static quern_status report_failure(const struct quern_collective_call *call, int rank, int reason) {
    struct quern_membership *member = call->member;
    if (reason == ESRCH || has_ended(member, rank)) {
        member->missing[rank / 32] |= 1u << rank % 32;
        return quern_poison(member, QUERN_PEER_LOST, "rank %d (process %d) has ended while rank %d read its memory", rank,
                            member->roster->peer[rank].process.pid, member->rank);
    }
    return quern_poison(member, QUERN_SYSTEM_ERROR, "rank %d cannot read memory of a call of rank %d (process_vm_readv: %s)",
                        member->rank, rank, reason == EIO ? "a part is not there" : strerror(reason));
}

quern_status quern_collective_read(const struct quern_collective_call *call, const struct quern_read *reads, int count) {
    struct work work = {.call = call, .reads = reads, .count = count};
    int64_t tasks = 0;
    if (!count) return QUERN_OK;
    for (int i = 0; i < count; i++) tasks += quern_divide_up(reads[i].bytes, PIECE);
    QUERN_POINT(COLLECTIVE_READING);
    if (tasks == 1 || call->threads == 1)
        for (int64_t task = 0; task < tasks; task++) run_piece(&work, task);
    else quern_run_tasks(call->member->device, tasks, run_piece, &work);
    const uint64_t failure = __atomic_load_n(&work.failure, __ATOMIC_RELAXED);
    return failure ? report_failure(call, (int)(failure >> 32 & 0xFFFF), (int)(uint32_t)failure) : QUERN_OK;
}

/* ---- the report ---- */

void quern_report_sight(struct quern_text *text, const struct quern_membership *member) {
    int seen = 0;
    for (int rank = 0; rank < QUERN_RANK_LIMIT; rank++)
        if (__atomic_load_n(&member->again->sight[rank].state, __ATOMIC_ACQUIRE) == QUERN_SEEN)
            quern_text_add(text, "%s%d", seen++ ? ", " : "collectives read private memory of ranks ", rank);
    if (seen) quern_text_add(text, " by process_vm_readv\n");
    for (int rank = 0; rank < QUERN_RANK_LIMIT; rank++) {
        const struct quern_sight *sight = &member->again->sight[rank];
        if (__atomic_load_n(&sight->state, __ATOMIC_ACQUIRE) != QUERN_UNSEEN) continue;
        quern_text_add(text, "collectives pass private memory through the workspace, since rank %d cannot read that of rank %d "
                       "(process_vm_readv: %s)\n", member->rank, rank, strerror(sight->reason));
    }
}
