/* A private /dev/shm for the test, if the system allows it: it contains no names of other programs, and it can be filled. */
#ifndef RANKS_PRIVATE_SHM_H
#define RANKS_PRIVATE_SHM_H

#include <stdbool.h>

/* Options of mount(8), such as "size=64k"; NULL: none.  Call it before any other thread or process is started. */
bool private_shm_enter(const char *options);

#endif
