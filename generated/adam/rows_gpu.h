/*
 * The rows of adam for GPUs: included once for each target by generated/targets.h, with the macros of
 * src/kernels/table.h.  Each: unit, kernel, dtypes, task, full, vocab_max; threads, elements,
 * shared_per_column, shared_per_part, shared_fixed, cluster (struct quern_kernel).
 *
 * Rendered by gen/ from templates/build/rows_gpu.h.j2; do not edit.
 */
#if SELECTED(adam_pf32_gf32)
UNIT(adam_pf32_gf32)
ROW(adam_pf32_gf32, adam_pf32_gf32_mf32_vf32, (QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pf32_gf32, adam_pf32_gf32_mf32_vbf16, (QUERN_F32, QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pf32_gf32, adam_pf32_gf32_mbf16_vf32, (QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pf32_gf32, adam_pf32_gf32_mbf16_vbf16, (QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
#endif
#if SELECTED(adam_pf32_gf16)
UNIT(adam_pf32_gf16)
ROW(adam_pf32_gf16, adam_pf32_gf16_mf32_vf32, (QUERN_F32, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pf32_gf16, adam_pf32_gf16_mbf16_vbf16, (QUERN_F32, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
#endif
#if SELECTED(adam_pf32_gbf16)
UNIT(adam_pf32_gbf16)
ROW(adam_pf32_gbf16, adam_pf32_gbf16_mf32_vf32, (QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pf32_gbf16, adam_pf32_gbf16_mbf16_vbf16, (QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
#endif
#if SELECTED(adam_pf16_gf32)
UNIT(adam_pf16_gf32)
ROW(adam_pf16_gf32, adam_pf16_gf32_mf32_vf32, (QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pf16_gf32, adam_pf16_gf32_mf32_vf32_master32, (QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pf16_gf32, adam_pf16_gf32_mbf16_vbf16, (QUERN_F16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pf16_gf32, adam_pf16_gf32_mbf16_vbf16_master32, (QUERN_F16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
#endif
#if SELECTED(adam_pf16_gf16)
UNIT(adam_pf16_gf16)
ROW(adam_pf16_gf16, adam_pf16_gf16_mf32_vf32, (QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pf16_gf16, adam_pf16_gf16_mf32_vf32_master32, (QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pf16_gf16, adam_pf16_gf16_mbf16_vbf16, (QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pf16_gf16, adam_pf16_gf16_mbf16_vbf16_master32, (QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_F32), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
#endif
#if SELECTED(adam_pbf16_gf32)
UNIT(adam_pbf16_gf32)
ROW(adam_pbf16_gf32, adam_pbf16_gf32_mf32_vf32, (QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gf32, adam_pbf16_gf32_mf32_vf32_master32, (QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gf32, adam_pbf16_gf32_mf32_vf32_remainder, (QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_REMAINDER), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gf32, adam_pbf16_gf32_mf32_vbf16_master32, (QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_F32), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gf32, adam_pbf16_gf32_mbf16_vf32_master32, (QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gf32, adam_pbf16_gf32_mbf16_vbf16, (QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gf32, adam_pbf16_gf32_mbf16_vbf16_master32, (QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gf32, adam_pbf16_gf32_mbf16_vbf16_remainder, (QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
#endif
#if SELECTED(adam_pbf16_gbf16)
UNIT(adam_pbf16_gbf16)
ROW(adam_pbf16_gbf16, adam_pbf16_gbf16_mf32_vf32, (QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gbf16, adam_pbf16_gbf16_mf32_vf32_master32, (QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gbf16, adam_pbf16_gbf16_mf32_vf32_remainder, (QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_REMAINDER), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gbf16, adam_pbf16_gbf16_mf32_vbf16, (QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gbf16, adam_pbf16_gbf16_mf32_vbf16_master32, (QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_F32), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gbf16, adam_pbf16_gbf16_mf32_vbf16_remainder, (QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_REMAINDER), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gbf16, adam_pbf16_gbf16_mbf16_vf32, (QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gbf16, adam_pbf16_gbf16_mbf16_vf32_master32, (QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gbf16, adam_pbf16_gbf16_mbf16_vf32_remainder, (QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_REMAINDER), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gbf16, adam_pbf16_gbf16_mbf16_vbf16, (QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gbf16, adam_pbf16_gbf16_mbf16_vbf16_master32, (QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gbf16, adam_pbf16_gbf16_mbf16_vbf16_remainder, (QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER), QUERN_ADAM_STEP, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
#endif
#if SELECTED(adam_pf32_gf32_full)
UNIT(adam_pf32_gf32_full)
ROW(adam_pf32_gf32_full, adam_pf32_gf32_mf32_vf32_full, (QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pf32_gf32_full, adam_pf32_gf32_mf16_vf16_full, (QUERN_F32, QUERN_F32, QUERN_F16, QUERN_F16, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pf32_gf32_full, adam_pf32_gf32_mbf16_vbf16_full, (QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pf32_gf32_full, adam_pf32_gf32_mbf16_ve4m3_full, (QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_E4M3, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pf32_gf32_full, adam_pf32_gf32_mbf16_ve5m2_full, (QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_E5M2, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pf32_gf32_full, adam_pf32_gf32_me4m3_ve4m3_full, (QUERN_F32, QUERN_F32, QUERN_E4M3, QUERN_E4M3, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pf32_gf32_full, adam_pf32_gf32_me4m3_ve5m2_full, (QUERN_F32, QUERN_F32, QUERN_E4M3, QUERN_E5M2, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pf32_gf32_full, adam_pf32_gf32_me5m2_ve5m2_full, (QUERN_F32, QUERN_F32, QUERN_E5M2, QUERN_E5M2, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
#endif
#if SELECTED(adam_pf32_gbf16_full)
UNIT(adam_pf32_gbf16_full)
ROW(adam_pf32_gbf16_full, adam_pf32_gbf16_mf32_vf32_full, (QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pf32_gbf16_full, adam_pf32_gbf16_mbf16_vbf16_full, (QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
#endif
#if SELECTED(adam_pf16_gf16_full)
UNIT(adam_pf16_gf16_full)
ROW(adam_pf16_gf16_full, adam_pf16_gf16_mf32_vf32_master32_full, (QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pf16_gf16_full, adam_pf16_gf16_mbf16_vbf16_master32_full, (QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_F32), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
#endif
#if SELECTED(adam_pbf16_gf32_full)
UNIT(adam_pbf16_gf32_full)
ROW(adam_pbf16_gf32_full, adam_pbf16_gf32_mf32_vf32_master32_full, (QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gf32_full, adam_pbf16_gf32_mf32_vf32_remainder_full, (QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_REMAINDER), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gf32_full, adam_pbf16_gf32_mf16_vf16_master32_full, (QUERN_BF16, QUERN_F32, QUERN_F16, QUERN_F16, QUERN_F32), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gf32_full, adam_pbf16_gf32_mbf16_vbf16_master32_full, (QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gf32_full, adam_pbf16_gf32_mbf16_vbf16_remainder_full, (QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gf32_full, adam_pbf16_gf32_mbf16_ve4m3_master32_full, (QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_E4M3, QUERN_F32), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gf32_full, adam_pbf16_gf32_mbf16_ve5m2_master32_full, (QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_E5M2, QUERN_F32), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gf32_full, adam_pbf16_gf32_me4m3_ve4m3_master32_full, (QUERN_BF16, QUERN_F32, QUERN_E4M3, QUERN_E4M3, QUERN_F32), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gf32_full, adam_pbf16_gf32_me4m3_ve5m2_master32_full, (QUERN_BF16, QUERN_F32, QUERN_E4M3, QUERN_E5M2, QUERN_F32), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gf32_full, adam_pbf16_gf32_me5m2_ve5m2_master32_full, (QUERN_BF16, QUERN_F32, QUERN_E5M2, QUERN_E5M2, QUERN_F32), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
#endif
#if SELECTED(adam_pbf16_gbf16_full)
UNIT(adam_pbf16_gbf16_full)
ROW(adam_pbf16_gbf16_full, adam_pbf16_gbf16_mf32_vf32_full, (QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gbf16_full, adam_pbf16_gbf16_mf32_vf32_master32_full, (QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gbf16_full, adam_pbf16_gbf16_mf32_vf32_remainder_full, (QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_REMAINDER), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gbf16_full, adam_pbf16_gbf16_mf16_vf16_full, (QUERN_BF16, QUERN_BF16, QUERN_F16, QUERN_F16, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gbf16_full, adam_pbf16_gbf16_mf16_vf16_remainder_full, (QUERN_BF16, QUERN_BF16, QUERN_F16, QUERN_F16, QUERN_REMAINDER), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gbf16_full, adam_pbf16_gbf16_mbf16_vbf16_full, (QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gbf16_full, adam_pbf16_gbf16_mbf16_vbf16_master32_full, (QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gbf16_full, adam_pbf16_gbf16_mbf16_vbf16_remainder_full, (QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gbf16_full, adam_pbf16_gbf16_mbf16_ve4m3_full, (QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gbf16_full, adam_pbf16_gbf16_mbf16_ve4m3_remainder_full, (QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_REMAINDER), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gbf16_full, adam_pbf16_gbf16_mbf16_ve5m2_full, (QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_E5M2, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gbf16_full, adam_pbf16_gbf16_mbf16_ve5m2_remainder_full, (QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_E5M2, QUERN_REMAINDER), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gbf16_full, adam_pbf16_gbf16_me4m3_ve4m3_full, (QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_E4M3, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gbf16_full, adam_pbf16_gbf16_me4m3_ve4m3_remainder_full, (QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_E4M3, QUERN_REMAINDER), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gbf16_full, adam_pbf16_gbf16_me4m3_ve5m2_full, (QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_E5M2, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gbf16_full, adam_pbf16_gbf16_me4m3_ve5m2_remainder_full, (QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_E5M2, QUERN_REMAINDER), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gbf16_full, adam_pbf16_gbf16_me5m2_ve5m2_full, (QUERN_BF16, QUERN_BF16, QUERN_E5M2, QUERN_E5M2, QUERN_NO_DTYPE), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(adam_pbf16_gbf16_full, adam_pbf16_gbf16_me5m2_ve5m2_remainder_full, (QUERN_BF16, QUERN_BF16, QUERN_E5M2, QUERN_E5M2, QUERN_REMAINDER), QUERN_ADAM_STEP, 1,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
#endif
#if SELECTED(gradient_norm)
UNIT(gradient_norm)
ROW(gradient_norm, adam_gradient_norm_f32, (QUERN_NO_DTYPE, QUERN_F32, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE), QUERN_GRADIENT_NORM, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(gradient_norm, adam_gradient_norm_f16, (QUERN_NO_DTYPE, QUERN_F16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE), QUERN_GRADIENT_NORM, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(gradient_norm, adam_gradient_norm_bf16, (QUERN_NO_DTYPE, QUERN_BF16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE), QUERN_GRADIENT_NORM, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
#endif
#if SELECTED(gradient_norm_combine)
UNIT(gradient_norm_combine)
ROW(gradient_norm_combine, adam_gradient_norm_combine, (QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE), QUERN_GRADIENT_NORM_COMBINE, 0,
    INT64_MAX, 256, 0, 0, 0, 0, 0, 0)
#endif
#if SELECTED(gradient_accumulate)
UNIT(gradient_accumulate)
ROW(gradient_accumulate, adam_gradient_accumulate_f32, (QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE), QUERN_GRADIENT_ACCUMULATE, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(gradient_accumulate, adam_gradient_accumulate_f32_mainbf16, (QUERN_BF16, QUERN_F32, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE), QUERN_GRADIENT_ACCUMULATE, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(gradient_accumulate, adam_gradient_accumulate_f16, (QUERN_F32, QUERN_F16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE), QUERN_GRADIENT_ACCUMULATE, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(gradient_accumulate, adam_gradient_accumulate_f16_mainbf16, (QUERN_BF16, QUERN_F16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE), QUERN_GRADIENT_ACCUMULATE, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(gradient_accumulate, adam_gradient_accumulate_bf16, (QUERN_F32, QUERN_BF16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE), QUERN_GRADIENT_ACCUMULATE, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(gradient_accumulate, adam_gradient_accumulate_bf16_mainbf16, (QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE), QUERN_GRADIENT_ACCUMULATE, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
#endif
#if SELECTED(tensor_steps)
UNIT(tensor_steps)
ROW(tensor_steps, adam_tensor_steps, (QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE), QUERN_ADAM_TENSOR_STEPS, 0,
    INT64_MAX, 256, 0, 0, 0, 0, 0, 0)
#endif
