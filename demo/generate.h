/* Continues a text with tokens that the model draws. */
#ifndef GENERATE_H
#define GENERATE_H

#include <stdbool.h>
#include <stdint.h>

struct model;
struct tokenizer;

/*
 * Prints the `prompt_count` tokens of the text at `first` and, after a bar, `count` more that the model draws.  Collective: all
 * ranks draw the same, and rank 0 prints.  False after a message on stderr.
 */
bool generate(struct model *model, const struct tokenizer *text, int64_t first, int prompt_count, int count, uint64_t seed);

#endif
