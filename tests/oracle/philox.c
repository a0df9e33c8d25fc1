/* Philox4x32, ten rounds. */
#include "oracle/philox.h"

#include <string.h>

void philox4x32(int rounds, const uint32_t counter[4], const uint32_t key[2], uint32_t output[4]) {
    uint32_t x[4];
    memcpy(x, counter, sizeof x);
    for (uint32_t round = 0; round < (uint32_t)rounds; round++) {
        uint32_t key0 = key[0] + round * 0x9E3779B9u, key1 = key[1] + round * 0xBB67AE85u;
        uint64_t product0 = (uint64_t)0xD2511F53u * x[0], product1 = (uint64_t)0xCD9E8D57u * x[2];
        uint32_t next[4] = {
            (uint32_t)(product1 >> 32) ^ x[1] ^ key0, (uint32_t)product1, (uint32_t)(product0 >> 32) ^ x[3] ^ key1,
            (uint32_t)product0,
        };
        memcpy(x, next, sizeof x);
    }
    memcpy(output, x, sizeof x);
}
