/* Reads the file of QUERN_PREFER and finds its rows in the tables.  Called when devices are opened, prepared and explained. */
#include "runtime/preferred.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/build_info.h"
#include "runtime/file_bytes.h"
#include "runtime/log.h"
#include "runtime/status.h"
#include "runtime/walk.h"

#define FIRST_LINE "quern preferred rows 1"

enum { MOST_BYTES = 1 << 16, NAME = 100, HEXADECIMAL = QUERN_DIGEST_TEXT - 1 };

struct quern_preferred {
    struct quern_file_bytes file;
    char path[160];           /* for details, cut off */
    int count;
    struct {
        int line;
        const char *name, *digest;
    } rows[MOST_BYTES / (HEXADECIMAL + 2)];
};

void quern_row_digest(const struct quern_kernel *kernel, char text[QUERN_DIGEST_TEXT]) {
    struct quern_sha256 hash;
    unsigned char digest[QUERN_DIGEST_BYTES];
    const struct quern_image *image = kernel->target.kind == QUERN_CUDA ? kernel->cuda.image : NULL;
    quern_sha256_begin(&hash);
    if (image) quern_sha256_add(&hash, image->packed, (size_t)(image->packed_end - image->packed));
    else quern_sha256_add(&hash, quern_build_text, strlen(quern_build_text));
    quern_sha256_end(&hash, digest);
    quern_digest_text(digest, text);
}

/* ---- the file ---- */

static quern_status refuse(const struct quern_preferred *preferred, int line, const char *why) {
    return quern_fail(NULL, QUERN_INVALID_ARGUMENT, "QUERN_PREFER: line %d %s, in %s", line, why, preferred->path);
}

static bool has_operation(const char *name) {
    for (unsigned bit = 1; bit & QUERN_ALL_OPERATIONS; bit <<= 1)
        if (!strncmp(name, quern_operation_prefix(bit), strlen(quern_operation_prefix(bit)))) return true;
    return false;
}

/* NAME DIGEST */
static quern_status read_row(struct quern_preferred *preferred, int number, char *line) {
    const size_t name = strspn(line, "abcdefghijklmnopqrstuvwxyz0123456789_");
    char *digest = line + name + 1;
    if (!name || name >= NAME || line[name] != ' ' || strlen(digest) != HEXADECIMAL ||
        strspn(digest, "0123456789abcdef") != HEXADECIMAL)
        return refuse(preferred, number, "is no row: expected the name of a kernel, a space and a digest of 64 hexadecimal digits");
    line[name] = 0;
    if (!has_operation(line)) return refuse(preferred, number, "names a kernel of no operation");
    preferred->rows[preferred->count].line = number;
    preferred->rows[preferred->count].name = line;
    preferred->rows[preferred->count++].digest = digest;
    return QUERN_OK;
}

static quern_status read_line(struct quern_preferred *preferred, int number, char *line, bool *is_end) {
    char end[24];
    struct quern_text text = quern_text_begin(end, sizeof end);
    quern_text_add(&text, "end %d", preferred->count);
    if (number == 1) return strcmp(line, FIRST_LINE) ? refuse(preferred, 1, "is no \"" FIRST_LINE "\"") : QUERN_OK;
    *is_end = !strcmp(line, end);
    if (*is_end || *line == '#') return QUERN_OK;
    if (!strncmp(line, "end ", 4)) return refuse(preferred, number, "has another number of rows than the file");
    return read_row(preferred, number, line);
}

/* Takes lines apart in place. */
static quern_status read_lines(struct quern_preferred *preferred) {
    char *line = (char *)preferred->file.bytes, *next;
    const char *const end = line + preferred->file.count;
    bool has_ended = false;
    for (int number = 1; line < end; number++, line = next) {
        next = line + strcspn(line, "\n") + 1;
        if (next > end) return refuse(preferred, number, "has no line feed: the file is truncated");
        if (!next[-1]) return refuse(preferred, number, "has a byte of 0: expected text");
        next[-1] = 0;
        if (has_ended) return refuse(preferred, number, "is behind the end");
        quern_status status = read_line(preferred, number, line, &has_ended);
        if (status != QUERN_OK) return status;
    }
    if (has_ended) return QUERN_OK;
    return quern_fail(NULL, QUERN_INVALID_ARGUMENT, "QUERN_PREFER: no line is \"end COUNT\": the file is truncated, in %s",
                      preferred->path);
}

quern_status quern_read_preferred(struct quern_preferred **out) {
    const char *path = getenv("QUERN_PREFER");
    if (!path || !*path) return QUERN_OK;
    struct quern_preferred *preferred = calloc(1, sizeof *preferred);
    if (!preferred) return quern_fail(NULL, QUERN_OUT_OF_MEMORY, "no memory for the rows of QUERN_PREFER");
    *out = preferred;         /* a device that cannot be opened frees it */
    struct quern_text text = quern_text_begin(preferred->path, sizeof preferred->path);
    quern_text_add(&text, "%s", path);
    quern_status status = quern_read_file("QUERN_PREFER: ", path, MOST_BYTES, &preferred->file);
    return status == QUERN_OK ? read_lines(preferred) : status;
}

void quern_forget_preferred(struct quern_preferred *preferred) {
    if (preferred) free(preferred->file.bytes);
    free(preferred);
}

/* ---- rows ---- */

int quern_preferred_place(const quern_device *device, const struct quern_kernel *kernel) {
    const struct quern_preferred *preferred = device->preferred;
    char digest[QUERN_DIGEST_TEXT];
    for (int i = 0; preferred && i < preferred->count; i++) {
        if (strcmp(preferred->rows[i].name, kernel->name)) continue;
        quern_row_digest(kernel, digest);
        return strcmp(preferred->rows[i].digest, digest) ? 0 : i + 1;
    }
    return 0;
}

/* A row of the file among those of the tables. */
struct search {
    const quern_device *device;
    int row;
    const struct quern_kernel *found;   /* a row of this name, at best with the digest of the file */
    bool has_digest;
};

static bool find_row(const struct quern_kernel *kernel, void *context) {
    struct search *search = context;
    if (strcmp(kernel->name, search->device->preferred->rows[search->row].name)) return true;
    search->found = kernel;
    search->has_digest = quern_preferred_place(search->device, kernel);
    return !search->has_digest;
}

/* A row that comes first in the table and serves all that this one serves, with other bits; NULL: there is none. */
static const struct quern_kernel *find_other_bits(const struct quern_kernel *kernel, const struct quern_ready_list *list) {
    const struct quern_operation *operation = quern_linked_operation(kernel->operation);
    for (size_t i = 0; i < list->count && list->kernels[i].kernel != kernel; i++) {
        const struct quern_kernel *before = list->kernels[i].kernel;
        if (!quern_same_bits(before, kernel) && operation->covers && operation->covers(before, kernel)) return before;
    }
    return NULL;
}

static quern_status tell(struct quern_text *why, quern_status status, const char *text, const char *name) {
    quern_text_add(why, "%s%s", text, name);
    return status;
}

/* QUERN_OK, or the status and why the row cannot be preferred.  A row for devices of another kind is left alone. */
static quern_status check_row(const struct search *search, const struct quern_ready_list *list, char *reason, size_t bytes) {
    const struct quern_kernel *kernel = search->found, *before;
    struct quern_text why = quern_text_begin(reason, bytes);
    if (!kernel) return tell(&why, QUERN_NO_KERNEL, "is not in this build of the library or a pack", "");
    if (kernel->target.kind != search->device->kind) return QUERN_OK;
    if (!search->has_digest) return tell(&why, QUERN_NO_KERNEL, "has another digest here: measure this build", "");
    if (!quern_row_bits(kernel))
        return tell(&why, QUERN_NOT_SUPPORTED, "has bits of its own: expected a row with the bits of others", "");
    if (quern_row_unusable(search->device, kernel, reason, bytes)) return QUERN_NO_KERNEL;
    before = find_other_bits(kernel, list);
    if (before) return tell(&why, QUERN_NOT_SUPPORTED, "would change the bits of ", before->name);
    quern_log(search->device, QUERN_LOG_INFO, "QUERN_PREFER: %s goes before rows with the same bits", kernel->name);
    return QUERN_OK;
}

quern_status quern_check_preferred(const quern_device *device, unsigned operation, const struct quern_ready_list *list) {
    const struct quern_preferred *preferred = device->preferred;
    const char *prefix = quern_operation_prefix(operation);
    char why[256];
    for (int i = 0; preferred && i < preferred->count; i++) {
        struct search search = {.device = device, .row = i};
        if (strncmp(preferred->rows[i].name, prefix, strlen(prefix))) continue;
        quern_walk(operation, find_row, &search);
        quern_status status = check_row(&search, list, why, sizeof why);
        if (status != QUERN_OK)
            return quern_fail(device, status, "QUERN_PREFER: line %d: %s %s, in %s", preferred->rows[i].line,
                              preferred->rows[i].name, why, preferred->path);
    }
    return QUERN_OK;
}
