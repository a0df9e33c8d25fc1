/* A CPU: memory from the system, time from the monotonic clock, loops on threads.  Called through machine.c. */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "harness/machine.h"

enum { HEADER = 4096 };  /* before each allocation: its length, and the memory's alignment kept */

static int64_t marks[MAX_MARKS];
static volatile uint64_t zero;  /* read again by each loop */

static size_t available_memory(void) {
    FILE *file = fopen("/proc/meminfo", "r");
    char line[200];
    size_t kilobytes = 0;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %zu kB", &kilobytes) == 1) break;
    if (file) fclose(file);
    return kilobytes ? kilobytes * 1024 : (size_t)2 << 30;
}

/* The cache that one core can reach; sysconf counts all caches of a socket together. */
static size_t largest_cache(void) {
    size_t largest = 0;
    for (int index = 0; index < 8; index++) {
        char path[80];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
        FILE *file = fopen(path, "r");
        if (!file) break;
        size_t kilobytes = 0;
        if (fscanf(file, "%zuK", &kilobytes) == 1 && kilobytes * 1024 > largest) largest = kilobytes * 1024;
        fclose(file);
    }
    return largest ? largest : (size_t)32 << 20;
}

static bool open_cpu(struct machine *machine, int ordinal, const char *loops) {
    (void)ordinal, (void)loops;
    machine->cache_bytes = largest_cache();
    machine->memory_bytes = available_memory();
    machine->has_loops = true;
    return true;
}

/* Directly from the system, so that a case's memory is returned when it is done; in ordinary pages, as with malloc. */
static void *allocate(size_t bytes) {
    size_t total = bytes + HEADER;
    char *memory = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    memcpy(memory, &total, sizeof total);
    return memory + HEADER;
}

static void release(void *memory) {
    char *start = (char *)memory - HEADER;
    size_t total;
    memcpy(&total, start, sizeof total);
    munmap(start, total);
}

static void upload(void *to, const void *from, size_t bytes) {
    memcpy(to, from, bytes);
}

static void copy(const struct machine *machine, void *to, const void *from, size_t bytes) {
    stream_copy(machine->threads, to, from, bytes);
}

static void update(const struct machine *machine, void *data, size_t bytes) {
    stream_update(machine->threads, data, bytes, zero);
}

static void read_all(const struct machine *machine, const void *data, size_t bytes) {
    zero = stream_read(machine->threads, data, bytes) & 0;
}

static void optimize(const struct machine *machine, const struct optimizer_arrays *arrays) {
    zero = stream_optimize(machine->threads, arrays, zero) & 0;
}

static void mark(int index) {
    marks[index] = clock_nanoseconds();
}

static double seconds(int from, int to) {
    return 1e-9 * (double)(marks[to] - marks[from]);
}

const struct machine_functions cpu_machine = {open_cpu, allocate, release, upload, copy,
                                               update, read_all, optimize, mark, seconds};
