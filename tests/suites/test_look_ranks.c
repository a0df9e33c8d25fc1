/*
 * What a trace and a dump show of ranks: for whom a rank waited, and the memory of exchanges, collectives and transfers.
 *
 * Runs on: ranks.
 */
#include "harness/check.h"
#include "harness/looking.h"
#include "harness/ranks.h"
#include "ranks/handles.h"

enum { PAIR = 2, ROW = 5 };

/* What the ranks write, and where. */
struct places {
    char trace[512], run[PAIR][512];
};

/* Comes to a meeting when the other rank sleeps in it. */
static void come_late(const struct rank *rank, const quern_group *group) {
    const struct quern_segment_rank *other = &group->member->segment->rank[1 - rank->rank];
    while (!__atomic_load_n(&other->asleep_in_meeting, __ATOMIC_ACQUIRE)) rank_sleep(0.001);
}

/* All begin to look before the first call, and end after the last one. */
static void begin(struct rank *rank) {
    const struct places *places = rank->user;
    quern_dump_args args = DUMP_ARGS(.folder = places->run[rank->rank]);
    rank_ok(rank, quern_dump_at(rank->device, &args));
    rank_ok(rank, quern_step(rank->device, 0));
    if (rank->rank == 0) rank_ok(rank, quern_trace_begin(places->trace));
    rank_line_up(rank);
}

static void end(struct rank *rank) {
    rank_line_up(rank);
    if (rank->rank == 0) rank_ok(rank, quern_trace_end());
    rank_ok(rank, quern_step(rank->device, 1));
}

static char *find_in(const char *path, const char *part, const char *other) {
    char *text = read_text(path, NULL);
    check(text, "no %s", path);
    return find_line(text, part, other, 0);
}

static const struct places *open_places(struct places *places) {
    const char *folder = make_folder();
    strcpy(places->trace, path_in(folder, "trace.json"));
    for (int rank = 0; rank < PAIR; rank++) {
        char name[16];
        snprintf(name, sizeof name, "rank%d", rank);
        strcpy(places->run[rank], path_in(folder, name));
    }
    return places;
}

#define LOOK_AT(places, ...) \
    struct places places; \
    check_ranks(.kind = RANK_PROCESSES, .count = PAIR, .user = open_places(&places), __VA_ARGS__)
#define LOOK_IN_GROUP(places, ...) LOOK_AT(places, .met = true, .in_group = __VA_ARGS__)

static char *index_line(const struct places *places, int rank, const char *operation) {
    char path[600];
    snprintf(path, sizeof path, "%s/index.jsonl", places->run[rank]);
    return find_in(path, operation, "\"status\":\"QUERN_OK\"");
}

/* A tensor in a file of a rank's dump has these bytes. */
static void check_tensor(const struct places *places, int rank, const char *file, const char *tensor, const char *dtype,
                         const char *shape, const void *expected) {
    char path[600];
    size_t bytes;
    snprintf(path, sizeof path, "%s/%s.safetensors", places->run[rank], file);
    const void *written = read_tensor(path, tensor, dtype, shape, &bytes);
    check(!memcmp(written, expected, bytes), "rank %d: %s of %s differs", rank, tensor, file);
}

/* ---- waits ---- */

static void meet_late(struct rank *rank, quern_group *group) {
    rank_line_up(rank);
    begin(rank);
    if (rank->rank == 1) come_late(rank, group);
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    end(rank);
}

static void check_waits(enum rank_kind kind) {
    struct places places;
    check_ranks(.kind = kind, .count = PAIR, .in_group = meet_late, .met = true, .user = open_places(&places));
    char *call = find_in(places.trace, "\"name\":\"barrier\"", "\"rank\":0");
    char *wait = find_in(places.trace, "\"cat\":\"wait\"", "\"rank\":0");
    check(strstr(wait, "\"for\":[1],\"missing\":1,\"status\":\"QUERN_OK\""), "%s", wait);
    check(number_in(call, "\"ranks\":") == PAIR, "%s", call);
    const double begin_of_wait = number_in(wait, "\"ts\":"), lasted = number_in(wait, "\"dur\":");
    check(lasted > 0 && number_in(call, "\"ts\":") - 1 <= begin_of_wait, "%s\n%s", wait, call);
    find_in(places.trace, "thread_name", "rank 0 of 2");
    for (int rank = 0; rank < PAIR; rank++) {
        char expected[32];
        snprintf(expected, sizeof expected, "\"rank\":%d,\"ranks\":2", rank);
        check(strstr(index_line(&places, rank, "\"operation\":\"barrier\""), expected), "no %s", expected);
    }
}

Test(look_ranks, a_wait_names_the_missing_rank) {
    check_waits(RANK_THREADS);
    check_waits(RANK_PROCESSES);
}

/* A wait that ends with an error has its status. */
static quern_status wait_in_vain(struct rank *rank) {
    quern_group *group = rank_group_met(rank, rank->rank ? RANK_LIMIT : 0.2);
    const struct places *places = rank->user;
    if (rank->rank == 0) {
        rank_ok(rank, quern_trace_begin(places->trace));
        rank_status(rank, quern_barrier(group, NULL, NULL), QUERN_PEER_TIMEOUT);
        rank_ok(rank, quern_trace_end());
    }
    rank_line_up(rank);
    return quern_group_destroy(group);
}

Test(look_ranks, a_wait_in_vain_has_its_status) {
    LOOK_AT(places, .function = wait_in_vain);
    find_in(places.trace, "\"cat\":\"wait\"", "\"for\":[1],\"missing\":1,\"status\":\"QUERN_PEER_TIMEOUT\"");
    find_in(places.trace, "\"name\":\"barrier\"", "\"status\":\"QUERN_PEER_TIMEOUT\"");
}

/* The life of a group, under a trace from before its creation until it is destroyed.  Rank 0 waits for rank 1 in each meeting. */
static quern_status live(struct rank *rank) {
    char rows[PAIR * ROW] = "", others[PAIR * ROW];
    const int32_t sends[PAIR] = {1, 1};
    const size_t bytes = 64;
    struct rank_exchange exchange;
    quern_ragged_plan *plan;
    quern_group *half, *left;
    if (rank->rank == 0) rank_ok(rank, quern_trace_begin(((const struct places *)rank->user)->trace));
    rank_line_up(rank);
    quern_group *group = rank_group(rank, RANK_LIMIT);
    if (rank->rank == 1) come_late(rank, group);
    void *memory = rank_allocate(rank, group, bytes);
    rank_ok(rank, quern_symmetric_free(group, memory, NULL));
    rank_ok(rank, rank_exchange_open(rank, group, &exchange, rows, others, 1, ROW));
    rank_line_up(rank);
    if (rank->rank == 1) come_late(rank, group);
    rank_ok(rank, quern_ragged_plan_create(&group, 1, &exchange.args, &exchange.workspace, &exchange.bytes, &plan));
    rank_ok(rank, quern_ragged_plan_destroy(plan));
    rank_line_up(rank);
    quern_ragged_sizes_args sizes = RAGGED_SIZES_ARGS(.send_sizes = sends);
    if (rank->rank == 1) come_late(rank, group);
    rank_ok(rank, quern_ragged_sizes(&group, 1, &sizes));
    rank_line_up(rank);
    if (rank->rank == 1) come_late(rank, group);
    rank_ok(rank, quern_group_split(&group, 1, (const int[]){0}, &rank->rank, &half));
    rank_ok(rank, quern_group_destroy(half));
    rank_ok(rank, quern_group_shrink(&group, 1, &left));
    rank_ok(rank, quern_group_destroy(group));
    rank_ok(rank, quern_group_destroy(left));
    if (rank->rank == 0) rank_ok(rank, quern_trace_end());
    return QUERN_OK;
}

/* The call that the wait names contains it, in the same thread. */
static bool is_in_its_call(const char *text, const char *wait) {
    char name[64], thread[32];
    const char *call = strstr(wait, "\"call\":\"");
    if (!call) return false;
    const double began = number_in(wait, "\"ts\":"), ended = began + number_in(wait, "\"dur\":"), rounding = 1e-3;
    call += strlen("\"call\":\"");
    snprintf(name, sizeof name, "\"name\":\"%.*s\"", (int)strcspn(call, "\""), call);
    snprintf(thread, sizeof thread, "\"tid\":%.0f,", number_in(wait, "\"tid\":"));
    for (int i = 0, count = count_lines(text, "\"cat\":\"operation\"", name); i < count; i++) {
        char *line = find_line(text, "\"cat\":\"operation\"", name, i);
        const double begin = number_in(line, "\"ts\":"), end = begin + number_in(line, "\"dur\":");
        const bool contains = strstr(line, thread) && begin <= began + rounding && ended <= end + rounding;
        free(line);
        if (contains) return true;
    }
    return false;
}

Test(look_ranks, each_wait_is_within_the_call_that_it_names) {
    static const char *const calls[] = {"symmetric_alloc", "ragged_plan_create", "ragged_sizes", "group_split", "group_create",
                                        "group_destroy", "group_shrink", "symmetric_free", "ragged_plan_destroy"};
    enum { LATE = 4 };
    char part[64];
    LOOK_AT(places, .function = live);
    char *text = read_text(places.trace, NULL);
    for (int i = 0; i < (int)(sizeof calls / sizeof *calls); i++) {
        snprintf(part, sizeof part, "\"name\":\"%s\"", calls[i]);
        check(count_lines(text, "\"cat\":\"operation\"", part) >= 1, "no %s", calls[i]);
        snprintf(part, sizeof part, "\"call\":\"%s\"", calls[i]);
        check(i >= LATE || count_lines(text, "\"cat\":\"wait\"", part) >= 1, "no wait of %s", calls[i]);
    }
    for (int i = 0, waits = count_lines(text, "\"cat\":\"wait\"", ""); i < waits; i++) {
        SCOPED char *wait = find_line(text, "\"cat\":\"wait\"", "", i);
        check(is_in_its_call(text, wait), "%s", wait);
    }
}

/* They have no tensors: the calls of a dump are numbered without them. */
static quern_status dump_only_operations(struct rank *rank) {
    quern_group *groups[] = {rank_group_met(rank, RANK_LIMIT), NULL};
    void *memory;
    begin(rank);
    rank_ok(rank, quern_symmetric_alloc(groups, 1, &(size_t){64}, &memory));
    rank_ok(rank, quern_group_split(groups, 1, (const int[]){0}, &rank->rank, &groups[1]));
    rank_ok(rank, quern_barrier(groups[0], NULL, NULL));
    end(rank);
    rank_ok(rank, quern_group_destroy(groups[1]));
    return quern_group_destroy(groups[0]);
}

Test(look_ranks, a_dump_has_operations_alone) {
    LOOK_AT(places, .function = dump_only_operations);
    char *text = read_text(path_in(places.run[0], "index.jsonl"), NULL);
    check(count_lines(text, "\"sequence\":", "") == 1 && count_lines(text, "\"sequence\":0", "\"barrier\"") == 1, "%s", text);
}

/* ---- tracks ---- */

/* What rank 0 of two is in a second group, and the name of its thread. */
struct second {
    const struct places *places;
    int rank, ranks;
    const char *name;
};

static void be_in_two_groups(struct rank *rank) {
    const struct second *second = rank->user;
    quern_group *groups[] = {rank_group(rank, RANK_LIMIT), NULL};
    quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    char name[96];
    snprintf(name, sizeof name, "%s.second", rank->name);
    args.name = name, args.rank = rank->rank ? !second->rank : second->rank, args.ranks = second->ranks;
    if (second->ranks == 1) args.name = NULL, args.rank = 0;
    rank_ok(rank, quern_group_create(&args, 1, &groups[1]));
    if (rank->rank == 0) rank_ok(rank, quern_trace_begin(second->places->trace));
    for (int i = 0; i < 2; i++) rank_ok(rank, quern_barrier(groups[i], NULL, NULL));
    if (rank->rank == 0) rank_ok(rank, quern_trace_end());
    for (int i = 0; i < 2; i++) rank_ok(rank, quern_group_destroy(groups[i]));
}

Test(look_ranks, a_thread_that_is_several_ranks_has_no_name_of_one) {
    const struct second seconds[] = {{NULL, 0, 2, "rank 0 of 2"}, {NULL, 1, 2, "\"thread "}, {NULL, 0, 1, "\"thread "}};
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
        struct places places;
        struct second second = seconds[i];
        second.places = open_places(&places);
        check_ranks(.kind = RANK_PROCESSES, .count = PAIR, .body = be_in_two_groups, .user = &second);
        find_in(places.trace, "thread_name", second.name);
    }
}

/* ---- exchanges ---- */

/* Each rank sends its row r to rank r, whose output has them in the order of the ranks. */
static void exchange(struct rank *rank, quern_group *group) {
    char input[PAIR * ROW + 1] = "firstsecon", output[PAIR * ROW + 1] = "----------";
    struct rank_exchange exchange;
    quern_ragged_plan *plan;
    rank_ok(rank, rank_exchange_open(rank, group, &exchange, input, output, 1, ROW));
    rank_ok(rank, quern_ragged_plan_create(&group, 1, &exchange.args, &exchange.workspace, &exchange.bytes, &plan));
    begin(rank);
    rank_ok(rank, rank_exchange_run(group, &exchange));
    rank_ok(rank, quern_ragged_plan_run(plan, NULL));
    end(rank);
    rank_ok(rank, quern_ragged_plan_destroy(plan));
}

Test(look_ranks, exchanges_have_their_rows) {
    static const char *const outputs[PAIR] = {"firstfirst", "seconsecon"};
    LOOK_IN_GROUP(places, exchange);
    for (int rank = 0; rank < PAIR; rank++) {
        check_tensor(&places, rank, "000000.ragged_all_to_all.in", "input", "U8", "[2,5]", "firstsecon");
        check_tensor(&places, rank, "000000.ragged_all_to_all.in", "output", "U8", "[2,5]", "----------");
        check_tensor(&places, rank, "000000.ragged_all_to_all.out", "output", "U8", "[2,5]", outputs[rank]);
        check_tensor(&places, rank, "000001.ragged_plan_run.out", "output", "U8", "[2,5]", outputs[rank]);
        char *line = index_line(&places, rank, "\"operation\":\"ragged_all_to_all\"");
        check(strstr(line, "\"name\":\"output_offsets\",\"access\":\"in\",\"dtype\":\"I32\",\"shape\":[2,1]"), "%s", line);
        check(strstr(line, "\"row_bytes\":5"), "%s", line);
    }
    find_in(places.trace, "\"cat\":\"operation\"", "ragged_plan_run");
}

/* ---- transfers ---- */

static void transfer(struct rank *rank, quern_group *group) {
    char text[ROW] = "-----";
    const quern_transfer_item item = {.receive = rank->rank == 0, .peer = 1 - rank->rank, .tag = 3, .memory = text, .bytes = ROW};
    quern_transfer *transfer;
    quern_transfer_args args = TRANSFER_ARGS(.items = &item, .item_count = 1, .key = 8);
    if (rank->rank == 1) memcpy(text, "words", ROW);
    rank_ok(rank, quern_transfer_prepare(group, &args, &transfer));
    begin(rank);
    rank_ok(rank, quern_transfer_start(transfer, NULL));
    rank_ok(rank, quern_transfer_wait(transfer, 0));
    end(rank);
    rank_ok(rank, quern_transfer_destroy(transfer));
}

Test(look_ranks, transfers_have_what_they_send_and_receive) {
    LOOK_IN_GROUP(places, transfer);
    check_tensor(&places, 1, "000000.transfer_start.in", "sent.0", "U8", "[5]", "words");
    check_tensor(&places, 0, "000001.transfer_wait.out", "received.0", "U8", "[5]", "words");
    char *call = find_in(places.trace, "\"cat\":\"operation\"", "transfer_wait");
    check(number_in(call, "\"bytes\":") == ROW, "%s", call);
}

/* ---- collectives ---- */

/* Rank r has r + 1 and 10; all of them have the sums, both inputs, and what rank 1 has. */
static void combine(struct rank *rank, quern_group *group) {
    const float input[2] = {(float)(rank->rank + 1), 10};
    float reduced[2], gathered[2 * PAIR], sent[2], scattered[1];
    size_t bytes;
    void *workspace = NULL;
    quern_collective_args args = COLLECTIVE_ARGS(.dtype = QUERN_F32, .input = input, .count = 2, .root = 1);
    rank_ok(rank, quern_prepare(rank->device, QUERN_COLLECTIVE));
    rank_ok(rank, quern_collective_workspace(group, &args, &bytes));
    if (bytes) rank_ok(rank, quern_symmetric_alloc(&group, 1, &bytes, &workspace));
    begin(rank);
    args.output = reduced;
    rank_ok(rank, quern_all_reduce(group, &args, workspace, bytes, NULL));
    args.output = gathered;
    rank_ok(rank, quern_all_gather(group, &args, workspace, bytes, NULL));
    args.output = sent;
    rank_ok(rank, quern_broadcast(group, &args, workspace, bytes, NULL));
    args.output = scattered, args.count = 1;
    rank_ok(rank, quern_reduce_scatter(group, &args, workspace, bytes, NULL));
    end(rank);
}

Test(look_ranks, collectives_have_their_inputs_and_outputs) {
    static const float inputs[PAIR][2] = {{1, 10}, {2, 10}}, sums[] = {3, 20}, all[] = {1, 10, 2, 10};
    LOOK_IN_GROUP(places, combine);
    for (int rank = 0; rank < PAIR; rank++) {
        check_tensor(&places, rank, "000000.all_reduce.in", "input", "F32", "[2]", inputs[rank]);
        check_tensor(&places, rank, "000000.all_reduce.out", "output", "F32", "[2]", sums);
        check_tensor(&places, rank, "000001.all_gather.out", "output", "F32", "[4]", all);
        check_tensor(&places, rank, "000002.broadcast.out", "output", "F32", "[2]", inputs[1]);
        check_tensor(&places, rank, "000003.reduce_scatter.in", "input", "F32", "[2]", inputs[rank]);
        check_tensor(&places, rank, "000003.reduce_scatter.out", "output", "F32", "[1]", &sums[rank]);
        char *line = index_line(&places, rank, "\"operation\":\"all_reduce\"");
        check(strstr(line, "\"count\":2"), "%s", line);
    }
    check_tensor(&places, 1, "000002.broadcast.in", "input", "F32", "[2]", inputs[1]);
    find_in(places.trace, "\"cat\":\"operation\"", "reduce_scatter");
}

/* ---- hosts ---- */

static void meet_of_hosts(struct rank *rank, quern_group *group) {
    const struct places *places = rank->user;
    if (rank->rank == 0) rank_ok(rank, quern_trace_begin(places->trace));
    for (int i = 0; i < 200; i++) rank_ok(rank, quern_barrier(group, NULL, NULL));
    if (rank->rank == 0) rank_ok(rank, quern_trace_end());
}

/* Of 200 barriers between hosts each waits for the other host: a message takes its time. */
Test(look_ranks, a_wait_for_another_host_names_its_rank) {
    LOOK_IN_GROUP(places, meet_of_hosts, .hosts = PAIR);
    find_in(places.trace, "\"cat\":\"wait\"", "\"for\":[1],\"missing\":1,\"status\":\"QUERN_OK\"");
}

/* ---- quantised chunks ---- */

/* Rank r has 2^r, which has the code of 2^(r + 7): the scale of both is the power of two below 448 / 2. */
static void send_chunks(struct rank *rank, quern_group *group) {
    const float input[2] = {(float)(1 << rank->rank), (float)(1 << rank->rank)};
    float amax;
    quern_quantize_chunks_args args = QUERN_QUANTIZE_CHUNKS_ARGS_INIT;
    rank_ok(rank, quern_prepare(rank->device, QUERN_QUANTIZE | QUERN_COLLECTIVE));
    void *memory = rank_allocate(rank, group, 64);
    args.input_dtype = QUERN_F32, args.output_dtype = QUERN_E4M3, args.power_of_two = 1, args.input = input, args.amax = &amax;
    args.output = memory, args.ready = (uint32_t *)memory + 8, args.ready_value = 9, args.rows = 2, args.columns = 1;
    begin(rank);
    rank_ok(rank, quern_quantize_chunks(group, &args, NULL, 0, NULL));
    rank_ok(rank, quern_chunk_wait(group, args.ready, 2 * PAIR, 9, 0, NULL));
    end(rank);
}

Test(look_ranks, chunks_have_their_tensors) {
    static const unsigned char codes[] = {0x70, 0x70, 0x78, 0x78};
    static const uint32_t words[] = {9, 9, 9, 9};
    LOOK_IN_GROUP(places, send_chunks);
    for (int rank = 0; rank < PAIR; rank++) {
        check_tensor(&places, rank, "000000.quantize_chunks.out", "output", "F8_E4M3", "[4,1]", codes);
        check_tensor(&places, rank, "000000.quantize_chunks.out", "ready", "U32", "[2,2]", words);
        char *line = index_line(&places, rank, "\"operation\":\"quantize_chunks\"");
        check(strstr(line, "\"chunk_rows\":1") && strstr(line, "\"ready_value\":9"), "%s", line);
        index_line(&places, rank, "\"operation\":\"chunk_wait\"");
    }
    find_in(places.trace, "\"cat\":\"operation\"", "chunk_wait");
}

/* Each rank has its own scales, by which 2^r becomes 2^8. */
static void send_blocks(struct rank *rank, quern_group *group) {
    enum { COLUMNS = 33 };
    float input[2 * COLUMNS];
    quern_quantize_chunks_args args = QUERN_QUANTIZE_CHUNKS_ARGS_INIT;
    rank_ok(rank, quern_prepare(rank->device, QUERN_QUANTIZE | QUERN_COLLECTIVE));
    unsigned char *memory = (unsigned char *)rank_allocate(rank, group, 512);
    for (int i = 0; i < 2 * COLUMNS; i++) input[i] = (float)(1 << rank->rank);
    args.input_dtype = QUERN_F32, args.output_dtype = QUERN_E4M3, args.scaling = QUERN_SCALING_MX, args.input = input;
    args.output = memory, args.block_scales = memory + 256, args.ready = (uint32_t *)(void *)(memory + 384), args.ready_value = 9;
    args.rows = 2, args.columns = COLUMNS;
    begin(rank);
    rank_ok(rank, quern_quantize_chunks(group, &args, NULL, 0, NULL));
    end(rank);
}

Test(look_ranks, chunks_in_blocks_have_their_scales) {
    static const unsigned char scales[] = {119, 119, 119, 119, 120, 120, 120, 120};
    LOOK_IN_GROUP(places, send_blocks);
    for (int rank = 0; rank < PAIR; rank++) {
        check_tensor(&places, rank, "000000.quantize_chunks.out", "block_scales", "U8", "[4,2]", scales);
        char *line = index_line(&places, rank, "\"operation\":\"quantize_chunks\"");
        check(strstr(line, "\"scaling\":2"), "%s", line);
    }
}
