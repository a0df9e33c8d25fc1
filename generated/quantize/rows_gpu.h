/*
 * The rows of quantize for GPUs: included once for each target by generated/targets.h, with the macros of
 * src/kernels/table.h.  Each: unit, kernel, dtypes, task, full, vocab_max; threads, elements,
 * shared_per_column, shared_per_part, shared_fixed, cluster (struct quern_kernel).
 *
 * Rendered by gen/ from templates/build/rows_gpu.h.j2; do not edit.
 */
#if SELECTED(quantize_cast)
UNIT(quantize_cast)
ROW(quantize_cast, quantize_f32_e4m3, (QUERN_F32, QUERN_E4M3), QUERN_QUANTIZE_CAST, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(quantize_cast, quantize_f32_e5m2, (QUERN_F32, QUERN_E5M2), QUERN_QUANTIZE_CAST, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(quantize_cast, quantize_f16_e4m3, (QUERN_F16, QUERN_E4M3), QUERN_QUANTIZE_CAST, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(quantize_cast, quantize_f16_e5m2, (QUERN_F16, QUERN_E5M2), QUERN_QUANTIZE_CAST, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(quantize_cast, quantize_bf16_e4m3, (QUERN_BF16, QUERN_E4M3), QUERN_QUANTIZE_CAST, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(quantize_cast, quantize_bf16_e5m2, (QUERN_BF16, QUERN_E5M2), QUERN_QUANTIZE_CAST, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
#endif
#if SELECTED(quantize_amax)
UNIT(quantize_amax)
ROW(quantize_amax, quantize_amax_f32, (QUERN_F32, QUERN_NO_DTYPE), QUERN_QUANTIZE_AMAX, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(quantize_amax, quantize_amax_f16, (QUERN_F16, QUERN_NO_DTYPE), QUERN_QUANTIZE_AMAX, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(quantize_amax, quantize_amax_bf16, (QUERN_BF16, QUERN_NO_DTYPE), QUERN_QUANTIZE_AMAX, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
#endif
#if SELECTED(quantize_matrix)
UNIT(quantize_matrix)
ROW(quantize_matrix, quantize_matrix_f32_e4m3, (QUERN_F32, QUERN_E4M3), QUERN_QUANTIZE_MATRIX, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(quantize_matrix, quantize_matrix_f32_e5m2, (QUERN_F32, QUERN_E5M2), QUERN_QUANTIZE_MATRIX, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(quantize_matrix, quantize_matrix_f16_e4m3, (QUERN_F16, QUERN_E4M3), QUERN_QUANTIZE_MATRIX, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(quantize_matrix, quantize_matrix_f16_e5m2, (QUERN_F16, QUERN_E5M2), QUERN_QUANTIZE_MATRIX, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(quantize_matrix, quantize_matrix_bf16_e4m3, (QUERN_BF16, QUERN_E4M3), QUERN_QUANTIZE_MATRIX, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
ROW(quantize_matrix, quantize_matrix_bf16_e5m2, (QUERN_BF16, QUERN_E5M2), QUERN_QUANTIZE_MATRIX, 0,
    INT64_MAX, 256, 2048, 0, 0, 0, 0, 0)
#endif
