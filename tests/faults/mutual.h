/*
 * Two lists, a small one and a large one, that two ranks send each other in several rounds: for programs that strike transfers at
 * points.  What a rank has completed must be what was sent, nothing may be written beside it, and what is sent must not change.
 */
#ifndef FAULTS_MUTUAL_H
#define FAULTS_MUTUAL_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/ranks.h"

enum { MUTUAL_LISTS = 2, MUTUAL_ROUNDS = 3, MUTUAL_GUARD = 64 };

/* A rank's side.  The caller sets all but the transfers. */
struct mutual {
    struct rank *rank;
    quern_group *group;
    void *stream;                            /* of its GPU */
    int64_t bytes[MUTUAL_LISTS];             /* of each list; the last one is the largest */
    unsigned char *out[MUTUAL_LISTS];        /* as many bytes as the largest has */
    unsigned char *in[MUTUAL_LISTS];         /* the same, and a guard: filled with 0xee */
    quern_transfer *transfer[MUTUAL_LISTS];  /* NULL: not prepared */
};

/* What a rank sends in a round, byte for byte. */
static inline unsigned char mutual_value(int rank, int round) { return (unsigned char)(1 + rank * 16 + round); }

bool mutual_is_filled(const unsigned char *bytes, int64_t count, unsigned char value);

/*
 * Both stop at the first error and return it.  The second prepares unless that is done, and makes all rounds; it fails the rank if
 * what is complete is not what was sent.
 */
quern_status mutual_prepare(struct mutual *side);
quern_status mutual_run(void *side);

/* Destroys what is prepared, then looks at the memory. */
void mutual_end(void *side);

#endif
