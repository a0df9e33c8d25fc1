/*
 * A gradient times upstream gradients that come late: each product is the exact one rounded once, a row whose value is 1 is neither
 * read nor written, and nothing between or behind the columns is.
 *
 * Runs on: cpu, emulated, gpu; kernels of cross_entropy.
 */
#define _DEFAULT_SOURCE

#include "harness/buffer.h"
#include "harness/check.h"
#include "harness/cuda.h"
#include "harness/random.h"
#include "oracle/dtype.h"

static const quern_dtype dtypes[] = {QUERN_F32, QUERN_F16, QUERN_BF16};

/* 1 and its neighbours, 0, powers of two, factors that make ties of 16 bits, values that over- and underflow, and none. */
static const float factors[] = {1, 0x1.fffffep-1f, 0x1.000002p0f, 0, -0.0f, 0.5f, 65536, 3, 1 / 3.0f, -1, 0x1.01p0f, 0x1.00ff00p0f,
                                0x1.008002p-3f, 1e-30f, 0x1p-126f, 1e30f, INFINITY, -INFINITY, NAN};

/* A matrix of the gradient and the values of its rows. */
struct matrix {
    quern_dtype dtype;
    int64_t rows, columns, padded, stride, value_stride, offset;
};

static int64_t part_columns(quern_dtype dtype) {
    return test_kind() == QUERN_CPU ? QUERN_CPU_PART_COLUMNS : QUERN_GPU_PART_BYTES / (int64_t)quern_dtype_bytes(dtype);
}

/* Gradients of all magnitudes, subnormal ones, ties, infinities and NaN among them. */
static double value_at(quern_dtype dtype, int64_t row, int64_t column) {
    const double special[] = {0, -0.0, (double)INFINITY, (double)NAN, dtype_largest(dtype), dtype_ulp(dtype, 0), -1.5, 0x1.8p-20};
    const int64_t kind = (row * 31 + column) % 11;
    if (kind < 8 && column % 3 == 0) return special[kind];
    return ldexp(random_normal((uint64_t)row, (uint64_t)column), (int)((column * 7 + row) % 41) - 30 - (dtype == QUERN_BF16) * 90);
}

static size_t bytes_of(const struct matrix *m) {
    return (size_t)((m->rows - 1) * m->stride + m->padded) * quern_dtype_bytes(m->dtype);
}

static float factor_of(const struct matrix *m, int64_t row, size_t first) {
    return factors[(first + (size_t)(m->value_stride ? row : 0)) % COUNT(factors)];
}

static void fill(const struct matrix *m, unsigned char *grad) {
    fill_pattern(grad, bytes_of(m));
    for (int64_t row = 0; row < m->rows; row++)
        for (int64_t column = 0; column < m->padded; column++)
            dtype_store(m->dtype, grad, row * m->stride + column, column < m->columns ? value_at(m->dtype, row, column) : 0);
}

/* A product of two fp32 values is exact in double. */
static void multiply(const struct matrix *m, unsigned char *grad, size_t first) {
    for (int64_t row = 0; row < m->rows; row++)
        for (int64_t i = row * m->stride; i < row * m->stride + m->columns && factor_of(m, row, first) != 1; i++)
            dtype_store(m->dtype, grad, i, dtype_load(m->dtype, grad, i) * (double)factor_of(m, row, first));
}

/* The bits, except the payload of an fp32 NaN. */
static bool is_same(quern_dtype dtype, const void *got, const void *expected, int64_t i) {
    const size_t each = quern_dtype_bytes(dtype);
    if (!memcmp((const char *)got + (size_t)i * each, (const char *)expected + (size_t)i * each, each)) return true;
    return dtype == QUERN_F32 && isnan(dtype_load(dtype, got, i)) && isnan(dtype_load(dtype, expected, i));
}

static quern_cross_entropy_args args_of(const struct matrix *m, void *grad, const float *values) {
    quern_cross_entropy_args args = CROSS_ENTROPY_ARGS(.logits_dtype = m->dtype, .labels_dtype = QUERN_INT32, .rows = m->rows,
                                                       .vocab = m->columns, .padded_vocab = m->padded, .grad = grad,
                                                       .grad_stride = m->stride);
    if (m->dtype == QUERN_F32 && m->columns % 2) args.logits_dtype = QUERN_BF16, args.grad_dtype = QUERN_F32;
    args.grad_loss = values, args.grad_loss_stride = m->value_stride;
    args.grad_scale = 7, args.strict_labels = 1, args.logits_stride = 0;
    return args;
}

static void check_matrix(const struct test_device *device, const struct matrix *m, size_t first) {
    const size_t bytes = bytes_of(m), each = quern_dtype_bytes(m->dtype);
    const int64_t values = m->value_stride ? (m->rows - 1) * m->value_stride + 1 : 1;
    SCOPED unsigned char *expected = zeroed(bytes);
    SCOPED float *of_rows = zeroed((size_t)values * sizeof *of_rows);
    fill(m, expected);
    fill_pattern(of_rows, (size_t)values * sizeof *of_rows);
    for (int64_t row = 0; row < m->rows; row++) of_rows[row * m->value_stride] = factor_of(m, row, first);
    OPEN_BUFFER(grad, device, bytes, (size_t)m->offset * each, expected);
    OPEN_BUFFER(upstream, device, (size_t)values * sizeof *of_rows, 4, of_rows);
    const quern_cross_entropy_args args = args_of(m, grad.data, upstream.data);
    check_ok(quern_cross_entropy_upstream(device->quern, &args, device->stream));
    multiply(m, expected, first);
    const unsigned char *got = buffer_read(&grad);
    for (int64_t i = 0; i < (int64_t)(bytes / each); i++)
        check(is_same(m->dtype, got, expected, i), "%s, %lld x %lld, factor %a: element %lld is %a, expected %a",
              quern_dtype_name(m->dtype), (long long)m->rows, (long long)m->columns, (double)factor_of(m, i / m->stride, first),
              (long long)i, dtype_load(m->dtype, got, i), dtype_load(m->dtype, expected, i));
    check(!memcmp(buffer_read(&upstream), of_rows, (size_t)values * sizeof *of_rows), "the values were changed");
}

Test(cross_entropy_upstream, each_product_is_rounded_once) {
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    for (size_t d = 0; d < COUNT(dtypes); d++) {
        const int64_t part = part_columns(dtypes[d]), widths[] = {1, 7, 33, 700, part - 1, part + 50};
        for (size_t i = 0; i < COUNT(widths); i++) {
            const int64_t columns = widths[i], odd = (int64_t)i % 2;
            const int64_t rows = columns > 1000 ? 3 : 2 * (int64_t)COUNT(factors);
            const struct matrix m = {.dtype = dtypes[d], .rows = rows, .columns = columns, .padded = columns + 2 * odd,
                                     .stride = columns + 5 * odd + 2, .value_stride = 1 + odd,
                                     .offset = (int64_t)i % 4};
            check_matrix(&device, &m, 6 + 3 * i);
        }
    }
}

/*
 * Products that are no ties of 16 bits but become one in fp32: to round twice would send half of them the wrong way.  A factor is a
 * tie divided by the value of its row.
 */
static void check_beside_ties(const struct test_device *device, quern_dtype dtype, int fraction) {
    enum { ROWS = 200, COLUMNS = 20 };
    const int steps = 1 << fraction;
    uint16_t expected[ROWS * COLUMNS], given[ROWS * COLUMNS];
    float of_rows[ROWS];
    int found = 0;
    struct buffer grad CLOSED_BY(buffer_close), upstream CLOSED_BY(buffer_close);
    for (int row = 0; row < ROWS; row++) {
        const double x = 1 + (double)(row * 37 % steps) / steps, tie = 1 + (2.0 * (row * 11 % steps) + 1) / (2 * steps);
        of_rows[row] = (float)(tie / x);
        const double exact = x * (double)of_rows[row];
        found += (double)(float)exact == tie && exact != tie;
        for (int i = row * COLUMNS; i < (row + 1) * COLUMNS; i++) {
            dtype_store(dtype, given, i, i % 2 ? x : -x);
            dtype_store(dtype, expected, i, i % 2 ? exact : -exact);
        }
    }
    check(found > 50, "only %d products become ties", found);
    buffer_open(&grad, device, sizeof given, 2, given), buffer_open(&upstream, device, sizeof of_rows, 4, of_rows);
    const struct matrix m = {.dtype = dtype, .rows = ROWS, .columns = COLUMNS, .padded = COLUMNS, .stride = COLUMNS,
                             .value_stride = 1};
    const quern_cross_entropy_args args = args_of(&m, grad.data, upstream.data);
    check_ok(quern_cross_entropy_upstream(device->quern, &args, device->stream));
    const uint16_t *got = buffer_read(&grad);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        check(got[i] == expected[i], "%s: element %d is 0x%04X, expected 0x%04X", quern_dtype_name(dtype), i, got[i], expected[i]);
}

Test(cross_entropy_upstream, products_beside_ties) {
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    check_beside_ties(&device, QUERN_F16, 10);
    check_beside_ties(&device, QUERN_BF16, 7);
}

/* One value for all rows. */
Test(cross_entropy_upstream, one_value_serves_all_rows) {
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    for (size_t i = 0; i < COUNT(dtypes) * COUNT(factors); i++) {
        const struct matrix m = {.dtype = dtypes[i % COUNT(dtypes)], .rows = 3, .columns = 50, .padded = 50, .stride = 50};
        check_matrix(&device, &m, i / COUNT(dtypes));
    }
}

/* The second row is far beyond the memory of the first one.  A call in which its value is 1 succeeds, so it has not been read. */
Test(cross_entropy_upstream, a_row_whose_value_is_1_is_not_touched) {
    enum { BYTES = 1 << 28, COLUMNS = 40 };
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    static const float values[] = {2, 1}, one = 1;
    struct buffer upstream CLOSED_BY(buffer_close), grad CLOSED_BY(buffer_close);
    char *pages = mmap(NULL, 2 * (size_t)BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    check(pages != MAP_FAILED && !mprotect(pages, 1 << 16, PROT_READ | PROT_WRITE), "no memory");
    for (size_t d = 0; d < COUNT(dtypes); d++) {
        const int64_t elements = BYTES / (int64_t)quern_dtype_bytes(dtypes[d]);
        const struct matrix m = {.dtype = dtypes[d], .rows = 2, .columns = COLUMNS, .padded = COLUMNS, .stride = elements,
                                 .value_stride = 1};
        buffer_open(&grad, &device, COLUMNS * sizeof(float), 0, NULL);
        buffer_open(&upstream, &device, sizeof values, 4, values);
        quern_cross_entropy_args args = args_of(&m, device.kind == QUERN_CPU ? (void *)pages : grad.data, upstream.data);
        check_ok(quern_cross_entropy_upstream(device.quern, &args, device.stream));
        device_synchronize(&device);
        buffer_close(&upstream);
        buffer_open(&upstream, &device, sizeof one, 4, &one);
        args.grad_loss = upstream.data, args.grad_loss_stride = 0;
        args.grad = device.kind == QUERN_CPU ? (void *)(pages + BYTES) : (char *)grad.data + BYTES;
        check_ok(quern_cross_entropy_upstream(device.quern, &args, device.stream));
        device_synchronize(&device);
        if (d + 1 < COUNT(dtypes)) buffer_close(&grad), buffer_close(&upstream);
    }
    munmap(pages, 2 * (size_t)BYTES);
}

/* A power of two late is the same power in the call, where nothing underflows. */
Test(cross_entropy_upstream, late_is_as_good_as_in_the_call) {
    enum { ROWS = 5, VOCAB = 300 };
    static float logits[ROWS * VOCAB];
    static const int32_t labels[ROWS] = {3, 299, -100, 0, 17};
    static const float values[ROWS] = {4, 1, 8, 0.5f, 2};
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    for (int i = 0; i < ROWS * VOCAB; i++) logits[i] = (float)random_normal(5, (uint64_t)i);
    struct buffer x, y, l, v, early, late, workspace;
    struct buffer *all[] = {&x, &y, &l, &v, &early, &late, &workspace};
    size_t bytes;
    buffer_open(&x, &device, sizeof logits, 0, logits), buffer_open(&y, &device, sizeof labels, 0, labels);
    buffer_open(&v, &device, sizeof values, 0, values), buffer_open(&l, &device, sizeof(float), 0, NULL);
    buffer_open(&early, &device, sizeof logits, 0, NULL), buffer_open(&late, &device, sizeof logits, 0, NULL);
    quern_cross_entropy_args args = CROSS_ENTROPY_ARGS(.logits_dtype = QUERN_F32, .labels_dtype = QUERN_INT32,
                                                       .reduction = QUERN_REDUCTION_MEAN, .rows = ROWS, .vocab = VOCAB,
                                                       .logits = x.data, .labels = y.data, .loss = l.data);
    args.grad_scale = 16;
    check_ok(quern_cross_entropy_workspace(device.quern, &args, &bytes));
    buffer_open(&workspace, &device, bytes, 0, NULL);
    args.grad = early.data, args.grad_loss = v.data;
    check_ok(quern_cross_entropy(device.quern, &args, workspace.data, bytes, device.stream));
    args.grad = late.data, args.grad_loss = NULL;
    check_ok(quern_cross_entropy(device.quern, &args, workspace.data, bytes, device.stream));
    args.grad_loss = v.data;
    check_ok(quern_cross_entropy_upstream(device.quern, &args, device.stream));
    memcpy(logits, buffer_read(&early), sizeof logits);
    check(!memcmp(buffer_read(&late), logits, sizeof logits), "another gradient");
    for (size_t i = 0; i < COUNT(all); i++) buffer_close(all[i]);
}

/* ---- a captured graph ---- */

/* Replays read new values, 1 among them. */
Test(cross_entropy_upstream, replays_read_new_values) {
    enum { COLUMNS = 100 };
    static float grad_of[COLUMNS];
    static const float values[] = {3, 1, -0.5f};
    if (test_kind() == QUERN_CPU) cr_skip_test("graphs are of GPUs");
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    struct buffer grad CLOSED_BY(buffer_close), value CLOSED_BY(buffer_close);
    for (int i = 0; i < COLUMNS; i++) grad_of[i] = (float)i;
    buffer_open(&grad, &device, sizeof grad_of, 4, grad_of), buffer_open(&value, &device, sizeof *values, 4, values);
    const struct matrix m = {.dtype = QUERN_F32, .rows = 1, .columns = COLUMNS, .padded = COLUMNS, .stride = COLUMNS};
    const quern_cross_entropy_args args = args_of(&m, grad.data, value.data);
    cuda_begin_capture(device.stream);
    check_ok(quern_cross_entropy_upstream(device.quern, &args, device.stream));
    void *executable = cuda_end_capture(device.stream);
    for (size_t i = 0; i < COUNT(values); i++) {
        buffer_write(&value, &values[i]);
        CUDA(cuGraphLaunch(executable, device.stream));
        for (int k = 0; k < COLUMNS; k++) grad_of[k] *= values[i];
        check(!memcmp(buffer_read(&grad), grad_of, sizeof grad_of), "another gradient after replay %zu", i);
    }
    CUDA(cuGraphExecDestroy(executable));
}
