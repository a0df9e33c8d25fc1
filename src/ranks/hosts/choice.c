/*
 * Chooses the transport of data between hosts.  All ranks try the same rows in the same order, and agree after each, so that all
 * take the same one.  Called while a group is created.
 */
#include "ranks/hosts/hosts.h"
#include "ranks/hosts/ucx.h"

#include <string.h>

#include "ranks/agreement.h"
#include "ranks/describe.h"
#include "ranks/poison.h"
#include "runtime/status.h"

/* ---- the rows ---- */

static quern_status open_carrier(struct quern_membership *member, uint64_t *digest) {
    const quern_carrier *carrier = &member->carrier;
    for (int rank = 0; rank < member->ranks && !carrier->threads; rank++)
        if (rank != member->rank && member->roster->peer[rank].is_here)
            return quern_fail(member->device, QUERN_NOT_SUPPORTED,
                              "it is in one process with rank %d, and one thread at a time may be "
                              "inside the functions of %s", rank, carrier->name);
    *digest = quern_carrier_digest(carrier);
    member->net->messages = quern_make_messages(carrier, member->ranks, NULL);
    return member->net->messages ? QUERN_OK : quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for messages");
}

static quern_status open_ucx(struct quern_membership *member, uint64_t *digest) {
    struct quern_ucx *ucx;
    quern_status status = quern_ucx_open(member, &ucx);
    if (status != QUERN_OK) return status;
    const quern_carrier carrier = quern_ucx_carrier(ucx);
    *digest = quern_carrier_digest(&carrier);
    member->net->messages = quern_make_messages(&carrier, member->ranks, quern_ucx_close);
    if (member->net->messages) return QUERN_OK;
    quern_ucx_close(ucx, false);
    return quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for messages");
}

static quern_status connect_ucx(struct quern_membership *member) {
    return quern_ucx_connect(member, quern_messages_user(member->net->messages));
}

uint32_t quern_most_over_sockets = 64;

static quern_status open_sockets(struct quern_membership *member, uint64_t *digest) {
    (void)digest;
    if ((uint32_t)member->ranks <= quern_most_over_sockets || member->here == member->ranks) return QUERN_OK;
    return quern_fail(member->device, QUERN_NOT_SUPPORTED, "%d ranks of several hosts: sockets serve up to %u; set carrier "
                      "(include/quern_mpi.h has MPI's) or transports=\"ucx\"", member->ranks, quern_most_over_sockets);
}

static const struct {
    uint32_t transport;
    const char *name;                  /* NULL: the carrier's */
    const struct quern_data_row *row;
    quern_status (*open)(struct quern_membership *member, uint64_t *digest);
    quern_status (*connect)(struct quern_membership *member);  /* collective, when all have opened it; NULL: nothing is left */
} rows[] = {
    {QUERN_TRANSPORT_CARRIER, NULL, &quern_message_row, open_carrier, NULL},
    {QUERN_TRANSPORT_UCX, "ucx", &quern_message_row, open_ucx, connect_ucx},
    {QUERN_TRANSPORT_SOCKETS, "sockets", &quern_socket_row, open_sockets, NULL},
};

enum { ROWS = sizeof rows / sizeof *rows };

static const char *name_of(const struct quern_membership *member, int row) {
    return rows[row].name ? rows[row].name : *member->carrier_name ? member->carrier_name : "a carrier";
}

/* ---- what a rank allows ---- */

static uint32_t transport_called(const quern_hosts_args *hosts, const char *word, size_t length) {
    for (int row = 0; row < ROWS; row++) {
        const char *name = rows[row].name ? rows[row].name : hosts->carrier ? hosts->carrier->name : "";
        if (strlen(name) == length && memcmp(name, word, length) == 0) return rows[row].transport;
    }
    return 0;
}

const char *quern_read_transports(const quern_hosts_args *hosts, uint32_t *transports) {
    *transports = hosts->transports ? 0 : QUERN_TRANSPORT_SOCKETS | (hosts->carrier ? QUERN_TRANSPORT_CARRIER : 0);
    for (const char *at = hosts->transports; at; at = *at ? at + 1 : NULL) {
        const size_t bytes = strcspn(at, ",");
        const uint32_t transport = bytes ? transport_called(hosts, at, bytes) : 0;
        if (!transport) return at;
        *transports |= transport;
        at += bytes;
    }
    return NULL;
}

quern_status quern_check_transports(struct quern_membership *member) {
    const bool is_over_sockets = member->device->kind == QUERN_CPU && member->transports == QUERN_TRANSPORT_SOCKETS;
    return is_over_sockets ? open_sockets(member, NULL) : QUERN_OK;
}

/* ---- choosing ---- */

/* The transports that any rank allows: none else is tried. */
static uint32_t all_transports(const struct quern_membership *member) {
    uint32_t transports = 0;
    for (int rank = 0; rank < member->ranks; rank++) transports |= member->roster->peer[rank].transports;
    return transports;
}

/* Why the ranks do not take a row of which all have voted; false: they do. */
static bool find_fault(const struct quern_membership *member, struct quern_text *why) {
    for (int rank = 0; rank < member->ranks; rank++) {
        const struct quern_vote *vote = &member->heard[rank];
        char reason[sizeof vote->reason];
        quern_copy_text(reason, vote->reason, sizeof reason);
        if (vote->status != QUERN_OK) quern_text_add(why, "rank %d: %s", rank, reason);
        else if (vote->value != member->heard[0].value) quern_text_add(why, "rank %d has other tags or sizes than rank 0", rank);
        else continue;
        return true;
    }
    return false;
}

/* Votes on a step.  *is_good: it has succeeded on all ranks; else the reason is appended to *why. */
static quern_status vote(struct quern_membership *member, quern_status step, uint64_t digest, struct quern_text *why,
                         bool *is_good) {
    *is_good = false;
    quern_cast_vote(member, step, digest);
    quern_status status = quern_agree(&member, 1, QUERN_IN_CREATE);
    if (quern_check_poison(member) != QUERN_OK) return status;
    *is_good = !find_fault(member, why);
    return QUERN_OK;
}

/* Tries one row with all ranks.  *is_taken: they have taken it. */
static quern_status try_row(struct quern_membership *member, int row, struct quern_text *why, bool *is_taken) {
    struct quern_net *net = member->net;
    uint64_t digest = 0;
    quern_status status = member->transports & rows[row].transport
                              ? rows[row].open(member, &digest)
                              : quern_fail(member->device, QUERN_NOT_SUPPORTED, "its transports do not name it");
    quern_text_add(why, "%s%s: ", why->length ? "; " : "", name_of(member, row));
    status = vote(member, status, digest, why, is_taken);
    if (status == QUERN_OK && *is_taken && rows[row].connect) status = vote(member, rows[row].connect(member), 0, why, is_taken);
    if (status == QUERN_OK && *is_taken) {
        net->row = rows[row].row;
        net->transport = name_of(member, row);
    } else if (rows[row].row->close) {
        rows[row].row->close(net, false);
    }
    return status;
}

quern_status quern_choose_transport(struct quern_membership *member) {
    char reasons[700];
    struct quern_text why = quern_text_begin(reasons, sizeof reasons);
    const uint32_t transports = all_transports(member);
    quern_status status = QUERN_OK;
    if (transports == QUERN_TRANSPORT_SOCKETS) return QUERN_OK;
    for (int row = 0; row < ROWS && status == QUERN_OK; row++) {
        const size_t before = why.length;
        bool is_taken = false;
        if (!(transports & rows[row].transport)) continue;
        status = try_row(member, row, &why, &is_taken);
        if (!is_taken) continue;
        reasons[before < sizeof reasons ? before : sizeof reasons - 1] = 0;
        quern_copy_text(member->net->why, reasons, sizeof member->net->why);
        return QUERN_OK;
    }
    if (status != QUERN_OK) return status;
    return quern_fail(member->device, QUERN_NOT_SUPPORTED, "%s: no transport for data between the hosts: %s", member->label,
                      reasons);
}
