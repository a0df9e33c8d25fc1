/*
 * The kernels of barrier, best first: specific GPU generations from the newest on, PTX for GPUs to come, then the CPU's
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

extern const unsigned char quern_image_barrier__sm_120f[], quern_image_barrier__sm_120f_end[];
extern const unsigned char quern_image_barrier__sm_100f[], quern_image_barrier__sm_100f_end[];
extern const unsigned char quern_image_barrier__sm_90a[], quern_image_barrier__sm_90a_end[];
extern const unsigned char quern_image_barrier__sm_89[], quern_image_barrier__sm_89_end[];
extern const unsigned char quern_image_barrier__sm_86[], quern_image_barrier__sm_86_end[];
extern const unsigned char quern_image_barrier__sm_80[], quern_image_barrier__sm_80_end[];
extern const unsigned char quern_image_barrier__sm_75[], quern_image_barrier__sm_75_end[];
extern const unsigned char quern_image_barrier__compute_90[], quern_image_barrier__compute_90_end[];
const struct quern_kernel quern_barrier_kernels[] = {
#if QUERN_SELECTED(sm_120f, barrier)
    {
        .name = "barrier__sm_120f",
        .operation = QUERN_BARRIER,
        .target = {"sm_120f", QUERN_CUDA, 0, 120, 129},
        .cuda = {"barrier", quern_image_barrier__sm_120f, quern_image_barrier__sm_120f_end,
                 128, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_100f, barrier)
    {
        .name = "barrier__sm_100f",
        .operation = QUERN_BARRIER,
        .target = {"sm_100f", QUERN_CUDA, 0, 100, 109},
        .cuda = {"barrier", quern_image_barrier__sm_100f, quern_image_barrier__sm_100f_end,
                 128, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_90a, barrier)
    {
        .name = "barrier__sm_90a",
        .operation = QUERN_BARRIER,
        .target = {"sm_90a", QUERN_CUDA, 0, 90, 90},
        .cuda = {"barrier", quern_image_barrier__sm_90a, quern_image_barrier__sm_90a_end,
                 128, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_89, barrier)
    {
        .name = "barrier__sm_89",
        .operation = QUERN_BARRIER,
        .target = {"sm_89", QUERN_CUDA, 0, 89, 89},
        .cuda = {"barrier", quern_image_barrier__sm_89, quern_image_barrier__sm_89_end,
                 128, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_86, barrier)
    {
        .name = "barrier__sm_86",
        .operation = QUERN_BARRIER,
        .target = {"sm_86", QUERN_CUDA, 0, 86, 89},
        .cuda = {"barrier", quern_image_barrier__sm_86, quern_image_barrier__sm_86_end,
                 128, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_80, barrier)
    {
        .name = "barrier__sm_80",
        .operation = QUERN_BARRIER,
        .target = {"sm_80", QUERN_CUDA, 0, 80, 89},
        .cuda = {"barrier", quern_image_barrier__sm_80, quern_image_barrier__sm_80_end,
                 128, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(sm_75, barrier)
    {
        .name = "barrier__sm_75",
        .operation = QUERN_BARRIER,
        .target = {"sm_75", QUERN_CUDA, 0, 75, 79},
        .cuda = {"barrier", quern_image_barrier__sm_75, quern_image_barrier__sm_75_end,
                 128, 0, 0, 0, 0, 0},
    },
#endif
#if QUERN_SELECTED(compute_90, barrier)
    {
        .name = "barrier__compute_90",
        .operation = QUERN_BARRIER,
        .target = {"compute_90", QUERN_CUDA, 0, 90, 9999},
        .cuda = {"barrier", quern_image_barrier__compute_90, quern_image_barrier__compute_90_end,
                 128, 0, 0, 0, 0, 0},
    },
#endif
    {.name = ""},
};
