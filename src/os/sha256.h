/*
 * SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104): prove that a process knows a secret.  For src/ranks/hosts; the hash of dumps.
 */
#ifndef QUERN_SHA256_H
#define QUERN_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { QUERN_DIGEST_BYTES = 32 };

struct quern_sha256 {
    uint32_t state[8];
    uint64_t bytes;  /* so far */
    unsigned char block[64];
};

void quern_sha256_begin(struct quern_sha256 *hash);
void quern_sha256_add(struct quern_sha256 *hash, const void *data, size_t bytes);
void quern_sha256_end(struct quern_sha256 *hash, unsigned char digest[QUERN_DIGEST_BYTES]);

/* The digest as text. */
enum { QUERN_DIGEST_TEXT = 2 * QUERN_DIGEST_BYTES + 1 };

void quern_digest_text(const unsigned char digest[QUERN_DIGEST_BYTES], char text[QUERN_DIGEST_TEXT]);

/* A part of a message. */
struct quern_part {
    const void *data;
    size_t bytes;
};

/* The code of a message that consists of `count` parts. */
void quern_hmac(const void *key, size_t key_bytes, const struct quern_part *parts, int count,
                unsigned char code[QUERN_DIGEST_BYTES]);

/* Takes the same time for all inputs. */
bool quern_same_digest(const unsigned char a[QUERN_DIGEST_BYTES], const unsigned char b[QUERN_DIGEST_BYTES]);

/* Overwrites what was secret, before its memory is used for other things. */
void quern_wipe(void *memory, size_t bytes);

#endif
