/*
 * The protocols between ranks and threads under the checker: the library as it is, in programs of two or three threads.
 *
 *   protocols [PROGRAM] [--times NUMBER] [--sites] [--weaken LIST]
 *
 * runs all programs, or one, and so many times as many executions of each.  --sites prints the accesses with an order that were
 * executed; --weaken gives some of them another order (checker.h).  The last line is `N passed, N failed`.
 */

#include "harness/args.h"
#include "harness/standard.h"
#include "memory_model/checker.h"
#include "look/look.h"
#include "ranks/group/group.h"
#include "ranks/handles.h"
#include "ranks/meeting.h"
#include "ranks/transfer/transfer.h"
#include "runtime/idle.h"
#include "runtime/threads.h"

enum { RANKS = 3 };

static quern_device *devices[RANKS];
static quern_group *groups[RANKS];
static int32_t progress;  /* of new groups */

#define OK(call) expect_status(call, QUERN_OK, #call)
static void expect_status(quern_status status, quern_status expected, const char *call) {
    char why[256];
    quern_error_detail(why, sizeof why);
    checker_expect(status == expected, "%s returns %s: %s", call, quern_status_string(status), why);
}

/* ---- groups ---- */

static struct quern_membership *member_of(int rank) {
    struct quern_membership *member;
    OK(quern_member_of(groups[rank], &member));
    return member;
}

static void open_device(int rank) {
    if (devices[rank]) return;
    OK(quern_device_open(QUERN_CPU, 0, &devices[rank]));
    OK(quern_set_threads(devices[rank], 1, NULL, NULL));
}

static void create(int rank, int ranks) {
    static char name[64];
    if (!name[0]) snprintf(name, sizeof name, "memory-model-%d", (int)getpid());
    quern_group_args args = GROUP_ARGS(.rank = rank, .ranks = ranks, .name = name, .device = devices[rank], .timeout = 1e8,
                                       .progress = progress);
    OK(quern_group_create(&args, 1, &groups[rank]));
}

/* A rank that looks again and again sees no more than one that looks once. */
static void hurry(int rank) {
    struct quern_membership *member = member_of(rank);
    member->polls = member->yields = (struct quern_spin){.spins = 1, .most = 1, .least = 1};
    OK(quern_make_transfers(member));
    member->transfers->yields = 4;
}

static void open_of(int rank, int ranks) {
    open_device(rank);
    create(rank, ranks);
    hurry(rank);
}

static void open_two(int rank) { if (rank < 2) open_of(rank, 2); }
static void open_three(int rank) { open_of(rank, 3); }
static void destroy(int rank) { OK(quern_group_destroy(groups[rank])); }

/* ---- meetings ---- */

static int board[RANKS];

static void barrier(int rank, const int *members, int count) {
    quern_barrier_args args = BARRIER_ARGS(.members = members, .member_count = count);
    OK(quern_barrier(groups[rank], &args, NULL));
}

/* What was written before a meeting is read after it, and written again after the next. */
static void meet_all(int rank) {
    for (int round = 1; round <= 2; round++) {
        board[rank] = round;
        barrier(rank, NULL, 0);
        for (int other = 0; other < RANKS; other++) checker_expect(board[other] == round, "rank %d has %d", other, board[other]);
        barrier(rank, NULL, 0);
    }
}

static void meet_pair(int rank, int one, int other) {
    const int pair[] = {one, other};
    if (rank != one && rank != other) return;
    barrier(rank, pair, 2);
    checker_expect(board[one] == board[other], "ranks %d and %d have %d and %d", one, other, board[one], board[other]);
    barrier(rank, pair, 2);
}

static void meet_some(int rank) {
    board[rank] = 1;
    meet_pair(rank, 0, 1);
    meet_pair(rank, 1, 2);
    meet_pair(rank, 0, 2);
}

static void exchange(int rank) {
    struct quern_membership *member = member_of(rank);
    for (uint64_t round = 1; round <= 3; round++) {
        const uint64_t mine = round * 10 + (uint64_t)rank;
        const void *payload = &mine;
        uint64_t all[2];
        OK(quern_exchange(&member, 1, QUERN_IN_SPLIT, &payload, sizeof mine, all));
        checker_expect(all[0] == round * 10 && all[1] == round * 10 + 1, "%d and %d", (int)all[0], (int)all[1]);
    }
}

/* ---- ends of groups ---- */

/* A thread that visits a group which its owner destroys. */
static void open_alone(int rank) {
    if (rank) return;
    open_device(0);
    create(0, 1);
}

static void destroy_visited(int rank) {
    char text[2048];
    if (!rank) OK(quern_group_destroy(groups[0]));
    if (rank == 2) quern_group_abort(groups[0], "visited");
    if (rank != 1) return;
    quern_group_report(groups[0], text, sizeof text);
    checker_expect(!strstr(text, "poisoned") || strstr(text, "aborted the group: visited"), "%s", text);
}

/* The status of a poisoned group comes with its whole reason. */
static void expect_poison(int rank, quern_status status, quern_status expected, const char *reason) {
    char why[256];
    quern_error_detail(why, sizeof why);
    checker_expect(status == expected && strstr(why, reason), "rank %d gets %s: %s", rank, quern_status_string(status), why);
}

static void abort_waiting(int rank) {
    if (rank == 1) OK(quern_group_abort(groups[1], "enough"));
    expect_poison(rank, quern_barrier(groups[rank], NULL, NULL), QUERN_GROUP_ABORTED, "aborted the group: enough");
}

static void abort_some(int rank) {
    quern_barrier_args args = BARRIER_ARGS(.members = (int[]){0, 2}, .member_count = 2);
    if (rank == 1) OK(quern_group_abort(groups[1], "enough"));
    if (rank == 0) expect_poison(0, quern_barrier(groups[0], &args, NULL), QUERN_GROUP_ABORTED, "aborted the group: enough");
}

/* A rank that has met the others leaves: for them it has come. */
static void leave(int rank) {
    OK(quern_barrier(groups[rank], NULL, NULL));
    destroy(rank);
}

/* Two reasons at one time: both ranks get the same one. */
static char reasons[2][256];

static void mismatch(int rank) {
    struct quern_membership *member = member_of(rank);
    const char zero = 0;
    const void *payload = &zero;
    char all[2];
    const quern_status status = rank ? quern_barrier(groups[1], NULL, NULL)
                                     : quern_exchange(&member, 1, QUERN_IN_SPLIT, &payload, 1, all);
    expect_poison(rank, status, QUERN_PEER_MISMATCH, "the ranks must make the same calls in the same order");
    quern_error_detail(reasons[rank], sizeof reasons[rank]);
}

static void end_mismatch(int rank) {
    destroy(rank);
    if (rank == 0) return;
    checker_expect(strcmp(strstr(reasons[0], ": ") , strstr(reasons[1], ": ")) == 0, "%s; %s", reasons[0], reasons[1]);
}

/* ---- forming a group ---- */

static void open_devices(int rank) { open_device(rank); }

static void form(int rank) {
    create(rank, 2);
    board[rank] = 1;
    OK(quern_barrier(groups[rank], NULL, NULL));
    checker_expect(board[!rank] == 1, "the other rank has not written");
    OK(quern_group_destroy(groups[rank]));
}

static void clear_board(int rank) { board[rank] = 0; }

/* ---- data between ranks ---- */

/* In no eager message; in no message of a transfer, but copied from the memory of the sender. */
enum { LARGE = 1536, COPIED = (4 << 10) + 64 };
enum { IN_FLIGHT = 5, MESSAGE = 4 << 10 };  /* four messages of transfers fill the ring of a ring */
static unsigned char inputs[2][COPIED], outputs[2][IN_FLIGHT * MESSAGE];
static void *workspaces[2];
static int32_t number;  /* of the execution: what is sent */
enum { WORKSPACE = 16384 };

static void open_for_data(int rank) {
    open_two(rank);
    if (rank > 1) return;
    OK(quern_prepare(devices[rank], QUERN_RAGGED_ALL_TO_ALL | QUERN_COLLECTIVE | QUERN_QUANTIZE));
    OK(quern_symmetric_alloc(&groups[rank], 1, (size_t[]){WORKSPACE}, &workspaces[rank]));
}

static void count(int rank) { if (!rank) number++; }

static void expect_bytes(int rank, const void *memory, int64_t bytes, int value) {
    const unsigned char *byte = memory;
    for (int64_t i = 0; i < bytes; i++)
        checker_expect(byte[i] == (unsigned char)value, "rank %d has %d, not %d, in byte %d", rank, byte[i], value & 255, (int)i);
}

/* Each rank sends a row to each; then it writes both its input and its output. */
static void send_rows(int rank, int64_t bytes, int checked) {
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    const int32_t from[] = {0, 1}, sizes[] = {1, 1}, to[] = {rank, rank};
    args.input = inputs[rank], args.output = outputs[rank], args.input_rows = args.output_rows = 2, args.row_bytes = bytes;
    args.input_offsets = from, args.send_sizes = args.recv_sizes = sizes, args.output_offsets = to, args.check_overlap = checked;
    for (int turn = 0; turn < 2; turn++) {
        memset(inputs[rank], number + turn + rank, (size_t)(2 * bytes));
        OK(quern_ragged_all_to_all(groups[rank], &args, workspaces[rank], WORKSPACE, NULL));
        for (int other = 0; other < 2; other++) expect_bytes(rank, outputs[rank] + other * bytes, bytes, number + turn + other);
    }
}

static void ragged_small(int rank) { send_rows(rank, 8, 0); }
static void ragged_direct(int rank) { send_rows(rank, LARGE, 0); }
static void ragged_long(int rank) { send_rows(rank, 8, 1); }

typedef quern_status collective(quern_group *, const quern_collective_args *, void *, size_t, void *);

static void collect(int rank, int64_t count, collective *call, int sum) {
    float *input = (float *)(void *)inputs[rank], *output = (float *)(void *)outputs[rank];
    quern_collective_args args = COLLECTIVE_ARGS(.dtype = QUERN_F32, .input = input, .output = output, .count = count, .root = 1);
    for (int turn = 0; turn < 2; turn++) {
        for (int64_t i = 0; i < count; i++) input[i] = (float)(number + turn + rank);
        OK(call(groups[rank], &args, workspaces[rank], WORKSPACE, NULL));
        const float expected = (float)(sum ? 2 * (number + turn) + 1 : number + turn + 1);
        for (int64_t i = 0; i < count; i++)
            checker_expect(output[i] == expected, "rank %d has %g: expected %g", rank, (double)output[i], (double)expected);
    }
}

static void all_reduce(int rank) { collect(rank, 4, quern_all_reduce, 1); }
static void broadcast(int rank) { collect(rank, 4, quern_broadcast, 0); }

/* ---- quantised chunks ---- */

enum { MOST_CODES = (1 << 16) + 64 };  /* two tasks */
static unsigned char *codes[2];
static uint32_t *ready[2];
static int rows, columns;

static void open_for_chunks(int rank) {
    if (rank > 1) return;
    open_for_data(rank);
    OK(quern_symmetric_alloc(&groups[rank], 1, (size_t[]){2 * MOST_CODES}, (void **)&codes[rank]));
    OK(quern_symmetric_alloc(&groups[rank], 1, (size_t[]){4 * sizeof(uint32_t)}, (void **)&ready[rank]));
}

static void open_for_large_chunks(int rank) {
    open_for_chunks(rank);
    if (!rank) OK(quern_set_threads(devices[0], 2, NULL, NULL));
}

static void begin_chunks(int rank) {
    count(rank);
    if (rank < 2) memset(codes[rank], 0, 64);
    rows = 2, columns = 4;
}

static void begin_large_chunks(int rank) {
    begin_chunks(rank);
    rows = 1, columns = MOST_CODES;
}

static void begin_aborted_chunks(int rank) {
    open_for_chunks(rank);
    begin_chunks(rank);
}

/* 448 is the largest number of E4M3, with the code 0x7e. */
static void read_chunks(int rank) {
    OK(quern_chunk_wait(groups[rank], ready[rank], 2 * rows, (uint32_t)number, 0, NULL));
    expect_bytes(rank, codes[rank], 2 * rows * columns, 0x7e);
}

static quern_status send_chunks(int rank) {
    static const uint16_t one[MOST_CODES] = {[0 ... MOST_CODES - 1] = 0x3f80};  /* bf16 */
    quern_quantize_chunks_args args = QUERN_QUANTIZE_CHUNKS_ARGS_INIT;
    float amax;
    args.input_dtype = QUERN_BF16, args.output_dtype = QUERN_E4M3, args.input = one, args.output = codes[rank];
    args.ready = ready[rank], args.ready_value = (uint32_t)number, args.rows = rows, args.columns = columns, args.amax = &amax;
    return quern_quantize_chunks(groups[rank], &args, NULL, 0, NULL);
}

/* The last thread reads what comes to rank 1, while that rank is in the call. */
static void chunks(int rank) {
    if (rank < 2) OK(send_chunks(rank));
    read_chunks(rank < 2 ? rank : 1);
}

/* Rank 0 does not come: who waits for a chunk learns why. */
static void aborted_chunks(int rank) {
    if (rank == 0) OK(quern_group_abort(groups[0], "enough"));
    else if (rank == 1) expect_poison(1, send_chunks(1), QUERN_GROUP_ABORTED, "enough");
    else expect_poison(1, quern_chunk_wait(groups[1], ready[1], 4, (uint32_t)number, 0, NULL), QUERN_GROUP_ABORTED, "enough");
}

static void end_aborted_chunks(int rank) { if (rank < 2) destroy(rank); }

/* ---- transfers ---- */

static quern_transfer *transfers[2];

static void prepare_transfer(int rank, int64_t bytes) {
    const quern_transfer_item items[] = {{.peer = !rank, .memory = inputs[rank], .bytes = bytes},
                                         {.receive = 1, .peer = !rank, .memory = outputs[rank], .bytes = bytes}};
    quern_transfer_args args = TRANSFER_ARGS(.items = items, .item_count = 2, .key = 1);
    OK(quern_transfer_prepare(groups[rank], &args, &transfers[rank]));
}

enum { SMALL = 16 };
static quern_transfer *in_flight[2][IN_FLIGHT];

static void open_for_ring(int rank) {
    open_two(rank);
    for (int i = 0; i < IN_FLIGHT; i++) {
        const quern_transfer_item item = {.receive = rank, .peer = !rank, .memory = rank ? outputs[1] + i * MESSAGE : inputs[0],
                                          .bytes = MESSAGE};
        quern_transfer_args args = TRANSFER_ARGS(.items = &item, .item_count = 1, .key = (uint64_t)i + 1);
        OK(quern_transfer_prepare(groups[rank], &args, &in_flight[rank][i]));
    }
}

static void transfer_ring(int rank) {
    memset(inputs[rank], number, MESSAGE);
    for (int i = 0; i < IN_FLIGHT; i++) OK(quern_transfer_start(in_flight[rank][i], NULL));
    for (int i = 0; i < IN_FLIGHT; i++) OK(quern_transfer_wait(in_flight[rank][i], 0));
    if (rank) expect_bytes(1, outputs[1], IN_FLIGHT * MESSAGE, number);
}

static void open_for_messages(int rank) { open_two(rank), prepare_transfer(rank, SMALL); }
static void open_for_copies(int rank) { open_two(rank), prepare_transfer(rank, COPIED); }

static void transfer(int rank, int64_t bytes) {
    for (int turn = 0; turn < 2; turn++) {
        memset(inputs[rank], number + turn + rank, (size_t)bytes);
        OK(quern_transfer_start(transfers[rank], NULL));
        OK(quern_transfer_wait(transfers[rank], 0));
        expect_bytes(rank, outputs[rank], bytes, number + turn + !rank);
    }
}

static void transfer_messages(int rank) { transfer(rank, SMALL); }
static void transfer_copies(int rank) { transfer(rank, COPIED); }

static void begin_cancel(int rank) {
    if (!rank) number++;
    prepare_transfer(rank, COPIED);
}

/* Rank 0 cancels, and may write its memory at once; rank 1 has all or nothing. */
static void cancel(int rank) {
    memset(inputs[rank], number + rank, COPIED);
    if (!rank) {
        OK(quern_transfer_start(transfers[0], NULL));
        OK(quern_transfer_cancel(transfers[0], "enough"));
        memset(inputs[0], 0, COPIED);
    } else if (quern_transfer_start(transfers[1], NULL) == QUERN_OK && quern_transfer_wait(transfers[1], 0) == QUERN_OK) {
        expect_bytes(1, outputs[1], COPIED, number);
    }
}

static void end_cancel(int rank) { OK(quern_transfer_destroy(transfers[rank])); }

/* A list that does not fit the ring: the sender goes on when the receiver has made room. */
enum { LONG_LIST = 500 };

static void prepare_list(int rank) {
    quern_transfer_item items[LONG_LIST];
    for (int i = 0; i < LONG_LIST; i++)
        items[i] = (quern_transfer_item){.receive = rank, .peer = !rank, .memory = (rank ? outputs[1] : inputs[0]) + i, .bytes = 1,
                                         .tag = (uint64_t)i};
    quern_transfer_args args = TRANSFER_ARGS(.items = items, .item_count = LONG_LIST, .key = 1);
    OK(quern_transfer_prepare(groups[rank], &args, &transfers[rank]));
}

static void begin_list(int rank) {
    count(rank);
    if (!rank) prepare_list(0);
}

static void transfer_list(int rank) {
    if (!rank) memset(inputs[0], number, LONG_LIST);
    else prepare_list(1);
    OK(quern_transfer_start(transfers[rank], NULL));
    OK(quern_transfer_wait(transfers[rank], 0));
    if (rank) expect_bytes(1, outputs[1], LONG_LIST, number);
}

static void begin_new_group(int rank) {
    open_two(rank);
    begin_cancel(rank);
}

/* Its words do not reach rank 1 any more, which would order more. */
static void cancel_mute(int rank) {
    int32_t is_complete = 0;
    memset(inputs[rank], number + rank, COPIED);
    OK(quern_transfer_start(transfers[rank], NULL));
    if (!rank) {
        member_of(0)->transfers->conn[1]->is_mute = true;
        OK(quern_transfer_cancel(transfers[0], "enough"));
        memset(inputs[0], 0, COPIED);
    }
    for (int look = 0; rank && look < 4; look++) OK(quern_transfer_test(transfers[1], &is_complete));
}

static void end_new_group(int rank) {
    end_cancel(rank);
    destroy(rank);
}

static void begin_progress(int rank) {
    progress = 1;
    open_two(rank);
}

/* Rank 0 does not wait before rank 1 has all: its thread answers. */
static void transfer_progress(int rank) {
    prepare_transfer(rank, SMALL);
    memset(inputs[rank], number + rank, SMALL);
    OK(quern_transfer_start(transfers[rank], NULL));
    for (int turn = 0; turn < 2; turn++) {
        if (turn != rank) OK(quern_transfer_wait(transfers[rank], 0));
        barrier(rank, NULL, 0);
    }
    expect_bytes(rank, outputs[rank], SMALL, number + !rank);
    end_new_group(rank);
}

/* ---- groups that shrink, and traces ---- */

static void publish(uint32_t round) {
    struct quern_decision decision = {.status = round};
    memset(decision.number, (int)round, sizeof decision.number);
    quern_publish_decision(member_of(0), round, &decision);
}

static void begin_decide(int rank) { if (!rank) publish(5); }

/* A rank that is late finds a decision as a whole, or none. */
static void decide(int rank) {
    uint32_t seen = 0;
    for (uint32_t round = 1; !rank && round <= 3; round += 2) publish(round);
    for (uint32_t round = 1; rank && seen != 3; round ^= 2) {
        struct quern_decision decision;
        if (!quern_read_decision(member_of(1), 0, round, &decision)) continue;
        seen = round;
        checker_expect(decision.status == round, "round %u has the decision of %u", round, decision.status);
        expect_bytes(1, decision.number, sizeof decision.number, (int)round);
    }
}

/* A rank leaves, and the others shrink the group. */
static void shrink(int rank) {
    quern_group *group;
    if (rank != 2) {
        OK(quern_group_shrink(&groups[rank], 1, &group));
        board[rank] = 1;
        OK(quern_barrier(group, NULL, NULL));
        checker_expect(board[!rank] == 1, "the other rank has not written");
        OK(quern_group_destroy(group));
    }
    destroy(rank);
}

static void begin_trace(int rank) { (void)rank, quern_trace_most_events = 2; }

static void trace(int rank) {
    int64_t taken, left_out;
    uint64_t of;
    for (uint64_t turn = 1; turn <= 2; turn++)
        if (!rank) {
            checker_expect(quern_events_begin(turn), "no memory");
            quern_events_end();
            const struct quern_event *events = quern_events(&taken, &left_out);
            for (int64_t i = 0; i < taken; i++) checker_expect(events[i].number == (int64_t)turn, "an event of another trace");
            quern_events_free();
        } else if ((of = quern_events_enter(0))) {
            struct quern_event *event = quern_take_event(QUERN_EVENT_STEP, NULL);
            event->number = (int64_t)of;
            quern_event_done(event);
            quern_events_leave();
        }
}

/* ---- the threads of a device ---- */

enum { TASKS = 3 };
static int done[2][TASKS];

static void open_pool(int rank) {
    if (rank) return;
    open_device(0);
    OK(quern_set_threads(devices[0], 3, NULL, NULL));
}

static void do_task(void *context, int64_t index) { ((int *)context)[index]++; }

static void run_tasks(int rank, int jobs) {
    int input[TASKS];
    for (int job = 1; job <= jobs; job++) {
        memset(done[rank], 0, sizeof done[rank]);
        quern_run_tasks(devices[0], TASKS, do_task, done[rank]);
        for (int i = 0; i < TASKS; i++) checker_expect(done[rank][i] == 1, "task %d was done %d times", i, done[rank][i]);
        memset(input, 0, sizeof input);
        quern_run_tasks(devices[0], TASKS, do_task, input);  /* on the stack */
    }
}

static void pool(int rank) { run_tasks(rank, 2); }

static void crew(int rank) {
    open_pool(rank);
    run_tasks(rank, 1);
    quern_device_close(devices[rank]);
    devices[rank] = NULL;
}

/* A hook comes with its own user. */
static int users[2];
static void run_hooked(const void *user, int own, int64_t tasks, void (*task)(void *, int64_t), void *context) {
    checker_expect(user == &users[own], "a hook has the user of another");
    for (int64_t i = 0; i < tasks; i++) task(context, i);
}
static void hook_0(void *user, int64_t tasks, void (*task)(void *, int64_t), void *data) { run_hooked(user, 0, tasks, task, data); }
static void hook_1(void *user, int64_t tasks, void (*task)(void *, int64_t), void *data) { run_hooked(user, 1, tasks, task, data); }

static void hooks(int rank) {
    int input[TASKS] = {0};
    for (int turn = 0; turn < 2; turn++)
        if (rank) quern_run_tasks(devices[0], TASKS, do_task, input);
        else OK(quern_set_threads(devices[0], 1, turn ? hook_1 : hook_0, &users[turn]));
}

/* What may wait for a device runs while no thread launches. */
static void count_board(struct quern_idle_task *task) { (void)task, board[0]++; }

static void idle(int rank) {
    static struct quern_idle_task tasks[] = {{.run = count_board}, {.run = count_board}, {.run = count_board}};
    for (int turn = 0; turn < 2 && !rank; turn++) {
        quern_begin_launching();
        board[0]++;
        quern_end_launching();
    }
    quern_when_idle(&tasks[rank]);
}

/* ---- all programs ---- */

static const struct checker_program programs[] = {
    {"meet_all", 3, 500, open_three, NULL, meet_all, NULL},
    {"meet_some", 3, 500, open_three, NULL, meet_some, NULL},
    {"exchange", 2, 500, open_two, NULL, exchange, NULL},
    {"destroy_visited", 3, 400, NULL, open_alone, destroy_visited, NULL},
    {"leave", 2, 300, NULL, open_two, leave, NULL},
    {"abort_waiting", 2, 200, NULL, open_two, abort_waiting, destroy},
    {"abort_some", 3, 200, NULL, open_three, abort_some, destroy},
    {"mismatch", 2, 200, NULL, open_two, mismatch, end_mismatch},
    {"form", 2, 200, open_devices, clear_board, form, NULL},
    {"ragged_small", 2, 300, open_for_data, count, ragged_small, NULL},
    {"ragged_direct", 2, 100, open_for_data, count, ragged_direct, NULL},
    {"ragged_long", 2, 300, open_for_data, count, ragged_long, NULL},
    {"all_reduce", 2, 300, open_for_data, count, all_reduce, NULL},
    {"broadcast", 2, 300, open_for_data, count, broadcast, NULL},
    {"chunks", 3, 300, open_for_chunks, begin_chunks, chunks, NULL},
    {"chunks_large", 3, 10, open_for_large_chunks, begin_large_chunks, chunks, NULL},
    {"chunks_aborted", 3, 150, NULL, begin_aborted_chunks, aborted_chunks, end_aborted_chunks},
    {"transfer_messages", 2, 300, open_for_messages, count, transfer_messages, NULL},
    {"transfer_ring", 2, 60, open_for_ring, count, transfer_ring, NULL},
    {"transfer_copies", 2, 50, open_for_copies, count, transfer_copies, NULL},
    {"cancel", 2, 200, open_two, begin_cancel, cancel, end_cancel},
    {"transfer_list", 2, 15, open_two, begin_list, transfer_list, end_cancel},
    {"cancel_mute", 2, 200, NULL, begin_new_group, cancel_mute, end_new_group},
    {"transfer_progress", 2, 100, NULL, begin_progress, transfer_progress, NULL},
    {"decide", 2, 200, open_two, begin_decide, decide, NULL},
    {"shrink", 3, 20, NULL, open_three, shrink, NULL},
    {"trace", 2, 500, NULL, begin_trace, trace, NULL},
    {"pool", 2, 500, open_pool, NULL, pool, NULL},
    {"crew", 1, 600, NULL, NULL, crew, NULL},
    {"hooks", 2, 2000, open_pool, NULL, hooks, NULL},
    {"idle", 3, 2000, NULL, NULL, idle, NULL},
};

/* In a process of its own: the threads of a device stay. */
static int fails(const struct checker_program *program, int sites) {
    int status;
    fflush(stdout);
    const pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) {
        checker_run(program);
        if (sites) printf("program %s\n", program->name), checker_print_sites();
        fflush(stdout);
        _exit(0);
    }
    if (waitpid(child, &status, 0) != child || status) printf("%s: FAILED\n", program->name);
    else return 0;
    return 1;
}

int main(int count, char **words) {
    const char *only = NULL;
    int times = 1, passed = 0, failed = 0, sites = 0;
    setenv("QUERN_KERNEL", "*__portable", 1);
    for (int i = 1; i < count; i++)
        if (strcmp(words[i], "--sites") == 0) sites = 1;
        else if (strcmp(words[i], "--weaken") == 0 && i + 1 < count) checker_weaken(words[++i]);
        else if (strcmp(words[i], "--times") == 0 && i + 1 < count) times = atoi(words[++i]);
        else only = words[i];
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct checker_program program = programs[i];
        if (only && strcmp(only, program.name) != 0) continue;
        program.executions *= times;
        if (fails(&program, sites)) failed++;
        else passed++;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed || !passed;
}
