/*
 * Quantisation to transposed matrices and in blocks of 32 elements (MX), bit for bit: shapes, values, lists, plans, control.
 *
 * Runs on: cpu, every emulated, gpu; kernels of quantize.
 */
#include <float.h>

#include "harness/cuda.h"
#include "harness/quantize_case.h"
#include "harness/random.h"
#include "kernels/quantize_problem.h"
#include "oracle/dtype.h"
#include "oracle/quantize.h"

/* ---- shapes ---- */

/*
 * Whole tiles, parts of them, rows of a CPU's longer strips, no elements; then any sizes.  The whole tiles of the first row and of
 * places 16 to 18 begin at a vector in all arrays; at place 23 those of the transposed matrix do not.
 */
enum { FIXED = 25, RANDOM = 10, LONGEST = 300 };

static void fill_shapes(struct quantize_shape *shapes) {
    const struct quantize_shape fixed[FIXED] = {
        {32, 64, false, true}, {64, 256, false, true}, {33, 65, false, true}, {1, 1, false, true}, {1, 300, true, true},
        {300, 1, false, true}, {31, 31, true, true}, {65, 257, false, true}, {0, 5, false, true}, {5, 0, false, true},
        {8, 24, false, true}, {40, 72, true, true}, {1, 0, false, false}, {3, 2100, false, false}, {70, 33, false, false},
        {1, 31, false, false}, {32, 128, true, true}, {65, 64, false, false}, {40, 128, true, true}, {2, 32, false, false},
        {2, 2048, false, false}, {test_size(70, 3), 1100, false, false}, {1, test_size(16500, 500), false, false},
        {35, 64, false, true}, {test_size(200, 7), 96, false, false}};
    memcpy(shapes, fixed, sizeof fixed);
    for (int i = 0; i < RANDOM; i++) {
        const uint64_t at = (uint64_t)i;
        const int64_t rows = 1 + random_below(3, at, test_size(LONGEST, 70)), columns = 1 + random_below(4, at, LONGEST);
        shapes[FIXED + i] = (struct quantize_shape){rows, columns, i % 5 == 4, i % 5 > 1};
    }
}

TEST_QUANTIZE_TYPES(quantize_matrices, any_shape) {
    static const quern_scaling scalings[] = {QUERN_SCALING_MX, QUERN_SCALING_TENSOR};
    static unsigned way;
    struct quantize_shape shapes[FIXED + RANDOM];
    fill_shapes(shapes);
    for (size_t i = 0; i < 2 * COUNT(scalings); i++, way += 5) {
        OPEN_MATRICES(q, device, input, output, scalings[i % 2], shapes, FIXED + RANDOM, 0);
        quantize_check_way(&q, way % QUANTIZE_WAYS, i % 2 ? "a transposed matrix" : "blocks");
    }
}

/* ---- values ---- */

/* Values of a block within 14 powers of two of each other, which begin anywhere, with zeros, infinity and NaN among them. */
static double value_at(quern_dtype input, int64_t i) {
    const int least = input == QUERN_F16 ? -24 : -149, most = input == QUERN_F16 ? 15 : 127;
    const int power = least + (int)random_below(7, (uint64_t)i / 32, most - least + 1);
    const uint64_t bits = random_bits(8, (uint64_t)i);
    if (bits % 61 == 0) return (double)NAN;
    if (bits % 997 == 1) return bits % 2 ? (double)INFINITY : -(double)INFINITY;
    const double fraction = bits % 5 ? 1 + random_uniform(9, (uint64_t)i) : 1.75;
    return bits % 13 == 2 ? 0 : ldexp(bits & 64 ? fraction : -fraction, power - (int)(bits >> 8) % 14);
}

/* All elements of the first blocks are NaN, along rows and along columns. */
static double value_of(quern_dtype input, int64_t i, int64_t columns, int64_t first) {
    const bool is_in_corner = i / columns < QUERN_QUANTIZE_BLOCK && i % columns < QUERN_QUANTIZE_BLOCK;
    return is_in_corner ? (double)NAN : value_at(input, first + i);
}

/* Whole tiles when rounded to nearest. */
TEST_QUANTIZE_TYPES(quantize_matrices, any_value) {
    const struct quantize_shape shape = {test_size(96, 32), test_size(640, 160), false, true};
    for (int k = 0; k < 4; k++) {
        OPEN_MATRICES(q, device, input, output, k < 2 ? QUERN_SCALING_MX : QUERN_SCALING_TENSOR, &shape, 1, 0);
        for (int64_t i = 0; i < q.tensors[0].count; i++)
            dtype_store(input, (void *)q.tensors[0].input, i, value_of(input, i, shape.columns, k % 2 * 100000));
        q.args.rounding = k % 2 ? QUERN_ROUND_STOCHASTIC : QUERN_ROUND_NEAREST, q.args.seed = 6;
        quantize_upload(&q, false);
        quantize_check_run(&q, "any value");
    }
}

/* Blocks of three elements: their scale and codes. */
struct trap {
    const char *name;
    quern_dtype input, output;
    double values[3];
    uint8_t scale, codes[3];
};

#define INF (double)INFINITY
#define NOT_A_NUMBER (double)NAN
static const struct trap traps[] = {
    {"zeros", QUERN_F32, QUERN_E4M3, {0, -0.0, 0}, 0, {0, 0x80, 0}},
    {"the largest value of E4M3", QUERN_F32, QUERN_E4M3, {448, -448, 1}, 127, {0x7E, 0xFE, 0x38}},
    {"just above it", QUERN_F32, QUERN_E4M3, {0x1.C00002p8, 0, 0}, 128, {0x76, 0, 0}},
    {"the largest value of E5M2", QUERN_F16, QUERN_E5M2, {57344, 1, 0}, 127, {0x7B, 0x3C, 0}},
    {"above it", QUERN_F16, QUERN_E5M2, {65504, 0, 0}, 128, {0x78, 0, 0}},
    {"a power of two", QUERN_BF16, QUERN_E4M3, {1, -1, 0.5}, 119, {0x78, 0xF8, 0x70}},
    {"a fraction of 1.75", QUERN_BF16, QUERN_E4M3, {1.75, 0, 0}, 119, {0x7E, 0, 0}},
    {"a larger fraction", QUERN_BF16, QUERN_E4M3, {1.7578125, 0, 0}, 120, {0x76, 0, 0}},
    {"NaN stays alone", QUERN_BF16, QUERN_E4M3, {NOT_A_NUMBER, 1, -1}, 119, {0x7F, 0x78, 0xF8}},
    {"only NaN", QUERN_F16, QUERN_E5M2, {NOT_A_NUMBER, NOT_A_NUMBER, NOT_A_NUMBER}, 0, {0x7F, 0x7F, 0x7F}},
    {"infinity is the largest value times 2^127", QUERN_F32, QUERN_E4M3, {INF, -INF, 1}, 254, {0x7E, 0xFE, 0}},
    {"infinity beside the largest fp32", QUERN_F32, QUERN_E4M3, {INF, (double)FLT_MAX, 0x1p125}, 254, {0x7E, 0x40, 0x28}},
    {"infinity in E5M2", QUERN_BF16, QUERN_E5M2, {-INF, 0x1p127, NOT_A_NUMBER}, 254, {0xFB, 0x3C, 0x7F}},
    {"the largest fp32", QUERN_F32, QUERN_E4M3, {(double)FLT_MAX, 0, 0}, 247, {0x78, 0, 0}},
    {"the largest fp32 in E5M2", QUERN_F32, QUERN_E5M2, {(double)FLT_MAX, 0, 0}, 240, {0x78, 0, 0}},
    {"the last amax of the scale 2^-127", QUERN_F32, QUERN_E4M3, {0x1.Cp-119, 0, 0}, 0, {0x7E, 0, 0}},
    {"the first amax of 2^-126", QUERN_F32, QUERN_E4M3, {0x1.C00002p-119, 0, 0}, 1, {0x76, 0, 0}},
    {"the last amax of 2^-127 in E5M2", QUERN_F32, QUERN_E5M2, {0x1.Cp-112, 0, 0}, 0, {0x7B, 0, 0}},
    {"a subnormal fp32", QUERN_F32, QUERN_E4M3, {0x1p-130, 0, -0x1p-149}, 0, {0x20, 0, 0x80}},
    {"a subnormal bf16", QUERN_BF16, QUERN_E4M3, {0x1p-133, 0, 0}, 0, {0x08, 0, 0}},
};

/* As a row and, transposed, as a column. */
static void check_trap(const struct test_device *device, const struct trap *trap, bool as_column) {
    const struct quantize_shape shape = {as_column ? 3 : 1, as_column ? 1 : 3, as_column, as_column};
    OPEN_MATRICES(q, device, trap->input, trap->output, QUERN_SCALING_MX, &shape, 1, 0);
    for (int i = 0; i < 3; i++) dtype_store(trap->input, (void *)q.tensors[0].input, i, trap->values[i]);
    quantize_upload(&q, false);
    quantize_run(&q);
    memcpy(as_column ? q.tensors[0].transposed : q.tensors[0].output, trap->codes, 3);
    *(as_column ? q.tensors[0].transposed_block_scales : q.tensors[0].block_scales) = trap->scale;
    quantize_check(&q, trap->name);
}

Test(quantize_matrices, known_traps_of_blocks) {
    struct test_device device CLOSED_BY(device_close);
    quantize_device_open(&device);
    for (size_t i = 0; i < COUNT(traps); i++) check_trap(&device, &traps[i], false), check_trap(&device, &traps[i], true);
}

/* ---- lists and plans ---- */

static int64_t divide_up(int64_t count, int64_t by) { return (count + by - 1) / by; }

/* Blocks take one launch with a plan; transposed matrices two.  A history is one launch for the whole list. */
static int64_t expected_launches(quern_scaling scaling, int64_t tensors, bool planned, bool has_history) {
    const int64_t casts = planned ? 1 : divide_up(tensors, QUERN_QUANTIZE_MATRICES);
    const int64_t searches = planned || has_history ? 1 : divide_up(tensors, QUERN_QUANTIZE_BATCH);
    return casts + (scaling == QUERN_SCALING_MX ? 0 : searches);
}

static void check_list(const struct test_device *device, quern_scaling scaling, bool planned, bool has_history) {
    enum { MANY = 10000 };
    static struct quantize_shape shapes[MANY];
    const int64_t tensors = test_size(MANY, 1000);
    for (int64_t i = 0; i < tensors; i++)
        shapes[i] = (struct quantize_shape){i % 4, 1 + i % 3, i % 5 == 4, i % 5 > 2};
    OPEN_MATRICES(q, device, QUERN_BF16, QUERN_E4M3, scaling, shapes, tensors, has_history ? 2 : 0);
    q.args.rounding = planned ? QUERN_ROUND_STOCHASTIC : QUERN_ROUND_NEAREST;
    quantize_upload(&q, planned);
    const int64_t expected = expected_launches(scaling, tensors, planned, has_history);
    if (planned) memset(q.device_tensors, 0xff, sizeof *q.device_tensors * (size_t)tensors);
    for (int call = 0; call < 2; call++) {
        const long long before = device_launches(device);
        quantize_run(&q);
        const long long launched = device_launches(device) - before;
        check(before < 0 || launched == expected, "%lld launches, not %lld", launched, (long long)expected);
        quantize_model(&q.args);
        quantize_check(&q, "a long list");
    }
}

Test(quantize_matrices, long_lists_take_few_launches) {
    struct test_device device CLOSED_BY(device_close);
    quantize_device_open(&device);
    for (int way = 0; way < 4; way++) check_list(&device, way & 1 ? QUERN_SCALING_MX : QUERN_SCALING_TENSOR, way & 2, false);
    check_list(&device, QUERN_SCALING_TENSOR, true, true);
}

/* A matrix beside tensors that are not transposed, whose columns are then not read. */
TEST_QUANTIZE_TYPES(quantize_matrices, other_tensors_of_the_list_have_no_columns) {
    static const struct quantize_shape shapes[] = {{1, 3000, false, false}, {70, 90, false, true}, {1, 33, false, false}};
    for (int64_t history = 0; history < 3; history += 2) {
        OPEN_MATRICES(q, device, input, output, QUERN_SCALING_DEFAULT, shapes, COUNT(shapes), history);
        q.tensors[0].columns = 7, q.tensors[2].columns = -1;
        quantize_upload(&q, history);
        for (int call = 0; call < 3; call++) {
            quantize_check_run(&q, "a mixed list");
        }
    }
}

/* ---- control ---- */

/* A noop writes nothing; otherwise the offset in device memory gives the random bits. */
TEST_QUANTIZE_TYPES(quantize_matrices, a_noop_writes_nothing_and_an_offset_is_read_on_the_device) {
    static const struct quantize_shape shapes[] = {{33, 40, false, true}, {2, 70, false, false}};
    static const float flags[] = {0, NAN, 1};
    for (size_t i = 0; i < COUNT(flags); i++) {
        uint64_t number = 5;
        const quern_scaling scaling = i == 2 ? QUERN_SCALING_TENSOR : QUERN_SCALING_MX;
        OPEN_MATRICES(q, device, input, output, scaling, shapes, COUNT(shapes), 0);
        q.args.rounding = QUERN_ROUND_STOCHASTIC, q.args.offset = 99;
        quantize_upload(&q, false);
        OPEN_BUFFER(flag, device, sizeof flags[i], 4, &flags[i]);
        OPEN_BUFFER(offset, device, sizeof number, 8, &number);
        q.on_device.noop = flag.data, q.on_device.offset_pointer = offset.data, q.args.offset_pointer = &number;
        quantize_run(&q);
        if (flags[i] == 0) quantize_model(&q.args);
        quantize_check(&q, "control");
    }
}
