/*
 * What ranks and hosts tell each other with a digest: each byte of it that changes on the way is found, and nothing is written.
 * test_transfer_ends.c has the messages of transfers.
 *
 * Runs on: ranks.
 */
#include "harness/check.h"
#include "harness/ranks.h"
#include "kernels/collective.h"
#include "os/digest.h"
#include "ranks/collective/collective.h"
#include "ranks/handles.h"
#include "ranks/hosts/hosts.h"
#include "ranks/ragged/ragged.h"
#include "ranks/transfer/transfer.h"

/* ---- records in shared memory ---- */

enum { BYTES = 1 << 16, WORKSPACE = 1 << 20 };

struct post {
    struct rank *rank;
    quern_group *group;
    char *memory, *workspace;    /* [3 * BYTES], of which the first third is input; [WORKSPACE] */
};

static const int pair[] = {0, 1};

static quern_status reduce(struct post *post, int64_t count, bool all) {
    quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
    args.dtype = QUERN_F32, args.count = count, args.input = post->memory, args.output = post->memory + BYTES;
    if (!all) args.members = pair, args.member_count = 2;
    return quern_all_reduce(post->group, &args, post->workspace, WORKSPACE, NULL);
}

static quern_status reduce_few(struct post *post) { return reduce(post, 3, true); }
static quern_status reduce_some(struct post *post) { return post->rank->rank < 2 ? reduce(post, 600, false) : QUERN_OK; }

static quern_status send_chunks(struct post *post) {
    quern_quantize_chunks_args args = QUERN_QUANTIZE_CHUNKS_ARGS_INIT;
    args.input_dtype = QUERN_F32, args.output_dtype = QUERN_E4M3, args.rows = 1, args.columns = 16, args.input = post->memory;
    args.output = post->memory + BYTES, args.ready = (uint32_t *)(void *)(post->memory + 2 * BYTES), args.ready_value = 1;
    args.amax = (float *)(void *)post->workspace, args.members = pair, args.member_count = 2;
    return post->rank->rank < 2 ? quern_quantize_chunks(post->group, &args, NULL, 0, NULL) : QUERN_OK;
}

/* Slices of `size` bytes between two ranks. */
static quern_status exchange(struct post *post, int32_t size, int64_t updates) {
    static int32_t offsets[64], sizes[64], places[64];
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    for (int i = 0; i < 2 * updates; i++)
        offsets[i] = i * size, sizes[i] = size, places[i] = (int)(post->rank->rank * updates + i % updates) * size;
    args.row_bytes = 1, args.updates = updates, args.input_rows = args.output_rows = BYTES;
    args.input = post->memory, args.output = post->memory + BYTES, args.input_offsets = offsets, args.output_offsets = places;
    args.send_sizes = args.recv_sizes = sizes;
    return quern_ragged_all_to_all(post->group, &args, post->workspace, WORKSPACE, NULL);
}

static quern_status exchange_small(struct post *post) { return exchange(post, 60, 1); }
static quern_status exchange_large(struct post *post) { return exchange(post, 3000, 1); }
static quern_status exchange_many(struct post *post) { return exchange(post, 16, 20); }

/* Where rank 1 has told something for a meeting, of two that take turns. */
static unsigned char *told_of(const struct quern_roster *roster, int half) {
    return (unsigned char *)quern_shared_line(roster, 1)->half[half].told;
}
static unsigned char *eager_of(const struct quern_roster *roster, int half) {
    return quern_shared_eager(roster, 1, (uint32_t)half);
}
static unsigned char *mailbox_of(const struct quern_roster *roster, int half) {
    return quern_shared_mailbox(roster, 1, (uint32_t)half);
}

#define STRANGER ": a process that is no rank writes into the group's shared memory"
#define RECORD "@: rank # read a damaged record of rank 1" STRANGER  /* any may be the first */
#define EAGER "@: rank 0 read a damaged eager message of rank 1" STRANGER

static const struct record {
    int ranks;                   /* of the group; of three, two are members of a call */
    quern_status (*call)(struct post *post);
    unsigned char *(*place)(const struct quern_roster *roster, int half);
    size_t first, bytes;
    const char *text;            /* what rank 0 reads */
} records[] = {
    {3, reduce_few, told_of, offsetof(struct quern_collective_told, digest), sizeof(uint64_t), RECORD},
    {3, reduce_some, eager_of, 0, sizeof(struct quern_collective_head), RECORD},
    {3, reduce_some, eager_of, sizeof(struct quern_collective_head), sizeof(struct quern_collective_places), RECORD},
    {3, send_chunks, eager_of, 0, 120, RECORD},     /* all but the reason */
    {2, exchange_small, eager_of, 0, 64, EAGER},
    {2, exchange_large, eager_of, 0, 64, EAGER},
    {2, exchange_large, eager_of, 64, 32, "rank 0 sends slices to rank 1 beyond the memory that it has mapped of it"},
    {2, exchange_many, mailbox_of, 0, sizeof(struct quern_ragged_terms), RECORD},
};

/* Rank 1 has told, and sleeps.  It may be done when rank 0 finds the change. */
static void change(const struct post *post, const struct record *record, size_t at) {
    const struct quern_membership *member = post->group->member;
    while (!__atomic_load_n(&member->segment->rank[1].asleep_in_meeting, __ATOMIC_ACQUIRE)) rank_sleep(1e-4);
    for (int half = 0; half < 2; half++) record->place(member->roster, half)[at] ^= 0x41;
}

static void change_one(struct rank *rank, const struct record *record, size_t at) {
    struct post post = {.rank = rank, .group = rank_group(rank, RANK_LIMIT)};
    rank_ok(rank, quern_prepare(rank->device, QUERN_COLLECTIVE | QUERN_QUANTIZE | QUERN_RAGGED_ALL_TO_ALL));
    void *memory = rank_allocate(rank, post.group, 3 * BYTES + WORKSPACE);
    post.memory = memory, post.workspace = post.memory + 3 * BYTES;
    rank_line_up(rank);
    if (rank->rank == 0) change(&post, record, at);
    const quern_status status = record->call(&post);
    if (rank->rank == 0) {
        rank_check_status(rank, status, QUERN_PEER_MISMATCH, record->text, (int)(1000 * (record - records) + (long)at));
        rank_check_detail(rank, record->text);
        for (int64_t i = 0; i < BYTES; i++) rank_check(rank, !post.memory[BYTES + i], "byte %lld was written", (long long)i);
    }
    rank_line_up(rank);
    rank_ok(rank, quern_group_destroy(post.group));
}

TEST_BODY_FOR(records, each_changed_byte_is_found, for (int ranks = 2; ranks <= 3; ranks++), .kind = RANK_PROCESSES,
              .count = ranks) {
    for (const struct record *record = records; record < records + COUNT(records); record++)
        for (size_t at = record->first; at < record->first + record->bytes && record->ranks == rank->ranks; at++)
            change_one(rank, record, at);
}

/* ---- whose record is told ---- */

/* The lowest of the members, which is not rank 0, is the one that others differ from; of two that refuse the lowest is told. */
TEST_GROUP(records, the_lowest_ranks_are_told, .kind = RANK_THREADS, .count = 3) {
    static const int members[] = {1, 2};
    float input[3] = {0}, output[3];
    rank_ok(rank, quern_prepare(rank->device, QUERN_COLLECTIVE));
    quern_collective_args args = COLLECTIVE_ARGS(.dtype = QUERN_F32, .count = rank->rank, .input = input, .output = output,
                                                 .members = members, .member_count = 2);
    if (rank->rank) rank_refused(rank, quern_all_reduce(group, &args, NULL, 0, NULL), QUERN_PEER_MISMATCH,
                                 "args.count is 1 on rank 1 and 2 on rank 2: expected the same on all members");
    args.members = NULL, args.count = -rank->rank;
    rank_check_refusal(rank, rank->rank ? rank->rank : 1, QUERN_INVALID_SHAPE,
                       rank->rank == 2 ? "args.count is -2" : "args.count is -1", quern_all_reduce(group, &args, NULL, 0, NULL));
}

/* ---- the digest ---- */

enum { WORDS = 9 };  /* the last is half a word */

/* Each change of one bit or of two. */
static void change_bits(const unsigned char *record, size_t bytes) {
    unsigned char changed[WORDS * sizeof(uint64_t)];
    const uint64_t digest = quern_digest(record, bytes);
    memcpy(changed, record, bytes);
    for (size_t one = 0; one < 8 * bytes; one++) {
        changed[one / 8] ^= (unsigned char)(1 << one % 8);
        for (size_t other = 0; other <= one; other++) {
            if (other < one) changed[other / 8] ^= (unsigned char)(1 << other % 8);
            check(quern_digest(changed, bytes) != digest, "bits %zu and %zu", one, other);
            if (other < one) changed[other / 8] ^= (unsigned char)(1 << other % 8);
        }
        changed[one / 8] ^= (unsigned char)(1 << one % 8);
    }
}

Test(records, a_digest_finds_changes_of_one_bit_and_of_two) {
    unsigned char record[WORDS * sizeof(uint64_t)] = {0};
    change_bits(record, sizeof record - 4);
    for (size_t i = 0; i < sizeof record; i++) record[i] = (unsigned char)(i * i * 37 + 11);
    change_bits(record, sizeof record - 4);
    for (size_t bytes = 1; bytes < 24; bytes++) {
        const uint64_t digest = quern_digest(record, bytes);
        change_bits(record, bytes);
        record[bytes] ^= 0xff;
        check(quern_digest(record, bytes) == digest, "the byte behind %zu counts", bytes);
    }
}

/* Words that change places, and zeros at the end.  No bit is the same in all digests. */
Test(records, a_digest_finds_other_changes) {
    uint64_t numbers[] = {1, 2, 3, 3 + (1ull << 63)}, zeros[WORDS] = {0}, all = UINT64_MAX, any = 0;
    const uint64_t digest = quern_digest(numbers, sizeof numbers);
    for (size_t i = 0; i < COUNT(numbers); i++)
        for (size_t j = 0; j < i; j++) {
            uint64_t others[COUNT(numbers)];
            memcpy(others, numbers, sizeof numbers);
            others[i] = numbers[j], others[j] = numbers[i];
            check(quern_digest(others, sizeof others) != digest, "words %zu and %zu", i, j);
        }
    for (size_t bytes = 0; bytes < sizeof zeros; bytes++) {
        const uint64_t of_zeros = quern_digest(zeros, bytes);
        check(of_zeros != quern_digest(zeros, bytes + 1), "%zu zeros", bytes);
        all &= of_zeros, any |= of_zeros;
    }
    check(!all && any == UINT64_MAX, "bits of all: %#llx, of any: %#llx", (unsigned long long)all, (unsigned long long)any);
}

/* What ranks can reach is told by the sum of the digests of numbers that count up. */
Test(records, sums_of_digests_tell_sets_of_small_numbers) {
    enum { NUMBERS = 64 };
    static uint64_t sums[NUMBERS * NUMBERS];
    size_t count = 0;
    for (uint64_t a = 0; a < NUMBERS; a++)
        for (uint64_t b = 0; b <= a; b++) {
            const uint64_t sum = quern_digest(&a, sizeof a) + (b < a ? quern_digest(&b, sizeof b) : 0);
            for (size_t i = 0; i < count; i++) check(sums[i] != sum, "%llu and %llu", (unsigned long long)a, (unsigned long long)b);
            sums[count++] = sum;
        }
}

/* By integers without a limit, in another language. */
Test(records, known_digests) {
    check(quern_digest("abc", 3) == 0x373f1b2061dd977c, "that of abc");
    check(quern_digest("a record of a rank", 18) == 0x39d7b0c178d4f33c, "that of whole words and a rest");
}

Test(records, a_record_has_its_digest_at_the_beginning) {
    uint64_t record[4] = {0, 1, 2, 3};
    quern_write_digest(record, sizeof record);
    check(record[0] == quern_digest(record + 1, 24), "the first word is not the digest");
    for (size_t bit = 0; bit < 8 * sizeof record; bit++) {
        record[bit / 64] ^= 1ull << bit % 64;
        check(!quern_has_digest(record, sizeof record), "bit %zu", bit);
        record[bit / 64] ^= 1ull << bit % 64;
    }
    check(quern_has_digest(record, sizeof record), "the digest of the record");
}

Test(records, each_number_of_a_carrier_is_in_its_digest) {
    const quern_carrier usual = {.tags = 1 << 16, .longest = 1 << 15};
    quern_carrier others[] = {usual, usual, usual, usual};
    others[0].tags++, others[1].longest++, others[2].borrows = 1, others[3].tags += (uint64_t)1 << 32;
    for (size_t i = 0; i < COUNT(others); i++)
        check(quern_carrier_digest(&others[i]) != quern_carrier_digest(&usual), "number %zu has no part in the digest", i);
}
