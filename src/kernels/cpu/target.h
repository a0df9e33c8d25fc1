/*
 * The target of a CPU kernel; included by every CPU kernel.  Each source is compiled once for every target, with definitions from
 * the build (generated/kernels.ninja): QUERN_TARGET is the target's name, QUERN_SIMD512 is 1 with AVX-512, QUERN_SIMD256 with AVX2,
 * QUERN_NEON with Advanced SIMD of aarch64.  The others are 0 or undefined, all of them in plain C.
 */
#ifndef QUERN_CPU_TARGET_H
#define QUERN_CPU_TARGET_H

#ifndef QUERN_TARGET
#error "a CPU kernel needs the definitions of a target: see generated/kernels.ninja"
#endif

/* Joins tokens after macro expansion. */
#define QUERN_JOIN(a, b) QUERN_JOIN_EXPANDED(a, b)
#define QUERN_JOIN_EXPANDED(a, b) a##b

/* The function of a kernel: quern_<kernel>__<target>, as the tables name it. */
#define QUERN_KERNEL_NAME(kernel) QUERN_JOIN(QUERN_JOIN(quern_, kernel), QUERN_JOIN(__, QUERN_TARGET))

#endif
