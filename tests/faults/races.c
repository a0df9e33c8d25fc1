/*
 * Races between ranks, each in the one order that a library without care gets wrong.  Ranks are held at points of
 * src/ranks/points.h while the test lets another rank act, ends a limit, or both; then the held rank goes on.
 *
 *   races           all
 *   races TEXT      those whose names contain the text
 *
 * The last line is `N passed, N failed`.
 */
#define _GNU_SOURCE
#include "faults/points.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "faults/private_shm.h"
#include "harness/ranks.h"

enum { MOST_RANKS = 3, SLICE_ROWS = 10, WINDOW_ROWS = 8, ROW_BYTES = 65536 };

/* What the ranks and the test share. */
struct shared {
    struct points points;
    int returned[MOST_RANKS], may_go[MOST_RANKS];
    quern_status status[MOST_RANKS];
    char detail[MOST_RANKS][RANK_TEXT_BYTES];
};

struct race {
    const char *name;
    rank_function *function;
    const char *(*direct)(struct shared *shared);
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

/* ---- for the test ---- */

static char wrong_text[RANK_TEXT_BYTES + 256];

static const char *await_return(const struct shared *shared, int rank) {
    for (double end = rank_now() + POINT_LIMIT; rank_now() < end; rank_sleep(2e-4))
        if (__atomic_load_n(&shared->returned[rank], __ATOMIC_ACQUIRE)) return NULL;
    snprintf(wrong_text, sizeof wrong_text, "rank %d has not returned", rank);
    return wrong_text;
}

static void let_go(struct shared *shared, int rank) { __atomic_store_n(&shared->may_go[rank], 1, __ATOMIC_RELEASE); }

/* Waits until ranks have come so often to a point in a step; false: not within the limit of groups. */
static bool await_reached(const struct shared *shared, int step, enum quern_point point, unsigned times) {
    for (double end = rank_now() + POINT_LIMIT; rank_now() < end; rank_sleep(2e-4))
        if (__atomic_load_n(&shared->points.reached[step][point], __ATOMIC_ACQUIRE) >= times) return true;
    return false;
}

/* Waits for a rank's call, which must have this status and a detail with this text. */
static const char *expect(const struct shared *shared, int rank, quern_status status, const char *text) {
    const char *wrong = await_return(shared, rank);
    if (wrong) return wrong;
    const char *detail = status == QUERN_OK ? "" : shared->detail[rank];
    if (shared->status[rank] == status && strstr(detail, text)) return NULL;
    snprintf(wrong_text, sizeof wrong_text, "rank %d has %s (%s): expected %s with \"%s\"", rank,
             quern_status_string(shared->status[rank]), shared->detail[rank], quern_status_string(status), text);
    return wrong_text;
}

/* ---- an exchange that is poisoned when a rank is about to copy ---- */

enum { UNTOUCHED = 0xee, REUSED = 0xbb };

struct exchange {
    quern_group *group;
    unsigned char *input, *output;
    size_t bytes;
    struct rank_exchange of_rows;
};

static void prepare_exchange(struct rank *rank, struct exchange *exchange) {
    rank_ok(rank, create(rank, rank->ranks, &exchange->group));
    exchange->bytes = (size_t)rank->ranks * SLICE_ROWS * ROW_BYTES;
    exchange->input = malloc(exchange->bytes);
    exchange->output = malloc(exchange->bytes);
    rank_check(rank, exchange->input && exchange->output, "no memory for buffers");
    memset(exchange->input, 1 + rank->rank, exchange->bytes);
    memset(exchange->output, UNTOUCHED, exchange->bytes);
    rank_ok(rank, rank_exchange_open(rank, exchange->group, &exchange->of_rows, exchange->input, exchange->output, SLICE_ROWS,
                                     ROW_BYTES));
}

static quern_status run_exchange(struct rank *rank, struct exchange *exchange, bool by_plan) {
    struct rank_exchange *of_rows = &exchange->of_rows;
    quern_ragged_plan *plan;
    prepare_exchange(rank, exchange);
    if (!by_plan) {
        points_enter_step(1);
        return rank_exchange_run(exchange->group, of_rows);
    }
    rank_ok(rank, quern_ragged_plan_create(&exchange->group, 1, &of_rows->args, &of_rows->workspace, &of_rows->bytes, &plan));
    points_enter_step(1);
    quern_status status = quern_ragged_plan_run(plan, NULL);
    tell(rank, status);
    rank_ok(rank, quern_ragged_plan_destroy(plan));
    return status;
}

static bool has_value(const unsigned char *bytes, size_t count, unsigned char value) {
    return bytes[0] == value && memcmp(bytes, bytes + 1, count - 1) == 0;
}

struct copying {
    bool by_plan;
    int untouched_from;         /* the first row of the slices that the held rank must not write after it goes on */
};

/*
 * Rank 1 is held, rank 0 fails.  Then rank 0's output belongs to its caller, and rank 1 must write nothing more: not there, and not
 * into its own.
 */
static quern_status fail_while_copying(struct rank *rank) {
    const struct copying *copying = race_of(rank)->user;
    struct exchange exchange;
    begin(rank);
    quern_status status = run_exchange(rank, &exchange, copying->by_plan);
    if (rank->rank == 0) memset(exchange.output, REUSED, exchange.bytes);
    tell(rank, status);
    wait_for_test(rank);
    if (rank->rank == 0)
        rank_check(rank, has_value(exchange.output, exchange.bytes, REUSED), "rank 1 has written the output of a call that failed");
    const size_t from = (size_t)copying->untouched_from * ROW_BYTES, rows = (size_t)SLICE_ROWS * ROW_BYTES - from;
    const int sender = copying->untouched_from ? 0 : 1;  /* the held rank copies its own slice in the first round */
    if (rank->rank == 1)
        rank_check(rank, has_value(exchange.output + (size_t)sender * SLICE_ROWS * ROW_BYTES + from, rows, UNTOUCHED),
                   "rank 1 has copied although the group was poisoned");
    rank_ok(rank, quern_group_destroy(exchange.group));
    free(exchange.input);
    free(exchange.output);
    return QUERN_OK;
}

static const char *direct_copying(struct shared *shared) {
    if (!points_await(&shared->points, 0)) return "rank 1 did not come to the copy";
    /* Rank 0 may still have to come to its wait, so its limit ends again and again. */
    for (int round = 0; round < 30000 && !__atomic_load_n(&shared->returned[0], __ATOMIC_ACQUIRE); round++) {
        points_end_limit(&shared->points, 0);
        rank_sleep(0.02);
    }
    const char *wrong = expect(shared, 0, QUERN_PEER_TIMEOUT, "rank 1");
    points_release(&shared->points, 0);
    if (!wrong) wrong = expect(shared, 1, QUERN_PEER_TIMEOUT, "rank 0 waited");
    let_go(shared, 0);
    let_go(shared, 1);
    return wrong;
}

/* ---- a meeting whose last rank comes when the limit of the first has ended ---- */

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

/* Rank 0 is held while rank 1 comes and returns; then rank 0 must return the same. */
static const char *direct_late_meeting(struct shared *shared) {
    if (!points_await(&shared->points, 0)) return "rank 0 did not come to its point";
    let_go(shared, 1);
    const char *wrong = expect(shared, 1, QUERN_OK, "");
    points_release(&shared->points, 0);
    return wrong ? wrong : expect(shared, 0, QUERN_OK, "");
}

/* The same, and rank 0's limit has ended when it comes to the point. */
static const char *direct_expiring_meeting(struct shared *shared) {
    if (!await_reached(shared, 1, QUERN_POINT_MEET_SLEEPING, 1)) return "rank 0 does not sleep";
    points_end_limit(&shared->points, 0);
    return direct_late_meeting(shared);
}

/* ---- a group whose last rank comes when the limit of the first has ended ---- */

static bool name_is_there(const struct rank *rank) {
    char path[128];
    struct stat file;
    rank_meeting_place(path, sizeof path, rank->name);
    return lstat(path, &file) == 0;
}

/* Rank 1 comes when the test says so.  Whoever has the group finds the name free and can use the group. */
static quern_status join_late(struct rank *rank) {
    quern_group *group = NULL;
    struct shared *shared = begin(rank);
    points_enter_step(1);
    if (rank->rank == 1) wait_for_test(rank);
    quern_status status = create(rank, 2, &group);
    if (status == QUERN_OK) rank_check(rank, !name_is_there(rank), "create has returned, and the name is there");
    tell(rank, status);
    while (!__atomic_load_n(&shared->returned[1 - rank->rank], __ATOMIC_ACQUIRE)) rank_sleep(2e-4);
    if (group) rank_ok(rank, quern_barrier(group, NULL, NULL));
    return quern_group_destroy(group);
}

/* Rank 0 is about to refuse the group; rank 1 completes it. */
static const char *direct_completed(struct shared *shared) {
    if (!await_reached(shared, 1, QUERN_POINT_FORM_AWAITING, 1)) return "rank 0 does not wait";
    points_end_limit(&shared->points, 0);
    if (!points_await(&shared->points, 0)) return "rank 0 did not expire";
    let_go(shared, 1);
    const char *wrong = expect(shared, 1, QUERN_OK, "");
    points_release(&shared->points, 0);
    return wrong ? wrong : expect(shared, 0, QUERN_OK, "");
}

/* Rank 1 has its place and is about to count it; rank 0 refuses the group. */
static const char *direct_refused(struct shared *shared) {
    if (!await_reached(shared, 1, QUERN_POINT_FORM_AWAITING, 1)) return "rank 0 does not wait";
    let_go(shared, 1);
    if (!points_await(&shared->points, 0)) return "rank 1 did not come to its point";
    points_end_limit(&shared->points, 0);
    const char *wrong = expect(shared, 0, QUERN_PEER_TIMEOUT, "waited");
    points_release(&shared->points, 0);
    return wrong ? wrong : expect(shared, 1, QUERN_PEER_TIMEOUT, "waited");
}

/* The last rank is held before it removes the name; the other one looks three times in vain, and must not have the group yet. */
static const char *direct_name(struct shared *shared) {
    const unsigned *looks = &shared->points.reached[1][QUERN_POINT_FORM_AWAITING];
    if (!await_reached(shared, 1, QUERN_POINT_FORM_AWAITING, 1)) return "rank 0 does not wait";
    let_go(shared, 1);
    if (!points_await(&shared->points, 0)) return "rank 1 did not come to the name";
    bool looked = await_reached(shared, 1, QUERN_POINT_FORM_AWAITING, __atomic_load_n(looks, __ATOMIC_ACQUIRE) + 3);
    points_release(&shared->points, 0);
    const char *wrong = looked ? NULL : "rank 0 does not wait any more";
    if (!wrong) wrong = expect(shared, 0, QUERN_OK, "");
    return wrong ? wrong : expect(shared, 1, QUERN_OK, "");
}

/* ---- a forming group that is poisoned while a rank is about to join ---- */

/* Rank 0 forms a group of two, rank 1 joins, rank 2 comes under the same name for a group of three. */
static quern_status join_poisoned(struct rank *rank) {
    quern_group *group = NULL;
    begin(rank);
    points_enter_step(1);
    if (rank->rank) wait_for_test(rank);
    tell(rank, create(rank, rank->rank == 2 ? 3 : 2, &group));
    rank_check(rank, !group, "a poisoned group was joined");
    return QUERN_OK;
}

static const char *direct_poisoned(struct shared *shared) {
    static const char words[] = "the group is being formed with 2 ranks, and rank 2 expects";
    if (!await_reached(shared, 1, QUERN_POINT_FORM_AWAITING, 1)) return "rank 0 does not wait";
    let_go(shared, 1);
    if (!points_await(&shared->points, 0)) return "rank 1 did not come to the group";
    let_go(shared, 2);
    const char *wrong = expect(shared, 2, QUERN_PEER_MISMATCH, words);
    if (!wrong) wrong = expect(shared, 0, QUERN_PEER_MISMATCH, words);
    points_release(&shared->points, 0);
    return wrong ? wrong : expect(shared, 1, QUERN_PEER_MISMATCH, words);
}

/* Rank 0 tries again after its group was refused. */
static quern_status join_another(struct rank *rank) {
    quern_group *group = NULL;
    begin(rank);
    points_enter_step(1);
    if (rank->rank) wait_for_test(rank);
    if (rank->rank == 0) {
        rank_status(rank, create(rank, 2, &group), QUERN_PEER_TIMEOUT);
        points_enter_step(2);
    }
    tell(rank, create(rank, 2, &group));
    if (group) rank_ok(rank, quern_barrier(group, NULL, NULL));
    return quern_group_destroy(group);
}

/* Rank 1 has opened the file of a group that is then refused: it meets rank 0 in the next one. */
static const char *direct_another(struct shared *shared) {
    if (!await_reached(shared, 1, QUERN_POINT_FORM_AWAITING, 1)) return "rank 0 does not wait";
    let_go(shared, 1);
    if (!points_await(&shared->points, 0)) return "rank 1 did not open the file";
    points_end_limit(&shared->points, 0);
    if (!await_reached(shared, 2, QUERN_POINT_FORM_AWAITING, 1)) return "rank 0 does not wait again";
    points_release(&shared->points, 0);
    const char *wrong = expect(shared, 1, QUERN_OK, "");
    return wrong ? wrong : expect(shared, 0, QUERN_OK, "");
}

/* Rank 0 tries again when the test says so. */
static quern_status join_later(struct rank *rank) {
    quern_group *group = NULL;
    begin(rank);
    points_enter_step(1);
    if (rank->rank == 0) tell(rank, create(rank, 2, &group));
    rank_check(rank, !group, "a group of one rank");
    wait_for_test(rank);
    rank_ok(rank, create(rank, 2, &group));
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    return quern_group_destroy(group);
}

/* Rank 1 has found a name, which goes before it opens the file: it makes a group of its own. */
static const char *direct_vanished(struct shared *shared) {
    if (!await_reached(shared, 1, QUERN_POINT_FORM_AWAITING, 1)) return "rank 0 does not wait";
    let_go(shared, 1);
    if (!points_await(&shared->points, 0)) return "rank 1 did not find the name";
    points_end_limit(&shared->points, 0);
    const char *wrong = expect(shared, 0, QUERN_PEER_TIMEOUT, "waited");
    points_release(&shared->points, 0);
    if (!wrong && !await_reached(shared, 1, QUERN_POINT_FORM_MADE, 2)) wrong = "rank 1 does not make a file";
    let_go(shared, 0);
    return wrong;
}

/*
 * The same, but rank 0 is held when it has poisoned the refused group, and has not removed the name yet.  Rank 1 looks at that
 * group, and must not join it.
 */
static const char *direct_refused_and_named(struct shared *shared) {
    if (!await_reached(shared, 1, QUERN_POINT_FORM_AWAITING, 1)) return "rank 0 does not wait";
    let_go(shared, 1);
    if (!points_await(&shared->points, 0)) return "rank 1 did not open the file";
    points_end_limit(&shared->points, 0);
    if (!points_await(&shared->points, 1)) return "rank 0 did not poison the group";
    points_release(&shared->points, 0);
    bool again = await_reached(shared, 1, QUERN_POINT_FORM_OPENED, 2);
    points_release(&shared->points, 1);
    const char *wrong = again ? NULL : "rank 1 does not begin again";
    if (!wrong) wrong = expect(shared, 1, QUERN_OK, "");
    return wrong ? wrong : expect(shared, 0, QUERN_OK, "");
}

/* ---- the list ---- */

#define HELD(ranks_, rank_, point_) {.ranks = ranks_, .stop = {{POINT_HOLD, QUERN_POINT_##point_, rank_, 1, 0}}}

enum { THREADS = 1 << RANK_THREADS, PROCESSES = 1 << RANK_PROCESSES, BOTH = THREADS | PROCESSES };

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

static const bool stays = false, leaves = true;
static const struct copying call = {false, 0}, by_plan = {true, 0}, second_window = {false, WINDOW_ROWS};

static const struct race races[] = {
    {"poisoned before the copy", fail_while_copying, direct_copying, HELD(2, 1, RAGGED_VOTED), BOTH, &call},
    {"poisoned before the copy of a plan", fail_while_copying, direct_copying, HELD(2, 1, RAGGED_VOTED), BOTH, &by_plan},
    {"poisoned before the second window", fail_while_copying, direct_copying, HELD(2, 1, RAGGED_WINDOW), PROCESSES, &second_window},
    {"the last comes as the limit ends", meet_late, direct_expiring_meeting, HELD(2, 0, MEET_EXPIRING), BOTH, &stays},
    {"the last comes, meets and leaves before the look", meet_late, direct_expiring_meeting, HELD(2, 0, MEET_CHECKING), BOTH,
     &leaves},
    {"the last comes before the sleep", meet_late, direct_late_meeting, HELD(2, 0, MEET_SLEEPING), BOTH, &stays},
    {"aborted behind the meeting", abort_behind, direct_late_meeting, HELD(2, 0, MEET_LOOKING), BOTH, NULL},
    {"completed before the list", join_late, direct_completed, HELD(2, 0, FORM_EXPIRING), BOTH, NULL},
    {"completed before it is refused", join_late, direct_completed, HELD(2, 0, FORM_REFUSING), BOTH, NULL},
    {"refused before the last is counted", join_late, direct_refused, HELD(2, 1, FORM_SEATED), BOTH, NULL},
    {"refused before it is declared ready", join_late, direct_refused, HELD(2, 1, FORM_NAME_REMOVED), BOTH, NULL},
    {"the name before the group", join_late, direct_name, HELD(2, 1, FORM_NAME_COMPARED), BOTH, NULL},
    {"poisoned before it is joined", join_poisoned, direct_poisoned, HELD(3, 1, FORM_LOOKED), BOTH, NULL},
    {"poisoned before the place is complete", join_poisoned, direct_poisoned, HELD(3, 1, FORM_CLAIMED), BOTH, NULL},
    {"the name goes before the file is opened", join_later, direct_vanished, HELD(2, 1, FORM_FOUND), BOTH, NULL},
    {"refused before it is looked at", join_another, direct_another, HELD(2, 1, FORM_OPENED), BOTH, NULL},
    {"refused, and its name still there", join_another, direct_refused_and_named,
     {.ranks = 2, .stop = {{POINT_HOLD, QUERN_POINT_FORM_OPENED, 1, 1, 0}, {POINT_HOLD, QUERN_POINT_POISON_SET, 0, 1, 0}}}, BOTH,
     NULL},
};

static bool run_race(const struct race *race, enum rank_kind kind) {
    struct rank_run *run = ranks_start(&(struct ranks){.kind = kind, .count = race->plan.ranks, .function = race->function,
                                                       .user = race, .shared_bytes = sizeof(struct shared), .limit = POINT_LIMIT});
    char first[sizeof wrong_text] = "";
    const char *wrong = race->direct(ranks_shared(run));
    if (wrong) snprintf(first, sizeof first, "%s", wrong);
    struct shared *shared = ranks_shared(run);
    for (int rank = 0; rank < race->plan.ranks; rank++) let_go(shared, rank);
    for (int stop = 0; stop < POINT_STOPS; stop++) points_release(&shared->points, stop);
    points_hurry(&shared->points);
    wrong = ranks_wait(run, NULL);
    for (int rank = 0; !wrong && !first[0] && rank < race->plan.ranks; rank++)
        if (ranks_result(run, rank)->status != QUERN_OK) wrong = ranks_result(run, rank)->detail;
    if (wrong || first[0])
        printf("%s, %s: %s%s%s\n", race->name, rank_kind_name(kind), first, wrong && first[0] ? "; " : "", wrong ? wrong : "");
    const bool good = !wrong && !first[0];
    ranks_close(run);
    return good;
}

int main(int count, char **words) {
    int passed = 0, failed = 0;
    setenv("QUERN_THREADS", "1", 1);
    private_shm_enter(NULL);
    for (size_t race = 0; race < sizeof races / sizeof *races; race++)
        for (size_t kind = 0; kind < sizeof rank_kinds / sizeof *rank_kinds; kind++) {
            if (!(races[race].kinds & 1 << rank_kinds[kind]) || (count > 1 && !strstr(races[race].name, words[1]))) continue;
            bool good = run_race(&races[race], rank_kinds[kind]);
            passed += good;
            failed += !good;
        }
    printf("%d passed, %d failed\n", passed, failed);
    return failed || !passed ? EXIT_FAILURE : EXIT_SUCCESS;
}
