/* The table of data types: those of the generator, and the integer types of labels.  Called by the checks of arguments. */
#include "runtime/dtype.h"

#include "../generated/dtypes.h"

#define CHECK_NUMBER(number, constant, name, bytes, is_float, is_scaled) \
    _Static_assert((constant) == (number), #constant " in quern.h has another value");
QUERN_FOR_EACH_DTYPE(CHECK_NUMBER)

static const struct row {
    quern_dtype dtype;
    const char *name;
    size_t bytes;
    bool is_float, is_scaled;
} rows[] = {
#define ROW(number, constant, name, bytes, is_float, is_scaled) {constant, #name, bytes, is_float, is_scaled},
    QUERN_FOR_EACH_DTYPE(ROW)
    {QUERN_INT32, "int32", 4, false, false},
    {QUERN_INT64, "int64", 8, false, false},
};

const quern_dtype quern_floats[] = {QUERN_FLOAT_DTYPES, QUERN_NO_DTYPE};
const quern_dtype quern_narrow_floats[] = {QUERN_E4M3, QUERN_E5M2, QUERN_NO_DTYPE};
const quern_dtype quern_integers[] = {QUERN_INT32, QUERN_INT64, QUERN_NO_DTYPE};

static const struct row *row_of(quern_dtype dtype) {
    static const struct row unknown = {QUERN_NO_DTYPE, "unknown dtype", 0, false, false};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].dtype == dtype) return &rows[i];
    return &unknown;
}

const char *quern_dtype_name(quern_dtype dtype) { return row_of(dtype)->name; }

size_t quern_dtype_bytes(quern_dtype dtype) { return row_of(dtype)->bytes; }

bool quern_is_float(quern_dtype dtype) { return row_of(dtype)->is_float; }

bool quern_is_scaled(quern_dtype dtype) { return row_of(dtype)->is_scaled; }
