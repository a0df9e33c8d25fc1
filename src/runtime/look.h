/*
 * The seam between the operations and those who look at their calls: the trace and the dump, in src/look.  For every operation.
 *
 * A public function begins a look, shows its call when the arguments are checked, and ends the look with its status.  While nobody
 * looks, that is a relaxed load of a word that nobody writes; so are each selection, launch and wait within it.  Those who look
 * enter themselves in a table, so that a program without them does not link them.
 */
#ifndef QUERN_LOOK_H
#define QUERN_LOOK_H

#include <stdbool.h>

#include "runtime/device.h"

/* ---- what an operation shows of a call ---- */

/* The type of the elements of a tensor, by the name that safetensors gives it. */
struct quern_element {
    const char *name;
    size_t bytes;
};

extern const struct quern_element quern_byte_element, quern_int32_element, quern_uint32_element, quern_int64_element,
    quern_float_element, quern_double_element;

struct quern_element quern_element_of(quern_dtype dtype);

/* Who uses a tensor: bits. */
enum { QUERN_TENSOR_IN = 1, QUERN_TENSOR_OUT = 2, QUERN_TENSOR_BOTH = 3 };

#define QUERN_NO_ITEM (-1)   /* the tensor belongs to no item of a list */
#define QUERN_NO_ROWS (-1)   /* it is a vector */

struct quern_tensor {
    const char *name;
    int64_t item;            /* of the call's list, or QUERN_NO_ITEM */
    const void *data;        /* in the memory of the device; NULL: the call does not use the tensor */
    struct quern_element element;
    int64_t rows, columns;   /* or QUERN_NO_ROWS and the elements of the vector */
    int64_t stride;          /* elements from row to row */
    int access;
    bool on_host;            /* in host memory also on a GPU */
};

/* Takes the tensors of a call one after the other. */
struct quern_tensor_taker {
    void (*take)(struct quern_tensor_taker *taker, const struct quern_tensor *tensor);
};

static inline void quern_show_vector(struct quern_tensor_taker *taker, const char *name, const void *data,
                                     struct quern_element element, int64_t count, int access) {
    taker->take(taker, &(struct quern_tensor){.name = name, .item = QUERN_NO_ITEM, .data = data, .element = element,
                                              .rows = QUERN_NO_ROWS, .columns = count, .stride = count, .access = access});
}

static inline void quern_show_matrix(struct quern_tensor_taker *taker, const char *name, const void *data,
                                     struct quern_element element, int64_t rows, int64_t columns, int64_t stride, int access) {
    taker->take(taker, &(struct quern_tensor){.name = name, .item = QUERN_NO_ITEM, .data = data, .element = element,
                                              .rows = rows, .columns = columns, .stride = stride, .access = access});
}

static inline void quern_show_item(struct quern_tensor_taker *taker, const char *name, int64_t item, const void *data,
                                   struct quern_element element, int64_t count, int access) {
    taker->take(taker, &(struct quern_tensor){.name = name, .item = item, .data = data, .element = element,
                                              .rows = QUERN_NO_ROWS, .columns = count, .stride = count, .access = access});
}

/* A number among the arguments. */
enum quern_argument_kind {
    QUERN_ARGUMENT_INT32, QUERN_ARGUMENT_UINT32, QUERN_ARGUMENT_INT64, QUERN_ARGUMENT_UINT64, QUERN_ARGUMENT_FLOAT,
    QUERN_ARGUMENT_DOUBLE, QUERN_ARGUMENT_DTYPE
};

struct quern_argument {
    const char *name;
    size_t offset;
    enum quern_argument_kind kind;
};

/* All numbers of a struct of arguments, from the lists of generated/arguments.h. */
#define QUERN_ARGUMENT_ROW(type, field, kind) {#field, offsetof(type, field), QUERN_ARGUMENT_##kind},
#define QUERN_ARGUMENTS(type) \
    .arguments = (const struct quern_argument[]){QUERN_ARGUMENTS_OF_##type(QUERN_ARGUMENT_ROW)}, \
    .argument_count = (int)(sizeof((const struct quern_argument[]){QUERN_ARGUMENTS_OF_##type(QUERN_ARGUMENT_ROW)}) / \
                            sizeof(struct quern_argument))

/* What can be seen of an operation. */
struct quern_view {
    const char *name;                     /* of the public function, without "quern_" */
    const struct quern_argument *arguments;
    int argument_count;
    void (*tensors)(const void *call, struct quern_tensor_taker *taker);  /* NULL: it has none */
    bool is_undumped;                     /* it uses no tensors, and only a trace has it */
    bool is_awaited;                      /* the work is complete on return, also on a GPU, and the look has no stream */
};

/* ---- a call ---- */

enum { QUERN_LOOKED_KERNELS = 6 };

struct quern_look {
    uint32_t on;                          /* 0: nobody looks, and no other field is set */
    const struct quern_view *view;
    quern_device *device;                 /* NULL until it is known */
    void *stream;
    int rank, ranks;                      /* ranks 0: of no group */
    const void *args, *call;              /* NULL until the arguments are checked */
    struct quern_look *outer;             /* another call of this thread that contains it */
    const struct quern_ready_kernel *kernels[QUERN_LOOKED_KERNELS];  /* that were selected */
    int kernel_count;
    struct {
        uint64_t number;                  /* of the trace; 0: none */
        int64_t began, bytes;
        bool is_range;                    /* NVTX has a range of it */
    } trace;
    struct quern_dump *dump;              /* NULL: it is not written */
    struct quern_dumped *dumped;          /* what is written of it */
};

/* A wait for other ranks that has ended. */
struct quern_wait_seen {
    const quern_device *device;
    int64_t began;                        /* quern_now */
    int rank, ranks;                      /* who waited */
    const uint32_t *awaited;              /* the ranks for which it waited: bits */
    quern_status status;
};

/* ---- those who look ---- */

enum quern_looker_place { QUERN_TRACER, QUERN_DUMPER, QUERN_LOOKERS };

/* What one of them does; NULL: nothing. */
struct quern_looker {
    void (*begin)(struct quern_look *look);
    void (*show)(struct quern_look *look);
    void (*end)(struct quern_look *look, quern_status status);
    void (*waited)(const struct quern_wait_seen *wait);
    quern_status (*step)(quern_device *device, int64_t step);
    void (*close)(quern_device *device);  /* a device that is about to be closed */
    const struct quern_cuda *(*cuda)(const struct quern_cuda *cuda);  /* the driver's functions, with which a call launches */
};

/* Enters one of them, for good.  It counts itself in quern_lookers_now while it looks. */
void quern_enter_looker(enum quern_looker_place place, const struct quern_looker *looker);

extern uint32_t quern_lookers_now;  /* atomic */

static inline uint32_t quern_is_looked_at(void) {
    return __builtin_expect(__atomic_load_n(&quern_lookers_now, __ATOMIC_RELAXED), 0);
}

/* ---- for operations ---- */

void quern_look_open(struct quern_look *look, const struct quern_view *view, quern_device *device, void *stream);
void quern_look_show(struct quern_look *look, const void *args, const void *call);
void quern_look_close(struct quern_look *look, quern_status status);
void quern_look_at_kernel(const struct quern_ready_kernel *ready);
void quern_look_waited(const struct quern_wait_seen *wait);
quern_status quern_look_step(quern_device *device, int64_t step);
void quern_look_end_device(quern_device *device);
const struct quern_cuda *quern_look_into(const struct quern_cuda *cuda);

static inline void quern_begin_look(struct quern_look *look, const struct quern_view *view, quern_device *device, void *stream) {
    look->on = quern_is_looked_at();
    if (look->on) quern_look_open(look, view, device, stream);
}

/* The arguments and, for the view, the call. */
static inline void quern_show_call(struct quern_look *look, const void *args, const void *call) {
    if (look->on) quern_look_show(look, args, call);
}

static inline quern_status quern_end_look(struct quern_look *look, quern_status status) {
    if (look->on) quern_look_close(look, status);
    return status;
}

/* The innermost call of this thread that somebody looks at, or NULL. */
struct quern_look *quern_current_look(void);

#endif
