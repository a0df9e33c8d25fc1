/* Sizes files of shared memory.  Called by the rendezvous and by symmetric memory, and by transfers. */
#define _GNU_SOURCE
#include "os/file_size.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_allowed(int64_t bytes) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || (uint64_t)bytes <= limit.rlim_cur) return true;
    errno = EFBIG;
    return false;
}

bool quern_set_file_size(int descriptor, int64_t bytes) {
    return is_allowed(bytes) && ftruncate(descriptor, (off_t)bytes) == 0;
}

bool quern_reserve_file_part(int descriptor, int64_t offset, int64_t bytes) {
    if (!is_allowed(offset + bytes)) return false;
    do errno = posix_fallocate(descriptor, (off_t)offset, (off_t)bytes);
    while (errno == EINTR);
    return errno == 0;
}

static bool write_zeros(int descriptor, int64_t offset, int64_t bytes) {
    static char zeros[1 << 16]; /* not const: constants would take their bytes in every program */
    for (int64_t done = 0; done < bytes;) {
        const int64_t left = bytes - done, piece = left < (int64_t)sizeof zeros ? left : (int64_t)sizeof zeros;
        const ssize_t written = pwrite(descriptor, zeros, (size_t)piece, (off_t)(offset + done));
        if (written < 0) return false;
        done += written;
    }
    return true;
}

/* Sandboxes and old kernels do not have the call for memory. */
bool quern_reserve_fresh_part(int descriptor, int64_t offset, int64_t bytes) {
    if (fallocate(descriptor, 0, (off_t)offset, (off_t)bytes) == 0) return true;
    return (errno == EOPNOTSUPP || errno == ENOSYS) && write_zeros(descriptor, offset, bytes);
}

bool quern_reserve_file_size(int descriptor, int64_t bytes) { return quern_reserve_file_part(descriptor, 0, bytes); }

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW };

bool quern_seal_file_size(int descriptor) { return fcntl(descriptor, F_ADD_SEALS, SEALS | F_SEAL_SEAL) == 0; }

bool quern_file_keeps_size(int descriptor, int64_t bytes) {
    struct stat file;
    const int seals = fcntl(descriptor, F_GET_SEALS);
    return seals >= 0 && (seals & SEALS) == SEALS && fstat(descriptor, &file) == 0 && file.st_size == bytes;
}
