/* What a loop that waits for another core does between two looks. */
#ifndef SPIN_H
#define SPIN_H

static inline void spin_pause(void) {
#if defined __x86_64__
    __builtin_ia32_pause();
#endif
}

#endif
