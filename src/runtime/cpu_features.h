/* The instruction sets of this processor, as the bits of src/kernels/kernel.h, and its name.  For opening a CPU device. */
#ifndef QUERN_CPU_FEATURES_H
#define QUERN_CPU_FEATURES_H

#include <stddef.h>
#include <stdint.h>

/* The QUERN_CPU_* bits of the instruction sets that the processor has and the operating system enables. */
uint32_t quern_cpu_features(void);

/* The processor's own name. */
void quern_cpu_name(char *buffer, size_t bytes);

#endif
