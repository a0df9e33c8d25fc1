/*
 * Makes ragged exchanges whose sends and receives agree, spoils a few numbers, and decides by the rules of the header alone whether
 * the library must refuse them and what it must deliver.  Used by rank_calls.c and ranks.c.
 */
#include "exchange.h"

#include "calls.h"
#include "input.h"

enum array { INPUT_OFFSETS, SEND_SIZES, OUTPUT_OFFSETS, RECV_SIZES };

struct side *exchange_side(struct exchange *exchange, int rank) {
    for (int i = 0; exchange && i < exchange->member_count; i++)
        if (exchange->members[i] == rank) return &exchange->sides[i];
    return NULL;
}

/* ---- metadata that agree ---- */

/* Slices lie one after the other in the input by receivers and in the output by senders, with gaps. */
static void make_slices(struct exchange *x, int updates) {
    struct side *sides = x->sides;
    for (int from = 0; from < x->member_count; from++)
        for (int to = 0; to < x->member_count; to++)
            for (int u = 0; u < updates; u++) {
                const int64_t size = input_below(4);
                sides[from].numbers[SEND_SIZES][to * updates + u] = size;
                sides[from].numbers[INPUT_OFFSETS][to * updates + u] = sides[from].args.input_rows;
                sides[to].numbers[RECV_SIZES][from * updates + u] = size;
                sides[from].numbers[OUTPUT_OFFSETS][to * updates + u] = sides[to].args.output_rows;
                sides[from].args.input_rows += size + input_one_in(4);
                sides[to].args.output_rows += size + input_one_in(4);
            }
}

/* ---- memory ---- */

/* An exact copy, so that AddressSanitizer sees a read outside of it. */
static void store_metadata(struct side *side, int member_count) {
    const int64_t entries = member_count * side->args.updates;
    const bool narrow = side->args.metadata_dtype == QUERN_INT32;
    for (int array = 0; array < 4; array++) {
        side->arrays[array] = malloc((size_t)entries * (narrow ? 4 : 8));
        for (int64_t i = 0; i < entries; i++) {
            int64_t *number = &side->numbers[array][i];
            if (narrow) *number = ((int32_t *)side->arrays[array])[i] = (int32_t)*number;
            else ((int64_t *)side->arrays[array])[i] = *number;
        }
    }
    side->args.input_offsets = side->arrays[INPUT_OFFSETS];
    side->args.send_sizes = side->arrays[SEND_SIZES];
    side->args.output_offsets = side->arrays[OUTPUT_OFFSETS];
    side->args.recv_sizes = side->arrays[RECV_SIZES];
}

/* The output follows the input, or begins at one of its rows. */
static void make_memory(struct side *side) {
    const int64_t row = side->args.row_bytes, input_rows = side->args.input_rows;
    const int64_t first = input_one_in(3) ? input_below(input_rows + 1) : input_rows;
    const int64_t rows = first + side->args.output_rows > input_rows ? first + side->args.output_rows : input_rows;
    side->bytes = rows * row;
    side->output_start = first * row;
    side->memory = malloc((size_t)side->bytes);
    side->before = malloc((size_t)side->bytes);
    for (int64_t i = 0; i < side->bytes; i++) side->memory[i] = (unsigned char)(input_noise() >> 8);
    memcpy(side->before, side->memory, (size_t)side->bytes);
    side->args.input = side->memory;
    side->args.output = side->memory + side->output_start;
}

/* ---- faults ---- */

/* Both ranks agree on one row more, which may lie beyond the input or the output, or in another slice. */
static void spoil_both(struct exchange *x, int updates) {
    const int from = (int)input_below(x->member_count), to = (int)input_below(x->member_count), u = (int)input_below(updates);
    x->sides[from].numbers[SEND_SIZES][to * updates + u]++;
    x->sides[to].numbers[RECV_SIZES][from * updates + u]++;
}

static void spoil_one(struct exchange *x, int updates) {
    struct side *side = &x->sides[input_below(x->member_count)];
    int64_t *number = &side->numbers[input_below(4)][input_below(x->member_count * updates)];
    const int64_t extremes[] = {-1, side->args.output_rows, side->args.input_rows, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN,
                                (int64_t)1 << 32, 1, 0, 2, input_byte()};
    if (input_one_in(2)) *number = extremes[input_below(12)];
    else *number += input_one_in(2) ? -1 : 1;
}

/* The other numbers stay, so that a single rule of the header is broken, or none. */
static void spoil_metadata(struct exchange *x, int updates) {
    if (input_one_in(3)) spoil_both(x, updates);
    else spoil_one(x, updates);
    if (input_one_in(6)) spoil_one(x, updates);
}

/* One rank has other rows, or more updates, which are empty. */
static void spoil_shape(struct exchange *x) {
    quern_ragged_all_to_all_args *args = &x->sides[input_below(x->member_count)].args;
    if (input_one_in(2)) args->updates++;
    else args->row_bytes++;
}

static void spoil_arguments(struct exchange *x) {
    struct side *side = &x->sides[input_below(x->member_count)];
    switch (input_below(8)) {
    case 0: side->args.metadata_dtype = (quern_dtype)99; break;
    case 1: side->args.input_rows = -1; break;
    case 2: side->args.output_rows = INT64_MAX; break;
    case 3: side->args.row_bytes = -1; break;
    case 4: side->args.check_overlap = 2; break;
    case 5: side->args.updates = INT64_MIN; break;
    case 6: side->args.metadata_on_device = -7; break;
    default: side->short_workspace = true; break;
    }
}

/* ---- the rules of the header ---- */

static bool ends_within(int64_t offset, int64_t size, int64_t rows) {
    return offset >= 0 && size >= 0 && offset <= rows && size <= rows - offset;
}

/* Whether two slices for this member share a row. */
static bool has_overlap(const struct exchange *x, int to, int updates) {
    const int slices = x->member_count * updates;
    for (int a = 0; a < slices; a++)
        for (int b = 0; b < a; b++) {
            const struct side *first = &x->sides[a / updates], *second = &x->sides[b / updates];
            const int i = to * updates + a % updates, j = to * updates + b % updates;
            const int64_t begin = first->numbers[OUTPUT_OFFSETS][i], end = begin + first->numbers[SEND_SIZES][i];
            const int64_t other = second->numbers[OUTPUT_OFFSETS][j], other_end = other + second->numbers[SEND_SIZES][j];
            if (begin < end && other < other_end && begin < other_end && other < end) return true;
        }
    return false;
}

static bool slices_are_valid(const struct exchange *x, int updates) {
    for (int from = 0; from < x->member_count; from++)
        for (int to = 0; to < x->member_count; to++)
            for (int u = 0; u < updates; u++) {
                const struct side *sender = &x->sides[from], *receiver = &x->sides[to];
                const int i = to * updates + u;
                const int64_t size = sender->numbers[SEND_SIZES][i];
                if (!ends_within(sender->numbers[INPUT_OFFSETS][i], size, sender->args.input_rows)) return false;
                if (!ends_within(sender->numbers[OUTPUT_OFFSETS][i], size, receiver->args.output_rows)) return false;
                if (size != receiver->numbers[RECV_SIZES][from * updates + u]) return false;
            }
    return true;
}

static void judge(struct exchange *x, int updates) {
    x->is_refused = !slices_are_valid(x, updates);
    for (int i = 0; i < x->member_count && !x->is_refused; i++) x->is_determined[i] = !has_overlap(x, i, updates);
    for (int i = 0; i < x->member_count; i++) x->is_refused |= !x->is_determined[i] && x->sides[i].args.check_overlap;
}

/* ---- all ---- */

struct exchange *exchange_make(const int *members, int member_count, enum exchange_fault fault) {
    static const int64_t row_bytes[] = {4, 1, 0, 7, 64, 300};
    struct exchange *x = calloc(1, sizeof *x);
    const int updates = 1 + (int)input_below(MOST_UPDATES);
    const int64_t row = row_bytes[input_below(6)];
    x->member_count = member_count;
    memcpy(x->members, members, (size_t)member_count * sizeof *members);
    for (int i = 0; i < member_count; i++) {
        x->sides[i].args = (quern_ragged_all_to_all_args)QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
        x->sides[i].args.metadata_dtype = input_one_in(2) ? QUERN_INT64 : QUERN_INT32;
        x->sides[i].args.check_overlap = !input_one_in(3);
        x->sides[i].args.row_bytes = row;
        x->sides[i].args.updates = updates;
        x->sides[i].args.members = x->members;
        x->sides[i].args.member_count = member_count;
    }
    make_slices(x, updates);
    if (fault == OF_METADATA) spoil_metadata(x, updates);
    if (fault == OF_SHAPE) spoil_shape(x);
    for (int i = 0; i < member_count; i++) store_metadata(&x->sides[i], member_count), make_memory(&x->sides[i]);
    judge(x, updates);
    if (fault == OF_ARGUMENTS) spoil_arguments(x);
    if (fault == OF_ARGUMENTS || fault == OF_SHAPE) x->is_refused = true;
    return x;
}

void exchange_free(struct exchange *x) {
    for (int i = 0; x && i < x->member_count; i++) {
        for (int array = 0; array < 4; array++) free(x->sides[i].arrays[array]);
        free(x->sides[i].memory);
        free(x->sides[i].before);
    }
    free(x);
}

/* Writes what the others send into a copy of a side's memory. */
static void deliver(const struct exchange *x, int to, unsigned char *memory) {
    const struct side *receiver = &x->sides[to];
    const int64_t updates = receiver->args.updates, row = receiver->args.row_bytes;
    for (int from = 0; from < x->member_count; from++)
        for (int64_t i = to * updates; i < (to + 1) * updates; i++) {
            const struct side *sender = &x->sides[from];
            memcpy(memory + receiver->output_start + sender->numbers[OUTPUT_OFFSETS][i] * row,
                   sender->before + sender->numbers[INPUT_OFFSETS][i] * row, (size_t)(sender->numbers[SEND_SIZES][i] * row));
        }
}

void exchange_check(const struct exchange *x, bool has_succeeded) {
    for (int i = 0; i < x->member_count; i++) {
        const struct side *side = &x->sides[i];
        if (has_succeeded && !x->is_determined[i]) continue;
        unsigned char *expected = malloc((size_t)side->bytes);
        memcpy(expected, side->before, (size_t)side->bytes);
        if (has_succeeded) deliver(x, i, expected);
        for (int64_t at = 0; at < side->bytes; at++)
            if (side->memory[at] != expected[at])
                fuzz_fail("%s exchange of %d ranks left byte %lld of %lld of member %d as %d instead of %d",
                          has_succeeded ? "an" : "a refused", x->member_count, (long long)at, (long long)side->bytes, i,
                          side->memory[at], expected[at]);
        free(expected);
    }
}
