/*
 * An engine with all operations, for an archive with chosen kernels: tests/checks/selection.py.  Prints quern_build_info, then what
 * preparing and calling each operation gives.
 */
#include <quern.h>
#include <stdio.h>

/*
 * Of every function, so that the engine has as much of the library as an engine can have.  Compilers drop the array unless it is
 * volatile.
 */
typedef void function(void);
static function *const volatile all[] = {
#define FUNCTION(name) (function *)name,
#include "functions.h"
};

static void tell(const char *call, quern_status status) {
    char detail[1024] = "";
    if (status != QUERN_OK) quern_error_detail(detail, sizeof detail);
    printf("%s: %s: %s\n", call, quern_status_string(status), detail);
}

static quern_status loss(quern_device *device) {
    static float logits[1][4] = {{1, 2, 3, 4}}, losses[1];
    static int32_t labels[1];
    static _Alignas(16) char workspace[1 << 16];
    quern_cross_entropy_args args = QUERN_CROSS_ENTROPY_ARGS_INIT;
    args.logits_dtype = QUERN_F32;
    args.labels_dtype = QUERN_INT32;
    args.rows = 1;
    args.vocab = 4;
    args.logits = logits;
    args.labels = labels;
    args.loss = losses;
    return quern_cross_entropy(device, &args, workspace, sizeof workspace, NULL);
}

static quern_status step(quern_device *device) {
    static float param[3], grad[3], m[3], v[3];
    quern_adam_tensor tensor = {.param = param, .grad = grad, .m = m, .v = v, .count = 3};
    quern_adam_args args = QUERN_ADAM_ARGS_INIT;
    args.param_dtype = args.grad_dtype = args.m_dtype = args.v_dtype = QUERN_F32;
    args.tensors = &tensor;
    args.tensor_count = 1;
    args.lr = 0.5;
    args.step = 1;
    return quern_adam(device, &args, NULL, 0, NULL);
}

int main(void) {
    quern_device *device;
    printf("functions: %zu\n%s", sizeof all / sizeof *all - (all[0] == NULL), quern_build_info());
    tell("open", quern_device_open(QUERN_CPU, 0, &device));
    tell("prepare cross_entropy", quern_prepare(device, QUERN_CROSS_ENTROPY));
    tell("call cross_entropy", loss(device));
    tell("prepare adam", quern_prepare(device, QUERN_ADAM));
    tell("call adam", step(device));
    tell("prepare barrier", quern_prepare(device, QUERN_BARRIER));
    quern_device_close(device);
    return 0;
}
