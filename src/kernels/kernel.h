/*
 * struct quern_kernel: one kernel is one table row.  The dispatcher, the tests, the benchmarks and the kernel packs all read these
 * rows, so every kernel is reachable, tested and measured.
 *
 * The tables are generated (generated/<operation>/table.c, src/kernels/table.h).  Each operation has one: the best row comes first,
 * and a row without a name closes it.
 */
#ifndef QUERN_KERNEL_H
#define QUERN_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "../generated/operations.h"
#include "kernels/problem.h"
#include "quern.h"

/* CPU features that a row may need; read from the processor when a device is opened. */
enum {
    QUERN_CPU_AVX2 = 1,    /* AVX2, FMA and F16C */
    QUERN_CPU_AVX512 = 2,  /* AVX-512 F, BW, DQ and VL, and all of the above */
    QUERN_CPU_NEON = 4     /* Advanced SIMD of aarch64 */
};

/* The devices that can run a row. */
/*
 * The CUDA versions behind a target's images, as cuDriverGetVersion gives them: 13000 for 13.0.  Both are 0 if there are no images.
 * The build writes them: gen/toolchain.py.
 */
struct quern_images {
    int driver;              /* the oldest driver that loads them */
    int toolkit;             /* of the toolkit that made them */
};

/* The machine code or PTX of one source of kernels for one target, a fatbin: packed with those of the operation's other sources. */
struct quern_image {
    const char *name;        /* of the source: adam_pf32_gf32 */
    const unsigned char *packed, *packed_end;  /* src/runtime/unpack.h; nothing when the library was built without nvcc */
};

struct quern_target {
    const char *name;        /* "avx512", "sm_90a", "compute_90" */
    quern_device_kind kind;
    uint32_t cpu_features;   /* CPU: all of these bits are required */
    int cc_min, cc_max;      /* CUDA: range of compute capabilities, inclusive; 90 for 9.0 */
    const struct quern_images *images;  /* CUDA */
};

/*
 * The tasks of cross-entropy kernels.  A call runs either the rows stage or, when one worker per row would be too few or the row is
 * sharded, the stats, combine and gradient stages.  CPU kernels exist for the first four and the soft stage; the host code does the
 * rest.
 */
enum quern_cross_entropy_stage {
    QUERN_STAGE_ROWS = 0,      /* loss, outputs and gradient of each row */
    QUERN_STAGE_STATS = 1,     /* the sums of each part of each row */
    QUERN_STAGE_GRADIENT = 2,  /* the gradient of each part of each row from the row's stats */
    QUERN_STAGE_UPSTREAM = 3,  /* multiplies a gradient by the upstream gradients, part by part */
    QUERN_STAGE_PORTABLE = 4,  /* GPU: what the rows, the stats or the gradient stage does, with portable bits */
    QUERN_STAGE_PORTABLE_COMBINE = 5,  /* GPU: joins the shards of each row with portable bits */
    QUERN_STAGE_COMBINE = 6,   /* merges the parts of each row */
    QUERN_STAGE_LABELS = 7,    /* counts the rows by their labels: the mean's divisor and the report */
    QUERN_STAGE_REDUCE = 8,    /* sums the rows' losses in a fixed order */
    QUERN_STAGE_COLUMNS = 9,   /* the largest columns of each row, and the logits of given ones, before the rows stage */
    QUERN_STAGE_LOG_PROBS = 10,  /* their log-probabilities, after it, and divergences */
    QUERN_STAGE_LISTED = 11,   /* the gradient of columns with soft targets, after that of all */
    QUERN_STAGE_SOFT = 12,     /* the divergence from soft targets of all columns, of each part of each row */
    QUERN_STAGE_WIDE = 13      /* GPU: what the gradient stage does, with soft targets of all columns or in fp32 */
};

/* Rows [first_row, end_row).  scratch is laid out as problem.h says, is 64-byte aligned and is used by this call alone. */
typedef void quern_cross_entropy_rows_kernel(const struct quern_cross_entropy_problem *problem, int64_t first_row,
                                             int64_t end_row, void *scratch);
/* One part of one row: columns [part, part + 1) * QUERN_CPU_PART_COLUMNS. */
typedef void quern_cross_entropy_part_kernel(const struct quern_cross_entropy_problem *problem, int64_t row, int64_t part,
                                             void *scratch);

/* The tasks of Adam's kernels. */
enum quern_adam_task {
    QUERN_ADAM_STEP = 0,
    QUERN_GRADIENT_NORM = 1,           /* sums of the squares of gradients */
    QUERN_GRADIENT_NORM_COMBINE = 2,   /* GPU: from these sums to the norm; a CPU does it in the host code */
    QUERN_GRADIENT_ACCUMULATE = 3,
    QUERN_ADAM_TENSOR_STEPS = 4        /* GPU: counts the steps of each tensor, and computes the scalars that depend on them */
};

/* The tasks of the kernels of a quantisation. */
enum quern_quantize_task {
    QUERN_QUANTIZE_CAST = 0,
    QUERN_QUANTIZE_AMAX = 1,           /* the largest magnitudes */
    QUERN_QUANTIZE_MATRIX = 2          /* the cast of matrices: transposed, in blocks or both */
};

/* The tasks of the kernels of the collectives. */
enum quern_collective_task {
    QUERN_COLLECTIVE_COMBINE = 0,      /* the sum or the maximum of the elements of all ranks */
    QUERN_COLLECTIVE_MOVE = 1,         /* moves bytes: it has no dtype */
    QUERN_COLLECTIVE_CHUNKS = 2,       /* the cast of quantised chunks: dtypes of the input and the output */
    QUERN_COLLECTIVE_CHUNK_MEETING = 3,  /* their entry and exit, and the wait for chunks: no dtype */
    QUERN_COLLECTIVE_BLOCK_CHUNKS = 4  /* the cast of quantised chunks in blocks with scales of their own */
};

/*
 * Elements [first, end) of the tensor at `place` in the caller's list; first is a multiple of 256.  The caller has already skipped
 * a step that found_inf cancels.  extras is NULL for a kernel that is not full.
 */
typedef void quern_adam_cpu_kernel(const struct quern_adam_step *step, const struct quern_adam_slice *tensor,
                                   const struct quern_adam_extras *extras, uint32_t place, int64_t first, int64_t end);
/* The sum of the squares of up to QUERN_GRADIENT_CHUNK gradients.  It is infinite or NaN if and only if one of them is. */
typedef double quern_gradient_norm_cpu_kernel(const void *grad, int64_t count);
/*
 * main_grad = main_grad + scale * grad, or scale * grad without reading main_grad if overwrite is set; then sets grad to zero if
 * zero_grads is set.
 */
typedef void quern_gradient_accumulate_cpu_kernel(void *main_grad, void *grad, int64_t count, float scale, int overwrite,
                                                  int zero_grads);

/*
 * Copies bytes that do not overlap.  streaming: with stores that bypass the caches, because the data is not read again soon.  Such
 * stores must be fenced (src/ranks/ragged/ragged_copies.c) before another rank is notified.
 */
typedef void quern_ragged_all_to_all_cpu_kernel(char *to, const char *from, int64_t bytes, int streaming);

/*
 * Items [first, end) of a problem.  The operation defines items and problem: for operations that need no function type of their
 * own.
 */
typedef void quern_any_cpu_kernel(const void *problem, int64_t first, int64_t end);

enum { QUERN_KEY_DTYPES = 5 };

struct quern_kernel {
    const char *name;
    unsigned operation;          /* one bit of quern_operations */
    struct quern_target target;
    /* The key that distinguishes the rows of one target.  Tables and packs write `any`; the other members are views of it. */
    union {
        struct {
            quern_dtype dtypes[QUERN_KEY_DTYPES];
            int32_t task;        /* what the kernel computes, a constant of its operation; 0 if the operation has one task */
            int32_t full;        /* 1: supports all options of the operation */
            int64_t vocab_max;   /* longest row the kernel can hold; INT64_MAX: any */
        } any;
        struct {
            quern_dtype logits, none[QUERN_KEY_DTYPES - 1];
            enum quern_cross_entropy_stage stage;
            int full;            /* 1: supports all options; 0: only those without a cost per column */
            int64_t vocab_max;
        } cross_entropy;
        struct {
            quern_dtype param, grad, m, v, master;  /* gradient tasks have only grad, the combine task none; param: main_grad */
            enum quern_adam_task task;
            int full;            /* 1: supports amsgrad, copies, zero_grads and scaled types */
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
        const struct quern_image *image;
        uint32_t threads;             /* per block */
        uint32_t elements;            /* Adam, except the combine task: elements of a tile, the work item of one warp.
                                         Cross-entropy: columns of a vector, in which blocks share a row that they take in
                                         turns; 0: they share it in parts, and each row has blocks of its own */
        uint32_t shared_per_column;   /* cross-entropy: dynamic shared memory is this times the columns that the block keeps, ... */
        uint32_t shared_per_part;     /* ... plus this times the parts that it keeps, ... */
        uint32_t shared_fixed;        /* ... plus this */
        uint32_t cluster;             /* cross-entropy: at most this many blocks of a cluster share a row; 0: one block per row */
        uint32_t waits;               /* 1: it waits for the launch before it, and so may start before that has ended
                                         (src/kernels/cuda/dependent_launch.cuh) */
    } cuda;
};

/* The tables.  A program that calls one operation links only that operation's table and the kernels in it. */
#define QUERN_DECLARE_TABLE(bit, constant, name, prefix) extern const struct quern_kernel quern_##name##_kernels[];
QUERN_FOR_EACH_OPERATION(QUERN_DECLARE_TABLE)

/* What the tables were built with: names, each after a space; and the text of quern_build_info (generated/build_info.c). */
extern const char quern_build_targets[], quern_build_operations[], quern_build_text[];

#endif
