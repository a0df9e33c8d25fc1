/* FNV-1a.  Called for kernel packs and saved states. */
#include "os/checksum.h"

uint64_t quern_checksum(uint64_t hash, const void *data, size_t bytes) {
    const unsigned char *byte = data;
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ byte[i]) * 0x100000001b3u;
    return hash;
}
