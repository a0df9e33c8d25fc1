/*
 * The device functions of quern_device.cuh in the kernels of examples/device_functions.cu: chunks that are multiplied as they come,
 * words that ranks write into each other's memory, and waits that end with an error.
 *
 * Runs on: every emulated; kernels of barrier, quantize, collective.
 */
#include "harness/chunks_case.h"
#include "harness/gpu_bench.h"
#include "oracle/dtype.h"
#include "runtime/cuda_driver.h"

enum { RANKS = 3, COLUMNS = 3000 /* several parts of a chunk */, VALUE = 7 };
enum { PREPARED = QUERN_BARRIER | QUERN_QUANTIZE | QUERN_COLLECTIVE };

/* As in the example. */
struct chunk_product {
    quern_device_view ready;
    unsigned ready_value;
    int place;
    long long members, rows, columns, chunk_rows;
    const unsigned char *output;
    const float *scale_inv;
    const unsigned char *block_scales;
    const unsigned char *vector;
    float *product;
    int *status;
};

struct scene {
    struct gpu_group group;
    struct gpu_bench bench;
    struct chunks_case c;
    quern_quantize_chunks_args args[RANKS];
    const struct quern_cuda *cuda;
    CUfunction multiply[RANKS], gather[RANKS];
    unsigned char *memory[RANKS];     /* the vector, the product and the status */
};

enum { PRODUCT = 4096, STATUS = 8192, MEMORY_BYTES = 8196, UNTOUCHED = 0x5a5a5a5a };

static void *read_image(void) {
    char path[200];
    snprintf(path, sizeof path, "build/%s/device_functions.fatbin", test_target());
    FILE *file = fopen(path, "rb");
    check(file, "%s is missing", path);
    unsigned char *image = calloc(1, 1 << 20);
    check(image && fread(image, 1, 1 << 20, file) > 0, "%s is empty", path);
    fclose(file);
    return image;
}

static void load_kernels(struct scene *s, int rank, const void *image) {
    CUmodule module;
    cuda_check((int)s->cuda->module_load(&module, image), "cuModuleLoadData");
    cuda_check((int)s->cuda->module_function(&s->multiply[rank], module, "multiply_chunks"), "multiply_chunks");
    cuda_check((int)s->cuda->module_function(&s->gather[rank], module, "gather_words"), "gather_words");
}

/* A case whose scales are neither subnormal nor of infinities, and which has no NaN. */
static bool is_plain(const struct chunks_case *c) {
    if (c->scaling != QUERN_SCALING_MX) return c->has_scales && c->amax > 0 && c->amax < 1e4f;
    for (int64_t i = 0; i < c->count * c->blocks; i++)
        if (c->expected_scales[i] < 64 || c->expected_scales[i] > 160) return false;
    for (int64_t i = 0; i < c->count * c->elements; i++)
        if ((c->expected[i] & 127) == 127) return false;
    return true;
}

static void open_scaled_scene(struct scene *s, quern_scaling scaling) {
    const struct chunks_choice choice = {.ranks = RANKS, .everyone = true, .rows = 11, .columns = COLUMNS, .chunk_rows = 4,
                                         .input = QUERN_BF16, .output = QUERN_E4M3, .scaling = scaling};
    gpu_bench_begin(&s->bench, &s->group, (struct gpu_group_options){.ranks = RANKS, .machine.multiprocessors = 8, .second = true,
                                                                     .prepared = PREPARED, .pool = 1 << 18, .workspace = 1 << 18});
    chunks_case_open(&s->c, 1, choice);
    for (uint64_t seed = 2; !is_plain(&s->c); seed++) {
        chunks_case_close(&s->c);
        chunks_case_open(&s->c, seed, choice);
    }
    check_ok(quern_cuda_open(&s->cuda));
    chunks_case_fill(&s->c, s->bench.of, VALUE, true);
    SCOPED void *image = read_image();
    unsigned char vector[MEMORY_BYTES];
    int order[CHUNKS_MOST];
    memset(vector, 0x5a, sizeof vector);
    for (int i = 0; i < COLUMNS; i++) vector[i] = (unsigned char)(16 + 3 * i + (i % 3 ? 128 : 0)) & 0xf7;
    for (int rank = 0; rank < RANKS; rank++) {
        cuda_pointer memory;
        device_use(&s->group.device[rank]);
        load_kernels(s, rank, image);
        CUDA(cuMemAlloc_v2(&memory, MEMORY_BYTES));
        CUDA(cuMemcpyHtoDAsync_v2(memory, vector, sizeof vector, s->group.device[rank].stream));
        device_synchronize(&s->group.device[rank]);
        s->memory[rank] = (unsigned char *)(uintptr_t)memory;
        s->args[rank] = chunks_case_args(&s->c, &s->bench.of[rank], VALUE, order);
    }
}

static void open_scene(struct scene *s) { open_scaled_scene(s, QUERN_SCALING_TENSOR); }
static void open_scene_in_blocks(struct scene *s) { open_scaled_scene(s, QUERN_SCALING_MX); }

static void close_scene(struct scene *s) {
    for (int rank = 0; rank < RANKS; rank++) {
        device_use(&s->group.device[rank]);
        CUDA(cuMemFree_v2((uintptr_t)s->memory[rank]));
    }
    gpu_bench_close_all(&s->bench);
    chunks_case_close(&s->c);
}
#define TEST_SCENE(suite, name) TEST_IN(struct scene, s, open_scene, close_scene, suite, name)

static void copy_memory(const struct scene *s, int rank, unsigned char has[MEMORY_BYTES]) {
    device_use(&s->group.device[rank]);
    CUDA(cuMemcpyDtoHAsync_v2(has, (uintptr_t)s->memory[rank], MEMORY_BYTES, s->group.second[rank]));
    CUDA(cuStreamSynchronize(s->group.second[rank]));
}

static int status_of(const struct scene *s, int rank) {
    unsigned char has[MEMORY_BYTES];
    int status;
    copy_memory(s, rank, has);
    memcpy(&status, has + STATUS, sizeof status);
    return status;
}

/* ---- chunks ---- */

/* On the second stream; timeout: nanoseconds, 0: that of the group. */
static void multiply(struct scene *s, int rank, uint64_t timeout) {
    struct chunk_product job = {
        .ready = QUERN_DEVICE_VIEW_INIT, .ready_value = VALUE, .place = rank, .members = RANKS, .rows = s->c.rows,
        .columns = s->c.columns, .chunk_rows = s->c.chunk_rows, .output = s->args[rank].output,
        .scale_inv = s->args[rank].scale_inv, .block_scales = s->args[rank].block_scales, .vector = s->memory[rank],
        .product = (float *)(void *)(s->memory[rank] + PRODUCT),
        .status = (int *)(void *)(s->memory[rank] + STATUS)};
    void *parameters[] = {&job};
    check_ok(quern_symmetric_view(s->group.group[rank], s->args[rank].ready, &job.ready));
    if (timeout) job.ready.timeout = timeout;
    device_use(&s->group.device[rank]);
    cuda_check((int)s->cuda->launch(s->multiply[rank], 2, 1, 1, 32, 1, 1, 0, s->group.second[rank], parameters, NULL), "launch");
}

static void compare_product(const struct scene *s, int rank) {
    unsigned char has[MEMORY_BYTES];
    copy_memory(s, rank, has);
    for (int64_t row = 0; row < RANKS * s->c.rows; row++) {
        double sum = 0, size = 0;
        float product;
        memcpy(&product, has + PRODUCT + 4 * row, sizeof product);
        for (int64_t i = 0; i < s->c.columns; i++) {
            const int power = s->c.blocks ? s->c.expected_scales[row * s->c.across + i / 32] - 127 : 0;
            const double code = dtype_decode(QUERN_E4M3, s->c.expected[row * s->c.columns + i]);
            const double term = ldexp(code, power) * dtype_decode(QUERN_E4M3, has[i]);
            sum += term, size += fabs(term);
        }
        const double scale_inv = s->c.blocks ? 1 : (double)s->c.scale_inv;
        check(fabs((double)product - sum * scale_inv) <= 1e-5 * size * scale_inv, "row %lld of rank %d is %g instead of %g",
              (long long)row, rank, (double)product, sum * scale_inv);
    }
}

static void multiply_often(struct scene *s) {
    for (int turn = 0; turn < 6; turn++) {
        chunks_case_fill(&s->c, s->bench.of, VALUE, true);
        chunks_case_expect(&s->c, s->bench.of, VALUE);
        for (int rank = 0; rank < RANKS; rank++) multiply(s, rank, 0);
        chunks_case_call(&s->c, s->bench.of, VALUE);
        gpu_group_synchronize(&s->group);
        chunks_case_compare(&s->c, s->bench.of);
        for (int rank = 0; rank < RANKS; rank++) {
            check(status_of(s, rank) == UNTOUCHED, "rank %d has the status %d", rank, status_of(s, rank));
            compare_product(s, rank);
        }
    }
}

TEST_SCENE(device_functions_cuda, chunks_are_multiplied_as_they_come) { multiply_often(s); }

TEST_IN(struct scene, s, open_scene_in_blocks, close_scene, device_functions_cuda, chunks_in_blocks_are_multiplied_as_they_come) {
    multiply_often(s);
}

TEST_SCENE(device_functions_cuda, a_wait_in_a_kernel_has_a_limit) {
    multiply(s, 1, 1000000);
    gpu_group_synchronize(&s->group);
    check(status_of(s, 1) == QUERN_PEER_TIMEOUT, "the status is %d", status_of(s, 1));
    check_ok(quern_group_status(s->group.group[1]));
}

TEST_SCENE(device_functions_cuda, a_wait_in_a_kernel_sees_that_a_call_has_failed) {
    const uint32_t complement = ~(uint32_t)VALUE;
    device_use(&s->group.device[1]);
    CUDA(cuMemcpyHtoDAsync_v2((uintptr_t)(s->args[1].ready + s->c.chunks), &complement, 4, s->group.device[1].stream));
    gpu_group_synchronize(&s->group);
    multiply(s, 1, 0);
    gpu_group_synchronize(&s->group);
    check(status_of(s, 1) == QUERN_PEER_MISMATCH, "the status is %d", status_of(s, 1));
}

TEST_SCENE(device_functions_cuda, an_abort_ends_a_wait_in_a_kernel) {
    multiply(s, 1, 0);
    check_ok(quern_group_abort(s->group.group[2], "enough"));
    gpu_group_synchronize(&s->group);
    check(status_of(s, 1) == QUERN_GROUP_ABORTED, "the status is %d", status_of(s, 1));
}

/* ---- words ---- */

TEST_SCENE(device_functions_cuda, ranks_write_words_into_each_others_memory) {
    for (unsigned turn = 1; turn < 4; turn++) {
        for (int rank = 0; rank < RANKS; rank++) {
            quern_device_view view = QUERN_DEVICE_VIEW_INIT;
            unsigned word = 1000 * turn + (unsigned)rank, signal = turn;
            unsigned *words = (unsigned *)(void *)(s->memory[rank] + PRODUCT);
            int *status = (int *)(void *)(s->memory[rank] + STATUS);
            void *parameters[] = {&view, &word, &signal, &words, &status};
            check_ok(quern_symmetric_view(s->group.group[rank], s->bench.of[rank].pool[POOL_SYMMETRIC], &view));
            device_use(&s->group.device[rank]);
            cuda_check((int)s->cuda->launch(s->gather[rank], 1, 1, 1, 32, 1, 1, 0, s->group.second[rank], parameters, NULL),
                       "launch");
        }
        gpu_group_synchronize(&s->group);
        for (int rank = 0; rank < RANKS; rank++) {
            unsigned char has[MEMORY_BYTES];
            unsigned words[RANKS];
            copy_memory(s, rank, has);
            memcpy(words, has + PRODUCT, sizeof words);
            for (unsigned peer = 0; peer < RANKS; peer++)
                check(words[peer] == 1000 * turn + peer, "rank %d has %u of rank %u", rank, words[peer], peer);
            check(status_of(s, rank) == UNTOUCHED, "rank %d has the status %d", rank, status_of(s, rank));
        }
    }
}
