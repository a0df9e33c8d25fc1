/* Mounts a private /dev/shm.  private_shm.h documents the function. */
#define _GNU_SOURCE
#include "faults/private_shm.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

static bool write_file(const char *path, const char *text) {
    int file = open(path, O_WRONLY);
    bool good = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);
    if (file >= 0) close(file);
    return good;
}

/* A user other than root needs a name space in which it is root. */
static bool become_root(void) {
    char users[64], groups[64];
    snprintf(users, sizeof users, "0 %u 1", (unsigned)geteuid());
    snprintf(groups, sizeof groups, "0 %u 1", (unsigned)getegid());
    return unshare(CLONE_NEWUSER) == 0 && write_file("/proc/self/setgroups", "deny") && write_file("/proc/self/uid_map", users) &&
           write_file("/proc/self/gid_map", groups);
}

bool private_shm_enter(const char *options) {
    if (geteuid() != 0 && !become_root()) return false;
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("quern-test", "/dev/shm", "tmpfs", 0, options) == 0;
}
