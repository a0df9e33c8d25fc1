/*
 * Moves bytes between ranks on a CPU; src/kernels/cpu/ragged_copy.h has the text.
 *
 * Rendered by gen/ from templates/collective/collective_move.c.j2; do not edit.
 */
#include "kernels/collective_pieces.h"
#include "kernels/cpu/ragged_copy.h"
#include "kernels/kernel.h"


quern_any_cpu_kernel QUERN_KERNEL_NAME(collective_move);

void QUERN_KERNEL_NAME(collective_move)(const void *problem, int64_t first, int64_t end) {
    const struct quern_collective_movement *piece = problem;
    copy_slice(piece->to + first, piece->from + first, end - first, piece->streaming);
}
