/*
 * Groups of CPU ranks for engines that MPI has launched, on one or several hosts.  Header only: the engine compiles it with its own
 * mpicc, and the library knows no MPI.
 *
 *   quern_group_args join = QUERN_GROUP_ARGS_INIT;
 *   join.device = device;
 *   if (quern_join_from_mpi(MPI_COMM_WORLD, &join) == MPI_SUCCESS) status = quern_group_create(&join, 1, &group);
 *
 * Collective over the communicator, as is quern_group_create then, which gathers once over it: no other collective call on it
 * may be under way.  Sets rank, ranks, job and hosts, and name if it is NULL.  hosts becomes a copy of the struct that it pointed to, if
 * any, with host_ranks, secret, all_gather and, unless it was set, host: the ranks that MPI finds to share memory are of one host.
 * secret and job are random numbers of rank 0.  If all ranks are of one host, hosts becomes NULL: the group needs no network, and its
 * devices may be GPUs.  What the fields point to lives as long as the communicator.
 *
 *   quern_carrier_from_mpi(MPI_COMM_WORLD, &join);       between the two: MPI also carries the data between hosts
 *   quern_free_mpi_carrier(&join);                       after quern_group_destroy
 *
 * quern_carrier_from_mpi is collective over the same communicator, of which it makes a duplicate for one group.  It sets the carrier in
 * a copy of hosts that it owns, and does nothing for ranks of one host.  The
 * group then calls MPI on the thread that is in a call of it, with requests that do not block; sockets still say who lives.  Below
 * MPI_THREAD_MULTIPLE only one thread of the process at a time may be in a call of any such group, or of MPI; below
 * MPI_THREAD_SERIALIZED that is the main thread, and another one that calls quern_carrier_from_mpi gets MPI_ERR_OTHER.
 * MPI_ERR_RANK: rank and ranks of args are not those of the communicator.  quern_free_mpi_carrier is collective too, and needs the
 * groups of all ranks to be destroyed.
 *
 * Both return MPI_SUCCESS; MPI_ERR_NO_MEM or MPI_ERR_OTHER, if rank 0 gets no random numbers, on all ranks alike; or the error of a call
 * of MPI, if the communicator has a handler that returns.
 */
#ifndef QUERN_MPI_H
#define QUERN_MPI_H

#include <limits.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quern.h"

typedef struct quern_mpi_join {
    MPI_Comm comm;
    quern_hosts_args hosts;
    char host[16];
    struct {
        unsigned char secret[32];
        uint64_t job;
    } drawn;
} quern_mpi_join;

static inline int quern_mpi_gather(void *user, const void *mine, size_t bytes, void *all) {
    return MPI_Allgather((void *)mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, ((quern_mpi_join *)user)->comm);
}

static inline int quern_mpi_forget(MPI_Comm comm, int key, void *join, void *extra) {
    (void)comm, (void)key, (void)extra;
    free(join);
    return MPI_SUCCESS;
}

/* Memory that MPI frees with the communicator; NULL: there is none. */
static inline quern_mpi_join *quern_mpi_remember(MPI_Comm comm) {
    quern_mpi_join *join = (quern_mpi_join *)calloc(1, sizeof *join);
    int key = MPI_KEYVAL_INVALID;
    if (!join) return NULL;
    join->comm = comm;
    if (MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, quern_mpi_forget, &key, NULL) == MPI_SUCCESS &&
        MPI_Comm_set_attr(comm, key, join) == MPI_SUCCESS) {
        MPI_Comm_free_keyval(&key);
        return join;
    }
    free(join);
    return NULL;
}

/* The name of this rank's host: "node" and its lowest rank. */
static inline int quern_mpi_name_host(MPI_Comm comm, int rank, char host[16]) {
    MPI_Comm node;
    int lowest = rank, error = MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    if (error != MPI_SUCCESS) return error;
    error = MPI_Bcast(&lowest, 1, MPI_INT, 0, node);
    MPI_Comm_free(&node);
    snprintf(host, 16, "node%d", lowest);
    return error;
}

/* How many ranks have this one's host. */
static inline int quern_mpi_count_host(MPI_Comm comm, int ranks, const char host[16], char *hosts, int *count) {
    const int error = MPI_Allgather((void *)host, 16, MPI_CHAR, hosts, 16, MPI_CHAR, comm);
    *count = 0;
    for (int rank = 0; rank < ranks && error == MPI_SUCCESS; rank++) *count += memcmp(hosts + 16 * rank, host, 16) == 0;
    return error;
}

static inline int quern_mpi_draw(quern_mpi_join *join) {
    FILE *source = fopen("/dev/urandom", "rb");
    const size_t read = source ? fread(&join->drawn, sizeof join->drawn, 1, source) : 0;
    if (source) fclose(source);
    return read == 1;
}

static inline int quern_join_from_mpi(MPI_Comm comm, quern_group_args *args) {
    int rank = 0, ranks = 0, here = 0, error = MPI_Comm_rank(comm, &rank), worst = MPI_SUCCESS;
    if (error == MPI_SUCCESS) error = MPI_Comm_size(comm, &ranks);
    if (error != MPI_SUCCESS) return error;
    quern_mpi_join spare, *kept = quern_mpi_remember(comm), *join = kept ? kept : &spare;
    char *hosts = (char *)malloc(16 * (size_t)ranks);
    int fault = kept && hosts ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    memset(&spare, 0, sizeof spare);
    if (rank == 0 && !quern_mpi_draw(join)) fault = MPI_ERR_OTHER;
    error = MPI_Allreduce(&fault, &worst, 1, MPI_INT, MPI_MAX, comm);
    if (error == MPI_SUCCESS) error = worst;
    if (error == MPI_SUCCESS) error = MPI_Bcast(&join->drawn, (int)sizeof join->drawn, MPI_BYTE, 0, comm);
    if (error == MPI_SUCCESS) error = quern_mpi_name_host(comm, rank, join->host);
    if (error == MPI_SUCCESS && args->hosts && args->hosts->host) strncpy(join->host, args->hosts->host, sizeof join->host - 1);
    if (error == MPI_SUCCESS) error = quern_mpi_count_host(comm, ranks, join->host, hosts, &here);
    free(hosts);
    if (error != MPI_SUCCESS) return error;
    args->rank = rank;
    args->ranks = ranks;
    args->job = join->drawn.job;
    if (!args->name) args->name = "mpi";
    quern_hosts_args_init(&join->hosts);
    if (args->hosts) join->hosts = *args->hosts;
    join->hosts.host_ranks = here;
    join->hosts.host = join->host;
    join->hosts.secret = join->drawn.secret;
    join->hosts.secret_bytes = sizeof join->drawn.secret;
    join->hosts.all_gather = quern_mpi_gather;
    join->hosts.all_gather_user = join;
    args->hosts = here < ranks ? &join->hosts : NULL;
    return MPI_SUCCESS;
}

/* ---- MPI as the carrier of data ---- */

typedef struct quern_mpi_carrier {
    quern_carrier carrier;
    quern_hosts_args hosts;          /* with the carrier */
    const quern_hosts_args *before;  /* without */
    MPI_Comm comm;
} quern_mpi_carrier;

typedef char quern_mpi_requests_fit[sizeof(MPI_Request) <= sizeof(uint64_t) ? 1 : -1];

static inline int quern_mpi_begun(int error, MPI_Request begun, uint64_t *request) {
    *request = 0;
    memcpy(request, &begun, sizeof begun);
    return error;
}

static inline int quern_mpi_send(void *user, int rank, const void *data, size_t bytes, uint64_t tag, uint64_t *request) {
    MPI_Request begun = MPI_REQUEST_NULL;
    const int error = MPI_Isend((void *)data, (int)bytes, MPI_BYTE, rank, (int)tag, ((quern_mpi_carrier *)user)->comm, &begun);
    return quern_mpi_begun(error, begun, request);
}

static inline int quern_mpi_receive(void *user, int rank, void *data, size_t bytes, uint64_t tag, uint64_t *request) {
    MPI_Request begun = MPI_REQUEST_NULL;
    const int error = MPI_Irecv(data, (int)bytes, MPI_BYTE, rank, (int)tag, ((quern_mpi_carrier *)user)->comm, &begun);
    return quern_mpi_begun(error, begun, request);
}

static inline int quern_mpi_test(void *user, uint64_t request, size_t *bytes) {
    MPI_Request tested;
    MPI_Status status;
    int is_over = 0, is_cancelled = 0, count = 0;
    (void)user;
    memcpy(&tested, &request, sizeof tested);
    const int error = MPI_Test(&tested, &is_over, &status);
    if (error != MPI_SUCCESS) return -error;
    if (!is_over) return 0;
    if (MPI_Test_cancelled(&status, &is_cancelled) == MPI_SUCCESS && is_cancelled) return -1;
    if (MPI_Get_count(&status, MPI_BYTE, &count) == MPI_SUCCESS && count > 0) *bytes = (size_t)count;
    return 1;
}

static inline void quern_mpi_cancel(void *user, uint64_t request) {
    MPI_Request cancelled;
    (void)user;
    memcpy(&cancelled, &request, sizeof cancelled);
    MPI_Cancel(&cancelled);
}

/* What keeps this rank from it; MPI_SUCCESS: nothing. */
static inline int quern_mpi_carrier_fault(MPI_Comm comm, const quern_group_args *args, int *level) {
    int rank = -1, ranks = -1, is_main = 0;
    if (MPI_Query_thread(level) != MPI_SUCCESS || MPI_Is_thread_main(&is_main) != MPI_SUCCESS) return MPI_ERR_OTHER;
    if (*level < MPI_THREAD_SERIALIZED && !is_main) return MPI_ERR_OTHER;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    return rank == args->rank && ranks == args->ranks ? MPI_SUCCESS : MPI_ERR_RANK;
}

static inline int quern_carrier_from_mpi(MPI_Comm comm, quern_group_args *args) {
    quern_mpi_carrier *made = (quern_mpi_carrier *)calloc(1, sizeof *made);
    int level = MPI_THREAD_SINGLE, worst = MPI_SUCCESS, *most = NULL, is_there = 0;
    int fault = quern_mpi_carrier_fault(comm, args, &level);
    if (fault == MPI_SUCCESS && !made) fault = MPI_ERR_NO_MEM;
    int error = MPI_Allreduce(&fault, &worst, 1, MPI_INT, MPI_MAX, comm);
    if (error == MPI_SUCCESS) error = worst;
    const int needed = error == MPI_SUCCESS && args->hosts;
    if (needed) error = MPI_Comm_dup(comm, &made->comm);
    if (needed && error == MPI_SUCCESS) error = MPI_Comm_set_errhandler(made->comm, MPI_ERRORS_RETURN);
    if (needed && error == MPI_SUCCESS) error = MPI_Comm_get_attr(made->comm, MPI_TAG_UB, &most, &is_there);
    if (error != MPI_SUCCESS || !needed) {
        free(made);
        return error;
    }
    quern_carrier_init(&made->carrier);
    made->carrier.threads = level == MPI_THREAD_MULTIPLE;
    made->carrier.name = "mpi";
    made->carrier.user = made;
    made->carrier.tags = is_there ? (uint64_t)*most + 1 : 32768;  /* the standard promises so many */
    made->carrier.longest = INT_MAX;
    made->carrier.borrows = 1;
    made->carrier.send = quern_mpi_send;
    made->carrier.receive = quern_mpi_receive;
    made->carrier.test = quern_mpi_test;
    made->carrier.cancel = quern_mpi_cancel;
    made->before = args->hosts;
    made->hosts = *args->hosts;
    made->hosts.carrier = &made->carrier;
    args->hosts = &made->hosts;
    return MPI_SUCCESS;
}

static inline int quern_free_mpi_carrier(quern_group_args *args) {
    const quern_carrier *carrier = args->hosts ? args->hosts->carrier : NULL;
    if (!carrier) return MPI_SUCCESS;
    quern_mpi_carrier *made = (quern_mpi_carrier *)carrier->user;
    const int error = MPI_Comm_free(&made->comm);
    args->hosts = made->before;
    free(made);
    return error;
}

#endif
