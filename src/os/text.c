/* A small printf.  Called wherever a detail, a log line or a report is composed. */
#include "os/text.h"

#include <string.h>

#include "os/decimal.h"

static void add_bytes(struct quern_text *text, const char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++, text->length++)
        if (text->length + 1 < text->capacity) text->buffer[text->length] = bytes[i];
    if (text->capacity) text->buffer[text->length < text->capacity ? text->length : text->capacity - 1] = 0;
}

static void add_unsigned(struct quern_text *text, unsigned long long value) {
    char digits[24];
    size_t count = 0;
    do digits[sizeof digits - ++count] = (char)('0' + value % 10);
    while (value /= 10);
    add_bytes(text, digits + sizeof digits - count, count);
}

static void add_signed(struct quern_text *text, long long value) {
    if (value < 0) add_bytes(text, "-", 1);
    add_unsigned(text, value < 0 ? 0ull - (unsigned long long)value : (unsigned long long)value);
}

static void add_double(struct quern_text *text, double value) {
    char digits[QUERN_DECIMAL_BYTES];
    add_bytes(text, digits, quern_decimal(digits, value));
}

struct quern_text quern_text_begin(char *buffer, size_t capacity) {
    if (capacity) buffer[0] = 0;
    return (struct quern_text){buffer, capacity, 0};
}

/* Appends one conversion.  *format points after its '%', and is moved past it. */
static void add_conversion(struct quern_text *text, const char **format, va_list *list) {
    int longs = 0;
    for (; **format == 'l' || **format == 'z'; (*format)++) longs += **format == 'l' ? 1 : 2;
    char kind = *(*format)++;
    if (kind == 's') {
        const char *string = va_arg(*list, const char *);
        add_bytes(text, string, strlen(string));
    } else if (kind == 'd') {
        add_signed(text, longs == 0 ? va_arg(*list, int) : longs == 1 ? va_arg(*list, long) : va_arg(*list, long long));
    } else if (kind == 'u') {
        add_unsigned(text, longs == 0 ? va_arg(*list, unsigned)
                           : longs == 1 ? va_arg(*list, unsigned long) : va_arg(*list, unsigned long long));
    } else if (kind == 'g') {
        add_double(text, va_arg(*list, double));
    } else {
        add_bytes(text, "%", 1);
    }
}

void quern_text_add_list(struct quern_text *text, const char *format, va_list list) {
    va_list rest;
    va_copy(rest, list);
    while (*format) {
        size_t plain = strcspn(format, "%");
        add_bytes(text, format, plain);
        format += plain;
        if (*format == '%') {
            format++;
            add_conversion(text, &format, &rest);
        }
    }
    va_end(rest);
}

void quern_text_add(struct quern_text *text, const char *format, ...) {
    va_list list;
    va_start(list, format);
    quern_text_add_list(text, format, list);
    va_end(list);
}
