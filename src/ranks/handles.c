/*
 * Handles of groups: publishing, looking up and retiring them, and checks of the arguments that all calls on groups share.
 * Called first by every public function that takes a group.
 */
#include "ranks/handles.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "ranks/poison.h"
#include "runtime/status.h"

/* ---- handles ---- */

/* All handles ever made: dlclose frees them, and leak checkers do not report the destroyed ones. */
static struct {
    pthread_mutex_t lock;
    struct quern_group *first;
} handles = {.lock = PTHREAD_MUTEX_INITIALIZER};

quern_group *quern_publish_handle(struct quern_membership *member) {
    struct quern_group *handle = member->handle;
    *handle = (struct quern_group){.member = member};
    pthread_mutex_lock(&handles.lock);
    handle->next = handles.first;
    handles.first = handle;
    pthread_mutex_unlock(&handles.lock);
    return handle;
}

quern_group *quern_drop_handle(void) {
    quern_group *handle = handles.first;
    if (handle) handles.first = handle->next;
    return handle;
}

quern_status quern_fail_no_group(const quern_group *group) {
    if (!group) return quern_fail(NULL, QUERN_NULL_POINTER, "group is NULL");
    const struct quern_membership *member = __atomic_load_n(&group->member, __ATOMIC_ACQUIRE);
    if (member)
        return quern_fail(NULL, QUERN_INVALID_ARGUMENT, "the group's handle was created in process %d, whose child this process is",
                          member->roster->self.pid);
    return quern_fail(NULL, QUERN_INVALID_ARGUMENT, "the group's handle was destroyed before");
}

/* In a forked child the rank is its parent. */
static struct quern_membership *own_member(const quern_group *group) {
    struct quern_membership *member = group ? __atomic_load_n(&group->member, __ATOMIC_SEQ_CST) : NULL;
    return member && !member->roster->is_inherited ? member : NULL;
}

quern_status quern_check_creator(const quern_group *group) {
    const struct quern_membership *member = quern_begin_visit(group);
    if (!member) return __atomic_load_n(&group->member, __ATOMIC_ACQUIRE) ? quern_fail_no_group(group) : QUERN_OK;
    const bool is_own = quern_is_own_roster(member->roster);
    quern_end_visit(group);
    return is_own ? QUERN_OK : quern_fail_no_group(group);
}

quern_status quern_member_of(const quern_group *group, struct quern_membership **member) {
    *member = own_member(group);
    return *member ? QUERN_OK : quern_fail_no_group(group);
}

struct quern_membership *quern_begin_visit(const quern_group *group) {
    struct quern_group *handle = (struct quern_group *)group;
    if (!handle) return NULL;
    __atomic_add_fetch(&handle->visitors, 1, __ATOMIC_SEQ_CST);
    struct quern_membership *member = own_member(handle);
    if (!member) __atomic_sub_fetch(&handle->visitors, 1, __ATOMIC_RELAXED);
    return member;
}

void quern_end_visit(const quern_group *group) {
    __atomic_sub_fetch(&((struct quern_group *)group)->visitors, 1, __ATOMIC_RELEASE);
}

struct quern_membership *quern_take_member(quern_group *group) {
    const struct quern_membership *visited = quern_begin_visit(group);
    if (!visited) return NULL;
    const bool is_own = quern_is_own_roster(visited->roster);
    quern_end_visit(group);
    if (!is_own) return NULL;
    struct quern_membership *member = __atomic_exchange_n(&group->member, NULL, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&group->visitors, __ATOMIC_SEQ_CST)) sched_yield();
    return member;
}

quern_status quern_members_even_poisoned(quern_group *const *groups, int count,
                                         struct quern_membership *members[QUERN_RANK_LIMIT]) {
    if (!groups) return quern_fail(NULL, QUERN_NULL_POINTER, "groups is NULL");
    if (count < 1 || count > QUERN_RANK_LIMIT)
        return quern_fail(NULL, QUERN_INVALID_ARGUMENT, "count is %d: expected 1 to %d handles", count, QUERN_RANK_LIMIT);
    for (int i = 0; i < count; i++) {
        quern_status status = quern_member_of(groups[i], &members[i]);
        if (status != QUERN_OK) return status;
        if (members[i]->segment != members[0]->segment)
            return quern_fail(NULL, QUERN_INVALID_ARGUMENT, "groups[%d] is of another group than groups[0]", i);
        for (int j = 0; j < i; j++)
            if (members[j] == members[i])
                return quern_fail(NULL, QUERN_INVALID_ARGUMENT, "groups[%d] is the same handle as groups[%d]", i, j);
    }
    if (count > 1 && members[0]->device->kind == QUERN_CPU)
        return quern_fail(NULL, QUERN_INVALID_ARGUMENT, "count is %d: a thread is one CPU rank, so pass its one handle", count);
    return QUERN_OK;
}

quern_status quern_members_of(quern_group *const *groups, int count, struct quern_membership *members[QUERN_RANK_LIMIT]) {
    quern_status status = quern_members_even_poisoned(groups, count, members);
    return status == QUERN_OK ? quern_check_poison(members[0]) : status;
}

/* ---- checks that calls on groups share ---- */

quern_status quern_check_members(const struct quern_membership *member, const int *members, int count, struct quern_rank_set *set) {
    const size_t words = (size_t)quern_set_words(member->ranks);
    if (!members) {
        memcpy(set->words, member->everyone.words, words * sizeof *set->words);
        set->count = member->ranks;
        return QUERN_OK;
    }
    if (count < 1 || count > member->ranks)
        return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "args.member_count is %d: expected 1 to %d, the group's ranks",
                          count, member->ranks);
    memset(set->words, 0, words * sizeof *set->words);
    set->count = 0;
    for (int i = 0; i < count; i++) {
        if (members[i] < 0 || members[i] >= member->ranks)
            return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "members[%d] is %d: expected a rank from 0 to %d", i,
                              members[i], member->ranks - 1);
        if (i && members[i] <= members[i - 1])
            return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "members[%d] is %d after %d: expected ascending ranks", i,
                              members[i], members[i - 1]);
        quern_set_add(set, members[i]);
    }
    if (quern_set_has(set, member->rank)) return QUERN_OK;
    return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "the %d members do not include the calling rank, %d", count,
                      member->rank);
}

int quern_number_places(const struct quern_membership *member, const struct quern_rank_set *set, uint16_t *rank_at, int *place) {
    int places = 0;
    for (int rank = 0; rank < member->ranks; rank++) {
        if (!quern_set_has(set, rank)) continue;
        if (rank == member->rank) *place = places;
        rank_at[places++] = (uint16_t)rank;
    }
    return places;
}

quern_status quern_check_timeout(const struct quern_membership *member, double timeout, double *limit) {
    __atomic_load(&member->timeout, limit, __ATOMIC_RELAXED);  /* a wait for chunks may be another thread's */
    if (timeout > 0) *limit = timeout;
    if (timeout >= 0) return QUERN_OK;
    return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "timeout is %g: expected seconds, 0 or more", timeout);
}
