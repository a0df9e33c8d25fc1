/*
 * Plans of GPU ranks: the metadata is exchanged and checked once, on the host, and the list of copies is written to the workspace.
 * A run is then an entry, the copies and an exit.  Called by the public functions on plans.
 */
#include "ranks/ragged/ragged_plan_cuda.h"

#include <stdlib.h>
#include <string.h>

#include "ranks/agreement.h"
#include "ranks/barrier_cuda.h"
#include "ranks/cuda_launch.h"
#include "ranks/describe.h"
#include "ranks/meeting.h"
#include "ranks/ragged/ragged_check.h"
#include "ranks/ragged/ragged_launch_cuda.h"
#include "runtime/status.h"

struct plan {
    struct quern_ragged_call call;
    struct quern_ragged_launch launch;
    quern_group *group;
    bool unmarked;                                      /* the end of a run has no event */
};

/* The terms of a rank's call, sent to all ranks. */
struct terms {
    uint32_t members[QUERN_RANK_WORDS];
    int64_t entries, updates, row_bytes;
    uint64_t output_id;
    int64_t output_offset;
};

/* The creation of plans, by all ranks of one thread. */
struct creation {
    struct quern_ragged_call *calls;
    int count;
    struct quern_membership *members[QUERN_RANK_LIMIT];
    struct plan *plans[QUERN_RANK_LIMIT];               /* of calls[i] */
    struct terms all_terms[QUERN_RANK_LIMIT];                /* of every rank */
    int64_t entries;                                    /* the most that any rank has */
    struct quern_ragged_offer *mine;                    /* of the ranks of this thread: [count, entries] */
    struct quern_ragged_offer *offers;                  /* of every rank: [ranks, entries] */
};

/* ---- exchanging ---- */

static quern_status exchange(struct creation *creation, const void *const *payloads, size_t bytes, void *all) {
    return quern_exchange(creation->members, creation->count, QUERN_IN_PLAN_CREATE, payloads, bytes, all);
}

static struct terms terms_of(const struct quern_ragged_call *call) {
    struct terms terms = {.entries = quern_ragged_entries(call), .updates = call->updates, .row_bytes = call->row_bytes};
    memcpy(terms.members, call->set.words, sizeof terms.members);
    if (call->output_state == QUERN_MEMORY_SYMMETRIC) {
        terms.output_id = call->output_place.id;
        terms.output_offset = call->output_place.offset;
    }
    return terms;
}

static quern_status exchange_terms(struct creation *creation) {
    struct terms mine[QUERN_RANK_LIMIT];
    const void *payloads[QUERN_RANK_LIMIT];
    for (int i = 0; i < creation->count; i++) {
        mine[i] = terms_of(&creation->calls[i]);
        payloads[i] = &mine[i];
    }
    quern_status status = exchange(creation, payloads, sizeof *mine, creation->all_terms);
    for (int rank = 0; rank < creation->members[0]->ranks && status == QUERN_OK; rank++) {
        const int64_t entries = creation->all_terms[rank].entries;
        if (entries < 0 || entries > INT32_MAX) return quern_fail_damaged(creation->members[0]->device, "a message", rank);
        if (entries > creation->entries) creation->entries = entries;
    }
    return status;
}

static void write_offers(const struct quern_ragged_call *call, struct quern_ragged_offer *offers) {
    for (int64_t entry = 0; entry < quern_ragged_entries(call); entry++)
        offers[entry] = (struct quern_ragged_offer){quern_ragged_metadata(call, call->output_offsets, entry),
                                                    quern_ragged_metadata(call, call->send_sizes, entry)};
}

/* Memory for the offers of all ranks, and for those that this thread sends. */
static quern_status reserve_offers(struct creation *creation, int i) {
    const size_t entries = (size_t)creation->entries, ranks = (size_t)creation->members[0]->ranks;
    if (i) return QUERN_OK;
    creation->mine = calloc((size_t)creation->count * entries + 1, sizeof *creation->mine);
    creation->offers = malloc(ranks * entries * sizeof *creation->offers + 1);
    if (creation->mine && creation->offers) return QUERN_OK;
    return quern_fail(creation->members[0]->device, QUERN_OUT_OF_MEMORY, "no memory for the metadata of %zu ranks", ranks);
}

static quern_status exchange_offers(struct creation *creation) {
    const void *payloads[QUERN_RANK_LIMIT];
    for (int i = 0; i < creation->count; i++) {
        payloads[i] = creation->mine + i * creation->entries;
        write_offers(&creation->calls[i], creation->mine + i * creation->entries);
    }
    return exchange(creation, payloads, (size_t)creation->entries * sizeof *creation->offers, creation->offers);
}

/* ---- checking ---- */

static bool differ(const struct quern_ragged_call *call, enum quern_slice_fault fault, int peer, int64_t mine, int64_t theirs,
                   struct quern_slice_report *report) {
    if (mine == theirs) return false;
    *report = (struct quern_slice_report){.fault = fault, .rank = call->member->rank, .peer = peer, .value = mine, .limit = theirs};
    return true;
}

/* The ranks of a meeting have the same members.  But the whole group meets to create a plan, so its members are compared. */
static quern_status check_members(const struct creation *creation, const struct quern_ragged_call *call) {
    for (int place = 0; place < call->places; place++)
        if (memcmp(creation->all_terms[call->rank_at[place]].members, call->set.words, sizeof call->set.words) != 0)
            return quern_fail(call->member->device, QUERN_PEER_MISMATCH,
                              "args.members differ from those of rank %d: expected the same",
                              call->rank_at[place]);
    return QUERN_OK;
}

static bool terms_agree(const struct creation *creation, const struct quern_ragged_call *call, struct quern_slice_report *report) {
    for (int place = 0; place < call->places; place++) {
        const int peer = call->rank_at[place];
        const struct terms *terms = &creation->all_terms[peer];
        if (differ(call, QUERN_SLICE_UPDATES, peer, call->updates, terms->updates, report) ||
            differ(call, QUERN_SLICE_ROW_BYTES, peer, call->row_bytes, terms->row_bytes, report))
            return false;
    }
    return true;
}

static bool has_rows(const struct quern_ragged_notice *notices, int64_t updates) {
    for (int64_t update = 0; update < updates; update++)
        if (notices[update].size > 0) return true;
    return false;
}

/* A sender finds the output of this rank at the place of its own output. */
static bool places_agree(const struct creation *creation, const struct quern_ragged_call *call,
                         const struct quern_ragged_notice *inbox, struct quern_slice_report *report) {
    const struct terms *mine = &creation->all_terms[call->member->rank];
    for (int place = 0; place < call->places; place++) {
        const int peer = call->rank_at[place];
        const struct terms *terms = &creation->all_terms[peer];
        bool same = terms->output_id == mine->output_id && terms->output_offset == mine->output_offset;
        if (same || !has_rows(inbox + place * call->updates, call->updates)) continue;
        *report = (struct quern_slice_report){.fault = QUERN_SLICE_OUTPUT_PLACE, .rank = call->member->rank, .peer = peer};
        return false;
    }
    return true;
}

static void gather_inbox(const struct creation *creation, const struct quern_ragged_call *call, struct quern_ragged_notice *inbox) {
    for (int place = 0; place < call->places; place++) {
        const struct quern_ragged_offer *offers = creation->offers + call->rank_at[place] * creation->entries +
                                                  call->place * call->updates;
        for (int64_t update = 0; update < call->updates; update++)
            inbox[place * call->updates + update] =
                (struct quern_ragged_notice){.output_offset = offers[update].output_offset, .size = offers[update].size};
    }
}

/* The sender itself reports its negative numbers.  Whatever a receiver says of their slices would be misleading. */
static bool has_negatives(const struct quern_ragged_call *call, const struct quern_ragged_notice *inbox) {
    const int64_t entries = quern_ragged_entries(call);
    for (int64_t entry = 0; entry < entries; entry++)
        if (inbox[entry].size < 0 || inbox[entry].output_offset < 0) return true;
    return false;
}

static quern_status check_receives(const struct creation *creation, const struct quern_ragged_call *call,
                                   struct quern_slice_report *report) {
    const size_t entries = (size_t)quern_ragged_entries(call);
    struct quern_ragged_notice *inbox = malloc(entries * sizeof *inbox + 1);
    int64_t *order = malloc(entries * sizeof *order + 1);
    quern_status status = QUERN_OK;
    if (!inbox || !order) {
        status = quern_fail(call->member->device, QUERN_OUT_OF_MEMORY, "no memory for a plan of %zu slices", entries);
    } else {
        gather_inbox(creation, call, inbox);
        if (!has_negatives(call, inbox) && places_agree(creation, call, inbox, report))
            quern_ragged_check_receives(call, inbox, order, report);
    }
    free(inbox);
    free(order);
    return status;
}

static quern_status check_metadata(const struct creation *creation, const struct quern_ragged_call *call) {
    struct quern_slice_report report = {.fault = QUERN_SLICE_FINE};
    quern_status status = check_members(creation, call);
    if (status == QUERN_OK && quern_ragged_check_sends(call, &report) && terms_agree(creation, call, &report))
        status = check_receives(creation, call, &report);
    if (status != QUERN_OK || report.fault == QUERN_SLICE_FINE) return status;
    char words[240];
    struct quern_text text = quern_text_begin(words, sizeof words);
    quern_describe_slice(&text, &report);
    return quern_fail(call->member->device, quern_slice_status(&report), "%s", words);
}

/* ---- the work ---- */

/* In the order of the kernel without a plan: peer after peer, beginning with the next place. */
static void list_work(const struct quern_ragged_call *call, const struct quern_ragged_problem *problem,
                      struct quern_ragged_work *work) {
    for (int turn = 1; turn <= call->places; turn++) {
        const int place = (call->place + turn) % call->places;
        for (int64_t entry = place * call->updates; entry < (place + 1) * call->updates; entry++) {
            const int64_t bytes = quern_ragged_metadata(call, call->send_sizes, entry) * call->row_bytes;
            if (!bytes) continue;
            work->slice[work->count++] = (struct quern_ragged_slice){
                .begin = work->bytes,
                .bytes = (uint64_t)bytes,
                .from = problem->input + quern_ragged_metadata(call, call->input_offsets, entry) * call->row_bytes,
                /* Unsigned, since the offset may be too large; the receiver reports that. */
                .to = (char *)((uintptr_t)problem->output[place] +
                               (uint64_t)quern_ragged_metadata(call, call->output_offsets, entry) * (uint64_t)call->row_bytes),
            };
            work->bytes += (uint64_t)bytes;
        }
    }
}

static quern_status store_work(struct plan *plan, const struct quern_ragged_work *work) {
    const quern_device *device = plan->call.member->device;
    struct quern_cuda_visit visit;
    CUresult error = quern_cuda_begin_visit(&visit, device->context);
    if (error == CUDA_SUCCESS)
        error = quern_cuda_write(&visit, (CUdeviceptr)(uintptr_t)plan->launch.problem.work, work,
                                 sizeof *work + work->count * sizeof *work->slice);
    quern_cuda_end_visit(&visit);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail(device, error, "writing a plan");
}

static quern_status prepare(struct plan *plan, const struct quern_ragged_call *call) {
    struct quern_ragged_layout layout;
    struct quern_ragged_work *work = calloc(1, sizeof *work + (size_t)quern_ragged_entries(call) * sizeof *work->slice);
    if (!work) return quern_fail(call->member->device, QUERN_OUT_OF_MEMORY, "no memory for a plan");
    *plan = (struct plan){.call = *call, .launch = {.member = call->member, .ready = call->ready}, .group = call->member->handle};
    quern_ragged_lay_out(call, &layout);
    quern_ragged_describe(call, &layout, QUERN_IN_PLAN_RUN, &plan->launch.problem);
    plan->launch.problem.planned = 1;
    if (call->in_place) {
        plan->launch.staged = (CUdeviceptr)(uintptr_t)call->input;
        plan->launch.staged_bytes = (size_t)(call->input_rows * call->row_bytes);
    }
    list_work(call, &plan->launch.problem, work);
    plan->launch.blocks = quern_ragged_blocks(call, (int64_t)work->bytes);
    quern_status status = store_work(plan, work);
    free(work);
    return status;
}

/* ---- creation ---- */

/* One step of all ranks of the thread.  Then all ranks of the group agree whether it has succeeded. */
static quern_status step(struct creation *creation, quern_status (*of_rank)(struct creation *creation, int i)) {
    for (int i = 0; i < creation->count; i++) quern_cast_vote(creation->members[i], of_rank(creation, i), 0);
    return quern_agree(creation->members, creation->count, QUERN_IN_PLAN_CREATE);
}

/* Checks that need no other rank. */
static quern_status begin(struct creation *creation, int i) {
    struct quern_ragged_call *call = &creation->calls[i];
    quern_status status = quern_ragged_check_cuda(call);
    if (status != QUERN_OK) return status;
    creation->plans[i] = malloc(sizeof *creation->plans[i]);
    return creation->plans[i] ? QUERN_OK : quern_fail(call->member->device, QUERN_OUT_OF_MEMORY, "no memory for a plan");
}

/* Checks with the metadata of all ranks, then makes the plan. */
static quern_status finish(struct creation *creation, int i) {
    quern_status status = check_metadata(creation, &creation->calls[i]);
    return status == QUERN_OK ? prepare(creation->plans[i], &creation->calls[i]) : status;
}

/* The first step of a thread without memory: its peers must not wait for it. */
static quern_status refuse(const struct quern_ragged_call *calls, int count) {
    struct quern_membership *members[QUERN_RANK_LIMIT];
    quern_status status = quern_fail(calls->member->device, QUERN_OUT_OF_MEMORY, "no memory to create plans");
    for (int i = 0; i < count; i++) {
        members[i] = calls[i].member;
        quern_cast_vote(members[i], status, 0);
    }
    return quern_agree(members, count, QUERN_IN_PLAN_CREATE);
}

quern_status quern_cuda_plan_create(struct quern_ragged_call *calls, int count, void **states) {
    struct creation *creation = calloc(1, sizeof *creation);
    if (!creation) return refuse(calls, count);
    creation->calls = calls;
    creation->count = count;
    for (int i = 0; i < count; i++) creation->members[i] = calls[i].member;
    quern_status status = step(creation, begin);
    if (status == QUERN_OK) status = exchange_terms(creation);
    if (status == QUERN_OK) status = step(creation, reserve_offers);
    if (status == QUERN_OK) status = exchange_offers(creation);
    if (status == QUERN_OK) status = step(creation, finish);
    for (int i = 0; i < count; i++) {
        if (status == QUERN_OK) states[i] = creation->plans[i];
        else free(creation->plans[i]);
    }
    free(creation->mine);
    free(creation->offers);
    free(creation);
    return status;
}

/* ---- runs ---- */

static quern_status run(struct plan *plan, CUstream stream) {
    struct quern_membership *member = plan->launch.member;
    struct quern_cuda_entry entry;
    quern_status status = quern_cuda_enter(member, stream, &entry);
    if (status != QUERN_OK) return status;
    quern_cuda_report(member, plan->launch.problem.links.tag | QUERN_PHASE_ENTRY << 16);
    status = quern_ragged_launch(&plan->launch, &entry, stream);
    quern_status left = quern_cuda_leave(member, stream, &entry);
    plan->unmarked |= entry.capturing || left != QUERN_OK;
    return status == QUERN_OK ? left : status;
}

quern_status quern_cuda_plan_run(void *state, void *stream) {
    struct plan *plan = state;
    const struct quern_ragged_call *call = &plan->call;
    const char *gone = quern_ragged_find_freed(call);
    quern_status status = gone ? quern_fail(call->member->device, QUERN_INVALID_ARGUMENT,
                                            "the plan's %s is in symmetric memory that was freed", gone)
                               : quern_ragged_check_room(call);
    if (status == QUERN_OK) return run(plan, stream);
    quern_status told = quern_cuda_refuse(call->member, &call->set, QUERN_IN_PLAN_RUN, call->timeout, stream);
    return told == QUERN_OK ? status : told;
}

quern_status quern_cuda_plan_destroy(void *state) {
    struct plan *plan = state;
    const struct quern_membership *member = __atomic_load_n(&plan->group->member, __ATOMIC_ACQUIRE);
    quern_status status = member ? quern_cuda_settle(member, plan->unmarked) : QUERN_OK;
    if (status != QUERN_INVALID_ARGUMENT) free(plan);
    return status;
}
