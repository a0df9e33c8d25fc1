/* GPU ranks of several hosts.  nccl_side.h documents the functions. */
#include "harness/nccl_side.h"

#include <dlfcn.h>

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
    rank_ok(rank, quern_prepare(side->device, rank->operations ? rank->operations : QUERN_BARRIER | QUERN_RAGGED_ALL_TO_ALL));
    cuda_ok(side, context_push(side->device->context));
    cuda_ok(side, stream_create(&side->stream, CU_STREAM_NON_BLOCKING));
    cuda_ok(side, memory_allocate(&side->word, 4));
}

quern_group_args nccl_args(const struct nccl_side *side, double timeout) {
    quern_group_args args = rank_group_args(side->rank, timeout);
    args.device = side->device;
    args.multicast = side->rank->wants_multicast;
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

void nccl_begin(struct rank *rank, struct nccl_side *side) { nccl_open(side, rank, RANK_LIMIT); }

void nccl_end(struct rank *rank, struct nccl_side *side) { rank_ok(rank, nccl_close(side)); }

void nccl_meet(const struct nccl_side *side) {
    rank_ok(side->rank, quern_barrier(side->group, NULL, side->stream));
    cuda_ok(side, stream_synchronize(side->stream));
}

void *nccl_allocate(void *user, int64_t bytes) {
    struct nccl_side *side = user;
    CUdeviceptr memory;
    cuda_ok(side, memory_allocate(&memory, (size_t)bytes + 1));
    return (void *)(uintptr_t)memory;
}

void nccl_release(void *user, void *memory) {
    struct nccl_side *side = user;
    cuda_ok(side, memory_free((uintptr_t)memory));
}

void *nccl_map(void *user, int64_t bytes, int kinds) {
    enum { PAGE = 2 << 20 };
    struct nccl_side *side = user;
    const CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, side->device->cuda_device};
    const CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .requested_handle_types = kinds,
                                            .location = here};
    const CUmemAccessDesc access = {here, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    const size_t mapped = (size_t)(bytes + PAGE - 1) / PAGE * PAGE;
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;
    cuda_ok(side, vmm_create(&handle, mapped, &properties, 0));
    cuda_ok(side, vmm_reserve(&address, mapped, 0, 0, 0));
    cuda_ok(side, vmm_map(address, mapped, 0, handle, 0));
    cuda_ok(side, vmm_set_access(address, mapped, &access, 1));
    cuda_ok(side, vmm_release(handle));
    return (void *)(uintptr_t)address;
}

void nccl_unmap(void *user, void *memory) {
    struct nccl_side *side = user;
    CUdeviceptr address;
    size_t mapped;
    cuda_ok(side, address_range(&address, &mapped, (uintptr_t)memory));
    cuda_ok(side, vmm_unmap(address, mapped));
    cuda_ok(side, vmm_unreserve(address, mapped));
}

void nccl_put(void *user, void *to, const void *from, int64_t bytes) {
    struct nccl_side *side = user;
    cuda_ok(side, copy_to_device_async((uintptr_t)to, from, (size_t)bytes, side->stream));
}

void nccl_get(void *user, void *to, const void *from, int64_t bytes) {
    struct nccl_side *side = user;
    CUstream stream;
    cuda_ok(side, stream_create(&stream, CU_STREAM_NON_BLOCKING));
    cuda_ok(side, copy_to_host_async(to, (uintptr_t)from, (size_t)bytes, stream));
    cuda_ok(side, stream_synchronize(stream));
    cuda_ok(side, stream_destroy(stream));
}

void *nccl_symbol(const char *name) { return dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), name); }

void nccl_enqueue(const struct nccl_side *side, CUstream stream, void (*function)(void *user), void *user) {
    int (*call)(CUstream, void (*)(void *), void *);
    *(void **)&call = nccl_symbol("cuLaunchHostFunc");
    nccl_check(side, call(stream, function, user), "cuLaunchHostFunc");
}

void nccl_begin_capture(const struct nccl_side *side) {
    int (*begin)(CUstream, int);
    *(void **)&begin = nccl_symbol("cuStreamBeginCapture_v2");
    nccl_check(side, begin(side->stream, CU_STREAM_CAPTURE_MODE_RELAXED), "cuStreamBeginCapture");
}

static void *end_capture(const struct nccl_side *side) {
    int (*end)(CUstream, void **);
    void *graph = NULL;
    *(void **)&end = nccl_symbol("cuStreamEndCapture");
    nccl_check(side, end(side->stream, &graph), "cuStreamEndCapture");
    return graph;
}

static void destroy(const struct nccl_side *side, const char *function, void *graph) {
    int (*end)(void *);
    *(void **)&end = nccl_symbol(function);
    nccl_check(side, end(graph), function);
}

void nccl_end_capture(const struct nccl_side *side) { destroy(side, "cuGraphDestroy", end_capture(side)); }

void nccl_drop_capture(const struct nccl_side *side) {
    int (*end)(CUstream, void **);
    void *graph = NULL;
    *(void **)&end = nccl_symbol("cuStreamEndCapture");
    if (end(side->stream, &graph) == CUDA_SUCCESS) destroy(side, "cuGraphDestroy", graph);
}

void nccl_take_graphs(const struct nccl_side *side, void *executables[], int count) {
    int (*instantiate)(void **, void *, unsigned long long);
    void *graph = end_capture(side);
    *(void **)&instantiate = nccl_symbol("cuGraphInstantiateWithFlags");
    for (int i = 0; i < count; i++) nccl_check(side, instantiate(&executables[i], graph, 0), "cuGraphInstantiateWithFlags");
    destroy(side, "cuGraphDestroy", graph);
}

void *nccl_take_graph(const struct nccl_side *side) {
    void *executable = NULL;
    nccl_take_graphs(side, &executable, 1);
    return executable;
}

void nccl_launch_graph(const struct nccl_side *side, void *executable) {
    int (*launch)(void *, CUstream);
    *(void **)&launch = nccl_symbol("cuGraphLaunch");
    nccl_check(side, launch(executable, side->stream), "cuGraphLaunch");
}

void nccl_end_graph(const struct nccl_side *side, void *executable) { destroy(side, "cuGraphExecDestroy", executable); }

/* An emulated device goes on when it is asked. */
quern_status nccl_await_status(struct nccl_side *side, double seconds) {
    int (*query)(CUstream);
    quern_status status = QUERN_OK;
    *(void **)&query = nccl_symbol("cuStreamQuery");
    for (const double end = rank_now() + seconds; status == QUERN_OK && rank_now() < end; rank_sleep(1e-3)) {
        nccl_check(side, query(side->stream) % CUDA_ERROR_NOT_READY, "cuStreamQuery");
        status = quern_group_status(side->group);
    }
    return status;
}

/* Sets a pointer to a function of the stand-in. */
static void find(const char *name, void *function) {
    void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_NOLOAD), *address = library ? dlsym(library, name) : NULL;
    if (library) dlclose(library);
    memcpy(function, &address, sizeof address);
}

long nccl_ask(const char *name) {
    long (*function)(void);
    find(name, &function);
    return function ? function() : -1;
}

long nccl_bytes_to(int rank) {
    long (*function)(int);
    find("quern_standin_bytes_to", &function);
    return function ? function(rank) : -1;
}
