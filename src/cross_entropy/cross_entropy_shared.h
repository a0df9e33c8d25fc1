/*
 * What the host has to know of a GPU kernel: the shared memory of its blocks, and what they do.  For the selection, the launches
 * and the known answers.
 */
#ifndef QUERN_CROSS_ENTROPY_SHARED_H
#define QUERN_CROSS_ENTROPY_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/kernel.h"

/* The dynamic shared memory of a block that keeps a number of columns, divided into a number of parts. */
int64_t quern_cross_entropy_shared_bytes(const struct quern_kernel *kernel, int64_t columns, int64_t parts);

/* The same for a kernel that divides a row by columns, in equal shares but for the last, among so many blocks. */
int64_t quern_cross_entropy_share_bytes(const struct quern_kernel *kernel, int64_t columns, int64_t blocks);

/* Whether a kernel of whole rows keeps them on the chip, so that it reads them once. */
bool quern_cross_entropy_keeps_rows(const struct quern_kernel *kernel);

/*
 * Whether the blocks of a kernel of whole rows also count the labels and sum the losses (row_progress.cuh).  Full kernels do not:
 * they have no registers to spare.
 */
bool quern_cross_entropy_serves_call(const struct quern_kernel *kernel);

#endif
