/* The engine's thread pool.  Called by all files that compute, and by Quern's CPU kernels through quern_set_threads. */
#include "threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

struct thread_pool {
    pthread_mutex_t turn;      /* held during a loop */
    pthread_mutex_t lock;      /* of all below but `next` */
    pthread_cond_t work_arrived, work_done;
    uint64_t loops;            /* loops begun so far: a worker compares it with the last one it saw */
    int busy;                  /* workers inside the current loop */
    bool stopping;

    void (*task)(void *, int64_t);
    void *context;
    int64_t tasks;
    atomic_int_least64_t next; /* the first task that no thread has taken */

    int workers;
    pthread_t worker[];
};

static void take_tasks(struct thread_pool *pool) {
    for (int64_t i; (i = atomic_fetch_add(&pool->next, 1)) < pool->tasks;) pool->task(pool->context, i);
}

static void *work(void *argument) {
    struct thread_pool *pool = argument;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (pool->loops == seen && !pool->stopping) pthread_cond_wait(&pool->work_arrived, &pool->lock);
        if (pool->stopping) break;
        seen = pool->loops;
        pthread_mutex_unlock(&pool->lock);
        take_tasks(pool);
        pthread_mutex_lock(&pool->lock);
        if (--pool->busy == 0) pthread_cond_signal(&pool->work_done);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

struct thread_pool *threads_start(int threads) {
    struct thread_pool *pool = calloc(1, sizeof *pool + (size_t)threads * sizeof(pthread_t));
    if (pool == NULL) return NULL;
    pthread_mutex_init(&pool->turn, NULL);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work_arrived, NULL);
    pthread_cond_init(&pool->work_done, NULL);
    while (pool->workers < threads - 1) {
        if (pthread_create(&pool->worker[pool->workers], NULL, work, pool) != 0) {
            threads_stop(pool);
            return NULL;
        }
        pool->workers++;
    }
    return pool;
}

void threads_stop(struct thread_pool *pool) {
    if (pool == NULL) return;
    pthread_mutex_lock(&pool->lock);
    pool->stopping = true;
    pthread_cond_broadcast(&pool->work_arrived);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->workers; i++) pthread_join(pool->worker[i], NULL);
    pthread_cond_destroy(&pool->work_arrived);
    pthread_cond_destroy(&pool->work_done);
    pthread_mutex_destroy(&pool->lock);
    pthread_mutex_destroy(&pool->turn);
    free(pool);
}

void threads_for(void *user, int64_t tasks, void (*task)(void *context, int64_t index), void *context) {
    struct thread_pool *pool = user;
    if (pool->workers == 0 || tasks <= 1) {
        for (int64_t i = 0; i < tasks; i++) task(context, i);
        return;
    }
    pthread_mutex_lock(&pool->turn);
    pthread_mutex_lock(&pool->lock);
    pool->task = task;
    pool->context = context;
    pool->tasks = tasks;
    atomic_store(&pool->next, 0);
    pool->busy = pool->workers;
    pool->loops++;
    pthread_cond_broadcast(&pool->work_arrived);
    pthread_mutex_unlock(&pool->lock);

    take_tasks(pool);

    pthread_mutex_lock(&pool->lock);
    while (pool->busy > 0) pthread_cond_wait(&pool->work_done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    pthread_mutex_unlock(&pool->turn);
}
