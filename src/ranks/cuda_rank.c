/*
 * The data of a GPU rank: made and freed by src/ranks/group/cuda_transport.c, used around every launch of a collective kernel.
 */
#include "ranks/cuda_rank.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/poison.h"
#include "ranks/watch.h"
#include "runtime/idle.h"
#include "runtime/status.h"

/* ---- the segment, registered with the driver once per process ---- */

struct registered_segment {
    struct quern_idle_task task;          /* first: its end */
    struct registered_segment *next;
    struct quern_roster *roster;          /* kept as long as the segment is registered */
    struct quern_segment *segment;
    CUdevice device;       /* its context has registered the segment, and is retained */
    CUcontext context;
    int users;
    uint64_t launcher[QUERN_RANK_LIMIT];  /* the thread that launched for a rank last; 0: none */
};

static struct {
    pthread_mutex_t lock;
    struct registered_segment *first;
} registered_segments = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct registered_segment *find_segment(const struct quern_segment *segment) {
    struct registered_segment *registered = registered_segments.first;
    while (registered && registered->segment != segment) registered = registered->next;
    return registered;
}

static CUresult register_new_segment(const struct quern_cuda *cuda, const struct quern_membership *member,
                                     struct registered_segment **registered) {
    struct registered_segment *fresh = calloc(1, sizeof *fresh);
    if (!fresh) return CUDA_ERROR_OUT_OF_MEMORY;
    fresh->segment = member->segment;
    fresh->roster = member->roster;
    fresh->device = member->device->cuda_device;
    CUresult error = cuda->context_retain(&fresh->context, fresh->device);
    if (error == CUDA_SUCCESS) {
        struct quern_cuda_visit visit;
        error = quern_cuda_begin_visit(&visit, fresh->context);
        if (error == CUDA_SUCCESS)
            error = cuda->host_register(member->segment, member->roster->bytes,
                                        CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
        quern_cuda_end_visit(&visit);
        if (error != CUDA_SUCCESS) cuda->context_release(fresh->device);
    }
    if (error != CUDA_SUCCESS) {
        free(fresh);
        return error;
    }
    quern_keep_roster(fresh->roster, 1);
    fresh->next = registered_segments.first;
    *registered = registered_segments.first = fresh;
    return CUDA_SUCCESS;
}

static CUresult register_segment(const struct quern_cuda *cuda, const struct quern_membership *member) {
    pthread_mutex_lock(&registered_segments.lock);
    struct registered_segment *registered = find_segment(member->segment);
    CUresult error = registered ? CUDA_SUCCESS : register_new_segment(cuda, member, &registered);
    if (error == CUDA_SUCCESS) registered->users++;
    pthread_mutex_unlock(&registered_segments.lock);
    return error;
}

static void end_registration(struct quern_idle_task *task) {
    struct registered_segment *registered = (struct registered_segment *)task;
    struct quern_cuda_visit visit;
    if (quern_cuda_begin_visit(&visit, registered->context) == CUDA_SUCCESS) visit.cuda->host_unregister(registered->segment);
    quern_cuda_end_visit(&visit);
    visit.cuda->context_release(registered->device);
    quern_release_roster(registered->roster);
    free(registered);
}

static void unregister_segment(const struct quern_segment *segment) {
    pthread_mutex_lock(&registered_segments.lock);
    struct registered_segment **link = &registered_segments.first;
    while ((*link)->segment != segment) link = &(*link)->next;
    struct registered_segment *registered = *link;
    const bool is_last = --registered->users == 0;
    if (is_last) *link = registered->next;
    pthread_mutex_unlock(&registered_segments.lock);
    if (!is_last) return;
    registered->task.run = end_registration;
    quern_when_idle(&registered->task);
}

/* ---- the ranks of this process, and whether one of their kernels may still wait for another rank ---- */

static struct {
    pthread_mutex_t lock;
    struct quern_cuda_rank *first;
} local_ranks = {.lock = PTHREAD_MUTEX_INITIALIZER};

/*
 * Launches of graphs leave no mark.  They matter only if the process has further ranks of the group: kernels that wait for other
 * processes end without its doing.
 */
static bool may_wait(const struct quern_cuda_rank *rank) {
    struct quern_cuda_visit visit;
    if (rank->unmarked && rank->ranks_here > 1) return true;
    if (!rank->enqueued) return false;
    CUresult result = quern_cuda_begin_visit(&visit, rank->context);
    if (result == CUDA_SUCCESS) result = rank->cuda->event_query(rank->last);
    quern_cuda_end_visit(&visit);
    return result == CUDA_ERROR_NOT_READY;
}

static bool any_may_wait(void) {
    bool any = false;
    pthread_mutex_lock(&local_ranks.lock);
    for (const struct quern_cuda_rank *rank = local_ranks.first; rank && !any; rank = rank->next) any = may_wait(rank);
    pthread_mutex_unlock(&local_ranks.lock);
    return any;
}

static void enter_local_rank(struct quern_cuda_rank *rank, const struct quern_membership *member) {
    rank->context = member->device->context;
    for (int peer = 0; peer < member->ranks; peer++) rank->ranks_here += member->roster->peer[peer].is_here;
    pthread_mutex_lock(&local_ranks.lock);
    rank->next = local_ranks.first;
    local_ranks.first = rank;
    pthread_mutex_unlock(&local_ranks.lock);
    quern_set_pending_check(any_may_wait);
}

static void leave_local_rank(struct quern_cuda_rank *rank) {
    pthread_mutex_lock(&local_ranks.lock);
    struct quern_cuda_rank **link = &local_ranks.first;
    while (*link != rank) link = &(*link)->next;
    *link = rank->next;
    pthread_mutex_unlock(&local_ranks.lock);
}

/* ---- what the device must support ---- */

static quern_status check_attribute(const struct quern_membership *member, const struct quern_cuda *cuda, int attribute,
                                    const char *what) {
    int supported = 0;
    CUresult error = cuda->device_attribute(&supported, attribute, member->device->cuda_device);
    if (error != CUDA_SUCCESS) return quern_cuda_fail(member->device, error, "cuDeviceGetAttribute");
    if (supported) return QUERN_OK;
    return quern_fail(member->device, QUERN_NOT_SUPPORTED, "%s does not support %s", member->device->label, what);
}

/* Checks access between GPUs of one process.  GPUs of other processes are checked when their memory is mapped. */
static quern_status check_peers(const struct quern_membership *member, const struct quern_cuda *cuda) {
    const struct quern_peer *peers = member->roster->peer;
    for (int peer = 0; peer < member->ranks; peer++) {
        CUdevice device;
        int can = 0;
        if (!peers[peer].is_here) continue;
        CUresult error = cuda->device_get(&device, peers[peer].device_ordinal);
        if (error == CUDA_SUCCESS && device == member->device->cuda_device) continue;
        if (error == CUDA_SUCCESS) error = cuda->can_access_peer(&can, member->device->cuda_device, device);
        if (error != CUDA_SUCCESS) return quern_cuda_fail(member->device, error, "cuDeviceCanAccessPeer");
        if (!can)
            return quern_fail(member->device, QUERN_NOT_SUPPORTED, "%s cannot reach the memory of cuda:%d: there is no peer access "
                              "between them", member->device->label, peers[peer].device_ordinal);
    }
    return QUERN_OK;
}

quern_status quern_cuda_check_device(const struct quern_membership *member) {
    const struct quern_cuda *cuda;
    quern_status status = quern_cuda_open(&cuda);
    if (status != QUERN_OK) return status;
    status = check_attribute(member, cuda, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, "virtual memory management");
    if (status == QUERN_OK && !member->one_process)
        status = check_attribute(member, cuda, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
                                 "memory handles that other processes can open");
    return status == QUERN_OK ? check_peers(member, cuda) : status;
}

/* The streams of a context share so many hardware queues. */
static int count_queues(void) {
    enum { DEFAULT = 8, MOST = 32 };
    const char *value = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    const long queues = value && *value ? strtol(value, NULL, 10) : DEFAULT;
    return queues < 1 ? DEFAULT : queues > MOST ? MOST : (int)queues;
}

static int count_sharers(const struct quern_membership *member) {
    int count = 0;
    for (int rank = 0; rank < member->ranks; rank++)
        count += member->roster->peer[rank].is_here && quern_cuda_same_gpu(member->roster, rank, member->rank);
    return count;
}

/* A kernel that waits for its stream keeps those behind it in the same queue from starting, and it may wait for them. */
static quern_status check_queues(const struct quern_membership *member) {
    const int sharers = count_sharers(member), queues = count_queues();
    if (sharers <= queues) return QUERN_OK;
    return quern_fail(member->device, QUERN_NOT_SUPPORTED, "%s: %d ranks of this process share %s, whose streams have %d hardware "
                      "queues: expected one for each rank; set CUDA_DEVICE_MAX_CONNECTIONS (at most 32) before the process uses "
                      "CUDA", member->label, sharers, member->device->label, queues);
}

/* ---- making and freeing the data ---- */

static CUresult make_event(struct quern_cuda_rank *rank, const struct quern_membership *member) {
    struct quern_cuda_visit visit;
    CUdeviceptr segment = 0;
    CUresult error = quern_cuda_begin_visit(&visit, member->device->context);
    if (error == CUDA_SUCCESS) error = rank->cuda->host_device_pointer(&segment, member->segment, 0);
    if (error == CUDA_SUCCESS) error = rank->cuda->event_create(&rank->last, CU_EVENT_DISABLE_TIMING);
    quern_cuda_end_visit(&visit);
    rank->segment = segment;
    return error;
}

bool quern_cuda_launches_block(void) {
    const char *value = getenv("CUDA_LAUNCH_BLOCKING");
    return value && *value && strcmp(value, "0") != 0;
}

/* What the groups of this process share: room on the GPU, and the watcher. */
static quern_status begin_sharing(const struct quern_membership *member, struct quern_cuda_rank *rank) {
    quern_status status = quern_gpu_room_take(member, &rank->room, &rank->room_taken);
    if (status != QUERN_OK || quern_watch(member->roster)) return status;
    const int reason = errno;
    quern_gpu_room_give_back(rank->room, rank->room_taken);
    return quern_fail(member->device, reason == ENOMEM ? QUERN_OUT_OF_MEMORY : QUERN_SYSTEM_ERROR,
                      "%s: the thread that watches the ranks: %s", member->label, strerror(reason));
}

static void end_sharing(const struct quern_membership *member, const struct quern_cuda_rank *rank) {
    quern_unwatch(member->roster);
    quern_gpu_room_give_back(rank->room, rank->room_taken);
}

quern_status quern_cuda_make_rank(struct quern_membership *member) {
    const struct quern_cuda *cuda;
    quern_status status = quern_cuda_open(&cuda);
    if (status == QUERN_OK) status = check_queues(member);
    if (status != QUERN_OK) return status;
    struct quern_cuda_rank *rank = calloc(1, sizeof *rank);
    if (!rank) return quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for a rank");
    rank->cuda = cuda;
    rank->shares_context = count_sharers(member) > 1;
    rank->launches_block = quern_cuda_launches_block();
    status = begin_sharing(member, rank);
    if (status != QUERN_OK) {
        free(rank);
        return status;
    }
    CUresult error = register_segment(cuda, member);
    if (error != CUDA_SUCCESS) {
        end_sharing(member, rank);
        free(rank);
        return quern_cuda_fail(member->device, error, "cuMemHostRegister of the group's segment");
    }
    error = make_event(rank, member);
    if (error != CUDA_SUCCESS) {
        unregister_segment(member->segment);
        end_sharing(member, rank);
        free(rank);
        return quern_cuda_fail(member->device, error, "cuEventCreate");
    }
    enter_local_rank(rank, member);
    member->attached = rank;
    return QUERN_OK;
}

quern_status quern_cuda_settle(const struct quern_membership *member, bool unmarked) {
    const struct quern_cuda_rank *rank = quern_cuda_rank_of(member);
    struct quern_cuda_visit visit;
    const char *what = "cuEventSynchronize";
    CUresult error = quern_cuda_begin_visit(&visit, member->device->context);
    if (error == CUDA_SUCCESS && rank->enqueued) error = rank->cuda->event_synchronize(rank->last);
    if (error == CUDA_SUCCESS && unmarked) {
        what = "cuCtxSynchronize";
        error = rank->cuda->context_synchronize();
    }
    quern_cuda_end_visit(&visit);
    if (error == CUDA_SUCCESS) return QUERN_OK;
    if (error != CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) return quern_cuda_rank_fail(member, error, what);
    return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "%s: a stream of %s is being captured, and operations of the group "
                      "are in graphs, whose launches cannot be waited for meanwhile: expected the end of the capture first",
                      member->label, member->device->label);
}

quern_status quern_cuda_look(const struct quern_membership *member) {
    const struct quern_cuda_rank *rank = quern_cuda_rank_of(member);
    struct quern_cuda_visit visit;
    if (!rank->enqueued) return QUERN_OK;
    CUresult result = quern_cuda_begin_visit(&visit, member->device->context);
    if (result == CUDA_SUCCESS) result = rank->cuda->event_query(rank->last);
    quern_cuda_end_visit(&visit);
    return quern_cuda_is_sticky(result) ? quern_cuda_rank_fail(member, result, "cuEventQuery") : QUERN_OK;
}

static void destroy_event(const struct quern_cuda_rank *rank, const struct quern_membership *member) {
    struct quern_cuda_visit visit;
    if (quern_cuda_begin_visit(&visit, member->device->context) == CUDA_SUCCESS) rank->cuda->event_destroy(rank->last);
    quern_cuda_end_visit(&visit);
}

void quern_cuda_free_rank(struct quern_membership *member) {
    struct quern_cuda_rank *rank = quern_cuda_rank_of(member);
    leave_local_rank(rank);
    destroy_event(rank, member);
    end_sharing(member, rank);
    member->attached = NULL;
    unregister_segment(member->segment);
    free(rank);
}

/* ---- around every launch ---- */

/* A unique number of the calling thread. */
static uint64_t thread_number(void) {
    static uint64_t last;
    static _Thread_local uint64_t number;
    if (!number) number = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
    return number;
}

static quern_status check_launcher(const struct quern_membership *member) {
    if (!quern_cuda_rank_of(member)->launches_block) return QUERN_OK;
    uint64_t thread = thread_number();
    int other = -1;
    pthread_mutex_lock(&registered_segments.lock);
    struct registered_segment *registered = find_segment(member->segment);
    for (int rank = 0; rank < member->ranks; rank++)
        if (rank != member->rank && registered->launcher[rank] == thread) other = rank;
    if (other < 0) registered->launcher[member->rank] = thread;
    pthread_mutex_unlock(&registered_segments.lock);
    if (other < 0) return QUERN_OK;
    return quern_fail(member->device, QUERN_NOT_SUPPORTED, "%s: CUDA_LAUNCH_BLOCKING is set, and this thread has launched for rank "
                      "%d before: kernels that wait for each other cannot be launched one after the other; unset it, or drive "
                      "each GPU by a thread of its own", member->label, other);
}

quern_status quern_cuda_rank_fail(const struct quern_membership *member, CUresult error, const char *what) {
    char text[400];
    if (quern_cuda_is_sticky(error)) {
        quern_cuda_describe(error, what, text, sizeof text);
        quern_poison(member, QUERN_PEER_LOST, "the GPU of rank %d has failed: %s", member->rank, text);
    }
    return quern_cuda_fail(member->device, error, what);
}

/* Handles below this are the default streams of the current context. */
enum { FIRST_STREAM_OF_ITS_OWN = 3 };

static bool is_default(CUstream stream) { return (uintptr_t)stream < FIRST_STREAM_OF_ITS_OWN; }

/* The context of a stream; of a stream of a green context the primary one, if the driver is new enough to tell it. */
static CUresult find_context(const struct quern_cuda *cuda, CUstream stream, CUcontext *context) {
    return cuda->stream_contexts ? cuda->stream_contexts(stream, context, NULL) : cuda->stream_context(stream, context);
}

CUresult quern_cuda_stay(const struct quern_membership *member, struct quern_cuda_entry *entry) {
    if (entry->visit.pushed) return CUDA_SUCCESS;
    CUresult error = entry->visit.cuda->context_push(member->device->context);
    entry->visit.pushed = error == CUDA_SUCCESS;
    return error;
}

/* The kernels of ranks that share a context would follow each other in its default stream. */
static quern_status check_default(const struct quern_membership *member, CUstream stream) {
    if (!quern_cuda_rank_of(member)->shares_context || !is_default(stream)) return QUERN_OK;
    return quern_fail(member->device, QUERN_NOT_SUPPORTED, "%s: the stream is the default stream of %s, which ranks of this "
                      "process share: expected a stream of its own for each, since their kernels wait for each other",
                      member->label, member->device->label);
}

static quern_status check_stream(const struct quern_membership *member, const struct quern_cuda *cuda, CUstream stream) {
    CUcontext context;
    if (is_default(stream)) return QUERN_OK;
    CUresult error = find_context(cuda, stream, &context);
    if (error != CUDA_SUCCESS) return quern_cuda_rank_fail(member, error, "cuStreamGetCtx");
    if (context == member->device->context) return QUERN_OK;
    return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "%s: the stream is of another context than the primary one of %s%s",
                      member->label, member->device->label,
                      cuda->stream_contexts ? "" : " (this driver does not tell those of green contexts: CUDA 12.5 does)");
}

/* Most engines have the stream's context current, and a call that needs it says so: then it is made current. */
static CUresult ask_capture(const struct quern_membership *member, CUstream stream, struct quern_cuda_entry *entry) {
    int is_capturing = 0;
    CUresult error = is_default(stream) ? quern_cuda_stay(member, entry) : CUDA_SUCCESS;
    if (error == CUDA_SUCCESS) error = entry->visit.cuda->stream_is_capturing(stream, &is_capturing);
    if (error == CUDA_ERROR_INVALID_CONTEXT && !entry->visit.pushed) {
        error = quern_cuda_stay(member, entry);
        if (error == CUDA_SUCCESS) error = entry->visit.cuda->stream_is_capturing(stream, &is_capturing);
    }
    entry->capturing = is_capturing;
    return error;
}

/* On the stream of the last operation there is nothing to check and nothing to wait for. */
static quern_status enter_other_stream(const struct quern_membership *member, const struct quern_cuda_rank *rank, CUstream stream,
                                       const struct quern_cuda_entry *entry) {
    quern_status status = check_stream(member, rank->cuda, stream);
    if (status != QUERN_OK || !rank->enqueued || entry->capturing) return status;
    CUresult error = rank->cuda->stream_wait_event(stream, rank->last, 0);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_rank_fail(member, error, "cuStreamWaitEvent");
}

static quern_status enter_stream(const struct quern_membership *member, CUstream stream, struct quern_cuda_entry *entry) {
    const struct quern_cuda_rank *rank = quern_cuda_rank_of(member);
    quern_status status = check_default(member, stream);
    if (status != QUERN_OK) return status;
    CUresult error = ask_capture(member, stream, entry);
    if (error != CUDA_SUCCESS) return quern_cuda_rank_fail(member, error, "cuStreamIsCapturing");
    error = rank->cuda->stream_id(stream, &entry->stream);
    if (error != CUDA_SUCCESS) return quern_cuda_rank_fail(member, error, "cuStreamGetId");
    return rank->enqueued && entry->stream == rank->last_stream ? QUERN_OK : enter_other_stream(member, rank, stream, entry);
}

quern_status quern_cuda_enter(struct quern_membership *member, CUstream stream, struct quern_cuda_entry *entry) {
    *entry = (struct quern_cuda_entry){.visit.cuda = quern_cuda_rank_of(member)->cuda};
    quern_status status = check_launcher(member);
    if (status != QUERN_OK) return status;
    quern_begin_launching();
    status = enter_stream(member, stream, entry);
    if (status == QUERN_OK) return status;
    quern_end_launching();
    quern_cuda_end_visit(&entry->visit);
    return status;
}

/* The driver refuses a launch in another context than the current one. */
CUresult quern_cuda_launch(const struct quern_membership *member, struct quern_cuda_entry *entry,
                           const struct quern_ready_kernel *ready, unsigned blocks, CUstream stream, const void *problem) {
    const struct quern_cuda *cuda = entry->visit.cuda;
    const unsigned threads = ready->kernel->cuda.threads;
    void *parameters[] = {(void *)(uintptr_t)problem};
    CUresult error = cuda->launch(ready->function, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, NULL);
    if ((error != CUDA_ERROR_INVALID_CONTEXT && error != CUDA_ERROR_INVALID_HANDLE) || entry->visit.pushed) return error;
    error = quern_cuda_stay(member, entry);
    if (error != CUDA_SUCCESS) return error;
    return cuda->launch(ready->function, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, NULL);
}

static quern_status fail_to_mark(const struct quern_membership *member, CUresult error) {
    char text[400];
    quern_cuda_describe(error, "cuEventRecord", text, sizeof text);
    if (quern_cuda_is_sticky(error)) return quern_cuda_rank_fail(member, error, "cuEventRecord");
    quern_poison(member, QUERN_PEER_LOST, "rank %d has launched what it cannot wait for: %s", member->rank, text);
    return quern_cuda_fail(member->device, error, "cuEventRecord");
}

quern_status quern_cuda_leave(struct quern_membership *member, CUstream stream, struct quern_cuda_entry *entry) {
    struct quern_cuda_rank *rank = quern_cuda_rank_of(member);
    CUresult error = CUDA_SUCCESS;
    if (!entry->capturing) {
        error = rank->cuda->event_record(rank->last, stream);
        if (error == CUDA_SUCCESS) rank->last_stream = entry->stream;
        rank->enqueued |= error == CUDA_SUCCESS;
    }
    rank->unmarked |= entry->capturing || error != CUDA_SUCCESS;
    quern_end_launching();
    quern_cuda_end_visit(&entry->visit);
    return error == CUDA_SUCCESS ? QUERN_OK : fail_to_mark(member, error);
}
