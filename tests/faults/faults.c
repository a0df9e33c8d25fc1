/*
 * A thousand faults: processes run through everything that a group can do, and one of them dies, stops or delays at some point.
 * For every point the others end: successfully if the victim had done its part, else with the status of a lost or late rank and
 * its number.  A stopped rank gets its error when it continues.  No process leaves anything behind.
 *
 * The first faults are deaths at the beginning of each step, in which the others then fail; the others are drawn.
 *
 *   faults ranks [FIRST END]      all of them, or those of this range, as a failure names them
 *   faults hosts [FIRST END]      the ranks are of two or three hosts, of which one may die or stop as a whole, or vanish
 *   faults shrinks                shrinks.c
 *   faults meeting_place          meeting_place.c
 *   faults scribbles [FIRST END]  scribbles.c
 */
#include "faults/crossing.h"

#include <sys/stat.h>

#include "faults/life.h"
#include "faults/runs.h"
#include "harness/random.h"

enum { FAULTS = 1000, MAX_RANKS = LIFE_RANKS };

static const double LIMIT = 400;   /* seconds until a run counts as a hang */

/* ---- the scenario of the ranks ---- */

static const enum step path[] = {CREATE, BARRIER, SOME_BARRIER, SPLIT, PART_BARRIER, ALLOCATE_MORE, USE, USED_BARRIER, ALLOCATE,
                                 EXCHANGE, CREATE_PLAN, RUN_PLAN, FREE, LAST_BARRIER};

enum { PATH = sizeof path / sizeof *path };

struct plan {
    int number;               /* seed of the fault, which determines everything else */
    int ranks, victim;
    int hosts;                /* 0: one */
    bool whole;               /* the fault is of all ranks of the victim's host; only at a time */
    enum crossing_deed deed;
    int step;                 /* of the path, as which begins the victim dies; -1: not so, but ... */
    long crossing;            /* ... at this crossing; 0: at a time instead, ... */
    double moment;            /* ... seconds after the start, by a signal */
    double timeout;           /* the group's */
};

static int host_of(const struct plan *plan, int rank) { return plan->hosts ? rank * plan->hosts / plan->ranks : 0; }

static bool is_victim(const struct plan *plan, int rank) {
    return rank == plan->victim || (plan->whole && host_of(plan, rank) == host_of(plan, plan->victim));
}

/* The state of the ranks that the test observes. */
struct shared {
    long crossings[MAX_RANKS];
    int step[MAX_RANKS];
    struct crossing_place place;   /* of the fault */
};

static enum step step_of(const struct shared *shared, int rank) {
    return shared->step[rank] < PATH ? path[shared->step[rank]] : DESTROY;
}

static quern_status live(struct rank *rank) {
    static const struct course course = {.steps = BIT(ALLOCATE), .row_bytes = 64, .keeps_order = true};
    const struct plan *plan = rank->user;
    struct shared *shared = rank->shared;
    struct life life;
    quern_status status = QUERN_OK;
    life_open(&life, rank, &course, plan->timeout);
    const int descriptors = rank_descriptors(), mappings = count_mappings("quern");
    if (rank->rank == plan->victim) {
        crossing_tell(&shared->place);
        crossing_arm(plan->deed, plan->crossing);
    }
    int *step = &shared->step[rank->rank];
    for (*step = 0; *step < PATH; ++*step) {
        if (rank->rank == plan->victim && *step == plan->step) raise(SIGKILL);
        status = life_steps[path[*step]].take(&life);
        if (status == QUERN_OK) continue;
        life_check_poison(&life, path[*step], status);
        break;
    }
    life_check_buffers(&life, status == QUERN_OK, false);
    rank_ok(rank, life_steps[DESTROY].take(&life));
    shared->crossings[rank->rank] = crossing_count();
    rank_check(rank, rank_descriptors() == descriptors, "%d descriptors became %d", descriptors, rank_descriptors());
    rank_check(rank, count_mappings("quern") == mappings, "%d mappings became %d", mappings, count_mappings("quern"));
    life_close(&life);
    return status;
}

/* ---- the expected ends ---- */

/* The point of a fault: a side of a call, or a time. */
static const char *describe(const struct plan *plan, const struct shared *shared, const char *what) {
    static char text[400];
    const char *name = life_steps[step_of(shared, plan->victim)].name;
    if (plan->step >= 0 || !plan->crossing) snprintf(text, sizeof text, "in its %s: %s", name, what);
    else if (!shared->place.function) snprintf(text, sizeof text, "which it did not come to: %s", what);
    else snprintf(text, sizeof text, "in its %s, %s: %s", name, crossing_name(&shared->place), what);
    return text;
}

/* Whether the detail names a rank for which this is true: the victim, or one that has given up because of it. */
static bool names_a_culprit(const char *detail, const struct plan *plan, const struct rank_run *run) {
    char name[32];
    const char *reason = strstr(detail, ": ");
    if (!reason) reason = detail;
    for (int rank = 0; rank < plan->ranks; rank++) {  /* of several hosts, its host is known by any of its ranks */
        snprintf(name, sizeof name, "rank %d", rank);
        if ((rank == plan->victim || (plan->hosts && host_of(plan, rank) == host_of(plan, plan->victim))) && strstr(reason, name))
            return true;
    }
    /* A rank that waits for the victim is late for another, whose limit may end first: that of a wait between hosts is longer. */
    for (int rank = 0; rank < plan->ranks && plan->hosts && plan->deed == CROSSING_STOP; rank++) {
        snprintf(name, sizeof name, "for rank %d ", rank);
        if (strstr(reason, name) && ranks_result(run, rank)->status != QUERN_OK) return true;
    }
    if (strstr(reason, "by a process that makes no progress") ||
        strstr(reason, "the last rank to say that all have joined")) return true;
    for (int rank = 0; rank < plan->ranks; rank++) {
        snprintf(name, sizeof name, ": rank %d ", rank);
        const bool gave_up = strstr(reason, "has destroyed its group") || strstr(reason, "or has given up");
        if (strstr(reason, name) && gave_up && ranks_result(run, rank)->status != QUERN_OK) return true;
    }
    return false;
}

/* A rank that dies before it has joined a group is not yet known to the others, so it can only be missing. */
static bool is_noticed_in(enum step step) { return step != CREATE && step != SPLIT; }

/* Whether a rank may end like this after a failure of the victim. */
static bool is_fair_end(const struct rank_result *result, const struct plan *plan, const struct rank_run *run) {
    if (result->status == QUERN_OK) return true;
    if (plan->deed == CROSSING_NOTHING || plan->deed == CROSSING_DELAY) return false;
    if (result->status != QUERN_PEER_LOST && result->status != QUERN_PEER_TIMEOUT) return false;
    const bool is_known = is_noticed_in(step_of(ranks_shared(run), plan->victim));
    if (plan->deed != CROSSING_STOP && result->status != QUERN_PEER_LOST && is_known) return false;
    return names_a_culprit(result->detail, plan, run);
}

/* The place of a host of which somebody lives is left without a name.  One that has died as a whole leaves its name to the next. */
static bool has_left_name(const struct plan *plan, const struct rank_run *run) {
    char path[128];
    struct stat file;
    bool left = false;
    for (int rank = 0; rank < plan->ranks; rank++) {
        rank_meeting_place(path, sizeof path - 2, ranks_name(run));
        if (plan->hosts) snprintf(path + strlen(path), 3, "@%c", 'a' + host_of(plan, rank));
        left |= ranks_result(run, rank)->end == RANK_RETURNED && lstat(path, &file) == 0;
    }
    return left;
}

/* A death at the beginning of a step ends another rank in it, if it is a call of several. */
static bool is_noticed(const struct plan *plan, const struct rank_run *run) {
    const struct shared *shared = ranks_shared(run);
    if (plan->step < 0) return true;
    if (ranks_result(run, plan->victim)->end != RANK_RUNS) return false;
    if (path[plan->step] == USE || path[plan->step] == FREE) return true;
    for (int rank = 0; rank < plan->ranks; rank++)
        if (rank != plan->victim && shared->step[rank] == plan->step && ranks_result(run, rank)->status != QUERN_OK) return true;
    return false;
}

static const char *judge(struct trial *trial) {
    const struct plan *plan = trial->ranks.user;
    const struct rank_run *run = trial->run;
    bool may_die[MAX_RANKS] = {false};
    for (int rank = 0; rank < plan->ranks; rank++)
        may_die[rank] = is_victim(plan, rank) && (plan->deed == CROSSING_KILL || plan->deed == CROSSING_VANISH);
    const char *wrong = ranks_wait(trial->run, may_die);
    for (int rank = 0; rank < plan->ranks && !wrong; rank++) {
        const struct rank_result *result = ranks_result(run, rank);
        const bool stopped = is_victim(plan, rank) && plan->deed == CROSSING_STOP;
        const bool fair = stopped ? result->status == QUERN_OK || result->status / 1000 == 4 : is_fair_end(result, plan, run);
        if (result->end == RANK_RETURNED && !fair) wrong = "an end that nobody deserved";
    }
    if (!wrong && !is_noticed(plan, run)) wrong = "no death, or none that a rank has noticed in this step";
    if (!wrong && has_left_name(plan, run)) wrong = "the name is still there";
    return wrong ? describe(plan, ranks_shared(run), wrong) : NULL;
}

/* ---- the runs ---- */

static bool others_have_ended(const struct trial *trial) {
    const struct plan *plan = trial->ranks.user;
    for (int rank = 0; rank < plan->ranks; rank++)
        if (!is_victim(plan, rank) && __atomic_load_n(&ranks_result(trial->run, rank)->end, __ATOMIC_ACQUIRE) == RANK_RUNS)
            return false;
    return true;
}

/* A fault from outside, and the signal that ends a stop. */
static void strike(struct trial *trial) {
    const struct plan *plan = trial->ranks.user;
    const bool is_due = !trial->is_struck && plan->step < 0 && !plan->crossing && rank_now() - trial->began >= plan->moment;
    int signal = 0;
    trial->is_struck |= is_due;
    if (is_due && plan->deed == CROSSING_KILL) signal = SIGKILL;
    if (is_due && plan->deed == CROSSING_STOP) signal = SIGSTOP;
    if (!signal && plan->deed == CROSSING_STOP && others_have_ended(trial)) signal = SIGCONT;
    for (int rank = 0; rank < plan->ranks && signal; rank++)
        if (is_victim(plan, rank)) kill(ranks_process(trial->run, rank), signal);
}

static struct trial make_trial(const struct plan *plan) {
    static const char *const deeds[] = {"does nothing", "dies", "stops", "dawdles", "vanishes"};
    struct trial trial = {.watch = strike, .judge = judge};
    trial.ranks = (struct ranks){.kind = RANK_PROCESSES, .count = plan->ranks, .hosts = plan->hosts, .function = live, .user = plan,
                                 .user_bytes = sizeof *plan, .watches_heartbeat = plan->deed == CROSSING_STOP,
                                 .shared_bytes = sizeof(struct shared), .limit = LIMIT};
    const int bytes = snprintf(trial.name, sizeof trial.name, "fault %d: of %d ranks on %d hosts, rank %d %s%s ", plan->number,
                               plan->ranks, plan->hosts ? plan->hosts : 1, plan->victim, plan->whole ? "with its host " : "",
                               deeds[plan->deed]);
    char *point = trial.name + bytes;
    const size_t left = sizeof trial.name - (size_t)bytes;
    if (plan->step >= 0) snprintf(point, left, "as its %s begins", life_steps[path[plan->step]].name);
    else if (plan->crossing) snprintf(point, left, "at crossing %ld", plan->crossing);
    else snprintf(point, left, "%g s after the start", plan->moment);
    return trial;
}

enum { MAX_HOSTS = 3 };
static long crossings_of[MAX_HOSTS + 1][MAX_RANKS + 1][MAX_RANKS];  /* of each rank, for each shape, without faults */
static bool has_hosts;

/* Hosts of so many ranks: 0, or 2 to 3. */
static int most_hosts(int ranks) { return !has_hosts ? 0 : ranks < MAX_HOSTS ? ranks : MAX_HOSTS; }

static void count_crossings(int hosts, int ranks) {
    for (int victim = 0; victim < ranks; victim++) {
        const struct plan plan = {.ranks = ranks, .hosts = hosts, .victim = victim, .step = -1, .timeout = RANK_LIMIT};
        const struct trial trial = make_trial(&plan);
        struct shared shared;
        trial_run(&trial, &shared, sizeof shared);
        crossings_of[hosts][ranks][victim] = shared.crossings[victim];
    }
}

/* Seconds: a stop lasts until the others have waited so long, and who waits for one that died before it was known waits, too. */
static const double timeouts[] = {
    [CROSSING_KILL] = 30, [CROSSING_STOP] = 4, [CROSSING_DELAY] = RANK_LIMIT, [CROSSING_VANISH] = 30};

/* A member of all steps dies as this step begins. */
static struct plan make_aimed_plan(int step) {
    return (struct plan){.number = step, .ranks = MAX_RANKS, .hosts = most_hosts(MAX_RANKS), .step = step,
                         .deed = CROSSING_KILL, .timeout = timeouts[CROSSING_KILL]};
}

/* Three of four faults are at crossings, visited in order; the rest are at times. */
static struct plan make_plan(int number) {
    static const enum crossing_deed deeds[] = {CROSSING_KILL, CROSSING_STOP, CROSSING_KILL, CROSSING_STOP, CROSSING_DELAY};
    if (number < PATH) return make_aimed_plan(number);
    struct plan plan = {.number = number, .step = -1};
    uint64_t seed = (uint64_t)number;
    plan.ranks = 2 + (int)random_below(1, seed, MAX_RANKS - 1);
    plan.hosts = has_hosts ? 2 + (int)random_below(5, seed, most_hosts(plan.ranks) - 1) : 0;
    plan.victim = (int)random_below(2, seed, plan.ranks);
    plan.deed = deeds[number % 5];
    if (number % 4)
        plan.crossing = 1 + random_below(3, seed, crossings_of[plan.hosts][plan.ranks][plan.victim] + 2);
    else
        plan.moment = (has_hosts ? 0.03 : 0.006) * random_uniform(4, seed);
    plan.whole = has_hosts && !plan.crossing;
    if (has_hosts && plan.crossing && number % 5 == 2) plan.deed = CROSSING_VANISH;
    plan.timeout = timeouts[plan.deed];
    if (has_hosts && number % 5 == 3) plan.timeout = 8;  /* longer than a failure timeout */
    return plan;
}

static void run_faults(const char *word, int count, char **words) {
    long first = count > 1 ? atol(words[0]) : 0, end = count > 1 ? atol(words[1]) : FAULTS;
    has_hosts = strcmp(word, "hosts") == 0;
    runs_narrow(&first, &end);
    for (int ranks = 2; ranks <= MAX_RANKS; ranks++)
        for (int hosts = has_hosts ? 2 : 0; hosts <= most_hosts(ranks); hosts++) count_crossings(hosts, ranks);
    for (long number = first; number < end; number++) {
        const struct plan plan = make_plan((int)number);
        const struct trial trial = make_trial(&plan);
        trial_begin(&trial);
    }
    trials_await();
    const int hosts = has_hosts ? 2 : 0;
    printf("faults %ld to %ld, %ld to %ld crossings of a rank\n", first, end - 1, crossings_of[hosts][2][0],
           crossings_of[hosts][MAX_RANKS][0]);
}

const struct program programs[] = {
    {"ranks", run_faults, false}, {"hosts", run_faults, true}, {"shrinks", run_shrinks, true},
    {"meeting_place", run_meeting_place, true}, {"scribbles", run_scribbles, true}, {NULL, NULL, false},
};
