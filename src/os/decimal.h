/* The decimal text of a double.  For src/os/text.c: C libraries print doubles only by functions of the printf family. */
#ifndef QUERN_DECIMAL_H
#define QUERN_DECIMAL_H

#include <stddef.h>

#define QUERN_DECIMAL_BYTES 24

/*
 * Writes the value as printf's %.9g does, correctly rounded to 9 digits, ties to even, without a locale.  Returns the length, which
 * is less than QUERN_DECIMAL_BYTES; the text is not zero-terminated.
 */
size_t quern_decimal(char text[QUERN_DECIMAL_BYTES], double value);

#endif
