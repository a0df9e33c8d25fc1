/*
 * A pattern right behind the bytes of a workspace that a call is given, which must stay unchanged: for collective_case.c and
 * ragged_case.c.  The memory has WORKSPACE_GUARD bytes more.
 */
#ifndef HARNESS_WORKSPACE_GUARD_H
#define HARNESS_WORKSPACE_GUARD_H

#include <string.h>

#include "harness/ranks.h"

enum { WORKSPACE_GUARD = 192, WORKSPACE_GUARD_BYTE = 0xA5 };

static inline void workspace_guard(void *workspace, size_t bytes) {
    memset((char *)workspace + bytes, WORKSPACE_GUARD_BYTE, WORKSPACE_GUARD);
}

static inline void workspace_check(struct rank *rank, const void *workspace, size_t bytes) {
    const unsigned char *end = (const unsigned char *)workspace + bytes;
    for (int i = 0; i < WORKSPACE_GUARD; i++)
        rank_check(rank, end[i] == WORKSPACE_GUARD_BYTE, "byte %d behind the workspace was overwritten", i);
}

#endif
