/* Opens and closes the span of a rank.  Called by hosts.c and span.c. */
#include "ranks/hosts/hosts.h"

#include <poll.h>
#include <stdlib.h>

#include "os/sha256.h"

static void free_arrays(struct quern_span *span) {
    free(span->socket);
    free(span->transfers);
    free(span->sent);
    free(span->received);
    free(span->channels);
    free(span->order);
    free(span->polls);
    free(span->mailboxes);
    free(span->eagers);
    quern_wipe(span->key, sizeof span->key);
    free(span);
}

static bool make_arrays(struct quern_span *span, size_t ranks) {
    span->socket = malloc(ranks * sizeof *span->socket);
    span->transfers = malloc(ranks * sizeof *span->transfers);
    span->sent = calloc(ranks, sizeof *span->sent);
    span->received = calloc(ranks, sizeof *span->received);
    span->channels = calloc(ranks, sizeof *span->channels);
    span->order = calloc(ranks, sizeof *span->order);
    span->polls = calloc(ranks, sizeof *span->polls);
    span->mailboxes = calloc(ranks, QUERN_MAILBOX_BYTES);
    span->eagers = calloc(ranks, QUERN_EAGER_BYTES);
    return span->socket && span->transfers && span->sent && span->received && span->channels && span->order && span->polls &&
           span->mailboxes && span->eagers;
}

static struct quern_span *make_span(const struct quern_membership *member) {
    struct quern_span *span = calloc(1, sizeof *span);
    if (!span) return NULL;
    if (!make_arrays(span, (size_t)member->ranks)) {
        free_arrays(span);
        return NULL;
    }
    for (int rank = 0; rank < member->ranks; rank++) {
        span->socket[rank] = span->transfers[rank] = -1;
        if (!member->roster->peer[rank].is_elsewhere) quern_set_add(&span->here, rank);
    }
    span->row = &quern_socket_row;
    span->transport = quern_socket_row.name;
    return span;
}

bool quern_open_span(struct quern_membership *member) {
    member->span = make_span(member);
    return member->span;
}

/* One that has ended without a word of it in this group. */
static bool has_lost_rank(const struct quern_membership *member) {
    for (int rank = 0; rank < member->ranks; rank++)
        if (member->roster->peer[rank].is_elsewhere && !quern_rank_lives(member->roster, rank)) return true;
    return false;
}

void quern_free_span(struct quern_membership *member) {
    struct quern_span *span = member->span;
    if (!span) return;
    const bool whole = __atomic_load_n(&member->segment->poison, __ATOMIC_ACQUIRE) == 0;  /* else a message may be half sent */
    for (int rank = 0; rank < member->ranks; rank++) {
        struct quern_frame goodbye = {.tag = QUERN_GOODBYE_TAG, .number = span->sent[rank]};
        if (span->socket[rank] >= 0 && whole)
            quern_socket_put(span->socket[rank], &(struct iovec){&goodbye, sizeof goodbye}, 1);
        quern_socket_close(&span->socket[rank]);
        quern_socket_close(&span->transfers[rank]);
    }
    if (span->row->close) span->row->close(span, !whole || has_lost_rank(member));
    free_arrays(span);
    member->span = NULL;
}
