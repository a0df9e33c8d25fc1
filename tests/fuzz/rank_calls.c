/* The collective calls of a rank in a thread, and the checks of what they deliver.  A table; called by ranks.c. */
#include "rank_calls.h"

#include "calls.h"

#define TRY(call) do { const quern_status tried = (call); if (tried != QUERN_OK) return tried; } while (0)

/* ---- the barrier ---- */

bool step_has_member(const struct step *step, int rank) {
    for (int i = 0; i < step->member_count; i++)
        if (step->members[i] == rank) return true;
    return false;
}

static quern_status make_barrier(struct rank *rank, const struct step *step) {
    quern_barrier_args args = QUERN_BARRIER_ARGS_INIT;
    if (!step_has_member(step, rank->rank)) return QUERN_OK;
    args.members = step->members;
    args.member_count = step->listed_count[rank->rank];
    return quern_barrier(rank->group, &args, NULL);
}

/* ---- symmetric memory ---- */

/* Every rank finds in every part what its owner wrote. */
static quern_status look_at_parts(struct rank *rank, unsigned char *mine, const size_t *bytes) {
    memset(mine, 'a' + rank->rank, bytes[rank->rank]);
    TRY(quern_barrier(rank->group, NULL, NULL));
    for (int peer = 0; peer < rank->meeting->ranks; peer++) {
        void *part;
        TRY(quern_symmetric_peer(rank->group, mine, peer, &part));
        for (size_t i = 0; rank->meeting->is_orderly && i < bytes[peer]; i++)
            if (((unsigned char *)part)[i] != 'a' + peer)
                fuzz_fail("rank %d reads %d in byte %zu of the part of rank %d", rank->rank, ((unsigned char *)part)[i], i, peer);
    }
    return quern_barrier(rank->group, NULL, NULL);
}

static quern_status make_memory(struct rank *rank, const struct step *step) {
    void *memory;
    TRY(quern_symmetric_alloc(&rank->group, 1, &step->bytes[rank->rank], &memory));
    for (size_t i = 0; i < step->bytes[rank->rank]; i++)
        if (((unsigned char *)memory)[i]) fuzz_fail("byte %zu of new symmetric memory is %d", i, ((unsigned char *)memory)[i]);
    TRY(look_at_parts(rank, memory, step->bytes));
    return quern_symmetric_free(rank->group, memory, NULL);
}

static quern_status make_registration(struct rank *rank, const struct step *step) {
    static const size_t bytes[MOST_IN_GROUP] = {REGISTERED, REGISTERED, REGISTERED};
    void *memory = rank->registered[step - rank->meeting->steps];
    TRY(quern_symmetric_register(&rank->group, 1, &memory, &bytes[rank->rank]));
    TRY(look_at_parts(rank, memory, bytes));
    return quern_symmetric_unregister(rank->group, memory, NULL);
}

/* ---- split ---- */

/* The place of a rank among those of its colour. */
static int expected_rank(const struct step *step, int ranks, int rank, int *size) {
    int place = *size = 0;
    for (int other = 0; other < ranks; other++) {
        if (step->colours[other] != step->colours[rank]) continue;
        ++*size;
        place += step->keys[other] < step->keys[rank] || (step->keys[other] == step->keys[rank] && other < rank);
    }
    return place;
}

static quern_status make_split(struct rank *rank, const struct step *step) {
    quern_group *part = (quern_group *)rank;
    int size;
    TRY(quern_group_split(&rank->group, 1, &step->colours[rank->rank], &step->keys[rank->rank], &part));
    if ((step->colours[rank->rank] < 0) != !part)
        fuzz_fail("rank %d of colour %d got %p", rank->rank, step->colours[rank->rank], (void *)part);
    if (!part) return QUERN_OK;
    const int place = expected_rank(step, rank->meeting->ranks, rank->rank, &size);
    if (rank->meeting->is_orderly && (quern_group_rank(part) != place || quern_group_size(part) != size))
        fuzz_fail("rank %d became %d of %d: expected %d of %d", rank->rank, quern_group_rank(part), quern_group_size(part), place,
                  size);
    const quern_status status = quern_barrier(part, NULL, NULL);
    const quern_status destroyed = quern_group_destroy(part);
    return status == QUERN_OK ? destroyed : status;
}

/* ---- exchanges ---- */

/* Collective over all ranks.  *memory is NULL if the rank sends nothing. */
static quern_status make_workspace(struct rank *rank, const struct side *side, size_t *bytes, void **memory) {
    if (!side || quern_ragged_all_to_all_workspace(rank->group, &side->args, bytes) != QUERN_OK) *bytes = 64;
    TRY(quern_symmetric_alloc(&rank->group, 1, bytes, memory));
    if (side && side->short_workspace) --*bytes;
    return QUERN_OK;
}

static quern_status make_exchange(struct rank *rank, const struct step *step) {
    const struct side *side = exchange_side(step->exchange, rank->rank);
    size_t bytes;
    void *workspace;
    TRY(make_workspace(rank, side, &bytes, &workspace));
    if (side) TRY(quern_ragged_all_to_all(rank->group, &side->args, workspace, bytes, NULL));
    return quern_symmetric_free(rank->group, workspace, NULL);
}

static quern_status make_plan(struct rank *rank, const struct step *step) {
    const struct side *side = exchange_side(step->exchange, rank->rank);
    quern_ragged_plan *plan;
    size_t bytes;
    void *workspace;
    TRY(make_workspace(rank, side, &bytes, &workspace));
    TRY(quern_ragged_plan_create(&rank->group, 1, &side->args, &workspace, &bytes, &plan));
    const quern_status status = quern_ragged_plan_run(plan, NULL);
    const quern_status destroyed = quern_ragged_plan_destroy(plan);
    if (status != QUERN_OK || destroyed != QUERN_OK) return status == QUERN_OK ? destroyed : status;
    return quern_symmetric_free(rank->group, workspace, NULL);
}

/* ---- collectives ---- */

static quern_status make_reduction(struct rank *rank, const struct step *step) {
    return reduction_run(step->reduction, rank->rank, rank->group);
}

const struct rank_call_row rank_calls[RANK_CALLS] = {
    [BARRIER] = {"ranks_barrier", make_barrier},
    [ALLOC] = {"ranks_symmetric_alloc", make_memory}, [REGISTER] = {"ranks_symmetric_register", make_registration},
    [SPLIT] = {"ranks_group_split", make_split}, [EXCHANGE] = {"ranks_ragged_all_to_all", make_exchange},
    [PLAN] = {"ranks_ragged_plan", make_plan}, [REDUCTION] = {"ranks_reduction", make_reduction},
};
