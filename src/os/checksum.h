/* The 64-bit hash FNV-1a, stored in kernel packs and saved states. */
#ifndef QUERN_CHECKSUM_H
#define QUERN_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

#define QUERN_CHECKSUM_BEGIN 0xcbf29ce484222325u

/* Extends the hash of earlier bytes, or QUERN_CHECKSUM_BEGIN, by more bytes. */
uint64_t quern_checksum(uint64_t hash, const void *data, size_t bytes);

#endif
