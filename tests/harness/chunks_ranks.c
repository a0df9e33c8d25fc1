/* Runs cases of quantised chunks between CPU ranks.  chunks_ranks.h documents the functions. */
#include "harness/chunks_ranks.h"

#include "harness/random.h"

enum { UNTOUCHED = 0x5A };

/* One call of a case: the second one of a case finds the words of the first. */
struct call {
    const struct chunks_case *c;
    struct chunks_bench *bench;
    struct chunks_layout layout;
    int place;
    uint32_t value;
    uint8_t *output;
    uint32_t *ready;
    char failure[RANK_TEXT_BYTES];    /* of the thread that reads; "": none */
};

/* ---- memory ---- */

void chunks_bench_open(struct chunks_bench *bench, struct rank *rank, double timeout, int64_t pool_bytes) {
    void *pool;
    *bench = (struct chunks_bench){.rank = rank, .group = rank_group(rank, timeout), .pool_bytes = pool_bytes};
    rank_ok(rank, quern_prepare(rank->device, QUERN_QUANTIZE | QUERN_COLLECTIVE));
    rank_ok(rank, quern_symmetric_alloc(&bench->group, 1, &(size_t){(size_t)pool_bytes}, &pool));
    bench->pool = pool;
    bench->expected = malloc((size_t)pool_bytes);
    rank_check(rank, bench->expected, "no memory");
}

void chunks_bench_close(struct chunks_bench *bench) {
    rank_ok(bench->rank, quern_group_destroy(bench->group));
    free(bench->expected);
}

/* Words of earlier calls, or none. */
static void fill_memory(const struct call *call, bool is_first) {
    const struct chunks_layout *layout = &call->layout;
    memset(call->bench->pool, UNTOUCHED, (size_t)(is_first ? layout->bytes : layout->ready));
    memcpy(call->bench->expected, call->bench->pool, (size_t)layout->bytes);
    memcpy(call->bench->expected + layout->output, call->c->expected, (size_t)layout->output_bytes);
    for (int64_t i = 0; i < layout->ready_bytes / 4; i++) {
        if (is_first) call->ready[i] = i % 3 ? 0 : call->value + 5 + (uint32_t)i;
        memcpy(call->bench->expected + layout->ready + 4 * i, &call->value, 4);
    }
}

/* ---- the thread that reads ---- */

/* The bytes of a chunk must be there when its word is. */
static bool check_chunk(struct call *call, int place, int64_t chunk, quern_status status) {
    const struct chunks_case *c = call->c;
    const int64_t first = place * c->elements + chunk * c->chunk_rows * c->columns;
    const int64_t rows = c->chunk_rows < c->rows - chunk * c->chunk_rows ? c->chunk_rows : c->rows - chunk * c->chunk_rows;
    char detail[512] = "";
    if (status == QUERN_OK && !memcmp(call->output + first, c->expected + first, (size_t)(rows * c->columns))) return true;
    if (status != QUERN_OK) quern_error_detail(detail, sizeof detail);
    snprintf(call->failure, sizeof call->failure, "seed %llu: chunk %lld of place %d: %s %s", (unsigned long long)c->seed,
             (long long)chunk, place, status == QUERN_OK ? "is not complete" : quern_status_string(status), detail);
    return false;
}

/* In any order, one at a time. */
static void *read_chunks(void *context) {
    struct call *call = context;
    const int64_t chunks = call->c->chunks, words = call->c->count * chunks;
    for (int64_t i = 0, step = 0; i < words; i++) {
        if (!i) step = random_below(call->c->seed, 4000, words);
        const int64_t word = (i + step) % words;
        const quern_status status =
            quern_chunk_wait(call->bench->group, call->ready + word, 1, call->value, RANK_LIMIT, NULL);
        if (!check_chunk(call, (int)(word / chunks), word % chunks, status)) return NULL;
    }
    return NULL;
}

/* A row of chunks of a place at once. */
static void *read_places(void *context) {
    struct call *call = context;
    const int64_t chunks = call->c->chunks;
    for (int place = call->c->count - 1; place >= 0; place--) {
        const quern_status status =
            quern_chunk_wait(call->bench->group, call->ready + place * chunks, chunks, call->value, RANK_LIMIT, NULL);
        for (int64_t chunk = 0; chunk < chunks; chunk++)
            if (!check_chunk(call, place, chunk, status)) return NULL;
    }
    return NULL;
}

/* ---- a call ---- */

static void check_numbers(const struct call *call, const float *numbers) {
    const struct chunks_case *c = call->c;
    const float expected[] = {c->amax, c->has_scales ? c->scale : -1, c->has_scales ? c->scale_inv : -1};
    for (int i = 0; i < 3; i++)
        rank_check(call->bench->rank, !memcmp(&numbers[i], &expected[i], sizeof(float)), "seed %llu: number %d is %.9g instead of "
                   "%.9g", (unsigned long long)c->seed, i, (double)numbers[i], (double)expected[i]);
}

static void check_memory(const struct call *call) {
    const struct chunks_case *c = call->c;
    const unsigned char *has = call->bench->pool, *expected = call->bench->expected;
    int64_t at = 0;
    if (!memcmp(has, expected, (size_t)call->layout.bytes)) return;
    while (has[at] == expected[at]) at++;
    rank_fail(call->bench->rank, "seed %llu: byte %lld is %d instead of %d (output from %lld, %lld bytes; words from %lld; %d "
              "of %d ranks, %lld x %lld, chunks of %lld rows)", (unsigned long long)c->seed, (long long)at, has[at], expected[at],
              (long long)call->layout.output, (long long)call->layout.output_bytes, (long long)call->layout.ready, c->count,
              c->ranks, (long long)c->rows, (long long)c->columns, (long long)c->chunk_rows);
}

/* The input is read only: its copy has a page of its own behind it only by chance, so guards are left to the sanitizers. */
static void run_call(struct call *call, const void *input) {
    struct rank *rank = call->bench->rank;
    const struct chunks_case *c = call->c;
    int order[1024];
    float numbers[] = {-1, -1, -1};
    uint64_t offset = chunks_case_offset(c, call->place);
    quern_quantize_chunks_args args = chunks_case_args(c, call->place);
    chunks_case_order(c, call->place, order);
    args.input = c->elements ? input : NULL;
    args.output = call->layout.output_bytes ? call->output : NULL;
    args.ready = call->layout.ready_bytes ? call->ready : NULL;
    args.ready_value = call->value;
    args.order = c->is_in_order ? NULL : order;
    args.amax = &numbers[0];
    if (c->has_scales) args.scale = &numbers[1], args.scale_inv = &numbers[2];
    if (c->has_pointer) args.offset_pointer = &offset;
    rank_ok(rank, quern_quantize_chunks(call->bench->group, &args, NULL, 0, NULL));
    check_memory(call);
    check_numbers(call, numbers);
}

static void run_with_reader(struct call *call, const void *input) {
    static void *(*const readers[])(void *) = {read_chunks, read_places};
    const uint64_t way = random_bits(call->c->seed + call->value, 5000 + (uint64_t)call->place) % 3;
    pthread_t reader;
    const bool reads = way < 2 && call->c->chunks;
    if (reads) rank_check(call->bench->rank, pthread_create(&reader, NULL, readers[way], call) == 0, "no thread");
    run_call(call, input);
    if (reads) pthread_join(reader, NULL);
    rank_check(call->bench->rank, !*call->failure, "%s", call->failure);
}

static void run_case(struct chunks_bench *bench, const struct chunks_case *c) {
    struct call call = {.c = c, .bench = bench, .layout = chunks_case_layout(c), .place = chunks_case_place(c, bench->rank->rank)};
    if (call.place < 0) return;
    const size_t element = quern_dtype_bytes(c->input), bytes = (size_t)c->elements * element;
    unsigned char *memory = aligned_alloc(64, (bytes + 127 + 16 * element) / 64 * 64);
    unsigned char *input = memory + (size_t)c->input_skew * element;
    rank_check(bench->rank, memory && call.layout.bytes <= bench->pool_bytes, "a pool of %lld bytes for %lld",
               (long long)bench->pool_bytes, (long long)call.layout.bytes);
    memcpy(input, c->inputs[call.place], bytes);
    call.output = bench->pool + call.layout.output;
    call.ready = (uint32_t *)(void *)(bench->pool + call.layout.ready);
    for (int i = 0; i < 2; i++) {
        call.value = 1 + (uint32_t)random_below(c->seed, 6000, 1 << 30) + (uint32_t)i;
        fill_memory(&call, i == 0);
        run_with_reader(&call, input);
        rank_check(bench->rank, !memcmp(input, c->inputs[call.place], bytes), "the input has changed");
    }
    free(memory);
}

quern_status chunks_run_batch(struct rank *rank) {
    const struct chunks_batch *batch = rank->user;
    struct chunks_bench bench;
    if (batch->threads) rank_ok(rank, quern_set_threads(rank->device, batch->threads, NULL, NULL));
    chunks_bench_open(&bench, rank, RANK_LIMIT, batch->pool_bytes ? batch->pool_bytes : 1 << 17);
    for (int i = 0; i < batch->cases; i++) {
        struct chunks_case c;
        struct chunks_choice choice = batch->choice;
        choice.ranks = rank->ranks;
        rank_check(rank, chunks_case_open(&c, batch->first + (uint64_t)i, choice), "no memory");
        run_case(&bench, &c);
        chunks_case_close(&c);
    }
    chunks_bench_close(&bench);
    return QUERN_OK;
}
