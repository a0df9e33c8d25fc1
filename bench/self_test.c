/* What the benchmarks take for granted: byte counts, lists of tensors, and loops that go over every byte once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "models.h"
#include "stream.h"
#include "traffic.h"

static int passed, failed;

static void check(const char *what, int64_t found, int64_t expected) {
    if (found == expected) {
        passed++;
        return;
    }
    failed++;
    printf("%s: %lld, expected %lld\n", what, (long long)found, (long long)expected);
}

static void check_number(const char *what, double found, double expected) {
    passed += found == expected;
    failed += found != expected;
    if (found != expected) printf("%s: %g, expected %g\n", what, found, expected);
}

/* What quern.h does not state: a remainder, scaled types with a byte for 32 elements, all options. */
static void test_further_bytes(void) {
    quern_adam_args args = {.param_dtype = QUERN_BF16, .grad_dtype = QUERN_BF16, .m_dtype = QUERN_BF16, .v_dtype = QUERN_BF16,
                            .master_dtype = QUERN_REMAINDER};
    check_number("bf16 with a remainder", adam_bytes(&args), 18);
    args.m_dtype = args.v_dtype = QUERN_E4M3;
    check_number("e4m3 moments with a remainder", adam_bytes(&args), 14 + 4 / 32.0);
    args.copy_dtype = QUERN_E4M3, args.zero_grads = 1, args.amsgrad = 1;
    check_number("the same with all options", adam_bytes(&args), 14 + 4 / 32.0 + 1 + 2 + 2 + 2 / 32.0);
}

/* Also printed, for run.py to compare with what quern.h states. */
static void test_bytes(void) {
    static const struct {
        const char *name;
        quern_dtype state, master;
        double expected;
    } adam[] = {{"all-bf16", QUERN_BF16, QUERN_NO_DTYPE, 14}, {"bf16 with fp32 master", QUERN_BF16, QUERN_F32, 20},
                {"all-fp32", QUERN_F32, QUERN_NO_DTYPE, 28}};
    for (size_t i = 0; i < sizeof adam / sizeof *adam; i++) {
        quern_dtype state = adam[i].state;
        quern_adam_args args = {.param_dtype = state, .grad_dtype = state, .m_dtype = state, .v_dtype = state,
                                .master_dtype = adam[i].master};
        check_number(adam[i].name, adam_bytes(&args), adam[i].expected);
        printf("bytes: %s %g\n", adam[i].name, adam_bytes(&args));
    }
    check("bf16 logit, forward", cross_entropy_bytes(QUERN_BF16, false), 2);
    check("bf16 logit, forward and gradient", cross_entropy_bytes(QUERN_BF16, true), 4);
    check("fp32 logit, forward and gradient", cross_entropy_bytes(QUERN_F32, true), 8);
    printf("bytes: bf16: %d\n", cross_entropy_bytes(QUERN_BF16, true));
}

static void test_models(void) {
    static const struct {
        int64_t width, layers, tensors, parameters;  /* as published checkpoints have them */
    } models[] = {{768, 12, 148, 124439808}, {1600, 48, 580, 1557611200}};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct tensor_list list = gpt2_tensors(models[i].width, models[i].layers);
        int64_t sum = 0;
        for (int64_t j = 0; j < list.tensors; j++) sum += list.counts[j];
        check("tensors of GPT-2", list.tensors, models[i].tensors);
        check("parameters of GPT-2", sum, models[i].parameters);
        check("the list's own count", list.elements, sum);
        tensor_list_free(&list);
    }
}

enum { WORDS = 1000, MOST_THREADS = 3 };

/* Every word exactly once, and nothing behind the end. */
static void test_loops(int threads) {
    uint64_t from[WORDS + 1], to[WORDS + 1], expected = 0, wrong = 0;
    for (uint64_t i = 0; i <= WORDS; i++) from[i] = i * i + 1, to[i] = 7;
    for (int i = 0; i < WORDS; i++) expected += from[i];
    check("sum read", (int64_t)stream_read(threads, from, 8 * WORDS), (int64_t)expected);
    stream_copy(threads, to, from, 8 * WORDS);
    for (int i = 0; i < WORDS; i++) wrong += to[i] != from[i];
    check("words copied wrongly", (int64_t)wrong, 0);
    check("the word behind a copy", (int64_t)to[WORDS], 7);
    stream_update(threads, to, 8 * WORDS, 0xff);
    for (int i = 0; i < WORDS; i++) wrong += to[i] != (from[i] ^ 0xff);
    check("words updated wrongly", (int64_t)wrong, 0);
    check("the word behind an update", (int64_t)to[WORDS], 7);
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
    check("sum of the array that is only read", (int64_t)stream_optimize(threads, &arrays, 0xff), (int64_t)expected);
    for (int i = 0; i < 4; i++) {
        uint64_t words = (uint64_t)(ELEMENTS / UNIT_ELEMENTS * arrays.array[i].unit_bytes / 8);
        for (uint64_t j = 0; j <= BYTES / 8; j++) {
            uint64_t before = j * j + 1, changed = arrays.array[i].access == ACCESS_WRITE ? 0xff : before ^ 0xff;
            wrong += data[i][j] != (j < words && arrays.array[i].access != ACCESS_READ ? changed : before);
        }
    }
    check("words of the loop over several arrays", wrong, 0);
}

int self_test(void) {
    test_bytes();
    test_further_bytes();
    test_models();
    for (int threads = 1; threads <= MOST_THREADS; threads++) {
        test_loops(threads);
        test_optimizer_loop(threads);
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
