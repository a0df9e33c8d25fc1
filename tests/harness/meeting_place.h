/* Where the ranks of a group meet. */
#ifndef HARNESS_MEETING_PLACE_H
#define HARNESS_MEETING_PLACE_H

#include <stdio.h>
#include <unistd.h>

/* Writes the path of the file of a group with this name and no number of a job. */
static inline void rank_meeting_place(char *path, size_t bytes, const char *name) {
    snprintf(path, bytes, "/dev/shm/quern.%u.0.%s", (unsigned)geteuid(), name);
}

#endif
