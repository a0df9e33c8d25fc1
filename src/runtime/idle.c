/* Runs calls of the driver that may wait for a device while no kernel waits for another rank.  idle.h has the reason. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/idle.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static struct {
    pthread_mutex_t lock;
    struct quern_idle_task *first;   /* under the lock */
    bool (*is_pending)(void);        /* atomic; NULL: there has been no rank on a GPU */
    int launching;                   /* atomic: launches under way */
    bool is_running;                 /* atomic: a thread runs tasks */
} idle = {.lock = PTHREAD_MUTEX_INITIALIZER};

void quern_set_pending_check(bool (*is_pending)(void)) { __atomic_store_n(&idle.is_pending, is_pending, __ATOMIC_SEQ_CST); }

void quern_begin_launching(void) {
    for (;;) {
        __atomic_add_fetch(&idle.launching, 1, __ATOMIC_SEQ_CST);
        if (!__atomic_load_n(&idle.is_running, __ATOMIC_SEQ_CST)) return;
        quern_end_launching();
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    }
}

void quern_end_launching(void) { __atomic_sub_fetch(&idle.launching, 1, __ATOMIC_RELEASE); }

/* ---- tasks ---- */

static bool begin(void) {
    bool running = false;
    if (!__atomic_compare_exchange_n(&idle.is_running, &running, true, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) return false;
    bool (*is_pending)(void) = __atomic_load_n(&idle.is_pending, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&idle.launching, __ATOMIC_SEQ_CST) && !(is_pending && is_pending())) return true;
    __atomic_store_n(&idle.is_running, false, __ATOMIC_RELEASE);
    return false;
}

static struct quern_idle_task *take(void) {
    pthread_mutex_lock(&idle.lock);
    struct quern_idle_task *task = idle.first;
    if (task) {
        idle.first = task->next;
        task->is_queued = false;
    }
    pthread_mutex_unlock(&idle.lock);
    return task;
}

static bool has_tasks(void) {
    pthread_mutex_lock(&idle.lock);
    const bool has = idle.first;
    pthread_mutex_unlock(&idle.lock);
    return has;
}

/* A task that another thread queues meanwhile is found here: after the end the list is looked at again. */
static void run_tasks(void) {
    while (has_tasks() && begin()) {
        for (struct quern_idle_task *task; (task = take());) task->run(task);
        __atomic_store_n(&idle.is_running, false, __ATOMIC_RELEASE);
    }
}

void quern_when_idle(struct quern_idle_task *task) {
    pthread_mutex_lock(&idle.lock);
    if (!task->is_queued) {
        task->is_queued = true;
        task->next = idle.first;
        idle.first = task;
    }
    pthread_mutex_unlock(&idle.lock);
    run_tasks();
}

/* ---- leftovers ---- */

void quern_drop_leftover(struct quern_leftover *leftover) {
    const struct quern_cuda *cuda;
    if (leftover && quern_cuda_open(&cuda) == QUERN_OK) cuda->context_release(leftover->device);
    free(leftover);
}

static void discard(struct quern_idle_task *task) {
    struct quern_leftover *leftover = (struct quern_leftover *)task;
    struct quern_cuda_visit visit;
    if (quern_cuda_begin_visit(&visit, leftover->context) == CUDA_SUCCESS) {
        if (leftover->memory) visit.cuda->memory_free(leftover->memory);
        if (leftover->module) visit.cuda->module_unload(leftover->module);
    }
    quern_cuda_end_visit(&visit);
    quern_drop_leftover(leftover);
}

CUresult quern_make_leftover(const quern_device *device, struct quern_leftover **leftover) {
    const struct quern_cuda *cuda;
    struct quern_leftover *made = *leftover = NULL;
    if (quern_cuda_open(&cuda) != QUERN_OK) return CUDA_ERROR_NO_DEVICE;
    made = calloc(1, sizeof *made);
    if (!made) return CUDA_ERROR_OUT_OF_MEMORY;
    *made = (struct quern_leftover){.task = {.run = discard}, .device = device->cuda_device};
    const CUresult error = cuda->context_retain(&made->context, made->device);
    if (error == CUDA_SUCCESS) *leftover = made;
    else free(made);
    return error;
}

void quern_discard_when_idle(struct quern_leftover *leftover) { quern_when_idle(&leftover->task); }
