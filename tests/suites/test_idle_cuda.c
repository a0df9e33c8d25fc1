/*
 * Between two launches of one thread whose kernels wait for each other, nothing waits for the device: neither the check of known
 * answers nor the end of a plan of Adam.  tests/faults/symmetric_processes.c has the same for memory, groups and devices.
 *
 * Runs on: one emulated.
 */
#include "harness/cuda.h"
#include "harness/gpu_group.h"

enum { COUNT = 100 };

/* A plan, and a step by it. */
static quern_adam_plan *use_plan(quern_device *device, const cuda_pointer *arrays, void *stream) {
    quern_adam_plan *plan;
    quern_adam_tensor tensor = {.param = (void *)arrays[0], .grad = (void *)arrays[1], .m = (void *)arrays[2],
                                .v = (void *)arrays[3], .count = COUNT};
    quern_adam_args args = ADAM_ARGS(ADAM_DTYPES(QUERN_F32), .tensors = &tensor, .tensor_count = 1);
    check_ok(quern_adam_plan_create(device, &args, &plan));
    args.tensors = NULL;
    args.tensor_count = 0;
    args.plan = plan;
    args.lr = 0.1;
    args.step = 1;
    check_ok(quern_adam(device, &args, NULL, 0, stream));
    return plan;
}

/* Opens a device and asks its kernels of Adam for known answers. */
static void ask_for_answers(int ordinal) {
    OPEN_ON(another, QUERN_CUDA, ordinal);
    check_ok(quern_prepare(another, QUERN_ADAM));
}

Test(idle_cuda, answers_and_plans_wait_for_no_launch) {
    cuda_pointer arrays[4];
    setenv("QUERN_EMULATOR_WAITS", "1", 1);
    setenv("QUERN_KNOWN_ANSWERS", "1", 1);
    OPEN_GROUP(group, .ranks = 2, .machine.virtual_clock = true);
    check_ok(quern_prepare(group.device[0].quern, QUERN_ADAM));
    device_use(&group.device[0]);
    for (int i = 0; i < 4; i++) CUDA(cuMemAlloc_v2(&arrays[i], COUNT * sizeof(float)));
    quern_adam_plan *plan = use_plan(group.device[0].quern, arrays, group.device[0].stream);
    gpu_group_barrier(&group, ~0ull);
    gpu_group_synchronize(&group);
    check_ok(quern_barrier(group.group[0], NULL, group.device[0].stream));
    ask_for_answers(0);
    quern_adam_plan_destroy(plan);
    check_ok(quern_barrier(group.group[1], NULL, group.device[1].stream));
    gpu_group_expect(&group, QUERN_OK, NULL);
    device_use(&group.device[0]);
    for (int i = 0; i < 4; i++) CUDA(cuMemFree_v2(arrays[i]));
}
