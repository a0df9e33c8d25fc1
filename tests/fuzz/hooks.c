/* The functions that an engine would pass to the library.  Their pointers are arguments of cases.c. */
#include "hooks.h"

#include "calls.h"

quern_gemm_args hook_initial_gemm(void) {
#ifdef QUERN_GEMM_ARGS_INIT
    return (quern_gemm_args)QUERN_GEMM_ARGS_INIT;
#else
    return (quern_gemm_args){.size = sizeof(quern_gemm_args)};
#endif
}

static unsigned read_matrix(const void *matrix, int64_t rows, int64_t columns, int64_t stride, quern_dtype dtype) {
    const int64_t bytes = (int64_t)quern_dtype_bytes(dtype);
    unsigned sum = 0;
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = 0; i < columns * bytes; i++) sum += ((const volatile unsigned char *)matrix)[row * stride * bytes + i];
    return sum;
}

static void write_matrix(void *matrix, int64_t rows, int64_t columns, int64_t stride, quern_dtype dtype) {
    const int64_t bytes = (int64_t)quern_dtype_bytes(dtype);
    for (int64_t row = 0; row < rows; row++) memset((char *)matrix + row * stride * bytes, 0x3c, (size_t)(columns * bytes));
}

quern_status hook_gemm(void *user, const quern_gemm_args *args, void *stream) {
    (void)stream;
    if (user) return QUERN_NOT_SUPPORTED;
    if (args->a_transposed) read_matrix(args->a, args->k, args->m, args->a_stride, args->a_dtype);
    else read_matrix(args->a, args->m, args->k, args->a_stride, args->a_dtype);
    if (args->b_transposed) read_matrix(args->b, args->n, args->k, args->b_stride, args->b_dtype);
    else read_matrix(args->b, args->k, args->n, args->b_stride, args->b_dtype);
    write_matrix(args->c, args->m, args->n, args->c_stride, args->c_dtype);
    return QUERN_OK;
}

quern_status hook_gather(void *user, const void *mine, void *all, size_t bytes, void *stream) {
    (void)stream;
    if (user) return QUERN_NOT_SUPPORTED;
    memcpy(all, mine, bytes);
    return QUERN_OK;
}

void hook_parallel_for(void *user, int64_t tasks, void (*task)(void *context, int64_t index), void *context) {
    (void)user;
    for (int64_t i = tasks - 1; i >= 0; i--) task(context, i);
}

void hook_log(void *user, quern_log_level level, const char *line) {
    (void)user;
    if (!*line || strchr(line, '\n')) fuzz_fail("a log line of level %d is '%s'", (int)level, line);
}
