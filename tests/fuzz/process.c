/* Counts the threads and descriptors of the process, and searches for lost memory.  Called by fuzz.c while no device is open. */
#include "process.h"

#include <dirent.h>
#include <fcntl.h>
#include <sanitizer/lsan_interface.h>

#include "calls.h"

static int threads, descriptors;
static char newest[256];   /* the file behind the last descriptor */

static int count_threads(void) {
    DIR *folder = opendir("/proc/self/task");
    int count = 0;
    if (!folder) fuzz_fail("/proc/self/task cannot be read");
    while (readdir(folder)) count++;
    closedir(folder);
    return count;
}

/* Without pipes: libFuzzer begins a program that names functions, and talks to it by pipes. */
static int count_descriptors(void) {
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;
    if (!folder) fuzz_fail("/proc/self/fd cannot be read");
    for (const struct dirent *entry; (entry = readdir(folder));) {
        char target[sizeof newest] = "";
        if (readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1) < 0 || !strncmp(target, "pipe:", 5)) continue;
        count++;
        if (strncmp(target, "/proc/", 6) != 0) memcpy(newest, target, sizeof newest);
    }
    closedir(folder);
    return count;
}

void process_remember(void) {
    threads = count_threads();
    descriptors = count_descriptors();
}

/* The system removes a thread shortly after pthread_join has returned. */
static int wait_for_threads(void) {
    int count = count_threads();
    for (int i = 0; i < 300000 && count != threads; i++) {
        usleep(1000);
        count = count_threads();
    }
    return count;
}

void process_check(void) {
    const int threads_now = wait_for_threads(), descriptors_now = count_descriptors();
    if (threads_now != threads) fuzz_fail("%d threads are left: %d before the first device", threads_now, threads);
    if (descriptors_now != descriptors)
        fuzz_fail("%d descriptors are open, %s the newest: %d before the first device", descriptors_now, newest, descriptors);
    if (__lsan_do_recoverable_leak_check()) fuzz_fail("memory is lost although all handles are closed");
}
