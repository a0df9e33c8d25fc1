/* quern_prepare, a public function: makes kernels that can be launched from the table rows of operations. */
#include <stdlib.h>
#include <string.h>

#include "runtime/answers.h"
#include "runtime/build_info.h"
#include "runtime/cuda_visit.h"
#include "runtime/image.h"
#include "runtime/log.h"
#include "runtime/operation.h"
#include "runtime/preferred.h"
#include "runtime/status.h"
#include "runtime/walk.h"

struct preparation {
    quern_device *device;
    const struct quern_operation *operation;
    const struct quern_cuda *cuda;
    struct quern_ready_list *list;
    size_t capacity;
    bool serves;           /* the list has a main kernel (QUERN_ROW_SELECTED_BY_NAME) */
    quern_status status;
};

/* The blocks that fit on the device at once: an operation launches no more, or its blocks wait for each other. */
static CUresult count_resident(const struct preparation *work, const struct quern_kernel *kernel,
                               struct quern_ready_kernel *ready) {
    int each = 0;
    CUresult error = work->cuda->occupancy(&each, ready->function, (int)kernel->cuda.threads, 0);
    ready->resident = (unsigned)(each > 0 ? each : 1) * (unsigned)work->device->multiprocessors;
    return error;
}

/*
 * A cluster needs multiprocessors that are close to each other.  A part of a GPU, as of MIG or MPS, may lack room for large ones.
 * Clusters of more than 8 blocks are not asked for: they need CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED.
 */
static CUresult count_clusters(const struct preparation *work, struct quern_ready_kernel *ready, unsigned shared_bytes) {
    enum { PORTABLE = 8 };
    for (int i = 1; 1 << i <= PORTABLE && 1 << i <= (int)ready->kernel->cuda.cluster; i++) {
        const unsigned blocks = 1u << i;
        CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.cluster_dim = {blocks, 1, 1}};
        const CUlaunchConfig config = {
            .grid_x = blocks, .grid_y = 1, .grid_z = 1,
            .block_x = ready->kernel->cuda.threads, .block_y = 1, .block_z = 1,
            .shared_bytes = shared_bytes,
            .attributes = &attribute,
            .attribute_count = 1,
        };
        CUresult error = work->cuda->cluster_occupancy(&ready->clusters[i], ready->function, &config);
        if (error != CUDA_SUCCESS && error != CUDA_ERROR_INVALID_CLUSTER_SIZE) return error;
        if (error != CUDA_SUCCESS || ready->clusters[i] < 1) break;
        ready->cluster = (int)blocks;
    }
    return CUDA_SUCCESS;
}

/* These kernels keep rows on the chip: the largest share of the first-level cache, in percent, becomes shared memory. */
static CUresult prepare_shared_memory(const struct preparation *work, struct quern_ready_kernel *ready) {
    const struct quern_cuda *cuda = work->cuda;
    const int all = (int)work->device->shared_bytes;
    int fixed = 0;
    CUresult error = cuda->function_attribute(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, ready->function);
    if (error == CUDA_SUCCESS)
        error = cuda->function_set(ready->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, all - fixed);
    if (error == CUDA_SUCCESS)
        error = cuda->function_set(ready->function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 100);
    return error == CUDA_SUCCESS ? count_clusters(work, ready, (unsigned)(all - fixed)) : error;
}

/* Returns QUERN_OK, too, if it refuses the image. */
static quern_status load_function(struct preparation *work, const struct quern_kernel *kernel, struct quern_ready_kernel *ready) {
    const struct quern_cuda *cuda = work->cuda;
    struct quern_loaded_image *image;
    quern_status status = quern_image_load(work->device, cuda, kernel, &image);
    if (status != QUERN_OK || !image) return status;
    CUresult error = cuda->module_function(&ready->function, image->module, kernel->cuda.entry);
    if (error == CUDA_SUCCESS) error = cuda->function_load(ready->function);  /* loads the code now, not at the first launch */
    if (error == CUDA_SUCCESS && work->operation->counts_resident) error = count_resident(work, kernel, ready);
    if (error == CUDA_SUCCESS && (kernel->cuda.shared_per_column || kernel->cuda.cluster))
        error = prepare_shared_memory(work, ready);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_image_fault(work->device, kernel, error, "preparing");
}

static bool reserve(struct preparation *work) {
    if (work->list && work->list->count < work->capacity) return true;
    size_t capacity = work->capacity ? 2 * work->capacity : 64;
    struct quern_ready_list *larger = realloc(work->list, sizeof *larger + capacity * sizeof *larger->kernels);
    if (!larger) return false;
    if (!work->list) larger->count = 0, larger->has_places = false;
    work->list = larger;
    work->capacity = capacity;
    return true;
}

/* A row that an earlier one covers is never chosen, so it is not loaded.  Loading may make the driver compile PTX. */
static bool is_covered(const struct preparation *work, const struct quern_kernel *kernel) {
    for (size_t i = 0; work->list && i < work->list->count; i++)
        if (!work->operation->covers || work->operation->covers(work->list->kernels[i].kernel, kernel)) return true;
    return false;
}

static bool prepare_row(const struct quern_kernel *kernel, void *context) {
    struct preparation *work = context;
    if (quern_row_unusable(work->device, kernel, NULL, 0)) return true;
    const int place = quern_preferred_place(work->device, kernel);
    if (!place && is_covered(work, kernel)) return true;
    if (!reserve(work)) {
        work->status = quern_fail(work->device, QUERN_OUT_OF_MEMORY, "no memory for the list of kernels");
        return false;
    }
    struct quern_ready_kernel ready = {.kernel = kernel, .cluster = 1, .place = place};
    if (kernel->target.kind == QUERN_CUDA) work->status = load_function(work, kernel, &ready);
    if (work->status != QUERN_OK) return false;
    work->list->has_places |= place > 0;
    work->list->kernels[work->list->count++] = ready;
    /* Auxiliary kernels, which QUERN_KERNEL filters by target only, are useless without a main kernel. */
    work->serves |= quern_row_role(kernel) == QUERN_ROW_SELECTED_BY_NAME;
    return true;
}

/*
 * Fills the list.  When an image is refused, its rows leave the list and later rows that they covered take their place, so the walk
 * is repeated.
 */
static void fill_list(struct preparation *work, unsigned bit) {
    const struct quern_refused_image *before;
    do {
        before = work->device->refused;
        if (work->list) work->list->count = 0, work->list->has_places = false;
        work->serves = false;
        quern_walk(bit, prepare_row, work);
        if (work->status == QUERN_OK && work->list && work->device->refused == before)
            work->status = quern_check_answers(work->device, work->cuda, bit, work->list);
    } while (work->status == QUERN_OK && work->device->refused != before);
}

/* The first refusal of an image of an operation, in the order of its rows. */
struct search {
    const quern_device *device;
    const struct quern_refused_image *found;
};

static bool find_refusal(const struct quern_kernel *kernel, void *context) {
    struct search *search = context;
    search->found = quern_image_refusal(search->device, kernel);
    return !search->found;
}

/* The last target of the report is the oldest, so the device is closest to it. */
static quern_status no_rows(const quern_device *device, unsigned operation) {
    const char *name = quern_operation_name(operation);
    struct search search = {.device = device};
    quern_walk(operation, find_refusal, &search);
    if (search.found) return quern_fail(device, search.found->status, "%s", search.found->reason);
    if (device->kernel_glob[0])
        return quern_fail(device, QUERN_NO_KERNEL, "QUERN_KERNEL=%s leaves no %s kernel for %s", device->kernel_glob, name,
                          device->label);
    if (quern_is_left_out(operation)) return quern_fail_left_out(device, operation);
    char report[2000];
    const size_t length = quern_device_report(device, report, sizeof report);
    if (!length)
        return quern_fail(device, QUERN_NO_KERNEL, "no target of this build of the library serves %s: it has%s" QUERN_WHOLE_BUILD,
                          device->label, quern_build_targets);
    if (length < sizeof report) report[length - 1] = 0;  /* the last line's end */
    const char *last = strrchr(report, '\n'), *last_line = last ? last + 1 : report;
    return quern_fail(device, QUERN_NO_KERNEL, "the library has no %s kernel for %s: %s (quern_device_report lists all targets)",
                      name, device->label, last_line);
}

static quern_status prepare_operation(quern_device *device, const struct quern_cuda *cuda, unsigned bit) {
    const struct quern_operation *operation = quern_linked_operation(bit);
    if (!operation) return QUERN_OK;  /* not linked, so the program cannot call it */
    if (operation->only_gpus && device->kind == QUERN_CPU) return QUERN_OK;
    struct preparation work = {.device = device, .operation = operation, .cuda = cuda, .status = QUERN_OK};
    fill_list(&work, bit);
    if (work.status == QUERN_OK && !work.serves) work.status = no_rows(device, bit);
    if (work.status == QUERN_OK) work.status = quern_check_preferred(device, bit, work.list);
    if (work.status != QUERN_OK) {
        free(work.list);
        return work.status;
    }
    struct quern_ready_list **ready = &device->ready[quern_operation_index(bit)];
    work.list->retired = *ready;
    __atomic_store_n(ready, work.list, __ATOMIC_RELEASE);
    quern_log(device, QUERN_LOG_INFO, "prepared %zu %s kernels", work.list->count,
              quern_operation_name(bit));
    return QUERN_OK;
}

static quern_status check_chosen(const quern_device *device, unsigned chosen) {
    const unsigned known = QUERN_ALL_OPERATIONS;
    if (chosen && !(chosen & ~known)) return QUERN_OK;
    char list[200];
    struct quern_text text = quern_text_begin(list, sizeof list);
#define ADD_CONSTANT(bit, constant, name, prefix) \
    quern_text_add(&text, "%s" #constant, (bit) == 1 ? "" : 2 * (bit) > QUERN_ALL_OPERATIONS ? " or " : ", ");
    QUERN_FOR_EACH_OPERATION(ADD_CONSTANT)
#undef ADD_CONSTANT
    return quern_fail(device, QUERN_INVALID_ARGUMENT, "operations is %u: expected %s or several of them (a value from 1 to %u)",
                      chosen, list, known);
}

quern_status quern_prepare(quern_device *device, unsigned chosen) {
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    quern_status status = check_chosen(device, chosen);
    if (status != QUERN_OK) return status;
    struct quern_cuda_visit visit = {.cuda = NULL};
    if (device->kind == QUERN_CUDA) {
        const CUresult error = quern_cuda_begin_visit(&visit, device->context);
        if (error != CUDA_SUCCESS) {
            quern_cuda_end_visit(&visit);
            return quern_cuda_fail(device, error, "cuCtxPushCurrent");
        }
    }
    pthread_mutex_lock(&device->prepare_lock);
    for (unsigned bit = 1; bit & QUERN_ALL_OPERATIONS && status == QUERN_OK; bit <<= 1)
        if (chosen & bit) status = prepare_operation(device, visit.cuda, bit);
    quern_forget_unpacked(&device->unpacked);  /* the driver has copies of its own */
    pthread_mutex_unlock(&device->prepare_lock);
    quern_cuda_end_visit(&visit);
    return status;
}
