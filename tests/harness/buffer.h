/*
 * Memory of the device under test with guard zones around it.  The zones hold NaN in every floating-point type and a bad label in
 * every integer type, so a value read from them spoils the result.  They are checked whenever the buffer is read, so a write to
 * them fails the test.  On a CPU the zones end at inaccessible pages.
 */
#ifndef HARNESS_BUFFER_H
#define HARNESS_BUFFER_H

#include "harness/device.h"

struct buffer {
    const struct test_device *device;
    void *data;            /* the pointer for the library */
    size_t bytes;
    unsigned char *zone;   /* the start of the front guard, in the device's memory */
    size_t zone_bytes;     /* both guards and the data */
    size_t front;          /* of the front guard */
    unsigned char *image;  /* the zone on the host */
    void *pages;           /* CPU: the whole mapping */
    size_t page_bytes;
    bool is_borrowed;
};

/* data starts `offset` bytes beyond a 256-byte boundary and holds `contents` (NULL: the guards' pattern). */
void buffer_open(struct buffer *buffer, const struct test_device *device, size_t bytes, size_t offset,
                 const void *contents);

/* Declares a buffer that is open until the end of the scope. */
#define OPEN_BUFFER(name, ...) struct buffer name CLOSED_BY(buffer_close); buffer_open(&name, __VA_ARGS__)

/* Memory of the device that somebody else frees, without guards.  Its data is the guards' pattern. */
void buffer_borrow(struct buffer *buffer, const struct test_device *device, void *memory, size_t bytes);

/* Replaces the data. */
void buffer_write(struct buffer *buffer, const void *contents);

/* Waits for the device, checks the guards and returns the data on the host (valid until the next call for this buffer). */
void *buffer_read(struct buffer *buffer);

/* Checks the guards and frees the memory, unless it is borrowed. */
void buffer_close(struct buffer *buffer);

/* Fills memory with the guards' pattern, for any type. */
void fill_pattern(void *memory, size_t bytes);

/* Whether memory still holds the guards' pattern. */
bool holds_pattern(const void *memory, size_t bytes);

#endif
