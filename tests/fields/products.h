/* What the matrix product of a BLAS does with each field, and its base cases. */
#ifndef FIELDS_PRODUCTS_H
#define FIELDS_PRODUCTS_H

#include "fields/fields.h"

enum { M = 2, N = 3, K = 4, A_STRIDE = 5, B_STRIDE = 6, C_STRIDE = 4 };

/* The columns: C = A * B^T, and C += A * B^T. */
enum { PRODUCT, ADDED_PRODUCT };
#define FLOATS LEGAL(QUERN_FLOAT_DTYPES)
#define NO_ROWS REFUSES(COUNT_TO(MOST_ROWS))
#define NO_STRIDE(columns, rows, most) REFUSES(SHAPE("at least its columns, " columns), \
                                               TOO_LONG("rows " rows ": expected at most " most))
PLAIN(quern_gemm_args, accumulate, "cc")
RULE(quern_gemm_args, m, "cc", NO_ROWS)
RULE(quern_gemm_args, n, "cc", NO_ROWS)
RULE(quern_gemm_args, k, "cc", NO_ROWS)
BUFFER_OF(quern_gemm_args, a, "RR", quern_dtype_bytes(a->a_dtype))
BUFFER_OF(quern_gemm_args, b, "RR", quern_dtype_bytes(a->b_dtype))
BUFFER_OF(quern_gemm_args, c, "WW", quern_dtype_bytes(a->c_dtype))
RULE(quern_gemm_args, a_dtype, "cc", FLOATS)
RULE(quern_gemm_args, b_dtype, "cc", FLOATS)
RULE(quern_gemm_args, c_dtype, "cc", FLOATS)
PLAIN(quern_gemm_args, a_transposed, "cc")
PLAIN(quern_gemm_args, b_transposed, "cc")
RULE(quern_gemm_args, a_stride, "cc", NO_STRIDE("4", "2", "17592186044416"))
RULE(quern_gemm_args, b_stride, "cc", NO_STRIDE("4", "3", "11728124029610"))
RULE(quern_gemm_args, c_stride, "cc", NO_STRIDE("3", "2", "17592186044416"))
RULES_OF(quern_gemm_args)

PLAIN(quern_blas_gemm__parameters, blas, "R")
RULE(quern_blas_gemm__parameters, args, "R", .called = "quern_gemm_args")
PLAIN(quern_blas_gemm__parameters, stream, "s")
PARAMETERS_OF(quern_blas_gemm)

static quern_gemm_args product_args;
static quern_blas *product_blas;   /* which the suite opens */

static void set_product(const struct call *call) {
    quern_gemm_args *a = &product_args;
    *a = (quern_gemm_args)GEMM_ARGS(.m = M, .n = N, .k = K, .a_dtype = QUERN_F32, .b_dtype = QUERN_F32, .c_dtype = QUERN_F32,
                                    .b_transposed = 1, .a_stride = A_STRIDE, .b_stride = B_STRIDE, .c_stride = C_STRIDE,
                                    .accumulate = call->parts[1].column == ADDED_PRODUCT);
    parameters_of_quern_blas_gemm.blas = product_blas, parameters_of_quern_blas_gemm.args = a;
    parameters_of_quern_blas_gemm.stream = fields_device.stream;
}

static void fill_product(UNUSED const struct call *call) {
    for (int i = 0; i < (M - 1) * A_STRIDE + K; i++) fields_floats((const float *)product_args.a + i, 1, (float)(i % 5) - 1);
    for (int i = 0; i < (N - 1) * B_STRIDE + K; i++) fields_floats((const float *)product_args.b + i, 1, (float)(i % 3) - 2);
    for (int i = 0; i < (M - 1) * C_STRIDE + N; i++) fields_floats((const float *)product_args.c + i, 1, 7);
}

#define OF_PRODUCT(title, at) {.name = title, .function = "quern_blas_gemm", \
    .parts = {PARAMETERS(quern_blas_gemm), PART(quern_gemm_args, product_args, NULL, "args.", at)}, .set = set_product, \
    .fill = fill_product}
static const struct call calls_of_quern_blas_gemm[] = {OF_PRODUCT("a product", PRODUCT),
                                                       OF_PRODUCT("an added product", ADDED_PRODUCT), {.name = NULL}};
#define CALLS_IN_LIST(function) calls_of_##function,
static const struct call *const product_calls[] = {CALLS_WITH_quern_gemm_args(CALLS_IN_LIST)};

#endif
