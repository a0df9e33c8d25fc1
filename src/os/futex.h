/* The kernel's wait for a word of memory to change; the word may be shared between processes. */
#ifndef QUERN_FUTEX_H
#define QUERN_FUTEX_H

#include <stdint.h>

/* Sleeps while *word is `value`, at most so long; may return at any time. */
void quern_futex_wait(uint32_t *word, uint32_t value, int64_t nanoseconds);

/* Wakes everyone who sleeps on the word. */
void quern_futex_wake(uint32_t *word);

#endif
