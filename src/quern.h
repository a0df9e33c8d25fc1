/*
 * Quern: fused training kernels behind one C header.
 *
 * Two operations, each for CPUs (portable C, AVX2, AVX-512) and NVIDIA GPUs (Turing to Blackwell):
 *
 *   quern_cross_entropy   softmax cross-entropy: loss and gradient of the logits in one call
 *   quern_adam            Adam and AdamW over any list of tensors, with 16-bit states
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
 *     needs and the caller brings it, 16-byte aligned.
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

    /* 4xxx: a peer rank (reserved for the collective operations). */
    QUERN_PEER_TIMEOUT = 4000,
    QUERN_PEER_LOST = 4001
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
 * With no callback set, the environment variable QUERN_LOG=PATH or QUERN_LOG=LEVEL:PATH (level 1, 2 or 3; default 2)
 * appends the lines to a file instead.
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
    QUERN_INT32 = 16,
    QUERN_INT64 = 17
} quern_dtype;

/* "f32", "f16", "bf16", "int32", "int64"; "unknown dtype" for anything else. */
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
quern_status quern_get_device_info(const quern_device *device, quern_device_info *info);

/*
 * What the device can run and why not more: one line per target of the library, "avx512: usable", "sm_100f: needs compute
 * capability 10.x, this device has 9.0".  Same buffer convention as quern_error_detail.
 */
size_t quern_device_report(const quern_device *device, char *buffer, size_t bytes);

/* The operations, to be or-ed together. */
typedef enum quern_operations {
    QUERN_CROSS_ENTROPY = 1,
    QUERN_ADAM = 2
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
    QUERN_REDUCTION_MEAN = 2   /* loss is one value: the sum over the counted rows divided by their number */
} quern_reduction;

/* What the rows of one call had to report; in the device's memory, overwritten by each call that names it. */
typedef struct quern_cross_entropy_report {
    int64_t counted_rows;    /* rows whose label was valid and not ignore_index: the divisor of the mean */
    int64_t ignored_rows;    /* rows whose label was ignore_index */
    int64_t bad_labels;      /* rows whose label was outside [0, vocab) and not ignore_index */
    int64_t first_bad_row;   /* the first of them; -1 when there is none */
    int64_t infinite_rows;   /* counted rows whose logits were all -infinity */
} quern_cross_entropy_report;

/*
 * Softmax cross-entropy of logits [rows, vocab] against labels [rows]:
 *
 *   loss[r]    = log(sum_j exp(x[r][j])) - x[r][label[r]]
 *   grad[r][j] = (softmax(x[r])[j] - (j == label[r])) * grad_loss[r] * grad_scale [/ counted rows, for the mean]
 *
 * The loss and all arithmetic are fp32 whatever the logits' type; each gradient element is rounded once.  The gradient and the
 * loss of the label's column are computed from the sum over the other columns, so that they keep their relative precision when
 * the model is confident.
 *
 * Rows that are skipped: label == ignore_index, or a label outside [0, vocab) (counted in the report; no logit is read through
 * it).  Their loss is 0, their gradient is 0 in every column, and the mean does not count them.  All rows skipped: mean loss 0.
 * A row whose logits are all -infinity has loss +infinity and gradient 0, and is counted in the report.  NaN or +infinity in a
 * row makes that row's loss and gradient NaN and touches no other row.
 *
 * The gradient may overwrite the logits: grad == logits with the same dtype and stride.  Otherwise the two must not overlap.
 */
typedef struct quern_cross_entropy_args {
    uint32_t size;
    quern_dtype logits_dtype;       /* F32, F16 or BF16 */
    quern_dtype labels_dtype;       /* INT32 or INT64 */
    quern_reduction reduction;
    int64_t rows;                   /* 0 is fine: nothing is read, a sum or mean is 0 */
    int64_t vocab;                  /* columns, at least 1 */
    const void *logits;             /* [rows, vocab] */
    int64_t logits_stride;          /* elements from one row to the next, >= vocab; 0 means vocab */
    const void *labels;             /* [rows] */
    int64_t ignore_index;           /* the initialiser sets -100 */
    float *loss;                    /* [rows], or [1] for sum and mean; NULL: not wanted */
    void *grad;                     /* [rows, vocab] or NULL: no gradient */
    quern_dtype grad_dtype;         /* 0 means logits_dtype, the only one supported so far */
    int64_t grad_stride;            /* >= vocab; 0 means logits_stride when in place, else vocab */
    const float *grad_loss;         /* upstream gradient per row, or NULL: 1 */
    int64_t grad_loss_stride;       /* elements from one row's value to the next, any sign; 0: one value for all rows */
    float grad_scale;               /* one more factor of the gradient (a loss scale); the initialiser sets 1 */
    quern_cross_entropy_report *report;  /* in the device's memory, or NULL */
} quern_cross_entropy_args;

#define QUERN_CROSS_ENTROPY_ARGS_INIT \
    { .size = sizeof(quern_cross_entropy_args), .ignore_index = -100, .grad_loss_stride = 1, .grad_scale = 1.0f }

/* The bytes of workspace that quern_cross_entropy needs for these arguments on this device (pointers may still be NULL). */
quern_status quern_cross_entropy_workspace(const quern_device *device, const quern_cross_entropy_args *args, size_t *bytes);

/*
 * Computes the loss and gradient described above.  workspace is in the device's memory (NULL if 0 bytes are needed).
 * Bytes moved per logit, forward and gradient: one read and one write (bf16: 4) where a row fits the chip or the cache.
 * Errors: all 1xxx about the arguments, QUERN_NOT_PREPARED, QUERN_NO_KERNEL, QUERN_CUDA_ERROR.
 * Online normaliser: Milakov and Gimelshein 2018, "Online normalizer calculation for softmax".
 */
quern_status quern_cross_entropy(quern_device *device, const quern_cross_entropy_args *args,
                                 void *workspace, size_t workspace_bytes, void *stream);

/* Writes which kernel would serve these arguments and why not the rows before it; same buffer convention as quern_error_detail. */
size_t quern_cross_entropy_explain(const quern_device *device, const quern_cross_entropy_args *args, char *buffer, size_t bytes);

/* ---------------------------------------------------------------------------------------------- */
/* Adam                                                                                           */
/* ---------------------------------------------------------------------------------------------- */

typedef enum quern_adam_mode {
    QUERN_ADAMW = 0,    /* decoupled weight decay (Loshchilov and Hutter 2019) */
    QUERN_ADAM_L2 = 1   /* weight decay added to the gradient (Kingma and Ba 2015 with an L2 term) */
} quern_adam_mode;

/* How a 16-bit value is rounded when it is stored. */
typedef enum quern_rounding {
    QUERN_ROUND_DEFAULT = 0,     /* m: nearest; v: stochastic; parameters: stochastic without a master, else nearest */
    QUERN_ROUND_NEAREST = 1,     /* to nearest, ties to even */
    QUERN_ROUND_STOCHASTIC = 2   /* up with the probability of the fraction cut off */
} quern_rounding;

/* One tensor and its optimizer state, each with `count` elements without gaps, none overlapping another. */
typedef struct quern_adam_tensor {
    void *param;         /* args.param_dtype; with a master it is only written */
    const void *grad;    /* args.grad_dtype */
    void *m;             /* args.m_dtype: first moment (exp_avg) */
    void *v;             /* args.v_dtype: second moment (exp_avg_sq) */
    float *master;       /* fp32 master copy of param, when args.master_dtype is F32; else NULL */
    int64_t count;       /* 0 is fine */
} quern_adam_tensor;

/*
 * One step of Adam over a list of tensors, in fp32 with the bias correction in double:
 *
 *   L2 mode:  g = g + weight_decay * p
 *   m = m + (1 - beta1) * (g - m)
 *   v = v + (1 - beta2) * (g * g - v)
 *   p = p - (lr * m / (1 - beta1^step)) / (sqrt(v / (1 - beta2^step)) + eps) [- lr * weight_decay * p, AdamW mode]
 *
 * p is the master where there is one, and the parameter is rounded from it.  The update uses m and v before they are rounded
 * for storage.  Random bits for stochastic rounding come from Philox4x32 (Salmon et al. 2011), keyed by
 * (seed, step, tensor's place in the list, element's place in the tensor): CPU and GPU, any thread count and any split of the
 * work give the same bits.  Eight elements share a block of eight 16-bit values; m, v and the parameter of an element take
 * different ones.  bf16 v needs it: with beta2 = 0.999 a change of v in one step is less than half a bf16 step,
 * so nearest rounding would freeze v.
 */
typedef struct quern_adam_args {
    uint32_t size;
    uint32_t tensor_size;        /* sizeof(quern_adam_tensor), set by the initialiser: lets the tensor struct grow too */
    quern_dtype param_dtype;     /* F32, F16 or BF16 */
    quern_dtype grad_dtype;      /* F32, F16 or BF16 */
    quern_dtype m_dtype;         /* F32 or BF16 */
    quern_dtype v_dtype;         /* F32 or BF16 */
    quern_dtype master_dtype;    /* NO_DTYPE or F32 (only for 16-bit parameters) */
    quern_adam_mode mode;
    const quern_adam_tensor *tensors;  /* [tensor_count], in host memory, read before the call returns */
    int64_t tensor_count;
    double lr;                   /* >= 0 */
    double beta1;                /* in [0, 1); the initialiser sets 0.9 */
    double beta2;                /* in [0, 1); the initialiser sets 0.999 */
    double eps;                  /* >= 0; the initialiser sets 1e-8 */
    double weight_decay;         /* >= 0 */
    int64_t step;                /* counts from 1 */
    uint64_t seed;               /* of stochastic rounding */
    quern_rounding param_rounding;
    quern_rounding m_rounding;
    quern_rounding v_rounding;
} quern_adam_args;

#define QUERN_ADAM_ARGS_INIT \
    { .size = sizeof(quern_adam_args), .tensor_size = sizeof(quern_adam_tensor), \
      .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8 }

/* The bytes of workspace that quern_adam needs (0 so far). */
quern_status quern_adam_workspace(const quern_device *device, const quern_adam_args *args, size_t *bytes);

/*
 * Takes the step described above.  Bytes moved per element: all-bf16 14, bf16 with fp32 master 20, all-fp32 28.
 * Errors: all 1xxx about the arguments (step 0, beta outside [0, 1), NULL in a tensor that is not empty, ...),
 * QUERN_NOT_PREPARED, QUERN_NO_KERNEL, QUERN_CUDA_ERROR.
 */
quern_status quern_adam(quern_device *device, const quern_adam_args *args,
                        void *workspace, size_t workspace_bytes, void *stream);

/* Writes which kernel would serve these arguments and why not the rows before it; same buffer convention as quern_error_detail. */
size_t quern_adam_explain(const quern_device *device, const quern_adam_args *args, char *buffer, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
