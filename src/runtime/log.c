/* The log: one sink for the process.  Called by quern_fail and by all code that reports. */
#define _GNU_SOURCE
#include "runtime/log.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/descriptor.h"
#include "os/text.h"
#include "os/unload.h"
#include "runtime/label.h"

static struct {
    pthread_mutex_t lock;
    quern_log_callback callback;
    void *user;
    quern_log_level level;       /* the listener's; 0: no listener */
    int file;                    /* from QUERN_LOG; -1: none */
    quern_log_level file_level;  /* used when no callback is set */
} sink = {.lock = PTHREAD_MUTEX_INITIALIZER, .file = -1};

static void close_file(void) { close(sink.file); }

static pthread_once_t environment_once = PTHREAD_ONCE_INIT;

/* QUERN_LOG=LEVEL, QUERN_LOG=PATH or QUERN_LOG=LEVEL:PATH */
static void read_environment(void) {
    const char *value = getenv("QUERN_LOG");
    if (!value || !*value) return;
    quern_log_level level = QUERN_LOG_INFO;
    bool has_level = value[0] >= '1' && value[0] <= '3' && (!value[1] || value[1] == ':');
    if (has_level) {
        level = (quern_log_level)(value[0] - '0');
        value += value[1] ? 2 : 1;
    }
    /* A level without a path logs to standard error, unless that was closed. */
    sink.file = quern_has_standard_error() ? STDERR_FILENO : -1;
    if (*value) sink.file = quern_above_two(open(value, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
    if (sink.file < 0) return;
    if (*value) quern_on_unload(QUERN_UNLOAD_LOG, close_file);
    sink.file_level = level;
    __atomic_store_n(&sink.level, level, __ATOMIC_RELAXED);
}

void quern_set_log(quern_log_callback callback, void *user, quern_log_level level) {
    pthread_once(&environment_once, read_environment);
    pthread_mutex_lock(&sink.lock);
    sink.callback = callback;
    sink.user = user;
    __atomic_store_n(&sink.level, callback ? level : sink.file_level, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&sink.lock);
}

bool quern_log_wanted(quern_log_level level) {
    pthread_once(&environment_once, read_environment);
    return level <= __atomic_load_n(&sink.level, __ATOMIC_RELAXED);
}

static void write_line(int file, char *line, size_t length) {
    line[length++] = '\n';  /* the buffer has room for it */
    while (length) {
        ssize_t written = write(file, line, length);
        if (written <= 0) return;  /* a full disk must not stop the engine */
        line += written;
        length -= (size_t)written;
    }
}

void quern_log(const quern_device *device, quern_log_level level, const char *format, ...) {
    if (!quern_log_wanted(level)) return;
    char line[1280];
    struct quern_text text = quern_text_begin(line, sizeof line - 1);
    if (device) quern_text_add(&text, "[%s] ", quern_label_of(device));
    va_list list;
    va_start(list, format);
    quern_text_add_list(&text, format, list);
    va_end(list);
    /* The lock keeps lines whole.  It also ensures that no callback runs after quern_set_log(NULL) has returned. */
    pthread_mutex_lock(&sink.lock);
    if (sink.callback)
        sink.callback(sink.user, level, line);
    else if (sink.file >= 0)
        write_line(sink.file, line, strlen(line));
    pthread_mutex_unlock(&sink.lock);
}
