/*
 * A window: memory of the sender's process that a rank of another process maps, too.  For bounce_path.c.
 *
 * Where GPUs reach each other it is memory of the sender's GPU, else pinned memory of the host, as the group's symmetric memory is.
 * It passes as a file descriptor.  The system keeps the memory while either end has it, so each end may close it first, or die.
 * An IPC handle of cuMemAlloc would not do: its owner must not free the memory before the other process has closed it.
 */
#ifndef QUERN_BOUNCE_BUFFER_H
#define QUERN_BOUNCE_BUFFER_H

#include "ranks/membership.h"
#include "runtime/cuda_driver.h"

enum { QUERN_BOUNCE_BUFFER_BYTES = 8 << 20 };

struct quern_bounce_buffer;

/* Makes one.  Errors: of the driver or of the system.  The caller closes it. */
quern_status quern_make_bounce_buffer(const struct quern_membership *member, struct quern_bounce_buffer **window);

/* A descriptor by which another process can open it; the caller closes the descriptor. */
quern_status quern_export_bounce_buffer(const struct quern_membership *member, const struct quern_bounce_buffer *window,
                                        int *descriptor);

/*
 * Opens that of another process; the descriptor stays the caller's.  Errors: of the driver; QUERN_PEER_MISMATCH: it is no window.
 */
quern_status quern_open_bounce_buffer(const struct quern_membership *member, int descriptor, struct quern_bounce_buffer **window);

/* Its address for the GPUs of this process. */
CUdeviceptr quern_bounce_buffer_address(const struct quern_bounce_buffer *window);

/* Closes it as soon as no operation of the process's ranks is pending.  NULL does nothing. */
void quern_close_bounce_buffer(struct quern_bounce_buffer *window);

#endif
