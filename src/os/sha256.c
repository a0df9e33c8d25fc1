/*
 * SHA-256 and HMAC, straight from the standards.  A meeting of hosts hashes a few hundred bytes, so this need not be fast, and no
 * library has to be found on the machine.
 */
#define _DEFAULT_SOURCE
#include "os/sha256.h"

#include <string.h>

enum { BLOCK = sizeof((struct quern_sha256 *)NULL)->block };

static const uint32_t rounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
    0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t word, int by) { return word >> by | word << (32 - by); }

static uint32_t word_at(const unsigned char *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void fill_schedule(uint32_t schedule[64], const unsigned char *block) {
    for (int i = 0; i < 16; i++) schedule[i] = word_at(block + 4 * i);
    for (int i = 16; i < 64; i++) {
        const uint32_t early = schedule[i - 15], late = schedule[i - 2];
        schedule[i] = schedule[i - 16] + schedule[i - 7] + (rotate(early, 7) ^ rotate(early, 18) ^ early >> 3) +
                      (rotate(late, 17) ^ rotate(late, 19) ^ late >> 10);
    }
}

static void add_block(struct quern_sha256 *hash, const unsigned char *block) {
    uint32_t schedule[64], s[8];
    fill_schedule(schedule, block);
    memcpy(s, hash->state, sizeof s);
    for (int i = 0; i < 64; i++) {
        const uint32_t a = s[0], e = s[4];
        const uint32_t first = s[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & s[5]) ^ (~e & s[6])) + rounds[i] +
                               schedule[i];
        const uint32_t second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += first;
        s[0] = first + second;
    }
    for (int i = 0; i < 8; i++) hash->state[i] += s[i];
}

void quern_sha256_begin(struct quern_sha256 *hash) {
    *hash = (struct quern_sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
                                            0x5be0cd19}};
}

void quern_sha256_add(struct quern_sha256 *hash, const void *data, size_t bytes) {
    const unsigned char *from = data;
    while (bytes) {
        const size_t at = hash->bytes % BLOCK, piece = bytes < BLOCK - at ? bytes : BLOCK - at;
        memcpy(hash->block + at, from, piece);
        hash->bytes += piece;
        from += piece;
        bytes -= piece;
        if (hash->bytes % BLOCK == 0) add_block(hash, hash->block);
    }
}

/* A bit 1, zeros, and the length in bits end the last block. */
void quern_sha256_end(struct quern_sha256 *hash, unsigned char digest[QUERN_DIGEST_BYTES]) {
    static const unsigned char padding[BLOCK] = {0x80};
    const uint64_t bits = hash->bytes * 8;
    unsigned char length[8];
    for (int i = 0; i < 8; i++) length[i] = (unsigned char)(bits >> (56 - 8 * i));
    quern_sha256_add(hash, padding, (hash->bytes % BLOCK < BLOCK - 8 ? BLOCK : 2 * BLOCK) - 8 - hash->bytes % BLOCK);
    quern_sha256_add(hash, length, sizeof length);
    for (int i = 0; i < QUERN_DIGEST_BYTES; i++) digest[i] = (unsigned char)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}

void quern_digest_text(const unsigned char digest[QUERN_DIGEST_BYTES], char text[QUERN_DIGEST_TEXT]) {
    static const char hexadecimal[] = "0123456789abcdef";
    for (int i = 0; i < QUERN_DIGEST_BYTES; i++) {
        text[2 * i] = hexadecimal[digest[i] >> 4];
        text[2 * i + 1] = hexadecimal[digest[i] & 15];
    }
    text[QUERN_DIGEST_TEXT - 1] = 0;
}

/* ---- HMAC ---- */

static void begin_with_key(struct quern_sha256 *hash, const unsigned char key[BLOCK], unsigned char pad) {
    unsigned char block[BLOCK];
    for (int i = 0; i < BLOCK; i++) block[i] = key[i] ^ pad;
    quern_sha256_begin(hash);
    quern_sha256_add(hash, block, sizeof block);
    quern_wipe(block, sizeof block);
}

void quern_hmac(const void *key, size_t key_bytes, const struct quern_part *parts, int count,
                unsigned char code[QUERN_DIGEST_BYTES]) {
    struct quern_sha256 hash;
    unsigned char short_key[BLOCK] = {0};
    if (key_bytes > BLOCK) {
        quern_sha256_begin(&hash);
        quern_sha256_add(&hash, key, key_bytes);
        quern_sha256_end(&hash, short_key);
    } else if (key_bytes) {
        memcpy(short_key, key, key_bytes);
    }
    begin_with_key(&hash, short_key, 0x36);
    for (int i = 0; i < count; i++) quern_sha256_add(&hash, parts[i].data, parts[i].bytes);
    quern_sha256_end(&hash, code);
    begin_with_key(&hash, short_key, 0x5c);
    quern_sha256_add(&hash, code, QUERN_DIGEST_BYTES);
    quern_sha256_end(&hash, code);
    quern_wipe(&hash, sizeof hash);
    quern_wipe(short_key, sizeof short_key);
}

bool quern_same_digest(const unsigned char a[QUERN_DIGEST_BYTES], const unsigned char b[QUERN_DIGEST_BYTES]) {
    unsigned char difference = 0;
    for (int i = 0; i < QUERN_DIGEST_BYTES; i++) difference |= a[i] ^ b[i];
    return difference == 0;
}

void quern_wipe(void *memory, size_t bytes) { explicit_bzero(memory, bytes); }
