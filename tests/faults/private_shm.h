/* A /dev/shm of the test's own, where the system allows that: then nobody else's names are in it, and it can be filled. */
#ifndef RANKS_PRIVATE_SHM_H
#define RANKS_PRIVATE_SHM_H

#include <stdbool.h>

/* Options as mount(8) has them, "size=64k" for instance; NULL: none.  Before any other thread or process is started. */
bool private_shm_enter(const char *options);

#endif
