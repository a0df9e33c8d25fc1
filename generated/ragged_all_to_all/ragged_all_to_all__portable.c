/*
 * The copies of a ragged all-to-all between ranks on CPUs.
 *
 * A target that knows nothing of its processor leaves them to libc, which does.
 *
 * Rendered by gen/ from templates/ragged_all_to_all/ragged_all_to_all.c.j2; do not edit.
 */
#include <string.h>

#include "kernels/kernel.h"

quern_ragged_all_to_all_cpu_kernel quern_ragged_all_to_all__portable;

void quern_ragged_all_to_all__portable(char *to, const char *from, int64_t bytes, int streaming) {
    (void)streaming;
    memcpy(to, from, (size_t)bytes);
}
