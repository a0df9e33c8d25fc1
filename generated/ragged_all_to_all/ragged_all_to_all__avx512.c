/*
 * The copies of a ragged all-to-all between ranks on CPUs.
 *
 * Rendered by gen/ from templates/ragged_all_to_all.c.j2; do not edit.
 */
#include <string.h>

#include "kernel.h"

quern_ragged_all_to_all_cpu_kernel quern_ragged_all_to_all__avx512;

void quern_ragged_all_to_all__avx512(char *to, const char *from, int64_t bytes, int streaming) {
    (void)streaming;
    memcpy(to, from, (size_t)bytes);
}
