/* A program that takes the address of a public function in code and in static data. */
#include <quern.h>

static const quern_gemm product = quern_blas_gemm;

int main(void) {
    quern_linear_cross_entropy_args args = QUERN_LINEAR_CROSS_ENTROPY_ARGS_INIT;
    args.gemm = quern_blas_gemm;
    if (args.gemm != product) return 1;
    return args.gemm(NULL, NULL, NULL) == QUERN_NULL_POINTER ? 0 : 2;
}
