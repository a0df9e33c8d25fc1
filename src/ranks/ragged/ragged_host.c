/*
 * Ragged all-to-all of CPU ranks.  The short protocol has one or two meetings: see ragged_eager.c.  The long protocol has three:
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
#include "ranks/ragged/ragged.h"

#include <stdlib.h>
#include <string.h>

#include "ranks/describe.h"
#include "ranks/meeting.h"
#include "ranks/points.h"
#include "ranks/poison.h"
#include "runtime/arguments.h"
#include "runtime/status.h"

/* ---- records: written in this process's own memory, and copied to where other processes find them ---- */

/* The record of a rank of this process. */
static struct quern_ragged_record *record_here(const struct quern_membership *member, int rank) {
    return (struct quern_ragged_record *)quern_own_mailbox(member->roster, rank, member->exchanges);
}

/* The record of any rank: only to be copied from. */
static const struct quern_ragged_record *record_of(const struct quern_membership *member, int rank) {
    if (member->roster->peer[rank].is_here) return record_here(member, rank);
    if (member->roster->peer[rank].is_elsewhere) return (const struct quern_ragged_record *)quern_net_mailbox(member, rank);
    return (const struct quern_ragged_record *)quern_shared_mailbox(member->roster, rank, member->exchanges);
}

static void publish_terms(const struct quern_membership *member) {
    struct quern_ragged_record *there = (void *)quern_shared_mailbox(member->roster, member->rank, member->exchanges);
    if (!member->one_process) there->terms = record_here(member, member->rank)->terms;
}

static void publish_outcome(const struct quern_membership *member) {
    struct quern_ragged_record *here = record_here(member, member->rank);
    struct quern_ragged_record *there = (void *)quern_shared_mailbox(member->roster, member->rank, member->exchanges);
    if (member->one_process) return;
    quern_write_digest(&here->outcome, sizeof here->outcome);
    there->outcome = here->outcome;
    if (here->outcome.report.fault == QUERN_SLICE_ARGUMENTS) memcpy(there->reason, here->reason, sizeof there->reason);
}

static struct quern_meeting meeting_of(const struct quern_ragged_call *call, enum quern_collective operation) {
    return (struct quern_meeting){.operation = operation, .set = &call->set, .timeout = call->timeout};
}

/* ---- the vote ---- */

static void record_refusal(const struct quern_ragged_call *call, struct quern_ragged_record *record) {
    record->outcome.report = (struct quern_slice_report){.fault = QUERN_SLICE_ARGUMENTS, .rank = call->member->rank};
    quern_error_detail(record->reason, sizeof record->reason);
}

static quern_status fail_with(const struct quern_membership *member, const struct quern_slice_report *report, int rank) {
    if (report->fault != QUERN_SLICE_ARGUMENTS) return quern_fail_report(member, report);
    return quern_fail_refused(member, QUERN_PEER_MISMATCH, rank, record_of(member, rank)->reason);
}

/*
 * Fails on every rank with the fault of the lowest rank that has one.  A rank that refuses its arguments keeps its own detail.
 * *rounds is the largest number of buffers of the members' pipes.
 */
static quern_status count_votes(const struct quern_ragged_call *call, const struct quern_rank_set *set, int64_t *rounds) {
    *rounds = 0;
    for (int rank = 0; rank < call->member->ranks; rank++) {
        if (!quern_set_has(set, rank)) continue;
        const struct quern_ragged_outcome outcome = record_of(call->member, rank)->outcome;
        if (!call->member->roster->peer[rank].is_here && !quern_has_digest(&outcome, sizeof outcome))
            return quern_poison_damaged(call->member, "outcome", rank);
        if (outcome.report.fault != QUERN_SLICE_FINE)
            return call->refused != QUERN_OK ? call->refused : fail_with(call->member, &outcome.report, rank);
        const bool copies_here = quern_set_has(&call->set, rank) && !call->member->roster->peer[rank].is_elsewhere;
        if (copies_here && outcome.rounds > *rounds) *rounds = outcome.rounds;
    }
    return QUERN_OK;
}

/* ---- agreeing on an exchange ---- */

static void announce(struct quern_ragged_exchange *exchange, struct quern_ragged_call *call, void *storage) {
    struct quern_ragged_record *record = record_here(call->member, call->member->rank);
    quern_ragged_clear_record(record);
    if (call->refused == QUERN_OK) {
        quern_ragged_exchange_open(exchange, call, storage);
        call->refused = quern_ragged_exchange_announce(exchange, record);
    }
    if (call->refused != QUERN_OK) record_refusal(call, record);
    publish_terms(call->member);
}

static bool all_are_ready(const struct quern_membership *member, const struct quern_rank_set *set) {
    for (int rank = 0; rank < member->ranks; rank++)
        if (quern_set_has(set, rank) && !record_of(member, rank)->terms.record.flags) return false;
    return true;
}

/* Fails if a record is damaged, which poisons the group. */
static quern_status examine(struct quern_ragged_exchange *exchange, struct quern_ragged_record *record) {
    struct quern_ragged_call *call = exchange->call;
    struct quern_reading reading = {.terms = &quern_ragged_terms, .member = call->member, .rank_at = call->rank_at};
    for (int place = 0; place < call->places; place++) {
        const void *there = &record_of(call->member, call->rank_at[place])->terms;
        quern_status status = quern_read_record(&reading, place, there, &exchange->terms[place]);
        if (status != QUERN_OK) return status;
    }
    record->outcome.report = reading.difference;
    if (record->outcome.report.fault == QUERN_SLICE_FINE) call->refused = quern_ragged_exchange_prepare(exchange, record);
    if (call->refused != QUERN_OK) record_refusal(call, record);
    else if (record->outcome.report.fault == QUERN_SLICE_FINE) quern_ragged_exchange_stage(exchange, 0);
    return QUERN_OK;
}

/* All have agreed, although this rank has not read all terms or cannot deliver its slices: a record is not its rank's. */
static quern_status check_agreed(const struct quern_membership *member, const struct quern_ragged_exchange *exchange,
                                 bool examined) {
    if (!examined)
        return quern_poison(member, QUERN_PEER_MISMATCH, "rank %d found that not all ranks are ready, and all have agreed: a "
                            "process that is no rank writes into the group's shared memory", member->rank);
    if (exchange->astray < 0) return QUERN_OK;
    return quern_poison(member, QUERN_PEER_MISMATCH, "rank %d sends slices to rank %d beyond the memory that it has mapped of it",
                        member->rank, exchange->astray);
}

/* After the entry: examines and votes.  *result is the outcome, as in agree. */
static quern_status vote(struct quern_ragged_exchange *exchange, struct quern_ragged_call *call, struct quern_meeting meeting,
                         quern_status *result, int64_t *rounds) {
    struct quern_membership *member = call->member;
    struct quern_ragged_record *record = record_here(member, member->rank);
    const bool examined = all_are_ready(member, meeting.set);  /* else a rank has a fault already */
    quern_status status = examined ? examine(exchange, record) : QUERN_OK;
    if (status != QUERN_OK) return status;
    publish_outcome(member);
    QUERN_POINT(RAGGED_EXAMINED);
    meeting.phase = QUERN_PHASE_VOTE;
    status = quern_ragged_vote(call, &meeting);
    if (status != QUERN_OK) return status;
    *result = count_votes(call, meeting.set, rounds);
    return *result == QUERN_OK ? check_agreed(member, exchange, examined) : QUERN_OK;
}

static quern_status enter(struct quern_ragged_exchange *exchange, struct quern_ragged_call *call, void *storage,
                          struct quern_meeting meeting) {
    announce(exchange, call, storage);
    QUERN_POINT(RAGGED_RECORDED);
    meeting.phase = QUERN_PHASE_ENTRY;
    quern_status status = quern_ragged_enter(call, exchange, &meeting, NULL);
    if (status == QUERN_OK) QUERN_POINT(RAGGED_ENTERED);
    return status;
}

/*
 * Entry and vote of the ranks in the meeting.  *result is the outcome of the vote, which the caller returns after the exit.  A
 * failed meeting is returned at once.
 */
static quern_status agree(struct quern_ragged_exchange *exchange, struct quern_ragged_call *call, void *storage,
                          struct quern_meeting meeting, quern_status *result, int64_t *rounds) {
    quern_status status = enter(exchange, call, storage, meeting);
    return status == QUERN_OK ? vote(exchange, call, meeting, result, rounds) : status;
}

/*
 * Buffer 0 is staged already.  A buffer is filled again after a meeting to which its readers come after reading it.  If this rank
 * is late, the others may have timed out and returned after the last meeting.  Then their memory must not be touched any more.
 */
static quern_status copy(struct quern_ragged_exchange *exchange, struct quern_meeting meeting, int64_t rounds) {
    QUERN_POINT(RAGGED_VOTED);
    quern_status status = quern_check_poison(exchange->call->member);
    if (status != QUERN_OK) return status;
    QUERN_POINT(RAGGED_COPYING);
    struct quern_ragged_shipment shipment;
    status = quern_ragged_ship(&shipment, exchange, &meeting);
    if (status != QUERN_OK) return status;
    quern_ragged_exchange_copy(exchange);
    for (int64_t round = 0; round < rounds; round++) {
        quern_ragged_exchange_fetch(exchange, round);
        if (round + 1 == rounds) break;
        quern_ragged_exchange_stage(exchange, round + 1);
        QUERN_POINT(RAGGED_STAGED);
        status = quern_ragged_meet_here(exchange->call, meeting, QUERN_PHASE_COPY);
        QUERN_POINT(RAGGED_WINDOW);
        if (status == QUERN_OK) status = quern_check_poison(exchange->call->member);
        if (status == QUERN_OK) continue;
        quern_ragged_abandon(&shipment);
        return status;
    }
    QUERN_POINT(RAGGED_COPIED);
    return quern_ragged_ship_rest(&shipment);
}

/* ---- a call ---- */

/* Memory for the lists of an exchange, kept for the next one; NULL: none is left. */
static void *lists_of(struct quern_membership *member, size_t bytes) {
    if (bytes > member->lists_bytes) {
        free(member->lists);
        member->lists = malloc(bytes);
        member->lists_bytes = member->lists ? bytes : 0;
    }
    return member->lists;
}

static void *reserve_lists(struct quern_ragged_call *call) {
    if (call->refused != QUERN_OK) return NULL;
    void *lists = lists_of(call->member, quern_ragged_exchange_storage(call));
    if (!lists) call->refused = quern_fail(call->member->device, QUERN_OUT_OF_MEMORY, "no memory for the slices of an exchange");
    return lists;
}

/* The long protocol from its vote on. */
static quern_status vote_and_copy(struct quern_ragged_exchange *exchange, struct quern_ragged_call *call,
                                  struct quern_meeting meeting) {
    int64_t rounds;
    quern_status result, status = vote(exchange, call, meeting, &result, &rounds);
    if (status == QUERN_OK && result == QUERN_OK) status = copy(exchange, meeting, rounds);
    if (status == QUERN_OK) status = quern_ragged_meet_here(call, meeting, QUERN_PHASE_EXIT);
    QUERN_POINT(RAGGED_LEAVING);
    return status == QUERN_OK ? result : status;
}

static quern_status run_long(struct quern_ragged_exchange *exchange, struct quern_ragged_call *call, struct quern_meeting meeting) {
    quern_status status = enter(exchange, call, reserve_lists(call), meeting);
    return status == QUERN_OK ? vote_and_copy(exchange, call, meeting) : status;
}

/* All outputs can be reached.  The poison is checked as in copy. */
static quern_status run_direct(const struct quern_ragged_call *call, struct quern_meeting meeting,
                               const struct quern_ragged_eager *eager) {
    QUERN_POINT(RAGGED_VOTED);
    quern_status status = quern_check_poison(call->member);
    if (status != QUERN_OK) return status;
    QUERN_POINT(RAGGED_COPYING);
    status = quern_ragged_deliver(call, eager);
    QUERN_POINT(RAGGED_COPIED);
    if (status == QUERN_OK) status = quern_ragged_meet_here(call, meeting, QUERN_PHASE_EXIT);
    QUERN_POINT(RAGGED_LEAVING);
    return status;
}

/*
 * A rank that offers the long protocol alone has its record ready at the entry, which then is the entry of the long protocol for
 * all.
 */
static quern_status run_eager(struct quern_ragged_exchange *exchange, struct quern_ragged_call *call,
                              struct quern_meeting meeting) {
    struct quern_ragged_eager eager[QUERN_EAGER_ENTRIES];
    enum quern_ragged_protocol protocol;
    if (quern_ragged_write_eager(call, &eager[call->place]) == QUERN_RAGGED_LONG) announce(exchange, call, reserve_lists(call));
    QUERN_POINT(RAGGED_RECORDED);
    meeting.phase = QUERN_PHASE_ENTRY;
    quern_status status = quern_ragged_enter(call, exchange, &meeting, &eager[call->place]);
    if (status == QUERN_OK) status = quern_ragged_read_eager(call, eager, &protocol);
    if (status != QUERN_OK) return status;
    QUERN_POINT(RAGGED_BRIEFED);
    if (protocol == QUERN_RAGGED_DIRECT) return run_direct(call, meeting, eager);
    if (protocol == QUERN_RAGGED_LONG) return vote_and_copy(exchange, call, meeting);
    if (protocol == QUERN_RAGGED_MIXED) return run_long(exchange, call, meeting);
    quern_ragged_receive(call, eager);
    QUERN_POINT(RAGGED_RECEIVED);
    return QUERN_OK;
}

static quern_status host_run(struct quern_ragged_call *call, void *stream) {
    (void)stream;
    struct quern_ragged_exchange exchange;
    const struct quern_meeting meeting = meeting_of(call, QUERN_IN_RAGGED_ALL_TO_ALL);
    return (quern_ragged_is_eager(call) ? run_eager : run_long)(&exchange, call, meeting);
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
    quern_status result, status = agree(&plan->exchange, &plan->call, plan->storage, meeting, &result, &plan->rounds);
    if (status == QUERN_OK) status = quern_ragged_meet_here(&plan->call, meeting, QUERN_PHASE_EXIT);
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

/* The metadata is known.  The outcomes only say whether a rank refuses its arguments, so the entry is also the vote. */
static quern_status plan_run(void *state, void *stream) {
    struct plan *plan = state;
    struct quern_ragged_call *call = &plan->call;
    struct quern_ragged_record *record = record_here(call->member, call->member->rank);
    struct quern_meeting meeting = meeting_of(call, QUERN_IN_PLAN_RUN);
    meeting.phase = QUERN_PHASE_ENTRY;
    int64_t none;
    record->outcome = (struct quern_ragged_outcome){.rounds = 0};
    call->refused = check_run(call, stream);
    if (call->refused != QUERN_OK) record_refusal(call, record);
    else quern_ragged_exchange_stage(&plan->exchange, 0);
    publish_outcome(call->member);
    QUERN_POINT(RAGGED_RECORDED);
    quern_status status = quern_ragged_vote(call, &meeting);
    if (status != QUERN_OK) return status;
    QUERN_POINT(RAGGED_ENTERED);
    quern_status result = count_votes(call, &call->set, &none);
    if (result == QUERN_OK) status = copy(&plan->exchange, meeting, plan->rounds);
    if (status == QUERN_OK) status = quern_ragged_meet_here(call, meeting, QUERN_PHASE_EXIT);
    QUERN_POINT(RAGGED_LEAVING);
    return status == QUERN_OK ? result : status;
}

const struct quern_ragged_transport quern_host_ragged = {
    .workspace_bytes = quern_ragged_exchange_workspace,
    .expect = quern_ragged_expect_eager,
    .run = host_run,
    .plan_create = plan_create,
    .plan_run = plan_run,
    .plan_destroy = plan_destroy,
};
