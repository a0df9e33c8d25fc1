/* On which processors the process may run, and for how much of their time.  For the thread pool and the waits of ranks. */
#ifndef QUERN_CPU_QUOTA_H
#define QUERN_CPU_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

enum { QUERN_CORE_LIMIT = 8192 };  /* the most processors of a Linux on x86-64 */

struct quern_cores {
    uint64_t word[QUERN_CORE_LIMIT / 64];  /* bit mask */
};

/* On which the calling thread may run.  False: the system does not say, so *cores are as many as are online. */
bool quern_read_cores(struct quern_cores *cores);

int quern_count_cores(const struct quern_cores *cores);

/* Reads a list of sysfs, "0-7,64-71". */
void quern_parse_cores(const char *list, struct quern_cores *cores);

/* The control group with the least quota, of those that limit the process. */
struct quern_cpu_quota {
    uint32_t thousandths;  /* of a core, rounded up; UINT32_MAX: no limit */
    uint64_t number;       /* of its directory: the same in every process of the machine; 0: no limit */
};

/*
 * Looks at the group of the process and at all groups above it, of version 1 and of version 2.  The arguments are those of
 * quern_visit_control_groups.
 */
struct quern_cpu_quota quern_cpu_quota_of(const char *membership, const char *mount);

/* How many cores the quota of the process keeps busy, rounded up, at least 1; more than any machine has: there is none. */
int quern_quota_cores(void);

/* How many cores the process can keep busy: those of the calling thread, or its quota, rounded up, if that is less. */
int quern_usable_cores(void);

#endif
