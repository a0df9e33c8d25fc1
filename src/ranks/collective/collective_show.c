/* Shows the input and the output of a collective.  Called while somebody looks at it. */
#include "ranks/collective/collective.h"

#include "../generated/arguments.h"

/* Only the root of a broadcast has an input. */
static void show(const void *context, struct quern_tensor_taker *taker) {
    const struct quern_collective_call *call = context;
    const struct quern_element element = quern_element_of(call->dtype);
    const int64_t bytes = call->element_bytes;
    if (call->form->scatters && call->input_stride > call->count)
        quern_show_matrix(taker, "input", call->input, element, call->places, call->count, call->input_stride, QUERN_TENSOR_IN);
    else
        quern_show_vector(taker, "input", call->input, element, call->input_bytes / bytes, QUERN_TENSOR_IN);
    quern_show_vector(taker, "output", call->output, element, call->output_bytes / bytes, QUERN_TENSOR_OUT);
}

#define DEFINE_VIEW(operation) \
    const struct quern_view quern_##operation##_view = { \
        .name = #operation, QUERN_ARGUMENTS(quern_collective_args), .tensors = show};

DEFINE_VIEW(all_gather)
DEFINE_VIEW(reduce_scatter)
DEFINE_VIEW(all_reduce)
DEFINE_VIEW(broadcast)
