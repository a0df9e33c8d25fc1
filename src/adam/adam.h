/* Adam and the operations on gradients: their calls and lists, and the functions of each file. */
#ifndef QUERN_ROOM_ADAM_H
#define QUERN_ROOM_ADAM_H

#include <stdbool.h>
#include <string.h>

#include "kernels/problem.h"
#include "os/integers.h"
#include "os/sizes.h"
#include "quern.h"
#include "runtime/device.h"
#include "runtime/dispatch.h"
#include "runtime/list_marks.h"
#include "runtime/list_visit.h"
#include "runtime/look.h"
#include "runtime/pieces.h"
#include "runtime/plan_memory.h"
#include "runtime/ranges.h"

/* ---- adam_list.c: the list of tensors of a call of Adam: the caller's, or that of a plan ---- */

/* Elements of one tensor: no type has more than 4 bytes.  The list has no more together. */
#define QUERN_ADAM_MAX_COUNT (QUERN_MOST_BYTES / 4)

/* A plan: a list that has been checked, divided and, on a GPU, written to device memory. */
struct quern_adam_plan {
    quern_device *device;
    quern_adam_args args;              /* its dtypes and options */
    struct quern_list_marks marks;
    int64_t tile_count;

    /* CUDA: one piece of device memory, and the tables in it. */
    struct quern_plan_memory memory;
    uint32_t *ticket;
    struct quern_adam_slice *slices;   /* [tensors] */
    struct quern_adam_extras *extras;  /* [tensors] */
    struct quern_adam_tile *tiles;     /* [tile_count] */
    struct quern_adam_tensor_step *tensor_steps;  /* [tensors]: of one call at a time */

    struct quern_pieces pieces;
    bool has_told;                     /* atomic access: how m is rounded has been logged */

    quern_adam_tensor tensors[];       /* of this library's header */
};

/* The caller's tensors, `stride` bytes apart.  The structs of an older header are shorter. */
struct quern_adam_list {
    const char *tensors;
    size_t stride;
    int64_t count;
    void *const *grads;                /* [count]: replaces those of the tensors; NULL: not given */
};

/* Without args.grads, which only a step reads. */
struct quern_adam_list quern_adam_list_of(const quern_adam_args *args);

/*
 * The tensor at a place of the list: the caller's struct, or, if the caller's header is older or its gradient is replaced, a copy
 * in *room.  Lists may be very long, so no tensor is copied without need.
 */
const quern_adam_tensor *quern_adam_tensor_at(const struct quern_adam_list *list, int64_t place, quern_adam_tensor *room);

/* Checks the list of a call that replaces the gradients of its plan, and an address in it. */
quern_status quern_adam_check_grads(const quern_device *device, void *const *grads, const void *plan);
quern_status quern_adam_check_grad(const quern_device *device, const void *grad, int64_t place, quern_dtype dtype);

/* Its number of elements. */
int64_t quern_adam_count_at(const struct quern_adam_list *list, int64_t place);

/* A tensor as kernels take it: pointers that the arguments do not use are NULL. */
struct quern_adam_slice quern_adam_slice_of(const quern_adam_args *args, const quern_adam_tensor *tensor);
struct quern_adam_extras quern_adam_extras_of(const quern_adam_args *args, const quern_adam_tensor *tensor);

/* Marks the list by its elements. */
quern_status quern_adam_mark(const quern_device *device, const struct quern_adam_list *list, struct quern_list_marks *marks);

/* The number of tiles of a tensor. */
int64_t quern_adam_tiles(int64_t count);

/* Tiles of one tensor on a GPU: a number within a tensor has 32 bits. */
enum { QUERN_ADAM_MAX_TILES = 1 << 30 };

/* Whether a GPU can take all tensors. */
quern_status quern_adam_check_tiles(const quern_device *device, const struct quern_adam_list *list);

/* ---- A checked call of quern_adam: the argument of adam_cpu.c and adam_cuda.c ---- */

struct quern_adam_call {
    quern_device *device;
    quern_adam_args args;
    struct quern_adam_list list;       /* the caller's or the plan's */
    struct quern_adam_pointers control;
    struct quern_adam_rates rates;
    struct quern_adam_step step;       /* complete, except for values that are in device memory (control) */
    const struct quern_ready_kernel *ready, *steps_ready;  /* the latter on a GPU, with args.steps */
    void *workspace;
    void *stream;
};

/* ---- adam_apart.c: overlaps between the arrays of a list of tensors, and of other buffers of a call with them ---- */

/* Fails if two tensors share memory that the arguments write, or another buffer shares memory with them or with one another. */
quern_status quern_adam_check_apart(const quern_device *device, const quern_adam_args *args, const struct quern_adam_list *list,
                                    const struct quern_range *others, int count);

/* The same for a list of any length.  Allocates memory while it works. */
quern_status quern_adam_check_long_apart(const quern_device *device, const quern_adam_args *args,
                                         const struct quern_adam_list *list, const struct quern_range *others, int count);

/* Checks the tensors of a plan against each other and stores their pieces in the plan. */
quern_status quern_adam_keep_pieces(struct quern_adam_plan *plan);

/* Checks other buffers of a call against the pieces of a plan, and against each other. */
quern_status quern_adam_check_against_plan(const quern_device *device, const struct quern_adam_plan *plan,
                                           const struct quern_range *others, int count);

/* ---- gradients.c: lists of gradients, for quern_gradient_norm and quern_accumulate ---- */

/* The caller's gradients, or those of a plan. */
struct quern_gradient_list {
    const quern_gradient *gradients;
    const quern_adam_plan *plan;       /* NULL: gradients */
    const int32_t *token_places;       /* as in quern.h; NULL: gradient i has group i */
    int64_t count;
    void *const *grads;                /* [count]: replaces those of a plan; NULL: not given */
};

/* The tables of an accumulation's plan in the memory of a GPU. */
struct quern_gradient_tables {
    const struct quern_adam_tile *tiles;         /* [tile_count] */
    const struct quern_gradient_slice *slices;
    int64_t tile_count;
};

struct quern_accumulate_plan {
    quern_device *device;
    quern_accumulate_args args;        /* its types, zero_grads and group_count */
    struct quern_gradient_list list;   /* the plan's own copy */
    struct quern_plan_memory memory;
    struct quern_gradient_tables tables;
    struct quern_pieces pieces;
    quern_gradient gradients[];        /* [list.count]; then the list's token_places, if it has them */
};

struct quern_gradient_slice quern_gradient_at(const struct quern_gradient_list *list, int64_t place);

/* The number of pieces of `elements` elements into which the tensors are cut. */
int64_t quern_gradient_pieces(const struct quern_gradient_list *list, int64_t elements);

/* Checks the arguments that both functions take. */
quern_status quern_gradient_check_list(const quern_device *device, uint32_t gradient_size, quern_dtype grad_dtype,
                                       const struct quern_gradient_list *list);

/* The arrays that a call reads and writes. */
struct quern_gradient_access {
    quern_dtype grad_dtype, main_dtype;  /* QUERN_NO_DTYPE: no sums */
    bool zero_grads;
};

/* Checks each gradient and its sum. */
quern_status quern_gradient_check_each(const quern_device *device, const struct quern_gradient_list *list,
                                       const struct quern_gradient_access *access);

/* Lists the arrays of all gradients that have elements: of each gradient at most two. */
int64_t quern_gradient_ranges(const struct quern_gradient_list *list, const struct quern_gradient_access *access,
                              struct quern_range *to);

/* Shows the gradients and their sums to those who look. */
void quern_gradient_show(const struct quern_gradient_list *list, const struct quern_gradient_access *access,
                         struct quern_tensor_taker *taker);

/* Checks that nothing that the call writes overlaps another buffer: of a plan, or of a list that is short, as in adam_apart.c. */
quern_status quern_gradient_check_apart(const quern_device *device, const struct quern_gradient_list *list,
                                        const struct quern_gradient_access *access, const struct quern_range *others,
                                        int other_count);

/* A kernel for gradients and sums of these types.  The combining task has neither. */
quern_status quern_gradient_select(quern_device *device, enum quern_adam_task task, quern_dtype grad_dtype, quern_dtype main_dtype,
                                   const struct quern_ready_kernel **chosen);

/* On a CPU: visits every piece of up to QUERN_GRADIENT_CHUNK elements on the device's threads. */
void quern_gradient_visit_all(const quern_device *device, const struct quern_gradient_list *list, quern_piece_visit *visit,
                              void *context);

/*
 * Launches a kernel for all tensors of a list, once for each batch that its parameters hold.  batch has the arguments that all
 * launches share.  The device's context is current.
 */
CUresult quern_gradient_launch(const struct quern_cuda *cuda, const struct quern_ready_kernel *ready,
                               const struct quern_gradient_list *list, struct quern_gradient_batch *batch, CUstream stream);

/* One launch for the tiles of a batch: those of a plan, for instance. */
CUresult quern_gradient_launch_tiles(const struct quern_cuda *cuda, const struct quern_ready_kernel *ready,
                                     struct quern_gradient_batch *batch, CUstream stream);

/* ---- accumulate_arguments.c: checks of the arguments of an accumulation ---- */

/* Copies arguments of this or an older header into this header's struct, with a main_dtype. */
quern_status quern_accumulate_take(const quern_device *device, const quern_accumulate_args *given, quern_accumulate_args *args);

/* The arrays that a call with these arguments uses. */
struct quern_gradient_access quern_accumulate_access(const quern_accumulate_args *args);

/* Checks what a plan depends on: types, zero_grads and the list, which it returns.  is_grouped: with its groups. */
quern_status quern_accumulate_check_list(const quern_device *device, const quern_accumulate_args *args, bool is_grouped,
                                         struct quern_gradient_list *list);

/* Checks that the plan was made for these arguments. */
quern_status quern_accumulate_check_plan(const quern_device *device, const quern_accumulate_args *args);

/* ---- adam_answers.c: the known answers of the kernels of Adam and of gradients ---- */

struct quern_known_answers;

extern const struct quern_known_answers quern_adam_answers;

/* ---- adam_arguments.c: checks of the arguments of Adam, without its tensors ---- */

/* Copies arguments of this or an older header into this header's struct. */
quern_status quern_adam_take(const quern_device *device, const quern_adam_args *given, quern_adam_args *args);

/* Checks types, options and the list without its tensors.  Plans and saved states depend only on these. */
quern_status quern_adam_check_form(const quern_device *device, const quern_adam_args *args);

/* Checks the other arguments of quern_adam: scalars, control and the plan. */
quern_status quern_adam_check_step(const quern_device *device, const quern_adam_args *args);

/* Checks that the plan was made with the types and options of the arguments. */
quern_status quern_adam_check_plan(const quern_device *device, const quern_adam_args *args);

/* ---- adam_cpu.c: A step of Adam on a CPU, for adam.c ---- */

quern_status quern_adam_on_cpu(struct quern_adam_call *call);

/* ---- adam_cuda.c: A step of Adam on a GPU, for adam.c ---- */

quern_status quern_adam_on_cuda(struct quern_adam_call *call);

/* ---- adam_legality.c: the types that a step of Adam can have ---- */

/* The arrays of a step, in the order of their types in a kernel's key.  The type of the copy is not in the key. */
enum quern_adam_role { QUERN_ADAM_PARAM, QUERN_ADAM_GRAD, QUERN_ADAM_M, QUERN_ADAM_V, QUERN_ADAM_MASTER, QUERN_ADAM_COPY };

/* Whether an array can have a type.  For QUERN_NO_DTYPE: whether it can be missing. */
bool quern_adam_can_be(enum quern_adam_role role, quern_dtype dtype);

/* Whether parameters of a type can have a master copy of a type.  For QUERN_NO_DTYPE: whether they can have no master copy. */
bool quern_adam_completes(quern_dtype master, quern_dtype param);

/* Checks the types of the arguments. */
quern_status quern_adam_check_dtypes(const quern_device *device, const quern_adam_args *args);

/* ---- adam_saved.c: the layout of a saved state, documented in quern.h ---- */

struct quern_adam_saved_header {
    char magic[8];
    uint32_t version;
    uint32_t param, m, v, master;      /* quern_dtype */
    uint32_t amsgrad;
    int64_t tensor_count;
    int64_t step;
    uint64_t seed;
    uint64_t zero;
};

/* The arrays of a tensor, in their order. */
enum quern_adam_saved_part {
    QUERN_SAVED_M,
    QUERN_SAVED_M_SCALE,
    QUERN_SAVED_V,
    QUERN_SAVED_V_SCALE,
    QUERN_SAVED_V_MAX,
    QUERN_SAVED_V_MAX_SCALE,
    QUERN_SAVED_PARAM,                 /* the upper halves of masters, of which the remainders are the lower ones */
    QUERN_SAVED_MASTER,
    QUERN_SAVED_PARTS
};

/* The properties that determine which arrays a state has, and their types. */
struct quern_adam_saved_form {
    quern_dtype m, v, master;
    bool amsgrad;
    bool steps;                        /* one of each tensor: version 2 */
};

struct quern_adam_saved_form quern_adam_saved_form_of(const quern_adam_args *args);

/* The bytes of an array; 0: the state does not have it. */
size_t quern_adam_saved_part_bytes(const struct quern_adam_saved_form *form, enum quern_adam_saved_part part, int64_t count);

/* An array of a tensor. */
void *quern_adam_saved_part_of(const quern_adam_tensor *tensor, enum quern_adam_saved_part part);

/* The padded size of an array. */
size_t quern_adam_saved_room(size_t bytes);

/* The bytes before the arrays of the first tensor. */
size_t quern_adam_saved_head(const struct quern_adam_saved_form *form, int64_t tensors);

/* Checks the arguments and tensors of the three public functions.  Gradients and copies are ignored. */
quern_status quern_adam_saved_check(const quern_device *device, const quern_adam_args *given, quern_adam_args *args);

/* Checks that the saved bytes are no part of the tensors, whose arrays are apart. */
quern_status quern_adam_saved_check_apart(const quern_device *device, const quern_adam_args *args, const void *saved, size_t bytes,
                                          enum quern_access access);

/* The bytes of a whole state, hash included, for a form and a list of tensors. */
quern_status quern_adam_saved_size(const quern_device *device, const struct quern_adam_saved_form *form,
                                   const struct quern_adam_list *list, size_t *bytes);

/* ---- adam_select.c: the choice of a kernel of Adam ---- */

/* The request that a kernel must serve. */
struct quern_adam_request {
    enum quern_adam_task task;
    quern_dtype param, grad, m, v, master;  /* tasks on gradients set only grad, and sums param; the task that
                                              combines norms sets none */
    bool full;                              /* an option is on that only full kernels implement */
};

struct quern_adam_request quern_adam_request_of(const quern_adam_args *args);

quern_status quern_adam_select(quern_device *device, const struct quern_adam_request *request,
                               const struct quern_ready_kernel **chosen);
size_t quern_adam_explain_request(const quern_device *device, const struct quern_adam_request *request, char *buffer, size_t bytes);

/* ---- adam_show.c: what a step of Adam shows of its tensors to those who look: see runtime/look.h ---- */

extern const struct quern_view quern_adam_view;  /* of a struct quern_adam_call */

/* ---- adam_step.c: the scalars of a step, for adam.c ---- */

/* Fills in control, rates and step of a call from its arguments. */
void quern_adam_fill_step(struct quern_adam_call *call);

/* ---- adam_tensors.c: the arrays of each tensor of a list, and their checks ---- */

/* An array, or a number in device memory, of each tensor. */
struct quern_adam_part {
    const char *name;
    size_t offset;             /* of the pointer in a tensor */
    size_t element;            /* bytes; 0: not used */
    enum quern_access access;
    bool is_scale;             /* one element for each block of the tensor's */
    bool is_number;            /* one element */
};

enum { QUERN_ADAM_PARTS = 10 };

struct quern_adam_parts {
    struct quern_adam_part list[QUERN_ADAM_PARTS];
    int count;
};

/* The arrays that a call uses.  Made once for all tensors, since there may be many small ones. */
struct quern_adam_parts quern_adam_list_parts(const quern_adam_args *args);

static inline const void *quern_adam_part_pointer(const quern_adam_tensor *tensor, const struct quern_adam_part *part) {
    const void *pointer;
    memcpy(&pointer, (const char *)tensor + part->offset, sizeof pointer);
    return pointer;
}

static inline int64_t quern_adam_part_bytes(const struct quern_adam_part *part, int64_t count) {
    const int64_t elements = part->is_number ? 1 : part->is_scale ? quern_divide_up(count, QUERN_SCALE_BLOCK) : count;
    return elements * (int64_t)part->element;
}

/* Checks each tensor for itself. */
quern_status quern_adam_check_tensors(const quern_device *device, const quern_adam_args *args, const struct quern_adam_list *list);

/* Checks the gradients that replace those of a plan, each with the other arrays of its tensor. */
quern_status quern_adam_check_new_grads(const quern_device *device, const quern_adam_args *args,
                                        const struct quern_adam_list *list);

#endif
