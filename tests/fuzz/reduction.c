/*
 * Makes gathers, reductions and broadcasts whose ranks agree, spoils a few numbers, and decides by the rules of the header alone
 * whether the library must refuse them and what it must deliver.  The values are small integers, so that sums are exact.  Used by
 * rank_calls.c and ranks.c.
 */
#include "reduction.h"

#include "calls.h"
#include "input.h"

enum { ALIGNMENT = 64, UNTOUCHED = 0xa5 };

typedef quern_status reduction_function(quern_group *, const quern_collective_args *, void *, size_t, void *);
static reduction_function *const functions[REDUCTION_CALLS] = {quern_all_gather, quern_reduce_scatter, quern_all_reduce,
                                                               quern_broadcast};

static int place_of(const struct reduction *r, int rank) {
    for (int place = 0; place < r->member_count; place++)
        if (r->members[place] == rank) return place;
    return -1;
}

static int64_t element_bytes(const struct reduction *r) { return r->dtype == QUERN_F32 ? 4 : 2; }

static bool reduces(const struct reduction *r) { return r->call == REDUCE_SCATTER || r->call == ALL_REDUCE; }

/* ---- values ---- */

/* Element i of the input of a place: from -8 to 8. */
static int value_at(int place, int64_t i) { return (int)((i * 7 + place * 5) % 17) - 8; }

static void store(quern_dtype dtype, void *memory, int64_t i, int value) {
    const float number = (float)value;
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    if (dtype == QUERN_F32) ((float *)memory)[i] = number;
    else ((uint16_t *)memory)[i] = (uint16_t)(bits >> 16);  /* bf16: a small integer is exact */
}

static int combined(const struct reduction *r, int64_t i) {
    int result = value_at(0, i);
    for (int place = 1; place < r->member_count; place++) {
        const int value = value_at(place, i);
        if (r->sides[0].args.combination == QUERN_COMBINE_SUM) result += value;
        else if (value > result) result = value;
    }
    return result;
}

static int expected_at(const struct reduction *r, int place, int64_t i) {
    switch (r->call) {
    case ALL_GATHER: return value_at((int)(i / r->count), i % r->count);
    case REDUCE_SCATTER: return combined(r, place * r->count + i);
    case ALL_REDUCE: return combined(r, i);
    default: return value_at(place_of(r, r->sides[place].args.root), i);
    }
}

/* ---- faults ---- */

/* One rank has another number, so that all of the call get an error.  None that needs more memory, but for a last element. */
static void spoil_terms(struct reduction *r) {
    quern_collective_args *args = &r->sides[input_below(r->member_count)].args;
    const int other = args->root == r->members[0] ? r->members[1] : r->members[0];
    const int choice = (int)input_below(5);
    if (choice == 1 && r->dtype == QUERN_F32) args->dtype = QUERN_BF16;
    else if (choice == 2 && r->call == BROADCAST) args->root = other;
    else if (choice == 2 && reduces(r))
        args->combination = args->combination == QUERN_COMBINE_SUM ? QUERN_COMBINE_MAX : QUERN_COMBINE_SUM;
    else if (choice == 3 && r->call == REDUCE_SCATTER) args->input_stride = r->stride + 1;
    else if (choice == 4 && reduces(r)) args->order = args->order == QUERN_ORDER_ANY ? QUERN_ORDER_RANKS : QUERN_ORDER_ANY;
    else args->count++;
}

static void spoil_arguments(struct reduction *r) {
    struct reduction_side *side = &r->sides[input_below(r->member_count)];
    switch (input_below(9)) {
    case 1: side->args.count = -1; break;
    case 2: side->args.count = INT64_MAX / 2; break;
    case 3: side->args.multiprocessors = -5; break;
    case 4: side->args.timeout = -1; break;
    case 5: side->without_output = true, side->args.count += !r->count; break;
    case 8: side->args.order = (quern_order)(reduces(r) ? 2 : QUERN_ORDER_ANY); break;
    case 7: side->args.input_stride = r->call == REDUCE_SCATTER ? -1 : 5; break;
    case 6: side->args.root = r->call == BROADCAST ? 77 : 0, side->args.dtype = r->call == BROADCAST ? r->dtype : 99; break;
    default: side->args.dtype = (quern_dtype)99; break;
    }
}

/* ---- making ---- */

static int64_t choose_count(void) {
    static const int64_t counts[] = {1, 0, 3, 31, 200, 700, 3000, 40000};
    return counts[input_below(8)];
}

static void choose_args(struct reduction *r) {
    r->dtype = input_one_in(2) ? QUERN_BF16 : QUERN_F32;
    r->count = choose_count();
    r->stride = r->count + (r->call == REDUCE_SCATTER && input_one_in(3) ? 1 + (int64_t)input_below(9) : 0);
    const quern_combination combination = input_one_in(3) ? QUERN_COMBINE_MAX : QUERN_COMBINE_SUM;
    const int root = r->members[input_below(r->member_count)];
    const quern_order order = reduces(r) && input_one_in(3) ? QUERN_ORDER_ANY : QUERN_ORDER_RANKS;
    for (int place = 0; place < r->member_count; place++) {
        quern_collective_args *args = &r->sides[place].args;
        *args = (quern_collective_args)QUERN_COLLECTIVE_ARGS_INIT;
        args->dtype = r->dtype, args->count = r->count, args->combination = combination, args->root = root;
        args->order = order;
        args->members = r->members, args->member_count = r->member_count;
        args->input_stride = r->stride > r->count ? r->stride : 0;
    }
}

/* With room for one more element in each piece. */
static void make_side(struct reduction *r, int place) {
    struct reduction_side *side = &r->sides[place];
    const int64_t element = element_bytes(r), pieces = r->call == REDUCE_SCATTER ? r->member_count : 1;
    const int64_t input = r->count ? (pieces - 1) * r->stride + r->count : 0;
    const int64_t output = r->count * (r->call == ALL_GATHER ? r->member_count : 1);
    side->input_bytes = input * element, side->output_bytes = output * element;
    side->input_is_symmetric = input_one_in(3), side->output_is_symmetric = input_one_in(3);
    side->in_place = input == output && input_one_in(3);
    side->input = malloc((size_t)side->input_bytes + 4 * MOST_IN_GROUP);
    side->output = malloc((size_t)side->output_bytes + 4 * MOST_IN_GROUP);
    memset(side->input, UNTOUCHED, (size_t)side->input_bytes);
    for (int64_t i = 0; i < pieces * r->count; i++)
        store(r->dtype, side->input, i / r->count * r->stride + i % r->count, value_at(place, i));
    memset(side->output, UNTOUCHED, (size_t)side->output_bytes);
    if (side->in_place) memcpy(side->output, side->input, (size_t)side->input_bytes);
}

struct reduction *reduction_make(const int *members, int member_count, enum reduction_fault fault) {
    struct reduction *r = calloc(1, sizeof *r);
    r->call = (enum reduction_call)input_below(REDUCTION_CALLS);
    r->member_count = member_count;
    memcpy(r->members, members, (size_t)member_count * sizeof *members);
    choose_args(r);
    for (int place = 0; place < member_count; place++) make_side(r, place);
    if (fault == OF_TERMS) spoil_terms(r);
    if (fault == OF_TERM_ARGUMENTS) spoil_arguments(r);
    r->is_refused = fault != NO_SPOILT_TERM;
    return r;
}

void reduction_free(struct reduction *r) {
    for (int place = 0; r && place < r->member_count; place++) free(r->sides[place].input), free(r->sides[place].output);
    free(r);
}

/* ---- the call ---- */

/* At least one byte more, for the element that a spoilt count adds. */
static size_t room(int64_t bytes) { return (size_t)(bytes / ALIGNMENT + 1) * ALIGNMENT; }

/* What is symmetric is copied there, and the output back. */
static quern_status run_side(struct reduction *r, struct reduction_side *side, quern_group *group, unsigned char *memory,
                             size_t workspace_bytes) {
    unsigned char *input = side->input, *output = side->output;
    if (side->input_is_symmetric) input = memcpy(memory + room((int64_t)workspace_bytes), side->input, (size_t)side->input_bytes);
    if (side->output_is_symmetric)
        output = memcpy(memory + room((int64_t)workspace_bytes) + room(side->input_bytes), side->output,
                        (size_t)side->output_bytes);
    quern_collective_args args = side->args;
    args.input = side->in_place ? output : input;
    args.output = side->without_output ? NULL : output;
    const quern_status status = functions[r->call](group, &args, memory, workspace_bytes, NULL);
    if (side->output_is_symmetric) memcpy(side->output, output, (size_t)side->output_bytes);
    return status;
}

quern_status reduction_run(struct reduction *r, int rank, quern_group *group) {
    struct reduction_side *side = place_of(r, rank) < 0 ? NULL : &r->sides[place_of(r, rank)];
    size_t workspace_bytes = ALIGNMENT, bytes = 0;
    void *memory;
    if (side && quern_collective_workspace(group, &side->args, &workspace_bytes) != QUERN_OK) workspace_bytes = ALIGNMENT;
    if (side) bytes = room((int64_t)workspace_bytes) + room(side->input_bytes) + room(side->output_bytes);
    quern_status status = quern_symmetric_alloc(&group, 1, &bytes, &memory);
    if (status == QUERN_OK && side) status = run_side(r, side, group, memory, workspace_bytes);
    return status == QUERN_OK ? quern_symmetric_free(group, memory, NULL) : status;
}

/* ---- the result ---- */

static void check_output(const struct reduction *r, int place, bool has_succeeded) {
    const struct reduction_side *side = &r->sides[place];
    const int64_t element = element_bytes(r);
    for (int64_t i = 0; i < side->output_bytes / element; i++) {
        unsigned char expected[4];
        memset(expected, UNTOUCHED, sizeof expected);
        if (has_succeeded) store(r->dtype, expected, 0, expected_at(r, place, i));
        else if (side->in_place) memcpy(expected, side->input + i * element, (size_t)element);
        if (memcmp(expected, side->output + i * element, (size_t)element))
            fuzz_fail("%s collective %d of %d ranks left another element %lld of %lld on member %d",
                      has_succeeded ? "a" : "a refused", (int)r->call, r->member_count, (long long)i,
                      (long long)(side->output_bytes / element), place);
    }
}

void reduction_check(const struct reduction *r, bool has_succeeded) {
    for (int place = 0; place < r->member_count; place++) check_output(r, place, has_succeeded);
}
