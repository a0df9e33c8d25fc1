/*
 * Moves bytes between ranks on a CPU, as the kernel of the ragged all-to-all does; src/kernels/cpu/ragged_copy.h has the text.
 *
 * Rendered by gen/ from templates/collective/collective_move.c.j2; do not edit.
 */
#include "kernels/cpu/ragged_copy.h"
#include "kernels/kernel.h"


quern_ragged_all_to_all_cpu_kernel QUERN_KERNEL_NAME(collective_move);

void QUERN_KERNEL_NAME(collective_move)(char *to, const char *from, int64_t bytes, int streaming) {
    copy_slice(to, from, bytes, streaming);
}
