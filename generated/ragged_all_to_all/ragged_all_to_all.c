/*
 * The copies of a ragged all-to-all between ranks on CPUs; src/kernels/cpu/ragged_copy.h has their text.
 * The host code of the operation (src/ranks/ragged/) calls the kernel through its table.
 *
 * Rendered by gen/ from templates/ragged_all_to_all/ragged_all_to_all.c.j2; do not edit.
 */
#include "kernels/cpu/ragged_copy.h"
#include "kernels/kernel.h"

quern_ragged_all_to_all_cpu_kernel QUERN_KERNEL_NAME(ragged_all_to_all);

void QUERN_KERNEL_NAME(ragged_all_to_all)(char *to, const char *from, int64_t bytes, int streaming) {
    copy_slice(to, from, bytes, streaming);
}
