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

static void write_line(int file, char *line, size_t length) {
    line[length++] = '\n';  /* the buffer has room for it */
    while (length) {
        ssize_t written = write(file, line, length);
        if (written <= 0) return;  /* a full disk must not stop the engine */
        line += written;
        length -= (size_t)written;
    }
}

void quern_refuse_variable(const char *name, const char *value, const char *expected) {
    char line[512];
    struct quern_text text = quern_text_begin(line, sizeof line - 1);
    quern_text_add(&text, "quern: %s is ignored: expected %s, and it is \"%s\"", name, expected, value);
    for (char *at = line; *at; at++)
        if ((unsigned char)*at < ' ') *at = '?';
    if (quern_has_standard_error()) write_line(STDERR_FILENO, line, strlen(line));
}

int quern_variable_number(const char *name, int most, uint32_t *told) {
    const char *const value = getenv(name), *at = value;
    int number = 0;
    if (!value || !*value) return 0;
    for (; *at >= '0' && *at <= '9' && number <= most; at++) number = 10 * number + (*at - '0');
    if (!*at && number >= 1 && number <= most) return number;
    char expected[40];
    struct quern_text text = quern_text_begin(expected, sizeof expected);
    quern_text_add(&text, "a number from 1 to %d", most);
    if (!__atomic_exchange_n(told, 1, __ATOMIC_RELAXED)) quern_refuse_variable(name, value, expected);
    return 0;
}

/* LEVEL, PATH or LEVEL:PATH.  What begins with a number and a colon, or is a number, has a level. */
static void read_environment(void) {
    static const char *const expected = "a level (1, 2 or 3), a file that can be written, or both with a colon between them";
    const char *const value = getenv("QUERN_LOG");
    if (!value || !*value) return;
    const size_t digits = strspn(value, "0123456789");
    const bool has_level = digits && (!value[digits] || value[digits] == ':');
    const char *path = !has_level ? value : value[digits] ? value + digits + 1 : "";
    const int level = !has_level ? QUERN_LOG_INFO : digits == 1 ? value[0] - '0' : 0;
    /* A level without a path logs to standard error. */
    if (level >= QUERN_LOG_ERROR && level <= QUERN_LOG_DEBUG)
        sink.file = *path ? quern_above_two(open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644)) : STDERR_FILENO;
    if (sink.file < 0) quern_refuse_variable("QUERN_LOG", value, expected);
    if (sink.file < 0 || (!*path && !quern_has_standard_error())) return;
    if (*path) quern_on_unload(QUERN_UNLOAD_LOG, close_file);
    sink.file_level = (quern_log_level)level;
    __atomic_store_n(&sink.level, sink.file_level, __ATOMIC_RELAXED);
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
