/* The messages of a handshake, one after the other.  Called by listener.c and connector.c. */
#define _GNU_SOURCE
#include "ranks/hosts/hosts.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "os/clock.h"

static const char MAGIC[8] = "quernnet", WELCOME[8] = "welcome", REFUSED[8] = "refused";
const uint32_t quern_handshake_version = 9;

/* ---- keys and codes ---- */

void quern_make_key(const void *secret, size_t secret_bytes, const char *name, uint64_t job,
                    unsigned char key[QUERN_DIGEST_BYTES]) {
    const struct quern_part parts[] = {{"group", 5}, {&job, sizeof job}, {name, strlen(name)}};
    quern_hmac(secret, secret_bytes, parts, 3, key);
}

void quern_make_meeting_key(const unsigned char key[QUERN_DIGEST_BYTES], const unsigned char number[32],
                            unsigned char meeting[QUERN_DIGEST_BYTES]) {
    quern_hmac(key, QUERN_DIGEST_BYTES, &(struct quern_part){number, 32}, 1, meeting);
}

void quern_make_shrink_key(const unsigned char meeting[QUERN_DIGEST_BYTES], unsigned char key[QUERN_DIGEST_BYTES]) {
    quern_hmac(meeting, QUERN_DIGEST_BYTES, &(struct quern_part){"shrink", 6}, 1, key);
}

/* The sides have different codes, so that none can be sent back. */
static void make_code(const struct quern_handshake *h, const char side[4], unsigned char code[QUERN_DIGEST_BYTES]) {
    const struct quern_part parts[] = {{side, 4}, {&h->hello, sizeof h->hello}, {&h->challenge, sizeof h->challenge}};
    quern_hmac(h->key, QUERN_DIGEST_BYTES, parts, 3, code);
}

void quern_handshake_session(const struct quern_handshake *h, unsigned char session[QUERN_DIGEST_BYTES]) {
    make_code(h, "seal", session);
}

static bool is_code(const struct quern_handshake *h, const char side[4], const unsigned char code[QUERN_DIGEST_BYTES]) {
    unsigned char expected[QUERN_DIGEST_BYTES];
    make_code(h, side, expected);
    return quern_same_digest(expected, code);
}

/* ---- the steps ---- */

/* Not a byte more is read than belongs to the message, so that what follows is there for the next reader. */
static bool is_hello(struct quern_handshake *h) {
    const bool known = h->hello.kind >= QUERN_CALL_MEETING && h->hello.kind <= QUERN_CALL_TRANSFERS;
    h->challenge.version = quern_handshake_version;
    memcpy(h->challenge.magic, MAGIC, sizeof MAGIC);
    h->refuses = h->hello.version != quern_handshake_version;
    if (h->refuses) h->rejection = QUERN_REJECTED_VERSION;
    return h->refuses || (known && getrandom(h->challenge.number, sizeof h->challenge.number, 0) == sizeof h->challenge.number);
}

static bool is_challenge(struct quern_handshake *h) {
    if (memcmp(h->challenge.magic, MAGIC, sizeof MAGIC) != 0) return false;
    h->rejection = QUERN_REJECTED_VERSION;
    if (h->challenge.version != quern_handshake_version) return false;
    make_code(h, "call", h->proof);
    return true;
}

static bool is_proof(struct quern_handshake *h) {
    h->refuses = !is_code(h, "call", h->proof);
    if (h->refuses) h->rejection = QUERN_REJECTED_FALSE;
    else make_code(h, "hear", h->welcome.code);
    memcpy(h->welcome.word, h->refuses ? REFUSED : WELCOME, sizeof h->welcome.word);
    return true;
}

static bool is_welcome(struct quern_handshake *h) {
    h->rejection = QUERN_REJECTED_FALSE;
    return memcmp(h->welcome.word, WELCOME, sizeof h->welcome.word) == 0 && is_code(h, "hear", h->welcome.code);
}

/* The messages in their order: one side writes each, the other reads it and acts when it is whole. */
static const struct message {
    size_t at, bytes;
    bool by_listener;
    bool (*look)(struct quern_handshake *);
} messages[] = {
    {offsetof(struct quern_handshake, hello), sizeof(struct quern_hello), false, is_hello},
    {offsetof(struct quern_handshake, challenge), sizeof(struct quern_challenge), true, is_challenge},
    {offsetof(struct quern_handshake, proof), QUERN_DIGEST_BYTES, false, is_proof},
    {offsetof(struct quern_handshake, welcome), sizeof(struct quern_welcome), true, is_welcome},
};
enum { STEPS = sizeof messages / sizeof *messages };

void quern_handshake_answer(struct quern_handshake *h, int socket, const unsigned char *key) {
    *h = (struct quern_handshake){.socket = socket, .is_listener = true, .key = key, .began = quern_now()};
}

bool quern_handshake_call(struct quern_handshake *h, int socket, const unsigned char *key, enum quern_call_kind kind, int from,
                          int to) {
    *h = (struct quern_handshake){.socket = socket, .key = key, .began = quern_now()};
    h->hello = (struct quern_hello){.version = quern_handshake_version, .kind = kind, .from = from, .to = to};
    memcpy(h->hello.magic, MAGIC, sizeof MAGIC);
    return getrandom(h->hello.number, sizeof h->hello.number, 0) == sizeof h->hello.number;
}

static bool writes(const struct quern_handshake *h) { return messages[h->step].by_listener == h->is_listener; }

/* The first bytes tell another protocol. */
static bool is_garbage(const struct quern_handshake *h) {
    const size_t known = h->done < sizeof MAGIC ? h->done : sizeof MAGIC;
    return h->is_listener && h->step == 0 && memcmp(h->hello.magic, MAGIC, known) != 0;
}

enum quern_handshake_state quern_handshake_go(struct quern_handshake *h) {
    while (h->step < STEPS) {
        const struct message *message = &messages[h->step];
        char *at = (char *)h + message->at + h->done;
        const size_t left = message->bytes - h->done;
        const ssize_t moved = writes(h) ? send(h->socket, at, left, MSG_NOSIGNAL | MSG_DONTWAIT)
                                        : recv(h->socket, at, left, MSG_DONTWAIT);
        if (moved < 0 && errno == EINTR) continue;
        if (moved < 0 && (errno == EAGAIN || errno == ENOTCONN || errno == EINPROGRESS)) return QUERN_HANDSHAKE_GOES_ON;
        if (!h->refuses) h->rejection = QUERN_REJECTED_GARBAGE;
        if (moved <= 0) return QUERN_HANDSHAKE_FAILED;
        h->done += (size_t)moved;
        if (is_garbage(h)) return QUERN_HANDSHAKE_FAILED;
        if (h->done < message->bytes) continue;
        if (writes(h) ? h->refuses : !message->look(h)) return QUERN_HANDSHAKE_FAILED;
        h->step++;
        h->done = 0;
    }
    return QUERN_HANDSHAKE_DONE;
}

short quern_handshake_awaits(const struct quern_handshake *h) { return h->step < STEPS && writes(h) ? POLLOUT : POLLIN; }
