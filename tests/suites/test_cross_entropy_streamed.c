/*
 * Cross-entropy over rows of which the chip keeps only the first columns, in shared memory and in registers.  The emulated GPU has
 * little shared memory here, so that short rows are such; a real one gets longer rows.
 *
 * Runs on: every emulated, gpu; kernels of cross_entropy.
 */
#include "harness/check.h"
#include "harness/cross_entropy_case.h"

enum { TEAM_BYTES = 352, ROOM_BYTES = 32, VECTOR_BYTES = 16, THREADS = 256, BATCH = 4 };
/* The most groups of vectors in registers, HELD_GROUPS of row_held.cuh, and the vectors of one. */
static int64_t groups_of(const struct quern_kernel *row) { return row->target.cc_min >= 100 ? 4 : 2; }
static int64_t group_of(const struct quern_kernel *row) { return (row->target.cc_min >= 100 ? 2 : 5) * BATCH * THREADS; }

/* What a test does with a kernel that keeps so many columns, in vectors of so many. */
typedef void streamed_test(const struct test_device *device, const struct quern_kernel *row, int64_t kept, int64_t vector);

static void for_each_row_with(const char *shared_kb, streamed_test *body) {
    setenv("QUERN_EMULATOR_SHARED_KB", shared_kb, 1);
    int count = 0;
    for (const struct quern_kernel *row = next_cross_entropy_row(NULL); row; row = next_cross_entropy_row(row)) {
        if (!row->cuda.elements || row->key.cross_entropy.vocab_max < INT64_MAX) continue;
        struct test_device device;
        device_open_row(&device, 0, row);
        const quern_device_info info = info_of(device.quern);
        const int64_t vector = row->cuda.elements;
        body(&device, row, (int64_t)(info.shared_bytes - TEAM_BYTES - ROOM_BYTES) / VECTOR_BYTES * vector, vector);
        device_close(&device);
        count++;
    }
    check(count == 3, "%d kernels", count);
}

static void for_each_streamed_row(streamed_test *body) { for_each_row_with("2", body); }
#define TEST_STREAMED_ROWS(suite, name) \
    TEST_EACH(for_each_streamed_row, suite, name, const struct test_device *device, const struct quern_kernel *row, int64_t kept, \
              int64_t vector)

static struct cross_entropy_case case_of(const struct quern_kernel *row, int64_t rows, int64_t vocab) {
    return CROSS_ENTROPY_CASE(.logits_dtype = row->key.cross_entropy.logits, .rows = rows, .vocab = vocab,
                              .outputs = WANT_WHAT_IS_FREE, .z_loss = 1e-3f, .seed = (uint64_t)vocab);
}

/* Columns at the ends of the row and of its first columns, of which so many are on the chip. */
static int64_t column_of(int64_t row, int64_t first, int64_t vocab) {
    static const int64_t near[] = {0, 1, -1, 2, -2, 7, -7, 8, -8, 9, -9, 15, -15, 16, 17, 31, 40};
    enum { COUNT = sizeof near / sizeof *near };
    if (row < COUNT) return first + near[row];
    return row < COUNT + 30 ? vocab - 1 - (row - COUNT) : row - COUNT - 30;
}

enum { ROWS_OF_COLUMNS = 55, ROWS_OF_HELD_COLUMNS = 17 };

static void run_edited(const struct test_device *device, const struct cross_entropy_case *c, int64_t first, double value,
                       bool is_label) {
    OPEN_INPUTS(inputs, c);
    for (int64_t r = 0; r < c->rows; r++) {
        const int64_t column = column_of(r, first, c->vocab);
        if (is_label) cross_entropy_set_label(c, &inputs, r, column);
        if (is_label || r % 2) cross_entropy_set_logit(c, &inputs, r, column, value);
    }
    cross_entropy_check_inputs(device, c, &inputs);
}

/* In place the rows have one alignment in the logits and the gradient, else any two. */
static void check_columns_at(const struct test_device *device, struct cross_entropy_case c, int64_t first, double value,
                             bool is_label) {
    for (int i = 0; i < 4; i++) {
        c.vocab = first + (i % 2 ? 151 : 160);
        c.placement = i / 2 ? IN_PLACE : OUT_OF_PLACE;
        c.padding = i % 2;
        c.grad_padding = 2 * i;
        c.filled = i == 2 ? 5 : 0;
        run_edited(device, &c, first, value, is_label);
    }
}

/* Around the end of the kept columns, and around both ends of a group in registers. */
static void check_columns(const struct test_device *device, const struct quern_kernel *row, int64_t kept, int64_t vector,
                          double value, bool is_label) {
    check_columns_at(device, case_of(row, ROWS_OF_COLUMNS, kept), kept, value, is_label);
    struct cross_entropy_case c = case_of(row, ROWS_OF_HELD_COLUMNS, kept);
    check_columns_at(device, c, kept + group_of(row) * vector, value, is_label);
    c.vocab = kept + group_of(row) * vector + 153;
    c.placement = IN_PLACE;
    run_edited(device, &c, kept, value, is_label);
}

/* The label's logit is far above all others, and must not be among their sum. */
TEST_STREAMED_ROWS(cross_entropy_streamed, the_label_in_any_place) { check_columns(device, row, kept, vector, 25, true); }

/*
 * In each vector of a batch, and in the one after it, of the first thread and the last one.  Its logit is large, but not so large
 * that the batch is summed once more.
 */
static void check_batches(const struct test_device *device, const struct quern_kernel *row, int64_t kept, int64_t vector) {
    enum { VECTORS = 2 * (BATCH + 1) };
    struct cross_entropy_case c = case_of(row, 2 * VECTORS, kept + (BATCH + 1) * THREADS * vector + 37);
    check(kept > (BATCH + 1) * THREADS * vector, "%lld kept columns", (long long)kept);
    c.placement = IN_PLACE;
    c.padding = 3;
    OPEN_INPUTS(inputs, &c);
    for (int64_t r = 0; r < c.rows; r++) {
        const int64_t of_thread = r % VECTORS / 2 * THREADS + r % 2 * (THREADS - 1);
        const int64_t column = (r < VECTORS ? 0 : kept) + of_thread * vector + r % vector;
        cross_entropy_set_label(&c, &inputs, r, column);
        cross_entropy_set_logit(&c, &inputs, r, column, 6);
    }
    cross_entropy_check_inputs(device, &c, &inputs);
}

Test(cross_entropy_streamed, the_label_in_any_vector_of_a_batch) { for_each_row_with("24", check_batches); }

TEST_STREAMED_ROWS(cross_entropy_streamed, nan_in_any_place) {
    check_columns(device, row, kept, vector, (double)NAN, false);
    check_columns(device, row, kept, vector, (double)INFINITY, false);
}

/* The most groups in registers, and each thread has a batch of vectors beyond them, and some vectors more. */
static int64_t long_vocab(const struct quern_kernel *row, int64_t kept, int64_t vector) {
    return kept + (groups_of(row) * group_of(row) + (BATCH + 1) * THREADS) * vector + 37;
}

/* A group is held if its vectors, and the one after them, are in the row: on both sides of each such length, at any alignment. */
TEST_STREAMED_ROWS(cross_entropy_streamed, registers_hold_whole_groups) {
    int64_t number = 0;
    for (int64_t groups = 1; groups <= groups_of(row) + 1; groups++)
        for (int64_t more = 0; more < 4; more++) {
            struct cross_entropy_case c = case_of(row, 1, kept + (groups * group_of(row) + 1 + more / 2) * vector - 1 + more % 2);
            c.placement = IN_PLACE;
            c.offset = number++ * 3 % 8;
            cross_entropy_check_case(device, &c);
        }
}

/* Logits that the sample misses: from far too large for the first origin to so small that nothing is left of it. */
TEST_STREAMED_ROWS(cross_entropy_streamed, logits_that_the_sample_misses) {
    const int64_t held = group_of(row) * vector;
    struct cross_entropy_case c = case_of(row, 18, kept + held + (BATCH + 1) * THREADS * vector + 37);
    c.spread = 0.5;
    c.padding = 3;
    OPEN_INPUTS(inputs, &c);
    for (int64_t r = 0; r < c.rows; r++) {
        const int64_t first = r < 9 ? kept : kept + held;
        const int64_t column = first + (r * 2531 + 3) % (c.vocab - held - kept);
        const double missed = r % 9 < 6 ? 9.37 * (double)(r % 9 + 1) : (double)(r % 9 - 5) * 3000;
        cross_entropy_set_logit(&c, &inputs, r, column, missed);
        if (r % 2) {  /* the label beside it, in sums that are taken once more */
            cross_entropy_set_label(&c, &inputs, r, column - 1);
            cross_entropy_set_logit(&c, &inputs, r, column - 1, missed);
        }
    }
    cross_entropy_check_inputs(device, &c, &inputs);
}

/* Blocks go from skipped rows to others and back, and the columns kept of one row are those of the next in time. */
TEST_STREAMED_ROWS(cross_entropy_streamed, skipped_rows_between_others) {
    (void)vector;
    for (int64_t every = 2; every < 5; every++) {
        struct cross_entropy_case c = case_of(row, 41, kept + 3 + every);
        c.ignored_every = every;
        c.reduction = QUERN_REDUCTION_MEAN;
        c.placement = every == 3 ? IN_PLACE : OUT_OF_PLACE;
        c.filled = every - 2;
        cross_entropy_check_case(device, &c);
    }
}

TEST_STREAMED_ROWS(cross_entropy_streamed, a_row_has_the_same_bits_anywhere) {
    struct cross_entropy_case c = case_of(row, 5, long_vocab(row, kept, vector));
    OPEN_INPUTS(inputs, &c);
    OPEN_OUTPUTS(all, device, &c, &inputs);
    cross_entropy_compare(&c, &inputs, &all);
    for (int64_t r = 0; r < c.rows; r++)
        cross_entropy_check_row_alone(device, &c, &inputs, &all, r, r * 3 % 8, r % 2 ? IN_PLACE : OUT_OF_PLACE);
}
