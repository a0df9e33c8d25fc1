/* The public functions that compute the size of a saved state and write it.  Also the layout, which adam_load.c shares. */
#include "adam/adam.h"

#include <string.h>

#include "os/checksum.h"
#include "os/integers.h"
#include "os/sizes.h"
#include "runtime/arguments.h"
#include "runtime/device_memory.h"
#include "runtime/dtype.h"
#include "runtime/status.h"

enum { UNIT = 64 };

/* ---- the layout ---- */

struct quern_adam_saved_form quern_adam_saved_form_of(const quern_adam_args *args) {
    return (struct quern_adam_saved_form){args->m_dtype, args->v_dtype, args->master_dtype, args->amsgrad != 0,
                                          args->steps != NULL};
}

size_t quern_adam_saved_part_bytes(const struct quern_adam_saved_form *form, enum quern_adam_saved_part part, int64_t count) {
    const bool has_remainder = form->master == QUERN_REMAINDER;
    const size_t each[QUERN_SAVED_PARTS] = {
        [QUERN_SAVED_M] = quern_dtype_bytes(form->m),
        [QUERN_SAVED_M_SCALE] = quern_is_scaled(form->m),
        [QUERN_SAVED_V] = quern_dtype_bytes(form->v),
        [QUERN_SAVED_V_SCALE] = quern_is_scaled(form->v),
        [QUERN_SAVED_V_MAX] = form->amsgrad ? quern_dtype_bytes(form->v) : 0,
        [QUERN_SAVED_V_MAX_SCALE] = form->amsgrad && quern_is_scaled(form->v),
        [QUERN_SAVED_PARAM] = has_remainder ? sizeof(uint16_t) : 0,
        [QUERN_SAVED_MASTER] = quern_dtype_bytes(form->master),
    };
    const bool is_scale = part == QUERN_SAVED_M_SCALE || part == QUERN_SAVED_V_SCALE || part == QUERN_SAVED_V_MAX_SCALE;
    return each[part] * (is_scale ? (size_t)quern_divide_up(count, QUERN_SCALE_BLOCK) : (size_t)count);
}

void *quern_adam_saved_part_of(const quern_adam_tensor *tensor, enum quern_adam_saved_part part) {
    void *const parts[QUERN_SAVED_PARTS] = {tensor->m, tensor->m_scale, tensor->v, tensor->v_scale, tensor->v_max,
                                            tensor->v_max_scale, tensor->param, tensor->master};
    return parts[part];
}

size_t quern_adam_saved_room(size_t bytes) {
    return quern_round_up(bytes, UNIT);
}

size_t quern_adam_saved_head(const struct quern_adam_saved_form *form, int64_t tensors) {
    const size_t numbers = quern_adam_saved_room((size_t)tensors * sizeof(int64_t));
    return sizeof(struct quern_adam_saved_header) + (form->steps ? 2 : 1) * numbers;
}

quern_status quern_adam_saved_size(const quern_device *device, const struct quern_adam_saved_form *form,
                                   const struct quern_adam_list *list, size_t *bytes) {
    int64_t total = sizeof(uint64_t);
    bool fits = quern_add_bytes(&total, (int64_t)quern_adam_saved_head(form, list->count));
    for (int64_t place = 0; place < list->count && fits; place++) {
        const int64_t count = quern_adam_count_at(list, place);
        for (int part = 0; part < QUERN_SAVED_PARTS && fits; part++) {
            const size_t array = quern_adam_saved_part_bytes(form, (enum quern_adam_saved_part)part, count);
            fits = quern_add_bytes(&total, (int64_t)quern_adam_saved_room(array));
        }
    }
    if (!fits) return quern_fail(device, QUERN_INVALID_SHAPE, "the state of args.tensors is larger than 2^47 bytes: expected less");
    *bytes = (size_t)total;
    return QUERN_OK;
}

/* ---- arguments ---- */

quern_status quern_adam_saved_check(const quern_device *device, const quern_adam_args *given, quern_adam_args *args) {
    quern_status status = quern_adam_take(device, given, args);
    if (status == QUERN_OK) status = quern_adam_check_form(device, args);
    if (status == QUERN_OK && args->plan) status = quern_adam_check_plan(device, args);
    if (status != QUERN_OK) return status;
    args->grad_dtype = QUERN_NO_DTYPE;
    args->copy_dtype = QUERN_NO_DTYPE;
    args->use_multipliers = 0;
    status = quern_check_optional(device, "args.steps", args->steps, sizeof *args->steps);
    if (status != QUERN_OK) return status;
    const struct quern_adam_list list = quern_adam_list_of(args);
    return args->plan ? QUERN_OK : quern_adam_check_tensors(device, args, &list);
}

quern_status quern_adam_saved_check_apart(const quern_device *device, const quern_adam_args *args, const void *saved, size_t bytes,
                                          enum quern_access access) {
    const struct quern_adam_list list = quern_adam_list_of(args);
    const struct quern_range others[] = {
        quern_range_of("saved", saved, (int64_t)bytes, access),
        quern_range_of("args.steps", args->steps, list.count * (int64_t)sizeof *args->steps,
                       access == QUERN_READ ? QUERN_WRITTEN : QUERN_READ),
    };
    return quern_adam_check_long_apart(device, args, &list, others, sizeof others / sizeof *others);
}

quern_status quern_adam_saved_bytes(const quern_device *device, const quern_adam_args *given, size_t *bytes) {
    quern_adam_args args;
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    if (!bytes) return quern_fail(device, QUERN_NULL_POINTER, "bytes is NULL");
    quern_status status = quern_adam_saved_check(device, given, &args);
    if (status != QUERN_OK) return status;
    const struct quern_adam_saved_form form = quern_adam_saved_form_of(&args);
    const struct quern_adam_list list = quern_adam_list_of(&args);
    return quern_adam_saved_size(device, &form, &list, bytes);
}

/* ---- saving ---- */

/* Writes the header and the counts.  Returns the address behind them. */
static char *write_header(const quern_adam_args *args, const struct quern_adam_list *list, char *saved) {
    struct quern_adam_saved_header header = {
        .magic = {'Q', 'U', 'E', 'R', 'N', 'A', 'D', 'M'},
        .version = args->steps ? 2 : 1,
        .param = (uint32_t)args->param_dtype,
        .m = (uint32_t)args->m_dtype,
        .v = (uint32_t)args->v_dtype,
        .master = (uint32_t)args->master_dtype,
        .amsgrad = (uint32_t)args->amsgrad,
        .tensor_count = list->count,
        .step = args->step,
        .seed = args->seed,
    };
    const size_t counts = (size_t)list->count * sizeof(int64_t), room = quern_adam_saved_room(counts);
    memcpy(saved, &header, sizeof header);
    saved += sizeof header;
    for (int64_t place = 0; place < list->count; place++) {
        const int64_t count = quern_adam_count_at(list, place);
        memcpy(saved + (size_t)place * sizeof count, &count, sizeof count);
    }
    memset(saved + counts, 0, room - counts);
    return saved + room;
}

static quern_status write_tensor(struct quern_device_memory *memory, const struct quern_adam_saved_form *form,
                                 const quern_adam_tensor *tensor, char **to) {
    quern_status status = QUERN_OK;
    for (int i = 0; i < QUERN_SAVED_PARTS && status == QUERN_OK; i++) {
        const enum quern_adam_saved_part part = (enum quern_adam_saved_part)i;
        const size_t bytes = quern_adam_saved_part_bytes(form, part, tensor->count), room = quern_adam_saved_room(bytes);
        status = quern_device_memory_read(memory, *to, quern_adam_saved_part_of(tensor, part), bytes);
        memset(*to + bytes, 0, room - bytes);
        *to += room;
    }
    return status;
}

static quern_status write_steps(struct quern_device_memory *memory, const quern_adam_args *args, int64_t tensors, char **to) {
    const size_t bytes = (size_t)tensors * sizeof *args->steps, room = quern_adam_saved_room(bytes);
    if (!args->steps) return QUERN_OK;
    const quern_status status = quern_device_memory_read(memory, *to, args->steps, bytes);
    memset(*to + bytes, 0, room - bytes);
    *to += room;
    return status;
}

static quern_status save(quern_device *device, const quern_adam_args *args, char *saved, size_t bytes) {
    const struct quern_adam_saved_form form = quern_adam_saved_form_of(args);
    const struct quern_adam_list list = quern_adam_list_of(args);
    struct quern_device_memory memory;
    quern_adam_tensor room;
    char *to = write_header(args, &list, saved);
    quern_status status = quern_device_memory_open(&memory, device);
    if (status == QUERN_OK) status = write_steps(&memory, args, list.count, &to);
    for (int64_t place = 0; place < list.count && status == QUERN_OK; place++) {
        status = write_tensor(&memory, &form, quern_adam_tensor_at(&list, place, &room), &to);
    }
    quern_device_memory_close(&memory);
    const uint64_t hash = quern_checksum(QUERN_CHECKSUM_BEGIN, saved, status == QUERN_OK ? bytes - sizeof(uint64_t) : 0);
    if (status == QUERN_OK) memcpy(to, &hash, sizeof hash);
    return status;
}

quern_status quern_adam_save(quern_device *device, const quern_adam_args *given, void *saved, size_t bytes) {
    quern_adam_args args;
    size_t needed;
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    if (!saved) return quern_fail(device, QUERN_NULL_POINTER, "saved is NULL");
    quern_status status = quern_adam_saved_check(device, given, &args);
    if (status != QUERN_OK) return status;
    const struct quern_adam_saved_form form = quern_adam_saved_form_of(&args);
    const struct quern_adam_list list = quern_adam_list_of(&args);
    status = quern_adam_saved_size(device, &form, &list, &needed);
    if (status == QUERN_OK && bytes != needed)
        status = quern_fail(device, QUERN_INVALID_ARGUMENT, "bytes is %zu: expected %zu, as quern_adam_saved_bytes says", bytes,
                            needed);
    if (status == QUERN_OK) status = quern_adam_saved_check_apart(device, &args, saved, bytes, QUERN_WRITTEN);
    return status == QUERN_OK ? save(device, &args, saved, bytes) : status;
}
