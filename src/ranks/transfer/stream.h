/* The streams of a pair, in the memory of its items.  For bytes.c, carrier_path.c and bounce_path.c. */
#ifndef QUERN_TRANSFER_STREAM_H
#define QUERN_TRANSFER_STREAM_H

#include "ranks/transfer/transfers.h"

/*
 * The next pieces of memory of a stream, at most so many and of so many bytes; also at the other rank, unless `theirs` is NULL.
 * Returns their number.
 */
int quern_list_pieces(const struct quern_transfer_pair *pair, const struct quern_cursor *cursor, bool receive, size_t most,
                      struct iovec *ours, struct iovec *theirs, int limit);
size_t quern_bytes_in(const struct iovec *pieces, int count);

/* The bytes, at most so many, up to the next item that goes the other way: through a window, or not. */
size_t quern_run_of(const struct quern_transfer_pair *pair, const struct quern_cursor *cursor, bool receive, size_t most,
                    bool *is_staged);

/* So many bytes have moved. */
void quern_move_on(const struct quern_transfer_pair *pair, struct quern_cursor *cursor, bool receive, int64_t bytes);

/* Copy the next bytes into the memory of the pair's receives, and out of that of its sends. */
void quern_put_bytes(struct quern_transfer_pair *pair, const unsigned char *from, size_t bytes);
void quern_get_bytes(struct quern_transfer_pair *pair, unsigned char *to, size_t bytes);

#endif
