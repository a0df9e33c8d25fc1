/*
 * QUERN_PREFER=FILE: rows of kernels that go before others with the same bits, as `./quern gen prefer` has measured.  For
 * device_open.c, prepare.c, dispatch.c and explain.c.
 *
 *   quern preferred rows 1
 *   # text
 *   NAME DIGEST        a row, and its quern_row_digest; the first one that serves a request is taken
 *   end COUNT          the number of rows: a file without it is truncated
 */
#ifndef QUERN_PREFERRED_H
#define QUERN_PREFERRED_H

#include "os/sha256.h"
#include "runtime/device.h"

/* The SHA-256 of what a row runs, as text: on a GPU of the packed images that hold its own, on a CPU of quern_build_info. */
void quern_row_digest(const struct quern_kernel *kernel, char text[QUERN_DIGEST_TEXT]);

/* Reads the file of QUERN_PREFER; without one *preferred is NULL.  Errors: those of quern_read_file; QUERN_INVALID_ARGUMENT. */
quern_status quern_read_preferred(struct quern_preferred **preferred);
void quern_forget_preferred(struct quern_preferred *preferred);

/* The place of a row in the file, from 1 on; 0: it is not there, or with another digest. */
int quern_preferred_place(const quern_device *device, const struct quern_kernel *kernel);

/*
 * Looks for the file's rows of an operation, beside the list that has been made.  One that cannot run on this device is an error,
 * unless it is for devices of another kind: QUERN_NO_KERNEL; QUERN_NOT_SUPPORTED if it would change bits.
 */
quern_status quern_check_preferred(const quern_device *device, unsigned operation, const struct quern_ready_list *list);

#endif
