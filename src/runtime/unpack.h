/*
 * The images of an operation's kernels for one GPU target, packed: compressed together, since they have much in common.  For
 * image.c.
 *
 *   header | LZMA stream of: name, image, name, image, ...
 *
 * Little-endian, every field at its natural alignment.  gen/images.py packs them.
 */
#ifndef QUERN_UNPACK_H
#define QUERN_UNPACK_H

#include "kernels/kernel.h"

struct quern_packed_header {
    uint64_t checksum;       /* 64-bit FNV-1a of all that follows */
    uint64_t bytes;          /* unpacked */
    unsigned char lc, lp, pb, unused[5];
};

/* Before each image.  Names and images begin at multiples of 64. */
struct quern_packed_name {
    char name[56];           /* of struct quern_image */
    uint64_t bytes;
};

/* The images that a device has unpacked last. */
struct quern_unpacked {
    const unsigned char *packed;
    unsigned char *bytes;
    size_t count;
};

/*
 * Finds an image among those that are kept, or unpacks and keeps those that it is packed with.  If they are damaged, sets *fault
 * instead, to what is wrong with them.  Errors: QUERN_OUT_OF_MEMORY, without a detail.
 */
quern_status quern_unpack(const struct quern_image *image, struct quern_unpacked *kept, const void **found, const char **fault);

/* Frees what is kept. */
void quern_forget_unpacked(struct quern_unpacked *kept);

#endif
