/* The public functions on a BLAS: open the library for the device and check the arguments of products. */
#include <dlfcn.h>
#include <stdlib.h>

#include "cross_entropy/blas_cpu.h"
#include "cross_entropy/blas_cuda.h"
#include "os/text.h"
#include "runtime/arguments.h"
#include "runtime/device.h"
#include "runtime/dtype.h"
#include "runtime/status.h"

struct quern_blas {
    quern_device *device;
    const struct quern_blas_kind *kind;
    void *library;
    void *state;
};

/* Opens the first library that loads.  *why gets the reason against each earlier one. */
static void *find_library(const struct quern_blas_kind *kind, const char *given, const char **name, struct quern_text *why) {
    const char *const names[] = {given, NULL};
    for (const char *const *next = given ? names : kind->libraries; *next; next++) {
        void *library = dlopen(*next, RTLD_NOW | RTLD_LOCAL);
        if (library) {
            *name = *next;
            return library;
        }
        const char *reason = dlerror();
        quern_text_add(why, "%s%s", why->length ? "; " : "", reason ? reason : *next);
    }
    return NULL;
}

quern_status quern_blas_open(quern_device *device, const char *library, quern_blas **blas) {
    char reasons[800];
    struct quern_text why = quern_text_begin(reasons, sizeof reasons);
    const char *name = NULL;
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    if (!blas) return quern_fail(device, QUERN_NULL_POINTER, "blas is NULL");
    struct quern_blas *opened = malloc(sizeof *opened);
    if (!opened) return quern_fail(device, QUERN_OUT_OF_MEMORY, "no memory for a BLAS");
    *opened = (struct quern_blas){.device = device, .kind = device->kind == QUERN_CPU ? &quern_cpu_blas : &quern_cuda_blas};
    opened->library = find_library(opened->kind, library, &name, &why);
    quern_status status = opened->library ? opened->kind->attach(device, opened->library, name, &opened->state)
                                          : quern_fail(device, QUERN_NOT_SUPPORTED, "no BLAS can be opened: %s", reasons);
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

static quern_status check_matrix(const quern_device *device, const char *name, const void *pointer, quern_dtype dtype, int64_t rows,
                                 int64_t columns, int64_t stride) {
    quern_status status = quern_check_dtype(device, name, dtype, quern_floats, false);
    if (status == QUERN_OK && rows && columns) status = quern_check_pointer(device, name, pointer, quern_dtype_bytes(dtype));
    if (status != QUERN_OK || stride >= columns) return status;
    return quern_fail(device, QUERN_INVALID_SHAPE, "%s has stride %lld: expected at least its columns, %lld", name,
                      (long long)stride, (long long)columns);
}

static quern_status check_product(const quern_device *device, const quern_gemm_args *args) {
    const bool at = args->a_transposed, bt = args->b_transposed;
    quern_status status = quern_check_not_negative(device, "args.m", args->m);
    if (status == QUERN_OK) status = quern_check_not_negative(device, "args.n", args->n);
    if (status == QUERN_OK) status = quern_check_not_negative(device, "args.k", args->k);
    if (status == QUERN_OK)
        status = check_matrix(device, "args.a", args->a, args->a_dtype, at ? args->k : args->m, at ? args->m : args->k,
                              args->a_stride);
    if (status == QUERN_OK)
        status = check_matrix(device, "args.b", args->b, args->b_dtype, bt ? args->n : args->k, bt ? args->k : args->n,
                              args->b_stride);
    if (status == QUERN_OK) status = check_matrix(device, "args.c", args->c, args->c_dtype, args->m, args->n, args->c_stride);
    if (status != QUERN_OK || !args->accumulate || args->c_dtype == QUERN_F32) return status;
    return quern_fail(device, QUERN_INVALID_DTYPE, "args.c_dtype is %s with accumulate: expected f32",
                      quern_dtype_name(args->c_dtype));
}

quern_status quern_blas_gemm(void *user, const quern_gemm_args *args, void *stream) {
    const struct quern_blas *blas = user;
    if (!blas) return quern_fail(NULL, QUERN_NULL_POINTER, "blas is NULL");
    quern_status status = quern_check_struct(blas->device, "quern_gemm_args", args, sizeof *args);
    if (status == QUERN_OK) status = check_product(blas->device, args);
    if (status == QUERN_OK) status = quern_check_stream(blas->device, stream);
    if (status != QUERN_OK || !args->m || !args->n) return status;
    return blas->kind->multiply(blas->device, blas->state, args, stream);
}
