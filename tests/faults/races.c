/*
 * Races between ranks, each in the one order that a library without care gets wrong.  Ranks are held at points of
 * src/ranks/points.h while the test lets another rank act, ends a limit, or both, as a table has it; then the held rank goes on.
 */
#include <sys/stat.h>

#include "faults/visits.h"

enum { MOST_RANKS = 3, WINDOW_ROWS = 8, ROW_BYTES = 65536, MOST_ORDERS = 10 };

/* What the ranks and the test share. */
struct shared {
    struct points points;
    int returned[MOST_RANKS], may_go[MOST_RANKS];
    quern_status status[MOST_RANKS];
    char detail[MOST_RANKS][RANK_TEXT_BYTES];
};

/* What the test does or waits for, one after the other. */
struct order {
    enum { NO_MORE, COMES, COMES_AGAIN, STOPS, EXPIRES, EXPIRES_AGAIN, GOES, IS_RELEASED, GETS } deed;
    int of;                     /* a rank, a stop or a step */
    enum quern_point point;
    unsigned times;
    quern_status status;
    const char *words;
};

#define COMES(step, point, times) {COMES, step, QUERN_POINT_##point, times, 0, NULL}        /* ranks to a point in a step */
#define COMES_AGAIN(step, point, times) {COMES_AGAIN, step, QUERN_POINT_##point, times, 0, NULL}  /* so often more than now */
#define ORDER(deed, of) {deed, of, 0, 0, 0, NULL}
#define STOPS(stop) ORDER(STOPS, stop)              /* a rank, at the stop */
#define EXPIRES(rank) ORDER(EXPIRES, rank)          /* its limit, if it waits now */
#define EXPIRES_AGAIN(rank) ORDER(EXPIRES_AGAIN, rank)  /* until its call has returned: it may still have to come to its wait */
#define GOES(rank) ORDER(GOES, rank)                /* a rank that waits for the test */
#define IS_RELEASED(stop) ORDER(IS_RELEASED, stop)  /* the rank at the stop */
#define GETS(rank, status, words) {GETS, rank, 0, 0, QUERN_##status, words}  /* its call has returned this */

struct race {
    const char *name;
    rank_function *function;
    const struct order *orders;
    struct point_plan plan;
    int kinds;                  /* bits of enum rank_kind */
    const void *user;
};

static const struct race *race_of(const struct rank *rank) { return rank->user; }

/* ---- inside a rank ---- */

static struct shared *begin(struct rank *rank) {
    struct shared *shared = rank->shared;
    points_begin(&shared->points, &race_of(rank)->plan, rank->rank);
    return shared;
}

/* Tells the test how a call has ended. */
static void tell(struct rank *rank, quern_status status) {
    struct shared *shared = rank->shared;
    shared->status[rank->rank] = status;
    if (status != QUERN_OK) quern_error_detail(shared->detail[rank->rank], RANK_TEXT_BYTES);
    __atomic_store_n(&shared->returned[rank->rank], 1, __ATOMIC_RELEASE);
}

/* Waits until the test lets this rank go. */
static void wait_for_test(struct rank *rank) {
    struct shared *shared = rank->shared;
    while (!__atomic_load_n(&shared->may_go[rank->rank], __ATOMIC_ACQUIRE)) rank_sleep(2e-4);
}

static quern_status create(struct rank *rank, int ranks, quern_group **group) {
    quern_group_args args = rank_group_args(rank, POINT_LIMIT);
    args.ranks = ranks;
    return quern_group_create(&args, 1, group);
}

struct copying {
    bool by_plan;
    int untouched_from;         /* the first row of the slices that the held rank must not write after it goes on */
};

/*
 * Rank 1 is held when it is about to copy, rank 0 fails.  Then rank 0's output belongs to its caller, and rank 1 must write nothing
 * more: not there, and not into its own.
 */
static quern_status fail_while_copying(struct rank *rank) {
    static const struct course course = {.steps = BIT(ALLOCATE), .row_bytes = ROW_BYTES};
    enum { REUSED = 0xbb };
    const struct copying *copying = race_of(rank)->user;
    const size_t from = (size_t)copying->untouched_from * ROW_BYTES, slice = LIFE_ROWS * (size_t)ROW_BYTES;
    const int sender = copying->untouched_from ? 0 : 1;  /* the held rank copies its own slice in the first round */
    struct life life;
    begin(rank);
    life_open(&life, rank, &course, POINT_LIMIT);
    for (enum step step = CREATE; step <= CREATE_PLAN; step++)
        if (step == CREATE || step == ALLOCATE || (step == CREATE_PLAN && copying->by_plan))
            rank_ok(rank, life_steps[step].take(&life));
    points_enter_step(1);
    const quern_status status = life_steps[copying->by_plan ? RUN_PLAN : EXCHANGE].take(&life);
    if (rank->rank == 0) memset(life.output, REUSED, life_bytes(&life));
    tell(rank, status);
    wait_for_test(rank);
    rank_check(rank, rank->rank == 1 || life_is_filled(life.output, life_bytes(&life), REUSED),
               "rank 1 has written the output of a call that failed");
    rank_check(rank, rank->rank == 0 || life_is_filled(life.output + (size_t)sender * slice + from, slice - from, LIFE_UNTOUCHED),
               "rank 1 has copied although the group was poisoned");
    rank_ok(rank, life_steps[DESTROY].take(&life));
    life_close(&life);
    return QUERN_OK;
}

/* Rank 1 enters the barrier when the test says so, and may leave the group behind it. */
static quern_status meet_late(struct rank *rank) {
    const bool *leaves = race_of(rank)->user;
    quern_group *group;
    begin(rank);
    rank_ok(rank, create(rank, rank->ranks, &group));
    points_enter_step(1);
    if (rank->rank == 1) wait_for_test(rank);
    quern_status status = quern_barrier(group, NULL, NULL);
    points_enter_step(2);
    if (!*leaves && status == QUERN_OK) status = quern_group_status(group);
    if (*leaves) rank_ok(rank, quern_group_destroy(group));
    tell(rank, status);
    if (*leaves) return QUERN_OK;
    rank_line_up(rank);
    rank_status(rank, quern_barrier(group, NULL, NULL), QUERN_OK);
    return quern_group_destroy(group);
}

/* Rank 1 completes the barrier in which rank 0 is held, and then aborts the group: rank 0 was met, so its barrier is complete. */
static quern_status abort_behind(struct rank *rank) {
    quern_group *group;
    begin(rank);
    rank_ok(rank, create(rank, rank->ranks, &group));
    points_enter_step(1);
    if (rank->rank == 1) wait_for_test(rank);
    const quern_status status = quern_barrier(group, NULL, NULL);
    if (rank->rank == 1) rank_ok(rank, quern_group_abort(group, "behind the barrier"));
    tell(rank, status);
    rank_status(rank, quern_barrier(group, NULL, NULL), QUERN_GROUP_ABORTED);
    return quern_group_destroy(group);
}

static bool name_is_there(const struct rank *rank) {
    char path[128];
    struct stat file;
    rank_meeting_place(path, sizeof path, rank->name);
    return lstat(path, &file) == 0;
}

/* How a group ends, or what rank 0 does when its first one was refused. */
enum joining { FORMS, FAILS, AGAIN, LATER };

/*
 * Rank 0 forms a group of two, once or again, at once or when the test says so; the others come when it says so, and rank 2 for a
 * group of three.  Whoever has the group finds the name free and can use the group.
 */
static quern_status join(struct rank *rank) {
    const enum joining joining = *(const enum joining *)race_of(rank)->user;
    quern_group *group = NULL;
    begin(rank);
    points_enter_step(1);
    if (rank->rank) wait_for_test(rank);
    else if (joining >= AGAIN) {
        rank_status(rank, create(rank, 2, &group), QUERN_PEER_TIMEOUT);
        if (joining == LATER) tell(rank, QUERN_PEER_TIMEOUT), wait_for_test(rank);
        else points_enter_step(2);
    }
    const quern_status status = create(rank, rank->rank == 2 ? 3 : 2, &group);
    rank_check(rank, !group == (joining == FAILS), "%s", quern_status_string(status));
    rank_check(rank, !group || !name_is_there(rank), "create has returned, and the name is there");
    tell(rank, status);
    if (group) rank_ok(rank, quern_barrier(group, NULL, NULL));
    return quern_group_destroy(group);
}

/* ---- the orders ---- */

#define AWAITS COMES(1, FORM_AWAITING, 1)  /* rank 0 waits for the others of a group */
#define RETURN_OK GETS(1, OK, ""), IS_RELEASED(0), GETS(0, OK, "")
#define POISONED "the group is being formed with 2 ranks, and rank 2 expects"

static const struct order
    copies[MOST_ORDERS] = {STOPS(0), EXPIRES_AGAIN(0), GETS(0, PEER_TIMEOUT, "rank 1"), IS_RELEASED(0),
                           GETS(1, PEER_TIMEOUT, "rank 0 waited")},
    /* Rank 0 is held while rank 1 comes and returns; then rank 0 must return the same; and so if its limit has ended there. */
    meets_late[MOST_ORDERS] = {STOPS(0), GOES(1), RETURN_OK},
    meets_expired[MOST_ORDERS] = {COMES(1, MEET_SLEEPING, 1), EXPIRES(0), STOPS(0), GOES(1), RETURN_OK},
    /* Rank 0 is about to refuse the group; rank 1 completes it. */
    is_completed[MOST_ORDERS] = {AWAITS, EXPIRES(0), STOPS(0), GOES(1), RETURN_OK},
    /* Rank 1 has its place and is about to count it; rank 0 refuses the group. */
    is_refused[MOST_ORDERS] = {AWAITS, GOES(1), STOPS(0), EXPIRES(0), GETS(0, PEER_TIMEOUT, "waited"), IS_RELEASED(0),
                               GETS(1, PEER_TIMEOUT, "waited")},
    /* The last rank is held before it removes the name; the other one looks thrice in vain, and must not have the group yet. */
    has_a_name[MOST_ORDERS] = {AWAITS, GOES(1), STOPS(0), COMES_AGAIN(1, FORM_AWAITING, 3), IS_RELEASED(0), GETS(0, OK, ""),
                               GETS(1, OK, "")},
    is_poisoned[MOST_ORDERS] = {AWAITS, GOES(1), STOPS(0), GOES(2), GETS(2, PEER_MISMATCH, POISONED),
                                GETS(0, PEER_MISMATCH, POISONED), IS_RELEASED(0), GETS(1, PEER_MISMATCH, POISONED)},
    /* Rank 0 has made the file, and has no place in it yet. */
    is_poisoned_early[MOST_ORDERS] = {STOPS(0), GOES(2), GETS(2, PEER_MISMATCH, POISONED), IS_RELEASED(0),
                                      GETS(0, PEER_MISMATCH, POISONED)},
    /* Rank 1 has opened the file of a group that is then refused: it meets rank 0 in the next one. */
    is_another[MOST_ORDERS] = {AWAITS, GOES(1), STOPS(0), EXPIRES(0), COMES(2, FORM_AWAITING, 1), IS_RELEASED(0), GETS(1, OK, ""),
                               GETS(0, OK, "")},
    /* Rank 1 has found a name, which goes before it opens the file: it makes a group of its own. */
    vanishes[MOST_ORDERS] = {AWAITS, GOES(1), STOPS(0), EXPIRES(0), GETS(0, PEER_TIMEOUT, "waited"), IS_RELEASED(0),
                             COMES(1, FORM_MADE, 2)},
    /* Rank 0 is held when it has poisoned the refused group, and has not removed the name yet.  Rank 1 looks at that group, and
     * must not join it. */
    is_named[MOST_ORDERS] = {AWAITS, GOES(1), STOPS(0), EXPIRES(0), STOPS(1), IS_RELEASED(0), COMES(1, FORM_OPENED, 2),
                             IS_RELEASED(1), GETS(1, OK, ""), GETS(0, OK, "")};

#define HELD(ranks_, rank_, point_) {.ranks = ranks_, .stop = {{POINT_HOLD, QUERN_POINT_##point_, rank_, 1, 0}}}

enum { THREADS = 1 << RANK_THREADS, PROCESSES = 1 << RANK_PROCESSES, BOTH = THREADS | PROCESSES };

static const bool stays = false, leaves = true;
static const enum joining forms = FORMS, fails = FAILS, again = AGAIN, later = LATER;
static const struct copying call = {false, 0}, by_plan = {true, 0}, second_window = {false, WINDOW_ROWS};

static const struct race races[] = {
    {"poisoned before the copy", fail_while_copying, copies, HELD(2, 1, RAGGED_VOTED), BOTH, &call},
    {"poisoned before the copy of a plan", fail_while_copying, copies, HELD(2, 1, RAGGED_VOTED), BOTH, &by_plan},
    {"poisoned before the second window", fail_while_copying, copies, HELD(2, 1, RAGGED_WINDOW), PROCESSES, &second_window},
    {"the last comes as the limit ends", meet_late, meets_expired, HELD(2, 0, MEET_EXPIRING), BOTH, &stays},
    {"the last comes, meets and leaves before the look", meet_late, meets_expired, HELD(2, 0, MEET_CHECKING), BOTH,
     &leaves},
    {"the last comes before the sleep", meet_late, meets_late, HELD(2, 0, MEET_SLEEPING), BOTH, &stays},
    {"aborted behind the meeting", abort_behind, meets_late, HELD(2, 0, MEET_LOOKING), BOTH, NULL},
    {"completed before the list", join, is_completed, HELD(2, 0, FORM_EXPIRING), BOTH, &forms},
    {"completed before it is refused", join, is_completed, HELD(2, 0, FORM_REFUSING), BOTH, &forms},
    {"refused before the last is counted", join, is_refused, HELD(2, 1, FORM_SEATED), BOTH, &fails},
    {"refused before it is declared ready", join, is_refused, HELD(2, 1, FORM_NAME_REMOVED), BOTH, &fails},
    {"the name before the group", join, has_a_name, HELD(2, 1, FORM_NAME_COMPARED), BOTH, &forms},
    {"poisoned before its maker has a place", join, is_poisoned_early, HELD(3, 0, FORM_FILLED), BOTH, &fails},
    {"poisoned before it is joined", join, is_poisoned, HELD(3, 1, FORM_LOOKED), BOTH, &fails},
    {"poisoned before the place is complete", join, is_poisoned, HELD(3, 1, FORM_CLAIMED), BOTH, &fails},
    {"the name goes before the file is opened", join, vanishes, HELD(2, 1, FORM_FOUND), BOTH, &later},
    {"refused before it is looked at", join, is_another, HELD(2, 1, FORM_OPENED), BOTH, &again},
    {"refused, and its name still there", join, is_named,
     {.ranks = 2, .stop = {{POINT_HOLD, QUERN_POINT_FORM_OPENED, 1, 1, 0}, {POINT_HOLD, QUERN_POINT_POISON_SET, 0, 1, 0}}}, BOTH,
     &again},
};

/* ---- for the test ---- */

static void let_go(struct shared *shared, int rank) { __atomic_store_n(&shared->may_go[rank], 1, __ATOMIC_RELEASE); }

/* Whether the order is carried out, or what it waits for has come. */
static bool is_done(struct shared *shared, const struct order *order, unsigned times) {
    struct points *points = &shared->points;
    const bool waits = order->deed == COMES || order->deed == COMES_AGAIN;
    if (order->deed == EXPIRES || order->deed == EXPIRES_AGAIN) points_end_limit(points, order->of);
    if (order->deed == EXPIRES_AGAIN) rank_sleep(0.02);
    if (order->deed == GOES) let_go(shared, order->of);
    if (order->deed == IS_RELEASED) points_release(points, order->of);
    if (waits) return __atomic_load_n(&points->reached[order->of][order->point], __ATOMIC_ACQUIRE) >= times;
    if (order->deed == STOPS) return __atomic_load_n(&points->victim[order->of], __ATOMIC_ACQUIRE);
    return (order->deed != GETS && order->deed != EXPIRES_AGAIN) || __atomic_load_n(&shared->returned[order->of], __ATOMIC_ACQUIRE);
}

/* NULL: what was waited for has come within the limit of groups, and calls have returned what they must. */
static const char *carry_out(struct shared *shared, const struct order *orders) {
    static char wrong[RANK_TEXT_BYTES + 256];
    for (const struct order *order = orders; order < orders + MOST_ORDERS && order->deed; order++) {
        const unsigned now = __atomic_load_n(&shared->points.reached[order->of][order->point], __ATOMIC_ACQUIRE);
        const unsigned times = order->times + (order->deed == COMES_AGAIN ? now : 0);
        const double end = rank_now() + POINT_LIMIT;
        while (!is_done(shared, order, times) && rank_now() < end) rank_sleep(2e-4);
        snprintf(wrong, sizeof wrong, "order %d, of %d, is not carried out", (int)(order - orders), order->of);
        if (rank_now() >= end) return wrong;
        if (order->deed != GETS) continue;
        const quern_status status = shared->status[order->of];
        const char *detail = shared->detail[order->of];
        snprintf(wrong, sizeof wrong, "rank %d has %s (%s): expected %s with \"%s\"", order->of, quern_status_string(status),
                 detail, quern_status_string(order->status), order->words);
        if (status != order->status || !strstr(detail, order->words)) return wrong;
    }
    return NULL;
}

static void run_race(const struct race *race, enum rank_kind kind) {
    struct rank_run *run = ranks_start(&(struct ranks){.kind = kind, .count = race->plan.ranks, .function = race->function,
                                                       .user = race, .shared_bytes = sizeof(struct shared), .limit = POINT_LIMIT});
    struct shared *shared = ranks_shared(run);
    char name[128];
    const char *wrong = carry_out(shared, race->orders);
    snprintf(name, sizeof name, "%s, %s", race->name, rank_kind_name(kind));
    for (int rank = 0; rank < race->plan.ranks; rank++) let_go(shared, rank);
    for (int stop = 0; stop < POINT_STOPS; stop++) points_release(&shared->points, stop);
    points_hurry(&shared->points);
    const char *failed = ranks_wait(run, NULL);
    for (int rank = 0; !failed && rank < race->plan.ranks; rank++)
        if (ranks_result(run, rank)->status != QUERN_OK) failed = ranks_result(run, rank)->detail;
    runs_count(name, wrong ? wrong : failed);
    ranks_close(run);
}

void run_races(UNUSED const char *word, int count, char **words) {
    for (const struct race *race = races; race < races + sizeof races / sizeof *races; race++)
        for (enum rank_kind kind = RANK_THREADS; kind <= RANK_PROCESSES; kind++)
            if (race->kinds >> kind & 1 && (!count || strstr(race->name, words[0]))) run_race(race, kind);
}
