/* Host memory; the program ends if there is not enough. */
#ifndef MEMORY_H
#define MEMORY_H

#include <stddef.h>

/* Zeroed, aligned to 64 bytes, for free(). */
void *allocate(size_t bytes);

#endif
