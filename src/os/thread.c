/* Starts a thread without signals.  Called by the watchers and monitors of src/ranks, and by the threads of transfers. */
#define _POSIX_C_SOURCE 200809L
#include "os/thread.h"

#include <signal.h>

int quern_start_thread(pthread_t *thread, void *(*run)(void *user), void *user) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(thread, NULL, run, user);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}
