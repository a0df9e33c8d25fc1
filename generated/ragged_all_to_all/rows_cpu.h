/*
 * The rows of ragged_all_to_all for CPUs: included once for each target by generated/targets.h, with the macros of
 * src/kernels/table.h.  Each: member of the union of functions, kernel, dtypes, task, full,
 * vocab_max (struct quern_kernel).
 *
 * Rendered by gen/ from templates/build/rows_cpu.h.j2; do not edit.
 */
#if SELECTED(ragged_all_to_all)
ROW(ragged_all_to_all, ragged_all_to_all, (QUERN_NO_DTYPE), 0, 0, INT64_MAX)
#endif
