/* Says who is of this host, and where messages of others lie.  Called by hosts.c, span.c and the ragged all-to-all. */
#include "ranks/hosts/hosts.h"

unsigned char *quern_span_mailbox(const struct quern_membership *member, int rank) {
    return member->span->mailboxes + (size_t)rank * QUERN_MAILBOX_BYTES;
}

unsigned char *quern_span_eager(const struct quern_membership *member, int rank) {
    return member->span->eagers + (size_t)rank * QUERN_EAGER_BYTES;
}

struct quern_rank_set quern_local_part(const struct quern_membership *member, const struct quern_rank_set *set) {
    struct quern_rank_set part = {.count = 0};
    if (!member->span) return *set;
    for (int word = 0; word < quern_set_words(member->ranks); word++) {
        part.words[word] = set->words[word] & member->span->here.words[word];
        part.count += __builtin_popcount(part.words[word]);
    }
    return part;
}

bool quern_spans_hosts(const struct quern_membership *member, const struct quern_rank_set *set) {
    return member->span && quern_local_part(member, set).count < set->count;
}
