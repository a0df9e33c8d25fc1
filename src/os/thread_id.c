/* Asks for the number of a thread, for which not every C library has a function.  Called by src/look and src/ranks/collective. */
#define _GNU_SOURCE
#include "os/thread_id.h"

#include <sys/syscall.h>
#include <unistd.h>

int32_t quern_thread_id(void) { return (int32_t)syscall(SYS_gettid); }
