/*
 * The kernels of softmax cross-entropy of f16 logits on a CPU; src/kernels/cpu/cross_entropy.h has their text.
 * The host code (src/cross_entropy/cross_entropy_cpu.c) calls them through the table.
 *
 * Rendered by gen/ from templates/cross_entropy/cross_entropy.c.j2; do not edit.
 */
#define LOGITS f16
#define LOGITS_TYPE uint16_t
#define LOGITS_BITS 16
#define MINUS_INFINITY 0xFC00
#define NOT_A_NUMBER 0x7FFF

#include "kernels/cpu/cross_entropy.h"
#include "kernels/cpu/cross_entropy_soft.h"
#include "kernels/cpu/cross_entropy_upstream.h"
#include "kernels/kernel.h"

quern_cross_entropy_rows_kernel QUERN_KERNEL_NAME(cross_entropy_f16);

void QUERN_KERNEL_NAME(cross_entropy_f16)(
    const struct quern_cross_entropy_problem *problem, int64_t first_row, int64_t end_row, void *scratch) {
    run_rows(problem, first_row, end_row, scratch, false);
}

quern_cross_entropy_part_kernel QUERN_KERNEL_NAME(cross_entropy_f16_stats);

void QUERN_KERNEL_NAME(cross_entropy_f16_stats)(
    const struct quern_cross_entropy_problem *problem, int64_t row, int64_t part, void *scratch) {
    run_stats(problem, row, part, scratch, false);
}

quern_cross_entropy_part_kernel QUERN_KERNEL_NAME(cross_entropy_f16_gradient);

void QUERN_KERNEL_NAME(cross_entropy_f16_gradient)(
    const struct quern_cross_entropy_problem *problem, int64_t row, int64_t part, void *scratch) {
    run_gradient(problem, row, part, scratch, false);
}

quern_cross_entropy_part_kernel QUERN_KERNEL_NAME(cross_entropy_f16_upstream);

void QUERN_KERNEL_NAME(cross_entropy_f16_upstream)(
    const struct quern_cross_entropy_problem *problem, int64_t row, int64_t part, void *scratch) {
    (void)scratch;
    run_upstream(problem, row, part);
}

quern_cross_entropy_part_kernel QUERN_KERNEL_NAME(cross_entropy_f16_soft);

void QUERN_KERNEL_NAME(cross_entropy_f16_soft)(
    const struct quern_cross_entropy_problem *problem, int64_t row, int64_t part, void *scratch) {
    run_soft(problem, row, part, scratch);
}

quern_cross_entropy_rows_kernel QUERN_KERNEL_NAME(cross_entropy_f16_full);

void QUERN_KERNEL_NAME(cross_entropy_f16_full)(
    const struct quern_cross_entropy_problem *problem, int64_t first_row, int64_t end_row, void *scratch) {
    run_rows(problem, first_row, end_row, scratch, true);
}

quern_cross_entropy_part_kernel QUERN_KERNEL_NAME(cross_entropy_f16_stats_full);

void QUERN_KERNEL_NAME(cross_entropy_f16_stats_full)(
    const struct quern_cross_entropy_problem *problem, int64_t row, int64_t part, void *scratch) {
    run_stats(problem, row, part, scratch, true);
}

quern_cross_entropy_part_kernel QUERN_KERNEL_NAME(cross_entropy_f16_gradient_full);

void QUERN_KERNEL_NAME(cross_entropy_f16_gradient_full)(
    const struct quern_cross_entropy_problem *problem, int64_t row, int64_t part, void *scratch) {
    run_gradient(problem, row, part, scratch, true);
}
