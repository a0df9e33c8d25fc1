/*
 * The kernels of softmax cross-entropy of f32 logits on a CPU; src/kernels/cpu/cross_entropy.h has their text.
 * The host code (src/cross_entropy/cross_entropy_cpu.c) calls them through the table.
 *
 * Rendered by gen/ from templates/cross_entropy/cross_entropy.c.j2; do not edit.
 */
#define LOGITS f32
#define LOGITS_TYPE float
#define LOGITS_BITS 32
#define MINUS_INFINITY (-INFINITY)
#define NOT_A_NUMBER NAN

#include "kernels/cpu/cross_entropy.h"
#include "kernels/cpu/cross_entropy_soft.h"
#include "kernels/cpu/cross_entropy_upstream.h"
#include "kernels/kernel.h"

quern_cross_entropy_rows_kernel QUERN_KERNEL_NAME(cross_entropy_f32);

void QUERN_KERNEL_NAME(cross_entropy_f32)(
    const struct quern_cross_entropy_problem *problem, int64_t first_row, int64_t end_row, void *scratch) {
    run_rows(problem, first_row, end_row, scratch, false);
}

quern_cross_entropy_part_kernel QUERN_KERNEL_NAME(cross_entropy_f32_stats);

void QUERN_KERNEL_NAME(cross_entropy_f32_stats)(
    const struct quern_cross_entropy_problem *problem, int64_t row, int64_t part, void *scratch) {
    run_stats(problem, row, part, scratch, false);
}

quern_cross_entropy_part_kernel QUERN_KERNEL_NAME(cross_entropy_f32_gradient);

void QUERN_KERNEL_NAME(cross_entropy_f32_gradient)(
    const struct quern_cross_entropy_problem *problem, int64_t row, int64_t part, void *scratch) {
    run_gradient(problem, row, part, scratch, false);
}

quern_cross_entropy_part_kernel QUERN_KERNEL_NAME(cross_entropy_f32_upstream);

void QUERN_KERNEL_NAME(cross_entropy_f32_upstream)(
    const struct quern_cross_entropy_problem *problem, int64_t row, int64_t part, void *scratch) {
    (void)scratch;
    run_upstream(problem, row, part);
}

quern_cross_entropy_part_kernel QUERN_KERNEL_NAME(cross_entropy_f32_soft);

void QUERN_KERNEL_NAME(cross_entropy_f32_soft)(
    const struct quern_cross_entropy_problem *problem, int64_t row, int64_t part, void *scratch) {
    run_soft(problem, row, part, scratch);
}

quern_cross_entropy_rows_kernel QUERN_KERNEL_NAME(cross_entropy_f32_full);

void QUERN_KERNEL_NAME(cross_entropy_f32_full)(
    const struct quern_cross_entropy_problem *problem, int64_t first_row, int64_t end_row, void *scratch) {
    run_rows(problem, first_row, end_row, scratch, true);
}

quern_cross_entropy_part_kernel QUERN_KERNEL_NAME(cross_entropy_f32_stats_full);

void QUERN_KERNEL_NAME(cross_entropy_f32_stats_full)(
    const struct quern_cross_entropy_problem *problem, int64_t row, int64_t part, void *scratch) {
    run_stats(problem, row, part, scratch, true);
}

quern_cross_entropy_part_kernel QUERN_KERNEL_NAME(cross_entropy_f32_gradient_full);

void QUERN_KERNEL_NAME(cross_entropy_f32_gradient_full)(
    const struct quern_cross_entropy_problem *problem, int64_t row, int64_t part, void *scratch) {
    run_gradient(problem, row, part, scratch, true);
}
