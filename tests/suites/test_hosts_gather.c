/*
 * Groups of several hosts whose ranks meet by an all-gather of the engine: here a store in memory that the ranks of the test share.
 * What the callback gives may be wrong in any way; every rank then gets a status with the reason, and nothing is left.  Ranks that
 * do not fit together are in test_hosts_rejected.c.
 *
 * Runs on: ranks.
 */
#include "harness/device.h"
#include "harness/gather_store.h"
#include "harness/hosts_case.h"
#include "harness/random.h"
#include "os/address.h"
#include "ranks/hosts/hosts.h"
#include "ranks/segment.h"

/* Seconds: the limit of a creation that must end by it.  All ranks that come do so within this time. */
static const double LATE = 8;

/* What a rank's callback does wrong with what it hands back. */
enum fault { GOOD, FAILS, GARBAGE, SWAPPED, DAMAGED, STALE, ZEROS, FAULTS };

static void spoil(const struct gatherer *gatherer, unsigned char *all, size_t bytes) {
    const int ranks = gatherer->rank->ranks;
    const struct gather_store *store = gatherer->rank->shared;
    unsigned char part[GATHER_BYTES];
    if (gatherer->fault == GARBAGE)
        for (size_t i = 0; i < (size_t)ranks * bytes; i++) all[i] = (unsigned char)random_bits(1, i);
    if (gatherer->fault == ZEROS) memset(all, 0, (size_t)ranks * bytes);
    if (gatherer->fault == DAMAGED) all[(size_t)(ranks - 1) * bytes + bytes / 2] ^= 1;
    if (gatherer->fault == STALE) memcpy(all, store->parts[gatherer->rounds % 2], bytes);  /* of the gather before */
    if (gatherer->fault != SWAPPED) return;
    memcpy(part, all, bytes);
    memcpy(all, all + bytes, bytes);
    memcpy(all + bytes, part, bytes);
}

static int gather(void *user, const void *mine, size_t bytes, void *all) {
    struct gatherer *gatherer = user;
    gather_all(gatherer, mine, bytes, all);
    spoil(gatherer, all, bytes);
    return gatherer->fault == FAILS ? 42 : 0;
}

static quern_group_args gathered_args(struct gatherer *gatherer, double timeout) {
    quern_group_args args = rank_group_args(gatherer->rank, timeout);
    quern_hosts_args *hosts = rank_hosts_args(&args);
    hosts->meet = NULL;
    hosts->all_gather = gather;
    hosts->all_gather_user = gatherer;
    return args;
}

/* ---- groups ---- */

static quern_status meet_and_exchange(struct rank *rank) {
    static const char *const places[] = {NULL, "127.0.0.1", "127.0.0.3"};
    struct gatherer gatherer = {.rank = rank};
    const int files = rank->kind == RANK_PROCESSES ? count_entries("/proc/self/fd") : 0;
    for (size_t i = 0; i < COUNT(places); i++) {
        quern_group_args args = gathered_args(&gatherer, RANK_LIMIT);
        quern_hosts_args *hosts = rank_hosts_args(&args);
        quern_group *group = NULL, *child = NULL;
        hosts->meet = places[i];
        args.job = i + 1;
        rank_ok(rank, quern_group_create(&args, 1, &group));
        for (int round = 0; round < 10; round++) rank_ok(rank, quern_barrier(group, NULL, NULL));
        if (rank->hosts != 1) rank_check_report(rank, group, "host 1 at ");
        if (rank->hosts != 1 && places[i]) rank_check_report(rank, group, places[i]);
        rank_ok(rank, quern_group_split(&group, 1, &(int){rank->rank % 2}, &(int){0}, &child));
        rank_ok(rank, quern_barrier(child, NULL, NULL));
        rank_ok(rank, quern_barrier(group, NULL, NULL));
        rank_ok(rank, quern_group_destroy(child));
        rank_ok(rank, quern_group_destroy(group));
        rank_check(rank, ((struct gather_store *)rank->shared)->calls[rank->rank] == i + 1, "called %u times for %zu groups",
                   ((struct gather_store *)rank->shared)->calls[rank->rank], i + 1);
        if (rank->kind == RANK_PROCESSES)
            rank_check(rank, count_entries("/proc/self/fd") == files, "%d descriptors, before %d", count_entries("/proc/self/fd"),
                       files);
    }
    return QUERN_OK;
}

Test(hosts_gather, groups) {
    static const struct hosts_shape shapes[] = {{1, 2}, {2, 2}, {2, 5}, {3, 6}, {4, 8}};
    check_shapes(shapes, COUNT(shapes), meet_and_exchange, NULL);
}

/* ---- callbacks that do wrong ---- */

static const struct wrong {
    int fault, by;                           /* by -1: on every rank */
    quern_status status;                     /* of the rank whose callback does wrong */
    const char *detail;
} wrongs[] = {
    {FAILS, -1, QUERN_SYSTEM_ERROR, "all_gather returned 42: expected 0"},
    {FAILS, 1, QUERN_SYSTEM_ERROR, "all_gather returned 42: expected 0"},
    {GARBAGE, -1, QUERN_PEER_MISMATCH, "the part of rank 0 is none of this version"},
    {ZEROS, 2, QUERN_PEER_MISMATCH, "the part of rank 0 is none of this version"},
    {DAMAGED, -1, QUERN_PEER_MISMATCH, "the part of rank 3 is damaged, or has another secret"},
    {SWAPPED, -1, QUERN_PEER_MISMATCH, "the part of rank 1 as that of rank 0"},
    {SWAPPED, 3, QUERN_PEER_MISMATCH, "the part of rank 1 as that of rank 0"},
    /* Rank 0 gets its own part of another call, and so finds it; the others have no way to see it, and do not need one. */
    {STALE, 0, QUERN_PEER_MISMATCH, "the part of rank 0 one of another call"},
};

/* The others wait for it until their limit, or until it hangs up. */
TEST_BODY(hosts_gather, callbacks_that_do_wrong, .kind = RANK_BOTH, .count = 4, .hosts = 2, RANKS_EACH(wrongs),
           .shared_bytes = sizeof(struct gather_store)) {
    const struct wrong *wrong = rank->user;
    struct gatherer gatherer = {.rank = rank, .rounds = 0};
    const int files = rank->kind == RANK_PROCESSES ? count_entries("/proc/self/fd") : 0;
    const bool differs = wrong->by < 0 || rank->rank == wrong->by;
    quern_group *group = NULL;
    quern_group_args args = gathered_args(&gatherer, RANK_LIMIT);
    if (wrong->fault == STALE) {             /* a good one before */
        rank_ok(rank, quern_group_create(&args, 1, &group));
        rank_ok(rank, quern_barrier(group, NULL, NULL));
        rank_ok(rank, quern_group_destroy(group));
    }
    rank_line_up(rank);
    args.timeout = LATE;
    if (differs) gatherer.fault = wrong->fault;
    quern_status status = quern_group_create(&args, 1, &group);
    if (differs) {
        rank_refused(rank, status, wrong->status, wrong->detail);
    } else {
        rank_check(rank, status == QUERN_PEER_TIMEOUT || status == QUERN_PEER_LOST || status == wrong->status, "%s",
                   quern_status_string(status));
    }
    if (rank->kind == RANK_PROCESSES) rank_check(rank, count_entries("/proc/self/fd") == files, "%d descriptors, before %d",
                                                 count_entries("/proc/self/fd"), files);
}

/* ---- arguments ---- */

TEST_BODY(hosts_gather, wrong_arguments, .kind = RANK_PROCESSES, .count = 2, .hosts = 2,
           .shared_bytes = sizeof(struct gather_store)) {
    static const char *const wrong[] = {"127.0.0.1:4711", "localhost", "[::1]", ""};
    struct gatherer gatherer = {.rank = rank};
    quern_group *group = NULL;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        quern_group_args args = gathered_args(&gatherer, 1);
        quern_hosts_args *hosts = rank_hosts_args(&args);
        hosts->meet = wrong[i];
        rank_status(rank, quern_group_create(&args, 1, &group), QUERN_INVALID_ARGUMENT);
        rank_check_detail(rank, "expected one of this host without a port");
        hosts->meet = NULL, hosts->secret = NULL;
        rank_status(rank, quern_group_create(&args, 1, &group), QUERN_NULL_POINTER);
    }
    rank_check(rank, gatherer.rounds == 0, "called in spite of wrong arguments");
}

/* ---- a stranger gives a rank another slot of its host ---- */

struct damage {
    int rank;                                /* of the host of rank 0 */
    uint32_t seat;                           /* as it lies in the segment: 0: none; 1: the slot 0 */
    const char *detail;
};

/* The segment of this process's group, whose file has no name any more. */
static struct quern_segment *find_segment(struct rank *rank) {
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    uintptr_t at = 0;
    while (maps && !at && fgets(line, sizeof line, maps))
        if (strstr(line, " rw-s ") && strstr(line, "/dev/shm/quern.")) at = (uintptr_t)strtoull(line, NULL, 16);
    if (maps) fclose(maps);
    rank_check(rank, at, "there is no segment");
    return (struct quern_segment *)at;
}

/* The ranks of the host have met, and none of them has looked who has which slot. */
static int gather_and_damage(void *user, const void *mine, size_t bytes, void *all) {
    struct gatherer *gatherer = user;
    const struct damage *damage = gatherer->rank->user;
    if (gatherer->rank->rank == 0)
        __atomic_store_n(&find_segment(gatherer->rank)->rank[damage->rank].seat, damage->seat, __ATOMIC_RELEASE);
    return gather_all(gatherer, mine, bytes, all);
}

static const struct damage damages[] = {{1, 0, "a slot of this host has no rank"}, {1, 4, "the place of rank 1 is damaged"},
                                        {1, 1 << 20, "the place of rank 1 is damaged"}};

/*
 * The rank itself knows better where it is, and hears of the damage from the others.  Ranks come in any order, so the seat that is
 * wrong for sure is that of a rank which has another: there are three.
 */
TEST_RANKS_FOR(hosts_gather, a_slot_that_two_ranks_have,
               for (size_t i = 0; i < COUNT(damages); i++) for (int hosts = 1; hosts <= 2; hosts++), .kind = RANK_PROCESSES,
               .count = 3 * hosts, .hosts = hosts, .user = &damages[i], .shared_bytes = sizeof(struct gather_store)) {
    const struct damage *damage = rank->user;
    struct gatherer gatherer = {.rank = rank};
    quern_group *group = NULL;
    quern_group_args args = gathered_args(&gatherer, rank_host(rank, rank->rank) ? 1 : RANK_LIMIT);
    quern_hosts_args *hosts = rank_hosts_args(&args);
    hosts->all_gather = gather_and_damage;
    quern_status status = quern_group_create(&args, 1, &group);
    if (rank_host(rank, rank->rank)) {       /* nobody calls it */
        rank_check(rank, status == QUERN_PEER_TIMEOUT || status == QUERN_PEER_LOST, "%s", quern_status_string(status));
        return QUERN_OK;
    }
    if (status == QUERN_OK) status = quern_barrier(group, NULL, NULL);
    rank_refused(rank, status, QUERN_PEER_MISMATCH, damage->detail);
    return quern_group_destroy(group);
}

/* ---- more ranks than sockets serve ---- */

TEST_BODY_FOR(hosts_gather, ranks_that_are_too_many_for_sockets, quern_most_over_sockets = 2;, .kind = RANK_BOTH, .count = 3,
              .hosts = 2, .shared_bytes = sizeof(struct gather_store)) {
    struct gatherer gatherer = {.rank = rank};
    quern_group_args args = gathered_args(&gatherer, RANK_LIMIT);
    rank_hosts_args(&args)->transports = "sockets";
    rank_refuse_group(rank, &args, QUERN_NOT_SUPPORTED, "3 ranks of several hosts: sockets serve up to 2");
}

/* ---- addresses ---- */

Test(hosts_gather, addresses) {
    static const struct {
        const char *here, *there;
        uint32_t bits;
        bool near;
    } cases[] = {{"10.77.0.1", "10.77.0.200", 24, true}, {"10.77.0.1", "10.77.1.1", 24, false},
                 {"10.77.0.1", "10.77.1.1", 23, true}, {"10.77.0.1", "10.77.2.1", 23, false},
                 {"10.77.0.1", "10.77.0.2", 32, false},  {"fd00::1", "fd00::2:1", 64, true},    {"fd00::1", "fd01::1", 64, false},
                 {"fd00::1", "10.77.0.1", 0, false}};
    struct quern_interface list[8];
    struct quern_address there;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct quern_interface here = {.network_bits = cases[i].bits};
        check(quern_address_read_alone(cases[i].here, &here.address), "%s", cases[i].here);
        check(quern_address_read_alone(cases[i].there, &there), "%s", cases[i].there);
        check(quern_address_near(&here, &there) == cases[i].near, "%s near %s", cases[i].there, cases[i].here);
        check(quern_address_same(&there, &there) && !quern_address_same(&here.address, &there), "%s", cases[i].there);
    }
    const int count = quern_interfaces(list, COUNT(list));
    check(count >= 1 && count <= (int)COUNT(list), "%d addresses", count);
    for (int i = 0; i < count; i++) check(!quern_address_is_any(&list[i].address) && list[i].network_bits > 0, "address %d", i);
    check(quern_interfaces(list, 1) == 1, "more addresses than there is room for");
    const struct quern_address four = quern_address_any(4), six = quern_address_any(6);
    check(quern_address_is_any(&four) && quern_address_is_any(&six), "the address of all");
}

/* ---- records with flipped bits: no rank believes one ---- */

static int gather_flipped(void *user, const void *mine, size_t bytes, void *all) {
    struct gatherer *gatherer = user;
    const uint64_t round = gatherer->rounds;
    const int failed = gather(user, mine, bytes, all);
    const size_t at = (size_t)random_below(31, round, (uint64_t)gatherer->rank->ranks * bytes);
    ((unsigned char *)all)[at] ^= (unsigned char)(1 << random_below(32, round, 8));
    return failed;
}

TEST_BODY(hosts_gather, flipped_bits, .kind = RANK_PROCESSES, .count = 2, .hosts = 2, .shared_bytes = sizeof(struct gather_store)) {
    struct gatherer gatherer = {.rank = rank};
    const int rounds = (int)test_size(1000, 100);
    for (int round = 0; round < rounds; round++) {
        quern_group_args args = gathered_args(&gatherer, RANK_LIMIT);
        quern_hosts_args *hosts = rank_hosts_args(&args);
        hosts->all_gather = gather_flipped;
        args.job = (uint64_t)round;
        rank_refuse_group(rank, &args, QUERN_PEER_MISMATCH, "all_gather gave");
    }
}
