/* A thread that makes calls for another one.  Called by chunks.c and tensor_parallel.c. */
#include "caller.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct caller {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    void (*call)(void *context);  /* NULL: none is under way */
    void *context;
    bool stopping;
};

static void *make_calls(void *argument) {
    struct caller *caller = argument;
    pthread_mutex_lock(&caller->lock);
    for (;;) {
        while (caller->call == NULL && !caller->stopping) pthread_cond_wait(&caller->changed, &caller->lock);
        if (caller->stopping) break;
        pthread_mutex_unlock(&caller->lock);
        caller->call(caller->context);
        pthread_mutex_lock(&caller->lock);
        caller->call = NULL;
        pthread_cond_signal(&caller->changed);
    }
    pthread_mutex_unlock(&caller->lock);
    return NULL;
}

static void release(struct caller *caller) {
    pthread_cond_destroy(&caller->changed);
    pthread_mutex_destroy(&caller->lock);
    free(caller);
}

struct caller *caller_start(void) {
    struct caller *caller = calloc(1, sizeof *caller);
    if (caller == NULL) return NULL;
    pthread_mutex_init(&caller->lock, NULL);
    pthread_cond_init(&caller->changed, NULL);
    if (pthread_create(&caller->thread, NULL, make_calls, caller) == 0) return caller;
    release(caller);
    return NULL;
}

void caller_stop(struct caller *caller) {
    if (caller == NULL) return;
    pthread_mutex_lock(&caller->lock);
    caller->stopping = true;
    pthread_cond_signal(&caller->changed);
    pthread_mutex_unlock(&caller->lock);
    pthread_join(caller->thread, NULL);
    release(caller);
}

void caller_begin(struct caller *caller, void (*call)(void *context), void *context) {
    pthread_mutex_lock(&caller->lock);
    caller->context = context;
    caller->call = call;
    pthread_cond_signal(&caller->changed);
    pthread_mutex_unlock(&caller->lock);
}

void caller_wait(struct caller *caller) {
    pthread_mutex_lock(&caller->lock);
    while (caller->call != NULL) pthread_cond_wait(&caller->changed, &caller->lock);
    pthread_mutex_unlock(&caller->lock);
}
