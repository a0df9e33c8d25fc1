/*
 * A stranger writes into the shared memory of a group while its ranks form it, meet, exchange slices and leave: a byte, a word, a
 * page or all of it, once or again and again, in processes, threads and both.  However it ends: no rank gets a signal or waits
 * longer than its limits, every call returns a status of quern.h, and nothing is written but the buffers that the ranks gave.
 *
 *   faults scribbles [FIRST END]    2,000 rounds, or those of this range: a round's number determines all but the times
 */
#include "faults/runs.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "harness/random.h"
#include "ranks/segment.h"
#include "ranks/transfer/transfer.h"

enum { ROUNDS = 2000, AT_ONCE = 12, MOST_RANKS = 4 };

static const double LIMIT = 0.15, ALLOWANCE = 20, ROUND_LIMIT = 100;  /* seconds */

/* ---- a round, by its number ---- */

enum draw { SHAPE, TURNS, LATE, ABORTS, SPLITS, SIZES, BUFFERS, BEGIN, COUNT, PAUSE, WHERE, WHAT, HABIT, SHRINKS, TRANSFERS,
    FIRST_OF_TURN = 100 };

static uint64_t draw(long round, enum draw what, uint64_t index, uint64_t below) {
    return (uint64_t)random_below((uint64_t)round * 1000 + (uint64_t)what, index, (int64_t)below);
}

/* Threads, processes, and two processes of two threads. */
static const struct shape {
    enum rank_kind kind;
    int count, threads;  /* threads: of each process, if it has several */
} shapes[] = {{RANK_PROCESSES, 2, 1}, {RANK_PROCESSES, 3, 1}, {RANK_PROCESSES, 4, 1}, {RANK_THREADS, 2, 1}, {RANK_THREADS, 3, 1},
              {RANK_PROCESSES, 2, 2}};

struct round {
    long number;
    const struct shape *shape;
    int ranks;
};

/* What the ranks and the stranger share. */
struct shared {
    int ended[MOST_RANKS];                   /* atomic */
    char wrong[MOST_RANKS][RANK_TEXT_BYTES]; /* "": nothing */
};

static bool all_have_ended(const struct round *round, const struct shared *shared) {
    for (int rank = 0; rank < round->ranks; rank++)
        if (!__atomic_load_n(&shared->ended[rank], __ATOMIC_ACQUIRE)) return false;
    return true;
}

/* ---- buffers: between pages without access, and within canaries ---- */

enum { PAGE = 4096, CANARY = 64 };

struct buffer {
    unsigned char *pages, *bytes;
    size_t page_bytes, count;
};

static unsigned char canary_at(size_t i) { return (unsigned char)(0x5a ^ i * 7); }

/* The buffer ends where the page without access begins. */
static struct buffer make_buffer(size_t count) {
    const size_t inner = (count + CANARY + PAGE - 1) / PAGE * PAGE;
    struct buffer buffer = {.page_bytes = inner + 2 * PAGE, .count = count};
    buffer.pages = mmap(NULL, buffer.page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (buffer.pages == MAP_FAILED || mprotect(buffer.pages + PAGE, inner, PROT_READ | PROT_WRITE) != 0) _exit(EXIT_FAILURE);
    buffer.bytes = buffer.pages + PAGE + inner - count;
    for (unsigned char *at = buffer.pages + PAGE; at < buffer.bytes; at++) *at = canary_at((size_t)(buffer.bytes - at));
    return buffer;
}

static bool is_kept(const struct buffer *buffer) {
    for (const unsigned char *at = buffer->pages + PAGE; at < buffer->bytes; at++)
        if (*at != canary_at((size_t)(buffer->bytes - at))) return false;
    return true;
}

static void free_buffer(const struct buffer *buffer) { munmap(buffer->pages, buffer->page_bytes); }

/* ---- a rank ---- */

struct rank_life {
    const struct round *round;
    struct shared *shared;
    int rank;
    quern_group *group;
};

static void complain(const struct rank_life *life, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void complain(const struct rank_life *life, const char *format, ...) {
    char *wrong = life->shared->wrong[life->rank];
    va_list list;
    if (*wrong) return;
    va_start(list, format);
    vsnprintf(wrong, RANK_TEXT_BYTES, format, list);
    va_end(list);
}

/* Judges a call that has returned. */
static quern_status judge(const struct rank_life *life, const char *call, quern_status status, double began) {
    char detail[512] = "";
    const double took = rank_now() - began;
    if (strncmp(quern_status_string(status), "QUERN_", 6) != 0) complain(life, "%s returned %d", call, (int)status);
    if (status != QUERN_OK && (quern_error_detail(detail, sizeof detail) == 0 || strlen(detail) > 255))
        complain(life, "%s failed with the detail \"%s\"", call, detail);
    if (took > LIMIT + ALLOWANCE) complain(life, "%s took %.2f s: %s", call, took, quern_status_string(status));
    return status;
}

static _Thread_local double call_began;
#define CALL(life, function, ...) (call_began = rank_now(), judge(life, #function, function(__VA_ARGS__), call_began))

/* The arguments of an exchange: every rank sends `rows` rows or some less to every rank, in two updates. */
enum { UPDATES = 2 };

struct exchange {
    quern_ragged_all_to_all_args args;
    int32_t input_offsets[MOST_RANKS * UPDATES], send_sizes[MOST_RANKS * UPDATES], output_offsets[MOST_RANKS * UPDATES],
        recv_sizes[MOST_RANKS * UPDATES];
};

static int rows_between(const struct round *round, int turn, int from, int to, int update, int rows) {
    const uint64_t slice = (uint64_t)((from * MOST_RANKS + to) * UPDATES + update);
    return (int)draw(round->number, FIRST_OF_TURN + turn, slice, (uint64_t)rows + 1);
}

static void fill_exchange(const struct rank_life *life, int turn, int rows, int row_bytes, struct exchange *x) {
    const int ranks = life->round->ranks;
    x->args = (quern_ragged_all_to_all_args)QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    for (int i = 0; i < ranks * UPDATES; i++) {
        x->input_offsets[i] = i * rows;
        x->send_sizes[i] = rows_between(life->round, turn, life->rank, i / UPDATES, i % UPDATES, rows);
        x->output_offsets[i] = (life->rank * UPDATES + i % UPDATES) * rows;
        x->recv_sizes[i] = rows_between(life->round, turn, i / UPDATES, life->rank, i % UPDATES, rows);
    }
    x->args.updates = UPDATES, x->args.row_bytes = row_bytes;
    x->args.input_rows = x->args.output_rows = ranks * UPDATES * rows;
    x->args.input_offsets = x->input_offsets, x->args.send_sizes = x->send_sizes;
    x->args.output_offsets = x->output_offsets, x->args.recv_sizes = x->recv_sizes;
    x->args.check_overlap = (int32_t)draw(life->round->number, BUFFERS, (uint64_t)turn * 10 + 5, 2);
}

/* Symmetric memory, filled with canaries, of which an exchange gets the middle. */
static quern_status allocate(struct rank_life *life, size_t bytes, unsigned char **middle) {
    const size_t whole = bytes + 2 * PAGE;
    void *pointer = NULL;
    quern_status status = CALL(life, quern_symmetric_alloc, &life->group, 1, &whole, &pointer);
    if (status != QUERN_OK) return status;
    for (size_t i = 0; i < whole; i++) ((unsigned char *)pointer)[i] = canary_at(i);
    *middle = (unsigned char *)pointer + PAGE;
    return QUERN_OK;
}

static void check_middle(const struct rank_life *life, const unsigned char *middle, size_t bytes, const char *what) {
    const unsigned char *whole = middle - PAGE;
    for (size_t i = 0; i < bytes + 2 * PAGE; i++)
        if ((i < PAGE || i >= PAGE + bytes) && whole[i] != canary_at(i)) {
            complain(life, "byte %lld of the %s of %zu bytes was written", (long long)i - PAGE, what, bytes);
            return;
        }
}

/*
 * In some rounds a thread writes one value into one rank's own workspace, which begins with its notices for the other ranks.  A
 * notice has three words: an offset of the output, a size, and an offset of the input or the stream.  One of the offsets alone: a
 * wrong size is found before the offsets are looked at.
 */
enum { NOTICE_WORDS = 3 };

struct vandal {
    pthread_t thread;
    const struct rank_life *life;
    unsigned char *workspace;
    size_t bytes;
    int stop;  /* atomic */
};

static void *write_into_workspace(void *user) {
    struct vandal *vandal = user;
    const uint64_t seed = (uint64_t)vandal->life->round->number;
    const int64_t field = draw((long)seed, HABIT, 2, 2) ? 0 : 2, notices = vandal->life->round->ranks * UPDATES;
    for (uint64_t i = 0; !__atomic_load_n(&vandal->stop, __ATOMIC_ACQUIRE); i++) {
        const uint64_t values[] = {0, UINT64_MAX, 7, INT64_MAX - 2, 1 << 20, random_bits(seed, 0), (uint64_t)-1000};
        const size_t word = (size_t)(random_below(seed, 2 * i + 1, notices) * NOTICE_WORDS + field);
        if (8 * word + 8 > vandal->bytes) continue;
        const uint64_t value = values[seed % (sizeof values / sizeof *values)];
        __atomic_store_n((uint64_t *)(void *)vandal->workspace + word, value, __ATOMIC_RELAXED);
        rank_sleep(1e-5);
    }
    return NULL;
}

static void start_vandal(struct vandal *vandal, const struct rank_life *life, unsigned char *workspace, size_t bytes) {
    const uint64_t rank = draw(life->round->number, HABIT, 1, 4 * (uint64_t)life->round->ranks);
    const bool comes = workspace && rank == (uint64_t)life->rank;
    *vandal = (struct vandal){.life = life, .workspace = comes ? workspace : NULL, .bytes = bytes};
    if (comes && pthread_create(&vandal->thread, NULL, write_into_workspace, vandal)) _exit(EXIT_FAILURE);
}

static void stop_vandal(struct vandal *vandal) {
    if (!vandal->workspace) return;
    __atomic_store_n(&vandal->stop, 1, __ATOMIC_RELEASE);
    pthread_join(vandal->thread, NULL);
}

enum { REPEATS = 12 };

static quern_status exchange_at_once(struct rank_life *life, struct exchange *x, void *workspace, size_t bytes) {
    quern_status status = QUERN_OK;
    for (int run = 0; run < REPEATS && status == QUERN_OK; run++)
        status = CALL(life, quern_ragged_all_to_all, life->group, &x->args, workspace, bytes, NULL);
    return status;
}

static quern_status exchange_by_plan(struct rank_life *life, struct exchange *x, void *workspace, size_t bytes) {
    quern_ragged_plan *plan = NULL;
    quern_status status = CALL(life, quern_ragged_plan_create, &life->group, 1, &x->args, &workspace, &bytes, &plan);
    if (status != QUERN_OK) return status;
    for (int run = 0; run < REPEATS && status == QUERN_OK; run++) status = CALL(life, quern_ragged_plan_run, plan, NULL);
    quern_status gone = CALL(life, quern_ragged_plan_destroy, plan);
    return status == QUERN_OK ? gone : status;
}

/* A part of symmetric memory may be freed only when the others have stopped to write into it. */
static quern_status exchange_turn(struct rank_life *life, int turn) {
    const long number = life->round->number;
    const bool large = draw(number, SIZES, (uint64_t)turn, 40) == 0;
    const int rows = large ? 30 : 5, row_bytes = large ? 8192 : (int)draw(number, SIZES, (uint64_t)turn + 50, 100);
    const uint64_t kind = draw(number, BUFFERS, (uint64_t)turn, 6);  /* 0, 1: private; 2, 3: output shared; 4: both; 5: in place */
    const size_t bytes = (size_t)(life->round->ranks * UPDATES * rows * row_bytes);
    struct exchange x;
    struct buffer input = make_buffer(bytes), output = make_buffer(bytes);
    unsigned char *shared = NULL, *workspace = NULL;
    size_t workspace_bytes = 0;
    fill_exchange(life, turn, rows, row_bytes, &x);
    memset(input.bytes, life->rank, bytes);
    x.args.input = input.bytes;
    x.args.output = kind == 5 ? input.bytes : output.bytes;
    quern_status status = kind >= 2 && kind <= 4 ? allocate(life, bytes, &shared) : QUERN_OK;
    if (shared) x.args.output = shared;
    if (shared && kind == 4) x.args.input = shared;
    if (status == QUERN_OK) status = CALL(life, quern_ragged_all_to_all_workspace, life->group, &x.args, &workspace_bytes);
    if (status == QUERN_OK) status = allocate(life, workspace_bytes, &workspace);
    struct vandal vandal;
    start_vandal(&vandal, life, workspace, workspace_bytes);
    if (status == QUERN_OK) status = (turn % 2 ? exchange_by_plan : exchange_at_once)(life, &x, workspace, workspace_bytes);
    stop_vandal(&vandal);
    if (status == QUERN_OK) status = CALL(life, quern_barrier, life->group, NULL, NULL);
    if (shared) check_middle(life, shared, bytes, "output");
    if (workspace) check_middle(life, workspace, workspace_bytes, "workspace");
    if (status == QUERN_OK && shared) status = CALL(life, quern_symmetric_free, life->group, shared - PAGE, NULL);
    if (status == QUERN_OK && workspace) status = CALL(life, quern_symmetric_free, life->group, workspace - PAGE, NULL);
    if (!is_kept(&input) || !is_kept(&output)) complain(life, "a byte before a buffer was written");
    if (status == QUERN_OK) free_buffer(&input), free_buffer(&output);  /* else a late rank may still write there */
    return status;
}

/* Which threads register memory together: the address travels through the group. */
static quern_status register_turn(struct rank_life *life) {
    const size_t bytes = 1000;
    struct buffer mine = make_buffer(bytes);
    void *pointer = mine.bytes, *peer = NULL;
    quern_status status = CALL(life, quern_symmetric_register, &life->group, 1, &pointer, &bytes);
    if (status != QUERN_OK) return status;
    const int next = (life->rank + 1) % life->round->ranks;
    status = CALL(life, quern_symmetric_peer, life->group, pointer, next, &peer);
    if (status == QUERN_OK) memset(peer, 1, bytes);
    if (status == QUERN_OK) status = CALL(life, quern_barrier, life->group, NULL, NULL);
    if (!is_kept(&mine)) complain(life, "a byte before registered memory was written");
    return status == QUERN_OK ? CALL(life, quern_symmetric_unregister, life->group, pointer, NULL) : status;
}

/* A ring of transfers: small messages travel through the rings of the segment's file, large ones by the addresses told there. */
static quern_status transfer_turn(struct rank_life *life, int turn) {
    const int ranks = life->round->ranks, to = (life->rank + 1) % ranks, from = (life->rank + ranks - 1) % ranks;
    const int64_t bytes = draw(life->round->number, SIZES, (uint64_t)turn + 90, 3) ? 700 : 90000;
    struct buffer out = make_buffer((size_t)bytes), in = make_buffer((size_t)bytes);
    const quern_transfer_item items[] = {{.receive = 0, .peer = to, .tag = 1, .memory = out.bytes, .bytes = bytes},
                                         {.receive = 1, .peer = from, .tag = 1, .memory = in.bytes, .bytes = bytes}};
    quern_transfer *transfer = NULL;
    quern_transfer_args args = TRANSFER_ARGS(.items = items, .item_count = 2, .key = (uint64_t)turn);
    quern_status status = CALL(life, quern_transfer_prepare, life->group, &args, &transfer);
    if (status != QUERN_OK) return status;
    for (int run = 0; run < REPEATS && status == QUERN_OK; run++) {
        memset(out.bytes, run + life->rank, (size_t)bytes);
        status = CALL(life, quern_transfer_start, transfer, NULL);
        if (status == QUERN_OK) status = CALL(life, quern_transfer_wait, transfer, 0);
    }
    CALL(life, quern_transfer_destroy, transfer);
    if (!is_kept(&in) || !is_kept(&out)) complain(life, "a byte before a buffer of a transfer was written");
    free_buffer(&in), free_buffer(&out);
    return status;
}

static quern_status split_turn(struct rank_life *life) {
    quern_group *part = NULL;
    const int colour = life->rank % 2, key = -life->rank;
    quern_status status = CALL(life, quern_group_split, &life->group, 1, &colour, &key, &part);
    if (status != QUERN_OK) return status;
    quern_status met = CALL(life, quern_barrier, part, NULL, NULL);
    status = CALL(life, quern_group_destroy, part);
    return met == QUERN_OK ? status : QUERN_OK;
}

static void shrink(struct rank_life *life) {
    quern_group *smaller = NULL;
    if (CALL(life, quern_group_shrink, &life->group, 1, &smaller) != QUERN_OK) return;
    if (quern_group_size(smaller) > life->round->ranks) complain(life, "the shrunk group has %d ranks", quern_group_size(smaller));
    CALL(life, quern_barrier, smaller, NULL, NULL);
    CALL(life, quern_group_destroy, smaller);
}

static void report(const struct rank_life *life) {
    struct buffer text = make_buffer(700);
    const double began = rank_now();
    quern_group_report(life->group, (char *)text.bytes, text.count);
    if (rank_now() - began > ALLOWANCE) complain(life, "quern_group_report took %.2f s", rank_now() - began);
    if (!memchr(text.bytes, 0, text.count) || !is_kept(&text)) complain(life, "the report has no end");
    CALL(life, quern_group_status, life->group);
    free_buffer(&text);
}

static void take_turns(struct rank_life *life) {
    const long number = life->round->number;
    const int turns = 1 + (int)draw(number, TURNS, 0, 8);
    quern_status status = QUERN_OK;
    for (int turn = 0; turn < turns && status == QUERN_OK; turn++) {
        status = CALL(life, quern_barrier, life->group, NULL, NULL);
        if (status == QUERN_OK) status = exchange_turn(life, turn);
        if (status == QUERN_OK && life->round->shape->kind == RANK_THREADS) status = register_turn(life);
        if (status == QUERN_OK && draw(number, SPLITS, (uint64_t)turn, 8) == 0) status = split_turn(life);
        if (status == QUERN_OK && draw(number, TRANSFERS, (uint64_t)turn, 2) == 0) status = transfer_turn(life, turn);
        report(life);
    }
}

static quern_status live(struct rank *rank) {
    const struct round *round = rank->user;
    const long number = round->number;
    struct rank_life life = {.round = round, .shared = rank->shared, .rank = rank->rank};
    const quern_group_args args = rank_group_args(rank, LIMIT);
    quern_prepare(rank->device, QUERN_RAGGED_ALL_TO_ALL);
    rank_sleep(1e-5 * (double)draw(number, LATE, (uint64_t)rank->rank, 400));
    if (CALL(&life, quern_group_create, &args, 1, &life.group) == QUERN_OK) {
        take_turns(&life);
        report(&life);
        const uint64_t aborts = draw(number, ABORTS, (uint64_t)rank->rank, 16);
        if (aborts < 2) CALL(&life, quern_group_abort, life.group, aborts ? "a reason" : NULL);
        CALL(&life, quern_barrier, life.group, NULL, NULL);
        if (draw(number, SHRINKS, 0, 3) == 0) shrink(&life);
        CALL(&life, quern_group_destroy, life.group);
    }
    /* The device stays open so long: another thread may still copy into this rank's memory. */
    __atomic_store_n(&life.shared->ended[rank->rank], 1, __ATOMIC_RELEASE);
    while (!all_have_ended(round, life.shared)) rank_sleep(1e-3);
    return QUERN_OK;
}

static quern_status live_in_process(struct rank *rank) {
    const struct round *round = rank->user;
    return round->shape->threads == 2 ? rank_be_two(rank, live) : live(rank);
}

/* ---- the stranger ---- */

struct target {
    unsigned char *bytes;   /* of the segment, and of the rings of transfers behind it, once the file has grown */
    size_t segment;
    int file;
};

/* The segment, as soon as it has its size. */
static bool find_segment(const struct round *round, const char *name, struct target *target) {
    char path[128];
    rank_meeting_place(path, sizeof path, name);
    for (double began = rank_now(); rank_now() - began < 0.2; rank_sleep(2e-5)) {
        struct stat file;
        target->file = open(path, O_RDWR | O_CLOEXEC);
        if (target->file < 0) continue;
        if (fstat(target->file, &file) == 0 && file.st_size > 0) {
            target->segment = (size_t)file.st_size;
            const size_t rings = (size_t)(round->ranks * round->ranks) * QUERN_RING_BYTES;
            target->bytes = mmap(NULL, target->segment + PAGE + rings, PROT_READ | PROT_WRITE, MAP_SHARED, target->file, 0);
            return target->bytes != MAP_FAILED;
        }
        close(target->file);
    }
    return false;
}

/*
 * A place anywhere, or in what ranks read: the head, a rank's words, its mailbox, its error, its text, the pads; or in a ring: its
 * counts, its messages, anything of it.  What is written again and again are words of a mailbox or a pad, and those of a record
 * that say where memory is.
 */
static size_t choose_place(const struct round *round, const struct target *target, uint64_t i, bool again) {
    const size_t ranks = (size_t)round->ranks, head = offsetof(struct quern_segment, rank);
    const size_t each = sizeof(struct quern_segment_rank), places_at = head + each * ranks;
    const size_t rank = (size_t)draw(round->number, WHERE, 5 * i, ranks), of_rank = head + each * rank;
    const size_t place_of = places_at + sizeof(struct quern_segment_place) * rank;  /* of one host: the slot is the rank */
    const size_t mailbox = place_of + offsetof(struct quern_segment_place, mailbox);
    const size_t half = mailbox + QUERN_MAILBOX_BYTES * (size_t)draw(round->number, WHERE, 5 * i + 3, 2);
    const size_t ring = (target->segment + PAGE - 1) / PAGE * PAGE +
                        QUERN_RING_BYTES * (size_t)draw(round->number, WHERE, 5 * i + 4, ranks * ranks);
    enum { ANYWHERE = 12, IN_RINGS = 3 };
    const struct {
        size_t at, bytes;
    } places[] = {
        {0, target->segment}, {0, head}, {of_rank, each}, {place_of, 160}, {place_of, sizeof(struct quern_segment_place)},
        {mailbox, 256}, {mailbox + QUERN_MAILBOX_BYTES, 256}, {mailbox, 2 * QUERN_MAILBOX_BYTES},
        {place_of + offsetof(struct quern_segment_place, error), sizeof(struct quern_kernel_error)},
        {places_at, target->segment - places_at},
        {offsetof(struct quern_segment, poison), 8}, {offsetof(struct quern_segment, layout), 12},
        {ring, 384}, {ring, 2048}, {ring, QUERN_RING_BYTES},
        {half, 224}, {half + 40, 96},
    };
    const uint64_t kind = draw(round->number, HABIT, 10 + i, 2);
    const size_t place = again ? ANYWHERE + IN_RINGS + (size_t)kind
                         : kind ? ANYWHERE + (size_t)draw(round->number, WHERE, 5 * i + 1, IN_RINGS)
                                : (size_t)draw(round->number, WHERE, 5 * i + 1, ANYWHERE);
    return places[place].at + (size_t)draw(round->number, WHERE, 5 * i + 2, places[place].bytes);
}

/* Once, or one word again and again: so that it is written between a rank's write and another rank's read. */
static void scribble(const struct round *round, const struct target *target, uint64_t i, bool again) {
    static const size_t extents[] = {1, 1, 2, 4, 4, 4, 8, 8, 8, 64, PAGE, SIZE_MAX};
    const uint64_t random = random_bits((uint64_t)round->number, 4 * i), words[] = {0, 1, 1 << 12, UINT32_MAX, random, 0x7fff};
    const uint64_t value = again ? words[draw(round->number, WHAT, 4 * i, sizeof words / sizeof *words)] : random;
    const uint64_t style = again ? 2 : draw(round->number, WHAT, 4 * i + 1, 6);
    size_t at = choose_place(round, target, i, again);
    size_t bytes = again ? 4 : extents[draw(round->number, WHAT, 4 * i + 2, sizeof extents / sizeof *extents)];
    struct stat file;
    if (bytes == SIZE_MAX) at = 0, bytes = target->segment;
    if (bytes >= 4 && bytes <= 8) at -= at % bytes;
    if (fstat(target->file, &file) != 0 || (size_t)file.st_size <= at) return;
    if (bytes > (size_t)file.st_size - at) bytes = (size_t)file.st_size - at;
    const double end = rank_now() + 1e-3 * (double)(again ? 1 + draw(round->number, PAUSE, i, 6) : 0);
    do {
        for (size_t byte = 0; byte < bytes * (again ? 200 : 1); byte++) {
            unsigned char *to = &target->bytes[at + byte % bytes];
            const unsigned char part = (unsigned char)(value >> 8 * (byte % (again ? 4 : 8)));
            const unsigned char values[] = {0, 0xff, part, (unsigned char)(byte % 8 ? 0 : value),
                                            (unsigned char)(*to ^ 1 << value % 8), (unsigned char)(*to + 1)};
            __atomic_store_n(to, values[style], __ATOMIC_RELAXED);
        }
    } while (rank_now() < end);
}

static void be_a_stranger(const struct round *round, const struct rank_run *run) {
    struct target target;
    if (!find_segment(round, ranks_name(run), &target)) return;
    const bool again = draw(round->number, HABIT, 0, 3) == 0;
    const uint64_t most = again ? 12 : draw(round->number, COUNT, 1, 4) ? 6 : 400;
    const uint64_t count = 1 + draw(round->number, COUNT, 0, most), patience = draw(round->number, BEGIN, 0, 3);
    rank_sleep(patience ? 1e-5 * (double)draw(round->number, BEGIN, 1, patience == 1 ? 300 : 1500) : 0);
    for (uint64_t i = 0; i < count && !all_have_ended(round, ranks_shared(run)); i++) {
        scribble(round, &target, i, again);
        rank_sleep(again ? 0 : 1e-6 * (double)draw(round->number, PAUSE, i, 500));
    }
}

/* ---- rounds ---- */

/* Plays a round in the calling process, and ends it: with 1 if something was wrong, which is printed as one line. */
static void play(long number) {
    struct round round = {.number = number, .shape = &shapes[draw(number, SHAPE, 0, sizeof shapes / sizeof *shapes)]};
    char path[128];
    round.ranks = round.shape->count * round.shape->threads;
    struct rank_run *run = ranks_start(&(struct ranks){.kind = round.shape->kind, .count = round.shape->count, .user = &round,
                                                       .function = live_in_process, .shared_bytes = sizeof(struct shared),
                                                       .limit = ROUND_LIMIT});
    be_a_stranger(&round, run);
    const char *wrong = ranks_wait(run, NULL);
    const struct shared *shared = ranks_shared(run);
    for (int rank = 0; rank < round.ranks && !wrong; rank++)
        if (*shared->wrong[rank]) wrong = shared->wrong[rank];
    rank_meeting_place(path, sizeof path, ranks_name(run));
    unlink(path);
    if (wrong) printf("round %ld (%d %s): %s\n", number, round.ranks, rank_kind_name(round.shape->kind), wrong), fflush(stdout);
    _exit(wrong != NULL);
}

void run_scribbles(const char *word, int count, char **words) {
    long next = count > 1 ? atol(words[0]) : 0, end = count > 1 ? atol(words[1]) : ROUNDS;
    runs_narrow(&next, &end);
    for (int running = 0, status; next < end || running; running--) {
        for (; next < end && running < AT_ONCE && !runs_are_enough(); next++, running++) {
            fflush(stdout);
            const pid_t process = fork();
            if (process == 0) play(next);
            if (process < 0) exit(EXIT_FAILURE);
        }
        if (!running) return;
        while (wait(&status) < 0 && errno == EINTR) continue;
        runs_count(word, status ? "a round has failed" : NULL);
    }
}
