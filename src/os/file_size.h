/* The size of a file of shared memory.  For the rendezvous and symmetric memory. */
#ifndef QUERN_FILE_SIZE_H
#define QUERN_FILE_SIZE_H

#include <stdbool.h>
#include <stdint.h>

/* On failure errno has the reason.  Beyond the limit of file sizes that is EFBIG, and no SIGXFSZ is sent. */
bool quern_set_file_size(int descriptor, int64_t bytes);      /* reserves no memory */
bool quern_reserve_file_size(int descriptor, int64_t bytes);  /* reserves the memory, so that no later write runs out of it */

#endif
