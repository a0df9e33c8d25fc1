/* Runs copies on the threads of the CPU device.  Called by ragged_exchange.c. */
#include "ranks/ragged/ragged.h"

#include "os/cpu_cache.h"
#include "runtime/threads.h"

enum {
    TASK_BYTES = 1 << 18, /* the least work of one task */
    MOST_NEAR = 3 << 19,  /* copied by a thread: what stays near it */
    CUT_BYTES = 64        /* tasks end at cache lines of the destination, so that no two cores write the same line */
};

struct work {
    const struct quern_copy_list *list;
    quern_ragged_all_to_all_cpu_kernel *kernel;
    bool streaming;
    int64_t tasks;
};

/*
 * Whether the bytes that this rank reads and writes exceed an eighth of its share of the last cache, or 3 MiB a thread.  Streaming
 * is faster by a third if the engine has used the cache for other data since the last exchange.  If it has not, plain stores are
 * faster up to half the share, but this is rare for so many bytes.  A processor of many cores has a last cache so far away that a
 * line out of it costs as much as one from memory: there the second cache counts.  On one with 2 MiB of it and 130 MiB of the last
 * one for each rank, an exchange and one read of its output take 1.11 times as long with streaming stores at 1 MiB copied, 0.83
 * times at 2 MiB and 0.77 times at 8 MiB.  The same holds for the ring of a pipe, whose lines another core reads: moving lines
 * between caches is slower than memory.
 */
bool quern_copies_are_large(const quern_device *device, int ranks, int64_t bytes) {
    const int threads = quern_threads_of(device);
    const int64_t near = (int64_t)MOST_NEAR * threads, kept = quern_cpu_cache_share(ranks, threads) / 16;
    return bytes > (near < kept ? near : kept);
}

int64_t quern_copies_find(const struct quern_copy *copies, int64_t count, int64_t place) {
    int64_t first = 0;
    while (count > 1) {
        int64_t half = count / 2;
        if (copies[first + half].begin <= place) first += half, count -= half;
        else count = half;
    }
    return first;
}

/* The offset inside a copy of a cut through all copies laid end to end. */
static int64_t cut_inside(const struct quern_copy *copy, int64_t cut) {
    if (cut <= copy->begin) return 0;
    if (cut - copy->begin >= copy->bytes) return copy->bytes;
    int64_t inside = cut - copy->begin;
    inside += -(intptr_t)(copy->to + inside) & (CUT_BYTES - 1);
    return inside < copy->bytes ? inside : copy->bytes;
}

/* __int128 because bytes * task may pass 2^63. */
static int64_t share(const struct work *work, int64_t task) {
    return work->tasks == 1 ? work->list->bytes * task : (int64_t)((__int128)work->list->bytes * task / work->tasks);
}

/* Streaming stores are not ordered by the release that announces them to the peers. */
static void fence(void) {
#if defined(__x86_64__)
    __builtin_ia32_sfence();
#endif
}

static void run_share(void *context, int64_t task) {
    const struct work *work = context;
    const struct quern_copy_list *list = work->list;
    int64_t from = share(work, task), to = share(work, task + 1);
    for (int64_t i = quern_copies_find(list->copies, list->count, from); i < list->count && list->copies[i].begin < to; i++) {
        const struct quern_copy *copy = &list->copies[i];
        int64_t first = cut_inside(copy, from), end = cut_inside(copy, to);
        if (first < end) work->kernel(copy->to + first, copy->from + first, end - first, work->streaming);
    }
    if (work->streaming) fence();
}

void quern_copies_run(const quern_device *device, quern_ragged_all_to_all_cpu_kernel *kernel, const struct quern_copy_list *list,
                      bool streaming) {
    if (list->count == 0) return;
    const int threads = quern_threads_of(device);
    struct work work = {list, kernel, streaming, list->bytes / TASK_BYTES};
    if (work.tasks > 8 * (int64_t)threads) work.tasks = 8 * (int64_t)threads;
    if (threads == 1 || work.tasks < 2) work.tasks = 1;
    if (work.tasks == 1) run_share(&work, 0);
    else quern_run_tasks(device, work.tasks, run_share, &work);
}
