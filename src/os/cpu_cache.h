/* The processor's last level of cache. */
#ifndef QUERN_CPU_CACHE_H
#define QUERN_CPU_CACHE_H

#include <stdint.h>

/* The share of one rank in bytes, when `ranks` ranks use `threads` threads each. */
int64_t quern_cpu_cache_share(int ranks, int threads);

#endif
