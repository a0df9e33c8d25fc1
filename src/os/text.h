/*
 * Text in a buffer of fixed size, for details and log lines.
 *
 * It has its own subset of printf, so that the library does not pull printf with its locale tables and allocations into an engine.
 * Then `nm` on the archive shows that the library never prints.
 */
#ifndef QUERN_TEXT_H
#define QUERN_TEXT_H

#include <stdarg.h>
#include <stddef.h>

struct quern_text {
    char *buffer;
    size_t capacity;  /* bytes, the closing zero included; 0: only the length is counted */
    size_t length;    /* of the whole text, including the part that did not fit */
};

/* An empty text in a buffer; the buffer is closed with a zero at once. */
struct quern_text quern_text_begin(char *buffer, size_t capacity);

/* Appends a format with %s, %d, %u, %ld, %lld, %lu, %llu, %zu, %g and %%; the buffer stays closed with a zero. */
void quern_text_add(struct quern_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void quern_text_add_list(struct quern_text *text, const char *format, va_list list) __attribute__((format(printf, 2, 0)));

#endif
