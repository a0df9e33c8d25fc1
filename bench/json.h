/* Texts in a line of JSON on stdout. */
#ifndef JSON_H
#define JSON_H

/* "key": "text", without anything behind it. */
void json_text(const char *key, const char *text);

#endif
