/*
 * The rows of collective for GPUs: included once for each target by generated/targets.h, with the macros of
 * src/kernels/table.h.  Each: unit, kernel, dtypes, task, full, vocab_max; threads, elements,
 * shared_per_column, shared_per_part, shared_fixed, cluster (struct quern_kernel).
 *
 * Rendered by gen/ from templates/build/rows_gpu.h.j2; do not edit.
 */
#if SELECTED(collective_combine)
UNIT(collective_combine)
ROW(collective_combine, collective_f32, (QUERN_F32, QUERN_NO_DTYPE), QUERN_COLLECTIVE_COMBINE, 0,
    INT64_MAX, 512, 0, 0, 0, 0, 0, BY_TARGET(1, 1, 1, 0, 0, 0, 0, 1))
ROW(collective_combine, collective_f16, (QUERN_F16, QUERN_NO_DTYPE), QUERN_COLLECTIVE_COMBINE, 0,
    INT64_MAX, 512, 0, 0, 0, 0, 0, BY_TARGET(1, 1, 1, 0, 0, 0, 0, 1))
ROW(collective_combine, collective_bf16, (QUERN_BF16, QUERN_NO_DTYPE), QUERN_COLLECTIVE_COMBINE, 0,
    INT64_MAX, 512, 0, 0, 0, 0, 0, BY_TARGET(1, 1, 1, 0, 0, 0, 0, 1))
#endif
#if SELECTED(collective_move)
UNIT(collective_move)
ROW(collective_move, collective_move, (QUERN_NO_DTYPE, QUERN_NO_DTYPE), QUERN_COLLECTIVE_MOVE, 0,
    INT64_MAX, 512, 0, 0, 0, 0, 0, BY_TARGET(1, 1, 1, 0, 0, 0, 0, 1))
#endif
#if SELECTED(collective_chunks)
UNIT(collective_chunks)
ROW(collective_chunks, collective_chunks_f32_e4m3, (QUERN_F32, QUERN_E4M3), QUERN_COLLECTIVE_CHUNKS, 0,
    INT64_MAX, 512, 0, 0, 0, 0, 0, 0)
ROW(collective_chunks, collective_chunks_f32_e5m2, (QUERN_F32, QUERN_E5M2), QUERN_COLLECTIVE_CHUNKS, 0,
    INT64_MAX, 512, 0, 0, 0, 0, 0, 0)
ROW(collective_chunks, collective_chunks_f16_e4m3, (QUERN_F16, QUERN_E4M3), QUERN_COLLECTIVE_CHUNKS, 0,
    INT64_MAX, 512, 0, 0, 0, 0, 0, 0)
ROW(collective_chunks, collective_chunks_f16_e5m2, (QUERN_F16, QUERN_E5M2), QUERN_COLLECTIVE_CHUNKS, 0,
    INT64_MAX, 512, 0, 0, 0, 0, 0, 0)
ROW(collective_chunks, collective_chunks_bf16_e4m3, (QUERN_BF16, QUERN_E4M3), QUERN_COLLECTIVE_CHUNKS, 0,
    INT64_MAX, 512, 0, 0, 0, 0, 0, 0)
ROW(collective_chunks, collective_chunks_bf16_e5m2, (QUERN_BF16, QUERN_E5M2), QUERN_COLLECTIVE_CHUNKS, 0,
    INT64_MAX, 512, 0, 0, 0, 0, 0, 0)
#endif
#if SELECTED(collective_block_chunks)
UNIT(collective_block_chunks)
ROW(collective_block_chunks, collective_block_chunks_f32_e4m3, (QUERN_F32, QUERN_E4M3), QUERN_COLLECTIVE_BLOCK_CHUNKS, 0,
    INT64_MAX, 512, 0, 0, 0, 0, 0, 0)
ROW(collective_block_chunks, collective_block_chunks_f32_e5m2, (QUERN_F32, QUERN_E5M2), QUERN_COLLECTIVE_BLOCK_CHUNKS, 0,
    INT64_MAX, 512, 0, 0, 0, 0, 0, 0)
ROW(collective_block_chunks, collective_block_chunks_f16_e4m3, (QUERN_F16, QUERN_E4M3), QUERN_COLLECTIVE_BLOCK_CHUNKS, 0,
    INT64_MAX, 512, 0, 0, 0, 0, 0, 0)
ROW(collective_block_chunks, collective_block_chunks_f16_e5m2, (QUERN_F16, QUERN_E5M2), QUERN_COLLECTIVE_BLOCK_CHUNKS, 0,
    INT64_MAX, 512, 0, 0, 0, 0, 0, 0)
ROW(collective_block_chunks, collective_block_chunks_bf16_e4m3, (QUERN_BF16, QUERN_E4M3), QUERN_COLLECTIVE_BLOCK_CHUNKS, 0,
    INT64_MAX, 512, 0, 0, 0, 0, 0, 0)
ROW(collective_block_chunks, collective_block_chunks_bf16_e5m2, (QUERN_BF16, QUERN_E5M2), QUERN_COLLECTIVE_BLOCK_CHUNKS, 0,
    INT64_MAX, 512, 0, 0, 0, 0, 0, 0)
#endif
#if SELECTED(collective_chunk_meeting)
UNIT(collective_chunk_meeting)
ROW(collective_chunk_meeting, collective_chunk_meeting, (QUERN_NO_DTYPE, QUERN_NO_DTYPE), QUERN_COLLECTIVE_CHUNK_MEETING, 0,
    INT64_MAX, 128, 0, 0, 0, 0, 0, 0)
#endif
