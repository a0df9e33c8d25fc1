/*
 * How many kernels a call launches on a GPU, and with how many blocks: as many as there is work for, and no more than the device
 * holds at once where blocks take further work.  Wrong numbers give the same results, only later.
 *
 * Runs on: one emulated.
 */
#include "harness/adam_case.h"
#include "harness/cross_entropy_case.h"
#include "harness/cuda.h"
#include "kernels/gradient_norm_finish.h"
#include "kernels/problem.h"

struct launched {
    long long launches, blocks, early;
};

static struct launched begin(const struct test_device *device) {
    device_synchronize(device);
    return (struct launched){cuda_launches(), cuda_blocks(), cuda_early_launches()};
}

static struct launched since(const struct test_device *device, struct launched before) {
    device_synchronize(device);
    return (struct launched){cuda_launches() - before.launches, cuda_blocks() - before.blocks,
                             cuda_early_launches() - before.early};
}

static void check_launched(struct launched got, long long launches, long long blocks, const char *what) {
    check(got.launches == launches && got.blocks == blocks, "%s: %lld launches of %lld blocks, not %lld of %lld", what,
          got.launches, got.blocks, launches, blocks);
}

static int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* ---- cross-entropy ---- */

static int64_t parts_of(const struct cross_entropy_case *c, int64_t columns) {
    return divide_up(columns, QUERN_GPU_PART_BYTES / (int64_t)quern_dtype_bytes(c->logits_dtype));
}

/* The rows that a block of the combine stage takes: one for each warp. */
static int64_t combined_rows(void) {
    const struct quern_kernel *row = next_row(quern_cross_entropy_kernels, NULL);
    while (row && row->key.cross_entropy.stage != QUERN_STAGE_COMBINE) row = next_row(quern_cross_entropy_kernels, row);
    check(row, "%s has no combine stage", test_target());
    return row->cuda.threads / 32;
}

static struct launched launched_by(const struct test_device *device, const struct cross_entropy_case *c) {
    OPEN_INPUTS(inputs, c);
    const struct launched before = begin(device);
    OPEN_OUTPUTS(outputs, device, c, &inputs);
    return since(device, before);
}

/* The kernel of whole rows that a call gets. */
static const struct quern_kernel *chosen_for(const struct test_device *device, const struct cross_entropy_case *c) {
    const quern_cross_entropy_args args = cross_entropy_args_of(c);
    static char text[1 << 14];
    quern_cross_entropy_explain(device->quern, &args, text, sizeof text);
    const struct quern_kernel *row = next_cross_entropy_row(NULL);
    for (; row; row = next_cross_entropy_row(row)) {
        char chosen[160];
        snprintf(chosen, sizeof chosen, "%s: chosen", row->name);
        if (strstr(text, chosen)) break;
    }
    check(row, "no kernel is chosen: %s", text);
    return row;
}

/* A block has 1 KiB more than it asks for. */
enum { OWN = 1024 };

/* The shared memory of each of the blocks that share a row. */
static int64_t shared_of(const struct quern_kernel *row, const struct cross_entropy_case *c, int64_t blocks) {
    const int64_t vector = row->cuda.elements;
    if (!vector) return row->cuda.shared_fixed + row->cuda.shared_per_part * divide_up(parts_of(c, c->vocab), blocks);
    return row->cuda.shared_fixed + row->cuda.shared_per_column * divide_up(divide_up(c->vocab, vector), blocks) * vector;
}

/*
 * A block of one warp takes four rows of the same alignment: of bf16 logits every eighth.  Other blocks or clusters take one row.
 */
static int64_t turns_of(const struct quern_kernel *row, const struct cross_entropy_case *c) {
    int64_t turns = 0;
    for (int64_t i = 0; i < c->rows; i++) turns += row->cuda.threads > 32 || i / row->cuda.elements % 4 == 0;
    return turns;
}

/*
 * The turns that the device takes at once, of a kernel whose blocks take them: at most 5 blocks on a multiprocessor, 4 with all
 * options, or 16 of one warp.
 */
static int64_t most_rows(const struct quern_kernel *row, const struct cross_entropy_case *c, const quern_device_info *info,
                         int64_t cluster) {
    if (!row->cuda.elements) return c->rows;
    const int64_t fit = (info->shared_bytes + OWN) / (shared_of(row, c, cluster) + OWN), turns = turns_of(row, c);
    const int64_t most = row->key.cross_entropy.full ? 4 : row->cuda.threads > 32 ? 5 : 16;
    const int64_t held = info->multiprocessors * (fit < most ? fit : most) / cluster;
    return held < 1 ? 1 : held < turns ? held : turns;
}

/* The blocks of the rows count the labels and sum the losses as well. */
Test(launches, whole_rows) {
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    const quern_device_info info = info_of(device.quern);
    for (int i = 0; i < 24; i++) {
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = QUERN_BF16, .vocab = 33,
                                                         .rows = i % 5 ? 11 * (i % 5) : 330,
                                                         .reduction = (quern_reduction)(i % 3), .no_report = i / 3 % 2,
                                                         .no_loss = i / 6 % 2, .placement = i / 12 ? NO_GRAD : IN_PLACE);
        const int64_t blocks = most_rows(chosen_for(&device, &c), &c, &info, 1);
        check_launched(launched_by(&device, &c), 1, blocks, cross_entropy_describe(&c));
    }
}

/*
 * All blocks count labels, and none waits for another one's: its first sums do not, and a label that is missing behind them is
 * counted once more.  On the emulator the blocks of this order take turns at random places.
 */
static void check_no_waits(const struct test_device *device, const struct quern_kernel *row) {
    if (!row->cuda.elements || row->key.cross_entropy.full) return;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = row->key.cross_entropy.logits, .rows = 40, .vocab = 33,
                                                         .ignored_every = 4, .reduction = (quern_reduction)(2 * seed % 3),
                                                         .seed = seed);
        const long long before = cuda_waits();
        launched_by(device, &c);
        check(cuda_waits() == before, "%s: threads have waited %lld times: %s", row->name, cuda_waits() - before,
              cross_entropy_describe(&c));
    }
}

Test(launches, no_block_waits_for_another) {
    setenv("QUERN_EMULATOR_ORDER", "random:7", 1);
    for_each_cross_entropy_row(check_no_waits);
}

/*
 * Each slice of 512 labels is counted before the blocks that have it end their rows: without a gradient only the block that ends
 * last looks at the words, and finds all of them at once.
 */
static void check_slices(const struct test_device *device, const struct quern_kernel *row) {
    if (!row->cuda.elements || row->key.cross_entropy.full) return;
    static const int64_t counts[] = {1, 512, 513, 3000};
    for (size_t i = 0; i < COUNT(counts); i++) {
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = row->key.cross_entropy.logits,
                                                         .rows = counts[i], .vocab = 1, .placement = NO_GRAD,
                                                         .reduction = i % 2 ? QUERN_REDUCTION_MEAN : QUERN_REDUCTION_NONE);
        const long long before = cuda_looks(), slices = divide_up(c.rows, 512);
        launched_by(device, &c);
        check(cuda_looks() - before == slices, "%s: %lld looks at %lld words: %s", row->name, cuda_looks() - before, slices,
              cross_entropy_describe(&c));
    }
}

Test(launches, all_blocks_count_labels) {
    for_each_cross_entropy_row(check_slices);
}

/*
 * Of so many rows that a warp would get a third chunk of 1024 losses, they are summed by a launch of its own, for a sum or a
 * mean.  The blocks of the rows count the labels, for a mean or a report, of any number of rows.  Full kernels never do either,
 * nor does a call without rows.
 */
static void check_many_rows(const struct test_device *device, const struct quern_kernel *row) {
    if (row->key.cross_entropy.logits != QUERN_F32 || row->cuda.threads == 256) return;  /* so many warps take long */
    const bool serves_call = row->cuda.elements && !row->key.cross_entropy.full;
    const int64_t most = serves_call ? row->cuda.threads / 32 * 2 * 1024 : 0;
    for (int i = 0; i < 4; i++) {
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = QUERN_F32, .vocab = 1, .rows = most + (i > 0),
                                                         .placement = NO_GRAD, .no_report = i % 2,
                                                         .reduction = (quern_reduction)(2 - i % 3),
                                                         .softcap = row->key.cross_entropy.full ? 20 : 0);
        const bool counts = c.reduction == QUERN_REDUCTION_MEAN || !c.no_report, sums = c.reduction;
        const int further = serves_call ? c.rows > most && sums : counts + sums;
        const long long launches = launched_by(device, &c).launches, expected = (c.rows > 0) + (c.rows ? further : counts + sums);
        check(launches == expected, "%s: %lld launches, not %lld: %s", row->name, launches, expected, cross_entropy_describe(&c));
    }
}

Test(launches, many_rows) {
    setenv("QUERN_EMULATOR_SMS", "64", 1);
    for_each_cross_entropy_row(check_many_rows);
}

/* Rows of up to 6 KiB are short: several have one block. */
Test(launches, short_rows) {
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    const quern_device_info info = info_of(device.quern);
    static const int64_t rows[] = {1, 8, 9, 37};
    for (size_t i = 0; i < 2 * COUNT(rows); i++) {
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = QUERN_BF16, .rows = rows[i / 2],
                                                         .vocab = i % 2 ? 3073 : 3072, .no_report = true);
        const struct quern_kernel *row = chosen_for(&device, &c);
        check((row->cuda.threads == 32) == (i % 2 == 0), "%s is chosen for %lld columns", row->name, (long long)c.vocab);
        check_launched(launched_by(&device, &c), 1, most_rows(row, &c, &info, 1), cross_entropy_describe(&c));
    }
}

/*
 * Few long rows, which would leave half of the multiprocessors idle: a block for each part, twice with a gradient.  A kernel whose
 * blocks take rows in turns sums columns in another order than parts, so its calls are not split.
 */
static void check_split(const struct test_device *device, int64_t vocab, bool full) {
    enum { MULTIPROCESSORS = 32 };
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = QUERN_BF16, .rows = MULTIPROCESSORS, .vocab = vocab,
                                                     .placement = NO_GRAD, .no_report = true, .softcap = full ? 20 : 0);
    const struct quern_kernel *row = chosen_for(device, &c);
    check(full == row->key.cross_entropy.full, "%s is chosen", row->name);
    const struct launched whole = launched_by(device, &c);
    check(whole.launches == 1 && whole.blocks % c.rows == 0, "%lld launches of %lld blocks", whole.launches, whole.blocks);
    const int64_t each = whole.blocks / c.rows, enough = divide_up(MULTIPROCESSORS, 2 * each);
    const int64_t rows[] = {1, enough - 1, enough};
    for (size_t i = 0; i < 2 * COUNT(rows); i++) {
        const bool has_grad = i % 2, splits = rows[i / 2] < enough && parts_of(&c, c.vocab) > 1 && !row->cuda.elements;
        c.rows = rows[i / 2], c.placement = has_grad ? IN_PLACE : NO_GRAD;
        const int64_t parts = c.rows * parts_of(&c, c.vocab), combine = divide_up(c.rows, combined_rows());
        check_launched(launched_by(device, &c), splits ? 2 + has_grad : 1,
                       splits ? (1 + has_grad) * parts + combine : c.rows * each, cross_entropy_describe(&c));
    }
}

Test(launches, split_rows) {
    setenv("QUERN_EMULATOR_SMS", "32", 1);
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    static const int64_t vocabs[] = {16384, 16385, 40000};
    for (size_t i = 0; i < 2 * COUNT(vocabs); i++) check_split(&device, vocabs[i / 2], i % 2);
}

/* The three steps over shards. */
Test(launches, steps_of_cross_entropy) {
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    const int64_t each = combined_rows(), counts[] = {1, each, each + 1, 3 * each};
    for (size_t i = 0; i < 3 * COUNT(counts); i++) {
        struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = QUERN_F32, .rows = counts[i / 3], .vocab = 20,
                                                         .reduction = (quern_reduction)(i % 3), .shards = 2, .split = 4,
                                                         .no_report = i % 2);
        const bool mean = c.reduction == QUERN_REDUCTION_MEAN, tells = mean || !c.no_report;
        const int64_t combine = divide_up(c.rows, each);
        const int further = tells + (c.reduction != QUERN_REDUCTION_NONE);
        /* For each of two shards: stats and their combination, the combination of all as each rank does it, the gradient. */
        const long long launches = 2 * (2 + 1 + further + 1 + mean), blocks = c.rows + combine + combine + further + c.rows + mean;
        check_launched(launched_by(&device, &c), launches, 2 * blocks, cross_entropy_describe(&c));
    }
}

/*
 * From sm_90 on each kernel but the first of a call starts before the one before it has ended: labels, rows and reduce; with few
 * long rows stats, combine and gradient in place of the rows.  steps: the calls that a case takes.
 */
static void check_overlap(const struct test_device *device, const struct cross_entropy_case *c, long long launches, int steps) {
    const struct quern_kernel *row = next_cross_entropy_row(NULL);
    const bool waits = row->target.cc_min >= 90;
    const struct launched got = launched_by(device, c);
    check(got.launches == launches, "%lld launches, not %lld: %s", got.launches, launches, cross_entropy_describe(c));
    check(got.early == (waits ? launches - steps : 0), "%s: %lld of %lld launches overlap: %s", row->target.name, got.early,
          launches, cross_entropy_describe(c));
}

Test(launches, kernels_of_a_call_overlap) {
    setenv("QUERN_EMULATOR_SMS", "32", 1);
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = QUERN_BF16, .rows = 70, .vocab = 333, .placement = IN_PLACE,
                                                     .reduction = QUERN_REDUCTION_MEAN);
    check_overlap(&device, &c, 1, 1);
    c.softcap = 20;
    check_overlap(&device, &c, 3, 1);
    c.rows = 2, c.vocab = 40000;
    const struct quern_kernel *row = chosen_for(&device, &c);
    check_overlap(&device, &c, row->cuda.elements ? 3 : 5, 1);
    c.vocab = 33, c.shards = 2;
    check_overlap(&device, &c, 2 * (2 + 3 + 2), 2 * 3);
}

static const int64_t parts_of_clusters[] = {3, 6, 7, 12, 13, 25, 40};

static struct cross_entropy_case case_of_cluster(const struct quern_kernel *row, int64_t parts) {
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = row->key.cross_entropy.logits, .rows = 2,
                                                     .placement = NO_GRAD, .no_report = true,
                                                     .softcap = row->key.cross_entropy.full ? 20 : 0);
    c.vocab = parts * QUERN_GPU_PART_BYTES / (int64_t)quern_dtype_bytes(c.logits_dtype);
    if (c.vocab > row->key.cross_entropy.vocab_max) c.vocab = row->key.cross_entropy.vocab_max;
    return c;
}

/*
 * A row that a cluster keeps in shared memory takes the fewest blocks of which two fit on a multiprocessor, else the fewest that
 * hold it.  room: the most blocks of a cluster that have room on the device.
 */
static int check_cluster_in(const struct test_device *device, const struct quern_kernel *row, int64_t room) {
    const quern_device_info info = info_of(device->quern);
    int served = 0;
    for (size_t i = 0; i < COUNT(parts_of_clusters); i++) {
        const struct cross_entropy_case c = case_of_cluster(row, parts_of_clusters[i]);
        if (chosen_for(device, &c) != row) continue;  /* shorter rows have another kernel */
        int64_t paired = 0, alone = 0;
        for (int64_t blocks = room < row->cuda.cluster ? room : row->cuda.cluster; blocks >= (row->cuda.elements ? 1 : 2);
             blocks /= 2) {
            const int64_t bytes = shared_of(row, &c, blocks);
            if (2 * (bytes + OWN) <= info.shared_bytes + OWN) paired = blocks;
            if (bytes <= info.shared_bytes) alone = blocks;
        }
        const int64_t blocks = paired ? paired : alone;
        check(blocks, "%s serves without room for it", row->name);
        check_launched(launched_by(device, &c), 1, most_rows(row, &c, &info, blocks) * blocks, cross_entropy_describe(&c));
        served++;
    }
    return served;
}

static bool is_of_clusters(const struct quern_kernel *row) {
    return row->key.cross_entropy.logits == QUERN_F32 && row->cuda.cluster;
}

TEST_CROSS_ENTROPY_ROWS(launches, blocks_of_a_cluster) { if (is_of_clusters(row)) check_cluster_in(device, row, INT64_MAX); }

/*
 * A part of a GPU, where large clusters have no room and their launches fail: smaller ones serve as far as they hold the row, then
 * a kernel that reads it twice.  The explanation says why.
 */
static void check_room(const struct quern_kernel *row, int room) {
    char text[40];
    snprintf(text, sizeof text, "%d", room);
    setenv("QUERN_EMULATOR_CLUSTER", text, 1);
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    const int64_t blocks = room > 1 ? room : 1;
    const int served = check_cluster_in(&device, row, blocks);
    struct cross_entropy_case longest = case_of_cluster(row, parts_of_clusters[COUNT(parts_of_clusters) - 1]);
    longest.vocab -= 5, longest.placement = IN_PLACE;
    const quern_device_info info = info_of(device.quern);
    const bool holds = (row->cuda.elements || room > 1) && shared_of(row, &longest, blocks) <= info.shared_bytes;
    check(served == (int)COUNT(parts_of_clusters) || !holds || row->key.cross_entropy.full,
          "%s serves %d lengths in clusters of %d", row->name, served, room);
    check(served || room < 2, "%s serves no length in clusters of %d", row->name, room);
    cross_entropy_check_case(&device, &longest);
    const quern_cross_entropy_args args = cross_entropy_args_of(&longest);
    static char walk[1 << 14];
    quern_cross_entropy_explain(device.quern, &args, walk, sizeof walk);
    snprintf(text, sizeof text, "%d blocks has room", (int)(2 * blocks));
    check(holds ? !strstr(walk, "has room") : strstr(walk, text) && strstr(walk, "streamed"), "room for %d blocks:\n%s",
          room, walk);
}

Test(launches, clusters_without_room) {
    static const int rooms[] = {8, 4, 2, 1, 0};
    for (const struct quern_kernel *row = next_cross_entropy_row(NULL); row; row = next_cross_entropy_row(row))
        for (size_t i = 0; i < COUNT(rooms); i++)
            if (is_of_clusters(row)) check_room(row, rooms[i]);
}

/* ---- Adam ---- */

/* The blocks of a step over one tensor of so many tiles. */
static struct launched step_of(const struct test_device *device, int64_t tiles, bool with_plan) {
    const struct quern_kernel *row = find_adam_row(QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, false);
    const quern_adam_args args = adam_args_of(row);
    const int64_t counts[] = {0, tiles ? (tiles - 1) * QUERN_LIST_TILE + 1 : 0};
    struct adam_session session CLOSED_BY(adam_session_close);
    OPEN_ADAM(problem, &args, counts, COUNT(counts));
    problem.with_plan = with_plan;
    adam_session_open(&session, device, &problem);
    const struct launched before = begin(device);
    check_ok(adam_session_step(&session));
    return since(device, before);
}

/* A norm has a block for each tile or as many as the device holds, and one block that adds the sums of few tiles. */
static struct launched norm_of(const struct test_device *device, int64_t tiles) {
    const int64_t count = tiles ? (tiles - 1) * QUERN_LIST_TILE + 1 : 0;
    size_t bytes;
    OPEN_BUFFER(grad, device, (size_t)count * 2 + 2, 0, NULL);
    OPEN_BUFFER(norm, device, sizeof(float), 0, NULL);
    const quern_gradient gradient = {grad.data, NULL, count};
    quern_gradient_norm_args args = QUERN_GRADIENT_NORM_ARGS_INIT;
    args.grad_dtype = QUERN_BF16, args.gradients = &gradient, args.gradient_count = 1, args.norm = norm.data;
    check_ok(quern_gradient_norm_workspace(device->quern, &args, &bytes));
    check(bytes == sizeof(double) * (size_t)(tiles + divide_up(tiles, QUERN_GRADIENT_NORM_PART)), "%lld tiles need %zu bytes",
          (long long)tiles, bytes);
    OPEN_BUFFER(workspace, device, bytes, 16, NULL);
    const struct launched before = begin(device);
    check_ok(quern_gradient_norm(device->quern, &args, bytes ? workspace.data : NULL, bytes, device->stream));
    return since(device, before);
}

/* So many small tensors, whose addresses are the launch's parameters. */
static long long launches_of_tensors(const struct test_device *device, int64_t count, bool norm) {
    quern_gradient *gradients = zeroed((size_t)count * sizeof *gradients);
    size_t bytes;
    OPEN_BUFFER(grads, device, (size_t)count * 16, 0, NULL);
    OPEN_BUFFER(mains, device, (size_t)count * 16, 0, NULL);
    OPEN_BUFFER(sum, device, sizeof(float), 0, NULL);
    for (int64_t i = 0; i < count; i++)
        gradients[i] = (quern_gradient){(char *)grads.data + 16 * i, norm ? NULL : (float *)mains.data + 4 * i, 1};
    quern_gradient_norm_args of_norm = QUERN_GRADIENT_NORM_ARGS_INIT;
    of_norm.grad_dtype = QUERN_F32, of_norm.gradients = gradients, of_norm.gradient_count = count, of_norm.norm = sum.data;
    check_ok(quern_gradient_norm_workspace(device->quern, &of_norm, &bytes));
    OPEN_BUFFER(workspace, device, bytes, 16, NULL);
    quern_accumulate_args args = ACCUMULATE_ARGS(.grad_dtype = QUERN_F32, .gradients = gradients, .gradient_count = count);
    const struct launched before = begin(device);
    check_ok(norm ? quern_gradient_norm(device->quern, &of_norm, workspace.data, bytes, device->stream)
                  : quern_accumulate(device->quern, &args, device->stream));
    const struct launched got = since(device, before);
    free(gradients);
    return got.launches;
}

/* A launch takes 896 tensors.  One further launch adds the squares of the norm, or two if there are many. */
Test(launches, tensors_of_gradients) {
    OPEN_PREPARED(device, QUERN_ADAM);
    static const int64_t counts[] = {1, 896, 897, 1792, 1793};
    for (size_t i = 0; i < 2 * COUNT(counts); i++) {
        const int64_t count = counts[i / 2];
        const bool norm = i % 2;
        const long long launches = launches_of_tensors(&device, count, norm),
                        expected = divide_up(count, 896) + norm + (norm && count > QUERN_GRADIENT_NORM_PART);
        check(launches == expected, "%s %lld tensors takes %lld launches, not %lld", norm ? "the norm of" : "the accumulation of",
              (long long)count, launches, expected);
    }
}

/* A block for each tile, or as many blocks as the device holds. */
Test(launches, tiles_of_adam) {
    enum { MULTIPROCESSORS = 4, MANY = 200 };
    OPEN_PREPARED(device, QUERN_ADAM);
    const long long held = step_of(&device, MANY, false).blocks;
    check(held > MULTIPROCESSORS && held < MANY && held % MULTIPROCESSORS == 0, "%lld blocks for %d tiles", held, MANY);
    const int64_t tiles[] = {0, 1, 2, held - 1, held, held + 1};
    for (size_t i = 0; i < COUNT(tiles); i++) {
        const long long blocks = tiles[i] < held ? tiles[i] : held;
        char what[40];
        snprintf(what, sizeof what, "%lld tiles", (long long)tiles[i]);
        check_launched(step_of(&device, tiles[i], false), blocks > 0, blocks, what);
        check_launched(step_of(&device, tiles[i], true), blocks > 0, blocks, what);
        const struct launched norm = norm_of(&device, tiles[i]);
        check(norm.launches == 1 + (tiles[i] > 0) && norm.blocks <= tiles[i] + 1 && norm.blocks >= 1 + (tiles[i] > 0),
              "%s: the norm takes %lld launches of %lld blocks", what, norm.launches, norm.blocks);
    }
}
