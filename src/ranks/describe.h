/* The text about calls, ranks and faulty slices, for details, log lines and quern_group_report. */
#ifndef QUERN_DESCRIBE_H
#define QUERN_DESCRIBE_H

#include "os/text.h"
#include "quern.h"
#include "ranks/membership.h"

/* Appends the call that a tag names: "quern_barrier", "quern_ragged_all_to_all (entry)". */
void quern_describe_tag(struct quern_text *text, uint32_t tag);

/* Appends where a rank is: "process 4711", or "process 4711 on host 10.77.0.2". */
void quern_describe_place(struct quern_text *text, const struct quern_roster *roster, int rank);

/* Appends one line of quern_group_report, without its end. */
void quern_describe_rank(struct quern_text *text, const struct quern_membership *member, int rank);

/*
 * Appends how a rank that counts as gone has ended: "has ended", "is lost: its connection has ended".  `left`: it has said that it
 * leaves.
 */
void quern_describe_end(struct quern_text *text, const struct quern_membership *member, int rank, bool left);

/* Copies text from shared memory: at most `bytes` - 1 characters, on one line, with an end. */
void quern_copy_text(char *to, const char *from, size_t bytes);

/* The status that another rank has written; QUERN_PEER_MISMATCH for a number that is none, or QUERN_OK. */
quern_status quern_told_status(uint32_t number);

/* A list of missing ranks: the first eight, then the number of the others. */
struct quern_missing_list {
    struct quern_text *text;
    const struct quern_membership *member;
    int count;
};

/* Appends a rank: its last signal, and the epoch and the call of its group that were expected. */
void quern_list_missing(struct quern_missing_list *list, int rank, uint32_t last_epoch, uint32_t expected_epoch, uint32_t last_tag);
void quern_end_missing(const struct quern_missing_list *list);

/* Appends a fault of a slice, "sender 1, receiver 0, update 3: send_sizes is -2, expected 0 or more", or of a collective. */
void quern_describe_slice(struct quern_text *text, const struct quern_slice_report *report);

/* The status of a fault: QUERN_INVALID_SHAPE or QUERN_PEER_MISMATCH. */
quern_status quern_slice_status(const struct quern_slice_report *report);

#endif
