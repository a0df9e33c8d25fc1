/*
 * Stands in for libtorch: the functions that quern_torch.so looks up, each of which calls what stand_in_tests.py has set.  So its
 * operators run on tensors of an emulated GPU, which no PyTorch has.
 */
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define FORWARD(name, parameters, arguments) \
    int32_t(*stand_in_##name) parameters; \
    int32_t aoti_torch_##name parameters { return stand_in_##name arguments; }

typedef void *tensor;
typedef void boxed(uint64_t *, uint64_t, uint64_t);

FORWARD(get_data_ptr, (tensor given, void **data), (given, data))
FORWARD(get_dim, (tensor given, int64_t *dimensions), (given, dimensions))
FORWARD(get_numel, (tensor given, int64_t *count), (given, count))
FORWARD(get_sizes, (tensor given, int64_t **sizes), (given, sizes))
FORWARD(get_strides, (tensor given, int64_t **strides), (given, strides))
FORWARD(get_dtype, (tensor given, int32_t *dtype), (given, dtype))
FORWARD(get_device_type, (tensor given, int32_t *type), (given, type))
FORWARD(get_device_index, (tensor given, int32_t *index), (given, index))
FORWARD(delete_tensor_object, (tensor given), (given))
FORWARD(empty_strided,
        (int64_t count, const int64_t *sizes, const int64_t *strides, int32_t dtype, int32_t type, int32_t index, tensor *made),
        (count, sizes, strides, dtype, type, index, made))
FORWARD(library_init_fragment, (const char *name, const char *file, uint32_t line, void **library), (name, file, line, library))
FORWARD(library_init_impl, (const char *name, const char *key, const char *file, uint32_t line, void **library),
        (name, key, file, line, library))
FORWARD(library_def, (void *library, const char *schema), (library, schema))
FORWARD(library_impl, (void *library, const char *name, boxed *function), (library, name, function))
FORWARD(get_current_cuda_stream, (int32_t index, void **stream), (index, stream))

static jmp_buf thrown;
static char text[512];

/* The real one throws an exception through the operator. */
void aoti_torch_check(bool holds, const char *function, const char *file, uint32_t line, const char *message) {
    (void)file, (void)line;
    if (holds) return;
    snprintf(text, sizeof text, "%s: %s", function, message);
    longjmp(thrown, 1);
}

/* Optional arguments are boxed by Python here, which keeps them. */
void _ZdlPv(void *boxed_value) { (void)boxed_value; }

/* NULL: the operator has returned; else what it has thrown. */
const char *stand_in_run(boxed *function, uint64_t *stack, uint64_t inputs, uint64_t outputs) {
    if (setjmp(thrown)) return text;
    function(stack, inputs, outputs);
    return NULL;
}
