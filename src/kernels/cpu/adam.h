/*
 * Adam on a CPU: one pass over param, grad, m and v that reads and writes each value once.  This is 14 bytes per element if all
 * four are bf16 and 28 if all are fp32.  It is 20 for bf16 with an fp32 master, which is read instead of the parameter, and 18 with
 * a remainder as the master.
 *
 * An element costs a square root, a division and, if it is rounded stochastically, part of a Philox block; this arithmetic must
 * overlap with the memory traffic.  The loop processes blocks of 256 elements.  It draws the random bits of a block at once and
 * then makes two passes over the block, one for the square roots and one for the divisions: both have a long latency, and several
 * of one kind overlap better than alternating ones.  The rounding modes and the kind of decay are constant during a call, so a
 * branch on them inside the loop is always predicted.
 *
 * The full kernels also support AMSGrad, a further copy of the parameters, zeroed gradients and scaled moments.  The copy and the
 * zeros are written while the block is in the L1 cache.  A scaled moment is stored only when all 32 elements of its block are
 * known, so it waits in fp32.
 *
 * A source in generated/adam/ has the kernels of one type of parameters and one type of gradients.  It defines STEP_IS_FULL, 0 or
 * 1, and the C types of its dtypes (TYPE_bf16) and includes this file once; then it includes adam_step.h for each kernel.
 */
#ifndef QUERN_CPU_ADAM_STEPS_H
#define QUERN_CPU_ADAM_STEPS_H

#include "kernels/cpu/target.h"

#if STEP_IS_FULL
#include "kernels/cpu/narrow_vectors.h"
#else
#include "kernels/cpu/adam_vectors.h"
#endif
#include "kernels/cpu/adam_arithmetic.h"
#include "kernels/cpu/adam_arrays.h"
#include "kernels/cpu/adam_random.h"
#if QUERN_SIMD256 || QUERN_SIMD512
#include "kernels/cpu/adam_usual.h"
#endif
#if STEP_IS_FULL
#include "kernels/cpu/adam_copy.h"
#include "kernels/cpu/scaled.h"
#endif
#include "kernels/kernel.h"

enum { PAIR = 2 * VECTOR_LANES };

/* Values kept in fp32 for the second pass over a block. */
struct pending {
    float m[BLOCK], denominator[BLOCK];
#if STEP_IS_FULL
    float v[BLOCK], v_max[BLOCK], param[BLOCK];
#endif
};

/* The kinds of masters, as numbers for the preprocessor. */
#define TYPE_none void
#define MASTER_none 0
#define MASTER_f32 1
#define MASTER_remainder 2

#endif
