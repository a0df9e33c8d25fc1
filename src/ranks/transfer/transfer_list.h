/* The list of a transfer: checked, sorted as both ends sort it, and divided by peers.  For transfer.c, progress.c and bytes.c. */
#ifndef QUERN_TRANSFER_LIST_H
#define QUERN_TRANSFER_LIST_H

#include "ranks/membership.h"

enum { QUERN_TRANSFER_MOST_ITEMS = 1 << 20 };

struct quern_transfer_part {
    int peer;
    int32_t receive;
    uint64_t tag;
    char *memory;
    int64_t bytes;
    int64_t place;     /* in the caller's list */
    bool is_staged;    /* GPU memory that the receiver does not reach: bounce_path.h */
};

/*
 * Reads the items of the arguments into parts[args->item_count], ordered by peer, tag and sender: the same order on both ends of a
 * pair.  Errors: 1xxx with the item.
 */
quern_status quern_read_transfer_list(const struct quern_membership *member, const quern_transfer_args *args,
                                      struct quern_transfer_part *parts);

/* Checks what can be checked without the items: the size of an item and the number. */
quern_status quern_check_transfer_list(const struct quern_membership *member, const quern_transfer_args *args);

#endif
