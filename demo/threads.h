/*
 * A pool of threads that runs the independent pieces of a loop.  threads_for has the signature of quern_parallel_for, so that
 * Quern runs its kernels on the same threads as the rest of the engine.  Loops of several threads take turns.
 */
#ifndef THREADS_H
#define THREADS_H

#include <stdint.h>

struct thread_pool;

/* A pool of `threads` threads, including the calling one; NULL if they cannot be started. */
struct thread_pool *threads_start(int threads);
void threads_stop(struct thread_pool *pool);

/* Calls task(context, i) once for every i in [0, tasks) and returns when all calls have returned. */
void threads_for(void *pool, int64_t tasks, void (*task)(void *context, int64_t index), void *context);

#endif
