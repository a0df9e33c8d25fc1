/* The public functions on a BLAS: open the library for the device and check the arguments of products. */
#include <fenv.h>
#include <dlfcn.h>
#include <stdlib.h>

#include "cross_entropy/cross_entropy.h"
#include "os/sizes.h"
#include "os/text.h"
#include "runtime/arguments.h"
#include "runtime/device.h"
#include "runtime/dtype.h"
#include "runtime/ranges.h"
#include "runtime/status.h"

struct quern_blas {
    quern_device *device;
    const struct quern_blas_kind *kind;
    void *library;
    void *state;
};

/* Opens the first library that loads.  *tried gets the names; dlerror has the reason against the last one. */
static void *find_library(const struct quern_blas_kind *kind, const char *given, const char **name, struct quern_text *tried) {
    const char *const names[] = {given, NULL};
    for (const char *const *next = given ? names : kind->libraries; *next; next++) {
        void *library = dlopen(*next, RTLD_NOW | RTLD_LOCAL);
        *name = *next;
        if (library) return library;
        quern_text_add(tried, "%s%s", tried->length ? ", " : "", *next);
    }
    return NULL;
}

static quern_status no_library(const quern_device *device, const char *tried) {
    return quern_fail(device, QUERN_NOT_SUPPORTED, "no BLAS can be opened of %s: %s", tried, dlerror());
}

quern_status quern_blas_open(quern_device *device, const char *library, quern_blas **blas) {
    char names[200];
    struct quern_text tried = quern_text_begin(names, sizeof names);
    const char *name = NULL;
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    if (!blas) return quern_fail(device, QUERN_NULL_POINTER, "blas is NULL");
    struct quern_blas *opened = malloc(sizeof *opened);
    if (!opened) return quern_fail(device, QUERN_OUT_OF_MEMORY, "no memory for a BLAS");
    *opened = (struct quern_blas){.device = device, .kind = device->kind == QUERN_CPU ? &quern_cpu_blas : &quern_cuda_blas};
    opened->library = find_library(opened->kind, library, &name, &tried);
    quern_status status = opened->library ? opened->kind->attach(device, opened->library, name, &opened->state)
                                          : no_library(device, names);
    if (status == QUERN_OK) {
        *blas = opened;
        return QUERN_OK;
    }
    if (opened->library) dlclose(opened->library);
    free(opened);
    return status;
}

void quern_blas_close(quern_blas *blas) {
    if (!blas) return;
    blas->kind->detach(blas->device, blas->state);
    dlclose(blas->library);
    free(blas);
}

/* ---- a product ---- */

/* A matrix of a product, as it is stored. */
struct matrix {
    const char *name, *dtype_name, *stride_name;
    const void *pointer;
    quern_dtype dtype;
    int64_t rows, columns, stride;
};

static quern_status check_matrix(const quern_device *device, const struct matrix *matrix) {
    quern_status status = quern_check_dtype(device, matrix->dtype_name, matrix->dtype, quern_floats, false);
    if (status == QUERN_OK && matrix->rows && matrix->columns)
        status = quern_check_pointer(device, matrix->name, matrix->pointer, quern_dtype_bytes(matrix->dtype));
    if (status != QUERN_OK) return status;
    if (matrix->stride < matrix->columns)
        return quern_fail(device, QUERN_INVALID_SHAPE, "%s is %lld: expected at least its columns, %lld", matrix->stride_name,
                          (long long)matrix->stride, (long long)matrix->columns);
    return quern_check_rows(device, "rows", matrix->rows, matrix->stride_name, matrix->stride, matrix->dtype);
}

static quern_status check_numbers(const quern_device *device, const quern_gemm_args *args) {
    quern_status status = quern_check_count(device, "args.m", args->m, QUERN_MOST_ROWS);
    if (status == QUERN_OK) status = quern_check_count(device, "args.n", args->n, QUERN_MOST_ROWS);
    if (status == QUERN_OK) status = quern_check_count(device, "args.k", args->k, QUERN_MOST_ROWS);
    if (status == QUERN_OK) status = quern_check_choice(device, "args.accumulate", args->accumulate, 1);
    if (status == QUERN_OK) status = quern_check_choice(device, "args.a_transposed", args->a_transposed, 1);
    return status == QUERN_OK ? quern_check_choice(device, "args.b_transposed", args->b_transposed, 1) : status;
}

static struct quern_range range_of(const struct matrix *matrix, enum quern_access access) {
    const bool empty = !matrix->rows || !matrix->columns;
    const int64_t elements = empty ? 0 : (matrix->rows - 1) * matrix->stride + matrix->columns;
    return quern_range_of(matrix->name, matrix->pointer, elements * (int64_t)quern_dtype_bytes(matrix->dtype), access);
}

static quern_status check_product(const quern_device *device, const quern_gemm_args *args) {
    const bool at = args->a_transposed, bt = args->b_transposed;
    const struct matrix matrices[] = {
        {"args.a", "args.a_dtype", "args.a_stride", args->a, args->a_dtype, at ? args->k : args->m, at ? args->m : args->k,
         args->a_stride},
        {"args.b", "args.b_dtype", "args.b_stride", args->b, args->b_dtype, bt ? args->n : args->k, bt ? args->k : args->n,
         args->b_stride},
        {"args.c", "args.c_dtype", "args.c_stride", args->c, args->c_dtype, args->m, args->n, args->c_stride}};
    struct quern_range ranges[3];
    quern_status status = check_numbers(device, args);
    for (size_t i = 0; i < 3 && status == QUERN_OK; i++) {
        status = check_matrix(device, &matrices[i]);
        if (status == QUERN_OK) ranges[i] = range_of(&matrices[i], i == 2 ? QUERN_WRITTEN : QUERN_READ);
    }
    return status == QUERN_OK ? quern_check_apart(device, NULL, ranges, NULL, 3) : status;
}

quern_status quern_blas_gemm(void *user, const quern_gemm_args *args, void *stream) {
    const struct quern_blas *blas = user;
    if (!blas) return quern_fail(NULL, QUERN_NULL_POINTER, "blas is NULL");
    quern_status status = quern_check_struct(blas->device, "quern_gemm_args", args, sizeof *args);
    if (status == QUERN_OK) status = check_product(blas->device, args);
    if (status == QUERN_OK) status = quern_check_stream(blas->device, stream);
    if (status != QUERN_OK || !args->m || !args->n) return status;
    fenv_t environment;
    fegetenv(&environment);
    fesetenv(FE_DFL_ENV);  /* which the BLAS's own threads have */
    status = blas->kind->multiply(blas->device, blas->state, args, stream);
    fesetenv(&environment);
    return status;
}
