/*
 * Who and what: the whole text that each rank reads of an error among ranks, by its role.
 *
 * Runs on: ranks.
 */
#include "harness/check.h"
#include "harness/ranks.h"
#include "os/clock.h"
#include "ranks/handles.h"
#include "ranks/hosts/hosts.h"

static const double SHORT = 0.02;  /* seconds */

enum { RANKS = 4, BYTES = 4096, WORKSPACE = 1 << 20, SYMMETRIC = 2 * BYTES + WORKSPACE };

struct shared {
    int process[RANKS];
    char words[RANKS][RANK_TEXT_BYTES];  /* of the poison */
};

struct post {
    struct rank *rank;
    quern_group *group;
    struct shared *shared;
    char *memory, *workspace;
    quern_transfer *transfer;
};

/* ---- situations ---- */

/* What each rank does, in the order of its line-ups; returns what its last call has failed with. */
typedef quern_status act(struct post *post);

static void meet(struct post *post) { rank_line_up(post->rank); }
static int self(const struct post *post) { return post->rank->rank; }

/* Rank 0 alone makes a call that fails; the others ask what the group has. */
static quern_status after(struct post *post, quern_status status) {
    meet(post);
    return self(post) ? quern_group_status(post->group) : status;
}

static quern_status barrier(struct post *post, const int *members, int count, double limit) {
    quern_barrier_args args = BARRIER_ARGS(.members = members, .member_count = count, .timeout = limit);
    return quern_barrier(post->group, &args, NULL);
}

static const int pair[] = {0, 3}, most[] = {0, 2, 3};

static quern_status absent(struct post *post) {
    if (self(post) != 1) rank_ok(post->rank, barrier(post, most, 3, 0));
    return after(post, self(post) ? QUERN_OK : barrier(post, most, 3, SHORT));
}

static quern_status reduce(struct post *post, quern_dtype dtype, int64_t count, const int *members, double limit) {
    quern_collective_args args = COLLECTIVE_ARGS(.dtype = dtype, .count = count, .members = members, .member_count = 3,
                                                 .timeout = limit, .input = post->memory, .output = post->memory + BYTES);
    return quern_all_reduce(post->group, &args, post->workspace, WORKSPACE, NULL);
}

static quern_status absent_from_reduce(struct post *post) {
    return after(post, self(post) ? QUERN_OK : reduce(post, QUERN_F32, 8, most, SHORT));
}

/* Either may be the one that sees it. */
static quern_status in_another_call(struct post *post) {
    quern_status status = QUERN_OK;
    if (self(post) == 0) status = barrier(post, most, 3, 0);
    if (self(post) == 2) status = reduce(post, QUERN_F32, 1, most, 0);
    meet(post);
    return self(post) % 2 ? quern_group_status(post->group) : status;
}

static quern_status with_others(struct post *post) {
    const int others[] = {0, 1, 3};
    quern_status status = QUERN_OK;
    if (self(post) % 3 == 0) status = barrier(post, self(post) ? others : pair, self(post) ? 3 : 2, 0);
    meet(post);
    return self(post) % 3 ? quern_group_status(post->group) : status;
}

/* Everyone, or a pair. */
static quern_status with_fewer(struct post *post) {
    quern_status status = QUERN_OK;
    if (self(post) % 3 == 0) status = barrier(post, self(post) ? NULL : pair, 2, 0);
    meet(post);
    return self(post) % 3 ? quern_group_status(post->group) : status;
}

static quern_status in_a_split(struct post *post) {
    quern_group *part = post->group;
    quern_status status = QUERN_OK;
    if (self(post) == 0) status = quern_group_split(&post->group, 1, &(int){0}, &(int){0}, &part);
    if (self(post) == 2) status = barrier(post, NULL, 0, 0);
    rank_check(post->rank, part == post->group, "a failed split wrote");
    meet(post);
    return self(post) % 2 ? quern_group_status(post->group) : status;
}

static quern_status aborts(struct post *post) {
    if (self(post) == 2) rank_ok(post->rank, quern_group_abort(post->group, "it is Friday"));
    return after(post, self(post) ? QUERN_OK : barrier(post, NULL, 0, 0));
}

static quern_status leaves(struct post *post) {
    if (self(post) == 3) {
        rank_ok(post->rank, quern_group_destroy(post->group));
        post->group = NULL;
    }
    meet(post);
    if (self(post) < 3) return after(post, self(post) ? QUERN_OK : barrier(post, pair, 2, 0));
    meet(post);
    return QUERN_OK;
}

static quern_status other_count(struct post *post) { return reduce(post, QUERN_F32, self(post) == 2 ? 9 : 8, NULL, 0); }
static quern_status no_dtype(struct post *post) { return reduce(post, self(post) == 1 ? QUERN_INT32 : QUERN_F32, 8, NULL, 0); }

/* Two slices of a row for each rank, of which rank 1's second, rank 2's second or none has another size. */
static quern_status exchange(struct post *post, int at, int32_t size, int64_t updates, int64_t bytes) {
    int32_t zeros[3 * RANKS] = {0}, ones[3 * RANKS], sizes[3 * RANKS];
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    for (size_t i = 0; i < COUNT(ones); i++) ones[i] = sizes[i] = 1;
    sizes[at] = size;
    args.row_bytes = bytes, args.input = post->memory, args.output = post->memory + BYTES, args.updates = updates;
    args.input_rows = args.output_rows = 8;
    args.input_offsets = args.output_offsets = zeros, args.send_sizes = sizes, args.recv_sizes = ones;
    return quern_ragged_all_to_all(post->group, &args, post->workspace, WORKSPACE, NULL);
}

static quern_status other_size(struct post *post) { return exchange(post, 3, self(post) == 2 ? 2 : 1, 2, 4); }
static quern_status negative_size(struct post *post) { return exchange(post, 5, self(post) == 3 ? -1 : 1, 2, 4); }
static quern_status other_updates(struct post *post) { return exchange(post, 0, 1, self(post) == 1 ? 3 : 2, 4); }
static quern_status other_rows(struct post *post) { return exchange(post, 0, 1, 2, self(post) == 2 ? 8 : 4); }
static quern_status odd_rows(struct post *post) { return exchange(post, 0, 1, 2, self(post) == 1 ? -4 : 4); }

static quern_status sizes(struct post *post, int64_t updates, int32_t size, quern_dtype dtype) {
    quern_ragged_sizes_args args = QUERN_RAGGED_SIZES_ARGS_INIT;
    int32_t sends[2 * RANKS];
    for (size_t i = 0; i < COUNT(sends); i++) sends[i] = size < 0 && i != 5 ? 1 : size;
    args.send_sizes = sends, args.updates = updates, args.metadata_dtype = dtype;
    return quern_ragged_sizes(&post->group, 1, &args);
}

static quern_status sizes_of_other_updates(struct post *post) { return sizes(post, self(post) == 2 ? 2 : 1, 1, QUERN_INT32); }
static quern_status negative_sizes(struct post *post) { return sizes(post, 2, self(post) == 3 ? -5 : 1, QUERN_INT32); }
static quern_status large_sizes(struct post *post) { return sizes(post, 1, 1 << 30, QUERN_INT32); }
static quern_status sizes_of_no_dtype(struct post *post) { return sizes(post, 1, 1, self(post) == 1 ? QUERN_F32 : QUERN_INT32); }

static quern_status quantize(struct post *post, int64_t columns, float *amax, double limit) {
    quern_quantize_chunks_args args = QUERN_QUANTIZE_CHUNKS_ARGS_INIT;
    args.input_dtype = QUERN_F32, args.output_dtype = QUERN_E4M3, args.rows = 1, args.columns = columns, args.timeout = limit;
    args.input = post->workspace, args.output = post->memory, args.ready = (uint32_t *)(void *)(post->memory + BYTES);
    args.ready_value = 1, args.amax = amax;
    return quern_quantize_chunks(post->group, &args, NULL, 0, NULL);
}

static quern_status other_columns(struct post *post) { return quantize(post, self(post) == 2 ? 17 : 16, &(float){0}, 0); }
static quern_status no_amax(struct post *post) { return quantize(post, 16, self(post) == 3 ? NULL : &(float){0}, 0); }
static quern_status absent_from_chunks(struct post *post) {
    return after(post, self(post) ? QUERN_OK : quantize(post, 16, &(float){0}, SHORT));
}

static quern_status allocate_too_much(struct post *post) {
    void *pointer;
    return quern_symmetric_alloc(&post->group, 1, &(size_t){self(post) == 1 ? (size_t)1 << 60 : 64}, &pointer);
}

static quern_status register_nothing(struct post *post) {
    return quern_symmetric_register(&post->group, 1, &(void *){self(post) == 2 ? NULL : post}, &(size_t){64});
}

/* Rank 1 has a part of 64 bytes. */
static quern_status beyond_a_part(struct post *post) {
    void *pointer, *peer;
    rank_ok(post->rank, quern_symmetric_alloc(&post->group, 1, &(size_t){self(post) == 1 ? 64 : 4096}, &pointer));
    return quern_symmetric_peer(post->group, (char *)pointer + (self(post) == 1 ? 0 : 100), self(post) == 1 ? 9 : 1, &peer);
}

static quern_status on_another_host(struct post *post) {
    const int other = (self(post) + 2) % RANKS;
    char text[96];
    void *peer;
    const quern_status status = quern_symmetric_peer(post->group, post->memory, other, &peer);
    snprintf(text, sizeof text, "@: rank %d is of another host", other);
    rank_check_detail(post->rank, text);
    return status;
}

/* ---- transfers ---- */

/* Rank 0 sends to each rank, or to rank 2 only; that receives so many bytes. */
static void prepare(struct post *post, int receivers, int64_t bytes) {
    const quern_transfer_item items[] = {{0, 2, 6, post->memory, 64}, {0, 1, 5, post->memory, 64}, {0, 3, 7, post->memory, 64}};
    const quern_transfer_item item = {1, 0, 4 + (uint64_t)self(post), post->memory, bytes};
    quern_transfer_args args = QUERN_TRANSFER_ARGS_INIT;
    args.items = self(post) ? &item : items, args.item_count = self(post) ? 1 : receivers, args.key = 77;
    rank_ok(post->rank, quern_transfer_prepare(post->group, &args, &post->transfer));
}

/* Once one end has failed, another start fails, too. */
static quern_status run(struct post *post, double limit) {
    const quern_status status = quern_transfer_start(post->transfer, NULL);
    return status == QUERN_OK ? quern_transfer_wait(post->transfer, limit) : status;
}

/* Rank 1 has started it, rank 2 has prepared it, and rank 3 has not. */
static quern_status unfinished(struct post *post) {
    quern_status status = QUERN_OK;
    if (self(post) < 3) prepare(post, 3, 64);
    if (self(post) == 1) rank_ok(post->rank, quern_transfer_start(post->transfer, NULL));
    meet(post);
    if (!self(post)) status = run(post, SHORT);
    meet(post);
    if (self(post) == 3) prepare(post, 3, 64);
    if (self(post) == 1) return quern_transfer_wait(post->transfer, 0);
    return self(post) ? run(post, 0) : status;
}

static quern_status other_bytes(struct post *post) {
    if (self(post) % 2) return QUERN_OK;
    prepare(post, 1, self(post) ? 65 : 64);
    return run(post, 0);
}

static quern_status cancels(struct post *post) {
    if (self(post) % 2) return QUERN_OK;
    prepare(post, 1, 64);
    if (self(post)) rank_ok(post->rank, quern_transfer_cancel(post->transfer, "enough"));
    return run(post, 0);
}

static quern_status destroys(struct post *post) {
    if (self(post) % 2) return QUERN_OK;
    prepare(post, 1, 64);
    if (!self(post)) return run(post, 0);
    rank_ok(post->rank, quern_transfer_destroy(post->transfer));
    post->transfer = NULL;
    return QUERN_OK;
}

static quern_status leaves_a_transfer(struct post *post) {
    if (self(post)) return QUERN_OK;
    prepare(post, 1, 64);
    return run(post, 0);
}

/* ---- the table ---- */

#define SAME_CALLS ": the ranks must make the same calls in the same order, with the same members"
#define LAST "last in quern_symmetric_alloc (exchange)"

/* $r stands for the process of rank r.  Of two texts, which of two ranks was first is chance. */
static const struct situation {
    act *act;
    quern_status status;
    const char *text, *other;
    const char *of_hosts, *other_of_hosts;  /* of two hosts, if it is another; "": there is none */
    bool is_of_two;          /* only ranks 0 and 2 take part */
    int own;                 /* the rank for which the status and the text are these, if there is a text */
    quern_status own_status;
    const char *own_text;
} situations[] = {
    {absent, QUERN_PEER_TIMEOUT,
     .text = "@: quern_barrier: rank 0 waited # s for rank 2 (process $2, last epoch 1, expected 2, last in quern_barrier), rank 3 "
             "(last epoch 1)",
     .of_hosts = "@: quern_barrier: rank 0 waited # s for rank 2 (process $2 on host #)"},
    {absent_from_reduce, QUERN_PEER_TIMEOUT,
     .text = "@: quern_all_reduce (entry): rank 0 waited # s for rank 2 (process $2, last epoch 0, expected 1, " LAST "), rank 3 "
             "(last epoch 0)",
     .of_hosts = "@: quern_all_reduce (entry): rank 0 waited # s for rank 2 (process $2 on host #), rank 3 (process $3 on host #)"},
    {absent_from_chunks, QUERN_PEER_TIMEOUT,
     .text = "@: quern_quantize_chunks (entry): rank 0 waited # s for rank 1 (process $1, last epoch #, expected #, " LAST "), "
             "rank 2 (last epoch #), rank 3 (last epoch #)", .of_hosts = ""},
    {in_another_call, QUERN_PEER_MISMATCH,
     .text = "@: rank 0 is in quern_barrier while rank 2 is in quern_all_reduce (entry)" SAME_CALLS,
     "@: rank 2 is in quern_all_reduce (entry) while rank 0 is in quern_barrier" SAME_CALLS,
     "@: rank 0 is in quern_barrier while rank 2 (process $2 on host #) is in quern_all_reduce (entry)" SAME_CALLS,
     "@: rank 2 is in quern_all_reduce (entry) while rank 0 (process $0 on host #) is in quern_barrier" SAME_CALLS},
    {with_others, QUERN_PEER_MISMATCH,
     .text = "@: rank 0 is in quern_barrier while rank 3 is in quern_barrier of other members" SAME_CALLS,
     "@: rank 3 is in quern_barrier while rank 0 is in quern_barrier of other members" SAME_CALLS,
     "@: rank 0 is in quern_barrier while rank 3 (process $3 on host #) is in quern_barrier of other members" SAME_CALLS,
     "@: rank 3 is in quern_barrier while rank 0 (process $0 on host #) is in quern_barrier of other members" SAME_CALLS},
    {with_fewer, QUERN_PEER_MISMATCH, .of_hosts = "",
     .text = "@: rank 0 is in quern_barrier while rank 3 is in quern_barrier of other members" SAME_CALLS,
     "@: rank 3 is in quern_barrier while rank 0 is in quern_barrier of other members" SAME_CALLS},
    {in_a_split, QUERN_PEER_MISMATCH, .of_hosts = "",
     .text = "@: rank 0 is in quern_group_split (exchange) while rank 2 is in quern_barrier" SAME_CALLS,
     "@: rank 2 is in quern_barrier while rank 0 is in quern_group_split (exchange)" SAME_CALLS},
    {aborts, QUERN_GROUP_ABORTED, .text = "@: rank 2 has aborted the group: it is Friday"},
    {leaves, QUERN_PEER_LOST, .text = "@: quern_barrier: rank 3 (process $3) has destroyed its group; rank 0 waited for it",
     .of_hosts = "@: quern_barrier: rank 3 (process $3 on host #) has destroyed its group; rank 0 waited for it",
     .own = 3, .own_text = ""},
    {other_count, QUERN_PEER_MISMATCH, .text = "@: args.count is 8 on rank 0 and 9 on rank 2: expected the same on all members"},
    {no_dtype, QUERN_PEER_MISMATCH,
     .text = "@: rank 1 refused its own arguments: args.dtype is 16 (int32): expected one of f32, f16, bf16", .own = 1,
     .own_status = QUERN_INVALID_DTYPE, .own_text = "args.dtype is 16 (int32): expected one of f32, f16, bf16"},
    {other_size, QUERN_PEER_MISMATCH,
     .text = "@: sender 2, receiver 1, update 1: the sender's send_sizes is 2, the receiver's recv_sizes is 1"},
    {negative_size, QUERN_INVALID_SHAPE, .text = "@: sender 3, receiver 2, update 1: send_sizes is -1, expected 0 or more"},
    {other_updates, QUERN_PEER_MISMATCH,
     .text = "@: args.updates is 2 on rank 0 and 3 on rank 1: expected the same on all members"},
    {other_rows, QUERN_PEER_MISMATCH,
     .text = "@: args.row_bytes is 4 on rank 0 and 8 on rank 2: expected the same on all members"},
    {odd_rows, QUERN_PEER_MISMATCH, .text = "@: rank 1 refused its own arguments: args.row_bytes is -4: expected 0 or more",
     .own = 1, .own_status = QUERN_INVALID_SHAPE, .own_text = "args.row_bytes is -4: expected 0 or more"},
    {sizes_of_other_updates, QUERN_PEER_MISMATCH,
     .text = "@: args.updates is 1 on rank 0 and 2 on rank 2: expected the same on all members"},
    {negative_sizes, QUERN_INVALID_SHAPE,
     .text = "@: rank 3: sender 3, receiver 2, update 1: args.send_sizes is -5: expected 0 to 2^47"},
    {large_sizes, QUERN_INVALID_SHAPE,
     .text = "@: rank 0: the sum of args.send_sizes is 2147483648: expected at most 2147483647 rows with int32 metadata"},
    {sizes_of_no_dtype, QUERN_INVALID_DTYPE, .text = "@: rank 1: args.metadata_dtype is 1 (f32): expected one of int32, int64"},
    {other_columns, QUERN_PEER_MISMATCH, .of_hosts = "",
     .text = "@: args.columns is 16 on rank 0 and 17 on rank 2: expected the same on all members"},
    {no_amax, QUERN_PEER_MISMATCH, .text = "@: rank 3 refused its own arguments: args.amax is NULL", .of_hosts = "",
     .own = 3, .own_status = QUERN_NULL_POINTER, .own_text = "args.amax is NULL"},
    {allocate_too_much, QUERN_INVALID_SHAPE, .text = "@: rank 1: bytes[0] is 1152921504606846976: expected at most 2^47"},
    {register_nothing, QUERN_NULL_POINTER, .text = "@: rank 2: pointers[0] is NULL"},
    {beyond_a_part, QUERN_INVALID_ARGUMENT, .text = "@: pointer is byte 100 of its range, and the part of rank 1 has 64 bytes",
     .of_hosts = "", .own = 1, .own_status = QUERN_INVALID_ARGUMENT, .own_text = "rank is 9: expected 0 to 3"},
    {on_another_host, QUERN_NOT_SUPPORTED, .text = "",
     .of_hosts = "@: rank # is of another host, whose memory has no address here"},
    {unfinished, QUERN_PEER_TIMEOUT,
     .text = "@: transfer 77: rank 0 waited # s for rank 1 (process $1, which has started it), rank 2 (process $2, which has not "
             "started it) and 1 more",
     .of_hosts = "@: transfer 77: rank 0 waited # s for rank 1 (process $1, which has started it), rank 2 (process $2 on host #, "
                 "which has not started it) and 1 more"},
    {other_bytes, QUERN_PEER_MISMATCH, .is_of_two = true,
     .text = "@: transfer 77: rank 0 sends 64 bytes with tag 6, and rank 2 expects 65 (the other rank is process $2)",
     .of_hosts = "@: transfer 77: rank 0 sends 64 bytes with tag 6, and rank 2 expects 65 (the other rank is process $2 on host "
                 "#)",
     .own = 2, .own_status = QUERN_PEER_MISMATCH,
     .own_text = "@: transfer 77: rank 0 sends 64 bytes with tag 6, and rank 2 expects 65 (the other rank is process $0"},
    {cancels, QUERN_GROUP_ABORTED, .text = "@: transfer 77: rank 2 has cancelled the transfer: enough", .is_of_two = true},
    {destroys, QUERN_PEER_LOST, .text = "@: transfer 77: rank 2 has destroyed its transfer", .is_of_two = true,
     .own = 2, .own_text = ""},
    {leaves_a_transfer, QUERN_PEER_LOST, .is_of_two = true,
     .text = "@: transfer 77: rank 2 (process $2) has destroyed its group; rank 0 waited for it",
     .of_hosts = "@: transfer 77: rank 2 (process $2 on host #) has destroyed its group; rank 0 waited for it",
     .own = 2, .own_text = ""},
};

/* Puts the numbers of processes into a text. */
static const char *written(const struct post *post, const char *text, char *to) {
    char *end = to;
    for (; *text; text++)
        if (*text == '$') end += sprintf(end, "%d", post->shared->process[*++text - '0']);
        else *end++ = *text;
    *end = 0;
    return to;
}

static void check_text(const struct post *post, const struct situation *s, quern_status status) {
    const bool hosts = post->rank->hosts && s->of_hosts, is_own = s->own_text && s->own == self(post);
    const char *text = hosts ? s->of_hosts : s->text, *other = hosts ? s->other_of_hosts : s->other;
    char expected[RANK_TEXT_BYTES], detail[RANK_TEXT_BYTES];
    rank_check_status(post->rank, status, is_own ? s->own_status : s->status, text, (int)(s - situations));
    if (is_own) return rank_check_detail(post->rank, written(post, s->own_text, expected));
    quern_error_detail(detail, sizeof detail);
    const bool is_other = other && strncmp(strstr(detail, ": ") + 1, strchr(text, ':') + 1, sizeof ": rank 0 is");
    rank_check_whole_detail(post->rank, written(post, is_other ? other : text, expected));
}

/* All ranks have the same poison from then on, whatever they call. */
static void check_poison(struct post *post) {
    char *words = post->shared->words[self(post)], detail[RANK_TEXT_BYTES];
    const quern_status status = post->group ? quern_group_status(post->group) : QUERN_OK;
    quern_error_detail(detail, sizeof detail);
    if (status != QUERN_OK) strcpy(words, strstr(detail, ": "));
    meet(post);
    if (status == QUERN_OK) return;
    rank_check(post->rank, !strcmp(words, post->shared->words[0]), "rank 0 was told \"%s\", this one \"%s\"",
               post->shared->words[0], words);
    rank_refused(post->rank, barrier(post, NULL, 0, 0), status, words);
    rank_refused(post->rank, quern_group_split(&post->group, 1, &(int){0}, &(int){0}, &(quern_group *){NULL}), status, words);
}

static void be_in(struct rank *rank, const struct situation *situation) {
    struct post post = {.rank = rank, .group = rank_group(rank, RANK_LIMIT), .shared = rank->shared};
    rank_ok(rank, quern_prepare(rank->device, QUERN_COLLECTIVE | QUERN_QUANTIZE | QUERN_RAGGED_ALL_TO_ALL));
    void *memory = rank_allocate(rank, post.group, SYMMETRIC);
    post.shared->process[rank->rank] = getpid();
    post.memory = memory, post.workspace = post.memory + 2 * BYTES;
    meet(&post);
    const quern_status status = situation->act(&post);
    if (!situation->is_of_two || self(&post) % 2 == 0) check_text(&post, situation, status);
    if (situation->act != leaves_a_transfer) check_poison(&post);
    rank_ok(rank, quern_transfer_destroy(post.transfer));
    rank_ok(rank, quern_group_destroy(post.group));
}

TEST_BODY_FOR(who, each_rank_reads_its_text, for (int hosts = 0; hosts <= 2; hosts += 2),
              .kind = hosts ? RANK_PROCESSES : RANK_BOTH, .count = RANKS, .hosts = hosts, .shared_bytes = sizeof(struct shared)) {
    for (size_t i = 0; i < COUNT(situations); i++)
        if (rank->hosts ? !situations[i].of_hosts || *situations[i].of_hosts : *situations[i].text) be_in(rank, &situations[i]);
}

/* ---- the roll call of hosts ---- */

/* As if the host of rank 0 had answered, and then said no more. */
static quern_status hear_coordinator(const void *user) {
    ((struct quern_quorum *)user)->coordinator = 0;
    return QUERN_OK;
}

/* Rank 2 speaks for its host. */
TEST_GROUP(who, a_roll_call_names_the_host_that_is_silent, .kind = RANK_PROCESSES, .count = RANKS, .hosts = 2) {
    struct quern_decision decision;
    struct quern_rank_set own = {.count = 0};
    struct quern_membership *member = rank_member_of(rank, group);
    if (rank->rank == 2) {
        quern_set_add(&own, 2);
        struct quern_quorum *quorum = quern_open_quorum(member, &own, quern_now() + 60000000000);
        rank_check(rank, quorum, "no memory");
        rank_status(rank, quern_find_quorum(quorum, (struct quern_veto){hear_coordinator, quorum, NULL}, quern_now() + 20000000,
                                            &decision),
                    QUERN_PEER_TIMEOUT);
        rank_check_whole_detail(rank, "@: no decision from host 0 within # s");
        quern_close_quorum(quorum);
    }
    rank_line_up(rank);
}
