/*
 * The parameters of the kernels of cross-entropy and Adam: the checked request with defaults filled in.  Included by the host code,
 * by the generated C kernels and by the generated CUDA kernels, so that all three agree on the layout; a GPU kernel takes one of
 * these structs by value.
 */
#ifndef QUERN_PROBLEM_H
#define QUERN_PROBLEM_H

#include <stdint.h>

/* ---- cross-entropy ---- */

struct quern_cross_entropy_report;
struct quern_row_stats;

/* What strict labels protect: memory that a GPU does not write for a row whose label is bad. */
enum {
    QUERN_KEPT_LOSS = 1,     /* row_loss; not if the losses are summed, which needs a value of every row */
    QUERN_KEPT_OUTPUTS = 2,  /* lse, log_prob, entropy, argmax, stats */
    QUERN_KEPT_GRAD = 4      /* grad; not if it goes into a product of the library */
};

/* Rows by their labels.  Weights: those of the counted rows' labels. */
struct quern_label_counts {
    double weights;
    int64_t counted, ignored, bad;
    int64_t first_bad;                 /* INT64_MAX: none */
};

/* The most warps of a block that takes rows in turns. */
enum { QUERN_MOST_WARPS_OF_ROWS = 8 };

/*
 * What the blocks of a GPU grid of rows leave for each other to count the labels and sum the losses beside the rows.  In the
 * workspace; a word for each slice of labels is behind it (row_labels.cuh).  The host sets all but the sums to 0 before the launch.
 */
struct quern_rows_progress {
    double of_warp[QUERN_MOST_WARPS_OF_ROWS];  /* sums of losses, of the block that ends last */
    uint64_t infinite_rows;            /* for the report, which the last block writes */
    uint32_t finished;                 /* blocks that have ended their rows */
    uint32_t unused;
};

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
    int64_t padded_vocab;              /* >= vocab: the gradient's rows are padded with zeros up to it */
    int64_t first_column, global_vocab;  /* the position of the shard */
    const float *grad_loss;            /* NULL: 1 */
    int64_t grad_loss_stride;
    float grad_scale;
    int32_t reduction;                 /* quern_reduction */

    /* Options: 0 and NULL turn an option off.  A kernel that is not full supports the first one only. */
    float z_loss;
    float label_smoothing, softcap;
    const float *class_weights;        /* [vocab] */

    /*
     * Outputs of each row: [rows] or NULL.  Only full kernels write the last two.  The stats stage writes no outputs and takes
     * these pointers as flags for the sums that are needed.
     */
    float *row_loss;
    float *lse, *log_prob;
    float *entropy;
    int64_t *argmax;
    struct quern_row_stats *stats;     /* written by the rows and combine stages, read by the gradient stage */

    struct quern_row_stats *parts;     /* [part_count, rows]: written by the stats stage, read by the combine stage */
    int64_t part_count;                /* parts of this problem's columns; in the combine stage all that are combined */
    int32_t is_final;                  /* combine: the parts are those of whole rows; losses and outputs are written */
    int32_t portable_bits;             /* QUERN_PORTABLE_..., or 0 */

    float *loss;                       /* [1], sum or mean; written by the reduce stage, or the rows stage with progress */
    double *divisor;                   /* of the mean; written by the labels stage, or likewise.  NULL: not the mean */
    struct quern_rows_progress *progress;  /* rows: the stage counts the labels and sums the losses itself.  NULL: others do */
    int32_t weights_in_stats;          /* the labels stage reads class weights from stats: a label may be in another shard */
    int32_t kept_of_bad_rows;          /* QUERN_KEPT_...; 0: labels are not strict.  CPU kernels see no bad label then */
    struct quern_cross_entropy_report *report;  /* or NULL */

    /* Further options of full kernels. */
    float inverse_temperature;         /* 1: none */
    int32_t wants_moment;              /* the entropy or its gradient is wanted */
    const float *inverse_temperatures; /* [rows], further factors; NULL: 1 */
    const float *grad_log_prob;        /* NULL: 0, as the next one */
    int64_t grad_log_prob_stride;
    const float *grad_entropy;
    int64_t grad_entropy_stride;

    /* Portable bits of shards; NULL for whole vocabs. */
    struct quern_row_nodes *nodes;     /* [rows]: written by the stats stage of a GPU, or by the host after that of a CPU */
    struct quern_row_nodes *part_nodes;  /* [part_count, rows]: of the parts that are combined */
    int64_t logits_bytes;              /* of one of them */
};

/*
 * A row is summed in parts of this many columns, first within each part and then over the parts in order.  So the bits of a row's
 * sums are the same whether one worker sums all parts or many workers sum one part each.
 */
enum { QUERN_CPU_PART_COLUMNS = 32768, QUERN_GPU_PART_BYTES = 32768 };

/* With portable bits: the columns of a leaf of the tree in which a row is summed, and the levels of the nodes of a shard. */
enum { QUERN_UNIT_COLUMNS = 32, QUERN_NODE_LEVELS = 26 };

/*
 * The most blocks of a kernel that takes rows in turns that a multiprocessor holds: its registers are limited to that.  Full
 * kernels need more registers.
 */
enum { QUERN_MOST_BLOCKS_OF_ROWS = 5, QUERN_MOST_BLOCKS_OF_FULL_ROWS = 4, QUERN_MOST_BLOCKS_OF_SHORT_ROWS = 16 };

/* A kernel for short rows has blocks of one warp, each of which takes so many rows at once. */
enum { QUERN_SHORT_ROWS_THREADS = 32, QUERN_SHORT_ROWS = 4 };

/*
 * A warp of a GPU sums the losses, or the class weights of the labels, of a chunk of so many rows at a time, and then the chunks
 * are added in order: the sums depend on the number of rows only.  The last block of a grid of rows sums losses of at most two
 * chunks a warp, in some microseconds; for more rows a launch of its own is faster.
 */
enum { QUERN_ROWS_OF_CHUNK = 1024, QUERN_MOST_CHUNKS_OF_WARP = 2 };

/* A warp of a grid of rows counts the labels of so many rows at once: each lane loads 16 before it looks at the first. */
enum { QUERN_LABELS_AT_ONCE = 16, QUERN_ROWS_OF_SLICE = 32 * QUERN_LABELS_AT_ONCE };

/* ---- Adam ---- */

/* Philox4x32 passes BigCrush from 7 rounds on (Salmon et al. 2011, table 2). */
enum { QUERN_RANDOM_ROUNDS = 7 };

/* The inputs of the scalars of a step: see src/kernels/adam_scalars.h. */
struct quern_adam_rates {
    double lr, beta1, beta2;
    double decoupled_decay;            /* weight_decay in AdamW mode, else 0 */
    double grad_scale, clip;
    uint64_t step;
    int32_t maximize;
};

/* The scalars of one step, each computed in double and rounded to fp32 once. */
struct quern_adam_step {
    float one_minus_beta1;
    float one_minus_beta2;
    float step_size;                   /* lr / (1 - beta1^step) */
    float inverse_sqrt_bias2;          /* 1 / sqrt(1 - beta2^step) */
    float inverse_bias2;               /* 1 / (1 - beta2^step): used if eps is inside the root */
    float eps;
    float decoupled_decay;             /* lr * weight_decay in AdamW mode, else 0 */
    float l2_decay;                    /* weight_decay in L2 mode, else 0 */
    float grad_factor;                 /* clip / grad_scale, negated by maximize: multiplies every gradient */
    uint32_t step;                     /* low 32 bits: counter word 2 of the random numbers */
    uint32_t seed[2];                  /* key of the random numbers */
    int32_t stochastic_param;          /* 1: stochastic, 0: nearest; unused for fp32 */
    int32_t stochastic_m;
    int32_t stochastic_v;
    int32_t eps_inside;                /* 1: sqrt(v * inverse_bias2 + eps), 0: sqrt(v) * inverse_sqrt_bias2 + eps */

    /* Options of full kernels; 0 for the others. */
    int32_t amsgrad;
    int32_t zero_grads;
    int32_t copy_dtype;                /* quern_dtype */
};

/* The scalars that depend on a tensor's own step. */
struct quern_adam_tensor_step {
    float step_size, inverse_sqrt_bias2, inverse_bias2;
    uint32_t step;
};

/* Step control in device memory, as in quern.h.  A NULL member means that the value is in the rates. */
struct quern_adam_pointers {
    const float *lr;
    int64_t *step;                     /* the number of steps taken so far */
    const float *grad_scale, *clip;
    const float *found_inf;            /* if not 0, only the zeros of zero_grads are written, and *step stays */
};

/*
 * Eight elements share one block of random numbers, which has eight 16-bit values.  Element i of a tensor is rounded with value (i
 * + turn) % 8, where the turn depends on the array.  So the roundings of one element are independent of each other, and one block
 * serves all three arrays.
 */
enum { QUERN_RANDOM_TURN_V = 0, QUERN_RANDOM_TURN_M = 2, QUERN_RANDOM_TURN_PARAM = 4 };

/* A tensor's arrays for every kernel. */
struct quern_adam_slice {
    void *param;
    void *grad;
    void *m;
    void *v;
    void *master;                      /* fp32, or the remainder; NULL: no master copy */
    int64_t count;
    float lr_multiplier;               /* 1 and 1 if the call has no multipliers */
    float weight_decay_multiplier;
};

/* A tensor's arrays for full kernels only.  A pointer that the call does not use is NULL. */
struct quern_adam_extras {
    uint8_t *m_scale, *v_scale;        /* of scaled types: one E8M0 byte for each 32 elements */
    void *v_max;
    uint8_t *v_max_scale;
    void *copy;
    const float *copy_scale;           /* NULL: 1 */
    float *copy_max;                   /* NULL: not wanted */
};

/* The work item of a GPU warp: this many elements of a tensor of a list, of Adam, gradients, quantisation and chunks. */
enum { QUERN_LIST_TILE = 2048 };

/* Elements [number * QUERN_LIST_TILE, ...) of the tensor at index `tensor` of the plan's list. */
struct quern_adam_tile {
    uint32_t tensor;
    uint32_t number;
};

/*
 * A GPU launch takes its tensors from a plan's tables in device memory, or from the kernel's parameters, which hold up to 32,764
 * bytes.  Warp w of W takes the tiles w, w + W, ... and a part of those that do not suffice for another turn; it may have nothing.
 */
struct quern_adam_launch {
    struct quern_adam_step step;                /* complete, unless has_control */
    struct quern_adam_rates rates;              /* with has_control: each block computes the step from these and the control */
    struct quern_adam_pointers control;
    uint32_t has_control;

    /*
     * Set for the last launch of a call with control.step, otherwise NULL.  Each block increments it after reading the control.
     * The last block resets it to zero and, unless found_inf is set, stores the new step.
     */
    uint32_t *ticket;

    /* [list], by a launch before: they replace the scalars of the step.  NULL: all tensors take the same step. */
    const struct quern_adam_tensor_step *tensor_steps;

    /* A plan's tables; NULL: the batch that follows this struct. */
    const struct quern_adam_tile *tiles;
    const struct quern_adam_slice *slices;
    const struct quern_adam_extras *extras;     /* for full kernels */

    /* Without a plan: the tensors from first_place on in the caller's list, empty ones included. */
    uint32_t first_place;                       /* index of slices[0] in the list; the index enters the random numbers' counter */
    uint32_t tensor_count;
    int64_t tile_count;
};

enum { QUERN_ADAM_BATCH = 512, QUERN_ADAM_FULL_BATCH = 256 };

/* The parameter of a plain kernel, ... */
struct quern_adam_batch {
    struct quern_adam_launch launch;
    struct quern_adam_slice slices[QUERN_ADAM_BATCH];
    uint32_t first_tile[QUERN_ADAM_BATCH];      /* tiles before the tensor; an empty tensor has its successor's value */
};

/* ... and of a full one. */
struct quern_adam_full_batch {
    struct quern_adam_launch launch;
    struct quern_adam_slice slices[QUERN_ADAM_FULL_BATCH];
    struct quern_adam_extras extras[QUERN_ADAM_FULL_BATCH];
    uint32_t first_tile[QUERN_ADAM_FULL_BATCH];
};

/* The parameter of the kernel that counts the steps of all tensors of a list, before the step itself. */
struct quern_adam_steps_problem {
    struct quern_adam_rates rates;              /* their step is not used */
    struct quern_adam_pointers control;
    int64_t *steps;                             /* [tensor_count]: taken so far */
    struct quern_adam_tensor_step *tensor_steps;  /* [tensor_count]: output */
    int64_t tensor_count;
};

/* ---- gradients: norm and accumulation ---- */

/* A CPU sums the squares of this many elements of a tensor at a time, and then adds these sums in order. */
enum { QUERN_GRADIENT_CHUNK = 1 << 16 };

struct quern_gradient_slice {
    void *grad;
    void *main_grad;                   /* accumulation only, as the group */
    int64_t count;
    int64_t group;                     /* the index of its token count; negative: none */
};

enum { QUERN_GRADIENT_BATCH = 896 };

/* The parameter of the norm and accumulation kernels.  Tiles are those of Adam and have the same size. */
struct quern_gradient_batch {
    const struct quern_adam_tile *tiles;        /* of a plan, for its gradients; NULL: the tensors below */
    const struct quern_adam_slice *slices;      /* norm: of a plan of Adam */
    const struct quern_gradient_slice *sums;    /* accumulation: of its plan */
    double *squares;                            /* norm: output, each tile's sum of squares, by its number in the call */
    int64_t first_square;                       /* norm: the index for this launch's first tile */
    const int32_t *overwrite_flags;             /* accumulation, in device memory, as in quern.h; NULL: overwrite */
    const int64_t *token_counts;                /* accumulation, likewise; NULL: every gradient counts */
    float scale;                                /* accumulation */
    int32_t zero_grads, overwrite;
    uint32_t first_place;                       /* index of gradients[0] in the call's list: that of its flag */
    uint32_t tensor_count;
    int64_t tile_count;
    struct quern_gradient_slice gradients[QUERN_GRADIENT_BATCH];
    uint32_t first_tile[QUERN_GRADIENT_BATCH];  /* as in quern_adam_batch */
};

/* The parameter of the norm's last kernel, which computes the norm, the clip coefficient and found_inf from the sums of squares. */
struct quern_gradient_norm_problem {
    const double *squares;             /* summed in a fixed order */
    int64_t square_count;
    double max_norm;                   /* 0: no clipping */
    double grad_scale;
    const float *grad_scale_pointer;   /* NULL: grad_scale */
    float *norm, *clip, *found_inf;    /* NULL: not wanted */
};

#endif
