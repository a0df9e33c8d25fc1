/* The processor's last level of cache. */
#ifndef QUERN_CPU_CACHE_H
#define QUERN_CPU_CACHE_H

#include <stdint.h>

/* The bytes of it that one of so many ranks can count on when each has so many threads at work. */
int64_t quern_cpu_cache_share(int ranks, int threads);

#endif
