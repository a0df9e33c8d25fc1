/* quern_adam_load, a public function: reads a saved state into tensors, whose types may differ from the saved ones. */
#include <stdlib.h>
#include <string.h>

#include "adam/adam.h"
#include "os/checksum.h"
#include "os/integers.h"
#include "runtime/arguments.h"
#include "runtime/device.h"
#include "runtime/device_memory.h"
#include "runtime/dtype.h"
#include "runtime/status.h"
#include "runtime/storage.h"
#include "runtime/threads.h"

/* ---- checking the saved state ---- */

static quern_status not_saved(const quern_device *device, const char *why) {
    return quern_fail(device, QUERN_INVALID_ARGUMENT, "saved cannot be read as a saved state: %s", why);
}

static quern_status check_header(const quern_device *device, const struct quern_adam_saved_header *header) {
    const quern_dtype param = (quern_dtype)header->param;
    if (memcmp(header->magic, "QUERNADM", sizeof header->magic) != 0) return not_saved(device, "it does not begin with QUERNADM");
    if (header->version != 1 && header->version != 2)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "saved is of version %u: expected 1 or 2", header->version);
    if (!quern_adam_can_be(QUERN_ADAM_PARAM, param) || !quern_adam_can_be(QUERN_ADAM_M, (quern_dtype)header->m) ||
        !quern_adam_can_be(QUERN_ADAM_V, (quern_dtype)header->v) ||
        !quern_adam_completes((quern_dtype)header->master, param) || header->amsgrad > 1)
        return not_saved(device, "its types are not those of a saved state");
    return QUERN_OK;
}

/* The saved state has one count for each tensor of the list: this has been checked. */
static quern_status check_counts(const quern_device *device, const struct quern_adam_list *list, const char *counts) {
    for (int64_t place = 0; place < list->count; place++) {
        const int64_t wanted = quern_adam_count_at(list, place);
        int64_t count;
        memcpy(&count, counts + (size_t)place * sizeof count, sizeof count);
        if (count != wanted)
            return quern_fail(device, QUERN_INVALID_ARGUMENT, "saved has %lld elements in tensor %lld: expected %lld, those of "
                              "args.tensors", (long long)count, (long long)place, (long long)wanted);
    }
    return QUERN_OK;
}

static quern_status check_hash(const quern_device *device, const char *saved, size_t bytes) {
    uint64_t hash;
    memcpy(&hash, saved + bytes - sizeof hash, sizeof hash);
    if (hash == quern_checksum(QUERN_CHECKSUM_BEGIN, saved, bytes - sizeof hash)) return QUERN_OK;
    return not_saved(device, "its hash does not match its bytes, so it is damaged");
}

static struct quern_adam_saved_form form_of(const struct quern_adam_saved_header *header) {
    return (struct quern_adam_saved_form){(quern_dtype)header->m, (quern_dtype)header->v, (quern_dtype)header->master,
                                          header->amsgrad != 0, header->version == 2};
}

static quern_status check_saved(const quern_device *device, const struct quern_adam_list *list, const char *saved, size_t bytes,
                                struct quern_adam_saved_header *header) {
    size_t expected;
    if (bytes < sizeof *header + sizeof(uint64_t)) return not_saved(device, "it is shorter than a header");
    memcpy(header, saved, sizeof *header);
    quern_status status = check_header(device, header);
    if (status != QUERN_OK) return status;
    const struct quern_adam_saved_form form = form_of(header);
    if (header->tensor_count != list->count)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "saved has %lld tensors: expected %lld, those of args.tensors",
                          (long long)header->tensor_count, (long long)list->count);
    if (bytes - sizeof *header < (size_t)list->count * sizeof(int64_t)) return not_saved(device, "it ends among its counts");
    status = check_counts(device, list, saved + sizeof *header);
    if (status == QUERN_OK) status = quern_adam_saved_size(device, &form, list, &expected);
    if (status == QUERN_OK && bytes != expected)
        status = quern_fail(device, QUERN_INVALID_ARGUMENT, "bytes is %zu: expected %zu, by the header of saved", bytes,
                            expected);
    return status == QUERN_OK ? check_hash(device, saved, bytes) : status;
}

/* ---- conversion, a chunk at a time ---- */

enum { PIECE = 2048, CHUNK = 32 * PIECE, BLOCKS = CHUNK / QUERN_SCALE_BLOCK };

/* The source of values. */
struct source {
    quern_dtype dtype;                 /* REMAINDER: `upper` and `codes` are the halves of masters */
    const char *codes;
    const uint8_t *scales;             /* NULL: none */
    const char *upper;
};

/* An array in device memory. */
struct target {
    quern_dtype dtype;
    char *codes;
    uint8_t *scales;                   /* NULL: none */
    bool keep_positive;
};

/* One target or two.  If the second is a REMAINDER, the first is its parameter. */
struct loading {
    struct quern_device_memory memory;
    struct source source;              /* begins at the current chunk */
    struct target targets[2];
    int target_count;
    int64_t count;                     /* of the current chunk */
    struct {
        _Alignas(64) char codes[4 * CHUNK];
        uint8_t scales[BLOCKS];
    } staged[2];
    _Alignas(64) char read[4 * CHUNK]; /* the source, if it is in device memory */
};

static void convert_piece(void *context, int64_t piece) {
    struct loading *loading = context;
    const struct source *source = &loading->source;
    const int64_t first = piece * PIECE, left = loading->count - first, count = left < PIECE ? left : PIECE;
    const size_t each = quern_dtype_bytes(source->dtype);
    const char *codes = source->codes + (size_t)first * each;
    float values[PIECE];
    char *staged[2];
    for (int i = 0; i < 2; i++)
        staged[i] = loading->staged[i].codes + (size_t)first * quern_dtype_bytes(loading->targets[i].dtype);
    const uint8_t *scales = source->scales ? source->scales + first / QUERN_SCALE_BLOCK : NULL;
    if (source->dtype == QUERN_REMAINDER)
        quern_storage_join(source->upper + (size_t)first * each, codes, count, values);
    else
        quern_storage_widen(source->dtype, codes, scales, count, values);
    if (loading->target_count == 2 && loading->targets[1].dtype == QUERN_REMAINDER) {
        quern_storage_split(values, count, staged[0], staged[1]);
        return;
    }
    for (int i = 0; i < loading->target_count; i++)
        quern_storage_narrow(loading->targets[i].dtype, values, count, loading->targets[i].keep_positive, staged[i],
                             loading->targets[i].scales ? loading->staged[i].scales + first / QUERN_SCALE_BLOCK : NULL);
}

static quern_status write_chunk(struct loading *loading, int64_t first) {
    quern_status status = QUERN_OK;
    for (int i = 0; i < loading->target_count && status == QUERN_OK; i++) {
        const struct target *target = &loading->targets[i];
        const size_t each = quern_dtype_bytes(target->dtype);
        const size_t blocks = (size_t)quern_divide_up(loading->count, QUERN_SCALE_BLOCK);
        status = quern_device_memory_write(&loading->memory, target->codes + (size_t)first * each, loading->staged[i].codes,
                                           (size_t)loading->count * each);
        if (status == QUERN_OK && target->scales)
            status = quern_device_memory_write(&loading->memory, target->scales + first / QUERN_SCALE_BLOCK,
                                               loading->staged[i].scales, blocks);
    }
    return status;
}

/* on_device: the source is in device memory. */
static quern_status convert(struct loading *loading, const struct source *from, bool on_device, int64_t count) {
    const size_t each = quern_dtype_bytes(from->dtype);
    quern_status status = QUERN_OK;
    for (int64_t first = 0; first < count && status == QUERN_OK; first += CHUNK) {
        const char *codes = from->codes + (size_t)first * each;
        loading->count = count - first < CHUNK ? count - first : CHUNK;
        loading->source = (struct source){
            .dtype = from->dtype,
            .codes = on_device ? loading->read : codes,
            .scales = from->scales ? from->scales + first / QUERN_SCALE_BLOCK : NULL,
            .upper = from->upper ? from->upper + (size_t)first * each : NULL,
        };
        if (on_device) status = quern_device_memory_read(&loading->memory, loading->read, codes, (size_t)loading->count * each);
        if (status != QUERN_OK) break;
        quern_run_tasks(loading->memory.device, quern_divide_up(loading->count, PIECE), convert_piece, loading);
        status = write_chunk(loading, first);
    }
    return status;
}

/* ---- the arrays of a tensor ---- */

/* The arrays of a saved tensor. */
struct saved_tensor {
    const char *parts[QUERN_SAVED_PARTS];
};

/* A moment of the same type is copied without conversion. */
static quern_status load_moment(struct loading *loading, const struct source *from, const struct target *to, int64_t count) {
    const size_t blocks = (size_t)quern_divide_up(count, QUERN_SCALE_BLOCK);
    loading->targets[0] = *to;
    loading->target_count = 1;
    if (from->dtype != to->dtype) return convert(loading, from, false, count);
    quern_status status = quern_device_memory_write(&loading->memory, to->codes, from->codes,
                                                    (size_t)count * quern_dtype_bytes(to->dtype));
    if (status != QUERN_OK || !to->scales) return status;
    return quern_device_memory_write(&loading->memory, to->scales, from->scales, blocks);
}

static struct source saved_moment(const struct saved_tensor *saved, enum quern_adam_saved_part part, quern_dtype dtype) {
    const char *scales = saved->parts[part + 1];  /* the scales follow their moment */
    return (struct source){.dtype = dtype, .codes = saved->parts[part],
                           .scales = quern_is_scaled(dtype) ? (const uint8_t *)scales : NULL};
}

static quern_status load_moments(struct loading *loading, const quern_adam_args *args, const quern_adam_tensor *tensor,
                                 const struct quern_adam_saved_form *form, const struct saved_tensor *saved) {
    const bool m_scaled = quern_is_scaled(args->m_dtype), v_scaled = quern_is_scaled(args->v_dtype);
    const struct source from_m = saved_moment(saved, QUERN_SAVED_M, form->m), from_v = saved_moment(saved, QUERN_SAVED_V, form->v);
    const struct source from_v_max = form->amsgrad ? saved_moment(saved, QUERN_SAVED_V_MAX, form->v) : from_v;
    const struct target m = {args->m_dtype, tensor->m, m_scaled ? tensor->m_scale : NULL, false};
    const struct target v = {args->v_dtype, tensor->v, v_scaled ? tensor->v_scale : NULL, true};
    const struct target v_max = {args->v_dtype, tensor->v_max, v_scaled ? tensor->v_max_scale : NULL, true};
    quern_status status = load_moment(loading, &from_m, &m, tensor->count);
    if (status == QUERN_OK) status = load_moment(loading, &from_v, &v, tensor->count);
    if (status == QUERN_OK && args->amsgrad) status = load_moment(loading, &from_v_max, &v_max, tensor->count);
    return status;
}

/* A new master begins with the value of the parameter; a new remainder is 0. */
static quern_status begin_master(struct loading *loading, const quern_adam_args *args, const quern_adam_tensor *tensor) {
    const struct source param = {.dtype = args->param_dtype, .codes = tensor->param};
    const struct target master = {.dtype = args->master_dtype, .codes = tensor->master};
    if (!args->master_dtype) return QUERN_OK;
    loading->targets[0] = master;
    loading->target_count = 1;
    if (args->master_dtype == QUERN_F32) return convert(loading, &param, true, tensor->count);
    quern_status status = QUERN_OK;
    memset(loading->staged[0].codes, 0, sizeof loading->staged[0].codes);
    for (int64_t first = 0; first < tensor->count && status == QUERN_OK; first += CHUNK) {
        loading->count = tensor->count - first < CHUNK ? tensor->count - first : CHUNK;
        status = write_chunk(loading, first);
    }
    return status;
}

static quern_status load_master(struct loading *loading, const quern_adam_args *args, const quern_adam_tensor *tensor,
                                const struct quern_adam_saved_form *form, const struct saved_tensor *saved) {
    const struct source from = {.dtype = form->master, .codes = saved->parts[QUERN_SAVED_MASTER],
                                .upper = saved->parts[QUERN_SAVED_PARAM]};
    const struct target param = {.dtype = args->param_dtype, .codes = tensor->param};
    const struct target master = {.dtype = args->master_dtype, .codes = tensor->master};
    if (!form->master) return begin_master(loading, args, tensor);
    if (form->master == QUERN_REMAINDER && args->master_dtype == QUERN_REMAINDER) {
        const size_t bytes = (size_t)tensor->count * sizeof(uint16_t);
        quern_status status = quern_device_memory_write(&loading->memory, tensor->param, from.upper, bytes);
        return status == QUERN_OK ? quern_device_memory_write(&loading->memory, tensor->master, from.codes, bytes) : status;
    }
    loading->targets[0] = param;
    loading->targets[1] = master;
    loading->target_count = args->master_dtype ? 2 : 1;
    return convert(loading, &from, false, tensor->count);
}

/* ---- the call ---- */

static struct saved_tensor find_parts(const struct quern_adam_saved_form *form, int64_t count, const char **at) {
    struct saved_tensor saved;
    for (int part = 0; part < QUERN_SAVED_PARTS; part++) {
        saved.parts[part] = *at;
        *at += quern_adam_saved_room(quern_adam_saved_part_bytes(form, (enum quern_adam_saved_part)part, count));
    }
    return saved;
}

/* Those of a version 2, else the step of all. */
static quern_status load_steps(struct quern_device_memory *memory, const quern_adam_args *args,
                               const struct quern_adam_saved_form *form, int64_t tensors, const char *saved) {
    const struct quern_adam_saved_header *header = (const void *)saved;
    const size_t bytes = (size_t)tensors * sizeof *args->steps;
    int64_t step;
    if (!args->steps) return QUERN_OK;
    if (form->steps)
        return quern_device_memory_write(memory, args->steps, saved + sizeof *header + quern_adam_saved_room(bytes), bytes);
    quern_status status = QUERN_OK;
    memcpy(&step, &header->step, sizeof step);
    for (int64_t place = 0; place < tensors && status == QUERN_OK; place++)
        status = quern_device_memory_write(memory, &args->steps[place], (const void *)&step, sizeof step);
    return status;
}

static quern_status load(quern_device *device, const quern_adam_args *args, const struct quern_adam_saved_form *form,
                         const char *saved) {
    const struct quern_adam_list list = quern_adam_list_of(args);
    const char *at = saved + quern_adam_saved_head(form, list.count);
    quern_adam_tensor room;
    struct loading *loading = aligned_alloc(64, quern_round_up(sizeof *loading, 64));
    if (!loading) return quern_fail(device, QUERN_OUT_OF_MEMORY, "no memory to convert a saved state");
    memset(loading->targets, 0, sizeof loading->targets);
    quern_status status = quern_device_memory_open(&loading->memory, device);
    if (status == QUERN_OK) status = load_steps(&loading->memory, args, form, list.count, saved);
    for (int64_t place = 0; place < list.count && status == QUERN_OK; place++) {
        const quern_adam_tensor *tensor = quern_adam_tensor_at(&list, place, &room);
        const struct saved_tensor parts = find_parts(form, tensor->count, &at);
        status = load_moments(loading, args, tensor, form, &parts);
        if (status == QUERN_OK) status = load_master(loading, args, tensor, form, &parts);
    }
    quern_device_memory_close(&loading->memory);
    free(loading);
    return status;
}

quern_status quern_adam_load(quern_device *device, const quern_adam_args *given, const void *saved, size_t bytes, int64_t *step,
                             uint64_t *seed) {
    quern_adam_args args;
    struct quern_adam_saved_header header;
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    if (!saved) return quern_fail(device, QUERN_NULL_POINTER, "saved is NULL");
    quern_status status = quern_adam_saved_check(device, given, &args);
    if (status != QUERN_OK) return status;
    const struct quern_adam_list list = quern_adam_list_of(&args);
    status = check_saved(device, &list, saved, bytes, &header);
    if (status == QUERN_OK) status = quern_adam_saved_check_apart(device, &args, saved, bytes, QUERN_READ);
    if (status != QUERN_OK) return status;
    const struct quern_adam_saved_form form = form_of(&header);
    if (form.steps && !args.steps)
        return quern_fail(device, QUERN_NULL_POINTER, "args.steps is NULL, and saved has a step for each tensor");
    status = load(device, &args, &form, saved);
    if (status == QUERN_OK && step) *step = header.step;
    if (status == QUERN_OK && seed) *seed = header.seed;
    return status;
}
