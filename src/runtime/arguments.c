/* Argument checks that several operations share.  Called by the public functions before they do anything else. */
#include "runtime/arguments.h"

#include <string.h>

#include "os/sizes.h"
#include "os/text.h"
#include "runtime/device.h"
#include "runtime/status.h"

/* ---- sizes of structs ---- */

enum { MARK_BITS = 16 };

static bool is_marked(uint32_t size) { return size >> MARK_BITS == QUERN_STRUCT_MARK >> MARK_BITS; }

size_t quern_struct_bytes(uint32_t size) { return is_marked(size) ? size - QUERN_STRUCT_MARK : size; }

static quern_status refuse_size(const quern_device *device, const char *name, uint32_t size, size_t known) {
    const size_t bytes = quern_struct_bytes(size);
    if (bytes > known)
        return quern_fail(device, QUERN_INVALID_STRUCT_SIZE, "%s.size is that of %zu bytes: expected %zu (was the program compiled "
                          "against a newer quern.h?)", name, bytes, known);
    if (is_marked(size))
        return quern_fail(device, QUERN_INVALID_STRUCT_SIZE, "%s.size is that of %zu bytes: expected %zu", name, bytes, known);
    return quern_fail(device, QUERN_INVALID_STRUCT_SIZE,
                      "%s.size is %u%s: expected the size with the mark and the defaults, as the struct's _INIT macro and _init "
                      "function set them", name, size, size == known ? ", a plain sizeof" : "");
}

/* Headers before the mark had sizes below today's.  They need no mark: their only initialiser was the macro. */
quern_status quern_check_grown_struct(const quern_device *device, const char *name, const void *arguments, size_t oldest,
                                      size_t known) {
    if (!arguments) return quern_fail(device, QUERN_NULL_POINTER, "%s is NULL", name);
    uint32_t size;
    memcpy(&size, arguments, sizeof size);
    const size_t bytes = quern_struct_bytes(size), largest = is_marked(size) ? known : known - 1;
    if (bytes >= oldest && bytes <= largest && bytes % sizeof(void *) == 0) return QUERN_OK;
    return refuse_size(device, name, size, known);
}

quern_status quern_check_struct(const quern_device *device, const char *name, const void *arguments, size_t known) {
    return quern_check_grown_struct(device, name, arguments, known, known);
}

quern_status quern_check_dtype(const quern_device *device, const char *name, quern_dtype dtype, const quern_dtype *allowed,
                               bool optional) {
    if (optional && dtype == QUERN_NO_DTYPE) return QUERN_OK;
    char list[128];
    struct quern_text text = quern_text_begin(list, sizeof list);
    for (const quern_dtype *one = allowed; *one != QUERN_NO_DTYPE; one++) {
        if (*one == dtype) return QUERN_OK;
        quern_text_add(&text, "%s%s", one == allowed ? "" : ", ", quern_dtype_name(*one));
    }
    return quern_fail(device, QUERN_INVALID_DTYPE, "%s is %d (%s): expected %s%s", name, (int)dtype, quern_dtype_name(dtype),
                      optional ? "none or " : "one of ", list);
}

quern_status quern_check_pointer(const quern_device *device, const char *name, const void *pointer, size_t alignment) {
    if (!pointer) return quern_fail(device, QUERN_NULL_POINTER, "%s is NULL", name);
    if ((uintptr_t)pointer % alignment == 0) return QUERN_OK;
    return quern_fail(device, QUERN_INVALID_ARGUMENT, "%s is not at a multiple of %zu bytes, the size of its elements", name,
                      alignment);
}

quern_status quern_check_optional(const quern_device *device, const char *name, const void *pointer, size_t alignment) {
    return pointer ? quern_check_pointer(device, name, pointer, alignment) : QUERN_OK;
}

quern_status quern_check_not_negative(const quern_device *device, const char *name, int64_t value) {
    if (value >= 0) return QUERN_OK;
    return quern_fail(device, QUERN_INVALID_SHAPE, "%s is %lld: expected 0 or more", name, (long long)value);
}

quern_status quern_check_count(const quern_device *device, const char *name, int64_t value, int64_t most) {
    if (value >= 0 && value <= most) return QUERN_OK;
    if (value < 0) return quern_check_not_negative(device, name, value);
    return quern_fail(device, QUERN_INVALID_SHAPE, "%s is %lld: expected at most %lld", name, (long long)value, (long long)most);
}

quern_status quern_check_rows(const quern_device *device, const char *rows_name, int64_t rows, const char *name, int64_t stride,
                              quern_dtype dtype) {
    const int64_t each = (int64_t)quern_dtype_bytes(dtype);
    int64_t bytes;
    if (quern_multiply_bytes(rows ? rows : 1, stride, &bytes) && quern_multiply_bytes(bytes, each, &bytes)) return QUERN_OK;
    return quern_fail(device, QUERN_INVALID_SHAPE, "%s is %lld with %s %lld: expected at most %lld, since no buffer has more than "
                      "2^47 bytes", name, (long long)stride, rows_name, (long long)rows,
                      (long long)(QUERN_MOST_BYTES / each / (rows ? rows : 1)));
}

quern_status quern_check_choice(const quern_device *device, const char *name, int value, int last) {
    if (value >= 0 && value <= last) return QUERN_OK;
    return quern_fail(device, QUERN_INVALID_ARGUMENT, "%s is %d: expected 0 to %d", name, value, last);
}

quern_status quern_check_needed(const quern_device *device, size_t needed) {
    if (needed <= (size_t)QUERN_MOST_BYTES) return QUERN_OK;
    return quern_fail(device, QUERN_INVALID_SHAPE, "these sizes need a workspace of %zu bytes: expected a need of at most 2^47",
                      needed);
}

quern_status quern_check_workspace(const quern_device *device, const void *workspace, size_t given, size_t needed) {
    if (needed > (size_t)QUERN_MOST_BYTES) return quern_check_needed(device, needed);
    if (given < needed)
        return quern_fail(device, QUERN_WORKSPACE_TOO_SMALL, "workspace_bytes is %zu: expected at least %zu", given, needed);
    if (needed && !workspace)
        return quern_fail(device, QUERN_NULL_POINTER, "workspace is NULL: expected %zu bytes", needed);
    if (needed && (uintptr_t)workspace % 16)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "workspace is not at a multiple of 16 bytes");
    return QUERN_OK;
}

quern_status quern_check_stream(const quern_device *device, const void *stream) {
    if (device->kind == QUERN_CUDA || !stream) return QUERN_OK;
    return quern_fail(device, QUERN_INVALID_ARGUMENT, "stream is not NULL: a CPU device has no streams");
}
