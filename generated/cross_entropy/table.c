/*
 * The kernels of cross_entropy, best first: specific GPU generations from the newest on, PTX for GPUs to come, then the CPU's
 * instruction sets; the portable rows close the list.  A request is served by the first row that fits.
 *
 * A build that defines QUERN_SELECTED(target, unit) has the rows of those units alone for which it is not 0.
 *
 * Rendered by gen/ from templates/build/table.c.j2; do not edit.
 */
#include "kernels/kernel.h"

#ifndef QUERN_SELECTED
#define QUERN_SELECTED(target, unit) 1
#endif

extern const unsigned char quern_image_cross_entropy_f32__sm_120f[], quern_image_cross_entropy_f32__sm_120f_end[];
extern const unsigned char quern_image_cross_entropy_f32_full__sm_120f[], quern_image_cross_entropy_f32_full__sm_120f_end[];
extern const unsigned char quern_image_cross_entropy_f16__sm_120f[], quern_image_cross_entropy_f16__sm_120f_end[];
extern const unsigned char quern_image_cross_entropy_f16_full__sm_120f[], quern_image_cross_entropy_f16_full__sm_120f_end[];
extern const unsigned char quern_image_cross_entropy_bf16__sm_120f[], quern_image_cross_entropy_bf16__sm_120f_end[];
extern const unsigned char quern_image_cross_entropy_bf16_full__sm_120f[], quern_image_cross_entropy_bf16_full__sm_120f_end[];
extern const unsigned char quern_image_cross_entropy_stages__sm_120f[], quern_image_cross_entropy_stages__sm_120f_end[];
extern const unsigned char quern_image_cross_entropy_f32__sm_100f[], quern_image_cross_entropy_f32__sm_100f_end[];
extern const unsigned char quern_image_cross_entropy_f32_full__sm_100f[], quern_image_cross_entropy_f32_full__sm_100f_end[];
extern const unsigned char quern_image_cross_entropy_f16__sm_100f[], quern_image_cross_entropy_f16__sm_100f_end[];
extern const unsigned char quern_image_cross_entropy_f16_full__sm_100f[], quern_image_cross_entropy_f16_full__sm_100f_end[];
extern const unsigned char quern_image_cross_entropy_bf16__sm_100f[], quern_image_cross_entropy_bf16__sm_100f_end[];
extern const unsigned char quern_image_cross_entropy_bf16_full__sm_100f[], quern_image_cross_entropy_bf16_full__sm_100f_end[];
extern const unsigned char quern_image_cross_entropy_stages__sm_100f[], quern_image_cross_entropy_stages__sm_100f_end[];
extern const unsigned char quern_image_cross_entropy_f32__sm_90a[], quern_image_cross_entropy_f32__sm_90a_end[];
extern const unsigned char quern_image_cross_entropy_f32_full__sm_90a[], quern_image_cross_entropy_f32_full__sm_90a_end[];
extern const unsigned char quern_image_cross_entropy_f16__sm_90a[], quern_image_cross_entropy_f16__sm_90a_end[];
extern const unsigned char quern_image_cross_entropy_f16_full__sm_90a[], quern_image_cross_entropy_f16_full__sm_90a_end[];
extern const unsigned char quern_image_cross_entropy_bf16__sm_90a[], quern_image_cross_entropy_bf16__sm_90a_end[];
extern const unsigned char quern_image_cross_entropy_bf16_full__sm_90a[], quern_image_cross_entropy_bf16_full__sm_90a_end[];
extern const unsigned char quern_image_cross_entropy_stages__sm_90a[], quern_image_cross_entropy_stages__sm_90a_end[];
extern const unsigned char quern_image_cross_entropy_f32__sm_89[], quern_image_cross_entropy_f32__sm_89_end[];
extern const unsigned char quern_image_cross_entropy_f32_full__sm_89[], quern_image_cross_entropy_f32_full__sm_89_end[];
extern const unsigned char quern_image_cross_entropy_f16__sm_89[], quern_image_cross_entropy_f16__sm_89_end[];
extern const unsigned char quern_image_cross_entropy_f16_full__sm_89[], quern_image_cross_entropy_f16_full__sm_89_end[];
extern const unsigned char quern_image_cross_entropy_bf16__sm_89[], quern_image_cross_entropy_bf16__sm_89_end[];
extern const unsigned char quern_image_cross_entropy_bf16_full__sm_89[], quern_image_cross_entropy_bf16_full__sm_89_end[];
extern const unsigned char quern_image_cross_entropy_stages__sm_89[], quern_image_cross_entropy_stages__sm_89_end[];
extern const unsigned char quern_image_cross_entropy_f32__sm_86[], quern_image_cross_entropy_f32__sm_86_end[];
extern const unsigned char quern_image_cross_entropy_f32_full__sm_86[], quern_image_cross_entropy_f32_full__sm_86_end[];
extern const unsigned char quern_image_cross_entropy_f16__sm_86[], quern_image_cross_entropy_f16__sm_86_end[];
extern const unsigned char quern_image_cross_entropy_f16_full__sm_86[], quern_image_cross_entropy_f16_full__sm_86_end[];
extern const unsigned char quern_image_cross_entropy_bf16__sm_86[], quern_image_cross_entropy_bf16__sm_86_end[];
extern const unsigned char quern_image_cross_entropy_bf16_full__sm_86[], quern_image_cross_entropy_bf16_full__sm_86_end[];
extern const unsigned char quern_image_cross_entropy_stages__sm_86[], quern_image_cross_entropy_stages__sm_86_end[];
extern const unsigned char quern_image_cross_entropy_f32__sm_80[], quern_image_cross_entropy_f32__sm_80_end[];
extern const unsigned char quern_image_cross_entropy_f32_full__sm_80[], quern_image_cross_entropy_f32_full__sm_80_end[];
extern const unsigned char quern_image_cross_entropy_f16__sm_80[], quern_image_cross_entropy_f16__sm_80_end[];
extern const unsigned char quern_image_cross_entropy_f16_full__sm_80[], quern_image_cross_entropy_f16_full__sm_80_end[];
extern const unsigned char quern_image_cross_entropy_bf16__sm_80[], quern_image_cross_entropy_bf16__sm_80_end[];
extern const unsigned char quern_image_cross_entropy_bf16_full__sm_80[], quern_image_cross_entropy_bf16_full__sm_80_end[];
extern const unsigned char quern_image_cross_entropy_stages__sm_80[], quern_image_cross_entropy_stages__sm_80_end[];
extern const unsigned char quern_image_cross_entropy_f32__sm_75[], quern_image_cross_entropy_f32__sm_75_end[];
extern const unsigned char quern_image_cross_entropy_f32_full__sm_75[], quern_image_cross_entropy_f32_full__sm_75_end[];
extern const unsigned char quern_image_cross_entropy_f16__sm_75[], quern_image_cross_entropy_f16__sm_75_end[];
extern const unsigned char quern_image_cross_entropy_f16_full__sm_75[], quern_image_cross_entropy_f16_full__sm_75_end[];
extern const unsigned char quern_image_cross_entropy_bf16__sm_75[], quern_image_cross_entropy_bf16__sm_75_end[];
extern const unsigned char quern_image_cross_entropy_bf16_full__sm_75[], quern_image_cross_entropy_bf16_full__sm_75_end[];
extern const unsigned char quern_image_cross_entropy_stages__sm_75[], quern_image_cross_entropy_stages__sm_75_end[];
extern const unsigned char quern_image_cross_entropy_f32__compute_90[], quern_image_cross_entropy_f32__compute_90_end[];
extern const unsigned char quern_image_cross_entropy_f32_full__compute_90[], quern_image_cross_entropy_f32_full__compute_90_end[];
extern const unsigned char quern_image_cross_entropy_f16__compute_90[], quern_image_cross_entropy_f16__compute_90_end[];
extern const unsigned char quern_image_cross_entropy_f16_full__compute_90[], quern_image_cross_entropy_f16_full__compute_90_end[];
extern const unsigned char quern_image_cross_entropy_bf16__compute_90[], quern_image_cross_entropy_bf16__compute_90_end[];
extern const unsigned char quern_image_cross_entropy_bf16_full__compute_90[], quern_image_cross_entropy_bf16_full__compute_90_end[];
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
#if QUERN_SELECTED(sm_120f, cross_entropy_f32)
    {
        .name = "cross_entropy_f32_resident__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, 24992},
        .cuda = {"cross_entropy_f32_resident", quern_image_cross_entropy_f32__sm_120f, quern_image_cross_entropy_f32__sm_120f_end,
                 512, 0, 4, 336, 64, 0},
    },
    {
        .name = "cross_entropy_f32_cluster__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, 196608},
        .cuda = {"cross_entropy_f32_cluster", quern_image_cross_entropy_f32__sm_120f, quern_image_cross_entropy_f32__sm_120f_end,
                 512, 0, 0, 33104, 64, 8},
    },
    {
        .name = "cross_entropy_f32_streamed__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f32_streamed", quern_image_cross_entropy_f32__sm_120f, quern_image_cross_entropy_f32__sm_120f_end,
                 512, 0, 0, 0, 35520, 0},
    },
    {
        .name = "cross_entropy_f32_stats__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_STATS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f32_stats", quern_image_cross_entropy_f32__sm_120f, quern_image_cross_entropy_f32__sm_120f_end,
                 512, 0, 0, 0, 400, 0},
    },
    {
        .name = "cross_entropy_f32_gradient__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_GRADIENT, 0, INT64_MAX},
        .cuda = {"cross_entropy_f32_gradient", quern_image_cross_entropy_f32__sm_120f, quern_image_cross_entropy_f32__sm_120f_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_120f, cross_entropy_f32_full)
    {
        .name = "cross_entropy_f32_resident_full__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 1, 24608},
        .cuda = {"cross_entropy_f32_resident_full", quern_image_cross_entropy_f32_full__sm_120f, quern_image_cross_entropy_f32_full__sm_120f_end,
                 512, 0, 4, 720, 64, 0},
    },
    {
        .name = "cross_entropy_f32_cluster_full__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 1, 196608},
        .cuda = {"cross_entropy_f32_cluster_full", quern_image_cross_entropy_f32_full__sm_120f, quern_image_cross_entropy_f32_full__sm_120f_end,
                 512, 0, 0, 33488, 64, 8},
    },
    {
        .name = "cross_entropy_f32_streamed_full__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 1, INT64_MAX},
        .cuda = {"cross_entropy_f32_streamed_full", quern_image_cross_entropy_f32_full__sm_120f, quern_image_cross_entropy_f32_full__sm_120f_end,
                 512, 0, 0, 0, 38592, 0},
    },
    {
        .name = "cross_entropy_f32_stats_full__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_STATS, 1, INT64_MAX},
        .cuda = {"cross_entropy_f32_stats_full", quern_image_cross_entropy_f32_full__sm_120f, quern_image_cross_entropy_f32_full__sm_120f_end,
                 512, 0, 0, 0, 784, 0},
    },
    {
        .name = "cross_entropy_f32_gradient_full__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_GRADIENT, 1, INT64_MAX},
        .cuda = {"cross_entropy_f32_gradient_full", quern_image_cross_entropy_f32_full__sm_120f, quern_image_cross_entropy_f32_full__sm_120f_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_120f, cross_entropy_f16)
    {
        .name = "cross_entropy_f16_resident__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, 49984},
        .cuda = {"cross_entropy_f16_resident", quern_image_cross_entropy_f16__sm_120f, quern_image_cross_entropy_f16__sm_120f_end,
                 512, 0, 2, 336, 64, 0},
    },
    {
        .name = "cross_entropy_f16_cluster__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, 393216},
        .cuda = {"cross_entropy_f16_cluster", quern_image_cross_entropy_f16__sm_120f, quern_image_cross_entropy_f16__sm_120f_end,
                 512, 0, 0, 33104, 64, 8},
    },
    {
        .name = "cross_entropy_f16_streamed__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f16_streamed", quern_image_cross_entropy_f16__sm_120f, quern_image_cross_entropy_f16__sm_120f_end,
                 512, 0, 0, 0, 35520, 0},
    },
    {
        .name = "cross_entropy_f16_stats__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_STATS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f16_stats", quern_image_cross_entropy_f16__sm_120f, quern_image_cross_entropy_f16__sm_120f_end,
                 512, 0, 0, 0, 400, 0},
    },
    {
        .name = "cross_entropy_f16_gradient__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_GRADIENT, 0, INT64_MAX},
        .cuda = {"cross_entropy_f16_gradient", quern_image_cross_entropy_f16__sm_120f, quern_image_cross_entropy_f16__sm_120f_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_120f, cross_entropy_f16_full)
    {
        .name = "cross_entropy_f16_resident_full__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 1, 49216},
        .cuda = {"cross_entropy_f16_resident_full", quern_image_cross_entropy_f16_full__sm_120f, quern_image_cross_entropy_f16_full__sm_120f_end,
                 512, 0, 2, 720, 64, 0},
    },
    {
        .name = "cross_entropy_f16_cluster_full__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 1, 393216},
        .cuda = {"cross_entropy_f16_cluster_full", quern_image_cross_entropy_f16_full__sm_120f, quern_image_cross_entropy_f16_full__sm_120f_end,
                 512, 0, 0, 33488, 64, 8},
    },
    {
        .name = "cross_entropy_f16_streamed_full__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 1, INT64_MAX},
        .cuda = {"cross_entropy_f16_streamed_full", quern_image_cross_entropy_f16_full__sm_120f, quern_image_cross_entropy_f16_full__sm_120f_end,
                 512, 0, 0, 0, 38592, 0},
    },
    {
        .name = "cross_entropy_f16_stats_full__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_STATS, 1, INT64_MAX},
        .cuda = {"cross_entropy_f16_stats_full", quern_image_cross_entropy_f16_full__sm_120f, quern_image_cross_entropy_f16_full__sm_120f_end,
                 512, 0, 0, 0, 784, 0},
    },
    {
        .name = "cross_entropy_f16_gradient_full__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_GRADIENT, 1, INT64_MAX},
        .cuda = {"cross_entropy_f16_gradient_full", quern_image_cross_entropy_f16_full__sm_120f, quern_image_cross_entropy_f16_full__sm_120f_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_120f, cross_entropy_bf16)
    {
        .name = "cross_entropy_bf16_resident__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, 49984},
        .cuda = {"cross_entropy_bf16_resident", quern_image_cross_entropy_bf16__sm_120f, quern_image_cross_entropy_bf16__sm_120f_end,
                 512, 0, 2, 336, 64, 0},
    },
    {
        .name = "cross_entropy_bf16_cluster__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, 393216},
        .cuda = {"cross_entropy_bf16_cluster", quern_image_cross_entropy_bf16__sm_120f, quern_image_cross_entropy_bf16__sm_120f_end,
                 512, 0, 0, 33104, 64, 8},
    },
    {
        .name = "cross_entropy_bf16_streamed__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_bf16_streamed", quern_image_cross_entropy_bf16__sm_120f, quern_image_cross_entropy_bf16__sm_120f_end,
                 512, 0, 0, 0, 35520, 0},
    },
    {
        .name = "cross_entropy_bf16_stats__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_STATS, 0, INT64_MAX},
        .cuda = {"cross_entropy_bf16_stats", quern_image_cross_entropy_bf16__sm_120f, quern_image_cross_entropy_bf16__sm_120f_end,
                 512, 0, 0, 0, 400, 0},
    },
    {
        .name = "cross_entropy_bf16_gradient__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_GRADIENT, 0, INT64_MAX},
        .cuda = {"cross_entropy_bf16_gradient", quern_image_cross_entropy_bf16__sm_120f, quern_image_cross_entropy_bf16__sm_120f_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_120f, cross_entropy_bf16_full)
    {
        .name = "cross_entropy_bf16_resident_full__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 1, 49216},
        .cuda = {"cross_entropy_bf16_resident_full", quern_image_cross_entropy_bf16_full__sm_120f, quern_image_cross_entropy_bf16_full__sm_120f_end,
                 512, 0, 2, 720, 64, 0},
    },
    {
        .name = "cross_entropy_bf16_cluster_full__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 1, 393216},
        .cuda = {"cross_entropy_bf16_cluster_full", quern_image_cross_entropy_bf16_full__sm_120f, quern_image_cross_entropy_bf16_full__sm_120f_end,
                 512, 0, 0, 33488, 64, 8},
    },
    {
        .name = "cross_entropy_bf16_streamed_full__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 1, INT64_MAX},
        .cuda = {"cross_entropy_bf16_streamed_full", quern_image_cross_entropy_bf16_full__sm_120f, quern_image_cross_entropy_bf16_full__sm_120f_end,
                 512, 0, 0, 0, 38592, 0},
    },
    {
        .name = "cross_entropy_bf16_stats_full__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_STATS, 1, INT64_MAX},
        .cuda = {"cross_entropy_bf16_stats_full", quern_image_cross_entropy_bf16_full__sm_120f, quern_image_cross_entropy_bf16_full__sm_120f_end,
                 512, 0, 0, 0, 784, 0},
    },
    {
        .name = "cross_entropy_bf16_gradient_full__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_GRADIENT, 1, INT64_MAX},
        .cuda = {"cross_entropy_bf16_gradient_full", quern_image_cross_entropy_bf16_full__sm_120f, quern_image_cross_entropy_bf16_full__sm_120f_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_120f, cross_entropy_stages)
    {
        .name = "cross_entropy_combine__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_COMBINE, 0, INT64_MAX},
        .cuda = {"cross_entropy_combine", quern_image_cross_entropy_stages__sm_120f, quern_image_cross_entropy_stages__sm_120f_end,
                 256, 0, 0, 0, 0, 0},
    },
    {
        .name = "cross_entropy_labels__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_LABELS, 0, INT64_MAX},
        .cuda = {"cross_entropy_labels", quern_image_cross_entropy_stages__sm_120f, quern_image_cross_entropy_stages__sm_120f_end,
                 1024, 0, 0, 0, 0, 0},
    },
    {
        .name = "cross_entropy_reduce__sm_120f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_REDUCE, 0, INT64_MAX},
        .cuda = {"cross_entropy_reduce", quern_image_cross_entropy_stages__sm_120f, quern_image_cross_entropy_stages__sm_120f_end,
                 1024, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_100f, cross_entropy_f32)
    {
        .name = "cross_entropy_f32_resident__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, 57424},
        .cuda = {"cross_entropy_f32_resident", quern_image_cross_entropy_f32__sm_100f, quern_image_cross_entropy_f32__sm_100f_end,
                 512, 0, 4, 336, 64, 0},
    },
    {
        .name = "cross_entropy_f32_cluster__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, 458752},
        .cuda = {"cross_entropy_f32_cluster", quern_image_cross_entropy_f32__sm_100f, quern_image_cross_entropy_f32__sm_100f_end,
                 512, 0, 0, 33104, 64, 8},
    },
    {
        .name = "cross_entropy_f32_streamed__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f32_streamed", quern_image_cross_entropy_f32__sm_100f, quern_image_cross_entropy_f32__sm_100f_end,
                 512, 0, 0, 0, 35520, 0},
    },
    {
        .name = "cross_entropy_f32_stats__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_STATS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f32_stats", quern_image_cross_entropy_f32__sm_100f, quern_image_cross_entropy_f32__sm_100f_end,
                 512, 0, 0, 0, 400, 0},
    },
    {
        .name = "cross_entropy_f32_gradient__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_GRADIENT, 0, INT64_MAX},
        .cuda = {"cross_entropy_f32_gradient", quern_image_cross_entropy_f32__sm_100f, quern_image_cross_entropy_f32__sm_100f_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_100f, cross_entropy_f32_full)
    {
        .name = "cross_entropy_f32_resident_full__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 1, 56836},
        .cuda = {"cross_entropy_f32_resident_full", quern_image_cross_entropy_f32_full__sm_100f, quern_image_cross_entropy_f32_full__sm_100f_end,
                 512, 0, 4, 720, 64, 0},
    },
    {
        .name = "cross_entropy_f32_cluster_full__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 1, 393216},
        .cuda = {"cross_entropy_f32_cluster_full", quern_image_cross_entropy_f32_full__sm_100f, quern_image_cross_entropy_f32_full__sm_100f_end,
                 512, 0, 0, 33488, 64, 8},
    },
    {
        .name = "cross_entropy_f32_streamed_full__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 1, INT64_MAX},
        .cuda = {"cross_entropy_f32_streamed_full", quern_image_cross_entropy_f32_full__sm_100f, quern_image_cross_entropy_f32_full__sm_100f_end,
                 512, 0, 0, 0, 38592, 0},
    },
    {
        .name = "cross_entropy_f32_stats_full__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_STATS, 1, INT64_MAX},
        .cuda = {"cross_entropy_f32_stats_full", quern_image_cross_entropy_f32_full__sm_100f, quern_image_cross_entropy_f32_full__sm_100f_end,
                 512, 0, 0, 0, 784, 0},
    },
    {
        .name = "cross_entropy_f32_gradient_full__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_GRADIENT, 1, INT64_MAX},
        .cuda = {"cross_entropy_f32_gradient_full", quern_image_cross_entropy_f32_full__sm_100f, quern_image_cross_entropy_f32_full__sm_100f_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_100f, cross_entropy_f16)
    {
        .name = "cross_entropy_f16_resident__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, 114848},
        .cuda = {"cross_entropy_f16_resident", quern_image_cross_entropy_f16__sm_100f, quern_image_cross_entropy_f16__sm_100f_end,
                 512, 0, 2, 336, 64, 0},
    },
    {
        .name = "cross_entropy_f16_cluster__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, 917504},
        .cuda = {"cross_entropy_f16_cluster", quern_image_cross_entropy_f16__sm_100f, quern_image_cross_entropy_f16__sm_100f_end,
                 512, 0, 0, 33104, 64, 8},
    },
    {
        .name = "cross_entropy_f16_streamed__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f16_streamed", quern_image_cross_entropy_f16__sm_100f, quern_image_cross_entropy_f16__sm_100f_end,
                 512, 0, 0, 0, 35520, 0},
    },
    {
        .name = "cross_entropy_f16_stats__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_STATS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f16_stats", quern_image_cross_entropy_f16__sm_100f, quern_image_cross_entropy_f16__sm_100f_end,
                 512, 0, 0, 0, 400, 0},
    },
    {
        .name = "cross_entropy_f16_gradient__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_GRADIENT, 0, INT64_MAX},
        .cuda = {"cross_entropy_f16_gradient", quern_image_cross_entropy_f16__sm_100f, quern_image_cross_entropy_f16__sm_100f_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_100f, cross_entropy_f16_full)
    {
        .name = "cross_entropy_f16_resident_full__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 1, 113672},
        .cuda = {"cross_entropy_f16_resident_full", quern_image_cross_entropy_f16_full__sm_100f, quern_image_cross_entropy_f16_full__sm_100f_end,
                 512, 0, 2, 720, 64, 0},
    },
    {
        .name = "cross_entropy_f16_cluster_full__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 1, 786432},
        .cuda = {"cross_entropy_f16_cluster_full", quern_image_cross_entropy_f16_full__sm_100f, quern_image_cross_entropy_f16_full__sm_100f_end,
                 512, 0, 0, 33488, 64, 8},
    },
    {
        .name = "cross_entropy_f16_streamed_full__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 1, INT64_MAX},
        .cuda = {"cross_entropy_f16_streamed_full", quern_image_cross_entropy_f16_full__sm_100f, quern_image_cross_entropy_f16_full__sm_100f_end,
                 512, 0, 0, 0, 38592, 0},
    },
    {
        .name = "cross_entropy_f16_stats_full__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_STATS, 1, INT64_MAX},
        .cuda = {"cross_entropy_f16_stats_full", quern_image_cross_entropy_f16_full__sm_100f, quern_image_cross_entropy_f16_full__sm_100f_end,
                 512, 0, 0, 0, 784, 0},
    },
    {
        .name = "cross_entropy_f16_gradient_full__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_GRADIENT, 1, INT64_MAX},
        .cuda = {"cross_entropy_f16_gradient_full", quern_image_cross_entropy_f16_full__sm_100f, quern_image_cross_entropy_f16_full__sm_100f_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_100f, cross_entropy_bf16)
    {
        .name = "cross_entropy_bf16_resident__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, 114848},
        .cuda = {"cross_entropy_bf16_resident", quern_image_cross_entropy_bf16__sm_100f, quern_image_cross_entropy_bf16__sm_100f_end,
                 512, 0, 2, 336, 64, 0},
    },
    {
        .name = "cross_entropy_bf16_cluster__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, 917504},
        .cuda = {"cross_entropy_bf16_cluster", quern_image_cross_entropy_bf16__sm_100f, quern_image_cross_entropy_bf16__sm_100f_end,
                 512, 0, 0, 33104, 64, 8},
    },
    {
        .name = "cross_entropy_bf16_streamed__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_bf16_streamed", quern_image_cross_entropy_bf16__sm_100f, quern_image_cross_entropy_bf16__sm_100f_end,
                 512, 0, 0, 0, 35520, 0},
    },
    {
        .name = "cross_entropy_bf16_stats__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_STATS, 0, INT64_MAX},
        .cuda = {"cross_entropy_bf16_stats", quern_image_cross_entropy_bf16__sm_100f, quern_image_cross_entropy_bf16__sm_100f_end,
                 512, 0, 0, 0, 400, 0},
    },
    {
        .name = "cross_entropy_bf16_gradient__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_GRADIENT, 0, INT64_MAX},
        .cuda = {"cross_entropy_bf16_gradient", quern_image_cross_entropy_bf16__sm_100f, quern_image_cross_entropy_bf16__sm_100f_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_100f, cross_entropy_bf16_full)
    {
        .name = "cross_entropy_bf16_resident_full__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 1, 113672},
        .cuda = {"cross_entropy_bf16_resident_full", quern_image_cross_entropy_bf16_full__sm_100f, quern_image_cross_entropy_bf16_full__sm_100f_end,
                 512, 0, 2, 720, 64, 0},
    },
    {
        .name = "cross_entropy_bf16_cluster_full__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 1, 786432},
        .cuda = {"cross_entropy_bf16_cluster_full", quern_image_cross_entropy_bf16_full__sm_100f, quern_image_cross_entropy_bf16_full__sm_100f_end,
                 512, 0, 0, 33488, 64, 8},
    },
    {
        .name = "cross_entropy_bf16_streamed_full__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 1, INT64_MAX},
        .cuda = {"cross_entropy_bf16_streamed_full", quern_image_cross_entropy_bf16_full__sm_100f, quern_image_cross_entropy_bf16_full__sm_100f_end,
                 512, 0, 0, 0, 38592, 0},
    },
    {
        .name = "cross_entropy_bf16_stats_full__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_STATS, 1, INT64_MAX},
        .cuda = {"cross_entropy_bf16_stats_full", quern_image_cross_entropy_bf16_full__sm_100f, quern_image_cross_entropy_bf16_full__sm_100f_end,
                 512, 0, 0, 0, 784, 0},
    },
    {
        .name = "cross_entropy_bf16_gradient_full__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_GRADIENT, 1, INT64_MAX},
        .cuda = {"cross_entropy_bf16_gradient_full", quern_image_cross_entropy_bf16_full__sm_100f, quern_image_cross_entropy_bf16_full__sm_100f_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_100f, cross_entropy_stages)
    {
        .name = "cross_entropy_combine__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_COMBINE, 0, INT64_MAX},
        .cuda = {"cross_entropy_combine", quern_image_cross_entropy_stages__sm_100f, quern_image_cross_entropy_stages__sm_100f_end,
                 256, 0, 0, 0, 0, 0},
    },
    {
        .name = "cross_entropy_labels__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_LABELS, 0, INT64_MAX},
        .cuda = {"cross_entropy_labels", quern_image_cross_entropy_stages__sm_100f, quern_image_cross_entropy_stages__sm_100f_end,
                 1024, 0, 0, 0, 0, 0},
    },
    {
        .name = "cross_entropy_reduce__sm_100f",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_REDUCE, 0, INT64_MAX},
        .cuda = {"cross_entropy_reduce", quern_image_cross_entropy_stages__sm_100f, quern_image_cross_entropy_stages__sm_100f_end,
                 1024, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_90a, cross_entropy_f32)
    {
        .name = "cross_entropy_f32_resident__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, 57424},
        .cuda = {"cross_entropy_f32_resident", quern_image_cross_entropy_f32__sm_90a, quern_image_cross_entropy_f32__sm_90a_end,
                 512, 0, 4, 336, 64, 0},
    },
    {
        .name = "cross_entropy_f32_cluster__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, 458752},
        .cuda = {"cross_entropy_f32_cluster", quern_image_cross_entropy_f32__sm_90a, quern_image_cross_entropy_f32__sm_90a_end,
                 512, 0, 0, 33104, 64, 8},
    },
    {
        .name = "cross_entropy_f32_streamed__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f32_streamed", quern_image_cross_entropy_f32__sm_90a, quern_image_cross_entropy_f32__sm_90a_end,
                 512, 0, 0, 0, 35520, 0},
    },
    {
        .name = "cross_entropy_f32_stats__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_STATS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f32_stats", quern_image_cross_entropy_f32__sm_90a, quern_image_cross_entropy_f32__sm_90a_end,
                 512, 0, 0, 0, 400, 0},
    },
    {
        .name = "cross_entropy_f32_gradient__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_GRADIENT, 0, INT64_MAX},
        .cuda = {"cross_entropy_f32_gradient", quern_image_cross_entropy_f32__sm_90a, quern_image_cross_entropy_f32__sm_90a_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_90a, cross_entropy_f32_full)
    {
        .name = "cross_entropy_f32_resident_full__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 1, 56836},
        .cuda = {"cross_entropy_f32_resident_full", quern_image_cross_entropy_f32_full__sm_90a, quern_image_cross_entropy_f32_full__sm_90a_end,
                 512, 0, 4, 720, 64, 0},
    },
    {
        .name = "cross_entropy_f32_cluster_full__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 1, 393216},
        .cuda = {"cross_entropy_f32_cluster_full", quern_image_cross_entropy_f32_full__sm_90a, quern_image_cross_entropy_f32_full__sm_90a_end,
                 512, 0, 0, 33488, 64, 8},
    },
    {
        .name = "cross_entropy_f32_streamed_full__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 1, INT64_MAX},
        .cuda = {"cross_entropy_f32_streamed_full", quern_image_cross_entropy_f32_full__sm_90a, quern_image_cross_entropy_f32_full__sm_90a_end,
                 512, 0, 0, 0, 38592, 0},
    },
    {
        .name = "cross_entropy_f32_stats_full__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_STATS, 1, INT64_MAX},
        .cuda = {"cross_entropy_f32_stats_full", quern_image_cross_entropy_f32_full__sm_90a, quern_image_cross_entropy_f32_full__sm_90a_end,
                 512, 0, 0, 0, 784, 0},
    },
    {
        .name = "cross_entropy_f32_gradient_full__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_GRADIENT, 1, INT64_MAX},
        .cuda = {"cross_entropy_f32_gradient_full", quern_image_cross_entropy_f32_full__sm_90a, quern_image_cross_entropy_f32_full__sm_90a_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_90a, cross_entropy_f16)
    {
        .name = "cross_entropy_f16_resident__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, 114848},
        .cuda = {"cross_entropy_f16_resident", quern_image_cross_entropy_f16__sm_90a, quern_image_cross_entropy_f16__sm_90a_end,
                 512, 0, 2, 336, 64, 0},
    },
    {
        .name = "cross_entropy_f16_cluster__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, 917504},
        .cuda = {"cross_entropy_f16_cluster", quern_image_cross_entropy_f16__sm_90a, quern_image_cross_entropy_f16__sm_90a_end,
                 512, 0, 0, 33104, 64, 8},
    },
    {
        .name = "cross_entropy_f16_streamed__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f16_streamed", quern_image_cross_entropy_f16__sm_90a, quern_image_cross_entropy_f16__sm_90a_end,
                 512, 0, 0, 0, 35520, 0},
    },
    {
        .name = "cross_entropy_f16_stats__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_STATS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f16_stats", quern_image_cross_entropy_f16__sm_90a, quern_image_cross_entropy_f16__sm_90a_end,
                 512, 0, 0, 0, 400, 0},
    },
    {
        .name = "cross_entropy_f16_gradient__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_GRADIENT, 0, INT64_MAX},
        .cuda = {"cross_entropy_f16_gradient", quern_image_cross_entropy_f16__sm_90a, quern_image_cross_entropy_f16__sm_90a_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_90a, cross_entropy_f16_full)
    {
        .name = "cross_entropy_f16_resident_full__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 1, 113672},
        .cuda = {"cross_entropy_f16_resident_full", quern_image_cross_entropy_f16_full__sm_90a, quern_image_cross_entropy_f16_full__sm_90a_end,
                 512, 0, 2, 720, 64, 0},
    },
    {
        .name = "cross_entropy_f16_cluster_full__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 1, 786432},
        .cuda = {"cross_entropy_f16_cluster_full", quern_image_cross_entropy_f16_full__sm_90a, quern_image_cross_entropy_f16_full__sm_90a_end,
                 512, 0, 0, 33488, 64, 8},
    },
    {
        .name = "cross_entropy_f16_streamed_full__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 1, INT64_MAX},
        .cuda = {"cross_entropy_f16_streamed_full", quern_image_cross_entropy_f16_full__sm_90a, quern_image_cross_entropy_f16_full__sm_90a_end,
                 512, 0, 0, 0, 38592, 0},
    },
    {
        .name = "cross_entropy_f16_stats_full__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_STATS, 1, INT64_MAX},
        .cuda = {"cross_entropy_f16_stats_full", quern_image_cross_entropy_f16_full__sm_90a, quern_image_cross_entropy_f16_full__sm_90a_end,
                 512, 0, 0, 0, 784, 0},
    },
    {
        .name = "cross_entropy_f16_gradient_full__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_GRADIENT, 1, INT64_MAX},
        .cuda = {"cross_entropy_f16_gradient_full", quern_image_cross_entropy_f16_full__sm_90a, quern_image_cross_entropy_f16_full__sm_90a_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_90a, cross_entropy_bf16)
    {
        .name = "cross_entropy_bf16_resident__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, 114848},
        .cuda = {"cross_entropy_bf16_resident", quern_image_cross_entropy_bf16__sm_90a, quern_image_cross_entropy_bf16__sm_90a_end,
                 512, 0, 2, 336, 64, 0},
    },
    {
        .name = "cross_entropy_bf16_cluster__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, 917504},
        .cuda = {"cross_entropy_bf16_cluster", quern_image_cross_entropy_bf16__sm_90a, quern_image_cross_entropy_bf16__sm_90a_end,
                 512, 0, 0, 33104, 64, 8},
    },
    {
        .name = "cross_entropy_bf16_streamed__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_bf16_streamed", quern_image_cross_entropy_bf16__sm_90a, quern_image_cross_entropy_bf16__sm_90a_end,
                 512, 0, 0, 0, 35520, 0},
    },
    {
        .name = "cross_entropy_bf16_stats__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_STATS, 0, INT64_MAX},
        .cuda = {"cross_entropy_bf16_stats", quern_image_cross_entropy_bf16__sm_90a, quern_image_cross_entropy_bf16__sm_90a_end,
                 512, 0, 0, 0, 400, 0},
    },
    {
        .name = "cross_entropy_bf16_gradient__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_GRADIENT, 0, INT64_MAX},
        .cuda = {"cross_entropy_bf16_gradient", quern_image_cross_entropy_bf16__sm_90a, quern_image_cross_entropy_bf16__sm_90a_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_90a, cross_entropy_bf16_full)
    {
        .name = "cross_entropy_bf16_resident_full__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 1, 113672},
        .cuda = {"cross_entropy_bf16_resident_full", quern_image_cross_entropy_bf16_full__sm_90a, quern_image_cross_entropy_bf16_full__sm_90a_end,
                 512, 0, 2, 720, 64, 0},
    },
    {
        .name = "cross_entropy_bf16_cluster_full__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 1, 786432},
        .cuda = {"cross_entropy_bf16_cluster_full", quern_image_cross_entropy_bf16_full__sm_90a, quern_image_cross_entropy_bf16_full__sm_90a_end,
                 512, 0, 0, 33488, 64, 8},
    },
    {
        .name = "cross_entropy_bf16_streamed_full__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 1, INT64_MAX},
        .cuda = {"cross_entropy_bf16_streamed_full", quern_image_cross_entropy_bf16_full__sm_90a, quern_image_cross_entropy_bf16_full__sm_90a_end,
                 512, 0, 0, 0, 38592, 0},
    },
    {
        .name = "cross_entropy_bf16_stats_full__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_STATS, 1, INT64_MAX},
        .cuda = {"cross_entropy_bf16_stats_full", quern_image_cross_entropy_bf16_full__sm_90a, quern_image_cross_entropy_bf16_full__sm_90a_end,
                 512, 0, 0, 0, 784, 0},
    },
    {
        .name = "cross_entropy_bf16_gradient_full__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_GRADIENT, 1, INT64_MAX},
        .cuda = {"cross_entropy_bf16_gradient_full", quern_image_cross_entropy_bf16_full__sm_90a, quern_image_cross_entropy_bf16_full__sm_90a_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_90a, cross_entropy_stages)
    {
        .name = "cross_entropy_combine__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_COMBINE, 0, INT64_MAX},
        .cuda = {"cross_entropy_combine", quern_image_cross_entropy_stages__sm_90a, quern_image_cross_entropy_stages__sm_90a_end,
                 256, 0, 0, 0, 0, 0},
    },
    {
        .name = "cross_entropy_labels__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_LABELS, 0, INT64_MAX},
        .cuda = {"cross_entropy_labels", quern_image_cross_entropy_stages__sm_90a, quern_image_cross_entropy_stages__sm_90a_end,
                 1024, 0, 0, 0, 0, 0},
    },
    {
        .name = "cross_entropy_reduce__sm_90a",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_REDUCE, 0, INT64_MAX},
        .cuda = {"cross_entropy_reduce", quern_image_cross_entropy_stages__sm_90a, quern_image_cross_entropy_stages__sm_90a_end,
                 1024, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_89, cross_entropy_f32)
    {
        .name = "cross_entropy_f32_resident__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, 24992},
        .cuda = {"cross_entropy_f32_resident", quern_image_cross_entropy_f32__sm_89, quern_image_cross_entropy_f32__sm_89_end,
                 512, 0, 4, 336, 64, 0},
    },
    {
        .name = "cross_entropy_f32_streamed__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f32_streamed", quern_image_cross_entropy_f32__sm_89, quern_image_cross_entropy_f32__sm_89_end,
                 512, 0, 0, 0, 35520, 0},
    },
    {
        .name = "cross_entropy_f32_stats__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_STATS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f32_stats", quern_image_cross_entropy_f32__sm_89, quern_image_cross_entropy_f32__sm_89_end,
                 512, 0, 0, 0, 400, 0},
    },
    {
        .name = "cross_entropy_f32_gradient__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_GRADIENT, 0, INT64_MAX},
        .cuda = {"cross_entropy_f32_gradient", quern_image_cross_entropy_f32__sm_89, quern_image_cross_entropy_f32__sm_89_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_89, cross_entropy_f32_full)
    {
        .name = "cross_entropy_f32_resident_full__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 1, 24608},
        .cuda = {"cross_entropy_f32_resident_full", quern_image_cross_entropy_f32_full__sm_89, quern_image_cross_entropy_f32_full__sm_89_end,
                 512, 0, 4, 720, 64, 0},
    },
    {
        .name = "cross_entropy_f32_streamed_full__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 1, INT64_MAX},
        .cuda = {"cross_entropy_f32_streamed_full", quern_image_cross_entropy_f32_full__sm_89, quern_image_cross_entropy_f32_full__sm_89_end,
                 512, 0, 0, 0, 38592, 0},
    },
    {
        .name = "cross_entropy_f32_stats_full__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_STATS, 1, INT64_MAX},
        .cuda = {"cross_entropy_f32_stats_full", quern_image_cross_entropy_f32_full__sm_89, quern_image_cross_entropy_f32_full__sm_89_end,
                 512, 0, 0, 0, 784, 0},
    },
    {
        .name = "cross_entropy_f32_gradient_full__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_GRADIENT, 1, INT64_MAX},
        .cuda = {"cross_entropy_f32_gradient_full", quern_image_cross_entropy_f32_full__sm_89, quern_image_cross_entropy_f32_full__sm_89_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_89, cross_entropy_f16)
    {
        .name = "cross_entropy_f16_resident__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, 49984},
        .cuda = {"cross_entropy_f16_resident", quern_image_cross_entropy_f16__sm_89, quern_image_cross_entropy_f16__sm_89_end,
                 512, 0, 2, 336, 64, 0},
    },
    {
        .name = "cross_entropy_f16_streamed__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f16_streamed", quern_image_cross_entropy_f16__sm_89, quern_image_cross_entropy_f16__sm_89_end,
                 512, 0, 0, 0, 35520, 0},
    },
    {
        .name = "cross_entropy_f16_stats__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_STATS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f16_stats", quern_image_cross_entropy_f16__sm_89, quern_image_cross_entropy_f16__sm_89_end,
                 512, 0, 0, 0, 400, 0},
    },
    {
        .name = "cross_entropy_f16_gradient__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_GRADIENT, 0, INT64_MAX},
        .cuda = {"cross_entropy_f16_gradient", quern_image_cross_entropy_f16__sm_89, quern_image_cross_entropy_f16__sm_89_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_89, cross_entropy_f16_full)
    {
        .name = "cross_entropy_f16_resident_full__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 1, 49216},
        .cuda = {"cross_entropy_f16_resident_full", quern_image_cross_entropy_f16_full__sm_89, quern_image_cross_entropy_f16_full__sm_89_end,
                 512, 0, 2, 720, 64, 0},
    },
    {
        .name = "cross_entropy_f16_streamed_full__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 1, INT64_MAX},
        .cuda = {"cross_entropy_f16_streamed_full", quern_image_cross_entropy_f16_full__sm_89, quern_image_cross_entropy_f16_full__sm_89_end,
                 512, 0, 0, 0, 38592, 0},
    },
    {
        .name = "cross_entropy_f16_stats_full__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_STATS, 1, INT64_MAX},
        .cuda = {"cross_entropy_f16_stats_full", quern_image_cross_entropy_f16_full__sm_89, quern_image_cross_entropy_f16_full__sm_89_end,
                 512, 0, 0, 0, 784, 0},
    },
    {
        .name = "cross_entropy_f16_gradient_full__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_GRADIENT, 1, INT64_MAX},
        .cuda = {"cross_entropy_f16_gradient_full", quern_image_cross_entropy_f16_full__sm_89, quern_image_cross_entropy_f16_full__sm_89_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_89, cross_entropy_bf16)
    {
        .name = "cross_entropy_bf16_resident__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, 49984},
        .cuda = {"cross_entropy_bf16_resident", quern_image_cross_entropy_bf16__sm_89, quern_image_cross_entropy_bf16__sm_89_end,
                 512, 0, 2, 336, 64, 0},
    },
    {
        .name = "cross_entropy_bf16_streamed__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_bf16_streamed", quern_image_cross_entropy_bf16__sm_89, quern_image_cross_entropy_bf16__sm_89_end,
                 512, 0, 0, 0, 35520, 0},
    },
    {
        .name = "cross_entropy_bf16_stats__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_STATS, 0, INT64_MAX},
        .cuda = {"cross_entropy_bf16_stats", quern_image_cross_entropy_bf16__sm_89, quern_image_cross_entropy_bf16__sm_89_end,
                 512, 0, 0, 0, 400, 0},
    },
    {
        .name = "cross_entropy_bf16_gradient__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_GRADIENT, 0, INT64_MAX},
        .cuda = {"cross_entropy_bf16_gradient", quern_image_cross_entropy_bf16__sm_89, quern_image_cross_entropy_bf16__sm_89_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_89, cross_entropy_bf16_full)
    {
        .name = "cross_entropy_bf16_resident_full__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 1, 49216},
        .cuda = {"cross_entropy_bf16_resident_full", quern_image_cross_entropy_bf16_full__sm_89, quern_image_cross_entropy_bf16_full__sm_89_end,
                 512, 0, 2, 720, 64, 0},
    },
    {
        .name = "cross_entropy_bf16_streamed_full__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 1, INT64_MAX},
        .cuda = {"cross_entropy_bf16_streamed_full", quern_image_cross_entropy_bf16_full__sm_89, quern_image_cross_entropy_bf16_full__sm_89_end,
                 512, 0, 0, 0, 38592, 0},
    },
    {
        .name = "cross_entropy_bf16_stats_full__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_STATS, 1, INT64_MAX},
        .cuda = {"cross_entropy_bf16_stats_full", quern_image_cross_entropy_bf16_full__sm_89, quern_image_cross_entropy_bf16_full__sm_89_end,
                 512, 0, 0, 0, 784, 0},
    },
    {
        .name = "cross_entropy_bf16_gradient_full__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_GRADIENT, 1, INT64_MAX},
        .cuda = {"cross_entropy_bf16_gradient_full", quern_image_cross_entropy_bf16_full__sm_89, quern_image_cross_entropy_bf16_full__sm_89_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_89, cross_entropy_stages)
    {
        .name = "cross_entropy_combine__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_COMBINE, 0, INT64_MAX},
        .cuda = {"cross_entropy_combine", quern_image_cross_entropy_stages__sm_89, quern_image_cross_entropy_stages__sm_89_end,
                 256, 0, 0, 0, 0, 0},
    },
    {
        .name = "cross_entropy_labels__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_LABELS, 0, INT64_MAX},
        .cuda = {"cross_entropy_labels", quern_image_cross_entropy_stages__sm_89, quern_image_cross_entropy_stages__sm_89_end,
                 1024, 0, 0, 0, 0, 0},
    },
    {
        .name = "cross_entropy_reduce__sm_89",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_REDUCE, 0, INT64_MAX},
        .cuda = {"cross_entropy_reduce", quern_image_cross_entropy_stages__sm_89, quern_image_cross_entropy_stages__sm_89_end,
                 1024, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_86, cross_entropy_f32)
    {
        .name = "cross_entropy_f32_resident__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, 24992},
        .cuda = {"cross_entropy_f32_resident", quern_image_cross_entropy_f32__sm_86, quern_image_cross_entropy_f32__sm_86_end,
                 512, 0, 4, 336, 64, 0},
    },
    {
        .name = "cross_entropy_f32_streamed__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f32_streamed", quern_image_cross_entropy_f32__sm_86, quern_image_cross_entropy_f32__sm_86_end,
                 512, 0, 0, 0, 35520, 0},
    },
    {
        .name = "cross_entropy_f32_stats__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_STATS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f32_stats", quern_image_cross_entropy_f32__sm_86, quern_image_cross_entropy_f32__sm_86_end,
                 512, 0, 0, 0, 400, 0},
    },
    {
        .name = "cross_entropy_f32_gradient__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_GRADIENT, 0, INT64_MAX},
        .cuda = {"cross_entropy_f32_gradient", quern_image_cross_entropy_f32__sm_86, quern_image_cross_entropy_f32__sm_86_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_86, cross_entropy_f32_full)
    {
        .name = "cross_entropy_f32_resident_full__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 1, 24608},
        .cuda = {"cross_entropy_f32_resident_full", quern_image_cross_entropy_f32_full__sm_86, quern_image_cross_entropy_f32_full__sm_86_end,
                 512, 0, 4, 720, 64, 0},
    },
    {
        .name = "cross_entropy_f32_streamed_full__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 1, INT64_MAX},
        .cuda = {"cross_entropy_f32_streamed_full", quern_image_cross_entropy_f32_full__sm_86, quern_image_cross_entropy_f32_full__sm_86_end,
                 512, 0, 0, 0, 38592, 0},
    },
    {
        .name = "cross_entropy_f32_stats_full__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_STATS, 1, INT64_MAX},
        .cuda = {"cross_entropy_f32_stats_full", quern_image_cross_entropy_f32_full__sm_86, quern_image_cross_entropy_f32_full__sm_86_end,
                 512, 0, 0, 0, 784, 0},
    },
    {
        .name = "cross_entropy_f32_gradient_full__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_GRADIENT, 1, INT64_MAX},
        .cuda = {"cross_entropy_f32_gradient_full", quern_image_cross_entropy_f32_full__sm_86, quern_image_cross_entropy_f32_full__sm_86_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_86, cross_entropy_f16)
    {
        .name = "cross_entropy_f16_resident__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, 49984},
        .cuda = {"cross_entropy_f16_resident", quern_image_cross_entropy_f16__sm_86, quern_image_cross_entropy_f16__sm_86_end,
                 512, 0, 2, 336, 64, 0},
    },
    {
        .name = "cross_entropy_f16_streamed__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f16_streamed", quern_image_cross_entropy_f16__sm_86, quern_image_cross_entropy_f16__sm_86_end,
                 512, 0, 0, 0, 35520, 0},
    },
    {
        .name = "cross_entropy_f16_stats__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_STATS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f16_stats", quern_image_cross_entropy_f16__sm_86, quern_image_cross_entropy_f16__sm_86_end,
                 512, 0, 0, 0, 400, 0},
    },
    {
        .name = "cross_entropy_f16_gradient__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_GRADIENT, 0, INT64_MAX},
        .cuda = {"cross_entropy_f16_gradient", quern_image_cross_entropy_f16__sm_86, quern_image_cross_entropy_f16__sm_86_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_86, cross_entropy_f16_full)
    {
        .name = "cross_entropy_f16_resident_full__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 1, 49216},
        .cuda = {"cross_entropy_f16_resident_full", quern_image_cross_entropy_f16_full__sm_86, quern_image_cross_entropy_f16_full__sm_86_end,
                 512, 0, 2, 720, 64, 0},
    },
    {
        .name = "cross_entropy_f16_streamed_full__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 1, INT64_MAX},
        .cuda = {"cross_entropy_f16_streamed_full", quern_image_cross_entropy_f16_full__sm_86, quern_image_cross_entropy_f16_full__sm_86_end,
                 512, 0, 0, 0, 38592, 0},
    },
    {
        .name = "cross_entropy_f16_stats_full__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_STATS, 1, INT64_MAX},
        .cuda = {"cross_entropy_f16_stats_full", quern_image_cross_entropy_f16_full__sm_86, quern_image_cross_entropy_f16_full__sm_86_end,
                 512, 0, 0, 0, 784, 0},
    },
    {
        .name = "cross_entropy_f16_gradient_full__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_GRADIENT, 1, INT64_MAX},
        .cuda = {"cross_entropy_f16_gradient_full", quern_image_cross_entropy_f16_full__sm_86, quern_image_cross_entropy_f16_full__sm_86_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_86, cross_entropy_bf16)
    {
        .name = "cross_entropy_bf16_resident__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, 49984},
        .cuda = {"cross_entropy_bf16_resident", quern_image_cross_entropy_bf16__sm_86, quern_image_cross_entropy_bf16__sm_86_end,
                 512, 0, 2, 336, 64, 0},
    },
    {
        .name = "cross_entropy_bf16_streamed__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_bf16_streamed", quern_image_cross_entropy_bf16__sm_86, quern_image_cross_entropy_bf16__sm_86_end,
                 512, 0, 0, 0, 35520, 0},
    },
    {
        .name = "cross_entropy_bf16_stats__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_STATS, 0, INT64_MAX},
        .cuda = {"cross_entropy_bf16_stats", quern_image_cross_entropy_bf16__sm_86, quern_image_cross_entropy_bf16__sm_86_end,
                 512, 0, 0, 0, 400, 0},
    },
    {
        .name = "cross_entropy_bf16_gradient__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_GRADIENT, 0, INT64_MAX},
        .cuda = {"cross_entropy_bf16_gradient", quern_image_cross_entropy_bf16__sm_86, quern_image_cross_entropy_bf16__sm_86_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_86, cross_entropy_bf16_full)
    {
        .name = "cross_entropy_bf16_resident_full__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 1, 49216},
        .cuda = {"cross_entropy_bf16_resident_full", quern_image_cross_entropy_bf16_full__sm_86, quern_image_cross_entropy_bf16_full__sm_86_end,
                 512, 0, 2, 720, 64, 0},
    },
    {
        .name = "cross_entropy_bf16_streamed_full__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 1, INT64_MAX},
        .cuda = {"cross_entropy_bf16_streamed_full", quern_image_cross_entropy_bf16_full__sm_86, quern_image_cross_entropy_bf16_full__sm_86_end,
                 512, 0, 0, 0, 38592, 0},
    },
    {
        .name = "cross_entropy_bf16_stats_full__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_STATS, 1, INT64_MAX},
        .cuda = {"cross_entropy_bf16_stats_full", quern_image_cross_entropy_bf16_full__sm_86, quern_image_cross_entropy_bf16_full__sm_86_end,
                 512, 0, 0, 0, 784, 0},
    },
    {
        .name = "cross_entropy_bf16_gradient_full__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_GRADIENT, 1, INT64_MAX},
        .cuda = {"cross_entropy_bf16_gradient_full", quern_image_cross_entropy_bf16_full__sm_86, quern_image_cross_entropy_bf16_full__sm_86_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_86, cross_entropy_stages)
    {
        .name = "cross_entropy_combine__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_COMBINE, 0, INT64_MAX},
        .cuda = {"cross_entropy_combine", quern_image_cross_entropy_stages__sm_86, quern_image_cross_entropy_stages__sm_86_end,
                 256, 0, 0, 0, 0, 0},
    },
    {
        .name = "cross_entropy_labels__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_LABELS, 0, INT64_MAX},
        .cuda = {"cross_entropy_labels", quern_image_cross_entropy_stages__sm_86, quern_image_cross_entropy_stages__sm_86_end,
                 1024, 0, 0, 0, 0, 0},
    },
    {
        .name = "cross_entropy_reduce__sm_86",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_REDUCE, 0, INT64_MAX},
        .cuda = {"cross_entropy_reduce", quern_image_cross_entropy_stages__sm_86, quern_image_cross_entropy_stages__sm_86_end,
                 1024, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_80, cross_entropy_f32)
    {
        .name = "cross_entropy_f32_resident__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, 41208},
        .cuda = {"cross_entropy_f32_resident", quern_image_cross_entropy_f32__sm_80, quern_image_cross_entropy_f32__sm_80_end,
                 512, 0, 4, 336, 64, 0},
    },
    {
        .name = "cross_entropy_f32_streamed__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f32_streamed", quern_image_cross_entropy_f32__sm_80, quern_image_cross_entropy_f32__sm_80_end,
                 512, 0, 0, 0, 35520, 0},
    },
    {
        .name = "cross_entropy_f32_stats__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_STATS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f32_stats", quern_image_cross_entropy_f32__sm_80, quern_image_cross_entropy_f32__sm_80_end,
                 512, 0, 0, 0, 400, 0},
    },
    {
        .name = "cross_entropy_f32_gradient__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_GRADIENT, 0, INT64_MAX},
        .cuda = {"cross_entropy_f32_gradient", quern_image_cross_entropy_f32__sm_80, quern_image_cross_entropy_f32__sm_80_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_80, cross_entropy_f32_full)
    {
        .name = "cross_entropy_f32_resident_full__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 1, 40812},
        .cuda = {"cross_entropy_f32_resident_full", quern_image_cross_entropy_f32_full__sm_80, quern_image_cross_entropy_f32_full__sm_80_end,
                 512, 0, 4, 720, 64, 0},
    },
    {
        .name = "cross_entropy_f32_streamed_full__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 1, INT64_MAX},
        .cuda = {"cross_entropy_f32_streamed_full", quern_image_cross_entropy_f32_full__sm_80, quern_image_cross_entropy_f32_full__sm_80_end,
                 512, 0, 0, 0, 38592, 0},
    },
    {
        .name = "cross_entropy_f32_stats_full__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_STATS, 1, INT64_MAX},
        .cuda = {"cross_entropy_f32_stats_full", quern_image_cross_entropy_f32_full__sm_80, quern_image_cross_entropy_f32_full__sm_80_end,
                 512, 0, 0, 0, 784, 0},
    },
    {
        .name = "cross_entropy_f32_gradient_full__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_GRADIENT, 1, INT64_MAX},
        .cuda = {"cross_entropy_f32_gradient_full", quern_image_cross_entropy_f32_full__sm_80, quern_image_cross_entropy_f32_full__sm_80_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_80, cross_entropy_f16)
    {
        .name = "cross_entropy_f16_resident__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, 82416},
        .cuda = {"cross_entropy_f16_resident", quern_image_cross_entropy_f16__sm_80, quern_image_cross_entropy_f16__sm_80_end,
                 512, 0, 2, 336, 64, 0},
    },
    {
        .name = "cross_entropy_f16_streamed__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f16_streamed", quern_image_cross_entropy_f16__sm_80, quern_image_cross_entropy_f16__sm_80_end,
                 512, 0, 0, 0, 35520, 0},
    },
    {
        .name = "cross_entropy_f16_stats__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_STATS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f16_stats", quern_image_cross_entropy_f16__sm_80, quern_image_cross_entropy_f16__sm_80_end,
                 512, 0, 0, 0, 400, 0},
    },
    {
        .name = "cross_entropy_f16_gradient__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_GRADIENT, 0, INT64_MAX},
        .cuda = {"cross_entropy_f16_gradient", quern_image_cross_entropy_f16__sm_80, quern_image_cross_entropy_f16__sm_80_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_80, cross_entropy_f16_full)
    {
        .name = "cross_entropy_f16_resident_full__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 1, 81624},
        .cuda = {"cross_entropy_f16_resident_full", quern_image_cross_entropy_f16_full__sm_80, quern_image_cross_entropy_f16_full__sm_80_end,
                 512, 0, 2, 720, 64, 0},
    },
    {
        .name = "cross_entropy_f16_streamed_full__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 1, INT64_MAX},
        .cuda = {"cross_entropy_f16_streamed_full", quern_image_cross_entropy_f16_full__sm_80, quern_image_cross_entropy_f16_full__sm_80_end,
                 512, 0, 0, 0, 38592, 0},
    },
    {
        .name = "cross_entropy_f16_stats_full__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_STATS, 1, INT64_MAX},
        .cuda = {"cross_entropy_f16_stats_full", quern_image_cross_entropy_f16_full__sm_80, quern_image_cross_entropy_f16_full__sm_80_end,
                 512, 0, 0, 0, 784, 0},
    },
    {
        .name = "cross_entropy_f16_gradient_full__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_GRADIENT, 1, INT64_MAX},
        .cuda = {"cross_entropy_f16_gradient_full", quern_image_cross_entropy_f16_full__sm_80, quern_image_cross_entropy_f16_full__sm_80_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_80, cross_entropy_bf16)
    {
        .name = "cross_entropy_bf16_resident__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, 82416},
        .cuda = {"cross_entropy_bf16_resident", quern_image_cross_entropy_bf16__sm_80, quern_image_cross_entropy_bf16__sm_80_end,
                 512, 0, 2, 336, 64, 0},
    },
    {
        .name = "cross_entropy_bf16_streamed__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_bf16_streamed", quern_image_cross_entropy_bf16__sm_80, quern_image_cross_entropy_bf16__sm_80_end,
                 512, 0, 0, 0, 35520, 0},
    },
    {
        .name = "cross_entropy_bf16_stats__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_STATS, 0, INT64_MAX},
        .cuda = {"cross_entropy_bf16_stats", quern_image_cross_entropy_bf16__sm_80, quern_image_cross_entropy_bf16__sm_80_end,
                 512, 0, 0, 0, 400, 0},
    },
    {
        .name = "cross_entropy_bf16_gradient__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_GRADIENT, 0, INT64_MAX},
        .cuda = {"cross_entropy_bf16_gradient", quern_image_cross_entropy_bf16__sm_80, quern_image_cross_entropy_bf16__sm_80_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_80, cross_entropy_bf16_full)
    {
        .name = "cross_entropy_bf16_resident_full__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 1, 81624},
        .cuda = {"cross_entropy_bf16_resident_full", quern_image_cross_entropy_bf16_full__sm_80, quern_image_cross_entropy_bf16_full__sm_80_end,
                 512, 0, 2, 720, 64, 0},
    },
    {
        .name = "cross_entropy_bf16_streamed_full__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 1, INT64_MAX},
        .cuda = {"cross_entropy_bf16_streamed_full", quern_image_cross_entropy_bf16_full__sm_80, quern_image_cross_entropy_bf16_full__sm_80_end,
                 512, 0, 0, 0, 38592, 0},
    },
    {
        .name = "cross_entropy_bf16_stats_full__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_STATS, 1, INT64_MAX},
        .cuda = {"cross_entropy_bf16_stats_full", quern_image_cross_entropy_bf16_full__sm_80, quern_image_cross_entropy_bf16_full__sm_80_end,
                 512, 0, 0, 0, 784, 0},
    },
    {
        .name = "cross_entropy_bf16_gradient_full__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_GRADIENT, 1, INT64_MAX},
        .cuda = {"cross_entropy_bf16_gradient_full", quern_image_cross_entropy_bf16_full__sm_80, quern_image_cross_entropy_bf16_full__sm_80_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_80, cross_entropy_stages)
    {
        .name = "cross_entropy_combine__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_COMBINE, 0, INT64_MAX},
        .cuda = {"cross_entropy_combine", quern_image_cross_entropy_stages__sm_80, quern_image_cross_entropy_stages__sm_80_end,
                 256, 0, 0, 0, 0, 0},
    },
    {
        .name = "cross_entropy_labels__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_LABELS, 0, INT64_MAX},
        .cuda = {"cross_entropy_labels", quern_image_cross_entropy_stages__sm_80, quern_image_cross_entropy_stages__sm_80_end,
                 1024, 0, 0, 0, 0, 0},
    },
    {
        .name = "cross_entropy_reduce__sm_80",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_REDUCE, 0, INT64_MAX},
        .cuda = {"cross_entropy_reduce", quern_image_cross_entropy_stages__sm_80, quern_image_cross_entropy_stages__sm_80_end,
                 1024, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_75, cross_entropy_f32)
    {
        .name = "cross_entropy_f32_resident__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, 16200},
        .cuda = {"cross_entropy_f32_resident", quern_image_cross_entropy_f32__sm_75, quern_image_cross_entropy_f32__sm_75_end,
                 512, 0, 4, 336, 64, 0},
    },
    {
        .name = "cross_entropy_f32_streamed__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f32_streamed", quern_image_cross_entropy_f32__sm_75, quern_image_cross_entropy_f32__sm_75_end,
                 512, 0, 0, 0, 2752, 0},
    },
    {
        .name = "cross_entropy_f32_stats__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_STATS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f32_stats", quern_image_cross_entropy_f32__sm_75, quern_image_cross_entropy_f32__sm_75_end,
                 512, 0, 0, 0, 400, 0},
    },
    {
        .name = "cross_entropy_f32_gradient__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_GRADIENT, 0, INT64_MAX},
        .cuda = {"cross_entropy_f32_gradient", quern_image_cross_entropy_f32__sm_75, quern_image_cross_entropy_f32__sm_75_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_75, cross_entropy_f32_full)
    {
        .name = "cross_entropy_f32_resident_full__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 1, 16008},
        .cuda = {"cross_entropy_f32_resident_full", quern_image_cross_entropy_f32_full__sm_75, quern_image_cross_entropy_f32_full__sm_75_end,
                 512, 0, 4, 720, 64, 0},
    },
    {
        .name = "cross_entropy_f32_streamed_full__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 1, INT64_MAX},
        .cuda = {"cross_entropy_f32_streamed_full", quern_image_cross_entropy_f32_full__sm_75, quern_image_cross_entropy_f32_full__sm_75_end,
                 512, 0, 0, 0, 5824, 0},
    },
    {
        .name = "cross_entropy_f32_stats_full__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_STATS, 1, INT64_MAX},
        .cuda = {"cross_entropy_f32_stats_full", quern_image_cross_entropy_f32_full__sm_75, quern_image_cross_entropy_f32_full__sm_75_end,
                 512, 0, 0, 0, 784, 0},
    },
    {
        .name = "cross_entropy_f32_gradient_full__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_GRADIENT, 1, INT64_MAX},
        .cuda = {"cross_entropy_f32_gradient_full", quern_image_cross_entropy_f32_full__sm_75, quern_image_cross_entropy_f32_full__sm_75_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_75, cross_entropy_f16)
    {
        .name = "cross_entropy_f16_resident__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, 32400},
        .cuda = {"cross_entropy_f16_resident", quern_image_cross_entropy_f16__sm_75, quern_image_cross_entropy_f16__sm_75_end,
                 512, 0, 2, 336, 64, 0},
    },
    {
        .name = "cross_entropy_f16_streamed__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f16_streamed", quern_image_cross_entropy_f16__sm_75, quern_image_cross_entropy_f16__sm_75_end,
                 512, 0, 0, 0, 2752, 0},
    },
    {
        .name = "cross_entropy_f16_stats__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_STATS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f16_stats", quern_image_cross_entropy_f16__sm_75, quern_image_cross_entropy_f16__sm_75_end,
                 512, 0, 0, 0, 400, 0},
    },
    {
        .name = "cross_entropy_f16_gradient__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_GRADIENT, 0, INT64_MAX},
        .cuda = {"cross_entropy_f16_gradient", quern_image_cross_entropy_f16__sm_75, quern_image_cross_entropy_f16__sm_75_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_75, cross_entropy_f16_full)
    {
        .name = "cross_entropy_f16_resident_full__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 1, 32016},
        .cuda = {"cross_entropy_f16_resident_full", quern_image_cross_entropy_f16_full__sm_75, quern_image_cross_entropy_f16_full__sm_75_end,
                 512, 0, 2, 720, 64, 0},
    },
    {
        .name = "cross_entropy_f16_streamed_full__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 1, INT64_MAX},
        .cuda = {"cross_entropy_f16_streamed_full", quern_image_cross_entropy_f16_full__sm_75, quern_image_cross_entropy_f16_full__sm_75_end,
                 512, 0, 0, 0, 5824, 0},
    },
    {
        .name = "cross_entropy_f16_stats_full__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_STATS, 1, INT64_MAX},
        .cuda = {"cross_entropy_f16_stats_full", quern_image_cross_entropy_f16_full__sm_75, quern_image_cross_entropy_f16_full__sm_75_end,
                 512, 0, 0, 0, 784, 0},
    },
    {
        .name = "cross_entropy_f16_gradient_full__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_GRADIENT, 1, INT64_MAX},
        .cuda = {"cross_entropy_f16_gradient_full", quern_image_cross_entropy_f16_full__sm_75, quern_image_cross_entropy_f16_full__sm_75_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_75, cross_entropy_bf16)
    {
        .name = "cross_entropy_bf16_resident__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, 32400},
        .cuda = {"cross_entropy_bf16_resident", quern_image_cross_entropy_bf16__sm_75, quern_image_cross_entropy_bf16__sm_75_end,
                 512, 0, 2, 336, 64, 0},
    },
    {
        .name = "cross_entropy_bf16_streamed__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_bf16_streamed", quern_image_cross_entropy_bf16__sm_75, quern_image_cross_entropy_bf16__sm_75_end,
                 512, 0, 0, 0, 2752, 0},
    },
    {
        .name = "cross_entropy_bf16_stats__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_STATS, 0, INT64_MAX},
        .cuda = {"cross_entropy_bf16_stats", quern_image_cross_entropy_bf16__sm_75, quern_image_cross_entropy_bf16__sm_75_end,
                 512, 0, 0, 0, 400, 0},
    },
    {
        .name = "cross_entropy_bf16_gradient__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_GRADIENT, 0, INT64_MAX},
        .cuda = {"cross_entropy_bf16_gradient", quern_image_cross_entropy_bf16__sm_75, quern_image_cross_entropy_bf16__sm_75_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_75, cross_entropy_bf16_full)
    {
        .name = "cross_entropy_bf16_resident_full__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 1, 32016},
        .cuda = {"cross_entropy_bf16_resident_full", quern_image_cross_entropy_bf16_full__sm_75, quern_image_cross_entropy_bf16_full__sm_75_end,
                 512, 0, 2, 720, 64, 0},
    },
    {
        .name = "cross_entropy_bf16_streamed_full__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 1, INT64_MAX},
        .cuda = {"cross_entropy_bf16_streamed_full", quern_image_cross_entropy_bf16_full__sm_75, quern_image_cross_entropy_bf16_full__sm_75_end,
                 512, 0, 0, 0, 5824, 0},
    },
    {
        .name = "cross_entropy_bf16_stats_full__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_STATS, 1, INT64_MAX},
        .cuda = {"cross_entropy_bf16_stats_full", quern_image_cross_entropy_bf16_full__sm_75, quern_image_cross_entropy_bf16_full__sm_75_end,
                 512, 0, 0, 0, 784, 0},
    },
    {
        .name = "cross_entropy_bf16_gradient_full__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_GRADIENT, 1, INT64_MAX},
        .cuda = {"cross_entropy_bf16_gradient_full", quern_image_cross_entropy_bf16_full__sm_75, quern_image_cross_entropy_bf16_full__sm_75_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_75, cross_entropy_stages)
    {
        .name = "cross_entropy_combine__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_COMBINE, 0, INT64_MAX},
        .cuda = {"cross_entropy_combine", quern_image_cross_entropy_stages__sm_75, quern_image_cross_entropy_stages__sm_75_end,
                 256, 0, 0, 0, 0, 0},
    },
    {
        .name = "cross_entropy_labels__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_LABELS, 0, INT64_MAX},
        .cuda = {"cross_entropy_labels", quern_image_cross_entropy_stages__sm_75, quern_image_cross_entropy_stages__sm_75_end,
                 1024, 0, 0, 0, 0, 0},
    },
    {
        .name = "cross_entropy_reduce__sm_75",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_REDUCE, 0, INT64_MAX},
        .cuda = {"cross_entropy_reduce", quern_image_cross_entropy_stages__sm_75, quern_image_cross_entropy_stages__sm_75_end,
                 1024, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(compute_90, cross_entropy_f32)
    {
        .name = "cross_entropy_f32_resident__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, 24992},
        .cuda = {"cross_entropy_f32_resident", quern_image_cross_entropy_f32__compute_90, quern_image_cross_entropy_f32__compute_90_end,
                 512, 0, 4, 336, 64, 0},
    },
    {
        .name = "cross_entropy_f32_cluster__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, 196608},
        .cuda = {"cross_entropy_f32_cluster", quern_image_cross_entropy_f32__compute_90, quern_image_cross_entropy_f32__compute_90_end,
                 512, 0, 0, 33104, 64, 8},
    },
    {
        .name = "cross_entropy_f32_streamed__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f32_streamed", quern_image_cross_entropy_f32__compute_90, quern_image_cross_entropy_f32__compute_90_end,
                 512, 0, 0, 0, 35520, 0},
    },
    {
        .name = "cross_entropy_f32_stats__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_STATS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f32_stats", quern_image_cross_entropy_f32__compute_90, quern_image_cross_entropy_f32__compute_90_end,
                 512, 0, 0, 0, 400, 0},
    },
    {
        .name = "cross_entropy_f32_gradient__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_GRADIENT, 0, INT64_MAX},
        .cuda = {"cross_entropy_f32_gradient", quern_image_cross_entropy_f32__compute_90, quern_image_cross_entropy_f32__compute_90_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(compute_90, cross_entropy_f32_full)
    {
        .name = "cross_entropy_f32_resident_full__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 1, 24608},
        .cuda = {"cross_entropy_f32_resident_full", quern_image_cross_entropy_f32_full__compute_90, quern_image_cross_entropy_f32_full__compute_90_end,
                 512, 0, 4, 720, 64, 0},
    },
    {
        .name = "cross_entropy_f32_cluster_full__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 1, 196608},
        .cuda = {"cross_entropy_f32_cluster_full", quern_image_cross_entropy_f32_full__compute_90, quern_image_cross_entropy_f32_full__compute_90_end,
                 512, 0, 0, 33488, 64, 8},
    },
    {
        .name = "cross_entropy_f32_streamed_full__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_ROWS, 1, INT64_MAX},
        .cuda = {"cross_entropy_f32_streamed_full", quern_image_cross_entropy_f32_full__compute_90, quern_image_cross_entropy_f32_full__compute_90_end,
                 512, 0, 0, 0, 38592, 0},
    },
    {
        .name = "cross_entropy_f32_stats_full__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_STATS, 1, INT64_MAX},
        .cuda = {"cross_entropy_f32_stats_full", quern_image_cross_entropy_f32_full__compute_90, quern_image_cross_entropy_f32_full__compute_90_end,
                 512, 0, 0, 0, 784, 0},
    },
    {
        .name = "cross_entropy_f32_gradient_full__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_F32, QUERN_STAGE_GRADIENT, 1, INT64_MAX},
        .cuda = {"cross_entropy_f32_gradient_full", quern_image_cross_entropy_f32_full__compute_90, quern_image_cross_entropy_f32_full__compute_90_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(compute_90, cross_entropy_f16)
    {
        .name = "cross_entropy_f16_resident__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, 49984},
        .cuda = {"cross_entropy_f16_resident", quern_image_cross_entropy_f16__compute_90, quern_image_cross_entropy_f16__compute_90_end,
                 512, 0, 2, 336, 64, 0},
    },
    {
        .name = "cross_entropy_f16_cluster__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, 393216},
        .cuda = {"cross_entropy_f16_cluster", quern_image_cross_entropy_f16__compute_90, quern_image_cross_entropy_f16__compute_90_end,
                 512, 0, 0, 33104, 64, 8},
    },
    {
        .name = "cross_entropy_f16_streamed__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f16_streamed", quern_image_cross_entropy_f16__compute_90, quern_image_cross_entropy_f16__compute_90_end,
                 512, 0, 0, 0, 35520, 0},
    },
    {
        .name = "cross_entropy_f16_stats__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_STATS, 0, INT64_MAX},
        .cuda = {"cross_entropy_f16_stats", quern_image_cross_entropy_f16__compute_90, quern_image_cross_entropy_f16__compute_90_end,
                 512, 0, 0, 0, 400, 0},
    },
    {
        .name = "cross_entropy_f16_gradient__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_GRADIENT, 0, INT64_MAX},
        .cuda = {"cross_entropy_f16_gradient", quern_image_cross_entropy_f16__compute_90, quern_image_cross_entropy_f16__compute_90_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(compute_90, cross_entropy_f16_full)
    {
        .name = "cross_entropy_f16_resident_full__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 1, 49216},
        .cuda = {"cross_entropy_f16_resident_full", quern_image_cross_entropy_f16_full__compute_90, quern_image_cross_entropy_f16_full__compute_90_end,
                 512, 0, 2, 720, 64, 0},
    },
    {
        .name = "cross_entropy_f16_cluster_full__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 1, 393216},
        .cuda = {"cross_entropy_f16_cluster_full", quern_image_cross_entropy_f16_full__compute_90, quern_image_cross_entropy_f16_full__compute_90_end,
                 512, 0, 0, 33488, 64, 8},
    },
    {
        .name = "cross_entropy_f16_streamed_full__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_ROWS, 1, INT64_MAX},
        .cuda = {"cross_entropy_f16_streamed_full", quern_image_cross_entropy_f16_full__compute_90, quern_image_cross_entropy_f16_full__compute_90_end,
                 512, 0, 0, 0, 38592, 0},
    },
    {
        .name = "cross_entropy_f16_stats_full__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_STATS, 1, INT64_MAX},
        .cuda = {"cross_entropy_f16_stats_full", quern_image_cross_entropy_f16_full__compute_90, quern_image_cross_entropy_f16_full__compute_90_end,
                 512, 0, 0, 0, 784, 0},
    },
    {
        .name = "cross_entropy_f16_gradient_full__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_F16, QUERN_STAGE_GRADIENT, 1, INT64_MAX},
        .cuda = {"cross_entropy_f16_gradient_full", quern_image_cross_entropy_f16_full__compute_90, quern_image_cross_entropy_f16_full__compute_90_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(compute_90, cross_entropy_bf16)
    {
        .name = "cross_entropy_bf16_resident__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, 49984},
        .cuda = {"cross_entropy_bf16_resident", quern_image_cross_entropy_bf16__compute_90, quern_image_cross_entropy_bf16__compute_90_end,
                 512, 0, 2, 336, 64, 0},
    },
    {
        .name = "cross_entropy_bf16_cluster__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, 393216},
        .cuda = {"cross_entropy_bf16_cluster", quern_image_cross_entropy_bf16__compute_90, quern_image_cross_entropy_bf16__compute_90_end,
                 512, 0, 0, 33104, 64, 8},
    },
    {
        .name = "cross_entropy_bf16_streamed__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 0, INT64_MAX},
        .cuda = {"cross_entropy_bf16_streamed", quern_image_cross_entropy_bf16__compute_90, quern_image_cross_entropy_bf16__compute_90_end,
                 512, 0, 0, 0, 35520, 0},
    },
    {
        .name = "cross_entropy_bf16_stats__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_STATS, 0, INT64_MAX},
        .cuda = {"cross_entropy_bf16_stats", quern_image_cross_entropy_bf16__compute_90, quern_image_cross_entropy_bf16__compute_90_end,
                 512, 0, 0, 0, 400, 0},
    },
    {
        .name = "cross_entropy_bf16_gradient__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_GRADIENT, 0, INT64_MAX},
        .cuda = {"cross_entropy_bf16_gradient", quern_image_cross_entropy_bf16__compute_90, quern_image_cross_entropy_bf16__compute_90_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(compute_90, cross_entropy_bf16_full)
    {
        .name = "cross_entropy_bf16_resident_full__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 1, 49216},
        .cuda = {"cross_entropy_bf16_resident_full", quern_image_cross_entropy_bf16_full__compute_90, quern_image_cross_entropy_bf16_full__compute_90_end,
                 512, 0, 2, 720, 64, 0},
    },
    {
        .name = "cross_entropy_bf16_cluster_full__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 1, 393216},
        .cuda = {"cross_entropy_bf16_cluster_full", quern_image_cross_entropy_bf16_full__compute_90, quern_image_cross_entropy_bf16_full__compute_90_end,
                 512, 0, 0, 33488, 64, 8},
    },
    {
        .name = "cross_entropy_bf16_streamed_full__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_ROWS, 1, INT64_MAX},
        .cuda = {"cross_entropy_bf16_streamed_full", quern_image_cross_entropy_bf16_full__compute_90, quern_image_cross_entropy_bf16_full__compute_90_end,
                 512, 0, 0, 0, 38592, 0},
    },
    {
        .name = "cross_entropy_bf16_stats_full__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_STATS, 1, INT64_MAX},
        .cuda = {"cross_entropy_bf16_stats_full", quern_image_cross_entropy_bf16_full__compute_90, quern_image_cross_entropy_bf16_full__compute_90_end,
                 512, 0, 0, 0, 784, 0},
    },
    {
        .name = "cross_entropy_bf16_gradient_full__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_BF16, QUERN_STAGE_GRADIENT, 1, INT64_MAX},
        .cuda = {"cross_entropy_bf16_gradient_full", quern_image_cross_entropy_bf16_full__compute_90, quern_image_cross_entropy_bf16_full__compute_90_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(compute_90, cross_entropy_stages)
    {
        .name = "cross_entropy_combine__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_COMBINE, 0, INT64_MAX},
        .cuda = {"cross_entropy_combine", quern_image_cross_entropy_stages__compute_90, quern_image_cross_entropy_stages__compute_90_end,
                 256, 0, 0, 0, 0, 0},
    },
    {
        .name = "cross_entropy_labels__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_LABELS, 0, INT64_MAX},
        .cuda = {"cross_entropy_labels", quern_image_cross_entropy_stages__compute_90, quern_image_cross_entropy_stages__compute_90_end,
                 1024, 0, 0, 0, 0, 0},
    },
    {
        .name = "cross_entropy_reduce__compute_90",
        .operation = QUERN_CROSS_ENTROPY,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.cross_entropy = {QUERN_NO_DTYPE, QUERN_STAGE_REDUCE, 0, INT64_MAX},
        .cuda = {"cross_entropy_reduce", quern_image_cross_entropy_stages__compute_90, quern_image_cross_entropy_stages__compute_90_end,
                 1024, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(avx512, cross_entropy_f32)
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
#endif
#if QUERN_SELECTED(avx512, cross_entropy_f16)
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
#endif
#if QUERN_SELECTED(avx512, cross_entropy_bf16)
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
#endif
#if QUERN_SELECTED(avx2, cross_entropy_f32)
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
#endif
#if QUERN_SELECTED(avx2, cross_entropy_f16)
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
#endif
#if QUERN_SELECTED(avx2, cross_entropy_bf16)
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
#endif
#if QUERN_SELECTED(portable, cross_entropy_f32)
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
#endif
#if QUERN_SELECTED(portable, cross_entropy_f16)
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
#endif
#if QUERN_SELECTED(portable, cross_entropy_bf16)
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
#endif
    {.name = ""},
};
