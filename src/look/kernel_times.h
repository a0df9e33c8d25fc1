/*
 * The times of kernels: an event of the driver before and one after each launch, on the caller's stream.  For the trace.
 *
 * The call does not wait for them.  They are read when the trace ends, or earlier if a later launch can have the events again.
 */
#ifndef QUERN_KERNEL_TIMES_H
#define QUERN_KERNEL_TIMES_H

#include "look/events.h"

/* The driver's functions with launches that are noted, for a call that the trace sees. */
const struct quern_cuda *quern_timed_cuda(const struct quern_cuda *cuda);

/* Waits for the kernels of a device and reads their times.  NULL: of all devices.  Its events of the driver are destroyed. */
void quern_read_kernel_times(const quern_device *device);

/* Around fork: before it, in the parent and in the child, which has no kernels. */
void quern_hold_kernel_times(void);
void quern_release_kernel_times(void);
void quern_forget_kernel_times(void);

#endif
