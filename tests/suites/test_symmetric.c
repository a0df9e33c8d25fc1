/*
 * Symmetric memory of CPU ranks, which are threads or processes: the addresses on every rank, the calls that free it, the errors,
 * and that no resource is leaked.
 *
 * Runs on: cpu.
 */
#include <sys/resource.h>

#include "ranks/handles.h"
#include "harness/check.h"
#include "harness/random.h"
#include "harness/ranks.h"
#include "ranks/descriptors.h"
#include "ranks/symmetric/symmetric.h"

/* ---- the functions of the ranks ---- */

static void meet(struct rank *rank, quern_group *group) { rank_ok(rank, quern_barrier(group, NULL, NULL)); }

static void check_bytes(struct rank *rank, const char *bytes, size_t count, int value, const char *what) {
    for (size_t i = 0; i < count; i++)
        rank_check(rank, bytes[i] == (char)value, "%s: byte %zu of %zu is %d, expected %d", what, i, count, bytes[i], (char)value);
}

/* The call is refused with this detail. */
static void refuse_peer(struct rank *rank, quern_group *group, const void *pointer, int peer, const char *why) {
    void *there;
    rank_refused(rank, quern_symmetric_peer(group, pointer, peer, &there), QUERN_INVALID_ARGUMENT, why);
}

/* ---- allocation ---- */

/* One of several parts is large, unless many ranks would all check it. */
static size_t size_for(int rank, int ranks) {
    static const size_t sizes[] = {7000, 1, 0, 4096, (3 << 20) + 5, 255};
    size_t size = sizes[rank % (int)COUNT(sizes)];
    return ranks > 8 && size > 7000 ? 5000 : size;
}

static void see_every_part(struct rank *rank, quern_group *group) {
    size_t bytes = size_for(rank->rank, rank->ranks);
    char *mine = rank_allocate(rank, group, bytes);
    rank_check(rank, mine && (uintptr_t)mine % 256 == 0, "the part is at %p", (void *)mine);
    check_bytes(rank, mine, bytes, 0, "fresh memory");
    memset(mine, rank->rank + 1, bytes);
    meet(rank, group);
    for (int peer = 0; peer < rank->ranks; peer++) {
        char *there = rank_peer_of(rank, group, mine, peer);
        rank_check(rank, peer != rank->rank || there == mine, "this rank's own part is elsewhere");
        check_bytes(rank, there, size_for(peer, rank->ranks), peer + 1, "a peer's part");
    }
    meet(rank, group);
    /* Every rank writes into the next rank's part. */
    int next = (rank->rank + 1) % rank->ranks, before = (rank->rank + rank->ranks - 1) % rank->ranks;
    memset(rank_peer_of(rank, group, mine, next), 100 + rank->rank, size_for(next, rank->ranks));
    meet(rank, group);
    check_bytes(rank, mine, bytes, 100 + before, "what the peer wrote");
    rank_ok(rank, quern_symmetric_free(group, mine, NULL));
}

Test(symmetric, every_rank_sees_every_part) {
    static const int counts[] = {1, 2, 3, 4, 8, 33};
    for (size_t i = 0; i < COUNT(counts); i++) check_ranks(.kind = RANK_BOTH, .count = counts[i], .in_group = see_every_part);
    check_ranks(.kind = RANK_THREADS, .count = 128, .in_group = see_every_part);
}

TEST_GROUP(symmetric, look_ups_find_what_lies_in_a_range_and_nothing_else, .kind = RANK_BOTH, .count = 2) {
    size_t bytes = rank->rank == 1 ? 5000 : 9000;
    char *mine = rank_allocate(rank, group, bytes), *other = rank_allocate(rank, group, 100), stranger;
    void *there;
    for (size_t at = 0; at < 5000; at += 999)
        rank_check(rank, rank_peer_of(rank, group, mine + at, 1) == rank_peer_of(rank, group, mine, 1) + at,
                   "byte %zu is elsewhere", at);
    rank_check(rank, rank_peer_of(rank, group, mine, 0) != rank_peer_of(rank, group, other, 0), "two allocations are one");
    if (rank->rank == 0) {
        rank_check(rank, rank_peer_of(rank, group, mine + 4999, 1), "the last byte");
        refuse_peer(rank, group, mine + 5000, 1, "byte 5000 of its range, and the part of rank 1 has 5000 bytes");
        rank_check(rank, rank_peer_of(rank, group, mine + 5000, 0) == mine + 5000, "its own part is larger");
    }
    refuse_peer(rank, group, mine + bytes, 0, "not in symmetric memory");
    refuse_peer(rank, group, mine - 1, 0, "not in symmetric memory");
    refuse_peer(rank, group, &stranger, 0, "not in symmetric memory");
    refuse_peer(rank, group, NULL, 0, "not in symmetric memory");
    refuse_peer(rank, group, mine, -1, "expected 0 to 1");
    refuse_peer(rank, group, mine, 2, "rank is 2: expected 0 to 1");
    rank_status(rank, quern_symmetric_peer(group, mine, 0, NULL), QUERN_NULL_POINTER);
    rank_refused(rank, quern_symmetric_multicast(group, mine, &there), QUERN_NOT_SUPPORTED, "the ranks are CPUs");
    rank_status(rank, quern_symmetric_multicast(group, &stranger, &there), QUERN_INVALID_ARGUMENT);
    rank_status(rank, quern_symmetric_peer(NULL, mine, 0, &there), QUERN_NULL_POINTER);
}

/* The id of an allocation: the same on every rank, never reused, also after a failed call. */
TEST_GROUP(symmetric, a_place_has_one_name_on_all_ranks, .kind = RANK_BOTH, .count = 3) {
    const struct quern_membership *member = rank_member_of(rank, group);
    uint64_t *ids = rank->shared;
    struct quern_symmetric_location place;
    char *last = NULL;
    for (int i = 0; i < 6; i++) {
        size_t huge = i == 3 && rank->rank == 1 ? (size_t)1 << 50 : 10;
        void *pointer;
        rank_status(rank, quern_symmetric_alloc(&group, 1, &huge, &pointer), i == 3 ? QUERN_INVALID_SHAPE : QUERN_OK);
        if (i == 3) continue;
        last = pointer;
        rank_check(rank, quern_symmetric_find(member, last + 4, 6, &place) == QUERN_MEMORY_SYMMETRIC, "it is not found");
        rank_check(rank, place.offset == 4 && place.bytes == 10, "it is at %lld", (long long)place.offset);
        if (rank->rank == 0) ids[i] = place.id;
        meet(rank, group);
        rank_check(rank, ids[i] == place.id, "call %d has the names %llu and %llu", i, (unsigned long long)ids[i],
                   (unsigned long long)place.id);
        rank_check(rank, i == 0 || place.id > ids[0], "a name was used again");
        for (int peer = 0; peer < rank->ranks; peer++) {
            rank_check(rank, quern_symmetric_resolve(member, place.id, 3, 7, peer) == rank_peer_of(rank, group, last + 3, peer),
                       "a name means another place");
            rank_check(rank, !quern_symmetric_resolve(member, place.id, 3, 8, peer), "a name reaches too far");
            rank_check(rank, !quern_symmetric_resolve(member, place.id, -1, 1, peer), "a name reaches before the range");
            rank_check(rank, !quern_symmetric_resolve(member, place.id, 4, -1, peer), "a name reaches backwards");
            rank_check(rank, quern_symmetric_resolve(member, place.id, 10, 0, peer), "a name does not reach the end");
            rank_check(rank, !quern_symmetric_resolve(member, place.id, 11, 0, peer), "a name begins behind the range");
            rank_check(rank, !quern_symmetric_resolve(member, place.id, INT64_MAX, INT64_MAX, peer), "a name is far away");
            rank_check(rank, !quern_symmetric_resolve(member, place.id + 1, 0, 1, peer), "a name that was never given");
        }
    }
    rank_check(rank, quern_symmetric_find(member, last + 4, 7, &place) == QUERN_MEMORY_PRIVATE, "found beyond its end");
    uint64_t id = place.id;
    rank_ok(rank, quern_symmetric_free(group, last, NULL));
    rank_check(rank, quern_symmetric_find(member, last + 4, 1, &place) == QUERN_MEMORY_FREED, "it is not known to be freed");
    rank_check(rank, !quern_symmetric_resolve(member, id, 0, 1, rank->rank), "its name still means something");
}

/* ---- freeing ---- */

TEST_GROUP_FOR(symmetric, memory_stays_until_all_have_freed_it_and_its_later_use_is_an_error,
               for (int ranks = 2; ranks <= 4; ranks += 2), .kind = RANK_BOTH, .count = ranks) {
    size_t bytes = 100000;
    char *mine = rank_allocate(rank, group, bytes), *next = rank_peer_of(rank, group, mine, (rank->rank + 1) % rank->ranks);
    void *there;
    rank_refused(rank, quern_symmetric_free(group, mine + 8, NULL), QUERN_INVALID_ARGUMENT, "lies 8 bytes behind the beginning");
    rank_status(rank, quern_symmetric_unregister(group, mine, NULL), QUERN_INVALID_ARGUMENT);
    rank_check_detail(rank, "was allocated: expected quern_symmetric_free");
    rank_status(rank, quern_symmetric_free(group, mine, mine), QUERN_INVALID_ARGUMENT);  /* a CPU has no stream */
    rank_refused(rank, quern_symmetric_free(group, &bytes, NULL), QUERN_INVALID_ARGUMENT, "not in symmetric memory");
    rank_ok(rank, quern_symmetric_free(group, NULL, NULL));
    meet(rank, group);
    /* The owner frees while a peer still writes; the peer continues to write. */
    if (rank->rank == 0) {
        rank_ok(rank, quern_symmetric_free(group, mine, NULL));
        refuse_peer(rank, group, mine, 0, "was freed");
        refuse_peer(rank, group, mine + bytes - 1, 1, "was freed");
        rank_refused(rank, quern_symmetric_multicast(group, mine, &there), QUERN_INVALID_ARGUMENT, "was freed");
        rank_refused(rank, quern_symmetric_free(group, mine, NULL), QUERN_INVALID_ARGUMENT, "was freed before");
    }
    meet(rank, group);
    if (rank->rank != 0) {
        memset(mine, 7, bytes);
        memset(next, 8, bytes);
        rank_check(rank, rank_peer_of(rank, group, mine, 0), "a live range");
        rank_ok(rank, quern_symmetric_free(group, mine, NULL));
        refuse_peer(rank, group, mine, 0, "was freed");
    }
    meet(rank, group);
    /* malloc must not get the freed addresses: their use would look like a use after free. */
    for (int i = 0; i < 8; i++) {
        char *fresh = malloc(bytes * 8);
        rank_check(rank, fresh + bytes * 8 <= mine || fresh >= mine + bytes, "freed addresses came back");
        free(fresh);
        refuse_peer(rank, group, mine, 0, "was freed");
    }
}

TEST_GROUP(symmetric, the_last_32_frees_are_remembered, .kind = RANK_BOTH, .count = 2) {
    char *old[40];
    for (size_t i = 0; i < COUNT(old); i++) {
        old[i] = rank_allocate(rank, group, 1000);
        rank_ok(rank, quern_symmetric_free(group, old[i], NULL));
        refuse_peer(rank, group, old[i], 0, "was freed");
    }
    for (size_t i = 0; i < COUNT(old); i++) {
        size_t last = i;  /* the system may have reused forgotten addresses */
        for (size_t later = i; later < COUNT(old); later++)
            if (old[later] == old[i]) last = later;
        refuse_peer(rank, group, old[i], 0, last < COUNT(old) - 32 ? "not in symmetric memory" : "was freed");
    }
}

/* Counts all addresses that this process has reserved. */
static long count_address_bytes(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (fscanf(file, "%ld", &pages) != 1) pages = 0;
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

struct held {
    int descriptors, mappings;
};

/* The resources of this process, counted by one of its ranks while the others wait. */
static struct held count_held(struct rank *rank, quern_group *group) {
    struct held held = {0};
    meet(rank, group);
    if (rank->kind == RANK_PROCESSES || rank->rank == 0) held = (struct held){rank_descriptors(), count_mappings("memfd:quern")};
    meet(rank, group);
    return held;
}

static void check_held(struct rank *rank, quern_group *group, struct held before) {
    struct held held = count_held(rank, group);
    rank_check(rank, held.descriptors == before.descriptors, "%d descriptors, %d before", held.descriptors, before.descriptors);
    rank_check(rank, held.mappings == before.mappings, "%d mappings, %d before", held.mappings, before.mappings);
}

/* The resources of a process are constant over many allocations, including failed ones. */
TEST_BODY(symmetric, nothing_is_left_behind, .kind = RANK_BOTH, .count = 4) {
    long addresses = count_address_bytes();
    quern_group *group = rank_group(rank, RANK_LIMIT);
    void *pointer;
    struct held before = count_held(rank, group);
    for (int i = 0; i < 200; i++) {
        size_t bytes = i % 10 == 9 && rank->rank == 1 ? (size_t)1 << 42 : (size_t)(i % 7) * 30000;
        rank_status(rank, quern_symmetric_alloc(&group, 1, &bytes, &pointer), i % 10 == 9 ? QUERN_OUT_OF_MEMORY : QUERN_OK);
        if (i % 10 != 9) rank_ok(rank, quern_symmetric_free(group, pointer, NULL));
        /* A rank that is alone in its process is the last to free. */
        rank_check(rank, rank->kind == RANK_THREADS || count_mappings("memfd:quern") == before.mappings,
                   "memory outlives its last part");
    }
    check_held(rank, group, before);
    rank_allocate(rank, group, 5000);  /* left for destroy */
    struct held with_one = count_held(rank, group);
    bool counted = rank->kind == RANK_PROCESSES || rank->rank == 0;
    rank_check(rank, with_one.mappings == before.mappings + counted, "an allocation has %d mappings", with_one.mappings);
    rank_check(rank, with_one.descriptors == before.descriptors, "an allocation keeps a descriptor");
    meet(rank, group);
    rank_ok(rank, quern_group_destroy(group));
    int64_t *left = rank->shared;
    __atomic_add_fetch(left, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(left, __ATOMIC_SEQ_CST) < rank->ranks) rank_sleep(0.001);
    rank_check(rank, count_mappings("memfd:quern") == 0, "%d mappings are left", count_mappings("memfd:quern"));
    if (rank->kind == RANK_PROCESSES)  /* threads take some for their heaps */
        rank_check(rank, count_address_bytes() - addresses < 16 << 20, "%ld bytes of addresses are left",
                   count_address_bytes() - addresses);
}

TEST_RANKS(symmetric, a_rank_that_leaves_takes_nothing_from_the_others, .kind = RANK_BOTH, .count = 3) {
    quern_group *group = rank_group(rank, RANK_LIMIT);
    size_t bytes = 50000;
    char *mine = rank_allocate(rank, group, bytes), *first = rank_peer_of(rank, group, mine, 0);
    int64_t *gone = rank->shared;
    memset(mine, 40 + rank->rank, bytes);
    meet(rank, group);
    if (rank->rank == 0) {
        rank_ok(rank, quern_group_destroy(group));
        __atomic_store_n(gone, 1, __ATOMIC_SEQ_CST);
        return QUERN_OK;
    }
    while (!__atomic_load_n(gone, __ATOMIC_SEQ_CST)) rank_sleep(0.001);
    char *slice = first + 10000 * rank->rank;
    check_bytes(rank, slice, 10000, 40, "the part of a rank that has left");
    memset(slice, 9, 10000);
    rank_ok(rank, quern_symmetric_free(group, mine, NULL));
    return quern_group_destroy(group);
}

/* ---- failure ---- */

static void register_range(struct rank *rank, quern_group *group, void *pointer, size_t bytes) {
    rank_ok(rank, quern_symmetric_register(&group, 1, &pointer, &bytes));
}

/* What rank 1 asks for, or has, in place of 100,000 bytes. */
static const struct failure {
    size_t bytes;
    bool no_sizes, no_pointers;
    bool registers;              /* threads register memory; else they and processes allocate it */
    int files, descriptors;      /* processes: limits of rank 0's and of rank 1's */
    quern_status status;
    const char *why;
} failures[] = {
    {.bytes = (size_t)1 << 45, .status = QUERN_OUT_OF_MEMORY, .why = "rank 0: the ranks ask for 35184372"},
    {.bytes = SIZE_MAX - 3, .status = QUERN_INVALID_SHAPE, .why = "rank 1: bytes[0] is 18446744073709551612"},
    {.no_sizes = true, .status = QUERN_NULL_POINTER, .why = "rank 1: bytes is NULL"},
    {.no_pointers = true, .status = QUERN_NULL_POINTER, .why = "rank 1: pointers is NULL"},
    {.files = 8192, .status = QUERN_OUT_OF_MEMORY, .why = "rank 0: making 307200 bytes of shared memory: "},
    {.descriptors = 1, .status = QUERN_SYSTEM_ERROR, .why = "rank 1: no descriptors are left"},
    {.registers = true, .no_pointers = true, .status = QUERN_NULL_POINTER, .why = "rank 1: pointers is NULL"},
    {.registers = true, .no_sizes = true, .status = QUERN_NULL_POINTER, .why = "rank 1: bytes is NULL"},
    {.registers = true, .no_sizes = true, .no_pointers = true, .status = QUERN_NULL_POINTER, .why = "rank 1: bytes is NULL"},
};

static bool needs_processes(const struct failure *failure) { return failure->files || failure->descriptors; }

static void set_limits(const struct rank *rank, const struct failure *failure) {
    if (failure->files && rank->rank == 0) setrlimit(RLIMIT_FSIZE, &(struct rlimit){(rlim_t)failure->files, RLIM_INFINITY});
    if (!failure->descriptors || rank->rank != 1) return;
    /* The socket and the accepted connection, and nothing else. */
    int first = dup(0), second = dup(0);
    close(first);
    close(second);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){(rlim_t)second + 1, 20000});
}

TEST_BODY_FOR(symmetric, when_one_rank_fails_all_do_and_learn_why, for (size_t i = 0; i < COUNT(failures); i++),
              .kind = needs_processes(&failures[i]) ? RANK_PROCESSES : failures[i].registers ? RANK_THREADS : RANK_BOTH, .count = 3,
              .user = &failures[i]) {
    const struct failure *failure = rank->user, none = {.bytes = 0}, *mine = rank->rank == 1 ? failure : &none;
    struct rlimit files, open_files;
    quern_group *group = rank_group(rank, RANK_LIMIT);
    const size_t usual = 100000, bytes = mine->bytes ? mine->bytes : usual, *sizes = mine->no_sizes ? NULL : &bytes;
    SCOPED char *memory = malloc(usual);
    void *pointer = memory, **pointers = mine->no_pointers ? NULL : &pointer;
    getrlimit(RLIMIT_FSIZE, &files);
    getrlimit(RLIMIT_NOFILE, &open_files);
    struct held before = count_held(rank, group);
    set_limits(rank, failure);
    rank_refused(rank, failure->registers ? quern_symmetric_register(&group, 1, pointers, sizes)
                                          : quern_symmetric_alloc(&group, 1, sizes, pointers), failure->status, failure->why);
    if (failure->files) rank_check_detail(rank, strerror(EFBIG));
    rank_check(rank, pointer == memory, "the pointer was set");
    refuse_peer(rank, group, memory, 0, "not in symmetric memory");
    if (needs_processes(failure)) {
        setrlimit(RLIMIT_FSIZE, &files);
        setrlimit(RLIMIT_NOFILE, &open_files);
    }
    check_held(rank, group, before);
    if (failure->registers) register_range(rank, group, memory, usual);
    char *part = rank_allocate(rank, group, usual);  /* the group is still usable */
    memset(rank_peer_of(rank, group, part, (rank->rank + 1) % rank->ranks), 1, usual);
    meet(rank, group);
    rank_ok(rank, quern_group_destroy(group));
}

/* Rank 1 comes when the limit of another rank has ended. */
TEST_RANKS(symmetric, late_ranks_poison_the_group, .kind = RANK_BOTH, .count = 3) {
    quern_group *group = rank_group_met(rank, 0.3);
    size_t bytes = 10;
    void *pointer;
    while (rank->rank == 1 && quern_group_status(group) == QUERN_OK) rank_sleep(1e-3);
    quern_status status = quern_symmetric_alloc(&group, 1, &bytes, &pointer);
    rank_check(rank, status == QUERN_PEER_TIMEOUT, "it gave %s", quern_status_string(status));
    rank_check_detail(rank, "quern_symmetric_alloc");
    rank_status(rank, quern_symmetric_peer(group, &bytes, 0, &pointer), QUERN_PEER_TIMEOUT);
    rank_status(rank, quern_symmetric_free(group, &bytes, NULL), QUERN_PEER_TIMEOUT);
    rank_check(rank, count_mappings("memfd:quern") == 0, "%d mappings are left", count_mappings("memfd:quern"));
    return quern_group_destroy(group);
}

/* ---- registration ---- */

static uint64_t id_of(struct rank *rank, const quern_group *group, const void *pointer) {
    struct quern_symmetric_location place;
    rank_check(rank, quern_symmetric_find(rank_member_of(rank, group), pointer, 1, &place) == QUERN_MEMORY_SYMMETRIC,
               "it is not found");
    return place.id;
}

TEST_BODY_FOR(symmetric, threads_register_any_memory, for (int ranks = 1; ranks <= 4; ranks += 3), .kind = RANK_THREADS,
              .count = ranks) {
    quern_group *group = rank_group(rank, RANK_LIMIT);
    size_t bytes = 3000 + 500 * (size_t)rank->rank;
    char *memory = calloc(1, bytes), **all = rank->shared;
    all[rank->rank] = memory;
    register_range(rank, group, memory, bytes);
    uint64_t id = id_of(rank, group, memory);
    for (int peer = 0; peer < rank->ranks; peer++)
        rank_check(rank, rank_peer_of(rank, group, memory + 17, peer) == all[peer] + 17, "rank %d is elsewhere", peer);
    register_range(rank, group, memory, bytes);
    rank_check(rank, id_of(rank, group, memory) == id, "a range that all had registered was registered anew");
    /* Registrations are counted: two calls are needed to end this one. */
    rank_status(rank, quern_symmetric_free(group, memory, NULL), QUERN_INVALID_ARGUMENT);
    rank_check_detail(rank, "was registered: expected quern_symmetric_unregister");
    rank_status(rank, quern_symmetric_unregister(group, memory + 1, NULL), QUERN_INVALID_ARGUMENT);
    rank_ok(rank, quern_symmetric_unregister(group, memory, NULL));
    rank_check(rank, rank_peer_of(rank, group, memory, 0) == all[0], "it was ended too early");
    rank_ok(rank, quern_symmetric_unregister(group, memory, NULL));
    refuse_peer(rank, group, memory, 0, "not in symmetric memory");
    rank_status(rank, quern_symmetric_unregister(group, memory, NULL), QUERN_INVALID_ARGUMENT);
    register_range(rank, group, memory, bytes);
    rank_check(rank, id_of(rank, group, memory) > id, "a name was used again");
    rank_ok(rank, quern_group_destroy(group));
    memset(memory, 1, bytes);
    free(memory);
}

TEST_GROUP(symmetric, private_memory_of_another_process_cannot_be_registered, .kind = RANK_PROCESSES, .count = 2) {
    static char memory[100];
    void *pointer = memory;
    size_t bytes = sizeof memory;
    rank_status(rank, quern_symmetric_register(&group, 1, &pointer, &bytes), QUERN_NOT_SUPPORTED);
    rank_check_detail(rank, "rank 0: the ranks are of several processes");
    refuse_peer(rank, group, memory, 0, "not in symmetric memory");
    meet(rank, group);
}

/* One rank has registered the range and another has not: they vote, and all register again. */
TEST_RANKS_FOR(symmetric, ranks_vote_on_what_they_have_registered, for (int ranks = 2; ranks <= 4; ranks += 2),
               .kind = RANK_THREADS, .count = ranks) {
    quern_group *group = rank_group(rank, RANK_LIMIT);
    char *shared = calloc(1, 1000), *fresh = calloc(1, 1000), **all = rank->shared;
    bool changes = rank->rank == 1;
    register_range(rank, group, shared, 1000);
    uint64_t first = id_of(rank, group, shared);
    all[rank->rank] = changes ? fresh : shared;
    register_range(rank, group, all[rank->rank], 1000);
    uint64_t second = id_of(rank, group, all[rank->rank]);
    rank_check(rank, second > first, "a miss on one rank was a hit");
    for (int peer = 0; peer < rank->ranks; peer++)
        rank_check(rank, rank_peer_of(rank, group, all[rank->rank], peer) == all[peer], "rank %d is elsewhere", peer);
    /* The first registration of rank 1 still leads to the others, and they still know its old id. */
    const struct quern_membership *member = rank_member_of(rank, group);
    if (changes) rank_check(rank, id_of(rank, group, shared) == first, "the first registration has gone");
    rank_check(rank, quern_symmetric_resolve(member, first, 5, 1, rank->rank) == shared + 5, "the first name has gone");
    rank_check(rank, quern_symmetric_resolve(member, second, 5, 1, rank->rank) == all[rank->rank] + 5, "the second name is wrong");
    meet(rank, group);
    /* Now all ranks have the second one: a hit, twice. */
    for (int i = 0; i < 2; i++) register_range(rank, group, all[rank->rank], 1000);
    rank_check(rank, id_of(rank, group, all[rank->rank]) == second, "a hit on all ranks was a miss");
    /* But the first is no longer common to all, though each rank has its range. */
    register_range(rank, group, shared, 1000);
    uint64_t third = id_of(rank, group, shared);
    rank_check(rank, third > second, "ranges of different registrations were taken for one");
    /* As many ends as registrations, the earliest first. */
    for (int i = 0; i < (changes ? 2 : 5); i++) {
        rank_check(rank, id_of(rank, group, shared) == third, "it ended too early");
        rank_ok(rank, quern_symmetric_unregister(group, shared, NULL));
        rank_check(rank, !quern_symmetric_resolve(member, first, 0, 1, rank->rank), "the earliest did not end first");
    }
    for (int i = 0; i < (changes ? 3 : 0); i++) rank_ok(rank, quern_symmetric_unregister(group, fresh, NULL));
    refuse_peer(rank, group, shared, 0, "not in symmetric memory");
    refuse_peer(rank, group, fresh, 0, "not in symmetric memory");
    meet(rank, group);
    rank_ok(rank, quern_group_destroy(group));
    free(shared);
    free(fresh);
    return QUERN_OK;
}

/* Rank 0 registers one range again and again, each time together with another range of rank 1. */
TEST_BODY(symmetric, a_range_may_be_registered_with_many_others, .kind = RANK_THREADS, .count = 2) {
    enum { MANY = 100, BYTES = 64 };
    quern_group *group = rank_group(rank, RANK_LIMIT);
    SCOPED char *memory = calloc(MANY, BYTES);
    uint64_t ids[MANY];
    for (int i = 0; i < MANY; i++) {
        char *mine = memory + (rank->rank ? i * BYTES : 0);
        register_range(rank, group, mine, BYTES);
        ids[i] = id_of(rank, group, mine);
    }
    for (int i = 0; i < MANY; i++)
        rank_check(rank, quern_symmetric_resolve(rank_member_of(rank, group), ids[i], 5, 1, rank->rank) ==
                   memory + (rank->rank ? i * BYTES : 0) + 5, "registration %d has gone", i);
    meet(rank, group);
    rank_ok(rank, quern_group_destroy(group));
}

/* Of a group that has made no symmetric memory yet. */
TEST_GROUP(symmetric, a_group_without_any, .kind = RANK_BOTH, .count = 1) {
    char memory[8];
    rank_status(rank, quern_symmetric_free(group, memory, NULL), QUERN_INVALID_ARGUMENT);
    rank_check_detail(rank, "pointer is not in symmetric memory of the group");
    rank_status(rank, quern_symmetric_unregister(group, memory, NULL), QUERN_INVALID_ARGUMENT);
    rank_check_detail(rank, "pointer is not in symmetric memory of the group");
    refuse_peer(rank, group, memory, 0, "not in symmetric memory of the group");
}

/* Rank 1 registers a range that overlaps another; every rank gets the error. */
static void refuse_range(struct rank *rank, quern_group *group, char *usual, size_t usual_bytes, char *other, size_t other_bytes,
                         quern_status status, const char *why) {
    void *pointer = rank->rank == 1 ? other : usual;
    size_t bytes = rank->rank == 1 ? other_bytes : usual_bytes;
    rank_refused(rank, quern_symmetric_register(&group, 1, &pointer, &bytes), status, why);
}

TEST_BODY(symmetric, ranges_of_a_rank_never_overlap, .kind = RANK_THREADS, .count = 2) {
    quern_group *group = rank_group(rank, RANK_LIMIT);
    char *arena = calloc(1, 10000), *fresh = calloc(1, 100), *part = rank_allocate(rank, group, 1000);
    register_range(rank, group, arena + 1000, 1000);
    static const struct {
        int from, bytes;
        const char *why;
    } overlaps[] = {
        {500, 501, "begins 500 bytes behind it and was registered before"},
        {1999, 1, "begins 999 bytes before it and was registered before"},
        {1000, 999, "begins 0 bytes before it"},
        {1000, 1001, "begins 0 bytes before it"},
        {1100, 100, "range of 1000 bytes that begins 100 bytes before it"},
        {0, 10000, "begins 1000 bytes behind it"},
    };
    for (size_t i = 0; i < COUNT(overlaps); i++)
        refuse_range(rank, group, fresh, 100, arena + overlaps[i].from, (size_t)overlaps[i].bytes, QUERN_INVALID_ARGUMENT,
                     overlaps[i].why);
    refuse_range(rank, group, fresh, 100, part + 9, 20, QUERN_INVALID_ARGUMENT, "begins 9 bytes before it and was allocated");
    refuse_range(rank, group, fresh, 100, part, 1000, QUERN_INVALID_ARGUMENT, "begins 0 bytes before it and was allocated before");
    refuse_range(rank, group, fresh, 100, NULL, 20, QUERN_NULL_POINTER, "rank 1: pointers[0] is NULL");
    refuse_range(rank, group, fresh, 100, fresh, 0, QUERN_INVALID_ARGUMENT, "rank 1: bytes[0] is 0: expected 1 to 2^47");
    refuse_range(rank, group, fresh, 100, fresh, ((size_t)1 << 47) + 1, QUERN_INVALID_SHAPE, "355329: expected 1 to 2^47");
    refuse_peer(rank, group, fresh, 0, "not in symmetric memory");  /* nothing was kept */
    register_range(rank, group, arena, 1000);                       /* its neighbours are free */
    register_range(rank, group, arena + 2000, 8000);
    struct quern_symmetric_location place;
    rank_check(rank, quern_symmetric_find(rank_member_of(rank, group), arena + 1999, 1, &place) == QUERN_MEMORY_SYMMETRIC &&
               place.offset == 999, "the last byte of a range is at %lld", (long long)place.offset);
    rank_check(rank, quern_symmetric_find(rank_member_of(rank, group), arena + 2000, 1, &place) == QUERN_MEMORY_SYMMETRIC &&
               place.offset == 0, "the first byte of a range is at %lld", (long long)place.offset);
    rank_check(rank, quern_symmetric_find(rank_member_of(rank, group), arena + 1999, 2, &place) == QUERN_MEMORY_PRIVATE,
               "two ranges were taken for one");
    rank_ok(rank, quern_symmetric_free(group, part, NULL));
    meet(rank, group);
    refuse_range(rank, group, fresh, 100, part, 20, QUERN_INVALID_ARGUMENT, "was freed before");
    meet(rank, group);
    rank_ok(rank, quern_group_destroy(group));
    free(arena);
    free(fresh);
}

/* ---- several groups ---- */

TEST_RANKS(symmetric, groups_that_share_ranks_keep_their_memory_apart, .kind = RANK_BOTH, .count = 5) {
    quern_group *all = rank_group(rank, RANK_LIMIT), *half = NULL;
    int colour = rank->rank % 2, key = -rank->rank;
    rank_ok(rank, quern_group_split(&all, 1, &colour, &key, &half));
    char *wide = rank_allocate(rank, all, 1000), *narrow = rank_allocate(rank, half, 2000);
    memset(wide, 1 + rank->rank, 1000);
    memset(narrow, 50 + rank->rank, 2000);
    refuse_peer(rank, all, narrow, 0, "not in symmetric memory of the group");
    refuse_peer(rank, half, wide, 0, "not in symmetric memory of the group");
    meet(rank, all);
    for (int peer = 0; peer < quern_group_size(half); peer++) {
        int old = rank->ranks - 1 - (rank->ranks - 1 - colour) % 2 - 2 * peer;  /* the keys descend */
        check_bytes(rank, rank_peer_of(rank, half, narrow, peer), 2000, 50 + old, "a part in the half");
    }
    for (int peer = 0; peer < rank->ranks; peer++)
        check_bytes(rank, rank_peer_of(rank, all, wide, peer), 1000, 1 + peer, "a part in all");
    meet(rank, all);
    rank_ok(rank, quern_group_destroy(half));
    meet(rank, all);
    memset(rank_peer_of(rank, all, wide, (rank->rank + 1) % rank->ranks), 99, 1000);
    meet(rank, all);
    check_bytes(rank, wide, 1000, 99, "after the other group has gone");
    return quern_group_destroy(all);
}

/* ---- random sequences ---- */

enum { LIVE = 12, ROUNDS = 300 };

/* All ranks allocate the same sequence; each frees in its own order, and live memory holds the values written. */
TEST_GROUP(symmetric, any_order_of_frees_will_do, .kind = RANK_BOTH, .count = 3) {
    char *live[LIVE] = {NULL};
    size_t bytes[LIVE] = {0};
    for (int round = 0; round < ROUNDS; round++) {
        int slot = (int)random_below((uint64_t)rank->rank, (uint64_t)round, LIVE);
        if (live[slot]) {
            check_bytes(rank, live[slot], bytes[slot], slot, "a live part");
            rank_ok(rank, quern_symmetric_free(group, live[slot], NULL));
        }
        bytes[slot] = (size_t)random_below(100 + (uint64_t)rank->rank, (uint64_t)round, 20000);
        live[slot] = rank_allocate(rank, group, bytes[slot]);
        check_bytes(rank, live[slot], bytes[slot], 0, "fresh memory");
        memset(live[slot], slot, bytes[slot]);
    }
}

/* ---- descriptors ---- */

enum { NOBODY = 65534, TAG = 1, DIGEST = 17 };

/* Two ranks of a group, in two processes as far as their rosters say. */
struct pair {
    struct quern_roster roster[2];
    struct quern_membership member[2];
};

static void open_pair(struct pair *pair, quern_device *device) {
    *pair = (struct pair){.roster = {{.descriptor = -1}, {.descriptor = -1}}};
    for (int rank = 0; rank < 2; rank++) {
        struct quern_roster *roster = &pair->roster[rank];
        snprintf((char *)roster->id, sizeof roster->id, "%d", (int)getpid());
        roster->ranks = 2;
        roster->peer[rank].is_here = true;
        roster->peer[1].leader = 1;
        pair->member[rank] = (struct quern_membership){.device = device, .rank = rank, .ranks = 2, .roster = roster};
    }
}

/* Rank 0 sends standard input as `sender`, and rank 1 receives it as `receiver`.  Returns whether it has arrived. */
static bool pass(struct pair *pair, uint64_t call, uid_t sender, uid_t receiver, quern_status expected) {
    const struct quern_descriptor sent = {TAG, STDIN_FILENO};
    int listener, table[QUERN_DESCRIPTOR_TAGS];
    for (int i = 0; i < QUERN_DESCRIPTOR_TAGS; i++) table[i] = -1;
    check_ok(quern_descriptors_listen(&pair->member[1], call, &listener));
    check(seteuid(sender) == 0, "no user %d", (int)sender);
    const quern_status status = quern_descriptors_send(&pair->member[0], call, DIGEST, &sent, 1);
    check(seteuid(0) == 0 && seteuid(receiver) == 0, "no user %d", (int)receiver);
    check(status == expected, "%s: %s", quern_status_string(status), error_detail());
    check_ok(quern_descriptors_receive(&pair->member[1], call, DIGEST, listener, table));
    check(seteuid(0) == 0, "root is gone");
    const bool arrived = table[TAG] >= 0;
    quern_close_descriptor(&table[TAG]);
    quern_close_descriptor(&listener);
    return arrived;
}

/* The names of the sockets are no secrets: nothing is sent to another user's socket, and nothing of another user is received. */
Test(symmetric, descriptors_of_another_user) {
    if (geteuid() != 0) cr_skip_test("only root can become another user");
    struct pair pair;
    OPEN_CPU(device);
    open_pair(&pair, device);
    check(pass(&pair, 1, 0, 0, QUERN_OK), "nothing was received of the same user");
    check(!pass(&pair, 2, 0, NOBODY, QUERN_OK), "a descriptor of another user was received");
    check(!pass(&pair, 3, NOBODY, 0, QUERN_SYSTEM_ERROR), "a descriptor was sent to another user");
    check(strstr(error_detail(), "the socket of rank 1 belongs to another user"), "%s", error_detail());
}
