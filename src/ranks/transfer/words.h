/* The messages of transfers.  For connection.c and progress.c. */
#ifndef QUERN_TRANSFER_WORDS_H
#define QUERN_TRANSFER_WORDS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum quern_word {
    QUERN_WORD_HELLO = 1,  /* payload: where the sender's process can be read */
    QUERN_WORD_REACH,      /* number: 1: the sender of this word can read the memory of the other process */
    QUERN_WORD_EAGER,      /* payload: the items that a transfer has with the other rank */
    QUERN_WORD_START,      /* a transfer is started */
    QUERN_WORD_DATA,       /* payload: bytes from an offset, the number, in all that goes in this direction */
    QUERN_WORD_DONE,       /* all has come */
    QUERN_WORD_END,        /* the transfer has failed or was destroyed; number: the status; payload: the reason */
    QUERN_WORD_BATCH,      /* number: 1: the starts that follow begin together; 0: these were all */
    QUERN_WORD_CONNECT,    /* number: the generation of a communicator; bit 32: the sender has kept it; payload: its id */
    QUERN_WORD_CONNECTED,  /* number: its generation: the sender has it */
    QUERN_WORD_GO,         /* number: the generation; payload: the transfers that both ends enqueue now */
    QUERN_WORD_BREAK,      /* number: the generation, whose communicator the sender has aborted; payload: the reason */
    QUERN_WORD_FORGOTTEN,  /* number: the generation, whose communicator the sender has not kept */
    QUERN_WORD_READY,      /* payload: a message over a carrier that the sender of this word has begun to receive */
    QUERN_WORD_NONE,       /* number: of such a message, which never comes */
    QUERN_WORD_LISTENING,  /* number: of the descriptor of a window for which the sender of this word has a socket */
    QUERN_WORD_WINDOW,     /* it is sent */
    QUERN_WORD_STAGED,     /* payload: a piece that is in a half of the window of the sender of this word */
    QUERN_WORD_TAKEN,      /* number: of the half, which is free again */
    QUERN_WORDS
};

/* What begins every message.  Any process may write into a ring, so it begins with its digest, and is numbered. */
struct quern_transfer_frame {
    uint64_t digest;
    uint32_t word, order;           /* order: counts the frames of this direction */
    uint64_t key;
    uint32_t instance, other;       /* of the transfer: of the sender, and of the receiver as far as it is known; else 0 */
    uint64_t round;                 /* how often it was started */
    uint64_t number;
    uint64_t bytes, payload_digest; /* of the payload; data has no digest */
};

enum { QUERN_TRANSFER_REASON = 232 };  /* bytes of a reason, with its end */

/* Where a process can be read to prove that it is the right one: its random number. */
struct quern_transfer_hello {
    uint64_t address;
    int32_t pid, unused;
};

/* One item, as its rank has it. */
struct quern_transfer_entry {
    uint64_t tag, address;
    uint64_t memory;    /* of GPU ranks: the number of the symmetric memory, in which the address is an offset; 0: in none */
    int64_t bytes;
    int64_t receive;
};

/* A transfer that both ends enqueue; the instances are those of the sender and of the receiver of the word. */
struct quern_transfer_go {
    uint64_t key, round;
    uint32_t instance, other;
};

/* A message over a carrier, and of which bytes of the round it is. */
struct quern_transfer_piece {
    uint64_t message, offset, bytes;
};

/* A piece in a window, and of which bytes of the round it is. */
struct quern_transfer_staged {
    uint64_t half, offset, bytes;
};

enum { QUERN_TRANSFER_MOST_GO = 1024 };  /* transfers that go out as one group */

_Static_assert(sizeof(struct quern_transfer_frame) == 64, "a frame has no holes");

#endif
