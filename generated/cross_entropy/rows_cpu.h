/*
 * The rows of cross_entropy for CPUs: included once for each target by generated/targets.h, with the macros of
 * src/kernels/table.h.  Each: member of the union of functions, kernel, dtypes, task, full,
 * vocab_max (struct quern_kernel).
 *
 * Rendered by gen/ from templates/build/rows_cpu.h.j2; do not edit.
 */
#if SELECTED(cross_entropy_f32)
ROW(cross_entropy_rows, cross_entropy_f32, (QUERN_F32), QUERN_STAGE_ROWS, 0, INT64_MAX)
ROW(cross_entropy_part, cross_entropy_f32_stats, (QUERN_F32), QUERN_STAGE_STATS, 0, INT64_MAX)
ROW(cross_entropy_part, cross_entropy_f32_gradient, (QUERN_F32), QUERN_STAGE_GRADIENT, 0, INT64_MAX)
ROW(cross_entropy_part, cross_entropy_f32_upstream, (QUERN_F32), QUERN_STAGE_UPSTREAM, 0, INT64_MAX)
ROW(cross_entropy_part, cross_entropy_f32_soft, (QUERN_F32), QUERN_STAGE_SOFT, 0, INT64_MAX)
ROW(cross_entropy_rows, cross_entropy_f32_full, (QUERN_F32), QUERN_STAGE_ROWS, 1, INT64_MAX)
ROW(cross_entropy_part, cross_entropy_f32_stats_full, (QUERN_F32), QUERN_STAGE_STATS, 1, INT64_MAX)
ROW(cross_entropy_part, cross_entropy_f32_gradient_full, (QUERN_F32), QUERN_STAGE_GRADIENT, 1, INT64_MAX)
#endif
#if SELECTED(cross_entropy_f16)
ROW(cross_entropy_rows, cross_entropy_f16, (QUERN_F16), QUERN_STAGE_ROWS, 0, INT64_MAX)
ROW(cross_entropy_part, cross_entropy_f16_stats, (QUERN_F16), QUERN_STAGE_STATS, 0, INT64_MAX)
ROW(cross_entropy_part, cross_entropy_f16_gradient, (QUERN_F16), QUERN_STAGE_GRADIENT, 0, INT64_MAX)
ROW(cross_entropy_part, cross_entropy_f16_upstream, (QUERN_F16), QUERN_STAGE_UPSTREAM, 0, INT64_MAX)
ROW(cross_entropy_part, cross_entropy_f16_soft, (QUERN_F16), QUERN_STAGE_SOFT, 0, INT64_MAX)
ROW(cross_entropy_rows, cross_entropy_f16_full, (QUERN_F16), QUERN_STAGE_ROWS, 1, INT64_MAX)
ROW(cross_entropy_part, cross_entropy_f16_stats_full, (QUERN_F16), QUERN_STAGE_STATS, 1, INT64_MAX)
ROW(cross_entropy_part, cross_entropy_f16_gradient_full, (QUERN_F16), QUERN_STAGE_GRADIENT, 1, INT64_MAX)
#endif
#if SELECTED(cross_entropy_bf16)
ROW(cross_entropy_rows, cross_entropy_bf16, (QUERN_BF16), QUERN_STAGE_ROWS, 0, INT64_MAX)
ROW(cross_entropy_part, cross_entropy_bf16_stats, (QUERN_BF16), QUERN_STAGE_STATS, 0, INT64_MAX)
ROW(cross_entropy_part, cross_entropy_bf16_gradient, (QUERN_BF16), QUERN_STAGE_GRADIENT, 0, INT64_MAX)
ROW(cross_entropy_part, cross_entropy_bf16_upstream, (QUERN_BF16), QUERN_STAGE_UPSTREAM, 0, INT64_MAX)
ROW(cross_entropy_part, cross_entropy_bf16_soft, (QUERN_BF16), QUERN_STAGE_SOFT, 0, INT64_MAX)
ROW(cross_entropy_rows, cross_entropy_bf16_full, (QUERN_BF16), QUERN_STAGE_ROWS, 1, INT64_MAX)
ROW(cross_entropy_part, cross_entropy_bf16_stats_full, (QUERN_BF16), QUERN_STAGE_STATS, 1, INT64_MAX)
ROW(cross_entropy_part, cross_entropy_bf16_gradient_full, (QUERN_BF16), QUERN_STAGE_GRADIENT, 1, INT64_MAX)
#endif
