/* Asks the processor for its instruction sets and its name.  Called when a CPU device is opened. */
#include "runtime/cpu_features.h"

#include <string.h>

#include "kernels/kernel.h"
#include "os/text.h"

#ifdef __x86_64__
#include <cpuid.h>

/* The compiler's builtins read CPUID and XGETBV, so a feature counts only if the operating system saves its registers. */
uint32_t quern_cpu_features(void) {
    __builtin_cpu_init();
    uint32_t features = 0;
    unsigned eax, ebx, ecx = 0, edx;
    int f16c = __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && f16c) features |= QUERN_CPU_AVX2;
    if ((features & QUERN_CPU_AVX2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        features |= QUERN_CPU_AVX512;
    return features;
}

void quern_cpu_name(char *buffer, size_t bytes) {
    unsigned brand[13] = {0};
    for (unsigned leaf = 0; leaf < 3; leaf++)
        if (!__get_cpuid(0x80000002u + leaf, brand + 4 * leaf, brand + 4 * leaf + 1, brand + 4 * leaf + 2, brand + 4 * leaf + 3))
            strcpy((char *)brand, "x86-64");
    struct quern_text text = quern_text_begin(buffer, bytes);
    const char *name = (const char *)brand;
    quern_text_add(&text, "%s", name + strspn(name, " "));
}
#else
uint32_t quern_cpu_features(void) {
    return 0;
}

void quern_cpu_name(char *buffer, size_t bytes) {
    struct quern_text text = quern_text_begin(buffer, bytes);
    quern_text_add(&text, "CPU");
}
#endif
