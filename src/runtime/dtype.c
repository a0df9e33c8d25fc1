/* The table of data types: those of the generator, and the integer types of labels.  Called by the checks of arguments. */
#include "runtime/dtype.h"

#include "../generated/dtypes.h"

#define CHECK_NUMBER(number, constant, ...) _Static_assert((constant) == (number), #constant " in quern.h has another value");
QUERN_FOR_EACH_DTYPE(CHECK_NUMBER)

static const struct row {
    quern_dtype dtype;
    const char *name;
    size_t bytes;
    int exponent;
    bool is_float, is_scaled;
} rows[] = {
#define ROW(number, constant, name, bits, exponent, has_infinity, is_float, is_scaled, element) \
    {constant, #name, (bits) / 8, exponent, is_float, is_scaled},
    QUERN_FOR_EACH_DTYPE(ROW)
    {QUERN_INT32, "int32", 4, 0, false, false},
    {QUERN_INT64, "int64", 8, 0, false, false},
};

#define CONSTANT(number, constant, ...) constant,
const quern_dtype quern_dtypes[] = {QUERN_FOR_EACH_DTYPE(CONSTANT) QUERN_INT32, QUERN_INT64, QUERN_NO_DTYPE};
const quern_dtype quern_floats[] = {QUERN_FLOAT_DTYPES, QUERN_NO_DTYPE};
const quern_dtype quern_narrow_floats[] = {QUERN_NARROW_DTYPES, QUERN_NO_DTYPE};
const quern_dtype quern_integers[] = {QUERN_INT32, QUERN_INT64, QUERN_NO_DTYPE};

static const struct row *row_of(quern_dtype dtype) {
    static const struct row unknown = {QUERN_NO_DTYPE, "unknown dtype", 0, 0, false, false};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].dtype == dtype) return &rows[i];
    return &unknown;
}

const char *quern_dtype_name(quern_dtype dtype) { return row_of(dtype)->name; }

size_t quern_dtype_bytes(quern_dtype dtype) { return row_of(dtype)->bytes; }

int quern_exponent_bits(quern_dtype dtype) { return row_of(dtype)->exponent; }

bool quern_is_float(quern_dtype dtype) { return row_of(dtype)->is_float; }

bool quern_is_narrow(quern_dtype dtype) { return row_of(dtype)->bytes == 1; }

bool quern_is_scaled(quern_dtype dtype) { return row_of(dtype)->is_scaled; }
