/*
 * Makes and closes the connections of a rank, and says who is of this host.  Called by hosts.c, span.c and the ragged all-to-all.
 */
#define _GNU_SOURCE
#include "ranks/hosts/connections.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "ranks/hosts/rows.h"
#include "ranks/hosts/sockets.h"

unsigned char *quern_span_mailbox(const struct quern_membership *member, int rank) {
    return member->span->mailboxes + (size_t)rank * QUERN_MAILBOX_BYTES;
}

unsigned char *quern_span_brief(const struct quern_membership *member, int rank) {
    return member->span->briefs + (size_t)rank * QUERN_BRIEF_BYTES;
}

struct quern_span *quern_make_span(const struct quern_membership *member) {
    const size_t ranks = (size_t)member->ranks;
    struct quern_span *span = calloc(1, sizeof *span);
    if (!span) return NULL;
    span->mailboxes = aligned_alloc(128, ranks * QUERN_MAILBOX_BYTES);
    span->briefs = aligned_alloc(128, ranks * QUERN_BRIEF_BYTES);
    if (!span->mailboxes || !span->briefs) {
        free(span->mailboxes);
        free(span->briefs);
        free(span);
        return NULL;
    }
    memset(span->mailboxes, 0, ranks * QUERN_MAILBOX_BYTES);
    memset(span->briefs, 0, ranks * QUERN_BRIEF_BYTES);
    for (int rank = 0; rank < QUERN_RANK_LIMIT; rank++) span->socket[rank] = span->transfers[rank] = -1;
    for (int rank = 0; rank < member->ranks; rank++)
        if (!member->roster->peer[rank].is_elsewhere) quern_set_add(&span->here, rank);
    return span;
}

void quern_free_span(struct quern_membership *member) {
    struct quern_span *span = member->span;
    if (!span) return;
    const bool whole = __atomic_load_n(&member->segment->poison, __ATOMIC_ACQUIRE) == 0;  /* else a message may be half sent */
    for (int rank = 0; rank < member->ranks; rank++) {
        const struct quern_frame goodbye = {.tag = QUERN_GOODBYE_TAG, .number = span->sent[rank]};
        if (span->socket[rank] >= 0 && whole) send(span->socket[rank], &goodbye, sizeof goodbye, MSG_NOSIGNAL | MSG_DONTWAIT);
        quern_socket_close(&span->socket[rank]);
        quern_socket_close(&span->transfers[rank]);
    }
    if (span->row->close) span->row->close(span, !whole);
    free(span->mailboxes);
    free(span->briefs);
    free(span);
    member->span = NULL;
}

struct quern_rank_set quern_local_part(const struct quern_membership *member, const struct quern_rank_set *set) {
    struct quern_rank_set part = {.count = 0};
    if (!member->span) return *set;
    for (int word = 0; word < QUERN_RANK_WORDS; word++) {
        part.words[word] = set->words[word] & member->span->here.words[word];
        part.count += __builtin_popcount(part.words[word]);
    }
    return part;
}

bool quern_spans_hosts(const struct quern_membership *member, const struct quern_rank_set *set) {
    return member->span && quern_local_part(member, set).count < set->count;
}
