/* Whole files in memory: kernel packs and the file of QUERN_PREFER. */
#ifndef QUERN_FILE_BYTES_H
#define QUERN_FILE_BYTES_H

#include <stddef.h>

#include "quern.h"

struct quern_file_bytes {
    unsigned char *bytes;  /* at a multiple of 64, with a zero behind them; to be freed */
    size_t count;
};

/*
 * Reads a regular file of at most `most` bytes.  Access to a mapping would fault if the file were truncated later.  Details begin
 * with `before` and the path.  Errors: QUERN_SYSTEM_ERROR, QUERN_INVALID_ARGUMENT if it is larger, QUERN_OUT_OF_MEMORY.
 */
quern_status quern_read_file(const char *before, const char *path, size_t most, struct quern_file_bytes *file);

#endif
