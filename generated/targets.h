/*
 * Includes QUERN_ROWS_GPU once for each GPU target of the library, best first, then QUERN_ROWS_CPU for each CPU target; either may be
 * missing.  A compiler for CPUs of another architecture leaves a target out.  BY_TARGET chooses a target's value among those of all targets of its kind.
 *
 * Rendered by gen/ from templates/build/targets.h.j2; do not edit.
 */
#ifdef QUERN_ROWS_GPU
#define UNIT QUERN_GPU_UNIT
#define ROW QUERN_GPU_ROW
#define TARGET sm_120f
#define TARGET_ROW {"sm_120f", QUERN_CUDA, 0, 120, 129, &quern_images__sm_120f}
#define BY_TARGET(sm_120f, sm_100f, sm_90a, sm_89, sm_86, sm_80, sm_75, compute_90) sm_120f
#include QUERN_ROWS_GPU
#undef TARGET
#undef TARGET_ROW
#undef BY_TARGET
#define TARGET sm_100f
#define TARGET_ROW {"sm_100f", QUERN_CUDA, 0, 100, 109, &quern_images__sm_100f}
#define BY_TARGET(sm_120f, sm_100f, sm_90a, sm_89, sm_86, sm_80, sm_75, compute_90) sm_100f
#include QUERN_ROWS_GPU
#undef TARGET
#undef TARGET_ROW
#undef BY_TARGET
#define TARGET sm_90a
#define TARGET_ROW {"sm_90a", QUERN_CUDA, 0, 90, 90, &quern_images__sm_90a}
#define BY_TARGET(sm_120f, sm_100f, sm_90a, sm_89, sm_86, sm_80, sm_75, compute_90) sm_90a
#include QUERN_ROWS_GPU
#undef TARGET
#undef TARGET_ROW
#undef BY_TARGET
#define TARGET sm_89
#define TARGET_ROW {"sm_89", QUERN_CUDA, 0, 89, 89, &quern_images__sm_89}
#define BY_TARGET(sm_120f, sm_100f, sm_90a, sm_89, sm_86, sm_80, sm_75, compute_90) sm_89
#include QUERN_ROWS_GPU
#undef TARGET
#undef TARGET_ROW
#undef BY_TARGET
#define TARGET sm_86
#define TARGET_ROW {"sm_86", QUERN_CUDA, 0, 86, 89, &quern_images__sm_86}
#define BY_TARGET(sm_120f, sm_100f, sm_90a, sm_89, sm_86, sm_80, sm_75, compute_90) sm_86
#include QUERN_ROWS_GPU
#undef TARGET
#undef TARGET_ROW
#undef BY_TARGET
#define TARGET sm_80
#define TARGET_ROW {"sm_80", QUERN_CUDA, 0, 80, 89, &quern_images__sm_80}
#define BY_TARGET(sm_120f, sm_100f, sm_90a, sm_89, sm_86, sm_80, sm_75, compute_90) sm_80
#include QUERN_ROWS_GPU
#undef TARGET
#undef TARGET_ROW
#undef BY_TARGET
#define TARGET sm_75
#define TARGET_ROW {"sm_75", QUERN_CUDA, 0, 75, 79, &quern_images__sm_75}
#define BY_TARGET(sm_120f, sm_100f, sm_90a, sm_89, sm_86, sm_80, sm_75, compute_90) sm_75
#include QUERN_ROWS_GPU
#undef TARGET
#undef TARGET_ROW
#undef BY_TARGET
#define TARGET compute_90
#define TARGET_ROW {"compute_90", QUERN_CUDA, 0, 90, 9999, &quern_images__compute_90}
#define BY_TARGET(sm_120f, sm_100f, sm_90a, sm_89, sm_86, sm_80, sm_75, compute_90) compute_90
#include QUERN_ROWS_GPU
#undef TARGET
#undef TARGET_ROW
#undef BY_TARGET
#undef UNIT
#undef ROW
#endif
#ifdef QUERN_ROWS_CPU
#define UNIT QUERN_CPU_UNIT
#define ROW QUERN_CPU_ROW
#ifdef __x86_64__
#define TARGET avx512
#define TARGET_ROW {"avx512", QUERN_CPU, QUERN_CPU_AVX2 | QUERN_CPU_AVX512, 0, 0, NULL}
#define BY_TARGET(avx512, avx2, neon, portable) avx512
#include QUERN_ROWS_CPU
#undef TARGET
#undef TARGET_ROW
#undef BY_TARGET
#endif
#ifdef __x86_64__
#define TARGET avx2
#define TARGET_ROW {"avx2", QUERN_CPU, QUERN_CPU_AVX2, 0, 0, NULL}
#define BY_TARGET(avx512, avx2, neon, portable) avx2
#include QUERN_ROWS_CPU
#undef TARGET
#undef TARGET_ROW
#undef BY_TARGET
#endif
#ifdef __aarch64__
#define TARGET neon
#define TARGET_ROW {"neon", QUERN_CPU, QUERN_CPU_NEON, 0, 0, NULL}
#define BY_TARGET(avx512, avx2, neon, portable) neon
#include QUERN_ROWS_CPU
#undef TARGET
#undef TARGET_ROW
#undef BY_TARGET
#endif
#define TARGET portable
#define TARGET_ROW {"portable", QUERN_CPU, 0, 0, 0, NULL}
#define BY_TARGET(avx512, avx2, neon, portable) portable
#include QUERN_ROWS_CPU
#undef TARGET
#undef TARGET_ROW
#undef BY_TARGET
#undef UNIT
#undef ROW
#endif
