/*
 * What an operation hands to its kernels: the checked request, with defaults filled in.
 * Included by the host code, by the generated C kernels and by the generated CUDA kernels, so that all three agree on the
 * layout; a GPU kernel takes one of these structs by value.
 */
#ifndef QUERN_PROBLEM_H
#define QUERN_PROBLEM_H

#include <stdint.h>

/* ---- cross-entropy ---- */

struct quern_cross_entropy_report;
struct quern_row_stats;

struct quern_cross_entropy_problem {
    const void *logits;
    int64_t logits_stride;             /* elements */
    void *grad;                        /* NULL: no gradient; may equal logits */
    int64_t grad_stride;
    const void *labels;
    int64_t labels_are_int64;          /* else int32 */
    int64_t ignore_index;
    int64_t rows;
    int64_t vocab;
    int64_t padded_vocab;              /* >= vocab: what the gradient's rows are filled up to with zeros */
    int64_t first_column, global_vocab;  /* where the shard lies */
    const float *grad_loss;            /* NULL: 1 */
    int64_t grad_loss_stride;
    float grad_scale;
    int32_t reduction;                 /* quern_reduction */

    /* Options: 0 and NULL are none.  A kernel that is not a full one knows the first only. */
    float z_loss;
    float label_smoothing, softcap;
    const float *class_weights;        /* [vocab] */

    /*
     * Outputs of each row: [rows] or NULL.  The last two are asked of full kernels only; to the stats stage, which writes no outputs,
     * they say what the sums are wanted for.
     */
    float *row_loss;
    float *lse, *log_prob;
    float *entropy;
    int64_t *argmax;
    struct quern_row_stats *stats;     /* written by the rows and combine stages, read by the gradient stage */

    struct quern_row_stats *parts;     /* [part_count, rows]: written by the stats stage, read by the combine stage */
    int64_t part_count;                /* parts of this problem's columns; in the combine stage whatever is to be combined */
    int32_t is_final;                  /* combine: the parts are those of whole rows, whose losses and outputs are written */

    float *loss;                       /* [1], sum or mean; written by the reduce stage only */
    double *divisor;                   /* of the mean; written by the label stage.  NULL: not the mean */
    int32_t weights_in_stats;          /* the label stage finds a label's class weight there: its column may be elsewhere */
    struct quern_cross_entropy_report *report;  /* or NULL */
};

/*
 * A row is summed in parts of so many columns, each on its own and then all in their order: so the bits of a row's sums do not
 * depend on who sums them, one worker all parts or many workers one part each.
 */
enum { QUERN_CPU_PART_COLUMNS = 32768, QUERN_GPU_PART_BYTES = 32768 };

/*
 * Scratch of one CPU worker, for one row: the exponentials as fp32, beside them the slopes of the softcap if there is one, and the
 * origin of each piece's exponentials as a double.  A piece is what a block of columns holds, without the label's column: that one
 * splits its block into two pieces, each of which may waste up to half of a part's 64 further columns.
 */
enum { QUERN_CROSS_ENTROPY_BLOCK = 4096, QUERN_CPU_SCRATCH_PART = QUERN_CPU_PART_COLUMNS + 64 };

static inline int64_t quern_cross_entropy_scratch_parts(int64_t vocab) {
    return (vocab + QUERN_CPU_PART_COLUMNS - 1) / QUERN_CPU_PART_COLUMNS;
}

static inline int64_t quern_cross_entropy_scratch_columns(int64_t vocab) {
    return (vocab + 63) / 64 * 64 + 64 * quern_cross_entropy_scratch_parts(vocab);
}

/* What is kept of each column: its exponential, and with a softcap its slope there. */
static inline int64_t quern_cross_entropy_scratch_floats(float softcap) { return softcap != 0 ? 2 : 1; }

static inline int64_t quern_cross_entropy_scratch_bytes(int64_t vocab, float softcap) {
    int64_t pieces = vocab / QUERN_CROSS_ENTROPY_BLOCK + 1 + quern_cross_entropy_scratch_parts(vocab);
    int64_t floats = quern_cross_entropy_scratch_floats(softcap) * quern_cross_entropy_scratch_columns(vocab);
    int64_t bytes = 4 * floats + pieces * (int64_t)sizeof(double);
    return (bytes + 63) / 64 * 64;
}

/* ---- Adam ---- */

/* Philox4x32 is safe from 7 rounds on: the fewest that pass BigCrush (Salmon et al. 2011, table 2). */
enum { QUERN_RANDOM_ROUNDS = 7 };

/* The scalars of one step: computed in double on the host, each rounded to fp32 once. */
struct quern_adam_step {
    float one_minus_beta1;
    float one_minus_beta2;
    float step_size;                   /* lr / (1 - beta1^step) */
    float inverse_sqrt_bias2;          /* 1 / sqrt(1 - beta2^step) */
    float eps;
    float decoupled_decay;             /* lr * weight_decay in AdamW mode, else 0 */
    float l2_decay;                    /* weight_decay in L2 mode, else 0 */
    uint32_t step;                     /* low 32 bits: counter word 2 of the random numbers */
    uint32_t seed[2];                  /* key of the random numbers */
    int32_t stochastic_param;          /* 1: stochastic, 0: nearest; meaningless for fp32 */
    int32_t stochastic_m;
    int32_t stochastic_v;
};

/*
 * Eight elements share one block of random numbers, eight 16-bit values: element i of a tensor is rounded with value
 * (i + turn) % 8, where the turn depends on what is rounded.  So an element's own roundings are independent of each other and one
 * block serves all three.
 */
enum { QUERN_RANDOM_TURN_V = 0, QUERN_RANDOM_TURN_M = 2, QUERN_RANDOM_TURN_PARAM = 4 };

struct quern_adam_slice {
    void *param;
    const void *grad;
    void *m;
    void *v;
    float *master;
    int64_t count;
};

/* A GPU launch handles up to this many tensors; their table travels in the kernel's parameters, which hold 32,764 bytes. */
enum { QUERN_ADAM_BATCH = 512 };

struct quern_adam_batch {
    struct quern_adam_step step;
    uint32_t tensor_count;
    struct quern_adam_slice tensors[QUERN_ADAM_BATCH];  /* none empty; sorted as in the caller's list */
    uint32_t place[QUERN_ADAM_BATCH];             /* tensors[i]'s place in the caller's list: part of the random numbers' counter */
    uint32_t first_block[QUERN_ADAM_BATCH + 1];   /* first_block[i]: first thread block of tensors[i]; last: number of blocks */
};

#endif
