/*
 * What the members of a call must agree on before data moves.  Each writes a record to where the others read it, and meets them.
 * Then each reads the records of all and compares them with that of the lowest member, so all find the same difference.
 *
 * Any process may write where records lie.  So each is copied once, and it is the copy that is compared and used.
 */
#ifndef QUERN_TERMS_H
#define QUERN_TERMS_H

#include "ranks/membership.h"

/* How a record begins. */
struct quern_record {
    uint64_t digest;          /* of all that follows in the record: ranks act on it, so it must be what the rank has written */
    uint64_t members[2];      /* quern_set_describe */
    uint32_t refused;         /* quern_status.  Not QUERN_OK: the rank refuses its arguments, and behind the record is the reason */
    uint32_t flags;           /* of the operation */
};

enum { QUERN_RECORD_BYTES = 192, QUERN_REASON_BYTES = 256 };  /* the most that a record has; with the end of the text */

/* A field that is the same in the records of all members, by the fault that tells a difference. */
struct quern_term {
    enum quern_slice_fault fault;
    size_t offset, bytes;
};

/* The records of an operation.  The members come before its terms, of which the first that differs is told. */
struct quern_terms {
    const struct quern_term *term;
    int count;
    size_t bytes;             /* of a record */
};

#define QUERN_TERM(fault, record, field) {fault, offsetof(record, field), sizeof(((record *)NULL)->field)}

/* The records of the members of a call, while they are read.  Zero but for the first three. */
struct quern_reading {
    const struct quern_terms *terms;
    const struct quern_membership *member;
    const uint16_t *rank_at;
    int refuser;              /* the lowest rank that refuses its arguments, if `reason` is not NULL */
    uint32_t refused;
    const char *reason;
    struct quern_slice_report difference;
    unsigned char first[QUERN_RECORD_BYTES];
};

/* Writes the record of a rank, and the reason of the thread's last error if the record says that it refuses.  Returns the end. */
char *quern_write_record(const struct quern_terms *terms, void *record, char *there);

/* Copies the record of the member at a place, in ascending order.  Fails if it is damaged, which poisons the group. */
quern_status quern_read_record(struct quern_reading *reading, int place, const void *there, void *record);

/*
 * The outcome, the same on all members but those that refuse, whose own error stays: of the lowest rank that refuses, as
 * QUERN_PEER_MISMATCH or as its own status, and else of the first difference.
 */
quern_status quern_judge_records(const struct quern_reading *reading, quern_status own, bool as_told);

/* Poisons the group: what lies in the shared memory, `what`, was not written by its rank. */
quern_status quern_poison_damaged(const struct quern_membership *member, const char *what, int rank);

/* Fails because a rank has refused its arguments, for a reason that it has written. */
quern_status quern_fail_refused(const struct quern_membership *member, quern_status status, int rank, const char *written);

/* Fails with a difference, or with another fault. */
quern_status quern_fail_report(const struct quern_membership *member, const struct quern_slice_report *report);

#endif
