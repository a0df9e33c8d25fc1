/*
 * The format of a kernel pack (.qpack): table rows and images of one GPU target.  A running engine loads it by quern_load_pack.
 *
 *   header | rows | packed images
 *
 * Little-endian, every field at its natural alignment.  Each operation has packed images (unpack.h).  gen/pack.py writes it.  The
 * checksum is 64-bit FNV-1a over the whole file, with zeros in place of the checksum's own eight bytes.
 */
#ifndef QUERN_PACK_FORMAT_H
#define QUERN_PACK_FORMAT_H

#include <stdint.h>

#define QUERN_PACK_MAGIC "QUERNPAK"
enum { QUERN_PACK_VERSION = 9 };

struct quern_pack_header {
    char magic[8];
    uint32_t version;
    uint32_t header_bytes;
    uint32_t row_bytes;
    uint32_t row_count;
    uint64_t file_bytes;
    uint64_t checksum;
    char target[32];
    int32_t driver, toolkit;  /* struct quern_images */
};

struct quern_pack_row {
    char name[96];
    char entry[64];
    char image[56];         /* struct quern_image */
    uint32_t operation;
    int32_t cc_min, cc_max;
    int32_t dtypes[5];      /* the key of struct quern_kernel: dtypes, ... */
    int32_t stage, full;    /* ... task, and whether it implements all options */
    uint32_t threads, elements, shared_per_column, shared_per_part, shared_fixed, cluster, waits, unused;
    int64_t vocab_max;
    uint64_t packed_offset; /* from the beginning of the file, a multiple of 64 */
    uint64_t packed_bytes;
};

#endif
