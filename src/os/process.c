/* Identifies processes by /proc.  Called when ranks join and when they wait for each other. */
#define _GNU_SOURCE
#include "os/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/text.h"

/* Reads the state and the start time of a process: fields 3 and 22 of its stat file.  False: the file does not exist. */
static bool read_stat(int32_t pid, char *state, uint64_t *start_time) {
    char path[32], line[1024];
    struct quern_text text = quern_text_begin(path, sizeof path);
    quern_text_add(&text, "/proc/%d/stat", pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    ssize_t length = read(file, line, sizeof line - 1);
    close(file);
    if (length <= 0) return false;
    line[length] = 0;
    char *field = strrchr(line, ')');  /* the name may contain any character; it ends at the last ')' */
    if (!field || !field[1]) return false;
    *state = field[2];
    field++;
    for (int number = 3; number < 22 && field; number++) field = strchr(field + 1, ' ');
    *start_time = field ? strtoull(field + 1, NULL, 10) : 0;
    return true;
}

struct quern_process quern_this_process(void) {
    struct quern_process process = {.pid = (int32_t)getpid()};
    char state;
    struct stat namespace;
    read_stat(process.pid, &state, &process.start_time);
    if (stat("/proc/self/ns/pid", &namespace) == 0) process.namespace = namespace.st_ino;
    return process;
}

bool quern_process_has_ended(struct quern_process process) {
    struct stat namespace;
    if (!process.start_time) return false;
    if (stat("/proc/self/ns/pid", &namespace) != 0 || namespace.st_ino != process.namespace) return false;
    char state;
    uint64_t start_time;
    if (!read_stat(process.pid, &state, &start_time)) return kill(process.pid, 0) != 0 && errno == ESRCH;
    return state == 'Z' || state == 'X' || start_time != process.start_time;
}

bool quern_same_process(struct quern_process a, struct quern_process b) {
    return a.pid == b.pid && a.start_time == b.start_time && a.namespace == b.namespace;
}
