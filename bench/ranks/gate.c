#define _POSIX_C_SOURCE 200809L
#include "gate.h"

#include <sched.h>

void gate_pass(struct gate *gate, int ranks) {
    unsigned before = __atomic_load_n(&gate->opened, __ATOMIC_ACQUIRE);
    if (__atomic_add_fetch(&gate->arrived, 1, __ATOMIC_ACQ_REL) == ranks) {
        __atomic_store_n(&gate->arrived, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&gate->opened, before + 1, __ATOMIC_RELEASE);
    } else {
        while (__atomic_load_n(&gate->opened, __ATOMIC_ACQUIRE) == before) sched_yield();
    }
}
