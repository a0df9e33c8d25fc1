/* A step of Adam on a CPU: all tensors, laid end to end, are cut into shares for the threads.  Called by adam.c. */
#include "adam/adam.h"

#include <string.h>

#include "kernels/adam_scalars.h"
#include "os/integers.h"
#include "runtime/threads.h"

enum {
    SPLIT = 256,            /* tensors are cut at multiples of this: kernels draw whole blocks of random numbers */
    TASK_ELEMENTS = 1 << 16 /* the least work of one task */
};

/* The step of the tensors that have taken so many: most have taken as many as their neighbours. */
struct own_step {
    struct quern_adam_step step;
    int64_t taken;
};

struct shares {
    const struct quern_adam_call *call;
    const struct quern_list_marks *marks;
    int64_t tasks;
    void (*visit)(const struct quern_adam_call *call, struct own_step *own, const quern_adam_tensor *tensor, int64_t place,
                  int64_t first, int64_t end);
};

/* The offset of a cut inside a tensor that begins at `begin`, rounded up to a multiple of SPLIT. */
static int64_t cut_inside(int64_t cut, int64_t begin, int64_t count) {
    if (cut <= begin) return 0;
    return quern_smaller((int64_t)quern_round_up((size_t)(cut - begin), SPLIT), count);
}

/* A short tensor ends before its first accesses have found its memory: those of the next one are begun meanwhile. */
static void prefetch_behind(const struct quern_adam_list *list, const quern_adam_tensor *tensor, int64_t place) {
    enum { SHORT = 1024, LINE = 64, LINES = 4 };
    quern_adam_tensor room;
    if (tensor->count > SHORT || place + 1 == list->count) return;
    const quern_adam_tensor *next = quern_adam_tensor_at(list, place + 1, &room);
    const void *const arrays[] = {next->param, next->grad, next->m, next->v, next->master};
    for (int i = 0; i < 5; i++)
        for (uintptr_t line = 0; line < LINES; line++) __builtin_prefetch((const void *)((uintptr_t)arrays[i] + line * LINE), 1);
}

static void visit_share(void *context, int64_t task) {
    const struct shares *shares = context;
    const struct quern_adam_list *list = &shares->call->list;
    int64_t from = quern_share_begin(shares->marks, task, shares->tasks), begin;
    const int64_t to = quern_share_begin(shares->marks, task + 1, shares->tasks);
    quern_adam_tensor room;
    struct own_step own = {shares->call->step, -1};
    for (int64_t place = quern_nearest_mark(shares->marks, from, &begin); place < list->count && begin < to; place++) {
        const quern_adam_tensor *tensor = quern_adam_tensor_at(list, place, &room);
        const int64_t first = cut_inside(from, begin, tensor->count), end = cut_inside(to, begin, tensor->count);
        prefetch_behind(list, tensor, place);
        if (first < end) shares->visit(shares->call, &own, tensor, place, first, end);
        begin += tensor->count;
    }
}

static void take_step(const struct quern_adam_call *call, int64_t taken, struct own_step *own) {
    if (taken == own->taken) return;
    const struct quern_adam_tensor_step scalars = quern_adam_step_of_tensor(call->rates, taken);
    own->taken = taken;
    own->step.step_size = scalars.step_size;
    own->step.inverse_sqrt_bias2 = scalars.inverse_sqrt_bias2;
    own->step.inverse_bias2 = scalars.inverse_bias2;
    own->step.step = scalars.step;
}

static void update(const struct quern_adam_call *call, struct own_step *own, const quern_adam_tensor *tensor, int64_t place,
                   int64_t first, int64_t end) {
    const struct quern_kernel *kernel = call->ready->kernel;
    const struct quern_adam_slice slice = quern_adam_slice_of(&call->args, tensor);
    struct quern_adam_extras extras;
    if (kernel->key.adam.full) extras = quern_adam_extras_of(&call->args, tensor);
    if (call->args.steps) take_step(call, call->args.steps[place], own);
    kernel->cpu.adam(&own->step, &slice, kernel->key.adam.full ? &extras : NULL, (uint32_t)place, first, end);
}

/* The only work of a skipped step. */
static void zero(const struct quern_adam_call *call, struct own_step *own, const quern_adam_tensor *tensor, int64_t place,
                 int64_t first, int64_t end) {
    (void)own, (void)place;
    const size_t bytes = quern_dtype_bytes(call->args.grad_dtype);
    memset((char *)tensor->grad + (size_t)first * bytes, 0, (size_t)(end - first) * bytes);
}

static void run_shares(struct shares *shares) {
    const int64_t pieces = quern_divide_up(shares->marks->units, TASK_ELEMENTS);
    shares->tasks = quern_smaller(pieces, 8 * (int64_t)quern_threads_of(shares->call->device));
    quern_run_tasks(shares->call->device, shares->tasks, visit_share, shares);
}

quern_status quern_adam_on_cpu(struct quern_adam_call *call) {
    const struct quern_adam_pointers *control = &call->control;
    const bool skipped = control->found_inf && *control->found_inf != 0;
    struct quern_list_marks marks;
    struct shares shares = {.call = call, .marks = call->args.plan ? &call->args.plan->marks : &marks,
                            .visit = skipped ? zero : update};
    quern_status status = call->args.plan ? QUERN_OK : quern_adam_mark(call->device, &call->list, &marks);
    if (status != QUERN_OK) return status;
    quern_adam_read_control(control, &call->rates);
    quern_adam_set_scalars(&call->rates, &call->step);
    if (!skipped || call->args.zero_grads) run_shares(&shares);
    if (control->step && !skipped) *control->step = (int64_t)call->rates.step;
    for (int64_t place = 0; call->args.steps && !skipped && place < call->list.count; place++) call->args.steps[place]++;
    return QUERN_OK;
}
