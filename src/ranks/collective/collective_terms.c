/* Seals and compares what the members of a collective say of their calls.  Called by collective_hosts.c and collective_nccl.c. */
#include "ranks/collective/collective_terms.h"

#include <string.h>

#include "ranks/ragged/ragged_seal.h"
#include "runtime/dtype.h"
#include "runtime/status.h"

enum { WORDS = sizeof(struct quern_collective_terms) / sizeof(uint64_t) };

static uint64_t seal_of(const struct quern_collective_terms *terms) {
    uint64_t words[WORDS];
    memcpy(words, terms, sizeof words);
    return quern_ragged_seal_words(words + 1, WORDS - 1);
}

void quern_write_collective_terms(const struct quern_collective_call *call, struct quern_collective_terms *terms) {
    *terms = (struct quern_collective_terms){.status = call->refused, .operation = call->form->operation};
    if (call->refused == QUERN_OK) {
        terms->dtype = call->dtype;
        terms->combination = call->combination;
        terms->count = call->count;
        terms->root = call->root;
        terms->workspace_id = call->workspace_place.id;
        terms->workspace_offset = call->workspace_place.offset;
    }
    terms->seal = seal_of(terms);
}

bool quern_collective_terms_are_sealed(const struct quern_collective_terms *terms) { return terms->seal == seal_of(terms); }

/* ---- comparing ---- */

static void describe_number(struct quern_text *text, int64_t value) { quern_text_add(text, "%lld", (long long)value); }
static void describe_dtype(struct quern_text *text, int64_t value) { quern_text_add(text, "%s", quern_dtype_name((quern_dtype)value)); }
static void describe_combination(struct quern_text *text, int64_t value) {
    quern_text_add(text, "%s", value == QUERN_COMBINE_MAX ? "max" : "sum");
}

static const struct {
    const char *name;
    size_t offset;
    void (*describe)(struct quern_text *text, int64_t value);
} fields[] = {{"args.dtype", offsetof(struct quern_collective_terms, dtype), describe_dtype},
              {"args.combination", offsetof(struct quern_collective_terms, combination), describe_combination},
              {"args.count", offsetof(struct quern_collective_terms, count), describe_number},
              {"args.root", offsetof(struct quern_collective_terms, root), describe_number}};

static int64_t value_of(const struct quern_collective_terms *terms, size_t field) {
    int64_t value;
    memcpy(&value, (const char *)terms + fields[field].offset, sizeof value);
    return value;
}

static quern_status report_difference(const struct quern_collective_call *call, const struct quern_collective_terms *terms,
                                      int place, size_t field) {
    char words[200];
    struct quern_text text = quern_text_begin(words, sizeof words);
    quern_text_add(&text, "%s is ", fields[field].name);
    fields[field].describe(&text, value_of(&terms[0], field));
    quern_text_add(&text, " on rank %d and ", call->rank_at[0]);
    fields[field].describe(&text, value_of(&terms[place], field));
    quern_text_add(&text, " on rank %d", call->rank_at[place]);
    return quern_fail(call->member->device, QUERN_PEER_MISMATCH, "%s: %s: expected the same on all members", call->member->label, words);
}

quern_status quern_compare_collective_terms(const struct quern_collective_call *call, const struct quern_collective_terms *terms,
                                            const char *(*reason)(void *user, int place), void *user) {
    for (int place = 0; place < call->places; place++) {
        if (terms[place].status == QUERN_OK) continue;
        if (call->refused != QUERN_OK) return call->refused;
        return quern_fail(call->member->device, QUERN_PEER_MISMATCH, "%s: rank %d refused its own arguments: %s",
                          call->member->label, call->rank_at[place], reason(user, place));
    }
    for (int place = 1; place < call->places; place++)
        for (size_t field = 0; field < sizeof fields / sizeof *fields; field++)
            if (value_of(&terms[place], field) != value_of(&terms[0], field)) return report_difference(call, terms, place, field);
    return QUERN_OK;
}
