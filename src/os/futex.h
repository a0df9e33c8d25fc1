/* Waits in the operating system for a word of memory to change.  Processes may share the word.  For the waits of src/ranks. */
#ifndef QUERN_FUTEX_H
#define QUERN_FUTEX_H

#include <stdint.h>

/* Sleeps while *word is `value`, for at most `nanoseconds`.  May return early. */
void quern_futex_wait(uint32_t *word, uint32_t value, int64_t nanoseconds);

/* Wakes all sleepers on the word. */
void quern_futex_wake(uint32_t *word);

#endif
