/* Reads the affinity and the quota of processor time.  Called when a CPU device is opened and when a rank joins a group. */
#define _GNU_SOURCE
#include "os/cpu_quota.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/control_group.h"

/* The system refuses a mask without a bit for each processor that it could have, so cpu_set_t may be too small. */
bool quern_read_cores(struct quern_cores *cores) {
    *cores = (struct quern_cores){{0}};
    if (sched_getaffinity(0, sizeof *cores, (cpu_set_t *)cores) == 0) return true;
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    for (long core = 0; core < online && core < QUERN_CORE_LIMIT; core++) cores->word[core / 64] |= (uint64_t)1 << core % 64;
    return false;
}

int quern_count_cores(const struct quern_cores *cores) {
    int count = 0;
    for (int word = 0; word < QUERN_CORE_LIMIT / 64; word++) count += __builtin_popcountll(cores->word[word]);
    return count;
}

void quern_parse_cores(const char *list, struct quern_cores *cores) {
    char *end;
    *cores = (struct quern_cores){{0}};
    for (;; list = end + 1) {
        const long first = strtol(list, &end, 10), last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        for (long core = first; core >= 0 && core <= last && core < QUERN_CORE_LIMIT && end > list; core++)
            cores->word[core / 64] |= (uint64_t)1 << core % 64;
        if (*end != ',') return;
    }
}

static int64_t positive(int64_t number) { return number > 0 ? number : 0; }

static int64_t read_number(const char *directory, const char *name) {
    char text[64];
    return quern_read_text(directory, name, text, sizeof text) ? positive(strtoll(text, NULL, 10)) : 0;
}

/* Microseconds in each period; 0: no limit.  Version 2 has both in one file: "max 100000" or "50000 100000". */
static void read_quota(const char *directory, bool second, int64_t *quota, int64_t *period) {
    char text[64], *end = text;
    if (second && quern_read_text(directory, "/cpu.max", text, sizeof text)) {
        *quota = positive(strtoll(text, &end, 10));
        *period = positive(strtoll(end, NULL, 10));
    } else {
        *quota = second ? 0 : read_number(directory, "/cpu.cfs_quota_us");
        *period = second ? 0 : read_number(directory, "/cpu.cfs_period_us");
    }
}

static void look(void *context, const char *directory, bool second) {
    struct quern_cpu_quota *least = context;
    int64_t quota, period;
    read_quota(directory, second, &quota, &period);
    const double thousandths = quota && period ? 1000 * (double)quota / (double)period : UINT32_MAX;
    if (thousandths >= least->thousandths) return;
    const uint32_t whole = (uint32_t)thousandths;
    *least = (struct quern_cpu_quota){whole + (whole < thousandths), quern_control_group_number(directory)};
}

struct quern_cpu_quota quern_cpu_quota_of(const char *membership, const char *mount) {
    struct quern_cpu_quota least = {.thousandths = UINT32_MAX};
    quern_visit_control_groups(membership, mount, "cpu", look, &least);
    return least;
}

int quern_quota_cores(void) {
    const int64_t cores = ((int64_t)quern_cpu_quota_of(QUERN_OWN_CONTROL_GROUPS).thousandths + 999) / 1000;
    return cores < 1 ? 1 : (int)cores;
}

int quern_usable_cores(void) {
    struct quern_cores cores;
    quern_read_cores(&cores);
    const int count = quern_count_cores(&cores), quota = quern_quota_cores(), least = quota < count ? quota : count;
    return least < 1 ? 1 : least;
}
