/* One ragged all-to-all of Quern.  Called by dispatch.c. */
#include "exchange.h"

#include <stdlib.h>

#include "check.h"
#include "clock.h"
#include "memory.h"

static quern_ragged_all_to_all_args arguments(const struct exchange *exchange, int64_t input_rows) {
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    args.metadata_dtype = QUERN_INT64;
    args.input_rows = input_rows;
    args.row_bytes = exchange->row_bytes;
    args.updates = exchange->updates;
    args.input_offsets = exchange->input_offsets;
    args.send_sizes = exchange->send_sizes;
    args.output_offsets = exchange->output_offsets;
    args.recv_sizes = exchange->recv_sizes;
    return args;
}

bool exchange_create(struct exchange *exchange, struct rank *rank, enum purpose purpose, int64_t input_rows, int64_t row_bytes,
                     int64_t updates) {
    size_t entries = (size_t)(rank->ranks * updates), bytes = 0;
    *exchange = (struct exchange){
        .rank = rank,
        .purpose = purpose,
        .row_bytes = row_bytes,
        .updates = updates,
        .input_offsets = allocate(entries * sizeof(int64_t)),
        .send_sizes = allocate(entries * sizeof(int64_t)),
        .output_offsets = allocate(entries * sizeof(int64_t)),
        .recv_sizes = allocate(entries * sizeof(int64_t)),
    };
    quern_ragged_all_to_all_args args = arguments(exchange, input_rows);
    return succeeded("quern_ragged_all_to_all_workspace", quern_ragged_all_to_all_workspace(rank->group, &args, &bytes)) &&
           rank_memory_create(rank, &exchange->workspace, bytes);
}

void exchange_free(struct exchange *exchange) {
    rank_memory_free(&exchange->workspace);
    free(exchange->input_offsets);
    free(exchange->send_sizes);
    free(exchange->output_offsets);
    free(exchange->recv_sizes);
    *exchange = (struct exchange){0};
}

static void account(const struct exchange *exchange, double seconds) {
    struct rank *rank = exchange->rank;
    rank->totals.seconds[exchange->purpose] += seconds;
    for (int64_t i = 0; i < rank->ranks * exchange->updates; i++)
        if (i / exchange->updates != rank->rank)
            rank->totals.bytes[exchange->purpose] += exchange->send_sizes[i] * exchange->row_bytes;
}

bool exchange_run(struct exchange *exchange, const struct mirrored *input, int64_t input_rows, const struct mirrored *output,
                  int64_t output_rows) {
    const struct rank *rank = exchange->rank;
    const struct device_memory *memory = &rank->device->memory;
    struct mirrored sent = mirrored_part(input, 0, input_rows * exchange->row_bytes);
    struct mirrored received = mirrored_part(output, 0, output_rows * exchange->row_bytes);
    quern_ragged_all_to_all_args args = arguments(exchange, input_rows);
    args.input = sent.device;
    args.output = received.device;
    args.output_rows = output_rows;

    double start = seconds_now();
    if (!device_memory_upload(memory, &sent)) return false;
    if (!succeeded("quern_ragged_all_to_all", quern_ragged_all_to_all(rank->group, &args, exchange->workspace.device,
                                                                      exchange->workspace.bytes, memory->stream)))
        return false;
    if (!device_memory_wait(memory) || !succeeded("the exchange on the GPU", quern_group_status(rank->group)) ||
        !device_memory_download(memory, &received))
        return false;
    account(exchange, seconds_now() - start);
    return true;
}
