/* Lists of gradients and their sums.  gradient_case.h documents the functions. */
#include "harness/gradient_case.h"

#include "harness/random.h"
#include "oracle/dtype.h"

/* Each array misses a 64-byte boundary by a number of elements that depends on its place. */
static int64_t start_of(int64_t *end, int64_t missed, int64_t count) {
    const int64_t start = (*end + 63) / 64 * 64 + missed % 16;
    *end = start + count;
    return start;
}

static int64_t grad_start(int64_t *end, int64_t place, int64_t count) { return start_of(end, place * 5 + place / 16, count); }

/* Some sums begin as far from a boundary as their gradient, some do not. */
static int64_t main_start(int64_t *end, int64_t place, int64_t count) {
    return start_of(end, place * 5 + place / 16 + (place % 3 == 2 ? place : 0), count);
}

static void allocate(struct gradients *g, const int64_t *counts) {
    int64_t grad_end = 0, main_end = 0;
    for (int64_t i = 0; i < g->tensors; i++) grad_start(&grad_end, i, counts[i]), main_start(&main_end, i, counts[i]);
    g->grad_bytes = (size_t)grad_end * quern_dtype_bytes(g->dtype);
    g->main_bytes = (size_t)main_end * quern_dtype_bytes(g->main_dtype);
    g->host = calloc((size_t)g->tensors + 1, sizeof *g->host), g->on_device = calloc((size_t)g->tensors + 1, sizeof *g->on_device);
    g->grads = malloc(g->grad_bytes + 1), g->main_grads = malloc(g->main_bytes + 1);
    check(g->host && g->on_device && g->grads && g->main_grads, "no memory");
    fill_pattern(g->grads, g->grad_bytes), fill_pattern(g->main_grads, g->main_bytes);
}

void gradients_open(struct gradients *g, const struct test_device *device, quern_dtype dtype, quern_dtype main_dtype,
                    const int64_t *counts, int64_t tensors) {
    *g = (struct gradients){.device = device, .dtype = dtype, .main_dtype = main_dtype, .tensors = tensors};
    allocate(g, counts);
    int64_t grad_end = 0, main_end = 0;
    for (int64_t place = 0; place < tensors; place++) {
        const size_t grad = (size_t)grad_start(&grad_end, place, counts[place]) * quern_dtype_bytes(dtype);
        const size_t sum = (size_t)main_start(&main_end, place, counts[place]) * quern_dtype_bytes(main_dtype);
        g->host[place] = (quern_gradient){g->grads + grad, g->main_grads + sum, counts[place]};
        for (int64_t i = 0; i < counts[place]; i++) {
            dtype_store(dtype, g->host[place].grad, i, random_normal((uint64_t)place, (uint64_t)i));
            dtype_store(main_dtype, g->host[place].main_grad, i, random_normal((uint64_t)place + 1000003, (uint64_t)i));
        }
    }
}

void gradients_upload(struct gradients *g) {
    buffer_open(&g->grad_buffer, g->device, g->grad_bytes, 0, g->grads);
    buffer_open(&g->main_buffer, g->device, g->main_bytes, 0, g->main_grads);
    for (int64_t i = 0; i < g->tensors; i++) {
        const int64_t grad = (unsigned char *)g->host[i].grad - g->grads;
        const int64_t sum = (unsigned char *)g->host[i].main_grad - g->main_grads;
        g->on_device[i] = g->host[i];
        g->on_device[i].grad = (char *)g->grad_buffer.data + grad, g->on_device[i].main_grad = (char *)g->main_buffer.data + sum;
    }
}

static void check_sums(const struct gradients *g, const char *got, const char *what) {
    const size_t element = quern_dtype_bytes(g->main_dtype);
    for (size_t at = 0; at < g->main_bytes; at += element) {
        const void *one = got + at, *other = g->main_grads + at;
        if (!memcmp(one, other, element)) continue;
        const double is = dtype_load(g->main_dtype, one, 0), should = dtype_load(g->main_dtype, other, 0);
        check(isnan(is) && isnan(should), "%s: element %zu of the sums is %a instead of %a", what, at / element, is, should);
    }
}

void gradients_check(struct gradients *g, const char *what) {
    check_sums(g, buffer_read(&g->main_buffer), what);
    check(!memcmp(buffer_read(&g->grad_buffer), g->grads, g->grad_bytes), "%s: the gradients are not what they should be", what);
}

void gradients_close(struct gradients *g) {
    buffer_close(&g->grad_buffer);
    buffer_close(&g->main_buffer);
    free(g->grads);
    free(g->main_grads);
    free(g->host);
    free(g->on_device);
}
