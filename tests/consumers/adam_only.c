/* A program that calls one operation: it must not carry the kernels of the other. */
#include <quern.h>

int main(void) {
    quern_device *device;
    float param[1] = {1}, grad[1] = {1}, m[1] = {0}, v[1] = {0};
    quern_adam_tensor tensor = {.param = param, .grad = grad, .m = m, .v = v, .count = 1};
    quern_adam_args args = QUERN_ADAM_ARGS_INIT;
    args.param_dtype = args.grad_dtype = args.m_dtype = args.v_dtype = QUERN_F32;
    args.tensors = &tensor;
    args.tensor_count = 1;
    args.lr = 0.5;
    args.step = 1;
    if (quern_device_open(QUERN_CPU, 0, &device) != QUERN_OK) return 1;
    if (quern_prepare(device, QUERN_ADAM) != QUERN_OK) return 2;
    if (quern_adam(device, &args, NULL, 0, NULL) != QUERN_OK) return 3;
    quern_device_close(device);
    return param[0] == 0.5f ? 0 : 4;
}
