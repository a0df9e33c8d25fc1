/*
 * Reads the size of the last cache from sysfs, since under virtualisation CPUID may misreport how many cores share a cache.  Called
 * by the ragged all-to-all of CPU ranks.
 */
#define _POSIX_C_SOURCE 200809L
#include "os/cpu_cache.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/descriptor.h"
#include "os/text.h"

static const int64_t UNKNOWN = 1 << 21;

/* Reads /sys/devices/system/cpu/cpu0/cache/index<level>/<name>, a line of text. */
static bool read_line(int level, const char *name, char *line, size_t bytes) {
    char path[96];
    struct quern_text text = quern_text_begin(path, sizeof path);
    quern_text_add(&text, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", level, name);
    int file = quern_above_two(open(path, O_RDONLY | O_CLOEXEC));
    if (file < 0) return false;
    ssize_t length = read(file, line, bytes - 1);
    close(file);
    line[length > 0 ? length : 0] = 0;
    return length > 0;
}

/* "32768K" */
static int64_t parse_size(const char *line) {
    char *end;
    int64_t size = strtoll(line, &end, 10);
    return *end == 'K' ? size << 10 : *end == 'M' ? size << 20 : size;
}

/* "0-7,64-71" */
static int64_t count_cores(const char *line) {
    int64_t cores = 0;
    char *end;
    for (;; line = end + 1) {
        long first = strtol(line, &end, 10), last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        if (last >= first) cores += last - first + 1;
        if (*end != ',') return cores;
    }
}

static int64_t bytes_per_core(void) {
    char size[32], cores[1024];
    int level = 0;
    while (read_line(level + 1, "size", size, sizeof size)) level++;
    if (!read_line(level, "size", size, sizeof size) || !read_line(level, "shared_cpu_list", cores, sizeof cores)) return UNKNOWN;
    int64_t share = parse_size(size) / (count_cores(cores) > 0 ? count_cores(cores) : 1);
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
