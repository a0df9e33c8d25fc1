/*
 * What the library declares of nccl.h, under NCCL's names, so that building needs no header of NCCL.  The check "nccl" holds it
 * against the real headers (tests/checks/foreign.py).
 */
#ifndef QUERN_NCCL_TYPES_H
#define QUERN_NCCL_TYPES_H

#include <limits.h>
#include <stddef.h>

typedef struct ncclComm *ncclComm_t;

enum { NCCL_UNIQUE_ID_BYTES = 128 };
typedef struct {
    char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

typedef enum {
    ncclSuccess = 0,
    ncclUnhandledCudaError = 1,
    ncclSystemError = 2,
    ncclInternalError = 3,
    ncclInvalidArgument = 4,
    ncclInvalidUsage = 5,
    ncclRemoteError = 6,
    ncclInProgress = 7
} ncclResult_t;

typedef enum { ncclSum = 0, ncclMax = 2 } ncclRedOp_t;

typedef enum { ncclUint8 = 1, ncclUint32 = 3 } ncclDataType_t;

/*
 * The configuration as NCCL 2.18 has it, the oldest that is taken.  Newer ones have more fields behind these; they take the size
 * from the struct and their own defaults for the rest.  The last field fills the end, where NCCL 2.26 has one of its own: it must
 * read as unset.
 */
typedef struct {
    size_t size;
    unsigned int magic;
    unsigned int version;
    int blocking;
    int cgaClusterSize;
    int minCTAs;
    int maxCTAs;
    const char *netName;
    int splitShare;
    int trafficClass;
} ncclConfig_t;

enum { NCCL_CONFIG_UNDEF_INT = INT_MIN, NCCL_CONFIG_VERSION = 21800 };

/* clang-format off */
#define NCCL_CONFIG_INITIALIZER { \
    sizeof(ncclConfig_t), 0xcafebeef, NCCL_CONFIG_VERSION, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, \
    NCCL_CONFIG_UNDEF_INT, NULL, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT }
/* clang-format on */

#endif
