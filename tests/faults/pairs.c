/*
 * Every pair of a point of src/ranks/points.h and a fault, in groups of two and three ranks, in threads and processes.
 *
 * A scene is a list of steps that all ranks take.  A first run without a fault tells which points the scene reaches in which step;
 * then each is visited with each fault.  In some scenes a rank comes late or leaves, so that the others fail at points that only
 * failures reach.  However it ends: every rank returns; its status is one that the fault explains, and the same on all ranks of the
 * group; either all ranks have a group or none; no rank completes a step before all have entered it; nothing is written but what
 * was sent; and the ranks that live meet again under the same name.
 *
 *   pairs [--deep]    all
 *   pairs TEXT        those whose names, as a failure prints them, contain the text
 *
 * The last line is `N passed, N failed`.
 */
#define _GNU_SOURCE
#include "faults/points.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "faults/private_shm.h"
#include "faults/visits.h"
#include "harness/ranks.h"

enum { LEAST_RANKS = 2, MOST_RANKS = 3, AT_ONCE = 10, GUARD = 256, SLICE_ROWS = 10, LARGE_ROW = 65536, SMALL_ROW = 32,
       LOOKED = 4096 };
enum { CHUNK_ROWS = 4, CHUNK_COLUMNS = 100, CHUNKS_OF_RANK = 2, CHUNK_VALUE = 5, CHUNK_ELEMENTS = CHUNK_ROWS * CHUNK_COLUMNS,
       CHUNK_WORDS_AT = MOST_RANKS * CHUNK_ELEMENTS, CHUNK_BYTES = CHUNK_WORDS_AT + 4 * MOST_RANKS * CHUNKS_OF_RANK };
enum { MOST_FAILURES = 5 };  /* after these no more runs are begun: each may take seconds */

/* ---- the steps of a rank ---- */

enum step { CREATE, BARRIER, SPLIT, PART_BARRIER, ALLOCATE, EXCHANGE, CREATE_PLAN, RUN_PLAN, LOOK, GATHER, REDUCE, CHUNKS,
            FREE, DESTROY, STEPS };

_Static_assert((int)STEPS <= (int)POINT_STEPS, "each step must have its counts");

static const char *const step_names[STEPS] = {"create", "barrier", "split", "barrier of the part", "allocation", "all-to-all",
                                              "creation of a plan", "run of a plan", "first look", "all-gather", "all-reduce",
                                              "chunks", "free", "destroy"};

enum habit { IN_TIME, LATE, LEAVES };  /* of the last rank, in one step */

struct scene {
    const char *name;
    unsigned steps, subjects;   /* bits; the subjects are the steps whose points are visited */
    enum step odd;              /* the step in which the last rank has ... */
    enum habit habit;           /* ... this habit */
    size_t row_bytes;           /* of the exchanges */
};

#define BIT(step) (1u << (step))
#define ENDS (BIT(CREATE) | BIT(DESTROY))

static const struct scene scenes[] = {
    {"meet", ENDS | BIT(BARRIER), ENDS | BIT(BARRIER), CREATE, IN_TIME, 0},
    {"split", ENDS | BIT(SPLIT) | BIT(PART_BARRIER), BIT(SPLIT) | BIT(PART_BARRIER), CREATE, IN_TIME, 0},
    {"exchange", ENDS | BIT(ALLOCATE) | BIT(EXCHANGE) | BIT(FREE), BIT(ALLOCATE) | BIT(EXCHANGE) | BIT(FREE), CREATE, IN_TIME,
     LARGE_ROW},
    {"exchange of small slices", ENDS | BIT(ALLOCATE) | BIT(EXCHANGE), BIT(EXCHANGE), CREATE, IN_TIME, SMALL_ROW},
    {"plan", ENDS | BIT(ALLOCATE) | BIT(CREATE_PLAN) | BIT(RUN_PLAN), BIT(CREATE_PLAN) | BIT(RUN_PLAN), CREATE, IN_TIME, LARGE_ROW},
    {"gather", ENDS | BIT(ALLOCATE) | BIT(GATHER), BIT(GATHER), CREATE, IN_TIME, LARGE_ROW},
    {"reduction", ENDS | BIT(ALLOCATE) | BIT(REDUCE), BIT(REDUCE), CREATE, IN_TIME, LARGE_ROW},
    {"gather by reading", ENDS | BIT(ALLOCATE) | BIT(LOOK) | BIT(GATHER), BIT(GATHER), CREATE, IN_TIME, LARGE_ROW},
    {"reduction by reading", ENDS | BIT(ALLOCATE) | BIT(LOOK) | BIT(REDUCE), BIT(REDUCE), CREATE, IN_TIME, LARGE_ROW},
    {"small reduction", ENDS | BIT(ALLOCATE) | BIT(REDUCE), BIT(REDUCE), CREATE, IN_TIME, SMALL_ROW},
    {"chunks", ENDS | BIT(ALLOCATE) | BIT(CHUNKS), BIT(CHUNKS), CREATE, IN_TIME, SMALL_ROW},
    {"late to the chunks", ENDS | BIT(ALLOCATE) | BIT(CHUNKS), BIT(CHUNKS), CHUNKS, LATE, SMALL_ROW},
    {"late to create", ENDS | BIT(BARRIER), BIT(CREATE), CREATE, LATE, 0},
    {"late to the barrier", ENDS | BIT(BARRIER), BIT(BARRIER), BARRIER, LATE, 0},
    {"leaves before the barrier", ENDS | BIT(BARRIER), BIT(BARRIER), BARRIER, LEAVES, 0},
    {"late to the allocation", ENDS | BIT(ALLOCATE), BIT(ALLOCATE), ALLOCATE, LATE, LARGE_ROW},
};

enum { SCENES = sizeof scenes / sizeof *scenes };

struct plan {
    struct point_plan points;
    const struct scene *scene;
    enum rank_kind kind;
};

/* What the ranks and the test share. */
struct shared {
    struct points points;
    int entered[MOST_RANKS][STEPS], completed[MOST_RANKS][STEPS];
    int failed_in[MOST_RANKS];                   /* 1 + the step */
    quern_status poison[MOST_RANKS];             /* what the group says after a failure; 0: there was none, or no group */
    char reason[MOST_RANKS][RANK_TEXT_BYTES];
};

struct life {
    struct rank *rank;
    const struct plan *plan;
    struct shared *shared;
    quern_group *group, *part;
    quern_ragged_plan *ragged;
    char *workspace;
    size_t workspace_bytes;
    unsigned char *input, *output;   /* with a guard on each side */
    struct rank_exchange exchange;   /* of a slice from every rank to every rank, larger than a window of the staging */
};

static quern_status create(struct life *life) {
    quern_group_args args = rank_group_args(life->rank, POINT_LIMIT);
    return quern_group_create(&args, 1, &life->group);
}

static quern_status meet(struct life *life) { return quern_barrier(life->group, NULL, NULL); }

/* Into one part, in which all ranks but the middle one have other numbers. */
static quern_status split(struct life *life) {
    return quern_group_split(&life->group, 1, (int[]){0}, (int[]){-life->rank->rank}, &life->part);
}

static quern_status meet_part(struct life *life) { return quern_barrier(life->part, NULL, NULL); }

/* Of the first slice of every rank, or of all its slices. */
static quern_collective_args collective_args(struct life *life, bool gathers) {
    quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
    args.dtype = QUERN_F32, args.combination = QUERN_COMBINE_MAX;
    args.count = (int64_t)(SLICE_ROWS * life->plan->scene->row_bytes / sizeof(float)) * (gathers ? 1 : life->rank->ranks);
    args.input = life->input + GUARD, args.output = life->output + GUARD;
    return args;
}

/* The first call in which processes find out whether they can read each other. */
static quern_status look(struct life *life) {
    quern_collective_args args = collective_args(life, true);
    float *memory = calloc(LOOKED * (size_t)(1 + life->rank->ranks), sizeof *memory);
    rank_check(life->rank, memory, "no memory to look at");
    args.count = LOOKED, args.input = memory, args.output = memory + LOOKED;
    const quern_status status = quern_all_gather(life->group, &args, life->workspace, life->workspace_bytes, NULL);
    free(memory);
    return status;
}

static quern_status gather(struct life *life) {
    const quern_collective_args args = collective_args(life, true);
    return quern_all_gather(life->group, &args, life->workspace, life->workspace_bytes, NULL);
}

static quern_status reduce(struct life *life) {
    const quern_collective_args args = collective_args(life, false);
    return quern_all_reduce(life->group, &args, life->workspace, life->workspace_bytes, NULL);
}

static quern_status allocate(struct life *life) {
    quern_collective_args largest = collective_args(life, false);
    size_t more = 0;
    quern_status status = quern_ragged_all_to_all_workspace(life->group, &life->exchange.args, &life->workspace_bytes);
    if (status == QUERN_OK) status = quern_collective_workspace(life->group, &largest, &more);
    if (status != QUERN_OK) return status;
    if (more > life->workspace_bytes) life->workspace_bytes = more;
    if (CHUNK_BYTES > life->workspace_bytes) life->workspace_bytes = CHUNK_BYTES;
    return quern_symmetric_alloc(&life->group, 1, &life->workspace_bytes, (void **)&life->workspace);
}

static quern_status exchange(struct life *life) {
    return quern_ragged_all_to_all(life->group, &life->exchange.args, life->workspace, life->workspace_bytes, NULL);
}

static quern_status create_plan(struct life *life) {
    return quern_ragged_plan_create(&life->group, 1, &life->exchange.args, (void *const *)&life->workspace, &life->workspace_bytes,
                                    &life->ragged);
}

static quern_status run_plan(struct life *life) { return quern_ragged_plan_run(life->ragged, NULL); }

/* ---- chunks, in the symmetric memory that the other steps have as workspace ---- */

static uint32_t *words_of(const struct life *life) { return (uint32_t *)(void *)(life->workspace + CHUNK_WORDS_AT); }

/* Rank r has the inputs 2^r, of which the largest is 2^8 in the output: powers of two have the bits of their exponent and 7. */
static unsigned char code_of(const struct life *life, int place) {
    return (unsigned char)((8 - (life->rank->ranks - 1) + place + 7) << 3);
}

/* A chunk whose word says so is complete.  After a failure that the call has noticed all others say that they will not come. */
static void check_chunks(const struct life *life, quern_status status) {
    for (int word = 0; word < life->rank->ranks * CHUNKS_OF_RANK; word++) {
        const uint32_t has = __atomic_load_n(&words_of(life)[word], __ATOMIC_ACQUIRE);
        const char *chunk = life->workspace + word * (CHUNK_ELEMENTS / CHUNKS_OF_RANK);
        for (int i = 0; i < CHUNK_ELEMENTS / CHUNKS_OF_RANK && has == CHUNK_VALUE; i++)
            rank_check(life->rank, (unsigned char)chunk[i] == code_of(life, word / CHUNKS_OF_RANK), "byte %d of chunk %d is %02X",
                       i, word, (unsigned char)chunk[i]);
        rank_check(life->rank, has == CHUNK_VALUE || (status != QUERN_OK && has == ~(uint32_t)CHUNK_VALUE),
                   "word %d is %u after %s", word, has, quern_status_string(status));
    }
}

static quern_status send_chunks(struct life *life) {
    float input[CHUNK_ELEMENTS], amax;
    quern_quantize_chunks_args args = QUERN_QUANTIZE_CHUNKS_ARGS_INIT;
    for (int i = 0; i < CHUNK_ELEMENTS; i++) input[i] = (float)(1 << life->rank->rank);
    for (int i = 0; i < CHUNK_BYTES; i++)
        rank_check(life->rank, !life->workspace[i], "byte %d was written before this rank has entered the call", i);
    args.input_dtype = QUERN_F32, args.output_dtype = QUERN_E4M3, args.power_of_two = 1;
    args.input = input, args.output = life->workspace, args.ready = words_of(life), args.ready_value = CHUNK_VALUE;
    args.rows = CHUNK_ROWS, args.columns = CHUNK_COLUMNS, args.chunk_rows = CHUNK_ROWS / CHUNKS_OF_RANK, args.amax = &amax;
    const quern_status status = quern_quantize_chunks(life->group, &args, NULL, 0, NULL);
    if (status == QUERN_OK || __atomic_load_n(words_of(life), __ATOMIC_ACQUIRE)) check_chunks(life, status);
    return status;
}

static quern_status free_memory(struct life *life) { return quern_symmetric_free(life->group, life->workspace, NULL); }

static quern_status destroy(struct life *life) {
    rank_ok(life->rank, quern_ragged_plan_destroy(life->ragged));
    rank_ok(life->rank, quern_group_destroy(life->part));
    rank_ok(life->rank, quern_group_destroy(life->group));
    return QUERN_OK;
}

static const struct {
    quern_status (*take)(struct life *life);
    bool is_local;
} steps[STEPS] = {
    [CREATE] = {create, false},     [BARRIER] = {meet, false},         [SPLIT] = {split, false},
    [PART_BARRIER] = {meet_part, false}, [ALLOCATE] = {allocate, false}, [EXCHANGE] = {exchange, false},
    [CREATE_PLAN] = {create_plan, false}, [RUN_PLAN] = {run_plan, false}, [LOOK] = {look, false}, [GATHER] = {gather, false},
    [REDUCE] = {reduce, false}, [CHUNKS] = {send_chunks, false}, [FREE] = {free_memory, true}, [DESTROY] = {destroy, true},
};

/* ---- the buffers ---- */

static size_t row_bytes(const struct life *life) { return life->plan->scene->row_bytes; }

static size_t buffer_bytes(const struct life *life) { return (size_t)life->rank->ranks * SLICE_ROWS * row_bytes(life); }

static unsigned char value_of(int sender, int receiver, int row) { return (unsigned char)(1 + sender * 64 + receiver * 16 + row); }

/*
 * A row of the output.  Bytes of rank 1 are the largest float: those of rank 0 begin with a lower one, and those of rank 2 with a
 * sign.
 */
static unsigned char output_value(const struct life *life, int row) {
    const unsigned steps = life->plan->scene->steps;
    if (steps & BIT(REDUCE)) return value_of(1, row / SLICE_ROWS, row % SLICE_ROWS);
    return value_of(row / SLICE_ROWS, steps & BIT(GATHER) ? 0 : life->rank->rank, row % SLICE_ROWS);
}

static bool has_output(enum step step) { return step == EXCHANGE || step == RUN_PLAN || step == GATHER || step == REDUCE; }

static const unsigned char UNTOUCHED = 0xee, FENCE = 0xf5;

static const unsigned char SCRIBBLE = 0xdd;

static bool is_filled(const unsigned char *bytes, size_t count, unsigned char value) {
    return bytes[0] == value && memcmp(bytes, bytes + 1, count - 1) == 0;
}

static unsigned char *make_buffer(struct life *life) {
    unsigned char *buffer = malloc(buffer_bytes(life) + 2 * GUARD);
    rank_check(life->rank, buffer, "no memory for a buffer");
    memset(buffer, UNTOUCHED, buffer_bytes(life) + 2 * GUARD);
    memset(buffer, FENCE, GUARD);
    memset(buffer + GUARD + buffer_bytes(life), FENCE, GUARD);
    return buffer;
}

static void make_buffers(struct life *life) {
    if (!(life->plan->scene->steps & BIT(ALLOCATE))) return;
    life->input = make_buffer(life);
    life->output = make_buffer(life);
    for (int row = 0; row < life->rank->ranks * SLICE_ROWS; row++)
        memset(life->input + GUARD + (size_t)row * row_bytes(life), value_of(life->rank->rank, row / SLICE_ROWS, row % SLICE_ROWS),
               row_bytes(life));
    rank_exchange_args(life->rank, &life->exchange, life->input + GUARD, life->output + GUARD, SLICE_ROWS,
                       (int64_t)row_bytes(life));
}

static void check_fences(struct life *life) {
    const unsigned char *buffers[] = {life->input, life->output};
    for (int i = 0; i < 2; i++)
        rank_check(life->rank,
                   is_filled(buffers[i], GUARD, FENCE) && is_filled(buffers[i] + GUARD + buffer_bytes(life), GUARD, FENCE),
                   "something was written beside the %s", i ? "output" : "input");
}

/* Windows and shares of a collective end inside of rows. */
static bool is_partly_filled(const unsigned char *bytes, size_t count, unsigned char value) {
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != value && bytes[i] != UNTOUCHED) return false;
    return true;
}

/* Every row of the output is what was sent or, if the exchange was not completed, as it was. */
static void check_output(struct life *life, bool completed) {
    struct rank *rank = life->rank;
    for (int row = 0; row < rank->ranks * SLICE_ROWS; row++) {
        const unsigned char *at = life->output + GUARD + (size_t)row * row_bytes(life);
        bool sent = is_filled(at, row_bytes(life), output_value(life, row));
        const bool partly = !completed && is_partly_filled(at, row_bytes(life), output_value(life, row));
        rank_check(rank, sent || partly, "output row %d is %s", row,
                   completed ? "not what was sent" : "neither as it was nor what was sent");
    }
}

static void check_input(struct life *life, bool scribbled) {
    struct rank *rank = life->rank;
    for (int row = 0; row < rank->ranks * SLICE_ROWS; row++) {
        unsigned char value = scribbled ? SCRIBBLE : value_of(rank->rank, row / SLICE_ROWS, row % SLICE_ROWS);
        const unsigned char *at = life->input + GUARD + (size_t)row * row_bytes(life);
        rank_check(rank, is_filled(at, row_bytes(life), value), "input row %d has changed", row);
    }
}

/* Before a rank has entered the exchange, no other may write its output. */
static void check_untouched(struct life *life) {
    rank_check(life->rank, is_filled(life->output + GUARD, buffer_bytes(life), UNTOUCHED),
               "the output was written before this rank has entered the exchange");
}

/* When the call has returned, the output is complete and the input may change. */
static void use_buffers(struct life *life) {
    check_output(life, true);
    memset(life->input + GUARD, SCRIBBLE, buffer_bytes(life));
}

/* When all ranks have ended. */
static void check_buffers(struct life *life) {
    const int *completed = life->shared->completed[life->rank->rank];
    const bool done = completed[EXCHANGE] || completed[RUN_PLAN] || completed[GATHER] || completed[REDUCE];
    if (!life->input) return;
    check_fences(life);
    check_output(life, done);
    check_input(life, done);
}

/* ---- a rank's life ---- */

static bool is_odd(const struct life *life, enum step step) {
    return life->plan->scene->habit != IN_TIME && life->plan->scene->odd == step && life->rank->rank == life->rank->ranks - 1;
}

/* No rank may leave a collective step before all have entered it. */
static void check_entered(struct life *life, enum step step) {
    for (int rank = 0; rank < life->rank->ranks && !steps[step].is_local; rank++)
        rank_check(life->rank, __atomic_load_n(&life->shared->entered[rank][step], __ATOMIC_ACQUIRE),
                   "the %s is complete, and rank %d has not entered it", step_names[step], rank);
}

/* The last rank comes when another sleeps: so all points of the wait are reached in every run. */
static quern_status take(struct life *life, enum step step) {
    points_enter_step(step);
    if (is_odd(life, step)) {
        if (life->plan->scene->habit == LEAVES) return QUERN_GROUP_ABORTED;  /* not the library's: the rank goes to its end */
        points_be_late();
    } else if (!steps[step].is_local && life->rank->rank == life->rank->ranks - 1) {
        points_wait_for_sleepers();
    }
    if (has_output(step)) check_untouched(life);
    __atomic_store_n(&life->shared->entered[life->rank->rank][step], 1, __ATOMIC_RELEASE);
    quern_status status = steps[step].take(life);
    if (status != QUERN_OK) return status;
    check_entered(life, step);
    life->shared->completed[life->rank->rank][step] = 1;
    if (has_output(step)) use_buffers(life);
    return QUERN_OK;
}

/* Stores what the group says, which must be what the call has said. */
static void note_failure(struct life *life, enum step step, quern_status status) {
    struct shared *shared = life->shared;
    const int rank = life->rank->rank;
    quern_group *group = step == PART_BARRIER ? life->part : life->group;
    shared->failed_in[rank] = 1 + (int)step;
    if (!group || (is_odd(life, step) && life->plan->scene->habit == LEAVES)) return;
    char detail[RANK_TEXT_BYTES];
    rank_status(life->rank, quern_group_status(group), status);
    rank_status(life->rank, quern_barrier(group, NULL, NULL), status);
    quern_error_detail(detail, sizeof detail);
    const char *reason = strstr(detail, ": ");
    if (step == PART_BARRIER) return;
    shared->poison[rank] = status;
    snprintf(shared->reason[rank], sizeof shared->reason[rank], "%s", reason ? reason : "");
}

/* The ranks that live form another group under the same name. */
static void meet_again(struct life *life) {
    int before = 0, alive = 0;
    for (int rank = 0; rank < life->rank->ranks; rank++) {
        bool dead = __atomic_load_n(&life->shared->points.dead[rank], __ATOMIC_ACQUIRE);
        before += !dead && rank < life->rank->rank;
        alive += !dead;
    }
    quern_group_args args = rank_group_args(life->rank, POINT_LIMIT);
    args.rank = before;
    args.ranks = alive;
    quern_group *group;
    rank_ok(life->rank, quern_group_create(&args, 1, &group));
    rank_ok(life->rank, quern_barrier(group, NULL, NULL));
    rank_ok(life->rank, quern_group_destroy(group));
}

static quern_status live(struct rank *rank) {
    const struct plan *plan = rank->user;
    struct life life = {.rank = rank, .plan = plan, .shared = rank->shared};
    rank_ok(rank, quern_prepare(rank->device, QUERN_RAGGED_ALL_TO_ALL | QUERN_COLLECTIVE | QUERN_QUANTIZE));
    make_buffers(&life);
    points_begin(&life.shared->points, &plan->points, rank->rank);
    struct points_aborter *aborter = points_start_aborter();
    quern_status status = QUERN_OK;
    for (enum step step = CREATE; step < DESTROY && status == QUERN_OK; step++) {
        if (!(plan->scene->steps & BIT(step))) continue;
        status = take(&life, step);
        if (status != QUERN_OK) note_failure(&life, step, status);
        points_offer(life.part ? life.part : life.group);
    }
    take(&life, DESTROY);
    points_end(status != QUERN_OK);
    points_stop_aborter(aborter);
    check_buffers(&life);
    free(life.input);
    free(life.output);
    meet_again(&life);
    return status;
}

/* ---- the expected ends ---- */

static void name_plan(const struct plan *plan, char *text, size_t bytes) {
    const struct point_stop *stop = &plan->points.stop[0];
    snprintf(text, bytes, "%d %s, scene %s, step %s, point %s, arrival %u, fault %s", plan->points.ranks,
             rank_kind_name(plan->kind), plan->scene->name, stop->fault ? step_names[stop->step] : "any",
             stop->fault ? point_name(stop->point) : "none", stop->arrival, point_fault_name(stop->fault));
}

static void report_failure(const struct plan *plan, const struct rank_run *run, const char *what) {
    char name[256];
    const struct shared *shared = ranks_shared(run);
    name_plan(plan, name, sizeof name);
    printf("%s: victim %d: %s\n", name, shared->points.victim[0] - 1, what);
    for (int rank = 0; rank < plan->points.ranks; rank++) {
        const struct rank_result *result = ranks_result(run, rank);
        printf("    rank %d: %s in its %s: %s\n", rank, result->end == RANK_RUNS ? "no end" : quern_status_string(result->status),
               step_names[shared->failed_in[rank] ? shared->failed_in[rank] - 1 : shared->points.step[rank]],
               shared->failed_in[rank] ? shared->reason[rank] : "");
    }
    fflush(stdout);
}

/* A rank that dies before its place is complete is unknown to the others, so it can only be missing. */
static bool is_unknown_at(enum quern_point point) {
    return point >= QUERN_POINT_FORM_MADE && point <= QUERN_POINT_FORM_CLAIMED;
}

/* A rank that dies here may leave a file that the others have not opened yet: then they miss it in a file of their own. */
static bool may_be_unknown_at(enum quern_point point) {
    return is_unknown_at(point) || point == QUERN_POINT_FORM_SEATED || point == QUERN_POINT_FORM_AWAITING;
}

/* Whether the fault, or the scene's own, explains a status. */
static bool is_explained(const struct plan *plan, quern_status status) {
    static const quern_status by_fault[POINT_FAULTS] = {
        [POINT_OUTSTAY] = QUERN_PEER_TIMEOUT, [POINT_ABORT] = QUERN_GROUP_ABORTED, [POINT_EXPIRE] = QUERN_PEER_TIMEOUT};
    static const quern_status by_habit[] = {[IN_TIME] = QUERN_OK, [LATE] = QUERN_PEER_TIMEOUT, [LEAVES] = QUERN_PEER_LOST};
    const struct point_stop *stop = &plan->points.stop[0];
    if (status == QUERN_OK || status == by_fault[stop->fault] || status == by_habit[plan->scene->habit]) return true;
    const bool is_known = stop->step == SPLIT;  /* in the group that is split */
    if (stop->fault == POINT_KILL && status == QUERN_PEER_LOST && (is_known || !is_unknown_at(stop->point))) return true;
    if (stop->fault == POINT_KILL && status == QUERN_PEER_TIMEOUT && !is_known && may_be_unknown_at(stop->point)) return true;
    /* In a scene of two groups a rank that fails in one destroys its handle of the other. */
    return stop->fault > POINT_DELAY && plan->scene->steps & BIT(SPLIT) && status == QUERN_PEER_LOST;
}

/* Whether a reason has the words of its status. */
static bool is_said(quern_status status, const char *reason) {
    static const struct {
        quern_status status;
        const char *words;
    } sayings[] = {{QUERN_PEER_TIMEOUT, " waited "}, {QUERN_PEER_TIMEOUT, " makes no progress"}, {QUERN_PEER_LOST, " has ended"},
                   {QUERN_PEER_LOST, " has destroyed its group"}, {QUERN_GROUP_ABORTED, " has aborted the group"}};
    for (size_t i = 0; i < sizeof sayings / sizeof *sayings; i++)
        if (sayings[i].status == status && strstr(reason, sayings[i].words)) return true;
    return false;
}

/* If the second rank dies behind its place, the first waits in the same file and must find it dead. */
static bool is_noticed(const struct plan *plan, const struct rank_run *run) {
    const struct point_stop *stop = &plan->points.stop[0];
    if (stop->fault != POINT_KILL || stop->point != QUERN_POINT_FORM_SEATED || stop->step != CREATE) return true;
    if (stop->arrival < 2) return true;
    for (int rank = 0; rank < plan->points.ranks; rank++)
        if (ranks_result(run, rank)->end == RANK_RETURNED && ranks_result(run, rank)->status == QUERN_PEER_LOST) return true;
    return false;
}

/* What a failed split says of ranks has their numbers in the group that is split, and there is one that dies or does not come. */
static bool is_named(const struct plan *plan, const struct shared *shared, int rank) {
    const struct point_stop *stop = &plan->points.stop[0];
    const char *reason = shared->reason[rank];
    char name[32];
    if (shared->failed_in[rank] != 1 + (int)SPLIT || (stop->fault != POINT_KILL && stop->fault != POINT_OUTSTAY)) return true;
    snprintf(name, sizeof name, "rank %d%s", shared->points.victim[0] - 1, stop->fault == POINT_KILL ? " (process " : "");
    return strstr(reason, name) || (stop->fault == POINT_OUTSTAY && !strstr(reason, " for rank "));
}

static const char *compare_ranks(const struct plan *plan, const struct rank_run *run) {
    const struct shared *shared = ranks_shared(run);
    int all = -1, poisoned = -1;
    for (int rank = 0; rank < plan->points.ranks; rank++) {
        const struct rank_result *result = ranks_result(run, rank);
        bool leaves = plan->scene->habit == LEAVES && rank == plan->points.ranks - 1;
        if (result->end != RANK_RETURNED) continue;
        if (!leaves && !is_explained(plan, result->status)) return "a status that the fault does not explain";
        for (enum step step = CREATE; step <= SPLIT; step += SPLIT - CREATE) {
            if (!(plan->scene->steps & BIT(step)) || (step == SPLIT && !shared->completed[rank][CREATE])) continue;
            if (all >= 0 && shared->completed[all][step] != shared->completed[rank][step])
                return "a group that some ranks have, and some do not";
        }
        all = rank;
        if (shared->poison[rank] == QUERN_OK) continue;
        if (!is_said(shared->poison[rank], shared->reason[rank])) return "a reason that does not say the status";
        if (!is_named(plan, shared, rank)) return "a reason that does not name the rank";
        if (poisoned >= 0 && shared->poison[rank] != shared->poison[poisoned]) return "ranks with different statuses";
        if (poisoned >= 0 && strcmp(shared->reason[rank], shared->reason[poisoned]) != 0) return "ranks with different reasons";
        poisoned = rank;
    }
    return is_noticed(plan, run) ? NULL : "a death that nobody has noticed";
}

static const char *judge(const struct plan *plan, struct rank_run *run) {
    char path[128];
    struct stat file;
    bool may_die[MOST_RANKS] = {false};
    const struct shared *shared = ranks_shared(run);
    const struct point_stop *stop = &plan->points.stop[0];
    const int victim = shared->points.victim[0] - 1;
    if (victim >= 0 && stop->fault == POINT_KILL) may_die[victim] = true;
    const char *wrong = ranks_wait(run, may_die);
    if (victim >= 0) visits.met[0][stop->point][stop->fault] = true;
    if (!wrong) wrong = compare_ranks(plan, run);
    if (wrong) return wrong;
    rank_meeting_place(path, sizeof path, ranks_name(run));
    return lstat(path, &file) == 0 ? "the name is still there" : NULL;
}

/* ---- running many at once ---- */

static struct running {
    struct plan plan;
    struct rank_run *run;   /* NULL: none */
    double began;
} running[AT_ONCE];

static void start(struct running *one, const struct plan *plan) {
    one->plan = *plan;
    one->began = rank_now();
    one->run = ranks_start(&(struct ranks){.kind = plan->kind, .count = plan->points.ranks, .function = live, .user = &one->plan,
                                           .shared_bytes = sizeof(struct shared), .limit = VISIT_LIMIT});
}

/* Tells the others when the victim is dead: from then on their limits may end. */
static void bury(struct running *one) {
    struct shared *shared = ranks_shared(one->run);
    int victim = __atomic_load_n(&shared->points.victim[0], __ATOMIC_ACQUIRE) - 1;
    siginfo_t end = {.si_pid = 0};
    if (one->plan.points.stop[0].fault != POINT_KILL || victim < 0 || shared->points.dead[victim]) return;
    int result = waitid(P_PID, (id_t)ranks_process(one->run, victim), &end, WEXITED | WNOHANG | WNOWAIT);
    if (result != 0 || end.si_pid) points_bury(&shared->points, victim);
}

static void finish(struct running *one) {
    const char *wrong = judge(&one->plan, one->run);
    if (wrong) report_failure(&one->plan, one->run, wrong);
    visit_count(wrong);
}

static bool advance(struct running *one) {
    bury(one);
    bool late = rank_now() - one->began > VISIT_LIMIT;
    for (int rank = 0; rank < one->plan.points.ranks; rank++) late |= ranks_result(one->run, rank)->end == RANK_FAILED;
    if (!ranks_have_ended(one->run) && !late) return false;
    finish(one);
    ranks_close(one->run);
    one->run = NULL;
    return true;
}

/* Runs a plan as soon as there is room; NULL: waits for all. */
static void run_plan_when_possible(const struct plan *plan) {
    for (;;) {
        bool busy = false;
        for (int i = 0; i < AT_ONCE; i++) {
            if (running[i].run) advance(&running[i]);
            if (!running[i].run && plan) {
                start(&running[i], plan);
                return;
            }
            busy |= running[i].run != NULL;
        }
        if (!plan && !busy) return;
        rank_sleep(2e-4);
    }
}

/* ---- the pairs ---- */

static bool is_due(const struct plan *plan) {
    char name[256];
    name_plan(plan, name, sizeof name);
    return visits.failed < MOST_FAILURES && visit_is_due(&plan->points.stop[0], 0, name);
}

/* No group can be aborted before it exists. */
static bool is_possible(const struct plan *plan, enum point_fault fault, enum step step) {
    if (fault == POINT_KILL) return plan->kind == RANK_PROCESSES;
    return fault != POINT_ABORT || step != CREATE;
}

static void run_faults(struct plan plan, enum step step, enum quern_point point, unsigned arrivals) {
    for (enum point_fault fault = POINT_DELAY; fault <= POINT_EXPIRE; fault++) {
        if (!is_possible(&plan, fault, step)) continue;
        unsigned arrival = plan.points.ranks == LEAST_RANKS || arrivals < 2 ? 1 : 2;
        plan.points.stop[0] = (struct point_stop){fault, point, -1, (int)step, arrival};
        if (is_due(&plan)) run_plan_when_possible(&plan);
    }
}

/* Points that only a failure reaches, and a wait that the machine makes long: they are visited in one of the odd scenes. */
static bool is_of_failures(enum quern_point point) {
    return (point >= QUERN_POINT_FORM_EXPIRING && point <= QUERN_POINT_FORM_REFUSED) ||
           (point >= QUERN_POINT_MEET_CHECKING && point <= QUERN_POINT_POISON_SET) || point == QUERN_POINT_MEMORY_GIVING_UP ||
           point == QUERN_POINT_CHUNKS_FAILING;
}

static void run_scene(struct plan plan, bool visited[STEPS][QUERN_POINT_COUNT]) {
    if (visits.failed >= MOST_FAILURES) return;
    struct running first;
    start(&first, &plan);
    finish(&first);
    const struct shared shared = *(const struct shared *)ranks_shared(first.run);
    ranks_close(first.run);
    for (enum step step = CREATE; step < STEPS; step++)
        for (enum quern_point point = 0; point < QUERN_POINT_COUNT; point++) {
            unsigned arrivals = shared.points.reached[step][point];
            if (!arrivals || !(plan.scene->subjects & BIT(step))) continue;
            if (is_of_failures(point) != (plan.scene->habit != IN_TIME)) continue;
            if (!is_of_failures(point) || !visited[step][point]) run_faults(plan, step, point, arrivals);
            visited[step][point] = true;
        }
}

/*
 * Transfers fail by themselves and leave the group as it is, and messages are between hosts: transfers.c, windows.c and
 * reductions.c visit them.
 */
static bool is_elsewhere(enum quern_point point) {
    return point >= QUERN_POINT_TRANSFER_PREPARED && point <= QUERN_POINT_NCCL_COMBINED;
}

static bool is_pair(int kind, enum quern_point point, enum point_fault fault) {
    (void)kind;
    const bool without_group = point >= QUERN_POINT_FORM_EXPIRING && point <= QUERN_POINT_FORM_REFUSED;  /* only in create */
    return !(fault == POINT_ABORT && without_group) && !is_elsewhere(point);
}

/*
 * Nothing may be left in a /dev/shm of our own but the empty file of a rank that was killed at form.made in a split.  For a second
 * others take it for one that is being made, which is longer than these limits, and nobody uses the name of a split again.
 */
static void check_names(void) {
    DIR *directory = opendir("/dev/shm");
    for (const struct dirent *entry; directory && (entry = readdir(directory));) {
        char path[300];
        struct stat file;
        snprintf(path, sizeof path, "/dev/shm/%s", entry->d_name);
        bool unmade = strstr(entry->d_name, ".split.") && lstat(path, &file) == 0 && file.st_size == 0;
        if (entry->d_name[0] == '.' || unmade) continue;
        printf("%s is left in /dev/shm\n", entry->d_name);
        visits.failed++;
    }
    if (directory) closedir(directory);
}

static bool has_own_shm;

static void visit_all(void) {
    for (int ranks = LEAST_RANKS; ranks <= MOST_RANKS; ranks++)
        for (size_t kind = 0; kind < sizeof rank_kinds / sizeof *rank_kinds; kind++) {
            bool visited[STEPS][QUERN_POINT_COUNT] = {{false}};
            for (int scene = 0; scene < SCENES; scene++)
                run_scene((struct plan){.points = {.ranks = ranks}, .scene = &scenes[scene], .kind = rank_kinds[kind]}, visited);
            run_plan_when_possible(NULL);
        }
    if (has_own_shm) check_names();
    if (visits.failed >= MOST_FAILURES) printf("further pairs were not run\n");
}

int main(int count, char **words) {
    setenv("QUERN_THREADS", "1", 1);
    has_own_shm = private_shm_enter(NULL);
    return visit_pairs(count, words, visit_all, is_pair, (const char *const[VISIT_KINDS]){""});
}
