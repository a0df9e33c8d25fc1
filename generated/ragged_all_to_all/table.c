/*
 * The kernels of ragged_all_to_all, best first: specific GPU generations from the newest on, PTX for GPUs to come, then the CPU's
 * instruction sets; the portable rows close the list.  A request is served by the first row that fits.
 *
 * Rendered by gen/ from templates/table.c.j2; do not edit.
 */
#include "kernel.h"

quern_ragged_all_to_all_cpu_kernel quern_ragged_all_to_all__avx512;
quern_ragged_all_to_all_cpu_kernel quern_ragged_all_to_all__avx2;
quern_ragged_all_to_all_cpu_kernel quern_ragged_all_to_all__portable;
const struct quern_kernel quern_ragged_all_to_all_kernels[] = {
    {
        .name = "ragged_all_to_all__avx512",
        .operation = QUERN_RAGGED_ALL_TO_ALL,
        .target = {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0},
        .cpu.ragged_all_to_all = quern_ragged_all_to_all__avx512,
    },
    {
        .name = "ragged_all_to_all__avx2",
        .operation = QUERN_RAGGED_ALL_TO_ALL,
        .target = {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0},
        .cpu.ragged_all_to_all = quern_ragged_all_to_all__avx2,
    },
    {
        .name = "ragged_all_to_all__portable",
        .operation = QUERN_RAGGED_ALL_TO_ALL,
        .target = {"portable", QUERN_CPU, 0, 0, 0},
        .cpu.ragged_all_to_all = quern_ragged_all_to_all__portable,
    },
    {.name = ""},
};
