/* Hosts that a test plays.  played_host.h documents the functions. */
#include "harness/played_host.h"

#include <arpa/inet.h>

#include "harness/check.h"

int bind_anywhere(int type, uint32_t address, struct sockaddr_in *name) {
    socklen_t bytes = sizeof *name;
    const int bound = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    *name = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};
    if (bound >= 0 && bind(bound, (struct sockaddr *)name, bytes) == 0 && getsockname(bound, (struct sockaddr *)name, &bytes) == 0)
        return bound;
    close(bound);
    return -1;
}

struct quern_fact played_fact(const quern_group_args *args, int rank) {
    struct quern_fact fact = {.rank = rank, .host = rank, .device_kind = QUERN_CPU, .failure_timeout = RANK_LIMIT * 1e6};
    quern_address_read(args->hosts->meet, &fact.address);
    fact.address.port = 1;
    return fact;
}

struct played_card played_card(const quern_group_args *args) {
    struct played_card card;
    _Static_assert(offsetof(struct played_card, seal) == sizeof card.card + sizeof card.fact, "it is sent as it is");
    memset(&card, 0, sizeof card);
    card.card.ranks = (uint32_t)args->ranks, card.card.count = 1;
    card.fact = played_fact(args, 1);
    return card;
}

struct quern_address played_place(const quern_group_args *args, unsigned char key[QUERN_DIGEST_BYTES]) {
    struct quern_address place;
    quern_make_key(args->hosts->secret, args->hosts->secret_bytes, args->name, args->job, key);
    quern_address_read(args->hosts->meet, &place);
    return place;
}

int played_call(struct rank *rank, const struct quern_address *address, const unsigned char *key, enum quern_call_kind kind,
                unsigned char session[QUERN_DIGEST_BYTES]) {
    struct quern_connector connector;
    const double end = rank_now() + RANK_LIMIT;
    int one;
    quern_connector_begin(&connector, address, key, kind, 1, 0);
    while ((one = quern_connector_go(&connector)) < 0 && rank_now() < end) rank_sleep(1e-3);
    rank_check(rank, one >= 0, "the listener did not open: %s", connector.why);
    quern_handshake_session(&connector.handshake, session);
    return one;
}

struct quern_roster *played_roster(int hosts) {
    struct quern_roster *roster = calloc(1, sizeof *roster);
    const size_t bytes = (size_t)quern_segment_bytes(PLAYED_RANKS, PLAYED_HERE);
    const int file = memfd_create("segment", MFD_CLOEXEC);
    check(roster && file >= 0 && ftruncate(file, (off_t)bytes) == 0, "no memory");
    roster->segment = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    check(roster->segment != MAP_FAILED, "no memory");
    roster->descriptor = file, roster->bytes = bytes;
    roster->ranks = PLAYED_RANKS, roster->here = PLAYED_HERE, roster->hosts = hosts, roster->is_complete = true;
    roster->view = (struct quern_segment_view){roster->segment, PLAYED_RANKS, PLAYED_HERE};
    for (int rank = 0; rank < PLAYED_RANKS; rank++) {
        const bool is_here = rank < PLAYED_HERE;
        roster->peer[rank].is_here = is_here;
        roster->peer[rank].is_elsewhere = !is_here;
        roster->peer[rank].host = is_here ? 0 : hosts == 2 ? 1 : rank - 1;
        roster->peer[rank].slot = is_here ? (uint32_t)rank : 0;
        if (is_here) roster->rank_at[rank] = (uint16_t)rank;
        roster->segment->rank[rank].state = is_here ? QUERN_RANK_JOINED : QUERN_RANK_ELSEWHERE;
    }
    roster->leader_of[1] = 2;
    return roster;
}

void played_roster_free(struct quern_roster *roster) {
    munmap(roster->segment, roster->bytes);
    close(roster->descriptor);
    free(roster);
}
