/* Splits a group into groups of its ranks.  Called by engines. */
#include <stdlib.h>

#include "ranks/group/form.h"
#include "ranks/group/split_hosts.h"
#include "ranks/handles.h"
#include "ranks/meeting.h"
#include "ranks/poison.h"
#include "runtime/status.h"

static void name_split(const struct quern_membership *member, int colour, char *buffer, size_t bytes) {
    struct quern_text text = quern_text_begin(buffer, bytes);
    quern_text_add(&text, "split.");
    quern_add_number(&text, member->roster->id);
    quern_text_add(&text, ".%u.%d", member->splits, colour);
}

/* If the parent group is poisoned, a rank of it will not come, so no other may wait for it. */
static quern_status check_parent(const void *parent) { return quern_check_poison(parent); }

/* Forms the group of one colour with the calling thread's ranks of that colour. */
static quern_status form_colour(struct quern_membership *const *members, int count, const struct quern_split_wish *wishes,
                                int colour, struct quern_membership **formed) {
    quern_group_args args[QUERN_RANK_LIMIT];
    struct quern_membership *of_colour[QUERN_RANK_LIMIT];
    int index[QUERN_RANK_LIMIT], mine = 0;
    char name[96];
    name_split(members[0], colour, name, sizeof name);
    for (int i = 0; i < count; i++) {
        if (wishes[members[i]->rank].colour != colour) continue;
        args[mine] = (quern_group_args)QUERN_GROUP_ARGS_INIT;
        args[mine].rank = quern_place_in_colour(wishes, members[i]->ranks, members[i]->rank, &args[mine].ranks);
        args[mine].device = members[i]->device;
        args[mine].timeout = members[i]->steady_timeout;
        args[mine].first_timeout = members[i]->first_timeout;
        args[mine].share_gpu = members[i]->share_gpu;
        args[mine].multicast = members[i]->multicast;
        index[mine++] = i;
    }
    const struct quern_veto veto = {check_parent, members[0]};
    quern_status status = quern_form_group(args, mine, name, veto, of_colour);
    for (int i = 0; i < mine && status == QUERN_OK; i++) formed[index[i]] = of_colour[i];
    return status;
}

/* The next colour above `last` among the thread's ranks; -1: none.  The same order in all threads prevents a deadlock. */
static int next_colour(struct quern_membership *const *members, int count, const struct quern_split_wish *wishes, int last) {
    int next = -1;
    for (int i = 0; i < count; i++) {
        int colour = wishes[members[i]->rank].colour;
        if (colour > last && (next < 0 || colour < next)) next = colour;
    }
    return next;
}

static quern_status form_colours(struct quern_membership *const *members, int count, const struct quern_split_wish *wishes,
                                 struct quern_membership **formed) {
    quern_status status = QUERN_OK;
    for (int colour = next_colour(members, count, wishes, -1); colour >= 0 && status == QUERN_OK;
         colour = next_colour(members, count, wishes, colour))
        status = form_colour(members, count, wishes, colour, formed);
    return status;
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
            quern_drop_members(&formed[i], 1);
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
    struct quern_split_wish mine[QUERN_RANK_LIMIT], *all = malloc((size_t)members[0]->ranks * sizeof *all);
    const void *payloads[QUERN_RANK_LIMIT];
    struct quern_membership *formed[QUERN_RANK_LIMIT] = {NULL};
    for (int i = 0; i < count; i++) {
        mine[i] = (struct quern_split_wish){colours[i] < 0 ? -1 : colours[i], keys[i]};
        payloads[i] = &mine[i];
    }
    if (!all) return quern_poison(members[0], QUERN_OUT_OF_MEMORY, "rank %d has no memory for a split", members[0]->rank);
    const quern_status met = status = quern_exchange(members, count, QUERN_IN_SPLIT, payloads, sizeof *mine, all);
    if (met == QUERN_OK && members[0]->control)
        status = quern_split_hosts(members[0], all, (struct quern_veto){check_parent, members[0]}, formed);
    else if (met == QUERN_OK)
        status = form_colours(members, count, all, formed);
    free(all);
    if (met != QUERN_OK) return met;
    for (int i = 0; i < count; i++) members[i]->splits++;
    if (status != QUERN_OK) return give_up_split(members[0], status, formed, count);
    quern_publish_group(formed, count, new_groups);
    return QUERN_OK;
}
