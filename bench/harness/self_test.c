/* The self-test: the plain loops here, then every subject's own checks.  Called by main.c. */
#include <stdio.h>
#include <string.h>

#include "harness/bench.h"
#include "harness/stream.h"

static int passed, failed;

void check(const char *what, double found, double expected) {
    if (found == expected) {
        passed++;
        return;
    }
    failed++;
    printf("%s: %.17g, expected %.17g\n", what, found, expected);
}

void state_bytes(const char *name, double bytes) {
    printf("bytes: %s %.17g\n", name, bytes);
}

enum { WORDS = 1000, MOST_THREADS = 3 };

/* Every word exactly once, and nothing behind the end. */
static void test_loops(int threads) {
    uint64_t from[WORDS + 1], to[WORDS + 1], expected = 0, wrong = 0;
    for (uint64_t i = 0; i <= WORDS; i++) from[i] = i * i + 1, to[i] = 7;
    for (int i = 0; i < WORDS; i++) expected += from[i];
    check("sum read", (double)stream_read(threads, from, 8 * WORDS), (double)expected);
    stream_copy(threads, to, from, 8 * WORDS);
    for (int i = 0; i < WORDS; i++) wrong += to[i] != from[i];
    check("words copied wrongly", (double)wrong, 0);
    check("the word behind a copy", (double)to[WORDS], 7);
    stream_update(threads, to, 8 * WORDS, 0xff);
    for (int i = 0; i < WORDS; i++) wrong += to[i] != (from[i] ^ 0xff);
    check("words updated wrongly", (double)wrong, 0);
    check("the word behind an update", (double)to[WORDS], 7);
}

/* An array of each kind, with elements of several sizes, the last with a byte for 32 elements. */
static void test_optimizer_loop(int threads) {
    enum { ELEMENTS = 1024, BYTES = 4 * ELEMENTS };
    static uint64_t data[4][BYTES / 8 + 1];
    struct optimizer_arrays arrays = {.count = ELEMENTS, .arrays = 4, .array = {
        {data[0], 64, ACCESS_READ}, {data[1], 128, ACCESS_UPDATE}, {data[2], 32, ACCESS_WRITE}, {data[3], 1, ACCESS_UPDATE}}};
    int64_t wrong = 0;
    uint64_t expected = 0;
    for (int i = 0; i < 4; i++)
        for (uint64_t j = 0; j <= BYTES / 8; j++) data[i][j] = j * j + 1;
    for (int j = 0; j < 2 * ELEMENTS / 8; j++) expected += data[0][j];
    check("sum of the array that is only read", (double)stream_optimize(threads, &arrays, 0xff), (double)expected);
    for (int i = 0; i < 4; i++) {
        uint64_t words = (uint64_t)(ELEMENTS / UNIT_ELEMENTS * arrays.array[i].unit_bytes / 8);
        for (uint64_t j = 0; j <= BYTES / 8; j++) {
            uint64_t before = j * j + 1, changed = arrays.array[i].access == ACCESS_WRITE ? 0xff : before ^ 0xff;
            wrong += data[i][j] != (j < words && arrays.array[i].access != ACCESS_READ ? changed : before);
        }
    }
    check("words of the loop over several arrays", (double)wrong, 0);
}

static void test_copies_past_caches(void) {
    enum { BYTES = 4096 };
    static char from[BYTES], to[BYTES];
    static const size_t lengths[] = {0, 1, 63, 64, 255, 256, 257, 1000, 2048};
    int64_t wrong = 0;
    for (int i = 0; i < BYTES; i++) from[i] = (char)(i * 7 + i / 256);
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        for (size_t start = 0; start < 130; start += 13) {
            memset(to, 99, sizeof to);
            stream_past_caches(to + start, from + 2 * start, lengths[l]);
            wrong += memcmp(to + start, from + 2 * start, lengths[l]) != 0;
            for (size_t i = 0; i < BYTES; i++) wrong += (i < start || i >= start + lengths[l]) && to[i] != 99;
        }
    }
    check("streaming copies that are wrong", (double)wrong, 0);
}

int self_test(const struct subject *const *subjects, int count) {
    for (int threads = 1; threads <= MOST_THREADS; threads++) {
        test_loops(threads);
        test_optimizer_loop(threads);
    }
    test_copies_past_caches();
    for (int i = 0; i < count; i++) subjects[i]->self_test();
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
