/* The bytes of an input as a sequence of choices.  After the last byte every choice is the first, which is a valid one. */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include "../harness/standard.h"

void input_begin(const uint8_t *bytes, size_t count);
bool input_is_at_end(void);
uint8_t input_byte(void);
int64_t input_below(int64_t limit);   /* in [0, limit) */
bool input_one_in(int n);             /* false at the end of the input */
uint64_t input_word(void);            /* eight bytes of the input */
uint64_t input_noise(void);           /* pseudo-random, seeded by the input so far */

#endif
