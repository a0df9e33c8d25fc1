/* Threads of the library beside those of the pool.  For all code that starts one. */
#ifndef QUERN_THREAD_H
#define QUERN_THREAD_H

#include <pthread.h>

/* Starts a thread that blocks all signals, which go to the engine's own threads.  Returns 0, or the number of an error. */
int quern_start_thread(pthread_t *thread, void *(*run)(void *user), void *user);

#endif
