/* The public functions on groups: create, split, destroy, abort and report. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/unload.h"
#include "ranks/cuda_rank.h"
#include "ranks/describe.h"
#include "ranks/group/cuda_transport.h"
#include "ranks/group/host_transport.h"
#include "ranks/handles.h"
#include "ranks/meeting.h"
#include "ranks/points.h"
#include "ranks/poison.h"
#include "ranks/rendezvous.h"
#include "runtime/arguments.h"
#include "runtime/dispatch.h"
#include "runtime/log.h"
#include "runtime/status.h"

static const struct quern_transport *const transports[] = {&quern_host_transport, &quern_cuda_transport};

/* Seconds.  A rank on a GPU may compile kernels, or write a checkpoint. */
static const double DEFAULT_CPU_TIMEOUT = 60, DEFAULT_GPU_TIMEOUT = 1800;

/* ---- the arguments of create ---- */

static bool is_name(const char *name) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t length = strlen(name);
    return length >= 1 && length <= 200 && strspn(name, allowed) == length;
}

static quern_status check_args(const quern_group_args *args) {
    quern_status status = quern_check_struct(NULL, "quern_group_args", args, sizeof *args);
    if (status != QUERN_OK) return status;
    const quern_device *device = args->device;
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    if (args->ranks < 1 || args->ranks > QUERN_RANK_LIMIT)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "ranks is %d: expected 1 to %d", args->ranks, QUERN_RANK_LIMIT);
    if (args->rank < 0 || args->rank >= args->ranks)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "rank is %d: expected 0 to %d", args->rank, args->ranks - 1);
    if (!args->name && args->ranks > 1)
        return quern_fail(device, QUERN_NULL_POINTER, "name is NULL: %d ranks need one to meet under", args->ranks);
    if (args->name && !is_name(args->name))
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "name is not 1 to 200 letters, digits, '.', '_' or '-'");
    if (!(args->timeout >= 0))
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "timeout is %g: expected seconds, 0 or more", args->timeout);
    if (!(args->first_timeout >= 0))
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "first_timeout is %g: expected seconds, 0 or more", args->first_timeout);
    status = quern_check_choice(device, "args.share_gpu", args->share_gpu, 1);
    if (status != QUERN_OK) return status;
    if (device->kind == QUERN_CUDA && !quern_is_prepared(device, QUERN_BARRIER))
        return quern_fail(device, QUERN_NOT_PREPARED, "%s has no barrier ready: call quern_prepare with QUERN_BARRIER first",
                          device->label);
    return QUERN_OK;
}

static quern_status check_together(const quern_group_args *args, int count) {
    for (int i = 0; i < count; i++) {
        const quern_device *device = args[i].device;
        if (count > 1 && device->kind == QUERN_CPU)
            return quern_fail(device, QUERN_INVALID_ARGUMENT, "count is %d: a thread is one CPU rank", count);
        bool same = args[i].ranks == args[0].ranks && args[i].timeout == args[0].timeout &&
                    args[i].first_timeout == args[0].first_timeout && args[i].job == args[0].job &&
                    args[i].first_epoch == args[0].first_epoch && !args[i].name == !args[0].name &&
                    (!args[i].name || strcmp(args[i].name, args[0].name) == 0);
        if (!same)
            return quern_fail(device, QUERN_INVALID_ARGUMENT,
                              "args[%d] differs from args[0] in name, job, ranks, time limits or first_epoch: expected one group",
                              i);
        for (int j = 0; j < i; j++)
            if (args[j].rank == args[i].rank)
                return quern_fail(device, QUERN_INVALID_ARGUMENT, "args[%d] and args[%d] both are rank %d", j, i, args[i].rank);
    }
    if (count > 1 && quern_cuda_launches_block())
        return quern_fail(args[0].device, QUERN_NOT_SUPPORTED,
                          "CUDA_LAUNCH_BLOCKING is set: one thread cannot drive %d GPUs whose kernels wait for each other; unset "
                          "it, or drive each GPU by a thread of its own", count);
    return QUERN_OK;
}

static quern_status check_create(const quern_group_args *args, int count, quern_group **groups) {
    if (!args) return quern_fail(NULL, QUERN_NULL_POINTER, "args is NULL");
    if (!groups) return quern_fail(NULL, QUERN_NULL_POINTER, "groups is NULL");
    if (count < 1 || count > QUERN_RANK_LIMIT)
        return quern_fail(NULL, QUERN_INVALID_ARGUMENT, "count is %d: expected 1 to %d ranks", count, QUERN_RANK_LIMIT);
    for (int i = 0; i < count; i++) {
        quern_status status = check_args(&args[i]);
        if (status != QUERN_OK) return status;
    }
    return check_together(args, count);
}

/* ---- create ---- */

/* With a core for every rank, polling is faster than sleeping.  Otherwise a polling rank delays the others. */
static int choose_spins(const struct quern_roster *roster) {
    enum { PATIENT = 4000, CROWDED = 20 };
    return roster->ranks <= roster->cores ? PATIENT : CROWDED;
}

static struct quern_membership *make_member(const quern_group_args *args, const char *name) {
    struct quern_membership *member = calloc(1, sizeof *member + (size_t)args->ranks * sizeof *member->heard);
    struct quern_group *handle = malloc(sizeof *handle);
    if (!member || !handle) {
        free(handle);
        free(member);
        return NULL;
    }
    member->handle = handle;
    member->device = args->device;
    member->rank = args->rank;
    member->ranks = args->ranks;
    member->first_epoch = args->first_epoch;
    member->steady_timeout = args->timeout > 0                 ? args->timeout
                             : args->device->kind == QUERN_CUDA ? DEFAULT_GPU_TIMEOUT
                                                                : DEFAULT_CPU_TIMEOUT;
    member->timeout = member->first_timeout = args->first_timeout > 0 ? args->first_timeout : member->steady_timeout;
    member->share_gpu = args->share_gpu;
    for (int rank = 0; rank < args->ranks; rank++) {
        quern_set_add(&member->everyone, rank);
        member->count[rank] = args->first_epoch;
    }
    member->everyones_digest = quern_members_digest(member->everyone.words);
    struct quern_text text = quern_text_begin(member->label, sizeof member->label);
    quern_text_add(&text, "group %s", name);
    if (text.length > 40) text.length = 40;  /* leaves room for the rank */
    quern_text_add(&text, ", rank %d", args->rank);
    return member;
}

static quern_status choose_transport(struct quern_membership *const *members, int count) {
    char reasons[700];
    struct quern_text why = quern_text_begin(reasons, sizeof reasons);
    for (size_t row = 0; row < sizeof transports / sizeof *transports; row++) {
        quern_text_add(&why, "%s%s: ", row ? "; " : "", transports[row]->name);
        if (!transports[row]->serves(members[0]->roster, &why)) continue;
        for (int i = 0; i < count; i++) members[i]->transport = transports[row];
        return transports[row]->attach(members, count);
    }
    return quern_fail(members[0]->device, QUERN_NOT_SUPPORTED, "%s: no way for these ranks to reach each other: %s",
                      members[0]->label, reasons);
}

static void leave(struct quern_membership *member) {
    if (member->roster) {
        __atomic_store_n(&member->segment->rank[member->rank].state, QUERN_RANK_LEFT, __ATOMIC_RELEASE);
        quern_leave_roster(member->roster, member->rank);
        QUERN_POINT(LEAVE_LEFT);
        quern_release_roster(member->roster);
        QUERN_POINT(LEAVE_UNMAPPED);
    }
    free(member->lists);
    free(member);
}

/*
 * Ends the forgotten groups of CPU ranks, whose devices may be closed already.  GPU ranks keep theirs: ending those waits for the
 * GPU.  A forked child keeps its copies, since a lock may be held for ever there.
 */
static void end_forgotten(void) {
    for (quern_group *group; (group = quern_drop_handle());) {
        struct quern_membership *member = group->member;
        if (member && (member->transport != &quern_host_transport || !quern_is_own_roster(member->roster)))
            continue;
        if (member) {
            member->transport->detach(member);
            leave(member);
        }
        free(group);
    }
}

/* Frees memberships that have no public handle yet. */
static void drop_members(struct quern_membership **members, int count) {
    for (int i = 0; i < count && members[i]; i++) {
        free(members[i]->handle);
        leave(members[i]);
    }
}

/*
 * Joins and attaches.  On failure nothing is kept, and poison tells the ranks that got further.
 * The parent (NULL: none) is the membership of the group that is being split.
 */
static quern_status form_group(const quern_group_args *args, int count, const char *name, const struct quern_membership *parent,
                               struct quern_membership **members) {
    memset(members, 0, (size_t)count * sizeof *members);
    for (int i = 0; i < count; i++)
        if (!(members[i] = make_member(&args[i], name))) {
            drop_members(members, count);
            return quern_fail(args[i].device, QUERN_OUT_OF_MEMORY, "no memory for a group");
        }
    quern_status status = quern_rendezvous(name, args->job, parent, members, count);
    if (status != QUERN_OK) {
        for (int i = 0; i < count; i++) members[i]->roster = NULL;  /* released already */
        drop_members(members, count);
        return status;
    }
    for (int i = 0; i < count; i++) members[i]->spins = choose_spins(members[i]->roster);
    status = choose_transport(members, count);
    if (status != QUERN_OK) drop_members(members, count);
    return status;
}

/* Makes the handles valid.  NULL stays NULL. */
static void publish(struct quern_membership *const *members, int count, quern_group **groups) {
    quern_on_unload(QUERN_UNLOAD_GROUPS, end_forgotten);
    for (int i = 0; i < count; i++) {
        groups[i] = members[i] ? quern_publish_handle(members[i]) : NULL;
        if (members[i])
            quern_log(members[i]->device, QUERN_LOG_INFO, "%s of %d: joined, by way of %s", members[i]->label, members[i]->ranks,
                      members[i]->transport->name);
    }
}

/* A group of one rank has no peers, so any unused name will do. */
static void name_single(char *buffer, size_t bytes) {
    static uint32_t singles;
    struct quern_text text = quern_text_begin(buffer, bytes);
    quern_text_add(&text, "single.%d.%u", (int)getpid(), __atomic_fetch_add(&singles, 1, __ATOMIC_RELAXED));
}

quern_status quern_group_create(const quern_group_args *args, int count, quern_group **groups) {
    quern_status status = check_create(args, count, groups);
    if (status != QUERN_OK) return status;
    char single[64];
    if (!args->name) name_single(single, sizeof single);
    struct quern_membership *members[QUERN_RANK_LIMIT];
    status = form_group(args, count, args->name ? args->name : single, NULL, members);
    if (status == QUERN_OK) publish(members, count, groups);
    return status;
}

/* ---- split ---- */

struct split_wish {
    int32_t colour, key;
};

/* The place of a rank among the ranks of its colour, ordered by key and old rank.  *ranks: their number. */
static int place_in_colour(const struct split_wish *wishes, int ranks_before, int rank, int *ranks) {
    int place = *ranks = 0;
    for (int other = 0; other < ranks_before; other++) {
        if (wishes[other].colour != wishes[rank].colour) continue;
        ++*ranks;
        place += wishes[other].key < wishes[rank].key || (wishes[other].key == wishes[rank].key && other < rank);
    }
    return place;
}

static void name_split(const struct quern_membership *member, int colour, char *buffer, size_t bytes) {
    static const char digits[] = "0123456789abcdef";
    char id[33] = "";
    for (int i = 0; i < 16; i++) {
        id[2 * i] = digits[member->roster->id[i] >> 4];
        id[2 * i + 1] = digits[member->roster->id[i] & 15];
    }
    struct quern_text text = quern_text_begin(buffer, bytes);
    quern_text_add(&text, "split.%s.%u.%d", id, member->splits, colour);
}

/* Forms the group of one colour with the calling thread's ranks of that colour. */
static quern_status form_colour(struct quern_membership *const *members, int count, const struct split_wish *wishes, int colour,
                                struct quern_membership **formed) {
    quern_group_args args[QUERN_RANK_LIMIT];
    struct quern_membership *of_colour[QUERN_RANK_LIMIT];
    int index[QUERN_RANK_LIMIT], mine = 0;
    char name[96];
    name_split(members[0], colour, name, sizeof name);
    for (int i = 0; i < count; i++) {
        if (wishes[members[i]->rank].colour != colour) continue;
        args[mine] = (quern_group_args)QUERN_GROUP_ARGS_INIT;
        args[mine].rank = place_in_colour(wishes, members[i]->ranks, members[i]->rank, &args[mine].ranks);
        args[mine].device = members[i]->device;
        args[mine].timeout = members[i]->steady_timeout;
        args[mine].first_timeout = members[i]->first_timeout;
        args[mine].share_gpu = members[i]->share_gpu;
        index[mine++] = i;
    }
    quern_status status = form_group(args, mine, name, members[0], of_colour);
    for (int i = 0; i < mine && status == QUERN_OK; i++) formed[index[i]] = of_colour[i];
    return status;
}

/* The next colour above `last` among the thread's ranks; -1: none.  The same order in all threads prevents a deadlock. */
static int next_colour(struct quern_membership *const *members, int count, const struct split_wish *wishes, int last) {
    int next = -1;
    for (int i = 0; i < count; i++) {
        int colour = wishes[members[i]->rank].colour;
        if (colour > last && (next < 0 || colour < next)) next = colour;
    }
    return next;
}

/* A failed split poisons the parent group: other ranks may be waiting in it for this one.  Nobody has the new handles yet. */
static quern_status give_up_split(const struct quern_membership *member, quern_status status, struct quern_membership **formed,
                                  int count) {
    char reason[900];
    quern_error_detail(reason, sizeof reason);
    status = quern_poison(member, status, "quern_group_split: %s", reason);
    for (int i = 0; i < count; i++)
        if (formed[i]) {
            formed[i]->transport->detach(formed[i]);
            drop_members(&formed[i], 1);
        }
    return status;
}

quern_status quern_group_split(quern_group *const *groups, int count, const int *colours, const int *keys,
                               quern_group **new_groups) {
    struct quern_membership *members[QUERN_RANK_LIMIT];
    quern_status status = quern_members_of(groups, count, members);
    if (status != QUERN_OK) return status;
    if (!colours || !keys || !new_groups)
        return quern_fail(members[0]->device, QUERN_NULL_POINTER, "%s is NULL",
                          !colours ? "colours" : !keys ? "keys" : "new_groups");
    struct split_wish mine[QUERN_RANK_LIMIT], all[QUERN_RANK_LIMIT];
    const void *payloads[QUERN_RANK_LIMIT];
    struct quern_membership *formed[QUERN_RANK_LIMIT] = {NULL};
    for (int i = 0; i < count; i++) {
        mine[i] = (struct split_wish){colours[i] < 0 ? -1 : colours[i], keys[i]};
        payloads[i] = &mine[i];
    }
    status = quern_exchange(members, count, QUERN_IN_SPLIT, payloads, sizeof *mine, all);
    if (status != QUERN_OK) return status;
    for (int colour = next_colour(members, count, all, -1); colour >= 0 && status == QUERN_OK;
         colour = next_colour(members, count, all, colour))
        status = form_colour(members, count, all, colour, formed);
    for (int i = 0; i < count; i++) members[i]->splits++;
    if (status != QUERN_OK) return give_up_split(members[0], status, formed, count);
    publish(formed, count, new_groups);
    return QUERN_OK;
}

/* ---- destroying, aborting, asking ---- */

quern_status quern_group_destroy(quern_group *group) {
    if (!group) return QUERN_OK;
    struct quern_membership *member = quern_take_member(group);
    if (!member) return quern_fail_no_group(group);
    QUERN_POINT(LEAVE_BEGUN);
    member->transport->detach(member);
    QUERN_POINT(LEAVE_DETACHED);
    leave(member);
    return QUERN_OK;
}

quern_status quern_group_abort(quern_group *group, const char *reason) {
    const struct quern_membership *member = quern_begin_visit(group);
    if (!member) return quern_fail_no_group(group);
    quern_poison_by_abort(member, reason);
    quern_end_visit(group);
    return QUERN_OK;
}

quern_status quern_group_status(quern_group *group) {
    struct quern_membership *member;
    quern_status status = quern_member_of(group, &member);
    return status == QUERN_OK ? quern_check_poison(member) : status;
}

quern_status quern_group_missing(const quern_group *group, uint64_t *mask, int words) {
    const struct quern_membership *member = quern_begin_visit(group);
    if (!member) return quern_fail_no_group(group);
    quern_status status = QUERN_OK;
    const int needed = (member->ranks + 63) / 64;
    if (!mask)
        status = quern_fail(member->device, QUERN_NULL_POINTER, "mask is NULL");
    else if (words < needed)
        status = quern_fail(member->device, QUERN_INVALID_ARGUMENT, "words is %d: expected at least %d for %d ranks", words, needed,
                            member->ranks);
    if (status == QUERN_OK) {
        uint32_t missing[QUERN_RANK_WORDS];
        quern_find_missing(member, missing);
        memset(mask, 0, (size_t)words * sizeof *mask);
        for (int word = 0; word < 2 * needed; word++) mask[word / 2] |= (uint64_t)missing[word] << word % 2 * 32;
    }
    quern_end_visit(group);
    return status;
}

int quern_group_rank(const quern_group *group) {
    const struct quern_membership *member = quern_begin_visit(group);
    if (!member) return -1;
    int rank = member->rank;
    quern_end_visit(group);
    return rank;
}

int quern_group_size(const quern_group *group) {
    const struct quern_membership *member = quern_begin_visit(group);
    if (!member) return -1;
    int ranks = member->ranks;
    quern_end_visit(group);
    return ranks;
}

/* ---- the report ---- */

size_t quern_group_report(const quern_group *group, char *buffer, size_t bytes) {
    const struct quern_membership *member = quern_begin_visit(group);
    if (!member) {
        quern_fail_no_group(group);
        return quern_error_detail(buffer, bytes);
    }
    struct quern_text text = quern_text_begin(buffer, buffer ? bytes : 0);
    for (int rank = 0; rank < member->ranks; rank++) {
        quern_describe_rank(&text, member, rank);
        quern_text_add(&text, "\n");
    }
    quern_report_poison(&text, member);
    quern_end_visit(group);
    return text.length;
}
