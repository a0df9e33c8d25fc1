/*
 * The rows of cross_entropy for GPUs: included once for each target by generated/targets.h, with the macros of
 * src/kernels/table.h.  Each: unit, kernel, dtypes, task, full, vocab_max; threads, elements,
 * shared_per_column, shared_per_part, shared_fixed, cluster (struct quern_kernel).
 *
 * Rendered by gen/ from templates/build/rows_gpu.h.j2; do not edit.
 */
#if SELECTED(cross_entropy_f32_short)
UNIT(cross_entropy_f32_short)
ROW(cross_entropy_f32_short, cross_entropy_f32_short, (QUERN_F32), QUERN_STAGE_ROWS, 0,
    1536, 32, 4, 16, 0, 128, 0, 0)
#endif
#if SELECTED(cross_entropy_f16_short)
UNIT(cross_entropy_f16_short)
ROW(cross_entropy_f16_short, cross_entropy_f16_short, (QUERN_F16), QUERN_STAGE_ROWS, 0,
    3072, 32, 8, 8, 0, 128, 0, 0)
#endif
#if SELECTED(cross_entropy_bf16_short)
UNIT(cross_entropy_bf16_short)
ROW(cross_entropy_bf16_short, cross_entropy_bf16_short, (QUERN_BF16), QUERN_STAGE_ROWS, 0,
    3072, 32, 8, 8, 0, 128, 0, 0)
#endif
#if SELECTED(cross_entropy_f32_rows)
UNIT(cross_entropy_f32_rows)
ROW(cross_entropy_f32_rows, cross_entropy_f32_resident, (QUERN_F32), QUERN_STAGE_ROWS, 0,
    BY_TARGET(202016, 464160, 464160, 25252, 25252, 41636, 16292, 202016), 128, 4, 4, 0, 368, BY_TARGET(8, 8, 8, 0, 0, 0, 0, 8), 0)
#endif
#if SELECTED(cross_entropy_f16_rows)
UNIT(cross_entropy_f16_rows)
ROW(cross_entropy_f16_rows, cross_entropy_f16_resident, (QUERN_F16), QUERN_STAGE_ROWS, 0,
    BY_TARGET(404032, 928320, 928320, 50504, 50504, 83272, 32584, 404032), 128, 8, 2, 0, 368, BY_TARGET(8, 8, 8, 0, 0, 0, 0, 8), 0)
#endif
#if SELECTED(cross_entropy_bf16_rows)
UNIT(cross_entropy_bf16_rows)
ROW(cross_entropy_bf16_rows, cross_entropy_bf16_resident, (QUERN_BF16), QUERN_STAGE_ROWS, 0,
    BY_TARGET(404032, 928320, 928320, 50504, 50504, 83272, 32584, 404032), 128, 8, 2, 0, 368, BY_TARGET(8, 8, 8, 0, 0, 0, 0, 8), 0)
#endif
#if SELECTED(cross_entropy_f32_streamed)
UNIT(cross_entropy_f32_streamed)
ROW(cross_entropy_f32_streamed, cross_entropy_f32_streamed, (QUERN_F32), QUERN_STAGE_ROWS, 0,
    INT64_MAX, 256, 4, 4, 0, 384, 0, 0)
#endif
#if SELECTED(cross_entropy_f16_streamed)
UNIT(cross_entropy_f16_streamed)
ROW(cross_entropy_f16_streamed, cross_entropy_f16_streamed, (QUERN_F16), QUERN_STAGE_ROWS, 0,
    INT64_MAX, 256, 8, 2, 0, 384, 0, 0)
#endif
#if SELECTED(cross_entropy_bf16_streamed)
UNIT(cross_entropy_bf16_streamed)
ROW(cross_entropy_bf16_streamed, cross_entropy_bf16_streamed, (QUERN_BF16), QUERN_STAGE_ROWS, 0,
    INT64_MAX, 256, 8, 2, 0, 384, 0, 0)
#endif
#if SELECTED(cross_entropy_f32_full_rows)
UNIT(cross_entropy_f32_full_rows)
ROW(cross_entropy_f32_full_rows, cross_entropy_f32_resident_full, (QUERN_F32), QUERN_STAGE_ROWS, 1,
    BY_TARGET(200128, 462272, 462272, 25016, 25016, 41400, 16056, 200128), 128, 4, 4, 0, 1312, BY_TARGET(8, 8, 8, 0, 0, 0, 0, 8), BY_TARGET(1, 1, 1, 0, 0, 0, 0, 1))
#endif
#if SELECTED(cross_entropy_f16_full_rows)
UNIT(cross_entropy_f16_full_rows)
ROW(cross_entropy_f16_full_rows, cross_entropy_f16_resident_full, (QUERN_F16), QUERN_STAGE_ROWS, 1,
    BY_TARGET(400256, 924544, 924544, 50032, 50032, 82800, 32112, 400256), 128, 8, 2, 0, 1312, BY_TARGET(8, 8, 8, 0, 0, 0, 0, 8), BY_TARGET(1, 1, 1, 0, 0, 0, 0, 1))
#endif
#if SELECTED(cross_entropy_bf16_full_rows)
UNIT(cross_entropy_bf16_full_rows)
ROW(cross_entropy_bf16_full_rows, cross_entropy_bf16_resident_full, (QUERN_BF16), QUERN_STAGE_ROWS, 1,
    BY_TARGET(400256, 924544, 924544, 50032, 50032, 82800, 32112, 400256), 128, 8, 2, 0, 1312, BY_TARGET(8, 8, 8, 0, 0, 0, 0, 8), BY_TARGET(1, 1, 1, 0, 0, 0, 0, 1))
#endif
#if SELECTED(cross_entropy_f32)
UNIT(cross_entropy_f32)
ROW(cross_entropy_f32, cross_entropy_f32_stats, (QUERN_F32), QUERN_STAGE_STATS, 0,
    INT64_MAX, 512, 0, 0, 0, 384, 0, 0)
ROW(cross_entropy_f32, cross_entropy_f32_gradient, (QUERN_F32), QUERN_STAGE_GRADIENT, 0,
    INT64_MAX, 512, 0, 0, 0, 0, 0, 0)
#endif
#if SELECTED(cross_entropy_f16)
UNIT(cross_entropy_f16)
ROW(cross_entropy_f16, cross_entropy_f16_stats, (QUERN_F16), QUERN_STAGE_STATS, 0,
    INT64_MAX, 512, 0, 0, 0, 384, 0, 0)
ROW(cross_entropy_f16, cross_entropy_f16_gradient, (QUERN_F16), QUERN_STAGE_GRADIENT, 0,
    INT64_MAX, 512, 0, 0, 0, 0, 0, 0)
#endif
#if SELECTED(cross_entropy_bf16)
UNIT(cross_entropy_bf16)
ROW(cross_entropy_bf16, cross_entropy_bf16_stats, (QUERN_BF16), QUERN_STAGE_STATS, 0,
    INT64_MAX, 512, 0, 0, 0, 384, 0, 0)
ROW(cross_entropy_bf16, cross_entropy_bf16_gradient, (QUERN_BF16), QUERN_STAGE_GRADIENT, 0,
    INT64_MAX, 512, 0, 0, 0, 0, 0, 0)
#endif
#if SELECTED(cross_entropy_f32_upstream)
UNIT(cross_entropy_f32_upstream)
ROW(cross_entropy_f32_upstream, cross_entropy_f32_upstream, (QUERN_F32), QUERN_STAGE_UPSTREAM, 0,
    INT64_MAX, 256, 0, 0, 0, 0, 0, 0)
#endif
#if SELECTED(cross_entropy_f16_upstream)
UNIT(cross_entropy_f16_upstream)
ROW(cross_entropy_f16_upstream, cross_entropy_f16_upstream, (QUERN_F16), QUERN_STAGE_UPSTREAM, 0,
    INT64_MAX, 256, 0, 0, 0, 0, 0, 0)
#endif
#if SELECTED(cross_entropy_bf16_upstream)
UNIT(cross_entropy_bf16_upstream)
ROW(cross_entropy_bf16_upstream, cross_entropy_bf16_upstream, (QUERN_BF16), QUERN_STAGE_UPSTREAM, 0,
    INT64_MAX, 256, 0, 0, 0, 0, 0, 0)
#endif
#if SELECTED(cross_entropy_f32_portable)
UNIT(cross_entropy_f32_portable)
ROW(cross_entropy_f32_portable, cross_entropy_f32_portable, (QUERN_F32), QUERN_STAGE_PORTABLE, 0,
    INT64_MAX, 256, 0, 0, 0, 0, 0, BY_TARGET(1, 1, 1, 0, 0, 0, 0, 1))
#endif
#if SELECTED(cross_entropy_f16_portable)
UNIT(cross_entropy_f16_portable)
ROW(cross_entropy_f16_portable, cross_entropy_f16_portable, (QUERN_F16), QUERN_STAGE_PORTABLE, 0,
    INT64_MAX, 256, 0, 0, 0, 0, 0, BY_TARGET(1, 1, 1, 0, 0, 0, 0, 1))
#endif
#if SELECTED(cross_entropy_bf16_portable)
UNIT(cross_entropy_bf16_portable)
ROW(cross_entropy_bf16_portable, cross_entropy_bf16_portable, (QUERN_BF16), QUERN_STAGE_PORTABLE, 0,
    INT64_MAX, 256, 0, 0, 0, 0, 0, BY_TARGET(1, 1, 1, 0, 0, 0, 0, 1))
#endif
#if SELECTED(cross_entropy_stages)
UNIT(cross_entropy_stages)
ROW(cross_entropy_stages, cross_entropy_portable_combine, (QUERN_NO_DTYPE), QUERN_STAGE_PORTABLE_COMBINE, 0,
    INT64_MAX, 32, 0, 0, 0, 0, 0, BY_TARGET(1, 1, 1, 0, 0, 0, 0, 1))
ROW(cross_entropy_stages, cross_entropy_combine, (QUERN_NO_DTYPE), QUERN_STAGE_COMBINE, 0,
    INT64_MAX, 256, 0, 0, 0, 0, 0, BY_TARGET(1, 1, 1, 0, 0, 0, 0, 1))
ROW(cross_entropy_stages, cross_entropy_labels, (QUERN_NO_DTYPE), QUERN_STAGE_LABELS, 0,
    INT64_MAX, 512, 0, 0, 0, 0, 0, BY_TARGET(1, 1, 1, 0, 0, 0, 0, 1))
ROW(cross_entropy_stages, cross_entropy_reduce, (QUERN_NO_DTYPE), QUERN_STAGE_REDUCE, 0,
    INT64_MAX, 1024, 0, 0, 0, 0, 0, BY_TARGET(1, 1, 1, 0, 0, 0, 0, 1))
ROW(cross_entropy_stages, cross_entropy_columns, (QUERN_NO_DTYPE), QUERN_STAGE_COLUMNS, 0,
    INT64_MAX, 512, 0, 0, 0, 0, 0, BY_TARGET(1, 1, 1, 0, 0, 0, 0, 1))
ROW(cross_entropy_stages, cross_entropy_log_probs, (QUERN_NO_DTYPE), QUERN_STAGE_LOG_PROBS, 0,
    INT64_MAX, 256, 0, 0, 0, 0, 0, BY_TARGET(1, 1, 1, 0, 0, 0, 0, 1))
ROW(cross_entropy_stages, cross_entropy_listed, (QUERN_NO_DTYPE), QUERN_STAGE_LISTED, 0,
    INT64_MAX, 128, 0, 0, 0, 0, 0, BY_TARGET(1, 1, 1, 0, 0, 0, 0, 1))
#endif
#if SELECTED(cross_entropy_wide)
UNIT(cross_entropy_wide)
ROW(cross_entropy_wide, cross_entropy_soft, (QUERN_NO_DTYPE), QUERN_STAGE_SOFT, 0,
    INT64_MAX, 256, 0, 0, 0, 0, 0, BY_TARGET(1, 1, 1, 0, 0, 0, 0, 1))
ROW(cross_entropy_wide, cross_entropy_wide, (QUERN_NO_DTYPE), QUERN_STAGE_WIDE, 0,
    INT64_MAX, 256, 0, 0, 0, 0, 0, BY_TARGET(1, 1, 1, 0, 0, 0, 0, 1))
#endif
#if SELECTED(cross_entropy_f32_full)
UNIT(cross_entropy_f32_full)
ROW(cross_entropy_f32_full, cross_entropy_f32_streamed_full, (QUERN_F32), QUERN_STAGE_ROWS, 1,
    INT64_MAX, 512, 0, 0, 0, BY_TARGET(38464, 38464, 38464, 38464, 38464, 38464, 5696, 38464), 0, BY_TARGET(1, 1, 1, 0, 0, 0, 0, 1))
ROW(cross_entropy_f32_full, cross_entropy_f32_stats_full, (QUERN_F32), QUERN_STAGE_STATS, 1,
    INT64_MAX, 512, 0, 0, 0, 768, 0, BY_TARGET(1, 1, 1, 0, 0, 0, 0, 1))
ROW(cross_entropy_f32_full, cross_entropy_f32_gradient_full, (QUERN_F32), QUERN_STAGE_GRADIENT, 1,
    INT64_MAX, 512, 0, 0, 0, 0, 0, BY_TARGET(1, 1, 1, 0, 0, 0, 0, 1))
#endif
#if SELECTED(cross_entropy_f16_full)
UNIT(cross_entropy_f16_full)
ROW(cross_entropy_f16_full, cross_entropy_f16_streamed_full, (QUERN_F16), QUERN_STAGE_ROWS, 1,
    INT64_MAX, 512, 0, 0, 0, BY_TARGET(38464, 38464, 38464, 38464, 38464, 38464, 5696, 38464), 0, BY_TARGET(1, 1, 1, 0, 0, 0, 0, 1))
ROW(cross_entropy_f16_full, cross_entropy_f16_stats_full, (QUERN_F16), QUERN_STAGE_STATS, 1,
    INT64_MAX, 512, 0, 0, 0, 768, 0, BY_TARGET(1, 1, 1, 0, 0, 0, 0, 1))
ROW(cross_entropy_f16_full, cross_entropy_f16_gradient_full, (QUERN_F16), QUERN_STAGE_GRADIENT, 1,
    INT64_MAX, 512, 0, 0, 0, 0, 0, BY_TARGET(1, 1, 1, 0, 0, 0, 0, 1))
#endif
#if SELECTED(cross_entropy_bf16_full)
UNIT(cross_entropy_bf16_full)
ROW(cross_entropy_bf16_full, cross_entropy_bf16_streamed_full, (QUERN_BF16), QUERN_STAGE_ROWS, 1,
    INT64_MAX, 512, 0, 0, 0, BY_TARGET(38464, 38464, 38464, 38464, 38464, 38464, 5696, 38464), 0, BY_TARGET(1, 1, 1, 0, 0, 0, 0, 1))
ROW(cross_entropy_bf16_full, cross_entropy_bf16_stats_full, (QUERN_BF16), QUERN_STAGE_STATS, 1,
    INT64_MAX, 512, 0, 0, 0, 768, 0, BY_TARGET(1, 1, 1, 0, 0, 0, 0, 1))
ROW(cross_entropy_bf16_full, cross_entropy_bf16_gradient_full, (QUERN_BF16), QUERN_STAGE_GRADIENT, 1,
    INT64_MAX, 512, 0, 0, 0, 0, 0, BY_TARGET(1, 1, 1, 0, 0, 0, 0, 1))
#endif
