/*
 * Symmetric memory in cases that Criterion cannot run: ranks that are threads of several processes, GPUs of one process and of
 * several, processes that are killed.  The GPUs are the emulator's (LD_LIBRARY_PATH=build/emulator); each case configures it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ranks/cuda_rank.h"
#include "ranks/handles.h"
#include "harness/failing.h"
#include "harness/gpu_ranks.h"
#include "ranks/symmetric/symmetric.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { SHARED_BYTES = 4096 };

/* ---- shared by the cases ---- */

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

struct held {
    int descriptors, mappings;  /* those of the emulator among them */
};

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
    bool first_thread = team->first % (team->layout->threads * team->layout->ranks) == 0;
    if (first_thread) held = (struct held){rank_descriptors(), count_mappings("memfd:")};
    meet_on_host(team);
    return held;
}

static void check_held(struct gpu_team *team, struct held before) {
    struct held held = count_held(team);
    rank_check(team->rank, held.descriptors == before.descriptors, "%d descriptors, %d before", held.descriptors,
               before.descriptors);
    rank_check(team->rank, held.mappings == before.mappings, "%d mappings, %d before", held.mappings, before.mappings);
}

/* All ranks of a team allocate, each bytes[i]. */
static void allocate(struct gpu_team *team, const size_t *bytes, void **pointers) {
    rank_ok(team->rank, quern_symmetric_alloc(team->group, team->count, bytes, pointers));
}

static void allocate_same(struct gpu_team *team, size_t bytes, void **pointers) {
    size_t each[MOST_PER_THREAD];
    for (int i = 0; i < MOST_PER_THREAD; i++) each[i] = bytes;
    allocate(team, each, pointers);
}

static void free_all(struct gpu_team *team, void **pointers) {
    for (int i = 0; i < team->count; i++) rank_ok(team->rank, quern_symmetric_free(team->group[i], pointers[i], team->stream[i]));
}

static void register_ranges(struct gpu_team *team, void **pointers, size_t bytes) {
    size_t each[MOST_PER_THREAD];
    for (int i = 0; i < MOST_PER_THREAD; i++) each[i] = bytes;
    rank_ok(team->rank, quern_symmetric_register(team->group, team->count, pointers, each));
}

static void begin(struct gpu_team *team) {
    gpu_open(team);
    rank_ok(team->rank, gpu_join(team));
}

/* Every rank of the team gets the status, with this text in the detail. */
static void check_no_multicast(struct gpu_team *team, const void *pointer, const char *why) {
    void *there;
    rank_refused(team->rank, quern_symmetric_multicast(team->group[0], pointer, &there), QUERN_NOT_SUPPORTED, why);
}

/* ---- CPU ranks: threads of several processes ---- */

enum { THREADS = 3 };

struct mixed_thread {
    struct rank rank;
    bool failed;
};

static void *run_mixed_thread(void *user) {
    struct mixed_thread *thread = user;
    struct rank *rank = &thread->rank;
    if (setjmp(rank->end)) {
        thread->failed = true;
        __atomic_store_n(&rank->result->end, RANK_FAILED, __ATOMIC_RELEASE);
        return NULL;
    }
    quern_group *group = rank_group(rank, RANK_LIMIT);
    size_t bytes = 1000 * (size_t)(rank->rank + 1);
    char *mine = rank_allocate(rank, group, bytes), **all = rank->shared;
    all[rank->rank] = mine;
    memset(mine, rank->rank, bytes);
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    for (int peer = 0; peer < rank->ranks; peer++) {
        const char *there = rank_peer_of(rank, group, mine, peer);
        for (int at = 0; at < 1000 * (peer + 1); at++) rank_check(rank, there[at] == peer, "byte %d of rank %d is wrong", at, peer);
        bool neighbour = peer / THREADS == rank->rank / THREADS;
        rank_check(rank, !neighbour || there == all[peer], "threads of one process have two mappings");
    }
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    /* The last thread of a process keeps the mapping for those that have freed their parts. */
    if (rank->rank % THREADS) {
        rank_ok(rank, quern_symmetric_free(group, mine, NULL));
    } else {
        rank_sleep(0.05);
        for (int peer = 0; peer < rank->ranks; peer++) memset(rank_peer_of(rank, group, mine, peer), 1, 1000);
        rank_ok(rank, quern_symmetric_free(group, mine, NULL));
    }
    rank_ok(rank, quern_group_destroy(group));
    return NULL;
}

static quern_status mix_threads_and_processes(struct rank *rank) {
    pthread_t threads[THREADS];
    struct mixed_thread users[THREADS];
    for (int i = 0; i < THREADS; i++) {
        users[i] = (struct mixed_thread){.rank = *rank};
        users[i].rank.rank = rank->rank * THREADS + i;
        users[i].rank.ranks = rank->ranks * THREADS;
        rank_check(rank, pthread_create(&threads[i], NULL, run_mixed_thread, &users[i]) == 0, "no thread");
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        if (users[i].failed) longjmp(rank->end, 1);
    return QUERN_OK;
}

/* A process is killed: the others keep the memory, including its part. */
static quern_status lose_a_process(struct rank *rank) {
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
    return quern_group_destroy(group);
}

/* ---- GPUs: allocation ---- */

static size_t size_for(int rank) {
    static const size_t sizes[] = {70000, 5 << 20, 0, 4096, 1};
    return sizes[rank % (int)COUNT(sizes)];
}

static void see_every_part(struct gpu_team *team) {
    size_t bytes[MOST_PER_THREAD];
    void *parts[MOST_PER_THREAD];
    for (int i = 0; i < team->count; i++) bytes[i] = size_for(team->first + i);
    allocate(team, bytes, parts);
    int64_t addresses = 0;
    for (int peer = 0; peer < team->all; peer++) addresses += (int64_t)(size_for(peer) / (2 << 20) + 1) * (2 << 20);
    const struct quern_symmetric_memory *memory = memory_of(team->rank, team->group[0], parts[0]);
    rank_check(team->rank, memory->address_bytes == addresses, "%lld bytes of addresses instead of %lld",
               (long long)memory->address_bytes, (long long)addresses);
    for (int i = 0; i < team->count; i++) {
        rank_check(team->rank, parts[i] && (uintptr_t)parts[i] % (2 << 20) == 0, "the part is at %p", parts[i]);
        gpu_check_bytes(team, i, parts[i], 0, bytes[i], "fresh memory");
        if (bytes[i]) gpu_fill(team, i, parts[i], team->first + i + 1, bytes[i]);
    }
    gpu_meet(team);
    for (int i = 0; i < team->count; i++)
        for (int peer = 0; peer < team->all; peer++) {
            char *there = rank_peer_of(team->rank, team->group[i], parts[i], peer);
            if (size_for(peer)) gpu_check_bytes(team, i, there, peer + 1, size_for(peer), "a peer's part");
            rank_check(team->rank, peer != team->first + i || there == parts[i], "this rank's own part is elsewhere");
        }
    gpu_meet(team);
    for (int i = 0; i < team->count; i++) {
        int next = (team->first + i + 1) % team->all;
        if (size_for(next)) gpu_fill(team, i, rank_peer_of(team->rank, team->group[i], parts[i], next), 100 + next, size_for(next));
    }
    gpu_meet(team);
    for (int i = 0; i < team->count; i++)
        if (bytes[i]) gpu_check_bytes(team, i, parts[i], 100 + team->first + i, bytes[i], "what the peer wrote");
    free_all(team, parts);
}

/* Many allocations, some of which fail on one rank, leak no descriptor and no memory. */
static void allocate_often(struct gpu_team *team) {
    void *parts[MOST_PER_THREAD];
    size_t bytes[MOST_PER_THREAD];
    struct held before = count_held(team);
    for (int round = 0; round < 20; round++) {
        bool fails = round % 10 == 9;
        for (int i = 0; i < team->count; i++)
            bytes[i] = fails && team->first + i == 1 ? (size_t)1 << 30 : (size_t)(round % 3) * 3000000;
        rank_status(team->rank, quern_symmetric_alloc(team->group, team->count, bytes, parts),
                    fails ? QUERN_OUT_OF_MEMORY : QUERN_OK);
        if (fails) rank_check_detail(team->rank, "cuMemCreate of 1073741824 bytes for rank 1: CUDA_ERROR_OUT_OF_MEMORY");
        if (!fails) free_all(team, parts);
        for (int i = 0; i < team->count; i++) gpu_synchronize(team, i);
    }
    check_held(team, before);
}

/* A group leaks no descriptor, no mapping, and no context of a GPU. */
static void leave_nothing(struct gpu_team *team) {
    gpu_open(team);
    int descriptors = rank_descriptors(), mappings = count_mappings("memfd:");
    rank_ok(team->rank, gpu_join(team));
    void *parts[MOST_PER_THREAD];
    allocate_same(team, 100, parts);  /* left for destroy */
    gpu_meet(team);
    for (int i = 0; i < team->count; i++) rank_ok(team->rank, quern_group_destroy(team->group[i]));
    rank_line_up(team->rank);
    quern_symmetric_sweep();  /* memory bound to a multicast object stays until all ranks have freed it */
    rank_check(team->rank, rank_descriptors() == descriptors, "%d descriptors, %d before", rank_descriptors(), descriptors);
    rank_check(team->rank, count_mappings("memfd:") == mappings, "%d mappings, %d before", count_mappings("memfd:"), mappings);
    CUresult (*primary_state)(CUdevice, unsigned *, int *);
    *(void **)&primary_state = gpu_symbol("cuDevicePrimaryCtxGetState");
    for (int i = 0; i < team->count; i++) {
        CUdevice device = team->device[i]->cuda_device;
        unsigned flags;
        int active;
        gpu_use(team, i);
        gpu_ok(team, stream_destroy(team->stream[i]));
        quern_device_close(team->device[i]);
        gpu_check(team, primary_state(device, &flags, &active), "cuDevicePrimaryCtxGetState", __LINE__);
        rank_check(team->rank, !active, "the context of cuda:%d is still in use", device);
    }
}

/* ---- GPUs: freeing ---- */

static void wait_for_leave(void *user) {
    while (!__atomic_load_n((int *)user, __ATOMIC_ACQUIRE)) rank_sleep(0.001);
}

/* Blocks the stream of team rank i until *go_on. */
static void hold_up(struct gpu_team *team, int i, int *go_on) {
    CUresult (*launch_host_function)(CUstream, void (*)(void *), void *);
    *(void **)&launch_host_function = gpu_symbol("cuLaunchHostFunc");
    gpu_use(team, i);
    gpu_check(team, launch_host_function(team->stream[i], wait_for_leave, go_on), "cuLaunchHostFunc", __LINE__);
}

/* The memory stays until the stream has completed the work that uses it. */
static void free_in_stream_order(struct gpu_team *team) {
    struct rank *rank = team->rank;
    void *parts[MOST_PER_THREAD], *there;
    allocate_same(team, 3 << 20, parts);
    const struct quern_symmetric_memory *memory = memory_of(rank, team->group[0], parts[0]);
    int go_on = 0;
    gpu_meet(team);
    for (int i = 0; i < team->count; i++) {
        hold_up(team, i, &go_on);
        int next = (team->first + i + 1) % team->all;
        gpu_ok(team, memory_set_async((uintptr_t)rank_peer_of(rank, team->group[i], parts[i], next), 5, 3 << 20, team->stream[i]));
    }
    free_all(team, parts);
    for (int i = 0; i < team->count; i++) {
        rank_refused(rank, quern_symmetric_peer(team->group[i], parts[i], 0, &there), QUERN_INVALID_ARGUMENT, "was freed");
        rank_refused(rank, quern_symmetric_free(team->group[i], parts[i], team->stream[i]), QUERN_INVALID_ARGUMENT, "was freed");
    }
    quern_symmetric_sweep();
    rank_check(rank, memory->life == QUERN_MEMORY_OPEN, "memory went while a stream still used it");
    __atomic_store_n(&go_on, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < team->count; i++) gpu_synchronize(team, i);
    gpu_meet(team);
    rank_check(rank, comes_to_be_closed(memory), "memory is kept though nothing uses it");
    for (int i = 0; i < team->count; i++) {
        rank_refused(rank, quern_symmetric_peer(team->group[i], parts[i], 0, &there), QUERN_INVALID_ARGUMENT, "was freed");
    }
}

static void *give_leave_soon(void *user) {
    rank_sleep(0.1);
    __atomic_store_n((int *)user, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* Destroying a group waits for this rank's work: its last operation, or the work in progress when it freed its part. */
static void destroy_with_work_under_way(struct gpu_team *team) {
    bool frees = *(const bool *)team->rank->user;
    int go_on = 0;
    pthread_t thread;
    void *parts[MOST_PER_THREAD];
    allocate_same(team, 100, parts);
    gpu_meet(team);
    for (int i = 0; i < team->count; i++) hold_up(team, i, &go_on);
    if (frees) free_all(team, parts);
    for (int i = 0; i < team->count && !frees; i++) rank_ok(team->rank, quern_barrier(team->group[i], NULL, team->stream[i]));
    rank_check(team->rank, pthread_create(&thread, NULL, give_leave_soon, &go_on) == 0, "no thread");
    rank_ok(team->rank, quern_group_destroy(team->group[0]));
    team->group[0] = NULL;
    rank_check(team->rank, __atomic_load_n(&go_on, __ATOMIC_ACQUIRE), "the group was destroyed with work under way");
    pthread_join(thread, NULL);
}

/* The owner frees its part and destroys its group while the others continue to use it. */
static void free_before_the_others(struct gpu_team *team) {
    struct rank *rank = team->rank;
    void *parts[MOST_PER_THREAD];
    allocate_same(team, 100000, parts);
    gpu_fill(team, 0, parts[0], team->first + 1, 100000);
    gpu_meet(team);
    if (team->first == 0) {
        rank_ok(rank, quern_group_destroy(team->group[0]));
        team->group[0] = NULL;
        __atomic_store_n((int *)rank->shared, 1, __ATOMIC_RELEASE);
    } else {
        while (!__atomic_load_n((int *)rank->shared, __ATOMIC_ACQUIRE)) rank_sleep(0.001);
        char *lost = rank_peer_of(rank, team->group[0], parts[0], 0);
        lost += 10000 * team->first;
        gpu_check_bytes(team, 0, lost, 1, 10000, "the part of a rank that has left");
        gpu_fill(team, 0, lost, 9, 10000);
    }
}

/* ---- GPUs: operations in graphs ---- */

struct graph_calls {
    CUresult (*begin_capture)(CUstream, int), (*end_capture)(CUstream, void **);
    CUresult (*instantiate)(void **, void *, unsigned long long), (*launch)(void *, CUstream);
    CUresult (*destroy)(void *), (*destroy_executable)(void *);
};

static struct graph_calls find_graph_calls(void) {
    struct graph_calls calls;
    *(void **)&calls.begin_capture = gpu_symbol("cuStreamBeginCapture_v2");
    *(void **)&calls.end_capture = gpu_symbol("cuStreamEndCapture");
    *(void **)&calls.instantiate = gpu_symbol("cuGraphInstantiateWithFlags");
    *(void **)&calls.launch = gpu_symbol("cuGraphLaunch");
    *(void **)&calls.destroy = gpu_symbol("cuGraphDestroy");
    *(void **)&calls.destroy_executable = gpu_symbol("cuGraphExecDestroy");
    return calls;
}

/* A barrier of team rank i, as a graph. */
static void *capture_barrier(struct gpu_team *team, const struct graph_calls *calls, int i) {
    void *graph, *executable;
    gpu_use(team, i);
    gpu_check(team, calls->begin_capture(team->stream[i], CU_STREAM_CAPTURE_MODE_RELAXED), "cuStreamBeginCapture", __LINE__);
    rank_ok(team->rank, quern_barrier(team->group[i], NULL, team->stream[i]));
    gpu_check(team, calls->end_capture(team->stream[i], &graph), "cuStreamEndCapture", __LINE__);
    gpu_check(team, calls->instantiate(&executable, graph, 0), "cuGraphInstantiate", __LINE__);
    gpu_check(team, calls->destroy(graph), "cuGraphDestroy", __LINE__);
    return executable;
}

/* A group is destroyed while a graph with its barrier is held up in the streams: its pads stay until the graph has run. */
static void destroy_behind_a_graph(struct gpu_team *team) {
    const struct graph_calls calls = find_graph_calls();
    void *executable[MOST_PER_THREAD];
    int go_on = 0;
    pthread_t thread;
    gpu_meet(team);
    for (int i = 0; i < team->count; i++) executable[i] = capture_barrier(team, &calls, i);
    for (int i = 0; i < team->count; i++) {
        hold_up(team, i, &go_on);
        gpu_check(team, calls.launch(executable[i], team->stream[i]), "cuGraphLaunch", __LINE__);
    }
    rank_check(team->rank, pthread_create(&thread, NULL, give_leave_soon, &go_on) == 0, "no thread");
    rank_ok(team->rank, quern_group_destroy(team->group[0]));
    team->group[0] = NULL;
    rank_check(team->rank, __atomic_load_n(&go_on, __ATOMIC_ACQUIRE), "the group was destroyed before the graph had run");
    pthread_join(thread, NULL);
    for (int i = 0; i < team->count; i++) gpu_synchronize(team, i);
    for (int i = 0; i < team->count; i++) gpu_check(team, calls.destroy_executable(executable[i]), "cuGraphExecDestroy", __LINE__);
}

/* Launches of graphs cannot be waited for while the context has a stream that captures: the handle stays valid. */
static void destroy_beside_a_capture(struct gpu_team *team) {
    const struct graph_calls calls = find_graph_calls();
    void *executable[MOST_PER_THREAD], *graph;
    CUstream captured;
    for (int i = 0; i < team->count; i++) executable[i] = capture_barrier(team, &calls, i);
    gpu_use(team, 0);
    gpu_ok(team, stream_create(&captured, CU_STREAM_NON_BLOCKING));
    gpu_check(team, calls.begin_capture(captured, CU_STREAM_CAPTURE_MODE_RELAXED), "cuStreamBeginCapture", __LINE__);
    rank_status(team->rank, quern_group_destroy(team->group[0]), QUERN_INVALID_ARGUMENT);
    rank_check_detail(team->rank, "a stream of cuda:0 is being captured, and operations of the group are in graphs");
    calls.end_capture(captured, &graph);
    gpu_ok(team, stream_destroy(captured));
    gpu_meet(team);
    for (int i = 0; i < team->count; i++) gpu_check(team, calls.destroy_executable(executable[i]), "cuGraphExecDestroy", __LINE__);
}

/* A stream of a green context belongs to the primary context, too. */
static void use_a_green_stream(struct gpu_team *team) {
    CUresult (*create)(void **, void *, CUdevice, unsigned), (*create_stream)(CUstream *, void *, unsigned, int);
    CUresult (*destroy)(void *);
    void *green[MOST_PER_THREAD];
    CUstream usual[MOST_PER_THREAD];
    *(void **)&create = gpu_symbol("cuGreenCtxCreate");
    *(void **)&create_stream = gpu_symbol("cuGreenCtxStreamCreate");
    *(void **)&destroy = gpu_symbol("cuGreenCtxDestroy");
    for (int i = 0; i < team->count; i++) {
        usual[i] = team->stream[i];
        gpu_check(team, create(&green[i], NULL, team->device[i]->cuda_device, 1), "cuGreenCtxCreate", __LINE__);
        gpu_check(team, create_stream(&team->stream[i], green[i], CU_STREAM_NON_BLOCKING, 0), "cuGreenCtxStreamCreate", __LINE__);
    }
    for (int round = 0; round < 3; round++) gpu_meet(team);
    rank_status(team->rank, quern_barrier(team->group[0], NULL, team->stream[1]), QUERN_INVALID_ARGUMENT);
    for (int i = 0; i < team->count; i++) {
        gpu_ok(team, stream_destroy(team->stream[i]));
        gpu_check(team, destroy(green[i]), "cuGreenCtxDestroy", __LINE__);
        team->stream[i] = usual[i];
    }
    gpu_meet(team);
}

static void refuse_streams(struct gpu_team *team) {
    struct rank *rank = team->rank;
    void *parts[MOST_PER_THREAD], *graph;
    const struct graph_calls calls = find_graph_calls();
    allocate_same(team, 100, parts);
    gpu_use(team, 0);
    gpu_check(team, calls.begin_capture(team->stream[0], 0), "cuStreamBeginCapture", __LINE__);
    rank_status(rank, quern_symmetric_free(team->group[0], parts[0], team->stream[0]), QUERN_INVALID_ARGUMENT);
    rank_check_detail(rank, "the stream is being captured");
    rank_ok(rank, quern_symmetric_free(team->group[1], parts[1], team->stream[1]));  /* and the capture is still valid */
    gpu_check(team, calls.end_capture(team->stream[0], &graph), "cuStreamEndCapture", __LINE__);
    rank_status(rank, quern_symmetric_free(team->group[0], parts[0], team->stream[1]), QUERN_CUDA_ERROR);
    rank_status(rank, quern_barrier(team->group[0], NULL, team->stream[1]), QUERN_INVALID_ARGUMENT);
    rank_check_detail(rank, "the stream is of another context than the primary one of cuda:0");
    rank_ok(rank, quern_symmetric_free(team->group[0], parts[0], NULL));
    gpu_meet(team);
}

/* No context is current, and captures have the strictest mode. */
static void check_thread(struct gpu_team *team, const char *after) {
    CUresult (*current_context)(CUcontext *);
    CUcontext context;
    int mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    *(void **)&current_context = gpu_symbol("cuCtxGetCurrent");
    gpu_check(team, current_context(&context), "cuCtxGetCurrent", __LINE__);
    rank_check(team->rank, !context, "a context is current after %s", after);
    gpu_ok(team, capture_mode(&mode));
    rank_check(team->rank, mode == 0, "the capture mode is %d after %s", mode, after);
    gpu_ok(team, capture_mode(&mode));  /* back again */
}

static void leave_the_thread_alone(struct gpu_team *team) {
    void *parts[MOST_PER_THREAD], *own[MOST_PER_THREAD];
    CUcontext popped;
    gpu_open(team);
    for (int i = 0; i < team->count; i++) {
        CUdeviceptr address;
        gpu_use(team, i);
        gpu_ok(team, memory_allocate(&address, 1000));
        own[i] = (void *)(uintptr_t)address;
    }
    gpu_ok(team, context_pop(&popped));
    rank_ok(team->rank, gpu_join(team));
    check_thread(team, "quern_group_create");
    allocate_same(team, 100, parts);
    check_thread(team, "quern_symmetric_alloc");
    register_ranges(team, own, 1000);
    check_thread(team, "quern_symmetric_register");
    for (int i = 0; i < team->count; i++) rank_ok(team->rank, quern_barrier(team->group[i], NULL, team->stream[i]));
    check_thread(team, "quern_barrier");
    for (int i = 0; i < team->count; i++) rank_ok(team->rank, quern_symmetric_unregister(team->group[i], own[i], team->stream[i]));
    check_thread(team, "quern_symmetric_unregister");
    free_all(team, parts);
    check_thread(team, "quern_symmetric_free");
    rank_status(team->rank, quern_symmetric_register(team->group, team->count, own, NULL), QUERN_NULL_POINTER);
    check_thread(team, "a registration that failed");
    for (int i = 0; i < team->count; i++) {
        rank_ok(team->rank, quern_group_destroy(team->group[i]));
        team->group[i] = NULL;
    }
    check_thread(team, "quern_group_destroy");
    rank_line_up(team->rank);  /* until all have destroyed theirs, others have this memory open */
    for (int i = 0; i < team->count; i++) {
        gpu_use(team, i);
        gpu_ok(team, memory_free((uintptr_t)own[i]));
    }
    gpu_close(team);
    gpu_ok(team, context_pop(&popped));
}

/* Creating and freeing memory and groups does not disturb a capture in progress, on this thread or another. */
static void work_beside_a_capture(struct gpu_team *team) {
    void *parts[MOST_PER_THREAD], *own[MOST_PER_THREAD], *graph;
    const struct graph_calls calls = find_graph_calls();
    CUstream captured;
    for (int i = 0; i < team->count; i++) {
        CUdeviceptr address;
        gpu_use(team, i);
        gpu_ok(team, memory_allocate(&address, 1000));
        own[i] = (void *)(uintptr_t)address;
    }
    gpu_use(team, 0);
    gpu_ok(team, stream_create(&captured, CU_STREAM_NON_BLOCKING));
    gpu_check(team, calls.begin_capture(captured, 0), "cuStreamBeginCapture", __LINE__);
    gpu_ok(team, memory_set_async((uintptr_t)own[0], 1, 1000, captured));
    for (int round = 0; round < 3; round++) {
        allocate_same(team, 100, parts);
        free_all(team, parts);
        quern_symmetric_sweep();
    }
    quern_device *another;
    rank_ok(team->rank, quern_device_open(QUERN_CUDA, team->device[0]->ordinal, &another));
    rank_ok(team->rank, quern_prepare(another, QUERN_BARRIER));
    quern_device_close(another);
    register_ranges(team, own, 1000);
    for (int i = 0; i < team->count; i++) rank_ok(team->rank, quern_symmetric_unregister(team->group[i], own[i], team->stream[i]));
    gpu_meet(team);
    for (int i = 0; i < team->count; i++) rank_ok(team->rank, quern_group_destroy(team->group[i]));
    rank_ok(team->rank, gpu_join(team));
    gpu_use(team, 0);
    gpu_ok(team, memory_set_async((uintptr_t)own[0], 2, 1000, captured));
    gpu_check(team, calls.end_capture(captured, &graph), "cuStreamEndCapture", __LINE__);
    gpu_ok(team, stream_destroy(captured));
    gpu_meet(team);
}

/* ---- GPUs: multicast ---- */

/* Memory has multicast only if all ranks ask for it; pads have it in any case. */
static void ask_for_no_multicast(struct gpu_team *team) {
    void *parts[MOST_PER_THREAD];
    allocate_same(team, 100, parts);
    check_no_multicast(team, parts[0], "rank 1 has not asked for it: expected multicast in the arguments of its group");
    rank_check(team->rank, quern_cuda_rank_of(rank_member_of(team->rank, team->group[0]))->multicast_pad,
               "the pads have no multicast");
    gpu_meet(team);
    free_all(team, parts);
}

static void use_multicast(struct gpu_team *team) {
    struct rank *rank = team->rank;
    void *parts[MOST_PER_THREAD], *there;
    size_t bytes[MOST_PER_THREAD];
    for (int i = 0; i < team->count; i++) bytes[i] = team->first + i == 1 ? 5000 : 7 << 20;
    allocate(team, bytes, parts);
    for (int i = 0; i < team->count; i++) {
        rank_check(rank, quern_cuda_rank_of(rank_member_of(rank, team->group[i]))->multicast_pad, "the pads have no multicast");
        rank_ok(rank, quern_symmetric_multicast(team->group[i], parts[i], &there));
        char *base = there;
        rank_ok(rank, quern_symmetric_multicast(team->group[i], (char *)parts[i] + 4999, &there));
        rank_check(rank, there == base + 4999, "multicast is not at the same offset");
        if (team->first + i == 1) continue;
        rank_status(rank, quern_symmetric_multicast(team->group[i], (char *)parts[i] + 5000, &there), QUERN_INVALID_ARGUMENT);
        rank_check_detail(rank, "multicast reaches as far as the smallest part, 5000 bytes");
    }
    for (int round = 0; round < 20; round++) gpu_meet(team);  /* by multimem instructions */
    /* What is bound stays bound until all have freed it. */
    const struct quern_symmetric_memory *memory = memory_of(rank, team->group[0], parts[0]);
    if (team->first != 0) free_all(team, parts);
    gpu_meet(team);
    quern_symmetric_sweep();
    rank_check(rank, memory->life == QUERN_MEMORY_OPEN, "what is bound to a multicast object went before all had freed it");
    gpu_meet(team);
    if (team->first == 0) free_all(team, parts);
    gpu_meet(team);
    rank_check(rank, comes_to_be_closed(memory), "memory is kept though all have freed it");
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
    void *parts[MOST_PER_THREAD];
    allocate_same(team, 100, parts);
    const struct quern_symmetric_memory *memory = memory_of(rank, team->group[0], parts[0]);
    rank_check(rank, memory->multicast, "no multicast: %s", memory->no_multicast);
    gpu_meet(team);
    if (team->first == 1) raise(SIGKILL);
    rank_sleep(0.2);
    free_all(team, parts);
    gpu_synchronize(team, 0);
    rank_check(rank, comes_to_be_closed(memory), "memory is kept for a rank that has ended");
}

enum { LINE_BYTES = 512 };

static void keep_line(void *user, quern_log_level level, const char *line) {
    (void)level;
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
    quern_set_log(keep_line, line, QUERN_LOG_ERROR);
    begin(team);
    quern_set_log(NULL, NULL, QUERN_LOG_ERROR);
    void *parts[MOST_PER_THREAD];
    allocate_same(team, 100, parts);
    check_loss(team, line, strstr(team->rank->user, "CUDA_ERROR"));
    check_no_multicast(team, parts[0], team->rank->user);
    rank_check(team->rank, !quern_cuda_rank_of(rank_member_of(team->rank, team->group[0]))->multicast_pad,
               "the pads have multicast");
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

static void refuse_range(struct gpu_team *team, void **usual, int rank, void *other, size_t bytes, quern_status status,
                         const char *why) {
    size_t each[MOST_PER_THREAD];
    void *pointers[MOST_PER_THREAD];
    for (int i = 0; i < team->count; i++) {
        pointers[i] = team->first + i == rank ? other : usual[i];
        each[i] = team->first + i == rank ? bytes : 100;
    }
    rank_refused(team->rank, quern_symmetric_register(team->group, team->count, pointers, each), status, why);
}

static uint64_t id_of(struct gpu_team *team, int i, const void *pointer) {
    struct quern_symmetric_location place;
    enum quern_symmetric_state state = quern_symmetric_find(rank_member_of(team->rank, team->group[i]), pointer, 1, &place);
    rank_check(team->rank, state == QUERN_MEMORY_SYMMETRIC, "it is not found");
    return place.id;
}

/* Memory of cuMemAlloc, or of cuMemCreate. */
struct own_memory {
    CUdeviceptr address;
    CUmemGenericAllocationHandle handle;  /* 0: cuMemAlloc */
    size_t bytes;
};

static void map_own(struct gpu_team *team, int i, struct own_memory *memory, int types) {
    CUdevice device = team->device[i]->cuda_device;
    CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .requested_handle_types = types,
                                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}};
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, device}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    gpu_ok(team, vmm_create(&memory->handle, memory->bytes, &properties, 0));
    gpu_ok(team, vmm_map(memory->address, memory->bytes, 0, memory->handle, 0));
    gpu_ok(team, vmm_set_access(memory->address, memory->bytes, &access, 1));
}

static struct own_memory make_own(struct gpu_team *team, int i, bool by_create, int types) {
    struct own_memory memory = {.bytes = 4 << 20};
    gpu_use(team, i);
    if (!by_create) {
        gpu_ok(team, memory_allocate(&memory.address, memory.bytes));
    } else {
        gpu_ok(team, vmm_reserve(&memory.address, memory.bytes, 0, 0, 0));
        map_own(team, i, &memory, types);
    }
    return memory;
}

/* Of each rank of the team. */
static void make_all_own(struct gpu_team *team, struct own_memory *own, void **parts, bool by_create, int types) {
    for (int i = 0; i < team->count; i++) {
        own[i] = make_own(team, i, by_create, types);
        parts[i] = (void *)(uintptr_t)own[i].address;
    }
}

static void unmap_own(struct gpu_team *team, struct own_memory *memory) {
    gpu_ok(team, vmm_unmap(memory->address, memory->bytes));
    gpu_ok(team, vmm_release(memory->handle));
}

static void free_own(struct gpu_team *team, int i, struct own_memory *memory) {
    gpu_use(team, i);
    if (memory->handle) {
        unmap_own(team, memory);
        gpu_ok(team, vmm_unreserve(memory->address, memory->bytes));
    } else {
        gpu_ok(team, memory_free(memory->address));
    }
}

/* Ends the groups first: they may still use the memory. */
static void close_with(struct gpu_team *team, struct own_memory *own, int count) {
    for (int i = 0; i < team->count; i++) {
        rank_ok(team->rank, quern_group_destroy(team->group[i]));
        team->group[i] = NULL;
    }
    quern_symmetric_sweep();
    rank_line_up(team->rank);  /* until all have destroyed theirs, others have this memory open */
    for (int i = 0; i < count; i++) free_own(team, i % team->count, &own[i]);
}

static void check_peers(struct gpu_team *team, void **parts, size_t bytes, int value) {
    for (int i = 0; i < team->count; i++)
        for (int peer = 0; peer < team->all; peer++)
            gpu_check_bytes(team, i, rank_peer_of(team->rank, team->group[i], parts[i], peer), value + peer, bytes,
                            "registered memory");
}

/* rank->user selects the kind of memory; two ranges of each allocation are registered. */
static void register_memory(struct gpu_team *team) {
    enum { OFFSET = 3000, BYTES = 50000, SECOND = 1000000 };
    struct rank *rank = team->rank;
    bool by_create = *(const bool *)rank->user;
    struct own_memory own[MOST_PER_THREAD];
    void *parts[MOST_PER_THREAD], *second[MOST_PER_THREAD];
    struct held before = count_held(team);
    for (int i = 0; i < team->count; i++) {
        own[i] = make_own(team, i, by_create, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
        parts[i] = (void *)(uintptr_t)(own[i].address + OFFSET);
        second[i] = (char *)parts[i] + SECOND;
        gpu_fill(team, i, parts[i], 10 + team->first + i, BYTES);
        gpu_fill(team, i, second[i], 70 + team->first + i, BYTES);
    }
    register_ranges(team, parts, BYTES);
    register_ranges(team, second, BYTES);
    check_no_multicast(team, parts[0], "registered memory has none");
    if (!by_create && team->count > 1) {
        gpu_use(team, 0);
        rank_check(rank, team->cuda->enable_peer_access(team->context[1], 0) == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED,
                   "kernels of one GPU cannot reach the other's memory");
    }
    check_peers(team, parts, BYTES, 10);
    check_peers(team, second, BYTES, 70);
    uint64_t id = id_of(team, 0, parts[0]);
    register_ranges(team, parts, BYTES);
    rank_check(rank, id_of(team, 0, parts[0]) == id, "a hit was a miss");
    gpu_meet(team);
    for (int i = 0; i < team->count; i++) rank_ok(rank, quern_symmetric_unregister(team->group[i], parts[i], team->stream[i]));
    check_peers(team, parts, BYTES, 10);  /* two calls are needed */
    gpu_meet(team);
    for (int i = 0; i < team->count; i++) rank_ok(rank, quern_symmetric_unregister(team->group[i], parts[i], team->stream[i]));
    gpu_meet(team);
    quern_symmetric_sweep();
    check_peers(team, second, BYTES, 70);  /* the other range of the same allocation is still open */
    register_ranges(team, parts, BYTES);
    check_peers(team, parts, BYTES, 10);
    gpu_meet(team);
    for (int i = 0; i < team->count; i++) {
        rank_ok(rank, quern_symmetric_unregister(team->group[i], parts[i], team->stream[i]));
        rank_ok(rank, quern_symmetric_unregister(team->group[i], second[i], team->stream[i]));
    }
    gpu_meet(team);
    quern_symmetric_sweep();
    gpu_meet(team);
    for (int i = 0; i < team->count; i++) free_own(team, i, &own[i]);
    check_held(team, before);
}

enum { ALLOCATIONS = 3 };

/* Registers several allocations and unregisters them in this order: those that are left stay open. */
static void unregister_in_order(struct gpu_team *team, const int *order, bool by_create) {
    enum { BYTES = 5000 };
    struct own_memory own[ALLOCATIONS][MOST_PER_THREAD];
    void *parts[ALLOCATIONS][MOST_PER_THREAD];
    for (int k = 0; k < ALLOCATIONS; k++) {
        make_all_own(team, own[k], parts[k], by_create, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
        for (int i = 0; i < team->count; i++) gpu_fill(team, i, parts[k][i], 10 + 30 * k + team->first + i, BYTES);
        register_ranges(team, parts[k], BYTES);
    }
    for (int n = 0; n < ALLOCATIONS; n++) {
        for (int k = n; k < ALLOCATIONS; k++) check_peers(team, parts[order[k]], BYTES, 10 + 30 * order[k]);
        gpu_meet(team);
        for (int i = 0; i < team->count; i++)
            rank_ok(team->rank, quern_symmetric_unregister(team->group[i], parts[order[n]][i], team->stream[i]));
        gpu_meet(team);
        quern_symmetric_sweep();
        gpu_meet(team);
    }
    for (int k = 0; k < ALLOCATIONS; k++)
        for (int i = 0; i < team->count; i++) free_own(team, i, &own[k][i]);
}

static void register_several(struct gpu_team *team) {
    static const int orders[][ALLOCATIONS] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}};
    struct held before = count_held(team);
    for (size_t i = 0; i < COUNT(orders); i++) unregister_in_order(team, orders[i], *(const bool *)team->rank->user);
    check_held(team, before);
}

/* One rank's memory is freed and allocated again at the same address: the registered range is a different one. */
static void change_generation(struct gpu_team *team) {
    struct rank *rank = team->rank;
    struct own_memory own[MOST_PER_THREAD];
    void *parts[MOST_PER_THREAD];
    make_all_own(team, own, parts, true, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    for (int i = 0; i < team->count; i++) gpu_fill(team, i, parts[i], 10 + team->first + i, 1000);
    register_ranges(team, parts, 1000);
    uint64_t id = id_of(team, 0, parts[0]);
    check_peers(team, parts, 1000, 10);
    gpu_meet(team);
    for (int i = 0; i < team->count; i++) {
        if (team->first + i != 1) continue;
        gpu_use(team, i);
        unmap_own(team, &own[i]);
        map_own(team, i, &own[i], CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
        gpu_fill(team, i, parts[i], 31, 1000);
    }
    register_ranges(team, parts, 1000);
    rank_check(rank, id_of(team, 0, parts[0]) > id, "another allocation was taken for the one that was registered");
    for (int i = 0; i < team->count; i++)
        gpu_check_bytes(team, i, rank_peer_of(rank, team->group[i], parts[i], 1), 31, 1000, "the new allocation");
    gpu_meet(team);
    close_with(team, own, team->count);
}

static void refuse_registrations(struct gpu_team *team) {
    struct own_memory own[MOST_PER_THREAD + 1];
    void *usual[MOST_PER_THREAD], *symmetric[MOST_PER_THREAD];
    static char host[100];
    const int i = team->count > 1;
    make_all_own(team, own, usual, false, 0);
    allocate_same(team, 1000, symmetric);
    own[team->count] = make_own(team, i, true, 0);
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
    CUresult (*allocate_async)(CUdeviceptr *, size_t, CUstream), (*free_async)(CUdeviceptr, CUstream);
    *(void **)&allocate_async = gpu_symbol("cuMemAllocAsync");
    *(void **)&free_async = gpu_symbol("cuMemFreeAsync");
    void *parts[MOST_PER_THREAD];
    size_t bytes[MOST_PER_THREAD];
    for (int i = 0; i < team->count; i++) {
        CUdeviceptr address;
        gpu_use(team, i);
        gpu_check(team, allocate_async(&address, 1000, team->stream[i]), "cuMemAllocAsync", __LINE__);
        parts[i] = (void *)(uintptr_t)address;
        bytes[i] = 1000;
    }
    rank_status(team->rank, quern_symmetric_register(team->group, team->count, parts, bytes), QUERN_NOT_SUPPORTED);
    rank_check_detail(team->rank, "rank 0: the memory is of a pool (cuMemAllocAsync), which peer access does not open");
    gpu_meet(team);
    for (int i = 0; i < team->count; i++) {
        gpu_use(team, i);
        gpu_check(team, free_async((uintptr_t)parts[i], team->stream[i]), "cuMemFreeAsync", __LINE__);
    }
    gpu_meet(team);
}

/* Access of a team rank's GPU to memory, as the engine has set it. */
static void set_access(struct gpu_team *team, int i, const struct own_memory *memory, int flags) {
    const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, team->device[i]->cuda_device}, flags};
    gpu_ok(team, vmm_set_access(memory->address, memory->bytes, &access, 1));
}

/* Memory of rank 1 that the GPU of rank `reader` may only read is refused, and the access stays as it is. */
static void refuse_reader(struct gpu_team *team, void **usual, const struct own_memory *own, int reader) {
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
    void *usual[MOST_PER_THREAD];
    make_all_own(team, own, usual, true, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    refuse_reader(team, usual, &own[team->count - 1], 1);
    if (team->count > 1) refuse_reader(team, usual, &own[1], 0);
    register_ranges(team, usual, 100);
    gpu_meet(team);
    close_with(team, own, team->count);
}

/* A process with several GPUs cannot open another one's memory of cuMemAlloc on all of them. */
static void refuse_foreign_memory(struct gpu_team *team) {
    struct own_memory own[MOST_PER_THREAD];
    void *parts[MOST_PER_THREAD];
    const size_t bytes[MOST_PER_THREAD] = {1000, 1000};
    make_all_own(team, own, parts, false, 0);
    rank_status(team->rank, quern_symmetric_register(team->group, team->count, parts, bytes), QUERN_NOT_SUPPORTED);
    rank_check_detail(team->rank, "this process drives 2 GPUs");
    gpu_meet(team);
    close_with(team, own, team->count);
}

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
    char report[4096];
    void *parts[MOST_PER_THREAD], *there;
    const bool is_elsewhere = getenv("QUERN_EMULATOR_HOST_POINTERS");  /* then freed addresses may come back */
    quern_group_report(team->group[0], report, sizeof report);
    rank_check(rank, strstr(report, "\nby way of pinned host memory: ") && strstr(report, rank->user),
               "the report is \"%s\"", report);
    struct held before = count_held(team);
    for (int round = 0; round < 3; round++) {
        allocate_same(team, BYTES, parts);
        for (int i = 0; i < team->count; i++) {
            rank_check(rank, parts[i] && (uintptr_t)parts[i] % 256 == 0, "the part is at %p", parts[i]);
            gpu_check_bytes(team, i, parts[i], 0, BYTES, "fresh memory");
            gpu_fill(team, i, parts[i], team->first + i + 1, BYTES);
        }
        gpu_meet(team);
        check_peers(team, parts, BYTES, 1);
        check_no_multicast(team, parts[0], "it is pinned memory of the host");
        gpu_meet(team);
        free_all(team, parts);
        rank_status(rank, quern_symmetric_peer(team->group[0], parts[0], 0, &there), QUERN_INVALID_ARGUMENT);
        rank_check_detail(rank, is_elsewhere ? "pointer is not in symmetric memory" : "pointer was freed");
        for (int i = 0; i < team->count; i++) gpu_synchronize(team, i);
    }
    check_held(team, before);
    struct own_memory own[MOST_PER_THREAD];
    const size_t bytes[MOST_PER_THREAD] = {BYTES, BYTES};
    make_all_own(team, own, parts, false, 0);
    rank_status(rank, quern_symmetric_register(team->group, team->count, parts, bytes), QUERN_NOT_SUPPORTED);
    rank_check_detail(rank, "rank 0: the group goes by pinned host memory, since its GPUs do not reach each other's");
    gpu_meet(team);
    close_with(team, own, team->count);
}

/* The probe takes copies: the group goes by GPU memory. */
static void be_probed_by_copies(struct gpu_team *team) {
    char report[2048];
    quern_group_report(team->group[0], report, sizeof report);
    rank_check(team->rank, !strstr(report, "pinned host memory"), "the report is \"%s\"", report);
    gpu_meet(team);
}

/* Two ranks on one GPU; only one of them allows it. */
static void be_refused_to_share(struct gpu_team *team) {
    gpu_open(team);
    quern_group_args args[2];
    for (int i = 0; i < 2; i++) {
        args[i] = (quern_group_args)QUERN_GROUP_ARGS_INIT;
        args[i].rank = i;
        args[i].ranks = 2;
        args[i].name = team->rank->name;
        args[i].device = team->device[i];
        args[i].share_gpu = i;
    }
    rank_status(team->rank, quern_group_create(args, 2, team->group), QUERN_NOT_SUPPORTED);
    rank_check_detail(team->rank, "ranks 0 and 1 use one GPU, which both must allow by share_gpu");
    args[0].share_gpu = 1;
    rank_ok(team->rank, quern_group_create(args, 2, team->group));
    gpu_meet(team);
    gpu_close(team);
}

/* One rank, which rank->user names, is a CPU. */
static void mix_kinds(struct gpu_team *team) {
    gpu_open(team);
    const int odd = *(const int *)team->rank->user;
    char expected[200];
    quern_device *gpu = team->device[0], *cpu;
    rank_ok(team->rank, quern_device_open(QUERN_CPU, 0, &cpu));
    if (team->first == odd) team->device[0] = cpu;
    rank_status(team->rank, gpu_join(team), QUERN_NOT_SUPPORTED);
    snprintf(expected, sizeof expected, ", rank %d: no way for these ranks to reach each other: host memory: rank %d is a GPU; "
             "sockets: rank %d is a GPU; GPU memory: rank %d is a CPU", team->first, odd == 0, odd == 0, odd);
    rank_check_detail(team->rank, expected);
    team->device[0] = gpu;
    quern_device_close(cpu);
    gpu_close(team);
}

/* A pad before its first meeting: signals and counters are at the group's first epoch, and the rest is zero. */
static void check_pad(struct gpu_team *team, int i) {
    const struct quern_cuda_rank *rank = quern_cuda_rank_of(rank_member_of(team->rank, team->group[i]));
    const uint32_t stride = quern_pad_stride((uint32_t)team->all), first = team->layout->first_epoch;
    const size_t words = (size_t)quern_device_pad_bytes((uint32_t)team->all) / 4;
    uint32_t pad[1024];
    CUresult (*copy)(void *to, CUdeviceptr from, size_t bytes);
    *(void **)&copy = gpu_symbol("cuMemcpyDtoH_v2");
    gpu_use(team, i);
    gpu_check(team, copy(pad, rank->pad[team->first + i], 4 * words), "cuMemcpyDtoH", __LINE__);
    for (size_t word = 0; word < words; word++) {
        const bool is_signal = word < 4 * stride, is_count = !is_signal && word <= 5 * stride;
        const uint32_t expected = is_count || (is_signal && word % 2 == 0) ? first : 0;
        rank_check(team->rank, pad[word] == expected, "word %zu of %zu of the pad is %u, expected %u", word, words, pad[word],
                   expected);
    }
}

/* Barriers in sequence on changing streams: the pad serves one at a time. */
static void change_streams(struct gpu_team *team) {
    for (int i = 0; i < team->count; i++) check_pad(team, i);
    rank_line_up(team->rank);
    CUstream other[MOST_PER_THREAD];
    for (int i = 0; i < team->count; i++) {
        gpu_use(team, i);
        gpu_ok(team, stream_create(&other[i], CU_STREAM_NON_BLOCKING));
    }
    for (int round = 0; round < 40; round++)
        for (int i = 0; i < team->count; i++) {
            CUstream stream[] = {other[i], NULL, team->stream[i]};
            rank_ok(team->rank, quern_barrier(team->group[i], NULL, stream[round % 3]));
        }
    gpu_meet(team);
    for (int i = 0; i < team->count; i++) gpu_ok(team, stream_destroy(other[i]));
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
    void *parts[MOST_PER_THREAD];
    quern_device *another;
    quern_group *alone;
    quern_group_args args = QUERN_GROUP_ARGS_INIT;
    rank_ok(rank, quern_device_open(QUERN_CUDA, team->device[0]->ordinal, &another));
    rank_ok(rank, quern_prepare(another, QUERN_BARRIER));
    args.ranks = 1;
    args.device = team->device[0];
    rank_ok(rank, quern_group_create(&args, 1, &alone));
    allocate_same(team, 100, parts);
    const struct quern_symmetric_memory *memory = memory_of(rank, team->group[0], parts[0]);
    gpu_meet(team);
    free_all(team, parts);
    for (int i = 0; i < team->count; i++) gpu_synchronize(team, i);
    const double began = rank_now();
    rank_ok(rank, quern_barrier(team->group[0], NULL, team->stream[0]));
    for (int i = 0; i < 3; i++) quern_symmetric_sweep();
    rank_check(rank, memory->life == QUERN_MEMORY_OPEN, "memory went while a kernel waited");
    rank_ok(rank, quern_group_destroy(alone));
    quern_device_close(another);
    rank_ok(rank, quern_barrier(team->group[1], NULL, team->stream[1]));
    for (int i = 0; i < team->count; i++) gpu_synchronize(team, i);
    rank_check(rank, rank_now() - began < LAUNCHES, "two launches took %g s", rank_now() - began);
    gpu_meet(team);
    rank_check(rank, comes_to_be_closed(memory), "memory is kept though nothing uses it");
}

/* CUDA_LAUNCH_BLOCKING=1: a thread may launch for one rank of a group. */
static void launch_for_another(struct gpu_team *team) {
    quern_group **all = team->rank->shared;
    all[team->first] = team->group[0];
    gpu_meet(team);
    if (team->first == 0) {
        rank_status(team->rank, quern_barrier(all[1], NULL, NULL), QUERN_NOT_SUPPORTED);
        rank_check_detail(team->rank, "CUDA_LAUNCH_BLOCKING is set, and this thread has launched for rank 0 before");
    }
    gpu_meet(team);
}

/* ---- the list of cases ---- */

static const bool by_alloc = false, by_create = true, by_freeing = true, by_meeting = false;

struct case_row {
    const char *name;
    const char *environment[4];   /* NAME=VALUE */
    rank_function *function;      /* CPU ranks; else: */
    struct gpu_case gpu;
    bool loses_one;               /* process 1 is killed in it */
};

#define DEVICES(list) "QUERN_EMULATOR=" list
#define GPU(processes, threads, ranks, gpus, ...) \
    .gpu = {.layout = {processes, threads, ranks, gpus, 0, 0, 0}, __VA_ARGS__}
#define TWO DEVICES("9.0,9.0")
#define FOUR DEVICES("9.0,9.0,9.0,9.0")

static const struct refusal no_memory = {QUERN_OUT_OF_MEMORY, "rank 0: cuMemCreate of 2097152 bytes for rank 0"},
                            no_segment = {QUERN_CUDA_ERROR, "rank 0: cuMemHostRegister of the group's segment"},
                            no_export = {QUERN_CUDA_ERROR, "rank 0: cuMemExportToShareableHandle"},
                            no_import = {QUERN_CUDA_ERROR, "rank 0: cuMemImportFromShareableHandle"};

static const struct case_row cases[] = {
    {"threads of two processes", {0}, .function = mix_threads_and_processes, .gpu.layout.processes = 2},
    {"threads of four processes", {0}, .function = mix_threads_and_processes, .gpu.layout.processes = 4},
    {"a killed process's memory", {0}, .function = lose_a_process, .gpu.layout.processes = 3, .loses_one = true},

    {"one GPU", {TWO}, GPU(1, 1, 1, 1, see_every_part)},
    {"two GPUs, one thread", {TWO}, GPU(1, 1, 2, 2, see_every_part)},
    {"two GPUs, two threads", {TWO}, GPU(1, 2, 1, 2, see_every_part)},
    {"two GPUs, two processes", {TWO}, GPU(2, 1, 1, 2, see_every_part)},
    {"four GPUs, two processes, one thread each", {FOUR}, GPU(2, 1, 2, 4, see_every_part)},
    {"four GPUs, two processes, two threads each", {FOUR}, GPU(2, 2, 1, 4, see_every_part)},
    {"three ranks on one GPU", {TWO}, GPU(1, 1, 3, 1, see_every_part)},
    {"three processes on one GPU", {TWO}, GPU(3, 1, 1, 1, see_every_part)},
    {"eight ranks on four GPUs, four processes", {FOUR}, GPU(4, 1, 2, 4, see_every_part)},
    {"GPUs without multicast", {DEVICES("8.0,8.0")}, GPU(2, 1, 1, 2, see_every_part)},
    {"often, one process", {TWO, "QUERN_EMULATOR_MEMORY_MB=64"}, GPU(1, 1, 2, 2, allocate_often)},
    {"often, two processes", {TWO, "QUERN_EMULATOR_MEMORY_MB=64"}, GPU(2, 1, 1, 2, allocate_often)},
    {"often, two processes, multicast", {TWO, "QUERN_EMULATOR_MEMORY_MB=64", "QUERN_EMULATOR_MULTICAST=1"},
     GPU(2, 1, 1, 2, allocate_often)},

    {"nothing is left, one process", {TWO}, GPU(1, 1, 2, 2, leave_nothing)},
    {"nothing is left, two processes", {TWO, "QUERN_EMULATOR_MULTICAST=1"}, GPU(2, 1, 1, 2, leave_nothing)},

    {"free in stream order, one process", {TWO}, GPU(1, 1, 2, 2, free_in_stream_order)},
    {"free in stream order, two processes", {TWO}, GPU(2, 1, 1, 2, free_in_stream_order)},
    {"free in stream order, multicast", {TWO, "QUERN_EMULATOR_MULTICAST=1"}, GPU(1, 1, 2, 2, free_in_stream_order)},
    {"destroy with a free under way", {TWO}, GPU(1, 1, 2, 2, destroy_with_work_under_way, &by_freeing)},
    {"destroy with a barrier under way", {TWO}, GPU(1, 1, 2, 2, destroy_with_work_under_way, &by_meeting)},
    {"the owner leaves first, threads", {FOUR}, GPU(1, 3, 1, 3, free_before_the_others)},
    {"the owner leaves first, processes", {FOUR}, GPU(3, 1, 1, 3, free_before_the_others)},
    {"destroy with a graph under way", {TWO}, GPU(1, 1, 2, 2, destroy_behind_a_graph)},
    {"destroy beside a capture", {TWO}, GPU(1, 1, 2, 2, destroy_beside_a_capture)},
    {"streams of green contexts", {TWO}, GPU(1, 1, 2, 2, use_a_green_stream)},
    {"streams that cannot be", {TWO}, GPU(1, 1, 2, 2, refuse_streams)},

    {"the thread's context, one process", {TWO}, GPU(1, 1, 2, 2, leave_the_thread_alone)},
    {"the thread's context, two processes", {TWO, "QUERN_EMULATOR_MULTICAST=1"}, GPU(2, 1, 1, 2, leave_the_thread_alone)},
    {"beside a capture, one process", {TWO}, GPU(1, 1, 2, 2, work_beside_a_capture)},
    {"beside a capture, two processes", {TWO, "QUERN_EMULATOR_MULTICAST=1"}, GPU(2, 1, 1, 2, work_beside_a_capture)},

    {"multicast, one process", {FOUR, "QUERN_EMULATOR_MULTICAST=1"}, GPU(1, 1, 4, 4, use_multicast)},
    {"multicast, two threads", {TWO, "QUERN_EMULATOR_MULTICAST=1"}, GPU(1, 2, 1, 2, use_multicast)},
    {"multicast, two processes", {TWO, "QUERN_EMULATOR_MULTICAST=1"}, GPU(2, 1, 1, 2, use_multicast)},
    {"multicast, two processes of two", {FOUR, "QUERN_EMULATOR_MULTICAST=1"}, GPU(2, 1, 2, 4, use_multicast)},
    {"multicast, a killed process", {TWO, "QUERN_EMULATOR_MULTICAST=1"}, GPU(2, 1, 1, 2, lose_a_bound_process), .loses_one = true},
    {"multicast, not ready at first, one process", {TWO, "QUERN_EMULATOR_MULTICAST=1",
     "QUERN_EMULATOR_FAIL=cuMulticastBindMem:802*3"}, GPU(1, 1, 2, 2, use_multicast)},
    {"multicast, not ready at first in one process", {TWO, "QUERN_EMULATOR_MULTICAST=1"},
     GPU(2, 1, 1, 2, try_again_in_one_process)},
    {"no multicast: never ready", {TWO, "QUERN_EMULATOR_MULTICAST=1", "QUERN_EMULATOR_FAIL=cuMulticastBindMem:802"},
     GPU(1, 1, 2, 2, have_no_multicast, "rank 0: cuMulticastBindMem: CUDA_ERROR_SYSTEM_NOT_READY")},
    {"no multicast: illegal state", {TWO, "QUERN_EMULATOR_MULTICAST=1", "QUERN_EMULATOR_FAIL=cuMulticastBindMem:401"},
     GPU(2, 1, 1, 2, have_no_multicast, "rank 0: cuMulticastBindMem: CUDA_ERROR_ILLEGAL_STATE")},
    {"no multicast: not asked for", {TWO, "QUERN_EMULATOR_MULTICAST=1"},
     .gpu = {.layout = {2, 1, 1, 2, 0, 0, 1}, ask_for_no_multicast}},
    {"no multicast: one rank", {TWO, "QUERN_EMULATOR_MULTICAST=1"},
     GPU(1, 1, 1, 1, have_no_multicast, "the group has a single rank")},
    {"no multicast: a shared GPU", {TWO, "QUERN_EMULATOR_MULTICAST=1"},
     GPU(1, 1, 3, 2, have_no_multicast, "rank 0: it needs a GPU for each rank, and rank 2 has the same")},
    {"no multicast: an older GPU", {DEVICES("9.0,8.0"), "QUERN_EMULATOR_MULTICAST=1"},
     GPU(2, 1, 1, 2, have_no_multicast, "rank 1: it needs compute capability 9.0 or newer, and cuda:1 has 8.0")},
    {"no multicast: no NVSwitch", {TWO},
     GPU(2, 1, 1, 2, have_no_multicast, "rank 0: cuda:0 does not support it: it needs NVSwitch")},
    {"no multicast: create", {TWO, "QUERN_EMULATOR_MULTICAST=1", "QUERN_EMULATOR_FAIL=cuMulticastCreate:801"},
     GPU(2, 1, 1, 2, have_no_multicast, "rank 0: cuMulticastCreate: CUDA_ERROR_NOT_SUPPORTED")},
    {"no multicast: add", {TWO, "QUERN_EMULATOR_MULTICAST=1", "QUERN_EMULATOR_FAIL=cuMulticastAddDevice:999"},
     GPU(1, 1, 2, 2, have_no_multicast, "rank 0: cuMulticastAddDevice: CUDA_ERROR_UNKNOWN")},
    {"no multicast: bind", {TWO, "QUERN_EMULATOR_MULTICAST=1", "QUERN_EMULATOR_FAIL=cuMulticastBindMem:2"},
     GPU(2, 1, 1, 2, have_no_multicast, "rank 0: cuMulticastBindMem: CUDA_ERROR_OUT_OF_MEMORY")},

    {"no multicast: bind in one process", {TWO, "QUERN_EMULATOR_MULTICAST=1"},
     GPU(2, 1, 1, 2, fail_in_one_process, "rank 1: cuMulticastBindMem: CUDA_ERROR_OUT_OF_MEMORY")},

    {"register cuMemAlloc, one process", {TWO}, GPU(1, 1, 2, 2, register_memory, &by_alloc)},
    {"register cuMemAlloc, two processes", {TWO}, GPU(2, 1, 1, 2, register_memory, &by_alloc)},
    {"register cuMemCreate, one process", {TWO}, GPU(1, 2, 1, 2, register_memory, &by_create)},
    {"register cuMemCreate, two processes", {TWO}, GPU(2, 1, 1, 2, register_memory, &by_create)},
    {"register cuMemCreate, two processes of two", {FOUR}, GPU(2, 1, 2, 4, register_memory, &by_create)},
    {"register cuMemAlloc, one process that cannot share", {TWO, "QUERN_EMULATOR_FAIL=cuIpcGetMemHandle:801"},
     GPU(1, 1, 2, 2, register_memory, &by_alloc)},
    {"several of cuMemAlloc, two processes", {TWO}, GPU(2, 1, 1, 2, register_several, &by_alloc)},
    {"several of cuMemCreate, two processes", {TWO}, GPU(2, 1, 1, 2, register_several, &by_create)},
    {"another allocation at the same address, one process", {TWO}, GPU(1, 1, 2, 2, change_generation)},
    {"another allocation at the same address, two processes", {TWO}, GPU(2, 1, 1, 2, change_generation)},
    {"registrations that cannot be, one process", {TWO}, GPU(1, 1, 2, 2, refuse_registrations)},
    {"registrations that cannot be, two processes", {TWO}, GPU(2, 1, 1, 2, refuse_registrations)},
    {"memory of pools, one process", {TWO}, GPU(1, 1, 2, 2, refuse_pools)},
    {"memory of pools, two processes", {TWO}, GPU(2, 1, 1, 2, refuse_pools)},
    {"memory for reading only, one process", {TWO}, GPU(1, 1, 2, 2, refuse_read_only)},
    {"memory for reading only, two processes", {TWO}, GPU(2, 1, 1, 2, refuse_read_only)},
    {"foreign memory for two GPUs", {FOUR}, GPU(2, 1, 2, 4, refuse_foreign_memory)},

    {"no peer access in a process", {TWO, "QUERN_EMULATOR_PEERS=none"},
     GPU(1, 1, 2, 2, use_pinned_memory, "rank 0: cuda:0 cannot reach the memory of cuda:1: there is no peer access between them")},
    {"no peer access between threads", {TWO, "QUERN_EMULATOR_PEERS=none", "QUERN_EMULATOR_HOST_POINTERS=other"},
     GPU(1, 2, 1, 2, use_pinned_memory, "rank 0: cuda:0 cannot reach the memory of cuda:1: there is no peer access between them")},
    {"no peer access between processes", {TWO, "QUERN_EMULATOR_PEERS=none"},
     GPU(2, 1, 1, 2, use_pinned_memory, "rank 0: a GPU of this process cannot reach the part of rank 1: there is no peer access")},
    {"no peer access, host memory elsewhere", {FOUR, "QUERN_EMULATOR_PEERS=none", "QUERN_EMULATOR_HOST_POINTERS=other"},
     GPU(2, 1, 2, 4, use_pinned_memory, "cannot reach the memory of cuda:1")},
    {"peer access that loses writes", {TWO, "QUERN_EMULATOR_PEERS=lies"},
     GPU(1, 1, 2, 2, use_pinned_memory, "rank 0: what cuda:1 of rank 1 writes to the memory of cuda:0 of rank 0 is lost, "
         "though the driver promises access")},
    {"peer access that loses writes, two processes", {TWO, "QUERN_EMULATOR_PEERS=lies"},
     GPU(2, 1, 1, 2, use_pinned_memory, "rank 0: what cuda:1 of rank 1 writes to the memory of cuda:0 of rank 0 is lost, "
         "though the driver promises access")},
    {"peer access without fills", {TWO, "QUERN_EMULATOR_PEERS=unfilled"}, GPU(1, 1, 2, 2, be_probed_by_copies)},
    {"no memory for pads", {TWO, "QUERN_EMULATOR_FAIL=cuMemCreate:2"}, GPU(2, 1, 1, 2, be_refused, &no_memory)},
    {"a segment that cannot be registered", {TWO, "QUERN_EMULATOR_FAIL=cuMemHostRegister_v2:1"},
     GPU(2, 1, 1, 2, be_refused, &no_segment)},
    {"no export", {TWO, "QUERN_EMULATOR_FAIL=cuMemExportToShareableHandle:1"}, GPU(2, 1, 1, 2, be_refused, &no_export)},
    {"no import", {TWO, "QUERN_EMULATOR_FAIL=cuMemImportFromShareableHandle:1"}, GPU(2, 1, 1, 2, be_refused, &no_import)},
    {"sharing without leave", {TWO}, GPU(1, 1, 2, 1, be_refused_to_share)},
    {"a CPU among GPUs, the first", {TWO}, GPU(3, 1, 1, 2, mix_kinds, &(const int){0})},
    {"a CPU among GPUs, the last", {TWO}, GPU(3, 1, 1, 2, mix_kinds, &(const int){2})},
    {"streams in turn, one process", {TWO}, GPU(1, 1, 2, 2, change_streams)},
    {"streams in turn, two processes", {TWO}, GPU(2, 1, 1, 2, change_streams)},
    {"a stream held up", {TWO}, GPU(1, 1, 2, 2, follow_another_stream)},
    {"nothing waits between two launches", {TWO, "QUERN_EMULATOR_WAITS=1"},
     .gpu = {.layout = {1, 1, 2, 2, 0, 2 * LAUNCHES, 0}, wait_for_no_launch}},
    {"nothing waits between two launches, pinned memory", {TWO, "QUERN_EMULATOR_WAITS=1", "QUERN_EMULATOR_PEERS=none"},
     .gpu = {.layout = {1, 1, 2, 2, 0, 2 * LAUNCHES, 0}, wait_for_no_launch}},
    {"launches that block", {TWO, "CUDA_LAUNCH_BLOCKING=1"}, GPU(1, 2, 1, 2, launch_for_another)},
    {"epochs that wrap around", {TWO}, .gpu = {.layout = {2, 1, 1, 2, 0xfffffff0u, 0, 0}, change_streams}},
    {"epochs that wrap around, by multicast", {TWO, "QUERN_EMULATOR_MULTICAST=1"},
     .gpu = {.layout = {2, 1, 1, 2, 0xfffffff0u, 0, 0}, change_streams}},
};

static const char *const settable[] = {"QUERN_EMULATOR", "QUERN_EMULATOR_MULTICAST", "QUERN_EMULATOR_MEMORY_MB",
                                       "QUERN_EMULATOR_FAIL", "QUERN_EMULATOR_PEERS", "QUERN_EMULATOR_HOST_POINTERS",
                                       "QUERN_EMULATOR_WAITS", "CUDA_LAUNCH_BLOCKING"};

static void set_environment(const struct case_row *row) {
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
static quern_status run_gpus(struct rank *rank) {
    const struct case_row *row = rank->user;
    const struct gpu_case counted = {row->gpu.layout, run_counted, &row->gpu};
    use_once(rank, row->gpu.layout.gpus);
    rank->user = &counted;
    run_once(rank, row->loses_one);
    if (row->loses_one) return QUERN_OK;
    rank_line_up(rank);
    if (rank->rank == 0) memset(rank->shared, 0, SHARED_BYTES);
    rank_line_up(rank);
    run_once(rank, false);
    return QUERN_OK;
}

static bool run(const struct case_row *row) {
    set_environment(row);
    struct rank_run *started = ranks_start(&(struct ranks){
        .kind = RANK_PROCESSES,
        .count = row->gpu.layout.processes,
        .function = row->function ? row->function : run_gpus,
        .user = row,
        .shared_bytes = SHARED_BYTES,
    });
    bool may_die[QUERN_MAX_RANKS + 1] = {false};
    may_die[1] = row->loses_one;
    const char *wrong = ranks_wait(started, may_die);
    if (wrong) printf("%s: %s", row->name, wrong);
    ranks_close(started);
    return !wrong;
}

/* Whether the emulator has kernels: without nvcc it has none. */
static quern_status probe(struct rank *rank) {
    (void)rank;
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

/* Runs the cases whose names contain the first argument. */
int main(int count, char **arguments) {
    enum { PASSED, FAILED, SKIPPED } end;
    int ends[3] = {0};
    setvbuf(stdout, NULL, _IOLBF, 0);
    setenv("QUERN_TEST_DEVICE", "cuda", 1);
    bool gpus = has_gpus();
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (count > 1 && !strstr(cases[i].name, arguments[1])) continue;
        end = cases[i].function || gpus ? run(&cases[i]) ? PASSED : FAILED : SKIPPED;
        ends[end]++;
    }
    printf("%d passed, %d failed, %d skipped\n", ends[PASSED], ends[FAILED], ends[SKIPPED]);
    return ends[FAILED] || !ends[PASSED];
}
