/*
 * Transfers of GPU memory that a rank of another process does not reach, through windows (src/ranks/transfer/transfer.h).
 * Random lists; sizes around a piece; transfers that share a connection; ends of transfers and processes, failing calls of the
 * driver, and strange words, at each step of both ranks.
 *
 * Runs on: one emulated.
 */
#include "harness/cuda.h"
#include "harness/device.h"
#include "harness/gpu_transfer.h"
#include "ranks/membership.h"
#include "ranks/transfer/transfer.h"

enum { PIECE = QUERN_BOUNCE_BYTES };

/* Where GPUs do not reach each other, the window is pinned memory of the host; between hosts they have one fabric. */
struct scene {
    enum gpu_memory memory;
    bool is_pinned;
    const void *more;
    int hosts;               /* 0: one */
};

static const struct scene scenes[] = {{GPU_PRIVATE, false, NULL, 0}, {GPU_MIXED, false, NULL, 0}, {GPU_PRIVATE, true, NULL, 0},
                                      {GPU_MIXED, true, NULL, 0}};

static void set_machine(bool is_pinned) {
    nccl_set_machine("");
    setenv("QUERN_EMULATOR_PEERS", is_pinned ? "none" : "all", 1);
}

/* Where the ranks of a scene are. */
#define ON(scene) .hosts = (scene)->hosts, .nccl = (scene)->hosts ? "" : NULL, .fabric = (scene)->hosts ? "one" : NULL

static void check_on(int ranks, rank_function *function, const struct scene *scene) {
    set_machine(scene->is_pinned);
    check_ranks(.kind = RANK_PROCESSES, .count = ranks, .function = function, .user = scene, ON(scene));
}

static void open_end(struct gpu_end *end, struct rank *rank) {
    const struct scene *scene = rank->user;
    gpu_end_open(end, rank, scene->memory);
}

/* A test whose ranks have an end, as often as the loop says. */
#define TEST_SCENES(suite, name, loop, ranks, scene) \
    static void suite##_##name##_with(struct rank *rank, struct gpu_end *end); \
    static quern_status suite##_##name##_of_rank(struct rank *rank) { \
        struct gpu_end end; \
        open_end(&end, rank); \
        suite##_##name##_with(rank, &end); \
        return gpu_end_close(&end); \
    } \
    Test(suite, name) { loop check_on(ranks, suite##_##name##_of_rank, scene); } \
    static void suite##_##name##_with(UNUSED struct rank *rank, struct gpu_end *end)

/* Both halves of each window of a rank are free, and nothing waits for it.  Before the first transfer there is no window. */
static void check_halves(const struct gpu_end *end) {
    const struct quern_transfers *all = end->side.group->member->transfers;
    for (int i = 0; all && i < all->conns; i++) {
        const struct quern_bounce_path *stage = all->open[i]->bounce;
        for (int half = 0; half < QUERN_BOUNCE_HALVES; half++)
            rank_check(end->side.rank, stage->half[half].state == QUERN_HALF_FREE, "half %d to rank %d is not free", half,
                       all->open[i]->peer);
        rank_check(end->side.rank, !stage->arrivals, "a piece from rank %d is not taken", all->open[i]->peer);
    }
}

/* ---- random lists ---- */

static void look_between(void *user) {
    check_halves(user);
    gpu_delay(user);
}

TEST_SCENES(transfer_staged, random_lists, for (size_t i = 0; i < 3 * COUNT(scenes); i++), ((const int[]){2, 3, 5}[i % 3]),
            &scenes[i / 3]) {
    end->place.between = look_between;
    transfer_run_choices(rank, end->side.group, 1, &end->place);
}

/* ---- one item in each direction ---- */

static struct transfer_pair begin_pair(struct gpu_end *end, uint64_t key, int64_t bytes) {
    struct transfer_pair pair;
    transfer_pair_open(&pair, end->side.rank, end->side.group, &end->place, !end->side.rank->rank, bytes);
    transfer_pair_prepare(&pair, key);
    return pair;
}

/* The memory alone. */
static void release(const struct transfer_pair *pair) {
    pair->place->free(pair->place->user, pair->out);
    pair->place->free(pair->place->user, pair->in);
}

static void start(const struct transfer_pair *pair) {
    rank_ok(pair->rank, quern_transfer_start(pair->transfer, pair->place->stream));
}

static void check_report(const struct gpu_end *end) {
    const struct scene *scene = end->side.rank->user;
    rank_check_report(end->side.rank, end->side.group, scene->is_pinned ? "other memory through 8 MiB of pinned host memory\n"
                                                       : scene->hosts   ? "through 8 MiB of GPU memory over a fabric\n"
                                                                        : "other memory through 8 MiB of GPU memory\n");
}

TEST_SCENES(transfer_staged, sizes_around_a_piece, for (int way = 0; way <= 2; way++), 2,
            (&(struct scene){.is_pinned = way == 1, .hosts = way == 2 ? 2 : 0})) {
    static const int64_t sizes[] = {1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 2 * PIECE + 1, 3 * PIECE + 5};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct transfer_pair pair = begin_pair(end, i, sizes[i]);
        for (int round = 1; round <= 2; round++) transfer_pair_round(&pair, round);
        transfer_pair_close(&pair);
        check_halves(end);
    }
    check_report(end);
}

/* ---- transfers that share a connection ---- */

/* Rank 0 cancels the second one when it has moved for a while; the others complete. */
TEST_SCENES(transfer_staged, several_share_a_conn, , 2, &scenes[0]) {
    enum { LISTS = 4, ROUNDS = 6, BYTES = 2 * PIECE + 100 };
    for (int round = 1; round <= ROUNDS; round++) {
        struct transfer_pair pair[LISTS];
        int32_t done = 0;
        for (int i = 0; i < LISTS; i++) pair[i] = begin_pair(end, (uint64_t)i, BYTES);
        for (int i = 0; i < LISTS; i++) transfer_pair_fill(&pair[i], round * 8 + i);
        for (int i = 0; i < LISTS; i++) {
            const quern_status status = quern_transfer_start(pair[i].transfer, end->side.stream);
            if (i != 1 || status != QUERN_GROUP_ABORTED) rank_status(rank, status, QUERN_OK);
        }
        for (int i = 0; rank->rank == 0 && i < 2 * round; i++) rank_ok(rank, quern_transfer_test(pair[0].transfer, &done));
        if (rank->rank == 0) rank_ok(rank, quern_transfer_cancel(pair[1].transfer, "enough"));
        if (rank->rank == 0) release(&pair[1]);
        for (int i = 0; i < LISTS; i++) {
            if (i == 1 && rank->rank == 0) continue;
            const quern_status status = quern_transfer_wait(pair[i].transfer, 0);
            if (i != 1 || status != QUERN_GROUP_ABORTED) rank_status(rank, status, QUERN_OK);
            if (status == QUERN_OK) transfer_pair_compare(&pair[i], round * 8 + i);
        }
        if (rank->rank) release(&pair[1]);
        for (int i = 0; i < LISTS; i++) transfer_pair_destroy(&pair[i]);
        for (int i = 0; i < LISTS; i++)
            if (i != 1) release(&pair[i]);
        rank_line_up(rank);
    }
    struct transfer_pair last = begin_pair(end, 9, BYTES);
    transfer_pair_round(&last, 1);
    transfer_pair_close(&last);
    check_halves(end);
}

/* ---- a copy that takes its time ---- */

/* The stream of the sender's copies is held: nothing is said of a half before it is full.  Rank 0 sends. */
TEST_SCENES(transfer_staged, a_copy_that_takes_its_time, , 2, &scenes[0]) {
    int is_over = 0;
    int32_t done = 0;
    struct transfer_pair pair;
    transfer_pair_open(&pair, rank, end->side.group, &end->place, !rank->rank, PIECE);
    pair.transfer = transfer_prepare_one(rank, end->side.group, 1, 4, rank->rank ? pair.in : pair.out, PIECE);
    transfer_pair_fill(&pair, 1);
    if (rank->rank == 0) gpu_hold(end, end->side.group->member->transfers->streams->copies, &is_over);
    start(&pair);
    const struct quern_bounce_path *stage = end->side.group->member->transfers->open[0]->bounce;
    for (int looks = 0; looks < 50; looks++) {
        rank_line_up(rank);
        rank_ok(rank, quern_transfer_test(pair.transfer, &done));
        rank_check(rank, !done && !stage->arrivals, "something is said of a half that is not full");
    }
    if (rank->rank == 0) rank_check(rank, stage->half[0].state == QUERN_HALF_FILLING, "no copy is under way");
    rank_line_up(rank);
    __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
    rank_ok(rank, quern_transfer_wait(pair.transfer, 0));
    if (rank->rank) transfer_pair_compare(&pair, 1);
    transfer_pair_close(&pair);
}

/* ---- step by step ---- */

/*
 * The ranks look in turn, once a step.  If all copies end in between, each step is the same in each run.  The last of three pieces
 * takes a half that has been taken before.
 */
enum { STEPS = 30, LARGE = 2 * PIECE + 4000 };

struct walk {
    struct gpu_end *end;
    struct transfer_place place;  /* of mapped memory: cuMemUnmap does not wait for copies, as cuMemFree does */
    struct transfer_pair pair;
    quern_status status;        /* the first error */
    int32_t done;
    bool is_over;               /* it has ended its transfer itself */
    bool synchronizes;
};

static void *map_memory(void *end, int64_t bytes) { return nccl_map(end, bytes, 0); }

static void begin_walk(struct walk *walk, struct gpu_end *end, int64_t bytes) {
    *walk = (struct walk){.end = end, .place = end->place, .status = QUERN_OK, .synchronizes = true};
    walk->place.make = map_memory, walk->place.free = nccl_unmap;
    transfer_pair_open(&walk->pair, end->side.rank, end->side.group, &walk->place, !end->side.rank->rank, bytes);
    transfer_pair_prepare(&walk->pair, 1);
    transfer_pair_fill(&walk->pair, 1);
    cuda_ok(&end->side, stream_synchronize(end->side.stream));
    rank_line_up(end->side.rank);
}

static bool has_turn(const struct rank *rank, int step) { return step % 2 == rank->rank; }

static void look(struct walk *walk, int step) {
    const struct gpu_end *end = walk->end;
    if (walk->status != QUERN_OK || walk->done || walk->is_over) return;
    walk->status = step < 2 ? quern_transfer_start(walk->pair.transfer, end->side.stream)
                            : quern_transfer_test(walk->pair.transfer, &walk->done);
    if (walk->synchronizes) cuda_ok(&end->side, context_synchronize());
}

/* After what has happened the connection is as good as new. */
static void end_walk(struct walk *walk) {
    struct gpu_end *end = walk->end;
    if (!walk->is_over) {
        if (walk->status == QUERN_OK && !walk->done) walk->status = quern_transfer_wait(walk->pair.transfer, 0);
        if (walk->status == QUERN_OK) transfer_pair_compare(&walk->pair, 1);
        release(&walk->pair);
    }
    rank_line_up(end->side.rank);
}

static void check_conn(struct gpu_end *end, int64_t bytes) {
    struct transfer_pair pair = begin_pair(end, 1, bytes);
    transfer_pair_round(&pair, 2);
    transfer_pair_close(&pair);
    check_halves(end);
    rank_line_up(end->side.rank);
}

/* A rank ends its transfer at one step, and takes its memory back at once: who still read or wrote it would find none. */
struct ending {
    bool cancels, synchronizes;
    bool looks;                 /* before it ends: what it has just said is heard with the end */
};

static void end_at(struct gpu_end *end, int at, const struct ending *ending) {
    struct rank *rank = end->side.rank;
    const bool cancels = ending->cancels;
    struct walk walk;
    begin_walk(&walk, end, LARGE);
    walk.synchronizes = ending->synchronizes;
    for (int step = 0; step < STEPS; step++) {
        if (has_turn(rank, step) && step == at) {
            if (ending->looks) look(&walk, step);
            if (cancels && walk.status == QUERN_OK) rank_ok(rank, quern_transfer_cancel(walk.pair.transfer, "this far"));
            if (!cancels) transfer_pair_destroy(&walk.pair);
            walk.is_over = true;
            release(&walk.pair);
        } else if (has_turn(rank, step)) {
            look(&walk, step);
        }
        rank_line_up(rank);
    }
    rank_check(rank, walk.is_over || walk.done || walk.status != QUERN_OK, "%d steps are not enough", STEPS);
    if (walk.status != QUERN_OK) {
        rank_status(rank, walk.status, cancels ? QUERN_GROUP_ABORTED : QUERN_PEER_LOST);
        rank_check_detail(rank, cancels ? "has cancelled the transfer: this far" : "has destroyed its transfer");
    }
    end_walk(&walk);
    if (cancels || !walk.is_over) transfer_pair_destroy(&walk.pair);
}

static const struct ending endings[] = {{false, true, false}, {true, true, true}, {false, false, true}, {true, false, false}};

TEST_SCENES(transfer_staged, ends_at_each_step, for (size_t i = 0; i < 2 * COUNT(endings); i++), 2,
            (&(struct scene){.more = &endings[i / 2], .hosts = i % 2 ? 2 : 0})) {
    const struct scene *scene = rank->user;
    for (int at = 0; at < STEPS; at++) {
        end_at(end, at, scene->more);
        check_conn(end, PIECE + 4000);  /* through both halves */
    }
}

static quern_status kill_at(struct rank *rank) {
    const struct scene *scene = rank->user;
    const int at = *(const int *)scene->more;
    struct gpu_end end;
    open_end(&end, rank);
    struct walk walk;
    begin_walk(&walk, &end, LARGE);
    for (int step = 0; step < at; step++) {
        if (has_turn(rank, step)) look(&walk, step);
        rank_line_up(rank);
    }
    if (has_turn(rank, at)) kill(getpid(), SIGKILL);
    if (!walk.done && at == 0) walk.status = quern_transfer_start(walk.pair.transfer, end.side.stream);
    if (!walk.done && walk.status == QUERN_OK) walk.status = quern_transfer_wait(walk.pair.transfer, 0);
    if (walk.status == QUERN_OK) {
        transfer_pair_compare(&walk.pair, 1);  /* it has all, and so has the other one */
    } else {
        rank_refused(rank, walk.status, QUERN_PEER_LOST, "(process ");
        rank_check_detail(rank, "has ended; rank ");
    }
    transfer_pair_close(&walk.pair);
    return nccl_close(&end.side);
}

Test(transfer_staged, a_process_that_is_killed_at_each_step) {
    for (int way = 0; way <= 2; way++)
        for (int at = 0; at < STEPS; at += way ? 2 : 1) {
            const struct scene scene = {.is_pinned = way == 1, .more = &at, .hosts = way == 2 ? 2 : 0};
            set_machine(scene.is_pinned);
            const char *wrong = ranks_run(&(struct ranks){.kind = RANK_PROCESSES, .count = 2, .function = kill_at, .user = &scene,
                                                          .may_die = 1u << at % 2, ON(&scene)});
            check(!wrong, "step %d: %s", at, wrong);
        }
}

/* ---- failing calls of the driver ---- */

struct failure {
    int error;
    const char *name;
    bool is_pinned;
    int hosts;
};

/* The next transfer needs new windows.  What is still said of the old ones is heard before. */
static void forget_windows(struct gpu_end *end) {
    struct quern_transfers *all = end->side.group->member->transfers;
    for (int i = 0; all && i < 3; i++) {
        rank_ok(end->side.rank, quern_transfer_destroy(transfer_prepare(end->side.rank, end->side.group, 9, NULL, 0)));
        rank_line_up(end->side.rank);
    }
    for (int i = 0; all && i < all->conns; i++) {
        quern_bounce_path.close(all->open[i]);
        rank_ok(end->side.rank, quern_bounce_path.open(all->open[i]));
    }
    rank_line_up(end->side.rank);
}

/*
 * One rank's k-th call fails: both hear of it, and the next transfer tries again.  A question whether a copy has ended may be
 * answered with "not ready", and is asked again.
 */
static bool fail_call(struct gpu_end *end, long number, const struct failure *failure) {
    struct rank *rank = end->side.rank;
    struct walk walk;
    begin_walk(&walk, end, PIECE + 4000);
    const bool fails = rank->rank == (int)(number % 2);
    int *failed = rank->shared;
    char reason[256];
    if (fails) cuda_fail_call(number / 2, failure->error);
    walk.status = quern_transfer_start(walk.pair.transfer, end->side.stream);
    if (walk.status == QUERN_OK) walk.status = quern_transfer_wait(walk.pair.transfer, 0);
    if (fails) *failed = cuda_calls() >= number / 2;
    if (fails) cuda_fail_call(0, 0);
    quern_error_detail(reason, sizeof reason);
    const bool was_destroyed = !fails && walk.status == QUERN_PEER_LOST;  /* since its start has failed there */
    if (walk.status != QUERN_OK) {
        transfer_pair_destroy(&walk.pair);
        rank_check(rank, was_destroyed || strstr(reason, failure->name), "call %ld: the reason is %s", number, reason);
    }
    rank_line_up(rank);
    const bool has_failed = *failed;
    if (walk.status == QUERN_OK) transfer_pair_compare(&walk.pair, 1);
    if (walk.status == QUERN_OK) transfer_pair_destroy(&walk.pair);
    release(&walk.pair);
    rank_line_up(rank);
    return has_failed;
}

static const struct failure failures[] = {{CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", false, 0},
                                          {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", true, 0},
                                          {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", false, 2},
                                          {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", false, 0}};

TEST_SCENES(transfer_staged, each_failing_call, for (size_t i = 0; i < COUNT(failures); i++), 2,
            (&(struct scene){.is_pinned = failures[i].is_pinned, .more = &failures[i], .hosts = failures[i].hosts})) {
    enum { MOST = 120 };
    const struct scene *scene = rank->user;
    int failed = 0;
    for (long number = 2; number < MOST; number++) {
        failed += fail_call(end, number, scene->more);
        check_conn(end, 5000);
        forget_windows(end);
    }
    rank_check(rank, failed > MOST / 2, "%d calls have failed", failed);
}

/* ---- what a stranger writes into a ring ---- */

static struct quern_ring *map_ring(struct rank *rank, int from, int to) {
    const off_t first = ((off_t)quern_segment_bytes(2, 2) + 4095) / 4096 * 4096;
    void *ring = mmap(NULL, QUERN_RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, rank_segment_file(rank),
                      first + (from * 2 + to) * QUERN_RING_BYTES);
    rank_check(rank, ring != MAP_FAILED, "no ring");
    return ring;
}

struct change {
    enum quern_word word, becomes;
    int64_t half, offset, bytes;    /* of a piece: what is added; `half` also to the number of another word */
    enum { ANY, UPPER, LAST } which;  /* of a piece: in the upper half; the last one, which is smaller than a half */
};

static const struct change changes[] = {
    {QUERN_WORD_LISTENING, QUERN_WORD_TAKEN, 0, 0, 0, ANY},
    {QUERN_WORD_BUFFER, QUERN_WORD_TAKEN, 0, 0, 0, ANY},
    {QUERN_WORD_STAGED, QUERN_WORD_STAGED, 2, 0, 0, ANY},
    {QUERN_WORD_STAGED, QUERN_WORD_STAGED, 0, 1, 0, ANY},
    {QUERN_WORD_STAGED, QUERN_WORD_STAGED, 0, -1, 0, ANY},
    {QUERN_WORD_STAGED, QUERN_WORD_STAGED, 0, LARGE, 0, ANY},
    {QUERN_WORD_STAGED, QUERN_WORD_STAGED, 0, 0, 1, ANY},
    {QUERN_WORD_STAGED, QUERN_WORD_STAGED, 0, 0, -PIECE, ANY},
    {QUERN_WORD_STAGED, QUERN_WORD_STAGED, 0, 0, LARGE, ANY},
    {QUERN_WORD_STAGED, QUERN_WORD_BUFFER, 0, 0, 0, ANY},
    {QUERN_WORD_TAKEN, QUERN_WORD_TAKEN, 2, 0, 0, ANY},
    {QUERN_WORD_TAKEN, QUERN_WORD_BUFFER, 0, 0, 0, ANY},
    {QUERN_WORD_STAGED, QUERN_WORD_STAGED, 0, 0, 1, LAST},
    {QUERN_WORD_STAGED, QUERN_WORD_STAGED, 2, 0, 0, LAST},
    {QUERN_WORD_STAGED, QUERN_WORD_STAGED, 0, 0, 100, UPPER},
    {QUERN_WORD_START, QUERN_WORD_DONE, 0, 0, 0, ANY},
    {QUERN_WORD_START, QUERN_WORD_LISTENING, 0, 0, 0, ANY},
    {QUERN_WORD_START, QUERN_WORD_STAGED, 0, 0, 0, ANY},
};

/* Changes the first word of this kind that is not heard yet, as if its rank had written it so. */
static bool change_word(struct quern_ring *ring, const struct change *change) {
    const uint64_t room = QUERN_RING_BYTES - sizeof *ring;
    struct quern_transfer_frame head;
    struct quern_transfer_staged piece;
    for (uint64_t at = ring->read; at < ring->written; at += sizeof head + head.bytes) {
        unsigned char *place = ring->ring + at % room;
        memcpy(&head, place, sizeof head);
        if (head.word != change->word) continue;
        if (head.word == QUERN_WORD_STAGED) memcpy(&piece, place + sizeof head, sizeof piece);
        if (change->which == UPPER && piece.half != 1) continue;
        if (change->which == LAST && piece.offset + piece.bytes != LARGE) continue;
        head.word = change->becomes;
        if (change->word == QUERN_WORD_STAGED) {
            piece.half += (uint64_t)change->half, piece.offset += (uint64_t)change->offset, piece.bytes += (uint64_t)change->bytes;
            memcpy(place + sizeof head, &piece, sizeof piece);
            head.payload_digest = quern_digest(&piece, sizeof piece);
        } else {
            head.number += (uint64_t)change->half;
        }
        quern_write_digest(&head, sizeof head);
        memcpy(place, &head, sizeof head);
        return true;
    }
    return false;
}

TEST_SCENES(transfer_staged, strange_words, for (size_t i = 0; i < COUNT(changes); i++), 2, &(struct scene){.more = &changes[i]}) {
    const struct scene *scene = rank->user;
    struct walk walk;
    begin_walk(&walk, end, LARGE);
    struct quern_ring *ring[2] = {map_ring(rank, 0, 1), map_ring(rank, 1, 0)};
    bool *is_changed = rank->shared;
    for (int step = 0; step < STEPS; step++) {
        if (has_turn(rank, step)) look(&walk, step);
        rank_line_up(rank);
        for (int i = 0; rank->rank == 0 && i < 2 && !*is_changed; i++) *is_changed = change_word(ring[i], scene->more);
        rank_line_up(rank);
    }
    rank_check(rank, *is_changed, "there was no such word");
    if (walk.status == QUERN_OK && !walk.done) walk.status = quern_transfer_wait(walk.pair.transfer, 0);
    rank_refused(rank, walk.status, QUERN_PEER_MISMATCH, "is damaged");
    transfer_pair_close(&walk.pair);
    munmap(ring[0], QUERN_RING_BYTES);
    munmap(ring[1], QUERN_RING_BYTES);
}

/* ---- a rank of another host that lies ---- */

/* Rank 1 has asked for the bounce buffer of rank 0, which says this. */
static const struct quern_transfer_frame lies[] = {
    {.word = QUERN_WORD_BUFFER},
    {.word = QUERN_WORD_BUFFER, .bytes = sizeof(CUmemFabricHandle) - 1},
    {.word = QUERN_WORD_BUFFER, .bytes = sizeof(CUmemFabricHandle) + 1},
    {.word = QUERN_WORD_BUFFER, .bytes = UINT64_MAX},
    {.word = QUERN_WORD_BUFFER, .bytes = UINT64_MAX - sizeof(CUmemFabricHandle) + 1},
    {.word = QUERN_WORD_LISTENING},                                             /* for no descriptor */
    {.word = QUERN_WORD_LISTENING, .bytes = UINT64_MAX},
    {.word = QUERN_WORD_TAKEN},                                                 /* of no piece */
    {.word = QUERN_WORD_TAKEN, .number = UINT64_MAX},
    {.word = QUERN_WORD_STAGED},
    {.word = QUERN_WORD_STAGED, .bytes = sizeof(struct quern_transfer_staged)}, /* in a half that is none */
    {.word = QUERN_WORD_STAGED, .bytes = UINT64_MAX},
};

TEST_SCENES(transfer_staged, lies_of_another_host, for (size_t i = 0; i < COUNT(lies); i++), 2,
            (&(struct scene){.more = &lies[i], .hosts = 2})) {
    const struct scene *scene = rank->user;
    struct walk walk;
    begin_walk(&walk, end, LARGE);
    struct quern_conn *conn = end->side.group->member->transfers->conn[!rank->rank];
    bool *has_asked = rank->shared, is_said = false;
    for (int step = 0; step < STEPS && !is_said; step++) {
        if (has_turn(rank, step)) look(&walk, step);
        if (rank->rank == 1) *has_asked = conn->bounce->number;
        rank_line_up(rank);
        is_said = *has_asked;
        rank_line_up(rank);
    }
    rank_check(rank, is_said, "no rank has asked for a buffer");
    if (rank->rank == 0) gpu_say(conn, *(const struct quern_transfer_frame *)scene->more);
    if (walk.status == QUERN_OK) walk.status = quern_transfer_wait(walk.pair.transfer, 0);
    rank_refused(rank, walk.status, QUERN_PEER_MISMATCH, "is damaged");
    transfer_pair_close(&walk.pair);
    rank_line_up(rank);
}

/* What rank 0 exports instead of its memory. */
static const struct false_handle {
    size_t bytes;            /* of other memory; 0: none */
    int fill;                /* without other memory, the bytes of the handle */
    const char *words;
} false_handles[] = {
    {2 << 20, 0, "cuMemMap of the bounce buffer of transfers: CUDA_ERROR_INVALID_VALUE"},
    {0, 0, "cuMemImportFromShareableHandle: CUDA_ERROR_INVALID_VALUE"},
    {0, 0xFF, "cuMemImportFromShareableHandle: CUDA_ERROR_INVALID_VALUE"},
};

static const struct false_handle *exported;
static struct quern_cuda driver;

static CUresult export_another(void *handle, CUmemGenericAllocationHandle memory, int type, unsigned long long flags) {
    const CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .requested_handle_types = type,
                                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemGenericAllocationHandle other = memory;
    memset(handle, exported->fill, sizeof(CUmemFabricHandle));
    if (!exported->bytes) return CUDA_SUCCESS;
    const CUresult error = driver.vmm_create(&other, exported->bytes, &properties, 0);
    return error == CUDA_SUCCESS ? driver.vmm_export(handle, other, type, flags) : error;
}

/* Then it tells the truth, and the next transfer succeeds. */
TEST_SCENES(transfer_staged, false_handles_of_another_host, for (size_t i = 0; i < COUNT(false_handles); i++), 2,
            (&(struct scene){.more = &false_handles[i], .hosts = 2})) {
    const struct scene *scene = rank->user;
    struct quern_cuda *functions = (struct quern_cuda *)(uintptr_t)end->side.cuda;
    struct transfer_pair pair = begin_pair(end, 1, LARGE);
    exported = scene->more, driver = *functions;
    transfer_pair_fill(&pair, 1);
    if (rank->rank == 0) functions->vmm_export = export_another;
    const quern_status status = transfer_run(pair.transfer, end->side.stream, 0);
    functions->vmm_export = driver.vmm_export;
    rank_refused(rank, status, QUERN_NOT_SUPPORTED, exported->words);
    transfer_pair_close(&pair);
    check_conn(end, LARGE);
}
