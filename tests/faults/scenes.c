/*
 * The table of scenes, and what ranks of several hosts and of GPUs do in them: transfers, exchanges over a carrier, splits and
 * reductions.  What a rank has completed is what was sent; nothing is written beside it; and what a rank sends is never changed.
 *
 *   points WORD [--deep]         the scenes of a word, in which every pair of a point and a fault must be met
 *   points WORD TEXT             those whose names, as a failure prints them, contain the text
 *   points races [TEXT]          all races of races.c, or some
 *
 * The memory of an emulated GPU is memory of the host, so the checks read it there.
 */

#include "faults/visits.h"
#include "harness/nccl_side.h"
#include "ranks/transfer/transfer.h"

enum { PAIR = 2, GUARD = 64 };

/* What a rank sends in a round, byte for byte. */
static unsigned char value_of(int rank, int round) { return (unsigned char)(1 + rank * 16 + round); }

/* ---- two lists, a small one and a large one, that two ranks send each other in several rounds ---- */

enum { LISTS = 2, ROUNDS = 3, SMALL = 700, LARGE = 90000, SMALL_WINDOW = 70000, LARGE_WINDOW = 2 * QUERN_BOUNCE_BYTES + 1000 };

/* A rank's side. */
struct lists {
    struct rank *rank;
    quern_group *group;
    void *stream;                       /* of its GPU */
    size_t bytes[LISTS];                /* the last is the largest */
    unsigned char *out[LISTS];          /* as many bytes as the largest has */
    unsigned char *in[LISTS];           /* the same, and a guard */
    quern_transfer *transfer[LISTS];
};

static quern_status prepare(struct lists *side) {
    const int peer = !side->rank->rank;
    quern_status status = QUERN_OK;
    for (int list = 0; list < LISTS && status == QUERN_OK; list++) {
        const quern_transfer_item items[] = {
            {.receive = 0, .peer = peer, .tag = 1, .memory = side->out[list], .bytes = (int64_t)side->bytes[list]},
            {.receive = 1, .peer = peer, .tag = 1, .memory = side->in[list], .bytes = (int64_t)side->bytes[list]}};
        quern_transfer_args args = TRANSFER_ARGS(.items = items, .item_count = 2, .key = (uint64_t)list);
        status = quern_transfer_prepare(side->group, &args, &side->transfer[list]);
    }
    return status;
}

static quern_status run_round(struct lists *side, int round) {
    const int rank = side->rank->rank;
    quern_status status = QUERN_OK;
    for (int list = 0; list < LISTS && status == QUERN_OK; list++) {
        memset(side->out[list], value_of(rank, round), side->bytes[LISTS - 1]);
        status = quern_transfer_start(side->transfer[list], side->stream);
    }
    for (int list = LISTS - 1; list >= 0 && status == QUERN_OK; list--) {
        status = quern_transfer_wait(side->transfer[list], 0);
        rank_check(side->rank, status != QUERN_OK || life_is_filled(side->in[list], side->bytes[list], value_of(!rank, round)),
                   "round %d: list %d is complete, and not what was sent", round, list);
    }
    return status;
}

/* In the late scene rank 1 does not start, so that the limit of rank 0 ends. */
static quern_status run_lists(void *user) {
    struct lists *side = user;
    const struct scene *scene = visit_plan_of(side->rank)->scene;
    quern_status status = prepare(side);
    if (side->rank->rank && scene->course.habit == LATE) points_be_late();
    else if (side->rank->rank && scene->course.habit == SLEEPS && status == QUERN_OK)
        points_wait_for(QUERN_POINT_TRANSFER_SLEEPING, 2);
    for (int round = 0; round < ROUNDS && status == QUERN_OK; round++) status = run_round(side, round);
    return status;
}

static void end_lists(void *user) {
    struct lists *side = user;
    const size_t largest = side->bytes[LISTS - 1];
    for (int list = 0; list < LISTS; list++) rank_ok(side->rank, quern_transfer_destroy(side->transfer[list]));
    for (int list = 0; list < LISTS; list++) {
        const size_t bytes = side->bytes[list];
        rank_check(side->rank, life_is_filled(side->in[list] + bytes, largest + GUARD - bytes, LIFE_UNTOUCHED),
                   "something was written beside list %d", list);
        rank_check(side->rank, life_is_filled(side->out[list], largest, side->out[list][0]), "what was sent has changed");
    }
}

/* ---- on CPUs: of one host, and of two over a carrier ---- */

struct memory {
    unsigned char out[LISTS][PAIR * LARGE], in[LISTS][PAIR * LARGE + GUARD];
};

static struct memory *take_memory(void) {
    struct memory *memory = zeroed(sizeof *memory);
    memset(memory->in, LIFE_UNTOUCHED, sizeof memory->in);
    return memory;
}

/* After a failure a carrier may keep messages, and the memory with them. */
static quern_status leave(struct rank *rank, quern_group *group, struct memory *memory, quern_status status) {
    const quern_status end = quern_group_destroy(group);
    const bool may_fail = status != QUERN_OK && rank->carrier;
    if (!may_fail || end != QUERN_PEER_LOST) rank_status(rank, end, QUERN_OK);
    if (end == QUERN_OK) free(memory);
    return status;
}

quern_status transfer_lists(struct rank *rank) {
    struct memory *memory = take_memory();
    struct lists side = {.rank = rank, .group = rank_group(rank, POINT_LIMIT), .bytes = {SMALL, LARGE}};
    for (int list = 0; list < LISTS; list++) side.out[list] = memory->out[list], side.in[list] = memory->in[list];
    return leave(rank, side.group, memory, visit_strike(rank, side.group, run_lists, end_lists, &side));
}

struct exchanges {
    struct rank *rank;
    quern_group *group;
    struct rank_exchange exchange;
    struct memory *memory;
};

/* Of small and of large slices in turns. */
static quern_status run_exchanges(void *user) {
    struct exchanges *side = user;
    unsigned char *out = side->memory->out[0], *in = side->memory->in[0];
    quern_status status = QUERN_OK;
    for (int round = 0; round < LISTS * ROUNDS && status == QUERN_OK; round++) {
        const int size = round % 2 ? LARGE : SMALL;
        rank_exchange_set(side->rank, &side->exchange, size);
        memset(out, value_of(side->rank->rank, round), PAIR * LARGE);
        status = rank_exchange_run(side->group, &side->exchange);
        for (int sender = 0; sender < PAIR && status == QUERN_OK; sender++)
            rank_check(side->rank, life_is_filled(in + sender * size, (size_t)size, value_of(sender, round)),
                       "round %d is complete, and not what was sent", round);
    }
    rank_check(side->rank, life_is_filled(in + PAIR * LARGE, GUARD, LIFE_UNTOUCHED), "something was written beside the output");
    rank_check(side->rank, life_is_filled(out, PAIR * LARGE, out[0]), "what was sent has changed");
    return status;
}

quern_status exchange_slices(struct rank *rank) {
    struct exchanges side = {.rank = rank, .group = rank_group(rank, POINT_LIMIT), .memory = take_memory()};
    rank_ok(rank, rank_exchange_open(rank, side.group, &side.exchange, side.memory->out[0], side.memory->in[0], LARGE, 1));
    return leave(rank, side.group, side.memory, visit_strike(rank, side.group, run_exchanges, NULL, &side));
}

/*
 * A group of several hosts is split into as many groups as it has hosts but one; a leader of a host or another rank dies there.
 * A rank that has no new group is told of the one that has died, by its number in the group that is split; and nobody has a group
 * of its colour if it died before it was connected.
 */
quern_status split_hosts(struct rank *rank) {
    const struct visit_plan *plan = visit_plan_of(rank);
    const struct point_stop *stop = &plan->points.stop[0];
    const struct points *points = rank->shared;
    const int colours = rank->hosts - 1, colour = rank->rank % colours;
    const bool is_unconnected = stop->point < QUERN_POINT_MEET_ANNOUNCING || stop->point == QUERN_POINT_SPLIT_WISHED ||
                                stop->point == QUERN_POINT_HOSTS_CONNECTING;
    char name[32];
    quern_group *group, *part = NULL;
    points_begin(rank->shared, &plan->points, rank->rank);
    group = rank_group(rank, RANK_LIMIT);
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    points_enter_step(SPLIT);
    rank_line_up(rank);
    const quern_status status = quern_group_split(&group, 1, &colour, &(int){-rank->rank}, &part);
    snprintf(name, sizeof name, "rank %d (process ", stop->rank);
    if (status != QUERN_OK) rank_refused(rank, status, QUERN_PEER_LOST, name);
    rank_check(rank, status != QUERN_OK || !points->victim[0] || !is_unconnected || stop->rank % colours != colour,
               "has a group with rank %d", stop->rank);
    points_enter_step(CREATE);
    rank_ok(rank, quern_group_destroy(part));
    rank_ok(rank, quern_group_destroy(group));
    return QUERN_OK;
}

/* ---- on emulated GPUs: memory that is not symmetric, of less than a piece and of several ---- */

static void open_gpu(struct rank *rank, struct nccl_side *gpu) {
    nccl_open_gpu(gpu, rank, rank->rank);
    rank_ok(rank, quern_prepare(gpu->device, QUERN_COLLECTIVE));
    const quern_group_args args = nccl_args(gpu, POINT_LIMIT);
    rank_ok(rank, quern_group_create(&args, 1, &gpu->group));
}

static void open_lists(struct lists *side, struct nccl_side *gpu) {
    for (int list = 0; list < LISTS; list++) {
        side->out[list] = memset(nccl_allocate(gpu, LARGE_WINDOW), LIFE_UNTOUCHED, LARGE_WINDOW);
        side->in[list] = memset(nccl_allocate(gpu, LARGE_WINDOW + GUARD), LIFE_UNTOUCHED, LARGE_WINDOW + GUARD);
    }
}

quern_status transfer_windows(struct rank *rank) {
    struct nccl_side gpu;
    open_gpu(rank, &gpu);
    struct lists side = {.rank = rank, .group = gpu.group, .stream = gpu.stream, .bytes = {SMALL_WINDOW, LARGE_WINDOW}};
    open_lists(&side, &gpu);
    const quern_status status = visit_strike(rank, gpu.group, run_lists, end_lists, &side);
    rank_ok(rank, nccl_close(&gpu));
    return status;
}

/* Three ranks combine a share each; the sums of four go from host to host. */
enum { REDUCED = 3, CHAINED = 4, ELEMENTS = 140000, CHAINED_ELEMENTS = 263000, REDUCTIONS = 2, WORKSPACE = 5 << 20 };

struct reductions {
    struct nccl_side gpu;
    float *input, *output;    /* [CHAINED_ELEMENTS + GUARD] */
    void *workspace;
};

static int elements_of(const struct reductions *side) { return side->gpu.rank->ranks == CHAINED ? CHAINED_ELEMENTS : ELEMENTS; }

static float element(int rank, int round, int i) { return (float)(i + 7 * rank + round); }

/* The result of a group that is sound is right. */
static void check_reduction(const struct reductions *side, int round, bool is_sound) {
    struct rank *rank = side->gpu.rank;
    const int elements = elements_of(side);
    for (int i = 0; i < elements; i++) {
        float sum = 0;
        for (int of = 0; of < rank->ranks; of++) sum += element(of, round, i);
        rank_check(rank, !is_sound || side->output[i] == sum, "round %d: element %d is %g", round, i, (double)side->output[i]);
        rank_check(rank, side->input[i] == element(rank->rank, round, i), "round %d: an input has changed", round);
    }
    for (int i = elements; i < elements + GUARD; i++)
        rank_check(rank, side->output[i] == -1, "round %d: something was written behind the output", round);
}

static void fill_reduction(struct reductions *side, int round) {
    const int elements = elements_of(side);
    for (int i = 0; i < elements + GUARD; i++) side->input[i] = element(side->gpu.rank->rank, round, i), side->output[i] = -1;
}

static quern_status reduce(struct reductions *side) {
    const quern_collective_args args = COLLECTIVE_ARGS(.dtype = QUERN_F32, .count = elements_of(side), .input = side->input,
                                                       .output = side->output);
    return quern_all_reduce(side->gpu.group, &args, side->workspace, WORKSPACE, side->gpu.stream);
}

/* Behind the work: what was ended moves nothing, and the group says so. */
static quern_status end_round(struct nccl_side *gpu, quern_status status) {
    cuda_ok(gpu, stream_synchronize(gpu->stream));
    return status == QUERN_OK ? quern_group_status(gpu->group) : status;
}

/* First nothing, by a call that waits for no stream: the notices of the next one, in two groups of NCCL, follow at once. */
static quern_status run_reduction(struct reductions *side, int round) {
    const quern_collective_args nothing = COLLECTIVE_ARGS(.dtype = QUERN_F32);
    fill_reduction(side, round);
    quern_status status = quern_all_reduce(side->gpu.group, &nothing, NULL, 0, side->gpu.stream);
    if (status == QUERN_OK) status = reduce(side);
    status = end_round(&side->gpu, status);
    check_reduction(side, round, status == QUERN_OK);
    return status;
}

static quern_status run_reductions(void *side) {
    quern_status status = QUERN_OK;
    for (int round = 0; round < REDUCTIONS && status == QUERN_OK; round++) status = run_reduction(side, round);
    return status;
}

static void open_reductions(struct rank *rank, struct reductions *side) {
    open_gpu(rank, &side->gpu);
    side->input = nccl_allocate(&side->gpu, (CHAINED_ELEMENTS + GUARD) * sizeof(float));
    side->output = nccl_allocate(&side->gpu, (CHAINED_ELEMENTS + GUARD) * sizeof(float));
    side->workspace = nccl_allocate(&side->gpu, WORKSPACE);
}

/* Waits in NCCL end by a clock that no point moves, so test_nccl_collective.c has the limits. */
quern_status reduce_over_nccl(struct rank *rank) {
    struct reductions side;
    open_reductions(rank, &side);
    const quern_status status = visit_strike(rank, side.gpu.group, run_reductions, NULL, &side);
    rank_ok(rank, nccl_close(&side.gpu));
    return status;
}

/* ---- a reduction and a list each way in a graph, which is launched several times; and then in another one ---- */

struct recording {
    struct reductions reductions;
    struct lists lists;         /* the first one goes into graphs */
};

static quern_status record(struct recording *side, void **graph) {
    struct nccl_side *gpu = &side->reductions.gpu;
    nccl_begin_capture(gpu);
    quern_status status = reduce(&side->reductions);
    if (status == QUERN_OK) status = quern_transfer_start(side->lists.transfer[0], gpu->stream);
    if (status == QUERN_OK) *graph = nccl_take_graph(gpu);
    else nccl_drop_capture(gpu);
    return status;
}

static quern_status launch(struct recording *side, void *graph, int round) {
    struct lists *lists = &side->lists;
    struct rank *rank = lists->rank;
    memset(lists->out[0], value_of(rank->rank, round), lists->bytes[LISTS - 1]);
    fill_reduction(&side->reductions, round);
    nccl_launch_graph(&side->reductions.gpu, graph);
    const quern_status status = end_round(&side->reductions.gpu, QUERN_OK);
    check_reduction(&side->reductions, round, status == QUERN_OK);
    rank_check(rank, status != QUERN_OK || life_is_filled(lists->in[0], lists->bytes[0], value_of(!rank->rank, round)),
               "round %d: the list is complete, and not what was sent", round);
    return status;
}

static quern_status run_recordings(void *user) {
    struct recording *side = user;
    quern_status status = prepare(&side->lists);
    for (int turn = 0; turn < 2 && status == QUERN_OK; turn++) {
        void *graph = NULL;
        status = record(side, &graph);
        for (int round = 0; round < ROUNDS && status == QUERN_OK; round++) status = launch(side, graph, turn * ROUNDS + round);
        if (graph) nccl_end_graph(&side->reductions.gpu, graph);
    }
    return status;
}

static void end_recordings(void *user) { end_lists(&((struct recording *)user)->lists); }

quern_status record_over_nccl(struct rank *rank) {
    struct recording side;
    open_reductions(rank, &side.reductions);
    struct nccl_side *gpu = &side.reductions.gpu;
    side.lists = (struct lists){.rank = rank, .group = gpu->group, .stream = gpu->stream, .bytes = {SMALL_WINDOW, LARGE_WINDOW}};
    open_lists(&side.lists, gpu);
    const quern_status status = visit_strike(rank, gpu->group, run_recordings, end_recordings, &side);
    rank_ok(rank, nccl_close(gpu));
    return status;
}

/* ---- symmetric memory of hosts with one fabric, made and freed several times: a rank writes into the parts of all ---- */

enum { PARTS = 4, PART_BYTES = 5000 };

static quern_status write_parts(struct nccl_side *gpu, const unsigned char *mine, int round) {
    struct rank *rank = gpu->rank;
    quern_status status = QUERN_OK;
    for (int peer = 0; peer < rank->ranks && status == QUERN_OK; peer++) {
        void *there;
        status = quern_symmetric_peer(gpu->group, mine + rank->rank, peer, &there);
        if (status == QUERN_OK)
            cuda_ok(gpu, memory_set_async((uintptr_t)there, value_of(rank->rank, round), 1, gpu->stream));
    }
    if (status == QUERN_OK) status = end_round(gpu, quern_barrier(gpu->group, NULL, gpu->stream));
    for (int from = 0; from < rank->ranks && status == QUERN_OK; from++)
        rank_check(rank, mine[from] == value_of(from, round), "round %d: rank %d has written %d", round, from, mine[from]);
    return status;
}

static quern_status run_parts(void *user) {
    struct nccl_side *gpu = user;
    quern_status status = QUERN_OK;
    for (int round = 0; round < PARTS && status == QUERN_OK; round++) {
        size_t bytes = PART_BYTES;
        void *mine = NULL;
        status = quern_symmetric_alloc(&gpu->group, 1, &bytes, &mine);
        rank_check(gpu->rank, (status == QUERN_OK) == (mine != NULL), "%s, and memory at %p", quern_status_string(status), mine);
        if (status == QUERN_OK) status = write_parts(gpu, mine, round);
        const quern_status freed = mine ? quern_symmetric_free(gpu->group, mine, gpu->stream) : status;
        if (status == QUERN_OK) status = freed;
    }
    return status;
}

quern_status share_a_fabric(struct rank *rank) {
    struct nccl_side gpu;
    open_gpu(rank, &gpu);
    const quern_status status = visit_strike(rank, gpu.group, run_parts, NULL, &gpu);
    rank_ok(rank, nccl_close(&gpu));
    return status;
}

/* ---- the scenes ---- */

/* Transfers fail by themselves and leave the group as it is, and messages are between hosts: the other scenes visit them. */
static bool is_of_groups(enum quern_point point, enum point_fault fault) {
    const bool is_elsewhere = (point >= QUERN_POINT_TRANSFER_PREPARED && point <= QUERN_POINT_NCCL_CAPTURED) ||
                              point == QUERN_POINT_MEMORY_HEARD || point == QUERN_POINT_MEMORY_TOLD;
    const bool has_no_group = point >= QUERN_POINT_FORM_EXPIRING && point <= QUERN_POINT_FORM_REFUSED;  /* only in create */
    return !(fault == POINT_ABORT && has_no_group) && !is_elsewhere;
}

static bool is_of_splits(enum quern_point point, enum point_fault fault) {
    return fault == POINT_KILL && (point == QUERN_POINT_SPLIT_WISHED || point == QUERN_POINT_HOSTS_CONNECTING);
}

static const struct carrier_choice borrows = {.borrows = true}, copies = {.longest = 9000};

enum { SMALL_ROW = 32, LARGE_ROW = 65536 };
#define ENDS (BIT(CREATE) | BIT(DESTROY))
#define GROUP(name_, steps_, subjects_, ...) \
    {"groups", name_, {.kind = RANK_BOTH, .count = 3, .function = live_in_group}, .least = 2, .subjects = subjects_, \
     .course = {.steps = steps_, __VA_ARGS__}, .spreads = (steps_) & BIT(SPLIT), .judge = judge_group, .must_meet = is_of_groups}
/* The points of the last of these steps. */
#define MEMORY(name, steps, subject, ...) GROUP(name, ENDS | BIT(ALLOCATE) | (steps), BIT(subject), __VA_ARGS__)
#define SPLITS(name, ranks_, hosts_) \
    {"splits", name, {.kind = RANK_PROCESSES, .count = ranks_, .hosts = hosts_, .function = split_hosts}, \
     .subjects = BIT(SPLIT), .victims = {2, 3}, .faults = 1 << POINT_KILL, .must_meet = is_of_splits}
#define TRANSFERS(name, ...) \
    {"transfers", name, {.kind = RANK_BOTH, .count = PAIR, .function = transfer_lists}, .spreads = true, __VA_ARGS__}
#define CARRIED(word, name, function_, choice, ...) \
    {word, name, {.kind = RANK_BOTH, .count = PAIR, .hosts = PAIR, .function = function_, .carrier = &choice}, \
     .first = QUERN_POINT_MESSAGE_POSTING, .last = QUERN_POINT_MESSAGE_OVER, __VA_ARGS__}
#define STRIKES (1 << POINT_DELAY | 1 << POINT_KILL | 1 << POINT_ABORT)
#define RECORDINGS(name, first_, last_, ...) \
    {"graphs", name, {.kind = RANK_PROCESSES, .count = PAIR, .hosts = PAIR, .function = record_over_nccl, .nccl = ""}, \
     .spreads = true, .first = QUERN_POINT_##first_, .last = QUERN_POINT_##last_, .arrivals = __VA_ARGS__, .faults = STRIKES}
#define FABRIC(name, first_, last_, ...) \
    {"fabric", name, {.kind = RANK_PROCESSES, .count = REDUCED, .hosts = 2, .function = share_a_fabric, .nccl = "", \
                      .fabric = "one", .wants_multicast = true}, \
     .spreads = true, .first = QUERN_POINT_##first_, .last = QUERN_POINT_##last_, .arrivals = __VA_ARGS__, .faults = STRIKES}

const struct scene scenes[] = {
    GROUP("meet", ENDS | BIT(BARRIER), ENDS | BIT(BARRIER), .habit = IN_TIME),
    GROUP("split", ENDS | BIT(SPLIT) | BIT(PART_BARRIER), BIT(SPLIT) | BIT(PART_BARRIER), .habit = IN_TIME),
    GROUP("exchange", ENDS | BIT(ALLOCATE) | BIT(EXCHANGE) | BIT(FREE), BIT(ALLOCATE) | BIT(EXCHANGE) | BIT(FREE),
          .row_bytes = LARGE_ROW),
    MEMORY("exchange of small slices", BIT(EXCHANGE), EXCHANGE, .row_bytes = SMALL_ROW),
    GROUP("plan", ENDS | BIT(ALLOCATE) | BIT(CREATE_PLAN) | BIT(RUN_PLAN), BIT(CREATE_PLAN) | BIT(RUN_PLAN),
          .row_bytes = LARGE_ROW),
    MEMORY("gather", BIT(GATHER), GATHER, .row_bytes = LARGE_ROW),
    MEMORY("reduction", BIT(REDUCE), REDUCE, .row_bytes = LARGE_ROW),
    MEMORY("gather by reading", BIT(LOOK) | BIT(GATHER), GATHER, .row_bytes = LARGE_ROW),
    MEMORY("reduction by reading", BIT(LOOK) | BIT(REDUCE), REDUCE, .row_bytes = LARGE_ROW),
    MEMORY("small reduction", BIT(REDUCE), REDUCE, .row_bytes = SMALL_ROW),
    MEMORY("chunks", BIT(CHUNKS), CHUNKS, .row_bytes = SMALL_ROW),
    MEMORY("late to the chunks", BIT(CHUNKS), CHUNKS, .row_bytes = SMALL_ROW, .odd = CHUNKS, .habit = LATE),
    GROUP("late to create", ENDS | BIT(BARRIER), BIT(CREATE), .odd = CREATE, .habit = LATE),
    GROUP("late to the barrier", ENDS | BIT(BARRIER), BIT(BARRIER), .odd = BARRIER, .habit = LATE),
    GROUP("leaves before the barrier", ENDS | BIT(BARRIER), BIT(BARRIER), .odd = BARRIER, .habit = LEAVES),
    MEMORY("late to the allocation", 0, ALLOCATE, .row_bytes = LARGE_ROW, .odd = ALLOCATE, .habit = LATE),

    SPLITS("one group", 4, 2),
    SPLITS("two groups", 6, 3),

    TRANSFERS("in time", .course.habit = SLEEPS, .first = QUERN_POINT_TRANSFER_PREPARED, .last = QUERN_POINT_TRANSFER_EXPIRING - 1,
              .arrivals = {1, 2}),
    TRANSFERS("late", .course.habit = LATE, .first = QUERN_POINT_TRANSFER_EXPIRING, .last = QUERN_POINT_TRANSFER_EXPIRING,
              .arrivals = {1}),
    TRANSFERS("in time", .course.habit = SLEEPS, .first = QUERN_POINT_TRANSFER_EXPIRING + 1, .last = QUERN_POINT_TRANSFER_ENDING,
              .arrivals = {1, 2}),
    CARRIED("transfers", "a carrier that borrows", transfer_lists, borrows, .arrivals = {1, 3}, .spreads = true),
    CARRIED("transfers", "a carrier that copies", transfer_lists, copies, .arrivals = {1, 3}, .spreads = true),
    CARRIED("exchanges", "a carrier that borrows", exchange_slices, borrows, .arrivals = {1, 5, 9, 13}),
    CARRIED("exchanges", "a carrier that copies", exchange_slices, copies, .arrivals = {1, 5, 9, 13}),

    {"windows", "windows", {.kind = RANK_PROCESSES, .count = PAIR, .function = transfer_windows, .nccl = ""}, .spreads = true,
     .first = QUERN_POINT_STAGE_LISTENING, .last = QUERN_POINT_STAGE_TAKEN, .arrivals = {1, 2}},
    /* The first two ranks that come to it, and the first one that comes again. */
    {"reductions", "reductions", {.kind = RANK_PROCESSES, .count = REDUCED, .hosts = 2, .function = reduce_over_nccl, .nccl = ""},
     .spreads = true, .first = QUERN_POINT_NCCL_NOTICED, .last = QUERN_POINT_NCCL_COMBINED, .arrivals = {1, 2, REDUCED + 1},
     .faults = STRIKES},
    {"reductions", "from host to host", {.kind = RANK_PROCESSES, .count = CHAINED, .hosts = 2, .function = reduce_over_nccl,
                                         .nccl = ""},
     .spreads = true, .first = QUERN_POINT_NCCL_MOVED, .last = QUERN_POINT_NCCL_COMBINED, .arrivals = {1, 6, CHAINED + 5},
     .faults = 1 << POINT_KILL},
    RECORDINGS("agreements of calls in graphs", NCCL_NOTICED, NCCL_COMBINED, {1, 2}),
    RECORDINGS("calls in graphs", NCCL_KEPT, NCCL_CAPTURED, {1, 3, 5}),
    RECORDINGS("starts of transfers in graphs", TRANSFER_PREPARED, TRANSFER_HEARD, {1, 2}),
    FABRIC("parts", MEMORY_HEARD, MEMORY_MADE, {1, 2, PARTS + 1}),
    FABRIC("freed parts", MEMORY_FREEING, MEMORY_FREEING, {1, 2, REDUCED + 1}),
    {.word = NULL},
};

const struct program programs[] = {
    {"groups", visit_all, false}, {"splits", visit_all, true}, {"transfers", visit_all, true}, {"exchanges", visit_all, true},
    {"windows", visit_all, true}, {"reductions", visit_all, true}, {"graphs", visit_all, true}, {"fabric", visit_all, true},
    {"races", run_races, false}, {NULL, NULL, false},
};
