/* What each tensor of a list must be. */
#include <math.h>

#include "adam.h"
#include "status.h"

/* One array of a tensor. */
struct part {
    const char *name;
    const void *pointer;
    size_t element;        /* bytes; 0: an array that the call does not use */
    bool is_scale;         /* one element for each block of the tensor's */
};

enum { PARTS = 10 };

static size_t if_used(bool used, size_t bytes) {
    return used ? bytes : 0;
}

static void list_parts(const quern_adam_args *args, const quern_adam_tensor *tensor, struct part parts[PARTS]) {
    const bool m_scaled = quern_adam_is_scaled(args->m_dtype), v_scaled = quern_adam_is_scaled(args->v_dtype);
    const size_t v_bytes = quern_dtype_bytes(args->v_dtype);
    const struct part list[PARTS] = {
        {"param", tensor->param, quern_dtype_bytes(args->param_dtype), false},
        {"grad", tensor->grad, quern_dtype_bytes(args->grad_dtype), false},
        {"m", tensor->m, quern_dtype_bytes(args->m_dtype), false},
        {"v", tensor->v, v_bytes, false},
        {"master", tensor->master, quern_dtype_bytes(args->master_dtype), false},
        {"m_scale", tensor->m_scale, if_used(m_scaled, 1), true},
        {"v_scale", tensor->v_scale, if_used(v_scaled, 1), true},
        {"v_max", tensor->v_max, if_used(args->amsgrad, v_bytes), false},
        {"v_max_scale", tensor->v_max_scale, if_used(args->amsgrad && v_scaled, 1), true},
        {"copy", tensor->copy, quern_dtype_bytes(args->copy_dtype), false},
    };
    for (int i = 0; i < PARTS; i++) parts[i] = list[i];
}

static quern_status check_pointer(const quern_device *device, int64_t place, const struct part *part) {
    if (part->pointer && (uintptr_t)part->pointer % part->element == 0) return QUERN_OK;
    return quern_fail(device, part->pointer ? QUERN_INVALID_ARGUMENT : QUERN_NULL_POINTER, "args.tensors[%lld].%s is %s",
                      (long long)place, part->name, part->pointer ? "not at a multiple of its element's size" : "NULL");
}

/* The last byte of an array; that of memory where there cannot be such an array. */
static uintptr_t last_byte(const struct part *part, int64_t count) {
    const uintptr_t elements = part->is_scale ? ((uintptr_t)count - 1) / QUERN_SCALE_BLOCK + 1 : (uintptr_t)count;
    uintptr_t bytes, last;
    if (__builtin_mul_overflow(elements, part->element, &bytes) ||
        __builtin_add_overflow((uintptr_t)part->pointer, bytes - 1, &last))
        return UINTPTR_MAX;
    return last;
}

static quern_status check_overlaps(const quern_device *device, int64_t place, const struct part parts[PARTS], int64_t count) {
    for (int i = 1; i < PARTS; i++) {
        if (!parts[i].element) continue;
        const uintptr_t begin = (uintptr_t)parts[i].pointer, last = last_byte(&parts[i], count);
        for (int other = 0; other < i; other++)
            if (parts[other].element && begin <= last_byte(&parts[other], count) && (uintptr_t)parts[other].pointer <= last)
                return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.tensors[%lld].%s overlaps args.tensors[%lld].%s",
                                  (long long)place, parts[i].name, (long long)place, parts[other].name);
    }
    return QUERN_OK;
}

/* ---- what belongs to a copy and to multipliers ---- */

static quern_status check_number(const quern_device *device, int64_t place, const char *name, const void *pointer) {
    if ((uintptr_t)pointer % sizeof(float) == 0) return QUERN_OK;
    return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.tensors[%lld].%s is not at a multiple of its element's size",
                      (long long)place, name);
}

static quern_status check_copy(const quern_device *device, const quern_adam_args *args, const quern_adam_tensor *tensor,
                               int64_t place) {
    if (!args->copy_dtype) return QUERN_OK;
    if (tensor->copy_scale && quern_dtype_bytes(args->copy_dtype) != 1)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.tensors[%lld].copy_scale is not NULL with a %s copy: only e4m3 and e5m2 "
                          "copies are scaled", (long long)place, quern_dtype_name(args->copy_dtype));
    quern_status status = check_number(device, place, "copy_scale", tensor->copy_scale);
    return status == QUERN_OK ? check_number(device, place, "copy_max", tensor->copy_max) : status;
}

static quern_status check_multipliers(const quern_device *device, const quern_adam_args *args, const quern_adam_tensor *tensor,
                                      int64_t place) {
    const struct {
        const char *name;
        float value;
    } multipliers[] = {{"lr_multiplier", tensor->lr_multiplier}, {"weight_decay_multiplier", tensor->weight_decay_multiplier}};
    for (int i = 0; args->use_multipliers && i < 2; i++)
        if (!(multipliers[i].value >= 0) || !isfinite(multipliers[i].value))
            return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.tensors[%lld].%s is %g: expected a finite number, 0 or more",
                              (long long)place, multipliers[i].name, (double)multipliers[i].value);
    return QUERN_OK;
}

/* ---- the list ---- */

static quern_status check_tensor(const quern_device *device, const quern_adam_args *args, const quern_adam_tensor *tensor,
                                 int64_t place) {
    struct part parts[PARTS];
    if (tensor->count < 0)
        return quern_fail(device, QUERN_INVALID_SHAPE, "args.tensors[%lld].count is %lld: expected 0 or more", (long long)place,
                          (long long)tensor->count);
    if (!tensor->count) return QUERN_OK;
    quern_status status = QUERN_OK;
    list_parts(args, tensor, parts);
    for (int i = 0; i < PARTS && status == QUERN_OK; i++)
        if (parts[i].element) status = check_pointer(device, place, &parts[i]);
    if (status == QUERN_OK) status = check_overlaps(device, place, parts, tensor->count);
    if (status == QUERN_OK) status = check_copy(device, args, tensor, place);
    return status == QUERN_OK ? check_multipliers(device, args, tensor, place) : status;
}

quern_status quern_adam_check_tensors(const quern_device *device, const quern_adam_args *args, const struct quern_adam_list *list) {
    for (int64_t place = 0; place < list->count; place++) {
        const quern_adam_tensor tensor = quern_adam_tensor_at(list, place);
        quern_status status = check_tensor(device, args, &tensor, place);
        if (status != QUERN_OK) return status;
    }
    return QUERN_OK;
}
