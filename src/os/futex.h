/* Waits for a word of memory to change.  Processes may share the word.  For the waits of src/ranks and the pool of src/runtime. */
#ifndef QUERN_FUTEX_H
#define QUERN_FUTEX_H

#include <stdint.h>

/* Sleeps while *word is `value`, for at most `nanoseconds`.  May return early. */
#define QUERN_NO_LIMIT INT64_MAX
void quern_futex_wait(uint32_t *word, uint32_t value, int64_t nanoseconds);

/* Wakes all sleepers on the word. */
void quern_futex_wake(uint32_t *word);

/*
 * Orders the stores before it and the loads after it, which nothing else does.  A sanitizer of threads does not know fences, but
 * takes an access that reads and writes for one.
 */
static inline void quern_fence(void) {
#if defined(__SANITIZE_THREAD__)
    static uint32_t word;
    __atomic_fetch_add(&word, 1, __ATOMIC_SEQ_CST);
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* Fetches a line that will be written, from a core that has read it.  An older processor does nothing. */
static inline void quern_expect_write(const void *line) {
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)line));
#else
    __builtin_prefetch(line, 1);
#endif
}

/* Between two looks at a word, without sleep: leaves the core's resources to its other thread. */
static inline void quern_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
