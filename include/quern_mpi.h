/*
 * Groups of CPU ranks for engines that MPI has launched, on one or several hosts.  Header only: the engine compiles it with its own
 * mpicc, and the library knows no MPI.
 *
 *   quern_group_args join = QUERN_GROUP_ARGS_INIT;
 *   join.device = device;
 *   if (quern_join_from_mpi(MPI_COMM_WORLD, &join) == MPI_SUCCESS) status = quern_group_create(&join, 1, &group);
 *
 * Collective over the communicator, as is quern_group_create then, which gathers once over it: no other collective call on it
 * may be under way.  Sets ranks, rank, host_ranks, host, secret, job and all_gather, and name if it is NULL.  host is kept if it is set;
 * else the ranks that MPI finds to share memory are of one host.  secret and job are random numbers of rank 0.  If all ranks are of
 * one host, all_gather stays NULL: the group needs no network, and its devices may be GPUs.  What the fields point to lives as
 * long as the communicator.
 *
 * Returns MPI_SUCCESS; MPI_ERR_NO_MEM or MPI_ERR_OTHER, if rank 0 gets no random numbers, on all ranks alike; or the error of a call
 * of MPI, if the communicator has a handler that returns.
 */
#ifndef QUERN_MPI_H
#define QUERN_MPI_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quern.h"

typedef struct quern_mpi_join {
    MPI_Comm comm;
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
    if (error == MPI_SUCCESS && args->host) strncpy(join->host, args->host, sizeof join->host - 1);
    if (error == MPI_SUCCESS) error = quern_mpi_count_host(comm, ranks, join->host, hosts, &here);
    free(hosts);
    if (error != MPI_SUCCESS) return error;
    args->rank = rank;
    args->ranks = ranks;
    args->host_ranks = here;
    args->host = join->host;
    args->secret = join->drawn.secret;
    args->secret_bytes = sizeof join->drawn.secret;
    args->job = join->drawn.job;
    args->all_gather = here < ranks ? quern_mpi_gather : NULL;
    args->all_gather_user = join;
    if (!args->name) args->name = "mpi";
    return MPI_SUCCESS;
}

#endif
