/* Seals what ranks tell each other in shared memory.  For ragged_exchange.c and ragged_brief.c. */
#ifndef QUERN_RAGGED_SEAL_H
#define QUERN_RAGGED_SEAL_H

#include <stddef.h>
#include <stdint.h>

/*
 * Not against an enemy, who may do anything that this user may, but so that no stray write is taken for what a rank has written.
 * An odd factor maps no two values of a word to one; the products do not wait for each other.
 */
static inline uint64_t quern_ragged_seal_words(const uint64_t *words, size_t count) {
    uint64_t seal = 0;
    for (size_t i = 0; i < count; i++) seal += (words[i] + i + 1) * (0xd6e8feb86659fd93 + 2 * i * 0x9e3779b97f4a7c15);
    return seal;
}

#endif
