/* The instruction sets of this processor, as the bits of src/kernels/kernel.h, and its name.  For opening a CPU device. */
#ifndef QUERN_CPU_FEATURES_H
#define QUERN_CPU_FEATURES_H

#include <stddef.h>
#include <stdint.h>

/* The QUERN_CPU_* bits of the instruction sets that the processor has and the operating system enables. */
uint32_t quern_cpu_features(void);

/* Names the first of these bits, for a message: that of instructions that a processor lacks. */
const char *quern_name_cpu_features(uint32_t features);

/* What the processor says: CPUID's leaves 1 and 7, and the register of enabled states, 0 where XGETBV cannot be executed. */
enum quern_cpuid_word { QUERN_CPUID_1_ECX, QUERN_CPUID_7_EBX, QUERN_XCR0, QUERN_CPUID_WORDS };

/* The QUERN_CPU_* bits that these words give.  The tests pass words of other processors.  Only on x86-64. */
uint32_t quern_decode_cpuid(const uint32_t words[QUERN_CPUID_WORDS]);

/* Asks a processor for the words of a leaf: false if it does not have the leaf. */
typedef int quern_cpuid(unsigned leaf, unsigned *eax, unsigned *ebx, unsigned *ecx, unsigned *edx);

/* The name that the leaves give.  The tests pass other processors.  Only on x86-64. */
void quern_read_cpu_name(quern_cpuid *cpuid, char *buffer, size_t bytes);

/* The name of a core by its register MIDR_EL1.  Only on aarch64. */
const char *quern_name_midr(uint64_t midr);

/* The processor's own name. */
void quern_cpu_name(char *buffer, size_t bytes);

#endif
