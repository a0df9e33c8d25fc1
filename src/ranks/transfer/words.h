/* The messages of transfers, and their seals.  For wire.c and talk.c. */
#ifndef QUERN_TRANSFER_WORDS_H
#define QUERN_TRANSFER_WORDS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum quern_word {
    QUERN_WORD_HELLO = 1,  /* payload: where the sender's process can be read */
    QUERN_WORD_REACH,      /* number: 1: the sender of this word can read the memory of the other process */
    QUERN_WORD_BRIEF,      /* payload: the items that a transfer has with the other rank */
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

/* What begins every message.  Any process may write into a lane, so it is sealed and numbered. */
struct quern_transfer_frame {
    uint64_t seal;
    uint32_t word, order;           /* order: counts the frames of this direction */
    uint64_t key;
    uint32_t instance, other;       /* of the transfer: of the sender, and of the receiver as far as it is known; else 0 */
    uint64_t round;                 /* how often it was started */
    uint64_t number;
    uint64_t bytes, digest;         /* of the payload; data has no digest */
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

/*
 * Not against an enemy, who may do anything that this user may, but so that no stray write is taken for what a rank has written.
 * An odd factor maps no two values of a word to one.
 */
static inline uint64_t quern_transfer_digest(const void *words, size_t count) {
    uint64_t digest = count;
    for (size_t i = 0; i < count; i++) {
        uint64_t word;
        memcpy(&word, (const char *)words + i * sizeof word, sizeof word);
        digest += (word + i + 1) * (0xd6e8feb86659fd93 + 2 * i * 0x9e3779b97f4a7c15);
    }
    return digest;
}

static inline uint64_t quern_seal_of_frame(const struct quern_transfer_frame *frame) {
    uint64_t words[sizeof *frame / sizeof(uint64_t)];
    memcpy(words, frame, sizeof words);
    return quern_transfer_digest(words + 1, sizeof words / sizeof *words - 1);
}

/* Payloads with a digest are whole words. */
static inline uint64_t quern_digest_of_payload(const void *payload, size_t bytes) {
    return bytes ? quern_transfer_digest(payload, bytes / sizeof(uint64_t)) : 0;
}

_Static_assert(QUERN_TRANSFER_REASON % sizeof(uint64_t) == 0 && sizeof(struct quern_transfer_hello) % sizeof(uint64_t) == 0 &&
                   sizeof(struct quern_transfer_frame) == 64, "payloads are whole words, and a frame has no holes");

#endif
