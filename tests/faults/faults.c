/*
 * A thousand faults: processes run through everything that a group can do, and one of them dies, stops or delays at some point.
 * For every point the others end: successfully if the victim had done its part, else with the status of a lost or late rank and
 * its number.  A stopped rank gets its error when it continues.  No process leaves anything behind.
 *
 * The first faults are deaths at the beginning of each step, in which the others then fail; the others are drawn.
 *
 * With the word hosts the ranks are of two or three hosts, of which one may die or stop as a whole, or vanish without a word.
 *
 *   faults [hosts]              all of them
 *   faults [hosts] FIRST END    those of this range, as a failure names them
 *
 * --part K/N takes a part of them.
 *
 * The last line is `N passed, N failed`.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "harness/random.h"
#include "harness/ranks.h"
#include "faults/crossing.h"
#include "faults/options.h"
#include "faults/private_shm.h"

enum { FAULTS = 1000, MAX_RANKS = 4, AT_ONCE = 12 };

static const double LIMIT = 400;   /* seconds until a run counts as a hang */

/* ---- the scenario of the ranks ---- */

struct plan {
    int number;               /* seed of the fault, which determines everything else */
    int ranks, victim;
    int hosts;                /* 0: one */
    bool whole;               /* the fault is of all ranks of the victim's host; only at a time */
    enum crossing_deed deed;
    int step;                 /* of whose beginning the victim dies; -1: not so, but ... */
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

struct possessions {
    int descriptors, mappings;
};

static struct possessions count_possessions(void) {
    struct possessions possessions = {.descriptors = count_entries("/proc/self/fd")};
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) possessions.mappings += strstr(line, "quern") && !strstr(line, "/tests/");
    if (maps) fclose(maps);
    return possessions;
}

enum { ROWS = 8, ROW_BYTES = 64, GUARD = 256 };  /* of a slice of the all-to-all, the same to everyone */

/* One rank's run through the scenario. */
struct life {
    struct rank *rank;
    quern_group *group, *part;
    quern_ragged_plan *plan;
    char *memory, *workspace;
    char input[MAX_RANKS * ROWS * ROW_BYTES], before[GUARD], output[MAX_RANKS * ROWS * ROW_BYTES], behind[GUARD];
    struct rank_exchange exchange;   /* a slice from every rank to every rank */
    size_t workspace_bytes;
};

static quern_status create(struct life *life) {
    quern_group_args args = rank_group_args(life->rank, ((const struct plan *)life->rank->user)->timeout);
    return quern_group_create(&args, 1, &life->group);
}

static quern_status meet_all(struct life *life) { return quern_barrier(life->group, NULL, NULL); }

static quern_status meet_some(struct life *life) {
    quern_barrier_args args = QUERN_BARRIER_ARGS_INIT;
    args.members = (int[]){0, life->rank->ranks - 1};
    args.member_count = 2;
    bool mine = life->rank->rank == 0 || life->rank->rank == life->rank->ranks - 1;
    return mine ? quern_barrier(life->group, &args, NULL) : QUERN_OK;
}

static quern_status split(struct life *life) {
    return quern_group_split(&life->group, 1, (int[]){0}, (int[]){0}, &life->part);
}

static quern_status meet_part(struct life *life) { return quern_barrier(life->part, NULL, NULL); }

static quern_status allocate(struct life *life) {
    return quern_symmetric_alloc(&life->group, 1, (size_t[]){4096}, (void **)&life->memory);
}

/* Writes to the next rank, if it is of the same host. */
static quern_status use_memory(struct life *life) {
    const struct plan *plan = life->rank->user;
    const int next = (life->rank->rank + 1) % life->rank->ranks;
    void *peer;
    if (host_of(plan, next) != host_of(plan, life->rank->rank)) return QUERN_OK;
    quern_status status = quern_symmetric_peer(life->group, life->memory, next, &peer);
    if (status == QUERN_OK) memset(peer, life->rank->rank, 4096);
    return status;
}

static quern_status allocate_workspace(struct life *life) {
    quern_status status = quern_ragged_all_to_all_workspace(life->group, &life->exchange.args, &life->workspace_bytes);
    if (status != QUERN_OK) return status;
    return quern_symmetric_alloc(&life->group, 1, &life->workspace_bytes, (void **)&life->workspace);
}

static quern_status exchange(struct life *life) {
    return quern_ragged_all_to_all(life->group, &life->exchange.args, life->workspace, life->workspace_bytes, NULL);
}

static quern_status create_plan(struct life *life) {
    void *workspace = life->workspace;
    return quern_ragged_plan_create(&life->group, 1, &life->exchange.args, &workspace, &life->workspace_bytes, &life->plan);
}

static quern_status run_plan(struct life *life) { return quern_ragged_plan_run(life->plan, NULL); }

static quern_status free_memory(struct life *life) {
    quern_status status = quern_ragged_plan_destroy(life->plan);
    life->plan = NULL;
    if (status == QUERN_OK) status = quern_symmetric_free(life->group, life->workspace, NULL);
    if (status == QUERN_OK) status = quern_symmetric_free(life->group, life->memory, NULL);
    return status;
}

static const struct step {
    const char *name;
    quern_status (*take)(struct life *life);
    bool of_part;
} steps[] = {
    {"create", create, false},
    {"first barrier", meet_all, false},
    {"barrier of two", meet_some, false},
    {"split", split, false},
    {"barrier of the part", meet_part, true},
    {"allocation", allocate, false},
    {"use of memory", use_memory, false},
    {"barrier after use", meet_all, false},
    {"allocation of a workspace", allocate_workspace, false},
    {"all-to-all", exchange, false},
    {"creation of a plan", create_plan, false},
    {"run of a plan", run_plan, false},
    {"free", free_memory, false},
    {"last barrier", meet_all, false},
    {"end", NULL, false},
};

enum { LAST_STEP = sizeof steps / sizeof *steps - 1 };

/* Every later call returns the same status. */
static void check_poisoned(struct life *life, const struct step *step, quern_status status) {
    quern_group *group = step->of_part ? life->part : life->group;
    if (!group) return;
    rank_status(life->rank, quern_group_status(group), status);
    rank_status(life->rank, quern_barrier(group, NULL, NULL), status);
}

static quern_status live(struct rank *rank) {
    const struct plan *plan = rank->user;
    struct shared *shared = rank->shared;
    struct life life = {.rank = rank};
    struct possessions before = count_possessions();
    quern_status status = QUERN_OK;
    rank_ok(rank, quern_prepare(rank->device, QUERN_RAGGED_ALL_TO_ALL));
    rank_exchange_args(rank, &life.exchange, life.input, life.output, ROWS, ROW_BYTES);
    memset(life.input, 'a' + rank->rank, sizeof life.input);
    memset(life.before, '#', GUARD);
    memset(life.behind, '#', GUARD);
    if (rank->rank == plan->victim) {
        crossing_tell(&shared->place);
        crossing_arm(plan->deed, plan->crossing);
    }
    int *step = &shared->step[rank->rank];
    for (*step = 0; steps[*step].take && status == QUERN_OK; ++*step) {
        if (rank->rank == plan->victim && *step == plan->step) raise(SIGKILL);
        status = steps[*step].take(&life);
        if (status == QUERN_OK) continue;
        check_poisoned(&life, &steps[*step], status);
        break;
    }
    for (int i = 0; status == QUERN_OK && i < rank->ranks * ROWS * ROW_BYTES; i++)
        rank_check(rank, life.output[i] == 'a' + i / (ROWS * ROW_BYTES), "byte %d is '%c'", i, life.output[i]);
    for (int i = 0; i < GUARD; i++) rank_check(rank, life.before[i] == '#' && life.behind[i] == '#', "written beside the output");
    rank_ok(rank, quern_ragged_plan_destroy(life.plan));
    rank_ok(rank, quern_group_destroy(life.part));
    rank_ok(rank, quern_group_destroy(life.group));
    shared->crossings[rank->rank] = crossing_count();
    struct possessions after = count_possessions();
    rank_check(rank, after.descriptors == before.descriptors, "%d descriptors became %d", before.descriptors, after.descriptors);
    rank_check(rank, after.mappings == before.mappings, "%d mappings became %d", before.mappings, after.mappings);
    return status;
}

/* ---- the expected ends ---- */

static int passed, failed;

static int victims_step(const struct plan *plan, const struct rank_run *run) {
    return ((const struct shared *)ranks_shared(run))->step[plan->victim];
}

/* The point of a fault: a side of a call, or a time. */
static const char *name_point(const struct plan *plan, const struct crossing_place *place) {
    static char text[128];
    if (plan->step >= 0)
        snprintf(text, sizeof text, "as it begins");
    else if (!plan->crossing)
        snprintf(text, sizeof text, "%g s after the start", plan->moment);
    else if (place->function)
        snprintf(text, sizeof text, "%s call %ld of %s, crossing %ld", place->before ? "before" : "behind", place->call,
                 place->function, plan->crossing);
    else
        snprintf(text, sizeof text, "nowhere: it did not come to crossing %ld", plan->crossing);
    return text;
}

static void report_failure(const struct plan *plan, const struct rank_run *run, const char *what) {
    static const char *const deeds[] = {"does nothing", "dies", "stops", "dawdles", "vanishes"};
    const struct shared *shared = ranks_shared(run);
    printf("fault %d: of %d ranks on %d hosts, rank %d (in its %s) %s%s %s: %s\n", plan->number, plan->ranks,
           plan->hosts ? plan->hosts : 1, plan->victim, steps[victims_step(plan, run)].name, plan->whole ? "with its host " : "",
           deeds[plan->deed], name_point(plan, &shared->place), what);
    for (int rank = 0; rank < plan->ranks; rank++) {
        const struct rank_result *result = ranks_result(run, rank);
        printf("    rank %d: %s after %g s in its %s: %s\n", rank,
               result->end == RANK_RUNS ? "no end" : quern_status_string(result->status), result->seconds,
               steps[shared->step[rank]].name, result->detail);
    }
    fflush(stdout);
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
static bool is_noticed_in(int step) { return steps[step].take != create && steps[step].take != split; }

/* Whether a rank may end like this after a failure of the victim. */
static bool is_fair_end(const struct rank_result *result, const struct plan *plan, const struct rank_run *run) {
    if (result->status == QUERN_OK) return true;
    if (plan->deed == CROSSING_NOTHING || plan->deed == CROSSING_DELAY) return false;
    if (result->status != QUERN_PEER_LOST && result->status != QUERN_PEER_TIMEOUT) return false;
    if (plan->deed != CROSSING_STOP && result->status != QUERN_PEER_LOST && is_noticed_in(victims_step(plan, run))) return false;
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
    if (steps[plan->step].take == use_memory || steps[plan->step].take == free_memory) return true;
    for (int rank = 0; rank < plan->ranks; rank++)
        if (rank != plan->victim && shared->step[rank] == plan->step && ranks_result(run, rank)->status != QUERN_OK) return true;
    return false;
}

static const char *judge(const struct plan *plan, struct rank_run *run) {
    bool may_die[MAX_RANKS] = {false};
    for (int rank = 0; rank < plan->ranks; rank++)
        may_die[rank] = is_victim(plan, rank) && (plan->deed == CROSSING_KILL || plan->deed == CROSSING_VANISH);
    const char *wrong = ranks_wait(run, may_die);
    if (wrong) return wrong;
    for (int rank = 0; rank < plan->ranks; rank++) {
        const struct rank_result *result = ranks_result(run, rank);
        bool stopped = is_victim(plan, rank) && plan->deed == CROSSING_STOP;
        bool fair = stopped ? result->status == QUERN_OK || result->status / 1000 == 4 : is_fair_end(result, plan, run);
        if (result->end == RANK_RETURNED && !fair) return "an end that nobody deserved";
    }
    if (!is_noticed(plan, run)) return "no death, or none that a rank has noticed in this step";
    return has_left_name(plan, run) ? "the name is still there" : NULL;
}

/* ---- running many at once ---- */

static struct running {
    struct plan plan;
    struct rank_run *run;   /* NULL: none */
    double began;
    bool struck, continued;
} running[AT_ONCE];

static bool others_have_ended(const struct running *one) {
    for (int rank = 0; rank < one->plan.ranks; rank++)
        if (!is_victim(&one->plan, rank) && __atomic_load_n(&ranks_result(one->run, rank)->end, __ATOMIC_ACQUIRE) == RANK_RUNS)
            return false;
    return true;
}

/* A fault from outside, and the signal that ends a stop. */
static void send_signal(const struct running *one, int signal) {
    for (int rank = 0; rank < one->plan.ranks; rank++)
        if (is_victim(&one->plan, rank)) kill(ranks_process(one->run, rank), signal);
}

static void strike(struct running *one) {
    double now = rank_now() - one->began;
    if (!one->struck && one->plan.step < 0 && !one->plan.crossing && now >= one->plan.moment) {
        if (one->plan.deed == CROSSING_KILL) send_signal(one, SIGKILL);
        if (one->plan.deed == CROSSING_STOP) send_signal(one, SIGSTOP);
        one->struck = true;
    }
    if (one->plan.deed == CROSSING_STOP && others_have_ended(one)) send_signal(one, SIGCONT);
}

static void start(struct running *one, const struct plan *plan) {
    one->plan = *plan;
    one->began = rank_now();
    one->struck = false;
    one->run = ranks_start(&(struct ranks){.kind = RANK_PROCESSES, .count = plan->ranks,
                                           .hosts = plan->hosts, .function = live, .user = &one->plan,
                                           .watches_heartbeat = plan->deed == CROSSING_STOP,
                                           .shared_bytes = sizeof(struct shared), .limit = LIMIT});
}

/* True once the run has ended or reached its limit. */
static bool advance(struct running *one) {
    strike(one);
    if (!ranks_have_ended(one->run) && rank_now() - one->began < LIMIT) return false;
    const char *wrong = judge(&one->plan, one->run);
    if (wrong) report_failure(&one->plan, one->run, wrong);
    failed += wrong != NULL;
    passed += wrong == NULL;
    ranks_close(one->run);
    one->run = NULL;
    return true;
}

/* ---- the faults ---- */

enum { MAX_HOSTS = 3 };
static long crossings_of[MAX_HOSTS + 1][MAX_RANKS + 1][MAX_RANKS];  /* of each rank, for each shape, without faults */
static bool has_hosts;

/* Hosts of so many ranks: 0, or 2 to 3. */
static int most_hosts(int ranks) { return !has_hosts ? 0 : ranks < MAX_HOSTS ? ranks : MAX_HOSTS; }

static void count_crossings(int hosts, int ranks) {
    struct running one;
    for (int victim = 0; victim < ranks; victim++) {
        start(&one, &(struct plan){.ranks = ranks, .hosts = hosts, .victim = victim, .step = -1, .timeout = RANK_LIMIT});
        const char *wrong = judge(&one.plan, one.run);
        if (wrong) report_failure(&one.plan, one.run, wrong);
        failed += wrong != NULL;
        crossings_of[hosts][ranks][victim] = ((const struct shared *)ranks_shared(one.run))->crossings[victim];
        ranks_close(one.run);
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
    if (number < LAST_STEP) return make_aimed_plan(number);
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

static void run_all(int first, int end) {
    int next = first, busy = 0;
    do {
        for (int i = 0; i < AT_ONCE; i++) {
            if (!running[i].run && next < end) {
                struct plan plan = make_plan(next++);
                start(&running[i], &plan);
                busy++;
            }
            if (running[i].run && advance(&running[i])) busy--;
        }
        rank_sleep(2e-4);
    } while (busy || next < end);
}

int main(int count, char **words) {
    const struct options options = options_take(&count, words);
    has_hosts = count > 1 && strcmp(words[1], "hosts") == 0;
    count -= has_hosts, words += has_hosts;
    long first = count > 2 ? atol(words[1]) : 0, end = count > 2 ? atol(words[2]) : FAULTS;
    options_narrow(&options, &first, &end);
    bool own = private_shm_enter(NULL);
    for (int ranks = 2; ranks <= MAX_RANKS; ranks++)
        for (int hosts = has_hosts ? 2 : 0; hosts <= most_hosts(ranks); hosts++) count_crossings(hosts, ranks);
    const int hosts = has_hosts ? 2 : 0;
    double began = rank_now();
    run_all((int)first, (int)end);
    if (own && !has_hosts && count_entries("/dev/shm") != 2) {
        printf("names are left in /dev/shm\n");
        failed++;
    }
    if (waitpid(-1, NULL, WNOHANG) >= 0) {
        printf("processes are left\n");
        failed++;
    }
    printf("faults %ld to %ld, %ld to %ld crossings of a rank, %.1f s\n", first, end - 1,
           crossings_of[hosts][2][0], crossings_of[hosts][MAX_RANKS][0], rank_now() - began);
    printf("%d passed, %d failed\n", passed, failed);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
