/*
 * The kernels of ragged_all_to_all, best first: specific GPU generations from the newest on, PTX for GPUs to come, then the CPU's
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

extern const unsigned char quern_image_ragged_all_to_all__sm_120f[], quern_image_ragged_all_to_all__sm_120f_end[];
extern const unsigned char quern_image_ragged_all_to_all__sm_100f[], quern_image_ragged_all_to_all__sm_100f_end[];
extern const unsigned char quern_image_ragged_all_to_all__sm_90a[], quern_image_ragged_all_to_all__sm_90a_end[];
extern const unsigned char quern_image_ragged_all_to_all__sm_89[], quern_image_ragged_all_to_all__sm_89_end[];
extern const unsigned char quern_image_ragged_all_to_all__sm_86[], quern_image_ragged_all_to_all__sm_86_end[];
extern const unsigned char quern_image_ragged_all_to_all__sm_80[], quern_image_ragged_all_to_all__sm_80_end[];
extern const unsigned char quern_image_ragged_all_to_all__sm_75[], quern_image_ragged_all_to_all__sm_75_end[];
extern const unsigned char quern_image_ragged_all_to_all__compute_90[], quern_image_ragged_all_to_all__compute_90_end[];
quern_ragged_all_to_all_cpu_kernel quern_ragged_all_to_all__avx512;
quern_ragged_all_to_all_cpu_kernel quern_ragged_all_to_all__avx2;
quern_ragged_all_to_all_cpu_kernel quern_ragged_all_to_all__portable;
const struct quern_kernel quern_ragged_all_to_all_kernels[] = {
#if QUERN_SELECTED(sm_120f, ragged_all_to_all)
    {
        .name = "ragged_all_to_all__sm_120f",
        .operation = QUERN_RAGGED_ALL_TO_ALL,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .cuda = {"ragged_all_to_all", quern_image_ragged_all_to_all__sm_120f, quern_image_ragged_all_to_all__sm_120f_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_100f, ragged_all_to_all)
    {
        .name = "ragged_all_to_all__sm_100f",
        .operation = QUERN_RAGGED_ALL_TO_ALL,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .cuda = {"ragged_all_to_all", quern_image_ragged_all_to_all__sm_100f, quern_image_ragged_all_to_all__sm_100f_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_90a, ragged_all_to_all)
    {
        .name = "ragged_all_to_all__sm_90a",
        .operation = QUERN_RAGGED_ALL_TO_ALL,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .cuda = {"ragged_all_to_all", quern_image_ragged_all_to_all__sm_90a, quern_image_ragged_all_to_all__sm_90a_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_89, ragged_all_to_all)
    {
        .name = "ragged_all_to_all__sm_89",
        .operation = QUERN_RAGGED_ALL_TO_ALL,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .cuda = {"ragged_all_to_all", quern_image_ragged_all_to_all__sm_89, quern_image_ragged_all_to_all__sm_89_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_86, ragged_all_to_all)
    {
        .name = "ragged_all_to_all__sm_86",
        .operation = QUERN_RAGGED_ALL_TO_ALL,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .cuda = {"ragged_all_to_all", quern_image_ragged_all_to_all__sm_86, quern_image_ragged_all_to_all__sm_86_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_80, ragged_all_to_all)
    {
        .name = "ragged_all_to_all__sm_80",
        .operation = QUERN_RAGGED_ALL_TO_ALL,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .cuda = {"ragged_all_to_all", quern_image_ragged_all_to_all__sm_80, quern_image_ragged_all_to_all__sm_80_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_75, ragged_all_to_all)
    {
        .name = "ragged_all_to_all__sm_75",
        .operation = QUERN_RAGGED_ALL_TO_ALL,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .cuda = {"ragged_all_to_all", quern_image_ragged_all_to_all__sm_75, quern_image_ragged_all_to_all__sm_75_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(compute_90, ragged_all_to_all)
    {
        .name = "ragged_all_to_all__compute_90",
        .operation = QUERN_RAGGED_ALL_TO_ALL,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .cuda = {"ragged_all_to_all", quern_image_ragged_all_to_all__compute_90, quern_image_ragged_all_to_all__compute_90_end,
                 512, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(avx512, ragged_all_to_all)
    {
        .name = "ragged_all_to_all__avx512",
        .operation = QUERN_RAGGED_ALL_TO_ALL,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .cpu.ragged_all_to_all = quern_ragged_all_to_all__avx512,
    },
#endif
#if QUERN_SELECTED(avx2, ragged_all_to_all)
    {
        .name = "ragged_all_to_all__avx2",
        .operation = QUERN_RAGGED_ALL_TO_ALL,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .cpu.ragged_all_to_all = quern_ragged_all_to_all__avx2,
    },
#endif
#if QUERN_SELECTED(portable, ragged_all_to_all)
    {
        .name = "ragged_all_to_all__portable",
        .operation = QUERN_RAGGED_ALL_TO_ALL,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .cpu.ragged_all_to_all = quern_ragged_all_to_all__portable,
    },
#endif
    {.name = ""},
};
