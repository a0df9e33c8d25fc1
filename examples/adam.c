/*
 * AdamW with bf16 parameters, an fp32 master copy and bf16 moments, on f(p) = (p - 3)^2 / 2 from p = 0.
 *
 *   cc adam.c $(pkg-config --cflags --libs quern) -o adam
 */
#include <stdio.h>
#include <stdlib.h>

#include <quern.h>

static void check(quern_status status) {
    char detail[256];
    if (status == QUERN_OK) return;
    quern_error_detail(detail, sizeof detail);
    fprintf(stderr, "%s: %s\n", quern_status_string(status), detail);
    exit(EXIT_FAILURE);
}

int main(void) {
    enum { COUNT = 1000, STEPS = 500 };
    static uint16_t param[COUNT], m[COUNT], v[COUNT];    /* bf16, all 0 */
    static float master[COUNT], grad[COUNT];
    quern_device *device;
    check(quern_device_open(QUERN_CPU, 0, &device));
    check(quern_prepare(device, QUERN_ADAM));

    quern_adam_tensor tensor = {.param = param, .grad = grad, .m = m, .v = v, .master = master, .count = COUNT};
    quern_adam_args args = QUERN_ADAM_ARGS_INIT;
    args.param_dtype = args.m_dtype = args.v_dtype = QUERN_BF16;
    args.grad_dtype = args.master_dtype = QUERN_F32;
    args.tensors = &tensor;
    args.tensor_count = 1;
    args.lr = 0.02;
    args.step = 1;

    size_t bytes;
    check(quern_adam_workspace(device, &args, &bytes));
    void *workspace = aligned_alloc(16, (bytes + 15) / 16 * 16);
    for (; args.step <= STEPS; args.step++) {
        for (int i = 0; i < COUNT; i++) grad[i] = master[i] - 3;
        check(quern_adam(device, &args, workspace, bytes, NULL));
    }
    printf("p = %.3f after %d steps (minimum at 3), 0x%04X in bf16\n", master[0], STEPS, param[0]);
    free(workspace);
    quern_device_close(device);
}
