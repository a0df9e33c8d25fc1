/* The table of streams; opens and closes the span of a rank.  Called by hosts.c and span.c. */
#include "ranks/hosts/reach.h"

#include <poll.h>
#include <stdlib.h>

#include "os/sha256.h"
#include "ranks/hosts/connections.h"
#include "ranks/hosts/direct.h"
#include "ranks/hosts/relayed.h"
#include "ranks/hosts/sendrecv.h"
#include "ranks/hosts/socket_row.h"
#include "ranks/hosts/sockets.h"

static const struct quern_stream_row *const rows[] = {&quern_direct_streams, &quern_relayed_streams};

/* *why gets the reasons against the rows before it. */
static const struct quern_stream_row *choose_streams(const struct quern_roster *roster, struct quern_text *why) {
    size_t row = 0;
    while (!rows[row]->serves(roster, why)) row++;  /* the last one serves all */
    return rows[row];
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
    span->briefs = calloc(ranks, QUERN_BRIEF_BYTES);
    return span->socket && span->transfers && span->sent && span->received && span->channels && span->order && span->polls &&
           span->mailboxes && span->briefs;
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
    struct quern_text why = quern_text_begin(span->why_streams, sizeof span->why_streams);
    span->streams = choose_streams(member->roster, &why);
    span->row = &quern_socket_row;
    span->way = quern_socket_row.name;
    return span;
}

bool quern_open_span(struct quern_membership *member) {
    member->span = make_span(member);
    if (!member->span) return false;
    if (!member->span->streams->open || member->span->streams->open(member)) return true;
    free_arrays(member->span);
    member->span = NULL;
    return false;
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
        const bool reached = span->socket[rank] >= 0 || (span->relay && member->roster->peer[rank].is_elsewhere);
        if (reached && whole) quern_stream_put(member, QUERN_STREAM_CALLS, rank, &(struct iovec){&goodbye, sizeof goodbye}, 1);
        quern_socket_close(&span->socket[rank]);
        quern_socket_close(&span->transfers[rank]);
    }
    if (span->row->close) span->row->close(span, !whole || has_lost_rank(member));
    if (span->streams->close) span->streams->close(member);
    free_arrays(span);
    member->span = NULL;
}
