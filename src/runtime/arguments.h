/* Checks that several operations share.  Each fails with a detail that names the argument, what it is and what was expected. */
#ifndef QUERN_ARGUMENTS_H
#define QUERN_ARGUMENTS_H

#include <stdbool.h>

#include "quern.h"

/* An argument struct, whose first field is its size: not NULL, initialised, and not from a newer header than this library. */
quern_status quern_check_struct(const quern_device *device, const char *name, const void *arguments, size_t known);

/* The same for a struct that has grown: `oldest` bytes were the first that a header had. */
quern_status quern_check_grown_struct(const quern_device *device, const char *name, const void *arguments, size_t oldest,
                                      size_t known);

/* Lists for the below: f32, f16 and bf16; int32 and int64. */
extern const quern_dtype quern_float_dtypes[], quern_integer_dtypes[];

/* Whether a dtype is one of quern_float_dtypes. */
bool quern_is_float(quern_dtype dtype);

/* One of a list of dtypes that is closed by QUERN_NO_DTYPE; optional also takes QUERN_NO_DTYPE itself. */
quern_status quern_check_dtype(const quern_device *device, const char *name, quern_dtype dtype, const quern_dtype *allowed,
                               bool optional);

/* A pointer that may not be NULL and must be a multiple of its element's size. */
quern_status quern_check_pointer(const quern_device *device, const char *name, const void *pointer, size_t alignment);

/* A count or size that may not be negative. */
quern_status quern_check_not_negative(const quern_device *device, const char *name, int64_t value);

/* An enum value in [0, last]. */
quern_status quern_check_choice(const quern_device *device, const char *name, int value, int last);

/* The workspace that an operation was given. */
quern_status quern_check_workspace(const quern_device *device, const void *workspace, size_t given, size_t needed);

/* A place for results or control in the memory of the device, which may be NULL. */
quern_status quern_check_optional(const quern_device *device, const char *name, const void *pointer, size_t alignment);

/* A CPU works on the calling thread and takes no stream. */
quern_status quern_check_stream(const quern_device *device, const void *stream);

#endif
