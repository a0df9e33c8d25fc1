/*
 * The rows of collective for CPUs: included once for each target by generated/targets.h, with the macros of
 * src/kernels/table.h.  Each: member of the union of functions, kernel, dtypes, task, full,
 * vocab_max (struct quern_kernel).
 *
 * Rendered by gen/ from templates/build/rows_cpu.h.j2; do not edit.
 */
#if SELECTED(collective_combine)
ROW(any, collective_f32, (QUERN_F32, QUERN_NO_DTYPE), QUERN_COLLECTIVE_COMBINE, 0, INT64_MAX)
ROW(any, collective_f16, (QUERN_F16, QUERN_NO_DTYPE), QUERN_COLLECTIVE_COMBINE, 0, INT64_MAX)
ROW(any, collective_bf16, (QUERN_BF16, QUERN_NO_DTYPE), QUERN_COLLECTIVE_COMBINE, 0, INT64_MAX)
#endif
#if SELECTED(collective_move)
ROW(ragged_all_to_all, collective_move, (QUERN_NO_DTYPE, QUERN_NO_DTYPE), QUERN_COLLECTIVE_MOVE, 0, INT64_MAX)
#endif
