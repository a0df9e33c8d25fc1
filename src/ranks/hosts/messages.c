/* Moves channels by messages of a carrier.  For sendrecv.c. */
#define _GNU_SOURCE
#include "ranks/hosts/hosts.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "os/clock.h"
#include "os/text.h"
#include "ranks/points.h"
#include "runtime/status.h"

enum direction { OUT, IN, DIRECTIONS };

/* A message under way. */
struct slot {
    bool is_busy, is_staged;     /* staged: the bytes are those of the buffer */
    uint64_t request;
    const struct iovec *parts;   /* of the piece: those of the channel, or ... */
    struct iovec single;         /* ... this one */
    int count;
    size_t bytes;
    unsigned char *dropped;      /* of a long piece that nobody wants */
    unsigned char *buffer;       /* [QUERN_MESSAGE_STAGE]; NULL: not needed so far */
};

/* The messages in flight with one rank.  The slots of a direction are a ring, from the oldest message to the next one. */
struct line {
    struct slot slot[DIRECTIONS * QUERN_MESSAGE_SLOTS];
    uint32_t next[DIRECTIONS], oldest[DIRECTIONS];
    size_t inlined;              /* bytes of parts that came with the head */
    unsigned char *head[DIRECTIONS];  /* [head_bytes]; NULL: not needed so far */
};

struct quern_messages {
    quern_carrier carrier;
    void (*end)(void *user, bool has_failed);
    bool is_over;                /* atomic: a call has failed: nothing is begun any more */
    int ranks;
    struct line line[];
};

/* ---- the carrier ---- */

static size_t least(size_t one, size_t other) { return one < other ? one : other; }

/* Bytes of a piece that is copied, and of one that is not. */
static size_t stage_of(const quern_carrier *carrier) { return least(QUERN_MESSAGE_STAGE, carrier->longest); }
static size_t largest_of(const quern_carrier *carrier) {
    return carrier->borrows ? least(QUERN_MESSAGE_LARGEST, carrier->longest) : stage_of(carrier);
}

/* Bytes of a message with a head, at most.  Each rank has room for one from every other rank, which in a large group is little. */
static size_t head_bytes(const struct quern_messages *messages) {
    const size_t share = QUERN_MESSAGE_HEADS / (size_t)messages->ranks;
    return least(stage_of(&messages->carrier), share > QUERN_MESSAGE_HEAD ? share : QUERN_MESSAGE_HEAD);
}

uint64_t quern_carrier_digest(const quern_carrier *carrier) {
    const uint64_t numbers[] = {carrier->tags, largest_of(carrier), stage_of(carrier), carrier->borrows != 0};
    return quern_digest(numbers, sizeof numbers);
}

const quern_carrier *quern_messages_carrier(const struct quern_messages *messages) { return &messages->carrier; }

static uint64_t tags_of_exchanges(const quern_carrier *carrier) { return carrier->tags - QUERN_CARRIER_OF_TRANSFERS; }

uint64_t quern_tag_of_transfer(const quern_carrier *carrier, uint32_t number) {
    return tags_of_exchanges(carrier) + number % QUERN_CARRIER_OF_TRANSFERS;
}

/* Transfers ask and tell beside an exchange. */
bool quern_messages_are_over(const struct quern_messages *messages) {
    return __atomic_load_n(&messages->is_over, __ATOMIC_RELAXED);
}

void quern_leave_messages(struct quern_messages *messages) { __atomic_store_n(&messages->is_over, true, __ATOMIC_RELAXED); }

static enum quern_outcome fail(struct quern_sendrecv *sendrecv, const char *what, int error) {
    struct quern_text why = quern_text_begin(sendrecv->why, sizeof sendrecv->why);
    quern_text_add(&why, "%s: %s returned %d", sendrecv->member->net->messages->carrier.name, what, error);
    return QUERN_FAILED;
}

static enum quern_outcome fail_for_memory(struct quern_sendrecv *sendrecv) {
    struct quern_text why = quern_text_begin(sendrecv->why, sizeof sendrecv->why);
    quern_text_add(&why, "no memory for a message");
    return QUERN_FAILED;
}

/* ---- slots ---- */

static struct slot *slot_of(struct line *line, enum direction to, uint32_t number) {
    return &line->slot[(int)to * QUERN_MESSAGE_SLOTS + (int)(number % QUERN_MESSAGE_SLOTS)];
}

static bool has_room(const struct line *line, enum direction to) { return line->next[to] - line->oldest[to] < QUERN_MESSAGE_SLOTS; }

static struct slot *oldest_of(struct line *line, enum direction to) {
    return line->next[to] == line->oldest[to] ? NULL : slot_of(line, to, line->oldest[to]);
}

static struct line *line_of(const struct quern_sendrecv *sendrecv, const struct quern_channel *channel) {
    return &sendrecv->member->net->messages->line[channel->rank];
}

/* NULL: no memory. */
static unsigned char *head_of(const struct quern_sendrecv *sendrecv, struct line *line, enum direction to) {
    if (!line->head[to]) line->head[to] = malloc(head_bytes(sendrecv->member->net->messages));
    return line->head[to];
}

static enum quern_outcome post(struct quern_sendrecv *sendrecv, struct quern_channel *channel, enum direction to, void *data,
                               size_t bytes) {
    const quern_carrier *carrier = &sendrecv->member->net->messages->carrier;
    struct line *line = line_of(sendrecv, channel);
    struct slot *slot = slot_of(line, to, line->next[to]);
    const uint64_t tag = line->next[to] % tags_of_exchanges(carrier);
    QUERN_POINT(MESSAGE_POSTING);
    const int error = to == OUT ? carrier->send(carrier->user, channel->rank, data, bytes, tag, &slot->request)
                                : carrier->receive(carrier->user, channel->rank, data, bytes, tag, &slot->request);
    if (error) return fail(sendrecv, to == OUT ? "send" : "receive", error);
    slot->is_busy = true;
    slot->bytes = bytes;
    line->next[to]++;
    ++*(to == OUT ? &channel->sending : &channel->receiving);
    QUERN_POINT(MESSAGE_POSTED);
    return QUERN_MOVED;
}

/* Tests the oldest message of a direction.  MOVED: it is over, and *slot is what it was; *bytes have come. */
static enum quern_outcome reap(struct quern_sendrecv *sendrecv, struct quern_channel *channel, enum direction to,
                               struct slot **slot, size_t *bytes) {
    const quern_carrier *carrier = &sendrecv->member->net->messages->carrier;
    struct line *line = line_of(sendrecv, channel);
    *bytes = 0;
    *slot = oldest_of(line, to);
    if (!*slot) return QUERN_STUCK;
    const int done = carrier->test(carrier->user, (*slot)->request, bytes);
    if (done == 0) return QUERN_STUCK;
    (*slot)->is_busy = false;
    line->oldest[to]++;
    --*(to == OUT ? &channel->sending : &channel->receiving);
    if (done < 0) return fail(sendrecv, to == OUT ? "test of a message to it" : "test of a message of it", done);
    QUERN_POINT(MESSAGE_OVER);
    return QUERN_MOVED;
}

/* ---- pieces ---- */

static size_t bytes_of(const struct iovec *parts, int count) {
    size_t bytes = 0;
    for (int i = 0; i < count; i++) bytes += parts[i].iov_len;
    return bytes;
}

static void gather(unsigned char *to, const struct iovec *parts, int count) {
    for (int i = 0; i < count; to += parts[i++].iov_len) memcpy(to, parts[i].iov_base, parts[i].iov_len);
}

/* A part without memory is dropped. */
static void scatter(const unsigned char *from, const struct iovec *parts, int count) {
    for (int i = 0; i < count; from += parts[i++].iov_len)
        if (parts[i].iov_base) memcpy(parts[i].iov_base, from, parts[i].iov_len);
}

/*
 * How many parts the next piece has; the first may be longer than a piece.  By the sizes of the parts alone, which both ends know.
 */
static int cut_piece(const quern_carrier *carrier, const struct iovec *parts, int count) {
    const size_t most = stage_of(carrier);
    size_t bytes = parts[0].iov_len;
    int cut = 1;
    for (; cut < count && bytes + parts[cut].iov_len <= most; cut++) bytes += parts[cut].iov_len;
    return cut;
}

/* The single part of a piece, or a cut of it, which has no memory if it is dropped. */
static struct iovec take_single(struct iovec **parts, int *count, size_t bytes) {
    struct iovec *part = *parts;
    const struct iovec single = {part->iov_base, bytes};
    if (bytes < part->iov_len)
        *part = (struct iovec){part->iov_base ? (char *)part->iov_base + bytes : NULL, part->iov_len - bytes};
    else ++*parts, --*count;
    return single;
}

/* Takes the next piece from a list of parts into a slot. */
static void take_piece(const quern_carrier *carrier, struct slot *slot, struct iovec **parts, int *count) {
    slot->count = cut_piece(carrier, *parts, *count);
    slot->bytes = slot->count == 1 ? least((*parts)->iov_len, largest_of(carrier)) : bytes_of(*parts, slot->count);
    slot->parts = *parts;
    if (slot->count == 1) {
        slot->single = take_single(parts, count, slot->bytes);
        slot->parts = &slot->single;
    } else {
        *parts += slot->count;
        *count -= slot->count;
    }
}

/* Where the bytes of a piece are, or go; NULL: no memory. */
static void *memory_of(const quern_carrier *carrier, struct slot *slot) {
    slot->is_staged = !carrier->borrows || slot->count > 1 || !slot->parts->iov_base;
    if (!slot->is_staged) return slot->parts->iov_base;
    if (slot->bytes > QUERN_MESSAGE_STAGE) return slot->dropped = malloc(slot->bytes);
    if (!slot->buffer) slot->buffer = malloc(QUERN_MESSAGE_STAGE);
    return slot->buffer;
}

/* Begins the next piece of a channel. */
static enum quern_outcome post_piece(struct quern_sendrecv *sendrecv, struct quern_channel *channel, enum direction to) {
    const quern_carrier *carrier = &sendrecv->member->net->messages->carrier;
    struct line *line = line_of(sendrecv, channel);
    struct slot *slot = slot_of(line, to, line->next[to]);
    take_piece(carrier, slot, to == OUT ? &channel->out : &channel->in, to == OUT ? &channel->outs : &channel->ins);
    void *memory = memory_of(carrier, slot);
    if (!memory) return fail_for_memory(sendrecv);
    if (to == OUT && slot->is_staged) gather(memory, slot->parts, slot->count);
    return post(sendrecv, channel, to, memory, slot->bytes);
}

/* ---- sending ---- */

/* The first message: all, or the head alone. */
static enum quern_outcome post_head(struct quern_sendrecv *sendrecv, struct quern_channel *channel) {
    const size_t all = bytes_of(channel->out, channel->outs);
    const int parts = all <= head_bytes(sendrecv->member->net->messages) ? channel->outs : 1;
    const size_t bytes = bytes_of(channel->out, parts);
    unsigned char *head = head_of(sendrecv, line_of(sendrecv, channel), OUT);
    if (!head) return fail_for_memory(sendrecv);
    gather(head, channel->out, parts);
    channel->out += parts;
    channel->outs -= parts;
    return post(sendrecv, channel, OUT, head, bytes);
}

static enum quern_outcome send_some(struct quern_sendrecv *sendrecv, struct quern_channel *channel) {
    struct line *line = line_of(sendrecv, channel);
    enum quern_outcome outcome = QUERN_STUCK, result;
    struct slot *slot;
    size_t bytes;
    if (quern_messages_are_over(sendrecv->member->net->messages)) return QUERN_STUCK;
    while ((result = reap(sendrecv, channel, OUT, &slot, &bytes)) == QUERN_MOVED) outcome = QUERN_MOVED;
    if (result == QUERN_FAILED) return result;
    while (channel->outs && has_room(line, OUT)) {
        const bool is_first = channel->out->iov_base == &channel->out_head;
        result = is_first ? post_head(sendrecv, channel) : post_piece(sendrecv, channel, OUT);
        if (result == QUERN_FAILED) return result;
        outcome = QUERN_MOVED;
    }
    return outcome;
}

/* ---- receiving ---- */

static enum quern_outcome receive_head(struct quern_sendrecv *sendrecv, struct quern_channel *channel) {
    const size_t most = head_bytes(sendrecv->member->net->messages);
    struct line *line = line_of(sendrecv, channel);
    struct slot *slot;
    size_t bytes;
    if (quern_messages_are_over(sendrecv->member->net->messages)) return QUERN_STUCK;
    if (!head_of(sendrecv, line, IN)) return fail_for_memory(sendrecv);
    if (!channel->receiving && post(sendrecv, channel, IN, line->head[IN], most) == QUERN_FAILED) return QUERN_FAILED;
    const enum quern_outcome outcome = reap(sendrecv, channel, IN, &slot, &bytes);
    if (outcome != QUERN_MOVED) return outcome;
    if (bytes < sizeof channel->in_head || bytes > most) return QUERN_DAMAGED;
    memcpy(&channel->in_head, line->head[IN], sizeof channel->in_head);
    channel->in_heading = sizeof channel->in_head;
    line->inlined = bytes - sizeof channel->in_head;
    return QUERN_MOVED;
}

/* Parts that came with the head. */
static enum quern_outcome take_inlined(struct line *line, struct quern_channel *channel) {
    const size_t inlined = line->inlined;
    line->inlined = 0;
    if (bytes_of(channel->in, channel->ins) != inlined) return QUERN_DAMAGED;
    scatter(line->head[IN] + sizeof channel->in_head, channel->in, channel->ins);
    channel->ins = 0;
    return QUERN_MOVED;
}

/* Dropped bytes are a part of their own, as they are at the sender. */
static void append_dropped(struct quern_channel *channel) {
    if (channel->skipped) channel->in[channel->ins++] = (struct iovec){NULL, channel->skipped};
    channel->skipped = 0;
}

static enum quern_outcome receive_some(struct quern_sendrecv *sendrecv, struct quern_channel *channel) {
    struct line *line = line_of(sendrecv, channel);
    enum quern_outcome outcome = QUERN_STUCK, result;
    struct slot *slot;
    size_t bytes;
    if (quern_messages_are_over(sendrecv->member->net->messages)) return QUERN_STUCK;
    append_dropped(channel);
    if (line->inlined) return take_inlined(line, channel);
    while ((result = reap(sendrecv, channel, IN, &slot, &bytes)) == QUERN_MOVED) {
        outcome = QUERN_MOVED;
        if (bytes != slot->bytes) return QUERN_DAMAGED;
        if (slot->is_staged && !slot->dropped) scatter(slot->buffer, slot->parts, slot->count);
        free(slot->dropped);
        slot->dropped = NULL;
    }
    if (result == QUERN_FAILED) return result;
    while (channel->ins && has_room(line, IN)) {
        if (post_piece(sendrecv, channel, IN) == QUERN_FAILED) return QUERN_FAILED;
        outcome = QUERN_MOVED;
    }
    return outcome;
}

/* ---- waiting ---- */

/* Carriers wake nobody, and make progress in their functions only: while data flows a rank does not sleep. */
static void rest(struct quern_sendrecv *sendrecv) {
    enum { YIELDS = 200 };
    bool flows = false;
    for (int i = 0; i < sendrecv->count; i++) {
        const struct quern_channel *channel = &sendrecv->channel[i];
        flows |= channel->in_heading == sizeof channel->in_head && (channel->ins || channel->receiving || channel->sending);
    }
    if (flows || sendrecv->rests++ < YIELDS) sched_yield();
    else nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

static enum quern_outcome look(const struct quern_sendrecv *sendrecv, int rank, struct quern_frame *last) {
    const ssize_t read = quern_socket_peek(sendrecv->member->net->socket[rank], last, sizeof *last);
    if (read == 0 || (read < 0 && errno != EAGAIN && errno != EINTR)) return QUERN_ENDED;
    if (read < (ssize_t)sizeof *last) return QUERN_STUCK;
    return last->tag == QUERN_GOODBYE_TAG ? QUERN_ENDED : QUERN_MOVED;
}

/* ---- ending ---- */

static bool is_line_busy(struct quern_messages *messages, struct line *line) {
    bool busy = false;
    for (int i = 0; i < DIRECTIONS * QUERN_MESSAGE_SLOTS; i++) {
        struct slot *slot = &line->slot[i];
        size_t bytes;
        if (slot->is_busy && messages->carrier.test(messages->carrier.user, slot->request, &bytes) != 0) slot->is_busy = false;
        busy |= slot->is_busy;
    }
    return busy;
}

static void cancel_line(struct quern_messages *messages, const struct line *line) {
    for (int i = 0; i < DIRECTIONS * QUERN_MESSAGE_SLOTS; i++) {
        const struct slot *slot = &line->slot[i];
        if (slot->is_busy) messages->carrier.cancel(messages->carrier.user, slot->request);
    }
}

/* Waits until a carrier that borrows has given all memory back.  Returns a rank whose messages it keeps, or -1. */
static int take_back(struct quern_messages *messages, int64_t nanoseconds) {
    const int64_t end = quern_now() + nanoseconds;
    for (int rank = 0; rank < messages->ranks; rank++)
        while (is_line_busy(messages, &messages->line[rank])) {
            if (quern_now() > end) return rank;
            sched_yield();
        }
    return -1;
}

/* A carrier that borrows nothing is left alone: what it touches of a rank that is dead may be its own end. */
static void abandon(struct quern_sendrecv *sendrecv) {
    static const int64_t MOMENT = 5000000;  /* nanoseconds */
    struct quern_messages *messages = sendrecv->member->net->messages;
    if (quern_messages_are_over(messages)) return;
    quern_leave_messages(messages);
    if (!messages->carrier.borrows) return;
    for (int rank = 0; rank < messages->ranks; rank++) cancel_line(messages, &messages->line[rank]);
    take_back(messages, MOMENT);
}

static quern_status settle(struct quern_membership *member) {
    static const int64_t LIMIT = 1000000000;  /* nanoseconds */
    struct quern_messages *messages = member->net->messages;
    const int rank = quern_messages_are_over(messages) && messages->carrier.borrows ? take_back(messages, LIMIT) : -1;
    if (rank < 0) return QUERN_OK;
    return quern_fail(member->device, QUERN_PEER_LOST,
                      "%s: %s does not give back the memory of a message of rank %d: keep the input "
                      "and output of the call that has failed", member->label, messages->carrier.name, rank);
}

static void free_line(struct line *line) {
    for (int to = 0; to < DIRECTIONS; to++) free(line->head[to]);
    for (int slot = 0; slot < DIRECTIONS * QUERN_MESSAGE_SLOTS; slot++) {
        free(line->slot[slot].buffer);
        free(line->slot[slot].dropped);
    }
}

/* Memory that the carrier still has is left to it. */
void quern_free_messages(struct quern_messages *messages, bool has_failed) {
    if (!messages) return;
    if (messages->end) messages->end(messages->carrier.user, has_failed || quern_messages_are_over(messages));
    for (int rank = 0; rank < messages->ranks; rank++)
        for (int slot = 0; slot < DIRECTIONS * QUERN_MESSAGE_SLOTS; slot++)
            if (messages->line[rank].slot[slot].is_busy) return;
    for (int rank = 0; rank < messages->ranks; rank++) free_line(&messages->line[rank]);
    free(messages);
}

static void close_row(struct quern_net *net, bool has_failed) {
    quern_free_messages(net->messages, has_failed);
    net->messages = NULL;
}

struct quern_messages *quern_make_messages(const quern_carrier *carrier, int ranks, void (*end)(void *user, bool has_failed)) {
    struct quern_messages *messages = calloc(1, sizeof *messages + (size_t)ranks * sizeof *messages->line);
    if (!messages) return NULL;
    messages->carrier = *carrier;
    messages->end = end;
    messages->ranks = ranks;
    return messages;
}

void *quern_messages_user(const struct quern_messages *messages) { return messages->carrier.user; }

const struct quern_data_row quern_message_row = {
    .name = "messages", .send = send_some, .receive_head = receive_head, .receive = receive_some, .rest = rest, .look = look,
    .abandon = abandon, .settle = settle, .close = close_row};
