#define _GNU_SOURCE
#include "cores.h"

#include <sched.h>

int cores_usable(void) {
    cpu_set_t usable;
    return sched_getaffinity(0, sizeof usable, &usable) == 0 ? CPU_COUNT(&usable) : 1;
}

void cores_bind(int rank, int ranks, int cores) {
    cpu_set_t usable, chosen;
    if (sched_getaffinity(0, sizeof usable, &usable) != 0) return;
    CPU_ZERO(&chosen);
    for (int core = 0, index = 0; core < CPU_SETSIZE && index < cores; core++) {
        if (!CPU_ISSET(core, &usable)) continue;
        if (ranks > cores || rank == index) CPU_SET(core, &chosen);
        index++;
    }
    if (CPU_COUNT(&chosen) > 0) sched_setaffinity(0, sizeof chosen, &chosen);
}
