/* Chooses and opens a rank's device.  Called by main.c and run.c. */
#include "device.h"

#include <stdio.h>

#include "check.h"
#include "threads.h"

static void explain_cpu(const struct device_choice *choice, int processes) {
    char detail[256];
    quern_error_detail(detail, sizeof detail);
    if (choice->gpus == 0) printf("No GPU     %s\n", detail);
    else printf("No GPU     there are fewer than %d, one per process; --device cuda lets them share\n", processes);
}

bool device_resolve(struct device_choice *choice, int processes, bool talks) {
    if (!choice->is_auto && !choice->is_cuda) return true;
    if (!succeeded("quern_device_count", quern_device_count(QUERN_CUDA, &choice->gpus))) return false;
    if (!choice->is_auto) return true;
    choice->is_auto = false;
    choice->is_cuda = choice->gpus > 0 && choice->gpus >= processes;
    if (!choice->is_cuda && talks) explain_cpu(choice, processes);
    return true;
}

struct device_choice device_of_rank(struct device_choice choice, int rank) {
    if (choice.gpus > 0) choice.ordinal = (choice.ordinal + rank) % choice.gpus;
    return choice;
}

bool device_open(struct device *device, struct device_choice choice, struct thread_pool *pool, int threads,
                 unsigned operations) {
    quern_device_kind kind = choice.is_cuda ? QUERN_CUDA : QUERN_CPU;
    quern_device_info info = QUERN_DEVICE_INFO_INIT;
    *device = (struct device){0};
    if (!succeeded("quern_device_open", quern_device_open(kind, choice.ordinal, &device->quern))) return false;
    if ((kind == QUERN_CPU &&
         !succeeded("quern_set_threads", quern_set_threads(device->quern, threads, threads_for, pool))) ||
        !succeeded("quern_prepare", quern_prepare(device->quern, operations)) ||
        !succeeded("quern_device_get_info", quern_device_get_info(device->quern, &info)) ||
        !device_memory_open(&device->memory, choice.is_cuda, choice.ordinal)) {
        device_close(device);
        return false;
    }
    snprintf(device->name, sizeof device->name, "%s, target %s", info.name, info.target);
    return true;
}

void device_close(struct device *device) {
    device_memory_close(&device->memory);
    quern_device_close(device->quern);
    *device = (struct device){0};
}
