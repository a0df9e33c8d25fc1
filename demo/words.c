/* Reads the text and cuts it into words.  Called by main.c; the tokenizer learns from the words. */
#include "words.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { LONGEST = 64 };  /* a longer run of one class of characters is cut */

static bool read_text(struct words *words, const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) return false;
    bool read = fseek(file, 0, SEEK_END) == 0;
    long bytes = read ? ftell(file) : -1;
    if (bytes >= 0) {
        rewind(file);
        words->text = allocate((size_t)bytes);
        words->text_bytes = (int64_t)fread(words->text, 1, (size_t)bytes, file);
    }
    read = bytes >= 0 && words->text_bytes == bytes;
    int error = errno;
    fclose(file);
    errno = error;
    return read;
}

enum character_class { LETTER, DIGIT, SPACE, OTHER };

static enum character_class class_of(char character) {
    unsigned char c = (unsigned char)character;
    return isalpha(c) || c >= 0x80 ? LETTER : isdigit(c) ? DIGIT : isspace(c) ? SPACE : OTHER;
}

/* A word is a run of one class, with the one space before it, so that most words need no token for the space. */
static int32_t word_length(const char *start, const char *end) {
    const char *at = start;
    if (*at == ' ' && at + 1 < end && class_of(at[1]) != SPACE) at++;
    enum character_class class = class_of(*at);
    if (class == SPACE) return 1;
    while (at < end && at - start < LONGEST && class_of(*at) == class) at++;
    return (int32_t)(at - start);
}

static uint32_t hash(const char *start, int32_t length) {  /* FNV-1a */
    uint32_t value = 2166136261u;
    for (int32_t i = 0; i < length; i++) value = (value ^ (unsigned char)start[i]) * 16777619u;
    return value ^ value >> 15;
}

/* The index of a word in `distinct`; a new word is appended.  Slots hold index + 1; their number is a power of two. */
static int32_t find_or_add(struct words *words, int32_t *slots, uint32_t slot_mask, const char *start, int32_t length) {
    uint32_t slot = hash(start, length) & slot_mask;
    for (; slots[slot] != 0; slot = (slot + 1) & slot_mask) {
        struct word *word = &words->distinct[slots[slot] - 1];
        if (word->length == length && memcmp(word->start, start, (size_t)length) == 0) {
            word->count++;
            return slots[slot] - 1;
        }
    }
    words->distinct[words->distinct_count] = (struct word){start, length, 1};
    slots[slot] = ++words->distinct_count;
    return slots[slot] - 1;
}

bool words_read(struct words *words, const char *path) {
    *words = (struct words){0};
    if (!read_text(words, path)) {
        words_free(words);
        return false;
    }
    const char *end = words->text + words->text_bytes;
    uint32_t slot_count = 1024;
    for (const char *at = words->text; at < end; at += word_length(at, end)) words->sequence_count++;
    while (slot_count < 2 * words->sequence_count) slot_count *= 2;

    int32_t *slots = allocate(slot_count * sizeof *slots);
    words->distinct = allocate((size_t)words->sequence_count * sizeof *words->distinct);
    words->sequence = allocate((size_t)words->sequence_count * sizeof *words->sequence);
    int64_t place = 0;
    for (const char *at = words->text; at < end;) {
        int32_t length = word_length(at, end);
        words->sequence[place++] = find_or_add(words, slots, slot_count - 1, at, length);
        at += length;
    }
    free(slots);
    return true;
}

void words_free(struct words *words) {
    free(words->text);
    free(words->distinct);
    free(words->sequence);
    *words = (struct words){0};
}
