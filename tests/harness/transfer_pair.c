/* Two ranks that send each other an item.  transfer_pair.h documents the functions. */
#include "harness/transfer_pair.h"

void transfer_pair_open(struct transfer_pair *pair, struct rank *rank, quern_group *group, const struct transfer_place *place,
                        int peer, int64_t bytes) {
    if (!place) place = &transfer_place_of_host;
    *pair = (struct transfer_pair){.rank = rank, .group = group, .place = place, .peer = peer, .bytes = bytes};
    pair->out = place->make(place->user, bytes);
    pair->in = place->make(place->user, bytes);
    rank_check(rank, pair->out && pair->in, "no memory");
}

void transfer_pair_destroy(struct transfer_pair *pair) {
    rank_ok(pair->rank, quern_transfer_destroy(pair->transfer));
    pair->transfer = NULL;
}

void transfer_pair_close(struct transfer_pair *pair) {
    transfer_pair_destroy(pair);
    pair->place->free(pair->place->user, pair->out);
    pair->place->free(pair->place->user, pair->in);
}

void transfer_pair_prepare(struct transfer_pair *pair, uint64_t key) {
    const quern_transfer_item items[] = {transfer_item(1, pair->peer, 4, pair->in, pair->bytes),
                                         transfer_item(0, pair->peer, 4, pair->out, pair->bytes)};
    pair->transfer = transfer_prepare(pair->rank, pair->group, key, items, 2);
}

static unsigned char byte_of(int from, int round, int64_t at) {
    return (unsigned char)(from * 89 + round * 31 + at * 7 + at / 251 + (at >> 22) * 3);
}

/* Between multiples of 251 and of 4 MiB only `at * 7` changes: such a run is a part of a cycle of 256 bytes. */
enum { CYCLE = 256, INVERSE_OF_7 = 183, PART = 1 << 16 };

static void make_cycle(unsigned char cycle[2 * CYCLE]) { for (int i = 0; i < 2 * CYCLE; i++) cycle[i] = (unsigned char)(i * 7); }

static const unsigned char *run_of(const unsigned char *cycle, int from, int round, int64_t at, int64_t end, int64_t *bytes) {
    const int64_t of_row = 251 - at % 251, of_block = (1 << 22) - at % (1 << 22), run = of_row < of_block ? of_row : of_block;
    *bytes = run < end - at ? run : end - at;
    return cycle + (unsigned char)(byte_of(from, round, at) * INVERSE_OF_7);
}

/* In parts: large memory that is taken and given back each time costs more than what is written there. */
void transfer_pair_fill(const struct transfer_pair *pair, int round) {
    SCOPED unsigned char *bytes = malloc(PART), *rubbish = malloc(PART);
    unsigned char cycle[2 * CYCLE];
    int64_t run;
    make_cycle(cycle);
    memset(rubbish, 0xee, PART);
    for (int64_t first = 0; first < pair->bytes; first += PART) {
        const int64_t end = first + PART < pair->bytes ? first + PART : pair->bytes;
        for (int64_t at = first; at < end; at += run) {
            const unsigned char *expected = run_of(cycle, pair->rank->rank, round, at, end, &run);
            memcpy(bytes + (at - first), expected, (size_t)run);
        }
        pair->place->put(pair->place->user, (char *)pair->out + first, bytes, end - first);
        pair->place->put(pair->place->user, (char *)pair->in + first, rubbish, end - first);
    }
}

void transfer_pair_compare(const struct transfer_pair *pair, int round) {
    SCOPED unsigned char *bytes = malloc(PART);
    unsigned char cycle[2 * CYCLE];
    int64_t run;
    make_cycle(cycle);
    for (int64_t first = 0; first < pair->bytes; first += PART) {
        const int64_t end = first + PART < pair->bytes ? first + PART : pair->bytes;
        pair->place->get(pair->place->user, bytes, (const char *)pair->in + first, end - first);
        for (int64_t at = first; at < end; at += run) {
            const unsigned char *expected = run_of(cycle, pair->peer, round, at, end, &run), *found = bytes + (at - first);
            for (int64_t i = 0; memcmp(found, expected, (size_t)run) && i < run; i++)
                rank_check(pair->rank, found[i] == expected[i], "round %d: byte %lld of %lld is %d: expected %d", round,
                           (long long)(at + i), (long long)pair->bytes, found[i], expected[i]);
        }
    }
}

quern_status transfer_run(quern_transfer *transfer, void *stream, double timeout) {
    const quern_status status = quern_transfer_start(transfer, stream);
    return status == QUERN_OK ? quern_transfer_wait(transfer, timeout) : status;
}

quern_status transfer_pair_run(const struct transfer_pair *pair, double timeout) {
    return transfer_run(pair->transfer, pair->place->stream, timeout);
}

void transfer_pair_round(const struct transfer_pair *pair, int round) {
    transfer_pair_fill(pair, round);
    rank_ok(pair->rank, transfer_pair_run(pair, 0));
    transfer_pair_compare(pair, round);
}

void transfer_pair_exchange(struct transfer_pair *pair, uint64_t key, int round) {
    transfer_pair_prepare(pair, key);
    transfer_pair_round(pair, round);
    transfer_pair_destroy(pair);
}

void transfer_fails(struct rank *rank, quern_transfer *transfer, void *stream, double timeout, quern_status expected,
                            const char *detail) {
    int32_t done;
    rank_refused(rank, transfer_run(transfer, stream, timeout), expected, detail);
    rank_status(rank, quern_transfer_test(transfer, &done), expected);
    rank_refused(rank, quern_transfer_start(transfer, stream), expected, detail);
}

/* ---- ends ---- */

enum { KEY = 7 };

/* It says nothing more after that. */
static bool goes(const struct transfer_ending *ending) {
    return ending->how == TRANSFER_LEAVES || ending->how == TRANSFER_IS_KILLED;
}

/* What the other rank gets. */
static quern_status failure_of(const struct transfer_ending *ending, int by, char detail[100]) {
    static const struct {
        quern_status status;
        const char *words;
    } failures[] = {
        [TRANSFER_CANCELS] = {QUERN_GROUP_ABORTED, "rank %d has cancelled the transfer: the test's reason"},
        [TRANSFER_DESTROYS] = {QUERN_PEER_LOST, "rank %d has destroyed its transfer"},
        [TRANSFER_IS_LATE] = {QUERN_PEER_TIMEOUT, " for rank %d (process "},
        [TRANSFER_ABORTS] = {QUERN_GROUP_ABORTED, "rank %d has aborted the group: the test's reason"},
        [TRANSFER_LEAVES] = {QUERN_PEER_LOST, "rank %d (process "},
        [TRANSFER_IS_KILLED] = {QUERN_PEER_LOST, "rank %d (process "},
    };
    const bool destroys = ending->how == TRANSFER_LEAVES && ending->own != TRANSFER_UNPREPARED;  /* its transfer before its group */
    const enum transfer_how how = destroys ? TRANSFER_DESTROYS : ending->how;
    snprintf(detail, 100, failures[how].words, by);
    return failures[how].status;
}

static void end_it(struct transfer_pair *pair, const struct transfer_ending *ending) {
    struct rank *rank = pair->rank;
    const double until = rank_now() + (ending->how == TRANSFER_IS_LATE ? 0 : ending->meanwhile);
    int32_t done;
    while (rank_now() < until && ending->own == TRANSFER_STARTED) rank_ok(rank, quern_transfer_test(pair->transfer, &done));
    while (rank_now() < until) rank_sleep(1e-3);
    if (ending->how == TRANSFER_IS_KILLED) kill(getpid(), SIGKILL);
    if (ending->how == TRANSFER_ABORTS) rank_ok(rank, quern_group_abort(pair->group, "the test's reason"));
    if (ending->how == TRANSFER_DESTROYS || ending->how == TRANSFER_LEAVES) transfer_pair_destroy(pair);
    if (ending->how == TRANSFER_CANCELS) {
        rank_ok(rank, quern_transfer_cancel(pair->transfer, "the test's reason"));
        rank_status(rank, quern_transfer_cancel(pair->transfer, "twice"), QUERN_INVALID_ARGUMENT);
    }
    if (ending->how <= TRANSFER_DESTROYS && !pair->held) transfer_pair_fill(pair, 9);  /* the memory is the rank's again */
}

/* Rank `by`. */
static void be_the_one(struct transfer_pair *pair, const struct transfer_ending *ending) {
    struct rank *rank = pair->rank;
    void *stream = pair->place->stream;
    const bool is_late = ending->how == TRANSFER_IS_LATE, has_started = ending->own == TRANSFER_STARTED;
    const double limit = ending->other == TRANSFER_STARTED ? 0 : ending->meanwhile;  /* of two waits that of the other expires */
    if (has_started) rank_ok(rank, quern_transfer_start(pair->transfer, stream));
    if (is_late && has_started)
        rank_refused(rank, quern_transfer_wait(pair->transfer, limit), QUERN_PEER_TIMEOUT, "waited ");
    else
        end_it(pair, ending);
    if (goes(ending)) return;
    if (ending->other != TRANSFER_STARTED) rank_line_up(rank);
    rank_line_up(rank);
    if (is_late && !pair->transfer) transfer_pair_prepare(pair, KEY);
    if (is_late) transfer_fails(rank, pair->transfer, stream, 0, QUERN_PEER_TIMEOUT, "waited ");
    if (ending->how == TRANSFER_CANCELS)
        transfer_fails(rank, pair->transfer, stream, 0, QUERN_GROUP_ABORTED, "the test's reason");
}

static void be_the_other(struct transfer_pair *pair, int by, const struct transfer_ending *ending) {
    struct rank *rank = pair->rank;
    char detail[100];
    const quern_status expected = failure_of(ending, by, detail);
    const bool is_late = ending->how == TRANSFER_IS_LATE;
    if (ending->other != TRANSFER_STARTED && !goes(ending)) rank_line_up(rank);
    const double began = rank_now();
    if (!pair->transfer) transfer_pair_prepare(pair, KEY);
    transfer_fails(rank, pair->transfer, pair->place->stream, is_late ? ending->meanwhile : 0, expected, detail);
    rank_check(rank, !is_late || ending->own == TRANSFER_STARTED || rank_now() - began > ending->meanwhile - 0.01, "it took %g s",
               rank_now() - began);
    if (is_late && ending->own == TRANSFER_PREPARED) rank_check_detail(rank, "which has not started it)");
    if (is_late && ending->own == TRANSFER_UNPREPARED) rank_check_detail(rank, "which has not prepared it)");
    const bool leaves = ending->how == TRANSFER_LEAVES && ending->own == TRANSFER_UNPREPARED;
    if (leaves) rank_check_detail(rank, "has destroyed its group; rank ");
    if (pair->held) transfer_pair_compare(pair, 1);
    if (!goes(ending)) rank_line_up(rank);
}

void transfer_pair_end(struct transfer_pair *pair, int by, const struct transfer_ending *ending) {
    struct rank *rank = pair->rank;
    const bool is_mine = rank->rank == by;
    quern_transfer_args none = QUERN_TRANSFER_ARGS_INIT;
    if ((is_mine ? ending->own : ending->other) != TRANSFER_UNPREPARED) transfer_pair_prepare(pair, KEY);
    rank_line_up(rank);
    if (is_mine) be_the_one(pair, ending);
    else be_the_other(pair, by, ending);
    if (!goes(ending)) rank_line_up(rank);
    transfer_pair_destroy(pair);
    if (goes(ending)) rank_ok(rank, quern_group_status(pair->group));
    if (ending->how == TRANSFER_ABORTS)
        rank_status(rank, quern_transfer_prepare(pair->group, &none, &pair->transfer), QUERN_GROUP_ABORTED);
    if (ending->how > TRANSFER_IS_LATE) return;
    if (pair->held) __atomic_store_n(pair->held, 1, __ATOMIC_RELEASE);
    rank_line_up(rank);
    for (int round = 2; round < 4; round++) transfer_pair_exchange(pair, KEY, round);
    rank_ok(rank, quern_group_status(pair->group));
    rank_line_up(rank);
}
