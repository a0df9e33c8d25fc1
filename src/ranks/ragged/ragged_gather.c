/*
 * The metadata of all ranks, gathered and checked on the host.  Called when plans of GPU ranks are created, and by exchanges over
 * NCCL.
 */
#include "ranks/ragged/ragged.h"

#include <stdlib.h>
#include <string.h>

#include "ranks/agreement.h"
#include "ranks/describe.h"
#include "ranks/meeting.h"
#include "runtime/status.h"

void quern_ragged_begin_gathering(struct quern_ragged_gathering *gathering, struct quern_ragged_call *calls, int count,
                                  enum quern_collective operation, bool in_place_of_peers) {
    gathering->calls = calls;
    gathering->count = count;
    gathering->operation = operation;
    gathering->in_place_of_peers = in_place_of_peers;
    for (int i = 0; i < count; i++) gathering->members[i] = calls[i].member;
}

void quern_ragged_end_gathering(struct quern_ragged_gathering *gathering) {
    free(gathering->mine);
    free(gathering->offers);
}

quern_status quern_ragged_step(struct quern_ragged_gathering *gathering, quern_ragged_step_of_rank *of_rank) {
    for (int i = 0; i < gathering->count; i++) quern_cast_vote(gathering->members[i], of_rank(gathering, i), 0);
    return quern_agree(gathering->members, gathering->count, gathering->operation);
}

/* ---- exchanging ---- */

static quern_status exchange(struct quern_ragged_gathering *gathering, const void *const *payloads, size_t bytes, void *all) {
    return quern_exchange(gathering->members, gathering->count, gathering->operation, payloads, bytes, all);
}

static struct quern_ragged_outline terms_of(const struct quern_ragged_call *call) {
    struct quern_ragged_outline terms = {.entries = quern_ragged_entries(call), .updates = call->updates,
                                         .row_bytes = call->row_bytes};
    quern_set_describe(&call->set, call->member->ranks, terms.record.members);
    if (call->output_state == QUERN_MEMORY_SYMMETRIC) {
        terms.output_id = call->output_place.id;
        terms.output_offset = call->output_place.offset;
    }
    quern_write_digest(&terms, sizeof terms);
    return terms;
}

static quern_status exchange_terms(struct quern_ragged_gathering *gathering) {
    struct quern_ragged_outline mine[QUERN_RANK_LIMIT];
    const void *payloads[QUERN_RANK_LIMIT];
    for (int i = 0; i < gathering->count; i++) {
        mine[i] = terms_of(&gathering->calls[i]);
        payloads[i] = &mine[i];
    }
    quern_status status = exchange(gathering, payloads, sizeof *mine, gathering->outlines);
    for (int rank = 0; rank < gathering->members[0]->ranks && status == QUERN_OK; rank++) {
        const int64_t entries = gathering->outlines[rank].entries;
        if (entries < 0 || entries > INT32_MAX) return quern_fail_damaged(gathering->members[0]->device, "a message", rank);
        if (entries > gathering->entries) gathering->entries = entries;
    }
    return status;
}

static void write_offers(const struct quern_ragged_call *call, struct quern_ragged_notice *offers) {
    for (int64_t entry = 0; entry < quern_ragged_entries(call); entry++)
        offers[entry] = (struct quern_ragged_notice){quern_ragged_metadata(call, call->output_offsets, entry),
                                                     quern_ragged_metadata(call, call->send_sizes, entry),
                                                     quern_ragged_metadata(call, call->input_offsets, entry)};
}

/* Memory for the offers of all ranks, and for those that this thread sends. */
static quern_status reserve_offers(struct quern_ragged_gathering *gathering, int i) {
    const size_t entries = (size_t)gathering->entries, ranks = (size_t)gathering->members[0]->ranks;
    if (i) return QUERN_OK;
    gathering->mine = calloc((size_t)gathering->count * entries + 1, sizeof *gathering->mine);
    gathering->offers = malloc(ranks * entries * sizeof *gathering->offers + 1);
    if (gathering->mine && gathering->offers) return QUERN_OK;
    return quern_fail(gathering->members[0]->device, QUERN_OUT_OF_MEMORY, "no memory for the metadata of %zu ranks", ranks);
}

static quern_status exchange_offers(struct quern_ragged_gathering *gathering) {
    const void *payloads[QUERN_RANK_LIMIT];
    for (int i = 0; i < gathering->count; i++) {
        payloads[i] = gathering->mine + i * gathering->entries;
        write_offers(&gathering->calls[i], gathering->mine + i * gathering->entries);
    }
    return exchange(gathering, payloads, (size_t)gathering->entries * sizeof *gathering->offers, gathering->offers);
}

/* ---- checking ---- */

/* The ranks of a meeting have the same members.  But the whole group meets to create a plan, so its members are compared. */
static quern_status compare(const struct quern_ragged_gathering *gathering, const struct quern_ragged_call *call,
                            struct quern_slice_report *report) {
    static const struct quern_term terms[] = {QUERN_TERM(QUERN_SLICE_UPDATES, struct quern_ragged_outline, updates),
                                              QUERN_TERM(QUERN_SLICE_ROW_BYTES, struct quern_ragged_outline, row_bytes)};
    static const struct quern_terms all = {terms, sizeof terms / sizeof *terms, sizeof *gathering->outlines};
    struct quern_reading reading = {.terms = &all, .member = call->member, .rank_at = call->rank_at};
    quern_status status = QUERN_OK;
    for (int place = 0; place < call->places && status == QUERN_OK; place++) {
        struct quern_ragged_outline outline;
        status = quern_read_record(&reading, place, &gathering->outlines[call->rank_at[place]], &outline);
    }
    *report = reading.difference;
    return status;
}

static bool has_rows(const struct quern_ragged_notice *notices, int64_t updates) {
    for (int64_t update = 0; update < updates; update++)
        if (notices[update].size > 0) return true;
    return false;
}

/* A sender finds the output of this rank at the place of its own output. */
static bool places_agree(const struct quern_ragged_gathering *gathering, const struct quern_ragged_call *call,
                         const struct quern_ragged_notice *inbox, struct quern_slice_report *report) {
    const struct quern_ragged_outline *mine = &gathering->outlines[call->member->rank];
    for (int place = 0; place < call->places; place++) {
        const int peer = call->rank_at[place];
        const struct quern_ragged_outline *terms = &gathering->outlines[peer];
        bool same = terms->output_id == mine->output_id && terms->output_offset == mine->output_offset;
        if (same || !has_rows(inbox + place * call->updates, call->updates)) continue;
        *report = (struct quern_slice_report){.fault = QUERN_SLICE_OUTPUT_PLACE, .rank = call->member->rank, .peer = peer};
        return false;
    }
    return true;
}

const struct quern_ragged_notice *quern_ragged_offers_of(const struct quern_ragged_gathering *gathering,
                                                          const struct quern_ragged_call *call, int place) {
    return gathering->offers + call->rank_at[place] * gathering->entries + call->place * call->updates;
}

static void gather_inbox(const struct quern_ragged_gathering *gathering, const struct quern_ragged_call *call,
                         struct quern_ragged_notice *inbox) {
    const size_t bytes = (size_t)call->updates * sizeof *inbox;
    for (int place = 0; place < call->places && bytes; place++)
        memcpy(inbox + place * call->updates, quern_ragged_offers_of(gathering, call, place), bytes);
}

/* The sender itself reports its negative numbers.  Whatever a receiver says of their slices would be misleading. */
static bool has_negatives(const struct quern_ragged_call *call, const struct quern_ragged_notice *inbox) {
    const int64_t entries = quern_ragged_entries(call);
    for (int64_t entry = 0; entry < entries; entry++)
        if (inbox[entry].size < 0 || inbox[entry].output_offset < 0) return true;
    return false;
}

static quern_status check_receives(const struct quern_ragged_gathering *gathering, const struct quern_ragged_call *call,
                                   struct quern_slice_report *report) {
    const size_t entries = (size_t)quern_ragged_entries(call);
    struct quern_ragged_notice *inbox = malloc(entries * sizeof *inbox + 1);
    int64_t *order = malloc(entries * sizeof *order + 1);
    quern_status status = QUERN_OK;
    if (!inbox || !order) {
        status = quern_fail(call->member->device, QUERN_OUT_OF_MEMORY, "no memory for a plan of %zu slices", entries);
    } else {
        gather_inbox(gathering, call, inbox);
        if (!has_negatives(call, inbox) &&
            (!gathering->in_place_of_peers || places_agree(gathering, call, inbox, report)))
            quern_ragged_check_receives(call, inbox, order, report);
    }
    free(inbox);
    free(order);
    return status;
}

quern_status quern_ragged_check_gathered(const struct quern_ragged_gathering *gathering, const struct quern_ragged_call *call) {
    struct quern_slice_report report = {.fault = QUERN_SLICE_FINE};
    quern_status status = compare(gathering, call, &report);
    if (status == QUERN_OK && report.fault == QUERN_SLICE_FINE && quern_ragged_check_sends(call, &report))
        status = check_receives(gathering, call, &report);
    if (status != QUERN_OK || report.fault == QUERN_SLICE_FINE) return status;
    char words[240];
    struct quern_text text = quern_text_begin(words, sizeof words);
    quern_describe_slice(&text, &report);
    return quern_fail(call->member->device, quern_slice_status(&report), "%s", words);
}

quern_status quern_ragged_gather(struct quern_ragged_gathering *gathering) {
    quern_status status = exchange_terms(gathering);
    if (status == QUERN_OK) status = quern_ragged_step(gathering, reserve_offers);
    return status == QUERN_OK ? exchange_offers(gathering) : status;
}
