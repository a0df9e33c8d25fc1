/* Stops ranks at points, and keeps their clocks.  points.h documents the functions.  For the programs of tests/faults. */
#include "faults/points.h"

#include "harness/ranks.h"

static const double TICK = 2e-4, DELAY = 3e-3;
static const int64_t JUMP = (int64_t)1e12, SPEED = 6000;  /* a limit of 600 s ends within 0.1 s */

static const char *const names[] = {
#define NAME(name, text) text,
    QUERN_POINTS(NAME)
#undef NAME
};

static const char *const fault_names[POINT_FAULTS] = {"nothing", "delay", "outstay", "kill", "abort", "expire", "hold"};

const char *point_name(enum quern_point point) { return names[point]; }
const char *point_fault_name(enum point_fault fault) { return fault_names[fault]; }

/* The rank that this thread is. */
static _Thread_local struct {
    struct points *points;   /* NULL: none */
    const struct point_plan *plan;
    int rank;
} me;

static int get(const int *value) { return __atomic_load_n(value, __ATOMIC_ACQUIRE); }
static void set(int *value, int to) { __atomic_store_n(value, to, __ATOMIC_RELEASE); }

/* ---- the clock ---- */

int64_t __real_quern_now(void);
int64_t __wrap_quern_now(void) {
    int64_t now = __real_quern_now();
    if (!me.points) return now;
    int64_t since = __atomic_load_n(&me.points->fast_since, __ATOMIC_ACQUIRE);
    int64_t *ahead = &me.points->ahead[me.rank];
    int64_t jump = get(&me.points->jumps[me.rank]) ? JUMP : 0;
    return now + __atomic_add_fetch(ahead, jump, __ATOMIC_ACQ_REL) + (since && now > since ? (now - since) * SPEED : 0);
}

void points_hurry(struct points *points) {
    int64_t none = 0;
    __atomic_compare_exchange_n(&points->fast_since, &none, __real_quern_now(), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

void points_end_limit(struct points *points, int rank) { __atomic_add_fetch(&points->ahead[rank], JUMP, __ATOMIC_ACQ_REL); }

/* ---- the states of the others ---- */

static bool is_held(const struct points *points, int rank) {
    for (int stop = 0; stop < POINT_STOPS; stop++)
        if (get(&points->victim[stop]) == 1 + rank && !get(&points->released[stop])) return true;
    return false;
}

static bool is_over(const struct points *points, int rank) { return get(&points->ended[rank]) || get(&points->dead[rank]); }

static bool others_are_over(void) {
    for (int rank = 0; rank < me.plan->ranks; rank++)
        if (rank != me.rank && !is_over(me.points, rank)) return false;
    return true;
}

static bool others_are_over_or_held(void) {
    for (int rank = 0; rank < me.plan->ranks; rank++)
        if (rank != me.rank && !is_over(me.points, rank) && !is_held(me.points, rank)) return false;
    return true;
}

/* ---- the stops ---- */

static void hold(int stop) {
    while (!get(&me.points->released[stop])) rank_sleep(TICK);
}

static void outstay(int stop) {
    points_hurry(me.points);
    while (!others_are_over()) rank_sleep(TICK);
    set(&me.points->released[stop], 1);
}

static void act(int stop, enum point_fault fault) {
    switch (fault) {
    case POINT_DELAY: rank_sleep(DELAY); break;
    case POINT_OUTSTAY: outstay(stop); break;
    case POINT_KILL: kill(getpid(), SIGKILL); break;
    case POINT_EXPIRE: set(&me.points->jumps[me.rank], 1); break;
    case POINT_ABORT:
    case POINT_HOLD: hold(stop); break;
    default: break;
    }
    set(&me.points->released[stop], 1);
}

static bool fits(const struct point_stop *stop, enum quern_point point, int step, unsigned arrival) {
    return stop->fault != POINT_NOTHING && stop->point == point && (stop->rank < 0 || stop->rank == me.rank) &&
           (stop->step < 0 || stop->step == step) && (!stop->arrival || stop->arrival == arrival);
}

void quern_at_point(enum quern_point point) {
    if (!me.points || get(&me.points->disarmed)) return;
    int error = errno, step = get(&me.points->step[me.rank]);
    unsigned arrival = __atomic_add_fetch(&me.points->reached[step][point], 1, __ATOMIC_ACQ_REL);
    for (int stop = 0; stop < POINT_STOPS; stop++) {
        int none = 0;
        if (fits(&me.plan->stop[stop], point, step, arrival) &&
            __atomic_compare_exchange_n(&me.points->victim[stop], &none, 1 + me.rank, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            act(stop, me.plan->stop[stop].fault);
    }
    errno = error;
}

/* ---- for a rank ---- */

void points_begin(struct points *points, const struct point_plan *plan, int rank) {
    me.points = points;
    me.plan = plan;
    me.rank = rank;
}

void points_enter_step(int step) {
    set(&me.points->jumps[me.rank], 0);
    set(&me.points->step[me.rank], step);
}

static unsigned sleeps_in(int step) {
    return __atomic_load_n(&me.points->reached[step][QUERN_POINT_MEET_SLEEPING], __ATOMIC_ACQUIRE) +
           __atomic_load_n(&me.points->reached[step][QUERN_POINT_FORM_AWAITING], __ATOMIC_ACQUIRE);
}

/* None comes to a point any more. */
static bool is_stopped(void) {
    bool stopped = others_are_over_or_held();
    for (int stop = 0; stop < POINT_STOPS; stop++) stopped |= get(&me.points->victim[stop]) != 0;
    return stopped;
}

void points_wait_for_sleepers(void) {
    int step = get(&me.points->step[me.rank]);
    while (!sleeps_in(step) && !is_stopped()) rank_sleep(TICK);
}

void points_wait_for(enum quern_point point, unsigned times) {
    int step = get(&me.points->step[me.rank]);
    while (__atomic_load_n(&me.points->reached[step][point], __ATOMIC_ACQUIRE) < times && !is_stopped()) rank_sleep(TICK);
}

void points_be_late(void) {
    points_hurry(me.points);
    while (!others_are_over_or_held()) rank_sleep(TICK);
}

void points_end(bool failed) {
    if (failed && me.plan->limits_end) points_hurry(me.points);
    set(&me.points->jumps[me.rank], 0);
    set(&me.points->ended[me.rank], 1);
    while (!others_are_over()) rank_sleep(TICK);
    set(&me.points->disarmed, 1);
    __atomic_store_n(&me.points->fast_since, 0, __ATOMIC_RELEASE);
}

/* ---- aborting ---- */

struct points_aborter {
    pthread_t thread;
    struct points *points;
    const struct point_plan *plan;
    int rank, stopped;
};

/* The rank after the victim aborts. */
static void *abort_for_the_victim(void *user) {
    struct points_aborter *aborter = user;
    struct points *points = aborter->points;
    while (!get(&aborter->stopped)) {
        int victim = get(&points->victim[0]) - 1;
        quern_group *group = __atomic_load_n(&points->offered[aborter->rank], __ATOMIC_ACQUIRE);
        if (victim >= 0 && (victim + 1) % aborter->plan->ranks == aborter->rank && group) {
            quern_group_abort(group, NULL);
            points_release(points, 0);
            break;
        }
        rank_sleep(TICK);
    }
    return NULL;
}

struct points_aborter *points_start_aborter(void) {
    if (me.plan->stop[0].fault != POINT_ABORT) return NULL;
    struct points_aborter *aborter = malloc(sizeof *aborter);
    *aborter = (struct points_aborter){.points = me.points, .plan = me.plan, .rank = me.rank};
    if (pthread_create(&aborter->thread, NULL, abort_for_the_victim, aborter)) _exit(EXIT_FAILURE);
    return aborter;
}

void points_stop_aborter(struct points_aborter *aborter) {
    if (!aborter) return;
    set(&aborter->stopped, 1);
    pthread_join(aborter->thread, NULL);
    free(aborter);
}

void points_offer(quern_group *group) { __atomic_store_n(&me.points->offered[me.rank], group, __ATOMIC_RELEASE); }

/* ---- for the test ---- */

void points_release(struct points *points, int stop) { set(&points->released[stop], 1); }

void points_bury(struct points *points, const struct point_plan *plan, int rank) {
    set(&points->dead[rank], 1);
    if (plan->limits_end) points_hurry(points);
}
