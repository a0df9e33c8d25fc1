/* A text cut into words: the distinct words with their counts, and the text as a sequence of them. */
#ifndef WORDS_H
#define WORDS_H

#include <stdbool.h>
#include <stdint.h>

struct word {
    const char *start;  /* inside the text; not terminated */
    int32_t length;
    int32_t count;
};

struct words {
    char *text;
    int64_t text_bytes;
    struct word *distinct;
    int32_t distinct_count;
    int32_t *sequence;  /* indices in `distinct` */
    int64_t sequence_count;
};

/* Reads and cuts a file; on failure false, with errno set. */
bool words_read(struct words *words, const char *path);
void words_free(struct words *words);

#endif
