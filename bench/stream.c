#include "stream.h"

#include <pthread.h>
#include <string.h>

/* Each loop is compiled for several instruction sets, the best is taken at run time: a yardstick must not be slow itself. */
#if defined __x86_64__ && defined __gnu_linux__
#define FOR_ALL_CPUS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_ALL_CPUS
#endif

enum { MAX_THREADS = 1024, LINE = 64 };

/* ---- the loops ---- */

FOR_ALL_CPUS static void update(uint64_t *restrict data, size_t words, uint64_t mask) {
    for (size_t i = 0; i < words; i++) data[i] ^= mask;
}

FOR_ALL_CPUS static uint64_t sum(const uint64_t *restrict data, size_t words) {
    uint64_t total = 0;
    for (size_t i = 0; i < words; i++) total += data[i];
    return total;
}

FOR_ALL_CPUS static void optimize(uint64_t *restrict param, const uint64_t *restrict grad, uint64_t *restrict m,
                                  uint64_t *restrict v, size_t words, uint64_t mask) {
    for (size_t i = 0; i < words; i++) {
        uint64_t change = grad[i] & mask;
        param[i] ^= change;
        m[i] ^= change;
        v[i] ^= change;
    }
}

FOR_ALL_CPUS static void optimize_master(uint16_t *restrict param, const uint16_t *restrict grad, uint16_t *restrict m,
                                         uint16_t *restrict v, uint32_t *restrict master, size_t count, uint16_t mask) {
    for (size_t i = 0; i < count; i++) {
        uint16_t change = grad[i] & mask;
        master[i] ^= change;
        param[i] = (uint16_t)(master[i] >> 16);
        m[i] ^= change;
        v[i] ^= change;
    }
}

/* ---- sharing a loop among threads ---- */

/* One thread's share, in units of 8 bytes or of elements. */
struct share {
    void (*loop)(const struct share *share);
    size_t first, count;
    void *data;
    const void *from;
    const struct optimizer_arrays *arrays;
    uint64_t mask;
    uint64_t total;
};

static void *run_share(void *share) {
    ((struct share *)share)->loop(share);
    return NULL;
}

/* Runs a loop over `count` units on threads; the sum of the shares' totals. */
static uint64_t run(int threads, size_t count, size_t unit_bytes, struct share pattern) {
    static struct share shares[MAX_THREADS];
    static pthread_t handles[MAX_THREADS];
    if (threads > MAX_THREADS) threads = MAX_THREADS;
    size_t step = LINE / unit_bytes, lines = (count + step - 1) / step;
    for (int i = 0; i < threads; i++) {
        size_t first = lines * (size_t)i / (size_t)threads * step, end = lines * (size_t)(i + 1) / (size_t)threads * step;
        shares[i] = pattern;
        shares[i].first = first;
        shares[i].count = (end < count ? end : count) - first;
        if (i && pthread_create(&handles[i], NULL, run_share, &shares[i]) != 0) machine_fail("cannot start a thread");
    }
    run_share(&shares[0]);
    uint64_t total = shares[0].total;
    for (int i = 1; i < threads; i++) {
        pthread_join(handles[i], NULL);
        total += shares[i].total;
    }
    return total;
}

static void copy_share(const struct share *share) {
    memcpy((uint64_t *)share->data + share->first, (const uint64_t *)share->from + share->first, 8 * share->count);
}

static void update_share(const struct share *share) {
    update((uint64_t *)share->data + share->first, share->count, share->mask);
}

static void read_share(const struct share *share) {
    ((struct share *)share)->total = sum((const uint64_t *)share->from + share->first, share->count);
}

static void optimize_share(const struct share *share) {
    const struct optimizer_arrays *arrays = share->arrays;
    size_t first = share->first;
    optimize((uint64_t *)arrays->param + first, (const uint64_t *)arrays->grad + first, (uint64_t *)arrays->m + first,
             (uint64_t *)arrays->v + first, share->count, share->mask);
}

static void optimize_master_share(const struct share *share) {
    const struct optimizer_arrays *arrays = share->arrays;
    size_t first = share->first;
    optimize_master((uint16_t *)arrays->param + first, (const uint16_t *)arrays->grad + first, (uint16_t *)arrays->m + first,
                    (uint16_t *)arrays->v + first, (uint32_t *)arrays->master + first, share->count, (uint16_t)share->mask);
}

/* ---- what the header promises ---- */

void stream_copy(int threads, void *to, const void *from, size_t bytes) {
    run(threads, bytes / 8, 8, (struct share){.loop = copy_share, .data = to, .from = from});
}

void stream_update(int threads, void *data, size_t bytes, uint64_t mask) {
    run(threads, bytes / 8, 8, (struct share){.loop = update_share, .data = data, .mask = mask});
}

uint64_t stream_read(int threads, const void *data, size_t bytes) {
    return run(threads, bytes / 8, 8, (struct share){.loop = read_share, .from = data});
}

void stream_optimize(int threads, const struct optimizer_arrays *arrays, uint64_t mask) {
    struct share share = {.loop = arrays->master ? optimize_master_share : optimize_share, .arrays = arrays, .mask = mask};
    size_t count = (size_t)arrays->count;
    if (arrays->master)
        run(threads, count, 2, share);
    else
        run(threads, count * arrays->param_bytes / 8, 8, share);
}
