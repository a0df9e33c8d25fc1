/* A call of quern_adam, checked, on its way to a device; and what plans and saved states share with it. */
#ifndef QUERN_ADAM_H
#define QUERN_ADAM_H

#include "runtime/dispatch.h"
#include "adam/list_marks.h"

/* ---- src/adam/adam_list.c ---- */

/* Tensors as a caller has them: structs that may be of an older header and so shorter, `stride` bytes apart. */
struct quern_adam_list {
    const char *tensors;
    size_t stride;
    int64_t count;
};

struct quern_adam_list quern_adam_list_of(const quern_adam_args *args);

/*
 * The tensor at a place, where it is; or, if its struct is an older header's, in *room, with zeros for what that did not have.
 * There may be very many, so that nothing is copied without need.
 */
const quern_adam_tensor *quern_adam_tensor_at(const struct quern_adam_list *list, int64_t place, quern_adam_tensor *room);

/* Its number of elements. */
int64_t quern_adam_count_at(const struct quern_adam_list *list, int64_t place);

/* What kernels need of a tensor, without what the arguments do not ask for. */
struct quern_adam_slice quern_adam_slice_of(const quern_adam_args *args, const quern_adam_tensor *tensor);
struct quern_adam_extras quern_adam_extras_of(const quern_adam_args *args, const quern_adam_tensor *tensor);

/* Marks the list by its elements. */
quern_status quern_adam_mark(const quern_device *device, const struct quern_adam_list *list, struct quern_list_marks *marks);

/* How many tiles so many elements are. */
int64_t quern_adam_tiles(int64_t count);

/* Tiles of one tensor on a GPU: a number within a tensor has 32 bits. */
enum { QUERN_ADAM_MAX_TILES = 1 << 30 };

/* Whether a GPU can take all tensors. */
quern_status quern_adam_check_tiles(const quern_device *device, const struct quern_adam_list *list);

/* ---- src/adam/adam_plan.c ---- */

struct quern_adam_plan {
    quern_device *device;
    quern_adam_args args;              /* what it was made for: dtypes and options */
    struct quern_list_marks marks;
    int64_t tile_count;

    /* CUDA: one piece of device memory and what lies in it. */
    CUdeviceptr memory;
    uint32_t *ticket;
    struct quern_adam_slice *slices;   /* [tensors] */
    struct quern_adam_extras *extras;  /* [tensors] */
    struct quern_adam_tile *tiles;     /* [tile_count] */

    quern_adam_tensor tensors[];       /* of this library's header */
};

/* ---- src/adam/adam_select.c ---- */

/* What a kernel of Adam is chosen by. */
struct quern_adam_request {
    enum quern_adam_task task;
    quern_dtype param, grad, m, v, master;  /* a task on gradients has no others, and to combine a norm none */
    bool full;                              /* an option is on that only full kernels know */
};

struct quern_adam_request quern_adam_request_of(const quern_adam_args *args);

quern_status quern_adam_select(quern_device *device, const struct quern_adam_request *request,
                               const struct quern_ready_kernel **chosen);
size_t quern_adam_explain_request(const quern_device *device, const struct quern_adam_request *request, char *buffer, size_t bytes);

/* ---- src/adam/adam_legality.c ---- */

/* The arrays of the step, in the order in which a kernel's key has their types; the copy is in no key. */
enum quern_adam_role { QUERN_ADAM_PARAM, QUERN_ADAM_GRAD, QUERN_ADAM_M, QUERN_ADAM_V, QUERN_ADAM_MASTER, QUERN_ADAM_COPY };

/* Whether an array can have a type; QUERN_NO_DTYPE: whether it can be missing. */
bool quern_adam_can_be(enum quern_adam_role role, quern_dtype dtype);

/* Whether there can be such a master copy, or none, of such parameters. */
bool quern_adam_completes(quern_dtype master, quern_dtype param);

quern_status quern_adam_check_dtypes(const quern_device *device, const quern_adam_args *args);

/* ---- src/adam/adam_arguments.c, src/adam/adam_tensors.c ---- */

/* Takes arguments of this or an older header over into this one's struct. */
quern_status quern_adam_take(const quern_device *device, const quern_adam_args *given, quern_adam_args *args);

/* Types, options and the list but for its tensors: what a plan is made by, and a saved state. */
quern_status quern_adam_check_form(const quern_device *device, const quern_adam_args *args);

/* The rest of what quern_adam reads, but for the tensors: scalars, control, and the plan if there is one. */
quern_status quern_adam_check_step(const quern_device *device, const quern_adam_args *args);

/* That the plan in the arguments is one for the rest of them. */
quern_status quern_adam_check_plan(const quern_device *device, const quern_adam_args *args);

/* Each tensor of the list. */
quern_status quern_adam_check_tensors(const quern_device *device, const quern_adam_args *args, const struct quern_adam_list *list);

/* Whether moments of a type have scales. */
bool quern_adam_is_scaled(quern_dtype dtype);

/* ---- the call ---- */

struct quern_adam_call {
    quern_device *device;
    quern_adam_args args;
    struct quern_adam_list list;       /* the caller's or the plan's */
    struct quern_adam_pointers control;
    struct quern_adam_rates rates;
    struct quern_adam_step step;       /* complete, but for what control in device memory will say */
    const struct quern_ready_kernel *ready;
    void *workspace;
    void *stream;
};

/* Fills in control, rates and step from the arguments (src/adam/adam_step.c). */
void quern_adam_state(struct quern_adam_call *call);

quern_status quern_adam_on_cpu(struct quern_adam_call *call);   /* src/adam/adam_cpu.c */
quern_status quern_adam_on_cuda(struct quern_adam_call *call);  /* src/adam/adam_cuda.c */

#endif
