/* Shows the rows and the metadata of a ragged all-to-all.  Called while somebody looks at it. */
#include "ranks/ragged/ragged.h"

#include "../generated/arguments.h"

struct quern_ragged_rows quern_ragged_rows_of(const struct quern_ragged_call *call) {
    return (struct quern_ragged_rows){call->input, call->output, call->input_rows, call->output_rows, call->row_bytes};
}

static bool is_freed(const struct quern_membership *member, const char *pointer, int64_t bytes) {
    struct quern_symmetric_location place;
    return pointer && bytes && quern_symmetric_find(member, pointer, bytes, &place) == QUERN_MEMORY_FREED;
}

struct quern_ragged_rows quern_ragged_rows_left(const struct quern_membership *member, const struct quern_ragged_rows *rows) {
    struct quern_ragged_rows left = *rows;
    if (is_freed(member, rows->input, rows->input_rows * rows->row_bytes)) left.input = NULL;
    if (is_freed(member, rows->output, rows->output_rows * rows->row_bytes)) left.output = NULL;
    return left;
}

/* Rows of the output that no slice reaches keep what they have. */
static void show_rows(const void *context, struct quern_tensor_taker *taker) {
    const struct quern_ragged_rows *rows = context;
    const int64_t bytes = rows->row_bytes;
    quern_show_matrix(taker, "input", rows->input, quern_byte_element, rows->input_rows, bytes, bytes, QUERN_TENSOR_IN);
    quern_show_matrix(taker, "output", rows->output, quern_byte_element, rows->output_rows, bytes, bytes, QUERN_TENSOR_BOTH);
}

static void show(const void *context, struct quern_tensor_taker *taker) {
    const struct quern_ragged_call *call = context;
    const struct quern_ragged_rows rows = quern_ragged_rows_of(call);
    const struct {
        const char *name;
        const void *data;
    } arrays[] = {{"input_offsets", call->input_offsets}, {"send_sizes", call->send_sizes},
                  {"output_offsets", call->output_offsets}, {"recv_sizes", call->recv_sizes}};
    show_rows(&rows, taker);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays && call->updates; i++)
        taker->take(taker, &(struct quern_tensor){
            .name = arrays[i].name, .item = QUERN_NO_ITEM, .data = arrays[i].data, .rows = call->places,
            .columns = call->updates, .stride = call->updates, .access = QUERN_TENSOR_IN, .on_host = !call->metadata_on_device,
            .element = call->metadata_is_int64 ? quern_int64_element : quern_int32_element});
}

const struct quern_view quern_ragged_view = {
    .name = "ragged_all_to_all", QUERN_ARGUMENTS(quern_ragged_all_to_all_args), .tensors = show};
const struct quern_view quern_ragged_plan_view = {.name = "ragged_plan_run", .tensors = show_rows};
