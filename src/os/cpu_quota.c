/* Reads the quota of processor time from the control groups.  Called when a rank joins a group. */
#include "os/cpu_quota.h"

#include <stdlib.h>

#include "os/control_group.h"

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
    *least = (struct quern_cpu_quota){(uint32_t)thousandths, quern_control_group_number(directory)};
}

struct quern_cpu_quota quern_cpu_quota_of(const char *membership, const char *mount) {
    struct quern_cpu_quota least = {.thousandths = UINT32_MAX};
    quern_visit_control_groups(membership, mount, "cpu", look, &least);
    return least;
}
