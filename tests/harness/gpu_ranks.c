/* Runs a team of GPU ranks in processes and threads.  gpu_ranks.h documents the functions. */
#include "harness/gpu_ranks.h"

#include <dlfcn.h>

#include "ranks/handles.h"

/* ---- the driver ---- */

void gpu_check(struct gpu_team *team, CUresult result, const char *call, int line) {
    rank_check(team->rank, result == CUDA_SUCCESS, "line %d: %s gave %d", line, call, result);
}

void *gpu_symbol(const char *name) { return dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), name); }

void gpu_use(struct gpu_team *team, int i) {
    CUcontext popped;
    team->cuda->context_pop(&popped);
    gpu_ok(team, context_push(team->context[i]));
}

void gpu_synchronize(struct gpu_team *team, int i) {
    gpu_use(team, i);
    gpu_ok(team, stream_synchronize(team->stream[i]));
}

void gpu_fill(struct gpu_team *team, int i, const void *address, int value, size_t bytes) {
    gpu_use(team, i);
    gpu_ok(team, memory_set_async((uintptr_t)address, (unsigned char)value, bytes, team->stream[i]));
    gpu_synchronize(team, i);
}

void gpu_check_bytes(struct gpu_team *team, int i, const void *address, int value, size_t bytes, const char *what) {
    CUresult (*copy)(void *to, CUdeviceptr from, size_t bytes);
    *(void **)&copy = gpu_symbol("cuMemcpyDtoH_v2");
    SCOPED unsigned char *host = malloc(bytes + 1);
    gpu_use(team, i);
    gpu_check(team, copy(host, (uintptr_t)address, bytes), "cuMemcpyDtoH", __LINE__);
    for (size_t at = 0; at < bytes; at++)
        rank_check(team->rank, host[at] == value, "rank %d, %s: byte %zu of %zu is %d, expected %d", team->first + i, what, at,
                   bytes, host[at], value);
}

/* ---- the team ---- */

void gpu_open(struct gpu_team *team) {
    rank_ok(team->rank, quern_cuda_open(&team->cuda));
    for (int i = 0; i < team->count; i++) {
        rank_ok(team->rank, quern_device_open(QUERN_CUDA, (team->first + i) % team->layout->gpus, &team->device[i]));
        rank_ok(team->rank, quern_prepare(team->device[i], QUERN_BARRIER));
        team->context[i] = team->device[i]->context;
        gpu_use(team, i);
        gpu_ok(team, stream_create(&team->stream[i], CU_STREAM_NON_BLOCKING));
    }
}

quern_status gpu_join(struct gpu_team *team) {
    quern_group_args args[MOST_PER_THREAD];
    for (int i = 0; i < team->count; i++) {
        args[i] = (quern_group_args)GROUP_ARGS(.rank = team->first + i, .ranks = team->all, .name = team->rank->name,
                                               .device = team->device[i],
                                               .timeout = team->layout->timeout > 0 ? team->layout->timeout : 20,
                                               .share_gpu = team->all > team->layout->gpus,
                                               .first_epoch = team->layout->first_epoch,
                                               .multicast = !team->layout->askers || team->first + i < team->layout->askers);
    }
    return quern_group_create(args, team->count, team->group);
}

void gpu_close(struct gpu_team *team) {
    for (int i = 0; i < team->count; i++) {
        rank_ok(team->rank, quern_group_destroy(team->group[i]));
        gpu_use(team, i);
        gpu_ok(team, stream_destroy(team->stream[i]));
        quern_device_close(team->device[i]);
    }
}

void gpu_meet(struct gpu_team *team) {
    for (int i = 0; i < team->count; i++) rank_ok(team->rank, quern_barrier(team->group[i], NULL, team->stream[i]));
    for (int i = 0; i < team->count; i++) {
        gpu_synchronize(team, i);
        rank_ok(team->rank, quern_group_status(team->group[i]));
    }
}

/* ---- threads ---- */

struct team_thread {
    struct rank rank;  /* the process's structure, but with its own failure handling */
    const struct gpu_case *chosen;
    int thread;
    bool failed;
};

static void *run_thread(void *user) {
    struct team_thread *thread = user;
    if (setjmp(thread->rank.end)) {
        thread->failed = true;
        __atomic_store_n(&thread->rank.result->end, RANK_FAILED, __ATOMIC_RELEASE);  /* at once: other threads may wait for it */
        return NULL;
    }
    const struct gpu_layout *layout = &thread->chosen->layout;
    struct gpu_team *team = calloc(1, sizeof *team);
    team->rank = &thread->rank;
    team->layout = layout;
    team->first = (thread->rank.rank * layout->threads + thread->thread) * layout->ranks;
    team->count = layout->ranks;
    team->all = layout->processes * layout->threads * layout->ranks;
    thread->chosen->function(team);
    free(team);
    return NULL;
}

quern_status gpu_run_case(struct rank *rank) {
    const struct gpu_case *chosen = rank->user;
    int count = chosen->layout.threads;
    SCOPED pthread_t *threads = calloc((size_t)count, sizeof *threads);
    SCOPED struct team_thread *teams = calloc((size_t)count, sizeof *teams);
    for (int i = 0; i < count; i++) {
        teams[i] = (struct team_thread){.rank = *rank, .chosen = chosen, .thread = i};
        teams[i].rank.user = chosen->user;
        rank_check(rank, pthread_create(&threads[i], NULL, run_thread, &teams[i]) == 0, "no thread");
    }
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < count; i++)
        if (teams[i].failed) longjmp(rank->end, 1);
    rank->lined_up = teams[0].rank.lined_up;  /* if a case lines up, the first thread of each process does */
    return QUERN_OK;
}
