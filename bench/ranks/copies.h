/* Copies of memory: the yardsticks of the all-to-all. */
#ifndef COPIES_H
#define COPIES_H

#include <stddef.h>

/* Writes past the caches, with the widest stores that this CPU has; memcpy where there are none.  Any alignment. */
void copy_streaming(void *to, const void *from, size_t bytes);

/* "avx512", "avx2", "sse2", "memcpy": what copy_streaming uses. */
const char *copy_streaming_with(void);

#endif
