/* Symmetric memory: the public functions, and the collective steps that make it. */
#define _POSIX_C_SOURCE 200809L
#include "ranks/symmetric/symmetric.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "os/sizes.h"
#include "ranks/agreement.h"
#include "ranks/descriptors.h"
#include "ranks/handles.h"
#include "ranks/meeting.h"
#include "ranks/points.h"
#include "ranks/poison.h"
#include "ranks/seen_wait.h"
#include "runtime/arguments.h"
#include "runtime/log.h"
#include "runtime/status.h"

/* A call that makes memory, on one thread, for the ranks that the thread drives. */
struct making {
    struct quern_membership *const *members;
    int count;
    enum quern_collective operation;
    const struct quern_symmetric_kind *kind;
    uint64_t id;
    struct quern_symmetric_part *parts;                     /* [ranks] */
    struct quern_symmetric_part *mine;                      /* [count]: of members[i] */
    struct quern_symmetric_range *fresh[QUERN_RANK_LIMIT];  /* of members[i] */
    struct quern_symmetric_memory *memory;                  /* NULL: not held yet */
    const struct quern_membership *leader;                  /* the lowest rank of the process, if this thread drives it */
};

static quern_status no_memory(const struct quern_membership *member) {
    return quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for the records of symmetric memory");
}

static quern_status agree_at(const struct making *making, int at, quern_status status) {
    return quern_agree_at(making->members, making->count, making->operation, at, status);
}

/* ---- before the first step ---- */

/* Allocates all host memory of members[i] in advance, so that nothing can fail later. */
static quern_status prepare_member(struct making *making, int i) {
    struct quern_membership *member = making->members[i];
    struct quern_symmetric_ranges *ranges = quern_symmetric_ranges_of(member);
    if (!ranges || !quern_symmetric_reserve(ranges)) return no_memory(member);
    making->fresh[i] = calloc(1, sizeof *making->fresh[i]);
    return making->fresh[i] ? QUERN_OK : no_memory(member);
}

/* Exchanges the parts of all ranks. */
static quern_status exchange_parts(struct making *making) {
    const void *payloads[QUERN_RANK_LIMIT];
    for (int i = 0; i < making->count; i++) payloads[i] = &making->mine[i];
    return quern_exchange(making->members, making->count, making->operation, payloads, sizeof *making->mine, making->parts);
}

/* Whether a part lies within its allocation, which each of GPUs has. */
static bool is_sound(const struct quern_symmetric_kind *kind, const struct quern_symmetric_part *part) {
    if (part->bytes < 0 || part->bytes > QUERN_MOST_BYTES) return false;
    if (!kind->has_bases) return true;
    if (part->base_bytes > 2 * (uint64_t)QUERN_MOST_BYTES || (uint64_t)part->bytes > part->base_bytes) return false;
    return part->address - part->base <= part->base_bytes - (uint64_t)part->bytes;  /* an address before it is far behind it */
}

/* The parts have come through memory that others can write. */
static quern_status check_parts(const struct making *making) {
    const struct quern_membership *first = making->members[0];
    const bool reaches = first->transport->reaches_hosts;
    for (int rank = 0; rank < first->ranks; rank++)  /* memory of another host is none of this one's */
        if (!reaches && first->roster->peer[rank].is_elsewhere) making->parts[rank] = (struct quern_symmetric_part){.bytes = 0};
    for (int rank = 0; rank < first->ranks; rank++)
        if (!is_sound(making->kind, &making->parts[rank])) return quern_fail_damaged(first->device, "a message", rank);
    return QUERN_OK;
}

/* What is no longer needed anywhere is closed before new memory is made. */
static void hear_frees(const struct making *making) {
    for (int rank = 0; rank < making->members[0]->ranks; rank++)
        quern_symmetric_hear_frees(making->members[0], rank, making->parts[rank].freed);
    quern_symmetric_sweep();
    QUERN_POINT(MEMORY_HEARD);
}

/*
 * Checks and describes this thread's parts, and exchanges the parts of all ranks.  `status` is QUERN_OK or the error of the
 * arguments, which the other ranks must learn of, too.
 */
static quern_status begin(struct making *making, quern_status status, void *const *pointers, const size_t *bytes) {
    struct quern_membership *first = making->members[0];
    struct quern_symmetric_part *mine = making->mine = calloc((size_t)making->count, sizeof *mine);
    int at = 0;
    making->parts = malloc((size_t)first->ranks * sizeof *making->parts);
    if (status == QUERN_OK && !(making->parts && mine)) status = no_memory(first);
    for (int i = 0; i < making->count && status == QUERN_OK; i++) {
        at = i;
        if (bytes[i] > (size_t)QUERN_MOST_BYTES)
            status = quern_fail(making->members[i]->device, QUERN_INVALID_SHAPE, "bytes[%d] is %zu: expected at most 2^47", i,
                                bytes[i]);
        mine[i].bytes = (int64_t)bytes[i];
        mine[i].multicast = making->operation == QUERN_IN_CREATE || making->members[i]->multicast;  /* pads ask for it */
        if (status == QUERN_OK) status = prepare_member(making, i);
        if (status == QUERN_OK) status = making->kind->describe(making->members[i], pointers ? pointers[i] : NULL, &mine[i]);
    }
    status = agree_at(making, at, status);
    for (int i = 0; i < making->count && status == QUERN_OK && first->transport->reaches_hosts; i++)
        quern_symmetric_tell_frees(making->members[i], mine[i].freed);
    if (status == QUERN_OK) status = exchange_parts(making);
    if (status == QUERN_OK && first->transport->reaches_hosts) hear_frees(making);
    return status;
}

/* Every rank of the thread holds the same record. */
static quern_status hold(struct making *making) {
    for (int i = 0; i < making->count; i++) {
        struct quern_membership *member = making->members[i];
        struct quern_symmetric_memory *memory = quern_symmetric_hold(member, making->kind, making->id, making->parts);
        if (!memory) return no_memory(member);  /* only the first rank can fail: later ones find the record */
        making->memory = memory;
        if (memcmp(memory->part, making->parts, (size_t)member->ranks * sizeof *memory->part) != 0)
            return quern_fail_damaged(member->device, "a message to the process", member->rank);
        if (member->roster->peer[member->rank].leader == member->rank) making->leader = member;
    }
    return QUERN_OK;
}

/* ---- the steps ---- */

static quern_status take_plainly(const struct quern_symmetric_step *step, struct quern_symmetric_memory *memory,
                                 const struct quern_membership *member) {
    return step->run(memory, member);
}

/* Each rank tells its handle, and the process keeps those of ranks that are not here. */
static quern_status tell_handles(const struct making *making, const struct quern_symmetric_step *step) {
    const struct quern_membership *first = making->members[0];
    const void *payloads[QUERN_RANK_LIMIT];
    CUmemFabricHandle *told = step->told(making->memory), *all = malloc((size_t)first->ranks * sizeof *all);
    if (!all)
        return quern_poison(first, QUERN_OUT_OF_MEMORY, "rank %d has no memory for the handles of symmetric memory", first->rank);
    for (int i = 0; i < making->count; i++) payloads[i] = &told[making->members[i]->rank];
    quern_status status = quern_exchange(making->members, making->count, making->operation, payloads, sizeof *told, all);
    for (int rank = 0; rank < first->ranks && status == QUERN_OK && making->leader; rank++)
        if (!first->roster->peer[rank].is_here) told[rank] = all[rank];
    free(all);
    QUERN_POINT(MEMORY_TOLD);
    return status;
}

static quern_status take_step(const struct making *making, const struct quern_symmetric_step *step, int *at) {
    quern_status status = QUERN_OK;
    for (int i = 0; i < making->count && status == QUERN_OK; i++) {
        if (!step->every_rank && making->members[i] != making->leader) continue;
        *at = i;
        status = (making->kind->take ? making->kind->take : take_plainly)(step, making->memory, making->members[i]);
    }
    return status;
}

/*
 * Stores the reason why there is no multicast.  The call continues without it.  What has been made of it stays until the memory is
 * closed, because its end may wait for the device.
 */
static void do_without_multicast(const struct making *making, quern_status status) {
    if (!making->leader) return;
    struct quern_symmetric_memory *memory = making->memory;
    quern_error_detail(memory->no_multicast, sizeof memory->no_multicast);
    memory->multicast = NULL;
    memory->lost_multicast = status == QUERN_CUDA_ERROR;
    if (memory->lost_multicast)
        quern_log(making->leader->device, QUERN_LOG_ERROR, "symmetric memory goes without multicast: %s", memory->no_multicast);
}

/* The votes on a step.  *may_pass: it has failed on a rank for a reason that may pass, and all ranks know that. */
static quern_status agree_on_step(const struct making *making, int at, quern_status status, bool *may_pass) {
    const bool passes = status != QUERN_OK && making->memory && making->memory->may_pass;
    for (int i = 0; i < making->count; i++)
        quern_cast_vote(making->members[i], i == at ? status : QUERN_OK, i == at && passes);
    status = quern_agree(making->members, making->count, making->operation);
    *may_pass = false;
    for (int rank = 0; rank < making->members[0]->ranks; rank++) *may_pass |= making->members[0]->heard[rank].value != 0;
    return status;
}

/* The fabric manager of NVSwitch may still be starting: all ranks try again together, for two seconds at most. */
enum { TRIES = 20, PAUSE = 100000000 /* nanoseconds */ };

static quern_status take_steps(const struct making *making, quern_status status) {
    const struct quern_symmetric_kind *kind = making->kind;
    bool multicast = true, may_pass;
    int at = 0, tries = 0;
    for (int i = 0; i < kind->step_count; i++) {
        const struct quern_symmetric_step *step = &kind->steps[i];
        if (step->between_processes && making->members[0]->one_process && !making->members[0]->control) continue;
        if (step->for_multicast && !multicast) continue;
        QUERN_POINT(MEMORY_STEPPING);
        if (status == QUERN_OK && step->told) status = tell_handles(making, step);
        if (status == QUERN_OK) status = take_step(making, step, &at);
        QUERN_POINT(MEMORY_STEPPED);
        status = agree_on_step(making, at, status, &may_pass);
        if (status != QUERN_OK && step->for_multicast && quern_check_poison(making->members[0]) == QUERN_OK) {
            multicast = may_pass && ++tries < TRIES;
            if (multicast) {
                nanosleep(&(struct timespec){.tv_nsec = PAUSE}, NULL);
                i--;
            } else {
                do_without_multicast(making, status);
            }
            status = QUERN_OK;
        }
        if (status != QUERN_OK) return status;
    }
    if (making->leader && kind->settle) kind->settle(making->memory);
    return agree_at(making, at, status);
}

/* ---- the end ---- */

static void give_up(struct making *making) {
    QUERN_POINT(MEMORY_GIVING_UP);
    for (int i = 0; i < making->count; i++) {
        free(making->fresh[i]);
        if (!making->memory) continue;
        quern_symmetric_unhold(making->memory, making->members[i]->rank, NULL);
        quern_symmetric_unrefer(making->memory);
    }
    quern_symmetric_sweep();
}

/* Fills in the new ranges and inserts them: from here on lookups find them. */
static void enter_ranges(struct making *making) {
    for (int i = 0; i < making->count; i++) {
        const struct quern_membership *member = making->members[i];
        struct quern_symmetric_range *range = making->fresh[i];
        range->base = making->memory->peer[member->rank];
        range->bytes = making->memory->peer_bytes[member->rank];
        range->id = making->id;
        range->memory = making->memory;
        range->registrations = making->kind->is_registration;
        if (making->kind->is_registration) range->generation = making->kind->generation(member, range->base);
        quern_symmetric_insert(member->symmetric, range);
    }
}

/* Makes memory that every rank reaches, or nothing. */
static quern_status make(struct making *making, quern_status status, void *const *pointers, const size_t *bytes) {
    quern_symmetric_sweep();
    status = begin(making, status, pointers, bytes);
    for (int i = 0; i < making->count; i++) making->id = ++making->members[i]->symmetric_calls;
    if (status == QUERN_OK) {
        status = check_parts(making);
        status = take_steps(making, status == QUERN_OK ? hold(making) : status);
    }
    free(making->parts);
    free(making->mine);
    if (status == QUERN_OK) QUERN_POINT(MEMORY_MADE);
    if (status == QUERN_OK)
        enter_ranges(making);
    else
        give_up(making);
    return status;
}

/* ---- allocation ---- */

quern_status quern_symmetric_allocate(struct quern_membership *const *members, int count, enum quern_collective operation,
                                      const size_t *bytes, void **pointers) {
    struct making making = {.members = members, .count = count, .operation = operation, .kind = members[0]->transport->allocated};
    quern_status status = bytes && pointers ? QUERN_OK
                                            : quern_fail(members[0]->device, QUERN_NULL_POINTER, "%s is NULL",
                                                         bytes ? "pointers" : "bytes");
    status = make(&making, status, NULL, bytes);
    for (int i = 0; i < count && status == QUERN_OK; i++) pointers[i] = making.memory->peer[members[i]->rank];
    return status;
}

static quern_status allocate(quern_group *const *groups, int count, const size_t *bytes, void **pointers,
                             struct quern_look *look) {
    struct quern_membership *members[QUERN_RANK_LIMIT];
    quern_status status = quern_members_of(groups, count, members);
    if (status != QUERN_OK) return status;
    quern_look_at_members(look, members, count);
    return quern_symmetric_allocate(members, count, QUERN_IN_SYMMETRIC_ALLOC, bytes, pointers);
}

quern_status quern_symmetric_alloc(quern_group *const *groups, int count, const size_t *bytes, void **pointers) {
    static const struct quern_view view = {.name = "symmetric_alloc", .is_undumped = true};
    struct quern_look look;
    quern_begin_look(&look, &view, NULL, NULL);
    return quern_end_look(&look, allocate(groups, count, bytes, pointers, &look));
}

/* ---- registration ---- */

/* The vote of a rank that has not registered the range.  A rank that has votes with the id of the range. */
static const uint64_t MISS = 0;

/* Whether the allocation was freed while it was registered: its addresses may belong to other memory by now. */
static bool is_stale(const struct quern_membership *member, const struct quern_symmetric_range *range) {
    return range->registrations && range->memory->kind->generation(member, range->base) != range->generation;
}

static quern_status refuse_overlap(const struct quern_membership *member, int index, const struct quern_symmetric_range *range,
                                   const char *pointer, int64_t bytes) {
    if (range->freed)
        return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "pointers[%d] was freed before", index);
    return quern_fail(member->device, QUERN_INVALID_ARGUMENT,
                      "pointers[%d] with %lld bytes shares memory with a range of %lld bytes that begins %lld bytes %s it and was "
                      "%s before: expected the same range or none of it", index, (long long)bytes, (long long)range->bytes,
                      (long long)(pointer < range->base ? range->base - pointer : pointer - range->base),
                      pointer < range->base ? "behind" : "before", range->registrations ? "registered" : "allocated");
}

/* Whether members[i] has registered the range already.  Fails if the range overlaps another. */
static quern_status cast_vote(struct quern_membership *member, int i, const char *pointer, size_t bytes, uint64_t *vote) {
    struct quern_symmetric_ranges *ranges = quern_symmetric_ranges_of(member);
    if (!ranges) return no_memory(member);
    if (!pointer) return quern_fail(member->device, QUERN_NULL_POINTER, "pointers[%d] is NULL", i);
    if (!bytes || bytes > (size_t)QUERN_MOST_BYTES)
        return quern_fail(member->device, bytes ? QUERN_INVALID_SHAPE : QUERN_INVALID_ARGUMENT,
                          "bytes[%d] is %zu: expected 1 to 2^47", i, bytes);
    struct quern_symmetric_range *range = quern_symmetric_overlapped(ranges, pointer, (int64_t)bytes);
    for (; range && is_stale(member, range); range = quern_symmetric_overlapped(ranges, pointer, (int64_t)bytes))
        quern_symmetric_set_aside(ranges, range);
    *vote = MISS;
    if (!range) return QUERN_OK;
    if (!range->registrations || range->base != pointer || range->bytes != (int64_t)bytes)
        return refuse_overlap(member, i, range, pointer, (int64_t)bytes);
    if (range->generation) *vote = range->id;  /* else it is unknown whether this is still the same allocation */
    return QUERN_OK;
}

/* Whether all ranks have registered exactly these ranges together before. */
static quern_status vote(struct quern_membership *const *members, int count, void *const *pointers, const size_t *bytes,
                         bool *hit) {
    for (int i = 0; i < count; i++) {
        uint64_t id = MISS;
        quern_status status = pointers && bytes ? cast_vote(members[i], i, pointers[i], bytes[i], &id)
                                                : quern_fail(members[i]->device, QUERN_NULL_POINTER, "%s is NULL",
                                                             bytes ? "pointers" : "bytes");
        quern_cast_vote(members[i], status, id);
    }
    quern_status status = quern_agree(members, count, QUERN_IN_SYMMETRIC_REGISTER);
    if (status != QUERN_OK) return status;
    const struct quern_vote *all = members[0]->heard;
    *hit = all[0].value != MISS;
    for (int rank = 1; rank < members[0]->ranks; rank++) *hit &= all[rank].value == all[0].value;
    return QUERN_OK;
}

static quern_status register_ranges(quern_group *const *groups, int count, void *const *pointers, const size_t *bytes,
                                    struct quern_look *look) {
    struct quern_membership *members[QUERN_RANK_LIMIT];
    bool hit;
    quern_status status = quern_members_of(groups, count, members);
    if (status == QUERN_OK) quern_look_at_members(look, members, count);
    if (status == QUERN_OK) status = vote(members, count, pointers, bytes, &hit);
    if (status != QUERN_OK) return status;
    if (hit) {
        for (int i = 0; i < count; i++) quern_symmetric_range_at(members[i]->symmetric, pointers[i])->registrations++;
        return QUERN_OK;
    }
    struct making making = {.members = members, .count = count, .operation = QUERN_IN_SYMMETRIC_REGISTER,
                            .kind = members[0]->transport->registered};
    return make(&making, QUERN_OK, pointers, bytes);
}

quern_status quern_symmetric_register(quern_group *const *groups, int count, void *const *pointers, const size_t *bytes) {
    static const struct quern_view view = {.name = "symmetric_register", .is_undumped = true};
    struct quern_look look;
    quern_begin_look(&look, &view, NULL, NULL);
    return quern_end_look(&look, register_ranges(groups, count, pointers, bytes, &look));
}

/* ---- freeing ---- */

/* Marks the pending work of the stream.  *use is NULL if there can be none. */
static quern_status begin_use(const struct quern_membership *member, const struct quern_symmetric_memory *memory, void *stream,
                              struct quern_symmetric_use **use) {
    *use = NULL;
    if (!memory->kind->record) return QUERN_OK;
    *use = calloc(1, sizeof **use);
    if (!*use) return no_memory(member);
    (*use)->member = member;
    quern_status status = memory->kind->record(member, stream, *use);
    if (status == QUERN_OK) return QUERN_OK;
    free(*use);
    *use = NULL;
    return status;
}

/* The live range that begins at pointer and was allocated or registered, as `registered` says. */
static quern_status find_own(const struct quern_membership *member, const char *pointer, bool registered, const char *undo,
                             struct quern_symmetric_range **found) {
    struct quern_symmetric_range *range = member->symmetric ? quern_symmetric_range_at(member->symmetric, pointer) : NULL;
    if (!range)
        return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "%s: pointer is not in symmetric memory of the group",
                          member->label);
    if (range->freed) return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "%s: pointer was freed before", member->label);
    if (!range->registrations == registered)
        return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "%s: pointer was %s: expected %s", member->label,
                          registered ? "allocated" : "registered", undo);
    if (range->base != pointer)
        return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "%s: pointer lies %lld bytes behind the beginning of its range: "
                          "expected the beginning", member->label, (long long)(pointer - range->base));
    *found = range;
    return QUERN_OK;
}

static quern_status begin_free(quern_group *group, void *stream, struct quern_membership **member, struct quern_look *look) {
    quern_status status = quern_member_of(group, member);
    if (status == QUERN_OK) quern_look_at_member(look, *member);
    if (status == QUERN_OK) status = quern_check_poison(*member);
    return status == QUERN_OK ? quern_check_stream((*member)->device, stream) : status;
}

static quern_status free_range(quern_group *group, void *pointer, void *stream, struct quern_look *look) {
    struct quern_membership *member;
    struct quern_symmetric_range *range;
    struct quern_symmetric_use *use;
    quern_status status = begin_free(group, stream, &member, look);
    if (status != QUERN_OK || !pointer) return status;
    status = find_own(member, pointer, false, "quern_symmetric_unregister", &range);
    if (status == QUERN_OK) status = begin_use(member, range->memory, stream, &use);
    if (status != QUERN_OK) return status;
    QUERN_POINT(MEMORY_FREEING);
    quern_symmetric_unhold(range->memory, member->rank, use);
    quern_symmetric_retire(member->symmetric, range);
    quern_symmetric_sweep();
    return QUERN_OK;
}

quern_status quern_symmetric_free(quern_group *group, void *pointer, void *stream) {
    static const struct quern_view view = {.name = "symmetric_free", .is_undumped = true};
    struct quern_look look;
    quern_begin_look(&look, &view, NULL, stream);
    return quern_end_look(&look, free_range(group, pointer, stream, &look));
}

static quern_status unregister_range(quern_group *group, void *pointer, void *stream, struct quern_look *look) {
    struct quern_membership *member;
    struct quern_symmetric_range *range;
    struct quern_symmetric_use *use;
    quern_status status = begin_free(group, stream, &member, look);
    if (status == QUERN_OK) status = find_own(member, pointer, true, "quern_symmetric_free", &range);
    if (status != QUERN_OK) return status;
    struct quern_symmetric_range *oldest = quern_symmetric_oldest(range);
    if (oldest->registrations > 1) {
        oldest->registrations--;
        return QUERN_OK;
    }
    status = begin_use(member, oldest->memory, stream, &use);
    if (status != QUERN_OK) return status;
    quern_symmetric_remove_oldest(member->symmetric, range);
    quern_symmetric_unhold(oldest->memory, member->rank, use);
    quern_symmetric_unrefer(oldest->memory);
    free(oldest);
    quern_symmetric_sweep();
    return QUERN_OK;
}

quern_status quern_symmetric_unregister(quern_group *group, void *pointer, void *stream) {
    static const struct quern_view view = {.name = "symmetric_unregister", .is_undumped = true};
    struct quern_look look;
    quern_begin_look(&look, &view, NULL, stream);
    return quern_end_look(&look, unregister_range(group, pointer, stream, &look));
}

/* Frees a range and its older registrations.  The rank's pending work has ended. */
static void drop_ranges(const struct quern_membership *member, struct quern_symmetric_range *range) {
    while (range) {
        struct quern_symmetric_range *older = range->older;
        if (!range->freed) quern_symmetric_unhold(range->memory, member->rank, NULL);
        quern_symmetric_unrefer(range->memory);
        free(range);
        range = older;
    }
}

void quern_symmetric_forget(struct quern_membership *member) {
    struct quern_symmetric_ranges *ranges = member->symmetric;
    if (!ranges) return;
    quern_symmetric_await_uses(member);
    for (int i = 0; i < ranges->based; i++) drop_ranges(member, ranges->by_base[i]);
    drop_ranges(member, ranges->stale);
    quern_symmetric_sweep();
    free(ranges->by_base);
    free(ranges->base);
    free(ranges->by_id);
    free(ranges);
    member->symmetric = NULL;
}

/* ---- looking up ---- */

/* The place of an address in live memory. */
static quern_status find_place(const struct quern_membership *member, const void *pointer, struct quern_symmetric_location *place) {
    switch (quern_symmetric_find(member, pointer, 0, place)) {
    case QUERN_MEMORY_SYMMETRIC:
        return QUERN_OK;
    case QUERN_MEMORY_FREED:
        return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "%s: pointer was freed", member->label);
    default:
        return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "%s: pointer is not in symmetric memory of the group",
                          member->label);
    }
}

static quern_status begin_look_up(quern_group *group, const void *pointer, void **out, const char *name,
                                  struct quern_membership **member, struct quern_symmetric_location *place) {
    quern_status status = quern_member_of(group, member);
    if (status == QUERN_OK) status = quern_check_poison(*member);
    if (status == QUERN_OK && !out) status = quern_fail((*member)->device, QUERN_NULL_POINTER, "%s is NULL", name);
    return status == QUERN_OK ? find_place(*member, pointer, place) : status;
}

quern_status quern_symmetric_peer(quern_group *group, const void *pointer, int rank, void **peer) {
    struct quern_membership *member;
    struct quern_symmetric_location place;
    quern_status status = begin_look_up(group, pointer, peer, "peer", &member, &place);
    if (status != QUERN_OK) return status;
    if (rank < 0 || rank >= member->ranks)
        return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "rank is %d: expected 0 to %d", rank, member->ranks - 1);
    if (member->roster->peer[rank].is_elsewhere && !member->transport->reaches_hosts)
        return quern_fail(member->device, QUERN_NOT_SUPPORTED, "%s: rank %d is of another host, whose memory has no address here",
                          member->label, rank);
    if (place.offset > place.peer_bytes[rank] || (place.offset && place.offset == place.peer_bytes[rank]))
        return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "%s: pointer is byte %lld of its range, and the part of rank %d "
                          "has %lld bytes", member->label, (long long)place.offset, rank, (long long)place.peer_bytes[rank]);
    *peer = (char *)place.peer[rank] + place.offset;
    return QUERN_OK;
}

quern_status quern_symmetric_multicast(quern_group *group, const void *pointer, void **multicast) {
    struct quern_membership *member;
    struct quern_symmetric_location place;
    quern_status status = begin_look_up(group, pointer, multicast, "multicast", &member, &place);
    if (status != QUERN_OK) return status;
    const struct quern_symmetric_memory *memory = quern_symmetric_range_at(member->symmetric, pointer)->memory;
    if (!memory->multicast)
        return quern_fail(member->device, QUERN_NOT_SUPPORTED, "%s: no multicast: %s", member->label, memory->no_multicast);
    if (place.offset >= memory->least_bytes)
        return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "%s: pointer is byte %lld of its range, and multicast reaches as "
                          "far as the smallest part, %lld bytes", member->label, (long long)place.offset,
                          (long long)memory->least_bytes);
    *multicast = (char *)memory->multicast + place.offset;
    return QUERN_OK;
}
