/*
 * quern_ragged_sizes, a public function: the metadata of a ragged all-to-all whose slices lie end to end, from the sizes alone.
 *
 * The ranks gather the sizes for a block of receivers at a time, as many as fill a message, and keep of them only sums and what is
 * meant for them.  So no rank ever holds the sizes of all pairs of ranks.
 */
#include <stdlib.h>
#include <string.h>

#include "os/sizes.h"
#include "ranks/agreement.h"
#include "ranks/describe.h"
#include "ranks/handles.h"
#include "ranks/meeting.h"
#include "ranks/poison.h"
#include "ranks/seen_wait.h"
#include "ranks/terms.h"
#include "runtime/arguments.h"
#include "runtime/dtype.h"
#include "runtime/ranges.h"
#include "runtime/status.h"

/* One rank of this thread. */
struct counted {
    struct quern_membership *member;
    quern_ragged_sizes_args args;        /* a copy */
    int64_t *sent;                       /* [ranks, updates] each: send_sizes, ... */
    int64_t *input_offsets, *output_offsets, *received;
    int64_t input_rows, output_rows;
};

struct counting {
    struct counted *counted;             /* [count] */
    struct quern_membership *members[QUERN_RANK_LIMIT];
    int count, ranks;
    int64_t updates;
    int64_t block;                       /* receivers in a message, at least 1 */
    int64_t *gathered;                   /* [ranks, block, updates] */
};

/* ---- arguments ---- */

static size_t entry_bytes(const struct counted *counted) { return quern_dtype_bytes(counted->args.metadata_dtype); }

static int64_t entries_of(const struct counted *counted) { return counted->member->ranks * counted->args.updates; }

static quern_status check_pointers(const struct counted *counted) {
    const quern_device *device = counted->member->device;
    const quern_ragged_sizes_args *args = &counted->args;
    const int64_t bytes = entries_of(counted) * (int64_t)entry_bytes(counted);
    const struct {
        const char *name;
        const void *pointer;
        size_t alignment;
        int64_t bytes;
    } arrays[] = {{"args.send_sizes", args->send_sizes, entry_bytes(counted), bytes},
                  {"args.input_offsets", args->input_offsets, entry_bytes(counted), bytes},
                  {"args.output_offsets", args->output_offsets, entry_bytes(counted), bytes},
                  {"args.recv_sizes", args->recv_sizes, entry_bytes(counted), bytes},
                  {"args.input_rows", args->input_rows, sizeof(int64_t), sizeof(int64_t)},
                  {"args.output_rows", args->output_rows, sizeof(int64_t), sizeof(int64_t)}};
    enum { ARRAYS = sizeof arrays / sizeof *arrays };
    struct quern_range ranges[ARRAYS];
    quern_status status = args->updates ? quern_check_pointer(device, arrays[0].name, arrays[0].pointer, arrays[0].alignment)
                                        : QUERN_OK;
    for (int i = 0; i < ARRAYS && status == QUERN_OK; i++) {
        status = quern_check_optional(device, arrays[i].name, arrays[i].pointer, arrays[i].alignment);
        ranges[i] = quern_range_of(arrays[i].name, arrays[i].pointer, arrays[i].bytes, i ? QUERN_WRITTEN : QUERN_READ);
    }
    return status == QUERN_OK ? quern_check_apart(device, NULL, ranges, NULL, ARRAYS) : status;
}

static quern_status fill(struct counted *counted, const quern_ragged_sizes_args *args) {
    const quern_device *device = counted->member->device;
    quern_status status = quern_check_struct(device, "quern_ragged_sizes_args", args, sizeof *args);
    if (status != QUERN_OK) return status;
    counted->args = *args;
    status = quern_check_dtype(device, "args.metadata_dtype", args->metadata_dtype, quern_integers, false);
    if (status == QUERN_OK)
        status = quern_check_count(device, "args.updates", args->updates, INT32_MAX / counted->member->ranks);
    return status == QUERN_OK ? check_pointers(counted) : status;
}

/* ---- integers of 32 or 64 bits ---- */

static int64_t largest_of(const struct counted *counted) {
    return counted->args.metadata_dtype == QUERN_INT64 ? QUERN_MOST_BYTES : INT32_MAX;
}

static void write_array(const struct counted *counted, void *target, const int64_t *values) {
    const int64_t count = entries_of(counted);
    for (int64_t i = 0; target && i < count; i++) {
        if (counted->args.metadata_dtype == QUERN_INT64) ((int64_t *)target)[i] = values[i];
        else ((int32_t *)target)[i] = (int32_t)values[i];
    }
}

/* ---- sums ---- */

static quern_status fail_sum(const struct counted *counted, const char *name, int64_t value) {
    return quern_fail(counted->member->device, QUERN_INVALID_SHAPE, "%s is %lld: expected at most %lld rows with %s metadata", name,
                      (long long)value, (long long)largest_of(counted), quern_dtype_name(counted->args.metadata_dtype));
}

/* Reads the sizes that a rank sends, and lays its slices end to end. */
static quern_status read_sizes(struct counted *counted) {
    const quern_ragged_sizes_args *args = &counted->args;
    const int64_t entries = entries_of(counted);
    for (int64_t i = 0; i < entries; i++) {
        const int64_t size = args->metadata_dtype == QUERN_INT64 ? ((const int64_t *)args->send_sizes)[i]
                                                                 : ((const int32_t *)args->send_sizes)[i];
        if (size < 0 || size > QUERN_MOST_BYTES)
            return quern_fail(counted->member->device, QUERN_INVALID_SHAPE,
                              "sender %d, receiver %lld, update %lld: args.send_sizes is %lld: expected 0 to 2^47",
                              counted->member->rank, (long long)(i / args->updates), (long long)(i % args->updates),
                              (long long)size);
        counted->sent[i] = size;
        counted->input_offsets[i] = counted->input_rows;
        counted->input_rows += size;
        if (counted->input_rows > largest_of(counted)) return fail_sum(counted, "the sum of args.send_sizes", counted->input_rows);
    }
    return QUERN_OK;
}

static bool reserve(struct counted *counted) {
    const size_t entries = (size_t)entries_of(counted);
    int64_t *arrays = malloc(4 * entries * sizeof *arrays + 1);
    if (!arrays) return false;
    counted->sent = arrays;
    counted->input_offsets = arrays + entries;
    counted->output_offsets = arrays + 2 * entries;
    counted->received = arrays + 3 * entries;
    return true;
}

static quern_status prepare(const struct counting *counting, struct counted *counted, const quern_ragged_sizes_args *args) {
    const quern_device *device = counted->member->device;
    quern_status status = args ? fill(counted, args) : quern_fail(device, QUERN_NULL_POINTER, "args is NULL");
    if (status == QUERN_OK && !reserve(counted))
        status = quern_fail(device, QUERN_OUT_OF_MEMORY, "no memory for the metadata of %d ranks", counting->ranks);
    return status == QUERN_OK ? read_sizes(counted) : status;
}

/* As many receivers as fill a message. */
static quern_status reserve_block(struct counting *counting) {
    const int64_t bytes = counting->updates * (int64_t)sizeof(int64_t);
    counting->block = bytes && bytes < QUERN_MAILBOX_BYTES ? QUERN_MAILBOX_BYTES / bytes : 1;
    if (counting->block > counting->ranks) counting->block = counting->ranks;
    counting->gathered = malloc((size_t)(counting->ranks * counting->block * bytes) + 1);
    if (counting->gathered) return QUERN_OK;
    return quern_fail(counting->members[0]->device, QUERN_OUT_OF_MEMORY, "no memory for the sizes of %d ranks", counting->ranks);
}

/* All ranks have voted with their updates. */
static quern_status compare_updates(const struct counting *counting) {
    const struct quern_membership *member = counting->members[0];
    for (int rank = 1; rank < counting->ranks; rank++)
        if (member->heard[rank].value != member->heard[0].value)
            return quern_fail_report(member, &(struct quern_slice_report){
                .fault = QUERN_SLICE_UPDATES, .peer = rank, .value = (int64_t)member->heard[0].value,
                .limit = (int64_t)member->heard[rank].value});
    return QUERN_OK;
}

/* ---- gathering ---- */

/* The sizes from one rank to one receiver of the block, of `receivers`. */
static const int64_t *sizes_of(const struct counting *counting, int64_t receivers, int sender, int64_t in_block) {
    return counting->gathered + (sender * receivers + in_block) * counting->updates;
}

/* Adds up what all send to one receiver.  Another process has written it, so it is checked first. */
static quern_status take_receiver(const struct counting *counting, struct counted *counted, int64_t receiver, int sender,
                                  const int64_t *sizes, int64_t *rows) {
    const int64_t updates = counting->updates;
    for (int64_t update = 0; update < updates; update++) {
        const int64_t size = sizes[update];
        if (sender == counted->member->rank) counted->output_offsets[receiver * updates + update] = *rows;
        if (receiver == counted->member->rank) counted->received[sender * updates + update] = size;
        if (size < 0 || size > QUERN_MOST_BYTES) return quern_fail_damaged(counted->member->device, "a message", sender);
        *rows += size;
        if (*rows > largest_of(counted))
            return quern_fail(counted->member->device, QUERN_INVALID_SHAPE,
                              "rank %lld receives %lld rows or more: expected at most %lld with %s metadata", (long long)receiver,
                              (long long)*rows, (long long)largest_of(counted), quern_dtype_name(counted->args.metadata_dtype));
    }
    return QUERN_OK;
}

static quern_status take_block(const struct counting *counting, struct counted *counted, int64_t first, int64_t receivers) {
    for (int64_t in_block = 0; in_block < receivers; in_block++) {
        int64_t rows = 0;
        for (int sender = 0; sender < counting->ranks; sender++) {
            quern_status status = take_receiver(counting, counted, first + in_block, sender,
                                                sizes_of(counting, receivers, sender, in_block), &rows);
            if (status != QUERN_OK) return status;
        }
        if (first + in_block == counted->member->rank) counted->output_rows = rows;
    }
    return QUERN_OK;
}

/* A rank that fails goes on: the others wait for its messages.  All agree at the end. */
static quern_status gather(struct counting *counting) {
    quern_status status = QUERN_OK, taken[QUERN_RANK_LIMIT] = {QUERN_OK};
    for (int i = 0; i < counting->count; i++) quern_cast_vote(counting->members[i], QUERN_OK, 0);
    for (int64_t first = 0; first < counting->ranks && status == QUERN_OK; first += counting->block) {
        const int64_t receivers = counting->ranks - first < counting->block ? counting->ranks - first : counting->block;
        const void *payloads[QUERN_RANK_LIMIT];
        for (int i = 0; i < counting->count; i++) payloads[i] = counting->counted[i].sent + first * counting->updates;
        status = quern_exchange(counting->members, counting->count, QUERN_IN_RAGGED_SIZES, payloads,
                                (size_t)(receivers * counting->updates) * sizeof(int64_t), counting->gathered);
        for (int i = 0; i < counting->count && status == QUERN_OK; i++) {
            if (taken[i] != QUERN_OK) continue;
            taken[i] = take_block(counting, &counting->counted[i], first, receivers);
            if (taken[i] != QUERN_OK) quern_cast_vote(counting->members[i], taken[i], 0);
        }
    }
    return status == QUERN_OK ? quern_agree(counting->members, counting->count, QUERN_IN_RAGGED_SIZES) : status;
}

/* ---- the call ---- */

static void write_results(const struct counted *counted) {
    const quern_ragged_sizes_args *args = &counted->args;
    write_array(counted, args->input_offsets, counted->input_offsets);
    write_array(counted, args->output_offsets, counted->output_offsets);
    write_array(counted, args->recv_sizes, counted->received);
    if (args->input_rows) *args->input_rows = counted->input_rows;
    if (args->output_rows) *args->output_rows = counted->output_rows;
}

/* All ranks come with their sizes, or with the reason why not. */
static quern_status begin(struct counting *counting, const quern_ragged_sizes_args *args) {
    for (int i = 0; i < counting->count; i++) {
        struct counted *counted = &counting->counted[i];
        counted->member = counting->members[i];
        quern_status status = prepare(counting, counted, args ? &args[i] : NULL);
        if (i == 0) counting->updates = counted->args.updates;
        if (i == 0 && status == QUERN_OK) status = reserve_block(counting);
        quern_cast_vote(counting->members[i], status, (uint64_t)counted->args.updates);
    }
    quern_status status = quern_agree(counting->members, counting->count, QUERN_IN_RAGGED_SIZES);
    return status == QUERN_OK ? compare_updates(counting) : status;
}

static quern_status count_all(struct counting *counting, const quern_ragged_sizes_args *args) {
    quern_status status = begin(counting, args);
    if (status == QUERN_OK && counting->updates) status = gather(counting);
    for (int i = 0; i < counting->count; i++) {
        if (status == QUERN_OK) write_results(&counting->counted[i]);
        free(counting->counted[i].sent);
    }
    free(counting->gathered);
    return status;
}

static quern_status take_and_count(quern_group *const *groups, int count, const quern_ragged_sizes_args *args,
                                   struct quern_look *look) {
    struct counting counting = {.count = count};
    quern_status status = quern_members_of(groups, count, counting.members);
    if (status != QUERN_OK) return status;
    quern_look_at_members(look, counting.members, count);
    counting.ranks = counting.members[0]->ranks;
    counting.counted = calloc((size_t)count, sizeof *counting.counted);
    if (!counting.counted)  /* the others are waiting */
        return quern_poison(counting.members[0], QUERN_OUT_OF_MEMORY, "rank %d has no memory to count the rows of %d ranks",
                            counting.members[0]->rank, count);
    status = count_all(&counting, args);
    free(counting.counted);
    return status;
}

quern_status quern_ragged_sizes(quern_group *const *groups, int count, const quern_ragged_sizes_args *args) {
    static const struct quern_view view = {.name = "ragged_sizes", .is_undumped = true};
    struct quern_look look;
    quern_begin_look(&look, &view, NULL, NULL);
    return quern_end_look(&look, take_and_count(groups, count, args, &look));
}
