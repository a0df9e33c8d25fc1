/*
 * Collectives between CPU ranks, threads and processes: the bits of every result, which bytes stay unchanged, and that a mistake of
 * one rank is reported to all ranks, writes nothing and leaves the group usable.
 *
 * Runs on: cpu; kernels of collective.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/check.h"
#include "harness/collective_case.h"
#include "harness/device.h"
#include "harness/random.h"
#include "harness/ranks.h"
#include "kernels/collective_pieces.h"
#include "oracle/collective.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- the kernels ---- */

enum { MOST_INPUTS = 9, MOST_ELEMENTS = 2600, GUARD = 128, ROOM = MOST_ELEMENTS * 4 + 64 + 2 * GUARD };

struct kernel_memory {
    _Alignas(64) unsigned char input[MOST_INPUTS][ROOM], output[2][ROOM], expected[ROOM];
};

/* Inputs and outputs at addresses of their own; the second output is an input, or has none. */
static void check_combination(const struct quern_kernel *row, struct kernel_memory *m, uint64_t seed, int64_t count, int inputs,
                              bool is_max, bool in_place) {
    const quern_dtype dtype = row->key.any.dtypes[0];
    const int64_t size = (int64_t)quern_dtype_bytes(dtype), first = random_below(seed, 1, 40);
    const struct collective_case c = {.seed = seed, .operation = COLLECTIVE_ALL_REDUCE, .dtype = dtype};
    const char *from[MOST_INPUTS];
    char *to[2] = {(char *)m->output[0] + GUARD + random_below(seed, 2, 64 / size) * size, NULL};
    for (int q = 0; q < inputs; q++) {
        from[q] = (char *)m->input[q] + random_below(seed, (uint64_t)q + 3, 64 / size) * size;
        for (int64_t i = 0; i < first + count; i++) {
            const uint64_t bits = collective_case_bits(&c, q, i);
            memcpy((char *)from[q] + i * size, &bits, (size_t)size);
        }
    }
    to[1] = in_place ? (char *)from[inputs - 1] : (char *)m->output[1];
    memset(m->output, 0x5A, sizeof m->output);
    for (int64_t i = 0; i < first + count; i++)
        collective_combine(dtype, is_max ? QUERN_COMBINE_MAX : QUERN_COMBINE_SUM, (const void *const *)from, inputs, i, m->expected, i);
    const struct quern_collective_combination pieces = {.inputs = from, .outputs = to, .input_count = inputs, .output_count = 2,
                                                        .is_max = is_max, .streaming = seed % 2};
    row->cpu.any(&pieces, first, first + count);
    for (int o = 0; o < 2; o++)
        for (int64_t i = first * size; i < (first + count) * size; i++)
            check((unsigned char)to[o][i] == m->expected[i], "%s: %d inputs, %lld elements from %lld, max %d: byte %lld of output %d is "
                  "%02X instead of %02X", row->name, inputs, (long long)count, (long long)first, is_max, (long long)i, o,
                  (unsigned char)to[o][i], m->expected[i]);
    for (int64_t i = 0; i < ROOM; i++) {
        const int64_t at = (char *)m->output[0] + i - to[0];
        check((at >= first * size && at < (first + count) * size) || m->output[0][i] == 0x5A, "%s: %lld elements also wrote byte %lld",
              row->name, (long long)count, (long long)at);
    }
}

Test(collective, every_kernel_combines_any_number_of_elements_in_order) {
    static struct kernel_memory memory;
    static const int64_t counts[] = {0, 1, 2, 7, 15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 130, 1023, 1024, 1025, 2048, 2049, 2500};
    for (const struct quern_kernel *row = NULL; (row = next_row(quern_collective_kernels, row));) {
        if (row->key.any.task != QUERN_COLLECTIVE_COMBINE) continue;
        for (size_t i = 0; i < COUNT(counts); i++)
            for (int trial = 0; trial < 12; trial++)
                check_combination(row, &memory, 100 * i + (uint64_t)trial, counts[i], 1 + trial % MOST_INPUTS, trial % 3 == 2,
                                  trial % 4 == 1);
    }
}

/* Each value with each other one, in every place of a vector. */
Test(collective, every_kernel_combines_special_values) {
    static const struct {
        quern_dtype dtype;
        uint32_t values[12];
    } types[] = {{QUERN_F32, {0x7FC00001, 0xFFC00000, 0x7F800001, 0x7F800000, 0xFF800000, 0, 0x80000000, 1, 0x80000001, 0x7F7FFFFF,
                              0xFF7FFFFF, 0x3F800000}},
                 {QUERN_F16, {0x7E01, 0xFE00, 0x7C01, 0x7C00, 0xFC00, 0, 0x8000, 1, 0x8001, 0x7BFF, 0xFBFF, 0x3C00}},
                 {QUERN_BF16, {0x7FC1, 0xFFC0, 0x7F81, 0x7F80, 0xFF80, 0, 0x8000, 1, 0x8001, 0x7F7F, 0xFF7F, 0x3F80}}};
    enum { VALUES = 12, PAIRS = VALUES * VALUES };
    for (const struct quern_kernel *row = NULL; (row = next_row(quern_collective_kernels, row));)
        for (size_t t = 0; t < COUNT(types); t++) {
            if (row->key.any.task != QUERN_COLLECTIVE_COMBINE || row->key.any.dtypes[0] != types[t].dtype) continue;
            const size_t size = quern_dtype_bytes(types[t].dtype);
            char a[PAIRS * 4], b[PAIRS * 4], has[PAIRS * 4], expected[PAIRS * 4];
            for (int i = 0; i < PAIRS; i++) {
                memcpy(a + (size_t)i * size, &types[t].values[i / VALUES], size);
                memcpy(b + (size_t)i * size, &types[t].values[i % VALUES], size);
            }
            for (int is_max = 0; is_max < 2; is_max++) {
                const char *const inputs[] = {a, b};
                char *const outputs[] = {has};
                const struct quern_collective_combination pieces = {.inputs = inputs, .outputs = outputs, .input_count = 2,
                                                                    .output_count = 1, .is_max = is_max};
                row->cpu.any(&pieces, 0, PAIRS);
                for (int i = 0; i < PAIRS; i++)
                    collective_combine(types[t].dtype, is_max ? QUERN_COMBINE_MAX : QUERN_COMBINE_SUM, (const void *const *)inputs, 2, i,
                                       expected, i);
                for (int i = 0; i < PAIRS; i++)
                    check(!memcmp(has + (size_t)i * size, expected + (size_t)i * size, size), "%s, max %d: %08X and %08X", row->name,
                          is_max, types[t].values[i / VALUES], types[t].values[i % VALUES]);
            }
        }
}

/* ---- random cases ---- */

static void check_batch(enum rank_kind kind, int ranks, struct collective_batch batch) {
    check_ranks(.kind = kind, .count = ranks, .function = collective_run_batch, .user = &batch, .limit = 300);
}

Test(collective, random_cases_of_threads, .timeout = 600) {
    for (int ranks = 1; ranks <= 8; ranks++)
        check_batch(RANK_THREADS, ranks, (struct collective_batch){.first = (uint64_t)ranks * 1000, .cases = (int)test_size(100, 20)});
}

Test(collective, random_cases_of_processes, .timeout = 600) {
    for (int ranks = 1; ranks <= 8; ranks++)
        check_batch(RANK_PROCESSES, ranks,
                    (struct collective_batch){.first = (uint64_t)ranks * 1000, .cases = (int)test_size(100, 20)});
}

/* Several rounds of windows; the caches are passed by; several threads of each rank. */
Test(collective, large_cases, .timeout = 600) {
    for (size_t kind = 0; kind < COUNT(rank_kinds); kind++)
        for (int ranks = 2; ranks <= 3; ranks++)
            check_batch(rank_kinds[kind], ranks,
                        (struct collective_batch){.first = 50000 + (uint64_t)ranks * 1000, .cases = (int)test_size(60, 16),
                                                  .choice = {.largest = 900000}, .threads = 1 + ranks % 2, .pool_bytes = 16 << 20});
}
