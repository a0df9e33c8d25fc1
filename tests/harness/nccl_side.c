/* GPU ranks of several hosts.  nccl_side.h documents the functions. */
#define _GNU_SOURCE
#include "harness/nccl_side.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device.h"

void nccl_check(const struct nccl_side *side, CUresult result, const char *what) {
    rank_check(side->rank, result == CUDA_SUCCESS, "%s gave %d", what, result);
}

void nccl_open_gpu(struct nccl_side *side, struct rank *rank, int gpu) {
    *side = (struct nccl_side){.rank = rank};
    char host[8];
    snprintf(host, sizeof host, "%d", rank->hosts ? rank_host(rank, rank->rank) : 0);
    if (rank->kind == RANK_PROCESSES) setenv("NCCL_HOSTID", host, 1);
    rank_ok(rank, quern_cuda_open(&side->cuda));
    rank_ok(rank, quern_device_open(QUERN_CUDA, gpu, &side->device));
    rank_ok(rank, quern_prepare(side->device, QUERN_BARRIER | QUERN_RAGGED_ALL_TO_ALL));
    cuda_ok(side, context_push(side->device->context));
    cuda_ok(side, stream_create(&side->stream, CU_STREAM_NON_BLOCKING));
    cuda_ok(side, memory_allocate(&side->word, 4));
}

quern_group_args nccl_args(const struct nccl_side *side, double timeout) {
    quern_group_args args = rank_group_args(side->rank, timeout);
    args.device = side->device;
    return args;
}

void nccl_open(struct nccl_side *side, struct rank *rank, double timeout) {
    nccl_open_gpu(side, rank, rank->rank);
    quern_group_args args = nccl_args(side, timeout);
    args.first_timeout = RANK_LIMIT;
    rank_ok(rank, quern_group_create(&args, 1, &side->group));
}

quern_status nccl_close(struct nccl_side *side) {
    CUcontext context;
    const quern_status status = quern_group_destroy(side->group);
    cuda_ok(side, memory_free(side->word));
    cuda_ok(side, stream_destroy(side->stream));
    side->cuda->context_pop(&context);
    quern_device_close(side->device);
    return status;
}

quern_status nccl_await_status(struct nccl_side *side, double seconds) {
    quern_status status = QUERN_OK;
    for (const double end = rank_now() + seconds; status == QUERN_OK && rank_now() < end; rank_sleep(1e-3))
        status = quern_group_status(side->group);
    return status;
}

void nccl_set_machine(const char *settings) {
    char gpus[8 * NCCL_GPUS] = "";
    const char *one = getenv("QUERN_EMULATOR");
    char capability[8];
    snprintf(capability, sizeof capability, "%.*s", (int)strcspn(one ? one : "9.0", ","), one ? one : "9.0");
    for (int i = 0; i < NCCL_GPUS; i++) strcat(strcat(gpus, i ? "," : ""), capability);
    setenv("QUERN_EMULATOR", gpus, 1);
    setenv("QUERN_NCCL_STANDIN", settings, 1);
}

long nccl_ask(const char *name) {
    long (*function)(void) = NULL;
    void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_NOLOAD), *address = library ? dlsym(library, name) : NULL;
    if (library) dlclose(library);
    memcpy(&function, &address, sizeof address);
    return function ? function() : -1;
}
