/* One call of quern_quantize_chunks by each of three ranks.  one_chunks.h documents the functions. */
#include "harness/one_chunks.h"

#include "kernels/quantize_problem.h"

enum { NUMBERS_AT = 2 * CHUNKS_BYTES, NUMBERS = 3 };  /* of the private pool: amax, scale, scale_inv */
enum { SCALES_AT = CHUNKS_BYTES / 2, EACH = CHUNKS_ROWS * CHUNKS_COLUMNS };

static const int everyone[] = {0, 1, 2};

uint32_t *one_chunks_words(const struct one_chunks *one) {
    return (uint32_t *)(void *)(one->bench->image[POOL_SYMMETRIC] + CHUNKS_BYTES);
}

/* Multiples of 1/8 up to 448 on rank 1, which E4M3 represents with the scale 1: the code of 2 is 0x40. */
void one_chunks_make(struct one_chunks *one, struct rank_bench *bench) {
    unsigned char *symmetric = bench->pool[POOL_SYMMETRIC], *private = bench->pool[POOL_PRIVATE];
    float *input = (float *)(void *)bench->image[POOL_PRIVATE], *numbers = input + NUMBERS_AT / 4;
    quern_quantize_chunks_args *args = &one->args;
    *one = (struct one_chunks){.bench = bench, .args = QUERN_QUANTIZE_CHUNKS_ARGS_INIT, .stream = bench->stream};
    args->input_dtype = QUERN_F32, args->output_dtype = QUERN_E4M3;
    args->rows = CHUNKS_ROWS, args->columns = CHUNKS_COLUMNS, args->chunk_rows = CHUNK_ROWS;
    args->input = private, args->output = symmetric, args->ready = (uint32_t *)(void *)(symmetric + CHUNKS_BYTES);
    args->ready_value = CHUNKS_VALUE, args->order = one->order;
    args->amax = (float *)(void *)(private + NUMBERS_AT), args->scale = args->amax + 1, args->scale_inv = args->amax + 2;
    args->members = everyone, args->member_count = bench->rank->ranks;
    for (int i = 0; i < CHUNKS; i++) one->order[i] = (i + bench->rank->rank) % CHUNKS;
    for (int i = 0; i < CHUNKS_ROWS * CHUNKS_COLUMNS; i++) input[i] = bench->rank->rank == 1 && i == 5 ? -448 : 2;
    for (int i = 0; i < NUMBERS; i++) numbers[i] = -1;
    for (int i = 0; i < CHUNKS_BYTES / 4; i++) one_chunks_words(one)[i] = CHUNKS_BEFORE;
    memset(bench->image[POOL_SYMMETRIC], CHUNKS_UNTOUCHED, CHUNKS_BYTES);
    rank_bench_put(bench, symmetric, 2 * CHUNKS_BYTES);
    rank_bench_put(bench, private, NUMBERS_AT + 4 * NUMBERS);
    rank_ok(bench->rank, quern_quantize_chunks_workspace(bench->group, args, &one->workspace_bytes));
    one->workspace = one->workspace_bytes ? bench->workspace : NULL;
}

quern_status one_chunks_call(const struct one_chunks *one) {
    return quern_quantize_chunks(one->bench->group, &one->args, one->workspace, one->workspace_bytes, one->stream);
}

static const float *look(const struct one_chunks *one) {
    rank_bench_seen(one->bench, one->bench->pool[POOL_SYMMETRIC], 2 * CHUNKS_BYTES);
    return rank_bench_seen(one->bench, one->bench->pool[POOL_PRIVATE] + NUMBERS_AT, 4 * NUMBERS);
}

void one_chunks_check_nothing_came(const struct one_chunks *one, uint32_t word, const char *when) {
    struct rank *rank = one->bench->rank;
    const float *numbers = look(one);
    const unsigned char *output = one->bench->image[POOL_SYMMETRIC];
    for (int i = 0; i < CHUNKS_BYTES; i++) rank_check(rank, output[i] == CHUNKS_UNTOUCHED, "%s: byte %d was written", when, i);
    for (int i = 1; i < rank->ranks * CHUNKS; i++)
        rank_check(rank, one_chunks_words(one)[i] == word, "%s: word %d is %u", when, i, one_chunks_words(one)[i]);
    for (int i = 0; i < NUMBERS; i++) rank_check(rank, numbers[i] < 0, "%s: number %d was written", when, i);
}

void one_chunks_scale_blocks(struct one_chunks *one) {
    one->args.scaling = QUERN_SCALING_MX;
    one->args.amax = one->args.scale = one->args.scale_inv = NULL;
    one->args.block_scales = one->bench->pool[POOL_SYMMETRIC] + SCALES_AT;
}

/* In blocks 2 becomes 256 by the scale 2^-7, but in the block of -448. */
static int code_of(bool in_blocks, int element) {
    const bool is_large = element / EACH == 1 && element % EACH < QUERN_QUANTIZE_BLOCK;
    return element == EACH + 5 ? 0xFE : in_blocks && !is_large ? 0x78 : 0x40;
}

static void check_scales(const struct one_chunks *one) {
    const unsigned char *scales = one->bench->image[POOL_SYMMETRIC] + SCALES_AT;
    for (int i = 0; i < ONE_RANKS * CHUNKS_ROWS * CHUNKS_ACROSS; i++) {
        const int scale = i == CHUNKS_ROWS * CHUNKS_ACROSS ? 127 : 120;
        rank_check(one->bench->rank, scales[i] == scale, "scale %d is %d instead of %d", i, scales[i], scale);
    }
}

void one_chunks_check(const struct one_chunks *one) {
    static const float expected[] = {448, 1, 1}, in_blocks[] = {-1, -1, -1};
    struct rank *rank = one->bench->rank;
    const bool has_blocks = one->args.scaling == QUERN_SCALING_MX;
    const float *numbers = look(one), *those = has_blocks ? in_blocks : expected;
    for (int i = 0; i < ONE_RANKS * EACH; i++) {
        const int has = one->bench->image[POOL_SYMMETRIC][i], code = code_of(has_blocks, i);
        rank_check(rank, has == code, "element %d of place %d is %02X instead of %02X", i % EACH, i / EACH, has, code);
    }
    if (has_blocks) check_scales(one);
    for (int i = 0; i < CHUNK_WORDS; i++)
        rank_check(rank, one_chunks_words(one)[i] == CHUNKS_VALUE, "word %d is %u", i, one_chunks_words(one)[i]);
    for (int i = 0; i < NUMBERS; i++)
        rank_check(rank, !(numbers[i] < those[i] || numbers[i] > those[i]), "number %d is %g", i, (double)numbers[i]);
}

/* ---- whatever the operation ---- */

/* On CPUs the words say that a call has failed whose group has ended, unless it found that at once. */
static void check_unwritten(const void *given, const char *when) {
    const struct one_chunks *one = given;
    const bool may_tell = !rank_reaches(one->bench->rank) && quern_group_status(one->bench->group) != QUERN_OK;
    const bool tells = may_tell && one_chunks_words(one)[1] != CHUNKS_BEFORE;
    one_chunks_check_nothing_came(one, tells ? ~(uint32_t)CHUNKS_VALUE : CHUNKS_BEFORE, when);
}

static void make(void *given, struct rank_bench *bench, const void *chosen) {
    struct one_chunks *one = given;
    const struct one_chunks_form *form = chosen;
    one_chunks_make(one, bench);
    if (form && form->everyone) one->args.members = NULL;
    if (form && form->in_blocks) one_chunks_scale_blocks(one);
}

ONE_KIND(one_chunks_kind, struct one_chunks, make, NULL, one_chunks_call, one_chunks_check, check_unwritten,
         "quern_quantize_chunks");
