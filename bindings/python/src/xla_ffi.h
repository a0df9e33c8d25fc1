/*
 * The binary interface of XLA's custom calls, version 0.1 and later ones, as far as quern_jax.c uses it: structs that XLA passes, which
 * only grow at their ends.  The names are those of xla/ffi/api/c_api.h (OpenXLA) without their prefix; a test compares the layouts
 * with that header where jaxlib is installed.
 */
#ifndef QUERN_XLA_FFI_H
#define QUERN_XLA_FFI_H

#include <stddef.h>
#include <stdint.h>

/* XLA_FFI_Error_Code. */
enum xla_error { XLA_INVALID_ARGUMENT = 3, XLA_DEADLINE_EXCEEDED = 4, XLA_RESOURCE_EXHAUSTED = 8, XLA_UNIMPLEMENTED = 12,
                 XLA_INTERNAL = 13, XLA_UNAVAILABLE = 14 };

/* XLA_FFI_DataType. */
enum xla_dtype { XLA_S32 = 4, XLA_S64 = 5, XLA_U8 = 6, XLA_F16 = 10, XLA_F32 = 11, XLA_BF16 = 16 };

/* XLA_FFI_AttrType, XLA_FFI_Extension_Type. */
enum { XLA_ATTRIBUTE_SCALAR = 3, XLA_EXTENSION_METADATA = 1 };

struct xla_error_object;

struct xla_extension {
    size_t struct_size;
    int type;
    struct xla_extension *next;
};

struct xla_version {
    size_t struct_size;
    struct xla_extension *extension_start;
    int major_version, minor_version;
};

struct xla_error_create {
    size_t struct_size;
    struct xla_extension *extension_start;
    const char *message;
    int code;
};

/* The number of the launch that a call belongs to, the same on all devices. */
struct xla_run_id_get {
    size_t struct_size;
    struct xla_extension *extension_start;
    void *context;
    int64_t run_id;   /* out */
};

struct xla_api {
    size_t struct_size;
    struct xla_extension *extension_start;
    struct xla_version api_version;
    const void *internal_api;
    struct xla_error_object *(*error_create)(struct xla_error_create *);
    void (*unused[15])(void);
    struct xla_error_object *(*run_id_get)(struct xla_run_id_get *);   /* from jaxlib 0.5.3 on: see struct_size */
};

/* What a handler reports when it is registered. */
struct xla_metadata {
    size_t struct_size;
    struct xla_version api_version;
    uint32_t traits;
};

struct xla_metadata_extension {
    struct xla_extension base;
    struct xla_metadata *metadata;
};

struct xla_buffer {
    size_t struct_size;
    struct xla_extension *extension_start;
    int dtype;
    void *data;
    int64_t rank;
    int64_t *dims;
};

struct xla_scalar {
    int dtype;
    void *value;
};

struct xla_text {
    const char *at;
    size_t length;
};

/* Of arguments, and of results. */
struct xla_buffers {
    size_t struct_size;
    struct xla_extension *extension_start;
    int64_t size;
    int *types;
    struct xla_buffer **buffers;
};

struct xla_attributes {
    size_t struct_size;
    struct xla_extension *extension_start;
    int64_t size;
    int *types;
    struct xla_text **names;
    void **values;
};

struct xla_call {
    size_t struct_size;
    struct xla_extension *extension_start;
    const struct xla_api *api;
    void *context;
    int stage;
    struct xla_buffers arguments, results;
    struct xla_attributes attributes;
};

#endif
