/* Writes the tables of a plan to the memory of a GPU.  Called for each kind of plan. */
#include "runtime/plan_memory.h"

#include "os/integers.h"
#include "runtime/cuda_visit.h"
#include "runtime/device.h"
#include "runtime/idle.h"

size_t quern_plan_reserve(size_t *bytes, size_t more) {
    const size_t place = quern_round_up(*bytes, 256);
    *bytes = place + more;
    return place;
}

void quern_plan_free(struct quern_plan_memory *memory) {
    if (!memory->address) return;
    memory->leftover->memory = memory->address;
    quern_discard_when_idle(memory->leftover);
    *memory = (struct quern_plan_memory){0};
}

quern_status quern_plan_upload(quern_device *device, struct quern_plan_memory *memory, const void *tables, size_t bytes) {
    struct quern_cuda_visit visit;
    const char *what = "memory for a plan";
    CUresult error = quern_cuda_begin_visit(&visit, device->context);
    if (error == CUDA_SUCCESS) error = quern_make_leftover(device, &memory->leftover);
    if (error == CUDA_SUCCESS) error = visit.cuda->memory_allocate(&memory->address, bytes);
    if (error == CUDA_SUCCESS) {
        what = "writing a plan";
        error = quern_cuda_write(&visit, memory->address, tables, bytes);
        if (error != CUDA_SUCCESS) quern_plan_free(memory);
    }
    if (error != CUDA_SUCCESS) {
        quern_drop_leftover(memory->leftover);
        *memory = (struct quern_plan_memory){0};
    }
    quern_cuda_end_visit(&visit);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail(device, error, what);
}
