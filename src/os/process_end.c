/*
 * The kernel marks each thread of a process that a signal ends, and each one that exits, before it writes a core file, frees the
 * memory and closes the files, which takes 0.3 s for each GiB.  The marks are in /proc/PID/task/TID/stat, and stay as long as the
 * process does.  A number may be given again: a process is known by when it was started.  Called by the roster.
 */
#define _GNU_SOURCE
#include "os/process_end.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/descriptor.h"
#include "os/text.h"

enum { EXITING = 0x4, BY_SIGNAL = 0x400 };  /* PF_EXITING and PF_SIGNALED of the kernel */

struct thread {
    uint64_t number, flags, threads, started;
};

/* The fields of a stat file.  The second one is a name in parentheses, in which anything may stand. */
static bool read_fields(char *text, struct thread *thread) {
    enum { FLAGS = 9, THREADS = 20, STARTED = 22 };
    char *field = strrchr(text, ')');
    thread->number = strtoull(text, NULL, 10);
    for (int number = 2; field && number <= STARTED; number++) {
        if (number == FLAGS) thread->flags = strtoull(field, NULL, 10);
        if (number == THREADS) thread->threads = strtoull(field, NULL, 10);
        if (number == STARTED) thread->started = strtoull(field, NULL, 10);
        field = strchr(field + 1, ' ');
    }
    return field;
}

static bool read_thread(const char *path, struct thread *thread) {
    char text[1024];
    const int descriptor = quern_above_two(open(path, O_RDONLY | O_CLOEXEC));
    if (descriptor < 0) return false;
    const ssize_t bytes = read(descriptor, text, sizeof text - 1);
    close(descriptor);
    text[bytes > 0 ? bytes : 0] = 0;
    return read_fields(text, thread);
}

static bool read_thread_of(int32_t process, const char *number, struct thread *thread) {
    char path[300];
    struct quern_text text = quern_text_begin(path, sizeof path);
    quern_text_add(&text, "/proc/%d/task/%s/stat", process, number);
    return read_thread(path, thread);
}

struct quern_process_mark quern_own_process_mark(void) {
    struct thread thread;
    struct stat proc;
    if (stat("/proc", &proc) != 0 || !read_thread("/proc/self/stat", &thread)) return (struct quern_process_mark){0};
    return (struct quern_process_mark){(uint64_t)proc.st_dev, thread.started, (int32_t)thread.number};
}

/* Its first thread has exited, which others may outlive. */
static bool all_are_ending(int32_t process) {
    char path[32];
    struct thread thread;
    bool ending = true;
    struct quern_text text = quern_text_begin(path, sizeof path);
    quern_text_add(&text, "/proc/%d/task", process);
    DIR *threads = quern_open_directory(path);
    if (!threads) return false;
    for (struct dirent *entry; ending && (entry = readdir(threads));)
        if (entry->d_name[0] != '.' && read_thread_of(process, entry->d_name, &thread))
            ending = thread.flags & (EXITING | BY_SIGNAL);
    closedir(threads);
    return ending;
}

bool quern_process_is_ending(const struct quern_process_mark *own, const struct quern_process_mark *process) {
    char number[16];
    struct thread first;
    struct quern_text text = quern_text_begin(number, sizeof number);
    quern_text_add(&text, "%d", process->number);
    if (!own->mount || process->mount != own->mount || !read_thread_of(process->number, number, &first)) return false;
    if (first.started != process->started || !(first.flags & (EXITING | BY_SIGNAL))) return false;
    return first.flags & BY_SIGNAL || first.threads == 1 || all_are_ending(process->number);
}
