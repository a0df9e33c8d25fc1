/* Guarded buffers of the device under test.  buffer.h documents the functions. */
#include "harness/buffer.h"

#include "harness/cuda.h"

enum { ALIGNMENT = 256, GUARD = 512, PAGE = 4096 };

/* 0x7FFD7FFD...: NaN as f16, bf16 and f32; as an integer far beyond any vocab of the tests.  Chosen by address parity. */
static unsigned char pattern_at(size_t i) { return i % 2 ? 0x7F : 0xFD; }

/* By copies of what is there, and so with few instructions under sanitizers. */
void fill_pattern(void *memory, size_t bytes) {
    unsigned char *to = memory;
    size_t filled = 0;
    for (; filled < bytes && filled < 2; filled++) to[filled] = pattern_at(filled);
    for (size_t more; filled < bytes; filled += more) {
        more = filled < bytes - filled ? filled : bytes - filled;
        memcpy(to + filled, to, more);
    }
}

bool holds_pattern(const void *memory, size_t bytes) {
    const unsigned char *from = memory;
    for (size_t i = 0; i < bytes && i < 2; i++)
        if (from[i] != pattern_at(i)) return false;
    return bytes < 2 || !memcmp(from, from + 2, bytes - 2);
}

static size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

/* The zone ends at most ALIGNMENT bytes before an inaccessible page and starts right behind another one. */
static void map_zone(struct buffer *buffer, size_t offset) {
    size_t body = round_up(offset + buffer->bytes, ALIGNMENT);
    size_t usable = round_up(GUARD + body, PAGE);
    buffer->page_bytes = usable + 2 * PAGE;
    buffer->pages = mmap(NULL, buffer->page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    check(buffer->pages != MAP_FAILED, "no memory for a buffer of %zu bytes", buffer->bytes);
    buffer->zone = (unsigned char *)buffer->pages + PAGE;
    check(mprotect(buffer->zone, usable, PROT_READ | PROT_WRITE) == 0, "mprotect failed");
    buffer->zone_bytes = usable;
    buffer->front = usable - body + offset;
}

static void allocate_zone(struct buffer *buffer, size_t offset) {
    cuda_pointer pointer;
    buffer->front = GUARD + offset;
    buffer->zone_bytes = buffer->front + buffer->bytes + GUARD;
    CUDA(cuMemAlloc_v2(&pointer, buffer->zone_bytes));
    buffer->zone = (unsigned char *)(uintptr_t)pointer;
}

static void copy_to_device(struct buffer *buffer) {
    if (buffer->device->kind == QUERN_CPU) {
        memcpy(buffer->zone, buffer->image, buffer->zone_bytes);
    } else {
        CUDA(cuMemcpyHtoDAsync_v2((uintptr_t)buffer->zone, buffer->image, buffer->zone_bytes, buffer->device->stream));
        device_synchronize(buffer->device);
    }
}

static void copy_from_device(struct buffer *buffer) {
    device_synchronize(buffer->device);
    if (buffer->device->kind == QUERN_CPU) {
        memcpy(buffer->image, buffer->zone, buffer->zone_bytes);
    } else {
        CUDA(cuMemcpyDtoHAsync_v2(buffer->image, (uintptr_t)buffer->zone, buffer->zone_bytes, buffer->device->stream));
        device_synchronize(buffer->device);
    }
}

static void fill(struct buffer *buffer, const void *contents) {
    buffer->data = buffer->zone + buffer->front;
    buffer->image = zeroed(buffer->zone_bytes);
    fill_pattern(buffer->image, buffer->zone_bytes);
    if (contents && buffer->bytes) memcpy(buffer->image + buffer->front, contents, buffer->bytes);
    copy_to_device(buffer);
}

void buffer_open(struct buffer *buffer, const struct test_device *device, size_t bytes, size_t offset,
                 const void *contents) {
    *buffer = (struct buffer){.device = device, .bytes = bytes};
    if (device->kind == QUERN_CPU) map_zone(buffer, offset);
    else allocate_zone(buffer, offset);
    fill(buffer, contents);
}

void buffer_borrow(struct buffer *buffer, const struct test_device *device, void *memory, size_t bytes) {
    *buffer = (struct buffer){.device = device, .zone = memory, .bytes = bytes, .zone_bytes = bytes, .is_borrowed = true};
    fill(buffer, NULL);
}

void buffer_write(struct buffer *buffer, const void *contents) {
    device_synchronize(buffer->device);
    if (buffer->bytes) memcpy(buffer->image + buffer->front, contents, buffer->bytes);
    copy_to_device(buffer);
}

void *buffer_read(struct buffer *buffer) {
    copy_from_device(buffer);
    size_t end = buffer->front + buffer->bytes;
    check(holds_pattern(buffer->image, buffer->front), "something was written before a buffer of %zu bytes", buffer->bytes);
    for (size_t i = end; i < buffer->zone_bytes; i++)
        check(buffer->image[i] == pattern_at(i), "byte %zu behind a buffer of %zu bytes was overwritten", i - end,
              buffer->bytes);
    return buffer->image + buffer->front;
}

void buffer_close(struct buffer *buffer) {
    if (!buffer->is_borrowed) buffer_read(buffer);
    free(buffer->image);
    if (buffer->is_borrowed) return;
    if (buffer->device->kind == QUERN_CPU) munmap(buffer->pages, buffer->page_bytes);
    else CUDA(cuMemFree_v2((uintptr_t)buffer->zone));
}
