/* One measurement, written to stdout as a line of JSON: run.py reads the lines. */
#ifndef RECORD_H
#define RECORD_H

#include <stdint.h>

/* Every line starts with the first of these calls and ends with the second. */
void record_begin(void);
void record_end(void);

void record_text(const char *key, const char *text);
void record_integer(const char *key, int64_t value);
void record_number(const char *key, int digits, double value);                      /* so many significant digits */
void record_numbers(const char *key, int digits, const double *values, int count);  /* a list */
void record_null(const char *key);                                                  /* not measured */

#endif
