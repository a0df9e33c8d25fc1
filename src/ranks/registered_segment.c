/*
 * The segments of groups, each registered with the driver once in a process, and the threads that launch for its ranks.  Called by
 * cuda_rank.c and cuda_launch.c.
 */
#include "ranks/registered_segment.h"

#include <pthread.h>
#include <stdlib.h>

#include "runtime/cuda_visit.h"
#include "runtime/idle.h"

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

CUresult quern_register_segment(const struct quern_cuda *cuda, const struct quern_membership *member) {
    pthread_mutex_lock(&registered_segments.lock);
    struct registered_segment *registered = find_segment(member->segment);
    CUresult error = registered ? CUDA_SUCCESS : register_new_segment(cuda, member, &registered);
    if (error == CUDA_SUCCESS) registered->users++;
    pthread_mutex_unlock(&registered_segments.lock);
    return error;
}

/*
 * What the driver does not give back, as after the end of a context, stays mapped: it would refuse other memory at its addresses.
 */
static void end_registration(struct quern_idle_task *task) {
    struct registered_segment *registered = (struct registered_segment *)task;
    struct quern_cuda_visit visit;
    CUresult error = quern_cuda_begin_visit(&visit, registered->context);
    if (error == CUDA_SUCCESS) error = visit.cuda->host_unregister(registered->segment);
    quern_cuda_end_visit(&visit);
    visit.cuda->context_release(registered->device);
    if (error == CUDA_SUCCESS) quern_release_roster(registered->roster);
    free(registered);
}

void quern_unregister_segment(const struct quern_segment *segment) {
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

/* A unique number of the calling thread. */
static uint64_t thread_number(void) {
    static uint64_t last;
    static _Thread_local uint64_t number;
    if (!number) number = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
    return number;
}

int quern_claim_launch(const struct quern_membership *member) {
    uint64_t thread = thread_number();
    int other = -1;
    pthread_mutex_lock(&registered_segments.lock);
    struct registered_segment *registered = find_segment(member->segment);
    for (int rank = 0; rank < member->ranks; rank++)
        if (rank != member->rank && registered->launcher[rank] == thread) other = rank;
    if (other < 0) registered->launcher[member->rank] = thread;
    pthread_mutex_unlock(&registered_segments.lock);
    return other;
}
