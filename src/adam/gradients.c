/* Lists of gradients: checks, visits on a CPU and launches on a GPU.  For the norm, accumulations and their plans. */
#include "adam/adam.h"

#include "os/integers.h"
#include "runtime/arguments.h"
#include "runtime/dtype.h"
#include "runtime/list_count.h"
#include "runtime/status.h"

struct quern_gradient_slice quern_gradient_at(const struct quern_gradient_list *list, int64_t place) {
    struct quern_gradient_slice slice = {.group = list->token_places ? list->token_places[place] : place};
    if (list->plan) slice.grad = list->plan->tensors[place].grad, slice.count = list->plan->tensors[place].count;
    else {
        const quern_gradient *gradient = &list->gradients[place];
        slice.grad = gradient->grad, slice.main_grad = gradient->main_grad, slice.count = gradient->count;
    }
    if (list->grads) slice.grad = list->grads[place];
    return slice;
}

int64_t quern_gradient_pieces(const struct quern_gradient_list *list, int64_t elements) {
    int64_t pieces = 0;
    for (int64_t place = 0; place < list->count; place++) pieces += quern_divide_up(quern_gradient_at(list, place).count, elements);
    return pieces;
}

/* ---- arguments ---- */

static quern_status check_plan(const quern_device *device, quern_dtype grad_dtype, const struct quern_gradient_list *list) {
    if (list->plan->device != device)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.plan was made for another device");
    if (list->gradients)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.gradients is not NULL with a plan, which has its own list");
    if (list->plan->args.grad_dtype != grad_dtype)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.grad_dtype is %s, and args.plan was made with %s",
                          quern_dtype_name(grad_dtype), quern_dtype_name(list->plan->args.grad_dtype));
    return QUERN_OK;
}

quern_status quern_gradient_check_list(const quern_device *device, uint32_t gradient_size, quern_dtype grad_dtype,
                                       const struct quern_gradient_list *list) {
    quern_status status = quern_check_dtype(device, "args.grad_dtype", grad_dtype, quern_floats, false);
    if (status != QUERN_OK) return status;
    if (list->plan) return check_plan(device, grad_dtype, list);
    if (gradient_size != sizeof(quern_gradient))
        return quern_fail(device, QUERN_INVALID_STRUCT_SIZE, "args.gradient_size is %u: expected %zu (as the struct's initialiser "
                          "sets)", gradient_size, sizeof(quern_gradient));
    status = quern_check_count(device, "args.gradient_count", list->count, QUERN_MOST_ITEMS);
    if (status != QUERN_OK || !list->count) return status;
    return quern_check_pointer(device, "args.gradients", list->gradients, sizeof(void *));
}

static quern_status check_array(const quern_device *device, int64_t place, const char *name, const void *pointer, size_t element) {
    if (pointer && (uintptr_t)pointer % element == 0) return QUERN_OK;
    return quern_fail(device, pointer ? QUERN_INVALID_ARGUMENT : QUERN_NULL_POINTER, "args.gradients[%lld].%s is %s",
                      (long long)place, name, pointer ? "not at a multiple of its element's size" : "NULL");
}

static quern_status check_apart(const quern_device *device, const struct quern_gradient_slice *slice,
                                const struct quern_gradient_access *access, int64_t place) {
    const size_t grad_bytes = quern_dtype_bytes(access->grad_dtype), main_bytes = quern_dtype_bytes(access->main_dtype);
    const uintptr_t grad = (uintptr_t)slice->grad, main_grad = (uintptr_t)slice->main_grad;
    const uintptr_t count = (uintptr_t)slice->count;
    if (main_grad >= grad ? (main_grad - grad) / grad_bytes >= count : (grad - main_grad) / main_bytes >= count) return QUERN_OK;
    return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.gradients[%lld].main_grad overlaps args.gradients[%lld].grad",
                      (long long)place, (long long)place);
}

quern_status quern_gradient_check_each(const quern_device *device, const struct quern_gradient_list *list,
                                       const struct quern_gradient_access *access) {
    const size_t grad_bytes = quern_dtype_bytes(access->grad_dtype), main_bytes = quern_dtype_bytes(access->main_dtype);
    const bool has_sums = access->main_dtype != QUERN_NO_DTYPE;
    int64_t total = 0;
    for (int64_t place = 0; place < list->count && (!list->plan || list->grads); place++) {
        const struct quern_gradient_slice slice = quern_gradient_at(list, place);
        quern_status status = quern_check_list_count(device, "args.gradients", place, slice.count, &total);
        if (status == QUERN_OK && !slice.count) continue;
        if (status == QUERN_OK && list->grads) status = quern_adam_check_grad(device, slice.grad, place, access->grad_dtype);
        else if (status == QUERN_OK) status = check_array(device, place, "grad", slice.grad, grad_bytes);
        if (status == QUERN_OK && has_sums) status = check_array(device, place, "main_grad", slice.main_grad, main_bytes);
        if (status == QUERN_OK && has_sums) status = check_apart(device, &slice, access, place);
        if (status != QUERN_OK) return status;
    }
    return QUERN_OK;
}

/* One kind of array after the other: each kind is likely to ascend, which makes the sorting fast. */
static int64_t list_arrays(const struct quern_gradient_list *list, quern_dtype dtype, bool sums, enum quern_access access,
                           struct quern_range *to) {
    const int64_t element = (int64_t)quern_dtype_bytes(dtype);
    int64_t count = 0;
    for (int64_t place = 0; place < list->count; place++) {
        const struct quern_gradient_slice slice = quern_gradient_at(list, place);
        if (!slice.count) continue;
        to[count] = quern_range_of(sums ? "main_grad" : "grad", sums ? slice.main_grad : slice.grad, slice.count * element, access);
        to[count++].place = (uint32_t)place;
    }
    return count;
}

int64_t quern_gradient_ranges(const struct quern_gradient_list *list, const struct quern_gradient_access *access,
                              struct quern_range *to) {
    const int64_t count = list_arrays(list, access->grad_dtype, false, access->zero_grads ? QUERN_WRITTEN : QUERN_READ, to);
    if (!access->main_dtype) return count;
    return count + list_arrays(list, access->main_dtype, true, QUERN_WRITTEN, to + count);
}

void quern_gradient_show(const struct quern_gradient_list *list, const struct quern_gradient_access *access,
                         struct quern_tensor_taker *taker) {
    for (int64_t place = 0; place < list->count; place++) {
        const struct quern_gradient_slice gradient = quern_gradient_at(list, place);
        if (!gradient.count) continue;
        quern_show_item(taker, "grad", place, gradient.grad, quern_element_of(access->grad_dtype), gradient.count,
                        access->zero_grads ? QUERN_TENSOR_BOTH : QUERN_TENSOR_IN);
        if (access->main_dtype)
            quern_show_item(taker, "main_grad", place, gradient.main_grad, quern_element_of(access->main_dtype), gradient.count,
                            QUERN_TENSOR_BOTH);
    }
}

quern_status quern_gradient_check_apart(const quern_device *device, const struct quern_gradient_list *list,
                                        const struct quern_gradient_access *access, const struct quern_range *others,
                                        int other_count) {
    struct quern_range ranges[QUERN_CHECKED_ARRAYS + QUERN_OTHER_RANGES], scratch[QUERN_CHECKED_ARRAYS + QUERN_OTHER_RANGES];
    if (list->plan && !list->grads) return quern_adam_check_against_plan(device, list->plan, others, other_count);
    const bool is_short = list->count <= QUERN_CHECKED_ARRAYS / (access->main_dtype ? 2 : 1);
    int64_t count = is_short ? quern_gradient_ranges(list, access, ranges) : 0;
    for (int i = 0; i < other_count; i++) ranges[count++] = others[i];
    return quern_check_apart(device, "args.gradients", ranges, scratch, count);
}

/* ---- kernels ---- */

quern_status quern_gradient_select(quern_device *device, enum quern_adam_task task, quern_dtype grad_dtype, quern_dtype main_dtype,
                                   const struct quern_ready_kernel **chosen) {
    const struct quern_adam_request request = {.task = task, .param = main_dtype, .grad = grad_dtype};
    return quern_adam_select(device, &request, chosen);
}

/* ---- CPU ---- */

static int64_t elements_at(const void *list, int64_t place) { return quern_gradient_at(list, place).count; }

void quern_gradient_visit_all(const quern_device *device, const struct quern_gradient_list *list, quern_piece_visit *visit,
                              void *context) {
    quern_visit_list(device, &(struct quern_list_visit){.list = list, .places = list->count, .elements = elements_at,
                                                        .chunk = QUERN_GRADIENT_CHUNK, .visit = visit, .context = context});
}

/* ---- CUDA ---- */

CUresult quern_gradient_launch_tiles(const struct quern_cuda *cuda, const struct quern_ready_kernel *ready,
                                     struct quern_gradient_batch *batch, CUstream stream) {
    void *parameters[] = {batch};
    const int64_t tiles = batch->tile_count;
    const unsigned blocks = tiles < (int64_t)ready->resident ? (unsigned)tiles : ready->resident;
    if (!blocks) return CUDA_SUCCESS;
    return cuda->launch(ready->function, blocks, 1, 1, ready->kernel->cuda.threads, 1, 1, 0, stream, parameters, NULL);
}

/* Launches the current batch and begins the next one. */
static CUresult flush(const struct quern_cuda *cuda, const struct quern_ready_kernel *ready, struct quern_gradient_batch *batch,
                      CUstream stream) {
    CUresult error = quern_gradient_launch_tiles(cuda, ready, batch, stream);
    batch->first_square += batch->tile_count;
    batch->first_place += batch->tensor_count;
    batch->tensor_count = 0;
    batch->tile_count = 0;
    return error;
}

CUresult quern_gradient_launch(const struct quern_cuda *cuda, const struct quern_ready_kernel *ready,
                               const struct quern_gradient_list *list, struct quern_gradient_batch *batch, CUstream stream) {
    CUresult error = CUDA_SUCCESS;
    for (int64_t place = 0; place < list->count && error == CUDA_SUCCESS; place++) {
        const struct quern_gradient_slice slice = quern_gradient_at(list, place);
        const int64_t tiles = quern_adam_tiles(slice.count);
        if (batch->tensor_count == QUERN_GRADIENT_BATCH || batch->tile_count + tiles > QUERN_ADAM_MAX_TILES)
            error = flush(cuda, ready, batch, stream);
        batch->gradients[batch->tensor_count] = slice;
        batch->first_tile[batch->tensor_count] = (uint32_t)batch->tile_count;
        batch->tensor_count++;
        batch->tile_count += tiles;
    }
    return error == CUDA_SUCCESS ? flush(cuda, ready, batch, stream) : error;
}
