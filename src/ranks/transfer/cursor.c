/*
 * The bytes of a pair in one direction follow each other: its items, as both lists order them.  Called by bytes.c and the paths.
 */
#include "ranks/transfer/transfer.h"

#include <string.h>

static bool is_of(const struct quern_transfer_part *part, bool receive) { return (part->receive != 0) == receive; }

int quern_list_pieces(const struct quern_transfer_pair *pair, const struct quern_cursor *cursor, bool receive, size_t most,
                      struct iovec *ours, struct iovec *theirs, int limit) {
    int64_t within = cursor->within;
    int count = 0;
    for (int64_t i = cursor->part; i < pair->count && count < limit && most; i++, within = 0) {
        const struct quern_transfer_part *part = &pair->parts[i];
        if (!is_of(part, receive) || part->bytes == within) continue;
        const size_t left = (size_t)(part->bytes - within), bytes = left < most ? left : most;
        ours[count] = (struct iovec){part->memory + within, bytes};
        if (theirs) theirs[count] = (struct iovec){(void *)(uintptr_t)(pair->addresses[i] + (uint64_t)within), bytes};
        most -= bytes;
        count++;
    }
    return count;
}

size_t quern_run_of(const struct quern_transfer_pair *pair, const struct quern_cursor *cursor, bool receive, size_t most,
                    bool *is_staged) {
    int64_t within = cursor->within;
    size_t bytes = 0;
    for (int64_t i = cursor->part; i < pair->count && bytes < most; i++, within = 0) {
        const struct quern_transfer_part *part = &pair->parts[i];
        if (!is_of(part, receive) || part->bytes == within) continue;
        if (bytes && part->is_staged != *is_staged) break;
        *is_staged = part->is_staged;
        bytes += (size_t)(part->bytes - within);
    }
    return bytes < most ? bytes : most;
}

size_t quern_bytes_in(const struct iovec *pieces, int count) {
    size_t bytes = 0;
    for (int i = 0; i < count; i++) bytes += pieces[i].iov_len;
    return bytes;
}

void quern_move_on(const struct quern_transfer_pair *pair, struct quern_cursor *cursor, bool receive, int64_t bytes) {
    cursor->done += bytes;
    for (; cursor->part < pair->count; cursor->part++, cursor->within = 0) {
        const struct quern_transfer_part *part = &pair->parts[cursor->part];
        if (!is_of(part, receive)) continue;
        const int64_t left = part->bytes - cursor->within;
        if (bytes < left) break;
        bytes -= left;
    }
    cursor->within += cursor->part < pair->count ? bytes : 0;
}

void quern_put_bytes(struct quern_transfer_pair *pair, const unsigned char *from, size_t bytes) {
    struct iovec piece;
    for (; bytes; from += piece.iov_len, bytes -= piece.iov_len) {
        quern_list_pieces(pair, &pair->in, true, bytes, &piece, NULL, 1);
        memcpy(piece.iov_base, from, piece.iov_len);
        quern_move_on(pair, &pair->in, true, (int64_t)piece.iov_len);
    }
}

void quern_get_bytes(struct quern_transfer_pair *pair, unsigned char *to, size_t bytes) {
    struct iovec piece;
    for (; bytes; to += piece.iov_len, bytes -= piece.iov_len) {
        quern_list_pieces(pair, &pair->out, false, bytes, &piece, NULL, 1);
        memcpy(to, piece.iov_base, piece.iov_len);
        quern_move_on(pair, &pair->out, false, (int64_t)piece.iov_len);
    }
}
