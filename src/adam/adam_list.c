/* Access to the tensors of a list.  Called by both devices, by plans and by saved states. */
#include "adam/adam.h"

#include <string.h>

#include "os/integers.h"
#include "runtime/arguments.h"
#include "runtime/status.h"
#include "runtime/dtype.h"

struct quern_adam_list quern_adam_list_of(const quern_adam_args *args) {
    const quern_adam_plan *plan = args->plan;
    return (struct quern_adam_list){.tensors = (const char *)(plan ? plan->tensors : args->tensors),
                                    .stride = plan ? sizeof(quern_adam_tensor) : args->tensor_size,
                                    .count = plan ? plan->marks.places : args->tensor_count};
}

const quern_adam_tensor *quern_adam_tensor_at(const struct quern_adam_list *list, int64_t place, quern_adam_tensor *room) {
    const char *at = list->tensors + (size_t)place * list->stride;
    if (list->stride == sizeof *room && !list->grads) return (const void *)at;
    *room = (quern_adam_tensor){0};
    memcpy(room, at, list->stride);
    if (list->grads) room->grad = list->grads[place];
    return room;
}

quern_status quern_adam_check_grads(const quern_device *device, void *const *grads, const void *plan) {
    if (plan) return quern_check_optional(device, "args.grads", grads, sizeof *grads);
    return !grads ? QUERN_OK : quern_fail(device, QUERN_INVALID_ARGUMENT, "args.grads is not NULL without a plan: expected NULL, "
                                          "since the list has its own gradients");
}

quern_status quern_adam_check_grad(const quern_device *device, const void *grad, int64_t place, quern_dtype dtype) {
    if (grad && (uintptr_t)grad % quern_dtype_bytes(dtype) == 0) return QUERN_OK;
    return quern_fail(device, grad ? QUERN_INVALID_ARGUMENT : QUERN_NULL_POINTER, "args.grads[%lld] is %s", (long long)place,
                      grad ? "not at a multiple of its element's size" : "NULL");
}

struct quern_adam_slice quern_adam_slice_of(const quern_adam_args *args, const quern_adam_tensor *tensor) {
    return (struct quern_adam_slice){
        .param = tensor->param,
        .grad = tensor->grad,
        .m = tensor->m,
        .v = tensor->v,
        .master = args->master_dtype ? tensor->master : NULL,
        .count = tensor->count,
        .lr_multiplier = args->use_multipliers ? tensor->lr_multiplier : 1,
        .weight_decay_multiplier = args->use_multipliers ? tensor->weight_decay_multiplier : 1,
    };
}

struct quern_adam_extras quern_adam_extras_of(const quern_adam_args *args, const quern_adam_tensor *tensor) {
    const bool m_scaled = quern_is_scaled(args->m_dtype), v_scaled = quern_is_scaled(args->v_dtype);
    return (struct quern_adam_extras){
        .m_scale = m_scaled ? tensor->m_scale : NULL,
        .v_scale = v_scaled ? tensor->v_scale : NULL,
        .v_max = args->amsgrad ? tensor->v_max : NULL,
        .v_max_scale = args->amsgrad && v_scaled ? tensor->v_max_scale : NULL,
        .copy = args->copy_dtype ? tensor->copy : NULL,
        .copy_scale = args->copy_dtype ? tensor->copy_scale : NULL,
        .copy_max = args->copy_dtype ? tensor->copy_max : NULL,
    };
}

int64_t quern_adam_count_at(const struct quern_adam_list *list, int64_t place) {
    int64_t count;
    memcpy(&count, list->tensors + (size_t)place * list->stride + offsetof(quern_adam_tensor, count), sizeof count);
    return count;
}

static int64_t units_at(const void *list, int64_t place) {
    return quern_adam_count_at(list, place);
}

quern_status quern_adam_mark(const quern_device *device, const struct quern_adam_list *list, struct quern_list_marks *marks) {
    if (quern_mark_list(marks, list, list->count, units_at) && marks->units <= QUERN_ADAM_MAX_COUNT) return QUERN_OK;
    return quern_fail(device, QUERN_INVALID_SHAPE, "the count of args.tensors is more than %lld together",
                      (long long)QUERN_ADAM_MAX_COUNT);
}

int64_t quern_adam_tiles(int64_t count) {
    return quern_divide_up(count, QUERN_LIST_TILE);
}

quern_status quern_adam_check_tiles(const quern_device *device, const struct quern_adam_list *list) {
    for (int64_t place = 0; place < list->count; place++) {
        const int64_t count = quern_adam_count_at(list, place);
        if (quern_adam_tiles(count) > QUERN_ADAM_MAX_TILES)
            return quern_fail(device, QUERN_NOT_SUPPORTED, "args.tensors[%lld].count is %lld: a GPU takes up to %lld",
                              (long long)place, (long long)count, (long long)QUERN_LIST_TILE * QUERN_ADAM_MAX_TILES);
    }
    return QUERN_OK;
}
