/*
 * Byte-pair encoding.  Merging one pair at a time would take a pass over the words for each of thousands of tokens.  Here a round
 * merges all pairs that occur nearly as often as the most frequent one and cannot overlap each other, so a few dozen passes
 * suffice.  Called by main.c.
 */
#include "tokenizer.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { BYTES = 256, LONGEST_TOKEN = 64 };

struct pair {
    uint32_t key;       /* left << 16 | right */
    int32_t token;      /* the token that this round gives it, or 0 */
    int64_t count;      /* 0: an empty slot */
};

/* The words in their current spelling, each in the place of its bytes. */
struct spelling {
    uint16_t *symbols;
    int64_t *start;     /* [words] */
    int32_t *length;    /* [words] */
    struct pair *slots; /* hash table of the pairs in the words */
    uint32_t slot_mask;
};

static struct pair *find(const struct spelling *spelling, uint32_t key) {
    uint32_t slot = (key * 2654435761u >> 8) & spelling->slot_mask;
    while (spelling->slots[slot].count != 0 && spelling->slots[slot].key != key) slot = (slot + 1) & spelling->slot_mask;
    return &spelling->slots[slot];
}

static uint32_t pair_key(const uint16_t *symbols) {
    return (uint32_t)symbols[0] << 16 | symbols[1];
}

static struct spelling spell(const struct words *words) {
    int64_t bytes = 0;
    for (int32_t w = 0; w < words->distinct_count; w++) bytes += words->distinct[w].length;
    uint32_t slot_count = 1024;
    while (slot_count < 2 * bytes) slot_count *= 2;
    struct spelling spelling = {
        .symbols = allocate((size_t)bytes * sizeof(uint16_t)),
        .start = allocate((size_t)words->distinct_count * sizeof(int64_t)),
        .length = allocate((size_t)words->distinct_count * sizeof(int32_t)),
        .slots = allocate(slot_count * sizeof(struct pair)),
        .slot_mask = slot_count - 1,
    };
    int64_t start = 0;
    for (int32_t w = 0; w < words->distinct_count; w++) {
        spelling.start[w] = start;
        const struct word *word = &words->distinct[w];
        spelling.length[w] = word->length;
        for (int32_t i = 0; i < word->length; i++) spelling.symbols[start++] = (unsigned char)word->start[i];
    }
    return spelling;
}

static void count_pairs(struct spelling *spelling, const struct words *words) {
    memset(spelling->slots, 0, (spelling->slot_mask + 1) * sizeof *spelling->slots);
    for (int32_t w = 0; w < words->distinct_count; w++) {
        const uint16_t *symbols = spelling->symbols + spelling->start[w];
        for (int32_t i = 0; i + 1 < spelling->length[w]; i++) {
            struct pair *pair = find(spelling, pair_key(symbols + i));
            pair->key = pair_key(symbols + i);
            pair->count += words->distinct[w].count;
        }
    }
}

static int by_count(const void *a, const void *b) {
    const struct pair *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count) - (x->count > y->count) : (x->key > y->key) - (x->key < y->key);
}

static void add_token(struct tokenizer *tokenizer, uint32_t key) {
    struct token left = tokenizer->tokens[key >> 16], right = tokenizer->tokens[key & 0xFFFF];
    struct token last = tokenizer->tokens[tokenizer->vocab - 1];
    char *bytes = tokenizer->bytes + (last.bytes - tokenizer->bytes) + last.length;
    memcpy(bytes, left.bytes, (size_t)left.length);
    memcpy(bytes + left.length, right.bytes, (size_t)right.length);
    tokenizer->tokens[tokenizer->vocab++] = (struct token){bytes, left.length + right.length};
}

/* Turns this round's pairs into tokens.  Two pairs can overlap only where one ends with the other's first symbol. */
static bool choose_merges(struct tokenizer *tokenizer, struct spelling *spelling, int32_t vocab) {
    struct pair *sorted = allocate((spelling->slot_mask + 1) * sizeof *sorted);
    bool *begins = allocate(65536), *ends = allocate(65536);
    size_t pairs = 0;
    for (uint32_t slot = 0; slot <= spelling->slot_mask; slot++)
        if (spelling->slots[slot].count >= 2) sorted[pairs++] = spelling->slots[slot];
    qsort(sorted, pairs, sizeof *sorted, by_count);

    int32_t vocab_before = tokenizer->vocab;
    for (size_t i = 0; i < pairs && tokenizer->vocab < vocab && 4 * sorted[i].count >= 3 * sorted[0].count; i++) {
        uint32_t left = sorted[i].key >> 16, right = sorted[i].key & 0xFFFF;
        if (ends[left] || begins[right]) continue;
        begins[left] = ends[right] = true;
        find(spelling, sorted[i].key)->token = tokenizer->vocab;
        add_token(tokenizer, sorted[i].key);
    }
    free(begins);
    free(ends);
    free(sorted);
    return tokenizer->vocab > vocab_before;
}

static void apply_merges(struct spelling *spelling, int32_t word) {
    uint16_t *symbols = spelling->symbols + spelling->start[word];
    int32_t length = 0;
    for (int32_t i = 0; i < spelling->length[word];) {
        int32_t token = i + 1 < spelling->length[word] ? find(spelling, pair_key(symbols + i))->token : 0;
        symbols[length++] = token != 0 ? (uint16_t)token : symbols[i];
        i += token != 0 ? 2 : 1;
    }
    spelling->length[word] = length;
}

/* Every word of the text is among those whose spelling was just learnt. */
static void encode(struct tokenizer *tokenizer, const struct words *words, const struct spelling *spelling) {
    for (int64_t i = 0; i < words->sequence_count; i++) tokenizer->encoded_count += spelling->length[words->sequence[i]];
    tokenizer->encoded = allocate((size_t)tokenizer->encoded_count * sizeof(int32_t));
    int32_t *out = tokenizer->encoded;
    for (int64_t i = 0; i < words->sequence_count; i++) {
        const uint16_t *symbols = spelling->symbols + spelling->start[words->sequence[i]];
        for (int32_t j = 0; j < spelling->length[words->sequence[i]]; j++) *out++ = symbols[j];
    }
}

void tokenizer_learn(struct tokenizer *tokenizer, const struct words *words, int32_t vocab) {
    *tokenizer = (struct tokenizer){
        .vocab = BYTES,
        .tokens = allocate((size_t)vocab * sizeof(struct token)),
        .bytes = allocate((size_t)vocab * LONGEST_TOKEN),
    };
    for (int32_t i = 0; i < BYTES; i++) {
        tokenizer->bytes[i] = (char)i;
        tokenizer->tokens[i] = (struct token){tokenizer->bytes + i, 1};
    }
    struct spelling spelling = spell(words);
    while (tokenizer->vocab < vocab) {
        count_pairs(&spelling, words);
        if (!choose_merges(tokenizer, &spelling, vocab)) break;
        for (int32_t w = 0; w < words->distinct_count; w++) apply_merges(&spelling, w);
    }
    encode(tokenizer, words, &spelling);
    free(spelling.symbols);
    free(spelling.start);
    free(spelling.length);
    free(spelling.slots);
}

void tokenizer_free(struct tokenizer *tokenizer) {
    free(tokenizer->tokens);
    free(tokenizer->encoded);
    free(tokenizer->bytes);
    *tokenizer = (struct tokenizer){0};
}

double tokenizer_unigram_entropy(const struct tokenizer *tokenizer) {
    int64_t *counts = allocate((size_t)tokenizer->vocab * sizeof *counts);
    for (int64_t i = 0; i < tokenizer->encoded_count; i++) counts[tokenizer->encoded[i]]++;
    double entropy = 0;
    for (int32_t token = 0; token < tokenizer->vocab; token++) {
        double share = (double)counts[token] / (double)tokenizer->encoded_count;
        if (share > 0) entropy -= share * log(share);
    }
    free(counts);
    return entropy;
}
