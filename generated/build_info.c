/*
 * What the archive was built with, for quern_build_info, and the CUDA versions of its images.
 *
 * A build that defines QUERN_SELECTED(target, unit) has other targets, and one that defines QUERN_LEFT_OUT_<operation> lacks that
 * operation: gen/selection.py.  The build includes build/nvcc.h and build/nvcc_version.h.
 *
 * Rendered by gen/ from templates/build/build_info.c.j2; do not edit.
 */
#include "kernels/kernel.h"

#ifndef QUERN_SELECTED
#define QUERN_SELECTED(target, unit) 1
#endif

#if QUERN_SELECTED(sm_120f, any) && QUERN_HAS_NVCC
#define TARGET_sm_120f " sm_120f"
#else
#define TARGET_sm_120f ""
#endif
#if QUERN_SELECTED(sm_100f, any) && QUERN_HAS_NVCC
#define TARGET_sm_100f " sm_100f"
#else
#define TARGET_sm_100f ""
#endif
#if QUERN_SELECTED(sm_90a, any) && QUERN_HAS_NVCC
#define TARGET_sm_90a " sm_90a"
#else
#define TARGET_sm_90a ""
#endif
#if QUERN_SELECTED(sm_89, any) && QUERN_HAS_NVCC
#define TARGET_sm_89 " sm_89"
#else
#define TARGET_sm_89 ""
#endif
#if QUERN_SELECTED(sm_86, any) && QUERN_HAS_NVCC
#define TARGET_sm_86 " sm_86"
#else
#define TARGET_sm_86 ""
#endif
#if QUERN_SELECTED(sm_80, any) && QUERN_HAS_NVCC
#define TARGET_sm_80 " sm_80"
#else
#define TARGET_sm_80 ""
#endif
#if QUERN_SELECTED(sm_75, any) && QUERN_HAS_NVCC
#define TARGET_sm_75 " sm_75"
#else
#define TARGET_sm_75 ""
#endif
#if QUERN_SELECTED(compute_90, any) && QUERN_HAS_NVCC
#define TARGET_compute_90 " compute_90"
#else
#define TARGET_compute_90 ""
#endif
#if QUERN_SELECTED(avx512, any) && defined __x86_64__
#define TARGET_avx512 " avx512"
#else
#define TARGET_avx512 ""
#endif
#if QUERN_SELECTED(avx2, any) && defined __x86_64__
#define TARGET_avx2 " avx2"
#else
#define TARGET_avx2 ""
#endif
#if QUERN_SELECTED(neon, any) && defined __aarch64__
#define TARGET_neon " neon"
#else
#define TARGET_neon ""
#endif
#if QUERN_SELECTED(portable, any)
#define TARGET_portable " portable"
#else
#define TARGET_portable ""
#endif
#if QUERN_SELECTED(sm_120f, any)
#if QUERN_HAS_NVCC
const struct quern_images quern_images__sm_120f = QUERN_IMAGES_sm_120f;
#else
const struct quern_images quern_images__sm_120f = {0, 0};
#endif
#endif
#if QUERN_SELECTED(sm_100f, any)
#if QUERN_HAS_NVCC
const struct quern_images quern_images__sm_100f = QUERN_IMAGES_sm_100f;
#else
const struct quern_images quern_images__sm_100f = {0, 0};
#endif
#endif
#if QUERN_SELECTED(sm_90a, any)
#if QUERN_HAS_NVCC
const struct quern_images quern_images__sm_90a = QUERN_IMAGES_sm_90a;
#else
const struct quern_images quern_images__sm_90a = {0, 0};
#endif
#endif
#if QUERN_SELECTED(sm_89, any)
#if QUERN_HAS_NVCC
const struct quern_images quern_images__sm_89 = QUERN_IMAGES_sm_89;
#else
const struct quern_images quern_images__sm_89 = {0, 0};
#endif
#endif
#if QUERN_SELECTED(sm_86, any)
#if QUERN_HAS_NVCC
const struct quern_images quern_images__sm_86 = QUERN_IMAGES_sm_86;
#else
const struct quern_images quern_images__sm_86 = {0, 0};
#endif
#endif
#if QUERN_SELECTED(sm_80, any)
#if QUERN_HAS_NVCC
const struct quern_images quern_images__sm_80 = QUERN_IMAGES_sm_80;
#else
const struct quern_images quern_images__sm_80 = {0, 0};
#endif
#endif
#if QUERN_SELECTED(sm_75, any)
#if QUERN_HAS_NVCC
const struct quern_images quern_images__sm_75 = QUERN_IMAGES_sm_75;
#else
const struct quern_images quern_images__sm_75 = {0, 0};
#endif
#endif
#if QUERN_SELECTED(compute_90, any)
#if QUERN_HAS_NVCC
const struct quern_images quern_images__compute_90 = QUERN_IMAGES_compute_90;
#else
const struct quern_images quern_images__compute_90 = {0, 0};
#endif
#endif
#define TARGETS \
    TARGET_sm_120f \
    TARGET_sm_100f \
    TARGET_sm_90a \
    TARGET_sm_89 \
    TARGET_sm_86 \
    TARGET_sm_80 \
    TARGET_sm_75 \
    TARGET_compute_90 \
    TARGET_avx512 \
    TARGET_avx2 \
    TARGET_neon \
    TARGET_portable
#ifdef QUERN_LEFT_OUT_cross_entropy
#define OPERATION_cross_entropy ""
#else
#define OPERATION_cross_entropy " cross_entropy"
#endif
#ifdef QUERN_LEFT_OUT_adam
#define OPERATION_adam ""
#else
#define OPERATION_adam " adam"
#endif
#ifdef QUERN_LEFT_OUT_barrier
#define OPERATION_barrier ""
#else
#define OPERATION_barrier " barrier"
#endif
#ifdef QUERN_LEFT_OUT_ragged_all_to_all
#define OPERATION_ragged_all_to_all ""
#else
#define OPERATION_ragged_all_to_all " ragged_all_to_all"
#endif
#ifdef QUERN_LEFT_OUT_quantize
#define OPERATION_quantize ""
#else
#define OPERATION_quantize " quantize"
#endif
#ifdef QUERN_LEFT_OUT_collective
#define OPERATION_collective ""
#else
#define OPERATION_collective " collective"
#endif
#define OPERATIONS \
    OPERATION_cross_entropy \
    OPERATION_adam \
    OPERATION_barrier \
    OPERATION_ragged_all_to_all \
    OPERATION_quantize \
    OPERATION_collective
#define TEXT(number) TEXT_AS_IT_IS(number)
#define TEXT_AS_IT_IS(number) #number
#define NUMBERS(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

#ifdef __clang__
#define COMPILER "clang " NUMBERS(__clang_major__, __clang_minor__, __clang_patchlevel__)
#else
#define COMPILER "gcc " NUMBERS(__GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__)
#endif

const char quern_build_targets[] = TARGETS;
const char quern_build_operations[] = OPERATIONS;
const char quern_build_text[] = "version: " NUMBERS(QUERN_VERSION_MAJOR, QUERN_VERSION_MINOR, QUERN_VERSION_PATCH) "\n"
                                "targets:" TARGETS "\n"
                                "operations:" OPERATIONS "\n"
                                "compiler: " COMPILER "\n"
                                "nvcc: " QUERN_NVCC_VERSION "\n";
