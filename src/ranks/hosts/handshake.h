/*
 * Both ends of a new connection prove that they know the key of the group, before anything else is read from it:
 *
 *   caller    hello      magic, version, why it calls, its rank, the rank that it calls, a random number
 *   listener  challenge  magic, version, another random number
 *   caller    proof      the code of both with the key
 *   listener  welcome    the code of both with the key, for the other direction; or a refusal
 *
 * A code is HMAC-SHA-256.  The caller proves first, so who does not know the key gets nothing from a listener by which secrets
 * could be tried.  A repeated hello has no proof for the new random number.  Nothing is encrypted.  No function
 * waits.
 *
 * All versions of the library have magic and version where they are here, and a hello of 56 bytes, so each hears of the other.
 */
#ifndef QUERN_HANDSHAKE_H
#define QUERN_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/sha256.h"

/* Why a connection is made. */
enum quern_call_kind { QUERN_CALL_MEETING = 1, QUERN_CALL_DATA, QUERN_CALL_CONTROL, QUERN_CALL_TRANSFERS };

/* Connections that came to nothing, as quern_group_report counts them. */
enum quern_stranger {
    QUERN_STRANGER_GARBAGE,   /* it does not speak this protocol */
    QUERN_STRANGER_FALSE,     /* a proof with another secret, name or job */
    QUERN_STRANGER_REPEATED,  /* a hello that was used before */
    QUERN_STRANGER_SLOW,      /* it did not say enough in time */
    QUERN_STRANGER_CROWDED,   /* the oldest of too many at once */
    QUERN_STRANGER_VERSION,   /* another version of the library */
    QUERN_STRANGER_DAMAGED,   /* a host whose card does not have its seal */
    QUERN_STRANGERS
};

struct quern_hello {
    char magic[8];
    uint32_t version;         /* also says the order of bytes */
    uint32_t kind;            /* enum quern_call_kind */
    int32_t from, to;         /* ranks */
    unsigned char number[32];
};

struct quern_challenge {
    char magic[8];
    uint32_t version, spare;
    unsigned char number[32];
};

struct quern_welcome {
    char word[8];             /* WELCOME, or REFUSED */
    unsigned char code[QUERN_DIGEST_BYTES];
};

enum quern_handshake_state { QUERN_HANDSHAKE_GOES_ON, QUERN_HANDSHAKE_DONE, QUERN_HANDSHAKE_FAILED };

struct quern_handshake {
    int socket;
    bool is_listener;
    const unsigned char *key;     /* [QUERN_DIGEST_BYTES] */
    int step;
    size_t done;                  /* bytes of the step's message */
    int64_t began;
    struct quern_hello hello;
    struct quern_challenge challenge;
    unsigned char proof[QUERN_DIGEST_BYTES];
    struct quern_welcome welcome;
    bool refuses;                 /* the listener: it fails when the present message is out, which tells the caller why */
    enum quern_stranger stranger; /* FAILED: what it was; GARBAGE also if it has hung up */
};

/*
 * The key of a group: of its secret, its name, its job and, once they have met, of the number of the meeting; from that the key of
 * its shrink, of which it has one.
 */
void quern_make_key(const void *secret, size_t secret_bytes, const char *name, uint64_t job, unsigned char key[QUERN_DIGEST_BYTES]);
void quern_make_shrink_key(const unsigned char meeting[QUERN_DIGEST_BYTES], unsigned char key[QUERN_DIGEST_BYTES]);
void quern_make_meeting_key(const unsigned char key[QUERN_DIGEST_BYTES], const unsigned char number[32],
                            unsigned char meeting[QUERN_DIGEST_BYTES]);

/* Begin: at the listener; as the caller, over a socket that is connected or connecting. */
void quern_handshake_answer(struct quern_handshake *handshake, int socket, const unsigned char *key);
bool quern_handshake_call(struct quern_handshake *handshake, int socket, const unsigned char *key, enum quern_call_kind kind,
                          int from, int to);

/* The key of what is said over a connection, when both ends have proved themselves. */
void quern_handshake_session(const struct quern_handshake *handshake, unsigned char session[QUERN_DIGEST_BYTES]);

/* The version of the protocol, which each change of a message between hosts raises. */
extern const uint32_t quern_handshake_version;

/* Goes as far as it can without waiting.  The socket stays the caller's. */
enum quern_handshake_state quern_handshake_go(struct quern_handshake *handshake);

/* The events to poll for until the next step. */
short quern_handshake_awaits(const struct quern_handshake *handshake);

#endif
