/*
 * The public types, for what kernels and host code share.  GPU kernels get only those that they use, so that other changes of
 * quern.h leave their machine code and its receipts as they are.  Receipts depend on files in quotes (gen/receipts.py): hence the
 * brackets.
 */
#ifndef QUERN_KERNELS_PUBLIC_H
#define QUERN_KERNELS_PUBLIC_H

#ifdef __CUDACC__
#include "../generated/kernel_types.h"
#else
#include <quern.h>
#endif

#endif
