#include "json.h"

#include <stdio.h>

void json_text(const char *key, const char *text) {
    printf("\"%s\": \"", key);
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
