/* Plans which rows go to which expert, and moves them.  Called by mixture.c. */
#include "dispatch.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "router.h"

bool dispatch_create(struct dispatch *dispatch, struct rank *rank, int experts, int64_t width, int64_t rows, int64_t capacity) {
    int first = (int)share_first(experts, rank->rank, rank->ranks), end = (int)share_first(experts, rank->rank + 1, rank->ranks);
    int most = (experts + rank->ranks - 1) / rank->ranks;  /* experts on a rank */
    size_t pairs = (size_t)rank->ranks * (size_t)experts, row_bytes = (size_t)width * sizeof(float);
    *dispatch = (struct dispatch){
        .rank = rank,
        .experts = experts,
        .first_expert = first,
        .own_experts = end - first,
        .departure = allocate(pairs * sizeof(int64_t)),
        .arrival = allocate(pairs * sizeof(int64_t)),
        .place = allocate((size_t)rows * CHOICES * sizeof(int32_t)),
        .first = allocate((size_t)(end - first + 1) * sizeof(int64_t)),
        .loads = allocate((size_t)experts * sizeof(int64_t)),
    };
    return gather_create(&dispatch->counts, rank, TOKENS, (size_t)experts * sizeof(int32_t)) &&
           exchange_create(&dispatch->there, rank, TOKENS, rows * CHOICES, (int64_t)row_bytes, most) &&
           exchange_create(&dispatch->back, rank, TOKENS, capacity, (int64_t)row_bytes, most);
}

void dispatch_free(struct dispatch *dispatch) {
    gather_free(&dispatch->counts);
    exchange_free(&dispatch->there);
    exchange_free(&dispatch->back);
    free(dispatch->departure);
    free(dispatch->arrival);
    free(dispatch->place);
    free(dispatch->first);
    free(dispatch->loads);
    *dispatch = (struct dispatch){0};
}

/* Counts this rank's rows for each expert and sorts them by expert: a counting sort that keeps the order of the tokens. */
static void sort(struct dispatch *dispatch, int64_t rows, const int32_t *chosen) {
    int32_t *counts = dispatch->counts.own.host;
    int64_t *next = dispatch->loads;  /* computed again once all counts are known */
    dispatch->sent = rows * CHOICES;
    memset(counts, 0, (size_t)dispatch->experts * sizeof *counts);
    for (int64_t i = 0; i < dispatch->sent; i++) counts[chosen[i]]++;
    next[0] = 0;
    for (int e = 1; e < dispatch->experts; e++) next[e] = next[e - 1] + counts[e - 1];
    for (int64_t i = 0; i < dispatch->sent; i++) dispatch->place[i] = (int32_t)next[chosen[i]]++;
}

/* Every rank computes this for all ranks, from the same counts. */
static void locate(struct dispatch *dispatch) {
    const int32_t *counts = dispatch->counts.rows.host;
    int ranks = dispatch->rank->ranks, experts = dispatch->experts;
    for (int rank = 0; rank < ranks; rank++)
        for (int64_t e = 0, at = 0; e < experts; at += counts[rank * experts + e++]) dispatch->departure[rank * experts + e] = at;
    for (int owner = 0; owner < ranks; owner++) {
        int64_t first = share_first(experts, owner, ranks), end = share_first(experts, owner + 1, ranks), at = 0;
        for (int64_t e = first; e < end; e++) {
            int64_t begin = at;
            for (int rank = 0; rank < ranks; at += counts[rank++ * experts + e]) dispatch->arrival[rank * experts + e] = at;
            dispatch->loads[e] = at - begin;
        }
    }
    dispatch->first[0] = 0;
    for (int e = 0; e < dispatch->own_experts; e++)
        dispatch->first[e + 1] = dispatch->first[e] + dispatch->loads[dispatch->first_expert + e];
    dispatch->received = dispatch->first[dispatch->own_experts];
}

/* Entry i of the metadata: the rows that this rank's tokens send to one expert and get back from it. */
static void describe_sent(struct dispatch *dispatch, int64_t i, bool exists, int64_t expert) {
    int64_t at = dispatch->rank->rank * dispatch->experts + expert;
    const int32_t *counts = dispatch->counts.rows.host;
    dispatch->there.input_offsets[i] = exists ? dispatch->departure[at] : 0;
    dispatch->there.output_offsets[i] = exists ? dispatch->arrival[at] : 0;
    dispatch->there.send_sizes[i] = dispatch->back.recv_sizes[i] = exists ? counts[at] : 0;
}

/* The rows that one of this rank's experts receives from a peer and returns to it. */
static void describe_received(struct dispatch *dispatch, int64_t i, bool exists, int64_t expert, int peer) {
    int64_t at = peer * dispatch->experts + expert;
    const int32_t *counts = dispatch->counts.rows.host;
    dispatch->back.input_offsets[i] = exists ? dispatch->arrival[at] : 0;
    dispatch->back.output_offsets[i] = exists ? dispatch->departure[at] : 0;
    dispatch->back.send_sizes[i] = dispatch->there.recv_sizes[i] = exists ? counts[at] : 0;
}

bool dispatch_plan(struct dispatch *dispatch, int64_t rows, const int32_t *chosen) {
    int ranks = dispatch->rank->ranks;
    sort(dispatch, rows, chosen);
    if (!gather_run(&dispatch->counts)) return false;
    locate(dispatch);
    for (int64_t i = 0; i < ranks * dispatch->there.updates; i++) {
        int peer = (int)(i / dispatch->there.updates);
        int64_t update = i % dispatch->there.updates;
        int64_t theirs = share_first(dispatch->experts, peer, ranks) + update, own = dispatch->first_expert + update;
        describe_sent(dispatch, i, theirs < share_first(dispatch->experts, peer + 1, ranks), theirs);
        describe_received(dispatch, i, update < dispatch->own_experts, own, peer);
    }
    return true;
}

bool dispatch_run(struct dispatch *dispatch, const struct mirrored *sent, const struct mirrored *received) {
    return exchange_run(&dispatch->there, sent, dispatch->sent, received, dispatch->received);
}

bool combine_run(struct dispatch *dispatch, const struct mirrored *processed, const struct mirrored *returned) {
    return exchange_run(&dispatch->back, processed, dispatch->received, returned, dispatch->sent);
}
