/* Writes JSON.  Called by the trace and the dump. */
#include "look/look.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "os/text.h"

enum { FIRST_CAPACITY = 4096, NUMBER = 40 };

static void add(struct quern_json *json, const char *bytes, size_t count) {
    if (json->failed) return;
    if (json->capacity - json->length < count + 1) {
        size_t capacity = json->capacity ? json->capacity : FIRST_CAPACITY;
        while (capacity - json->length < count + 1) capacity *= 2;
        char *text = realloc(json->text, capacity);
        json->failed = !text;
        if (!text) return;
        json->text = text, json->capacity = capacity;
    }
    memcpy(json->text + json->length, bytes, count);
    json->length += count;
    json->text[json->length] = 0;
}

/* Control characters and bytes beyond ASCII as \u00XX: a detail may hold any bytes, and JSON must be UTF-8. */
static void add_quoted(struct quern_json *json, const char *value) {
    static const char hexadecimal[] = "0123456789abcdef";
    add(json, "\"", 1);
    for (; *value; value++) {
        const unsigned char byte = (unsigned char)*value;
        const char escape[] = {'\\', 'u', '0', '0', hexadecimal[byte >> 4], hexadecimal[byte & 15]};
        if (byte < ' ' || byte > '~') add(json, escape, sizeof escape);
        else if (byte == '"' || byte == '\\') add(json, (const char[]){'\\', *value}, 2);
        else add(json, value, 1);
    }
    add(json, "\"", 1);
}

static void add_key(struct quern_json *json, const char *key) {
    if (json->needs_comma) add(json, ",", 1);
    json->needs_comma = true;
    if (!key) return;
    add_quoted(json, key);
    add(json, ":", 1);
}

void quern_json_open(struct quern_json *json, const char *key, char bracket) {
    add_key(json, key);
    add(json, &bracket, 1);
    json->needs_comma = false;
}

void quern_json_close(struct quern_json *json, char bracket) {
    add(json, &bracket, 1);
    json->needs_comma = true;
}

void quern_json_text(struct quern_json *json, const char *key, const char *value) {
    add_key(json, key);
    add_quoted(json, value);
}

static void add_formatted(struct quern_json *json, const char *key, const char *format, ...) {
    char number[NUMBER];
    struct quern_text text = quern_text_begin(number, sizeof number);
    va_list list;
    va_start(list, format);
    quern_text_add_list(&text, format, list);
    va_end(list);
    add_key(json, key);
    add(json, number, text.length);
}

void quern_json_integer(struct quern_json *json, const char *key, int64_t value) {
    add_formatted(json, key, "%lld", (long long)value);
}

void quern_json_unsigned(struct quern_json *json, const char *key, uint64_t value) {
    add_formatted(json, key, "%llu", (unsigned long long)value);
}

void quern_json_real(struct quern_json *json, const char *key, double value) {
    add_formatted(json, key, isfinite(value) ? "%g" : "\"%g\"", value);
}

void quern_json_thousandths(struct quern_json *json, const char *key, int64_t value) {
    const uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    const unsigned part = (unsigned)(magnitude % 1000);
    add_formatted(json, key, "%s%llu.%u%u%u", value < 0 ? "-" : "", (unsigned long long)(magnitude / 1000), part / 100,
                  part / 10 % 10, part % 10);
}

void quern_json_flag(struct quern_json *json, const char *key, bool value) {
    add_key(json, key);
    add(json, value ? "true" : "false", value ? 4 : 5);
}

void quern_json_raw(struct quern_json *json, const char *key, const struct quern_json *value) {
    add_key(json, key);
    add(json, value->text, value->length);
    json->failed |= value->failed;
}

void quern_json_line(struct quern_json *json) { add(json, "\n", 1); }

void quern_json_clear(struct quern_json *json) { json->length = 0; }

void quern_json_free(struct quern_json *json) { free(json->text); }
