/*
 * Products by cuBLAS.  cuBLAS stores matrices by columns, so it reads a matrix stored by rows as its transpose.  Therefore the call
 * computes C^T = B^T * A^T.  Called by blas.c.
 */
#include "cross_entropy/cross_entropy.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda_visit.h"
#include "runtime/status.h"

enum { CUDA_R_32F = 0, CUDA_R_16F = 2, CUDA_R_16BF = 14 };                            /* library_types.h */
enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_COMPUTE_32F = 68, CUBLAS_GEMM_DEFAULT = -1,
       CUBLAS_STATUS_ALLOC_FAILED = 3 };                                               /* cublas_api.h */

typedef int create_function(void **handle);
typedef int destroy_function(void *handle);
typedef int set_stream_function(void *handle, void *stream);
typedef int gemm_function(void *handle, int op_a, int op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a,
                          int a_type, int64_t a_stride, const void *b, int b_type, int64_t b_stride, const void *beta, void *c,
                          int c_type, int64_t c_stride, int compute_type, int algorithm);
typedef const char *status_function(int status);

struct blas {
    create_function *create;
    destroy_function *destroy;
    set_stream_function *set_stream;
    gemm_function *gemm;  /* the form with 64-bit sizes, of CUDA 12 and later */
    status_function *status_name;
    void *handle;
};

static const struct {
    const char *name;
    size_t offset;
} symbols[] = {
    {"cublasCreate_v2", offsetof(struct blas, create)},
    {"cublasDestroy_v2", offsetof(struct blas, destroy)},
    {"cublasSetStream_v2", offsetof(struct blas, set_stream)},
    {"cublasGemmEx_64", offsetof(struct blas, gemm)},
    {"cublasGetStatusName", offsetof(struct blas, status_name)},
};

static quern_status find_symbols(quern_device *device, void *library, const char *name, struct blas *blas) {
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *address = dlsym(library, symbols[i].name);
        if (!address) return quern_fail(device, QUERN_NOT_SUPPORTED, "%s has no function %s", name, symbols[i].name);
        memcpy((char *)blas + symbols[i].offset, &address, sizeof address);
    }
    return QUERN_OK;
}

static quern_status fail(quern_device *device, const struct blas *blas, const char *what, int error) {
    const char *name = blas->status_name(error);
    return quern_fail(device, error == CUBLAS_STATUS_ALLOC_FAILED ? QUERN_OUT_OF_MEMORY : QUERN_CUDA_ERROR, "%s: %s", what,
                      name ? name : "unknown error");
}

/* A handle belongs to the context that is current when it is made. */
static quern_status create_handle(quern_device *device, struct blas *blas) {
    struct quern_cuda_visit visit;
    int error = 0;
    const CUresult pushed = quern_cuda_begin_visit(&visit, device->context);
    if (pushed == CUDA_SUCCESS) error = blas->create(&blas->handle);
    quern_cuda_end_visit(&visit);
    if (pushed != CUDA_SUCCESS) return quern_cuda_fail(device, pushed, "cuCtxPushCurrent");
    return error ? fail(device, blas, "cublasCreate", error) : QUERN_OK;
}

static quern_status attach(quern_device *device, void *library, const char *name, void **state) {
    struct blas *blas = calloc(1, sizeof *blas);
    if (!blas) return quern_fail(device, QUERN_OUT_OF_MEMORY, "no memory for a BLAS");
    quern_status status = find_symbols(device, library, name, blas);
    if (status == QUERN_OK) status = create_handle(device, blas);
    if (status == QUERN_OK) *state = blas;
    else free(blas);
    return status;
}

static void detach(quern_device *device, void *state) {
    struct blas *blas = state;
    struct quern_cuda_visit visit;
    if (quern_cuda_begin_visit(&visit, device->context) == CUDA_SUCCESS) blas->destroy(blas->handle);
    quern_cuda_end_visit(&visit);
    free(blas);
}

/* ---- a product ---- */

/* -1: cuBLAS has none. */
static int type_of(quern_dtype dtype) {
    return dtype == QUERN_F32 ? CUDA_R_32F : dtype == QUERN_F16 ? CUDA_R_16F : dtype == QUERN_BF16 ? CUDA_R_16BF : -1;
}

static quern_status check_types(quern_device *device, const quern_gemm_args *args) {
    const quern_dtype dtypes[] = {args->a_dtype, args->b_dtype, args->c_dtype};
    for (int i = 0; i < 3; i++)
        if (type_of(dtypes[i]) < 0)
            return quern_fail(device, QUERN_NOT_SUPPORTED, "%c is %s: cuBLAS has no such type", 'a' + i,
                              quern_dtype_name(dtypes[i]));
    if (args->a_dtype == args->b_dtype) return QUERN_OK;
    return quern_fail(device, QUERN_NOT_SUPPORTED, "a is %s and b is %s: cuBLAS multiplies matrices of one dtype",
                      quern_dtype_name(args->a_dtype), quern_dtype_name(args->b_dtype));
}

static int enqueue(const struct blas *blas, const quern_gemm_args *args, void *stream, const char **what) {
    const float one = 1, beta = args->accumulate ? 1 : 0;
    *what = "cublasSetStream";
    int error = blas->set_stream(blas->handle, stream);
    if (error) return error;
    *what = "cublasGemmEx";
    return blas->gemm(blas->handle, args->b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N, args->a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                      args->n, args->m, args->k, &one, args->b, type_of(args->b_dtype), args->b_stride, args->a,
                      type_of(args->a_dtype), args->a_stride, &beta, args->c, type_of(args->c_dtype), args->c_stride,
                      CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

static quern_status multiply(quern_device *device, void *state, const quern_gemm_args *args, void *stream) {
    const struct blas *blas = state;
    struct quern_cuda_visit visit;
    quern_status status = check_types(device, args);
    if (status == QUERN_OK) status = quern_cuda_begin_launch(&visit, device);
    if (status != QUERN_OK) return status;
    const char *what;
    const int error = enqueue(blas, args, stream, &what);
    quern_cuda_end_visit(&visit);
    return error ? fail(device, blas, what, error) : QUERN_OK;
}

static const char *const libraries[] = {"libcublas.so.13", "libcublas.so.12", NULL};

const struct quern_blas_kind quern_cuda_blas = {libraries, attach, multiply, detach};
