/* The table of ways; opens and closes the span of a rank.  Called by hosts.c and span.c. */
#include "ranks/hosts/reach.h"

#include <poll.h>
#include <stdlib.h>

#include "ranks/hosts/connections.h"
#include "ranks/hosts/direct.h"
#include "ranks/hosts/relayed.h"
#include "ranks/hosts/sendrecv.h"
#include "ranks/hosts/sockets.h"

static const struct quern_way *const ways[] = {&quern_direct_way, &quern_relayed_way};

/* *why gets the reasons against the ways before it. */
static const struct quern_way *choose_way(const struct quern_roster *roster, struct quern_text *why) {
    size_t row = 0;
    while (!ways[row]->serves(roster, why)) row++;  /* the last one serves all */
    return ways[row];
}

static void free_arrays(struct quern_span *span) {
    free(span->socket);
    free(span->transfers);
    free(span->sent);
    free(span->received);
    free(span->channels);
    free(span->order);
    free(span->polls);
    free(span->mailboxes);
    free(span->briefs);
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
    span->briefs = calloc(ranks, QUERN_BRIEF_BYTES);
    return span->socket && span->transfers && span->sent && span->received && span->channels && span->order && span->polls && span->mailboxes &&
           span->briefs;
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
    struct quern_text why = quern_text_begin(span->why, sizeof span->why);
    span->way = choose_way(member->roster, &why);
    return span;
}

bool quern_open_span(struct quern_membership *member) {
    member->span = make_span(member);
    if (!member->span) return false;
    if (!member->span->way->open || member->span->way->open(member)) return true;
    free_arrays(member->span);
    member->span = NULL;
    return false;
}

void quern_free_span(struct quern_membership *member) {
    struct quern_span *span = member->span;
    if (!span) return;
    const bool whole = __atomic_load_n(&member->segment->poison, __ATOMIC_ACQUIRE) == 0;  /* else a message may be half sent */
    for (int rank = 0; rank < member->ranks; rank++) {
        struct quern_frame goodbye = {.tag = QUERN_GOODBYE_TAG, .number = span->sent[rank]};
        const bool reached = span->socket[rank] >= 0 || (span->relay && member->roster->peer[rank].is_elsewhere);
        if (reached && whole) quern_stream_put(member, QUERN_STREAM_CALLS, rank, &(struct iovec){&goodbye, sizeof goodbye}, 1);
        quern_socket_close(&span->socket[rank]);
        quern_socket_close(&span->transfers[rank]);
    }
    if (span->way->close) span->way->close(member);
    free_arrays(span);
    member->span = NULL;
}
