/* Runs combinations on the threads of the CPU device.  Called by collective_host.c. */
#include "ranks/collective/collective.h"

#include "os/integers.h"
#include "runtime/threads.h"

enum {
    TASK_BYTES = 1 << 17,  /* the least that a task reads and writes */
    MOST_TASKS = 8,        /* for each thread */
    LINE = 64              /* tasks end at lines of a buffer that begins with one, so that no two cores write the same line */
};

struct work {
    const struct quern_collective_combination *pieces;
    quern_any_cpu_kernel *kernel;
    int64_t count, share;  /* elements: of all; of a task */
};

/* Streaming stores are not ordered by the signal that announces them to the other ranks. */
static void fence(void) {
#if defined(__x86_64__)
    __builtin_ia32_sfence();
#endif
}

/*
 * Whether this thread rounds to nearest and keeps subnormals, as the tasks of a device do.  Asked of the processor alone, since
 * saving and setting the whole environment takes longer than a small call.
 */
static bool is_default_environment(void) {
#if defined(__x86_64__)
    enum { FLAGS = 0x3F, DEFAULT = 0x1F80 };
    return (__builtin_ia32_stmxcsr() & ~(unsigned)FLAGS) == DEFAULT;
#elif defined(__aarch64__)
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    return control == 0;
#else
    return false;
#endif
}

static void run_share(void *context, int64_t task) {
    const struct work *work = context;
    const int64_t first = task * work->share, end = quern_smaller(first + work->share, work->count);
    if (first < end) work->kernel(work->pieces, first, end);
    if (work->pieces->streaming) fence();
}

void quern_collective_combine(const struct quern_collective_call *call, const struct quern_collective_combination *pieces,
                              int64_t count) {
    const quern_device *device = call->member->device;
    const int64_t touched = count * call->element_bytes * (pieces->input_count + pieces->output_count);
    if (count <= 0) return;
    struct work work = {pieces, call->combine->kernel->cpu.any, count, count};
    if (call->threads == 1 || touched < 2 * TASK_BYTES) {
        if (is_default_environment()) run_share(&work, 0);
        else quern_run_tasks(device, 1, run_share, &work);
        return;
    }
    const int64_t tasks = quern_smaller(touched / TASK_BYTES, MOST_TASKS * (int64_t)call->threads);
    const int64_t line = LINE / call->element_bytes;
    work.share = quern_divide_up(quern_divide_up(count, tasks), line) * line;
    quern_run_tasks(device, tasks, run_share, &work);
}
