/* What the calls of a group do with each field, and the base case of each: one rank, whose memory is all symmetric. */
#ifndef FIELDS_RANKS_H
#define FIELDS_RANKS_H

#include "fields/fields.h"

enum { EXCHANGED_ROWS = 6, ROW_BYTES = 5, UPDATES = 2 };

/* Infinity is a time limit. */
#define NO_TIME REFUSES(ARGUMENT("seconds, 0 or more"))
#define NO_MEMBER_COUNT REFUSES(ARGUMENT("1 to 1, the group's ranks"))
#define NEVER_NEGATIVE REFUSES(SHAPE("0 or more"))

RULE(quern_group_args, rank, "c", REFUSES(ARGUMENT("0 to 0")))
RULE(quern_group_args, ranks, "c", REFUSES(ARGUMENT("1 to 128")))
PLAIN(quern_group_args, name, ".")
PLAIN(quern_group_args, device, "R")
RULE(quern_group_args, timeout, "c", NO_TIME)
PLAIN(quern_group_args, share_gpu, "c")
PLAIN(quern_group_args, first_epoch, ".")
RULE(quern_group_args, first_timeout, "c", NO_TIME)
PLAIN(quern_group_args, job, ".")
PLAIN(quern_group_args, multicast, "c")
PLAIN(quern_group_args, hosts, ".")
PLAIN(quern_group_args, progress, "c")
RULE(quern_group_args, progress_core, "c", REFUSES(ARGUMENT("0 to 1023, or -1 for any", VALUES(-2, 1024))))
RULES_OF(quern_group_args)

/* The columns: all ranks, or some members. */
enum { ALL, SOME };
PLAIN(quern_barrier_args, members,                      "..")
RULE(quern_barrier_args, member_count,                  "-c", NO_MEMBER_COUNT)
RULE(quern_barrier_args, timeout,                       "cc", NO_TIME)
RULES_OF(quern_barrier_args)

/* The columns: the exchange of all ranks, of some members, the creation of a plan, the workspace. */
enum { EXCHANGE, EXCHANGE_OF_SOME, CREATE, SPACE };
#define METADATA(field) \
    MEMORY_OF(quern_ragged_all_to_all_args, field,      "RRR-", quern_dtype_bytes(a->metadata_dtype), .host_calls = 1u << CREATE)
#define MOST_BYTES "140737488355328"
/*                                                       ESps */
RULE(quern_ragged_all_to_all_args, metadata_dtype,      "cccc", LEGAL(QUERN_INT32, QUERN_INT64))
MEMORY_OF(quern_ragged_all_to_all_args, input,          "RRR.", 1, .may_overlap = "output")
#define NO_ROWS_OF_A_BUFFER REFUSES(COUNT_TO(MOST_BYTES), \
    SHAPE(" and args.row_bytes is 5: expected at most 2^47 bytes", VALUES(((int64_t)1 << 47) / ROW_BYTES + 1, (int64_t)1 << 47)))
RULE(quern_ragged_all_to_all_args, input_rows,          "cccc", NO_ROWS_OF_A_BUFFER)
BUFFER_OF(quern_ragged_all_to_all_args, output,         "WWW.", 1)
RULE(quern_ragged_all_to_all_args, output_rows,         "cccc", NO_ROWS_OF_A_BUFFER)
RULE(quern_ragged_all_to_all_args, row_bytes,           "cccc", REFUSES(COUNT_TO(MOST_BYTES)))
RULE(quern_ragged_all_to_all_args, updates,             "cccc", REFUSES(SHAPE("0 or more"), SHAPE("at most 2147483647")))
METADATA(input_offsets)
METADATA(send_sizes)
METADATA(output_offsets)
METADATA(recv_sizes)
PLAIN(quern_ragged_all_to_all_args, metadata_on_device, "cc.c")
PLAIN(quern_ragged_all_to_all_args, check_overlap,      "cccc")
PLAIN(quern_ragged_all_to_all_args, members,            "....")
RULE(quern_ragged_all_to_all_args, member_count,        "-c--", NO_MEMBER_COUNT)
RULE(quern_ragged_all_to_all_args, multiprocessors,     "cccc", NEVER_NEGATIVE)
RULE(quern_ragged_all_to_all_args, timeout,             "cccc", NO_TIME)
RULES_OF(quern_ragged_all_to_all_args)

#define COUNTED_IN_HOST(field, letter, element) MEMORY_OF(quern_ragged_sizes_args, field, letter, element, .host_calls = ~0u)
RULE(quern_ragged_sizes_args, metadata_dtype,           "c", LEGAL(QUERN_INT32, QUERN_INT64))
RULE(quern_ragged_sizes_args, updates,                  "c", REFUSES(COUNT_TO("2147483647")))
COUNTED_IN_HOST(send_sizes,                             "R", quern_dtype_bytes(a->metadata_dtype))
COUNTED_IN_HOST(input_offsets,                          "w", quern_dtype_bytes(a->metadata_dtype))
COUNTED_IN_HOST(output_offsets,                         "w", quern_dtype_bytes(a->metadata_dtype))
COUNTED_IN_HOST(recv_sizes,                             "w", quern_dtype_bytes(a->metadata_dtype))
COUNTED_IN_HOST(input_rows,                             "w", sizeof(int64_t))
COUNTED_IN_HOST(output_rows,                            "w", sizeof(int64_t))
RULES_OF(quern_ragged_sizes_args)

/* The columns: all-gather, reduce-scatter, all-reduce, that of some members, broadcast, the workspace. */
enum { GATHERED, SCATTERED, REDUCED, REDUCED_OF_SOME, BROADCASTED, COLLECTIVE_SPACE };
/*                                                       GSRsBw */
RULE(quern_collective_args, dtype,                      ".ccc..", LEGAL(QUERN_FLOAT_DTYPES))
MEMORY_OF(quern_collective_args, input,                 "RRRRR-", quern_dtype_bytes(a->dtype), .may_overlap = "output")
BUFFER_OF(quern_collective_args, output,                "WWWWW-", quern_dtype_bytes(a->dtype))
RULE(quern_collective_args, count,                      "cccccc", REFUSES(
     COUNT_TO(MOST_BYTES), SHAPE(" elements of f32, 1 times: expected at most 2^47 bytes",
                                 VALUES(((int64_t)1 << 45) + 1, (int64_t)1 << 47))))
RULE(quern_collective_args, combination,                "-ccc--", .legal_text = "QUERN_COMBINE_SUM or QUERN_COMBINE_MAX")
RULE(quern_collective_args, root,                       "----c-", REFUSES(ARGUMENT("a rank from 0 to 0")))
PLAIN(quern_collective_args, members,                   "......")
RULE(quern_collective_args, member_count,               "---c--", NO_MEMBER_COUNT)
RULE(quern_collective_args, multiprocessors,            "cccccc", NEVER_NEGATIVE)
RULE(quern_collective_args, timeout,                    "cccccc", NO_TIME)
RULE(quern_collective_args, input_stride,               "0c000-", .unused = {"is not 0: only quern_reduce_scatter has one"},
     REFUSES(COUNT_TO("35184372088832"), SHAPE("at least count, 50, or 0", VALUES(1, 49))))
RULE(quern_collective_args, order,                      "0ccc0-", .legal_text = "QUERN_ORDER_RANKS or QUERN_ORDER_ANY",
     .unused = {"is not 0: only quern_reduce_scatter and quern_all_reduce have one"})
RULES_OF(quern_collective_args)

/* The columns: chunks of all ranks, of some members, the workspace, in blocks. */
enum { CHUNKED, CHUNKED_OF_SOME, CHUNKS_SPACE, CHUNKED_IN_BLOCKS };
#define NOT_IN_BLOCKS .unused = {"is not NULL: expected NULL with QUERN_SCALING_MX"}
/*                                                       Cswb */
RULE(quern_quantize_chunks_args, input_dtype,           "cccc", LEGAL(QUERN_FLOAT_DTYPES))
RULE(quern_quantize_chunks_args, output_dtype,          "cccc", LEGAL(QUERN_NARROW_DTYPES))
BUFFER_OF(quern_quantize_chunks_args, input,            "RR-R", quern_dtype_bytes(a->input_dtype))
BUFFER_OF(quern_quantize_chunks_args, output,           "WW-W", 1)
BUFFER_OF(quern_quantize_chunks_args, ready,            "WW-W", sizeof(uint32_t))
RULE(quern_quantize_chunks_args, ready_value,           "cccc", REFUSES(
     ARGUMENT("neither 0 nor 4294967295", VALUES(0, UINT32_MAX))))
#define TOO_MANY(other) SHAPE(" with args." other ", of 1 members: expected at most 2^47 bytes of input and of output", \
                              VALUES((int64_t)1 << 43, INT64_MAX))
RULE(quern_quantize_chunks_args, rows,                  "cccc", REFUSES(SHAPE("0 or more"), TOO_MANY("columns 9")))
RULE(quern_quantize_chunks_args, columns,               "cccc", NEVER_NEGATIVE)
RULE(quern_quantize_chunks_args, chunk_rows,            "cccc", REFUSES(SHAPE("1 or more")))
MEMORY_OF(quern_quantize_chunks_args, order,            "rr-r", sizeof(int), .host_calls = ~0u, .stays = true)
MEMORY_OF(quern_quantize_chunks_args, amax,             "WW-0", sizeof(float), NOT_IN_BLOCKS)
MEMORY_OF(quern_quantize_chunks_args, scale,            "ww-0", sizeof(float), NOT_IN_BLOCKS)
MEMORY_OF(quern_quantize_chunks_args, scale_inv,        "ww-0", sizeof(float), NOT_IN_BLOCKS)
RULE(quern_quantize_chunks_args, eps,                   "cccc", REFUSES(FP32))
PLAIN(quern_quantize_chunks_args, power_of_two,         "cccc")
PLAIN(quern_quantize_chunks_args, rounding,             "cccc")
PLAIN(quern_quantize_chunks_args, seed,                 "..-.")
PLAIN(quern_quantize_chunks_args, offset,               "..-.")
BUFFER_OF(quern_quantize_chunks_args, offset_pointer,   "rr-r", sizeof(uint64_t))
PLAIN(quern_quantize_chunks_args, members,              "....")
RULE(quern_quantize_chunks_args, member_count,          "-c--", NO_MEMBER_COUNT)
RULE(quern_quantize_chunks_args, multiprocessors,       "cccc", NEVER_NEGATIVE)
RULE(quern_quantize_chunks_args, timeout,               "cccc", NO_TIME)
PLAIN(quern_quantize_chunks_args, scaling,              "cccc")
MEMORY_OF(quern_quantize_chunks_args, block_scales,     "00-W", 1,
          .unused = {"is not NULL: expected NULL with the scaling of a tensor"})
RULES_OF(quern_quantize_chunks_args)

enum { SENT, RECEIVED };  /* the columns of the two items */
RULE(quern_transfer_args, item_size,                    "c", REFUSES(
     STRUCT_BYTES("32 (as QUERN_TRANSFER_ARGS_INIT sets)", VALUES(0, 24, 31, 33, 40, UINT32_MAX))))
MEMORY_OF(quern_transfer_args, items,                   "R", sizeof(void *), .host_calls = ~0u)
RULE(quern_transfer_args, item_count,                   "c", REFUSES(COUNT_TO("1048576")))
PLAIN(quern_transfer_args, key,                         ".")
RULE(quern_transfer_args, timeout,                      "c", NO_TIME)
RULES_OF(quern_transfer_args)
RULE(quern_transfer_item, receive,                      "cc", .legal_text = "0 or 1")
RULE(quern_transfer_item, peer,                         "cc", REFUSES(ARGUMENT("a rank from 0 to 0")))
PLAIN(quern_transfer_item, tag,                         "..")
MEMORY_OF(quern_transfer_item, memory,                  "RW", 1, .host_calls = 0)
RULE(quern_transfer_item, bytes,                        "cc", REFUSES(
     SHAPE("0 to 2^47", VALUES(-1, INT64_MIN, ((int64_t)1 << 47) + 1, INT64_MAX))))
RULES_OF(quern_transfer_item)

/* ---- parameters ---- */

#define EXCHANGE_ARGS(function) RULE(function##__parameters, args, "R", .called = "quern_ragged_all_to_all_args")
#define NO_RANK_COUNT(handles) REFUSES(ARGUMENT("1 to 128 " handles))
PLAIN(quern_group_create__parameters, args, "R")
RULE(quern_group_create__parameters, count, "c", NO_RANK_COUNT("ranks"))
HOST_RESULT(quern_group_create, groups, "W")
PLAIN(quern_barrier__parameters, group, "R")
PLAIN(quern_barrier__parameters, args, "r")
PLAIN(quern_barrier__parameters, stream, "s")
PLAIN(quern_ragged_all_to_all__parameters, group, "R")
EXCHANGE_ARGS(quern_ragged_all_to_all)
WORKSPACE_AND_STREAM(quern_ragged_all_to_all)
PLAIN(quern_ragged_all_to_all_workspace__parameters, group, "R")
EXCHANGE_ARGS(quern_ragged_all_to_all_workspace)
HOST_RESULT(quern_ragged_all_to_all_workspace, bytes, "W")
PLAIN(quern_ragged_plan_create__parameters, groups, "R")
RULE(quern_ragged_plan_create__parameters, count, "c", NO_RANK_COUNT("handles"))
EXCHANGE_ARGS(quern_ragged_plan_create)
PLAIN(quern_ragged_plan_create__parameters, workspaces, "R")
PLAIN(quern_ragged_plan_create__parameters, workspace_bytes, "R")
HOST_RESULT(quern_ragged_plan_create, plans, "W")
PLAIN(quern_ragged_sizes__parameters, groups, "R")
RULE(quern_ragged_sizes__parameters, count, "c", NO_RANK_COUNT("handles"))
RULE(quern_ragged_sizes__parameters, args, "R", .called = "args")
/* A group in one process needs no workspace. */
#define COLLECTIVE(function, given) \
    PLAIN(function##__parameters, group, "R") \
    RULE(function##__parameters, args, "R", .called = given) \
    PLAIN(function##__parameters, workspace, ".") PLAIN(function##__parameters, workspace_bytes, ".") \
    PLAIN(function##__parameters, stream, "s")
COLLECTIVE(quern_all_gather, "quern_collective_args")
COLLECTIVE(quern_reduce_scatter, "quern_collective_args")
COLLECTIVE(quern_all_reduce, "quern_collective_args")
COLLECTIVE(quern_broadcast, "quern_collective_args")
COLLECTIVE(quern_quantize_chunks, "quern_quantize_chunks_args")
PLAIN(quern_quantize_chunks_workspace__parameters, group, "R")
RULE(quern_quantize_chunks_workspace__parameters, args, "R", .called = "quern_quantize_chunks_args")
HOST_RESULT(quern_quantize_chunks_workspace, bytes, "W")
PLAIN(quern_collective_workspace__parameters, group, "R")
RULE(quern_collective_workspace__parameters, args, "R", .called = "quern_collective_args")
HOST_RESULT(quern_collective_workspace, bytes, "W")
PLAIN(quern_transfer_prepare__parameters, group, "R")
RULE(quern_transfer_prepare__parameters, args, "R", .called = "quern_transfer_args")
HOST_RESULT(quern_transfer_prepare, transfer, "W")
PARAMETERS_OF(quern_group_create)
PARAMETERS_OF(quern_barrier)
PARAMETERS_OF(quern_ragged_all_to_all)
PARAMETERS_OF(quern_ragged_all_to_all_workspace)
PARAMETERS_OF(quern_ragged_plan_create)
PARAMETERS_OF(quern_ragged_sizes)
PARAMETERS_OF(quern_all_gather)
PARAMETERS_OF(quern_reduce_scatter)
PARAMETERS_OF(quern_all_reduce)
PARAMETERS_OF(quern_broadcast)
PARAMETERS_OF(quern_collective_workspace)
PARAMETERS_OF(quern_quantize_chunks)
PARAMETERS_OF(quern_quantize_chunks_workspace)
PARAMETERS_OF(quern_transfer_prepare)

/* ---- base cases ---- */

static quern_group *ranks_group;             /* which the suite creates */
static quern_group_args group_args;
static quern_barrier_args barrier_args;
static quern_ragged_all_to_all_args exchange_args;
static quern_ragged_sizes_args sizes_args;
static quern_collective_args collective_args;
static quern_quantize_chunks_args chunks_args;
static quern_transfer_args transfer_args;
static quern_transfer_item transfer_items[2];
static int only_member = 0;
static void *plan_workspace;
static size_t plan_workspace_bytes;

static void set_group(UNUSED const struct call *call) {
    group_args = (quern_group_args)GROUP_ARGS(.ranks = 1, .device = fields_device.quern);
    parameters_of_quern_group_create.args = &group_args, parameters_of_quern_group_create.count = 1;
}

static void destroy_made_group(UNUSED const struct call *call) {
    quern_group **group = (quern_group **)(void *)parameters_of_quern_group_create.groups;
    check_ok(quern_group_destroy(*group));
    *group = NULL;
}

static void set_barrier(const struct call *call) {
    barrier_args = (quern_barrier_args)QUERN_BARRIER_ARGS_INIT;
    if (call->parts[1].column == SOME) barrier_args.members = &only_member, barrier_args.member_count = 1;
    parameters_of_quern_barrier.group = ranks_group, parameters_of_quern_barrier.args = &barrier_args;
    parameters_of_quern_barrier.stream = fields_device.stream;
}

static void fill_nothing(UNUSED const struct call *call) {
}

static void set_exchange(const struct call *call) {
    quern_ragged_all_to_all_args *a = &exchange_args;
    *a = (quern_ragged_all_to_all_args)QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    a->input_rows = a->output_rows = EXCHANGED_ROWS, a->row_bytes = ROW_BYTES, a->updates = UPDATES;
    a->metadata_on_device = test_kind() == QUERN_CUDA && call->parts[1].column != CREATE;
    if (call->parts[1].column == EXCHANGE_OF_SOME) a->members = &only_member, a->member_count = 1;
    parameters_of_quern_ragged_all_to_all.group = ranks_group, parameters_of_quern_ragged_all_to_all.args = a;
    parameters_of_quern_ragged_all_to_all.stream = fields_device.stream;
    parameters_of_quern_ragged_all_to_all_workspace.group = ranks_group, parameters_of_quern_ragged_all_to_all_workspace.args = a;
    parameters_of_quern_ragged_plan_create.groups = &ranks_group, parameters_of_quern_ragged_plan_create.count = 1;
    parameters_of_quern_ragged_plan_create.args = a, parameters_of_quern_ragged_plan_create.workspaces = &plan_workspace;
    parameters_of_quern_ragged_plan_create.workspace_bytes = &plan_workspace_bytes;
}

/* Two slices, which change places. */
static void fill_exchange(const struct call *call) {
    static const int32_t input_offsets[] = {0, 2}, sizes[] = {2, 4}, output_offsets[] = {4, 0};
    const quern_ragged_all_to_all_args *a = &exchange_args;
    if (call->parts[1].column == SPACE) return;
    memcpy(fields_image(a->input_offsets), input_offsets, sizeof input_offsets);
    memcpy(fields_image(a->send_sizes), sizes, sizeof sizes);
    memcpy(fields_image(a->output_offsets), output_offsets, sizeof output_offsets);
    memcpy(fields_image(a->recv_sizes), sizes, sizeof sizes);
    for (int i = 0; i < EXCHANGED_ROWS * ROW_BYTES; i++) fields_bytes((const char *)a->input + i, 1, i);
}

/* Behind the last home. */
static void size_plan(UNUSED const struct call *call) {
    const void *last = test_kind() == QUERN_CUDA ? exchange_args.output : exchange_args.recv_sizes;
    plan_workspace = (char *)(uintptr_t)last + 16 * (ptrdiff_t)FIELDS_ROOM;
    check_ok(quern_ragged_all_to_all_workspace(ranks_group, &exchange_args, &plan_workspace_bytes));
}

static void destroy_made_plan(UNUSED const struct call *call) {
    quern_ragged_plan **plan = (quern_ragged_plan **)(void *)parameters_of_quern_ragged_plan_create.plans;
    check_ok(quern_ragged_plan_destroy(*plan));
    *plan = NULL;
}

static void set_sizes(UNUSED const struct call *call) {
    sizes_args = (quern_ragged_sizes_args)QUERN_RAGGED_SIZES_ARGS_INIT;
    sizes_args.updates = UPDATES;
    parameters_of_quern_ragged_sizes.groups = &ranks_group, parameters_of_quern_ragged_sizes.count = 1;
    parameters_of_quern_ragged_sizes.args = &sizes_args;
}

static void fill_sizes(UNUSED const struct call *call) {
    static const int32_t sizes[] = {2, 4};
    memcpy(fields_image(sizes_args.send_sizes), sizes, sizeof sizes);
}

enum { REDUCED_ELEMENTS = 50 };
static void set_collective(const struct call *call) {
    collective_args = (quern_collective_args)COLLECTIVE_ARGS(.dtype = QUERN_F32, .count = REDUCED_ELEMENTS);
    if (call->parts[1].column == REDUCED_OF_SOME) collective_args.members = &only_member, collective_args.member_count = 1;
#define SET_COLLECTIVE(function) \
    parameters_of_##function.group = ranks_group, parameters_of_##function.args = &collective_args; \
    parameters_of_##function.stream = fields_device.stream;
    SET_COLLECTIVE(quern_all_gather)
    SET_COLLECTIVE(quern_reduce_scatter)
    SET_COLLECTIVE(quern_all_reduce)
    SET_COLLECTIVE(quern_broadcast)
    parameters_of_quern_collective_workspace.group = ranks_group, parameters_of_quern_collective_workspace.args = &collective_args;
}

static void fill_collective(const struct call *call) {
    if (call->parts[1].column != COLLECTIVE_SPACE) fields_floats(collective_args.input, REDUCED_ELEMENTS, 1.5f);
}

/* The words in the homes are no value and no complement of one. */
enum { CHUNK_COUNT = 3, CHUNKED_ROWS = 7, CHUNKED_COLUMNS = 9, CHUNKED_VALUE = 77 };
static void set_chunks(const struct call *call) {
    quern_quantize_chunks_args *a = &chunks_args;
    *a = (quern_quantize_chunks_args)QUERN_QUANTIZE_CHUNKS_ARGS_INIT;
    a->input_dtype = QUERN_F32, a->output_dtype = QUERN_E4M3, a->ready_value = CHUNKED_VALUE;
    a->rows = CHUNKED_ROWS, a->columns = CHUNKED_COLUMNS, a->chunk_rows = 3;
    if (call->parts[1].column == CHUNKED_OF_SOME) a->members = &only_member, a->member_count = 1;
    if (call->parts[1].column == CHUNKED_IN_BLOCKS) a->scaling = QUERN_SCALING_MX;
    parameters_of_quern_quantize_chunks.group = ranks_group, parameters_of_quern_quantize_chunks.args = a;
    parameters_of_quern_quantize_chunks.stream = fields_device.stream;
    parameters_of_quern_quantize_chunks_workspace.group = ranks_group, parameters_of_quern_quantize_chunks_workspace.args = a;
}

static void fill_chunks(const struct call *call) {
    static const int order[CHUNK_COUNT] = {1, 2, 0};
    static const uint32_t none[CHUNK_COUNT];
    const quern_quantize_chunks_args *a = &chunks_args;
    if (call->parts[1].column == CHUNKS_SPACE) return;
    fields_floats(a->input, CHUNKED_ROWS * CHUNKED_COLUMNS, 1.5f);
    memcpy(fields_image(a->order), order, sizeof order);
    memcpy(fields_image(a->ready), none, sizeof none);
}

/* A copy within the rank, which is run at once. */
enum { COPIED = 24 };
static void set_transfer(UNUSED const struct call *call) {
    transfer_args = (quern_transfer_args)TRANSFER_ARGS(.items = transfer_items, .item_count = 2);
    for (int i = 0; i < 2; i++) transfer_items[i] = (quern_transfer_item){.receive = i, .bytes = COPIED};
    parameters_of_quern_transfer_prepare.group = ranks_group, parameters_of_quern_transfer_prepare.args = &transfer_args;
}

static void fill_transfer(UNUSED const struct call *call) { fields_bytes(transfer_items[0].memory, COPIED, 7); }

static void run_made_transfer(UNUSED const struct call *call) {
    quern_transfer **transfer = (quern_transfer **)(void *)parameters_of_quern_transfer_prepare.transfer;
    check_ok(quern_transfer_start(*transfer, fields_device.stream));
    check_ok(quern_transfer_wait(*transfer, 0));
    check_ok(quern_transfer_destroy(*transfer));
    *transfer = NULL;
}

#define OF_RANKS(title, base, given, object, at, ...) {.name = title, .function = #base, \
    .parts = {PARAMETERS(base), {.type = #given, .rules = rules_of_##given, .self = &(object), .prefix = "args.", \
                                 .other_prefix = "", .column = at}}, .is_of_ranks = true, __VA_ARGS__}
#define EXCHANGE_OF(title, base, at, ...) OF_RANKS(title, base, quern_ragged_all_to_all_args, exchange_args, at, \
    .set = set_exchange, .fill = fill_exchange, .scratch = "workspace", .contents_end_group = true, \
    __VA_ARGS__)
static const struct call calls_of_quern_group_create[] = {
    OF_RANKS("create a group", quern_group_create, quern_group_args, group_args, ALL, .set = set_group, .fill = fill_nothing,
             .after = destroy_made_group, .keeps_outputs = true),
    {.name = NULL}};
static const struct call calls_of_quern_barrier[] = {
    OF_RANKS("barrier", quern_barrier, quern_barrier_args, barrier_args, ALL, .set = set_barrier, .fill = fill_nothing),
    OF_RANKS("barrier of some", quern_barrier, quern_barrier_args, barrier_args, SOME, .set = set_barrier, .fill = fill_nothing),
    {.name = NULL}};
static const struct call calls_of_quern_ragged_all_to_all[] = {
    EXCHANGE_OF("exchange", quern_ragged_all_to_all, EXCHANGE, .size = NULL),
    EXCHANGE_OF("exchange of some", quern_ragged_all_to_all, EXCHANGE_OF_SOME, .size = NULL), {.name = NULL}};
static const struct call calls_of_quern_ragged_all_to_all_workspace[] = {
    EXCHANGE_OF("workspace of an exchange", quern_ragged_all_to_all_workspace, SPACE, .size = NULL), {.name = NULL}};
static const struct call calls_of_quern_ragged_plan_create[] = {
    EXCHANGE_OF("plan of an exchange", quern_ragged_plan_create, CREATE, .size = size_plan, .after = destroy_made_plan,
                .keeps_outputs = true),
    {.name = NULL}};

static const struct call calls_of_quern_ragged_sizes[] = {
    OF_RANKS("sizes of an exchange", quern_ragged_sizes, quern_ragged_sizes_args, sizes_args, ALL, .set = set_sizes,
             .fill = fill_sizes),
    {.name = NULL}};

#define COLLECTIVE_OF(title, base, at) OF_RANKS(title, base, quern_collective_args, collective_args, at, \
    .set = set_collective, .fill = fill_collective, .contents_end_group = true)
static const struct call calls_of_quern_all_gather[] = {COLLECTIVE_OF("all-gather", quern_all_gather, GATHERED), {.name = NULL}};
static const struct call calls_of_quern_reduce_scatter[] = {
    COLLECTIVE_OF("reduce-scatter", quern_reduce_scatter, SCATTERED), {.name = NULL}};
static const struct call calls_of_quern_all_reduce[] = {
    COLLECTIVE_OF("all-reduce", quern_all_reduce, REDUCED), COLLECTIVE_OF("all-reduce of some", quern_all_reduce, REDUCED_OF_SOME),
    {.name = NULL}};
static const struct call calls_of_quern_broadcast[] = {COLLECTIVE_OF("broadcast", quern_broadcast, BROADCASTED), {.name = NULL}};
static const struct call calls_of_quern_collective_workspace[] = {
    COLLECTIVE_OF("workspace of a collective", quern_collective_workspace, COLLECTIVE_SPACE), {.name = NULL}};

#define CHUNKS_OF(title, base, at) OF_RANKS(title, base, quern_quantize_chunks_args, chunks_args, at, \
    .set = set_chunks, .fill = fill_chunks, .contents_end_group = true)
static const struct call calls_of_quern_quantize_chunks[] = {
    CHUNKS_OF("chunks", quern_quantize_chunks, CHUNKED), CHUNKS_OF("chunks of some", quern_quantize_chunks, CHUNKED_OF_SOME),
    CHUNKS_OF("chunks in blocks", quern_quantize_chunks, CHUNKED_IN_BLOCKS), {.name = NULL}};
static const struct call calls_of_quern_quantize_chunks_workspace[] = {
    CHUNKS_OF("workspace of chunks", quern_quantize_chunks_workspace, CHUNKS_SPACE), {.name = NULL}};

#define ITEM_PART(place, at) {.type = "quern_transfer_item", .rules = rules_of_quern_transfer_item, \
    .self = &transfer_items[place], .parent = &transfer_args, .prefix = "args.items[" #place "].", .column = at}
static const struct call calls_of_quern_transfer_prepare[] = {
    {.name = "transfer", .function = "quern_transfer_prepare", .is_of_ranks = true,
     .parts = {PARAMETERS(quern_transfer_prepare), {.type = "quern_transfer_args", .rules = rules_of_quern_transfer_args,
                                                    .self = &transfer_args, .prefix = "args.", .other_prefix = ""},
               ITEM_PART(0, SENT), ITEM_PART(1, RECEIVED)},
     .set = set_transfer, .fill = fill_transfer, .after = run_made_transfer, .keeps_outputs = true},
    {.name = NULL}};

#define CALLS_IN_LIST(function) calls_of_##function,
static const struct call *const rank_calls[] = {CALLS_WITH_quern_group_args(CALLS_IN_LIST)
                                                CALLS_WITH_quern_barrier_args(CALLS_IN_LIST)
                                                CALLS_WITH_quern_ragged_all_to_all_args(CALLS_IN_LIST)
                                                CALLS_WITH_quern_ragged_sizes_args(CALLS_IN_LIST)
                                                CALLS_WITH_quern_transfer_args(CALLS_IN_LIST)};
static const struct call *const collective_calls[] = {CALLS_WITH_quern_collective_args(CALLS_IN_LIST)
                                                      CALLS_WITH_quern_quantize_chunks_args(CALLS_IN_LIST)};

#endif
