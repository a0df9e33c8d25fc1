/* Keeps descriptors of the library apart from those of the standard streams.  Called wherever one is opened, and by the log. */
#define _GNU_SOURCE
#include "os/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <unistd.h>

int quern_above_two(int descriptor) {
    if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
    const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), reason = errno;
    close(descriptor);
    errno = reason;
    return moved;
}

DIR *quern_open_directory(const char *path) {
    const int descriptor = quern_above_two(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    DIR *const directory = descriptor < 0 ? NULL : fdopendir(descriptor);
    if (directory || descriptor < 0) return directory;
    const int reason = errno;
    close(descriptor);
    errno = reason;
    return NULL;
}

static bool has_standard_error;

__attribute__((constructor)) static void look_at_standard_error(void) {
    has_standard_error = fcntl(STDERR_FILENO, F_GETFD) >= 0;
}

bool quern_has_standard_error(void) { return has_standard_error; }

/* Looks no further than it must: the limit may be a billion. */
bool quern_has_descriptors(uint64_t more, struct quern_descriptor_limit *limit) {
    struct rlimit system;
    const bool is_known = getrlimit(RLIMIT_NOFILE, &system) == 0 && system.rlim_cur < INT_MAX;
    limit->most = is_known ? system.rlim_cur : INT_MAX;
    limit->open = 0;
    uint64_t left = 0;
    for (uint64_t number = 0; number < limit->most && left < more; number++)
        *(fcntl((int)number, F_GETFD) < 0 ? &left : &limit->open) += 1;
    return left >= more;
}
