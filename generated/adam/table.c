/*
 * The kernels of adam, best first: specific GPU generations from the newest on, PTX for GPUs to come, then the CPU's
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

extern const unsigned char quern_image_adam_pf32_gf32__sm_120f[], quern_image_adam_pf32_gf32__sm_120f_end[];
extern const unsigned char quern_image_adam_pf32_gf16__sm_120f[], quern_image_adam_pf32_gf16__sm_120f_end[];
extern const unsigned char quern_image_adam_pf32_gbf16__sm_120f[], quern_image_adam_pf32_gbf16__sm_120f_end[];
extern const unsigned char quern_image_adam_pf16_gf32__sm_120f[], quern_image_adam_pf16_gf32__sm_120f_end[];
extern const unsigned char quern_image_adam_pf16_gf16__sm_120f[], quern_image_adam_pf16_gf16__sm_120f_end[];
extern const unsigned char quern_image_adam_pbf16_gf32__sm_120f[], quern_image_adam_pbf16_gf32__sm_120f_end[];
extern const unsigned char quern_image_adam_pbf16_gbf16__sm_120f[], quern_image_adam_pbf16_gbf16__sm_120f_end[];
extern const unsigned char quern_image_adam_pf32_gf32_full__sm_120f[], quern_image_adam_pf32_gf32_full__sm_120f_end[];
extern const unsigned char quern_image_adam_pf32_gbf16_full__sm_120f[], quern_image_adam_pf32_gbf16_full__sm_120f_end[];
extern const unsigned char quern_image_adam_pf16_gf16_full__sm_120f[], quern_image_adam_pf16_gf16_full__sm_120f_end[];
extern const unsigned char quern_image_adam_pbf16_gf32_full__sm_120f[], quern_image_adam_pbf16_gf32_full__sm_120f_end[];
extern const unsigned char quern_image_adam_pbf16_gbf16_full__sm_120f[], quern_image_adam_pbf16_gbf16_full__sm_120f_end[];
extern const unsigned char quern_image_gradient_norm__sm_120f[], quern_image_gradient_norm__sm_120f_end[];
extern const unsigned char quern_image_gradient_norm_combine__sm_120f[], quern_image_gradient_norm_combine__sm_120f_end[];
extern const unsigned char quern_image_gradient_accumulate__sm_120f[], quern_image_gradient_accumulate__sm_120f_end[];
extern const unsigned char quern_image_adam_pf32_gf32__sm_100f[], quern_image_adam_pf32_gf32__sm_100f_end[];
extern const unsigned char quern_image_adam_pf32_gf16__sm_100f[], quern_image_adam_pf32_gf16__sm_100f_end[];
extern const unsigned char quern_image_adam_pf32_gbf16__sm_100f[], quern_image_adam_pf32_gbf16__sm_100f_end[];
extern const unsigned char quern_image_adam_pf16_gf32__sm_100f[], quern_image_adam_pf16_gf32__sm_100f_end[];
extern const unsigned char quern_image_adam_pf16_gf16__sm_100f[], quern_image_adam_pf16_gf16__sm_100f_end[];
extern const unsigned char quern_image_adam_pbf16_gf32__sm_100f[], quern_image_adam_pbf16_gf32__sm_100f_end[];
extern const unsigned char quern_image_adam_pbf16_gbf16__sm_100f[], quern_image_adam_pbf16_gbf16__sm_100f_end[];
extern const unsigned char quern_image_adam_pf32_gf32_full__sm_100f[], quern_image_adam_pf32_gf32_full__sm_100f_end[];
extern const unsigned char quern_image_adam_pf32_gbf16_full__sm_100f[], quern_image_adam_pf32_gbf16_full__sm_100f_end[];
extern const unsigned char quern_image_adam_pf16_gf16_full__sm_100f[], quern_image_adam_pf16_gf16_full__sm_100f_end[];
extern const unsigned char quern_image_adam_pbf16_gf32_full__sm_100f[], quern_image_adam_pbf16_gf32_full__sm_100f_end[];
extern const unsigned char quern_image_adam_pbf16_gbf16_full__sm_100f[], quern_image_adam_pbf16_gbf16_full__sm_100f_end[];
extern const unsigned char quern_image_gradient_norm__sm_100f[], quern_image_gradient_norm__sm_100f_end[];
extern const unsigned char quern_image_gradient_norm_combine__sm_100f[], quern_image_gradient_norm_combine__sm_100f_end[];
extern const unsigned char quern_image_gradient_accumulate__sm_100f[], quern_image_gradient_accumulate__sm_100f_end[];
extern const unsigned char quern_image_adam_pf32_gf32__sm_90a[], quern_image_adam_pf32_gf32__sm_90a_end[];
extern const unsigned char quern_image_adam_pf32_gf16__sm_90a[], quern_image_adam_pf32_gf16__sm_90a_end[];
extern const unsigned char quern_image_adam_pf32_gbf16__sm_90a[], quern_image_adam_pf32_gbf16__sm_90a_end[];
extern const unsigned char quern_image_adam_pf16_gf32__sm_90a[], quern_image_adam_pf16_gf32__sm_90a_end[];
extern const unsigned char quern_image_adam_pf16_gf16__sm_90a[], quern_image_adam_pf16_gf16__sm_90a_end[];
extern const unsigned char quern_image_adam_pbf16_gf32__sm_90a[], quern_image_adam_pbf16_gf32__sm_90a_end[];
extern const unsigned char quern_image_adam_pbf16_gbf16__sm_90a[], quern_image_adam_pbf16_gbf16__sm_90a_end[];
extern const unsigned char quern_image_adam_pf32_gf32_full__sm_90a[], quern_image_adam_pf32_gf32_full__sm_90a_end[];
extern const unsigned char quern_image_adam_pf32_gbf16_full__sm_90a[], quern_image_adam_pf32_gbf16_full__sm_90a_end[];
extern const unsigned char quern_image_adam_pf16_gf16_full__sm_90a[], quern_image_adam_pf16_gf16_full__sm_90a_end[];
extern const unsigned char quern_image_adam_pbf16_gf32_full__sm_90a[], quern_image_adam_pbf16_gf32_full__sm_90a_end[];
extern const unsigned char quern_image_adam_pbf16_gbf16_full__sm_90a[], quern_image_adam_pbf16_gbf16_full__sm_90a_end[];
extern const unsigned char quern_image_gradient_norm__sm_90a[], quern_image_gradient_norm__sm_90a_end[];
extern const unsigned char quern_image_gradient_norm_combine__sm_90a[], quern_image_gradient_norm_combine__sm_90a_end[];
extern const unsigned char quern_image_gradient_accumulate__sm_90a[], quern_image_gradient_accumulate__sm_90a_end[];
extern const unsigned char quern_image_adam_pf32_gf32__sm_89[], quern_image_adam_pf32_gf32__sm_89_end[];
extern const unsigned char quern_image_adam_pf32_gf16__sm_89[], quern_image_adam_pf32_gf16__sm_89_end[];
extern const unsigned char quern_image_adam_pf32_gbf16__sm_89[], quern_image_adam_pf32_gbf16__sm_89_end[];
extern const unsigned char quern_image_adam_pf16_gf32__sm_89[], quern_image_adam_pf16_gf32__sm_89_end[];
extern const unsigned char quern_image_adam_pf16_gf16__sm_89[], quern_image_adam_pf16_gf16__sm_89_end[];
extern const unsigned char quern_image_adam_pbf16_gf32__sm_89[], quern_image_adam_pbf16_gf32__sm_89_end[];
extern const unsigned char quern_image_adam_pbf16_gbf16__sm_89[], quern_image_adam_pbf16_gbf16__sm_89_end[];
extern const unsigned char quern_image_adam_pf32_gf32_full__sm_89[], quern_image_adam_pf32_gf32_full__sm_89_end[];
extern const unsigned char quern_image_adam_pf32_gbf16_full__sm_89[], quern_image_adam_pf32_gbf16_full__sm_89_end[];
extern const unsigned char quern_image_adam_pf16_gf16_full__sm_89[], quern_image_adam_pf16_gf16_full__sm_89_end[];
extern const unsigned char quern_image_adam_pbf16_gf32_full__sm_89[], quern_image_adam_pbf16_gf32_full__sm_89_end[];
extern const unsigned char quern_image_adam_pbf16_gbf16_full__sm_89[], quern_image_adam_pbf16_gbf16_full__sm_89_end[];
extern const unsigned char quern_image_gradient_norm__sm_89[], quern_image_gradient_norm__sm_89_end[];
extern const unsigned char quern_image_gradient_norm_combine__sm_89[], quern_image_gradient_norm_combine__sm_89_end[];
extern const unsigned char quern_image_gradient_accumulate__sm_89[], quern_image_gradient_accumulate__sm_89_end[];
extern const unsigned char quern_image_adam_pf32_gf32__sm_86[], quern_image_adam_pf32_gf32__sm_86_end[];
extern const unsigned char quern_image_adam_pf32_gf16__sm_86[], quern_image_adam_pf32_gf16__sm_86_end[];
extern const unsigned char quern_image_adam_pf32_gbf16__sm_86[], quern_image_adam_pf32_gbf16__sm_86_end[];
extern const unsigned char quern_image_adam_pf16_gf32__sm_86[], quern_image_adam_pf16_gf32__sm_86_end[];
extern const unsigned char quern_image_adam_pf16_gf16__sm_86[], quern_image_adam_pf16_gf16__sm_86_end[];
extern const unsigned char quern_image_adam_pbf16_gf32__sm_86[], quern_image_adam_pbf16_gf32__sm_86_end[];
extern const unsigned char quern_image_adam_pbf16_gbf16__sm_86[], quern_image_adam_pbf16_gbf16__sm_86_end[];
extern const unsigned char quern_image_adam_pf32_gf32_full__sm_86[], quern_image_adam_pf32_gf32_full__sm_86_end[];
extern const unsigned char quern_image_adam_pf32_gbf16_full__sm_86[], quern_image_adam_pf32_gbf16_full__sm_86_end[];
extern const unsigned char quern_image_adam_pf16_gf16_full__sm_86[], quern_image_adam_pf16_gf16_full__sm_86_end[];
extern const unsigned char quern_image_adam_pbf16_gf32_full__sm_86[], quern_image_adam_pbf16_gf32_full__sm_86_end[];
extern const unsigned char quern_image_adam_pbf16_gbf16_full__sm_86[], quern_image_adam_pbf16_gbf16_full__sm_86_end[];
extern const unsigned char quern_image_gradient_norm__sm_86[], quern_image_gradient_norm__sm_86_end[];
extern const unsigned char quern_image_gradient_norm_combine__sm_86[], quern_image_gradient_norm_combine__sm_86_end[];
extern const unsigned char quern_image_gradient_accumulate__sm_86[], quern_image_gradient_accumulate__sm_86_end[];
extern const unsigned char quern_image_adam_pf32_gf32__sm_80[], quern_image_adam_pf32_gf32__sm_80_end[];
extern const unsigned char quern_image_adam_pf32_gf16__sm_80[], quern_image_adam_pf32_gf16__sm_80_end[];
extern const unsigned char quern_image_adam_pf32_gbf16__sm_80[], quern_image_adam_pf32_gbf16__sm_80_end[];
extern const unsigned char quern_image_adam_pf16_gf32__sm_80[], quern_image_adam_pf16_gf32__sm_80_end[];
extern const unsigned char quern_image_adam_pf16_gf16__sm_80[], quern_image_adam_pf16_gf16__sm_80_end[];
extern const unsigned char quern_image_adam_pbf16_gf32__sm_80[], quern_image_adam_pbf16_gf32__sm_80_end[];
extern const unsigned char quern_image_adam_pbf16_gbf16__sm_80[], quern_image_adam_pbf16_gbf16__sm_80_end[];
extern const unsigned char quern_image_adam_pf32_gf32_full__sm_80[], quern_image_adam_pf32_gf32_full__sm_80_end[];
extern const unsigned char quern_image_adam_pf32_gbf16_full__sm_80[], quern_image_adam_pf32_gbf16_full__sm_80_end[];
extern const unsigned char quern_image_adam_pf16_gf16_full__sm_80[], quern_image_adam_pf16_gf16_full__sm_80_end[];
extern const unsigned char quern_image_adam_pbf16_gf32_full__sm_80[], quern_image_adam_pbf16_gf32_full__sm_80_end[];
extern const unsigned char quern_image_adam_pbf16_gbf16_full__sm_80[], quern_image_adam_pbf16_gbf16_full__sm_80_end[];
extern const unsigned char quern_image_gradient_norm__sm_80[], quern_image_gradient_norm__sm_80_end[];
extern const unsigned char quern_image_gradient_norm_combine__sm_80[], quern_image_gradient_norm_combine__sm_80_end[];
extern const unsigned char quern_image_gradient_accumulate__sm_80[], quern_image_gradient_accumulate__sm_80_end[];
extern const unsigned char quern_image_adam_pf32_gf32__sm_75[], quern_image_adam_pf32_gf32__sm_75_end[];
extern const unsigned char quern_image_adam_pf32_gf16__sm_75[], quern_image_adam_pf32_gf16__sm_75_end[];
extern const unsigned char quern_image_adam_pf32_gbf16__sm_75[], quern_image_adam_pf32_gbf16__sm_75_end[];
extern const unsigned char quern_image_adam_pf16_gf32__sm_75[], quern_image_adam_pf16_gf32__sm_75_end[];
extern const unsigned char quern_image_adam_pf16_gf16__sm_75[], quern_image_adam_pf16_gf16__sm_75_end[];
extern const unsigned char quern_image_adam_pbf16_gf32__sm_75[], quern_image_adam_pbf16_gf32__sm_75_end[];
extern const unsigned char quern_image_adam_pbf16_gbf16__sm_75[], quern_image_adam_pbf16_gbf16__sm_75_end[];
extern const unsigned char quern_image_adam_pf32_gf32_full__sm_75[], quern_image_adam_pf32_gf32_full__sm_75_end[];
extern const unsigned char quern_image_adam_pf32_gbf16_full__sm_75[], quern_image_adam_pf32_gbf16_full__sm_75_end[];
extern const unsigned char quern_image_adam_pf16_gf16_full__sm_75[], quern_image_adam_pf16_gf16_full__sm_75_end[];
extern const unsigned char quern_image_adam_pbf16_gf32_full__sm_75[], quern_image_adam_pbf16_gf32_full__sm_75_end[];
extern const unsigned char quern_image_adam_pbf16_gbf16_full__sm_75[], quern_image_adam_pbf16_gbf16_full__sm_75_end[];
extern const unsigned char quern_image_gradient_norm__sm_75[], quern_image_gradient_norm__sm_75_end[];
extern const unsigned char quern_image_gradient_norm_combine__sm_75[], quern_image_gradient_norm_combine__sm_75_end[];
extern const unsigned char quern_image_gradient_accumulate__sm_75[], quern_image_gradient_accumulate__sm_75_end[];
extern const unsigned char quern_image_adam_pf32_gf32__compute_90[], quern_image_adam_pf32_gf32__compute_90_end[];
extern const unsigned char quern_image_adam_pf32_gf16__compute_90[], quern_image_adam_pf32_gf16__compute_90_end[];
extern const unsigned char quern_image_adam_pf32_gbf16__compute_90[], quern_image_adam_pf32_gbf16__compute_90_end[];
extern const unsigned char quern_image_adam_pf16_gf32__compute_90[], quern_image_adam_pf16_gf32__compute_90_end[];
extern const unsigned char quern_image_adam_pf16_gf16__compute_90[], quern_image_adam_pf16_gf16__compute_90_end[];
extern const unsigned char quern_image_adam_pbf16_gf32__compute_90[], quern_image_adam_pbf16_gf32__compute_90_end[];
extern const unsigned char quern_image_adam_pbf16_gbf16__compute_90[], quern_image_adam_pbf16_gbf16__compute_90_end[];
extern const unsigned char quern_image_adam_pf32_gf32_full__compute_90[], quern_image_adam_pf32_gf32_full__compute_90_end[];
extern const unsigned char quern_image_adam_pf32_gbf16_full__compute_90[], quern_image_adam_pf32_gbf16_full__compute_90_end[];
extern const unsigned char quern_image_adam_pf16_gf16_full__compute_90[], quern_image_adam_pf16_gf16_full__compute_90_end[];
extern const unsigned char quern_image_adam_pbf16_gf32_full__compute_90[], quern_image_adam_pbf16_gf32_full__compute_90_end[];
extern const unsigned char quern_image_adam_pbf16_gbf16_full__compute_90[], quern_image_adam_pbf16_gbf16_full__compute_90_end[];
extern const unsigned char quern_image_gradient_norm__compute_90[], quern_image_gradient_norm__compute_90_end[];
extern const unsigned char quern_image_gradient_norm_combine__compute_90[], quern_image_gradient_norm_combine__compute_90_end[];
extern const unsigned char quern_image_gradient_accumulate__compute_90[], quern_image_gradient_accumulate__compute_90_end[];
quern_adam_cpu_kernel quern_adam_pf32_gf32_mf32_vf32__avx512;
quern_adam_cpu_kernel quern_adam_pf32_gf32_mf32_vbf16__avx512;
quern_adam_cpu_kernel quern_adam_pf32_gf32_mbf16_vf32__avx512;
quern_adam_cpu_kernel quern_adam_pf32_gf32_mbf16_vbf16__avx512;
quern_adam_cpu_kernel quern_adam_pf32_gf16_mf32_vf32__avx512;
quern_adam_cpu_kernel quern_adam_pf32_gf16_mbf16_vbf16__avx512;
quern_adam_cpu_kernel quern_adam_pf32_gbf16_mf32_vf32__avx512;
quern_adam_cpu_kernel quern_adam_pf32_gbf16_mbf16_vbf16__avx512;
quern_adam_cpu_kernel quern_adam_pf16_gf32_mf32_vf32__avx512;
quern_adam_cpu_kernel quern_adam_pf16_gf32_mf32_vf32_master32__avx512;
quern_adam_cpu_kernel quern_adam_pf16_gf32_mbf16_vbf16__avx512;
quern_adam_cpu_kernel quern_adam_pf16_gf32_mbf16_vbf16_master32__avx512;
quern_adam_cpu_kernel quern_adam_pf16_gf16_mf32_vf32__avx512;
quern_adam_cpu_kernel quern_adam_pf16_gf16_mf32_vf32_master32__avx512;
quern_adam_cpu_kernel quern_adam_pf16_gf16_mbf16_vbf16__avx512;
quern_adam_cpu_kernel quern_adam_pf16_gf16_mbf16_vbf16_master32__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mf32_vf32__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mf32_vf32_master32__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mf32_vf32_remainder__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mf32_vbf16_master32__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mbf16_vf32_master32__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mbf16_vbf16__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mbf16_vbf16_master32__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mbf16_vbf16_remainder__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mf32_vf32__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mf32_vf32_master32__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mf32_vf32_remainder__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mf32_vbf16__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mf32_vbf16_master32__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mf32_vbf16_remainder__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mbf16_vf32__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mbf16_vf32_master32__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mbf16_vf32_remainder__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mbf16_vbf16__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mbf16_vbf16_master32__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mbf16_vbf16_remainder__avx512;
quern_adam_cpu_kernel quern_adam_pf32_gf32_mf32_vf32_full__avx512;
quern_adam_cpu_kernel quern_adam_pf32_gf32_mf16_vf16_full__avx512;
quern_adam_cpu_kernel quern_adam_pf32_gf32_mbf16_vbf16_full__avx512;
quern_adam_cpu_kernel quern_adam_pf32_gf32_mbf16_ve4m3_full__avx512;
quern_adam_cpu_kernel quern_adam_pf32_gf32_me4m3_ve4m3_full__avx512;
quern_adam_cpu_kernel quern_adam_pf32_gf32_me5m2_ve5m2_full__avx512;
quern_adam_cpu_kernel quern_adam_pf32_gbf16_mf32_vf32_full__avx512;
quern_adam_cpu_kernel quern_adam_pf32_gbf16_mbf16_vbf16_full__avx512;
quern_adam_cpu_kernel quern_adam_pf16_gf16_mf32_vf32_master32_full__avx512;
quern_adam_cpu_kernel quern_adam_pf16_gf16_mbf16_vbf16_master32_full__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mf32_vf32_master32_full__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mf32_vf32_remainder_full__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mf16_vf16_master32_full__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mbf16_vbf16_master32_full__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mbf16_vbf16_remainder_full__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mbf16_ve4m3_master32_full__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_me4m3_ve4m3_master32_full__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_me5m2_ve5m2_master32_full__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mf32_vf32_full__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mf32_vf32_master32_full__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mf32_vf32_remainder_full__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mf16_vf16_full__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mf16_vf16_remainder_full__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mbf16_vbf16_full__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mbf16_vbf16_master32_full__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mbf16_vbf16_remainder_full__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mbf16_ve4m3_full__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mbf16_ve4m3_remainder_full__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_me4m3_ve4m3_full__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_me4m3_ve4m3_remainder_full__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_me5m2_ve5m2_full__avx512;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_me5m2_ve5m2_remainder_full__avx512;
quern_gradient_norm_cpu_kernel quern_adam_gradient_norm_f32__avx512;
quern_gradient_norm_cpu_kernel quern_adam_gradient_norm_f16__avx512;
quern_gradient_norm_cpu_kernel quern_adam_gradient_norm_bf16__avx512;
quern_gradient_accumulate_cpu_kernel quern_adam_gradient_accumulate_f32__avx512;
quern_gradient_accumulate_cpu_kernel quern_adam_gradient_accumulate_f16__avx512;
quern_gradient_accumulate_cpu_kernel quern_adam_gradient_accumulate_bf16__avx512;
quern_adam_cpu_kernel quern_adam_pf32_gf32_mf32_vf32__avx2;
quern_adam_cpu_kernel quern_adam_pf32_gf32_mf32_vbf16__avx2;
quern_adam_cpu_kernel quern_adam_pf32_gf32_mbf16_vf32__avx2;
quern_adam_cpu_kernel quern_adam_pf32_gf32_mbf16_vbf16__avx2;
quern_adam_cpu_kernel quern_adam_pf32_gf16_mf32_vf32__avx2;
quern_adam_cpu_kernel quern_adam_pf32_gf16_mbf16_vbf16__avx2;
quern_adam_cpu_kernel quern_adam_pf32_gbf16_mf32_vf32__avx2;
quern_adam_cpu_kernel quern_adam_pf32_gbf16_mbf16_vbf16__avx2;
quern_adam_cpu_kernel quern_adam_pf16_gf32_mf32_vf32__avx2;
quern_adam_cpu_kernel quern_adam_pf16_gf32_mf32_vf32_master32__avx2;
quern_adam_cpu_kernel quern_adam_pf16_gf32_mbf16_vbf16__avx2;
quern_adam_cpu_kernel quern_adam_pf16_gf32_mbf16_vbf16_master32__avx2;
quern_adam_cpu_kernel quern_adam_pf16_gf16_mf32_vf32__avx2;
quern_adam_cpu_kernel quern_adam_pf16_gf16_mf32_vf32_master32__avx2;
quern_adam_cpu_kernel quern_adam_pf16_gf16_mbf16_vbf16__avx2;
quern_adam_cpu_kernel quern_adam_pf16_gf16_mbf16_vbf16_master32__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mf32_vf32__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mf32_vf32_master32__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mf32_vf32_remainder__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mf32_vbf16_master32__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mbf16_vf32_master32__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mbf16_vbf16__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mbf16_vbf16_master32__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mbf16_vbf16_remainder__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mf32_vf32__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mf32_vf32_master32__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mf32_vf32_remainder__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mf32_vbf16__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mf32_vbf16_master32__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mf32_vbf16_remainder__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mbf16_vf32__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mbf16_vf32_master32__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mbf16_vf32_remainder__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mbf16_vbf16__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mbf16_vbf16_master32__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mbf16_vbf16_remainder__avx2;
quern_adam_cpu_kernel quern_adam_pf32_gf32_mf32_vf32_full__avx2;
quern_adam_cpu_kernel quern_adam_pf32_gf32_mf16_vf16_full__avx2;
quern_adam_cpu_kernel quern_adam_pf32_gf32_mbf16_vbf16_full__avx2;
quern_adam_cpu_kernel quern_adam_pf32_gf32_mbf16_ve4m3_full__avx2;
quern_adam_cpu_kernel quern_adam_pf32_gf32_me4m3_ve4m3_full__avx2;
quern_adam_cpu_kernel quern_adam_pf32_gf32_me5m2_ve5m2_full__avx2;
quern_adam_cpu_kernel quern_adam_pf32_gbf16_mf32_vf32_full__avx2;
quern_adam_cpu_kernel quern_adam_pf32_gbf16_mbf16_vbf16_full__avx2;
quern_adam_cpu_kernel quern_adam_pf16_gf16_mf32_vf32_master32_full__avx2;
quern_adam_cpu_kernel quern_adam_pf16_gf16_mbf16_vbf16_master32_full__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mf32_vf32_master32_full__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mf32_vf32_remainder_full__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mf16_vf16_master32_full__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mbf16_vbf16_master32_full__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mbf16_vbf16_remainder_full__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mbf16_ve4m3_master32_full__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_me4m3_ve4m3_master32_full__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_me5m2_ve5m2_master32_full__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mf32_vf32_full__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mf32_vf32_master32_full__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mf32_vf32_remainder_full__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mf16_vf16_full__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mf16_vf16_remainder_full__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mbf16_vbf16_full__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mbf16_vbf16_master32_full__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mbf16_vbf16_remainder_full__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mbf16_ve4m3_full__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mbf16_ve4m3_remainder_full__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_me4m3_ve4m3_full__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_me4m3_ve4m3_remainder_full__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_me5m2_ve5m2_full__avx2;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_me5m2_ve5m2_remainder_full__avx2;
quern_gradient_norm_cpu_kernel quern_adam_gradient_norm_f32__avx2;
quern_gradient_norm_cpu_kernel quern_adam_gradient_norm_f16__avx2;
quern_gradient_norm_cpu_kernel quern_adam_gradient_norm_bf16__avx2;
quern_gradient_accumulate_cpu_kernel quern_adam_gradient_accumulate_f32__avx2;
quern_gradient_accumulate_cpu_kernel quern_adam_gradient_accumulate_f16__avx2;
quern_gradient_accumulate_cpu_kernel quern_adam_gradient_accumulate_bf16__avx2;
quern_adam_cpu_kernel quern_adam_pf32_gf32_mf32_vf32__portable;
quern_adam_cpu_kernel quern_adam_pf32_gf32_mf32_vbf16__portable;
quern_adam_cpu_kernel quern_adam_pf32_gf32_mbf16_vf32__portable;
quern_adam_cpu_kernel quern_adam_pf32_gf32_mbf16_vbf16__portable;
quern_adam_cpu_kernel quern_adam_pf32_gf16_mf32_vf32__portable;
quern_adam_cpu_kernel quern_adam_pf32_gf16_mbf16_vbf16__portable;
quern_adam_cpu_kernel quern_adam_pf32_gbf16_mf32_vf32__portable;
quern_adam_cpu_kernel quern_adam_pf32_gbf16_mbf16_vbf16__portable;
quern_adam_cpu_kernel quern_adam_pf16_gf32_mf32_vf32__portable;
quern_adam_cpu_kernel quern_adam_pf16_gf32_mf32_vf32_master32__portable;
quern_adam_cpu_kernel quern_adam_pf16_gf32_mbf16_vbf16__portable;
quern_adam_cpu_kernel quern_adam_pf16_gf32_mbf16_vbf16_master32__portable;
quern_adam_cpu_kernel quern_adam_pf16_gf16_mf32_vf32__portable;
quern_adam_cpu_kernel quern_adam_pf16_gf16_mf32_vf32_master32__portable;
quern_adam_cpu_kernel quern_adam_pf16_gf16_mbf16_vbf16__portable;
quern_adam_cpu_kernel quern_adam_pf16_gf16_mbf16_vbf16_master32__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mf32_vf32__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mf32_vf32_master32__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mf32_vf32_remainder__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mf32_vbf16_master32__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mbf16_vf32_master32__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mbf16_vbf16__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mbf16_vbf16_master32__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mbf16_vbf16_remainder__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mf32_vf32__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mf32_vf32_master32__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mf32_vf32_remainder__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mf32_vbf16__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mf32_vbf16_master32__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mf32_vbf16_remainder__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mbf16_vf32__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mbf16_vf32_master32__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mbf16_vf32_remainder__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mbf16_vbf16__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mbf16_vbf16_master32__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mbf16_vbf16_remainder__portable;
quern_adam_cpu_kernel quern_adam_pf32_gf32_mf32_vf32_full__portable;
quern_adam_cpu_kernel quern_adam_pf32_gf32_mf16_vf16_full__portable;
quern_adam_cpu_kernel quern_adam_pf32_gf32_mbf16_vbf16_full__portable;
quern_adam_cpu_kernel quern_adam_pf32_gf32_mbf16_ve4m3_full__portable;
quern_adam_cpu_kernel quern_adam_pf32_gf32_me4m3_ve4m3_full__portable;
quern_adam_cpu_kernel quern_adam_pf32_gf32_me5m2_ve5m2_full__portable;
quern_adam_cpu_kernel quern_adam_pf32_gbf16_mf32_vf32_full__portable;
quern_adam_cpu_kernel quern_adam_pf32_gbf16_mbf16_vbf16_full__portable;
quern_adam_cpu_kernel quern_adam_pf16_gf16_mf32_vf32_master32_full__portable;
quern_adam_cpu_kernel quern_adam_pf16_gf16_mbf16_vbf16_master32_full__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mf32_vf32_master32_full__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mf32_vf32_remainder_full__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mf16_vf16_master32_full__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mbf16_vbf16_master32_full__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mbf16_vbf16_remainder_full__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_mbf16_ve4m3_master32_full__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_me4m3_ve4m3_master32_full__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gf32_me5m2_ve5m2_master32_full__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mf32_vf32_full__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mf32_vf32_master32_full__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mf32_vf32_remainder_full__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mf16_vf16_full__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mf16_vf16_remainder_full__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mbf16_vbf16_full__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mbf16_vbf16_master32_full__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mbf16_vbf16_remainder_full__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mbf16_ve4m3_full__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_mbf16_ve4m3_remainder_full__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_me4m3_ve4m3_full__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_me4m3_ve4m3_remainder_full__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_me5m2_ve5m2_full__portable;
quern_adam_cpu_kernel quern_adam_pbf16_gbf16_me5m2_ve5m2_remainder_full__portable;
quern_gradient_norm_cpu_kernel quern_adam_gradient_norm_f32__portable;
quern_gradient_norm_cpu_kernel quern_adam_gradient_norm_f16__portable;
quern_gradient_norm_cpu_kernel quern_adam_gradient_norm_bf16__portable;
quern_gradient_accumulate_cpu_kernel quern_adam_gradient_accumulate_f32__portable;
quern_gradient_accumulate_cpu_kernel quern_adam_gradient_accumulate_f16__portable;
quern_gradient_accumulate_cpu_kernel quern_adam_gradient_accumulate_bf16__portable;
const struct quern_kernel quern_adam_kernels[] = {
#if QUERN_SELECTED(sm_120f, adam_pf32_gf32)
    {
        .name = "adam_pf32_gf32_mf32_vf32__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf32_mf32_vf32", quern_image_adam_pf32_gf32__sm_120f, quern_image_adam_pf32_gf32__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mf32_vbf16__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf32_mf32_vbf16", quern_image_adam_pf32_gf32__sm_120f, quern_image_adam_pf32_gf32__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mbf16_vf32__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf32_mbf16_vf32", quern_image_adam_pf32_gf32__sm_120f, quern_image_adam_pf32_gf32__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mbf16_vbf16__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf32_mbf16_vbf16", quern_image_adam_pf32_gf32__sm_120f, quern_image_adam_pf32_gf32__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_120f, adam_pf32_gf16)
    {
        .name = "adam_pf32_gf16_mf32_vf32__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_F32, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf16_mf32_vf32", quern_image_adam_pf32_gf16__sm_120f, quern_image_adam_pf32_gf16__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf16_mbf16_vbf16__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_F32, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf16_mbf16_vbf16", quern_image_adam_pf32_gf16__sm_120f, quern_image_adam_pf32_gf16__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_120f, adam_pf32_gbf16)
    {
        .name = "adam_pf32_gbf16_mf32_vf32__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gbf16_mf32_vf32", quern_image_adam_pf32_gbf16__sm_120f, quern_image_adam_pf32_gbf16__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gbf16_mbf16_vbf16__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gbf16_mbf16_vbf16", quern_image_adam_pf32_gbf16__sm_120f, quern_image_adam_pf32_gbf16__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_120f, adam_pf16_gf32)
    {
        .name = "adam_pf16_gf32_mf32_vf32__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf32_mf32_vf32", quern_image_adam_pf16_gf32__sm_120f, quern_image_adam_pf16_gf32__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf32_mf32_vf32_master32__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf32_mf32_vf32_master32", quern_image_adam_pf16_gf32__sm_120f, quern_image_adam_pf16_gf32__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf32_mbf16_vbf16__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf32_mbf16_vbf16", quern_image_adam_pf16_gf32__sm_120f, quern_image_adam_pf16_gf32__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf32_mbf16_vbf16_master32__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf32_mbf16_vbf16_master32", quern_image_adam_pf16_gf32__sm_120f, quern_image_adam_pf16_gf32__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_120f, adam_pf16_gf16)
    {
        .name = "adam_pf16_gf16_mf32_vf32__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf16_mf32_vf32", quern_image_adam_pf16_gf16__sm_120f, quern_image_adam_pf16_gf16__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf16_mf32_vf32_master32__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf16_mf32_vf32_master32", quern_image_adam_pf16_gf16__sm_120f, quern_image_adam_pf16_gf16__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf16_mbf16_vbf16__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf16_mbf16_vbf16", quern_image_adam_pf16_gf16__sm_120f, quern_image_adam_pf16_gf16__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf16_mbf16_vbf16_master32__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf16_mbf16_vbf16_master32", quern_image_adam_pf16_gf16__sm_120f, quern_image_adam_pf16_gf16__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_120f, adam_pbf16_gf32)
    {
        .name = "adam_pbf16_gf32_mf32_vf32__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mf32_vf32", quern_image_adam_pbf16_gf32__sm_120f, quern_image_adam_pbf16_gf32__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf32_vf32_master32__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mf32_vf32_master32", quern_image_adam_pbf16_gf32__sm_120f, quern_image_adam_pbf16_gf32__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf32_vf32_remainder__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mf32_vf32_remainder", quern_image_adam_pbf16_gf32__sm_120f, quern_image_adam_pbf16_gf32__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf32_vbf16_master32__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mf32_vbf16_master32", quern_image_adam_pbf16_gf32__sm_120f, quern_image_adam_pbf16_gf32__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vf32_master32__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mbf16_vf32_master32", quern_image_adam_pbf16_gf32__sm_120f, quern_image_adam_pbf16_gf32__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16", quern_image_adam_pbf16_gf32__sm_120f, quern_image_adam_pbf16_gf32__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_master32__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16_master32", quern_image_adam_pbf16_gf32__sm_120f, quern_image_adam_pbf16_gf32__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_remainder__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16_remainder", quern_image_adam_pbf16_gf32__sm_120f, quern_image_adam_pbf16_gf32__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_120f, adam_pbf16_gbf16)
    {
        .name = "adam_pbf16_gbf16_mf32_vf32__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32", quern_image_adam_pbf16_gbf16__sm_120f, quern_image_adam_pbf16_gbf16__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_master32__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_master32", quern_image_adam_pbf16_gbf16__sm_120f, quern_image_adam_pbf16_gbf16__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_remainder__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_remainder", quern_image_adam_pbf16_gbf16__sm_120f, quern_image_adam_pbf16_gbf16__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vbf16__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vbf16", quern_image_adam_pbf16_gbf16__sm_120f, quern_image_adam_pbf16_gbf16__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vbf16_master32__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vbf16_master32", quern_image_adam_pbf16_gbf16__sm_120f, quern_image_adam_pbf16_gbf16__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vbf16_remainder__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vbf16_remainder", quern_image_adam_pbf16_gbf16__sm_120f, quern_image_adam_pbf16_gbf16__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vf32__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vf32", quern_image_adam_pbf16_gbf16__sm_120f, quern_image_adam_pbf16_gbf16__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vf32_master32__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vf32_master32", quern_image_adam_pbf16_gbf16__sm_120f, quern_image_adam_pbf16_gbf16__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vf32_remainder__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vf32_remainder", quern_image_adam_pbf16_gbf16__sm_120f, quern_image_adam_pbf16_gbf16__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16", quern_image_adam_pbf16_gbf16__sm_120f, quern_image_adam_pbf16_gbf16__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_master32__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_master32", quern_image_adam_pbf16_gbf16__sm_120f, quern_image_adam_pbf16_gbf16__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_remainder__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_remainder", quern_image_adam_pbf16_gbf16__sm_120f, quern_image_adam_pbf16_gbf16__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_120f, adam_pf32_gf32_full)
    {
        .name = "adam_pf32_gf32_mf32_vf32_full__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_mf32_vf32_full", quern_image_adam_pf32_gf32_full__sm_120f, quern_image_adam_pf32_gf32_full__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mf16_vf16_full__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F16, QUERN_F16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_mf16_vf16_full", quern_image_adam_pf32_gf32_full__sm_120f, quern_image_adam_pf32_gf32_full__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mbf16_vbf16_full__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_mbf16_vbf16_full", quern_image_adam_pf32_gf32_full__sm_120f, quern_image_adam_pf32_gf32_full__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mbf16_ve4m3_full__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_mbf16_ve4m3_full", quern_image_adam_pf32_gf32_full__sm_120f, quern_image_adam_pf32_gf32_full__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_me4m3_ve4m3_full__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_E4M3, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_me4m3_ve4m3_full", quern_image_adam_pf32_gf32_full__sm_120f, quern_image_adam_pf32_gf32_full__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_me5m2_ve5m2_full__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_E5M2, QUERN_E5M2, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_me5m2_ve5m2_full", quern_image_adam_pf32_gf32_full__sm_120f, quern_image_adam_pf32_gf32_full__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_120f, adam_pf32_gbf16_full)
    {
        .name = "adam_pf32_gbf16_mf32_vf32_full__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gbf16_mf32_vf32_full", quern_image_adam_pf32_gbf16_full__sm_120f, quern_image_adam_pf32_gbf16_full__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gbf16_mbf16_vbf16_full__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gbf16_mbf16_vbf16_full", quern_image_adam_pf32_gbf16_full__sm_120f, quern_image_adam_pf32_gbf16_full__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_120f, adam_pf16_gf16_full)
    {
        .name = "adam_pf16_gf16_mf32_vf32_master32_full__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf16_gf16_mf32_vf32_master32_full", quern_image_adam_pf16_gf16_full__sm_120f, quern_image_adam_pf16_gf16_full__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf16_mbf16_vbf16_master32_full__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf16_gf16_mbf16_vbf16_master32_full", quern_image_adam_pf16_gf16_full__sm_120f, quern_image_adam_pf16_gf16_full__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_120f, adam_pbf16_gf32_full)
    {
        .name = "adam_pbf16_gf32_mf32_vf32_master32_full__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mf32_vf32_master32_full", quern_image_adam_pbf16_gf32_full__sm_120f, quern_image_adam_pbf16_gf32_full__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf32_vf32_remainder_full__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mf32_vf32_remainder_full", quern_image_adam_pbf16_gf32_full__sm_120f, quern_image_adam_pbf16_gf32_full__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf16_vf16_master32_full__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F16, QUERN_F16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mf16_vf16_master32_full", quern_image_adam_pbf16_gf32_full__sm_120f, quern_image_adam_pbf16_gf32_full__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_master32_full__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16_master32_full", quern_image_adam_pbf16_gf32_full__sm_120f, quern_image_adam_pbf16_gf32_full__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_remainder_full__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16_remainder_full", quern_image_adam_pbf16_gf32_full__sm_120f, quern_image_adam_pbf16_gf32_full__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_ve4m3_master32_full__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_E4M3, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mbf16_ve4m3_master32_full", quern_image_adam_pbf16_gf32_full__sm_120f, quern_image_adam_pbf16_gf32_full__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_me4m3_ve4m3_master32_full__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_E4M3, QUERN_E4M3, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_me4m3_ve4m3_master32_full", quern_image_adam_pbf16_gf32_full__sm_120f, quern_image_adam_pbf16_gf32_full__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_me5m2_ve5m2_master32_full__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_E5M2, QUERN_E5M2, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_me5m2_ve5m2_master32_full", quern_image_adam_pbf16_gf32_full__sm_120f, quern_image_adam_pbf16_gf32_full__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_120f, adam_pbf16_gbf16_full)
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_full__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_full", quern_image_adam_pbf16_gbf16_full__sm_120f, quern_image_adam_pbf16_gbf16_full__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_master32_full__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_master32_full", quern_image_adam_pbf16_gbf16_full__sm_120f, quern_image_adam_pbf16_gbf16_full__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_remainder_full__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_120f, quern_image_adam_pbf16_gbf16_full__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf16_vf16_full__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F16, QUERN_F16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf16_vf16_full", quern_image_adam_pbf16_gbf16_full__sm_120f, quern_image_adam_pbf16_gbf16_full__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf16_vf16_remainder_full__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F16, QUERN_F16, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf16_vf16_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_120f, quern_image_adam_pbf16_gbf16_full__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_full__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_full", quern_image_adam_pbf16_gbf16_full__sm_120f, quern_image_adam_pbf16_gbf16_full__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_master32_full__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_master32_full", quern_image_adam_pbf16_gbf16_full__sm_120f, quern_image_adam_pbf16_gbf16_full__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_remainder_full__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_120f, quern_image_adam_pbf16_gbf16_full__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_ve4m3_full__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_ve4m3_full", quern_image_adam_pbf16_gbf16_full__sm_120f, quern_image_adam_pbf16_gbf16_full__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_ve4m3_remainder_full__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_ve4m3_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_120f, quern_image_adam_pbf16_gbf16_full__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_me4m3_ve4m3_full__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_me4m3_ve4m3_full", quern_image_adam_pbf16_gbf16_full__sm_120f, quern_image_adam_pbf16_gbf16_full__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_me4m3_ve4m3_remainder_full__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_E4M3, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_me4m3_ve4m3_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_120f, quern_image_adam_pbf16_gbf16_full__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_me5m2_ve5m2_full__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E5M2, QUERN_E5M2, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_me5m2_ve5m2_full", quern_image_adam_pbf16_gbf16_full__sm_120f, quern_image_adam_pbf16_gbf16_full__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_me5m2_ve5m2_remainder_full__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E5M2, QUERN_E5M2, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_me5m2_ve5m2_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_120f, quern_image_adam_pbf16_gbf16_full__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_120f, gradient_norm)
    {
        .name = "adam_gradient_norm_f32__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F32, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM, 0},
        .cuda = {"adam_gradient_norm_f32", quern_image_gradient_norm__sm_120f, quern_image_gradient_norm__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_gradient_norm_f16__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM, 0},
        .cuda = {"adam_gradient_norm_f16", quern_image_gradient_norm__sm_120f, quern_image_gradient_norm__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_gradient_norm_bf16__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_NO_DTYPE, QUERN_BF16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM, 0},
        .cuda = {"adam_gradient_norm_bf16", quern_image_gradient_norm__sm_120f, quern_image_gradient_norm__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_120f, gradient_norm_combine)
    {
        .name = "adam_gradient_norm_combine__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM_COMBINE, 0},
        .cuda = {"adam_gradient_norm_combine", quern_image_gradient_norm_combine__sm_120f, quern_image_gradient_norm_combine__sm_120f_end,
                 256, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_120f, gradient_accumulate)
    {
        .name = "adam_gradient_accumulate_f32__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F32, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_ACCUMULATE, 0},
        .cuda = {"adam_gradient_accumulate_f32", quern_image_gradient_accumulate__sm_120f, quern_image_gradient_accumulate__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_gradient_accumulate_f16__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_ACCUMULATE, 0},
        .cuda = {"adam_gradient_accumulate_f16", quern_image_gradient_accumulate__sm_120f, quern_image_gradient_accumulate__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_gradient_accumulate_bf16__sm_120f",
        .operation = QUERN_ADAM,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .key.adam = {QUERN_NO_DTYPE, QUERN_BF16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_ACCUMULATE, 0},
        .cuda = {"adam_gradient_accumulate_bf16", quern_image_gradient_accumulate__sm_120f, quern_image_gradient_accumulate__sm_120f_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_100f, adam_pf32_gf32)
    {
        .name = "adam_pf32_gf32_mf32_vf32__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf32_mf32_vf32", quern_image_adam_pf32_gf32__sm_100f, quern_image_adam_pf32_gf32__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mf32_vbf16__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf32_mf32_vbf16", quern_image_adam_pf32_gf32__sm_100f, quern_image_adam_pf32_gf32__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mbf16_vf32__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf32_mbf16_vf32", quern_image_adam_pf32_gf32__sm_100f, quern_image_adam_pf32_gf32__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mbf16_vbf16__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf32_mbf16_vbf16", quern_image_adam_pf32_gf32__sm_100f, quern_image_adam_pf32_gf32__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_100f, adam_pf32_gf16)
    {
        .name = "adam_pf32_gf16_mf32_vf32__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_F32, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf16_mf32_vf32", quern_image_adam_pf32_gf16__sm_100f, quern_image_adam_pf32_gf16__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf16_mbf16_vbf16__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_F32, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf16_mbf16_vbf16", quern_image_adam_pf32_gf16__sm_100f, quern_image_adam_pf32_gf16__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_100f, adam_pf32_gbf16)
    {
        .name = "adam_pf32_gbf16_mf32_vf32__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gbf16_mf32_vf32", quern_image_adam_pf32_gbf16__sm_100f, quern_image_adam_pf32_gbf16__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gbf16_mbf16_vbf16__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gbf16_mbf16_vbf16", quern_image_adam_pf32_gbf16__sm_100f, quern_image_adam_pf32_gbf16__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_100f, adam_pf16_gf32)
    {
        .name = "adam_pf16_gf32_mf32_vf32__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf32_mf32_vf32", quern_image_adam_pf16_gf32__sm_100f, quern_image_adam_pf16_gf32__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf32_mf32_vf32_master32__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf32_mf32_vf32_master32", quern_image_adam_pf16_gf32__sm_100f, quern_image_adam_pf16_gf32__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf32_mbf16_vbf16__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf32_mbf16_vbf16", quern_image_adam_pf16_gf32__sm_100f, quern_image_adam_pf16_gf32__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf32_mbf16_vbf16_master32__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf32_mbf16_vbf16_master32", quern_image_adam_pf16_gf32__sm_100f, quern_image_adam_pf16_gf32__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_100f, adam_pf16_gf16)
    {
        .name = "adam_pf16_gf16_mf32_vf32__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf16_mf32_vf32", quern_image_adam_pf16_gf16__sm_100f, quern_image_adam_pf16_gf16__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf16_mf32_vf32_master32__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf16_mf32_vf32_master32", quern_image_adam_pf16_gf16__sm_100f, quern_image_adam_pf16_gf16__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf16_mbf16_vbf16__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf16_mbf16_vbf16", quern_image_adam_pf16_gf16__sm_100f, quern_image_adam_pf16_gf16__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf16_mbf16_vbf16_master32__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf16_mbf16_vbf16_master32", quern_image_adam_pf16_gf16__sm_100f, quern_image_adam_pf16_gf16__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_100f, adam_pbf16_gf32)
    {
        .name = "adam_pbf16_gf32_mf32_vf32__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mf32_vf32", quern_image_adam_pbf16_gf32__sm_100f, quern_image_adam_pbf16_gf32__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf32_vf32_master32__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mf32_vf32_master32", quern_image_adam_pbf16_gf32__sm_100f, quern_image_adam_pbf16_gf32__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf32_vf32_remainder__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mf32_vf32_remainder", quern_image_adam_pbf16_gf32__sm_100f, quern_image_adam_pbf16_gf32__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf32_vbf16_master32__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mf32_vbf16_master32", quern_image_adam_pbf16_gf32__sm_100f, quern_image_adam_pbf16_gf32__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vf32_master32__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mbf16_vf32_master32", quern_image_adam_pbf16_gf32__sm_100f, quern_image_adam_pbf16_gf32__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16", quern_image_adam_pbf16_gf32__sm_100f, quern_image_adam_pbf16_gf32__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_master32__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16_master32", quern_image_adam_pbf16_gf32__sm_100f, quern_image_adam_pbf16_gf32__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_remainder__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16_remainder", quern_image_adam_pbf16_gf32__sm_100f, quern_image_adam_pbf16_gf32__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_100f, adam_pbf16_gbf16)
    {
        .name = "adam_pbf16_gbf16_mf32_vf32__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32", quern_image_adam_pbf16_gbf16__sm_100f, quern_image_adam_pbf16_gbf16__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_master32__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_master32", quern_image_adam_pbf16_gbf16__sm_100f, quern_image_adam_pbf16_gbf16__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_remainder__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_remainder", quern_image_adam_pbf16_gbf16__sm_100f, quern_image_adam_pbf16_gbf16__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vbf16__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vbf16", quern_image_adam_pbf16_gbf16__sm_100f, quern_image_adam_pbf16_gbf16__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vbf16_master32__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vbf16_master32", quern_image_adam_pbf16_gbf16__sm_100f, quern_image_adam_pbf16_gbf16__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vbf16_remainder__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vbf16_remainder", quern_image_adam_pbf16_gbf16__sm_100f, quern_image_adam_pbf16_gbf16__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vf32__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vf32", quern_image_adam_pbf16_gbf16__sm_100f, quern_image_adam_pbf16_gbf16__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vf32_master32__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vf32_master32", quern_image_adam_pbf16_gbf16__sm_100f, quern_image_adam_pbf16_gbf16__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vf32_remainder__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vf32_remainder", quern_image_adam_pbf16_gbf16__sm_100f, quern_image_adam_pbf16_gbf16__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16", quern_image_adam_pbf16_gbf16__sm_100f, quern_image_adam_pbf16_gbf16__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_master32__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_master32", quern_image_adam_pbf16_gbf16__sm_100f, quern_image_adam_pbf16_gbf16__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_remainder__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_remainder", quern_image_adam_pbf16_gbf16__sm_100f, quern_image_adam_pbf16_gbf16__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_100f, adam_pf32_gf32_full)
    {
        .name = "adam_pf32_gf32_mf32_vf32_full__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_mf32_vf32_full", quern_image_adam_pf32_gf32_full__sm_100f, quern_image_adam_pf32_gf32_full__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mf16_vf16_full__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F16, QUERN_F16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_mf16_vf16_full", quern_image_adam_pf32_gf32_full__sm_100f, quern_image_adam_pf32_gf32_full__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mbf16_vbf16_full__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_mbf16_vbf16_full", quern_image_adam_pf32_gf32_full__sm_100f, quern_image_adam_pf32_gf32_full__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mbf16_ve4m3_full__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_mbf16_ve4m3_full", quern_image_adam_pf32_gf32_full__sm_100f, quern_image_adam_pf32_gf32_full__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_me4m3_ve4m3_full__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_E4M3, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_me4m3_ve4m3_full", quern_image_adam_pf32_gf32_full__sm_100f, quern_image_adam_pf32_gf32_full__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_me5m2_ve5m2_full__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_E5M2, QUERN_E5M2, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_me5m2_ve5m2_full", quern_image_adam_pf32_gf32_full__sm_100f, quern_image_adam_pf32_gf32_full__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_100f, adam_pf32_gbf16_full)
    {
        .name = "adam_pf32_gbf16_mf32_vf32_full__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gbf16_mf32_vf32_full", quern_image_adam_pf32_gbf16_full__sm_100f, quern_image_adam_pf32_gbf16_full__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gbf16_mbf16_vbf16_full__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gbf16_mbf16_vbf16_full", quern_image_adam_pf32_gbf16_full__sm_100f, quern_image_adam_pf32_gbf16_full__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_100f, adam_pf16_gf16_full)
    {
        .name = "adam_pf16_gf16_mf32_vf32_master32_full__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf16_gf16_mf32_vf32_master32_full", quern_image_adam_pf16_gf16_full__sm_100f, quern_image_adam_pf16_gf16_full__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf16_mbf16_vbf16_master32_full__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf16_gf16_mbf16_vbf16_master32_full", quern_image_adam_pf16_gf16_full__sm_100f, quern_image_adam_pf16_gf16_full__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_100f, adam_pbf16_gf32_full)
    {
        .name = "adam_pbf16_gf32_mf32_vf32_master32_full__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mf32_vf32_master32_full", quern_image_adam_pbf16_gf32_full__sm_100f, quern_image_adam_pbf16_gf32_full__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf32_vf32_remainder_full__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mf32_vf32_remainder_full", quern_image_adam_pbf16_gf32_full__sm_100f, quern_image_adam_pbf16_gf32_full__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf16_vf16_master32_full__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F16, QUERN_F16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mf16_vf16_master32_full", quern_image_adam_pbf16_gf32_full__sm_100f, quern_image_adam_pbf16_gf32_full__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_master32_full__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16_master32_full", quern_image_adam_pbf16_gf32_full__sm_100f, quern_image_adam_pbf16_gf32_full__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_remainder_full__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16_remainder_full", quern_image_adam_pbf16_gf32_full__sm_100f, quern_image_adam_pbf16_gf32_full__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_ve4m3_master32_full__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_E4M3, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mbf16_ve4m3_master32_full", quern_image_adam_pbf16_gf32_full__sm_100f, quern_image_adam_pbf16_gf32_full__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_me4m3_ve4m3_master32_full__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_E4M3, QUERN_E4M3, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_me4m3_ve4m3_master32_full", quern_image_adam_pbf16_gf32_full__sm_100f, quern_image_adam_pbf16_gf32_full__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_me5m2_ve5m2_master32_full__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_E5M2, QUERN_E5M2, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_me5m2_ve5m2_master32_full", quern_image_adam_pbf16_gf32_full__sm_100f, quern_image_adam_pbf16_gf32_full__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_100f, adam_pbf16_gbf16_full)
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_full__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_full", quern_image_adam_pbf16_gbf16_full__sm_100f, quern_image_adam_pbf16_gbf16_full__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_master32_full__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_master32_full", quern_image_adam_pbf16_gbf16_full__sm_100f, quern_image_adam_pbf16_gbf16_full__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_remainder_full__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_100f, quern_image_adam_pbf16_gbf16_full__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf16_vf16_full__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F16, QUERN_F16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf16_vf16_full", quern_image_adam_pbf16_gbf16_full__sm_100f, quern_image_adam_pbf16_gbf16_full__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf16_vf16_remainder_full__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F16, QUERN_F16, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf16_vf16_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_100f, quern_image_adam_pbf16_gbf16_full__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_full__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_full", quern_image_adam_pbf16_gbf16_full__sm_100f, quern_image_adam_pbf16_gbf16_full__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_master32_full__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_master32_full", quern_image_adam_pbf16_gbf16_full__sm_100f, quern_image_adam_pbf16_gbf16_full__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_remainder_full__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_100f, quern_image_adam_pbf16_gbf16_full__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_ve4m3_full__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_ve4m3_full", quern_image_adam_pbf16_gbf16_full__sm_100f, quern_image_adam_pbf16_gbf16_full__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_ve4m3_remainder_full__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_ve4m3_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_100f, quern_image_adam_pbf16_gbf16_full__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_me4m3_ve4m3_full__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_me4m3_ve4m3_full", quern_image_adam_pbf16_gbf16_full__sm_100f, quern_image_adam_pbf16_gbf16_full__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_me4m3_ve4m3_remainder_full__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_E4M3, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_me4m3_ve4m3_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_100f, quern_image_adam_pbf16_gbf16_full__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_me5m2_ve5m2_full__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E5M2, QUERN_E5M2, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_me5m2_ve5m2_full", quern_image_adam_pbf16_gbf16_full__sm_100f, quern_image_adam_pbf16_gbf16_full__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_me5m2_ve5m2_remainder_full__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E5M2, QUERN_E5M2, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_me5m2_ve5m2_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_100f, quern_image_adam_pbf16_gbf16_full__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_100f, gradient_norm)
    {
        .name = "adam_gradient_norm_f32__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F32, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM, 0},
        .cuda = {"adam_gradient_norm_f32", quern_image_gradient_norm__sm_100f, quern_image_gradient_norm__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_gradient_norm_f16__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM, 0},
        .cuda = {"adam_gradient_norm_f16", quern_image_gradient_norm__sm_100f, quern_image_gradient_norm__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_gradient_norm_bf16__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_NO_DTYPE, QUERN_BF16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM, 0},
        .cuda = {"adam_gradient_norm_bf16", quern_image_gradient_norm__sm_100f, quern_image_gradient_norm__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_100f, gradient_norm_combine)
    {
        .name = "adam_gradient_norm_combine__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM_COMBINE, 0},
        .cuda = {"adam_gradient_norm_combine", quern_image_gradient_norm_combine__sm_100f, quern_image_gradient_norm_combine__sm_100f_end,
                 256, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_100f, gradient_accumulate)
    {
        .name = "adam_gradient_accumulate_f32__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F32, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_ACCUMULATE, 0},
        .cuda = {"adam_gradient_accumulate_f32", quern_image_gradient_accumulate__sm_100f, quern_image_gradient_accumulate__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_gradient_accumulate_f16__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_ACCUMULATE, 0},
        .cuda = {"adam_gradient_accumulate_f16", quern_image_gradient_accumulate__sm_100f, quern_image_gradient_accumulate__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_gradient_accumulate_bf16__sm_100f",
        .operation = QUERN_ADAM,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .key.adam = {QUERN_NO_DTYPE, QUERN_BF16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_ACCUMULATE, 0},
        .cuda = {"adam_gradient_accumulate_bf16", quern_image_gradient_accumulate__sm_100f, quern_image_gradient_accumulate__sm_100f_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_90a, adam_pf32_gf32)
    {
        .name = "adam_pf32_gf32_mf32_vf32__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf32_mf32_vf32", quern_image_adam_pf32_gf32__sm_90a, quern_image_adam_pf32_gf32__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mf32_vbf16__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf32_mf32_vbf16", quern_image_adam_pf32_gf32__sm_90a, quern_image_adam_pf32_gf32__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mbf16_vf32__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf32_mbf16_vf32", quern_image_adam_pf32_gf32__sm_90a, quern_image_adam_pf32_gf32__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mbf16_vbf16__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf32_mbf16_vbf16", quern_image_adam_pf32_gf32__sm_90a, quern_image_adam_pf32_gf32__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_90a, adam_pf32_gf16)
    {
        .name = "adam_pf32_gf16_mf32_vf32__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_F32, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf16_mf32_vf32", quern_image_adam_pf32_gf16__sm_90a, quern_image_adam_pf32_gf16__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf16_mbf16_vbf16__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_F32, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf16_mbf16_vbf16", quern_image_adam_pf32_gf16__sm_90a, quern_image_adam_pf32_gf16__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_90a, adam_pf32_gbf16)
    {
        .name = "adam_pf32_gbf16_mf32_vf32__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gbf16_mf32_vf32", quern_image_adam_pf32_gbf16__sm_90a, quern_image_adam_pf32_gbf16__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gbf16_mbf16_vbf16__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gbf16_mbf16_vbf16", quern_image_adam_pf32_gbf16__sm_90a, quern_image_adam_pf32_gbf16__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_90a, adam_pf16_gf32)
    {
        .name = "adam_pf16_gf32_mf32_vf32__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf32_mf32_vf32", quern_image_adam_pf16_gf32__sm_90a, quern_image_adam_pf16_gf32__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf32_mf32_vf32_master32__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf32_mf32_vf32_master32", quern_image_adam_pf16_gf32__sm_90a, quern_image_adam_pf16_gf32__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf32_mbf16_vbf16__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf32_mbf16_vbf16", quern_image_adam_pf16_gf32__sm_90a, quern_image_adam_pf16_gf32__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf32_mbf16_vbf16_master32__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf32_mbf16_vbf16_master32", quern_image_adam_pf16_gf32__sm_90a, quern_image_adam_pf16_gf32__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_90a, adam_pf16_gf16)
    {
        .name = "adam_pf16_gf16_mf32_vf32__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf16_mf32_vf32", quern_image_adam_pf16_gf16__sm_90a, quern_image_adam_pf16_gf16__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf16_mf32_vf32_master32__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf16_mf32_vf32_master32", quern_image_adam_pf16_gf16__sm_90a, quern_image_adam_pf16_gf16__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf16_mbf16_vbf16__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf16_mbf16_vbf16", quern_image_adam_pf16_gf16__sm_90a, quern_image_adam_pf16_gf16__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf16_mbf16_vbf16_master32__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf16_mbf16_vbf16_master32", quern_image_adam_pf16_gf16__sm_90a, quern_image_adam_pf16_gf16__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_90a, adam_pbf16_gf32)
    {
        .name = "adam_pbf16_gf32_mf32_vf32__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mf32_vf32", quern_image_adam_pbf16_gf32__sm_90a, quern_image_adam_pbf16_gf32__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf32_vf32_master32__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mf32_vf32_master32", quern_image_adam_pbf16_gf32__sm_90a, quern_image_adam_pbf16_gf32__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf32_vf32_remainder__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mf32_vf32_remainder", quern_image_adam_pbf16_gf32__sm_90a, quern_image_adam_pbf16_gf32__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf32_vbf16_master32__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mf32_vbf16_master32", quern_image_adam_pbf16_gf32__sm_90a, quern_image_adam_pbf16_gf32__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vf32_master32__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mbf16_vf32_master32", quern_image_adam_pbf16_gf32__sm_90a, quern_image_adam_pbf16_gf32__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16", quern_image_adam_pbf16_gf32__sm_90a, quern_image_adam_pbf16_gf32__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_master32__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16_master32", quern_image_adam_pbf16_gf32__sm_90a, quern_image_adam_pbf16_gf32__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_remainder__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16_remainder", quern_image_adam_pbf16_gf32__sm_90a, quern_image_adam_pbf16_gf32__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_90a, adam_pbf16_gbf16)
    {
        .name = "adam_pbf16_gbf16_mf32_vf32__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32", quern_image_adam_pbf16_gbf16__sm_90a, quern_image_adam_pbf16_gbf16__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_master32__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_master32", quern_image_adam_pbf16_gbf16__sm_90a, quern_image_adam_pbf16_gbf16__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_remainder__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_remainder", quern_image_adam_pbf16_gbf16__sm_90a, quern_image_adam_pbf16_gbf16__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vbf16__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vbf16", quern_image_adam_pbf16_gbf16__sm_90a, quern_image_adam_pbf16_gbf16__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vbf16_master32__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vbf16_master32", quern_image_adam_pbf16_gbf16__sm_90a, quern_image_adam_pbf16_gbf16__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vbf16_remainder__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vbf16_remainder", quern_image_adam_pbf16_gbf16__sm_90a, quern_image_adam_pbf16_gbf16__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vf32__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vf32", quern_image_adam_pbf16_gbf16__sm_90a, quern_image_adam_pbf16_gbf16__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vf32_master32__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vf32_master32", quern_image_adam_pbf16_gbf16__sm_90a, quern_image_adam_pbf16_gbf16__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vf32_remainder__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vf32_remainder", quern_image_adam_pbf16_gbf16__sm_90a, quern_image_adam_pbf16_gbf16__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16", quern_image_adam_pbf16_gbf16__sm_90a, quern_image_adam_pbf16_gbf16__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_master32__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_master32", quern_image_adam_pbf16_gbf16__sm_90a, quern_image_adam_pbf16_gbf16__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_remainder__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_remainder", quern_image_adam_pbf16_gbf16__sm_90a, quern_image_adam_pbf16_gbf16__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_90a, adam_pf32_gf32_full)
    {
        .name = "adam_pf32_gf32_mf32_vf32_full__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_mf32_vf32_full", quern_image_adam_pf32_gf32_full__sm_90a, quern_image_adam_pf32_gf32_full__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mf16_vf16_full__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F16, QUERN_F16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_mf16_vf16_full", quern_image_adam_pf32_gf32_full__sm_90a, quern_image_adam_pf32_gf32_full__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mbf16_vbf16_full__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_mbf16_vbf16_full", quern_image_adam_pf32_gf32_full__sm_90a, quern_image_adam_pf32_gf32_full__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mbf16_ve4m3_full__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_mbf16_ve4m3_full", quern_image_adam_pf32_gf32_full__sm_90a, quern_image_adam_pf32_gf32_full__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_me4m3_ve4m3_full__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_E4M3, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_me4m3_ve4m3_full", quern_image_adam_pf32_gf32_full__sm_90a, quern_image_adam_pf32_gf32_full__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_me5m2_ve5m2_full__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_E5M2, QUERN_E5M2, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_me5m2_ve5m2_full", quern_image_adam_pf32_gf32_full__sm_90a, quern_image_adam_pf32_gf32_full__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_90a, adam_pf32_gbf16_full)
    {
        .name = "adam_pf32_gbf16_mf32_vf32_full__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gbf16_mf32_vf32_full", quern_image_adam_pf32_gbf16_full__sm_90a, quern_image_adam_pf32_gbf16_full__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gbf16_mbf16_vbf16_full__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gbf16_mbf16_vbf16_full", quern_image_adam_pf32_gbf16_full__sm_90a, quern_image_adam_pf32_gbf16_full__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_90a, adam_pf16_gf16_full)
    {
        .name = "adam_pf16_gf16_mf32_vf32_master32_full__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf16_gf16_mf32_vf32_master32_full", quern_image_adam_pf16_gf16_full__sm_90a, quern_image_adam_pf16_gf16_full__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf16_mbf16_vbf16_master32_full__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf16_gf16_mbf16_vbf16_master32_full", quern_image_adam_pf16_gf16_full__sm_90a, quern_image_adam_pf16_gf16_full__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_90a, adam_pbf16_gf32_full)
    {
        .name = "adam_pbf16_gf32_mf32_vf32_master32_full__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mf32_vf32_master32_full", quern_image_adam_pbf16_gf32_full__sm_90a, quern_image_adam_pbf16_gf32_full__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf32_vf32_remainder_full__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mf32_vf32_remainder_full", quern_image_adam_pbf16_gf32_full__sm_90a, quern_image_adam_pbf16_gf32_full__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf16_vf16_master32_full__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F16, QUERN_F16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mf16_vf16_master32_full", quern_image_adam_pbf16_gf32_full__sm_90a, quern_image_adam_pbf16_gf32_full__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_master32_full__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16_master32_full", quern_image_adam_pbf16_gf32_full__sm_90a, quern_image_adam_pbf16_gf32_full__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_remainder_full__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16_remainder_full", quern_image_adam_pbf16_gf32_full__sm_90a, quern_image_adam_pbf16_gf32_full__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_ve4m3_master32_full__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_E4M3, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mbf16_ve4m3_master32_full", quern_image_adam_pbf16_gf32_full__sm_90a, quern_image_adam_pbf16_gf32_full__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_me4m3_ve4m3_master32_full__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_E4M3, QUERN_E4M3, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_me4m3_ve4m3_master32_full", quern_image_adam_pbf16_gf32_full__sm_90a, quern_image_adam_pbf16_gf32_full__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_me5m2_ve5m2_master32_full__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_E5M2, QUERN_E5M2, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_me5m2_ve5m2_master32_full", quern_image_adam_pbf16_gf32_full__sm_90a, quern_image_adam_pbf16_gf32_full__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_90a, adam_pbf16_gbf16_full)
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_full__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_full", quern_image_adam_pbf16_gbf16_full__sm_90a, quern_image_adam_pbf16_gbf16_full__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_master32_full__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_master32_full", quern_image_adam_pbf16_gbf16_full__sm_90a, quern_image_adam_pbf16_gbf16_full__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_remainder_full__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_90a, quern_image_adam_pbf16_gbf16_full__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf16_vf16_full__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F16, QUERN_F16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf16_vf16_full", quern_image_adam_pbf16_gbf16_full__sm_90a, quern_image_adam_pbf16_gbf16_full__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf16_vf16_remainder_full__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F16, QUERN_F16, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf16_vf16_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_90a, quern_image_adam_pbf16_gbf16_full__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_full__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_full", quern_image_adam_pbf16_gbf16_full__sm_90a, quern_image_adam_pbf16_gbf16_full__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_master32_full__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_master32_full", quern_image_adam_pbf16_gbf16_full__sm_90a, quern_image_adam_pbf16_gbf16_full__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_remainder_full__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_90a, quern_image_adam_pbf16_gbf16_full__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_ve4m3_full__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_ve4m3_full", quern_image_adam_pbf16_gbf16_full__sm_90a, quern_image_adam_pbf16_gbf16_full__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_ve4m3_remainder_full__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_ve4m3_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_90a, quern_image_adam_pbf16_gbf16_full__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_me4m3_ve4m3_full__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_me4m3_ve4m3_full", quern_image_adam_pbf16_gbf16_full__sm_90a, quern_image_adam_pbf16_gbf16_full__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_me4m3_ve4m3_remainder_full__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_E4M3, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_me4m3_ve4m3_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_90a, quern_image_adam_pbf16_gbf16_full__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_me5m2_ve5m2_full__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E5M2, QUERN_E5M2, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_me5m2_ve5m2_full", quern_image_adam_pbf16_gbf16_full__sm_90a, quern_image_adam_pbf16_gbf16_full__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_me5m2_ve5m2_remainder_full__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E5M2, QUERN_E5M2, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_me5m2_ve5m2_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_90a, quern_image_adam_pbf16_gbf16_full__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_90a, gradient_norm)
    {
        .name = "adam_gradient_norm_f32__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F32, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM, 0},
        .cuda = {"adam_gradient_norm_f32", quern_image_gradient_norm__sm_90a, quern_image_gradient_norm__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_gradient_norm_f16__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM, 0},
        .cuda = {"adam_gradient_norm_f16", quern_image_gradient_norm__sm_90a, quern_image_gradient_norm__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_gradient_norm_bf16__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_NO_DTYPE, QUERN_BF16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM, 0},
        .cuda = {"adam_gradient_norm_bf16", quern_image_gradient_norm__sm_90a, quern_image_gradient_norm__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_90a, gradient_norm_combine)
    {
        .name = "adam_gradient_norm_combine__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM_COMBINE, 0},
        .cuda = {"adam_gradient_norm_combine", quern_image_gradient_norm_combine__sm_90a, quern_image_gradient_norm_combine__sm_90a_end,
                 256, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_90a, gradient_accumulate)
    {
        .name = "adam_gradient_accumulate_f32__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F32, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_ACCUMULATE, 0},
        .cuda = {"adam_gradient_accumulate_f32", quern_image_gradient_accumulate__sm_90a, quern_image_gradient_accumulate__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_gradient_accumulate_f16__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_ACCUMULATE, 0},
        .cuda = {"adam_gradient_accumulate_f16", quern_image_gradient_accumulate__sm_90a, quern_image_gradient_accumulate__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_gradient_accumulate_bf16__sm_90a",
        .operation = QUERN_ADAM,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .key.adam = {QUERN_NO_DTYPE, QUERN_BF16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_ACCUMULATE, 0},
        .cuda = {"adam_gradient_accumulate_bf16", quern_image_gradient_accumulate__sm_90a, quern_image_gradient_accumulate__sm_90a_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_89, adam_pf32_gf32)
    {
        .name = "adam_pf32_gf32_mf32_vf32__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf32_mf32_vf32", quern_image_adam_pf32_gf32__sm_89, quern_image_adam_pf32_gf32__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mf32_vbf16__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf32_mf32_vbf16", quern_image_adam_pf32_gf32__sm_89, quern_image_adam_pf32_gf32__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mbf16_vf32__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf32_mbf16_vf32", quern_image_adam_pf32_gf32__sm_89, quern_image_adam_pf32_gf32__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mbf16_vbf16__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf32_mbf16_vbf16", quern_image_adam_pf32_gf32__sm_89, quern_image_adam_pf32_gf32__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_89, adam_pf32_gf16)
    {
        .name = "adam_pf32_gf16_mf32_vf32__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_F32, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf16_mf32_vf32", quern_image_adam_pf32_gf16__sm_89, quern_image_adam_pf32_gf16__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf16_mbf16_vbf16__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_F32, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf16_mbf16_vbf16", quern_image_adam_pf32_gf16__sm_89, quern_image_adam_pf32_gf16__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_89, adam_pf32_gbf16)
    {
        .name = "adam_pf32_gbf16_mf32_vf32__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gbf16_mf32_vf32", quern_image_adam_pf32_gbf16__sm_89, quern_image_adam_pf32_gbf16__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gbf16_mbf16_vbf16__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gbf16_mbf16_vbf16", quern_image_adam_pf32_gbf16__sm_89, quern_image_adam_pf32_gbf16__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_89, adam_pf16_gf32)
    {
        .name = "adam_pf16_gf32_mf32_vf32__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf32_mf32_vf32", quern_image_adam_pf16_gf32__sm_89, quern_image_adam_pf16_gf32__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf32_mf32_vf32_master32__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf32_mf32_vf32_master32", quern_image_adam_pf16_gf32__sm_89, quern_image_adam_pf16_gf32__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf32_mbf16_vbf16__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf32_mbf16_vbf16", quern_image_adam_pf16_gf32__sm_89, quern_image_adam_pf16_gf32__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf32_mbf16_vbf16_master32__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf32_mbf16_vbf16_master32", quern_image_adam_pf16_gf32__sm_89, quern_image_adam_pf16_gf32__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_89, adam_pf16_gf16)
    {
        .name = "adam_pf16_gf16_mf32_vf32__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf16_mf32_vf32", quern_image_adam_pf16_gf16__sm_89, quern_image_adam_pf16_gf16__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf16_mf32_vf32_master32__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf16_mf32_vf32_master32", quern_image_adam_pf16_gf16__sm_89, quern_image_adam_pf16_gf16__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf16_mbf16_vbf16__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf16_mbf16_vbf16", quern_image_adam_pf16_gf16__sm_89, quern_image_adam_pf16_gf16__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf16_mbf16_vbf16_master32__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf16_mbf16_vbf16_master32", quern_image_adam_pf16_gf16__sm_89, quern_image_adam_pf16_gf16__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_89, adam_pbf16_gf32)
    {
        .name = "adam_pbf16_gf32_mf32_vf32__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mf32_vf32", quern_image_adam_pbf16_gf32__sm_89, quern_image_adam_pbf16_gf32__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf32_vf32_master32__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mf32_vf32_master32", quern_image_adam_pbf16_gf32__sm_89, quern_image_adam_pbf16_gf32__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf32_vf32_remainder__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mf32_vf32_remainder", quern_image_adam_pbf16_gf32__sm_89, quern_image_adam_pbf16_gf32__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf32_vbf16_master32__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mf32_vbf16_master32", quern_image_adam_pbf16_gf32__sm_89, quern_image_adam_pbf16_gf32__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vf32_master32__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mbf16_vf32_master32", quern_image_adam_pbf16_gf32__sm_89, quern_image_adam_pbf16_gf32__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16", quern_image_adam_pbf16_gf32__sm_89, quern_image_adam_pbf16_gf32__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_master32__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16_master32", quern_image_adam_pbf16_gf32__sm_89, quern_image_adam_pbf16_gf32__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_remainder__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16_remainder", quern_image_adam_pbf16_gf32__sm_89, quern_image_adam_pbf16_gf32__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_89, adam_pbf16_gbf16)
    {
        .name = "adam_pbf16_gbf16_mf32_vf32__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32", quern_image_adam_pbf16_gbf16__sm_89, quern_image_adam_pbf16_gbf16__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_master32__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_master32", quern_image_adam_pbf16_gbf16__sm_89, quern_image_adam_pbf16_gbf16__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_remainder__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_remainder", quern_image_adam_pbf16_gbf16__sm_89, quern_image_adam_pbf16_gbf16__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vbf16__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vbf16", quern_image_adam_pbf16_gbf16__sm_89, quern_image_adam_pbf16_gbf16__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vbf16_master32__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vbf16_master32", quern_image_adam_pbf16_gbf16__sm_89, quern_image_adam_pbf16_gbf16__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vbf16_remainder__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vbf16_remainder", quern_image_adam_pbf16_gbf16__sm_89, quern_image_adam_pbf16_gbf16__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vf32__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vf32", quern_image_adam_pbf16_gbf16__sm_89, quern_image_adam_pbf16_gbf16__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vf32_master32__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vf32_master32", quern_image_adam_pbf16_gbf16__sm_89, quern_image_adam_pbf16_gbf16__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vf32_remainder__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vf32_remainder", quern_image_adam_pbf16_gbf16__sm_89, quern_image_adam_pbf16_gbf16__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16", quern_image_adam_pbf16_gbf16__sm_89, quern_image_adam_pbf16_gbf16__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_master32__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_master32", quern_image_adam_pbf16_gbf16__sm_89, quern_image_adam_pbf16_gbf16__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_remainder__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_remainder", quern_image_adam_pbf16_gbf16__sm_89, quern_image_adam_pbf16_gbf16__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_89, adam_pf32_gf32_full)
    {
        .name = "adam_pf32_gf32_mf32_vf32_full__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_mf32_vf32_full", quern_image_adam_pf32_gf32_full__sm_89, quern_image_adam_pf32_gf32_full__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mf16_vf16_full__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F16, QUERN_F16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_mf16_vf16_full", quern_image_adam_pf32_gf32_full__sm_89, quern_image_adam_pf32_gf32_full__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mbf16_vbf16_full__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_mbf16_vbf16_full", quern_image_adam_pf32_gf32_full__sm_89, quern_image_adam_pf32_gf32_full__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mbf16_ve4m3_full__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_mbf16_ve4m3_full", quern_image_adam_pf32_gf32_full__sm_89, quern_image_adam_pf32_gf32_full__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_me4m3_ve4m3_full__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_E4M3, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_me4m3_ve4m3_full", quern_image_adam_pf32_gf32_full__sm_89, quern_image_adam_pf32_gf32_full__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_me5m2_ve5m2_full__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_E5M2, QUERN_E5M2, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_me5m2_ve5m2_full", quern_image_adam_pf32_gf32_full__sm_89, quern_image_adam_pf32_gf32_full__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_89, adam_pf32_gbf16_full)
    {
        .name = "adam_pf32_gbf16_mf32_vf32_full__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gbf16_mf32_vf32_full", quern_image_adam_pf32_gbf16_full__sm_89, quern_image_adam_pf32_gbf16_full__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gbf16_mbf16_vbf16_full__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gbf16_mbf16_vbf16_full", quern_image_adam_pf32_gbf16_full__sm_89, quern_image_adam_pf32_gbf16_full__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_89, adam_pf16_gf16_full)
    {
        .name = "adam_pf16_gf16_mf32_vf32_master32_full__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf16_gf16_mf32_vf32_master32_full", quern_image_adam_pf16_gf16_full__sm_89, quern_image_adam_pf16_gf16_full__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf16_mbf16_vbf16_master32_full__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf16_gf16_mbf16_vbf16_master32_full", quern_image_adam_pf16_gf16_full__sm_89, quern_image_adam_pf16_gf16_full__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_89, adam_pbf16_gf32_full)
    {
        .name = "adam_pbf16_gf32_mf32_vf32_master32_full__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mf32_vf32_master32_full", quern_image_adam_pbf16_gf32_full__sm_89, quern_image_adam_pbf16_gf32_full__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf32_vf32_remainder_full__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mf32_vf32_remainder_full", quern_image_adam_pbf16_gf32_full__sm_89, quern_image_adam_pbf16_gf32_full__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf16_vf16_master32_full__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F16, QUERN_F16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mf16_vf16_master32_full", quern_image_adam_pbf16_gf32_full__sm_89, quern_image_adam_pbf16_gf32_full__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_master32_full__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16_master32_full", quern_image_adam_pbf16_gf32_full__sm_89, quern_image_adam_pbf16_gf32_full__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_remainder_full__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16_remainder_full", quern_image_adam_pbf16_gf32_full__sm_89, quern_image_adam_pbf16_gf32_full__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_ve4m3_master32_full__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_E4M3, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mbf16_ve4m3_master32_full", quern_image_adam_pbf16_gf32_full__sm_89, quern_image_adam_pbf16_gf32_full__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_me4m3_ve4m3_master32_full__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_E4M3, QUERN_E4M3, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_me4m3_ve4m3_master32_full", quern_image_adam_pbf16_gf32_full__sm_89, quern_image_adam_pbf16_gf32_full__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_me5m2_ve5m2_master32_full__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_E5M2, QUERN_E5M2, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_me5m2_ve5m2_master32_full", quern_image_adam_pbf16_gf32_full__sm_89, quern_image_adam_pbf16_gf32_full__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_89, adam_pbf16_gbf16_full)
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_full__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_full", quern_image_adam_pbf16_gbf16_full__sm_89, quern_image_adam_pbf16_gbf16_full__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_master32_full__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_master32_full", quern_image_adam_pbf16_gbf16_full__sm_89, quern_image_adam_pbf16_gbf16_full__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_remainder_full__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_89, quern_image_adam_pbf16_gbf16_full__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf16_vf16_full__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F16, QUERN_F16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf16_vf16_full", quern_image_adam_pbf16_gbf16_full__sm_89, quern_image_adam_pbf16_gbf16_full__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf16_vf16_remainder_full__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F16, QUERN_F16, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf16_vf16_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_89, quern_image_adam_pbf16_gbf16_full__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_full__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_full", quern_image_adam_pbf16_gbf16_full__sm_89, quern_image_adam_pbf16_gbf16_full__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_master32_full__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_master32_full", quern_image_adam_pbf16_gbf16_full__sm_89, quern_image_adam_pbf16_gbf16_full__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_remainder_full__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_89, quern_image_adam_pbf16_gbf16_full__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_ve4m3_full__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_ve4m3_full", quern_image_adam_pbf16_gbf16_full__sm_89, quern_image_adam_pbf16_gbf16_full__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_ve4m3_remainder_full__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_ve4m3_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_89, quern_image_adam_pbf16_gbf16_full__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_me4m3_ve4m3_full__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_me4m3_ve4m3_full", quern_image_adam_pbf16_gbf16_full__sm_89, quern_image_adam_pbf16_gbf16_full__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_me4m3_ve4m3_remainder_full__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_E4M3, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_me4m3_ve4m3_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_89, quern_image_adam_pbf16_gbf16_full__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_me5m2_ve5m2_full__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E5M2, QUERN_E5M2, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_me5m2_ve5m2_full", quern_image_adam_pbf16_gbf16_full__sm_89, quern_image_adam_pbf16_gbf16_full__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_me5m2_ve5m2_remainder_full__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E5M2, QUERN_E5M2, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_me5m2_ve5m2_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_89, quern_image_adam_pbf16_gbf16_full__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_89, gradient_norm)
    {
        .name = "adam_gradient_norm_f32__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F32, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM, 0},
        .cuda = {"adam_gradient_norm_f32", quern_image_gradient_norm__sm_89, quern_image_gradient_norm__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_gradient_norm_f16__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM, 0},
        .cuda = {"adam_gradient_norm_f16", quern_image_gradient_norm__sm_89, quern_image_gradient_norm__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_gradient_norm_bf16__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_NO_DTYPE, QUERN_BF16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM, 0},
        .cuda = {"adam_gradient_norm_bf16", quern_image_gradient_norm__sm_89, quern_image_gradient_norm__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_89, gradient_norm_combine)
    {
        .name = "adam_gradient_norm_combine__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM_COMBINE, 0},
        .cuda = {"adam_gradient_norm_combine", quern_image_gradient_norm_combine__sm_89, quern_image_gradient_norm_combine__sm_89_end,
                 256, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_89, gradient_accumulate)
    {
        .name = "adam_gradient_accumulate_f32__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F32, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_ACCUMULATE, 0},
        .cuda = {"adam_gradient_accumulate_f32", quern_image_gradient_accumulate__sm_89, quern_image_gradient_accumulate__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_gradient_accumulate_f16__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_ACCUMULATE, 0},
        .cuda = {"adam_gradient_accumulate_f16", quern_image_gradient_accumulate__sm_89, quern_image_gradient_accumulate__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_gradient_accumulate_bf16__sm_89",
        .operation = QUERN_ADAM,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .key.adam = {QUERN_NO_DTYPE, QUERN_BF16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_ACCUMULATE, 0},
        .cuda = {"adam_gradient_accumulate_bf16", quern_image_gradient_accumulate__sm_89, quern_image_gradient_accumulate__sm_89_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_86, adam_pf32_gf32)
    {
        .name = "adam_pf32_gf32_mf32_vf32__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf32_mf32_vf32", quern_image_adam_pf32_gf32__sm_86, quern_image_adam_pf32_gf32__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mf32_vbf16__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf32_mf32_vbf16", quern_image_adam_pf32_gf32__sm_86, quern_image_adam_pf32_gf32__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mbf16_vf32__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf32_mbf16_vf32", quern_image_adam_pf32_gf32__sm_86, quern_image_adam_pf32_gf32__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mbf16_vbf16__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf32_mbf16_vbf16", quern_image_adam_pf32_gf32__sm_86, quern_image_adam_pf32_gf32__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_86, adam_pf32_gf16)
    {
        .name = "adam_pf32_gf16_mf32_vf32__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_F32, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf16_mf32_vf32", quern_image_adam_pf32_gf16__sm_86, quern_image_adam_pf32_gf16__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf16_mbf16_vbf16__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_F32, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf16_mbf16_vbf16", quern_image_adam_pf32_gf16__sm_86, quern_image_adam_pf32_gf16__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_86, adam_pf32_gbf16)
    {
        .name = "adam_pf32_gbf16_mf32_vf32__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gbf16_mf32_vf32", quern_image_adam_pf32_gbf16__sm_86, quern_image_adam_pf32_gbf16__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gbf16_mbf16_vbf16__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gbf16_mbf16_vbf16", quern_image_adam_pf32_gbf16__sm_86, quern_image_adam_pf32_gbf16__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_86, adam_pf16_gf32)
    {
        .name = "adam_pf16_gf32_mf32_vf32__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf32_mf32_vf32", quern_image_adam_pf16_gf32__sm_86, quern_image_adam_pf16_gf32__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf32_mf32_vf32_master32__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf32_mf32_vf32_master32", quern_image_adam_pf16_gf32__sm_86, quern_image_adam_pf16_gf32__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf32_mbf16_vbf16__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf32_mbf16_vbf16", quern_image_adam_pf16_gf32__sm_86, quern_image_adam_pf16_gf32__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf32_mbf16_vbf16_master32__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf32_mbf16_vbf16_master32", quern_image_adam_pf16_gf32__sm_86, quern_image_adam_pf16_gf32__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_86, adam_pf16_gf16)
    {
        .name = "adam_pf16_gf16_mf32_vf32__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf16_mf32_vf32", quern_image_adam_pf16_gf16__sm_86, quern_image_adam_pf16_gf16__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf16_mf32_vf32_master32__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf16_mf32_vf32_master32", quern_image_adam_pf16_gf16__sm_86, quern_image_adam_pf16_gf16__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf16_mbf16_vbf16__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf16_mbf16_vbf16", quern_image_adam_pf16_gf16__sm_86, quern_image_adam_pf16_gf16__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf16_mbf16_vbf16_master32__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf16_mbf16_vbf16_master32", quern_image_adam_pf16_gf16__sm_86, quern_image_adam_pf16_gf16__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_86, adam_pbf16_gf32)
    {
        .name = "adam_pbf16_gf32_mf32_vf32__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mf32_vf32", quern_image_adam_pbf16_gf32__sm_86, quern_image_adam_pbf16_gf32__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf32_vf32_master32__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mf32_vf32_master32", quern_image_adam_pbf16_gf32__sm_86, quern_image_adam_pbf16_gf32__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf32_vf32_remainder__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mf32_vf32_remainder", quern_image_adam_pbf16_gf32__sm_86, quern_image_adam_pbf16_gf32__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf32_vbf16_master32__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mf32_vbf16_master32", quern_image_adam_pbf16_gf32__sm_86, quern_image_adam_pbf16_gf32__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vf32_master32__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mbf16_vf32_master32", quern_image_adam_pbf16_gf32__sm_86, quern_image_adam_pbf16_gf32__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16", quern_image_adam_pbf16_gf32__sm_86, quern_image_adam_pbf16_gf32__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_master32__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16_master32", quern_image_adam_pbf16_gf32__sm_86, quern_image_adam_pbf16_gf32__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_remainder__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16_remainder", quern_image_adam_pbf16_gf32__sm_86, quern_image_adam_pbf16_gf32__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_86, adam_pbf16_gbf16)
    {
        .name = "adam_pbf16_gbf16_mf32_vf32__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32", quern_image_adam_pbf16_gbf16__sm_86, quern_image_adam_pbf16_gbf16__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_master32__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_master32", quern_image_adam_pbf16_gbf16__sm_86, quern_image_adam_pbf16_gbf16__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_remainder__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_remainder", quern_image_adam_pbf16_gbf16__sm_86, quern_image_adam_pbf16_gbf16__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vbf16__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vbf16", quern_image_adam_pbf16_gbf16__sm_86, quern_image_adam_pbf16_gbf16__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vbf16_master32__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vbf16_master32", quern_image_adam_pbf16_gbf16__sm_86, quern_image_adam_pbf16_gbf16__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vbf16_remainder__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vbf16_remainder", quern_image_adam_pbf16_gbf16__sm_86, quern_image_adam_pbf16_gbf16__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vf32__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vf32", quern_image_adam_pbf16_gbf16__sm_86, quern_image_adam_pbf16_gbf16__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vf32_master32__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vf32_master32", quern_image_adam_pbf16_gbf16__sm_86, quern_image_adam_pbf16_gbf16__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vf32_remainder__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vf32_remainder", quern_image_adam_pbf16_gbf16__sm_86, quern_image_adam_pbf16_gbf16__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16", quern_image_adam_pbf16_gbf16__sm_86, quern_image_adam_pbf16_gbf16__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_master32__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_master32", quern_image_adam_pbf16_gbf16__sm_86, quern_image_adam_pbf16_gbf16__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_remainder__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_remainder", quern_image_adam_pbf16_gbf16__sm_86, quern_image_adam_pbf16_gbf16__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_86, adam_pf32_gf32_full)
    {
        .name = "adam_pf32_gf32_mf32_vf32_full__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_mf32_vf32_full", quern_image_adam_pf32_gf32_full__sm_86, quern_image_adam_pf32_gf32_full__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mf16_vf16_full__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F16, QUERN_F16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_mf16_vf16_full", quern_image_adam_pf32_gf32_full__sm_86, quern_image_adam_pf32_gf32_full__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mbf16_vbf16_full__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_mbf16_vbf16_full", quern_image_adam_pf32_gf32_full__sm_86, quern_image_adam_pf32_gf32_full__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mbf16_ve4m3_full__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_mbf16_ve4m3_full", quern_image_adam_pf32_gf32_full__sm_86, quern_image_adam_pf32_gf32_full__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_me4m3_ve4m3_full__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_E4M3, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_me4m3_ve4m3_full", quern_image_adam_pf32_gf32_full__sm_86, quern_image_adam_pf32_gf32_full__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_me5m2_ve5m2_full__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_E5M2, QUERN_E5M2, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_me5m2_ve5m2_full", quern_image_adam_pf32_gf32_full__sm_86, quern_image_adam_pf32_gf32_full__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_86, adam_pf32_gbf16_full)
    {
        .name = "adam_pf32_gbf16_mf32_vf32_full__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gbf16_mf32_vf32_full", quern_image_adam_pf32_gbf16_full__sm_86, quern_image_adam_pf32_gbf16_full__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gbf16_mbf16_vbf16_full__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gbf16_mbf16_vbf16_full", quern_image_adam_pf32_gbf16_full__sm_86, quern_image_adam_pf32_gbf16_full__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_86, adam_pf16_gf16_full)
    {
        .name = "adam_pf16_gf16_mf32_vf32_master32_full__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf16_gf16_mf32_vf32_master32_full", quern_image_adam_pf16_gf16_full__sm_86, quern_image_adam_pf16_gf16_full__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf16_mbf16_vbf16_master32_full__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf16_gf16_mbf16_vbf16_master32_full", quern_image_adam_pf16_gf16_full__sm_86, quern_image_adam_pf16_gf16_full__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_86, adam_pbf16_gf32_full)
    {
        .name = "adam_pbf16_gf32_mf32_vf32_master32_full__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mf32_vf32_master32_full", quern_image_adam_pbf16_gf32_full__sm_86, quern_image_adam_pbf16_gf32_full__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf32_vf32_remainder_full__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mf32_vf32_remainder_full", quern_image_adam_pbf16_gf32_full__sm_86, quern_image_adam_pbf16_gf32_full__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf16_vf16_master32_full__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F16, QUERN_F16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mf16_vf16_master32_full", quern_image_adam_pbf16_gf32_full__sm_86, quern_image_adam_pbf16_gf32_full__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_master32_full__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16_master32_full", quern_image_adam_pbf16_gf32_full__sm_86, quern_image_adam_pbf16_gf32_full__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_remainder_full__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16_remainder_full", quern_image_adam_pbf16_gf32_full__sm_86, quern_image_adam_pbf16_gf32_full__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_ve4m3_master32_full__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_E4M3, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mbf16_ve4m3_master32_full", quern_image_adam_pbf16_gf32_full__sm_86, quern_image_adam_pbf16_gf32_full__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_me4m3_ve4m3_master32_full__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_E4M3, QUERN_E4M3, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_me4m3_ve4m3_master32_full", quern_image_adam_pbf16_gf32_full__sm_86, quern_image_adam_pbf16_gf32_full__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_me5m2_ve5m2_master32_full__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_E5M2, QUERN_E5M2, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_me5m2_ve5m2_master32_full", quern_image_adam_pbf16_gf32_full__sm_86, quern_image_adam_pbf16_gf32_full__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_86, adam_pbf16_gbf16_full)
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_full__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_full", quern_image_adam_pbf16_gbf16_full__sm_86, quern_image_adam_pbf16_gbf16_full__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_master32_full__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_master32_full", quern_image_adam_pbf16_gbf16_full__sm_86, quern_image_adam_pbf16_gbf16_full__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_remainder_full__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_86, quern_image_adam_pbf16_gbf16_full__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf16_vf16_full__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F16, QUERN_F16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf16_vf16_full", quern_image_adam_pbf16_gbf16_full__sm_86, quern_image_adam_pbf16_gbf16_full__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf16_vf16_remainder_full__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F16, QUERN_F16, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf16_vf16_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_86, quern_image_adam_pbf16_gbf16_full__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_full__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_full", quern_image_adam_pbf16_gbf16_full__sm_86, quern_image_adam_pbf16_gbf16_full__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_master32_full__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_master32_full", quern_image_adam_pbf16_gbf16_full__sm_86, quern_image_adam_pbf16_gbf16_full__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_remainder_full__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_86, quern_image_adam_pbf16_gbf16_full__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_ve4m3_full__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_ve4m3_full", quern_image_adam_pbf16_gbf16_full__sm_86, quern_image_adam_pbf16_gbf16_full__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_ve4m3_remainder_full__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_ve4m3_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_86, quern_image_adam_pbf16_gbf16_full__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_me4m3_ve4m3_full__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_me4m3_ve4m3_full", quern_image_adam_pbf16_gbf16_full__sm_86, quern_image_adam_pbf16_gbf16_full__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_me4m3_ve4m3_remainder_full__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_E4M3, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_me4m3_ve4m3_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_86, quern_image_adam_pbf16_gbf16_full__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_me5m2_ve5m2_full__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E5M2, QUERN_E5M2, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_me5m2_ve5m2_full", quern_image_adam_pbf16_gbf16_full__sm_86, quern_image_adam_pbf16_gbf16_full__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_me5m2_ve5m2_remainder_full__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E5M2, QUERN_E5M2, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_me5m2_ve5m2_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_86, quern_image_adam_pbf16_gbf16_full__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_86, gradient_norm)
    {
        .name = "adam_gradient_norm_f32__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F32, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM, 0},
        .cuda = {"adam_gradient_norm_f32", quern_image_gradient_norm__sm_86, quern_image_gradient_norm__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_gradient_norm_f16__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM, 0},
        .cuda = {"adam_gradient_norm_f16", quern_image_gradient_norm__sm_86, quern_image_gradient_norm__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_gradient_norm_bf16__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_NO_DTYPE, QUERN_BF16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM, 0},
        .cuda = {"adam_gradient_norm_bf16", quern_image_gradient_norm__sm_86, quern_image_gradient_norm__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_86, gradient_norm_combine)
    {
        .name = "adam_gradient_norm_combine__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM_COMBINE, 0},
        .cuda = {"adam_gradient_norm_combine", quern_image_gradient_norm_combine__sm_86, quern_image_gradient_norm_combine__sm_86_end,
                 256, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_86, gradient_accumulate)
    {
        .name = "adam_gradient_accumulate_f32__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F32, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_ACCUMULATE, 0},
        .cuda = {"adam_gradient_accumulate_f32", quern_image_gradient_accumulate__sm_86, quern_image_gradient_accumulate__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_gradient_accumulate_f16__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_ACCUMULATE, 0},
        .cuda = {"adam_gradient_accumulate_f16", quern_image_gradient_accumulate__sm_86, quern_image_gradient_accumulate__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_gradient_accumulate_bf16__sm_86",
        .operation = QUERN_ADAM,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .key.adam = {QUERN_NO_DTYPE, QUERN_BF16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_ACCUMULATE, 0},
        .cuda = {"adam_gradient_accumulate_bf16", quern_image_gradient_accumulate__sm_86, quern_image_gradient_accumulate__sm_86_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_80, adam_pf32_gf32)
    {
        .name = "adam_pf32_gf32_mf32_vf32__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf32_mf32_vf32", quern_image_adam_pf32_gf32__sm_80, quern_image_adam_pf32_gf32__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mf32_vbf16__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf32_mf32_vbf16", quern_image_adam_pf32_gf32__sm_80, quern_image_adam_pf32_gf32__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mbf16_vf32__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf32_mbf16_vf32", quern_image_adam_pf32_gf32__sm_80, quern_image_adam_pf32_gf32__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mbf16_vbf16__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf32_mbf16_vbf16", quern_image_adam_pf32_gf32__sm_80, quern_image_adam_pf32_gf32__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_80, adam_pf32_gf16)
    {
        .name = "adam_pf32_gf16_mf32_vf32__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_F32, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf16_mf32_vf32", quern_image_adam_pf32_gf16__sm_80, quern_image_adam_pf32_gf16__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf16_mbf16_vbf16__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_F32, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf16_mbf16_vbf16", quern_image_adam_pf32_gf16__sm_80, quern_image_adam_pf32_gf16__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_80, adam_pf32_gbf16)
    {
        .name = "adam_pf32_gbf16_mf32_vf32__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gbf16_mf32_vf32", quern_image_adam_pf32_gbf16__sm_80, quern_image_adam_pf32_gbf16__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gbf16_mbf16_vbf16__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gbf16_mbf16_vbf16", quern_image_adam_pf32_gbf16__sm_80, quern_image_adam_pf32_gbf16__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_80, adam_pf16_gf32)
    {
        .name = "adam_pf16_gf32_mf32_vf32__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf32_mf32_vf32", quern_image_adam_pf16_gf32__sm_80, quern_image_adam_pf16_gf32__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf32_mf32_vf32_master32__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf32_mf32_vf32_master32", quern_image_adam_pf16_gf32__sm_80, quern_image_adam_pf16_gf32__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf32_mbf16_vbf16__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf32_mbf16_vbf16", quern_image_adam_pf16_gf32__sm_80, quern_image_adam_pf16_gf32__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf32_mbf16_vbf16_master32__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf32_mbf16_vbf16_master32", quern_image_adam_pf16_gf32__sm_80, quern_image_adam_pf16_gf32__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_80, adam_pf16_gf16)
    {
        .name = "adam_pf16_gf16_mf32_vf32__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf16_mf32_vf32", quern_image_adam_pf16_gf16__sm_80, quern_image_adam_pf16_gf16__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf16_mf32_vf32_master32__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf16_mf32_vf32_master32", quern_image_adam_pf16_gf16__sm_80, quern_image_adam_pf16_gf16__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf16_mbf16_vbf16__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf16_mbf16_vbf16", quern_image_adam_pf16_gf16__sm_80, quern_image_adam_pf16_gf16__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf16_mbf16_vbf16_master32__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf16_mbf16_vbf16_master32", quern_image_adam_pf16_gf16__sm_80, quern_image_adam_pf16_gf16__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_80, adam_pbf16_gf32)
    {
        .name = "adam_pbf16_gf32_mf32_vf32__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mf32_vf32", quern_image_adam_pbf16_gf32__sm_80, quern_image_adam_pbf16_gf32__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf32_vf32_master32__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mf32_vf32_master32", quern_image_adam_pbf16_gf32__sm_80, quern_image_adam_pbf16_gf32__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf32_vf32_remainder__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mf32_vf32_remainder", quern_image_adam_pbf16_gf32__sm_80, quern_image_adam_pbf16_gf32__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf32_vbf16_master32__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mf32_vbf16_master32", quern_image_adam_pbf16_gf32__sm_80, quern_image_adam_pbf16_gf32__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vf32_master32__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mbf16_vf32_master32", quern_image_adam_pbf16_gf32__sm_80, quern_image_adam_pbf16_gf32__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16", quern_image_adam_pbf16_gf32__sm_80, quern_image_adam_pbf16_gf32__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_master32__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16_master32", quern_image_adam_pbf16_gf32__sm_80, quern_image_adam_pbf16_gf32__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_remainder__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16_remainder", quern_image_adam_pbf16_gf32__sm_80, quern_image_adam_pbf16_gf32__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_80, adam_pbf16_gbf16)
    {
        .name = "adam_pbf16_gbf16_mf32_vf32__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32", quern_image_adam_pbf16_gbf16__sm_80, quern_image_adam_pbf16_gbf16__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_master32__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_master32", quern_image_adam_pbf16_gbf16__sm_80, quern_image_adam_pbf16_gbf16__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_remainder__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_remainder", quern_image_adam_pbf16_gbf16__sm_80, quern_image_adam_pbf16_gbf16__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vbf16__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vbf16", quern_image_adam_pbf16_gbf16__sm_80, quern_image_adam_pbf16_gbf16__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vbf16_master32__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vbf16_master32", quern_image_adam_pbf16_gbf16__sm_80, quern_image_adam_pbf16_gbf16__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vbf16_remainder__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vbf16_remainder", quern_image_adam_pbf16_gbf16__sm_80, quern_image_adam_pbf16_gbf16__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vf32__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vf32", quern_image_adam_pbf16_gbf16__sm_80, quern_image_adam_pbf16_gbf16__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vf32_master32__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vf32_master32", quern_image_adam_pbf16_gbf16__sm_80, quern_image_adam_pbf16_gbf16__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vf32_remainder__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vf32_remainder", quern_image_adam_pbf16_gbf16__sm_80, quern_image_adam_pbf16_gbf16__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16", quern_image_adam_pbf16_gbf16__sm_80, quern_image_adam_pbf16_gbf16__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_master32__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_master32", quern_image_adam_pbf16_gbf16__sm_80, quern_image_adam_pbf16_gbf16__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_remainder__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_remainder", quern_image_adam_pbf16_gbf16__sm_80, quern_image_adam_pbf16_gbf16__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_80, adam_pf32_gf32_full)
    {
        .name = "adam_pf32_gf32_mf32_vf32_full__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_mf32_vf32_full", quern_image_adam_pf32_gf32_full__sm_80, quern_image_adam_pf32_gf32_full__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mf16_vf16_full__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F16, QUERN_F16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_mf16_vf16_full", quern_image_adam_pf32_gf32_full__sm_80, quern_image_adam_pf32_gf32_full__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mbf16_vbf16_full__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_mbf16_vbf16_full", quern_image_adam_pf32_gf32_full__sm_80, quern_image_adam_pf32_gf32_full__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mbf16_ve4m3_full__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_mbf16_ve4m3_full", quern_image_adam_pf32_gf32_full__sm_80, quern_image_adam_pf32_gf32_full__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_me4m3_ve4m3_full__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_E4M3, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_me4m3_ve4m3_full", quern_image_adam_pf32_gf32_full__sm_80, quern_image_adam_pf32_gf32_full__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_me5m2_ve5m2_full__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_E5M2, QUERN_E5M2, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_me5m2_ve5m2_full", quern_image_adam_pf32_gf32_full__sm_80, quern_image_adam_pf32_gf32_full__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_80, adam_pf32_gbf16_full)
    {
        .name = "adam_pf32_gbf16_mf32_vf32_full__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gbf16_mf32_vf32_full", quern_image_adam_pf32_gbf16_full__sm_80, quern_image_adam_pf32_gbf16_full__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gbf16_mbf16_vbf16_full__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gbf16_mbf16_vbf16_full", quern_image_adam_pf32_gbf16_full__sm_80, quern_image_adam_pf32_gbf16_full__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_80, adam_pf16_gf16_full)
    {
        .name = "adam_pf16_gf16_mf32_vf32_master32_full__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf16_gf16_mf32_vf32_master32_full", quern_image_adam_pf16_gf16_full__sm_80, quern_image_adam_pf16_gf16_full__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf16_mbf16_vbf16_master32_full__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf16_gf16_mbf16_vbf16_master32_full", quern_image_adam_pf16_gf16_full__sm_80, quern_image_adam_pf16_gf16_full__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_80, adam_pbf16_gf32_full)
    {
        .name = "adam_pbf16_gf32_mf32_vf32_master32_full__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mf32_vf32_master32_full", quern_image_adam_pbf16_gf32_full__sm_80, quern_image_adam_pbf16_gf32_full__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf32_vf32_remainder_full__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mf32_vf32_remainder_full", quern_image_adam_pbf16_gf32_full__sm_80, quern_image_adam_pbf16_gf32_full__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf16_vf16_master32_full__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F16, QUERN_F16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mf16_vf16_master32_full", quern_image_adam_pbf16_gf32_full__sm_80, quern_image_adam_pbf16_gf32_full__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_master32_full__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16_master32_full", quern_image_adam_pbf16_gf32_full__sm_80, quern_image_adam_pbf16_gf32_full__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_remainder_full__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16_remainder_full", quern_image_adam_pbf16_gf32_full__sm_80, quern_image_adam_pbf16_gf32_full__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_ve4m3_master32_full__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_E4M3, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mbf16_ve4m3_master32_full", quern_image_adam_pbf16_gf32_full__sm_80, quern_image_adam_pbf16_gf32_full__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_me4m3_ve4m3_master32_full__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_E4M3, QUERN_E4M3, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_me4m3_ve4m3_master32_full", quern_image_adam_pbf16_gf32_full__sm_80, quern_image_adam_pbf16_gf32_full__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_me5m2_ve5m2_master32_full__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_E5M2, QUERN_E5M2, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_me5m2_ve5m2_master32_full", quern_image_adam_pbf16_gf32_full__sm_80, quern_image_adam_pbf16_gf32_full__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_80, adam_pbf16_gbf16_full)
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_full__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_full", quern_image_adam_pbf16_gbf16_full__sm_80, quern_image_adam_pbf16_gbf16_full__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_master32_full__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_master32_full", quern_image_adam_pbf16_gbf16_full__sm_80, quern_image_adam_pbf16_gbf16_full__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_remainder_full__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_80, quern_image_adam_pbf16_gbf16_full__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf16_vf16_full__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F16, QUERN_F16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf16_vf16_full", quern_image_adam_pbf16_gbf16_full__sm_80, quern_image_adam_pbf16_gbf16_full__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf16_vf16_remainder_full__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F16, QUERN_F16, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf16_vf16_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_80, quern_image_adam_pbf16_gbf16_full__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_full__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_full", quern_image_adam_pbf16_gbf16_full__sm_80, quern_image_adam_pbf16_gbf16_full__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_master32_full__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_master32_full", quern_image_adam_pbf16_gbf16_full__sm_80, quern_image_adam_pbf16_gbf16_full__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_remainder_full__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_80, quern_image_adam_pbf16_gbf16_full__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_ve4m3_full__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_ve4m3_full", quern_image_adam_pbf16_gbf16_full__sm_80, quern_image_adam_pbf16_gbf16_full__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_ve4m3_remainder_full__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_ve4m3_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_80, quern_image_adam_pbf16_gbf16_full__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_me4m3_ve4m3_full__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_me4m3_ve4m3_full", quern_image_adam_pbf16_gbf16_full__sm_80, quern_image_adam_pbf16_gbf16_full__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_me4m3_ve4m3_remainder_full__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_E4M3, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_me4m3_ve4m3_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_80, quern_image_adam_pbf16_gbf16_full__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_me5m2_ve5m2_full__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E5M2, QUERN_E5M2, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_me5m2_ve5m2_full", quern_image_adam_pbf16_gbf16_full__sm_80, quern_image_adam_pbf16_gbf16_full__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_me5m2_ve5m2_remainder_full__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E5M2, QUERN_E5M2, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_me5m2_ve5m2_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_80, quern_image_adam_pbf16_gbf16_full__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_80, gradient_norm)
    {
        .name = "adam_gradient_norm_f32__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F32, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM, 0},
        .cuda = {"adam_gradient_norm_f32", quern_image_gradient_norm__sm_80, quern_image_gradient_norm__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_gradient_norm_f16__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM, 0},
        .cuda = {"adam_gradient_norm_f16", quern_image_gradient_norm__sm_80, quern_image_gradient_norm__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_gradient_norm_bf16__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_NO_DTYPE, QUERN_BF16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM, 0},
        .cuda = {"adam_gradient_norm_bf16", quern_image_gradient_norm__sm_80, quern_image_gradient_norm__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_80, gradient_norm_combine)
    {
        .name = "adam_gradient_norm_combine__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM_COMBINE, 0},
        .cuda = {"adam_gradient_norm_combine", quern_image_gradient_norm_combine__sm_80, quern_image_gradient_norm_combine__sm_80_end,
                 256, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_80, gradient_accumulate)
    {
        .name = "adam_gradient_accumulate_f32__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F32, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_ACCUMULATE, 0},
        .cuda = {"adam_gradient_accumulate_f32", quern_image_gradient_accumulate__sm_80, quern_image_gradient_accumulate__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_gradient_accumulate_f16__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_ACCUMULATE, 0},
        .cuda = {"adam_gradient_accumulate_f16", quern_image_gradient_accumulate__sm_80, quern_image_gradient_accumulate__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_gradient_accumulate_bf16__sm_80",
        .operation = QUERN_ADAM,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .key.adam = {QUERN_NO_DTYPE, QUERN_BF16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_ACCUMULATE, 0},
        .cuda = {"adam_gradient_accumulate_bf16", quern_image_gradient_accumulate__sm_80, quern_image_gradient_accumulate__sm_80_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_75, adam_pf32_gf32)
    {
        .name = "adam_pf32_gf32_mf32_vf32__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf32_mf32_vf32", quern_image_adam_pf32_gf32__sm_75, quern_image_adam_pf32_gf32__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mf32_vbf16__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf32_mf32_vbf16", quern_image_adam_pf32_gf32__sm_75, quern_image_adam_pf32_gf32__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mbf16_vf32__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf32_mbf16_vf32", quern_image_adam_pf32_gf32__sm_75, quern_image_adam_pf32_gf32__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mbf16_vbf16__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf32_mbf16_vbf16", quern_image_adam_pf32_gf32__sm_75, quern_image_adam_pf32_gf32__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_75, adam_pf32_gf16)
    {
        .name = "adam_pf32_gf16_mf32_vf32__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_F32, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf16_mf32_vf32", quern_image_adam_pf32_gf16__sm_75, quern_image_adam_pf32_gf16__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf16_mbf16_vbf16__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_F32, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf16_mbf16_vbf16", quern_image_adam_pf32_gf16__sm_75, quern_image_adam_pf32_gf16__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_75, adam_pf32_gbf16)
    {
        .name = "adam_pf32_gbf16_mf32_vf32__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gbf16_mf32_vf32", quern_image_adam_pf32_gbf16__sm_75, quern_image_adam_pf32_gbf16__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gbf16_mbf16_vbf16__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gbf16_mbf16_vbf16", quern_image_adam_pf32_gbf16__sm_75, quern_image_adam_pf32_gbf16__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_75, adam_pf16_gf32)
    {
        .name = "adam_pf16_gf32_mf32_vf32__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf32_mf32_vf32", quern_image_adam_pf16_gf32__sm_75, quern_image_adam_pf16_gf32__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf32_mf32_vf32_master32__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf32_mf32_vf32_master32", quern_image_adam_pf16_gf32__sm_75, quern_image_adam_pf16_gf32__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf32_mbf16_vbf16__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf32_mbf16_vbf16", quern_image_adam_pf16_gf32__sm_75, quern_image_adam_pf16_gf32__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf32_mbf16_vbf16_master32__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf32_mbf16_vbf16_master32", quern_image_adam_pf16_gf32__sm_75, quern_image_adam_pf16_gf32__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_75, adam_pf16_gf16)
    {
        .name = "adam_pf16_gf16_mf32_vf32__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf16_mf32_vf32", quern_image_adam_pf16_gf16__sm_75, quern_image_adam_pf16_gf16__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf16_mf32_vf32_master32__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf16_mf32_vf32_master32", quern_image_adam_pf16_gf16__sm_75, quern_image_adam_pf16_gf16__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf16_mbf16_vbf16__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf16_mbf16_vbf16", quern_image_adam_pf16_gf16__sm_75, quern_image_adam_pf16_gf16__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf16_mbf16_vbf16_master32__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf16_mbf16_vbf16_master32", quern_image_adam_pf16_gf16__sm_75, quern_image_adam_pf16_gf16__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_75, adam_pbf16_gf32)
    {
        .name = "adam_pbf16_gf32_mf32_vf32__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mf32_vf32", quern_image_adam_pbf16_gf32__sm_75, quern_image_adam_pbf16_gf32__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf32_vf32_master32__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mf32_vf32_master32", quern_image_adam_pbf16_gf32__sm_75, quern_image_adam_pbf16_gf32__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf32_vf32_remainder__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mf32_vf32_remainder", quern_image_adam_pbf16_gf32__sm_75, quern_image_adam_pbf16_gf32__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf32_vbf16_master32__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mf32_vbf16_master32", quern_image_adam_pbf16_gf32__sm_75, quern_image_adam_pbf16_gf32__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vf32_master32__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mbf16_vf32_master32", quern_image_adam_pbf16_gf32__sm_75, quern_image_adam_pbf16_gf32__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16", quern_image_adam_pbf16_gf32__sm_75, quern_image_adam_pbf16_gf32__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_master32__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16_master32", quern_image_adam_pbf16_gf32__sm_75, quern_image_adam_pbf16_gf32__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_remainder__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16_remainder", quern_image_adam_pbf16_gf32__sm_75, quern_image_adam_pbf16_gf32__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_75, adam_pbf16_gbf16)
    {
        .name = "adam_pbf16_gbf16_mf32_vf32__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32", quern_image_adam_pbf16_gbf16__sm_75, quern_image_adam_pbf16_gbf16__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_master32__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_master32", quern_image_adam_pbf16_gbf16__sm_75, quern_image_adam_pbf16_gbf16__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_remainder__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_remainder", quern_image_adam_pbf16_gbf16__sm_75, quern_image_adam_pbf16_gbf16__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vbf16__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vbf16", quern_image_adam_pbf16_gbf16__sm_75, quern_image_adam_pbf16_gbf16__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vbf16_master32__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vbf16_master32", quern_image_adam_pbf16_gbf16__sm_75, quern_image_adam_pbf16_gbf16__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vbf16_remainder__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vbf16_remainder", quern_image_adam_pbf16_gbf16__sm_75, quern_image_adam_pbf16_gbf16__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vf32__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vf32", quern_image_adam_pbf16_gbf16__sm_75, quern_image_adam_pbf16_gbf16__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vf32_master32__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vf32_master32", quern_image_adam_pbf16_gbf16__sm_75, quern_image_adam_pbf16_gbf16__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vf32_remainder__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vf32_remainder", quern_image_adam_pbf16_gbf16__sm_75, quern_image_adam_pbf16_gbf16__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16", quern_image_adam_pbf16_gbf16__sm_75, quern_image_adam_pbf16_gbf16__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_master32__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_master32", quern_image_adam_pbf16_gbf16__sm_75, quern_image_adam_pbf16_gbf16__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_remainder__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_remainder", quern_image_adam_pbf16_gbf16__sm_75, quern_image_adam_pbf16_gbf16__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_75, adam_pf32_gf32_full)
    {
        .name = "adam_pf32_gf32_mf32_vf32_full__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_mf32_vf32_full", quern_image_adam_pf32_gf32_full__sm_75, quern_image_adam_pf32_gf32_full__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mf16_vf16_full__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F16, QUERN_F16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_mf16_vf16_full", quern_image_adam_pf32_gf32_full__sm_75, quern_image_adam_pf32_gf32_full__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mbf16_vbf16_full__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_mbf16_vbf16_full", quern_image_adam_pf32_gf32_full__sm_75, quern_image_adam_pf32_gf32_full__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mbf16_ve4m3_full__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_mbf16_ve4m3_full", quern_image_adam_pf32_gf32_full__sm_75, quern_image_adam_pf32_gf32_full__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_me4m3_ve4m3_full__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_E4M3, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_me4m3_ve4m3_full", quern_image_adam_pf32_gf32_full__sm_75, quern_image_adam_pf32_gf32_full__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_me5m2_ve5m2_full__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_E5M2, QUERN_E5M2, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_me5m2_ve5m2_full", quern_image_adam_pf32_gf32_full__sm_75, quern_image_adam_pf32_gf32_full__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_75, adam_pf32_gbf16_full)
    {
        .name = "adam_pf32_gbf16_mf32_vf32_full__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gbf16_mf32_vf32_full", quern_image_adam_pf32_gbf16_full__sm_75, quern_image_adam_pf32_gbf16_full__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gbf16_mbf16_vbf16_full__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gbf16_mbf16_vbf16_full", quern_image_adam_pf32_gbf16_full__sm_75, quern_image_adam_pf32_gbf16_full__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_75, adam_pf16_gf16_full)
    {
        .name = "adam_pf16_gf16_mf32_vf32_master32_full__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf16_gf16_mf32_vf32_master32_full", quern_image_adam_pf16_gf16_full__sm_75, quern_image_adam_pf16_gf16_full__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf16_mbf16_vbf16_master32_full__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf16_gf16_mbf16_vbf16_master32_full", quern_image_adam_pf16_gf16_full__sm_75, quern_image_adam_pf16_gf16_full__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_75, adam_pbf16_gf32_full)
    {
        .name = "adam_pbf16_gf32_mf32_vf32_master32_full__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mf32_vf32_master32_full", quern_image_adam_pbf16_gf32_full__sm_75, quern_image_adam_pbf16_gf32_full__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf32_vf32_remainder_full__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mf32_vf32_remainder_full", quern_image_adam_pbf16_gf32_full__sm_75, quern_image_adam_pbf16_gf32_full__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf16_vf16_master32_full__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F16, QUERN_F16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mf16_vf16_master32_full", quern_image_adam_pbf16_gf32_full__sm_75, quern_image_adam_pbf16_gf32_full__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_master32_full__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16_master32_full", quern_image_adam_pbf16_gf32_full__sm_75, quern_image_adam_pbf16_gf32_full__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_remainder_full__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16_remainder_full", quern_image_adam_pbf16_gf32_full__sm_75, quern_image_adam_pbf16_gf32_full__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_ve4m3_master32_full__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_E4M3, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mbf16_ve4m3_master32_full", quern_image_adam_pbf16_gf32_full__sm_75, quern_image_adam_pbf16_gf32_full__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_me4m3_ve4m3_master32_full__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_E4M3, QUERN_E4M3, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_me4m3_ve4m3_master32_full", quern_image_adam_pbf16_gf32_full__sm_75, quern_image_adam_pbf16_gf32_full__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_me5m2_ve5m2_master32_full__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_E5M2, QUERN_E5M2, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_me5m2_ve5m2_master32_full", quern_image_adam_pbf16_gf32_full__sm_75, quern_image_adam_pbf16_gf32_full__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_75, adam_pbf16_gbf16_full)
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_full__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_full", quern_image_adam_pbf16_gbf16_full__sm_75, quern_image_adam_pbf16_gbf16_full__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_master32_full__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_master32_full", quern_image_adam_pbf16_gbf16_full__sm_75, quern_image_adam_pbf16_gbf16_full__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_remainder_full__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_75, quern_image_adam_pbf16_gbf16_full__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf16_vf16_full__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F16, QUERN_F16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf16_vf16_full", quern_image_adam_pbf16_gbf16_full__sm_75, quern_image_adam_pbf16_gbf16_full__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf16_vf16_remainder_full__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F16, QUERN_F16, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf16_vf16_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_75, quern_image_adam_pbf16_gbf16_full__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_full__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_full", quern_image_adam_pbf16_gbf16_full__sm_75, quern_image_adam_pbf16_gbf16_full__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_master32_full__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_master32_full", quern_image_adam_pbf16_gbf16_full__sm_75, quern_image_adam_pbf16_gbf16_full__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_remainder_full__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_75, quern_image_adam_pbf16_gbf16_full__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_ve4m3_full__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_ve4m3_full", quern_image_adam_pbf16_gbf16_full__sm_75, quern_image_adam_pbf16_gbf16_full__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_ve4m3_remainder_full__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_ve4m3_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_75, quern_image_adam_pbf16_gbf16_full__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_me4m3_ve4m3_full__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_me4m3_ve4m3_full", quern_image_adam_pbf16_gbf16_full__sm_75, quern_image_adam_pbf16_gbf16_full__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_me4m3_ve4m3_remainder_full__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_E4M3, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_me4m3_ve4m3_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_75, quern_image_adam_pbf16_gbf16_full__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_me5m2_ve5m2_full__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E5M2, QUERN_E5M2, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_me5m2_ve5m2_full", quern_image_adam_pbf16_gbf16_full__sm_75, quern_image_adam_pbf16_gbf16_full__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_me5m2_ve5m2_remainder_full__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E5M2, QUERN_E5M2, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_me5m2_ve5m2_remainder_full", quern_image_adam_pbf16_gbf16_full__sm_75, quern_image_adam_pbf16_gbf16_full__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_75, gradient_norm)
    {
        .name = "adam_gradient_norm_f32__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F32, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM, 0},
        .cuda = {"adam_gradient_norm_f32", quern_image_gradient_norm__sm_75, quern_image_gradient_norm__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_gradient_norm_f16__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM, 0},
        .cuda = {"adam_gradient_norm_f16", quern_image_gradient_norm__sm_75, quern_image_gradient_norm__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_gradient_norm_bf16__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_NO_DTYPE, QUERN_BF16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM, 0},
        .cuda = {"adam_gradient_norm_bf16", quern_image_gradient_norm__sm_75, quern_image_gradient_norm__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_75, gradient_norm_combine)
    {
        .name = "adam_gradient_norm_combine__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM_COMBINE, 0},
        .cuda = {"adam_gradient_norm_combine", quern_image_gradient_norm_combine__sm_75, quern_image_gradient_norm_combine__sm_75_end,
                 256, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_75, gradient_accumulate)
    {
        .name = "adam_gradient_accumulate_f32__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F32, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_ACCUMULATE, 0},
        .cuda = {"adam_gradient_accumulate_f32", quern_image_gradient_accumulate__sm_75, quern_image_gradient_accumulate__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_gradient_accumulate_f16__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_ACCUMULATE, 0},
        .cuda = {"adam_gradient_accumulate_f16", quern_image_gradient_accumulate__sm_75, quern_image_gradient_accumulate__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_gradient_accumulate_bf16__sm_75",
        .operation = QUERN_ADAM,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .key.adam = {QUERN_NO_DTYPE, QUERN_BF16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_ACCUMULATE, 0},
        .cuda = {"adam_gradient_accumulate_bf16", quern_image_gradient_accumulate__sm_75, quern_image_gradient_accumulate__sm_75_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(compute_90, adam_pf32_gf32)
    {
        .name = "adam_pf32_gf32_mf32_vf32__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf32_mf32_vf32", quern_image_adam_pf32_gf32__compute_90, quern_image_adam_pf32_gf32__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mf32_vbf16__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf32_mf32_vbf16", quern_image_adam_pf32_gf32__compute_90, quern_image_adam_pf32_gf32__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mbf16_vf32__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf32_mbf16_vf32", quern_image_adam_pf32_gf32__compute_90, quern_image_adam_pf32_gf32__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mbf16_vbf16__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf32_mbf16_vbf16", quern_image_adam_pf32_gf32__compute_90, quern_image_adam_pf32_gf32__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(compute_90, adam_pf32_gf16)
    {
        .name = "adam_pf32_gf16_mf32_vf32__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_F32, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf16_mf32_vf32", quern_image_adam_pf32_gf16__compute_90, quern_image_adam_pf32_gf16__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf16_mbf16_vbf16__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_F32, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gf16_mbf16_vbf16", quern_image_adam_pf32_gf16__compute_90, quern_image_adam_pf32_gf16__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(compute_90, adam_pf32_gbf16)
    {
        .name = "adam_pf32_gbf16_mf32_vf32__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gbf16_mf32_vf32", quern_image_adam_pf32_gbf16__compute_90, quern_image_adam_pf32_gbf16__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gbf16_mbf16_vbf16__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf32_gbf16_mbf16_vbf16", quern_image_adam_pf32_gbf16__compute_90, quern_image_adam_pf32_gbf16__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(compute_90, adam_pf16_gf32)
    {
        .name = "adam_pf16_gf32_mf32_vf32__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf32_mf32_vf32", quern_image_adam_pf16_gf32__compute_90, quern_image_adam_pf16_gf32__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf32_mf32_vf32_master32__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf32_mf32_vf32_master32", quern_image_adam_pf16_gf32__compute_90, quern_image_adam_pf16_gf32__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf32_mbf16_vbf16__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf32_mbf16_vbf16", quern_image_adam_pf16_gf32__compute_90, quern_image_adam_pf16_gf32__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf32_mbf16_vbf16_master32__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf32_mbf16_vbf16_master32", quern_image_adam_pf16_gf32__compute_90, quern_image_adam_pf16_gf32__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(compute_90, adam_pf16_gf16)
    {
        .name = "adam_pf16_gf16_mf32_vf32__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf16_mf32_vf32", quern_image_adam_pf16_gf16__compute_90, quern_image_adam_pf16_gf16__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf16_mf32_vf32_master32__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf16_mf32_vf32_master32", quern_image_adam_pf16_gf16__compute_90, quern_image_adam_pf16_gf16__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf16_mbf16_vbf16__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf16_mbf16_vbf16", quern_image_adam_pf16_gf16__compute_90, quern_image_adam_pf16_gf16__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf16_mbf16_vbf16_master32__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pf16_gf16_mbf16_vbf16_master32", quern_image_adam_pf16_gf16__compute_90, quern_image_adam_pf16_gf16__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(compute_90, adam_pbf16_gf32)
    {
        .name = "adam_pbf16_gf32_mf32_vf32__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mf32_vf32", quern_image_adam_pbf16_gf32__compute_90, quern_image_adam_pbf16_gf32__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf32_vf32_master32__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mf32_vf32_master32", quern_image_adam_pbf16_gf32__compute_90, quern_image_adam_pbf16_gf32__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf32_vf32_remainder__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mf32_vf32_remainder", quern_image_adam_pbf16_gf32__compute_90, quern_image_adam_pbf16_gf32__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf32_vbf16_master32__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mf32_vbf16_master32", quern_image_adam_pbf16_gf32__compute_90, quern_image_adam_pbf16_gf32__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vf32_master32__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mbf16_vf32_master32", quern_image_adam_pbf16_gf32__compute_90, quern_image_adam_pbf16_gf32__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16", quern_image_adam_pbf16_gf32__compute_90, quern_image_adam_pbf16_gf32__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_master32__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16_master32", quern_image_adam_pbf16_gf32__compute_90, quern_image_adam_pbf16_gf32__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_remainder__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16_remainder", quern_image_adam_pbf16_gf32__compute_90, quern_image_adam_pbf16_gf32__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(compute_90, adam_pbf16_gbf16)
    {
        .name = "adam_pbf16_gbf16_mf32_vf32__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32", quern_image_adam_pbf16_gbf16__compute_90, quern_image_adam_pbf16_gbf16__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_master32__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_master32", quern_image_adam_pbf16_gbf16__compute_90, quern_image_adam_pbf16_gbf16__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_remainder__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_remainder", quern_image_adam_pbf16_gbf16__compute_90, quern_image_adam_pbf16_gbf16__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vbf16__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vbf16", quern_image_adam_pbf16_gbf16__compute_90, quern_image_adam_pbf16_gbf16__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vbf16_master32__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vbf16_master32", quern_image_adam_pbf16_gbf16__compute_90, quern_image_adam_pbf16_gbf16__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vbf16_remainder__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mf32_vbf16_remainder", quern_image_adam_pbf16_gbf16__compute_90, quern_image_adam_pbf16_gbf16__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vf32__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vf32", quern_image_adam_pbf16_gbf16__compute_90, quern_image_adam_pbf16_gbf16__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vf32_master32__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vf32_master32", quern_image_adam_pbf16_gbf16__compute_90, quern_image_adam_pbf16_gbf16__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vf32_remainder__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vf32_remainder", quern_image_adam_pbf16_gbf16__compute_90, quern_image_adam_pbf16_gbf16__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16", quern_image_adam_pbf16_gbf16__compute_90, quern_image_adam_pbf16_gbf16__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_master32__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_master32", quern_image_adam_pbf16_gbf16__compute_90, quern_image_adam_pbf16_gbf16__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_remainder__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_remainder", quern_image_adam_pbf16_gbf16__compute_90, quern_image_adam_pbf16_gbf16__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(compute_90, adam_pf32_gf32_full)
    {
        .name = "adam_pf32_gf32_mf32_vf32_full__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_mf32_vf32_full", quern_image_adam_pf32_gf32_full__compute_90, quern_image_adam_pf32_gf32_full__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mf16_vf16_full__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F16, QUERN_F16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_mf16_vf16_full", quern_image_adam_pf32_gf32_full__compute_90, quern_image_adam_pf32_gf32_full__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mbf16_vbf16_full__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_mbf16_vbf16_full", quern_image_adam_pf32_gf32_full__compute_90, quern_image_adam_pf32_gf32_full__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_mbf16_ve4m3_full__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_mbf16_ve4m3_full", quern_image_adam_pf32_gf32_full__compute_90, quern_image_adam_pf32_gf32_full__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_me4m3_ve4m3_full__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_E4M3, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_me4m3_ve4m3_full", quern_image_adam_pf32_gf32_full__compute_90, quern_image_adam_pf32_gf32_full__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gf32_me5m2_ve5m2_full__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_E5M2, QUERN_E5M2, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gf32_me5m2_ve5m2_full", quern_image_adam_pf32_gf32_full__compute_90, quern_image_adam_pf32_gf32_full__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(compute_90, adam_pf32_gbf16_full)
    {
        .name = "adam_pf32_gbf16_mf32_vf32_full__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gbf16_mf32_vf32_full", quern_image_adam_pf32_gbf16_full__compute_90, quern_image_adam_pf32_gbf16_full__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf32_gbf16_mbf16_vbf16_full__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf32_gbf16_mbf16_vbf16_full", quern_image_adam_pf32_gbf16_full__compute_90, quern_image_adam_pf32_gbf16_full__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(compute_90, adam_pf16_gf16_full)
    {
        .name = "adam_pf16_gf16_mf32_vf32_master32_full__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf16_gf16_mf32_vf32_master32_full", quern_image_adam_pf16_gf16_full__compute_90, quern_image_adam_pf16_gf16_full__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pf16_gf16_mbf16_vbf16_master32_full__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pf16_gf16_mbf16_vbf16_master32_full", quern_image_adam_pf16_gf16_full__compute_90, quern_image_adam_pf16_gf16_full__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(compute_90, adam_pbf16_gf32_full)
    {
        .name = "adam_pbf16_gf32_mf32_vf32_master32_full__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mf32_vf32_master32_full", quern_image_adam_pbf16_gf32_full__compute_90, quern_image_adam_pbf16_gf32_full__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf32_vf32_remainder_full__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mf32_vf32_remainder_full", quern_image_adam_pbf16_gf32_full__compute_90, quern_image_adam_pbf16_gf32_full__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mf16_vf16_master32_full__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F16, QUERN_F16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mf16_vf16_master32_full", quern_image_adam_pbf16_gf32_full__compute_90, quern_image_adam_pbf16_gf32_full__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_master32_full__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16_master32_full", quern_image_adam_pbf16_gf32_full__compute_90, quern_image_adam_pbf16_gf32_full__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_remainder_full__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mbf16_vbf16_remainder_full", quern_image_adam_pbf16_gf32_full__compute_90, quern_image_adam_pbf16_gf32_full__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_mbf16_ve4m3_master32_full__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_E4M3, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_mbf16_ve4m3_master32_full", quern_image_adam_pbf16_gf32_full__compute_90, quern_image_adam_pbf16_gf32_full__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_me4m3_ve4m3_master32_full__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_E4M3, QUERN_E4M3, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_me4m3_ve4m3_master32_full", quern_image_adam_pbf16_gf32_full__compute_90, quern_image_adam_pbf16_gf32_full__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gf32_me5m2_ve5m2_master32_full__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_E5M2, QUERN_E5M2, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gf32_me5m2_ve5m2_master32_full", quern_image_adam_pbf16_gf32_full__compute_90, quern_image_adam_pbf16_gf32_full__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(compute_90, adam_pbf16_gbf16_full)
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_full__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_full", quern_image_adam_pbf16_gbf16_full__compute_90, quern_image_adam_pbf16_gbf16_full__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_master32_full__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_master32_full", quern_image_adam_pbf16_gbf16_full__compute_90, quern_image_adam_pbf16_gbf16_full__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_remainder_full__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf32_vf32_remainder_full", quern_image_adam_pbf16_gbf16_full__compute_90, quern_image_adam_pbf16_gbf16_full__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf16_vf16_full__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F16, QUERN_F16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf16_vf16_full", quern_image_adam_pbf16_gbf16_full__compute_90, quern_image_adam_pbf16_gbf16_full__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mf16_vf16_remainder_full__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F16, QUERN_F16, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mf16_vf16_remainder_full", quern_image_adam_pbf16_gbf16_full__compute_90, quern_image_adam_pbf16_gbf16_full__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_full__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_full", quern_image_adam_pbf16_gbf16_full__compute_90, quern_image_adam_pbf16_gbf16_full__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_master32_full__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_master32_full", quern_image_adam_pbf16_gbf16_full__compute_90, quern_image_adam_pbf16_gbf16_full__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_remainder_full__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_vbf16_remainder_full", quern_image_adam_pbf16_gbf16_full__compute_90, quern_image_adam_pbf16_gbf16_full__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_ve4m3_full__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_ve4m3_full", quern_image_adam_pbf16_gbf16_full__compute_90, quern_image_adam_pbf16_gbf16_full__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_ve4m3_remainder_full__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_mbf16_ve4m3_remainder_full", quern_image_adam_pbf16_gbf16_full__compute_90, quern_image_adam_pbf16_gbf16_full__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_me4m3_ve4m3_full__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_me4m3_ve4m3_full", quern_image_adam_pbf16_gbf16_full__compute_90, quern_image_adam_pbf16_gbf16_full__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_me4m3_ve4m3_remainder_full__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_E4M3, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_me4m3_ve4m3_remainder_full", quern_image_adam_pbf16_gbf16_full__compute_90, quern_image_adam_pbf16_gbf16_full__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_me5m2_ve5m2_full__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E5M2, QUERN_E5M2, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_me5m2_ve5m2_full", quern_image_adam_pbf16_gbf16_full__compute_90, quern_image_adam_pbf16_gbf16_full__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_pbf16_gbf16_me5m2_ve5m2_remainder_full__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E5M2, QUERN_E5M2, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cuda = {"adam_pbf16_gbf16_me5m2_ve5m2_remainder_full", quern_image_adam_pbf16_gbf16_full__compute_90, quern_image_adam_pbf16_gbf16_full__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(compute_90, gradient_norm)
    {
        .name = "adam_gradient_norm_f32__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F32, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM, 0},
        .cuda = {"adam_gradient_norm_f32", quern_image_gradient_norm__compute_90, quern_image_gradient_norm__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_gradient_norm_f16__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM, 0},
        .cuda = {"adam_gradient_norm_f16", quern_image_gradient_norm__compute_90, quern_image_gradient_norm__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_gradient_norm_bf16__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_NO_DTYPE, QUERN_BF16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM, 0},
        .cuda = {"adam_gradient_norm_bf16", quern_image_gradient_norm__compute_90, quern_image_gradient_norm__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(compute_90, gradient_norm_combine)
    {
        .name = "adam_gradient_norm_combine__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM_COMBINE, 0},
        .cuda = {"adam_gradient_norm_combine", quern_image_gradient_norm_combine__compute_90, quern_image_gradient_norm_combine__compute_90_end,
                 256, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(compute_90, gradient_accumulate)
    {
        .name = "adam_gradient_accumulate_f32__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F32, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_ACCUMULATE, 0},
        .cuda = {"adam_gradient_accumulate_f32", quern_image_gradient_accumulate__compute_90, quern_image_gradient_accumulate__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_gradient_accumulate_f16__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_ACCUMULATE, 0},
        .cuda = {"adam_gradient_accumulate_f16", quern_image_gradient_accumulate__compute_90, quern_image_gradient_accumulate__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
    {
        .name = "adam_gradient_accumulate_bf16__compute_90",
        .operation = QUERN_ADAM,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .key.adam = {QUERN_NO_DTYPE, QUERN_BF16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_ACCUMULATE, 0},
        .cuda = {"adam_gradient_accumulate_bf16", quern_image_gradient_accumulate__compute_90, quern_image_gradient_accumulate__compute_90_end,
                 256, 2048, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(avx512, adam_pf32_gf32)
    {
        .name = "adam_pf32_gf32_mf32_vf32__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf32_gf32_mf32_vf32__avx512,
    },
    {
        .name = "adam_pf32_gf32_mf32_vbf16__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf32_gf32_mf32_vbf16__avx512,
    },
    {
        .name = "adam_pf32_gf32_mbf16_vf32__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf32_gf32_mbf16_vf32__avx512,
    },
    {
        .name = "adam_pf32_gf32_mbf16_vbf16__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf32_gf32_mbf16_vbf16__avx512,
    },
#endif
#if QUERN_SELECTED(avx512, adam_pf32_gf16)
    {
        .name = "adam_pf32_gf16_mf32_vf32__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf32_gf16_mf32_vf32__avx512,
    },
    {
        .name = "adam_pf32_gf16_mbf16_vbf16__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf32_gf16_mbf16_vbf16__avx512,
    },
#endif
#if QUERN_SELECTED(avx512, adam_pf32_gbf16)
    {
        .name = "adam_pf32_gbf16_mf32_vf32__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf32_gbf16_mf32_vf32__avx512,
    },
    {
        .name = "adam_pf32_gbf16_mbf16_vbf16__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf32_gbf16_mbf16_vbf16__avx512,
    },
#endif
#if QUERN_SELECTED(avx512, adam_pf16_gf32)
    {
        .name = "adam_pf16_gf32_mf32_vf32__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf16_gf32_mf32_vf32__avx512,
    },
    {
        .name = "adam_pf16_gf32_mf32_vf32_master32__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf16_gf32_mf32_vf32_master32__avx512,
    },
    {
        .name = "adam_pf16_gf32_mbf16_vbf16__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf16_gf32_mbf16_vbf16__avx512,
    },
    {
        .name = "adam_pf16_gf32_mbf16_vbf16_master32__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf16_gf32_mbf16_vbf16_master32__avx512,
    },
#endif
#if QUERN_SELECTED(avx512, adam_pf16_gf16)
    {
        .name = "adam_pf16_gf16_mf32_vf32__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf16_gf16_mf32_vf32__avx512,
    },
    {
        .name = "adam_pf16_gf16_mf32_vf32_master32__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf16_gf16_mf32_vf32_master32__avx512,
    },
    {
        .name = "adam_pf16_gf16_mbf16_vbf16__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf16_gf16_mbf16_vbf16__avx512,
    },
    {
        .name = "adam_pf16_gf16_mbf16_vbf16_master32__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf16_gf16_mbf16_vbf16_master32__avx512,
    },
#endif
#if QUERN_SELECTED(avx512, adam_pbf16_gf32)
    {
        .name = "adam_pbf16_gf32_mf32_vf32__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gf32_mf32_vf32__avx512,
    },
    {
        .name = "adam_pbf16_gf32_mf32_vf32_master32__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gf32_mf32_vf32_master32__avx512,
    },
    {
        .name = "adam_pbf16_gf32_mf32_vf32_remainder__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gf32_mf32_vf32_remainder__avx512,
    },
    {
        .name = "adam_pbf16_gf32_mf32_vbf16_master32__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gf32_mf32_vbf16_master32__avx512,
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vf32_master32__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gf32_mbf16_vf32_master32__avx512,
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gf32_mbf16_vbf16__avx512,
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_master32__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gf32_mbf16_vbf16_master32__avx512,
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_remainder__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gf32_mbf16_vbf16_remainder__avx512,
    },
#endif
#if QUERN_SELECTED(avx512, adam_pbf16_gbf16)
    {
        .name = "adam_pbf16_gbf16_mf32_vf32__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mf32_vf32__avx512,
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_master32__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mf32_vf32_master32__avx512,
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_remainder__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mf32_vf32_remainder__avx512,
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vbf16__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mf32_vbf16__avx512,
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vbf16_master32__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mf32_vbf16_master32__avx512,
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vbf16_remainder__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mf32_vbf16_remainder__avx512,
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vf32__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mbf16_vf32__avx512,
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vf32_master32__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mbf16_vf32_master32__avx512,
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vf32_remainder__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mbf16_vf32_remainder__avx512,
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mbf16_vbf16__avx512,
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_master32__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mbf16_vbf16_master32__avx512,
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_remainder__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mbf16_vbf16_remainder__avx512,
    },
#endif
#if QUERN_SELECTED(avx512, adam_pf32_gf32_full)
    {
        .name = "adam_pf32_gf32_mf32_vf32_full__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pf32_gf32_mf32_vf32_full__avx512,
    },
    {
        .name = "adam_pf32_gf32_mf16_vf16_full__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F16, QUERN_F16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pf32_gf32_mf16_vf16_full__avx512,
    },
    {
        .name = "adam_pf32_gf32_mbf16_vbf16_full__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pf32_gf32_mbf16_vbf16_full__avx512,
    },
    {
        .name = "adam_pf32_gf32_mbf16_ve4m3_full__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pf32_gf32_mbf16_ve4m3_full__avx512,
    },
    {
        .name = "adam_pf32_gf32_me4m3_ve4m3_full__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_E4M3, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pf32_gf32_me4m3_ve4m3_full__avx512,
    },
    {
        .name = "adam_pf32_gf32_me5m2_ve5m2_full__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_E5M2, QUERN_E5M2, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pf32_gf32_me5m2_ve5m2_full__avx512,
    },
#endif
#if QUERN_SELECTED(avx512, adam_pf32_gbf16_full)
    {
        .name = "adam_pf32_gbf16_mf32_vf32_full__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pf32_gbf16_mf32_vf32_full__avx512,
    },
    {
        .name = "adam_pf32_gbf16_mbf16_vbf16_full__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pf32_gbf16_mbf16_vbf16_full__avx512,
    },
#endif
#if QUERN_SELECTED(avx512, adam_pf16_gf16_full)
    {
        .name = "adam_pf16_gf16_mf32_vf32_master32_full__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pf16_gf16_mf32_vf32_master32_full__avx512,
    },
    {
        .name = "adam_pf16_gf16_mbf16_vbf16_master32_full__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pf16_gf16_mbf16_vbf16_master32_full__avx512,
    },
#endif
#if QUERN_SELECTED(avx512, adam_pbf16_gf32_full)
    {
        .name = "adam_pbf16_gf32_mf32_vf32_master32_full__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gf32_mf32_vf32_master32_full__avx512,
    },
    {
        .name = "adam_pbf16_gf32_mf32_vf32_remainder_full__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gf32_mf32_vf32_remainder_full__avx512,
    },
    {
        .name = "adam_pbf16_gf32_mf16_vf16_master32_full__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F16, QUERN_F16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gf32_mf16_vf16_master32_full__avx512,
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_master32_full__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gf32_mbf16_vbf16_master32_full__avx512,
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_remainder_full__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gf32_mbf16_vbf16_remainder_full__avx512,
    },
    {
        .name = "adam_pbf16_gf32_mbf16_ve4m3_master32_full__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_E4M3, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gf32_mbf16_ve4m3_master32_full__avx512,
    },
    {
        .name = "adam_pbf16_gf32_me4m3_ve4m3_master32_full__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_E4M3, QUERN_E4M3, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gf32_me4m3_ve4m3_master32_full__avx512,
    },
    {
        .name = "adam_pbf16_gf32_me5m2_ve5m2_master32_full__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_E5M2, QUERN_E5M2, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gf32_me5m2_ve5m2_master32_full__avx512,
    },
#endif
#if QUERN_SELECTED(avx512, adam_pbf16_gbf16_full)
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_full__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_mf32_vf32_full__avx512,
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_master32_full__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_mf32_vf32_master32_full__avx512,
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_remainder_full__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_mf32_vf32_remainder_full__avx512,
    },
    {
        .name = "adam_pbf16_gbf16_mf16_vf16_full__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F16, QUERN_F16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_mf16_vf16_full__avx512,
    },
    {
        .name = "adam_pbf16_gbf16_mf16_vf16_remainder_full__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F16, QUERN_F16, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_mf16_vf16_remainder_full__avx512,
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_full__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_mbf16_vbf16_full__avx512,
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_master32_full__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_mbf16_vbf16_master32_full__avx512,
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_remainder_full__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_mbf16_vbf16_remainder_full__avx512,
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_ve4m3_full__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_mbf16_ve4m3_full__avx512,
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_ve4m3_remainder_full__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_mbf16_ve4m3_remainder_full__avx512,
    },
    {
        .name = "adam_pbf16_gbf16_me4m3_ve4m3_full__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_me4m3_ve4m3_full__avx512,
    },
    {
        .name = "adam_pbf16_gbf16_me4m3_ve4m3_remainder_full__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_E4M3, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_me4m3_ve4m3_remainder_full__avx512,
    },
    {
        .name = "adam_pbf16_gbf16_me5m2_ve5m2_full__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E5M2, QUERN_E5M2, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_me5m2_ve5m2_full__avx512,
    },
    {
        .name = "adam_pbf16_gbf16_me5m2_ve5m2_remainder_full__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E5M2, QUERN_E5M2, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_me5m2_ve5m2_remainder_full__avx512,
    },
#endif
#if QUERN_SELECTED(avx512, gradient_norm)
    {
        .name = "adam_gradient_norm_f32__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F32, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM, 0},
        .cpu.gradient_norm = quern_adam_gradient_norm_f32__avx512,
    },
    {
        .name = "adam_gradient_norm_f16__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM, 0},
        .cpu.gradient_norm = quern_adam_gradient_norm_f16__avx512,
    },
    {
        .name = "adam_gradient_norm_bf16__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_NO_DTYPE, QUERN_BF16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM, 0},
        .cpu.gradient_norm = quern_adam_gradient_norm_bf16__avx512,
    },
#endif
#if QUERN_SELECTED(avx512, gradient_accumulate)
    {
        .name = "adam_gradient_accumulate_f32__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F32, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_ACCUMULATE, 0},
        .cpu.gradient_accumulate = quern_adam_gradient_accumulate_f32__avx512,
    },
    {
        .name = "adam_gradient_accumulate_f16__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_ACCUMULATE, 0},
        .cpu.gradient_accumulate = quern_adam_gradient_accumulate_f16__avx512,
    },
    {
        .name = "adam_gradient_accumulate_bf16__avx512",
        .operation = QUERN_ADAM,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .key.adam = {QUERN_NO_DTYPE, QUERN_BF16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_ACCUMULATE, 0},
        .cpu.gradient_accumulate = quern_adam_gradient_accumulate_bf16__avx512,
    },
#endif
#if QUERN_SELECTED(avx2, adam_pf32_gf32)
    {
        .name = "adam_pf32_gf32_mf32_vf32__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf32_gf32_mf32_vf32__avx2,
    },
    {
        .name = "adam_pf32_gf32_mf32_vbf16__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf32_gf32_mf32_vbf16__avx2,
    },
    {
        .name = "adam_pf32_gf32_mbf16_vf32__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf32_gf32_mbf16_vf32__avx2,
    },
    {
        .name = "adam_pf32_gf32_mbf16_vbf16__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf32_gf32_mbf16_vbf16__avx2,
    },
#endif
#if QUERN_SELECTED(avx2, adam_pf32_gf16)
    {
        .name = "adam_pf32_gf16_mf32_vf32__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf32_gf16_mf32_vf32__avx2,
    },
    {
        .name = "adam_pf32_gf16_mbf16_vbf16__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf32_gf16_mbf16_vbf16__avx2,
    },
#endif
#if QUERN_SELECTED(avx2, adam_pf32_gbf16)
    {
        .name = "adam_pf32_gbf16_mf32_vf32__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf32_gbf16_mf32_vf32__avx2,
    },
    {
        .name = "adam_pf32_gbf16_mbf16_vbf16__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf32_gbf16_mbf16_vbf16__avx2,
    },
#endif
#if QUERN_SELECTED(avx2, adam_pf16_gf32)
    {
        .name = "adam_pf16_gf32_mf32_vf32__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf16_gf32_mf32_vf32__avx2,
    },
    {
        .name = "adam_pf16_gf32_mf32_vf32_master32__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf16_gf32_mf32_vf32_master32__avx2,
    },
    {
        .name = "adam_pf16_gf32_mbf16_vbf16__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf16_gf32_mbf16_vbf16__avx2,
    },
    {
        .name = "adam_pf16_gf32_mbf16_vbf16_master32__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf16_gf32_mbf16_vbf16_master32__avx2,
    },
#endif
#if QUERN_SELECTED(avx2, adam_pf16_gf16)
    {
        .name = "adam_pf16_gf16_mf32_vf32__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf16_gf16_mf32_vf32__avx2,
    },
    {
        .name = "adam_pf16_gf16_mf32_vf32_master32__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf16_gf16_mf32_vf32_master32__avx2,
    },
    {
        .name = "adam_pf16_gf16_mbf16_vbf16__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf16_gf16_mbf16_vbf16__avx2,
    },
    {
        .name = "adam_pf16_gf16_mbf16_vbf16_master32__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf16_gf16_mbf16_vbf16_master32__avx2,
    },
#endif
#if QUERN_SELECTED(avx2, adam_pbf16_gf32)
    {
        .name = "adam_pbf16_gf32_mf32_vf32__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gf32_mf32_vf32__avx2,
    },
    {
        .name = "adam_pbf16_gf32_mf32_vf32_master32__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gf32_mf32_vf32_master32__avx2,
    },
    {
        .name = "adam_pbf16_gf32_mf32_vf32_remainder__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gf32_mf32_vf32_remainder__avx2,
    },
    {
        .name = "adam_pbf16_gf32_mf32_vbf16_master32__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gf32_mf32_vbf16_master32__avx2,
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vf32_master32__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gf32_mbf16_vf32_master32__avx2,
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gf32_mbf16_vbf16__avx2,
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_master32__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gf32_mbf16_vbf16_master32__avx2,
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_remainder__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gf32_mbf16_vbf16_remainder__avx2,
    },
#endif
#if QUERN_SELECTED(avx2, adam_pbf16_gbf16)
    {
        .name = "adam_pbf16_gbf16_mf32_vf32__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mf32_vf32__avx2,
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_master32__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mf32_vf32_master32__avx2,
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_remainder__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mf32_vf32_remainder__avx2,
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vbf16__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mf32_vbf16__avx2,
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vbf16_master32__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mf32_vbf16_master32__avx2,
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vbf16_remainder__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mf32_vbf16_remainder__avx2,
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vf32__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mbf16_vf32__avx2,
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vf32_master32__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mbf16_vf32_master32__avx2,
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vf32_remainder__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mbf16_vf32_remainder__avx2,
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mbf16_vbf16__avx2,
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_master32__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mbf16_vbf16_master32__avx2,
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_remainder__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mbf16_vbf16_remainder__avx2,
    },
#endif
#if QUERN_SELECTED(avx2, adam_pf32_gf32_full)
    {
        .name = "adam_pf32_gf32_mf32_vf32_full__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pf32_gf32_mf32_vf32_full__avx2,
    },
    {
        .name = "adam_pf32_gf32_mf16_vf16_full__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F16, QUERN_F16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pf32_gf32_mf16_vf16_full__avx2,
    },
    {
        .name = "adam_pf32_gf32_mbf16_vbf16_full__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pf32_gf32_mbf16_vbf16_full__avx2,
    },
    {
        .name = "adam_pf32_gf32_mbf16_ve4m3_full__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pf32_gf32_mbf16_ve4m3_full__avx2,
    },
    {
        .name = "adam_pf32_gf32_me4m3_ve4m3_full__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_E4M3, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pf32_gf32_me4m3_ve4m3_full__avx2,
    },
    {
        .name = "adam_pf32_gf32_me5m2_ve5m2_full__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_E5M2, QUERN_E5M2, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pf32_gf32_me5m2_ve5m2_full__avx2,
    },
#endif
#if QUERN_SELECTED(avx2, adam_pf32_gbf16_full)
    {
        .name = "adam_pf32_gbf16_mf32_vf32_full__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pf32_gbf16_mf32_vf32_full__avx2,
    },
    {
        .name = "adam_pf32_gbf16_mbf16_vbf16_full__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pf32_gbf16_mbf16_vbf16_full__avx2,
    },
#endif
#if QUERN_SELECTED(avx2, adam_pf16_gf16_full)
    {
        .name = "adam_pf16_gf16_mf32_vf32_master32_full__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pf16_gf16_mf32_vf32_master32_full__avx2,
    },
    {
        .name = "adam_pf16_gf16_mbf16_vbf16_master32_full__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pf16_gf16_mbf16_vbf16_master32_full__avx2,
    },
#endif
#if QUERN_SELECTED(avx2, adam_pbf16_gf32_full)
    {
        .name = "adam_pbf16_gf32_mf32_vf32_master32_full__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gf32_mf32_vf32_master32_full__avx2,
    },
    {
        .name = "adam_pbf16_gf32_mf32_vf32_remainder_full__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gf32_mf32_vf32_remainder_full__avx2,
    },
    {
        .name = "adam_pbf16_gf32_mf16_vf16_master32_full__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F16, QUERN_F16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gf32_mf16_vf16_master32_full__avx2,
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_master32_full__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gf32_mbf16_vbf16_master32_full__avx2,
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_remainder_full__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gf32_mbf16_vbf16_remainder_full__avx2,
    },
    {
        .name = "adam_pbf16_gf32_mbf16_ve4m3_master32_full__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_E4M3, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gf32_mbf16_ve4m3_master32_full__avx2,
    },
    {
        .name = "adam_pbf16_gf32_me4m3_ve4m3_master32_full__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_E4M3, QUERN_E4M3, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gf32_me4m3_ve4m3_master32_full__avx2,
    },
    {
        .name = "adam_pbf16_gf32_me5m2_ve5m2_master32_full__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_E5M2, QUERN_E5M2, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gf32_me5m2_ve5m2_master32_full__avx2,
    },
#endif
#if QUERN_SELECTED(avx2, adam_pbf16_gbf16_full)
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_full__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_mf32_vf32_full__avx2,
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_master32_full__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_mf32_vf32_master32_full__avx2,
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_remainder_full__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_mf32_vf32_remainder_full__avx2,
    },
    {
        .name = "adam_pbf16_gbf16_mf16_vf16_full__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F16, QUERN_F16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_mf16_vf16_full__avx2,
    },
    {
        .name = "adam_pbf16_gbf16_mf16_vf16_remainder_full__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F16, QUERN_F16, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_mf16_vf16_remainder_full__avx2,
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_full__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_mbf16_vbf16_full__avx2,
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_master32_full__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_mbf16_vbf16_master32_full__avx2,
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_remainder_full__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_mbf16_vbf16_remainder_full__avx2,
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_ve4m3_full__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_mbf16_ve4m3_full__avx2,
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_ve4m3_remainder_full__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_mbf16_ve4m3_remainder_full__avx2,
    },
    {
        .name = "adam_pbf16_gbf16_me4m3_ve4m3_full__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_me4m3_ve4m3_full__avx2,
    },
    {
        .name = "adam_pbf16_gbf16_me4m3_ve4m3_remainder_full__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_E4M3, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_me4m3_ve4m3_remainder_full__avx2,
    },
    {
        .name = "adam_pbf16_gbf16_me5m2_ve5m2_full__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E5M2, QUERN_E5M2, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_me5m2_ve5m2_full__avx2,
    },
    {
        .name = "adam_pbf16_gbf16_me5m2_ve5m2_remainder_full__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E5M2, QUERN_E5M2, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_me5m2_ve5m2_remainder_full__avx2,
    },
#endif
#if QUERN_SELECTED(avx2, gradient_norm)
    {
        .name = "adam_gradient_norm_f32__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F32, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM, 0},
        .cpu.gradient_norm = quern_adam_gradient_norm_f32__avx2,
    },
    {
        .name = "adam_gradient_norm_f16__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM, 0},
        .cpu.gradient_norm = quern_adam_gradient_norm_f16__avx2,
    },
    {
        .name = "adam_gradient_norm_bf16__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_NO_DTYPE, QUERN_BF16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM, 0},
        .cpu.gradient_norm = quern_adam_gradient_norm_bf16__avx2,
    },
#endif
#if QUERN_SELECTED(avx2, gradient_accumulate)
    {
        .name = "adam_gradient_accumulate_f32__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F32, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_ACCUMULATE, 0},
        .cpu.gradient_accumulate = quern_adam_gradient_accumulate_f32__avx2,
    },
    {
        .name = "adam_gradient_accumulate_f16__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_ACCUMULATE, 0},
        .cpu.gradient_accumulate = quern_adam_gradient_accumulate_f16__avx2,
    },
    {
        .name = "adam_gradient_accumulate_bf16__avx2",
        .operation = QUERN_ADAM,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .key.adam = {QUERN_NO_DTYPE, QUERN_BF16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_ACCUMULATE, 0},
        .cpu.gradient_accumulate = quern_adam_gradient_accumulate_bf16__avx2,
    },
#endif
#if QUERN_SELECTED(portable, adam_pf32_gf32)
    {
        .name = "adam_pf32_gf32_mf32_vf32__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf32_gf32_mf32_vf32__portable,
    },
    {
        .name = "adam_pf32_gf32_mf32_vbf16__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf32_gf32_mf32_vbf16__portable,
    },
    {
        .name = "adam_pf32_gf32_mbf16_vf32__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf32_gf32_mbf16_vf32__portable,
    },
    {
        .name = "adam_pf32_gf32_mbf16_vbf16__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf32_gf32_mbf16_vbf16__portable,
    },
#endif
#if QUERN_SELECTED(portable, adam_pf32_gf16)
    {
        .name = "adam_pf32_gf16_mf32_vf32__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf32_gf16_mf32_vf32__portable,
    },
    {
        .name = "adam_pf32_gf16_mbf16_vbf16__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf32_gf16_mbf16_vbf16__portable,
    },
#endif
#if QUERN_SELECTED(portable, adam_pf32_gbf16)
    {
        .name = "adam_pf32_gbf16_mf32_vf32__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf32_gbf16_mf32_vf32__portable,
    },
    {
        .name = "adam_pf32_gbf16_mbf16_vbf16__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf32_gbf16_mbf16_vbf16__portable,
    },
#endif
#if QUERN_SELECTED(portable, adam_pf16_gf32)
    {
        .name = "adam_pf16_gf32_mf32_vf32__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf16_gf32_mf32_vf32__portable,
    },
    {
        .name = "adam_pf16_gf32_mf32_vf32_master32__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf16_gf32_mf32_vf32_master32__portable,
    },
    {
        .name = "adam_pf16_gf32_mbf16_vbf16__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf16_gf32_mbf16_vbf16__portable,
    },
    {
        .name = "adam_pf16_gf32_mbf16_vbf16_master32__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_F16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf16_gf32_mbf16_vbf16_master32__portable,
    },
#endif
#if QUERN_SELECTED(portable, adam_pf16_gf16)
    {
        .name = "adam_pf16_gf16_mf32_vf32__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf16_gf16_mf32_vf32__portable,
    },
    {
        .name = "adam_pf16_gf16_mf32_vf32_master32__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf16_gf16_mf32_vf32_master32__portable,
    },
    {
        .name = "adam_pf16_gf16_mbf16_vbf16__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf16_gf16_mbf16_vbf16__portable,
    },
    {
        .name = "adam_pf16_gf16_mbf16_vbf16_master32__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pf16_gf16_mbf16_vbf16_master32__portable,
    },
#endif
#if QUERN_SELECTED(portable, adam_pbf16_gf32)
    {
        .name = "adam_pbf16_gf32_mf32_vf32__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gf32_mf32_vf32__portable,
    },
    {
        .name = "adam_pbf16_gf32_mf32_vf32_master32__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gf32_mf32_vf32_master32__portable,
    },
    {
        .name = "adam_pbf16_gf32_mf32_vf32_remainder__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gf32_mf32_vf32_remainder__portable,
    },
    {
        .name = "adam_pbf16_gf32_mf32_vbf16_master32__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gf32_mf32_vbf16_master32__portable,
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vf32_master32__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gf32_mbf16_vf32_master32__portable,
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gf32_mbf16_vbf16__portable,
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_master32__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gf32_mbf16_vbf16_master32__portable,
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_remainder__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gf32_mbf16_vbf16_remainder__portable,
    },
#endif
#if QUERN_SELECTED(portable, adam_pbf16_gbf16)
    {
        .name = "adam_pbf16_gbf16_mf32_vf32__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mf32_vf32__portable,
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_master32__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mf32_vf32_master32__portable,
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_remainder__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mf32_vf32_remainder__portable,
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vbf16__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mf32_vbf16__portable,
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vbf16_master32__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mf32_vbf16_master32__portable,
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vbf16_remainder__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mf32_vbf16_remainder__portable,
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vf32__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mbf16_vf32__portable,
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vf32_master32__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mbf16_vf32_master32__portable,
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vf32_remainder__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mbf16_vf32_remainder__portable,
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mbf16_vbf16__portable,
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_master32__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mbf16_vbf16_master32__portable,
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_remainder__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 0},
        .cpu.adam = quern_adam_pbf16_gbf16_mbf16_vbf16_remainder__portable,
    },
#endif
#if QUERN_SELECTED(portable, adam_pf32_gf32_full)
    {
        .name = "adam_pf32_gf32_mf32_vf32_full__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pf32_gf32_mf32_vf32_full__portable,
    },
    {
        .name = "adam_pf32_gf32_mf16_vf16_full__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_F16, QUERN_F16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pf32_gf32_mf16_vf16_full__portable,
    },
    {
        .name = "adam_pf32_gf32_mbf16_vbf16_full__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pf32_gf32_mbf16_vbf16_full__portable,
    },
    {
        .name = "adam_pf32_gf32_mbf16_ve4m3_full__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_BF16, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pf32_gf32_mbf16_ve4m3_full__portable,
    },
    {
        .name = "adam_pf32_gf32_me4m3_ve4m3_full__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_E4M3, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pf32_gf32_me4m3_ve4m3_full__portable,
    },
    {
        .name = "adam_pf32_gf32_me5m2_ve5m2_full__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_F32, QUERN_F32, QUERN_E5M2, QUERN_E5M2, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pf32_gf32_me5m2_ve5m2_full__portable,
    },
#endif
#if QUERN_SELECTED(portable, adam_pf32_gbf16_full)
    {
        .name = "adam_pf32_gbf16_mf32_vf32_full__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pf32_gbf16_mf32_vf32_full__portable,
    },
    {
        .name = "adam_pf32_gbf16_mbf16_vbf16_full__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pf32_gbf16_mbf16_vbf16_full__portable,
    },
#endif
#if QUERN_SELECTED(portable, adam_pf16_gf16_full)
    {
        .name = "adam_pf16_gf16_mf32_vf32_master32_full__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pf16_gf16_mf32_vf32_master32_full__portable,
    },
    {
        .name = "adam_pf16_gf16_mbf16_vbf16_master32_full__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_F16, QUERN_F16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pf16_gf16_mbf16_vbf16_master32_full__portable,
    },
#endif
#if QUERN_SELECTED(portable, adam_pbf16_gf32_full)
    {
        .name = "adam_pbf16_gf32_mf32_vf32_master32_full__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gf32_mf32_vf32_master32_full__portable,
    },
    {
        .name = "adam_pbf16_gf32_mf32_vf32_remainder_full__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gf32_mf32_vf32_remainder_full__portable,
    },
    {
        .name = "adam_pbf16_gf32_mf16_vf16_master32_full__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_F16, QUERN_F16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gf32_mf16_vf16_master32_full__portable,
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_master32_full__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gf32_mbf16_vbf16_master32_full__portable,
    },
    {
        .name = "adam_pbf16_gf32_mbf16_vbf16_remainder_full__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gf32_mbf16_vbf16_remainder_full__portable,
    },
    {
        .name = "adam_pbf16_gf32_mbf16_ve4m3_master32_full__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_BF16, QUERN_E4M3, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gf32_mbf16_ve4m3_master32_full__portable,
    },
    {
        .name = "adam_pbf16_gf32_me4m3_ve4m3_master32_full__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_E4M3, QUERN_E4M3, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gf32_me4m3_ve4m3_master32_full__portable,
    },
    {
        .name = "adam_pbf16_gf32_me5m2_ve5m2_master32_full__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_F32, QUERN_E5M2, QUERN_E5M2, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gf32_me5m2_ve5m2_master32_full__portable,
    },
#endif
#if QUERN_SELECTED(portable, adam_pbf16_gbf16_full)
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_full__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_mf32_vf32_full__portable,
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_master32_full__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_mf32_vf32_master32_full__portable,
    },
    {
        .name = "adam_pbf16_gbf16_mf32_vf32_remainder_full__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_F32, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_mf32_vf32_remainder_full__portable,
    },
    {
        .name = "adam_pbf16_gbf16_mf16_vf16_full__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F16, QUERN_F16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_mf16_vf16_full__portable,
    },
    {
        .name = "adam_pbf16_gbf16_mf16_vf16_remainder_full__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_F16, QUERN_F16, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_mf16_vf16_remainder_full__portable,
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_full__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_mbf16_vbf16_full__portable,
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_master32_full__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_mbf16_vbf16_master32_full__portable,
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_vbf16_remainder_full__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_mbf16_vbf16_remainder_full__portable,
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_ve4m3_full__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_mbf16_ve4m3_full__portable,
    },
    {
        .name = "adam_pbf16_gbf16_mbf16_ve4m3_remainder_full__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_mbf16_ve4m3_remainder_full__portable,
    },
    {
        .name = "adam_pbf16_gbf16_me4m3_ve4m3_full__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_E4M3, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_me4m3_ve4m3_full__portable,
    },
    {
        .name = "adam_pbf16_gbf16_me4m3_ve4m3_remainder_full__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_E4M3, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_me4m3_ve4m3_remainder_full__portable,
    },
    {
        .name = "adam_pbf16_gbf16_me5m2_ve5m2_full__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E5M2, QUERN_E5M2, QUERN_NO_DTYPE, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_me5m2_ve5m2_full__portable,
    },
    {
        .name = "adam_pbf16_gbf16_me5m2_ve5m2_remainder_full__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_BF16, QUERN_BF16, QUERN_E5M2, QUERN_E5M2, QUERN_REMAINDER, QUERN_ADAM_STEP, 1},
        .cpu.adam = quern_adam_pbf16_gbf16_me5m2_ve5m2_remainder_full__portable,
    },
#endif
#if QUERN_SELECTED(portable, gradient_norm)
    {
        .name = "adam_gradient_norm_f32__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F32, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM, 0},
        .cpu.gradient_norm = quern_adam_gradient_norm_f32__portable,
    },
    {
        .name = "adam_gradient_norm_f16__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM, 0},
        .cpu.gradient_norm = quern_adam_gradient_norm_f16__portable,
    },
    {
        .name = "adam_gradient_norm_bf16__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_NO_DTYPE, QUERN_BF16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_NORM, 0},
        .cpu.gradient_norm = quern_adam_gradient_norm_bf16__portable,
    },
#endif
#if QUERN_SELECTED(portable, gradient_accumulate)
    {
        .name = "adam_gradient_accumulate_f32__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F32, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_ACCUMULATE, 0},
        .cpu.gradient_accumulate = quern_adam_gradient_accumulate_f32__portable,
    },
    {
        .name = "adam_gradient_accumulate_f16__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_NO_DTYPE, QUERN_F16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_ACCUMULATE, 0},
        .cpu.gradient_accumulate = quern_adam_gradient_accumulate_f16__portable,
    },
    {
        .name = "adam_gradient_accumulate_bf16__portable",
        .operation = QUERN_ADAM,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .key.adam = {QUERN_NO_DTYPE, QUERN_BF16, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_NO_DTYPE, QUERN_GRADIENT_ACCUMULATE, 0},
        .cpu.gradient_accumulate = quern_adam_gradient_accumulate_bf16__portable,
    },
#endif
    {.name = ""},
};
