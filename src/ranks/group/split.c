/*
 * Splits a group into groups of its ranks.  A rank that ends may have no place in the new group yet, so the others look whether it
 * lives in the old one.  Called by engines.
 */
#include <stdlib.h>
#include <string.h>

#include "ranks/describe.h"
#include "ranks/group/group.h"
#include "ranks/handles.h"
#include "ranks/meeting.h"
#include "ranks/points.h"
#include "ranks/poison.h"
#include "ranks/seen_wait.h"
#include "runtime/status.h"

static void name_split(const struct quern_membership *member, int colour, char *buffer, size_t bytes) {
    struct quern_text text = quern_text_begin(buffer, bytes);
    quern_text_add(&text, QUERN_SPLIT);
    quern_add_number(&text, member->roster->id);
    quern_text_add(&text, ".%u.%d", member->splits, colour);
}

/* ---- ranks that end meanwhile ---- */

struct splitting {
    const struct quern_membership *parent;
    struct quern_colour colour;
};

/*
 * A rank that will not come; -1: none is known.  Each rank looks at the next one of its host, so that all are looked at, and at
 * what is known of other hosts, which is nothing new once the leader of this one has ended.
 */
static int find_ended(const struct splitting *splitting) {
    const struct quern_membership *parent = splitting->parent;
    const struct quern_roster *roster = parent->roster;
    const struct quern_colour *colour = &splitting->colour;
    const int place = quern_place_in_colour(colour, parent->rank);
    bool looked = false;
    if (parent->control && quern_rank_has_ended(roster, roster->host_leader)) return roster->host_leader;
    for (int i = 1; i < colour->ranks; i++) {
        const int rank = colour->numbers[(place + i) % colour->ranks];
        const struct quern_peer *peer = &roster->peer[rank];
        if (peer->is_here || (looked && !peer->is_elsewhere)) continue;
        if (quern_rank_has_ended(roster, rank)) return quern_lost_rank(roster, rank);
        looked |= !peer->is_elsewhere;
    }
    return -1;
}

/* If the parent group is poisoned, or a rank of it has ended, one will not come, so no other may wait for it. */
static quern_status check_parent(const void *user) {
    const struct splitting *splitting = user;
    const struct quern_membership *parent = splitting->parent;
    uint32_t missing[QUERN_GROUP_WORDS] = {0};
    char place[200];
    quern_status status = quern_check_poison(parent);
    const int ended = status == QUERN_OK ? find_ended(splitting) : -1;
    if (ended < 0) return status;
    struct quern_text text = quern_text_begin(place, sizeof place);
    quern_describe_place(&text, parent->roster, ended);
    quern_text_add(&text, ") ");
    quern_describe_end(&text, parent, ended, false);
    missing[ended / 32] = 1u << ended % 32;
    return quern_poison_missing(parent, QUERN_PEER_LOST, missing, "quern_group_split: rank %d (%s; rank %d waited for it", ended,
                                place, parent->rank);
}

/* ---- the colours ---- */

/* Forms the group of one colour with the calling thread's ranks of that colour. */
static quern_status form_colour(struct quern_membership *const *members, int count, const struct quern_split_wish *wishes,
                                const struct quern_colour *colour, struct quern_veto veto, struct quern_membership **formed) {
    quern_group_args args[QUERN_RANK_LIMIT];
    struct quern_membership *of_colour[QUERN_RANK_LIMIT];
    int index[QUERN_RANK_LIMIT], mine = 0;
    char name[96];
    name_split(members[0], colour->value, name, sizeof name);
    for (int i = 0; i < count; i++) {
        if (wishes[members[i]->rank].colour != colour->value) continue;
        args[mine] = quern_inherit_group(members[i]);
        args[mine].rank = quern_place_in_colour(colour, members[i]->rank);
        args[mine].ranks = colour->ranks;
        index[mine++] = i;
    }
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

/* The numbers of the ranks of all colours have room for each rank once. */
static quern_status form_colours(struct quern_membership *const *members, int count, const struct quern_split_wish *wishes,
                                 uint16_t *numbers, struct quern_membership **formed) {
    quern_status status = QUERN_OK;
    for (int colour = next_colour(members, count, wishes, -1); colour >= 0 && status == QUERN_OK;
         colour = next_colour(members, count, wishes, colour)) {
        const struct splitting splitting = {members[0], quern_list_colour(wishes, members[0]->ranks, colour, numbers)};
        const struct quern_veto veto = {check_parent, &splitting, numbers};
        status = members[0]->control ? quern_split_hosts(members[0], &splitting.colour, veto, formed)
                                     : form_colour(members, count, wishes, &splitting.colour, veto, formed);
        /* Whoever was lost there may have ended since it was the first to hear of the end of another one here. */
        const quern_status cause = status == QUERN_PEER_LOST ? check_parent(&splitting) : QUERN_OK;
        if (cause != QUERN_OK) status = cause;
        numbers += splitting.colour.ranks;
    }
    return status;
}

/*
 * A failed split poisons the parent group: other ranks may be waiting in it for this one.  Nobody has the new handles yet, nor
 * knows the name and the rank with which a detail of the new group begins.
 */
static quern_status give_up_split(const struct quern_membership *member, quern_status status, struct quern_membership **formed,
                                  int count) {
    char detail[900];
    quern_error_detail(detail, sizeof detail);
    const char *reason = strncmp(detail, "group " QUERN_SPLIT, sizeof "group " QUERN_SPLIT - 1) == 0 ? strstr(detail, ": ") : NULL;
    status = quern_poison(member, status, "quern_group_split: %s", reason ? reason + 2 : detail);
    for (int i = 0; i < count; i++)
        if (formed[i]) {
            formed[i]->transport->detach(formed[i]);
            quern_drop_members(&formed[i], 1);
        }
    return status;
}

/* After the wishes of all are known. */
static quern_status split_as_wished(struct quern_membership *const *members, int count, const struct quern_split_wish *wishes,
                          uint16_t *numbers, struct quern_membership **formed) {
    QUERN_POINT(SPLIT_WISHED);
    const bool attends = members[0]->control && wishes[members[0]->rank].colour < 0;
    const quern_status status = attends ? quern_attend_split(members[0]) : form_colours(members, count, wishes, numbers, formed);
    for (int i = 0; i < count; i++) members[i]->splits++;
    return status == QUERN_OK ? QUERN_OK : give_up_split(members[0], status, formed, count);
}

static quern_status split(quern_group *const *groups, int count, const int *colours, const int *keys, quern_group **new_groups,
                          struct quern_look *look) {
    struct quern_membership *members[QUERN_RANK_LIMIT];
    quern_status status = quern_members_of(groups, count, members);
    if (status != QUERN_OK) return status;
    quern_look_at_members(look, members, count);
    if (!colours || !keys || !new_groups)
        return quern_fail(members[0]->device, QUERN_NULL_POINTER, "%s is NULL",
                          !colours ? "colours" : !keys ? "keys" : "new_groups");
    struct quern_split_wish mine[QUERN_RANK_LIMIT], *all = malloc((size_t)members[0]->ranks * (sizeof *all + sizeof(uint16_t)));
    const void *payloads[QUERN_RANK_LIMIT];
    struct quern_membership *formed[QUERN_RANK_LIMIT] = {NULL};
    for (int i = 0; i < count; i++) {
        mine[i] = (struct quern_split_wish){colours[i] < 0 ? -1 : colours[i], keys[i]};
        payloads[i] = &mine[i];
    }
    if (!all) return quern_poison(members[0], QUERN_OUT_OF_MEMORY, "rank %d has no memory for a split", members[0]->rank);
    const quern_status met = status = quern_exchange(members, count, QUERN_IN_SPLIT, payloads, sizeof *mine, all);
    if (met == QUERN_OK) status = split_as_wished(members, count, all, (uint16_t *)(all + members[0]->ranks), formed);
    if (met == QUERN_OK && status == QUERN_OK) quern_publish_group(formed, count, new_groups);
    free(all);
    return status;
}

quern_status quern_group_split(quern_group *const *groups, int count, const int *colours, const int *keys,
                               quern_group **new_groups) {
    static const struct quern_view view = {.name = "group_split", .is_undumped = true};
    struct quern_look look;
    quern_begin_look(&look, &view, NULL, NULL);
    return quern_end_look(&look, split(groups, count, colours, keys, new_groups, &look));
}
