/*
 * Dispatch and combine: the rows of all ranks' tokens go to the experts that the router chose, on any rank, and the results come
 * back.  An expert takes as many rows as arrive; none is dropped or padded.
 *
 * The experts are assigned to the ranks in order, and an expert's rows arrive in the order of the ranks and of their tokens: the
 * order on a single rank.
 */
#ifndef DISPATCH_H
#define DISPATCH_H

#include "collectives.h"
#include "exchange.h"

struct dispatch {
    struct rank *rank;
    int experts;                    /* of all ranks */
    int first_expert, own_experts;  /* of this rank */
    struct gather counts;           /* int32 [ranks, experts]: tokens that each rank has for each expert */
    int64_t *departure, *arrival;   /* [ranks, experts]: where those rows begin, on their own rank and on the expert's */
    struct exchange there, back;    /* an update per expert */

    /* The current plan: */
    int64_t sent, received;         /* rows that leave this rank's tokens, and that arrive at its experts */
    int32_t *place;                 /* [rows, CHOICES]: which of the rows sent it is */
    int64_t *first;                 /* [own_experts + 1]: where each expert's rows begin among those received */
    int64_t *loads;                 /* [experts]: rows that each gets from all ranks */
};

/* For up to `rows` tokens on this rank, and up to `capacity` rows received. */
bool dispatch_create(struct dispatch *dispatch, struct rank *rank, int experts, int64_t width, int64_t rows, int64_t capacity);
void dispatch_free(struct dispatch *dispatch);

/* Makes the plan from chosen [rows, CHOICES]; on failure, here as below, false after a message on stderr. */
bool dispatch_plan(struct dispatch *dispatch, int64_t rows, const int32_t *chosen);

/* Sends rows to the experts in the order of `place`, and brings the experts' rows back into that order. */
bool dispatch_run(struct dispatch *dispatch, const struct mirrored *sent, const struct mirrored *received);
bool combine_run(struct dispatch *dispatch, const struct mirrored *processed, const struct mirrored *returned);

#endif
