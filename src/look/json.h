/* JSON in a buffer that grows.  For the trace and the dump. */
#ifndef QUERN_JSON_H
#define QUERN_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero is an empty text.  Commas are set between values; a key is NULL inside an array. */
struct quern_json {
    char *text;
    size_t length, capacity;
    bool needs_comma, failed;   /* failed: there was no memory */
};

void quern_json_open(struct quern_json *json, const char *key, char bracket);
void quern_json_close(struct quern_json *json, char bracket);
void quern_json_text(struct quern_json *json, const char *key, const char *value);
void quern_json_integer(struct quern_json *json, const char *key, int64_t value);
void quern_json_unsigned(struct quern_json *json, const char *key, uint64_t value);
void quern_json_real(struct quern_json *json, const char *key, double value);       /* to 9 digits; "nan" and "inf" as texts */
void quern_json_thousandths(struct quern_json *json, const char *key, int64_t value);  /* value / 1000, exactly */
void quern_json_flag(struct quern_json *json, const char *key, bool value);
void quern_json_raw(struct quern_json *json, const char *key, const struct quern_json *value);  /* written already */
void quern_json_line(struct quern_json *json);  /* ends a line; a comma before the next value comes after it */

/* Empties the text, and keeps its memory; frees it. */
void quern_json_clear(struct quern_json *json);
void quern_json_free(struct quern_json *json);

#endif
