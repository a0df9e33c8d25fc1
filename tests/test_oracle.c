/*
 * The oracles against published vectors, against each other and against the definitions: before a kernel is measured with
 * them.  That of cross-entropy: test_cross_entropy_oracle.c.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/adam_case.h"
#include "harness/check.h"
#include "harness/random.h"
#include "oracle/adam.h"
#include "oracle/dtype.h"
#include "oracle/philox.h"

/* From kat_vectors of the Random123 distribution. */
Test(oracle, philox_known_answers) {
    static const struct {
        int rounds;
        uint32_t counter[4], key[2], output[4];
    } vectors[] = {
        {7, {0, 0, 0, 0}, {0, 0}, {0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48}},
        {7, {~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x5207ddc2, 0x45165e59, 0x4d8ee751, 0x8c52f662}},
        {7, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0},
         {0x4dfccaba, 0x190a87f0, 0xc47362ba, 0xb6b5242a}},
        {10, {0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        uint32_t output[4];
        philox4x32(vectors[i].rounds, vectors[i].counter, vectors[i].key, output);
        check(!memcmp(output, vectors[i].output, sizeof output), "vector %zu differs", i);
    }
}

Test(oracle, every_16_bit_value_survives_a_round_trip) {
    static const quern_dtype dtypes[] = {QUERN_F16, QUERN_BF16};
    for (int d = 0; d < 2; d++) {
        for (uint32_t bits = 0; bits < 65536; bits++) {
            uint16_t stored = (uint16_t)bits, again;
            double value = dtype_load(dtypes[d], &stored, 0);
            dtype_store(dtypes[d], &again, 0, value);
            check(again == stored || (isnan(value) && again == 0x7FFF), "%s 0x%04X became 0x%04X",
                  quern_dtype_name(dtypes[d]), stored, again);
        }
    }
}

/* Compilers convert float to bf16 and f16 only in hardware they do not have to have; f32 they all convert right. */
Test(oracle, rounding_to_f32_is_the_compilers) {
    for (uint64_t i = 0; i < 200000; i++) {
        uint64_t bits = random_bits(7, i);
        int exponent = (int)(bits % 300) - 155;
        double value = ldexp(1 + random_uniform(8, i), exponent) * (bits & 1024 ? -1 : 1);
        check(dtype_round(QUERN_F32, value) == (double)(float)value, "%a", value);
    }
}

Test(oracle, rounding_to_16_bits_by_known_cases) {
    static const struct {
        quern_dtype dtype;
        double value;
        uint16_t stored;
    } cases[] = {
        {QUERN_BF16, 1.0, 0x3F80},           {QUERN_BF16, 1 + 0x1p-8, 0x3F80},      /* tie to even, down */
        {QUERN_BF16, 1 + 3 * 0x1p-8, 0x3F82}, {QUERN_BF16, 1 + 0x1.01p-8, 0x3F81},   /* tie to even, up; above a tie */
        {QUERN_BF16, -0.0, 0x8000},          {QUERN_BF16, 0x1p-133, 0x0001},        /* smallest subnormal */
        {QUERN_BF16, 0x1p-134, 0x0000},      {QUERN_BF16, 0x1.8p-134, 0x0001},
        {QUERN_BF16, 0x1.FEp127, 0x7F7F},    {QUERN_BF16, 0x1.FFp127, 0x7F80},      /* overflow */
        {QUERN_F16, 65504, 0x7BFF},          {QUERN_F16, 65519.99, 0x7BFF},
        {QUERN_F16, 65520, 0x7C00},          {QUERN_F16, 0x1p-24, 0x0001},
        {QUERN_F16, 0x1p-25, 0x0000},        {QUERN_F16, -0x1.8p-25, 0x8001},
        {QUERN_F16, 1 + 0x1p-11, 0x3C00},    {QUERN_F16, 1 + 3 * 0x1p-11, 0x3C02},
        {QUERN_F16, 0x1.FF8p-15, 0x03FF},    {QUERN_F16, 0x1.FFCp-15, 0x0400},      /* tie into the normal range */
        {QUERN_F16, (double)-INFINITY, 0xFC00}, {QUERN_BF16, (double)NAN, 0x7FFF},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint16_t stored;
        dtype_store(cases[i].dtype, &stored, 0, cases[i].value);
        check(stored == cases[i].stored, "%s of %a is 0x%04X, not 0x%04X", quern_dtype_name(cases[i].dtype), cases[i].value,
              stored, cases[i].stored);
    }
}

static const quern_dtype adam_dtypes[] = {QUERN_F32, QUERN_BF16, QUERN_F16};

/* Both oracles, for every combination of the types and both modes: 100 steps, each from the model's state. */
Test(oracle, adam_model_is_the_exact_step_rounded) {
    const int64_t counts[] = {40};
    for (int type = 0; type < 9; type++) {
        for (int mode = 0; mode < 2; mode++) {
            struct quern_kernel row = {.key.adam = {.param = adam_dtypes[type / 3], .grad = adam_dtypes[type % 3],
                                                    .m = adam_dtypes[type % 2], .v = adam_dtypes[type / 2 % 2]}};
            if (type >= 6) row.key.adam.master = QUERN_F32;
            quern_adam_args args = adam_args_of(&row);
            args.mode = mode ? QUERN_ADAM_L2 : QUERN_ADAMW;
            struct adam_problem before, after;
            adam_make(&before, &args, counts, 1);
            for (int64_t step = 1; step <= 100; step++) {
                before.args.step = step;
                adam_copy(&after, &before);
                adam_model_step(&after.args);
                adam_check_exact(&before, &after, "model");
                adam_free(&before);
                before = after;
                before.args.tensors = before.tensors;
            }
            adam_free(&before);
        }
    }
}

Test(oracle, stochastic_rounding_is_unbiased_and_stays_between_neighbours) {
    static const float values[] = {1.001f, -0.3337f, 1e-20f, 123.456f, 1e-6f, 3e-5f, -6e-8f, 0x1p-14f, 0x1.234p-15f, 7e-39f};
    for (int d = 1; d < 3; d++) {
        for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
            double exact = (double)values[k], sum = 0, ulp = dtype_ulp(adam_dtypes[d], exact);
            for (uint32_t random = 0; random < 65536; random++) {
                uint16_t stored = adam_round_stochastic(adam_dtypes[d], values[k], random);
                double value = dtype_load(adam_dtypes[d], &stored, 0);
                check(fabs(value - exact) < ulp, "%g became %g", exact, value);
                sum += value;
            }
            check(fabs(sum / 65536 - exact) <= ulp * 0x1p-12, "%s: the mean of %g is %g", quern_dtype_name(adam_dtypes[d]),
                  exact, sum / 65536);
        }
    }
}

Test(oracle, stochastic_rounding_keeps_special_values) {
    static const struct {
        quern_dtype dtype;
        float value;
        uint16_t stored;
    } cases[] = {
        {QUERN_BF16, 0x1.FFFFFEp127f, 0x7F7F}, {QUERN_BF16, -0x1.FFFFFEp127f, 0xFF7F}, {QUERN_BF16, INFINITY, 0x7F80},
        {QUERN_BF16, -INFINITY, 0xFF80},       {QUERN_BF16, NAN, 0x7FFF},             {QUERN_BF16, 1.0f, 0x3F80},
        {QUERN_F16, 0x1.FFFFFEp127f, 0x7BFF},  {QUERN_F16, -70000.0f, 0xFBFF},        {QUERN_F16, 65519.0f, 0x7BFF},
        {QUERN_F16, INFINITY, 0x7C00},         {QUERN_F16, NAN, 0x7FFF},              {QUERN_F16, -0.0f, 0x8000},
        {QUERN_F16, 0x1p-24f, 0x0001},         {QUERN_F16, 0x1p-14f, 0x0400},         {QUERN_BF16, 0x1p-133f, 0x0001},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (uint32_t random = 0; random < 65536; random++) {
            uint16_t stored = adam_round_stochastic(cases[i].dtype, cases[i].value, random);
            check(stored == cases[i].stored, "%s of %a with 0x%X is 0x%04X", quern_dtype_name(cases[i].dtype),
                  (double)cases[i].value, random, stored);
        }
    }
}

/* The facts that make stochastic rounding the default for v: nearest rounding freezes it. */
Test(oracle, nearest_rounding_freezes_v_and_stochastic_rounding_does_not) {
    enum { COUNT = 64, STEPS = 20000 };
    const int64_t counts[] = {COUNT};
    struct quern_kernel row = {.key.adam = {.param = QUERN_F32, .grad = QUERN_F32, .m = QUERN_F32, .v = QUERN_BF16}};
    for (int stochastic = 0; stochastic < 2; stochastic++) {
        quern_adam_args args = adam_args_of(&row);
        args.v_rounding = stochastic ? QUERN_ROUND_STOCHASTIC : QUERN_ROUND_NEAREST;
        struct adam_problem problem;
        adam_make(&problem, &args, counts, 1);
        double mean = 0;
        for (int i = 0; i < COUNT; i++) dtype_store(QUERN_BF16, problem.tensors[0].v, i, 0);
        for (int64_t step = 1; step <= STEPS; step++) {
            for (int i = 0; i < COUNT; i++)
                dtype_store(QUERN_F32, (void *)problem.tensors[0].grad, i, random_normal(99, (uint64_t)(step * COUNT + i)));
            problem.args.step = step;
            adam_model_step(&problem.args);
        }
        for (int i = 0; i < COUNT; i++) mean += dtype_load(QUERN_BF16, problem.tensors[0].v, i) / COUNT;
        check(stochastic ? fabs(mean - 1) < 0.05 : mean > 1.8, "mean of v is %g", mean);
        adam_free(&problem);
    }
}
