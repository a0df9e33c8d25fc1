/* One call of each of three ranks.  one_call.h documents the functions. */
#include "harness/one_call.h"

void one_calls_make(struct one_calls *calls, const struct one_kind *kind, struct rank_bench *bench, const void *form) {
    *calls = (struct one_calls){.kind = kind, .bench = bench};
    for (int i = 0; i < bench->count; i++) {
        calls->of[i] = zeroed(kind->bytes);
        kind->make(calls->of[i], &bench[i], form);
    }
}

void one_calls_free(struct one_calls *calls) { for (int i = 0; i < calls->bench->count; i++) free(calls->of[i]); }

static void set_members(const struct one_calls *calls, int i, const int *members, int count) {
    char *one = calls->of[i];
    *(const int **)(void *)(one + calls->kind->members) = members;
    *(int *)(void *)(one + calls->kind->member_count) = count;
}

static struct rank *rank_of(const struct one_calls *calls, int i) { return calls->bench[i].rank; }

static void finish(const struct one_calls *calls) {
    for (int i = 0; i < calls->bench->count && calls->kind->finish; i++) calls->kind->finish(calls->of[i]);
}

void one_calls_run(const struct one_kind *kind, struct rank_bench *bench, const void *form) {
    struct one_calls calls;
    one_calls_make(&calls, kind, bench, form);
    finish(&calls);
    for (int i = 0; i < bench->count; i++) rank_ok(rank_of(&calls, i), kind->call(calls.of[i]));
    for (int i = 0; i < bench->count; i++) {
        rank_ok(rank_of(&calls, i), rank_bench_status(&bench[i], QUERN_OK));
        kind->check_result(calls.of[i]);
    }
    one_calls_free(&calls);
}

void one_renew(struct rank_bench *bench) {
    if (bench->all) gpu_bench_renew(bench->all);
    else rank_bench_close(bench), rank_bench_begin(bench->rank, bench);
}

/* ---- mistakes ---- */

bool one_makes(const struct rank *rank, const struct mistake *mistake) {
    return mistake->rank < 0 || mistake->rank == rank->rank;
}

void one_expect(const struct rank *of, const struct mistake *mistake, bool all_are_told, quern_status status) {
    struct rank *rank = (struct rank *)(uintptr_t)of;
    const bool is_own = one_makes(rank, mistake), on_gpus = rank_reaches(rank);
    if (all_are_told || rank_is_over_nccl(rank) || (is_own && on_gpus)) rank_refused(rank, status, mistake->status, mistake->words);
    else if (on_gpus) rank_refused(rank, status, QUERN_PEER_MISMATCH, "rank # refused its own arguments");
    else rank_check_refusal(rank, is_own ? rank->rank : mistake->rank, mistake->status, mistake->words, status);
    if (on_gpus && (all_are_told || !is_own)) rank_check_detail(rank, ": quern_");  /* the call */
}

/* What the calls have returned, or where kernels find mistakes what the group then has; and what it has from then on. */
static void err(const struct one_calls *calls, const struct mistake *mistake, bool all_are_told) {
    struct rank_bench *bench = calls->bench;
    const quern_status later = all_are_told ? mistake->status : QUERN_PEER_MISMATCH;
    const bool ends_group = rank_reaches(bench->rank) && mistake->rank != EACH_FOR_ITSELF;
    quern_status returned[ONE_RANKS];
    for (int i = 0; i < bench->count; i++) {
        returned[i] = calls->kind->call(calls->of[i]);
        if (returned[i] != QUERN_OK) one_expect(bench[i].rank, mistake, all_are_told, returned[i]);
    }
    for (int i = 0; i < bench->count; i++) {
        const quern_status status = rank_bench_status(&bench[i], returned[i]);
        if (returned[i] == QUERN_OK) one_expect(bench[i].rank, mistake, all_are_told, status);
        calls->kind->check_unwritten(calls->of[i], mistake->words);
        if (ends_group) rank_status(bench[i].rank, quern_barrier(bench[i].group, NULL, bench[i].stream), later);
    }
    if (ends_group) one_renew(bench);
}

bool one_calls_err(const struct one_kind *kind, struct rank_bench *bench, const void *form, const struct mistake *mistake,
                   bool all_are_told, one_applies *applies) {
    struct one_calls calls;
    one_calls_make(&calls, kind, bench, form);
    const bool is_one = !applies || applies(calls.of[0], mistake);
    for (int i = 0; i < bench->count && is_one; i++)
        if (one_makes(bench[i].rank, mistake)) mistake->make(calls.of[i]);
    if (is_one) finish(&calls);
    if (is_one) err(&calls, mistake, all_are_told);
    one_calls_free(&calls);
    return is_one;
}

static void refuse_all(const struct one_calls *calls, const char *words) {
    for (int i = 0; i < calls->bench->count; i++)
        rank_refused(rank_of(calls, i), calls->kind->call(calls->of[i]), QUERN_INVALID_ARGUMENT, words);
    for (int i = 0; i < calls->bench->count; i++) rank_ok(rank_of(calls, i), rank_bench_status(&calls->bench[i], QUERN_OK));
}

void one_calls_with_other_members(const struct one_kind *kind, struct rank_bench *bench, const void *form) {
    static const struct {
        int members[3], count;
        const char *words;
    } lists[] = {{{0, 0, 1}, 3, "members[1] is 0 after 0: expected ascending ranks"}, {{1, 0}, 2, "members[1] is 0 after 1"},
                 {{0, 3}, 2, "members[1] is 3: expected a rank from 0 to 2"}, {{-1, 0}, 2, "members[0] is -1"}};
    struct one_calls calls;
    int next[ONE_RANKS];
    one_calls_make(&calls, kind, bench, form);
    finish(&calls);
    for (size_t list = 0; list < COUNT(lists); list++) {
        for (int i = 0; i < bench->count; i++) set_members(&calls, i, lists[list].members, lists[list].count);
        refuse_all(&calls, lists[list].words);
    }
    for (int i = 0; i < bench->count; i++) {
        next[i] = (bench[i].rank->rank + 1) % ONE_RANKS;
        set_members(&calls, i, &next[i], 1);
    }
    refuse_all(&calls, "members do not include the calling rank");
    one_calls_free(&calls);
    one_calls_run(kind, bench, form);
}

/* ---- ranks that do something else ---- */

/* No rank is still in a call before. */
static void make_together(struct one_calls *calls, const struct one_kind *kind, struct rank_bench *bench, const void *form) {
    one_calls_make(calls, kind, bench, form);
    finish(calls);
    if (!bench->all) rank_line_up(bench->rank);
}

/* The others have called; then the statuses of all, with which the group ends. */
static void expect_end(const struct one_calls *calls, const quern_status *returned, quern_status expected, const char *words,
                       const char *more) {
    struct rank_bench *bench = calls->bench;
    for (int i = 0; i < bench->count; i++) {
        struct rank *rank = rank_of(calls, i);
        rank_refused(rank, rank_bench_status(&bench[i], returned[i]), expected, words);
        rank_check_detail(rank, more);
        calls->kind->check_unwritten(calls->of[i], words);
        rank_status(rank, quern_barrier(bench[i].group, NULL, bench[i].stream), expected);
    }
    if (rank_reaches(bench->rank)) one_renew(bench);
}

void one_calls_without_a_rank(const struct one_kind *kind, struct rank_bench *bench, const void *form) {
    struct one_calls calls;
    quern_status returned[ONE_RANKS];
    char words[100];
    if (rank_is_over_nccl(bench->rank)) return;
    make_together(&calls, kind, bench, form);
    for (int i = 0; i < bench->count; i++) {
        const int rank = bench[i].rank->rank;
        *(double *)(void *)((char *)calls.of[i] + kind->timeout) = rank ? RANK_LIMIT : 0.3;
        while (rank == 1 && !bench->all && quern_group_status(bench->group) == QUERN_OK) rank_sleep(1e-3);
        returned[i] = rank == 1 ? QUERN_OK : kind->call(calls.of[i]);
        if (rank == 1 && !bench->all) returned[i] = kind->call(calls.of[i]);
    }
    snprintf(words, sizeof words, "%s (entry): rank # waited ", kind->function);
    expect_end(&calls, returned, QUERN_PEER_TIMEOUT, words, "for rank 1 (");
    one_calls_free(&calls);
}

void one_calls_that_are_aborted(const struct one_kind *kind, struct rank_bench *bench, const void *form) {
    struct one_calls calls;
    quern_status returned[ONE_RANKS];
    if (rank_is_over_nccl(bench->rank)) return;
    make_together(&calls, kind, bench, form);
    for (int i = 0; i < bench->count; i++) {
        if (bench[i].rank->rank == 1) rank_ok(bench[i].rank, quern_group_abort(bench[i].group, "enough"));
        returned[i] = bench->all && i == 2 ? QUERN_OK : kind->call(calls.of[i]);
    }
    expect_end(&calls, returned, QUERN_GROUP_ABORTED, "rank 1 has aborted the group: enough", "");
    one_calls_free(&calls);
}

void one_calls_beside_a_barrier(const struct one_kind *kind, struct rank_bench *bench, const void *form) {
    const char *words = rank_reaches(bench->rank) ? "another call"
                        : bench->rank->hosts       ? "quern_barrier"
                                                   : "the ranks must make the same calls in the same order, with the same members";
    struct one_calls calls;
    quern_status returned[ONE_RANKS];
    if (rank_is_over_nccl(bench->rank)) return;
    make_together(&calls, kind, bench, form);
    for (int i = 0; i < bench->count; i++)
        returned[i] = bench[i].rank->rank == 1 ? quern_barrier(bench[i].group, NULL, bench[i].stream) : kind->call(calls.of[i]);
    expect_end(&calls, returned, QUERN_PEER_MISMATCH, words, "");
    one_calls_free(&calls);
}
