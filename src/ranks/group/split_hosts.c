/*
 * The ranks of a colour meet as those of any group of several hosts do whose engine has an all-gather: here it is the parent group,
 * whose key is the secret.  Each pair gets a connection of its own for the new group, so that the groups do not wait for each
 * other.  A colour of one host gets a plain group.  Called by split.c.
 */
#include "ranks/group/group.h"

#include <stdlib.h>
#include <string.h>

#include "os/sha256.h"
#include "ranks/hosts/hosts.h"
#include "ranks/meeting.h"
#include "runtime/status.h"

struct quern_colour quern_list_colour(const struct quern_split_wish *wishes, int all, int value, uint16_t *numbers) {
    int count = 0;
    for (int rank = 0; rank < all; rank++) {
        if (wishes[rank].colour != value) continue;
        int at = count++;
        for (; at > 0 && wishes[numbers[at - 1]].key > wishes[rank].key; at--) numbers[at] = numbers[at - 1];
        numbers[at] = (uint16_t)rank;
    }
    return (struct quern_colour){value, count, numbers};
}

int quern_place_in_colour(const struct quern_colour *colour, int rank) {
    int place = 0;
    while (colour->numbers[place] != rank) place++;
    return place;
}

/* ---- the parent's all-gather ---- */

struct parent {
    struct quern_membership *member;
    const struct quern_colour *colour;
};

/* All ranks of the parent take part, and each keeps what is of its colour. */
static int gather_over_parent(void *user, const void *mine, size_t bytes, void *all) {
    const struct parent *parent = user;
    struct quern_membership *member = parent->member;
    char *parts = malloc((size_t)member->ranks * bytes);
    quern_status status = parts ? quern_exchange(&parent->member, 1, QUERN_IN_SPLIT, &mine, bytes, parts) : QUERN_OUT_OF_MEMORY;
    for (int rank = 0; rank < parent->colour->ranks && status == QUERN_OK; rank++)
        memcpy((char *)all + (size_t)rank * bytes, parts + (size_t)parent->colour->numbers[rank] * bytes, bytes);
    free(parts);
    return (int)status;
}

quern_status quern_attend_split(struct quern_membership *member) {
    const size_t bytes = quern_gather_bytes;
    char *nothing = calloc((size_t)member->ranks + 1, bytes);
    const void *mine = nothing;
    if (!nothing) return quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for a group");
    quern_status status = quern_exchange(&member, 1, QUERN_IN_SPLIT, &mine, bytes, nothing + bytes);
    free(nothing);
    return status;
}

/* ---- the new group ---- */

/* The same on all hosts, and not known to others before. */
static void name_child(const struct quern_membership *member, int colour, char *buffer, size_t bytes) {
    unsigned char code[QUERN_DIGEST_BYTES];
    struct quern_text text = quern_text_begin(buffer, bytes);
    quern_hmac(member->net->key, sizeof member->net->key, &(struct quern_part){"split", 5}, 1, code);
    quern_text_add(&text, QUERN_SPLIT);
    quern_add_number(&text, code);
    quern_text_add(&text, ".%u.%d", member->splits, colour);
}

static int count_here(const struct quern_membership *member, const struct quern_colour *colour) {
    int here = 0;
    for (int rank = 0; rank < colour->ranks; rank++) here += !member->roster->peer[colour->numbers[rank]].is_elsewhere;
    return here;
}

quern_status quern_split_hosts(struct quern_membership *member, const struct quern_colour *colour, struct quern_veto veto,
                               struct quern_membership **formed) {
    struct parent parent = {member, colour};
    char name[96], host[16], at[QUERN_ADDRESS_TEXT];
    struct quern_text text = quern_text_begin(host, sizeof host);
    quern_group_args args = quern_inherit_group(member);
    quern_hosts_args hosts = QUERN_HOSTS_ARGS_INIT;
    quern_text_add(&text, "host%d", member->roster->peer[member->rank].host);
    name_child(member, colour->value, name, sizeof name);
    quern_address_write(&member->address, false, at);
    args.rank = quern_place_in_colour(colour, member->rank);
    args.ranks = colour->ranks;
    args.hosts = &hosts;
    hosts.host_ranks = count_here(member, colour);
    hosts.meet = quern_address_is_any(&member->address) ? NULL : at;
    hosts.host = host;
    hosts.secret = member->net->key;
    hosts.secret_bytes = sizeof member->net->key;
    hosts.all_gather = gather_over_parent;
    hosts.all_gather_user = &parent;
    hosts.failure_timeout = member->failure_timeout * 1e-6;
    struct quern_membership *child;
    quern_status status = quern_form_group(&args, 1, name, veto, &child);
    if (status != QUERN_OK) return status;
    if (child->net && member->net->messages) {
        struct quern_text why = quern_text_begin(child->net->why, sizeof child->net->why);
        quern_text_add(&why, "%s: the group is split off another one, whose numbers its ranks have there", member->net->transport);
    }
    *formed = child;
    return QUERN_OK;
}
