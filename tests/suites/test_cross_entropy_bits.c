/*
 * Portable bits of cross-entropy: their hashes, which are the same on every target of every architecture, and the same bits in
 * every division of a call.  The values come from no function of the C library, whose results differ between libraries.
 *
 * Runs on: cpu, every emulated, gpu; kernels of cross_entropy.
 */
#include "harness/args.h"
#include "harness/buffer.h"
#include "harness/check.h"
#include "harness/cross_entropy_case.h"
#include "harness/random.h"
#include "oracle/dtype.h"

static uint64_t fnv1a(uint64_t hash, const void *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) hash = (hash ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    return hash;
}

/* ---- kernels ---- */

/* On a GPU they are those of a stage, which know all options; on a CPU those of the rows. */
static bool is_portable(const struct quern_kernel *row) {
    return row->key.cross_entropy.stage == (row->target.kind == QUERN_CUDA ? QUERN_STAGE_PORTABLE : QUERN_STAGE_ROWS);
}

static bool has_all_options(const struct quern_kernel *row) {
    return row->target.kind == QUERN_CUDA || row->key.cross_entropy.full;
}

static unsigned outputs_of(const struct quern_kernel *row) {
    return has_all_options(row) ? WANT_EVERYTHING : WANT_WHAT_IS_FREE;
}

static void for_each_portable_row(cross_entropy_row_test *body) {
    int rows = 0;
    for (const struct quern_kernel *row = next_row(quern_cross_entropy_kernels, NULL); row;
         row = next_row(quern_cross_entropy_kernels, row)) {
        if (!is_portable(row)) continue;
        OPEN_DEVICE(device, row->target.kind == QUERN_CUDA ? NULL : row->name);  /* a stage is not selected by its name */
        check_ok(quern_prepare(device.quern, QUERN_CROSS_ENTROPY));
        body(&device, row);
        rows++;
    }
    check(rows >= 3, "%s has %d kernels with portable bits", test_target(), rows);
}

#define TEST_PORTABLE_ROWS(suite, name) \
    TEST_EACH(for_each_portable_row, suite, name, const struct test_device *device, const struct quern_kernel *row)

/* ---- hashes ---- */

/*
 * Logits: center + spread * u + slope * column / vocab, with u from -1 to 1.  masked: so many of 8 columns are -infinity.  alone:
 * so much more in the label's column.
 */
static const struct bits_case {
    int64_t vocab;
    double center, spread, slope, alone;
    int masked;
    float inverse_temperature;
    uint64_t hashes[3];        /* of f32, f16 and bf16 */
} cases[] = {
    {.vocab = 1, .spread = 3,
     .hashes = {0x500ED370DC27F6C4, 0xDCAF3048530505FF, 0x0620557A05002EC1}},
    {.vocab = 31, .spread = 3,
     .hashes = {0x1A89009C94EC8953, 0xEA547F5367263229, 0x716FBCDD8C228A1A}},
    {.vocab = 32, .spread = 8, .inverse_temperature = 0.7f,
     .hashes = {0xB0D048B080E77866, 0x144110F37C3ED20D, 0xA6D3DCDBD6D48C16}},
    {.vocab = 1000, .spread = 5,
     .hashes = {0xA80BFC7FAABE408F, 0x60120BBF31D89EBD, 0x5BE096C053E13FE7}},
    {.vocab = 1025, .spread = 5, .alone = 40,
     .hashes = {0xCD00A89C7FC0E29D, 0x3DCC43916B315783, 0x40224749DDB6AA5C}},
    {.vocab = 4129, .center = 90, .spread = 12, .masked = 3,
     .hashes = {0xCCAE75FE2657DF67, 0xA22DFBF795EAA252, 0x0B844EF51840D842}},
    {.vocab = 9000, .center = -200, .spread = 20, .slope = 300, .inverse_temperature = 1.3f,
     .hashes = {0x6967B12D86668420, 0x67E18890860EE6A4, 0x2FF9F4270CCA4CB7}},
    {.vocab = 33000, .spread = 100,
     .hashes = {0x84B25AF5D77BCFDA, 0xC28248DF2FD1B543, 0x1039EEEA6082D909}},
    {.vocab = 50257, .spread = 6, .masked = 1,
     .hashes = {0xC604CC24EFC8584E, 0x25749B3243F6C12B, 0x0A8195C7041DD003}},
    {.vocab = 100003, .spread = 9, .slope = -60,
     .hashes = {0xC76B87DE14C5BC1B, 0x435EA3BF84327A6B, 0x47CA234B31E1F05E}},
    {.vocab = 140000, .spread = 4,
     .hashes = {0x4F6E2686F104D9EC, 0x187FE64FB3D52978, 0x6EE2850D742B2156}},
    {.vocab = 9000, .center = 79992, .spread = 9,
     .hashes = {0xE71850FA23B0156A, 0, 0xF92C9E1F319AE4A7}},
    {.vocab = 300, .center = 60000, .spread = 500,
     .hashes = {0xD62CB451F12A5D72, 0, 0xEDCD8DD5921E3921}},
    {.vocab = 300, .center = 2.5e9, .spread = 1e9, .inverse_temperature = 3,
     .hashes = {0xCB31A9304DA187FF, 0, 0x4287377FC0E44061}},
    {.vocab = 300, .center = -1e15, .spread = 1e13,
     .hashes = {0x24E74B7283BC8936, 0, 0x02E715097194A37B}},
    {.vocab = 700, .center = -3.3e38, .slope = -1e36,
     .hashes = {0xB552590C18F7B981, 0, 0x5B8E25DC12A8870A}},
};

enum { BITS_ROWS = 3 };

static void fill_bits_case(const struct cross_entropy_case *c, const struct bits_case *of, struct cross_entropy_inputs *inputs) {
    for (int64_t r = 0; r < BITS_ROWS; r++) {
        const int64_t label = (r * 7919 + 5) % c->vocab;
        cross_entropy_set_label(c, inputs, r, label);
        for (int64_t j = 0; j < c->vocab; j++) {
            const double u = 2 * random_uniform(77, (uint64_t)(r * c->vocab + j)) - 1;
            const double value = of->center + of->spread * u + of->slope * (double)j / (double)c->vocab;
            const bool is_masked = j != label && (j * 5 + r) % 8 < of->masked;
            cross_entropy_set_logit(c, inputs, r, j, is_masked ? (double)-INFINITY : j == label ? value + of->alone : value);
        }
    }
}

/* entropies: NULL without them, else the hash so far. */
static uint64_t hash_of(const struct test_device *device, const struct bits_case *of, quern_dtype logits, int shards,
                        uint64_t *entropies) {
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = logits, .rows = BITS_ROWS, .vocab = of->vocab);
    c.portable = true;
    c.shards = shards, c.split = (uint64_t)of->vocab;
    c.outputs = WANT_LSE | WANT_LOG_PROB | (entropies ? WANT_ENTROPY : 0);
    c.inverse_temperature = of->inverse_temperature;
    c.z_loss = of->center < -1e30 ? 0 : 0x1p-10f;
    OPEN_INPUTS(inputs, &c);
    fill_bits_case(&c, of, &inputs);
    OPEN_OUTPUTS(outputs, device, &c, &inputs);
    cross_entropy_compare(&c, &inputs, &outputs);
    uint64_t hash = fnv1a(14695981039346656037u, outputs.loss, sizeof(float[BITS_ROWS]));
    hash = fnv1a(hash, outputs.lse, sizeof(float[BITS_ROWS]));
    hash = fnv1a(hash, outputs.log_prob, sizeof(float[BITS_ROWS]));
    if (entropies) *entropies = fnv1a(*entropies, outputs.entropy, sizeof(float[BITS_ROWS]));
    return fnv1a(hash, outputs.grad, (size_t)cross_entropy_grad_bytes(&c));
}

/* In one call, and over shards.  A plain kernel has no temperature. */
TEST_PORTABLE_ROWS(cross_entropy_bits, are_the_known_ones) {
    const quern_dtype logits = row->key.cross_entropy.logits;
    if (logits != QUERN_F32 && logits != QUERN_F16 && logits != QUERN_BF16) return;
    for (size_t k = 0; k < COUNT(cases); k++) {
        if ((cases[k].inverse_temperature != 0 && !has_all_options(row)) ||
            (logits == QUERN_F16 && cases[k].center * cases[k].center > 1e9)) continue;
        const uint64_t expected = cases[k].hashes[logits == QUERN_F32 ? 0 : logits == QUERN_F16 ? 1 : 2];
        const int most = (int)(1 + 7 * k % MOST_SHARDS);
        for (int shards = 0; shards <= most; shards += most) {
            const uint64_t hash = hash_of(device, &cases[k], logits, shards, NULL);
            check(hash == expected, "case %zu of %s has 0x%016llX over %d shards", k, quern_dtype_name(logits),
                  (unsigned long long)hash, shards);
        }
    }
}

/* Those of the entropies, whose request leaves the bits of the others. */
TEST_PORTABLE_ROWS(cross_entropy_bits, of_entropies_are_the_known_ones) {
    static const uint64_t expected[] = {0x28937FD013A939AE, 0x9BDC78BF2C98DCD0, 0x6C43E5AC9BAF9406};  /* of f32, f16 and bf16 */
    const quern_dtype logits = row->key.cross_entropy.logits;
    if (!(outputs_of(row) & WANT_ENTROPY) || (logits != QUERN_F32 && logits != QUERN_F16 && logits != QUERN_BF16)) return;
    const int dtype = logits == QUERN_F32 ? 0 : logits == QUERN_F16 ? 1 : 2;
    uint64_t whole = 0, shared = 0;
    for (size_t k = 0; k < COUNT(cases); k++) {
        if (logits == QUERN_F16 && cases[k].center * cases[k].center > 1e9) continue;
        const uint64_t hash = hash_of(device, &cases[k], logits, 0, &whole);
        check(hash == cases[k].hashes[dtype], "case %zu of %s with its entropies has 0x%016llX", k, quern_dtype_name(logits),
              (unsigned long long)hash);
        hash_of(device, &cases[k], logits, (int)(1 + 7 * k % MOST_SHARDS), &shared);
    }
    check(whole == expected[dtype] && shared == whole, "entropies of %s have 0x%016llX, over shards 0x%016llX",
          quern_dtype_name(logits), (unsigned long long)whole, (unsigned long long)shared);
}

/* The case of the library's own. */
Test(cross_entropy_bits, have_a_hash) {
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    uint64_t hash = 0;
    check_ok(quern_portable_hash(device.quern, &hash));
    check(hash == QUERN_PORTABLE_HASH, "0x%016llX", (unsigned long long)hash);
    check_status(quern_portable_hash(device.quern, NULL), QUERN_NULL_POINTER);
    check_status(quern_portable_hash(NULL, &hash), QUERN_NULL_POINTER);
}

Test(cross_entropy_bits, need_a_prepared_device) {
    OPEN_DEVICE(device, NULL);
    uint64_t hash = 7;
    check_status(quern_portable_hash(device.quern, &hash), QUERN_NOT_PREPARED);
    check(hash == 7, "0x%016llX", (unsigned long long)hash);
}

/* ---- what is refused ---- */

static void check_refused_steps(const struct test_device *device, const quern_cross_entropy_args *args, int64_t shards,
                                quern_status expected, const char *detail) {
    _Alignas(64) static char memory[8192];
    quern_cross_entropy_args all = *args;
    all.logits = memory, all.labels = memory + 256;
    all.stats = (quern_row_stats *)(void *)(memory + 512);
    const quern_row_stats *of = (quern_row_stats *)(void *)(memory + 1024);
    if (shards == 1) check_refused(quern_cross_entropy_stats(device->quern, &all, memory + 4096, 4096, NULL), expected, detail);
    check_refused(quern_cross_entropy_combine(device->quern, &all, of, shards, memory + 4096, 4096, NULL), expected, detail);
}

/* Before anything is launched. */
Test(cross_entropy_bits, refuse_what_has_none) {
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    quern_cross_entropy_args args = QUERN_CROSS_ENTROPY_ARGS_INIT;
    args.logits_dtype = QUERN_F32, args.labels_dtype = QUERN_INT64;
    args.bits = QUERN_BITS_PORTABLE, args.rows = 1, args.vocab = 40;
    check_refused_steps(&device, &args, 2, QUERN_INVALID_ARGUMENT, "shard_count is 2 with portable bits and global_vocab == vocab");
    args.global_vocab = 41;
    check_refused_steps(&device, &args, 1, QUERN_NULL_POINTER, "args.nodes is NULL");
    args.global_vocab = (INT64_C(1) << 31) + 1;
    check_refused_steps(&device, &args, 1, QUERN_INVALID_SHAPE, "for a shard with portable bits: expected at most 2147483648");
    args.global_vocab = 0;
    args.softcap = 5;
    check_refused_steps(&device, &args, 1, QUERN_NOT_SUPPORTED, "with a softcap");
    args.softcap = 0, args.grad_entropy = (const float *)(uintptr_t)4096;
    check_refused_steps(&device, &args, 1, QUERN_NOT_SUPPORTED, "with grad_entropy");
}

/* ---- divisions of a call ---- */

static void check_other(const struct test_device *device, const struct cross_entropy_case *c,
                        const struct cross_entropy_inputs *inputs, const struct cross_entropy_outputs *first, const char *what) {
    OPEN_OUTPUTS(other, device, c, inputs);
    cross_entropy_check_same(c, &other, first, what);
}

static void check_threads(const struct test_device *device, struct cross_entropy_case c, const struct cross_entropy_inputs *inputs,
                          const struct cross_entropy_outputs *first) {
    static const int threads[] = {2, 3, 7, 64};
    for (size_t i = 0; i < COUNT(threads); i++) {
        check_ok(quern_set_threads(device->quern, threads[i], NULL, NULL));
        c.shards = i == 2;
        check_other(device, &c, inputs, first, i == 2 ? "three steps" : "other threads");
    }
}

static void check_ways(const struct test_device *device, struct cross_entropy_case c) {
    OPEN_INPUTS(inputs, &c);
    if (device->kind == QUERN_CPU) check_ok(quern_set_threads(device->quern, 1, NULL, NULL));
    OPEN_OUTPUTS(first, device, &c, &inputs);
    cross_entropy_compare(&c, &inputs, &first);
    if (device->kind == QUERN_CPU) check_threads(device, c, &inputs, &first);
    c.later = true;
    check_other(device, &c, &inputs, &first, "a gradient later");
    c.later = false;
    for (int64_t r = 0; r < c.rows; r++) cross_entropy_check_row_alone(device, &c, &inputs, &first, r, r, OUT_OF_PLACE);
}

/* Few rows are divided by their parts among the threads. */
TEST_PORTABLE_ROWS(cross_entropy_bits, are_those_of_every_division) {
    static const int64_t shapes[][2] = {{5, 1}, {5, 33}, {3, 5000}, {2, 3 * QUERN_CPU_PART_COLUMNS + 77}, {1, 300007}};
    for (size_t i = 0; i < COUNT(shapes); i++) {
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = row->key.cross_entropy.logits, .rows = shapes[i][0],
                                                         .vocab = shapes[i][1], .spread = i % 2 ? 40 : 4, .portable = true);
        c.outputs = outputs_of(row);
        c.has_temperatures = has_all_options(row);
        check_ways(device, c);
    }
}

/* ---- shards ---- */

/* Random cuts at any columns, most of them within a unit. */
static void check_cuts(const struct test_device *device, struct cross_entropy_case c, int cuts) {
    OPEN_INPUTS(inputs, &c);
    OPEN_OUTPUTS(whole, device, &c, &inputs);
    cross_entropy_compare(&c, &inputs, &whole);
    for (int i = 0; i < cuts; i++) {
        c.shards = 1 + (i * 5 + 1) % MOST_SHARDS, c.split = (uint64_t)i + 1;
        check_other(device, &c, &inputs, &whole, "shards");
    }
}

TEST_PORTABLE_ROWS(cross_entropy_bits, are_those_of_shards_cut_anywhere) {
    static const int64_t vocabs[] = {2, 31, 40, 70, 1000, 8193, 33000, QUERN_CPU_PART_COLUMNS + 40, 2 * QUERN_CPU_PART_COLUMNS + 5};
    for (size_t i = 0; i < COUNT(vocabs); i++) {
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = row->key.cross_entropy.logits, .rows = 5, .seed = i,
                                                         .vocab = vocabs[i], .spread = i % 2 ? 40 : 4, .portable = true);
        c.outputs = outputs_of(row);
        c.has_temperatures = has_all_options(row) && i % 3 == 0;
        c.ignored_every = i == 4 ? 2 : 0;
        check_cuts(device, c, vocabs[i] < 10000 ? 16 : 5);
    }
}

/* ---- nodes that are wrong ---- */

enum { TORN_ROWS = 40, TORN_VOCAB = 75, TORN_SHARDS = 3 };

/* Shards of 25 columns each, in one origin's order, and the loss of their combination. */
struct torn {
    const struct test_device *device;
    struct buffer logits, labels, stats, nodes, loss, workspace;
    quern_row_stats right_stats[TORN_SHARDS * TORN_ROWS];
    quern_row_nodes right_nodes[TORN_SHARDS * TORN_ROWS];
    quern_cross_entropy_args args;
};

static void open_torn(struct torn *torn, const struct test_device *device) {
    float logits[TORN_ROWS * TORN_VOCAB];
    int32_t labels[TORN_ROWS];
    for (size_t i = 0; i < COUNT(logits); i++) logits[i] = (float)(8 * random_uniform(3, i) - 4);
    for (int r = 0; r < TORN_ROWS; r++) labels[r] = r;
    torn->device = device;
    buffer_open(&torn->logits, device, sizeof logits, 0, logits);
    buffer_open(&torn->labels, device, sizeof labels, 0, labels);
    buffer_open(&torn->stats, device, sizeof torn->right_stats, 0, NULL);
    buffer_open(&torn->nodes, device, sizeof torn->right_nodes, 0, NULL);
    buffer_open(&torn->loss, device, sizeof(float[TORN_ROWS]), 0, NULL);
    torn->args = (quern_cross_entropy_args)CROSS_ENTROPY_ARGS(.logits_dtype = QUERN_F32, .labels_dtype = QUERN_INT32,
                                                              .rows = TORN_ROWS, .vocab = TORN_VOCAB / TORN_SHARDS,
                                                              .labels = torn->labels.data, .loss = torn->loss.data);
    torn->args.global_vocab = torn->args.logits_stride = TORN_VOCAB, torn->args.bits = QUERN_BITS_PORTABLE;
    torn->args.logits = torn->logits.data, torn->args.stats = torn->stats.data, torn->args.nodes = torn->nodes.data;
    size_t bytes;
    check_ok(quern_cross_entropy_workspace(device->quern, &torn->args, &bytes));
    buffer_open(&torn->workspace, device, bytes, 0, NULL);
}

static void close_torn(struct torn *torn) {
    struct buffer *all[] = {&torn->logits, &torn->labels, &torn->stats, &torn->nodes, &torn->loss, &torn->workspace};
    for (size_t i = 0; i < COUNT(all); i++) buffer_close(all[i]);
}

static void sum_torn(struct torn *torn) {
    for (int s = 0; s < TORN_SHARDS; s++) {
        quern_cross_entropy_args args = torn->args;
        args.first_column = s * args.vocab, args.logits = (const float *)args.logits + args.first_column;
        args.stats += s * TORN_ROWS, args.nodes += s * TORN_ROWS;
        check_ok(quern_cross_entropy_stats(torn->device->quern, &args, torn->workspace.data, torn->workspace.bytes,
                                           torn->device->stream));
    }
    memcpy(torn->right_stats, buffer_read(&torn->stats), sizeof torn->right_stats);
    memcpy(torn->right_nodes, buffer_read(&torn->nodes), sizeof torn->right_nodes);
}

/* Combines the first shards of what is given here; returns how many losses are numbers. */
static int combine_torn(struct torn *torn, const quern_row_stats *stats, const quern_row_nodes *nodes, int shards) {
    quern_cross_entropy_args args = torn->args;
    args.stats = NULL;
    buffer_write(&torn->stats, stats);
    buffer_write(&torn->nodes, nodes);
    check_ok(quern_cross_entropy_combine(torn->device->quern, &args, torn->stats.data, shards, torn->workspace.data,
                                         torn->workspace.bytes, torn->device->stream));
    const float *loss = buffer_read(&torn->loss);
    int numbers = 0;
    for (int r = 0; r < TORN_ROWS; r++) numbers += isfinite(loss[r]);
    return numbers;
}

static void check_torn_order(struct torn *torn) {
    quern_row_stats stats[TORN_SHARDS * TORN_ROWS];
    quern_row_nodes nodes[TORN_SHARDS * TORN_ROWS];
    for (int s = 0; s < TORN_SHARDS; s++) {
        const int from = (s + 1) % TORN_SHARDS * TORN_ROWS;
        memcpy(stats + s * TORN_ROWS, torn->right_stats + from, sizeof *stats * TORN_ROWS);
        memcpy(nodes + s * TORN_ROWS, torn->right_nodes + from, sizeof *nodes * TORN_ROWS);
    }
    const int moved = combine_torn(torn, stats, nodes, TORN_SHARDS);
    check(!moved, "%d rows have a loss although their shards are in another order", moved);
}

/* Any bytes, some of them of right nodes. */
static void check_torn_bytes(struct torn *torn, uint64_t seed) {
    quern_row_stats stats[TORN_SHARDS * TORN_ROWS];
    quern_row_nodes nodes[TORN_SHARDS * TORN_ROWS];
    memcpy(stats, torn->right_stats, sizeof stats);
    memcpy(nodes, torn->right_nodes, sizeof nodes);
    uint32_t *words = (uint32_t *)(void *)nodes;
    for (size_t i = 0; i < sizeof nodes / (sizeof *words); i++) {
        const uint64_t bits = random_bits(seed, i);
        if (bits % 4 == 0) words[i] = (uint32_t)(bits >> 32);
        else if (bits % 4 == 1) words[i] = 0xBF800000u >> (bits >> 8) % 2 * 2;
    }
    for (int i = 0; i < TORN_SHARDS * TORN_ROWS; i++) {
        const uint64_t bits = random_bits(seed + 1, (uint64_t)i);
        if (bits % 3 == 0) memcpy(&stats[i].origin, &bits, sizeof bits);
    }
    combine_torn(torn, stats, nodes, TORN_SHARDS);
}

Test(cross_entropy_bits, of_wrong_nodes_are_nan) {
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    static struct torn torn;
    open_torn(&torn, &device);
    sum_torn(&torn);
    const int right = combine_torn(&torn, torn.right_stats, torn.right_nodes, TORN_SHARDS);
    check(right == TORN_ROWS, "%d of %d losses", right, TORN_ROWS);
    for (int shards = 1; shards < TORN_SHARDS; shards++) {
        const int numbers = combine_torn(&torn, torn.right_stats, torn.right_nodes, shards);
        check(!numbers, "%d rows have a loss of %d shards", numbers, shards);
    }
    check_torn_order(&torn);
    for (uint64_t seed = 0; seed < 20; seed++) check_torn_bytes(&torn, 2 * seed);
    close_torn(&torn);
}
