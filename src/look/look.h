/* Observers of calls: the trace, the dump, and the functions of each file. */
#ifndef QUERN_ROOM_LOOK_H
#define QUERN_ROOM_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "os/sha256.h"
#include "runtime/cuda_visit.h"
#include "runtime/look.h"

/* ---- dump_state.c: A dump of one step on one device: its state, its folder and its errors ---- */

struct quern_dump {
    struct quern_dump *older;    /* the dump that it replaced: kept until the device is closed, since a call may still use it */
    const quern_device *device;
    pid_t process;               /* that has begun it: a child of fork writes nothing */
    char *folder, *filter;       /* filter NULL: all operations */
    int64_t step;
    bool is_ended;               /* another one has replaced it, or none */
    bool is_active;              /* atomic: its step is the device's */
    int64_t bytes_left;          /* atomic */
    int64_t sequence;            /* atomic: the number of the next call */
    bool has_failed;             /* since the last quern_step ... */
    char reason[256];            /* ... with this first reason */
};

/* Notes an error for quern_step, and logs it. */
void quern_dump_failed(struct quern_dump *dump, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Takes the errors out of a dump and those before it, with the reason of the oldest one.  False: there is none. */
bool quern_dump_take_failure(struct quern_dump *dump, char reason[sizeof dump->reason]);

/* Around fork: the errors belong to nobody else. */
void quern_hold_dump_errors(void);
void quern_release_dump_errors(void);

/* The path of a file in the folder; to be freed.  NULL: no memory. */
char *quern_dump_path(const struct quern_dump *dump, const char *name);

/* ---- dump_call.c: what a dump does before and after a call ---- */

/* Writes the inputs of a call, and notes the rest for the end: its outputs and its line in the index. */
void quern_dump_begin_call(struct quern_look *look);
void quern_dump_end_call(struct quern_look *look, quern_status status);

/* ---- json.c: JSON in a buffer that grows ---- */

/* Zero is an empty text.  Commas are set between values; a key is NULL inside an array. */
struct quern_json {
    char *text;
    size_t length, capacity;
    bool needs_comma, failed;   /* failed: there was no memory */
};

void quern_json_open(struct quern_json *json, const char *key, char bracket);
void quern_json_close(struct quern_json *json, char bracket);
void quern_json_text(struct quern_json *json, const char *key, const char *value);
void quern_json_integer(struct quern_json *json, const char *key, int64_t value);
void quern_json_unsigned(struct quern_json *json, const char *key, uint64_t value);
void quern_json_real(struct quern_json *json, const char *key, double value);       /* to 9 digits; "nan" and "inf" as texts */
void quern_json_thousandths(struct quern_json *json, const char *key, int64_t value);  /* value / 1000, exactly */
void quern_json_flag(struct quern_json *json, const char *key, bool value);
void quern_json_raw(struct quern_json *json, const char *key, const struct quern_json *value);  /* written already */
void quern_json_line(struct quern_json *json);  /* ends a line; a comma before the next value comes after it */

/* Empties the text, and keeps its memory; frees it. */
void quern_json_clear(struct quern_json *json);
void quern_json_free(struct quern_json *json);

/* ---- dump_launches.c: the kernels of a call that is dumped, with their times ---- */

struct quern_dumped_launch {
    const struct quern_kernel *kernel;     /* NULL: none that was selected */
    unsigned grid[3], block[3], shared_bytes;
    CUevent start, stop;                   /* NULL: the stream captures it, or the driver has failed */
    int64_t nanoseconds;                   /* -1: unknown */
};

/* What a dump knows of a call. */
struct quern_dumped {
    struct quern_tensor_taker taker;       /* must be first */
    int64_t sequence;
    bool is_captured, has_failed;          /* failed: there was no memory for the list of tensors */
    struct quern_dumped_tensor *tensors;
    int64_t count, capacity;
    struct quern_json written;             /* the tensors that have been, as the index has them */
    int64_t began, ended;                  /* quern_now, without what the dump does itself */
    struct quern_dumped_launch *launches;
    int launch_count, launch_capacity;
};

/* The driver's functions with launches that are noted, for a call that is dumped. */
const struct quern_cuda *quern_noted_cuda(const struct quern_cuda *cuda);

/* Waits for the launches of a call that has not failed, and reads their times. */
void quern_read_launches(struct quern_look *look, quern_status status);

/* Adds them to the index; on a CPU the kernels, with the time of the call if it has one. */
void quern_json_launches(struct quern_json *json, const struct quern_look *look);

/* ---- events.c ---- */

/*
 * The events of a trace, in one array that is reserved when the trace begins.  For the trace.
 *
 * A thread that notes an event enters, takes a place with one atomic addition, fills it in, and leaves.  A trace that ends waits
 * until nobody is inside, so nothing is written into an array that is freed.
 */

enum quern_event_kind { QUERN_EVENT_CALL, QUERN_EVENT_KERNEL, QUERN_EVENT_WAIT, QUERN_EVENT_STEP };

enum { QUERN_EVENT_RANKS = 12 };  /* of a wait, that are named */

struct quern_event {
    uint8_t kind;                     /* enum quern_event_kind */
    bool is_complete;                 /* atomic: all fields are written */
    bool has_times;                   /* of a kernel: its times on the stream are known */
    bool is_captured;
    uint8_t kernel_count;
    uint8_t awaited_count;            /* ranks in `awaited`, of `missing` */
    int16_t ordinal;                  /* of the device; -1: a CPU; -2: none */
    int32_t thread, rank, ranks, status, missing;
    uint16_t awaited[QUERN_EVENT_RANKS];
    const char *name;                 /* of a wait: the call that waits; NULL: none that is noted */
    const char *kernels[QUERN_LOOKED_KERNELS];
    int64_t began, ended;             /* nanoseconds of quern_now */
    int64_t number;                   /* bytes of a call; of a step, which one */
    void *stream;
    struct quern_event *next;         /* of a kernel without times so far */
    CUevent start, stop;
};

/* The most events of a trace.  Tests lower it. */
extern int64_t quern_trace_most_events;

/* Reserves the array, under the number of the trace, which is not 0.  False: no memory. */
bool quern_events_begin(uint64_t number);

/* Ends the noting, and waits for those who are inside.  Then the events can be read, and freed. */
void quern_events_end(void);
void quern_events_free(void);

/* In a child of fork, whose only thread is in no event: ends its copy of a trace, and waits for nobody. */
void quern_events_forget(void);

/* Enters the trace of this number, or (0) any.  Returns the number of the trace, 0: there is none, and no leaving. */
uint64_t quern_events_enter(uint64_t number);
void quern_events_leave(void);

/* Inside: a zeroed place for an event of this thread, which quern_event_done completes.  NULL: the array is full. */
struct quern_event *quern_take_event(enum quern_event_kind kind, const quern_device *device);
void quern_event_done(struct quern_event *event);

/* After the end: the events in the order in which their places were taken, and how many found none. */
const struct quern_event *quern_events(int64_t *count, int64_t *left_out);

/* ---- kernel_times.c ---- */

/*
 * The times of kernels: an event of the driver before and one after each launch, on the caller's stream.  For the trace.
 *
 * The call does not wait for them.  They are read when the trace ends, or earlier if a later launch can have the events again.
 */

/* The driver's functions with launches that are noted, for a call that the trace sees. */
const struct quern_cuda *quern_timed_cuda(const struct quern_cuda *cuda);

/* Waits for the kernels of a device and reads their times.  NULL: of all devices.  Its events of the driver are destroyed. */
void quern_read_kernel_times(const quern_device *device);

/* Around fork: before it, in the parent and in the child, which has no kernels. */
void quern_hold_kernel_times(void);
void quern_release_kernel_times(void);
void quern_forget_kernel_times(void);

/* ---- nvtx.c: ranges of NVTX, which NVIDIA's profilers show ---- */

/* Opens the library, once for the process.  Without it ranges do nothing. */
void quern_nvtx_open(void);

/* Begins a range on this thread, and ends the last one.  False: there is no library, and none was begun. */
bool quern_nvtx_push(const char *name);
void quern_nvtx_pop(void);

/* ---- tensor_reader.c: reads tensors from the memory of a device ---- */

struct quern_reader {
    struct quern_cuda_visit visit;   /* of a GPU */
    CUstream stream;
    bool owns_stream;
    char *buffer;                    /* of the host, for the memory of a GPU; else NULL */
};

/*
 * Opens a reader for the memory of a device.  CUDA_SUCCESS on a CPU.  On a GPU it reads after the work of the stream.  The second
 * one waits for no stream: the default one would wait for kernels of others.
 */
CUresult quern_reader_open(struct quern_reader *reader, const quern_device *device, void *stream);
CUresult quern_reader_open_apart(struct quern_reader *reader, const quern_device *device);
void quern_reader_close(struct quern_reader *reader);

/* Hands all elements of a tensor to `take`, in their order, without the gaps between rows. */
CUresult quern_read_tensor(struct quern_reader *reader, const struct quern_tensor *tensor,
                           void (*take)(void *context, const void *data, size_t bytes), void *context);

/* The number of its elements, and their bytes. */
int64_t quern_tensor_elements(const struct quern_tensor *tensor);
int64_t quern_tensor_bytes(const struct quern_tensor *tensor);

/* ---- tensors_file.c ---- */

/* Files of tensors in the format of safetensors: the bytes of a header in JSON, the header, and the data. */

enum { QUERN_TENSOR_NAME = 64 };

/* The most bytes of a header that readers of the format take; a longer one is EFBIG.  Tests lower it. */
extern size_t quern_most_header;

/* A tensor of a call that is dumped. */
struct quern_dumped_tensor {
    struct quern_tensor tensor;
    bool is_chosen;                               /* for the file that is written */
    const char *left_out;                         /* why it is not; NULL: it is written */
    unsigned char digest[QUERN_DIGEST_BYTES];     /* SHA-256 of its data in the file */
};

/* The name in the file and the index: "logits", or of an item "param.3". */
void quern_name_tensor(const struct quern_tensor *tensor, char name[QUERN_TENSOR_NAME]);

/* Adds its shape to an object. */
void quern_json_shape(struct quern_json *json, const struct quern_tensor *tensor);

/* Writes the chosen tensors, whole or not at all, and sets their digests.  Returns 0 or an errno; *error is the driver's. */
int quern_write_tensors(const char *path, struct quern_reader *reader, struct quern_dumped_tensor *tensors, int64_t count,
                        CUresult *error);

/* ---- trace_file.c: the file of a trace ---- */

/* Writes all events, whole or not at all.  Returns 0 or an errno. */
int quern_write_trace(const char *path);

#endif
