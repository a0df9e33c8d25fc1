/* quern_load_pack, a public function: adds the rows of a kernel pack while the engine runs. */
#include "runtime/pack.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "os/checksum.h"
#include "os/unload.h"
#include "runtime/file_bytes.h"
#include "runtime/log.h"
#include "runtime/operation.h"
#include "runtime/pack_format.h"
#include "runtime/status.h"

static struct quern_pack *packs;  /* atomic; newest first; freed only at dlclose, since devices refer to their rows */
static pthread_mutex_t packs_lock = PTHREAD_MUTEX_INITIALIZER;

const struct quern_pack *quern_packs(void) {
    return __atomic_load_n(&packs, __ATOMIC_ACQUIRE);
}

/* ---- the file ---- */

static quern_status read_file(const char *path, struct quern_file_bytes *file) {
    quern_status status = quern_read_file("", path, SIZE_MAX, file);
    if (status == QUERN_OK && file->count < sizeof(struct quern_pack_header))
        status = quern_fail(NULL, QUERN_INVALID_PACK, "%s has %zu bytes: a kernel pack has at least %zu", path, file->count,
                            sizeof(struct quern_pack_header));
    return status;
}

static uint64_t checksum(const struct quern_file_bytes *file) {
    static const uint64_t taken_as_zero;
    const size_t field = offsetof(struct quern_pack_header, checksum), behind = field + sizeof taken_as_zero;
    uint64_t hash = quern_checksum(QUERN_CHECKSUM_BEGIN, file->bytes, field);
    hash = quern_checksum(hash, &taken_as_zero, sizeof taken_as_zero);
    return quern_checksum(hash, file->bytes + behind, file->count - behind);
}

static quern_status check_header(const char *path, const struct quern_file_bytes *file, const struct quern_pack_header *header) {
    if (memcmp(header->magic, QUERN_PACK_MAGIC, sizeof header->magic) != 0)
        return quern_fail(NULL, QUERN_INVALID_PACK, "%s does not begin with %s: it is no kernel pack", path, QUERN_PACK_MAGIC);
    if (header->version != QUERN_PACK_VERSION || header->header_bytes != sizeof *header ||
        header->row_bytes != sizeof(struct quern_pack_row))
        return quern_fail(NULL, QUERN_INVALID_PACK, "%s is a kernel pack of version %u: this library reads version %d", path,
                          header->version, QUERN_PACK_VERSION);
    if (header->file_bytes != file->count)
        return quern_fail(NULL, QUERN_INVALID_PACK, "%s has %zu bytes and its header says %llu: it is truncated or has grown", path,
                          file->count, (unsigned long long)header->file_bytes);
    if (header->checksum != checksum(file))
        return quern_fail(NULL, QUERN_INVALID_PACK, "%s has a wrong checksum: it is damaged", path);
    if (header->row_count == 0 || header->row_count > (file->count - sizeof *header) / sizeof(struct quern_pack_row))
        return quern_fail(NULL, QUERN_INVALID_PACK, "%s says that it has %u rows, which it cannot hold", path, header->row_count);
    if (!memchr(header->target, 0, sizeof header->target))
        return quern_fail(NULL, QUERN_INVALID_PACK, "%s has a target name without an end", path);
    if (header->driver < 0 || header->toolkit < 0)
        return quern_fail(NULL, QUERN_INVALID_PACK, "%s names the CUDA versions %d and %d: expected numbers such as 13000", path,
                          header->driver, header->toolkit);
    return QUERN_OK;
}

/* ---- the rows ---- */

/* The fault of a row, or NULL. */
static const char *row_fault(const struct quern_file_bytes *file, const struct quern_pack_row *row) {
    if (!memchr(row->name, 0, sizeof row->name) || !row->name[0]) return "no name";
    if (!memchr(row->entry, 0, sizeof row->entry) || !row->entry[0]) return "no entry";
    if (!memchr(row->image, 0, sizeof row->image) || !row->image[0]) return "no image";
    if (!(row->operation & QUERN_ALL_OPERATIONS) || (row->operation & (row->operation - 1))) return "an unknown operation";
    const struct quern_operation *operation = quern_linked_operation(row->operation);
    const char *fault = operation && operation->pack_fault ? operation->pack_fault(row) : NULL;
    if (fault) return fault;
    if (row->threads == 0 || row->threads > 1024) return "a wrong number of threads";
    if (row->waits > 1) return "an unknown way to be launched";
    if (row->cc_min < 10 || row->cc_max < row->cc_min) return "a wrong range of compute capabilities";
    if (row->packed_offset > file->count || row->packed_bytes == 0 || row->packed_bytes > file->count - row->packed_offset)
        return "packed images outside the file";
    if (row->packed_offset % 64) return "packed images at no multiple of 64";
    return NULL;
}

/* Rows of operations that are not linked are read like the others; no walk visits them. */
static struct quern_kernel row_kernel(const struct quern_pack_header *header, const struct quern_pack_row *row,
                                      const struct quern_images *images, const struct quern_image *image) {
    struct quern_kernel kernel = {
        .name = row->name,
        .operation = row->operation,
        .target = {header->target, QUERN_CUDA, 0, row->cc_min, row->cc_max, images},
        .key.any = {.task = row->stage, .full = row->full, .vocab_max = row->vocab_max},
        .cuda = {row->entry, image, row->threads, row->elements, row->shared_per_column, row->shared_per_part, row->shared_fixed,
                 row->cluster, row->waits},
    };
    for (int i = 0; i < QUERN_KEY_DTYPES; i++) kernel.key.any.dtypes[i] = (quern_dtype)row->dtypes[i];
    return kernel;
}

/* The image of a row.  Rows of one image follow each other. */
static const struct quern_image *image_of(struct quern_pack *pack, const struct quern_pack_row *rows, uint32_t i) {
    const unsigned char *packed = pack->bytes + rows[i].packed_offset;
    if (i && !strcmp(rows[i].image, rows[i - 1].image) && packed == pack->rows[i - 1].cuda.image->packed)
        return pack->rows[i - 1].cuda.image;
    pack->packed[i] = (struct quern_image){rows[i].image, packed, packed + rows[i].packed_bytes};
    return &pack->packed[i];
}

static quern_status read_rows(const char *path, const struct quern_file_bytes *file, struct quern_pack **out) {
    const struct quern_pack_header *header = (const void *)file->bytes;
    const struct quern_pack_row *rows = (const void *)(file->bytes + sizeof *header);
    struct quern_pack *pack = malloc(sizeof *pack + (header->row_count + 1) * (sizeof *pack->rows + sizeof *pack->packed));
    if (!pack) return quern_fail(NULL, QUERN_OUT_OF_MEMORY, "no memory for the rows of %s", path);
    pack->checksum = header->checksum;
    pack->bytes = file->bytes;
    pack->images = (struct quern_images){header->driver, header->toolkit};
    pack->packed = (void *)(pack->rows + header->row_count + 1);
    for (uint32_t i = 0; i < header->row_count; i++) {
        const char *fault = row_fault(file, &rows[i]);
        if (fault) {
            free(pack);
            return quern_fail(NULL, QUERN_INVALID_PACK, "%s: row %u has %s", path, i, fault);
        }
        pack->rows[i] = row_kernel(header, &rows[i], &pack->images, image_of(pack, rows, i));
    }
    pack->rows[header->row_count] = (struct quern_kernel){.name = ""};
    *out = pack;
    return QUERN_OK;
}

/* ---- the list of packs ---- */

/* Adds the pack to the list, unless it is loaded already.  True if it was added: the list owns it then. */
static bool publish(struct quern_pack *pack) {
    pthread_mutex_lock(&packs_lock);
    bool known = false;
    for (const struct quern_pack *other = packs; other; other = other->next) known |= other->checksum == pack->checksum;
    if (!known) {
        pack->next = packs;
        __atomic_store_n(&packs, pack, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&packs_lock);
    return !known;
}

static void unload_packs(void) {
    while (packs) {
        struct quern_pack *pack = packs;
        packs = pack->next;
        free(pack->bytes);
        free(pack);
    }
}

quern_status quern_load_pack(const char *path) {
    if (!path) return quern_fail(NULL, QUERN_NULL_POINTER, "path is NULL");
    struct quern_file_bytes file = {0};
    struct quern_pack *pack = NULL;
    quern_status status = read_file(path, &file);
    const struct quern_pack_header *header = (const void *)file.bytes;
    if (status == QUERN_OK) status = check_header(path, &file, header);
    if (status == QUERN_OK) status = read_rows(path, &file, &pack);
    if (status == QUERN_OK && publish(pack)) {
        quern_on_unload(QUERN_UNLOAD_PACKS, unload_packs);
        quern_log(NULL, QUERN_LOG_INFO, "loaded %s: %u kernels for %s", path, header->row_count, header->target);
        return QUERN_OK;
    }
    free(pack);
    free(file.bytes);
    return status;
}
