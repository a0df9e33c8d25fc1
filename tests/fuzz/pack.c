/* Kernel packs, whole and damaged, as the bytes of the input say.  Called by cases.c. */
#include "pack.h"

#include "input.h"
#include "kernels/problem.h"
#include "os/checksum.h"
#include "runtime/pack_format.h"

enum { ROWS = 2, PACKED = 64 };

struct pack {
    struct quern_pack_header header;
    struct quern_pack_row rows[ROWS];
    _Alignas(64) char packed[PACKED];
};

static struct pack whole(void) {
    struct pack pack = {.header = {.version = QUERN_PACK_VERSION, .header_bytes = sizeof pack.header,
                                   .row_bytes = sizeof *pack.rows, .row_count = ROWS, .file_bytes = sizeof pack,
                                   .target = "sm_fuzz", .driver = 12040, .toolkit = 13000}};
    memcpy(pack.header.magic, QUERN_PACK_MAGIC, sizeof pack.header.magic);
    for (int i = 0; i < ROWS; i++)
        pack.rows[i] = (struct quern_pack_row){
            .name = "adam_pf32_gf32_mf32_vf32__sm_fuzz", .entry = "entry", .image = "image", .operation = i ? 1 : 2, .cc_min = 90,
            .cc_max = 90, .dtypes = {1, 1, 1, 1, 0}, .threads = 128, .elements = i ? 4 : QUERN_LIST_TILE, .cluster = 1,
            .vocab_max = 1000, .packed_offset = offsetof(struct pack, packed), .packed_bytes = PACKED};
    return pack;
}

static void seal(struct pack *pack) {
    pack->header.checksum = 0;
    pack->header.checksum = quern_checksum(QUERN_CHECKSUM_BEGIN, pack, sizeof *pack);
}

/* A pack that is loaded stays for the life of the process, so that only a few may be. */
static void damage(struct pack *pack) {
    static int loadable = 8;
    const bool sealed = !input_one_in(4);
    for (int left = (int)input_below(4); left > 0; left--) {
        const size_t place = (size_t)input_below(input_one_in(2) ? sizeof pack->header : sizeof *pack);
        ((unsigned char *)pack)[place] = input_byte();
    }
    if (sealed && loadable > 0) seal(pack), loadable -= input_one_in(2);
}

static char path[64];
static int file;

void pack_begin(void) {
    file = memfd_create("pack", 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
}

const char *pack_path(void) {
    static const char *const others[] = {"/dev/null", "/", "/nonexistent/pack"};
    if (input_one_in(6)) return others[input_below(3)];
    struct pack pack = whole();
    damage(&pack);
    size_t bytes = sizeof pack;
    if (input_one_in(8)) bytes = (size_t)input_below((int64_t)bytes);
    if (ftruncate(file, 0) != 0 || pwrite(file, &pack, bytes, 0) != (ssize_t)bytes) abort();
    return path;
}
