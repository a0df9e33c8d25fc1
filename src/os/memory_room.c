/*
 * Reads how much memory is left from /proc/meminfo and from the control groups.  The system lets a process reserve more memory than
 * there is, and kills it later.  Called before symmetric memory is set aside.
 */
#define _GNU_SOURCE
#include "os/memory_room.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/text.h"

enum { PATH_BYTES = 1200, FILE_BYTES = 4096 };

/* Reads the beginning of a small file as text. */
static bool read_text(const char *directory, const char *name, char *text, size_t bytes) {
    char path[PATH_BYTES + 64];
    struct quern_text full = quern_text_begin(path, sizeof path);
    quern_text_add(&full, "%s%s", directory, name);
    int file = full.length < sizeof path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return false;
    ssize_t length = read(file, text, bytes - 1);
    close(file);
    text[length > 0 ? length : 0] = 0;
    return length > 0;
}

/* The number behind a key at the beginning of a line; `otherwise` without one. */
static int64_t number_of(const char *text, const char *key, int64_t otherwise) {
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, key, strlen(key)) == 0) return strtoll(line + strlen(key), NULL, 10);
    return otherwise;
}

int64_t quern_machine_room(void) {
    char text[FILE_BYTES];
    int64_t kibibytes = read_text("/proc", "/meminfo", text, sizeof text) ? number_of(text, "MemAvailable:", -1) : -1;
    return kibibytes < 0 ? INT64_MAX : kibibytes * 1024;
}

/* ---- control groups ---- */

/* The files of a version. */
struct version {
    const char *limit, *usage, *reclaimable;
};

static const struct version first_version = {"/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file "};
static const struct version second_version = {"/memory.max", "/memory.current", "inactive_file "};

static int64_t read_number(const char *directory, const char *name) {
    char text[32];
    bool there = read_text(directory, name, text, sizeof text) && text[0] >= '0' && text[0] <= '9';
    return there ? strtoll(text, NULL, 10) : -1;
}

/* The room of one group; INT64_MAX without a limit.  Pages of files that nobody uses are counted as used, but are given up. */
static int64_t room_in(const char *directory, const struct version *version) {
    char text[FILE_BYTES];
    int64_t limit = read_number(directory, version->limit), usage = read_number(directory, version->usage);
    if (limit < 0 || usage < 0) return INT64_MAX;
    int64_t reclaimable = read_text(directory, "/memory.stat", text, sizeof text) ? number_of(text, version->reclaimable, 0) : 0;
    int64_t used = reclaimable < usage ? usage - reclaimable : 0;
    return used < limit ? limit - used : 0;
}

/* Looks at a group and at those above it, up to the mount.  A container may not see its own directory, but the mount is its group. */
static void look_upwards(struct quern_control_group *least, const char *mount, const char *group, const struct version *version) {
    char directory[PATH_BYTES];
    struct quern_text text = quern_text_begin(directory, sizeof directory);
    quern_text_add(&text, "%s", mount);
    const size_t top = text.length;
    if (!strstr(group, "..") && strcmp(group, "/") != 0) quern_text_add(&text, "%s", group);
    if (text.length >= sizeof directory) return;
    for (char *end; ; *end = 0) {
        struct stat there;
        int64_t room = room_in(directory, version);
        if (room < least->room && stat(directory, &there) == 0)
            *least = (struct quern_control_group){room, (uint64_t)there.st_ino};
        end = strrchr(directory + top, '/');
        if (!end) return;
    }
}

/* Whether a list like "cpu,memory" names the controller of memory. */
static bool controls_memory(const char *list) {
    for (const char *name = list; name; name = strchr(name, ',') ? strchr(name, ',') + 1 : NULL)
        if (strcspn(name, ",") == strlen("memory") && strncmp(name, "memory", strlen("memory")) == 0) return true;
    return false;
}

/* A line of /proc/self/cgroup: number, controllers and group, with colons between them. */
static void look_at_line(struct quern_control_group *least, const char *mount, char *line) {
    char below[PATH_BYTES];
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) return;
    *group++ = 0;
    const bool second = *++controllers == 0;
    if (!second && !controls_memory(controllers)) return;
    struct quern_text text = quern_text_begin(below, sizeof below);
    quern_text_add(&text, "%s%s", mount, second ? "/unified" : "/memory");
    look_upwards(least, below, group, second ? &second_version : &first_version);
    if (second) look_upwards(least, mount, group, &second_version);
}

struct quern_control_group quern_control_group_of(const char *membership, const char *mount) {
    struct quern_control_group least = {.room = INT64_MAX};
    char text[FILE_BYTES];
    char *rest = read_text(membership, "", text, sizeof text) ? text : NULL;
    for (char *line; (line = strsep(&rest, "\n"));) look_at_line(&least, mount, line);
    return least;
}
