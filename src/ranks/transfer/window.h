/*
 * A window: memory of the sender's process that a rank of another process maps, too.  For stage.c.
 *
 * Where GPUs reach each other it is memory of the sender's GPU, else pinned memory of the host, as the group's symmetric memory is.
 * It passes as a file descriptor.  The system keeps the memory while either end has it, so each end may close it first, or die.
 * An IPC handle of cuMemAlloc would not do: its owner must not free the memory before the other process has closed it.
 */
#ifndef QUERN_TRANSFER_WINDOW_H
#define QUERN_TRANSFER_WINDOW_H

#include "ranks/membership.h"
#include "runtime/cuda_driver.h"

enum { QUERN_WINDOW_BYTES = 8 << 20 };

struct quern_window;

/* Makes one.  Errors: of the driver or of the system.  The caller closes it. */
quern_status quern_make_window(const struct quern_membership *member, struct quern_window **window);

/* A descriptor by which another process can open it; the caller closes the descriptor. */
quern_status quern_export_window(const struct quern_membership *member, const struct quern_window *window, int *descriptor);

/*
 * Opens that of another process; the descriptor stays the caller's.  Errors: of the driver; QUERN_PEER_MISMATCH: it is no window.
 */
quern_status quern_open_window(const struct quern_membership *member, int descriptor, struct quern_window **window);

/* Its address for the GPUs of this process. */
CUdeviceptr quern_window_address(const struct quern_window *window);

/* Closes it as soon as no operation of the process's ranks is pending.  NULL does nothing. */
void quern_close_window(struct quern_window *window);

#endif
