/*
 * Each rank brings a record of itself, signed with the key of the group.  All get the same records, so all come to the same
 * decision without a further message.  Called by every rank while a group is created or split.
 */
#define _GNU_SOURCE
#include "ranks/hosts/hosts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "ranks/describe.h"
#include "runtime/status.h"

enum { OFFERS = 8, VERSION = 2 };
static const char MAGIC[8] = "quernall";

struct record {
    char magic[8];
    uint32_t version, ranks, first_epoch;
    uint32_t status;             /* quern_status: of what the rank has done so far */
    int32_t here;                /* ranks of its host */
    unsigned char segment[16];   /* the number of its host's segment: the ranks of a host have the same */
    unsigned char number[32];    /* random */
    struct quern_fact fact;
    uint32_t offers;             /* addresses at which its listener can be reached, with its port */
    struct quern_interface offer[OFFERS];
    char reason[200];            /* why it is not ready */
    unsigned char hmac[QUERN_DIGEST_BYTES];
};

const size_t quern_gather_bytes = sizeof(struct record);

/* ---- this rank's record ---- */

static void sign(const struct record *record, const unsigned char *key, unsigned char code[QUERN_DIGEST_BYTES]) {
    quern_hmac(key, QUERN_DIGEST_BYTES, &(struct quern_part){record, offsetof(struct record, hmac)}, 1, code);
}

/* Where a listener at one address, or at all of the machine, can be reached. */
static quern_status offer(const struct quern_gathering *gathering, struct record *record) {
    const struct quern_address *at = &gathering->listener->address;
    int count = 1;
    record->offer[0].address = *at;
    if (quern_address_is_any(at)) count = quern_interfaces(record->offer, OFFERS);
    if (count < 0)
        return quern_fail(gathering->member->device, QUERN_SYSTEM_ERROR, "listing the addresses of this machine: %s",
                          strerror(errno));
    for (int i = 0; i < count; i++) record->offer[i].address.port = at->port;
    record->offers = (uint32_t)count;
    return QUERN_OK;
}

static void write_record(const struct quern_gathering *gathering, quern_status ready, struct record *record) {
    const struct quern_membership *member = gathering->member;
    memset(record, 0, sizeof *record);
    if (ready == QUERN_OK) ready = offer(gathering, record);
    if (ready == QUERN_OK && getrandom(record->number, sizeof record->number, 0) < 0)
        ready = quern_fail(member->device, QUERN_SYSTEM_ERROR, "no random numbers: %s", strerror(errno));
    if (ready == QUERN_OK) {
        record->fact = quern_read_fact(member, member->rank);
        memcpy(record->segment, member->segment->id, sizeof record->segment);
    } else {
        quern_error_detail(record->reason, sizeof record->reason);
    }
    memcpy(record->magic, MAGIC, sizeof MAGIC);
    record->version = VERSION;
    record->ranks = (uint32_t)member->ranks;
    record->first_epoch = member->first_epoch;
    record->status = ready;
    record->here = member->here;
    record->fact.rank = member->rank;
    record->fact.failure_timeout = member->failure_timeout;
    sign(record, gathering->key, record->hmac);
}

/* ---- the records of all ranks ---- */

/* Whether what lies in each place is the record of that rank, in this group. */
static quern_status check_places(const struct quern_gathering *gathering, const struct record *mine, const struct record *all) {
    const struct quern_membership *member = gathering->member;
    for (int rank = 0; rank < member->ranks; rank++) {
        const struct record *record = &all[rank];
        unsigned char code[QUERN_DIGEST_BYTES];
        if (memcmp(record->magic, MAGIC, sizeof MAGIC) != 0 || record->version != VERSION)
            return quern_fail(member->device, QUERN_PEER_MISMATCH, "what all_gather gave as the part of rank %d is none of this "
                              "version of the library", rank);
        sign(record, gathering->key, code);
        if (!quern_same_digest(code, record->hmac))
            return quern_fail(member->device, QUERN_PEER_MISMATCH, "what all_gather gave as the part of rank %d is damaged, or has "
                              "another secret, name or job", rank);
        if (record->fact.rank != rank)
            return quern_fail(member->device, QUERN_PEER_MISMATCH, "all_gather gave the part of rank %d as that of rank %d",
                              record->fact.rank, rank);
    }
    if (memcmp(mine, &all[member->rank], sizeof *mine) == 0) return QUERN_OK;
    return quern_fail(member->device, QUERN_PEER_MISMATCH, "all_gather gave as the part of rank %d one of another call",
                      member->rank);
}

/* Whether all ranks are ready, and expect the same group.  The signatures are right, so these are the words of ranks. */
static quern_status check_ranks(const struct quern_membership *member, const struct record *all) {
    for (int rank = 0; rank < member->ranks; rank++) {
        const struct record *record = &all[rank];
        if (record->ranks != (uint32_t)member->ranks)
            return quern_fail(member->device, QUERN_PEER_MISMATCH, "the group is being formed with %d ranks, and rank %d expects "
                              "%u", member->ranks, rank, record->ranks);
        if (record->first_epoch != all[0].first_epoch)
            return quern_fail(member->device, QUERN_PEER_MISMATCH, "first_epoch of rank %d is %u, and that of rank 0 is %u", rank,
                              record->first_epoch, all[0].first_epoch);
        if (record->fact.failure_timeout != all[0].fact.failure_timeout)
            return quern_fail(member->device, QUERN_PEER_MISMATCH, "failure_timeout of rank %d is %g s, and that of rank 0 is %g s",
                              rank, record->fact.failure_timeout * 1e-6, all[0].fact.failure_timeout * 1e-6);
        const bool fits = record->fact.device_kind == (int32_t)member->device->kind;
        if (record->status == QUERN_OK && (record->offers < 1 || record->offers > OFFERS || !fits))
            return quern_fail(member->device, QUERN_PEER_MISMATCH, "rank %d is no %s rank with an address", rank,
                              member->device->kind == QUERN_CPU ? "CPU" : "GPU");
    }
    for (int rank = 0; rank < member->ranks; rank++)
        if (all[rank].status != QUERN_OK) {
            char reason[sizeof all[rank].reason];
            quern_copy_text(reason, all[rank].reason, sizeof reason);
            return quern_fail(member->device, quern_told_status(all[rank].status), "rank %d: %s", rank, reason);
        }
    return QUERN_OK;
}

static bool same_host(const struct record *a, const struct record *b) {
    return memcmp(a->segment, b->segment, sizeof a->segment) == 0;
}

/* Hosts are numbered by their lowest rank. */
static quern_status number_hosts(const struct quern_membership *member, const struct record *all, struct quern_roll *roll) {
    uint16_t lowest[QUERN_GROUP_LIMIT], here[QUERN_GROUP_LIMIT];  /* of each host */
    for (int rank = 0; rank < member->ranks; rank++) {
        int32_t host = 0;
        while (host < roll->hosts && !same_host(&all[lowest[host]], &all[rank])) host++;
        if (host == roll->hosts) lowest[roll->hosts] = (uint16_t)rank, here[roll->hosts++] = 0;
        here[host]++;
        roll->facts[rank].host = host;
    }
    for (int rank = 0; rank < member->ranks; rank++)
        if (here[roll->facts[rank].host] != all[rank].here)
            return quern_fail(member->device, QUERN_PEER_MISMATCH, "host_ranks of rank %d is %d, and %d ranks are of its host",
                              rank, all[rank].here, here[roll->facts[rank].host]);
    return QUERN_OK;
}

/* ---- where a rank of another host is called ---- */

/* In a network that both hosts have is best.  An address that is this host's own leads elsewhere only on the same machine. */
static int worth_of(const struct record *mine, const struct quern_address *there) {
    bool is_near = false;
    for (uint32_t i = 0; i < mine->offers; i++) {
        if (quern_address_same(&mine->offer[i].address, there)) return 0;
        is_near |= quern_address_near(&mine->offer[i], there);
    }
    return is_near ? 2 : 1;
}

static struct quern_address choose_address(const struct record *mine, const struct record *theirs) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < theirs->offers; i++)
        if (worth_of(mine, &theirs->offer[i].address) > worth_of(mine, &theirs->offer[best].address)) best = i;
    return theirs->offer[best].address;
}

/* ---- gathering ---- */

static void write_roll(const struct quern_membership *member, const struct record *all, struct quern_roll *roll) {
    struct quern_sha256 hash;
    for (int rank = 0; rank < member->ranks; rank++) {
        const int32_t host = roll->facts[rank].host;
        roll->facts[rank] = all[rank].fact;
        roll->facts[rank].host = host;
        roll->facts[rank].address = choose_address(&all[member->rank], &all[rank]);
    }
    quern_sha256_begin(&hash);
    quern_sha256_add(&hash, all, (size_t)member->ranks * sizeof *all);
    quern_sha256_end(&hash, roll->number);
}

/* A rank that is not ready has a reason of its own, should it not get those of the others. */
static quern_status gather(const struct quern_gathering *gathering, const struct record *mine, struct record *all) {
    const quern_device *device = gathering->member->device;
    const int failed = gathering->gather(gathering->user, mine, sizeof *mine, all);
    quern_status status = failed ? quern_fail(device, QUERN_SYSTEM_ERROR, "all_gather returned %d: expected 0", failed)
                                 : check_places(gathering, mine, all);
    return status == QUERN_OK || mine->status == QUERN_OK ? status : quern_fail(device, mine->status, "%s", mine->reason);
}

quern_status quern_gather_roll(const struct quern_gathering *gathering, quern_status ready, struct quern_roll *roll) {
    const struct quern_membership *member = gathering->member;
    struct record mine, *all = calloc((size_t)member->ranks, sizeof *all);
    if (!all) return quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for a group");
    *roll = (struct quern_roll){.facts = roll->facts};
    write_record(gathering, ready, &mine);
    quern_status status = gather(gathering, &mine, all);
    if (status == QUERN_OK) status = check_ranks(member, all);
    if (status == QUERN_OK) status = number_hosts(member, all, roll);
    if (status == QUERN_OK) write_roll(member, all, roll);
    free(all);
    return status;
}
