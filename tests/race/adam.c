/*
 * Adam's kernels: what the threads of a block share (the step, the tile, the scales), what the blocks do (the ticket that counts
 * a step, the largest parameter copied), and what one kernel leaves to the next (sums of squares, clip coefficient, gradients).
 * Steps with a plan and with a list, of plain and full kernels, whose numbers come from kernels before them: by few blocks, and by
 * so many tiles that each warp takes several.
 */
#include <string.h>

#include "race/race.h"
#include "runtime/cuda_driver.h"

enum { FEW = 3, MANY = 150, ELEMENTS = 2100, STEPS = 3 };  /* tensors; of so many elements there are two tiles */

/* The inputs of a training step besides its tensors, all in the memory of the device. */
struct numbers {
    float lr, grad_scale, norm, clip, found_inf, copy_scale, copy_max;
    int64_t step;
};

struct run {
    quern_device *device;
    struct numbers *numbers;
    void *workspace;
    size_t workspace_bytes;
    int64_t count;                   /* of tensors; the others' tables are as long */
    quern_adam_tensor *tensors;
    quern_gradient *micro;           /* 16-bit gradients, added to those of the tensors */
};

/* Few tensors, the first of two tiles and the last one empty, or many of one tile each. */
static int64_t elements_of(const struct run *run, int64_t place) {
    if (run->count == MANY) return 1 + place % 40;
    return place == 0 ? ELEMENTS : place == FEW - 1 ? 0 : 70;
}

/* Arrays with room for any type: parameters and 16-bit gradients of 0.01, and zeros. */
static void make_tensor(const struct run *run, int64_t place) {
    unsigned char values[sizeof(float) * ELEMENTS + 1];
    const int64_t count = elements_of(run, place);
    const size_t bytes = sizeof(float) * (size_t)count + 1;
    memset(values, 0x3C, sizeof values);
    run->tensors[place] = (quern_adam_tensor){
        .param = device_memory(bytes, values), .grad = device_memory(bytes, NULL), .m = device_memory(bytes, NULL),
        .v = device_memory(bytes, NULL), .v_max = device_memory(bytes, NULL), .copy = device_memory(bytes, NULL),
        .m_scale = device_memory(bytes, NULL), .v_scale = device_memory(bytes, NULL), .v_max_scale = device_memory(bytes, NULL),
        .copy_scale = &run->numbers->copy_scale, .copy_max = &run->numbers->copy_max, .count = count,
    };
    run->micro[place] = (quern_gradient){.grad = device_memory(bytes, values), .main_grad = run->tensors[place].grad,
                                         .count = count};
}

static void free_tensor(const struct run *run, int64_t place) {
    const quern_adam_tensor *t = &run->tensors[place];
    const void *arrays[] = {t->param, t->grad, t->m, t->v, t->v_max, t->copy, t->m_scale, t->v_scale, t->v_max_scale,
                            run->micro[place].grad};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) free_device_memory(arrays[i]);
}

static void open_run(struct run *run, quern_device *device, int64_t count) {
    static const struct numbers numbers = {.lr = 0.01f, .grad_scale = 8, .copy_scale = 2};
    *run = (struct run){.device = device, .count = count, .workspace_bytes = 1 << 14};
    run->numbers = device_memory(sizeof numbers, &numbers);
    run->workspace = device_memory(run->workspace_bytes, NULL);
    run->tensors = calloc((size_t)count, sizeof *run->tensors);
    run->micro = calloc((size_t)count, sizeof *run->micro);
    CHECK(run->tensors && run->micro);
    for (int64_t place = 0; place < count; place++) make_tensor(run, place);
}

static void close_run(struct run *run) {
    for (int64_t place = 0; place < run->count; place++) free_tensor(run, place);
    free_device_memory(run->workspace);
    free_device_memory(run->numbers);
    free(run->tensors);
    free(run->micro);
}

/* ---- the arguments ---- */

/* All numbers come from the memory of the device. */
static quern_adam_args arguments(const struct run *run, quern_dtype param_and_grad, quern_dtype moments) {
    quern_adam_args args = ADAM_ARGS(.param_dtype = param_and_grad, .grad_dtype = param_and_grad, .m_dtype = moments,
                                     .v_dtype = moments, .tensors = run->tensors, .tensor_count = run->count);
    args.control = (quern_adam_control){.lr = &run->numbers->lr, .step = &run->numbers->step, .clip = &run->numbers->clip,
                                        .grad_scale = &run->numbers->grad_scale, .found_inf = &run->numbers->found_inf};
    return args;
}

static quern_adam_args plain(const struct run *run) { return arguments(run, QUERN_BF16, QUERN_BF16); }

static quern_adam_args full(const struct run *run) {
    quern_adam_args args = arguments(run, QUERN_F32, QUERN_E4M3);
    args.amsgrad = args.zero_grads = 1;
    args.copy_dtype = QUERN_E4M3;
    return args;
}

/* ---- the enqueued work, without waiting in between ---- */

static void accumulate(const struct run *run) {
    quern_accumulate_args args = ACCUMULATE_ARGS(.grad_dtype = QUERN_BF16, .gradients = run->micro, .gradient_count = run->count,
                                                 .zero_grads = 1);
    OK(quern_accumulate(run->device, &args, NULL));
}

static void norm(const struct run *run, quern_dtype dtype, const quern_adam_plan *plan) {
    quern_gradient_norm_args args = GRADIENT_NORM_ARGS(.grad_dtype = dtype, .plan = plan, .max_norm = 1,
                                                       .grad_scale_pointer = &run->numbers->grad_scale, .norm = &run->numbers->norm,
                                                       .clip = &run->numbers->clip, .found_inf = &run->numbers->found_inf);
    OK(quern_gradient_norm(run->device, &args, run->workspace, run->workspace_bytes, NULL));
}

/* The norm of the plan's gradients, then a step with the plan and one with the list, which counts in the workspace. */
static void take_steps(const struct run *run, const quern_adam_args *listed) {
    quern_adam_args planned = *listed;
    OK(quern_adam_plan_create(run->device, listed, &planned.plan));
    planned.tensors = NULL;
    planned.tensor_count = 0;
    for (int step = 0; step < STEPS; step++) {
        if (listed->grad_dtype == QUERN_F32) accumulate(run);
        norm(run, listed->grad_dtype, planned.plan);
        OK(quern_adam(run->device, &planned, NULL, 0, NULL));
        OK(quern_adam(run->device, listed, run->workspace, run->workspace_bytes, NULL));
    }
    CHECK(!driver->context_synchronize());
    quern_adam_plan_destroy(planned.plan);
}

void run_adam(void) {
    static const int64_t counts[] = {FEW, MANY};
    quern_device *device;
    OK(quern_device_open(QUERN_CUDA, 0, &device));
    OK(quern_prepare(device, QUERN_ADAM));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct run run;
        open_run(&run, device, counts[i]);
        const quern_adam_args forms[] = {plain(&run), full(&run)};
        for (size_t form = 0; form < sizeof forms / sizeof *forms; form++) take_steps(&run, &forms[form]);
        close_run(&run);
    }
    quern_device_close(device);
}
