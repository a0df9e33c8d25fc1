/* Opens and closes the net of a rank.  Called by hosts.c and net.c. */
#include "ranks/hosts/hosts.h"

#include <poll.h>
#include <stdlib.h>

#include "os/sha256.h"

static void free_arrays(struct quern_net *net) {
    free(net->socket);
    free(net->transfers);
    free(net->sent);
    free(net->received);
    free(net->channels);
    free(net->order);
    free(net->polls);
    free(net->mailboxes);
    free(net->eager_buffers);
    quern_wipe(net->key, sizeof net->key);
    free(net);
}

static bool make_arrays(struct quern_net *net, size_t ranks) {
    net->socket = malloc(ranks * sizeof *net->socket);
    net->transfers = malloc(ranks * sizeof *net->transfers);
    net->sent = calloc(ranks, sizeof *net->sent);
    net->received = calloc(ranks, sizeof *net->received);
    net->channels = calloc(ranks, sizeof *net->channels);
    net->order = calloc(ranks, sizeof *net->order);
    net->polls = calloc(ranks, sizeof *net->polls);
    net->mailboxes = calloc(ranks, QUERN_MAILBOX_BYTES);
    net->eager_buffers = calloc(ranks, QUERN_EAGER_BYTES);
    return net->socket && net->transfers && net->sent && net->received && net->channels && net->order && net->polls &&
           net->mailboxes && net->eager_buffers;
}

static struct quern_net *make_net(const struct quern_membership *member) {
    struct quern_net *net = calloc(1, sizeof *net);
    if (!net) return NULL;
    if (!make_arrays(net, (size_t)member->ranks)) {
        free_arrays(net);
        return NULL;
    }
    for (int rank = 0; rank < member->ranks; rank++) {
        net->socket[rank] = net->transfers[rank] = -1;
        if (!member->roster->peer[rank].is_elsewhere) quern_set_add(&net->here, rank);
    }
    net->row = &quern_socket_row;
    net->transport = quern_socket_row.name;
    return net;
}

bool quern_open_net(struct quern_membership *member) {
    member->net = make_net(member);
    return member->net;
}

/* One that has ended without a word of it in this group. */
static bool has_lost_rank(const struct quern_membership *member) {
    for (int rank = 0; rank < member->ranks; rank++)
        if (member->roster->peer[rank].is_elsewhere && !quern_rank_lives(member->roster, rank)) return true;
    return false;
}

void quern_free_net(struct quern_membership *member) {
    struct quern_net *net = member->net;
    if (!net) return;
    const bool whole = __atomic_load_n(&member->segment->poison, __ATOMIC_ACQUIRE) == 0;  /* else a message may be half sent */
    for (int rank = 0; rank < member->ranks; rank++) {
        struct quern_frame goodbye = {.tag = QUERN_GOODBYE_TAG, .number = net->sent[rank]};
        if (net->socket[rank] >= 0 && whole)
            quern_socket_put(net->socket[rank], &(struct iovec){&goodbye, sizeof goodbye}, 1);
        quern_socket_close(&net->socket[rank]);
        quern_socket_close(&net->transfers[rank]);
    }
    if (net->row->close) net->row->close(net, !whole || has_lost_rank(member));
    free_arrays(net);
    member->net = NULL;
}
