/* Writes, reads and compares the records in which members tell their arguments.  Called by all operations that have some. */
#include "ranks/terms.h"

#include "ranks/describe.h"
#include "ranks/poison.h"
#include "runtime/status.h"

char *quern_write_record(const struct quern_terms *terms, void *record, char *there) {
    quern_write_digest(record, terms->bytes);
    memcpy(there, record, terms->bytes);
    there += terms->bytes;
    if (((const struct quern_record *)record)->refused == QUERN_OK) return there;
    quern_error_detail(there, QUERN_REASON_BYTES);
    return there + QUERN_REASON_BYTES;
}

quern_status quern_poison_damaged(const struct quern_membership *member, const char *what, int rank) {
    return quern_poison(member, QUERN_PEER_MISMATCH, "rank %d read a damaged %s of rank %d: " QUERN_BY_FOREIGN_PROCESS,
                        member->rank, what, rank);
}

/* Equal digests say equal records.  A field of up to eight bytes is a number, in the order of all targets: little end first. */
static void compare(const struct quern_terms *terms, const void *first, const void *other, struct quern_slice_report *report) {
    const struct quern_record *one = first, *two = other;
    if (one->digest == two->digest) return;
    if (memcmp(one->members, two->members, sizeof one->members) != 0) report->fault = QUERN_TERMS_MEMBERS;
    for (int i = 0; i < terms->count && report->fault == QUERN_SLICE_FINE; i++) {
        const struct quern_term *term = &terms->term[i];
        const char *a = (const char *)first + term->offset, *b = (const char *)other + term->offset;
        if (memcmp(a, b, term->bytes) == 0) continue;
        report->fault = term->fault;
        if (term->bytes > sizeof report->value) return;
        memcpy(&report->value, a, term->bytes);
        memcpy(&report->limit, b, term->bytes);
    }
}

quern_status quern_read_record(struct quern_reading *reading, int place, const void *there, void *record) {
    const struct quern_terms *terms = reading->terms;
    const struct quern_record *copy = record;
    struct quern_slice_report *difference = &reading->difference;
    const int rank = reading->rank_at[place];
    memcpy(record, there, terms->bytes);
    if (!quern_has_digest(record, terms->bytes)) return quern_poison_damaged(reading->member, "record", rank);
    if (!place) memcpy(reading->first, record, terms->bytes);
    if (copy->refused != QUERN_OK && !reading->reason) {
        reading->reason = (const char *)there + terms->bytes;
        reading->refused = copy->refused;
        reading->refuser = rank;
    }
    if (difference->fault != QUERN_SLICE_FINE) return QUERN_OK;
    compare(terms, reading->first, record, difference);
    difference->rank = reading->rank_at[0];
    difference->peer = rank;
    return QUERN_OK;
}

quern_status quern_fail_report(const struct quern_membership *member, const struct quern_slice_report *report) {
    char words[256];
    struct quern_text text = quern_text_begin(words, sizeof words);
    quern_describe_slice(&text, report);
    return quern_fail(member->device, quern_slice_status(report), "%s: %s", member->label, words);
}

quern_status quern_fail_refused(const struct quern_membership *member, quern_status status, int rank, const char *written) {
    char reason[QUERN_REASON_BYTES];
    quern_copy_text(reason, written, sizeof reason);
    return quern_fail(member->device, status, "%s: rank %d refused its own arguments: %s", member->label, rank, reason);
}

quern_status quern_judge_records(const struct quern_reading *reading, quern_status own, bool as_told) {
    const struct quern_membership *member = reading->member;
    if (!reading->reason)
        return reading->difference.fault == QUERN_SLICE_FINE ? QUERN_OK : quern_fail_report(member, &reading->difference);
    if (own != QUERN_OK) return own;
    return quern_fail_refused(member, as_told ? quern_told_status(reading->refused) : QUERN_PEER_MISMATCH, reading->refuser,
                              reading->reason);
}
