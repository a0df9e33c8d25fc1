/* Byte-pair encoding (Sennrich, Haddow and Birch 2016), learnt from the text that it then encodes. */
#ifndef TOKENIZER_H
#define TOKENIZER_H

#include <stdint.h>

#include "words.h"

/* The bytes that a token stands for. */
struct token {
    const char *bytes;
    int32_t length;
};

struct tokenizer {
    int32_t vocab;
    struct token *tokens;  /* [vocab]; the first 256 are the single bytes */
    int32_t *encoded;      /* the text */
    int64_t encoded_count;
    char *bytes;           /* where the tokens' bytes lie */
};

/* Learns up to `vocab` (<= 65,535) tokens from the words; fewer when the text has no more pairs that occur twice. */
void tokenizer_learn(struct tokenizer *tokenizer, const struct words *words, int32_t vocab);
void tokenizer_free(struct tokenizer *tokenizer);

/* Entropy, in nats per token, of the tokens' frequencies: the best loss of a model that ignores the context. */
double tokenizer_unigram_entropy(const struct tokenizer *tokenizer);

#endif
