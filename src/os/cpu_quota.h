/* How much processor time the process may take, by its control groups.  For the waits of ranks. */
#ifndef QUERN_CPU_QUOTA_H
#define QUERN_CPU_QUOTA_H

#include <stdint.h>

/* The control group with the least quota, of those that limit the process. */
struct quern_cpu_quota {
    uint32_t thousandths;  /* of a core; UINT32_MAX: no limit */
    uint64_t number;       /* of its directory: the same in every process of the machine; 0: no limit */
};

/*
 * Looks at the group of the process and at all groups above it, of version 1 and of version 2.  `membership` is a file like
 * /proc/self/cgroup, `mount` the directory that is /sys/fs/cgroup on Linux.
 */
struct quern_cpu_quota quern_cpu_quota_of(const char *membership, const char *mount);

#endif
