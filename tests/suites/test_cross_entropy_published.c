/*
 * The shapes and options of other projects' cross-entropy tests, under stricter tolerances (oracle/cross_entropy.c): theirs are
 * absolute ones that a gradient of zero outside the label's column would pass.  Rows are left out to bound the time; the vocab
 * sizes are the original ones.
 *
 * Runs on: cpu, emulated, gpu; kernels of cross_entropy.
 */
#include "harness/check.h"
#include "harness/cross_entropy_case.h"

enum { F32 = 1, F16 = 2, BF16 = 4, EACH = F32 | F16 | BF16 };

struct published {
    const char *whose;
    unsigned dtypes;
    int64_t rows, vocab;
    quern_reduction reduction;
    enum placement placement;
    int64_t ignore_index, ignored_every;
    float label_smoothing, z_loss, softcap;
    bool has_weights;
    int shards;  /* 0: the vocab is not split into shards */
};

#define NONE QUERN_REDUCTION_NONE
#define SUM QUERN_REDUCTION_SUM
#define MEAN QUERN_REDUCTION_MEAN

static const struct published published[] = {
    /*
     * TransformerEngine, test_parallel_cross_entropy.py: 64,000 or 128,000 columns, smoothing, z-loss, ignored rows, mean or
     * none.
     */
    {"TransformerEngine", F32 | BF16, 128, 64000, MEAN, IN_PLACE, -100, 0, 0, 0, 0, false, 0},
    {"TransformerEngine", F32 | BF16, 256, 128000, MEAN, IN_PLACE, -100, 0, 0.1f, 0, 0, false, 2},
    {"TransformerEngine", F32 | BF16, 64, 128000, NONE, IN_PLACE, -100, 25, 0, 0, 0, false, 4},
    {"TransformerEngine", F32 | BF16, 128, 64000, MEAN, IN_PLACE, -100, 25, 0, 1e-3f, 0, false, 0},
    {"TransformerEngine", F32 | BF16, 128, 64000, NONE, IN_PLACE, -100, 0, 0.1f, 1e-3f, 0, false, 0},
    /* Liger-Kernel, test_cross_entropy.py: (2, 4096, 32000) and (3, 423, 32000), every option alone and several at once. */
    {"Liger", F32 | BF16, 8192, 32000, SUM, IN_PLACE, -100, 0, 0, 0, 0, false, 0},
    {"Liger", F32 | BF16, 1269, 32000, MEAN, IN_PLACE, 0, 3, 0, 0, 0, false, 0},
    {"Liger", F32 | BF16, 1269, 32000, MEAN, IN_PLACE, 2, 4, 0.1f, 0, 0, false, 0},
    {"Liger", F32 | BF16, 1269, 32000, MEAN, IN_PLACE, -100, 0, 0, 1e-4f, 0, false, 0},
    {"Liger", F32 | BF16, 1269, 32000, MEAN, IN_PLACE, -100, 0, 0, 0, 30, false, 0},
    {"Liger", F32 | BF16, 1269, 32000, SUM, IN_PLACE, -100, 0, 0, 0, 40, false, 0},
    {"Liger", F32 | BF16, 1269, 32000, MEAN, IN_PLACE, -100, 0, 0, 0, 0, true, 0},
    {"Liger", F32 | BF16, 1269, 32000, NONE, IN_PLACE, -100, 0, 0.1f, 0, 0, true, 0},
    {"Liger", F32 | BF16, 1269, 32000, MEAN, IN_PLACE, 42, 4, 0.1f, 1e-4f, 0, false, 0},
    {"Liger", F32 | BF16, 1269, 32000, SUM, IN_PLACE, -42, 4, 0.2f, 1e-5f, 0, false, 0},
    {"Liger", F32 | BF16, 1269, 32000, SUM, IN_PLACE, 0, 4, 0.2f, 1e-5f, 30, true, 8},
    /* flash-attention, test_cross_entropy.py: 1024 rows, 50,257 columns and more than 65,536, smoothing 0.9, z-loss 0.01. */
    {"flash-attention", EACH, 1024, 50257, MEAN, OUT_OF_PLACE, -100, 0, 0, 0, 0, false, 0},
    {"flash-attention", EACH, 1024, 50257, MEAN, IN_PLACE, -100, 3, 0.9f, 0, 0, false, 0},
    {"flash-attention", EACH, 1024, 50257, MEAN, OUT_OF_PLACE, -100, 0, 0, 1e-2f, 0, false, 0},
    {"flash-attention", EACH, 1024, 50257, MEAN, IN_PLACE, -100, 3, 0.9f, 1e-2f, 0, false, 2},
    {"flash-attention", EACH, 1024, 128256, MEAN, IN_PLACE, -100, 0, 0, 0, 0, false, 0},
    {"flash-attention", EACH, 1024, 128256, MEAN, OUT_OF_PLACE, -100, 3, 0.9f, 0, 0, false, 0},
    {"flash-attention", EACH, 1024, 128256, MEAN, IN_PLACE, -100, 0, 0, 1e-2f, 0, false, 4},
    {"flash-attention", EACH, 1024, 128256, MEAN, OUT_OF_PLACE, -100, 3, 0.9f, 1e-2f, 0, false, 8},
    /* quack, test_cross_entropy.py: 1, 77 or 289 rows of 192 to 262,144 columns, small logits, an upstream gradient per row. */
    {"quack", EACH, 1, 192, NONE, OUT_OF_PLACE, -100, 0, 0, 0, 0, false, 0},
    {"quack", EACH, 77, 192, NONE, IN_PLACE, -100, 3, 0, 0, 0, false, 0},
    {"quack", EACH, 289, 192, NONE, OUT_OF_PLACE, -100, 3, 0, 0, 0, false, 0},
    {"quack", EACH, 77, 668, NONE, IN_PLACE, -100, 3, 0, 0, 0, false, 0},
    {"quack", EACH, 289, 668, NONE, OUT_OF_PLACE, -100, 3, 0, 0, 0, false, 0},
    {"quack", EACH, 77, 1024, NONE, IN_PLACE, -100, 3, 0, 0, 0, false, 0},
    {"quack", EACH, 289, 1128, NONE, OUT_OF_PLACE, -100, 3, 0, 0, 0, false, 0},
    {"quack", EACH, 77, 4096, NONE, IN_PLACE, -100, 3, 0, 0, 0, true, 0},
    {"quack", EACH, 77, 32768, NONE, OUT_OF_PLACE, -100, 3, 0, 0, 0, false, 0},
    {"quack", EACH, 289, 128256, NONE, IN_PLACE, -100, 3, 0, 0, 0, false, 0},
    {"quack", EACH, 77, 262144, NONE, OUT_OF_PLACE, -100, 3, 0, 0, 0, false, 0},
    /* PyTorch, the smallest of its shapes: every reduction with weights, smoothing, and ignored rows. */
    {"PyTorch", EACH, 15, 4, MEAN, OUT_OF_PLACE, 1, 3, 0.05f, 0, 0, true, 0},
    {"PyTorch", EACH, 15, 4, SUM, OUT_OF_PLACE, 1, 3, 0.15f, 0, 0, true, 0},
    {"PyTorch", EACH, 15, 4, NONE, OUT_OF_PLACE, 1, 3, 0.15f, 0, 0, false, 0},
    {"PyTorch", EACH, 5, 3, NONE, OUT_OF_PLACE, -100, 0, 1, 0, 0, false, 0},
    {"PyTorch", EACH, 5, 3, MEAN, OUT_OF_PLACE, -100, 0, 0.5f, 0, 0, true, 0},
    {"PyTorch", EACH, 10, 20, SUM, NO_GRAD, 0, 2, 0, 0, 0, true, 0},
    {"PyTorch", EACH, 128, 1000, MEAN, OUT_OF_PLACE, -100, 0, 0.1f, 0, 0, false, 0},
};

static bool needs_full(const struct published *p) { return p->label_smoothing != 0 || p->softcap != 0 || p->has_weights; }

static bool is_for(const struct published *p, const struct quern_kernel *row) {
    const quern_dtype logits = row->key.cross_entropy.logits;
    const unsigned bit = logits == QUERN_F32 ? F32 : logits == QUERN_F16 ? F16 : logits == QUERN_BF16 ? BF16 : 0;
    return p->dtypes & bit && (row->key.cross_entropy.full || !needs_full(p))
        && p->vocab <= row->key.cross_entropy.vocab_max;
}

/* Normal logits; each row has its own loss and an upstream gradient a tenth as large, as in quack. */
static void check_published(const struct test_device *device, const struct quern_kernel *row, const struct published *p,
                            uint64_t seed) {
    const int64_t most = test_size(300000, 40000) / p->vocab;
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(
        .logits_dtype = row->key.cross_entropy.logits, .rows = p->rows < most ? p->rows : most > 1 ? most : 1, .vocab = p->vocab,
        .reduction = p->reduction, .placement = p->placement, .ignore_index = p->ignore_index, .ignored_every = p->ignored_every,
        .label_smoothing = p->label_smoothing, .z_loss = p->z_loss, .softcap = p->softcap, .has_weights = p->has_weights,
        .shards = p->shards, .split = seed, .outputs = WANT_LSE,
        .spread = p->reduction == NONE ? 0.1 : 1, .has_upstream = p->reduction == NONE, .seed = seed);
    cross_entropy_check_case(device, &c);
}

Test(cross_entropy_published, everyones_shapes_and_options) {
    int place = 0;
    for (const struct quern_kernel *row = next_cross_entropy_row(NULL); row; row = next_cross_entropy_row(row), place++) {
        OPEN_ROW(device, row);
        for (size_t i = 0; i < COUNT(published); i++) {
            /* On the emulator the rows of the table share the cases. */
            if (!is_for(&published[i], row) || (test_is_small() && (int)i % 4 != place % 4)) continue;
            check_published(&device, row, &published[i], i + 1);
        }
    }
}
