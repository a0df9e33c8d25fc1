/*
 * A digest of 64 bits, by which a process or a host finds whether a record is what the other one has written.
 *
 * Multilinear hashing (Carter and Wegman, 1979) with fixed factors: each word of 64 bits is multiplied by an odd number that
 * belongs to its index, and the products are added.  Before that the upper half of a word goes into its lower half, since a product
 * moves bits upwards only.  So does the sum, in a step of MurmurHash3's finaliser: the upper bits of a digest depend on all others.
 *
 *   finds     any change within one word, and of any two bits of a short record; of other changes almost all: two words that change
 *             places are missed only if they differ in the upper bits of both halves alone
 *   not       deliberate changes: those take a code with a secret, as in os/sha256.h
 *   costs     one multiplication for each word, and none waits for another
 *
 * No file has one: files have a checksum (os/checksum.h).  Tags of meetings, which GPU kernels compute too, have a digest of the
 * members of 16 bits: kernels/collective.h.
 */
#ifndef QUERN_DIGEST_H
#define QUERN_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The bytes behind the last whole word count as a word that ends with zeros.  Numbers have their low bytes first. */
static inline uint64_t quern_digest(const void *data, size_t bytes) {
    uint64_t digest = bytes, factor = 0xd6e8feb86659fd93, word = 0;
    const char *at = data;
    size_t left = bytes;
    for (; left >= sizeof word; left -= sizeof word, at += sizeof word, factor += 2 * 0x9e3779b97f4a7c15) {
        memcpy(&word, at, sizeof word);
        digest += (word ^ word >> 32) * factor;
    }
    if (left) {
        if (bytes < sizeof word) memcpy(&word, at, left);
        else memcpy(&word, at + left - sizeof word, sizeof word), word >>= 64 - 8 * left;
        digest += (word ^ word >> 32) * factor;
    }
    return (digest ^ digest >> 32) * 0xff51afd7ed558ccd;
}

/* A record may begin with the digest of what follows in it. */
static inline uint64_t quern_digest_of_record(const void *record, size_t bytes) {
    return quern_digest((const char *)record + sizeof(uint64_t), bytes - sizeof(uint64_t));
}

static inline void quern_write_digest(void *record, size_t bytes) {
    const uint64_t digest = quern_digest_of_record(record, bytes);
    memcpy(record, &digest, sizeof digest);
}

static inline bool quern_has_digest(const void *record, size_t bytes) {
    uint64_t digest;
    memcpy(&digest, record, sizeof digest);
    return digest == quern_digest_of_record(record, bytes);
}

#endif
