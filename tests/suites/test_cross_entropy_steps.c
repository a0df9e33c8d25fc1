/*
 * Cross-entropy in steps: stats, combine and gradient give the values of the one call, with one shard and with several.  Kernels
 * that divide rows by parts, all of a CPU among them, give the same bits with one shard, however the library splits a call.
 *
 * Runs on: cpu, emulated, gpu; kernels of cross_entropy.
 */
#include "harness/check.h"
#include "harness/cross_entropy_case.h"

/*
 * A case with a bit of everything, with the options of the row or, for a plain row, without: for a request without options the
 * library prefers plain kernels.  Limited to the longest row that the kernel supports.
 */
static struct cross_entropy_case case_of(const struct quern_kernel *row, int64_t rows, int64_t vocab, int i) {
    const int64_t longest = row->key.cross_entropy.vocab_max;
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(
        .logits_dtype = row->key.cross_entropy.logits, .rows = rows, .vocab = vocab < longest ? vocab : longest,
        .padding = i % 3, .ignored_every = 5,
        .reduction = (quern_reduction)(i % 3), .placement = i % 2 ? IN_PLACE : OUT_OF_PLACE, .spread = 3,
        .has_upstream = i % 4 == 1, .labels_dtype = i % 2 ? QUERN_INT64 : QUERN_INT32, .outputs = WANT_WHAT_IS_FREE,
        .seed = (uint64_t)i + 7);
    if (i % 4 || row->key.cross_entropy.full) cross_entropy_add_options(&c, row, i % 4 == 1);
    return c;
}

/* ---- one shard ---- */

/* GPU kernels that take rows in turns sum in an order of their own. */
static bool divides_by_parts(const struct quern_kernel *row) { return !row->cuda.elements; }

/* Whether a call gets a kernel that divides rows by parts, if the choice is free. */
static bool gets_parts(const struct cross_entropy_case *c) {
    for (const struct quern_kernel *row = next_cross_entropy_row(NULL); row; row = next_cross_entropy_row(row)) {
        const bool serves = row->key.cross_entropy.logits == c->logits_dtype && row->key.cross_entropy.vocab_max >= c->vocab;
        if (serves && !divides_by_parts(row)) return false;
    }
    return true;
}

static void check_equal_or_near(const struct cross_entropy_case *c, const struct cross_entropy_inputs *inputs,
                                const struct cross_entropy_outputs *a, const struct cross_entropy_outputs *b, bool equal,
                                const char *what) {
    if (equal) {
        cross_entropy_check_same(c, a, b, what);
    } else {
        cross_entropy_compare(c, inputs, a);
        cross_entropy_check_near(c, inputs, a, b, what);
    }
}

static void check_three_ways(const struct test_device *device, struct cross_entropy_case *c, bool equal) {
    struct cross_entropy_outputs one_call CLOSED_BY(cross_entropy_free_outputs), other CLOSED_BY(cross_entropy_free_outputs);
    OPEN_INPUTS(inputs, c);
    cross_entropy_run(device, c, &inputs, &one_call);
    cross_entropy_compare(c, &inputs, &one_call);
    c->shards = 1;
    cross_entropy_run(device, c, &inputs, &other);
    check_equal_or_near(c, &inputs, &other, &one_call, equal, "one shard in steps");
    cross_entropy_free_outputs(&other);
    c->shards = 0;
    c->later = true;
    cross_entropy_run(device, c, &inputs, &other);
    check_equal_or_near(c, &inputs, &other, &one_call, equal, "the gradient later");
    c->later = false;
}

TEST_CROSS_ENTROPY_ROWS(cross_entropy_steps, one_shard_gives_the_bits_of_one_call) {
    const int64_t part = cross_entropy_part_columns(row->key.cross_entropy.logits);
    const int64_t vocabs[] = {1, 2, 33, 130, 2049, part - 1, part, part + 1, 2 * part + 77};
    for (int i = 0; i < (int)COUNT(vocabs); i++) {
        struct cross_entropy_case c = case_of(row, vocabs[i] > 4096 ? 3 : 6, vocabs[i], i);
        check_three_ways(device, &c, divides_by_parts(row));
    }
}

/* ---- neighbours ---- */

static void check_split(const struct test_device *device, struct cross_entropy_case *c, const struct cross_entropy_inputs *inputs,
                        const struct cross_entropy_outputs *whole) {
    OPEN_OUTPUTS(outputs, device, c, inputs);
    cross_entropy_compare(c, inputs, &outputs);
    cross_entropy_check_near(c, inputs, &outputs, whole, "several shards");
}

TEST_CROSS_ENTROPY_ROWS(cross_entropy_steps, several_shards_are_neighbours_of_the_whole) {
    const int64_t part = cross_entropy_part_columns(row->key.cross_entropy.logits), vocabs[] = {9, 40, 700, 3000, part + 1000};
    for (int i = 0; i < (int)COUNT(vocabs); i++) {
        for (int k = 0; k < (int)test_size(3, 1); k++) {
            struct cross_entropy_case c = case_of(row, 5, vocabs[i], i + k);
            OPEN_INPUTS(inputs, &c);
            OPEN_OUTPUTS(whole, device, &c, &inputs);
            for (c.shards = 2 + (i + k) % 3; c.shards <= MOST_SHARDS; c.shards += 3) {
                c.split = (uint64_t)(c.shards + i);
                check_split(device, &c, &inputs, &whole);
            }
        }
    }
}

/* ---- shards without finite logits in a row ---- */

/* All but one shard of a row are -infinity; in the last row all are, including the label's shard. */
TEST_CROSS_ENTROPY_ROWS(cross_entropy_steps, shards_in_which_a_row_has_nothing) {
    for (int i = 0; i < 8; i++) {
        struct cross_entropy_case c = case_of(row, 4, 200 + 31 * i, i);
        int64_t first[MOST_SHARDS + 1];
        c.softcap = 0;
        c.has_weights = false;
        c.ignored_every = 0;
        c.shards = 4;
        c.split = (uint64_t)i;
        const int shards = cross_entropy_split(&c, first);
        OPEN_INPUTS(inputs, &c);
        for (int64_t r = 0; r < c.rows; r++) {
            const int kept = r < c.rows - 1 ? (int)r % shards : -1;
            for (int s = 0; s < shards; s++)
                for (int64_t j = first[s]; j < first[s + 1] && s != kept; j++)
                    cross_entropy_set_logit(&c, &inputs, r, j, (double)-INFINITY);
            if (kept >= 0) cross_entropy_set_label(&c, &inputs, r, first[(kept + (r == 1)) % shards]);
        }
        cross_entropy_check_inputs(device, &c, &inputs);
        c.label_smoothing = 0;
        cross_entropy_check_inputs(device, &c, &inputs);
    }
}

/* ---- columns and labels beyond 2^32 ---- */

TEST_CROSS_ENTROPY_ROWS(cross_entropy_steps, columns_beyond_2_32) {
    const int64_t far = ((int64_t)1 << 32) + 3;
    struct cross_entropy_case c = case_of(row, 6, 300, 1);
    c.labels_dtype = QUERN_INT64;
    c.label_smoothing = 0;  /* counts all columns */
    c.outputs &= ~(unsigned)WANT_STATS;
    c.shards = 3;
    OPEN_INPUTS(inputs, &c);
    OPEN_OUTPUTS(near_outputs, device, &c, &inputs);
    cross_entropy_compare(&c, &inputs, &near_outputs);
    for (int64_t r = 0; r < c.rows; r++) {
        const int64_t label = cross_entropy_get_label(&c, &inputs, r);
        if (label != c.ignore_index) cross_entropy_set_label(&c, &inputs, r, far + label);
        if (near_outputs.argmax && near_outputs.argmax[r] >= 0) near_outputs.argmax[r] += far;
    }
    c.columns_before = far;
    OPEN_OUTPUTS(far_outputs, device, &c, &inputs);
    cross_entropy_check_same(&c, &far_outputs, &near_outputs, "columns beyond 2^32");
}

/* ---- stats ---- */

/* A shard's stats hold exactly what combine needs: the label's logit is in one shard, and skipped rows are in none. */
TEST_CROSS_ENTROPY_ROWS(cross_entropy_steps, stats_of_the_whole_rows) {
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = row->key.cross_entropy.logits, .rows = 7, .vocab = 90,
                                                     .outputs = WANT_STATS, .ignored_every = 3);
    struct cross_entropy_outputs outputs;
    cross_entropy_add_options(&c, row, true);
    OPEN_INPUTS(inputs, &c);
    cross_entropy_set_label(&c, &inputs, 1, c.vocab);
    for (c.shards = 0; c.shards < 4; c.shards++) {
        cross_entropy_run(device, &c, &inputs, &outputs);
        cross_entropy_compare(&c, &inputs, &outputs);
        for (int64_t r = 0; r < c.rows; r++) {
            const quern_row_stats *stats = &outputs.stats[r];
            const bool skipped = r == 1 || r % 3 == 2;
            check((int)stats->has_label == !skipped, "%d shards, row %d: has_label %u", c.shards, (int)r, stats->has_label);
            if (row->key.cross_entropy.full && !skipped)
                check(stats->argmax >= 0 && stats->weights > 0 && stats->moment <= 0.7 * stats->others,
                      "%d shards, row %d: argmax %d, weights %g, moment %g", c.shards, (int)r, (int)stats->argmax,
                      stats->weights, stats->moment);
        }
        cross_entropy_free_outputs(&outputs);
    }
}

/* ---- the number of rows: few rows with several parts are split, many are not, and each row has the bits it has alone ---- */

TEST_CROSS_ENTROPY_ROWS(cross_entropy_steps, a_row_alone_and_among_many) {
    const int64_t part = cross_entropy_part_columns(row->key.cross_entropy.logits), counts[] = {3, test_size(40, 24)};
    for (int i = 0; i < 4; i++) {
        struct cross_entropy_case c = case_of(row, counts[i % 2], i < 2 ? 2 * part + 1001 : 900, i + 1);
        c.reduction = QUERN_REDUCTION_NONE;
        c.placement = OUT_OF_PLACE;
        c.has_upstream = false;
        OPEN_INPUTS(inputs, &c);
        OPEN_OUTPUTS(all, device, &c, &inputs);
        if (i == 1) cross_entropy_compare(&c, &inputs, &all);
        for (int64_t r = 0; r < c.rows; r += 1 + c.rows / 4)
            cross_entropy_check_row_alone(device, &c, &inputs, &all, r, 0, OUT_OF_PLACE);
    }
}

/* ---- any choice of kernels for a call ---- */

/*
 * On a device with a free choice that may split rows, each kernel of the table would have given the same bits if both divide rows
 * by parts, else near values.
 */
static void check_choice(const struct quern_kernel *row, const struct cross_entropy_case *c) {
    struct cross_entropy_outputs forced CLOSED_BY(cross_entropy_free_outputs), chosen CLOSED_BY(cross_entropy_free_outputs);
    struct test_device device;
    OPEN_INPUTS(inputs, c);
    device_open_row(&device, 0, row);
    cross_entropy_run(&device, c, &inputs, &forced);
    device_close(&device);
    device_open(&device, 0, NULL);
    check_ok(quern_prepare(device.quern, QUERN_CROSS_ENTROPY));
    cross_entropy_run(&device, c, &inputs, &chosen);
    device_close(&device);
    check_equal_or_near(c, &inputs, &chosen, &forced, divides_by_parts(row) && gets_parts(c), row->name);
}

Test(cross_entropy_steps, any_kernel_gives_the_same_values) {
    for (const struct quern_kernel *row = next_cross_entropy_row(NULL); row; row = next_cross_entropy_row(row)) {
        const int64_t part = cross_entropy_part_columns(row->key.cross_entropy.logits), vocabs[] = {700, part, 2 * part + 1001};
        for (int i = 0; i < 6; i++) {
            const struct cross_entropy_case c = case_of(row, i / 3 ? test_size(40, 9) : 2, vocabs[i % 3], i + 3);
            check_choice(row, &c);
        }
    }
}

/* A call without options is given to a plain kernel, and a full one serves it too: on CPUs they sum in the same order. */
Test(cross_entropy_steps, full_kernels_give_the_bits_of_plain_ones) {
    if (test_kind() != QUERN_CPU) cr_skip_test("for CPUs");
    for (const struct quern_kernel *row = next_cross_entropy_row(NULL); row; row = next_cross_entropy_row(row)) {
        const int64_t vocabs[] = {31, 32, 128, 700, 1024, cross_entropy_part_columns(row->key.cross_entropy.logits)};
        for (size_t i = 0; i < COUNT(vocabs) && row->key.cross_entropy.full; i++) {
            const struct cross_entropy_case c = CROSS_ENTROPY_CASE(
                .logits_dtype = row->key.cross_entropy.logits, .rows = 3, .vocab = vocabs[i], .outputs = WANT_WHAT_IS_FREE,
                .placement = i % 2 ? IN_PLACE : NO_GRAD, .seed = i + 1);
            check_choice(row, &c);
        }
    }
}

/*
 * ---- threads: rows that cannot be dealt out evenly are divided into parts among the threads; every other case where sizes are
 * small ----
 */

static void check_threads(const struct test_device *device, const struct quern_kernel *row) {
    static const int threads[] = {2, 3, 64, 7};
    static const int64_t all_rows[] = {1, 4, 5, 7};
    for (size_t k = 0; k < COUNT(all_rows); k += (size_t)test_size(1, 2)) {
        const int64_t rows = all_rows[k];
        struct cross_entropy_case c = case_of(row, rows, 9 * QUERN_CPU_PART_COLUMNS / 2, (int)rows);
        if (row->key.cross_entropy.full) c.outputs = WANT_EVERYTHING;
        struct cross_entropy_outputs first CLOSED_BY(cross_entropy_free_outputs), other;
        OPEN_INPUTS(inputs, &c);
        check_ok(quern_set_threads(device->quern, 1, NULL, NULL));
        cross_entropy_run(device, &c, &inputs, &first);
        cross_entropy_compare(&c, &inputs, &first);
        for (size_t i = 0; i < COUNT(threads); i += (size_t)test_size(1, 2)) {
            for (c.shards = 0; c.shards < 2; c.shards++) {
                check_ok(quern_set_threads(device->quern, threads[i], NULL, NULL));
                cross_entropy_run(device, &c, &inputs, &other);
                cross_entropy_check_same(&c, &other, &first, "other threads");
                cross_entropy_free_outputs(&other);
            }
        }
    }
}

Test(cross_entropy_steps, a_huge_row_over_threads) {
    if (test_kind() != QUERN_CPU) cr_skip_test("threads belong to CPUs");
    for_each_cross_entropy_row(check_threads);
}
