/* Sizes files of shared memory.  Called by the rendezvous and by symmetric memory. */
#define _POSIX_C_SOURCE 200809L
#include "os/file_size.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
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

bool quern_reserve_file_size(int descriptor, int64_t bytes) {
    if (!is_allowed(bytes)) return false;
    do errno = posix_fallocate(descriptor, 0, (off_t)bytes);
    while (errno == EINTR);
    return errno == 0;
}
