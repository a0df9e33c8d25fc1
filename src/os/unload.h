/* Cleanup at dlclose of the shared object that contains the library.  For all code that keeps something for the process. */
#ifndef QUERN_UNLOAD_H
#define QUERN_UNLOAD_H

/* The steps, in the order in which they run. */
enum quern_unload_step {
    QUERN_UNLOAD_PROGRESS,  /* joins threads.  Such steps run at exit, too: an exit handler of the program may call dlclose later */
    QUERN_UNLOAD_TRANSFERS,
    QUERN_UNLOAD_PLANS,
    QUERN_UNLOAD_GROUPS,
    QUERN_UNLOAD_DEVICES,
    QUERN_UNLOAD_WATCHER,  /* joins one */
    QUERN_UNLOAD_THREADS,  /* joins those of the pool */
    QUERN_UNLOAD_TRACE,
    QUERN_UNLOAD_PACKS,
    QUERN_UNLOAD_LOG,
    QUERN_UNLOAD_STEPS
};

/*
 * Registers the function of a step.  Thread-safe; may be repeated.
 *
 * At dlclose all steps run on the thread that calls it, after the exit handlers and static destructors of the shared object.  No
 * other thread is inside the library then, so a step needs no lock.  At exit other threads may be inside the library, so only
 * QUERN_UNLOAD_PROGRESS, _WATCHER and _THREADS run, and nothing is freed.
 */
void quern_on_unload(enum quern_unload_step step, void (*run)(void));

#endif
