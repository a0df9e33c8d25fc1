/* Asks the processor for its instruction sets and its name.  Called when a CPU device is opened. */
#include "runtime/cpu_features.h"

#include <string.h>

#include "kernels/kernel.h"
#include "os/text.h"

static const struct {
    uint32_t feature;
    const char *name;
} sets[] = {
    {QUERN_CPU_AVX2, "AVX2, FMA or F16C"},
    {QUERN_CPU_AVX512, "AVX-512 F, BW, DQ or VL"},
    {QUERN_CPU_NEON, "Advanced SIMD"},
};

const char *quern_name_cpu_features(uint32_t features) {
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (features & sets[i].feature) return sets[i].name;
    return "nothing";
}

#ifdef __x86_64__
#include <cpuid.h>

/* An instruction set counts if the processor has all of these bits, and if the operating system saves the registers. */
static const struct {
    uint32_t feature;
    enum quern_cpuid_word word;
    int bit;
} needs[] = {
    {QUERN_CPU_AVX2, QUERN_CPUID_1_ECX, 12},    /* FMA */
    {QUERN_CPU_AVX2, QUERN_CPUID_1_ECX, 27},    /* OSXSAVE: XGETBV can be executed */
    {QUERN_CPU_AVX2, QUERN_CPUID_1_ECX, 28},    /* AVX */
    {QUERN_CPU_AVX2, QUERN_CPUID_1_ECX, 29},    /* F16C */
    {QUERN_CPU_AVX2, QUERN_CPUID_7_EBX, 5},     /* AVX2 */
    {QUERN_CPU_AVX2, QUERN_XCR0, 1},            /* the halves of the vector registers: XMM ... */
    {QUERN_CPU_AVX2, QUERN_XCR0, 2},            /* ... and YMM */
    {QUERN_CPU_AVX512, QUERN_CPUID_7_EBX, 16},  /* F */
    {QUERN_CPU_AVX512, QUERN_CPUID_7_EBX, 17},  /* DQ */
    {QUERN_CPU_AVX512, QUERN_CPUID_7_EBX, 30},  /* BW */
    {QUERN_CPU_AVX512, QUERN_CPUID_7_EBX, 31},  /* VL */
    {QUERN_CPU_AVX512, QUERN_XCR0, 5},          /* mask registers */
    {QUERN_CPU_AVX512, QUERN_XCR0, 6},          /* upper halves of ZMM0 to ZMM15 */
    {QUERN_CPU_AVX512, QUERN_XCR0, 7},          /* ZMM16 to ZMM31 */
};

uint32_t quern_decode_cpuid(const uint32_t words[QUERN_CPUID_WORDS]) {
    uint32_t features = 0;
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) features |= needs[i].feature;
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (!(words[needs[i].word] >> needs[i].bit & 1)) features &= ~needs[i].feature;
    return features & QUERN_CPU_AVX2 ? features : 0;  /* the other kernels also contain AVX2 code */
}

/* XGETBV by its bytes: the compiler's builtin needs an option. */
static uint32_t read_xcr0(void) {
    uint32_t low, high;
    __asm__ volatile(".byte 0x0f, 0x01, 0xd0" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

/*
 * Not by __builtin_cpu_supports: it reads a variable of the compiler's run-time library, which stays zero in a program whose linker
 * leaves out that library's constructor.
 */
uint32_t quern_cpu_features(void) {
    uint32_t words[QUERN_CPUID_WORDS] = {0};
    unsigned eax, ebx = 0, ecx = 0, edx;
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx)) words[QUERN_CPUID_1_ECX] = ecx;
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) words[QUERN_CPUID_7_EBX] = ebx;
    if (words[QUERN_CPUID_1_ECX] >> 27 & 1) words[QUERN_XCR0] = read_xcr0();
    return quern_decode_cpuid(words);
}

void quern_read_cpu_name(quern_cpuid *cpuid, char *buffer, size_t bytes) {
    unsigned brand[13] = {0};
    for (unsigned leaf = 0; leaf < 3; leaf++)
        if (!cpuid(0x80000002u + leaf, brand + 4 * leaf, brand + 4 * leaf + 1, brand + 4 * leaf + 2, brand + 4 * leaf + 3))
            strcpy((char *)brand, "x86-64");
    struct quern_text text = quern_text_begin(buffer, bytes);
    const char *name = (const char *)brand;
    quern_text_add(&text, "%s", name + strspn(name, " "));
}

void quern_cpu_name(char *buffer, size_t bytes) { quern_read_cpu_name(__get_cpuid, buffer, bytes); }
#elif defined __aarch64__
#include <sys/auxv.h>

/* Bits of AT_HWCAP, by Linux. */
enum { HAS_ADVANCED_SIMD = 1 << 1, HAS_IDENTITY = 1 << 11 };

uint32_t quern_cpu_features(void) { return getauxval(AT_HWCAP) & HAS_ADVANCED_SIMD ? QUERN_CPU_NEON : 0; }

/* By the implementer, bits 24 to 31 of MIDR_EL1, and the part, bits 4 to 15: the register has no name. */
static const struct {
    uint32_t implementer, part;
    const char *name;
} cores[] = {
    {0x41, 0xD0C, "Neoverse N1"}, {0x41, 0xD40, "Neoverse V1"}, {0x41, 0xD49, "Neoverse N2"}, {0x41, 0xD4F, "Neoverse V2"},
    {0x41, 0xD84, "Neoverse V3"}, {0x41, 0xD8E, "Neoverse N3"}, {0x41, 0xD85, "Cortex-X925"}, {0x41, 0xD87, "Cortex-A725"},
    {0xC0, 0xAC3, "AmpereOne"},
};

const char *quern_name_midr(uint64_t midr) {
    for (size_t i = 0; i < sizeof cores / sizeof *cores; i++)
        if (cores[i].implementer == (midr >> 24 & 0xFF) && cores[i].part == (midr >> 4 & 0xFFF)) return cores[i].name;
    return "aarch64";
}

/* Linux reads the register for a program. */
void quern_cpu_name(char *buffer, size_t bytes) {
    uint64_t midr = 0;
    if (getauxval(AT_HWCAP) & HAS_IDENTITY) __asm__("mrs %0, midr_el1" : "=r"(midr));
    struct quern_text text = quern_text_begin(buffer, bytes);
    quern_text_add(&text, "%s", quern_name_midr(midr));
}
#else
uint32_t quern_cpu_features(void) { return 0; }

void quern_cpu_name(char *buffer, size_t bytes) {
    struct quern_text text = quern_text_begin(buffer, bytes);
    quern_text_add(&text, "CPU");
}
#endif
