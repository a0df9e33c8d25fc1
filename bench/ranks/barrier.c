/*
 * The barrier: the library's beside other barriers and the ping-pong, turn by turn, with the same ranks on the same cores.
 * gpu_barrier.c measures it on a GPU.  Called by main.c.
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/bench.h"
#include "ranks/gpu.h"
#include "ranks/ranks.h"
#include "ranks/rounds.h"
#include "ranks/team.h"

/* One rank's state at a barrier. */
struct barrier_seat {
    void *shared;
    int rank, ranks;
    unsigned epoch;  /* rounds so far */
    void *more;      /* what a barrier keeps beyond that */
    struct player player;
};

struct barrier {
    const char *name;
    int most_ranks;
    size_t (*bytes)(int ranks);                                /* of zeroed memory that all ranks share */
    void (*prepare)(void *shared, const struct team *team);    /* once, before the ranks start; may be NULL */
    void (*join)(struct barrier_seat *seat);                   /* every rank; may be NULL */
    void (*meet)(void *seat);
    void (*leave)(struct barrier_seat *seat);                  /* every rank; may be NULL */
};

enum { LINE = 128 };  /* bytes: two cache lines, since a CPU may fetch them in pairs */

/* ---- ping-pong ---- */

static size_t player_bytes(int ranks) {
    (void)ranks;
    return sizeof(struct ball);
}

static void take_side(struct barrier_seat *seat) {
    seat->player = (struct player){.ball = seat->shared, .side = seat->rank};
}

static void play(void *seat) {
    ping_pong(&((struct barrier_seat *)seat)->player);
}

/* ---- a counter and a sense flag, on which all ranks spin without sleep ---- */

struct central {
    _Alignas(LINE) int arrived;
    _Alignas(LINE) unsigned sense;
};

static size_t central_bytes(int ranks) {
    (void)ranks;
    return sizeof(struct central);
}

static void meet_at_counter(void *context) {
    struct barrier_seat *seat = context;
    struct central *central = seat->shared;
    unsigned sense = ++seat->epoch;
    if (__atomic_add_fetch(&central->arrived, 1, __ATOMIC_ACQ_REL) == seat->ranks) {
        __atomic_store_n(&central->arrived, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&central->sense, sense, __ATOMIC_RELEASE);
    } else {
        while (__atomic_load_n(&central->sense, __ATOMIC_ACQUIRE) != sense) spin_pause();
    }
}

/* ---- the library's protocol, put-to-all and wait-for-all, without sleep, time limits and checks ---- */

static size_t pad_stride(int ranks) {
    return ((size_t)ranks * sizeof(uint32_t) + LINE - 1) / LINE * LINE;
}

static size_t pads_bytes(int ranks) {
    return (size_t)ranks * pad_stride(ranks);
}

static uint32_t *pad_of(const struct barrier_seat *seat, int rank) {
    return (uint32_t *)((char *)seat->shared + (size_t)rank * pad_stride(seat->ranks));
}

static void put_to_all(void *context) {
    struct barrier_seat *seat = context;
    uint32_t epoch = ++seat->epoch, *mine = pad_of(seat, seat->rank);
    for (int peer = 0; peer < seat->ranks; peer++)
        if (peer != seat->rank) __atomic_store_n(pad_of(seat, peer) + seat->rank, epoch, __ATOMIC_RELEASE);
    for (int peer = 0; peer < seat->ranks; peer++)
        while (peer != seat->rank && (int32_t)(__atomic_load_n(mine + peer, __ATOMIC_ACQUIRE) - epoch) < 0) spin_pause();
}

/* ---- pthread_barrier ---- */

static size_t pthread_bytes(int ranks) {
    (void)ranks;
    return sizeof(pthread_barrier_t);
}

static void prepare_pthread(void *shared, const struct team *team) {
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, team->kind == TEAM_THREADS ? PTHREAD_PROCESS_PRIVATE : PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(shared, &attributes, (unsigned)team->ranks);
    pthread_barrierattr_destroy(&attributes);
}

static void meet_at_pthread(void *context) {
    pthread_barrier_wait(((struct barrier_seat *)context)->shared);
}

/* ---- the library's ---- */

static size_t name_bytes(int ranks) {
    (void)ranks;
    return LIBRARY_NAME_BYTES;
}

static void name_group(void *shared, const struct team *team) {
    (void)team;
    library_name(shared);
}

static void join_group(struct barrier_seat *seat) {
    seat->more = library_join(seat->shared, seat->rank, seat->ranks, 1, QUERN_BARRIER);
}

static void meet_in_group(void *context) {
    const struct library_rank *member = ((struct barrier_seat *)context)->more;
    if (quern_barrier(member->group, NULL, NULL) != QUERN_OK) library_fail("quern_barrier");
}

static void leave_group(struct barrier_seat *seat) {
    library_leave(seat->more);
}

static const struct barrier barriers[] = {
    {.name = PING_PONG, .most_ranks = 2, .bytes = player_bytes, .join = take_side, .meet = play},
    {.name = "quern", .most_ranks = QUERN_MAX_RANKS, .bytes = name_bytes, .prepare = name_group, .join = join_group,
     .meet = meet_in_group, .leave = leave_group},
    {.name = "counter, no sleep", .most_ranks = QUERN_MAX_RANKS, .bytes = central_bytes, .meet = meet_at_counter},
    {.name = "put-to-all, no sleep", .most_ranks = QUERN_MAX_RANKS, .bytes = pads_bytes, .meet = put_to_all},
    {.name = "pthread_barrier", .most_ranks = QUERN_MAX_RANKS, .bytes = pthread_bytes, .prepare = prepare_pthread,
     .meet = meet_at_pthread},
};

enum { BARRIERS = sizeof barriers / sizeof *barriers };

/* ---- measuring ---- */

/* The data that the ranks share: the barriers that take part, and the memory of each. */
struct job {
    const struct rank_options *options;
    struct rounds *rounds;
    int count;
    const struct barrier *barriers[BARRIERS];
    void *shared[BARRIERS];
};

static void name_contenders(const struct job *job, struct contender *contenders, struct barrier_seat *seats) {
    for (int i = 0; i < job->count; i++)
        contenders[i] = (struct contender){job->barriers[i]->name, job->barriers[i]->meet, seats ? &seats[i] : NULL};
}

static void run_rank(void *context, int rank) {
    const struct job *job = context;
    const struct rank_options *options = job->options;
    struct barrier_seat seats[BARRIERS];
    struct contender contenders[BARRIERS];
    for (int i = 0; i < job->count; i++) {
        seats[i] = (struct barrier_seat){.shared = job->shared[i], .rank = rank, .ranks = options->team.ranks};
        if (job->barriers[i]->join) job->barriers[i]->join(&seats[i]);
    }
    name_contenders(job, contenders, seats);
    rounds_run(job->rounds, rank, options->team.ranks, contenders, job->count, (int)options->all->turns,
               options->all->seconds / (double)options->all->turns);
    for (int i = 0; i < job->count; i++)
        if (job->barriers[i]->leave) job->barriers[i]->leave(&seats[i]);
}

static const char *run_job(struct job *job) {
    const struct rank_options *options = job->options;
    for (int i = 0; i < job->count; i++) {
        if (!job->shared[i]) return "not enough memory";
        if (job->barriers[i]->prepare) job->barriers[i]->prepare(job->shared[i], &options->team);
    }
    if (!job->rounds) return "not enough memory";
    const char *problem = team_run(&options->team, run_rank, job);
    if (problem) return problem;
    struct contender contenders[BARRIERS];
    name_contenders(job, contenders, NULL);
    rounds_write(job->rounds, team_kind_names[options->team.kind], options->team.ranks, contenders, job->count,
                 (int)options->all->turns);
    return NULL;
}

static void measure_on_cpu(const struct rank_options *options) {
    int ranks = options->team.ranks;
    struct job job = {.options = options, .rounds = team_memory(rounds_bytes(ranks))};
    for (int i = 0; i < BARRIERS; i++) {
        if (ranks < 2 || ranks > barriers[i].most_ranks) continue;
        if (options->all->only && strcmp(options->all->only, barriers[i].name) != 0) continue;
        job.shared[job.count] = team_memory(barriers[i].bytes(ranks));
        job.barriers[job.count++] = &barriers[i];
    }
    const char *problem = run_job(&job);
    if (problem) ranks_skip("barrier", "quern", team_kind_names[options->team.kind], ranks, problem);
    for (int i = 0; i < job.count; i++) team_release(job.shared[i], job.barriers[i]->bytes(ranks));
    team_release(job.rounds, rounds_bytes(ranks));
}

static bool is_barrier(const char *name) {
    for (int i = 0; i < BARRIERS; i++)
        if (strcmp(barriers[i].name, name) == 0) return true;
    return false;
}

static void run(const struct options *options) {
    const struct rank_options asked = rank_options_of(options);
    if (asked.team.ranks < 2) refuse("--ranks is %d: a barrier needs at least 2", asked.team.ranks);
    if (options->only && !is_barrier(options->only)) refuse("--only is '%s': there is no such barrier", options->only);
    (asked.gpu ? measure_barriers_on_gpu : measure_on_cpu)(&asked);
}

/* ---- self-test: no rank leaves a round before all ranks have reached it ---- */

enum { TEST_RANKS = 3, TEST_ROUNDS = 25 };

struct meeting {
    const struct barrier *barrier;
    void *shared;
    int ranks;
    int wrong;                    /* atomic */
    int rounds[TEST_RANKS];       /* atomic: to which round each has come */
};

static void meet_often(void *context, int rank) {
    struct meeting *meeting = context;
    struct barrier_seat seat = {.shared = meeting->shared, .rank = rank, .ranks = meeting->ranks};
    if (meeting->barrier->join) meeting->barrier->join(&seat);
    for (int round = 1; round <= TEST_ROUNDS; round++) {
        __atomic_store_n(&meeting->rounds[rank], round, __ATOMIC_RELAXED);
        meeting->barrier->meet(&seat);
        for (int peer = 0; peer < meeting->ranks; peer++)
            if (__atomic_load_n(&meeting->rounds[peer], __ATOMIC_RELAXED) < round)
                __atomic_fetch_add(&meeting->wrong, 1, __ATOMIC_RELAXED);
        meeting->barrier->meet(&seat);
    }
    if (meeting->barrier->leave) meeting->barrier->leave(&seat);
}

static void test_barrier(const struct barrier *barrier, enum team_kind kind) {
    int ranks = barrier->most_ranks < TEST_RANKS ? barrier->most_ranks : TEST_RANKS;
    const struct team team = {kind, ranks, 2, 60};
    struct meeting *meeting = team_memory(sizeof *meeting);
    void *shared = team_memory(barrier->bytes(ranks));
    if (!meeting || !shared) exit(EXIT_FAILURE);
    *meeting = (struct meeting){.barrier = barrier, .shared = shared, .ranks = ranks};
    if (barrier->prepare) barrier->prepare(shared, &team);
    const char *problem = team_run(&team, meet_often, meeting);
    if (problem) printf("%s, %s: %s\n", barrier->name, team_kind_names[kind], problem);
    check("problems of a barrier", problem != NULL, 0);
    check("ranks that were passed while they had not come", meeting->wrong, 0);
    check("rounds of a barrier", meeting->rounds[ranks - 1], TEST_ROUNDS);
    team_release(shared, barrier->bytes(ranks));
    team_release(meeting, sizeof *meeting);
}

/* ---- a rank that fails, and one that never ends ---- */

static void fail_in_rank_1(void *context, int rank) {
    (void)context;
    if (rank == 1) team_fail("rank %d fails", rank);
    for (;;) gate_pass(context, TEST_RANKS);
}

static void test_team(enum team_kind kind) {
    void *gate = team_memory(sizeof(struct gate));
    if (!gate) exit(EXIT_FAILURE);
    const char *problem = team_run(&(struct team){kind, 2, 2, 60}, fail_in_rank_1, gate);
    check("a rank's own message", problem && strcmp(problem, "rank 1 fails") == 0, 1);
    problem = team_run(&(struct team){kind, 1, 2, 0.05}, fail_in_rank_1, gate);
    check("the message of a limit that has passed", problem && strstr(problem, "did not end") != NULL, 1);
    team_release(gate, sizeof(struct gate));
}

static void test(void) {
    for (int kind = TEAM_THREADS; kind <= TEAM_PROCESSES; kind++) {
        for (int i = 0; i < BARRIERS; i++) test_barrier(&barriers[i], (enum team_kind)kind);
        test_team((enum team_kind)kind);
    }
}

const struct subject barrier_subject = {"barrier", "barriers between ranks beside a ping-pong of one cache line", run, test};
