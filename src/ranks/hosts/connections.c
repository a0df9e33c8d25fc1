/* Says who is of this host, and where messages of others lie.  Called by hosts.c, net.c and the ragged all-to-all. */
#include "ranks/hosts/hosts.h"

unsigned char *quern_net_mailbox(const struct quern_membership *member, int rank) {
    return member->net->mailboxes + (size_t)rank * QUERN_MAILBOX_BYTES;
}

unsigned char *quern_net_eager(const struct quern_membership *member, int rank) {
    return member->net->eager_buffers + (size_t)rank * QUERN_EAGER_BYTES;
}

struct quern_rank_set quern_local_part(const struct quern_membership *member, const struct quern_rank_set *set) {
    struct quern_rank_set part = {.count = 0};
    if (!member->net) return *set;
    for (int word = 0; word < quern_set_words(member->ranks); word++) {
        part.words[word] = set->words[word] & member->net->here.words[word];
        part.count += __builtin_popcount(part.words[word]);
    }
    return part;
}

bool quern_spans_hosts(const struct quern_membership *member, const struct quern_rank_set *set) {
    return member->net && quern_local_part(member, set).count < set->count;
}
