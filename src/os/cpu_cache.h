/* The processor's last level of cache.  For the ragged all-to-all of CPU ranks. */
#ifndef QUERN_CPU_CACHE_H
#define QUERN_CPU_CACHE_H

#include <stdint.h>

/* The bytes of cache for one rank if `ranks` ranks use `threads` threads each. */
int64_t quern_cpu_cache_share(int ranks, int threads);

#endif
