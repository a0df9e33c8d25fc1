/* Shows the tensors of quantised chunks.  Called while somebody looks at the call. */
#include "ranks/chunks/chunks.h"

#include "../generated/arguments.h"

static void show(const void *context, struct quern_tensor_taker *taker) {
    const struct quern_chunks_call *call = context;
    const quern_quantize_chunks_args *args = &call->args;
    const int64_t rows = call->elements ? args->rows : 0, columns = args->columns;
    quern_show_matrix(taker, "input", args->input, quern_element_of(args->input_dtype), rows, columns, columns, QUERN_TENSOR_IN);
    quern_show_matrix(taker, "output", args->output, quern_element_of(args->output_dtype), call->places * rows, columns, columns,
                      QUERN_TENSOR_OUT);
    quern_show_matrix(taker, "ready", args->ready, quern_uint32_element, call->places, call->chunks, call->chunks,
                      QUERN_TENSOR_BOTH);
    quern_show_matrix(taker, "block_scales", args->block_scales, quern_byte_element, call->places * rows, call->across,
                      call->across, QUERN_TENSOR_OUT);
    quern_show_vector(taker, "amax", args->amax, quern_float_element, 1, QUERN_TENSOR_OUT);
    quern_show_vector(taker, "scale", args->scale, quern_float_element, 1, QUERN_TENSOR_OUT);
    quern_show_vector(taker, "scale_inv", args->scale_inv, quern_float_element, 1, QUERN_TENSOR_OUT);
    quern_show_vector(taker, "offset_pointer", args->offset_pointer, quern_int64_element, 1, QUERN_TENSOR_IN);
}

const struct quern_view quern_quantize_chunks_view = {
    .name = "quantize_chunks", QUERN_ARGUMENTS(quern_quantize_chunks_args), .tensors = show};

/* Other ranks may be writing the words. */
const struct quern_view quern_chunk_wait_view = {.name = "chunk_wait"};
