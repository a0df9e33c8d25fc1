/*
 * The kernels of cross_entropy, best first: specific GPU generations from the newest on, PTX for GPUs to come, then the CPU's
 * instruction sets; the portable rows close the list.  A request is served by the first row that fits.
 *
 * Rendered by gen/ from templates/table.c.j2; do not edit.
 */
#include "kernel.h"

extern const unsigned char quern_image_cross_entropy_f32__sm_120f[], quern_image_cross_entropy_f32__sm_120f_end[];
extern const unsigned char quern_image_cross_entropy_f16__sm_120f[], quern_image_cross_entropy_f16__sm_120f_end[];
extern const unsigned char quern_image_cross_entropy_bf16__sm_120f[], quern_image_cross_entropy_bf16__sm_120f_end[];
extern const unsigned char quern_image_cross_entropy_stages__sm_120f[], quern_image_cross_entropy_stages__sm_120f_end[];
extern const unsigned char quern_image_cross_entropy_f32__sm_100f[], quern_image_cross_entropy_f32__sm_100f_end[];
extern const unsigned char quern_image_cross_entropy_f16__sm_100f[], quern_image_cross_entropy_f16__sm_100f_end[];
extern const unsigned char quern_image_cross_entropy_bf16__sm_100f[], quern_image_cross_entropy_bf16__sm_100f_end[];
extern const unsigned char quern_image_cross_entropy_stages__sm_100f[], quern_image_cross_entropy_stages__sm_100f_end[];
extern const unsigned char quern_image_cross_entropy_f32__sm_90a[], quern_image_cross_entropy_f32__sm_90a_end[];
extern const unsigned char quern_image_cross_entropy_f16__sm_90a[], quern_image_cross_entropy_f16__sm_90a_end[];
extern const unsigned char quern_image_cross_entropy_bf16__sm_90a[], quern_image_cross_entropy_bf16__sm_90a_end[];
extern const unsigned char quern_image_cross_entropy_stages__sm_90a[], quern_image_cross_entropy_stages__sm_90a_end[];
extern const unsigned char quern_image_cross_entropy_f32__sm_89[], quern_image_cross_entropy_f32__sm_89_end[];
extern const unsigned char quern_image_cross_entropy_f16__sm_89[], quern_image_cross_entropy_f16__sm_89_end[];
extern const unsigned char quern_image_cross_entropy_bf16__sm_89[], quern_image_cross_entropy_bf16__sm_89_end[];
extern const unsigned char quern_image_cross_entropy_stages__sm_89[], quern_image_cross_entropy_stages__sm_89_end[];
extern const unsigned char quern_image_cross_entropy_f32__sm_86[], quern_image_cross_entropy_f32__sm_86_end[];
extern const unsigned char quern_image_cross_entropy_f16__sm_86[], quern_image_cross_entropy_f16__sm_86_end[];
extern const unsigned char quern_image_cross_entropy_bf16__sm_86[], quern_image_cross_entropy_bf16__sm_86_end[];
extern const unsigned char quern_image_cross_entropy_stages__sm_86[], quern_image_cross_entropy_stages__sm_86_end[];
extern const unsigned char quern_image_cross_entropy_f32__sm_80[], quern_image_cross_entropy_f32__sm_80_end[];
extern const unsigned char quern_image_cross_entropy_f16__sm_80[], quern_image_cross_entropy_f16__sm_80_end[];
extern const unsigned char quern_image_cross_entropy_bf16__sm_80[], quern_image_cross_entropy_bf16__sm_80_end[];
extern const unsigned char quern_image_cross_entropy_stages__sm_80[], quern_image_cross_entropy_stages__sm_80_end[];
extern const unsigned char quern_image_cross_entropy_f32__sm_75[], quern_image_cross_entropy_f32__sm_75_end[];
extern const unsigned char quern_image_cross_entropy_f16__sm_75[], quern_image_cross_entropy_f16__sm_75_end[];
extern const unsigned char quern_image_cross_entropy_bf16__sm_75[], quern_image_cross_entropy_bf16__sm_75_end[];
extern const unsigned char quern_image_cross_entropy_stages__sm_75[], quern_image_cross_entropy_stages__sm_75_end[];
extern const unsigned char quern_image_cross_entropy_f32__compute_90[], quern_image_cross_entropy_f32__compute_90_end[];
extern const unsigned char quern_image_cross_entropy_f16__compute_90[], quern_image_cross_entropy_f16__compute_90_end[];
extern const unsigned char quern_image_cross_entropy_bf16__compute_90[], quern_image_cross_entropy_bf16__compute_90_end[];
extern const unsigned char quern_image_cross_entropy_stages__compute_90[], quern_image_cross_entropy_stages__compute_90_end[];
quern_cross_entropy_rows_kernel quern_cross_entropy_f32__avx512;
quern_cross_entropy_rows_kernel quern_cross_entropy_f32_full__avx512;
quern_cross_entropy_part_kernel quern_cross_entropy_f32_stats__avx512;
quern_cross_entropy_part_kernel quern_cross_entropy_f32_stats_full__avx512;
quern_cross_entropy_part_kernel quern_cross_entropy_f32_gradient__avx512;
quern_cross_entropy_part_kernel quern_cross_entropy_f32_gradient_full__avx512;
quern_cross_entropy_rows_kernel quern_cross_entropy_f16__avx512;
quern_cross_entropy_rows_kernel quern_cross_entropy_f16_full__avx512;
quern_cross_entropy_part_kernel quern_cross_entropy_f16_stats__avx512;
quern_cross_entropy_part_kernel quern_cross_entropy_f16_stats_full__avx512;
quern_cross_entropy_part_kernel quern_cross_entropy_f16_gradient__avx512;
quern_cross_entropy_part_kernel quern_cross_entropy_f16_gradient_full__avx512;
quern_cross_entropy_rows_kernel quern_cross_entropy_bf16__avx512;
quern_cross_entropy_rows_kernel quern_cross_entropy_bf16_full__avx512;
quern_cross_entropy_part_kernel quern_cross_entropy_bf16_stats__avx512;
quern_cross_entropy_part_kernel quern_cross_entropy_bf16_stats_full__avx512;
quern_cross_entropy_part_kernel quern_cross_entropy_bf16_gradient__avx512;
quern_cross_entropy_part_kernel quern_cross_entropy_bf16_gradient_full__avx512;
quern_cross_entropy_rows_kernel quern_cross_entropy_f32__avx2;
quern_cross_entropy_rows_kernel quern_cross_entropy_f32_full__avx2;
quern_cross_entropy_part_kernel quern_cross_entropy_f32_stats__avx2;
quern_cross_entropy_part_kernel quern_cross_entropy_f32_stats_full__avx2;
quern_cross_entropy_part_kernel quern_cross_entropy_f32_gradient__avx2;
quern_cross_entropy_part_kernel quern_cross_entropy_f32_gradient_full__avx2;
quern_cross_entropy_rows_kernel quern_cross_entropy_f16__avx2;
quern_cross_entropy_rows_kernel quern_cross_entropy_f16_full__avx2;
quern_cross_entropy_part_kernel quern_cross_entropy_f16_stats__avx2;
quern_cross_entropy_part_kernel quern_cross_entropy_f16_stats_full__avx2;
quern_cross_entropy_part_kernel quern_cross_entropy_f16_gradient__avx2;
quern_cross_entropy_part_kernel quern_cross_entropy_f16_gradient_full__avx2;
quern_cross_entropy_rows_kernel quern_cross_entropy_bf16__avx2;
quern_cross_entropy_rows_kernel quern_cross_entropy_bf16_full__avx2;
quern_cross_entropy_part_kernel quern_cross_entropy_bf16_stats__avx2;
quern_cross_entropy_part_kernel quern_cross_entropy_bf16_stats_full__avx2;
quern_cross_entropy_part_kernel quern_cross_entropy_bf16_gradient__avx2;
quern_cross_entropy_part_kernel quern_cross_entropy_bf16_gradient_full__avx2;
quern_cross_entropy_rows_kernel quern_cross_entropy_f32__portable;
quern_cross_entropy_rows_kernel quern_cross_entropy_f32_full__portable;
quern_cross_entropy_part_kernel quern_cross_entropy_f32_stats__portable;
quern_cross_entropy_part_kernel quern_cross_entropy_f32_stats_full__portable;
quern_cross_entropy_part_kernel quern_cross_entropy_f32_gradient__portable;
quern_cross_entropy_part_kernel quern_cross_entropy_f32_gradient_full__portable;
quern_cross_entropy_rows_kernel quern_cross_entropy_f16__portable;
quern_cross_entropy_rows_kernel quern_cross_entropy_f16_full__portable;
quern_cross_entropy_part_kernel quern_cross_entropy_f16_stats__portable;
quern_cross_entropy_part_kernel quern_cross_entropy_f16_stats_full__portable;
quern_cross_entropy_part_kernel quern_cross_entropy_f16_gradient__portable;
quern_cross_entropy_part_kernel quern_cross_entropy_f16_gradient_full__portable;
quern_cross_entropy_rows_kernel quern_cross_entropy_bf16__portable;
quern_cross_entropy_rows_kernel quern_cross_entropy_bf16_full__portable;
quern_cross_entropy_part_kernel quern_cross_entropy_bf16_stats__portable;
quern_cross_entropy_part_kernel quern_cross_entropy_bf16_stats_full__portable;
quern_cross_entropy_part_kernel quern_cross_entropy_bf16_gradient__portable;
quern_cross_entropy_part_kernel quern_cross_entropy_bf16_gradient_full__portable;
const struct quern_kernel quern_cross_entropy_kernels[] = {
    {
        .name = "cross_entropy_f32_resident__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, 25088},
        .cuda = {"cross_entropy_f32_resident", quern_image_cross_entropy_f32__sm_120f, quern_image_cross_entropy_f32__sm_120f_end,
                 512, 0, 4, 0},
    },
    {
        .name = "cross_entropy_f32_streamed__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f32_streamed", quern_image_cross_entropy_f32__sm_120f, quern_image_cross_entropy_f32__sm_120f_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_f16_resident__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, 50176},
        .cuda = {"cross_entropy_f16_resident", quern_image_cross_entropy_f16__sm_120f, quern_image_cross_entropy_f16__sm_120f_end,
                 512, 0, 2, 0},
    },
    {
        .name = "cross_entropy_f16_streamed__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f16_streamed", quern_image_cross_entropy_f16__sm_120f, quern_image_cross_entropy_f16__sm_120f_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_bf16_resident__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, 50176},
        .cuda = {"cross_entropy_bf16_resident", quern_image_cross_entropy_bf16__sm_120f, quern_image_cross_entropy_bf16__sm_120f_end,
                 512, 0, 2, 0},
    },
    {
        .name = "cross_entropy_bf16_streamed__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_bf16_streamed", quern_image_cross_entropy_bf16__sm_120f, quern_image_cross_entropy_bf16__sm_120f_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_labels__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_LABELS, 0, INT64_MAX},
        .cuda = {"cross_entropy_labels", quern_image_cross_entropy_stages__sm_120f, quern_image_cross_entropy_stages__sm_120f_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_reduce__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_REDUCE, 0, INT64_MAX},
        .cuda = {"cross_entropy_reduce", quern_image_cross_entropy_stages__sm_120f, quern_image_cross_entropy_stages__sm_120f_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_f32_resident__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, 57856},
        .cuda = {"cross_entropy_f32_resident", quern_image_cross_entropy_f32__sm_100f, quern_image_cross_entropy_f32__sm_100f_end,
                 512, 0, 4, 0},
    },
    {
        .name = "cross_entropy_f32_streamed__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f32_streamed", quern_image_cross_entropy_f32__sm_100f, quern_image_cross_entropy_f32__sm_100f_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_f16_resident__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, 115712},
        .cuda = {"cross_entropy_f16_resident", quern_image_cross_entropy_f16__sm_100f, quern_image_cross_entropy_f16__sm_100f_end,
                 512, 0, 2, 0},
    },
    {
        .name = "cross_entropy_f16_streamed__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f16_streamed", quern_image_cross_entropy_f16__sm_100f, quern_image_cross_entropy_f16__sm_100f_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_bf16_resident__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, 115712},
        .cuda = {"cross_entropy_bf16_resident", quern_image_cross_entropy_bf16__sm_100f, quern_image_cross_entropy_bf16__sm_100f_end,
                 512, 0, 2, 0},
    },
    {
        .name = "cross_entropy_bf16_streamed__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_bf16_streamed", quern_image_cross_entropy_bf16__sm_100f, quern_image_cross_entropy_bf16__sm_100f_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_labels__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_LABELS, 0, INT64_MAX},
        .cuda = {"cross_entropy_labels", quern_image_cross_entropy_stages__sm_100f, quern_image_cross_entropy_stages__sm_100f_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_reduce__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_REDUCE, 0, INT64_MAX},
        .cuda = {"cross_entropy_reduce", quern_image_cross_entropy_stages__sm_100f, quern_image_cross_entropy_stages__sm_100f_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_f32_resident__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, 57856},
        .cuda = {"cross_entropy_f32_resident", quern_image_cross_entropy_f32__sm_90a, quern_image_cross_entropy_f32__sm_90a_end,
                 512, 0, 4, 0},
    },
    {
        .name = "cross_entropy_f32_streamed__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f32_streamed", quern_image_cross_entropy_f32__sm_90a, quern_image_cross_entropy_f32__sm_90a_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_f16_resident__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, 115712},
        .cuda = {"cross_entropy_f16_resident", quern_image_cross_entropy_f16__sm_90a, quern_image_cross_entropy_f16__sm_90a_end,
                 512, 0, 2, 0},
    },
    {
        .name = "cross_entropy_f16_streamed__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f16_streamed", quern_image_cross_entropy_f16__sm_90a, quern_image_cross_entropy_f16__sm_90a_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_bf16_resident__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, 115712},
        .cuda = {"cross_entropy_bf16_resident", quern_image_cross_entropy_bf16__sm_90a, quern_image_cross_entropy_bf16__sm_90a_end,
                 512, 0, 2, 0},
    },
    {
        .name = "cross_entropy_bf16_streamed__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_bf16_streamed", quern_image_cross_entropy_bf16__sm_90a, quern_image_cross_entropy_bf16__sm_90a_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_labels__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_LABELS, 0, INT64_MAX},
        .cuda = {"cross_entropy_labels", quern_image_cross_entropy_stages__sm_90a, quern_image_cross_entropy_stages__sm_90a_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_reduce__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_REDUCE, 0, INT64_MAX},
        .cuda = {"cross_entropy_reduce", quern_image_cross_entropy_stages__sm_90a, quern_image_cross_entropy_stages__sm_90a_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_f32_resident__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, 25088},
        .cuda = {"cross_entropy_f32_resident", quern_image_cross_entropy_f32__sm_89, quern_image_cross_entropy_f32__sm_89_end,
                 512, 0, 4, 0},
    },
    {
        .name = "cross_entropy_f32_streamed__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f32_streamed", quern_image_cross_entropy_f32__sm_89, quern_image_cross_entropy_f32__sm_89_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_f16_resident__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, 50176},
        .cuda = {"cross_entropy_f16_resident", quern_image_cross_entropy_f16__sm_89, quern_image_cross_entropy_f16__sm_89_end,
                 512, 0, 2, 0},
    },
    {
        .name = "cross_entropy_f16_streamed__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f16_streamed", quern_image_cross_entropy_f16__sm_89, quern_image_cross_entropy_f16__sm_89_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_bf16_resident__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, 50176},
        .cuda = {"cross_entropy_bf16_resident", quern_image_cross_entropy_bf16__sm_89, quern_image_cross_entropy_bf16__sm_89_end,
                 512, 0, 2, 0},
    },
    {
        .name = "cross_entropy_bf16_streamed__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_bf16_streamed", quern_image_cross_entropy_bf16__sm_89, quern_image_cross_entropy_bf16__sm_89_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_labels__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_LABELS, 0, INT64_MAX},
        .cuda = {"cross_entropy_labels", quern_image_cross_entropy_stages__sm_89, quern_image_cross_entropy_stages__sm_89_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_reduce__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_REDUCE, 0, INT64_MAX},
        .cuda = {"cross_entropy_reduce", quern_image_cross_entropy_stages__sm_89, quern_image_cross_entropy_stages__sm_89_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_f32_resident__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, 25088},
        .cuda = {"cross_entropy_f32_resident", quern_image_cross_entropy_f32__sm_86, quern_image_cross_entropy_f32__sm_86_end,
                 512, 0, 4, 0},
    },
    {
        .name = "cross_entropy_f32_streamed__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f32_streamed", quern_image_cross_entropy_f32__sm_86, quern_image_cross_entropy_f32__sm_86_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_f16_resident__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, 50176},
        .cuda = {"cross_entropy_f16_resident", quern_image_cross_entropy_f16__sm_86, quern_image_cross_entropy_f16__sm_86_end,
                 512, 0, 2, 0},
    },
    {
        .name = "cross_entropy_f16_streamed__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f16_streamed", quern_image_cross_entropy_f16__sm_86, quern_image_cross_entropy_f16__sm_86_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_bf16_resident__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, 50176},
        .cuda = {"cross_entropy_bf16_resident", quern_image_cross_entropy_bf16__sm_86, quern_image_cross_entropy_bf16__sm_86_end,
                 512, 0, 2, 0},
    },
    {
        .name = "cross_entropy_bf16_streamed__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_bf16_streamed", quern_image_cross_entropy_bf16__sm_86, quern_image_cross_entropy_bf16__sm_86_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_labels__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_LABELS, 0, INT64_MAX},
        .cuda = {"cross_entropy_labels", quern_image_cross_entropy_stages__sm_86, quern_image_cross_entropy_stages__sm_86_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_reduce__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_REDUCE, 0, INT64_MAX},
        .cuda = {"cross_entropy_reduce", quern_image_cross_entropy_stages__sm_86, quern_image_cross_entropy_stages__sm_86_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_f32_resident__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, 41472},
        .cuda = {"cross_entropy_f32_resident", quern_image_cross_entropy_f32__sm_80, quern_image_cross_entropy_f32__sm_80_end,
                 512, 0, 4, 0},
    },
    {
        .name = "cross_entropy_f32_streamed__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f32_streamed", quern_image_cross_entropy_f32__sm_80, quern_image_cross_entropy_f32__sm_80_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_f16_resident__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, 82944},
        .cuda = {"cross_entropy_f16_resident", quern_image_cross_entropy_f16__sm_80, quern_image_cross_entropy_f16__sm_80_end,
                 512, 0, 2, 0},
    },
    {
        .name = "cross_entropy_f16_streamed__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f16_streamed", quern_image_cross_entropy_f16__sm_80, quern_image_cross_entropy_f16__sm_80_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_bf16_resident__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, 82944},
        .cuda = {"cross_entropy_bf16_resident", quern_image_cross_entropy_bf16__sm_80, quern_image_cross_entropy_bf16__sm_80_end,
                 512, 0, 2, 0},
    },
    {
        .name = "cross_entropy_bf16_streamed__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_bf16_streamed", quern_image_cross_entropy_bf16__sm_80, quern_image_cross_entropy_bf16__sm_80_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_labels__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_LABELS, 0, INT64_MAX},
        .cuda = {"cross_entropy_labels", quern_image_cross_entropy_stages__sm_80, quern_image_cross_entropy_stages__sm_80_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_reduce__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_REDUCE, 0, INT64_MAX},
        .cuda = {"cross_entropy_reduce", quern_image_cross_entropy_stages__sm_80, quern_image_cross_entropy_stages__sm_80_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_f32_resident__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, 16128},
        .cuda = {"cross_entropy_f32_resident", quern_image_cross_entropy_f32__sm_75, quern_image_cross_entropy_f32__sm_75_end,
                 512, 0, 4, 0},
    },
    {
        .name = "cross_entropy_f32_streamed__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f32_streamed", quern_image_cross_entropy_f32__sm_75, quern_image_cross_entropy_f32__sm_75_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_f16_resident__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, 32256},
        .cuda = {"cross_entropy_f16_resident", quern_image_cross_entropy_f16__sm_75, quern_image_cross_entropy_f16__sm_75_end,
                 512, 0, 2, 0},
    },
    {
        .name = "cross_entropy_f16_streamed__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f16_streamed", quern_image_cross_entropy_f16__sm_75, quern_image_cross_entropy_f16__sm_75_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_bf16_resident__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, 32256},
        .cuda = {"cross_entropy_bf16_resident", quern_image_cross_entropy_bf16__sm_75, quern_image_cross_entropy_bf16__sm_75_end,
                 512, 0, 2, 0},
    },
    {
        .name = "cross_entropy_bf16_streamed__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_bf16_streamed", quern_image_cross_entropy_bf16__sm_75, quern_image_cross_entropy_bf16__sm_75_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_labels__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_LABELS, 0, INT64_MAX},
        .cuda = {"cross_entropy_labels", quern_image_cross_entropy_stages__sm_75, quern_image_cross_entropy_stages__sm_75_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_reduce__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_REDUCE, 0, INT64_MAX},
        .cuda = {"cross_entropy_reduce", quern_image_cross_entropy_stages__sm_75, quern_image_cross_entropy_stages__sm_75_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_f32_resident__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, 25088},
        .cuda = {"cross_entropy_f32_resident", quern_image_cross_entropy_f32__compute_90, quern_image_cross_entropy_f32__compute_90_end,
                 512, 0, 4, 0},
    },
    {
        .name = "cross_entropy_f32_streamed__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f32_streamed", quern_image_cross_entropy_f32__compute_90, quern_image_cross_entropy_f32__compute_90_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_f16_resident__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, 50176},
        .cuda = {"cross_entropy_f16_resident", quern_image_cross_entropy_f16__compute_90, quern_image_cross_entropy_f16__compute_90_end,
                 512, 0, 2, 0},
    },
    {
        .name = "cross_entropy_f16_streamed__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f16_streamed", quern_image_cross_entropy_f16__compute_90, quern_image_cross_entropy_f16__compute_90_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_bf16_resident__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, 50176},
        .cuda = {"cross_entropy_bf16_resident", quern_image_cross_entropy_bf16__compute_90, quern_image_cross_entropy_bf16__compute_90_end,
                 512, 0, 2, 0},
    },
    {
        .name = "cross_entropy_bf16_streamed__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_bf16_streamed", quern_image_cross_entropy_bf16__compute_90, quern_image_cross_entropy_bf16__compute_90_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_labels__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_LABELS, 0, INT64_MAX},
        .cuda = {"cross_entropy_labels", quern_image_cross_entropy_stages__compute_90, quern_image_cross_entropy_stages__compute_90_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_reduce__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_REDUCE, 0, INT64_MAX},
        .cuda = {"cross_entropy_reduce", quern_image_cross_entropy_stages__compute_90, quern_image_cross_entropy_stages__compute_90_end,
                 1024, 0, 0, 0},
    },
    {
        .name = "cross_entropy_f32__avx512",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cpu.cross_entropy_rows = quern_cross_entropy_f32__avx512,
    },
    {
        .name = "cross_entropy_f32_full__avx512",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 1, INT64_MAX},
        .cpu.cross_entropy_rows = quern_cross_entropy_f32_full__avx512,
    },
    {
        .name = "cross_entropy_f32_stats__avx512",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_STATS, 0, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_f32_stats__avx512,
    },
    {
        .name = "cross_entropy_f32_stats_full__avx512",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_STATS, 1, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_f32_stats_full__avx512,
    },
    {
        .name = "cross_entropy_f32_gradient__avx512",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_GRADIENT, 0, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_f32_gradient__avx512,
    },
    {
        .name = "cross_entropy_f32_gradient_full__avx512",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_GRADIENT, 1, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_f32_gradient_full__avx512,
    },
    {
        .name = "cross_entropy_f16__avx512",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cpu.cross_entropy_rows = quern_cross_entropy_f16__avx512,
    },
    {
        .name = "cross_entropy_f16_full__avx512",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 1, INT64_MAX},
        .cpu.cross_entropy_rows = quern_cross_entropy_f16_full__avx512,
    },
    {
        .name = "cross_entropy_f16_stats__avx512",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_STATS, 0, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_f16_stats__avx512,
    },
    {
        .name = "cross_entropy_f16_stats_full__avx512",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_STATS, 1, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_f16_stats_full__avx512,
    },
    {
        .name = "cross_entropy_f16_gradient__avx512",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_GRADIENT, 0, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_f16_gradient__avx512,
    },
    {
        .name = "cross_entropy_f16_gradient_full__avx512",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_GRADIENT, 1, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_f16_gradient_full__avx512,
    },
    {
        .name = "cross_entropy_bf16__avx512",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cpu.cross_entropy_rows = quern_cross_entropy_bf16__avx512,
    },
    {
        .name = "cross_entropy_bf16_full__avx512",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 1, INT64_MAX},
        .cpu.cross_entropy_rows = quern_cross_entropy_bf16_full__avx512,
    },
    {
        .name = "cross_entropy_bf16_stats__avx512",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_STATS, 0, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_bf16_stats__avx512,
    },
    {
        .name = "cross_entropy_bf16_stats_full__avx512",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_STATS, 1, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_bf16_stats_full__avx512,
    },
    {
        .name = "cross_entropy_bf16_gradient__avx512",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_GRADIENT, 0, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_bf16_gradient__avx512,
    },
    {
        .name = "cross_entropy_bf16_gradient_full__avx512",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_GRADIENT, 1, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_bf16_gradient_full__avx512,
    },
    {
        .name = "cross_entropy_f32__avx2",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cpu.cross_entropy_rows = quern_cross_entropy_f32__avx2,
    },
    {
        .name = "cross_entropy_f32_full__avx2",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 1, INT64_MAX},
        .cpu.cross_entropy_rows = quern_cross_entropy_f32_full__avx2,
    },
    {
        .name = "cross_entropy_f32_stats__avx2",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_STATS, 0, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_f32_stats__avx2,
    },
    {
        .name = "cross_entropy_f32_stats_full__avx2",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_STATS, 1, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_f32_stats_full__avx2,
    },
    {
        .name = "cross_entropy_f32_gradient__avx2",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_GRADIENT, 0, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_f32_gradient__avx2,
    },
    {
        .name = "cross_entropy_f32_gradient_full__avx2",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_GRADIENT, 1, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_f32_gradient_full__avx2,
    },
    {
        .name = "cross_entropy_f16__avx2",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cpu.cross_entropy_rows = quern_cross_entropy_f16__avx2,
    },
    {
        .name = "cross_entropy_f16_full__avx2",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 1, INT64_MAX},
        .cpu.cross_entropy_rows = quern_cross_entropy_f16_full__avx2,
    },
    {
        .name = "cross_entropy_f16_stats__avx2",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_STATS, 0, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_f16_stats__avx2,
    },
    {
        .name = "cross_entropy_f16_stats_full__avx2",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_STATS, 1, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_f16_stats_full__avx2,
    },
    {
        .name = "cross_entropy_f16_gradient__avx2",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_GRADIENT, 0, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_f16_gradient__avx2,
    },
    {
        .name = "cross_entropy_f16_gradient_full__avx2",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_GRADIENT, 1, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_f16_gradient_full__avx2,
    },
    {
        .name = "cross_entropy_bf16__avx2",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cpu.cross_entropy_rows = quern_cross_entropy_bf16__avx2,
    },
    {
        .name = "cross_entropy_bf16_full__avx2",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 1, INT64_MAX},
        .cpu.cross_entropy_rows = quern_cross_entropy_bf16_full__avx2,
    },
    {
        .name = "cross_entropy_bf16_stats__avx2",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_STATS, 0, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_bf16_stats__avx2,
    },
    {
        .name = "cross_entropy_bf16_stats_full__avx2",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_STATS, 1, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_bf16_stats_full__avx2,
    },
    {
        .name = "cross_entropy_bf16_gradient__avx2",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_GRADIENT, 0, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_bf16_gradient__avx2,
    },
    {
        .name = "cross_entropy_bf16_gradient_full__avx2",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_GRADIENT, 1, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_bf16_gradient_full__avx2,
    },
    {
        .name = "cross_entropy_f32__portable",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cpu.cross_entropy_rows = quern_cross_entropy_f32__portable,
    },
    {
        .name = "cross_entropy_f32_full__portable",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 1, INT64_MAX},
        .cpu.cross_entropy_rows = quern_cross_entropy_f32_full__portable,
    },
    {
        .name = "cross_entropy_f32_stats__portable",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_STATS, 0, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_f32_stats__portable,
    },
    {
        .name = "cross_entropy_f32_stats_full__portable",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_STATS, 1, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_f32_stats_full__portable,
    },
    {
        .name = "cross_entropy_f32_gradient__portable",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_GRADIENT, 0, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_f32_gradient__portable,
    },
    {
        .name = "cross_entropy_f32_gradient_full__portable",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_GRADIENT, 1, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_f32_gradient_full__portable,
    },
    {
        .name = "cross_entropy_f16__portable",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cpu.cross_entropy_rows = quern_cross_entropy_f16__portable,
    },
    {
        .name = "cross_entropy_f16_full__portable",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 1, INT64_MAX},
        .cpu.cross_entropy_rows = quern_cross_entropy_f16_full__portable,
    },
    {
        .name = "cross_entropy_f16_stats__portable",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_STATS, 0, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_f16_stats__portable,
    },
    {
        .name = "cross_entropy_f16_stats_full__portable",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_STATS, 1, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_f16_stats_full__portable,
    },
    {
        .name = "cross_entropy_f16_gradient__portable",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_GRADIENT, 0, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_f16_gradient__portable,
    },
    {
        .name = "cross_entropy_f16_gradient_full__portable",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_GRADIENT, 1, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_f16_gradient_full__portable,
    },
    {
        .name = "cross_entropy_bf16__portable",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cpu.cross_entropy_rows = quern_cross_entropy_bf16__portable,
    },
    {
        .name = "cross_entropy_bf16_full__portable",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 1, INT64_MAX},
        .cpu.cross_entropy_rows = quern_cross_entropy_bf16_full__portable,
    },
    {
        .name = "cross_entropy_bf16_stats__portable",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_STATS, 0, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_bf16_stats__portable,
    },
    {
        .name = "cross_entropy_bf16_stats_full__portable",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_STATS, 1, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_bf16_stats_full__portable,
    },
    {
        .name = "cross_entropy_bf16_gradient__portable",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_GRADIENT, 0, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_bf16_gradient__portable,
    },
    {
        .name = "cross_entropy_bf16_gradient_full__portable",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_GRADIENT, 1, INT64_MAX},
        .cpu.cross_entropy_part = quern_cross_entropy_bf16_gradient_full__portable,
    },
    {.name = ""},
};
