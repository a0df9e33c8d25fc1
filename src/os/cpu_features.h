#ifndef QUERN_CPU_FEATURES_H
#define QUERN_CPU_FEATURES_H

#include <stddef.h>
#include <stdint.h>

/* The QUERN_CPU_* bits of this processor, as far as the operating system lets programs use them. */
uint32_t quern_cpu_features(void);

/* The processor's own name. */
void quern_cpu_name(char *buffer, size_t bytes);

#endif
