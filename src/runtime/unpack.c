/* Unpacks the images of kernels and finds one by its name.  Called when an image is loaded on a device. */
#include "runtime/unpack.h"

#include <stdlib.h>
#include <string.h>

#include "os/checksum.h"
#include "os/lzma.h"

enum { ALIGNMENT = 64 };
#define MOST_BYTES ((uint64_t)1 << 30)

static size_t aligned(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

/* What is wrong with packed bytes, as far as their header shows, or NULL. */
static const char *fault_of(const unsigned char *packed, size_t count) {
    const struct quern_packed_header *header = (const void *)packed;
    if (count < sizeof *header) return "they are truncated";
    const size_t checked = sizeof header->checksum;
    if (header->checksum != quern_checksum(QUERN_CHECKSUM_BEGIN, packed + checked, count - checked))
        return "their checksum is wrong";
    return header->bytes > MOST_BYTES ? "they say that they have more than 1 GiB" : NULL;
}

static quern_status unpack(const unsigned char *packed, size_t count, struct quern_unpacked *kept, const char **fault) {
    const struct quern_packed_header *header = (const void *)packed;
    if ((*fault = fault_of(packed, count))) return QUERN_OK;
    const size_t bytes = aligned((size_t)header->bytes);
    unsigned char *memory = aligned_alloc(ALIGNMENT, bytes + aligned(QUERN_LZMA_SCRATCH));
    if (!memory) return QUERN_OUT_OF_MEMORY;
    *kept = (struct quern_unpacked){packed, memory, (size_t)header->bytes};
    const struct quern_lzma_contexts contexts = {header->lc, header->lp, header->pb};
    if (!quern_lzma_decode(contexts, packed + sizeof *header, count - sizeof *header, memory + bytes, memory, kept->count)) {
        quern_forget_unpacked(kept);
        *fault = "their LZMA stream is damaged";
    }
    return QUERN_OK;
}

/* NULL: there is none of this name. */
static const void *find(const struct quern_unpacked *kept, const char *name) {
    for (size_t at = 0; kept->count - at > sizeof(struct quern_packed_name);) {
        const struct quern_packed_name *image = (const void *)(kept->bytes + at);
        at += sizeof *image;
        if (image->bytes > kept->count - at) return NULL;
        if (!strncmp(image->name, name, sizeof image->name)) return kept->bytes + at;
        at = aligned(at + (size_t)image->bytes);
        if (at > kept->count) return NULL;
    }
    return NULL;
}

quern_status quern_unpack(const struct quern_image *image, struct quern_unpacked *kept, const void **found, const char **fault) {
    *found = NULL, *fault = NULL;
    if (kept->packed != image->packed) {
        quern_forget_unpacked(kept);
        const quern_status status = unpack(image->packed, (size_t)(image->packed_end - image->packed), kept, fault);
        if (status != QUERN_OK || *fault) return status;
    }
    *found = find(kept, image->name);
    if (!*found) *fault = "it is not among them";
    return QUERN_OK;
}

void quern_forget_unpacked(struct quern_unpacked *kept) {
    free(kept->bytes);
    *kept = (struct quern_unpacked){0};
}
