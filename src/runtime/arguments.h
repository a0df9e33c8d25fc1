/*
 * Argument checks that several operations share, for their public functions.  The detail of a failure names the argument, its
 * value and the expected one.
 */
#ifndef QUERN_ARGUMENTS_H
#define QUERN_ARGUMENTS_H

#include <stdbool.h>

#include "quern.h"

/* An argument struct, whose first field is its size: not NULL, initialised by its macro or function (which mark the size), and not
   from a header newer than this library. */
quern_status quern_check_struct(const quern_device *device, const char *name, const void *arguments, size_t known);

/* The same for a struct that has grown: in the oldest header it had `oldest` bytes. */
quern_status quern_check_grown_struct(const quern_device *device, const char *name, const void *arguments, size_t oldest,
                                      size_t known);

/* The bytes of the struct that has this size, without the mark. */
size_t quern_struct_bytes(uint32_t size);

/* One of a list of dtypes, which ends with QUERN_NO_DTYPE.  An optional dtype may also be QUERN_NO_DTYPE itself. */
quern_status quern_check_dtype(const quern_device *device, const char *name, quern_dtype dtype, const quern_dtype *allowed,
                               bool optional);

/* A pointer that must not be NULL and must be a multiple of `alignment`. */
quern_status quern_check_pointer(const quern_device *device, const char *name, const void *pointer, size_t alignment);

/* A count or size that must not be negative. */
quern_status quern_check_not_negative(const quern_device *device, const char *name, int64_t value);

/* A count in [0, most]. */
quern_status quern_check_count(const quern_device *device, const char *name, int64_t value, int64_t most);

/* Rows of a matrix (at most QUERN_MOST_ROWS), `stride` elements apart: the matrix and each row have at most QUERN_MOST_BYTES. */
quern_status quern_check_rows(const quern_device *device, const char *rows_name, int64_t rows, const char *name, int64_t stride,
                              quern_dtype dtype);

/* An enum value in [0, last]. */
quern_status quern_check_choice(const quern_device *device, const char *name, int value, int last);

/* The size of a workspace: no more than memory can hold. */
quern_status quern_check_needed(const quern_device *device, size_t needed);

/* A workspace: of such a size, not NULL if any is needed, aligned and large enough. */
quern_status quern_check_workspace(const quern_device *device, const void *workspace, size_t given, size_t needed);

/* A pointer to results or control in device memory.  NULL is allowed. */
quern_status quern_check_optional(const quern_device *device, const char *name, const void *pointer, size_t alignment);

/* A stream must be NULL on a CPU, which works in the calling thread. */
quern_status quern_check_stream(const quern_device *device, const void *stream);

#endif
