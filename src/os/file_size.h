/* Giving a file of shared memory its size. */
#ifndef QUERN_FILE_SIZE_H
#define QUERN_FILE_SIZE_H

#include <stdbool.h>
#include <stdint.h>

/* Both say why not in errno: EFBIG beyond the process's limit of file sizes, where the system would send a signal. */
bool quern_set_file_size(int descriptor, int64_t bytes);     /* without memory */
bool quern_reserve_file_size(int descriptor, int64_t bytes); /* with memory, so that no write can fail for want of it */

#endif
