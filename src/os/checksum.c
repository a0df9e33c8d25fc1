/* FNV-1a.  Called for kernel packs and saved states. */
#include "os/checksum.h"

enum { BLOCK = 8 };

uint64_t quern_checksum(uint64_t hash, const void *data, size_t bytes) {
    static const uint64_t prime = 0x100000001b3u;
    const unsigned char *byte = data;
    for (; bytes >= BLOCK; bytes -= BLOCK, byte += BLOCK) {  /* each step of a loop costs where it is counted */
        hash = (hash ^ byte[0]) * prime, hash = (hash ^ byte[1]) * prime;
        hash = (hash ^ byte[2]) * prime, hash = (hash ^ byte[3]) * prime;
        hash = (hash ^ byte[4]) * prime, hash = (hash ^ byte[5]) * prime;
        hash = (hash ^ byte[6]) * prime, hash = (hash ^ byte[7]) * prime;
    }
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ byte[i]) * prime;
    return hash;
}
