/*
 * The instruction sets of the processor: those that the kernel lists in /proc/cpuinfo, and only with the registers saved; and how
 * tests hide some of them.  And each rank's share of its last cache, from what sysfs says.
 *
 * Runs on: one cpu.
 */
#include "runtime/cpu_features.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "harness/check.h"
#include "harness/ranks.h"
#include "kernels/kernel.h"
#include "os/cpu_cache.h"

#ifdef __x86_64__

enum {
    XMM = 1 << 1, YMM = 1 << 2, OPMASK = 1 << 5, ZMM = 3 << 6,
    FMA = 1 << 12, OSXSAVE = 1 << 27, AVX = 1 << 28, F16C = 1 << 29,
    AVX2 = 1 << 5, F = 1 << 16, DQ = 1 << 17, BW = 1 << 30
};
#define VL (1u << 31)

/* The flags of /proc/cpuinfo, and the bits by the manuals' numbers. */
static const struct set {
    uint32_t feature;
    const char *name, *flags[5];
    uint32_t words[QUERN_CPUID_WORDS];
} sets[] = {
    {QUERN_CPU_AVX2, "AVX2, FMA or F16C", {"avx2", "fma", "f16c"}, {FMA | OSXSAVE | AVX | F16C, AVX2, XMM | YMM}},
    {QUERN_CPU_AVX512, "AVX-512 F, BW, DQ or VL", {"avx512f", "avx512dq", "avx512bw", "avx512vl"},
     {0, F | DQ | BW | VL, OPMASK | ZMM}},
};

enum { SETS = sizeof sets / sizeof *sets };

/* Whether all words are in a line of words. */
static bool has_all(const char *line, const char *const *words) {
    for (; *words; words++) {
        size_t length = strlen(*words);
        const char *at = line;
        while ((at = strstr(at, *words)) && !(at[-1] == ' ' && (at[length] == ' ' || at[length] == '\n'))) at++;
        if (!at) return false;
    }
    return true;
}

/* The first line that begins so; empty: there is none. */
static void read_line(const char *first, char *line, size_t bytes) {
    FILE *file = fopen("/proc/cpuinfo", "r");
    bool found = false;
    while (file && !found && fgets(line, (int)bytes, file)) found = !strncmp(line, first, strlen(first));
    if (!found) line[0] = 0;
    if (file) fclose(file);
}

/* The kernel leaves out spaces at both ends. */
Test(cpu_features, name_is_that_of_proc_cpuinfo) {
    static char line[1 << 12], name[100];
    read_line("model name", line, sizeof line);
    if (!line[0]) return;
    line[strcspn(line, "\n")] = 0;
    quern_cpu_name(name, sizeof name);
    for (size_t end = strlen(name); end && name[end - 1] == ' '; end--) name[end - 1] = 0;
    check(strchr(line, ':') && !strcmp(strchr(line, ':') + 2, name), "\"%s\" instead of \"%s\"", name, line);
}

/* What the leaves of a processor's name hold together; NULL: it does not have them. */
static const char *brand;

static int read_leaf(unsigned leaf, unsigned *eax, unsigned *ebx, unsigned *ecx, unsigned *edx) {
    unsigned *const words[] = {eax, ebx, ecx, edx};
    char all[48] = "";
    if (!brand) return 0;
    check(leaf >= 0x80000002u && leaf <= 0x80000004u, "leaf 0x%X is none of the name", leaf);
    memcpy(all, brand, strlen(brand) < sizeof all ? strlen(brand) : sizeof all);
    for (int i = 0; i < 4; i++) memcpy(words[i], all + 16 * (leaf - 0x80000002u) + 4 * i, 4);
    return 1;
}

/* Names of other processors: as long as the three leaves, with spaces in front, of one leaf, and none. */
Test(cpu_features, names_fill_three_leaves) {
    static const struct {
        const char *brand, *name;
    } names[] = {{"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJK", "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJK"},
                 {"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKL", "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKL"},
                 {"        Some(R) CPU @ 2.40GHz of 8 cores", "Some(R) CPU @ 2.40GHz of 8 cores"},
                 {"AMD EPYC", "AMD EPYC"}, {"", ""}, {NULL, "x86-64"}};
    char name[100];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        brand = names[i].brand;
        quern_read_cpu_name(read_leaf, name, sizeof name);
        check(!strcmp(name, names[i].name), "\"%s\" instead of \"%s\"", name, names[i].name);
    }
}

Test(cpu_features, are_those_of_proc_cpuinfo) {
    static char flags[1 << 16];
    read_line("flags", flags, sizeof flags);
    if (!flags[0]) return;
    unsetenv("QUERN_TEST_CPU");
    uint32_t expected = 0;
    for (int i = 0; i < SETS && (i == 0 || expected); i++) expected |= has_all(flags, sets[i].flags) ? sets[i].feature : 0;
    check(quern_cpu_features() == expected, "features %u instead of %u", quern_cpu_features(), expected);
}

/* A message names the first of several: what AVX2 lacks, AVX-512 lacks too. */
Test(cpu_features, have_names_for_messages) {
    for (int i = 0; i < SETS; i++) {
        uint32_t rest = 0;
        for (int j = i; j < SETS; j++) rest |= sets[j].feature;
        check(!strcmp(quern_name_cpu_features(rest), sets[i].name), "%u is \"%s\"", rest, quern_name_cpu_features(rest));
    }
}

/* Each bit that is missing takes its instruction set away, and one of AVX2 takes all. */
Test(cpu_features, need_every_bit_and_the_saved_registers) {
    uint32_t words[QUERN_CPUID_WORDS] = {0}, all = 0;
    check(quern_decode_cpuid(words) == 0, "no bits give %u", quern_decode_cpuid(words));
    for (int i = 0; i < SETS; i++) {
        all |= sets[i].feature;
        for (int word = 0; word < QUERN_CPUID_WORDS; word++) words[word] |= sets[i].words[word];
    }
    check(quern_decode_cpuid(words) == all, "all bits give %u", quern_decode_cpuid(words));
    for (int place = 0; place < 32 * QUERN_CPUID_WORDS; place++) {
        const int word = place / 32;
        const uint32_t bit = 1u << place % 32, kept = words[word];
        uint32_t expected = all;
        for (int i = 0; i < SETS; i++)
            if (sets[i].words[word] & bit) expected &= i == 0 ? 0 : ~sets[i].feature;
        words[word] = ~bit;
        check(quern_decode_cpuid(words) == expected, "without bit %d of word %d", place % 32, word);
        words[word] = kept;
    }
}

#else

/* Linux runs on no processor of aarch64 without it. */
Test(cpu_features, are_advanced_simd) {
    unsetenv("QUERN_TEST_CPU");
    check(quern_cpu_features() == QUERN_CPU_NEON, "features %u", quern_cpu_features());
    check(!strcmp(quern_name_cpu_features(QUERN_CPU_NEON), "Advanced SIMD"), "\"%s\"", quern_name_cpu_features(QUERN_CPU_NEON));
}

/* Revisions and variants of a core have its name. */
Test(cpu_features, cores_have_names) {
    static const struct {
        uint64_t midr;
        const char *name;
    } cores[] = {{0x410FD4F0, "Neoverse V2"}, {0x413FD0C1, "Neoverse N1"}, {0xC00FAC30, "AmpereOne"}, {0x420FD4F0, "aarch64"},
                 {0x410FD4E0, "aarch64"}, {0, "aarch64"}};
    for (size_t i = 0; i < COUNT(cores); i++)
        check(!strcmp(quern_name_midr(cores[i].midr), cores[i].name), "core %zu is \"%s\"", i, quern_name_midr(cores[i].midr));
}

#endif

/* As tests/harness/cpu.c promises, for each target that this processor has: the best one is then this target. */
Test(cpu_features, are_hidden_beyond_those_of_a_target) {
    unsetenv("QUERN_TEST_CPU"), unsetenv("QUERN_KERNEL");
    const uint32_t features = quern_cpu_features();
    int targets = 0;
    for (const struct quern_kernel *row = quern_cross_entropy_kernels; *row->name; row++) {
        if (row->target.kind != QUERN_CPU || row->target.cpu_features & ~features) continue;
        setenv("QUERN_TEST_CPU", row->target.name, 1);
        OPEN_CPU(device);
        const quern_device_info info = info_of(device);
        check(!strcmp(info.target, row->target.name), "%s serves instead of %s", info.target, row->target.name);
        targets++;
    }
    check(targets > 0, "no target");
}

/* ---- the last cache ---- */

#define CACHES "/sys/devices/system/cpu/cpu0/cache"

/* What sysfs says of the caches of core 0, from the first level on; NULL: no file. */
struct caches {
    const char *size[4], *cores[4];
    int64_t per_core;                    /* expected; 2 MiB where it is unknown */
};

/* As long as the library reads: sizes of 31 and lists of 1023 characters, of which only the end has more than one core. */
#define TEN(text) text text text text text text text text text text
#define LONG_SIZE TEN("0") TEN("0") "0000000032K"
#define LONG_LIST TEN(TEN("0,0,0,0,0,")) TEN("0,") "0-9"

static const struct caches machines[] = {
    {{"32K\n"}, {"0\n"}, 32 << 10},
    {{"32K\n", "1024K\n", "32768K\n"}, {"0\n", "0\n", "0-1\n"}, 16384 << 10},
    {{"32K\n", "32K\n", "1024K\n", "32768K\n"}, {"0\n", "0\n", "0\n", "0-7,64-71\n"}, 2048 << 10},
    {{"48K\n", "2M\n"}, {"0\n", "0,2,4-5\n"}, 512 << 10},
    {{"1\n", "1000000\n"}, {"0\n", "0-2,9\n"}, 250000},
    {{"32K\n", "9K\n"}, {"0\n", "0-8\n"}, 1 << 10},
    {{"32K\n", NULL, "64M\n"}, {"0-1\n", NULL, "0\n"}, 16 << 10},  /* the levels end at the first that is missing */
    {{"32K\n", "1024K\n"}, {"0\n", NULL}, 2 << 20},
    {{"0K\n"}, {"0\n"}, 2 << 20},
    {{"3\n"}, {"0-3\n"}, 2 << 20},
    {{""}, {"0\n"}, 2 << 20},
    {{"32K\n"}, {""}, 2 << 20},
    {{"32K\n"}, {"5-3\n"}, 32 << 10},
    {{"99999999K\n", "4096"}, {"0\n", "0-1"}, 2048},
    {{NULL}, {NULL}, 2 << 20},
    {{LONG_SIZE}, {"0\n"}, 32 << 10},
    {{"520K\n"}, {LONG_LIST}, 52 << 10},
};

static const int crews[][2] = {{1, 1}, {1, 2}, {2, 1}, {2, 2}, {3, 1}, {1, 1000}, {7, 1}, {128, 1}, {128, 1024}};

enum { MACHINES = sizeof machines / sizeof *machines, CREWS = sizeof crews / sizeof *crews };

static void write_cache(int level, const char *name, const char *text) {
    char path[128];
    snprintf(path, sizeof path, CACHES "/index%d", level);
    mkdir(path, 0700);
    snprintf(path, sizeof path, CACHES "/index%d/%s", level, name);
    FILE *file = text ? fopen(path, "w") : NULL;
    if (!file) return;
    fputs(text, file);
    fclose(file);
}

/* In a process whose sysfs is its own: the library reads it once. */
static bool ask(const struct caches *caches, int64_t *shares) {
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", CACHES, "tmpfs", 0, NULL) != 0)
        return false;
    for (int level = 0; level < 4; level++) {
        write_cache(level, "size", caches->size[level]);
        write_cache(level, "shared_cpu_list", caches->cores[level]);
    }
    for (int i = 0; i < CREWS; i++) shares[i] = quern_cpu_cache_share(crews[i][0], crews[i][1]);
    return true;
}

Test(cpu_cache, is_divided_among_ranks) {
    int64_t *shares = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const int64_t cores = sysconf(_SC_NPROCESSORS_ONLN);
    check(shares != MAP_FAILED, "no memory");
    for (int machine = 0; machine < MACHINES; machine++) {
        int status;
        pid_t child = fork();
        if (child == 0) rank_end_process(!ask(&machines[machine], shares));
        check(waitpid(child, &status, 0) == child && WIFEXITED(status), "machine %d ends the process", machine);
        if (WEXITSTATUS(status)) cr_skip_test("this user cannot hide the machine's sysfs");
        for (int i = 0; i < CREWS; i++) {
            const int64_t busy = (int64_t)crews[i][0] * crews[i][1];
            const int64_t expected = machines[machine].per_core * (busy < cores ? busy : cores) / crews[i][0];
            check(shares[i] == expected, "machine %d, %d ranks of %d threads: %lld bytes instead of %lld", machine, crews[i][0],
                  crews[i][1], (long long)shares[i], (long long)expected);
        }
    }
    munmap(shares, 4096);
}
