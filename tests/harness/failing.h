/*
 * Makes one call that the library makes fail: the k-th allocation, thread or call of the GPU's driver (the emulator's) of the
 * calling thread, or every library that the thread opens.  Needs a program that is linked with $failing_calls: tests/tests.ninja.
 *
 * What is allocated meanwhile is counted until it is freed.  It holds rubbish at first unless calloc makes it, it has a fence
 * behind it, and it is overwritten when it is freed: reads and writes that go astray do not go unnoticed.  A lock that is given
 * back by a thread that does not have it ends the program.
 */
#ifndef HARNESS_FAILING_H
#define HARNESS_FAILING_H

#include <stdbool.h>

enum failing_calls { FAILING_MEMORY, FAILING_THREADS, FAILING_DRIVER, FAILING_LIBRARIES };

/* From now on the call with this number fails, of FAILING_LIBRARIES each; 0: none.  error: CUresult, for the driver's calls. */
void failing_begin(enum failing_calls calls, long number, int error);

/* Ends that.  Returns how many calls there were; *failed: the function that failed, or NULL. */
long failing_end(const char **failed);

/* What exists: the library's allocations, the process's descriptors and threads, the driver's objects and the thread's state. */
enum {
    ALIVE_ALLOCATIONS, ALIVE_DESCRIPTORS, ALIVE_THREADS, ALIVE_CUBLAS, ALIVE_DEVICE_ALLOCATIONS, ALIVE_HANDLES,
    ALIVE_RESERVATIONS, ALIVE_MAPPINGS, ALIVE_IMPORTS, ALIVE_STREAMS, ALIVE_EVENTS, ALIVE_LIBRARIES, ALIVE_CONTEXT_REFERENCES,
    ALIVE_PUSHED_CONTEXTS, ALIVE_CAPTURE_MODE, ALIVE_COUNT
};
extern const char *const alive_names[ALIVE_COUNT];
struct alive { long count[ALIVE_COUNT]; };
struct alive failing_count(void);
/* Counts again.  The system may list a joined thread for a moment: waits up to a second until there are no more than before. */
struct alive failing_count_again(const struct alive *before);

/* A block that the library keeps for good is no longer counted. */
void failing_forget(const void *block);

/* Puts right what a failed call left of the thread's state: ALIVE_PUSHED_CONTEXTS, ALIVE_CAPTURE_MODE; else does nothing. */
void failing_restore(int what);

/* Between both, what is written to standard output and error is kept back; quiet_end returns how many bytes that was. */
void quiet_begin(void);
long quiet_end(void);

#endif
