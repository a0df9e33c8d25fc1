/* How much memory a process may still take.  For symmetric memory. */
#ifndef QUERN_MEMORY_ROOM_H
#define QUERN_MEMORY_ROOM_H

#include <stdint.h>

/* Bytes that the machine has left without swapping; INT64_MAX: unknown. */
int64_t quern_machine_room(void);

/* The control group with the least room, of those that limit the process. */
struct quern_control_group {
    int64_t room;     /* bytes; INT64_MAX: no limit */
    uint64_t number;  /* of its directory: the same in every process of the machine; 0: no limit */
};

/*
 * Looks at the group of the process and at all groups above it, of version 1 and of version 2.  `membership` is a file like
 * /proc/self/cgroup, `mount` the directory that is /sys/fs/cgroup on Linux.
 */
struct quern_control_group quern_control_group_of(const char *membership, const char *mount);

#endif
