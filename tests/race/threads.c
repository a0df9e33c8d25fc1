/*
 * Thread ranks, what GPU ranks of a process share (idle.c), and traces, dumps and settings beside calls (look.c), under
 * ThreadSanitizer.
 *
 *   race_threads [SCENE]       all scenes, or one
 *
 * The last line is `N passed, N failed`.
 */
#include <stdatomic.h>

#include "harness/chunks_case.h"
#include "harness/collective_case.h"
#include "harness/ragged_case.h"
#include "harness/random.h"
#include "harness/ranks.h"
#include "harness/transfer_case.h"
#include "race/race.h"

enum { RANKS = 4 };

/* For a thread that waits beside its rank. */
struct watched_word {
    quern_group *group;
    uint32_t *word;
};

/* Plain memory, guarded by the library's barriers only. */
struct board {
    _Alignas(64) struct {
        _Alignas(64) int64_t value;
    } of[RANKS];
};

/* Each member writes; barrier; each reads the values of the others; barrier. */
static void exchange_values(struct rank *rank, quern_group *group, const int *members, int count, int64_t value) {
    struct board *board = rank->shared;
    quern_barrier_args args = BARRIER_ARGS(.members = members, .member_count = count);
    board->of[rank->rank].value = value;
    rank_ok(rank, quern_barrier(group, &args, NULL));
    for (int i = 0; i < (members ? count : rank->ranks); i++) {
        int64_t seen = board->of[members ? members[i] : i].value;
        rank_check(rank, seen == value, "round %lld: %lld", (long long)value, (long long)seen);
    }
    rank_ok(rank, quern_barrier(group, &args, NULL));
}

static quern_status meet(struct rank *rank) {
    quern_group *group = rank_group(rank, RANK_LIMIT);
    for (int64_t round = 1; round <= 1000; round++) exchange_values(rank, group, NULL, 0, round);
    return quern_group_destroy(group);
}

static quern_status meet_in_subsets(struct rank *rank) {
    quern_group *group = rank_group(rank, RANK_LIMIT);
    for (uint64_t round = 1; round <= 1000; round++) {
        int members[RANKS], count = 0;
        uint64_t drawn = random_bits(3, round) % 16;
        for (int other = 0; other < RANKS; other++)
            if (drawn >> other & 1) members[count++] = other;
        if (drawn >> rank->rank & 1) exchange_values(rank, group, members, count, (int64_t)round);
    }
    return quern_group_destroy(group);
}

static quern_status split(struct rank *rank) {
    quern_group *group = rank_group(rank, RANK_LIMIT);
    for (int round = 1; round <= 60; round++) {
        quern_group *part;
        int colour = (int)random_below(5, (uint64_t)round * RANKS + (uint64_t)rank->rank, 3) - 1;
        rank_ok(rank, quern_group_split(&group, 1, &colour, &rank->rank, &part));
        if (part) rank_ok(rank, quern_barrier(part, NULL, NULL));
        rank_ok(rank, quern_group_destroy(part));
        exchange_values(rank, group, NULL, 0, round);
    }
    return quern_group_destroy(group);
}

/* Each rank writes into all parts of the memory, which is allocated anew each time. */
static quern_status write_to_peers(struct rank *rank) {
    quern_group *group = rank_group(rank, RANK_LIMIT);
    for (int round = 1; round <= 60; round++) {
        int *mine, *peer;
        rank_ok(rank, quern_symmetric_alloc(&group, 1, (size_t[]){sizeof(int) * RANKS}, (void **)&mine));
        for (int other = 0; other < RANKS; other++) {
            rank_ok(rank, quern_symmetric_peer(group, mine, other, (void **)&peer));
            peer[rank->rank] = round;
        }
        rank_ok(rank, quern_barrier(group, NULL, NULL));
        for (int other = 0; other < RANKS; other++) rank_check(rank, mine[other] == round, "rank %d has not written", other);
        rank_ok(rank, quern_symmetric_free(group, mine, NULL));
    }
    return quern_group_destroy(group);
}

/* Repeatedly a rank ends a group, in several ways, while others wait and ask for reports. */
static quern_status end_badly(struct rank *rank) {
    char report[2048];
    for (int round = 0; round < 40; round++) {
        quern_group *group = rank_group(rank, RANK_LIMIT), *part;
        int odd = round % RANKS;
        quern_status status = QUERN_OK;
        quern_barrier_args args = BARRIER_ARGS(.timeout = round % 4 == 1 ? 0.01 : 0);
        if (rank->rank != odd)
            status = quern_barrier(group, &args, NULL);
        else if (round % 4 == 0)
            status = quern_group_abort(group, NULL);
        else if (round % 4 == 1)
            for (int look = 0; look < 30; look++) quern_group_report(group, report, sizeof report);
        else if (round % 4 == 2)
            status = quern_group_split(&group, 1, (int[]){0}, (int[]){0}, &part);
        rank_check(rank, (status != QUERN_OK) == (rank->rank != odd || round % 4 == 2), "%s", quern_status_string(status));
        quern_group_report(group, report, sizeof report);
        quern_group_status(group);
        rank_ok(rank, quern_group_destroy(group));
    }
    return QUERN_OK;
}

/*
 * The group that the other thread checks (NULL: it may end), and the group that it has checked, stored relaxed to create no order.
 */
static quern_group *_Atomic watched, *_Atomic seen;

static void *watch(void *user) {
    char report[512];
    for (quern_group *group; (group = watched);) {
        quern_group_report(group, report, sizeof report);
        quern_group_rank(group);
        quern_group_size(group);
        if (quern_group_rank(group) == 0) quern_group_abort(group, NULL);
        atomic_store_explicit(&seen, group, memory_order_relaxed);
    }
    return user;
}

/* Rank 0 creates and destroys groups that another thread reads and aborts. */
static quern_status destroy_while_watched(struct rank *rank) {
    pthread_t watcher;
    quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    if (rank->rank) return QUERN_OK;
    args.ranks = 1;
    args.name = NULL;
    for (int round = 0; round < 300; round++) {
        quern_group *group = rank_create(rank, &args);
        watched = group;
        if (round == 0) pthread_create(&watcher, NULL, watch, NULL);
        while (atomic_load_explicit(&seen, memory_order_relaxed) != group) rank_sleep(1e-5);
        rank_ok(rank, quern_group_destroy(group));
    }
    watched = NULL;
    pthread_join(watcher, NULL);
    return QUERN_OK;
}

/*
 * Slices from all to all, among changing members; each rank overwrites all its memory right after a call, and one is late now and
 * then.  The kernels must be those that call memcpy, which ThreadSanitizer sees.
 */
static quern_status exchange_slices(struct rank *rank) {
    struct rank_bench bench;
    rank_bench_open(&bench, rank, RANK_LIMIT, 1 << 21);
    for (int round = 0; round < 60; round++) {
        struct ragged_case c;
        ragged_case_open(&c, (uint64_t)round, (struct ragged_choice){.ranks = rank->ranks, .everyone = round % 3 == 0});
        if (round % 8 == rank->rank) rank_sleep(0.002);
        if (round % 3 == 0) ragged_case_plan(&c, &bench, 3);
        else ragged_case_run(&c, &bench);
        ragged_case_close(&c);
    }
    rank_bench_close(&bench);
    return QUERN_OK;
}

/* Gathers and reductions of any ranks, in the records and straight; otherwise likewise. */
static quern_status collect(struct rank *rank) {
    struct rank_bench bench;
    rank_bench_open(&bench, rank, RANK_LIMIT, 1 << 21);
    for (int round = 0; round < 80; round++) {
        struct collective_case c;
        collective_case_open(&c, (uint64_t)round, (struct collective_choice){.ranks = rank->ranks, .everyone = round % 3 == 0});
        if (round % 8 == rank->rank) rank_sleep(0.002);
        collective_case_run(&c, &bench);
    }
    rank_bench_close(&bench);
    return QUERN_OK;
}

/* Chunks that threads read as they come; each of one piece, and of two that two threads of a rank cast. */
static quern_status run_chunks(struct rank *rank, struct chunks_batch batch) {
    rank->user = &batch;
    return chunks_run_batch(rank);
}

static quern_status send_chunks(struct rank *rank) { return run_chunks(rank, (struct chunks_batch){.first = 1, .cases = 40}); }

static quern_status send_large_chunks(struct rank *rank) {
    return run_chunks(rank, (struct chunks_batch){.first = 1, .cases = 3, .threads = 2, .pool_bytes = 1 << 20,
                                                  .choice = {.everyone = true, .rows = 2, .columns = 70000, .chunk_rows = 1}});
}

static void *wait_for_word(void *context) {
    const struct watched_word *word = context;
    quern_status status = QUERN_OK;
    for (int i = 0; i < 500 && status == QUERN_OK; i++) status = quern_chunk_wait(word->group, word->word, 1, 7, RANK_LIMIT, NULL);
    return status == QUERN_OK ? NULL : context;
}

/* Another thread looks its word up while this one changes the ranges. */
static quern_status wait_beside_allocations(struct rank *rank) {
    struct watched_word word = {rank_group(rank, RANK_LIMIT), NULL};
    pthread_t thread;
    void *memory, *wrong;
    rank_ok(rank, quern_symmetric_alloc(&word.group, 1, &(size_t){64}, &memory));
    word.word = memory;
    *word.word = 7;
    rank_check(rank, pthread_create(&thread, NULL, wait_for_word, &word) == 0, "no thread");
    for (int i = 0; i < 40; i++) {
        rank_ok(rank, quern_symmetric_alloc(&word.group, 1, &(size_t){4096}, &memory));
        rank_ok(rank, quern_barrier(word.group, NULL, NULL));
        rank_ok(rank, quern_symmetric_free(word.group, memory, NULL));
    }
    pthread_join(thread, &wrong);
    rank_check(rank, !wrong, "a wait has failed");
    return quern_group_destroy(word.group);
}

/* Lists that each rank starts in an order of its own; what was sent is overwritten as soon as it is complete. */
static quern_status transfer(struct rank *rank) {
    static const struct transfer_choice choices[] = {{.lists = 2, .items = 16, .largest = 30000, .rounds = 3},
                                                     {.lists = 3, .items = 12, .largest = 3000, .rounds = 12, .batch = true}};
    quern_group *group = rank_group(rank, RANK_LIMIT);
    for (uint64_t seed = 0; seed < 8; seed++) transfer_run_case(rank, group, seed, &choices[seed % 2]);
    return quern_group_destroy(group);
}

/* Rank 0 cancels at any time and writes at once into what the others may be copying. */
static quern_status cancel_transfers(struct rank *rank) {
    enum { BYTES = 400000 };
    quern_group *group = rank_group(rank, RANK_LIMIT);
    SCOPED unsigned char *memory = zeroed(BYTES);
    for (uint64_t round = 0; round < 200; round++) {
        quern_transfer_item items[RANKS];
        for (int peer = 1; peer < RANKS; peer++) items[peer - 1] = transfer_item(0, peer, 1, memory, BYTES);
        if (rank->rank) items[0] = transfer_item(1, 0, 1, memory, BYTES);
        quern_transfer *one = transfer_prepare(rank, group, round, items, rank->rank ? 1 : RANKS - 1);
        rank_line_up(rank);
        if (quern_transfer_start(one, NULL) == QUERN_OK && rank->rank) quern_transfer_wait(one, 0);
        int32_t done = 0;
        for (int64_t looks = random_below(11, round, 40); rank->rank == 0 && looks && !done; looks--)
            quern_transfer_test(one, &done);
        if (rank->rank == 0) {
            rank_ok(rank, quern_transfer_cancel(one, NULL));
            memset(memory, (int)round, BYTES);
        }
        rank_ok(rank, quern_transfer_destroy(one));
        rank_line_up(rank);
    }
    return quern_group_destroy(group);
}

/* The same beside the threads of the library that move transfers. */
static quern_status transfer_by_threads(struct rank *rank) {
    rank->progress = true;
    return transfer(rank);
}

static quern_status cancel_beside_threads(struct rank *rank) {
    rank->progress = true;
    return cancel_transfers(rank);
}

static const struct {
    const char *name;
    rank_function *function;
    int hosts;
} rank_scenes[] = {
    {.name = "meet", .function = meet}, {.name = "meet_in_subsets", .function = meet_in_subsets},
    {.name = "split", .function = split}, {.name = "write_to_peers", .function = write_to_peers},
    {.name = "exchange_slices", .function = exchange_slices}, {.name = "collect", .function = collect},
    {.name = "send_chunks", .function = send_chunks}, {.name = "send_large_chunks", .function = send_large_chunks},
    {.name = "wait_beside_allocations", .function = wait_beside_allocations}, {.name = "transfer", .function = transfer},
    {.name = "cancel_transfers", .function = cancel_transfers}, {.name = "transfer_by_threads", .function = transfer_by_threads},
    {.name = "transfer_between_hosts", .function = transfer_by_threads, .hosts = 2},
    {.name = "cancel_beside_threads", .function = cancel_beside_threads}, {.name = "end_badly", .function = end_badly},
    {.name = "destroy_while_watched", .function = destroy_while_watched},
};

static bool is_wanted(const char *name, int count, char **words) { return count < 2 || strcmp(words[1], name) == 0; }

/* Ranks are in processes of their own, which are forked while there are no other threads. */
int main(int count, char **words) {
    static const struct scene *const others[] = {idle_scenes, look_scenes};
    int passed = 0, failed = 0;
    setvbuf(stdout, NULL, _IONBF, 0);
    for (size_t i = 0; i < sizeof rank_scenes / sizeof *rank_scenes; i++) {
        if (!is_wanted(rank_scenes[i].name, count, words)) continue;
        const char *wrong = ranks_run(&(struct ranks){.kind = RANK_THREADS, .count = RANKS, .function = rank_scenes[i].function,
                                                      .hosts = rank_scenes[i].hosts, .shared_bytes = sizeof(struct board)});
        if (wrong) printf("race: %s: %s\n", rank_scenes[i].name, wrong);
        *(wrong ? &failed : &passed) += 1;
    }
    for (int i = 0; i < 2; i++)
        for (const struct scene *scene = others[i]; scene->name; scene++)
            if (is_wanted(scene->name, count, words)) scene->run(), passed++;
    printf("%d passed, %d failed\n", passed, failed);
    return failed || !passed ? EXIT_FAILURE : EXIT_SUCCESS;
}
