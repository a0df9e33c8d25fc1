/*
 * The rows of ragged_all_to_all for GPUs: included once for each target by generated/targets.h, with the macros of
 * src/kernels/table.h.  Each: unit, kernel, dtypes, task, full, vocab_max; threads, elements,
 * shared_per_column, shared_per_part, shared_fixed, cluster (struct quern_kernel).
 *
 * Rendered by gen/ from templates/build/rows_gpu.h.j2; do not edit.
 */
#if SELECTED(ragged_all_to_all)
UNIT(ragged_all_to_all)
ROW(ragged_all_to_all, ragged_all_to_all, (QUERN_NO_DTYPE), 0, 0,
    INT64_MAX, 512, 0, 0, 0, 0, 0, 0)
#endif
