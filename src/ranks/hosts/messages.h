/*
 * Channels over messages of a carrier, as MPI has them.  A row of rows.h.
 *
 * What a channel sends is a message with its head and, if all of it fits, with its parts; else pieces follow.  Both ends cut the
 * same pieces, since both know the sizes of all parts: small parts are copied together into a piece, and a large one is a piece of
 * its own, or several, which the carrier gets where it lies if it borrows memory.  The messages of a pair are numbered in each
 * direction, and the number is the tag, so that nothing depends on the order in which the carrier delivers.
 */
#ifndef QUERN_MESSAGES_H
#define QUERN_MESSAGES_H

#include <stdint.h>

#include "ranks/hosts/rows.h"

enum {
    QUERN_MESSAGE_STAGE = 64 << 10,    /* bytes of a message that is copied, at most: a head with all parts, a piece; of a
                                          part in it */
    QUERN_MESSAGE_HEADS = 8 << 20,     /* bytes of a rank's heads from all others, for which it has room ... */
    QUERN_MESSAGE_HEAD = 4 << 10,      /* ... but for each at least so many */
    QUERN_MESSAGE_LARGEST = 16 << 20,  /* of any piece */
    QUERN_MESSAGE_SLOTS = 4,           /* messages of a direction of a pair that are under way at once */
    QUERN_CARRIER_LEAST = 8 << 10,     /* the longest message of a carrier, at least */
    QUERN_CARRIER_TAGS = 1024,         /* likewise its tags; the last ... */
    QUERN_CARRIER_OF_TRANSFERS = 256   /* ... of them are for the messages of transfers */
};

/*
 * The state for a carrier, which is copied; NULL: no memory.  Then the span's row can be quern_message_row.  `end`, unless it is
 * NULL, is called with the carrier's user when it is freed.
 */
struct quern_messages *quern_make_messages(const quern_carrier *carrier, int ranks, void (*end)(void *user, bool has_failed));
void *quern_messages_user(const struct quern_messages *messages);  /* of the carrier */
void quern_free_messages(struct quern_messages *messages, bool has_failed);

/*
 * For transfers, which give the carrier messages of their own: the tag of the n-th message to or from a rank; whether a call has
 * failed, after which nothing is begun; and that what is under way is left to the carrier for good.
 */
const quern_carrier *quern_messages_carrier(const struct quern_messages *messages);
uint64_t quern_tag_of_transfer(const quern_carrier *carrier, uint32_t number);
bool quern_messages_are_over(const struct quern_messages *messages);
void quern_leave_messages(struct quern_messages *messages);

/* A number that is the same for carriers that cut and number alike. */
uint64_t quern_carrier_digest(const quern_carrier *carrier);

extern const struct quern_data_row quern_message_row;

#endif
