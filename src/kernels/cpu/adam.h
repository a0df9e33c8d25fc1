/*
 * Adam on a CPU: one pass over param, grad, m and v that reads and writes each value once: 14 bytes per element when all
 * four are bf16, 28 when all are fp32, 20 for bf16 with an fp32 master, which is then read instead of the parameter, and
 * 18 with a remainder for a master.
 *
 * An element costs a square root, a division and, when it is rounded stochastically, its share of a Philox block; this arithmetic
 * must overlap with the memory traffic.  The loop goes by blocks of 256 elements: it draws their random bits at once and then passes
 * over them twice, first for the roots and then for the divisions, because an element waits long for either and many of a kind are
 * done faster than both in turn.  What is stochastic and which decay is on is the same for the whole call, so a branch on it inside
 * the loop is always predicted.
 *
 * The full kernels also know scaled moments, whose 32 elements must all be known before the first of them is stored, so that they
 * wait in fp32 until their block is done; AMSGrad; a further copy of the parameters, and zeros for the gradients, both while the
 * block is still in the nearest cache.
 *
 * A source in generated/adam/ has the kernels of one type of parameters and one of gradients.  It defines STEP_IS_FULL, 0 or 1, and
 * the C types of its dtypes (TYPE_bf16), and includes this once; then it includes adam_step.h for each kernel.
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
#if STEP_IS_FULL
#include "kernels/cpu/adam_copy.h"
#include "kernels/cpu/scaled.h"
#endif
#include "kernels/kernel.h"

enum { PAIR = 2 * VECTOR_LANES };

/* What waits for the second pass over a block, in fp32. */
struct pending {
    float m[BLOCK], denominator[BLOCK];
#if STEP_IS_FULL
    float v[BLOCK], v_max[BLOCK], param[BLOCK];
#endif
};

/* The kinds of masters, as the preprocessor tells them apart. */
#define MASTER_none 0
#define MASTER_f32 1
#define MASTER_remainder 2

#endif
