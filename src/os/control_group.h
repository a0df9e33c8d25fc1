/* Finds the control groups of the process, of version 1 and of version 2.  For the limits of memory and of processor time. */
#ifndef QUERN_CONTROL_GROUP_H
#define QUERN_CONTROL_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A visit of one group: its directory, and whether it is of version 2. */
typedef void quern_control_group_visit(void *context, const char *directory, bool second);

/* The files of this process, `membership` and `mount` below. */
#define QUERN_OWN_CONTROL_GROUPS "/proc/self/cgroup", "/sys/fs/cgroup"

/* Visits the group of the process for a controller ("memory") and all groups above it. */
void quern_visit_control_groups(const char *membership, const char *mount, const char *controller, quern_control_group_visit *visit,
                                void *context);

/* Reads the beginning of a small file as text; false: there is none, or it is empty. */
bool quern_read_text(const char *directory, const char *name, char *text, size_t bytes);

/* The number of the directory: the same in every process of the machine; 0: it is not there. */
uint64_t quern_control_group_number(const char *directory);

#endif
