/* Reads whole files.  Called by quern_load_pack, and when a device is opened. */
#define _GNU_SOURCE /* O_CLOEXEC */
#include "runtime/file_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/descriptor.h"
#include "runtime/status.h"

static quern_status read_bytes(const char *before, const char *path, int descriptor, struct quern_file_bytes *file) {
    file->bytes = aligned_alloc(64, file->count / 64 * 64 + 64);
    if (!file->bytes)
        return quern_fail(NULL, QUERN_OUT_OF_MEMORY, "no memory for the %zu bytes of %s%s", file->count, before, path);
    file->bytes[file->count] = 0;
    for (size_t done = 0; done < file->count;) {
        ssize_t more = read(descriptor, file->bytes + done, file->count - done);
        if (more <= 0)
            return quern_fail(NULL, QUERN_SYSTEM_ERROR, "%s%s cannot be read: %s", before, path,
                              more < 0 ? strerror(errno) : "it shrank");
        done += (size_t)more;
    }
    return QUERN_OK;
}

/* A pipe without a writer would wait for one. */
quern_status quern_read_file(const char *before, const char *path, size_t most, struct quern_file_bytes *file) {
    int descriptor = quern_above_two(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (descriptor < 0) return quern_fail(NULL, QUERN_SYSTEM_ERROR, "%s%s cannot be opened: %s", before, path, strerror(errno));
    struct stat information;
    quern_status status;
    if (fstat(descriptor, &information) != 0 || !S_ISREG(information.st_mode)) {
        status = quern_fail(NULL, QUERN_SYSTEM_ERROR, "%s%s is not a regular file", before, path);
    } else if ((unsigned long long)information.st_size > most) {
        status = quern_fail(NULL, QUERN_INVALID_ARGUMENT, "%s%s has %lld bytes: expected at most %zu", before, path,
                            (long long)information.st_size, most);
    } else {
        file->count = (size_t)information.st_size;
        status = read_bytes(before, path, descriptor, file);
    }
    close(descriptor);
    return status;
}
