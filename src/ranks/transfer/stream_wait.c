/* The words for which streams of the engine wait.  Called by wait.c, and where transfers end. */
#define _GNU_SOURCE
#include "ranks/transfer/transfer.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "runtime/idle.h"
#include "runtime/status.h"

enum { WORD_BYTES = QUERN_STREAM_WAITS * sizeof(struct quern_stream_word) };

/* ---- making and freeing ---- */

static bool has_passed(const struct quern_stream_waits *waits, int i) {
    return __atomic_load_n(&waits->words[i].passed, __ATOMIC_ACQUIRE);
}

static bool have_all_passed(const struct quern_stream_waits *waits) {
    for (int i = 0; i < QUERN_STREAM_WAITS; i++)
        if (!has_passed(waits, i)) return false;
    return true;
}

/* Words that the driver does not give back stay: it would refuse other memory there, and a stream may write. */
static void end(struct quern_idle_task *task) {
    struct quern_stream_waits *waits = (struct quern_stream_waits *)task;
    struct quern_cuda_visit visit;
    CUresult error = quern_cuda_begin_visit(&visit, waits->context);
    if (error == CUDA_SUCCESS && waits->is_pinned && !have_all_passed(waits)) error = visit.cuda->context_synchronize();
    if (error == CUDA_SUCCESS && waits->is_pinned) error = visit.cuda->host_unregister(waits->words);
    quern_cuda_end_visit(&visit);
    if (error == CUDA_SUCCESS) munmap(waits->words, WORD_BYTES);
    visit.cuda->context_release(waits->device);
    free(waits);
}

static CUresult pin(struct quern_stream_waits *waits) {
    struct quern_cuda_visit visit;
    CUresult error = quern_cuda_begin_visit(&visit, waits->context);
    if (error == CUDA_SUCCESS)
        error = visit.cuda->host_register(waits->words, WORD_BYTES, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    waits->is_pinned = error == CUDA_SUCCESS;
    if (error == CUDA_SUCCESS) error = visit.cuda->host_device_pointer(&waits->address, waits->words, 0);
    quern_cuda_end_visit(&visit);
    return error;
}

quern_status quern_make_stream_waits(struct quern_transfers *all) {
    const struct quern_membership *member = all->member;
    if (member->device->kind != QUERN_CUDA) return QUERN_OK;
    struct quern_stream_waits *waits = calloc(1, sizeof *waits);
    void *words = mmap(NULL, WORD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!waits || words == MAP_FAILED) {
        free(waits);
        if (words != MAP_FAILED) munmap(words, WORD_BYTES);
        return quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for the waits of streams");
    }
    *waits = (struct quern_stream_waits){.task.run = end, .device = member->device->cuda_device, .words = words};
    for (int i = 0; i < QUERN_STREAM_WAITS; i++) waits->words[i].passed = 1;
    CUresult error = quern_cuda_rank_of(member)->cuda->context_retain(&waits->context, waits->device);
    if (error != CUDA_SUCCESS) {
        free(waits);
        munmap(words, WORD_BYTES);
        return quern_cuda_fail(member->device, error, "cuDevicePrimaryCtxRetain");
    }
    all->waits = waits;
    error = pin(waits);
    if (error == CUDA_SUCCESS) return QUERN_OK;
    quern_free_stream_waits(all);
    return quern_cuda_fail(member->device, error, "cuMemHostRegister of the words of transfers");
}

void quern_free_stream_waits(struct quern_transfers *all) {
    if (all->waits) quern_when_idle(&all->waits->task);
    all->waits = NULL;
}

/* ---- the ends ---- */

static void end_wait(struct quern_stream_waits *waits, int i, quern_status status) {
    struct quern_cuda_rank *rank = quern_cuda_rank_of(waits->wait[i].transfer->member);
    waits->wait[i].transfer = NULL;
    waits->count--;
    __atomic_store_n(&waits->words[i].status, (uint32_t)status, __ATOMIC_RELAXED);
    __atomic_store_n(&waits->words[i].is_over, 1, __ATOMIC_RELEASE);
    __atomic_sub_fetch(&rank->stream_waits, 1, __ATOMIC_RELEASE);
}

void quern_end_stream_waits(struct quern_transfer_data *transfer, quern_status status) {
    struct quern_stream_waits *waits = transfer->member->transfers->waits;
    for (int i = 0; waits && waits->count && i < QUERN_STREAM_WAITS; i++)
        if (waits->wait[i].transfer == transfer) end_wait(waits, i, status);
}

/* ---- the beginning ---- */

/* Also after an error the word becomes free. */
static CUresult enqueue(const struct quern_cuda *cuda, CUdeviceptr word, CUstream stream, CUdeviceptr status) {
    CUresult error = cuda->stream_write_value(stream, word + offsetof(struct quern_stream_word, reached), 1, 0);
    if (error == CUDA_SUCCESS)
        error = cuda->stream_wait_value(stream, word + offsetof(struct quern_stream_word, is_over), 1, CU_STREAM_WAIT_VALUE_EQ);
    if (error == CUDA_SUCCESS && status)
        error = cuda->copy_on_device_async(status, word + offsetof(struct quern_stream_word, status), sizeof(uint32_t), stream);
    const CUresult passed = cuda->stream_write_value(stream, word + offsetof(struct quern_stream_word, passed), 1, 0);
    return error == CUDA_SUCCESS ? passed : error;
}

static CUresult begin_wait(struct quern_transfer_data *transfer, int i, double limit, CUstream stream, CUdeviceptr status) {
    struct quern_stream_waits *waits = transfer->member->transfers->waits;
    const bool is_over = transfer->state == QUERN_TRANSFER_IDLE;
    struct quern_cuda_visit visit;
    waits->words[i] = (struct quern_stream_word){.is_over = is_over};
    waits->wait[i] = (struct quern_stream_wait){.transfer = is_over ? NULL : transfer, .limit = limit};
    waits->count += !is_over;
    quern_begin_launching();
    __atomic_add_fetch(&quern_cuda_rank_of(transfer->member)->stream_waits, !is_over, __ATOMIC_RELAXED);
    CUresult error = quern_cuda_begin_visit(&visit, waits->context);
    if (error == CUDA_SUCCESS)
        error = enqueue(visit.cuda, waits->address + (size_t)i * sizeof(struct quern_stream_word), stream, status);
    quern_cuda_end_visit(&visit);
    quern_end_launching();
    return error;
}

quern_status quern_begin_stream_wait(struct quern_transfer_data *transfer, double limit, CUstream stream, uint32_t *status) {
    const struct quern_membership *member = transfer->member;
    const struct quern_stream_waits *waits = member->transfers->waits;
    int i = 0;
    while (i < QUERN_STREAM_WAITS && (waits->wait[i].transfer || !has_passed(waits, i))) i++;
    if (i == QUERN_STREAM_WAITS)
        return quern_fail(member->device, QUERN_OUT_OF_MEMORY, "%s: streams have %d waits before them, the most of a group handle",
                          member->label, QUERN_STREAM_WAITS);
    const CUresult error = begin_wait(transfer, i, limit, stream, (CUdeviceptr)(uintptr_t)status);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_rank_fail(member, error, "enqueuing a wait for a transfer");
}
