/*
 * Memory on a quern_device: host memory for a CPU; for a GPU memory of the CUDA driver, which is opened at run time so that the
 * program links and runs without it.
 */
#ifndef DEVICE_MEMORY_H
#define DEVICE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One buffer, with its host and device addresses: the same memory on a CPU. */
struct mirrored {
    void *host;
    void *device;
    size_t bytes;
    bool owns_host;
};

/* Some bytes of a buffer. */
static inline struct mirrored mirrored_part(const struct mirrored *buffer, int64_t first, int64_t bytes) {
    return (struct mirrored){.host = (char *)buffer->host + first, .device = (char *)buffer->device + first,
                             .bytes = (size_t)bytes};
}

struct device_memory {
    bool is_cuda;
    int ordinal, device;
    void *context;
    void *stream;  /* a separate stream per rank: on the default stream, ranks that share a GPU would wait for each other */
};

/* On failure false, after a message on stderr; so also below. */
bool device_memory_open(struct device_memory *memory, bool is_cuda, int ordinal);
void device_memory_close(struct device_memory *memory);

/* Before a thread other than the one that has opened the memory uses it. */
bool device_memory_enter(const struct device_memory *memory);

/* A zeroed buffer; `host` is its host side, or NULL to allocate one. */
bool device_memory_create(const struct device_memory *memory, struct mirrored *buffer, void *host, size_t bytes);
void device_memory_free(const struct device_memory *memory, struct mirrored *buffer);

/* Copies in the order of the stream and waits; does nothing on a CPU. */
bool device_memory_upload(const struct device_memory *memory, const struct mirrored *buffer);
bool device_memory_download(const struct device_memory *memory, const struct mirrored *buffer);

/* Waits until the device has done all work of the stream. */
bool device_memory_wait(const struct device_memory *memory);

#endif
