/* Writes and reads Adam's saved states by the documented format.  adam_saved.h documents the functions. */
#include "oracle/adam_saved.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "oracle/adam_value.h"
#include "oracle/dtype.h"

enum { HEADER = 64, UNIT = 64, HASH = 8 };

static size_t padded(size_t bytes) { return (bytes + UNIT - 1) / UNIT * UNIT; }

/* ---- the parts of a tensor, in their order ---- */

enum part { PART_M, PART_M_SCALE, PART_V, PART_V_SCALE, PART_V_MAX, PART_V_MAX_SCALE, PART_PARAM, PART_MASTER, PARTS };

/* The bytes of each part of a tensor; 0: absent. */
static void sizes_of(const quern_adam_args *args, int64_t count, size_t sizes[PARTS]) {
    const size_t elements = (size_t)count, blocks = (elements + QUERN_SCALE_BLOCK - 1) / QUERN_SCALE_BLOCK;
    const size_t m = quern_dtype_bytes(args->m_dtype), v = quern_dtype_bytes(args->v_dtype);
    const bool m_scaled = adam_is_scaled(args->m_dtype), v_scaled = adam_is_scaled(args->v_dtype);
    sizes[PART_M] = elements * m;
    sizes[PART_M_SCALE] = m_scaled ? blocks : 0;
    sizes[PART_V] = elements * v;
    sizes[PART_V_SCALE] = v_scaled ? blocks : 0;
    sizes[PART_V_MAX] = args->amsgrad ? elements * v : 0;
    sizes[PART_V_MAX_SCALE] = args->amsgrad && v_scaled ? blocks : 0;
    sizes[PART_PARAM] = args->master_dtype == QUERN_REMAINDER ? elements * 2 : 0;
    sizes[PART_MASTER] = args->master_dtype ? elements * (args->master_dtype == QUERN_F32 ? 4 : 2) : 0;
}

static void parts_of(const quern_adam_tensor *t, const void *parts[PARTS]) {
    const void *all[PARTS] = {t->m, t->m_scale, t->v, t->v_scale, t->v_max, t->v_max_scale, t->param, t->master};
    memcpy(parts, all, sizeof all);
}

/* ---- writing ---- */

void adam_saved_close(unsigned char *saved, size_t bytes) {
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i + HASH < bytes; i++) hash = (hash ^ saved[i]) * 0x100000001B3u;
    for (size_t i = 0; i < HASH; i++) saved[bytes - HASH + i] = (unsigned char)(hash >> (8 * i));
}

/* The position of the next bytes; NULL: bytes are only counted. */
struct writer {
    unsigned char *to;
    size_t bytes;
};

static void put(struct writer *writer, const void *from, size_t bytes) {
    if (writer->to && bytes) memcpy(writer->to + writer->bytes, from, bytes);
    writer->bytes += bytes;
}

static void pad(struct writer *writer) {
    static const unsigned char zeros[UNIT];
    put(writer, zeros, padded(writer->bytes) - writer->bytes);
}

size_t adam_saved_write(const quern_adam_args *args, unsigned char *saved) {
    struct writer writer = {.to = saved};
    const uint32_t words[] = {args->steps ? 2 : 1, (uint32_t)args->param_dtype, (uint32_t)args->m_dtype, (uint32_t)args->v_dtype,
                              (uint32_t)args->master_dtype, (uint32_t)(args->amsgrad != 0)};
    put(&writer, "QUERNADM", 8);
    put(&writer, words, sizeof words);
    put(&writer, &args->tensor_count, 8);
    put(&writer, &args->step, 8);
    put(&writer, &args->seed, 8);
    pad(&writer);
    for (int64_t place = 0; place < args->tensor_count; place++) put(&writer, &args->tensors[place].count, 8);
    pad(&writer);
    if (args->steps) put(&writer, args->steps, (size_t)args->tensor_count * 8);
    pad(&writer);
    for (int64_t place = 0; place < args->tensor_count; place++) {
        size_t sizes[PARTS];
        const void *parts[PARTS];
        sizes_of(args, args->tensors[place].count, sizes);
        parts_of(&args->tensors[place], parts);
        for (int part = 0; part < PARTS; part++) {
            put(&writer, parts[part], sizes[part]);
            pad(&writer);
        }
    }
    writer.bytes += HASH;
    if (saved) adam_saved_close(saved, writer.bytes);
    return writer.bytes;
}

/* ---- reading ---- */

static uint32_t word_at(const unsigned char *saved, size_t offset) {
    uint32_t word;
    memcpy(&word, saved + offset, sizeof word);
    return word;
}

/* The types that were saved. */
static quern_adam_args saved_types(const unsigned char *saved) {
    return (quern_adam_args){.param_dtype = (quern_dtype)word_at(saved, 12), .m_dtype = (quern_dtype)word_at(saved, 16),
                             .v_dtype = (quern_dtype)word_at(saved, 20), .master_dtype = (quern_dtype)word_at(saved, 24),
                             .amsgrad = (int32_t)word_at(saved, 28)};
}

/* A moment: its bytes if the type is the same, else its values. */
static void convert_moment(quern_dtype from_dtype, const void *from, const uint8_t *from_scales, quern_dtype to_dtype, void *to,
                           uint8_t *to_scales, int64_t count, bool is_square) {
    const size_t blocks = (size_t)(count + QUERN_SCALE_BLOCK - 1) / QUERN_SCALE_BLOCK;
    if (from_dtype == to_dtype) {
        if (count) memcpy(to, from, (size_t)count * quern_dtype_bytes(to_dtype));
        if (count && adam_is_scaled(to_dtype)) memcpy(to_scales, from_scales, blocks);
        return;
    }
    for (int64_t first = 0; first < count; first += QUERN_SCALE_BLOCK) {
        float values[QUERN_SCALE_BLOCK];
        int64_t here = count - first < QUERN_SCALE_BLOCK ? count - first : QUERN_SCALE_BLOCK;
        for (int64_t i = 0; i < here; i++) values[i] = adam_load_moment(from_dtype, from, from_scales, first + i);
        adam_store_moment(to_dtype, to, to_scales, first, here, values, is_square, NULL);
    }
}

/* A master of the saved type, or the parameter if no master was saved. */
static void convert_master(const quern_adam_args *args, const quern_adam_tensor *t, quern_dtype saved, const void *param,
                           const void *master) {
    for (int64_t i = 0; i < t->count; i++) {
        float value;
        if (saved == QUERN_F32) value = ((const float *)master)[i];
        else if (saved == QUERN_REMAINDER) value = adam_join_master(((const uint16_t *)param)[i], ((const uint16_t *)master)[i]);
        else value = (float)dtype_load(args->param_dtype, t->param, i);

        if (args->master_dtype == QUERN_F32) ((float *)t->master)[i] = value;
        if (args->master_dtype == QUERN_REMAINDER && saved == QUERN_REMAINDER) {
            ((uint16_t *)t->param)[i] = ((const uint16_t *)param)[i], ((uint16_t *)t->master)[i] = ((const uint16_t *)master)[i];
        } else if (args->master_dtype == QUERN_REMAINDER && saved) {
            adam_split_master(value, (uint16_t *)t->param + i, (uint16_t *)t->master + i);
        } else if (args->master_dtype == QUERN_REMAINDER) {
            ((uint16_t *)t->master)[i] = 0;
        } else if (saved) {
            dtype_store(args->param_dtype, t->param, i, (double)value);
        }
    }
}

void adam_saved_read(const quern_adam_args *args, const unsigned char *saved) {
    const quern_adam_args types = saved_types(saved);
    const unsigned char *at = saved + HEADER + padded((size_t)args->tensor_count * 8);
    for (int64_t place = 0; place < args->tensor_count; place++) {
        const quern_adam_tensor *t = &args->tensors[place];
        size_t sizes[PARTS];
        const void *parts[PARTS];
        sizes_of(&types, t->count, sizes);
        for (int part = 0; part < PARTS; part++) parts[part] = at, at += padded(sizes[part]);
        convert_moment(types.m_dtype, parts[PART_M], parts[PART_M_SCALE], args->m_dtype, t->m, t->m_scale, t->count, false);
        convert_moment(types.v_dtype, parts[PART_V], parts[PART_V_SCALE], args->v_dtype, t->v, t->v_scale, t->count, true);
        if (args->amsgrad) {
            const int largest = types.amsgrad ? PART_V_MAX : PART_V;
            convert_moment(types.v_dtype, parts[largest], parts[largest + 1], args->v_dtype, t->v_max, t->v_max_scale, t->count,
                           true);
        }
        convert_master(args, t, types.master_dtype, parts[PART_PARAM], parts[PART_MASTER]);
    }
}
