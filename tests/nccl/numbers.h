/*
 * What the library uses of nccl.h, as expressions that have the same value under the library's declarations and under the real
 * ones.
 */
#ifndef NCCL_NUMBERS_H
#define NCCL_NUMBERS_H

#define NCCL_NUMBERS(X)                                                                                                        \
    X(sizeof(ncclComm_t)) X(sizeof(ncclUniqueId)) X(NCCL_UNIQUE_ID_BYTES) X(sizeof(ncclResult_t)) X(sizeof(ncclRedOp_t))        \
    X(sizeof(ncclDataType_t)) X(ncclSuccess) X(ncclUnhandledCudaError) X(ncclSystemError) X(ncclInternalError)                  \
    X(ncclInvalidArgument) X(ncclInvalidUsage) X(ncclRemoteError) X(ncclInProgress) X(ncclSum) X(ncclUint8) X(ncclUint32)       \
    X(NCCL_CONFIG_UNDEF_INT) X(offsetof(ncclConfig_t, size)) X(offsetof(ncclConfig_t, magic)) X(offsetof(ncclConfig_t, version)) \
    X(offsetof(ncclConfig_t, blocking)) X(offsetof(ncclConfig_t, cgaClusterSize)) X(offsetof(ncclConfig_t, minCTAs))           \
    X(offsetof(ncclConfig_t, maxCTAs)) X(offsetof(ncclConfig_t, netName)) X(offsetof(ncclConfig_t, splitShare))                \
    X(initial.magic) X(initial.blocking) X(initial.cgaClusterSize) X(initial.minCTAs) X(initial.maxCTAs)                       \
    X(initial.netName != 0) X(initial.splitShare) X(ncclMax)

#endif
