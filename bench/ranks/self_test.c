/* What the measurements of ranks take for granted: barriers that hold, copies of every byte, slices that fill the outputs. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "barriers.h"
#include "copies.h"
#include "gate.h"
#include "ranks.h"
#include "rounds.h"

static int passed, failed;

static void check(const char *what, int64_t found, int64_t expected) {
    if (found == expected) {
        passed++;
        return;
    }
    failed++;
    printf("%s: %lld, expected %lld\n", what, (long long)found, (long long)expected);
}

/* ---- barriers: nobody leaves a round before everybody has come to it ---- */

enum { TEST_RANKS = 3, TEST_ROUNDS = 25 };

struct meeting {
    const struct barrier *barrier;
    void *shared;
    int ranks;
    int wrong;                    /* atomic */
    int rounds[TEST_RANKS];       /* atomic: to which round each has come */
};

static void meet_often(void *context, int rank) {
    struct meeting *meeting = context;
    struct barrier_seat seat = {.shared = meeting->shared, .rank = rank, .ranks = meeting->ranks};
    if (meeting->barrier->join) meeting->barrier->join(&seat);
    for (int round = 1; round <= TEST_ROUNDS; round++) {
        __atomic_store_n(&meeting->rounds[rank], round, __ATOMIC_RELAXED);
        meeting->barrier->meet(&seat);
        for (int peer = 0; peer < meeting->ranks; peer++)
            if (__atomic_load_n(&meeting->rounds[peer], __ATOMIC_RELAXED) < round)
                __atomic_fetch_add(&meeting->wrong, 1, __ATOMIC_RELAXED);
        meeting->barrier->meet(&seat);
    }
    if (meeting->barrier->leave) meeting->barrier->leave(&seat);
}

static void test_barrier(const struct barrier *barrier, enum team_kind kind) {
    int ranks = barrier->most_ranks < TEST_RANKS ? barrier->most_ranks : TEST_RANKS;
    const struct team team = {kind, ranks, 2, 60};
    struct meeting *meeting = team_memory(sizeof *meeting);
    void *shared = team_memory(barrier->bytes(ranks));
    if (!meeting || !shared) exit(EXIT_FAILURE);
    *meeting = (struct meeting){.barrier = barrier, .shared = shared, .ranks = ranks};
    if (barrier->prepare) barrier->prepare(shared, &team);
    const char *problem = team_run(&team, meet_often, meeting);
    if (problem) printf("%s, %s: %s\n", barrier->name, team_kind_names[kind], problem);
    check("problems of a barrier", problem != NULL, 0);
    check("ranks that were passed while they had not come", meeting->wrong, 0);
    check("rounds of a barrier", meeting->rounds[ranks - 1], TEST_ROUNDS);
    team_release(shared, barrier->bytes(ranks));
    team_release(meeting, sizeof *meeting);
}

/* ---- a rank that fails, and one that never ends ---- */

static void fail_in_rank_1(void *context, int rank) {
    (void)context;
    if (rank == 1) team_fail("rank %d fails", rank);
    for (;;) gate_pass(context, TEST_RANKS);
}

static void test_team(enum team_kind kind) {
    void *gate = team_memory(sizeof(struct gate));
    if (!gate) exit(EXIT_FAILURE);
    const char *problem = team_run(&(struct team){kind, 2, 2, 60}, fail_in_rank_1, gate);
    check("a rank's own words", problem && strcmp(problem, "rank 1 fails") == 0, 1);
    problem = team_run(&(struct team){kind, 1, 2, 0.05}, fail_in_rank_1, gate);
    check("the word of a limit that has passed", problem && strstr(problem, "did not end") != NULL, 1);
    team_release(gate, sizeof(struct gate));
}

/* ---- copies ---- */

static void test_copies(void) {
    enum { BYTES = 4096 };
    static char from[BYTES], to[BYTES];
    static const size_t lengths[] = {0, 1, 63, 64, 255, 256, 257, 1000, 2048};
    int64_t wrong = 0;
    for (int i = 0; i < BYTES; i++) from[i] = (char)(i * 7 + i / 256);
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        for (size_t start = 0; start < 130; start += 13) {
            memset(to, 99, sizeof to);
            copy_streaming(to + start, from + 2 * start, lengths[l]);
            wrong += memcmp(to + start, from + 2 * start, lengths[l]) != 0;
            for (size_t i = 0; i < BYTES; i++) wrong += (i < start || i >= start + lengths[l]) && to[i] != 99;
        }
    }
    check("streaming copies that are wrong", wrong, 0);
}

/* ---- slices ---- */

/* Carries out the metadata as its definition says, and looks at the outputs. */
static void test_exchange(int ranks, int updates) {
    struct slices slices = {ranks, updates, 6 * updates, 24};
    size_t words = slices_bytes(&slices) / 8;
    uint64_t *input = calloc((size_t)ranks * words, 8), *output = calloc((size_t)ranks * words, 8);
    int64_t moved = 0, disagreeing = 0, wrong = 0;
    if (!input || !output) exit(EXIT_FAILURE);
    for (int rank = 0; rank < ranks; rank++) slices_fill(&slices, rank, 0, input + (size_t)rank * words);
    for (int rank = 0; rank < ranks; rank++) {
        struct slice_metadata metadata = slices_metadata(&slices, rank);
        for (int i = 0; i < ranks * updates; i++) {
            const char *source = (char *)(input + (size_t)rank * words) + metadata.input_offsets[i] * slices.row_bytes;
            char *target = (char *)(output + (size_t)(i / updates) * words) + metadata.output_offsets[i] * slices.row_bytes;
            memcpy(target, source, (size_t)(metadata.send_sizes[i] * slices.row_bytes));
            moved += 2 * metadata.send_sizes[i] * slices.row_bytes;
            disagreeing += metadata.send_sizes[i] != metadata.recv_sizes[i];
        }
        slices_free(&metadata);
    }
    for (int rank = 0; rank < ranks; rank++) wrong += slices_wrong(&slices, rank, 0, output + (size_t)rank * words);
    check("bytes of an all-to-all", moved, (int64_t)slices_traffic(&slices));
    check("sizes on which two ranks disagree", disagreeing, 0);
    check("words of an all-to-all that are wrong", wrong, 0);
    output[words - 1] ^= 1;
    check("a wrong word", slices_wrong(&slices, 0, 0, output), 1);
    free(input);
    free(output);
}

int ranks_self_test(void) {
    for (int kind = TEAM_THREADS; kind <= TEAM_PROCESSES; kind++) {
        for (int i = 0; i < BARRIERS; i++) test_barrier(&barriers[i], (enum team_kind)kind);
        test_team((enum team_kind)kind);
    }
    test_copies();
    for (int ranks = 1; ranks <= 4; ranks++)
        for (int updates = 1; updates <= 5; updates++) test_exchange(ranks, updates);
    struct slices megabyte = {4, 1, 1024, 1024};
    printf("bytes: all-to-all %zu\n", slices_traffic(&megabyte));
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
