/* Lines of JSON on stdout.  Called by every subject and by the programs of the other implementations. */
#include "harness/record.h"

#include <stdio.h>

static int fields;  /* of the line so far */

static void write_text(const char *text) {
    putchar('"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20)
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

static void write_key(const char *key) {
    if (fields++) printf(", ");
    write_text(key);
    printf(": ");
}

void record_begin(void) {
    fields = 0;
    putchar('{');
}

void record_end(void) {
    printf("}\n");
    fflush(stdout);
}

void record_text(const char *key, const char *text) {
    write_key(key);
    write_text(text);
}

void record_integer(const char *key, int64_t value) {
    write_key(key);
    printf("%lld", (long long)value);
}

void record_number(const char *key, int digits, double value) {
    write_key(key);
    printf("%.*g", digits, value);
}

void record_numbers(const char *key, int digits, const double *values, int count) {
    write_key(key);
    putchar('[');
    for (int i = 0; i < count; i++) printf("%s%.*g", i ? ", " : "", digits, values[i]);
    putchar(']');
}

void record_null(const char *key) {
    write_key(key);
    printf("null");
}
