/*
 * Lets two or three ranks in threads make a few collective calls, most often with one fault of one rank, and checks every outcome.
 * All choices are made before the threads start.  Called by fuzz.c.
 *
 * In an orderly meeting every rank makes every call, so no wait may expire: the calls of each step succeed on all ranks, or fail on
 * all ranks and leave the group usable.  In any other meeting time limits are short, and a call may return any status in time.
 */
#include "ranks.h"

#include <time.h>

#include "../harness/meeting_place.h"
#include "calls.h"
#include "input.h"
#include "rank_calls.h"

/* Seconds: what a loaded machine may add to a time limit; the limit of an orderly meeting, which must not expire. */
static const double SLACK = 200, PATIENCE = 300;

/* A meeting takes as long as many calls, most of which find their faults without a second rank. */
enum { FIRST_MEETINGS = 200, CALLS_PER_MEETING = 100 };

static struct {
    uint64_t calls, succeeded;
} counts[RANK_CALLS];
static quern_device *device;

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- choices ---- */

enum fault_of_meeting {
    NOTHING_WRONG,
    WRONG_METADATA, WRONG_SHAPE, WRONG_ARGUMENTS, WRONG_SIZE, OTHER_TERMS, WRONG_TERMS, LAST_ORDERLY = WRONG_TERMS,
    OTHER_MEMBERS, OTHER_CALL, ABSENT, ABORTED, DESTROYED, ABSENT_AT_FIRST, OTHER_RANKS, TAKEN_RANK, FAULTS
};

enum { EXCHANGES = 1 << EXCHANGE | 1 << PLAN, ANY_CALL = 0 };

static const struct {
    enum exchange_fault exchange;
    enum reduction_fault reduction;
    enum deed deed;
    unsigned calls;                 /* those that can have the fault, as bits */
} faults[FAULTS] = {
    [WRONG_METADATA] = {.exchange = OF_METADATA, .calls = EXCHANGES}, [WRONG_SHAPE] = {.exchange = OF_SHAPE, .calls = EXCHANGES},
    [WRONG_ARGUMENTS] = {.exchange = OF_ARGUMENTS, .calls = EXCHANGES}, [WRONG_SIZE] = {.calls = 1 << ALLOC},
    [OTHER_TERMS] = {.reduction = OF_TERMS, .calls = 1 << REDUCTION},
    [WRONG_TERMS] = {.reduction = OF_TERM_ARGUMENTS, .calls = 1 << REDUCTION}, [OTHER_MEMBERS] = {.calls = 1 << BARRIER},
    [OTHER_CALL] = {.deed = MAKES_OTHER_CALL}, [ABSENT] = {.deed = IS_ABSENT}, [ABORTED] = {.deed = ABORTS},
    [DESTROYED] = {.deed = DESTROYS},
};

/* Mostly orderly meetings, since in the others a rank must wait until its limit expires. */
static enum fault_of_meeting choose_fault(void) {
    if (input_one_in(4)) return (enum fault_of_meeting)(LAST_ORDERLY + 1 + input_below(FAULTS - LAST_ORDERLY - 1));
    return input_one_in(2) ? WRONG_METADATA : (enum fault_of_meeting)input_below(LAST_ORDERLY + 1);
}

/* Two or three ranks in ascending order. */
static void choose_members(struct step *step, int ranks, bool everyone) {
    const int left_out = everyone || ranks == 2 || !input_one_in(3) ? ranks : (int)input_below(ranks);
    for (int rank = 0; rank < ranks; rank++)
        if (rank != left_out) step->members[step->member_count++] = rank;
    for (int rank = 0; rank < ranks; rank++) step->listed_count[rank] = step->member_count;
}

static enum rank_call choose_call(enum fault_of_meeting fault) {
    enum rank_call able[RANK_CALLS];
    int count = 0;
    for (int call = 0; call < RANK_CALLS; call++)
        if (faults[fault].calls == ANY_CALL || faults[fault].calls >> call & 1) able[count++] = (enum rank_call)call;
    return able[input_below(count)];
}

static bool is_exchange(enum rank_call call) { return call == EXCHANGE || call == PLAN; }

static void choose_step(struct step *step, int ranks, enum fault_of_meeting fault) {
    static const size_t impossible[] = {SIZE_MAX, SIZE_MAX / 2, (size_t)1 << 62, ((size_t)1 << 47) + 1};
    const int faulty = (int)input_below(ranks);
    step->call = choose_call(fault);
    step->other_call = (step->call + 1 + input_below(RANK_CALLS - 1)) % RANK_CALLS;
    step->deeds[faulty] = faults[fault].deed;
    choose_members(step, ranks, step->call == PLAN || fault == OTHER_CALL || fault == OTHER_MEMBERS);
    if (fault == OTHER_MEMBERS) step->listed_count[faulty] = faulty + 1 < ranks ? faulty + 1 : ranks - 1;
    for (int rank = 0; rank < ranks; rank++) {
        step->bytes[rank] = (size_t)input_below(3) * 100;
        step->colours[rank] = (int)input_below(3) - input_one_in(4);
        step->keys[rank] = (int)input_below(3) - 1;
    }
    if (fault == WRONG_SIZE) step->bytes[faulty] = impossible[input_below(4)];
    const bool makes_other = step->deeds[faulty] == MAKES_OTHER_CALL;
    if (step->call == REDUCTION || makes_other)
        step->reduction = reduction_make(step->members, step->member_count, faults[fault].reduction);
    if (!is_exchange(step->call) && !makes_other) return;
    step->exchange = exchange_make(step->members, step->member_count, faults[fault].exchange);
    for (int i = 0; i < step->member_count; i++)
        if (step->member_count == ranks && input_one_in(2)) step->exchange->sides[i].args.members = NULL;  /* all as well */
}

/* A waiting rank looks for lost ones every 50 milliseconds. */
static double choose_limit(enum fault_of_meeting fault) {
    static const double limits[] = {0.005, 0.002, 0.01, 0.03};
    return fault <= LAST_ORDERLY ? PATIENCE : fault == DESTROYED ? 0.1 : limits[input_below(4)];
}

static void choose_meeting(struct meeting *meeting, enum fault_of_meeting fault) {
    static unsigned met;
    *meeting = (struct meeting){.ranks = 2 + input_one_in(3), .step_count = 1 + (int)input_below(MOST_STEPS)};
    meeting->is_orderly = fault <= LAST_ORDERLY;
    meeting->limit = choose_limit(fault);
    meeting->first_epoch = input_one_in(3) ? UINT32_MAX - (uint32_t)input_below(4) : 0;
    snprintf(meeting->name, sizeof meeting->name, "fuzz.%d.%u", (int)getpid(), met++);
    const int faulty = (int)input_below(meeting->ranks), spoilt = (int)input_below(meeting->step_count);
    for (int i = 0; i < meeting->ranks; i++) {
        meeting->rank[i] = (struct rank){.meeting = meeting, .rank = i};
        meeting->create_rank[i] = i, meeting->create_ranks[i] = meeting->ranks;
        for (int step = 0; step < meeting->step_count; step++) meeting->rank[i].registered[step] = malloc(REGISTERED);
    }
    meeting->stays_away[faulty] = fault == ABSENT_AT_FIRST;
    meeting->create_ranks[faulty] += fault == OTHER_RANKS;
    meeting->create_rank[faulty] = fault == TAKEN_RANK ? (faulty + 1) % meeting->ranks : faulty;
    for (int i = 0; i < meeting->step_count; i++)
        choose_step(&meeting->steps[i], meeting->ranks, i == spoilt ? fault : NOTHING_WRONG);
}

/* ---- the threads ---- */

static void note(struct outcome *outcome, quern_status status, double began) {
    outcome->seconds = seconds_now() - began;
    outcome->status = status;
    outcome->detail = status == QUERN_OK ? 0 : quern_error_detail(NULL, 0);
}

static quern_status create(struct rank *rank) {
    const struct meeting *meeting = rank->meeting;
    quern_group_args args = GROUP_ARGS(.rank = meeting->create_rank[rank->rank], .ranks = meeting->create_ranks[rank->rank],
                                       .name = meeting->name, .device = device, .timeout = meeting->limit,
                                       .first_epoch = meeting->first_epoch);
    return quern_group_create(&args, 1, &rank->group);
}

static quern_status abort_group(struct rank *rank) {
    if (quern_group_abort(rank->group, NULL) != QUERN_OK) fuzz_fail("quern_group_abort fails");
    const quern_status status = quern_group_status(rank->group);
    if (status == QUERN_OK) fuzz_fail("an aborted group is not poisoned");
    return status;
}

static quern_status destroy(struct rank *rank) {
    const quern_status status = quern_group_destroy(rank->group);
    rank->group = NULL;
    return status;
}

static quern_status make_step(struct rank *rank, const struct step *step) {
    char report[500];
    if (!quern_group_report(rank->group, report, sizeof report)) fuzz_fail("the report of a group is empty");
    switch (step->deeds[rank->rank]) {
    case IS_ABSENT: return QUERN_OK;
    case ABORTS: return abort_group(rank);
    case DESTROYS: return destroy(rank);
    case MAKES_OTHER_CALL: return rank_calls[step->other_call].make(rank, step);
    default: return rank_calls[step->call].make(rank, step);
    }
}

static void *live(void *context) {
    struct rank *rank = context;
    const struct meeting *meeting = rank->meeting;
    if (meeting->stays_away[rank->rank]) return NULL;
    double began = seconds_now();
    note(&rank->created, create(rank), began);
    for (int i = 0; i < meeting->step_count && rank->group; i++) {
        began = seconds_now();
        note(&rank->outcomes[i], make_step(rank, &meeting->steps[i]), began);
    }
    return NULL;
}

/* ---- outcomes ---- */

/* A call with its local calls has at most so many waits; after the first that expires the group is poisoned. */
enum { MOST_WAITS = 4 };

static void check_outcome(const struct meeting *meeting, const char *name, const struct outcome *outcome) {
    const int status = (int)outcome->status;
    if (!header_is_status(status)) fuzz_fail("%s returned %d, which is no status", name, status);
    if (status != QUERN_OK && (!outcome->detail || outcome->detail > 255))
        fuzz_fail("%s returned %d with a detail of %zu characters", name, status, outcome->detail);
    if (outcome->seconds > MOST_WAITS * meeting->limit + SLACK)
        fuzz_fail("%s returned %d after %g s: the time limit is %g s", name, status, outcome->seconds, meeting->limit);
}

static bool must_fail(const struct meeting *meeting, const struct step *step, int rank) {
    for (int i = 0; i < meeting->ranks; i++)
        if (step->call == ALLOC && step->bytes[i] > (size_t)1 << 40) return true;
    if (!step_has_member(step, rank)) return false;
    return step->call == REDUCTION ? step->reduction->is_refused : is_exchange(step->call) && step->exchange->is_refused;
}

/* A refusal of the metadata names the same slice on every rank. */
static void check_orderly_step(const struct meeting *meeting, int index) {
    const struct step *step = &meeting->steps[index];
    const char *name = rank_calls[step->call].name;
    bool has_succeeded = true;
    for (int rank = 0; rank < meeting->ranks; rank++) {
        const quern_status status = meeting->rank[rank].outcomes[index].status;
        const bool fails = must_fail(meeting, step, rank);
        if ((status != QUERN_OK) != fails || (status >= QUERN_PEER_TIMEOUT && status != QUERN_PEER_MISMATCH))
            fuzz_fail("%s returned %d on rank %d of %d: expected %s", name, (int)status, rank, meeting->ranks,
                      fails ? "an error of the arguments" : "QUERN_OK");
        has_succeeded &= !fails;
    }
    if (is_exchange(step->call)) exchange_check(step->exchange, has_succeeded);
    if (step->call == REDUCTION) reduction_check(step->reduction, has_succeeded);
}

/* The poison is the same on all ranks. */
static void check_poison(const struct meeting *meeting) {
    quern_status first = QUERN_OK;
    for (int i = 0, asked = 0; i < meeting->ranks; i++) {
        if (!meeting->rank[i].group) continue;
        const quern_status status = quern_group_status(meeting->rank[i].group);
        if (!asked++) first = status;
        if (status != first) fuzz_fail("rank %d of a group is poisoned with %d, another one with %d", i, (int)status, (int)first);
    }
    if (meeting->is_orderly && first != QUERN_OK) fuzz_fail("an orderly group is poisoned with %d", (int)first);
}

static void check_name(const struct meeting *meeting) {
    char path[100];
    rank_meeting_place(path, sizeof path, meeting->name);
    if (access(path, F_OK) == 0) fuzz_fail("%s is left", path);
}

static void check_meeting(const struct meeting *meeting) {
    for (int rank = 0; rank < meeting->ranks; rank++) {
        const struct rank *self = &meeting->rank[rank];
        check_outcome(meeting, "quern_group_create", &self->created);
        for (int i = 0; i < meeting->step_count; i++) {
            check_outcome(meeting, rank_calls[meeting->steps[i].call].name, &self->outcomes[i]);
            counts[meeting->steps[i].call].calls++;
            counts[meeting->steps[i].call].succeeded += self->outcomes[i].status == QUERN_OK;
        }
        if (meeting->is_orderly && !self->group) fuzz_fail("rank %d of %d got %d", rank, meeting->ranks, (int)self->created.status);
    }
    for (int i = 0; i < meeting->step_count && meeting->is_orderly; i++) check_orderly_step(meeting, i);
    check_poison(meeting);
}

/* ---- all ---- */

static void end_meeting(struct meeting *meeting) {
    for (int i = 0; i < meeting->ranks; i++)
        if (meeting->rank[i].group && destroy(&meeting->rank[i]) != QUERN_OK) fuzz_fail("quern_group_destroy fails");
    check_name(meeting);
    for (int step = 0; step < meeting->step_count; step++) {
        exchange_free(meeting->steps[step].exchange);
        reduction_free(meeting->steps[step].reduction);
        for (int i = 0; i < meeting->ranks; i++) free(meeting->rank[i].registered[step]);
    }
}

bool ranks_meet(quern_device *shared, uint64_t calls) {
    static uint64_t meetings;
    static struct meeting meeting;
    if (meetings >= FIRST_MEETINGS + calls / CALLS_PER_MEETING) return false;
    meetings++;
    device = shared;
    choose_meeting(&meeting, choose_fault());
    for (int i = 0; i < meeting.ranks; i++)
        if (pthread_create(&meeting.rank[i].thread, NULL, live, &meeting.rank[i]) != 0) fuzz_fail("no thread for rank %d", i);
    for (int i = 0; i < meeting.ranks; i++) pthread_join(meeting.rank[i].thread, NULL);
    check_meeting(&meeting);
    end_meeting(&meeting);
    return true;
}

void ranks_print_counts(void) {
    for (int i = 0; i < RANK_CALLS; i++)
        dprintf(fuzz_output, "called %s %llu %llu\n", rank_calls[i].name, (unsigned long long)counts[i].calls,
                (unsigned long long)counts[i].succeeded);
}
