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

/* Also printed, for run.py to compare with what quern.h states. */
static void test_bytes(void) {
    static const struct {
        const char *name;
        quern_dtype state, master;
        int expected;
    } adam[] = {{"all-bf16", QUERN_BF16, QUERN_NO_DTYPE, 14}, {"bf16 with fp32 master", QUERN_BF16, QUERN_F32, 20},
                {"all-fp32", QUERN_F32, QUERN_NO_DTYPE, 28}};
    for (size_t i = 0; i < sizeof adam / sizeof *adam; i++) {
        quern_dtype state = adam[i].state;
        quern_adam_args args = {.param_dtype = state, .grad_dtype = state, .m_dtype = state, .v_dtype = state,
                                .master_dtype = adam[i].master};
        check(adam[i].name, adam_bytes(&args), adam[i].expected);
        printf("bytes: %s %d\n", adam[i].name, adam_bytes(&args));
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

static void test_optimizer_loop(int threads, bool has_master) {
    static uint16_t param[WORDS], grad[WORDS], m[WORDS], v[WORDS];
    static uint32_t master[WORDS];
    for (int i = 0; i < WORDS; i++) {
        param[i] = 1, grad[i] = (uint16_t)(i * 31), m[i] = 3, v[i] = 5;
        master[i] = (uint32_t)i << 20 | 9;
    }
    struct optimizer_arrays arrays = {param, grad, m, v, has_master ? master : NULL, WORDS, 2, 2, 2, 2};
    stream_optimize(threads, &arrays, UINT64_MAX);
    int64_t wrong = 0;
    for (uint32_t i = 0; i < WORDS; i++) {
        uint16_t change = (uint16_t)(i * 31);
        uint32_t expected = (i << 20 | 9) ^ change;
        wrong += param[i] != (has_master ? expected >> 16 : (uint32_t)(1 ^ change));
        wrong += m[i] != (3 ^ change) || v[i] != (5 ^ change) || (has_master && master[i] != expected);
    }
    check(has_master ? "elements of the loop with a master" : "elements of the loop without a master", wrong, 0);
}

int self_test(void) {
    test_bytes();
    test_models();
    for (int threads = 1; threads <= MOST_THREADS; threads++) {
        test_loops(threads);
        test_optimizer_loop(threads, false);
        test_optimizer_loop(threads, true);
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
