/*
 * The oracles against published vectors, against each other and against the definitions, before kernels are compared with them.
 * That of cross-entropy: test_cross_entropy_oracle.c.
 *
 * Runs on: oracle.
 */
#include "harness/adam_case.h"
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
    for (size_t i = 0; i < COUNT(vectors); i++) {
        uint32_t output[4];
        philox4x32(vectors[i].rounds, vectors[i].counter, vectors[i].key, output);
        check(!memcmp(output, vectors[i].output, sizeof output), "vector %zu differs", i);
    }
}

Test(oracle, every_narrow_value_survives_a_round_trip) {
    static const quern_dtype dtypes[] = {QUERN_F16, QUERN_BF16, QUERN_E4M3, QUERN_E5M2};
    for (size_t d = 0; d < COUNT(dtypes); d++) {
        const bool is_byte = quern_dtype_bytes(dtypes[d]) == 1;
        for (uint32_t bits = 0; bits < (is_byte ? 256u : 65536u); bits++) {
            const double value = dtype_decode(dtypes[d], bits);
            const uint32_t again = dtype_encode(dtypes[d], value);
            check(again == bits || (isnan(value) && again == (is_byte ? 0x7F : 0x7FFF)), "%s 0x%04X became 0x%04X",
                  quern_dtype_name(dtypes[d]), bits, again);
        }
    }
}

/* Compilers convert float to bf16 and f16 only with optional hardware; f32 is always converted correctly. */
Test(oracle, rounding_to_f32_is_the_compilers) {
    for (uint64_t i = 0; i < 200000; i++) {
        uint64_t bits = random_bits(7, i);
        int exponent = (int)(bits % 300) - 155;
        double value = ldexp(1 + random_uniform(8, i), exponent) * (bits & 1024 ? -1 : 1);
        check(dtype_round(QUERN_F32, value) == (double)(float)value, "%a", value);
    }
}

Test(oracle, rounding_by_known_cases) {
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
        /* The values named in the OCP specification of 8-bit floating point. */
        {QUERN_E4M3, 1, 0x38},               {QUERN_E4M3, 448, 0x7E},               {QUERN_E4M3, -448, 0xFE},
        {QUERN_E4M3, 0x1p-6, 0x08},          {QUERN_E4M3, 0.875 * 0x1p-6, 0x07},    {QUERN_E4M3, 0x1p-9, 0x01},
        {QUERN_E4M3, 464, 0x7E},             {QUERN_E4M3, 465, 0x7F},               {QUERN_E4M3, (double)NAN, 0x7F},
        {QUERN_E4M3, (double)INFINITY, 0x7F}, {QUERN_E4M3, 0x1p-10, 0x00},          {QUERN_E4M3, 17, 0x58},
        {QUERN_E4M3, 19, 0x5A},              {QUERN_E4M3, 17.001, 0x59},
        {QUERN_E5M2, 1, 0x3C},               {QUERN_E5M2, 57344, 0x7B},             {QUERN_E5M2, 0x1p-14, 0x04},
        {QUERN_E5M2, 0.75 * 0x1p-14, 0x03},  {QUERN_E5M2, -0x1p-16, 0x81},          {QUERN_E5M2, 61439, 0x7B},
        {QUERN_E5M2, 61440, 0x7C},           {QUERN_E5M2, (double)-INFINITY, 0xFC}, {QUERN_E5M2, (double)NAN, 0x7F},
        {QUERN_E5M2, 9, 0x48},               {QUERN_E5M2, 11, 0x4A},                {QUERN_E5M2, -0.0, 0x80},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const uint32_t stored = dtype_encode(cases[i].dtype, cases[i].value);
        check(stored == cases[i].stored, "%s of %a is 0x%04X, not 0x%04X", quern_dtype_name(cases[i].dtype), cases[i].value,
              stored, cases[i].stored);
    }
}

/* ---- Adam ---- */

/* A row that the table need not contain. */
struct types {
    quern_dtype param, grad, m, v, master;
    int full;
};

static quern_adam_args args_of(struct types t) {
    const struct quern_kernel row = {.key.adam = {.param = t.param, .grad = t.grad, .m = t.m, .v = t.v, .master = t.master,
                                                  .full = t.full}};
    return adam_args_of(&row);
}

/* Both oracles, for the types and options that differ: several steps, each from the model's state. */
static void compare_oracles(quern_adam_args *args, const char *what) {
    static const int64_t counts[] = {40, 33};
    struct adam_problem before CLOSED_BY(adam_free), after;
    adam_make(&before, args, counts, 2);
    for (int64_t step = 1; step <= 100; step++) {
        before.args.step = step;
        for (int place = 0; place < 2; place++)
            for (int64_t i = 0; i < counts[place]; i++)
                adam_set_value(&before, place, ARENA_GRAD, i, random_normal((uint64_t)(2 * step + place), (uint64_t)i));
        adam_copy(&after, &before);
        adam_model_step(&after.args);
        adam_check_exact(&before, &after, what);
        adam_free(&before);
        before = after;
        before.args.tensors = before.tensors;
    }
}

Test(oracle, adam_model_is_the_exact_step_rounded) {
    static const quern_dtype moments[] = {QUERN_F32, QUERN_BF16, QUERN_F16, QUERN_E4M3, QUERN_E5M2};
    static const quern_dtype params[][2] = {{QUERN_F32, QUERN_NO_DTYPE}, {QUERN_BF16, QUERN_NO_DTYPE}, {QUERN_F16, QUERN_NO_DTYPE},
                                            {QUERN_BF16, QUERN_F32}, {QUERN_F16, QUERN_F32}, {QUERN_BF16, QUERN_REMAINDER}};
    static const quern_dtype grads[] = {QUERN_F32, QUERN_BF16, QUERN_F16};
    for (size_t i = 0; i < COUNT(moments) * COUNT(moments) * COUNT(params); i++) {
        const quern_dtype *param = params[i / (COUNT(moments) * COUNT(moments))];
        for (int mode = 0; mode < 2; mode++) {
            quern_adam_args args = args_of((struct types){param[0], grads[i % 3], moments[i % COUNT(moments)],
                                                          moments[i / COUNT(moments) % COUNT(moments)], param[1], mode});
            args.mode = mode ? QUERN_ADAM_L2 : QUERN_ADAMW;
            compare_oracles(&args, "model");
        }
    }
}

Test(oracle, adam_options_are_those_of_the_exact_step) {
    static const float lr = 0.02f, grad_scale = 1024, clip = 0.125f;
    for (int option = 0; option < 64; option++) {
        quern_adam_args args = args_of((struct types){QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, option & 1});
        args.mode = option & 2 ? QUERN_ADAM_L2 : QUERN_ADAMW;
        args.eps_mode = option & 4 ? QUERN_EPS_INSIDE : QUERN_EPS_OUTSIDE;
        args.maximize = option >> 3 & 1;
        args.use_multipliers = option >> 4 & 1;
        if (option & 32) args.control = (quern_adam_control){.lr = &lr, .grad_scale = &grad_scale, .clip = &clip};
        else args.grad_scale = 3;
        compare_oracles(&args, "options");
    }
}

Test(oracle, stochastic_rounding_is_unbiased_and_stays_between_neighbours) {
    static const float values[] = {1.001f, -0.3337f, 1e-20f, 123.456f, 1e-6f, 3e-5f, -6e-8f, 0x1p-14f, 0x1.234p-15f, 7e-39f};
    static const quern_dtype dtypes[] = {QUERN_BF16, QUERN_F16, QUERN_E4M3, QUERN_E5M2};
    for (size_t d = 0; d < COUNT(dtypes); d++) {
        for (size_t k = 0; k < COUNT(values); k++) {
            double exact = (double)values[k], sum = 0, ulp = dtype_ulp(dtypes[d], exact);
            for (uint32_t random = 0; random < 65536; random++) {
                double value = dtype_decode(dtypes[d], adam_round_stochastic(dtypes[d], values[k], random));
                check(fabs(value - exact) < ulp, "%g became %g", exact, value);
                sum += value;
            }
            check(fabs(sum / 65536 - exact) <= ulp * 0x1p-12, "%s: the mean of %g is %g", quern_dtype_name(dtypes[d]),
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
        {QUERN_E4M3, INFINITY, 0x7F},          {QUERN_E4M3, NAN, 0x7F},              {QUERN_E4M3, 1.0f, 0x38},
        {QUERN_E4M3, 448.0f, 0x7E},            {QUERN_E4M3, -0.0f, 0x80},            {QUERN_E4M3, 0x1p-9f, 0x01},
        {QUERN_E4M3, -0x1p-6f, 0x88},          {QUERN_E5M2, INFINITY, 0x7C},         {QUERN_E5M2, -INFINITY, 0xFC},
        {QUERN_E5M2, NAN, 0x7F},               {QUERN_E5M2, 57344.0f, 0x7B},         {QUERN_E5M2, 0x1p-16f, 0x01},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        for (uint32_t random = 0; random < 65536; random++) {
            uint16_t stored = adam_round_stochastic(cases[i].dtype, cases[i].value, random);
            check(stored == cases[i].stored, "%s of %a with 0x%X is 0x%04X", quern_dtype_name(cases[i].dtype),
                  (double)cases[i].value, random, stored);
        }
    }
}

/* A block's scale keeps its largest value within the type, and as high as the margin for rounding allows. */
Test(oracle, scales_bring_the_largest_value_to_the_top) {
    static const struct {
        quern_dtype dtype;
        float largest;
        uint8_t scale;
    } cases[] = {
        {QUERN_F16, 1, 127 - 14},  {QUERN_F16, 65504, 127 + 1},  {QUERN_F16, 1.99f, 127 - 14}, {QUERN_F16, 2, 127 - 13},
        {QUERN_E4M3, 1, 127 - 7},  {QUERN_E4M3, 448, 127 + 1},   {QUERN_E5M2, 1, 127 - 14},    {QUERN_E4M3, 0x1p-120f, 0},
        {QUERN_E4M3, 0x1p-119f, 1}, {QUERN_E4M3, 0, 0},          {QUERN_F16, 1e-40f, 0},       {QUERN_F16, 0x1p127f, 127 + 113},
        {QUERN_E4M3, 0x1.FFFFFEp127f, 127 + 120},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const float values[] = {NAN, cases[i].largest / 2, -INFINITY, -cases[i].largest, 0};
        const uint8_t scale = adam_choose_scale(cases[i].dtype, values, 5);
        check(scale == cases[i].scale, "%s: the scale of %g is %d, not %d", quern_dtype_name(cases[i].dtype),
              (double)cases[i].largest, scale, cases[i].scale);
    }
}

Test(oracle, a_square_above_zero_stays_there) {
    static const quern_dtype dtypes[] = {QUERN_F16, QUERN_E4M3, QUERN_E5M2};
    static const uint32_t random[4] = {0};
    const float values[] = {1e30f, 1e-38f, 0, 1};
    for (size_t d = 0; d < COUNT(dtypes); d++) {
        for (int is_square = 0; is_square < 2; is_square++) {
            uint16_t codes[4] = {0};
            uint8_t scale;
            adam_store_moment(dtypes[d], codes, &scale, 0, 4, values, is_square, random);
            const float small = adam_load_moment(dtypes[d], codes, &scale, 1), zero = adam_load_moment(dtypes[d], codes, &scale, 2);
            check(is_square ? small > 0 : small == 0, "%g", (double)small);
            check(zero == 0, "%g", (double)zero);
        }
    }
}

/* Every fp32 value, in strides: splitting and joining gives it back, and the parameter is the nearest value. */
Test(oracle, a_master_in_two_halves_is_whole) {
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 997) {
        const uint32_t narrow = (uint32_t)bits;
        float master;
        uint16_t param, remainder;
        memcpy(&master, &narrow, sizeof master);
        adam_split_master(master, &param, &remainder);
        const float again = adam_join_master(param, remainder);
        check(isnan(master) ? isnan(again) && param == 0x7FFF && remainder == 0 : !memcmp(&again, &master, sizeof again),
              "0x%08X became 0x%04X and 0x%04X", narrow, param, remainder);
        const double value = dtype_decode(QUERN_BF16, param), nearest = dtype_round(QUERN_BF16, (double)master);
        check(isnan(master) || value == nearest || (narrow & 0xFFFF) == 0x8000, "0x%08X has parameter %a", narrow, value);
    }
    uint16_t param, remainder;
    adam_split_master(0x1.01p0f, &param, &remainder);  /* 0x3F808000: a tie goes toward zero */
    check(param == 0x3F80 && remainder == 0x8000, "0x%04X 0x%04X", param, remainder);
    check(isnan(adam_join_master(0x7FFF, 0xFFFF)) && isnan(adam_join_master(0x7FC0, 0x8001)), "NaN got lost");
}
