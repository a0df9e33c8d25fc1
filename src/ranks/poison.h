/* Poison ends a group for all its ranks at once.  For every wait and every call on a group. */
#ifndef QUERN_POISON_H
#define QUERN_POISON_H

#include "os/text.h"
#include "ranks/membership.h"

/* QUERN_OK, or fails with the status and the detail of the poison.  Cheap. */
quern_status quern_check_poison(const struct quern_membership *member);

/*
 * Poisons the group unless it is poisoned already, wakes every waiting rank, logs the report, and fails as quern_check_poison does.
 * The ranks in member->missing become known to all.  Only for the thread that owns the membership.
 */
quern_status quern_poison(const struct quern_membership *member, quern_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with these missing ranks, also for another thread while the owner is in a call: the watcher of NCCL. */
quern_status quern_poison_missing(const struct quern_membership *member, quern_status status,
                                  const uint32_t missing[QUERN_GROUP_WORDS], const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/*
 * Poison a group that is being formed, on behalf of a rank that may have no place in it: only words of the segment's head are
 * written.  A rank expects another number of ranks or another first epoch, or other ranks of this host: QUERN_PEER_MISMATCH.  A
 * rank has ended: QUERN_PEER_LOST.
 */
void quern_poison_by_ranks(struct quern_segment *segment, int rank, int ranks);
void quern_poison_by_epoch(struct quern_segment *segment, int rank);
void quern_poison_by_host_ranks(struct quern_segment *segment, int rank, int here);
void quern_poison_by_end(struct quern_segment *segment, int rank);

/* If only a kernel has poisoned the group, its error record becomes the poison.  Between hosts the monitor asks, for the others. */
void quern_adopt_kernel_error(const struct quern_membership *member);

/* For the other hosts: the poison of this one, with its text and the missing ranks.  False: there is none. */
bool quern_read_poison(const struct quern_roster *roster, uint32_t *word, struct quern_poison_reason *reason);

/*
 * Poisons this host's part of a group with the poison of another host, by a rank that is `elsewhere`, unless it has one that all
 * hosts prefer.  Only for the thread that writes the places of such ranks.  False: the word is none that another host can have.
 */
bool quern_poison_by_host(const struct quern_roster *roster, uint32_t word, const struct quern_poison_reason *reason);

/* Poisons the group with QUERN_GROUP_ABORTED and a reason (NULL: none); for any thread. */
void quern_poison_by_abort(const struct quern_membership *member, const char *reason);

/* The ranks for which a rank waited in vain when it poisoned the group, and those that have ended or left since; for any thread. */
void quern_find_missing(const struct quern_membership *member, uint32_t missing[QUERN_GROUP_WORDS]);

/* Appends a line about the poison, if there is any; for any thread. */
void quern_report_poison(struct quern_text *text, const struct quern_membership *member);

#endif
