/* Shows the tensors of a quantisation.  Called while somebody looks at it. */
#include "quantize/quantize.h"

#include "../generated/arguments.h"

/* The outputs of one tensor. */
static void show_outputs(struct quern_tensor_taker *taker, const struct quern_quantize_call *call,
                         const quern_quantize_tensor *tensor, int64_t place) {
    const struct quern_element element = quern_element_of(call->args.output_dtype);
    const struct quern_quantize_matrix matrix = quern_quantize_matrix_of(tensor, call->form.in_blocks);
    const int64_t across = quern_divide_up(matrix.columns, QUERN_QUANTIZE_BLOCK);
    const int64_t down = quern_divide_up(matrix.rows, QUERN_QUANTIZE_BLOCK);
    quern_show_item(taker, "output", place, tensor->output, element, tensor->count, QUERN_TENSOR_OUT);
    quern_show_item(taker, "transposed", place, tensor->transposed, element, tensor->count, QUERN_TENSOR_OUT);
    if (!call->form.in_blocks) return;
    if (tensor->output)
        quern_show_item(taker, "block_scales", place, tensor->block_scales, quern_byte_element, matrix.rows * across,
                        QUERN_TENSOR_OUT);
    if (tensor->transposed)
        quern_show_item(taker, "transposed_block_scales", place, tensor->transposed_block_scales, quern_byte_element,
                        matrix.columns * down, QUERN_TENSOR_OUT);
}

static void show_arrays(struct quern_tensor_taker *taker, const struct quern_quantize_call *call) {
    const quern_quantize_args *args = &call->args;
    const bool finds = call->steps & QUERN_QUANTIZE_FINDS, casts = call->steps & QUERN_QUANTIZE_CASTS;
    if (!call->form.in_blocks) {
        quern_show_vector(taker, "amax", args->amax, quern_float_element, call->count,
                          finds ? QUERN_TENSOR_OUT : QUERN_TENSOR_IN);
        if (casts) quern_show_vector(taker, "scale", args->scale, quern_float_element, call->count,
                                      args->history ? QUERN_TENSOR_BOTH : QUERN_TENSOR_OUT);
        if (casts) quern_show_vector(taker, "scale_inv", args->scale_inv, quern_float_element, call->count, QUERN_TENSOR_OUT);
        if (casts)
            quern_show_matrix(taker, "history", args->history, quern_float_element, args->history_length, call->count, call->count,
                              QUERN_TENSOR_BOTH);
    }
    quern_show_vector(taker, "noop", args->noop, quern_float_element, 1, QUERN_TENSOR_IN);
    if (casts) quern_show_vector(taker, "offset_pointer", args->offset_pointer, quern_int64_element, 1, QUERN_TENSOR_IN);
}

static void show(const void *context, struct quern_tensor_taker *taker) {
    const struct quern_quantize_call *call = context;
    for (int64_t place = 0; place < call->count; place++) {
        const quern_quantize_tensor tensor = quern_quantize_tensor_at(&call->list, place);
        if (!tensor.count) continue;
        quern_show_item(taker, "input", place, tensor.input, quern_element_of(call->args.input_dtype), tensor.count,
                        QUERN_TENSOR_IN);
        if (call->steps & QUERN_QUANTIZE_CASTS) show_outputs(taker, call, &tensor, place);
    }
    show_arrays(taker, call);
}

#define VIEW(function) {.name = function, QUERN_ARGUMENTS(quern_quantize_args), .tensors = show}

static const struct quern_view views[] = {
    [QUERN_QUANTIZE_FINDS] = VIEW("quantize_amax"),
    [QUERN_QUANTIZE_CASTS] = VIEW("quantize_cast"),
    [QUERN_QUANTIZE_FINDS | QUERN_QUANTIZE_CASTS] = VIEW("quantize"),
};

const struct quern_view *quern_quantize_view(int steps) { return &views[steps]; }
