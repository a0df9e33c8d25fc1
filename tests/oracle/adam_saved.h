/* The saved state of Adam as quern.h documents it, byte for byte; every pointer of the arguments points to host memory. */
#ifndef ORACLE_ADAM_SAVED_H
#define ORACLE_ADAM_SAVED_H

#include <stddef.h>

#include "quern.h"

/* Writes it and returns its size; saved NULL: returns the size only. */
size_t adam_saved_write(const quern_adam_args *args, unsigned char *saved);

/* Recomputes the final hash after a change of the bytes before it. */
void adam_saved_close(unsigned char *saved, size_t bytes);

/* Loads a valid state of tensors of the same counts, with all conversions. */
void adam_saved_read(const quern_adam_args *args, const unsigned char *saved);

#endif
