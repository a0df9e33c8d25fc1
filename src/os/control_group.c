/* Walks over the control groups of the process, as /proc/self/cgroup names them.  Called by memory_room.c and cpu_quota.c. */
#define _GNU_SOURCE
#include "os/control_group.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/descriptor.h"
#include "os/text.h"

enum { PATH_BYTES = 1200, FILE_BYTES = 4096 };

bool quern_read_text(const char *directory, const char *name, char *text, size_t bytes) {
    char path[PATH_BYTES + 64];
    struct quern_text full = quern_text_begin(path, sizeof path);
    quern_text_add(&full, "%s%s", directory, name);
    int file = full.length < sizeof path ? quern_above_two(open(path, O_RDONLY | O_CLOEXEC)) : -1;
    if (file < 0) return false;
    ssize_t length = read(file, text, bytes - 1);
    close(file);
    text[length > 0 ? length : 0] = 0;
    return length > 0;
}

uint64_t quern_control_group_number(const char *directory) {
    struct stat there;
    return stat(directory, &there) == 0 ? (uint64_t)there.st_ino : 0;
}

struct walk {
    const char *mount, *controller;
    quern_control_group_visit *visit;
    void *context;
};

/* Visits a group and those above it, up to the mount.  A container may not see its own directory, but the mount is its group. */
static void look_upwards(const struct walk *walk, const char *mount, const char *group, bool second) {
    char directory[PATH_BYTES];
    struct quern_text text = quern_text_begin(directory, sizeof directory);
    quern_text_add(&text, "%s", mount);
    const size_t top = text.length;
    if (!strstr(group, "..") && strcmp(group, "/") != 0) quern_text_add(&text, "%s", group);
    if (text.length >= sizeof directory) return;
    for (char *end; ; *end = 0) {
        walk->visit(walk->context, directory, second);
        end = strrchr(directory + top, '/');
        if (!end) return;
    }
}

/* Whether a list like "cpu,cpuacct" names the controller. */
static bool names(const char *list, const char *controller) {
    const size_t length = strlen(controller);
    for (const char *name = list; name; name = strchr(name, ',') ? strchr(name, ',') + 1 : NULL)
        if (strcspn(name, ",") == length && strncmp(name, controller, length) == 0) return true;
    return false;
}

/* A line of /proc/self/cgroup: number, controllers and group, with colons between them. */
static void look_at_line(const struct walk *walk, char *line) {
    char below[PATH_BYTES];
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) return;
    *group++ = 0;
    const bool second = *++controllers == 0;
    if (!second && !names(controllers, walk->controller)) return;
    struct quern_text text = quern_text_begin(below, sizeof below);
    quern_text_add(&text, "%s/%s", walk->mount, second ? "unified" : walk->controller);
    look_upwards(walk, below, group, second);
    if (second) look_upwards(walk, walk->mount, group, true);
}

void quern_visit_control_groups(const char *membership, const char *mount, const char *controller, quern_control_group_visit *visit,
                                void *context) {
    const struct walk walk = {mount, controller, visit, context};
    char text[FILE_BYTES];
    char *rest = quern_read_text(membership, "", text, sizeof text) ? text : NULL;
    for (char *line; (line = strsep(&rest, "\n"));) look_at_line(&walk, line);
}
