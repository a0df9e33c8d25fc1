/*
 * Text in a buffer of fixed size, for details and log lines.
 *
 * A subset of printf of its own: the library must not drag printf, its locale tables and its allocations into an engine, and
 * `nm` on the archive can then show that nothing in it prints.
 */
#ifndef QUERN_TEXT_H
#define QUERN_TEXT_H

#include <stdarg.h>
#include <stddef.h>

struct quern_text {
    char *buffer;
    size_t capacity;  /* bytes, the closing zero included; 0: only the length is counted */
    size_t length;    /* of the whole text, also what did not fit */
};

/* An empty text in a buffer; the buffer is closed with a zero at once. */
struct quern_text quern_text_begin(char *buffer, size_t capacity);

/* Appends a format with %s, %d, %u, %ld, %lld, %lu, %llu, %zu, %g and %%; the buffer stays closed with a zero. */
void quern_text_add(struct quern_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void quern_text_add_list(struct quern_text *text, const char *format, va_list list) __attribute__((format(printf, 2, 0)));

#endif
