/* One ragged all-to-all of three ranks, which a test changes by hand.  one_exchange.h documents the functions. */
#include "harness/one_exchange.h"

enum { UNTOUCHED = 0xEE };

/* The host's changes reach the device. */
static void show(struct one_exchange *one) {
    rank_bench_put(one->bench, one->args.output, 2 * EXCHANGED);
    rank_bench_put(one->bench, one->args.input, EXCHANGED);
}

void exchange_make(struct one_exchange *one, struct rank_bench *bench) {
    struct rank *rank = bench->rank;
    void *output = bench->pool[rank_reaches(rank) ? POOL_SYMMETRIC : POOL_PRIVATE] + OUTPUT_AT;
    unsigned char *input = bench->image[POOL_PRIVATE];
    *one = (struct one_exchange){.rank = rank, .bench = bench, .args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT,
                                 .output = rank_bench_image(bench, output), .workspace = bench->workspace, .stream = bench->stream};
    for (int entry = 0; entry < ENTRIES; entry++) {
        one->input_offsets[entry] = SLICE * entry;
        one->output_offsets[entry] = SLICE * (rank->rank * UPDATES + entry % UPDATES);
        one->send_sizes[entry] = one->recv_sizes[entry] = SLICE;
    }
    for (int i = 0; i < EXCHANGED; i++) input[i] = (unsigned char)(100 * rank->rank + i);
    memset(one->output, UNTOUCHED, 2 * EXCHANGED);
    quern_ragged_all_to_all_args *args = &one->args;
    args->metadata_dtype = QUERN_INT64, args->row_bytes = ROW_BYTES, args->updates = UPDATES, args->check_overlap = 1;
    args->input = bench->pool[POOL_PRIVATE], args->input_rows = ROWS, args->output = output, args->output_rows = ROWS;
    args->input_offsets = one->input_offsets, args->send_sizes = one->send_sizes;
    args->output_offsets = one->output_offsets, args->recv_sizes = one->recv_sizes;
    show(one);
    rank_ok(rank, quern_ragged_all_to_all_workspace(bench->group, args, &one->workspace_bytes));
}

quern_status exchange_call(const struct one_exchange *one) {
    return quern_ragged_all_to_all(one->bench->group, &one->args, one->workspace, one->workspace_bytes, one->stream);
}

quern_status exchange_run(struct one_exchange *one) { return rank_bench_status(one->bench, exchange_call(one)); }

quern_status exchange_plan(struct one_exchange *one, quern_ragged_plan **plan) {
    return quern_ragged_plan_create(&one->bench->group, 1, &one->args, &one->workspace, &one->workspace_bytes, plan);
}

/* Of GPUs, whose arguments may point elsewhere by mistake. */
static void look(const struct one_exchange *one) {
    if (rank_reaches(one->rank)) rank_bench_seen(one->bench, one->bench->pool[POOL_SYMMETRIC] + OUTPUT_AT, 2 * EXCHANGED);
}

void exchange_check(const struct one_exchange *one) {
    look(one);
    for (int i = 0; i < EXCHANGED; i++) {
        const int sender = i / (UPDATES * SLICE * ROW_BYTES), inside = i % (UPDATES * SLICE * ROW_BYTES);
        const unsigned char expected = (unsigned char)(100 * sender + one->rank->rank * UPDATES * SLICE * ROW_BYTES + inside);
        rank_check(one->rank, one->output[i] == expected, "byte %d is %d instead of %d", i, one->output[i], expected);
    }
}

void exchange_check_unwritten(const struct one_exchange *one, const char *what) {
    look(one);
    for (int i = 0; i < 2 * EXCHANGED; i++) {
        const int before = one->form.in_place && i < EXCHANGED ? one->bench->image[POOL_PRIVATE][i] : UNTOUCHED;
        rank_check(one->rank, one->output[i] == before, "%s: byte %d was written", what, i);
    }
}

void exchange_rightly(struct one_exchange *one, struct rank_bench *bench) {
    exchange_make(one, bench);
    rank_ok(one->rank, exchange_run(one));
    exchange_check(one);
}

/* ---- whatever the operation ---- */

const struct exchange_form exchange_usual = {false, false, false};

static void make(void *given, struct rank_bench *bench, const void *given_form) {
    const struct exchange_form *form = given_form;
    struct one_exchange *one = given;
    exchange_make(one, bench);
    one->form = *form, one->args.check_overlap = !form->short_way;
    if (!form->in_place) return;
    memcpy(one->output, bench->image[POOL_PRIVATE], EXCHANGED);
    one->args.input = one->args.output;
    show(one);
    rank_ok(one->rank, quern_ragged_all_to_all_workspace(bench->group, &one->args, &one->workspace_bytes));
}

static void move_metadata(void *given) {
    struct one_exchange *one = given;
    const void **arrays[] = {&one->args.input_offsets, &one->args.send_sizes, &one->args.output_offsets, &one->args.recv_sizes};
    for (size_t i = 0; i < COUNT(arrays) && one->form.metadata_on_device; i++) {
        char *there = one->bench->metadata + i * sizeof one->send_sizes;
        if (*arrays[i]) rank_bench_write(one->bench, there, *arrays[i], sizeof one->send_sizes);
        if (*arrays[i]) *arrays[i] = there;
    }
    one->args.metadata_on_device = one->form.metadata_on_device;
}

ONE_KIND(exchange_kind, struct one_exchange, make, move_metadata, exchange_call, exchange_check, exchange_check_unwritten,
         "quern_ragged_all_to_all");

/* ---- faults of the metadata ---- */

EXCHANGE_MISTAKE(negative_input_offset, call->input_offsets[5] = -3)
EXCHANGE_MISTAKE(negative_send_size, call->send_sizes[1] = -2)
EXCHANGE_MISTAKE(negative_output_offset, call->output_offsets[4] = INT64_MIN)
EXCHANGE_MISTAKE(negative_recv_size, call->recv_sizes[0] = -1)
EXCHANGE_MISTAKE(beyond_input, call->input_offsets[3] = ROWS - 1)
EXCHANGE_MISTAKE(far_beyond_input, call->input_offsets[3] = INT64_MAX)
EXCHANGE_MISTAKE(beyond_input_by_32_bits, call->input_offsets[3] += (int64_t)1 << 32)
EXCHANGE_MISTAKE(just_beyond_input, args->input_rows = ROWS - 1)
EXCHANGE_MISTAKE(beyond_output, call->output_offsets[0] = ROWS - 1)
EXCHANGE_MISTAKE(far_beyond_output, call->output_offsets[0] = INT64_MAX - 1)
EXCHANGE_MISTAKE(beyond_output_by_32_bits, call->output_offsets[0] += (int64_t)1 << 32)
EXCHANGE_MISTAKE(just_beyond_output, args->output_rows = ROWS - 1)
EXCHANGE_MISTAKE(sends_less, call->send_sizes[2] = 1)
EXCHANGE_MISTAKE(sends_more, call->send_sizes[2] = 3)
EXCHANGE_MISTAKE(expects_more, call->recv_sizes[5] = 3)
EXCHANGE_MISTAKE(sends_more_by_32_bits, call->send_sizes[2] += (int64_t)1 << 32)
EXCHANGE_MISTAKE(expects_more_by_32_bits, call->recv_sizes[5] += (int64_t)1 << 32)
EXCHANGE_MISTAKE(overlap_of_one_row, call->output_offsets[3] -= 1)
EXCHANGE_MISTAKE(overlap_of_all, call->output_offsets[2] = 0)
EXCHANGE_MISTAKE(fewer_updates, args->updates = 1)
EXCHANGE_MISTAKE(longer_rows, (args->row_bytes = 2 * ROW_BYTES, call->workspace_bytes = BENCH_POOL))
EXCHANGE_MISTAKE(two_ranks, if (call->rank->rank) call->send_sizes[call->rank->rank] = -call->rank->rank)

const struct mistake exchange_faults[EXCHANGE_FAULTS] = {
    {1, negative_input_offset, QUERN_INVALID_SHAPE, "sender 1, receiver 2, update 1: input_offsets is -3, expected 0 or more", 0},
    {0, negative_send_size, QUERN_INVALID_SHAPE, "sender 0, receiver 0, update 1: send_sizes is -2, expected 0 or more", 0},
    {2, negative_output_offset, QUERN_INVALID_SHAPE,
     "sender 2, receiver 2, update 0: output_offsets is -9223372036854775808, expected 0 or more", 0},
    {1, negative_recv_size, QUERN_INVALID_SHAPE, "sender 0, receiver 1, update 0: recv_sizes is -1, expected 0 or more", 0},
    {1, beyond_input, QUERN_INVALID_SHAPE,
     "sender 1, receiver 1, update 1: the slice ends at input row 13, expected at most input_rows, 12", 0},
    {1, far_beyond_input, QUERN_INVALID_SHAPE,
     "sender 1, receiver 1, update 1: the slice ends at input row 9223372036854775807", 0},
    {1, beyond_input_by_32_bits, QUERN_INVALID_SHAPE, "sender 1, receiver 1, update 1: the slice ends at input row 4294967304", 0},
    {2, just_beyond_input, QUERN_INVALID_SHAPE,
     "sender 2, receiver 2, update 1: the slice ends at input row 12, expected at most input_rows, 11", 0},
    {2, beyond_output, QUERN_INVALID_SHAPE,
     "sender 2, receiver 0, update 0: the slice ends at output row 13, expected at most the receiver's output_rows, 12", 0},
    {2, far_beyond_output, QUERN_INVALID_SHAPE,
     "sender 2, receiver 0, update 0: the slice ends at output row 9223372036854775807", 0},
    {2, beyond_output_by_32_bits, QUERN_INVALID_SHAPE,
     "sender 2, receiver 0, update 0: the slice ends at output row 4294967306", 0},
    {1, just_beyond_output, QUERN_INVALID_SHAPE,
     "sender 2, receiver 1, update 1: the slice ends at output row 12, expected at most the receiver's output_rows, 11", 0},
    {0, sends_less, QUERN_PEER_MISMATCH,
     "sender 0, receiver 1, update 0: the sender's send_sizes is 1, the receiver's recv_sizes is 2", 0},
    {0, sends_more, QUERN_PEER_MISMATCH,
     "sender 0, receiver 1, update 0: the sender's send_sizes is 3, the receiver's recv_sizes is 2", 0},
    {2, expects_more, QUERN_PEER_MISMATCH,
     "sender 2, receiver 2, update 1: the sender's send_sizes is 2, the receiver's recv_sizes is 3", 0},
    {0, sends_more_by_32_bits, QUERN_INVALID_SHAPE, "sender 0, receiver 1, update 0: the slice ends at input row 4294967302", 0},
    {2, expects_more_by_32_bits, QUERN_PEER_MISMATCH,
     "sender 2, receiver 2, update 1: the sender's send_sizes is 2, the receiver's recv_sizes is 4294967298", 0},
    {2, overlap_of_one_row, QUERN_INVALID_SHAPE,
     "sender 2, receiver 1, update 1: output row 9 is also written by sender 2, update 0", 0},
    {2, overlap_of_all, QUERN_INVALID_SHAPE,
     "sender 2, receiver 1, update 0: output row 0 is also written by sender 0, update 0", 0},
    {1, fewer_updates, QUERN_PEER_MISMATCH, "args.updates is 2 on rank 0 and 1 on rank 1: expected the same on all members", 0},
    {2, longer_rows, QUERN_PEER_MISMATCH, "args.row_bytes is 4 on rank 0 and 8 on rank 2: expected the same on all members", 0},
    {-1, two_ranks, QUERN_INVALID_SHAPE, "sender 1, receiver 0, update 1: send_sizes is -1, expected 0 or more", 0},
};
