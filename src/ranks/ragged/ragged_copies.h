/* The copies of a rank in a ragged all-to-all on CPUs, divided among its threads by bytes.  For the short and the long protocol. */
#ifndef QUERN_RAGGED_COPIES_H
#define QUERN_RAGGED_COPIES_H

#include "runtime/device.h"

struct quern_copy {
    char *to;
    const char *from;
    int64_t bytes;
    int64_t begin;  /* its offset when all copies are laid end to end */
};

struct quern_copy_list {
    struct quern_copy *copies;
    int64_t count;
    int64_t bytes;
};

static inline void quern_copies_add(struct quern_copy_list *list, char *to, const char *from, int64_t bytes) {
    list->copies[list->count++] = (struct quern_copy){to, from, bytes, list->bytes};
    list->bytes += bytes;
}

/* The index of the last copy that begins at or before a place, in a list sorted by `begin`; 0 if no copy does. */
int64_t quern_copies_find(const struct quern_copy *copies, int64_t count, int64_t place);

/* Whether copies of so many bytes by each rank should go past the caches. */
bool quern_copies_are_large(const quern_device *device, int ranks, int64_t bytes);

/* Runs the copies, on the calling thread if they are small.  No copy is empty. */
void quern_copies_run(const quern_device *device, quern_ragged_all_to_all_cpu_kernel *kernel, const struct quern_copy_list *list,
                      bool streaming);

#endif
