/*
 * Sizes beyond 2^31: row offsets, strides and element counts that do not fit 32 bits or, where time allows, unsigned ones.  The
 * tests use much address space and little memory: untouched pages cost nothing, and one file can be mapped repeatedly.
 *
 * Runs on: cpu; not with sanitizers.
 */
#include <stdatomic.h>
#include <time.h>

#include "harness/adam_case.h"
#include "harness/cross_entropy_case.h"
#include "harness/random.h"
#include "oracle/adam.h"
#include "oracle/dtype.h"

static void *reserve(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    check(memory != MAP_FAILED, "no address space for %zu bytes", bytes);
    return memory;
}

/* ---- cross-entropy: rows far apart ---- */

enum { ROWS = 3, VOCAB = 100 };
static const int64_t far = ((int64_t)1 << 32) + 24;

/* The same call in steps gives the same bits, in the same place. */
static void check_far_steps(const struct test_device *device, quern_cross_entropy_args *args, void *workspace, size_t bytes) {
    const size_t row_bytes = VOCAB * quern_dtype_bytes(args->logits_dtype), row_stride = row_bytes / VOCAB * (size_t)far;
    quern_row_stats stats[ROWS];
    char grad[ROWS][VOCAB * sizeof(float)];
    for (size_t r = 0; r < ROWS; r++) memcpy(grad[r], (char *)args->grad + r * row_stride, row_bytes);
    for (size_t r = 0; r < ROWS; r++) memset((char *)args->grad + r * row_stride, 0, row_bytes);
    args->stats = stats;
    check_ok(quern_cross_entropy_stats(device->quern, args, workspace, bytes, NULL));
    check_ok(quern_cross_entropy_combine(device->quern, args, stats, 1, workspace, bytes, NULL));
    check_ok(quern_cross_entropy_gradient(device->quern, args, workspace, bytes, NULL));
    for (size_t r = 0; r < ROWS; r++)
        check(!memcmp(grad[r], (char *)args->grad + r * row_stride, row_bytes), "in steps row %zu has another gradient", r);
}

static void check_far_rows(const struct test_device *device, quern_dtype dtype, bool in_place) {
    size_t bytes = ((size_t)far * (ROWS - 1) + VOCAB) * quern_dtype_bytes(dtype);
    void *logits = reserve(bytes), *grad = in_place ? logits : reserve(bytes);
    float *upstream = reserve((size_t)far * (ROWS - 1) * sizeof(float) + sizeof(float)), loss[ROWS];
    int32_t labels[ROWS] = {5, 0, VOCAB - 1};
    const struct cross_entropy_options plain = {0};
    double row[VOCAB];
    struct cross_entropy_value expected[ROWS][VOCAB];
    struct cross_entropy_exact exact[ROWS];
    for (int r = 0; r < ROWS; r++) {
        upstream[r * far] = (float)(r + 1);
        for (int j = 0; j < VOCAB; j++) {
            dtype_store(dtype, logits, r * far + j, (r + 1) * j % 17 / 4.0);
            row[j] = dtype_load(dtype, logits, r * far + j);
        }
        exact[r] = cross_entropy_exact_row(row, VOCAB, labels[r], &plain,
                                           (struct cross_entropy_upstream){.loss = r + 1}, expected[r]);
    }
    quern_cross_entropy_args args = QUERN_CROSS_ENTROPY_ARGS_INIT;
    args.logits_dtype = dtype, args.labels_dtype = QUERN_INT32, args.rows = ROWS, args.vocab = VOCAB;
    args.logits = logits, args.logits_stride = far, args.grad = grad, args.grad_stride = far, args.labels = labels;
    args.loss = loss, args.grad_loss = upstream, args.grad_loss_stride = far;
    size_t needed;
    check_ok(quern_cross_entropy_workspace(device->quern, &args, &needed));
    void *workspace = reserve(needed + 1);
    check_ok(quern_cross_entropy(device->quern, &args, workspace, needed, NULL));
    for (int r = 0; r < ROWS; r++) {
        check(cross_entropy_output_is_close((double)loss[r], exact[r].loss), "loss of row %d", r);
        for (int j = 0; j < VOCAB; j++)
            check(cross_entropy_grad_is_close(dtype, dtype_load(dtype, grad, r * far + j), expected[r][j], &exact[r]),
                  "gradient of row %d, column %d", r, j);
    }
    if (!in_place) check_far_steps(device, &args, workspace, needed);
    munmap(workspace, needed + 1);
    munmap(logits, bytes);
    if (!in_place) munmap(grad, bytes);
    munmap(upstream, (size_t)far * (ROWS - 1) * sizeof(float) + sizeof(float));
}

Test(large, cross_entropy_rows_beyond_2_32) {
    for (const struct quern_kernel *row = next_cross_entropy_row(NULL); row; row = next_cross_entropy_row(row)) {
        OPEN_ROW(device, row);
        check_far_rows(&device, row->key.cross_entropy.logits, false);
        check_far_rows(&device, row->key.cross_entropy.logits, true);
    }
}

/* ---- products of a BLAS: rows far apart ---- */

/* One of the three matrices has far rows, which are no int. */
static void check_far_product(const struct test_device *device, quern_blas *blas, quern_dtype dtype, int which) {
    enum { SIDE = 3 };
    void *matrices[3];
    int64_t strides[3];
    const size_t size = quern_dtype_bytes(dtype);
    for (int i = 0; i < 3; i++) {
        strides[i] = i == which ? far : SIDE;
        matrices[i] = reserve((size_t)(strides[i] * SIDE) * size);
        for (int64_t at = 0; at < SIDE * SIDE; at++)
            dtype_store(dtype, matrices[i], at / SIDE * strides[i] + at % SIDE, (double)((at * 5 + i) % 7));
    }
    const quern_gemm_args args = {.size = QUERN_STRUCT_SIZE(quern_gemm_args), .m = SIDE, .n = SIDE, .k = SIDE, .a = matrices[0],
                                  .b = matrices[1], .c = matrices[2], .a_dtype = dtype, .b_dtype = dtype, .c_dtype = dtype,
                                  .a_stride = strides[0], .b_stride = strides[1], .c_stride = strides[2]};
    check_ok(quern_blas_gemm(blas, &args, device->stream));
    for (int64_t at = 0; at < SIDE * SIDE; at++) {
        double sum = 0;
        for (int64_t k = 0; k < SIDE; k++)
            sum += (double)((at / SIDE * SIDE + k) * 5 % 7) * (double)(((k * SIDE + at % SIDE) * 5 + 1) % 7);
        const double found = dtype_load(dtype, matrices[2], at / SIDE * strides[2] + at % SIDE);
        check(found == sum, "matrix %d is far: element %lld is %g instead of %g", which, (long long)at, found, sum);
    }
    for (int i = 0; i < 3; i++) munmap(matrices[i], (size_t)(strides[i] * SIDE) * size);
}

Test(large, products_of_rows_beyond_2_32) {
    quern_blas *blas;
    OPEN_DEVICE(device, NULL);
    if (quern_blas_open(device.quern, NULL, &blas) != QUERN_OK) cr_skip_test("no BLAS");
    for (int i = 0; i < 6; i++) check_far_product(&device, blas, i % 2 ? QUERN_BF16 : QUERN_F32, i / 2);
    quern_blas_close(blas);
}

/* ---- Adam: one tensor of more than 2^31 elements ---- */

enum { OWN = 1005 };                                   /* elements beyond 2^31, which the test checks */
static const int64_t beyond = (int64_t)1 << 31, count = ((int64_t)1 << 31) + OWN;

/*
 * A page of a file counts as memory of this process once per mapping: 16 GB in all.  So the arrays' pages are released while a
 * call runs; the file keeps their content.
 */
enum { MOST_ARRAYS = 8 };
static struct {
    pthread_t thread;
    atomic_bool stop;
    int arrays;
    struct { char *begin; size_t bytes; } array[MOST_ARRAYS];
} sweeper;

static void *sweep(UNUSED void *unused) {
    while (!atomic_load(&sweeper.stop)) {
        for (int a = 0; a < sweeper.arrays; a++) madvise(sweeper.array[a].begin, sweeper.array[a].bytes, MADV_DONTNEED);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return NULL;
}

static void begin_sweeping(void) {
    atomic_store(&sweeper.stop, false);
    check(pthread_create(&sweeper.thread, NULL, sweep, NULL) == 0, "no thread");
}

static void end_sweeping(void) {
    atomic_store(&sweeper.stop, true);
    pthread_join(sweeper.thread, NULL);
    sweeper.arrays = 0;
}

/* Zeros: one 2 MiB file mapped repeatedly, except the last page, which is the array's own. */
static char *map_long_array(size_t bytes) {
    enum { PIECE = 1 << 21, PAGE = 4096 };
    const int file = memfd_create("array", 0);
    check(file >= 0 && ftruncate(file, PIECE) == 0, "no memory file");
    const size_t whole = (bytes + PIECE - 1) / PIECE * PIECE;
    char *memory = reserve(whole + PIECE);
    for (size_t at = 0; at < whole; at += PIECE) {
        void *piece = mmap(memory + at, PIECE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
        check(piece != MAP_FAILED, "mmap failed");
    }
    close(file);
    void *own = mmap(memory + bytes / PAGE * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    check(own != MAP_FAILED && sweeper.arrays < MOST_ARRAYS, "mmap failed");
    sweeper.array[sweeper.arrays].begin = memory;
    sweeper.array[sweeper.arrays++].bytes = bytes / PAGE * PAGE;
    return memory;
}

/* One array of the tensor: the start of its own elements, and their values before and after. */
struct long_array {
    void **pointer;
    size_t element;           /* bytes; 0: absent */
    bool is_scale;
    unsigned char before[4 * OWN], model[4 * OWN];
};

static size_t bytes_before(const struct long_array *array, int64_t elements) {
    return (size_t)(array->is_scale ? (elements + QUERN_SCALE_BLOCK - 1) / QUERN_SCALE_BLOCK : elements) * array->element;
}

static unsigned char *own_part(const struct long_array *array) {
    return (unsigned char *)*array->pointer + bytes_before(array, beyond);
}

static size_t own_bytes(const struct long_array *array) { return bytes_before(array, count) - bytes_before(array, beyond); }

enum { ARRAYS = 7 };

/* Scales get a byte near that of 1, numbers get any bits except the sign and the highest exponent bit. */
static unsigned char any_byte(const struct long_array *array, size_t seed, size_t i) {
    if (array->is_scale) return (unsigned char)(120 + i % 9);
    const bool is_upper = i % array->element == array->element - 1;
    return (unsigned char)(random_bits(seed, i) & (is_upper ? 0x3F : 0xFF));
}

static void open_long_tensor(const quern_adam_args *args, quern_adam_tensor *tensor, struct long_array arrays[ARRAYS]) {
    const size_t m = quern_dtype_bytes(args->m_dtype), v = quern_dtype_bytes(args->v_dtype);
    const bool m_scaled = adam_is_scaled(args->m_dtype), v_scaled = adam_is_scaled(args->v_dtype);
    const struct long_array list[ARRAYS] = {
        {.pointer = &tensor->param, .element = quern_dtype_bytes(args->param_dtype)},
        {.pointer = &tensor->grad, .element = quern_dtype_bytes(args->grad_dtype)},
        {.pointer = &tensor->m, .element = m},
        {.pointer = &tensor->v, .element = v},
        {.pointer = &tensor->master, .element = quern_dtype_bytes(args->master_dtype)},
        {.pointer = (void **)&tensor->m_scale, .element = m_scaled, .is_scale = true},
        {.pointer = (void **)&tensor->v_scale, .element = v_scaled, .is_scale = true},
    };
    memcpy(arrays, list, sizeof list);
    for (size_t a = 0; a < ARRAYS; a++) {
        if (!arrays[a].element) continue;
        *arrays[a].pointer = map_long_array(bytes_before(&arrays[a], count));
        for (size_t i = 0; i < own_bytes(&arrays[a]); i++) own_part(&arrays[a])[i] = any_byte(&arrays[a], a, i);
        memcpy(arrays[a].before, own_part(&arrays[a]), own_bytes(&arrays[a]));
    }
}

static void check_long_tensor(const struct quern_kernel *row, bool with_plan) {
    quern_adam_tensor tensor = {.count = count};
    quern_adam_args args = adam_args_of(row);
    args.amsgrad = args.zero_grads = 0, args.copy_dtype = QUERN_NO_DTYPE;
    args.tensors = &tensor, args.tensor_count = 1;
    static struct long_array arrays[ARRAYS];
    open_long_tensor(&args, &tensor, arrays);
    adam_model_range(&args, 0, beyond, count);
    for (int a = 0; a < ARRAYS; a++) {
        if (!arrays[a].element) continue;
        memcpy(arrays[a].model, own_part(&arrays[a]), own_bytes(&arrays[a]));
        memcpy(own_part(&arrays[a]), arrays[a].before, own_bytes(&arrays[a]));
    }
    struct test_device device;
    quern_adam_plan *plan = NULL;
    device_open_row(&device, 0, row);
    if (with_plan) {
        check_ok(quern_adam_plan_create(device.quern, &args, &plan));
        args.plan = plan, args.tensors = NULL, args.tensor_count = 0;
    }
    begin_sweeping();
    check_ok(quern_adam(device.quern, &args, NULL, 0, NULL));
    end_sweeping();
    for (int a = 0; a < ARRAYS; a++)
        check(!arrays[a].element || !memcmp(arrays[a].model, own_part(&arrays[a]), own_bytes(&arrays[a])),
              "%s: array %d differs at the end", row->name, a);
    quern_adam_plan_destroy(plan);
    device_close(&device);
    for (int a = 0; a < ARRAYS; a++)
        if (arrays[a].element) munmap(*arrays[a].pointer, bytes_before(&arrays[a], count));
}

static void skip_where_it_takes_too_long(void) {
    if (!strcmp(test_target(), "portable")) cr_skip_test("2^31 elements take minutes without vectors");
}

Test(large, adam_tensor_beyond_2_31) {
    skip_where_it_takes_too_long();
    check_long_tensor(find_adam_row(QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, false), false);
}

Test(large, adam_scaled_tensor_beyond_2_31_in_a_plan) {
    skip_where_it_takes_too_long();
    check_long_tensor(find_adam_row(QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_E4M3, QUERN_REMAINDER, true), true);
}

/* ---- gradients ---- */

/* All zero except the last elements: 1, 2, 3, ... */
Test(large, gradients_beyond_2_31) {
    skip_where_it_takes_too_long();
    quern_gradient gradient = {.count = count};
    gradient.grad = map_long_array((size_t)count * sizeof(uint16_t));
    gradient.main_grad = (float *)(void *)map_long_array((size_t)count * sizeof(float));
    double squares = 0;
    for (int64_t i = 0; i < OWN; i++) {
        dtype_store(QUERN_BF16, gradient.grad, beyond + i, (double)(i % 200));
        squares += (double)(i % 200) * (double)(i % 200);
    }
    OPEN_PREPARED(device, QUERN_ADAM);
    float norm = 0;
    size_t bytes;
    quern_gradient_norm_args args = QUERN_GRADIENT_NORM_ARGS_INIT;
    args.grad_dtype = QUERN_BF16, args.gradients = &gradient, args.gradient_count = 1, args.norm = &norm;
    check_ok(quern_gradient_norm_workspace(device.quern, &args, &bytes));
    void *workspace = reserve(bytes);
    begin_sweeping();
    check_ok(quern_gradient_norm(device.quern, &args, workspace, bytes, NULL));
    check(fabs((double)norm - sqrt(squares)) < 1e-6 * sqrt(squares), "the norm is %g, not %g", (double)norm, sqrt(squares));
    quern_accumulate_args sum = QUERN_ACCUMULATE_ARGS_INIT;
    sum.grad_dtype = QUERN_BF16, sum.gradients = &gradient, sum.gradient_count = 1, sum.zero_grads = 1, sum.scale = 2;
    check_ok(quern_accumulate(device.quern, &sum, NULL));
    end_sweeping();
    for (int64_t i = 0; i < OWN; i++) {
        check(((const float *)gradient.main_grad)[beyond + i] == (float)(2 * (i % 200)), "element %d of the end is %g", (int)i,
              (double)((const float *)gradient.main_grad)[beyond + i]);
        check(dtype_load(QUERN_BF16, gradient.grad, beyond + i) == 0, "a gradient was left");
    }
}
