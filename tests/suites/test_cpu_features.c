/*
 * The instruction sets of the processor: those that the kernel lists in /proc/cpuinfo, and only with the registers saved.
 *
 * Runs on: one cpu.
 */
#define _POSIX_C_SOURCE 200809L
#include "runtime/cpu_features.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/check.h"
#include "kernels/kernel.h"

#ifdef __x86_64__

static const char *const avx2[] = {"avx2", "fma", "f16c"}, *const avx512[] = {"avx512f", "avx512dq", "avx512bw", "avx512vl"};

/* Whether all words are in a line of words. */
static bool has_all(const char *line, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(words[i]);
        const char *at = line;
        while ((at = strstr(at, words[i])) && !(at[-1] == ' ' && (at[length] == ' ' || at[length] == '\n'))) at++;
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

Test(cpu_features, are_those_of_proc_cpuinfo) {
    static char flags[1 << 16];
    read_line("flags", flags, sizeof flags);
    if (!flags[0]) return;
    uint32_t expected = has_all(flags, avx2, 3) ? QUERN_CPU_AVX2 : 0;
    if (expected && has_all(flags, avx512, 4)) expected |= QUERN_CPU_AVX512;
    check(quern_cpu_features() == expected, "features %u instead of %u", quern_cpu_features(), expected);
}

enum {
    XMM = 1 << 1, YMM = 1 << 2, OPMASK = 1 << 5, ZMM = 3 << 6,
    FMA = 1 << 12, OSXSAVE = 1 << 27, AVX = 1 << 28, F16C = 1 << 29,
    AVX2 = 1 << 5, F = 1 << 16, DQ = 1 << 17, BW = 1 << 30
};
static const uint32_t VL = 1u << 31;

static uint32_t decode(uint32_t leaf1, uint32_t leaf7, uint32_t xcr0) {
    const uint32_t words[QUERN_CPUID_WORDS] = {[QUERN_CPUID_1_ECX] = leaf1, [QUERN_CPUID_7_EBX] = leaf7, [QUERN_XCR0] = xcr0};
    return quern_decode_cpuid(words);
}

/* By the manuals' numbers of the bits: each one that is missing takes its instruction set away, and AVX2 takes both. */
Test(cpu_features, need_every_bit_and_the_saved_registers) {
    const uint32_t leaf1 = FMA | OSXSAVE | AVX | F16C, leaf7 = AVX2 | F | DQ | BW | VL, xcr0 = XMM | YMM | OPMASK | ZMM;
    const uint32_t both = QUERN_CPU_AVX2 | QUERN_CPU_AVX512;
    check(decode(leaf1, leaf7, xcr0) == both, "all bits give %u", decode(leaf1, leaf7, xcr0));
    check(decode(~0u, ~0u, ~0u) == both && decode(0, 0, 0) == 0, "all or no bits");
    for (int bit = 0; bit < 32; bit++) {
        uint32_t without = ~(1u << bit);
        check(decode(leaf1 & without, leaf7, xcr0) == (leaf1 & ~without ? 0 : both), "leaf 1 without bit %d", bit);
        uint32_t expected = AVX2 & ~without ? 0 : leaf7 & ~without ? QUERN_CPU_AVX2 : both;
        check(decode(leaf1, leaf7 & without, xcr0) == expected, "leaf 7 without bit %d", bit);
        expected = (XMM | YMM) & ~without ? 0 : xcr0 & ~without ? QUERN_CPU_AVX2 : both;
        check(decode(leaf1, leaf7, xcr0 & without) == expected, "XCR0 without bit %d", bit);
    }
}

#else

Test(cpu_features, there_are_none) {
    check(quern_cpu_features() == 0, "features of another architecture");
}

#endif
