/* The futex system call.  Called by the waits of src/ranks and src/runtime/threads.c. */
#define _GNU_SOURCE
#include "os/futex.h"

#include <limits.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { FUTEX_WAIT = 0, FUTEX_WAKE = 1 };  /* of the kernel's interface; musl's compiler finds no <linux/futex.h> */

/* For a time that is not positive the system returns at once. */
void quern_futex_wait(uint32_t *word, uint32_t value, int64_t nanoseconds) {
    struct timespec limit = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000};
    syscall(SYS_futex, word, FUTEX_WAIT, value, nanoseconds == QUERN_NO_LIMIT ? NULL : &limit, NULL, 0);
}

void quern_futex_wake(uint32_t *word) {
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
