/*
 * The rows of quantize for CPUs: included once for each target by generated/targets.h, with the macros of
 * src/kernels/table.h.  Each: member of the union of functions, kernel, dtypes, task, full,
 * vocab_max (struct quern_kernel).
 *
 * Rendered by gen/ from templates/build/rows_cpu.h.j2; do not edit.
 */
#if SELECTED(quantize_cast)
ROW(any, quantize_f32_e4m3, (QUERN_F32, QUERN_E4M3), QUERN_QUANTIZE_CAST, 0, INT64_MAX)
ROW(any, quantize_f32_e5m2, (QUERN_F32, QUERN_E5M2), QUERN_QUANTIZE_CAST, 0, INT64_MAX)
ROW(any, quantize_f16_e4m3, (QUERN_F16, QUERN_E4M3), QUERN_QUANTIZE_CAST, 0, INT64_MAX)
ROW(any, quantize_f16_e5m2, (QUERN_F16, QUERN_E5M2), QUERN_QUANTIZE_CAST, 0, INT64_MAX)
ROW(any, quantize_bf16_e4m3, (QUERN_BF16, QUERN_E4M3), QUERN_QUANTIZE_CAST, 0, INT64_MAX)
ROW(any, quantize_bf16_e5m2, (QUERN_BF16, QUERN_E5M2), QUERN_QUANTIZE_CAST, 0, INT64_MAX)
#endif
#if SELECTED(quantize_amax)
ROW(any, quantize_amax_f32, (QUERN_F32, QUERN_NO_DTYPE), QUERN_QUANTIZE_AMAX, 0, INT64_MAX)
ROW(any, quantize_amax_f16, (QUERN_F16, QUERN_NO_DTYPE), QUERN_QUANTIZE_AMAX, 0, INT64_MAX)
ROW(any, quantize_amax_bf16, (QUERN_BF16, QUERN_NO_DTYPE), QUERN_QUANTIZE_AMAX, 0, INT64_MAX)
#endif
#if SELECTED(quantize_matrix)
ROW(any, quantize_matrix_f32_e4m3, (QUERN_F32, QUERN_E4M3), QUERN_QUANTIZE_MATRIX, 0, INT64_MAX)
ROW(any, quantize_matrix_f32_e5m2, (QUERN_F32, QUERN_E5M2), QUERN_QUANTIZE_MATRIX, 0, INT64_MAX)
ROW(any, quantize_matrix_f16_e4m3, (QUERN_F16, QUERN_E4M3), QUERN_QUANTIZE_MATRIX, 0, INT64_MAX)
ROW(any, quantize_matrix_f16_e5m2, (QUERN_F16, QUERN_E5M2), QUERN_QUANTIZE_MATRIX, 0, INT64_MAX)
ROW(any, quantize_matrix_bf16_e4m3, (QUERN_BF16, QUERN_E4M3), QUERN_QUANTIZE_MATRIX, 0, INT64_MAX)
ROW(any, quantize_matrix_bf16_e5m2, (QUERN_BF16, QUERN_E5M2), QUERN_QUANTIZE_MATRIX, 0, INT64_MAX)
#endif
