/*
 * Quantisation to 8 bits in double, one value at a time.  quantize.h documents the functions.
 *
 * A product of two fp32 values, and a quotient that is rounded to fp32, have enough bits in double: each is rounded once.
 */
#include "oracle/quantize.h"

#include <float.h>
#include <math.h>

#include "oracle/adam_value.h"
#include "oracle/dtype.h"

static float scale_of(const quern_quantize_args *args, float amax) {
    const double divisor = (double)amax < (double)(float)args->eps ? (double)(float)args->eps : (double)amax;
    if (isnan(divisor) || isinf(divisor) || divisor <= 0) return 1;
    double scale = dtype_round(QUERN_F32, dtype_largest(args->output_dtype) / divisor);
    if (isinf(scale)) scale = (double)FLT_MAX;
    return (float)(args->power_of_two ? ldexp(1, ilogb(scale)) : scale);
}

void quantize_model_amax(const quern_quantize_args *args) {
    for (int64_t place = 0; place < args->tensor_count; place++) {
        double amax = 0;
        for (int64_t i = 0; i < args->tensors[place].count; i++)
            amax = fmax(amax, fabs(dtype_load(args->input_dtype, args->tensors[place].input, i)));
        args->amax[place] = (float)amax;
    }
}

static uint8_t code_of(const quern_quantize_args *args, double product, int64_t place, int64_t i) {
    const double largest = dtype_largest(args->output_dtype);
    if (isnan(product)) return (uint8_t)dtype_encode(args->output_dtype, product);
    const double held = fmin(fmax(product, -largest), largest);
    if (args->rounding != QUERN_ROUND_STOCHASTIC)
        return (uint8_t)dtype_encode(args->output_dtype, held == 0 ? product : held);
    const quern_adam_args random = {.seed = args->seed,
                                    .step = (int64_t)(args->offset_pointer ? *args->offset_pointer : args->offset)};
    return (uint8_t)adam_round_stochastic(args->output_dtype, (float)held, adam_random_bits(&random, place, i, ADAM_V));
}

static void cast(const quern_quantize_args *args, int64_t place, float scale) {
    const quern_quantize_tensor *tensor = &args->tensors[place];
    if (args->scale) args->scale[place] = scale;
    if (args->scale_inv) args->scale_inv[place] = (float)(1 / (double)scale);
    for (int64_t i = 0; i < tensor->count; i++) {
        const double exact = dtype_load(args->input_dtype, tensor->input, i) * (double)scale;
        const uint8_t code = code_of(args, (double)(float)exact, place, i);
        if (tensor->output) ((uint8_t *)tensor->output)[i] = code;
        if (tensor->transposed)
            ((uint8_t *)tensor->transposed)[i % tensor->columns * (tensor->count / tensor->columns) + i / tensor->columns] = code;
    }
}

/* ---- blocks ---- */

enum { BLOCK = 32, BIAS = 127, MOST = 127 };

/* A row or a column of a tensor. */
struct line {
    int64_t place, first, stride, count;
    uint8_t *codes, *scales;
};

/* The power of two that is the scale of a block with this amax. */
static int block_power(quern_dtype output, double amax) {
    int power = -BIAS;
    while (power < MOST && amax > ldexp(dtype_largest(output), power)) power++;
    return isinf(amax) ? MOST : power;
}

static void cast_line(const quern_quantize_args *args, const struct line *line) {
    const void *input = args->tensors[line->place].input;
    for (int64_t first = 0; first < line->count; first += BLOCK) {
        const int64_t end = first + BLOCK < line->count ? first + BLOCK : line->count;
        double amax = 0;
        for (int64_t k = first; k < end; k++)
            amax = fmax(amax, fabs(dtype_load(args->input_dtype, input, line->first + k * line->stride)));
        const int power = block_power(args->output_dtype, amax);
        line->scales[first / BLOCK] = (uint8_t)(power + BIAS);
        for (int64_t k = first; k < end; k++) {
            const int64_t i = line->first + k * line->stride;
            const double exact = ldexp(dtype_load(args->input_dtype, input, i), -power);
            line->codes[k] = code_of(args, (double)(float)exact, line->place, i);
        }
    }
}

static void cast_blocks(const quern_quantize_args *args, int64_t place) {
    const quern_quantize_tensor *tensor = &args->tensors[place];
    const int64_t columns = tensor->columns, rows = tensor->count ? tensor->count / columns : 0;
    const int64_t of_row = (columns + BLOCK - 1) / BLOCK, of_column = (rows + BLOCK - 1) / BLOCK;
    uint8_t *output = tensor->output, *transposed = tensor->transposed;
    for (int64_t row = 0; output && row < rows; row++)
        cast_line(args, &(struct line){place, row * columns, 1, columns, output + row * columns,
                                       tensor->block_scales + row * of_row});
    for (int64_t column = 0; transposed && rows && column < columns; column++)
        cast_line(args, &(struct line){place, column, columns, rows, transposed + column * rows,
                                       tensor->transposed_block_scales + column * of_column});
}

/* ---- calls ---- */

void quantize_model_cast(const quern_quantize_args *args) {
    for (int64_t place = 0; place < args->tensor_count; place++)
        cast(args, place, scale_of(args, args->amax[place]));
}

/* Of the finite ones. */
static float largest_of_history(const quern_quantize_args *args, int64_t place) {
    float largest = 0;
    for (int64_t row = 0; row < args->history_length; row++) {
        const float amax = args->history[row * args->tensor_count + place];
        if (isfinite(amax) && amax > largest) largest = amax;
    }
    return largest;
}

/* Without any above 0 the last scale stays. */
static float delayed_scale(const quern_quantize_args *args, int64_t place) {
    const float largest = largest_of_history(args, place), last = args->scale[place];
    if (largest > 0) return scale_of(args, largest);
    return isfinite(last) && last > 0 ? last : 1;
}

void quantize_model(const quern_quantize_args *args) {
    if (args->scaling == QUERN_SCALING_MX) {
        for (int64_t place = 0; place < args->tensor_count; place++) cast_blocks(args, place);
        return;
    }
    quantize_model_amax(args);
    if (!args->history) {
        quantize_model_cast(args);
        return;
    }
    for (int64_t place = 0; place < args->tensor_count; place++) {
        float *history = args->history + place;
        cast(args, place, delayed_scale(args, place));
        for (int64_t row = args->history_length - 1; row > 0; row--)
            history[row * args->tensor_count] = history[(row - 1) * args->tensor_count];
        history[0] = args->amax[place];
    }
}
