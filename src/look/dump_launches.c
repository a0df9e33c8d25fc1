/* Notes the launches of a call that is dumped, and writes them into the index.  Called for each launch, and by dump_call.c. */
#include "look/look.h"

#include <pthread.h>
#include <stdlib.h>

#include "runtime/preferred.h"
#include "runtime/threads.h"

static _Thread_local const struct quern_cuda *inner;   /* with what a launch of this thread goes on: the driver's, or the trace's */
static struct quern_cuda noted;

/* ---- launches ---- */

static const struct quern_kernel *kernel_of(const struct quern_look *look, CUfunction function) {
    for (int i = 0; i < look->kernel_count; i++)
        if (look->kernels[i]->function == function) return look->kernels[i]->kernel;
    return NULL;
}

/* A launch in the list of the call, or NULL. */
static struct quern_dumped_launch *take_place(struct quern_dumped *dumped) {
    if (dumped->launch_count == dumped->launch_capacity) {
        const int capacity = dumped->launch_capacity ? 2 * dumped->launch_capacity : 8;
        struct quern_dumped_launch *launches = realloc(dumped->launches, (size_t)capacity * sizeof *launches);
        if (!launches) return NULL;
        dumped->launches = launches, dumped->launch_capacity = capacity;
    }
    return &dumped->launches[dumped->launch_count++];
}

static void drop_events(const struct quern_cuda *cuda, struct quern_dumped_launch *launch) {
    if (launch->start) cuda->event_destroy(launch->start);
    if (launch->stop) cuda->event_destroy(launch->stop);
    launch->start = launch->stop = NULL;
}

/* Both events, or none. */
static void begin(struct quern_dumped_launch *launch, const struct quern_dumped *dumped, CUstream stream) {
    if (dumped->is_captured) return;
    if (inner->event_create(&launch->start, 0) != CUDA_SUCCESS || inner->event_create(&launch->stop, 0) != CUDA_SUCCESS ||
        inner->event_record(launch->start, stream) != CUDA_SUCCESS)
        drop_events(inner, launch);
}

/* A launch that has failed is none. */
static CUresult end(struct quern_dumped_launch *launch, struct quern_dumped *dumped, CUstream stream, CUresult error) {
    if (error != CUDA_SUCCESS || (launch->stop && inner->event_record(launch->stop, stream) != CUDA_SUCCESS))
        drop_events(inner, launch);
    dumped->launch_count -= error != CUDA_SUCCESS;
    return error;
}

static struct quern_dumped_launch *note(const struct quern_look *look, CUfunction function, const CUlaunchConfig *config) {
    struct quern_dumped_launch *launch = look && look->dumped ? take_place(look->dumped) : NULL;
    if (!launch) return NULL;
    *launch = (struct quern_dumped_launch){
        .kernel = kernel_of(look, function), .grid = {config->grid_x, config->grid_y, config->grid_z},
        .block = {config->block_x, config->block_y, config->block_z}, .shared_bytes = config->shared_bytes, .nanoseconds = -1};
    begin(launch, look->dumped, config->stream);
    return launch;
}

static CUresult launch_plain(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                             unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void **parameters,
                             void **extra) {
    const struct quern_look *look = quern_current_look();
    const CUlaunchConfig config = {.grid_x = grid_x, .grid_y = grid_y, .grid_z = grid_z, .block_x = block_x, .block_y = block_y,
                                   .block_z = block_z, .shared_bytes = shared_bytes, .stream = stream};
    struct quern_dumped_launch *launch = note(look, function, &config);
    CUresult error = inner->launch(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, parameters,
                                   extra);
    return launch ? end(launch, look->dumped, stream, error) : error;
}

static CUresult launch_extended(const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra) {
    const struct quern_look *look = quern_current_look();
    struct quern_dumped_launch *launch = note(look, function, config);
    CUresult error = inner->launch_extended(config, function, parameters, extra);
    return launch ? end(launch, look->dumped, config->stream, error) : error;
}

static void fill(void) {
    noted = *inner;
    noted.launch = launch_plain, noted.launch_extended = launch_extended;
}

const struct quern_cuda *quern_noted_cuda(const struct quern_cuda *cuda) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const struct quern_look *look = quern_current_look();
    if (!look || !look->dumped || cuda == &noted) return cuda;
    inner = cuda;
    pthread_once(&once, fill);
    return &noted;
}

/* ---- times ---- */

static void read_time(const struct quern_cuda *cuda, struct quern_dumped_launch *launch) {
    float milliseconds = 0;
    if (cuda->event_synchronize(launch->stop) == CUDA_SUCCESS &&
        cuda->event_elapsed(&milliseconds, launch->start, launch->stop) == CUDA_SUCCESS)
        launch->nanoseconds = (int64_t)((double)milliseconds * 1e6);
}

void quern_read_launches(struct quern_look *look, quern_status status) {
    struct quern_cuda_visit visit;
    struct quern_dumped_launch *launches = look->dumped->launches;
    if (!look->dumped->launch_count) return;
    const CUresult error = quern_cuda_begin_visit(&visit, look->device->context);
    for (int i = 0; i < look->dumped->launch_count && error == CUDA_SUCCESS; i++) {
        if (launches[i].start && status == QUERN_OK) read_time(visit.cuda, &launches[i]);
        drop_events(visit.cuda, &launches[i]);
    }
    quern_cuda_end_visit(&visit);
}

/* ---- the index ---- */

/* What `./quern gen prefer` compares: kernels with the same task and bits. */
static void describe_kernel(struct quern_json *json, const struct quern_kernel *kernel) {
    char digest[QUERN_DIGEST_TEXT];
    const char *bits = quern_row_bits(kernel);
    quern_row_digest(kernel, digest);
    quern_json_text(json, "kernel", kernel->name);
    quern_json_text(json, "digest", digest);
    quern_json_integer(json, "task", kernel->key.any.task);
    if (bits) quern_json_text(json, "bits", bits);
}

static void add_sizes(struct quern_json *json, const char *key, const unsigned sizes[3]) {
    quern_json_open(json, key, '[');
    for (int i = 0; i < 3; i++) quern_json_integer(json, NULL, sizes[i]);
    quern_json_close(json, ']');
}

static void add_launch(struct quern_json *json, const struct quern_dumped_launch *launch) {
    quern_json_open(json, NULL, '{');
    if (launch->kernel) describe_kernel(json, launch->kernel);
    add_sizes(json, "grid", launch->grid);
    add_sizes(json, "block", launch->block);
    quern_json_integer(json, "shared_bytes", launch->shared_bytes);
    if (launch->nanoseconds >= 0) quern_json_integer(json, "nanoseconds", launch->nanoseconds);
    quern_json_close(json, '}');
}

/* On a CPU the times of several kernels of a call are not known apart. */
static void add_on_cpu(struct quern_json *json, const struct quern_look *look, int i) {
    quern_json_open(json, NULL, '{');
    describe_kernel(json, look->kernels[i]->kernel);
    quern_json_integer(json, "threads", quern_threads_of(look->device));
    if (look->kernel_count == 1) quern_json_integer(json, "nanoseconds", look->dumped->ended - look->dumped->began);
    quern_json_close(json, '}');
}

void quern_json_launches(struct quern_json *json, const struct quern_look *look) {
    const bool is_cpu = look->device->kind == QUERN_CPU;
    quern_json_open(json, "launches", '[');
    for (int i = 0; is_cpu && i < look->kernel_count; i++) add_on_cpu(json, look, i);
    for (int i = 0; i < look->dumped->launch_count; i++) add_launch(json, &look->dumped->launches[i]);
    quern_json_close(json, ']');
}
