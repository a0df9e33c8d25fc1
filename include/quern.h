/*
 * Quern: fused training kernels behind one C header.
 *
 * Operations, each for CPUs (portable C, AVX2, AVX-512) and NVIDIA GPUs (Turing to Blackwell):
 *
 *   quern_cross_entropy        softmax cross-entropy: loss and gradient of the logits in one call
 *   quern_adam                 Adam and AdamW over a list of tensors, with states of 8 to 32 bits
 *   quern_quantize             a list of tensors in 8 bits, with scales from their largest magnitudes
 *   quern_barrier              a barrier with a time limit over all or some ranks of a group
 *   quern_ragged_all_to_all    slices of any length from every rank to every rank: expert-parallel dispatch and combine
 *   quern_all_reduce           sums and maxima over ranks with the same bits everywhere; gathers and broadcasts
 *   quern_transfer             a prepared list of sends and receives between pairs of ranks: pipelines
 *
 * How a program uses it:
 *
 *   quern_device *device;
 *   quern_device_open(QUERN_CPU, 0, &device);              or QUERN_CUDA and an ordinal
 *   quern_prepare(device, QUERN_CROSS_ENTROPY | QUERN_ADAM);
 *   quern_cross_entropy(device, &arguments, workspace, workspace_bytes, stream);
 *   quern_device_close(device);
 *
 * Rules for every function.  A function's comment states each exception.
 *
 *   Errors         A function that can fail returns a quern_status.  quern_error_detail() returns the reason as text, for the
 *                  calling thread.  After 1xxx or 2xxx no output buffer has been written.  After 3xxx or 4xxx output buffers may
 *                  hold part of the result; likewise those of quern_linear_cross_entropy after QUERN_NO_KERNEL or a status that
 *                  its gemm returned.  A function that returns a status returns QUERN_NULL_POINTER if a required pointer is NULL.
 *                  The library never exits or aborts.  It writes to standard error only what QUERN_LOG asks for, and a line about
 *                  a variable of the environment that it ignores, since it is not what was expected.
 *   Structs        A struct that begins with its size is initialised by its macro, QUERN_ADAM_ARGS_INIT for instance, or by its
 *                  function, quern_adam_args_init, for languages without macros.  Both give the same struct: the size with a mark,
 *                  the defaults that differ from 0, and 0 elsewhere.  A struct that neither of them has set, zeroed or with a
 *                  plain sizeof as its size, is refused as QUERN_INVALID_STRUCT_SIZE.  A field whose comment says "the initialiser
 *                  sets" has no other default: 0 there is the value 0.  In other optional fields 0 or NULL means the default,
 *                  which the comment names.  New fields are only added at the end, so that a program compiled against an older
 *                  header keeps working.
 *   Flags          A flag in a struct is an int32_t.  1: yes, 0: no.
 *   Units          Sizes, counts, offsets and strides are signed 64-bit and count elements, unless a comment says bytes or rows.
 *                  No buffer or workspace has more than 2^47 bytes, no matrix more than 2^41 rows or columns, no list more than
 *                  2^32 - 1 items.  Larger sizes are QUERN_INVALID_SHAPE.
 *   Alignment      A tensor may start at any multiple of its element size.  16-byte alignment (32-byte on Blackwell) is faster.
 *   Overlaps       A buffer that a call writes must not overlap another buffer of the call, except where a comment allows it.  A
 *                  matrix extends from its first byte to its last, padding of the rows included.  The library compares all buffers
 *                  that the call uses and returns QUERN_INVALID_ARGUMENT with the names of both.
 *   Ownership      The caller owns every buffer.  An operation allocates no memory, unless quern_trace_begin or quern_dump_at looks
 *                  at it.  A workspace comes from the caller, in the memory of the device, 16-byte aligned.  The matching
 *                  ..._workspace function returns its size in bytes.  Calls that run at the same time need separate workspaces.
 *   Streams        On a GPU an operation enqueues its work on the caller's stream and returns.  A stream is a CUstream, which is
 *                  the same as a cudaStream_t; NULL is the default stream.  Buffers must stay valid until the stream has completed
 *                  the work.  Operations can be captured into a CUDA graph.  On a CPU the work is complete on return, and the
 *                  stream must be NULL.
 *   Determinism    The same call gives the same bits from run to run, for any number of threads and however the calling thread
 *                  rounds.  A row or element has the same bits whatever else is in the call.
 *   Threads        "Thread-safe" means that several threads may call the function at the same time, also on one device.  A call
 *                  needs at most 64 KiB of the calling thread's stack.
 *   Selection      Each operation has a table of kernels, best first.  The first row whose target, data types and limits fit serves
 *                  a request.  When a device is opened, QUERN_KERNEL=GLOB in the environment keeps only rows whose names match,
 *                  "*__avx2" for instance, and QUERN_PREFER=FILE puts those of `./quern gen prefer` first (docs/looking_inside.md):
 *                  a file that cannot be used is an error.  The ..._explain functions write the selection as text.
 */
#ifndef QUERN_H
#define QUERN_H

#include <stddef.h>
#include <stdint.h>

#define QUERN_VERSION_MAJOR 0
#define QUERN_VERSION_MINOR 2
#define QUERN_VERSION_PATCH 0
#define QUERN_VERSION (QUERN_VERSION_MAJOR * 10000 + QUERN_VERSION_MINOR * 100 + QUERN_VERSION_PATCH)

/*
 * Marks the functions of this header, and nothing else: a shared object that contains the library exports just these.  The library
 * itself is compiled with QUERN_BUILD.  Then its calls stay inside the shared object that contains it, even if another one with
 * another version was loaded before.
 */
#if !defined(__GNUC__)
#define QUERN_API
#elif defined(QUERN_BUILD)
#define QUERN_API __attribute__((visibility("protected")))
#else
#define QUERN_API __attribute__((visibility("default")))
#endif

/*
 * The initialisers.  A size that one of them has set has QUERN_STRUCT_MARK in its upper half and sizeof in its lower half.  The
 * mark shows the library that the defaults are set, too.  QUERN_..._DEFAULTS lists the defaults that differ from 0; the macro
 * expands it to designated initialisers in C and calls a function made of it in C++.
 *
 *   quern_adam_args args = QUERN_ADAM_ARGS_INIT;
 */
#define QUERN_STRUCT_MARK 0x51550000u
#define QUERN_STRUCT_SIZE(type) (QUERN_STRUCT_MARK + sizeof(type))

#ifdef __cplusplus
#define QUERN_STRUCT_INIT(type, defaults) type##_initial()
#define QUERN_NESTED_INIT(type, defaults) type##_initial()
#else
#define QUERN_SET_FIELD(field, value) .field = value,
#define QUERN_STRUCT_INIT(type, defaults) { .size = QUERN_STRUCT_SIZE(type), defaults(QUERN_SET_FIELD) }
#define QUERN_NESTED_INIT(type, defaults) { .size = QUERN_STRUCT_SIZE(type), defaults(QUERN_SET_FIELD) }
#endif
#define QUERN_NO_DEFAULTS(set)

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------- */
/* Status                                                                                         */
/* ---------------------------------------------------------------------------------------------- */

/* Result codes.  The thousands digit identifies the responsible party (see quern_status_blame). */
typedef enum quern_status {
    QUERN_OK = 0,

    /* 1xxx: the caller's arguments.  No work was started. */
    QUERN_INVALID_ARGUMENT = 1000,   /* a value is out of range */
    QUERN_NULL_POINTER = 1001,       /* a required pointer is NULL */
    QUERN_INVALID_STRUCT_SIZE = 1002,/* size was not set by the struct's initialiser, or is larger than this library knows */
    QUERN_INVALID_DTYPE = 1003,      /* not a value of quern_dtype, or one that this field does not take */
    QUERN_INVALID_SHAPE = 1004,      /* a negative size, a stride shorter than the row, more than memory can hold */
    QUERN_WORKSPACE_TOO_SMALL = 1005,
    QUERN_NOT_PREPARED = 1006,       /* quern_prepare was not called for this operation on this device */
    QUERN_INVALID_PACK = 1007,       /* a kernel pack of another version, truncated or damaged; damaged images */

    /* 2xxx: a valid request that this library or device cannot serve. */
    QUERN_NOT_SUPPORTED = 2000,
    QUERN_NO_KERNEL = 2001,          /* no table row serves the request on this device */
    QUERN_NO_DEVICE = 2002,          /* this machine has no such device */
    QUERN_NO_DRIVER = 2003,          /* the CUDA driver is absent or cannot be opened */
    QUERN_DRIVER_TOO_OLD = 2004,

    /* 3xxx: the system failed. */
    QUERN_OUT_OF_MEMORY = 3000,
    QUERN_CUDA_ERROR = 3001,         /* a call of the CUDA driver or of cuBLAS failed */
    QUERN_SYSTEM_ERROR = 3002,       /* a file or thread is not available; the detail contains errno's text */

    /* 4xxx: a peer rank.  The group is poisoned, unless a comment says that it stays usable: see Ranks. */
    QUERN_PEER_TIMEOUT = 4000,       /* a rank did not arrive within the time limit */
    QUERN_PEER_LOST = 4001,          /* a rank's process has ended, or the rank has destroyed its handle */
    QUERN_PEER_MISMATCH = 4002,      /* ranks made different calls, or their arguments contradict each other */
    QUERN_GROUP_ABORTED = 4003       /* a rank called quern_group_abort */
} quern_status;

/* Returns the name of a status, "QUERN_OK" for instance, or "unknown quern_status".  The text is static.  Thread-safe. */
QUERN_API const char *quern_status_string(quern_status status);

/*
 * Returns the party responsible for a status: "nobody", "the caller's argument", "not supported here", "the system" or "a peer".
 * The text is static.  Thread-safe.
 */
QUERN_API const char *quern_status_blame(quern_status status);

/*
 * Copies the detail of the calling thread's last failed call: the invalid value or failed step, and what was expected.  Copies at
 * most bytes - 1 characters and a terminating zero to buffer, which may be NULL if bytes is 0.  Returns the length of the whole
 * text, as snprintf does.  A text is one line of at most 255 characters: the nearest cause, of which the ..._explain functions,
 * quern_device_report and quern_group_report write the rest.  Thread-safe.
 */
QUERN_API size_t quern_error_detail(char *buffer, size_t bytes);

/*
 * Returns QUERN_VERSION as the library was compiled with it.  Compare it with the macro to detect a header of another version.
 * Thread-safe.
 */
QUERN_API int quern_version(void);

/*
 * Returns what the library was built with, as lines: "version: 0.2.0", "targets: sm_90a avx512", "operations: cross_entropy adam",
 * "compiler: gcc 12.2.0", "nvcc: 13.0.88, ptxas 12.9.86" or "nvcc: none".  Equal builds have equal texts.  The text is static.
 * Thread-safe.
 */
QUERN_API const char *quern_build_info(void);

/* ---------------------------------------------------------------------------------------------- */
/* Log                                                                                            */
/* ---------------------------------------------------------------------------------------------- */

typedef enum quern_log_level {
    QUERN_LOG_ERROR = 1,  /* the details of failed calls, the images that a GPU does not use, a rounding of quern_adam that stalls, and
                             on a CPU a line for each call of quern_cross_entropy and _combine that skips rows for labels out of
                             range */
    QUERN_LOG_INFO = 2,   /* devices opened, packs loaded, the first use of each kernel */
    QUERN_LOG_DEBUG = 3   /* every selection of a kernel, with the reason against each earlier row */
} quern_log_level;

/*
 * Receives one line without a line end, prefixed with its device ("[cuda:0] ...").  Runs on the thread that logs, which may be any
 * thread inside the library.  The callback must not call the library.  line is valid during the call only.
 */
typedef void (*quern_log_callback)(void *user, quern_log_level level, const char *line);

/*
 * Sends log lines up to a level to a callback.  callback NULL removes it; the library starts without one.
 * Without a callback, the environment variable QUERN_LOG selects the destination: LEVEL (1, 2 or 3) alone sends lines to standard
 * error; PATH appends lines of level 2 and below to a file; LEVEL:PATH does both.
 * When the function returns, the previous callback is no longer called.  Thread-safe.
 */
QUERN_API void quern_set_log(quern_log_callback callback, void *user, quern_log_level level);

/* ---------------------------------------------------------------------------------------------- */
/* Data types                                                                                     */
/* ---------------------------------------------------------------------------------------------- */

typedef enum quern_dtype {
    QUERN_NO_DTYPE = 0,
    QUERN_F32 = 1,
    QUERN_F16 = 2,   /* IEEE binary16 */
    QUERN_BF16 = 3,  /* the upper half of a binary32 */
    QUERN_E4M3 = 4,  /* OCP 8-bit floating point: 4 exponent bits, no infinity, largest value 448 */
    QUERN_E5M2 = 5,  /* OCP 8-bit floating point: 5 exponent bits, largest value 57,344 */
    QUERN_REMAINDER = 6,  /* the low 16 bits of a binary32 whose upper half, rounded, is stored as bf16: see quern_adam */
    QUERN_INT32 = 16,
    QUERN_INT64 = 17
} quern_dtype;

/*
 * Returns "f32", "f16", "bf16", "e4m3", "e5m2", "remainder", "int32" or "int64", or "unknown dtype" for any other value.  The text
 * is static.  Thread-safe.
 */
QUERN_API const char *quern_dtype_name(quern_dtype dtype);

/* Returns the bytes of one element, or 0 for a value that is no dtype.  Thread-safe. */
QUERN_API size_t quern_dtype_bytes(quern_dtype dtype);

/* ---------------------------------------------------------------------------------------------- */
/* Devices                                                                                        */
/* ---------------------------------------------------------------------------------------------- */

typedef enum quern_device_kind { QUERN_CPU = 1, QUERN_CUDA = 2 } quern_device_kind;

typedef struct quern_device quern_device;

/*
 * Writes the number of devices of a kind to *count.  Without a usable driver the count of QUERN_CUDA is 0 and the status is
 * QUERN_OK; quern_error_detail then returns the reason.  A device is counted even if the driver is too old for the kernels that
 * this library has for it.  Thread-safe.
 * Errors: QUERN_INVALID_ARGUMENT.
 */
QUERN_API quern_status quern_device_count(quern_device_kind kind, int *count);

/*
 * Opens a device and writes its handle to *device.  ordinal counts from 0; the only CPU device is 0.  A CUDA device uses the
 * primary context of that ordinal, as the CUDA runtime and the frameworks do.  A device may be opened several times.  The caller
 * closes each handle.  QUERN_DRIVER_TOO_OLD: no kernel of this library for the device can be loaded by its driver; a pack made for
 * older drivers must be loaded before.  Thread-safe.
 * Errors: QUERN_INVALID_ARGUMENT, QUERN_NO_DRIVER, QUERN_DRIVER_TOO_OLD, QUERN_NO_DEVICE, QUERN_OUT_OF_MEMORY, QUERN_CUDA_ERROR.
 */
QUERN_API quern_status quern_device_open(quern_device_kind kind, int ordinal, quern_device **device);

/*
 * Closes a device.  All its work must have completed, and its plans, groups and BLAS must have been destroyed.  NULL does nothing.
 * No other call may use the handle at the same time or later.
 * With the last CPU device the library's worker threads end; they have ended when the function returns.  The next CPU device starts
 * new ones.  dlclose of a shared object that contains the library closes forgotten CPU devices and groups of CPU ranks, and frees
 * their plans of ragged all-to-alls; those of GPUs must be closed before.  exit closes nothing: other threads may be inside a call.
 */
QUERN_API void quern_device_close(quern_device *device);

typedef struct quern_device_info {
    uint32_t size;
    quern_device_kind kind;
    int ordinal;
    int compute_capability;     /* 90 for 9.0; 0 for a CPU */
    int multiprocessors;        /* streaming multiprocessors of a GPU; worker threads of a CPU */
    int64_t shared_bytes;       /* shared memory available to one block; 0 for a CPU */
    char name[96];              /* the vendor's name of the device */
    char target[32];            /* the best target that serves it: "avx512", "sm_90a", "portable" */
} quern_device_info;

#define QUERN_DEVICE_INFO_INIT QUERN_STRUCT_INIT(quern_device_info, QUERN_NO_DEFAULTS)

/* Sets *info to QUERN_DEVICE_INFO_INIT.  NULL does nothing.  Thread-safe. */
QUERN_API void quern_device_info_init(quern_device_info *info);

/* Fills *info, which must be initialised.  Errors: QUERN_INVALID_STRUCT_SIZE.  Thread-safe. */
QUERN_API quern_status quern_device_get_info(const quern_device *device, quern_device_info *info);

/*
 * Writes one line for each target of the library: "avx512: usable", or "sm_100f: needs compute capability 10.x, this device has
 * 9.0".  The buffer is filled and the length returned as by quern_error_detail.  Thread-safe.
 */
QUERN_API size_t quern_device_report(const quern_device *device, char *buffer, size_t bytes);

/* The operations, as bits that can be combined with |. */
typedef enum quern_operations {
    QUERN_CROSS_ENTROPY = 1,
    QUERN_ADAM = 2,
    QUERN_BARRIER = 4,             /* a CPU loads nothing for it */
    QUERN_RAGGED_ALL_TO_ALL = 8,
    QUERN_QUANTIZE = 16,
    QUERN_COLLECTIVE = 32          /* all-gather, reduce-scatter, all-reduce and broadcast */
} quern_operations;

/*
 * Loads every kernel of the given operations that can run on the device.  No kernel is loaded later: a kernel loaded while another
 * one waits for a peer could deadlock.  Each operation must be prepared on a device before its first use there, and again after
 * quern_load_pack.  Must not be called while a stream is being captured.  Thread-safe.
 *
 * On a GPU one kernel of each image of machine code or PTX then runs on a small problem with known results, once for each handle of
 * the device: kernels of cross-entropy, Adam and quantisation, on a stream of the library, which the call waits for.  An image that
 * is damaged, that gives a wrong answer, or that the driver refuses to load or to launch, is not used; the next row of the table that
 * can serves instead.  The log at QUERN_LOG_ERROR and the ..._explain functions have the reason.  QUERN_KNOWN_ANSWERS=0 in the
 * environment, read when a device is opened, leaves out the launches.
 *
 * Errors: QUERN_INVALID_ARGUMENT; QUERN_NO_KERNEL if an operation has no kernel for the device or all give wrong answers;
 * QUERN_DRIVER_TOO_OLD if the driver refuses all kernels and is older than the toolkit that made them; QUERN_OUT_OF_MEMORY;
 * QUERN_CUDA_ERROR if the driver refuses all kernels in another way, or after an error that the context does not survive;
 * QUERN_INVALID_PACK if the images of all kernels are damaged.
 */
QUERN_API quern_status quern_prepare(quern_device *device, unsigned operations);

/*
 * Loads a kernel pack (a .qpack file, written by `./quern gen pack TARGET`) and puts its rows before those of the library, for all
 * devices of the process.  Call quern_prepare again to use them.  Loading the same pack again does nothing.  Thread-safe.
 * Errors: QUERN_SYSTEM_ERROR (the file cannot be read), QUERN_INVALID_PACK (another version, truncated, wrong checksum, unknown
 * operation), QUERN_OUT_OF_MEMORY.  After an error the rows are unchanged.
 */
QUERN_API quern_status quern_load_pack(const char *path);

/*
 * Runs CPU work on the engine's own threads.  The hook calls task(context, i) once for every i in [0, tasks), on any threads, and
 * returns when all these calls have returned.  examples/team.c has one for engines whose threads all run each operation.
 */
typedef void (*quern_parallel_for)(void *user, int64_t tasks, void (*task)(void *context, int64_t index), void *context);

/*
 * Sets the number of threads of a CPU device, up to 1,024, or with device NULL of all CPU devices that the process opens later.
 * threads 0: the value of QUERN_THREADS or, without it, one per core that the process may use, but not more than the quotas of its
 * control groups, rounded up; where these fall later, fewer of the threads work, from a second afterwards on.  hook NULL: the
 * library's own pool runs the work; where the process may use several NUMA nodes, each of its threads stays on one and begins each
 * call with the same part of the work, so that pages that a call touches first are near the thread that uses them next.  Results do
 * not depend on the threads.  The workspace size of an operation may change.  An operation that runs meanwhile goes on with either
 * setting, and may call the old hook until it returns.  Thread-safe.
 * Errors: QUERN_INVALID_ARGUMENT; QUERN_NOT_SUPPORTED for a GPU.
 */
QUERN_API quern_status quern_set_threads(quern_device *device, int threads, quern_parallel_for hook, void *user);

/* ---------------------------------------------------------------------------------------------- */
/* Looking inside a run                                                                           */
/* ---------------------------------------------------------------------------------------------- */

/*
 * Begins a trace of the process, in a file of Chrome's trace event format (JSON), which Perfetto and chrome://tracing open.  It has
 * an event for each call of an operation, and of what makes, splits, shrinks and ends groups, their memory and their plans (not of
 * quern_blas_gemm), with its device, kernels, bytes and status; for each kernel of a GPU, with its times on the stream; for each
 * wait for other ranks, with its call and the ranks that were missing when it began; and for each quern_step.  Until the trace ends
 * and writes the file, events are in memory, up to 1,000,000, and further ones are counted.  A kernel that a stream captures is
 * noted once, without times.  Times are of CLOCK_MONOTONIC, so that the files of several processes of a machine fit together.  If
 * libnvToolsExt.so.1 or libnvtx3interop.so can be opened, each call is a range of NVTX, too.  While a trace runs, calls on a GPU
 * create events of the driver.  A symbolic link to the file stays.  Thread-safe.
 * Errors: QUERN_NULL_POINTER; QUERN_INVALID_ARGUMENT if a trace has begun; QUERN_SYSTEM_ERROR if the file cannot be created;
 * QUERN_OUT_OF_MEMORY.
 */
QUERN_API quern_status quern_trace_begin(const char *path);

/*
 * Ends the trace and writes its file, whole or not at all.  Waits for the kernels that the trace has noted: a thread with several
 * GPU ranks must have launched the calls of all of them before.  After an error the trace has ended too.  Thread-safe.
 * Errors: QUERN_INVALID_ARGUMENT if this process has begun no trace; QUERN_SYSTEM_ERROR if the file cannot be written;
 * QUERN_OUT_OF_MEMORY.
 */
QUERN_API quern_status quern_trace_end(void);

/* Which operations quern_dump_at writes, where, and how much. */
typedef struct quern_dump_args {
    uint32_t size;
    const char *folder;      /* is created if it does not exist; has no index.jsonl yet; copied */
    const char *filter;      /* a glob over the names of operations, "adam*" for instance; copied; NULL: all */
    int64_t step;            /* the step that is written: see quern_step */
    int64_t most_bytes;      /* of all tensors together; 0: 2^34 */
} quern_dump_args;

#define QUERN_DUMP_ARGS_INIT QUERN_STRUCT_INIT(quern_dump_args, QUERN_NO_DEFAULTS)

/* Sets *args to QUERN_DUMP_ARGS_INIT.  NULL does nothing.  Thread-safe. */
QUERN_API void quern_dump_args_init(quern_dump_args *args);

/*
 * At the step of the arguments, each operation on this device writes its inputs before it runs and its outputs afterwards, as
 * safetensors files, and one line of JSON in folder/index.jsonl: operation, kernels, numbers of the arguments, status, and for each
 * tensor its file, dtype, shape and SHA-256.  A matrix is written without the gaps between its rows.  `python3 -m quern_dump diff`
 * names the first tensor that differs between two runs or devices, and by how much.  A file appears whole or not at all.  On a GPU
 * each operation waits for the work of its stream, before and after it: ranks of one process then need a thread each.  What does
 * not fit most_bytes, and what a stream captures, is left out, and the index says so.  An error of the file system or the driver is
 * logged and noted for quern_step; the operation itself goes on.  A folder takes one dump.  args NULL: nothing more is written.
 * Thread-safe.
 * Errors: QUERN_NULL_POINTER; 1xxx about the arguments; QUERN_INVALID_ARGUMENT if the folder has an index.jsonl; QUERN_SYSTEM_ERROR
 * if the folder cannot be created or written; QUERN_OUT_OF_MEMORY.
 */
QUERN_API quern_status quern_dump_at(quern_device *device, const quern_dump_args *args);

/*
 * Tells the device which step of training begins: for quern_dump_at and for the trace, which marks it.  No operation may run on the
 * device in another thread.
 * Errors: QUERN_NULL_POINTER; QUERN_SYSTEM_ERROR if files of the step before could not be written, with the first reason.  The new
 * step has begun all the same.
 */
QUERN_API quern_status quern_step(quern_device *device, int64_t step);

/* ---------------------------------------------------------------------------------------------- */
/* Cross-entropy                                                                                  */
/* ---------------------------------------------------------------------------------------------- */

typedef enum quern_reduction {
    QUERN_REDUCTION_NONE = 0,  /* loss has one value per row */
    QUERN_REDUCTION_SUM = 1,   /* loss is one value: the sum over the counted rows */
    QUERN_REDUCTION_MEAN = 2   /* loss is one value: the sum divided by the number of counted rows, or by their class weights */
} quern_reduction;

/*
 * Which results have the same bits everywhere.  With portable bits the loss, lse, log_prob and entropy of a row, and its gradient,
 * depend on its logits, its label and the options only: not on the machine, the instruction set, the threads, the other rows, or the
 * steps in which the call is made.  docs/numerics.md defines them, so that another library can give the same.
 */
typedef enum quern_bits {
    QUERN_BITS_DEFAULT = 0,    /* the same from run to run on one kind of machine; the fastest */
    QUERN_BITS_PORTABLE = 1    /* without softcap, label smoothing and the gradient of the entropy */
} quern_bits;

/* How far the model's probabilities q are from soft targets t of given columns, in nats. */
typedef enum quern_divergence {
    QUERN_KL_FORWARD = 0,      /* sum t log(t / q) */
    QUERN_KL_REVERSE = 1,      /* sum q log(q / t) */
    QUERN_JENSEN_SHANNON = 2   /* the mean of sum t log(t / m) and sum q log(q / m), with m = (t + q) / 2 */
} quern_divergence;

/* Counts of the rows of one call, in the memory of the device.  Each call that is given the report overwrites it. */
typedef struct quern_cross_entropy_report {
    int64_t counted_rows;    /* rows with a valid label other than ignore_index */
    int64_t ignored_rows;    /* rows whose label is ignore_index */
    int64_t bad_labels;      /* rows whose label is outside [0, global_vocab) and not ignore_index */
    int64_t first_bad_row;   /* the first of the bad_labels rows; -1 if there is none */
    int64_t infinite_rows;   /* counted rows in which every y is -infinity */
} quern_cross_entropy_report;

/*
 * The sums over one row, or over a shard's part of it: 64 bytes, which an engine may move between ranks as they are.  y is the
 * logit after the softcap and the temperature.  quern_cross_entropy_combine brings the sums of several shards to one origin and
 * adds them.  A skipped row has the sums of no columns.
 */
typedef struct quern_row_stats {
    double origin;           /* subtracted in every exponent: near the largest y, from 1 below to 1 + log(vocab) above it; -infinity
                                if every y is, or none is here */
    double others;           /* sum of exp(y - origin) over all columns except the label's */
    double weighted;         /* sum of class_weight * (y - origin); set for label smoothing only */
    double moment;           /* the same of (y - origin) * exp(y - origin); set for the entropy and its gradient only */
    double weights;          /* sum of the class weights, or the number of columns without them; set for label smoothing only */
    int64_t argmax;          /* the first column with the largest y, counted over all shards; -1: none; set for argmax only */
    float maximum;           /* the largest logit, before softcap and temperature; set for argmax only */
    float label_value;       /* the label's y; -infinity if the label's column is in another shard */
    float label_weight;      /* the label's class weight, 1 without weights; 0 if the label's column is in another shard */
    int32_t has_label;       /* 1: the label's column is in this shard, 0: it is not */
} quern_row_stats;

/*
 * With portable bits the exponentials of a shard's part of a row, summed as far as it can do it alone: 464 bytes, which an engine may
 * move between ranks as they are.  All numbers are relative to the origin of the stats, times 2^60; -1 stands for what is not here.
 * docs/numerics.md defines units, and nodes, which are sums of 2^level units.  With the entropy a row has two of these: behind the
 * sums their moments, each at the place of its sum, and the y of a column in the place of its exponential.
 */
typedef struct quern_row_nodes {
    float first_unit[32];   /* the columns of a unit that began in another shard, by their place in it */
    float right_nodes[26];  /* by level: the nodes whose sister is in a shard before */
    float left_nodes[26];   /* by level: the others, whose parent has columns behind the shard */
    float last_unit[32];    /* the columns of a unit that ends in another shard */
} quern_row_nodes;

/*
 * Softmax cross-entropy of logits [rows, vocab] against labels [rows].  y = t * x or, with a softcap, y = t * cap * tanh(x / cap),
 * where t is the inverse temperature of the row (1 without); p = softmax(y); lse = log(sum_j exp(y[j])); w are the class weights
 * (1 without); e is the label smoothing.  The loss of a row is
 *
 *   (1 - e) * w[label] * (lse - y[label])  +  e / vocab * sum_j w[j] * (lse - y[j])  +  z_loss * lse^2
 *
 * The reduced loss is the sum over the rows.  The mean divides it by the sum of w[label] over the counted rows (their number
 * without weights).  The gradient of a row is the derivative of its loss with respect to its x, times grad_loss[row] *
 * grad_scale; the mean divides it by the same sum.  A policy gradient also needs the slopes of other outputs: the derivatives of
 * log_prob and of the entropy, times grad_log_prob[row] * grad_scale and grad_entropy[row] * grad_scale, are added to it, and the
 * mean does not divide them.  Weights and smoothing are those of PyTorch's cross_entropy.  z-loss: PaLM
 * (Chowdhery et al. 2022); softcap: Gemma 2 (2024).
 *
 * The loss and all arithmetic are fp32 or better for every type of logits.  Each gradient element is rounded once.  The gradient
 * and the loss of the label's column are computed from the sum over the other columns, and so keep their relative precision when
 * the model is confident.  With label smoothing, z-loss, softcap or the gradient of the entropy, terms of opposite sign can
 * cancel; the absolute precision of the terms then holds.  A temperature rounds each y to fp32, as a softcap does.  Without a
 * softcap the error of the entropy is below 4e-7 times the larger of 1 and the entropy: absolute where the entropy is small.  On a
 * CPU a request for one output leaves the bits of the others.
 *
 * Skipped rows have the label ignore_index, or a label outside [0, global_vocab), which the report counts.  Their logits are not
 * read through the label.  Their loss, lse, log_prob and entropy are 0, their argmax is -1, and their gradient is 0 in every
 * column.  The mean does not count them.  If all rows are skipped, the mean loss is 0.
 *
 * With strict_labels a label outside [0, global_vocab) that is not ignore_index is an error.  On a CPU each function that reads
 * labels returns QUERN_INVALID_ARGUMENT with the first such row in the detail, and nothing is written.  On a GPU nothing is written
 * for such a row: its loss and other outputs, its stats and all columns of its gradient keep their contents, in place the logits.
 * A sum or mean leaves the row out, and the report, which is then required, counts it.  Other rows do not change.
 *
 * top_k and given_count ask for log-probabilities y[j] - lse of further columns, without weights; that of the label's column has
 * the bits of log_prob.  A column whose y is -infinity is not among the largest: a row that has too few others gets the column -1
 * with -infinity.  A given column that does not exist has -infinity, too, so that lists may be padded with -1.  In a skipped row, one
 * with NaN or +infinity, and one in which every y is -infinity, all largest columns are -1, and all log-probabilities 0, NaN and
 * -infinity.
 *
 * target_probs, for distillation and for a penalty against a reference: the divergence of a row is a sum over its given columns
 * and, with has_tail, over all others as one outcome more.  Its derivative, times grad_divergence[row] * grad_scale, is added to
 * the gradient; the mean does not divide it.  A term whose factor is 0 is 0; a target of 0 beside a positive q makes a reverse KL
 * infinite.  The tail of t, and that of q, is 1 less the sum over the list, but at least 2^-22, the error of such a difference.  A
 * skipped row has divergence 0, one with NaN or +infinity NaN, and one in which every y is -infinity +infinity.  In a row that
 * lists a column twice the divergence and the gradient of that column have no meaning.  Refused with portable bits.
 *
 * soft_targets: the same divergence over all columns, in one pass more over logits and targets.  Its terms are fp32: its error is below
 * 2e-6 times the larger of 1 and itself.  The gradient step adds its gradient, too; only the call of whole rows writes the divergence.
 * Refused for shards of a vocab.
 *
 * Infinities below are those of y: a softcap makes them finite, and t * x may overflow.  Terms with coefficient 0 are skipped,
 * even if infinite or NaN: a class of weight 0 in the smoothing, the label with a smoothing of 1.  A mean whose weights sum to 0
 * has loss 0 and gradient 0.  A row in which every y is -infinity has loss +infinity, lse and log_prob -infinity, entropy 0,
 * argmax -1 and gradient 0; the report counts it.  NaN or +infinity in a row makes that row's loss, outputs and gradient NaN, and
 * its argmax -1.  Other rows do not change.
 *
 * The gradient may overwrite the logits: grad == logits with the same dtype and stride.  Otherwise grad must not overlap logits.
 * No other output may overlap an input, another output or the workspace.
 */
typedef struct quern_cross_entropy_args {
    uint32_t size;
    quern_dtype logits_dtype;       /* F32, F16 or BF16 */
    quern_dtype labels_dtype;       /* INT32 or INT64 */
    quern_reduction reduction;
    int64_t rows;                   /* 0 is allowed: nothing is read, a sum or mean is 0 */
    int64_t vocab;                  /* columns of the logits, at least 1; without rows 0 is allowed */
    const void *logits;             /* [rows, vocab] */
    int64_t logits_stride;          /* elements from one row to the next, >= vocab; 0: vocab.  The stride alone declares no padding:
                                       columns from vocab on are neither read nor written.  In place they still hold logits after
                                       the call, which a product over the padded width would take for gradient: set padded_vocab */
    const void *labels;             /* [rows], counted over all shards */
    int64_t ignore_index;           /* the initialiser sets -100; 0: label 0 is ignored */
    float *loss;                    /* [rows], or [1] for sum and mean; NULL: not computed */
    void *grad;                     /* [rows, padded_vocab]; NULL: not computed */
    quern_dtype grad_dtype;         /* logits_dtype or, not in place, F32; 0: logits_dtype */
    int64_t grad_stride;            /* elements, >= padded_vocab; 0: logits_stride if in place, else padded_vocab */
    const float *grad_loss;         /* upstream gradient per row; NULL: 1 */
    int64_t grad_loss_stride;       /* elements from one row's value to the next, any sign; 0: one value for all rows.  The
                                       initialiser sets 1 */
    float grad_scale;               /* a further factor of the gradient (a loss scale), finite; the initialiser sets 1; 0 gives 0 */
    quern_cross_entropy_report *report;  /* [1], in the memory of the device; NULL: not written.  Required by strict_labels on a
                                            GPU */

    /* Options; 0 and NULL disable each, at no cost. */
    float label_smoothing;          /* e, in [0, 1] */
    float z_loss;                   /* >= 0 */
    float softcap;                  /* the cap, >= 0 */
    const float *class_weights;     /* [vocab]; NULL: 1 */
    int64_t padded_vocab;           /* >= vocab: columns [vocab, padded_vocab) are not read and get gradient 0; 0: vocab, so that no
                                       column beyond it is written */

    /* Further outputs of the same pass, [rows] each; NULL: not computed. */
    float *lse;
    float *log_prob;                /* y[label] - lse, without weights */
    float *entropy;                 /* -sum_j p[j] * log(p[j]), in nats; see above for its accuracy */
    int64_t *argmax;                /* the first column with the largest y */
    quern_row_stats *stats;         /* input of a later quern_cross_entropy_gradient; input or output of the shard functions */

    /* A shard of a vocab that is distributed over ranks. */
    int64_t first_column;           /* the column of the whole vocab at which the shard starts */
    int64_t global_vocab;           /* columns of all shards; 0: vocab */

    int32_t strict_labels;          /* 1: a label out of range is an error, as described above; 0: its row is skipped */

    /* The inverse temperature t of a row is the product of both.  It applies after the softcap. */
    float inverse_temperature;      /* above 0; 0: 1 */
    const float *inverse_temperatures;  /* [rows]; NULL: 1.  They are not checked: a row whose t is not above 0 and finite is NaN */

    /* Upstream gradients of two outputs of each row, which need not be asked for.  The stride is like grad_loss_stride, 1 by
       default.  NULL: 0 */
    const float *grad_log_prob;
    int64_t grad_log_prob_stride;
    const float *grad_entropy;      /* all steps over shards need the pointer: the first one sums what the last one reads */
    int64_t grad_entropy_stride;

    quern_bits bits;                /* the same in all steps */
    quern_row_nodes *nodes;         /* portable bits of a shard: written by the stats step [rows], and read by the combine step
                                       [shard_count, rows], in the order of its shards.  With entropy [rows, 2] and
                                       [shard_count, rows, 2] */

    /*
     * The columns of each row with the largest logits, the largest first and of equal ones the lower first, and the log-probabilities
     * of these and of given columns.  A column is counted over all shards.  See above for rows that have fewer.
     */
    int64_t top_k;                  /* up to 32; 0: the two pointers are ignored */
    int64_t *top_ids;               /* [rows, top_k] */
    float *top_log_probs;           /* [rows, top_k] */
    int64_t given_count;            /* 0: the two pointers are ignored */
    const int64_t *given_ids;       /* [rows, given_count] */
    float *given_log_probs;         /* [rows, given_count] */

    /* Of all shards, in the order of their columns: what their stats steps wrote to the outputs above.  Read by the combine step. */
    const int64_t *shard_top_ids;       /* [shard_count, rows, top_k] */
    const float *shard_top_logits;
    const float *shard_given_logits;    /* [shard_count, rows, given_count] */

    /* Soft targets of the given columns of each row, which are distinct, as a teacher's largest ones. */
    const float *target_probs;      /* [rows, given_count], each 0 or more, of a column that does not exist 0; NULL: none */
    quern_divergence divergence_kind;
    int32_t has_tail;               /* 1: what is left to 1 of both sums is the probability of one more outcome; 0: it counts nowhere */
    float *divergence;              /* [rows]; NULL: not computed */
    const float *grad_divergence;   /* upstream gradient; NULL: 0.  The gradient step then reads given_log_probs of the whole rows */
    int64_t grad_divergence_stride; /* as grad_loss_stride, 1 by default */

    /* Soft targets of all columns, in the place of target_probs: the probabilities of another model.  There is no tail then. */
    quern_dtype soft_targets_dtype; /* F32, F16 or BF16; 0: none */
    const void *soft_targets;       /* [rows, vocab], each 0 or more */
    int64_t soft_targets_stride;    /* elements, >= vocab; 0: vocab */
} quern_cross_entropy_args;

#define QUERN_CROSS_ENTROPY_ARGS_DEFAULTS(set) \
    set(ignore_index, -100) set(grad_loss_stride, 1) set(grad_scale, 1.0f) set(grad_log_prob_stride, 1) set(grad_entropy_stride, 1) \
    set(grad_divergence_stride, 1)
#define QUERN_CROSS_ENTROPY_ARGS_INIT QUERN_STRUCT_INIT(quern_cross_entropy_args, QUERN_CROSS_ENTROPY_ARGS_DEFAULTS)

/* Sets *args to QUERN_CROSS_ENTROPY_ARGS_INIT.  NULL does nothing.  Thread-safe. */
QUERN_API void quern_cross_entropy_args_init(quern_cross_entropy_args *args);

/*
 * Bytes of workspace that suffice on a CPU for each of the four functions below, with any arguments of up to so many rows and columns
 * on a device of up to so many threads: an engine may allocate them once, for its largest call.  rows and vocab are int64_t.  With
 * given columns add 4 * rows * (given_count + 2) + 128; with soft targets of all columns that, and rows * (32 + vocab / 1024) + threads *
 * (5 * vocab + 132096) + 128; with the entropy of a shard with portable bits 464 * rows * (vocab / 32768 + 1).
 */
#define QUERN_CPU_WORKSPACE(rows, vocab, threads) \
    (INT64_C(512) + (rows) * (INT64_C(632) + (vocab) / 32768 * 564) + (threads) * (INT64_C(1024) + (vocab) * 5))

/*
 * Writes the bytes of workspace that suffice for each of the four functions below with these arguments on this device.  Pointers in
 * args may still be NULL.  Thread-safe.
 * Errors: 1xxx about the arguments.
 */
QUERN_API quern_status quern_cross_entropy_workspace(const quern_device *device, const quern_cross_entropy_args *args,
                                                     size_t *bytes);

/*
 * Computes the loss, the gradient and the further outputs described above.  Without grad it is the forward pass.  Serves a whole
 * vocab only: first_column 0, global_vocab == vocab.  workspace may be NULL if 0 bytes are needed.  Thread-safe.
 * Bytes moved per logit: for loss and gradient one read and one write (bf16: 4) if a row fits the chip or the cache; for the loss
 * alone one read.
 * Errors: 1xxx about the arguments, QUERN_NOT_PREPARED, QUERN_NO_KERNEL, QUERN_CUDA_ERROR.
 * Online normaliser: Milakov and Gimelshein 2018, "Online normalizer calculation for softmax".
 */
QUERN_API quern_status quern_cross_entropy(quern_device *device, const quern_cross_entropy_args *args, void *workspace,
                                           size_t workspace_bytes, void *stream);

/*
 * The same in three steps, for a vocab that is distributed over ranks (Megatron-LM, Shoeybi et al. 2019) or for a gradient that is
 * computed later.  Shards may differ in size, and a shard need not contain the row's label.
 *
 *   stats      reads the shard's logits; writes args->stats [rows] of the shard
 *   combine    reads shards [shard_count, rows], the stats of all shards in the order of their columns; writes args->stats [rows]
 *              of the whole rows (or NULL), loss, lse, log_prob, entropy, argmax and report.  It reads no logits.  Every rank may
 *              do it and gets the same bits
 *   gradient   reads the shard's logits and args->stats of the whole rows; writes args->grad [rows, padded_vocab] of the shard
 *
 * Of the largest and the given columns, the stats step writes those of the shard, with their logits in the place of log-probabilities.
 * The engine gathers the three outputs as well, and the combine step, which then reads inverse_temperatures, too, writes those of the
 * whole rows.
 *
 * With portable bits every division of the vocab gives the bits of one call, at any columns.  The engine gathers args->nodes as well.
 * A row whose nodes are not those of all its columns is NaN.  At most 2^31 columns have portable bits in steps for shards.
 *
 * Each step ignores the pointers that it does not use, but checks all numbers.  All steps need the same options, labels and
 * global_vocab.  The engine gathers the stats: 64 bytes per row and shard.  shards may equal args->stats, else be apart from it.
 *
 * On a CPU the outputs of one shard are the bits of quern_cross_entropy, and with several shards each output differs by at most
 * four fp32 units in the last place of the largest term of its sum.  On a GPU the steps differ from the one call by at most 16
 * units, gradients by at most 96, with any number of shards; there a probability below 2^-125 may count as 0 in an f32 gradient.
 * A 16-bit gradient may differ by one rounding more.  The entropy's terms are lse and the sum of p[j] * y[j].  Where terms cancel,
 * that can be thousands of units of the result: 2,488 were measured in an entropy, and 8,042 in an f32 gradient with all options (an
 * absolute difference of 1.9e-9).  1 counts as a term of loss, lse, log_prob and entropy: the largest exponential of their sum.
 * Below 1e-30 an f32 gradient differs by up to twice as many units.
 *
 * The workspace is that of quern_cross_entropy_workspace.  Thread-safe.  Errors: as quern_cross_entropy.
 */
QUERN_API quern_status quern_cross_entropy_stats(quern_device *device, const quern_cross_entropy_args *args, void *workspace,
                                                 size_t workspace_bytes, void *stream);
QUERN_API quern_status quern_cross_entropy_combine(quern_device *device, const quern_cross_entropy_args *args,
                                                   const quern_row_stats *shards, int64_t shard_count, void *workspace,
                                                   size_t workspace_bytes, void *stream);
QUERN_API quern_status quern_cross_entropy_gradient(quern_device *device, const quern_cross_entropy_args *args, void *workspace,
                                                    size_t workspace_bytes, void *stream);

/*
 * Multiplies a gradient that is there already by upstream gradients that were not known before:
 *
 *   grad[row] = grad[row] * args->grad_loss[row * args->grad_loss_stride], in place
 *
 * A row whose value is exactly 1 is neither read nor written, so a call for one value that is 1 costs nothing on a CPU, and on a GPU
 * a launch that reads the value and ends: the host need not know it, and a graph can capture the call.  Each product is rounded once,
 * to nearest even; NaN and infinity follow IEEE 754: 0 times NaN is NaN.  Columns from vocab on keep their zeros.  grad_loss and grad
 * are required; logits only tells, as in the other calls, which grad_stride 0 means.  The other pointers, grad_scale and
 * strict_labels have no effect, but all numbers are checked.  It needs no workspace.  Thread-safe.  Errors: as quern_cross_entropy.
 */
QUERN_API quern_status quern_cross_entropy_upstream(quern_device *device, const quern_cross_entropy_args *args, void *stream);

/*
 * Writes the name of the kernel that serves these arguments, and the reason against each earlier row.  The buffer is filled and the
 * length returned as by quern_error_detail.  Thread-safe.
 */
QUERN_API size_t quern_cross_entropy_explain(const quern_device *device, const quern_cross_entropy_args *args, char *buffer,
                                             size_t bytes);

/*
 * Writes the hash of the results of a fixed case with portable bits, for logits of each type: QUERN_PORTABLE_HASH on every device of
 * every machine.  Another value shows that a compiler, a driver or a processor computes something else there.  Needs
 * QUERN_CROSS_ENTROPY to be prepared.  Allocates 200 KB in the memory of the device, on a stream of its own, and waits for it: not
 * for the graph of a stream.  Thread-safe.
 * Errors: QUERN_NULL_POINTER; those of quern_cross_entropy, for a build that lacks a type of logits, too; QUERN_OUT_OF_MEMORY.
 */
#define QUERN_PORTABLE_HASH 0xB021DB33D52E3173u
QUERN_API quern_status quern_portable_hash(quern_device *device, uint64_t *hash);

/* ---------------------------------------------------------------------------------------------- */
/* Linear layer and cross-entropy                                                                 */
/* ---------------------------------------------------------------------------------------------- */

/*
 * One matrix product: C = A * B or, with accumulate, C += A * B.  All matrices are row-major, in the memory of the device, with a
 * stride in elements from one row to the next.  A transposed operand is stored as its transpose.  Sums, those with C as well, are fp32
 * or better and are rounded to c_dtype once.
 */
typedef struct quern_gemm_args {
    uint32_t size;
    int32_t accumulate;             /* 1: C += A * B; 0: C = A * B */
    int64_t m, n, k;                /* A is [m, k], B [k, n], C [m, n] */
    const void *a;
    const void *b;
    void *c;
    quern_dtype a_dtype, b_dtype, c_dtype;  /* F32, F16 or BF16 */
    int32_t a_transposed, b_transposed; /* 1: stored as [k, m] or [n, k]; 0: as [m, k] or [k, n] */
    int64_t a_stride, b_stride, c_stride;   /* elements, at least the columns as stored */
} quern_gemm_args;

#define QUERN_GEMM_ARGS_INIT QUERN_STRUCT_INIT(quern_gemm_args, QUERN_NO_DEFAULTS)

/* Sets *args to QUERN_GEMM_ARGS_INIT.  NULL does nothing.  Thread-safe. */
QUERN_API void quern_gemm_args_init(quern_gemm_args *args);

/*
 * The engine's matrix product.  Computes it on the device, on a GPU in the order of the stream.  The library calls it from the
 * thread that called the library, one product at a time.  args is valid during the call only.  Any status other than QUERN_OK
 * ends the calling operation, which returns it.
 */
typedef quern_status (*quern_gemm)(void *user, const quern_gemm_args *args, void *stream);

/*
 * The engine's exchange between the ranks of a vocab's shards: mine has `bytes` bytes of this rank, a multiple of 4, and all gets
 * those of each rank in the order of the shards' columns, this rank's included.  Both are in the memory of the device and apart.  On a
 * GPU it works in the order of the stream.  The library calls it from the thread that called the library.  Any status other than
 * QUERN_OK ends the calling operation, which returns it.
 */
typedef quern_status (*quern_gather)(void *user, const void *mine, void *all, size_t bytes, void *stream);

/* The type of quern_accumulate, which only programs link that name it. */
struct quern_accumulate_args;
typedef quern_status (*quern_accumulator)(quern_device *device, const struct quern_accumulate_args *args, void *stream);

/* A BLAS opened at run time. */
typedef struct quern_blas quern_blas;

/*
 * Opens a BLAS for a device and writes its handle to *blas.  On a CPU: a library with cblas_sgemm; 16-bit matrices are converted to
 * fp32 tile by tile, in about 12 MB of memory.  On a GPU: cuBLAS.  library: a file name; NULL: the usual ones in turn
 * (libopenblas.so.0, libblis.so.4, libmkl_rt.so.2, libcblas.so.3; libcublas.so.13, libcublas.so.12).  A CPU BLAS uses its own
 * threads.  The caller closes the handle before the device.  Thread-safe.
 * Errors: QUERN_NOT_SUPPORTED, with the names that were tried; QUERN_OUT_OF_MEMORY; QUERN_CUDA_ERROR.
 */
QUERN_API quern_status quern_blas_open(quern_device *device, const char *library, quern_blas **blas);

/* Closes a BLAS; its work must have completed.  NULL does nothing.  No other call may use the handle at the same time or later. */
QUERN_API void quern_blas_close(quern_blas *blas);

/*
 * A quern_gemm whose user is an open quern_blas.  Only one thread at a time may use a handle.
 * Errors: 1xxx about the arguments, QUERN_NOT_SUPPORTED, QUERN_CUDA_ERROR.
 */
QUERN_API quern_status quern_blas_gemm(void *blas, const quern_gemm_args *args, void *stream);

/*
 * The last layer of a language model and its loss, in chunks of rows.  For each chunk: logits = hidden * weight^T are computed,
 * replaced by their gradient in place, and multiplied into d_hidden and d_weight.  The logits of chunk_rows rows are in memory at a
 * time.  Results equal those of the same products and quern_cross_entropy over all rows at once, except for the order in which
 * d_weight and d_bias are summed over the chunks, in fp32.  They are rounded once, at the end.
 * Source of the idea: Liger Kernel's fused linear cross-entropy (Hsu et al. 2024).
 *
 * A bias is added to the logits before they are rounded: a product of a column of ones and the bias writes the logits, and hidden *
 * weight^T is added to them, in their dtype.  d_bias is the product of a row of ones and the gradient.
 *
 * With shard_count the vocab is distributed over so many ranks: weight, bias, class_weights and their gradients have the columns
 * [first_column, first_column + vocab) of global_vocab.  For each chunk gather exchanges the stats of the rows, 64 bytes each, with
 * portable bits their nodes, 464 bytes each and 464 more with the entropy, and the lists of columns that are asked for, 12 * top_k +
 * 4 * given_count bytes each.  Every rank gets the same loss and outputs of the rows, and adds its columns' share to d_hidden: the
 * engine sums d_hidden over the ranks.  All ranks need the same rows, labels, options, width, chunk_rows and
 * shard_count.  A rank whose call fails leaves the others in their gather, until that fails.
 */
typedef struct quern_linear_cross_entropy_args {
    uint32_t size;
    quern_dtype hidden_dtype;       /* F32, F16 or BF16: of hidden and d_hidden */
    quern_dtype weight_dtype;       /* F32, F16 or BF16 */
    int32_t accumulate_weight;      /* 1: the products are added to d_weight and d_bias; 0: these are overwritten */

    /*
     * The loss, which the initialiser of this struct initialises too.  logits_dtype is the type in which the logits of a chunk
     * are stored; rows, vocab, labels and all options and outputs keep their meaning.  logits, grad, stats, nodes, logits_stride,
     * grad_stride, padded_vocab and the lists of shards must be NULL or 0, and without shard_count first_column and global_vocab.
     * With strict_labels on a GPU the logits of a row whose label is out of range are replaced by a gradient of 0, since the products
     * read them: the row's d_hidden is 0 and it adds nothing to d_weight and d_bias.
     */
    quern_cross_entropy_args loss;

    int64_t width;                  /* columns of hidden and weight */
    const void *hidden;             /* [rows, width] */
    int64_t hidden_stride;          /* elements, >= width; 0: width; likewise the strides below */
    const void *weight;             /* [vocab, width] */
    int64_t weight_stride;
    void *d_hidden;                 /* [rows, width]; NULL: not computed; may equal hidden */
    int64_t d_hidden_stride;
    void *d_weight;                 /* [vocab, width]; NULL: not computed */
    int64_t d_weight_stride;
    int64_t chunk_rows;             /* 0: chosen so that the logits of a chunk have about as many elements as hidden, or half of
                                       those of weight if that is more */
    quern_gemm gemm;                /* the matrix product, required: the engine's own, or quern_blas_gemm.  Called up to three times
                                       per chunk: logits, d_weight, d_hidden; with a bias five times */
    void *gemm_user;                /* the first argument of gemm: the quern_blas for quern_blas_gemm */

    quern_dtype d_weight_dtype;     /* F32 or BF16; NO_DTYPE: F32.  BF16: d_weight_stride is the width.  The sum of several chunks is
                                       kept in the workspace, 4 bytes an element, and rounded by `accumulate`.  With one chunk and
                                       accumulate_weight the product is added to a C of BF16 */
    quern_dtype bias_dtype;         /* logits_dtype, or any with F32 logits; NO_DTYPE: bias and d_bias are NULL */
    quern_accumulator accumulate;   /* quern_accumulate, with QUERN_ADAM prepared: for the sum of a BF16 d_weight in several chunks */
    const void *bias;               /* [vocab]; NULL: none */
    float *d_bias;                  /* [vocab]; NULL: not computed */

    int64_t shard_count;            /* ranks that share the vocab, each with a column at least; 0: the call has the whole vocab.  A
                                       mean with class_weights is not supported */
    quern_gather gather;            /* required by shard_count: the engine's own, or quern_group_gather */
    void *gather_user;              /* the first argument of gather */
} quern_linear_cross_entropy_args;

#define QUERN_LINEAR_CROSS_ENTROPY_ARGS_DEFAULTS(set) \
    set(loss, QUERN_NESTED_INIT(quern_cross_entropy_args, QUERN_CROSS_ENTROPY_ARGS_DEFAULTS))
#define QUERN_LINEAR_CROSS_ENTROPY_ARGS_INIT \
    QUERN_STRUCT_INIT(quern_linear_cross_entropy_args, QUERN_LINEAR_CROSS_ENTROPY_ARGS_DEFAULTS)

/* Sets *args to QUERN_LINEAR_CROSS_ENTROPY_ARGS_INIT.  NULL does nothing.  Thread-safe. */
QUERN_API void quern_linear_cross_entropy_args_init(quern_linear_cross_entropy_args *args);

/*
 * Writes the bytes of workspace: the logits of a chunk, what is named above, and the workspace of the loss.  Pointers in args may
 * still be NULL.  Thread-safe.
 * Errors: 1xxx about the arguments.
 */
QUERN_API quern_status quern_linear_cross_entropy_workspace(const quern_device *device, const quern_linear_cross_entropy_args *args,
                                                            size_t *bytes);

/*
 * Computes the loss, d_hidden and d_weight as described above.  QUERN_CROSS_ENTROPY must be prepared.  Thread-safe if gemm is.
 * Errors: those of quern_cross_entropy, and any status that gemm returns.
 */
QUERN_API quern_status quern_linear_cross_entropy(quern_device *device, const quern_linear_cross_entropy_args *args,
                                                  void *workspace, size_t workspace_bytes, void *stream);

/* ---------------------------------------------------------------------------------------------- */
/* Adam                                                                                           */
/* ---------------------------------------------------------------------------------------------- */

typedef enum quern_adam_mode {
    QUERN_ADAMW = 0,    /* decoupled weight decay (Loshchilov and Hutter 2019) */
    QUERN_ADAM_L2 = 1   /* weight decay added to the gradient (Kingma and Ba 2015 with an L2 term) */
} quern_adam_mode;

/* The place of eps: outside the root of the second moment, as in the paper, or inside it, as in some early implementations. */
typedef enum quern_adam_eps_mode {
    QUERN_EPS_OUTSIDE = 0,  /* sqrt(v / bias2) + eps */
    QUERN_EPS_INSIDE = 1    /* sqrt(v / bias2 + eps) */
} quern_adam_eps_mode;

/* The rounding of a value that is stored in fewer bits than it was computed in. */
typedef enum quern_rounding {
    QUERN_ROUND_DEFAULT = 0,     /* m: nearest, but stochastic in 8 bits; v: stochastic; parameters: stochastic without a master,
                                    else nearest */
    QUERN_ROUND_NEAREST = 1,     /* to nearest, ties to even */
    QUERN_ROUND_STOCHASTIC = 2   /* up with a probability equal to the fraction that is cut off, of which 16 bits count.  fp32 to BF16
                                    cuts off no more.  Of the 20 or 21 bits that 8-bit types cut off the others are dropped: the mean
                                    is up to 2^-16 of a unit in the last place too near to 0, 2^-17 on average */
} quern_rounding;

/*
 * Moments in F16, E4M3 and E5M2 are scaled: QUERN_SCALE_BLOCK consecutive elements share a power of two, stored in one byte (the
 * E8M0 scale of the OCP Microscaling formats, 2023).  The value of element i is code[i] * 2^(scale[i / 32] - 127).  Each step
 * chooses the scale again, by the largest finite magnitude of the block, so that nothing overflows and a tiny v is not lost.  In
 * a scaled type a v above zero is never stored as zero, because the next update would then be huge.  All bytes zero is a valid
 * state of zeros.  NaN and infinity stay in their element; E4M3 has no infinity and stores NaN.  A scale of 255 is never stored;
 * it is read as infinity.
 */
enum { QUERN_SCALE_BLOCK = 32 };

/*
 * One tensor and its optimizer state, in the memory of the device.  Each array has `count` contiguous elements; a scale has
 * (count + 31) / 32 bytes.  Fields that the arguments do not use are ignored, and all fields of an empty tensor.  Arrays
 * must not overlap, nor may control or the workspace overlap them; two tensors may share what is only read, and copy_max.  Plans,
 * and calls without a plan for lists of up to 512 arrays, compare all arrays and the control.  For longer lists, calls compare the
 * arrays of each tensor only.
 */
typedef struct quern_adam_tensor {
    void *param;         /* args.param_dtype; with an F32 master it is written but not read */
    void *grad;          /* args.grad_dtype; written only with args.zero_grads */
    void *m;             /* args.m_dtype: first moment (exp_avg) */
    void *v;             /* args.v_dtype: second moment (exp_avg_sq) */
    void *master;        /* args.master_dtype: F32: fp32 master copy of param; REMAINDER: its low 16 bits */
    int64_t count;       /* 0 is allowed */
    uint8_t *m_scale;    /* if m is F16, E4M3 or E5M2 */
    uint8_t *v_scale;    /* if v is F16, E4M3 or E5M2 */
    void *v_max;         /* args.v_dtype, if args.amsgrad: the largest v so far (max_exp_avg_sq) */
    uint8_t *v_max_scale;/* if v_max is F16, E4M3 or E5M2 */
    void *copy;          /* args.copy_dtype: receives a further copy of the new parameters */
    const float *copy_scale;  /* [1]: multiplies the copy before it is rounded; NULL: 1.  8-bit copies only */
    float *copy_max;     /* [1], 0 or more: raised to the largest finite magnitude of the new parameters, before the scale.  Tensors
                            may share it.  NULL: not computed */
    float lr_multiplier;            /* with args.use_multipliers: multiplies args.lr for this tensor; 0 freezes it */
    float weight_decay_multiplier;  /* with args.use_multipliers: multiplies args.weight_decay for this tensor */
} quern_adam_tensor;

/*
 * Step control in the memory of the device: a captured graph can be replayed while these values change.  NULL selects the
 * corresponding field of args.  The values are not checked: *lr and *step must be 0 or more and *grad_scale above 0, or parameters
 * become NaN or move in the wrong direction.  [1] each.
 */
typedef struct quern_adam_control {
    const float *lr;           /* replaces args.lr */
    int64_t *step;             /* the number of steps taken: the call takes step *step + 1 and stores that number once, for any
                                  number of tensors including none.  args.step is then ignored.  Lists stepped by separate calls
                                  need a counter each */
    const float *grad_scale;   /* replaces args.grad_scale */
    const float *clip;         /* a further factor of the gradients: the coefficient of quern_gradient_norm; NULL: 1 */
    const float *found_inf;    /* not 0, or NaN: the step is skipped; param, states, master, copy and step stay unchanged */
} quern_adam_control;

/* A list of tensors that was checked and divided once: see quern_adam_plan_create. */
typedef struct quern_adam_plan quern_adam_plan;

/*
 * One step of Adam over a list of tensors, in fp32, with the bias correction in double:
 *
 *   g = grad * clip / grad_scale, negated by maximize
 *   L2 mode:  g = g + weight_decay * p
 *   m = m + (1 - beta1) * (g - m)
 *   v = v + (1 - beta2) * (g * g - v)
 *   amsgrad:  v_max = max(v_max, v), which replaces v below (Reddi et al. 2018)
 *   p = p - (lr * m / (1 - beta1^step)) / (sqrt(v / (1 - beta2^step)) + eps) [- lr * weight_decay * p, AdamW mode]
 *
 * p is the master if there is one; the parameter is rounded from it.  The update uses m and v before they are rounded for
 * storage.  v_max is always rounded to nearest.  If m is 0 the quotient is 0, also with eps 0.  With eps 0 and a gradient so small
 * that its square underflows (about 1e-40 to 1e-22), v is 0 and m is not: the parameter becomes infinite, or NaN with lr 0.  Use
 * an eps above 0.  NaN and infinity in a gradient stay in their element.
 *
 * Random bits for stochastic rounding come from Philox4x32 (Salmon et al. 2011), keyed by (seed, low 32 bits of step, index of
 * the tensor in the list, index of the element in the tensor).  They repeat after 2^32 steps.  Every device, number of threads,
 * division of the work and rounding mode of the calling thread gives the same bits.  Eight elements share a block of eight 16-bit
 * values; m, v and the parameter of an element use different values.  A bf16 v needs stochastic rounding: with beta2 = 0.999 a
 * step changes v by less than half a bf16 unit in the last place, and rounding to nearest would freeze v.
 *
 * All tensors of a call have the same types.  Tensors of other types need another list and another call, with another seed: the
 * first tensors of two lists with one seed would share their random bits.
 *
 * master_dtype REMAINDER: a bf16 parameter and its remainder together are an fp32 master, in 4 bytes instead of 6.  The parameter
 * is the master rounded to nearest, ties toward zero (with ties to even a parameter would represent 65,537 masters, one more than
 * 16 bits can distinguish); the remainder is the master's low 16 bits.  A remainder of zeros means that the parameter is exact.
 *
 * The copy is rounded to nearest even from the master or, without one, from the parameter as stored.  In an 8-bit type a value
 * that is too large becomes the largest finite value.
 */
typedef struct quern_adam_args {
    uint32_t size;
    uint32_t tensor_size;        /* sizeof(quern_adam_tensor), which the initialiser sets, so that the tensor struct can grow too; 0
                                    is an error */
    quern_dtype param_dtype;     /* F32, F16 or BF16 */
    quern_dtype grad_dtype;      /* F32, F16 or BF16 */
    quern_dtype m_dtype;         /* F32, BF16, F16, E4M3 or E5M2 */
    quern_dtype v_dtype;         /* F32, BF16, F16, E4M3 or E5M2 */
    quern_dtype master_dtype;    /* NO_DTYPE, F32 (only for 16-bit parameters) or REMAINDER (only for BF16) */
    quern_adam_mode mode;
    const quern_adam_tensor *tensors;  /* [tensor_count], in host memory, read before the call returns; NULL with a plan */
    int64_t tensor_count;        /* below 2^32 */
    double lr;                   /* 0 or more; lr, eps, weight_decay and grad_scale are at most the largest fp32 */
    double beta1;                /* in [0, 1); the initialiser sets 0.9; 0: m is the gradient */
    double beta2;                /* in [0, 1); the initialiser sets 0.999; 0: v is its square */
    double eps;                  /* 0 or more; the initialiser sets 1e-8; 0: see above */
    double weight_decay;         /* 0 or more; 0: none */
    int64_t step;                /* counts from 1; 0 is an error, unless control.step, steps, or bias1 and bias2, replace it */
    uint64_t seed;               /* of stochastic rounding */
    quern_rounding param_rounding;
    quern_rounding m_rounding;   /* a BF16 m that is rounded to nearest stops short of the mean gradient: docs/adam.md.  With beta1 from
                                    0.99 on a line of the log says so, once for a plan or a handle */
    quern_rounding v_rounding;
    quern_adam_eps_mode eps_mode;
    int32_t amsgrad;             /* 1: AMSGrad, the tensors have v_max; 0: Adam */
    int32_t maximize;            /* 1: ascend the gradient; 0: descend it */
    int32_t zero_grads;          /* 1: gradients are set to zero after use, also if found_inf skips the step; 0: not written */
    int32_t use_multipliers;     /* 1: each tensor has its own lr_multiplier and weight_decay_multiplier; 0: both are 1 */
    quern_dtype copy_dtype;      /* NO_DTYPE, F16, BF16, E4M3 or E5M2 */
    double grad_scale;           /* above 0: the factor that the gradients contain, by which they are divided; 0: 1 */
    quern_adam_control control;
    quern_adam_plan *plan;       /* replaces tensors, which must be NULL, and tensor_count; made with the same dtypes, amsgrad,
                                    zero_grads, use_multipliers and copy_dtype */
    void *const *grads;          /* [tensors of the plan], in host memory, read before the call returns: the gradients of this call,
                                    which replace those of the plan; those of empty tensors are ignored.  NULL: those of the plan;
                                    NULL without a plan.  See quern_adam_plan_create */
    double bias1;                /* 1e-15 to 1: divides m, in the place of 1 - beta1^step; 0: from step */
    double bias2;                /* divides v, likewise.  With one of the two the random bits are those of step 1, so that each call
                                    needs a seed of its own; both replace step.  0 with control.step or steps */
    int64_t *steps;              /* [tensors], in the memory of the device: the steps that each tensor has taken.  Tensor i takes step
                                    steps[i] + 1, which the call stores unless it is skipped: for parameters that came later, or were
                                    frozen.  Replaces step and control.step, which must be NULL; NULL: one step for all.  The
                                    values are not checked */
} quern_adam_args;

#define QUERN_ADAM_ARGS_DEFAULTS(set) \
    set(tensor_size, sizeof(quern_adam_tensor)) set(beta1, 0.9) set(beta2, 0.999) set(eps, 1e-8)
#define QUERN_ADAM_ARGS_INIT QUERN_STRUCT_INIT(quern_adam_args, QUERN_ADAM_ARGS_DEFAULTS)

/* Sets *args to QUERN_ADAM_ARGS_INIT.  NULL does nothing.  Thread-safe. */
QUERN_API void quern_adam_args_init(quern_adam_args *args);

/*
 * Writes the bytes of workspace that quern_adam needs: 0 on a CPU or with a plan, else 16 with control.step and 16 for each tensor
 * with steps.  Thread-safe.
 * Errors: 1xxx about the arguments.
 */
QUERN_API quern_status quern_adam_workspace(const quern_device *device, const quern_adam_args *args, size_t *bytes);

/*
 * Takes the step described above.  Bytes moved per element: all-bf16 14, bf16 with fp32 master 20, all-fp32 28.  Without a plan
 * each call checks every tensor of the list on the host.  On a GPU a list of up to 512 tensors is one launch, and a longer one a
 * launch for each 512 (256 with amsgrad, zero_grads, a copy or scaled moments).  With a plan and without grads it is always
 * one launch.  With steps one more counts them.  A GPU takes up to 2^41 elements in a tensor.  Thread-safe; calls that run at the same time must not share tensors.
 * Errors: 1xxx about the arguments (step 0, beta outside [0, 1), NULL in a tensor that is not empty), QUERN_NOT_PREPARED,
 * QUERN_NO_KERNEL (the detail contains the `./quern gen add` command that adds the kernel), QUERN_CUDA_ERROR (a list of several
 * launches may have been stepped in part).
 */
QUERN_API quern_status quern_adam(quern_device *device, const quern_adam_args *args, void *workspace, size_t workspace_bytes,
                                  void *stream);

/*
 * Writes the name of the kernel that serves these arguments, and the reason against each earlier row.  The buffer is filled and the
 * length returned as by quern_error_detail.  Thread-safe.
 */
QUERN_API size_t quern_adam_explain(const quern_device *device, const quern_adam_args *args, char *buffer, size_t bytes);

/*
 * Makes a plan, which serves any number of steps over one list of tensors: checks the list once, divides it into work items of
 * equal size and, on a GPU, stores the table in device memory, which the plan owns (about 8 bytes for every 2,048 elements and
 * 144 for every tensor).  Reads tensors, tensor_count, tensor_size, the dtypes, amsgrad, zero_grads, use_multipliers and
 * copy_dtype of the arguments and copies them: args and args.tensors may be freed, and later changes of the multipliers have no
 * effect.  The arrays of the tensors must stay in place; their values may change.  Waits until the table is in place; cannot be
 * captured.  QUERN_ADAM need not be prepared.  The caller destroys the plan.
 *
 * An engine whose gradients move passes their new addresses as args.grads of each call.  They are checked and compared as those of
 * a list without a plan, and nothing reads the plan's own, which may be freed.  On a GPU such a call takes as many launches as a
 * list, which carry the addresses: the plan does not change, and a captured graph keeps the addresses of its capture.
 *
 * A plan never changes, so threads may share it without a lock.  But all its steps write the same tensors: only one of them may
 * run at a time, over all threads and streams.  Thread-safe.
 * Errors: those of quern_adam about the list; QUERN_OUT_OF_MEMORY; QUERN_CUDA_ERROR.
 */
QUERN_API quern_status quern_adam_plan_create(quern_device *device, const quern_adam_args *args, quern_adam_plan **plan);

/*
 * Frees a plan, before its device is closed.  All its work must have completed.  NULL does nothing.  No other call may use the
 * plan at the same time or later.
 */
QUERN_API void quern_adam_plan_destroy(quern_adam_plan *plan);

/* ---- gradients: norm and accumulation ---- */

/*
 * A gradient and the sum to which it is added, each with `count` contiguous elements, in the memory of the device.  What a call
 * writes must not overlap another array; of a list with more than 512 arrays only those of each item are compared.
 */
typedef struct quern_gradient {
    void *grad;          /* args.grad_dtype */
    void *main_grad;     /* quern_accumulate: the sum, in args.main_dtype; must not overlap grad */
    int64_t count;       /* 0 is allowed */
} quern_gradient;

/*
 * The global norm of a list of gradients, for clipping and overflow detection, in one pass that reads them once:
 *
 *   norm = sqrt(sum of grad^2) / grad_scale
 *   clip = max_norm / (norm + 1e-6) if that is below 1, else 1 (as torch.nn.utils.clip_grad_norm_); 1 if max_norm is 0
 *   found_inf = 1 if any gradient is infinite or NaN, else unchanged: set it to 0 before the call
 *
 * Squares are summed in a fixed order, without overflow or loss: the bits are the same from run to run and for any number of
 * threads, and two devices differ by at most 1e-6 of the norm.  If found_inf becomes 1, clip is 0 and norm is infinite or NaN.
 * If gradients are finite and their norm is beyond fp32, norm is infinite and clip is correct.  The norm of no elements is 0.
 */
typedef struct quern_gradient_norm_args {
    uint32_t size;
    uint32_t gradient_size;      /* sizeof(quern_gradient), which the initialiser sets; 0 is an error */
    quern_dtype grad_dtype;      /* F32, F16 or BF16 */
    const quern_gradient *gradients;  /* [gradient_count], in host memory, read before the call returns; main_grad is not used */
    int64_t gradient_count;      /* below 2^32 */
    const quern_adam_plan *plan; /* replaces gradients: those of the plan.  No array of it may overlap an output or the workspace */
    double max_norm;             /* >= 0; 0: no clipping */
    double grad_scale;           /* > 0; 0: 1 */
    const float *grad_scale_pointer;  /* [1], in the memory of the device, not checked: replaces grad_scale; NULL: not used */
    float *norm;                 /* [1] each, in the memory of the device; NULL: not written */
    float *clip;
    float *found_inf;
    void *const *grads;          /* as in quern_adam_args; not written */
} quern_gradient_norm_args;

#define QUERN_GRADIENT_NORM_ARGS_DEFAULTS(set) \
    set(gradient_size, sizeof(quern_gradient))
#define QUERN_GRADIENT_NORM_ARGS_INIT QUERN_STRUCT_INIT(quern_gradient_norm_args, QUERN_GRADIENT_NORM_ARGS_DEFAULTS)

/* Sets *args to QUERN_GRADIENT_NORM_ARGS_INIT.  NULL does nothing.  Thread-safe. */
QUERN_API void quern_gradient_norm_args_init(quern_gradient_norm_args *args);

/*
 * Writes the bytes of workspace that quern_gradient_norm needs: about 8 for every 2,048 elements of a tensor on a GPU, or just 8 for
 * every 65,536 on a CPU, rounded up for each tensor.  Thread-safe.
 * Errors: 1xxx about the arguments.
 */
QUERN_API quern_status quern_gradient_norm_workspace(const quern_device *device, const quern_gradient_norm_args *args,
                                                     size_t *bytes);

/*
 * Computes the norm described above.  QUERN_ADAM must be prepared.  Thread-safe.  Errors: as quern_adam;
 * QUERN_WORKSPACE_TOO_SMALL.
 */
QUERN_API quern_status quern_gradient_norm(quern_device *device, const quern_gradient_norm_args *args, void *workspace,
                                           size_t workspace_bytes, void *stream);

/* A list of gradients and their sums that was checked and divided once: see quern_accumulate_plan_create. */
typedef struct quern_accumulate_plan quern_accumulate_plan;

/*
 * main_grad = main_grad + scale * grad for a list of gradients, in fp32, rounded once (with a BF16 main_grad once more, to nearest
 * even): data parallelism with 16-bit gradients and fp32 accumulation.  Infinity and NaN follow fp32 addition.
 *
 * With overwrite main_grad = scale * grad, rounded as above.  Then main_grad is not read: the first micro-batch of a step needs no
 * pass that sets the sums to zero.
 *
 * With token_counts each gradient belongs to a group of a grouped matrix product, such as an expert.  A product whose group has no
 * tokens has not written its gradient.  So for a count of 0 or less the gradient is neither read nor written, not even with
 * zero_grads, and main_grad keeps its bytes; with overwrite it becomes +0, since its values are of the step before.
 *
 * Bytes moved per 16-bit element: 10 with an F32 main_grad, 6 with a BF16 one; 6 and 4 with overwrite; 2 more with zero_grads;
 * none for a group without tokens.
 */
typedef struct quern_accumulate_args {
    uint32_t size;
    uint32_t gradient_size;      /* sizeof(quern_gradient), which the initialiser sets; 0 is an error */
    quern_dtype grad_dtype;      /* F32, F16 or BF16 */
    int32_t zero_grads;          /* 1: grad is set to zero after use; 0: it is only read */
    const quern_gradient *gradients;  /* [gradient_count], in host memory, read before the call returns; NULL with a plan */
    int64_t gradient_count;      /* below 2^32; not read with a plan */
    double scale;                /* within the range of fp32; the initialiser sets 1; 0: gradients are multiplied by 0 */
    quern_dtype main_dtype;      /* F32 or BF16; NO_DTYPE: F32 */
    int32_t overwrite;           /* 1: main_grad is overwritten, as described above; 0: it is added to */
    const quern_accumulate_plan *plan;  /* replaces gradients, gradient_count, group_count and token_places; made with the same
                                    dtypes and zero_grads */
    const int32_t *overwrite_flags;  /* [gradient_count], in the memory of the device: other than 0: overwrites this main_grad;
                                    replaces overwrite; NULL: not used */
    const int64_t *token_counts; /* [group_count], in the memory of the device: tokens of each group; NULL: every gradient counts */
    int64_t group_count;         /* below 2^31; not read without token_counts */
    const int32_t *token_places; /* [gradient_count], in host memory, read before the call returns: the index of each gradient's
                                    group, -1: it has none and always counts; NULL: gradient i has group i; NULL with a plan; not
                                    read without token_counts */
    void *const *grads;          /* as in quern_adam_args; the sums are those of the plan */
} quern_accumulate_args;

#define QUERN_ACCUMULATE_ARGS_DEFAULTS(set) \
    set(gradient_size, sizeof(quern_gradient)) set(scale, 1.0) set(main_dtype, QUERN_F32)
#define QUERN_ACCUMULATE_ARGS_INIT QUERN_STRUCT_INIT(quern_accumulate_args, QUERN_ACCUMULATE_ARGS_DEFAULTS)

/* Sets *args to QUERN_ACCUMULATE_ARGS_INIT.  NULL does nothing.  Thread-safe. */
QUERN_API void quern_accumulate_args_init(quern_accumulate_args *args);

/*
 * Accumulates as described above.  On a GPU a list is one launch for each 896 gradients; with a plan and without grads it is one launch, which
 * a graph can capture: replays read new flags and counts.  QUERN_ADAM must be prepared.  Thread-safe; calls that run at the same
 * time must not share arrays.
 * Errors: as quern_adam.
 */
QUERN_API quern_status quern_accumulate(quern_device *device, const quern_accumulate_args *args, void *stream);

/*
 * Makes a plan, which serves any number of accumulations over one list of gradients: checks the list once, compares all of its
 * arrays and, on a GPU, stores the list and its work items in device memory, which the plan owns (about 8 bytes for every 2,048
 * elements and 32 for every gradient).  Reads gradients, gradient_count, gradient_size, the dtypes, zero_grads, group_count and
 * token_places of the arguments and copies them; with group_count 0 no call can have token_counts, and token_places is not read.
 * The arrays must stay in place; their values may change.  Waits until the table is in place; cannot be captured.  QUERN_ADAM need
 * not be prepared.  The caller destroys the plan.
 *
 * A plan never changes, so threads may share it without a lock.  But all its calls write the same sums: only one of them may run at
 * a time, over all threads and streams.  Thread-safe.
 * Errors: those of quern_accumulate about the list; QUERN_OUT_OF_MEMORY; QUERN_CUDA_ERROR.
 */
QUERN_API quern_status quern_accumulate_plan_create(quern_device *device, const quern_accumulate_args *args,
                                                    quern_accumulate_plan **plan);

/*
 * Frees a plan, before its device is closed.  All its work must have completed.  NULL does nothing.  No other call may use the
 * plan at the same time or later.
 */
QUERN_API void quern_accumulate_plan_destroy(quern_accumulate_plan *plan);

/* ---- saving and loading a state ---- */

/*
 * A saved state is one block of bytes, little-endian, identical for the same state on every device:
 *
 *   header, 64 bytes:  "QUERNADM", uint32 version (1, or 2 with steps), uint32 dtypes of param, m, v, master, uint32 amsgrad, int64
 *                      tensor_count, int64 step, uint64 seed, 8 bytes zero
 *   counts:            int64 for each tensor, then zeros up to a multiple of 64 bytes
 *   steps:             version 2: likewise, args.steps
 *   each tensor:       m, m_scale, v, v_scale, v_max, v_max_scale, master (those that exist), each followed by zeros up to a
 *                      multiple of 64 bytes
 *   closing:           uint64, the FNV-1a hash (64-bit) of all preceding bytes
 *
 * The engine saves the parameters.  With a REMAINDER master the saved master includes their 16 bits.
 *
 * The three functions below read the same arguments as quern_adam_plan_create, or use the plan of the arguments.  Gradients, copies
 * and multipliers are no part of a state: their options must be valid, but their arrays are not read.  QUERN_ADAM need not be
 * prepared.
 */

/* Writes the bytes of the saved state of these tensors.  Thread-safe.  Errors: those of quern_adam about the list. */
QUERN_API quern_status quern_adam_saved_bytes(const quern_device *device, const quern_adam_args *args, size_t *bytes);

/*
 * Saves the state of the tensors to host memory of `bytes` bytes, at any address outside the tensors, with args.step and
 * args.seed.  If control.step counts the steps, copy its value to args.step first.  Waits for the copy; work on the tensors must
 * have completed.  Saving a loaded state gives the same bytes.  Thread-safe.
 * Errors: QUERN_INVALID_ARGUMENT if bytes differs from quern_adam_saved_bytes; those of quern_adam about the list;
 * QUERN_OUT_OF_MEMORY; QUERN_CUDA_ERROR, after which `saved` holds no valid state.
 */
QUERN_API quern_status quern_adam_save(quern_device *device, const quern_adam_args *args, void *saved, size_t bytes);

/*
 * Loads a saved state into the tensors and writes its step and seed (either pointer may be NULL).  The next step to take is the
 * saved one plus 1.  args.steps receives the saved steps or, of a version 1, the saved step for each tensor; a version 2 cannot be
 * loaded without it.  The counts of the tensors must be the saved ones.  The dtypes of param, m, v and master may differ: values
 * are then converted through fp32, rounded to nearest for any args.*_rounding; moments of the same dtype are copied.  A saved F32
 * or REMAINDER master is also rounded to param.  If no master was saved, param stays and a master starts equal to it.  If no
 * v_max was saved, v_max starts equal to v.  Waits for the copy; work on the tensors must have completed.  Thread-safe.
 * Errors: QUERN_INVALID_ARGUMENT if the bytes are no saved state, are damaged or belong to other tensors; QUERN_CUDA_ERROR, after
 * which tensors may be loaded in part; QUERN_OUT_OF_MEMORY.
 */
QUERN_API quern_status quern_adam_load(quern_device *device, const quern_adam_args *args, const void *saved, size_t bytes,
                                       int64_t *step, uint64_t *seed);

/* ---------------------------------------------------------------------------------------------- */
/* Quantisation                                                                                   */
/* ---------------------------------------------------------------------------------------------- */

/*
 * A tensor and its 8-bit forms, each with `count` contiguous elements, in the memory of the device.  What a call writes must not
 * overlap another array; in a list without a plan of more than 256 tensors, 170 if one is transposed or 102 in blocks, those of two
 * tensors are not compared.
 */
typedef struct quern_quantize_tensor {
    const void *input;   /* args.input_dtype; tensors may share it */
    void *output;        /* args.output_dtype; not used by quern_quantize_amax.  NULL with transposed: not written */
    int64_t count;       /* 0 is allowed */
    int64_t columns;     /* of the tensor as a matrix: count = rows * columns; read with transposed and in blocks, if count > 0 */
    void *transposed;    /* [columns, rows], args.output_dtype: the matrix with rows and columns exchanged; NULL: not written */
    uint8_t *block_scales;  /* of QUERN_SCALING_MX: [rows, ceil(columns / 32)], the scales of output */
    uint8_t *transposed_block_scales;  /* of QUERN_SCALING_MX: [columns, ceil(rows / 32)], the scales of transposed */
} quern_quantize_tensor;

/* What shares a scale. */
typedef enum quern_scaling {
    QUERN_SCALING_DEFAULT = 0,
    QUERN_SCALING_TENSOR = 1,    /* a tensor */
    QUERN_SCALING_MX = 2         /* 32 elements of a row beside each other, as in the formats MXFP8 */
} quern_scaling;

/* A list of tensors that was checked and divided once: see quern_quantize_plan_create. */
typedef struct quern_quantize_plan quern_quantize_plan;

/*
 * A list of tensors in 8 bits, each with one scale from its largest magnitude.  For tensor i, in fp32:
 *
 *   amax[i] = the largest |x|, without NaN; 0 without elements
 *   scale[i] = largest / max(amax[i], eps), where largest is 448 in E4M3 and 57,344 in E5M2; at most the largest fp32.  1 if the
 *              divisor is 0, infinite or NaN.  With power_of_two the next power of two towards 0
 *   scale_inv[i] = 1 / scale[i]
 *   output = x * scale[i], rounded to fp32 and then to output_dtype; what is too large becomes the largest finite value, infinity
 *            too.  NaN stays NaN, in its element
 *
 * These are the bits of TransformerEngine's current scaling.  A scale_inv may be subnormal: below an amax of 5.3e-36 in E4M3 and
 * 6.7e-34 in E5M2.  A product with the 8-bit values then must not flush subnormals.
 *
 * Random bits for stochastic rounding are those of quern_adam, with 16 for each element, keyed by (seed, low 32 bits of offset,
 * index of the tensor in the list, index of the element in the tensor).  Calls with the same seed need different offsets, and other
 * seeds than calls of quern_adam.
 *
 * With QUERN_SCALING_MX each 32 elements of a row, or the last ones of it, are a block with a scale in E8M0, 2^(scale - 127), whose
 * amax skips NaN:
 *
 *   scale = 0 to 254, the least by which amax / 2^(scale - 127) is at most largest, so that no value saturates; 254 with infinity
 *   output = x / 2^(scale - 127), rounded as above
 *
 * transposed has blocks of its rows, which are columns of the input, with other scales.  amax, scale, scale_inv, eps and
 * power_of_two are not used and history must be NULL.  These are the scales of cuBLAS and TransformerEngine (docs/quantize.md).
 *
 * With a history the scaling is delayed: the scale follows from the largest amax of the last history_length calls instead of this
 * one's, so that the input is read once.  Infinite ones and NaN are left out; if no other is above 0, the scale stays as it is.  So
 * scale is required, and set to 1 before the first call: one that is no positive finite number counts as 1.  The call moves
 * history[k] to history[k + 1], forgets the last one and writes its own amaxes to history[0] and amax.  A history begins with zeros.
 * Ranks that share a scale reduce history[0] after each call.
 */
typedef struct quern_quantize_args {
    uint32_t size;
    uint32_t tensor_size;        /* sizeof(quern_quantize_tensor), which the initialiser sets, so that the struct can grow; 0 is an
                                    error */
    quern_dtype input_dtype;     /* F32, F16 or BF16 */
    quern_dtype output_dtype;    /* E4M3 or E5M2 */
    const quern_quantize_tensor *tensors;  /* [tensor_count], in host memory, read before the call returns; NULL with a plan */
    int64_t tensor_count;        /* below 2^32; not read with a plan */
    float *amax;                 /* [tensor_count], in the memory of the device, like the arrays below */
    float *scale;                /* [tensor_count]; NULL: not written; required with a history, which may keep it */
    float *scale_inv;            /* [tensor_count]; NULL: not written */
    double eps;                  /* 0 or more, within the range of fp32 */
    int32_t power_of_two;        /* 1: scales are powers of two; 0: any */
    quern_rounding rounding;     /* DEFAULT: nearest, ties to even */
    uint64_t seed;               /* of stochastic rounding, like offset */
    uint64_t offset;             /* a number of the call */
    const uint64_t *offset_pointer;  /* [1]: replaces offset, so that replays of a graph differ; NULL: not used */
    const float *noop;           /* [1]: not 0, or NaN: nothing is written (TransformerEngine: exactly 1); NULL: not used */
    float *history;              /* [history_length, tensor_count]: delayed scaling, as described above.  Only for quern_quantize.
                                    NULL: current scaling */
    int64_t history_length;      /* 1 to 65,536; not read without history */
    const quern_quantize_plan *plan;  /* replaces tensors and tensor_count; made with the same dtypes and scaling */
    quern_scaling scaling;       /* DEFAULT: TENSOR */
} quern_quantize_args;

#define QUERN_QUANTIZE_ARGS_DEFAULTS(set) \
    set(tensor_size, sizeof(quern_quantize_tensor))
#define QUERN_QUANTIZE_ARGS_INIT QUERN_STRUCT_INIT(quern_quantize_args, QUERN_QUANTIZE_ARGS_DEFAULTS)

/* Sets *args to QUERN_QUANTIZE_ARGS_INIT.  NULL does nothing.  Thread-safe. */
QUERN_API void quern_quantize_args_init(quern_quantize_args *args);

/*
 * Writes the bytes of workspace that the functions below need: 8 for each tensor on a GPU, 0 on a CPU, with a plan or in blocks.
 * Pointers in args may still be NULL, except for tensors.  Thread-safe.
 * Errors: 1xxx about the arguments.
 */
QUERN_API quern_status quern_quantize_workspace(const quern_device *device, const quern_quantize_args *args, size_t *bytes);

/*
 * Quantises the tensors as described above.  On a GPU a list of up to 1,024 tensors takes two launches, and a longer one as many for
 * each 1,024, but the first launch with a history takes any number.  The second launch of a list with a transposed tensor, and the
 * only one of a list in blocks, takes up to 438 tensors.  With a plan it is always two, or one in blocks, which a graph can capture.
 * Bytes moved per 16-bit element: 5, or 3 where the tensors fit in the cache, with a history or in blocks; 1 more with both output
 * and transposed.  A history is read and moved once a call: 8 bytes for each of its numbers.  Thread-safe; calls that run at the same
 * time must not share arrays that they write, or a plan.
 * Errors: 1xxx about the arguments, QUERN_NOT_SUPPORTED, QUERN_NOT_PREPARED, QUERN_NO_KERNEL, QUERN_CUDA_ERROR.
 */
QUERN_API quern_status quern_quantize(quern_device *device, const quern_quantize_args *args, void *workspace,
                                      size_t workspace_bytes, void *stream);

/*
 * The same in two steps, between which the amaxes, which are contiguous, can be reduced over ranks in one exchange:
 *
 *   amax       reads the inputs; writes amax
 *   cast       reads amax and the inputs; writes the outputs, scale and scale_inv.  It needs no workspace
 *
 * Each step ignores the pointers that it does not use, but checks all numbers.  Blocks have no steps: QUERN_INVALID_ARGUMENT.
 * Thread-safe, as above.  Errors: as quern_quantize.
 */
QUERN_API quern_status quern_quantize_amax(quern_device *device, const quern_quantize_args *args, void *workspace,
                                           size_t workspace_bytes, void *stream);
QUERN_API quern_status quern_quantize_cast(quern_device *device, const quern_quantize_args *args, void *stream);

/*
 * Writes the name of the kernel that casts, and the reason against each earlier row.  The buffer is filled and the length returned
 * as by quern_error_detail.  Thread-safe.
 */
QUERN_API size_t quern_quantize_explain(const quern_device *device, const quern_quantize_args *args, char *buffer, size_t bytes);

/*
 * Makes a plan, which serves any number of calls over one list of tensors: checks the list once, compares all of its arrays and, on
 * a GPU, stores the list and its work items in device memory, which the plan owns (about 8 bytes for every 2,048 elements and 40
 * for every tensor; with transposed tensors 8 and 56 more, in blocks 8 and 56).  Reads tensors, tensor_count, tensor_size, the
 * dtypes and the scaling of the arguments and copies them.  The arrays must stay in place; their values may change.  Waits until the
 * table is in place; cannot be captured.  QUERN_QUANTIZE need not be prepared.  The caller destroys the plan.
 *
 * Only one call may use a plan at a time, over all threads and streams.  Thread-safe.
 * Errors: those of quern_quantize about the list; QUERN_OUT_OF_MEMORY; QUERN_CUDA_ERROR.
 */
QUERN_API quern_status quern_quantize_plan_create(quern_device *device, const quern_quantize_args *args,
                                                  quern_quantize_plan **plan);

/*
 * Frees a plan, before its device is closed.  All its work must have completed.  NULL does nothing.  No other call may use the
 * plan at the same time or later.
 */
QUERN_API void quern_quantize_plan_destroy(quern_quantize_plan *plan);

/* ---------------------------------------------------------------------------------------------- */
/* Ranks                                                                                          */
/* ---------------------------------------------------------------------------------------------- */

/*
 * A group is a set of ranks that work together.  A rank is a thread with a CPU device, or a GPU.  The ranks of a group are all
 * CPUs or all GPUs, of one or several processes, of one host or of several (quern_hosts_args).  Ranks on CPUs reach those of
 * other hosts by TCP or by a carrier of the engine (quern_carrier).  Ranks on GPUs reach their memory if one NVLink fabric joins the
 * GPUs (CU_MEM_HANDLE_TYPE_FABRIC, as NCCL's MNNVL; GB200 NVL72, for instance): then all that is said below of GPUs of one host is
 * true of them.  Else they go over NCCL.  A handle is one rank's membership.
 *
 *   - Every rank of the group (or every named member) must make each collective call, in the same order.
 *   - Calls on one handle must not overlap in time, except quern_group_abort, quern_group_report, quern_group_rank and
 *     quern_group_size, which any thread may call at any time.  Calls on different handles are thread-safe.
 *   - A thread that drives several GPUs has a handle for each.  The collective calls that wait on the host (create, split,
 *     symmetric memory, plans) therefore take arrays: the thread passes all its handles in one call.  A CPU rank passes one.
 *   - Every wait has a time limit in seconds: that of the call, else of the group.  INFINITY is no limit: the wait ends when the
 *     ranks arrive, one of them is lost or another rank poisons the group.  After the limit, or when a rank is lost, the group is
 *     poisoned: this call and every later call on any rank returns the same status at once, with a detail that names the first
 *     missing ranks, their last epoch and phase, and the time waited; quern_group_report has all ranks and quern_group_missing
 *     has them as a mask.  The process, its CUDA contexts and other groups stay usable.  Destroy the group and create another.  A
 *     rank that has not yet seen the error may still read this rank's input and write its output until that rank's call has
 *     returned.
 *   - On GPUs a barrier or all-to-all is enqueued and returns.  If its wait expires on the device, or a rank for which it waits is
 *     lost or has left, the kernel records an error and exits normally; the next call on the group, or quern_group_status, returns
 *     the error.  Where a display's watchdog ends long kernels, a wait on the device takes at most 2 seconds.
 *   - A launch of a graph with calls over NCCL has the limits of its calls.  After a failure it ends at once and moves nothing:
 *     quern_group_status tells it.
 *   - If an error of the driver ends the CUDA context of a rank, its call returns QUERN_CUDA_ERROR, and the others get
 *     QUERN_PEER_LOST at once, with the driver's text.
 *   - A GPU rank has one block that waits for other ranks.  Groups on the same GPUs therefore run beside each other and beside the
 *     engine's kernels, in any order of their launches.  The groups of a process whose waiting blocks would not have room together
 *     are refused at creation.  Where the streams of a GPU have fewer hardware queues than groups, as with
 *     CUDA_DEVICE_MAX_CONNECTIONS=1, every rank must launch the calls of all its groups in the same order.
 *   - Any function below can return the status of a poisoned group (4xxx).
 *   - A rank is lost when its process ends or calls exec; a thread that returns without quern_group_destroy is missed only when a
 *     limit ends.  In a child of fork the copies of handles do nothing: QUERN_INVALID_ARGUMENT names the process that created them.
 *   - In a group of several hosts a rank is also lost when its host is silent for too long (quern_hosts_args.failure_timeout), or when the
 *     process of its host's lowest rank ends.  Details name the host by its address.  If ranks of several hosts find errors at the
 *     same time, all return the same one, unless a host ends meanwhile.
 *   - What other processes write into the group's shared memory is checked before a rank acts on it: stray writes of a process of
 *     the same user give a status.  Data is not checked.
 */

/*
 * The most ranks.  QUERN_MAX_RANKS: of a group of one host, of GPUs that reach each other's memory, and of each host of a group of
 * several.  QUERN_MAX_HOSTS_RANKS: of a group of several hosts, of which more than 64 CPUs need a carrier or UCX.  More than 128 GPUs
 * go over NCCL, where a reduction of more members is of F32 or a maximum: a sum in 16 bits would be rounded on the way.
 */
enum { QUERN_MAX_RANKS = 128, QUERN_MAX_HOSTS_RANKS = 512 };

typedef struct quern_group quern_group;

/*
 * Gathers bytes of all ranks, by means of the engine: mine [bytes] is the part of the rank that calls, all [ranks][bytes] gets those
 * of all ranks in their order.  Returns 0; any other number fails quern_group_create, whose detail contains it.
 */
typedef int (*quern_gather_facts)(void *user, const void *mine, size_t bytes, void *all);

/*
 * Start a message of bytes to, or from, a rank of the group, and write to *request by what it is known: MPI_Isend and MPI_Irecv, for
 * instance.  Return 0, or the number of an error.  Messages of a pair of ranks with the same tag meet in their order; the library has
 * no two under way at once.  A receive takes up to `bytes`; a longer message is an error.
 */
typedef int (*quern_carrier_send)(void *user, int rank, const void *data, size_t bytes, uint64_t tag, uint64_t *request);
typedef int (*quern_carrier_receive)(void *user, int rank, void *data, size_t bytes, uint64_t tag, uint64_t *request);

/*
 * Makes progress, and returns 1 if the message is over, writing the bytes that were received to *bytes, or 0 if it is still under way.
 * A negative number: it is over, and has failed.  A request that is over is not used again.
 */
typedef int (*quern_carrier_test)(void *user, uint64_t request, size_t *bytes);

/* Asks that a message be given up.  It is tested afterwards, and is over only when that says so. */
typedef void (*quern_carrier_cancel)(void *user, uint64_t request);

/*
 * Means of the engine by which data goes between CPU ranks of several hosts; include/quern_mpi.h has those of MPI.  All functions are
 * called by the thread that is in a call on the group, or with quern_group_args.progress also by a thread of the library, and none
 * after quern_group_destroy.  They must not wait for another rank.  Each
 * group needs a carrier of its own, whose messages no receive of another one gets.
 */
typedef struct quern_carrier {
    uint32_t size;
    int32_t threads;         /* 1: several threads may be inside the functions at once; 0: only one thread of the process at a time,
                                and a group with two ranks of one process does not use it */
    const char *name;        /* in reports: 1 to 15 characters as in quern_group_args.name, and not "sockets" or "ucx" */
    void *user;              /* passed to the functions */
    uint64_t tags;           /* tags are 0 to tags - 1; at least 1,024 */
    uint64_t longest;        /* the most bytes of a message; at least 8,192 */
    int32_t borrows;         /* 1: gets the memory of exchanges, so that nothing is copied: see quern_group_destroy.  0: gets memory
                                of the library only, as transfers give it in any case */
    quern_carrier_send send;
    quern_carrier_receive receive;
    quern_carrier_test test;
    quern_carrier_cancel cancel;
} quern_carrier;

#define QUERN_CARRIER_INIT QUERN_STRUCT_INIT(quern_carrier, QUERN_NO_DEFAULTS)

/* Sets *carrier to QUERN_CARRIER_INIT.  NULL does nothing.  Thread-safe. */
QUERN_API void quern_carrier_init(quern_carrier *carrier);

/*
 * How the ranks of a group of several hosts find each other, and how data goes between them.  Ranks on GPUs need one NVLink fabric
 * and an IMEX channel in each process, or NCCL 2.18 or newer (libnccl.so.2, or the file that QUERN_NCCL names), and the fields for
 * data (carrier, transports) stay empty for them.  The fabric is taken if all ranks can export, import and map a handle of each
 * other's memory; quern_group_report has the way, and the reason against the fabric.
 */
typedef struct quern_hosts_args {
    uint32_t size;
    int32_t host_ranks;      /* how many of the ranks are of this host (LOCAL_WORLD_SIZE of launchers): 1 to QUERN_MAX_RANKS */
    const char *meet;        /* an address of rank 0's host, "10.77.0.1:4711" or "[fd00::1]:4711", the same on every rank: rank 0's
                                host listens there while the group is created.  Each rank then listens at a port of its own for
                                those of other hosts; the environment variable QUERN_PORTS=FIRST-LAST gives a range.
                                With all_gather: the address of this host, without a port, at which this rank listens; NULL: all
                                of the machine, of which others call one in a network that they share */
    const void *secret;      /* [secret_bytes], the same on every rank.  Both ends of each connection prove that they know it, the
                                caller first, and messages that form the group are authenticated with it.  Later messages are
                                neither authenticated nor encrypted: use a network that is yours */
    size_t secret_bytes;     /* 16 or more, random: guesses can be tried on a recorded connection */
    const char *host;        /* 1 to 15 characters as in quern_group_args.name: ranks of one machine that give the same one share
                                memory, and others do not.  NULL: all of the machine do */
    quern_gather_facts all_gather;  /* CPU ranks, in place of meet: called once by each rank, on the thread that creates the group,
                                when the ranks of its host have met or have failed to.  include/quern_mpi.h has that of MPI.
                                NULL: none */
    void *all_gather_user;   /* its user */
    const quern_carrier *carrier;  /* CPU ranks: carries exchanges and transfers between hosts.  Copied; what it points to lives
                                until quern_group_destroy.  The same numbers on every rank.  NULL: none */
    const char *transports;  /* CPU ranks: what may carry data between hosts, separated by commas: the name of the carrier, "ucx",
                                "sockets".  The first one in this order is taken that works on all ranks, and the report gives the
                                reason against each one before it.  If none works, quern_group_create fails.  The same on every
                                rank.  NULL: the carrier, if there is one, then sockets.  Sockets serve up to 64 ranks: a larger
                                group gets QUERN_NOT_SUPPORTED on all ranks if nothing else works.
                                ucx opens libucp.so.0 (UCX 1.12 or newer), or the file that QUERN_UCX names.  It is not loaded
                                unless the program was started with UCX_MEM_EVENTS=n, UCX_HANDLE_ERRORS=none, UCX_DEBUG_SIGNO=0,
                                UCX_VFS_ENABLE=n and UCX_LOG_LEVEL=fatal, because UCX would otherwise hook mmap, install
                                signal handlers and print */
    double failure_timeout;  /* seconds for which the network may be down, 0.2 to 3,600, the same on every rank; groups of a split
                                or a shrink inherit it.  A host from which no heartbeat has arrived for a sixth longer, or a second
                                longer but at most twice as long, is lost.  Hosts must reach each other by UDP for that, too.
                                0: 10 */
} quern_hosts_args;

#define QUERN_HOSTS_ARGS_INIT QUERN_STRUCT_INIT(quern_hosts_args, QUERN_NO_DEFAULTS)

/* Sets *args to QUERN_HOSTS_ARGS_INIT.  NULL does nothing.  Thread-safe. */
QUERN_API void quern_hosts_args_init(quern_hosts_args *args);

typedef struct quern_group_args {
    uint32_t size;
    int rank;                /* in [0, ranks) */
    int ranks;               /* 1 to QUERN_MAX_RANKS; of several hosts up to QUERN_MAX_HOSTS_RANKS */
    const char *name;        /* where the ranks meet: 1 to 200 letters, digits, '.', '_' or '-'.  Each user has names of their own.
                                The name is free again when all have met.  NULL is allowed for a single rank */
    quern_device *device;    /* must stay open as long as the group; a GPU needs quern_prepare(device, QUERN_BARRIER) first */
    double timeout;          /* seconds, the limit of every wait; 0: 60 for CPU ranks, 1,800 for GPU ranks */
    int32_t share_gpu;       /* 1: several ranks may use one GPU; without MPS only ranks of one process run there at once.  Each of
                                those needs a stream of its own, not a default stream, and there must be as many hardware queues
                                as ranks (CUDA_DEVICE_MAX_CONNECTIONS, 8 if it is not set).  0: one rank per GPU */
    uint32_t first_epoch;    /* the first value of the barriers' counters, the same on every rank; for tests of their wrap-around */
    double first_timeout;    /* seconds, in place of timeout for the creation and for all waits until the rank's first barrier,
                                all-to-all or collective has succeeded (GPU: has been enqueued): other ranks may still load or
                                compile.  The runs of a plan have timeout.  0: the same as timeout */
    uint64_t job;            /* a number of this attempt at the job, the same on every rank: ranks of another attempt, which may
                                still be ending, are not met under the name.  0: none */
    int32_t multicast;       /* 1: memory of quern_symmetric_alloc gets an address for quern_symmetric_multicast, if all ranks ask
                                for it and the GPUs can.  0: none; barriers go by multicast where they can in any case */
    const quern_hosts_args *hosts;  /* ranks of several hosts.  Copied.  NULL: all ranks are of this host */
    int32_t progress;        /* 1: threads of the library move the bytes of this rank's transfers while it makes no call on
                                them: one for ranks of its host, one for those of others.  They sleep while there is nothing to
                                move.  quern_transfer_wait_on needs them.  Each rank chooses for itself; groups of a split or a
                                shrink inherit it.  0: none */
    int progress_core;       /* the processor on which they run, 0 to 1,023; -1: any */
} quern_group_args;

#define QUERN_GROUP_ARGS_DEFAULTS(set) set(progress_core, -1)
#define QUERN_GROUP_ARGS_INIT QUERN_STRUCT_INIT(quern_group_args, QUERN_GROUP_ARGS_DEFAULTS)

/* Sets *args to QUERN_GROUP_ARGS_INIT.  NULL does nothing.  Thread-safe. */
QUERN_API void quern_group_args_init(quern_group_args *args);

/*
 * Creates a group and writes its handles to groups[0..count).  Collective.  args and groups are arrays of the `count` ranks that
 * the calling thread drives: 1, or several GPUs.  Processes meet in POSIX shared memory, /dev/shm/quern.USER.JOB.NAME (decimal
 * numbers), with permissions 0600.  Remains of an ended run are replaced.  The name is removed when the call returns.  While another
 * process has the place of the rank, the call waits for its end, up to the limit.  The caller destroys each handle.
 * Errors: 1xxx about the arguments (a rank that is taken); QUERN_NOT_PREPARED; QUERN_NOT_SUPPORTED (CPUs and GPUs mixed; one GPU
 * for two ranks without share_gpu, or with fewer hardware queues than ranks; no room on a GPU for the waiting blocks of all groups
 * of the process; several GPUs driven by one thread under CUDA_LAUNCH_BLOCKING=1; progress with a carrier whose
 * `threads` is 0); QUERN_SYSTEM_ERROR (no space in or no access to /dev/shm, a name that belongs to another user, no thread for
 * progress); QUERN_OUT_OF_MEMORY; QUERN_CUDA_ERROR; QUERN_PEER_TIMEOUT with the missing ranks;
 * QUERN_PEER_LOST; QUERN_PEER_MISMATCH (another number of ranks, another first_epoch or another failure_timeout).
 *
 * With hosts.meet the ranks of each host meet first, then one of them goes to that address for all.  Connections from other
 * programs are rejected and counted in quern_group_report.  Further errors: QUERN_SYSTEM_ERROR (the address is not one
 * of rank 0's host, there is no way to it, no descriptors are left); QUERN_PEER_TIMEOUT if rank 0's host does not take this one in,
 * for another secret, name or job for instance.
 *
 * With hosts.all_gather the ranks of each host meet first, and then the callback brings the facts of all ranks to all.  A rank that has
 * failed before calls it, too, so that all fail with its reason, and none waits in the callback; only a call that refuses its
 * arguments, or has no memory, does not.  The callback needs a limit of its own.  Further errors: QUERN_SYSTEM_ERROR (the callback
 * has failed on this rank); QUERN_PEER_MISMATCH (what it gave is not what the ranks of this group gave it).
 */
QUERN_API quern_status quern_group_create(const quern_group_args *args, int count, quern_group **groups);

/* Return this handle's rank, and the number of ranks; -1 if the pointer is no handle.  Thread-safe. */
QUERN_API int quern_group_rank(const quern_group *group);
QUERN_API int quern_group_size(const quern_group *group);

/*
 * Splits a group into new ones.  Collective; the thread passes all its handles.  Ranks of one colour form a new group, ordered by
 * key and then by their old rank.  A negative colour joins no group and gets NULL.  The new groups have the time limits and
 * devices of the old one.  Those of several hosts carry data over sockets, so they have at most 64 ranks.  The caller destroys each
 * new handle.
 * Errors: 1xxx about the arguments, and those of quern_group_create.
 */
QUERN_API quern_status quern_group_split(quern_group *const *groups, int count, const int *colours, const int *keys,
                                         quern_group **new_groups);

/*
 * Forms a new group of the ranks that live, after a failure or before a change.  Collective among the living; the thread passes all
 * its handles.  A group that has not failed is aborted with the reason "it is being shrunk", so that the other ranks come, too.
 * Ranks that have ended or destroyed their handles are left out, even if they end during the call, and so are those that have not
 * come when the group's first limit has ended.  All ranks that get a group get the same one.  They keep their order.  It has the time
 * limits and devices of the old one, and no symmetric memory.  The caller destroys each new handle, and the old ones.  A group can be
 * shrunk once.  The call ends within twice the limit.
 *
 * CPU ranks of several hosts need a quorum: more than half of the old group's ranks, or half of them with rank 0.  So of two parts
 * that do not reach each other one at most goes on.  Hosts that are silent are awaited for one and a half times the first
 * limit.  The new group carries data over UCX if the old one allowed that, else over sockets; never over a carrier, whose ranks may
 * have ended.  GPU ranks of several hosts: QUERN_NOT_SUPPORTED, and the group stays as it is.
 *
 * Errors: QUERN_PEER_TIMEOUT if the others have left this rank out, or if a process makes no progress; QUERN_PEER_LOST if there is no
 * quorum, or if a rank ends in the last meeting of hosts, when no other knows whether it has left it; QUERN_INVALID_ARGUMENT if the
 * group was shrunk before; those of quern_group_create.  A rank that gets an error is left out by the others.
 */
QUERN_API quern_status quern_group_shrink(quern_group *const *groups, int count, quern_group **new_groups);

/*
 * Destroys a handle.  Local: waits for this rank's own work on the device, not for other ranks.  If operations were captured, or
 * chunks awaited on a stream, it waits for all work of the GPU's context, since that may be pending.  A rank that still waits for this
 * one gets QUERN_PEER_LOST.  Frees symmetric memory that was not freed.  NULL does nothing.  The graphs with calls of the group over
 * NCCL are destroyed before.
 * After a call that has failed with 3xxx or 4xxx, a carrier that borrows memory may still read the input and write the output of
 * that call.  This takes them back: it cancels the messages and waits for their end, up to a second.  If the carrier does not give
 * one back, it destroys the handle and returns QUERN_PEER_LOST, whose detail names the rank: that memory, and all symmetric memory
 * of this rank, is then the carrier's and stays mapped.
 * Errors: QUERN_INVALID_ARGUMENT for a handle that is already destroyed, as in every other call; if operations were captured and a
 * stream of the context is being captured, or graphs have calls of the group over NCCL: the handle stays valid.
 */
QUERN_API quern_status quern_group_destroy(quern_group *group);

/*
 * Ends all waits of all ranks at once and poisons the group with QUERN_GROUP_ABORTED.  The details of all ranks contain the first
 * 160 characters of the reason.  NULL: no reason.  Thread-safe.
 */
QUERN_API quern_status quern_group_abort(quern_group *group, const char *reason);

/* Returns QUERN_OK, or the status with which the group is poisoned.  Reads the errors that GPUs have recorded; does not wait. */
QUERN_API quern_status quern_group_status(quern_group *group);

/*
 * Writes which ranks are missing: bit r % 64 of mask[r / 64] is 1 if rank r's process has ended, if it has destroyed its handle, or
 * if the group is poisoned because it had not arrived when a limit ended.  The rank of the handle is never missing.  Also of a group
 * that is not poisoned, and does not wait.
 * words: the length of mask, at least (ranks + 63) / 64; QUERN_MAX_HOSTS_RANKS / 64 words are always enough.  All are written.
 * Thread-safe.
 * Errors: QUERN_INVALID_ARGUMENT, QUERN_NULL_POINTER; never the status of a poisoned group.
 */
QUERN_API quern_status quern_group_missing(const quern_group *group, uint64_t *mask, int words);

/*
 * Writes one line for each rank: its process, device, last operation, phase and epoch, and the time it has spent there; of ranks of
 * other hosts as of a quarter of a second ago.  Of several hosts it also writes a line for each host, for each pair of them, and the
 * number of connections that were rejected at the place of meeting; of GPUs it states whether the switch adds sums of
 * QUERN_ORDER_ANY, or why not.  Use it to find out why a job is stuck.  The buffer is filled and the length returned as by
 * quern_error_detail.  Thread-safe.
 */
QUERN_API size_t quern_group_report(const quern_group *group, char *buffer, size_t bytes);

/* ---- barrier ---- */

typedef struct quern_barrier_args {
    uint32_t size;
    const int *members;      /* [member_count]: the ranks that take part, ascending, this one among them; NULL: all.  They need no
                                group of their own */
    int member_count;
    double timeout;          /* seconds; 0: the group's */
} quern_barrier_args;

#define QUERN_BARRIER_ARGS_INIT QUERN_STRUCT_INIT(quern_barrier_args, QUERN_NO_DEFAULTS)

/* Sets *args to QUERN_BARRIER_ARGS_INIT.  NULL does nothing.  Thread-safe. */
QUERN_API void quern_barrier_args_init(quern_barrier_args *args);

/*
 * Returns (CPU), or lets the stream continue (GPU), when all members have arrived.  Collective over the members.  Writes before
 * it are visible to every member after it.  args may be NULL: all ranks, the group's limit.  On a GPU it can be captured into a
 * graph and replayed.  Each pair of ranks counts the barriers in which both took part; the counters may wrap around.
 * Errors: 1xxx about the arguments, QUERN_CUDA_ERROR, 4xxx.
 */
QUERN_API quern_status quern_barrier(quern_group *group, const quern_barrier_args *args, void *stream);

/* Returns the bytes of one rank's signal pad in a group of this many ranks; 0 for an invalid number.  Thread-safe. */
QUERN_API size_t quern_barrier_bytes(int ranks);

/* ---- symmetric memory: memory that every rank of a group can access; each rank owns a part, at an address of its own ---- */

/*
 * Allocates bytes[i] for groups[i] and writes the address to pointers[i].  Collective.  256-byte aligned (2 MiB in GPU memory),
 * zeroed.  Sizes may differ between ranks.  A part of 0 bytes has an address too, which serves to find the peers' parts and to
 * free it.  If it fails on one rank, every rank gets that error with that rank's reason, nothing is kept, and the group stays
 * usable.  CPU ranks get an unnamed shared file, which does not need space in /dev/shm.  quern_symmetric_free frees the part; so
 * does quern_group_destroy.
 * Errors: 1xxx about the arguments, QUERN_OUT_OF_MEMORY, QUERN_SYSTEM_ERROR, QUERN_CUDA_ERROR, 4xxx.
 */
QUERN_API quern_status quern_symmetric_alloc(quern_group *const *groups, int count, const size_t *bytes, void **pointers);

/*
 * Frees this rank's part.  Local.  Work that is already enqueued on the stream may still use it and any peer's part.  The memory is
 * released when every rank has freed its part and that work has completed; on a GPU, in a later call about symmetric memory, groups
 * or devices if an operation of the process's ranks is pending now, or in a graph while the process has further ranks of the group.
 * Between hosts what has a multicast address is released by later calls of quern_symmetric_alloc or quern_symmetric_register, in each
 * of which the ranks tell each other up to four ranges that they have freed, or when all ranks have destroyed the group.
 * A later call with the pointer gets QUERN_INVALID_ARGUMENT.  On a CPU the stream is NULL.
 * Errors: QUERN_INVALID_ARGUMENT, QUERN_CUDA_ERROR, 4xxx.
 */
QUERN_API quern_status quern_symmetric_free(quern_group *group, void *pointer, void *stream);

/*
 * Makes the engine's own memory accessible to the group.  Collective; fast if all ranks have registered the same ranges together
 * before.  Takes any memory of CPU ranks of one process, and GPU memory of cuMemAlloc, or of cuMemCreate with a file-descriptor
 * handle; between hosts only of cuMemCreate with a fabric handle.  The engine keeps the memory until every rank has ended its registration.  A range that was registered twice needs two
 * calls of quern_symmetric_unregister.  A range that overlaps another registered range of the rank is refused: register an arena
 * as a whole, and use pointers into it.
 * Errors: QUERN_INVALID_ARGUMENT (mapped for reading only, for instance), QUERN_NOT_SUPPORTED with the reason (private memory of
 * another process; memory of a pool, cuMemAllocAsync, which peer access does not open; GPUs that reach only pinned memory of the
 * host), QUERN_OUT_OF_MEMORY, QUERN_CUDA_ERROR, 4xxx.
 */
QUERN_API quern_status quern_symmetric_register(quern_group *const *groups, int count, void *const *pointers, const size_t *bytes);

/* Ends a registration.  Local; stream and errors as for quern_symmetric_free. */
QUERN_API quern_status quern_symmetric_unregister(quern_group *group, void *pointer, void *stream);

/*
 * Writes to *peer the address at which this process sees, in another rank's part, the offset that `pointer` has in this rank's
 * part.  Local.
 * Errors: QUERN_INVALID_ARGUMENT if pointer is no symmetric memory of the group, is freed, or lies beyond a smaller part of the
 * peer; QUERN_NOT_SUPPORTED if the rank is a CPU of another host.
 */
QUERN_API quern_status quern_symmetric_peer(quern_group *group, const void *pointer, int rank, void **peer);

/*
 * Writes to *multicast an address at which one store reaches the parts of all ranks and a load can reduce them (multimem
 * instructions). Local.  Also of several hosts with one fabric.
 * Errors: QUERN_INVALID_ARGUMENT; QUERN_NOT_SUPPORTED with the reason: needs quern_group_args.multicast on every rank, compute
 * capability 9.0 or newer, NVSwitch, one GPU per rank.
 */
QUERN_API quern_status quern_symmetric_multicast(quern_group *group, const void *pointer, void **multicast);

/* ---- ragged all-to-all ---- */

/*
 * Every rank sends slices of its input's rows into the outputs of all members, including itself:
 *
 *   for each member p and update u, with i = p * updates + u:
 *     input rows [input_offsets[i], input_offsets[i] + send_sizes[i])  of this rank
 *     go to output rows [output_offsets[i], ...)                       of member p
 *   recv_sizes[i] is the number of rows that this rank expects from member p in its update u.
 *
 * The semantics are those of XLA's ragged-all-to-all and JAX's lax.ragged_all_to_all.  Offsets and sizes count rows; a row is any
 * number of bytes.  Output rows that receive nothing keep their values.  Every call checks every slice: negative or out-of-range
 * offsets and sizes, and sizes on which sender and receiver disagree; with check_overlap also receives that overlap.  After such
 * an error nothing has been written, and every member gets the error, which names sender, receiver and update:
 * QUERN_INVALID_SHAPE, or QUERN_PEER_MISMATCH if two ranks disagree.
 *
 * On CPUs the call returns when this rank's output is complete and its input may change; an error of the metadata leaves the
 * group usable.  On GPUs one launch, of one block, meets the members and checks, and a second one copies and meets them again; an
 * error of the metadata is recorded on the device and poisons the group.  A plan reports it at creation and does not poison the
 * group.
 */
typedef struct quern_ragged_all_to_all_args {
    uint32_t size;
    quern_dtype metadata_dtype;     /* INT32 or INT64: of the four arrays below; the initialiser sets INT32; 0 is an error */
    const void *input;              /* [input_rows, row_bytes] */
    int64_t input_rows;
    void *output;                   /* [output_rows, row_bytes]; may overlap input.  GPU: symmetric memory, at the same offset of
                                       the same allocation on every rank.  CPU: any memory; one copy if it is symmetric or all ranks
                                       are threads of one process, else two */
    int64_t output_rows;
    int64_t row_bytes;              /* the same on every rank; 0 is allowed */
    int64_t updates;                /* slices per member, the same on every rank; the initialiser sets 1; 0: none */
    const void *input_offsets;      /* [members, updates] each, in rows */
    const void *send_sizes;
    const void *output_offsets;
    const void *recv_sizes;
    int32_t metadata_on_device;     /* GPU only.  1: the four arrays are in the memory of the device and are read in stream order;
                                       0: they are in host memory and are read before the call returns, which cannot be captured
                                       into a graph */
    int32_t check_overlap;          /* 1: two slices that write the same output row are an error; 0: not checked */
    const int *members;             /* [member_count], as for the barrier; NULL: all.  Index p above counts members */
    int member_count;
    int multiprocessors;            /* GPU: the most that the copy may use, of which it takes at most 32; 0: 16 */
    double timeout;                 /* seconds; 0: the group's */
} quern_ragged_all_to_all_args;

#define QUERN_RAGGED_ALL_TO_ALL_ARGS_DEFAULTS(set) \
    set(metadata_dtype, QUERN_INT32) set(updates, 1)
#define QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT QUERN_STRUCT_INIT(quern_ragged_all_to_all_args, QUERN_RAGGED_ALL_TO_ALL_ARGS_DEFAULTS)

/* Sets *args to QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT.  NULL does nothing.  Thread-safe. */
QUERN_API void quern_ragged_all_to_all_args_init(quern_ragged_all_to_all_args *args);

/*
 * Writes the bytes of workspace.  The workspace must be symmetric memory of the group (quern_symmetric_alloc).  Its size depends
 * on the group, row_bytes, input_rows, updates, and on whether input and output overlap or the output is private.  It suffices
 * for any metadata in which no input row is sent more than once per member.  Local.
 * Errors: 1xxx about the arguments.
 */
QUERN_API quern_status quern_ragged_all_to_all_workspace(quern_group *group, const quern_ragged_all_to_all_args *args,
                                                         size_t *bytes);

/*
 * Performs the exchange described above.  Collective over the members.  The device must be prepared for QUERN_RAGGED_ALL_TO_ALL.
 * Errors: 1xxx about the arguments, of this rank or another; QUERN_NOT_PREPARED; QUERN_NO_KERNEL; QUERN_NOT_SUPPORTED;
 * QUERN_OUT_OF_MEMORY; QUERN_CUDA_ERROR; 4xxx.
 */
QUERN_API quern_status quern_ragged_all_to_all(quern_group *group, const quern_ragged_all_to_all_args *args, void *workspace,
                                               size_t workspace_bytes, void *stream);

/* A plan: the same exchange repeatedly, with the metadata checked and the work divided once. */
typedef struct quern_ragged_plan quern_ragged_plan;

/*
 * Creates plans for the `count` handles of the calling thread.  Collective over all ranks of the group; waits on the host;
 * reports errors of the metadata to every rank.  The metadata is in host memory and is read before the call returns.  A plan
 * keeps the input, output and workspace pointers; the memory must live as long as the plan.  The caller destroys each plan.
 * Errors: as quern_ragged_all_to_all.
 */
QUERN_API quern_status quern_ragged_plan_create(quern_group *const *groups, int count, const quern_ragged_all_to_all_args *args,
                                                void *const *workspaces, const size_t *workspace_bytes, quern_ragged_plan **plans);

/*
 * Performs the exchange of a plan.  Collective over the members.  On a GPU it can be captured into a graph.
 * Errors: QUERN_INVALID_ARGUMENT if memory of the plan has been freed, QUERN_CUDA_ERROR, 4xxx.
 */
QUERN_API quern_status quern_ragged_plan_run(quern_ragged_plan *plan, void *stream);

/*
 * Destroys a plan.  Local; waits for this rank's runs of it, and for captured ones as quern_group_destroy does.  NULL does nothing.
 * Errors: QUERN_INVALID_ARGUMENT, QUERN_CUDA_ERROR.
 */
QUERN_API quern_status quern_ragged_plan_destroy(quern_ragged_plan *plan);

/* The arrays of quern_ragged_sizes, in host memory, each [ranks, updates] and of args.metadata_dtype unless it says otherwise. */
typedef struct quern_ragged_sizes_args {
    uint32_t size;
    quern_dtype metadata_dtype;  /* INT32 or INT64; the initialiser sets INT32; 0 is an error */
    int64_t updates;             /* slices for each rank, the same on every rank; the initialiser sets 1; 0: none */
    const void *send_sizes;      /* rows that this rank sends to each rank in each update */
    void *input_offsets;         /* NULL: not written; likewise the following ones */
    void *output_offsets;
    void *recv_sizes;
    int64_t *input_rows;         /* [1]: the sum of this rank's send_sizes */
    int64_t *output_rows;        /* [1]: the sum of its recv_sizes */
} quern_ragged_sizes_args;

#define QUERN_RAGGED_SIZES_ARGS_DEFAULTS(set) \
    set(metadata_dtype, QUERN_INT32) set(updates, 1)
#define QUERN_RAGGED_SIZES_ARGS_INIT QUERN_STRUCT_INIT(quern_ragged_sizes_args, QUERN_RAGGED_SIZES_ARGS_DEFAULTS)

/* Sets *args to QUERN_RAGGED_SIZES_ARGS_INIT.  NULL does nothing.  Thread-safe. */
QUERN_API void quern_ragged_sizes_args_init(quern_ragged_sizes_args *args);

/*
 * Computes from the sizes that each rank sends the rest of the metadata of a ragged all-to-all: slices lie end to end in the input, by
 * receiver, and in each output, by sender.  args has one struct for each of the `count` handles of the calling thread.  Collective
 * over all ranks of the group, of CPUs or GPUs; waits on the host.  An error of one rank reaches all, and nothing is written.
 * Errors: 1xxx about the arguments; QUERN_INVALID_SHAPE for a negative size, and for rows of a buffer that metadata_dtype of any
 * rank cannot hold, or more than 2^47;
 * QUERN_PEER_MISMATCH if ranks have different updates, which leaves the group usable; QUERN_OUT_OF_MEMORY; 4xxx.
 */
QUERN_API quern_status quern_ragged_sizes(quern_group *const *groups, int count, const quern_ragged_sizes_args *args);

/* ---- collectives ---- */

typedef enum quern_combination {
    QUERN_COMBINE_SUM = 1,
    QUERN_COMBINE_MAX = 2
} quern_combination;

/* The order in which a sum takes the values of the members. */
typedef enum quern_order {
    QUERN_ORDER_RANKS = 0,    /* ascending: the same bits everywhere */
    QUERN_ORDER_ANY = 1       /* that of the transport: the bits may differ */
} quern_order;

/*
 * Gathers and reductions over all ranks of a group, or over the members of a call.  Place p is an index of the members in ascending
 * order; q runs over all places.
 *
 *   quern_all_gather       output[p * count + i] = input[i] of member p, for every p
 *   quern_reduce_scatter   output[i] = combination over q of input[p * count + i] of member q, where p is this rank's place.  With an
 *                          input_stride of input[p * input_stride + i]
 *   quern_all_reduce       output[i] = combination over q of input[i] of member q
 *   quern_broadcast        output[i] = input[i] of the rank `root`
 *
 * A sum is of fp32 values, added in ascending order of the places, ((x0 + x1) + x2) + ..., and rounded once, to nearest even.  So
 * its bits are the same on every rank, from run to run, on CPUs and GPUs, for any number of threads, and however the ranks are
 * divided among processes and hosts.  A maximum is NaN if a value is NaN, and +0 is above -0.  A NaN result is positive and quiet,
 * with no other bits.
 *
 * With QUERN_ORDER_ANY the n values of a sum may be added in another order: n - 1 roundings to fp32, whose bits may differ from run to
 * run, then one to dtype.  Subnormal values may count as 0.  All members of an all-reduce still have the same bits, and a NaN those
 * above.  NVSwitch then adds (multimem.ld_reduce and .st, as NVLS of NCCL and multimem_all_reduce_ of PyTorch) in large calls of all
 * ranks of a group of more than two GPUs of one host, if the input, and of an all-reduce the output, have a multicast address
 * (quern_symmetric_multicast), and the two differ by a multiple of 16 bytes.  Elsewhere, and for a maximum, no bit changes.
 *
 * The stride divides a reduce-scatter into calls of some rows each: while one adds up, a matrix product writes the rows of the next
 * (the strided reduce-scatter of TransformerEngine's user buffers).  Any division gives the bits of one call.
 *
 * The operation, dtype, combination, order, count, stride, root and members are the same on every member.  Each call checks that.
 * Ranks with other operations or members are in other calls, which poisons the group.  If one of the others differs, all members get
 * QUERN_PEER_MISMATCH, which names two ranks and their values.  If a member refuses its own arguments, it gets its own error, and
 * the others get QUERN_PEER_MISMATCH, on CPUs with the reason, over NCCL that error itself; but a member whose struct or list of
 * members is at fault is only missed.  On CPUs and over NCCL nothing is written then and the group stays usable; on GPUs of one
 * host the error is recorded on the device and poisons the group.
 *
 * On CPUs the call returns when this rank's output is complete and its input may change.  On GPUs it is enqueued, and can be
 * captured into a graph.  Over NCCL it is enqueued when all members have called, also into a graph: all members capture it, or none.
 */
typedef struct quern_collective_args {
    uint32_t size;
    quern_dtype dtype;        /* reductions: F32, F16 or BF16; else any, of which only the bytes count */
    const void *input;        /* all-gather, all-reduce [count]; reduce-scatter [members, count]; broadcast [count], on the root */
    void *output;             /* all-gather [members, count]; reduce-scatter, all-reduce, broadcast [count] */
    int64_t count;            /* 0 is allowed */
    quern_combination combination;  /* of reduce-scatter and all-reduce: the initialiser sets SUM; 0 is an error there */
    int root;                 /* of the broadcast: a rank of the group that is a member */
    const int *members;       /* [member_count], as for the barrier; NULL: all */
    int member_count;
    int multiprocessors;      /* GPU: the most that the call may use, of which it takes at most 32; 0: 16 */
    double timeout;           /* seconds; 0: the group's */
    int64_t input_stride;     /* reduce-scatter: elements from one place of the input to the next, >= count; 0: count.  Else 0 */
    quern_order order;        /* reduce-scatter, all-reduce: of a sum; 0: that of the ranks.  Else 0 */
} quern_collective_args;

#define QUERN_COLLECTIVE_ARGS_DEFAULTS(set) set(combination, QUERN_COMBINE_SUM)
#define QUERN_COLLECTIVE_ARGS_INIT QUERN_STRUCT_INIT(quern_collective_args, QUERN_COLLECTIVE_ARGS_DEFAULTS)

/* Sets *args to QUERN_COLLECTIVE_ARGS_INIT.  NULL does nothing.  Thread-safe. */
QUERN_API void quern_collective_args_init(quern_collective_args *args);

/*
 * Writes the bytes of workspace, which suffices for each of the four calls with these arguments.  It is symmetric memory of the
 * group (quern_symmetric_alloc), over NCCL any memory of the GPU.  Its size depends on the group and on dtype and count, up to a
 * limit, which is 32 MiB over NCCL.  input and output are not read and may be NULL.  Local.
 * Errors: 1xxx about the arguments.
 */
QUERN_API quern_status quern_collective_workspace(quern_group *group, const quern_collective_args *args, size_t *bytes);

/*
 * Performs the collective described above.  Collective over the members.  The device must be prepared for QUERN_COLLECTIVE.
 *
 * In place: the output may begin where the input does (all-reduce, broadcast); the input may be place p of the output (all-gather);
 * the output may be place p of the input (reduce-scatter).
 *
 * Memory.  Input and output are aligned as their elements.  On CPUs any memory will do.  Data moves once, from the inputs straight to
 * the outputs, if all members are threads of one process, or if the inputs of a reduce-scatter, the inputs or the outputs of an
 * all-gather, the inputs and the outputs of an all-reduce or the root's input are symmetric memory; else it is read in the other
 * processes, if the system lets all members, or passes through the workspace.  Over NCCL any memory will do, and only reductions
 * have a workspace.  On GPUs of one host that has 0 bytes, and `count` elements of up to 128 KiB divided by the ranks (in whole 128
 * bytes) lie in any memory.  Of larger calls a reduction's input and the output of the others are symmetric, at one place everywhere.
 *
 * Algorithms: small calls are one meeting (each rank reads the inputs of all); large ones are two (each rank reduces its share of
 * the elements and writes it to all outputs), as the one-shot and two-shot all-reduce of NCCL, vLLM and TensorRT-LLM.
 *
 * Errors: 1xxx about the arguments, of this rank or another; QUERN_NOT_PREPARED; QUERN_NO_KERNEL; QUERN_NOT_SUPPORTED;
 * QUERN_SYSTEM_ERROR if memory of another process cannot be read, which poisons the group; QUERN_CUDA_ERROR; 4xxx.
 */
QUERN_API quern_status quern_all_gather(quern_group *group, const quern_collective_args *args, void *workspace,
                                        size_t workspace_bytes, void *stream);
QUERN_API quern_status quern_reduce_scatter(quern_group *group, const quern_collective_args *args, void *workspace,
                                            size_t workspace_bytes, void *stream);
QUERN_API quern_status quern_all_reduce(quern_group *group, const quern_collective_args *args, void *workspace,
                                        size_t workspace_bytes, void *stream);
QUERN_API quern_status quern_broadcast(quern_group *group, const quern_collective_args *args, void *workspace,
                                       size_t workspace_bytes, void *stream);

/* The first argument of quern_group_gather. */
typedef struct quern_group_gather_args {
    uint32_t size;
    quern_group *group;
    quern_collective_args collective;   /* its members, multiprocessors and timeout; the gather sets the other fields in a copy */
    void *workspace;                    /* that of quern_collective_workspace for dtype F32 and count bytes / 4 */
    size_t workspace_bytes;
} quern_group_gather_args;

#define QUERN_GROUP_GATHER_ARGS_DEFAULTS(set) \
    set(collective, QUERN_NESTED_INIT(quern_collective_args, QUERN_COLLECTIVE_ARGS_DEFAULTS))
#define QUERN_GROUP_GATHER_ARGS_INIT QUERN_STRUCT_INIT(quern_group_gather_args, QUERN_GROUP_GATHER_ARGS_DEFAULTS)

/* Sets *args to QUERN_GROUP_GATHER_ARGS_INIT.  NULL does nothing.  Thread-safe. */
QUERN_API void quern_group_gather_args_init(quern_group_gather_args *args);

/*
 * A quern_gather over the members of a group, by quern_all_gather: the shards' columns ascend with the ranks of the members.  args
 * points to a quern_group_gather_args.  On GPUs of one host `all` is then symmetric memory at one place everywhere, if bytes is more
 * than 128 KiB divided by the ranks.  quern_linear_cross_entropy gathers into the beginning of its workspace, which can be that.
 * Errors: QUERN_INVALID_ARGUMENT, if bytes is not a multiple of 4; those of quern_all_gather.
 */
QUERN_API quern_status quern_group_gather(void *args, const void *mine, void *all, size_t bytes, void *stream);

/* ---- quantised chunks ---- */

/*
 * A tensor of each member in 8 bits, with one scale for all or in blocks, gathered in chunks of rows: the overlap of quantisation
 * with tensor parallelism, after TransformerEngine's.  A matrix product can begin with a chunk while the next ones are cast and on
 * their way.
 *
 *   amax                the largest |x| of the inputs of all members, without NaN
 *   scale, scale_inv    from this amax, as quern_quantize has them for a tensor; all three are written before this rank's chunks
 *   output[p]           input of member p * scale, in 8 bits: [rows, columns] for every place p of the members in ascending order
 *   ready[p][c]         ready_value, as soon as chunk c of place p is complete in this rank's output: rows [c * chunk_rows,
 *                       (c + 1) * chunk_rows) of output[p], of which the last chunk may have fewer
 *
 * The bits are those of quern_quantize_amax, a maximum of the amaxes, quern_quantize_cast and quern_all_gather.
 *
 * With QUERN_SCALING_MX each 32 elements of a row have a scale of their own, as quern_quantize has them.  block_scales[p] are those of
 * output[p], and a ready word stands for the codes and the scales of its chunk.  There is no amax of all: amax, scale and scale_inv
 * are NULL, and eps and power_of_two are not used.  The bits are those of quern_quantize and quern_all_gather, of codes and of scales.
 *
 * The library writes ready words with release order in the memory of each member, after the chunk.  A word is 0 or of an earlier
 * call before; ready_value differs from it, and from ~it.  If the call fails after it has begun to write, it stores ~ready_value in
 * its own rank's words whose chunks have not come, so that those who look at them end.  quern_chunk_wait waits for words on the host
 * or on a stream, and quern_wait of quern_device.cuh in a kernel.
 *
 * A chunk of another place may be ready before this rank has written amax, scale and scale_inv.  Those who wait beside the call read
 * them when a chunk of this rank's own place is ready.
 *
 * Output, words and scales of blocks are symmetric memory at the same place on every member.  Of GPUs of several hosts, whose chunks
 * go over NCCL, they are any memory of the GPU.  There a word that has ready_value or ~ready_value before the call ends the group when
 * the call has begun on the GPU, and if the group ends, a chunk that comes in this moment may be reported as failed.
 *
 * A graph that is replayed has the same ready_value each time.  It sets the words to 0 first, behind its last reader of them and
 * before the call and all that wait for it: no member writes there until this rank has come to the call.
 *
 * All numbers but seed and offset, the dtypes and the members are the same on every member.  Each call checks that.
 */
typedef struct quern_quantize_chunks_args {
    uint32_t size;
    quern_dtype input_dtype;     /* F32, F16 or BF16 */
    quern_dtype output_dtype;    /* E4M3 or E5M2 */
    const void *input;           /* [rows, columns] */
    void *output;                /* [members, rows, columns], symmetric memory or over NCCL any */
    uint32_t *ready;             /* [members, chunks], likewise; chunks is rows / chunk_rows, rounded up, and at most 1,024 */
    uint32_t ready_value;        /* not 0 or ~0 */
    int64_t rows;                /* 0 is allowed, as below */
    int64_t columns;
    int64_t chunk_rows;          /* at least 1 */
    const int *order;            /* [chunks]: the order in which this rank casts and sends its chunks, each once, read before the call
                                    returns; NULL: ascending */
    float *amax;                 /* [1], in the memory of the device, like the arrays below; NULL with QUERN_SCALING_MX */
    float *scale;                /* [1]; NULL: not written */
    float *scale_inv;            /* [1]; NULL: not written */
    double eps;                  /* this and the next fields as in quern_quantize_args */
    int32_t power_of_two;
    quern_rounding rounding;
    uint64_t seed;               /* random bits are those of tensor 0 of a list: ranks with the same seed have different offsets */
    uint64_t offset;
    const uint64_t *offset_pointer;
    const int *members;          /* [member_count], as for the barrier; NULL: all */
    int member_count;
    int multiprocessors;         /* GPU: the most that the cast may use, so that a product has the others; 0: 16 */
    double timeout;              /* seconds; 0: the group's */
    quern_scaling scaling;       /* DEFAULT: TENSOR */
    uint8_t *block_scales;       /* of QUERN_SCALING_MX: [members, rows, ceil(columns / 32)], memory like output; else NULL */
} quern_quantize_chunks_args;

#define QUERN_QUANTIZE_CHUNKS_ARGS_DEFAULTS(set) set(chunk_rows, 1)
#define QUERN_QUANTIZE_CHUNKS_ARGS_INIT QUERN_STRUCT_INIT(quern_quantize_chunks_args, QUERN_QUANTIZE_CHUNKS_ARGS_DEFAULTS)

/* Sets *args to QUERN_QUANTIZE_CHUNKS_ARGS_INIT.  NULL does nothing.  Thread-safe. */
QUERN_API void quern_quantize_chunks_args_init(quern_quantize_chunks_args *args);

/*
 * Writes the bytes of workspace, which is any memory of the device: 0 on CPUs.  Pointers in args may still be NULL.  Local.
 * Errors: 1xxx about the arguments.
 */
QUERN_API quern_status quern_quantize_chunks_workspace(quern_group *group, const quern_quantize_chunks_args *args, size_t *bytes);

/*
 * Performs the above.  Collective over the members, which are of one host, or GPUs of any number of hosts.  The device must be prepared
 * for QUERN_QUANTIZE and QUERN_COLLECTIVE.  On CPUs the call returns when this rank's output is complete; other threads may wait for chunks meanwhile.  On
 * GPUs it is enqueued, can be captured into a graph, and its end on the stream follows that of the output; other streams may wait
 * for chunks meanwhile.  Over NCCL it is enqueued when all members have called, also into a graph: all members capture it, or none.  Input,
 * output and arrays are aligned as their elements.
 * Errors: 1xxx about the arguments, of this rank or another; QUERN_NOT_PREPARED; QUERN_NO_KERNEL; QUERN_NOT_SUPPORTED (CPU ranks of
 * several hosts); QUERN_CUDA_ERROR; 4xxx.
 */
QUERN_API quern_status quern_quantize_chunks(quern_group *group, const quern_quantize_chunks_args *args, void *workspace,
                                             size_t workspace_bytes, void *stream);

/*
 * Waits until the words ready[0] to ready[count - 1] of this rank's symmetric memory, over NCCL of any memory of its GPU, are
 * `value`, and what was stored before them can be read: on CPUs on the host, on GPUs enqueued on the stream.  Local.  It may run
 * while another thread makes a call with the same handle, but not while the group is destroyed or the memory of the words is freed.
 * timeout is in seconds; 0: the group's.
 * On GPUs the call is best enqueued first.  A wait in front of it holds back the kernels of its hardware queue (with
 * CUDA_DEVICE_MAX_CONNECTIONS=1 of all streams), and whatever waits for the device, until its limit; a shorter limit than the call's
 * hides which ranks are missing.  After a wait symmetric memory that is freed is released when the rank leaves its group.
 * Errors: QUERN_INVALID_ARGUMENT; QUERN_PEER_MISMATCH if a word is ~value: its call has failed; QUERN_PEER_TIMEOUT, which does not
 * poison the group on CPUs; on GPUs both are recorded on the device and poison it; that of a poisoned group; QUERN_NOT_PREPARED;
 * QUERN_NO_KERNEL; QUERN_CUDA_ERROR.
 */
QUERN_API quern_status quern_chunk_wait(quern_group *group, const uint32_t *ready, int64_t count, uint32_t value, double timeout,
                                        void *stream);

/*
 * The part of each rank in a symmetric memory of GPUs, for kernels of the engine: a parameter of the device functions of
 * quern_device.cuh, passed by value.  After the collective metadata that XLA offers to its kernels.
 */
typedef struct quern_device_view {
    uint32_t size;
    int rank;                    /* this one */
    int ranks;
    uint32_t unused;
    uint64_t timeout;            /* nanoseconds of a wait: the group's */
    const uint32_t *poison;      /* [1]: the status that has poisoned the group, or 0 */
    void *multicast;             /* NULL: there is none */
    void *peer[128];             /* [ranks]: the address of the memory in the part of each rank, NULL if that is shorter; this rank's
                                    own at [rank] */
} quern_device_view;

#define QUERN_DEVICE_VIEW_INIT QUERN_STRUCT_INIT(quern_device_view, QUERN_NO_DEFAULTS)

/* Sets *view to QUERN_DEVICE_VIEW_INIT.  NULL does nothing.  Thread-safe. */
QUERN_API void quern_device_view_init(quern_device_view *view);

/*
 * Fills *view, which must be initialised, for the place of `pointer` in the symmetric memory of the group.  It is valid as long as
 * this memory.  Local.
 * Errors: 1xxx about the arguments; QUERN_NOT_SUPPORTED on CPUs and over NCCL.
 */
QUERN_API quern_status quern_symmetric_view(quern_group *group, const void *pointer, quern_device_view *view);

/* ---- transfers ---- */

/*
 * A prepared list of sends and receives between this rank and others, which is used any number of times: the hand-over of
 * activations in a pipeline, for instance.  After XLA's CrossHostTransferBuffers and PreparedTransfer, but an error on one end
 * always reaches the other one.  For CPU ranks and GPU ranks, of one or several hosts.
 *
 * Only the ranks of a list take part; no call is collective.  The lists of two ranks meet under their key.  For each send to a rank
 * with a tag, the list of that rank under the same key has one receive from this rank with this tag and size.  The order of the
 * items does not matter.  If the lists differ, both ranks get QUERN_PEER_MISMATCH with the rank, the tag and the sizes, and nothing
 * is written.  Transfers are independent of the barriers and exchanges of the group between their start and their end.
 *
 * A transfer fails as a whole.  All ranks with which it is not complete get the status and the reason of the first failure: a rank
 * has cancelled or destroyed its transfer, its limit has ended, or it has lost another rank.  After a failure receive buffers may
 * hold part of the data, and the only further call is quern_transfer_destroy.  The group stays usable.  A poisoned group ends its
 * transfers with its status.
 *
 * The bytes move inside of quern_transfer_start, _test and _wait of any transfer of the group handle, and with quern_group_args.progress
 * between these calls as well.  What follows is without it.  The receiver copies from the
 * memory of a sender on its host, also while that one computes; without access to it, and between hosts, the sender hands over up
 * to 64 KiB for each rank in quern_transfer_start, and the rest in its later calls.  By a carrier or UCX it hands over up to 4 KiB,
 * and more than that when both ranks have started, in further calls of both.
 *
 * On GPUs the memory is of the GPU, and data moves when the streams of both starts have come to them, on streams of high priority
 * of the library.  In a group that goes over NCCL, transfers do, too: when both ranks have started, one of these calls of each hands
 * it over, and the GPUs do the rest.  Else the receiver copies inside of these calls: within a host straight from symmetric memory and
 * from memory of its own process; other memory, and between hosts all, the sender hands over in pieces in its own calls.  A thread with several ranks calls
 * quern_transfer_test for all in turn, since a wait for one keeps the others from answering.
 *
 * Calls on the transfers of a group handle are calls on that handle: they must not overlap in time.
 */
typedef struct quern_transfer quern_transfer;

typedef struct quern_transfer_item {
    int32_t receive;    /* 1: this rank receives; 0: it sends */
    int peer;           /* the other rank; this rank: a copy within its memory, which needs both a send and a receive */
    uint64_t tag;       /* tells the items of two ranks apart; each once for each direction */
    void *memory;       /* [bytes], of the device; not written by a send.  NULL is allowed for 0 bytes */
    int64_t bytes;      /* 0 is allowed */
} quern_transfer_item;

typedef struct quern_transfer_args {
    uint32_t size;
    uint32_t item_size;               /* sizeof(quern_transfer_item), which the initialiser sets, so that the struct can grow */
    const quern_transfer_item *items; /* [item_count], read before the call returns.  What is received must overlap nothing else */
    int64_t item_count;               /* at most 2^20; 0 is allowed */
    uint64_t key;                     /* the same on all ranks of the list; only one transfer of a group handle has it at a time */
    double timeout;                   /* seconds, of each quern_transfer_wait; 0: the group's */
} quern_transfer_args;

#define QUERN_TRANSFER_ARGS_DEFAULTS(set) set(item_size, sizeof(quern_transfer_item))
#define QUERN_TRANSFER_ARGS_INIT QUERN_STRUCT_INIT(quern_transfer_args, QUERN_TRANSFER_ARGS_DEFAULTS)

/* Sets *args to QUERN_TRANSFER_ARGS_INIT.  NULL does nothing.  Thread-safe. */
QUERN_API void quern_transfer_args_init(quern_transfer_args *args);

/*
 * Checks a list and keeps it with its pointers, and tells its ranks of it.  Local: waits for no rank.  The memory must live as long
 * as the transfer.  The group cannot be destroyed before the transfer.  The caller destroys the transfer.
 * Errors: 1xxx about the arguments, also if a GPU is to send to another process symmetric memory that this rank has freed;
 * QUERN_OUT_OF_MEMORY; QUERN_SYSTEM_ERROR (no space in /dev/shm); QUERN_CUDA_ERROR; 4xxx.
 */
QUERN_API quern_status quern_transfer_prepare(quern_group *group, const quern_transfer_args *args, quern_transfer **transfer);

/*
 * Begins a transfer, also again after it has completed.  Waits for no rank, but for a capture.  Until it is complete, what is sent must not change and
 * what is received must not be used.  On a GPU what the stream has so far comes before; it may be destroyed afterwards, and a later
 * use of the memory needs quern_transfer_wait or _wait_on.  Else the stream is NULL.  Between quern_transfer_begin and _end it begins with the
 * _end.
 * Over NCCL the stream may be captured: the call returns when the other ranks of the list have captured the transfer, too, within the
 * limit of the arguments.  The transfer is complete then, and each launch of the graph moves the data, before what follows on the
 * stream.  The memory lives as long as the graph.
 * Errors: QUERN_INVALID_ARGUMENT if it is under way, or the stream is of another GPU; QUERN_NOT_SUPPORTED if the stream is being
 * captured, within a host or between quern_transfer_begin and _end; QUERN_OUT_OF_MEMORY if graphs have 4,096 calls of the group;
 * the status with which it has failed, QUERN_PEER_MISMATCH if another rank does not capture it; QUERN_CUDA_ERROR; 4xxx.
 */
QUERN_API quern_status quern_transfer_start(quern_transfer *transfer, void *stream);

/*
 * Writes 1 to *done if a started transfer is complete, else 0.  Waits for no rank, has no limit.  Errors: as quern_transfer_wait.
 */
QUERN_API quern_status quern_transfer_test(quern_transfer *transfer, int32_t *done);

/*
 * Returns when a started transfer is complete: what is received is there, and all that is sent has arrived, or over NCCL has left
 * its memory.  timeout in seconds; 0: that of the arguments.  When it ends the transfer fails with QUERN_PEER_TIMEOUT and the ranks
 * for which it waited.
 * Errors: QUERN_INVALID_ARGUMENT if it was not started; the status with which it fails.
 */
QUERN_API quern_status quern_transfer_wait(quern_transfer *transfer, double timeout);

/*
 * What is enqueued on the stream afterwards begins when a started transfer of a GPU is complete, as of quern_transfer_wait, or has
 * failed.  The host does not wait.  Also for a transfer that is complete, and for several streams.  status: NULL, or memory of the
 * GPU in which what follows on the stream finds 0 (QUERN_OK), or the quern_status with which the transfer has failed; then receive
 * buffers may hold part of the data, and no rank writes them any more.  It must live until then.
 * The limit is that of the arguments of the transfer, or the group's, from when the stream has come to the wait.  When it ends the
 * transfer fails with QUERN_PEER_TIMEOUT, as in quern_transfer_wait, and so it does if a rank is lost, the group is poisoned or the
 * transfer is cancelled or destroyed.  So no stream waits for ever.  Later calls on the transfer tell the host.
 * The transfer stays under way until a call or a thread has seen its end: quern_transfer_test or _wait before it is started again.
 * Calls that wait for the GPU, quern_group_destroy among them, wait for its streams.
 * Errors: QUERN_INVALID_ARGUMENT if it was not started, is part of an open batch, the stream is of another context or the status is
 * no memory that CUDA knows; QUERN_NOT_SUPPORTED on CPUs, which have no streams, in a group without quern_group_args.progress, if
 * the stream is being captured, or is a default stream that ranks share; QUERN_OUT_OF_MEMORY if streams have 1,024 waits of the group
 * handle before them; the status with which the transfer has failed; QUERN_CUDA_ERROR.  But for the last one nothing is enqueued.
 */
QUERN_API quern_status quern_transfer_wait_on(quern_transfer *transfer, void *stream, uint32_t *status);

/*
 * Lets a transfer fail, started or not: here and on the other ranks with QUERN_GROUP_ABORTED and the first 160 characters of the
 * reason (NULL: none).  A rank that has all its data already completes, and so do both what NCCL has begun, unless it takes 0.1 s.
 * On return no rank reads or writes the memory any more.
 * Errors: QUERN_INVALID_ARGUMENT if it was cancelled or has failed before.
 */
QUERN_API quern_status quern_transfer_cancel(quern_transfer *transfer, const char *reason);

/*
 * Destroys a transfer.  If another rank still needs it, or starts it again, it fails there with QUERN_PEER_LOST.  On return no rank
 * reads or writes the memory any more.  Does not wait for other ranks.  NULL does nothing.
 * Errors: QUERN_INVALID_ARGUMENT if it was destroyed before.
 */
QUERN_API quern_status quern_transfer_destroy(quern_transfer *transfer);

/*
 * The transfers of this group handle that are started between the two begin together with quern_transfer_end, in the order of their
 * keys.  Nothing in between waits for another rank.  Over NCCL those that two ranks both start so go out as one group, and one of
 * them that ends while they move ends the others.
 * Errors: QUERN_INVALID_ARGUMENT for a begin within another one, or an end without one; 4xxx.
 */
QUERN_API quern_status quern_transfer_begin(quern_group *group);
QUERN_API quern_status quern_transfer_end(quern_group *group);

#ifdef __cplusplus
}
#endif

/* The functions behind the macros in C++: constants where the language allows statements in a constant expression. */
#ifdef __cplusplus
#if __cplusplus >= 201402L
#define QUERN_INITIAL constexpr
#else
#define QUERN_INITIAL inline
#endif
#define QUERN_SET_FIELD(field, value) initial.field = value;
#define QUERN_DEFINE_INITIAL(type, defaults) \
    QUERN_INITIAL type type##_initial() { \
        type initial = type(); \
        initial.size = QUERN_STRUCT_SIZE(type); \
        defaults(QUERN_SET_FIELD) \
        return initial; \
    }
QUERN_DEFINE_INITIAL(quern_device_info, QUERN_NO_DEFAULTS)
QUERN_DEFINE_INITIAL(quern_dump_args, QUERN_NO_DEFAULTS)
QUERN_DEFINE_INITIAL(quern_cross_entropy_args, QUERN_CROSS_ENTROPY_ARGS_DEFAULTS)
QUERN_DEFINE_INITIAL(quern_gemm_args, QUERN_NO_DEFAULTS)
QUERN_DEFINE_INITIAL(quern_linear_cross_entropy_args, QUERN_LINEAR_CROSS_ENTROPY_ARGS_DEFAULTS)
QUERN_DEFINE_INITIAL(quern_adam_args, QUERN_ADAM_ARGS_DEFAULTS)
QUERN_DEFINE_INITIAL(quern_gradient_norm_args, QUERN_GRADIENT_NORM_ARGS_DEFAULTS)
QUERN_DEFINE_INITIAL(quern_accumulate_args, QUERN_ACCUMULATE_ARGS_DEFAULTS)
QUERN_DEFINE_INITIAL(quern_quantize_args, QUERN_QUANTIZE_ARGS_DEFAULTS)
QUERN_DEFINE_INITIAL(quern_carrier, QUERN_NO_DEFAULTS)
QUERN_DEFINE_INITIAL(quern_hosts_args, QUERN_NO_DEFAULTS)
QUERN_DEFINE_INITIAL(quern_group_args, QUERN_GROUP_ARGS_DEFAULTS)
QUERN_DEFINE_INITIAL(quern_barrier_args, QUERN_NO_DEFAULTS)
QUERN_DEFINE_INITIAL(quern_ragged_all_to_all_args, QUERN_RAGGED_ALL_TO_ALL_ARGS_DEFAULTS)
QUERN_DEFINE_INITIAL(quern_ragged_sizes_args, QUERN_RAGGED_SIZES_ARGS_DEFAULTS)
QUERN_DEFINE_INITIAL(quern_collective_args, QUERN_COLLECTIVE_ARGS_DEFAULTS)
QUERN_DEFINE_INITIAL(quern_group_gather_args, QUERN_GROUP_GATHER_ARGS_DEFAULTS)
QUERN_DEFINE_INITIAL(quern_quantize_chunks_args, QUERN_QUANTIZE_CHUNKS_ARGS_DEFAULTS)
QUERN_DEFINE_INITIAL(quern_device_view, QUERN_NO_DEFAULTS)
QUERN_DEFINE_INITIAL(quern_transfer_args, QUERN_TRANSFER_ARGS_DEFAULTS)
#undef QUERN_DEFINE_INITIAL
#undef QUERN_SET_FIELD
#undef QUERN_INITIAL
#endif

#endif
