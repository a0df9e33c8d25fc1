/* File descriptors of the library.  For all code that opens one. */
#ifndef QUERN_DESCRIPTOR_H
#define QUERN_DESCRIPTOR_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Numbers 0 to 2 belong to the program even where it has closed them: what it prints would go into the library's files and
 * connections.  Moves a new descriptor to a number above them, with FD_CLOEXEC; the other numbers stay.  -1: errno says why, and
 * nothing is open; -1 itself stays, with its errno.
 */
int quern_above_two(int descriptor);

/* opendir with such a descriptor.  NULL: errno says why. */
DIR *quern_open_directory(const char *path);

/* Whether descriptor 2 was open when the library was loaded.  If not, another file may have the number by now. */
bool quern_has_standard_error(void);

struct quern_descriptor_limit {
    uint64_t most, open;  /* RLIMIT_NOFILE; of the numbers below it */
};

/* Whether so many more can be opened; if not, the limit and how many are open. */
bool quern_has_descriptors(uint64_t more, struct quern_descriptor_limit *limit);

#endif
