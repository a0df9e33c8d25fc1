/*
 * Training in f16 with a loss scale, on f(p) = (p - 3)^2 / 2 from p = 0: the gradients of the scaled loss overflow until the scale
 * has come down; those steps are skipped and not counted.  The numbers of a step are read from the device's memory, so on a GPU a
 * graph can capture the two calls and replay them.
 *
 *   cc loss_scaling.c $(pkg-config --cflags --libs quern) -o loss_scaling
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
    enum { COUNT = 1000, TRIES = 500 };
    static _Float16 param[COUNT], grad[COUNT];
    static uint16_t m[COUNT], v[COUNT];                  /* bf16, all 0 */
    static float master[COUNT];
    float loss_scale = 65536, clip, overflow;
    int64_t steps = 0;
    quern_device *device;
    check(quern_device_open(QUERN_CPU, 0, &device));
    check(quern_prepare(device, QUERN_ADAM));

    quern_adam_tensor tensor = {.param = param, .grad = grad, .m = m, .v = v, .master = master, .count = COUNT};
    quern_adam_args step = QUERN_ADAM_ARGS_INIT;
    step.param_dtype = step.grad_dtype = QUERN_F16;
    step.m_dtype = step.v_dtype = QUERN_BF16;
    step.master_dtype = QUERN_F32;
    step.tensors = &tensor;
    step.tensor_count = 1;
    quern_adam_plan *plan;
    check(quern_adam_plan_create(device, &step, &plan));

    quern_gradient_norm_args norm = QUERN_GRADIENT_NORM_ARGS_INIT;
    norm.grad_dtype = QUERN_F16;
    norm.plan = plan;
    norm.max_norm = 10;
    norm.grad_scale_pointer = &loss_scale;
    norm.clip = &clip;
    norm.found_inf = &overflow;
    size_t bytes;
    check(quern_gradient_norm_workspace(device, &norm, &bytes));
    void *workspace = aligned_alloc(16, (bytes + 15) / 16 * 16);

    step.tensors = NULL;                                 /* the plan has them */
    step.plan = plan;
    step.lr = 0.02;
    step.control = (quern_adam_control){.step = &steps, .grad_scale = &loss_scale, .clip = &clip, .found_inf = &overflow};
    for (int i = 0; i < TRIES; i++) {
        for (int k = 0; k < COUNT; k++) grad[k] = (_Float16)((float)(param[k] - 3) * loss_scale);
        overflow = 0;
        check(quern_gradient_norm(device, &norm, workspace, bytes, NULL));
        check(quern_adam(device, &step, NULL, 0, NULL));
        if (overflow != 0) loss_scale /= 2;
    }
    printf("p = %.3f (minimum at 3) after %lld steps of %d, with a loss scale of %g\n", master[0], (long long)steps, TRIES,
           loss_scale);
    free(workspace);
    quern_adam_plan_destroy(plan);
    quern_device_close(device);
}
