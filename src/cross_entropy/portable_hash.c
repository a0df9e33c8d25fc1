/*
 * quern_portable_hash: the hash of a fixed case of cross-entropy with portable bits, to compare two machines without data.
 * Called by engines, and by examples/portable_bits.c.
 */
#include <stdlib.h>

#include "cross_entropy/cross_entropy.h"
#include "os/checksum.h"
#include "runtime/cuda_visit.h"
#include "runtime/status.h"
#include "runtime/storage.h"

enum { ROWS = 4, VOCAB = 4129, ROOM = ROWS * VOCAB };  /* a vocab that divides into no whole units and no aligned rows */

/* The inputs of a call, and behind them its results, which are hashed. */
struct memory {
    uint32_t logits[ROOM];
    int32_t labels[ROWS];
    float loss[ROWS], lse[ROWS], log_prob[ROWS];
    uint32_t grad[ROOM];
};

/* Logits from -12 to 12 by integers, exact in fp32; a few are far away. */
static void fill_case(struct memory *memory, quern_dtype dtype) {
    float row[VOCAB];
    uint32_t state = 1;
    for (int r = 0; r < ROWS; r++) {
        for (int i = 0; i < VOCAB; i++) {
            state = state * 1664525u + 1013904223u;
            row[i] = (float)((int32_t)(state >> 8) % 49152 - 24576) * 0x1p-11f - (state >> 28 ? 0 : 80);
        }
        const int64_t bytes = VOCAB * (int64_t)quern_dtype_bytes(dtype);
        quern_storage_narrow(dtype, row, VOCAB, false, (char *)memory->logits + r * bytes, NULL);
        memory->labels[r] = r * 1031;
    }
}

/* base: the address of the memory for the device; 0: not known yet. */
static quern_cross_entropy_args args_at(uintptr_t base, quern_dtype dtype) {
    quern_cross_entropy_args args = QUERN_CROSS_ENTROPY_ARGS_INIT;
    args.bits = QUERN_BITS_PORTABLE;
    args.logits_dtype = dtype, args.labels_dtype = QUERN_INT32, args.rows = ROWS, args.vocab = VOCAB;
    args.reduction = QUERN_REDUCTION_NONE;
    args.inverse_temperature = 0.75f, args.z_loss = 0x1p-12f;
    args.logits = (void *)(base + offsetof(struct memory, logits));
    args.labels = (void *)(base + offsetof(struct memory, labels));
    args.loss = (float *)(base + offsetof(struct memory, loss));
    args.lse = (float *)(base + offsetof(struct memory, lse));
    args.log_prob = (float *)(base + offsetof(struct memory, log_prob));
    args.grad = (void *)(base + offsetof(struct memory, grad));
    return args;
}

static uint64_t hash_of(uint64_t hash, const struct memory *memory, quern_dtype dtype) {
    hash = quern_checksum(hash, memory->loss, sizeof memory->loss);
    hash = quern_checksum(hash, memory->lse, sizeof memory->lse);
    hash = quern_checksum(hash, memory->log_prob, sizeof memory->log_prob);
    return quern_checksum(hash, memory->grad, ROOM * quern_dtype_bytes(dtype));
}

/* ---- on a device ---- */

/* The workspace lies behind the memory, at a multiple of 64. */
enum { BEGIN_OF_WORKSPACE = (sizeof(struct memory) + 63) / 64 * 64 };

static quern_status run_on_gpu(quern_device *device, const struct quern_cuda *cuda, struct memory *memory, quern_dtype dtype,
                               size_t workspace) {
    CUdeviceptr address = 0;
    CUstream stream = NULL;
    quern_status status = QUERN_OK;
    enum { NON_BLOCKING = 1 };
    CUresult error = cuda->memory_allocate(&address, BEGIN_OF_WORKSPACE + workspace);
    if (error == CUDA_SUCCESS) error = cuda->stream_create(&stream, NON_BLOCKING);
    if (error == CUDA_SUCCESS) error = cuda->copy_to_device_async(address, memory, sizeof *memory, stream);
    if (error == CUDA_SUCCESS) {
        const quern_cross_entropy_args args = args_at((uintptr_t)address, dtype);
        status = quern_cross_entropy(device, &args, (void *)((uintptr_t)address + BEGIN_OF_WORKSPACE), workspace, stream);
        if (status == QUERN_OK) error = cuda->copy_to_host_async(memory, address, sizeof *memory, stream);
        const CUresult ended = cuda->stream_synchronize(stream);
        if (error == CUDA_SUCCESS) error = ended;
    }
    if (stream) cuda->stream_destroy(stream);
    if (address) cuda->memory_free(address);
    return error == CUDA_SUCCESS ? status : quern_cuda_fail(device, error, "the case with portable bits");
}

static quern_status visit_gpu(quern_device *device, struct memory *memory, quern_dtype dtype, size_t workspace) {
    struct quern_cuda_visit visit;
    const CUresult error = quern_cuda_begin_visit(&visit, device->context);
    const quern_status status = error == CUDA_SUCCESS ? run_on_gpu(device, visit.cuda, memory, dtype, workspace)
                                                      : quern_cuda_fail(device, error, "cuCtxPushCurrent");
    quern_cuda_end_visit(&visit);
    return status;
}

static quern_status run_case(quern_device *device, quern_dtype dtype, uint64_t *hash) {
    size_t workspace;
    quern_cross_entropy_args args = args_at(0, dtype);
    quern_status status = quern_cross_entropy_workspace(device, &args, &workspace);
    if (status != QUERN_OK) return status;
    const size_t bytes = BEGIN_OF_WORKSPACE + (device->kind == QUERN_CPU ? (workspace + 63) / 64 * 64 : 0);
    struct memory *memory = aligned_alloc(64, bytes);
    if (!memory) return quern_fail(device, QUERN_OUT_OF_MEMORY, "no %zu bytes for the case with portable bits", bytes);
    fill_case(memory, dtype);
    args = args_at((uintptr_t)memory, dtype);
    status = device->kind == QUERN_CPU ? quern_cross_entropy(device, &args, (char *)memory + BEGIN_OF_WORKSPACE, workspace, NULL)
                                       : visit_gpu(device, memory, dtype, workspace);
    if (status == QUERN_OK) *hash = hash_of(*hash, memory, dtype);
    free(memory);
    return status;
}

quern_status quern_portable_hash(quern_device *device, uint64_t *hash) {
    static const quern_dtype dtypes[] = {QUERN_F32, QUERN_F16, QUERN_BF16};
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    if (!hash) return quern_fail(device, QUERN_NULL_POINTER, "hash is NULL");
    uint64_t found = QUERN_CHECKSUM_BEGIN;
    quern_status status = QUERN_OK;
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes && status == QUERN_OK; i++) status = run_case(device, dtypes[i], &found);
    if (status == QUERN_OK) *hash = found;
    return status;
}
