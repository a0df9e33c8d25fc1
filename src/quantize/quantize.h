/* Quantisation: the call that its files share, and the functions of each file. */
#ifndef QUERN_ROOM_QUANTIZE_H
#define QUERN_ROOM_QUANTIZE_H

#include <stddef.h>
#include <string.h>

#include "kernels/quantize_problem.h"
#include "os/integers.h"
#include "runtime/answers.h"
#include "runtime/device.h"
#include "runtime/list_count.h"
#include "runtime/look.h"
#include "runtime/pieces.h"
#include "runtime/plan_memory.h"

/* ---- A quantisation: its list, its plan and its arguments after the checks ---- */

/* What a function does, as bits: finds the amaxes, casts, or only asks about a call that does both. */
enum { QUERN_QUANTIZE_FINDS = 1, QUERN_QUANTIZE_CASTS = 2, QUERN_QUANTIZE_ASKS = 4 };

/* How a list is cast.  Matrices: some tensors are transposed, or all are scaled in blocks; then one kernel casts all of them. */
struct quern_quantize_form {
    bool has_matrices, in_blocks;
};

/* The tables of a plan in the memory of a GPU. */
struct quern_quantize_tables {
    const struct quern_adam_tile *tiles;         /* [tile_count]; in blocks none, as slices and states */
    const struct quern_quantize_slice *slices;
    struct quern_quantize_state *states;
    int64_t tile_count;
    const struct quern_adam_tile *matrix_tiles;  /* [matrix_tile_count]; without matrices none */
    const struct quern_quantize_matrix *matrices;
    int64_t matrix_tile_count;
};

struct quern_quantize_plan {
    quern_device *device;
    quern_dtype input_dtype, output_dtype;
    struct quern_quantize_form form;
    struct quern_plan_memory memory;
    struct quern_quantize_tables tables;
    struct quern_pieces pieces;
    int64_t count;
    quern_quantize_tensor tensors[];   /* [count]: the plan's own copy */
};

/* The caller's tensors or the plan's, `stride` bytes apart.  Those of an older header are shorter. */
struct quern_quantize_list {
    const char *tensors;
    size_t stride;
};

struct quern_quantize_call {
    quern_device *device;
    int steps;
    quern_quantize_args args;
    struct quern_quantize_form form;
    struct quern_quantize_list list;
    int64_t count;                         /* tensors of the list */
    struct quern_quantize_state *states;   /* GPU: [count] */
    const struct quern_ready_kernel *amax, *cast;
    CUstream stream;
};

static inline struct quern_quantize_list quern_quantize_list_of(const quern_quantize_tensor *tensors, size_t stride) {
    return (struct quern_quantize_list){(const char *)tensors, stride};
}

/* The tensor at a place.  What an older header does not have is 0.  Today's has a copy of a constant size, which costs little. */
static inline quern_quantize_tensor quern_quantize_tensor_at(const struct quern_quantize_list *list, int64_t place) {
    quern_quantize_tensor tensor = {0};
    const char *from = list->tensors + (size_t)place * list->stride;
    if (list->stride == sizeof tensor) memcpy(&tensor, from, sizeof tensor);
    else memcpy(&tensor, from, list->stride);
    return tensor;
}

/* Its count alone. */
static inline int64_t quern_quantize_count_at(const struct quern_quantize_list *list, int64_t place) {
    int64_t count;
    memcpy(&count, list->tensors + (size_t)place * list->stride + offsetof(quern_quantize_tensor, count), sizeof count);
    return count;
}

/* The tiles of a tensor on a GPU. */
static inline int64_t quern_quantize_tiles(int64_t count) {
    return quern_larger(quern_divide_up(count, QUERN_LIST_TILE), 1);
}

/* A tensor as the kernels of matrices have it. */
static inline struct quern_quantize_matrix quern_quantize_matrix_of(const quern_quantize_tensor *tensor, bool in_blocks) {
    const bool is_matrix = (in_blocks || tensor->transposed) && tensor->count;
    const int64_t columns = is_matrix ? tensor->columns : tensor->count;
    return (struct quern_quantize_matrix){
        .input = tensor->input,
        .output = tensor->output,
        .transposed = tensor->transposed,
        .block_scales = tensor->block_scales,
        .transposed_block_scales = tensor->transposed_block_scales,
        .rows = columns ? tensor->count / columns : 0,
        .columns = columns,
    };
}

/* ---- quantize_answers.c: the known answers of the quantisation's kernels: see runtime/answers.h ---- */

extern const struct quern_known_answers quern_quantize_answers;

/* ---- quantize_arguments.c: checks of the arguments of a quantisation ---- */

/* Checks the struct's size and copies it.  What an older header does not have is 0. */
quern_status quern_quantize_take(const quern_device *device, const quern_quantize_args *given, quern_quantize_args *args);

/* Checks everything but the arrays of the call: what a workspace depends on.  The call has its device and steps. */
quern_status quern_quantize_check(struct quern_quantize_call *call, const quern_quantize_args *args);

/* Checks the numbers on which a scale and the rounding depend. */
quern_status quern_quantize_check_scale(const quern_device *device, double eps, int32_t power_of_two, quern_rounding rounding);

/* Checks the arrays of the call, whose workspace has so many bytes. */
quern_status quern_quantize_check_arrays(const struct quern_quantize_call *call, const void *workspace, size_t bytes);

/* Checks what a plan depends on: the dtypes, the scaling and the list.  Also finds how it is cast. */
quern_status quern_quantize_check_list(const quern_device *device, const quern_quantize_args *args, int steps,
                                       struct quern_quantize_form *form);

/* ---- quantize_arrays.c: the arrays of a list of tensors that are quantised ---- */

#define QUERN_QUANTIZE_LIST "args.tensors"  /* in details */

/* What decides which arrays of a tensor a call uses. */
struct quern_quantize_use {
    int64_t element;                   /* bytes of one of the input */
    int steps;
    bool in_blocks;
};

/* Arrays that a list of `count` tensors has at most. */
int64_t quern_quantize_most_arrays(int64_t count, struct quern_quantize_form form);

/* Lists the arrays of all tensors that have elements. */
int64_t quern_quantize_ranges(const struct quern_quantize_list *list, int64_t count, const struct quern_quantize_use *use,
                              struct quern_range *to);

/* Checks the arrays of a tensor with elements: not NULL, aligned, apart from each other. */
quern_status quern_quantize_check_tensor(const quern_device *device, const quern_quantize_tensor *tensor, int64_t place,
                                         const struct quern_quantize_use *use);

/* Checks that other buffers of a call are apart from the arrays of each tensor of a list. */
quern_status quern_quantize_check_others(const quern_device *device, const struct quern_quantize_list *list, int64_t count,
                                         const struct quern_quantize_use *use, const struct quern_range *others, int other_count);

/* ---- quantize_cpu.c: A quantisation on the threads of a CPU ---- */

/* Runs the steps of a call. */
quern_status quern_quantize_on_cpu(struct quern_quantize_call *call);

/* ---- quantize_cuda.c: A quantisation on a GPU ---- */

/* Launches the steps of a call. */
quern_status quern_quantize_on_cuda(struct quern_quantize_call *call);

/* ---- quantize_select.c: the choice of the kernels of a quantisation ---- */

/* Selects the kernels of the call's steps. */
quern_status quern_quantize_select(struct quern_quantize_call *call);

/* The kernel that finds largest magnitudes. */
quern_status quern_quantize_select_amax(quern_device *device, quern_dtype input, const struct quern_ready_kernel **chosen);

/* ---- quantize_show.c: what a quantisation shows of its tensors to those who look: see runtime/look.h ---- */

/* The view of the function that does these steps (QUERN_QUANTIZE_FINDS, ...), of a struct quern_quantize_call. */
const struct quern_view *quern_quantize_view(int steps);

#endif
