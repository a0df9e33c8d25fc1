/* The size of a file of shared memory.  For the rendezvous, symmetric memory and transfers. */
#ifndef QUERN_FILE_SIZE_H
#define QUERN_FILE_SIZE_H

#include <stdbool.h>
#include <stdint.h>

/* On failure errno has the reason.  Beyond the limit of file sizes that is EFBIG, and no SIGXFSZ is sent. */
bool quern_set_file_size(int descriptor, int64_t bytes);      /* reserves no memory */
bool quern_reserve_file_size(int descriptor, int64_t bytes);  /* reserves the memory, so that no later write runs out of it */

bool quern_reserve_file_part(int descriptor, int64_t offset, int64_t bytes);  /* likewise, and what lies there stays as it is */

/* The same for a part of zeros that nobody uses yet.  Writes them if the system has no other way.  EINTR: part of it is done. */
bool quern_reserve_fresh_part(int descriptor, int64_t offset, int64_t bytes);

/* Seals a memfd, so that no process can change its size: a smaller file is a signal for all that have it mapped. */
bool quern_seal_file_size(int descriptor);

/* Whether a file of another process has this size for ever. */
bool quern_file_keeps_size(int descriptor, int64_t bytes);

#endif
