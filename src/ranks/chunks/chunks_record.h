/*
 * What a rank tells the other members of a call of quantised chunks on CPUs: its record, written before the entry and read after.
 * For chunks_host.c.
 *
 * A record lies in the rank's eager message, in the half of the next meeting of all ranks, as that of a collective does: see
 * src/ranks/collective/collective_record.h.  Each call ends with an exit, after which nobody reads its records.
 */
#ifndef QUERN_CHUNKS_RECORD_H
#define QUERN_CHUNKS_RECORD_H

#include "ranks/chunks/chunks_call.h"

/* Writes this rank's record; amax is that of its input.  Returns the half, by which the records are read after the entry. */
uint32_t quern_chunks_write_record(const struct quern_chunks_call *call, float amax);

/*
 * After the entry: copies the records of all members and compares them.  *result is the error of the call, the same on all members
 * but one that refuses its own arguments; *amax is the largest of all inputs.  Fails if a record is damaged, which poisons the
 * group.
 */
quern_status quern_chunks_read_records(const struct quern_chunks_call *call, uint32_t half, float *amax, quern_status *result);

#endif
