/*
 * Text in a buffer of fixed size, for details and log lines.
 *
 * It implements a subset of printf, so that the library does not link printf, its locale tables and its allocations into an engine.
 * So `nm` on the archive can show that the library never prints.
 */
#ifndef QUERN_TEXT_H
#define QUERN_TEXT_H

#include <stdarg.h>
#include <stddef.h>

struct quern_text {
    char *buffer;
    size_t capacity;  /* bytes, with the terminating zero; 0: only the length is counted */
    size_t length;    /* of the whole text, including the part that did not fit */
};

/* An empty text in a buffer, which is zero-terminated at once. */
struct quern_text quern_text_begin(char *buffer, size_t capacity);

/* Appends a format with %s, %d, %u, %ld, %lld, %lu, %llu, %zu, %g and %%.  The buffer stays zero-terminated. */
void quern_text_add(struct quern_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void quern_text_add_list(struct quern_text *text, const char *format, va_list list) __attribute__((format(printf, 2, 0)));

#endif
