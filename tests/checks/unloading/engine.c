/* An engine that contains Quern, as a shared object.  Loaded and unloaded by host.c. */
#include "checks/unloading/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "harness/args.h"

enum { DEVICES = 4, THREADS = 3, TENSORS = 3, COUNT = 1 << 16, RANKS = 2, ROWS = 4, ROW_BYTES = 8 };

static quern_device *device[DEVICES];
static quern_group *group[RANKS];
static int devices, lines;

static const char *failed(quern_status status) {
    static _Thread_local char text[1024];
    if (status == QUERN_OK) return NULL;
    size_t length = (size_t)snprintf(text, sizeof text, "%s: ", quern_status_string(status));
    quern_error_detail(text + length, sizeof text - length);
    return text;
}

static const char *open_devices(int count) {
    quern_status status = QUERN_OK;
    for (int last = devices + count; devices < last && status == QUERN_OK; devices++) {
        status = quern_device_open(QUERN_CPU, 0, &device[devices]);
        if (status == QUERN_OK) status = quern_set_threads(device[devices], THREADS, NULL, NULL);
        if (status == QUERN_OK) status = quern_prepare(device[devices], QUERN_ADAM | QUERN_RAGGED_ALL_TO_ALL);
    }
    return failed(status);
}

/* An object of the program's start-up may open devices before main. */
__attribute__((constructor)) static void open_before_main(void) {
    if (getenv("ENGINE_OPENS_BEFORE_MAIN")) open_devices(2);
}

static quern_status step(quern_device *on) {
    float *all = calloc(4 * TENSORS * COUNT, sizeof *all);
    if (!all) return QUERN_OUT_OF_MEMORY;
    quern_adam_tensor tensor[TENSORS];
    for (int i = 0; i < TENSORS; i++) {
        float *param = all + 4 * i * COUNT, *grad = param + COUNT;
        for (int j = 0; j < COUNT; j++) param[j] = grad[j] = 1;
        tensor[i] = (quern_adam_tensor){.param = param, .grad = grad, .m = grad + COUNT, .v = grad + 2 * COUNT, .count = COUNT};
    }
    quern_adam_args args = ADAM_ARGS(ADAM_DTYPES(QUERN_F32), .tensors = tensor, .tensor_count = TENSORS, .lr = 0.5, .step = 1);
    quern_status status = quern_adam(on, &args, NULL, 0, NULL);
    for (int i = 0; i < TENSORS; i++)
        for (int j = 0; j < COUNT; j++) {
            float param = all[4 * i * COUNT + j];
            if (status == QUERN_OK && !(param > 0.499f && param < 0.501f)) status = QUERN_SYSTEM_ERROR;
        }
    free(all);
    return status;
}

static const char *use_devices(void) {
    quern_status status = QUERN_OK;
    for (int i = 0; i < devices && status == QUERN_OK; i++) status = step(device[i]);
    return failed(status);
}

static const char *close_devices(void) {
    for (int i = 0; i < devices; i++) quern_device_close(device[i]);
    devices = 0;
    return NULL;
}

static void close_all(void) {
    for (int rank = 0; rank < RANKS; rank++) quern_group_destroy(group[rank]);
    close_devices();
}

static const char *close_at_unload(void) { return atexit(close_all) == 0 ? NULL : "atexit"; }

static quern_status make_plan(int rank, void *memory) {
    int32_t zeros[RANKS] = {0}, ones[RANKS], offsets[RANKS];
    for (int i = 0; i < RANKS; i++) ones[i] = 1, offsets[i] = rank;
    quern_ragged_all_to_all_args args = RAGGED_ALL_TO_ALL_ARGS(.input = memory, .output = (char *)memory + ROWS * ROW_BYTES,
                                                               .input_rows = ROWS, .output_rows = ROWS, .row_bytes = ROW_BYTES,
                                                               .input_offsets = zeros, .send_sizes = ones, .recv_sizes = ones,
                                                               .output_offsets = offsets);
    size_t bytes = 0;
    void *workspace = NULL;
    quern_ragged_plan *plan;
    quern_status status = quern_ragged_all_to_all_workspace(group[rank], &args, &bytes);
    if (status == QUERN_OK) status = quern_symmetric_alloc(&group[rank], 1, &bytes, &workspace);
    if (status == QUERN_OK) status = quern_ragged_plan_create(&group[rank], 1, &args, &workspace, &bytes, &plan);
    return status == QUERN_OK ? quern_ragged_plan_run(plan, NULL) : status;
}

/* Nothing of this is freed: the plan, the symmetric memory and the group are forgotten. */
static const char *join_group(const char *name, int rank, int ranks) {
    quern_group_args args = GROUP_ARGS(.name = name, .rank = rank, .ranks = ranks, .device = device[0], .timeout = 300,
                                       .progress = 1);
    const size_t bytes = 2 * ROWS * ROW_BYTES;
    void *memory = NULL;
    quern_status status = quern_group_create(&args, 1, &group[rank]);
    if (status == QUERN_OK) status = quern_symmetric_alloc(&group[rank], 1, &bytes, &memory);
    if (status == QUERN_OK && ranks == RANKS) status = make_plan(rank, memory);
    return failed(status);
}

static const char *meet(int rank) {
    quern_barrier_args args = QUERN_BARRIER_ARGS_INIT;
    return failed(quern_barrier(group[rank], &args, NULL));
}

static void count_line(void *user, quern_log_level level, const char *line) {
    (void)level, (void)line;
    ++*(int *)user;
}

static const char *log_lines(void) {
    int before = lines;
    quern_set_log(count_line, &lines, QUERN_LOG_INFO);
    const char *why = open_devices(1);
    return why || lines > before ? why : "the callback got no line";
}

static struct timespec rest;

static const char *linger(int milliseconds) {
    rest.tv_nsec = milliseconds * 1000000L;
    return NULL;
}

/* Destructors of one priority run in the reverse order of linking: this one after the library's. */
__attribute__((destructor(101))) static void sleep_at_the_end(void) {
    if (rest.tv_nsec) nanosleep(&rest, NULL);
}

const struct engine engine = {open_devices, use_devices, close_devices, close_at_unload, join_group, meet, log_lines, linger};
