/*
 * NCCL, opened at run time when GPU ranks of several hosts meet: linking needs no NCCL, and a process that does not ask for it
 * neither maps it nor gets its threads.
 */
#ifndef QUERN_NCCL_FUNCTIONS_H
#define QUERN_NCCL_FUNCTIONS_H

#include "ranks/nccl/nccl_types.h"
#include "runtime/cuda_driver.h"

/* The oldest version that is taken.  Communicators that do not block need 2.14; in 2.18 their ends are bounded too. */
enum { QUERN_NCCL_MIN = 21800 };

/* A group of NCCL takes so many operations. */
enum { QUERN_NCCL_GROUP_OPERATIONS = 2048 };

/* The functions: result, name of the field, name of the symbol, parameters. */
#define QUERN_NCCL_FUNCTIONS(X)                                                                                                   \
    X(ncclResult_t, version, ncclGetVersion, (int *version))                                                                      \
    X(const char *, error_string, ncclGetErrorString, (ncclResult_t result))                                                      \
    X(const char *, last_error, ncclGetLastError, (ncclComm_t comm))                                                              \
    X(ncclResult_t, unique_id, ncclGetUniqueId, (ncclUniqueId *id))                                                               \
    X(ncclResult_t, init, ncclCommInitRankConfig, (ncclComm_t *comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t *config))  \
    X(ncclResult_t, async_error, ncclCommGetAsyncError, (ncclComm_t comm, ncclResult_t *error))                                   \
    X(ncclResult_t, finalize, ncclCommFinalize, (ncclComm_t comm))                                                                \
    X(ncclResult_t, destroy, ncclCommDestroy, (ncclComm_t comm))                                                                  \
    X(ncclResult_t, abort, ncclCommAbort, (ncclComm_t comm))                                                                      \
    X(ncclResult_t, group_start, ncclGroupStart, (void))                                                                          \
    X(ncclResult_t, group_end, ncclGroupEnd, (void))                                                                              \
    X(ncclResult_t, send, ncclSend,                                                                                               \
      (const void *buffer, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, CUstream stream))                        \
    X(ncclResult_t, receive, ncclRecv,                                                                                            \
      (void *buffer, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, CUstream stream))                              \
    X(ncclResult_t, all_reduce, ncclAllReduce,                                                                                    \
      (const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t operation, ncclComm_t comm, CUstream stream))

struct quern_nccl {
#define QUERN_NCCL_FIELD(result, field, symbol, parameters) result(*field) parameters;
    QUERN_NCCL_FUNCTIONS(QUERN_NCCL_FIELD)
#undef QUERN_NCCL_FIELD
};

/*
 * Opens libnccl.so.2, or the file that QUERN_NCCL names, once per process.  Every call returns the same status with the same
 * detail. On failure *nccl is NULL.  Errors: QUERN_NOT_SUPPORTED (no NCCL, no function, too old).
 */
quern_status quern_nccl_open(const struct quern_nccl **nccl);

/* The version of the opened library, 22809 for 2.28.9. */
int quern_nccl_version(void);

/* Fails with NCCL's text: "ncclSend: invalid argument (rank 9 of 4)".  comm may be NULL. */
quern_status quern_nccl_fail(const quern_device *device, ncclResult_t result, const char *what, ncclComm_t comm);

/* The status of a result. */
quern_status quern_nccl_status(ncclResult_t result);

#endif
