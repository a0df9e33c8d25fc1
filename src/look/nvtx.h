/* Ranges of NVTX, which NVIDIA's profilers show.  For the trace. */
#ifndef QUERN_NVTX_H
#define QUERN_NVTX_H

#include <stdbool.h>

/* Opens the library, once for the process.  Without it ranges do nothing. */
void quern_nvtx_open(void);

/* Begins a range on this thread, and ends the last one.  False: there is no library, and none was begun. */
bool quern_nvtx_push(const char *name);
void quern_nvtx_pop(void);

#endif
