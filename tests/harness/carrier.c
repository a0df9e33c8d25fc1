/* The stand-in for the carrier of an engine.  carrier.h documents it. */
#include "harness/carrier.h"

#include <sys/socket.h>

#include "harness/random.h"
#include "harness/ranks.h"

enum { REQUESTS = 512, MOST_DELAY = 3, SMALLEST_TAGS = 1024, DEFAULT_LONGEST = 100000 };

enum state { FREE, UNDER_WAY, OVER };

struct request {
    enum state state;
    uint64_t group;           /* which of the rank's it is of */
    uint64_t number;          /* what the library knows it by */
    bool is_send, hangs, is_cancelled, breaks;
    int rank, delay;          /* tests until its end is told */
    uint64_t tag, digest;
    unsigned char *data;
    size_t bytes;
    int result;
};

/* A message that has come before its receive. */
struct parcel {
    struct parcel *next;
    int rank, delay;
    double due;
    struct label {
        uint64_t group, tag;
    } label;
    size_t bytes;
    unsigned char data[];
};

/* A carrier, for one group. */
struct line {
    struct line *next;
    struct carrier_end *end;
    uint64_t group;
    quern_carrier carrier;
};

struct carrier_end {
    struct line *lines;
    const struct carrier_net *net;
    struct carrier_choice choice;
    int rank, begun;
    uint64_t draws;
    struct request request[REQUESTS];
    struct parcel *parcels;
    unsigned char *packet;
};

static void complain(const char *what, int rank, uint64_t tag) {
    fprintf(stderr, "carrier: %s: rank %d, tag %llu\n", what, rank, (unsigned long long)tag);
    abort();
}

static int draw(struct carrier_end *end, int64_t below) {
    return (int)random_below(77, (uint64_t)end->rank * 1000003 + end->draws++, below);
}

static uint64_t digest_of(const unsigned char *data, size_t bytes) {
    uint64_t digest = bytes;
    for (size_t i = 0; i < bytes; i += bytes > 4096 ? 61 : 1) digest = digest * 31 + data[i];
    return digest;
}

/* ---- progress ---- */

static void take_packets(struct carrier_end *end, int rank) {
    for (;;) {
        const ssize_t read = recv(end->net->socket[end->rank][rank], end->packet, sizeof(struct label) + end->choice.longest,
                                  MSG_DONTWAIT);
        if (read < (ssize_t)sizeof(struct label)) return;
        struct parcel *parcel = malloc(sizeof *parcel + (size_t)read), **last = &end->parcels;
        if (!parcel) abort();
        *parcel = (struct parcel){.rank = rank, .delay = draw(end, MOST_DELAY), .bytes = (size_t)read - sizeof parcel->label,
                                  .due = end->rank == end->choice.culprit ? rank_now() + end->choice.late * 1e-3 : 0};
        memcpy(&parcel->label, end->packet, sizeof parcel->label);
        memcpy(parcel->data, end->packet + sizeof parcel->label, parcel->bytes);
        while (*last) last = &(*last)->next;
        *last = parcel;
    }
}

static void finish(struct request *request, int result) {
    request->state = OVER;
    request->result = result;
}

static void try_send(struct carrier_end *end, struct request *request) {
    const struct label label = {request->group, request->tag};
    memcpy(end->packet, &label, sizeof label);
    memcpy(end->packet + sizeof label, request->data, request->bytes);
    const ssize_t sent = send(end->net->socket[end->rank][request->rank], end->packet, sizeof label + request->bytes,
                              MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOBUFS)) return;
    if (digest_of(request->data, request->bytes) != request->digest)
        complain("the memory has changed", request->rank, request->tag);
    finish(request, sent < 0 ? -errno : 1);
}

/* Messages of one tag do not overtake each other. */
static void try_receive(struct carrier_end *end, struct request *request) {
    for (struct parcel **link = &end->parcels, *parcel; (parcel = *link); link = &parcel->next) {
        if (parcel->rank != request->rank || parcel->label.group != request->group || parcel->label.tag != request->tag) continue;
        if (parcel->delay-- > 0 || (parcel->due > 0 && rank_now() < parcel->due)) return;
        const bool fits = parcel->bytes <= request->bytes;
        if (digest_of(request->data, request->bytes) != request->digest)
            complain("memory was written", request->rank, request->tag);
        if (fits) memcpy(request->data, parcel->data, parcel->bytes);
        request->bytes = parcel->bytes;
        finish(request, fits ? 1 : -EMSGSIZE);
        *link = parcel->next;
        free(parcel);
        return;
    }
}

static void progress(struct carrier_end *end) {
    const int first = draw(end, REQUESTS);
    for (int rank = 0; rank < end->net->ranks; rank++)
        if (rank != end->rank) take_packets(end, rank);
    for (int i = 0; i < REQUESTS; i++) {
        struct request *request = &end->request[(first + i) % REQUESTS];
        if (request->state != UNDER_WAY || request->hangs) continue;
        if (request->is_cancelled) finish(request, -ECANCELED);
        else if (request->is_send) try_send(end, request);
        else try_receive(end, request);
    }
}

/* ---- the functions ---- */

static int begin(const struct line *line, bool is_send, int rank, void *data, size_t bytes, uint64_t tag, uint64_t *number) {
    struct carrier_end *end = line->end;
    const bool is_culprit = end->rank == end->choice.culprit;
    int free = -1;
    end->begun++;
    if (rank < 0 || rank >= end->net->ranks || rank == end->rank || tag >= end->choice.tags || bytes > end->choice.longest)
        complain("no message", rank, tag);
    for (int i = 0; i < REQUESTS; i++) {
        const struct request *other = &end->request[i];
        if (other->state == FREE) free = i;
        else if (other->group == line->group && other->rank == rank && other->tag == tag && other->is_send == is_send)
            complain("two have one tag", rank, tag);
    }
    if (free < 0) complain("too many messages", rank, tag);
    if (is_culprit && end->begun == end->choice.fails_at) return 17;
    if (!is_send) memset(data, 0xA5, bytes);
    *number = (uint64_t)end->begun * REQUESTS + (uint64_t)free;
    end->request[free] = (struct request){
        .state = UNDER_WAY, .group = line->group, .number = *number, .is_send = is_send, .rank = rank,
        .delay = draw(end, MOST_DELAY), .tag = tag,
        .hangs = is_culprit && end->begun == end->choice.hangs_at, .breaks = is_culprit && end->begun == end->choice.breaks_at,
        .digest = digest_of(data, bytes), .data = data, .bytes = bytes};
    return 0;
}

static int standin_send(void *user, int rank, const void *data, size_t bytes, uint64_t tag, uint64_t *request) {
    return begin(user, true, rank, (void *)data, bytes, tag, request);
}

static int standin_receive(void *user, int rank, void *data, size_t bytes, uint64_t tag, uint64_t *request) {
    return begin(user, false, rank, data, bytes, tag, request);
}

static struct request *find(struct carrier_end *end, uint64_t number) {
    struct request *request = &end->request[number % REQUESTS];
    if (request->state == FREE || request->number != number) complain("a request that is over", (int)(number % REQUESTS), number);
    return request;
}

static int standin_test(void *user, uint64_t number, size_t *bytes) {
    struct carrier_end *end = ((struct line *)user)->end;
    struct request *request = find(end, number);
    progress(end);
    if (request->state == UNDER_WAY || request->delay-- > 0) return 0;
    request->state = FREE;
    *bytes = request->bytes;
    return request->breaks ? -18 : request->result;
}

static void standin_cancel(void *user, uint64_t number) {
    const struct line *line = user;
    const struct carrier_end *end = line->end;
    struct request *request = find(line->end, number);
    if (end->choice.keeps && end->rank == end->choice.culprit) return;
    request->is_cancelled = true;
    request->hangs = false;
}

/* ---- opening ---- */

void carrier_net_open(struct carrier_net *net, int ranks) {
    net->ranks = ranks;
    for (int one = 0; one < ranks; one++)
        for (int other = 0; other < one; other++) {
            int pair[2];
            if (ranks > CARRIER_RANKS || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair)) {
                perror("sockets of a carrier");
                exit(EXIT_FAILURE);
            }
            net->socket[one][other] = pair[0];
            net->socket[other][one] = pair[1];
        }
}

void carrier_net_close(const struct carrier_net *net) {
    for (int one = 0; one < net->ranks; one++)
        for (int other = 0; other < net->ranks; other++)
            if (one != other) close(net->socket[one][other]);
}

struct carrier_end *carrier_open(const struct carrier_net *net, const struct carrier_choice *choice, int rank) {
    struct carrier_end *end = calloc(1, sizeof *end);
    if (!end) abort();
    end->net = net;
    end->choice = *choice;
    if (!end->choice.longest) end->choice.longest = DEFAULT_LONGEST;
    if (!end->choice.tags) end->choice.tags = SMALLEST_TAGS;
    end->rank = rank;
    end->packet = malloc(sizeof(struct label) + end->choice.longest);
    if (!end->packet) abort();
    return end;
}

const quern_carrier *carrier_for_group(struct carrier_end *end) {
    struct line *line = calloc(1, sizeof *line);
    if (!line) abort();
    line->next = end->lines;
    line->end = end;
    line->group = end->lines ? end->lines->group + 1 : 1;
    end->lines = line;
    quern_carrier_init(&line->carrier);
    line->carrier.name = "stand-in";
    line->carrier.user = line;
    line->carrier.threads = !end->choice.alone;
    line->carrier.borrows = end->choice.borrows;
    line->carrier.tags = end->choice.tags;
    line->carrier.longest = end->choice.longest;
    line->carrier.send = standin_send;
    line->carrier.receive = standin_receive;
    line->carrier.test = standin_test;
    line->carrier.cancel = standin_cancel;
    return &line->carrier;
}

void carrier_close(struct carrier_end *end) {
    if (!end) return;
    for (struct parcel *next; end->parcels; end->parcels = next) {
        next = end->parcels->next;
        free(end->parcels);
    }
    for (struct line *next; end->lines; end->lines = next) {
        next = end->lines->next;
        free(end->lines);
    }
    free(end->packet);
    free(end);
}

int carrier_count(const struct carrier_end *end) { return end->begun; }

int carrier_under_way(const struct carrier_end *end) {
    int count = 0;
    for (int i = 0; i < REQUESTS; i++) count += end->request[i].state != FREE;
    return count;
}

int carrier_unclaimed(struct carrier_end *end) {
    int count = 0;
    for (int rank = 0; rank < end->net->ranks; rank++)
        if (rank != end->rank) take_packets(end, rank);
    for (const struct parcel *parcel = end->parcels; parcel; parcel = parcel->next) count++;
    return count;
}

const struct carrier_choice *carrier_of_environment(void) {
    static const struct carrier_choice borrows = {.borrows = true}, copies = {.longest = 9000};
    const char *name = getenv("QUERN_TEST_CARRIER");
    return !name || !*name ? NULL : strcmp(name, "borrows") == 0 ? &borrows : &copies;
}
