/*
 * Reads how much memory is left from /proc/meminfo and from the control groups.  The system lets a process reserve more memory than
 * there is, and kills it later.  Called before symmetric memory is set aside.
 */
#include "os/memory_room.h"

#include <stdlib.h>
#include <string.h>

#include "os/control_group.h"

enum { FILE_BYTES = 4096 };

/* The number behind a key at the beginning of a line; `otherwise` without one. */
static int64_t number_of(const char *text, const char *key, int64_t otherwise) {
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, key, strlen(key)) == 0) return strtoll(line + strlen(key), NULL, 10);
    return otherwise;
}

int64_t quern_machine_room(void) {
    char text[FILE_BYTES];
    int64_t kibibytes = quern_read_text("/proc", "/meminfo", text, sizeof text) ? number_of(text, "MemAvailable:", -1) : -1;
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
    bool there = quern_read_text(directory, name, text, sizeof text) && text[0] >= '0' && text[0] <= '9';
    return there ? strtoll(text, NULL, 10) : -1;
}

/* The room of one group; INT64_MAX without a limit.  Pages of files that nobody uses are counted as used, but are given up. */
static int64_t room_in(const char *directory, const struct version *version) {
    char text[FILE_BYTES];
    int64_t limit = read_number(directory, version->limit), usage = read_number(directory, version->usage);
    if (limit < 0 || usage < 0) return INT64_MAX;
    bool told = quern_read_text(directory, "/memory.stat", text, sizeof text);
    int64_t reclaimable = told ? number_of(text, version->reclaimable, 0) : 0;
    int64_t used = reclaimable < usage ? usage - reclaimable : 0;
    return used < limit ? limit - used : 0;
}

static void look(void *context, const char *directory, bool second) {
    struct quern_control_group *least = context;
    const int64_t room = room_in(directory, second ? &second_version : &first_version);
    const uint64_t number = quern_control_group_number(directory);
    if (room < least->room && number) *least = (struct quern_control_group){room, number};
}

struct quern_control_group quern_control_group_of(const char *membership, const char *mount) {
    struct quern_control_group least = {.room = INT64_MAX};
    quern_visit_control_groups(membership, mount, "memory", look, &least);
    return least;
}
