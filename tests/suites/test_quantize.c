/*
 * Quantisation to 8 bits, bit for bit: lists and plans, both steps at once and apart, delayed scaling.
 *
 * Runs on: cpu, every emulated, gpu; kernels of quantize.
 */
#include <fenv.h>
#include <float.h>

#include "harness/cuda.h"
#include "harness/quantize_case.h"
#include "harness/random.h"
#include "oracle/dtype.h"
#include "oracle/quantize.h"

/* ---- sizes ---- */

TEST_QUANTIZE_TYPES(quantize, any_shape) {
    enum { MANY = 2500 };
    static int64_t sizes[258], many[MANY];
    const int64_t longs[] = {test_size(140001, 9000), 0, 2048, 2049, 1, 0, test_size(65536, 4096), test_size(65537, 4097)};
    for (int i = 0; i < 258; i++) sizes[i] = i;
    for (int i = 0; i < MANY; i++) many[i] = i % 3;
    const struct {
        const int64_t *counts;
        int64_t tensors;
    } lists[] = {{sizes, 258}, {longs, COUNT(longs)}, {many, MANY}, {longs, 0}, {longs + 5, 1}};
    static unsigned way;
    for (size_t i = 0; i < COUNT(lists) * 4; i++, way += 5) {
        OPEN_QUANTIZE(q, device, input, output, lists[i / 4].counts, lists[i / 4].tensors, 0);
        quantize_check_way(&q, way % QUANTIZE_WAYS, quern_dtype_name(input));
    }
}

/* Shapes, scales and eps of TransformerEngine: test_cast_current_scaling.cu, test_multi_tensor.py. */
TEST_QUANTIZE_TYPES(quantize, the_cases_of_transformer_engine) {
    static const int64_t shapes[][2] = {{128, 128}, {256, 256}, {1, 128}, {1, 1296}, {1, 16}, {5, 160}, {60, 160}, {217, 256},
                                        {777, 1}, {555, 1}, {33333, 1}, {2048 * 32 + 1, 1}, {2048 * 32, 1}};
    static const double eps[] = {0, 100};
    int64_t counts[COUNT(shapes)];
    for (size_t i = 0; i < COUNT(shapes); i++) {
        counts[i] = shapes[i][0] * shapes[i][1];
        if (test_is_small() && counts[i] > 6000) counts[i] = 4096 + counts[i] % 97;
    }
    for (size_t k = 0; k < 4; k++) {
        OPEN_QUANTIZE(q, device, input, output, counts, COUNT(shapes), 0);
        q.args.eps = eps[k / 2], q.args.power_of_two = k % 2;
        quantize_upload(&q, k == 1);
        quantize_check_run(&q, "a published shape");
    }
}

/* ---- values ---- */

/* Every fp32 or 16-bit exponent, ties and their neighbours, under many scales. */
static double value_at(quern_dtype input, int64_t i) {
    const uint64_t bits = random_bits(91, (uint64_t)i);
    const uint32_t tie = (uint32_t)(bits & 0xFF80000000) >> 8 | 0x00080000u | (uint32_t)(bits & 1);
    const uint32_t word = i % 3 == 0 ? (uint32_t)bits : i % 3 == 1 ? tie : (uint32_t)bits & 0xFFF00000;
    return input == QUERN_F32 ? dtype_decode(input, word) : dtype_decode(input, word >> 16);
}

/* A NaN with a sign, which no double keeps on its way through the oracle: its code has none. */
static void store_negative_nan(quern_dtype input, void *values, int64_t i) {
    const uint32_t word = 0xFFC00000;
    const uint16_t half = input == QUERN_F16 ? 0xFE00 : 0xFFC0;
    if (input == QUERN_F32) memcpy((char *)values + 4 * i, &word, sizeof word);
    else memcpy((char *)values + 2 * i, &half, sizeof half);
}

TEST_QUANTIZE_TYPES(quantize, any_value_with_any_amax) {
    static const float amaxes[] = {448, 57344, 1, 3e-5F, 0.7F, 1e-36F, 1e-40F, 3e38F, 0, INFINITY, NAN, 1e-30F, -5, 100};
    int64_t counts[COUNT(amaxes)];
    for (size_t i = 0; i < COUNT(amaxes); i++) counts[i] = test_size(5000, 300) + (int64_t)i;
    for (int k = 0; k < 4; k++) {
        OPEN_QUANTIZE(q, device, input, output, counts, COUNT(amaxes), 0);
        for (size_t place = 0; place < COUNT(amaxes); place++) {
            for (int64_t i = 0; i < counts[place]; i++) dtype_store(input, (void *)q.tensors[place].input, i, value_at(input, i));
            for (int64_t i = 0; i < counts[place]; i += 37) store_negative_nan(input, (void *)q.tensors[place].input, i);
            q.args.amax[place] = amaxes[place];
        }
        q.args.rounding = k % 2 ? QUERN_ROUND_STOCHASTIC : QUERN_ROUND_NEAREST, q.args.power_of_two = k / 2;
        q.args.seed = 5, q.args.offset = (uint64_t)k;
        quantize_upload(&q, false);
        quantize_check_cast(&q, "any value");
    }
}

/* The known traps, each with the results that it must have. */
struct trap {
    const char *name;
    quern_dtype input, output;
    double values[3], eps;
    float amax, scale, scale_inv;
    uint8_t codes[3];
    int32_t power_of_two;
};

#define INF (double)INFINITY
#define NOT_A_NUMBER (double)NAN
static const struct trap traps[] = {
    {"zeros", QUERN_F32, QUERN_E4M3, {0, -0.0, 0}, 0, 0, 1, 1, {0, 0x80, 0}, 0},
    {"the largest code is 448, not 240", QUERN_BF16, QUERN_E4M3, {2, -2, 1}, 0, 2, 224, 1.0F / 224, {0x7E, 0xFE, 0x76}, 0},
    {"the largest code is 57344", QUERN_F16, QUERN_E5M2, {2, -2, 1}, 0, 2, 28672, 1.0F / 28672, {0x7B, 0xFB, 0x77}, 0},
    {"NaN stays alone", QUERN_BF16, QUERN_E4M3, {NOT_A_NUMBER, 1, -1}, 0, 1, 448, 1.0F / 448, {0x7F, 0x7E, 0xFE}, 0},
    {"only NaN", QUERN_F16, QUERN_E5M2, {NOT_A_NUMBER, NOT_A_NUMBER, NOT_A_NUMBER}, 0, 0, 1, 1, {0x7F, 0x7F, 0x7F}, 0},
    {"infinity saturates", QUERN_F32, QUERN_E4M3, {INF, -INF, 1}, 0, INFINITY, 1, 1, {0x7E, 0xFE, 0x38}, 0},
    {"infinity saturates in E5M2", QUERN_BF16, QUERN_E5M2, {INF, -INF, 1}, 0, INFINITY, 1, 1, {0x7B, 0xFB, 0x3C}, 0},
    {"the scale overflows", QUERN_F32, QUERN_E4M3, {0x1p-130, 0, 0}, 0, 0x1p-130F, FLT_MAX, 0x1p-128F, {0x28, 0, 0}, 0},
    {"the scale overflows to a power", QUERN_F32, QUERN_E5M2, {0x1p-130, 0, 0}, 0, 0x1p-130F, 0x1p127F, 0x1p-127F, {0x30, 0, 0}, 1},
    {"scale_inv is subnormal", QUERN_F32, QUERN_E4M3, {0x1p-118, 0, 0}, 0, 0x1p-118F, 0x1.Cp126F, 0x1.249248p-127F,
     {0x7E, 0, 0}, 0},
    {"an amax below eps", QUERN_F32, QUERN_E4M3, {0.5, 0, -1}, 4, 1, 112, 1.0F / 112, {0x66, 0, 0xEE}, 0},
    {"an amax of eps", QUERN_F32, QUERN_E4M3, {4, 0, 0}, 4, 4, 112, 1.0F / 112, {0x7E, 0, 0}, 0},
    {"a subnormal eps", QUERN_F32, QUERN_E5M2, {0, 0, 0}, 0x1p-140, 0, FLT_MAX, 0x1p-128F, {0, 0, 0}, 0},
    {"powers of two round down", QUERN_BF16, QUERN_E4M3, {1, -1, 0.5}, 0, 1, 256, 1.0F / 256, {0x78, 0xF8, 0x70}, 1},
    {"a subnormal bf16", QUERN_BF16, QUERN_E4M3, {0x1p-133, 0, 0}, 0, 0x1p-133F, FLT_MAX, 0x1p-128F, {0x10, 0, 0}, 0},
};

static void check_trap(const struct test_device *device, const struct trap *trap) {
    static const int64_t counts[] = {3};
    OPEN_QUANTIZE(q, device, trap->input, trap->output, counts, 1, 0);
    for (int i = 0; i < 3; i++) dtype_store(trap->input, (void *)q.tensors[0].input, i, trap->values[i]);
    q.args.eps = trap->eps, q.args.power_of_two = trap->power_of_two;
    quantize_upload(&q, false);
    quantize_run(&q);
    q.args.amax[0] = trap->amax, q.args.scale[0] = trap->scale, q.args.scale_inv[0] = trap->scale_inv;
    memcpy(q.tensors[0].output, trap->codes, 3);
    quantize_check(&q, trap->name);
}

Test(quantize, known_traps) {
    struct test_device device CLOSED_BY(device_close);
    quantize_device_open(&device);
    for (size_t i = 0; i < COUNT(traps); i++) check_trap(&device, &traps[i]);
}

/* NaN in all places of a vector, with the largest value before or behind them. */
TEST_QUANTIZE_TYPES(quantize, nan_hides_no_amax) {
    static const int64_t counts[] = {1000, 5, 2100, 64, 5000};
    OPEN_QUANTIZE(q, device, input, output, counts, COUNT(counts), 0);
    for (size_t place = 0; place < COUNT(counts); place++) {
        void *values = (void *)q.tensors[place].input;
        for (int64_t i = 1; i < counts[place] - 1; i++)
            if (i % 3 || place == 3) dtype_store(input, values, i, (double)NAN);
        dtype_store(input, values, place % 2 ? 0 : counts[place] - 1, -1000);
    }
    quantize_upload(&q, false);
    quantize_check_run(&q, "NaN beside the largest");
}

/* ---- steps and control ---- */

static const int64_t few[] = {300, 0, 5000, 4097, 1, 33};

/* Two ranks: each has the larger amaxes of both between the steps.  The cast writes no amax. */
TEST_QUANTIZE_TYPES(quantize, amaxes_can_be_reduced_between_the_steps) {
    OPEN_QUANTIZE(q, device, input, output, few, COUNT(few), 0);
    quantize_upload(&q, input == QUERN_BF16);
    quantize_run_amax(&q);
    quantize_model_amax(&q.args);
    quantize_check(&q, "amaxes");
    for (size_t i = 0; i < COUNT(few); i++) q.args.amax[i] = fmaxf(q.args.amax[i], i % 2 ? 3 : 0.001F);
    quantize_update(&q);
    quantize_check_cast(&q, "a cast with reduced amaxes");
}

TEST_QUANTIZE_TYPES(quantize, a_noop_writes_nothing) {
    static const float flags[] = {1, NAN, -0.5F, INFINITY, 0x1p-149F, -0.0F, 0};
    for (size_t i = 0; i < COUNT(flags); i++) {
        OPEN_QUANTIZE(q, device, input, output, few, COUNT(few), i % 2 ? 3 : 0);
        quantize_upload(&q, i % 3 == 0);
        OPEN_BUFFER(flag, device, sizeof flags[i], 4, &flags[i]);
        q.on_device.noop = flag.data;
        quantize_run(&q);
        if (!(i % 2)) quantize_run_amax(&q), quantize_run_cast(&q);
        if (flags[i] == 0) quantize_model(&q.args);
        quantize_check(&q, "noop");
    }
}

#if defined __SSE2__
static void flush_subnormals(void) { __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040); }
#else
static void flush_subnormals(void) {}
#endif

/*
 * An engine that rounds upwards or flushes subnormals.  One whose noop is subnormal writes nothing; otherwise eps is the divisor of
 * all tensors: 16,777,217 rounds to an even fp32, and 2^-140 is not 0.
 */
TEST_QUANTIZE_TYPES(quantize, any_environment_of_the_engine) {
    static const float flags[] = {0, 0, 0x1p-149F};
    static const double eps[] = {0x1p24 + 1, 0x1p-140, 0};
    static const int64_t empty[] = {0, 0};
    for (size_t i = 0; i < COUNT(flags); i++) {
        OPEN_QUANTIZE(q, device, input, output, i == 1 ? empty : few, i == 1 ? COUNT(empty) : COUNT(few), 0);
        fenv_t ours;
        q.args.eps = eps[i];
        quantize_upload(&q, i == 0);
        OPEN_BUFFER(flag, device, sizeof flags[i], 4, &flags[i]);
        q.on_device.noop = flag.data;
        fegetenv(&ours);
        fesetround(FE_UPWARD), flush_subnormals();
        quantize_run(&q);
        check(fegetround() == FE_UPWARD, "the rounding mode was changed");
        fesetenv(&ours);
        if (flags[i] == 0) quantize_model(&q.args);
        quantize_check(&q, "the engine's environment");
    }
}

/* The scales may be left out. */
TEST_QUANTIZE_TYPES(quantize, scales_are_optional) {
    for (int k = 0; k < 3; k++) {
        OPEN_QUANTIZE(q, device, input, output, few, COUNT(few), 0);
        quantize_upload(&q, false);
        if (k != 1) q.args.scale = q.on_device.scale = NULL;
        if (k != 2) q.args.scale_inv = q.on_device.scale_inv = NULL;
        quantize_check_run(&q, "without scales");
    }
}

/* A program of the first header: its structs end before scaling and before columns, and other memory follows them. */
TEST_QUANTIZE_TYPES(quantize, programs_of_an_older_header) {
    enum { OLD_TENSOR = offsetof(quern_quantize_tensor, columns), OLD_ARGS = offsetof(quern_quantize_args, scaling) };
    for (int has_plan = 0; has_plan < 2; has_plan++) {
        _Alignas(void *) char list[COUNT(few) * OLD_TENSOR];
        OPEN_QUANTIZE(q, device, input, output, few, COUNT(few), 0);
        quern_quantize_args *old = &q.on_device;
        quantize_upload(&q, false);
        for (size_t i = 0; i < COUNT(few); i++) memcpy(list + i * OLD_TENSOR, &q.device_tensors[i], OLD_TENSOR);
        memset((char *)old + OLD_ARGS, 0xEE, sizeof *old - OLD_ARGS);
        old->size = QUERN_STRUCT_MARK + OLD_ARGS, old->tensor_size = OLD_TENSOR;
        old->tensors = (const quern_quantize_tensor *)(const void *)list;
        if (has_plan) {
            check_ok(quern_quantize_plan_create(device->quern, old, &q.plan));
            old->plan = q.plan, old->tensors = NULL;
        }
        quantize_check_run(&q, "an older program");
    }
}

/* ---- delayed scaling ---- */

static void scale_inputs(struct quantize_case *q, double factor) {
    for (int64_t place = 0; place < q->args.tensor_count; place++)
        for (int64_t i = 0; i < q->args.tensors[place].count; i++) {
            void *values = (void *)q->tensors[place].input;
            dtype_store(q->args.input_dtype, values, i, dtype_load(q->args.input_dtype, values, i) * factor);
        }
}

/*
 * Windows of one, three and 300 calls over seven, whose inputs grow and shrink.  Once another rank has seen more, and once NaN.
 * Each row of the long window has other values; its largest is in a row that a warp reads in its first turn of three.
 */
TEST_QUANTIZE_TYPES(quantize, a_history_delays_the_scale) {
    static const double factors[] = {1, 8, 0.125, 0.125, 0.5, 4, 4};
    static const int64_t windows[] = {1, 3, 300};
    for (size_t i = 0; i < COUNT(windows); i++) {
        OPEN_QUANTIZE(q, device, input, output, few, COUNT(few), windows[i]);
        q.args.rounding = windows[i] == 3 ? QUERN_ROUND_STOCHASTIC : QUERN_ROUND_NEAREST, q.args.seed = 12;
        quantize_upload(&q, output == QUERN_E4M3);
        for (size_t call = 0; call < COUNT(factors); call++) {
            scale_inputs(&q, factors[call]);
            if (call == 2) q.args.history[0] = 1000;
            if (call == 4) q.args.history[4] = NAN;
            if (call == 5) q.args.history[1] = INFINITY;
            for (size_t at = 0; windows[i] == 300 && call == 1 && at < 300 * COUNT(few); at++)
                q.args.history[at] = at == 290 * COUNT(few) + 2 ? 2000 : (float)(at * 7 % 251);
            quantize_update(&q);
            q.args.offset = q.on_device.offset = call;
            quantize_check_run(&q, "a history");
        }
    }
}

/*
 * An overflow in one call leaves the scale of all later ones as it was: no window keeps an infinity, and one in which there is
 * nothing else, or only zeros, keeps the last scale.
 */
TEST_QUANTIZE_TYPES(quantize, an_infinity_does_not_stay_in_the_scale) {
    static const int64_t counts[] = {70, 9000};
    static const double overflow[] = {0, 0, 1, 0, 0, 1, 1, 0};
    for (int64_t window = 1; window <= 2; window++) {
        OPEN_QUANTIZE(q, device, input, output, counts, COUNT(counts), window);
        const float first = 128;
        q.args.scale[0] = first, q.args.scale[1] = NAN;   /* no scale: counts as 1 */
        void *value = (void *)(uintptr_t)q.tensors[1].input;
        const double usual = dtype_load(input, value, 7);
        quantize_upload(&q, window == 2);
        for (size_t call = 0; call < COUNT(overflow); call++) {
            float last[2];
            memcpy(last, q.args.scale, sizeof last);
            dtype_store(input, value, 7, overflow[call] != 0 ? (double)INFINITY : usual);
            quantize_update(&q);
            quantize_check_run(&q, "an infinity in the history");
            check(call || (last[0] == first && q.args.scale[0] == first && q.args.scale[1] == 1),
                  "a history of zeros has a scale of %g", (double)q.args.scale[0]);
            check(call < 2 || q.args.scale[1] == last[1], "call %zu has another scale, %g", call, (double)q.args.scale[1]);
        }
    }
}

/* ---- plans and graphs ---- */

/* A plan has its own copy of the list; two launches serve any number of tensors, with a history and without. */
TEST_QUANTIZE_TYPES(quantize, a_plan_is_two_launches_with_its_own_list) {
    enum { TENSORS = 3000 };
    static int64_t counts[TENSORS];
    for (int i = 0; i < TENSORS; i++) counts[i] = i % 601 == 7 ? 4100 + i % 5 : i % 9;
    for (int64_t history = 0; history < 2; history++) {
        OPEN_QUANTIZE(q, device, input, output, counts, TENSORS, history);
        quantize_upload(&q, true);
        memset(q.device_tensors, 0xff, sizeof *q.device_tensors * TENSORS);
        for (int call = 0; call < 2; call++) {
            const long long before = device_launches(device);
            quantize_run(&q);
            const long long launched = device_launches(device) - before;
            check(before < 0 || launched == 2, "%lld launches", launched);
            quantize_model(&q.args);
            quantize_check(&q, "a plan");
        }
    }
}

/* Each replay of a captured call reads new inputs and another offset.  A CPU is called each time. */
TEST_QUANTIZE_TYPES(quantize, replays_read_new_inputs_and_offsets) {
    for (int with_plan = 0; with_plan < 2; with_plan++) {
        uint64_t number = 0;
        void *executable = NULL;
        OPEN_QUANTIZE(q, device, input, output, few, COUNT(few), 0);
        q.args.rounding = QUERN_ROUND_STOCHASTIC, q.args.offset = 99;
        quantize_upload(&q, with_plan);
        OPEN_BUFFER(offset, device, sizeof number, 8, &number);
        q.on_device.offset_pointer = offset.data, q.args.offset_pointer = &number;
        if (device->kind == QUERN_CUDA) {
            cuda_begin_capture(device->stream);
            quantize_run(&q);
            executable = cuda_end_capture(device->stream);
        }
        for (number = 0; number < 3; number++) {
            scale_inputs(&q, number % 2 ? 4 : 0.5);
            quantize_update(&q);
            buffer_write(&offset, &number);
            if (executable) CUDA(cuGraphLaunch(executable, device->stream));
            else quantize_check_run(&q, "a replay");
        }
        if (executable) CUDA(cuGraphExecDestroy(executable));
    }
}
