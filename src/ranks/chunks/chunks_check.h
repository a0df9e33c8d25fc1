/* The checks of a call of quantised chunks that a rank can make alone.  For chunks.c. */
#ifndef QUERN_CHUNKS_CHECK_H
#define QUERN_CHUNKS_CHECK_H

#include "ranks/chunks/chunks_call.h"

/* The members: first, since a rank reports faulty arguments to the other members.  *call is cleared but for its arrays. */
quern_status quern_chunks_fill_members(struct quern_chunks_call *call, struct quern_membership *member,
                                       const quern_quantize_chunks_args *args);

/* Dtypes and numbers. */
quern_status quern_chunks_fill_shape(struct quern_chunks_call *call);

/* All of the rest, the transport's own checks as the last. */
quern_status quern_chunks_fill_rest(struct quern_chunks_call *call, void *workspace, size_t workspace_bytes, void *stream);

/* ready_value, or the value of a wait: a word is 0 before the first call, and ~value says that a call has failed. */
quern_status quern_chunks_check_value(const quern_device *device, const char *name, uint32_t value);

#endif
