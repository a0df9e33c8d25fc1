/* quern_prepare: from table rows to kernels that can be launched. */
#include "runtime/prepare.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/cuda_visit.h"
#include "runtime/dispatch.h"
#include "runtime/log.h"
#include "runtime/status.h"
#include "runtime/targets.h"

/*
 * Weak, so that preparing does not link what the program never calls: a table is in the program only if its operation is.
 */
extern const struct quern_kernel quern_cross_entropy_kernels[] __attribute__((weak));
extern const struct quern_kernel quern_adam_kernels[] __attribute__((weak));
extern const struct quern_kernel quern_barrier_kernels[] __attribute__((weak));
extern const struct quern_kernel quern_ragged_all_to_all_kernels[] __attribute__((weak));

static const struct {
    unsigned bit;
    const char *name;
    const struct quern_kernel *table;
} operations[QUERN_OPERATION_COUNT] = {
    {QUERN_CROSS_ENTROPY, "cross_entropy", quern_cross_entropy_kernels},
    {QUERN_ADAM, "adam", quern_adam_kernels},
    {QUERN_BARRIER, "barrier", quern_barrier_kernels},
    {QUERN_RAGGED_ALL_TO_ALL, "ragged_all_to_all", quern_ragged_all_to_all_kernels},
};

struct preparation {
    quern_device *device;
    const struct quern_cuda *cuda;
    struct quern_ready_list *list;
    size_t capacity;
    bool answers;          /* the list has a row that answers requests */
    quern_status status;
};

static bool usable(const quern_device *device, const struct quern_kernel *kernel) {
    if (quern_target_refused(device, &kernel->target, NULL, 0) || quern_forced_away(device, kernel)) return false;
    return kernel->target.kind == QUERN_CPU || kernel->cuda.image != kernel->cuda.image_end;
}

static quern_status load_image(struct preparation *work, const struct quern_kernel *kernel, CUmodule *module) {
    quern_device *device = work->device;
    for (struct quern_loaded_image *image = device->images; image; image = image->next)
        if (image->image == kernel->cuda.image) {
            *module = image->module;
            return QUERN_OK;
        }
    struct quern_loaded_image *image = malloc(sizeof *image);
    if (!image) return quern_fail(device, QUERN_OUT_OF_MEMORY, "no memory to load %s", kernel->name);
    CUresult error = work->cuda->module_load(module, kernel->cuda.image);
    if (error != CUDA_SUCCESS) {
        free(image);
        char what[160];
        struct quern_text text = quern_text_begin(what, sizeof what);
        quern_text_add(&text, "loading the image of %s", kernel->name);
        return quern_cuda_fail(device, error, what);
    }
    *image = (struct quern_loaded_image){device->images, kernel->cuda.image, *module};
    device->images = image;
    return QUERN_OK;
}

/* Adam's warps take tiles until there are none left: more blocks than fit at once would only begin later. */
static CUresult count_resident(const struct preparation *work, const struct quern_kernel *kernel, struct quern_ready_kernel *ready) {
    int each = 0;
    CUresult error = work->cuda->occupancy(&each, ready->function, (int)kernel->cuda.threads, 0);
    ready->resident = (unsigned)(each > 0 ? each : 1) * (unsigned)work->device->multiprocessors;
    return error;
}

static quern_status load_function(struct preparation *work, const struct quern_kernel *kernel, struct quern_ready_kernel *ready) {
    const struct quern_cuda *cuda = work->cuda;
    CUfunction *function = &ready->function;
    CUmodule module;
    quern_status status = load_image(work, kernel, &module);
    if (status != QUERN_OK) return status;
    CUresult error = cuda->module_function(function, module, kernel->cuda.entry);
    if (error == CUDA_SUCCESS) error = cuda->function_load(*function);  /* now, not at the first launch */
    if (error == CUDA_SUCCESS && kernel->operation == QUERN_ADAM) error = count_resident(work, kernel, ready);
    int fixed = 0;
    if (error == CUDA_SUCCESS && (kernel->cuda.shared_per_column || kernel->cuda.cluster)) {
        error = cuda->function_attribute(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, *function);
        if (error == CUDA_SUCCESS)
            error = cuda->function_set(*function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                       (int)work->device->shared_bytes - fixed);
    }
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail(work->device, error, kernel->name);
}

static bool reserve(struct preparation *work) {
    if (work->list && work->list->count < work->capacity) return true;
    size_t capacity = work->capacity ? 2 * work->capacity : 64;
    struct quern_ready_list *larger = realloc(work->list, sizeof *larger + capacity * sizeof *larger->kernels);
    if (!larger) return false;
    if (!work->list) larger->count = 0;
    work->list = larger;
    work->capacity = capacity;
    return true;
}

/*
 * Cross-entropy's small stages and Adam's tasks on gradients, which QUERN_KERNEL leaves out only by their target, are of no use
 * without a row of the rows stage, or a step.
 */
static bool answers_requests(const struct quern_kernel *kernel) {
    if (kernel->operation == QUERN_CROSS_ENTROPY) return kernel->key.cross_entropy.stage == QUERN_STAGE_ROWS;
    return kernel->operation != QUERN_ADAM || kernel->key.adam.task == QUERN_ADAM_STEP;
}

/* Whether a row serves every request that another one of its operation would. */
static bool covers(const struct quern_kernel *kernel, const struct quern_kernel *other) {
    if (kernel->operation == QUERN_CROSS_ENTROPY)
        return kernel->key.cross_entropy.logits == other->key.cross_entropy.logits &&
               kernel->key.cross_entropy.stage == other->key.cross_entropy.stage &&
               kernel->key.cross_entropy.full == other->key.cross_entropy.full &&
               kernel->key.cross_entropy.vocab_max >= other->key.cross_entropy.vocab_max;
    if (kernel->operation != QUERN_ADAM) return true;  /* one row per target */
    return kernel->key.adam.param == other->key.adam.param && kernel->key.adam.grad == other->key.adam.grad &&
           kernel->key.adam.m == other->key.adam.m && kernel->key.adam.v == other->key.adam.v &&
           kernel->key.adam.master == other->key.adam.master && kernel->key.adam.task == other->key.adam.task &&
           kernel->key.adam.full >= other->key.adam.full;
}

/* A row that an earlier one covers is never chosen: loading it, or having the driver compile its PTX, would be for nothing. */
static bool is_covered(const struct quern_ready_list *list, const struct quern_kernel *kernel) {
    for (size_t i = 0; list && i < list->count; i++)
        if (covers(list->kernels[i].kernel, kernel)) return true;
    return false;
}

static bool prepare_row(const struct quern_kernel *kernel, void *context) {
    struct preparation *work = context;
    if (!usable(work->device, kernel) || is_covered(work->list, kernel)) return true;
    if (!reserve(work)) {
        work->status = quern_fail(work->device, QUERN_OUT_OF_MEMORY, "no memory for the list of kernels");
        return false;
    }
    struct quern_ready_kernel ready = {.kernel = kernel};
    if (kernel->target.kind == QUERN_CUDA) work->status = load_function(work, kernel, &ready);
    if (work->status == QUERN_OK) work->list->kernels[work->list->count++] = ready;
    work->answers |= answers_requests(kernel);
    return work->status == QUERN_OK;
}

static quern_status no_rows(const quern_device *device, const char *name) {
    if (device->kernel_glob[0])
        return quern_fail(device, QUERN_NO_KERNEL, "QUERN_KERNEL=%s leaves no %s kernel for %s", device->kernel_glob, name,
                          device->label);
    char report[800];
    quern_device_report(device, report, sizeof report);
    return quern_fail(device, QUERN_NO_KERNEL, "the library has no %s kernel for %s:\n%s", name, device->label, report);
}

static quern_status prepare_operation(quern_device *device, const struct quern_cuda *cuda, int index) {
    struct preparation work = {.device = device, .cuda = cuda, .status = QUERN_OK};
    if (!operations[index].table)
        return QUERN_OK;  /* the program cannot call what it did not link */
    if (operations[index].bit == QUERN_BARRIER && device->kind == QUERN_CPU)
        return QUERN_OK;  /* ranks on CPUs meet in the host code */
    quern_walk(operations[index].bit, operations[index].table, prepare_row, &work);
    if (work.status == QUERN_OK && !work.answers) work.status = no_rows(device, operations[index].name);
    if (work.status != QUERN_OK) {
        free(work.list);
        return work.status;
    }
    work.list->retired = device->ready[index];
    __atomic_store_n(&device->ready[index], work.list, __ATOMIC_RELEASE);
    quern_log(device, QUERN_LOG_INFO, "prepared %zu %s kernels", work.list->count, operations[index].name);
    return QUERN_OK;
}

quern_status quern_prepare(quern_device *device, unsigned chosen) {
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    const unsigned known = QUERN_CROSS_ENTROPY | QUERN_ADAM | QUERN_BARRIER | QUERN_RAGGED_ALL_TO_ALL;
    if (!chosen || (chosen & ~known))
        return quern_fail(device, QUERN_INVALID_ARGUMENT,
                          "operations is %u: expected QUERN_CROSS_ENTROPY, QUERN_ADAM, QUERN_BARRIER, QUERN_RAGGED_ALL_TO_ALL or "
                          "several of them (a value from 1 to %u)", chosen, known);
    struct quern_cuda_visit visit = {.cuda = NULL};
    quern_status status = device->kind == QUERN_CUDA ? quern_cuda_begin_launch(&visit, device) : QUERN_OK;
    if (status != QUERN_OK) return status;
    pthread_mutex_lock(&device->prepare_lock);
    for (int index = 0; index < QUERN_OPERATION_COUNT && status == QUERN_OK; index++)
        if (chosen & operations[index].bit) status = prepare_operation(device, visit.cuda, index);
    pthread_mutex_unlock(&device->prepare_lock);
    quern_cuda_end_visit(&visit);
    return status;
}

/* ---- the report of targets ---- */

struct report {
    const quern_device *device;
    struct quern_text text;
    const char *last;      /* the target reported last: rows of one target stand together */
    const char *best;
};

static bool report_row(const struct quern_kernel *kernel, void *context) {
    struct report *report = context;
    if (kernel->target.kind != report->device->kind) return true;
    char reason[256];
    bool refused = quern_target_refused(report->device, &kernel->target, reason, sizeof reason);
    bool missing = kernel->target.kind == QUERN_CUDA && kernel->cuda.image == kernel->cuda.image_end;
    bool serves = !refused && !missing && answers_requests(kernel) && !quern_forced_away(report->device, kernel);
    if (serves && !report->best) report->best = kernel->target.name;
    if (report->last && strcmp(report->last, kernel->target.name) == 0) return true;
    report->last = kernel->target.name;
    const char *verdict = refused ? reason : missing ? "the library was built without nvcc" : "usable";
    quern_text_add(&report->text, "%s: %s\n", kernel->target.name, verdict);
    return true;
}

/* Every operation has the same targets, but for barriers, which have none on CPUs: the first that has any is enough. */
static void walk_targets(struct report *report) {
    for (int index = 0; index < QUERN_OPERATION_COUNT && !report->last; index++)
        if (operations[index].table) quern_walk(operations[index].bit, operations[index].table, report_row, report);
}

size_t quern_device_report(const quern_device *device, char *buffer, size_t bytes) {
    struct report report = {.device = device, .text = quern_text_begin(buffer, buffer ? bytes : 0)};
    if (device) walk_targets(&report);
    return report.text.length;
}

const char *quern_best_target(const quern_device *device) {
    struct report report = {.device = device, .text = quern_text_begin(NULL, 0)};
    walk_targets(&report);
    return report.best ? report.best : "none";
}
