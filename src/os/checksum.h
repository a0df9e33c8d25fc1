/* The 64-bit hash FNV-1a, which closes files and saved states. */
#ifndef QUERN_CHECKSUM_H
#define QUERN_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

#define QUERN_CHECKSUM_BEGIN 0xcbf29ce484222325u

/* Goes on over more bytes from the hash of those before, or from QUERN_CHECKSUM_BEGIN. */
uint64_t quern_checksum(uint64_t hash, const void *data, size_t bytes);

#endif
