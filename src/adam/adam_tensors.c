/* The arrays of a tensor, and the checks of each tensor for itself.  Called by quern_adam, by plans and by saved states. */
#include "adam/adam.h"

#include <math.h>
#include <string.h>

#include "runtime/status.h"
#include "runtime/dtype.h"

/* ---- the arrays ---- */

static size_t if_used(bool used, size_t bytes) {
    return used ? bytes : 0;
}

#define PART(field, bytes, access, is_scale) {#field, offsetof(quern_adam_tensor, field), bytes, access, is_scale, false}

struct quern_adam_parts quern_adam_list_parts(const quern_adam_args *args) {
    const bool m_scaled = quern_is_scaled(args->m_dtype), v_scaled = quern_is_scaled(args->v_dtype);
    const size_t v_bytes = quern_dtype_bytes(args->v_dtype);
    const struct quern_adam_part all[QUERN_ADAM_PARTS] = {
        PART(param, quern_dtype_bytes(args->param_dtype), QUERN_WRITTEN, false),
        PART(grad, quern_dtype_bytes(args->grad_dtype), args->zero_grads ? QUERN_WRITTEN : QUERN_READ, false),
        PART(m, quern_dtype_bytes(args->m_dtype), QUERN_WRITTEN, false),
        PART(v, v_bytes, QUERN_WRITTEN, false),
        PART(master, quern_dtype_bytes(args->master_dtype), QUERN_WRITTEN, false),
        PART(m_scale, if_used(m_scaled, 1), QUERN_WRITTEN, true),
        PART(v_scale, if_used(v_scaled, 1), QUERN_WRITTEN, true),
        PART(v_max, if_used(args->amsgrad, v_bytes), QUERN_WRITTEN, false),
        PART(v_max_scale, if_used(args->amsgrad && v_scaled, 1), QUERN_WRITTEN, true),
        PART(copy, quern_dtype_bytes(args->copy_dtype), QUERN_WRITTEN, false),
    };
    struct quern_adam_parts used = {.count = 0};
    for (int i = 0; i < QUERN_ADAM_PARTS; i++)
        if (all[i].element) used.list[used.count++] = all[i];
    return used;
}

/* ---- the arrays of one tensor ---- */

static quern_status bad_pointer(const quern_device *device, int64_t place, const struct quern_adam_part *part,
                                uintptr_t address) {
    return quern_fail(device, address ? QUERN_INVALID_ARGUMENT : QUERN_NULL_POINTER, "args.tensors[%lld].%s is %s",
                      (long long)place, part->name, address ? "not at a multiple of its element's size" : "NULL");
}

static quern_status check_arrays(const quern_device *device, const struct quern_adam_parts *parts, const quern_adam_tensor *tensor,
                                 int64_t place) {
    uintptr_t first[QUERN_ADAM_PARTS], last[QUERN_ADAM_PARTS];
    for (int i = 0; i < parts->count; i++) {
        const struct quern_adam_part *part = &parts->list[i];
        first[i] = (uintptr_t)quern_adam_part_pointer(tensor, part);
        if (__builtin_add_overflow(first[i], (uintptr_t)quern_adam_part_bytes(part, tensor->count) - 1, &last[i]))
            last[i] = UINTPTR_MAX;
        if (!first[i] || first[i] & (part->element - 1)) return bad_pointer(device, place, part, first[i]);
        for (int other = 0; other < i; other++)
            if (first[i] <= last[other] && first[other] <= last[i])
                return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.tensors[%lld].%s overlaps args.tensors[%lld].%s",
                                  (long long)place, part->name, (long long)place, parts->list[other].name);
    }
    return QUERN_OK;
}

/* ---- copies and multipliers ---- */

static quern_status check_number(const quern_device *device, int64_t place, const char *name, const void *pointer) {
    if ((uintptr_t)pointer % sizeof(float) == 0) return QUERN_OK;
    return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.tensors[%lld].%s is not at a multiple of its element's size",
                      (long long)place, name);
}

static quern_status check_copy(const quern_device *device, const quern_adam_args *args, const quern_adam_tensor *tensor,
                               int64_t place) {
    if (!args->copy_dtype) return QUERN_OK;
    if (tensor->copy_scale && quern_dtype_bytes(args->copy_dtype) != 1)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.tensors[%lld].copy_scale is not NULL with a %s copy: only e4m3 and "
                          "e5m2 copies are scaled", (long long)place, quern_dtype_name(args->copy_dtype));
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

static quern_status check_tensor(const quern_device *device, const quern_adam_args *args, const struct quern_adam_parts *parts,
                                 const quern_adam_tensor *tensor, int64_t place) {
    if (tensor->count < 0 || tensor->count > QUERN_ADAM_MAX_COUNT)
        return quern_fail(device, QUERN_INVALID_SHAPE, "args.tensors[%lld].count is %lld: expected 0 to %lld", (long long)place,
                          (long long)tensor->count, (long long)QUERN_ADAM_MAX_COUNT);
    if (!tensor->count) return QUERN_OK;
    quern_status status = check_arrays(device, parts, tensor, place);
    if (status == QUERN_OK) status = check_copy(device, args, tensor, place);
    return status == QUERN_OK ? check_multipliers(device, args, tensor, place) : status;
}

quern_status quern_adam_check_tensors(const quern_device *device, const quern_adam_args *args, const struct quern_adam_list *list) {
    const struct quern_adam_parts parts = quern_adam_list_parts(args);
    quern_adam_tensor room;
    for (int64_t place = 0; place < list->count; place++) {
        quern_status status = check_tensor(device, args, &parts, quern_adam_tensor_at(list, place, &room), place);
        if (status != QUERN_OK) return status;
    }
    return QUERN_OK;
}

quern_status quern_adam_check_new_grads(const quern_device *device, const quern_adam_args *args,
                                        const struct quern_adam_list *list) {
    const struct quern_adam_parts parts = quern_adam_list_parts(args);
    quern_adam_tensor room;
    for (int64_t place = 0; place < list->count; place++) {
        const quern_adam_tensor *tensor = quern_adam_tensor_at(list, place, &room);
        quern_status status = tensor->count ? quern_adam_check_grad(device, tensor->grad, place, args->grad_dtype) : QUERN_OK;
        if (status == QUERN_OK && tensor->count) status = check_arrays(device, &parts, tensor, place);
        if (status != QUERN_OK) return status;
    }
    return QUERN_OK;
}
