/*
 * Symmetric memory in cases that Criterion cannot run: ranks that are threads of several processes, GPUs of one process and of
 * several, processes that are killed.  The GPUs are the emulator's (LD_LIBRARY_PATH=build/emulator); each case configures it.
 *
 *   symmetric_processes symmetric [TEXT]    all cases, or those whose names contain the text
 */

#include "faults/runs.h"
#include "harness/cuda.h"
#include "harness/failing.h"
#include "harness/gpu_ranks.h"
#include "ranks/cuda_rank.h"
#include "ranks/handles.h"
#include "ranks/symmetric/symmetric.h"

enum { SHARED_BYTES = 4096 };

/* ---- shared by the cases ---- */

/* Each rank of a thread. */
#define EACH(i) for (int i = 0; i < team->count; i++)

/* A call of the driver that must succeed; a function of it that harness/cuda.h does not have. */
#define driver_ok(call) gpu_check(team, call, #call, __LINE__)
#define DRIVER(name, ...) ((CUresult (*)(__VA_ARGS__))(uintptr_t)gpu_symbol(#name))

/* A pointer, or a size, for each rank of a thread. */
typedef void *pointers[MOST_PER_THREAD];
typedef size_t sizes[MOST_PER_THREAD];

static void set_sizes(sizes bytes, size_t each) {
    for (int i = 0; i < MOST_PER_THREAD; i++) bytes[i] = each;
}

static const struct quern_symmetric_memory *memory_of(struct rank *rank, const quern_group *group, const void *pointer) {
    const struct quern_symmetric_range *range = quern_symmetric_range_at(rank_member_of(rank, group)->symmetric, pointer);
    rank_check(rank, range, "no range at %p", pointer);
    return range->memory;
}

/* Another thread may be closing it, or have closed it. */
static bool comes_to_be_closed(const struct quern_symmetric_memory *memory) {
    for (int look = 0; look < 1000 && memory->life != QUERN_MEMORY_CLOSED; look++) {
        quern_symmetric_sweep();
        rank_sleep(0.001);
    }
    return memory->life == QUERN_MEMORY_CLOSED;
}

static void check_closed(struct gpu_team *team, const struct quern_symmetric_memory *memory) {
    rank_check(team->rank, comes_to_be_closed(memory), "memory is kept though nothing uses it");
}

static void check_open(struct gpu_team *team, const struct quern_symmetric_memory *memory, const char *why) {
    rank_check(team->rank, memory->life == QUERN_MEMORY_OPEN, "memory went %s", why);
}

struct held {
    int descriptors, mappings;  /* those of the emulator among them */
};

static struct held held_now(void) { return (struct held){rank_descriptors(), count_mappings("memfd:")}; }

/* All teams meet on the host: no kernel waits meanwhile. */
static void meet_on_host(struct gpu_team *team) {
    unsigned *arrivals = (unsigned *)((char *)team->rank->shared + SHARED_BYTES / 2);
    const unsigned teams = (unsigned)(team->all / team->count);
    const unsigned round = __atomic_fetch_add(arrivals, 1, __ATOMIC_ACQ_REL) / teams;
    while (__atomic_load_n(arrivals, __ATOMIC_ACQUIRE) < (round + 1) * teams) rank_sleep(0.0005);
}

/* The resources of this process, counted by one of its threads while the others wait. */
static struct held count_held(struct gpu_team *team) {
    struct held held = {0};
    gpu_meet(team);
    meet_on_host(team);
    quern_symmetric_sweep();
    meet_on_host(team);
    if (team->first % (team->layout->threads * team->layout->ranks) == 0) held = held_now();
    meet_on_host(team);
    return held;
}

static void compare_held(struct gpu_team *team, struct held now, struct held before) {
    rank_check(team->rank, now.descriptors == before.descriptors, "%d descriptors, %d before", now.descriptors, before.descriptors);
    rank_check(team->rank, now.mappings == before.mappings, "%d mappings, %d before", now.mappings, before.mappings);
}

static void check_held(struct gpu_team *team, struct held before) { compare_held(team, count_held(team), before); }

/* All ranks of a team allocate, or register. */
static void allocate(struct gpu_team *team, size_t bytes, pointers parts) {
    sizes each;
    set_sizes(each, bytes);
    rank_ok(team->rank, quern_symmetric_alloc(team->group, team->count, each, parts));
}

static void register_ranges(struct gpu_team *team, pointers parts, size_t bytes) {
    sizes each;
    set_sizes(each, bytes);
    rank_ok(team->rank, quern_symmetric_register(team->group, team->count, parts, each));
}

static void refuse_to_register(struct gpu_team *team, pointers parts, quern_status status, const char *why) {
    sizes each;
    set_sizes(each, 1000);
    rank_refused(team->rank, quern_symmetric_register(team->group, team->count, parts, each), status, why);
}

static void free_all(struct gpu_team *team, pointers parts) {
    EACH(i) rank_ok(team->rank, quern_symmetric_free(team->group[i], parts[i], team->stream[i]));
}

static void unregister(struct gpu_team *team, pointers parts) {
    EACH(i) rank_ok(team->rank, quern_symmetric_unregister(team->group[i], parts[i], team->stream[i]));
}

static void barrier(struct gpu_team *team) { EACH(i) rank_ok(team->rank, quern_barrier(team->group[i], NULL, team->stream[i])); }

static void synchronize(struct gpu_team *team) { EACH(i) gpu_synchronize(team, i); }

static void destroy_groups(struct gpu_team *team) {
    EACH(i) {
        rank_ok(team->rank, quern_group_destroy(team->group[i]));
        team->group[i] = NULL;
    }
}

/* Between two meetings of all ranks. */
static void sweep_together(struct gpu_team *team) {
    gpu_meet(team);
    quern_symmetric_sweep();
    gpu_meet(team);
}

static void begin(struct gpu_team *team) {
    gpu_open(team);
    rank_ok(team->rank, gpu_join(team));
}

/* The group goes by GPU memory, or by pinned memory for this reason. */
static void check_way(struct gpu_team *team, const char *why_pinned) {
    char report[4096];
    quern_group_report(team->group[0], report, sizeof report);
    const char *way = strstr(report, "pinned host memory");
    rank_check(team->rank, !way == !why_pinned && (!way || strstr(report, why_pinned)), "the report is \"%s\"", report);
}

static void check_no_multicast(struct gpu_team *team, const void *pointer, const char *why) {
    void *there;
    rank_refused(team->rank, quern_symmetric_multicast(team->group[0], pointer, &there), QUERN_NOT_SUPPORTED, why);
}

static void check_pads(struct gpu_team *team, bool has_multicast) {
    EACH(i) rank_check(team->rank, !quern_cuda_rank_of(rank_member_of(team->rank, team->group[i]))->multicast_pad != has_multicast,
                       "the pads have %s multicast", has_multicast ? "no" : "");
}

/* ---- CPU ranks: threads of several processes ---- */

enum { THREADS = 3 };

/* A thread of its own rank. */
static void share_with_threads(struct gpu_team *team) {
    struct rank thread = *team->rank, *rank = &thread;
    thread.rank = team->first, thread.ranks = team->all;
    quern_group *group = rank_group(rank, RANK_LIMIT);
    char *mine = rank_allocate(rank, group, 1000 * (size_t)(rank->rank + 1)), **all = rank->shared;
    all[rank->rank] = mine;
    memset(mine, rank->rank, 1000 * (size_t)(rank->rank + 1));
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    for (int peer = 0; peer < rank->ranks; peer++) {
        const char *there = rank_peer_of(rank, group, mine, peer);
        for (int at = 0; at < 1000 * (peer + 1); at++) rank_check(rank, there[at] == peer, "byte %d of rank %d is wrong", at, peer);
        const bool neighbour = peer / THREADS == rank->rank / THREADS;
        rank_check(rank, !neighbour || there == all[peer], "threads of one process have two mappings");
    }
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    /* One thread of a process keeps the mapping for those that have freed their parts. */
    if (rank->rank % THREADS == 0) {
        rank_sleep(0.05);
        for (int peer = 0; peer < rank->ranks; peer++) memset(rank_peer_of(rank, group, mine, peer), 1, 1000);
    }
    rank_ok(rank, quern_symmetric_free(group, mine, NULL));
    rank_ok(rank, quern_group_destroy(group));
}

/* A process is killed: the others keep the memory, including its part. */
static void lose_a_process(struct gpu_team *team) {
    struct rank *rank = team->rank;
    quern_group *group = rank_group(rank, RANK_LIMIT);
    char *mine = rank_allocate(rank, group, 100000), *lost = rank_peer_of(rank, group, mine, 1);
    memset(mine, 60 + rank->rank, 100000);
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    if (rank->rank == 1) raise(SIGKILL);
    rank_sleep(0.2);
    for (int i = 0; i < 100000; i++) rank_check(rank, lost[i] == 61, "byte %d of a lost rank's part is %d", i, lost[i]);
    rank_ok(rank, quern_symmetric_free(group, mine, NULL));
    size_t bytes = 10;
    void *pointer;
    rank_status(rank, quern_symmetric_alloc(&group, 1, &bytes, &pointer), QUERN_PEER_LOST);
    rank_ok(rank, quern_group_destroy(group));
}

/* ---- GPUs: allocation ---- */

static size_t size_for(int rank) {
    static const size_t sizes[] = {70000, 5 << 20, 0, 4096, 1};
    return sizes[rank % (int)COUNT(sizes)];
}

static void see_every_part(struct gpu_team *team) {
    struct rank *rank = team->rank;
    sizes bytes;
    pointers parts;
    int64_t addresses = 0;
    EACH(i) bytes[i] = size_for(team->first + i);
    rank_ok(rank, quern_symmetric_alloc(team->group, team->count, bytes, parts));
    for (int peer = 0; peer < team->all; peer++) addresses += (int64_t)(size_for(peer) / (2 << 20) + 1) * (2 << 20);
    const int64_t found = memory_of(rank, team->group[0], parts[0])->address_bytes;
    rank_check(rank, found == addresses, "%lld bytes of addresses instead of %lld", (long long)found, (long long)addresses);
    EACH(i) {
        rank_check(rank, parts[i] && (uintptr_t)parts[i] % (2 << 20) == 0, "the part is at %p", parts[i]);
        gpu_check_bytes(team, i, parts[i], 0, bytes[i], "fresh memory");
        if (bytes[i]) gpu_fill(team, i, parts[i], team->first + i + 1, bytes[i]);
    }
    gpu_meet(team);
    EACH(i)
        for (int peer = 0; peer < team->all; peer++) {
            const char *there = rank_peer_of(rank, team->group[i], parts[i], peer);
            if (size_for(peer)) gpu_check_bytes(team, i, there, peer + 1, size_for(peer), "a peer's part");
            rank_check(rank, peer != team->first + i || there == parts[i], "this rank's own part is elsewhere");
        }
    gpu_meet(team);
    EACH(i) {
        const int next = (team->first + i + 1) % team->all;
        if (size_for(next)) gpu_fill(team, i, rank_peer_of(rank, team->group[i], parts[i], next), 100 + next, size_for(next));
    }
    gpu_meet(team);
    EACH(i) if (bytes[i]) gpu_check_bytes(team, i, parts[i], 100 + team->first + i, bytes[i], "what the peer wrote");
    free_all(team, parts);
}

/* Many allocations, some of which fail on one rank, leak no descriptor and no memory. */
static void allocate_often(struct gpu_team *team) {
    pointers parts;
    sizes bytes;
    const struct held before = count_held(team);
    for (int round = 0; round < 20; round++) {
        const bool fails = round % 10 == 9;
        EACH(i) bytes[i] = fails && team->first + i == 1 ? (size_t)1 << 30 : (size_t)(round % 3) * 3000000;
        rank_status(team->rank, quern_symmetric_alloc(team->group, team->count, bytes, parts),
                    fails ? QUERN_OUT_OF_MEMORY : QUERN_OK);
        if (fails) rank_check_detail(team->rank, "cuMemCreate of 1073741824 bytes for rank 1: CUDA_ERROR_OUT_OF_MEMORY");
        else free_all(team, parts);
        synchronize(team);
    }
    check_held(team, before);
}

/* A group leaks no descriptor, no mapping, and no context of a GPU. */
static void leave_nothing(struct gpu_team *team) {
    pointers parts;
    gpu_open(team);
    const struct held before = held_now();
    rank_ok(team->rank, gpu_join(team));
    allocate(team, 100, parts);  /* left for destroy */
    gpu_meet(team);
    destroy_groups(team);
    rank_line_up(team->rank);
    quern_symmetric_sweep();  /* memory bound to a multicast object stays until all ranks have freed it */
    compare_held(team, held_now(), before);
    EACH(i) {
        const CUdevice device = team->device[i]->cuda_device;
        unsigned flags;
        int active;
        gpu_use(team, i);
        gpu_ok(team, stream_destroy(team->stream[i]));
        quern_device_close(team->device[i]);
        driver_ok(DRIVER(cuDevicePrimaryCtxGetState, CUdevice, unsigned *, int *)(device, &flags, &active));
        rank_check(team->rank, !active, "the context of cuda:%d is still in use", device);
    }
}

/* ---- GPUs: freeing ---- */

static void wait_for_leave(void *user) {
    while (!__atomic_load_n((int *)user, __ATOMIC_ACQUIRE)) rank_sleep(0.001);
}

/* Blocks the stream of team rank i until *go_on. */
static void hold_up(struct gpu_team *team, int i, int *go_on) {
    gpu_use(team, i);
    driver_ok(cuda()->cuLaunchHostFunc(team->stream[i], wait_for_leave, go_on));
}

static void refuse_freed(struct gpu_team *team, pointers parts) {
    void *there;
    EACH(i)
        rank_refused(team->rank, quern_symmetric_peer(team->group[i], parts[i], 0, &there), QUERN_INVALID_ARGUMENT, "was freed");
}

/* The memory stays until the stream has completed the work that uses it. */
static void free_in_stream_order(struct gpu_team *team) {
    struct rank *rank = team->rank;
    pointers parts;
    int go_on = 0;
    allocate(team, 3 << 20, parts);
    const struct quern_symmetric_memory *memory = memory_of(rank, team->group[0], parts[0]);
    gpu_meet(team);
    EACH(i) {
        const char *next = rank_peer_of(rank, team->group[i], parts[i], (team->first + i + 1) % team->all);
        hold_up(team, i, &go_on);
        gpu_ok(team, memory_set_async((uintptr_t)next, 5, 3 << 20, team->stream[i]));
    }
    free_all(team, parts);
    refuse_freed(team, parts);
    EACH(i)
        rank_refused(rank, quern_symmetric_free(team->group[i], parts[i], team->stream[i]), QUERN_INVALID_ARGUMENT, "was freed");
    quern_symmetric_sweep();
    check_open(team, memory, "while a stream still used it");
    __atomic_store_n(&go_on, 1, __ATOMIC_RELEASE);
    synchronize(team);
    gpu_meet(team);
    check_closed(team, memory);
    refuse_freed(team, parts);
}

static void *give_leave_soon(void *user) {
    rank_sleep(0.1);
    __atomic_store_n((int *)user, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* Streams that are held up go on soon: the group is destroyed only then. */
static void destroy_when_free(struct gpu_team *team, int *go_on) {
    pthread_t thread;
    rank_check(team->rank, pthread_create(&thread, NULL, give_leave_soon, go_on) == 0, "no thread");
    rank_ok(team->rank, quern_group_destroy(team->group[0]));
    team->group[0] = NULL;
    rank_check(team->rank, __atomic_load_n(go_on, __ATOMIC_ACQUIRE), "the group was destroyed with work under way");
    pthread_join(thread, NULL);
}

/* Destroying a group waits for this rank's work: its last operation, or the work in progress when it freed its part. */
static void destroy_with_work_under_way(struct gpu_team *team) {
    const bool frees = team->rank->user;
    int go_on = 0;
    pointers parts;
    allocate(team, 100, parts);
    gpu_meet(team);
    EACH(i) hold_up(team, i, &go_on);
    if (frees) free_all(team, parts);
    else barrier(team);
    destroy_when_free(team, &go_on);
}

/* The owner frees its part and destroys its group while the others continue to use it. */
static void free_before_the_others(struct gpu_team *team) {
    pointers parts;
    allocate(team, 100000, parts);
    gpu_fill(team, 0, parts[0], team->first + 1, 100000);
    gpu_meet(team);
    if (team->first == 0) {
        destroy_groups(team);
        __atomic_store_n((int *)team->rank->shared, 1, __ATOMIC_RELEASE);
    } else {
        wait_for_leave(team->rank->shared);
        const char *lost = rank_peer_of(team->rank, team->group[0], parts[0], 0) + 10000 * team->first;
        gpu_check_bytes(team, 0, lost, 1, 10000, "the part of a rank that has left");
        gpu_fill(team, 0, lost, 9, 10000);
    }
}

/* ---- GPUs: operations in graphs ---- */

static void begin_capture(struct gpu_team *team, CUstream stream, int mode) {
    driver_ok(cuda()->cuStreamBeginCapture_v2(stream, mode));
}

static void *end_capture(struct gpu_team *team, CUstream stream) {
    void *graph;
    driver_ok(cuda()->cuStreamEndCapture(stream, &graph));
    return graph;
}

/* A barrier of each rank of the team, as graphs, which are destroyed by the second. */
static void capture_barriers(struct gpu_team *team, pointers executable) {
    EACH(i) {
        gpu_use(team, i);
        begin_capture(team, team->stream[i], CU_STREAM_CAPTURE_MODE_RELAXED);
        rank_ok(team->rank, quern_barrier(team->group[i], NULL, team->stream[i]));
        void *graph = end_capture(team, team->stream[i]);
        driver_ok(cuda()->cuGraphInstantiateWithFlags(&executable[i], graph, 0));
        driver_ok(cuda()->cuGraphDestroy(graph));
    }
}

static void destroy_graphs(struct gpu_team *team, pointers executable) {
    EACH(i) driver_ok(cuda()->cuGraphExecDestroy(executable[i]));
}

/* A group is destroyed while a graph with its barrier is held up in the streams: its pads stay until the graph has run. */
static void destroy_behind_a_graph(struct gpu_team *team) {
    pointers executable;
    int go_on = 0;
    gpu_meet(team);
    capture_barriers(team, executable);
    EACH(i) {
        hold_up(team, i, &go_on);
        driver_ok(cuda()->cuGraphLaunch(executable[i], team->stream[i]));
    }
    destroy_when_free(team, &go_on);
    synchronize(team);
    destroy_graphs(team, executable);
}

/* Launches of graphs cannot be waited for while the context has a stream that captures: the handle stays valid. */
static void destroy_beside_a_capture(struct gpu_team *team) {
    pointers executable;
    void *graph;
    CUstream captured;
    capture_barriers(team, executable);
    gpu_use(team, 0);
    gpu_ok(team, stream_create(&captured, CU_STREAM_NON_BLOCKING));
    begin_capture(team, captured, CU_STREAM_CAPTURE_MODE_RELAXED);
    rank_refused(team->rank, quern_group_destroy(team->group[0]), QUERN_INVALID_ARGUMENT,
                 "a stream of cuda:0 is being captured, and operations of the group are in graphs");
    cuda()->cuStreamEndCapture(captured, &graph);  /* fails: what the refused call did is not permitted in it */
    gpu_ok(team, stream_destroy(captured));
    gpu_meet(team);
    destroy_graphs(team, executable);
}

/* A stream of a green context belongs to the primary context, too. */
static void use_a_green_stream(struct gpu_team *team) {
    pointers green;
    CUstream usual[MOST_PER_THREAD];
    EACH(i) {
        usual[i] = team->stream[i];
        driver_ok(DRIVER(cuGreenCtxCreate, void **, void *, CUdevice, unsigned)(&green[i], NULL, team->device[i]->cuda_device, 1));
        driver_ok(DRIVER(cuGreenCtxStreamCreate, CUstream *, void *, unsigned, int)(&team->stream[i], green[i],
                                                                                   CU_STREAM_NON_BLOCKING, 0));
    }
    for (int round = 0; round < 3; round++) gpu_meet(team);
    rank_status(team->rank, quern_barrier(team->group[0], NULL, team->stream[1]), QUERN_INVALID_ARGUMENT);
    EACH(i) {
        gpu_ok(team, stream_destroy(team->stream[i]));
        driver_ok(DRIVER(cuGreenCtxDestroy, void *)(green[i]));
        team->stream[i] = usual[i];
    }
    gpu_meet(team);
}

static void refuse_streams(struct gpu_team *team) {
    struct rank *rank = team->rank;
    pointers parts;
    allocate(team, 100, parts);
    gpu_use(team, 0);
    begin_capture(team, team->stream[0], 0);
    rank_refused(rank, quern_symmetric_free(team->group[0], parts[0], team->stream[0]), QUERN_INVALID_ARGUMENT,
                 "the stream is being captured");
    rank_ok(rank, quern_symmetric_free(team->group[1], parts[1], team->stream[1]));  /* and the capture is still valid */
    end_capture(team, team->stream[0]);
    rank_status(rank, quern_symmetric_free(team->group[0], parts[0], team->stream[1]), QUERN_CUDA_ERROR);
    rank_refused(rank, quern_barrier(team->group[0], NULL, team->stream[1]), QUERN_INVALID_ARGUMENT,
                 "the stream is of another context than the primary one of cuda:0");
    rank_ok(rank, quern_symmetric_free(team->group[0], parts[0], NULL));
    gpu_meet(team);
}

/* No context is current, and captures have the strictest mode. */
static void check_thread(struct gpu_team *team, const char *after) {
    void *context;
    int mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    driver_ok(cuda()->cuCtxGetCurrent(&context));
    rank_check(team->rank, !context, "a context is current after %s", after);
    gpu_ok(team, capture_mode(&mode));
    rank_check(team->rank, mode == 0, "the capture mode is %d after %s", mode, after);
    gpu_ok(team, capture_mode(&mode));  /* back again */
}

/* Memory of cuMemAlloc, or of cuMemCreate. */
struct own_memory {
    CUdeviceptr address;
    CUmemGenericAllocationHandle handle;  /* 0: cuMemAlloc */
    size_t bytes;
};

/* By cuMemAlloc, by cuMemCreate, and by that without a handle for other processes. */
enum own_kind { BY_ALLOC, BY_CREATE, UNSHARED };

static void set_access(struct gpu_team *team, int i, const struct own_memory *memory, int flags) {
    const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, team->device[i]->cuda_device}, flags};
    gpu_ok(team, vmm_set_access(memory->address, memory->bytes, &access, 1));
}

static void map_own(struct gpu_team *team, int i, struct own_memory *memory, enum own_kind kind) {
    const CUmemAllocationProp properties = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, team->device[i]->cuda_device},
        .requested_handle_types = kind == BY_CREATE ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : 0};
    gpu_ok(team, vmm_create(&memory->handle, memory->bytes, &properties, 0));
    gpu_ok(team, vmm_map(memory->address, memory->bytes, 0, memory->handle, 0));
    set_access(team, i, memory, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

static struct own_memory make_own(struct gpu_team *team, int i, enum own_kind kind) {
    struct own_memory memory = {.bytes = 4 << 20};
    gpu_use(team, i);
    if (kind == BY_ALLOC) {
        gpu_ok(team, memory_allocate(&memory.address, memory.bytes));
    } else {
        gpu_ok(team, vmm_reserve(&memory.address, memory.bytes, 0, 0, 0));
        map_own(team, i, &memory, kind);
    }
    return memory;
}

/* Of each rank of the team. */
static void make_all_own(struct gpu_team *team, struct own_memory *own, pointers parts, enum own_kind kind) {
    EACH(i) {
        own[i] = make_own(team, i, kind);
        parts[i] = (void *)(uintptr_t)own[i].address;
    }
}

static void unmap_own(struct gpu_team *team, struct own_memory *memory) {
    gpu_ok(team, vmm_unmap(memory->address, memory->bytes));
    gpu_ok(team, vmm_release(memory->handle));
}

static void free_own(struct gpu_team *team, struct own_memory *own, int count) {
    for (int i = 0; i < count; i++) {
        gpu_use(team, i % team->count);
        if (own[i].handle) {
            unmap_own(team, &own[i]);
            gpu_ok(team, vmm_unreserve(own[i].address, own[i].bytes));
        } else {
            gpu_ok(team, memory_free(own[i].address));
        }
    }
}

/* Ends the groups first: until all have destroyed theirs, others have this memory open. */
static void close_with(struct gpu_team *team, struct own_memory *own, int count) {
    destroy_groups(team);
    quern_symmetric_sweep();
    rank_line_up(team->rank);
    free_own(team, own, count);
}

static void leave_the_thread_alone(struct gpu_team *team) {
    struct own_memory own[MOST_PER_THREAD];
    pointers parts, other;
    CUcontext popped;
    gpu_open(team);
    make_all_own(team, own, other, BY_ALLOC);
    gpu_ok(team, context_pop(&popped));
    rank_ok(team->rank, gpu_join(team));
    check_thread(team, "quern_group_create");
    allocate(team, 100, parts);
    check_thread(team, "quern_symmetric_alloc");
    register_ranges(team, other, 1000);
    check_thread(team, "quern_symmetric_register");
    barrier(team);
    check_thread(team, "quern_barrier");
    unregister(team, other);
    check_thread(team, "quern_symmetric_unregister");
    free_all(team, parts);
    check_thread(team, "quern_symmetric_free");
    rank_status(team->rank, quern_symmetric_register(team->group, team->count, other, NULL), QUERN_NULL_POINTER);
    check_thread(team, "a registration that failed");
    destroy_groups(team);
    check_thread(team, "quern_group_destroy");
    close_with(team, own, team->count);
    gpu_close(team);
    gpu_ok(team, context_pop(&popped));
}

/* Creating and freeing memory and groups does not disturb a capture in progress, on this thread or another. */
static void work_beside_a_capture(struct gpu_team *team) {
    struct own_memory own[MOST_PER_THREAD];
    pointers parts, other;
    CUstream captured;
    make_all_own(team, own, other, BY_ALLOC);
    gpu_use(team, 0);
    gpu_ok(team, stream_create(&captured, CU_STREAM_NON_BLOCKING));
    begin_capture(team, captured, 0);
    gpu_ok(team, memory_set_async(own[0].address, 1, 1000, captured));
    for (int round = 0; round < 3; round++) {
        allocate(team, 100, parts);
        free_all(team, parts);
        quern_symmetric_sweep();
    }
    quern_device *another;
    rank_ok(team->rank, quern_device_open(QUERN_CUDA, team->device[0]->ordinal, &another));
    rank_ok(team->rank, quern_prepare(another, QUERN_BARRIER));
    quern_device_close(another);
    register_ranges(team, other, 1000);
    unregister(team, other);
    gpu_meet(team);
    destroy_groups(team);
    rank_ok(team->rank, gpu_join(team));
    gpu_use(team, 0);
    gpu_ok(team, memory_set_async(own[0].address, 2, 1000, captured));
    end_capture(team, captured);
    gpu_ok(team, stream_destroy(captured));
    gpu_meet(team);
}

/* ---- GPUs: multicast ---- */

/* Memory has multicast only if all ranks ask for it; pads have it in any case. */
static void ask_for_no_multicast(struct gpu_team *team) {
    pointers parts;
    allocate(team, 100, parts);
    check_no_multicast(team, parts[0], "rank 1 has not asked for it: expected multicast in the arguments of its group");
    check_pads(team, true);
    gpu_meet(team);
    free_all(team, parts);
}

static void use_multicast(struct gpu_team *team) {
    struct rank *rank = team->rank;
    pointers parts;
    void *base, *there;
    sizes bytes;
    EACH(i) bytes[i] = team->first + i == 1 ? 5000 : 7 << 20;
    rank_ok(rank, quern_symmetric_alloc(team->group, team->count, bytes, parts));
    check_pads(team, true);
    EACH(i) {
        rank_ok(rank, quern_symmetric_multicast(team->group[i], parts[i], &base));
        rank_ok(rank, quern_symmetric_multicast(team->group[i], (char *)parts[i] + 4999, &there));
        rank_check(rank, there == (char *)base + 4999, "multicast is not at the same offset");
        if (team->first + i == 1) continue;
        rank_refused(rank, quern_symmetric_multicast(team->group[i], (char *)parts[i] + 5000, &there), QUERN_INVALID_ARGUMENT,
                     "multicast reaches as far as the smallest part, 5000 bytes");
    }
    for (int round = 0; round < 20; round++) gpu_meet(team);  /* by multimem instructions */
    const struct quern_symmetric_memory *memory = memory_of(rank, team->group[0], parts[0]);
    if (team->first != 0) free_all(team, parts);
    gpu_meet(team);
    quern_symmetric_sweep();
    check_open(team, memory, "before all had freed it, though it is bound to a multicast object");
    gpu_meet(team);
    if (team->first == 0) free_all(team, parts);
    gpu_meet(team);
    check_closed(team, memory);
    gpu_meet(team);
}

/* Only one process is told to try again: the other one takes no step twice. */
static void try_again_in_one_process(struct gpu_team *team) {
    if (team->rank->rank == 1) setenv("QUERN_EMULATOR_FAIL", "cuMulticastAddDevice:802*2,cuMulticastBindMem:802*2", 1);
    begin(team);
    use_multicast(team);
    gpu_close(team);
}

/* A process is killed while its memory is bound: the others can still free theirs. */
static void lose_a_bound_process(struct gpu_team *team) {
    struct rank *rank = team->rank;
    pointers parts;
    allocate(team, 100, parts);
    const struct quern_symmetric_memory *memory = memory_of(rank, team->group[0], parts[0]);
    rank_check(rank, memory->multicast, "no multicast: %s", memory->no_multicast);
    gpu_meet(team);
    if (team->first == 1) raise(SIGKILL);
    rank_sleep(0.2);
    free_all(team, parts);
    gpu_synchronize(team, 0);
    check_closed(team, memory);
}

enum { LINE_BYTES = 512 };

static void keep_line(void *user, UNUSED quern_log_level level, const char *line) {
    if (strstr(line, "without multicast")) snprintf(user, LINE_BYTES, "%s", line);
}

/* Multicast that an error of the driver prevents is in the report and, in the leader's process, in the log. */
static void check_loss(struct gpu_team *team, const char *line, bool is_lost) {
    char report[4096];
    quern_group_report(team->group[0], report, sizeof report);
    const bool is_reported = strstr(report, "\nby way of GPU memory: without multicast: ") && strstr(report, team->rank->user);
    rank_check(team->rank, is_reported == is_lost, "the report is \"%s\"", report);
    rank_check(team->rank, (strstr(line, team->rank->user) != NULL) == is_lost, "the log is \"%s\"", line);
}

static void have_no_multicast(struct gpu_team *team) {
    char line[LINE_BYTES] = "";
    pointers parts;
    quern_set_log(keep_line, line, QUERN_LOG_ERROR);
    begin(team);
    quern_set_log(NULL, NULL, QUERN_LOG_ERROR);
    allocate(team, 100, parts);
    check_loss(team, line, strstr(team->rank->user, "CUDA_ERROR"));
    check_no_multicast(team, parts[0], team->rank->user);
    check_pads(team, false);
    for (int round = 0; round < 3; round++) gpu_meet(team);
    free_all(team, parts);
    gpu_close(team);
}

/* Binding fails in one process alone: then no rank has multicast. */
static void fail_in_one_process(struct gpu_team *team) {
    if (team->rank->rank == 1) setenv("QUERN_EMULATOR_FAIL", "cuMulticastBindMem:2", 1);
    have_no_multicast(team);
}

/* ---- GPUs: registration ---- */

static void refuse_range(struct gpu_team *team, pointers usual, int rank, void *other, size_t bytes, quern_status status,
                         const char *why) {
    sizes each;
    pointers parts;
    EACH(i) {
        parts[i] = team->first + i == rank ? other : usual[i];
        each[i] = team->first + i == rank ? bytes : 100;
    }
    rank_refused(team->rank, quern_symmetric_register(team->group, team->count, parts, each), status, why);
}

static uint64_t id_of(struct gpu_team *team, int i, const void *pointer) {
    struct quern_symmetric_location place;
    enum quern_symmetric_state state = quern_symmetric_find(rank_member_of(team->rank, team->group[i]), pointer, 1, &place);
    rank_check(team->rank, state == QUERN_MEMORY_SYMMETRIC, "it is not found");
    return place.id;
}

static void check_peers(struct gpu_team *team, pointers parts, size_t bytes, int value) {
    EACH(i)
        for (int peer = 0; peer < team->all; peer++)
            gpu_check_bytes(team, i, rank_peer_of(team->rank, team->group[i], parts[i], peer), value + peer, bytes,
                            "registered memory");
}

/* rank->user selects the kind of memory; two ranges of each allocation are registered. */
static void register_memory(struct gpu_team *team) {
    enum { OFFSET = 3000, BYTES = 50000, SECOND = 1000000 };
    struct rank *rank = team->rank;
    const enum own_kind kind = rank->user ? BY_CREATE : BY_ALLOC;
    struct own_memory own[MOST_PER_THREAD];
    pointers parts, second;
    const struct held before = count_held(team);
    make_all_own(team, own, parts, kind);
    EACH(i) {
        parts[i] = (char *)parts[i] + OFFSET;
        second[i] = (char *)parts[i] + SECOND;
        gpu_fill(team, i, parts[i], 10 + team->first + i, BYTES);
        gpu_fill(team, i, second[i], 70 + team->first + i, BYTES);
    }
    register_ranges(team, parts, BYTES);
    register_ranges(team, second, BYTES);
    check_no_multicast(team, parts[0], "registered memory has none");
    if (kind == BY_ALLOC && team->count > 1) {
        gpu_use(team, 0);
        rank_check(rank, team->cuda->enable_peer_access(team->context[1], 0) == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED,
                   "kernels of one GPU cannot reach the other's memory");
    }
    check_peers(team, parts, BYTES, 10);
    check_peers(team, second, BYTES, 70);
    const uint64_t id = id_of(team, 0, parts[0]);
    register_ranges(team, parts, BYTES);
    rank_check(rank, id_of(team, 0, parts[0]) == id, "a hit was a miss");
    gpu_meet(team);
    unregister(team, parts);
    check_peers(team, parts, BYTES, 10);  /* two calls are needed */
    gpu_meet(team);
    unregister(team, parts);
    gpu_meet(team);
    quern_symmetric_sweep();
    check_peers(team, second, BYTES, 70);  /* the other range of the same allocation is still open */
    register_ranges(team, parts, BYTES);
    check_peers(team, parts, BYTES, 10);
    gpu_meet(team);
    unregister(team, parts);
    unregister(team, second);
    sweep_together(team);
    free_own(team, own, team->count);
    check_held(team, before);
}

enum { ALLOCATIONS = 3 };

/* Registers several allocations and unregisters them in this order: those that are left stay open. */
static void unregister_in_order(struct gpu_team *team, const int *order, enum own_kind kind) {
    enum { BYTES = 5000 };
    struct own_memory own[ALLOCATIONS][MOST_PER_THREAD];
    pointers parts[ALLOCATIONS];
    for (int k = 0; k < ALLOCATIONS; k++) {
        make_all_own(team, own[k], parts[k], kind);
        EACH(i) gpu_fill(team, i, parts[k][i], 10 + 30 * k + team->first + i, BYTES);
        register_ranges(team, parts[k], BYTES);
    }
    for (int n = 0; n < ALLOCATIONS; n++) {
        for (int k = n; k < ALLOCATIONS; k++) check_peers(team, parts[order[k]], BYTES, 10 + 30 * order[k]);
        gpu_meet(team);
        unregister(team, parts[order[n]]);
        sweep_together(team);
    }
    for (int k = 0; k < ALLOCATIONS; k++) free_own(team, own[k], team->count);
}

static void register_several(struct gpu_team *team) {
    static const int orders[][ALLOCATIONS] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}};
    const struct held before = count_held(team);
    for (size_t i = 0; i < COUNT(orders); i++) unregister_in_order(team, orders[i], team->rank->user ? BY_CREATE : BY_ALLOC);
    check_held(team, before);
}

/* One rank's memory is freed and allocated again at the same address: the registered range is a different one. */
static void change_generation(struct gpu_team *team) {
    struct rank *rank = team->rank;
    struct own_memory own[MOST_PER_THREAD];
    pointers parts;
    make_all_own(team, own, parts, BY_CREATE);
    EACH(i) gpu_fill(team, i, parts[i], 10 + team->first + i, 1000);
    register_ranges(team, parts, 1000);
    const uint64_t id = id_of(team, 0, parts[0]);
    check_peers(team, parts, 1000, 10);
    gpu_meet(team);
    EACH(i) {
        if (team->first + i != 1) continue;
        gpu_use(team, i);
        unmap_own(team, &own[i]);
        map_own(team, i, &own[i], BY_CREATE);
        gpu_fill(team, i, parts[i], 31, 1000);
    }
    register_ranges(team, parts, 1000);
    rank_check(rank, id_of(team, 0, parts[0]) > id, "another allocation was taken for the one that was registered");
    EACH(i) gpu_check_bytes(team, i, rank_peer_of(rank, team->group[i], parts[i], 1), 31, 1000, "the new allocation");
    gpu_meet(team);
    close_with(team, own, team->count);
}

static void refuse_registrations(struct gpu_team *team) {
    struct own_memory own[MOST_PER_THREAD + 1];
    pointers usual, symmetric;
    static char host[100];
    const int i = team->count > 1;
    make_all_own(team, own, usual, BY_ALLOC);
    allocate(team, 1000, symmetric);
    own[team->count] = make_own(team, i, UNSHARED);
    refuse_range(team, usual, 1, host, sizeof host, QUERN_INVALID_ARGUMENT, "rank 1: the pointer is not in device memory");
    refuse_range(team, usual, 1, (char *)usual[i] + 10, (4 << 20) - 9, QUERN_INVALID_ARGUMENT,
                 "4194295 bytes reach beyond the allocation, which has 4194294 from the pointer on");
    refuse_range(team, usual, 1, (char *)symmetric[i] + 10, 10, QUERN_INVALID_ARGUMENT, "was allocated before");
    if (team->count > 1)
        refuse_range(team, usual, 1, usual[0], 100, QUERN_INVALID_ARGUMENT, "the memory is on cuda:0: expected the rank's own");
    else
        refuse_range(team, usual, 1, (void *)(uintptr_t)own[team->count].address, 100, QUERN_NOT_SUPPORTED,
                     "rank 1: the memory was made without a file-descriptor handle");
    register_ranges(team, usual, 100);
    gpu_meet(team);
    close_with(team, own, team->count + 1);
}

/* Peer access does not open pools. */
static void refuse_pools(struct gpu_team *team) {
    pointers parts;
    EACH(i) {
        CUdeviceptr address;
        gpu_use(team, i);
        driver_ok(DRIVER(cuMemAllocAsync, CUdeviceptr *, size_t, CUstream)(&address, 1000, team->stream[i]));
        parts[i] = (void *)(uintptr_t)address;
    }
    refuse_to_register(team, parts, QUERN_NOT_SUPPORTED,
                       "rank 0: the memory is of a pool (cuMemAllocAsync), which peer access does not open");
    gpu_meet(team);
    EACH(i) {
        gpu_use(team, i);
        driver_ok(DRIVER(cuMemFreeAsync, CUdeviceptr, CUstream)((uintptr_t)parts[i], team->stream[i]));
    }
    gpu_meet(team);
}

/* Memory of rank 1 that the GPU of rank `reader` may only read is refused, and the access stays as it is. */
static void refuse_reader(struct gpu_team *team, pointers usual, const struct own_memory *own, int reader) {
    const bool is_here = reader >= team->first && reader < team->first + team->count;
    unsigned long long flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    char why[100];
    snprintf(why, sizeof why, "the memory is mapped for cuda:%d for reading only: expected access for reading and writing", reader);
    if (is_here) set_access(team, reader - team->first, own, CU_MEM_ACCESS_FLAGS_PROT_READ);
    refuse_range(team, usual, -1, NULL, 0, QUERN_INVALID_ARGUMENT, why);
    if (!is_here) return;
    const CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, team->device[reader - team->first]->cuda_device};
    gpu_ok(team, vmm_get_access(&flags, &location, own->address));
    rank_check(team->rank, flags == CU_MEM_ACCESS_FLAGS_PROT_READ, "the access became %llu", flags);
    set_access(team, reader - team->first, own, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

static void refuse_read_only(struct gpu_team *team) {
    struct own_memory own[MOST_PER_THREAD];
    pointers usual;
    make_all_own(team, own, usual, BY_CREATE);
    refuse_reader(team, usual, &own[team->count - 1], 1);
    if (team->count > 1) refuse_reader(team, usual, &own[1], 0);
    register_ranges(team, usual, 100);
    gpu_meet(team);
    close_with(team, own, team->count);
}

/* Memory of cuMemAlloc is refused: for instance, a process with several GPUs cannot open another one's on all of them. */
static void refuse_memory(struct gpu_team *team, const char *why) {
    struct own_memory own[MOST_PER_THREAD];
    pointers parts;
    make_all_own(team, own, parts, BY_ALLOC);
    refuse_to_register(team, parts, QUERN_NOT_SUPPORTED, why);
    gpu_meet(team);
    close_with(team, own, team->count);
}

static void refuse_foreign_memory(struct gpu_team *team) { refuse_memory(team, "this process drives 2 GPUs"); }

/* ---- GPUs: groups ---- */

struct refusal {
    quern_status status;
    const char *why;
};

static void be_refused(struct gpu_team *team) {
    const struct refusal *refusal = team->rank->user;
    gpu_open(team);
    rank_refused(team->rank, gpu_join(team), refusal->status, refusal->why);
    gpu_close(team);
}

/* GPUs without access to each other's memory: all goes by pinned host memory.  rank->user: the reason, as the report has it. */
static void use_pinned_memory(struct gpu_team *team) {
    enum { BYTES = 5000 };
    struct rank *rank = team->rank;
    pointers parts;
    void *there;
    const bool is_elsewhere = getenv("QUERN_EMULATOR_HOST_POINTERS");  /* then freed addresses may come back */
    check_way(team, rank->user);
    const struct held before = count_held(team);
    for (int round = 0; round < 3; round++) {
        allocate(team, BYTES, parts);
        EACH(i) {
            rank_check(rank, parts[i] && (uintptr_t)parts[i] % 256 == 0, "the part is at %p", parts[i]);
            gpu_check_bytes(team, i, parts[i], 0, BYTES, "fresh memory");
            gpu_fill(team, i, parts[i], team->first + i + 1, BYTES);
        }
        gpu_meet(team);
        check_peers(team, parts, BYTES, 1);
        check_no_multicast(team, parts[0], "it is pinned memory of the host");
        gpu_meet(team);
        free_all(team, parts);
        rank_refused(rank, quern_symmetric_peer(team->group[0], parts[0], 0, &there), QUERN_INVALID_ARGUMENT,
                     is_elsewhere ? "pointer is not in symmetric memory" : "pointer was freed");
        synchronize(team);
    }
    check_held(team, before);
    refuse_memory(team, "rank 0: the group goes by pinned host memory, since its GPUs do not reach each other's");
}

/* The probe takes copies: the group goes by GPU memory. */
static void be_probed_by_copies(struct gpu_team *team) {
    check_way(team, NULL);
    gpu_meet(team);
}

/* Two ranks on one GPU; only one of them allows it. */
static void be_refused_to_share(struct gpu_team *team) {
    gpu_open(team);
    quern_group_args args[2];
    for (int i = 0; i < 2; i++) {
        args[i] = (quern_group_args)GROUP_ARGS(.rank = i, .ranks = 2, .name = team->rank->name, .device = team->device[i],
                                               .share_gpu = i);
    }
    rank_refused(team->rank, quern_group_create(args, 2, team->group), QUERN_NOT_SUPPORTED,
                 "ranks 0 and 1 use one GPU, which both must allow by share_gpu");
    args[0].share_gpu = 1;
    rank_ok(team->rank, quern_group_create(args, 2, team->group));
    gpu_meet(team);
    gpu_close(team);
}

/* One rank, which rank->user names, is a CPU. */
static void mix_kinds(struct gpu_team *team) {
    const int odd = *(const int *)team->rank->user;
    char expected[200];
    gpu_open(team);
    quern_device *gpu = team->device[0];
    if (team->first == odd) team->device[0] = team->rank->device;
    snprintf(expected, sizeof expected, ", rank %d: no way for these ranks to reach each other: host memory: rank %d is a GPU; "
             "sockets: rank %d is a GPU; GPU memory: rank %d is a CPU", team->first, odd == 0, odd == 0, odd);
    rank_refused(team->rank, gpu_join(team), QUERN_NOT_SUPPORTED, expected);
    team->device[0] = gpu;
    gpu_close(team);
}

/* A pad before its first meeting: signals and counters are at the group's first epoch, and the rest is zero. */
static void check_pad(struct gpu_team *team, int i) {
    const struct quern_cuda_rank *rank = quern_cuda_rank_of(rank_member_of(team->rank, team->group[i]));
    const uint32_t stride = quern_pad_stride((uint32_t)team->all), first = team->layout->first_epoch;
    const size_t words = (size_t)quern_device_pad_bytes((uint32_t)team->all) / 4;
    uint32_t pad[1024];
    gpu_use(team, i);
    driver_ok(DRIVER(cuMemcpyDtoH_v2, void *, CUdeviceptr, size_t)(pad, rank->pad[team->first + i], 4 * words));
    for (size_t word = 0; word < words; word++) {
        const bool is_signal = word < 4 * stride, is_count = !is_signal && word <= 5 * stride;
        const uint32_t expected = is_count || (is_signal && word % 2 == 0) ? first : 0;
        rank_check(team->rank, pad[word] == expected, "word %zu of %zu of the pad is %u, expected %u", word, words, pad[word],
                   expected);
    }
}

/* Barriers in sequence on changing streams: the pad serves one at a time. */
static void change_streams(struct gpu_team *team) {
    CUstream other[MOST_PER_THREAD];
    EACH(i) check_pad(team, i);
    rank_line_up(team->rank);
    EACH(i) {
        gpu_use(team, i);
        gpu_ok(team, stream_create(&other[i], CU_STREAM_NON_BLOCKING));
    }
    for (int round = 0; round < 40; round++)
        EACH(i) {
            CUstream stream[] = {other[i], NULL, team->stream[i]};
            rank_ok(team->rank, quern_barrier(team->group[i], NULL, stream[round % 3]));
        }
    gpu_meet(team);
    EACH(i) gpu_ok(team, stream_destroy(other[i]));
}

struct awaited {
    struct gpu_team *team;
    CUstream stream;
};

/* Work of the emulator only goes on while a thread waits for it. */
static void *await_stream(void *user) {
    const struct awaited *awaited = user;
    awaited->team->cuda->context_push(awaited->team->context[0]);
    awaited->team->cuda->stream_synchronize(awaited->stream);
    return NULL;
}

/* A rank's barrier on one stream follows its last one on another stream, which is held up: nobody gets past it. */
static void follow_another_stream(struct gpu_team *team) {
    struct awaited other = {.team = team};
    pthread_t threads[2];
    CUevent passed;
    int go_on = 0;
    hold_up(team, 0, &go_on);
    gpu_ok(team, stream_create(&other.stream, CU_STREAM_NON_BLOCKING));
    rank_ok(team->rank, quern_barrier(team->group[0], NULL, team->stream[0]));
    rank_ok(team->rank, quern_barrier(team->group[0], NULL, other.stream));
    gpu_use(team, 1);
    gpu_ok(team, event_create(&passed, CU_EVENT_DISABLE_TIMING));
    rank_ok(team->rank, quern_barrier(team->group[1], NULL, team->stream[1]));
    gpu_ok(team, event_record(passed, team->stream[1]));
    rank_ok(team->rank, quern_barrier(team->group[1], NULL, team->stream[1]));
    rank_check(team->rank, pthread_create(&threads[0], NULL, await_stream, &other) == 0, "no thread");
    rank_check(team->rank, pthread_create(&threads[1], NULL, give_leave_soon, &go_on) == 0, "no thread");
    gpu_ok(team, event_synchronize(passed));
    rank_check(team->rank, __atomic_load_n(&go_on, __ATOMIC_ACQUIRE), "a barrier overtook an earlier one");
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    gpu_synchronize(team, 1);
    gpu_ok(team, event_destroy(passed));
    gpu_synchronize(team, 0);
    gpu_ok(team, stream_destroy(other.stream));
}

/*
 * Between two launches of one thread whose kernels wait for each other, nothing waits for the device: neither the end of memory
 * that was freed, nor that of another group, nor that of a device.
 */
enum { LAUNCHES = 200 };  /* seconds that suffice for them; the limit of each is longer */

static void wait_for_no_launch(struct gpu_team *team) {
    struct rank *rank = team->rank;
    pointers parts;
    quern_device *another;
    rank_ok(rank, quern_device_open(QUERN_CUDA, team->device[0]->ordinal, &another));
    rank_ok(rank, quern_prepare(another, QUERN_BARRIER));
    quern_group_args args = GROUP_ARGS(.ranks = 1, .device = team->device[0]);
    quern_group *alone = rank_create(rank, &args);
    allocate(team, 100, parts);
    const struct quern_symmetric_memory *memory = memory_of(rank, team->group[0], parts[0]);
    gpu_meet(team);
    free_all(team, parts);
    synchronize(team);
    const double began = rank_now();
    rank_ok(rank, quern_barrier(team->group[0], NULL, team->stream[0]));
    for (int i = 0; i < 3; i++) quern_symmetric_sweep();
    check_open(team, memory, "while a kernel waited");
    rank_ok(rank, quern_group_destroy(alone));
    quern_device_close(another);
    rank_ok(rank, quern_barrier(team->group[1], NULL, team->stream[1]));
    synchronize(team);
    rank_check(rank, rank_now() - began < LAUNCHES, "two launches took %g s", rank_now() - began);
    gpu_meet(team);
    check_closed(team, memory);
}

/* CUDA_LAUNCH_BLOCKING=1: a thread may launch for one rank of a group. */
static void launch_for_another(struct gpu_team *team) {
    quern_group **all = team->rank->shared;
    all[team->first] = team->group[0];
    gpu_meet(team);
    if (team->first == 0)
        rank_refused(team->rank, quern_barrier(all[1], NULL, NULL), QUERN_NOT_SUPPORTED,
                     "CUDA_LAUNCH_BLOCKING is set, and this thread has launched for rank 0 before");
    gpu_meet(team);
}

/* ---- the list of cases ---- */

/* Processes, threads of each, ranks of each thread, GPUs; without GPUs the ranks are CPUs.  A bit for each, in this order. */
enum { ONE_GPU = 1, ONE = 2, ONE_OF_FOUR = 4, TWO_THREADS = 8, THREE_THREADS = 16, TWO = 32, THREE = 64, TWO_OF_TWO = 128,
       TWO_BY_THREADS = 256, FOUR_OF_TWO = 512, PAIR_ON_ONE = 1024, THREE_ON_ONE = 2048, PROCESSES_ON_ONE = 4096,
       THREE_ON_TWO = 8192, PROCESSES_ON_TWO = 16384, CPUS = 32768, CPU_THREADS = 65536, MORE_CPU_THREADS = 131072 };

static const struct gpu_layout layouts[] = {
    {1, 1, 1, 1, 0, 0, 0}, {1, 1, 2, 2, 0, 0, 0}, {1, 1, 4, 4, 0, 0, 0}, {1, 2, 1, 2, 0, 0, 0}, {1, 3, 1, 3, 0, 0, 0},
    {2, 1, 1, 2, 0, 0, 0}, {3, 1, 1, 3, 0, 0, 0}, {2, 1, 2, 4, 0, 0, 0}, {2, 2, 1, 4, 0, 0, 0}, {4, 1, 2, 4, 0, 0, 0},
    {1, 1, 2, 1, 0, 0, 0}, {1, 1, 3, 1, 0, 0, 0}, {3, 1, 1, 1, 0, 0, 0}, {1, 1, 3, 2, 0, 0, 0}, {3, 1, 1, 2, 0, 0, 0},
    {3, 1, 1, 0, 0, 0, 0}, {2, THREADS, 1, 0, 0, 0, 0}, {4, THREADS, 1, 0, 0, 0, 0}};

struct case_row {
    const char *name;
    unsigned layouts;              /* a case in each of them */
    gpu_function *function;
    const void *user;
    const char *environment[3];    /* NAME=VALUE */
    const char *gpus;              /* their compute capabilities; NULL: 9.0 */
    uint32_t first_epoch;
    double timeout;
    int askers;
    bool loses_one;                /* process 1 is killed in it */
};

#define MULTICAST "QUERN_EMULATOR_MULTICAST=1"
#define FAIL(call) "QUERN_EMULATOR_FAIL=" call
#define PEERS(kind) "QUERN_EMULATOR_PEERS=" kind
#define IS_LOST "rank 0: what cuda:1 of rank 1 writes to the memory of cuda:0 of rank 0 is lost, though the driver promises access"
#define NO_ACCESS "rank 0: cuda:0 cannot reach the memory of cuda:1: there is no peer access between them"
#define CASE(name_, layouts_, function_, ...) {.name = name_, .layouts = layouts_, .function = function_, __VA_ARGS__}
/* The reason, and a call of the driver that fails. */
#define NO_MULTICAST(name, layouts, why, ...) \
    CASE("no multicast: " name, layouts, have_no_multicast, .user = why, .environment = {MULTICAST, __VA_ARGS__})
#define REFUSED(name, call, status, why) \
    CASE(name, TWO, be_refused, .user = &(const struct refusal){status, why}, .environment = {FAIL(call)})

static const char *const yes = "yes";

static const struct case_row cases[] = {
    CASE("shared memory", CPU_THREADS | MORE_CPU_THREADS, share_with_threads),
    CASE("a killed process's memory", CPUS, lose_a_process, .loses_one = true),
    CASE("every part", ONE_GPU | ONE | TWO_THREADS | TWO | TWO_OF_TWO | TWO_BY_THREADS | THREE_ON_ONE | PROCESSES_ON_ONE |
         FOUR_OF_TWO, see_every_part),
    CASE("every part without multicast", TWO, see_every_part, .gpus = "8.0,8.0"),
    CASE("often", ONE | TWO, allocate_often, .environment = {"QUERN_EMULATOR_MEMORY_MB=64"}),
    CASE("often, multicast", TWO, allocate_often, .environment = {"QUERN_EMULATOR_MEMORY_MB=64", MULTICAST}),
    CASE("nothing is left", ONE, leave_nothing),
    CASE("nothing is left, multicast", TWO, leave_nothing, .environment = {MULTICAST}),

    CASE("free in stream order", ONE | TWO, free_in_stream_order),
    CASE("free in stream order, multicast", ONE, free_in_stream_order, .environment = {MULTICAST}),
    CASE("destroy with a free under way", ONE, destroy_with_work_under_way, .user = yes),
    CASE("destroy with a barrier under way", ONE, destroy_with_work_under_way),
    CASE("the owner leaves first", THREE_THREADS | THREE, free_before_the_others),
    CASE("destroy with a graph under way", ONE, destroy_behind_a_graph),
    CASE("destroy beside a capture", ONE, destroy_beside_a_capture),
    CASE("streams of green contexts", ONE, use_a_green_stream),
    CASE("streams that cannot be", ONE, refuse_streams),
    CASE("the thread's context", ONE, leave_the_thread_alone),
    CASE("the thread's context, multicast", TWO, leave_the_thread_alone, .environment = {MULTICAST}),
    CASE("beside a capture", ONE, work_beside_a_capture),
    CASE("beside a capture, multicast", TWO, work_beside_a_capture, .environment = {MULTICAST}),

    CASE("multicast", ONE_OF_FOUR | TWO_THREADS | TWO | TWO_OF_TWO, use_multicast, .environment = {MULTICAST}),
    CASE("multicast, a killed process", TWO, lose_a_bound_process, .environment = {MULTICAST}, .loses_one = true),
    CASE("multicast, not ready at first", ONE, use_multicast, .environment = {MULTICAST, FAIL("cuMulticastBindMem:802*3")}),
    CASE("multicast, not ready at first in one process", TWO, try_again_in_one_process, .environment = {MULTICAST}),
    CASE("no multicast: not asked for", TWO, ask_for_no_multicast, .environment = {MULTICAST}, .askers = 1),
    CASE("no multicast: an older GPU", TWO, have_no_multicast,
         .user = "rank 1: it needs compute capability 9.0 or newer, and cuda:1 has 8.0", .environment = {MULTICAST},
         .gpus = "9.0,8.0"),
    CASE("no multicast: no NVSwitch", TWO, have_no_multicast, .user = "rank 0: cuda:0 does not support it: it needs NVSwitch"),
    CASE("no multicast: bind in one process", TWO, fail_in_one_process,
         .user = "rank 1: cuMulticastBindMem: CUDA_ERROR_OUT_OF_MEMORY", .environment = {MULTICAST}),
    NO_MULTICAST("one rank", ONE_GPU, "the group has a single rank", NULL),
    NO_MULTICAST("a shared GPU", THREE_ON_TWO, "rank 0: it needs a GPU for each rank, and rank 2 has the same", NULL),
    NO_MULTICAST("never ready", ONE, "rank 0: cuMulticastBindMem: CUDA_ERROR_SYSTEM_NOT_READY", FAIL("cuMulticastBindMem:802")),
    NO_MULTICAST("illegal state", TWO, "rank 0: cuMulticastBindMem: CUDA_ERROR_ILLEGAL_STATE", FAIL("cuMulticastBindMem:401")),
    NO_MULTICAST("create", TWO, "rank 0: cuMulticastCreate: CUDA_ERROR_NOT_SUPPORTED", FAIL("cuMulticastCreate:801")),
    NO_MULTICAST("add", ONE, "rank 0: cuMulticastAddDevice: CUDA_ERROR_UNKNOWN", FAIL("cuMulticastAddDevice:999")),
    NO_MULTICAST("bind", TWO, "rank 0: cuMulticastBindMem: CUDA_ERROR_OUT_OF_MEMORY", FAIL("cuMulticastBindMem:2")),

    CASE("register cuMemAlloc", ONE | TWO, register_memory),
    CASE("register cuMemCreate", TWO_THREADS | TWO | TWO_OF_TWO, register_memory, .user = yes),
    CASE("register cuMemAlloc, which cannot be shared", ONE, register_memory, .environment = {FAIL("cuIpcGetMemHandle:801")}),
    CASE("several of cuMemAlloc", TWO, register_several),
    CASE("several of cuMemCreate", TWO, register_several, .user = yes),
    CASE("another allocation at the same address", ONE | TWO, change_generation),
    CASE("registrations that cannot be", ONE | TWO, refuse_registrations),
    CASE("memory of pools", ONE | TWO, refuse_pools),
    CASE("memory for reading only", ONE | TWO, refuse_read_only),
    CASE("foreign memory for two GPUs", TWO_OF_TWO, refuse_foreign_memory),

    CASE("no peer access", ONE, use_pinned_memory, .user = NO_ACCESS, .environment = {PEERS("none")}),
    CASE("no peer access between threads", TWO_THREADS, use_pinned_memory, .user = NO_ACCESS,
         .environment = {PEERS("none"), "QUERN_EMULATOR_HOST_POINTERS=other"}),
    CASE("no peer access between processes", TWO, use_pinned_memory,
         .user = "rank 0: a GPU of this process cannot reach the part of rank 1: there is no peer access",
         .environment = {PEERS("none")}),
    CASE("no peer access, host memory elsewhere", TWO_OF_TWO, use_pinned_memory, .user = "cannot reach the memory of cuda:1",
         .environment = {PEERS("none"), "QUERN_EMULATOR_HOST_POINTERS=other"}),
    CASE("peer access that loses writes", ONE | TWO, use_pinned_memory, .user = IS_LOST, .environment = {PEERS("lies")}),
    CASE("peer access without fills", ONE, be_probed_by_copies, .environment = {PEERS("unfilled")}),
    REFUSED("no memory for pads", "cuMemCreate:2", QUERN_OUT_OF_MEMORY, "rank 0: cuMemCreate of 2097152 bytes for rank 0"),
    REFUSED("a segment that cannot be registered", "cuMemHostRegister_v2:1", QUERN_CUDA_ERROR,
            "rank 0: cuMemHostRegister of the group's segment"),
    REFUSED("no export", "cuMemExportToShareableHandle:1", QUERN_CUDA_ERROR, "rank 0: cuMemExportToShareableHandle"),
    REFUSED("no import", "cuMemImportFromShareableHandle:1", QUERN_CUDA_ERROR, "rank 0: cuMemImportFromShareableHandle"),
    CASE("sharing without leave", PAIR_ON_ONE, be_refused_to_share),
    CASE("a CPU among GPUs, the first", PROCESSES_ON_TWO, mix_kinds, .user = &(const int){0}),
    CASE("a CPU among GPUs, the last", PROCESSES_ON_TWO, mix_kinds, .user = &(const int){2}),
    CASE("streams in turn", ONE | TWO, change_streams),
    CASE("a stream held up", ONE, follow_another_stream),
    CASE("nothing waits between two launches", ONE, wait_for_no_launch, .environment = {"QUERN_EMULATOR_WAITS=1"},
         .timeout = 2 * LAUNCHES),
    CASE("nothing waits between two launches, pinned memory", ONE, wait_for_no_launch,
         .environment = {"QUERN_EMULATOR_WAITS=1", PEERS("none")}, .timeout = 2 * LAUNCHES),
    CASE("launches that block", TWO_THREADS, launch_for_another, .environment = {"CUDA_LAUNCH_BLOCKING=1"}),
    CASE("epochs that wrap around", TWO, change_streams, .first_epoch = 0xfffffff0u),
    CASE("epochs that wrap around, by multicast", TWO, change_streams, .environment = {MULTICAST}, .first_epoch = 0xfffffff0u),
};

/* What a case may set; each case sets the GPUs. */
static const char *const settable[] = {"QUERN_EMULATOR_MULTICAST", "QUERN_EMULATOR_MEMORY_MB", "QUERN_EMULATOR_FAIL",
                                       "QUERN_EMULATOR_PEERS", "QUERN_EMULATOR_HOST_POINTERS", "QUERN_EMULATOR_WAITS",
                                       "CUDA_LAUNCH_BLOCKING"};

static void set_environment(const struct case_row *row, const struct gpu_layout *layout) {
    setenv("QUERN_EMULATOR", row->gpus ? row->gpus : layout->gpus > 2 ? "9.0,9.0,9.0,9.0" : "9.0,9.0", 1);
    for (size_t i = 0; i < COUNT(settable); i++) unsetenv(settable[i]);
    for (size_t i = 0; i < COUNT(row->environment) && row->environment[i]; i++) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(row->environment[i], "="), row->environment[i]);
        setenv(name, strchr(row->environment[i], '=') + 1, 1);
    }
}

/* ---- running them ---- */

/* Those that open and close the devices and the group; the others are within both. */
static gpu_function *const openers[] = {leave_nothing, leave_the_thread_alone, be_refused, be_refused_to_share, mix_kinds,
                                        have_no_multicast, fail_in_one_process, try_again_in_one_process};

/* A thread of a case: what the library allocates on it is counted. */
static void run_counted(struct gpu_team *team) {
    const struct gpu_case *chosen = team->rank->user;
    const char *none;
    bool opens = false;
    for (size_t i = 0; i < COUNT(openers); i++) opens |= chosen->function == openers[i];
    team->rank->user = chosen->user;
    failing_begin(FAILING_MEMORY, 0, 0);
    if (!opens) begin(team);
    chosen->function(team);
    if (!opens) gpu_close(team);
    failing_end(&none);
}

/* The library keeps all handles ever made; here no thread uses one any more. */
static void drop_handles(struct rank *rank) {
    for (quern_group *group; (group = quern_drop_handle());) {
        rank_check(rank, !group->member, "rank %d has not destroyed a group", group->member->rank);
        free(group);
    }
}

/* The driver keeps what a first use makes: a GPU's default stream. */
static void use_once(struct rank *rank, int gpus) {
    cuda();  /* before there are threads */
    for (int gpu = 0; gpu < gpus; gpu++) {
        quern_device *device;
        rank_ok(rank, quern_device_open(QUERN_CUDA, gpu, &device));
        quern_device_close(device);
    }
}

/* One run of a case, which leaves nothing behind: no memory, and no object of the driver. */
static void run_once(struct rank *rank, bool is_alone) {
    const struct alive before = failing_count();
    rank_ok(rank, gpu_run_case(rank));
    if (!is_alone) rank_line_up(rank);  /* what is bound to a multicast object stays until all have freed it */
    quern_symmetric_sweep();
    drop_handles(rank);
    const struct alive after = failing_count_again(&before);
    for (int i = 0; i < ALIVE_COUNT; i++)
        rank_check(rank, after.count[i] == before.count[i], "%ld %s are left, %ld before", after.count[i], alive_names[i],
                   before.count[i]);
}

/* A case in one process, twice: the second run finds what the first has left in the tables of the process. */
static quern_status run_gpus(struct rank *rank, const struct gpu_case *chosen, bool loses_one) {
    const struct gpu_case counted = {chosen->layout, run_counted, chosen};
    use_once(rank, chosen->layout.gpus);
    rank->user = &counted;
    run_once(rank, loses_one);
    if (loses_one) return QUERN_OK;
    rank_line_up(rank);
    if (rank->rank == 0) memset(rank->shared, 0, SHARED_BYTES);
    rank_line_up(rank);
    run_once(rank, false);
    return QUERN_OK;
}

struct run {
    const struct case_row *row;
    struct gpu_layout layout;
};

static quern_status run_process(struct rank *rank) {
    const struct run *run = rank->user;
    const struct gpu_case chosen = {run->layout, run->row->function, run->row->user};
    rank->user = &chosen;
    return run->layout.gpus ? run_gpus(rank, &chosen, run->row->loses_one) : gpu_run_case(rank);
}

static const char *run_case(const struct run *run) {
    set_environment(run->row, &run->layout);
    return ranks_run(&(struct ranks){.kind = RANK_PROCESSES, .count = run->layout.processes, .user = run, .function = run_process,
                                     .shared_bytes = SHARED_BYTES, .may_die = (unsigned)run->row->loses_one << 1});
}

/* Whether the emulator has kernels: without nvcc it has none. */
static quern_status probe(UNUSED struct rank *rank) {
    quern_device *device;
    quern_status status = quern_device_open(QUERN_CUDA, 0, &device);
    return status == QUERN_OK ? quern_prepare(device, QUERN_BARRIER) : status;
}

static bool has_gpus(void) {
    unsetenv("QUERN_EMULATOR");
    const char *wrong = ranks_run(&(struct ranks){.kind = RANK_PROCESSES, .count = 1, .function = probe});
    if (wrong) printf("the cases with GPUs are skipped: %s", wrong);
    return !wrong;
}

/* The cases whose names contain the first word, or all. */
static void run_cases(UNUSED const char *word, int count, char **words) {
    setenv("QUERN_TEST_DEVICE", "cuda", 1);
    const bool gpus = has_gpus();
    for (const struct case_row *row = cases; row < cases + COUNT(cases); row++)
        for (size_t i = 0; i < COUNT(layouts); i++) {
            struct run run = {row, layouts[i]};
            char name[160];
            run.layout.first_epoch = row->first_epoch, run.layout.timeout = row->timeout, run.layout.askers = row->askers;
            snprintf(name, sizeof name, "%s, %d * %d * %d ranks on %d GPUs", row->name, run.layout.processes, run.layout.threads,
                     run.layout.ranks, run.layout.gpus);
            if (!(row->layouts >> i & 1) || (count && !strstr(name, words[0]))) continue;
            if (run.layout.gpus && !gpus) runs.skipped++;
            else runs_count(name, run_case(&run));
        }
}

const struct program programs[] = {{"symmetric", run_cases, true}, {NULL, NULL, false}};
