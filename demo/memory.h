/* Memory of the host that is there or ends the program: a demo has nothing better to do without it. */
#ifndef MEMORY_H
#define MEMORY_H

#include <stddef.h>

/* Zeroed, aligned to 64 bytes, for free(). */
void *allocate(size_t bytes);

#endif
