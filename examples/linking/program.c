/* Calls both operations and prints their results.  Valid C11 and C++20; ../README.md shows how to link it. */
#include <quern.h>
#include <stdio.h>

static int fail(const char *call) {
    char detail[256];
    quern_error_detail(detail, sizeof detail);
    fprintf(stderr, "%s: %s\n", call, detail);
    return 1;
}

int main(void) {
    if (quern_version() != QUERN_VERSION) return fprintf(stderr, "quern.h and libquern.a are of different versions\n"), 1;
    quern_device *device;
    if (quern_device_open(QUERN_CPU, 0, &device) != QUERN_OK) return fail("quern_device_open");
    if (quern_prepare(device, QUERN_CROSS_ENTROPY | QUERN_ADAM) != QUERN_OK) return fail("quern_prepare");

    float logits[2][3] = {{1, 2, 3}, {0, 0, 0}}, loss[2];
    int labels[2] = {2, 0};
    char workspace[4096];
    quern_cross_entropy_args loss_args = QUERN_CROSS_ENTROPY_ARGS_INIT;
    loss_args.logits_dtype = QUERN_F32;
    loss_args.labels_dtype = QUERN_INT32;
    loss_args.rows = 2;
    loss_args.vocab = 3;
    loss_args.logits = loss_args.grad = logits;
    loss_args.labels = labels;
    loss_args.loss = loss;
    char *aligned = workspace + (16 - (size_t)workspace % 16) % 16;
    if (quern_cross_entropy(device, &loss_args, aligned, sizeof workspace - 16, NULL) != QUERN_OK)
        return fail("quern_cross_entropy");

    float param[3] = {1, 1, 1}, m[3] = {0}, v[3] = {0};
    quern_adam_tensor tensor = {.param = param, .grad = logits[1], .m = m, .v = v, .count = 3};
    quern_adam_args adam_args = QUERN_ADAM_ARGS_INIT;
    adam_args.param_dtype = adam_args.grad_dtype = adam_args.m_dtype = adam_args.v_dtype = QUERN_F32;
    adam_args.tensors = &tensor;
    adam_args.tensor_count = 1;
    adam_args.lr = 0.5;
    adam_args.step = 1;
    if (quern_adam(device, &adam_args, NULL, 0, NULL) != QUERN_OK) return fail("quern_adam");
    quern_device_close(device);
    printf("losses %.4f %.4f, parameters %.2f %.2f %.2f\n", loss[0], loss[1], param[0], param[1], param[2]);
    return 0;
}
