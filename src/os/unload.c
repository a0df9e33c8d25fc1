/* Tells dlclose from exit, and runs the registered steps.  Called when the first device, pack or log file is opened. */
#include "os/unload.h"

#include <stdbool.h>
#include <stdlib.h>

static void (*steps[QUERN_UNLOAD_STEPS])(void);  /* atomic */
static bool exiting, unloading;                  /* exiting: atomic */

static void note_exit(void) { __atomic_store_n(&exiting, true, __ATOMIC_RELAXED); }

/*
 * Each step registers note_exit, since exit reaches what a constructor registered before main only after the destructors.  Without
 * a way to tell, nothing is freed.
 */
void quern_on_unload(enum quern_unload_step step, void (*run)(void)) {
    void (*before)(void) = __atomic_exchange_n(&steps[step], run, __ATOMIC_ACQ_REL);
    if (!before && atexit(note_exit) != 0) note_exit();
}

/*
 * exit runs the functions that atexit registered before any destructor.  dlclose runs plain destructors first, then the functions
 * that the shared object registered, and destructors with a priority last.  musl's dlclose unloads nothing: it has only exit.
 */
__attribute__((destructor)) static void note_unload(void) { unloading = !__atomic_load_n(&exiting, __ATOMIC_RELAXED); }

/* 101, the last of all: static objects of a C++ engine close their devices first. */
__attribute__((destructor(101))) static void run_steps(void) {
    for (int step = 0; step < QUERN_UNLOAD_STEPS; step++) {
        void (*run)(void) = __atomic_load_n(&steps[step], __ATOMIC_ACQUIRE);
        const bool joins_threads = step == QUERN_UNLOAD_PROGRESS || step == QUERN_UNLOAD_WATCHER || step == QUERN_UNLOAD_THREADS;
        if (run && (unloading || joins_threads)) run();
    }
}
