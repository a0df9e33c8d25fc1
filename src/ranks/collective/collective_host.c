/*
 * Collectives of CPU ranks of one host.  After the entry each rank reads the records of all (collective_record.c), so all come to
 * the same result:
 *
 *   small   All inputs are in the records, and each rank combines or copies its own result from there.
 *   large   Each rank finds the buffers of the others, and they work in rounds (collective_rounds.c), of which the last ends with
 *           the exit.  Ranks that have not the same symmetric memory vote first, whether each can reach all buffers.
 *
 * A small call of all ranks has one meeting, a large one two if no buffers are needed.  A rank that refuses its arguments takes
 * part in the entry, and in the exit if the call is not one of all ranks.
 *
 * The table at the end is a row of the host transport.
 */
#include "ranks/collective/collective.h"

#include "ranks/meeting.h"
#include "ranks/points.h"
#include "ranks/poison.h"

static struct quern_meeting meeting_of(const struct quern_collective_call *call, enum quern_phase phase) {
    return (struct quern_meeting){.operation = call->form->operation, .phase = phase, .set = &call->set, .timeout = call->timeout};
}

static quern_status enter(const struct quern_collective_call *call, const union quern_collective_telling *telling) {
    const struct quern_meeting meeting = meeting_of(call, QUERN_PHASE_ENTRY);
    return quern_meet_telling(call->member, &meeting, telling->words);
}

static quern_status meet(const struct quern_collective_call *call, enum quern_phase phase) {
    const struct quern_meeting meeting = meeting_of(call, phase);
    return quern_meet(call->member, &meeting);
}

/* If this rank was late, the others may have timed out and returned: then it has read memory that they use for something else. */
static quern_status leave(const struct quern_collective_call *call) {
    quern_status status = meet(call, QUERN_PHASE_EXIT);
    return status == QUERN_OK ? quern_check_poison(call->member) : status;
}

/* ---- large ---- */

struct outcome {
    int buffer, rank;  /* buffer -1: all can be reached */
};

/* Reads the places of all members.  Fails if they are damaged, which poisons the group. */
static quern_status reach(struct quern_collective_rounds *rounds, uint32_t half, struct outcome *outcome) {
    const struct quern_collective_call *call = rounds->call;
    *outcome = (struct outcome){-1, 0};
    for (int place = 0; place < call->places; place++) {
        struct quern_collective_places places;
        if (!quern_collective_read_places(call, half, place, &places))
            return quern_poison_damaged(call->member, "record", call->rank_at[place]);
        quern_collective_look_at(call, place, &places.sight, rounds->has_buffers);
        const int buffer = quern_collective_reach(rounds, place, &places);
        if (buffer >= 0 && outcome->buffer < 0) *outcome = (struct outcome){buffer, call->rank_at[place]};
    }
    return QUERN_OK;
}

/* Whether all can reach all: *result.  With the same symmetric memory all do, unless a record is not its rank's. */
static quern_status agree(const struct quern_collective_call *call, const struct outcome *outcome, bool same_live,
                          quern_status *result) {
    *result = QUERN_OK;
    if (same_live && outcome->buffer < 0) return QUERN_OK;
    if (same_live)
        return quern_poison(call->member, QUERN_PEER_MISMATCH, "rank %d finds a buffer of rank %d beyond the memory that it has "
                            "mapped of it", call->member->rank, outcome->rank);
    const uint32_t half = quern_collective_half(call->member);
    quern_collective_write_outcome(call, half, outcome->buffer, outcome->rank);
    quern_status status = meet(call, QUERN_PHASE_VOTE);
    return status == QUERN_OK ? quern_collective_read_outcomes(call, half, result) : status;
}

/* If this rank is late, the others may have timed out and returned after the meeting: then their memory must not be touched. */
static quern_status next_round(const struct quern_collective_call *call) {
    QUERN_POINT(COLLECTIVE_STAGED);
    quern_status status = meet(call, QUERN_PHASE_COPY);
    QUERN_POINT(COLLECTIVE_WINDOW);
    return status == QUERN_OK ? quern_check_poison(call->member) : status;
}

static quern_status work(const struct quern_collective_rounds *rounds) {
    QUERN_POINT(COLLECTIVE_REACHED);
    quern_status status = quern_check_poison(rounds->call->member);
    QUERN_POINT(COLLECTIVE_COPYING);
    if (status == QUERN_OK && rounds->has_late) {
        quern_collective_stage(rounds, 0);
        status = next_round(rounds->call);
    }
    const int64_t last = quern_collective_all_rounds(rounds) - 1;
    for (int64_t round = 0; status == QUERN_OK && round <= last; round++) {
        status = quern_collective_work(rounds, round);
        if (round < last && status == QUERN_OK) status = next_round(rounds->call);
    }
    QUERN_POINT(COLLECTIVE_COPIED);
    return status;
}

static quern_status run_large(const struct quern_collective_call *call, uint32_t half,
                              const struct quern_collective_summary *summary, quern_status *result) {
    struct quern_collective_rounds rounds;
    struct outcome outcome;
    quern_collective_choose(&rounds, call, summary);
    quern_status status = reach(&rounds, half, &outcome);
    if (status == QUERN_OK) status = agree(call, &outcome, summary->same_live, result);
    return status == QUERN_OK && *result == QUERN_OK ? work(&rounds) : status;
}

/* ---- a call ---- */

static quern_status host_run(struct quern_collective_call *call, void *stream) {
    (void)stream;
    struct quern_collective_summary summary;
    const char *inputs[QUERN_RANK_LIMIT];
    const bool some = call->places < call->member->ranks, large = call->refused == QUERN_OK && !quern_collective_is_small(call);
    const uint32_t half = quern_collective_half(call->member), traits = large ? quern_collective_begin(call) : 0;
    union quern_collective_telling telling = {.words = {0}};
    quern_status result;
    quern_collective_write_record(call, half, traits, &telling.told);
    QUERN_POINT(COLLECTIVE_RECORDED);
    quern_status status = enter(call, &telling);
    if (status != QUERN_OK) return status;
    if (!large && quern_collective_is_agreed(call, half)) result = QUERN_OK;
    else status = quern_collective_read_heads(call, half, &summary, &result);
    if (status != QUERN_OK) return status;
    QUERN_POINT(COLLECTIVE_READ);
    if (result == QUERN_OK && large) status = run_large(call, half, &summary, &result);
    else if (result == QUERN_OK) quern_collective_receive(call, half, inputs);
    QUERN_POINT(COLLECTIVE_RECEIVED);
    if (status == QUERN_OK && (some || (result == QUERN_OK && large))) status = leave(call);
    QUERN_POINT(COLLECTIVE_LEAVING);
    return status == QUERN_OK ? result : status;
}

const struct quern_collective_transport quern_host_collective = {
    .workspace_bytes = quern_collective_workspace_bytes,
    .expect = quern_collective_expect_record,
    .run = host_run,
    .repeats = true,
};
