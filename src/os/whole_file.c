/* Writes files that appear whole or not at all.  Called by the trace and the dump. */
#define _GNU_SOURCE
#include "os/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "os/descriptor.h"
#include "os/text.h"

enum { BUFFER = 1 << 18, KEPT_NAME = 200, TEMPORARY_TEXT = 40, ATTEMPTS = 1000 };

struct quern_whole_file {
    int descriptor, error;
    size_t used;
    char *path, *temporary;
    unsigned char buffer[BUFFER];
};

/* ---- writing ---- */

/*
 * A write beyond the limit on the size of files raises SIGXFSZ, which would end the program.  It is blocked and taken back; one
 * that was pending before is not this write's.
 */
static ssize_t write_without_signal(int descriptor, const void *data, size_t bytes) {
    sigset_t signal, before, pending;
    sigemptyset(&signal);
    sigaddset(&signal, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signal, &before);
    sigpending(&pending);
    const ssize_t written = write(descriptor, data, bytes);
    const int error = errno;
    if (written < 0 && error == EFBIG && !sigismember(&pending, SIGXFSZ))
        sigtimedwait(&signal, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return written;
}

static int write_all(int descriptor, const void *data, size_t bytes) {
    for (const char *at = data; bytes;) {
        const ssize_t written = write_without_signal(descriptor, at, bytes);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return written < 0 ? errno : EIO;
        at += written;
        bytes -= (size_t)written;
    }
    return 0;
}

/* ---- whole files ---- */

static void flush(struct quern_whole_file *file) {
    if (!file->error) file->error = write_all(file->descriptor, file->buffer, file->used);
    file->used = 0;
}

static int finish(struct quern_whole_file *file) {
    const int error = file->error;
    free(file->path);
    free(file->temporary);
    free(file);
    return error;
}

/* How much of a path the temporary one has: a name of up to 255 bytes leaves no room behind it. */
static size_t kept_length(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const size_t length = strlen(name);
    return (size_t)(name - path) + (length < KEPT_NAME ? length : KEPT_NAME);
}

/* The temporary name has the process and a number, since another process or thread may write the same file. */
static int open_temporary(struct quern_whole_file *file) {
    const size_t kept = kept_length(file->path);
    file->temporary = malloc(kept + TEMPORARY_TEXT);
    if (!file->temporary) return ENOMEM;
    memcpy(file->temporary, file->path, kept);
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        struct quern_text text = quern_text_begin(file->temporary + kept, TEMPORARY_TEXT);
        quern_text_add(&text, ".%d-%d.part", (int)getpid(), attempt);
        file->descriptor = quern_above_two(open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
        if (file->descriptor >= 0) return 0;
        if (errno != EEXIST) break;
    }
    return errno;
}

/* The file behind a symbolic link, which stays. */
static char *follow_link(const char *path) {
    struct stat there;
    const bool is_link = lstat(path, &there) == 0 && S_ISLNK(there.st_mode);
    return is_link ? realpath(path, NULL) : strdup(path);
}

/* A file may be replaced, but not a device as /dev/null: root could. */
static int check_replaced(const char *path) {
    struct stat there;
    if (lstat(path, &there) != 0 || S_ISREG(there.st_mode)) return 0;
    return S_ISDIR(there.st_mode) ? EISDIR : EEXIST;
}

int quern_begin_file(const char *path, struct quern_whole_file **out) {
    struct quern_whole_file *file = malloc(sizeof *file);
    if (!file) return ENOMEM;
    file->error = 0, file->used = 0, file->temporary = NULL;
    file->path = follow_link(path);
    if (!file->path) file->error = errno;
    if (!file->error) file->error = check_replaced(file->path);
    if (!file->error) file->error = open_temporary(file);
    if (file->error) return finish(file);
    *out = file;
    return 0;
}

void quern_write_file(struct quern_whole_file *file, const void *data, size_t bytes) {
    for (const char *from = data; bytes && !file->error;) {
        const size_t room = BUFFER - file->used, part = bytes < room ? bytes : room;
        memcpy(file->buffer + file->used, from, part);
        from += part, bytes -= part, file->used += part;
        if (file->used == BUFFER) flush(file);
    }
}

int quern_end_file(struct quern_whole_file *file) {
    flush(file);
    if (close(file->descriptor) != 0 && !file->error) file->error = errno;
    if (!file->error && rename(file->temporary, file->path) != 0) file->error = errno;
    if (file->error) unlink(file->temporary);
    return finish(file);
}

void quern_drop_file(struct quern_whole_file *file) {
    close(file->descriptor);
    unlink(file->temporary);
    finish(file);
}

/* ---- appending ---- */

/* Threads append one after the other: what one takes back would be another's line. */
static pthread_mutex_t appending = PTHREAD_MUTEX_INITIALIZER;

static void hold(void) { pthread_mutex_lock(&appending); }
static void release(void) { pthread_mutex_unlock(&appending); }
static void watch_forks(void) { pthread_atfork(hold, release, release); }

static int append(int descriptor, const void *data, size_t bytes) {
    const off_t before = lseek(descriptor, 0, SEEK_END);
    int error = write_all(descriptor, data, bytes);
    if (error && before >= 0 && ftruncate(descriptor, before) != 0) error = errno;
    return error;
}

int quern_append_to_file(const char *path, const void *data, size_t bytes) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    const int descriptor = quern_above_two(open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
    if (descriptor < 0) return errno;
    hold();
    int error = append(descriptor, data, bytes);
    release();
    if (close(descriptor) != 0 && !error) error = errno;
    return error;
}

/* ---- paths ---- */

char *quern_absolute_path(const char *path) {
    if (path[0] == '/') return strdup(path);
    char folder[PATH_MAX];
    if (!getcwd(folder, sizeof folder)) return NULL;
    const size_t length = strlen(folder) + strlen(path) + 2;
    char *absolute = malloc(length);
    if (!absolute) return NULL;
    struct quern_text text = quern_text_begin(absolute, length);
    quern_text_add(&text, "%s/%s", folder, path);
    return absolute;
}
