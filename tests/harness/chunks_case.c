/* Calls of quern_quantize_chunks that follow from a seed.  chunks_case.h documents the functions. */
#include "harness/chunks_case.h"

#include "harness/random.h"
#include "oracle/dtype.h"
#include "oracle/quantize.h"

/* ---- choices ---- */

static void choose_members(struct chunks_case *c, struct dice *dice, struct chunks_choice choice) {
    const int least = choice.ranks > 1 && !choice.everyone && chance(dice, 3) ? 1 : choice.ranks;
    c->ranks = choice.ranks;
    for (int rank = 0; rank < choice.ranks; rank++) {
        const int left = choice.ranks - rank;
        if (c->count + left <= least || !chance(dice, 3)) c->members[c->count++] = rank;
    }
    if (!c->count) c->members[c->count++] = (int)below(dice, choice.ranks);
    c->everyone = c->count == choice.ranks && !chance(dice, 4);
}

/* Chunks that begin anywhere in the groups of random numbers, and some that are multiples of them. */
static void choose_shape(struct chunks_case *c, struct dice *dice, struct chunks_choice choice) {
    static const int64_t widths[] = {1, 2, 3, 8, 31, 64, 100, 128, 255, 256, 257, 512, 1000, 1024};
    const int64_t largest = choice.largest ? choice.largest : 6000;
    c->columns = choice.columns ? choice.columns : chance(dice, 40) ? -1 : widths[below(dice, COUNT(widths))];
    if (c->columns < 0) c->columns = 0;
    c->rows = choice.rows ? choice.rows : chance(dice, 40) ? -1 : 1 + below(dice, largest / (c->columns ? c->columns : 1) + 1);
    if (c->rows < 0) c->rows = 0;
    c->chunk_rows = choice.chunk_rows ? choice.chunk_rows : 1 + below(dice, chance(dice, 2) ? 2 * c->rows + 1 : c->rows / 5 + 1);
    if ((c->rows + c->chunk_rows - 1) / c->chunk_rows > 1024) c->chunk_rows = (c->rows + 1023) / 1024;
    c->chunks = (c->rows + c->chunk_rows - 1) / c->chunk_rows;
    c->elements = c->rows * c->columns;
}

static void choose_options(struct chunks_case *c, struct dice *dice, struct chunks_choice choice) {
    static const quern_dtype inputs[] = {QUERN_F32, QUERN_F16, QUERN_BF16}, outputs[] = {QUERN_E4M3, QUERN_E5M2};
    static const double epsilons[] = {0, 0, 1e-12, 0.5, 3, 1e30};
    c->input = choice.input ? choice.input : inputs[below(dice, COUNT(inputs))];
    c->output = choice.output ? choice.output : outputs[below(dice, COUNT(outputs))];
    c->rounding = (quern_rounding)below(dice, QUERN_ROUND_STOCHASTIC + 1);
    c->power_of_two = (int32_t)below(dice, 2);
    c->eps = epsilons[below(dice, COUNT(epsilons))];
    c->skew = chance(dice, 2) ? 0 : below(dice, 64);
    c->input_skew = chance(dice, 2) ? 0 : below(dice, 16);
    c->is_in_order = chance(dice, 3);
    c->has_pointer = chance(dice, 3);
    c->has_scales = !chance(dice, 4);
    c->scaling = choice.scaling ? choice.scaling : chance(dice, 2) ? QUERN_SCALING_MX : (quern_scaling)below(dice, 2);
    c->scales_skew = chance(dice, 2) ? 0 : below(dice, 64);
    if (c->scaling != QUERN_SCALING_MX) return;
    c->across = (c->columns + 31) / 32, c->blocks = c->rows * c->across;
}

/* ---- values ---- */

/* Of each member another magnitude, and of parts of blocks; special values in some cases, and nothing but zeros in few. */
static double value_of(const struct chunks_case *c, int place, int64_t i) {
    static const double special[] = {NAN, INFINITY, -INFINITY, 0, -0.0, 1e-40, -65504};
    const uint64_t seed = c->seed * 64 + (uint64_t)place, mood = random_bits(c->seed, 1000) % 8;
    const uint64_t bits = random_bits(seed, (uint64_t)i);
    if (mood == 0) return 0;
    if (mood == 1 && bits % 50 == 0) return special[bits / 50 % COUNT(special)];
    if (mood == 2 && bits % 50 == 0) return special[bits / 50 % 2 * 3];  /* no infinity */
    const int of_block = c->blocks ? (int)(random_bits(seed, 900000 + (uint64_t)i / 24) % 17) - 8 : 0;
    return ldexp(random_normal(seed, (uint64_t)i), (int)(random_bits(seed, 77) % 9) - 5 + of_block);
}

static void fill_input(struct chunks_case *c, int place) {
    c->inputs[place] = zeroed((size_t)c->elements * quern_dtype_bytes(c->input));
    for (int64_t i = 0; i < c->elements; i++) dtype_store(c->input, c->inputs[place], i, value_of(c, place, i));
}

/* Of stochastic rounding: in both halves. */
static uint64_t seed_of(const struct chunks_case *c) { return random_bits(c->seed, 4500); }

/* More than 32 bits, of which the upper ones do not count. */
static uint64_t offset_of(const struct chunks_case *c, int place) { return random_bits(c->seed, 2000 + (uint64_t)place); }

/* quern_quantize of each member. */
static void find_blocks(struct chunks_case *c) {
    quern_quantize_tensor tensor = {.count = c->elements, .columns = c->columns};
    quern_quantize_args args = QUANTIZE_ARGS(.input_dtype = c->input, .output_dtype = c->output, .tensors = &tensor,
                                             .tensor_count = 1, .rounding = c->rounding, .seed = seed_of(c),
                                             .scaling = QUERN_SCALING_MX);
    for (int place = 0; place < c->count; place++) {
        tensor.input = c->inputs[place], tensor.output = c->expected + place * c->elements;
        tensor.block_scales = c->expected_scales + place * c->blocks;
        args.offset = offset_of(c, place);
        quantize_model(&args);
    }
}

/* The public functions of a tensor, one member after the other, with the largest of all amaxes. */
static void find_expected(struct chunks_case *c) {
    quern_quantize_tensor tensor = {.count = c->elements};
    quern_quantize_args args = QUANTIZE_ARGS(.input_dtype = c->input, .output_dtype = c->output, .tensors = &tensor,
                                             .tensor_count = 1, .rounding = c->rounding, .power_of_two = c->power_of_two,
                                             .eps = c->eps, .seed = seed_of(c), .scale = &c->scale, .scale_inv = &c->scale_inv);
    for (int place = 0; place < c->count; place++) {
        float amax;
        args.amax = &amax, tensor.input = c->inputs[place];
        quantize_model_amax(&args);
        if (!place || amax > c->amax) c->amax = amax;
    }
    args.amax = &c->amax;
    for (int place = 0; place < c->count; place++) {
        tensor.input = c->inputs[place], tensor.output = c->expected + place * c->elements;
        args.offset = offset_of(c, place);
        quantize_model_cast(&args);
    }
}

void chunks_case_open(struct chunks_case *c, uint64_t seed, struct chunks_choice choice) {
    struct dice dice = {.seed = seed};
    *c = (struct chunks_case){.seed = seed};
    choose_members(c, &dice, choice);
    choose_shape(c, &dice, choice);
    choose_options(c, &dice, choice);
    c->expected = zeroed((size_t)(c->count * c->elements));
    c->expected_scales = zeroed((size_t)(c->count * c->blocks));
    for (int place = 0; place < c->count; place++) fill_input(c, place);
    if (c->scaling != QUERN_SCALING_MX) find_expected(c);
    else if (c->elements) find_blocks(c);
}

void chunks_case_close(struct chunks_case *c) {
    for (int place = 0; place < c->count; place++) free(c->inputs[place]);
    free(c->expected);
    free(c->expected_scales);
}

int chunks_case_place(const struct chunks_case *c, int rank) {
    for (int place = 0; place < c->count; place++)
        if (c->members[place] == rank) return place;
    return -1;
}

/* ---- memory ---- */

/* Of the numbers of a member: amax, scale, scale_inv and its offset. */
enum { AMAX, SCALE = 8, INVERSE = 16, OFFSET = 24, NUMBERS_BYTES = 32, UNTOUCHED = 0x5A };

static bool is_on_gpu(const struct rank_bench *bench) { return bench->all || bench->rank->on_gpu; }
static bool has_amax(const struct chunks_case *c) { return c->scaling != QUERN_SCALING_MX; }
static int64_t behind(int64_t end) { return (end + CHUNKS_GUARD + 63) / 64 * 64; }

struct chunks_layout chunks_case_layout(const struct chunks_case *c) {
    const int64_t element = (int64_t)quern_dtype_bytes(c->input);
    struct chunks_layout layout = {.output = CHUNKS_GUARD + c->skew, .output_bytes = c->count * c->elements,
                                   .scales_bytes = c->count * c->blocks, .ready_bytes = c->count * c->chunks * 4,
                                   .numbers = CHUNKS_GUARD, .input_bytes = c->elements * element};
    layout.scales = behind(layout.output + layout.output_bytes) + c->scales_skew;
    layout.ready = behind(layout.scales + layout.scales_bytes) + 4 * (c->skew % 16);
    layout.input = behind(layout.numbers + NUMBERS_BYTES) + c->input_skew * element;
    layout.copies = behind(layout.input + layout.input_bytes);
    layout.copied_scales = behind(layout.copies + layout.output_bytes);
    const int64_t symmetric = layout.ready + layout.ready_bytes;
    const int64_t private = c->is_copied ? layout.copied_scales + layout.scales_bytes : layout.input + layout.input_bytes;
    layout.bytes = (symmetric > private ? symmetric : private) + CHUNKS_GUARD;
    return layout;
}

void chunks_case_fill(const struct chunks_case *c, struct rank_bench *bench, uint32_t value, bool is_first) {
    const struct chunks_layout layout = chunks_case_layout(c);
    for EACH_BENCH(one, bench) {
        const int place = chunks_case_place(c, one->rank->rank);
        unsigned char *symmetric = one->image[POOL_SYMMETRIC], *private = one->image[POOL_PRIVATE];
        rank_check(one->rank, layout.bytes <= one->pool_bytes, "a case of %lld bytes", (long long)layout.bytes);
        memset(private, UNTOUCHED, (size_t)one->pool_bytes);
        memset(symmetric, UNTOUCHED, (size_t)(is_first ? one->pool_bytes : layout.ready));
        if (is_on_gpu(one)) rank_bench_write(one, one->workspace, private, one->pool_bytes);
        for (int64_t i = 0; is_first && i < layout.ready_bytes / 4; i++) {
            const uint32_t before = i % 3 ? 0 : value + 5 + (uint32_t)i;
            memcpy(symmetric + layout.ready + 4 * i, &before, sizeof before);
        }
        if (place >= 0) {
            memcpy(private + layout.input, c->inputs[place], (size_t)layout.input_bytes);
            memcpy(private + layout.numbers + OFFSET, &(uint64_t){offset_of(c, place)}, sizeof(uint64_t));
        }
        for (int pool = 0; pool < POOLS; pool++) memcpy(one->expected[pool], one->image[pool], (size_t)one->pool_bytes);
        rank_bench_show(one, one->pool_bytes);
    }
}

void chunks_case_expect(const struct chunks_case *c, struct rank_bench *bench, uint32_t value) {
    const struct chunks_layout layout = chunks_case_layout(c);
    for EACH_BENCH(one, bench) {
        unsigned char *symmetric = one->expected[POOL_SYMMETRIC], *private = one->expected[POOL_PRIVATE];
        unsigned char *numbers = private + layout.numbers;
        if (chunks_case_place(c, one->rank->rank) < 0) continue;
        memcpy(symmetric + layout.output, c->expected, (size_t)layout.output_bytes);
        memcpy(symmetric + layout.scales, c->expected_scales, (size_t)layout.scales_bytes);
        for (int64_t i = 0; i < layout.ready_bytes / 4; i++) memcpy(symmetric + layout.ready + 4 * i, &value, sizeof value);
        if (has_amax(c)) memcpy(numbers + AMAX, &c->amax, 4);
        if (has_amax(c) && c->has_scales) memcpy(numbers + SCALE, &c->scale, 4), memcpy(numbers + INVERSE, &c->scale_inv, 4);
        if (!c->is_copied) continue;
        memcpy(private + layout.copies, c->expected, (size_t)layout.output_bytes);
        memcpy(private + layout.copied_scales, c->expected_scales, (size_t)layout.scales_bytes);
    }
}

void chunks_case_compare(const struct chunks_case *c, struct rank_bench *bench) {
    const struct chunks_layout layout = chunks_case_layout(c);
    char wrong[80];
    for EACH_BENCH(one, bench) {
        rank_ok(one->rank, rank_bench_status(one, QUERN_OK));
        if (rank_bench_is_right(one, one->pool_bytes, wrong)) continue;
        rank_fail(one->rank, "case %llu: %s (%s to %s%s, %lld x %lld in chunks of %lld by %d of %d ranks; output at %lld, scales "
                  "at %lld, words at %lld, input at %lld, copies at %lld)", (unsigned long long)c->seed, wrong,
                  quern_dtype_name(c->input), quern_dtype_name(c->output), has_amax(c) ? "" : " in blocks", (long long)c->rows,
                  (long long)c->columns, (long long)c->chunk_rows, c->count, c->ranks, (long long)layout.output,
                  (long long)layout.scales, (long long)layout.ready, (long long)layout.input, (long long)layout.copies);
    }
}

/* ---- calls ---- */

static void make_order(const struct chunks_case *c, int place, int *order) {
    for (int64_t i = 0; i < c->chunks; i++) {
        const int64_t at = random_below(c->seed + (uint64_t)place, 3000 + (uint64_t)i, i + 1);
        if (at != i) order[i] = order[at];
        order[at] = (int)i;
    }
}

/* CPUs need no pointers to nothing. */
quern_quantize_chunks_args chunks_case_args(const struct chunks_case *c, const struct rank_bench *bench, uint32_t value,
                                            int order[CHUNKS_MOST]) {
    const struct chunks_layout layout = chunks_case_layout(c);
    const int rank = bench->rank->rank, place = chunks_case_place(c, rank);
    unsigned char *symmetric = bench->pool[POOL_SYMMETRIC], *private = bench->pool[POOL_PRIVATE];
    unsigned char *numbers = private + layout.numbers;
    quern_quantize_chunks_args args = QUANTIZE_CHUNKS_ARGS(.input_dtype = c->input, .output_dtype = c->output);
    args.rows = c->rows, args.columns = c->columns, args.chunk_rows = c->chunk_rows;
    args.eps = c->eps, args.power_of_two = c->power_of_two, args.rounding = c->rounding, args.seed = seed_of(c);
    if (c->elements || rank_reaches(bench->rank)) args.input = private + layout.input, args.output = symmetric + layout.output;
    if (c->chunks || rank_reaches(bench->rank)) args.ready = (uint32_t *)(void *)(symmetric + layout.ready);
    args.ready_value = value;
    args.scaling = c->scaling;
    if (c->blocks || (bench->all && !has_amax(c))) args.block_scales = symmetric + layout.scales;
    if (has_amax(c)) args.amax = (float *)(void *)(numbers + AMAX);
    if (has_amax(c) && c->has_scales)
        args.scale = (float *)(void *)(numbers + SCALE), args.scale_inv = (float *)(void *)(numbers + INVERSE);
    if (c->has_pointer) args.offset_pointer = (const uint64_t *)(void *)(numbers + OFFSET);
    else args.offset = offset_of(c, place);
    if (is_on_gpu(bench)) args.multiprocessors = (int)random_below(c->seed, 5000 + (uint64_t)rank, 4);
    make_order(c, place, order);
    if (!c->is_in_order) args.order = order;
    if (!c->everyone) args.members = c->members, args.member_count = c->count;
    return args;
}

quern_status chunks_call(const struct rank_bench *bench, const quern_quantize_chunks_args *args) {
    size_t bytes = 1;
    rank_ok(bench->rank, quern_quantize_chunks_workspace(bench->group, args, &bytes));
    rank_check(bench->rank, !bytes == !is_on_gpu(bench) && (int64_t)bytes <= bench->pool_bytes,
               "a workspace of %zu bytes", bytes);
    return quern_quantize_chunks(bench->group, args, bytes ? bench->workspace : NULL, bytes, bench->stream);
}

void chunks_case_call(const struct chunks_case *c, struct rank_bench *bench, uint32_t value) {
    int order[CHUNKS_MOST];
    for EACH_BENCH(one, bench) {
        if (chunks_case_place(c, one->rank->rank) < 0) continue;
        const quern_quantize_chunks_args args = chunks_case_args(c, one, value, order);
        rank_ok(one->rank, chunks_call(one, &args));
    }
}

/* ---- between CPU ranks ---- */

/* A thread that reads the chunks of a call. */
struct reader {
    const struct chunks_case *c;
    struct rank_bench *bench;
    const uint8_t *output, *scales;
    const uint32_t *ready;
    uint32_t value;
    char failure[RANK_TEXT_BYTES];    /* "": none */
};

/* The bytes of a chunk must be there when its word is. */
static bool check_chunk(struct reader *reader, int place, int64_t chunk, quern_status status) {
    const struct chunks_case *c = reader->c;
    const int64_t first = place * c->elements + chunk * c->chunk_rows * c->columns;
    const int64_t rows = c->chunk_rows < c->rows - chunk * c->chunk_rows ? c->chunk_rows : c->rows - chunk * c->chunk_rows;
    const int64_t block = place * c->blocks + chunk * c->chunk_rows * c->across;
    char detail[512] = "";
    if (status == QUERN_OK && !memcmp(reader->output + first, c->expected + first, (size_t)(rows * c->columns)) &&
        !memcmp(reader->scales + block, c->expected_scales + block, (size_t)(rows * c->across))) return true;
    if (status != QUERN_OK) quern_error_detail(detail, sizeof detail);
    snprintf(reader->failure, sizeof reader->failure, "seed %llu: chunk %lld of place %d: %s %s", (unsigned long long)c->seed,
             (long long)chunk, place, status == QUERN_OK ? "is not complete" : quern_status_string(status), detail);
    return false;
}

static quern_status wait_for(const struct reader *reader, int64_t word, int64_t words) {
    return quern_chunk_wait(reader->bench->group, reader->ready + word, words, reader->value, RANK_LIMIT, NULL);
}

/* In any order, one at a time. */
static void *read_chunks(void *context) {
    struct reader *reader = context;
    const int64_t chunks = reader->c->chunks, words = reader->c->count * chunks;
    const int64_t step = random_below(reader->c->seed, 4000, words);
    for (int64_t i = 0; i < words; i++) {
        const int64_t word = (i + step) % words;
        if (!check_chunk(reader, (int)(word / chunks), word % chunks, wait_for(reader, word, 1))) return NULL;
    }
    return NULL;
}

/* A row of chunks of a place at once. */
static void *read_places(void *context) {
    struct reader *reader = context;
    const int64_t chunks = reader->c->chunks;
    for (int place = reader->c->count - 1; place >= 0; place--) {
        const quern_status status = wait_for(reader, place * chunks, chunks);
        for (int64_t chunk = 0; chunk < chunks; chunk++)
            if (!check_chunk(reader, place, chunk, status)) return NULL;
    }
    return NULL;
}

static void call_beside_a_reader(const struct chunks_case *c, struct rank_bench *bench, uint32_t value) {
    static void *(*const readers[])(void *) = {read_chunks, read_places};
    const struct chunks_layout layout = chunks_case_layout(c);
    const unsigned char *symmetric = bench->pool[POOL_SYMMETRIC];
    struct reader reader = {.c = c, .bench = bench, .output = symmetric + layout.output, .value = value,
                            .scales = symmetric + layout.scales,
                            .ready = (const uint32_t *)(const void *)(symmetric + layout.ready)};
    const uint64_t way = random_bits(c->seed + value, 5000 + (uint64_t)chunks_case_place(c, bench->rank->rank)) % 3;
    pthread_t thread;
    const bool reads = way < 2 && c->chunks;
    if (reads) rank_check(bench->rank, pthread_create(&thread, NULL, readers[way], &reader) == 0, "no thread");
    chunks_case_call(c, bench, value);
    chunks_case_compare(c, bench);
    if (reads) pthread_join(thread, NULL);
    rank_check(bench->rank, !*reader.failure, "%s", reader.failure);
}

/* The second call of a case finds the words of the first. */
static void run_case(const struct chunks_case *c, struct rank_bench *bench) {
    if (chunks_case_place(c, bench->rank->rank) < 0) return;
    for (int i = 0; i < 2; i++) {
        const uint32_t value = 1 + (uint32_t)random_below(c->seed, 6000, 1 << 30) + (uint32_t)i;
        chunks_case_fill(c, bench, value, i == 0);
        chunks_case_expect(c, bench, value);
        call_beside_a_reader(c, bench, value);
    }
}

quern_status chunks_run_batch(struct rank *rank) {
    const struct chunks_batch *batch = rank->user;
    struct rank_bench bench;
    if (batch->threads) rank_ok(rank, quern_set_threads(rank->device, batch->threads, NULL, NULL));
    rank_bench_open(&bench, rank, RANK_LIMIT, batch->pool_bytes ? batch->pool_bytes : 1 << 17);
    for (int i = 0; i < batch->cases; i++) {
        struct chunks_case c;
        struct chunks_choice choice = batch->choice;
        choice.ranks = rank->ranks;
        chunks_case_open(&c, batch->first + (uint64_t)i, choice);
        run_case(&c, &bench);
        chunks_case_close(&c);
    }
    rank_bench_close(&bench);
    return QUERN_OK;
}
