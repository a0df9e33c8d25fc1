/* The size of a file of shared memory. */
#ifndef QUERN_FILE_SIZE_H
#define QUERN_FILE_SIZE_H

#include <stdbool.h>
#include <stdint.h>

/* On failure errno has the reason.  It is EFBIG beyond the limit of file sizes, where the system would send a signal. */
bool quern_set_file_size(int descriptor, int64_t bytes);     /* reserves no memory */
bool quern_reserve_file_size(int descriptor, int64_t bytes); /* reserves the memory, so that no later write can fail for lack of it */

#endif
