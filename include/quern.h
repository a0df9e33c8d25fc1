/*
 * Quern: fused training kernels behind one C header.
 *
 * Operations, each for CPUs (portable C, AVX2, AVX-512) and NVIDIA GPUs (Turing to Blackwell):
 *
 *   quern_cross_entropy        softmax cross-entropy: loss and gradient of the logits in one call
 *   quern_adam                 Adam and AdamW over any list of tensors, with states of 8 to 32 bits
 *   quern_barrier              a barrier over the ranks of a group, or any of them, that cannot hang
 *   quern_ragged_all_to_all    slices of any length from every rank to every rank: expert-parallel dispatch and combine
 *
 * How a program uses it:
 *
 *   quern_device *device;
 *   quern_device_open(QUERN_CPU, 0, &device);              or QUERN_CUDA and an ordinal
 *   quern_prepare(device, QUERN_CROSS_ENTROPY | QUERN_ADAM);
 *   quern_cross_entropy(device, &arguments, workspace, workspace_bytes, stream);
 *   quern_device_close(device);
 *
 * Rules that hold everywhere:
 *
 *   - Every function that can fail returns a quern_status.  On failure nothing was written and
 *     quern_error_detail() says, for the calling thread, what was wrong and what was expected.
 *     Nothing in this library prints, exits or aborts.
 *   - Argument structs begin with their size, set by the initialiser macro of the same name.  A field
 *     that is zero has its default; new fields are only ever added at the end, so a program compiled
 *     against an older header keeps working.
 *   - Sizes, counts and strides are signed 64-bit and count elements unless they say bytes.
 *   - Tensors may start at any multiple of their element's size; 16-byte alignment (32 on Blackwell)
 *     is faster.
 *   - The caller owns every buffer.  An operation allocates nothing: it says how much workspace it
 *     needs and the caller brings it, 16-byte aligned; calls that may be under way at the same time
 *     need one each.
 *   - On a GPU an operation enqueues its work on the caller's stream (a CUstream, which is the same
 *     thing as a cudaStream_t; NULL is the default stream) and returns; buffers must stay alive until
 *     the stream has passed them.  It can be captured into a CUDA graph.  On a CPU the work is done
 *     on return and the stream must be NULL.
 *   - Results are deterministic: the same bits from run to run and for any number of threads, and a
 *     row or element has the same bits whatever else is in the call.
 *   - All functions may be called from several threads, also on one device, unless they say otherwise.
 */
#ifndef QUERN_H
#define QUERN_H

#include <stddef.h>
#include <stdint.h>

#define QUERN_VERSION_MAJOR 0
#define QUERN_VERSION_MINOR 1
#define QUERN_VERSION_PATCH 0
#define QUERN_VERSION (QUERN_VERSION_MAJOR * 10000 + QUERN_VERSION_MINOR * 100 + QUERN_VERSION_PATCH)

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------- */
/* Status                                                                                         */
/* ---------------------------------------------------------------------------------------------- */

/* What became of a call.  The thousands say whose matter it is (see quern_status_blame). */
typedef enum quern_status {
    QUERN_OK = 0,

    /* 1xxx: the caller's arguments.  Nothing was started. */
    QUERN_INVALID_ARGUMENT = 1000,   /* a value out of its range */
    QUERN_NULL_POINTER = 1001,       /* NULL where a pointer is needed */
    QUERN_INVALID_STRUCT_SIZE = 1002,/* size 0 (initialiser macro forgotten) or larger than this library knows */
    QUERN_INVALID_DTYPE = 1003,      /* not a value of quern_dtype, or not one that belongs there */
    QUERN_INVALID_SHAPE = 1004,      /* negative sizes, a stride shorter than the row */
    QUERN_WORKSPACE_TOO_SMALL = 1005,
    QUERN_NOT_PREPARED = 1006,       /* quern_prepare was not called for this operation on this device */
    QUERN_INVALID_PACK = 1007,       /* a kernel pack of another version, truncated or damaged */

    /* 2xxx: a sound request that this library or device cannot serve; the detail says why. */
    QUERN_NOT_SUPPORTED = 2000,
    QUERN_NO_KERNEL = 2001,          /* no table row serves the request on this device */
    QUERN_NO_DEVICE = 2002,          /* no such device in this machine */
    QUERN_NO_DRIVER = 2003,          /* the CUDA driver is absent or cannot be opened */
    QUERN_DRIVER_TOO_OLD = 2004,

    /* 3xxx: the system failed. */
    QUERN_OUT_OF_MEMORY = 3000,
    QUERN_CUDA_ERROR = 3001,
    QUERN_SYSTEM_ERROR = 3002,       /* a file or thread could not be had; the detail has errno's text */

    /* 4xxx: a peer rank.  But for a mismatch that a call says leaves the group usable, the group is poisoned: see Ranks. */
    QUERN_PEER_TIMEOUT = 4000,       /* a rank did not come within the limit */
    QUERN_PEER_LOST = 4001,          /* a rank's process has ended, or it has destroyed its handle */
    QUERN_PEER_MISMATCH = 4002,      /* the ranks made different calls, or their arguments contradict each other */
    QUERN_GROUP_ABORTED = 4003       /* quern_group_abort was called on some rank */
} quern_status;

/* The name of a status, "QUERN_OK" for instance; "unknown quern_status" for any other number. */
const char *quern_status_string(quern_status status);

/* Whose matter a status is: "nobody", "the caller's argument", "not supported here", "the system" or "a peer". */
const char *quern_status_blame(quern_status status);

/*
 * The detail of the calling thread's last failed call, as text: what was wrong, what was expected.
 * Copies at most bytes - 1 characters and a closing zero to buffer (which may be NULL when bytes is 0)
 * and returns the length of the whole text, as snprintf does.
 */
size_t quern_error_detail(char *buffer, size_t bytes);

/* The library's version as the QUERN_VERSION macro counts it; compare it with the macro to catch a header of another version. */
int quern_version(void);

/* ---------------------------------------------------------------------------------------------- */
/* Log                                                                                            */
/* ---------------------------------------------------------------------------------------------- */

typedef enum quern_log_level {
    QUERN_LOG_ERROR = 1,  /* the details of failed calls */
    QUERN_LOG_INFO = 2,   /* devices opened, packs loaded, the first use of each kernel */
    QUERN_LOG_DEBUG = 3   /* every choice of a kernel, with the reasons against the rows before it */
} quern_log_level;

/* Receives one line without a line end, prefixed with its device ("[cuda:0] ..."); called on the thread that logs. */
typedef void (*quern_log_callback)(void *user, quern_log_level level, const char *line);

/*
 * Sends log lines up to a level to a callback; NULL stops it (the state at start).
 * With no callback set, the environment variable QUERN_LOG sends the lines elsewhere: LEVEL (1, 2 or 3) to standard error, PATH or
 * LEVEL:PATH to the end of a file (level 2 where none is given).
 * The callback may be called from any thread that is inside the library, and must not call the library.
 */
void quern_set_log(quern_log_callback callback, void *user, quern_log_level level);

/* ---------------------------------------------------------------------------------------------- */
/* Data types                                                                                     */
/* ---------------------------------------------------------------------------------------------- */

typedef enum quern_dtype {
    QUERN_NO_DTYPE = 0,
    QUERN_F32 = 1,
    QUERN_F16 = 2,   /* IEEE binary16 */
    QUERN_BF16 = 3,  /* the upper half of a binary32 */
    QUERN_E4M3 = 4,  /* OCP 8-bit floating point: 4 bits of exponent, no infinity, largest 448 */
    QUERN_E5M2 = 5,  /* OCP 8-bit floating point: 5 bits of exponent, largest 57,344 */
    QUERN_REMAINDER = 6,  /* the low 16 bits of a binary32 whose upper half, rounded, is a bf16 beside it: see quern_adam */
    QUERN_INT32 = 16,
    QUERN_INT64 = 17
} quern_dtype;

/* "f32", "f16", "bf16", "e4m3", "e5m2", "remainder", "int32", "int64"; "unknown dtype" for anything else. */
const char *quern_dtype_name(quern_dtype dtype);

/* The bytes of one element; 0 for anything that is no dtype. */
size_t quern_dtype_bytes(quern_dtype dtype);

/* ---------------------------------------------------------------------------------------------- */
/* Devices                                                                                        */
/* ---------------------------------------------------------------------------------------------- */

typedef enum quern_device_kind { QUERN_CPU = 1, QUERN_CUDA = 2 } quern_device_kind;

typedef struct quern_device quern_device;

/*
 * How many devices of a kind this machine has.
 * For QUERN_CUDA without a usable driver the count is 0 and the status is QUERN_OK; quern_error_detail then says why.
 */
quern_status quern_device_count(quern_device_kind kind, int *count);

/*
 * Opens a device; ordinal counts from 0 (a CPU has only 0).  A CUDA device uses the primary context of that ordinal,
 * which the CUDA runtime and the frameworks use too.
 * Errors: QUERN_NO_DRIVER, QUERN_DRIVER_TOO_OLD, QUERN_NO_DEVICE, QUERN_CUDA_ERROR, each with its reason.
 */
quern_status quern_device_open(quern_device_kind kind, int ordinal, quern_device **device);

/* Closes a device; all its work must have completed.  NULL is fine. */
void quern_device_close(quern_device *device);

typedef struct quern_device_info {
    uint32_t size;
    quern_device_kind kind;
    int ordinal;
    int compute_capability;     /* 90 for 9.0; 0 for a CPU */
    int multiprocessors;        /* streaming multiprocessors of a GPU; worker threads of a CPU */
    int64_t shared_bytes;       /* shared memory that one block may use; 0 for a CPU */
    char name[96];              /* as the device calls itself */
    char target[32];            /* the best target that serves it: "avx512", "sm_90a", "portable" */
} quern_device_info;

#define QUERN_DEVICE_INFO_INIT { .size = sizeof(quern_device_info) }

/* Fills *info, whose size must be set. */
quern_status quern_device_get_info(const quern_device *device, quern_device_info *info);

/*
 * What the device can run and why not more: one line per target of the library, "avx512: usable", "sm_100f: needs compute
 * capability 10.x, this device has 9.0".  Same buffer convention as quern_error_detail.
 */
size_t quern_device_report(const quern_device *device, char *buffer, size_t bytes);

/* The operations, to be or-ed together. */
typedef enum quern_operations {
    QUERN_CROSS_ENTROPY = 1,
    QUERN_ADAM = 2,
    QUERN_BARRIER = 4,             /* on a CPU there is nothing to load */
    QUERN_RAGGED_ALL_TO_ALL = 8
} quern_operations;

/*
 * Loads every kernel of the chosen operations that can run on the device, so that nothing is loaded while the device works
 * (a kernel loaded lazily while another one waits for a peer would deadlock).  Each operation must be prepared on a device
 * before its first use there, and again after quern_load_pack.  Must not be called while a stream is being captured.
 * Errors: QUERN_NO_KERNEL when an operation has no kernel at all for the device; QUERN_CUDA_ERROR.
 */
quern_status quern_prepare(quern_device *device, unsigned operations);

/*
 * Loads a kernel pack (.qpack, written by `python -m gen pack TARGET`) and puts its rows before those of the library, for all
 * devices of the process; call quern_prepare again to use them.  Loading the same pack twice does nothing.
 * Errors: QUERN_SYSTEM_ERROR (cannot be read), QUERN_INVALID_PACK (another version, truncated, wrong checksum, unknown
 * operation); then nothing has changed.
 */
quern_status quern_load_pack(const char *path);

/*
 * Runs the CPU's share of an operation on the engine's own threads.  The hook must call task(context, i) once for every i in
 * [0, tasks), on any threads, and return when all calls have returned.
 */
typedef void (*quern_parallel_for)(void *user, int64_t tasks, void (*task)(void *context, int64_t index), void *context);

/*
 * Sets the threads of a CPU device: `threads` workers (0: one per core that the process may use, or QUERN_THREADS), run by
 * `hook` or, when that is NULL, by the library's own pool.  Results do not depend on it.  Not to be called while an operation
 * runs on the device; the workspace of an operation may change with it.
 */
quern_status quern_set_threads(quern_device *device, int threads, quern_parallel_for hook, void *user);

/* ---------------------------------------------------------------------------------------------- */
/* Choosing a kernel                                                                              */
/* ---------------------------------------------------------------------------------------------- */

/*
 * Each operation has a table of kernels, best first; a request is served by the first row whose target, data types and limits
 * fit.  The environment variable QUERN_KERNEL=GLOB, read when a device is opened, leaves only the rows whose name matches
 * ("*__avx2", "cross_entropy_bf16_streamed__*").  The …_explain functions write the walk as text: the chosen row, and for
 * every row before it the reason why not.
 */

/* ---------------------------------------------------------------------------------------------- */
/* Cross-entropy                                                                                  */
/* ---------------------------------------------------------------------------------------------- */

typedef enum quern_reduction {
    QUERN_REDUCTION_NONE = 0,  /* loss has one value per row */
    QUERN_REDUCTION_SUM = 1,   /* loss is one value */
    QUERN_REDUCTION_MEAN = 2   /* loss is one value: the sum over the counted rows divided by their number or weights */
} quern_reduction;

/* What the rows of one call had to report; in the device's memory, overwritten by each call that names it. */
typedef struct quern_cross_entropy_report {
    int64_t counted_rows;    /* rows whose label was valid and not ignore_index */
    int64_t ignored_rows;    /* rows whose label was ignore_index */
    int64_t bad_labels;      /* rows whose label was outside [0, global_vocab) and not ignore_index */
    int64_t first_bad_row;   /* the first of them; -1 when there is none */
    int64_t infinite_rows;   /* counted rows in which every y was -infinity */
} quern_cross_entropy_report;

/*
 * What is known of one row, or of a shard's part of it, after its logits have been read once: 64 bytes that an engine may move
 * between ranks as they are.  y is the logit after the softcap; the sums over columns of a shard add up to those of the row when
 * their exponentials are brought to one origin (quern_cross_entropy_combine).  A skipped row has no columns.
 */
typedef struct quern_row_stats {
    double origin;           /* what the exponentials are relative to: near the largest y; -infinity: every y is, or no columns */
    double others;           /* sum of exp(y - origin) over all columns but the label's */
    double weighted;         /* sum of class_weight * (y - origin); only filled for label smoothing */
    double moment;           /* sum of (y - origin) * exp(y - origin), the label's column left out; only for the entropy */
    double weights;          /* sum of the class weights; the number of columns when there are none; only for label smoothing */
    int64_t argmax;          /* the first column with the largest y, counted over all shards; -1: none; only for argmax */
    float maximum;           /* the largest logit, before the softcap; only for argmax */
    float label_value;       /* the label's y; -infinity when its column is in another shard */
    float label_weight;      /* the label's class weight (1 when there are none); 0 when its column is in another shard */
    uint32_t has_label;      /* 1: the label's column is here */
} quern_row_stats;

/*
 * Softmax cross-entropy of logits [rows, vocab] against labels [rows].  With y = x, or with a softcap y = cap * tanh(x / cap), and
 * p = softmax(y), lse = log(sum_j exp(y[j])), w the class weights (1 without) and e the label smoothing, the loss of a row is
 *
 *   (1 - e) * w[label] * (lse - y[label])  +  e / vocab * sum_j w[j] * (lse - y[j])  +  z_loss * lse^2
 *
 * The reduced loss is the sum over the rows, for the mean divided by the sum of w[label] over the counted rows (their number
 * without weights).  The gradient of a row is that of its loss with respect to its x, times grad_loss[row] * grad_scale and, for
 * the mean, divided by the same.  Weights and smoothing are those of PyTorch's cross_entropy; z-loss: PaLM (Chowdhery et al. 2022);
 * softcap: Gemma 2 (2024).
 *
 * The loss and all arithmetic are fp32 or better whatever the logits' type; each gradient element is rounded once.  The gradient
 * and the loss of the label's column are computed from the sum over the other columns, so that they keep their relative precision
 * when the model is confident.  The same inputs give the same bits: run to run, whatever the other rows of the call, and on a CPU
 * whatever the number of threads.
 *
 * Rows that are skipped: label == ignore_index, or a label outside [0, global_vocab) (counted in the report; no logit is read
 * through it).  Their loss, lse, log_prob and entropy are 0, their argmax is -1, their gradient is 0 in every column, and the mean
 * does not count them.  All rows skipped: mean loss 0.
 * Infinities are those of y: a softcap makes them finite.  What has the factor 0 has no part in the loss, whatever it is: a class
 * of weight 0 in the smoothing, the label with a smoothing of 1.  A mean whose weights sum to 0 has loss 0 and gradient 0.
 * A row in which every y is -infinity has loss +infinity, lse and log_prob -infinity, entropy 0, argmax -1 and gradient 0, and is
 * counted in the report.  NaN or +infinity in a row makes that row's loss, outputs and gradient NaN (its argmax -1) and touches no
 * other row.
 *
 * The gradient may overwrite the logits: grad == logits with the same dtype and stride.  Otherwise the two must not overlap.
 */
typedef struct quern_cross_entropy_args {
    uint32_t size;
    quern_dtype logits_dtype;       /* F32, F16 or BF16 */
    quern_dtype labels_dtype;       /* INT32 or INT64 */
    quern_reduction reduction;
    int64_t rows;                   /* 0 is fine: nothing is read, a sum or mean is 0 */
    int64_t vocab;                  /* columns of the logits, at least 1 */
    const void *logits;             /* [rows, vocab] */
    int64_t logits_stride;          /* elements from one row to the next, >= vocab; 0 means vocab */
    const void *labels;             /* [rows], counted over all shards */
    int64_t ignore_index;           /* the initialiser sets -100 */
    float *loss;                    /* [rows], or [1] for sum and mean; NULL: not wanted */
    void *grad;                     /* [rows, padded_vocab] or NULL: no gradient */
    quern_dtype grad_dtype;         /* 0 means logits_dtype, the only one supported so far */
    int64_t grad_stride;            /* >= padded_vocab; 0 means logits_stride when in place, else padded_vocab */
    const float *grad_loss;         /* upstream gradient per row, or NULL: 1 */
    int64_t grad_loss_stride;       /* elements from one row's value to the next, any sign; 0: one value for all rows */
    float grad_scale;               /* one more factor of the gradient (a loss scale); the initialiser sets 1 */
    quern_cross_entropy_report *report;  /* in the device's memory, or NULL */

    /* Options; 0 and NULL leave each out, at no cost. */
    float label_smoothing;          /* e, in [0, 1] */
    float z_loss;                   /* >= 0 */
    float softcap;                  /* the cap, >= 0 */
    const float *class_weights;     /* [vocab], or NULL */
    int64_t padded_vocab;           /* >= vocab: columns [vocab, padded_vocab) are not read and get gradient 0; 0 means vocab */

    /* Further outputs of the same pass, [rows] each, or NULL. */
    float *lse;
    float *log_prob;                /* y[label] - lse, weighted by nothing */
    float *entropy;                 /* -sum_j p[j] * log(p[j]), in nats */
    int64_t *argmax;                /* the first column with the largest y */
    quern_row_stats *stats;         /* [rows]: for quern_cross_entropy_gradient later; what the shard functions read or write */

    /* A shard of a vocab that is spread over ranks. */
    int64_t first_column;           /* which column of the whole vocab the shard's first one is */
    int64_t global_vocab;           /* columns of all shards; 0 means vocab */
} quern_cross_entropy_args;

#define QUERN_CROSS_ENTROPY_ARGS_INIT \
    { .size = sizeof(quern_cross_entropy_args), .ignore_index = -100, .grad_loss_stride = 1, .grad_scale = 1.0f }

/* The bytes of workspace that each of the functions below needs for these arguments on this device (pointers may still be NULL). */
quern_status quern_cross_entropy_workspace(const quern_device *device, const quern_cross_entropy_args *args, size_t *bytes);

/*
 * Computes the loss, the gradient and the other outputs described above; those that are NULL are not computed, so without grad it
 * is the forward pass.  workspace is in the device's memory (NULL if 0 bytes are needed).  For a whole vocab only: first_column 0,
 * global_vocab == vocab.
 * Bytes moved per logit, forward and gradient: one read and one write (bf16: 4) where a row fits the chip or the cache; forward:
 * one read.
 * Errors: all 1xxx about the arguments, QUERN_NOT_PREPARED, QUERN_NO_KERNEL, QUERN_CUDA_ERROR.
 * Online normaliser: Milakov and Gimelshein 2018, "Online normalizer calculation for softmax".
 */
quern_status quern_cross_entropy(quern_device *device, const quern_cross_entropy_args *args,
                                 void *workspace, size_t workspace_bytes, void *stream);

/*
 * The same in three steps, for a vocab that is spread over ranks (Megatron-LM, Shoeybi et al. 2019) or a gradient that is computed
 * later.  Shards may differ in size, and one without a row's label is as good as any.
 *
 *   stats      reads the shard's logits and writes args->stats [rows], of the shard
 *   combine    from all shards' stats [shard_count, rows], in the order of the shards: args->stats [rows] of the whole rows (or
 *              NULL), loss, lse, log_prob, entropy, argmax and report.  Reads no logits; every rank may do it and gets the same
 *              bits
 *   gradient   from args->stats of the whole rows: args->grad [rows, padded_vocab] of the shard
 *
 * Each ignores the arguments it has no use for; all must be given the same options, labels and global_vocab.  Between stats and
 * combine the engine gathers the stats (64 bytes a row and shard) by a collective of its own, or Quern's.  The outputs of one shard
 * are the bits of quern_cross_entropy; of several they are within one unit in the last place.  shards may be args->stats.
 */
quern_status quern_cross_entropy_stats(quern_device *device, const quern_cross_entropy_args *args,
                                       void *workspace, size_t workspace_bytes, void *stream);
quern_status quern_cross_entropy_combine(quern_device *device, const quern_cross_entropy_args *args,
                                         const quern_row_stats *shards, int64_t shard_count,
                                         void *workspace, size_t workspace_bytes, void *stream);
quern_status quern_cross_entropy_gradient(quern_device *device, const quern_cross_entropy_args *args,
                                          void *workspace, size_t workspace_bytes, void *stream);

/* Writes which kernel would serve these arguments and why not the rows before it; same buffer convention as quern_error_detail. */
size_t quern_cross_entropy_explain(const quern_device *device, const quern_cross_entropy_args *args, char *buffer, size_t bytes);

/* ---------------------------------------------------------------------------------------------- */
/* Linear layer and cross-entropy                                                                 */
/* ---------------------------------------------------------------------------------------------- */

/*
 * One product of matrices: C = A * B, or C += A * B.  All lie row by row, with a stride in elements from one row to the next; a
 * transposed operand is stored the other way round.  Sums are fp32 or better and are rounded to C's dtype once.
 */
typedef struct quern_gemm_args {
    uint32_t size;
    int accumulate;                 /* 1: C += A * B; then c_dtype is F32 */
    int64_t m, n, k;                /* A is [m, k], B [k, n], C [m, n] */
    const void *a;
    const void *b;
    void *c;
    quern_dtype a_dtype, b_dtype, c_dtype;  /* F32, F16 or BF16 */
    int a_transposed, b_transposed; /* 1: stored as [k, m], [n, k] */
    int64_t a_stride, b_stride, c_stride;
} quern_gemm_args;

/*
 * Computes such a product on the device, in the order of the stream.  What it returns other than QUERN_OK ends the call that asked.
 */
typedef quern_status (*quern_gemm)(void *user, const quern_gemm_args *args, void *stream);

/* A BLAS that was found at run time. */
typedef struct quern_blas quern_blas;

/*
 * Opens a BLAS for a device: on a CPU a library with cblas_sgemm, which 16-bit matrices reach tile by tile in fp32 (some 12 MB of
 * memory); on a GPU cuBLAS.  library: its file name, or NULL to look for the usual ones (libopenblas.so.0, libblis.so.4,
 * libmkl_rt.so.2, libcblas.so.3; libcublas.so.13, libcublas.so.12).  It runs on threads of its own.
 * Errors: QUERN_NOT_SUPPORTED with what was tried; QUERN_OUT_OF_MEMORY.
 */
quern_status quern_blas_open(quern_device *device, const char *library, quern_blas **blas);
void quern_blas_close(quern_blas *blas);  /* NULL is fine */

/* A quern_gemm whose user is an open quern_blas; for one thread at a time. */
quern_status quern_blas_gemm(void *blas, const quern_gemm_args *args, void *stream);

/*
 * The last layer of a language model and its loss, without ever holding the logits of all rows: logits = hidden * weight^T are
 * computed, turned into the loss and their own gradient in place, and multiplied into d_hidden and d_weight, some rows at a time.
 * In memory there are the logits of chunk_rows rows.  Results are those of the same products and quern_cross_entropy on all rows
 * at once, but for the order in which d_weight is summed over the chunks, in fp32.
 * The idea: Liger Kernel's fused linear cross-entropy (Hsu et al. 2024).
 */
typedef struct quern_linear_cross_entropy_args {
    uint32_t size;
    quern_dtype hidden_dtype;       /* F32, F16 or BF16: of hidden and d_hidden */
    quern_dtype weight_dtype;       /* likewise */
    int accumulate_weight;          /* 1: d_weight is added to; 0: it is overwritten */

    /*
     * The loss: logits_dtype says what the logits of a chunk are rounded to, rows, vocab, labels and all options and outputs mean
     * what they mean there.  logits, grad, stats and their strides are not used: NULL and 0; no shards, no padding.
     */
    quern_cross_entropy_args loss;

    int64_t width;                  /* columns of hidden and weight */
    const void *hidden;             /* [rows, width] */
    int64_t hidden_stride;          /* elements; 0 means width */
    const void *weight;             /* [vocab, width] */
    int64_t weight_stride;
    void *d_hidden;                 /* [rows, width], or NULL: not wanted; may be hidden */
    int64_t d_hidden_stride;
    float *d_weight;                /* [vocab, width], or NULL: not wanted */
    int64_t d_weight_stride;
    int64_t chunk_rows;             /* 0: as many as make the logits of a chunk about as large as hidden */
    quern_gemm gemm;
    void *gemm_user;
} quern_linear_cross_entropy_args;

#define QUERN_LINEAR_CROSS_ENTROPY_ARGS_INIT \
    { .size = sizeof(quern_linear_cross_entropy_args), .loss = QUERN_CROSS_ENTROPY_ARGS_INIT }

/* The bytes of workspace that quern_linear_cross_entropy needs: the logits of a chunk, and what quern_cross_entropy needs. */
quern_status quern_linear_cross_entropy_workspace(const quern_device *device, const quern_linear_cross_entropy_args *args,
                                                  size_t *bytes);

/*
 * Computes the loss, d_hidden and d_weight as described above.  QUERN_CROSS_ENTROPY must be prepared.
 * Errors: those of quern_cross_entropy; what the gemm returns, after which the outputs are incomplete.
 */
quern_status quern_linear_cross_entropy(quern_device *device, const quern_linear_cross_entropy_args *args,
                                        void *workspace, size_t workspace_bytes, void *stream);

/* ---------------------------------------------------------------------------------------------- */
/* Adam                                                                                           */
/* ---------------------------------------------------------------------------------------------- */

typedef enum quern_adam_mode {
    QUERN_ADAMW = 0,    /* decoupled weight decay (Loshchilov and Hutter 2019) */
    QUERN_ADAM_L2 = 1   /* weight decay added to the gradient (Kingma and Ba 2015 with an L2 term) */
} quern_adam_mode;

/* Where eps stands: beside the root of the second moment, as in the paper, or below it, as in some early implementations. */
typedef enum quern_adam_eps_mode {
    QUERN_EPS_OUTSIDE = 0,  /* sqrt(v / bias2) + eps */
    QUERN_EPS_INSIDE = 1    /* sqrt(v / bias2 + eps) */
} quern_adam_eps_mode;

/* How a value is rounded when it is stored in fewer bits than it was computed in. */
typedef enum quern_rounding {
    QUERN_ROUND_DEFAULT = 0,     /* m: nearest, but stochastic in 8 bits; v: stochastic; parameters: stochastic without a master,
                                    else nearest */
    QUERN_ROUND_NEAREST = 1,     /* to nearest, ties to even */
    QUERN_ROUND_STOCHASTIC = 2   /* up with the probability of the fraction cut off */
} quern_rounding;

/*
 * Moments in F16, E4M3 and E5M2 are scaled: every QUERN_SCALE_BLOCK elements share a power of two, kept in one byte beside them
 * (the E8M0 scale of the OCP Microscaling formats, 2023).  The value of element i is code[i] * 2^(scale[i / 32] - 127).  Quern
 * chooses the scale anew in each step, by the largest finite magnitude of the block, so that nothing overflows and a tiny v, of
 * gradients of 1e-4 for instance, is not lost; in a scaled type a v above zero is never stored as zero, which would make the next
 * update huge.  All bytes zero is a valid state of zeros.  NaN and infinity stay with their element (E4M3 has no infinity: NaN).
 * A scale of 255 is never stored; it is read as infinity.
 */
enum { QUERN_SCALE_BLOCK = 32 };

/*
 * One tensor and its optimizer state, each with `count` elements without gaps, none overlapping another, all in the memory of the
 * device; a scale has (count + 31) / 32 bytes.  What the arguments do not ask for is ignored, and of an empty tensor everything.
 * Arrays of one tensor that overlap are refused; whether those of two tensors do is not looked at.
 */
typedef struct quern_adam_tensor {
    void *param;         /* args.param_dtype; with an F32 master it is only written */
    void *grad;          /* args.grad_dtype; only read unless args.zero_grads */
    void *m;             /* args.m_dtype: first moment (exp_avg) */
    void *v;             /* args.v_dtype: second moment (exp_avg_sq) */
    void *master;        /* args.master_dtype: F32: fp32 master copy of param; REMAINDER: its low 16 bits */
    int64_t count;       /* 0 is fine */
    uint8_t *m_scale;    /* when m is F16, E4M3 or E5M2 */
    uint8_t *v_scale;    /* when v is F16, E4M3 or E5M2 */
    void *v_max;         /* args.v_dtype, when args.amsgrad: the largest v so far (max_exp_avg_sq) */
    uint8_t *v_max_scale;/* when v_max is F16, E4M3 or E5M2 */
    void *copy;          /* args.copy_dtype: receives the new parameters once more */
    const float *copy_scale;  /* one number: what the copy is multiplied with before it is rounded; NULL: 1.  8-bit copies only */
    float *copy_max;     /* one number, 0 or more: raised to the largest finite magnitude of the new parameters, before the scale;
                            tensors may share it.  NULL: not wanted */
    float lr_multiplier;            /* with args.use_multipliers: args.lr is multiplied with it for this tensor; 0 freezes it */
    float weight_decay_multiplier;  /* with args.use_multipliers: the same for args.weight_decay */
} quern_adam_tensor;

/*
 * Step control in the memory of the device, so that a captured graph can be replayed while its numbers change.  A pointer that is
 * NULL leaves the matter to the field of the arguments.  The numbers are not checked: lr and *step must be 0 or more and grad_scale
 * above 0, or parameters become NaN or move the wrong way.
 */
typedef struct quern_adam_control {
    const float *lr;           /* instead of args.lr */
    int64_t *step;             /* the steps taken so far: the call takes step *step + 1 and stores that, once however many tensors
                                  there are, none included; args.step is then ignored.  Lists that are stepped by calls of their
                                  own need a counter each */
    const float *grad_scale;   /* instead of args.grad_scale */
    const float *clip;         /* gradients are multiplied with it as well: the coefficient of quern_gradient_norm */
    const float *found_inf;    /* not 0, or NaN: the step is skipped; param, states, master, copy and step stay as they are */
} quern_adam_control;

/* A list of tensors made ready once: see quern_adam_plan_create. */
typedef struct quern_adam_plan quern_adam_plan;

/*
 * One step of Adam over a list of tensors, in fp32 with the bias correction in double:
 *
 *   g = grad * clip / grad_scale, negated by maximize
 *   L2 mode:  g = g + weight_decay * p
 *   m = m + (1 - beta1) * (g - m)
 *   v = v + (1 - beta2) * (g * g - v)
 *   amsgrad:  v_max = max(v_max, v), which stands for v below (Reddi et al. 2018)
 *   p = p - (lr * m / (1 - beta1^step)) / (sqrt(v / (1 - beta2^step)) + eps) [- lr * weight_decay * p, AdamW mode]
 *
 * p is the master where there is one, and the parameter is rounded from it.  The update uses m and v before they are rounded
 * for storage; v_max is always rounded to nearest, since it only moves when v exceeds it.  Where m is 0 the quotient is 0, also
 * with eps 0.  NaN and infinity in a gradient stay with their element.
 *
 * Random bits for stochastic rounding come from Philox4x32 (Salmon et al. 2011), keyed by (seed, low 32 bits of step, tensor's
 * place in the list, element's place in the tensor): CPU and GPU, any thread count, any split of the work and any rounding mode of
 * the calling thread give the same bits.  Eight elements share a block of eight 16-bit values; m, v and the parameter of an element
 * take different ones.  bf16 v needs it: with beta2 = 0.999 a change of v in one step is less than half a bf16 step, so nearest
 * rounding would freeze v.
 *
 * All tensors of a call have the same types.  Tensors of other types are another list and another call; give it another seed, since
 * the first tensors of two lists would otherwise share their random bits.
 *
 * master_dtype REMAINDER: a bf16 parameter and its remainder are together an fp32 master, in 4 bytes instead of 6.  The parameter
 * is the master rounded to nearest, ties toward zero (with ties to even a parameter would stand for 65,537 masters, one more than
 * 16 bits can tell apart); the remainder is the master's low 16 bits.  A remainder of zeros means that the parameter is exact.
 *
 * The copy is rounded to nearest even from the master or, without one, from the parameter as it was stored; in an 8-bit type what
 * is too large becomes the largest finite value.
 */
typedef struct quern_adam_args {
    uint32_t size;
    uint32_t tensor_size;        /* sizeof(quern_adam_tensor), set by the initialiser: lets the tensor struct grow too */
    quern_dtype param_dtype;     /* F32, F16 or BF16 */
    quern_dtype grad_dtype;      /* F32, F16 or BF16 */
    quern_dtype m_dtype;         /* F32, BF16, F16, E4M3 or E5M2 */
    quern_dtype v_dtype;         /* F32, BF16, F16, E4M3 or E5M2 */
    quern_dtype master_dtype;    /* NO_DTYPE, F32 (only for 16-bit parameters) or REMAINDER (only for BF16) */
    quern_adam_mode mode;
    const quern_adam_tensor *tensors;  /* [tensor_count], in host memory, read before the call returns; NULL with a plan */
    int64_t tensor_count;        /* below 2^32 */
    double lr;                   /* 0 or more; like eps, weight_decay and grad_scale not more than the largest fp32 */
    double beta1;                /* in [0, 1); the initialiser sets 0.9 */
    double beta2;                /* in [0, 1); the initialiser sets 0.999 */
    double eps;                  /* 0 or more; the initialiser sets 1e-8 */
    double weight_decay;         /* 0 or more */
    int64_t step;                /* counts from 1 */
    uint64_t seed;               /* of stochastic rounding */
    quern_rounding param_rounding;
    quern_rounding m_rounding;
    quern_rounding v_rounding;
    quern_adam_eps_mode eps_mode;
    int32_t amsgrad;             /* 1: AMSGrad; the tensors have v_max */
    int32_t maximize;            /* 1: gradients point uphill */
    int32_t zero_grads;          /* 1: gradients are set to zero after use, also when found_inf skips the step */
    int32_t use_multipliers;     /* 1: each tensor has its own lr_multiplier and weight_decay_multiplier */
    quern_dtype copy_dtype;      /* NO_DTYPE, F16, BF16, E4M3 or E5M2 */
    double grad_scale;           /* above 0: what gradients were multiplied with and are divided by; 0 means 1 */
    quern_adam_control control;
    quern_adam_plan *plan;       /* instead of tensors, which are NULL then, and tensor_count; made with the same dtypes, amsgrad,
                                    zero_grads, use_multipliers and copy_dtype */
} quern_adam_args;

#define QUERN_ADAM_ARGS_INIT \
    { .size = sizeof(quern_adam_args), .tensor_size = sizeof(quern_adam_tensor), \
      .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8 }

/* The bytes of workspace that quern_adam needs: 0 on a CPU, with a plan, and without control.step. */
quern_status quern_adam_workspace(const quern_device *device, const quern_adam_args *args, size_t *bytes);

/*
 * Takes the step described above.  Bytes moved per element: all-bf16 14, bf16 with fp32 master 20, all-fp32 28.
 * Without a plan each call checks every tensor of the list on the host, and on a GPU a list of up to 512 tensors is one launch, a
 * longer one a launch for each 512 (256 with amsgrad, zero_grads, a copy or scaled moments); with a plan it is always one.  A GPU
 * takes up to 2^41 elements in a tensor.
 * Errors: all 1xxx about the arguments (step 0, beta outside [0, 1), NULL in a tensor that is not empty, ...),
 * QUERN_NOT_PREPARED, QUERN_NO_KERNEL (the detail names the kernel that `./quern gen add` would add), QUERN_CUDA_ERROR.
 */
quern_status quern_adam(quern_device *device, const quern_adam_args *args,
                        void *workspace, size_t workspace_bytes, void *stream);

/* Writes which kernel would serve these arguments and why not the rows before it; same buffer convention as quern_error_detail. */
size_t quern_adam_explain(const quern_device *device, const quern_adam_args *args, char *buffer, size_t bytes);

/*
 * Makes a list of tensors ready for any number of steps: checks it once, divides it into pieces of equal work and, on a GPU, puts
 * the table into device memory, which the plan owns (about 8 bytes for every 2,048 elements and 128 for every tensor).  Reads
 * tensors, tensor_count, tensor_size, the dtypes, amsgrad, zero_grads, use_multipliers and copy_dtype of the arguments, and keeps
 * what it reads: args and args.tensors may go, and multipliers stay as they are now.  The tensors' memory must stay where it is;
 * what is in it may change.  Blocks until the table is there; not to be captured.  QUERN_ADAM need not be prepared.
 *
 * A plan never changes, so threads may share it without a lock; but of steps with it only one may be under way at a time, in
 * whatever threads and streams, since all write the same tensors.
 * Errors: those of quern_adam about the list; QUERN_OUT_OF_MEMORY; QUERN_CUDA_ERROR.
 */
quern_status quern_adam_plan_create(quern_device *device, const quern_adam_args *args, quern_adam_plan **plan);

/* Frees a plan, before its device is closed; all its work must have completed.  NULL is fine. */
void quern_adam_plan_destroy(quern_adam_plan *plan);

/* ---- gradients: norm and accumulation ---- */

/* A gradient and what it is added to, each with `count` elements without gaps. */
typedef struct quern_gradient {
    void *grad;          /* args.grad_dtype */
    float *main_grad;    /* quern_accumulate: what grad is added to, apart from it */
    int64_t count;       /* 0 is fine */
} quern_gradient;

/*
 * The global norm of a list of gradients, for clipping and for finding overflows, in one pass that reads them once:
 *
 *   norm = sqrt(sum of grad^2) / grad_scale
 *   clip = max_norm / (norm + 1e-6) where that is below 1, else 1 (as torch.nn.utils.clip_grad_norm_); 1 when max_norm is 0
 *   found_inf = 1 where any gradient is infinite or NaN, else it stays as it is: set it to 0 before
 *
 * Squares are summed without overflow or loss in a fixed order: the same bits from run to run and for any number of threads, and on
 * two devices the same within 1e-6 of the norm.  Where found_inf becomes 1, clip is 0 and norm is infinite or NaN.  Of finite
 * gradients whose norm is beyond fp32, norm is infinite and clip right.  The norm of nothing is 0.
 */
typedef struct quern_gradient_norm_args {
    uint32_t size;
    uint32_t gradient_size;      /* sizeof(quern_gradient), set by the initialiser */
    quern_dtype grad_dtype;      /* F32, F16 or BF16 */
    const quern_gradient *gradients;  /* [gradient_count], in host memory, read before the call returns; main_grad is not used */
    int64_t gradient_count;
    const quern_adam_plan *plan; /* instead of gradients: the gradients of the plan */
    double max_norm;             /* >= 0 */
    double grad_scale;           /* > 0; 0 means 1 */
    const float *grad_scale_pointer;  /* instead of grad_scale, in the memory of the device; not checked; NULL: not used */
    float *norm;                 /* in the memory of the device; NULL: not wanted */
    float *clip;
    float *found_inf;
} quern_gradient_norm_args;

#define QUERN_GRADIENT_NORM_ARGS_INIT { .size = sizeof(quern_gradient_norm_args), .gradient_size = sizeof(quern_gradient) }

/*
 * The bytes of workspace that quern_gradient_norm needs: some 8 for every 2,048 elements of a tensor on a GPU, for every 65,536 on
 * a CPU, and for what is left of it.
 */
quern_status quern_gradient_norm_workspace(const quern_device *device, const quern_gradient_norm_args *args, size_t *bytes);

/* Computes the norm described above; QUERN_ADAM must be prepared.  Errors: as quern_adam; QUERN_WORKSPACE_TOO_SMALL. */
quern_status quern_gradient_norm(quern_device *device, const quern_gradient_norm_args *args,
                                 void *workspace, size_t workspace_bytes, void *stream);

/*
 * main_grad = main_grad + scale * grad for a list of gradients, in fp32, rounded once: what data parallelism with 16-bit gradients
 * and fp32 accumulation needs.  Infinity and NaN are added as fp32 adds them.  Moves 10 bytes per 16-bit element, 12 with
 * zero_grads.
 */
typedef struct quern_accumulate_args {
    uint32_t size;
    uint32_t gradient_size;      /* sizeof(quern_gradient), set by the initialiser */
    quern_dtype grad_dtype;      /* F32, F16 or BF16 */
    int32_t zero_grads;          /* 1: grad is set to zero after use */
    const quern_gradient *gradients;  /* [gradient_count], in host memory, read before the call returns */
    int64_t gradient_count;
    double scale;                /* within fp32's range; the initialiser sets 1 */
} quern_accumulate_args;

#define QUERN_ACCUMULATE_ARGS_INIT { .size = sizeof(quern_accumulate_args), .gradient_size = sizeof(quern_gradient), .scale = 1 }

/* Adds as described above; QUERN_ADAM must be prepared.  Errors: as quern_adam. */
quern_status quern_accumulate(quern_device *device, const quern_accumulate_args *args, void *stream);

/* ---- saving and loading a state ---- */

/*
 * A saved state is one block of bytes, little-endian, the same for the same state on any device:
 *
 *   header, 64 bytes:  "QUERNADM", uint32 version (1), uint32 dtypes of param, m, v, master, uint32 amsgrad, int64 tensor_count,
 *                      int64 step, uint64 seed, 8 bytes zero
 *   counts:            int64 for each tensor, then zeros up to a multiple of 64 bytes
 *   each tensor:       m, m_scale, v, v_scale, v_max, v_max_scale, master (those that are there), each followed by zeros up to a
 *                      multiple of 64 bytes
 *   closing:           uint64, the FNV-1a hash (64-bit) of all before it
 *
 * Parameters are the engine's own and are not saved, except that with a REMAINDER master their 16 bits are saved before it.
 *
 * The three calls below read what quern_adam_plan_create reads, or the plan of the arguments, which stands for its list.
 * Gradients, copies and multipliers are no part of a state: their fields must be legal, but of the tensors they are not looked at.
 * QUERN_ADAM need not be prepared.
 */

/* The bytes of the saved state of these tensors. */
quern_status quern_adam_saved_bytes(const quern_device *device, const quern_adam_args *args, size_t *bytes);

/*
 * Saves the state of the tensors (with args.step and args.seed, which are only kept: where control.step counts, bring its number
 * here) to host memory of `bytes` bytes, at any address.  Blocks; work on the tensors must have completed.  Saving what was loaded
 * gives the same bytes.
 * Errors: QUERN_INVALID_ARGUMENT when bytes is not what quern_adam_saved_bytes says; those of quern_adam about the list;
 * QUERN_CUDA_ERROR, after which what is there is no saved state.
 */
quern_status quern_adam_save(quern_device *device, const quern_adam_args *args, void *saved, size_t bytes);

/*
 * Loads a saved state into the tensors and gives back its step and seed (either may be NULL); the next step to take is step + 1.
 * The tensors' counts must be those saved; the dtypes of param, m, v and master may differ: values are then converted through fp32,
 * to nearest, whatever args.*_rounding says, and moments of the same dtype are copied.  A saved F32 or REMAINDER master is rounded
 * to param too; where none was saved, param stays and a master begins as it.  v_max begins as v where none was saved.  Blocks; work
 * on the tensors must have completed.
 * Errors: QUERN_INVALID_ARGUMENT when the bytes are not a saved state, damaged, or of other tensors: nothing was written;
 * QUERN_CUDA_ERROR, after which tensors may be loaded in part; QUERN_OUT_OF_MEMORY.
 */
quern_status quern_adam_load(quern_device *device, const quern_adam_args *args, const void *saved, size_t bytes,
                             int64_t *step, uint64_t *seed);

/* ---------------------------------------------------------------------------------------------- */
/* Ranks                                                                                          */
/* ---------------------------------------------------------------------------------------------- */

/*
 * A group is a set of ranks that work together.  A rank is a thread with a CPU device, or a GPU; the ranks of a group are all
 * CPUs or all GPUs, of one process or of several processes of one host.  A handle is one rank's membership.
 *
 *   - Collective calls must be made by every rank of the group (or every named member), in the same order on each.
 *   - Calls on one handle must not overlap in time, except quern_group_abort, quern_group_report, _rank and _size.
 *   - A thread that drives several GPUs holds a handle for each.  The collective calls that wait on the host (create, split,
 *     symmetric memory, plans) therefore take arrays: the thread passes all its handles in one call.  CPU ranks pass one.
 *   - Every wait is bounded: by the limit of the call, else of the group, else 60 seconds.  On expiry, or when a rank is lost,
 *     the group is poisoned: this call, and every later call on any rank, returns that status at once, with a detail that names
 *     the ranks that did not come, their last epoch and phase, and how long they were waited for.  The process, its CUDA contexts
 *     and other groups stay healthy; destroy the group and create another.
 *     A rank that is slow to learn of it may still read this rank's input and write its output until it has returned, too.
 *   - On GPUs a barrier or all-to-all is enqueued and returns.  When its wait expires on the device its kernel ends normally and
 *     leaves a record; the next call on the group, or quern_group_status, returns it.
 */

enum { QUERN_MAX_RANKS = 128 };

typedef struct quern_group quern_group;

typedef struct quern_group_args {
    uint32_t size;
    int rank;                /* in [0, ranks) */
    int ranks;               /* 1 to QUERN_MAX_RANKS */
    const char *name;        /* where the ranks meet: 1 to 200 letters, digits, '.', '_' or '-'; free again once all have met.
                                NULL is fine for a single rank */
    quern_device *device;    /* must stay open as long as the group; a GPU needs quern_prepare(device, QUERN_BARRIER) before */
    double timeout;          /* seconds: the limit of every wait, creation included; 0: 60 */
    int share_gpu;           /* not 0: several ranks may use one GPU.  Without MPS only ranks of one process run there at once */
    uint32_t first_epoch;    /* where the barriers' counters start, the same on every rank; to test that they may wrap around */
} quern_group_args;

#define QUERN_GROUP_ARGS_INIT { .size = sizeof(quern_group_args) }

/*
 * Creates a group; collective.  args and groups are arrays of `count` ranks that the calling thread drives: 1, or several GPUs.
 * Processes meet in POSIX shared memory, /dev/shm/quern.NAME, with permissions 0600; remains of a run that has died are replaced;
 * the name is gone when the call returns.
 * Errors: 1xxx about the arguments (a rank taken twice); QUERN_NOT_PREPARED; QUERN_NOT_SUPPORTED (CPUs and GPUs mixed; a GPU that
 * cannot reach another one's memory; one GPU for two ranks without share_gpu; several GPUs driven by one thread under
 * CUDA_LAUNCH_BLOCKING=1), QUERN_SYSTEM_ERROR (no room in or no access to /dev/shm, a name that belongs to another user),
 * QUERN_PEER_TIMEOUT with the ranks that did not come, QUERN_PEER_LOST, QUERN_PEER_MISMATCH (another number of ranks).
 */
quern_status quern_group_create(const quern_group_args *args, int count, quern_group **groups);

/* This handle's rank, and the number of ranks; -1 when it is no handle. */
int quern_group_rank(const quern_group *group);
int quern_group_size(const quern_group *group);

/*
 * Splits a group; collective, with all handles of the calling thread.  Ranks of one colour form a new group, ordered by key and
 * then by their old rank; a negative colour joins none and gets NULL.  The new groups have the limit and devices of the old one.
 */
quern_status quern_group_split(quern_group *const *groups, int count, const int *colours, const int *keys,
                               quern_group **new_groups);

/*
 * Gives a handle back; local: it waits for this rank's own work on the device, not for the other ranks, which get QUERN_PEER_LOST
 * if they still wait for this one.  Symmetric memory that was not freed is freed.  NULL is fine; a handle that was destroyed
 * before gets QUERN_INVALID_ARGUMENT, here as in every other call.
 */
quern_status quern_group_destroy(quern_group *group);

/* Ends all waits of all ranks at once and poisons the group with QUERN_GROUP_ABORTED; from any thread. */
quern_status quern_group_abort(quern_group *group);

/* QUERN_OK, or what the group is poisoned with; reads what GPUs have recorded, and waits for nothing. */
quern_status quern_group_status(quern_group *group);

/*
 * Each rank's process, device, last operation, phase, epoch and how long it has been there, a line each, for whoever has to find
 * out why a job is stuck.  Same buffer convention as quern_error_detail; from any thread.
 */
size_t quern_group_report(const quern_group *group, char *buffer, size_t bytes);

/* ---- barrier ---- */

typedef struct quern_barrier_args {
    uint32_t size;
    const int *members;      /* ascending ranks that take part, this one among them; NULL: all.  No group of its own is needed */
    int member_count;
    double timeout;          /* seconds; 0: the group's */
} quern_barrier_args;

#define QUERN_BARRIER_ARGS_INIT { .size = sizeof(quern_barrier_args) }

/*
 * Returns (CPU) or lets the stream continue (GPU) when all members have come.  What a rank wrote before is visible to every member
 * after.  args may be NULL: all ranks, the group's limit.  On a GPU it can be captured into a graph and replayed.
 * Each pair of ranks counts the barriers it met in, with a monotonic epoch that may wrap around.
 */
quern_status quern_barrier(quern_group *group, const quern_barrier_args *args, void *stream);

/* The bytes of one rank's pad of signals in a group of so many ranks; 0 when there can be no such group. */
size_t quern_barrier_bytes(int ranks);

/* ---- symmetric memory ---- */

/*
 * Memory that every rank of a group can reach.  Each rank has its own part, at an address of its own; quern_symmetric_peer tells
 * where this process sees another rank's.
 */

/*
 * Allocates bytes[i] for groups[i]; collective.  256-byte aligned (2 MiB on a GPU), zeroed.  Sizes may differ from rank to rank; a
 * part of 0 bytes has a place, too, to name the peers' by and to be freed.  When it fails on one rank every rank gets that error
 * with that rank's reason, nothing is kept, and the group stays usable.
 * On CPUs of one host the memory is an unnamed shared file, so that /dev/shm need not hold it.
 */
quern_status quern_symmetric_alloc(quern_group *const *groups, int count, const size_t *bytes, void **pointers);

/*
 * Frees this rank's part; local.  Work that was enqueued on the stream before may still use it and any peer's part; the memory goes
 * when every rank has freed its part and that work has completed.  Any later use of the pointer in a call gets
 * QUERN_INVALID_ARGUMENT.  On a CPU the stream is NULL.
 */
quern_status quern_symmetric_free(quern_group *group, void *pointer, void *stream);

/*
 * Makes the engine's own memory reachable; collective, and cheap when all ranks have registered the same ranges together before.
 * Possible for CPU ranks of one process, and for GPU memory of cuMemAlloc, or of cuMemCreate with a file-descriptor handle.
 * The memory must stay until every rank has ended its registration.  A range that was registered twice ends with the second call
 * of quern_symmetric_unregister.  Ranges of a rank never overlap, so that every byte has one name: one that shares memory with
 * another live range of the rank is refused; register an arena as a whole, and use pointers into it.
 * Errors: QUERN_INVALID_ARGUMENT, QUERN_NOT_SUPPORTED with the reason: private memory of another process.
 */
quern_status quern_symmetric_register(quern_group *const *groups, int count, void *const *pointers, const size_t *bytes);

/* Ends a registration; local, with the stream as for quern_symmetric_free. */
quern_status quern_symmetric_unregister(quern_group *group, void *pointer, void *stream);

/*
 * Where this process sees, in another rank's part, the place that `pointer` is in this rank's part.
 * Errors: QUERN_INVALID_ARGUMENT: no symmetric memory of the group, freed, or beyond the peer's part if that is smaller.
 */
quern_status quern_symmetric_peer(quern_group *group, const void *pointer, int rank, void **peer);

/*
 * An address at which one store reaches the parts of all ranks and a load can add them up (multimem instructions).
 * Errors: QUERN_NOT_SUPPORTED with the reason: needs compute capability 9.0 or newer, NVSwitch, one GPU per rank.
 */
quern_status quern_symmetric_multicast(quern_group *group, const void *pointer, void **multicast);

/* ---- ragged all-to-all ---- */

/*
 * Every rank sends slices of its input's rows into the outputs of all members, itself included:
 *
 *   for each member p and update u, with i = p * updates + u:
 *     input rows [input_offsets[i], input_offsets[i] + send_sizes[i])  of this rank
 *     go to output rows [output_offsets[i], ...)                       of member p
 *   recv_sizes[i] is what this rank expects from member p in its update u.
 *
 * As in XLA's ragged-all-to-all and JAX's lax.ragged_all_to_all.  Offsets and sizes count rows; a row is any number of bytes.
 * Output rows that nobody writes keep their values.  Every slice is checked, on every call: negative or out-of-range offsets and
 * sizes, and sizes on which sender and receiver disagree; overlapping receives when check_overlap is set.  Then every member gets
 * the error, which names rank, peer and update, and nothing is written: QUERN_INVALID_SHAPE, or QUERN_PEER_MISMATCH when two
 * ranks disagree.
 *
 * On CPUs the call returns when this rank's output is complete and its input may change, and an error leaves the group usable.
 * On GPUs one launch does it all: entry barrier, checks, copy, exit barrier; an error is recorded on the device and poisons the
 * group (a plan reports it at once and poisons nothing).
 */
typedef struct quern_ragged_all_to_all_args {
    uint32_t size;
    quern_dtype metadata_dtype;     /* INT32 or INT64: of the four arrays below */
    const void *input;              /* [input_rows, row_bytes] */
    int64_t input_rows;
    void *output;                   /* [output_rows, row_bytes].  GPU: symmetric memory, at the same place of the same allocation
                                       on every rank.  CPU: any memory; one copy if it is symmetric or all ranks are threads of
                                       one process, else two */
    int64_t output_rows;
    int64_t row_bytes;              /* the same on every rank; 0 is fine */
    int64_t updates;                /* per peer, the same on every rank; the initialiser sets 1 */
    const void *input_offsets;      /* [members, updates] each */
    const void *send_sizes;
    const void *output_offsets;
    const void *recv_sizes;
    int metadata_on_device;         /* GPU: not 0 if the four arrays are in the device's memory, and are read when the stream gets
                                       there.  0: in host memory, read before the call returns; cannot be captured into a graph */
    int check_overlap;              /* not 0: two slices that would write the same output row are an error */
    const int *members;             /* as for the barrier; NULL: all.  Index p above counts members */
    int member_count;
    int multiprocessors;            /* GPU: how many the copy may use; 0: as many as are of use */
    double timeout;                 /* seconds; 0: the group's */
} quern_ragged_all_to_all_args;

#define QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT \
    { .size = sizeof(quern_ragged_all_to_all_args), .metadata_dtype = QUERN_INT32, .updates = 1 }

/*
 * The bytes of workspace, which must be symmetric memory of the group (quern_symmetric_alloc).  It depends on the group, row_bytes,
 * input_rows, updates, and on whether input and output overlap or the output is private; it is enough for any metadata in which no
 * input row is sent more often than once per member.
 */
quern_status quern_ragged_all_to_all_workspace(quern_group *group, const quern_ragged_all_to_all_args *args, size_t *bytes);

/* The exchange described above; collective over the members.  The device must be prepared for QUERN_RAGGED_ALL_TO_ALL. */
quern_status quern_ragged_all_to_all(quern_group *group, const quern_ragged_all_to_all_args *args, void *workspace,
                                     size_t workspace_bytes, void *stream);

/*
 * A plan: the same exchange again and again, with the metadata checked and the work divided once.  It keeps the pointers of args
 * and the workspace, which must live as long; the metadata (in host memory) is read at creation.  Creation is collective over all
 * ranks of the group, waits on the host and reports errors of the metadata to every rank; a run is collective over the members
 * and can be captured.
 */
typedef struct quern_ragged_plan quern_ragged_plan;

quern_status quern_ragged_plan_create(quern_group *const *groups, int count, const quern_ragged_all_to_all_args *args,
                                      void *const *workspaces, const size_t *workspace_bytes, quern_ragged_plan **plans);
quern_status quern_ragged_plan_run(quern_ragged_plan *plan, void *stream);

/* Local.  NULL is fine.  Waits for this rank's runs that are still under way. */
quern_status quern_ragged_plan_destroy(quern_ragged_plan *plan);

#ifdef __cplusplus
}
#endif
#endif
