#include "quern.h"

static const struct {
    quern_dtype dtype;
    const char *name;
    size_t bytes;
} dtypes[] = {
    {QUERN_F32, "f32", 4}, {QUERN_F16, "f16", 2}, {QUERN_BF16, "bf16", 2},
    {QUERN_E4M3, "e4m3", 1}, {QUERN_E5M2, "e5m2", 1}, {QUERN_REMAINDER, "remainder", 2},
    {QUERN_INT32, "int32", 4}, {QUERN_INT64, "int64", 8},
};

const char *quern_dtype_name(quern_dtype dtype) {
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (dtypes[i].dtype == dtype) return dtypes[i].name;
    return "unknown dtype";
}

size_t quern_dtype_bytes(quern_dtype dtype) {
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (dtypes[i].dtype == dtype) return dtypes[i].bytes;
    return 0;
}
