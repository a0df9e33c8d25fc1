/*
 * One kernel = one table row.  The dispatcher, the tests, the benchmarks and the kernel packs all walk these rows, so a kernel
 * cannot exist unreachable, untested or unmeasured.
 *
 * The tables are generated (generated/<operation>/table.c, src/kernels/table.h): per operation, best row first, closed by a row
 * without a name.
 */
#ifndef QUERN_KERNEL_H
#define QUERN_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "../generated/operations.h"
#include "kernels/problem.h"
#include "quern.h"

/* Instruction sets a CPU row may need; gathered from CPUID when a device is opened. */
enum {
    QUERN_CPU_AVX2 = 1,    /* AVX2, FMA and F16C */
    QUERN_CPU_AVX512 = 2   /* AVX-512 F, BW, DQ and VL, beside all of the above */
};

/* Where a row can run. */
struct quern_target {
    const char *name;        /* "avx512", "sm_90a", "compute_90" */
    quern_device_kind kind;
    uint32_t cpu_features;   /* CPU: all of these bits are needed */
    int cc_min, cc_max;      /* CUDA: compute capability, 90 for 9.0, both ends included */
};

/*
 * What a cross-entropy kernel computes.  A call runs either the rows stage or, where one worker for a row would be too few or the
 * row is in shards, stats, combine and gradient; a CPU has kernels for what touches logits, and does the rest in the host code.
 */
enum quern_cross_entropy_stage {
    QUERN_STAGE_ROWS = 0,      /* loss, outputs and gradient of each row */
    QUERN_STAGE_STATS = 1,     /* the sums of each part of each row */
    QUERN_STAGE_GRADIENT = 2,  /* the gradient of each part of each row from the row's stats */
    QUERN_STAGE_COMBINE = 3,   /* what the parts of each row come to */
    QUERN_STAGE_LABELS = 4,    /* counts the rows by their labels: the mean's divisor and the report */
    QUERN_STAGE_REDUCE = 5     /* sums the rows' losses in a fixed order */
};

/* Rows [first_row, end_row); scratch as problem.h says, 64-byte aligned and for this call alone. */
typedef void quern_cross_entropy_rows_kernel(const struct quern_cross_entropy_problem *problem, int64_t first_row,
                                             int64_t end_row, void *scratch);
/* One part of one row: columns [part, part + 1) * QUERN_CPU_PART_COLUMNS. */
typedef void quern_cross_entropy_part_kernel(const struct quern_cross_entropy_problem *problem, int64_t row, int64_t part,
                                             void *scratch);

/* What a kernel of Adam computes. */
enum quern_adam_task {
    QUERN_ADAM_STEP = 0,
    QUERN_GRADIENT_NORM = 1,           /* the sums of the squares of gradients */
    QUERN_GRADIENT_NORM_COMBINE = 2,   /* GPU: from these to the norm; a CPU does it in the host code */
    QUERN_GRADIENT_ACCUMULATE = 3
};

/*
 * Elements [first, end) of the tensor that stands at `place` in the caller's list; first is a multiple of 256.  The step is not one
 * that found_inf skips.  extras is NULL for a kernel that is not a full one.
 */
typedef void quern_adam_cpu_kernel(const struct quern_adam_step *step, const struct quern_adam_slice *tensor,
                                   const struct quern_adam_extras *extras, uint32_t place, int64_t first, int64_t end);
/* The sum of the squares of up to QUERN_GRADIENT_CHUNK gradients, infinite or NaN if one of them is and never else. */
typedef double quern_gradient_norm_cpu_kernel(const void *grad, int64_t count);
/* main_grad = main_grad + scale * grad, rounded once; then zeros in grad where zero_grads. */
typedef void quern_gradient_accumulate_cpu_kernel(float *main_grad, void *grad, int64_t count, float scale, int zero_grads);

/*
 * Copies bytes that do not overlap; streaming: past the caches, which have no use for them.  Such stores must be fenced
 * (src/ranks/ragged/ragged_copies.c) before anyone is told of them.
 */
typedef void quern_ragged_all_to_all_cpu_kernel(char *to, const char *from, int64_t bytes, int streaming);

/* Items [first, end) of a problem, of which the operation says what it is: for operations that need no type of their own. */
typedef void quern_any_cpu_kernel(const void *problem, int64_t first, int64_t end);

enum { QUERN_KEY_DTYPES = 5 };

struct quern_kernel {
    const char *name;
    unsigned operation;          /* one bit of quern_operations */
    struct quern_target target;
    /* What tells the rows of one target apart.  Tables and packs write `any`, of which the others are views. */
    union {
        struct {
            quern_dtype dtypes[QUERN_KEY_DTYPES];
            int32_t task;        /* what the kernel computes, of those that the operation has; 0: it has one */
            int32_t full;        /* 1: knows all options of the operation */
            int64_t vocab_max;   /* longest row the kernel can hold; INT64_MAX: any */
        } any;
        struct {
            quern_dtype logits, none[QUERN_KEY_DTYPES - 1];
            enum quern_cross_entropy_stage stage;
            int full;            /* 1: knows all options; 0: only those that cost nothing for each column */
            int64_t vocab_max;
        } cross_entropy;
        struct {
            quern_dtype param, grad, m, v, master;  /* the tasks on gradients alone have no other, the combining one none */
            enum quern_adam_task task;
            int full;            /* 1: knows amsgrad, copies, zero_grads and scaled types */
        } adam;
    } key;
    union {
        quern_cross_entropy_rows_kernel *cross_entropy_rows;
        quern_cross_entropy_part_kernel *cross_entropy_part;  /* stats, gradient */
        quern_adam_cpu_kernel *adam;
        quern_gradient_norm_cpu_kernel *gradient_norm;
        quern_gradient_accumulate_cpu_kernel *gradient_accumulate;
        quern_ragged_all_to_all_cpu_kernel *ragged_all_to_all;
        quern_any_cpu_kernel *any;
    } cpu;
    struct {
        const char *entry;            /* the function's name inside the image */
        const unsigned char *image;   /* a fatbin with code for just this target; empty when the library was built without nvcc */
        const unsigned char *image_end;
        uint32_t threads;             /* per block */
        uint32_t elements;            /* Adam, but for the combining task: elements of a tile, which is the work of one warp */
        uint32_t shared_per_column;   /* cross-entropy: dynamic shared memory is this times vocab, ... */
        uint32_t shared_per_part;     /* ... plus this times the parts that the block keeps, ... */
        uint32_t shared_fixed;        /* ... plus this */
        uint32_t cluster;             /* cross-entropy: up to so many blocks of a cluster share a row, each with whole parts of it
                                         in dynamic shared memory; 0: one block for each row */
    } cuda;
};

/*
 * The tables.  A program that calls one operation links only that operation's table, and through it only its kernels.
 */
#define QUERN_DECLARE_TABLE(bit, constant, name, prefix) extern const struct quern_kernel quern_##name##_kernels[];
QUERN_FOR_EACH_OPERATION(QUERN_DECLARE_TABLE)

#endif
