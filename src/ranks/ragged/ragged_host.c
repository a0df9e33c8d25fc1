/*
 * Ragged all-to-all of CPU ranks.  Three meetings:
 *
 *   entry     All outputs may be overwritten, and all records and notices can be checked.
 *   vote      All reports are complete: either all ranks copy or none does.
 *   exit      All outputs are complete; records, notices and staging may be written again.
 *
 * A rank that finds a fault or refuses its arguments takes part in all three meetings.  Records lie in the half of the mailbox that
 * the next exchange will use.  All ranks have read the former content of that half, from the exchange before the last.
 *
 * The table at the end is a row of the host transport.
 */
#include "ranks/ragged/ragged_host.h"

#include <stdlib.h>

#include "ranks/describe.h"
#include "ranks/meeting.h"
#include "ranks/points.h"
#include "ranks/poison.h"
#include "ranks/ragged/ragged_check.h"
#include "ranks/ragged/ragged_exchange.h"
#include "runtime/arguments.h"
#include "runtime/status.h"

static struct quern_ragged_record *record_of(const struct quern_membership *member, int rank) {
    return (struct quern_ragged_record *)member->segment->rank[rank].mailbox[member->exchanges % 2];
}

static quern_status meet(struct quern_membership *member, struct quern_meeting meeting, enum quern_phase phase) {
    meeting.phase = phase;
    return quern_meet(member, &meeting);
}

static struct quern_meeting meeting_of(const struct quern_ragged_call *call, enum quern_collective operation) {
    return (struct quern_meeting){.operation = operation, .set = &call->set, .timeout = call->timeout};
}

/* ---- the vote ---- */

static void record_refusal(const struct quern_ragged_call *call, struct quern_ragged_record *record) {
    record->report = (struct quern_slice_report){.fault = QUERN_SLICE_ARGUMENTS, .rank = call->member->rank};
    quern_error_detail(record->reason, sizeof record->reason);
}

static quern_status fail_with(const struct quern_membership *member, const struct quern_ragged_record *record) {
    char words[700];
    struct quern_text text = quern_text_begin(words, sizeof words);
    if (record->report.fault == QUERN_SLICE_ARGUMENTS)
        quern_text_add(&text, "rank %d refused its own arguments: %s", record->report.rank, record->reason);
    else
        quern_describe_slice(&text, &record->report);
    return quern_fail(member->device, quern_slice_status(&record->report), "%s: %s", member->label, words);
}

/* Fails on every rank with the fault of the lowest rank that has one.  A rank that refuses its arguments keeps its own detail. */
static quern_status find_fault(const struct quern_ragged_call *call, const struct quern_rank_set *set) {
    for (int rank = 0; rank < call->member->ranks; rank++) {
        if (!quern_set_has(set, rank)) continue;
        const struct quern_ragged_record *record = record_of(call->member, rank);
        if (record->report.fault != QUERN_SLICE_FINE)
            return call->refused != QUERN_OK ? call->refused : fail_with(call->member, record);
    }
    return QUERN_OK;
}

/* ---- agreeing on an exchange ---- */

static void announce(struct quern_ragged_exchange *exchange, struct quern_ragged_call *call, void *storage,
                     struct quern_ragged_record *record) {
    *record = (struct quern_ragged_record){.is_ready = 0};
    if (call->refused == QUERN_OK) {
        quern_ragged_exchange_open(exchange, call, storage);
        call->refused = quern_ragged_exchange_announce(exchange, record);
    }
    if (call->refused != QUERN_OK) record_refusal(call, record);
}

static bool all_are_ready(const struct quern_membership *member, const struct quern_rank_set *set) {
    for (int rank = 0; rank < member->ranks; rank++)
        if (quern_set_has(set, rank) && !record_of(member, rank)->is_ready) return false;
    return true;
}

static void examine(struct quern_ragged_exchange *exchange, struct quern_ragged_record *record) {
    struct quern_ragged_call *call = exchange->call;
    for (int place = 0; place < call->places; place++) exchange->records[place] = record_of(call->member, call->rank_at[place]);
    call->refused = quern_ragged_exchange_prepare(exchange, record);
    if (call->refused != QUERN_OK) record_refusal(call, record);
    else if (record->report.fault == QUERN_SLICE_FINE) quern_ragged_exchange_stage(exchange, 0);
}

/*
 * Entry and vote of the ranks in the meeting.  *result is the outcome of the vote, which the caller returns after the exit.  A
 * failed meeting is returned at once.
 */
static quern_status agree(struct quern_ragged_exchange *exchange, struct quern_ragged_call *call, void *storage,
                          struct quern_meeting meeting, quern_status *result) {
    struct quern_membership *member = call->member;
    struct quern_ragged_record *record = record_of(member, member->rank);
    announce(exchange, call, storage, record);
    QUERN_POINT(RAGGED_RECORDED);
    quern_status status = meet(member, meeting, QUERN_PHASE_ENTRY);
    if (status != QUERN_OK) return status;
    QUERN_POINT(RAGGED_ENTERED);
    if (all_are_ready(member, meeting.set)) examine(exchange, record);  /* else a rank has a fault already */
    QUERN_POINT(RAGGED_EXAMINED);
    status = meet(member, meeting, QUERN_PHASE_VOTE);
    if (status == QUERN_OK) *result = find_fault(call, meeting.set);
    return status;
}

static int64_t most_rounds(const struct quern_ragged_call *call) {
    int64_t most = 0;
    for (int place = 0; place < call->places; place++) {
        int64_t rounds = record_of(call->member, call->rank_at[place])->rounds;
        if (rounds > most) most = rounds;
    }
    return most;
}

/*
 * Window 0 is staged already.  A window is filled again after a meeting to which its readers come after reading it.  If this rank
 * is late, the others may have timed out and returned after the last meeting.  Then their memory must not be touched any more.
 */
static quern_status copy(struct quern_ragged_exchange *exchange, struct quern_meeting meeting, int64_t rounds) {
    QUERN_POINT(RAGGED_VOTED);
    quern_status status = quern_check_poison(exchange->call->member);
    if (status != QUERN_OK) return status;
    QUERN_POINT(RAGGED_COPYING);
    quern_ragged_exchange_copy(exchange);
    for (int64_t round = 0; round < rounds; round++) {
        quern_ragged_exchange_fetch(exchange, round);
        if (round + 1 == rounds) break;
        quern_ragged_exchange_stage(exchange, round + 1);
        QUERN_POINT(RAGGED_STAGED);
        status = meet(exchange->call->member, meeting, QUERN_PHASE_COPY);
        QUERN_POINT(RAGGED_WINDOW);
        if (status == QUERN_OK) status = quern_check_poison(exchange->call->member);
        if (status != QUERN_OK) return status;
    }
    QUERN_POINT(RAGGED_COPIED);
    return QUERN_OK;
}

/* ---- a call ---- */

static quern_status host_run(struct quern_ragged_call *call, void *stream) {
    (void)stream;
    struct quern_ragged_exchange exchange;
    const struct quern_meeting meeting = meeting_of(call, QUERN_IN_RAGGED_ALL_TO_ALL);
    quern_status result, status = agree(&exchange, call, NULL, meeting, &result);
    if (status == QUERN_OK && result == QUERN_OK) status = copy(&exchange, meeting, most_rounds(call));
    if (status == QUERN_OK) status = meet(call->member, meeting, QUERN_PHASE_EXIT);
    QUERN_POINT(RAGGED_LEAVING);
    return status == QUERN_OK ? result : status;
}

/* ---- a plan ---- */

struct plan {
    struct quern_ragged_call call;
    struct quern_ragged_exchange exchange;
    int64_t rounds;
    _Alignas(16) unsigned char storage[];
};

static struct plan *make_plan(const struct quern_ragged_call *call) {
    struct plan *plan = malloc(sizeof *plan + (call->refused == QUERN_OK ? quern_ragged_exchange_storage(call) : 0));
    if (plan) plan->call = *call;
    return plan;
}

/* All ranks of the group take part in the meetings, not only the members of the plan. */
static quern_status agree_on_plan(struct plan *plan) {
    struct quern_membership *member = plan->call.member;
    const struct quern_meeting meeting = {.operation = QUERN_IN_PLAN_CREATE, .set = &member->everyone, .timeout = member->timeout};
    quern_status result, status = agree(&plan->exchange, &plan->call, plan->storage, meeting, &result);
    if (status == QUERN_OK && result == QUERN_OK) plan->rounds = most_rounds(&plan->call);
    if (status == QUERN_OK) status = meet(member, meeting, QUERN_PHASE_EXIT);
    return status == QUERN_OK ? result : status;
}

/* A thread is one CPU rank: count is 1. */
static quern_status plan_create(struct quern_ragged_call *calls, int count, void **states) {
    (void)count;
    struct plan *plan = make_plan(calls), refused;
    if (!plan) {
        refused.call = *calls;
        refused.call.refused = quern_fail(calls->member->device, QUERN_OUT_OF_MEMORY, "no memory for a plan");
        return agree_on_plan(&refused);
    }
    quern_status status = agree_on_plan(plan);
    if (status != QUERN_OK) free(plan);
    else *states = plan;
    return status;
}

static quern_status plan_destroy(void *state) {
    free(state);
    return QUERN_OK;
}

static quern_status check_run(const struct quern_ragged_call *call, void *stream) {
    const struct quern_membership *member = call->member;
    const char *gone = quern_ragged_find_freed(call);
    if (!gone) return quern_check_stream(member->device, stream);
    return quern_fail(member->device, QUERN_INVALID_ARGUMENT, "the plan's %s is in symmetric memory that was freed", gone);
}

/* The metadata is known.  The records only say whether a rank refuses its arguments, so the entry is also the vote. */
static quern_status plan_run(void *state, void *stream) {
    struct plan *plan = state;
    struct quern_ragged_call *call = &plan->call;
    struct quern_ragged_record *record = record_of(call->member, call->member->rank);
    const struct quern_meeting meeting = meeting_of(call, QUERN_IN_PLAN_RUN);
    record->report.fault = QUERN_SLICE_FINE;
    call->refused = check_run(call, stream);
    if (call->refused != QUERN_OK) record_refusal(call, record);
    else quern_ragged_exchange_stage(&plan->exchange, 0);
    QUERN_POINT(RAGGED_RECORDED);
    quern_status status = meet(call->member, meeting, QUERN_PHASE_ENTRY);
    if (status != QUERN_OK) return status;
    QUERN_POINT(RAGGED_ENTERED);
    quern_status result = find_fault(call, &call->set);
    if (result == QUERN_OK) status = copy(&plan->exchange, meeting, plan->rounds);
    if (status == QUERN_OK) status = meet(call->member, meeting, QUERN_PHASE_EXIT);
    QUERN_POINT(RAGGED_LEAVING);
    return status == QUERN_OK ? result : status;
}

const struct quern_ragged_transport quern_host_ragged = {
    .workspace_bytes = quern_ragged_exchange_workspace,
    .run = host_run,
    .plan_create = plan_create,
    .plan_run = plan_run,
    .plan_destroy = plan_destroy,
};
