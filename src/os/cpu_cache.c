/*
 * Reads the size of the last cache from sysfs, since under virtualisation CPUID may misreport how many cores share a cache.  Called
 * by the ragged all-to-all of CPU ranks.
 */
#define _POSIX_C_SOURCE 200809L
#include "os/cpu_cache.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/control_group.h"
#include "os/cpu_quota.h"
#include "os/text.h"

static const int64_t UNKNOWN = 1 << 21;

/* Reads a line of text about a level of cache. */
static bool read_line(int level, const char *name, char *line, size_t bytes) {
    static const char directory[] = "/sys/devices/system/cpu/cpu0/cache";
    char below[32];
    struct quern_text text = quern_text_begin(below, sizeof below);
    quern_text_add(&text, "/index%d/%s", level, name);
    return quern_read_text(directory, below, line, bytes);
}

/* "32768K" */
static int64_t parse_size(const char *line) {
    char *end;
    int64_t size = strtoll(line, &end, 10);
    return *end == 'K' ? size << 10 : *end == 'M' ? size << 20 : size;
}

static int64_t bytes_per_core(void) {
    char size[32], list[1024];
    struct quern_cores cores;
    int level = 0;
    while (read_line(level + 1, "size", size, sizeof size)) level++;
    if (!read_line(level, "size", size, sizeof size) || !read_line(level, "shared_cpu_list", list, sizeof list)) return UNKNOWN;
    quern_parse_cores(list, &cores);
    const int sharing = quern_count_cores(&cores);
    const int64_t share = parse_size(size) / (sharing ? sharing : 1);
    return share > 0 ? share : UNKNOWN;
}

int64_t quern_cpu_cache_share(int ranks, int threads) {
    static int64_t per_core, cores;
    if (!__atomic_load_n(&cores, __ATOMIC_ACQUIRE)) {
        __atomic_store_n(&per_core, bytes_per_core(), __ATOMIC_RELAXED);
        __atomic_store_n(&cores, sysconf(_SC_NPROCESSORS_ONLN), __ATOMIC_RELEASE);
    }
    const int64_t busy = (int64_t)ranks * threads, there = __atomic_load_n(&cores, __ATOMIC_RELAXED);
    return __atomic_load_n(&per_core, __ATOMIC_RELAXED) * (busy < there ? busy : there) / ranks;
}
