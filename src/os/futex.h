/* Waits for a word of memory to change.  Processes may share the word.  For the waits of src/ranks and the pool of src/runtime. */
#ifndef QUERN_FUTEX_H
#define QUERN_FUTEX_H

#include <stdint.h>

/* Sleeps while *word is `value`, for at most `nanoseconds`.  May return early. */
void quern_futex_wait(uint32_t *word, uint32_t value, int64_t nanoseconds);

/* Wakes all sleepers on the word. */
void quern_futex_wake(uint32_t *word);

/* Between two looks at a word, without sleep: leaves the core's resources to its other thread. */
static inline void quern_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
