/*
 * The transports of GPU ranks whose kernels reach each other's memory: GPUs of one host, in one process or in several, and GPUs of
 * several hosts that have one NVLink fabric.  Rows of the table in form.c.
 *
 * The ranks reach each other's memory, or, where GPUs of one host have no access to it, pinned memory of the host.  The kernels are
 * the same: only the addresses differ.  Through the host every byte crosses PCIe twice.  Between hosts the pads are in memory of
 * fabric handles; the words that a kernel looks at for the end of a wait are those of its own host, where the monitor writes them.
 *
 * Ranks that share a GPU wait for each other's kernels, which must therefore run at once.  Within one process they do.  Kernels of
 * several processes take turns unless MPS runs.
 */
#define _POSIX_C_SOURCE 200809L
#include "ranks/group/group.h"

#include <stdlib.h>
#include <time.h>

#include "ranks/agreement.h"
#include "ranks/barrier_cuda.h"
#include "ranks/chunks/chunks.h"
#include "ranks/collective/collective.h"
#include "ranks/cuda_rank.h"
#include "ranks/cuda_support.h"
#include "ranks/local_ranks.h"
#include "ranks/ragged/ragged.h"
#include "ranks/symmetric/symmetric.h"
#include "runtime/status.h"

/* Judged by the roster alone, so that every rank gets the same answer. */
static bool serves_rank(const struct quern_roster *roster, int rank, bool of_hosts, struct quern_text *why) {
    const struct quern_peer *peer = &roster->peer[rank];
    const char *lacks = peer->device_kind != QUERN_CUDA     ? "is a CPU"
                        : !of_hosts && peer->is_elsewhere   ? "is of another host"
                        : of_hosts && !peer->has_fabric     ? "has a GPU or a driver without fabric handles"
                                                            : NULL;
    if (lacks) quern_text_add(why, "rank %d %s", rank, lacks);
    for (int other = 0; other < rank && !lacks; other++) {
        bool may_share = peer->share_gpu && roster->peer[other].share_gpu;
        if (may_share || !quern_cuda_same_gpu(roster, rank, other)) continue;
        quern_text_add(why, "ranks %d and %d use one GPU, which both must allow by share_gpu", other, rank);
        return false;
    }
    return !lacks;
}

static bool serves(const struct quern_roster *roster, struct quern_text *why) {
    for (int rank = 0; rank < roster->ranks; rank++)
        if (!serves_rank(roster, rank, false, why)) return false;
    return true;
}

static bool serves_hosts(const struct quern_roster *roster, struct quern_text *why) {
    if (roster->hosts == 1) return false;
    if (roster->ranks > QUERN_RANK_LIMIT) quern_text_add(why, "it serves up to %d ranks", QUERN_RANK_LIMIT);
    if (roster->ranks > QUERN_RANK_LIMIT) return false;
    for (int rank = 0; rank < roster->ranks; rank++)
        if (!serves_rank(roster, rank, true, why)) return false;
    return true;
}

/* ---- the pads ---- */

/* Signals and counts begin at the group's first epoch. */
static quern_status write_pad(const struct quern_membership *member, CUdeviceptr pad) {
    uint32_t stride = quern_pad_stride((uint32_t)member->ranks), first_epoch = member->first_epoch;
    size_t bytes = (size_t)quern_device_pad_bytes((uint32_t)member->ranks);
    unsigned char *image = calloc(1, bytes);
    if (!image) return quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for a pad");
    quern_signal *signals = (quern_signal *)image;
    uint32_t *counts = (uint32_t *)(signals + 2 * stride);
    for (uint32_t slot = 0; slot < 2 * stride; slot++) signals[slot] = quern_make_signal(first_epoch, 0);
    for (uint32_t slot = 0; slot <= stride; slot++) counts[slot] = first_epoch;
    struct quern_cuda_visit visit;
    CUresult error = quern_cuda_begin_visit(&visit, member->device->context);
    if (error == CUDA_SUCCESS) error = quern_cuda_write(&visit, pad, image, bytes);
    quern_cuda_end_visit(&visit);
    free(image);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail(member->device, error, "writing a pad");
}

/* Barriers are slower than the GPUs could have them, and sums are none of the switch: the report says why. */
static void note_lost_multicast(struct quern_membership *member, const void *pad) {
    const struct quern_symmetric_memory *memory = quern_symmetric_range_at(member->symmetric, pad)->memory;
    struct quern_cuda_rank *rank = quern_cuda_rank_of(member);
    struct quern_text reason = quern_text_begin(rank->no_multicast, sizeof rank->no_multicast);
    quern_text_add(&reason, "there is no multicast: %s", memory->no_multicast);
    if (member->transport == &quern_pinned_transport) return;
    struct quern_text text = quern_text_begin(member->detour, sizeof member->detour);
    if (memory->lost_multicast) quern_text_add(&text, "without multicast: %s", memory->no_multicast);
}

static quern_status set_up_pad(struct quern_membership *member, void *pad) {
    struct quern_cuda_rank *rank = quern_cuda_rank_of(member);
    struct quern_symmetric_location place;
    quern_symmetric_find(member, pad, 1, &place);
    for (int peer = 0; peer < member->ranks; peer++) rank->pad[peer] = (uintptr_t)place.peer[peer];
    rank->multicast_pad = (uintptr_t)place.multicast;
    note_lost_multicast(member, pad);
    return write_pad(member, (uintptr_t)pad);
}

static quern_status agree(struct quern_membership *const *members, int count, int at, quern_status status) {
    return quern_agree_at(members, count, QUERN_IN_CREATE, at, status);
}

static quern_status make_pads(struct quern_membership *const *members, int count) {
    size_t bytes[QUERN_RANK_LIMIT] = {0};
    void *pads[QUERN_RANK_LIMIT];
    for (int i = 0; i < count; i++) bytes[i] = quern_probed_pad_bytes(members[i]->ranks);
    quern_status status = quern_symmetric_allocate(members, count, QUERN_IN_CREATE, bytes, pads);
    if (status != QUERN_OK) return status;
    int at = 0;
    for (int i = 0; i < count && status == QUERN_OK; i++) status = set_up_pad(members[at = i], pads[i]);
    return agree(members, count, at, status);
}

/* ---- attaching and detaching ---- */

static quern_status settle(const struct quern_membership *member) {
    return quern_cuda_settle(member, quern_cuda_is_unmarked(quern_cuda_rank_of(member)));
}

static bool all_have_gone(const struct quern_membership *member) {
    for (int rank = 0; rank < member->ranks; rank++)
        if (rank != member->rank && !quern_rank_has_gone(member->roster, rank)) return false;
    return true;
}

/*
 * What is bound to multicast between hosts can be unbound when the other ranks leave, too.  They hear that this one does, and it
 * waits for them for a moment.  If they do not come, the memory stays until the process ends.
 */
static void await_leavers(const struct quern_membership *member) {
    enum { MOST = 1000 };  /* milliseconds */
    if (!member->control || !quern_cuda_rank_of(member)->multicast_pad) return;
    __atomic_store_n(&member->segment->rank[member->rank].state, QUERN_RANK_LEFT, __ATOMIC_RELEASE);
    for (int waited = 0; waited < MOST && !all_have_gone(member); waited++) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void detach(struct quern_membership *member) {
    if (!quern_cuda_rank_of(member)) return;
    quern_symmetric_forget(member);
    await_leavers(member);
    quern_leave_local_rank(quern_cuda_rank_of(member));
    quern_cuda_free_rank(member);
    quern_symmetric_sweep();
}

/* `check` (NULL: none) is asked before anything is made. */
static quern_status make_all(struct quern_membership *const *members, int count,
                             quern_status (*check)(const struct quern_membership *member)) {
    quern_status status = QUERN_OK;
    int at = 0;
    for (int i = 0; i < count && status == QUERN_OK; i++) {
        at = i;
        if (check) status = check(members[i]);
        if (status == QUERN_OK) status = quern_cuda_make_rank(members[i]);
        if (status == QUERN_OK) quern_enter_local_rank(quern_cuda_rank_of(members[i]), members[i]);
    }
    status = agree(members, count, at, status);
    return status == QUERN_OK ? make_pads(members, count) : status;
}

/* No kernel has run.  The rank stays for another transport. */
static void abandon_pad(const struct quern_membership *member) {
    struct quern_cuda_rank *rank = quern_cuda_rank_of(member);
    if (!rank || !rank->multicast_pad) return;
    const void *pad = (const void *)(uintptr_t)rank->pad[member->rank];
    quern_symmetric_abandon_multicast(quern_symmetric_range_at(member->symmetric, pad)->memory);
    rank->multicast_pad = 0;
}

static quern_status end_attach(struct quern_membership *const *members, int count, quern_status status) {
    for (int i = 0; i < count && status != QUERN_OK; i++) {
        abandon_pad(members[i]);
        detach(members[i]);
    }
    return status;
}

static quern_status attach(struct quern_membership *const *members, int count) {
    quern_status status = make_all(members, count, quern_cuda_check_device);
    if (status == QUERN_OK) status = quern_probe_peers(members, count);
    return end_attach(members, count, status);
}

static quern_status attach_pinned(struct quern_membership *const *members, int count) {
    return end_attach(members, count, make_all(members, count, NULL));
}

/* What the kernels do is the same on all of them. */
#define BY_KERNELS                                                                                          \
    .look = quern_cuda_look, .settle = settle, .detach = detach, .barrier = quern_cuda_barrier,             \
    .ragged = &quern_cuda_ragged, .collective = &quern_cuda_collective, .chunks = &quern_cuda_chunks

const struct quern_transport quern_cuda_transport = {
    BY_KERNELS,
    .name = "GPU memory",
    .serves = serves,
    .attach = attach,
    .allocated = &quern_cuda_memory,
    .registered = &quern_cuda_registration,
};

const struct quern_transport quern_pinned_transport = {
    BY_KERNELS,
    .name = "pinned host memory",
    .serves = serves,
    .attach = attach_pinned,
    .allocated = &quern_pinned_memory,
    .registered = &quern_pinned_registration,
};

const struct quern_transport quern_fabric_transport = {
    BY_KERNELS,
    .name = "GPU memory over a fabric",
    .reaches_hosts = true,
    .serves = serves_hosts,
    .attach = attach,
    .allocated = &quern_fabric_memory,
    .registered = &quern_fabric_registration,
};
